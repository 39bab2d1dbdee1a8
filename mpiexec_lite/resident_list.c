/* resident_list.c - rows of names and jobs in a reply of the resident server. */
#include "mpiexec_lite/resident_impl.h"

#include <stdio.h>
#include <stdlib.h>

/* Of either kind of row: as many as resident.h says. */
enum { FIELDS = 8, NUMBERS = 5, TEXT = 24 };

struct rows {
    struct msg *out;
    int         n;
    bool        more;
    int         nkeys, nnumbers;
    char        keys[LIST_ROWS * FIELDS][TEXT], numbers[LIST_ROWS * NUMBERS][TEXT];
};

static void add_text(struct rows *r, const char *name, const char *value)
{
    char *key = r->keys[r->nkeys++];

    snprintf(key, TEXT, "%.11s%d", name, r->n);
    msg_str(r->out, key, value);
}

/* As text, as a message has room for a few numbers of its own only. */
static void add_number(struct rows *r, const char *name, long long value)
{
    char *text = r->numbers[r->nnumbers++];

    snprintf(text, TEXT, "%lld", value);
    add_text(r, name, text);
}

/* Whether there is room for another row. */
static bool has_room(struct rows *r)
{
    r->more = r->n == LIST_ROWS;
    return !r->more;
}

static bool add_name(void *user, const struct reg_name *n)
{
    struct rows *r = user;

    if (!has_room(r))
        return false;
    add_number(r, "serial", n->serial);
    add_number(r, "owner", (long long)n->owner);
    add_text(r, "name", n->name);
    add_text(r, "port", n->port);
    add_text(r, "job", n->job);
    add_text(r, "range", name_range_text(n->range));
    add_text(r, "persistence", name_persistence_text(n->persistence));
    add_number(r, "since", n->since);
    r->n++;
    return true;
}

static bool add_job(void *user, const struct reg_job *j)
{
    struct rows *r = user;

    if (!has_room(r))
        return false;
    add_number(r, "serial", j->serial);
    add_number(r, "owner", (long long)j->owner);
    add_text(r, "job", j->id);
    add_number(r, "pid", j->pid);
    add_number(r, "size", j->size);
    add_text(r, "host", j->host);
    add_text(r, "command", j->command);
    add_number(r, "since", j->since);
    r->n++;
    return true;
}

struct rows *resident_rows(struct client *c, bool names, long long after)
{
    struct rows *r = calloc(1, sizeof *r);

    if (!r)
        return NULL;
    r->out = &c->all->out;
    if (names)
        registry_each_name(c->all->registry, c->uid, after, add_name, r);
    else
        registry_each_job(c->all->registry, c->uid, after, add_job, r);
    msg_int(r->out, "n", r->n);
    msg_int(r->out, "more", r->more);
    return r;
}

/* registry_table.c - the registry's names: their memory, and where they are found. */
#include "mpiexec_lite/registry_impl.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* --- memory ------------------------------------------------------------ */

const char *registry_put_text(char **at, const char *text)
{
    size_t n = strlen(text) + 1;
    const char *to = memcpy(*at, text, n);

    *at += n;
    return to;
}

struct name *registry_name_new(const struct reg_name *from)
{
    struct name *x = malloc(sizeof *x + strlen(from->job) + strlen(from->name) +
                            strlen(from->port) + 3);
    char *at = (char *)(x + 1);

    if (!x)
        return NULL;
    *x = (struct name){ .n = *from };
    x->n.job = registry_put_text(&at, from->job);
    x->n.name = registry_put_text(&at, from->name);
    x->n.port = registry_put_text(&at, from->port);
    return x;
}

int registry_no_memory(struct err *e)
{
    return err_set(e, ERR_NOMEM, "the name server has no memory for it");
}

/* --- the table --------------------------------------------------------- */

static struct name **slot_of(const struct registry *r, const char *name)
{
    return &r->table[XXH3_64bits_withSeed(name, strlen(name), r->seed) & (r->slots - 1)];
}

struct name *registry_first(const struct registry *r, const char *name)
{
    return r->slots ? *slot_of(r, name) : NULL;
}

static int grow(struct registry *r)
{
    size_t slots = r->slots ? r->slots * 2 : 64;
    struct name **table, *x;

    if (r->nnames < r->slots)
        return 0;
    table = calloc(slots, sizeof *table);
    if (!table)
        return r->slots ? 0 : -1;        /* slower, and no worse */
    free(r->table);
    r->table = table;
    r->slots = slots;
    TAILQ_FOREACH(x, &r->names, in_all) {
        struct name **at = slot_of(r, x->n.name);

        x->next = *at;
        *at = x;
    }
    return 0;
}

int registry_add(struct registry *r, struct name *x)
{
    struct name **at;

    if (grow(r) < 0)
        return -1;
    at = slot_of(r, x->n.name);
    x->next = *at;
    *at = x;
    TAILQ_INSERT_TAIL(&r->names, x, in_all);
    r->nnames++;
    return 0;
}

static void unlink_name(struct registry *r, struct name *x)
{
    struct name **at = slot_of(r, x->n.name);

    while (*at != x)
        at = &(*at)->next;
    *at = x->next;
    TAILQ_REMOVE(&r->names, x, in_all);
    r->nnames--;
}

void registry_forget_last(struct registry *r)
{
    free(r->last);
    r->last = NULL;
}

void registry_drop(struct registry *r, struct name *x)
{
    unlink_name(r, x);
    r->ops->drop(r->host, x->n.serial);
    registry_forget_last(r);
    r->last = x;
}

void registry_unload(struct registry *r)
{
    struct name *x;

    registry_forget_last(r);
    while ((x = TAILQ_FIRST(&r->names))) {
        unlink_name(r, x);
        free(x);
    }
}

/* data.c - see data.h.  Committed values are in one key-value space, by "RANK:key", each
 * with its scope and serial before it. */
#include "pmix_ext/data.h"

#include "pmi2/kvs.h"

#include <sys/queue.h>

struct staged {
    STAILQ_ENTRY(staged) next;
    char  *key;                          /* owned, as is text: behind the struct */
    char  *text;                         /* with its head */
    size_t len;                          /* of text */
};

struct putter {
    STAILQ_HEAD(, staged) staged;
    size_t bytes;                        /* of them */
    bool   committed;
};

struct data {
    struct kvs    *kvs;
    int            size, committers;     /* ranks; those that have committed */
    unsigned       serial;               /* of the last value */
    struct putter *by;                   /* owned; by rank */
};

/* Before a value: a digit for its scope, and its serial. */
enum { HEAD = 9 };

static void write_head(char *to, pmix_scope_t scope, unsigned serial)
{
    char text[HEAD];                     /* of the serial, terminated */

    snprintf(text, sizeof text, "%08x", serial);
    to[0] = (char)('0' + scope);
    memcpy(to + 1, text, HEAD - 1);
}

static void read_head(const char *from, struct datum *out)
{
    char serial[HEAD] = "";

    memcpy(serial, from + 1, HEAD - 1);
    out->scope = (pmix_scope_t)(*from - '0');
    out->serial = (unsigned)strtoul(serial, NULL, 16);
}

struct data_key { char text[PMIX_MAX_KEYLEN + 16]; };

static struct data_key spell(int rank, const char *key)
{
    struct data_key k;

    snprintf(k.text, sizeof k.text, "%d:%s", rank, key);
    return k;
}

struct data *data_new(uint64_t seed, int size)
{
    struct data *d = calloc(1, sizeof *d);

    if (!d)
        return NULL;
    d->size = size;
    d->kvs = kvs_new(seed, DATA_BYTES);
    d->by = calloc((size_t)size, sizeof *d->by);
    if (!d->kvs || !d->by) {
        kvs_free(d->kvs);
        free(d->by);
        free(d);
        return NULL;
    }
    for (int i = 0; i < size; i++)
        STAILQ_INIT(&d->by[i].staged);
    return d;
}

static void drop_first(struct putter *p)
{
    struct staged *s = STAILQ_FIRST(&p->staged);

    STAILQ_REMOVE_HEAD(&p->staged, next);
    p->bytes -= sizeof *s + s->len;
    free(s);
}

void data_free(struct data *d)
{
    if (!d)
        return;
    for (int i = 0; i < d->size; i++)
        while (!STAILQ_EMPTY(&d->by[i].staged))
            drop_first(&d->by[i]);
    kvs_free(d->kvs);
    free(d->by);
    free(d);
}

int data_put(struct data *d, int rank, const char *key, pmix_scope_t scope, const char *text,
             size_t len, struct err *e)
{
    struct putter *p = &d->by[rank];
    size_t room = strlen(key) + 1 + HEAD + len + 1;
    struct staged *s;

    if (p->bytes + sizeof *s + HEAD + len > DATA_STAGED)
        return err_set(e, ERR_NOMEM, "more than %d bytes wait for a commit of rank %d",
                       DATA_STAGED, rank);
    s = malloc(sizeof *s + room);
    if (!s)
        return err_set(e, ERR_NOMEM, "no memory for a value of %zu bytes", len);
    s->key = (char *)(s + 1);
    s->text = s->key + strlen(key) + 1;
    s->len = HEAD + len;
    memcpy(s->key, key, strlen(key) + 1);
    write_head(s->text, scope, ++d->serial);
    memcpy(s->text + HEAD, text, len);
    s->text[s->len] = '\0';
    STAILQ_INSERT_TAIL(&p->staged, s, next);
    p->bytes += sizeof *s + s->len;
    return 0;
}

int data_commit(struct data *d, int rank, struct err *e)
{
    struct putter *p = &d->by[rank];
    struct staged *s;

    while ((s = STAILQ_FIRST(&p->staged))) {
        if (kvs_put(d->kvs, rank, spell(rank, s->key).text, s->text, s->len, e) < 0)
            return err_context(e, "values of this job");
        drop_first(p);
    }
    d->committers += !p->committed;
    p->committed = true;
    return 0;
}

int data_committers(const struct data *d)
{
    return d->committers;
}

bool data_committed(const struct data *d, int rank)
{
    return d->by[rank].committed;
}

bool data_get(const struct data *d, int rank, const char *key, struct datum *out)
{
    struct kvs_entry found;

    if (!kvs_get(d->kvs, spell(rank, key).text, &found))
        return false;
    *out = (struct datum){ .text = found.value + HEAD, .len = found.len - HEAD, .rank = rank };
    read_head(found.value, out);
    return true;
}

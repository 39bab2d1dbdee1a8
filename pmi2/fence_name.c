/* fence_name.c - fences in text, and messages about them.
 *
 * The name of a fence is <who>:<tag>; who is WORLD, NODE or a list of ranks.  Between
 * servers it may be "ring", and never NODE. */
#include "pmi2/fence_impl.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* A decimal int at *s that ends at one of `ends` or the end of the text. */
static int take_int(const char **s, const char *ends, long *out)
{
    char *end;

    if (**s != '-' && (**s < '0' || **s > '9'))
        return -1;
    *out = strtol(*s, &end, 10);
    if (end == *s || *out < INT_MIN || *out > INT_MAX || (*end && !strchr(ends, *end)))
        return -1;
    *s = end;
    return 0;
}

/* "3,1,2" at *s, up to ':' or the end, becomes a sorted array without repeats, so
 * that every spelling of a set is one group; NULL if it is all of the job. */
static int take_ranks(const char **s, int size, int **out, size_t *n, struct err *e)
{
    int *ranks = malloc((strlen(*s) / 2 + 1) * sizeof *ranks);
    size_t kept = 0;
    long r;

    *n = 0;
    *out = NULL;
    if (!ranks)
        return err_set(e, ERR_NOMEM, "no memory for a group");
    for (;; ++*s) {
        if (take_int(s, ",:", &r) < 0 || r < 0 || r >= size) {
            free(ranks);
            return err_set(e, ERR_INVALID_VAL, "group: ranks of 0..%d, separated by commas, "
                           "wanted", size - 1);
        }
        ranks[(*n)++] = (int)r;
        if (**s != ',')
            break;
    }
    qsort(ranks, *n, sizeof *ranks, by_rank);
    for (size_t i = 0; i < *n; i++)
        if (!kept || ranks[kept - 1] != ranks[i])
            ranks[kept++] = ranks[i];
    *n = kept;
    if (kept == (size_t)size)
        free(ranks);
    else
        *out = ranks;
    return 0;
}

int fence_parse_group(const char *s, int size, struct fence_id *id, int **ranks,
                      struct err *e)
{
    long tag = 0;

    *ranks = NULL;
    if (!strncmp(s, "WORLD", 5))
        s += 5;
    else if (!strncmp(s, "NODE", 4)) {   /* the job's ranks here: even if these are all,
                                            not the same group as WORLD */
        s += 4;
        id->kind = FENCE_NODE;
    } else if (take_ranks(&s, size, ranks, &id->n, e) < 0)
        return -1;
    if (*s == ':' && s++ && take_int(&s, "", &tag) < 0)
        goto bad;
    if (*s)
        goto bad;
    id->ranks = *ranks;
    id->tag = tag;
    return 0;
bad:
    free(*ranks);
    *ranks = NULL;
    return err_set(e, ERR_INVALID_VAL, "group: <who>:<tag> wanted, tag a number");
}

/* --- between servers --------------------------------------------------- */

void fence_format(const struct fence_id *id, struct buf *out)
{
    if (id->kind == FENCE_RING)
        buf_str(out, "ring");
    else if (!id->ranks)
        buf_printf(out, "WORLD:%lld", id->tag);
    for (size_t i = 0; id->ranks && i < id->n; i++)
        buf_printf(out, i ? ",%d" : "%d", id->ranks[i]);
    if (id->ranks)
        buf_printf(out, ":%lld", id->tag);
}

/* The fence of a message; *ranks is malloc'ed, as above. */
static int take_id(const struct job *j, const struct msg *m, struct fence_id *id, int **ranks,
                   struct err *e)
{
    const char *text = msg_get(m, "fence");

    *id = (struct fence_id){ .kind = FENCE_GROUP };
    *ranks = NULL;
    if (!text)
        return err_set(e, ERR_INVALID_ARG, "no fence");
    if (!strcmp(text, "ring")) {
        id->kind = FENCE_RING;
        return 0;
    }
    if (fence_parse_group(text, j->size, id, ranks, e) < 0)
        return -1;
    if (id->kind == FENCE_NODE)
        return err_set(e, ERR_INVALID_ARG, "a fence of one node comes from another");
    return 0;
}

struct msg *fence_message(struct job *j, const char *cmd, const struct fence_id *id,
                          struct buf *text)
{
    struct msg *m = peer_message(j, cmd);

    fence_format(id, text);
    msg_str(m, "fence", text->failed ? "" : buf_bytes(text));
    return m;
}

int fence_input(fence_fn *run, unsigned with, struct job *j, const struct msg *m,
                const char *payload, size_t len, struct err *e)
{
    struct fence_msg in = { .m = m, .payload = payload, .len = len };
    long long seq = 0, rank = -1;
    int *ranks, rc;

    if (((with & WITH_SEQ) && msg_number(m, "seq", 1, LLONG_MAX, &seq, e) < 0) ||
        ((with & WITH_RANK) && msg_number(m, "rank", 0, j->size - 1, &rank, e) < 0) ||
        take_id(j, m, &in.id, &ranks, e) < 0)
        return -1;
    in.seq = (unsigned long long)seq;
    in.rank = (int)rank;
    rc = run(j, &in, e);
    free(ranks);
    return rc;
}

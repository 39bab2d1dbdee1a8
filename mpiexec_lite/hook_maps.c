/* hook_maps.c - see hook_maps.h */
#include "mpiexec_lite/hook_maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct owners {                          /* of each rank: its node, or -1 */
    int   *node;                         /* owned */
    size_t n;                            /* ranks, and what there is room for */
};

static int no_memory(struct err *e)
{
    return err_set(e, ERR_NOMEM, "no memory for a map of ranks");
}

/* --- ranks ------------------------------------------------------------- */

static int reach(struct owners *o, size_t n, struct err *e)
{
    int *v;

    if (n <= o->n)
        return 0;
    v = reallocarray(o->node, n, sizeof *v);
    if (!v)
        return no_memory(e);
    for (size_t i = o->n; i < n; i++)
        v[i] = -1;
    o->node = v;
    o->n = n;
    return 0;
}

/* A number at *text, which is moved behind it; -1: there is none, or it is too large. */
static long number(const char **text)
{
    char *end;
    long x;

    if (**text < '0' || **text > '9')
        return -1;
    errno = 0;
    x = strtol(*text, &end, 10);
    *text = end;
    return errno || x >= MAP_RANKS ? -1 : x;
}

static int own(struct owners *o, long first, long last, int node, struct err *e)
{
    if (reach(o, (size_t)last + 1, e) < 0)
        return -1;
    for (long r = first; r <= last; r++) {
        if (o->node[r] >= 0)
            return err_set(e, ERR_INVALID_VAL, "map of ranks: rank %ld is there twice", r);
        o->node[r] = node;
    }
    return 0;
}

/* One node's "0-1,4"; *text is moved to what ends it. */
static int read_node(const char **text, int node, struct owners *o, struct err *e)
{
    while (**text && **text != ';') {
        long first = number(text), last = first;

        if (first >= 0 && **text == '-') {
            ++*text;
            last = number(text);
        }
        if (first < 0 || last < first || (**text && !strchr(",;", **text)))
            return err_set(e, ERR_INVALID_VAL, "map of ranks: '%.40s' makes no sense", *text);
        if (own(o, first, last, node, e) < 0)
            return -1;
        *text += **text == ',';
    }
    return 0;
}

static int read_ranks(const char *text, size_t nodes, struct owners *o, struct err *e)
{
    for (size_t i = 0; i < nodes; i++) {
        if (read_node(&text, (int)i, o, e) < 0)
            return -1;
        if (i + 1 < nodes && *text++ != ';')
            return err_set(e, ERR_INVALID_VAL, "map of ranks: of %zu nodes, not of %zu", i + 1,
                           nodes);
    }
    if (*text)
        return err_set(e, ERR_INVALID_VAL, "map of ranks: of more than %zu nodes", nodes);
    return 0;
}

static int place(const struct owners *o, struct placement *out, struct err *e)
{
    struct run *runs = o->n ? calloc(o->n, sizeof *runs) : NULL;
    size_t n = 0;
    int rc;

    if (!o->n)
        return 0;
    if (!runs)
        return no_memory(e);
    for (size_t r = 0; r < o->n; r++) {
        if (o->node[r] < 0) {
            free(runs);
            return err_set(e, ERR_INVALID_VAL, "map of ranks: rank %zu is on no node", r);
        }
        if (!n || runs[n - 1].node != o->node[r])
            runs[n++].node = o->node[r];
        runs[n - 1].n++;
    }
    rc = place_runs(runs, n, out, e);
    free(runs);
    return rc;
}

/* --- nodes ------------------------------------------------------------- */

static int read_nodes(const char *text, struct plan *p, struct err *e)
{
    for (bool last = !*text; !last;) {
        size_t n = strcspn(text, ",");
        char *name = strndup(text, n);
        bool added = name && plan_add_host(p, name);

        free(name);
        if (!n)
            return err_set(e, ERR_INVALID_VAL, "map of nodes: one without a name");
        if (!added)
            return no_memory(e);
        last = !text[n];
        text += n + !last;
    }
    return 0;
}

int maps_read(const char *nodes, const char *ranks, struct plan *p, struct placement *out,
              struct err *e)
{
    struct owners o = { 0 };
    int rc = read_nodes(nodes, p, e);

    if (rc == 0)
        rc = read_ranks(ranks, p->nhosts, &o, e);
    if (rc == 0)
        rc = place(&o, out, e);
    free(o.node);
    return rc;
}

int maps_node(const struct plan *p, const char *host)
{
    size_t len = strcspn(host, ".");

    for (size_t i = 0; i < p->nhosts; i++) {
        const char *name = p->hosts[i].name;
        bool whole = strchr(name, '.') && host[len];

        if (whole ? !strcmp(name, host)
                  : strcspn(name, ".") == len && !strncmp(name, host, len))
            return (int)i;
    }
    return -1;
}

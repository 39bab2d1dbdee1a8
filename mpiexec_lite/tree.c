/* tree.c - see tree.h */
#include "mpiexec_lite/tree.h"

#include "mpiexec_lite/launchers.h"

int tree_children(const struct tree *t, int p, int *first)
{
    long long from = t->width ? (long long)p * t->width + 1 : 1;
    int n = t->width ? t->width : p ? 0 : t->n - 1;

    *first = (int)(from < t->n ? from : t->n);
    return *first + n > t->n ? t->n - *first : n;
}

int tree_parent(const struct tree *t, int p)
{
    if (!p)
        return -1;
    return t->width && p < t->n ? (p - 1) / t->width : 0;
}

int tree_next(const struct tree *t, int p, int q)
{
    while (q > p) {
        int above = tree_parent(t, q);

        if (above == p)
            return q;
        q = above;
    }
    return -1;
}

int tree_positions(const struct plan *p)
{
    int n = 1;

    for (size_t i = 0; i < p->nhosts; i++)
        n += !p->hosts[i].local;
    return n;
}

int tree_node(const struct plan *p, int position)
{
    for (size_t i = 0; i < p->nhosts; i++)
        if (!p->hosts[i].local && !--position)
            return (int)i;
    return -1;
}

int tree_position(const struct plan *p, int node)
{
    int position = 0;

    if (p->hosts[node].local)
        return 0;
    for (int i = 0; i <= node; i++)
        position += !p->hosts[i].local;
    return position;
}

int tree_width(const struct plan *p)
{
    const struct launch_options *o = &p->remote;
    int others = tree_positions(p) - 1;

    return others <= o->flat_hosts || p->keep_going || o->tree_width >= others ||
           launcher_way(o->launcher)->calls_back
           ? 0 : o->tree_width;
}

/* calltree.c - see calltree.h */
#include "pmix_ext/calltree.h"

#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 256 };          /* frames of a stack that are kept: the walks below recurse */

static size_t bytes(int size) { return (size_t)size / 8 + 1; }

static bool has(const unsigned char *ranks, int rank) { return ranks[rank / 8] >> rank % 8 & 1; }

static void call_clear(struct call *c)
{
    for (size_t i = 0; i < c->n; i++) {
        call_clear(c->below[i]);
        free(c->below[i]);
    }
    free(c->below);
    free(c->name);
    free(c->ranks);
    *c = (struct call){ .name = NULL };
}

static int call_init(struct call *c, const char *name, size_t len, int size)
{
    c->name = strndup(name, len);
    c->ranks = calloc(1, bytes(size));
    return c->name && c->ranks ? 0 : -1;
}

int calltree_init(struct calltree *t, int size, bool lines)
{
    *t = (struct calltree){ .size = size, .lines = lines };
    return call_init(&t->root, "", 0, size);
}

void calltree_clear(struct calltree *t)
{
    call_clear(&t->root);
}

/* --- adding ------------------------------------------------------------ */

static struct call *find(struct call *c, const char *name, size_t len)
{
    for (size_t i = 0; i < c->n; i++)
        if (strlen(c->below[i]->name) == len && !memcmp(c->below[i]->name, name, len))
            return c->below[i];
    return NULL;
}

static struct call *make(struct call *c, const char *name, size_t len, int size)
{
    struct call **below = reallocarray(c->below, c->n + 1, sizeof *below);
    struct call *x = calloc(1, sizeof *x);

    if (below)
        c->below = below;
    if (below && x && call_init(x, name, len, size) == 0)
        return below[c->n++] = x;
    if (x)
        call_clear(x);
    free(x);
    return NULL;
}

static void enter(struct call *c, int rank)
{
    if (has(c->ranks, rank))
        return;
    c->ranks[rank / 8] |= (unsigned char)(1 << rank % 8);
    c->count++;
}

/* "main at a.c:5", or as much of it as counts. */
static size_t name_length(const struct calltree *t, const char *line, size_t len)
{
    const char *at = t->lines ? NULL : memmem(line, len, " at ", 4);

    return at ? (size_t)(at - line) : len;
}

void calltree_add(struct calltree *t, int rank, const char *text, size_t len)
{
    struct call *c = &t->root;
    const char *end = text + len;
    int depth = 0;

    if (rank < 0 || rank >= t->size)
        return;
    enter(&t->root, rank);
    for (const char *line = text, *next; line < end; line = next + 1) {
        size_t n;

        next = memchr(line, '\n', (size_t)(end - line));
        next = next ? next : end;
        n = name_length(t, line, (size_t)(next - line));
        if (!n) {                        /* another thread */
            c = &t->root;
            depth = 0;
            continue;
        }
        if (depth++ >= DEEPEST)
            continue;
        struct call *to = find(c, line, n);

        if (!to && !(to = make(c, line, n, t->size))) {
            t->failed = true;
            return;
        }
        enter(to, rank);
        c = to;
    }
}

static int first_rank(const struct call *c)
{
    int r = 0;

    while (c->count && !has(c->ranks, r))
        r++;
    return r;
}

static int by_count(const void *a, const void *b)
{
    const struct call *x = *(struct call *const *)a, *y = *(struct call *const *)b;

    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return first_rank(x) != first_rank(y) ? first_rank(x) - first_rank(y)
                                          : strcmp(x->name, y->name);
}

static void sort(struct call *c)
{
    if (c->n)
        qsort(c->below, c->n, sizeof *c->below, by_count);
    for (size_t i = 0; i < c->n; i++)
        sort(c->below[i]);
}

void calltree_sort(struct calltree *t)
{
    sort(&t->root);
}

/* --- printing ---------------------------------------------------------- */

void calltree_ranks(const struct calltree *t, const unsigned char *ranks, struct buf *out)
{
    const char *comma = "";

    for (int r = 0, last; r < t->size; r = last + 1) {
        last = r;
        if (!has(ranks, r))
            continue;
        while (last + 1 < t->size && has(ranks, last + 1))
            last++;
        buf_printf(out, last > r ? "%s%d-%d" : "%s%d", comma, r, last);
        comma = ",";
    }
}

/* The ranks are said where they become fewer, and where a stack ends. */
static void print(const struct calltree *t, const struct call *c, int level, bool said,
                  struct buf *out)
{
    if (c != &t->root) {
        buf_printf(out, "%*s", 2 * level, "");
        buf_escaped(out, c->name, strlen(c->name));
        if (!said || !c->n) {
            buf_printf(out, "  %d: rank%s ", c->count, c->count == 1 ? "" : "s");
            calltree_ranks(t, c->ranks, out);
        }
        buf_char(out, '\n');
    }
    for (size_t i = 0; i < c->n; i++)
        print(t, c->below[i], c == &t->root ? level : level + 1,
              c != &t->root && c->below[i]->count == c->count, out);
}

void calltree_text(const struct calltree *t, struct buf *out)
{
    print(t, &t->root, 0, false, out);
}

/* In the quotes of graphviz. */
static void quote(struct buf *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            buf_char(out, '\\');
        buf_char(out, *text);
    }
}

/* A node and what is below it; numbers are given on the way. */
static void draw(const struct calltree *t, const struct call *c, unsigned *number, struct buf *out)
{
    unsigned me = *number;

    for (size_t i = 0; i < c->n; i++) {
        const struct call *to = c->below[i];

        buf_printf(out, "  n%u [label=\"", ++*number);
        quote(out, to->name);
        buf_printf(out, "\"];\n  n%u -> n%u [label=\"%d:[", me, *number, to->count);
        calltree_ranks(t, to->ranks, out);
        buf_str(out, "]\"];\n");
        draw(t, to, number, out);
    }
}

void calltree_dot(const struct calltree *t, const char *title, struct buf *out)
{
    unsigned number = 0;

    buf_str(out, "digraph stacks {\n  node [shape=box, fontname=\"monospace\"];\n  n0 [label=\"");
    quote(out, title);
    buf_str(out, "\"];\n");
    draw(t, &t->root, &number, out);
    buf_str(out, "}\n");
}

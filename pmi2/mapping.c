/* mapping.c - see mapping.h */
#include "pmi2/mapping.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

void mapping_format(const struct mapping_block *blocks, size_t n, struct buf *out)
{
    buf_str(out, "(vector");
    for (size_t i = 0; i < n; i++)
        buf_printf(out, ",(%d,%d,%d)", blocks[i].first, blocks[i].nodes, blocks[i].ranks);
    buf_char(out, ')');
}

static bool same(const struct mapping_block *a, const struct mapping_block *b)
{
    return a->first == b->first && a->nodes == b->nodes && a->ranks == b->ranks;
}

/* b, cut off behind some of its ranks. */
static bool is_part(const struct mapping_block *a, const struct mapping_block *b)
{
    return a->first == b->first && ((a->ranks == b->ranks && a->nodes <= b->nodes) ||
                                    (a->nodes == 1 && a->ranks <= b->ranks));
}

static bool repeats(const struct mapping_block *blocks, size_t n, size_t period)
{
    for (size_t i = period; i + 1 < n; i++)
        if (!same(&blocks[i], &blocks[i % period]))
            return false;
    return is_part(&blocks[n - 1], &blocks[(n - 1) % period]);
}

/* Readers begin anew at the first block of node 0, so that must be the first. */
size_t mapping_period(const struct mapping_block *blocks, size_t n)
{
    for (size_t p = 1; p < n && !blocks[0].first; p++)
        if (repeats(blocks, n, p))
            return p;
    return n;
}

/* A number of 0 and up, and the character behind it. */
static int take_number(const char **s, char behind, int *out)
{
    char *end;
    long v;

    if (**s < '0' || **s > '9')
        return -1;
    v = strtol(*s, &end, 10);
    if (v > INT_MAX || *end != behind)
        return -1;
    *out = (int)v;
    *s = end + 1;
    return 0;
}

int mapping_parse(const char *text, struct mapping_block *blocks, size_t max, struct err *e)
{
    const char *s = text;
    size_t n = 0;

    if (strncmp(s, "(vector", 7))
        return err_set(e, ERR_INVALID_VAL, "a mapping begins with \"(vector\"");
    for (s += 7; !strncmp(s, ",(", 2); n++) {
        struct mapping_block b;

        s += 2;
        if (take_number(&s, ',', &b.first) < 0 || take_number(&s, ',', &b.nodes) < 0 ||
            take_number(&s, ')', &b.ranks) < 0 || !b.nodes || !b.ranks)
            return err_set(e, ERR_INVALID_VAL, "mapping: byte %td: want first,nodes,ranks)",
                           s - text);
        if (n == max)
            return err_set(e, ERR_LENGTH, "mapping: more than %zu blocks", max);
        blocks[n] = b;
    }
    if (strcmp(s, ")"))
        return err_set(e, ERR_INVALID_VAL, "mapping: byte %td: want \")\"", s - text);
    return (int)n;
}

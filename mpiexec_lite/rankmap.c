/* rankmap.c - see rankmap.h */
#include "mpiexec_lite/rankmap.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* How often c stands in text. */
static size_t count(const char *text, char c)
{
    size_t n = 0;

    for (; (text = strchr(text, c)); text++)
        n++;
    return n;
}

static int nonsense(const char *text, struct err *e)
{
    return err_set(e, ERR_INVALID_VAL, "'%.60s' is neither NODE,NODE... nor "
                   "(FIRST,NODES,RANKS),...", text);
}

/* "1,1,0" into a block for each rank. */
static int read_list(const char *text, struct mapping_block *out, struct err *e)
{
    int n = 0;

    for (const char *s = text;; s++) {
        char *end;
        long node;

        errno = 0;
        node = strtol(s, &end, 10);
        if (*s < '0' || *s > '9' || errno || node > INT_MAX || (*end && *end != ','))
            return nonsense(text, e);
        out[n++] = (struct mapping_block){ (int)node, 1, 1 };
        s = end;
        if (!*s)
            return n;
    }
}

static int read_blocks(const char *text, struct mapping_block *out, size_t max, struct err *e)
{
    struct buf whole = BUF_INIT;
    struct err why = { 0 };              /* of bytes that nobody has typed */
    int n;

    if (!strncasecmp(text, "(vector,", 8))
        buf_printf(&whole, "(vector%s", text + 7);
    else
        buf_printf(&whole, "(vector,%s)", text);
    n = whole.failed ? err_set(e, ERR_NOMEM, "no memory")
                     : mapping_parse(buf_bytes(&whole), out, max, &why);
    buf_clear(&whole);
    return n < 0 && why.code ? nonsense(text, e) : n;
}

static int check(const struct mapping_block *blocks, int n, size_t nodes, struct err *e)
{
    if (!n)
        return err_set(e, ERR_INVALID_VAL, "it maps no rank");
    for (int i = 0; i < n; i++)
        if ((size_t)blocks[i].first >= nodes || (size_t)blocks[i].nodes > nodes - (size_t)blocks[i].first)
            return err_set(e, ERR_INVALID_VAL, "there is no host number %d, the last one is %zu",
                           blocks[i].first + blocks[i].nodes - 1, nodes - 1);
    return 0;
}

int rankmap_read(const char *text, size_t nodes, struct mapping_block **out, size_t *n,
                 struct err *e)
{
    bool is_list = *text != '(';
    size_t most = count(text, is_list ? ',' : '(') + 1;
    int got;

    *out = calloc(most, sizeof **out);
    if (!*out)
        return err_set(e, ERR_NOMEM, "no memory");
    got = is_list ? read_list(text, *out, e) : read_blocks(text, *out, most, e);
    if (got >= 0 && check(*out, got, nodes, e) == 0) {
        *n = (size_t)got;
        return 0;
    }
    free(*out);
    *out = NULL;
    return -1;
}

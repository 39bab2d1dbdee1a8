/* hold.c - see hold.h */
#include "mpiexec_lite/hold.h"

#include "wire/rank_list.h"

#include <stdlib.h>
#include <string.h>

static const char *const words[] = {
    [HOLD_EXEC] = "exec", [HOLD_INIT] = "init", [HOLD_APP] = "app",
};

static const char *const places[] = {
    [HOLD_NONE] = "", [HOLD_EXEC] = "exec", [HOLD_INIT] = "pmix-init", [HOLD_APP] = "app",
};

int hold_read(struct plan *p, const char *text, struct err *e)
{
    size_t n = strcspn(text, ":"), where = HOLD_APP;
    char *ranks = NULL;

    while (where > HOLD_NONE && (strlen(words[where]) != n || memcmp(words[where], text, n)))
        where--;
    if (where == HOLD_NONE)
        return err_set(e, ERR_INVALID_VAL, "'%.40s': want exec, init or app, and :RANKS if they "
                       "are not all", text);
    if (text[n] && rank_list_check(text + n + 1, 0, e) < 0)
        return -1;
    if (text[n] && !(ranks = strdup(text + n + 1)))
        return err_set(e, ERR_NOMEM, "out of memory");
    free(p->hold_ranks);
    p->hold_ranks = ranks;
    p->hold = (enum hold)where;
    return 0;
}

void hold_drop(struct plan *p)
{
    free(p->hold_ranks);
    p->hold_ranks = NULL;
    p->hold = HOLD_NONE;
}

bool hold_has(const struct plan *p, enum hold where, int rank)
{
    return p->hold == where && where != HOLD_NONE && rank_list_has(p->hold_ranks, rank);
}

int hold_count(const struct plan *p, int size)
{
    int n = 0;

    for (int rank = 0; rank < size && p->hold != HOLD_NONE; rank++)
        n += rank_list_has(p->hold_ranks, rank);
    return n;
}

bool hold_needs_tool(const struct plan *p)
{
    return p->hold == HOLD_INIT || p->hold == HOLD_APP;
}

const char *hold_place(enum hold where)
{
    return places[where];
}

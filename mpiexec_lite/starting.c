/* starting.c - see starting.h */
#include "mpiexec_lite/starting.h"

#include <errno.h>
#include <stdlib.h>

int starting_init(struct starting *x, int ranks, int positions, struct err *e)
{
    *x = (struct starting){ .ranks = ranks, .positions = positions,
                            .waits = calloc((size_t)positions, sizeof *x->waits),
                            .codes = calloc((size_t)ranks, sizeof *x->codes) };
    return x->waits && x->codes ? 0 : err_set(e, ERR_NOMEM, "no memory for %d ranks", ranks);
}

void starting_clear(struct starting *x)
{
    free(x->waits);
    free(x->codes);
    *x = (struct starting){ 0 };
}

void starting_await(struct starting *x, int position)
{
    x->awaited += !x->waits[position];
    x->waits[position] = true;
}

void starting_said(struct starting *x, int position)
{
    if (position >= x->positions)
        return;
    x->awaited -= x->waits[position];
    x->waits[position] = false;
}

void starting_failed(struct starting *x, int rank, int errnum)
{
    if (x->codes[rank])
        return;
    x->codes[rank] = errnum;
    x->failed++;
}

void starting_cancel(struct starting *x)
{
    for (int i = 0; i < x->ranks; i++)
        starting_failed(x, i, ECANCELED);
}

enum starting_state starting_look(const struct starting *x, bool over)
{
    if (x->awaited)
        return STARTING_OPEN;
    if (!x->failed)
        return STARTING_DONE;
    return over ? STARTING_FAILED : STARTING_OPEN;
}

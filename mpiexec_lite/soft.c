/* soft.c - see soft.h */
#include "mpiexec_lite/soft.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>

/* a, a:b or a:b:c at *s.  False: it is none of these. */
static bool take_triplet(const char **s, long *a, long *b, long *c)
{
    long *to[] = { a, b, c };
    size_t n = 0;
    char *end;

    do {
        *to[n] = strtol(*s, &end, 10);
        if (end == *s || *to[n] > INT_MAX || *to[n] < -INT_MAX)
            return false;
        *s = end;
        n++;
    } while (n < 3 && **s == ':' && ++*s);
    if (n == 1)
        *b = *a;
    if (n < 3)
        *c = 1;
    return *c && (!**s || **s == ',');
}

/* The largest of a, a+c, ... up to b that is at most max; -1: none. */
static long largest(long a, long b, long c, long max)
{
    long low = c > 0 ? a : b, high = c > 0 ? b : a, step = labs(c);

    if (low > high)
        return -1;
    if (c < 0)                           /* the last one that is reached going down */
        low = a - (a - b) / step * step;
    if (high > max)
        high = max;
    if (low < 0)
        low += (-low + step - 1) / step * step;
    return high < low ? -1 : low + (high - low) / step * step;
}

int soft_largest(const char *list, int max, struct err *e)
{
    long best = -1, a, b, c, found;

    for (const char *s = list;; s++) {
        if (!take_triplet(&s, &a, &b, &c))
            return err_set(e, ERR_INVALID_VAL, "numbers or ranges a:b:c, separated by "
                           "commas, wanted, not '%.60s'", list);
        found = largest(a, b, c, max);
        if (found > best)
            best = found;
        if (!*s)
            break;
    }
    if (best < 0)
        return err_set(e, ERR_INVALID_VAL, "no number of '%.60s' is at most %d", list, max);
    return (int)best;
}

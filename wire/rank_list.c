/* rank_list.c - see rank_list.h */
#include "wire/rank_list.h"

#include <limits.h>
#include <string.h>

static bool take_number(const char **at, int *n)
{
    const char *p = *at;
    long long value = 0;

    for (; *p >= '0' && *p <= '9' && value <= INT_MAX; p++)
        value = value * 10 + (*p - '0');
    if (p == *at || value > INT_MAX)
        return false;
    *at = p;
    *n = (int)value;
    return true;
}

static bool is_all(const char *list)
{
    return !strcmp(list, "*") || !strcmp(list, "all");
}

int rank_list_next(const char **at, int *first, int *last)
{
    if (!**at)
        return 0;
    if (!take_number(at, first))
        return -1;
    *last = *first;
    if (**at == '-') {
        ++*at;
        if (!take_number(at, last) || *last < *first)
            return -1;
    }
    if (!**at)
        return 1;
    return *(*at)++ == ',' && **at ? 1 : -1;
}

int rank_list_check(const char *list, int size, struct err *e)
{
    const char *at = list;
    int first, last, got;

    if (is_all(list))
        return 0;
    while ((got = rank_list_next(&at, &first, &last)) > 0)
        if (size && last >= size)
            return err_set(e, ERR_INVALID_VAL, "there is no rank %d: the job has %d", last, size);
    return got < 0 || !*list ? err_set(e, ERR_INVALID_VAL, "'%.60s': ranks are like 0,3-5, or all",
                                       list) : 0;
}

bool rank_list_has(const char *list, int rank)
{
    int first, last;

    if (!list || is_all(list))
        return true;
    while (rank_list_next(&list, &first, &last) > 0)
        if (rank >= first && rank <= last)
            return true;
    return false;
}

/* rank_list.h - some ranks of a job, as people write them: "0,3-5"; "*" or "all": every one.
 *
 * No I/O, no memory; thread-safe. */
#ifndef WIRE_RANK_LIST_H
#define WIRE_RANK_LIST_H

#include "wire/err.h"

#include <stdbool.h>

/* The next of the ranges of a list that is not "all", at *at, which moves on behind it: 1, the range first to last, both
 * included; 0: there are no more; -1: it is none, or its end is before its beginning. */
int  rank_list_next(const char **at, int *first, int *last);
/* 0, or -1 and e: it is no such list, or names a rank that a job of this size does not have;
 * size 0: any. */
int  rank_list_check(const char *list, int size, struct err *e);
/* Whether a list that is right, or NULL (every rank), has this one. */
bool rank_list_has(const char *list, int rank);

#endif

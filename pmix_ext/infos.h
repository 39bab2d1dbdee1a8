/* infos.h - what handlers ask of an array of infos. */
#ifndef PMIX_EXT_INFOS_H
#define PMIX_EXT_INFOS_H

#include "pmix_ext/pmix_ext_common.h"
#include "wire/err.h"

#include <stdbool.h>

struct infos {
    pmix_info_t *v;                      /* owned */
    size_t       n;
};

/* From JSON text; NULL: none.  0, or -1 and e, which begins with what. */
int  infos_take(struct infos *x, const char *text, size_t len, const char *what, struct err *e);
void infos_clear(struct infos *x);

/* The first with this key, or NULL. */
const pmix_info_t *info_find(const struct infos *x, const char *key);

/* A flag: PMIX_BOOL, or an info without a value, which is true. */
bool info_is_true(const pmix_info_t *info);
/* There is one with this key, and it is true. */
bool infos_say(const struct infos *x, const char *key);

/* A number of any integer type within min..max: 0, or -1 and e. */
int  info_number(const pmix_info_t *info, long long min, long long max, long long *out,
                 struct err *e);
/* PMIX_STRING that is not NULL or "".  Borrowed; NULL and e. */
const char *info_text(const pmix_info_t *info, struct err *e);
/* PMIX_PROC, or an array of them; borrowed.  0, or -1 and e. */
int  info_procs(const pmix_info_t *info, const pmix_proc_t **procs, size_t *n, struct err *e);

/* Whoever marks an info as required wants it honoured: the first such whose key is not
 * among these (NULL ends them), or NULL. */
const pmix_info_t *infos_unknown(const struct infos *x, const char *const *known);

#endif

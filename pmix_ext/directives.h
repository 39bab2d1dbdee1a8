/* directives.h - directives of a command: an array of infos, by a table of the keys it knows.
 *
 * A key that the table has not got is refused if it is marked as required, else ignored
 * (RFC0010: "required or optional"); a value of another type than its key's is an error,
 * never cast.  Pure; thread-safe. */
#ifndef PMIX_EXT_DIRECTIVES_H
#define PMIX_EXT_DIRECTIVES_H

#include "pmix_ext/infos.h"
#include "pmix_ext/pmix_ext_keys.h"

struct directive_rule {
    const char      *key;                /* NULL ends the table */
    pmix_data_type_t type;
    int              at;                 /* where it goes in the command's struct, as the C
                                            type of its type; DIRECTIVE_NOWHERE: it is known, and
                                            changes nothing */
};
enum { DIRECTIVE_NOWHERE = -1 };
#define DIRECTIVE(key, type, record, member) { key, type, (int)offsetof(record, member) }
#define DIRECTIVE_KNOWN(key, type) { key, type, DIRECTIVE_NOWHERE }

/* Decode them from a command's argument `what` (text NULL: there are none).  The status, and
 * e if it is not PMIX_SUCCESS; to be cleared then as well. */
pmix_status_t directives_read(struct infos *in, const char *text, size_t len, const char *what,
                              struct err *e);

/* Put them into a record; strings are borrowed from in.  A bool without a value is true. */
pmix_status_t directives_take(const struct infos *in, const char *what,
                              const struct directive_rule *rules, void *record, struct err *e);
/* One of them: the rule of its key; NULL with PMIX_SUCCESS: it is to be ignored. */
pmix_status_t directive_check(const pmix_info_t *info, const struct directive_rule *rules,
                              const struct directive_rule **rule, struct err *e);

/* The i-th key of a table and its type, for support.h; false: there are no more. */
bool directive_at(const struct directive_rule *rules, size_t i, const char **key,
                  pmix_data_type_t *type);

#endif

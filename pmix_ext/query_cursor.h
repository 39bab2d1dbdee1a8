/* query_cursor.h - the answer to one key of a query, element by element. */
#ifndef PMIX_EXT_QUERY_CURSOR_H
#define PMIX_EXT_QUERY_CURSOR_H

#include "pmix_ext/query.h"

/* What answers a key, and for what: of the table of queries, or of that of info.h. */
struct query_cursor {
    const struct query_key *row;     /* one of the two, or neither: nothing answers it */
    const struct info_key  *info;
    struct selection  sel;           /* owned, as is what follows */
    enum query_each   each;
    struct pick      *picks;         /* EACH_RANK */
    size_t            npicks, pick;
    int               in_pick;       /* ranks of it that are done */
    bool             *nodes;         /* EACH_NODE: which */
    size_t            index;         /* of EACH_NODE, EACH_JOB, EACH_FUNCTION: the next */
    bool              single;        /* one value, and no array */
    struct element    now;
};

/* Whether the key needs a survey, and one of what else (FACT_...). */
bool cursor_needs(const char *key, unsigned *what);
/* Whether it needs the queues of the scheduler. */
bool cursor_needs_queues(const char *key);
/* Qualifiers that mean something for a key; 0: it is not known. */
unsigned cursor_takes(const char *key);
/* Select what the key is about.  0, or why it cannot be answered; to be cleared either
 * way. */
pmix_status_t cursor_select(struct query_cursor *c, struct asking *a, const struct selection *sel,
                            const char *key);
/* Then, with what surveys have found: prepare to go through it.  0, or a status. */
pmix_status_t cursor_begin(struct query_cursor *c, struct ext *x);
/* single: fill the value.  0, or a status. */
pmix_status_t cursor_value(struct query_cursor *c, struct ext *x, pmix_value_t *out);
/* Else append the next element: 1; 0: there are no more; -1 and e. */
int cursor_next(struct query_cursor *c, struct ext *x, bool comma, struct buf *out,
                struct err *e);
/* The type of its elements. */
pmix_data_type_t cursor_type(const struct query_cursor *c);
void cursor_clear(struct query_cursor *c);

#endif

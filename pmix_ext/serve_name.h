/* serve_name.h - what publishing and looking up (serve_name.c, serve_publish.c, serve_lookup.c)
 * share. */
#ifndef PMIX_EXT_SERVE_NAME_H
#define PMIX_EXT_SERVE_NAME_H

#include "pmix_ext/serve.h"

/* For whom a name is: for those of its range; for processes of the publisher's node, or for
 * himself, at this launcher. */
enum audience { FOR_MANY, FOR_NODE, FOR_PROC, AUDIENCES };

struct own_name {                        /* that goes with its publisher */
    STAILQ_ENTRY(own_name) next;
    char *name;                          /* owned; as the name service has it */
    bool  here;
};

/* How the name service has a key that s publishes, or looks for; false: no memory. */
bool name_spell(struct session *s, const char *key, enum audience who, struct buf *out);
/* Who asks. */
void name_call_by(struct session *s, struct name_call *call);
/* What its answer is in PMIx's words. */
pmix_status_t name_status(enum outcome o, const struct err *why);

/* --- several keys of one call ------------------------------------------ */

struct item {                            /* owned */
    char *name, *text;
};

struct publishing {
    TAILQ_ENTRY(publishing) in_ext;
    struct ext      *ext;
    struct session  *by;                 /* borrowed: it goes before */
    enum name_op     op;
    enum name_range  range;
    enum name_persistence persistence;
    bool             here;
    bool             mine;               /* it ends with its publisher */
    pmix_status_t    status;             /* once one has failed; the others are taken back */
    struct err       why;
    struct item     *items;              /* owned */
    size_t           n, at;              /* at: the one at work, or to be taken back */
    struct name_ask *ask;                /* that is waited for; or NULL */
    struct waiters   waiters;
};

/* For a call of s with up to `room` items; NULL: no memory.  Until it is started, the caller
 * fills it in or frees it. */
struct publishing *publishing_new(struct session *s, enum name_op op, size_t room);
void publishing_free(struct publishing *p);
/* Begin with the first; it is taken.  PARKED: the reply follows. */
enum outcome publishing_start(struct request *rq, struct publishing *p, struct err *e);

/* --- serve_lookup.c ---------------------------------------------------- */

void lookups_conn_gone(struct ext *x, struct conn *c);
void lookups_clear(struct ext *x);

#endif

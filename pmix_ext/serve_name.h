/* serve_name.h - what publishing and looking up (serve_name.c, serve_lookup.c) share. */
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

void lookups_conn_gone(struct ext *x, struct conn *c);
void lookups_clear(struct ext *x);

#endif

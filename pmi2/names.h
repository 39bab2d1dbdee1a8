/* names.h - what a name command asks for: publish, unpublish, lookup.
 *
 * A rank says what it wants beside name and port in info pairs (infokey0=range;
 * infoval0=node;) or in fields of their own (range=node;):
 *
 *   publish   range        job: for this job only; user: for all jobs of this user
 *                          (default); node: for every user of the node's server
 *             persistence  job: until the job that publishes it ends (default);
 *                          first-read: the same, and until somebody has looked it up;
 *                          indefinite: until it is taken back
 *   lookup    wait         TRUE: until there is such a name
 *             timeout      so many seconds at most; says wait as well
 *
 * Other keys change nothing.  Without a resident server (pmi2_server) all jobs are of
 * one launcher, and no name outlives it.  The same fields go from server to server.
 * Pure; not thread-safe. */
#ifndef PMI2_NAMES_H
#define PMI2_NAMES_H

#include "wire/msg.h"

#include <stdint.h>

enum name_op { NAME_PUBLISH, NAME_UNPUBLISH, NAME_LOOKUP };
enum name_range { RANGE_USER, RANGE_JOB, RANGE_NODE };
enum name_persistence { PERSIST_JOB, PERSIST_FIRST_READ, PERSIST_INDEFINITE };

enum { NAME_TIMEOUT_MAX = 1000000000 };

struct name_want {
    enum name_op op;
    const char  *name, *port;        /* borrowed; port: publish only */
    enum name_range range;
    enum name_persistence persistence;
    bool         wait;
    int          timeout;            /* seconds; 0: as long as it takes */
    bool         here;               /* is never told to a resident server */
};

/* What pmix-publish publishes (pmix_ext/) is kept like a port, with a tag before it that
 * says whose it is and of what kind; a lookup of PMI gets what is behind the tag: the text of
 * a string, and of other values their JSON. */
struct name_tag {
    const char *nspace;              /* of the publisher; borrowed, nspace_len bytes */
    size_t      nspace_len;
    uint32_t    rank;
    bool        json;                /* the text is a typed value, else it is a string */
};
enum { NAME_TAG = 96 };              /* bytes that a tag takes at most, NUL included */
/* What stands behind the tag of a port, if there is one (*tag, may be NULL); without one the
 * port itself, and tag->nspace is NULL. */
const char *name_untag(const char *port, struct name_tag *tag);
void        name_write_tag(const struct name_tag *tag, char text[NAME_TAG]);

/* "name-publish" and so on. */
const char *name_command(enum name_op op);
const char *name_range_text(enum name_range range);
const char *name_persistence_text(enum name_persistence persistence);

/* Only what is not name and port: 0, or -1 and e. */
int  name_read_options(struct name_want *w, const struct msg *m, struct err *e);
/* All of it, from a message between servers; op is its command.  Texts are checked:
 * UTF-8, not empty, within their limits.  0, or -1 and e. */
int  name_read(struct name_want *w, const struct msg *m, struct err *e);
/* Add it to a message between servers. */
void name_write(const struct name_want *w, struct msg *m);

#endif

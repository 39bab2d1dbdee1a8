/* parts.h - a reply whose array is too long for one frame, or too large to be held whole.
 *
 * It goes in parts, each of which is a frame of its own with the same thrid, and in it an
 * array of some elements; all but the last say more=TRUE (PROTOCOL.md, "Parts").  A part is
 * made when the connection has room for it, from a cursor: an object that knows what comes
 * next.  So no more of the array is in memory than what is on its way.
 *
 * A reply is held until parts_go, for those who have to wait before they can begin. */
#ifndef PMIX_EXT_PARTS_H
#define PMIX_EXT_PARTS_H

#include "pmi2/core.h"

struct session;
struct parts;
TAILQ_HEAD(parts_list, parts);

/* Bytes of a part: elements are added up to this; one that is longer goes alone. */
enum { PARTS_SIZE = LIMIT_CHUNK };

struct parts_ops {
    /* Append the next element to out, which has room for so many bytes until the part is
     * full (more is allowed).  1; 0: there are no more; or -1 and e: it ends here. */
    int  (*next)(void *cursor, size_t room, struct buf *out, struct err *e);
    /* The reply is complete, or nobody is left to take it. */
    void (*free)(void *cursor);
};

/* Answer rq by a reply whose field (by position in the row, like reply_text) is the array.
 * It takes the cursor, which may be freed before this returns only if it fails.  PARKED;
 * *made, valid until it is freed: for parts_go or parts_fail.  FAILED and e. */
enum outcome parts_new(struct request *rq, int field, const struct parts_ops *ops, void *cursor,
                       struct parts **made, struct err *e);
/* The same of a request that is parked, which is not to be looked at afterwards. */
enum outcome parts_take(struct request *parked, int field, const struct parts_ops *ops,
                        void *cursor, struct parts **made, struct err *e);
/* Begin to send.  It may be complete, and freed, when this returns. */
void parts_go(struct parts *p);
/* Answer with this failure instead, before it has begun. */
void parts_fail(struct parts *p, int status, const struct err *why);

/* For ext.c: there is room on a connection; it is gone. */
void parts_room(struct session *s);
void parts_forget(struct session *s);

#endif

/* munger.h - munge, asked without waiting for it.
 *
 * libmunge may block for ten seconds, so it is called in a helper process, forked
 * at the first request, that does one request after the other.  libmunge.so.2 is
 * opened there and only then; it need not be installed where this was built.
 * Credentials are made to be decoded by one uid, for 60 seconds, always encrypted.
 *
 * A request that is not answered within MUNGER_DEADLINE seconds ends the helper and
 * with it all requests that wait; the next request starts another.  The helper has
 * an empty environment, no descriptors but its socket (0 to 2: /dev/null), all
 * signals blocked, no core file, and is killed when its parent dies.  It is a child
 * process: whoever waits for any child may reap it, which does no harm, and must
 * not take it for one of the job's.
 *
 * Not thread-safe.  Works with every libev loop. */
#ifndef MPIEXEC_LITE_MUNGER_H
#define MPIEXEC_LITE_MUNGER_H

#include "wire/err.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MUNGER_DEADLINE 5.0      /* seconds */

enum {
    MUNGER_FLIGHT = 64,          /* most requests that wait at once */
    MUNGER_PAYLOAD = 4096,       /* most bytes of a payload, either way */
    MUNGER_CREDENTIAL = 8192     /* most bytes of a credential, either way */
};

/* libmunge's codes (munge.h) that mean something to us, and our own below zero. */
enum munge_code {
    MUNGE_UNREACHABLE = -1,      /* no library, no answer, no helper, ... */
    MUNGE_OK = 0,
    MUNGE_SOCKET = 6,            /* munged is not there */
    MUNGE_INVALID = 14,
    MUNGE_EXPIRED = 15,
    MUNGE_REWOUND = 16,          /* made in our future */
    MUNGE_REPLAYED = 17,
    MUNGE_UNAUTHORIZED = 18      /* made for another uid */
};

struct munge_result {
    int         code;            /* anything but MUNGE_OK is a refusal */
    const char *text;            /* why, for a person ("munge: ..."); "" when MUNGE_OK */
    const char *data;            /* credential or payload; data[len] is 0.  A decode that
                                    says EXPIRED, REWOUND or REPLAYED has it as well */
    size_t      len;
    uid_t       uid;             /* decode: who made it; else (uid_t)-1 */
    int64_t     encoded, decoded;/* decode: seconds since 1970 by the maker's clock and
                                    ours; 0 when not known */
};

/* Called from the loop, once, with a result that is valid during the call (and
 * wiped after it).  May make and cancel requests; must not free the munger. */
typedef void munge_done(void *user, const struct munge_result *r);

struct ev_loop;
struct munger;

/* socket: munged's; library: what to open.  NULL: the usual ones; both are copied.
 * Nothing is started yet.  NULL: no memory. */
struct munger *munger_new(struct ev_loop *loop, const char *socket, const char *library);
/* Ends the helper.  Requests that wait are dropped: their callbacks are not called.
 * NULL is fine. */
void munger_free(struct munger *m);

/* Both copy the bytes.  0: done will be called, later.  -1 and e: too many wait, too
 * long, no memory, no process; done will not be called.  reader: who may decode it. */
int munger_encode(struct munger *m, const void *payload, size_t len, uid_t reader,
                  munge_done *done, void *user, struct err *e);
int munger_decode(struct munger *m, const char *credential, size_t len, munge_done *done,
                  void *user, struct err *e);

/* Forget all requests of this user: it goes away.  They count as waiting until
 * munge has answered. */
void munger_cancel(struct munger *m, const void *user);

#endif

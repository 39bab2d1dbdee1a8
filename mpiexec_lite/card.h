/* card.h - what a user is told of a job that has failed, below the line that says what
 * happened: when, to which ends the others came, who had not come to a fence
 * that others waited in, and that nothing is left.  Pure. */
#ifndef MPIEXEC_LITE_CARD_H
#define MPIEXEC_LITE_CARD_H

#include "mpiexec_lite/launch.h"
#include "wire/buf.h"

/* The part about a job, once all of it has ended.  after: seconds from its start to the
 * failure.  memory, words: what is known of the rank to blame (crew.h) and the end of its
 * stderr, "": nothing.  Nothing is written where no rank is to blame. */
void card_job(const struct launch *l, double after, const char *memory, const char *words,
              struct buf *out);
/* What Hydra prints of the rank to blame, whose status it gives as wait4 does without what is
 * no status; nothing of one that has called abort. */
void card_banner(const struct launch *l, struct buf *out);
/* The last line: processes that are left on so many nodes which have counted them, and the
 * names of those that could not be asked ("": none). */
void card_receipt(int left, int nodes, const char *lost, struct buf *out);

#endif

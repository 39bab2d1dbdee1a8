/* lease.h - is the server at the other end of a link still there?
 *
 * Each end says something at least every `beat` seconds; who has heard nothing for
 * `term` seconds takes the other for lost.  A process that has itself been held up
 * cannot tell: it first reads what has arrived and gives the other one more term.
 * Pure: the caller says what time it is. */
#ifndef MPIEXEC_LITE_LEASE_H
#define MPIEXEC_LITE_LEASE_H

#include <stdbool.h>

struct lease {
    double beat, term;       /* seconds; term 0: never lost */
    double heard, said;      /* when last */
};

void lease_init(struct lease *l, double beat, double term, double now);
static inline void lease_heard(struct lease *l, double now) { l->heard = now; }
static inline void lease_said(struct lease *l, double now) { l->said = now; }

/* When lease_tick is due next. */
double lease_due(const struct lease *l);

enum lease_action { LEASE_NOTHING, LEASE_BEAT, LEASE_LOST };
/* What to do now: nothing, say something, or give the other up. */
enum lease_action lease_tick(struct lease *l, double now);

#endif

/* lease.c - see lease.h */
#include "mpiexec_lite/lease.h"

/* So much later than it was due, a look means that we were held up ourselves. */
static const double LATE = 1.0;

void lease_init(struct lease *l, double beat, double term, double now)
{
    *l = (struct lease){ .beat = beat, .term = term, .heard = now, .said = now };
}

double lease_due(const struct lease *l)
{
    double beat = l->said + l->beat, lost = l->heard + l->term;

    return l->term > 0 && lost < beat ? lost : beat;
}

enum lease_action lease_tick(struct lease *l, double now)
{
    double due = lease_due(l);

    if (now > due + LATE)
        l->heard = now;                  /* what has arrived meanwhile was not read yet */
    if (l->term > 0 && now >= l->heard + l->term)
        return LEASE_LOST;
    return now >= l->said + l->beat ? LEASE_BEAT : LEASE_NOTHING;
}

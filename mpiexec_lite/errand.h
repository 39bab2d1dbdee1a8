/* errand.h - a program that is run for what it prints, without anybody waiting for it.
 *
 * It has nothing on its stdin, a limited time, and room for so much that it may say: beyond
 * either it is ended, by SIGTERM, and two seconds later by SIGKILL.  done is called once, from
 * the loop, when it is known to have ended (errand_reaped); it may clear and free the
 * errand. */
#ifndef MPIEXEC_LITE_ERRAND_H
#define MPIEXEC_LITE_ERRAND_H

#include "mpiexec_lite/child.h"
#include "wire/buf.h"

#include <ev.h>

enum { ERRAND_SAYS = 1 << 20 };          /* bytes, of stdout and stderr each */

struct errand {
    struct ev_loop *loop;                /* borrowed */
    pid_t      pid;                      /* 0: it does not run */
    int        out, err;                 /* owned: our ends of its 1 and 2; -1: closed */
    ev_io      said, worded;
    ev_timer   limit;
    struct buf text, words;              /* owned: what came there */
    bool       late, flooded, ending;    /* its time was over; it said too much; it was told to
                                            end */
    int        wstatus;                  /* once it has ended */
    void     (*done)(void *who);
    void      *who;
};

/* Find a program as errand_start does: as program_find. */
int  errand_find(const char *name, char *path, size_t size, int *status, struct err *e);
/* Run it; argv[0] is looked for in PATH.  0, or -1 and e; with *missing if there is no such
 * program.  To be cleared either way. */
int  errand_start(struct errand *x, struct ev_loop *loop, char *const *argv, char *const *envp,
                  const struct inherited *user, double seconds, void (*done)(void *), void *who,
                  bool *missing, struct err *e);
/* It is to end soon; done is called then. */
void errand_stop(struct errand *x);
/* A child has ended; false: not this one. */
bool errand_reaped(struct errand *x, pid_t pid, int wstatus);
/* It has ended by itself, in time, with status 0. */
bool errand_good(const struct errand *x);
/* What it has printed; "" for nothing. */
static inline const char *errand_text(const struct errand *x)
{
    return x->text.len ? buf_bytes(&x->text) : "";
}
/* The last line that it has written to stderr, fit to be shown; "" without one.  Valid until
 * it is cleared. */
const char *errand_words(struct errand *x);
/* Kills it, if it lives; nobody is told. */
void errand_clear(struct errand *x);

#endif

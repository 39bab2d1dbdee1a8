/* windows.h - gdb for a person, on ranks that are held at exec (-gdb): each in a pane of tmux,
 * or in an xterm.
 *
 * A process of its own opens the windows and keeps them, so that the front end never waits for
 * one.  It says when a window has closed: then its rank is to go on; and when the front end is
 * done with it, or dies, it closes those that are left. */
#ifndef MPIEXEC_LITE_WINDOWS_H
#define MPIEXEC_LITE_WINDOWS_H

#include "mpiexec_lite/child.h"
#include "mpiexec_lite/place.h"

/* Before anything is started: whether windows and gdb can be had for all ranks that plan->gdb
 * wants.  0, or -1 and e: what is missing. */
int windows_check(const struct plan *p, const struct placement *place, struct err *e);

struct window {
    int   rank;
    pid_t pid;                   /* on its host */
    const struct host *host;     /* borrowed from the plan */
};

struct windows {
    const struct plan      *plan;        /* borrowed, as `user` */
    const struct inherited *user;
    struct window *v;            /* owned: what is to be opened */
    int            n;
    pid_t          keeper;       /* 0: none */
    int            fd;           /* owned: to it, -1: none */
};
void windows_init(struct windows *w, const struct plan *p, const struct inherited *user);
/* One of the job's ranks, of which those that -gdb names get a window.  0, or -1: no memory. */
int  windows_add(struct windows *w, int rank, const char *host, pid_t pid);
/* All of them; w->fd is worth reading then (without blocking).  0, or -1 and e. */
int  windows_open(struct windows *w, struct err *e);
/* The next rank whose window has closed: 1; 0: none for now; -1: there are no windows any more,
 * and all ranks may go on. */
int  windows_closed(struct windows *w, int *rank);
/* Have those closed that are left. */
void windows_end(struct windows *w);
/* The same, and wait for it, some seconds at most. */
void windows_clear(struct windows *w);

#endif

/* windows_impl.h - what the files of windows.h share: windows.c (whether windows can be had; the front
 * end's side), windows_keep.c (the process that keeps them), windows_open.c (tmux and xterm). */
#ifndef MPIEXEC_LITE_WINDOWS_IMPL_H
#define MPIEXEC_LITE_WINDOWS_IMPL_H

#include "mpiexec_lite/windows.h"

enum { WINDOWS_MAX = 64 };       /* more than anybody looks at */

/* The first of these that can be had. */
enum windows_kind { USERS_TMUX, XTERM, OWN_TMUX, NONE };
enum windows_kind windows_kind(void);
/* A host that is a process of this one is no other host. */
bool windows_is_near(const struct plan *p, const struct host *h);

struct pane {                    /* of the keeper; as windows.v */
    char id[24];                 /* tmux's, "" if it is none */
    int  fd;                     /* its pipe: -1 once it has closed */
};

struct keeper {
    const struct windows *all;
    enum windows_kind kind;
    char  socket[40];            /* -L: of the own tmux */
    char  path[200];             /* the same as a file */
    char  first[24];             /* a pane beside which others are opened */
    int   front;                 /* told here which windows have closed */
    struct pane panes[WINDOWS_MAX];
};

/* windows_keep.c: what the keeper's process does; front: its end of a pair of sockets. */
_Noreturn void windows_keep(const struct windows *w, int front);

/* windows_open.c: a window in which these words are run.  0, or -1. */
int  windows_open_one(struct keeper *k, const char *title, const struct strlist *inside,
                      struct pane *pane);
/* What was said of the own tmux's socket, into k->path. */
void windows_note_path(struct keeper *k);
/* Those that are left.  An xterm goes with what is in it. */
void windows_close_tmux(struct keeper *k);
/* Words up to NULL.  0, or not. */
int  windows_add_words(struct strlist *to, const char *const *words);

#endif

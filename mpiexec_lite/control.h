/* control.h - what front end and root say to each other, over a socket pair.
 *
 * The frames are PMI-2's (wire/FORMAT), with payload for stdin:
 *
 *   front -> root   cmd=signal;signo=N;             a signal came to the launcher
 *                   cmd=stdin;payload=N; + N bytes  at most what was granted
 *                   cmd=stdin-eof;
 *                   cmd=rows;from=R;                which processes the job has, from R on
 *                   cmd=release;rank=R;             that rank may go on, if it is held; -1: all
 *                   cmd=spawn;...                   a program for every node, of a debugger
 *   root -> front   cmd=credit;bytes=N;             that much stdin may come
 *                   cmd=stdin-closed;               nobody reads stdin any more
 *                   cmd=stopped;                    the ranks are stopped (SIGTSTP)
 *                   cmd=table;ranks=N;jobid=J;      all run: rows can be asked for
 *                   cmd=row;rank=R;pid=P;host=H;program=X;  at most CONTROL_ROWS at a time
 *                   cmd=daemons;                    that runs, or it was told why not
 *                   cmd=aborting;text=T;            the job ends by an abort
 *                   cmd=ending;                     ranks are being ended (with -gdb)
 *
 * Root's exit status is the job's.  The end of the stream is the end of the
 * other process. */
#ifndef MPIEXEC_LITE_CONTROL_H
#define MPIEXEC_LITE_CONTROL_H

#include "pmi2/spawn.h"
#include "wire/msg.h"

#include <sys/types.h>

enum {
    CONTROL_CREDIT = 65536,          /* bytes of stdin on the way at most */
    CONTROL_ROWS = 64                /* rows of the table for one request: what is sent to a
                                        front end that is stopped fits its socket */
};

struct control_row {                 /* a rank; texts are borrowed */
    int         rank;
    pid_t       pid;
    const char *host, *program;
};

struct control_ops {                 /* NULL where a side does not take the message */
    void (*signal)(void *host, int signo);
    void (*input)(void *host, const char *data, size_t len);     /* a piece of stdin */
    void (*input_end)(void *host);
    void (*credit)(void *host, size_t bytes);
    void (*input_closed)(void *host);
    void (*stopped)(void *host);
    void (*rows)(void *host, int from);
    void (*release)(void *host, int rank);
    void (*spawn)(void *host, struct spawn_request *want);       /* may take what it holds */
    void (*daemons)(void *host);
    void (*table)(void *host, int ranks, const char *jobid);
    void (*row)(void *host, const struct control_row *row);
    void (*aborting)(void *host, const char *text);
    void (*ending)(void *host);
};

struct control {
    int           fd;                /* borrowed, blocking */
    struct framer framer;
    struct msg    msg;               /* scratch */
    const struct control_ops *ops;
    void         *host;
};

void control_init(struct control *c, int fd, const struct control_ops *ops, void *host);
void control_clear(struct control *c);

/* Read once and call the ops.  1; 0 at the end of the stream; -1: it is broken
 * (e says how).  Does not block if there is nothing. */
int control_read(struct control *c, struct err *e);

/* Send a message with one number (key NULL: none), or a piece of stdin.  The
 * other side being gone is not an error here: reading sees it.  Any other failure
 * is fatal (fatal.h). */
void control_send(struct control *c, const char *cmd, const char *key, long long n);
void control_send_table(struct control *c, int ranks, const char *jobid);
void control_send_row(struct control *c, const struct control_row *row);
/* 0, or -1 and e: it is too long. */
int  control_send_spawn(struct control *c, const struct spawn_request *want, struct err *e);
void control_send_abort(struct control *c, const char *text);
void control_send_input(struct control *c, const char *data, size_t len);

#endif

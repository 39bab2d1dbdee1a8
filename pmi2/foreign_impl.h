/* foreign_impl.h - what foreign.c (jobs of other launchers, and what is asked about them)
 * and far.c (links to other launchers, and what is said over them) share. */
#ifndef PMI2_FOREIGN_IMPL_H
#define PMI2_FOREIGN_IMPL_H

#include "pmi2/core.h"

struct far {                             /* the link to another launcher */
    TAILQ_ENTRY(far) in_server;
    struct server *server;
    void          *link;                 /* the host's */
};

enum far_op { FAR_CONNECT, FAR_GET };

struct far_ask {                         /* what another launcher is asked, until it answers */
    TAILQ_ENTRY(far_ask) in_server;
    struct server *server;
    struct job    *job;                  /* borrowed; NULL when it is gone */
    enum far_op    op;
    char           other[LIMIT_JOBID];
    char           key[LIMIT_KEY + 1];   /* FAR_GET */
    struct far    *far;                  /* borrowed; NULL: the host looks for it */
    unsigned       number;               /* of the question there */
    bool           direct;               /* no other launcher can know it */
    int            tried;                /* number of the foreign job whose launcher is asked */
    struct waiters waiters;              /* who waits: a request here */
    struct asked_by by;                  /* or (peer) a server below */
};

/* --- foreign.c --- */

/* A job of ours is now connected to the foreign one of that id, whose launcher is f.  0,
 * or -1 and e. */
int  foreign_join(struct job *j, const char *id, struct far *f, struct err *e);
void foreign_drop(struct job *x);
void foreign_drop_idle(struct server *s);        /* what nothing is connected to */
/* The first foreign job, by number, after that one whose launcher can be asked for j; or
 * NULL. */
struct job *foreign_way(struct job *j, int after);
/* What the launcher has answered; value NULL: none.  Frees a. */
void foreign_answer(struct far_ask *a, const struct pair *value, struct err *why);
/* It cannot answer any more.  Frees a. */
void foreign_unanswered(struct far_ask *a);

/* --- far.c --- */

void far_connect(struct far_ask *a);             /* to a->far */
/* from: the foreign job by way of which the other is connected; or that itself. */
void far_get(struct far_ask *a, const struct job *from);
void far_disconnect(const struct job *j, const struct job *x);
/* Over all links: the job has failed, or (status 0) ended. */
void far_tell_end(struct server *s, const struct job *j, int status);

#endif

/* ask_impl.h - what ask.c (who waits for which question, and the answers), ask_key.c
 * (questions about a key), held.c (about all that a release has held) and ask_root.c
 * (commands that the root carries out) share. */
#ifndef PMI2_ASK_IMPL_H
#define PMI2_ASK_IMPL_H

#include "pmi2/core.h"

struct asker {                           /* a server below that waits for the answer */
    struct peer *peer;
    unsigned     id;                     /* its own number of the question */
    SLIST_ENTRY(asker) next;
};

struct ask {
    TAILQ_ENTRY(ask) in_server;
    struct job    *job;
    unsigned       id;
    char          *key;                  /* owned; NULL: about something else */
    bool           held;                 /* about what is held */
    struct waiters waiters;              /* requests of ranks here */
    SLIST_HEAD(, asker) below;
};

/* A question about this key (copied), or (NULL) about something else, with a new number.
 * NULL: no memory. */
struct ask *ask_new(struct job *j, const char *key);
void ask_free(struct ask *a);
/* A server below waits for it too, as its question id.  0, or -1: no memory. */
int  add_asker(struct ask *a, struct peer *p, unsigned id);

/* A new question that a request waits for, which is parked; or a server below.  It is to be
 * sent.  NULL and e. */
struct ask *ask_for(struct request *rq, struct err *e);
struct ask *ask_below(struct peer *p, struct job *j, unsigned id, struct err *e);

/* ask_key.c: the answer (len 0: there is no such key), which is in j->kvs already; a is
 * freed. */
void answer_key(struct ask *a, const char *payload, size_t len);
/* Tell a server below: the data that it has asked for, or (len 0) that there is none. */
void tell_data(struct peer *p, struct job *j, unsigned id, const char *data, size_t len);
/* Held data has come, and a request that has waited for it goes on: it is answered, or
 * waits for what is said of its key. */
void ask_key_next(struct request *rq);

/* held.c: the question that is under way, or a new one; NULL: no memory. */
struct ask *held_question(struct job *j);
/* A server below asks that.  0, or -1 and e. */
int  held_get(struct peer *p, struct job *j, unsigned id, struct err *e);
/* The answer (len 0: nothing is held); a is freed.  0, or -1 and e. */
int  held_answer(struct ask *a, const char *data, size_t len, struct err *e);

#endif

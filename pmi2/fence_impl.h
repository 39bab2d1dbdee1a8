/* fence_impl.h - what the fence's source files share: fence.c (the rounds: entry,
 * release, up and down the tree), fence_list.c (the open ones of a job), fence_name.c
 * (which one a message is about), fence_ring.c (the texts of the ring) and
 * fence_missing.c (members that end). */
#ifndef PMI2_FENCE_IMPL_H
#define PMI2_FENCE_IMPL_H

#include "pmi2/core.h"

struct fence {
    TAILQ_ENTRY(fence) in_job;
    struct job     *job;             /* borrowed */
    enum fence_kind kind;
    long long       tag;
    int            *ranks;           /* owned, sorted; NULL: all of the job or node */
    size_t          n;               /* members */
    int            *here;            /* owned: which of ranks are here; or NULL */
    size_t          nhere;           /* members here */
    unsigned       *entered;         /* owned, by member here: its entries */
    unsigned        epoch;           /* rounds complete */
    size_t          arrived;         /* members here that are in the present round */
    size_t          below;           /* members at other servers that are */
    int             waiting;         /* one of them that waits; -1: not known */
    bool            sent;            /* this round has been told to the server above */
    uint32_t        last;            /* block of the store that went with that */
    bool            hinted;          /* the server above knows that somebody waits here */
    bool            checked;         /* the root has asked who misses */
    bool            owing;           /* rounds have failed that members here were not in */
    struct err      why;             /* of the last of these */
    struct buf      ring;            /* owned: texts that came from below */
    struct waiters  waiters;         /* of this round and later ones */
};

/* A message about a fence. */
struct fence_msg {
    struct fence_id    id;
    int                rank;         /* if it comes WITH_RANK; else -1 */
    unsigned long long seq;          /* if it comes WITH_SEQ; else 0 */
    const struct msg  *m;            /* all of it; borrowed, like the payload */
    const char        *payload;
    size_t             len;
};

/* It is decided here, as all its members are.  A fence of the whole job is the root's, which
 * is to have the data by then: other jobs may be connected to this one. */
static inline bool is_local(const struct fence *f)
{
    return f->nhere == f->n && (f->ranks || f->kind != FENCE_GROUP || is_root(f->job->server));
}

/* A waiting request of the round that is complete, or NULL. */
struct request *fence_next_released(const struct fence *f);
/* A rank that is known to wait in it, here if there is one; -1: none. */
int fence_waiter(const struct fence *f);

/* It goes on without those who have ended, once all others were told so. */
static inline bool shrinks(const struct fence *f) { return !f->ranks && f->kind != FENCE_RING; }

/* A rank that it does without. */
static inline bool is_out(const struct fence *f, int rank)
{
    int bit = f->kind == FENCE_NODE ? RANK_OUT_NODE : RANK_OUT;

    return shrinks(f) && f->job->ranks && (f->job->ranks[rank] & bit);
}

/* How many ranks that are members it does without. */
static inline size_t out_of(const struct fence *f)
{
    if (!shrinks(f))
        return 0;
    return (size_t)(f->kind == FENCE_NODE ? f->job->out_node : f->job->out);
}

/* The i-th of the members here. */
static inline const struct member *fence_member(const struct fence *f, size_t i)
{
    return f->here ? job_member(f->job, f->here[i]) : &f->job->members[i];
}

/* Somebody who waits in it goes on. */
void fence_leave(const struct fence *f, struct request *rq, enum outcome o, const struct err *e);
/* Count anew who is in the present round. */
void fence_recount(struct fence *f);
/* Go as far as can be gone; the fence may be gone afterwards. */
void fence_progress(struct fence *f);

/* --- the open ones (fence_list.c) --- */

struct fence *fence_find(struct job *j, const struct fence_id *id);
/* It, or a new one; NULL and e: too many are open, or no memory. */
struct fence *fence_need(struct job *j, const struct fence_id *id, struct err *e);
/* Take it out and free it; nobody waits in it. */
void fence_drop(struct fence *f);
/* Borrows its ranks. */
struct fence_id fence_id_of(const struct fence *f);

/* --- names (fence_name.c) --- */

/* Append "ring", "WORLD:7" or "0,2,5:7". */
void fence_format(const struct fence_id *id, struct buf *out);
/* Begin a message about a fence; text is to be cleared after it was sent. */
struct msg *fence_message(struct job *j, const char *cmd, const struct fence_id *id,
                          struct buf *text);

/* --- the ring (fence_ring.c) --- */

/* Add what the members here bring into this round: all of it, or, for others, only
 * what ranks of other nodes can ask for. */
void ring_gather(struct fence *f, struct buf *out, bool for_others);
/* Everybody whose round is complete gets the texts of the neighbours. */
void ring_release(struct fence *f, const struct buf *texts);

/* --- members that end (fence_missing.c) --- */

/* See to it that it does not wait in vain for one that has ended.  The fence may be
 * gone afterwards. */
void fence_look(struct fence *f);
/* Whether it has failed since the sender of an entry last heard of releases. */
bool has_failed(const struct job *j, const struct fence_id *id, long long seen);

#endif

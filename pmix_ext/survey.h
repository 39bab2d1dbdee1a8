/* survey.h - the ranks of a job as the servers of their nodes see them now.
 *
 * The host asks them (facts.h); whoever wants to know waits, but not for ever: a server that
 * is lost, or does not answer in time, leaves a gap. */
#ifndef PMIX_EXT_SURVEY_H
#define PMIX_EXT_SURVEY_H

#include "pmix_ext/after.h"
#include "pmix_ext/facts.h"
#include "wire/err.h"

#include <sys/queue.h>

struct ext;

struct survey {
    TAILQ_ENTRY(survey) in_ext;
    struct ext       *ext;
    unsigned          id;
    char             *nspace;            /* owned, as is what follows */
    struct fact_seen *ranks;             /* by rank */
    struct fact_usage *usage;            /* by rank; NULL: was not wanted */
    uint64_t         *servers;           /* bytes of memory, by node; NULL: likewise */
    struct seen_stack {
        char *text;                      /* owned; as in calltree.h, or why there is none; NULL:
                                            its node has not said */
        bool  there;                     /* it is a stack */
    }                *stacks;            /* by rank; NULL: were not wanted */
    int               size;
    size_t            nnodes;
    bool              over, late;        /* late: its time came before its end */
    struct after      limit;
    void            (*done)(void *who);
    void             *who;
};
TAILQ_HEAD(surveys, survey);

/* Ask about a job's ranks (node -1: on all its nodes) and what else (FACT_...).  done is
 * called once, when it is over, unless it is when this returns; seconds 0: no limit.  NULL
 * and e. */
struct survey *survey_new(struct ext *x, const struct fact_job *job, int node, unsigned what,
                          double seconds, void (*done)(void *who), void *who, struct err *e);
void survey_free(struct survey *s);      /* NULL is fine */

/* For ext.c: a job is gone. */
void surveys_forget_job(struct ext *x, const char *nspace);

#endif

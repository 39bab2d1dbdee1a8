/* query.h - what the files of pmix-query share: serve_query.c (the command and its reply),
 * query_select.c (qualifiers: what is asked about), query_keys.c (the table of keys).
 *
 * A query has keys and qualifiers; each key is answered by an entry, or by several that
 * follow each other, of the reply.  Where qualifiers select several ranks, nodes or jobs,
 * the answer is an array of what each of them has (RFC0010). */
#ifndef PMIX_EXT_QUERY_H
#define PMIX_EXT_QUERY_H

#include "pmix_ext/info.h"
#include "pmix_ext/schedule.h"
#include "pmix_ext/survey.h"
#include "wire/buf.h"

struct asking;
struct session;
TAILQ_HEAD(queries, asking);

/* --- qualifiers (query_select.c) --------------------------------------- */

enum {                           /* which kinds a query has; rows of query_qualifiers[] */
    Q_REFRESH = 1 << 0, Q_LOCAL = 1 << 1, Q_AVERAGE = 1 << 2, Q_MINMAX = 1 << 3,
    Q_ATTRIBUTES = 1 << 4, Q_NSPACE = 1 << 5, Q_RANK = 1 << 6, Q_PROCID = 1 << 7,
    Q_NODEID = 1 << 8, Q_HOSTNAME = 1 << 9, Q_APPNUM = 1 << 10, Q_REALM = 1 << 11,
    Q_TIMEOUT = 1 << 12, Q_SUPPORTED = 1 << 13, Q_PSET = 1 << 14, Q_QUEUE = 1 << 15,
    Q_NODES = Q_NODEID | Q_HOSTNAME | Q_LOCAL,
    Q_RANKS = Q_NSPACE | Q_RANK | Q_PROCID,
    Q_ALWAYS = Q_REFRESH | Q_TIMEOUT | Q_SUPPORTED
};

struct qualifier {
    const char       *key;       /* NULL: the end */
    unsigned          bit;
    pmix_data_type_t  type;
};
extern const struct qualifier query_qualifiers[];

struct picked_job {
    struct fact_job job;
    bool gone;                   /* it has ended meanwhile: of is of no use any more */
    const struct survey *survey; /* borrowed; NULL: none was needed */
};

/* Ranks of one job on one node, without a gap. */
struct pick { int job, node, first, n; };

struct selection {
    unsigned  given;             /* bits of the qualifiers there are */
    unsigned  required;          /* and of those that say so */
    pmix_status_t status;        /* why none of its keys can be answered; 0: they can */
    struct picked_job *jobs;     /* owned; in order of their start */
    size_t    njobs;
    bool     *nodes;             /* owned; by node, nnodes of them */
    size_t    nnodes;
    pmix_proc_t *ranks;          /* owned; as given; nspace "": of each job */
    size_t    nranks;
    int       app;               /* -1: not given */
    int       viewer;            /* node of who asks */
    const char *functions;       /* borrowed; of PMIX_..._ATTRIBUTES */
    const char *pset;            /* borrowed; of PMIX_PSET_NAME, NULL: not given */
    const char *queue;           /* likewise; of PMIX_ALLOC_QUEUE */
    enum info_realm realm;
    double    timeout;           /* s; 0: none */
};

/* Read the qualifiers of a query that the session asks.  0; or a status, and e: the whole
 * request is refused.  To be cleared either way. */
pmix_status_t select_read(struct session *s, const pmix_query_t *q, struct selection *out,
                          struct err *e);
void select_clear(struct selection *sel);
/* A copy for one of its keys, with what is meant where nothing is named: all jobs, or that of
 * who asks; local: the node of who asks.  0, or why the key cannot be answered; to be cleared
 * either way. */
pmix_status_t select_copy(struct session *s, const struct selection *sel, bool all_jobs,
                          bool local, struct selection *out);
/* The only node that is selected; -1: several, or none. */
int select_one_node(const struct selection *sel);
/* What is selected, malloc'ed: where nodes are, or several jobs, in order of node, job and
 * rank; else in order of rank.  NULL: no memory. */
struct pick *select_ranks(struct ext *x, const struct selection *sel, size_t *n);

struct query_queues {            /* what the scheduler has said of its queues */
    pmix_status_t status;
    struct sched_queue *v;       /* owned */
    size_t        n;
};

/* --- keys (query_keys.c) ------------------------------------------------ */

/* Of what an answer has one element each; ONCE: it is no array of these. */
enum query_each { EACH_ONCE, EACH_RANK, EACH_NODE, EACH_JOB, EACH_FUNCTION, EACH_QUEUE };

struct element {                 /* what one is to be written for */
    struct asking     *asking;
    const struct selection *sel;
    struct picked_job *job;      /* EACH_RANK, EACH_JOB */
    int                node, rank;
    struct fact_app    app;      /* EACH_RANK: of the rank */
    size_t             index;    /* EACH_FUNCTION, EACH_QUEUE */
};

struct query_key {
    const char       *key;       /* NULL: the end */
    pmix_data_type_t  type;      /* of the answer, or of each element */
    enum query_each   each;
    unsigned          takes;     /* OR of qualifiers that mean something for it */
    bool              all_jobs, local, survey, queues;   /* where no job, no node is named; what
                                    it needs */
    unsigned          what;      /* of a survey, FACT_...: what else it needs */
    /* 0, or why it cannot be answered for what is selected.  NULL: it always can. */
    pmix_status_t   (*check)(struct ext *x, const struct selection *sel);
    /* ONCE: fill the value. */
    pmix_status_t   (*value)(struct ext *x, const struct element *of, pmix_value_t *out);
    /* Else append one element.  1; 0: it has none; -1 and e. */
    int             (*add)(struct ext *x, const struct element *of, struct buf *out,
                           struct err *e);
};
extern const struct query_key query_keys[];
const struct query_key *query_key(const char *key);      /* or NULL */

/* query_psets.c: process sets (-pset). */
pmix_status_t query_pset_count(struct ext *x, const struct element *of, pmix_value_t *out);
pmix_status_t query_pset_names(struct ext *x, const struct element *of, pmix_value_t *out);
pmix_status_t query_pset_check(struct ext *x, const struct selection *sel);
bool          query_in_pset(const struct element *of);

/* query_queues.c: the scheduler's. */
pmix_status_t query_queue_list(struct ext *x, const struct element *of, pmix_value_t *out);
int           query_queue_status(struct ext *x, const struct element *of, struct buf *out,
                                 struct err *e);

/* What is known of, but not here: PMIX_ERR_NOT_SUPPORTED. */
pmix_status_t query_not_ours(struct ext *x, const struct element *of, pmix_value_t *out);

/* --- serve_query.c ------------------------------------------------------- */

/* Who has asked. */
struct session *asking_session(const struct asking *a);
/* Its scheduler's queues, once they are known. */
const struct query_queues *asking_queues(const struct asking *a);
/* For ext.c: a job has ended. */
void queries_forget_job(struct ext *x, const char *nspace);

#endif

/* sim.h - the simulator: the real server core on many nodes, in one process.
 *
 * A seed decides everything: how many ranks and nodes, what the ranks do, how long
 * every message takes, and what breaks when.  The core (pmi2/) and the launcher's
 * decisions (launch, lease, tree, flow) are the real ones; ranks are small clients that
 * speak PMI-1 or PMI-2 bytes, links are queues, time is a number.
 *
 *     draw.c    the seed becomes a job: nodes, ranks, collective calls, faults
 *     queue.c   events in order of virtual time
 *     net.c     links between servers: what goes when, and the invariants of credit
 *     node.c    servers and their host operations; what proxies and the root say
 *     root.c    the root's launcher: the real launch.c
 *     rank.c    what a rank sends
 *     reply.c   what it makes of the answers
 *     model.c   what is right: the invariants
 *     fault.c   ends, cuts and losses
 *     run.c     one run, and what must hold at its end
 *     scale.c   large jobs without faults: cost
 *     main.c    options, many seeds, the table of faults */
#ifndef TEST_SIM_SIM_H
#define TEST_SIM_SIM_H

#include "mpiexec_lite/flow.h"
#include "mpiexec_lite/launch.h"
#include "mpiexec_lite/lease.h"
#include "mpiexec_lite/tree.h"
#include "pmi2/core.h"

struct rng { uint64_t state; };

static inline uint64_t rng_next(struct rng *r)           /* splitmix64 */
{
    uint64_t z = r->state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}
/* 0 .. n-1 */
static inline int draw(struct rng *r, int n)
{
    return (int)(((rng_next(r) >> 32) * (uint64_t)n) >> 32);
}
static inline bool one_in(struct rng *r, int n) { return draw(r, n) == 0; }
static inline double unit(struct rng *r) { return (double)(rng_next(r) >> 11) / 9007199254740992.0; }
static inline struct rng rng_of(uint64_t a, uint64_t b, uint64_t c)
{
    struct rng r = { a * 0x9e3779b97f4a7c15u ^ b };

    r.state = rng_next(&r) ^ c * 0xd6e8feb86659fd93u;
    return r;
}

/* --- what is asked for --------------------------------------------------- */

struct config {
    int  ranks, nodes, faults, width;    /* -1: drawn */
    int  ft, release;                    /* likewise: fault tolerant; release_bytes */
    bool trace;
};

enum fault_kind { F_EXIT, F_SIGNAL, F_LEAVE, F_ABORT, F_HANG, F_NODE, F_CUT, F_SILENT, FAULTS };
enum phase { PH_LAUNCH, PH_INIT, PH_BETWEEN, PH_FENCE, PH_GET, PH_FINALIZE, PH_ENDING, PHASES };
extern const char *const fault_names[FAULTS], *const phase_names[PHASES];

struct totals {                          /* of many runs */
    unsigned long runs, events, requests, messages, fences, failed_fences, gets, twice;
    unsigned long credits, waits[LINK_CLASSES];  /* told; pieces that waited for it */
    unsigned long faults[FAULTS][PHASES], not_reached;
};

/* --- events -------------------------------------------------------------- */

enum event_kind {
    EV_START, EV_BYTES, EV_READ, EV_SIGNAL, EV_END, EV_REAP,         /* who: a rank */
    EV_UP, EV_DOWN, EV_LOST_DOWN, EV_LOST_UP, EV_FLUSH, EV_LEASE,    /* who: a node */
    EV_WRITTEN, EV_GO_ON, EV_TICK, EV_FAULT
};

struct event { double at; uint64_t seq; enum event_kind kind; int who; long arg; };

/* --- links --------------------------------------------------------------- */

struct packet {
    struct piece  piece;                 /* first */
    size_t        len, payload;          /* bytes of the frame; and behind it */
    unsigned long number;                /* in its class */
    int           from;                  /* bulk that is passed on: from this child; or -1 */
    enum link_class granted;             /* without a frame: credit of this class */
    bool          dropped, waited;
    char          data[];
};

struct end {                             /* of a link: what is sent and what comes there */
    struct flow    flow;
    struct pieces  air;                  /* on the way from here */
    double         last;                 /* when the newest of them arrives */
    bool           writing;              /* an EV_WRITTEN is under way */
    unsigned long  sent[LINK_CLASSES], came[LINK_CLASSES];   /* from here: numbers */
    unsigned       waiting[LINK_CLASSES];
    size_t         out[LINK_CLASSES];    /* cost of what was sent from here and is not
                                            dealt with there */
    size_t         held[LINK_CLASSES];   /* cost of what came here and is not granted */
    size_t         bulk;                 /* bytes that wait here for room */
};

/* --- nodes --------------------------------------------------------------- */

struct node {
    struct sim    *sim;
    int            at, parent;           /* position in the tree; -1: this is the root */
    struct server *server;               /* owned; NULL once it is dead */
    struct job    *job;
    struct peer   *up, **down;           /* core's; down: by child, from first_child on */
    int            first_child, nchildren;
    int           *local, nlocal, subtree;
    struct end     lower, upper;         /* the link to its parent: its end, the parent's */
    struct lease   lease_up, lease_here; /* of that link: the parent's end, and ours */
    double         delay;                /* of that link */
    bool           dead, cut, silent, flushing;
    bool           stalled;              /* grants nothing now */
    bool           up_gone;              /* the parent has seen the link end */
    unsigned long  busy;                 /* messages it has taken */
};

/* --- ranks --------------------------------------------------------------- */

enum act_kind {
    A_INIT, A_FULLINIT, A_MAXES, A_JOBID, A_MAPPING, A_DEAD, A_PUT, A_SHARED, A_GET,
    A_GET_SHARED, A_MISS, A_ATTR, A_GET_ATTR, A_WAIT_ATTR, A_PUBLISH, A_UNPUBLISH, A_LOOKUP,
    A_COLL, A_RING, A_FINALIZE, ACTS
};

struct act {                             /* something to do; a, b: whose, which */
    uint8_t kind;
    bool    async;                       /* go on without the answer */
    short   b;
    int     a;
};

struct want {                            /* an answer that is due */
    struct act act;
    int        thrid;                    /* 0: none */
    int        tag;                      /* of a group barrier; -1: none */
    int        floor;                    /* the oldest operation that may be seen */
};

enum { MAX_ACTS = 24, MAX_WANTS = 40 };

struct rank {
    int            rank, node;
    enum wire      wire;
    bool           threads, wide, eager; /* thrid; long values; pipelines */
    bool           ready, leave, finalizing, done;   /* leave: finalize early */
    bool           ended, reaped, dead;  /* dead: inside PMI */
    bool           lost, given_up;       /* with its node; by the root */
    bool           hung;                 /* it has closed its connection and lives on */
    int            wstatus, dying;       /* dying: an EV_END is under way */
    struct conn   *conn;
    struct rng     rng;
    struct framer  framer;
    struct buf     rx, tx;               /* on the way to it; to its server */
    double         tx_last;
    bool           reading;              /* an EV_READ is under way */
    int            gap;                  /* before which collective call */
    struct act     acts[MAX_ACTS];
    int            nacts, next;
    struct want    wants[MAX_WANTS];
    int            nwants, blocking;     /* of them not async */
    int            burst;                /* how many may still be sent */
    int            requests, thrid;
    int            nputs, nnames;        /* keys put so far */
    bool           saw_failure;          /* a collective call of all has failed */
};

/* --- the program and the model ------------------------------------------- */

enum coll_kind { C_WORLD, C_GROUP, C_NODE, C_RING };

struct coll {
    enum coll_kind kind;
    int            tag, epoch;           /* epoch: C_WORLD calls before it */
    bool           async;
    unsigned char *member;               /* by rank; owned */
};

struct instance {                        /* one use of a collective call; of C_NODE: a node's */
    int            members, entered, passed, failed;
    unsigned char *in;                   /* by rank */
    int           *floor;                /* by rank: what its members knew at entry */
};

enum op_kind { OP_PUT, OP_ATTR, OP_NAME };
struct op { uint8_t kind; bool unpublish; short key; int len; };

enum { KEYS = 4, SHARED = 2, NAMES = 2, OPS = 160 };

struct fault { enum fault_kind kind; int rank, at_request, status; double delay; bool fired; };

struct sim {
    struct config  config;
    uint64_t       seed;
    struct rng     rng;                  /* of the schedule */
    double         now, last_fault;
    struct event  *heap;
    size_t         nheap, heap_cap, idle; /* idle: of them leases */
    uint64_t       seq;
    unsigned long  events;

    int            nranks, nnodes;
    struct tree    tree;
    bool           ft, leases, scale, fat;
    size_t         window;               /* of the links */
    bool           holds, bulk;          /* data is held without room; there is bulk */
    int            pmi1_subversion;
    size_t         release_bytes;
    struct node   *nodes;
    struct rank   *ranks;
    struct mapping_block *map;
    size_t         nmap;
    struct msg     in, out;              /* scratch */

    struct coll   *colls;
    int            ncolls;
    struct instance *instances;          /* by collective, node */
    struct fault   faults[8];
    int            nfaults;

    struct launch  launch;
    double         tick_at;
    int            cause, highest;       /* status of the first failure, -1: none; of all ends */
    int            struck;               /* faults that came to pass */

    struct op    (*ops)[OPS];            /* by rank: what it did, in order */
    int           *nops;
    int           *floors;               /* by rank, rank: operations it must see */
    int           *shown;                /* by rank: operations that others may see */
    int            shared[SHARED][8];    /* by third epoch: who won (+ 1); 0: not known */
    bool           shared_put[SHARED][8];
    bool           world_failed;         /* a call of all has failed: then it is not known */
    size_t         put_bytes;
    bool           any_lost;

    int            waits, max_wants;     /* scale: neighbours to get; -1: nothing is put */
    double         cpu;                  /* seconds inside the core; scale only */
    unsigned long  rank_bytes, link_bytes, link_messages, rank_messages;
    struct totals *totals;
    bool           violated;
    char           text[400];            /* how */
};

/* The rule that was broken.  The first counts. */
void violation(struct sim *s, const char *fmt, ...) PRINTF(2, 3);
void trace(struct sim *s, const char *fmt, ...) PRINTF(2, 3);
#define TRACE(s, ...) do { if ((s)->config.trace) trace((s), __VA_ARGS__); } while (0)

/* draw.c */
void sim_draw(struct sim *s);
void sim_draw_acts(struct sim *s, struct rank *r);
bool coll_has(const struct sim *s, int c, int rank);

/* queue.c */
void queue_add(struct sim *s, double at, enum event_kind kind, int who, long arg);
bool queue_take(struct sim *s, struct event *out);

/* net.c */
void net_open(struct sim *s, struct end *x);
void net_send(struct sim *s, int child, bool up, enum link_class c, const char *frame,
              size_t len, const char *payload, size_t payload_len);
/* Bulk that came from a child goes on up; -1: it is our own. */
void net_send_bulk(struct sim *s, int child, bool up, size_t len, int from);
void net_written(struct sim *s, int child, bool up);
void net_arrived(struct sim *s, int child, bool up);
/* What came that way is dealt with. */
void net_grant(struct sim *s, int child, bool up, enum link_class c, size_t cost);
/* What child has sent up to now arrives in part, then the end of the link. */
void net_end(struct sim *s, int child, bool up);
void net_clear(struct end *x);
/* Nothing more happens: all credit is back. */
void net_check_quiet(struct sim *s);

/* node.c */
void nodes_start(struct sim *s);
void node_after(struct node *n);         /* the core was called: flush, now or later */
void node_take(struct node *n, int from, const char *payload, size_t len);  /* s->in */
void node_free(struct node *n);
/* There may be room: grant what was held, send what waits for it. */
void node_room(struct node *n);
/* Bulk has come, from a child or (-1) from above. */
void node_bulk(struct node *n, int from, size_t len);
/* Now and then, a rank there writes; and the root has something for its children. */
void node_chat(struct node *n);
/* Say something about a rank to the root's launcher. */
void node_tell(struct node *n, const char *what, int rank, int code);
/* To this node and all below: signal a rank (-1: all). */
void node_signal(struct node *n, int rank, int signo);

/* root.c */
void root_start(struct sim *s);
void root_hear(struct sim *s, const char *what, int rank, int code);
void root_tick(struct sim *s);
void root_lost(struct sim *s, int position);
void root_timer(struct sim *s);

/* rank.c */
void rank_start(struct sim *s, struct rank *r);
void rank_bytes(struct sim *s, struct rank *r, size_t len);
void rank_go(struct sim *s, struct rank *r);

/* reply.c */
void rank_read(struct sim *s, struct rank *r);
const char *act_reply(enum act_kind k, enum wire w);

/* model.c */
void model_init(struct sim *s);
void model_clear(struct sim *s);
/* Text of a value; out has room for VALUE_ROOM. */
enum { VALUE_ROOM = 8192 };
size_t model_value(int owner, int op, int len, char *out);
size_t model_shared_value(int writer, int epoch, char *out);
void model_shared_put(struct sim *s, int which, int epoch);
int  model_op(struct sim *s, struct rank *r, struct op op);
int  model_floor(const struct sim *s, const struct rank *r, int owner);
void model_enter(struct sim *s, struct rank *r, int c);
void model_passed(struct sim *s, struct rank *r, int c, bool ok);
/* What ranks of this node have put may be known elsewhere from now on. */
void model_shown(struct sim *s, const struct node *n);
void model_found(struct sim *s, struct rank *r, const struct want *w, enum op_kind kind,
                 const char *text, size_t len);
void model_missed(struct sim *s, struct rank *r, const struct want *w, enum op_kind kind);
/* text NULL: it was not there. */
void model_shared_found(struct sim *s, struct rank *r, const struct want *w, const char *text,
                        size_t len);
bool model_ring_value(const char *text, int rank, char side, int c);

/* fault.c */
void fault_check(struct sim *s, struct rank *r);
void fault_strike(struct sim *s, int i);
void rank_end(struct sim *s, struct rank *r, int wstatus, double delay);
void rank_ended(struct sim *s, struct rank *r, int wstatus);
void rank_reap(struct sim *s, struct rank *r);
void rank_signalled(struct sim *s, struct rank *r, int signo);
void node_die(struct sim *s, struct node *n);
void node_lost_below(struct sim *s, int child);
void node_lost_above(struct sim *s, int child);
void node_lease(struct sim *s, int child, bool below);
enum phase rank_phase(const struct sim *s, const struct rank *r);

/* run.c */
struct sim *sim_new(const struct config *c, struct totals *t);
void sim_run(struct sim *s, uint64_t seed);
void sim_loop(struct sim *s);
void sim_end(struct sim *s);
void sim_free(struct sim *s);

/* scale.c */
int scale_run(int ranks, int nodes, int width);
int scale_table(int width);

#endif

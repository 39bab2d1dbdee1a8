/* sim.h - the simulator: the real server core on many nodes, in one process.
 *
 * A seed decides everything: how many ranks and nodes, what the ranks do, how long
 * every message takes, and what breaks when.  The core (pmi2/) and the launcher's
 * decisions (launch, lease, tree, flow) are the real ones; ranks are small clients that
 * speak PMI-1 or PMI-2 bytes, links are queues, time is a number.
 *
 *     draw.c    the seed becomes jobs: nodes, ranks, collective calls, faults
 *     acts.c    and what ranks do between these calls
 *     queue.c   events in order of virtual time
 *     net.c     links between servers: what goes when, and the invariants of credit
 *     node.c    servers and their host operations; what proxies and the root say
 *     root.c    the root's launcher: the real launch.c
 *     rank.c    what a rank sends
 *     reply.c   what it makes of the answers
 *     world.c   jobs: made, on their nodes, over
 *     spawn_ask.c   how a rank starts a job, and what it must be answered
 *     spawn.c   the root's part of it, and the nodes'
 *     model.c   what is right: the invariants of one job
 *     links.c   what is right between jobs: who is connected, what is read
 *     names.c   what is right about names
 *     fault.c   ends, cuts and losses
 *     run.c     one run, and what must hold at its end
 *     scale.c   large jobs without faults: cost
 *     main.c    options, many seeds, the table of faults */
#ifndef TEST_SIM_SIM_H
#define TEST_SIM_SIM_H

#include "mpiexec_lite/bundle.h"
#include "mpiexec_lite/flow.h"
#include "mpiexec_lite/launch.h"
#include "mpiexec_lite/lease.h"
#include "mpiexec_lite/starting.h"
#include "mpiexec_lite/tree.h"
#include "pmi2/core.h"

#include <math.h>

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
enum phase {
    PH_LAUNCH, PH_INIT, PH_BETWEEN, PH_FENCE, PH_GET, PH_SPAWN, PH_CONNECT, PH_NAME, PH_WAIT,
    PH_FINALIZE, PH_ENDING, PHASES
};
extern const char *const fault_names[FAULTS], *const phase_names[PHASES];

struct totals {                          /* of many runs */
    unsigned long runs, events, requests, messages, fences, failed_fences, gets, twice;
    unsigned long credits, waits[LINK_CLASSES];  /* told; pieces that waited for it */
    unsigned long spawns, refused, nested;       /* answered; with a failure; of a job that was
                                                    itself started so */
    unsigned long links, foreign, denied;        /* changes; keys of other jobs; refused */
    unsigned long names, lookups, woken, late;   /* changes; lookups; that waited and found; in
                                                    vain */
    unsigned long faults[FAULTS][PHASES], not_reached;
};

/* --- events -------------------------------------------------------------- */

enum event_kind {
    EV_START, EV_BYTES, EV_READ, EV_SIGNAL, EV_END, EV_REAP,         /* who: a rank */
    EV_UP, EV_DOWN, EV_LOST_DOWN, EV_LOST_UP, EV_FLUSH, EV_LEASE,    /* who: a node */
    EV_SET_UP,                                               /* who: a node; arg: a job */
    EV_WRITTEN, EV_GO_ON, EV_TURN, EV_TIMER, EV_FAULT,
    EV_TICK                                                          /* who: a job */
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
    struct peer   *up, **down;           /* core's; down: by child, from first_child on */
    int            first_child, nchildren;
    struct end     lower, upper;         /* the link to its parent: its end, the parent's */
    struct lease   lease_up, lease_here; /* of that link: the parent's end, and ours */
    double         delay;                /* of that link */
    bool           dead, cut, silent, flushing;
    bool           stalled;              /* grants nothing now */
    bool           up_gone;              /* the parent has seen the link end */
    bool           given_up;             /* the root has */
    unsigned long  busy;                 /* messages it has taken */
};

/* --- ranks --------------------------------------------------------------- */

enum act_kind {
    A_INIT, A_FULLINIT, A_MAXES, A_JOBID, A_MAPPING, A_DEAD, A_PUT, A_SHARED, A_GET,
    A_GET_SHARED, A_MISS, A_ATTR, A_GET_ATTR, A_WAIT_ATTR, A_PUBLISH, A_UNPUBLISH, A_LOOKUP,
    A_WAIT_NAME, A_SPAWN, A_PREPUT, A_CONNECT, A_DISCONNECT, A_GET_OF, A_COLL, A_RING,
    A_FINALIZE, ACTS
};

struct act {                             /* something to do; a, b: whose, which; job: of */
    uint8_t kind;
    bool    async;                       /* go on without the answer */
    short   b;
    int     a;
    int     job;                         /* another job's number */
};

struct want {                            /* an answer that is due */
    struct act act;
    double     since;
    int        thrid;                    /* 0: none */
    int        tag;                      /* of a group barrier; -1: none */
    int        floor;                    /* the oldest operation that may be seen */
    int        serial;                   /* of a spawn, a change of a link or a name; a lookup's
                                            seconds */
    bool       was;                      /* it was so when this was asked */
};

enum { MAX_ACTS = 24, MAX_WANTS = 40 };

struct rank {
    struct world  *world;                /* its job */
    int            rank, node, id;       /* id: in sim.procs */
    bool           born;                 /* its process has been started */
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

enum op_kind { OP_PUT, OP_ATTR };
struct op { uint8_t kind; short key; int len; };

enum { KEYS = 4, SHARED = 2, OPS = 160 };

/* It strikes a rank of a job some time after its at_request-th request; or (within) whoever
 * is the at_request-th to do such a thing. */
struct fault {
    enum fault_kind kind;
    int    job, rank, at_request, status;
    enum act_kind within;                /* A_INIT: not this */
    double delay;
    bool   fired;
};

/* Something that is made and unmade by requests, so that nobody knows exactly when: it is
 * not before begun and not after ended, and it is from sure until doubt. */
struct span { double begun, sure, doubt, ended; };

static inline bool span_sure(const struct span *x, double from, double to)
{
    return x->sure <= from && (x->doubt > to || isinf(x->doubt));
}
static inline bool span_possible(const struct span *x, double from, double to)
{
    return x->begun <= to && x->ended >= from;
}

struct edge { int a, b; struct span span; };     /* two jobs are connected */

enum { NAMES = 4, EDGES = 256, WORLDS = 12, PUBLICATIONS = 256 };

/* Of the names the last is for the job that publishes it only. */
struct publication {
    int  name, job;
    bool kept, once;                     /* it outlives its job; until somebody looks it up */
    bool read;                           /* once: somebody has */
    int  looks;                          /* lookups under way since it began */
    struct span span;
};

/* What the launcher keeps of a job on a node. */
struct part {
    struct job *job;
    int        *local, nlocal, subtree;
    bool        setting_up, cancelled;   /* providers are at work: nothing is started; nor
                                            will be */
    bool        unhooked;                /* they have failed */
};

struct world {                           /* a job: its program, its model, its launcher */
    struct sim    *sim;
    int            number;
    char           id[24];
    struct world  *parent;               /* whose rank has started it, by this request; NULL: the */
    int            spawner, serial;      /* command line */
    struct bundle  bundle;
    int            nranks;
    struct rank   *ranks;                /* owned, as are the next */
    struct part   *at;                   /* by node */
    const struct mapping_block *map;
    size_t         nmap;
    struct coll   *colls;
    int            ncolls;
    struct instance *instances;          /* by collective, node */

    struct launch  launch;
    double         tick_at;
    int            cause, highest;       /* status of the first failure, -1: none; of all ends */
    struct spawn  *spawn;                /* it is being started */
    struct starting starting;
    bool           hooked;               /* it has set-up providers, on every node */
    bool           started, followed, refused, answered, done;
    double         over_at;              /* all ranks have ended; 0: not yet */
    bool           gone;                 /* it is forgotten */

    struct op    (*ops)[OPS];            /* by rank: what it did, in order */
    int           *nops;
    int           *floors;               /* by rank, rank: operations it must see */
    int           *shown;                /* by rank: operations that others may see */
    int           *rooted;               /* by rank: operations that the root has */
    int            shared[SHARED][8];    /* by third epoch: who won (+ 1); 0: not known */
    bool           shared_put[SHARED][8];
    bool           world_failed;         /* a call of all has failed: then it is not known */
    size_t         put_bytes;
};

struct sim {
    struct config  config;
    uint64_t       seed;
    struct rng     rng;                  /* of the schedule */
    double         now, last_fault;
    struct event  *heap;
    size_t         nheap, heap_cap, idle; /* idle: of them leases */
    uint64_t       seq;
    unsigned long  events;

    int            nnodes;
    struct tree    tree;
    struct world  *worlds[WORLDS], *main;    /* by number; the first is main */
    int            nworlds, spawns_left;
    bool           named;                /* names are used */
    struct rank  **procs;                /* owned: ranks of all jobs, by id */
    int            nprocs, procs_cap;
    bool           ft, leases, scale, fat;
    size_t         window;               /* of the links */
    bool           holds, bulk;          /* data is held without room; there is bulk */
    int            pmi1_subversion;
    size_t         release_bytes;
    struct node   *nodes;
    struct msg     in, out;              /* scratch */
    struct fault   faults[8];
    int            nfaults;
    int            struck;               /* faults that came to pass */

    struct spawn  *asked[WORLDS];        /* jobs that are to be started */
    int            nasked, serial;       /* serial: of the last spawn */
    bool           turning;              /* an EV_TURN is under way */
    struct edge    edges[EDGES];
    int            nedges;
    int            closing[WORLDS][WORLDS], changes[WORLDS][WORLDS];
    struct publication pubs[PUBLICATIONS];
    int            npubs, looking[NAMES], removing[NAMES][WORLDS], removals[NAMES][WORLDS];
    unsigned       timers[256];          /* of the core, that are set */
    int            ntimers;

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
/* The program of a job that has been placed. */
void sim_draw_program(struct world *w);
/* acts.c */
void sim_draw_acts(struct sim *s, struct rank *r);
bool coll_has(const struct world *w, int c, int rank);

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
void node_tell(struct node *n, const struct world *w, const char *what, int rank, int code);
/* To all below: cmd about a job. */
void node_send_down(struct node *n, const char *cmd, const struct world *w, int rank, int signo);
/* To this node and all below: signal a rank (-1: all). */
void node_signal(struct node *n, struct world *w, int rank, int signo);
/* A job's part on this node: its server's, with connections of its ranks; and its end. */
void node_add_job(struct node *n, struct world *w);
void node_drop_job(struct node *n, struct world *w);

/* root.c */
void root_init(struct world *w);         /* its launch */
void root_hear(struct world *w, const char *what, int rank, int code);
void root_tick(struct world *w);
void root_lost(struct sim *s, int position);
void root_timer(struct world *w);
/* Something has happened: root_turn is to be called soon. */
void root_wake(struct sim *s, double delay);
void root_turn(struct sim *s);
/* A failure that counts for a job if it is the first. */
void root_cause(struct world *w, int status);

/* world.c */
/* Takes what the bundle holds. */
struct world *world_new(struct sim *s, struct bundle *b);
void world_start_main(struct sim *s);
bool world_has_node(const struct world *w, int node);
void world_check_end(struct world *w);
void world_free(struct world *w);

/* spawn_ask.c */
void spawn_send(struct sim *s, struct rank *r, struct want *w);
void spawn_answered(struct sim *s, struct rank *r, const struct want *w, const struct msg *m);
/* A value that a job was given before it began, as text. */
size_t spawn_preput(const struct world *w, int which, char *out);

/* spawn.c */
void spawn_ask(void *host, struct spawn *x);
void spawn_turn(struct sim *s);          /* start what was asked for */
void spawn_settle(struct world *w);
/* The program of a rank. */
const char *spawn_program(const struct bundle *b, int rank);
void spawn_begin(struct node *n, struct world *w);       /* its part on a node */
void spawn_set_up(struct node *n, struct world *w);      /* providers there have answered */

/* rank.c */
/* A request is written and sent; where fields do not do, its text is added to out. */
struct writer { struct buf *out; enum wire wire; size_t from; };
struct writer rank_begin(struct rank *r, const char *name1, const char *name2, int thrid);
void rank_arg(struct writer *w, const char *key, const char *text);
void rank_arg_int(struct writer *w, const char *key, int n);
void rank_finish(struct sim *s, struct rank *r, struct writer *w);
void rank_start(struct sim *s, struct rank *r);
void rank_bytes(struct sim *s, struct rank *r, size_t len);
void rank_go(struct sim *s, struct rank *r);

/* reply.c */
void rank_read(struct sim *s, struct rank *r);
const char *act_reply(enum act_kind k, enum wire w);

/* model.c */
void model_init(struct world *w);
void model_clear(struct world *w);
/* Text of a value; out has room for VALUE_ROOM. */
enum { VALUE_ROOM = 8192 };
/* owner: model_owner */
size_t model_value(int owner, int op, int len, char *out);
size_t model_shared_value(int owner, int epoch, char *out);
void model_shared_put(struct world *w, int which, int epoch);
int  model_op(struct sim *s, struct rank *r, struct op op);
int  model_floor(const struct rank *r, int owner);
static inline int model_owner(const struct world *w, int rank)
{
    return w->number * 1000000 + rank;
}
void model_enter(struct sim *s, struct rank *r, int c);
void model_passed(struct sim *s, struct rank *r, int c, bool ok);
/* What ranks of this node have put may be known elsewhere from now on. */
void model_shown(struct world *w, const struct node *n);
void model_found(struct sim *s, struct rank *r, const struct want *w, enum op_kind kind,
                 const char *text, size_t len);
void model_missed(struct sim *s, struct rank *r, const struct want *w, enum op_kind kind);
/* The same for a key of another job, which the root has been asked for. */
void model_found_of(struct sim *s, struct rank *r, const struct want *w, const char *text,
                    size_t len);
void model_missed_of(struct sim *s, struct rank *r, const struct want *w);
/* text NULL: it was not there. */
void model_shared_found(struct sim *s, struct rank *r, const struct want *w, const char *text,
                        size_t len);
/* Text of what a rank gives to a side of it in a ring. */
void model_ring_value(const struct world *w, int rank, char side, int c, char out[40]);

/* links.c */
void links_made(struct sim *s, int a, int b);    /* at once */
void links_begin(struct sim *s, struct rank *r, struct want *w);
void links_ended(struct sim *s, struct rank *r, const struct want *w, bool ok);
void links_gone(struct sim *s, const struct world *w);
bool links_sure(const struct sim *s, int a, int b, double from, double to);
bool links_possible(const struct sim *s, int a, int b, double from, double to);
void links_answer(struct sim *s, struct rank *r, const struct want *w, const struct msg *m,
                  const struct pair *value);

/* names.c */
void names_begin(struct sim *s, struct rank *r, struct want *w);
void names_send(struct sim *s, struct rank *r, const struct want *w);
void names_answer(struct sim *s, struct rank *r, const struct want *w, const struct msg *m,
                  const struct pair *port);
void names_gone(struct sim *s, const struct world *w);
/* Whether a rank can see a name now; whoever waits for one that is not there waits in vain. */
bool names_there(const struct sim *s, const struct rank *r, int name);
void names_timer(void *host, unsigned id, double seconds);
void names_due(struct sim *s, unsigned id);
void names_check_end(struct sim *s);

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
enum phase rank_phase(const struct rank *r);

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

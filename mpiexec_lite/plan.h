/* plan.h - what the user asked for, once the command line has been read.
 *
 * Made by opts.c in the front end; the root gets it by being the front end's
 * fork.  Everything is owned by the plan and freed by plan_clear.  No I/O. */
#ifndef MPIEXEC_LITE_PLAN_H
#define MPIEXEC_LITE_PLAN_H

#include "wire/err.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    PLAN_RANKS_MAX = 1000000,    /* processes of a job; a pid is at most 4194304 */
    PLAN_HOSTS_MAX = 1000000,    /* nodes, and lines and names that make them */
    PLAN_SLOTS_MAX = 1000000     /* of one node */
};

/* A list of owned strings, NULL at its end: usable as argv or envp. */
struct strlist {
    char **v;                /* NULL while empty */
    size_t n, cap;
};
int  strlist_add(struct strlist *l, const char *s);      /* copies; -1: no memory */
/* The same for the first n bytes of s. */
int  strlist_add_bytes(struct strlist *l, const char *s, size_t n);
/* The words of s, which blanks part. */
int  strlist_add_words(struct strlist *l, const char *s);
int  strlist_copy(struct strlist *to, const struct strlist *from);       /* adds them; -1 */
void strlist_clear(struct strlist *l);

enum inherit { INHERIT_UNSET, INHERIT_ALL, INHERIT_NONE, INHERIT_LIST };

struct env_rules {           /* -genv... or -env... */
    enum inherit   inherit;  /* UNSET: what the wider scope says; there: ALL */
    struct strlist names;    /* INHERIT_LIST: these only */
    struct strlist set;      /* NAME=VALUE, in order */
};

enum launcher {
    LAUNCHER_SSH, LAUNCHER_FORK, LAUNCHER_MANUAL, LAUNCHER_TCP, LAUNCHER_SLURM, LAUNCHER_PBS,
    LAUNCHER_LSF, LAUNCHER_SGE, LAUNCHER_LL, LAUNCHER_RSH, LAUNCHERS
};

struct host {                /* one node: its lines and names in the list put together */
    char *name;              /* as the user wrote it: no user, no slots, no brackets */
    char *user;              /* remote account, or NULL */
    int   slots;             /* 1 and up */
    char *binding;           /* binding= of the host file, instead of -bind-to; or NULL */
    char *coords;            /* in the network (-topology-file), "0,3"; NULL: not known */
    bool  local;             /* it is the launcher's own host: nothing is started there
                                but ranks */
    int   said;              /* 1 + number of the setting that named it first (said.h), 0:
                                none did, or nobody asked */
    int   line;              /* of the file where that is; 0: of none */
};

struct app {                 /* one block between ':' */
    int              n;      /* processes, at least 1 once opts_parse has returned */
    struct strlist   argv;   /* program and arguments, bytes as typed */
    struct env_rules env;
    char            *wdir;   /* NULL: the launcher's own directory */
    char            *path;   /* -path: colon list searched before PATH; or NULL */
    char            *soft;   /* -soft: numbers of processes that will do; or NULL */
    char            *arch;   /* -arch: what its machines are called by uname; or NULL */
    char            *file;   /* -file: where more options of it are; or NULL */
    char            *bind;   /* a spawn's own "bind" (mapspec.h); NULL: as the job */
    char            *pset;   /* process set that its ranks are of (-pset), or NULL; known to
                                the launcher alone */
    char            *host_list;      /* -host as typed, or NULL */
    size_t          *nodes;  /* -host: indexes of plan.hosts that it may run on, in order;
                                NULL: all of them */
    size_t           nnodes;
    long             slots;  /* -host: of these */
    int              per_node;       /* of a spawned one: ranks that a node gets in its turn,
                                        0: as many as it has slots for */
    bool             exact;          /* and no more than those */
    bool             by_node;        /* ranks count along the nodes, not on each of them */
};

enum stdin_mode { STDIN_RANK, STDIN_NONE, STDIN_ALL, STDIN_FILE };

enum outcome_policy { END_ON_FAILURE, END_ON_ANY_NONZERO };

/* When a job that has failed is told of at length (card.h). */
enum card_wish { CARD_OF_SEVERAL, CARD_ALWAYS, CARD_NEVER };

/* Where ranks wait for a debugger, until they are released. */
enum hold {
    HOLD_NONE,
    HOLD_EXEC,               /* stopped, with their program loaded and none of it run */
    HOLD_INIT,               /* in PMI's init, which is not answered */
    HOLD_APP                 /* at a place of their own, which they tell */
};

/* What is told instead of running a job. */
enum inquiry { INQUIRY_NONE, INQUIRY_EXPLAIN, INQUIRY_CHECK };

struct port_range { int low, high; };    /* 0, 0: any port */

/* How servers on other hosts are started and kept. */
struct launch_options {
    enum launcher launcher;      /* -launcher */
    char         *exec;          /* -launcher-exec: program instead of ssh; or NULL */
    struct strlist extra;        /* HYDRA_LAUNCHER_EXTRA_ARGS: words behind that program */
    bool          forward_x;     /* -enable-x */
    char         *proxy;         /* -proxy PATH: pmi2_proxy on the other hosts; or NULL */
    bool          stage_proxy;   /* -stage-proxy */
    char         *munge_socket;  /* -munge-socket: munged's, for tcp and manual; or NULL */
    int           tree_width;    /* -tree-width W: 32; 0: flat */
    int           flat_hosts;    /* -flat-hosts N: no tree up to so many: 64 */
    int           window;        /* -launch-window N: launcher processes at once: 10 */
    double        patience;      /* -launch-timeout S: for one host to answer: 15 */
    double        heartbeat;     /* -heartbeat S: 5 */
    double        lease;         /* -lease S: 15; 0: only the end of the stream counts */
    struct strlist wrapper;      /* HYDRA_USE_STRACE ...: words before pmi2_proxy */
    char         *iface;         /* -iface: they call back to this interface; NULL: to any */
    char         *localhost;     /* -localhost: to this name or address; NULL: as iface says */
    int           tries;         /* of a host whose connection is reset: 6 */
    int           ssh_limit;     /* so many tries in a row are followed by a pause: 8 */
    int           ssh_limit_time;        /* of so many seconds: 15 */
    bool          ssh_quiet;     /* which is not told */
    size_t        release_bytes; /* -kvs-release-bytes N: what a fence sends along: 256 KiB */
};

enum { GPUS_AUTO = -1 };

/* Which processors of its node a process gets.  Texts are those of mapspec.h; NULL: not
 * said. */
struct map_options {
    char *bind;              /* -bind-to */
    char *by;                /* -map-by: an object, if bind is one */
    char *memory;            /* -membind */
    char *cpus;              /* -cpu-list: no others are used */
    int   each;              /* -map-by ppr:N:OBJECT: N; 0: 1 */
    bool  in_order;          /* -rank-by fill: ranks of a node in the hardware's order */
    int   gpus;              /* -gpus-per-proc: N or GPUS_AUTO; 0: nothing is set */
    bool  report;            /* -report-bindings */
};

/* More ranks on a node than it has slots. */
enum oversubscription { OVERSUBSCRIBE_USUAL, OVERSUBSCRIBE_YES, OVERSUBSCRIBE_NO };

/* Ranks of a block, once it is known how many each node has. */
enum numbering { NUMBER_AS_PLACED, NUMBER_NODE_AFTER_NODE, NUMBER_ACROSS_NODES };
enum providers_root { PROVIDERS_ROOT_FAIL, PROVIDERS_ROOT_SKIP };

struct plan {
    struct app      *apps;       /* owned */
    size_t           napps;
    struct env_rules env;        /* -genv... */

    struct host     *hosts;      /* owned; the nodes of the job, in order: node ids are
                                    indexes here.  Never empty once opts_parse has
                                    returned: without a list, this host alone */
    size_t           nhosts;
    bool             hosts_given;
    enum oversubscription oversubscribe;
    bool             by_node;    /* -map-by node: a rank to each node in turn */
    enum numbering   numbering;  /* -rank-by */
    struct map_options map;
    bool             in_allocation;  /* they are what a resource manager has granted */
    char            *alloc;      /* -alloc: what to ask a manager for, or NULL */
    bool             allocate;   /* and it is still to be asked: nothing is settled yet */
    char            *topology_file;  /* -topology-file or NULL */
    char            *dims;       /* of the network (-topology-file), "4,2"; NULL: not known */
    struct launch_options remote;
    struct port_range ports;     /* MPIEXEC_PORT_RANGE: where we listen */
    char            *rankmap;    /* -rankmap (rankmap.h) or NULL */
    bool             print_rank_map;

    char            *label;      /* -prepend-pattern, NULL: none; -l is "[%r] " */
    char            *outfile;    /* -outfile-pattern or NULL */
    char            *errfile;    /* -errfile-pattern or NULL */
    int              output_from;/* -output-from: only this rank's output; -1: all */
    bool             merge;      /* --merge-stderr-to-stdout */

    enum stdin_mode  stdin_mode;
    int              stdin_rank; /* STDIN_RANK */
    char            *stdin_file; /* STDIN_FILE */

    int              start_window;       /* -start-window: processes of a host at once: 64 */
    double           timeout;    /* seconds; 0: none */
    int              usize;      /* -usize: universe size; -1: unknown */
    bool             pmi_port;   /* -pmi-port: PMI over a loopback TCP port */
    int              single;     /* -pmi_args: port of a program that is the only rank; 0: none */
    int              single_fd;  /* -singleton-fd: the connection to such a program; 0: none */
    char            *single_id;  /* and what its job is called already; else NULL */
    int              pmi1_subversion;    /* 1, or 2 by -pmi1-groups */
    char            *nameserver; /* -nameserver: none, auto, start, a path,
                                    HOST:PORT; NULL: auto */
    bool             hide_hostname;      /* -disable-hostname-propagation */
    char            *alloc_kinds;        /* -memory-alloc-kinds or NULL */
    bool             no_tools;   /* -disable-tools: no tool can connect */
    double           tool_timeout;       /* -tool-timeout S: of one that is waited for; 0: none */
    struct strlist   provider_dirs, provider_files;  /* -provider-dir, -provider */
    bool             no_providers;       /* -no-providers: none of the system's */
    int              providers_root;     /* -providers-root: what becomes of those that need it */
    struct strlist   providers;  /* absolute paths of set-up providers (providers.h); in a
                                    bundle those that take part on nodes */
    char            *log_dir;    /* -log-dir: for what is logged; NULL: nowhere */
    enum outcome_policy policy;  /* -end-on-nonzero */
    bool             keep_going; /* -disable-auto-cleanup */
    bool             print_all_exitcodes;

    bool             debugged;   /* a debugger has started the launcher (mpir.h) */
    char            *target;     /* of a spawned job whose ranks are tools' daemons: id of the job
                                    that they look after, ""; or NULL: they are none.  Known to the
                                    launcher alone */
    enum hold        hold;       /* -hold, -stop-on-exec, -stop-in-init */
    char            *gdb;        /* -gdb: in windows, for ranks that are held (windows.h): its
                                    name, or path; NULL: none */
    const char      *tool;       /* -tool: borrowed from the command line (tool_start.h); or NULL */
    char            *hold_ranks; /* of the job (rank_list.h); NULL: all (hold.h) */

    struct strlist   agent;      /* -fork-agent: the words that are executed in place of a rank's
                                    program, and are given that program's; empty: none */

    enum inquiry     inquiry;    /* -explain, -check */
    bool             json, brief, svg;   /* its answer: -json, -quiet, -svg */
    int              verbose;    /* -v: 1, -v -v (or -vv): 2 ... */
    char            *trace;      /* --trace-wire FILE or NULL */
    char            *timeline;   /* -timeline FILE or NULL */
    enum card_wish   card;       /* -exitinfo, -silent-abort */
    bool             banner;     /* -hydra-banner */

    struct strlist   warnings;   /* about the command line, one line each, to be shown */
};

void plan_init(struct plan *p);
void plan_clear(struct plan *p);
/* Add an empty block.  Valid until the next one is added; NULL: no memory. */
struct app *plan_add_app(struct plan *p);
void plan_drop_app(struct plan *p);              /* the last block */
int  plan_size(const struct plan *p);            /* ranks of all blocks */
/* The only rank runs already, and is not ours to start. */
bool plan_is_single(const struct plan *p);
/* The block of a rank (0 <= rank < plan_size): also its appnum. */
size_t plan_app_of(const struct plan *p, int rank);

/* Add a host of one slot, not local.  Copies name (NULL: none yet).  Valid until the
 * next one is added; NULL: no memory. */
struct host *plan_add_host(struct plan *p, const char *name);
/* Add copies of another plan's hosts from number `from` on.  0; -1: no memory. */
int  plan_copy_hosts(struct plan *p, const struct plan *other, size_t from);
void host_clear(struct host *h);
long plan_slots(const struct plan *p);           /* of all nodes */

#endif

/* tool.h - what the files of pmix_tool share.
 *
 * pmix_tool is a program written to the interface of libpmix_ext: tool_main.c finds the
 * command in its table, tool_opts.c reads its options, tool_connect.c connects, and the
 * command's own file does the rest.  A command prints what it has found, as text or as JSON,
 * and answers the exit status; what is wrong goes to stderr. */
#ifndef PMIX_EXT_TOOL_H
#define PMIX_EXT_TOOL_H

#include "pmix_ext/pmix_ext.h"
#include "wire/buf.h"

#include <jansson.h>

#include <stdatomic.h>
#include <stdio.h>

enum {
    STATUS_FAILED = 1,       /* the server says no, or the output could not be written */
    STATUS_USAGE = 2,
    STATUS_NO_SERVER = 3,
    STATUS_SEVERAL = 4,      /* servers, or jobs, and none was named */
    STATUS_OWN = 255         /* of spawn, whose other statuses are the job's */
};

/* --- options -------------------------------------------------- tool_opts.c */

/* What has a letter is known by it. */
enum {
    OPT_PID = 'p', OPT_SERVER = 'j', OPT_URI = 'u', OPT_HELP = 'h', OPT_VERSION = 'V',
    OPT_COUNT = 'n', OPT_CODE = 'c', OPT_BATCH = 'b', OPT_DELAY = 'd', OPT_ENV = 'x',
    OPT_LOCAL = 'l', OPT_ALL = 'a', OPT_RAW = 'r', OPT_TAG = 't',
    OPT_HOST = 256, OPT_SYSTEM, OPT_SYSTEM_FIRST, OPT_JSON, OPT_STDERR, OPT_STDOUT, OPT_SYSLOG,
    OPT_RECORD, OPT_STORE, OPT_PRIORITY, OPT_WDIR, OPT_HOSTS, OPT_DETACH, OPT_HOLD,
    OPT_TARGET, OPT_PER_NODE, OPT_PER_PROC, OPT_STRIDE, OPT_DAEMONS,
    OPT_DOT, OPT_SVG, OPT_THREADS, OPT_FUNCTIONS, OPT_TIMEOUT, OPT_FOLLOW, OPT_WAIT
};

struct tool_option {
    const char *name;        /* NULL ends the options */
    int         id;          /* OPT_ */
    const char *arg;         /* placeholder of its value; NULL: a switch */
    const char *help;
};

struct tool;

enum {
    TOOL_ALONE = 1,          /* connects to no server, or by itself */
    TOOL_WORDS = 2           /* its options end at the first word that is none */
};

struct tool_command {
    const char *name, *args;             /* name NULL ends the commands */
    const char *help;                    /* a sentence for the list */
    const char *more;                    /* what --help of the command adds, or NULL */
    const struct tool_option *options;   /* its own, besides the common ones; or NULL */
    int         least, most;             /* words behind it; -1: any number */
    unsigned    flags;
    int       (*run)(struct tool *t);
};

struct given { int id; const char *arg; };

struct tool {
    const struct tool_command *command;
    struct given *given;     /* owned */
    size_t        ngiven;
    int           argc;      /* words behind the command and its options */
    char        **argv;      /* NULL at the end */
    bool          json;
    pmix_proc_t   me;
};

extern const struct tool_command tool_commands[];
extern const struct tool_option  tool_common[];

/* Read the command line.  -1: go on; else the exit status: it is wrong, or help is printed.
 * The caller frees given. */
int  tool_read(struct tool *t, int argc, char **argv);
void tool_print_completion(FILE *out);
/* What an option's value is, that of the last one; NULL if it is not given. */
const char *tool_value(const struct tool *t, int id);
bool tool_has(const struct tool *t, int id);
/* The value of an option as a number of at least least, or fallback if it is not given.  0, or
 * STATUS_USAGE, which was said. */
int  tool_number(const struct tool *t, int id, double least, double fallback, double *out);

/* --- what went wrong ------------------------------------------ tool_main.c */

/* A line on stderr.  Returns status. */
int tool_fail(int status, const char *fmt, ...) PRINTF(2, 3);
/* The same of a status that a call has answered, with the server's words if there are any.
 * STATUS_FAILED, or STATUS_NO_SERVER. */
int tool_failed(const char *what, pmix_status_t status);

/* --- server and jobs --------------------------------------- tool_connect.c */

/* 0, or the exit status, which was said. */
int tool_connect(struct tool *t);
/* Whether no server was named, and there is none, or one that knows of no job and runs none
 * itself; nothing is said of it.  In all other cases *status is as of tool_connect, to a server
 * that runs jobs. */
bool tool_is_alone(struct tool *t, int *status);
/* Ask for the answer to one key, of a job if nspace is not NULL; qualifiers: borrowed, may
 * be NULL.  *value is to be destructed by the caller if PMIX_SUCCESS. */
pmix_status_t tool_ask(const char *key, const char *nspace, const pmix_info_t *qualifiers,
                       size_t n, pmix_value_t *value);
/* The same; PMIX_QUERY_PARTIAL_SUCCESS is an answer too: it lacks what servers have not said in time. */
pmix_status_t tool_ask_some(const char *key, const char *nspace, const pmix_info_t *qualifiers,
                            size_t n, pmix_value_t *value);
/* The jobs of the server, for PMIx_Argv_free. */
pmix_status_t tool_list_jobs(char ***jobs);
/* Those that have ended, and of which it has a record; the same. */
pmix_status_t tool_list_ended(char ***jobs);
/* The same.  0, or the exit status, which was said. */
int tool_jobs(char ***jobs);

/* A server that runs no job (pmi2_server) knows the names of those that run, and no more.  If
 * this one is not known better, and its launcher can be called, that is the server from here
 * on: true. */
bool tool_reach(const char *nspace);
/* The same for the only job of a server that runs none.  0, or the exit status, which was said:
 * there is none, or several. */
int tool_reach_only(void);

struct targets {
    pmix_nspace_t nspace;
    pmix_proc_t  *procs;     /* owned; all ranks: one with the wildcard */
    size_t        n;
};
/* NSPACE, NSPACE:0,3-5, :0-3, :*, :@node, or NULL: all ranks of the only job.  0, or the exit status. */
int  tool_targets(const char *text, struct targets *out);
void targets_clear(struct targets *t);

/* --- values -------------------------------------------------- tool_value.c */

/* As JSON: PROTOCOL.md, "Values".  NULL: no memory. */
json_t *tool_json(pmix_data_type_t type, const void *value);
json_t *tool_json_text(const char *text);
/* On one line, without the type. */
void tool_show(const pmix_value_t *v, struct buf *out);
/* The key that is meant by "PMIX_JOB_SIZE", "pmix.job.size" or "job_size"; NULL, which was
 * said. */
const char *tool_key(const char *word);
/* "key=value" as an info, of the type that the key has.  0, or STATUS_USAGE. */
int  tool_info(const char *word, pmix_info_t *info);
/* A status by its name, with or without PMIX_, or number.  0, or STATUS_USAGE. */
int  tool_status(const char *word, pmix_status_t *status);
/* "running" of PMIX_PROC_STATE_RUNNING; numbers without a name as such. */
void tool_state(pmix_proc_state_t state, char *text, size_t size);
/* The value of a key in an array of infos; NULL. */
const pmix_value_t *tool_find(const pmix_data_array_t *infos, const char *key);

/* --- output -------------------------------------------------- tool_print.c */

struct table {
    const char *const *heads;    /* NULL at the end; one that begins with '>' is right-aligned */
    size_t       columns;
    char       **cells;          /* owned */
    size_t       n, room;
    bool         failed;         /* there was no memory */
};
void table_start(struct table *t, const char *const *heads);
/* The next cell; what would harm a terminal is escaped. */
void table_add(struct table *t, const char *fmt, ...) PRINTF(2, 3);
/* Print at most so many rows, and clear it.  wide: the width of the terminal, 0: any. */
void table_print(struct table *t, FILE *out, size_t rows, size_t wide);

/* A whole document (indented), or a line of a follower; takes json.  0, or STATUS_FAILED. */
int  tool_document(json_t *json);
int  tool_line(json_t *json);
/* Whether all has been written so far.  0, or STATUS_FAILED, which was said. */
int  tool_written(void);
/* A time as people write it here: "2026-01-31 13:59:59.123". */
void tool_time(double when, char *text, size_t size);
double tool_now(void);

/* --- following ---------------------------------------------- tool_follow.c */

/* What goes on until a callback, or a signal, ends it.  One for the process. */
struct follow {
    int  signals, wake;      /* descriptors */
    int  input;              /* and one to be read, or -1; the caller sets it */
    atomic_bool begun, ended;    /* of follow_end: its first call; status is there */
    int  status;
    pmix_proc_t server;      /* whose connection, if it is lost, ends it, with this status */
    int  when_lost;
};
/* 0, or the exit status.  From here on SIGINT, SIGTERM and SIGHUP are follow_wait's. */
int  follow_start(struct follow *f);
void follow_stop(struct follow *f);
/* On any thread: it is over, with this exit status.  The first one counts. */
void follow_end(struct follow *f, int status);
/* On any thread: let follow_wait return. */
void follow_stir(struct follow *f);
/* Wait so many seconds at most (below 0: any time).  The signal that has come; FOLLOW_INPUT;
 * 0: it is over, stirred, or time is up. */
enum { FOLLOW_INPUT = -1 };
int  follow_wait(struct follow *f, double seconds);
/* Have it ended when the connection is lost, with this exit status.  0, or the exit status. */
int  follow_connection(struct follow *f, int status);
/* Have fn called for these events (none: for those that nobody else takes); it finds object by
 * tool_object.  0, or the exit status. */
int   tool_register(const pmix_status_t *codes, size_t n, pmix_notification_fn_t fn,
                    void *object);
void *tool_object(const pmix_info_t *infos, size_t n);

/* --- commands --------------------------------------------------------- tool_*.c */

int tool_servers(struct tool *t);
int tool_ps(struct tool *t);
int tool_query(struct tool *t);
int tool_proctable(struct tool *t);
int tool_keys(struct tool *t);
int tool_attributes(struct tool *t);
int tool_job_status(struct tool *t);
int tool_log(struct tool *t);
int tool_events(struct tool *t);
int tool_output(struct tool *t);
int tool_signal(struct tool *t);
int tool_kill(struct tool *t);
int tool_pause(struct tool *t);
int tool_resume(struct tool *t);
int tool_release(struct tool *t);
int tool_spawn(struct tool *t);
int tool_top(struct tool *t);
int tool_stack(struct tool *t);

/* An event as a line, or a line of JSON.  0, or the exit status. */
int event_print(bool json, pmix_status_t status, const pmix_proc_t *source,
                const pmix_info_t *infos, size_t n);

/* Output of ranks, line by line as it comes. */
struct output;
struct output *output_new(struct follow *f, bool json, bool raw);
void output_free(struct output *o);      /* what has no end of line is written before */
/* 0, or the exit status. */
int  output_pull(struct output *o, const pmix_proc_t *procs, size_t n);

/* The servers of this host on out, as text. */
void servers_print(FILE *out);
/* A process table as rows of a table with these columns. */
extern const char *const proc_heads[];
void proc_row(struct table *t, const pmix_proc_info_t *p);

#endif

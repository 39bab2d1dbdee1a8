/* plan.h - what the user asked for, once the command line has been read.
 *
 * Made by opts.c in the front end; the root gets it by being the front end's
 * fork.  Everything is owned by the plan and freed by plan_clear.  No I/O. */
#ifndef MPIEXEC_LITE_PLAN_H
#define MPIEXEC_LITE_PLAN_H

#include "wire/err.h"

#include <stdbool.h>
#include <stddef.h>

/* A list of owned strings, NULL at its end: usable as argv or envp. */
struct strlist {
    char **v;                /* NULL while empty */
    size_t n, cap;
};
int  strlist_add(struct strlist *l, const char *s);      /* copies; -1: no memory */
/* The same for the first n bytes of s. */
int  strlist_add_bytes(struct strlist *l, const char *s, size_t n);
void strlist_clear(struct strlist *l);

enum inherit { INHERIT_UNSET, INHERIT_ALL, INHERIT_NONE, INHERIT_LIST };

struct env_rules {           /* -genv... or -env... */
    enum inherit   inherit;  /* UNSET: what the wider scope says; there: ALL */
    struct strlist names;    /* INHERIT_LIST: these only */
    struct strlist set;      /* NAME=VALUE, in order */
};

struct app {                 /* one block between ':' */
    int              n;      /* processes, at least 1 once opts_parse has returned */
    struct strlist   argv;   /* program and arguments, bytes as typed */
    struct env_rules env;
    char            *wdir;   /* NULL: the launcher's own directory */
    char            *path;   /* -path: colon list searched before PATH; or NULL */
};

enum stdin_mode { STDIN_RANK, STDIN_NONE, STDIN_ALL, STDIN_FILE };

enum outcome_policy { END_ON_FAILURE, END_ON_ANY_NONZERO };

struct plan {
    struct app      *apps;       /* owned */
    size_t           napps;
    struct env_rules env;        /* -genv... */

    char            *label;      /* -prepend-pattern, NULL: none; -l is "[%r] " */
    char            *outfile;    /* -outfile-pattern or NULL */
    char            *errfile;    /* -errfile-pattern or NULL */
    int              output_from;/* -output-from: only this rank's output; -1: all */
    bool             merge;      /* --merge-stderr-to-stdout */

    enum stdin_mode  stdin_mode;
    int              stdin_rank; /* STDIN_RANK */
    char            *stdin_file; /* STDIN_FILE */

    double           timeout;    /* seconds; 0: none */
    int              usize;      /* -usize: universe size; -1: unknown */
    bool             pmi_port;   /* -pmi-port: PMI over a loopback TCP port */
    int              pmi1_subversion;    /* 1, or 2 by -pmi1-groups */
    enum outcome_policy policy;  /* -end-on-nonzero */
    bool             keep_going; /* -disable-auto-cleanup */
    bool             print_all_exitcodes;

    int              verbose;    /* -v: 1, -v -v (or -vv): 2 ... */
    char            *trace;      /* --trace-wire FILE or NULL */

    struct strlist   warnings;   /* about the command line, one line each, to be shown */
};

void plan_init(struct plan *p);
void plan_clear(struct plan *p);
/* Add an empty block.  Valid until the next one is added; NULL: no memory. */
struct app *plan_add_app(struct plan *p);
void plan_drop_app(struct plan *p);              /* the last block */
int  plan_size(const struct plan *p);            /* ranks of all blocks */
/* The block of a rank (0 <= rank < plan_size): also its appnum. */
size_t plan_app_of(const struct plan *p, int rank);

#endif

/* hook_text.h - what servers and set-up providers say to each other: lines of JSON.
 *
 * One object a line, one answer to each, in the order they were asked
 * (mpiexec_lite-providers(7) has them all).  Pure; thread-safe. */
#ifndef MPIEXEC_LITE_HOOK_TEXT_H
#define MPIEXEC_LITE_HOOK_TEXT_H

#include "mpiexec_lite/place.h"
#include "mpiexec_lite/setup.h"

enum hook {
    HOOK_DESCRIBE,               /* what it is: asked first, of every process */
    HOOK_APPLICATION,            /* once a job, where the launcher is */
    HOOK_LOCAL,                  /* once a node, before its first rank */
    HOOK_CHILD,                  /* once a rank, before it is started */
    HOOK_CHILD_FINISHED, HOOK_LOCAL_FINISHED,
    HOOKS
};
const char *hook_name(enum hook hook);   /* "setup-child" */
#define HOOK_BIT(hook) (1u << (hook))

enum { HOOK_LINE = 320 << 10 };          /* most bytes of an answer */
#define HOOK_TIMEOUT 30.0                /* seconds for one, unless a provider says otherwise */
#define HOOK_TIMEOUT_MAX 3600.0

struct hook_job {                        /* all borrowed */
    const char             *id, *spawner;        /* spawner: NULL for none */
    const struct plan      *plan;
    const struct placement *place;
    const char             *directives;          /* JSON: an array of infos; NULL: all that
                                                    there is to say */
};

/* Append a line.  -1: no memory. */
int hook_ask_describe(struct buf *out);
int hook_ask_application(struct buf *out, const struct hook_job *j);
/* node: of the plan's hosts. */
int hook_ask_local(struct buf *out, const struct hook_job *j, int node,
                   const struct setup *setup);
int hook_ask_child(struct buf *out, int rank, int local_rank);
/* started: wstatus is that of wait4; else it never ran. */
int hook_ask_child_finished(struct buf *out, int rank, bool started, int wstatus);
int hook_ask_local_finished(struct buf *out);

struct hook_answer {
    char    *error;              /* owned; NULL: all is well */
    char    *infos;              /* owned: a JSON array; NULL: none */
    size_t   len;
    unsigned hooks;              /* DESCRIBE: bits of those that it wants */
    double   timeout;
    bool     needs_root;
};
/* One line to a question.  0, or -1 and e: it makes no sense; to be cleared either way. */
int  hook_read(struct hook_answer *a, enum hook to, const char *line, size_t len,
               struct err *e);
void hook_answer_clear(struct hook_answer *a);

#endif

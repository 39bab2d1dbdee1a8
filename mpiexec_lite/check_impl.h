/* check_impl.h - inside of check: what its parts share.  Included by check*.c only. */
#ifndef MPIEXEC_LITE_CHECK_IMPL_H
#define MPIEXEC_LITE_CHECK_IMPL_H

#include "mpiexec_lite/check.h"
#include "mpiexec_lite/child.h"
#include "mpiexec_lite/place.h"
#include "mpiexec_lite/shown.h"
#include "mpiexec_lite/spread.h"

#include <sys/types.h>

enum probe_state { PROBE_WAITING, PROBE_STARTED, PROBE_ASKED, PROBE_TIMED, PROBE_ANSWERED,
                   PROBE_OVER };

/* A host being asked. */
struct probe {
    const struct host *host;     /* borrowed from the plan */
    long   ranks;
    enum probe_state state;
    enum proxy_where how;
    pid_t  pid;                  /* 0: none */
    int    wstatus;
    int    in, out, err;         /* our ends of its stdin, stdout, stderr; -1: closed */
    struct buf heard, words;     /* owned: of its stdout, not understood yet; of stderr */
    double began, spoke, asked;  /* by now_seconds() */
    double trip;                 /* seconds from question to answer */
    double clock;                /* its clock less ours, within half a trip */
    char   version[64];          /* what pmi2_proxy said of itself */
    bool   fits;                 /* we speak its protocol */
    json_t *facts;               /* owned: see check_node.h; NULL: none */
    json_t *request;             /* owned */
    char   why[400];             /* it was given up; "": it was not */
};

struct check {
    const struct plan *plan;     /* borrowed */
    char  *proxy;                /* owned: path of pmi2_proxy beside this program */
    struct inherited user;
    struct probe *v;             /* owned; one for each host */
    size_t n;
    json_t *here;                /* owned: problems of the launcher itself */
};

/* Ask all, and wait for all.  0, or -1 and e. */
int check_ask(struct check *c, struct err *e);

/* check_probe.c: start it; take what has come (either descriptor); its time is over. */
void probe_start(struct check *c, struct probe *p);
void probe_hear(struct probe *p);
void probe_listen(struct probe *p);
void probe_give_up(struct probe *p, const char *why);
/* If it has ended: what that means.  It may wait to be started again. */
void probe_look(struct probe *p);

/* One more problem for the list. */
void check_problem(json_t *list, const char *fmt, ...) PRINTF(2, 3);
/* What would stop the launcher itself. */
void check_here(const struct plan *p, const struct placement *place, json_t *list);
/* What was found, and "problems", its list of texts.  NULL: no memory. */
json_t *check_host(const struct probe *p);
/* The answer as text. */
void check_print(const json_t *answer, bool brief, FILE *out);

#endif

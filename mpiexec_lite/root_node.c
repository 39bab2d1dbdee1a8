/* root_node.c - the ranks of the launcher's own host, and the output of all. */
#include "mpiexec_lite/root_impl.h"

#include "mpiexec_lite/trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRACE_LEVEL = 3 };        /* -vvv: the wire trace on stderr */

/* --- ranks ------------------------------------------------------------- */

static void started(void *host, struct crew *c, int rank, pid_t pid)
{
    (void)host;
    root_job_of(c)->launch.ranks[rank].pid = pid;
}

static void not_started(void *host, struct crew *c, int rank, const char *step, int errnum)
{
    (void)host;
    root_job_not_started(root_job_of(c), rank, step, errnum);
}

static void initialized(void *host, struct crew *c, int rank)
{
    struct root_job *j = root_job_of(c);

    root_say(host, 2, "%srank %d: PMI initialized", root_job_name(j).text, rank);
    launch_initialized(&j->launch, rank);
}

static void finalized(void *host, struct crew *c, int rank)
{
    struct root_job *j = root_job_of(c);

    root_say(host, 2, "%srank %d: PMI finalized", root_job_name(j).text, rank);
    launch_finalized(&j->launch, rank);
}

static void held(void *host, struct crew *c)
{
    (void)host;
    root_hold_add(root_job_of(c), c->to_hold);
}

static void went_on(void *host, struct crew *c, int rank)
{
    (void)host;
    root_hold_went_on(root_job_of(c), rank);
}

static void aborted(void *host, struct crew *c, int rank, bool world, int code,
                    const char *text)
{
    (void)host;
    root_rank_aborted(root_job_of(c), rank, world, code, text);
}

static void protocol(void *host, struct crew *c, int rank, const char *why)
{
    launch_protocol(&root_job_of(c)->launch, root_now(host), rank, why);
}

static void hung_up(void *host, struct crew *c, int rank)
{
    launch_hung_up(&root_job_of(c)->launch, root_now(host), rank);
}

static void rank_ended(void *host, struct crew *c, int rank, int wstatus)
{
    struct root_job *j = root_job_of(c);

    root_say(host, 2, "%srank %d (pid %d): ended, status %d", root_job_name(j).text, rank,
             (int)j->launch.ranks[rank].pid, shell_status(wstatus));
    if (plan_is_single(&j->bundle.plan) && j->launch.ranks[rank].pmi == PMI_INSIDE)
        root_single_gone(j, rank);
    j->launch.ranks[rank].fenced = crew_rank(c, rank)->fenced;
    root_rank_ended(j, rank, wstatus);
}

static void stuck(void *host, struct crew *c, int missing, int waiting)
{
    launch_stuck(&root_job_of(c)->launch, root_now(host), missing, waiting);
}

static void broken(void *host, const char *why)
{
    root_broken(host, EXIT_LAUNCHER, why);
}

static void tell(void *host, const char *text)
{
    root_tell(host, "%s", text);
}

static void asked(void *host, struct spawn *s)
{
    root_ask(host, s);
}

void root_write_trace(struct root *r, struct buf *line)
{
    if (r->args->trace >= 0 && !r->trace_ended && trace_write(r->args->trace, line) < 0) {
        r->trace_ended = true;           /* the job goes on */
        root_tell(r, "the wire trace ends here: %s", strerror(errno));
    }
    if (r->plan->verbose >= TRACE_LEVEL)
        places_tell(&r->places, buf_bytes(line));
}

static void trace(void *host, struct buf *line)
{
    root_write_trace(host, line);
}

const struct node_ops root_node_ops = {
    .started = started, .not_started = not_started, .initialized = initialized,
    .finalized = finalized, .held = held, .went_on = went_on, .aborted = aborted,
    .protocol = protocol, .hung_up = hung_up,
    .ended = rank_ended, .stuck = stuck, .broken = broken, .tell = tell, .trace = trace,
    .spawn = asked, .name = root_names_ask, .timer = root_timer,
    .introduce = root_introduce, .prepared = root_prepared, .unprepared = root_unprepared,
    .unhooked = root_unhooked,
};

/* --- output ------------------------------------------------------------ */

void root_output_failed(void *host, const char *what, int errnum)
{
    struct root *r = host;
    struct root_job *j;
    char text[512];

    if (errnum != EPIPE) {
        snprintf(text, sizeof text, "%s: %s", what, strerror(errnum));
        root_broken(r, EXIT_LAUNCHER, text);
        return;
    }
    TAILQ_FOREACH(j, &r->jobs, in_root)
        launch_reader_gone(&j->launch, root_now(r));
}

/* What was held back for a full stdout may come. */
static void taken(void *host)
{
    struct root *r = host;

    if (places_full(&r->places))
        return;                          /* the last one that can go on says so */
    for (int i = 0; i < r->below.n; i++)
        if (r->below.v[i]->held && r->below.v[i]->link) {
            link_grant(r->below.v[i]->link, LINK_BULK, r->below.v[i]->held);
            r->below.v[i]->held = 0;
        }
}

static const struct places_ops places_ops = { root_output_failed, NULL, taken };

int root_places_init(struct root *r, struct err *e)
{
    return places_init(&r->places, r->loop, &places_ops, r, e);
}

int root_open_files(struct root_job *j, struct err *e)
{
    const struct plan *p = &j->bundle.plan;
    const struct placement *place = &j->bundle.place;

    if (!p->outfile && !p->errfile)
        return 0;
    for (size_t i = 0; i < place->nruns; i++) {
        const struct run *run = &place->runs[i];

        for (int k = 0; k < run->n && !p->hosts[run->node].local; k++)
            if (output_open(j->crew.output, run->node, run->first + k, e) < 0)
                return -1;
    }
    return 0;
}

/* Output of a job that is over, or of a node that it is not on, goes nowhere. */
static bool show(struct root_job *j, const struct msg *m, const char *data, size_t len,
                 struct err *e)
{
    long long node, rank, errors, flush;

    if (msg_number(m, "node", 0, (long long)j->bundle.plan.nhosts - 1, &node, e) < 0 ||
        msg_number(m, "rank", -1, j->bundle.place.size - 1, &rank, e) < 0 ||
        msg_number(m, "err", 0, 1, &errors, e) < 0 || msg_number(m, "flush", 0, 1, &flush, e) < 0)
        return true;
    return !len ||
           output_take(j->crew.output, (int)node, (int)rank, errors, flush, data, len);
}

int root_take_output(struct root *r, struct remote *from, const struct msg *m,
                     const char *payload, size_t len, struct err *e)
{
    struct root_job *j = root_job_named(r, m, e);

    if (e->code || link_take(from->link, len, e) < 0)
        return -1;
    if (!j || show(j, m, payload, len, e))
        link_grant(from->link, LINK_BULK, len);
    else
        from->held += len;
    return e->code ? -1 : 0;
}

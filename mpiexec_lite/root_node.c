/* root_node.c - the ranks of the launcher's own host, and the output of all. */
#include "mpiexec_lite/root_impl.h"

#include "mpiexec_lite/trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRACE_LEVEL = 3 };        /* -vvv: the wire trace on stderr */

/* --- ranks ------------------------------------------------------------- */

static void started(void *host, int rank, pid_t pid)
{
    struct root *r = host;

    r->launch.ranks[rank].pid = pid;
}

static void not_started(void *host, int rank, const char *step, int errnum)
{
    struct root *r = host;

    launch_failed_to_start(&r->launch, root_now(r), rank, step, errnum);
}

static void initialized(void *host, int rank)
{
    struct root *r = host;

    root_say(r, 2, "rank %d: PMI initialized", rank);
    launch_initialized(&r->launch, rank);
}

static void finalized(void *host, int rank)
{
    struct root *r = host;

    root_say(r, 2, "rank %d: PMI finalized", rank);
    launch_finalized(&r->launch, rank);
}

static void aborted(void *host, int rank, bool world, int code, const char *text)
{
    struct root *r = host;

    launch_aborted(&r->launch, root_now(r), rank, world, code, text);
}

static void protocol(void *host, int rank, const char *why)
{
    struct root *r = host;

    launch_protocol(&r->launch, root_now(r), rank, why);
}

static void hung_up(void *host, int rank)
{
    struct root *r = host;

    launch_hung_up(&r->launch, root_now(r), rank);
}

static void rank_ended(void *host, int rank, int wstatus)
{
    struct root *r = host;

    root_say(r, 2, "rank %d (pid %d): ended, status %d", rank,
             (int)r->launch.ranks[rank].pid, shell_status(wstatus));
    launch_ended(&r->launch, root_now(r), rank, wstatus);
}

static void stuck(void *host, int missing, int waiting)
{
    struct root *r = host;

    launch_stuck(&r->launch, root_now(r), missing, waiting);
}

static void broken(void *host, const char *why)
{
    root_broken(host, EXIT_LAUNCHER, why);
}

static void tell(void *host, const char *text)
{
    root_tell(host, "%s", text);
}

void root_write_trace(struct root *r, struct buf *line)
{
    if (r->args->trace >= 0 && !r->trace_ended && trace_write(r->args->trace, line) < 0) {
        r->trace_ended = true;           /* the job goes on */
        root_tell(r, "the wire trace ends here: %s", strerror(errno));
    }
    if (r->plan->verbose >= TRACE_LEVEL)
        output_tell(r->node.output, buf_bytes(line));
}

static void trace(void *host, struct buf *line)
{
    root_write_trace(host, line);
}

const struct node_ops root_node_ops = {
    .started = started, .not_started = not_started, .initialized = initialized,
    .finalized = finalized, .aborted = aborted, .protocol = protocol, .hung_up = hung_up,
    .ended = rank_ended, .stuck = stuck, .broken = broken, .tell = tell, .trace = trace,
};

/* --- output ------------------------------------------------------------ */

void root_output_failed(void *host, const char *what, int errnum)
{
    struct root *r = host;
    char text[512];

    if (errnum == EPIPE) {
        launch_reader_gone(&r->launch, root_now(r));
    } else {
        snprintf(text, sizeof text, "%s: %s", what, strerror(errnum));
        root_broken(r, EXIT_LAUNCHER, text);
    }
}

/* What was held back for a full stdout may come. */
static void taken(void *host)
{
    struct root *r = host;

    if (output_full(r->node.output))
        return;                          /* the last one that can go on says so */
    for (int i = 0; i < r->below.n; i++)
        if (r->below.v[i].held && r->below.v[i].link) {
            link_grant(r->below.v[i].link, LINK_BULK, r->below.v[i].held);
            r->below.v[i].held = 0;
        }
}

static const struct output_ops output_ops = { root_output_failed, NULL, taken };

int root_output_init(struct root *r, struct err *e)
{
    r->node.output = output_new(r->loop, r->plan, r->node.args.node, r->hostname,
                                r->node.buffer, NODE_BUFFER, &output_ops, r, e);
    return r->node.output ? 0 : -1;
}

int root_open_files(struct root *r, struct err *e)
{
    const struct placement *place = r->args->place;

    if (!r->plan->outfile && !r->plan->errfile)
        return 0;
    for (size_t i = 0; i < place->nruns; i++) {
        const struct run *run = &place->runs[i];

        for (int k = 0; k < run->n && !r->plan->hosts[run->node].local; k++)
            if (output_open(r->node.output, run->node, run->first + k, e) < 0)
                return -1;
    }
    return 0;
}

int root_take_output(struct root *r, struct remote *from, const struct msg *m,
                     const char *payload, size_t len, struct err *e)
{
    long long node, rank, errors, flush;

    if (msg_number(m, "node", 0, (long long)r->plan->nhosts - 1, &node, e) < 0 ||
        msg_number(m, "rank", -1, r->args->place->size - 1, &rank, e) < 0 ||
        msg_number(m, "err", 0, 1, &errors, e) < 0 || msg_number(m, "flush", 0, 1, &flush, e) < 0 ||
        link_take(from->link, len, e) < 0)
        return -1;
    if (!len || output_take(r->node.output, (int)node, (int)rank, errors, flush, payload, len))
        link_grant(from->link, LINK_BULK, len);
    else
        from->held += len;
    return 0;
}

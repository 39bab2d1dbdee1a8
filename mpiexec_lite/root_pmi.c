/* root_pmi.c - the server core's host operations, for the ranks of this node. */
#include "mpiexec_lite/root_impl.h"

#include "mpiexec_lite/trace.h"
#include "pmix_ext/commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum { MAX_WARNINGS = 15, TRACE_LEVEL = 3 };     /* -vvv: the wire trace on stderr */

static size_t op_send(void *host, void *link, const char *data, size_t len)
{
    (void)host;
    return pmi_conn_send(link, data, len);
}

static void op_fail(void *host, void *link, struct member *m, const char *why)
{
    struct root *r = host;

    pmi_conn_fail(link);
    if (m)
        launch_protocol(&r->launch, root_now(r), member_rank(m), why);
    else
        root_tell(r, "PMI port: a connection was closed: %s", why);
}

static void op_abort(void *host, struct member *m, bool world, int code, const char *text)
{
    struct root *r = host;

    launch_aborted(&r->launch, root_now(r), member_rank(m), world, code, text);
}

static void op_initialized(void *host, struct member *m)
{
    struct root *r = host;
    bool first = r->launch.ranks[member_rank(m)].pmi == PMI_NONE;

    root_say(r, 2, "rank %d: PMI initialized", member_rank(m));
    r->spoke_pmi = true;
    launch_initialized(&r->launch, member_rank(m));
    if (r->listener && first && --r->unbound == 0) {
        listen_stop(r->listener);
        r->listener = NULL;
    }
}

static void op_finalized(void *host, struct member *m)
{
    struct root *r = host;

    root_say(r, 2, "rank %d: PMI finalized", member_rank(m));
    launch_finalized(&r->launch, member_rank(m));
}

static void op_stuck(void *host, struct member *missing, struct member *waiting)
{
    struct root *r = host;

    launch_stuck(&r->launch, root_now(r), member_rank(missing), member_rank(waiting));
}

/* Warnings are for every user, up to a number; the rest is for -vv. */
static void op_log(void *host, enum log_level level, struct member *m, const char *text)
{
    struct root *r = host;

    if (r->plan->verbose < 2 && (level > LOG_WARN || r->warned > MAX_WARNINGS))
        return;
    if (level <= LOG_WARN && r->warned++ == MAX_WARNINGS && r->plan->verbose < 2)
        root_tell(r, "further warnings are not shown (-vv shows all)");
    else if (m)
        root_tell(r, "rank %d: %s", member_rank(m), text);
    else
        root_tell(r, "%s", text);
}

static void op_trace(void *host, struct member *m, bool from_peer, const char *data,
                     size_t len)
{
    struct root *r = host;
    struct buf line = BUF_INIT;

    trace_format(&line, m ? member_rank(m) : -1, from_peer, data, len);
    if (!line.failed && r->args->trace >= 0 && !r->trace_ended &&
        trace_write(r->args->trace, &line) < 0) {
        r->trace_ended = true;           /* the job goes on */
        root_tell(r, "the wire trace ends here: %s", strerror(errno));
    }
    if (!line.failed && r->plan->verbose >= TRACE_LEVEL)
        output_tell(r->output, buf_bytes(&line));
    buf_clear(&line);
}

/* --- connections ------------------------------------------------------- */

static void peer_closed(struct root *r, struct port_peer *p)
{
    TAILQ_REMOVE(&r->peers, p, in_list);
    free(p);
}

static void on_closed(void *host, struct pmi_conn *c, struct member *m)
{
    struct root *r = host;

    if (m)
        launch_hung_up(&r->launch, root_now(r), member_rank(m));
    if (c->user)
        peer_closed(r, c->user);
}

static void on_broken(void *host, struct pmi_conn *c, const char *why)
{
    struct root *r = host;
    char text[256];

    (void)c;
    snprintf(text, sizeof text, "cannot answer a rank's PMI requests: %s", why);
    launch_broken(&r->launch, root_now(r), EXIT_LAUNCHER, text);
}

static const struct pmi_conn_ops conn_ops = { on_closed, on_broken };

static void on_accepted(void *host, int fd)
{
    struct root *r = host;
    struct port_peer *p = calloc(1, sizeof *p);

    if (!p || pmi_conn_init(&p->conn, &r->conn_env, r->job, NULL, fd) < 0) {
        if (!p)
            close(fd);
        free(p);
        return;
    }
    p->conn.user = p;
    TAILQ_INSERT_TAIL(&r->peers, p, in_list);
}

static void on_refused(void *host, const char *why)
{
    op_log(host, LOG_WARN, NULL, why);
}

static const struct listen_ops listen_ops = { on_accepted, on_refused };

/* --- set-up ------------------------------------------------------------ */

static int add_job(struct root *r, struct err *e)
{
    struct mapping_block all = { 0, 1, r->size };
    struct job_spec spec = { .id = r->jobid, .size = r->size, .universe = r->plan->usize,
                             .map = &all, .map_blocks = 1 };
    int *appnums = malloc((size_t)r->size * sizeof *appnums);
    int rank = 0;

    if (!appnums)
        return err_set(e, ERR_NOMEM, "no memory for %d ranks", r->size);
    for (size_t a = 0; a < r->plan->napps; a++)
        for (int i = 0; i < r->plan->apps[a].n; i++)
            appnums[rank++] = (int)a;
    spec.appnums = appnums;
    r->job = server_add_job(r->server, &spec, e);
    free(appnums);
    return r->job ? 0 : -1;
}

int root_pmi_init(struct root *r, struct err *e)
{
    struct host_ops ops = { op_send, op_fail, op_abort, op_initialized, op_finalized,
                            op_stuck, op_log, NULL };
    struct server_options options = { .pmi1_subversion = r->plan->pmi1_subversion,
                                      .fault_tolerant = r->plan->keep_going };
    uint64_t random[2];

    if (r->args->trace >= 0 || r->plan->verbose >= TRACE_LEVEL)
        ops.trace = op_trace;
    if (getrandom(random, sizeof random, 0) != sizeof random)
        return err_set(e, ERR_OTHER, "no random numbers");
    snprintf(r->jobid, sizeof r->jobid, "job-%d-%08x", (int)getppid(), (unsigned)random[1]);
    TAILQ_INIT(&r->peers);
    r->server = server_new(&ops, r, random[0], &options);
    if (!r->server)
        return err_set(e, ERR_NOMEM, "no memory for a server");
    if (ext_add_commands(r->server, e) < 0)
        return -1;
    r->conn_env = (struct pmi_conn_env){ r->loop, r->server, r->buffer, ROOT_BUFFER,
                                         &conn_ops, r };
    if (add_job(r, e) < 0)
        return -1;
    if (!r->plan->pmi_port)
        return 0;
    r->unbound = r->size;
    r->listener = listen_start(r->loop, &listen_ops, r, e);
    return r->listener ? 0 : -1;
}

void root_pmi_clear(struct root *r)
{
    struct port_peer *p;

    listen_stop(r->listener);
    while ((p = TAILQ_FIRST(&r->peers))) {
        pmi_conn_close(&p->conn);
        peer_closed(r, p);
    }
    for (int i = 0; r->ranks && i < r->size; i++)
        pmi_conn_close(&r->ranks[i].conn);
    server_free(r->server);
}

const char *root_program(void *host, int rank)
{
    struct root *r = host;
    const char *path = r->args->programs[plan_app_of(r->plan, rank)];
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* --- report ------------------------------------------------------------ */

/* What a rank is doing, as far as PMI knows. */
static const char *doing(struct root *r, int rank, char *text, size_t size)
{
    static const char *const name[] = {
        [MEMBER_NEW] = "running, has not used PMI", [MEMBER_GREETED] = "in PMI init",
        [MEMBER_READY] = "running", [MEMBER_FINAL] = "running, PMI finalized",
        [MEMBER_GONE] = "ended",
    };
    const struct member *m = job_member(r->job, rank);
    const char *waits = member_waits_in(m);

    if (!waits)
        return name[member_state(m)];
    snprintf(text, size, "waits in %s", waits);
    return text;
}

void root_report(struct root *r)
{
    for (int first = 0, last; first < r->size; first = last + 1) {
        char text[80], next[80];
        const char *what = doing(r, first, text, sizeof text);

        last = first;
        while (last + 1 < r->size && !strcmp(what, doing(r, last + 1, next, sizeof next)))
            last++;
        if (last > first)
            root_tell(r, "ranks %d-%d on %s: %s", first, last, r->hostname, what);
        else
            root_tell(r, "rank %d on %s (pid %d, %s): %s", first, r->hostname,
                      (int)r->launch.ranks[first].pid, root_program(r, first), what);
    }
}

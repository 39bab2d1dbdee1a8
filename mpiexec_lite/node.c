/* node.c - see node.h.  Here are the server core's host operations. */
#include "mpiexec_lite/crew.h"

#include "mpiexec_lite/fatal.h"
#include "mpiexec_lite/foreign.h"
#include "mpiexec_lite/link.h"
#include "mpiexec_lite/now.h"
#include "mpiexec_lite/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum { MAX_WARNINGS = 15 };

static struct crew *crew_of(const struct member *m)
{
    return job_link(member_job(m));
}

static size_t op_send(void *host, void *link, const char *data, size_t len)
{
    (void)host;
    return pmi_conn_send(link, data, len);
}

static void op_fail(void *host, void *link, struct member *m, const char *why)
{
    struct node *n = host;
    struct pmi_conn *c = link;

    pmi_conn_fail(c);
    if (m)
        crew_blame(crew_of(m), member_rank(m));
    if (m)
        n->ops->protocol(n->host, crew_of(m), member_rank(m), why);
    else
        c->env->ops->refused(c->env->host, c, why);
}

static void op_abort(void *host, struct member *m, bool world, int code, const char *text)
{
    struct node *n = host;

    crew_blame(crew_of(m), member_rank(m));
    n->ops->aborted(n->host, crew_of(m), member_rank(m), world, code, text);
}

static void op_initialized(void *host, struct member *m)
{
    struct node *n = host;
    struct crew *c = crew_of(m);

    node_note(n, c, member_rank(m), MOMENT_INIT, 0);
    crew_initialized(c, crew_rank(c, member_rank(m)));
    n->ops->initialized(n->host, c, member_rank(m));
}

static void op_finalized(void *host, struct member *m)
{
    struct node *n = host;
    struct crew *c = crew_of(m);

    node_note(n, c, member_rank(m), MOMENT_FINALIZE, 0);
    crew_rank(c, member_rank(m))->pmi = PMI_DONE;
    n->ops->finalized(n->host, c, member_rank(m));
}

static void op_held(void *host, struct member *m)
{
    struct node *n = host;

    if (crew_held(crew_of(m)))
        n->ops->held(n->host, crew_of(m));
}

static void op_stuck(void *host, struct job *j, int missing, int waiting)
{
    struct node *n = host;

    n->ops->stuck(n->host, job_link(j), missing, waiting);
}

static void op_spawn(void *host, struct spawn *s)
{
    struct node *n = host;

    n->ops->spawn(n->host, s);
}

static bool op_name(void *host, struct name_ask *a)
{
    struct node *n = host;

    return n->ops->name(n->host, a);
}

static void op_timer(void *host, unsigned id, double seconds)
{
    struct node *n = host;

    n->ops->timer(n->host, id, seconds);
}

static void tell_no_topology(struct node *n, const char *why)
{
    char text[400];

    if (!n->args.plan->verbose)
        return;
    snprintf(text, sizeof text, "%s: there is no PMI_hwloc_xmlfile: %s", n->args.hostname, why);
    n->ops->tell(n->host, text);
}

/* Every job hears of it, asked or not. */
static void topology_there(struct topology *t, const char *path, const char *why)
{
    struct node *n = t->host;
    struct crew *c;

    if (!path)
        tell_no_topology(n, why);
    TAILQ_FOREACH(c, &n->crews, in_node)
        if (c->job)
            job_told(c->job, "PMI_hwloc_xmlfile", path);
}

/* hwloc's XML: once a node, whatever job asks. */
static const char *op_find(void *host, struct job *j, const char *key, bool *later)
{
    struct node *n = host;
    const char *why, *path = topology_find(&n->topology, n->loop, topology_there, later, &why);

    (void)j;
    (void)key;
    if (why)
        tell_no_topology(n, why);
    return path;
}

static void op_died(void *host, struct job *j)
{
    (void)host;
    crew_tell_died(job_link(j));
}

/* Warnings are for every user, up to a number; the rest is for -vv. */
static void op_log(void *host, enum log_level level, struct member *m, const char *text)
{
    struct node *n = host;
    bool verbose = n->args.plan->verbose >= 2;
    char line[700];

    if (!verbose && (level > LOG_WARN || n->warned > MAX_WARNINGS))
        return;
    if (level <= LOG_WARN && n->warned++ == MAX_WARNINGS && !verbose)
        snprintf(line, sizeof line, "further warnings are not shown (-vv shows all)");
    else if (m && crew_of(m)->args.number)
        snprintf(line, sizeof line, "job %d: rank %d: %s", crew_of(m)->args.number,
                 member_rank(m), text);
    else if (m)
        snprintf(line, sizeof line, "rank %d: %s", member_rank(m), text);
    else
        snprintf(line, sizeof line, "%s", text);
    n->ops->tell(n->host, line);
}

void node_warn(struct node *n, const char *text)
{
    op_log(n, LOG_WARN, NULL, text);
}

/* What set-up providers have said may be secret, whoever passes it on. */
static void redact(struct node *n, const char *data, size_t len, struct buf *out)
{
    struct crew *c;

    buf_add(out, data, len);
    TAILQ_FOREACH(c, &n->crews, in_node)
        if (c->setup.secrets.n) {
            struct buf before = *out;

            *out = (struct buf)BUF_INIT;
            setup_redact(&c->setup, buf_bytes(&before), before.len, out);
            buf_clear(&before);
        }
}

static void op_trace(void *host, struct member *m, bool from_peer, const char *data,
                     size_t len)
{
    struct node *n = host;
    struct buf line = BUF_INIT, safe = BUF_INIT;

    redact(n, data, len, &safe);
    trace_format(&line, m ? crew_of(m)->args.number : 0, m ? member_rank(m) : -1, from_peer,
                 buf_bytes(&safe), safe.len);
    if (!line.failed && !safe.failed)
        n->ops->trace(n->host, &line);
    buf_clear(&safe);
    buf_clear(&line);
}

/* Data between servers: in order among itself, behind what controls the job. */
static void op_peer_send(void *host, void *link, const char *frame, size_t frame_len,
                         const char *payload, size_t len)
{
    (void)host;
    if (!frame)
        fatal("out of memory", 0);
    link_send(link, LINK_DATA, frame, frame_len, payload, len);
}

static void op_peer_send_all(void *host, void *const *links, size_t n, const char *frame,
                             size_t frame_len, const char *payload, size_t len)
{
    struct blob *b = blob_new(frame, frame_len, payload, len);

    (void)host;
    for (size_t i = 0; i < n; i++)
        link_send_blob(links[i], LINK_DATA, b);
    blob_drop(b);
}

static bool op_introduce(void *host, struct far_ask *a)
{
    struct node *n = host;

    return n->ops->introduce(n->host, a);
}

static void op_far_send(void *host, void *link, const char *frame, size_t len)
{
    (void)host;
    foreign_send(link, frame, len);
}

static bool op_answer(void *host, struct member *m, const struct frame *f, struct buf *reply)
{
    struct node *n = host;

    return n->ops->answer(n->host, m, f, reply);
}

/* --- moments ----------------------------------------------------------- */

void node_note(struct node *n, const struct crew *c, int rank, enum moment_kind kind, int value)
{
    if (n->args.timeline)
        moments_add(&n->moments, &(struct moment){ (int64_t)(now_seconds() * 1e9),
                                                   c->args.number, rank, kind, value });
}

static void op_fenced(void *host, struct member *m, bool enters, bool whole)
{
    if (whole)
        node_note(host, crew_of(m), member_rank(m), enters ? MOMENT_ENTER : MOMENT_LEAVE, 0);
}

static void on_spoke(void *host, struct pmi_conn *x)
{
    struct member *m = conn_member(x->core);

    if (m)
        node_note(host, crew_of(m), member_rank(m), MOMENT_HELLO, 0);
}

/* --- connections ------------------------------------------------------- */

static void on_closed(void *host, struct pmi_conn *x, struct member *m)
{
    struct node *n = host;

    if (m && !crew_hung_up(crew_of(m), member_rank(m)))
        n->ops->hung_up(n->host, crew_of(m), member_rank(m));
    if (x->user)
        crew_peer_closed(x->user);
}

static void on_broken(void *host, struct pmi_conn *x, const char *why)
{
    struct node *n = host;
    char text[256];

    (void)x;
    snprintf(text, sizeof text, "cannot answer a rank's PMI requests: %s", why);
    n->ops->broken(n->host, text);
}

static void on_refused(void *host, struct pmi_conn *x, const char *why)
{
    struct node *n = host;
    char text[400];

    (void)x;
    snprintf(text, sizeof text, "PMI port: a connection was closed: %s", why);
    n->ops->tell(n->host, text);
}

static const struct pmi_conn_ops conn_ops = { on_closed, on_broken, on_refused, on_spoke };

/* --- all crews --------------------------------------------------------- */

bool node_reaped(struct node *n, pid_t pid, int wstatus)
{
    struct crew *c;

    TAILQ_FOREACH(c, &n->crews, in_node)
        if (crew_reaped(c, pid, wstatus))
            return true;
    return all_hooks_reaped(&n->hooks, pid);
}

void node_continued(struct node *n, pid_t pid)
{
    struct crew *c;

    TAILQ_FOREACH(c, &n->crews, in_node)
        if (crew_continued(c, pid))
            return;
}

void node_report(struct node *n)
{
    struct crew *c;

    TAILQ_FOREACH(c, &n->crews, in_node)
        crew_report(c);
}

/* --- set-up ------------------------------------------------------------ */

static int add_server(struct node *n, struct err *e)
{
    struct host_ops ops = { op_send, op_fail, op_abort, op_initialized, op_finalized,
                            op_stuck, op_log, n->args.trace ? op_trace : NULL, op_peer_send,
                            op_peer_send_all, n->ops->spawn ? op_spawn : NULL,
                            n->ops->name ? op_name : NULL, n->ops->timer ? op_timer : NULL,
                            op_find, op_died, n->ops->introduce ? op_introduce : NULL,
                            op_far_send, n->args.timeline ? op_fenced : NULL, op_held,
                            n->ops->answer ? op_answer : NULL };
    const struct plan *p = n->args.plan;
    struct server_options options = { .pmi1_subversion = p->pmi1_subversion,
                                      .fault_tolerant = p->keep_going,
                                      .uid = geteuid(), .gid = getegid(),
                                      .release_bytes = p->remote.release_bytes };
    uint64_t random;

    if (getrandom(&random, sizeof random, 0) != sizeof random)
        return err_set(e, ERR_OTHER, "no random numbers");
    n->server = server_new(&ops, n, random, &options);
    if (!n->server)
        return err_set(e, ERR_NOMEM, "no memory for a server");
    n->conn_env = (struct pmi_conn_env){ n->loop, n->server, n->buffer, NODE_BUFFER,
                                         &conn_ops, n };
    return 0;
}

int node_init(struct node *n, struct ev_loop *loop, const struct node_args *args,
              const struct node_ops *ops, void *host, struct err *e)
{
    *n = (struct node){ .args = *args, .ops = ops, .host = host, .loop = loop, .null = -1 };
    TAILQ_INIT(&n->crews);
    TAILQ_INIT(&n->cleanups);
    TAILQ_INIT(&n->hooks);
    topology_init(&n->topology, n);
    n->buffer = malloc(NODE_BUFFER);
    if (!n->buffer)
        return err_set(e, ERR_NOMEM, "out of memory");
    return add_server(n, e);
}

void node_cleanup(struct node *n)
{
    struct crew *c;

    TAILQ_FOREACH(c, &n->crews, in_node)
        crew_cleanup_all(c);
    cleanups_finish(&n->cleanups);
}

void node_clear(struct node *n)
{
    node_cleanup(n);
    topology_clear(&n->topology);
    topo_here_clear(&n->here);
    server_free(n->server);
    moments_clear(&n->moments);
    free(n->buffer);
    if (n->null >= 0)
        close(n->null);
}

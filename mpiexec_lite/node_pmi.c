/* node_pmi.c - the server core's host operations, for the ranks of this node. */
#include "mpiexec_lite/node.h"

#include "mpiexec_lite/fatal.h"
#include "mpiexec_lite/link.h"
#include "mpiexec_lite/trace.h"
#include "pmix_ext/commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum { MAX_WARNINGS = 15 };

static size_t op_send(void *host, void *link, const char *data, size_t len)
{
    (void)host;
    return pmi_conn_send(link, data, len);
}

static void op_fail(void *host, void *link, struct member *m, const char *why)
{
    struct node *n = host;
    char text[400];

    pmi_conn_fail(link);
    if (m) {
        n->ops->protocol(n->host, member_rank(m), why);
        return;
    }
    snprintf(text, sizeof text, "PMI port: a connection was closed: %s", why);
    n->ops->tell(n->host, text);
}

static void op_abort(void *host, struct member *m, bool world, int code, const char *text)
{
    struct node *n = host;

    n->ops->aborted(n->host, member_rank(m), world, code, text);
}

static void op_initialized(void *host, struct member *m)
{
    struct node *n = host;
    struct rank *r = node_rank(n, member_rank(m));
    bool first = r->pmi == PMI_NONE;

    r->pmi = PMI_INSIDE;
    n->spoke_pmi = true;
    n->ops->initialized(n->host, r->rank);
    if (n->listener && first && --n->unbound == 0) {
        listen_stop(n->listener);
        n->listener = NULL;
    }
}

static void op_finalized(void *host, struct member *m)
{
    struct node *n = host;

    node_rank(n, member_rank(m))->pmi = PMI_DONE;
    n->ops->finalized(n->host, member_rank(m));
}

static void op_stuck(void *host, struct job *j, int missing, int waiting)
{
    struct node *n = host;

    (void)j;
    n->ops->stuck(n->host, missing, waiting);
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
    else if (m)
        snprintf(line, sizeof line, "rank %d: %s", member_rank(m), text);
    else
        snprintf(line, sizeof line, "%s", text);
    n->ops->tell(n->host, line);
}

static void op_trace(void *host, struct member *m, bool from_peer, const char *data,
                     size_t len)
{
    struct node *n = host;
    struct buf line = BUF_INIT;

    trace_format(&line, m ? member_rank(m) : -1, from_peer, data, len);
    if (!line.failed)
        n->ops->trace(n->host, &line);
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

/* --- connections ------------------------------------------------------- */

struct port_peer {               /* a PMI_PORT connection: nobody's, then a rank's */
    struct pmi_conn conn;
    TAILQ_ENTRY(port_peer) in_list;
};

static void peer_closed(struct node *n, struct port_peer *p)
{
    TAILQ_REMOVE(&n->peers, p, in_list);
    free(p);
}

static void on_closed(void *host, struct pmi_conn *c, struct member *m)
{
    struct node *n = host;

    if (m)
        n->ops->hung_up(n->host, member_rank(m));
    if (c->user)
        peer_closed(n, c->user);
}

static void on_broken(void *host, struct pmi_conn *c, const char *why)
{
    struct node *n = host;
    char text[256];

    (void)c;
    snprintf(text, sizeof text, "cannot answer a rank's PMI requests: %s", why);
    n->ops->broken(n->host, text);
}

static const struct pmi_conn_ops conn_ops = { on_closed, on_broken };

static void on_accepted(void *host, int fd)
{
    struct node *n = host;
    struct port_peer *p = calloc(1, sizeof *p);

    if (!p || pmi_conn_init(&p->conn, &n->conn_env, n->job, NULL, fd) < 0) {
        if (!p)
            close(fd);
        free(p);
        return;
    }
    p->conn.user = p;
    TAILQ_INSERT_TAIL(&n->peers, p, in_list);
}

static void on_refused(void *host, const char *why)
{
    op_log(host, LOG_WARN, NULL, why);
}

static const struct listen_ops listen_ops = { on_accepted, on_refused };

void node_drain_peers(struct node *n, const struct member *m)
{
    struct port_peer *p, *next;

    if (n->listener)
        listen_accept(n->listener);
    for (p = TAILQ_FIRST(&n->peers); p; p = next) {
        struct member *whose = p->conn.core ? conn_member(p->conn.core) : NULL;

        next = TAILQ_NEXT(p, in_list);
        if (!whose)
            pmi_conn_serve(&p->conn);
        else if (whose == m)
            pmi_conn_drain(&p->conn);
    }
}

/* --- set-up ------------------------------------------------------------ */

int node_add_job(struct node *n, int subtree, struct err *e)
{
    const struct placement *place = n->args.place;
    struct job_spec spec = { .id = n->args.jobid, .size = place->size,
                             .universe = n->args.plan->usize, .map = place->map,
                             .map_blocks = place->nmap, .spread = n->n != place->size,
                             .nlocal = n->n, .subtree = subtree };
    size_t room = (size_t)(n->n ? n->n : 1);
    int *appnums = malloc(room * sizeof *appnums), *local = malloc(room * sizeof *local);

    for (int i = 0; appnums && local && i < n->n; i++) {
        local[i] = n->ranks[i].rank;
        appnums[i] = (int)plan_app_of(n->args.plan, local[i]);
    }
    spec.appnums = appnums;
    spec.local = local;
    if (appnums && local)
        n->job = server_add_job(n->server, &spec, e);
    else
        err_set(e, ERR_NOMEM, "no memory for %d ranks", n->n);
    free(appnums);
    free(local);
    if (!n->job)
        return -1;
    if (!n->args.plan->pmi_port || !n->n)
        return 0;
    n->unbound = n->n;
    n->listener = listen_start(n->loop, &listen_ops, n, e);
    return n->listener ? 0 : -1;
}

int node_pmi_init(struct node *n, struct err *e)
{
    struct host_ops ops = { op_send, op_fail, op_abort, op_initialized, op_finalized,
                            op_stuck, op_log, n->args.trace ? op_trace : NULL, op_peer_send,
                            op_peer_send_all };
    const struct plan *p = n->args.plan;
    struct server_options options = { .pmi1_subversion = p->pmi1_subversion,
                                      .fault_tolerant = p->keep_going,
                                      .release_bytes = p->remote.release_bytes };
    uint64_t random;

    if (getrandom(&random, sizeof random, 0) != sizeof random)
        return err_set(e, ERR_OTHER, "no random numbers");
    n->server = server_new(&ops, n, random, &options);
    if (!n->server)
        return err_set(e, ERR_NOMEM, "no memory for a server");
    n->conn_env = (struct pmi_conn_env){ n->loop, n->server, n->buffer, NODE_BUFFER,
                                         &conn_ops, n };
    return ext_add_commands(n->server, e);
}

void node_pmi_clear(struct node *n)
{
    struct port_peer *p;

    listen_stop(n->listener);
    while ((p = TAILQ_FIRST(&n->peers))) {
        pmi_conn_close(&p->conn);
        peer_closed(n, p);
    }
    for (int i = 0; i < n->n; i++)
        pmi_conn_close(&n->ranks[i].conn);
    server_free(n->server);
}

/* --- report ------------------------------------------------------------ */

/* What a rank is doing, as far as PMI knows. */
static const char *doing(struct node *n, int i, char *text, size_t size)
{
    static const char *const name[] = {
        [MEMBER_NEW] = "running, has not used PMI", [MEMBER_GREETED] = "in PMI init",
        [MEMBER_READY] = "running", [MEMBER_FINAL] = "running, PMI finalized",
        [MEMBER_GONE] = "ended",
    };
    const struct member *m = job_member(n->job, n->ranks[i].rank);
    const char *waits = member_waits_in(m);

    if (!waits)
        return name[member_state(m)];
    snprintf(text, size, "waits in %s", waits);
    return text;
}

/* The end of the run of ranks that do the same as the i-th. */
static int last_alike(struct node *n, int i, const char *what)
{
    char text[80];

    while (i + 1 < n->n && n->ranks[i + 1].rank == n->ranks[i].rank + 1 &&
           !strcmp(what, doing(n, i + 1, text, sizeof text)))
        i++;
    return i;
}

void node_report(struct node *n)
{
    for (int i = 0, last; i < n->n; i = last + 1) {
        const struct rank *r = &n->ranks[i];
        char text[80], line[1024];
        const char *what = doing(n, i, text, sizeof text);

        last = last_alike(n, i, what);
        if (last > i)
            snprintf(line, sizeof line, "ranks %d-%d on %s: %s", r->rank, n->ranks[last].rank,
                     n->args.hostname, what);
        else
            snprintf(line, sizeof line, "rank %d on %s (pid %d, %s): %s", r->rank,
                     n->args.hostname, (int)r->pid, node_program(n, r->rank), what);
        n->ops->tell(n->host, line);
    }
}

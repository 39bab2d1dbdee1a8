/* node.c - see node.h */
#include "mpiexec_lite/node.h"

#include "mpiexec_lite/mpicheck.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int by_rank(const void *key, const void *at)
{
    int x = *(const int *)key, y = ((const struct rank *)at)->rank;

    return (x > y) - (x < y);
}

struct rank *node_rank(struct node *n, int rank)
{
    return n->n ? bsearch(&rank, n->ranks, (size_t)n->n, sizeof *n->ranks, by_rank) : NULL;
}

const char *node_program(const struct node *n, int rank)
{
    size_t app = plan_app_of(n->args.plan, rank);
    const char *path = n->args.programs[app], *slash;

    if (!path)
        path = n->args.plan->apps[app].argv.v[0];
    slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* --- signals and ends -------------------------------------------------- */

/* Its process group; and it alone, if it has left that. */
static void kill_rank(const struct rank *r, int signo)
{
    if (!r->pid)
        return;
    kill(-r->pid, signo);
    if (getpgid(r->pid) != r->pid)
        kill(r->pid, signo);
}

void node_kill(struct node *n, int rank, int signo)
{
    for (int i = 0; i < n->n; i++)
        if (rank < 0 || n->ranks[i].rank == rank)
            kill_rank(&n->ranks[i], signo);
}

/* A rank that ended without PMI, of several, may be an MPI that has none. */
static void check_mpi(struct node *n, int rank)
{
    const char *path = n->args.programs[plan_app_of(n->args.plan, rank)];
    char what[256], line[600];

    if (n->checked_mpi || n->spoke_pmi || n->args.place->size < 2)
        return;
    n->checked_mpi = true;
    if (!mpicheck_library(path, what, sizeof what))
        return;
    snprintf(line, sizeof line, "warning: %s is linked to %s, but did not use PMI: that MPI "
             "cannot be started this way, and each process has run alone, as rank 0 of 1",
             node_program(n, rank), what);
    n->ops->tell(n->host, line);
}

/* Serve what a rank said before it ended, then take note. */
static void rank_ended(struct node *n, struct rank *r, int wstatus)
{
    struct member *m = job_member(n->job, r->rank);

    pmi_conn_drain(&r->conn);
    node_drain_peers(n, m);
    pmi_conn_close(&r->conn);
    if (!member_ever_initialized(m))
        check_mpi(n, r->rank);
    n->running--;
    n->ops->ended(n->host, r->rank, wstatus);
    r->pid = 0;
    member_ended(m);
}

bool node_reaped(struct node *n, pid_t pid, int wstatus)
{
    for (int i = 0; i < n->n; i++)
        if (n->ranks[i].pid == pid) {
            rank_ended(n, &n->ranks[i], wstatus);
            return true;
        }
    return false;
}

void node_swept(struct node *n)
{
    for (int i = 0; i < n->n; i++)
        if (n->ranks[i].pid)
            rank_ended(n, &n->ranks[i], SIGKILL);
}

/* --- set-up ------------------------------------------------------------ */

static int add_ranks(struct node *n, struct err *e)
{
    int *ranks = NULL;

    if (n->args.node >= 0)
        n->n = placement_ranks(n->args.place, n->args.node, &ranks);
    n->ranks = n->n < 0 ? NULL : calloc((size_t)(n->n ? n->n : 1), sizeof *n->ranks);
    for (int i = 0; n->ranks && i < n->n; i++) {
        n->ranks[i].rank = ranks[i];
        n->ranks[i].conn.fd = -1;
    }
    free(ranks);
    if (n->ranks)
        return 0;
    n->n = 0;
    return err_set(e, ERR_NOMEM, "no memory for ranks");
}

int node_init(struct node *n, struct ev_loop *loop, const struct node_args *args,
              const struct node_ops *ops, void *host, struct err *e)
{
    *n = (struct node){ .args = *args, .ops = ops, .host = host, .loop = loop, .null = -1 };
    TAILQ_INIT(&n->peers);
    n->buffer = malloc(NODE_BUFFER);
    if (!n->buffer)
        return err_set(e, ERR_NOMEM, "out of memory");
    return add_ranks(n, e) < 0 ? -1 : node_pmi_init(n, e);
}

void node_clear(struct node *n)
{
    feed_free(n->feed);
    if (n->server)
        node_pmi_clear(n);
    output_free(n->output);
    free(n->ranks);
    free(n->buffer);
    if (n->null >= 0)
        close(n->null);
}

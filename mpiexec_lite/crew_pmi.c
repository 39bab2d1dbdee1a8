/* crew_pmi.c - PMI connections of a crew's ranks that are not their PMI_FD, and what
 * ranks are doing as far as PMI knows. */
#include "mpiexec_lite/crew.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct port_peer {               /* a PMI_PORT connection: nobody's, then a rank's */
    struct crew    *crew;        /* borrowed */
    struct pmi_conn conn;
    TAILQ_ENTRY(port_peer) in_list;
};

void crew_peer_closed(struct port_peer *p)
{
    TAILQ_REMOVE(&p->crew->peers, p, in_list);
    free(p);
}

static void on_accepted(void *host, int fd)
{
    struct crew *c = host;
    struct port_peer *p = calloc(1, sizeof *p);

    if (!p || pmi_conn_init(&p->conn, &c->node->conn_env, c->job, NULL, fd) < 0) {
        if (!p)
            close(fd);
        free(p);
        return;
    }
    p->crew = c;
    p->conn.user = p;
    TAILQ_INSERT_TAIL(&c->peers, p, in_list);
}

static void on_refused(void *host, const char *why)
{
    struct crew *c = host;

    node_warn(c->node, why);
}

static const struct listen_ops listen_ops = { on_accepted, on_refused };

int crew_listen(struct crew *c, struct err *e)
{
    c->unbound = c->n;
    c->listener = listen_start(c->node->loop, &c->node->args.plan->ports, &listen_ops, c, e);
    return c->listener ? 0 : -1;
}

void crew_initialized(struct crew *c, struct rank *r)
{
    bool first = r->pmi == PMI_NONE;

    r->pmi = PMI_INSIDE;
    c->spoke_pmi = true;
    if (c->listener && first && --c->unbound == 0) {
        listen_stop(c->listener);
        c->listener = NULL;
    }
}

void crew_drain_peers(struct crew *c, const struct member *m)
{
    struct port_peer *p, *next;

    if (c->listener)
        listen_accept(c->listener);
    for (p = TAILQ_FIRST(&c->peers); p; p = next) {
        struct member *whose = p->conn.core ? conn_member(p->conn.core) : NULL;

        next = TAILQ_NEXT(p, in_list);
        if (!whose)
            pmi_conn_serve(&p->conn);
        else if (whose == m)
            pmi_conn_drain(&p->conn);
    }
}

void crew_close_pmi(struct crew *c)
{
    struct port_peer *p;

    listen_stop(c->listener);
    c->listener = NULL;
    while ((p = TAILQ_FIRST(&c->peers))) {
        pmi_conn_close(&p->conn);
        crew_peer_closed(p);
    }
    for (int i = 0; i < c->n; i++)
        pmi_conn_close(&c->ranks[i].conn);
}

/* --- report ------------------------------------------------------------ */

/* What a rank is doing, as far as PMI knows. */
static const char *doing(struct crew *c, int i, char *text, size_t size)
{
    static const char *const name[] = {
        [MEMBER_NEW] = "running, has not used PMI", [MEMBER_GREETED] = "in PMI init",
        [MEMBER_READY] = "running", [MEMBER_FINAL] = "running, PMI finalized",
        [MEMBER_GONE] = "ended",
    };
    const struct member *m = job_member(c->job, c->ranks[i].rank);
    const char *waits = member_waits_in(m);

    if (!waits)
        return name[member_state(m)];
    snprintf(text, size, "waits in %s", waits);
    return text;
}

/* The end of the run of ranks that do the same as the i-th. */
static int last_alike(struct crew *c, int i, const char *what)
{
    char text[80];

    while (i + 1 < c->n && c->ranks[i + 1].rank == c->ranks[i].rank + 1 &&
           !strcmp(what, doing(c, i + 1, text, sizeof text)))
        i++;
    return i;
}

void crew_report(struct crew *c)
{
    for (int i = 0, last; i < c->n; i = last + 1) {
        const struct rank *r = &c->ranks[i];
        char text[80], line[1024];
        const char *what = doing(c, i, text, sizeof text);

        last = last_alike(c, i, what);
        if (last > i)
            snprintf(line, sizeof line, "ranks %d-%d on %s: %s", r->rank, c->ranks[last].rank,
                     c->node->args.hostname, what);
        else
            snprintf(line, sizeof line, "rank %d on %s (pid %d, %s): %s", r->rank,
                     c->node->args.hostname, (int)r->pid, crew_program(c, r->rank), what);
        c->node->ops->tell(c->node->host, line);
    }
}

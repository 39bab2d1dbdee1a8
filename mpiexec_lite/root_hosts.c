/* root_hosts.c - hosts that come later: a rank starts a job there.
 *
 * They are appended to the plan, so that the numbers of the others stay, and their
 * servers are the root's own (tree.h).  They take part in the main job without ranks.
 * One that does not come up is a failure of those who have asked, and of nobody else. */
#include "mpiexec_lite/root_impl.h"

#include <stdlib.h>
#include <string.h>

static bool is_late(const struct root *r, int position)
{
    return position >= r->tree.n;
}

/* --- added ------------------------------------------------------------- */

static int no_memory(struct err *e)
{
    return err_set(e, ERR_NOMEM, "no memory for hosts");
}

/* What is kept by position, in a job. */
static int grow_job(struct root_job *j, int servers)
{
    int had = j->root->servers;
    struct job_at *at;

    if (!j->at)
        return 0;
    at = reallocarray(j->at, (size_t)servers, sizeof *at);
    if (!at)
        return -1;
    memset(at + had, 0, (size_t)(servers - had) * sizeof *at);
    j->at = at;
    return 0;
}

static int grow(struct root *r, int servers, size_t nodes)
{
    struct position *at = reallocarray(r->at, (size_t)servers, sizeof *at);
    int *positions;
    struct root_job *j;

    if (!at)
        return -1;
    r->at = at;
    memset(at + r->servers, 0, (size_t)(servers - r->servers) * sizeof *at);
    positions = reallocarray(r->positions, nodes, sizeof *positions);
    if (!positions)
        return -1;
    r->positions = positions;
    TAILQ_FOREACH(j, &r->jobs, in_root)
        if (grow_job(j, servers) < 0)
            return -1;
    return 0;
}

/* A name of our own host needs no server; it is new where the list has left it out. */
static void number(struct root *r, size_t from)
{
    for (size_t i = from; i < r->plan->nhosts; i++) {
        bool local = r->plan->hosts[i].local;

        if (local)
            r->node.args.index = (int)i;
        r->positions[i] = local ? 0 : r->servers++;
    }
}

int root_hosts_add(struct root *r, const struct plan *wanted, struct err *e)
{
    size_t from = r->plan->nhosts;
    int first = r->servers, servers = first;

    if (root_write_bundle(r, wanted, e) < 0)             /* else nothing has changed */
        return -1;
    r->below.args.bundle = buf_bytes(&r->bundle);
    r->below.args.bundle_len = r->bundle.len;
    for (size_t i = from; i < wanted->nhosts; i++)
        servers += !wanted->hosts[i].local;
    if (servers > first && root_await_calls(r, servers, e) < 0)
        return -1;
    if (grow(r, servers, wanted->nhosts) < 0 || plan_copy_hosts(r->plan, wanted, from) < 0) {
        root_check_calls(r);
        return no_memory(e);
    }
    r->main->bundle.plan.hosts = r->plan->hosts;         /* lent */
    r->main->bundle.plan.nhosts = r->plan->nhosts;
    number(r, from);
    return remotes_add(&r->below, first, r->servers - first) < 0 ? no_memory(e) : 0;
}

static bool is_away(const struct root *r, int position)
{
    return !r->at[position].lost && r->at[position].state == AT_AWAY;
}

bool root_hosts_awaited(const struct root *r)
{
    for (int i = r->tree.n; i < r->servers; i++)
        if (is_away(r, i))
            return true;
    return false;
}

/* From the last one on: of those that have to wait for others none is started. */
void root_hosts_refuse(struct root *r, const char *why)
{
    for (int i = r->servers; i-- > r->tree.n;)
        if (is_away(r, i))
            remotes_refuse(&r->below, i, why);
}

bool root_host_awaited(const struct root *r, int position)
{
    const struct position *x = &r->at[position];

    return is_late(r, position) && !x->lost && x->state != AT_READY;
}

/* --- there, or not ----------------------------------------------------- */

void root_host_ready(struct root *r, int position)
{
    struct remote *x = remotes_towards(&r->below, position);
    struct msg m;

    if (!is_late(r, position) || !x)
        return;
    msg_init(&m);
    msg_start(&m, "start");
    link_message(x->link, LINK_CONTROL, &m, NULL, 0, NULL);
    msg_clear(&m);
    root_ask_again(r);
}

bool root_host_failed(struct root *r, int position, const char *why)
{
    if (!is_late(r, position))
        return false;
    root_say(r, 1, "%s", why);
    r->at[position].lost = true;
    free(r->at[position].why);
    r->at[position].why = strdup(why);
    root_check_calls(r);
    root_ask_again(r);
    return true;
}

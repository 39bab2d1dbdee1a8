/* opts_hosts.c - from the options about hosts to the nodes of the plan.  See
 * opts_table.h. */
#include "mpiexec_lite/allocation.h"
#include "mpiexec_lite/cartesian.h"
#include "mpiexec_lite/env.h"
#include "mpiexec_lite/opts_table.h"
#include "mpiexec_lite/said.h"
#include "mpiexec_lite/soft.h"

#include <stdlib.h>
#include <string.h>

#define MAGIC "HYDRA_USE_LOCALHOST"      /* a file of this name is this host */

int opts_read_hostfile(struct reader *r, const char *path, struct err *e)
{
    struct buf text = BUF_INIT;
    int rc;

    r->plan->hosts_given = true;
    if (strcmp(path, MAGIC) == 0)
        return hosts_add_own(&r->hosts, e);
    rc = opts_file_read(path, &text, e);
    if (rc == 0)
        rc = hosts_add_text(&r->hosts, buf_bytes(&text), path, e);
    buf_clear(&text);
    return rc;
}

static bool any_block_list(const struct plan *p)
{
    for (size_t i = 0; i < p->napps; i++)
        if (p->apps[i].host_list)
            return true;
    return false;
}

/* The command line beats it, whichever way that names hosts. */
static int read_environment_file(struct reader *r, struct err *e)
{
    const char *path = env_get(r->envp, "HYDRA_HOST_FILE");

    if (!path || !*path || r->plan->hosts_given || any_block_list(r->plan))
        return 0;
    if (opts_note_ours(r, "HYDRA_HOST_FILE", opts_find("f", 1), path, e) < 0)
        return -1;
    if (opts_read_hostfile(r, path, e) < 0)
        return err_context(e, "HYDRA_HOST_FILE");
    return 0;
}

/* Which variable names its nodes. */
static int note_allocation(struct reader *r, struct err *e)
{
    for (size_t i = 0; i < sizeof r->rmk->sources / sizeof *r->rmk->sources; i++) {
        const char *name = r->rmk->sources[i].variable;
        const char *text = name ? env_get(r->envp, name) : NULL;

        if (text)
            return opts_note_ours(r, name, NULL, text, e);
    }
    return 0;
}

/* What a resource manager has granted, unless the user has said otherwise.  -ppn says how
 * much to put on its nodes, and so is in the user's hands. */
static int read_allocation(struct reader *r, struct err *e)
{
    struct plan *p = r->plan;

    if (!r->rmk || p->hosts_given || any_block_list(p))
        return 0;
    p->hosts_given = true;
    p->in_allocation = !r->ppn;
    if (note_allocation(r, e) < 0)
        return -1;
    if (allocation_read(r->rmk, r->envp, &r->hosts, e) == 0)
        return 0;
    return err_context(e, "job of %s (-rmk user: do not look)", r->rmk->name);
}

/* What was said of the list as a whole. */
static int arrange(struct reader *r, struct err *e)
{
    if (r->skip_launch_node && hosts_skip_local(&r->hosts, e) < 0)
        return -1;
    if (r->order && hosts_order(&r->hosts, r->order < 0, e) < 0)
        return -1;
    if (r->plan->hosts_given && !r->plan->nhosts)
        return err_set(e, ERR_INVALID_ARG,
                       "-skip-launch-node: the list names no host but this one");
    return 0;
}

/* As many as a block may have, or just too many. */
static int cut_count(long n)
{
    return n > PLAN_RANKS_MAX ? PLAN_RANKS_MAX + 1 : (int)n;
}

/* -host of one block. */
static int pick_nodes(struct reader *r, struct app *a, struct err *e)
{
    long slots;

    if (!a->host_list)
        return 0;
    r->plan->hosts_given = true;
    opts_hosts_named_by(r, "host", (int)(a - r->plan->apps));
    if (hosts_pick(&r->hosts, a->host_list, NULL, a, &slots, e) < 0)
        return err_context(e, "-host");
    a->slots = slots;
    if (r->ppn)
        slots = (long)r->ppn * (long)a->nnodes;
    if (!a->n)
        a->n = cut_count(slots);
    return 0;
}

/* A block without -host stays within the list, whatever others' -host added. */
static int keep_to_list(struct reader *r, struct app *a, struct err *e)
{
    size_t listed = r->hosts.fixed;

    if (a->nodes || !listed || listed == r->plan->nhosts)
        return 0;
    a->nodes = calloc(listed, sizeof *a->nodes);
    if (!a->nodes)
        return err_set(e, ERR_NOMEM, "no memory");
    for (a->nnodes = 0; a->nnodes < listed; a->nnodes++)
        a->nodes[a->nnodes] = a->nnodes;
    return 0;
}

static int settle_blocks(struct reader *r, struct err *e)
{
    struct plan *p = r->plan;

    r->hosts.fixed = p->nhosts;
    for (size_t i = 0; i < p->napps; i++)
        if (pick_nodes(r, &p->apps[i], e) < 0)
            return -1;
    for (size_t i = 0; i < p->napps; i++)
        if (keep_to_list(r, &p->apps[i], e) < 0)
            return -1;
    if (p->nhosts)
        return 0;
    if (r->skip_launch_node)
        return err_set(e, ERR_INVALID_ARG, "-skip-launch-node: no other host was named");
    opts_hosts_named_by(r, NULL, SAID_OF_JOB);
    return hosts_add_own(&r->hosts, e);
}

/* -soft: of what will do, the most that -n and (where slots were given) `slots` allow. */
static int soften(struct reader *r, struct app *a, long slots, struct err *e)
{
    bool limited = r->ppn || r->plan->hosts_given;
    int most = a->n && (!limited || a->n < slots) ? a->n : cut_count(slots);

    a->n = soft_largest(a->soft, most, e);
    if (a->n == 0)
        err_set(e, ERR_INVALID_VAL, "'%.60s' has no number of processes but 0 up to %d", a->soft,
                most);
    return a->n > 0 ? 0 : err_context(e, "-soft");
}

/* Slots of the list that the blocks before this one leave; of -host its own. */
static long slots_left(const struct reader *r, const struct app *a, long listed)
{
    for (const struct app *before = r->plan->apps; !a->host_list && before < a; before++)
        listed -= before->host_list ? 0 : before->n;
    if (!a->host_list)
        return listed > 0 ? listed : 0;
    return r->ppn ? (long)r->ppn * (long)a->nnodes : a->slots;
}

/* Without -n and -host, a process for every slot of the list, or of all there is. */
static int settle_counts(struct reader *r, struct err *e)
{
    struct plan *p = r->plan;
    size_t listed = r->hosts.fixed ? r->hosts.fixed : p->nhosts;
    long slots = 0;

    for (size_t i = 0; r->ppn && i < p->nhosts; i++)
        p->hosts[i].slots = r->ppn;
    for (size_t i = 0; i < listed; i++)
        slots += p->hosts[i].slots;
    for (struct app *a = p->apps; a < p->apps + p->napps; a++) {
        if (!a->n)
            a->n = cut_count(slots);
        if (a->soft && soften(r, a, slots_left(r, a, slots), e) < 0)
            return -1;
    }
    return 0;
}

/* Ranks on this host are ours, whoever we are. */
static int warn_of_user(struct reader *r, const struct host *h, struct err *e)
{
    const char *us = env_get(r->envp, "USER");

    if (!h->local || !h->user || (us && strcmp(us, h->user) == 0))
        return 0;
    return opts_warn(r, e, "%.80s is this host: its user '%.60s' is ignored", h->name,
                     h->user);
}

static int read_topology(struct reader *r, struct err *e)
{
    const char *path = r->plan->topology_file;
    struct buf text = BUF_INIT;
    int rc = 0;

    if (path)
        rc = opts_file_read(path, &text, e);
    if (path && rc == 0)
        rc = cartesian_read(&r->hosts, buf_bytes(&text), path, e);
    buf_clear(&text);
    return rc < 0 ? err_context(e, "-topology-file") : 0;
}

/* A program that runs already is here, whatever hosts there are for what it starts. */
static int stay_here(struct reader *r, struct err *e)
{
    struct plan *p = r->plan;
    struct app *a = &p->apps[0];
    size_t own = 0;

    if (p->napps != 1 || a->host_list)
        return err_set(e, ERR_INVALID_ARG, "a program that runs already is one, and is here");
    while (own < p->nhosts && !p->hosts[own].local)
        own++;
    if (own == p->nhosts && hosts_add_own(&r->hosts, e) < 0)
        return -1;
    free(a->nodes);
    a->nodes = calloc(1, sizeof *a->nodes);
    if (!a->nodes)
        return err_set(e, ERR_NOMEM, "no memory");
    a->nodes[0] = own;
    a->nnodes = 1;
    a->n = 1;
    p->stdin_mode = STDIN_NONE;
    return 0;
}

int opts_settle_hosts(struct reader *r, struct err *e)
{
    struct plan *p = r->plan;

    if (read_environment_file(r, e) < 0 || read_allocation(r, e) < 0)
        return -1;
    if (arrange(r, e) < 0 || settle_blocks(r, e) < 0)
        return -1;
    if (read_topology(r, e) < 0)
        return -1;
    if (settle_counts(r, e) < 0)
        return -1;
    for (size_t i = 0; i < p->nhosts; i++) {
        if (r->no_autofork)
            p->hosts[i].local = false;
        if (warn_of_user(r, &p->hosts[i], e) < 0)
            return -1;
    }
    return plan_is_single(p) ? stay_here(r, e) : 0;
}

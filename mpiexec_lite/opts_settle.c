/* opts_settle.c - what can be decided only when all options have been read.  See
 * opts_table.h. */
#include "mpiexec_lite/env.h"
#include "mpiexec_lite/hold.h"
#include "mpiexec_lite/opts_table.h"
#include "wire/rank_list.h"

#include <limits.h>

static int check_count(const struct plan *p, struct err *e)
{
    long total = 0;

    for (size_t i = 0; i < p->napps && total <= PLAN_RANKS_MAX; i++)
        total += p->apps[i].n;
    if (total > PLAN_RANKS_MAX)
        return err_set(e, ERR_INVALID_ARG, "more than %d processes", PLAN_RANKS_MAX);
    return 0;
}

/* Without -usize, a host list tells the size, unless that forbade all spawning. */
static void settle_usize(struct reader *r)
{
    bool listed = r->plan->hosts_given && !opts_has(r, "usize");
    long slots = plan_slots(r->plan), size = plan_size(r->plan);

    if (slots > INT_MAX)
        slots = INT_MAX;
    if (r->usize_system || (listed && slots > size))
        r->plan->usize = (int)(slots > size ? slots : size);
}

static int check_rank(const struct reader *r, const char *option, int rank, struct err *e)
{
    int size = plan_size(r->plan);

    if (rank < size)
        return 0;
    return err_set(e, ERR_INVALID_ARG, "-%s: there is no rank %d, the last one is %d",
                   option, rank, size - 1);
}

static int check_launch(const struct launch_options *o, struct err *e)
{
    if (o->launcher == LAUNCHER_TCP && !o->exec)
        return err_set(e, ERR_INVALID_ARG, "-launcher tcp needs -launcher-exec: the program "
                       "that starts ours on a host");
    if (o->lease > 0 && o->lease <= o->heartbeat)
        return err_set(e, ERR_INVALID_ARG, "-lease (%g s) must be longer than -heartbeat "
                       "(%g s), or 0", o->lease, o->heartbeat);
    return 0;
}

/* --timestamp-output goes before whatever label there is. */
static int settle_label(struct reader *r, struct err *e)
{
    struct buf label = BUF_INIT;
    int rc;

    if (!r->timestamps)
        return 0;
    buf_printf(&label, "[%%t] %s", r->plan->label ? r->plan->label : "");
    rc = label.failed ? err_set(e, ERR_NOMEM, "no memory")
                      : opts_copy(&r->plan->label, buf_bytes(&label), e);
    buf_clear(&label);
    return rc;
}

/* What was said by -hold beside what opens gdb. */
static int check_gdb(const struct reader *r, struct err *e)
{
    const struct option *by = r->plan->gdb ? r->job[opts_setting_of(opts_find("hold", 4))] : NULL;

    if (!by || by->set == opts_set_gdb)
        return 0;
    return err_set(e, ERR_INVALID_ARG, "duplicate setting: -%s, and ranks are held for gdb, at exec",
                   by->names[0]);
}

/* What needs all that was said. */
int opts_settle(struct reader *r, struct err *e)
{
    if (settle_label(r, e) < 0)
        return -1;
    if (opts_set_from_environment(r, e) < 0 || check_launch(&r->plan->remote, e) < 0)
        return -1;
    if (r->plan->json && !r->plan->inquiry)
        return err_set(e, ERR_INVALID_ARG, "-json is for -explain and -check");
    if (r->plan->svg && r->plan->inquiry != INQUIRY_EXPLAIN)
        return err_set(e, ERR_INVALID_ARG, "-svg is for -explain");
    if (check_gdb(r, e) < 0)
        return -1;
    if (r->plan->no_tools && hold_needs_tool(r->plan))
        return err_set(e, ERR_INVALID_ARG, "-hold: with -disable-tools nobody could release the ranks");
    r->plan->allocate = r->plan->alloc && !env_get(r->envp, "SLURM_JOB_ID");
    if (r->plan->allocate && r->plan->inquiry)
        return err_set(e, ERR_INVALID_ARG, "-alloc: hosts are not known before they are granted, "
                       "so nothing can be told of them");
    if (r->plan->allocate)
        return 0;                        /* it is read again there, where hosts are known */
    if (opts_settle_hosts(r, e) < 0 || check_count(r->plan, e) < 0 || opts_settle_map(r, e) < 0)
        return -1;
    settle_usize(r);
    if (check_rank(r, "output-from", r->plan->output_from, e) < 0)
        return -1;
    if (r->plan->hold_ranks && rank_list_check(r->plan->hold_ranks, plan_size(r->plan), e) < 0)
        return err_context(e, r->plan->gdb ? "-gdb" : "-hold");
    return check_rank(r, "stdin", r->plan->stdin_rank, e);
}

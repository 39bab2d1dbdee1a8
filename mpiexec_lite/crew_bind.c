/* crew_bind.c - what the ranks of a block run on, and what is said of it. */
#include "mpiexec_lite/crew.h"

#include "mpiexec_lite/binding.h"

static void tell(struct crew *c, const char *text)
{
    struct node *n = c->node;
    struct buf line = BUF_INIT;

    buf_printf(&line, "%s: %s", n->args.hostname, text);
    if (!line.failed)
        n->ops->tell(n->host, buf_bytes(&line));
    buf_clear(&line);
}

/* A line for each rank of the block. */
static void report(struct crew *c, size_t app, const struct binding *b)
{
    for (int i = 0; i < c->n; i++) {
        struct buf line = BUF_INIT;

        if (plan_app_of(c->args.plan, c->ranks[i].rank) != app)
            continue;
        buf_printf(&line, "rank %d: ", c->ranks[i].rank);
        binding_draw(b->topo, binding_cpus(b, i), &line);
        if (!line.failed)
            tell(c, buf_bytes(&line));
        buf_clear(&line);
    }
}

/* Ranks of a spawn run as we do, if what it asks for cannot be had; -v says so. */
static int without(struct crew *c, struct binding *b, struct err *e)
{
    binding_clear(b);
    if (!c->args.spawner)
        return err_context(e, "processes cannot be bound");
    err_context(e, "processes are not bound");
    if (c->node->args.plan->verbose)
        tell(c, e->text);
    return 0;
}

/* What there is to say holds for all blocks: once is enough. */
static void tell_notes(struct crew *c, const struct strlist *notes)
{
    for (size_t i = 0; !c->bound && i < notes->n; i++)
        tell(c, notes->v[i]);
    c->bound = true;
}

/* Of those that are not bound, up to the n-th, our own. */
static void note_unbound(struct crew *c, int n)
{
    struct cpus ours;
    struct err e;

    if (c->ncpusets == n)
        return;
    if (cpus_allowed(&ours, &e) < 0)
        c->cpusets.failed = true;
    for (; c->ncpusets < n && !c->cpusets.failed; c->ncpusets++) {
        buf_str(&c->cpusets, c->ncpusets ? ":" : "");
        cpus_print(&ours, &c->cpusets);
    }
}

void crew_note_cpus(struct crew *c, int i, const struct cpus *cpus)
{
    if (cpus) {
        note_unbound(c, i);
        buf_str(&c->cpusets, i ? ":" : "");
        cpus_print(cpus, &c->cpusets);
        c->ncpusets++;
    }
    if (c->ncpusets && i == c->n - 1)
        note_unbound(c, c->n);
    if (c->cpusets.failed)
        buf_clear(&c->cpusets);
}

int crew_bind(struct crew *c, size_t app, struct binding *b, struct err *e)
{
    const struct plan *p = c->args.plan;
    bool quiet = c->args.spawner && !c->node->args.plan->verbose;
    struct binding_request q = { .plan = p, .app = &p->apps[app], .n = c->n,
                                 .host = &p->hosts[c->node->args.index],
                                 .jobid = c->args.jobid, .taken = &c->taken,
                                 .crowd_wanted = quiet || p->oversubscribe == OVERSUBSCRIBE_YES };
    struct strlist notes = { 0 };
    int rc = binding_make(b, &c->node->here, &q, &notes, e);

    if (rc == 0)
        tell_notes(c, &notes);
    strlist_clear(&notes);
    if (rc < 0)
        return without(c, b, e);
    if (p->map.report && b->topo)
        report(c, app, b);
    return 0;
}

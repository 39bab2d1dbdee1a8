/* binding.c - see binding.h */
#include "mpiexec_lite/binding.h"

#include <stdlib.h>
#include <string.h>
#include <linux/mempolicy.h>

enum { WORD = 8 * sizeof(unsigned long) };

/* What was asked for, read. */
struct wanted {
    struct mapspec bind, map;
    struct memspec memory;
    struct cpus    only;                 /* -cpu-list */
    bool           listed;               /* only is set */
};

static int no_memory(struct err *e)
{
    return err_set(e, ERR_NOMEM, "no memory for a binding");
}

/* --- what is asked for ------------------------------------------------- */

const char *binding_text(const struct binding_request *q)
{
    if (q->app->bind)
        return q->app->bind;
    return q->host && q->host->binding ? q->host->binding : q->plan->map.bind;
}

/* A list of processors alone binds to all of them. */
static int read_wanted(struct wanted *w, const struct binding_request *q, struct err *e)
{
    const struct map_options *m = &q->plan->map;
    const char *bind = binding_text(q);

    *w = (struct wanted){ .listed = m->cpus != NULL };
    if (m->cpus && !cpus_read(m->cpus, &w->only))
        return err_set(e, ERR_INVALID_VAL, "'%.60s' is no list of processors", m->cpus);
    if (mapspec_read(&w->bind, bind || !m->cpus ? bind : "machine", e) < 0 ||
        mapspec_read(&w->map, m->by, e) < 0)
        return -1;
    return m->memory ? memspec_read(&w->memory, m->memory, e) : 0;
}

static bool needs_topology(const struct wanted *w, const struct map_options *m)
{
    return w->bind.kind != SPEC_NONE || w->memory.how >= MEMORY_BIND || m->gpus || m->report;
}

static bool needs_devices(const struct wanted *w, const struct map_options *m)
{
    return w->bind.kind == SPEC_DEVICE || m->gpus;
}

/* --- processors -------------------------------------------------------- */

static int note(struct strlist *notes, const struct buf *text, struct err *e)
{
    return text->failed || strlist_add(notes, buf_bytes(text)) < 0 ? no_memory(e) : 0;
}

static int note_crowd(const struct seats *s, int n, struct strlist *notes, struct err *e)
{
    struct cpus all = { 0 };
    struct buf text = BUF_INIT;
    int rc;

    for (size_t i = 0; i < s->n; i++)
        cpus_join(&all, &s->sets[i]);
    buf_printf(&text, "%d processes are bound to %d processor%s", n, cpus_count(&all),
               cpus_count(&all) > 1 ? "s" : "");
    rc = note(notes, &text, e);
    buf_clear(&text);
    return rc;
}

static int note_fewer(const struct seats *s, const char *wanted, struct strlist *notes,
                      struct err *e)
{
    struct buf text = BUF_INIT;
    int rc;

    buf_printf(&text, "processes are bound to %zu instead of %s: there are no more", s->fewer, wanted);
    rc = note(notes, &text, e);
    buf_clear(&text);
    return rc;
}

/* Processors that a job of another launcher has, too. */
static int note_shared(const struct cpus *ours, const struct taken_by *others,
                       struct strlist *notes, struct err *e)
{
    struct cpus both = *ours;
    struct buf text = BUF_INIT;
    int rc;

    cpus_keep(&both, &others->foreign);
    if (!cpus_count(&both))
        return 0;
    buf_printf(&text, "bound to processor%s ", cpus_count(&both) > 1 ? "s" : "");
    cpus_print(&both, &text);
    buf_printf(&text, " also of job %s", others->job);
    rc = note(notes, &text, e);
    buf_clear(&text);
    return rc;
}

static int choose(struct binding *b, const struct topo *t, const struct wanted *w,
                  const struct binding_request *q, struct strlist *notes, struct err *e)
{
    struct taken_by others;
    struct map_request m = { .bind = &w->bind, .map = &w->map, .busy = &others.all, .n = q->n,
                             .each = q->plan->map.each, .in_order = q->plan->map.in_order };
    struct cpus none = { 0 }, *ours = q->taken ? &q->taken->cpus : &none;
    int lock = q->taken ? taken_begin() : -1, rc;

    taken_look(q->jobid, &others);
    rc = mapper_seats(t, &m, &b->seats, e);
    for (size_t i = 0; rc == 0 && i < b->seats.n; i++)
        cpus_join(ours, &b->seats.sets[i]);
    if (rc == 0 && q->taken)
        taken_add(q->taken, q->jobid, ours);
    taken_end(lock);
    if (rc == 0)
        rc = note_shared(ours, &others, notes, e);
    if (rc == 0 && b->seats.fewer && !q->crowd_wanted)
        rc = note_fewer(&b->seats, binding_text(q), notes, e);
    if (rc == 0 && b->seats.crowded && !q->crowd_wanted)
        rc = note_crowd(&b->seats, q->n, notes, e);
    return rc;
}

/* Of a copy, so that the node's own stays whole. */
static int choose_of_list(struct binding *b, const struct topo *t, const struct wanted *w,
                          const struct binding_request *q, struct strlist *notes, struct err *e)
{
    struct topo part;
    struct buf bytes = BUF_INIT;
    int rc;

    if (!w->listed)
        return choose(b, t, w, q, notes, e);
    topo_write(t, &bytes);
    rc = bytes.failed || topo_read_bytes(&part, buf_bytes(&bytes), bytes.len) < 0 ? no_memory(e) : 0;
    buf_clear(&bytes);
    if (rc < 0)
        return rc;
    topo_restrict(&part, &w->only);
    rc = choose(b, &part, w, q, notes, e);
    topo_clear(&part);
    return rc;
}

/* --- memory ------------------------------------------------------------ */

static bool add_node(struct memory_policy *p, int node)
{
    if (node < 0 || node >= MEMORY_NODES_MAX)
        return false;
    p->nodes[node / WORD] |= 1ul << node % WORD;
    return true;
}

/* Nodes that are there: those listed, or those near processors of the set. */
static int fill_policy(struct memory_policy *p, const struct topo *t, const struct memspec *m,
                       const struct cpus *set, struct err *e)
{
    bool any = false;

    for (size_t i = 0; i < t->nobjects; i++) {
        const struct topo_object *o = &t->objects[i];
        struct cpus near;

        if (o->level != LEVEL_NUMA)
            continue;
        topo_cpus_of(t, o->at, &near);
        if (m->near ? !set || cpus_meet(&near, set)
                    : o->os < CPUS_MAX && cpus_has(&m->nodes, o->os))
            any = add_node(p, o->os) || any;
    }
    return any ? 0 : err_set(e, ERR_INVALID_VAL, "-membind: there are no such NUMA nodes here");
}

static int set_memory(struct binding *b, const struct topo *t, const struct memspec *m,
                      struct err *e)
{
    static const int modes[] = { [MEMORY_LOCAL] = MPOL_LOCAL, [MEMORY_BIND] = MPOL_BIND,
                                 [MEMORY_INTERLEAVE] = MPOL_INTERLEAVE };
    size_t n = m->near && b->seats.n ? b->seats.n : 1;

    if (m->how == MEMORY_NONE)
        return 0;
    b->memory = calloc(n, sizeof *b->memory);
    if (!b->memory)
        return no_memory(e);
    b->nmemory = n;
    for (size_t i = 0; i < n; i++) {
        b->memory[i].mode = modes[m->how];
        if (m->how != MEMORY_LOCAL &&
            fill_policy(&b->memory[i], t, m, b->seats.n ? &b->seats.sets[i] : NULL, e) < 0)
            return -1;
    }
    return 0;
}

/* --- GPUs -------------------------------------------------------------- */

static int count_gpus(const struct topo *t)
{
    int n = 0;

    for (size_t i = 0; i < t->ndevices; i++)
        n += t->devices[i].kind == DEVICE_GPU;
    return n;
}

/* N, or as many as there are for each; at least one, which is then shared. */
static int set_gpus(struct binding *b, const struct topo *t, int wanted, int n, struct err *e)
{
    int there = wanted ? count_gpus(t) : 0;

    if (!wanted)
        return 0;
    if (!there && wanted != GPUS_AUTO)
        return err_set(e, ERR_INVALID_VAL, "-gpus-per-proc: there is no GPU here");
    b->gpus = wanted != GPUS_AUTO ? wanted : there > n ? there / n : there > 0;
    return b->gpus <= there ? 0
           : err_set(e, ERR_INVALID_VAL, "-gpus-per-proc %d: there are %d here", wanted, there);
}

static const char *variable_of(const struct topo_device *d)
{
    if (d->vendor == TOPO_NVIDIA)
        return "CUDA_VISIBLE_DEVICES";
    return d->vendor == TOPO_AMD ? "HIP_VISIBLE_DEVICES" : "ZE_AFFINITY_MASK";
}

/* GPUs of one maker are numbered by themselves, in the order of their addresses. */
static void add_gpus(const struct binding *b, int first, const char *variable, struct buf *out)
{
    int there = count_gpus(b->topo), index = 0, number = 0;
    size_t start = out->len;

    for (size_t i = 0; i < b->topo->ndevices; i++) {
        const struct topo_device *d = &b->topo->devices[i];

        if (d->kind != DEVICE_GPU)
            continue;
        if (!strcmp(variable_of(d), variable)) {
            if ((index - first + there) % there < b->gpus) {
                buf_str(out, out->len == start ? variable : "");
                buf_printf(out, "%c%d", out->len == start + strlen(variable) ? '=' : ',', number);
            }
            number++;
        }
        index++;
    }
    if (out->len > start)
        buf_char(out, '\n');
}

void binding_gpus(const struct binding *b, int local_rank, struct buf *out)
{
    static const char *const variables[] = { "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
                                             "ZE_AFFINITY_MASK" };
    int there = b->gpus ? count_gpus(b->topo) : 0;

    for (size_t i = 0; there && i < sizeof variables / sizeof *variables; i++)
        add_gpus(b, (int)((long)local_rank * b->gpus % there), variables[i], out);
}

/* --- all of it --------------------------------------------------------- */

int binding_make(struct binding *b, struct topo_here *here, const struct binding_request *q,
                 struct strlist *notes, struct err *e)
{
    const struct map_options *m = &q->plan->map;
    struct wanted w;

    *b = (struct binding){ .gpus = 0 };
    if (read_wanted(&w, q, e) < 0)
        return -1;
    if (needs_topology(&w, m) && !(b->topo = topo_here(here, needs_devices(&w, m), e)))
        return -1;
    if (w.bind.kind != SPEC_NONE && choose_of_list(b, b->topo, &w, q, notes, e) < 0)
        return err_context(e, "%.60s", binding_text(q) ? binding_text(q) : "-cpu-list");
    if (set_memory(b, b->topo, &w.memory, e) < 0)
        return -1;
    return set_gpus(b, b->topo, m->gpus, q->n, e);
}

void binding_clear(struct binding *b)
{
    seats_clear(&b->seats);
    free(b->memory);
    *b = (struct binding){ .gpus = 0 };
}

const struct cpus *binding_cpus(const struct binding *b, int local_rank)
{
    return seat_of(&b->seats, local_rank);
}

const struct memory_policy *binding_memory(const struct binding *b, int local_rank)
{
    return b->nmemory ? &b->memory[(size_t)local_rank % b->nmemory] : NULL;
}

/* --- the picture ------------------------------------------------------- */

/* Whether such an object begins at a processor. */
static bool *beginnings(const struct topo *t, enum level level)
{
    bool *at = calloc(t->ncpus + 1, sizeof *at);

    for (size_t i = 0; at && i < t->nobjects; i++)
        if (t->objects[i].level == level && t->objects[i].at.n)
            at[t->objects[i].at.first] = true;
    return at;
}

static void draw(const struct topo *t, const bool *socket, const bool *core,
                 const struct cpus *cpus, struct buf *out)
{
    for (size_t i = 0; i < t->ncpus; i++) {
        const struct topo_cpu *c = &t->cpus[i];

        if (socket[i] || !i)
            buf_str(out, i ? "][" : "[");
        else if (core[i])
            buf_char(out, '/');
        buf_char(out, cpus && cpus_has(cpus, c->os) ? 'B' : c->allowed ? '.' : '-');
    }
    buf_str(out, "] ");
}

void binding_draw(const struct topo *t, const struct cpus *cpus, struct buf *out)
{
    bool *socket = beginnings(t, LEVEL_SOCKET), *core = beginnings(t, LEVEL_CORE);

    if (socket && core)
        draw(t, socket, core, cpus, out);
    else
        out->failed = true;
    free(socket);
    free(core);
    if (cpus)
        cpus_print(cpus, out);
    else
        buf_str(out, "not bound");
}

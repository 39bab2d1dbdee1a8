/* explain_binding.c - --explain: which processors the ranks of a host would run on. */
#include "mpiexec_lite/explain_impl.h"

/* "rank 3: [B./..] 0", each rank of the node. */
static json_t *draw(const struct explain *x, size_t node, const struct binding *b)
{
    json_t *list = json_array();
    int local = 0;

    for (size_t i = x->runs.first[node]; i < x->runs.first[node + 1]; i++) {
        const struct run *r = &x->place.runs[x->runs.order[i]];

        for (int k = 0; k < r->n; k++, local++) {
            struct buf text = BUF_INIT;

            buf_printf(&text, "rank %d: ", r->first + k);
            binding_draw(b->topo, binding_cpus(b, local), &text);
            if (!text.failed)
                json_array_append_new(list, json_shown(buf_bytes(&text)));
            buf_clear(&text);
        }
    }
    return list;
}

/* By the topology of this host; nothing is taken. */
static void add_drawn(const struct explain *x, size_t node, const struct binding_request *q,
                      struct topo_here *here, json_t *to)
{
    struct strlist notes = { 0 };
    struct err e = { 0 };
    struct binding b;

    if (binding_make(&b, here, q, &notes, &e) < 0)
        json_object_set_new(to, "problem", json_shown(e.text));
    else if (b.topo)
        json_object_set_new(to, "drawn", draw(x, node, &b));
    for (size_t i = 0; i < notes.n; i++)
        json_object_set_new(to, "note", json_shown(notes.v[i]));
    strlist_clear(&notes);
    binding_clear(&b);
}

/* The option that has decided it: -map-by does where there is no -bind-to. */
static const char *rule_key(const struct explain *x, const char *text)
{
    if (!text)
        return "cpu-list";
    return said_of(x->said, "bind-to", SAID_OF_JOB) ? "bind-to" : "map-by";
}

void explain_binding(const struct explain *x, size_t node, struct topo_here *here, json_t *to)
{
    const struct plan *p = x->plan;
    const struct host *h = &p->hosts[node];
    struct binding_request q = { .plan = p, .app = &p->apps[0], .host = h, .jobid = "",
                                 .n = (int)node_ranks(&x->runs, &x->place, node) };
    const char *text = binding_text(&q);
    json_t *one;

    if (!q.n || (!text && !p->map.cpus))
        return;
    one = json_pack("{s:o}", "to", json_shown(text ? text : p->map.cpus));
    if (h->binding)
        json_object_set(one, "by", json_object_get(to, "by"));
    else
        json_object_set_new(one, "by", explain_by(x, rule_key(x, text), SAID_OF_JOB));
    if (p->map.by) {
        json_object_set_new(one, "map", json_shown(p->map.by));
        json_object_set_new(one, "map_by", explain_by(x, "map-by", SAID_OF_JOB));
    }
    if (h->local)
        add_drawn(x, node, &q, here, one);
    json_object_set_new(to, "binding", one);
}

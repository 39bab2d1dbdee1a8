/* net.c - links between servers.  Each end has the real decisions of a link (flow.c): its
 * pieces wait in classes, go when nothing is being written and credit allows, and arrive
 * in the order in which they went.  What must hold of that is counted here once more. */
#include "test/sim/sim.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[LINK_CLASSES] = { "control", "data", "bulk" };

void net_open(struct sim *s, struct end *x)
{
    flow_init(&x->flow, s->window);
    STAILQ_INIT(&x->air);
}

/* How long a message takes: mostly about what its link takes, now and then much more. */
static double delay(struct sim *s, const struct node *child)
{
    double d = child->delay * (0.5 + unit(&s->rng));

    if (s->scale)
        return child->delay;
    return one_in(&s->rng, 64) ? d * 40 : d;
}

/* The end that sends in a direction. */
static struct end *end_of(struct sim *s, int child, bool up)
{
    return up ? &s->nodes[child].lower : &s->nodes[child].upper;
}

/* What a payload costs, as the rules have it. */
static size_t cost_of(const struct sim *s, enum link_class c, size_t len)
{
    size_t most = s->window - s->window / 4;

    return c == LINK_CONTROL ? 0 : len < most ? len : most;
}

/* --- sending ----------------------------------------------------------- */

/* May this piece go now, as the rules have it? */
static void check_turn(struct sim *s, struct end *x, const struct packet *k, bool busy)
{
    enum link_class c = k->piece.class;
    const struct piece *data = STAILQ_FIRST(&x->flow.wait[LINK_DATA]);

    if (c != LINK_CONTROL && x->waiting[LINK_CONTROL])
        violation(s, "%s goes before control", names[c]);
    if (c == LINK_BULK && data && data->cost <= x->flow.of[LINK_DATA].credit)
        violation(s, "bulk goes before data that could go");
    if (c == LINK_BULK && k->payload && busy)
        violation(s, "bulk goes behind something else");
    if (x->out[c] > s->window)
        violation(s, "%zu bytes of %s are on their way, the window is %zu", x->out[c], names[c],
                  s->window);
}

static void go(struct sim *s, int child, bool up, struct packet *k, bool busy)
{
    struct node *n = &s->nodes[child];
    struct end *x = end_of(s, child, up);
    enum link_class c = k->piece.class;
    double at = s->now + delay(s, n);

    x->waiting[c]--;
    x->out[c] += cost_of(s, c, k->payload);
    check_turn(s, x, k, busy);
    s->totals->waits[c] += k->waited;
    lease_said(up ? &n->lease_here : &n->lease_up, s->now);
    STAILQ_INSERT_TAIL(&x->air, &k->piece, next);
    x->last = at > x->last ? at : x->last;
    queue_add(s, x->last, up ? EV_UP : EV_DOWN, child, 0);
    if (k->from >= 0)
        net_grant(s, k->from, true, c, k->payload);
}

/* What can go in one write, of a few pieces; the next one perhaps later. */
static void write_some(struct sim *s, int child, bool up)
{
    struct node *n = &s->nodes[child];
    struct end *x = end_of(s, child, up);
    int i = 0, most = s->scale ? INT_MAX : 1 + draw(&s->rng, 3);
    struct piece *p;

    if (n->cut || x->writing)
        return;
    while (i < most && (p = flow_next(&x->flow, i > 0)))
        go(s, child, up, (struct packet *)p, i++ > 0);
    if (i && (!flow_idle(&x->flow) || one_in(&s->rng, 8))) {
        x->writing = true;
        queue_add(s, s->now + unit(&s->rng) * n->delay * (one_in(&s->rng, 16) ? 8 : 0.5),
                  EV_WRITTEN, child, up);
    } else if (x->waiting[LINK_CONTROL]) {
        violation(s, "control waits, and nothing is being written");
    }
}

void net_written(struct sim *s, int child, bool up)
{
    end_of(s, child, up)->writing = false;
    write_some(s, child, up);
}

static struct packet *packet_new(size_t len, size_t payload)
{
    struct packet *k = malloc(sizeof *k + len + payload + 1);

    if (!k)
        abort();
    *k = (struct packet){ .len = len, .from = -1 };
    return k;
}

static void post(struct sim *s, int child, bool up, enum link_class c, struct packet *k)
{
    struct end *x = end_of(s, child, up);

    k->number = x->sent[c]++;
    x->waiting[c]++;
    flow_add(&x->flow, c, &k->piece, k->payload);
    k->waited = k->piece.cost > x->flow.of[c].credit;
    write_some(s, child, up);
}

void net_send(struct sim *s, int child, bool up, enum link_class c, const char *frame,
              size_t len, const char *payload, size_t payload_len)
{
    struct packet *k;

    s->link_messages++;
    s->link_bytes += len + payload_len;
    if (s->nodes[child].cut)
        return;
    k = packet_new(len, payload_len);
    k->payload = payload_len;
    memcpy(k->data, frame, len);
    if (payload_len)
        memcpy(k->data + len, payload, payload_len);
    k->data[len + payload_len] = '\0';
    post(s, child, up, c, k);
}

void net_send_bulk(struct sim *s, int child, bool up, size_t len, int from)
{
    struct packet *k;

    if (s->nodes[child].cut)
        return;
    k = packet_new(0, 0);
    k->payload = len;
    k->from = from;
    post(s, child, up, LINK_BULK, k);
}

void net_grant(struct sim *s, int child, bool up, enum link_class c, size_t cost)
{
    size_t told = flow_grant(&end_of(s, child, !up)->flow, c, cost);
    struct packet *k;

    end_of(s, child, up)->out[c] -= cost;
    if (!told || s->nodes[child].cut)
        return;
    s->totals->credits++;
    k = packet_new(0, sizeof told);
    k->granted = c;
    memcpy(k->data, &told, sizeof told);
    post(s, child, !up, LINK_CONTROL, k);
}

/* --- arriving ---------------------------------------------------------- */

/* The frame into s->in; its payload must be as long as it says. */
static bool decode(struct sim *s, struct packet *k)
{
    struct err e;
    const struct pair *p;
    long long said = 0;

    if (k->len < 6 || strtoul(k->data, NULL, 10) != k->len - 6) {
        violation(s, "a frame of %zu bytes says it has %.6s", k->len, k->data);
        return false;
    }
    if (wire_v2.parse(&s->in, k->data + 6, k->len - 6, &e) < 0) {
        violation(s, "a message between servers: %s", e.text);
        return false;
    }
    p = msg_find(&s->in, "payload");
    if ((p && pair_int(p, 1, INT32_MAX, &said, &e) < 0) || (size_t)said != k->payload) {
        violation(s, "%s announces %lld bytes and brings %zu", s->in.cmd, said, k->payload);
        return false;
    }
    return true;
}

static void take_credit(struct sim *s, int child, bool up, const struct packet *k)
{
    size_t told;
    struct err e;

    memcpy(&told, k->data, sizeof told);
    TRACE(s, "node %d %s: credit for %zu bytes of %s", child, up ? "up" : "down", told,
          names[k->granted]);
    if (flow_credit(&end_of(s, child, !up)->flow, k->granted, told, &e) < 0)
        violation(s, "credit between servers: %s", e.text);
    write_some(s, child, !up);
}

static void take(struct sim *s, int child, bool up, struct packet *k)
{
    struct node *n = &s->nodes[child], *to = up ? &s->nodes[n->parent] : n;
    struct end *here = end_of(s, child, !up);
    enum link_class c = k->piece.class;
    struct err e;

    if (c != LINK_CONTROL && flow_take(&here->flow, c, k->payload, &e) < 0)
        violation(s, "between servers: %s", e.text);
    TRACE(s, "node %d -> %d: %.*s +%zu", up ? child : n->parent, to->at,
          (int)(k->len < 160 ? k->len : 160), k->data, k->payload);
    if (c == LINK_BULK)
        node_bulk(to, up ? child : -1, k->payload);
    else if (decode(s, k))
        node_take(to, up ? child : -1, k->data + k->len, k->payload);
    if (c == LINK_DATA)
        here->held[c] += cost_of(s, c, k->payload);
}

void net_arrived(struct sim *s, int child, bool up)
{
    struct node *n = &s->nodes[child], *to = up ? &s->nodes[n->parent] : n;
    struct end *x = end_of(s, child, up);
    struct packet *k = (struct packet *)STAILQ_FIRST(&x->air);

    STAILQ_REMOVE_HEAD(&x->air, next);
    if (!to->dead && !k->dropped) {
        if (k->number != x->came[k->piece.class]++)
            violation(s, "%s arrives out of its order", names[k->piece.class]);
        lease_heard(up ? &n->lease_up : &n->lease_here, s->now);
        if (!k->len && k->piece.class == LINK_CONTROL)
            take_credit(s, child, up, k);
        else
            take(s, child, up, k);
        node_room(to);
    }
    free(k);
}

/* --- the end ----------------------------------------------------------- */

void net_end(struct sim *s, int child, bool up)
{
    struct end *x = end_of(s, child, up);
    double at = s->now + delay(s, &s->nodes[child]);
    bool all = one_in(&s->rng, 3), lost = !all && one_in(&s->rng, 2);
    struct piece *p;

    STAILQ_FOREACH(p, &x->air, next) {
        struct packet *k = (struct packet *)p;

        lost = lost || (!all && one_in(&s->rng, 3));
        k->dropped = k->dropped || lost;
    }
    at = x->last > at ? x->last : at;
    queue_add(s, at, up ? EV_LOST_DOWN : EV_LOST_UP, child, 0);
}

void net_clear(struct end *x)
{
    struct piece *p;

    while ((p = flow_drop(&x->flow)))
        free(p);
    while ((p = STAILQ_FIRST(&x->air))) {
        STAILQ_REMOVE_HEAD(&x->air, next);
        free(p);
    }
}

static void check_quiet(struct sim *s, int child, bool up)
{
    const struct end *x = end_of(s, child, up), *there = end_of(s, child, !up);

    for (int c = LINK_DATA; c < LINK_CLASSES; c++) {
        const struct account *a = &x->flow.of[c], *b = &there->flow.of[c];

        if (x->waiting[c] || x->bulk)
            violation(s, "%u pieces of %s wait at the end, %s node %d", x->waiting[c], names[c],
                      up ? "from" : "for", child);
        else if (x->out[c] || b->open || there->held[c])
            violation(s, "%zu bytes of %s are never granted, %s node %d", x->out[c], names[c],
                      up ? "from" : "for", child);
        else if (a->credit + b->owed != s->window || b->owed >= s->window / 4)
            violation(s, "credit for %s is lost, %s node %d: %zu and %zu owed of %zu", names[c],
                      up ? "from" : "for", child, a->credit, b->owed, s->window);
    }
}

void net_check_quiet(struct sim *s)
{
    for (int i = 1; i < s->nnodes; i++)
        for (int up = 0; up < 2 && !s->nodes[i].cut && !s->nodes[i].dead; up++)
            check_quiet(s, i, up);
}

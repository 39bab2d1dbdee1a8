/* net.c - links between servers.  Each has two directions and two classes: what the
 * launchers say may overtake what the cores say; within a class all stays in order. */
#include "test/sim/sim.h"

#include <stdlib.h>
#include <string.h>

/* How long a message takes: mostly about what its link takes, now and then much more. */
static double delay(struct sim *s, const struct node *child)
{
    double d = child->delay * (0.5 + unit(&s->rng));

    if (s->scale)
        return child->delay;
    return one_in(&s->rng, 64) ? d * 40 : d;
}

static struct pipe *pipe_of(struct sim *s, int child, bool up)
{
    return up ? &s->nodes[child].to_up : &s->nodes[child].to_here;
}

void net_send(struct sim *s, int child, bool up, enum net_class c, const char *frame,
              size_t len, const char *payload, size_t payload_len)
{
    struct node *n = &s->nodes[child];
    struct pipe *p = pipe_of(s, child, up);
    struct packet *k;
    double at;

    s->link_messages++;
    s->link_bytes += len + payload_len;
    lease_said(up ? &n->lease_here : &n->lease_up, s->now);
    if (n->cut)
        return;
    k = malloc(sizeof *k + len + payload_len + 1);
    if (!k)
        abort();
    k->len = len;
    k->payload = payload_len;
    k->dropped = false;
    memcpy(k->data, frame, len);
    if (payload_len)
        memcpy(k->data + len, payload, payload_len);
    k->data[len + payload_len] = '\0';
    STAILQ_INSERT_TAIL(&p->queue[c], k, next);
    at = s->now + delay(s, n);
    p->last[c] = at > p->last[c] ? at : p->last[c];
    queue_add(s, p->last[c], up ? EV_UP : EV_DOWN, child, c);
}

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

void net_arrived(struct sim *s, int child, bool up, enum net_class c)
{
    struct node *n = &s->nodes[child], *to = up ? &s->nodes[n->parent] : n;
    struct pipe *p = pipe_of(s, child, up);
    struct packet *k = STAILQ_FIRST(&p->queue[c]);

    STAILQ_REMOVE_HEAD(&p->queue[c], next);
    if (!to->dead && !k->dropped) {
        lease_heard(up ? &n->lease_up : &n->lease_here, s->now);
        TRACE(s, "node %d -> %d: %.*s +%zu", up ? child : n->parent, to->at,
              (int)(k->len < 160 ? k->len : 160), k->data, k->payload);
        if (decode(s, k))
            node_take(to, up ? child : -1, k->data + k->len, k->payload);
    }
    free(k);
}

void net_end(struct sim *s, int child, bool up)
{
    struct pipe *p = pipe_of(s, child, up);
    double at = s->now + delay(s, &s->nodes[child]);

    for (int c = 0; c < NET_CLASSES; c++) {
        bool all = one_in(&s->rng, 3), none = !all && one_in(&s->rng, 2), lost = none;
        struct packet *k;

        STAILQ_FOREACH(k, &p->queue[c], next) {
            lost = lost || (!all && one_in(&s->rng, 3));
            k->dropped = k->dropped || lost;
        }
        at = p->last[c] > at ? p->last[c] : at;
    }
    queue_add(s, at, up ? EV_LOST_DOWN : EV_LOST_UP, child, 0);
}

void net_clear(struct pipe *p)
{
    for (int c = 0; c < NET_CLASSES; c++) {
        struct packet *k;

        while ((k = STAILQ_FIRST(&p->queue[c]))) {
            STAILQ_REMOVE_HEAD(&p->queue[c], next);
            free(k);
        }
    }
}

/* rank.c - what a rank sends: real PMI-1 lines and PMI-2 frames. */
#include "test/sim/sim.h"

#include <stdio.h>
#include <string.h>

/* --- writing a request ------------------------------------------------- */

static void arg_bytes(struct writer *w, const char *key, const char *text, size_t len)
{
    const char *semi, *end = text + len;

    if (w->wire == WIRE_1)
        buf_char(w->out, ' ');
    buf_str(w->out, key);
    buf_char(w->out, '=');
    while (w->wire == WIRE_2 && (semi = memchr(text, ';', (size_t)(end - text)))) {
        buf_add(w->out, text, (size_t)(semi + 1 - text));
        buf_char(w->out, ';');
        text = semi + 1;
    }
    buf_add(w->out, text, (size_t)(end - text));
    if (w->wire == WIRE_2)
        buf_char(w->out, ';');
}

void rank_arg(struct writer *w, const char *key, const char *text)
{
    arg_bytes(w, key, text, strlen(text));
}

void rank_arg_int(struct writer *w, const char *key, int n)
{
    char text[16];

    snprintf(text, sizeof text, "%d", n);
    rank_arg(w, key, text);
}

struct writer rank_begin(struct rank *r, const char *name1, const char *name2, int thrid)
{
    struct writer w = { &r->tx, r->framer.wire, r->tx.len };

    buf_str(w.out, w.wire == WIRE_1 ? "cmd=" : "      cmd=");
    buf_str(w.out, w.wire == WIRE_1 ? name1 : name2);
    if (w.wire == WIRE_2)
        buf_char(w.out, ';');
    if (thrid)
        rank_arg_int(&w, "thrid", thrid);
    return w;
}

/* Those bytes are on their way: in order, in one piece or two. */
static void post(struct sim *s, struct rank *r, size_t len)
{
    double at = s->now + 1e-6 + unit(&r->rng) * 3e-5;
    size_t first = one_in(&r->rng, 12) && len > 1 ? 1 + (size_t)draw(&r->rng, (int)len - 1) : len;

    if (s->scale) {
        queue_add(s, s->now + 1e-6, EV_BYTES, r->id, (long)len);
        return;
    }
    if (one_in(&r->rng, 24))
        at += unit(&r->rng) * (one_in(&r->rng, 40) ? 0.3 : 2e-3);
    r->tx_last = at > r->tx_last ? at : r->tx_last;
    queue_add(s, r->tx_last, EV_BYTES, r->id, (long)first);
    if (len > first)
        queue_add(s, r->tx_last += unit(&r->rng) * 1e-5, EV_BYTES, r->id, (long)(len - first));
}

void rank_finish(struct sim *s, struct rank *r, struct writer *w)
{
    char digits[8];

    if (w->wire == WIRE_1) {
        buf_char(w->out, '\n');
    } else {
        snprintf(digits, sizeof digits, "%6u", (unsigned)(w->out->len - w->from - 6) % 1000000);
        memcpy(buf_bytes(w->out) + w->from, digits, 6);
    }
    TRACE(s, "rank %d.%d > %.*s", r->world->number, r->rank, (int)(w->out->len - w->from),
          buf_bytes(w->out) + w->from);
    s->rank_bytes += w->out->len - w->from;
    s->rank_messages++;
    r->requests++;
    post(s, r, w->out->len - w->from);
}

/* --- the requests ------------------------------------------------------ */

static const char *key_of(char prefix, const struct act *a)
{
    static char text[32];

    snprintf(text, sizeof text, "%c%d-%d", prefix, a->a, a->b);
    return text;
}

static int length_of(struct sim *s, struct rank *r)
{
    if (s->scale)
        return 64;
    if (r->wide && one_in(&r->rng, 4))
        return 1025 + draw(&r->rng, 6000);
    if (s->fat || one_in(&r->rng, 12))
        return 300 + draw(&r->rng, 700);
    return 14 + draw(&r->rng, 40);
}

static void put(struct sim *s, struct rank *r, struct act *a, int thrid)
{
    char value[VALUE_ROOM];
    bool attr = a->kind == A_ATTR;
    struct op op = { .kind = attr ? OP_ATTR : OP_PUT, .key = a->b, .len = length_of(s, r) };
    size_t len = model_value(model_owner(r->world, r->rank), model_op(s, r, op), op.len, value);
    struct writer w = rank_begin(r, "put", attr ? "info-putnodeattr" : "kvs-put", thrid);

    if (w.wire == WIRE_1)
        rank_arg(&w, "kvsname", r->world->id);
    a->a = r->rank;
    rank_arg(&w, "key", key_of(attr ? 'a' : 'k', a));
    arg_bytes(&w, "value", value, len);
    r->world->put_bytes += attr ? 0 : len + 64;
    rank_finish(s, r, &w);
}

/* A key that many ranks put: who comes last has it. */
static void put_shared(struct sim *s, struct rank *r, const struct act *a, int thrid)
{
    char value[VALUE_ROOM], key[16];
    size_t len = model_shared_value(model_owner(r->world, r->rank), a->b, value);
    struct writer w = rank_begin(r, "put", "kvs-put", thrid);

    snprintf(key, sizeof key, "shared-%d", a->a);
    if (w.wire == WIRE_1)
        rank_arg(&w, "kvsname", r->world->id);
    rank_arg(&w, "key", key);
    arg_bytes(&w, "value", value, len);
    r->world->put_bytes += len + 64;
    model_shared_put(r->world, a->a, a->b);
    rank_finish(s, r, &w);
}

static void get(struct sim *s, struct rank *r, const char *key, int thrid)
{
    struct writer w = rank_begin(r, "get", "kvs-get", thrid);

    if (w.wire == WIRE_1)
        rank_arg(&w, "kvsname", r->world->id);
    rank_arg(&w, "key", key);
    rank_finish(s, r, &w);
}

static void job_attr(struct sim *s, struct rank *r, const char *key, int thrid)
{
    struct writer w = rank_begin(r, "get", "info-getjobattr", thrid);

    if (w.wire == WIRE_1)
        rank_arg(&w, "kvsname", r->world->id);
    rank_arg(&w, "key", key);
    rank_finish(s, r, &w);
}

static void get_attr(struct sim *s, struct rank *r, const struct act *a, int thrid)
{
    struct writer w = rank_begin(r, "", "info-getnodeattr", thrid);

    rank_arg(&w, "key", key_of('a', a));
    if (a->kind == A_WAIT_ATTR)
        rank_arg(&w, "wait", "TRUE");
    rank_finish(s, r, &w);
}

/* A key of another job. */
static void get_of(struct sim *s, struct rank *r, const struct act *a, int thrid)
{
    struct writer w = rank_begin(r, "get", "kvs-get", thrid);
    char key[32];

    snprintf(key, sizeof key, a->b < KEYS ? "k%d-%d" : "pre-0", a->a, a->b);
    rank_arg(&w, w.wire == WIRE_1 ? "kvsname" : "jobid",
             a->job < WORLDS ? s->worlds[a->job]->id : "sim-1.99");
    rank_arg(&w, "key", key);
    rank_finish(s, r, &w);
}

static void link_to(struct sim *s, struct rank *r, const struct act *a, int thrid)
{
    struct writer w = rank_begin(r, "", a->kind == A_CONNECT ? "job-connect" : "job-disconnect",
                                 thrid);

    rank_arg(&w, "jobid", a->job < WORLDS ? s->worlds[a->job]->id : "sim-1.99");
    rank_finish(s, r, &w);
}

/* The ranks of a group, from any of them on, one perhaps twice. */
static void group_text(struct rank *r, const struct coll *c, struct buf *out)
{
    int size = r->world->nranks, from = draw(&r->rng, size), n = size + draw(&r->rng, 2);

    if (c->kind == C_NODE)
        buf_str(out, "NODE");
    else if (c->kind == C_WORLD)
        buf_str(out, "WORLD");
    for (int i = 0; c->kind == C_GROUP && i < n; i++)
        if (c->member[(from + i) % size])
            buf_printf(out, out->len ? ",%d" : "%d", (from + i) % size);
    buf_printf(out, ":%d", c->kind == C_WORLD ? 0 : c->tag);
}

static void collective(struct sim *s, struct rank *r, struct want *want)
{
    const struct coll *c = &r->world->colls[want->act.a];
    struct writer w = rank_begin(r, "barrier_in", "kvs-fence", want->thrid);
    struct buf text = BUF_INIT;

    if (c->kind != C_WORLD || (r->wire == WIRE_1 && one_in(&r->rng, 8))) {
        group_text(r, c, &text);
        rank_arg(&w, "group", buf_bytes(&text));
        want->tag = c->kind == C_WORLD ? 0 : c->tag;
        buf_clear(&text);
    }
    model_enter(s, r, want->act.a);
    rank_finish(s, r, &w);
}

static void ring(struct sim *s, struct rank *r, const struct want *want)
{
    struct writer w = rank_begin(r, "", "ring", want->thrid);
    char text[40];

    rank_arg(&w, "ring-count", "0");
    model_ring_value(r->world, r->rank, 'l', want->act.a, text);
    rank_arg(&w, "ring-left", text);
    model_ring_value(r->world, r->rank, 'r', want->act.a, text);
    rank_arg(&w, "ring-right", text);
    model_enter(s, r, want->act.a);
    rank_finish(s, r, &w);
}

static void simple(struct sim *s, struct rank *r, const char *one, const char *two, int thrid)
{
    struct writer w = rank_begin(r, one, two, thrid);

    rank_finish(s, r, &w);
}

static void request(struct sim *s, struct rank *r, struct want *w)
{
    struct act *a = &w->act;
    char text[24];

    switch ((enum act_kind)a->kind) {
    case A_PUT: case A_ATTR:       put(s, r, a, w->thrid); break;
    case A_SHARED:                 put_shared(s, r, a, w->thrid); break;
    case A_GET:                    get(s, r, key_of('k', a), w->thrid); break;
    case A_MISS:                   get(s, r, key_of('x', a), w->thrid); break;
    case A_GET_ATTR: case A_WAIT_ATTR: get_attr(s, r, a, w->thrid); break;
    case A_PUBLISH: case A_UNPUBLISH: case A_LOOKUP: case A_WAIT_NAME:
        names_send(s, r, w);
        break;
    case A_SPAWN:                  spawn_send(s, r, w); break;
    case A_GET_OF:                 get_of(s, r, a, w->thrid); break;
    case A_CONNECT: case A_DISCONNECT: link_to(s, r, a, w->thrid); break;
    case A_PREPUT:
        snprintf(text, sizeof text, "pre-%d", a->a);
        get(s, r, text, w->thrid);
        break;
    case A_COLL:                   collective(s, r, w); break;
    case A_RING:                   ring(s, r, w); break;
    case A_FINALIZE:               simple(s, r, "finalize", "finalize", w->thrid); break;
    case A_MAPPING:                job_attr(s, r, "PMI_process_mapping", w->thrid); break;
    case A_DEAD:                   job_attr(s, r, "PMI_dead_processes", w->thrid); break;
    case A_JOBID:                  simple(s, r, "get_my_kvsname", "job-getid", w->thrid); break;
    case A_GET_SHARED:
        snprintf(text, sizeof text, "shared-%d", a->a);
        get(s, r, text, w->thrid);
        break;
    default:
        violation(s, "rank %d has act %d to do", r->rank, a->kind);
    }
}

/* --- going on ---------------------------------------------------------- */

static void want(struct sim *s, struct rank *r, const struct act *a)
{
    struct want *w = &r->wants[r->nwants++];
    bool owned = a->kind == A_GET || a->kind == A_GET_ATTR || a->kind == A_WAIT_ATTR;

    *w = (struct want){ .act = *a, .since = s->now, .tag = -1 };
    w->thrid = r->threads ? ++r->thrid : 0;
    w->floor = owned ? model_floor(r, a->a) : -1;
    r->blocking += !a->async;
    links_begin(s, r, w);
    names_begin(s, r, w);
    request(s, r, w);
    fault_check(s, r);
    node_chat(&s->nodes[r->node]);
}

/* Send the next request; false if the rank is to wait for answers first. */
static bool send_next(struct sim *s, struct rank *r)
{
    static const struct act leave = { .kind = A_FINALIZE };
    const struct act *a;

    while (r->next == r->nacts) {
        r->gap++;
        sim_draw_acts(s, r);
    }
    a = &r->acts[r->next];
    if (r->leave && !r->finalizing)
        a = &leave;
    if (r->finalizing || (a->kind == A_FINALIZE && r->nwants) || r->nwants >= MAX_WANTS - 2)
        return false;
    r->finalizing = a->kind == A_FINALIZE;
    r->next++;
    want(s, r, a);
    return !r->finalizing && !(!a->async && (a->kind == A_COLL || a->kind == A_RING));
}

void rank_go(struct sim *s, struct rank *r)
{
    if (r->ended || r->hung || !r->ready || r->blocking)
        return;
    if (r->done) {
        rank_end(s, r, 0, unit(&r->rng) * 1e-4);
        return;
    }
    r->burst = r->eager || s->scale ? 1 + draw(&r->rng, 12) : 1;
    if (s->scale)
        r->burst = MAX_ACTS;
    while (r->burst-- > 0 && send_next(s, r))
        ;
}

static void init(struct sim *s, struct rank *r)
{
    struct writer w = rank_begin(r, "init", "", 0);

    rank_arg_int(&w, "pmi_version", r->wire == WIRE_1 ? 1 : 2);
    rank_arg_int(&w, "pmi_subversion", r->wire == WIRE_1 ? 1 : 0);
    r->wants[r->nwants++] = (struct want){ .act = { .kind = A_INIT }, .tag = -1 };
    r->blocking++;
    rank_finish(s, r, &w);
    fault_check(s, r);
}

static void fullinit(struct sim *s, struct rank *r)
{
    struct writer w = rank_begin(r, "", "fullinit", 0);

    rank_arg(&w, "pmijobid", r->world->id);
    rank_arg_int(&w, "pmirank", r->rank);
    rank_arg(&w, "threaded", r->threads ? "TRUE" : "FALSE");
    if (r->wide)
        rank_arg(&w, "extensions", "thrid");
    r->wants[r->nwants++] = (struct want){ .act = { .kind = A_FULLINIT }, .tag = -1 };
    r->blocking++;
    rank_finish(s, r, &w);
    fault_check(s, r);
}

/* Its first bytes, or those after the answer to them. */
void rank_start(struct sim *s, struct rank *r)
{
    if (r->ended)
        return;
    fault_check(s, r);
    if (r->requests == 0) {
        init(s, r);
    } else if (r->wire == WIRE_2) {
        r->framer.wire = WIRE_2;
        fullinit(s, r);
    } else {
        r->ready = true;
    }
    if (r->ready)
        sim_draw_acts(s, r);
}

void rank_bytes(struct sim *s, struct rank *r, size_t len)
{
    struct node *n = &s->nodes[r->node];

    if (!r->conn || n->dead || !r->tx.len)
        return;
    len = len < r->tx.len ? len : r->tx.len;
    conn_input(r->conn, buf_bytes(&r->tx), len);
    buf_consume(&r->tx, len);
    node_after(n);
}

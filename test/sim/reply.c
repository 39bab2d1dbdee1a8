/* reply.c - a rank reads its answers: each belongs to a request, and says what the
 * model knows to be right. */
#include "test/sim/sim.h"

#include <stdlib.h>
#include <string.h>

static const char *const replies[ACTS][WIRES] = {
    [A_INIT] = { "response_to_init", "response_to_init" },
    [A_FULLINIT] = { "", "fullinit-response" },
    [A_MAXES] = { "maxes", "" },
    [A_JOBID] = { "my_kvsname", "job-getid-response" },
    [A_MAPPING] = { "get_result", "info-getjobattr-response" },
    [A_DEAD] = { "get_result", "info-getjobattr-response" },
    [A_PUT] = { "put_result", "kvs-put-response" },
    [A_SHARED] = { "put_result", "kvs-put-response" },
    [A_GET] = { "get_result", "kvs-get-response" },
    [A_GET_SHARED] = { "get_result", "kvs-get-response" },
    [A_MISS] = { "get_result", "kvs-get-response" },
    [A_ATTR] = { "", "info-putnodeattr-response" },
    [A_GET_ATTR] = { "", "info-getnodeattr-response" },
    [A_WAIT_ATTR] = { "", "info-getnodeattr-response" },
    [A_PUBLISH] = { "publish_result", "name-publish-response" },
    [A_UNPUBLISH] = { "unpublish_result", "name-unpublish-response" },
    [A_LOOKUP] = { "lookup_result", "name-lookup-response" },
    [A_COLL] = { "barrier_out", "kvs-fence-response" },
    [A_RING] = { "", "ring-response" },
    [A_FINALIZE] = { "finalize_ack", "finalize-response" },
};

const char *act_reply(enum act_kind k, enum wire w) { return replies[k][w]; }

/* --- whose answer it is ------------------------------------------------ */

static int number(const struct msg *m, const char *key, int otherwise)
{
    const char *text = msg_get(m, key);

    return text ? atoi(text) : otherwise;
}

/* By thread id; group barriers, which may overtake, by their tag; the others in order. */
static struct want *find_want(struct rank *r, const struct msg *m)
{
    int thrid = number(m, "thrid", 0), tag = number(m, "tag", -1);
    bool barrier = !strcmp(m->cmd, "barrier_out"), failed = number(m, "rc", 0) != 0;

    for (int i = 0; i < r->nwants; i++)
        if (thrid ? r->wants[i].thrid == thrid : barrier && r->wants[i].tag >= 0 &&
                                                 (failed || r->wants[i].tag == tag))
            return &r->wants[i];
    for (int i = 0; !thrid && i < r->nwants; i++)
        if (!r->wants[i].thrid && r->wants[i].tag < 0)
            return &r->wants[i];
    return NULL;
}

/* --- what it says ------------------------------------------------------ */

static void keep_shared(struct sim *s, struct rank *r, const struct want *w,
                        const struct pair *v)
{
    model_shared_found(s, r, w, v ? v->val : NULL, v ? v->len : 0);
}

static void found(struct sim *s, struct rank *r, const struct want *w, enum op_kind kind,
                  const struct pair *v)
{
    if (v)
        model_found(s, r, w, kind, v->val, v->len);
    else
        model_missed(s, r, w, kind);
}

static void check_ring(struct sim *s, struct rank *r, const struct want *w,
                       const struct msg *m, int rc)
{
    const char *left = msg_get(m, "ring-left"), *right = msg_get(m, "ring-right");
    int n = s->nranks;

    if (rc == 0 && (number(m, "ring-count", -1) != r->rank || !left || !right ||
                    !model_ring_value(left, (r->rank + n - 1) % n, 'r', w->act.a) ||
                    !model_ring_value(right, (r->rank + 1) % n, 'l', w->act.a)))
        violation(s, "rank %d: ring %d gave it %s and %s", r->rank, w->act.a,
                  left ? left : "nothing", right ? right : "nothing");
    model_passed(s, r, w->act.a, rc == 0);
}

/* Only ranks that have died inside PMI, or with their node. */
static void check_dead(struct sim *s, struct rank *r, const struct pair *v)
{
    const char *text = v ? v->val : "";
    char *end;

    for (; *text; text = *end ? end + 1 : end) {
        long dead = strtol(text, &end, 10);

        if (end == text || dead < 0 || dead >= s->nranks ||
            !(s->ranks[dead].dead || s->ranks[dead].given_up)) {
            violation(s, "rank %d: PMI_dead_processes=%s", r->rank, v->val);
            return;
        }
    }
}

static void must(struct sim *s, struct rank *r, const struct msg *m, bool holds)
{
    if (!holds)
        violation(s, "rank %d: %s rc=%s %s", r->rank, m->cmd,
                  msg_get(m, "rc") ? msg_get(m, "rc") : "none",
                  msg_get(m, "errmsg") ? msg_get(m, "errmsg") :
                  msg_get(m, "msg") ? msg_get(m, "msg") : "");
}

static const struct pair *value_of(const struct rank *r, const struct want *w,
                                   const struct msg *m, int rc)
{
    bool missing = r->wire == WIRE_1 ? rc != 0 :
                   msg_get(m, "found") && strcmp(msg_get(m, "found"), "TRUE") != 0;

    if (missing)
        return NULL;
    return msg_find(m, w->act.kind == A_LOOKUP ? "port" : "value");
}

static void judge(struct sim *s, struct rank *r, const struct want *w, const struct msg *m)
{
    int rc = number(m, "rc", -1);
    const struct pair *v = value_of(r, w, m, rc);

    switch ((enum act_kind)w->act.kind) {
    case A_GET:        found(s, r, w, OP_PUT, v); s->totals->gets++; break;
    case A_GET_ATTR:   found(s, r, w, OP_ATTR, v); break;
    case A_LOOKUP:     found(s, r, w, OP_NAME, v); break;
    case A_GET_SHARED: keep_shared(s, r, w, v); break;
    case A_MISS:       must(s, r, m, !v); break;
    case A_DEAD:       check_dead(s, r, v); break;
    case A_COLL:       model_passed(s, r, w->act.a, rc == 0); break;
    case A_RING:       check_ring(s, r, w, m, rc); break;
    case A_WAIT_ATTR:                    /* an error: every other rank here has ended */
        if (rc == 0)
            found(s, r, w, OP_ATTR, v);
        else
            must(s, r, m, s->nfaults > 0);
        break;
    case A_MAPPING:
        must(s, r, m, r->wire == WIRE_1 || (v && !strncmp(v->val, "(vector,", 8)));
        break;
    case A_FINALIZE:
        must(s, r, m, rc == 0);
        r->done = true;
        break;
    case A_PUT: case A_SHARED: case A_ATTR: case A_PUBLISH: case A_UNPUBLISH: case A_INIT:
    case A_FULLINIT: case A_JOBID: case A_MAXES: default:
        must(s, r, m, rc == 0);
    }
}

static void take(struct sim *s, struct rank *r, const struct msg *m)
{
    struct want *at = find_want(r, m), w;
    enum wire wire = r->framer.wire;

    if (!at || strcmp(m->cmd, replies[at->act.kind][wire])) {
        violation(s, "rank %d is told %s, which it has not asked for (%d are open, first %s)",
                  r->rank, m->cmd, r->nwants,
                  r->nwants ? replies[r->wants[0].act.kind][wire] : "none");
        return;
    }
    w = *at;
    memmove(at, at + 1, (size_t)(r->wants + --r->nwants - at) * sizeof *at);
    r->blocking -= !w.act.async;
    judge(s, r, &w, m);
    if (w.act.kind == A_INIT) {
        rank_start(s, r);
    } else if (w.act.kind == A_FULLINIT) {
        r->ready = true;
        sim_draw_acts(s, r);
    }
}

void rank_read(struct sim *s, struct rank *r)
{
    struct buf in = r->rx;
    char *data = buf_bytes(&in);
    size_t len = in.len;
    struct frame f;
    struct err e;
    int got;

    r->reading = false;
    r->rx = (struct buf)BUF_INIT;
    while (!r->ended && !s->violated &&
           (got = framer_next(&r->framer, &data, &len, &f, &e)) != 0) {
        if (got > 0)
            TRACE(s, "rank %d < %.*s", r->rank, (int)f.raw_len, f.raw);
        if (got < 0 || codec_of(r->framer.wire)->parse(&s->in, f.text, f.len, &e) < 0)
            violation(s, "rank %d cannot read its answer: %s", r->rank, e.text);
        else
            take(s, r, &s->in);
    }
    buf_clear(&in);
    rank_go(s, r);
}

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
    [A_WAIT_NAME] = { "lookup_result", "name-lookup-response" },
    [A_SPAWN] = { "spawn_result", "spawn-response" },
    [A_PREPUT] = { "get_result", "kvs-get-response" },
    [A_GET_OF] = { "get_result", "kvs-get-response" },
    [A_CONNECT] = { "", "job-connect-response" },
    [A_DISCONNECT] = { "", "job-disconnect-response" },
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
    int n = r->world->nranks;
    char wants[2][40];

    model_ring_value(r->world, (r->rank + n - 1) % n, 'r', w->act.a, wants[0]);
    model_ring_value(r->world, (r->rank + 1) % n, 'l', w->act.a, wants[1]);
    if (rc == 0 && (number(m, "ring-count", -1) != r->rank || !left || !right ||
                    strcmp(left, wants[0]) || strcmp(right, wants[1])))
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

        if (end == text || dead < 0 || dead >= r->world->nranks ||
            !(r->world->ranks[dead].dead || r->world->ranks[dead].given_up)) {
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

/* What the job that has started this one has put there before. */
static void check_preput(struct sim *s, struct rank *r, const struct want *w,
                         const struct pair *v)
{
    char want[VALUE_ROOM];
    size_t len = spawn_preput(r->world, w->act.a, want);

    if (!v || v->len != len || memcmp(v->val, want, len) != 0)
        violation(s, "job %d rank %d: pre-%d is %.60s, want %s", r->world->number, r->rank,
                  w->act.a, v ? v->val : "not there", want);
}

static bool is_own_id(const struct rank *r, const struct msg *m)
{
    const char *id = msg_get(m, r->wire == WIRE_1 ? "kvsname" : "jobid");

    return id && !strcmp(id, r->world->id);
}

/* It is told who it is, and who has started it. */
static bool is_introduced(const struct rank *r, const struct msg *m)
{
    const struct world *w = r->world;
    const char *spawner = msg_get(m, "spawner-jobid");

    return number(m, "rank", -1) == r->rank && number(m, "size", -1) == w->nranks &&
           (w->parent ? spawner && !strcmp(spawner, w->parent->id) : !spawner);
}

static const struct pair *value_of(const struct rank *r, const struct want *w,
                                   const struct msg *m, int rc)
{
    bool name = w->act.kind == A_LOOKUP || w->act.kind == A_WAIT_NAME;
    bool missing = r->wire == WIRE_1 ? rc != 0 :
                   msg_get(m, "found") && strcmp(msg_get(m, "found"), "TRUE") != 0;

    return missing ? NULL : msg_find(m, name ? "port" : "value");
}

static void judge(struct sim *s, struct rank *r, const struct want *w, const struct msg *m)
{
    int rc = number(m, "rc", -1);
    const struct pair *v = value_of(r, w, m, rc);

    switch ((enum act_kind)w->act.kind) {
    case A_GET:        found(s, r, w, OP_PUT, v); s->totals->gets++; break;
    case A_GET_ATTR:   found(s, r, w, OP_ATTR, v); break;
    case A_PREPUT:     check_preput(s, r, w, v); break;
    case A_SPAWN:      spawn_answered(s, r, w, m); break;
    case A_CONNECT: case A_DISCONNECT: case A_GET_OF: links_answer(s, r, w, m, v); break;
    case A_PUBLISH: case A_UNPUBLISH: case A_LOOKUP: case A_WAIT_NAME:
        names_answer(s, r, w, m, v);
        break;
    case A_GET_SHARED: keep_shared(s, r, w, v); break;
    case A_MISS:       must(s, r, m, !v); break;
    case A_DEAD:       check_dead(s, r, v); break;
    case A_COLL:       model_passed(s, r, w->act.a, rc == 0); break;
    case A_RING:       check_ring(s, r, w, m, rc); break;
    case A_WAIT_ATTR:                    /* an error: every other rank here has ended */
        if (rc == 0)
            found(s, r, w, OP_ATTR, v);
        else
            must(s, r, m, r->world->launch.ending || s->struck > 0);
        break;
    case A_MAPPING:
        must(s, r, m, r->wire == WIRE_1 || (v && !strncmp(v->val, "(vector,", 8)));
        break;
    case A_FINALIZE:
        must(s, r, m, rc == 0);
        r->done = true;
        break;
    case A_FULLINIT:
        must(s, r, m, rc == 0 && is_introduced(r, m));
        break;
    case A_JOBID:
        must(s, r, m, rc == 0 && is_own_id(r, m));
        break;
    case A_PUT: case A_SHARED: case A_ATTR: case A_INIT: case A_MAXES: default:
        must(s, r, m, rc == 0);
    }
}

static void take(struct sim *s, struct rank *r, const struct msg *m)
{
    struct want *at = find_want(r, m), w;
    enum wire wire = r->framer.wire;

    if (!at || strcmp(m->cmd, replies[at->act.kind][wire])) {
        violation(s, "job %d rank %d is told %s, which it has not asked for (%d are open, first "
                  "%s)", r->world->number, r->rank, m->cmd, r->nwants,
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
            TRACE(s, "rank %d.%d < %.*s", r->world->number, r->rank, (int)f.raw_len, f.raw);
        if (got < 0 || codec_of(r->framer.wire)->parse(&s->in, f.text, f.len, &e) < 0)
            violation(s, "rank %d cannot read its answer: %s", r->rank, e.text);
        else
            take(s, r, &s->in);
    }
    buf_clear(&in);
    rank_go(s, r);
}

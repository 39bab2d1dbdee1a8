/* peer.c - what servers say to each other: sending, and who takes what.
 *
 * See pmi2/PEERS for the messages.  Every one is about a job and names it. */
#include "pmi2/core.h"

#include <stdlib.h>
#include <string.h>

/* --- peers ------------------------------------------------------------- */

static struct peer *peer_new(struct server *s, void *link, bool up)
{
    struct peer *p = calloc(1, sizeof *p);

    if (p)
        *p = (struct peer){ .server = s, .link = link, .up = up };
    return p;
}

struct peer *server_set_up(struct server *s, void *link)
{
    return s->up = peer_new(s, link, true);
}

struct peer *server_add_down(struct server *s, void *link)
{
    struct peer *p = peer_new(s, link, false);

    if (p)
        TAILQ_INSERT_TAIL(&s->down, p, in_server);
    return p;
}

void peer_free(struct peer *p)
{
    if (!p)
        return;
    asks_forget(p->server, p);
    spawns_forget(p->server, NULL, p);
    names_forget(p->server, NULL, p);
    foreign_forget(p->server, NULL, p);
    if (!p->up)
        relays_forget(p->server, p);
    if (p->up)
        p->server->up = NULL;
    else
        TAILQ_REMOVE(&p->server->down, p, in_server);
    free(p);
}

void peers_free(struct server *s)
{
    struct peer *p;

    while ((p = TAILQ_FIRST(&s->down)))
        peer_free(p);
    peer_free(s->up);
}

/* --- sending ----------------------------------------------------------- */

struct msg *peer_message(struct job *j, const char *cmd)
{
    struct msg *m = &j->server->out;

    msg_start(m, cmd);
    msg_str(m, "job", j->id);
    return m;
}

/* The frame of s->out.  What no memory is left for is missed by the others: the host
 * learns of it by the failed send of nothing, so it is told as a broken link. */
static bool format(struct server *s, size_t len, struct buf *frame)
{
    if (len)
        msg_int(&s->out, "payload", (long long)len);
    return wire_v2.format(&s->out, LIMIT_FRAME_LINK, frame, NULL) == 0 && !frame->failed;
}

void peer_send(struct peer *p, const char *payload, size_t len)
{
    struct server *s = p->server;
    struct buf frame = BUF_INIT;

    if (format(s, len, &frame))
        s->ops.peer_send(s->host, p->link, buf_bytes(&frame), frame.len, payload, len);
    else
        s->ops.peer_send(s->host, p->link, NULL, 0, NULL, 0);
    buf_clear(&frame);
}

/* The links of all below, in one allocation; *n of them.  NULL: none, no memory, or the
 * host takes them one by one only. */
static void **links_below(struct server *s, size_t *n)
{
    struct peer *p;
    void **links;

    *n = 0;
    TAILQ_FOREACH(p, &s->down, in_server)
        ++*n;
    links = *n && s->ops.peer_send_all ? malloc(*n * sizeof *links) : NULL;
    *n = 0;
    if (links)
        TAILQ_FOREACH(p, &s->down, in_server)
            links[(*n)++] = p->link;
    return links;
}

void peers_send_down(struct server *s, const char *payload, size_t len)
{
    struct buf frame = BUF_INIT;
    bool ok = !TAILQ_EMPTY(&s->down) && format(s, len, &frame);
    struct peer *p;
    size_t n;
    void **links = links_below(s, &n);

    if (links && ok)
        s->ops.peer_send_all(s->host, links, n, buf_bytes(&frame), frame.len, payload, len);
    else
        TAILQ_FOREACH(p, &s->down, in_server)
            s->ops.peer_send(s->host, p->link, ok ? buf_bytes(&frame) : NULL, frame.len,
                             payload, ok ? len : 0);
    free(links);
    buf_clear(&frame);
}

void peers_pass_down(struct job *j, const struct msg *m, const char *payload, size_t len)
{
    struct msg *out = peer_message(j, m->cmd);

    for (size_t i = 0; i < m->n; i++)
        if (strcmp(m->pairs[i].key, "job") && strcmp(m->pairs[i].key, "payload"))
            msg_bytes(out, m->pairs[i].key, m->pairs[i].val, m->pairs[i].len);
    peers_send_down(j->server, payload, len);
}

/* --- ranks that have ended --------------------------------------------- */

bool rank_mark(struct job *j, int rank, unsigned char bits)
{
    if (!j->ranks && !(j->ranks = calloc((size_t)j->size, 1)))
        return false;
    if ((j->ranks[rank] & bits) == bits)
        return false;
    j->ranks[rank] |= bits;
    if ((bits & (RANK_OUT | RANK_MINE)) &&
        (j->ranks[rank] & (RANK_OUT | RANK_MINE)) == (RANK_OUT | RANK_MINE))
        j->out_mine++;
    j->out += bits == RANK_OUT;
    j->out_node += bits == RANK_OUT_NODE;
    return true;
}

static void send_list(struct job *j, const char *cmd, struct buf *list)
{
    struct server *s = j->server;

    if (!list->len)
        return;
    peer_message(j, cmd);
    msg_bytes(&s->out, "ranks", buf_bytes(list), list->len);
    if (s->up)
        peer_send(s->up, NULL, 0);
    else
        peers_send_down(s, NULL, 0);
    buf_clear(list);
}

/* Those that live here are to hear that others have died. */
static void tell_died(struct job *j)
{
    struct server *s = j->server;

    if (s->options.fault_tolerant && s->ops.died)
        s->ops.died(s->host, j);
}

/* A rank here or below has ended: the root takes note, others tell those above.  Of the
 * dead all take note. */
static void rank_ended(struct job *j, int rank, bool dead)
{
    bool root = is_root(j->server);
    struct buf *news = dead ? &j->dead_news : &j->gone_news;

    if (!root && j->server->options.fault_tolerant)
        rank_mark(j, rank, RANK_MINE);
    if ((root || dead) && !rank_mark(j, rank, dead ? RANK_GONE | RANK_DEAD : RANK_GONE))
        return;
    j->gone_all += root;
    if (root && j->server->layer_ops)
        j->server->layer_ops->rank_ended(j->server->layer, j, rank);
    if (!root || dead)
        buf_printf(news, news->len ? ",%d" : "%d", rank);
    if (news->len > LIMIT_CHUNK)
        send_list(j, dead ? "dead" : "gone", news);
}

/* Open fences are looked at again; at the root, from the first end on, everybody else is
 * to say who waits in one. */
static void look(struct job *j)
{
    if (is_root(j->server) && !j->report) {
        j->report = true;
        peer_message(j, "report");
        peers_send_down(j->server, NULL, 0);
    }
    fences_look(j);
}

void peers_rank_ended(struct job *j, int rank, bool dead)
{
    rank_ended(j, rank, dead);
    look(j);
}

/* One that is known to have ended is not dead for that, but nobody is left to say
 * whether it had entered a fence. */
void job_rank_lost(struct job *j, int rank)
{
    bool ended = j->ranks && (j->ranks[rank] & RANK_GONE);

    if (!is_root(j->server)) {
        rank_mark(j, rank, RANK_MINE);
        return;
    }
    j->lost = true;
    rank_mark(j, rank, RANK_LOST);
    if (!ended)
        rank_ended(j, rank, true);
    if (j->server->options.fault_tolerant)
        j->look_later = true;            /* a node has more ranks, and they fail as one */
    else
        look(j);
}

void server_flush(struct server *s)
{
    struct job *j;

    TAILQ_FOREACH(j, &s->jobs, in_server) {
        bool died = is_root(s) && j->dead_news.len;

        if (j->look_later) {
            j->look_later = false;
            look(j);
        }
        send_list(j, "gone", &j->gone_news);
        send_list(j, "dead", &j->dead_news);
        if (died)
            tell_died(j);
    }
}

static void mark_dead(struct job *j, int rank, bool dead)
{
    (void)dead;
    rank_mark(j, rank, RANK_DEAD);
}

int ranks_take(struct job *j, const struct msg *m, bool dead,
               void (*each)(struct job *, int, bool), struct err *e)
{
    const char *text = msg_get(m, "ranks");
    char *end;

    if (!text || !*text)
        return err_set(e, ERR_INVALID_ARG, "no ranks");
    for (; *text; text = *end ? end + 1 : end) {
        long rank = strtol(text, &end, 10);

        if (end == text || (*end && *end != ',') || rank < 0 || rank >= j->size)
            return err_set(e, ERR_INVALID_VAL, "ranks=%.40s", text);
        each(j, (int)rank, dead);
    }
    return 0;
}

/* From below. */
static int take_ended(struct job *j, const struct msg *m, bool dead, struct err *e)
{
    if (ranks_take(j, m, dead, rank_ended, e) < 0)
        return -1;
    if (is_root(j->server))
        look(j);
    return 0;
}

static int on_gone(struct peer *p, struct job *j, const struct msg *m, const char *payload,
                   size_t len, struct err *e)
{
    (void)p;
    (void)payload;
    (void)len;
    return take_ended(j, m, false, e);
}

/* What comes from above is what PMI_dead_processes says. */
static int on_dead(struct peer *p, struct job *j, const struct msg *m, const char *payload,
                   size_t len, struct err *e)
{
    const struct pair *ranks = msg_find(m, "ranks");

    (void)payload;
    (void)len;
    if (!p->up)
        return take_ended(j, m, true, e);
    if (ranks_take(j, m, true, mark_dead, e) < 0)
        return -1;
    msg_bytes(peer_message(j, "dead"), "ranks", ranks->val, ranks->len);
    peers_send_down(j->server, NULL, 0);
    tell_died(j);
    return 0;
}

static int on_report(struct peer *p, struct job *j, const struct msg *m, const char *payload,
                     size_t len, struct err *e)
{
    (void)p;
    (void)m;
    (void)payload;
    (void)len;
    (void)e;
    j->report = true;
    peer_message(j, "report");
    peers_send_down(j->server, NULL, 0);
    fences_look(j);
    return 0;
}

/* --- receiving --------------------------------------------------------- */

enum { ABOVE = 1, BELOW = 2 };

static const struct row {
    const char *cmd;
    unsigned    from;                    /* the sides that may send it */
    peer_fn    *run;
    fence_fn   *fence;                   /* instead of run: it is about a fence ... */
    unsigned    with;                    /* ... and has these fields */
} peer_commands[] = {
    { "fence-in", BELOW, .fence = fence_in },
    { "fence-out", ABOVE, .fence = fence_out, .with = WITH_SEQ },
    { "kvs-data", ABOVE | BELOW, .run = share_data },
    { "kvs-get", BELOW, .run = ask_get },
    { "answer", ABOVE, .run = ask_answer },
    { "kvs-at", BELOW, .run = ask_at },
    { "name-publish", BELOW, .run = ask_names },
    { "name-unpublish", BELOW, .run = ask_names },
    { "name-lookup", BELOW, .run = ask_names },
    { "job-connect", BELOW, .run = ask_link },
    { "job-disconnect", BELOW, .run = ask_link },
    { "job-get", BELOW, .run = ask_get_of },
    { "kvs-read", BELOW, .run = ask_read },
    { "kvs-copy", BELOW, .run = ask_copy_up },
    { "spawn", BELOW, .run = ask_spawn_up },
    { "gone", BELOW, .run = on_gone },
    { "dead", ABOVE | BELOW, .run = on_dead },
    { "report", ABOVE, .run = on_report },
    { "fence-wait", BELOW, .fence = fence_wait, .with = WITH_RANK },
    { "fence-check", ABOVE, .fence = fence_check },
    { "fence-missing", BELOW, .fence = fence_missing, .with = WITH_RANK },
    { "fence-fail", ABOVE, .fence = fence_fail, .with = WITH_RANK | WITH_SEQ },
    { "fence-stuck", BELOW, .run = fence_stuck },
    { "ext", BELOW, .run = relay_on_ext },
    { "ext-end", BELOW, .run = relay_on_end },
    { "ext-taken", BELOW, .run = relay_on_taken },
    { "ext-out", ABOVE, .run = relay_on_out },
    { "ext-fail", ABOVE, .run = relay_on_fail },
};

static int run(const struct row *r, struct peer *p, const struct msg *m, const char *payload,
               size_t len, struct err *e)
{
    const char *id = msg_get(m, "job");
    struct job *j = id ? job_named(p->server, id) : NULL;

    if (!id)
        return err_set(e, ERR_INVALID_ARG, "no job");
    if (!(r->from & (p->up ? ABOVE : BELOW)))
        return err_set(e, ERR_OTHER, "comes from %s", p->up ? "above" : "below");
    if (!j)                              /* it has ended meanwhile */
        return 0;
    if (r->fence)
        return fence_input(r->fence, r->with, j, m, payload, len, e);
    return r->run(p, j, m, payload, len, e);
}

int peer_input(struct peer *p, const struct msg *m, const char *payload, size_t len,
               struct err *e)
{
    for (size_t i = 0; i < sizeof peer_commands / sizeof *peer_commands; i++)
        if (!strcmp(peer_commands[i].cmd, m->cmd))
            return run(&peer_commands[i], p, m, payload, len, e) < 0
                       ? err_context(e, "%s", m->cmd) : 0;
    return 1;
}

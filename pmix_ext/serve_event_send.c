/* serve_event_send.c - who is sent an event, and what becomes of it where somebody does not
 * read.
 *
 * An event goes to a connection once, with the ids of all its registrations that want it.
 * A connection that does not read holds up nobody: beyond EVENTS_QUEUED bytes its events are
 * dropped and counted, and the next thing it gets is an event that says how many. */
#include "pmix_ext/serve_event.h"

#include "pmix_ext/value.h"

#include <stdlib.h>
#include <string.h>

struct sending {                         /* of one event to any number of connections */
    struct ext         *ext;
    const struct event *ev;
    struct buf          source;          /* as JSON */
    struct buf          ids;             /* of the receiver at hand */
    struct buf          framed;          /* those that are in frame */
    struct buf          frame;
};

/* --- whom -------------------------------------------------------------- */

static struct place place_of(struct session *s)
{
    if (!s->placed)
        s->at = session_node(s);
    s->placed = true;
    return (struct place){ s->who.nspace, s->who.rank, s->at };
}

static bool is_source(const struct event *ev, const struct session *s)
{
    return ev->source.rank == s->who.rank && !strcmp(ev->source.nspace, s->who.nspace);
}

/* Of what the launcher tells, a rank hears what is about its own job, jobs that this has
 * started, and jobs that it is connected to; a tool hears all. */
static bool concerns(const struct event *ev, const struct session *s)
{
    struct server *server = s->ext->server;
    struct job *mine, *other;

    if (s->who.tool || !strcmp(ev->source.nspace, s->who.nspace) ||
        !strcmp(ev->spawner, s->who.nspace))
        return true;
    mine = job_named(server, s->who.nspace);
    other = job_named(server, ev->source.nspace);
    return !other || (mine && job_minds(mine, other));
}

static bool is_for(const struct event *ev, const struct session *s, const struct place *who)
{
    return ev->launcher ? concerns(ev, s) : !is_source(ev, s) && event_reaches(ev, who);
}

/* --- frames ------------------------------------------------------------ */

static void begin(struct sending *out, struct ext *x, const struct event *ev)
{
    *out = (struct sending){ .ext = x, .ev = ev };
    if (value_encode(PMIX_PROC, &ev->source, "source", &out->source, NULL) < 0)
        out->source.failed = true;
}

static void end(struct sending *out)
{
    buf_clear(&out->source);
    buf_clear(&out->ids);
    buf_clear(&out->framed);
    buf_clear(&out->frame);
}

/* The frame for the ids at hand; receivers often have the same.  False: no memory. */
static bool make_frame(struct sending *out)
{
    struct msg *m = &out->ext->server->out;

    if (out->frame.len && out->framed.len == out->ids.len &&
        !memcmp(buf_bytes(&out->framed), buf_bytes(&out->ids), out->ids.len))
        return true;
    if (out->source.failed || out->ids.failed)
        return false;
    buf_reset(&out->framed);
    buf_add(&out->framed, buf_bytes(&out->ids), out->ids.len);
    buf_reset(&out->frame);
    msg_start(m, "pmix-event");
    msg_int(m, "status", out->ev->status);
    msg_bytes(m, "source", buf_bytes(&out->source), out->source.len);
    msg_bytes(m, "infos", out->ev->text, out->ev->len);
    msg_bytes(m, "ids", buf_bytes(&out->ids), out->ids.len);
    if (wire_v2.format(m, LIMIT_FRAME_LINK, &out->frame, NULL) < 0)
        buf_reset(&out->frame);
    return out->frame.len && !out->frame.failed && !out->framed.failed;
}

static bool has_room(const struct session *s, size_t len)
{
    const struct conn *c = s->conn;
    size_t queued = c->queued + (c->reading ? c->server->batch.len : 0);

    return queued + len <= EVENTS_QUEUED;
}

static void add_id(struct buf *ids, size_t id)
{
    buf_printf(ids, "%c%zu", ids->len ? ',' : '[', id);
}

/* --- dropped ----------------------------------------------------------- */

static struct event *missed_event(struct ext *x, unsigned long long n)
{
    struct event *ev = calloc(1, sizeof *ev);
    struct buf text = BUF_INIT;

    buf_printf(&text, "[{\"key\":\"%s\",\"type\":\"PMIX_UINT64\",\"value\":%llu}]",
               PMIX_EXT_MISSED, n);
    if (!ev || text.failed) {
        free(ev);
        buf_clear(&text);
        return NULL;
    }
    ev->status = PMIX_EXT_EVENTS_MISSED;
    ev->launcher = true;
    events_server(x, &ev->source);
    ev->len = text.len;
    ev->text = text.data;                /* nothing was consumed: it begins there */
    return ev;
}

/* True: nothing is left to be told. */
static bool tell_missed(struct session *s)
{
    struct event *ev = s->missed ? missed_event(s->ext, s->missed) : NULL;
    struct registration *r;
    struct sending out;

    if (!ev)
        return !s->missed;
    begin(&out, s->ext, ev);
    TAILQ_FOREACH(r, &s->registrations, in_session)
        if (r->missed)
            add_id(&out.ids, r->id);
    buf_str(&out.ids, out.ids.len ? "]" : "[]");
    if (make_frame(&out) && has_room(s, out.frame.len)) {
        conn_send(s->conn, buf_bytes(&out.frame), out.frame.len);
        s->missed = 0;
        TAILQ_FOREACH(r, &s->registrations, in_session)
            r->missed = false;
    }
    end(&out);
    event_free(ev);
    return !s->missed;
}

void events_go_on(struct session *s)
{
    tell_missed(s);
}

/* --- sent -------------------------------------------------------------- */

static void drop(struct session *s, const struct event *ev, const struct registration *only,
                 const struct place *who)
{
    struct registration *r;

    s->missed++;
    TAILQ_FOREACH(r, &s->registrations, in_session)
        if ((!only || r == only) && event_wanted(ev, r, who))
            r->missed = true;
}

static void drop_oneshots(struct session *s, const struct event *ev,
                          const struct registration *only, const struct place *who)
{
    struct registration *r, *next;

    for (r = TAILQ_FIRST(&s->registrations); r; r = next) {
        next = TAILQ_NEXT(r, in_session);
        if (r->oneshot && (!only || r == only) && event_wanted(ev, r, who))
            registration_drop(s, r);
    }
}

/* To the registrations of a connection that want it, or to one of them. */
static void deliver(struct sending *out, struct session *s, const struct registration *only)
{
    const struct event *ev = out->ev;
    struct place who = place_of(s);
    struct registration *r;

    if (s->conn->state != CONN_READY || !is_for(ev, s, &who))
        return;
    buf_reset(&out->ids);
    TAILQ_FOREACH(r, &s->registrations, in_session)
        if ((!only || r == only) && event_wanted(ev, r, &who))
            add_id(&out->ids, r->id);
    if (!out->ids.len)
        return;
    buf_char(&out->ids, ']');
    if (!tell_missed(s) || !make_frame(out) || !has_room(s, out->frame.len)) {
        drop(s, ev, only, &who);
        return;
    }
    conn_send(s->conn, buf_bytes(&out->frame), out->frame.len);
    drop_oneshots(s, ev, only, &who);
}

/* --- kept -------------------------------------------------------------- */

static void drop_oldest(struct ext *x)
{
    struct event *ev = TAILQ_FIRST(&x->kept);

    TAILQ_REMOVE(&x->kept, ev, in_kept);
    x->nkept--;
    x->kept_bytes -= ev->len;
    event_free(ev);
}

static void keep(struct ext *x, struct event *ev)
{
    TAILQ_INSERT_TAIL(&x->kept, ev, in_kept);
    x->nkept++;
    x->kept_bytes += ev->len;
    while (x->nkept > EVENTS_KEPT || x->kept_bytes > EVENTS_KEPT_BYTES)
        drop_oldest(x);
}

void events_raise(struct ext *x, struct event *ev)
{
    struct session *s, *next;
    struct sending out;

    begin(&out, x, ev);
    for (s = TAILQ_FIRST(&x->listening); s; s = next) {
        next = TAILQ_NEXT(s, in_listening);      /* it may lose its last registration */
        deliver(&out, s, NULL);
    }
    end(&out);
    if (ev->keep)
        keep(x, ev);
    else
        event_free(ev);
}

void events_replay(struct session *s, struct registration *r)
{
    size_t id = r->id;
    struct event *ev;
    struct sending out;

    TAILQ_FOREACH(ev, &s->ext->kept, in_kept) {
        begin(&out, s->ext, ev);
        deliver(&out, s, r);
        end(&out);
        if (!session_registration(s, id))        /* it was for one event only */
            return;
    }
}

/* --- ends -------------------------------------------------------------- */

struct registration *session_registration(const struct session *s, size_t id)
{
    struct registration *r;

    TAILQ_FOREACH(r, &s->registrations, in_session)
        if (r->id == id)
            return r;
    return NULL;
}

void registration_drop(struct session *s, struct registration *r)
{
    TAILQ_REMOVE(&s->registrations, r, in_session);
    registration_free(r);
    s->nregistrations--;
    if (!s->nregistrations)
        TAILQ_REMOVE(&s->ext->listening, s, in_listening);
}

void events_forget(struct session *s)
{
    while (s->nregistrations)
        registration_drop(s, TAILQ_FIRST(&s->registrations));
}

void events_clear(struct ext *x)
{
    while (x->nkept)
        drop_oldest(x);
}

void events_server(struct ext *x, pmix_proc_t *out)
{
    const char *name = x->ops.hostname(x->host);

    *out = (pmix_proc_t){ .rank = 0 };
    memcpy(out->nspace, name, strnlen(name, PMIX_MAX_NSLEN));
}

/* cmd_name.c - the name service: publish, unpublish, lookup.
 *
 * The root answers.  Where the host has a resident server (host op name), that is asked;
 * else names are kept here, as long as their persistence says and at most as long as the
 * launcher lives, only the job that published one may take it back, and a lookup that waits
 * does so here. */
#include "pmi2/core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARG_NAME, ARG_PORT };

struct name_ask {                        /* at the root, until it is answered */
    TAILQ_ENTRY(name_ask) in_server;
    struct server   *server;
    struct job      *job;                /* borrowed; NULL when it is gone */
    struct name_want want;               /* its texts are owned */
    struct waiters   waiters;            /* the request of a rank that is here */
    struct peer     *peer;               /* or the server below that is to be told, */
    unsigned         id;                 /* and its number of the question */
    bool             here;               /* waits for a name of this launcher, ... */
    unsigned         timer;              /* ... with this timer; 0: none */
};

const struct name_want *name_wants(const struct name_ask *a) { return &a->want; }
struct job *name_job(const struct name_ask *a) { return a->job; }

/* NULL: no memory. */
static struct name_ask *name_ask_new(struct job *j, const struct name_want *want)
{
    struct name_ask *a = calloc(1, sizeof *a);
    char *name = strdup(want->name), *port = strdup(want->port ? want->port : "");

    if (!a || !name || !port) {
        free(a);
        free(name);
        free(port);
        return NULL;
    }
    a->server = j->server;
    a->job = j;
    a->want = *want;
    a->want.name = name;
    a->want.port = port;
    waiters_init(&a->waiters);
    TAILQ_INSERT_TAIL(&a->server->names_asked, a, in_server);
    return a;
}

static void name_ask_free(struct name_ask *a)
{
    struct server *s = a->server;
    struct request *rq;

    if (a->timer && s->ops.timer)
        s->ops.timer(s->host, a->timer, 0);
    TAILQ_REMOVE(&s->names_asked, a, in_server);
    TAILQ_FOREACH(rq, &a->waiters.list, in_wait)
        rq->waits = NULL;
    free((char *)a->want.name);
    free((char *)a->want.port);
    free(a);
}

void names_free(struct server *s)
{
    struct name_ask *a;

    while ((a = TAILQ_FIRST(&s->names_asked)))
        name_ask_free(a);
}

/* How a name is spelled in the store begins with whom it is for. */
enum { FOR_JOB = 'j', FOR_USER = 'u' };

/* What is kept of a name of this launcher: a digit for how long, and the port. */
static enum name_persistence persistence_of(const struct kvs_entry *found)
{
    return (enum name_persistence)(*found->value - '0');
}

/* What waits here, and nobody waits for it. */
static bool is_idle(const struct name_ask *a)
{
    return a->here && !a->peer && TAILQ_EMPTY(&a->waiters.list);
}

/* Names end with the job that has published them, unless it wanted otherwise and others see
 * them. */
static void end_names(struct kvs *names, int number)
{
    struct kvs_entry found;

    for (size_t i = 0; kvs_at(names, i, &found);)
        if (found.src != number ||
            (persistence_of(&found) == PERSIST_INDEFINITE && *found.key == FOR_USER))
            i++;
        else
            kvs_remove(names, found.key);
}

void names_forget(struct server *s, const struct job *j, const struct peer *p)
{
    struct name_ask *a, *next;

    if (j)
        end_names(s->names, j->number);
    for (a = TAILQ_FIRST(&s->names_asked); a; a = next) {
        next = TAILQ_NEXT(a, in_server);
        if (j && a->job == j)
            a->job = NULL;
        if ((p && a->peer == p) || !a->job)
            a->peer = NULL;
        if (is_idle(a))
            name_ask_free(a);
    }
}

/* --- names of this launcher -------------------------------------------- */

struct local_name { char text[LIMIT_SERVICE + 32]; };

static struct local_name spell(const struct job *j, const char *name, bool of_job)
{
    struct local_name k;

    if (of_job)
        snprintf(k.text, sizeof k.text, "%c%d:%.*s", FOR_JOB, j->number, LIMIT_SERVICE, name);
    else
        snprintf(k.text, sizeof k.text, "%c%.*s", FOR_USER, LIMIT_SERVICE, name);
    return k;
}

/* What a job sees: its own first. */
static int find(struct job *j, const char *name, struct kvs_entry *out)
{
    struct kvs *names = j->server->names;

    return kvs_get(names, spell(j, name, true).text, out) ||
           kvs_get(names, spell(j, name, false).text, out);
}

/* The port of a name that a job sees, valid until the next publish; or NULL.  A name may be
 * there for the first who looks it up only. */
static const char *look_up(struct job *j, const char *name)
{
    struct kvs_entry found;

    if (!find(j, name, &found))
        return NULL;
    if (persistence_of(&found) == PERSIST_FIRST_READ)
        kvs_remove(j->server->names, found.key);
    return found.value + 1;
}

static int add_here(struct job *j, const struct name_want *w, struct err *e)
{
    struct kvs *names = j->server->names;
    struct local_name key = spell(j, w->name, w->range == RANGE_JOB);
    char text[LIMIT_PORT + 2];
    struct kvs_entry found;
    int len = snprintf(text, sizeof text, "%d%.*s", (int)w->persistence, LIMIT_PORT, w->port);

    if (kvs_get(names, key.text, &found))
        return err_set(e, ERR_INVALID_KEY, "service %.64s is published already", w->name);
    if (kvs_count(names) >= LIMIT_NAMES)
        return err_set(e, ERR_NOMEM, "more than %d names are published", LIMIT_NAMES);
    return kvs_put(names, j->number, key.text, text, (size_t)len, e);
}

static int remove_here(struct job *j, const struct name_want *w, struct err *e)
{
    struct kvs_entry found;

    if (!find(j, w->name, &found))
        return err_set(e, ERR_OTHER, "service_not_found");
    if (found.src != j->number)
        return err_set(e, ERR_OTHER, "service %.64s belongs to another job", w->name);
    kvs_remove(j->server->names, found.key);
    return 0;
}

/* REPLY, NOT_FOUND or FAILED.  *port: what was looked up; valid until the next publish. */
static enum outcome run_here(struct job *j, const struct name_want *w, const char **port,
                             struct err *e)
{
    *port = NULL;
    if (w->op == NAME_PUBLISH)
        return add_here(j, w, e) < 0 ? FAILED : REPLY;
    if (w->op == NAME_UNPUBLISH)
        return remove_here(j, w, e) < 0 ? FAILED : REPLY;
    *port = look_up(j, w->name);
    if (*port)
        return REPLY;
    err_set(e, ERR_OTHER, "service_not_found");
    return NOT_FOUND;
}

/* --- answers ----------------------------------------------------------- */

static void answer(struct name_ask *a, enum outcome o, const char *port, const struct err *why)
{
    struct request *rq = TAILQ_FIRST(&a->waiters.list);

    if (a->peer && a->job)
        ask_tell(a->peer, a->job, a->id, o, NULL, port, port ? strlen(port) : 0, why);
    if (rq) {
        if (port)
            reply_text(rq, 0, port, strlen(port));
        request_finish(rq, o, why);
    }
    name_ask_free(a);
}

void name_done(struct name_ask *a, const char *port, const struct err *why)
{
    struct err none;

    err_set(&none, ERR_OTHER, "service_not_found");
    if (why)
        answer(a, FAILED, NULL, why);
    else if (a->want.op == NAME_LOOKUP && !port)
        answer(a, NOT_FOUND, NULL, &none);
    else
        answer(a, REPLY, a->want.op == NAME_LOOKUP ? port : NULL, NULL);
}

static struct name_ask *waiting_for(struct job *j, const char *name)
{
    struct kvs_entry found;
    struct name_ask *a;

    TAILQ_FOREACH(a, &j->server->names_asked, in_server)
        if (a->here && !is_idle(a) && a->job && !strcmp(a->want.name, name) &&
            find(a->job, name, &found))
            return a;
    return NULL;
}

/* A name is there: answer those who wait for it. */
static void wake(struct job *j, const char *name)
{
    struct name_ask *a;

    while ((a = waiting_for(j, name))) {
        char port[LIMIT_PORT + 1];

        snprintf(port, sizeof port, "%s", look_up(a->job, name));
        answer(a, REPLY, port, NULL);
    }
}

void server_timer(struct server *s, unsigned id)
{
    struct name_ask *a;

    TAILQ_FOREACH(a, &s->names_asked, in_server)
        if (a->timer == id) {
            a->timer = 0;
            name_done(a, NULL, NULL);
            return;
        }
    if (s->layer_ops)
        s->layer_ops->timer(s->layer, id);
}

/* --- asked ------------------------------------------------------------- */

/* Wait for a name of this launcher. */
static void wait_here(struct name_ask *a)
{
    struct server *s = a->server;

    a->here = true;
    if (!a->want.timeout)
        return;
    if (!s->ops.timer) {
        name_done(a, NULL, NULL);
        return;
    }
    a->timer = server_timer_id(s);
    s->ops.timer(s->host, a->timer, a->want.timeout);
}

/* Whoever asks is known to a: it is answered now or later. */
static void run(struct name_ask *a)
{
    struct server *s = a->server;
    struct job *j = a->job;
    struct err why = { 0 };
    const char *port;
    enum outcome o;

    if (s->ops.name && s->ops.name(s->host, a))
        return;
    o = run_here(j, &a->want, &port, &why);
    if (o == NOT_FOUND && a->want.wait) {
        wait_here(a);
        return;
    }
    if (o == REPLY && a->want.op == NAME_PUBLISH) {
        struct local_name name;

        snprintf(name.text, sizeof name.text, "%s", a->want.name);
        answer(a, o, NULL, NULL);
        wake(j, name.text);
        return;
    }
    answer(a, o, port, &why);
}

/* Of a rank that is here. */
static enum outcome begin(struct request *rq, const struct name_want *want, struct err *e)
{
    struct job *j = request_job(rq);
    struct name_ask *a;

    names_forget(j->server, NULL, NULL);
    a = name_ask_new(j, want);
    if (!a || !request_park(rq, &a->waiters, e)) {
        if (a)
            name_ask_free(a);
        else
            err_set(e, ERR_NOMEM, "no memory for a name");
        return FAILED;
    }
    run(a);
    return PARKED;
}

int names_take(struct peer *p, struct job *j, unsigned id, const struct name_want *want)
{
    struct name_ask *a = name_ask_new(j, want);
    struct err why;

    if (!a) {
        err_set(&why, ERR_NOMEM, "no memory for a name");
        ask_tell(p, j, id, FAILED, NULL, NULL, 0, &why);
        return 0;
    }
    a->peer = p;
    a->id = id;
    run(a);
    return 0;
}

/* Most need not wait, and cost nothing then. */
static enum outcome at_root(struct request *rq, const struct name_want *w, struct err *e)
{
    struct job *j = request_job(rq);
    const char *port;
    enum outcome o;

    if (j->server->ops.name)
        return begin(rq, w, e);
    o = run_here(j, w, &port, e);
    if (o == NOT_FOUND && w->wait)
        return begin(rq, w, e);
    if (port)
        reply_text(rq, 0, port, strlen(port));
    if (o == REPLY && w->op == NAME_PUBLISH)
        wake(j, w->name);
    return o;
}

static enum outcome serve(struct request *rq, enum name_op op, struct err *e)
{
    struct name_want w = { .op = op, .name = rq->arg[ARG_NAME].s, .port = rq->arg[ARG_PORT].s };
    struct server *s = rq->conn->server;

    if (s->options.no_names) {
        err_set(e, ERR_OTHER, "there is no name service");
        return FAILED;
    }
    if (!rq->arg[ARG_NAME].len) {
        err_set(e, ERR_INVALID_ARG, "the service name is empty");
        return FAILED;
    }
    if (name_read_options(&w, &s->in, e) < 0)
        return FAILED;
    return is_root(s) ? at_root(rq, &w, e) : ask_name(rq, &w, e);
}

enum outcome cmd_publish(struct request *rq, struct err *e)
{
    return serve(rq, NAME_PUBLISH, e);
}

enum outcome cmd_unpublish(struct request *rq, struct err *e)
{
    return serve(rq, NAME_UNPUBLISH, e);
}

enum outcome cmd_lookup(struct request *rq, struct err *e)
{
    return serve(rq, NAME_LOOKUP, e);
}

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
    struct job      *job;                /* borrowed; NULL when it is gone, or a tool asks */
    int              owner;              /* as kept with names: of a job its number */
    name_told_fn    *told;               /* the layer, which is to be told; NULL: it is not */
    void            *who;
    struct name_want want;               /* its texts are owned */
    struct waiters   waiters;            /* the request of a rank that is here */
    struct peer     *peer;               /* or the server below that is to be told, */
    unsigned         id;                 /* and its number of the question */
    bool             here;               /* waits for a name of this launcher, ... */
    unsigned         timer;              /* ... with this timer; 0: none */
};

const struct name_want *name_wants(const struct name_ask *a) { return &a->want; }
struct job *name_job(const struct name_ask *a) { return a->job; }

/* Whose a name is, and who looks for one. */
struct asker { struct server *server; int owner; };

static struct asker asker_of(const struct job *j)
{
    return (struct asker){ j->server, j->number };
}

static struct asker asker_in(const struct name_ask *a)
{
    return (struct asker){ a->server, a->owner };
}

/* NULL: no memory. */
static struct name_ask *name_ask_new(const struct asker *by, struct job *j,
                                     const struct name_want *want)
{
    struct name_ask *a = calloc(1, sizeof *a);
    char *name = strdup(want->name), *port = strdup(want->port ? want->port : "");

    if (!a || !name || !port) {
        free(a);
        free(name);
        free(port);
        return NULL;
    }
    a->server = by->server;
    a->owner = by->owner;
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
    return a->here && !a->peer && !a->told && TAILQ_EMPTY(&a->waiters.list);
}

/* Names end with the job that has published them, unless it wanted otherwise and others see
 * them. */
void names_end(struct server *s, int owner)
{
    struct kvs *names = s->names;
    struct kvs_entry found;

    for (size_t i = 0; kvs_at(names, i, &found);)
        if (found.src != owner ||
            (persistence_of(&found) == PERSIST_INDEFINITE && *found.key == FOR_USER))
            i++;
        else
            kvs_remove(names, found.key);
}

void names_forget(struct server *s, const struct job *j, const struct peer *p)
{
    struct name_ask *a, *next;

    if (j)
        names_end(s, j->number);
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

static struct local_name spell(const struct asker *by, const char *name, bool of_job)
{
    struct local_name k;

    if (of_job)
        snprintf(k.text, sizeof k.text, "%c%d:%.*s", FOR_JOB, by->owner, LIMIT_SERVICE, name);
    else
        snprintf(k.text, sizeof k.text, "%c%.*s", FOR_USER, LIMIT_SERVICE, name);
    return k;
}

/* What somebody sees: his own first. */
static int find(const struct asker *by, const char *name, struct kvs_entry *out)
{
    struct kvs *names = by->server->names;

    return kvs_get(names, spell(by, name, true).text, out) ||
           kvs_get(names, spell(by, name, false).text, out);
}

/* The port of a name that somebody sees, valid until the next publish; or NULL.  A name may
 * be there for the first who looks it up only. */
static const char *look_up(const struct asker *by, const char *name)
{
    struct kvs_entry found;

    if (!find(by, name, &found))
        return NULL;
    if (persistence_of(&found) == PERSIST_FIRST_READ)
        kvs_remove(by->server->names, found.key);
    return found.value + 1;
}

static int add_here(const struct asker *by, const struct name_want *w, struct err *e)
{
    struct kvs *names = by->server->names;
    struct local_name key = spell(by, w->name, w->range == RANGE_JOB);
    char text[LIMIT_PUBLISHED + 2];
    struct kvs_entry found;
    int len = snprintf(text, sizeof text, "%d%.*s", (int)w->persistence, LIMIT_PUBLISHED,
                       w->port);

    if (kvs_get(names, key.text, &found))
        return err_set(e, ERR_INVALID_KEY, "service %.64s is published already", w->name);
    if (kvs_count(names) >= LIMIT_NAMES)
        return err_set(e, ERR_NOMEM, "more than %d names are published", LIMIT_NAMES);
    return kvs_put(names, by->owner, key.text, text, (size_t)len, e);
}

static int remove_here(const struct asker *by, const struct name_want *w, struct err *e)
{
    struct kvs_entry found;

    if (!find(by, w->name, &found))
        return err_set(e, ERR_OTHER, "service_not_found");
    if (found.src != by->owner)
        return err_set(e, ERR_OTHER, "service %.64s belongs to another job", w->name);
    kvs_remove(by->server->names, found.key);
    return 0;
}

/* REPLY, NOT_FOUND or FAILED.  *port: what was looked up; valid until the next publish. */
static enum outcome run_here(const struct asker *by, const struct name_want *w,
                             const char **port, struct err *e)
{
    *port = NULL;
    if (w->op == NAME_PUBLISH)
        return add_here(by, w, e) < 0 ? FAILED : REPLY;
    if (w->op == NAME_UNPUBLISH)
        return remove_here(by, w, e) < 0 ? FAILED : REPLY;
    *port = look_up(by, w->name);
    if (*port)
        return REPLY;
    err_set(e, ERR_OTHER, "service_not_found");
    return NOT_FOUND;
}

/* --- answers ----------------------------------------------------------- */

/* Tell whoever has asked by way of PMI. */
static void answer_pmi(struct name_ask *a, enum outcome o, const char *port,
                       const struct err *why)
{
    struct request *rq = TAILQ_FIRST(&a->waiters.list);
    const char *text = port ? name_untag(port, NULL) : NULL;

    if (a->peer && a->job)
        ask_tell(a->peer, a->job, a->id, o, NULL, text, text ? strlen(text) : 0, why);
    if (rq) {
        if (text)
            reply_text(rq, 0, text, strlen(text));
        request_finish(rq, o, why);
    }
}

static void answer(struct name_ask *a, enum outcome o, const char *port, const struct err *why)
{
    name_told_fn *told = a->told;
    void *who = a->who;

    answer_pmi(a, o, port, why);
    name_ask_free(a);
    if (told)
        told(who, o, port, why);
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

static struct name_ask *waiting_for(struct server *s, const char *name)
{
    struct kvs_entry found;
    struct name_ask *a;

    TAILQ_FOREACH(a, &s->names_asked, in_server) {
        struct asker by = asker_in(a);

        if (a->here && !is_idle(a) && (a->job || a->told) && !strcmp(a->want.name, name) &&
            find(&by, name, &found))
            return a;
    }
    return NULL;
}

/* A name is there: answer those who wait for it. */
static void wake(struct server *s, const char *name)
{
    struct name_ask *a;

    while ((a = waiting_for(s, name))) {
        struct asker by = asker_in(a);
        char port[LIMIT_PUBLISHED + 1];

        snprintf(port, sizeof port, "%s", look_up(&by, name));
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
    a->timer = server_timer_id(s);
    s->ops.timer(s->host, a->timer, a->want.timeout);
}

/* What is done here at once; PARKED: it waits, or the resident server is at work on it. */
static enum outcome carry_out(struct name_ask *a, const char **port, struct err *e)
{
    struct server *s = a->server;
    struct asker by = asker_in(a);
    enum outcome o;

    *port = NULL;
    if (!a->want.here && s->ops.name && s->ops.name(s->host, a))
        return PARKED;
    o = run_here(&by, &a->want, port, e);
    if (o != NOT_FOUND || !a->want.wait || (a->want.timeout && !s->ops.timer))
        return o;
    wait_here(a);
    return PARKED;
}

/* Whoever asks is known to a: it is answered now or later. */
static void run(struct name_ask *a)
{
    struct server *s = a->server;
    struct err why = { 0 };
    const char *port;
    enum outcome o = carry_out(a, &port, &why);

    if (o == PARKED)
        return;
    if (o == REPLY && a->want.op == NAME_PUBLISH) {
        struct local_name name;

        snprintf(name.text, sizeof name.text, "%s", a->want.name);
        answer(a, o, NULL, NULL);
        wake(s, name.text);
        return;
    }
    answer(a, o, port, &why);
}

/* Of a rank that is here. */
static enum outcome begin(struct request *rq, const struct name_want *want, struct err *e)
{
    struct job *j = request_job(rq);
    struct asker by = asker_of(j);
    struct name_ask *a;

    names_forget(j->server, NULL, NULL);
    a = name_ask_new(&by, j, want);
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
    struct asker by = asker_of(j);
    struct name_ask *a = name_ask_new(&by, j, want);
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
    struct asker by = asker_of(j);
    const char *port;
    enum outcome o;

    if (j->server->ops.name)
        return begin(rq, w, e);
    o = run_here(&by, w, &port, e);
    if (o == NOT_FOUND && w->wait)
        return begin(rq, w, e);
    if (port && (port = name_untag(port, NULL)))
        reply_text(rq, 0, port, strlen(port));
    if (o == REPLY && w->op == NAME_PUBLISH)
        wake(j->server, w->name);
    return o;
}

/* --- for the layer ----------------------------------------------------- */

enum outcome name_ask_for(struct server *s, const struct name_call *call, struct name_ask **a,
                          const char **port, struct err *e)
{
    struct asker by = { s, call->job ? call->job->number : call->owner };
    struct name_ask *x;
    enum outcome o = FAILED;

    *a = NULL;
    *port = NULL;
    x = s->options.no_names ? NULL : name_ask_new(&by, call->job, &call->want);
    if (!x) {
        err_set(e, s->options.no_names ? ERR_OTHER : ERR_NOMEM, s->options.no_names
                ? "there is no name service" : "no memory for a name");
        return o;
    }
    o = carry_out(x, port, e);
    if (o != PARKED) {
        name_ask_free(x);
        if (o == REPLY && call->want.op == NAME_PUBLISH)
            wake(s, call->want.name);
        return o;
    }
    x->told = call->told;
    x->who = call->who;
    *a = x;
    return PARKED;
}

void name_ask_drop(struct name_ask *a)
{
    a->told = NULL;
    if (is_idle(a))
        name_ask_free(a);
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

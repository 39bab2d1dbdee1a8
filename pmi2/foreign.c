/* foreign.c - jobs of other launchers of the same user.
 *
 * One is here as a struct job without ranks, as long as a job of ours is connected to it:
 * linked.c walks over it as over any other.  Its keys are either asked of its launcher,
 * over a link (far.c) that the host has made, or are a copy that a client has handed over
 * (copy.c). */
#include "pmi2/foreign_impl.h"

#include <stdlib.h>
#include <string.h>

const char *far_job(const struct far_ask *a) { return a->other; }

/* --- foreign jobs ------------------------------------------------------ */

struct job *foreign_named(struct server *s, const char *id)
{
    struct job *x;

    TAILQ_FOREACH(x, &s->foreign, in_server)
        if (!strcmp(x->id, id))
            return x;
    return NULL;
}

/* As server_add_job takes them. */
static bool is_id(const char *id)
{
    size_t n = strlen(id);

    return n && n < LIMIT_JOBID && !strpbrk(id, "; =\t\n");
}

struct job *foreign_add(struct server *s, const char *id, struct err *e)
{
    struct job *x;

    if (!is_id(id)) {
        err_set(e, ERR_INVALID_ARG, "'%.64s' is no job id", id);
        return NULL;
    }
    if (s->nforeign >= LIMIT_FOREIGN || !(x = calloc(1, sizeof *x))) {
        err_set(e, ERR_NOMEM, "more than %d jobs of other launchers, or no memory", LIMIT_FOREIGN);
        return NULL;
    }
    x->server = s;
    x->foreign = true;
    memcpy(x->id, id, strlen(id) + 1);
    x->number = ++s->foreign_count;
    s->nforeign++;
    TAILQ_INSERT_TAIL(&s->foreign, x, in_server);
    return x;
}

void foreign_drop(struct job *x)
{
    job_unlink(x);
    kvs_free(x->kvs);
    kvs_free(x->coming);
    TAILQ_REMOVE(&x->server->foreign, x, in_server);
    x->server->nforeign--;
    free(x);
}

void foreign_drop_idle(struct server *s)
{
    struct job *x, *next;

    for (x = TAILQ_FIRST(&s->foreign); x; x = next) {
        next = TAILQ_NEXT(x, in_server);
        if (!x->nlinked && !x->copier)
            foreign_drop(x);
    }
}

struct job *server_failed(struct server *s, int *status)
{
    struct job *x;

    TAILQ_FOREACH(x, &s->foreign, in_server)
        if (x->failed_with) {
            *status = x->failed_with;
            return x;
        }
    return NULL;
}

void server_forget(struct job *foreign)
{
    foreign_drop(foreign);
}

/* Its launcher can be asked. */
static void adopt(struct job *x, struct far *f)
{
    if (x->far)
        return;
    x->far = f;
    kvs_free(x->kvs);
    kvs_free(x->coming);
    x->kvs = x->coming = NULL;
    x->copier = NULL;
}

int foreign_join(struct job *j, const char *id, struct far *f, struct err *e)
{
    struct server *s = j->server;
    struct job *x = foreign_named(s, id);

    if (job_named(s, id))
        return err_set(e, ERR_INVALID_ARG, "a job %.64s runs here, too", id);
    if (!x && !(x = foreign_add(s, id, e)))
        return -1;
    adopt(x, f);
    if (job_connect(j, x, e) == 0)
        return 0;
    foreign_drop_idle(s);
    return -1;
}

void foreign_disconnect(struct job *j, struct job *x)
{
    if (x->far)
        far_disconnect(j, x);
    foreign_drop_idle(j->server);
}

void job_failed(struct job *j, int status)
{
    far_tell_end(j->server, j, status > 0 && status < 256 ? status : 1);
}

/* --- questions --------------------------------------------------------- */

static void far_ask_free(struct far_ask *a)
{
    struct request *rq;

    TAILQ_REMOVE(&a->server->far_asks, a, in_server);
    TAILQ_FOREACH(rq, &a->waiters.list, in_wait)
        rq->waits = NULL;
    free(a);
}

/* The request of by, if there is one, is parked.  NULL and e. */
static struct far_ask *far_ask_new(struct job *j, enum far_op op, const char *id,
                                   const struct asked_by *by, struct err *e)
{
    struct far_ask *a = calloc(1, sizeof *a);

    if (!a) {
        err_set(e, ERR_NOMEM, "no memory to ask another launcher");
        return NULL;
    }
    a->server = j->server;
    a->job = j;
    a->op = op;
    memcpy(a->other, id, strlen(id) + 1);
    a->by = *by;
    a->by.rq = NULL;
    waiters_init(&a->waiters);
    TAILQ_INSERT_TAIL(&a->server->far_asks, a, in_server);
    if (!by->rq || request_park(by->rq, &a->waiters, e))
        return a;
    far_ask_free(a);
    return NULL;
}

static void finish(struct far_ask *a, enum outcome o, const char *value, size_t len,
                   const struct err *why)
{
    struct request *rq = TAILQ_FIRST(&a->waiters.list);

    if (a->by.peer && a->job)
        ask_tell(a->by.peer, a->job, a->by.id, o, NULL, value, len, why);
    if (rq) {
        if (value)
            reply_text(rq, 0, value, len);
        request_finish(rq, o, why);
    }
    far_ask_free(a);
}

static void refuse(struct far_ask *a, const char *fmt)
{
    struct err why;

    err_set(&why, ERR_INVALID_ARG, fmt, a->other);
    finish(a, FAILED, NULL, 0, &why);
}

static const char no_job[] = "there is no job %.64s here";

/* There is no launcher to be asked: the client copies, if it can.  One that has not said so
 * is told no: MPICH's would read TRUE as a number that is 0, and go on unconnected. */
static void finish_unlinked(struct far_ask *a)
{
    struct job *x = foreign_named(a->server, a->other);

    if (a->job && x && job_linked(a->job, x))    /* it was the other side that made it */
        finish(a, REPLY, NULL, 0, NULL);
    else if (a->by.copies)
        finish(a, REPLY, "TRUE", 4, NULL);
    else
        refuse(a, no_job);
}

void far_found(struct far_ask *a, struct far *f)
{
    a->far = f;
    if (f && a->job)
        far_connect(a);
    else
        finish_unlinked(a);
}

static enum outcome fails(const char *fmt, const char *id, struct err *e)
{
    err_set(e, ERR_INVALID_ARG, fmt, id);
    return FAILED;
}

enum outcome foreign_connect(struct job *j, const char *id, const struct asked_by *by,
                             struct kvs_entry *found, struct err *e)
{
    struct server *s = j->server;
    struct job *x = foreign_named(s, id);
    struct far_ask *a;

    if (x && job_linked(j, x))
        return REPLY;
    if (!is_id(id))
        return fails(no_job, id, e);
    if (!(x && x->far) && !s->ops.introduce) {
        if (!by->copies)
            return fails(no_job, id, e);
        *found = (struct kvs_entry){ .value = "TRUE", .len = 4 };
        return REPLY;
    }
    a = far_ask_new(j, FAR_CONNECT, id, by, e);
    if (!a)
        return FAILED;
    if (x && x->far)
        far_found(a, x->far);
    else if (!s->ops.introduce(s->host, a))
        far_found(a, NULL);
    return PARKED;
}

struct job *foreign_way(struct job *j, int after)
{
    struct job *x;

    TAILQ_FOREACH(x, &j->server->foreign, in_server)
        if (x->number > after && x->far && job_connected(j, x))
            return x;
    return NULL;
}

/* A job that is not known here may be connected to one that is. */
static void get_by_next(struct far_ask *a)
{
    struct job *way = a->job ? foreign_way(a->job, a->tried) : NULL;

    if (way)
        far_get(a, way);
    else
        refuse(a, no_job);
}

enum outcome foreign_get(struct job *j, const char *id, const char *key,
                         const struct asked_by *by, struct kvs_entry *found, struct err *e)
{
    struct job *x = foreign_named(j->server, id);
    struct far_ask *a;

    if (x && x->kvs && job_connected(j, x))
        return kvs_get(x->kvs, key, found) ? REPLY : NOT_FOUND;
    if (x && !x->far)
        return fails("job %.64s is not connected to this one", id, e);
    if (!foreign_way(j, 0) || strlen(id) >= LIMIT_JOBID || strlen(key) > LIMIT_KEY)
        return fails(x ? "job %.64s is not connected to this one" : no_job, id, e);
    a = far_ask_new(j, FAR_GET, id, by, e);
    if (!a)
        return FAILED;
    memcpy(a->key, key, strlen(key) + 1);
    a->direct = x && job_connected(j, x);
    if (a->direct)
        far_get(a, x);
    else
        get_by_next(a);
    return PARKED;
}

void foreign_answer(struct far_ask *a, const struct pair *value, struct err *why)
{
    if (a->op == FAR_CONNECT) {
        bool good = !why->code && (!a->job || foreign_join(a->job, a->other, a->far, why) == 0);

        finish(a, good ? REPLY : FAILED, NULL, 0, why);
    } else if (why->code && !a->direct) {
        get_by_next(a);
    } else if (why->code) {
        finish(a, FAILED, NULL, 0, why);
    } else if (!value) {
        err_set(why, ERR_OTHER, "key not found");
        finish(a, NOT_FOUND, NULL, 0, why);
    } else {
        finish(a, REPLY, value->val, value->len, NULL);
    }
}

void foreign_unanswered(struct far_ask *a)
{
    if (a->op == FAR_CONNECT)
        finish_unlinked(a);
    else
        refuse(a, "the launcher of job %.64s is gone");
}

/* --- life -------------------------------------------------------------- */

/* Whoever asks for a job that has ended is not answered; its launcher, which may be about
 * to connect it, hears of the end as well. */
void foreign_forget(struct server *s, struct job *j, const struct peer *p)
{
    struct far_ask *a;

    TAILQ_FOREACH(a, &s->far_asks, in_server) {
        if (j && a->job == j)
            a->job = NULL;
        if (p && a->by.peer == p)
            a->by.peer = NULL;
    }
    if (j) {
        struct job *x;

        far_tell_end(s, j, 0);
        job_unlink(j);
        TAILQ_FOREACH(x, &s->foreign, in_server)
            if (x->copier == j)
                x->copier = NULL;
    }
    foreign_drop_idle(s);
}

void foreign_free(struct server *s)
{
    struct far_ask *a;
    struct far *f;
    struct job *x;

    while ((a = TAILQ_FIRST(&s->far_asks)))
        far_ask_free(a);
    while ((f = TAILQ_FIRST(&s->fars)))
        far_free(f);
    while ((x = TAILQ_FIRST(&s->foreign)))
        foreign_drop(x);
}

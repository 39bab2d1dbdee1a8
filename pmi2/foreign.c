/* foreign.c - jobs of other launchers of the same user.
 *
 * One is here as a struct job without ranks, as long as a job of ours is connected to it:
 * linked.c walks over it as over any other.  Its keys are either asked of its launcher,
 * over a link (far) that the host has made, or are a copy that a client has handed over
 * (copy.c).  Messages between launchers: pmi2/PEERS. */
#include "pmi2/core.h"

#include <stdlib.h>
#include <string.h>

struct far {                             /* the link to another launcher */
    TAILQ_ENTRY(far) in_server;
    struct server *server;
    void          *link;                 /* the host's */
};

enum far_op { FAR_CONNECT, FAR_GET };

struct far_ask {                         /* what another launcher is asked, until it answers */
    TAILQ_ENTRY(far_ask) in_server;
    struct server *server;
    struct job    *job;                  /* borrowed; NULL when it is gone */
    enum far_op    op;
    char           other[LIMIT_JOBID];
    char           key[LIMIT_KEY + 1];   /* FAR_GET */
    struct far    *far;                  /* borrowed; NULL: the host looks for it */
    unsigned       number;               /* of the question there */
    bool           direct;               /* no other launcher can know it */
    int            tried;                /* number of the foreign job whose launcher is asked */
    struct waiters waiters;              /* who waits: a request here */
    struct asked_by by;                  /* or (peer) a server below */
};

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

struct job *foreign_add(struct server *s, const char *id, struct err *e)
{
    size_t n = strlen(id);
    struct job *x;

    if (!n || n >= LIMIT_JOBID || strpbrk(id, "; =\t\n")) {
        err_set(e, ERR_INVALID_ARG, "'%.64s' is no job id", id);
        return NULL;
    }
    if (s->nforeign >= LIMIT_FOREIGN || !(x = calloc(1, sizeof *x))) {
        err_set(e, ERR_NOMEM, "more than %d jobs of other launchers, or no memory", LIMIT_FOREIGN);
        return NULL;
    }
    x->server = s;
    x->foreign = true;
    memcpy(x->id, id, n + 1);
    x->number = ++s->foreign_count;
    s->nforeign++;
    TAILQ_INSERT_TAIL(&s->foreign, x, in_server);
    return x;
}

static void drop(struct job *x)
{
    job_unlink(x);
    kvs_free(x->kvs);
    kvs_free(x->coming);
    TAILQ_REMOVE(&x->server->foreign, x, in_server);
    x->server->nforeign--;
    free(x);
}

/* Those that nothing is connected to any more. */
static void drop_idle(struct server *s)
{
    struct job *x, *next;

    for (x = TAILQ_FIRST(&s->foreign); x; x = next) {
        next = TAILQ_NEXT(x, in_server);
        if (!x->nlinked && !x->copier)
            drop(x);
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
    drop(foreign);
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

/* A job of ours is now connected to the foreign one of that id, by that link. */
static int connect_to(struct job *j, const char *id, struct far *f, struct err *e)
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
    drop_idle(s);
    return -1;
}

/* --- what is sent ------------------------------------------------------ */

static struct msg *begin(struct far *f, const char *cmd)
{
    msg_start(&f->server->out, cmd);
    return &f->server->out;
}

static void send_out(struct far *f)
{
    struct server *s = f->server;
    struct buf frame = BUF_INIT;

    if (wire_v2.format(&s->out, LIMIT_FRAME_LINK, &frame, NULL) < 0 || frame.failed)
        s->ops.far_send(s->host, f->link, NULL, 0);
    else
        s->ops.far_send(s->host, f->link, buf_bytes(&frame), frame.len);
    buf_clear(&frame);
}

/* Two launchers may be linked twice, as each has asked for the other, and a link may end
 * before the other is read: the end of a job goes over all. */
static void tell_all(struct server *s, const char *cmd, const struct job *j, int status)
{
    struct far *f;

    TAILQ_FOREACH(f, &s->fars, in_server) {
        struct msg *m = begin(f, cmd);

        msg_str(m, "job", j->id);
        if (status)
            msg_int(m, "status", status);
        send_out(f);
    }
}

static void send_connect(struct far_ask *a)
{
    struct msg *m = begin(a->far, "connect");

    a->number = ++a->server->far_id;
    msg_int(m, "id", a->number);
    msg_str(m, "job", a->job->id);
    msg_str(m, "to", a->other);
    send_out(a->far);
}

/* from: the foreign job by way of which the other is connected; or that itself. */
static void send_get(struct far_ask *a, const struct job *from)
{
    struct msg *m = begin(from->far, "get");

    a->far = from->far;
    a->tried = from->number;
    a->number = ++a->server->far_id;
    msg_int(m, "id", a->number);
    msg_str(m, "from", from->id);
    msg_str(m, "of", a->other);
    msg_str(m, "key", a->key);
    send_out(a->far);
}

void foreign_disconnect(struct job *j, struct job *x)
{
    if (x->far) {
        struct msg *m = begin(x->far, "disconnect");

        msg_str(m, "job", j->id);
        msg_str(m, "to", x->id);
        send_out(x->far);
    }
    drop_idle(j->server);
}

void job_failed(struct job *j, int status)
{
    tell_all(j->server, "failed", j, status > 0 && status < 256 ? status : 1);
}

/* --- questions --------------------------------------------------------- */

static void ask_free(struct far_ask *a)
{
    struct request *rq;

    TAILQ_REMOVE(&a->server->far_asks, a, in_server);
    TAILQ_FOREACH(rq, &a->waiters.list, in_wait)
        rq->waits = NULL;
    free(a);
}

/* The request of by, if there is one, is parked.  NULL and e. */
static struct far_ask *ask_new(struct job *j, enum far_op op, const char *id,
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
    ask_free(a);
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
    ask_free(a);
}

static void refuse(struct far_ask *a, const char *fmt)
{
    struct err why;

    err_set(&why, ERR_INVALID_ARG, fmt, a->other);
    finish(a, FAILED, NULL, 0, &why);
}

static const char no_job[] = "there is no job %.64s here";

/* There is no launcher to be asked: the client copies, if it can. */
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
        send_connect(a);
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
    if ((!(x && x->far) && !s->ops.introduce) || strlen(id) >= LIMIT_JOBID) {
        if (!by->copies)
            return fails(no_job, id, e);
        *found = (struct kvs_entry){ .value = "TRUE", .len = 4 };
        return REPLY;
    }
    a = ask_new(j, FAR_CONNECT, id, by, e);
    if (!a)
        return FAILED;
    if (x && x->far)
        far_found(a, x->far);
    else if (!s->ops.introduce(s->host, a))
        far_found(a, NULL);
    return PARKED;
}

/* The next foreign job after that number whose launcher can be asked for j. */
static struct job *next_way(struct job *j, int after)
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
    struct job *way = a->job ? next_way(a->job, a->tried) : NULL;

    if (way)
        send_get(a, way);
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
    if (!next_way(j, 0) || strlen(id) >= LIMIT_JOBID || strlen(key) > LIMIT_KEY)
        return fails(x ? "job %.64s is not connected to this one" : no_job, id, e);
    a = ask_new(j, FAR_GET, id, by, e);
    if (!a)
        return FAILED;
    memcpy(a->key, key, strlen(key) + 1);
    a->direct = x && job_connected(j, x);
    if (a->direct)
        send_get(a, x);
    else
        get_by_next(a);
    return PARKED;
}

/* --- what comes -------------------------------------------------------- */

static void answer(struct far *f, long long id, enum outcome o, const struct kvs_entry *found,
                   const struct err *why)
{
    struct msg *m = begin(f, "answer");

    msg_int(m, "id", id);
    msg_int(m, "rc", o == FAILED ? (long long)why->code : 0);
    if (o == NOT_FOUND)
        msg_int(m, "miss", 1);
    if (o == FAILED)
        msg_str(m, "errmsg", why->text);
    if (found && o == REPLY)
        msg_bytes(m, "value", found->value, found->len);
    send_out(f);
}

/* The texts of these fields. */
static int texts(const struct msg *m, const char *a, const char **a_out, const char *b,
                 const char **b_out, struct err *e)
{
    *a_out = msg_get(m, a);
    *b_out = msg_get(m, b);
    return *a_out && *b_out ? 0 : err_set(e, ERR_INVALID_ARG, "%s and %s wanted", a, b);
}

static int on_connect(struct far *f, const struct msg *m, struct err *e)
{
    const char *job, *to;
    struct err why = { 0 };
    enum outcome o = REPLY;
    struct job *j;
    long long id;

    if (msg_number(m, "id", 0, UINT32_MAX, &id, e) < 0 || texts(m, "job", &job, "to", &to, e) < 0)
        return -1;
    j = job_named(f->server, to);
    if (!j)
        o = fails(no_job, to, &why);
    else if (connect_to(j, job, f, &why) < 0)
        o = FAILED;
    answer(f, id, o, NULL, &why);
    return 0;
}

static int on_disconnect(struct far *f, const struct msg *m, struct err *e)
{
    struct job *j, *x;
    const char *job, *to;

    if (texts(m, "job", &job, "to", &to, e) < 0)
        return -1;
    j = job_named(f->server, to);
    x = foreign_named(f->server, job);
    if (j && x)
        job_disconnect(j, x);
    drop_idle(f->server);
    return 0;
}

/* Whether the job is connected to one of another launcher, so that this may ask. */
static bool is_far(struct job *j)
{
    return next_way(j, 0) != NULL;
}

static int on_get(struct far *f, const struct msg *m, struct err *e)
{
    const char *from, *of, *key = msg_get(m, "key");
    struct kvs_entry found;
    struct err why = { 0 };
    struct job *a, *b;
    enum outcome o;
    long long id;

    if (msg_number(m, "id", 0, UINT32_MAX, &id, e) < 0 || !key ||
        texts(m, "from", &from, "of", &of, e) < 0)
        return err_set(e, ERR_INVALID_ARG, "id, from, of and key wanted");
    a = job_named(f->server, from);
    b = job_named(f->server, of);
    if (!b)
        o = fails(no_job, of, &why);
    else if (!a || !is_far(a) || !job_connected(a, b))
        o = fails("job %.64s is not connected to this one", of, &why);
    else
        o = kvs_get(b->kvs, key, &found) ? REPLY : NOT_FOUND;
    answer(f, id, o, &found, &why);
    return 0;
}

static struct far_ask *find_ask(struct far *f, long long number)
{
    struct far_ask *a;

    TAILQ_FOREACH(a, &f->server->far_asks, in_server)
        if (a->far == f && a->number == number)
            return a;
    return NULL;
}

static void take_connected(struct far_ask *a, struct err *why)
{
    bool good = !why->code && (!a->job || connect_to(a->job, a->other, a->far, why) == 0);

    finish(a, good ? REPLY : FAILED, NULL, 0, why);
}

static int on_answer(struct far *f, const struct msg *m, struct err *e)
{
    const struct pair *value = msg_find(m, "value"), *text = msg_find(m, "errmsg");
    long long id, rc;
    struct err why = { 0 };
    struct far_ask *a;

    if (msg_number(m, "id", 0, UINT32_MAX, &id, e) < 0 || msg_number(m, "rc", 0, 1000, &rc, e) < 0)
        return -1;
    if (value && value->len > LIMIT_VALUE)
        return err_set(e, ERR_LENGTH, "a value of %zu bytes", value->len);
    a = find_ask(f, id);
    if (!a)
        return 0;
    if (rc)
        err_set(&why, (enum err_code)rc, "%s", text ? text->val : "refused by its launcher");
    if (a->op == FAR_CONNECT) {
        take_connected(a, &why);
    } else if (rc && !a->direct) {
        get_by_next(a);
    } else if (rc || !value) {
        if (!rc)
            err_set(&why, ERR_OTHER, "key not found");
        finish(a, rc ? FAILED : NOT_FOUND, NULL, 0, &why);
    } else {
        finish(a, REPLY, value->val, value->len, NULL);
    }
    return 0;
}

static int on_ended(struct far *f, const struct msg *m, struct err *e)
{
    const char *job = msg_get(m, "job");
    struct job *x = job ? foreign_named(f->server, job) : NULL;

    if (!job)
        return err_set(e, ERR_INVALID_ARG, "a job wanted");
    if (x && x->far && !x->failed_with)  /* else the host has not seen it yet */
        drop(x);
    return 0;
}

static int on_failed(struct far *f, const struct msg *m, struct err *e)
{
    const char *job = msg_get(m, "job");
    struct job *x = job ? foreign_named(f->server, job) : NULL;
    long long status;

    if (!job || msg_number(m, "status", 1, 255, &status, e) < 0)
        return err_set(e, ERR_INVALID_ARG, "a job and a status wanted");
    if (x && x->far && !x->failed_with)
        x->failed_with = (int)status;
    return 0;
}

int far_input(struct far *f, const struct msg *m, struct err *e)
{
    static const struct {
        const char *cmd;
        int (*run)(struct far *f, const struct msg *m, struct err *e);
    } rows[] = {
        { "connect", on_connect }, { "disconnect", on_disconnect }, { "get", on_get },
        { "answer", on_answer }, { "ended", on_ended }, { "failed", on_failed },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(rows[i].cmd, m->cmd))
            return rows[i].run(f, m, e) < 0 ? err_context(e, "%s", m->cmd) : 0;
    return err_set(e, ERR_OTHER, "unknown message %.40s", m->cmd);
}

/* --- life -------------------------------------------------------------- */

struct far *far_new(struct server *s, void *link)
{
    struct far *f = calloc(1, sizeof *f);

    if (!f)
        return NULL;
    *f = (struct far){ .server = s, .link = link };
    TAILQ_INSERT_TAIL(&s->fars, f, in_server);
    return f;
}

/* Status of a job whose launcher is gone: that of a launcher that could not go on. */
enum { LOST = 255 };

void far_free(struct far *f)
{
    struct server *s = f->server;
    struct far_ask *a, *next;
    struct job *x;

    TAILQ_REMOVE(&s->fars, f, in_server);
    TAILQ_FOREACH(x, &s->foreign, in_server)
        if (x->far == f) {
            x->far = NULL;
            x->failed_with = x->failed_with ? x->failed_with : LOST;
        }
    for (a = TAILQ_FIRST(&s->far_asks); a; a = next) {
        next = TAILQ_NEXT(a, in_server);
        if (a->far != f)
            continue;
        a->far = NULL;
        if (a->op == FAR_CONNECT)
            finish_unlinked(a);
        else
            refuse(a, "the launcher of job %.64s is gone");
    }
    free(f);
}

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

        tell_all(s, "ended", j, 0);
        job_unlink(j);
        TAILQ_FOREACH(x, &s->foreign, in_server)
            if (x->copier == j)
                x->copier = NULL;
    }
    drop_idle(s);
}

void foreign_free(struct server *s)
{
    struct far_ask *a;
    struct far *f;
    struct job *x;

    while ((a = TAILQ_FIRST(&s->far_asks)))
        ask_free(a);
    while ((f = TAILQ_FIRST(&s->fars)))
        far_free(f);
    while ((x = TAILQ_FIRST(&s->foreign)))
        drop(x);
}

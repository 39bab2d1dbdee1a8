/* far.c - links to other launchers, and what is said over them: pmi2/PEERS, "Launchers". */
#include "pmi2/foreign_impl.h"

#include <stdlib.h>
#include <string.h>

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
void far_tell_end(struct server *s, const struct job *j, int status)
{
    struct far *f;

    TAILQ_FOREACH(f, &s->fars, in_server) {
        struct msg *m = begin(f, status ? "failed" : "ended");

        msg_str(m, "job", j->id);
        if (status)
            msg_int(m, "status", status);
        send_out(f);
    }
}

void far_connect(struct far_ask *a)
{
    struct msg *m = begin(a->far, "connect");

    a->number = ++a->server->far_id;
    msg_int(m, "id", a->number);
    msg_str(m, "job", a->job->id);
    msg_str(m, "to", a->other);
    send_out(a->far);
}

void far_get(struct far_ask *a, const struct job *from)
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

void far_disconnect(const struct job *j, const struct job *x)
{
    struct msg *m = begin(x->far, "disconnect");

    msg_str(m, "job", j->id);
    msg_str(m, "to", x->id);
    send_out(x->far);
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

static enum outcome refuse(const char *fmt, const char *id, struct err *e)
{
    err_set(e, ERR_INVALID_ARG, fmt, id);
    return FAILED;
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
        o = refuse("there is no job %.64s here", to, &why);
    else if (foreign_join(j, job, f, &why) < 0)
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
    foreign_drop_idle(f->server);
    return 0;
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
        o = refuse("there is no job %.64s here", of, &why);
    else if (!a || !foreign_way(a, 0) || !job_connected(a, b))
        o = refuse("job %.64s is not connected to this one", of, &why);
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
    foreign_answer(a, value, &why);
    return 0;
}

static int on_ended(struct far *f, const struct msg *m, struct err *e)
{
    const char *job = msg_get(m, "job");
    struct job *x = job ? foreign_named(f->server, job) : NULL;

    if (!job)
        return err_set(e, ERR_INVALID_ARG, "a job wanted");
    if (x && x->far && !x->failed_with)  /* else the host has not seen it yet */
        foreign_drop(x);
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
        foreign_unanswered(a);
    }
    free(f);
}

/* resident_serve.c - requests to the resident server, and their replies. */
#include "mpiexec_lite/resident_impl.h"

#include "mpiexec_lite/now.h"
#include "pmix_ext/rundir.h"
#include "wire/limits.h"
#include "wire/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* --- replies ----------------------------------------------------------- */

/* Begin one; its fields are added to r->out. */
static void begin(struct resident *r, const char *cmd, long long id, int rc)
{
    snprintf(r->name, sizeof r->name, "%.20s-response", cmd);
    msg_start(&r->out, r->name);
    msg_int(&r->out, "id", id);
    msg_int(&r->out, "rc", rc);
}

/* It goes after the commit.  No memory for it ends the connection, at the same time. */
static void queue(struct client *c, const char *cmd, long long id)
{
    struct resident *r = c->all;
    struct reply *x = calloc(1, sizeof *x);

    if (!x || wire_v2.format(&r->out, LIMIT_FRAME_LINK, &x->frame, NULL) < 0) {
        free(x);
        c->dialog.out.failed = true;
        ev_io_start(r->loop, &c->dialog.writable);
        return;
    }
    x->client = c;
    x->id = id;
    c->pending += x->frame.len;
    snprintf(x->cmd, sizeof x->cmd, "%.19s", cmd);
    TAILQ_INSERT_TAIL(&r->replies, x, in_all);
}

static void reply_error(struct client *c, const char *cmd, long long id, const struct err *e)
{
    struct buf text = BUF_INIT;

    buf_escaped(&text, e->text, strlen(e->text));
    begin(c->all, cmd, id, (int)e->code);
    msg_str(&c->all->out, "errmsg", text.failed ? "no memory" : buf_bytes(&text));
    queue(c, cmd, id);
    buf_clear(&text);
}

static void reply_free(struct resident *r, struct reply *x)
{
    TAILQ_REMOVE(&r->replies, x, in_all);
    buf_clear(&x->frame);
    free(x);
}

void resident_spoil(struct resident *r, const struct err *e)
{
    struct replies old;
    struct reply *x;

    TAILQ_INIT(&old);
    TAILQ_CONCAT(&old, &r->replies, in_all);
    while ((x = TAILQ_FIRST(&old))) {
        TAILQ_REMOVE(&old, x, in_all);
        reply_error(x->client, x->cmd, x->id, e);
        buf_clear(&x->frame);
        free(x);
    }
}

void resident_send(struct resident *r)
{
    struct reply *x;

    while ((x = TAILQ_FIRST(&r->replies))) {
        x->client->pending = 0;
        dialog_send_bytes(&x->client->dialog, buf_bytes(&x->frame), x->frame.len);
        reply_free(r, x);
    }
}

/* --- what the registry asks for ---------------------------------------- */

static void op_store(void *host, const struct reg_name *n)
{
    store_add(((struct resident *)host)->store, n);
}

static void op_drop(void *host, long long serial)
{
    store_remove(((struct resident *)host)->store, serial);
}

static void reply_found(struct client *c, long long id, const struct reg_name *n)
{
    struct msg *out = &c->all->out;

    begin(c->all, "name-lookup", id, 0);
    if (n)
        msg_str(out, "value", n->port);
    else
        msg_int(out, "miss", 1);
    queue(c, "name-lookup", id);
}

static void ticket_free(struct ticket *t)
{
    LIST_REMOVE(t, in_all);
    t->client->waits--;
    free(t);
}

static void op_found(void *host, void *ticket, const struct reg_name *n)
{
    struct ticket *t = ticket;

    (void)host;
    reply_found(t->client, t->id, n);
    ticket_free(t);
}

const struct registry_ops resident_ops = { op_store, op_drop, op_found };

/* --- requests ---------------------------------------------------------- */

/* A text of at most max bytes; "" if it is not there.  NULL and e. */
static const char *text_of(const struct msg *m, const char *key, size_t max, struct err *e)
{
    const struct pair *p = msg_find(m, key);

    if (!p)
        return "";
    if (p->len > max || !utf8_valid(p->val, p->len) || strlen(p->val) != p->len) {
        err_set(e, ERR_INVALID_VAL, "%s: text of at most %zu bytes wanted", key, max);
        return NULL;
    }
    return p->val;
}

/* Who asks: a job of his that runs, or he himself. */
static int read_who(struct client *c, const struct msg *m, struct reg_who *who, struct err *e)
{
    who->uid = c->uid;
    who->job = text_of(m, "job", LIMIT_JOBID + 32, e);
    if (!who->job)
        return -1;
    if (*who->job && !registry_runs(c->all->registry, c->uid, who->job))
        return err_set(e, ERR_INVALID_ARG, "no job %.80s of yours runs", who->job);
    return 0;
}

typedef int request_fn(struct client *c, const struct msg *m, long long id, struct err *e);

static int on_hello(struct client *c, const struct msg *m, long long id, struct err *e)
{
    long long version;

    if (msg_number(m, "version", 1, 1000, &version, e) < 0)
        return -1;
    begin(c->all, m->cmd, id, 0);
    msg_int(&c->all->out, "version", RESIDENT_VERSION);
    msg_int(&c->all->out, "uid", (long long)c->uid);
    msg_int(&c->all->out, "system", c->all->args.system);
    msg_int(&c->all->out, "pid", getpid());
    return 0;
}

static int on_job(struct client *c, const struct msg *m, long long id, struct err *e)
{
    struct reg_job j = { .owner = c->uid, .client = c, .since = time(NULL) };
    long long pid, size;

    if (msg_number(m, "pid", 1, INT32_MAX, &pid, e) < 0 ||
        msg_number(m, "size", 1, INT32_MAX, &size, e) < 0 ||
        !(j.id = text_of(m, "job", LIMIT_JOBID + 32, e)) ||
        !(j.host = text_of(m, "host", 255, e)) ||
        !(j.command = text_of(m, "command", REGISTRY_COMMAND, e)) ||
        !(j.tools = text_of(m, "tools", RUNDIR_PATH - 1, e)))
        return -1;
    if (!*j.id)
        return err_set(e, ERR_INVALID_ARG, "a job has an id");
    j.pid = (long)pid;
    j.size = (long)size;
    if (registry_job(c->all->registry, &j, e) < 0)
        return -1;
    begin(c->all, m->cmd, id, 0);
    return 0;
}

static int on_job_end(struct client *c, const struct msg *m, long long id, struct err *e)
{
    const char *job = text_of(m, "job", LIMIT_JOBID + 32, e);

    if (!job)
        return -1;
    registry_job_end(c->all->registry, c, job);
    begin(c->all, m->cmd, id, 0);
    return 0;
}

static int on_publish(struct client *c, const struct msg *m, long long id, struct err *e)
{
    struct name_want w;
    struct reg_who who;

    if (name_read(&w, m, e) < 0 || read_who(c, m, &who, e) < 0 ||
        registry_publish(c->all->registry, &who, &w, time(NULL), e) < 0)
        return -1;
    begin(c->all, m->cmd, id, 0);
    return 0;
}

static int on_unpublish(struct client *c, const struct msg *m, long long id, struct err *e)
{
    long long owner = -1;
    struct name_want w;
    struct reg_who who;

    if (name_read(&w, m, e) < 0 || read_who(c, m, &who, e) < 0 ||
        (msg_find(m, "owner") && msg_number(m, "owner", 0, UINT32_MAX - 1, &owner, e) < 0) ||
        registry_unpublish(c->all->registry, &who, w.name, (uid_t)owner, e) < 0)
        return -1;
    begin(c->all, m->cmd, id, 0);
    return 0;
}

static int wait_for(struct client *c, const struct reg_who *who, const struct name_want *w,
                    long long id, struct err *e)
{
    struct resident *r = c->all;
    struct ticket *t = c->waits < LIMIT_PARKED ? calloc(1, sizeof *t) : NULL;

    if (!t)
        return err_set(e, ERR_NOMEM, "more than %d lookups wait, or no memory", LIMIT_PARKED);
    *t = (struct ticket){ .client = c, .id = id };
    if (registry_wait(r->registry, who, w->name, now_seconds(), w->timeout, t, e) < 0) {
        free(t);
        return -1;
    }
    c->waits++;
    LIST_INSERT_HEAD(&r->tickets, t, in_all);
    return 1;
}

static int on_lookup(struct client *c, const struct msg *m, long long id, struct err *e)
{
    const struct reg_name *n;
    struct name_want w;
    struct reg_who who;

    if (name_read(&w, m, e) < 0 || read_who(c, m, &who, e) < 0)
        return -1;
    n = registry_lookup(c->all->registry, &who, w.name);
    if (!n && w.wait)
        return wait_for(c, &who, &w, id, e);
    reply_found(c, id, n);
    return 1;
}

static int on_list(struct client *c, const struct msg *m, long long id, struct err *e)
{
    long long after = 0;
    struct rows *rows;

    if (msg_find(m, "after") && msg_number(m, "after", 0, INT64_MAX, &after, e) < 0)
        return -1;
    begin(c->all, m->cmd, id, 0);
    rows = resident_rows(c, !strcmp(m->cmd, "list-names"), after);
    if (!rows)
        return err_set(e, ERR_NOMEM, "no memory for a list");
    queue(c, m->cmd, id);                /* while the rows' texts are there */
    free(rows);
    return 1;
}

static int on_ping(struct client *c, const struct msg *m, long long id, struct err *e)
{
    (void)e;
    begin(c->all, m->cmd, id, 0);
    return 0;
}

static const struct { const char *cmd; request_fn *run; } requests[] = {
    { "hello", on_hello }, { "job", on_job }, { "job-end", on_job_end },
    { "name-publish", on_publish }, { "name-unpublish", on_unpublish },
    { "name-lookup", on_lookup }, { "list-names", on_list }, { "list-jobs", on_list },
    { "ping", on_ping }, { "introduce", resident_introduce },
    { "introduced", resident_introduced },
};

/* Bytes of replies that this user has not read. */
static size_t queued_by(const struct resident *r, uid_t uid)
{
    const struct client *c;
    size_t n = 0;

    TAILQ_FOREACH(c, &r->clients, in_all)
        if (c->uid == uid)
            n += c->pending + c->dialog.out.len;
    return n;
}

/* A request_fn says 0: r->out is the reply; 1: it has been seen to; -1 and e. */
int resident_message(void *host, struct dialog *d, const struct msg *m, struct err *e)
{
    struct client *c = host;
    struct err why = { 0 };
    long long id;
    int rc;

    (void)d;
    if (c->pending > LIMIT_QUEUED)
        return err_set(e, ERR_OTHER, "too many questions at once");
    if (c->pending + c->dialog.out.len > LIMIT_BATCH && queued_by(c->all, c->uid) > LIMIT_UNREAD)
        return err_set(e, ERR_OTHER, "too much waits to be read by this user");
    if (msg_number(m, "id", 0, INT64_MAX, &id, e) < 0)
        return err_context(e, "%.40s", m->cmd);
    if (!strcmp(m->cmd, "tool"))
        return resident_tool(c, m, e);
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        if (strcmp(requests[i].cmd, m->cmd))
            continue;
        rc = requests[i].run(c, m, id, &why);
        if (rc < 0)
            reply_error(c, requests[i].cmd, id, &why);
        else if (rc == 0)
            queue(c, requests[i].cmd, id);
        return 0;
    }
    return err_set(e, ERR_OTHER, "unknown message %.40s", m->cmd);
}

void resident_forget(struct client *c)
{
    struct resident *r = c->all;
    struct ticket *t, *nt;
    struct reply *x, *nx;

    resident_part(c);
    for (t = LIST_FIRST(&r->tickets); t; t = nt) {
        nt = LIST_NEXT(t, in_all);
        if (t->client != c)
            continue;
        registry_cancel(r->registry, t);
        ticket_free(t);
    }
    for (x = TAILQ_FIRST(&r->replies); x; x = nx) {
        nx = TAILQ_NEXT(x, in_all);
        if (x->client == c)
            reply_free(r, x);
    }
}

/* naming.c - see naming.h */
#include "mpiexec_lite/naming.h"

#include "mpiexec_lite/dialog.h"
#include "mpiexec_lite/fatal.h"
#include "mpiexec_lite/naming_far.h"
#include "mpiexec_lite/now.h"
#include "pmix_ext/rundir.h"
#include "wire/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

/* Between looks for a server that is lost; how long a connection may be silent while
 * lookups wait, before it is asked whether it lives. */
static const double RETRY = 0.2, RETRY_MAX = 5.0, SILENCE = 5.0;

struct job {
    TAILQ_ENTRY(job) in_all;
    char  *id, *host, *command, *tools;  /* owned; tools NULL: none */
    pid_t  pid;
    int    size;
};
TAILQ_HEAD(jobs, job);

struct question {
    TAILQ_ENTRY(question) in_all;
    struct name_ask *ask;                /* the core's, until name_done */
    long long        id;
    bool             sent;
    double           until;              /* 0: as long as the server lives */
};
TAILQ_HEAD(questions, question);

struct naming {
    struct ev_loop *loop;                /* borrowed */
    void          (*tell)(void *host, const char *text);
    void           *host;
    char            path[RUNDIR_PATH];   /* its socket, or */
    struct name_line *far;               /* owned: the way to it */
    bool            dialling;            /* that way: not connected yet */
    struct err      why;                 /* the last time that it could not be reached */
    struct dialog   dialog;
    bool            connected, greeted;  /* greeted: and it has answered: it lives */
    bool            lost;                /* it was, and the user has been told */
    long long       hello;               /* id of the first request */
    struct jobs     jobs;
    struct questions questions;
    long long       id;                  /* the last one */
    double          retry_at, retry;     /* while it is not connected */
    double          heard;               /* the last message */
    bool            pinged;              /* since then */
    int           (*take)(void *host, const struct msg *m, struct err *e);
    void           *taker;               /* its host */
    struct msg      out;
    ev_timer        tick;
};

static void set_timer(struct naming *n);

/* --- what is sent ------------------------------------------------------ */

static void begin(struct naming *n, const char *cmd)
{
    msg_start(&n->out, cmd);
    msg_int(&n->out, "id", ++n->id);
}

static void send_job(struct naming *n, const struct job *j)
{
    begin(n, "job");
    msg_str(&n->out, "job", j->id);
    msg_int(&n->out, "pid", j->pid);
    msg_int(&n->out, "size", j->size);
    msg_str(&n->out, "host", j->host);
    msg_str(&n->out, "command", j->command);
    if (j->tools)
        msg_str(&n->out, "tools", j->tools);
    dialog_send(&n->dialog, &n->out);
}

static void send_question(struct naming *n, struct question *q)
{
    const struct name_want *w = name_wants(q->ask);

    begin(n, name_command(w->op));
    q->id = n->id;
    q->sent = true;
    name_write(w, &n->out);
    if (name_job(q->ask))
        msg_str(&n->out, "job", job_id(name_job(q->ask)));
    if (n->greeted && w->wait)
        q->until = 0;
    dialog_send(&n->dialog, &n->out);
}

/* --- connected or not -------------------------------------------------- */

static const struct dialog_ops dialog_ops;

/* fd: a stream to the server. */
static void use(struct naming *n, int fd)
{
    struct question *q;
    struct job *j;

    dialog_init(&n->dialog, n->loop, fd, LIMIT_FRAME_LINK, &dialog_ops, n);
    n->connected = true;
    n->pinged = false;
    n->heard = now_seconds();
    begin(n, "hello");
    n->hello = n->id;
    msg_int(&n->out, "version", 1);
    dialog_send(&n->dialog, &n->out);
    TAILQ_FOREACH(j, &n->jobs, in_all)
        send_job(n, j);
    TAILQ_FOREACH(q, &n->questions, in_all)
        send_question(n, q);
}

static void on_dialled(void *host, int fd, const struct err *why)
{
    struct naming *n = host;

    n->dialling = false;
    if (fd >= 0) {
        use(n, fd);
    } else {
        n->why = *why;
        n->retry_at = now_seconds() + n->retry;
        n->retry = n->retry * 2 > RETRY_MAX ? RETRY_MAX : n->retry * 2;
    }
    set_timer(n);
}

static void connect_now(struct naming *n)
{
    struct err e = { 0 };

    n->dialling = true;
    if (n->far)
        name_line_dial(n->far);
    else
        on_dialled(n, rundir_connect(n->path, &e), &e);
}

static void answer(struct naming *n, struct question *q, const char *port, const struct err *why)
{
    struct name_ask *a = q->ask;

    TAILQ_REMOVE(&n->questions, q, in_all);
    free(q);
    name_done(a, port, why);
}

/* What may have been done, and what not, nobody can say; a lookup does no harm. */
static void lose(struct naming *n, const char *why)
{
    struct question *q, *next;
    double now = now_seconds();
    struct err e;
    char text[300];

    if (n->greeted)
        n->retry = RETRY;
    n->connected = n->greeted = false;
    dialog_clear(&n->dialog);
    n->retry_at = now + n->retry;
    snprintf(text, sizeof text, "the name server is lost%s%.200s", *why ? ": " : "", why);
    if (!n->lost)
        n->tell(n->host, text);
    n->lost = true;
    for (q = TAILQ_FIRST(&n->questions); q; q = next) {
        next = TAILQ_NEXT(q, in_all);
        q->sent = false;
        if (!(q->until > 0))
            q->until = now + NAMING_PATIENCE;
        if (name_wants(q->ask)->op == NAME_LOOKUP)
            continue;
        err_set(&e, ERR_OTHER, "the name server was lost before it answered");
        answer(n, q, NULL, &e);
    }
    set_timer(n);
}

/* --- what comes -------------------------------------------------------- */

static struct question *find(struct naming *n, long long id)
{
    struct question *q;

    TAILQ_FOREACH(q, &n->questions, in_all)
        if (q->sent && q->id == id)
            return q;
    return NULL;
}

static int take_answer(struct naming *n, struct question *q, const struct msg *m, struct err *e)
{
    const char *text = msg_get(m, "errmsg");
    const struct pair *port = msg_find(m, "value");
    struct err why;
    long long rc;

    if (msg_number(m, "rc", 0, 1000, &rc, e) < 0)
        return -1;
    if (port && port->len > LIMIT_PUBLISHED)
        return err_set(e, ERR_LENGTH, "a port of %zu bytes", port->len);
    err_set(&why, (enum err_code)rc, "%s", text ? text : "");
    answer(n, q, port ? port->val : NULL, rc ? &why : NULL);
    return 0;
}

/* It lives: whoever waits for a name may do so. */
static void take_hello(struct naming *n)
{
    struct question *q;

    if (n->lost)
        n->tell(n->host, "the name server is there again");
    n->lost = false;
    n->greeted = true;
    n->retry = RETRY;
    TAILQ_FOREACH(q, &n->questions, in_all)
        if (name_wants(q->ask)->wait)
            q->until = 0;
}

/* Replies to what is not a question matter only if they say that something is wrong. */
static int on_message(void *host, struct dialog *d, const struct msg *m, struct err *e)
{
    struct naming *n = host;
    const char *wrong = msg_get(m, "errmsg");
    struct question *q;
    char text[300];
    long long id;
    int rc = 0;

    (void)d;
    if (msg_number(m, "id", 0, INT64_MAX, &id, e) < 0)
        return -1;
    n->heard = now_seconds();
    n->pinged = false;
    if (n->take && !strncmp(m->cmd, "introduc", 8))
        return n->take(n->taker, m, e);
    q = find(n, id);
    if (q) {
        rc = take_answer(n, q, m, e);
    } else if (id == n->hello && !wrong) {
        take_hello(n);
    } else if (wrong && strncmp(m->cmd, "name-", 5)) {
        snprintf(text, sizeof text, "name server: %.200s", wrong);
        n->tell(n->host, text);
    }
    set_timer(n);
    return rc;
}

static void on_closed(void *host, struct dialog *d, const char *why)
{
    (void)d;
    lose(host, why);
}

static const struct dialog_ops dialog_ops = { on_message, on_closed };

/* --- time -------------------------------------------------------------- */

/* When something is to be done; 0: nothing. */
static double due(const struct naming *n)
{
    const struct question *q;
    double at = n->connected || n->dialling ? 0 : n->retry_at;

    TAILQ_FOREACH(q, &n->questions, in_all)
        at = earlier(at, q->until);
    if (n->connected && !TAILQ_EMPTY(&n->questions))
        at = earlier(at, n->heard + (n->pinged ? 2 : 1) * SILENCE);
    return at;
}

static void set_timer(struct naming *n)
{
    double at = due(n), now = now_seconds();

    ev_timer_stop(n->loop, &n->tick);
    if (at > 0) {
        ev_timer_set(&n->tick, at > now ? at - now : 0, 0.);
        ev_timer_start(n->loop, &n->tick);
    }
}

/* Questions whose time is over.  True: one of them had been sent. */
static bool give_up(struct naming *n, double now)
{
    struct question *q, *next;
    bool sent = false;
    struct err e;

    for (q = TAILQ_FIRST(&n->questions); q; q = next) {
        next = TAILQ_NEXT(q, in_all);
        if (!(q->until > 0) || now < q->until)
            continue;
        sent |= q->sent;
        err_set(&e, ERR_OTHER, q->sent ? "the name server does not answer"
                                       : "the name server is not there");
        answer(n, q, NULL, &e);
    }
    return sent;
}

static void on_tick(struct ev_loop *loop, ev_timer *w, int revents)
{
    struct naming *n = w->data;
    double now = now_seconds();

    (void)loop;
    (void)revents;
    if (!n->connected && !n->dialling && now >= n->retry_at)
        connect_now(n);
    if (give_up(n, now) && n->connected)
        lose(n, "it does not answer");
    if (n->connected && !TAILQ_EMPTY(&n->questions)) {
        if (n->pinged && now >= n->heard + 2 * SILENCE) {
            lose(n, "it does not answer");
        } else if (!n->pinged && now >= n->heard + SILENCE) {
            n->pinged = true;
            begin(n, "ping");
            dialog_send(&n->dialog, &n->out);
        }
    }
    set_timer(n);
}

/* --- life -------------------------------------------------------------- */

static int find_way(struct naming *n, const struct naming_args *args, struct err *e)
{
    if (*args->where == '/') {
        snprintf(n->path, sizeof n->path, "%s", args->where);
        return 0;
    }
    n->far = name_line_new(n->loop, args->where, args->munge_socket, on_dialled, n, e);
    return n->far ? 0 : -1;
}

static void on_interrupt(struct ev_loop *loop, ev_io *w, int revents)
{
    struct naming *n = w->data;

    (void)revents;
    ev_io_stop(loop, w);
    n->dialling = false;
    err_set(&n->why, ERR_OTHER, "interrupted while it was called");
}

/* Until it is connected, or n->why says why it is not. */
static void wait_for_it(struct naming *n, int interrupt)
{
    ev_io w;

    ev_io_init(&w, on_interrupt, interrupt, EV_READ);
    w.data = n;
    if (interrupt >= 0)
        ev_io_start(n->loop, &w);
    while (n->dialling)
        ev_run(n->loop, EVRUN_ONCE);
    ev_io_stop(n->loop, &w);
}

struct naming *naming_new(struct ev_loop *loop, const struct naming_args *args, struct err *e)
{
    struct naming *n = calloc(1, sizeof *n);

    if (!n) {
        err_set(e, ERR_NOMEM, "no memory for the name server");
        return NULL;
    }
    n->loop = loop;
    n->tell = args->tell;
    n->host = args->host;
    n->retry = RETRY;
    TAILQ_INIT(&n->jobs);
    TAILQ_INIT(&n->questions);
    msg_init(&n->out);
    ev_timer_init(&n->tick, on_tick, 0., 0.);
    n->tick.data = n;
    if (find_way(n, args, e) == 0) {
        connect_now(n);
        wait_for_it(n, args->interrupt);
        if (n->connected)
            return n;
        *e = n->why;
    }
    naming_free(n);
    return NULL;
}

static void job_free(struct naming *n, struct job *j)
{
    TAILQ_REMOVE(&n->jobs, j, in_all);
    free(j->id);
    free(j->host);
    free(j->command);
    free(j->tools);
    free(j);
}

void naming_free(struct naming *n)
{
    struct question *q;
    struct job *j;

    if (!n)
        return;
    while ((j = TAILQ_FIRST(&n->jobs)))
        job_free(n, j);
    while ((q = TAILQ_FIRST(&n->questions))) {
        TAILQ_REMOVE(&n->questions, q, in_all);
        free(q);
    }
    ev_timer_stop(n->loop, &n->tick);
    dialog_clear(&n->dialog);
    name_line_free(n->far);
    msg_clear(&n->out);
    free(n);
}

int naming_add_job(struct naming *n, const struct naming_job *from)
{
    struct job *j = calloc(1, sizeof *j);

    if (!j)
        return -1;
    TAILQ_INSERT_TAIL(&n->jobs, j, in_all);
    j->id = strdup(from->id);
    j->host = strdup(from->host);
    j->command = strdup(from->command);
    j->pid = from->pid;
    j->size = from->size;
    if (!j->id || !j->host || !j->command) {
        job_free(n, j);
        return -1;
    }
    if (n->connected)
        send_job(n, j);
    return 0;
}

void naming_set_tools(struct naming *n, const char *id, const char *path)
{
    struct job *j;

    TAILQ_FOREACH(j, &n->jobs, in_all) {
        if (strcmp(j->id, id))
            continue;
        free(j->tools);
        j->tools = strdup(path);
        if (n->connected)
            send_job(n, j);
    }
}

void naming_end_job(struct naming *n, const char *id)
{
    struct job *j, *next;

    for (j = TAILQ_FIRST(&n->jobs); j; j = next) {
        next = TAILQ_NEXT(j, in_all);
        if (strcmp(j->id, id))
            continue;
        job_free(n, j);
        if (n->connected) {
            begin(n, "job-end");
            msg_str(&n->out, "job", id);
            dialog_send(&n->dialog, &n->out);
        }
    }
}

void naming_ask(struct naming *n, struct name_ask *a)
{
    struct question *q = calloc(1, sizeof *q);

    if (!q)
        fatal("out of memory", 0);
    if (TAILQ_EMPTY(&n->questions)) {    /* silence counts from now on */
        n->heard = now_seconds();
        n->pinged = false;
    }
    q->ask = a;
    q->until = now_seconds() + NAMING_PATIENCE;
    TAILQ_INSERT_TAIL(&n->questions, q, in_all);
    if (n->connected)
        send_question(n, q);
    else
        n->retry_at = earlier(n->retry_at, now_seconds());
    set_timer(n);
}

void naming_introduces(struct naming *n,
                       int (*take)(void *host, const struct msg *m, struct err *e), void *host)
{
    n->take = take;
    n->taker = host;
}

struct msg *naming_begin(struct naming *n, const char *cmd, long long *id)
{
    if (!n->connected)
        return NULL;
    begin(n, cmd);
    *id = n->id;
    return &n->out;
}

void naming_send(struct naming *n)
{
    dialog_send(&n->dialog, &n->out);
}

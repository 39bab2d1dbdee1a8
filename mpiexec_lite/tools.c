/* tools.c - see tools.h */
#include "mpiexec_lite/tools.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/queue.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 512 };
static const double TRY_AGAIN = 0.1;     /* seconds, when there are no descriptors for them */

struct tool {
    TAILQ_ENTRY(tool) in_tools;
    struct tools   *tools;
    uid_t           uid;
    bool            called;
    struct pmi_conn conn;
};

struct tools {
    struct tools_args   args;
    struct pmi_conn_env env;
    TAILQ_HEAD(, tool)  list;
    size_t              n, most;
    int                 fd, lock;
    ev_io               readable;
    ev_timer            again;
    struct rendezvous   at;
    char                entry[RUNDIR_PATH];
};

static void tool_free(struct tool *x)
{
    TAILQ_REMOVE(&x->tools->list, x, in_tools);
    x->tools->n--;
    pmi_conn_close(&x->conn);
    free(x);
}

static void on_closed(void *host, struct pmi_conn *c, struct member *m)
{
    struct tools *t = host;
    struct tool *x = c->user;
    bool called = x->called;

    (void)m;
    tool_free(x);
    if (called && t->args.lost)
        t->args.lost(t->args.host);
}

static void on_broken(void *host, struct pmi_conn *c, const char *why)
{
    (void)host;
    (void)c;
    (void)why;
}

static const struct pmi_conn_ops conn_ops = { on_closed, on_broken, on_broken, NULL };

/* Takes fd; NULL: it is hung up. */
static struct tool *enter(struct tools *t, int fd, const struct party *who)
{
    struct tool *x = calloc(1, sizeof *x);

    if (!x) {
        close(fd);
        return NULL;
    }
    x->tools = t;
    x->uid = who->uid;
    TAILQ_INSERT_TAIL(&t->list, x, in_tools);
    t->n++;
    if (pmi_conn_init_tool(&x->conn, &t->env, who, fd) < 0) {
        tool_free(x);
        return NULL;
    }
    x->conn.user = x;
    return x;
}

void tools_enter(struct tools *t, int fd, const struct party *who)
{
    enter(t, fd, who);
}

int tools_call(struct tools *t, const char *path, struct err *e)
{
    int fd = rundir_connect(path, e);
    struct ucred who;
    socklen_t len = sizeof who;
    struct tool *x;

    if (fd < 0)
        return -1;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) < 0) {
        err_set(e, ERR_OTHER, "%.108s: %s", path, strerror(errno));
        close(fd);
        return -1;
    }
    x = enter(t, fd, &(struct party){ .uid = who.uid, .gid = who.gid, .pid = who.pid,
                                      .tool = true });
    if (!x)
        return err_set(e, ERR_NOMEM, "no memory for a tool");
    x->called = true;
    return 0;
}

/* Among all users of a system nobody takes the place of the others. */
static bool has_many(const struct tools *t, uid_t uid)
{
    const struct tool *x;
    size_t n = 0;

    if (!t->args.system || uid == 0)
        return false;
    TAILQ_FOREACH(x, &t->list, in_tools)
        n += x->uid == uid;
    return n >= t->most / 8;
}

static void accept_one(struct tools *t, int fd)
{
    struct ucred who;
    socklen_t len = sizeof who;
    struct party party;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) < 0 ||
        (!t->args.system && who.uid != geteuid() && who.uid != 0) || has_many(t, who.uid)) {
        close(fd);
        return;
    }
    party = (struct party){ .uid = who.uid, .gid = who.gid, .pid = who.pid, .tool = true };
    if (t->args.enter)
        t->args.enter(t->args.host, fd, &party);
    else
        tools_enter(t, fd, &party);
}

/* A third of the descriptors is for tools, as one of another node takes two: ranks that are
 * started later need theirs. */
static size_t most_tools(void)
{
    struct rlimit files;

    return getrlimit(RLIMIT_NOFILE, &files) < 0 ? 256 : files.rlim_cur / 3;
}

bool tools_full(const struct tools *t)
{
    return t->n >= t->most;
}

static void on_readable(struct ev_loop *loop, ev_io *w, int revents)
{
    struct tools *t = w->data;
    int fd;

    (void)revents;
    while (!tools_full(t) &&
           (fd = accept4(t->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0)
        accept_one(t, fd);
    if (tools_full(t) || errno == EMFILE || errno == ENFILE || errno == ENOMEM ||
        errno == ENOBUFS) {
        ev_io_stop(loop, w);             /* they wait until one of those that are here has gone */
        ev_timer_set(&t->again, TRY_AGAIN, 0.);
        ev_timer_start(loop, &t->again);
    }
}

static void on_again(struct ev_loop *loop, ev_timer *w, int revents)
{
    struct tools *t = w->data;

    (void)revents;
    ev_io_start(loop, &t->readable);
}

static int listen_at(struct tools *t, struct err *e)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    mode_t old;
    int rc;

    memcpy(a.sun_path, t->at.socket, sizeof t->at.socket);
    t->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    unlink(t->at.socket);                /* of a process that had our number before */
    old = umask(t->args.system ? 0111 : 0177);
    rc = t->fd < 0 ? -1 : bind(t->fd, (struct sockaddr *)&a, sizeof a);
    umask(old);
    return rc == 0 && listen(t->fd, BACKLOG) == 0
               ? 0 : err_set(e, ERR_OTHER, "%s: %s", t->at.socket, strerror(errno));
}

/* There is one server of the system; who has this file locked is it. */
static int take_lock(struct tools *t, struct err *e)
{
    char path[RUNDIR_PATH + 8];

    if (!t->args.system)
        return 0;
    snprintf(path, sizeof path, "%s.lock", t->entry);
    t->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (t->lock < 0)
        return err_set(e, ERR_OTHER, "%.120s: %s", path, strerror(errno));
    if (flock(t->lock, LOCK_EX | LOCK_NB) < 0)
        return err_set(e, ERR_OTHER, "%s: a server of the system runs already", t->entry);
    return 0;
}

static int open_socket(struct tools *t, struct err *e)
{
    struct rendezvous *r = &t->at;
    char folder[RUNDIR_PATH];

    *r = (struct rendezvous){ .pid = t->args.pid, .system = t->args.system,
                              .resident = t->args.resident };
    if (rendezvous_folder(r->system, folder, sizeof folder, e) < 0 ||
        rendezvous_paths(folder, t->args.hostname, r->pid, r->system, t->entry, r->socket, e) < 0 ||
        take_lock(t, e) < 0 || listen_at(t, e) < 0)
        return -1;
    snprintf(r->host, sizeof r->host, "%.*s", RENDEZVOUS_HOST - 1, t->args.hostname);
    snprintf(r->nspace, sizeof r->nspace, "%.*s", RENDEZVOUS_NAME - 1, t->args.nspace);
    if (rendezvous_write(r, t->entry, e) == 0)
        return 0;
    *t->entry = '\0';                    /* it is not ours to remove */
    return -1;
}

struct tools *tools_new(const struct tools_args *args, struct err *e)
{
    struct tools *t = calloc(1, sizeof *t);

    if (!t) {
        err_set(e, ERR_NOMEM, "no memory");
        return NULL;
    }
    *t = (struct tools){ .args = *args, .most = most_tools(), .fd = -1, .lock = -1 };
    TAILQ_INIT(&t->list);
    t->env = (struct pmi_conn_env){ args->loop, args->server, args->buffer, args->size,
                                    &conn_ops, t };
    ev_io_init(&t->readable, on_readable, -1, EV_READ);
    ev_timer_init(&t->again, on_again, 0., 0.);
    if (open_socket(t, e) < 0) {
        tools_free(t);
        return NULL;
    }
    ev_io_set(&t->readable, t->fd, EV_READ);
    t->readable.data = t->again.data = t;
    ev_io_start(args->loop, &t->readable);
    return t;
}

size_t tools_unsent(const struct tools *t)
{
    const struct tool *x;
    size_t n = 0;

    TAILQ_FOREACH(x, &t->list, in_tools)
        n += x->conn.out.len;
    return n;
}

void tools_free(struct tools *t)
{
    struct tool *x;

    if (!t)
        return;
    while ((x = TAILQ_FIRST(&t->list)))
        tool_free(x);
    if (t->fd >= 0) {
        ev_io_stop(t->args.loop, &t->readable);
        ev_timer_stop(t->args.loop, &t->again);
        close(t->fd);
        unlink(t->entry);
        unlink(t->at.socket);
    }
    if (t->lock >= 0)
        close(t->lock);
    free(t);
}

const struct rendezvous *tools_entry(const struct tools *t)
{
    return &t->at;
}

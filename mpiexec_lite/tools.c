/* tools.c - see tools.h */
#include "mpiexec_lite/tools.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct tool {
    TAILQ_ENTRY(tool) in_tools;
    struct tools   *tools;
    struct pmi_conn conn;
};

struct tools {
    struct tools_args   args;
    struct pmi_conn_env env;
    TAILQ_HEAD(, tool)  list;
    int                 fd;
    ev_io               readable;
    char                path[RUNDIR_PATH], entry[RUNDIR_PATH];
};

static void tool_free(struct tool *x)
{
    TAILQ_REMOVE(&x->tools->list, x, in_tools);
    pmi_conn_close(&x->conn);
    free(x);
}

static void on_closed(void *host, struct pmi_conn *c, struct member *m)
{
    (void)host;
    (void)m;
    tool_free(c->user);
}

static void on_broken(void *host, struct pmi_conn *c, const char *why)
{
    (void)host;
    (void)c;
    (void)why;
}

static const struct pmi_conn_ops conn_ops = { on_closed, on_broken, on_broken };

static void accept_one(struct tools *t, int fd)
{
    struct ucred who;
    socklen_t len = sizeof who;
    struct tool *x;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) < 0 ||
        (who.uid != geteuid() && who.uid != 0) || !(x = calloc(1, sizeof *x))) {
        close(fd);
        return;
    }
    x->tools = t;
    TAILQ_INSERT_TAIL(&t->list, x, in_tools);
    if (pmi_conn_init_tool(&x->conn, &t->env,
                           &(struct party){ .uid = who.uid, .gid = who.gid, .pid = who.pid },
                           fd) < 0)
        tool_free(x);
    else
        x->conn.user = x;
}

static void on_readable(struct ev_loop *loop, ev_io *w, int revents)
{
    struct tools *t = w->data;
    int fd;

    (void)loop;
    (void)revents;
    while ((fd = accept4(t->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0)
        accept_one(t, fd);
}

static int open_socket(struct tools *t, struct err *e)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    struct rendezvous r = { .pid = t->args.pid };
    char folder[RUNDIR_PATH];

    if (rendezvous_folder(false, folder, sizeof folder, e) < 0 ||
        rendezvous_paths(folder, t->args.hostname, r.pid, false, t->entry, t->path, e) < 0)
        return -1;
    memcpy(a.sun_path, t->path, sizeof t->path);
    t->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    unlink(t->path);                     /* of a process that had our number before */
    if (t->fd < 0 || bind(t->fd, (struct sockaddr *)&a, sizeof a) < 0 || listen(t->fd, 64) < 0)
        return err_set(e, ERR_OTHER, "%s: %s", t->path, strerror(errno));
    memcpy(r.socket, t->path, sizeof r.socket);
    snprintf(r.host, sizeof r.host, "%.*s", RENDEZVOUS_HOST - 1, t->args.hostname);
    snprintf(r.nspace, sizeof r.nspace, "%.*s", RENDEZVOUS_NAME - 1, t->args.nspace);
    return rendezvous_write(&r, t->entry, e);
}

struct tools *tools_new(const struct tools_args *args, struct err *e)
{
    struct tools *t = calloc(1, sizeof *t);

    if (!t) {
        err_set(e, ERR_NOMEM, "no memory");
        return NULL;
    }
    *t = (struct tools){ .args = *args, .fd = -1 };
    TAILQ_INIT(&t->list);
    t->env = (struct pmi_conn_env){ args->loop, args->server, args->buffer, args->size,
                                    &conn_ops, t };
    ev_io_init(&t->readable, on_readable, -1, EV_READ);
    if (open_socket(t, e) < 0) {
        tools_free(t);
        return NULL;
    }
    ev_io_set(&t->readable, t->fd, EV_READ);
    t->readable.data = t;
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
        close(t->fd);
        unlink(t->entry);
        unlink(t->path);
    }
    free(t);
}

/* windows.c - see windows.h: whether windows can be had, and the front end's side */
#include "mpiexec_lite/windows_impl.h"

#include "mpiexec_lite/hold.h"
#include "mpiexec_lite/launchers.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CLOSING = 5000 };          /* ms that the keeper has for closing them all */

/* --- can it be had? ----------------------------------------------------- */

static bool has_program(const char *name)
{
    const char *path = getenv("PATH");
    struct err e = { 0 };
    char found[4096];
    int status;

    return program_find(name, NULL, NULL, path ? path : "/usr/bin:/bin", found, sizeof found,
                        &status, &e) == 0;
}

static bool is_set(const char *variable)
{
    const char *value = getenv(variable);

    return value && *value;
}

enum windows_kind windows_kind(void)
{
    bool tmux = has_program("tmux");

    if (tmux && is_set("TMUX"))
        return USERS_TMUX;
    if (is_set("DISPLAY") && has_program("xterm"))
        return XTERM;
    return tmux ? OWN_TMUX : NONE;
}

bool windows_is_near(const struct plan *p, const struct host *h)
{
    return h->local || p->remote.launcher == LAUNCHER_FORK;
}

static int check_rank(const struct plan *p, const struct host *h, int rank, struct err *e)
{
    if (windows_is_near(p, h))
        return has_program(p->gdb) ? 0 : err_set(e, ERR_OTHER, "-gdb: there is no %s here", p->gdb);
    if (p->remote.launcher == LAUNCHER_SSH)
        return 0;
    return err_set(e, ERR_OTHER, "-gdb: rank %d is on %s, where only -launcher ssh can open gdb, "
                   "and not %s", rank, h->name, launcher_way(p->remote.launcher)->name);
}

int windows_check(const struct plan *p, const struct placement *place, struct err *e)
{
    int n = 0;

    if (!p->gdb)
        return 0;
    if (windows_kind() == NONE)
        return err_set(e, ERR_OTHER, "-gdb: there is no window to be had: neither tmux nor, with "
                       "DISPLAY set, xterm");
    for (int rank = 0; rank < place->size; rank++) {
        if (!hold_has(p, HOLD_EXEC, rank))
            continue;
        if (++n > WINDOWS_MAX)
            return err_set(e, ERR_OTHER, "-gdb: more than %d ranks; name those that matter, as "
                           "0,3-5", WINDOWS_MAX);
        if (check_rank(p, &p->hosts[placement_node(place, rank)], rank, e) < 0)
            return -1;
    }
    return 0;
}

/* --- the front end's side ----------------------------------------------- */

void windows_init(struct windows *w, const struct plan *p, const struct inherited *user)
{
    *w = (struct windows){ .plan = p, .user = user, .fd = -1 };
}

static const struct host *find_host(const struct plan *p, const char *name)
{
    for (size_t i = 0; i < p->nhosts; i++)
        if (!strcmp(p->hosts[i].name, name))
            return &p->hosts[i];
    return &p->hosts[0];                 /* alone, and named as the system has it */
}

int windows_add(struct windows *w, int rank, const char *host, pid_t pid)
{
    if (!w->plan->gdb || w->n == WINDOWS_MAX || !pid || !hold_has(w->plan, HOLD_EXEC, rank))
        return 0;
    if (!w->v && !(w->v = calloc(WINDOWS_MAX, sizeof *w->v)))
        return -1;
    w->v[w->n++] = (struct window){ rank, pid, find_host(w->plan, host) };
    return 0;
}

int windows_open(struct windows *w, struct err *e)
{
    int fd[2];

    if (!w->n || w->keeper)
        return 0;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd) < 0)
        return err_set(e, ERR_OTHER, "-gdb: %s", strerror(errno));
    w->keeper = fork();
    if (w->keeper == 0)
        windows_keep(w, fd[1]);
    close(fd[1]);
    w->fd = fd[0];
    return w->keeper < 0 ? err_set(e, ERR_OTHER, "-gdb: fork: %s", strerror(errno)) : 0;
}

int windows_closed(struct windows *w, int *rank)
{
    ssize_t n = recv(w->fd, rank, sizeof *rank, MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    return n == sizeof *rank ? 1 : -1;
}

void windows_end(struct windows *w)
{
    if (w->fd >= 0)
        shutdown(w->fd, SHUT_WR);
}

void windows_clear(struct windows *w)
{
    struct pollfd p = { .fd = w->fd, .events = POLLIN };
    int rank;

    if (w->fd >= 0) {
        windows_end(w);
        while (poll(&p, 1, CLOSING) > 0 && windows_closed(w, &rank) >= 0)
            ;                            /* its end is that of the keeper */
        close(w->fd);
    }
    free(w->v);
    *w = (struct windows){ .plan = w->plan, .fd = -1 };
}

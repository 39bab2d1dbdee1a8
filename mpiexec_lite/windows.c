/* windows.c - see windows.h
 *
 * What runs in a window says so, and that it has ended, by a pipe of the keeper that it holds
 * open: a pane is a child of tmux's server, of which no one else hears. */
#include "mpiexec_lite/windows.h"

#include "mpiexec_lite/hold.h"
#include "mpiexec_lite/launchers.h"
#include "mpiexec_lite/spread.h"
#include "mpiexec_lite/sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    WINDOWS_MAX = 64,            /* more than anybody looks at */
    OPENING = 20000,             /* ms until what runs in a window must have begun */
    CLOSING = 5000               /* ms that the keeper has for closing them all */
};

extern char **environ;

/* The first of these that can be had. */
enum kind { USERS_TMUX, XTERM, OWN_TMUX, NONE };

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

static enum kind find_kind(void)
{
    bool tmux = has_program("tmux");

    if (tmux && is_set("TMUX"))
        return USERS_TMUX;
    if (is_set("DISPLAY") && has_program("xterm"))
        return XTERM;
    return tmux ? OWN_TMUX : NONE;
}

/* A host that is a process of this one is no other host. */
static bool is_near(const struct plan *p, const struct host *h)
{
    return h->local || p->remote.launcher == LAUNCHER_FORK;
}

static int check_rank(const struct plan *p, const struct host *h, int rank, struct err *e)
{
    if (is_near(p, h))
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
    if (find_kind() == NONE)
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

/* --- what is in a window ------------------------------------------------ */

/* With our end of its pipe open it runs the rest of its words.  What fails is to be read. */
static const char in_window[] =
    "exec 9>\"$0\" && echo >&9 && { \"$@\" || { echo \"(exit status $?; Enter closes this)\"; "
    "read x; }; }";

/* A rank that gdb has attached to is continued at once, which only ends its being stopped for
 * everybody: it still waits for gdb, but no thread of it will stop again later.  gdb runs the
 * user's shell, which need not be one that reads this. */
static const char in_gdb[] =
    "command -v \"$gdb\" >/dev/null 2>&1 || { echo \"there is no $gdb on $(uname -n)\"; exit 1; }; "
    "exec \"$gdb\" -q -iex \"set pagination off\" -p %d -ex \"handle SIGCONT nostop noprint pass\" "
    "-ex \"set pagination on\" "
    "-ex \"shell /bin/sh -c 'grep -q TracerPid:.0 /proc/%d/status || kill -CONT %d'\"";

static int add_all(struct strlist *to, const char *const *words)
{
    int rc = 0;

    for (; *words; words++)
        rc |= strlist_add(to, *words);
    return rc;
}

/* Here, or by ssh there. */
static int add_gdb(const struct windows *w, const struct window *x, struct strlist *to)
{
    struct buf script = BUF_INIT, line = BUF_INIT;
    int pid = (int)x->pid, rc;

    buf_str(&script, "gdb=");
    rc = spread_quote(w->plan->gdb, &script);
    buf_str(&script, "; ");
    buf_printf(&script, in_gdb, pid, pid, pid);
    buf_str(&line, "exec /bin/sh -c ");
    if (rc < 0 || script.failed || spread_quote(buf_bytes(&script), &line) < 0 || line.failed)
        rc = -1;
    else if (is_near(w->plan, x->host))
        rc = add_all(to, (const char *const[]){ "sh", "-c", buf_bytes(&script), NULL });
    else
        rc = spread_terminal(&w->plan->remote, x->host, buf_bytes(&line), to);
    buf_clear(&script);
    buf_clear(&line);
    return rc;
}

/* --- the keeper --------------------------------------------------------- */

struct pane {                    /* of the keeper; as windows.v */
    char id[24];                 /* tmux's, "" if it is none */
    int  fd;                     /* its pipe: -1 once it has closed */
};

struct keeper {
    const struct windows *all;
    enum kind kind;
    char  socket[40];            /* -L: of the own tmux */
    char  path[200];             /* the same as a file */
    char  first[24];             /* a pane beside which others are opened */
    int   front;                 /* told here which windows have closed */
    struct pane panes[WINDOWS_MAX];
};

/* Run a program, and take the first line that it prints, if out is there.  0, or -1. */
static int run(const struct keeper *k, const struct strlist *argv, char *out, size_t size)
{
    struct child_spec spec = { .path = NULL, .argv = argv->v, .envp = environ, .in = STDIN_FILENO,
                               .err = STDOUT_FILENO, .keep = -1, .user = k->all->user };
    const char *step, *where = getenv("PATH");
    char path[4096];
    struct err e = { 0 };
    int fd[2], status = -1;
    ssize_t n;
    pid_t pid;

    if (program_find(argv->v[0], NULL, NULL, where ? where : "/usr/bin:/bin", path, sizeof path,
                     &status, &e) < 0 || pipe2(fd, O_CLOEXEC) < 0)
        return -1;
    spec.path = path;
    spec.out = out ? fd[1] : STDOUT_FILENO;
    pid = child_start(&spec, &step);
    close(fd[1]);
    n = pid > 0 && out ? read(fd[0], out, size - 1) : 0;
    if (out) {
        out[n > 0 ? n : 0] = '\0';
        out[strcspn(out, "\n")] = '\0';
    }
    close(fd[0]);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

/* tmux, of the user or our own, and the words of a command of it. */
static int add_tmux(const struct keeper *k, struct strlist *argv, const char *const *words)
{
    int rc = strlist_add(argv, "tmux");

    if (k->kind == OWN_TMUX)
        rc |= strlist_add(argv, "-L") | strlist_add(argv, k->socket);
    return rc | add_all(argv, words);
}

static int tmux(const struct keeper *k, const char *const *words)
{
    struct strlist argv = { 0 };
    int rc = add_tmux(k, &argv, words) ? -1 : run(k, &argv, NULL, 0);

    strlist_clear(&argv);
    return rc;
}

/* A server that has ended leaves its socket behind. */
static void note_path(struct keeper *k)
{
    struct strlist argv = { 0 };

    if (add_tmux(k, &argv, (const char *const[]){ "display-message", "-p", "#{socket_path}", NULL }) ||
        run(k, &argv, k->path, sizeof k->path) < 0)
        *k->path = '\0';
    strlist_clear(&argv);
}

static int open_pane(const struct keeper *k, const char *const *words, const struct strlist *inside,
                     char *id, size_t size)
{
    struct strlist argv = { 0 };
    int rc = add_tmux(k, &argv, words);

    rc |= add_all(&argv, (const char *const[]){ "-P", "-F", "#{pane_id}", NULL });
    rc |= strlist_copy(&argv, inside);
    if (rc == 0)
        rc = run(k, &argv, id, size);
    strlist_clear(&argv);
    return rc < 0 ? -1 : 0;
}

/* Beside the others while there is room, else in a window, or a session, of its own. */
static int open_tmux(struct keeper *k, const char *title, const struct strlist *inside,
                     char *id, size_t size)
{
    const char *const beside[] = { "split-window", "-d", "-t", k->first, NULL },
                *const window[] = { "new-window", "-d", "-n", "gdb", NULL },
                *const session[] = { "new-session", "-d", "-n", "gdb", "-x", "200", "-y", "50", NULL };

    if (!*k->first || open_pane(k, beside, inside, id, size) < 0) {
        if ((k->kind != USERS_TMUX && !*k->first) || open_pane(k, window, inside, id, size) < 0)
            if (k->kind == USERS_TMUX || open_pane(k, session, inside, id, size) < 0)
                return -1;
        memcpy(k->first, id, size);
    }
    tmux(k, (const char *const[]){ "select-layout", "-t", k->first, "tiled", NULL });
    tmux(k, (const char *const[]){ "select-pane", "-t", id, "-T", title, NULL });
    return 0;
}

static int open_xterm(const struct keeper *k, const char *title, const struct strlist *inside)
{
    struct child_spec spec = { .path = "/bin/sh", .envp = environ, .in = STDIN_FILENO,
                               .out = STDOUT_FILENO, .err = STDERR_FILENO, .keep = -1,
                               .user = k->all->user };
    struct strlist argv = { 0 };
    const char *step;
    int rc = add_all(&argv, (const char *const[]){ "sh", "-c", "exec xterm \"$@\"", "sh", "-T", title,
                                                   "-e", NULL });

    rc |= strlist_copy(&argv, inside);
    spec.argv = argv.v;
    if (rc == 0 && child_start(&spec, &step) < 0)
        rc = -1;
    strlist_clear(&argv);
    return rc < 0 ? -1 : 0;
}

static bool has_begun(int fd)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };
    char byte;

    return poll(&p, 1, OPENING) > 0 && read(fd, &byte, 1) == 1;
}

static int open_window(struct keeper *k, const struct window *x, struct pane *pane)
{
    struct strlist inside = { 0 };
    char title[300], end[40];
    int fd[2], rc;

    if (pipe2(fd, O_CLOEXEC) < 0)
        return -1;
    snprintf(title, sizeof title, "rank %d on %s", x->rank, x->host->name);
    snprintf(end, sizeof end, "/proc/%d/fd/%d", (int)getpid(), fd[1]);
    rc = add_all(&inside, (const char *const[]){ "sh", "-c", in_window, end, NULL });
    rc |= add_gdb(k->all, x, &inside);
    if (rc == 0)
        rc = k->kind == XTERM ? open_xterm(k, title, &inside)
                              : open_tmux(k, title, &inside, pane->id, sizeof pane->id);
    if (rc == 0 && !has_begun(fd[0]))
        rc = -1;
    strlist_clear(&inside);
    close(fd[1]);
    pane->fd = fd[0];
    return rc < 0 ? -1 : 0;
}

static void tell_closed(const struct keeper *k, struct pane *pane)
{
    int rank = k->all->v[pane - k->panes].rank;

    if (pane->fd >= 0)
        close(pane->fd);
    pane->fd = -1;
    if (send(k->front, &rank, sizeof rank, MSG_NOSIGNAL) < 0)
        return;                          /* it has gone, which reading sees */
}

/* Until the front end closes its end. */
static void watch(struct keeper *k)
{
    struct pollfd p[WINDOWS_MAX + 1];
    int n = k->all->n;
    char byte;

    for (;;) {
        for (int i = 0; i < n; i++)
            p[i] = (struct pollfd){ .fd = k->panes[i].fd, .events = POLLIN };
        p[n] = (struct pollfd){ .fd = k->front, .events = POLLIN };
        if (poll(p, (nfds_t)n + 1, -1) < 0)
            continue;
        if (p[n].revents)
            return;
        for (int i = 0; i < n; i++)
            if (p[i].revents && read(p[i].fd, &byte, 1) <= 0)
                tell_closed(k, &k->panes[i]);
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;                            /* xterms */
    }
}

static void close_all(struct keeper *k)
{
    for (int i = 0; i < k->all->n; i++)
        if (*k->panes[i].id && k->panes[i].fd >= 0 && k->kind == USERS_TMUX)
            tmux(k, (const char *const[]){ "kill-pane", "-t", k->panes[i].id, NULL });
    if (k->kind == OWN_TMUX)
        tmux(k, (const char *const[]){ "kill-server", NULL });
    sweep_all(5);
    if (*k->path)
        unlink(k->path);
}

static _Noreturn void keep(const struct windows *w, int front)
{
    struct keeper k = { .all = w, .kind = find_kind(), .front = 3 };
    int null = open("/dev/null", O_RDWR);

    setsid();
    prctl(PR_SET_NAME, "mpiexec_windows");       /* killall does not get the front end as well */
    if (null < 0 || sweep_prepare() < 0 || dup2(null, STDIN_FILENO) < 0 ||
        dup2(null, STDOUT_FILENO) < 0 || dup2(front, k.front) < 0)
        _exit(1);
    close_range((unsigned)k.front + 1, ~0U, 0);
    fcntl(k.front, F_SETFD, FD_CLOEXEC);
    snprintf(k.socket, sizeof k.socket, "mpiexec_lite-%d", (int)getppid());
    for (int i = 0; i < w->n; i++)
        if (open_window(&k, &w->v[i], &k.panes[i]) < 0) {
            fprintf(stderr, "mpiexec_lite: -gdb: no window of %s could be opened for rank %d, which "
                    "goes on\n", k.kind == XTERM ? "xterm" : "tmux", w->v[i].rank);
            tell_closed(&k, &k.panes[i]);
        }
    if (k.kind == OWN_TMUX) {
        note_path(&k);
        fprintf(stderr, "mpiexec_lite: gdb is in: tmux -L %s attach\n", k.socket);
    }
    watch(&k);
    close_all(&k);
    _exit(0);
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
        keep(w, fd[1]);
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

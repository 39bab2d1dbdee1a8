/* windows_keep.c - the process that opens the windows and keeps them: what is in one, when it has
 * closed, and the end of all.
 *
 * What runs in a window says so, and that it has ended, by a pipe of the keeper that it holds
 * open: a pane is a child of tmux's server, of which no one else hears. */
#include "mpiexec_lite/windows_impl.h"

#include "mpiexec_lite/spread.h"
#include "mpiexec_lite/sweep.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OPENING = 20000 };        /* ms until what runs in a window must have begun */

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
    else if (windows_is_near(w->plan, x->host))
        rc = windows_add_words(to, (const char *const[]){ "sh", "-c", buf_bytes(&script), NULL });
    else
        rc = spread_terminal(&w->plan->remote, x->host, buf_bytes(&line), to);
    buf_clear(&script);
    buf_clear(&line);
    return rc;
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
    rc = windows_add_words(&inside, (const char *const[]){ "sh", "-c", in_window, end, NULL });
    rc |= add_gdb(k->all, x, &inside);
    if (rc == 0)
        rc = windows_open_one(k, title, &inside, pane);
    if (rc == 0 && !has_begun(fd[0]))
        rc = -1;
    strlist_clear(&inside);
    close(fd[1]);
    pane->fd = fd[0];
    return rc < 0 ? -1 : 0;
}

/* --- kept ------------------------------------------------------------- */

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
    windows_close_tmux(k);
    sweep_all(5);
    if (*k->path)
        unlink(k->path);
}

_Noreturn void windows_keep(const struct windows *w, int front)
{
    struct keeper k = { .all = w, .kind = windows_kind(), .front = 3 };
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
        windows_note_path(&k);
        fprintf(stderr, "mpiexec_lite: gdb is in: tmux -L %s attach\n", k.socket);
    }
    watch(&k);
    close_all(&k);
    _exit(0);
}

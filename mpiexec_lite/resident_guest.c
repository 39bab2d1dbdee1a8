/* resident_guest.c - tools of other hosts, which call by munge (request tool): each is handed
 * to a process of its user's, which is its stream to a launcher of his here (bridge.h).
 *
 * The server itself opens nothing for anybody: the process has become the user, and has a
 * program's fresh memory, before it calls the socket that a launcher of his has told of.
 * It has the stream alone, and ends with either side of it, or with the server. */
#include "mpiexec_lite/resident_impl.h"

#include "pmix_ext/find.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { GUESTS = 512, GUESTS_OF_A_USER = 64, CANDIDATES = 16 };

struct guest {
    struct resident *all;
    uid_t            uid;
    int              pidfd;          /* owned: its process, which is ours to wait for */
    ev_io            ended;
    LIST_ENTRY(guest) in_all;
};

/* --- which launcher ---------------------------------------------------- */

struct choice {
    uid_t uid;
    long  pid;                       /* 0: any */
    int   n;                         /* launchers that fit; the first ones: */
    const struct reg_job *jobs[CANDIDATES];
};

/* A launcher's jobs have one socket, and it counts once.  Root gets his own, too: whose
 * credential it is, is whose launcher it can call. */
static bool consider(void *user, const struct reg_job *j)
{
    struct choice *c = user;

    if (j->owner != c->uid || !*j->tools || resident_is_far(j->client) ||
        (c->pid && j->pid != c->pid))
        return true;
    for (int i = 0; i < c->n; i++)
        if (!strcmp(c->jobs[i]->tools, j->tools))
            return true;
    c->jobs[c->n++] = j;
    return c->n < CANDIDATES;
}

/* Why it is none, or not one.  -1. */
static int explain(const struct choice *c, struct err *e)
{
    struct buf list = BUF_INIT;

    if (!c->n && c->pid)
        return err_set(e, ERR_INVALID_ARG, "process %ld is no launcher of uid %u that takes tools "
                       "and has told pmi2_server of its job", c->pid, (unsigned)c->uid);
    if (!c->n)
        return err_set(e, ERR_INVALID_ARG, "no launcher of uid %u runs here that takes tools and "
                       "has told pmi2_server of its job", (unsigned)c->uid);
    for (int i = 0; i < c->n; i++) {
        buf_printf(&list, "%s process %ld of job ", i ? "," : "", c->jobs[i]->pid);
        buf_escaped(&list, c->jobs[i]->id, strlen(c->jobs[i]->id));
    }
    err_set(e, ERR_INVALID_ARG, "several launchers run here, and nothing says which is meant:%s",
            list.failed ? " (no memory)" : buf_bytes(&list));
    buf_clear(&list);
    return -1;
}

/* --- the process ------------------------------------------------------- */

_Noreturn static void fail(const char *what)
{
    dprintf(STDOUT_FILENO, FIND_MARKER "pmi2_server: %s\n", what);
    _exit(1);
}

/* For good, and with all groups. */
static void become(uid_t uid)
{
    const struct passwd *p;
    uid_t r, e, s;

    if (uid == geteuid())
        return;
    p = getpwuid(uid);
    if (!p)
        fail("this user is not known on this host");
    if (initgroups(p->pw_name, p->pw_gid) < 0 || setresgid(p->pw_gid, p->pw_gid, p->pw_gid) < 0 ||
        setresuid(uid, uid, uid) < 0 || getresuid(&r, &e, &s) < 0)
        fail("it cannot become this user");
    if (r != uid || e != uid || s != uid)
        _exit(1);
}

/* Groups may be asked of another host: what is not the user's is closed before. */
_Noreturn static void serve(int stream, uid_t uid, const char *socket, pid_t parent)
{
    char name[] = "pmi2_server", option[] = "--tool", path[RUNDIR_PATH];
    char *argv[] = { name, option, path, NULL }, *env[] = { NULL };
    int null = open("/dev/null", O_RDWR);
    sigset_t none;

    if (null < 0 || dup2(stream, STDIN_FILENO) < 0 || dup2(stream, STDOUT_FILENO) < 0 ||
        dup2(null, STDERR_FILENO) < 0 || syscall(SYS_close_range, 3U, ~0U, 0U) < 0)
        _exit(1);
    fcntl(STDIN_FILENO, F_SETFL, fcntl(STDIN_FILENO, F_GETFL) & ~O_NONBLOCK);
    snprintf(path, sizeof path, "%s", socket);
    become(uid);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent || chdir("/") < 0)
        _exit(1);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    execve("/proc/self/exe", argv, env);
    fail("it cannot be started again");
}

static void guest_free(struct guest *g)
{
    ev_io_stop(g->all->loop, &g->ended);
    LIST_REMOVE(g, in_all);
    g->all->used -= FAR_DESCRIPTORS;
    close(g->pidfd);
    free(g);
}

static void on_ended(struct ev_loop *loop, ev_io *w, int revents)
{
    struct guest *g = w->data;
    siginfo_t info;

    (void)loop;
    (void)revents;
    while (waitid(P_PIDFD, (id_t)g->pidfd, &info, WEXITED) < 0 && errno == EINTR)
        ;
    guest_free(g);
}

/* g->pidfd is its process.  0, or -1 and e. */
static int start(struct guest *g, int stream, const char *socket, struct err *e)
{
    pid_t parent = getpid(), pid = fork();

    if (pid == 0)
        serve(stream, g->uid, socket, parent);
    g->pidfd = pid < 0 ? -1 : (int)syscall(SYS_pidfd_open, pid, 0);
    if (g->pidfd >= 0)
        return 0;
    err_set(e, ERR_OTHER, "cannot start a process: %s", strerror(errno));
    if (pid > 0) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
    }
    return -1;
}

/* What the connection costs, the guest costs from now on: the sealed stream's two
 * descriptors, and that of its process. */
static int take(struct client *c, const char *socket, struct err *e)
{
    struct resident *r = c->all;
    struct guest *g = calloc(1, sizeof *g);

    if (!g)
        return err_set(e, ERR_NOMEM, "no memory for a tool");
    *g = (struct guest){ .all = r, .uid = c->uid };
    if (start(g, c->dialog.fd, socket, e) < 0) {
        free(g);
        return -1;
    }
    ev_io_init(&g->ended, on_ended, g->pidfd, EV_READ);
    g->ended.data = g;
    ev_io_start(r->loop, &g->ended);
    LIST_INSERT_HEAD(&r->guests, g, in_all);
    r->used += FAR_DESCRIPTORS;
    return 0;
}

/* --- requests ---------------------------------------------------------- */

int resident_guests(const struct resident *r, uid_t uid)
{
    const struct guest *g;
    int n = 0;

    LIST_FOREACH(g, &r->guests, in_all)
        n += uid == (uid_t)-1 || g->uid == uid;
    return n;
}

void resident_guests_close(struct resident *r)
{
    struct guest *g;

    while ((g = LIST_FIRST(&r->guests)))         /* they end with their streams, and with us */
        guest_free(g);
}

/* Whether it can be done at all.  0, or -1 and e. */
static int check(const struct client *c, struct err *e)
{
    const struct resident *r = c->all;

    if (!resident_is_far(c))
        return err_set(e, ERR_INVALID_ARG, "tools of this host call launchers themselves");
    if (r->args.no_guests)
        return err_set(e, ERR_OTHER, "pmi2_server takes no calls of tools (--disable-tools)");
    if (c->pending || c->dialog.out.len)
        return err_set(e, ERR_OTHER, "answers to other requests wait to be read");
    if (geteuid() != 0 && c->uid != geteuid())
        return err_set(e, ERR_OTHER, "pmi2_server is uid %u's, and cannot act for uid %u",
                       (unsigned)geteuid(), (unsigned)c->uid);
    if (resident_guests(r, (uid_t)-1) >= GUESTS || resident_guests(r, c->uid) >= GUESTS_OF_A_USER)
        return err_set(e, ERR_NOMEM, "pmi2_server has too many tools of other hosts");
    return 0;
}

static int choose(const struct client *c, const struct msg *m, struct choice *choice,
                  struct err *e)
{
    long long pid = 0;

    if (check(c, e) < 0 || (msg_find(m, "pid") && msg_number(m, "pid", 0, INT_MAX, &pid, e) < 0))
        return -1;
    *choice = (struct choice){ .uid = c->uid, .pid = (long)pid };
    registry_each_job(c->all->registry, c->uid, 0, consider, choice);
    return choice->n == 1 ? 0 : explain(choice, e);
}

/* The way in which pmi2_proxy --tool says it as well. */
static void refuse(struct client *c, const char *why)
{
    struct buf line = BUF_INIT;

    buf_printf(&line, FIND_MARKER "%s\n", why);
    if (!line.failed)
        dialog_send_bytes(&c->dialog, buf_bytes(&line), line.len);
    buf_clear(&line);
}

int resident_tool(struct client *c, const struct msg *m, struct err *e)
{
    struct choice choice;

    if (choose(c, m, &choice, e) == 0 && take(c, choice.jobs[0]->tools, e) == 0)
        return err_set(e, ERR_NONE, "a tool of his calls %s", choice.jobs[0]->tools);
    refuse(c, e->text);
    return err_context(e, "a tool was refused");
}

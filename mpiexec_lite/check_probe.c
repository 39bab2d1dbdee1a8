/* check_probe.c - --check: the dialogue with one host.  See check_node.h. */
#include "mpiexec_lite/check_impl.h"

#include "mpiexec_lite/check_node.h"
#include "mpiexec_lite/launch.h"
#include "mpiexec_lite/launchers.h"
#include "mpiexec_lite/now.h"
#include "mpiexec_lite/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { HEARD_MAX = 4 << 20, WORDS_MAX = 8192 };

static void close_end(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* --- its process ------------------------------------------------------- */

static void reap(struct probe *p)
{
    close_end(&p->in);
    close_end(&p->out);
    close_end(&p->err);
    if (!p->pid)
        return;
    kill(-p->pid, SIGKILL);              /* its stdout has ended, or it is late */
    kill(p->pid, SIGKILL);
    while (waitpid(p->pid, &p->wstatus, 0) < 0 && errno == EINTR)
        ;
    p->pid = 0;
}

void probe_give_up(struct probe *p, const char *why)
{
    snprintf(p->why, sizeof p->why, "%s", why);
    reap(p);
    p->state = PROBE_OVER;
}

/* What it said last on stderr, one line. */
static const char *last_words(struct probe *p)
{
    char *text, *nl;

    buf_char(&p->words, '\0');
    if (p->words.failed)
        return "";
    text = buf_bytes(&p->words);
    while ((nl = strpbrk(text, "\r\n")) && nl[strspn(nl, "\r\n \t")])
        text = nl + 1;
    text[strcspn(text, "\r\n")] = '\0';
    return text;
}

/* Nothing more is to be heard. */
static bool is_done(const struct probe *p)
{
    return p->state == PROBE_ANSWERED || (p->version[0] && !p->fits);
}

static void probe_over(struct probe *p)
{
    reap(p);
    p->state = PROBE_OVER;
}

/* It has ended before it was done. */
static void failed(struct probe *p)
{
    const char *words = last_words(p);
    int status = shell_status(p->wstatus);
    char why[sizeof p->why];

    if (!p->version[0] && p->how == PROXY_BESIDE && spread_not_found(status, words)) {
        reap(p);
        buf_reset(&p->words);
        buf_reset(&p->heard);
        p->how = PROXY_IN_PATH;
        p->state = PROBE_WAITING;
        return;
    }
    if (spread_not_found(status, words))
        snprintf(why, sizeof why, "there is no pmi2_proxy (%.200s); see -proxy and -stage-proxy",
                 words);
    else
        snprintf(why, sizeof why, "it ended (%d) without an answer%s%.300s", status,
                 *words ? ": " : "", words);
    probe_give_up(p, why);
}

void probe_look(struct probe *p)
{
    if (p->out >= 0 || waitpid(p->pid, &p->wstatus, WNOHANG) != p->pid)
        return;
    p->pid = 0;
    if (p->err >= 0)
        probe_listen(p);                 /* also what it said last */
    failed(p);
}

/* --- starting ---------------------------------------------------------- */

/* For this host, and with -launcher fork. */
static void be_asked(int in, int out, int err, pid_t parent)
{
    signal(SIGPIPE, SIG_IGN);
    if (setpgid(0, 0) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent ||
        dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0)
        _exit(EXIT_LAUNCHER);
    close_range(STDERR_FILENO + 1, ~0U, 0);
    _exit(check_node_serve(STDIN_FILENO, STDOUT_FILENO));
}

static pid_t run_command(struct check *c, struct probe *p, const int end[3], struct err *e)
{
    struct strlist argv = { 0 };
    char path[PATH_MAX];
    const char *step = "";
    int status;
    pid_t pid = -1;
    struct child_spec spec = { .path = path, .envp = environ, .in = end[0], .out = end[1],
                               .err = end[2], .keep = -1, .user = &c->user, .session = true };

    if (spread_check(&c->plan->remote, p->host, p->how, c->proxy, &argv, e) == 0 &&
        program_find(argv.v[0], NULL, NULL, getenv("PATH"), path, sizeof path, &status, e) == 0) {
        spec.argv = argv.v;
        pid = child_start(&spec, &step);
        if (pid < 0)
            err_set(e, ERR_OTHER, "%.200s: %s: %s", argv.v[0], step, strerror(errno));
    }
    strlist_clear(&argv);
    if (pid < 0 && !e->code)
        err_set(e, ERR_NOMEM, "no memory");
    return pid;
}

static pid_t run(struct check *c, struct probe *p, const int end[3], struct err *e)
{
    const struct launch_options *o = &c->plan->remote;
    bool forks = o->launcher == LAUNCHER_FORK && !o->proxy && !o->wrapper.n;
    pid_t parent = getpid(), pid;

    if (!p->host->local && !forks)
        return run_command(c, p, end, e);
    pid = fork();
    if (pid == 0)
        be_asked(end[0], end[1], end[2], parent);
    if (pid > 0)
        setpgid(pid, pid);               /* whichever of us is first */
    else
        err_set(e, ERR_OTHER, "fork: %s", strerror(errno));
    return pid;
}

/* Three pipes: fd[0] is read by it, the others by us. */
static int make_pipes(int fd[3][2])
{
    for (int i = 0; i < 3; i++)
        if (pipe2(fd[i], O_CLOEXEC) < 0) {
            while (i--) {
                close(fd[i][0]);
                close(fd[i][1]);
            }
            return -1;
        }
    return 0;
}

void probe_start(struct check *c, struct probe *p)
{
    const struct launcher_way *way = launcher_way(c->plan->remote.launcher);
    struct err e = { 0 };
    int fd[3][2], end[3];
    char why[120];

    if (!p->host->local && way->calls_back && c->plan->remote.launcher != LAUNCHER_SLURM) {
        snprintf(why, sizeof why, "not asked: -launcher %s has no stream to ask by", way->name);
        probe_give_up(p, why);
        return;
    }
    if (make_pipes(fd) < 0) {
        probe_give_up(p, strerror(errno));
        return;
    }
    for (int i = 0; i < 3; i++)
        end[i] = fd[i][i > 0];
    p->in = fd[0][1];
    p->out = fd[1][0];
    p->err = fd[2][0];
    fcntl(p->out, F_SETFL, O_NONBLOCK);
    fcntl(p->err, F_SETFL, O_NONBLOCK);
    p->began = now_seconds();
    p->state = PROBE_STARTED;
    p->pid = run(c, p, end, &e);
    for (int i = 0; i < 3; i++)
        close(end[i]);
    if (p->pid < 0) {
        p->pid = 0;
        probe_give_up(p, e.text);
    }
}

/* --- the dialogue ------------------------------------------------------ */

/* Read what there is.  False: the end. */
static bool read_some(int *fd, struct buf *to, size_t most)
{
    char *room = buf_room(to, 65536);
    ssize_t n = room ? read(*fd, room, 65536) : -1;

    if (n < 0 && (errno == EAGAIN || errno == EINTR) && room)
        return true;
    if (n <= 0 || to->len > most) {
        close_end(fd);
        return false;
    }
    buf_commit(to, (size_t)n);
    return true;
}

void probe_listen(struct probe *p)
{
    read_some(&p->err, &p->words, (size_t)INT_MAX);
    if (p->words.len > WORDS_MAX)
        buf_consume(&p->words, p->words.len - WORDS_MAX);
}

static double wall_clock(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* The request, once it has spoken. */
static void ask(struct probe *p)
{
    char *text = json_dumps(p->request, JSON_COMPACT | JSON_ENSURE_ASCII);

    p->asked = now_seconds();
    p->state = PROBE_ASKED;
    if (!text || sink_write_all(p->in, text, strlen(text)) < 0 ||
        sink_write_all(p->in, "\n", 1) < 0)
        close_end(&p->in);               /* its end will say why */
    free(text);
}

/* "1 0.1.0 node3": protocol, version, host. */
static void take_greeting(struct probe *p, const char *words)
{
    p->spoke = now_seconds();
    p->fits = strtol(words, NULL, 10) == PROXY_PROTOCOL;
    snprintf(p->version, sizeof p->version, "%.60s", words);
    for (char *c = p->version; *c; c++)
        if (*c < ' ' || *c > '~')        /* it may come from anybody, and will be shown */
            *c = '?';
    if (p->fits)
        ask(p);
    else
        close_end(&p->in);
}

static void take_answer(struct probe *p, const char *line)
{
    json_t *x = json_loads(line, 0, NULL);
    const json_t *clock = json_object_get(x, "clock");

    if (p->state == PROBE_ASKED && json_is_number(clock)) {
        p->trip = now_seconds() - p->asked;
        p->clock = json_number_value(clock) - (wall_clock() - p->trip / 2);
        p->state = PROBE_TIMED;
    } else if (p->state == PROBE_TIMED && json_is_object(x)) {
        p->facts = json_incref(x);
        p->state = PROBE_ANSWERED;
    }
    json_decref(x);
}

/* One line of its stdout; others than ours are what a login prints. */
static void take_line(struct probe *p, char *line)
{
    size_t marker = sizeof PROXY_MARKER - 1;

    line[strcspn(line, "\r")] = '\0';
    if (p->state != PROBE_STARTED) {
        take_answer(p, line);
        return;
    }
    line = strstr(line, PROXY_MARKER);
    if (line)
        take_greeting(p, line + marker);
}

void probe_hear(struct probe *p)
{
    char *nl;

    read_some(&p->out, &p->heard, HEARD_MAX);
    while (p->heard.len && (nl = memchr(buf_bytes(&p->heard), '\n', p->heard.len))) {
        size_t n = (size_t)(nl - buf_bytes(&p->heard)) + 1;

        *nl = '\0';
        take_line(p, buf_bytes(&p->heard));
        buf_consume(&p->heard, n);
    }
    if (is_done(p))
        probe_over(p);
}

/* remote_start.c - what starts a server below: the launcher program, its descriptors, and
 * what it says on stderr. */
#include "mpiexec_lite/remote_impl.h"

#include "mpiexec_lite/guard.h"
#include "mpiexec_lite/launch.h"
#include "mpiexec_lite/launchers.h"
#include "mpiexec_lite/ranges.h"
#include "mpiexec_lite/stage.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { WORDS_MAX = 8192 };

/* For a login script that reads a line: it gets empty ones. */
#define ENTER_KEYS "\n\n\n\n\n\n\n\n"

/* --- what it says on stderr -------------------------------------------- */

const char *remote_last_words(struct remote *any)
{
    struct remote *r = any->leader;
    char *text = r->words.len ? buf_bytes(&r->words) : NULL, *nl;

    if (!text)
        return "";
    while ((nl = strrchr(text, '\n')) && !nl[strspn(nl, "\r\n \t")])
        *nl = '\0';
    nl = strrchr(text, '\n');
    text = nl ? nl + 1 : text;
    text[strcspn(text, "\r")] = '\0';
    return text;
}

static bool is_idle(const struct launcher_way *way, const char *line, size_t len)
{
    return way->idle && memmem(line, len, way->idle, strlen(way->idle));
}

void remote_show_words(struct remote *any, bool all)
{
    struct remote *r = any->leader;
    const struct launch_options *o = &r->all->args.plan->remote;
    const struct launcher_way *way = launcher_way(o->launcher);
    const char *who = way->together ? launcher_program(o) : r->where->name;
    char *nl;

    while (r->words.len &&
           ((nl = memchr(buf_bytes(&r->words), '\n', r->words.len)) || all)) {
        size_t n = nl ? (size_t)(nl - buf_bytes(&r->words)) + 1 : r->words.len;

        if (!is_idle(way, buf_bytes(&r->words), n))
            noise_add(&r->all->noise, who, buf_bytes(&r->words), n);
        buf_consume(&r->words, n);
    }
}

void remote_close_words(struct remote *r)
{
    if (r->errors < 0)
        return;
    ev_io_stop(r->all->args.loop, &r->on_errors);
    close(r->errors);
    r->errors = -1;
}

bool remote_read_words(struct remote *any)
{
    struct remote *r = any->leader;
    char data[2048];
    ssize_t n = r->errors < 0 ? 0 : read(r->errors, data, sizeof data);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n <= 0) {
        remote_close_words(r);
        return false;
    }
    buf_add(&r->words, data, (size_t)n);
    if (r->words.len > WORDS_MAX)
        buf_consume(&r->words, r->words.len - WORDS_MAX);
    if (r->state == REMOTE_UP)
        remote_show_words(r, false);
    return true;
}

static void on_errors(struct ev_loop *loop, ev_io *w, int revents)
{
    struct remote *r = w->data;

    (void)loop;
    (void)revents;
    remote_read_words(r);
    remotes_show_noise(r->all);
}

static void watch_errors(struct remote *r)
{
    if (r->errors < 0)
        return;
    ev_io_init(&r->on_errors, on_errors, r->errors, EV_READ);
    r->on_errors.data = r;
    ev_io_start(r->all->args.loop, &r->on_errors);
}

/* --- starting ---------------------------------------------------------- */

struct ends { int in, out, err; };       /* what the launcher program gets as 0, 1, 2 */

static void close_ends(struct ends *x)
{
    close(x->in);
    if (x->out != x->in)
        close(x->out);
    if (x->err > STDERR_FILENO)
        close(x->err);
}

/* fork: one socket, and our own stderr. */
static int make_socket(struct ends *theirs, int *in, int *out)
{
    int fd[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) < 0)
        return -1;
    *in = *out = fd[0];
    *theirs = (struct ends){ fd[1], fd[1], STDERR_FILENO };
    return 0;
}

static int make_pipes(struct ends *theirs, int *in, int *out, int *err)
{
    int fd[6];

    for (int i = 0; i < 3; i++)
        if (pipe2(fd + 2 * i, O_CLOEXEC) < 0) {
            while (i--) {
                close(fd[2 * i]);
                close(fd[2 * i + 1]);
            }
            return -1;
        }
    *theirs = (struct ends){ fd[0], fd[3], fd[5] };
    *out = fd[1];
    *in = fd[2];
    *err = fd[4];
    return fcntl(*err, F_SETFL, O_NONBLOCK);
}

/* fork: no program is executed for a server on this host, as it is this one. */
static int fork_proxy(struct remote *r, const struct ends *theirs, struct err *e)
{
    pid_t parent = getpid();

    r->pid = fork();
    if (r->pid > 0) {
        setpgid(r->pid, r->pid);         /* whichever of us is first */
        return 0;
    }
    if (r->pid < 0) {
        r->pid = 0;
        return err_set(e, ERR_OTHER, "fork: %s", strerror(errno));
    }
    if (setpgid(0, 0) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent ||
        dup2(theirs->in, STDIN_FILENO) < 0 || dup2(theirs->out, STDOUT_FILENO) < 0)
        _exit(EXIT_LAUNCHER);
    close_range(STDERR_FILENO + 1, ~0U, 0);
    _exit(guard_run(r->all->args.user, NULL));
}

static int run_launcher(struct remote *r, struct strlist *argv, const struct ends *theirs,
                        struct err *e)
{
    char path[4096];
    const char *step;
    int status;
    struct child_spec spec = { .path = path, .argv = argv->v, .envp = environ,
                               .in = theirs->in, .out = theirs->out, .err = theirs->err,
                               .keep = -1, .user = r->all->args.user,
                               /* so that the kernel shares processors out between them */
                               .session = true };

    if (program_find(argv->v[0], NULL, NULL, getenv("PATH"), path, sizeof path, &status, e) < 0)
        return -1;
    r->pid = child_start(&spec, &step);
    if (r->pid > 0)
        return 0;
    r->pid = 0;
    return err_set(e, ERR_OTHER, "%s: %s: %s", argv->v[0], step, strerror(errno));
}

/* -stage-proxy: the program goes ahead of everything. */
static int stage(struct remote *r, struct err *e)
{
    struct remotes *rs = r->all;
    struct buf words = BUF_INIT;

    if (rs->staging)
        return 0;
    if (stage_read(&rs->program, &words, e) < 0)
        return -1;
    rs->staging = words.data;
    return 0;
}

/* manual: the user runs it. */
static int print_command(const struct remotes_args *a, const struct strlist *argv, struct err *e)
{
    struct buf line = BUF_INIT;
    int rc = 0;

    buf_str(&line, "HYDRA_LAUNCH:");
    for (size_t i = 0; i < argv->n; i++)
        buf_printf(&line, " %s", argv->v[i]);
    if (line.failed)
        rc = err_set(e, ERR_NOMEM, "no memory for a command");
    else
        a->ops->print(a->host, buf_bytes(&line));
    buf_clear(&line);
    return rc;
}

/* The hosts that the program of this one starts. */
static const char *nodes_of(const struct remote *r, struct ranges *to)
{
    const struct remotes *rs = r->all;

    for (int i = 0; i < rs->n; i++)
        if (rs->v[i]->leader == r)
            ranges_add(to, rs->v[i]->where->name);
    return ranges_text(to);
}

/* The program for one host, or for all; with manual only its words. */
static int run_command(struct remote *r, const struct ends *theirs, struct err *e)
{
    const struct remotes_args *a = &r->all->args;
    const struct launch_options *o = &a->plan->remote;
    struct spread_call call = { a->connect, a->job, r->position, NULL, r->together };
    struct strlist argv = { 0 };
    struct ranges nodes = { 0 };
    int rc = 0;

    if (launcher_way(o->launcher)->together && !(call.nodes = nodes_of(r, &nodes)))
        rc = err_set(e, ERR_NOMEM, "no memory for a list of hosts");
    if (rc == 0)
        rc = spread_command(o, r->where, r->how, r->all->proxy, r->all->staging,
                            a->connect ? &call : NULL, &argv, e);
    ranges_clear(&nodes);
    if (rc == 0 && o->launcher == LAUNCHER_MANUAL) {
        rc = print_command(a, &argv, e);
    } else if (rc == 0) {
        rc = run_launcher(r, &argv, theirs, e);
    }
    strlist_clear(&argv);
    return rc;
}

int remote_link(struct remote *r, int in, int out, struct err *e)
{
    const struct launch_options *o = &r->all->args.plan->remote;

    r->link = link_new(r->all->args.loop, in, out, o->heartbeat, o->lease, &remote_link_ops, r);
    if (!r->link)
        return err_set(e, ERR_NOMEM, "no memory for a link");
    link_await(r->link, PROXY_MARKER);
    return 0;
}

/* The stream is the program's stdin and stdout. */
static int start_stream(struct remote *r, struct err *e)
{
    const struct launch_options *o = &r->all->args.plan->remote;
    bool forks = o->launcher == LAUNCHER_FORK;
    struct ends theirs;
    int in, out, rc;

    if (r->how == PROXY_STAGED && stage(r, e) < 0)
        return -1;
    if ((forks ? make_socket(&theirs, &in, &out)
               : make_pipes(&theirs, &in, &out, &r->errors)) < 0)
        return err_set(e, ERR_OTHER, "descriptors: %s", strerror(errno));
    rc = forks && !o->proxy && !o->wrapper.n ? fork_proxy(r, &theirs, e) : run_command(r, &theirs, e);
    close_ends(&theirs);
    if (remote_link(r, in, out, e) < 0)
        return -1;
    if (r->how == PROXY_STAGED)
        link_send(r->link, LINK_DATA, buf_bytes(&r->all->program), r->all->program.len, NULL, 0);
    else
        link_send(r->link, LINK_DATA, ENTER_KEYS, sizeof ENTER_KEYS - 1, NULL, 0);
    return rc;
}

/* The proxy calls back; what the program prints is shown. */
static int start_call(struct remote *r, struct err *e)
{
    struct ends theirs;
    int fd[2], rc;

    if (r->how == PROXY_STAGED)
        return err_set(e, ERR_OTHER, "-stage-proxy needs a launcher with a stream: ssh");
    if (pipe2(fd, O_CLOEXEC) < 0)
        return err_set(e, ERR_OTHER, "descriptors: %s", strerror(errno));
    fcntl(fd[0], F_SETFL, O_NONBLOCK);
    r->errors = fd[0];
    theirs = (struct ends){ open("/dev/null", O_RDONLY | O_CLOEXEC), fd[1], fd[1] };
    rc = run_command(r, &theirs, e);
    close(theirs.in);
    close(fd[1]);
    return rc;
}

int remote_start(struct remote *r, struct err *e)
{
    int rc;

    r->errors = -1;
    rc = r->all->args.connect ? start_call(r, e) : start_stream(r, e);
    if (rc == 0)
        watch_errors(r);
    return rc;
}

/* remote.c - see remote.h */
#include "mpiexec_lite/remote.h"

#include "mpiexec_lite/fatal.h"
#include "mpiexec_lite/guard.h"
#include "mpiexec_lite/launch.h"
#include "mpiexec_lite/stage.h"
#include "mpiexec_lite/sweep.h"
#include "wire/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS_MAX = 8192 };

/* For a login script that reads a line: it gets empty ones. */
#define ENTER_KEYS "\n\n\n\n\n\n\n\n"

/* How long the launcher program may take to end once its stream has. */
static const double LAST_MOMENT = 1.0;

static void start_more(struct remotes *rs);

/* --- what it says on stderr -------------------------------------------- */

/* The last line that says something, without the line break. */
static const char *last_words(struct remote *r)
{
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

static void tell_line(struct remote *r, const char *line, size_t len)
{
    char text[1024];

    while (len && (line[len - 1] == '\r' || line[len - 1] == '\n'))
        len--;
    if (!len)
        return;
    snprintf(text, sizeof text, "%s: %.*s", r->where->name, (int)len, line);
    r->all->args.ops->tell(r->all->args.host, text);
}

/* Show whole lines; at the end of the stream all. */
static void show_words(struct remote *r, bool all)
{
    char *nl;

    while (r->words.len &&
           ((nl = memchr(buf_bytes(&r->words), '\n', r->words.len)) || all)) {
        size_t n = nl ? (size_t)(nl - buf_bytes(&r->words)) + 1 : r->words.len;

        tell_line(r, buf_bytes(&r->words), n);
        buf_consume(&r->words, n);
    }
}

static void close_errors(struct remote *r)
{
    if (r->errors < 0)
        return;
    ev_io_stop(r->all->args.loop, &r->on_errors);
    close(r->errors);
    r->errors = -1;
}

/* False when there is no more now. */
static bool read_errors(struct remote *r)
{
    char data[2048];
    ssize_t n = r->errors < 0 ? 0 : read(r->errors, data, sizeof data);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n <= 0) {
        close_errors(r);
        return false;
    }
    buf_add(&r->words, data, (size_t)n);
    if (r->words.len > WORDS_MAX)
        buf_consume(&r->words, r->words.len - WORDS_MAX);
    if (r->state == REMOTE_UP)
        show_words(r, false);
    return true;
}

static void on_errors(struct ev_loop *loop, ev_io *w, int revents)
{
    (void)loop;
    (void)revents;
    read_errors(w->data);
}

/* --- the end of one ---------------------------------------------------- */

static void ended(struct remote *r)
{
    struct remotes *rs = r->all;

    if (r->state == REMOTE_ENDED)
        return;
    rs->starting -= r->state == REMOTE_STARTING;
    r->state = REMOTE_ENDED;
    rs->left--;
    ev_timer_stop(rs->args.loop, &r->timer);
    close_errors(r);
    peer_free(r->peer);
    r->peer = NULL;
    if (r->pid)
        kill(-r->pid, SIGKILL);
}

static void try_again(struct remote *r, double pause)
{
    struct remotes *rs = r->all;

    rs->starting--;
    r->state = REMOTE_WAITING;
    if (r->pid)
        kill(-r->pid, SIGKILL);
    r->pid = 0;
    r->cut = false;
    r->status = 0;
    link_free(r->link);
    r->link = NULL;
    close_errors(r);
    buf_clear(&r->words);
    ev_timer_stop(rs->args.loop, &r->timer);
    ev_timer_set(&r->timer, pause, 0.);
    ev_timer_start(rs->args.loop, &r->timer);
}

static const char *launcher_name(const struct remote *r)
{
    const struct launch_options *o = &r->all->args.plan->remote;

    return o->launcher == LAUNCHER_FORK ? "pmi2_proxy" : o->exec ? o->exec : "ssh";
}

static void failed(struct remote *r, const char *why)
{
    struct remotes *rs = r->all;
    bool tell = !rs->ending;

    ended(r);
    if (tell)
        rs->args.ops->failed(rs->args.host, r->position, why);
}

static void not_found(struct remote *r)
{
    const struct launch_options *o = &r->all->args.plan->remote;
    char text[700];

    snprintf(text, sizeof text, "%s: pmi2_proxy was not found there: looked for %s and in "
             "PATH (install it in the same place, or use -proxy PATH or -stage-proxy)%s%s",
             r->where->name, o->proxy ? o->proxy : r->all->args.proxy,
             r->words.len ? ": " : "", last_words(r));
    failed(r, text);
}

/* The launcher program has ended before the proxy spoke. */
static void never_spoke(struct remote *r)
{
    const struct launch_options *o = &r->all->args.plan->remote;
    int status = shell_status(r->status);
    char text[700];

    if (spread_not_found(status, last_words(r))) {
        if (r->how == PROXY_STAGED || (r->how == PROXY_IN_PATH && !o->stage_proxy)) {
            not_found(r);
            return;
        }
        r->how++;
        try_again(r, 0.);
        return;
    }
    if (spread_is_reset(last_words(r)) && ++r->tries < SPREAD_TRIES) {
        try_again(r, spread_pause(r->tries, (unsigned)random()));
        return;
    }
    snprintf(text, sizeof text, status ? "%s: %s failed (exit %d)%s%s"
                                       : "%s: %s ended (%d) without an answer%s%s",
             r->where->name, launcher_name(r), status, r->words.len ? ": " : "",
             last_words(r));
    failed(r, text);
}

/* Both its stream and its process are over, or there was time enough for that. */
static void is_over(struct remote *r)
{
    struct remotes *rs = r->all;
    bool was_up = r->state == REMOTE_UP && !rs->ending;
    char text[700];

    for (int i = 0; i < 32 && read_errors(r); i++)
        ;
    if (r->state == REMOTE_STARTING) {
        never_spoke(r);
        return;
    }
    if (was_up && r->silent)
        snprintf(text, sizeof text, "%s unreachable: %s", r->where->name, r->why);
    else if (was_up)
        snprintf(text, sizeof text, "proxy on %s lost: %s%s%s", r->where->name,
                 *r->why ? r->why : "its stream has ended", r->words.len ? ": " : "",
                 last_words(r));
    else
        show_words(r, true);
    ended(r);
    if (was_up)
        rs->args.ops->lost(rs->args.host, r->position, text);
}

/* --- the stream -------------------------------------------------------- */

static int on_message(void *host, struct link *l, const struct msg *m, const char *payload,
                      size_t len, struct err *e)
{
    struct remote *r = host;
    struct remotes *rs = r->all;
    int rc;

    (void)l;
    if (r->state == REMOTE_ENDED || !r->peer)
        return 0;
    rc = peer_input(r->peer, m, payload, len, e);
    return rc > 0 ? rs->args.ops->message(rs->args.host, r, m, payload, len, e) : rc;
}

static void wait_for_end(struct remote *r)
{
    ev_timer_stop(r->all->args.loop, &r->timer);
    ev_timer_set(&r->timer, LAST_MOMENT, 0.);
    ev_timer_start(r->all->args.loop, &r->timer);
}

static void on_closed(void *host, struct link *l, const char *why)
{
    struct remote *r = host;

    r->cut = true;
    r->silent = l->lost;
    if (*why) {
        snprintf(r->why, sizeof r->why, "%s", why);
        if (r->state == REMOTE_STARTING && r->pid)
            kill(-r->pid, SIGKILL);
        else
            is_over(r);
    } else if (r->state == REMOTE_UP || !r->pid) {
        is_over(r);                      /* nothing is left to be said */
    } else {
        wait_for_end(r);
    }
}

static void on_noise(void *host, struct link *l, const char *text, size_t len)
{
    struct remote *r = host;

    (void)l;
    while (len) {
        const char *nl = memchr(text, '\n', len);
        size_t n = nl ? (size_t)(nl - text) + 1 : len;

        tell_line(r, text, n);
        text += n;
        len -= n;
    }
}

static void send_setup(struct remote *r)
{
    const struct remotes_args *a = &r->all->args;
    struct msg m;

    msg_init(&m);
    msg_start(&m, "setup");
    msg_int(&m, "position", r->position);
    link_message(r->link, LINK_CONTROL, &m, a->bundle, a->bundle_len, NULL);
    msg_clear(&m);
}

/* "1 0.1.0 node3": the protocol, its version, its host. */
static void on_spoke(void *host, struct link *l, const char *words)
{
    struct remote *r = host;
    struct remotes *rs = r->all;
    char text[400];

    ev_timer_stop(rs->args.loop, &r->timer);
    if (strtol(words, NULL, 10) != PROXY_PROTOCOL) {
        snprintf(text, sizeof text, "%s: the pmi2_proxy there (protocol, version, host: %.60s) "
                 "does not fit this launcher (protocol %d, version %s): install the same "
                 "version on both", r->where->name, words, PROXY_PROTOCOL, VERSION);
        failed(r, text);
        return;
    }
    rs->starting--;
    r->state = REMOTE_UP;
    link_send(l, LINK_CONTROL, LAUNCHER_MARKER "\n", sizeof LAUNCHER_MARKER, NULL, 0);
    show_words(r, false);
    r->peer = server_add_down(rs->args.server, r->link);
    if (!r->peer)
        fatal("out of memory", 0);
    send_setup(r);
    rs->args.ops->connected(rs->args.host, r->position);
    start_more(rs);
}

static const struct link_ops link_ops = {
    .message = on_message, .closed = on_closed, .noise = on_noise,
    .spoke = on_spoke,
};

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
                               .keep = -1, .user = r->all->args.user };

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

/* The program for one host; with manual the user runs it. */
static int run_command(struct remote *r, const struct ends *theirs, struct err *e)
{
    const struct remotes_args *a = &r->all->args;
    const struct launch_options *o = &a->plan->remote;
    struct spread_call call = { a->connect, a->job, r->position };
    struct strlist argv = { 0 };
    int rc = spread_command(o, r->where, r->how, a->proxy, r->all->staging,
                            a->connect ? &call : NULL, &argv, e);

    if (rc == 0 && o->launcher == LAUNCHER_MANUAL) {
        printf("HYDRA_LAUNCH:");
        for (size_t i = 0; i < argv.n; i++)
            printf(" %s", argv.v[i]);
        printf("\n");
    } else if (rc == 0) {
        rc = run_launcher(r, &argv, theirs, e);
    }
    strlist_clear(&argv);
    return rc;
}

static int make_link(struct remote *r, int in, int out, struct err *e)
{
    const struct launch_options *o = &r->all->args.plan->remote;

    r->link = link_new(r->all->args.loop, in, out, o->heartbeat, o->lease, &link_ops, r);
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
    rc = forks && !o->proxy ? fork_proxy(r, &theirs, e) : run_command(r, &theirs, e);
    close_ends(&theirs);
    if (make_link(r, in, out, e) < 0)
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

static int start(struct remote *r, struct err *e)
{
    r->errors = -1;
    return r->all->args.connect ? start_call(r, e) : start_stream(r, e);
}

bool remotes_claim(struct remotes *rs, int position)
{
    for (int i = 0; i < rs->n; i++)
        if (rs->v[i].position == position) {
            bool free = rs->v[i].state == REMOTE_STARTING && !rs->v[i].claimed;

            rs->v[i].claimed |= free;
            return free;
        }
    return false;
}

void remotes_accept(struct remotes *rs, int position, int fd)
{
    struct remote *r = remotes_towards(rs, position);
    struct err e = { 0 };

    if (!r || r->state != REMOTE_STARTING || make_link(r, fd, fd, &e) < 0)
        close(fd);
}

void remotes_refuse(struct remotes *rs, int position, const char *why)
{
    struct remote *r = remotes_towards(rs, position);
    char text[500];

    if (!r || r->state != REMOTE_STARTING)
        return;
    snprintf(text, sizeof text, "%s: %s", r->where->name, why);
    failed(r, text);
}

static void start_one(struct remote *r)
{
    struct remotes *rs = r->all;
    struct err e = { 0 };
    char text[400];

    r->state = REMOTE_STARTING;
    rs->starting++;
    if (start(r, &e) < 0) {
        snprintf(text, sizeof text, "%s: %s", r->where->name, e.text);
        failed(r, text);
        return;
    }
    if (r->errors >= 0) {
        ev_io_init(&r->on_errors, on_errors, r->errors, EV_READ);
        r->on_errors.data = r;
        ev_io_start(rs->args.loop, &r->on_errors);
    }
    ev_timer_stop(rs->args.loop, &r->timer);
    if (rs->args.plan->remote.launcher == LAUNCHER_MANUAL)
        return;                          /* a person is not hurried */
    ev_timer_set(&r->timer, rs->args.plan->remote.patience, 0.);
    ev_timer_start(rs->args.loop, &r->timer);
}

static bool may_start(const struct remotes *rs)
{
    return !rs->ending && rs->starting < rs->args.plan->remote.window;
}

static void start_more(struct remotes *rs)
{
    bool manual = rs->args.plan->remote.launcher == LAUNCHER_MANUAL && rs->next < rs->n;

    while (rs->next < rs->n && (manual || may_start(rs)))
        start_one(&rs->v[rs->next++]);
    if (manual) {
        printf("HYDRA_LAUNCH_END\n");
        fflush(stdout);
    }
}

/* Starting: its time is up.  Waiting: again.  Else: it has had its last moment. */
static void on_timer(struct ev_loop *loop, ev_timer *w, int revents)
{
    struct remote *r = w->data;
    struct remotes *rs = r->all;
    char text[400];

    (void)revents;
    if (r->state == REMOTE_WAITING && may_start(rs)) {
        start_one(r);
    } else if (r->state == REMOTE_WAITING) {
        ev_timer_set(w, 0.05, 0.);
        ev_timer_start(loop, w);
    } else if (r->state == REMOTE_STARTING && !r->cut) {
        while (read_errors(r))
            ;
        snprintf(text, sizeof text, "%s: no answer within %g s (a login script that waits for "
                 "input?)%s%s", r->where->name, rs->args.plan->remote.patience,
                 r->words.len ? ": " : "", last_words(r));
        failed(r, text);
        start_more(rs);
    } else if (r->cut) {
        is_over(r);
        start_more(rs);
    }
}

bool remotes_reaped(struct remotes *rs, pid_t pid, int wstatus)
{
    for (int i = 0; i < rs->n; i++) {
        struct remote *r = &rs->v[i];

        if (r->pid != pid)
            continue;
        r->pid = 0;
        r->status = wstatus;
        if (r->cut && r->state != REMOTE_ENDED && r->state != REMOTE_WAITING)
            is_over(r);
        else if (r->state == REMOTE_STARTING && !r->link && wstatus)
            is_over(r);                  /* tcp: it will not call */
        start_more(rs);
        return true;
    }
    return false;
}

int remotes_launch(struct remotes *rs, int first, int n, int most)
{
    if (!rs->v && !(rs->v = calloc((size_t)(most ? most : 1), sizeof *rs->v)))
        return -1;
    if (n <= rs->n)
        return 0;
    rs->left += n - rs->n;
    for (int i = rs->n; i < n; i++) {
        struct remote *r = &rs->v[i];
        int node = tree_node(rs->args.plan, first + i);

        *r = (struct remote){ .all = rs, .position = first + i, .errors = -1,
                              .where = &rs->args.plan->hosts[node] };
        ev_timer_init(&r->timer, on_timer, 0., 0.);
        r->timer.data = r;
    }
    rs->n = n;
    start_more(rs);
    return 0;
}

int remotes_sweep(struct remotes *rs, double seconds)
{
    pid_t *pids = calloc((size_t)rs->n + 1, sizeof *pids);
    size_t n = 0;
    int left;

    for (int i = 0; pids && i < rs->n; i++)
        if (rs->v[i].pid)
            pids[n++] = rs->v[i].pid;
    left = pids ? sweep_but(seconds, pids, n) : 1;
    free(pids);
    return left;
}

/* --- the whole --------------------------------------------------------- */

void remotes_init(struct remotes *rs, const struct remotes_args *args)
{
    *rs = (struct remotes){ .args = *args };
}

void remotes_clear(struct remotes *rs)
{
    rs->ending = true;
    for (int i = 0; i < rs->n; i++) {
        ended(&rs->v[i]);
        ev_timer_stop(rs->args.loop, &rs->v[i].timer);
        link_free(rs->v[i].link);
        buf_clear(&rs->v[i].words);
    }
    free(rs->v);
    free(rs->staging);
    buf_clear(&rs->program);
    *rs = (struct remotes){ .args = rs->args };
}

struct remote *remotes_towards(struct remotes *rs, int position)
{
    int at = position;

    while (at > 0 && rs->n)
        for (int i = 0; i < rs->n; i++) {
            if (rs->v[i].position == at)
                return &rs->v[i];
            if (i == rs->n - 1) {
                at = tree_parent(&rs->args.tree, at);
                break;
            }
        }
    return NULL;
}

void remotes_send(struct remotes *rs, struct msg *m)
{
    for (int i = 0; i < rs->n; i++)
        if (rs->v[i].state == REMOTE_UP)
            link_message(rs->v[i].link, LINK_CONTROL, m, NULL, 0, NULL);
}

void remote_done(struct remote *r)
{
    if (r->state != REMOTE_UP)
        return;
    r->state = REMOTE_DONE;
    link_shut(r->link);
}

void remotes_end(struct remotes *rs)
{
    rs->ending = true;
    for (int i = 0; i < rs->n; i++)
        if (rs->v[i].state == REMOTE_WAITING || rs->v[i].state == REMOTE_STARTING)
            ended(&rs->v[i]);
}

struct remote *remotes_unfinished(struct remotes *rs)
{
    for (int i = 0; i < rs->n; i++)
        if (rs->v[i].state == REMOTE_UP)
            return &rs->v[i];
    return NULL;
}

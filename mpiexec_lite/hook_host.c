/* hook_host.c - see hook_host.h */
#include "mpiexec_lite/hook_host.h"

#include "mpiexec_lite/hook_maps.h"
#include "mpiexec_lite/hooks.h"
#include "pmix_ext/env_text.h"
#include "pmix_ext/info.h"
#include "pmix_ext/value.h"
#include "wire/seal.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { REQUEST_MAX = 64 << 20 };         /* bytes of a line from the library */

struct hook_host {
    struct ev_loop  *loop;
    ev_io            on_signals, on_requests;
    int              signals;
    struct inherited user;
    struct all_hooks all;
    struct buf       in;                 /* owned, as is what follows */
    json_t          *job;                /* the first request; NULL: none yet */
    struct strlist   providers;
    struct plan      plan;
    struct placement place;
    struct setup     setup;
    char            *directives;
    int             *ranks, nranks;      /* those here */
    struct hooks    *hooks;              /* NULL: there is no provider */
    bool             application, ready;
};

/* --- to the library ---------------------------------------------------- */

/* Takes the line.  Blocks while the library does not read, which it does at all times. */
static void say(json_t *line)
{
    char *text = line ? json_dumps(line, JSON_COMPACT) : NULL;
    size_t len = text ? strlen(text) : 0;
    ssize_t n = 0;

    if (text)
        text[len] = '\n';                /* in place of its NUL */
    for (size_t at = 0; text && at <= len; at += (size_t)n) {
        n = write(STDOUT_FILENO, text + at, len + 1 - at);
        if (n < 0 && errno != EINTR)
            break;                       /* its end is seen where it is read */
        n = n < 0 ? 0 : n;
    }
    if (text)
        seal_wipe(text, len);
    free(text);
    json_decref(line);
}

static void complain(const char *text)
{
    struct buf safe = BUF_INIT;

    buf_escaped(&safe, text, strlen(text));
    fprintf(stderr, "mpiexec_lite: %s\n", safe.failed ? "no memory" : buf_bytes(&safe));
    buf_clear(&safe);
}

static void say_failed(const char *why)
{
    complain(why);
    say(json_pack("{s:b}", "failed", 1));
}

static void say_ready(struct hook_host *h)
{
    static const struct setup nothing;
    const struct setup *s = h->application && h->hooks ? hooks_result(h->hooks) : &nothing;
    struct buf text = BUF_INIT;
    struct err e = { 0 };
    json_t *infos = NULL;

    if (value_encode_array(PMIX_INFO, s->infos.v, s->infos.n, "infos", &text, &e) == 0)
        infos = json_loadb(buf_bytes(&text), text.len, 0, NULL);
    seal_wipe_buf(&text);
    buf_clear(&text);
    h->ready = infos != NULL;
    if (infos)
        say(json_pack("{s:o}", "ready", infos));
    else
        say_failed("no memory for what providers have said");
}

/* --- providers --------------------------------------------------------- */

static void on_ready(void *host)
{
    struct hook_host *h = host;

    say_ready(h);
    if (h->application || !h->ready)
        hooks_finish(h->hooks);
}

static void on_failed(void *host, const char *why, bool cancelled)
{
    struct hook_host *h = host;

    (void)cancelled;
    say_failed(why);
    hooks_finish(h->hooks);
}

static void on_over(void *host)
{
    ev_break(((struct hook_host *)host)->loop, EVBREAK_ALL);
}

static void on_warning(void *host, const char *text)
{
    (void)host;
    complain(text);
}

static const struct hooks_ops ops = { on_ready, on_failed, on_over, on_warning };

static int list_providers(struct hook_host *h, struct err *e)
{
    struct strlist dirs = { 0 }, none = { 0 };
    const char *dir = getenv("MPIEXEC_LITE_PROVIDERS");
    int rc = 0;

    if (dir && *dir && strlist_add(&dirs, dir) < 0)
        rc = err_set(e, ERR_NOMEM, "no memory for providers");
    if (rc == 0)
        rc = providers_list(false, &dirs, &none, &h->providers, e);
    strlist_clear(&dirs);
    return rc;
}

/* --- the job ----------------------------------------------------------- */

static const char *member(const struct hook_host *h, const char *name)
{
    const char *text = json_string_value(json_object_get(h->job, name));

    return text ? text : "";
}

/* What was said of the job; the keys that a server answers itself are no provider's. */
static int take_setup(struct hook_host *h, const json_t *infos, struct err *e)
{
    json_t *said = json_array(), *x;
    char *text;
    size_t i;
    int rc = -1;

    json_array_foreach(infos, i, x) {
        const char *key = json_string_value(json_object_get(x, "key"));

        if (!key || !info_key(key))
            json_array_append(said, x);
    }
    text = json_dumps(said, JSON_COMPACT);
    json_decref(said);
    if (!text)
        return err_set(e, ERR_NOMEM, "no memory for what was said of the job");
    rc = setup_add(&h->setup, "of the host", text, strlen(text), false, NULL, e);
    setup_free_text(text);
    return rc;
}

static struct hooks_args args_of(struct hook_host *h)
{
    return (struct hooks_args){
        .loop = h->loop, .all = &h->all, .providers = &h->providers, .root_fails = true,
        .user = &h->user, .setup = &h->setup, .ranks = h->ranks, .nranks = h->nranks,
        .job = { .id = member(h, "job"), .plan = &h->plan, .place = &h->place,
                 .directives = h->directives } };
}

static int begin_application(struct hook_host *h, const json_t *infos, struct err *e)
{
    struct hooks_args args = args_of(h);

    h->application = true;
    if (json_array_size(infos) && !(h->directives = json_dumps(infos, JSON_COMPACT)))
        return err_set(e, ERR_NOMEM, "no memory for directives");
    args.job.directives = h->directives;
    if (h->providers.n)
        h->hooks = hooks_application(&args, &ops, h, e);
    return h->hooks || !h->providers.n ? 0 : -1;
}

static int begin_local(struct hook_host *h, const json_t *infos, struct err *e)
{
    int node = maps_node(&h->plan, member(h, "host"));
    struct hooks_args args;

    if (node < 0)
        return err_set(e, ERR_INVALID_ARG, "%.100s is no node of the job %.100s",
                       member(h, "host"), member(h, "job"));
    h->nranks = placement_ranks(&h->place, node, &h->ranks);
    if (h->nranks < 0) {
        h->nranks = 0;
        return err_set(e, ERR_NOMEM, "no memory for ranks");
    }
    if (take_setup(h, infos, e) < 0)
        return -1;
    args = args_of(h);
    args.node = node;
    if (h->providers.n)
        h->hooks = hooks_local(&args, &ops, h, e);
    return h->hooks || !h->providers.n ? 0 : -1;
}

static int begin(struct hook_host *h, struct err *e)
{
    const json_t *infos = json_object_get(h->job, "infos");

    if (list_providers(h, e) < 0 ||
        maps_read(member(h, "nodes"), member(h, "ranks"), &h->plan, &h->place, e) < 0)
        return -1;
    if (!strcmp(member(h, "for"), hook_name(HOOK_APPLICATION)))
        return begin_application(h, infos, e);
    if (!strcmp(member(h, "for"), hook_name(HOOK_LOCAL)))
        return begin_local(h, infos, e);
    return err_set(e, ERR_INVALID_ARG, "--host-providers: for '%.40s'", member(h, "for"));
}

static void start(struct hook_host *h, json_t *request)
{
    struct err e = { 0 };

    h->job = json_incref(request);
    if (begin(h, &e) < 0) {
        say_failed(e.text);
        ev_break(h->loop, EVBREAK_ALL);
    } else if (!h->hooks) {
        say_ready(h);
        if (h->application)
            ev_break(h->loop, EVBREAK_ALL);
    }
}

/* --- its ranks --------------------------------------------------------- */

static int find_rank(const struct hook_host *h, json_int_t rank)
{
    int i = 0;

    while (i < h->nranks && h->ranks[i] != rank)
        i++;
    return i;
}

static json_t *say_env(const struct strlist *env)
{
    char *text = env_text_write(env->v);
    json_t *line = text ? json_pack("{s:s}", "env", text) : NULL;

    setup_free_text(text);
    return line;
}

static void prepare(struct hook_host *h, json_int_t rank, const char *text)
{
    int i = find_rank(h, rank);
    struct strlist env = { 0 };
    struct err e = { 0 };
    json_t *line = NULL;

    if (text && (env.v = env_text_read(text, &env.n)))
        env.cap = env.n + 1;
    if (!h->ready || i == h->nranks)
        err_set(&e, ERR_INVALID_ARG, "no rank that has been set up here");
    else if (!env.v)
        err_set(&e, ERR_INVALID_VAL, "the environment makes no sense");
    else if (setup_change_env(&h->setup, NULL, 0, &env, &e) == 0 &&
             (!h->hooks || setup_change_env(hooks_child(h->hooks, i), NULL, 0, &env, &e) == 0))
        line = say_env(&env);
    say(line ? line : json_pack("{s:s}", "error", *e.text ? e.text : "no memory"));
    strlist_clear(&env);
}

/* Before it is ready nobody was asked to set the rank up; at the end it is told. */
static void finish_rank(struct hook_host *h, json_int_t rank)
{
    int i = find_rank(h, rank);

    if (h->ready && h->hooks && i < h->nranks)
        hooks_child_finished(h->hooks, h->ranks[i], false, 0);
}

/* --- from the library -------------------------------------------------- */

static void take(struct hook_host *h, const char *line, size_t len)
{
    json_t *x = json_loadb(line, len, 0, NULL), *rank;

    if (!h->job)
        start(h, x);
    else if ((rank = json_object_get(x, "fork")))
        prepare(h, json_integer_value(rank), json_string_value(json_object_get(x, "env")));
    else if ((rank = json_object_get(x, "finished")))
        finish_rank(h, json_integer_value(rank));
    json_decref(x);
}

static void end(struct hook_host *h)
{
    ev_io_stop(h->loop, &h->on_requests);
    if (!h->hooks)
        ev_break(h->loop, EVBREAK_ALL);
    else
        hooks_finish(h->hooks);
}

static void on_requests(struct ev_loop *loop, ev_io *w, int revents)
{
    struct hook_host *h = w->data;
    char *to = buf_room(&h->in, 65536), *newline;
    ssize_t n = to ? read(STDIN_FILENO, to, 65536) : 0;

    (void)loop;
    (void)revents;
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n <= 0 || h->in.len > REQUEST_MAX) {
        end(h);
        return;
    }
    buf_commit(&h->in, (size_t)n);
    while (h->in.len && (newline = memchr(buf_bytes(&h->in), '\n', h->in.len))) {
        size_t len = (size_t)(newline - buf_bytes(&h->in));

        take(h, buf_bytes(&h->in), len);
        seal_wipe(buf_bytes(&h->in), len);
        buf_consume(&h->in, len + 1);
    }
}

static void on_signals(struct ev_loop *loop, ev_io *w, int revents)
{
    struct hook_host *h = w->data;
    struct signalfd_siginfo info;
    pid_t pid;

    (void)loop;
    (void)revents;
    while (read(h->signals, &info, sizeof info) == sizeof info)
        ;
    while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
        all_hooks_reaped(&h->all, pid);
}

/* --- the process ------------------------------------------------------- */

/* What the program that holds the library was given is not ours. */
static int open_host(struct hook_host *h)
{
    sigset_t set;

    syscall(SYS_close_range, 3u, ~0u, 0u);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGCHLD, SIG_DFL);
    inherited_save(&h->user);
    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    h->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    h->loop = ev_loop_new(EVBACKEND_EPOLL | EVFLAG_NOENV);
    return h->signals < 0 || !h->loop ? -1 : 0;
}

static void clear(struct hook_host *h)
{
    hooks_free(h->hooks);
    setup_clear(&h->setup);
    placement_clear(&h->place);
    plan_clear(&h->plan);
    strlist_clear(&h->providers);
    free(h->ranks);
    free(h->directives);
    json_decref(h->job);
    seal_wipe_buf(&h->in);
    buf_clear(&h->in);
    ev_loop_destroy(h->loop);
    close(h->signals);
}

int hook_host_run(void)
{
    struct hook_host h = { .all = TAILQ_HEAD_INITIALIZER(h.all) };

    if (open_host(&h) < 0) {
        say_failed(strerror(errno));
        return EXIT_FAILURE;
    }
    plan_init(&h.plan);
    ev_io_init(&h.on_signals, on_signals, h.signals, EV_READ);
    ev_io_init(&h.on_requests, on_requests, STDIN_FILENO, EV_READ);
    h.on_signals.data = h.on_requests.data = &h;
    ev_io_start(h.loop, &h.on_signals);
    ev_io_start(h.loop, &h.on_requests);
    ev_run(h.loop, 0);
    clear(&h);
    return EXIT_SUCCESS;
}

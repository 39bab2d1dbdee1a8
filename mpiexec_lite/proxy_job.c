/* proxy_job.c - a job's part on this node: made, started, its output, its end. */
#include "mpiexec_lite/proxy_impl.h"

#include "mpiexec_lite/env.h"
#include "mpiexec_lite/fatal.h"
#include "wire/limits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const double SWEEP_TIME = 5.0;

struct proxy_job *proxy_job_of(const struct crew *c)
{
    return c->args.owner;
}

struct proxy_job *proxy_job_find(struct proxy *p, long long number)
{
    struct proxy_job *j;

    TAILQ_FOREACH(j, &p->jobs, in_proxy)
        if (j->number == number)
            return j;
    return NULL;
}

struct rank_state *proxy_job_state(struct proxy_job *j, long long rank)
{
    const struct rank *r = rank < INT_MAX ? crew_rank(&j->crew, (int)rank) : NULL;

    return r && j->states ? &j->states[r - j->crew.ranks] : NULL;
}

struct msg *proxy_job_message(struct proxy_job *j, const char *cmd)
{
    struct msg *m = proxy_message(j->proxy, cmd);

    if (j->number)
        msg_int(m, "number", j->number);
    return m;
}

/* --- output and input -------------------------------------------------- */

static size_t send_output(void *host, int rank, bool errors, const char *data, size_t len)
{
    struct proxy_job *j = host;
    struct link *up = j->proxy->up;
    size_t done = 0, room;

    while (done < len && (room = link_room(up, LINK_BULK)) > 0) {
        size_t n = len - done < room ? len - done : room;
        struct msg *m = proxy_job_message(j, "out");

        if (n > LIMIT_CHUNK)
            n = LIMIT_CHUNK;
        msg_int(m, "node", j->proxy->node.args.index);
        msg_int(m, "rank", rank);
        msg_int(m, "err", errors);
        msg_int(m, "flush", done + n == len && data[len - 1] != '\n');
        link_message(up, LINK_BULK, m, data + done, n, NULL);
        done += n;
    }
    return done;
}

static void output_failed(void *host, const char *what, int errnum)
{
    struct proxy_job *j = host;
    char text[400];

    snprintf(text, sizeof text, "%s: %s", what, strerror(errnum));
    proxy_broken(j->proxy, text);
}

/* Of a rank that is watched: the same bytes once more, and whose they are. */
static bool tap_ready(void *host)
{
    struct proxy_job *j = host;

    return link_room(j->proxy->up, LINK_BULK) > 0;
}

static void tap_take(void *host, int rank, bool errors, const char *data, size_t len)
{
    struct proxy_job *j = host;
    size_t done = 0, n;

    do {
        struct msg *m = proxy_job_message(j, "iof");

        n = len - done < LIMIT_CHUNK ? len - done : LIMIT_CHUNK;
        msg_int(m, "rank", rank);
        msg_int(m, "err", errors);
        link_message(j->proxy->up, LINK_BULK, m, len ? data + done : NULL, n, NULL);
        done += n;
    } while (done < len);
}

static const struct output_tap tap = { tap_ready, tap_take };

void proxy_job_room(struct proxy_job *j)
{
    places_go_on(&j->places);
    output_go_on(j->crew.output);
}

static const struct places_ops places_ops = { output_failed, send_output, NULL };

static void send_input_number(struct proxy_job *j, const char *cmd, size_t bytes)
{
    struct msg *m = proxy_job_message(j, cmd);

    msg_int(m, "position", j->proxy->position);
    msg_int(m, "bytes", (long long)bytes);
    proxy_send(j->proxy, NULL, 0);
}

static void feed_credit(void *host, size_t bytes)
{
    send_input_number(host, "stdin-taken", bytes);
}

static void feed_closed(void *host)
{
    send_input_number(host, "stdin-closed", 0);
}

static void feed_failed(void *host, int errnum)
{
    char text[100];

    snprintf(text, sizeof text, "write to stdin of a rank: %s", strerror(errnum));
    proxy_broken(((struct proxy_job *)host)->proxy, text);
}

static const struct feed_ops feed_ops = { feed_credit, feed_closed, feed_failed };

/* Ranks here read stdin that comes from the launcher. */
static int make_feed(struct proxy_job *j, struct err *e)
{
    const struct plan *plan = &j->bundle.plan;
    bool all = plan->stdin_mode == STDIN_ALL && j->crew.n;

    if (!all && (plan->stdin_mode == STDIN_NONE || !crew_rank(&j->crew, plan->stdin_rank)))
        return 0;
    j->crew.feed = feed_new(j->proxy->loop, &feed_ops, j);
    if (!all && !j->number)
        output_set_input(j->crew.output, -2);
    return j->crew.feed ? 0 : err_set(e, ERR_NOMEM, "no memory for stdin");
}

/* --- made -------------------------------------------------------------- */

/* The directory of the launcher is the proxy's, too: blocks' are relative to it. */
static int enter_directory(struct proxy_job *j, struct err *e)
{
    if (!j->crew.n || chdir(j->bundle.cwd) == 0)
        return 0;
    return err_set(e, ERR_OTHER, "cannot enter the launcher's directory %s: %s", j->bundle.cwd,
                   strerror(errno));
}

struct proxy_job *proxy_job_new(struct proxy *p, int number, const char *data, size_t len,
                                struct err *e)
{
    struct proxy_job *j = calloc(1, sizeof *j);

    if (!j) {
        err_set(e, ERR_NOMEM, "no memory for a job");
        return NULL;
    }
    j->proxy = p;
    j->number = number;
    TAILQ_INSERT_TAIL(&p->jobs, j, in_proxy);
    if (bundle_read(&j->bundle, data, len, e) == 0)
        return j;
    proxy_job_free(j);
    return NULL;
}

int proxy_job_init(struct proxy_job *j, struct err *e)
{
    struct node *n = &j->proxy->node;
    const struct bundle *b = &j->bundle;
    struct crew_args args = { .plan = &b->plan, .place = &b->place, .envs = b->envs,
                              .jobid = b->jobid, .spawner = b->spawner, .number = j->number,
                              .input = -1, .owner = j };
    struct output_args out = { .places = &j->places, .plan = &b->plan, .job = j->number,
                               .node = n->args.index, .hostname = b->plan.hosts[n->args.index].name,
                               .buffer = n->buffer, .size = NODE_BUFFER,
                               .wrote = n->args.timeline ? crew_wrote : NULL,
                               .host = &j->crew };

    j->programs = calloc(b->plan.napps, sizeof *j->programs);
    if (!j->programs)
        return err_set(e, ERR_NOMEM, "no memory for programs");
    args.programs = j->programs;
    if (crew_init(&j->crew, n, &args, e) < 0)
        return -1;
    j->states = calloc((size_t)j->crew.n + 1, sizeof *j->states);
    if (!j->states)
        return err_set(e, ERR_NOMEM, "no memory for %d ranks", j->crew.n);
    if (places_init(&j->places, j->proxy->loop, &places_ops, j, e) < 0)
        return -1;
    j->crew.output = output_new(&out, e);
    if (j->crew.output)
        output_tap(j->crew.output, &tap, j);
    if (j->crew.output && j->watched)
        output_watch(j->crew.output, -1, true);
    return j->crew.output ? 0 : -1;
}

void proxy_job_free(struct proxy_job *j)
{
    crew_clear(&j->crew);
    places_clear(&j->places);
    for (size_t a = 0; j->programs && a < j->bundle.plan.napps; a++)
        free(j->programs[a]);
    free(j->programs);
    free(j->states);
    bundle_clear(&j->bundle);
    TAILQ_REMOVE(&j->proxy->jobs, j, in_proxy);
    free(j);
}

int proxy_job_ranks_below(const struct proxy_job *j)
{
    const struct proxy *p = j->proxy;
    int n = 0;

    for (size_t i = 0; i < j->bundle.place.nruns; i++) {
        const struct run *run = &j->bundle.place.runs[i];
        int at = tree_position(&j->bundle.plan, run->node);

        if (at == p->position || tree_next(&p->tree, p->position, at) >= 0)
            n += run->n;
    }
    return n;
}

/* The program of a block, if ranks of it are here; 0, or -1, the status that a shell
 * would give, and e. */
static int find_program(struct proxy_job *j, size_t a, int *status, struct err *e)
{
    const struct app *app = &j->bundle.plan.apps[a];
    const char *path = j->bundle.envs[a].n ? env_get(j->bundle.envs[a].v, "PATH") : NULL;
    char found[PATH_MAX];

    if (program_find(app->argv.v[0], app->wdir, app->path, path ? path : "/usr/bin:/bin",
                     found, sizeof found, status, e) < 0)
        return -1;
    j->programs[a] = strdup(found);
    if (!j->programs[a])
        fatal("out of memory", 0);
    return 0;
}

struct here { int first, last, n; };     /* ranks of a block on this host */

static struct here ranks_here(const struct proxy_job *j, size_t app)
{
    struct here h = { -1, -1, 0 };

    for (int i = 0; i < j->crew.n; i++)
        if (plan_app_of(&j->bundle.plan, j->crew.ranks[i].rank) == app) {
            h.last = j->crew.ranks[i].rank;
            h.first = h.n++ ? h.first : h.last;
        }
    return h;
}

/* A program that is missing is told once, with the status that a shell would give. */
static int missing_program(struct proxy *p, struct here h, int status, const struct err *e)
{
    char text[600];

    if (h.n == 1)
        snprintf(text, sizeof text, "cannot start rank %d: %s", h.first, e->text);
    else if (h.n == h.last - h.first + 1)
        snprintf(text, sizeof text, "cannot start ranks %d-%d: %s", h.first, h.last, e->text);
    else
        snprintf(text, sizeof text, "cannot start %d of ranks %d-%d: %s", h.n, h.first, h.last,
                 e->text);
    proxy_broken_with(p, status, text);
    return -1;
}

int proxy_job_prepare(struct proxy_job *j)
{
    struct proxy *p = j->proxy;
    struct err e = { 0 };
    int status;

    if (enter_directory(j, &e) < 0 || crew_add_job(&j->crew, proxy_job_ranks_below(j), &e) < 0 ||
        crew_take_setup(&j->crew, j->bundle.setup, &e) < 0 || make_feed(j, &e) < 0 ||
        crew_check_files(&j->crew, &e) < 0) {
        proxy_broken(p, e.text);
        return -1;
    }
    for (size_t a = 0; a < j->bundle.plan.napps; a++) {
        struct here here = ranks_here(j, a);

        if (here.n && find_program(j, a, &status, &e) < 0)
            return missing_program(p, here, status, &e);
    }
    if (crew_set_up(&j->crew, &e) >= 0)
        return 0;
    proxy_broken(p, e.text);
    return -1;
}

/* --- started ----------------------------------------------------------- */

/* After one that could not be started. */
static void tell_never_ran(struct proxy_job *j)
{
    for (int i = 0; i < j->crew.n; i++)
        if (!j->crew.ranks[i].pid)
            events_add(&j->proxy->ended,
                       &(struct rank_end){ j->crew.ranks[i].rank, RANK_NEVER_RAN, 0, 0,
                                           j->number, false });
}

/* Or that it could not be.  With it goes what they are bound to. */
static void say_started(struct proxy_job *j)
{
    const struct buf *cpusets = &j->crew.cpusets;
    size_t len = cpusets->len <= LINK_PAYLOAD ? cpusets->len : 0;

    if (!j->crew.n)
        return;
    msg_int(proxy_job_message(j, "started"), "position", j->proxy->position);
    proxy_send(j->proxy, len ? buf_bytes(cpusets) : NULL, len);
}

void proxy_job_start(struct proxy_job *j)
{
    struct err e = { 0 };

    if (j->started || !j->crew.job || !crew_is_set_up(&j->crew))
        return;
    j->started = true;
    if (crew_start(&j->crew, &e) < 0)
        proxy_broken(j->proxy, e.text);
    tell_never_ran(j);
    say_started(j);
}

/* No rank of a block here can be started. */
static void tell_failed(struct proxy_job *j, struct here h, const char *step, int errnum)
{
    for (int i = 0; i < j->crew.n; i++) {
        int rank = j->crew.ranks[i].rank;

        if (rank >= h.first && rank <= h.last)
            proxy_send_event(j, "not-started", rank, errnum, step);
    }
}

/* What a job that a rank has started needs; false: no rank here can be. */
static bool prepare_new(struct proxy_job *j)
{
    struct here all = { 0, j->bundle.place.size - 1, j->crew.n };
    struct err e = { 0 };
    bool ok = true;
    int status;

    if (enter_directory(j, &e) < 0) {
        tell_failed(j, all, e.text, ENOENT);
        return false;
    }
    if (crew_check_files(&j->crew, &e) < 0) {
        tell_failed(j, all, e.text, EMFILE);
        return false;
    }
    for (size_t a = 0; a < j->bundle.plan.napps; a++) {
        struct here here = ranks_here(j, a);

        if (!here.n || find_program(j, a, &status, &e) == 0)
            continue;
        tell_failed(j, here, "exec", status == EXIT_NOT_FOUND ? ENOENT : EACCES);
        ok = false;
    }
    return ok;
}

static void give_up(struct proxy_job *j)
{
    crew_give_up(&j->crew);
    j->started = true;
    tell_never_ran(j);
    say_started(j);
}

void proxy_job_prepared(struct proxy_job *j)
{
    if (j->number)
        proxy_job_start(j);
    else
        proxy_say_ready(j->proxy);
}

void proxy_job_unprepared(struct proxy_job *j, const char *why, int errnum)
{
    struct here all = { 0, j->bundle.place.size - 1, j->crew.n };
    char text[1000];

    if (!j->number) {
        proxy_broken(j->proxy, why);
        return;
    }
    snprintf(text, sizeof text, "%s: %s", j->proxy->node.args.hostname, why);
    tell_failed(j, all, text, errnum);
    give_up(j);
}

int proxy_job_begin(struct proxy_job *j, struct err *e)
{
    if (proxy_job_init(j, e) < 0 || crew_add_job(&j->crew, proxy_job_ranks_below(j), e) < 0 ||
        crew_take_setup(&j->crew, j->bundle.setup, e) < 0)
        return -1;
    if (!j->crew.n)
        return 0;
    if (make_feed(j, e) < 0)
        return -1;
    if (!prepare_new(j))
        give_up(j);
    else if (crew_set_up(&j->crew, e) < 0)
        proxy_job_unprepared(j, e->text, EAGAIN);
    else
        proxy_job_start(j);
    return 0;
}

/* --- ended ------------------------------------------------------------- */

/* What cannot be told apart goes with the last job. */
static void sweep(struct proxy_job *j)
{
    struct proxy *p = j->proxy;
    bool alone = TAILQ_FIRST(&p->jobs) == j && !TAILQ_NEXT(j, in_proxy);

    remotes_sweep(&p->below, &p->node.hooks, NULL, alone ? NULL : j->bundle.jobid, SWEEP_TIME);
}

void proxy_job_sweep(struct proxy_job *j)
{
    sweep(j);
    if (j->crew.job)
        crew_swept(&j->crew);
}

void proxy_job_close_streams(struct proxy_job *j)
{
    if (!j->crew.output || output_ended(j->crew.output))
        return;
    sweep(j);
    output_close_streams(j->crew.output);
}

/* What only this host knows of ranks that came to a bad end. */
static void tell_blames(struct proxy_job *j)
{
    for (int i = 0; i < j->crew.nblames; i++) {
        const struct blame *b = &j->crew.blames[i];
        struct msg *m = proxy_job_message(j, "blame");
        struct buf words = BUF_INIT;

        output_last_words(j->crew.output, b->rank, &words);
        msg_int(m, "rank", b->rank);
        msg_str(m, "text", b->memory);
        proxy_send(j->proxy, words.len ? buf_bytes(&words) : NULL, words.len);
        buf_clear(&words);
    }
}

/* Once it was started: before that, nobody waits for it. */
void proxy_job_say_unhooked(struct proxy_job *j)
{
    if (j->unhooked || !j->started || !j->bundle.plan.providers.n || !j->crew.n ||
        !crew_unhooked(&j->crew))
        return;
    j->unhooked = true;
    msg_int(proxy_job_message(j, "unhooked"), "position", j->proxy->position);
    proxy_send(j->proxy, NULL, 0);
}

void proxy_job_say_quiet(struct proxy_job *j)
{
    if (j->quiet || !j->started || j->crew.running || !output_ended(j->crew.output) ||
        !places_flushed(&j->places) || (j->number && !j->crew.n))
        return;
    j->quiet = true;
    tell_blames(j);
    msg_int(proxy_job_message(j, "quiet"), "position", j->proxy->position);
    link_message(j->proxy->up, LINK_BULK, &j->proxy->msg, NULL, 0, NULL);
}

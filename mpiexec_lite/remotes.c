/* remotes.c - all servers below: how many are started at a time, what they are sent, and
 * when they are given up. */
#include "mpiexec_lite/remote_impl.h"

#include "mpiexec_lite/fatal.h"
#include "mpiexec_lite/launchers.h"
#include "mpiexec_lite/stage.h"
#include "mpiexec_lite/sweep.h"
#include "wire/limits.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- starting ---------------------------------------------------------- */

static void expect(struct remote *r)
{
    struct remotes *rs = r->all;

    ev_timer_stop(rs->args.loop, &r->timer);
    if (rs->args.plan->remote.launcher == LAUNCHER_MANUAL)
        return;                          /* a person is not hurried */
    ev_timer_set(&r->timer, rs->args.plan->remote.patience, 0.);
    ev_timer_start(rs->args.loop, &r->timer);
}

/* n of them, by one program. */
static void start(struct remote **v, int n)
{
    struct remotes *rs = v[0]->all;
    struct err e = { 0 };
    char text[400];

    for (int i = 0; i < n; i++) {
        v[i]->leader = v[0];
        v[i]->state = REMOTE_STARTING;
    }
    v[0]->together = n;
    rs->starting += n;
    if (remote_start(v[0], &e) == 0) {
        for (int i = 0; i < n; i++)
            expect(v[i]);
        return;
    }
    for (int i = 0; i < n; i++) {
        snprintf(text, sizeof text, "%s: %s", v[i]->where->name, e.text);
        remote_failed(v[i], text);
    }
}

static bool may_start(const struct remotes *rs)
{
    return !rs->ending && !rs->held && rs->starting < rs->args.plan->remote.window;
}

/* How many that are to be started next one program can start. */
static int waiting(const struct remotes *rs)
{
    bool together = launcher_way(rs->args.plan->remote.launcher)->together;
    int n = 0;

    while (rs->next + n < rs->n && rs->v[rs->next + n]->state == REMOTE_WAITING &&
           (together || n < 1))
        n++;
    return n;
}

void remotes_start_more(struct remotes *rs)
{
    bool manual = rs->args.plan->remote.launcher == LAUNCHER_MANUAL && rs->next < rs->n &&
                  !rs->held;

    while (rs->next < rs->n && (manual || may_start(rs))) {
        struct remote **from = &rs->v[rs->next];
        int n = waiting(rs);

        rs->next += n ? n : 1;           /* 0: that one is not wanted any more */
        if (n)
            start(from, n);
    }
    if (manual)
        rs->args.ops->print(rs->args.host, "HYDRA_LAUNCH_END");
    remotes_show_noise(rs);
}

void remotes_hold(struct remotes *rs, bool held)
{
    rs->held = held;
    if (!held)
        remotes_start_more(rs);
}

void remotes_show_noise(struct remotes *rs)
{
    if (rs->ending || (!rs->starting && rs->next == rs->n))
        noise_show(&rs->noise);
}

/* Starting: its time is up.  Waiting: again.  Else: it has had its last moment. */
static void on_timer(struct ev_loop *loop, ev_timer *w, int revents)
{
    struct remote *r = w->data;
    struct remotes *rs = r->all;
    char text[400];

    (void)revents;
    if (r->state == REMOTE_WAITING && may_start(rs)) {
        start(&r, 1);
    } else if (r->state == REMOTE_WAITING) {
        ev_timer_set(w, 0.05, 0.);
        ev_timer_start(loop, w);
    } else if (r->state == REMOTE_STARTING && !r->cut) {
        while (remote_read_words(r))
            ;
        snprintf(text, sizeof text, "%s: no answer within %g s (is it up, or does a login script "
                 "there wait for input?)%s%s", r->where->name, rs->args.plan->remote.patience,
                 r->leader->words.len ? ": " : "", remote_last_words(r));
        remote_failed(r, text);
        remotes_start_more(rs);
    } else if (r->cut) {
        remote_over(r);
        remotes_start_more(rs);
    }
}

/* Room for one more: the array grows whenever its length is a power of two. */
static int make_room(struct remotes *rs)
{
    struct remote **v;

    if (rs->n & (rs->n - 1))
        return 0;
    v = reallocarray(rs->v, rs->n ? (size_t)rs->n * 2 : 1, sizeof *v);
    if (!v)
        return -1;
    rs->v = v;
    return 0;
}

static int add(struct remotes *rs, int position)
{
    struct remote *r = calloc(1, sizeof *r);

    if (!r || make_room(rs) < 0) {
        free(r);
        return -1;
    }
    *r = (struct remote){ .all = rs, .position = position, .leader = r, .together = 1,
                          .errors = -1 };
    ev_timer_init(&r->timer, on_timer, 0., 0.);
    r->timer.data = r;
    rs->v[rs->n++] = r;
    rs->left++;
    return 0;
}

/* The array of hosts may have moved. */
static void find_hosts(struct remotes *rs)
{
    for (int i = 0; i < rs->n; i++)
        rs->v[i]->where = &rs->args.plan->hosts[tree_node(rs->args.plan, rs->v[i]->position)];
}

int remotes_launch(struct remotes *rs, int first, int n)
{
    for (int i = n; i < rs->n; i++)      /* of a trial; now another one starts it */
        remote_drop(rs->v[i]);
    return n > rs->n ? remotes_add(rs, first + rs->n, n - rs->n) : 0;
}

/* Where it is looked for first; that it can be looked for in PATH is left. */
static int find_proxy(struct remotes *rs)
{
    char path[PATH_MAX];

    if (!rs->proxy)
        rs->proxy = strdup(stage_beside(path, sizeof path) < 0 ? "pmi2_proxy" : path);
    return rs->proxy ? 0 : -1;
}

int remotes_add(struct remotes *rs, int position, int n)
{
    if (find_proxy(rs) < 0)
        return -1;
    for (int i = 0; i < n; i++)
        if (add(rs, position + i) < 0)
            return -1;
    find_hosts(rs);
    remotes_start_more(rs);
    return 0;
}

/* --- their processes --------------------------------------------------- */

/* The program has failed: whom it was to start, and who has not called, will not; and if the
 * others end now (Slurm ends a step whose srun is gone), that is why. */
static void give_up(struct remote *leader, int wstatus)
{
    struct remotes *rs = leader->all;
    const struct launch_options *o = &rs->args.plan->remote;
    const char *name = launcher_way(o->launcher)->together ? launcher_program(o) : NULL;

    for (int i = 0; i < rs->n; i++) {
        struct remote *r = rs->v[i];

        if (r->leader != leader)
            continue;
        if (r->state == REMOTE_STARTING && !r->link)
            remote_over(r);
        else if (r->state == REMOTE_UP && name)
            snprintf(r->why, sizeof r->why, "%.60s has ended (%s %d)", name, WIFSIGNALED(wstatus) ?
                     "signal" : "exit", WIFSIGNALED(wstatus) ? WTERMSIG(wstatus) :
                                                               WEXITSTATUS(wstatus));
    }
}

bool remotes_reaped(struct remotes *rs, pid_t pid, int wstatus)
{
    for (int i = 0; i < rs->n; i++) {
        struct remote *r = rs->v[i];

        if (r->pid != pid)
            continue;
        r->pid = 0;
        r->status = wstatus;
        if (r->cut && r->state != REMOTE_ENDED && r->state != REMOTE_WAITING)
            remote_over(r);
        if (wstatus)
            give_up(r, wstatus);
        remotes_start_more(rs);
        return true;
    }
    return false;
}

int remotes_sweep(struct remotes *rs, const struct all_hooks *hooks,
                  const struct scheduler *scheduler, const char *jobid, double seconds)
{
    size_t asked = scheduler ? scheduler_pids(scheduler, NULL, 0) : 0;
    size_t most = (size_t)rs->n + all_hooks_pids(hooks, NULL, 0) + asked, n = 0;
    pid_t *pids = calloc(most + 1, sizeof *pids);
    int left;

    for (int i = 0; pids && i < rs->n; i++)
        if (rs->v[i]->pid)
            pids[n++] = rs->v[i]->pid;
    if (pids)
        n += all_hooks_pids(hooks, pids + n, most - n);
    if (pids && scheduler)
        n += scheduler_pids(scheduler, pids + n, most - n);
    left = pids ? sweep_but(seconds, pids, n, jobid) : 1;
    free(pids);
    return left;
}

/* --- proxies that call back -------------------------------------------- */

bool remotes_claim(struct remotes *rs, int position)
{
    for (int i = 0; i < rs->n; i++)
        if (rs->v[i]->position == position) {
            bool wanted = rs->v[i]->state == REMOTE_STARTING && !rs->v[i]->claimed;

            rs->v[i]->claimed |= wanted;
            return wanted;
        }
    return false;
}

void remotes_accept(struct remotes *rs, int position, int fd)
{
    struct remote *r = remotes_towards(rs, position);
    struct err e = { 0 };

    if (!r || r->state != REMOTE_STARTING || remote_link(r, fd, fd, &e) < 0)
        close(fd);
}

void remotes_refuse(struct remotes *rs, int position, const char *why)
{
    struct remote *r = remotes_towards(rs, position);
    char text[500];

    if (!r || (r->state != REMOTE_STARTING && r->state != REMOTE_WAITING))
        return;
    snprintf(text, sizeof text, "%s: %s", r->where->name, why);
    remote_failed(r, text);
    remotes_start_more(rs);
}

/* --- the whole --------------------------------------------------------- */

void remotes_init(struct remotes *rs, const struct remotes_args *args)
{
    *rs = (struct remotes){ .args = *args, .noise = { .tell = args->ops->tell,
                                                      .host = args->host } };
}

void remotes_clear(struct remotes *rs)
{
    rs->ending = true;
    for (int i = 0; i < rs->n; i++) {
        remote_drop(rs->v[i]);
        ev_timer_stop(rs->args.loop, &rs->v[i]->timer);
        link_free(rs->v[i]->link);
        buf_clear(&rs->v[i]->words);
        free(rs->v[i]);
    }
    free(rs->v);
    free(rs->proxy);
    free(rs->staging);
    buf_clear(&rs->program);
    noise_clear(&rs->noise);
    *rs = (struct remotes){ .args = rs->args };
}

struct remote *remotes_towards(struct remotes *rs, int position)
{
    for (int at = position; at > 0; at = tree_parent(&rs->args.tree, at))
        for (int i = 0; i < rs->n; i++)
            if (rs->v[i]->position == at)
                return rs->v[i];
    return NULL;
}

void remotes_room(struct remotes *rs)
{
    for (int i = 0; i < rs->n; i++) {
        struct remote *r = rs->v[i];

        if (r->link && r->held_data)
            link_grant(r->link, LINK_DATA, r->held_data);
        r->held_data = 0;
    }
}

void remotes_send(struct remotes *rs, struct msg *m, const char *payload, size_t len)
{
    struct buf frame = BUF_INIT;
    struct blob *b;

    if (!rs->n)
        return;
    if (len)
        msg_int(m, "payload", (long long)len);
    if (wire_v2.format(m, LIMIT_FRAME_LINK, &frame, NULL) < 0 || frame.failed)
        fatal("a message to another server is too long, or there is no memory", 0);
    b = blob_new(buf_bytes(&frame), frame.len, payload, len);
    for (int i = 0; i < rs->n; i++)
        if (rs->v[i]->state == REMOTE_UP)
            link_send_blob(rs->v[i]->link, LINK_CONTROL, b);
    blob_drop(b);
    buf_clear(&frame);
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
        if (rs->v[i]->state == REMOTE_WAITING || rs->v[i]->state == REMOTE_STARTING)
            remote_drop(rs->v[i]);
    noise_show(&rs->noise);
}

struct remote *remotes_unfinished(struct remotes *rs)
{
    for (int i = 0; i < rs->n; i++)
        if (rs->v[i]->state == REMOTE_UP)
            return rs->v[i];
    return NULL;
}

/* remote.c - one server below: what comes over its stream, and its end. */
#include "mpiexec_lite/remote_impl.h"

#include "mpiexec_lite/fatal.h"
#include "mpiexec_lite/launch.h"
#include "mpiexec_lite/launchers.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How long the launcher program may take to end once its stream has. */
static const double LAST_MOMENT = 1.0;

/* --- the end of one ---------------------------------------------------- */

void remote_drop(struct remote *r)
{
    struct remotes *rs = r->all;

    if (r->state == REMOTE_ENDED)
        return;
    rs->starting -= r->state == REMOTE_STARTING;
    r->state = REMOTE_ENDED;
    rs->left--;
    ev_timer_stop(rs->args.loop, &r->timer);
    peer_free(r->peer);
    r->peer = NULL;
    if (--r->leader->together > 0)
        return;
    remote_close_words(r->leader);
    if (r->leader->pid)
        kill(-r->leader->pid, SIGKILL);
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
    remote_close_words(r);
    buf_clear(&r->words);
    ev_timer_stop(rs->args.loop, &r->timer);
    ev_timer_set(&r->timer, pause, 0.);
    ev_timer_start(rs->args.loop, &r->timer);
}

static const char *launcher_name(const struct remote *r)
{
    const struct launch_options *o = &r->all->args.plan->remote;

    return o->launcher == LAUNCHER_FORK ? "pmi2_proxy" : launcher_program(o);
}

void remote_failed(struct remote *r, const char *why)
{
    struct remotes *rs = r->all;
    bool tell = !rs->ending;

    remote_drop(r);
    if (tell)
        rs->args.ops->failed(rs->args.host, r->position, why);
    noise_show(&rs->noise);              /* it may say why; the cause comes first */
}

static void not_found(struct remote *r)
{
    const struct launch_options *o = &r->all->args.plan->remote;
    char text[700];

    snprintf(text, sizeof text, "%s: pmi2_proxy was not found there: looked for %s and in "
             "PATH (install it in the same place, or use -proxy PATH or -stage-proxy)%s%s",
             r->where->name, o->proxy ? o->proxy : r->all->proxy,
             r->leader->words.len ? ": " : "", remote_last_words(r));
    remote_failed(r, text);
}

/* Before the next attempt, in seconds. */
static double pause_of(struct remote *r)
{
    const struct launch_options *o = &r->all->args.plan->remote;
    char text[400];

    if (!spread_is_limit(o, r->tries))
        return spread_pause(r->tries, (unsigned)random());
    if (!o->ssh_quiet) {
        snprintf(text, sizeof text, "%s: %d ssh in a row; the next one in %d s", r->where->name,
                 r->tries, o->ssh_limit_time);
        r->all->args.ops->tell(r->all->args.host, text);
    }
    return o->ssh_limit_time;
}

/* The launcher program has ended before the proxy spoke, of nothing that is known better:
 * ssh's own failures are 255, other statuses are those of the shell that it has started. */
static void unanswered(struct remote *r, int status)
{
    const struct launch_options *o = &r->all->args.plan->remote;
    const char *words = r->leader->words.len ? remote_last_words(r) : "";
    const char *colon = *words ? ": " : "", *where = r->where->name;
    char text[700];

    if (r->how == PROXY_STAGED && status && status != 255)
        snprintf(text, sizeof text, "%s: -stage-proxy: pmi2_proxy could not be put there, or not "
                 "run (exit %d)%s%s", where, status, colon, words);
    else if (o->launcher == LAUNCHER_SSH && !o->exec && status != 255)
        snprintf(text, sizeof text, "%s: the login by ssh ended (exit %d) before pmi2_proxy "
                 "answered (does a login script there exit?)%s%s", where, status, colon, words);
    else if (status)
        snprintf(text, sizeof text, "%s: %s failed (exit %d)%s%s", where, launcher_name(r), status,
                 colon, words);
    else
        snprintf(text, sizeof text, "%s: %s ended (0) without an answer%s%s", where,
                 launcher_name(r), colon, words);
    remote_failed(r, text);
}

/* The launcher program has ended before the proxy spoke. */
static void never_spoke(struct remote *r)
{
    const struct launch_options *o = &r->all->args.plan->remote;
    bool together = launcher_way(o->launcher)->together;
    int status = shell_status(r->leader->status);
    char text[400];

    if (*r->why) {                       /* it was ended, for this */
        snprintf(text, sizeof text, "%s: %s", r->where->name, r->why);
        remote_failed(r, text);
        return;
    }
    if (r->how != PROXY_STAGED && spread_not_found(status, remote_last_words(r))) {
        if (together || (r->how == PROXY_IN_PATH && !o->stage_proxy)) {
            not_found(r);
            return;
        }
        r->how++;
        try_again(r, 0.);
        return;
    }
    if (!together && spread_is_reset(remote_last_words(r)) && ++r->tries < o->tries) {
        try_again(r, pause_of(r));
        return;
    }
    unanswered(r, status);
}

void remote_over(struct remote *r)
{
    struct remotes *rs = r->all;
    bool was_up = r->state == REMOTE_UP && !rs->ending;
    char text[700];

    for (int i = 0; i < 32 && remote_read_words(r); i++)
        ;
    if (r->state == REMOTE_STARTING) {
        never_spoke(r);
        return;
    }
    if (was_up && r->silent)
        snprintf(text, sizeof text, "%s unreachable: %s", r->where->name, r->why);
    else if (was_up)
        snprintf(text, sizeof text, "proxy on %s lost: %s%s%s", r->where->name,
                 *r->why ? r->why : "its stream has ended", r->leader->words.len ? ": " : "",
                 remote_last_words(r));
    else if (!launcher_way(rs->args.plan->remote.launcher)->together)
        remote_show_words(r, true);      /* else it speaks of the end of its job */
    remote_drop(r);
    if (was_up)
        rs->args.ops->lost(rs->args.host, r->position, text);
    remotes_show_noise(rs);
}

/* --- the stream -------------------------------------------------------- */

static int on_message(void *host, struct link *l, const struct msg *m, const char *payload,
                      size_t len, struct err *e)
{
    struct remote *r = host;
    struct remotes *rs = r->all;
    int rc;

    if (r->state == REMOTE_ENDED || !r->peer)
        return 0;
    rc = peer_input(r->peer, m, payload, len, e);
    if (rc == 0 && rs->args.up && !link_room(rs->args.up, LINK_DATA))
        r->held_data += link_hold(l);
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
            remote_over(r);
    } else if (r->state == REMOTE_UP || !r->pid) {
        remote_over(r);                      /* nothing is left to be said */
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

        noise_add(&r->all->noise, r->where->name, text, n);
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

    if (r->state != REMOTE_STARTING)
        return;                          /* given up, or not wanted any more */
    ev_timer_stop(rs->args.loop, &r->timer);
    if (strtol(words, NULL, 10) != PROXY_PROTOCOL) {
        snprintf(text, sizeof text, "%s: the pmi2_proxy there (protocol, version, host: %.60s) "
                 "does not fit this launcher (protocol %d, version %s): install the same "
                 "version on both", r->where->name, words, PROXY_PROTOCOL, VERSION);
        remote_failed(r, text);
        return;
    }
    rs->starting--;
    r->state = REMOTE_UP;
    link_send(l, LINK_CONTROL, LAUNCHER_MARKER "\n", sizeof LAUNCHER_MARKER, NULL, 0);
    while (remote_read_words(r))         /* also what it said before */
        ;
    remote_show_words(r, false);
    r->peer = server_add_down(rs->args.server, r->link);
    if (!r->peer)
        fatal("out of memory", 0);
    send_setup(r);
    rs->args.ops->connected(rs->args.host, r->position);
    remotes_start_more(rs);
}

const struct link_ops remote_link_ops = {
    .message = on_message, .closed = on_closed, .noise = on_noise,
    .spoke = on_spoke,
};

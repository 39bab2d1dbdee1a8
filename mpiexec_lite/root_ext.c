/* root_ext.c - the extended commands: what they ask of the launcher (ext_ops). */
#include "mpiexec_lite/root_impl.h"

#include "mpiexec_lite/journal.h"
#include "mpiexec_lite/tools.h"
#include "pmix_ext/ext.h"
#include "pmix_ext/find.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* At the end tools have so many seconds to take what is theirs; where none takes anything
 * for PATIENCE seconds, less. */
static const double LINGER = 10.0, PATIENCE = 2.0;

static const char *op_hostname(void *host)
{
    struct root *r = host;

    return r->hostname;
}

static double op_now(void *host)
{
    struct timespec t;

    (void)host;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Into a file of -log-dir; its user is told what is wrong with that. */
static int keep(struct root *r, const char *name, const char *line, size_t len)
{
    const char *dir = r->plan->log_dir;
    int errnum = journal_write(dir, name, line, len);
    char text[512];

    if (errnum && dir) {
        snprintf(text, sizeof text, "-log-dir %.200s: cannot write %.100s%s: %s", dir,
                 name ? name : "store", name ? ".record" : "", strerror(errnum));
        node_warn(&r->node, text);
    }
    return errnum;
}

/* For a reader who does not read, messages are lost rather than kept without end. */
static int op_log(void *host, enum ext_log to, int priority, const char *job,
                  const char *line, size_t len)
{
    struct root *r = host;

    switch (to) {
    case EXT_LOG_STDOUT:
        return places_line(&r->places, false, line, len) ? 0 : EAGAIN;
    case EXT_LOG_STDERR:
        return places_line(&r->places, true, line, len) ? 0 : EAGAIN;
    case EXT_LOG_SYSLOG:
        return journal_syslog(priority, line, len);
    case EXT_LOG_RECORD:
        return keep(r, job ? job : r->jobid, line, len);
    case EXT_LOG_STORE:
        return keep(r, NULL, line, len);
    }
    return ENOTSUP;
}

/* Ours and root's; root is shown its own. */
static int op_servers(void *host, uid_t uid, struct rendezvous **list)
{
    (void)host;
    (void)uid;
    return find_all(list, NULL);
}

static bool op_allocates(void *host)
{
    (void)host;
    return scheduler_allocates();
}

static pmix_status_t op_schedule(void *host, unsigned number, const struct sched_ask *ask,
                                 struct err *e)
{
    return scheduler_ask(&((struct root *)host)->scheduler, number, ask, e);
}

static void op_unschedule(void *host, unsigned number)
{
    scheduler_forget(&((struct root *)host)->scheduler, number);
}

static void scheduled(void *host, unsigned number, const struct sched_answer *a)
{
    ext_scheduled(((struct root *)host)->ext, number, a);
}

static void op_broken(void *host, const char *why)
{
    root_broken(host, EXIT_LAUNCHER, why);
}

static const struct ext_ops ext_ops = {
    .hostname = op_hostname, .now = op_now, .facts = &root_facts,
    .watch = root_watch_output, .output_room = root_output_room, .push = root_push, .log = op_log,
    .allocates = op_allocates, .schedule = op_schedule, .unschedule = op_unschedule,
    .order = root_order, .look = root_look, .cleanup = root_cleanup, .servers = op_servers,
    .waits = root_hold_waits, .direct = root_pause_direct, .go = root_pause_go,
    .left = root_pause_lost, .broken = op_broken,
};

int root_ext_init(struct root *r, struct err *e)
{
    root_tools_init(r);
    root_look_init(r);
    stacker_init(&r->stacker, r->loop, root_survey_stacks, r);
    scheduler_init(&r->scheduler, r->loop, environ, &r->user, scheduled, r);
    r->ext = ext_new(r->node.server, &ext_ops, r, e);
    return r->ext ? 0 : -1;
}

/* Bytes for tools, of this host and of others, that they have not taken. */
static size_t untaken(const struct root *r)
{
    return ext_held(r->ext) + tool_streams_untaken(&r->streams) +
           (r->tools ? tools_unsent(r->tools) : 0);
}

/* What ranks wrote last, and that they have ended, is for tools as well, if they take it. */
double root_ext_linger(struct root *r, double now)
{
    struct last_wait *l = &r->last_wait;
    size_t left = untaken(r);

    if (!l->began) {
        *l = (struct last_wait){ .began = now, .moved = now, .left = left };
        ext_give_back(r->ext);
    }
    if (scheduler_pids(&r->scheduler, NULL, 0) && now < l->began + LINGER)
        return l->began + LINGER;
    if (left != l->left) {
        l->left = left;
        l->moved = now;
    }
    if (!left || now >= l->moved + PATIENCE || now >= l->began + LINGER)
        return 0;
    return l->moved + PATIENCE < l->began + LINGER ? l->moved + PATIENCE : l->began + LINGER;
}

void root_ext_clear(struct root *r)
{
    root_tools_clear(r);
    ext_free(r->ext);
    root_surveys_clear(r);
    glances_clear(&r->glances);
    stacker_clear(&r->stacker);
    scheduler_clear(&r->scheduler);
}

/* root_names.c - names beyond this launcher: the resident server, if one is used
 * (-nameserver); and the core's timers. */
#include "mpiexec_lite/root_impl.h"

#include "mpiexec_lite/naming.h"
#include "pmix_ext/rundir.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COMMAND = 500 };              /* bytes of a job's command that are told */

static void tell(void *host, const char *text)
{
    root_tell(host, "%s", text);
}

/* What was named must be there; what is only looked for, need not. */
int root_names_init(struct root *r, struct err *e)
{
    const char *given = r->plan->nameserver;
    bool search = !given || !strcmp(given, "auto") || !strcmp(given, "start");
    char path[RUNDIR_PATH];
    struct naming_args args = { .where = search ? path : given,
                                .munge_socket = r->plan->remote.munge_socket,
                                .interrupt = r->args->control, .tell = tell, .host = r };

    if ((given && !strcmp(given, "none")) || (search && !rundir_find(path, sizeof path)))
        return 0;
    if (!search && *given == '/' && strlen(given) >= sizeof path)
        return err_set(e, ERR_LENGTH, "-nameserver: the path is too long");
    r->naming = naming_new(r->loop, &args, e);
    if (r->naming) {
        root_say(r, 1, "names are kept by the server of %s", args.where);
        return 0;
    }
    if (!search)
        return err_context(e, "-nameserver");
    root_say(r, 1, "names stay in this launcher: %s", e->text);
    *e = (struct err){ 0 };
    return 0;
}

bool root_names_ask(void *host, struct name_ask *a)
{
    struct root *r = host;

    if (r->naming)
        naming_ask(r->naming, a);
    return r->naming != NULL;
}

/* --- jobs -------------------------------------------------------------- */

static void add_command(struct buf *out, const struct plan *p)
{
    for (size_t a = 0; a < p->napps && out->len < COMMAND; a++) {
        buf_str(out, a ? " :" : "");
        for (size_t i = 0; i < p->apps[a].argv.n && out->len < COMMAND; i++) {
            const char *word = p->apps[a].argv.v[i];

            if (out->len)
                buf_char(out, ' ');
            buf_escaped(out, word, strnlen(word, COMMAND));
        }
    }
    if (out->len > COMMAND)
        buf_cut(out, COMMAND);
}

void root_names_add(struct root_job *j)
{
    struct root *r = j->root;
    struct buf command = BUF_INIT;
    struct naming_job job = { .id = j->bundle.jobid, .host = r->hostname, .pid = getppid(),
                              .size = j->launch.size };

    if (!r->naming)
        return;
    add_command(&command, &j->bundle.plan);
    job.command = command.len && !command.failed ? buf_bytes(&command) : "";
    if (naming_add_job(r->naming, &job) < 0)
        root_tell(r, "no memory to tell the name server of job %s", job.id);
    buf_clear(&command);
}

void root_names_end(struct root_job *j)
{
    if (j->root->naming)
        naming_end_job(j->root->naming, j->bundle.jobid);
}

/* --- timers ------------------------------------------------------------ */

struct root_timer {
    ev_timer     timer;
    struct root *root;
    unsigned     id;
    TAILQ_ENTRY(root_timer) in_root;
};

static void timer_free(struct root_timer *t)
{
    ev_timer_stop(t->root->loop, &t->timer);
    TAILQ_REMOVE(&t->root->timers, t, in_root);
    free(t);
}

static void on_timer(struct ev_loop *loop, ev_timer *w, int revents)
{
    struct root_timer *t = w->data;
    struct root *r = t->root;
    unsigned id = t->id;

    (void)loop;
    (void)revents;
    timer_free(t);
    server_timer(r->node.server, id);
}

/* Host operation timer. */
void root_timer(void *host, unsigned id, double seconds)
{
    struct root *r = host;
    struct root_timer *t, *next;

    for (t = TAILQ_FIRST(&r->timers); t; t = next) {
        next = TAILQ_NEXT(t, in_root);
        if (t->id == id)
            timer_free(t);
    }
    if (!(seconds > 0))
        return;
    t = calloc(1, sizeof *t);
    if (!t) {
        root_broken(r, EXIT_LAUNCHER, "no memory for a timer");
        return;
    }
    t->root = r;
    t->id = id;
    TAILQ_INSERT_TAIL(&r->timers, t, in_root);
    ev_timer_init(&t->timer, on_timer, seconds, 0.);
    t->timer.data = t;
    ev_timer_start(r->loop, &t->timer);
}

void root_names_clear(struct root *r)
{
    struct root_timer *t;

    while ((t = TAILQ_FIRST(&r->timers)))
        timer_free(t);
    naming_free(r->naming);
    r->naming = NULL;
}

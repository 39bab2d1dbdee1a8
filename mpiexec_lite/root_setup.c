/* root_setup.c - what set-up providers do for a job (RFC0012), as the root sees it: asked
 * once about the job as a whole, before anything of it is sent or started; then, as on every
 * node, about its ranks on this host. */
#include "mpiexec_lite/root_impl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the job as a whole ------------------------------------------------ */

/* Only those that take part on nodes need to be there. */
static int list_takers(struct root_job *j, struct err *e)
{
    const struct strlist *all = &j->root->plan->providers;

    for (size_t i = 0; i < all->n; i++)
        if (hooks_wants_node(j->application, i) && strlist_add(&j->takers, all->v[i]) < 0)
            return err_set(e, ERR_NOMEM, "no memory for providers");
    if (j->number) {                     /* its bundle is its own */
        j->bundle.plan.providers = j->takers;
        j->takers = (struct strlist){ 0 };
    } else {
        j->bundle.plan.providers = j->takers;    /* lent, as the rest of that plan */
    }
    return 0;
}

/* What they have said becomes part of what is sent to the nodes. */
static int keep_setup(struct root_job *j, struct err *e)
{
    struct setup *s = hooks_result(j->application);
    struct buf text = BUF_INIT;

    root_say(j->root, 1, "%sproviders: %zu entries", root_job_name(j).text, s->infos.n);
    if (!s->infos.n)
        return 0;
    if (setup_write(s, &text, e) < 0)
        return -1;
    if (text.failed)
        return err_set(e, ERR_NOMEM, "no memory for what providers have said");
    j->bundle.setup = text.data;         /* nothing was consumed: it begins there */
    return 0;
}

static void application_ready(void *host)
{
    struct root_job *j = host;
    struct err e = { 0 };
    bool ok = list_takers(j, &e) == 0 && keep_setup(j, &e) == 0;

    hooks_finish(j->application);
    j->set_up(j, ok ? NULL : e.text);
}

static void application_failed(void *host, const char *why, bool cancelled)
{
    struct root_job *j = host;

    (void)cancelled;
    hooks_finish(j->application);
    j->set_up(j, why);
}

static void warn(void *host, const char *text)
{
    root_tell(((struct root_job *)host)->root, "%s", text);
}

static const struct hooks_ops ops = {
    .ready = application_ready, .failed = application_failed, .warn = warn,
};

int root_setup_begin(struct root_job *j, void (*done)(struct root_job *j, const char *why),
                     struct err *e)
{
    struct root *r = j->root;
    const struct bundle *b = &j->bundle;
    struct hooks_args args = { .loop = r->loop, .all = &r->node.hooks,
                               .providers = &r->plan->providers,
                               .root_fails = r->plan->providers_root == PROVIDERS_ROOT_FAIL,
                               .user = &r->user,
                               .job = { .id = b->jobid, .spawner = b->spawner, .plan = &b->plan,
                                        .place = &b->place } };

    if (!r->plan->providers.n || plan_is_single(&b->plan))
        return 0;
    j->set_up = done;
    j->application = hooks_application(&args, &ops, j, e);
    return j->application ? 1 : -1;
}

/* --- the job of the command line --------------------------------------- */

/* What other nodes are sent has grown; then they are brought up. */
static void go_on(struct root *r)
{
    bool grown = r->main->application && !root_is_alone(r);
    struct err e = { 0 };

    if (r->main->launch.ending)
        return;
    if ((grown && root_write_bundle(r, r->plan, &e) < 0) || root_spread_init(r, &e) < 0)
        root_broken(r, EXIT_LAUNCHER, e.text);
}

static int count_hooked(struct root_job *j)
{
    struct root *r = j->root;
    int n = 0;

    for (int i = 1; i < r->servers; i++) {
        j->at[i].hooked = j->at[i].starts && j->bundle.plan.providers.n;
        n += j->at[i].hooked;
    }
    return n;
}

static void main_set_up(struct root_job *j, const char *why)
{
    if (why) {
        root_broken(j->root, EXIT_LAUNCHER, why);
        return;
    }
    j->hooked = count_hooked(j);
    go_on(j->root);
}

void root_setup_main(struct root *r)
{
    struct err e = { 0 };
    int rc = root_setup_begin(r->main, main_set_up, &e);

    if (rc == 0)
        go_on(r);
    else if (rc < 0)
        root_broken(r, EXIT_LAUNCHER, e.text);
}

/* --- the ranks of this host -------------------------------------------- */

static void tell_never_ran(struct root_job *j)
{
    for (int i = 0; i < j->crew.n; i++)          /* after one that could not be started */
        if (!j->crew.ranks[i].pid)
            launch_never_ran(&j->launch, j->crew.ranks[i].rank);
}

void root_setup_start(struct root_job *j)
{
    struct err e = { 0 };

    if (j->crew.step == CREW_SETTING_UP)
        return;                          /* root_prepared, root_unprepared */
    if (crew_is_set_up(&j->crew) && crew_start(&j->crew, &e) < 0)
        root_broken(j->root, EXIT_LAUNCHER, e.text);
    tell_never_ran(j);
}

void root_prepared(void *host, struct crew *c)
{
    struct root_job *j = root_job_of(c);

    if (!j->number) {
        root_check_ready(host);
        return;
    }
    if (j->launch.ending)
        crew_give_up(c);
    root_setup_start(j);
    root_new_started(j, 0);
}

void root_unprepared(void *host, struct crew *c, const char *why, int errnum)
{
    struct root_job *j = root_job_of(c);

    if (!j->number) {
        root_broken(host, EXIT_LAUNCHER, why);
        return;
    }
    for (int i = 0; i < c->n; i++)
        root_job_not_started(j, c->ranks[i].rank, why, errnum);
    tell_never_ran(j);
    root_new_started(j, 0);
}

/* --- afterwards -------------------------------------------------------- */

void root_unhooked(void *host, struct crew *c)
{
    (void)host;                          /* the loop looks at it */
    (void)c;
}

void root_job_unhooked(struct root_job *j, int position)
{
    j->hooked -= j->at[position].hooked;
    j->at[position].hooked = false;
}

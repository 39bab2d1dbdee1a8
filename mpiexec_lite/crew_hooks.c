/* crew_hooks.c - set-up providers of a job on this node: asked before its ranks are started,
 * told when they have ended. */
#include "mpiexec_lite/crew.h"

#include <errno.h>
#include <stdlib.h>

/* As text that any PMI program can ask for. */
static int add_attribute(struct crew *c, const pmix_info_t *info, struct err *e)
{
    struct buf text = BUF_INIT;
    int rc = setup_text(&info->value, &text) < 0
             ? err_set(e, ERR_NOMEM, "no memory for an attribute")
             : job_add_attribute(c->job, info->key, text.len ? buf_bytes(&text) : "", e);

    buf_clear(&text);
    return rc;
}

int crew_take_setup(struct crew *c, const char *text, struct err *e)
{
    if (setup_read(&c->setup, text, e) < 0)
        return -1;
    for (size_t i = 0; i < c->setup.infos.n; i++)
        if (!setup_is_env(&c->setup.infos.v[i]) &&
            add_attribute(c, &c->setup.infos.v[i], e) < 0)
            return -1;
    return 0;
}

/* --- what becomes of it ------------------------------------------------ */

static void ready(void *host)
{
    struct crew *c = host;

    if (c->step != CREW_SETTING_UP)
        return;
    c->step = CREW_SET_UP;
    c->node->ops->prepared(c->node->host, c);
}

static void failed(void *host, const char *why, bool cancelled)
{
    struct crew *c = host;

    if (c->step != CREW_SETTING_UP)
        return;
    crew_give_up(c);
    c->node->ops->unprepared(c->node->host, c, why, cancelled ? ECANCELED : EPERM);
}

static void over(void *host)
{
    struct crew *c = host;

    c->node->ops->unhooked(c->node->host, c);
}

static void warn(void *host, const char *text)
{
    struct crew *c = host;

    node_warn(c->node, text);
}

static const struct hooks_ops ops = { ready, failed, over, warn };

int crew_set_up(struct crew *c, struct err *e)
{
    const struct crew_args *a = &c->args;
    struct hooks_args args = { .loop = c->node->loop, .all = &c->node->hooks,
                               .providers = &a->plan->providers,
                               .root_fails = a->plan->providers_root == PROVIDERS_ROOT_FAIL,
                               .user = c->node->args.user,
                               .job = { .id = a->jobid, .spawner = a->spawner, .plan = a->plan,
                                        .place = a->place },
                               .node = c->node->args.index, .setup = &c->setup,
                               .nranks = c->n };
    int *ranks;

    c->step = CREW_SET_UP;
    if (!a->plan->providers.n || !c->n)
        return 0;
    ranks = malloc((size_t)c->n * sizeof *ranks);
    if (!ranks)
        return err_set(e, ERR_NOMEM, "no memory for providers");
    for (int i = 0; i < c->n; i++)
        ranks[i] = c->ranks[i].rank;
    args.ranks = ranks;
    c->hooks = hooks_local(&args, &ops, c, e);
    free(ranks);
    c->step = c->hooks ? CREW_SETTING_UP : CREW_GIVEN_UP;
    return c->hooks ? 1 : -1;
}

bool crew_is_set_up(const struct crew *c)
{
    return c->step == CREW_SET_UP;
}

bool crew_unhooked(const struct crew *c)
{
    return !c->hooks || hooks_over(c->hooks);
}

/* --- the end ----------------------------------------------------------- */

void crew_give_up(struct crew *c)
{
    if (c->step == CREW_FORKED)
        return;
    c->step = CREW_GIVEN_UP;
    hooks_finish(c->hooks);
}

static void finish(struct crew *c)
{
    if (c->step == CREW_FORKED && !c->running)
        hooks_finish(c->hooks);
}

void crew_hook_started(struct crew *c)
{
    for (int i = 0; c->hooks && i < c->n; i++)
        if (!c->ranks[i].pid)
            hooks_child_finished(c->hooks, c->ranks[i].rank, false, 0);
    finish(c);
}

void crew_hook_ended(struct crew *c, int rank, int wstatus)
{
    hooks_child_finished(c->hooks, rank, true, wstatus);
    finish(c);
}

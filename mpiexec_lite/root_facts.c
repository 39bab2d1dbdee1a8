/* root_facts.c - what extended commands ask about jobs, ranks, programs and nodes
 * (pmix_ext/facts.h). */
#include "mpiexec_lite/root_impl.h"

#include "mpiexec_lite/census.h"
#include "mpiexec_lite/rank_states.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- a job's status ---------------------------------------------------- */

static bool any_aborted(const struct launch *l)
{
    for (int i = 0; i < l->size; i++)
        if (l->ranks[i].aborted)
            return true;
    return false;
}

/* Why it is being ended. */
static pmix_status_t job_status(const struct launch *l)
{
    if (!l->ending)
        return PMIX_SUCCESS;
    if (l->timed_out)
        return PMIX_ERR_TIMEOUT;
    if (l->signal)
        return PMIX_ERR_JOB_KILLED_BY_CMD;
    if (any_aborted(l))
        return PMIX_ERR_JOB_ABORTED;
    if (l->status == EXIT_NOT_FOUND || l->status == EXIT_NOT_EXECUTABLE)
        return PMIX_ERR_JOB_FAILED_TO_LAUNCH;
    return l->status > 128 && l->status < EXIT_LAUNCHER ? PMIX_ERR_JOB_ABORTED_BY_SIG
                                                        : PMIX_ERR_JOB_NON_ZERO_TERM;
}

/* --- facts ------------------------------------------------------------- */

static bool describe(struct root *r, struct root_jobs *jobs, size_t i, struct fact_job *out)
{
    struct root_job *j;

    TAILQ_FOREACH(j, jobs, in_root)
        if (j->launch.ranks && !i--)
            break;
    if (!j)
        return false;
    *out = (struct fact_job){ .of = j, .nspace = j->bundle.jobid, .launcher = getppid(),
                              .parent = j->bundle.spawner,
                              .parent_rank = j->parent_rank, .number = j->number,
                              .offset = j->offset, .size = j->launch.size,
                              .universe = j->bundle.plan.usize,
                              .napps = (int)j->bundle.plan.napps,
                              .nruns = j->bundle.place.nruns, .began = j->since,
                              .ending = j->launch.ending, .status = job_status(&j->launch),
                              .target = j->bundle.plan.target,
                              .launched = j->launched, .held = j->ready && !j->released,
                              .running = j->launched && (!j->to_hold || j->released),
                              .lost = j->ranks_lost, .stops = j->bundle.plan.hold == HOLD_APP,
                              .stop_ranks = j->bundle.plan.hold_ranks };
    if (j->recorded) {
        out->ended = j->ended_at;
        out->exit_code = j->exit_code;
        if (j->exit_code && !j->launch.ending)
            out->status = PMIX_ERR_JOB_NON_ZERO_TERM;
    } else if (j->launch.deadline > 0) {
        out->remaining = j->launch.deadline - root_now(r);
    }
    return true;
}

static bool fact_job(void *host, size_t i, struct fact_job *out)
{
    struct root *r = host;

    return describe(r, &r->jobs, i, out);
}

static bool fact_ended(void *host, size_t i, struct fact_job *out)
{
    struct root *r = host;

    return describe(r, &r->records, i, out);
}

static bool fact_run(void *host, const void *job, size_t i, struct fact_run *out)
{
    const struct root_job *j = job;
    const struct run *run = &j->bundle.place.runs[i];

    (void)host;
    if (i >= j->bundle.place.nruns)
        return false;
    *out = (struct fact_run){ run->node, run->first, run->n };
    return true;
}

static void fact_rank(void *host, const void *job, int rank, struct fact_rank *out)
{
    const struct root_job *j = job;
    const struct rank_state *s = &j->launch.ranks[rank];

    (void)host;
    *out = (struct fact_rank){ .pid = s->pid > 0 ? s->pid : 0, .state = rank_state_of(s, j->launch.ending),
                               .ended = s->ended, .exit_code = rank_exit_code(s),
                               .here = !j->recorded && crew_rank((struct crew *)(uintptr_t)&j->crew, rank) };
}

/* Kept, as it takes a look at the file system. */
static struct known *known(struct root_job *j, size_t app)
{
    const struct root *r = j->root;
    const char *cwd = j->bundle.cwd ? j->bundle.cwd : r->cwd;
    const char *wdir = j->bundle.plan.apps[app].wdir;
    struct buf dir = BUF_INIT;
    struct known *k;

    if (!j->known && !j->recorded)
        j->known = calloc(j->bundle.plan.napps, sizeof *j->known);
    if (!j->known)
        return NULL;
    k = &j->known[app];
    if (j->recorded)
        return k;
    if (!k->path && !plan_is_single(&j->bundle.plan))
        k->path = crew_path(&j->crew, app, cwd);
    if (!k->wdir) {
        buf_printf(&dir, "%s%s%s", wdir && *wdir == '/' ? "" : cwd,
                   wdir && *wdir != '/' ? "/" : "", wdir ? wdir : "");
        k->wdir = dir.failed ? NULL : dir.data;
    }
    return k;
}

static bool fact_app(void *host, const void *job, int i, struct fact_app *out)
{
    struct root_job *j = (struct root_job *)(uintptr_t)job;
    const struct plan *p = &j->bundle.plan;
    const struct known *k;

    (void)host;
    if (i < 0 || (size_t)i >= p->napps)
        return false;
    k = known(j, (size_t)i);
    *out = (struct fact_app){ .n = p->apps[i].n, .argv = (const char *const *)p->apps[i].argv.v,
                              .path = k ? k->path : NULL, .wdir = k ? k->wdir : NULL,
                              .pset = p->apps[i].pset };
    for (int a = 0; a < i; a++)
        out->first += p->apps[a].n;
    return true;
}

static bool fact_node(void *host, int i, struct fact_node *out)
{
    struct root *r = host;
    const struct host *h;

    if (i < 0 || (size_t)i >= r->plan->nhosts)
        return false;
    h = &r->plan->hosts[i];
    *out = (struct fact_node){ .name = h->name, .slots = h->slots,
                               .here = i == r->node.args.index,
                               .lost = r->at[r->positions[i]].lost };
    if (out->here && strcmp(h->name, r->hostname)) {
        out->name = r->hostname;
        out->alias = h->name;
    }
    return true;
}

static const char *fact_cpusets(void *host, const void *job, int node)
{
    const struct root *r = host;
    const struct root_job *j = job;

    if (node < 0 || (size_t)node >= r->plan->nhosts || !j->at)
        return NULL;
    if (node == r->node.args.index)
        return j->crew.cpusets.len ? buf_bytes(&j->crew.cpusets) : NULL;
    return j->at[r->positions[node]].cpusets;
}

static const pmix_value_t *fact_said(void *host, const void *job, const char *key)
{
    const struct root_job *j = job;
    const pmix_info_t *info = info_find(&j->crew.setup.infos, key);

    (void)host;
    return info && !setup_is_env(info) ? &info->value : NULL;
}

const struct fact_ops root_facts = {
    .job = fact_job, .ended = fact_ended, .run = fact_run, .app = fact_app, .node = fact_node,
    .rank = fact_rank, .cpusets = fact_cpusets, .said = fact_said,
    .survey = root_survey, .survey_stop = root_survey_stop,
};

void root_facts_program(struct root_job *j, size_t app, const char *path, size_t len)
{
    struct known *k = app < j->bundle.plan.napps ? known(j, app) : NULL;

    if (k && !k->path && !memchr(path, '\0', len))
        k->path = strndup(path, len);
}

void root_facts_settle(struct root_job *j)
{
    for (size_t a = 0; a < j->bundle.plan.napps; a++)
        known(j, a);
}

void root_facts_clear(struct root_job *j)
{
    for (size_t i = 0; j->known && i < j->bundle.plan.napps; i++) {
        free(j->known[i].path);
        free(j->known[i].wdir);
    }
    free(j->known);
    j->known = NULL;
}

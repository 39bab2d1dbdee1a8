/* scheduler.c - see scheduler.h */
#include "mpiexec_lite/scheduler.h"

#include "mpiexec_lite/env.h"
#include "mpiexec_lite/errand.h"
#include "mpiexec_lite/slurm.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const double SHORT_TIME = 5.0;    /* seconds of a command that only shows or cancels */

enum { WHY = 300, CANCEL_NAME = 100 };

enum step { STEP_ASK, STEP_SHOW, STEP_CANCEL };

struct sched_job {                       /* a question under way */
    TAILQ_ENTRY(sched_job) in_list;
    struct scheduler *in;
    struct errand  errand;
    enum step      step;
    enum sched_kind kind;
    unsigned       number;
    bool           forgotten;            /* nobody waits */
    char           name[CANCEL_NAME];    /* SCHED_NEW */
    char           id[SCHED_ID];         /* likewise, once it is known */
};

static void on_done(void *who);

static void job_free(struct sched_job *j)
{
    TAILQ_REMOVE(&j->in->jobs, j, in_list);
    errand_clear(&j->errand);
    free(j);
}

static void answer(struct sched_job *j, const struct sched_answer *a)
{
    if (!j->forgotten)
        j->in->answered(j->in->host, j->number, a);
    j->forgotten = true;
}

/* Run the command of these words.  0, or -1 and e. */
static int run(struct sched_job *j, const struct strlist *words, double seconds, bool *missing,
               struct err *e)
{
    struct scheduler *s = j->in;
    struct strlist env = { 0 };
    int rc = slurm_environment(s->envp, &env, e);

    *missing = false;
    errand_clear(&j->errand);
    if (rc == 0)
        rc = errand_start(&j->errand, s->loop, words->v, env.v, s->user, seconds, on_done, j,
                          missing, e);
    strlist_clear(&env);
    return rc;
}

/* The next command.  False: it cannot be. */
static bool go_on(struct sched_job *j, enum step step)
{
    struct strlist words = { 0 };
    struct err e = { 0 };
    bool missing;
    int rc = step == STEP_SHOW ? slurm_show_words(j->id, &words, &e)
                               : slurm_cancel_words(j->name, &words, &e);

    j->step = step;
    if (rc == 0)
        rc = run(j, &words, SHORT_TIME, &missing, &e);
    strlist_clear(&words);
    return rc == 0;
}

static void cancel(struct sched_job *j)
{
    if (!go_on(j, STEP_CANCEL))
        job_free(j);
}

/* --- ends of commands -------------------------------------------------- */

/* Why a command has not done its work. */
static void fail(struct sched_job *j, char why[WHY], struct sched_answer *a)
{
    static const char *const names[] = { [SCHED_QUEUES] = "sinfo", [SCHED_NEW] = "salloc",
                                         [SCHED_EXTEND] = "scontrol", [SCHED_RELEASE] = "scancel" };
    struct errand *x = &j->errand;
    const char *words = errand_words(x);

    a->status = x->late ? PMIX_ERR_TIMEOUT : slurm_absent(words) ? PMIX_ERR_NOT_SUPPORTED
              : j->kind == SCHED_NEW ? PMIX_ERR_JOB_ALLOC_FAILED : PMIX_ERR_NOT_AVAILABLE;
    snprintf(why, WHY, "%s%s%.200s", names[j->kind], x->late ? ": no answer in time"
             : x->flooded ? ": it has said too much" : *words ? ": " : " has failed",
             x->late || x->flooded ? "" : words);
    a->why = why;
}

static void queues_known(struct sched_job *j, struct sched_answer *a)
{
    struct sched_queue *queues;
    struct err e = { 0 };

    if (slurm_queues(errand_text(&j->errand), &queues, &a->nqueues, &e) < 0) {
        a->status = e.code == ERR_NOMEM ? PMIX_ERR_NOMEM : PMIX_ERR_UNPACK_FAILURE;
        a->why = e.text;
        answer(j, a);
        return;
    }
    a->queues = queues;
    answer(j, a);
    free(queues);
}

static void asked(struct sched_job *j)
{
    struct sched_answer a = { .status = PMIX_SUCCESS };
    bool good = errand_good(&j->errand);
    char why[WHY];

    if (j->kind == SCHED_NEW && good && !j->forgotten && slurm_granted(
            j->errand.words.len ? buf_bytes(&j->errand.words) : "", j->id) &&
        go_on(j, STEP_SHOW))
        return;
    if (!good || j->kind == SCHED_NEW)
        fail(j, why, &a);
    if (j->kind == SCHED_QUEUES && good)
        queues_known(j, &a);
    else
        answer(j, &a);
    if (j->kind == SCHED_NEW)            /* it may be there all the same, or come later */
        cancel(j);
    else
        job_free(j);
}

/* An allocation of which no more than its id is known is one, too. */
static void shown(struct sched_job *j)
{
    struct sched_answer a = { .status = PMIX_SUCCESS, .id = j->id };
    struct buf *text = &j->errand.text;

    if (j->forgotten) {
        cancel(j);
        return;
    }
    if (errand_good(&j->errand) && text->len && slurm_shown(buf_bytes(text), &a.time) == 0)
        a.nodes = buf_bytes(text);
    answer(j, &a);
    job_free(j);
}

static void on_done(void *who)
{
    struct sched_job *j = who;

    switch (j->step) {
    case STEP_ASK:
        asked(j);
        break;
    case STEP_SHOW:
        shown(j);
        break;
    case STEP_CANCEL:
        job_free(j);
        break;
    }
}

bool scheduler_allocates(void)
{
    struct err e = { 0 };
    char path[PATH_MAX];
    int status;

    return errand_find("salloc", path, sizeof path, &status, &e) == 0;
}

/* --- questions --------------------------------------------------------- */

/* One that no other allocation of the user has. */
static void make_name(struct scheduler *s, struct sched_job *j)
{
    char host[64] = "";

    gethostname(host, sizeof host - 1);
    snprintf(j->name, sizeof j->name, "mpiexec_lite.%.60s.%d.%u", host, (int)getpid(), ++s->names);
}

/* To extend the launcher's own, if no other is named. */
static int name_own(const struct scheduler *s, struct sched_ask *ask, struct err *e)
{
    if (ask->kind != SCHED_EXTEND || ask->id)
        return 0;
    ask->id = env_get(s->envp, "SLURM_JOB_ID");
    return ask->id ? 0 : err_set(e, ERR_INVALID_ARG, "the launcher runs in no allocation");
}

static pmix_status_t status_of(const struct err *e, bool missing)
{
    if (missing)
        return PMIX_ERR_NOT_SUPPORTED;
    return e->code == ERR_NOMEM ? PMIX_ERR_NOMEM
         : e->code == ERR_INVALID_VAL ? PMIX_ERR_BAD_PARAM
         : e->code == ERR_INVALID_ARG ? PMIX_ERR_NOT_FOUND : PMIX_ERR_OUT_OF_RESOURCE;
}

pmix_status_t scheduler_ask(struct scheduler *s, unsigned number, const struct sched_ask *ask,
                            struct err *e)
{
    struct sched_job *j = calloc(1, sizeof *j);
    struct sched_ask what = *ask;
    struct strlist words = { 0 };
    bool missing = false;
    int rc;

    if (!j) {
        err_set(e, ERR_NOMEM, "no memory for a question");
        return PMIX_ERR_NOMEM;
    }
    j->in = s;
    j->kind = ask->kind;
    j->number = number;
    TAILQ_INSERT_TAIL(&s->jobs, j, in_list);
    make_name(s, j);
    rc = name_own(s, &what, e);
    if (rc == 0)
        rc = slurm_words(&what, j->name, &words, e);
    if (rc == 0)
        rc = run(j, &words, ask->seconds, &missing, e);
    strlist_clear(&words);
    if (rc == 0)
        return PMIX_SUCCESS;
    job_free(j);
    return status_of(e, missing);
}

/* What is given back is, whoever waits; salloc gives up what it waits for, and all of the name
 * is cancelled when it has ended. */
void scheduler_forget(struct scheduler *s, unsigned number)
{
    struct sched_job *j;

    TAILQ_FOREACH(j, &s->jobs, in_list)
        if (j->number == number) {
            j->forgotten = true;
            if (j->kind != SCHED_RELEASE)
                errand_stop(&j->errand);
            return;
        }
}

bool scheduler_reaped(struct scheduler *s, pid_t pid, int wstatus)
{
    struct sched_job *j;

    TAILQ_FOREACH(j, &s->jobs, in_list)
        if (j->errand.pid == pid)
            return errand_reaped(&j->errand, pid, wstatus);
    return false;
}

size_t scheduler_pids(const struct scheduler *s, pid_t *pids, size_t most)
{
    const struct sched_job *j;
    size_t n = 0;

    TAILQ_FOREACH(j, &s->jobs, in_list) {
        if (n < most)
            pids[n] = j->errand.pid;
        n++;
    }
    return n;
}

void scheduler_init(struct scheduler *s, struct ev_loop *loop, char *const *envp,
                    const struct inherited *user,
                    void (*answered)(void *, unsigned, const struct sched_answer *), void *host)
{
    *s = (struct scheduler){ .loop = loop, .envp = envp, .user = user, .answered = answered,
                             .host = host };
    TAILQ_INIT(&s->jobs);
}

void scheduler_clear(struct scheduler *s)
{
    struct sched_job *j;

    while (s->loop && (j = TAILQ_FIRST(&s->jobs)))
        job_free(j);
}

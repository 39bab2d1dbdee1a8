/* schedule.c - see schedule.h */
#include "pmix_ext/serve.h"

static const double RELEASE_TIME = 5.0;  /* seconds, where nobody waits */

pmix_status_t sched_start(struct sched_call *c, struct ext *x, const struct sched_ask *ask,
                          void (*told)(void *, const struct sched_answer *), void *who,
                          struct err *e)
{
    unsigned number = x->sched_number + 1;
    pmix_status_t status = PMIX_ERR_NOT_SUPPORTED;

    if (x->ops.schedule)
        status = x->ops.schedule(x->host, number, ask, e);
    else
        err_set(e, ERR_OTHER, "there is no scheduler here");
    if (status != PMIX_SUCCESS)
        return status;
    x->sched_number = number;
    *c = (struct sched_call){ .ext = x, .number = number, .told = told, .who = who };
    TAILQ_INSERT_TAIL(&x->sched_calls, c, in_ext);
    return PMIX_SUCCESS;
}

void sched_stop(struct sched_call *c)
{
    struct ext *x = c->ext;

    if (!x)
        return;
    TAILQ_REMOVE(&x->sched_calls, c, in_ext);
    c->ext = NULL;
    x->ops.unschedule(x->host, c->number);
}

void sched_release(struct ext *x, const char *id)
{
    const struct sched_ask ask = { .kind = SCHED_RELEASE, .seconds = RELEASE_TIME, .id = id };
    struct err e = { 0 };

    if (x->ops.schedule(x->host, ++x->sched_number, &ask, &e) != PMIX_SUCCESS)
        server_log(x->server, LOG_ERROR, NULL, "allocation %s is not given back: %s", id, e.text);
}

void ext_scheduled(struct ext *x, unsigned number, const struct sched_answer *a)
{
    struct sched_call *c;

    TAILQ_FOREACH(c, &x->sched_calls, in_ext)
        if (c->number == number) {
            TAILQ_REMOVE(&x->sched_calls, c, in_ext);
            c->ext = NULL;
            c->told(c->who, a);
            return;
        }
}

/* proxy_survey.c - the launcher asks about the ranks here, for a tool or a rank. */
#include "mpiexec_lite/proxy_impl.h"

#include "mpiexec_lite/census.h"

#include <limits.h>
#include <stdlib.h>

/* The end of a rank is told before what is said of the others.  stacks: what the stacker has
 * found, len bytes; NULL: they were not wanted. */
static void answer(struct proxy *p, struct proxy_job *j, const struct stack_ask *ask,
                   const char *stacks, size_t len)
{
    struct buf records = BUF_INIT;

    proxy_send_ended(p);
    if (j)
        crew_census(&j->crew, j->bundle.cwd, ask->what & FACT_USAGE, &records);
    if (j && stacks)
        crew_stacks(&j->crew, stacks, len, &records);
    if (records.failed || records.len > LINK_PAYLOAD)
        buf_clear(&records);             /* then nothing is known of them */
    msg_int(proxy_message(p, "surveyed"), "id", ask->id);
    msg_int(&p->msg, "position", p->position);
    proxy_send(p, records.len ? buf_bytes(&records) : NULL, records.len);
    buf_clear(&records);
}

static void stacks_done(void *host, const struct stack_ask *ask, const char *data, size_t len)
{
    struct proxy *p = host;

    answer(p, proxy_job_find(p, ask->number), ask, data, len);
}

void proxy_survey_init(struct proxy *p)
{
    stacker_init(&p->stacker, p->loop, stacks_done, p);
}

/* Whether the answer follows when they are there. */
static bool ask_stacks(struct proxy *p, struct proxy_job *j, const struct stack_ask *ask)
{
    bool wanted = j && (ask->what & (FACT_STACKS | FACT_THREADS));
    pid_t *pids = wanted ? calloc((size_t)j->crew.n + 1, sizeof *pids) : NULL;
    size_t n = pids ? crew_pids(&j->crew, pids) : 0;
    bool asked = n && stacker_ask(&p->stacker, ask, pids, n) == 0;

    free(pids);
    return asked;
}

int proxy_survey(struct proxy *p, const struct msg *m, const char *payload, size_t len,
                 struct err *e)
{
    struct proxy_job *j = proxy_job_named(p, m, e);
    long long id, position, what;
    struct stack_ask ask;

    if (e->code || msg_number(m, "id", 1, UINT32_MAX, &id, e) < 0 ||
        msg_number(m, "position", -1, INT_MAX, &position, e) < 0 ||
        msg_number(m, "what", 0, UINT_MAX, &what, e) < 0)
        return -1;
    if (position < 0) {
        proxy_pass_down(p, m, payload, len);
        if (j && !j->crew.n)
            return 0;                    /* nobody waits for us */
    } else if (position != p->position) {
        proxy_pass_towards(p, position, LINK_CONTROL, m, payload, len);
        return 0;
    }
    ask = (struct stack_ask){ (unsigned)id, j ? j->number : 0, (unsigned)what };
    if (!ask_stacks(p, j, &ask))
        answer(p, j, &ask, NULL, 0);
    return 0;
}

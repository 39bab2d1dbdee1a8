/* root_survey.c - the processes of a job's ranks, wherever they are: the servers of their
 * nodes are asked, and what they say is handed on (pmix_ext/facts.h). */
#include "mpiexec_lite/root_impl.h"

#include "mpiexec_lite/census.h"
#include "mpiexec_lite/rank_states.h"

#include <stdlib.h>

enum { STACKS = FACT_STACKS | FACT_THREADS };

struct root_survey {
    TAILQ_ENTRY(root_survey) in_root;
    unsigned id;
    int      number;             /* of the job */
    bool    *awaited;            /* owned; by position */
    int      npositions, left;
};

static struct root_survey *find(struct root *r, unsigned id)
{
    struct root_survey *s;

    TAILQ_FOREACH(s, &r->surveys, in_root)
        if (s->id == id)
            return s;
    return NULL;
}

static void drop(struct root *r, struct root_survey *s)
{
    TAILQ_REMOVE(&r->surveys, s, in_root);
    free(s->awaited);
    free(s);
}

void root_survey_stop(void *host, unsigned id)
{
    struct root_survey *s = find(host, id);

    if (s)
        drop(host, s);
}

void root_surveys_clear(struct root *r)
{
    while (!TAILQ_EMPTY(&r->surveys))
        drop(r, TAILQ_FIRST(&r->surveys));
}

/* --- what is said ------------------------------------------------------ */

static bool is_at(const struct root_job *j, int rank, int position)
{
    return rank >= 0 && rank < j->launch.size &&
           j->root->positions[placement_node(&j->bundle.place, rank)] == position;
}

static int take_rank(struct root_job *j, unsigned id, int position, const struct census *x,
                     struct err *e)
{
    struct root *r = j->root;
    struct fact_seen seen = { .pid = x->pid };

    if (!is_at(j, x->index, position))
        return err_set(e, ERR_INVALID_ARG, "surveyed: rank %d is not there", x->index);
    seen.state = rank_lives_as(x->pid, x->pmi,
                               x->held || (j->launch.ranks[x->index].waits && !j->released));
    ext_seen(r->ext, id, x->index, &seen, x->used ? &x->usage : NULL);
    return 0;
}

static void take_stack(struct root_job *j, unsigned id, int position, const struct census *x)
{
    if (is_at(j, x->index, position))
        ext_seen_stack(j->root->ext, id, x->index, x->kind == CENSUS_STACK, x->text, x->text_len);
}

/* The records of one server.  0, or -1 and e. */
static int take(struct root_job *j, unsigned id, int position, const char *data, size_t len,
                struct err *e)
{
    struct root *r = j->root;
    int node = position ? tree_node(r->plan, position) : r->node.args.index;
    struct census x;
    int got;

    while ((got = census_next(&data, &len, &x, e)) > 0) {
        if (x.kind == CENSUS_RANK && take_rank(j, id, position, &x, e) < 0)
            return -1;
        if (x.kind == CENSUS_STACK || x.kind == CENSUS_NO_STACK)
            take_stack(j, id, position, &x);
        if (x.kind == CENSUS_PROGRAM && x.index >= 0)
            root_facts_program(j, (size_t)x.index, x.text, x.text_len);
        if (x.kind == CENSUS_SERVER)
            ext_seen_server(r->ext, id, node, x.usage.rss);
    }
    return got;
}

/* One less is awaited; s may be gone. */
static void heard(struct root *r, struct root_survey *s, int position)
{
    unsigned id = s->id;

    s->awaited[position] = false;
    if (--s->left)
        return;
    drop(r, s);
    ext_survey_over(r->ext, id);
}

int root_survey_take(struct root *r, unsigned id, int position, const char *payload, size_t len,
                     struct err *e)
{
    struct root_survey *s = find(r, id);
    struct root_job *j = s ? root_job_find(r, s->number) : NULL;

    if (!j || position >= s->npositions || !s->awaited[position])
        return 0;                        /* nobody waits for it any more */
    if (take(j, id, position, payload, len, e) < 0)
        return -1;
    heard(r, s, position);
    return 0;
}

void root_survey_lost(struct root *r, int position)
{
    struct root_survey *s, *next;

    for (s = TAILQ_FIRST(&r->surveys); s; s = next) {
        next = TAILQ_NEXT(s, in_root);
        if (position < s->npositions && s->awaited[position])
            heard(r, s, position);
    }
}

/* --- what is asked ----------------------------------------------------- */

static void send_survey(struct root *r, const struct root_survey *s, int position,
                        unsigned what)
{
    struct remote *to = position < 0 ? NULL : remotes_towards(&r->below, position);
    struct msg m;

    msg_init(&m);
    msg_start(&m, "survey");
    msg_int(&m, "id", s->id);
    msg_int(&m, "position", position);
    msg_int(&m, "what", what);
    if (s->number)
        msg_int(&m, "number", s->number);
    if (position < 0)
        remotes_send(&r->below, &m, NULL, 0);
    else if (to && to->state == REMOTE_UP)
        link_message(to->link, LINK_CONTROL, &m, NULL, 0, NULL);
    msg_clear(&m);
}

void root_survey_stacks(void *host, const struct stack_ask *ask, const char *data, size_t len)
{
    struct root *r = host;
    struct root_job *j = root_job_find(r, ask->number);
    struct buf records = BUF_INIT;

    if (j)
        crew_stacks(&j->crew, data, len, &records);
    root_survey_take(r, ask->id, 0, records.len ? buf_bytes(&records) : "", records.len, NULL);
    buf_clear(&records);
}

/* Whether these of the ranks here will follow. */
static bool ask_stacks(struct root_job *j, unsigned id, unsigned what)
{
    struct stack_ask ask = { .id = id, .number = j->number, .what = what };
    pid_t *pids = what & STACKS ? calloc((size_t)j->crew.n + 1, sizeof *pids) : NULL;
    size_t n = pids ? crew_pids(&j->crew, pids) : 0;
    bool asked = n && stacker_ask(&j->root->stacker, &ask, pids, n) == 0;

    free(pids);
    return asked;
}

static void survey_here(struct root_job *j, unsigned id, bool usage)
{
    struct root *r = j->root;
    struct buf records = BUF_INIT;

    crew_census(&j->crew, j->bundle.cwd ? j->bundle.cwd : r->cwd, usage, &records);
    if (!records.failed && records.len)
        take(j, id, 0, buf_bytes(&records), records.len, NULL);
    buf_clear(&records);
}

/* Servers that have ranks of the job, of that node or (-1) all. */
static void await(struct root_job *j, struct root_survey *s, int node)
{
    const struct placement *place = &j->bundle.place;
    struct root *r = j->root;

    for (size_t i = 0; i < place->nruns; i++) {
        int position = r->positions[place->runs[i].node];

        if (!position || r->at[position].lost || s->awaited[position] ||
            (node >= 0 && place->runs[i].node != node))
            continue;
        s->awaited[position] = true;
        s->left++;
    }
}

int root_survey(void *host, unsigned id, const void *job, int node, unsigned what)
{
    struct root *r = host;
    struct root_job *j = (struct root_job *)(uintptr_t)job;
    bool here = node < 0 || node == r->node.args.index;
    struct root_survey *s;
    int far;

    if (j->recorded)
        return 0;
    if (here)
        survey_here(j, id, what & FACT_USAGE);
    s = calloc(1, sizeof *s);
    if (!s || !(s->awaited = calloc((size_t)r->servers, sizeof *s->awaited))) {
        free(s);
        return 0;
    }
    s->id = id;
    s->number = j->number;
    s->npositions = r->servers;
    TAILQ_INSERT_TAIL(&r->surveys, s, in_root);
    if (j->started)
        await(j, s, node);
    far = s->left;
    if (here && ask_stacks(j, id, what)) {
        s->awaited[0] = true;
        s->left++;
    }
    if (!s->left) {
        drop(r, s);
        return 0;
    }
    if (far)
        send_survey(r, s, node < 0 ? -1 : r->positions[node], what);
    return s->left;
}

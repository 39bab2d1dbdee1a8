/* survey.c - see survey.h */
#include "pmix_ext/survey.h"

#include "pmix_ext/serve.h"

#include <stdlib.h>
#include <string.h>

void survey_free(struct survey *s)
{
    struct ext *x;

    if (!s)
        return;
    x = s->ext;
    if (!s->over)
        x->ops.facts->survey_stop(x->host, s->id);
    after_stop(&s->limit);
    TAILQ_REMOVE(&x->surveys, s, in_ext);
    for (int i = 0; s->stacks && i < s->size; i++)
        free(s->stacks[i].text);
    free(s->stacks);
    free(s->nspace);
    free(s->ranks);
    free(s->usage);
    free(s->servers);
    free(s);
}

static int make_room(struct survey *s, const char *nspace, unsigned what)
{
    bool usage = what & FACT_USAGE, stacks = what & (FACT_STACKS | FACT_THREADS);
    struct fact_node node;

    while (s->ext->ops.facts->node(s->ext->host, (int)s->nnodes, &node))
        s->nnodes++;
    s->nspace = strdup(nspace);
    s->ranks = calloc((size_t)s->size, sizeof *s->ranks);
    s->usage = usage ? calloc((size_t)s->size, sizeof *s->usage) : NULL;
    s->servers = usage ? calloc(s->nnodes + 1, sizeof *s->servers) : NULL;
    s->stacks = stacks ? calloc((size_t)s->size, sizeof *s->stacks) : NULL;
    return s->nspace && s->ranks && (!usage || (s->usage && s->servers)) &&
           (!stacks || s->stacks) ? 0 : -1;
}

/* Nothing more will come.  who may free s. */
static void finish(struct survey *s)
{
    s->over = true;
    after_stop(&s->limit);
    s->done(s->who);
}

static void on_limit(void *who)
{
    struct survey *s = who;

    s->late = true;
    s->ext->ops.facts->survey_stop(s->ext->host, s->id);
    finish(s);
}

struct survey *survey_new(struct ext *x, const struct fact_job *job, int node, unsigned what,
                          double seconds, void (*done)(void *who), void *who, struct err *e)
{
    struct survey *s = calloc(1, sizeof *s);

    if (!s) {
        err_set(e, ERR_NOMEM, "no memory for a survey");
        return NULL;
    }
    *s = (struct survey){ .ext = x, .id = ++x->survey_id, .size = job->size, .done = done,
                          .who = who, .over = true };
    TAILQ_INSERT_TAIL(&x->surveys, s, in_ext);
    if (make_room(s, job->nspace, what) < 0) {
        survey_free(s);
        err_set(e, ERR_NOMEM, "no memory for a survey of %d ranks", job->size);
        return NULL;
    }
    s->over = x->ops.facts->survey(x->host, s->id, job->of, node, what) == 0;
    if (!s->over && seconds > 0)
        after_start(&s->limit, x, seconds, on_limit, s);
    return s;
}

static struct survey *find(struct ext *x, unsigned id)
{
    struct survey *s;

    TAILQ_FOREACH(s, &x->surveys, in_ext)
        if (s->id == id)
            return s;
    return NULL;
}

void ext_seen(struct ext *x, unsigned id, int rank, const struct fact_seen *seen,
              const struct fact_usage *usage)
{
    struct survey *s = find(x, id);

    if (!s || rank < 0 || rank >= s->size)
        return;
    s->ranks[rank] = *seen;
    if (s->usage && usage)
        s->usage[rank] = *usage;
}

void ext_seen_stack(struct ext *x, unsigned id, int rank, bool there, const char *text, size_t len)
{
    struct survey *s = find(x, id);
    struct seen_stack *to = s && s->stacks && rank >= 0 && rank < s->size ? &s->stacks[rank] : NULL;

    if (!to || to->text)
        return;
    to->text = strndup(text, len);
    to->there = there;
}

void ext_seen_server(struct ext *x, unsigned id, int node, uint64_t rss)
{
    struct survey *s = find(x, id);

    if (s && s->servers && node >= 0 && (size_t)node < s->nnodes)
        s->servers[node] = rss;
}

void ext_survey_over(struct ext *x, unsigned id)
{
    struct survey *s = find(x, id);

    if (s && !s->over)
        finish(s);
}

void surveys_forget_job(struct ext *x, const char *nspace)
{
    struct survey *s, *next;

    for (s = TAILQ_FIRST(&x->surveys); s; s = next) {
        next = TAILQ_NEXT(s, in_ext);
        if (s->over || strcmp(s->nspace, nspace))
            continue;
        x->ops.facts->survey_stop(x->host, s->id);
        finish(s);
        next = TAILQ_FIRST(&x->surveys);         /* others may have gone with it */
    }
}

/* root_stacks.c - where the ranks are, for the user: at SIGQUIT, and when the time of -timeout
 * is up. */
#include "mpiexec_lite/root_impl.h"

#include "pmix_ext/calltree.h"
#include "pmix_ext/survey.h"

#include <string.h>

/* s: how long nodes have to answer; a little more than a node's own stacks may take. */
static const double LIMIT = 6.0;
enum { LINES = 60 };                     /* that are shown */

/* --- showing ----------------------------------------------------------- */

static void tell_lines(struct root *r, const struct buf *text)
{
    const char *at = buf_bytes(text);
    int n = 0;

    for (size_t len; *at && n < LINES; at += len + (at[len] == '\n'), n++) {
        len = strcspn(at, "\n");
        root_tell(r, "  %.*s", (int)len, at);
    }
    if (*at)
        root_tell(r, "  ... (pmix_tool stack shows all)");
}

static void tell_tree(struct root_job *j, const char *head, struct calltree *t)
{
    struct buf text = BUF_INIT;

    calltree_sort(t);
    calltree_text(t, &text);
    if (t->root.count && text.len) {
        root_tell(j->root, "%s%s:", root_job_name(j).text, head);
        tell_lines(j->root, &text);
    }
    buf_clear(&text);
}

static void show(struct root_job *j, const struct survey *s)
{
    struct calltree stacks, missing;

    if (calltree_init(&stacks, s->size, true) == 0 && calltree_init(&missing, s->size, true) == 0) {
        for (int i = 0; i < s->size; i++)
            if (s->stacks[i].text)
                calltree_add(s->stacks[i].there ? &stacks : &missing, i, s->stacks[i].text,
                             strlen(s->stacks[i].text));
        tell_tree(j, "stacks", &stacks);
        tell_tree(j, "no stack", &missing);
        calltree_clear(&missing);
    }
    calltree_clear(&stacks);
}

/* --- asking ------------------------------------------------------------ */

void root_stacks_drop(struct root_job *j)
{
    survey_free(j->stacks);
    j->stacks = NULL;
}

static void done(void *who)
{
    struct root_job *j = who;

    show(j, j->stacks);
    root_stacks_drop(j);
    if (j->launch.deadline > 0 && j->reported)
        j->launch.deadline = root_now(j->root);
}

/* False: nothing will come. */
static bool begin(struct root_job *j)
{
    struct root *r = j->root;
    struct fact_job job;
    struct err e = { 0 };

    for (size_t i = 0; !j->stacks && r->ext && root_facts.job(r, i, &job); i++)
        if (job.of == j)
            j->stacks = survey_new(r->ext, &job, -1, FACT_STACKS, LIMIT, done, j, &e);
    if (j->stacks && j->stacks->over)
        root_stacks_drop(j);
    return j->stacks;
}

static void report(struct root *r)
{
    node_report(&r->node);
    root_send_all(r, "tell-states");
}

void root_report(struct root *r)
{
    struct root_job *j;

    report(r);
    TAILQ_FOREACH(j, &r->jobs, in_root)
        if (j->started && !j->done)
            begin(j);
}

/* The time of a job that has its report to show goes on until that is there. */
void root_stacks_before_end(struct root_job *j, double now)
{
    struct launch *l = &j->launch;

    if (!(l->deadline > 0) || now < l->deadline || j->reported || !j->started || l->ending)
        return;
    j->reported = true;
    report(j->root);
    if (begin(j))
        l->deadline = now + LIMIT + 1;
}

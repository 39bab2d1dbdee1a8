/* root_stacks.c - where the ranks are, for the user: at SIGQUIT, and when the time of -timeout
 * is up. */
#include "mpiexec_lite/root_impl.h"

#include "pmix_ext/calltree.h"
#include "pmix_ext/survey.h"

#include <stdlib.h>
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

/* A fence of all ranks of a job. */
static bool is_whole(const char *command)
{
    return !strcmp(command, "kvs-fence") || !strcmp(command, "barrier_in");
}

/* "rank 3", "ranks 0-2,4"; of those that are not there, if so wanted. */
static void add_ranks(const struct calltree *t, const struct call *c, bool others, struct buf *out)
{
    size_t bytes = (size_t)t->size / 8 + 1;
    unsigned char *ranks = malloc(bytes);
    int n = others ? t->size - c->count : c->count;

    for (size_t i = 0; ranks && i < bytes; i++)
        ranks[i] = 0;
    for (int i = 0; ranks && i < t->size; i++)
        if (!(c->ranks[i / 8] >> i % 8 & 1) == others)
            ranks[i / 8] |= (unsigned char)(1 << i % 8);
    buf_printf(out, n == 1 ? "rank " : "ranks ");
    if (ranks)
        calltree_ranks(t, ranks, out);
    free(ranks);
}

/* Who waits in a command; and for whom, if it is one that all are to come to. */
static void tell_wait(struct root_job *j, const struct calltree *t, const struct call *c)
{
    struct buf text = BUF_INIT;

    add_ranks(t, c, false, &text);
    buf_printf(&text, c->count == 1 ? " waits" : " wait");
    if (is_whole(c->name) && c->count < t->size) {
        buf_printf(&text, " for ");
        add_ranks(t, c, true, &text);
    }
    if (!text.failed)
        root_tell(j->root, "%s%s: %s", root_job_name(j).text, c->name, buf_bytes(&text));
    buf_clear(&text);
}

static void tell_waits(struct root_job *j, const struct survey *s)
{
    struct calltree t;

    if (calltree_init(&t, s->size, true) < 0)
        return;
    for (int i = 0; s->usage && i < s->size; i++)
        if (*s->usage[i].op)
            calltree_add(&t, i, s->usage[i].op, strlen(s->usage[i].op));
    calltree_sort(&t);
    for (size_t i = 0; i < t.root.n; i++)
        tell_wait(j, &t, t.root.below[i]);
    calltree_clear(&t);
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

    tell_waits(j, j->stacks);
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
            j->stacks = survey_new(r->ext, &job, -1, FACT_STACKS | FACT_USAGE, LIMIT, done, j, &e);
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

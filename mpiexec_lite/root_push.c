/* root_push.c - bytes that a tool pushes to the stdin of a job that was started for one:
 * to the ranks that read it, wherever they are, and back the word that they have it. */
#include "mpiexec_lite/root_impl.h"

#include "pmix_ext/ext.h"

#include <string.h>

/* All that read have taken the last push. */
static bool is_taken(const struct root_job *j)
{
    const struct root *r = j->root;

    for (int i = 0; i < r->servers; i++)
        if (j->at[i].reads && j->at[i].owed && !r->at[i].lost)
            return false;
    return true;
}

/* Told once a turn, as nothing calls back while a push is given; what is given meanwhile may
 * be taken at once. */
void root_pushes_step(struct root *r)
{
    struct root_job *j;

    TAILQ_FOREACH(j, &r->jobs, in_root)
        while (j->pushing && is_taken(j)) {
            j->pushing = false;
            ext_pushed(r->ext, j->bundle.jobid);
        }
}

int root_push_taken(struct root_job *j, int position, size_t bytes, struct err *e)
{
    if (bytes > j->at[position].owed)
        return err_set(e, ERR_INVALID_ARG, "more of stdin was taken than was sent");
    j->at[position].owed -= bytes;
    return 0;
}

void root_push_closed(struct root_job *j, int position)
{
    j->at[position].reads = false;
}

static void own_taken(void *host, size_t bytes)
{
    root_push_taken(host, 0, bytes, NULL);
}

static void own_closed(void *host)
{
    root_push_closed(host, 0);
}

static void own_failed(void *host, int errnum)
{
    struct root_job *j = host;

    root_output_failed(j->root, "write to stdin of a rank", errnum);
}

static const struct feed_ops feed_ops = { own_taken, own_closed, own_failed };

int root_push_init(struct root_job *j, struct err *e)
{
    const struct plan *p = &j->bundle.plan;
    const struct placement *place = &j->bundle.place;

    if (p->stdin_mode == STDIN_NONE)
        return 0;
    for (size_t i = 0; i < place->nruns; i++) {
        const struct run *run = &place->runs[i];

        if (p->stdin_mode == STDIN_ALL ||
            (p->stdin_rank >= run->first && p->stdin_rank < run->first + run->n))
            j->at[j->root->positions[run->node]].reads = true;
    }
    if (!j->at[0].reads)
        return 0;
    j->crew.feed = feed_new(j->root->loop, &feed_ops, j);
    return j->crew.feed ? 0 : err_set(e, ERR_NOMEM, "no memory for stdin");
}

/* To one position. */
static void send(struct root_job *j, int position, const char *data, size_t len)
{
    struct remote *to = remotes_towards(&j->root->below, position);
    struct msg m;

    j->at[position].owed += len;
    if (!position) {
        if (data)
            feed_write(j->crew.feed, data, len);
        else
            feed_end(j->crew.feed);
        return;
    }
    if (!to || to->state != REMOTE_UP) {
        j->at[position].reads = false;
        return;
    }
    msg_init(&m);
    msg_start(&m, "stdin");
    msg_int(&m, "position", position);
    msg_int(&m, "number", j->number);
    link_message(to->link, LINK_BULK, &m, data, len, NULL);
    msg_clear(&m);
}

static struct root_job *job_with_id(struct root *r, const char *nspace)
{
    struct root_job *j;

    TAILQ_FOREACH(j, &r->jobs, in_root)
        if (!strcmp(j->bundle.jobid, nspace))
            return j;
    return NULL;
}

/* Host operation push. */
bool root_push(void *host, const char *nspace, const char *data, size_t len)
{
    struct root *r = host;
    struct root_job *j = job_with_id(r, nspace);
    bool any = false;

    for (int i = 0; j && j->number && i < r->servers; i++)
        any = any || j->at[i].reads;
    if (!any)
        return false;
    for (int i = 0; i < r->servers; i++)
        if (j->at[i].reads)
            send(j, i, data, len);
    j->pushing = true;
    return true;
}

/* root_iof.c - tools that read along what ranks write: what is watched, on all hosts, and
 * its way to them. */
#include "mpiexec_lite/root_impl.h"

#include "pmix_ext/ext.h"

#include <string.h>

static bool ready(void *host)
{
    struct root_job *j = host;

    return !ext_output_full(j->root->ext);
}

static void take(void *host, int rank, bool errors, const char *data, size_t len)
{
    struct root_job *j = host;

    ext_output(j->root->ext, j->bundle.jobid, rank, errors, data, len);
}

static const struct output_tap tap = { ready, take };

void root_iof_init(struct root_job *j)
{
    output_tap(j->crew.output, &tap, j);
}

/* Host operation output_room. */
void root_output_room(void *host)
{
    struct root *r = host;
    struct root_job *j;

    TAILQ_FOREACH(j, &r->jobs, in_root)
        if (j->crew.output)
            output_go_on(j->crew.output);
    for (int i = 0; i < r->below.n; i++)
        if (r->below.v[i]->watched && r->below.v[i]->link) {
            link_grant(r->below.v[i]->link, LINK_BULK, r->below.v[i]->watched);
            r->below.v[i]->watched = 0;
        }
}

/* Host operation watch. */
void root_watch_output(void *host, const char *nspace, int rank, bool on)
{
    struct root *r = host;
    struct root_job *j;

    TAILQ_FOREACH(j, &r->jobs, in_root) {
        if (strcmp(j->bundle.jobid, nspace))
            continue;
        if (j->crew.output)
            output_watch(j->crew.output, rank, on);
        if (j->sent || !j->number)
            root_send(j, "iof-watch", "on", on, "rank", rank);
        else
            j->watched = on;             /* goes with the job, so that nothing is missed */
    }
}

int root_take_watched(struct root *r, struct remote *from, const struct msg *m,
                      const char *payload, size_t len, struct err *e)
{
    struct root_job *j = root_job_named(r, m, e);
    long long rank, errors;

    if (e->code || link_take(from->link, len, e) < 0 ||
        msg_number(m, "err", 0, 1, &errors, e) < 0 ||
        msg_number(m, "rank", 0, j ? j->bundle.place.size - 1 : INT_MAX, &rank, e) < 0)
        return -1;
    if (j)
        ext_output(r->ext, j->bundle.jobid, (int)rank, errors, payload, len);
    if (ext_output_full(r->ext))
        from->watched += len;
    else
        link_grant(from->link, LINK_BULK, len);
    return 0;
}

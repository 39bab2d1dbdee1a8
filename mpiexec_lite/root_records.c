/* root_records.c - jobs that have ended while the launcher goes on: what was known of them is
 * kept for those who ask how it went, up to so many jobs and ranks, the latest ones. */
#include "mpiexec_lite/root_impl.h"

#include "pmix_ext/ext.h"

#include <time.h>

enum { JOBS = 16, RANKS = 65536 };

static void drop(struct root *r, struct root_job *j)
{
    r->nrecords--;
    r->record_ranks -= (size_t)j->launch.size;
    ext_job_forgotten(r->ext, j->bundle.jobid);
    root_job_free(j);
}

void root_record(struct root_job *j, int status)
{
    struct root *r = j->root;

    j->exit_code = status;
    root_facts_settle(j);
    root_job_close(j);
    TAILQ_REMOVE(&r->jobs, j, in_root);
    TAILQ_INSERT_TAIL(&r->records, j, in_root);
    j->recorded = true;
    j->ended_at = (double)time(NULL);
    r->nrecords++;
    r->record_ranks += (size_t)j->launch.size;
    while (r->nrecords > JOBS || r->record_ranks > RANKS)
        drop(r, TAILQ_FIRST(&r->records));
}

void root_records_clear(struct root *r)
{
    while (!TAILQ_EMPTY(&r->records))
        root_job_free(TAILQ_FIRST(&r->records));
}

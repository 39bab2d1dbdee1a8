/* proxy_survey.c - the launcher asks about the ranks here, for a tool or a rank. */
#include "mpiexec_lite/proxy_impl.h"

#include "mpiexec_lite/census.h"
#include <limits.h>

/* The end of a rank is told before what is said of the others. */
static void answer(struct proxy *p, struct proxy_job *j, long long id, bool usage)
{
    struct buf records = BUF_INIT;

    proxy_send_ended(p);
    if (j)
        crew_census(&j->crew, j->bundle.cwd, usage, &records);
    if (records.failed || records.len > LINK_PAYLOAD)
        buf_clear(&records);             /* then nothing is known of them */
    msg_int(proxy_message(p, "surveyed"), "id", id);
    msg_int(&p->msg, "position", p->position);
    proxy_send(p, records.len ? buf_bytes(&records) : NULL, records.len);
    buf_clear(&records);
}

int proxy_survey(struct proxy *p, const struct msg *m, const char *payload, size_t len,
                 struct err *e)
{
    struct proxy_job *j = proxy_job_named(p, m, e);
    long long id, position, usage;
    struct remote *to;

    if (e->code || msg_number(m, "id", 1, UINT32_MAX, &id, e) < 0 ||
        msg_number(m, "position", -1, INT_MAX, &position, e) < 0 ||
        msg_number(m, "usage", 0, 1, &usage, e) < 0)
        return -1;
    if (position < 0) {
        proxy_pass_down(p, m, payload, len);
        if (j && !j->crew.n)
            return 0;                    /* nobody waits for us */
    } else if (position != p->position) {
        to = remotes_towards(&p->below, (int)position);
        if (to && to->state == REMOTE_UP) {
            proxy_copy(p, m);
            link_message(to->link, LINK_CONTROL, &p->msg, payload, len, NULL);
        }
        return 0;
    }
    answer(p, j, id, usage);
    return 0;
}

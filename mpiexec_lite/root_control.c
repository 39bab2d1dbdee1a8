/* root_control.c - what tools and ranks order for jobs (pmix-job-control). */
#include "mpiexec_lite/root_impl.h"

#include "pmix_ext/ext.h"

#include <signal.h>
#include <string.h>

/* With the NUL behind it. */
static void add_text(struct buf *b, const char *text)
{
    buf_add(b, text ? text : "", text ? strlen(text) + 1 : 1);
}

static bool send_cleanup(struct link *link, int position, int number, int rank,
                         const struct ext_cleanup *x)
{
    struct buf texts = BUF_INIT;
    struct msg m;
    bool good;

    msg_init(&m);
    msg_start(&m, "cleanup");
    msg_int(&m, "position", position);
    msg_int(&m, "number", number);
    msg_int(&m, "rank", rank);
    msg_int(&m, "whole", x->whole_job);
    msg_int(&m, "recursive", x->recursive);
    msg_int(&m, "empty", x->empty);
    msg_int(&m, "leave-top", x->leave_top);
    add_text(&texts, x->files);
    add_text(&texts, x->folders);
    add_text(&texts, x->ignore);
    good = !texts.failed;
    if (good)
        link_message(link, LINK_CONTROL, &m, buf_bytes(&texts), texts.len, NULL);
    buf_clear(&texts);
    msg_clear(&m);
    return good;
}

struct root_job *root_job_by_id(struct root *r, const char *id)
{
    struct root_job *j;

    TAILQ_FOREACH(j, &r->jobs, in_root)
        if (!strcmp(j->bundle.jobid, id))
            return j;
    return NULL;
}

/* To the node of the rank that has asked for it; where the way there is lost, so is the rank. */
bool root_cleanup(void *host, const char *job, int rank, const struct ext_cleanup *x)
{
    struct root *r = host;
    struct root_job *j = root_job_by_id(r, job);
    int node = j && j->started && rank < j->launch.size ? placement_node(&j->bundle.place, rank) : -1;
    int at = node < 0 ? -1 : r->positions[node];
    struct remote *to = at > 0 ? remotes_towards(&r->below, at) : NULL;

    if (at == 0)
        return crew_cleanup(&j->crew, rank, x->whole_job, &(struct erase){
            x->files, x->folders, x->ignore, x->recursive, x->empty, x->leave_top }) == 0;
    return to && to->state == REMOTE_UP && send_cleanup(to->link, at, j->number, rank, x);
}

bool root_order(void *host, const char *job, int rank, const struct ext_order *order)
{
    static const enum order orders[] = {
        [EXT_SIGNAL] = ORDER_SIGNAL, [EXT_PAUSE] = ORDER_PAUSE, [EXT_RESUME] = ORDER_RESUME,
        [EXT_TERMINATE] = ORDER_TERMINATE, [EXT_KILL] = ORDER_KILL,
    };
    struct root *r = host;
    struct root_job *j = root_job_by_id(r, job);

    if (!j || !j->started || launch_over(&j->launch) || rank >= j->launch.size)
        return false;
    if (rank >= 0 && (!j->launch.ranks[rank].pid || j->launch.ranks[rank].ended))
        return false;
    if (order->kind == EXT_RESUME || order->kind == EXT_RELEASE ||
        (order->kind == EXT_SIGNAL && order->signo == SIGCONT))
        root_hold_release(j, rank);
    if (order->kind == EXT_LEAVE)
        launch_end(&j->launch, root_now(r), 0);
    if (order->kind == EXT_RELEASE || order->kind == EXT_LEAVE)
        return true;
    launch_order(&j->launch, root_now(r), rank, orders[order->kind], order->signo, order->who);
    return true;
}

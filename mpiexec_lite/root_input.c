/* root_input.c - stdin on its way from the front end to the ranks that read it,
 * wherever they are.
 *
 * It moves by credit from end to end: what every node concerned has written to its
 * ranks is asked for again.  So at most CONTROL_CREDIT bytes are on their way. */
#include "mpiexec_lite/root_impl.h"

#include <errno.h>
#include <string.h>

static void own_taken(void *host, size_t bytes)
{
    root_input_taken(host, 0, bytes);
}

static void own_closed(void *host)
{
    root_input_closed(host, 0);
}

static void own_failed(void *host, int errnum)
{
    root_output_failed(host, "write to stdin of a rank", errnum);
}

static const struct feed_ops feed_ops = { own_taken, own_closed, own_failed };

int root_input_init(struct root *r, struct err *e)
{
    const struct plan *p = r->plan;
    const struct placement *place = &r->main->bundle.place;

    if (r->args->input >= 0 || p->stdin_mode == STDIN_NONE)
        return 0;
    if (p->stdin_mode != STDIN_ALL && p->stdin_rank < place->size)
        r->at[tree_position(p, placement_node(place, p->stdin_rank))].reads = true;
    for (size_t i = 0; p->stdin_mode == STDIN_ALL && i < place->nruns; i++)
        r->at[tree_position(p, place->runs[i].node)].reads = true;
    if (!r->at[0].reads)
        return 0;
    r->main->crew.feed = feed_new(r->loop, &feed_ops, r);
    return r->main->crew.feed ? 0 : err_set(e, ERR_NOMEM, "no memory for stdin");
}

void root_input_start(struct root *r)
{
    for (int i = 0; i < r->tree.n; i++)
        if (r->at[i].reads) {
            control_send(&r->control, "credit", "bytes", CONTROL_CREDIT);
            return;
        }
}

static int readers(const struct root *r)
{
    int n = 0;

    for (int i = 0; i < r->tree.n; i++)
        n += r->at[i].reads;
    return n;
}

/* The one position that reads, or -1: several do. */
static int sole_reader(const struct root *r)
{
    if (readers(r) == 1)
        for (int i = 0; i < r->tree.n; i++)
            if (r->at[i].reads)
                return i;
    return -1;
}

void root_input(struct root *r, const char *data, size_t len)
{
    int position = sole_reader(r);
    struct remote *to = position > 0 ? remotes_towards(&r->below, position) : NULL;
    struct msg m;

    msg_init(&m);
    for (int i = 0; position && i < r->below.n; i++) {
        if (r->below.v[i]->state != REMOTE_UP || (to && to != r->below.v[i]))
            continue;
        msg_start(&m, "stdin");
        msg_int(&m, "position", position);
        link_message(r->below.v[i]->link, LINK_BULK, &m, data, len, NULL);
    }
    msg_clear(&m);
    if (r->main->crew.feed && len)
        feed_write(r->main->crew.feed, data, len);
    else if (r->main->crew.feed)
        feed_end(r->main->crew.feed);
}

/* As much as the slowest reader has taken is asked for again. */
static void give(struct root *r)
{
    size_t least = SIZE_MAX;

    for (int i = 0; i < r->tree.n; i++)
        if (r->at[i].reads && r->at[i].taken < least)
            least = r->at[i].taken;
    if (least == SIZE_MAX) {
        control_send(&r->control, "stdin-closed", NULL, 0);
    } else if (least > r->input_given) {
        control_send(&r->control, "credit", "bytes", (long long)(least - r->input_given));
        r->input_given = least;
    }
}

void root_input_taken(struct root *r, int position, size_t bytes)
{
    r->at[position].taken += bytes;
    give(r);
}

void root_input_closed(struct root *r, int position)
{
    if (!r->at[position].reads)
        return;
    r->at[position].reads = false;
    give(r);
}

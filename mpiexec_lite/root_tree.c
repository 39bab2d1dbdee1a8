/* root_tree.c - the servers of the other nodes, as the root sees them: what is sent to all,
 * and coming, failing and losing them. */
#include "mpiexec_lite/root_impl.h"

#include "pmix_ext/ext.h"

#include <stdlib.h>
#include <string.h>

bool root_is_alone(const struct root *r)
{
    return r->servers == 1;
}

void root_send_all(struct root *r, const char *cmd)
{
    struct msg m;

    msg_init(&m);
    msg_start(&m, cmd);
    remotes_send(&r->below, &m, NULL, 0);
    msg_clear(&m);
}

void root_send(struct root_job *j, const char *cmd, const char *key, int n,
               const char *key2, int n2)
{
    struct msg m;

    msg_init(&m);
    msg_start(&m, cmd);
    if (key)
        msg_int(&m, key, n);
    if (key2)
        msg_int(&m, key2, n2);
    if (j->number)
        msg_int(&m, "number", j->number);
    remotes_send(&j->root->below, &m, NULL, 0);
    msg_clear(&m);
}

/* --- positions --------------------------------------------------------- */

static const char *host_at(const struct root *r, int position)
{
    return r->plan->hosts[tree_node(r->plan, position)].name;
}

void root_server_connected(struct root *r, int position)
{
    if (r->at[position].state != AT_AWAY)
        return;
    r->at[position].state = AT_CONNECTED;
    root_timeline_host(r, position, false);
    if (!r->connected++)
        r->first_up = root_now(r);
    root_check_calls(r);
    root_say(r, 2, "launch: %s answers", host_at(r, position));
}

static void lose(struct root *r, int position)
{
    struct root_job *j;

    r->at[position].lost = true;
    ext_node_lost(r->ext, host_at(r, position));
    TAILQ_FOREACH(j, &r->jobs, in_root)
        root_job_lose(j, position);
    root_input_closed(r, position);
    root_survey_lost(r, position);
    root_tools_lost(r, position);
}

void root_server_lost(struct root *r, int position, const char *why)
{
    const char *news = why;
    struct root_job *j;

    TAILQ_FOREACH(j, &r->jobs, in_root)
        if (root_job_node_lost(j, position, news))
            news = "";
    if (!r->main->started)
        root_broken(r, EXIT_LAUNCHER, why);
    else if (*news && !r->main->launch.ending && !root_job_settled(r->main))
        root_tell(r, "%s; it had no ranks", why);
    for (int i = position; i < r->servers; i++)
        if (i == position || tree_next(&r->tree, position, i) >= 0)
            lose(r, i);
}

/* The job has no ranks there, and no other host is started from it. */
static bool is_spare(const struct root *r, int position)
{
    const struct placement *place = &r->main->bundle.place;
    int first, *ranks = NULL, n = placement_ranks(place, tree_node(r->plan, position), &ranks);

    free(ranks);
    return n == 0 && !r->main->started && tree_children(&r->tree, position, &first) == 0;
}

/* What ranks start later is not placed there. */
static void spare(struct root *r, int position, const char *why)
{
    root_tell(r, "%s; it has no ranks, and the job starts without it", why);
    r->spared++;
    lose(r, position);
    root_check_calls(r);
    root_check_ready(r);
}

void root_server_failed(struct root *r, int position, const char *why)
{
    if (root_host_failed(r, position, why))
        return;
    if (!r->decided && tree_parent(&r->tree, position) > 0) {
        root_trial_over(r, false, why);       /* and it is tried from here */
        return;
    }
    if (is_spare(r, position)) {
        spare(r, position, why);
        return;
    }
    root_broken(r, EXIT_LAUNCHER, why);
}

/* --- hosts that do not answer ------------------------------------------ */

enum { NAMES_MAX = 16 };                 /* of hosts in one message */

static bool job_lives(struct root_job *j, int node)
{
    int *ranks = NULL, n = placement_ranks(&j->bundle.place, node, &ranks);
    bool found = false;

    for (int i = 0; i < n && !found; i++)
        found = j->launch.ranks[ranks[i]].pid && !j->launch.ranks[ranks[i]].ended;
    free(ranks);
    return found;
}

/* Whether ranks of this position live that should have ended, as far as is known here. */
static bool lives(struct root *r, int position)
{
    struct root_job *j;
    bool found = false;

    TAILQ_FOREACH(j, &r->jobs, in_root)
        found = found || (j->give_up > 0 && job_lives(j, tree_node(r->plan, position)));
    return found;
}

static bool is_unfinished(struct root *r, int position)
{
    struct remote *x = remotes_towards(&r->below, position);

    return x && x->position == position && x->state == REMOTE_UP;
}

static void tell_hosts(struct root *r, bool (*is_meant)(struct root *r, int position))
{
    struct buf names = BUF_INIT;
    int n = 0;

    for (int i = 1; i < r->servers; i++)
        if (is_meant(r, i) && n++ < NAMES_MAX)
            buf_printf(&names, "%s%s", n > 1 ? ", " : "", host_at(r, i));
    if (n > NAMES_MAX)
        buf_printf(&names, " and %d more", n - NAMES_MAX);
    if (n && !names.failed)
        root_tell(r, "cleanup incomplete on: %s (no answer)", buf_bytes(&names));
    buf_clear(&names);
}

void root_tell_unfinished(struct root *r)
{
    tell_hosts(r, is_unfinished);
}

/* In a tree a host may be silent because one above it is; with its link to here each
 * branch ends itself as far as it can. */
void root_drop_silent(struct root *r)
{
    struct root_job *j;

    tell_hosts(r, lives);
    for (int i = 1; i < r->servers; i++) {
        struct remote *x = lives(r, i) ? remotes_towards(&r->below, i) : NULL;

        if (!x)
            continue;
        remote_drop(x);
        root_server_lost(r, x->position, "");
    }
    TAILQ_FOREACH(j, &r->jobs, in_root)
        j->give_up = 0;
}

/* A command that nobody sees would be waited for in vain. */
static void remote_print(void *host, const char *line)
{
    struct root *r = host;

    if (!places_line(&r->places, false, line, strlen(line)))
        root_tell(r, "%s", line);
}

static void remote_connected(void *host, int position)
{
    struct root *r = host;

    root_server_connected(r, position);
    root_grow(r, remotes_towards(&r->below, position));
}

static void remote_failed(void *host, int position, const char *why)
{
    root_server_failed(host, position, why);
}

static void remote_lost(void *host, int position, const char *why)
{
    root_server_lost(host, position, why);
}

static void remote_tell(void *host, const char *text)
{
    root_tell(host, "%s", text);
}

const struct remote_ops root_remote_ops = {
    .message = root_told, .connected = remote_connected, .failed = remote_failed,
    .lost = remote_lost, .tell = remote_tell, .print = remote_print,
};

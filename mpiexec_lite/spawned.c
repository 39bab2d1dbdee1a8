/* spawned.c - see spawned.h */
#include "mpiexec_lite/spawned.h"

#include "mpiexec_lite/env.h"
#include "mpiexec_lite/hold.h"
#include "mpiexec_lite/hosts.h"
#include "mpiexec_lite/mapspec.h"
#include "mpiexec_lite/setup.h"
#include "mpiexec_lite/soft.h"
#include "mpiexec_lite/spawn_env.h"
#include "mpiexec_lite/spawned_info.h"
#include "mpiexec_lite/spawned_map.h"
#include "wire/rank_list.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- one command ------------------------------------------------------- */

static int no_memory(struct err *e)
{
    return err_set(e, ERR_NOMEM, "no memory for a spawn");
}

static int set_text(char **at, const char *text, struct err *e)
{
    *at = text ? strdup(text) : NULL;
    return text && !*at ? no_memory(e) : 0;
}

/* Of new hosts no more than there are processes without a free slot can be of use. */
static void drop_idle(struct app *a, struct plan *p, size_t known,
                      const struct spawned_hosts *hosts)
{
    long wanted = a->n;
    size_t n = 0;

    if (a->per_node)                     /* it is to be spread */
        return;
    for (size_t i = 0; i < a->nnodes; i++) {
        size_t k = a->nodes[i];
        long free = k < known ? p->hosts[k].slots - (hosts->used ? hosts->used[k] : 0) : 0;

        wanted -= free > 0 ? free : 0;
    }
    while (p->nhosts > known && (long)(p->nhosts - known) > wanted)
        host_clear(&p->hosts[--p->nhosts]);
    for (size_t i = 0; i < a->nnodes; i++)
        if (a->nodes[i] < p->nhosts)
            a->nodes[n++] = a->nodes[i];
    a->nnodes = n;
}

/* The nodes of a list of names, of which some may be new; as many processes as are wanted
 * go there, whatever their slots. */
static int set_nodes(struct app *a, struct plan *p, const char *list, const char *file,
                     const struct spawned_hosts *hosts, struct err *e)
{
    size_t known = p->nhosts;
    struct hosts h;
    long slots;
    int rc;

    hosts_init(&h, p);
    rc = hosts_pick(&h, list, file, a, &slots, e);
    hosts_clear(&h);
    if (rc == 0)
        drop_idle(a, p, known, hosts);
    return rc;
}

/* Of a file of the launcher's host. */
static int set_nodes_file(struct app *a, struct plan *p, const char *path,
                          const struct spawned_hosts *hosts, struct err *e)
{
    struct buf text = BUF_INIT;
    int rc = spawned_read_file(path, &text, e);

    if (rc == 0)
        rc = set_nodes(a, p, buf_bytes(&text), path, hosts, e);
    buf_clear(&text);
    return rc < 0 ? err_context(e, "hostfile") : 0;
}

static bool any_lost(const struct spawned_hosts *hosts)
{
    for (size_t i = 0; i < hosts->listed; i++)
        if (hosts->lost[i])
            return true;
    return false;
}

/* Without a list: those of the command line, without the lost ones. */
static int keep_to_list(struct app *a, const struct spawned_hosts *hosts, struct err *e)
{
    if (hosts->listed == hosts->plan->nhosts && !any_lost(hosts))
        return 0;                        /* anywhere */
    a->nodes = calloc(hosts->listed, sizeof *a->nodes);
    if (!a->nodes)
        return no_memory(e);
    for (size_t i = 0; i < hosts->listed; i++)
        if (!hosts->lost[i])
            a->nodes[a->nnodes++] = i;
    return a->nnodes ? 0 : err_set(e, ERR_OTHER, "all hosts are lost");
}

/* Lines of NAME=VALUE replace what is in the environment. */
static int set_env(struct strlist *env, const char *lines, struct err *e)
{
    for (size_t n; *lines; lines += n + (lines[n] == '\n')) {
        size_t name = env_name_len(lines);
        size_t i = 0;

        n = strcspn(lines, "\n");
        if (!n)
            continue;
        if (!name || name >= n)
            return err_set(e, ERR_INVALID_VAL, "env: NAME=VALUE, one a line, wanted");
        if (env_is_ours(lines, name))
            continue;
        while (i < env->n && strncmp(env->v[i], lines, name + 1))
            i++;
        if (i < env->n) {
            free(env->v[i]);
            env->v[i] = env->v[--env->n];
            env->v[env->n] = NULL;
        }
        if (strlist_add_bytes(env, lines, n) < 0)
            return no_memory(e);
    }
    return 0;
}

static int set_argv(struct app *a, const struct spawn_command *c, struct err *e)
{
    if (strlist_add(&a->argv, c->program) < 0)
        return no_memory(e);
    for (size_t i = 0; i < c->nargs; i++)
        if (strlist_add(&a->argv, c->args[i]) < 0)
            return no_memory(e);
    return 0;
}

static int set_procs(struct app *a, const struct spawned_info *info,
                     const struct spawn_command *c, struct err *e)
{
    const char *soft = spawned_says(info, SPAWNED_SOFT);

    a->n = soft ? soft_largest(soft, c->procs, e) : c->procs;
    if (a->n < 0) {
        err_context(e, "soft");
        return spawned_info_wrong(info, SPAWNED_SOFT, e);
    }
    return a->n ? 0 : err_set(e, ERR_INVALID_VAL, "no process of %.100s is wanted", c->program);
}

/* A binding that means nothing is none, which is said. */
static int set_binding(struct app *a, const struct app *like, const struct spawned_info *info,
                       struct plan *p, struct err *e)
{
    const char *how = spawned_says(info, SPAWNED_BIND);
    char text[240];

    if (!how || mapspec_is_known(how))
        return set_text(&a->bind, how ? how : like->bind, e);
    snprintf(text, sizeof text, "spawn of %.60s: bind %.60s changes nothing: a value of -bind-to "
             "is wanted", a->argv.v[0], how);
    return strlist_add(&p->warnings, text) < 0 ? no_memory(e) : 0;
}

/* "NODE" or "NODE*COUNT" at *at, which moves on behind it and a comma. */
static bool take_place(const char **at, size_t nodes, size_t *node, size_t *count)
{
    char *end;

    *count = 1;
    *node = strtoul(*at, &end, 10);
    if (end == *at || **at < '0' || **at > '9' || *node >= nodes)
        return false;
    *at = end;
    if (**at == '*') {
        ++*at;
        *count = strtoul(*at, &end, 10);
        if (end == *at || **at < '0' || **at > '9')
            return false;
        *at = end;
    }
    return !**at || (*(*at)++ == ',' && **at);
}

/* One process for each: as many as the command has. */
static int set_place(struct app *a, const struct plan *p, const char *text, struct err *e)
{
    size_t node, count, most = (size_t)a->n;

    a->nodes = calloc(most, sizeof *a->nodes);
    if (!a->nodes)
        return no_memory(e);
    for (const char *at = text; *at;) {
        if (!take_place(&at, p->nhosts, &node, &count) || count > most - a->nnodes)
            return err_set(e, ERR_INVALID_VAL, "place: numbers of nodes for %d processes wanted, "
                           "not '%.60s'", a->n, text);
        while (count--)
            a->nodes[a->nnodes++] = node;
    }
    a->per_node = 1;
    a->exact = true;
    if (a->nnodes == most)
        return 0;
    return err_set(e, ERR_INVALID_VAL, "place: %zu nodes for %d processes", a->nnodes, a->n);
}

static int set_hosts(struct app *a, struct plan *p, const struct spawned_info *info,
                     const struct spawned_hosts *hosts, struct err *e)
{
    static const enum spawned_key keys[] = { SPAWNED_HOST, SPAWNED_HOSTS, SPAWNED_HOSTFILE };
    const char *place = spawned_says(info, SPAWNED_PLACE);

    if (place)
        return set_place(a, p, place, e) < 0 ? spawned_info_wrong(info, SPAWNED_PLACE, e) : 0;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *says = spawned_says(info, keys[i]);

        if (says && (keys[i] == SPAWNED_HOSTFILE ? set_nodes_file(a, p, says, hosts, e)
                                                 : set_nodes(a, p, says, NULL, hosts, e)) < 0)
            return spawned_info_wrong(info, keys[i], e);
        if (says)
            return 0;
    }
    return keep_to_list(a, hosts, e);
}

/* Whom tools feed. */
static int set_stdin(struct plan *p, const char *text, struct err *e)
{
    long long rank;

    p->stdin_mode = !strcmp(text, "all") ? STDIN_ALL : STDIN_NONE;
    if (!strcmp(text, "all") || !strcmp(text, "none"))
        return 0;
    if (pair_int(&(struct pair){ "stdin", text, strlen(text) }, 0, INT_MAX, &rank, e) < 0)
        return -1;
    p->stdin_mode = STDIN_RANK;
    p->stdin_rank = (int)rank;
    return 0;
}

/* What a command says of the job as a whole. */
static int set_job(struct plan *p, const struct spawned_info *info, struct err *e)
{
    const char *text = spawned_says(info, SPAWNED_TIMEOUT),
               *flag = spawned_says(info, SPAWNED_END_ON_NONZERO),
               *target = spawned_says(info, SPAWNED_STDIN), *hold = spawned_says(info, SPAWNED_HOLD),
               *daemons = spawned_says(info, SPAWNED_DAEMONS), *agent = spawned_says(info, SPAWNED_AGENT);
    long long seconds;
    bool yes;

    if (text && pair_int(&(struct pair){ "timeout", text, strlen(text) }, 0, INT_MAX, &seconds,
                         e) < 0)
        return spawned_info_wrong(info, SPAWNED_TIMEOUT, e);
    if (flag && pair_bool(&(struct pair){ "end-on-nonzero", flag, strlen(flag) }, &yes, e) < 0)
        return spawned_info_wrong(info, SPAWNED_END_ON_NONZERO, e);
    if (daemons && !p->target && set_text(&p->target, daemons, e) < 0)
        return -1;
    if (hold && hold_read(p, hold, e) < 0)
        return spawned_info_wrong(info, SPAWNED_HOLD, e);
    if (agent && !daemons && !p->target && !p->agent.n && strlist_add_words(&p->agent, agent) < 0)
        return no_memory(e);
    if (target && set_stdin(p, target, e) < 0)
        return spawned_info_wrong(info, SPAWNED_STDIN, e);
    if (text)
        p->timeout = (double)seconds;
    if (flag && yes)
        p->policy = END_ON_ANY_NONZERO;
    return 0;
}

/* What the command itself sets is its own: set-up providers do not change it. */
static int note_own(struct app *a, const struct spawn_command *c, const char *lines,
                    struct err *e)
{
    for (size_t n; *lines; lines += n + (lines[n] == '\n')) {
        n = strcspn(lines, "\n");
        if (n && strlist_add_bytes(&a->env.set, lines, n) < 0)
            return no_memory(e);
    }
    for (size_t i = 0; i < c->info.n; i++)
        if (!strcmp(c->info.v[i].key, "env-own") &&
            strlist_add(&a->env.set, c->info.v[i].value) < 0)
            return no_memory(e);
    return 0;
}

/* Make block a of a command; like: the block of the rank that asks. */
static int make_app(struct plan *p, struct app *a, struct strlist *env, const struct app *like,
                    const struct spawn_command *c, const struct spawned_info *info, struct err *e)
{
    const char *wdir = spawned_says(info, SPAWNED_WDIR), *path = spawned_says(info, SPAWNED_PATH),
               *vars = spawned_says(info, SPAWNED_ENV);

    if (vars && set_env(env, vars, e) < 0)
        return spawned_info_wrong(info, SPAWNED_ENV, e);
    if (note_own(a, c, vars ? vars : "", e) < 0 || set_procs(a, info, c, e) < 0 ||
        set_argv(a, c, e) < 0 || set_job(p, info, e) < 0 ||
        spawn_env_change(env, &c->info, e) < 0 ||
        set_text(&a->wdir, wdir ? wdir : like->wdir, e) < 0 ||
        set_text(&a->path, path ? path : like->path, e) < 0)
        return -1;
    if (spawned_map_read(a, info, e) < 0 ||
        set_text(&a->pset, spawned_says(info, SPAWNED_PSET), e) < 0)
        return -1;
    return set_binding(a, like, info, p, e);
}

/* --- all of them ------------------------------------------------------- */

/* A deep copy, by way of its bytes. */
static int copy(const struct bundle *from, struct bundle *to, struct err *e)
{
    struct buf bytes = BUF_INIT;
    int rc;

    bundle_write(from, &bytes);
    rc = bytes.failed ? no_memory(e) : bundle_read(to, buf_bytes(&bytes), bytes.len, e);
    buf_clear(&bytes);
    return rc;
}

/* The last block is that of a command; what it says, and where it may run. */
static int fill_app(struct bundle *out, const struct app *like, const struct spawn_command *c,
                    const struct spawned_hosts *hosts, int *code, struct err *e)
{
    struct plan *p = &out->plan;
    struct app *a = &p->apps[p->napps - 1];
    struct spawned_info info;
    int rc = spawned_info_read(&info, c, &p->warnings, e);

    *code = EINVAL;
    if (rc == 0)
        rc = make_app(p, a, &out->envs[p->napps - 1], like, c, &info, e);
    if (rc == 0) {
        *code = EHOSTUNREACH;
        rc = set_hosts(a, p, &info, hosts, e);
    }
    spawned_info_clear(&info);
    return rc;
}

/* Replace the blocks of *out, which are the parent's, by those of the request. */
static int make_apps(struct bundle *out, size_t like, const struct spawn_request *r,
                     const struct spawned_hosts *hosts, struct spawn_blame *blame, struct err *e)
{
    struct plan old = { .apps = out->plan.apps, .napps = out->plan.napps };
    struct strlist *envs = out->envs;
    int rc = 0;

    out->plan.apps = NULL;
    out->plan.napps = 0;
    out->plan.timeout = 0;
    out->plan.stdin_mode = STDIN_NONE;
    hold_drop(&out->plan);
    strlist_clear(&out->plan.agent);
    out->envs = calloc(r->n, sizeof *out->envs);
    for (size_t i = 0; i < r->n && rc == 0; i++) {
        *blame = (struct spawn_blame){ i, EAGAIN };
        if (!out->envs || !plan_add_app(&out->plan) ||
            strlist_copy(&out->envs[i], &envs[like]) < 0)
            rc = no_memory(e);
        else
            rc = fill_app(out, &old.apps[like], &r->commands[i], hosts, &blame->code, e);
    }
    if (rc < 0 && e->code == ERR_NOMEM)
        blame->code = EAGAIN;
    for (size_t i = 0; i < old.napps; i++)
        strlist_clear(&envs[i]);
    free(envs);
    plan_clear(&old);
    if (rc == 0 && out->plan.hold_ranks &&
        rank_list_check(out->plan.hold_ranks, plan_size(&out->plan), e) < 0) {
        *blame = (struct spawn_blame){ 0, EINVAL };
        rc = err_context(e, "hold");
    }
    return rc;
}

/* What the parent's plan does not know of yet. */
static int copy_hosts(struct bundle *out, const struct spawned_hosts *hosts, struct err *e)
{
    return plan_copy_hosts(&out->plan, hosts->plan, out->plan.nhosts) < 0 ? no_memory(e) : 0;
}

/* That is of each job anew. */
static void drop_setup(struct bundle *b)
{
    setup_free_text(b->setup);
    b->setup = NULL;
    strlist_clear(&b->plan.providers);
}

int spawned_bundle(const struct bundle *parent, int rank, const struct spawn_request *r,
                   const struct spawned_hosts *hosts, const char *jobid, struct bundle *out,
                   struct spawn_blame *blame, struct err *e)
{
    *blame = (struct spawn_blame){ 0, EAGAIN };
    *out = (struct bundle){ 0 };
    if (spawn_size(r) > PLAN_RANKS_MAX) {
        blame->code = EINVAL;
        return err_set(e, ERR_INVALID_VAL, "%lld processes, at most %d can be started",
                       spawn_size(r), PLAN_RANKS_MAX);
    }
    if (copy(parent, out, e) < 0 || copy_hosts(out, hosts, e) < 0 ||
        make_apps(out, rank < 0 ? 0 : plan_app_of(&parent->plan, rank), r, hosts, blame, e) < 0)
        return -1;
    free(out->jobid);
    free(out->spawner);
    out->jobid = out->spawner = NULL;
    drop_setup(out);
    placement_clear(&out->place);
    blame->code = EAGAIN;
    if (set_text(&out->jobid, jobid, e) < 0 ||
        set_text(&out->spawner, rank < 0 ? NULL : parent->jobid, e) < 0)
        return -1;
    if (out->plan.nhosts > hosts->plan->nhosts)
        return 1;
    if (spawned_map_place(&out->plan, hosts->used, &out->place, e) == 0)
        return 0;
    if (e->code == ERR_INVALID_VAL)
        blame->code = EHOSTUNREACH;
    return -1;
}

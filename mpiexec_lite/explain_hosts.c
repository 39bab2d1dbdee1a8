/* explain_hosts.c - --explain: hosts, their ranks, and what would reach them. */
#include "mpiexec_lite/explain_impl.h"

#include "mpiexec_lite/launchers.h"
#include "mpiexec_lite/ranges.h"
#include "mpiexec_lite/spread.h"
#include "mpiexec_lite/stage.h"
#include "mpiexec_lite/tree.h"

#include <limits.h>
#include <string.h>

/* --- hosts ------------------------------------------------------------- */

/* The setting that named it; in a file: "FILE:LINE, -f". */
static json_t *host_by(const struct explain *x, const struct host *h)
{
    const struct setting *s = h->said ? &x->said->v[h->said - 1] : NULL;
    struct buf text = BUF_INIT;
    json_t *word;

    if (s && h->line)
        buf_printf(&text, "%s:%d, %s%s", s->value, h->line, s->option ? "-" : "",
                   s->option ? s->option : s->source);
    else
        said_print(s, &text);
    word = text.failed ? NULL : json_shown(buf_bytes(&text));
    buf_clear(&text);
    return word;
}

static json_t *ranks_of(const struct explain *x, size_t node)
{
    struct buf text = BUF_INIT;
    json_t *word;

    node_ranks_print(&x->runs, &x->place, node, &text);
    word = text.failed ? NULL : json_stringn(text.len ? buf_bytes(&text) : "", text.len);
    buf_clear(&text);
    return word;
}

/* The blocks that have ranks there, in order, each once. */
static json_t *apps_of(const struct explain *x, size_t node)
{
    json_t *list = json_array();
    size_t next = 0;

    for (size_t i = x->runs.first[node]; i < x->runs.first[node + 1]; i++) {
        const struct run *r = &x->place.runs[x->runs.order[i]];
        size_t a = explain_app_of(x, r->first), last = explain_app_of(x, r->first + r->n - 1);

        for (a = a < next ? next : a; a <= last; next = ++a)
            json_array_append_new(list, json_integer((json_int_t)a));
    }
    return list;
}

static json_t *host(const struct explain *x, size_t i, struct topo_here *here)
{
    const struct host *h = &x->plan->hosts[i];
    json_t *to = json_pack("{s:o, s:i, s:I, s:o, s:o, s:o, s:s}", "name", json_shown(h->name),
                           "slots", h->slots,
                           "count", (json_int_t)node_ranks(&x->runs, &x->place, i),
                           "ranks", ranks_of(x, i), "programs", apps_of(x, i),
                           "by", host_by(x, h), "reached",
                           h->local ? "here" : launcher_way(x->plan->remote.launcher)->name);

    if (h->user)
        json_object_set_new(to, "user", json_shown(h->user));
    explain_binding(x, i, here, to);
    return to;
}

json_t *explain_hosts(const struct explain *x)
{
    struct topo_here here = { .read = false };
    json_t *list = json_array();

    for (size_t i = 0; i < x->plan->nhosts; i++)
        json_array_append_new(list, host(x, i, &here));
    topo_here_clear(&here);
    return list;
}

/* --- commands ---------------------------------------------------------- */

/* As a shell takes it, on one line. */
static json_t *shell_line(const struct strlist *argv)
{
    struct buf line = BUF_INIT;
    json_t *word;

    for (size_t i = 0; i < argv->n; i++) {
        if (i)
            buf_char(&line, ' ');
        if (spread_quote(argv->v[i], &line) < 0)
            buf_escaped(&line, argv->v[i], strlen(argv->v[i]));
    }
    word = line.failed || !line.len ? NULL : json_shown(buf_bytes(&line));
    buf_clear(&line);
    return word;
}

/* What starts the server of a host, or with `nodes` of all of them. */
static json_t *command(const struct explain *x, const struct host *h,
                       const struct spread_call *call, struct err *e)
{
    const struct launch_options *o = &x->plan->remote;
    struct strlist argv = { 0 };
    char beside[PATH_MAX];
    json_t *to = json_object(), *words = json_array();

    if (stage_beside(beside, sizeof beside) < 0)
        snprintf(beside, sizeof beside, "pmi2_proxy");
    if ((o->launcher == LAUNCHER_FORK && !o->proxy && !o->wrapper.n) ||
        spread_command(o, h, PROXY_BESIDE, beside, NULL,
                       launcher_way(o->launcher)->calls_back ? call : NULL, &argv, e) < 0)
        strlist_clear(&argv);            /* a fork of this program */
    for (size_t i = 0; i < argv.n; i++)
        json_array_append_new(words, json_shown(argv.v[i]));
    json_object_set_new(to, "host", json_shown(call->nodes ? call->nodes : h->name));
    json_object_set_new(to, "argv", words);
    if (argv.n)
        json_object_set_new(to, "shell", shell_line(&argv));
    strlist_clear(&argv);
    return to;
}

/* One program for all other hosts. */
static void add_together(const struct explain *x, json_t *list, struct spread_call *call,
                         struct err *e)
{
    struct ranges names = { 0 };
    const struct host *first = NULL;

    for (size_t i = 0; i < x->plan->nhosts; i++) {
        const struct host *h = &x->plan->hosts[i];

        if (h->local)
            continue;
        ranges_add(&names, h->name);
        first = first ? first : h;
        call->n++;
    }
    call->nodes = ranges_text(&names);
    if (!call->nodes)
        err_set(e, ERR_NOMEM, "no memory for a list of hosts");
    else if (first)
        json_array_append_new(list, command(x, first, call, e));
    ranges_clear(&names);
}

/* One for each; servers of a tree start those below them. */
static void add_each(const struct explain *x, json_t *list, struct spread_call *call,
                     struct err *e)
{
    const struct plan *p = x->plan;
    struct tree t = { tree_width(p), tree_positions(p) };

    for (size_t i = 0; i < p->nhosts && !e->code; i++) {
        json_t *one;
        int above;

        if (p->hosts[i].local)
            continue;
        above = tree_parent(&t, call->position);
        one = command(x, &p->hosts[i], call, e);
        if (above > 0)                   /* positions are in the order of the list */
            json_object_set(one, "from", json_object_get(json_array_get(list, (size_t)above - 1),
                                                         "host"));
        json_array_append_new(list, one);
        call->position++;
    }
}

json_t *explain_commands(const struct explain *x, struct err *e)
{
    /* What is known only once there is a job. */
    struct spread_call call = { .addresses = "ADDRESS:PORT", .job = "JOBID", .position = 1 };
    json_t *list = json_array();

    if (launcher_way(x->plan->remote.launcher)->together)
        add_together(x, list, &call, e);
    else
        add_each(x, list, &call, e);
    return list;
}

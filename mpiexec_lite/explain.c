/* explain.c - see explain.h */
#include "mpiexec_lite/explain_impl.h"

#include "mpiexec_lite/child.h"
#include "mpiexec_lite/env.h"
#include "mpiexec_lite/launch.h"
#include "mpiexec_lite/launchers.h"
#include "mpiexec_lite/opts_table.h"
#include "mpiexec_lite/tree.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

size_t explain_app_of(const struct explain *x, int rank)
{
    size_t low = 0, high = x->plan->napps - 1;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (rank < x->app_end[middle])
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

json_t *explain_setting(const struct setting *s)
{
    struct buf text = BUF_INIT;
    json_t *word;

    said_print(s, &text);
    word = text.failed ? NULL : json_shown(buf_bytes(&text));
    buf_clear(&text);
    return word;
}

json_t *explain_by(const struct explain *x, const char *key, int app)
{
    return explain_setting(said_of(x->said, key, app));
}

/* --- programs ---------------------------------------------------------- */

/* Whether ranks of a block would run on this host. */
static bool *find_local(const struct explain *x)
{
    bool *local = calloc(x->plan->napps, sizeof *local);

    for (size_t i = 0; local && i < x->place.nruns; i++) {
        const struct run *r = &x->place.runs[i];
        size_t last = explain_app_of(x, r->first + r->n - 1);

        for (size_t a = explain_app_of(x, r->first); x->plan->hosts[r->node].local && a <= last;
             a++)
            local[a] = true;
    }
    return local;
}

/* Where the program is on this host, or why it cannot run. */
static void add_found(const struct explain *x, const struct app *a, json_t *to)
{
    const char *path = env_get(x->envp, "PATH");
    char found[PATH_MAX];
    struct err e = { 0 };
    int status;

    if (program_find(a->argv.v[0], a->wdir, a->path, path ? path : "/usr/bin:/bin", found,
                     sizeof found, &status, &e) == 0)
        json_object_set_new(to, "found", json_shown(found));
    else
        json_object_set_new(to, "problem", json_shown(e.text));
}

/* Who has said how many there are. */
static json_t *count_by(const struct explain *x, int app)
{
    static const char *const keys[] = { "soft", "n", "ppn", "host", "hosts" };

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (said_of(x->said, keys[i], app))
            return explain_by(x, keys[i], app);
    return explain_setting(NULL);
}

static json_t *words(const struct strlist *l)
{
    json_t *list = json_array();

    for (size_t i = 0; i < l->n; i++)
        json_array_append_new(list, json_shown(l->v[i]));
    return list;
}

static json_t *program(const struct explain *x, size_t i, bool local, struct err *e)
{
    const struct app *a = &x->plan->apps[i];
    json_t *to = json_pack("{s:i, s:i, s:i, s:o, s:o}", "appnum", (int)i, "first_rank",
                           x->app_end[i] - a->n, "ranks", a->n, "by", count_by(x, (int)i),
                           "argv", words(&a->argv));

    if (a->wdir) {
        json_object_set_new(to, "wdir", json_shown(a->wdir));
        json_object_set_new(to, "wdir_by", explain_by(x, "wdir", (int)i));
    }
    if (local)
        add_found(x, a, to);
    json_object_set_new(to, "environment", explain_environment(x, i, e));
    return to;
}

static json_t *programs(const struct explain *x, struct err *e)
{
    bool *local = find_local(x);
    json_t *list = json_array();

    for (size_t i = 0; local && i < x->plan->napps; i++)
        json_array_append_new(list, program(x, i, local[i], e));
    free(local);
    return list;
}

/* --- all of it --------------------------------------------------------- */

static json_t *settings(const struct explain *x)
{
    json_t *list = json_array();

    for (size_t i = 0; i < x->said->n; i++) {
        const struct setting *s = &x->said->v[i];
        json_t *one;

        if (s->variable)
            continue;                    /* the option that sets it is there */
        one = json_object();
        if (s->option || s->key)
            json_object_set_new(one, "option", json_string(s->option ? s->option : s->key));
        if (s->value)
            json_object_set_new(one, "value", json_shown(s->value));
        if (s->app != SAID_OF_JOB)
            json_object_set_new(one, "appnum", json_integer(s->app));
        json_object_set_new(one, "by", explain_setting(s));
        json_array_append_new(list, one);
    }
    return list;
}

/* How many servers stand between this host and the last one. */
static int depth(const struct plan *p)
{
    struct tree t = { tree_width(p), tree_positions(p) };
    int n = 0;

    for (int at = t.n - 1; at > 0; at = tree_parent(&t, at))
        n++;
    return n;
}

static json_t *summary(const struct explain *x)
{
    const struct plan *p = x->plan;
    long fullest = 0, used = 0, crowded = 0;
    bool listed = p->hosts_given || p->in_allocation;    /* else processors count, not slots */

    for (size_t i = 0; i < p->nhosts; i++) {
        long ranks = node_ranks(&x->runs, &x->place, i);

        used += ranks > 0;
        crowded += listed && ranks > p->hosts[i].slots;
        fullest = ranks > fullest ? ranks : fullest;
    }
    return json_pack("{s:i, s:I, s:I, s:I, s:I, s:i, s:I, s:I, s:s, s:o, s:i}",
                     "ranks", x->place.size, "programs", (json_int_t)p->napps,
                     "hosts", (json_int_t)p->nhosts, "hosts_with_ranks", (json_int_t)used,
                     "slots", (json_int_t)plan_slots(p), "other_hosts", tree_positions(p) - 1,
                     "most_ranks_of_a_host", (json_int_t)fullest,
                     "hosts_with_more_ranks_than_slots", (json_int_t)crowded,
                     "launcher", launcher_way(p->remote.launcher)->name,
                     "launcher_by", explain_by(x, "launcher", SAID_OF_JOB),
                     "tree_depth", depth(p));
}

static json_t *answer(const struct explain *x, struct err *e)
{
    json_t *a = json_pack("{s:o}", "summary", summary(x));

    if (x->plan->brief)
        return a;
    json_object_set_new(a, "programs", programs(x, e));
    json_object_set_new(a, "hosts", explain_hosts(x));
    json_object_set_new(a, "commands", explain_commands(x, e));
    json_object_set_new(a, "settings", settings(x));
    return a;
}

/* The blocks' ranks, and each node's. */
static int lay_out(struct explain *x, struct err *e)
{
    const struct plan *p = x->plan;
    int end = 0;

    if (place_ranks(p, NULL, &x->place, e) < 0 ||
        (place_is_limited(p) && (p->hosts_given || p->in_allocation) &&
         place_check(p, &x->place, e) < 0))
        return EXIT_USAGE;
    x->app_end = calloc(x->plan->napps, sizeof *x->app_end);
    if (!x->app_end || node_runs_init(&x->runs, &x->place, x->plan->nhosts) < 0) {
        err_set(e, ERR_NOMEM, "no memory");
        return EXIT_LAUNCHER;
    }
    for (size_t i = 0; i < x->plan->napps; i++)
        x->app_end[i] = end += x->plan->apps[i].n;
    return 0;
}

static void tell_picture(const json_t *answer, FILE *out, struct err *e)
{
    struct buf text = BUF_INIT;

    explain_svg(answer, &text);
    if (text.failed)
        err_set(e, ERR_NOMEM, "no memory");
    else
        fwrite(buf_bytes(&text), 1, text.len, out);
    buf_clear(&text);
}

static int tell(const struct explain *x, FILE *out, struct err *e)
{
    json_t *a = answer(x, e);

    if (!a && !e->code)
        err_set(e, ERR_NOMEM, "no memory");
    if (!e->code && x->plan->json) {
        json_dumpf(a, out, JSON_INDENT(1) | JSON_ENSURE_ASCII);
        fputc('\n', out);
    } else if (!e->code && x->plan->svg) {
        tell_picture(a, out, e);
    } else if (!e->code) {
        explain_print(a, out);
    }
    json_decref(a);
    return e->code ? EXIT_LAUNCHER : 0;
}

bool explain_is_asked(char *const *words)
{
    for (; *words; words++) {
        const char *name = *words + strspn(*words, "-");
        const struct option *o = name > *words ? opts_find(name, strlen(name)) : NULL;

        if (o && !strcmp(o->names[0], "explain"))
            return true;
    }
    return false;
}

int explain_run(const struct plan *p, const struct said *said, char *const *envp, FILE *out,
                struct err *e)
{
    struct explain x = { .plan = p, .said = said, .envp = envp };
    int status = lay_out(&x, e);

    if (status == 0)
        status = tell(&x, out, e);
    free(x.app_end);
    node_runs_clear(&x.runs);
    placement_clear(&x.place);
    return status;
}

/* check.c - see check.h */
#include "mpiexec_lite/check_impl.h"

#include "mpiexec_lite/env.h"
#include "mpiexec_lite/launch.h"
#include "mpiexec_lite/node_runs.h"
#include "mpiexec_lite/stage.h"

#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void add_variable(json_t *to, const char *key, char *const *envp, const char *name)
{
    const char *value = envp ? env_get(envp, name) : NULL;

    if (value)
        json_object_set_new(to, key, json_shown(value));
}

static void add_text(json_t *to, const char *key, const char *text)
{
    if (text)
        json_object_set_new(to, key, json_shown(text));
}

/* What a host is to know of a program, whose ranks have this environment. */
static json_t *program(const struct plan *p, const struct app *a, char *const *envp)
{
    json_t *to = json_pack("{s:o}", "argv0", json_shown(a->argv.v[0]));

    add_text(to, "wdir", a->wdir);
    add_text(to, "path", a->path);
    add_text(to, "arch", a->arch);
    add_text(to, "agent", p->agent.n ? p->agent.v[0] : NULL);
    add_variable(to, "search", envp, "PATH");
    add_variable(to, "libraries", envp, "LD_LIBRARY_PATH");
    return to;
}

/* The ranks of a node, in order. */
static json_t *list_ranks(const struct placement *place, const struct node_runs *runs, size_t node)
{
    json_t *list = json_array();

    for (size_t i = runs->first[node]; i < runs->first[node + 1]; i++) {
        const struct run *r = &place->runs[runs->order[i]];

        for (int k = 0; k < r->n; k++)
            json_array_append_new(list, json_integer(r->first + k));
    }
    return list;
}

/* How its ranks are to be bound, if they are; and which they are, to be drawn. */
static void add_binding(json_t *to, const struct plan *p, const struct placement *place,
                        const struct node_runs *runs, size_t node)
{
    const struct map_options *m = &p->map;
    const char *bind = p->hosts[node].binding ? p->hosts[node].binding : m->bind;
    long ranks = node_ranks(runs, place, node);
    json_t *how;

    if (!ranks || (!bind && !m->cpus && !m->memory && !m->gpus))
        return;
    how = json_pack("{s:I, s:i, s:i}", "ranks", (json_int_t)ranks, "each", m->each, "gpus", m->gpus);
    add_text(how, "bind", bind);
    add_text(how, "by", m->by);
    add_text(how, "memory", m->memory);
    add_text(how, "cpus", m->cpus);
    if (m->report)
        json_object_set_new(how, "draw", list_ranks(place, runs, node));
    json_object_set_new(to, "binding", how);
}

/* The programs of a host, each with its own environment; TMPDIR is the first one's. */
static json_t *request(const struct plan *p, const struct placement *place,
                       const struct node_runs *runs, size_t node, char *const *envp,
                       struct err *e)
{
    json_t *list = json_array(), *to = json_pack("{s:o}", "programs", list);
    char dir[PATH_MAX];
    size_t next = 0;

    for (size_t i = runs->first[node]; i < runs->first[node + 1]; i++) {
        const struct run *r = &place->runs[runs->order[i]];
        size_t a = plan_app_of(p, r->first), last = plan_app_of(p, r->first + r->n - 1);

        for (a = a < next ? next : a; a <= last; next = ++a) {
            struct strlist env = { 0 };
            int rc = env_build(p, a, envp, &env, e);

            if (rc == 0 && json_array_size(list) == 0)
                add_variable(to, "tmp", env.v, "TMPDIR");
            if (rc == 0)
                json_array_append_new(list, program(p, &p->apps[a], env.v));
            strlist_clear(&env);
            if (rc < 0)
                return to;
        }
    }
    add_binding(to, p, place, runs, node);
    if (getcwd(dir, sizeof dir))
        json_object_set_new(to, "dir", json_shown(dir));
    return to;
}

static int make_probes(struct check *c, char *const *envp, struct err *e)
{
    struct placement place = { 0 };
    struct node_runs runs = { 0 };
    int status = 0;

    c->v = calloc(c->plan->nhosts, sizeof *c->v);
    if (place_ranks(c->plan, NULL, &place, e) < 0)
        status = EXIT_USAGE;
    else if (!c->v || node_runs_init(&runs, &place, c->plan->nhosts) < 0)
        err_set(e, ERR_NOMEM, "no memory");
    if (!e->code)
        check_here(c->plan, &place, c->here);
    for (; !e->code && c->n < c->plan->nhosts; c->n++)
        c->v[c->n] = (struct probe){
            .host = &c->plan->hosts[c->n], .ranks = node_ranks(&runs, &place, c->n),
            .in = -1, .out = -1, .err = -1, .heard = BUF_INIT, .words = BUF_INIT,
            .request = request(c->plan, &place, &runs, c->n, envp, e),
        };
    node_runs_clear(&runs);
    placement_clear(&place);
    return !e->code ? 0 : status ? status : EXIT_LAUNCHER;
}

static void clear(struct check *c)
{
    for (size_t i = 0; i < c->n; i++) {
        buf_clear(&c->v[i].heard);
        buf_clear(&c->v[i].words);
        json_decref(c->v[i].request);
        json_decref(c->v[i].facts);
    }
    json_decref(c->here);
    free(c->v);
    free(c->proxy);
}

/* Whether something will fail. */
static bool tell(const struct check *c, FILE *out)
{
    json_t *list = json_array();
    json_t *answer = json_pack("{s:{s:O}, s:o}", "launcher", "problems", c->here, "hosts", list);
    json_int_t problems = (json_int_t)json_array_size(c->here);

    for (size_t i = 0; i < c->n; i++) {
        json_t *host = check_host(&c->v[i]);

        problems += (json_int_t)json_length(host, "problems");
        json_array_append_new(list, host);
    }
    json_object_set_new(answer, "problems", json_integer(problems));
    if (c->plan->json) {
        json_dumpf(answer, out, JSON_INDENT(1) | JSON_ENSURE_ASCII);
        fputc('\n', out);
    } else {
        check_print(answer, c->plan->brief, out);
    }
    json_decref(answer);
    return problems > 0;
}

int check_run(const struct plan *p, char *const *envp, FILE *out, struct err *e)
{
    struct check c = { .plan = p, .here = json_array() };
    char beside[PATH_MAX];
    int status;

    inherited_save(&c.user);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
    c.proxy = strdup(stage_beside(beside, sizeof beside) < 0 ? "pmi2_proxy" : beside);
    status = c.proxy ? make_probes(&c, envp, e) : EXIT_LAUNCHER;
    if (status == 0)
        status = check_ask(&c, e) < 0 ? EXIT_LAUNCHER : tell(&c, out);
    else if (!e->code)
        err_set(e, ERR_NOMEM, "no memory");
    clear(&c);
    return status;
}

/* Tests of mpiexec_lite/bundle.c */
#include "mpiexec_lite/bundle.h"
#include "test/unit/fake_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* Three hosts, two programs; every member that travels is something unusual. */
static void fill(struct bundle *b)
{
    struct plan *p = &b->plan;
    struct host *h;
    struct app *a;
    struct err e;

    *b = (struct bundle){ .umask = 027 };
    plan_init(p);
    b->cwd = strdup("/a b\n\xff");
    b->jobid = strdup("job-1");
    b->spawner = strdup("job");
    b->trace = b->timeline = true;
    p->remote = (struct launch_options){
        .launcher = LAUNCHER_TCP, .exec = strdup("srun"), .forward_x = true,
        .proxy = strdup("/p"), .stage_proxy = true, .tree_width = 3, .flat_hosts = 4,
        .tries = 9, .ssh_limit = 2, .ssh_limit_time = 1, .ssh_quiet = true, .window = 5, .patience = 6.5, .heartbeat = 0.25, .lease = 8, .release_bytes = 9,
    };
    strlist_add(&p->remote.extra, "-p 22");
    p->label = strdup("[%r] ");
    p->outfile = strdup("o.%r");
    p->output_from = 2;
    p->merge = true;
    p->stdin_mode = STDIN_ALL;
    p->stdin_rank = 1;
    p->usize = 77;
    p->pmi_port = true;
    p->pmi1_subversion = 2;
    p->keep_going = true;
    p->verbose = 3;
    p->dims = strdup("3,2");
    strlist_add(&p->remote.wrapper, "strace");
    p->ports = (struct port_range){ 5000, 5010 };
    p->hide_hostname = true;
    p->alloc_kinds = strdup("system");
    p->oversubscribe = OVERSUBSCRIBE_YES;
    p->map = (struct map_options){
        .bind = strdup("core:2"), .by = strdup("socket"), .memory = strdup("bind:0"),
        .cpus = strdup("0-7"), .each = 2, .in_order = true, .gpus = GPUS_AUTO, .report = true,
    };
    strlist_add(&p->env.set, "G=1");
    strlist_add(&p->providers, "/etc/p/10-a");
    strlist_add(&p->providers, "/etc/p/20-b.so");
    p->providers_root = PROVIDERS_ROOT_SKIP;
    b->setup = strdup("0123456789abcdef[]");
    plan_add_host(p, "here")->local = true;
    h = plan_add_host(p, "there");
    h->user = strdup("alice");
    h->slots = 2;
    h->binding = strdup("user:0,2");
    h->coords = strdup("2,1");
    plan_add_host(p, "fe80::1");
    a = plan_add_app(p);
    a->n = 3;
    a->wdir = strdup("x");
    strlist_add(&a->argv, "./prog");
    strlist_add(&a->env.set, "A=1=2");
    strlist_add(&a->argv, "");
    strlist_add(&a->argv, "a=b\n'\"\xfe");
    a = plan_add_app(p);
    a->n = 1;
    a->path = strdup("/y:/z");
    a->bind = strdup("user:0,2+3");
    strlist_add(&a->argv, "b");
    b->envs = calloc(2, sizeof *b->envs);
    strlist_add(&b->envs[0], "A=1=2");
    strlist_add(&b->envs[0], "B=\n");
    assert_int_equal(place_ranks(p, NULL, &b->place, &e), 0);
}

static void same_text(const char *a, const char *b)
{
    assert_int_equal(a == NULL, b == NULL);
    if (a)
        assert_string_equal(a, b);
}

static void same_list(const struct strlist *a, const struct strlist *b)
{
    assert_int_equal(a->n, b->n);
    for (size_t i = 0; i < a->n; i++)
        assert_string_equal(a->v[i], b->v[i]);
}

static void same_launch(const struct launch_options *a, const struct launch_options *b)
{
    assert_int_equal(a->launcher, b->launcher);
    same_text(a->exec, b->exec);
    same_list(&a->extra, &b->extra);
    assert_int_equal(a->forward_x, b->forward_x);
    same_text(a->proxy, b->proxy);
    assert_int_equal(a->stage_proxy, b->stage_proxy);
    assert_int_equal(a->tree_width, b->tree_width);
    assert_int_equal(a->flat_hosts, b->flat_hosts);
    assert_int_equal(a->window, b->window);
    assert_true(a->patience == b->patience);
    assert_true(a->heartbeat == b->heartbeat);
    assert_true(a->lease == b->lease);
    assert_int_equal(a->release_bytes, b->release_bytes);
    same_list(&a->wrapper, &b->wrapper);
    assert_int_equal(a->tries, b->tries);
    assert_int_equal(a->ssh_limit, b->ssh_limit);
    assert_int_equal(a->ssh_limit_time, b->ssh_limit_time);
    assert_int_equal(a->ssh_quiet, b->ssh_quiet);
}

static void same_map(const struct map_options *a, const struct map_options *b)
{
    same_text(a->bind, b->bind);
    same_text(a->by, b->by);
    same_text(a->memory, b->memory);
    same_text(a->cpus, b->cpus);
    assert_int_equal(a->each, b->each);
    assert_int_equal(a->in_order, b->in_order);
    assert_int_equal(a->gpus, b->gpus);
    assert_int_equal(a->report, b->report);
}

static void same_options(const struct plan *a, const struct plan *b)
{
    same_launch(&a->remote, &b->remote);
    same_map(&a->map, &b->map);
    assert_int_equal(a->oversubscribe, b->oversubscribe);
    same_text(a->label, b->label);
    same_text(a->dims, b->dims);
    same_text(a->alloc_kinds, b->alloc_kinds);
    assert_int_equal(a->ports.low, b->ports.low);
    assert_int_equal(a->ports.high, b->ports.high);
    assert_int_equal(a->hide_hostname, b->hide_hostname);
    same_text(a->outfile, b->outfile);
    same_text(a->errfile, b->errfile);
    assert_int_equal(a->output_from, b->output_from);
    assert_int_equal(a->merge, b->merge);
    assert_int_equal(a->stdin_mode, b->stdin_mode);
    assert_int_equal(a->stdin_rank, b->stdin_rank);
    assert_int_equal(a->usize, b->usize);
    assert_int_equal(a->pmi_port, b->pmi_port);
    assert_int_equal(a->pmi1_subversion, b->pmi1_subversion);
    assert_int_equal(a->keep_going, b->keep_going);
    assert_int_equal(a->verbose, b->verbose);
    same_list(&a->env.set, &b->env.set);
    same_list(&a->providers, &b->providers);
    assert_int_equal(a->providers_root, b->providers_root);
}

static void same_hosts(const struct plan *a, const struct plan *b)
{
    assert_int_equal(a->nhosts, b->nhosts);
    for (size_t i = 0; i < a->nhosts; i++) {
        same_text(a->hosts[i].name, b->hosts[i].name);
        same_text(a->hosts[i].user, b->hosts[i].user);
        same_text(a->hosts[i].binding, b->hosts[i].binding);
        same_text(a->hosts[i].coords, b->hosts[i].coords);
        assert_int_equal(a->hosts[i].slots, b->hosts[i].slots);
        assert_int_equal(a->hosts[i].local, b->hosts[i].local);
    }
}

static void same_apps(const struct bundle *a, const struct bundle *b)
{
    assert_int_equal(a->plan.napps, b->plan.napps);
    for (size_t i = 0; i < a->plan.napps; i++) {
        assert_int_equal(a->plan.apps[i].n, b->plan.apps[i].n);
        same_list(&a->plan.apps[i].argv, &b->plan.apps[i].argv);
        same_text(a->plan.apps[i].wdir, b->plan.apps[i].wdir);
        same_text(a->plan.apps[i].path, b->plan.apps[i].path);
        same_text(a->plan.apps[i].bind, b->plan.apps[i].bind);
        same_list(&a->envs[i], &b->envs[i]);
        same_list(&a->plan.apps[i].env.set, &b->plan.apps[i].env.set);
    }
}

static void same(const struct bundle *a, const struct bundle *b)
{
    same_text(a->cwd, b->cwd);
    same_text(a->jobid, b->jobid);
    same_text(a->spawner, b->spawner);
    same_text(a->setup, b->setup);
    assert_int_equal(a->trace, b->trace);
    assert_int_equal(a->timeline, b->timeline);
    assert_int_equal(a->umask, b->umask);
    same_options(&a->plan, &b->plan);
    same_hosts(&a->plan, &b->plan);
    same_apps(a, b);
    assert_int_equal(a->place.nruns, b->place.nruns);
    assert_memory_equal(a->place.runs, b->place.runs, a->place.nruns * sizeof(struct run));
    assert_int_equal(a->place.nmap, b->place.nmap);
    assert_memory_equal(a->place.map, b->place.map,
                        a->place.nmap * sizeof(struct mapping_block));
    assert_int_equal(a->place.size, b->place.size);
}

static void written(struct buf *out)
{
    struct bundle b;

    fill(&b);
    bundle_write(&b, out);
    assert_false(out->failed);
    bundle_clear(&b);
}

static void test_there_and_back(void **state)
{
    struct buf out = BUF_INIT;
    struct bundle a, b;
    struct err e = { 0 };

    (void)state;
    fill(&a);
    bundle_write(&a, &out);
    assert_int_equal(bundle_read(&b, buf_bytes(&out), out.len, &e), 0);
    same(&a, &b);
    bundle_clear(&a);
    bundle_clear(&b);
    assert_null(b.envs);
    buf_clear(&out);
}

/* Read an exact copy on the heap: ASan sees one byte too far. */
static int read_copy(const struct buf *text, size_t len, struct err *e)
{
    char *copy = malloc(len ? len : 1);
    struct bundle b;
    int rc;

    assert_non_null(copy);
    memcpy(copy, buf_bytes(text), len);
    *e = (struct err){ 0 };
    rc = bundle_read(&b, copy, len, e);
    bundle_clear(&b);
    free(copy);
    return rc;
}

static void test_cut(void **state)
{
    struct buf out = BUF_INIT;
    struct err e;

    (void)state;
    written(&out);
    for (size_t len = 0; len < out.len; len++) {
        assert_int_equal(read_copy(&out, len, &e), -1);
        assert_non_null(strstr(e.text, "cut short"));
    }
    buf_char(&out, 'x');
    assert_int_equal(read_copy(&out, out.len, &e), -1);
    assert_non_null(strstr(e.text, "more than one job"));
    buf_clear(&out);
}

/* Any byte changed: it is read or refused, with a word about why. */
static void test_changed(void **state)
{
    static const char change[] = { 1, (char)0x80, (char)0xff };
    struct buf out = BUF_INIT;
    struct err e;

    (void)state;
    written(&out);
    for (size_t i = 0; i < out.len; i++)
        for (size_t k = 0; k < sizeof change; k++) {
            buf_bytes(&out)[i] ^= change[k];
            if (read_copy(&out, out.len, &e) < 0)
                assert_true(e.code != ERR_NONE && *e.text);
            buf_bytes(&out)[i] ^= change[k];
        }
    buf_clear(&out);
}

/* Jobs that cannot be, and what is said about them. */
enum { NO_HOST, NO_PROGRAM, NO_ARGUMENT, NO_RANK, BAD_NODE, BAD_MASK, BAD_MODE, BAD_TIME,
       FEW_RANKS, NO_JOBID, MANY_RANKS, BAD_NAME, BAD_USER };

static const struct { const char *name; int what; const char *error; } senseless[] = {
    { "no host",            NO_HOST,     "hosts: none" },
    { "no program",         NO_PROGRAM,  "programs: none" },
    { "no argument",        NO_ARGUMENT, "program 1: arguments: too few" },
    { "no rank",            NO_RANK,     "program 1: processes: out of range" },
    { "no such node",       BAD_NODE,    "run 0: no such node" },
    { "umask",              BAD_MASK,    "umask: out of range" },
    { "stdin mode",         BAD_MODE,    "stdin mode: out of range" },
    { "not a time",         BAD_TIME,    "lease: out of range" },
    { "ranks not placed",   FEW_RANKS,   "not as many ranks placed as there are" },
    { "empty name",         NO_JOBID,    "job's name: empty" },
    { "together too many",  MANY_RANKS,  "more ranks than there may be" },
    { "name of a host",     BAD_NAME,    "host 1: '-oProxyCommand=x' is not a host name" },
    { "name of a user",     BAD_USER,    "host 1: '-lroot' is not a user name" },
};

static void replace(char **text, const char *by)
{
    free(*text);
    *text = strdup(by);
}

static void spoil(struct bundle *b, int what)
{
    switch (what) {
    case NO_HOST:     while (b->plan.nhosts) host_clear(&b->plan.hosts[--b->plan.nhosts]);
                      break;
    case NO_PROGRAM:  strlist_clear(&b->envs[0]);
                      while (b->plan.napps) plan_drop_app(&b->plan);
                      break;
    case NO_ARGUMENT: strlist_clear(&b->plan.apps[1].argv); break;
    case NO_RANK:     b->plan.apps[1].n = 0; break;
    case BAD_NODE:    b->place.runs[0].node = 3; break;
    case BAD_MASK:    b->umask = 01000; break;
    case BAD_MODE:    b->plan.stdin_mode = (enum stdin_mode)4; break;
    case BAD_TIME:    b->plan.remote.lease = -0.0 / 0.0; break;
    case FEW_RANKS:   b->place.nruns--; break;
    case NO_JOBID:    *b->jobid = '\0'; break;
    case MANY_RANKS:  b->plan.apps[0].n = b->plan.apps[1].n = PLAN_RANKS_MAX; break;
    case BAD_NAME:    replace(&b->plan.hosts[1].name, "-oProxyCommand=x"); break;
    case BAD_USER:    replace(&b->plan.hosts[1].user, "-lroot"); break;
    }
}

static void test_senseless(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof senseless / sizeof *senseless; i++) {
        struct buf out = BUF_INIT;
        struct bundle b;
        struct err e;

        print_message("  %s\n", senseless[i].name);
        fill(&b);
        spoil(&b, senseless[i].what);
        bundle_write(&b, &out);
        assert_int_equal(read_copy(&out, out.len, &e), -1);
        assert_non_null(strstr(e.text, senseless[i].error));
        bundle_clear(&b);
        buf_clear(&out);
    }
}

static void test_version(void **state)
{
    struct buf out = BUF_INIT;
    char text[80];
    struct err e;

    (void)state;
    written(&out);
    snprintf(text, sizeof text, "job as sent by the launcher: version %d, want %d",
             buf_bytes(&out)[0] + 1, buf_bytes(&out)[0]);
    buf_bytes(&out)[0]++;
    assert_int_equal(read_copy(&out, out.len, &e), -1);
    assert_string_equal(e.text, text);
    buf_clear(&out);
}

/* Reading fails cleanly wherever memory ends. */
static void test_memory(void **state)
{
    struct buf out = BUF_INIT;
    struct bundle b;
    struct err e;
    long n = 0, before;

    (void)state;
    memory_begin();
    written(&out);
    do {
        int rc;

        before = memory_live;
        memory_after(n++);
        rc = bundle_read(&b, buf_bytes(&out), out.len, &e);
        memory_end();
        assert_int_equal(rc, memory_hit ? -1 : 0);
        assert_true(!memory_hit || e.code == ERR_NOMEM);
        bundle_clear(&b);
        assert_int_equal(memory_live, before);
    } while (memory_hit);
    assert_true(n > 20);
    buf_clear(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_there_and_back),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_changed),
        cmocka_unit_test(test_senseless),
        cmocka_unit_test(test_version),
        cmocka_unit_test(test_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tests of mpiexec_lite/opts*.c */
#include "mpiexec_lite/opts_table.h"
#include "test/unit/fake_memory.h"
#include "wire/nearest.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include <cmocka.h>

#define COUNT(a) (sizeof (a) / sizeof *(a))
#define MOST 14              /* words of a command line */

static const char *const outer[] = { "HOME=/nonexistent", "EMPTY=", NULL };

/* What parsing left behind. */
struct outcome {
    enum opts_result result;
    struct plan plan;
    struct err e;
    char *printed;           /* on out */
    size_t size;
};

static void parse(struct outcome *o, const char *const *words, const char *const *env)
{
    char *argv[MOST + 2] = { NULL };
    int argc = 0;
    FILE *out;

    memset(o, 0, sizeof *o);
    out = open_memstream(&o->printed, &o->size);
    assert_non_null(out);
    argv[argc++] = strdup("mpiexec_lite");
    for (; *words; words++)
        argv[argc++] = strdup(*words);   /* heap: ASan sees one byte too far */
    o->result = opts_parse(&o->plan, argc, argv, (char *const *)env, out, &o->e);
    fclose(out);
    while (argc)
        free(argv[--argc]);
}

static void outcome_clear(struct outcome *o)
{
    plan_clear(&o->plan);
    free(o->printed);
}

static void list(struct buf *to, const char *before, const struct strlist *l)
{
    for (size_t i = 0; i < l->n; i++)
        buf_printf(to, "%s%s", i ? "," : before, l->v[i]);
}

static void text(struct buf *to, const char *name, const char *value)
{
    if (value)
        buf_printf(to, " %s=%s", name, value);
}

static void number(struct buf *to, const char *name, int value, int usual)
{
    if (value != usual)
        buf_printf(to, " %s=%d", name, value);
}

static void rules(struct buf *to, const char *scope, const struct env_rules *r)
{
    static const char *const word[] = { NULL, "all", "none", "list:" };

    if (r->inherit) {
        buf_printf(to, " %senv=%s", scope, word[r->inherit]);
        list(to, "", &r->names);
    }
    if (r->set.n) {
        buf_printf(to, " %sset=", scope);
        list(to, "", &r->set);
    }
}

/* " hosts=alice@a:2{bind},HERE:1": our own host, if it is local, is always HERE. */
static void hosts(struct buf *to, const struct plan *p)
{
    for (size_t i = 0; i < p->nhosts; i++) {
        const struct host *h = &p->hosts[i];

        buf_printf(to, "%s%s%s%s:%d", i ? "," : " hosts=", h->user ? h->user : "",
                   h->user ? "@" : "", h->local ? "HERE" : h->name, h->slots);
        if (h->binding)
            buf_printf(to, "{%s}", h->binding);
    }
}

static void nodes(struct buf *to, const struct app *a)
{
    for (size_t i = 0; i < a->nnodes; i++)
        buf_printf(to, "%s%zu", i ? "," : " nodes=", a->nodes[i]);
}

static void launching(struct buf *to, const struct launch_options *o)
{
    struct plan usual;

    plan_init(&usual);
    number(to, "launcher", (int)o->launcher, LAUNCHER_SSH);
    text(to, "exec", o->exec);
    list(to, " extra=", &o->extra);
    number(to, "x", o->forward_x, 0);
    text(to, "proxy", o->proxy);
    number(to, "stage", o->stage_proxy, 0);
    number(to, "width", o->tree_width, usual.remote.tree_width);
    number(to, "flat", o->flat_hosts, usual.remote.flat_hosts);
    number(to, "window", o->window, usual.remote.window);
    number(to, "patience_ms", (int)(o->patience * 1000), 15000);
    number(to, "heartbeat_ms", (int)(o->heartbeat * 1000), 5000);
    number(to, "lease_ms", (int)(o->lease * 1000), 15000);
    number(to, "release", (int)o->release_bytes, 262144);
    list(to, " wrapper=", &o->wrapper);
    text(to, "iface", o->iface);
    text(to, "localhost", o->localhost);
    number(to, "tries", o->tries, usual.remote.tries);
    number(to, "ssh_limit", o->ssh_limit, usual.remote.ssh_limit);
    number(to, "ssh_limit_time", o->ssh_limit_time, usual.remote.ssh_limit_time);
    number(to, "ssh_quiet", o->ssh_quiet, 0);
}

/* "2*prog,arg wdir=/ | 1*other | set=A=1 label=...": all that is not as usual. */
static char *describe(const struct plan *p)
{
    struct buf b = BUF_INIT;

    for (size_t i = 0; i < p->napps; i++) {
        const struct app *a = &p->apps[i];

        buf_printf(&b, "%s%d*", i ? " | " : "", a->n);
        list(&b, "", &a->argv);
        text(&b, "wdir", a->wdir);
        text(&b, "pset", a->pset);
        text(&b, "path", a->path);
        text(&b, "arch", a->arch);
        nodes(&b, a);
        rules(&b, "", &a->env);
    }
    rules(&b, "g", &p->env);
    text(&b, "kinds", p->alloc_kinds);
    text(&b, "map", p->rankmap);
    number(&b, "print_map", p->print_rank_map, 0);
    number(&b, "hide", p->hide_hostname, 0);
    number(&b, "low", p->ports.low, 0);
    number(&b, "high", p->ports.high, 0);
    text(&b, "label", p->label);
    text(&b, "outfile", p->outfile);
    text(&b, "errfile", p->errfile);
    number(&b, "output_from", p->output_from, -1);
    number(&b, "merge", p->merge, 0);
    number(&b, "stdin", (int)p->stdin_mode, STDIN_RANK);
    number(&b, "stdin_rank", p->stdin_rank, 0);
    text(&b, "stdin_file", p->stdin_file);
    if (p->timeout > 0)
        buf_printf(&b, " timeout=%g", p->timeout);
    number(&b, "usize", p->usize, -1);
    number(&b, "pmi_port", p->pmi_port, 0);
    number(&b, "single", p->single, 0);
    number(&b, "single_fd", p->single_fd, 0);
    if (p->single_id)
        buf_printf(&b, " single_id=%s", p->single_id);
    number(&b, "pmi1", p->pmi1_subversion, 1);
    number(&b, "policy", (int)p->policy, END_ON_FAILURE);
    number(&b, "keep_going", p->keep_going, 0);
    number(&b, "exitcodes", p->print_all_exitcodes, 0);
    number(&b, "verbose", p->verbose, 0);
    text(&b, "trace", p->trace);
    if (p->hosts_given)
        hosts(&b, p);
    launching(&b, &p->remote);
    list(&b, " WARN: ", &p->warnings);
    assert_false(b.failed);
    return b.data;
}

/* Command lines that are right. */
static const struct { const char *name, *words[MOST], *want; } good[] = {
    { "a program",          { "prog" },                           "1*prog" },
    { "with arguments",     { "-n", "2", "prog", "-n", "3", "-l" }, "2*prog,-n,3,-l" },
    { "names of -n",        { "-np", "2", "a", ":", "-c", "3", "b" }, "2*a | 3*b" },
    { "any number of dashes", { "---n", "2", "--l", "a" },        "2*a label=[%r] " },
    { "any case",           { "-N", "2", "-Prepend-Rank", "a" },  "2*a label=[%r] " },
    { "sets of processes", { "-pset", "x", "a", ":", "--pset", "y z", "b" },
      "1*a pset=x | 1*b pset=y z" },
    { "value after =",      { "--np=2", "-wdir=/a=b", "a" },      "2*a wdir=/a=b" },
    { "value that looks like an option", { "-wdir", "-l", "a" },  "1*a wdir=-l" },
    { "-- ends options",    { "-n", "2", "--", "-x", "--" },      "2*-x,--" },
    { "-- before a plain program", { "--", "a", ":", "--", "b" }, "1*a | 1*b" },
    { "\\: is an argument", { "a", "\\:", "b", "\\\\:", "\\x" },  "1*a,:,b,\\:,\\x" },
    { "job-wide in any block", { "a", ":", "-l", "b" },
                "1*a | 1*b label=[%r] " },
    { "block options bind to their block",
      { "-wdir", "/x", "a", ":", "-path", "/y:/z", "-n", "2", "b" },
      "1*a wdir=/x | 2*b path=/y:/z" },
    { "the same in two blocks", { "-n", "2", "a", ":", "-n", "2", "a" }, "2*a | 2*a" },
    { "arguments are bytes", { "a", "", " ", "\xff\n" },          "1*a,, ,\xff\n" },

    { "-ppn is the default of -n", { "-ppn", "3", "a", ":", "-n", "1", "b" },
      "3*a | 1*b" },
    { "-usize SYSTEM",      { "-usize", "system", "-ppn", "3", "-n", "1", "a" },
      "1*a usize=3" },
    { "-usize INFINITE",    { "-usize", "INFINITE", "-hosts", "localhost:9", "-n", "1",
      "a" }, "1*a hosts=HERE:9" },
    { "-usize N",           { "-usize", "12", "a" },              "1*a usize=12" },
    { "slots of a host list", { "-hosts", "localhost:3,localhost", "a" },
      "4*a hosts=HERE:4" },
    { "universe of a host list", { "-hosts=localhost:3", "-n", "1", "a" },
      "1*a usize=3 hosts=HERE:3" },
    { "other hosts",        { "-hosts", "n[1-2]:2,alice@far", "a" },
      "5*a hosts=n1:2,n2:2,alice@far:1" },
    { "-ppn overrides slots", { "-ppn", "3", "-hosts", "n1:7,n2", "a" },
      "6*a hosts=n1:3,n2:3" },
    { "-usize SYSTEM of hosts", { "-usize", "SYSTEM", "-hosts", "n1:7,n2", "-n", "2", "a" },
      "2*a usize=8 hosts=n1:7,n2:1" },
    { "-host of one block", { "-host", "localhost:2", "a", ":", "-host", "127.0.0.1",
      "b" }, "2*a nodes=0 | 1*b nodes=0 hosts=HERE:3" },
    { "-host only",         { "-H", "n2,n1:2", "a", ":", "-host", "n1", "b", ":", "c" },
      "3*a nodes=0,1 | 1*b nodes=1 | 4*c hosts=n2:1,n1:3" },
    { "-host within a list", { "-hosts", "n1:4,n2:2", "-host", "n2", "a", ":", "b" },
      "2*a nodes=1 | 6*b hosts=n1:4,n2:2" },
    { "-host with slots of its own", { "-hosts", "n1:4", "-host", "n1:2", "a" },
      "2*a nodes=0 usize=4 hosts=n1:4" },
    { "-host beyond a list", { "-host", "n3:2", "a", ":", "-hosts", "n1:4,n2", "b" },
      "2*a nodes=2 | 5*b nodes=0,1 hosts=n1:4,n2:1,n3:2" },
    { "-host twice the same", { "-host", "n1,n1,n2", "a" },
      "3*a nodes=0,1 hosts=n1:2,n2:1" },
    { "-host and -ppn",     { "-ppn", "2", "-host", "n1:9,n2", "a" },
      "4*a nodes=0,1 hosts=n1:2,n2:2" },
    { "-order-nodes",       { "-order-nodes", "up", "-hosts", "n1:3,n2,n3:2,n4", "a" },
      "7*a hosts=n2:1,n4:1,n3:2,n1:3" },
    { "-order-nodes down",  { "-hosts", "n1,n2:3,n3:3,n4:2", "-order-nodes=DESCENDING",
      "-host", "n1", "a" }, "1*a nodes=3 usize=9 hosts=n2:3,n3:3,n4:2,n1:1" },
    { "-skip-launch-node",  { "-skip-launch-node", "-hosts", "n1,localhost:4,n2", "a", ":",
      "-host", "localhost,n2", "b" }, "2*a | 1*b nodes=1 hosts=n1:1,n2:1" },
    { "-f of this host",    { "-launcher", "fork", "-f", "HYDRA_USE_LOCALHOST", "a" },
      "1*a hosts=HERE:1 launcher=1" },
    { "user of this host",  { "-hosts", "bob@localhost", "a" },
      "1*a hosts=bob@HERE:1 WARN: localhost is this host: its user 'bob' is ignored" },

    { "launchers",          { "-launcher", "SSH", "a" },          "1*a" },
    { "-bootstrap",         { "-bootstrap", "manual", "a" },      "1*a launcher=2" },
    { "-launcher tcp",      { "-launcher", "tcp", "-launcher-exec", "srun", "a" },
      "1*a launcher=3 exec=srun" },
    { "launching",          { "-enable-x", "-proxy", "/p", "-stage-proxy", "-tree-width",
      "0", "-flat-hosts", "0", "-launch-window", "1", "a" },
      "1*a x=1 proxy=/p stage=1 width=0 flat=0 window=1" },
    { "times and sizes",    { "-launch-timeout", "2.5", "-heartbeat", "0.5", "-lease", "1",
      "-kvs-release-bytes", "0", "a" },
      "1*a patience_ms=2500 heartbeat_ms=500 lease_ms=1000 release=0" },
    { "no lease",           { "-lease", "0", "-heartbeat", "60", "a" },
      "1*a heartbeat_ms=60000 lease_ms=0" },

    { "-env both ways",     { "-env", "A", "1", "-env", "B=2", "a" }, "1*a set=A=1,B=2" },
    { "-env=, both ways",   { "-env=A", "1", "-env=B=2=3", "a" }, "1*a set=A=1,B=2=3" },
    { "-env with odd values", { "-env", "A", "x=y z", "-env", "B", "", "a" },
      "1*a set=A=x=y z,B=" },
    { "-genv and -env",     { "-genv", "A=1", "-env", "A=2", "a", ":", "b" },
      "1*a set=A=2 | 1*b gset=A=1" },
    { "inheritance",        { "-genvnone", "-envall", "a", ":", "-envlist", "A,,B", "b" },
      "1*a env=all | 1*b env=list:A,B genv=none" },
    { "-envnone, -genvlist", { "-genvlist=A", "-envnone", "a" },
      "1*a env=none genv=list:A" },
    { "-x",                 { "-x", "HOME", "-x", "EMPTY", "-x", "A=1=2", "a" },
      "1*a gset=HOME=/nonexistent,EMPTY=,A=1=2" },
    { "-x of nothing",      { "-x", "NONE", "a" },
      "1*a WARN: -x NONE: there is no such variable" },
    { "the launcher's variables", { "-env", "PMI_RANK", "1", "a" },
      "1*a WARN: PMI_RANK is set by the launcher; what you set is ignored" },

    { "-prepend-pattern",   { "-prepend-pattern", "%r@%h: ", "a" }, "1*a label=%r@%h: " },
    { "files",              { "-outfile", "o.%r", "-errfile-pattern", "e.%r", "a" },
      "1*a outfile=o.%r errfile=e.%r" },
    { "-output-from",       { "-n", "2", "-output-from", "1", "--merge-stderr-to-stdout",
      "a" }, "2*a output_from=1 merge=1" },
    { "-stdin none",        { "-stdin", "none", "a" },            "1*a stdin=1" },
    { "-stdin all",         { "-stdin", "ALL", "a" },             "1*a stdin=2" },
    { "-stdin R",           { "-stdin", "1", "-n", "2", "a" },    "2*a stdin_rank=1" },
    { "-stdin file:",       { "-stdin", "file:/a:b", "a" },
      "1*a stdin=3 stdin_file=/a:b" },

    { "-timeout",           { "-timeout", "2.5", "a" },           "1*a timeout=2.5" },
    { "-maxtime",           { "-maxtime", "60", "a" },            "1*a timeout=60" },
    { "no time limit",      { "--timeout=0", "a" },               "1*a" },
    { "end of the job",     { "-end-on-nonzero", "-disable-auto-cleanup",
                              "-print-all-exitcodes", "a" },
      "1*a policy=1 keep_going=1 exitcodes=1" },
    { "-enable-auto-cleanup", { "-enable-auto-cleanup", "a" },    "1*a" },
    { "a PMI-1 program that runs already", { "-pmi_args", "4242", "default_interface", "k", "7" },
      "1*default_interface,k,7 nodes=0 stdin=1 single=4242" },
    { "one of libpmi2",     { "-singleton-fd", "3:singleton_7_ab", "--", "-a" },
      "1*-a nodes=0 stdin=1 single_fd=3 single_id=singleton_7_ab" },
    { "it stays here, and is one", { "-hosts", "elsewhere:2", "-n", "4", "-singleton-fd", "3:i", "a" },
      "1*a nodes=1 stdin=1 usize=3 single_fd=3 single_id=i hosts=elsewhere:2,HERE:1" },
    { "PMI",                { "-pmi-port", "-pmi1-groups", "a" },
      "1*a pmi_port=1 pmi1=2" },
    { "-v adds up",         { "-v", "-verbose", "-vv", "a" },     "1*a verbose=4" },
    { "--trace-wire",       { "--trace-wire", "t", "a" },         "1*a trace=t" },
    { "harmless ones",      { "--allow-run-as-root", "--oversubscribe", "-disable-x",
      "a" }, "1*a" },
    { "--mca",              { "--mca", "btl", "self", "--mca", "x", "y", "a" },
      "1*a WARN: -mca is ignored: it is for Open MPI,"
      "-mca is ignored: it is for Open MPI" },
    { "-ckpoint",           { "-ckpoint-num", "3", "a" },
      "1*a WARN: -ckpoint-num is ignored: there is no checkpointing" },
    { "--PREFIX",           { "--PREFIX", "/opt", "a" },
      "1*a WARN: -prefix is ignored: it is for Open MPI" },

    { "-soft, slots unknown", { "-n", "10", "-soft", "2:8:3", "a" }, "8*a" },
    { "-soft, six slots",   { "-n", "10", "-soft", "2:8:3", "-ppn", "6", "a" }, "5*a" },
    { "-soft without -n",   { "-soft", "1,4,9", "-ppn", "6", "a" }, "4*a" },
    { "-soft, less than slots", { "-n", "3", "-soft", "1:9", "-ppn", "6", "a" }, "3*a" },
    { "-soft, what others leave", { "-ppn", "6", "-n", "4", "a", ":", "-soft", "1:9", "b" },
      "4*a | 2*b" },
    { "-soft of -host",     { "-host", "localhost:3", "-n", "9", "-soft", "1:9", "a" },
      "3*a nodes=0 hosts=HERE:3" },
    { "-arch",              { "-arch", "vax", "a", ":", "b" }, "1*a arch=vax | 1*b" },
    { "-rankmap",           { "-rankmap", "(0,1,2)", "-print-rank-map", "a" },
      "1*a map=(0,1,2) print_map=1" },
    { "-initial-errhandler", { "-initial-errhandler", "MPI_ERRORS_RETURN", "a" },
      "1*a gset=OMPI_MCA_mpi_initial_errhandler=mpi_errors_return" },
    { "-memory-alloc-kinds", { "-memory-alloc-kinds", "system,mpi", "a" },
      "1*a kinds=system,mpi" },
    { "calling back",       { "-iface", "eth0", "-localhost", "h", "-hybrid-hosts", "a" },
      "1*a proxy=pmi2_proxy iface=eth0 localhost=h" },
    { "host names",         { "-disable-hostname-propagation", "a" }, "1*a hide=1" },
    { "-demux",             { "-demux", "poll", "a" },            "1*a" },
    { "variables before the program", { "-n", "2", "A=1", "_B2=", "a", "C=3" },
      "2*a,C=3 set=A=1,_B2=" },
    { "a program with =",   { "A=1", ":", "2=3", "b", ":", "--", "C=1", "c" },
      "1*A=1 | 1*2=3,b | 1*C=1,c" },
    { "Intel MPI",          { "-rr", "-s", "all", "-ordered-output", "-tune", "f", "a" },
      "1*a stdin=2 WARN: -tune is ignored: it is for Intel MPI" },
    { "--output of Open MPI", { "--output", "tag,timestamp,merge", "a" },
      "1*a label=[%t] [%r]  merge=1" },
    { "--output dir=",      { "--output=dir=/x%", "a" },
      "1*a outfile=/x%%/rank.%r/stdout errfile=/x%%/rank.%r/stderr" },
    { "--timestamp-output", { "-timestamp-output", "-prepend-pattern", "%h ", "a" },
      "1*a label=[%t] %h " },
    { "--output of srun",   { "--output=o.%t", "a" },             "1*a outfile=o.%r" },
    { "files of srun",      { "-o", "%t%%%n", "-e", "none", "-i", "/f", "a" },
      "1*a outfile=%r%%%p errfile=/dev/null stdin=3 stdin_file=/f" },
    { "-i of srun",         { "-n", "2", "--input=1", "-o", "all", "a" }, "2*a stdin_rank=1" },
    { "-K",                 { "-K", "a" },                        "1*a policy=1" },
    { "-K 0",               { "--kill-on-bad-exit=0", "a" },      "1*a" },
    { "-export of mpirun_rsh", { "-export", "a" },                "1*a genv=all" },
    { "--export of srun",   { "--export=ALL,A=1", "a" },          "1*a genv=all gset=A=1" },
    { "--export, a list",   { "--export=A,B=2,C", "a" },
      "1*a genv=list:A,C gset=B=2" },
    { "--export=NONE",      { "--export=NONE", "a" },             "1*a genv=list:" },
    { "-ssh",               { "-ssh", "a" },                      "1*a" },
};

static void test_good(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(good); i++) {
        struct outcome o;
        char *got;

        print_message("  %s\n", good[i].name);
        parse(&o, good[i].words, outer);
        assert_string_equal(o.e.text, "");
        assert_int_equal(o.result, OPTS_RUN);
        assert_int_equal(o.size, 0);
        got = describe(&o.plan);
        assert_string_equal(got, good[i].want);
        free(got);
        outcome_clear(&o);
    }
}

#define COUNTS "is not a number in 1..1000000"

/* Command lines that are wrong. */
static const struct { const char *name, *words[MOST], *error; } bad[] = {
    { "nothing",            { NULL },
                    "no program given; -h shows the usage" },
    { "job-wide options only", { "-l" },
                 "no program given; -h shows the usage" },
    { "options only",       { "-n", "2" },          "no program after -n" },
    { "nothing after --",   { "--" },
                    "no program given; -h shows the usage" },
    { "nothing after :",    { "a", ":" },
                "no program in part 2 (parts end at ':')" },
    { "nothing before :",   { ":", "a" },
                "no program in part 1 (parts end at ':')" },
    { "options before :",   { "-n", "2", ":", "a" }, "no program after -n" },
    { "not a number",       { "-n", "abc", "a" },   "-n: 'abc' " COUNTS },
    { "no process",         { "-n", "0", "a" },     "-n: '0' " COUNTS },
    { "negative",           { "-n", "-3", "a" },    "-n: '-3' " COUNTS },
    { "number and more",    { "-np", "2x", "a" },   "-np: '2x' " COUNTS },
    { "huge",               { "-n", "99999999999999999999", "a" },
      "-n: '99999999999999999999' " COUNTS },
    { "empty number",       { "-n=", "a" },         "-n: '' " COUNTS },
    { "blank before it",    { "-n", " 2", "a" },    "-n: ' 2' " COUNTS },
    { "together too many",  { "-n", "600000", "a", ":", "-n", "600000", "b" },
      "more than 1000000 processes" },
    { "no value",           { "-n" },               "-n: needs a value (N)" },
    { "a set with a comma", { "-pset", "a,b", "c" }, "-pset: 'a,b' has a comma" },
    { "no value before :",  { "-wdir", ":", "a" },  "-wdir: needs a value (DIR)" },
    { "one value of two",   { "--env", "A" },
            "--env: needs two values (NAME VALUE)" },
    { "empty value",        { "-wdir", "", "a" },   "-wdir: the value is empty" },
    { "value of a switch",  { "-l=yes", "a" },      "-l: takes no value" },
    { "no variable",        { "-env", "=1", "a" },  "-env: the variable has no name" },

    { "twice",              { "-n", "2", "-n", "2", "a" },  "duplicate setting: -n" },
    { "held, for gdb too",  { "--debug", "gdb", "-hold", "init", "a" },
      "duplicate setting: -hold, and ranks are held for gdb, at exec" },
    { "the other way round", { "-stop-in-init", "-debug=gdb", "a" },
      "duplicate setting: -stop-in-init, and ranks are held for gdb, at exec" },
    { "twice, two names",   { "-n", "2", "-NP", "2", "a" }, "duplicate setting: -n" },
    { "twice, one is others' -N", { "-n", "2", "-N=2", "a" },
      "duplicate setting: -N is -n here; -ppn is for each host, and -cpus-per-proc for each process" },
    { "twice, -N comes first", { "--N", "2", "-np", "2", "a" },
      "duplicate setting: --N is -n here; -ppn is for each host, and -cpus-per-proc for each process" },
    { "twice, -c comes first", { "-c", "2", "-n", "2", "a" },
      "duplicate setting: -c is -n here; -ppn is for each host, and -cpus-per-proc for each process" },
    { "twice, -N is the block's before", { "-N", "2", "a", ":", "-n", "2", "-n", "3", "a" },
      "duplicate setting: -n" },
    { "twice, job-wide, two blocks", { "-l", "a", ":", "-l", "b" },
      "duplicate setting: -l" },
    { "one setting, two options", { "-l", "-prepend-pattern", "x", "a" },
      "duplicate setting: -prepend-pattern after -l" },
    { "two rules of inheritance", { "-genvall", "-genvnone", "a" },
      "duplicate setting: -genvnone after -genvall" },
    { "list and file of hosts", { "-hosts", "localhost", "-f", "x", "a" },
      "duplicate setting: -f after -hosts" },

    { "unknown",            { "-foo", "a" },        "unknown option -foo; -h lists all" },
    { "nearly known",       { "--prepnd-rank", "a" },
      "unknown option --prepnd-rank; did you mean -prepend-rank?" },
    { "abbreviated",        { "-prepend-p", "a" },
      "unknown option -prepend-p; did you mean -prepend-pattern?" },
    { "clustered",          { "-np4", "a" },
             "unknown option -np4; did you mean -np?" },
    { "with a value",       { "-tiemout=3", "a" },
      "unknown option -tiemout=3; did you mean -timeout?" },
    { "only a dash",        { "-", "a" },           "unknown option -; -h lists all" },
    { "more than one line", { "-a\nb\x7f", "c" },
        "unknown option -a?b?; -h lists all" },
    { "refused",            { "-xterm", "a" },
      "-xterm is not supported: no terminal is opened; put xterm -e before the program" },
    { "refused, with =",    { "--Sg=x", "a" }, "--Sg is not supported: the group is the caller's; "
      "run sg GROUP -c 'mpiexec_lite ...'" },
    { "refused, nothing instead", { "-dvm", "a" },
      "-dvm is not supported: each launcher starts its own servers" },
    { "no error handler",   { "-initial-errhandler", "x", "a" }, "-initial-errhandler: 'x' is not "
      "mpi_errors_abort, mpi_errors_are_fatal or mpi_errors_return" },
    { "-soft: too few slots", { "-n", "10", "-soft", "2:8:3", "-ppn", "1", "a" },
      "-soft: no number of '2:8:3' is at most 1" },
    { "-soft: none",        { "-n", "10", "-soft", "0", "a" },
      "-soft: '0' has no number of processes but 0 up to 10" },
    { "-soft: nonsense",    { "-soft", "many", "a" }, "-soft: numbers or ranges a:b:c, separated by "
      "commas, wanted, not 'many'" },
    { "no such file",       { "-file", "/nonexistent", "a" },
      "-file: /nonexistent: No such file or directory" },
    { "srun's pattern",     { "-o", "%j", "a" },
      "-o: '%j': of srun's % only %t, %N, %n and %% are known" },
    { "two outputs",        { "-outfile", "x", "--output", "dir=y", "a" },
      "--output: duplicate setting: -output-filename after -outfile-pattern" },
    { "-K 2",               { "-K=2", "a" },        "-K: '2' is not 0 or 1" },
    { "not a host",         { "-hosts", "localhost,-far:2", "a" },
      "-hosts: '-far' is not a host name" },
    { "not a host of a block", { "-host", "fa/r", "a" },
      "-host: 'fa/r' is not a host name" },
    { "too many slots",     { "-hosts", "n[1-2]:1000000", "a" },
      "more than 1000000 processes" },
    { "too many slots of a block", { "-host", "n[1-2]:1000000", "a" },
      "more than 1000000 processes" },
    { "only this host",     { "-skip-launch-node", "-hosts", "localhost", "a" },
      "-skip-launch-node: the list names no host but this one" },
    { "only this host, not named", { "-skip-launch-node", "a" },
      "-skip-launch-node: no other host was named" },
    { "only this host in a block", { "-skip-launch-node", "-host", "localhost", "a" },
      "-host: only this host, which is to be skipped" },
    { "bad order",          { "-order-nodes", "sideways", "a" },
      "-order-nodes: 'sideways' is not ASCENDING or DESCENDING" },
    { "bad slots",          { "-hosts", "localhost:0", "a" },
      "-hosts: '0' is not a number of slots (1 or more)" },
    { "no such host file",  { "-f", "/nonexistent", "a" },
      "-f: /nonexistent: No such file or directory" },
    { "unknown launcher",   { "-launcher", "loom", "a" },
      "-launcher: 'loom' is none of: ssh, fork, manual, tcp, slurm, pbs, lsf, sge, ll, rsh" },
    { "unknown manager",    { "-rmk", "loom", "a" },
      "-rmk: 'loom' is none of: user, slurm, pbs, lsf, sge, cobalt, ll, flux" },
    { "not in its job",     { "-rmk", "sge", "a" },
      "job of sge (-rmk user: do not look): this is no job of sge: there is no variable "
      "PE_HOSTFILE" },
    { "tcp alone",          { "-launcher", "tcp", "a" },
      "-launcher tcp needs -launcher-exec: the program that starts ours on a host" },
    { "short lease",        { "-lease", "5", "a" },
      "-lease (5 s) must be longer than -heartbeat (5 s), or 0" },
    { "slow heartbeat",     { "-heartbeat", "15.5", "a" },
      "-lease (15 s) must be longer than -heartbeat (15.5 s), or 0" },
    { "no heartbeat",       { "-heartbeat", "0", "a" },   "-heartbeat: it cannot be 0" },
    { "negative lease",     { "-lease", "-1", "a" },      "-lease: '-1' is negative" },
    { "no patience",        { "-launch-timeout", "0", "a" },
      "-launch-timeout: it cannot be 0" },
    { "bad width",          { "-tree-width", "-1", "a" },
      "-tree-width: '-1' is not a number in 0..1000000" },
    { "no window",          { "-launch-window", "0", "a" }, "-launch-window: '0' " COUNTS },
    { "bad bytes",          { "-kvs-release-bytes", "1G", "a" },
      "-kvs-release-bytes: '1G' is not a number of bytes in 0..1073741824" },
    { "X both ways",        { "-enable-x", "-disable-x", "a" },
      "duplicate setting: -disable-x after -enable-x" },

    { "a descriptor that is in use", { "-singleton-fd", "2:i", "a" },
      "-singleton-fd: '2:i' does not begin with a descriptor above 2" },
    { "one that is none",   { "-singleton-fd", "12345678901234567890:i", "a" },
      "-singleton-fd: '12345678901234567890:i' does not begin with a descriptor above 2" },
    { "no job id",          { "-singleton-fd", "3:", "a" },
      "-singleton-fd: '3:' does not end in a job id" },
    { "a job id that is none", { "-singleton-fd", "3:a b", "a" },
      "-singleton-fd: '3:a b' does not end in a job id" },
    { "two that run already", { "-singleton-fd", "3:a", "a", ":", "b" },
      "a program that runs already is one, and is here" },
    { "bad pattern",        { "-prepend-pattern", "%x", "a" },
      "-prepend-pattern: '%x' is not one of %r %g %p %h %t %%" },
    { "bad file pattern",   { "-outfile", "a%", "a" },
      "-outfile: 'a%' ends in a single %" },
    { "bad -stdin",         { "-stdin", "some", "a" },
      "-stdin: 'some' is not none, all, a rank or file:NAME" },
    { "-stdin of no file",  { "-stdin", "file:", "a" }, "-stdin: file: needs a name" },
    { "-stdin of no rank",  { "-stdin", "2", "-n", "2", "a" },
      "-stdin: there is no rank 2, the last one is 1" },
    { "-output-from of no rank", { "-output-from", "1", "a" },
      "-output-from: there is no rank 1, the last one is 0" },
    { "bad -output-from",   { "-output-from", "-1", "a" },
      "-output-from: '-1' is not a rank" },
    { "bad -timeout",       { "-timeout", "1s", "a" },
      "-timeout: '1s' is not a number of seconds" },
    { "infinite -timeout",  { "-timeout", "inf", "a" },
      "-timeout: 'inf' is not a number of seconds" },
    { "endless -timeout",   { "-timeout", "1000000001", "a" },
      "-timeout: '1000000001' is not a number of seconds" },
    { "negative -timeout",  { "-timeout", "-1", "a" }, "-timeout: '-1' is negative" },
    { "bad -usize",         { "-usize", "0", "a" },
      "-usize: '0' is not SYSTEM, INFINITE or 1..1000000" },
    { "no configuration file", { "-configfile", "/nonexistent" },
      "/nonexistent: No such file or directory" },
};

static void test_bad(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct outcome o;

        print_message("  %s\n", bad[i].name);
        parse(&o, bad[i].words, outer);
        assert_string_equal(o.e.text, bad[i].error);
        assert_int_equal(o.result, OPTS_USAGE);
        outcome_clear(&o);
    }
}

/* Variables of the environment that stand for options. */
static const struct { const char *name, *env[3], *words[MOST], *want, *error; } vars[] = {
    { "time limit",     { "MPIEXEC_TIMEOUT=5" }, { "a" }, "1*a timeout=5", "" },
    { "option wins",    { "MPIEXEC_TIMEOUT=5" }, { "-timeout", "0", "a" }, "1*a", "" },
    { "none",           { "MPIEXEC_TIMEOUT=-1" }, { "a" }, "1*a", "" },
    { "empty",          { "MPIEXEC_TIMEOUT=" }, { "a" }, "1*a", "" },
    { "bad",            { "MPIEXEC_TIMEOUT=x" }, { "a" }, NULL,
      "MPIEXEC_TIMEOUT: 'x' is not a number of seconds" },
    { "all",            { "HYDRA_ENV=ALL" }, { "a" }, "1*a genv=all", "" },
    { "anything else",  { "HYDRA_ENV=x" }, { "a" }, "1*a genv=none", "" },
    { "option wins",    { "HYDRA_ENV=none" }, { "-genvlist=A", "a" }, "1*a genv=list:A",
      "" },
    { "debug",          { "HYDRA_DEBUG=Yes" }, { "a" }, "1*a verbose=1", "" },
    { "no debug",       { "HYDRA_DEBUG=off" }, { "a" }, "1*a", "" },
    { "debug and -vv",  { "HYDRA_DEBUG=1" }, { "-vv", "a" }, "1*a verbose=2", "" },
    { "bad boolean",    { "HYDRA_DEBUG=2" }, { "a" }, NULL,
      "HYDRA_DEBUG: '2' is not 1 or 0" },
    { "ports",          { "MPICH_PORT_RANGE=1:2", "MPIEXEC_PORT_RANGE=5000:5010" }, { "a" },
      "1*a low=5000 high=5010", "" },
    { "bad ports",      { "MPICH_PORTRANGE=5010:5000" }, { "a" }, NULL,
      "MPICH_PORTRANGE: '5010:5000' is not LOW:HIGH, two ports" },
    { "interface",      { "HYDRA_IFACE=eth0" }, { "a" }, "1*a iface=eth0", "" },
    { "an option beats it", { "HYDRA_IFACE=eth0" }, { "-iface", "lo", "a" }, "1*a iface=lo", "" },
    { "no host names",  { "HYDRA_HOSTNAME_PROPAGATION=0" }, { "a" }, "1*a hide=1", "" },
    { "an option beats that", { "HYDRA_HOSTNAME_PROPAGATION=0" },
      { "-enable-hostname-propagation", "a" }, "1*a", "" },
    { "host names",     { "HYDRA_HOSTNAME_PROPAGATION=maybe" }, { "a" }, NULL,
      "HYDRA_HOSTNAME_PROPAGATION: 'maybe' is not 1 or 0" },
    { "wrappers",       { "HYDRA_USE_STRACE=1", "HYDRA_USE_VALGRIND=yes" }, { "a" },
      "1*a wrapper=strace,valgrind", "" },
    { "no wrapper",     { "HYDRA_USE_DDD=0" }, { "a" }, "1*a", "" },
    { "ssh limits",     { "HYDRA_LAUNCHER_SSH_LIMIT=2", "HYDRA_LAUNCHER_SSH_LIMIT_TIME=0" }, { "a" },
      "1*a ssh_limit=2 ssh_limit_time=0", "" },
    { "ssh in silence", { "HYDRA_LAUNCHER_SSH_ENABLE_WARNINGS=off", "HYDRA_PROXY_RETRY_COUNT=9" },
      { "a" }, "1*a tries=10 ssh_quiet=1", "" },
    { "bad limit",      { "HYDRA_LAUNCHER_SSH_LIMIT=0" }, { "a" }, NULL,
      "HYDRA_LAUNCHER_SSH_LIMIT: '0' is not a number in 1..2147483647" },
    { "universe",       { "MPIEXEC_UNIVERSE_SIZE=7" }, { "a" }, "1*a usize=7", "" },
    { "no configuration file", { "HYDRA_CONFIG_FILE=/nonexistent" }, { "a" }, NULL,
      "/nonexistent: No such file or directory" },
    { "-noconf",        { "HYDRA_CONFIG_FILE=/nonexistent" }, { "-noconf", "a" }, "1*a", "" },
    { "host file",      { "HYDRA_HOST_FILE=HYDRA_USE_LOCALHOST" }, { "a" },
      "1*a hosts=HERE:1", "" },
    { "a list wins",    { "HYDRA_HOST_FILE=/nonexistent" }, { "-hosts", "n1", "a" },
      "1*a hosts=n1:1", "" },
    { "a block's list wins", { "HYDRA_HOST_FILE=/nonexistent" }, { "-host", "n1", "a" },
      "1*a nodes=0 hosts=n1:1", "" },
    { "no host file",   { "HYDRA_HOST_FILE=/nonexistent" }, { "a" }, NULL,
      "HYDRA_HOST_FILE: /nonexistent: No such file or directory" },
    { "launcher",       { "HYDRA_LAUNCHER=fork", "HYDRA_BOOTSTRAP=manual" }, { "a" },
      "1*a launcher=1", "" },
    { "bootstrap",      { "HYDRA_LAUNCHER=", "HYDRA_BOOTSTRAP=manual" }, { "a" },
      "1*a launcher=2", "" },
    { "launcher's program", { "HYDRA_BOOTSTRAP_EXEC=/s" }, { "a" }, "1*a exec=/s", "" },
    { "its words",      { "HYDRA_LAUNCHER_EXTRA_ARGS= -p  22\t-4 " }, { "a" },
      "1*a extra=-p,22,-4", "" },
    { "options win",    { "HYDRA_LAUNCHER=fork", "HYDRA_LAUNCHER_EXEC=/s" },
      { "-launcher", "manual", "-bootstrap-exec", "/t", "a" },
      "1*a launcher=2 exec=/t", "" },
    { "unknown launcher and its program",
      { "HYDRA_BOOTSTRAP=loom", "HYDRA_BOOTSTRAP_EXEC=shuttle" }, { "a" },
      "1*a WARN: HYDRA_BOOTSTRAP=loom is not supported by this version and ignored", "" },
    { "an allocation, and its launcher",
      { "SLURM_JOB_NODELIST=h[1-2]", "SLURM_TASKS_PER_NODE=2,1" }, { "a" },
      "3*a hosts=h1:2,h2:1 launcher=4", "" },
    { "its launcher is another",
      { "SLURM_JOB_NODELIST=h[1-2]", "HYDRA_LAUNCHER=ssh" }, { "a" }, "2*a hosts=h1:1,h2:1", "" },
    { "-ppn on its nodes", { "SLURM_JOB_NODELIST=h[1-2]" }, { "-ppn", "3", "a" },
      "6*a hosts=h1:3,h2:3 launcher=4", "" },
    { "a list beats its nodes", { "SLURM_JOB_NODELIST=h[1-2]" }, { "-hosts", "h2", "a" },
      "1*a hosts=h2:1 launcher=4", "" },
    { "-host as well", { "SLURM_JOB_NODELIST=h[1-2]" }, { "-host", "h2", "a" },
      "1*a nodes=0 hosts=h2:1 launcher=4", "" },
    { "no manager wanted", { "SLURM_JOB_NODELIST=h[1-2]" }, { "-rmk", "user", "a" }, "1*a", "" },
    { "by a variable", { "SLURM_JOB_NODELIST=h[1-2]", "HYDRA_RMK=user" }, { "a" }, "1*a", "" },
    { "the option beats that", { "SLURM_JOB_NODELIST=h1", "HYDRA_RMK=user" },
      { "-rmk", "SLURM", "a" }, "1*a hosts=h1:1 launcher=4", "" },
    { "managers that launch nothing", { "LSB_MCPU_HOSTS=h1 2" }, { "a" }, "2*a hosts=h1:2", "" },
    { "unknown launcher, option wins", { "HYDRA_LAUNCHER=loom" },
      { "-launcher", "fork", "a" }, "1*a launcher=1", "" },
    { "this host as the others", { "HYDRA_LAUNCHER_AUTOFORK=0" },
      { "-hosts", "localhost", "a" }, "1*a hosts=localhost:1", "" },
    { "skipped all the same", { "HYDRA_LAUNCHER_AUTOFORK=0" },
      { "-skip-launch-node", "-hosts", "localhost,n1", "a" }, "1*a hosts=n1:1", "" },
    { "usual",          { "HYDRA_LAUNCHER_AUTOFORK=yes" },
      { "-hosts", "localhost", "a" }, "1*a hosts=HERE:1", "" },
    { "bad autofork",   { "HYDRA_LAUNCHER_AUTOFORK=" }, { "a" }, NULL,
      "HYDRA_LAUNCHER_AUTOFORK: '' is not 1 or 0" },
    { "own user",       { "USER=bob" }, { "-hosts", "bob@localhost", "a" },
      "1*a hosts=bob@HERE:1", "" },
};

static void test_environment(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(vars); i++) {
        struct outcome o;
        char *got;

        print_message("  %s\n", vars[i].name);
        parse(&o, vars[i].words, vars[i].env);
        assert_string_equal(o.e.text, vars[i].error);
        assert_int_equal(o.result, vars[i].want ? OPTS_RUN : OPTS_USAGE);
        got = describe(&o.plan);
        if (vars[i].want)
            assert_string_equal(got, vars[i].want);
        free(got);
        outcome_clear(&o);
    }
}

/* Configuration files.  FILE in an error stands for the file's name. */
static const struct { const char *name, *file, *words[MOST], *want, *error; } files[] = {
    { "lines are programs", "-n 2 a x\n-n 1 b\n", { NULL }, "2*a,x | 1*b", "" },
    { "no newline at the end", "a", { NULL }, "1*a", "" },
    { "blank lines and comments", "\n  # c\n\n a # d \n\t\r\n", { NULL }, "1*a,#,d", "" },
    { "':' too",          "a : b\nc :\n", { NULL }, "1*a | 1*b | 1*c", "" },
    { "quotes",           "a 'b c' \"d 'e\" f\"g\"'h' ''\n", { NULL },
      "1*a,b c,d 'e,fgh,", "" },
    { "backslashes",      "a b\\ c \\\"d \"e\\\"f\\g\\\\\" '\\h'", { NULL },
      "1*a,b c,\"d,e\"f\\g\\,\\h", "" },
    { "what a shell would expand", "a \"\\$b\" \"\\`c\\`\" '\\$d'", { NULL },
      "1*a,$b,`c`,\\$d", "" },
    { "newline in quotes", "a 'b\nc'\nd", { NULL }, "1*a,b\nc | 1*d", "" },
    { "continuation",     "-n 2 \\\n a \\\nb\\\nc\n", { NULL }, "2*a,bc", "" },
    { "backslash at the end", "a \\", { NULL }, "1*a", "" },
    { "quoted ':'",       "a ':' \\: \"\\:\" : b", { NULL }, "1*a,:,:,\\: | 1*b", "" },
    { "-env with blanks", "-env A 'x y' -env \"B=z  z\" a", { NULL },
      "1*a set=A=x y,B=z  z", "" },
    { "a line of job-wide options", "-l\n-n 2 a\n", { NULL }, "2*a label=[%r] ", "" },
    { "job-wide from both", "-timeout 5 a\n", { "-l" }, "1*a label=[%r]  timeout=5", "" },
    { "the command line wins", "-timeout 5 -genvall a\n", { "-timeout", "7",
      "-genvnone" },
      "1*a genv=none timeout=7", "" },
    { "its variables win too", "-genv A=file -genv B=file a\n", { "-genv", "A=typed" },
      "1*a gset=A=file,B=file,A=typed", "" },
    { "settings for a typed program", "-l\n", { "-n", "3", "a" }, "3*a label=[%r] ", "" },

    { "mpirun_rsh's lines", "-n 2 : a x\n-n 1 : A=1 b\n", { NULL }, "2*a,x | 1*b set=A=1", "" },

    { "empty",            "# nothing\n", { NULL }, NULL,
      "no program given, nor one in FILE" },
    { "programs in both", "a\n", { "b" }, NULL,
      "programs both on the command line and in FILE" },
    { "block options typed", "a\n", { "-n", "2" }, NULL, "no program after -n" },
    { "no program in a line", "a\n-n 2\n", { NULL }, NULL,
      "FILE: line 2: no program after -n" },
    { "number of the line", "a\n\nb \\\n c\n-n x d\n", { NULL }, NULL,
      "FILE: line 5: -n: 'x' " COUNTS },
    { "open quote",       "a\nb 'c\nd", { NULL }, NULL, "FILE: line 2: ' is not closed" },
    { "twice in the file", "-l a\n-l b\n", { NULL }, NULL,
      "FILE: line 2: duplicate setting: -l" },
    { "a file in the file", "-configfile x\n", { NULL }, NULL,
      "FILE: line 1: -configfile: not possible inside a configuration file" },
};

/* A new file that holds text.  Its name, to be freed and the file removed. */
static char *write_file(const char *content)
{
    char *path = strdup("/tmp/test_opts.XXXXXX");
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, content, strlen(content)), strlen(content));
    close(fd);
    return path;
}

static void remove_file(char *path)
{
    unlink(path);
    free(path);
}

/* Put "FILE" back in the place of the name of the file. */
static void hide_name(char *message, const char *path)
{
    char *at = strstr(message, path);

    if (!at)
        return;
    memmove(at + 4, at + strlen(path), strlen(at + strlen(path)) + 1);
    memcpy(at, "FILE", 4);
}

static void test_configfile(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(files); i++) {
        char *path = write_file(files[i].file), *got;
        const char *words[MOST + 2] = { "-configfile", path };
        struct outcome o;

        print_message("  %s\n", files[i].name);
        memcpy(words + 2, files[i].words, (MOST - 1) * sizeof *words);
        parse(&o, words, outer);
        hide_name(o.e.text, path);
        assert_string_equal(o.e.text, files[i].error);
        assert_int_equal(o.result, files[i].want ? OPTS_RUN : OPTS_USAGE);
        got = describe(&o.plan);
        if (files[i].want)
            assert_string_equal(got, files[i].want);
        free(got);
        outcome_clear(&o);
        remove_file(path);
    }
}

/* The same file, where none is named: by HYDRA_CONFIG_FILE, at home, for the system. */
static void test_usual_configfile(void **state)
{
    char folder[] = "/tmp/test_opts.XXXXXX", home[64], named[64], path[64], *got;
    const char *env[] = { home, NULL, NULL }, *words[] = { "a", NULL };
    struct err e = { 0 };
    struct outcome o;
    FILE *f;

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(home, sizeof home, "HOME=%s", folder);
    assert_null(opts_usual_configfile((char *const *)env, "/nonexistent", &e));
    snprintf(path, sizeof path, "%s/mpiexec.hydra.conf", folder);
    f = fopen(path, "w");
    fclose(f);
    got = opts_usual_configfile((char *const *)env, folder, &e);
    assert_string_equal(got, path);
    free(got);
    unlink(path);
    snprintf(path, sizeof path, "%s/.mpiexec.hydra.conf", folder);
    f = fopen(path, "w");
    fputs("-l\n", f);
    fclose(f);
    got = opts_usual_configfile((char *const *)env, folder, &e);
    assert_string_equal(got, path);
    free(got);
    snprintf(named, sizeof named, "HYDRA_CONFIG_FILE=%s/x", folder);
    env[1] = named;
    got = opts_usual_configfile((char *const *)env, folder, &e);
    assert_string_equal(got, named + 18);
    free(got);
    env[1] = NULL;
    parse(&o, words, env);
    got = describe(&o.plan);
    assert_string_equal(got, "1*a label=[%r] ");
    free(got);
    outcome_clear(&o);
    unlink(path);
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(e.code, 0);
}

/* Files of -file. */
static const struct { const char *name, *file, *words[MOST], *want, *error; } jobfiles[] = {
    { "settings",       "# c\n\n wdir = /x y \nn=3\nenv = A=1 2\nenv=B=\n", { "a" },
      "3*a wdir=/x y set=A=1 2,B=", "" },
    { "the command line wins", "n = 3\nenv = A=file\nsoft = 2\n", { "-n", "2", "-env", "A=typed",
      "a" }, "2*a set=A=file,A=typed", "" },
    { "of the job too", "timeout = 5\nend-on-nonzero = TRUE\npmi-port = no\n", { "a" },
      "1*a timeout=5 policy=1", "" },
    { "of its program only", "wdir = /x\n", { "a", ":", "b" }, "1*a wdir=/x | 1*b", "" },
    { "no =",           "a\nb\n", { "a" }, NULL,
      "-file: FILE: line 1: 'option = value' wanted, not 'a'" },
    { "no option",      "\ncolour = red\n", { "a" }, NULL,
      "-file: FILE: line 2: 'colour' is no option for a file" },
    { "no number",      "n = x\n", { "a" }, NULL, "-file: FILE: line 1: n: 'x' " COUNTS },
    { "no switch",      "l = x\n", { "a" }, NULL, "-file: FILE: line 1: l: 'x' is not TRUE or FALSE" },
    { "no variable",    "env = x\n", { "a" }, NULL, "-file: FILE: line 1: env: 'x' is not NAME=VALUE" },
    { "twice",          "n = 1\nnp = 2\n", { "a" }, NULL,
      "-file: FILE: line 2: np: duplicate setting: -n" },
    { "a file",         "file = x\n", { "a" }, NULL,
      "-file: FILE: line 1: 'file' is no option for a file" },
};

static void test_jobfile(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(jobfiles); i++) {
        char *path = write_file(jobfiles[i].file), *got;
        const char *words[MOST + 2] = { "-file", path };
        struct outcome o;

        print_message("  %s\n", jobfiles[i].name);
        memcpy(words + 2, jobfiles[i].words, (MOST - 1) * sizeof *words);
        parse(&o, words, outer);
        hide_name(o.e.text, path);
        assert_string_equal(o.e.text, jobfiles[i].error);
        got = describe(&o.plan);
        if (jobfiles[i].want)
            assert_string_equal(got, jobfiles[i].want);
        free(got);
        outcome_clear(&o);
        remove_file(path);
    }
}

/* Files of -envfile: by name, and by number. */
static const struct { const char *name, *file; size_t len; const char *want, *error; } envfiles[] = {
#define FILE_OF(text) text, sizeof text - 1
    { "variables",       FILE_OF("A=1\0B=\0C= x\ny \0"), "1*a set=A=1,B=,C= x\ny ,D=4", "" },
    { "an open end",     FILE_OF("A=1\0B=2"), "1*a set=A=1,B=2,D=4", "" },
    { "nothing",         FILE_OF(""), "1*a set=D=4", "" },
    { "twice",           FILE_OF("D=1\0D=2\0"), "1*a set=D=1,D=2,D=4", "" },
    { "no =",            FILE_OF("A=1\0B\0"), NULL, "-envfile: FILE: entry 2 is not NAME=VALUE" },
    { "no name",         FILE_OF("=1\0"), NULL, "-envfile: FILE: entry 1 is not NAME=VALUE" },
    { "an empty string", FILE_OF("A=1\0\0"), NULL, "-envfile: FILE: entry 2 is not NAME=VALUE" },
};

static void test_envfile(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(envfiles) * 2; i++) {
        size_t row = i / 2;
        char *path = write_file(""), number[16], *got;
        int fd = open(path, O_RDWR | O_CLOEXEC);
        struct outcome o;

        print_message("  %s, by %s\n", envfiles[row].name, i % 2 ? "number" : "name");
        assert_int_equal(write(fd, envfiles[row].file, envfiles[row].len), envfiles[row].len);
        assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
        snprintf(number, sizeof number, "%d", fd);
        if (i % 2 == 0)
            close(fd);
        parse(&o, (const char *[MOST]){ "-envfile", i % 2 ? number : path, "-env", "D=4", "a" }, outer);
        if (i % 2)
            assert_int_equal(fcntl(fd, F_GETFD), -1);
        hide_name(o.e.text, i % 2 ? number : path);
        assert_string_equal(o.e.text, envfiles[row].error);
        got = describe(&o.plan);
        if (envfiles[row].want)
            assert_string_equal(got, envfiles[row].want);
        free(got);
        outcome_clear(&o);
        remove_file(path);
    }
}

/* The file is given by -f, or by HYDRA_HOST_FILE.  More is in test_hosts.c. */
static const struct { const char *name, *file, *words[MOST], *want, *error; } hostfiles[] = {
    { "one",            "localhost\n", { "a" }, "1*a hosts=HERE:1", "" },
    { "settings",       "n1:2 user=alice binding=user:0,2 # x\nn2 slots=3\n", { "a" },
      "5*a hosts=alice@n1:2{user:0,2},n2:3", "" },
    { "nothing",        "# none\n", { "a" }, NULL, "FILE names no host" },
    { "bad line",       "n1\nn2 cores=2\n", { "a" }, NULL, "FILE, line 2: "
      "'cores=2' is not slots=, max_slots=, user= or binding=" },
};

static void check_hostfile(size_t i, const char *path, const char *const *words,
                           const char *const *env, const char *prefix)
{
    struct outcome o;
    char want[300], *got;

    snprintf(want, sizeof want, "%s%s", hostfiles[i].want ? "" : prefix, hostfiles[i].error);
    parse(&o, words, env);
    hide_name(o.e.text, path);
    assert_string_equal(o.e.text, want);
    got = describe(&o.plan);
    if (hostfiles[i].want)
        assert_string_equal(got, hostfiles[i].want);
    free(got);
    outcome_clear(&o);
}

static void test_hostfile(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(hostfiles); i++) {
        char *path = write_file(hostfiles[i].file), variable[64];
        const char *words[MOST + 2] = { "-f", path }, *env[] = { variable, NULL };

        print_message("  %s\n", hostfiles[i].name);
        memcpy(words + 2, hostfiles[i].words, (MOST - 1) * sizeof *words);
        check_hostfile(i, path, words, outer, "-f: ");
        snprintf(variable, sizeof variable, "HYDRA_HOST_FILE=%s", path);
        check_hostfile(i, path, hostfiles[i].words, env, "HYDRA_HOST_FILE: ");
        remove_file(path);
    }
}

/* Without any list there is one node: this host. */
static void test_no_list(void **state)
{
    const char *words[] = { "-ppn", "3", "a", NULL };
    struct outcome o;

    (void)state;
    parse(&o, words, outer);
    assert_false(o.plan.hosts_given);
    assert_int_equal(o.plan.nhosts, 1);
    assert_true(o.plan.hosts[0].local);
    assert_int_equal(o.plan.hosts[0].slots, 3);
    assert_null(o.plan.apps[0].nodes);
    outcome_clear(&o);
}

/* What is printed instead of running a job, and how it begins. */
static const struct { const char *words[MOST], *begins; } printing[] = {
    { { "-h" },                         "Usage: mpiexec_lite " },
    { { "--HELP", "-unknown" },         "Usage: mpiexec_lite " },
    { { "-n", "2", "a", ":", "-help" }, "Usage: mpiexec_lite " },
    { { "--version" },                  "mpiexec_lite " VERSION "\nPMI-1.1, PMI-1.2 and PMI-2.0; "
                                        "hosts of slurm, pbs, lsf, sge, cobalt, ll, flux\n"
                                        "launchers ssh, fork, manual, tcp, slurm, pbs, lsf, " },
    { { "-info" },                      "mpiexec_lite " VERSION "\n" },
    { { "--print-man" },                ".Ss Processes and programs\n" },
    { { "--print-completion" },         "# bash completion for mpiexec_lite" },
};

static void test_printing(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(printing); i++) {
        struct outcome o;

        print_message("  %s\n", printing[i].words[0]);
        parse(&o, printing[i].words, outer);
        assert_int_equal(o.result, OPTS_DONE);
        assert_memory_equal(o.printed, printing[i].begins, strlen(printing[i].begins));
        outcome_clear(&o);
    }
}

static char *printed_by(void (*print)(FILE *out))
{
    char *all = NULL;
    size_t size;
    FILE *out = open_memstream(&all, &size);

    assert_non_null(out);
    print(out);
    fclose(out);
    return all;
}

/* before, then name, its dashes with an escape for roff, then something that ends it. */
static bool has_name(const char *all, const char *before, const char *name,
                     const char *dash, const char *ends)
{
    struct buf b = BUF_INIT;
    const char *at = all;
    bool found = false;

    buf_str(&b, before);
    for (; *name; name++)
        *name == '-' ? buf_str(&b, dash) : buf_char(&b, *name);
    for (; !found && (at = strstr(at, buf_bytes(&b))); at++)
        found = strchr(ends, at[b.len]) != NULL;
    buf_clear(&b);
    return found;
}

/* Every row is in the usage text, the manual and the completion, by all its names,
 * unless it is hidden. */
static void test_every_row_is_told(void **state)
{
    char *help = printed_by(opts_print_help), *man = printed_by(opts_print_man);
    char *completion = printed_by(opts_print_completion);

    (void)state;
    for (size_t i = 0; i < opts_rows(); i++)
        for (const char *const *n = opts_row(i)->names; *n; n++) {
            bool shown = opts_row(i)->section != SECTIONS;

            print_message("  %s\n", *n);
            assert_int_equal(has_name(help, " -", *n, "-", ", [\n"), shown);
            assert_int_equal(has_name(man, " Fl ", *n, "\\-", " \n"), shown);
            assert_int_equal(has_name(completion, " -", *n, "-", " '"), shown);
            if (shown && opts_row(i)->arg)
                assert_true(has_name(completion, "", *n, "-", "|)"));
        }
    free(help);
    free(man);
    free(completion);
}

/* Every option that is refused says why, in one line, and so does the manual; none is
 * taken. */
static void test_every_refusal(void **state)
{
    char *man = printed_by(opts_print_man_refused);

    (void)state;
    for (size_t i = 0; i < opts_refused_count; i++) {
        char names[400], *rest = names, *name, word[64];
        const char *words[] = { word, "a", NULL };
        struct outcome o;

        snprintf(names, sizeof names, "%s", opts_refused[i].names);
        while ((name = strsep(&rest, " "))) {
            print_message("  %s\n", name);
            snprintf(word, sizeof word, "-%s", name);
            parse(&o, words, outer);
            assert_int_equal(o.result, OPTS_USAGE);
            assert_memory_equal(o.e.text, word, strlen(word));
            assert_non_null(strstr(o.e.text, opts_refused[i].why));
            if (opts_refused[i].instead)
                assert_non_null(strstr(o.e.text, opts_refused[i].instead));
            assert_true(has_name(man, " Fl ", name, "\\-", " \n"));
            outcome_clear(&o);
        }
    }
    free(man);
}

/* Every variable is in the manual. */
static void test_every_variable(void **state)
{
    char *man = printed_by(opts_print_man_variables);

    (void)state;
    for (size_t i = 0; i < opts_variables_count; i++)
        for (const char *const *n = opts_variables[i].names; *n; n++) {
            print_message("  %s\n", *n);
            assert_non_null(strstr(man, *n));
        }
    free(man);
}

static void test_help_is_80_columns(void **state)
{
    char *help = printed_by(opts_print_help), *rest = help, *line;

    (void)state;
    while ((line = strsep(&rest, "\n")))
        assert_in_range(strlen(line), 0, 80);
    free(help);
}

/* Names are unique, rows complete. */
static void test_table(void **state)
{
    (void)state;
    assert_in_range(opts_rows(), 1, OPTIONS_MAX);
    for (size_t i = 0; i < opts_rows(); i++) {
        const struct option *o = opts_row(i);

        print_message("  %s\n", o->names[0]);
        assert_int_equal(opts_number_of(o), i);
        assert_non_null(o->set);
        assert_non_null(o->help);
        assert_true(!o->with || opts_find(o->with, strlen(o->with)));
        for (const char *const *n = o->names; *n; n++) {
            assert_ptr_equal(opts_find(*n, strlen(*n)), o);
            assert_null(opts_find_refusal(*n, strlen(*n)));
        }
    }
}

/* A value that an option takes. */
static const char *sample(const struct option *o)
{
    static const struct { const char *arg, *value; } samples[] = {
        { "FD:JOBID", "3:id" }, { "[=LIST]", "A" }, { "[=0|1]", "1" }, { "MAP", "0" }, { "HANDLER", "mpi_errors_return" },
        { "map|bindings", "map" },
        { "none|all|R|FILE", "none" },
        { "N", "1" }, { "K", "1" }, { "R", "0" }, { "S", "1" }, { "HOST", "localhost" },
        { "LIST", "localhost" }, { "FILE", "HYDRA_USE_LOCALHOST" }, { "W", "1" }, { "PORT", "1" },
        { "NAME", "ssh" }, { "KIND", "user" }, { "N[:TIME][,OPTION=VALUE]...", "1" }, { "ASCENDING|DESCENDING", "up" },
        { "SYSTEM|INFINITE|N", "1" }, { "none|all|R|file:F", "none" },
        { "PATH|HOST:PORT|auto|start|none", "auto" }, { "fail|skip", "skip" }, { "WHAT", "core" }, { "HOW", "none" },
        { "slot|node|fill", "fill" }, { "PLACE[:RANKS]", "exec" }, { "RANKS", "0" }, { "N|AUTO", "1" }, { "CPUS", "0" },
    };

    for (size_t i = 0; i < COUNT(samples); i++)
        if (strcmp(samples[i].arg, o->arg) == 0)
            return o->set == opts_set_timeline ? "t.svg" : samples[i].value;
    return o->arg;
}

/* For each row: -opt -h tells about it; a missing value is noticed; a repetition is
 * noticed unless it may be repeated. */
static void test_every_row(void **state)
{
    (void)state;
    for (size_t i = 0; i < opts_rows(); i++) {
        const struct option *o = opts_row(i);
        char name[64], both[128];
        const char *help[] = { name, "--help", NULL }, *alone[] = { name, NULL };
        const char *twice[] = { both, both, "prog", NULL };
        struct outcome got;

        print_message("  %s\n", o->names[0]);
        snprintf(name, sizeof name, "-%s", o->names[0]);
        snprintf(both, sizeof both, "-%s%s%s%s", o->names[0], o->arg ? "=" : "",
                 o->arg ? sample(o) : "", o->arg && strchr(o->arg, ' ') ? "=1" : "");
        parse(&got, help, outer);
        assert_int_equal(got.result, OPTS_DONE);
        assert_non_null(strstr(got.printed, name));
        outcome_clear(&got);
        parse(&got, alone, outer);
        if (o->arg && !opts_value_is_optional(o))
            assert_non_null(strstr(got.e.text, ": needs "));
        outcome_clear(&got);
        parse(&got, twice, outer);
        if (o->set != opts_set_print)
            assert_int_equal(strstr(got.e.text, "duplicate") != NULL,
                             !(o->flags & OPTION_REPEAT));
        outcome_clear(&got);
    }
}

/* Everything about hosts fails cleanly wherever memory ends (so few that qsort asks
 * for none: it can do without). */
static void test_memory(void **state)
{
    static const char *const words[] = {
        "mpiexec_lite", "-hosts", "al@n[1-40]:2,localhost,m", "-order-nodes", "up",
        "-skip-launch-node", "-launcher-exec", "/s", "-host", "n[3-45],o", "a", ":",
        "-timestamp-output", "-output", "tag,dir=/%x", "--export=A,B=1", "-soft", "1:9", "A=1", "b",
        ":", "-file", "/dev/null", "-hybrid-hosts", "-rankmap", "0", "c",
    };
    static char extra[] = "HYDRA_LAUNCHER_EXTRA_ARGS=-p 22", strace[] = "HYDRA_USE_STRACE=1";
    static char home[] = "HOME=/nonexistent";
    char *env[] = { extra, strace, home, NULL }, *argv[COUNT(words)];
    struct err e;
    struct plan p;
    long n = 0, before;

    (void)state;
    memory_begin();
    memcpy(argv, words, sizeof words);
    do {
        enum opts_result result;

        before = memory_live;
        memory_after(n++);
        result = opts_parse(&p, COUNT(words), argv, env, NULL, &e);
        memory_end();
        assert_int_equal(result, memory_hit ? OPTS_FAILED : OPTS_RUN);
        plan_clear(&p);
        assert_int_equal(memory_live, before);
    } while (memory_hit);
    assert_true(n > 100);
}

static const struct { const char *name, *words[MOST], *ranks, *gdb; bool tool;
                      int verbose; } debuggers[] = {
    { "gdb",                { "-gdb", "0,2-3", "-n", "4", "a" }, "0,2-3", "gdb", false, 0 },
    { "of all",             { "-debug=gdb", "a" },           "all", "gdb", false, 0 },
    { "of some",            { "--debug=gdb:1", "-n", "2", "a" }, "1", "gdb", false, 0 },
    { "a tool",             { "-tool", "/x/t -y", "a" },     NULL, NULL, true, 0 },
    { "as a value",         { "-debug=gdbtui", "a" },        NULL, NULL, true, 0 },
    { "no value is -v",     { "-debug", "-debug", "a" },     NULL, NULL, false, 2 },
    { "a path",             { "-debug=/x/gdb:1", "-n", "2", "a" }, "1", "/x/gdb", false, 0 },
    { "the next word",      { "--debug", "gdb", "-n", "2", "a" }, "all", "gdb", false, 0 },
    { "and ranks",          { "--debug", "gdb", "0-1", "-n", "2", "a" }, "0-1", "gdb", false, 0 },
    { "in capitals",        { "--Debug", "gdb", "-n", "2", "a" }, "all", "gdb", false, 0 },
    { "with it",            { "--debug", "gdb:1", "-n=2", "a" }, "1", "gdb", false, 0 },
    { "its path",           { "--debug", "/x/gdb", "--n", "2", "a" }, "all", "/x/gdb", false, 0 },
    { "in the second block", { "a", ":", "--debug", "gdb", "-n", "2", "b" }, "all", "gdb", false, 0 },
    { "one dash: a program", { "-debug", "gdb", "-n", "2", "a" }, NULL, NULL, false, 1 },
    { "told to be one",     { "--debug", "--", "gdb", "-n", "2", "a" }, NULL, NULL, false, 1 },
    { "no option of ours",  { "--debug", "gdb", "-ex", "run", "a" }, NULL, NULL, false, 1 },
    { "no option",          { "--debug", "gdb", "a", "-n", "2" }, NULL, NULL, false, 1 },
    { "ranks, no option",   { "--debug", "gdb", "0", "a", "-n" }, NULL, NULL, false, 1 },
    { "no ranks",           { "--debug", "gdb", "0x", "-n", "2" }, NULL, NULL, false, 1 },
    { "no word behind it",  { "--debug", "gdb" },            NULL, NULL, false, 1 },
    { "no debugger",        { "--debug", "gdbtui", "-n", "2" }, NULL, NULL, false, 1 },
    { "no name of one",     { "--debug", "gdb/", "-n", "2" }, NULL, NULL, false, 1 },
    { "nor is a dash",      { "--debug", "gdb", "-", "-n" }, NULL, NULL, false, 1 },
};

static void test_debuggers(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(debuggers); i++) {
        struct outcome got;
        struct plan *p = &got.plan;

        print_message("  %s\n", debuggers[i].name);
        parse(&got, debuggers[i].words, outer);
        assert_int_equal(got.result, OPTS_RUN);
        assert_string_equal(p->gdb ? p->gdb : "-", debuggers[i].gdb ? debuggers[i].gdb : "-");
        assert_int_equal(p->hold, debuggers[i].ranks ? HOLD_EXEC : HOLD_NONE);
        assert_string_equal(p->hold_ranks ? p->hold_ranks : "-",
                            debuggers[i].ranks ? debuggers[i].ranks : "-");
        assert_int_equal(p->tool != NULL, debuggers[i].tool);    /* borrowed of words that are gone */
        assert_int_equal(p->verbose, debuggers[i].verbose);
        outcome_clear(&got);
    }
}

static const struct { const char *a, *b; size_t distance; } distances[] = {
    { "", "", 0 }, { "", "abc", 3 }, { "abc", "abc", 0 }, { "ABC", "abc", 0 },
    { "abc", "abd", 1 }, { "abc", "ab", 1 }, { "abc", "abxc", 1 }, { "abc", "acb", 1 },
    { "kitten", "sitting", 3 }, { "ca", "abc", 3 }, { "n", "np", 1 },
    { "0123456789012345678901234567890123456789012345678901234567890123", "a", SIZE_MAX },
};

static void test_nearest(void **state)
{
    struct nearest n;

    (void)state;
    for (size_t i = 0; i < COUNT(distances); i++) {
        print_message("  %s %s\n", distances[i].a, distances[i].b);
        assert_int_equal(nearest_distance(distances[i].a, distances[i].b),
                         distances[i].distance);
        assert_int_equal(nearest_distance(distances[i].b, distances[i].a),
                         distances[i].distance);
    }
    nearest_start(&n, "merge");
    nearest_try(&n, "l");
    assert_null(n.best);
    nearest_try(&n, "mergf");
    nearest_try(&n, "merge-stderr-to-stdout");   /* the first of equals stays */
    assert_string_equal(n.best, "mergf");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_environment),
        cmocka_unit_test(test_configfile), cmocka_unit_test(test_usual_configfile),
        cmocka_unit_test(test_jobfile),
        cmocka_unit_test(test_envfile), cmocka_unit_test(test_every_refusal),
        cmocka_unit_test(test_every_variable),
        cmocka_unit_test(test_hostfile),
        cmocka_unit_test(test_no_list),
        cmocka_unit_test(test_printing),
        cmocka_unit_test(test_every_row),
        cmocka_unit_test(test_every_row_is_told),
        cmocka_unit_test(test_help_is_80_columns),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_nearest), cmocka_unit_test(test_debuggers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

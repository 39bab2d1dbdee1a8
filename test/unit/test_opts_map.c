/* test_opts_map.c - mpiexec_lite/opts_map: the options of mapping and binding, Hydra's and
 * Open MPI's, and what the plan has of them. */
#include "mpiexec_lite/opts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "wire/buf.h"

#define N_OF(a) (sizeof (a) / sizeof *(a))

static void text(struct buf *to, const char *name, const char *value)
{
    if (value)
        buf_printf(to, " %s=%s", name, value);
}

static void number(struct buf *to, const char *name, int value)
{
    if (value)
        buf_printf(to, " %s=%d", name, value);
}

/* " bind=core each=2": what was set. */
static void show(const struct plan *p, struct buf *to)
{
    buf_str(to, "");
    text(to, "bind", p->map.bind);
    text(to, "by", p->map.by);
    text(to, "memory", p->map.memory);
    text(to, "cpus", p->map.cpus);
    number(to, "each", p->map.each);
    number(to, "gpus", p->map.gpus);
    buf_str(to, p->map.in_order ? " in-order" : "");
    buf_str(to, p->map.report ? " report" : "");
    buf_str(to, p->by_node ? " by-node" : "");
    number(to, "numbering", (int)p->numbering);
    number(to, "over", (int)p->oversubscribe);
    if (p->nhosts && p->hosts[0].slots > 1)
        number(to, "slots", p->hosts[0].slots);
    for (size_t i = 0; i < p->warnings.n; i++)
        buf_printf(to, " WARN: %s", p->warnings.v[i]);
}

static const struct { const char *line, *env, *want; } cases[] = {
    { "", NULL, "" },
    /* Hydra's */
    { "-bind-to core", NULL, " bind=core" },
    { "-binding socket:2", NULL, " bind=socket:2" },
    { "-bind-to=user:0+2,1", NULL, " bind=user:0+2,1" },
    { "-bind-to core -map-by socket", NULL, " bind=core by=socket" },
    { "-bind-to core -map-by core:2", NULL, " bind=core by=core:2" },
    { "-map-by numa", NULL, " bind=numa by=numa" },
    { "-bind-to gpu -map-by gpu", NULL, " bind=gpu by=gpu" },
    { "-bind-to gpu0", NULL, " bind=gpu0" },
    { "-bind-to none -map-by socket", NULL, " bind=none by=socket" },
    { "-membind bind:0-1", NULL, " memory=bind:0-1" },
    { "-topolib hwloc -report-bindings", NULL, " report" },
    { "-gpus-per-proc 2", NULL, " gpus=2" },
    { "-g auto", NULL, " gpus=-1" },
    /* Open MPI's */
    { "--bind-to core:overload-allowed", NULL, " bind=core over=1" },
    { "--bind-to numa:if-supported", NULL, " bind=numa" },
    { "--bind-to-core", NULL, " bind=core" },
    { "--bind-to-socket", NULL, " bind=socket" },
    { "--bind-to-none", NULL, " bind=none" },
    { "--map-by node", NULL, " by-node" },
    { "--map-by slot", NULL, "" },
    { "-bynode", NULL, " by-node" },
    { "-byslot", NULL, "" },
    { "-bycore", NULL, " bind=core by=core" },
    { "--map-by slot:PE=4", NULL, " bind=core:4" },
    { "--map-by socket:PE=2 --bind-to core", NULL, " bind=core:2 by=socket" },
    { "--map-by node:pe=2 --bind-to hwthread", NULL, " bind=hwthread:2 by-node" },
    { "--cpus-per-proc 3", NULL, " bind=core:3" },
    { "--map-by ppr:3:node", NULL, " slots=3" },
    { "--map-by ppr:2:socket", NULL, " bind=socket by=socket each=2" },
    { "--map-by ppr:2:l3cache:PE=2", NULL, " bind=core:2 by=l3cache each=2" },
    { "-npersocket 2", NULL, " bind=socket by=socket each=2" },
    { "--map-by slot:OVERSUBSCRIBE", NULL, " over=1" },
    { "--map-by core:NOOVERSUBSCRIBE,PE=2", NULL, " bind=core:2 by=core over=2" },
    { "--oversubscribe", NULL, " over=1" },
    { "--nooversubscribe", NULL, " over=2" },
    { "--rank-by node", NULL, " numbering=2" },
    { "--rank-by slot", NULL, " numbering=1" },
    { "--rank-by fill", NULL, " in-order" },
    { "--cpu-set 0,2-5", NULL, " cpus=0,2-5" },
    /* the environment */
    { "", "HYDRA_BINDING=core", " bind=core" },
    { "", "HYDRA_MAPPING=socket", " bind=socket by=socket" },
    { "", "HYDRA_MEMBIND=interleave", " memory=interleave" },
    { "", "HYDRA_TOPOLIB=hwloc", "" },
    { "", "HYDRA_TOPO_DEBUG=1", " report" },
    { "-report-bindings", "HYDRA_TOPO_DEBUG=0", " report" },
    { "-bind-to numa", "HYDRA_BINDING=core", " bind=numa" },
    { "-bind-to-none", "HYDRA_BINDING=x", " bind=none" },
    { "", "HYDRA_MEMBIND=nexttouch", " WARN: HYDRA_MEMBIND is ignored: Linux has no nexttouch" },
    { "", "HYDRA_MAPPING=node:PE=2:x", " WARN: HYDRA_MAPPING is ignored: 'x' is not PE=N, "
      "OVERSUBSCRIBE, NOOVERSUBSCRIBE or NOLOCAL" },
    { "", "HYDRA_MAPPING=ppr:2:socket:x", " WARN: HYDRA_MAPPING is ignored: 'x' is not PE=N, "
      "OVERSUBSCRIBE, NOOVERSUBSCRIBE or NOLOCAL" },
    { "-cpus-per-rank 2", "HYDRA_MAPPING=core:OVERSUBSCRIBE:PE=3:x", " bind=core:2 "
      "WARN: HYDRA_MAPPING is ignored: 'x' is not PE=N, OVERSUBSCRIBE, NOOVERSUBSCRIBE or "
      "NOLOCAL" },
    { "", "HYDRA_BINDING=shelf:overload-allowed", " WARN: HYDRA_BINDING is ignored: 'shelf' is "
      "not none, rr, user:LIST, machine, numa, socket, l1cache to l5cache, core, hwthread (each "
      "with :K), gpu, ib, en, hfi, hsn or pci:ID" },
    { "", "HYDRA_MAPPING=ppr:3:node", " slots=3" },
    { "", "HYDRA_MEMBIND=", "" },
    { "", "HYDRA_TOPOLIB=x", " WARN: HYDRA_TOPOLIB is ignored: 'x': hwloc is the only one" },
    /* what is refused: the end of the text */
    { "-bind-to shelf", NULL, "! -bind-to: 'shelf' is not none, rr," },
    { "-bind-to core -binding core", NULL, "! duplicate setting: -bind-to" },
    { "-bind-to core -bind-to-none", NULL, "! duplicate setting: -bind-to-none after -bind-to" },
    { "-map-by shelf", NULL, "! -map-by: 'shelf' is not slot, node, ppr:N:OBJECT, rr," },
    { "-map-by core:0", NULL, "! -map-by: '0' is not a number of objects" },
    { "-map-by core:PE=0", NULL, "! -map-by: '0' is not a number in" },
    { "-map-by slot:SPAN", NULL, "! -map-by: 'SPAN' is not PE=N, OVERSUBSCRIBE" },
    { "-map-by ppr:2", NULL, "! -map-by: ppr wants ppr:N:OBJECT" },
    { "-map-by ppr:x:node", NULL, "! -map-by: 'x' is not a number" },
    { "-ppn 2 -map-by ppr:3:node", NULL, "! -map-by: -ppn says another number" },
    { "-map-by gpu -bind-to core", NULL, "! -map-by gpu does not go with -bind-to core" },
    { "-bind-to user:0 -map-by core", NULL, "! -map-by core does not go with -bind-to user:0" },
    { "-bind-to numa -cpus-per-proc 2", NULL, "! processors per rank: -bind-to is numa" },
    { "-bind-to core:2 -map-by slot:PE=2", NULL, "! processors per rank: -bind-to is core:2" },
    { "--oversubscribe --map-by slot:NOOVERSUBSCRIBE", NULL,
      "! --map-by: oversubscription is both allowed and refused" },
    { "-membind near", NULL, "! -membind: 'near' is not none" },
    { "-membind nexttouch", NULL, "! -membind: Linux has no nexttouch" },
    { "-cpu-list x", NULL, "! -cpu-list: 'x' is no list" },
    { "-rank-by core", NULL, "! -rank-by: 'core' is not slot, node or fill" },
    { "-g none", NULL, "! -g: 'none' is not AUTO or a number in" },
    { "-g 0", NULL, "! -g: '0' is not AUTO or a number in" },
    { "-map-by ppr:2:shelf", NULL, "! -map-by: 'shelf' is not slot, node, ppr:N:OBJECT, rr," },
    { "-topolib x", NULL, "! -topolib: 'x': hwloc is the only one" },
    { "", "HYDRA_TOPO_DEBUG=maybe", "! HYDRA_TOPO_DEBUG: 'maybe' is not 1 or 0" },
};

static enum opts_result parse(const char *line, const char *env, struct plan *p, struct err *e)
{
    char *words = strdup(line), *rest = words, *word, *argv[16] = { (char *)"mpiexec_lite" };
    char *envp[] = { (char *)env, NULL };
    enum opts_result result;
    int argc = 1;

    while ((word = strsep(&rest, " ")))
        if (*word)
            argv[argc++] = word;
    argv[argc++] = (char *)"a";
    result = opts_parse(p, argc, argv, envp, stdout, e);
    free(words);
    return result;
}

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct buf got = BUF_INIT;
        struct err e = { 0 };
        struct plan p;

        print_message("  %s %s\n", cases[i].env ? cases[i].env : "", cases[i].line);
        if (parse(cases[i].line, cases[i].env, &p, &e) == OPTS_RUN)
            show(&p, &got);
        else
            buf_printf(&got, "! %.*s", (int)strlen(cases[i].want) - 2, e.text);
        assert_string_equal(buf_bytes(&got), cases[i].want);
        buf_clear(&got);
        plan_clear(&p);
    }
}

/* binding= of a host file is checked before anything is started. */
static void test_host_file(void **state)
{
    char path[] = "/tmp/test_opts_map.XXXXXX", line[80];
    int fd = mkstemp(path);
    FILE *f = fdopen(fd, "w");
    struct err e = { 0 };
    struct plan p;

    (void)state;
    assert_non_null(f);
    fputs("one binding=core\ntwo:2 binding=shelf\n", f);
    assert_int_equal(fclose(f), 0);
    snprintf(line, sizeof line, "-f %s", path);
    assert_int_equal(parse(line, NULL, &p, &e), OPTS_USAGE);
    assert_non_null(strstr(e.text, "binding= of host two: 'shelf' is not none"));
    plan_clear(&p);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases), cmocka_unit_test(test_host_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

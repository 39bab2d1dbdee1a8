/* fuzz_opts.c - a command line, a word a line, those of "NAME=VALUE" at its beginning being
 * the environment, becomes a plan that makes sense or an error of one line. */
#include "test/fuzz/fuzz.h"

#include "mpiexec_lite/opts.h"
#include "mpiexec_lite/place.h"

#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 200, DIGITS_MAX = 4 };

/* A million hosts are right, and take a second. */
static bool is_huge(const char *text)
{
    for (; *text; text++)
        if (strspn(text, "0123456789") > DIGITS_MAX)
            return true;
    return false;
}

static void check_plan(const struct plan *p)
{
    struct placement place = { 0 };
    struct err e = { 0 };
    int size = plan_size(p);

    MUST(p->napps && p->nhosts && size >= 1 && size <= PLAN_RANKS_MAX);
    for (size_t i = 0; i < p->napps; i++) {
        MUST(p->apps[i].n >= 1 && p->apps[i].argv.n >= 1);
        for (size_t k = 0; k < p->apps[i].nnodes; k++)
            MUST(p->apps[i].nodes[k] < p->nhosts);
    }
    MUST(p->output_from < size && p->ports.low <= p->ports.high);
    if (place_ranks(p, NULL, &place, &e) < 0)
        MUST(p->rankmap && *e.text);     /* nothing else is found out there */
    else
        MUST(place.size == size);
    for (size_t i = 0; i < place.nruns; i++)
        MUST((size_t)place.runs[i].node < p->nhosts);
    placement_clear(&place);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = strndup((const char *)data, size), *rest = text, *word;
    char *argv[WORDS_MAX + 2] = { (char *)"mpiexec_lite" }, *envp[WORDS_MAX + 1] = { NULL };
    int argc = 1, vars = 0;
    FILE *out = fopen("/dev/null", "w");
    enum opts_result result;
    struct err e = { 0 };
    struct plan p;

    MUST(text && out);
    while (!is_huge(text) && argc <= WORDS_MAX && (word = strsep(&rest, "\n"))) {
        if (argc == 1 && vars < WORDS_MAX && *word != '-' && strchr(word, '='))
            envp[vars++] = word;
        else
            argv[argc++] = word;
    }
    result = opts_parse(&p, argc, argv, envp, out, &e);
    if (result == OPTS_RUN)
        check_plan(&p);
    if (result == OPTS_USAGE)
        MUST(*e.text && !strchr(e.text, '\n'));
    for (size_t i = 0; i < p.warnings.n; i++)
        MUST(!strchr(p.warnings.v[i], '\n'));
    plan_clear(&p);
    fclose(out);
    free(text);
    return 0;
}

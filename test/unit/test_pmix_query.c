/* test_pmix_query.c - pmix-query on a fake host: the tables, the page that describes them,
 * what qualifiers select, large tables in parts, surveys. */
#include "pmix_ext/commands.h"
#include "pmix_ext/info.h"
#include "pmix_ext/support.h"
#include "pmix_ext/value.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MUST assert_true
#include "test/unit/fake_ext.h"

/* The reply to a query, as one frame; it is to be freed. */
static char *ask(struct host *h, const char *queries)
{
    struct buf b = BUF_INIT;
    char *text;

    buf_printf(&b, "cmd=pmix-query;thrid=2;queries=%s;", queries);
    say(h, buf_bytes(&b), true);
    buf_clear(&b);
    text = frame(h);
    assert_non_null(text);
    assert_null(strstr(text, "more=TRUE"));
    return text;
}

/* Queries with nodeids 5 and 7 and so on: %s stands for the key, and the rest. */
#define QUERY(key, quals) "[{\"keys\":[\"" key "\"],\"qualifiers\":[" quals "]}]"
#define NSPACE(n) "{\"key\":\"pmix.nspace\",\"type\":\"PMIX_STRING\",\"value\":\"" n "\"}"
#define NODE(n)   "{\"key\":\"pmix.nodeid\",\"type\":\"PMIX_UINT32\",\"value\":" #n "}"
#define RANK_(n)  "{\"key\":\"pmix.rank\",\"type\":\"PMIX_PROC_RANK\",\"value\":" #n "}"
#define GOOD      "cmd=pmix-query-response;thrid=2;rc=0;status=0;results="
#define ENTRY(k)  "{\"query\":0,\"key\":\"" k "\","
#define PROCS(x)  "\"type\":\"PMIX_DATA_ARRAY\",\"value\":{\"type\":\"PMIX_PROC\",\"array\":[" \
                  x "]}}"
#define PROC(n,r) "{\"nspace\":\"" n "\",\"rank\":" #r "}"
#define NO(k, s)  GOOD "[" ENTRY(k) "\"status\":" #s "}];"

/* Job j has ranks 0..9, two a node on node 0..4 of five; k ranks 0..2. */
static const struct { const char *name, *query, *want; } cases[] = {
    { "R10-20: two nodes are one list, in order of node and rank",
      QUERY("pmix.lprocs", NODE(3) "," NODE(1)),
      GOOD "[" ENTRY("pmix.lprocs") PROCS(PROC("j", 2) "," PROC("j", 3) "," PROC("k", 2) ","
                                          PROC("j", 6) "," PROC("j", 7)) "];" },
    { "R10-20: a node that is given twice counts once",
      QUERY("pmix.lprocs", NODE(1) "," NODE(1) "," NSPACE("k")),
      GOOD "[" ENTRY("pmix.lprocs") PROCS(PROC("k", 2)) "];" },
    { "a rank that is given twice counts once",
      QUERY("pmix.procid", NSPACE("j") "," RANK_(4) "," RANK_(4) "," RANK_(1)),
      GOOD "[" ENTRY("pmix.procid") PROCS(PROC("j", 1) "," PROC("j", 4)) "];" },
    { "R10-21: the ranks of one job on a node as text",
      QUERY("pmix.lpeers", NODE(1) "," NSPACE("j")),
      GOOD "[" ENTRY("pmix.lpeers") "\"type\":\"PMIX_STRING\",\"value\":\"2,3\"}];" },
    { "R10-21: of two nodes as one list",
      QUERY("pmix.lpeers", NODE(4) "," NODE(0) "," NSPACE("j")),
      GOOD "[" ENTRY("pmix.lpeers") "\"type\":\"PMIX_STRING\",\"value\":\"0,1,8,9\"}];" },
    { "R10-18: a single value",
      QUERY("pmix.lrank", NSPACE("j") "," RANK_(7)),
      GOOD "[" ENTRY("pmix.lrank") "\"type\":\"PMIX_UINT16\",\"value\":1}];" },
    { "R10-18: or an array of it",
      QUERY("pmix.lrank", NSPACE("j") "," RANK_(7) "," RANK_(6)),
      GOOD "[" ENTRY("pmix.lrank") "\"type\":\"PMIX_DATA_ARRAY\",\"value\":{\"type\":"
      "\"PMIX_UINT16\",\"array\":[0,1]}}];" },
    { "a value of each of two jobs",
      QUERY("pmix.job.size", NSPACE("k") "," NSPACE("j")),
      GOOD "[" ENTRY("pmix.job.size") "\"type\":\"PMIX_DATA_ARRAY\",\"value\":{\"type\":"
      "\"PMIX_UINT32\",\"array\":[10,3]}}];" },
    { "behind the ranks of an older job",
      QUERY("pmix.nrank", NSPACE("k") "," RANK_(2)),
      GOOD "[" ENTRY("pmix.nrank") "\"type\":\"PMIX_UINT16\",\"value\":2}];" },
    { "R10-27: a host's name is of a rank, and of no wildcard",
      QUERY("pmix.hname", NSPACE("j") "," RANK_("wildcard")), NO("pmix.hname", -46) },
    { "R10-27: of a rank", QUERY("pmix.hname", NSPACE("j") "," RANK_(9)),
      GOOD "[" ENTRY("pmix.hname") "\"type\":\"PMIX_STRING\",\"value\":\"node4\"}];" },
    { "R10-27: the nodes of a job have a key of their own", QUERY("pmix.nlist", NSPACE("k")),
      GOOD "[" ENTRY("pmix.nlist") "\"type\":\"PMIX_STRING\",\"value\":\"node0,node1\"}];" },
    { "R10-27: and all nodes another", QUERY("pmix.alist", NSPACE("k")),
      GOOD "[" ENTRY("pmix.alist") "\"type\":\"PMIX_STRING\",\"value\":"
      "\"node0,node1,node2,node3,node4\"}];" },
    { "no such job", QUERY("pmix.job.size", NSPACE("x")), NO("pmix.job.size", -44) },
    { "no such node", QUERY("pmix.lprocs", NODE(5)), NO("pmix.lprocs", -46) },
    { "no such rank", QUERY("pmix.lrank", NSPACE("j") "," RANK_(10)), NO("pmix.lrank", -46) },
    { "a tool has to name the job", QUERY("pmix.job.size", ""), NO("pmix.job.size", -27) },
    { "of the scheduler", QUERY("pmix.qry.qlst", ""), NO("pmix.qry.qlst", -47) },
    { "no keys", "[{\"keys\":null}]", GOOD "[];" },
    { "R10-15: an unknown key is not found, and no failure of the request",
      "[{\"keys\":[\"pmix.what\",\"pmix.qry.ns\"]}]",
      GOOD "[" ENTRY("pmix.what") "\"status\":-46}," ENTRY("pmix.qry.ns")
      "\"type\":\"PMIX_STRING\",\"value\":\"j,k\"}];" },
    { "R10-17: an entry names its query, in their order",
      "[{\"keys\":[\"pmix.qry.psetnum\"]},{\"keys\":[\"pmix.qry.ns\",\"a\"]}]",
      GOOD "[" ENTRY("pmix.qry.psetnum") "\"type\":\"PMIX_SIZE\",\"value\":0},"
      "{\"query\":1,\"key\":\"pmix.qry.ns\",\"type\":\"PMIX_STRING\",\"value\":\"j,k\"},"
      "{\"query\":1,\"key\":\"a\",\"status\":-46}];" },
    { "R10-24: an unknown qualifier is passed over",
      QUERY("pmix.qry.psetnum", "{\"key\":\"x\",\"type\":\"PMIX_BOOL\",\"value\":true}"),
      GOOD "[" ENTRY("pmix.qry.psetnum") "\"type\":\"PMIX_SIZE\",\"value\":0}];" },
    { "R10-24: one that is required refuses the request",
      QUERY("pmix.qry.psetnum", "{\"key\":\"x\",\"type\":\"PMIX_BOOL\",\"value\":true,"
            "\"flags\":[\"required\"]}"),
      "cmd=pmix-query-response;thrid=2;rc=3;errmsg=queries[0]: the qualifier x is required, and "
      "not known;status=-47;" },
    { "a required one that means nothing for the key",
      QUERY("pmix.qry.psetnum", "{\"key\":\"pmix.nodeid\",\"type\":\"PMIX_UINT32\",\"value\":1,"
            "\"flags\":[\"required\"]}"), NO("pmix.qry.psetnum", -47) },
    { "R10-11: a rank as another type is refused",
      QUERY("pmix.lrank", "{\"key\":\"pmix.rank\",\"type\":\"PMIX_INT32\",\"value\":1}"),
      "cmd=pmix-query-response;thrid=2;rc=6;errmsg=queries[0]: the qualifier pmix.rank has type 9, "
      "want 40;status=-18;" },
    { "qualifiers of a key",
      QUERY("pmix.qry.jst", "{\"key\":\"pmix.qry.quals\",\"type\":\"PMIX_BOOL\",\"value\":true}"),
      GOOD "[" ENTRY("pmix.qry.jst") "\"type\":\"PMIX_STRING\",\"value\":\"pmix.qry.rfsh,"
      "pmix.nspace,pmix.timeout,pmix.qry.quals\"}];" },
};

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct host *h = start(10, 2, 5, 2);
        char *text = ask(h, cases[i].query);

        print_message("  %s\n", cases[i].name);
        assert_string_equal(text, cases[i].want);
        free(text);
        stop(h);
    }
}

/* --- large answers ----------------------------------------------------- */

#define TABLE "cmd=pmix-query;thrid=9;queries=" QUERY("pmix.qry.ptable", NSPACE("j")) ";"

/* Count the ranks of the frames that are there, from *next on; true: the last was among
 * them. */
static bool take_parts(struct host *h, int *next)
{
    bool last = false;
    char *text, want[40];

    while ((text = frame(h))) {
        assert_false(last);
        last = !strstr(text, "more=TRUE;");
        assert_true(strlen(text) < PARTS_SIZE + 1024);
        for (char *at = text; (at = strstr(at, "\"rank\":")); at++) {
            snprintf(want, sizeof want, "\"rank\":%d}", (*next)++);
            assert_memory_equal(at, want, strlen(want));
        }
        free(text);
    }
    return last;
}

enum { LARGE = 100000 };

static void test_large(void **state)
{
    struct host *h = start(LARGE, 100, LARGE / 100, 1);
    struct mallinfo2 m;
    bool last = false;
    int next = 0;
    long before;

    (void)state;
    h->slow = true;
    m = mallinfo2();
    before = (long)(m.uordblks + m.hblkhd);
    say(h, TABLE, true);
    for (int rounds = 0; !last; rounds++) {
        assert_true(rounds < LARGE);
        last = take_parts(h, &next);
        h->queued = 0;
        if (!last)
            conn_drained(h->tool, 0);
    }
    assert_int_equal(next, LARGE);
    assert_in_range(h->most, 1, LIMIT_BATCH + PARTS_SIZE + 1024);
    print_message("  %d ranks: at most %zu bytes on their way, %ld KiB allocated\n", next, h->most,
                  (h->memory - before) / 1024);
    assert_true(h->memory - before < 3 << 20);   /* the table is some 17 MB */
    stop(h);
}

/* However fast it reads, others have their turn. */
static void test_turns(void **state)
{
    struct host *h = start(LARGE, 100, LARGE / 100, 1);
    int next = 0, turns = 0;

    (void)state;
    say(h, TABLE, true);
    while (!take_parts(h, &next)) {
        assert_true(turn(h));
        turns++;
    }
    assert_int_equal(next, LARGE);
    assert_true(turns > 5);
    stop(h);
}

static void test_large_unnamed(void **state)
{
    struct host *h = start(LARGE, 100, LARGE / 100, 1);
    char *text;

    (void)state;
    say(h, "cmd=pmix-query;queries=" QUERY("pmix.qry.ptable", NSPACE("j")) ";", true);
    text = frame(h);
    assert_string_equal(text, "cmd=pmix-query-response;rc=8;errmsg=the reply has several parts: a "
                        "thrid is needed;status=-29;");
    free(text);
    assert_int_equal(h->sent.len, 0);
    stop(h);
}

/* The tool goes, or the job ends, in the middle of a table. */
static void test_large_cut(void **state)
{
    struct host *h = start(LARGE, 100, LARGE / 100, 1);
    int next = 0;

    (void)state;
    h->slow = true;
    say(h, TABLE, true);
    assert_false(take_parts(h, &next));
    queries_forget_job(h->ext, "j");
    h->njobs = 0;
    conn_drained(h->tool, 0);
    assert_true(take_parts(h, &next));
    assert_true(next > 0 && next < LARGE);
    stop(h);

    h = start(LARGE, 100, LARGE / 100, 1);
    h->slow = true;
    say(h, TABLE, true);
    stop(h);
}

/* --- surveys ----------------------------------------------------------- */

#define PID_OF(r) "cmd=pmix-query;thrid=2;queries=" QUERY("pmix.ppid", NSPACE("j") "," RANK_(r)) ";"

static void expect(struct host *h, const char *want)
{
    char *text = frame(h);

    assert_non_null(text);
    assert_string_equal(text, want);
    free(text);
}

static void test_survey(void **state)
{
    struct host *h = start(10, 2, 5, 1);

    (void)state;
    h->asks = 2;
    say(h, PID_OF(3), true);
    assert_int_equal(h->sent.len, 0);    /* it waits, and others do not */
    say(h, "cmd=pmix-query;thrid=5;queries=[{\"keys\":[\"pmix.qry.ns\"]}];", true);
    expect(h, "cmd=pmix-query-response;thrid=5;rc=0;status=0;results=[{\"query\":0,\"key\":"
           "\"pmix.qry.ns\",\"type\":\"PMIX_STRING\",\"value\":\"j\"}];");
    ext_seen(h->ext, h->survey, 3, &(struct fact_seen){ 77, PMIX_PROC_STATE_CONNECTED }, NULL);
    ext_seen(h->ext, h->survey, 10, &(struct fact_seen){ 78, PMIX_PROC_STATE_CONNECTED }, NULL);
    ext_survey_over(h->ext, h->survey);
    h->survey = 0;
    expect(h, GOOD "[" ENTRY("pmix.ppid") "\"type\":\"PMIX_PID\",\"value\":77}];");
    ext_survey_over(h->ext, 1);          /* late: nobody waits */
    stop(h);
}

#define STRING_ "\"type\":\"PMIX_STRING\",\"value\":"

/* A rank has one stack, which may have several threads; who has none says why. */
static void test_survey_stacks(void **state)
{
    struct host *h = start(4, 2, 2, 1);
    char *text;

    (void)state;
    h->asks = 2;
    say(h, "cmd=pmix-query;thrid=2;queries=[{\"keys\":[\"lite.proc.stacks\",\"lite.proc.threads\"],"
        "\"qualifiers\":[" NSPACE("j") "]}];",
        true);
    assert_int_equal(h->sent.len, 0);
    ext_seen_stack(h->ext, h->survey, 0, true, "main\nf\n\nside\n and more", 13);
    ext_seen_stack(h->ext, h->survey, 0, true, "twice", 5);
    ext_seen_stack(h->ext, h->survey, 1, false, "it is traced", 12);
    ext_seen_stack(h->ext, h->survey, 4, true, "none", 4);
    ext_seen_stack(h->ext, h->survey, -1, true, "none", 4);
    ext_survey_over(h->ext, h->survey);
    h->survey = 0;
    text = frame(h);
    assert_non_null(text);
    assert_non_null(strstr(text, "\"lite.stack\"," STRING_ "\"main\\u000af\"}"));
    assert_non_null(strstr(text, "\"lite.stack\"," STRING_ "\"main\\u000af\\u000a\\u000a"
                                 "side\\u000a\"}"));
    assert_non_null(strstr(text, "\"lite.stack.why\"," STRING_ "\"it is traced\""));
    assert_non_null(strstr(text, "\"value\":\"its node has not answered\""));
    assert_null(strstr(text, "none"));
    assert_null(strstr(text, "twice"));
    free(text);
    stop(h);
}

static void test_survey_time_limit(void **state)
{
    struct host *h = start(2, 2, 1, 1);
    char *text;

    (void)state;
    h->asks = 1;
    say(h, "cmd=pmix-query;thrid=2;queries=" QUERY("pmix.qry.ptable", NSPACE("j")) ";", true);
    assert_int_equal(h->sent.len, 0);
    assert_true(turn(h));
    assert_int_equal(h->survey, 0);
    text = frame(h);
    assert_non_null(strstr(text, "]},\"status\":-24}];"));
    free(text);
    say(h, "cmd=pmix-query;thrid=2;queries=" QUERY("pmix.qry.ptable", NSPACE("j")
        ",{\"key\":\"pmix.timeout\",\"type\":\"PMIX_INT\",\"value\":0}") ";", true);
    assert_int_equal(h->timer, 0);       /* for ever */
    assert_int_not_equal(h->survey, 0);
    stop(h);                             /* and the tool goes: op_stop is called */
}

static void test_survey_job_ends(void **state)
{
    struct host *h = start(4, 2, 2, 1);

    (void)state;
    h->asks = 1;
    say(h, PID_OF(3), true);
    h->njobs = 0;
    surveys_forget_job(h->ext, "j");
    queries_forget_job(h->ext, "j");
    assert_int_equal(h->survey, 0);
    assert_true(h->sent.len > 0);
    stop(h);
}

/* --- the tables -------------------------------------------------------- */

static const struct { const char *key; pmix_data_type_t type; } standard[] = {
#define ATTRIBUTE(name, type) { name, type },
#include "pmix_ext/attributes.def"
#undef ATTRIBUTE
};

static const pmix_data_type_t *standard_type(const char *key)
{
    for (size_t i = 0; i < sizeof standard / sizeof *standard; i++)
        if (!strcmp(standard[i].key, key))
            return &standard[i].type;
    return NULL;
}

/* Each key is there once, and has the standard's type. */
static void test_tables(void **state)
{
    (void)state;
    for (const struct info_key *k = info_keys; k->key; k++) {
        assert_non_null(standard_type(k->key));
        if (*standard_type(k->key) != PMIX_UNDEF)        /* of some it leaves that open */
            assert_int_equal(*standard_type(k->key), k->type);
        assert_ptr_equal(info_key(k->key), k);
    }
    for (const struct query_key *k = query_keys; k->key; k++) {
        bool one = k->each == EACH_ONCE, ours = strncmp(k->key, "pmix.", 5) != 0;
        /* PMIX_QUERY_SUPPORTED_QUALIFIERS is a qualifier as well, and a bool then. */
        bool twofold = !strcmp(k->key, PMIX_QUERY_SUPPORTED_QUALIFIERS);

        assert_ptr_equal(query_key(k->key), k);
        assert_true(one ? k->value && !k->add : k->add && !k->value);
        if (!ours && !twofold && k->value != query_not_ours) {
            assert_non_null(standard_type(k->key));
            assert_int_equal(*standard_type(k->key), one ? k->type : PMIX_DATA_ARRAY);
        }
    }
    for (const struct function_support *f = functions_supported; f->name; f++) {
        const char *key;
        pmix_data_type_t type;
        size_t n = 0;

        while (f->attribute(n, &key, &type)) {
            n++;
            if (strncmp(key, "pmix.", 5) != 0)
                continue;                /* ours */
            assert_non_null(standard_type(key));
            if (strncmp(f->name, "PMIx_Query", 10) && *standard_type(key) != PMIX_UNDEF)
                assert_int_equal(*standard_type(key), type);
        }
        assert_true(n > 0);
    }
    for (const struct qualifier *q = query_qualifiers; q->key; q++) {
        assert_non_null(standard_type(q->key));
        if (q->bit != Q_SUPPORTED)
            assert_int_equal(*standard_type(q->key), q->type);
    }
}

/* --- the page ---------------------------------------------------------- */

static char *read_page(void)
{
    FILE *f = fopen("pmix_ext/PROTOCOL.md", "r");
    char *text = calloc(1, 1 << 20);
    size_t n;

    assert_non_null(f);
    n = fread(text, 1, (1 << 20) - 1, f);
    assert_in_range(n, 1, (1 << 20) - 2);
    fclose(f);
    return text;
}

/* Whether a line of names, "a, b", has this one. */
static bool names(const char *line, const char *name)
{
    size_t n = strlen(name), end = strcspn(line, "\n");

    for (const char *at = line; at < line + end; at += strcspn(at, ",\n") + 1) {
        at += strspn(at, " ");
        if (!strncmp(at, name, n) && (at[n] == ',' || at[n] == '\n'))
            return true;
    }
    return false;
}

/* The section of a command, malloc'ed; NULL: there is none. */
static char *section(const char *page, const char *name)
{
    const char *end;

    for (const char *at = page; (at = strstr(at, "\n### ")); at++)
        if (names(at + 5, name)) {
            end = strstr(at + 5, "\n### ");
            return end ? strndup(at, (size_t)(end - at)) : strdup(at);
        }
    return NULL;
}

static void check_named(const char *text, const char *word, const char *command)
{
    if (!strstr(text, word))
        fail_msg("the section of %s does not name %s", command, word);
}

static void test_page_commands(void **state)
{
    char *page = read_page();

    (void)state;
    for (size_t i = 0; i < ext_command_count; i++) {
        const struct command *c = &ext_commands[i];
        const char *name = c->name[WIRE_2];
        char *text = section(page, name);

        if (!text)
            fail_msg("the page has no section '### %s'", name);
        for (int k = 0; c->args && *c->args[k].name[WIRE_2]; k++)
            check_named(text, c->args[k].name[WIRE_2], name);
        for (int k = 1; c->fields && *c->fields[k].name[WIRE_2][0]; k++)
            check_named(text, c->fields[k].name[WIRE_2][0], name);
        check_named(text, "    > cmd=", name);
        check_named(text, "    < cmd=", name);
        free(text);
    }
    for (const char *at = page; (at = strstr(at, "\n    > cmd=pmix-")); at++) {
        size_t n = strcspn(at + 11, ";"), i = 0;

        while (i < ext_command_count && (strlen(ext_commands[i].name[WIRE_2]) != n ||
                                         strncmp(ext_commands[i].name[WIRE_2], at + 11, n)))
            i++;
        if (i == ext_command_count)
            fail_msg("the page has '%.*s', which is no command", (int)n, at + 11);
    }
    free(page);
}

/* One line, or part of one, that says key and type. */
static void check_key(const char *text, const char *key, const char *type, const char *more)
{
    char want[120];

    snprintf(want, sizeof want, "%s %s%s", key, type, more);
    for (const char *at = text; (at = strstr(at, key)); at++) {
        const char *behind = at + strlen(key);
        size_t blanks = strspn(behind, " ");

        if (at[-1] == ' ' && blanks && !strncmp(behind + blanks, type, strlen(type)) &&
            !strncmp(behind + blanks + strlen(type), more, strlen(more)))
            return;
    }
    fail_msg("the page does not say '%s'", want);
}

static void test_page_keys(void **state)
{
    static const char letters[] = "RANJS";
    char *page = read_page(), *text = section(page, "pmix-query"), realms[8];

    (void)state;
    for (const struct qualifier *q = query_qualifiers; q->key; q++)
        if (q->bit == Q_ATTRIBUTES)
            check_named(text, q->key, "pmix-query");
        else
            check_key(text, q->key, value_type_name(q->type), " ");
    for (const struct query_key *k = query_keys; k->key; k++)
        if (k->value == query_not_ours)
            check_named(text, k->key, "pmix-query");
        else
            check_key(text, k->key, k->type == PMIX_DATA_ARRAY ? "PMIX_STRING *"
                                                               : value_type_name(k->type),
                      k->each == EACH_ONCE ? " " : " *");
    for (const struct info_key *k = info_keys; k->key; k++) {
        const char *type = k->type == PMIX_PROC_RANK ? "RANK" : value_type_name(k->type) + 5;
        size_t n = 0;

        realms[n++] = ' ';
        for (int r = 0; r < INFO_REALMS; r++)
            if (k->realms & 1u << r)
                realms[n++] = letters[r];
        realms[n] = '\0';
        check_key(text, k->key, type, realms);
    }
    free(text);
    free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases), cmocka_unit_test(test_large),
        cmocka_unit_test(test_turns), cmocka_unit_test(test_large_unnamed),
        cmocka_unit_test(test_large_cut), cmocka_unit_test(test_survey),
        cmocka_unit_test(test_survey_stacks),
        cmocka_unit_test(test_survey_time_limit), cmocka_unit_test(test_survey_job_ends),
        cmocka_unit_test(test_tables), cmocka_unit_test(test_page_commands),
        cmocka_unit_test(test_page_keys),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

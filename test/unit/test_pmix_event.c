/* test_pmix_event.c - pmix_ext/event, serve_event, event_system: whom an event reaches, who
 * wants it, and what is sent to ranks that have registered, byte by byte. */
#include "test/unit/fake_host.h"

#include "pmix_ext/pmix_ext_keys.h"
#include "pmix_ext/serve_event.h"

#include "test/unit/fake_memory.h"

/* --- who and where ----------------------------------------------------- */

/* "job 3@1": rank 3 of job, on node 1; ranks: * all, = local_node, & local_peers. */
struct spot { char nspace[40]; uint32_t rank; int at; };

static struct spot spot_of(const char *text)
{
    struct spot s = { .rank = PMIX_RANK_WILDCARD, .at = -1 };
    char rank[20] = "";

    assert_true(sscanf(text, "%39s %19[^@]@%d", s.nspace, rank, &s.at) >= 2);
    if (!strcmp(s.nspace, "any"))
        *s.nspace = '\0';
    s.rank = *rank == '=' ? PMIX_RANK_LOCAL_NODE : *rank == '&' ? PMIX_RANK_LOCAL_PEERS
             : *rank == '*' ? PMIX_RANK_WILDCARD : (uint32_t)strtoul(rank, NULL, 10);
    return s;
}

static struct place place_of(const struct spot *s)
{
    return (struct place){ s->nspace, s->rank, s->at };
}

static pmix_proc_t proc_of(const struct spot *s)
{
    pmix_proc_t p = { .rank = s->rank };

    memcpy(p.nspace, s->nspace, sizeof s->nspace);
    return p;
}

static const struct { const char *wanted, *who, *from; bool is; } alike[] = {
    { "a 1", "a 1@0", "a 0@0", true },   { "a 1", "a 2@0", "a 0@0", false },
    { "a 1", "b 1@0", "a 0@0", false },  { "any 1", "b 1@0", "a 0@0", true },
    { "a *", "a 7@3", "b 0@0", true },   { "a *", "b 7@3", "b 0@0", false },
    { "any *", "x 7@3", "b 0@0", true },
    { "any =", "b 7@1", "a 0@1", true }, { "any =", "b 7@2", "a 0@1", false },
    { "b =", "b 7@1", "a 0@1", true },   { "b =", "c 7@1", "a 0@1", false },
    { "any &", "a 7@1", "a 0@1", true }, { "any &", "b 7@1", "a 0@1", false },
    { "any &", "a 7@2", "a 0@1", false },
};

static void test_proc_is(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OF(alike); i++) {
        struct spot wanted = spot_of(alike[i].wanted), who = spot_of(alike[i].who);
        struct spot from = spot_of(alike[i].from);
        struct place p = place_of(&who), f = place_of(&from);
        pmix_proc_t w = proc_of(&wanted);

        print_message("  %s, %s\n", alike[i].wanted, alike[i].who);
        assert_int_equal(proc_is(&w, &p, &f), alike[i].is);
    }
}

static const struct { pmix_data_range_t range; const char *listed, *source, *to; bool is; }
reach[] = {
    { PMIX_RANGE_UNDEF, NULL, "a 0@0", "b 1@2", true },
    { PMIX_RANGE_SESSION, NULL, "a 0@0", "b 1@2", true },
    { PMIX_RANGE_GLOBAL, NULL, "a 0@0", "b 1@2", true },
    { PMIX_RANGE_RM, NULL, "a 0@0", "a 1@0", false },
    { PMIX_RANGE_LOCAL, NULL, "a 0@0", "b 1@0", true },
    { PMIX_RANGE_LOCAL, NULL, "a 0@0", "a 1@1", false },
    { PMIX_RANGE_NAMESPACE, NULL, "a 0@0", "a 1@1", true },
    { PMIX_RANGE_NAMESPACE, NULL, "a 0@0", "b 1@0", false },
    { PMIX_RANGE_PROC_LOCAL, NULL, "a 0@0", "a 1@0", false },
    { PMIX_RANGE_PROC_LOCAL, NULL, "a 0@0", "a 0@0", true },
    { PMIX_RANGE_CUSTOM, "b 1", "a 0@0", "b 1@2", true },
    { PMIX_RANGE_CUSTOM, "b 1", "a 0@0", "b 2@2", false },
    { PMIX_RANGE_CUSTOM, "b *", "a 0@0", "b 2@2", true },
};

static void test_reaches(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OF(reach); i++) {
        struct spot source = spot_of(reach[i].source), to = spot_of(reach[i].to);
        struct spot listed = spot_of(reach[i].listed ? reach[i].listed : "x 0");
        pmix_proc_t target = proc_of(&listed);
        struct event ev = { .range = reach[i].range, .at = source.at,
                            .targets = { &target, reach[i].listed != NULL } };
        struct place p = place_of(&to);

        print_message("  range %d from %s to %s\n", reach[i].range, reach[i].source,
                      reach[i].to);
        ev.source = proc_of(&source);
        assert_int_equal(event_reaches(&ev, &p), reach[i].is);
    }
}

static const struct {
    int code, status;                    /* 0: default */
    bool non_default;
    const char *about, *affected;        /* the registration's; the event's */
    const char *job;                     /* the source of one that the launcher tells */
    pmix_data_range_t from;
    bool is;
} wants[] = {
    { -1, -1, .is = true }, { -1, -2, .is = false }, { 0, -2, .is = true },
    { 0, -2, .non_default = true }, { -2, -2, .non_default = true, .is = true },
    { -1, -1, .about = "a 1", .is = true },      /* of an event about nobody */
    { -1, -1, .affected = "a 1", .is = true },
    { -1, -1, .about = "a 1", .affected = "a 1", .is = true },
    { -1, -1, .about = "a 1", .affected = "a 2" },
    { -1, -1, .about = "a *", .affected = "a 2", .is = true },
    { -1, -1, .about = "a 1", .affected = "a *", .is = true },
    { -1, -1, .about = "b 1", .affected = "a *" },
    { -1, -1, .about = "a *", .job = "a *", .is = true },
    { -1, -1, .about = "a 1", .job = "a *", .is = true },
    { -1, -1, .about = "b *", .job = "a *" },
    { -1, -1, .about = "b *", .job = "a 0", .is = true },
    { -1, -1, .from = PMIX_RANGE_NAMESPACE, .is = true },
    { -1, -1, .from = PMIX_RANGE_LOCAL },
};

static void test_wanted(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OF(wants); i++) {
        struct spot about = spot_of(wants[i].about ? wants[i].about : "x 0");
        struct spot hit = spot_of(wants[i].affected ? wants[i].affected : "x 0");
        struct spot source = spot_of(wants[i].job ? wants[i].job : "a 0@1"), me = spot_of("a 1@0");
        pmix_proc_t a = proc_of(&about), h = proc_of(&hit);
        pmix_status_t code = wants[i].code;
        struct registration r = { .codes = &code, .ncodes = code != 0, .range = wants[i].from,
                                  .affected = { &a, wants[i].about != NULL } };
        struct event ev = { .status = wants[i].status, .non_default = wants[i].non_default,
                            .source = proc_of(&source), .at = source.at,
                            .launcher = wants[i].job != NULL,
                            .affected = { &h, wants[i].affected != NULL } };
        struct place p = place_of(&me);

        print_message("  row %zu\n", i);
        assert_int_equal(event_wanted(&ev, &r, &p), wants[i].is);
    }
}

/* --- over the wire ----------------------------------------------------- */

static const char *op_hostname(void *host)
{
    (void)host;
    return "node0";
}

static double op_now(void *host)
{
    (void)host;
    return 1000.5;
}

/* Rank 2 is on another node. */
static bool fact_job(void *host, size_t i, struct fact_job *out)
{
    (void)host;
    *out = (struct fact_job){ .nspace = i ? "job1" : "job0", .size = i ? 1 : 3 };
    return i < 2;
}

static bool fact_run(void *host, const void *job, size_t i, struct fact_run *out)
{
    (void)host;
    (void)job;
    *out = i ? (struct fact_run){ 1, 2, 1 } : (struct fact_run){ 0, 0, 2 };
    return i < 2;
}

static void op_output_room(void *host)
{
    (void)host;
}

static const struct fact_ops facts = { .job = fact_job, .run = fact_run };
static const struct ext_ops ext_ops = { .hostname = op_hostname, .now = op_now,
                                        .facts = &facts,
                                        .output_room = op_output_room };

struct bench {
    struct fake f;
    struct ext *x;
};

static bool bench_open(struct bench *b, const struct story *s)
{
    struct err e = { 0 };

    if (!fake_open(&b->f, s))
        return false;
    b->x = ext_new(b->f.server, &ext_ops, b, &e);
    return b->x != NULL;
}

static void bench_close(struct bench *b)
{
    struct ext *x = b->x;

    for (int i = 0; i < FAKE_LINKS; i++) {
        conn_free(b->f.link[i].conn);
        b->f.link[i].conn = NULL;
    }
    ext_free(x);
    fake_close(&b->f);
}

static void steps(struct bench *b, const char *const *list)
{
    for (; *list; list++) {
        if (!b->f.careless)
            fake_show(*list);
        fake_step(&b->f, *list, SIZE_MAX);
    }
}

#define STEPS(b, ...) steps(b, (const char *const[]){ __VA_ARGS__, NULL })
#define REGISTERED(id) "cmd=pmix-event-register-response;thrid=1;rc=0;status=0;id=" id ";"
#define NOTIFIED "cmd=pmix-notify-response;thrid=1;rc=0;status=0;"
#define EVENT(status, source, infos, ids) "cmd=pmix-event;status=" status ";source=" source \
    ";infos=" infos ";ids=" ids ";"
#define FROM(job, rank) "{\"nspace\":\"" job "\",\"rank\":" rank "}"
#define INT(key, n) "{\"key\":\"" key "\",\"type\":\"PMIX_INT\",\"value\":" n "}"

static const struct story three = { .size = 3, .size2 = 1 };

static void test_dialogue(void **state)
{
    struct bench *b = malloc(sizeof *b);

    (void)state;
    assert_true(bench_open(b, &three));
    STEPS(b, "0+2w", "1+2w", "2+2w",
          "0} cmd=pmix-event-register;thrid=1;codes=[-5,-6];", "0{ " REGISTERED("1"),
          "0} cmd=pmix-event-register;thrid=1;codes=[-6];", "0{ " REGISTERED("2"),
          "2} cmd=pmix-event-register;thrid=1;", "2{ " REGISTERED("1"),
          "1} cmd=pmix-notify;thrid=1;status=-6;infos=[" INT("a;;b", "7") "];",
          "1{ " NOTIFIED,
          "0{ " EVENT("-6", FROM("job0", "1"), "[" INT("a;;b", "7") "]", "[1,2]"),
          "2{ " EVENT("-6", FROM("job0", "1"), "[" INT("a;;b", "7") "]", "[1]"),
          "1} cmd=pmix-notify;thrid=1;status=-5;range=2;", "1{ " NOTIFIED,
          "0{ " EVENT("-5", FROM("job0", "1"), "[]", "[1]"), "2=",
          /* kept: what reached it, and not from itself */
          "1} cmd=pmix-event-register;thrid=1;codes=[-6];", "1{ " REGISTERED("1"), "1=",
          "2} cmd=pmix-event-register;thrid=1;codes=[-6,-5];", "2{ " REGISTERED("2"),
          "2{ " EVENT("-6", FROM("job0", "1"), "[" INT("a;;b", "7") "]", "[2]"), "2=");
    bench_close(b);
    free(b);
}

#define STAMP(seq) "{\"key\":\"pmix.evtstamp\",\"type\":\"PMIX_TIME\",\"value\":1000}," \
    "{\"key\":\"lite.event.seq\",\"type\":\"PMIX_UINT64\",\"value\":" seq "}"
#define HARMLESS "{\"key\":\"pmix.evnondef\",\"type\":\"PMIX_BOOL\",\"value\":true}"
#define WHO(job, rank) "{\"key\":\"pmix.evproc\",\"type\":\"PMIX_PROC\",\"value\":" \
    FROM(job, rank) "}"

/* Another job's ranks hear of it once it is connected; default handlers of failures only. */
static void test_launcher(void **state)
{
    struct bench *b = malloc(sizeof *b);
    struct err e = { 0 };

    (void)state;
    assert_true(bench_open(b, &three));
    STEPS(b, "0+2w", "A+2w", "0} cmd=pmix-event-register;thrid=1;", "0{ " REGISTERED("1"),
          "0} cmd=pmix-event-register;thrid=1;codes=[-191];", "0{ " REGISTERED("2"),
          "A} cmd=pmix-event-register;thrid=1;", "A{ " REGISTERED("1"));
    ext_job_started(b->x, "job0");
    STEPS(b, "0{ " EVENT("-191", FROM("job0", "\"wildcard\""),
                         "[{\"key\":\"pmix.nspace\",\"type\":\"PMIX_STRING\",\"value\":\"job0\"},"
                         STAMP("1") "," HARMLESS "]", "[2]"), "A=");
    ext_rank_aborts(b->x, &(struct ext_rank){ "job0", 1, 0 }, 3, "a\xff;");
    STEPS(b, "0{ " EVENT("-8", FROM("job0", "1"), "[" WHO("job0", "1") ","
                         INT("pmix.exit.code", "3") ",{\"key\":\"pmix.evtext\",\"type\":"
                         "\"PMIX_STRING\",\"value\":\"a\\\\xFF;;\"}," STAMP("2") "]", "[1]"), "A=");
    assert_int_equal(job_connect(b->f.job[0], b->f.job[1], &e), 0);
    ext_job_ended(b->x, "job0", 3);
#define FAILED(seq) "[{\"key\":\"pmix.nspace\",\"type\":\"PMIX_STRING\",\"value\":\"job0\"},{\"key\":" \
    "\"pmix.job.term.status\",\"type\":\"PMIX_STATUS\",\"value\":-182}," \
    INT("pmix.exit.code", "3") "," WHO("job0", "1") "," STAMP(seq)
    STEPS(b, "0{ " EVENT("-182", FROM("job0", "\"wildcard\""), FAILED("3") "]", "[1]"), "0=",
          "A{ " EVENT("-182", FROM("job0", "\"wildcard\""), FAILED("3") "]", "[1]"), "A=",
          "0} cmd=pmix-event-register;thrid=1;codes=[-145];", "0{ " REGISTERED("3"),
          "0{ " EVENT("-145", FROM("job0", "\"wildcard\""), FAILED("4") "," HARMLESS "]", "[3]"));
    bench_close(b);
    free(b);
}

/* Who does not read: dropped, counted, told before the next. */
static void test_missed(void **state)
{
    struct bench *b = malloc(sizeof *b);
    struct conn *c;

    (void)state;
    assert_true(bench_open(b, &three));
    STEPS(b, "0+2w", "1+2w", "0} cmd=pmix-event-register;thrid=1;codes=[-5];",
          "0{ " REGISTERED("1"), "0} cmd=pmix-event-register;thrid=1;codes=[-6];",
          "0{ " REGISTERED("2"));
    c = b->f.link[0].conn;
    c->queued = EVENTS_QUEUED;           /* as if the host had so much to write */
    STEPS(b, "1} cmd=pmix-notify;thrid=1;status=-6;", "1{ " NOTIFIED,
          "1} cmd=pmix-notify;thrid=1;status=-6;", "1{ " NOTIFIED,
          "1} cmd=pmix-notify;thrid=1;status=-7;", "1{ " NOTIFIED, "0=");
#define MISSED(n, ids) EVENT("-2901", FROM("node0", "0"), "[{\"key\":\"events.missed\",\"type\":" \
    "\"PMIX_UINT64\",\"value\":" n "}]", ids)
    c->queued = EVENTS_QUEUED / 2;
    STEPS(b, "1} cmd=pmix-notify;thrid=1;status=-5;", "1{ " NOTIFIED, "0{ " MISSED("2", "[2]"),
          "0{ " EVENT("-5", FROM("job0", "1"), "[]", "[1]"), "0=");
    c->queued = EVENTS_QUEUED;
    STEPS(b, "1} cmd=pmix-notify;thrid=1;status=-5;", "1{ " NOTIFIED, "0=");
    conn_drained(c, 0);
    STEPS(b, "0{ " MISSED("1", "[1]"), "0=");
    bench_close(b);
    free(b);
}

/* --- memory ------------------------------------------------------------ */

static void talk(struct bench *b)
{
    STEPS(b, "0+2w", "1+2w", "0} cmd=pmix-event-register;thrid=1;codes=[-5,-6];",
          "0} cmd=pmix-event-register;thrid=1;infos=[" WHO("job0", "1") "];",
          "1} cmd=pmix-notify;thrid=1;status=-6;range=6;infos=[{\"key\":\"pmix.evrange\",\"type\":"
          "\"PMIX_PROC\",\"value\":" FROM("job0", "0") "}];",
          "1} cmd=pmix-event-register;thrid=1;codes=[-6];",
          "1} cmd=pmix-job-control;thrid=1;directives=[{\"key\":\"pmix.jctrl.pause\",\"type\":"
          "\"PMIX_BOOL\",\"value\":true}];",
          "1} cmd=pmix-monitor;thrid=1;monitor={\"key\":\"pmix.monitor.mbeat\",\"type\":"
          "\"PMIX_BOOL\",\"value\":true};");
    ext_rank_aborts(b->x, &(struct ext_rank){ "job0", 1, 0 }, 3, "why");
    ext_job_ended(b->x, "job0", 3);
}

static void tell_all(struct bench *b)
{
    memset(b, 0, sizeof *b);
    if (bench_open(b, &three)) {
        b->f.careless = true;
        talk(b);
    }
    memory_end();                        /* what follows is the test's own */
    bench_close(b);
}

/* Each allocation fails in turn: no crash, and nothing is left over. */
static void test_no_memory(void **state)
{
    struct bench *b;
    long before;

    (void)state;
    memory_begin();
    b = malloc(sizeof *b);
    assert_non_null(b);
    tell_all(b);                         /* what is made once, for ever */
    before = memory_live;
    for (long k = 0; k < 5000; k++) {
        memory_after(k);
        tell_all(b);
        assert_int_equal(memory_live, before);
        if (!memory_hit)
            break;
        assert_true(k < 4999);
    }
    free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_proc_is), cmocka_unit_test(test_reaches),
        cmocka_unit_test(test_wanted), cmocka_unit_test(test_dialogue),
        cmocka_unit_test(test_launcher), cmocka_unit_test(test_missed),
        cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests_name("pmix events", tests, NULL, NULL);
}

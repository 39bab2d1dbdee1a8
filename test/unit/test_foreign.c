/* test_foreign.c - pmi2/foreign and copy: jobs of several launchers, with the links between
 * them in memory.
 *
 * The launchers are X (jobs job0 and job1), Y (job2, job3) and Z (job4, job5), each with a
 * fake host.  A step begins with
 *
 *     X Y Z    then a step of fake_host.h, of that launcher: 0.. is a rank of its first
 *              job, A.. of its second
 *     =XY      X has asked for a launcher, the oldest question first: it is Y, and there
 *              is a link now; =X-: it was not found
 *     #XY      the oldest link between them is cut
 *     (  )     from here to there, no message arrives
 *     -X1      that job of X (0: the first) has ended; fX1 7: it has failed, with 7
 *     !X a 7   X hears that a (an id) has failed with 7, and forgets it; !X: nothing failed
 *     ?X a     X looks for the launcher of a; ?X: for none
 *     >XY m    this message comes from X to Y by the oldest link; >>: it makes no sense
 *
 * At the end everything that was sent to a rank must have been named. */
#include "test/unit/fake_host.h"

#include "pmi2/core.h"
#include "test/unit/fake_memory.h"

enum { LAUNCHERS = 3, ASKS = 8, LINES = 8 };

struct line;

struct end {                     /* of a link; its launcher's side */
    struct line *line;
    struct far  *far;            /* NULL: cut */
    int          at;             /* which launcher */
    struct buf   sent;           /* frames on their way to the other end */
};

struct line { struct end end[2]; bool broken; };

struct world {
    struct fake     f[LAUNCHERS];
    struct far_ask *asks[LAUNCHERS][ASKS];
    size_t          nasks[LAUNCHERS];
    struct line     lines[LINES];
    size_t          nlines;
    bool            held, careless;      /* careless: see fake_host.h */
};

static struct world world;

static int launcher(char name) { return name - 'X'; }

/* --- the hosts --------------------------------------------------------- */

static bool take_introduce(void *host, struct far_ask *a)
{
    size_t at = (size_t)((struct fake *)host - world.f);

    assert_true(world.nasks[at] < ASKS);
    world.asks[at][world.nasks[at]++] = a;
    return true;
}

static void take_far(void *host, void *link, const char *frame, size_t len)
{
    struct end *from = link;

    (void)host;
    assert_true(len > 0 || world.careless);
    if (from->far)
        buf_add(&from->sent, frame, len);
    from->line->broken |= !len || from->sent.failed;
}

static int deliver(struct end *to, char *text, size_t len, struct err *e)
{
    struct msg m;
    int rc;

    msg_init(&m);
    rc = wire_v2.parse(&m, text, len, e);
    if (rc == 0)
        rc = far_input(to->far, &m, e);
    msg_clear(&m);
    return rc;
}

static void cut(struct line *l)
{
    for (int i = 0; i < 2; i++) {
        struct far *far = l->end[i].far;

        l->end[i].far = NULL;
        if (far)
            far_free(far);
        buf_clear(&l->end[i].sent);
    }
}

/* The first frame that is on its way there.  False: there is none. */
static bool deliver_one(struct end *from, struct end *to)
{
    char length[7] = "", *copy;
    struct err e = { 0 };
    size_t n;

    if (!from->sent.len || !to->far)
        return false;
    memcpy(length, buf_bytes(&from->sent), 6);
    n = strtoul(length, NULL, 10);
    copy = malloc(n + 1);
    if (copy) {
        memcpy(copy, buf_bytes(&from->sent) + 6, n);
        copy[n] = '\0';
    }
    buf_consume(&from->sent, n + 6);
    if (!copy || deliver(to, copy, n, &e) < 0) {
        if (!world.careless)
            fail_msg("a message makes no sense: %s", e.text);
        from->line->broken = true;
    }
    free(copy);
    return true;
}

static void pump(void)
{
    bool more = !world.held;

    while (more) {
        more = false;
        for (size_t i = 0; i < world.nlines; i++)
            if (world.lines[i].broken)
                cut(&world.lines[i]);
            else for (int s = 0; s < 2; s++)
                more |= deliver_one(&world.lines[i].end[s], &world.lines[i].end[!s]);
    }
}

static struct line *line_between(char a, char b)
{
    for (size_t i = 0; i < world.nlines; i++) {
        struct end *end = world.lines[i].end;

        if (end[0].far && ((end[0].at == launcher(a) && end[1].at == launcher(b)) ||
                           (end[0].at == launcher(b) && end[1].at == launcher(a))))
            return &world.lines[i];
    }
    if (!world.careless)
        fail_msg("no link between %c and %c", a, b);
    return NULL;
}

static struct line *new_line(int a, int b)
{
    struct line *l = &world.lines[world.nlines++];

    assert_true(world.nlines <= LINES);
    for (int i = 0; i < 2; i++) {
        l->end[i] = (struct end){ .line = l, .at = i ? b : a };
        l->end[i].far = far_new(world.f[l->end[i].at].server, &l->end[i]);
    }
    if (!l->end[0].far || !l->end[1].far) {
        assert_true(world.careless);
        cut(l);
    }
    return l;
}

/* --- steps ------------------------------------------------------------- */

static void answer_ask(int at, char who)
{
    struct far_ask *a = world.asks[at][0];

    assert_true(world.nasks[at] > 0 || world.careless);
    if (!world.nasks[at])
        return;
    memmove(world.asks[at], world.asks[at] + 1, --world.nasks[at] * sizeof a);
    far_found(a, who == '-' ? NULL : new_line(at, launcher(who))->end[0].far);
}

static void check_failed(int at, const char *text)
{
    char id[64] = "";
    int status = 0, want = 0;
    struct job *x = server_failed(world.f[at].server, &status);

    if (world.careless) {
        if (x)
            server_forget(x);
        return;
    }
    if (!*text) {
        assert_null(x);
        return;
    }
    assert_int_equal(sscanf(text, " %63s %d", id, &want), 2);
    assert_non_null(x);
    assert_string_equal(job_id(x), id);
    assert_int_equal(status, want);
    server_forget(x);
}

static void check_asked(int at, const char *text)
{
    if (world.careless)
        return;
    assert_int_equal(world.nasks[at], *text ? 1 : 0);
    if (*text)
        assert_string_equal(far_job(world.asks[at][0]), text + 1);
}

static void end_job(int at, int slot)
{
    struct fake *f = &world.f[at];

    for (int i = 10 * slot; i < 10 * slot + 10; i++) {
        conn_free(f->link[i].conn);
        f->link[i].conn = NULL;
        buf_reset(&f->link[i].sent);
    }
    server_remove_job(f->job[slot]);
    f->job[slot] = NULL;
}

static void message(const char *step)
{
    bool wrong = step[1] == '>';
    const char *text = step + 4 + wrong;
    struct line *l = line_between(step[1 + wrong], step[2 + wrong]);
    struct err e = { 0 };
    char *copy = l ? strdup(text) : NULL;
    int rc;

    if (!copy)
        return;
    rc = deliver(&l->end[l->end[0].at == launcher(step[1 + wrong])], copy, strlen(copy), &e);
    if (!world.careless)
        assert_int_equal(rc, wrong ? -1 : 0);
    free(copy);
}

static void run_step(const char *step)
{
    int at = launcher(step[1]);
    struct line *l;

    switch (*step) {
    case '=': answer_ask(at, step[2]); break;
    case '#':
        if ((l = line_between(step[1], step[2])))
            cut(l);
        break;
    case '(': world.held = true; break;
    case ')': world.held = false; break;
    case '-': end_job(at, step[2] - '0'); break;
    case 'f': job_failed(world.f[at].job[step[2] - '0'], atoi(step + 4)); break;
    case '!': check_failed(at, step + 2); break;
    case '?': check_asked(at, step + 2); break;
    case '>': message(step); break;
    default:  fake_step(&world.f[launcher(*step)], step + 1, SIZE_MAX);
    }
    pump();
}

static void open_world(void)
{
    static const char *const ids[LAUNCHERS][2] = { { "job0", "job1" }, { "job2", "job3" },
                                                   { "job4", "job5" } };

    memset(&world, 0, sizeof world);
    for (int i = 0; i < LAUNCHERS; i++) {
        struct fake *f = &world.f[i];

        assert_true(fake_open(f, &(struct story){ .size = 2, .size2 = i ? 0 : 2 }));
        f->server->ops.introduce = take_introduce;
        f->server->ops.far_send = take_far;
        for (int k = 0; i && k < 2; k++) {
            if (!k)
                server_remove_job(f->job[0]);
            f->job[k] = fake_job(f, ids[i][k], 2, 0, NULL, NULL);
            assert_non_null(f->job[k]);
        }
    }
}

static void close_world(void)
{
    for (size_t i = 0; i < world.nlines; i++)
        if (world.lines[i].end[0].far)
            cut(&world.lines[i]);
    for (int i = 0; i < LAUNCHERS; i++) {
        if (!world.careless)
            fake_nothing_left(&world.f[i]);
        fake_close(&world.f[i]);
    }
}

/* --- stories ----------------------------------------------------------- */

#define CONNECT(r, id)    r "} cmd=job-connect;jobid=" id ";"
#define CONNECTED(r)      r "{ cmd=job-connect-response;rc=0;kvscopy=FALSE;"
#define COPY(r)           r "{ cmd=job-connect-response;rc=0;kvscopy=TRUE;"
#define NO_CONNECT(r, id) r "{ cmd=job-connect-response;rc=3;errmsg=there is no job " id \
                          " here;kvscopy=FALSE;"
#define DISCONNECT(r, id) r "} cmd=job-disconnect;jobid=" id ";", \
    r "{ cmd=job-disconnect-response;rc=0;"
#define PUT(r, k, v) r "} cmd=kvs-put;key=" k ";value=" v ";", r "{ cmd=kvs-put-response;rc=0;"
#define GET(r, id, k) r "} cmd=kvs-get;jobid=" id ";key=" k ";"
#define GOT(r, v)     r "{ cmd=kvs-get-response;rc=0;found=TRUE;value=" v ";"
#define MISS(r)       r "{ cmd=kvs-get-response;rc=0;found=FALSE;"
#define NO_GET(r, id) r "{ cmd=kvs-get-response;rc=3;errmsg=there is no job " id " here;"
#define APART(r, id)  r "{ cmd=kvs-get-response;rc=3;errmsg=job " id " is not connected to this one;"
#define PART(r, id, at, last, data) r "} cmd=kvs-copy;jobid=" id ";index=" at ";last=" last \
    ";data=" data ";"
#define TAKEN(r)      r "{ cmd=kvs-copy-response;rc=0;"
#define NOT_TAKEN(r, rc, why) r "{ cmd=kvs-copy-response;rc=" rc ";errmsg=" why ";"
/* job0 and job2 are connected, by a link that X has asked for. */
#define LINKED "X0+2", "Y0+2", CONNECT("X0", "job2"), "?X job2", "=XY", CONNECTED("X0")

static const struct {
    const char *name;
    const char *steps[48];
} stories[] = {
    { "a link: both read each other's keys, and all ranks do", { LINKED, PUT("Y0", "k", "v2;;"),
        GET("X0", "job2", "k"), GOT("X0", "v2;;"), "X1+1", "X1> cmd=get kvsname=job2 key=k\n",
        "X1< cmd=get_result rc=0 value=v2;\n", PUT("X0", "k", "v0"), GET("Y0", "job0", "k"),
        GOT("Y0", "v0"), GET("Y0", "job0", "none"), MISS("Y0") } },
    { "connecting again succeeds at once, on both sides", { LINKED, CONNECT("X0", "job2"),
        CONNECTED("X0"), CONNECT("Y0", "job0"), CONNECTED("Y0"), "?X", "?Y" } },
    { "the other launcher is not found: the client is to copy", { "X0+2w", CONNECT("X0", "job2"),
        "X0=", "=X-", COPY("X0") } },
    { "... and one that cannot hears an error", { "X0+2", CONNECT("X0", "job2"), "=X-",
        NO_CONNECT("X0", "job2") } },
    { "what is no job id is not looked for", { "X0+2w", CONNECT("X0", ""), NO_CONNECT("X0", ""),
        CONNECT("X0", "a b"), NO_CONNECT("X0", "a b"), CONNECT("X0", "a=b"),
        NO_CONNECT("X0", "a=b"), "?X" } },
    { "the job has ended meanwhile", { "X0+2w", CONNECT("X0", "job9"), "=XY",
        NO_CONNECT("X0", "job9") } },
    { "the link is lost before it is connected", { "X0+2w", "(", CONNECT("X0", "job2"), "=XY",
        "#XY", ")", COPY("X0"), "!Y" } },
    { "both look for each other at the same time: two links, one connection", { "X0+2", "Y0+2",
        "(", CONNECT("X0", "job2"), CONNECT("Y0", "job0"), "=XY", "=YX", ")", CONNECTED("X0"),
        CONNECTED("Y0"), PUT("X0", "k", "v0"), GET("Y0", "job0", "k"), GOT("Y0", "v0"),
        "-X0", "#XY", "!Y", "#XY", "!Y" } },
    { "... and one hears no, after the other has connected both", { "X0+2w", "Y0+2w",
        CONNECT("X0", "job2"), CONNECT("Y0", "job0"), "=XY", CONNECTED("X0"), "=Y-",
        CONNECTED("Y0") } },
    { "another job by a link that is there", { LINKED, "XA+2", CONNECT("XA", "job2"),
        CONNECTED("XA"), "?X", PUT("Y0", "k", "v"), GET("XA", "job2", "k"), GOT("XA", "v") } },
    { "a job that is not connected reads nothing", { LINKED, "XA+2", PUT("Y0", "k", "v"),
        GET("XA", "job2", "k"), APART("XA", "job2"), GET("XA", "job3", "k"),
        NO_GET("XA", "job3"), "YA+2", GET("YA", "job0", "k"), APART("YA", "job0") } },
    { "... not even one that is connected to a third", { LINKED, "XA+2", "Z0+2",
        CONNECT("XA", "job4"), "=XZ", CONNECTED("XA"), PUT("Y0", "k", "v"),
        GET("XA", "job2", "k"), NO_GET("XA", "job2") } },
    { "by way of a job that is connected there, or here", { LINKED, "XA+2", "YA+2",
        PUT("YA", "k", "v3"), PUT("XA", "k", "v1"), GET("X0", "job3", "k"), NO_GET("X0", "job3"),
        CONNECT("Y0", "job3"), CONNECTED("Y0"), GET("X0", "job3", "k"), GOT("X0", "v3"),
        CONNECT("X0", "job1"), CONNECTED("X0"), GET("XA", "job3", "k"), GOT("XA", "v3"),
        GET("YA", "job1", "k"), GOT("YA", "v1"), GET("YA", "job1", "none"), MISS("YA"),
        DISCONNECT("XA", "job0"), GET("YA", "job1", "k"), NO_GET("YA", "job1") } },
    { "two launchers are asked, one after the other", { LINKED, "Z0+2", "ZA+2",
        CONNECT("X0", "job4"), "=XZ", CONNECTED("X0"), CONNECT("ZA", "job4"), CONNECTED("ZA"),
        PUT("ZA", "k", "v5"), GET("X0", "job5", "k"), GOT("X0", "v5"), GET("X0", "job9", "k"),
        NO_GET("X0", "job9") } },
    { "disconnecting: both are apart, and may connect again", { LINKED, PUT("Y0", "k", "v"),
        DISCONNECT("X0", "job2"), GET("X0", "job2", "k"), NO_GET("X0", "job2"),
        GET("Y0", "job0", "k"), NO_GET("Y0", "job0"),
        "Y0} cmd=job-disconnect;jobid=job0;",
        "Y0{ cmd=job-disconnect-response;rc=3;errmsg=there is no job job0 here;",
        CONNECT("X0", "job2"), "=XY", CONNECTED("X0"), GET("X0", "job2", "k"), GOT("X0", "v") } },
    { "a job ends: it is forgotten", { LINKED, "-Y0", "!X", GET("X0", "job2", "k"),
        NO_GET("X0", "job2"), "#XY", "!X" } },
    { "a job ends while it is asked", { LINKED, "(", GET("X0", "job2", "k"), "-Y0", ")",
        NO_GET("X0", "job2") } },
    { "who asks ends first", { LINKED, PUT("Y0", "k", "v"), "(", GET("X0", "job2", "k"), "-X0",
        ")", "!Y", GET("Y0", "job0", "k"), NO_GET("Y0", "job0") } },
    { "who connects ends first", { "X0+2", CONNECT("X0", "job2"), "-X0", "=XY", "Y0+2",
        GET("Y0", "job0", "k"), NO_GET("Y0", "job0") } },
    { "who connects ends on the way", { "X0+2", "(", CONNECT("X0", "job2"), "=XY", "-X0", ")",
        "Y0+2", GET("Y0", "job0", "k"), NO_GET("Y0", "job0") } },
    { "the connection that asked has ended", { LINKED, PUT("Y0", "k", "v"), "(",
        GET("X0", "job2", "k"), "X0.", ")" } },
    { "a job fails: the other side hears of it, once", { LINKED, "fY0 7", "-Y0", "!X job2 7", "!X",
        "#XY", "!X" } },
    { "a status that is none is 1", { LINKED, "fY0 300", "!X job2 1" } },
    { "who is connected by others follows, too", { LINKED, "XA+2", CONNECT("XA", "job0"),
        CONNECTED("XA"), "fY0 7", "!X job2 7" } },
    { "a launcher is lost: its jobs have failed", { LINKED, "#XY", "!X job2 255", "!X",
        "!Y job0 255" } },
    { "disconnecting first spares them", { LINKED, DISCONNECT("X0", "job2"), "fY0 7", "!X", "#XY",
        "!X", "!Y" } },
    { "a question to a launcher that is lost", { LINKED, "(", GET("X0", "job2", "k"), "#XY", ")",
        "X0{ cmd=kvs-get-response;rc=3;errmsg=the launcher of job job2 is gone;",
        "!X job2 255", "!Y job0 255" } },

    /* --- copies --- */
    { "a copy in parts", { "X0+2w", "X1+2", PART("X0", "job2", "0", "FALSE", "1 2 kv23 0 abc"),
        TAKEN("X0"), GET("X0", "job2", "k"), APART("X0", "job2"),
        PART("X0", "job2", "2", "TRUE", "2 3 k2;; v"), TAKEN("X0"), GET("X0", "job2", "k"),
        GOT("X0", "v2"), GET("X1", "job2", "abc"), GOT("X1", ""), GET("X1", "job2", "k2"),
        GOT("X1", ";; v"), GET("X1", "job2", "k3"), MISS("X1"), CONNECT("X1", "job2"),
        CONNECTED("X1") } },
    { "an empty copy", { "X0+2w", PART("X0", "job2", "0", "TRUE", ""), TAKEN("X0"),
        GET("X0", "job2", "k"), MISS("X0") } },
    { "it is gone with the connection to it", { "X0+2w", PART("X0", "job2", "0", "TRUE", "1 1 kv"),
        TAKEN("X0"), DISCONNECT("X0", "job2"), GET("X0", "job2", "k"), NO_GET("X0", "job2") } },
    { "it is not another job's, unless that is connected", { "X0+2w", "XA+2w",
        PART("X0", "job2", "0", "TRUE", "1 1 kv"), TAKEN("X0"), GET("XA", "job2", "k"),
        APART("XA", "job2"), CONNECT("XA", "job2"), "=X-", COPY("XA"), CONNECT("XA", "job0"),
        CONNECTED("XA"), GET("XA", "job2", "k"), GOT("XA", "v"), CONNECT("XA", "job2"), "=X-",
        COPY("XA") } },
    { "a later copy takes its place", { "X0+2w", PART("X0", "job2", "0", "TRUE", "1 1 kv1 1 lw"),
        TAKEN("X0"), PART("X0", "job2", "0", "TRUE", "1 1 kw"), TAKEN("X0"),
        GET("X0", "job2", "k"), GOT("X0", "w"), GET("X0", "job2", "l"), MISS("X0") } },
    { "one that fails leaves the former", { "X0+2w", PART("X0", "job2", "0", "TRUE", "1 1 kv"),
        TAKEN("X0"), PART("X0", "job2", "0", "FALSE", "1 9 kw"),
        NOT_TAKEN("X0", "8", "entry 0 of job job2: lengths that cannot be"),
        GET("X0", "job2", "k"), GOT("X0", "v") } },
    { "a part out of its place", { "X0+2w", "X1+2w", PART("X0", "job2", "1", "TRUE", "1 1 kv"),
        NOT_TAKEN("X0", "3", "a copy of job job2 goes on at entry 1, here are 0"),
        PART("X0", "job2", "0", "FALSE", "1 1 kv"), TAKEN("X0"),
        PART("X0", "job2", "2", "TRUE", "1 1 kv"),
        NOT_TAKEN("X0", "3", "a copy of job job2 goes on at entry 2, here are 1"),
        "XA+2w", PART("XA", "job2", "1", "TRUE", "1 1 lv"),
        NOT_TAKEN("XA", "3", "a copy of job job2 goes on at entry 1, here are 0") } },
    { "its job ends before it is complete", { "X0+2w", PART("X0", "job2", "0", "FALSE", "1 1 kv"),
        TAKEN("X0"), "-X0", "XA+2w", GET("XA", "job2", "k"), NO_GET("XA", "job2") } },
    { "of a job that needs none", { LINKED, PART("X0", "job0", "0", "TRUE", ""),
        NOT_TAKEN("X0", "3", "job job0 needs no copy"), PART("X0", "job2", "0", "TRUE", ""),
        NOT_TAKEN("X0", "3", "job job2 needs no copy"), PART("X0", "", "0", "TRUE", ""),
        NOT_TAKEN("X0", "3", "'' is no job id"), PART("X0", "a b", "0", "TRUE", ""),
        NOT_TAKEN("X0", "3", "'a b' is no job id") } },
    { "a link takes the place of a copy", { "X0+2w", "Y0+2", PART("X0", "job2", "0", "TRUE",
        "1 1 kv"), TAKEN("X0"), CONNECT("Y0", "job0"), "=YX", CONNECTED("Y0"),
        PUT("Y0", "k", "new"), GET("X0", "job2", "k"), GOT("X0", "new") } },
    { "read in parts, by number", { "X0+2w", "X0} cmd=kvs-read;index=0;",
        "X0{ cmd=kvs-read-response;rc=0;data=;next=0;", PUT("X0", "k", "v;;"),
        PUT("X0", "long", ""), "X0} cmd=kvs-read;",
        "X0{ cmd=kvs-read-response;rc=0;data=1 2 kv;;4 0 long;next=0;",
        "X0} cmd=kvs-read;index=1;", "X0{ cmd=kvs-read-response;rc=0;data=4 0 long;next=0;",
        "X0} cmd=kvs-read;index=7;", "X0{ cmd=kvs-read-response;rc=0;data=;next=0;",
        "X0} cmd=kvs-read;index=-1;", "X0{ cmd=kvs-read-response;rc=6;"
        "errmsg=kvs-read: index=-1 is not within 0..2147483647;next=0;" } },

    /* --- what another launcher says --- */
    { "messages that make no sense", { LINKED, ">>YX cmd=hello;", ">>YX cmd=connect;job=a;to=b;",
        ">>YX cmd=connect;id=1;job=a;", ">>YX cmd=get;id=1;from=a;of=b;", ">>YX cmd=get;from=a;",
        ">>YX cmd=answer;id=1;", ">>YX cmd=answer;rc=1;", ">>YX cmd=ended;",
        ">>YX cmd=failed;job=job2;", ">>YX cmd=failed;job=job2;status=0;",
        ">>YX cmd=failed;job=job2;status=256;", ">>YX cmd=disconnect;job=a;", "!X" } },
    { "messages about what is not there", { LINKED, ">YX cmd=answer;id=99;rc=0;",
        ">YX cmd=ended;job=job9;", ">YX cmd=failed;job=job9;status=1;",
        ">YX cmd=disconnect;job=job9;to=job0;", ">YX cmd=disconnect;job=job2;to=job9;",
        ">YX cmd=failed;job=job1;status=1;", ">YX cmd=ended;job=job1;", "!X",
        PUT("Y0", "k", "v"), GET("X0", "job2", "k"), GOT("X0", "v") } },
    { "a launcher cannot say that a job of ours is its own", { LINKED, "XA+2",
        ">YX cmd=connect;id=1;job=job1;to=job0;", GET("X0", "job1", "k"),
        APART("X0", "job1"), ">YX cmd=failed;job=job1;status=1;", "!X" } },
    { "nor end a copy", { "X0+2w", PART("X0", "job4", "0", "TRUE", "1 1 kv"), TAKEN("X0"),
        "Y0+2", CONNECT("X0", "job2"), "=XY", CONNECTED("X0"),
        ">YX cmd=failed;job=job4;status=1;", ">YX cmd=ended;job=job4;", "!X",
        GET("X0", "job4", "k"), GOT("X0", "v") } },
};

static void tell_story(const char *const *steps)
{
    for (int i = 0; i < 48 && steps[i]; i++) {
        if (!world.careless)
            fake_show(steps[i]);
        run_step(steps[i]);
    }
}

static void test_story(void **state)
{
    open_world();
    tell_story(*state);
    close_world();
}

/* Each allocation fails once: nothing is lost, and nothing is used that is not there. */
static void story_without(const char *name, const char *const *steps)
{
    for (long n = 0;; n++) {
        long live = memory_live;

        open_world();
        world.careless = true;
        for (int i = 0; i < LAUNCHERS; i++)
            world.f[i].careless = true;
        memory_after(n);
        tell_story(steps);
        memory_end();
        close_world();
        assert_int_equal(memory_live, live);
        if (!memory_hit) {
            print_message("  %s: %ld allocations\n", name, n);
            return;
        }
    }
}

static void test_no_memory(void **state)
{
    (void)state;
    memory_begin();
    for (size_t i = 0; i < N_OF(stories); i++)
        story_without(stories[i].name, stories[i].steps);
}

/* --- further tests ------------------------------------------------------- */

/* Every entry once and whole, whatever their sizes. */
static void test_parts(void **state)
{
    struct kvs_entry part, en;
    struct err e = { 0 };
    char key[32], *value = malloc(LIMIT_VALUE + 1);
    size_t index = 0, parts = 0;
    struct job *from, *to;

    (void)state;
    assert_non_null(value);
    memset(value, ';', LIMIT_VALUE + 1);
    open_world();
    from = world.f[0].job[0];
    to = world.f[1].job[0];
    for (int i = 0; i < 200; i++) {
        snprintf(key, sizeof key, "key-%d", i);
        assert_int_equal(kvs_put(from->kvs, 0, key, value,
                                 i % 50 ? (size_t)i : (size_t)LIMIT_VALUE, &e), 0);
    }
    do {
        struct copy_part p = { .id = "job0", .index = index };

        assert_int_equal(copy_read(from, index, &part, &e), 0);
        index = strtoul(part.key, NULL, 10);
        p.data = part.value;
        p.len = part.len;
        p.last = !index;
        assert_int_equal(copy_take(to, &p, &e), 0);
        parts++;
    } while (index);
    assert_true(parts >= 4 && parts < 20);
    to = foreign_named(world.f[1].server, "job0");
    assert_non_null(to);
    assert_int_equal(kvs_count(to->kvs), 200);
    for (int i = 0; i < 200; i++) {
        snprintf(key, sizeof key, "key-%d", i);
        assert_true(kvs_get(to->kvs, key, &en));
        assert_int_equal(en.len, i % 50 ? i : LIMIT_VALUE);
        assert_memory_equal(en.value, value, en.len);
    }
    close_world();
    free(value);
}

/* There is an end to them, and all go with the job. */
static void test_many(void **state)
{
    struct err e = { 0 };
    char id[32];

    (void)state;
    open_world();
    for (int i = 0; i <= LIMIT_FOREIGN; i++) {
        struct copy_part p = { .id = id, .last = true, .data = "1 1 kv", .len = 6 };

        snprintf(id, sizeof id, "far-%d", i);
        assert_int_equal(copy_take(world.f[0].job[0], &p, &e), i < LIMIT_FOREIGN ? 0 : -1);
    }
    assert_int_equal(e.code, ERR_NOMEM);
    assert_int_equal(world.f[0].server->nforeign, LIMIT_FOREIGN);
    end_job(0, 0);
    assert_int_equal(world.f[0].server->nforeign, 0);
    close_world();
}

int main(void)
{
    struct CMUnitTest tests[N_OF(stories) + 3];

    for (size_t i = 0; i < N_OF(stories); i++)
        tests[i] = (struct CMUnitTest){ stories[i].name, test_story, NULL, NULL,
                                        (void *)stories[i].steps };
    tests[N_OF(stories)] = (struct CMUnitTest)cmocka_unit_test(test_parts);
    tests[N_OF(stories) + 1] = (struct CMUnitTest)cmocka_unit_test(test_many);
    tests[N_OF(stories) + 2] = (struct CMUnitTest)cmocka_unit_test(test_no_memory);
    return cmocka_run_group_tests_name("foreign", tests, NULL, NULL);
}

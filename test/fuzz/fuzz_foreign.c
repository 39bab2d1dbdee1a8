/* fuzz_foreign.c - a root with two jobs, whose ranks say anything, and two launchers that
 * say anything.
 *
 * Input: records with '|' between them.  A record's first byte says what happens:
 *
 *     0 1 2 text  this as a PMI-2 frame from rank 0 or 1 of the first job, or rank 0 of
 *                 the second; their opening is done
 *     A B text    the body of a message from one launcher, the other
 *     + * -       the oldest question for a launcher is answered: A, B, none
 *     a b         the link to it is cut
 *     x           the second job has ended
 *     !           what has failed is forgotten
 *
 * Properties: what is sent to launchers and ranks can be parsed; a refusal has a text; a
 * failure has a status; nothing is left when the jobs are gone. */
#include "test/fuzz/fuzz.h"

#include "pmi2/core.h"

#include <string.h>

enum { RANKS = 3, FARS = 2, ASKS = 64 };

struct world {
    struct server  *server;
    struct job     *job[2];
    struct conn    *conn[RANKS];
    bool            failed[RANKS];
    struct far     *far[FARS];
    struct far_ask *ask[ASKS];
    size_t          nasks;
};

static void check_frames(const char *data, size_t len)
{
    struct framer f;
    struct frame body;
    struct msg m;
    char *copy = malloc(len + 1), *at = copy;
    int got;

    MUST(copy);
    memcpy(copy, data, len);
    msg_init(&m);
    framer_init(&f, LIMIT_FRAME_LINK);
    f.wire = WIRE_2;
    while ((got = framer_next(&f, &at, &len, &body, NULL)) > 0)
        MUST(wire_v2.parse(&m, body.text, body.len, NULL) == 0 && *m.cmd);
    MUST(got == 0 && !len);
    framer_clear(&f);
    msg_clear(&m);
    free(copy);
}

/* --- the host ---------------------------------------------------------- */

static size_t host_send(void *host, void *link, const char *data, size_t len)
{
    struct world *w = host;

    MUST(!w->failed[(struct conn **)link - w->conn]);
    if (data[0] == ' ' || (data[0] >= '0' && data[0] <= '9'))    /* else the opening */
        check_frames(data, len);
    return 0;
}

static void host_fail(void *host, void *link, struct member *m, const char *why)
{
    struct world *w = host;

    MUST(m && *why);
    w->failed[(struct conn **)link - w->conn] = true;
}

static void host_abort(void *host, struct member *m, bool world, int code, const char *text)
{
    (void)world;
    (void)code;
    MUST(host && m && text);
}

static void host_member(void *host, struct member *m)
{
    MUST(host && m);
}

static void host_stuck(void *host, struct job *j, int missing, int waiting)
{
    (void)missing;
    (void)waiting;
    MUST(host && j);
}

static void host_log(void *host, enum log_level level, struct member *m, const char *text)
{
    (void)level;
    (void)m;
    MUST(host && *text);
}

static bool host_introduce(void *host, struct far_ask *a)
{
    struct world *w = host;

    MUST(*far_job(a));
    if (w->nasks < ASKS)
        w->ask[w->nasks++] = a;
    return w->ask[w->nasks - 1] == a;
}

static void host_far_send(void *host, void *link, const char *frame, size_t len)
{
    MUST(host && link && len);
    check_frames(frame, len);
}

static const struct host_ops ops = {
    .send = host_send, .fail = host_fail, .abort = host_abort, .initialized = host_member,
    .finalized = host_member, .stuck = host_stuck, .log = host_log,
    .introduce = host_introduce, .far_send = host_far_send
};

/* --- what happens ------------------------------------------------------ */

static void input(struct world *w, int rank, const char *data, size_t len)
{
    char *copy = malloc(len ? len : 1);

    MUST(copy);
    if (len)
        memcpy(copy, data, len);
    if (w->conn[rank] && !w->failed[rank])
        conn_input(w->conn[rank], copy, len);
    free(copy);
}

static void say(struct world *w, int rank, const char *text, size_t len)
{
    struct buf b = BUF_INIT;

    buf_printf(&b, "%6zu", len);
    buf_add(&b, text, len);
    MUST(!b.failed);
    input(w, rank, buf_bytes(&b), b.len);
    buf_clear(&b);
}

static void cut(struct world *w, int i)
{
    struct far *f = w->far[i];

    w->far[i] = NULL;
    if (f)
        far_free(f);
}

static void say_far(struct world *w, int i, const char *text, size_t len)
{
    char *copy = malloc(len + 1);
    struct err e = { 0 };
    struct msg m;

    MUST(copy);
    memcpy(copy, text, len);
    copy[len] = '\0';
    msg_init(&m);
    if (w->far[i] && !memchr(copy, '\0', len) && wire_v2.parse(&m, copy, len, &e) == 0 &&
        far_input(w->far[i], &m, &e) < 0) {
        MUST(*e.text);
        cut(w, i);
    }
    msg_clear(&m);
    free(copy);
}

static void answer_ask(struct world *w, struct far *f)
{
    struct far_ask *a = w->ask[0];

    if (!w->nasks)
        return;
    memmove(w->ask, w->ask + 1, --w->nasks * sizeof a);
    far_found(a, f);
}

static void end_job(struct world *w, int i)
{
    if (!w->job[i])
        return;
    for (int r = 0; r < RANKS; r++)
        if ((r == 2) == i) {
            conn_free(w->conn[r]);
            w->conn[r] = NULL;
        }
    server_remove_job(w->job[i]);
    w->job[i] = NULL;
}

static void forget_failed(struct world *w)
{
    struct job *x;
    int status = 0;

    while ((x = server_failed(w->server, &status))) {
        MUST(status > 0 && status < 256);
        if (w->job[0])
            job_connected(x, w->job[0]);
        server_forget(x);
    }
}

static void happen(struct world *w, const char *text, size_t len)
{
    switch (*text) {
    case '0': case '1': case '2': say(w, *text - '0', text + 1, len - 1); break;
    case 'A': case 'B': say_far(w, *text - 'A', text + 1, len - 1); break;
    case 'a': case 'b': cut(w, *text - 'a'); break;
    case '+': answer_ask(w, w->far[0]); break;
    case '*': answer_ask(w, w->far[1]); break;
    case '-': answer_ask(w, NULL); break;
    case 'x': end_job(w, 1); break;
    case '!': forget_failed(w); break;
    }
}

static void open_world(struct world *w)
{
    static const char init[] = "cmd=init pmi_version=2 pmi_subversion=0\n";
    static const char full[] = "cmd=fullinit;extensions=1;";
    static const int appnums[2];
    struct server_options options = { .pmi1_subversion = 1 };

    w->server = server_new(&ops, w, 42, &options);
    MUST(w->server);
    for (int i = 0; i < 2; i++) {
        struct mapping_block one = { 0, 1, 2 - i };
        struct job_spec spec = { .id = i ? "job1" : "job0", .size = 2 - i, .universe = -1,
                                 .appnums = appnums, .map = &one, .map_blocks = 1 };

        w->job[i] = server_add_job(w->server, &spec, NULL);
        MUST(w->job[i]);
    }
    for (int r = 0; r < RANKS; r++) {
        struct job *j = w->job[r == 2];

        w->conn[r] = conn_new(w->server, j, job_member(j, r == 2 ? 0 : r), &w->conn[r]);
        MUST(w->conn[r]);
        input(w, r, init, sizeof init - 1);
        say(w, r, full, sizeof full - 1);
    }
    for (int i = 0; i < FARS; i++) {
        w->far[i] = far_new(w->server, &w->far[i]);
        MUST(w->far[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world w = { 0 };
    const char *at = (const char *)data, *end = at + size;

    open_world(&w);
    while (at < end) {
        const char *bar = memchr(at, '|', (size_t)(end - at));
        size_t len = (size_t)((bar ? bar : end) - at);

        if (len)
            happen(&w, at, len);
        at += len + 1;
    }
    end_job(&w, 0);
    end_job(&w, 1);
    while (w.nasks)
        answer_ask(&w, w.far[0]);
    forget_failed(&w);
    MUST(!w.server->nforeign);
    cut(&w, 0);
    cut(&w, 1);
    server_free(w.server);
    return 0;
}

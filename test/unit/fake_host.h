/* fake_host.h - a host for the server core that writes down what it is asked to
 * do, and stories: dialogues of several ranks as rows of text.
 *
 * A story is a list of steps.  The first character of a step says who it is for:
 *
 *     0..9   the connection of that rank of the job (PMI_FD), made when first used
 *     A..J   the same, of the second job
 *     a..j   connections of the first job through PMI_PORT
 *     ?      what the host was asked: initialized 0, finalized 0, stuck 1 0 (rank 1
 *            is missing, 0 waits), abort 0 world 3 text, abort 0 self 3 text; of
 *            the second job: rank + 100
 *     %      the newest log line has this in it
 *
 * and the second, for a connection, what happens:
 *
 *     > text    these bytes arrive            < text   exactly this is sent next
 *     } body    the same, as a PMI-2 frame    { body   the same
 *     +1 +12 +2 it initialises with that version (12: asks for 1.2)
 *     =         nothing is sent                  ! why  the connection has failed
 *     .         its stream ends                  x      its process has ended
 *     W text    member_waits_in says this        S n    member_state is n
 *
 * At the end every sent byte and every abort, stuck and failure must have been
 * named.  Each story runs twice: with its bytes as they are, and one by one. */
#ifndef TEST_FAKE_HOST_H
#define TEST_FAKE_HOST_H

#include "pmi2/server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { FAKE_LINKS = 30, FAKE_STEPS = 64 };

struct fake;

struct fake_link {
    struct fake *fake;
    struct conn *conn;       /* owned; NULL: not made, or ended */
    struct buf   sent;
    bool         failed, seen_failing;
    char         why[300];
};

struct fake {
    struct server   *server;
    struct job      *job[2];
    struct fake_link link[FAKE_LINKS];
    struct buf       events; /* one line each */
    char             log[600];
    size_t           traced[2];      /* bytes: to the peers, from them */
    bool             careless;       /* checks nothing: what is sent depends on luck */
    bool             no_memory;      /* of its own: it could not do what it should */
};

struct story {
    const char           *name;
    int                   size, size2;       /* of the jobs; 0: one rank, no second job */
    int                   universe;          /* 0: unknown */
    struct server_options options;           /* pmi1_subversion 0: 1 */
    const struct mapping_block *map;         /* NULL: all ranks on one node */
    bool                  whole;             /* not byte by byte: the texts would differ */
    const char           *steps[FAKE_STEPS];
};

/* --- what the core asks for -------------------------------------------- */

static inline int fake_id(const struct member *m)
{
    if (!m)
        return -1;
    return member_rank(m) + (strcmp(job_id(member_job((struct member *)m)), "job0") ? 100 : 0);
}

static inline size_t fake_send(void *host, void *link, const char *data, size_t len)
{
    struct fake_link *l = link;

    (void)host;
    assert_false(l->failed);
    assert_true(len > 0);
    buf_add(&l->sent, data, len);
    l->fake->no_memory |= l->sent.failed;
    return 0;
}

static inline void fake_fail(void *host, void *link, struct member *m, const char *why)
{
    struct fake_link *l = link;

    (void)host;
    assert_false(l->failed);
    assert_ptr_equal(conn_member(l->conn), m);
    l->failed = true;
    snprintf(l->why, sizeof l->why, "%s", why);
}

static inline void fake_abort(void *host, struct member *m, bool world, int code,
                              const char *text)
{
    struct fake *f = host;

    buf_printf(&f->events, "abort %d %s %d%s%s\n", fake_id(m), world ? "world" : "self", code,
               *text ? " " : "", text);
}

static inline void fake_initialized(void *host, struct member *m)
{
    buf_printf(&((struct fake *)host)->events, "initialized %d\n", fake_id(m));
}

static inline void fake_finalized(void *host, struct member *m)
{
    buf_printf(&((struct fake *)host)->events, "finalized %d\n", fake_id(m));
}

static inline void fake_stuck(void *host, struct job *j, int missing, int waiting)
{
    buf_printf(&((struct fake *)host)->events, "stuck %d %d\n", fake_id(job_member(j, missing)),
               fake_id(job_member(j, waiting)));
}

static inline void fake_log(void *host, enum log_level level, struct member *m,
                            const char *text)
{
    struct fake *f = host;

    (void)m;
    assert_true(level <= LOG_DEBUG);
    for (const char *p = text; *p; p++)
        assert_false((unsigned char)*p < ' ' || *p == 127);
    snprintf(f->log, sizeof f->log, "%s", text);
}

static inline void fake_trace(void *host, struct member *m, bool from_peer, const char *data,
                              size_t len)
{
    struct fake *f = host;

    (void)m;
    assert_non_null(data);
    f->traced[from_peer] += len;
}

static const struct host_ops fake_ops = {
    fake_send, fake_fail, fake_abort, fake_initialized, fake_finalized, fake_stuck, fake_log,
    fake_trace, NULL, NULL
};

/* --- life -------------------------------------------------------------- */

static inline struct job *fake_job(struct fake *f, const char *id, int size, int universe,
                                   const struct mapping_block *map)
{
    struct mapping_block one = { 0, 1, size };
    int *appnums = calloc((size_t)size, sizeof *appnums);
    struct job_spec spec = { .id = id, .size = size, .universe = universe ? universe : -1,
                             .appnums = appnums, .map = map ? map : &one, .map_blocks = 1 };
    struct job *j;
    struct err e = { 0 };

    if (!appnums)
        return NULL;
    for (int r = 0; r < size; r++)
        appnums[r] = r / 2;
    j = server_add_job(f->server, &spec, &e);
    free(appnums);
    return j;
}

/* False only when there was no memory. */
static inline bool fake_open(struct fake *f, const struct story *s)
{
    struct server_options options = s->options;

    memset(f, 0, sizeof *f);
    for (int i = 0; i < FAKE_LINKS; i++)
        f->link[i].fake = f;
    if (!options.pmi1_subversion)
        options.pmi1_subversion = 1;
    f->server = server_new(&fake_ops, f, 42, &options);
    if (f->server)
        f->job[0] = fake_job(f, "job0", s->size ? s->size : 1, s->universe, s->map);
    if (f->job[0] && s->size2)
        f->job[1] = fake_job(f, "job1", s->size2, s->universe, NULL);
    return f->job[0] && (!s->size2 || f->job[1]);
}

static inline void fake_close(struct fake *f)
{
    for (int i = 0; i < FAKE_LINKS; i++) {
        conn_free(f->link[i].conn);
        buf_clear(&f->link[i].sent);
    }
    server_free(f->server);
    buf_clear(&f->events);
}

static inline struct member *fake_member(struct fake *f, char who)
{
    if (who >= 'A' && who <= 'J')
        return job_member(f->job[1], who - 'A');
    return who >= '0' && who <= '9' ? job_member(f->job[0], who - '0') : NULL;
}

static inline struct fake_link *fake_link(struct fake *f, char who)
{
    int i = who >= 'a' ? who - 'a' + 20 : who >= 'A' ? who - 'A' + 10 : who - '0';
    struct fake_link *l = &f->link[i];

    if (!l->conn)
        l->conn = conn_new(f->server, f->job[who >= 'A' && who <= 'J'], fake_member(f, who), l);
    return l;
}

/* Bytes arrive.  Each piece is a copy with nothing behind it. */
static inline void fake_input(struct fake *f, char who, const char *data, size_t len,
                              size_t piece)
{
    struct fake_link *l = fake_link(f, who);

    while (len && l->conn) {
        size_t n = len < piece ? len : piece;
        char *copy = malloc(n);

        if (!copy) {
            f->no_memory = true;
            return;
        }
        memcpy(copy, data, n);
        conn_input(l->conn, copy, n);
        free(copy);
        data += n;
        len -= n;
    }
}

static inline void fake_frame(struct buf *out, const char *body)
{
    buf_printf(out, "%6zu%s", strlen(body), body);
}

/* --- stories ----------------------------------------------------------- */

static inline void fake_expect(struct fake *f, char who, const char *want, size_t n)
{
    struct fake_link *l = fake_link(f, who);
    struct buf got = BUF_INIT, wanted = BUF_INIT;

    if (f->careless)
        return;
    if (l->sent.len < n || memcmp(buf_bytes(&l->sent), want, n)) {
        buf_escaped(&got, l->sent.len ? buf_bytes(&l->sent) : "", l->sent.len);
        buf_escaped(&wanted, want, n);
        print_error("    sent to %c: |%s|\n    wanted:    |%s|\n", who,
                    got.len ? buf_bytes(&got) : "", wanted.len ? buf_bytes(&wanted) : "");
        buf_clear(&got);
        buf_clear(&wanted);
        fail();
    }
    buf_consume(&l->sent, n);
}

/* The opening exchange, its replies checked only for success. */
static inline void fake_init(struct fake *f, char who, const char *version, size_t piece)
{
    struct fake_link *l = fake_link(f, who);
    struct buf line = BUF_INIT;

    buf_printf(&line, "cmd=init pmi_version=%c pmi_subversion=%c\n", *version,
               *version == '2' ? '0' : version[1] ? version[1] : '1');
    if (*version == '2')
        fake_frame(&line, "cmd=fullinit;pmirank=-1;");
    if (line.failed)
        f->no_memory = true;
    else
        fake_input(f, who, buf_bytes(&line), line.len, piece);
    buf_clear(&line);
    if (f->careless)
        return;
    assert_true(l->sent.len > 0);
    assert_non_null(strstr(buf_bytes(&l->sent), "rc=0"));
    buf_consume(&l->sent, l->sent.len);
}

/* The event must have been asked for; it is struck off. */
static inline void fake_event(struct fake *f, const char *want)
{
    size_t n = strlen(want);
    char *at = f->events.len ? buf_bytes(&f->events) : NULL, *end = at ? at + f->events.len : at;

    for (; at && at < end; at = strchr(at, '\n') + 1)
        if (!strncmp(at, want, n) && at[n] == '\n') {
            memmove(at, at + n + 1, (size_t)(end - (at + n + 1)));
            buf_cut(&f->events, f->events.len - n - 1);
            return;
        }
    if (f->careless)
        return;
    print_error("    not asked for: %s\n    but: %s\n", want,
                f->events.len ? buf_bytes(&f->events) : "nothing");
    fail();
}

static inline void fake_failed(struct fake *f, char who, const char *why)
{
    struct fake_link *l = fake_link(f, who);

    if (f->careless)
        return;
    assert_true(l->failed);
    assert_string_equal(l->why, why);
    l->seen_failing = true;
}

static inline void fake_step(struct fake *f, const char *step, size_t piece)
{
    char who = *step, what = who ? step[1] : '\0';
    const char *text = step + (what ? 2 : 1) + (what && step[2] == ' ');
    struct buf frame = BUF_INIT;
    struct fake_link *l;

    if (who == '?' || who == '%') {
        if (who == '?')
            fake_event(f, step + 1);
        else if (!f->careless && !strstr(f->log, step + 1))
            assert_string_equal(f->log, step + 1);
        return;
    }
    l = fake_link(f, who);
    if (!l->conn) {
        assert_true(f->careless);
        return;
    }
    if (what == '}' || what == '{')
        fake_frame(&frame, text);
    f->no_memory |= frame.failed;
    if (what == '>')
        fake_input(f, who, text, strlen(text), piece);
    else if (what == '<')
        fake_expect(f, who, text, strlen(text));
    else if (what == '}' && !frame.failed)
        fake_input(f, who, buf_bytes(&frame), frame.len, piece);
    else if (what == '{' && !frame.failed)
        fake_expect(f, who, buf_bytes(&frame), frame.len);
    else if (what == '+')
        fake_init(f, who, text, piece);
    else if (what == '!')
        fake_failed(f, who, text);
    else if (what == 'x')
        member_ended(fake_member(f, who));
    else if (what == '.') {
        conn_eof(l->conn);
        conn_free(l->conn);
        l->conn = NULL;
    } else if (what == '=' && !f->careless) {
        assert_string_equal(l->sent.len ? buf_bytes(&l->sent) : "", "");
    } else if (what == 'W' && !f->careless) {
        const char *waits = member_waits_in(conn_member(l->conn));

        assert_string_equal(waits ? waits : "", text);
    } else if (what == 'S' && !f->careless) {
        assert_int_equal(member_state(conn_member(l->conn)), strtol(text, NULL, 10));
    }
    buf_clear(&frame);
}

static inline void fake_nothing_left(struct fake *f)
{
    char *at = f->events.len ? buf_bytes(&f->events) : NULL;

    for (int i = 0; i < FAKE_LINKS; i++) {
        const struct fake_link *l = &f->link[i];

        if (l->sent.len)
            assert_string_equal(buf_bytes(&l->sent), "");
        if (l->failed && !l->seen_failing)
            assert_string_equal(l->why, "not failing");
    }
    for (; at && *at; at = strchr(at, '\n') + 1)
        if (strncmp(at, "initialized", 11) && strncmp(at, "finalized", 9))
            assert_string_equal(at, "no more events");
}

static inline void fake_show(const char *step)
{
    struct buf b = BUF_INIT;

    buf_escaped(&b, step, strlen(step));
    print_message("    %.300s\n", b.failed ? "?" : buf_bytes(&b));
    buf_clear(&b);
}

/* Tell the story; piece: bytes that arrive at once. */
static inline void story_tell(const struct story *s, struct fake *f, size_t piece)
{
    for (int i = 0; i < FAKE_STEPS && s->steps[i]; i++) {
        if (!f->careless)
            fake_show(s->steps[i]);
        fake_step(f, s->steps[i], piece);
    }
    if (!f->careless)
        fake_nothing_left(f);
}

/* A cmocka test whose state is the story. */
static inline void story_test(void **state)
{
    const struct story *s = *state;
    static const size_t pieces[] = { SIZE_MAX, 1 };
    struct fake *f = malloc(sizeof *f);

    assert_non_null(f);
    for (size_t i = 0; i < (s->whole ? 1 : 2); i++) {
        print_message("  %s (%s)\n", s->name, i ? "byte by byte" : "whole");
        assert_true(fake_open(f, s));
        story_tell(s, f, pieces[i]);
        fake_close(f);
    }
    free(f);
}

/* Run stories, then further tests. */
static inline int stories_run(const char *group, const struct story *s, size_t n,
                              const struct CMUnitTest *more, size_t nmore)
{
    struct CMUnitTest *tests = calloc(n + nmore, sizeof *tests);
    int rc;

    if (!tests)
        return 1;
    for (size_t i = 0; i < n; i++)
        tests[i] = (struct CMUnitTest){ s[i].name, story_test, NULL, NULL, (void *)&s[i] };
    for (size_t i = 0; i < nmore; i++)
        tests[n + i] = more[i];
    rc = _cmocka_run_group_tests(group, tests, n + nmore, NULL, NULL);
    free(tests);
    return rc;
}

#define N_OF(a) (sizeof (a) / sizeof *(a))

#endif

/* fake_host.h - a host for the server core that writes down what it is asked to
 * do, and stories: dialogues of several ranks as rows of text.
 *
 * A story is a list of steps.  The first character of a step says who it is for:
 *
 *     0..9   the connection of that rank of the job (PMI_FD), made when first used
 *     A..J   the same, of the second job; K..T of the third
 *     a..j   connections of the first job through PMI_PORT
 *     ?      what the host was asked: initialized 0, finalized 0, stuck 1 0 (rank 1
 *            is missing, 0 waits), abort 0 world 3 text, abort 0 self 3 text; of
 *            the second job: rank + 100; spawn 0: 2 ./a [arg 1] {key=value} : 1 ./b
 *     *      what the host does: see fake_act
 *     %      the newest log line has this in it
 *
 * and the second, for a connection, what happens:
 *
 *     > text    these bytes arrive            < text   exactly this is sent next
 *     } body    the same, as a PMI-2 frame    { body   the same
 *     +1 +12 +2 it initialises with that version (12: asks for 1.2); +2w: with what our
 *               own library says, which can take long values
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

enum { FAKE_LINKS = 40, FAKE_STEPS = 64, FAKE_JOBS = 3, FAKE_SPAWNS = 4 };

struct fake;

struct fake_link {
    struct fake *fake;
    struct conn *conn;       /* owned; NULL: not made, or ended */
    struct buf   sent;
    bool         failed, seen_failing;
    char         why[300];
};

struct fake_spawn {          /* that the host was asked for, and has not answered */
    struct spawn *s;
    struct job   *child;     /* once it is made */
};

struct fake {
    struct server   *server;
    struct job      *job[FAKE_JOBS];
    struct fake_spawn spawn[FAKE_SPAWNS];    /* oldest first */
    size_t           nspawn;
    /* Where the servers are several: a job on all of them, and its end. */
    struct job    *(*add_job)(struct fake *f, size_t slot, const char *id, const char *where,
                              int size, const char *spawner);
    void           (*drop_job)(struct fake *f, size_t slot);
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
    bool                  no_spawn;          /* the host cannot start jobs */
    const char           *steps[FAKE_STEPS];
};

/* --- what the core asks for -------------------------------------------- */

static inline int fake_id(const struct member *m)
{
    if (!m)
        return -1;
    return member_rank(m) + 100 * (job_id(member_job((struct member *)m))[3] - '0');
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

static inline void fake_command(const struct spawn_command *c, struct buf *out)
{
    buf_printf(out, " %d %s", c->procs, c->program);
    for (size_t i = 0; i < c->nargs; i++)
        buf_printf(out, " [%s]", c->args[i]);
    for (size_t i = 0; i < c->info.n; i++)
        buf_printf(out, " {%s=%s}", c->info.v[i].key, c->info.v[i].value);
}

static inline void fake_spawn(void *host, struct spawn *s)
{
    struct fake *f = host;
    const struct spawn_request *r = spawn_wants(s);
    struct buf line = BUF_INIT;

    assert_non_null(spawn_parent(s));
    assert_true(f->nspawn < FAKE_SPAWNS);
    buf_printf(&line, "spawn %d", spawn_rank(s) + 100 * (job_id(spawn_parent(s))[3] - '0'));
    for (size_t i = 0; i < r->n; i++) {
        buf_str(&line, i ? " :" : ":");
        fake_command(&r->commands[i], &line);
    }
    buf_char(&line, '\n');
    if (!line.failed)
        buf_add(&f->events, buf_bytes(&line), line.len);
    buf_clear(&line);
    f->spawn[f->nspawn++] = (struct fake_spawn){ .s = s };
}

static inline const char *fake_find_out(void *host, struct job *j, const char *key, bool *later)
{
    (void)j;
    buf_printf(&((struct fake *)host)->events, "find %s\n", key);
    *later = true;
    return NULL;
}

static inline void fake_died(void *host, struct job *j)
{
    (void)j;
    buf_str(&((struct fake *)host)->events, "died\n");
}

static const struct host_ops fake_ops = {
    .send = fake_send, .fail = fake_fail, .abort = fake_abort, .initialized = fake_initialized,
    .finalized = fake_finalized, .stuck = fake_stuck, .log = fake_log, .trace = fake_trace,
    .spawn = fake_spawn, .find = fake_find_out, .died = fake_died
};

/* --- life -------------------------------------------------------------- */

static inline struct job *fake_job(struct fake *f, const char *id, int size, int universe,
                                   const struct mapping_block *map, const char *spawner)
{
    struct mapping_block one = { 0, 1, size };
    int *appnums = calloc((size_t)size, sizeof *appnums);
    struct job_spec spec = { .id = id, .size = size, .universe = universe ? universe : -1,
                             .appnums = appnums, .map = map ? map : &one, .map_blocks = 1,
                             .spawner = spawner };
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
    struct host_ops ops = fake_ops;

    memset(f, 0, sizeof *f);
    if (s->no_spawn)
        ops.spawn = NULL;
    for (int i = 0; i < FAKE_LINKS; i++)
        f->link[i].fake = f;
    if (!options.pmi1_subversion)
        options.pmi1_subversion = 1;
    f->server = server_new(&ops, f, 42, &options);
    if (f->server)
        f->job[0] = fake_job(f, "job0", s->size ? s->size : 1, s->universe, s->map, NULL);
    if (f->job[0] && s->size2)
        f->job[1] = fake_job(f, "job1", s->size2, s->universe, NULL, NULL);
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

/* The job of a connection, and which of its own that is. */
static inline size_t fake_slot(char who)
{
    return who >= 'K' && who <= 'T' ? 2 : who >= 'A' && who <= 'J';
}

static inline int fake_number(char who)
{
    return who - (who >= 'a' ? 'a' : fake_slot(who) == 2 ? 'K' : fake_slot(who) ? 'A' : '0');
}

static inline struct member *fake_member(struct fake *f, char who)
{
    return who >= 'a' ? NULL : job_member(f->job[fake_slot(who)], fake_number(who));
}

static inline struct fake_link *fake_link(struct fake *f, char who)
{
    size_t first = who >= 'a' ? 30 : 10 * fake_slot(who);
    struct fake_link *l = &f->link[first + (size_t)fake_number(who)];

    if (!l->conn && f->job[fake_slot(who)])
        l->conn = conn_new(f->server, f->job[fake_slot(who)], fake_member(f, who), l);
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
        fake_frame(&line, version[1] == 'w' ? "cmd=fullinit;pmirank=-1;extensions=;"
                                            : "cmd=fullinit;pmirank=-1;");
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

/* --- what the host does ------------------------------------------------ */

/* The job of that id; FAKE_JOBS: none.  id "": the first free place. */
static inline size_t fake_find(const struct fake *f, const char *id)
{
    size_t i = 0;

    while (i < FAKE_JOBS && (f->job[i] ? strcmp(job_id(f->job[i]), id) : *id != '\0'))
        i++;
    return i;
}

/* Make the job that was asked for; id may say where its ranks are: job1@012. */
static inline bool fake_make(struct fake *f, struct fake_spawn *x, const char *id)
{
    struct job *parent = spawn_parent(x->s);
    const char *spawner = parent ? job_id(parent) : NULL;
    int size = (int)spawn_size(spawn_wants(x->s));
    size_t slot = fake_find(f, ""), n = strcspn(id, "@");
    struct err e = { 0 };
    char name[40];

    assert_true(slot < FAKE_JOBS);
    snprintf(name, sizeof name, "%.*s", (int)n, id);
    x->child = f->add_job
        ? f->add_job(f, slot, name, id[n] ? id + n + 1 : "", size, spawner)
        : fake_job(f, name, size, 0, NULL, spawner);
    f->job[slot] = x->child;
    if (x->child && spawn_fill(x->s, x->child, &e) == 0)
        return true;
    assert_true(f->careless);
    return false;
}

/* The codes of n processes from "2,0": as listed, then 0. */
static inline int *fake_codes(const char *text, size_t n)
{
    int *codes = calloc(n ? n : 1, sizeof *codes);
    char *end;

    for (size_t i = 0; codes && i < n && *text; i++, text = end + (*end == ','))
        codes[i] = (int)strtol(text, &end, 10);
    return codes;
}

static inline void fake_answer(struct fake *f, struct fake_spawn *x, const char *codes,
                               const struct err *why)
{
    size_t n = (size_t)spawn_size(spawn_wants(x->s)), at = (size_t)(x - f->spawn);
    int *list = fake_codes(codes, n);
    struct fake_spawn done = *x;

    memmove(x, x + 1, (--f->nspawn - at) * sizeof *x);
    spawn_done(done.s, why ? NULL : done.child, list, list ? n : 0, why);
    free(list);
}

/* The spawn that the job of this id was made for, or the oldest that has none. */
static inline struct fake_spawn *fake_pending(struct fake *f, const char *id)
{
    size_t n = strcspn(id, "@");

    for (size_t i = 0; i < f->nspawn; i++)
        if (n && f->spawn[i].child && !strncmp(job_id(f->spawn[i].child), id, n))
            return &f->spawn[i];
    for (size_t i = 0; i < f->nspawn; i++)
        if (!f->spawn[i].child)
            return &f->spawn[i];
    assert_true(f->careless);
    return NULL;
}

/* A job has ended everywhere. */
static inline void fake_drop(struct fake *f, size_t slot)
{
    for (size_t i = 0; i < FAKE_LINKS; i++)
        if (i / 10 == slot || (i >= 30 && !slot)) {
            conn_free(f->link[i].conn);
            f->link[i].conn = NULL;
        }
    server_remove_job(f->job[slot]);
    f->job[slot] = NULL;
}

static inline void fake_connected(struct fake *f, const char *a, const char *b, bool want)
{
    size_t i = fake_find(f, a), k = fake_find(f, b);

    if (i < FAKE_JOBS && k < FAKE_JOBS)
        assert_true(f->careless || job_connected(f->job[i], f->job[k]) == want);
    else
        assert_true(f->careless);
}

/*     *made job1@012     the oldest spawn has its job, whose ranks are on these nodes
 *     *done job1 0,2     and all is said and done: codes, 0 where the list ends; makes
 *                        the job if that has not been
 *     *refused 2,2 why   or it is not to be
 *     *gone job1         that job has ended and is removed
 *     *flush job0        the end of a loop turn
 *     *told job0 text    what the host was asked to find out; no text: there is none
 *     *linked job0 job1  these jobs are connected; *apart: they are not */
static inline void fake_act(struct fake *f, const char *step)
{
    char verb[20] = "", a[60] = "", b[300] = "";
    struct fake_spawn *x;
    struct err why;
    size_t slot;

    sscanf(step, "%19s %59s %299[^\n]", verb, a, b);
    if (!strcmp(verb, "linked") || !strcmp(verb, "apart")) {
        fake_connected(f, a, b, *verb == 'l');
    } else if (!strcmp(verb, "flush")) {
        server_flush(f->server);
    } else if (!strcmp(verb, "told")) {
        job_told(f->job[0], "PMI_hwloc_xmlfile", *b ? b : NULL);
    } else if (!strcmp(verb, "gone")) {
        slot = fake_find(f, a);
        assert_true(slot < FAKE_JOBS || f->careless);
        if (slot < FAKE_JOBS)
            (f->drop_job ? f->drop_job : fake_drop)(f, slot);
    } else if ((x = fake_pending(f, *verb == 'r' ? "" : a))) {
        if (*verb == 'r' || (!x->child && !fake_make(f, x, a))) {
            err_set(&why, ERR_OTHER, "%s", b);
            fake_answer(f, x, *verb == 'r' ? a : "", &why);
        } else if (!strcmp(verb, "done")) {
            fake_answer(f, x, b, NULL);
        }
    }
}

static inline void fake_step(struct fake *f, const char *step, size_t piece)
{
    char who = *step, what = who ? step[1] : '\0';
    const char *text = step + (what ? 2 : 1) + (what && step[2] == ' ');
    struct buf frame = BUF_INIT;
    struct fake_link *l;

    if (who == '?' || who == '%' || who == '*') {
        if (who == '?')
            fake_event(f, step + 1);
        else if (who == '*')
            fake_act(f, step + 1);
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
        if (strncmp(at, "initialized", 11) && strncmp(at, "finalized", 9) &&
            strncmp(at, "died", 4))
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

/* test_output.c - mpiexec_lite/output and places: from the ranks' pipes to our stdout,
 * our stderr and files, of one job and of several.  Our own two are pipes while a test
 * runs. */
#include "mpiexec_lite/output.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "test/unit/fake_memory.h"

#define N_OF(a) (sizeof (a) / sizeof *(a))

enum { RANKS = 3, STEPS = 12 };

static char folder[] = "/tmp/test_output.XXXXXX";
static char buffer[65536];
static int saved[2], ours[2][2], failures, failed_with;
static bool together;                /* our stderr is our stdout */
static char failed_place[200];

static void on_failed(void *host, const char *place, int errnum)
{
    (void)host;
    failures++;
    failed_with = errnum;
    snprintf(failed_place, sizeof failed_place, "%s", place);
}

static const struct places_ops ops = { on_failed, NULL, NULL };

/* Make our stdout and stderr pipes that are read here. */
static void redirect(void)
{
    fflush(NULL);
    for (int i = 0; i < 2; i++) {
        saved[i] = fcntl(1 + i, F_DUPFD_CLOEXEC, 10);
        assert_int_equal(pipe2(ours[i], O_CLOEXEC), 0);
        assert_int_equal(fcntl(ours[i][0], F_SETFL, O_NONBLOCK), 0);
        assert_int_equal(dup2(ours[i][1], 1 + i), 1 + i);
        close(ours[i][1]);
    }
    if (together)
        assert_int_equal(dup2(1, 2), 2);
    failures = failed_with = 0;
    *failed_place = '\0';
}

static void restore(void)
{
    for (int i = 0; i < 2; i++) {
        dup2(saved[i], 1 + i);
        close(saved[i]);
        if (ours[i][0] >= 0)
            close(ours[i][0]);
    }
}

/* No assertion may fail while our stdout is not ours: the first that would is noted
 * here and raised after restore. */
static char trouble[600];

static void want(bool good, int line, const char *what)
{
    if (!good && !*trouble)
        snprintf(trouble, sizeof trouble, "line %d: %s", line, what);
}
#define WANT(x) want(x, __LINE__, #x)

static size_t take(int fd, char *out, size_t size)
{
    size_t n = 0;
    ssize_t got;

    while (n + 1 < size && (got = read(fd, out + n, size - 1 - n)) > 0)
        n += (size_t)got;
    out[n] = '\0';
    return n;
}

struct run {
    struct plan    plan;
    struct places  places;
    struct output *o;
    int            fd[RANKS][2];     /* the ranks' ends of stdout and stderr; -1 closed */
};

/* As the launcher does: what was put together goes out before it waits again. */
static void turn(struct run *r)
{
    for (int i = 0; i < 3; i++) {
        ev_run(ev_default_loop(0), EVRUN_NOWAIT);
        places_flush(&r->places);
    }
}

static void add_rank(struct run *r, int rank)
{
    struct err e = { 0 };
    int p[2][2];

    for (int i = 0; i < 2; i++) {
        WANT(pipe2(p[i], O_CLOEXEC) == 0);
        fcntl(p[i][0], F_SETFL, O_NONBLOCK);
        r->fd[rank][i] = p[i][1];
    }
    WANT(output_add(r->o, rank, p[0][0], p[1][0], &e) == 0);
}

static struct output *output_of(struct places *p, const struct plan *plan, int job, int node,
                                const char *hostname)
{
    struct output_args args = { p, plan, job, node, hostname, buffer, sizeof buffer, NULL,
                                NULL };
    struct err e = { 0 };

    return output_new(&args, &e);
}

/* Places and the output of a job, as node `node` has them, once we are redirected. */
static void open_run(struct run *r, int node, const char *hostname,
                     const struct places_ops *with)
{
    struct err e = { 0 };

    WANT(places_init(&r->places, ev_default_loop(0), with, NULL, &e) == 0);
    r->o = output_of(&r->places, &r->plan, 0, node, hostname);
    WANT(r->o != NULL);
}

static void close_run(struct run *r)
{
    output_free(r->o);
    places_clear(&r->places);
}

static void start(struct run *r, int ranks)
{
    *trouble = '\0';
    redirect();
    r->plan.apps = calloc(1, sizeof *r->plan.apps);
    r->plan.napps = 1;
    r->plan.apps->n = ranks;
    open_run(r, 0, "node", &ops);
    for (int i = 0; i < ranks; i++)
        add_rank(r, i);
}

static void close_ranks(struct run *r, int ranks)
{
    for (int i = 0; i < 2 * ranks; i++)
        if (r->fd[i / 2][i % 2] >= 0) {
            close(r->fd[i / 2][i % 2]);
            r->fd[i / 2][i % 2] = -1;
        }
}

static void stop(struct run *r)
{
    close_run(r);
    free(r->plan.apps);
    restore();
    assert_string_equal(trouble, "");
}

/* Steps: "0out text", "1err text"; then what our stdout and stderr got, with every
 * stream ended. */
static const struct {
    const char *name;
    struct plan plan;
    const char *steps[STEPS], *out, *err;
} cases[] = {
    { "one rank, as it comes", { .output_from = -1 }, { "0out a", "0out b\nc" }, "ab\nc", "" },
    { "lines of two", { .output_from = -1 }, { "0out a", "1out b\n", "0out c\n", "1err x\n" },
      "b\nac\n", "x\n" },
    { "what is unfinished at the end", { .output_from = -1 }, { "0out a", "1out b\n" }, "b\na",
      "" },
    { "labels", { .output_from = -1, .label = (char *)"[%r@%h] " },
      { "0out a\nb\n", "1err c\n", "1out d" }, "[0@node] a\n[0@node] b\n[1@node] d",
      "[1@node] c\n" },
    { "an empty label", { .output_from = -1, .label = (char *)"" }, { "0out a\n", "1out b\n" },
      "a\nb\n", "" },
    { "one rank's output only", { .output_from = 1 }, { "0out a\n", "1out b\n", "2err c\n",
      "1err d\n" }, "b\n", "d\n" },
};

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct run r = { .plan = cases[i].plan };
        char out[1000], err[1000];
        int ranks = cases[i].plan.output_from == 1 ? 3 : strncmp(cases[i].name, "one", 3) ? 2 : 1;

        print_message("  %s\n", cases[i].name);
        start(&r, ranks);
        for (int k = 0; k < STEPS && cases[i].steps[k]; k++) {
            const char *s = cases[i].steps[k], *text = s + 5;

            WANT(write(r.fd[*s - '0'][s[1] == 'e'], text, strlen(text)) == (ssize_t)strlen(text));
            turn(&r);
        }
        WANT(!output_ended(r.o));
        close_ranks(&r, ranks);
        turn(&r);
        WANT(output_ended(r.o));
        WANT(places_flushed(&r.places));
        take(ours[0][0], out, sizeof out);
        take(ours[1][0], err, sizeof err);
        stop(&r);
        assert_string_equal(out, cases[i].out);
        assert_string_equal(err, cases[i].err);
        assert_int_equal(failures, 0);
    }
}

/* Ranks whose reader stalls wait; nothing is lost, little is kept. */
static void test_stall(void **state)
{
    enum { BYTES = 2000000 };
    struct run r = { .plan = { .output_from = -1 } };
    char *got = malloc(2 * BYTES), line[100];
    size_t n = 0, wrote[2] = { 0 }, seen[2] = { 0 };

    (void)state;
    assert_non_null(got);
    start(&r, 2);
    for (int i = 0; i < 2; i++)
        fcntl(r.fd[i][0], F_SETFL, O_NONBLOCK);
    for (int idle = 0; idle < 5; idle++)                 /* until nothing more goes in */
        for (int i = 0; i < 2; i++) {
            memset(line, 'a' + i, sizeof line);
            line[sizeof line - 1] = '\n';
            while (write(r.fd[i][0], line, sizeof line) == sizeof line) {
                wrote[i] += sizeof line;
                idle = 0;
            }
            turn(&r);
        }
    WANT(wrote[0] + wrote[1] < BYTES);
    WANT(!places_flushed(&r.places));
    for (int idle = 0; idle < 5; idle++) {
        size_t k = take(ours[0][0], got + n, 2 * BYTES - n);

        n += k;
        idle = k ? 0 : idle;
        turn(&r);
    }
    WANT(n == wrote[0] + wrote[1]);
    for (size_t at = 0; at + sizeof line <= n; at += sizeof line) {
        WANT(got[at] == 'a' || got[at] == 'b');
        WANT(got[at] == got[at + 50] && got[at + sizeof line - 1] == '\n');
        seen[got[at] == 'b'] += sizeof line;
    }
    WANT(seen[0] == wrote[0] && seen[1] == wrote[1]);
    close_ranks(&r, 2);
    turn(&r);
    stop(&r);
    free(got);
}

/* Files of a pattern; ranks may share one; what cannot be opened is an error. */
static void test_files(void **state)
{
    struct run r = { .plan = { .output_from = -1 } };
    char pattern[100], shared[100], path[100], text[200];
    struct err e = { 0 };
    int fd, p[2], q[2];

    (void)state;
    snprintf(pattern, sizeof pattern, "%s/out.%%r", folder);
    snprintf(shared, sizeof shared, "%s/err", folder);
    r.plan.outfile = pattern;
    r.plan.errfile = shared;
    start(&r, 2);
    for (int i = 0; i < 2; i++) {
        WANT(write(r.fd[i][0], i ? "one\n" : "zero\n", 4 + !i) > 0);
        WANT(write(r.fd[i][1], "err\n", 4) == 4);
    }
    turn(&r);
    close_ranks(&r, 2);
    turn(&r);
    WANT(places_flushed(&r.places));
    r.plan.errfile = (char *)"/dev/null/file";
    WANT(pipe(p) == 0 && pipe(q) == 0);
    WANT(output_add(r.o, 2, p[0], q[0], &e) == -1);
    WANT(fcntl(p[0], F_GETFD) == -1 && fcntl(q[0], F_GETFD) == -1);
    close(p[1]);
    close(q[1]);
    WANT(!strcmp(e.text, "/dev/null/file: Not a directory"));
    stop(&r);
    for (int i = 0; i < 4; i++) {
        static const char *const names[] = { "out.0", "out.1", "err", "out.2" };
        static const char *const holds[] = { "zero\n", "one\n", "err\nerr\n", "" };

        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        assert_true(fd >= 0);
        take(fd, text, sizeof text);
        close(fd);
        unlink(path);
        assert_string_equal(text, holds[i]);
    }
}

/* A prompt of the rank that reads stdin is shown before its line ends. */
static void test_prompt(void **state)
{
    struct run r = { .plan = { .output_from = -1, .stdin_mode = STDIN_RANK, .stdin_rank = 1 } };
    char out[100];
    int input[2];

    (void)state;
    start(&r, 2);
    WANT(pipe(input) == 0);
    output_set_input(r.o, input[0]);
    WANT(write(r.fd[0][0], "other? ", 7) == 7);
    WANT(write(r.fd[1][0], "name? ", 6) == 6);
    turn(&r);
    take(ours[0][0], out, sizeof out);
    WANT(!*out);
    ev_run(ev_default_loop(0), EVRUN_ONCE);              /* the timer */
    turn(&r);
    take(ours[0][0], out, sizeof out);
    WANT(!strcmp(out, "name? "));
    WANT(write(r.fd[1][0], "yes", 3) == 3);
    turn(&r);
    close(r.fd[1][0]);
    r.fd[1][0] = -1;
    turn(&r);
    take(ours[0][0], out, sizeof out);
    WANT(!strcmp(out, "yes"));
    close_ranks(&r, 2);
    turn(&r);
    stop(&r);
}

/* No prompt: it is we who are slow, and more has come meanwhile. */
static void test_no_prompt(void **state)
{
    struct run r = { .plan = { .output_from = -1, .stdin_mode = STDIN_RANK, .stdin_rank = 1 } };
    char out[100];
    int input[2];

    (void)state;
    start(&r, 2);
    WANT(pipe(input) == 0);
    output_set_input(r.o, input[0]);
    WANT(write(r.fd[1][0], "name", 4) == 4);
    turn(&r);
    usleep(150000);                                      /* the timer is due */
    WANT(write(r.fd[1][0], "less? ", 6) == 6);
    turn(&r);
    take(ours[0][0], out, sizeof out);
    WANT(!*out);
    WANT(write(r.fd[0][0], "other\n", 6) == 6);
    turn(&r);
    take(ours[0][0], out, sizeof out);
    WANT(!strcmp(out, "other\n"));
    ev_run(ev_default_loop(0), EVRUN_ONCE);              /* the timer, set anew */
    turn(&r);
    take(ours[0][0], out, sizeof out);
    WANT(!strcmp(out, "nameless? "));
    close_ranks(&r, 2);
    turn(&r);
    stop(&r);
}

/* "2>&1": what our stdout has, our stderr knows of. */
static void test_together(void **state)
{
    struct run r = { .plan = { .output_from = -1 } };
    char out[300];

    (void)state;
    together = true;
    start(&r, 2);
    together = false;
    WANT(write(r.fd[0][0], "out\n", 4) == 4);
    turn(&r);
    WANT(write(r.fd[1][1], "err\n", 4) == 4);
    turn(&r);
    WANT(write(r.fd[0][0], "half", 4) == 4);
    output_close_streams(r.o);
    places_tell(&r.places, "a line");
    WANT(places_flushed(&r.places));
    take(ours[0][0], out, sizeof out);
    WANT(!strcmp(out, "out\nerr\nhalf\nmpiexec_lite: a line\n"));
    close_ranks(&r, 2);
    close(ours[0][0]);
    ours[0][0] = -1;
    places_tell(&r.places, "to nobody");
    places_tell(&r.places, "to nobody");
    WANT(failures == 1);
    WANT(!strcmp(failed_place, "write to stdout"));
    stop(&r);
}

/* What was put together stays until it is asked for. */
static void test_flush(void **state)
{
    struct run r = { .plan = { .output_from = -1 } };
    char out[100];

    (void)state;
    start(&r, 2);
    WANT(write(r.fd[0][0], "line\n", 5) == 5);
    ev_run(ev_default_loop(0), EVRUN_NOWAIT);
    take(ours[0][0], out, sizeof out);
    WANT(!*out);
    places_flush(&r.places);
    take(ours[0][0], out, sizeof out);
    WANT(!strcmp(out, "line\n"));
    places_flush(&r.places);
    take(ours[0][0], out, sizeof out);
    WANT(!*out);
    close_ranks(&r, 2);
    turn(&r);
    stop(&r);
}

/* Our reader goes: told once, and the rest is thrown away. */
static void test_reader_gone(void **state)
{
    struct run r = { .plan = { .output_from = -1 } };

    (void)state;
    start(&r, 2);
    close(ours[0][0]);
    ours[0][0] = -1;
    for (int i = 0; i < 3; i++) {
        WANT(write(r.fd[i % 2][0], "text\n", 5) == 5);
        turn(&r);
    }
    WANT(failures == 1);
    WANT(failed_with == EPIPE);
    WANT(!strcmp(failed_place, "write to stdout"));
    close_ranks(&r, 2);
    turn(&r);
    WANT(output_ended(r.o));
    stop(&r);
}

/* Our own lines start at the start of a line. */
static void test_tell(void **state)
{
    struct run r = { .plan = { .output_from = -1 } };
    char err[300];

    (void)state;
    start(&r, 2);
    WANT(write(r.fd[0][1], "half", 4) == 4);
    turn(&r);
    places_tell(&r.places, "a line");
    take(ours[1][0], err, sizeof err);
    WANT(!strcmp(err, "mpiexec_lite: a line\n"));
    output_close_streams(r.o);
    places_tell(&r.places, "another");
    take(ours[1][0], err, sizeof err);
    WANT(!strcmp(err, "half\nmpiexec_lite: another\n"));
    WANT(output_ended(r.o));
    output_close_streams(r.o);
    close(ours[1][0]);
    ours[1][0] = -1;
    places_tell(&r.places, "to nobody");
    places_tell(&r.places, "to nobody");
    WANT(failures == 1);
    close_ranks(&r, 2);
    stop(&r);
}

/* What arrived is handed on, though its writer is still there. */
static void test_close_streams(void **state)
{
    struct run r = { .plan = { .output_from = -1, .label = (char *)"%r: " } };
    char out[300];

    (void)state;
    start(&r, 2);
    WANT(write(r.fd[0][0], "one\ntwo", 7) == 7);
    output_close_streams(r.o);
    WANT(output_ended(r.o));
    take(ours[0][0], out, sizeof out);
    WANT(!strcmp(out, "0: one\n0: two"));
    close_ranks(&r, 2);
    stop(&r);
}

static void test_no_memory(void **state)
{
    bool hit = true;
    long k;

    (void)state;
    memory_begin();
    *trouble = '\0';
    redirect();
    for (k = 0; hit && k < 50; k++) {
        struct run r = { .plan = { .output_from = -1 } };
        long live = memory_live;
        struct err e = { 0 };
        int rc;

        memory_after(k);
        rc = places_init(&r.places, ev_default_loop(0), &ops, NULL, &e);
        if (rc == 0)
            r.o = output_of(&r.places, &r.plan, 0, 0, "node");
        hit = memory_hit;
        memory_end();
        WANT(hit == !r.o);
        WANT(rc == 0 || e.code == ERR_NOMEM);
        close_run(&r);
        WANT(memory_live == live);
    }
    WANT(k > 3);
    restore();
    assert_string_equal(trouble, "");
}

/* The same for the streams and files of a rank, and what it writes. */
static void test_no_memory_later(void **state)
{
    char pattern[100], path[100];
    bool hit = true;

    (void)state;
    memory_begin();
    snprintf(pattern, sizeof pattern, "%s/out.%%r", folder);
    for (long k = 0; hit && k < 50; k++) {
        struct run r = { .plan = { .output_from = -1, .label = (char *)"%r " } };
        struct err e = { 0 };
        int p[2][2], rc;

        start(&r, 0);
        r.plan.outfile = pattern;
        WANT(pipe(p[0]) == 0 && pipe(p[1]) == 0);
        WANT(write(p[0][1], "text\nmore", 9) == 9);
        memory_after(k);
        rc = output_add(r.o, 0, p[0][0], p[1][0], &e);
        close(p[0][1]);
        close(p[1][1]);
        turn(&r);
        hit = memory_hit;
        memory_end();
        WANT(rc == 0 || (hit && e.code == ERR_NOMEM));
        turn(&r);
        stop(&r);
        assert_int_equal(failures && !hit, 0);
    }
    snprintf(path, sizeof path, "%s/out.0", folder);
    unlink(path);
}

/* --- output of other nodes --------------------------------------------- */

static void add_hosts(struct plan *p, struct host *hosts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        hosts[i] = (struct host){ .slots = 1 };
        hosts[i].name = (char *)(i == 1 ? "far1" : i == 2 ? "far2" : "near");
    }
    p->hosts = hosts;
    p->nhosts = n;
}

/* Steps: node, o or e, '!' to flush or blank, text. */
static const struct {
    const char *name, *label;
    const char *steps[STEPS], *out, *err;
} takes[] = {
    { "as it comes", NULL, { "1o a\n", "2e b\n", "1o c\nd\n" }, "a\nc\nd\n", "b\n" },
    { "lines stay whole", NULL, { "1o a", "2o b\n", "1o c\n", "2o d", "1o e\n", "2o\n" },
      "b\nac\ne\nd\n", "" },
    { "stdout and stderr of a node are two", NULL, { "1o a", "1e b\n", "1o c\n" }, "ac\n",
      "b\n" },
    { "a prompt", NULL, { "1o!name? ", "2o x\n" }, "name? x\n", "" },
    { "a prompt, with labels: its line ends before another's", "[%r] ", { "1o![0] name? ",
      "2o [1] x\n" }, "[0] name? \n[1] x\n", "" },
    { "labels are there already", "[%r] ", { "1o [0] a\n[0] b\n" }, "[0] a\n[0] b\n", "" },
    { "no text, flushed", NULL, { "1o a", "1o!" }, "a", "" },
};

static void test_take(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OF(takes); i++) {
        struct run r = { .plan = { .output_from = -1, .label = (char *)takes[i].label } };
        struct host hosts[3];
        char out[1000], err[1000];

        print_message("  %s\n", takes[i].name);
        add_hosts(&r.plan, hosts, 3);
        start(&r, 2);
        for (int k = 0; k < STEPS && takes[i].steps[k]; k++) {
            const char *s = takes[i].steps[k], *text = s[2] ? s + 3 : s + 2;

            if (s[2] == '\n')
                text = s + 2;
            WANT(output_take(r.o, *s - '0', -1, s[1] == 'e', s[2] == '!', text, strlen(text)));
            places_flush(&r.places);
        }
        turn(&r);
        WANT(places_flushed(&r.places));
        take(ours[0][0], out, sizeof out);
        take(ours[1][0], err, sizeof err);
        close_ranks(&r, 2);
        stop(&r);
        assert_string_equal(out, takes[i].out);
        assert_string_equal(err, takes[i].err);
        assert_int_equal(failures, 0);
    }
}

static int taken;

static void on_taken(void *host)
{
    (void)host;
    taken++;
}

static const struct places_ops taking_ops = { on_failed, NULL, on_taken };

/* A reader that stalls: what came is kept, the sender is told to wait, and later that it
 * need not. */
static void test_take_stall(void **state)
{
    struct run r = { .plan = { .output_from = -1 } };
    struct app app = { .n = 2 };
    struct host hosts[3];
    static char line[1000], got[2000000];
    size_t sent = 0, n = 0;

    (void)state;
    add_hosts(&r.plan, hosts, 3);
    r.plan.apps = &app;
    r.plan.napps = 1;
    memset(line, 'x', sizeof line);
    line[sizeof line - 1] = '\n';
    *trouble = '\0';
    taken = 0;
    redirect();
    open_run(&r, 0, "near", &taking_ops);
    while (sent < 3000000 && output_take(r.o, 1, -1, false, false, line, sizeof line))
        sent += sizeof line;
    sent += sizeof line;
    WANT(sent < 1800000);
    WANT(taken == 0);
    for (int idle = 0; idle < 5; idle++) {
        size_t more = take(ours[0][0], got + n, sizeof got - n);

        n += more;
        ev_run(ev_default_loop(0), EVRUN_NOWAIT);
        places_flush(&r.places);
        if (more)
            idle = 0;
    }
    WANT(taken > 0);
    WANT(n == sent);
    close_run(&r);
    restore();
    assert_string_equal(trouble, "");
}

/* Files of ranks of other nodes: named by the node that they are on. */
static void test_take_files(void **state)
{
    struct run r = { .plan = { .output_from = -1 } };
    struct host hosts[3];
    char pattern[200], path[200], got[100];
    struct err e = { 0 };
    FILE *f;

    (void)state;
    snprintf(pattern, sizeof pattern, "%s/%%h.%%r", folder);
    r.plan.outfile = pattern;
    add_hosts(&r.plan, hosts, 3);
    start(&r, 1);
    r.plan.apps->n = 3;                  /* before the first of them is asked for */
    WANT(output_open(r.o, 1, 1, &e) == 0);
    WANT(output_open(r.o, 2, 2, &e) == 0);
    WANT(output_take(r.o, 1, 1, false, false, "one", 3));
    WANT(output_take(r.o, 2, 2, false, false, "two\n", 4));
    WANT(output_take(r.o, 1, 1, false, false, " more\n", 6));
    WANT(output_take(r.o, 1, -1, true, false, "error\n", 6));
    turn(&r);
    take(ours[1][0], got, sizeof got);
    WANT(!strcmp(got, "error\n"));
    take(ours[0][0], got, sizeof got);
    WANT(!*got);
    close_ranks(&r, 1);
    stop(&r);
    for (int i = 0; i < 3; i++) {
        static const char *const names[] = { "node.0", "far1.1", "far2.2" };
        static const char *const wanted[] = { "", "one more\n", "two\n" };
        size_t n;

        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        f = fopen(path, "r");
        assert_non_null(f);
        n = fread(got, 1, sizeof got - 1, f);
        got[n] = '\0';
        fclose(f);
        unlink(path);
        assert_string_equal(got, wanted[i]);
    }
    unlink(path);
}

/* --- several jobs -------------------------------------------------------- */

/* A job beside r's, in the same places. */
static void start_beside(struct run *more, struct run *r, int number, int ranks)
{
    more->plan.apps = calloc(1, sizeof *more->plan.apps);
    more->plan.napps = 1;
    more->plan.apps->n = ranks;
    more->o = output_of(&r->places, &more->plan, number, 0, "node");
    WANT(more->o != NULL);
    for (int i = 0; i < ranks; i++)
        add_rank(more, i);
}

static void stop_beside(struct run *more)
{
    output_free(more->o);
    more->o = NULL;
    free(more->plan.apps);
    more->plan.apps = NULL;
}

/* Steps: job, rank, o or e, text; "0!" or "1!": that job's streams end and it is freed. */
static const struct {
    const char *name, *label;
    int ranks;               /* of each */
    const char *steps[STEPS], *out, *err;
} jobs[] = {
    { "lines stay whole", NULL, 2, { "00o a", "10o b\n", "00o c\n", "11o d\n", "10e x", "00e y\n",
      "10e z\n" }, "b\nac\nd\n", "y\nxz\n" },
    { "of one rank each, too", NULL, 1, { "00o a", "10o b", "00o c\n", "10o d\n" }, "ac\nbd\n",
      "" },
    { "labels say whose it is", "[%g.%r] ", 2, { "00o a\n", "10o b\n", "11o c\n", "01e d\n" },
      "[0.0] a\n[1.0] b\n[1.1] c\n", "[0.1] d\n" },
    { "one ends in the middle of a line", NULL, 2, { "10o half", "1!", "00o x\n" }, "halfx\n", "" },
    { "the same with labels", "%g: ", 2, { "10o half", "1!", "00o x\n" }, "1: half\n0: x\n", "" },
    { "both do, with labels", "%g: ", 2, { "10o half", "00o x", "1!", "0!" }, "1: half\n0: x", "" },
    { "the first one ends first", "%g: ", 2, { "00o half", "0!", "10o x\n", "11o y" },
      "0: half\n1: x\n1: y", "" },
};

static void play_jobs(size_t i, struct run *r, struct run *more)
{
    for (int k = 0; k < STEPS && jobs[i].steps[k]; k++) {
        const char *s = jobs[i].steps[k], *text = s + 4;
        struct run *who = *s == '1' ? more : r;

        if (s[1] == '!') {
            close_ranks(who, jobs[i].ranks);
            turn(r);
            WANT(output_ended(who->o));
            output_free(who->o);
            who->o = NULL;
            continue;
        }
        WANT(write(who->fd[s[1] - '0'][s[2] == 'e'], text, strlen(text)) == (ssize_t)strlen(text));
        turn(r);
    }
}

static void test_jobs(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OF(jobs); i++) {
        struct run r = { .plan = { .output_from = -1, .label = (char *)jobs[i].label } };
        struct run more = r;
        char out[1000], err[1000];

        print_message("  %s\n", jobs[i].name);
        start(&r, jobs[i].ranks);
        start_beside(&more, &r, 1, jobs[i].ranks);
        output_mind_lines(r.o);
        output_mind_lines(more.o);
        play_jobs(i, &r, &more);
        close_ranks(&r, jobs[i].ranks);
        close_ranks(&more, jobs[i].ranks);
        turn(&r);
        WANT(places_flushed(&r.places));
        take(ours[0][0], out, sizeof out);
        take(ours[1][0], err, sizeof err);
        stop_beside(&more);
        stop(&r);
        assert_string_equal(out, jobs[i].out);
        assert_string_equal(err, jobs[i].err);
        assert_int_equal(failures, 0);
    }
}

/* A job that comes where one was that left a line unfinished is not taken for it. */
static void test_job_after_job(void **state)
{
    struct run r = { .plan = { .output_from = -1, .label = (char *)"%g: " } };
    char out[2000], want_out[2000] = "";

    (void)state;
    start(&r, 1);
    for (int i = 1; i < 40; i++) {
        struct run more = { .plan = r.plan };

        start_beside(&more, &r, i, 1);
        WANT(write(more.fd[0][0], "half", 4) == 4);
        turn(&r);
        close_ranks(&more, 1);
        turn(&r);
        stop_beside(&more);
        snprintf(want_out + strlen(want_out), 20, "%s%d: half", i > 1 ? "\n" : "", i);
    }
    take(ours[0][0], out, sizeof out);
    close_ranks(&r, 1);
    turn(&r);
    stop(&r);
    assert_string_equal(out, want_out);
}

/* Our reader stalls: ranks of both jobs wait, and both go on when it reads again; also
 * when one of them has ended and is freed meanwhile. */
static void test_jobs_stall(void **state)
{
    enum { BYTES = 2000000 };
    char *got = malloc(2 * BYTES);

    (void)state;
    assert_non_null(got);
    for (int drop = 0; drop < 2; drop++) {
        struct run r = { .plan = { .output_from = -1 } }, more = r, *who[] = { &r, &more };
        size_t n = 0, wrote[2] = { 0 }, seen[2] = { 0 };
        char line[100];

        start(&r, 1);
        start_beside(&more, &r, 1, 1);
        output_mind_lines(r.o);
        output_mind_lines(more.o);
        for (int idle = 0; idle < 5; idle++)             /* until nothing more goes in */
            for (int i = 0; i < 2; i++) {
                memset(line, 'a' + i, sizeof line);
                line[sizeof line - 1] = '\n';
                fcntl(who[i]->fd[0][0], F_SETFL, O_NONBLOCK);
                while (write(who[i]->fd[0][0], line, sizeof line) == sizeof line) {
                    wrote[i] += sizeof line;
                    idle = 0;
                }
                turn(&r);
            }
        WANT(wrote[0] && wrote[1] && wrote[0] + wrote[1] < BYTES);
        WANT(places_full(&r.places) && !places_flushed(&r.places));
        if (drop) {
            close_ranks(&more, 1);
            output_close_streams(more.o);
            WANT(output_ended(more.o));
            stop_beside(&more);
        }
        for (int idle = 0; idle < 5; idle++) {
            size_t k = take(ours[0][0], got + n, 2 * BYTES - n);

            n += k;
            idle = k ? 0 : idle;
            turn(&r);
        }
        WANT(!places_full(&r.places));
        for (size_t at = 0; at + sizeof line <= n; at += sizeof line) {
            WANT(got[at] == got[at + 50] && got[at + sizeof line - 1] == '\n');
            seen[got[at] == 'b'] += sizeof line;
        }
        WANT(n == wrote[0] + wrote[1] && seen[0] == wrote[0] && seen[1] == wrote[1]);
        close_ranks(&r, 1);
        close_ranks(&more, drop ? 0 : 1);
        turn(&r);
        stop_beside(&more);
        stop(&r);
    }
    free(got);
}

/* A file of two jobs is one place, whatever it is called; it is emptied once. */
static void test_jobs_file(void **state)
{
    struct run r = { .plan = { .output_from = -1 } };
    char name[100], other[100], text[200];
    int fd;

    (void)state;
    snprintf(name, sizeof name, "%s/shared", folder);
    snprintf(other, sizeof other, "%s/./shared", folder);
    r.plan.outfile = name;
    start(&r, 2);
    WANT(write(r.fd[0][0], "one", 3) == 3);
    WANT(write(r.fd[1][0], "two\n", 4) == 4);
    turn(&r);
    for (int i = 1; i < 3; i++) {
        struct run more = { .plan = { .output_from = -1, .outfile = i == 1 ? name : other } };

        start_beside(&more, &r, i, 1);
        output_mind_lines(more.o);
        WANT(write(more.fd[0][0], "three\n", 6) == 6);
        turn(&r);
        close_ranks(&more, 1);
        turn(&r);
        stop_beside(&more);
    }
    close_ranks(&r, 2);
    turn(&r);
    stop(&r);
    fd = open(name, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    take(fd, text, sizeof text);
    close(fd);
    unlink(name);
    assert_string_equal(text, "two\nthree\nthree\none");
}

/* Output of another node, of two jobs: each puts its own lines together. */
static void test_take_jobs(void **state)
{
    struct run r = { .plan = { .output_from = -1 } }, more = r;
    struct host hosts[3];
    char out[200];

    (void)state;
    add_hosts(&r.plan, hosts, 3);
    add_hosts(&more.plan, hosts, 3);
    start(&r, 1);
    start_beside(&more, &r, 1, 1);
    WANT(output_take(r.o, 1, -1, false, false, "a", 1));
    WANT(output_take(more.o, 1, -1, false, false, "x", 1));
    WANT(output_take(r.o, 1, -1, false, false, "b\n", 2));
    WANT(output_take(more.o, 1, -1, false, false, "y\nz", 3));
    output_end_far(more.o);
    close_ranks(&more, 1);
    turn(&r);
    stop_beside(&more);
    WANT(output_take(r.o, 2, -1, false, false, "c\n", 2));
    turn(&r);
    take(ours[0][0], out, sizeof out);
    WANT(!strcmp(out, "ab\nxy\nzc\n"));
    close_ranks(&r, 1);
    turn(&r);
    stop(&r);
}

/* A host that comes later is none of the job's: nothing of it is shown. */
static void test_take_later(void **state)
{
    struct run r = { .plan = { .output_from = -1 } };
    struct host hosts[3];
    char out[200];

    (void)state;
    add_hosts(&r.plan, hosts, 2);
    start(&r, 1);
    WANT(output_take(r.o, 1, -1, false, false, "a\n", 2));
    add_hosts(&r.plan, hosts, 3);
    WANT(output_take(r.o, 2, -1, false, false, "b\n", 2));
    r.plan.nhosts = 100000;
    output_end_far(r.o);
    turn(&r);
    take(ours[0][0], out, sizeof out);
    WANT(!strcmp(out, "a\n"));
    close_ranks(&r, 1);
    turn(&r);
    stop(&r);
    assert_int_equal(failures, 0);
}

/* --- on another node --------------------------------------------------- */

static struct { char text[2][4000]; size_t n[2], room; int rank[2]; } sent_to;

static size_t on_send(void *host, int rank, bool errors, const char *data, size_t len)
{
    size_t n = len < sent_to.room ? len : sent_to.room;

    (void)host;
    if (sent_to.n[errors] + n >= sizeof sent_to.text[0])
        n = 0;
    memcpy(sent_to.text[errors] + sent_to.n[errors], data, n);
    sent_to.n[errors] += n;
    sent_to.room -= n;
    sent_to.rank[errors] = rank;
    return n;
}

static const struct places_ops sending_ops = { on_failed, on_send, NULL };

/* Ranks' output goes to send; what it does not take waits, and in the end nothing is
 * missing or twice. */
static void test_send(void **state)
{
    (void)state;
    for (int labels = 0; labels < 2; labels++) {
        struct run r = { .plan = { .output_from = -1 } };
        struct app app = { .n = 2 };
        struct host hosts[3];
        char all[4000] = "";

        memset(&sent_to, 0, sizeof sent_to);
        r.plan.label = labels ? (char *)"[%r@%h] " : NULL;
        r.plan.apps = &app;
        r.plan.napps = 1;
        add_hosts(&r.plan, hosts, 3);
        *trouble = '\0';
        redirect();
        open_run(&r, 1, "far1", &sending_ops);
        add_rank(&r, 0);
        add_rank(&r, 1);
        for (int i = 0; i < 60; i++) {
            char line[40];
            int len = snprintf(line, sizeof line, "line %d\n", i);

            WANT(write(r.fd[i % 2][0], line, (size_t)len) == len);
            if (labels)
                snprintf(all + strlen(all), 40, "[%d@far1] ", i % 2);
            snprintf(all + strlen(all), 40, "%s", line);
            sent_to.room += (size_t)(rand() % 12);
            turn(&r);
            places_go_on(&r.places);
            turn(&r);
        }
        WANT(write(r.fd[1][1], "oops\n", 5) == 5);
        close_ranks(&r, 2);
        for (int i = 0; i < 100; i++) {
            sent_to.room = 100;
            turn(&r);
            places_go_on(&r.places);
        }
        WANT(output_ended(r.o) && places_flushed(&r.places));
        WANT(sent_to.rank[0] == -1 && sent_to.rank[1] == -1);
        close_run(&r);
        restore();
        assert_string_equal(trouble, "");
        assert_int_equal(strlen(sent_to.text[0]), strlen(all));
        assert_string_equal(sent_to.text[1], labels ? "[1@far1] oops\n" : "oops\n");
        if (!labels)
            continue;
        /* Of each rank in order. */
        for (int k = 0, last[2] = { -1, -1 }; k < 60; k++) {
            static char *at;
            int rank, number;

            at = k ? strchr(at, '\n') + 1 : sent_to.text[0];
            assert_int_equal(sscanf(at, "[%d@far1] line %d\n", &rank, &number), 2);
            assert_true(number > last[rank]);
            last[rank] = number;
        }
    }
}

/* With files, a rank's own output is told from others'. */
static void test_send_apart(void **state)
{
    struct run r = { .plan = { .output_from = -1, .outfile = (char *)"x.%r" } };
    struct app app = { .n = 2 };
    struct host hosts[3];

    (void)state;
    memset(&sent_to, 0, sizeof sent_to);
    sent_to.room = 1000;
    r.plan.apps = &app;
    r.plan.napps = 1;
    add_hosts(&r.plan, hosts, 3);
    *trouble = '\0';
    redirect();
    open_run(&r, 1, "far1", &sending_ops);
    add_rank(&r, 1);
    WANT(write(r.fd[1][0], "a\n", 2) == 2);
    WANT(write(r.fd[1][1], "b\n", 2) == 2);
    turn(&r);
    WANT(sent_to.rank[0] == 1 && sent_to.rank[1] == -1);
    WANT(!strcmp(sent_to.text[0], "a\n") && !strcmp(sent_to.text[1], "b\n"));
    for (int i = 0; i < 2; i++)
        close(r.fd[1][i]);
    close_run(&r);
    restore();
    assert_string_equal(trouble, "");
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int drop_folder(void **state)
{
    (void)state;
    rmdir(folder);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases), cmocka_unit_test(test_stall), cmocka_unit_test(test_files),
        cmocka_unit_test(test_prompt), cmocka_unit_test(test_no_prompt),
        cmocka_unit_test(test_together), cmocka_unit_test(test_flush),
        cmocka_unit_test(test_reader_gone),
        cmocka_unit_test(test_tell), cmocka_unit_test(test_close_streams),
        cmocka_unit_test(test_take), cmocka_unit_test(test_take_stall),
        cmocka_unit_test(test_take_files), cmocka_unit_test(test_send),
        cmocka_unit_test(test_send_apart), cmocka_unit_test(test_jobs),
        cmocka_unit_test(test_job_after_job), cmocka_unit_test(test_jobs_stall),
        cmocka_unit_test(test_jobs_file), cmocka_unit_test(test_take_jobs),
        cmocka_unit_test(test_take_later),
        cmocka_unit_test(test_no_memory), cmocka_unit_test(test_no_memory_later),
    };
    int rc;

    signal(SIGPIPE, SIG_IGN);
    ev_default_loop(0);
    rc = cmocka_run_group_tests_name("output", tests, make_folder, drop_folder);
    ev_loop_destroy(ev_default_loop(0));
    return rc;
}

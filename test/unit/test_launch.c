/* test_launch.c - mpiexec_lite/launch: what happened -> what is killed and when, what
 * the user is told, and the exit status.
 *
 * A row is a run of ranks on host "node" whose pids are 100 and up and whose
 * program is "prog".  An event is "TIME what rank ..."; what the launcher does is
 * written down with its time, one line each: "1.0 all TERM", "1.0 rank 2 TERM",
 * "1.0 tell ...".  Between events every timer that is due has run. */
#include "mpiexec_lite/launch.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "test/unit/fake_memory.h"

#define N_OF(a) (sizeof (a) / sizeof *(a))
#define R(n) "rank " #n " on node (pid 10" #n ", prog)"
#define TERM(t) t " all TERM\n"
#define KILL(t) t " all KILL\n"

enum { EVENTS = 16 };

struct run {
    struct launch l;
    double        now, swept;        /* when the last sweep was asked for */
    int           sweeps;
    char          log[8192];
    size_t        n;
};

static void note(struct run *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void note(struct run *r, const char *fmt, ...)
{
    va_list ap;

    r->n += (size_t)snprintf(r->log + r->n, sizeof r->log - r->n, "%.1f ", r->now);
    va_start(ap, fmt);
    r->n += (size_t)vsnprintf(r->log + r->n, sizeof r->log - r->n, fmt, ap);
    va_end(ap);
    assert_true(r->n < sizeof r->log);
}

static void on_kill_all(void *host, int signo)
{
    note(host, "all %s\n", sigabbrev_np(signo));
}

static void on_kill_rank(void *host, int rank, int signo)
{
    note(host, "rank %d %s\n", rank, sigabbrev_np(signo));
}

static void on_tell(void *host, const char *text)
{
    note(host, "tell %s\n", text);
}

static const char *hostname(void *host, int rank)
{
    (void)host;
    (void)rank;
    return "node";
}

static const char *program(void *host, int rank)
{
    (void)host;
    (void)rank;
    return "prog";
}

static void on_sweep(void *host)
{
    struct run *r = host;

    r->sweeps++;
    r->swept = r->now;
}

static const struct launch_ops ops = { on_kill_all, on_kill_rank, on_tell, on_sweep };

static int signal_named(const char *name)
{
    for (int s = 1; s < 32; s++)
        if (!strcmp(sigabbrev_np(s), name))
            return s;
    fail();
    return 0;
}

static void tick_until(struct run *r, double to)
{
    double at;

    while ((at = launch_due(&r->l)) > 0 && at <= to) {
        r->now = at > r->now ? at : r->now;
        launch_tick(&r->l, r->now);
    }
    r->now = to;
}

static void order(struct launch *l, double at, const char *what, int rank, int signo)
{
    static const char *const names[] = {
        [ORDER_SIGNAL] = "send", [ORDER_PAUSE] = "pause", [ORDER_RESUME] = "resume",
        [ORDER_TERMINATE] = "terminate", [ORDER_KILL] = "kill",
    };

    for (size_t i = 0; i < N_OF(names); i++)
        if (!strcmp(what, names[i])) {
            launch_order(l, at, rank, (enum order)i, signo, "a tool");
            return;
        }
    assert_string_equal(what, "");
}

/* One event, text as above. */
static void happen(struct run *r, const char *event)
{
    char what[16] = "", word[64] = "", *rest;
    struct launch *l = &r->l;
    double at = strtod(event, &rest);
    int rank = 0, n = 0, used = 0;

    tick_until(r, at);
    if (sscanf(rest, " %15s %d%n", what, &rank, &used) >= 2)
        rest += used;
    if (sscanf(rest, " %d", &n) != 1)
        sscanf(rest, " %63s", word);
    if (!strcmp(what, "init"))
        launch_initialized(l, rank);
    else if (!strcmp(what, "fin"))
        launch_finalized(l, rank);
    else if (!strcmp(what, "exit"))
        launch_ended(l, at, rank, n << 8);
    else if (!strcmp(what, "die"))
        launch_ended(l, at, rank, signal_named(word));
    else if (!strcmp(what, "dump"))
        launch_ended(l, at, rank, signal_named(word) | 0x80);
    else if (!strcmp(what, "abort"))
        launch_aborted(l, at, rank, true, n, strchr(rest, ':') ? strchr(rest, ':') + 1 : "");
    else if (!strcmp(what, "leave"))
        launch_aborted(l, at, rank, false, n, "");
    else if (!strcmp(what, "break"))
        launch_protocol(l, at, rank, "it said boo");
    else if (!strcmp(what, "hangup"))
        launch_hung_up(l, at, rank);
    else if (!strcmp(what, "stuck"))
        launch_stuck(l, at, rank, n);
    else if (!strcmp(what, "signal"))
        launch_signal(l, at, rank);
    else if (!strcmp(what, "broken"))
        launch_broken(l, at, rank, "the launcher is broken");
    else if (!strcmp(what, "reader"))
        launch_reader_gone(l, at);
    else if (!strcmp(what, "nostart"))
        launch_failed_to_start(l, at, rank, !strcmp(word, "exec") ? "exec" : word,
                               !strcmp(word, "exec") ? ENOENT : EAGAIN);
    else if (!strcmp(what, "never"))
        launch_never_ran(l, rank);
    else if (!strcmp(what, "nodelost"))
        launch_node_lost(l, at, "node lost");
    else if (!strcmp(what, "lost"))
        launch_lost(l, rank);
    else if (!strcmp(what, "noexec"))
        launch_failed_to_start(l, at, rank, "exec", EACCES);
    else if (!strcmp(what, "hold"))
        launch_hold(l);
    else
        order(l, at, what, rank, n);
}

static const struct {
    const char *name;
    int         size;
    bool        any, going;              /* -end-on-nonzero, -disable-auto-cleanup */
    double      timeout;
    const char *events[EVENTS];
    const char *log;
    int         status;
} cases[] = {
    /* --- every rank to its own end --- */
    { "all well", 2, .events = { "1 init 0", "1 init 1", "2 fin 0", "2 fin 1", "3 exit 0 0",
      "3 exit 1 0" }, .log = "", .status = 0 },
    { "no PMI, all well", 2, .events = { "1 exit 0 0", "1 exit 1 0" }, .log = "", .status = 0 },
    { "the highest status counts", 3, .events = { "1 exit 0 3", "2 exit 1 7", "3 exit 2 5" },
      .log = "3.0 tell " R(0) " exited with 3\n3.0 tell " R(1) " exited with 7\n"
             "3.0 tell " R(2) " exited with 5\n", .status = 7 },
    { "equal neighbours are told in one line", 4, .events = { "1 exit 0 0", "1 exit 1 3",
      "1 exit 2 3", "1 exit 3 3" },
      .log = "1.0 tell ranks 1-3 on node (prog) exited with 3\n", .status = 3 },
    { "non-zero after finalize ends nobody else", 2, .events = { "1 init 0", "1 init 1",
      "2 fin 0", "2 exit 0 9", "5 fin 1", "5 exit 1 0" },
      .log = "5.0 tell " R(0) " exited with 9\n", .status = 9 },

    /* --- the first failure --- */
    { "a signal", 2, .events = { "1 init 0", "1 die 1 SEGV", "1.5 exit 0 0" },
      .log = "1.0 tell " R(1) " killed by signal 11 (SIGSEGV)\n" TERM("1.0"), .status = 139 },
    { "a core dump", 1, .events = { "1 dump 0 ABRT" },
      .log = "1.0 tell " R(0) " killed by signal 6 (SIGABRT), core dumped\n" TERM("1.0"),
      .status = 134 },
    { "exit inside PMI", 2, .events = { "1 init 0", "2 exit 0 4", "3 exit 1 0" },
      .log = "2.0 tell " R(0) " exited with 4 without finalize\n" TERM("2.0"), .status = 4 },
    { "exit 0 inside PMI is 1", 2, .events = { "1 init 0", "2 exit 0 0", "3 exit 1 0" },
      .log = "2.0 tell " R(0) " exited with 0 without finalize\n" TERM("2.0"), .status = 1 },
    { "what dies after it is a consequence", 3, .events = { "1 init 0", "1 init 1", "1 init 2",
      "2 exit 1 4", "2.1 die 0 TERM", "2.2 die 2 SEGV" },
      .log = "2.0 tell " R(1) " exited with 4 without finalize\n" TERM("2.0"), .status = 4 },
    { "TERM, and KILL 2 s later", 2, .events = { "1 die 1 SEGV", "9 die 0 KILL" },
      .log = "1.0 tell " R(1) " killed by signal 11 (SIGSEGV)\n" TERM("1.0") KILL("3.0"),
      .status = 139 },
    { "-end-on-nonzero", 2, .any = true, .events = { "1 exit 0 5", "2 exit 1 0" },
      .log = "1.0 tell " R(0) " exited with 5\n" TERM("1.0"), .status = 5 },
    { "-end-on-nonzero after finalize", 2, .any = true, .events = { "1 init 0", "1 fin 0",
      "1 exit 0 5", "2 exit 1 0" },
      .log = "1.0 tell " R(0) " exited with 5\n" TERM("1.0"), .status = 5 },
    { "-disable-auto-cleanup: the first failure's status, nobody killed", 3, .going = true,
      .events = { "1 die 0 SEGV", "2 init 1", "2 exit 1 3", "9 exit 2 200" },
      .log = "1.0 tell " R(0) " killed by signal 11 (SIGSEGV)\n"
             "2.0 tell " R(1) " exited with 3 without finalize\n", .status = 139 },
    { "-disable-auto-cleanup: exit 0 inside PMI", 1, .going = true, .events = { "1 init 0",
      "1 exit 0 0" }, .log = "1.0 tell " R(0) " exited with 0 without finalize\n",
      .status = 1 },

    /* --- nodes --- */
    { "a node is lost: its ranks end with it, the job ends", 4, .events = { "1 init 0",
      "1 init 2", "2 nodelost 0", "2 lost 2", "2 lost 3", "2.5 die 0 TERM", "2.5 die 1 TERM" },
      .log = "2.0 tell node lost\n" TERM("2.0"), .status = 255 },
    { "a node is lost, others ignore TERM", 2, .events = { "2 nodelost 0", "2 lost 1",
      "5 die 0 KILL" }, .log = "2.0 tell node lost\n" TERM("2.0") KILL("4.0"), .status = 255 },
    { "a node is lost while the job ends: no news", 2, .events = { "1 die 0 SEGV",
      "2 nodelost 0", "2 lost 1" },
      .log = "1.0 tell " R(0) " killed by signal 11 (SIGSEGV)\n" TERM("1.0"), .status = 139 },
    { "a rank that had ended is not lost", 2, .events = { "1 exit 1 0", "2 nodelost 0",
      "2 lost 1", "2 lost 1", "2.5 die 0 TERM" },
      .log = "2.0 tell node lost\n" TERM("2.0"), .status = 255 },
    { "-disable-auto-cleanup: the others go on", 3, .going = true, .events = { "1 init 0",
      "1 init 2", "2 nodelost 0", "2 lost 2", "9 fin 0", "9 exit 0 0", "9 exit 1 0" },
      .log = "2.0 tell node lost\n", .status = 255 },
    { "-disable-auto-cleanup: the first cause counts", 3, .going = true, .events = {
      "1 die 0 SEGV", "2 nodelost 0", "2 lost 2", "9 exit 1 0" },
      .log = "1.0 tell " R(0) " killed by signal 11 (SIGSEGV)\n2.0 tell node lost\n",
      .status = 139 },
    { "lost while its hang-up is timed", 2, .events = { "1 init 1", "1 hangup 1",
      "1.1 nodelost 0", "1.1 lost 1", "9 die 0 TERM" },
      .log = "1.1 tell node lost\n" TERM("1.1") KILL("3.1"), .status = 255 },
    { "some never ran", 3, .events = { "1 die 0 SEGV", "1.5 never 2", "1.5 never 2",
      "2 die 1 TERM" },
      .log = "1.0 tell " R(0) " killed by signal 11 (SIGSEGV)\n" TERM("1.0"), .status = 139 },

    /* --- orders --- */
    { "a job is paused and goes on", 2, .events = { "1 pause -1", "2 resume -1", "3 exit 0 0",
      "3 exit 1 0" }, .log = "1.0 all STOP\n2.0 all CONT\n", .status = 0 },
    { "what is paused stays so when the launcher goes on", 3, .events = { "1 pause 1", "2 hold",
      "3 signal 18", "4 resume 1", "5 signal 18", "6 exit 0 0", "6 exit 1 0", "6 exit 2 0" },
      .log = "1.0 rank 1 STOP\n2.0 all STOP\n3.0 rank 0 CONT\n3.0 rank 2 CONT\n"
             "4.0 rank 1 CONT\n5.0 all CONT\n", .status = 0 },
    { "what is to go on waits for the launcher", 2, .events = { "1 hold", "2 pause 0",
      "3 resume 0", "4 signal 18", "5 exit 0 0", "5 exit 1 0" },
      .log = "1.0 all STOP\n2.0 rank 0 STOP\n4.0 all CONT\n", .status = 0 },
    { "one that ends is not paused any more", 2, .going = true, .events = { "1 pause 1",
      "2 die 1 KILL", "3 signal 18", "4 exit 0 0" },
      .log = "1.0 rank 1 STOP\n2.0 tell " R(1) " killed by signal 9 (SIGKILL)\n3.0 all CONT\n",
      .status = 137 },
    { "STOP and CONT are pause and resume", 2, .events = { "1 send 1 19", "2 signal 18",
      "3 send -1 18", "4 send 0 10", "5 exit 0 0", "5 exit 1 0" },
      .log = "1.0 rank 1 STOP\n2.0 rank 0 CONT\n3.0 all CONT\n4.0 rank 0 USR1\n",
      .status = 0 },
    { "a job is terminated, though it is paused", 2, .events = { "1 pause -1",
      "2 terminate -1", "9 die 0 KILL", "9 die 1 KILL" },
      .log = "1.0 all STOP\n2.0 tell ended by order of a tool\n" TERM("2.0")
             "2.0 all CONT\n" KILL("4.0"), .status = 143 },
    { "a job is killed", 2, .events = { "1 kill -1", "1.1 die 0 KILL", "1.1 die 1 KILL" },
      .log = "1.0 tell ended by order of a tool\n" KILL("1.0"), .status = 137 },
    { "one that is ending is killed", 2, .events = { "1 terminate -1", "1.5 kill -1",
      "1.6 die 0 KILL", "1.6 die 1 KILL" },
      .log = "1.0 tell ended by order of a tool\n" TERM("1.0") KILL("1.5"), .status = 143 },
    { "a rank is terminated, paused as it is, and its end is as any", 2, .events = {
      "1 pause 1", "2 terminate 1", "5 die 1 KILL", "5.5 exit 0 0" },
      .log = "1.0 rank 1 STOP\n2.0 rank 1 TERM\n2.0 rank 1 CONT\n4.0 rank 1 KILL\n"
             "5.0 tell " R(1) " killed by signal 9 (SIGKILL)\n" TERM("5.0"), .status = 137 },
    { "a rank is killed", 2, .going = true, .events = { "1 kill 1", "1.1 die 1 KILL",
      "5 exit 0 0" },
      .log = "1.0 rank 1 KILL\n1.1 tell " R(1) " killed by signal 9 (SIGKILL)\n",
      .status = 137 },

    /* --- abort --- */
    { "abort", 2, .events = { "1 init 0", "1 abort 0 3 :bad luck", "1.1 exit 0 3",
      "1.2 die 1 TERM" },
      .log = "1.0 tell " R(0) " called abort(3): bad luck\n" TERM("1.0"), .status = 3 },
    { "abort without a text", 1, .events = { "1 abort 0 1", "1 exit 0 1" },
      .log = "1.0 tell " R(0) " called abort(1)\n" TERM("1.0"), .status = 1 },
    { "abort(0) is 1", 1, .events = { "1 abort 0 0", "1 exit 0 0" },
      .log = "1.0 tell " R(0) " called abort(0)\n" TERM("1.0"), .status = 1 },
    { "abort(-1) is 255", 1, .events = { "1 abort 0 -1", "1 exit 0 0" },
      .log = "1.0 tell " R(0) " called abort(-1)\n" TERM("1.0"), .status = 255 },
    { "abort(256) is 1", 1, .events = { "1 abort 0 256", "1 exit 0 0" },
      .log = "1.0 tell " R(0) " called abort(256)\n" TERM("1.0"), .status = 1 },
    { "the first abort counts", 2, .events = { "1 abort 1 4", "1 abort 0 5", "2 exit 0 0",
      "2 exit 1 0" }, .log = "1.0 tell " R(1) " called abort(4)\n" TERM("1.0"), .status = 4 },
    { "Abort(FALSE) ends its caller only", 2, .events = { "1 init 0", "1 init 1", "2 leave 1 6",
      "2 die 1 TERM", "9 fin 0", "9 exit 0 0" },
      .log = "2.0 tell " R(1) " aborted itself alone (6)\n2.0 rank 1 TERM\n", .status = 6 },
    { "Abort(FALSE) of one that goes by itself", 2, .events = { "1 init 1", "2 leave 1 0",
      "2 exit 1 0", "9 exit 0 0" },
      .log = "2.0 tell " R(1) " aborted itself alone (0)\n2.0 rank 1 TERM\n", .status = 1 },
    { "Abort(FALSE) that ignores TERM is killed 2 s later", 2, .events = { "1 init 0",
      "1 init 1", "2 leave 1 6", "4 die 1 KILL", "9 fin 0", "9 exit 0 0" },
      .log = "2.0 tell " R(1) " aborted itself alone (6)\n2.0 rank 1 TERM\n4.0 rank 1 KILL\n",
      .status = 6 },
    { "Abort(FALSE) of two, each with its own time", 3, .events = { "2 leave 0 6",
      "3 leave 2 7", "4.5 die 0 KILL", "5.5 die 2 KILL", "9 exit 1 0" },
      .log = "2.0 tell " R(0) " aborted itself alone (6)\n2.0 rank 0 TERM\n"
             "3.0 tell " R(2) " aborted itself alone (7)\n3.0 rank 2 TERM\n"
             "4.0 rank 0 KILL\n5.0 rank 2 KILL\n", .status = 7 },
    { "Abort(FALSE) twice, then another's", 2, .events = { "1 leave 0 6", "3.5 leave 0 5",
      "4 leave 1 7", "7 die 0 KILL", "7 die 1 KILL" },
      .log = "1.0 tell " R(0) " aborted itself alone (6)\n1.0 rank 0 TERM\n3.0 rank 0 KILL\n"
             "3.5 tell " R(0) " aborted itself alone (5)\n3.5 rank 0 TERM\n"
             "4.0 tell " R(1) " aborted itself alone (7)\n4.0 rank 1 TERM\n"
             "5.5 rank 0 KILL\n6.0 rank 1 KILL\n", .status = 7 },
    { "Abort(FALSE), and a fence misses it", 2, .events = { "1 init 0", "1 init 1",
      "2 leave 1 6", "2.5 die 1 TERM", "2.5 stuck 1 0", "3 die 0 TERM" },
      .log = "2.0 tell " R(1) " aborted itself alone (6)\n2.0 rank 1 TERM\n"
             "2.5 tell " R(1) " aborted alone with 6, and rank 0 waits for it in a fence\n"
             TERM("2.5"), .status = 6 },
    { "Abort(FALSE), then another rank fails: its status", 3, .events = { "1 init 1",
      "1 leave 0 6", "2 die 1 SEGV", "4 die 0 KILL", "4 die 2 TERM" },
      .log = "1.0 tell " R(0) " aborted itself alone (6)\n1.0 rank 0 TERM\n"
             "2.0 tell " R(1) " killed by signal 11 (SIGSEGV)\n" TERM("2.0")
             "3.0 rank 0 KILL\n" KILL("4.0"), .status = 139 },
    { "Abort(FALSE) while the job ends", 2, .events = { "1 die 0 SEGV", "1 leave 1 6",
      "2 die 1 TERM" },
      .log = "1.0 tell " R(0) " killed by signal 11 (SIGSEGV)\n" TERM("1.0"), .status = 139 },
    { "a text of several lines", 1, .events = { "1 abort 0 3 :one\n\ntwo\nthree\n",
      "1 exit 0 3" },
      .log = "1.0 tell " R(0) " called abort(3): one\n1.0 tell rank 0: two\n"
             "1.0 tell rank 0: three\n" TERM("1.0"), .status = 3 },
    { "abort under -disable-auto-cleanup still ends the job", 2, .going = true,
      .events = { "1 abort 0 3", "2 exit 0 0", "2 exit 1 0" },
      .log = "1.0 tell " R(0) " called abort(3)\n" TERM("1.0"), .status = 3 },

    /* --- a rank that breaks the protocol, or its connection --- */
    { "protocol", 2, .events = { "1 break 1", "1 die 1 TERM", "1 die 0 TERM" },
      .log = "1.0 tell " R(1) " broke the PMI protocol: it said boo\n" TERM("1.0"),
      .status = 1 },
    { "protocol during the end is not told", 2, .events = { "1 abort 0 3", "1 break 1",
      "2 exit 0 0", "2 exit 1 0" },
      .log = "1.0 tell " R(0) " called abort(3)\n" TERM("1.0"), .status = 3 },
    { "protocol under -disable-auto-cleanup ends that rank only", 2, .going = true,
      .events = { "1 init 0", "1 init 1", "2 break 1", "2 die 1 TERM", "9 fin 0", "9 exit 0 0" },
      .log = "2.0 tell " R(1) " broke the PMI protocol: it said boo\n2.0 rank 1 TERM\n",
      .status = 1 },
    { "and kills it 2 s later", 2, .going = true, .events = { "2 break 1", "5 die 1 KILL",
      "9 exit 0 0" },
      .log = "2.0 tell " R(1) " broke the PMI protocol: it said boo\n2.0 rank 1 TERM\n"
             "4.0 rank 1 KILL\n", .status = 1 },
    { "hung up, then ended: its status counts", 2, .events = { "1 init 0", "2 hangup 0",
      "3 exit 0 9", "3 exit 1 0" },
      .log = "3.0 tell " R(0) " exited with 9 without finalize\n" TERM("3.0"), .status = 9 },
    { "hung up, and still there 2 s later", 2, .events = { "1 init 0", "2 hangup 0", "5 die 0 TERM",
      "5 exit 1 0" },
      .log = "4.0 tell " R(0) " broke the PMI protocol: closed its connection without "
             "finalize\n" TERM("4.0"), .status = 1 },
    { "hung up after finalize or before init", 2, .events = { "1 init 0", "1 fin 0",
      "2 hangup 0", "2 hangup 1", "9 exit 0 0", "9 exit 1 0" }, .log = "", .status = 0 },
    { "hung up under -disable-auto-cleanup", 1, .going = true, .events = { "1 init 0",
      "2 hangup 0", "5 die 0 TERM" },
      .log = "4.0 tell " R(0) " broke the PMI protocol: closed its connection without finalize\n"
             "4.0 rank 0 TERM\n", .status = 1 },

    /* --- a fence that misses somebody --- */
    { "stuck on one that failed: at once", 2, .events = { "1 init 0", "1 init 1", "2 fin 1",
      "2 exit 1 3", "2 stuck 1 0", "3 die 0 TERM" },
      .log = "2.0 tell " R(1) " exited with 3 after finalize, and rank 0 waits for it in a "
             "fence\n" TERM("2.0"), .status = 3 },
    { "stuck on one that left with 0: after 2 s", 2, .events = { "1 init 0", "2 exit 1 0",
      "2 stuck 1 0", "9 die 0 TERM" },
      .log = "4.0 tell " R(1) " exited with 0 before init, and rank 0 waits for it in a fence\n"
             TERM("4.0") KILL("6.0"), .status = 1 },
    { "stuck is looked at once", 3, .events = { "1 init 0", "2 exit 1 0", "2 stuck 1 0",
      "3 stuck 1 2", "4 die 0 TERM", "4 die 2 TERM" },
      .log = "4.0 tell " R(1) " exited with 0 before init, and rank 0 waits for it in a fence\n"
             TERM("4.0"), .status = 1 },
    { "stuck under -disable-auto-cleanup", 2, .going = true, .events = { "2 exit 1 0",
      "2 stuck 1 0", "9 exit 0 0" }, .log = "", .status = 0 },

    /* --- signals to the launcher --- */
    { "INT, TERM, KILL, 2 s apart", 1, .events = { "1 signal 2", "9 die 0 KILL" },
      .log = "1.0 all INT\n" TERM("3.0") KILL("5.0"), .status = 130 },
    { "INT is enough", 1, .events = { "1 signal 2", "1.5 die 0 INT" }, .log = "1.0 all INT\n",
      .status = 130 },
    { "INT twice: KILL at once", 1, .events = { "1 signal 2", "1.5 signal 2", "9 die 0 KILL" },
      .log = "1.0 all INT\n" KILL("1.5"), .status = 130 },
    { "TERM, KILL", 1, .events = { "1 signal 15", "9 die 0 KILL" },
      .log = TERM("1.0") KILL("3.0"), .status = 143 },
    { "TERM, then INT does not step back", 1, .events = { "1 signal 15", "2 signal 2",
      "9 die 0 KILL" }, .log = TERM("1.0") KILL("3.0"), .status = 143 },
    { "INT, then TERM goes on at once", 1, .events = { "1 signal 2", "2 signal 15",
      "9 die 0 KILL" }, .log = "1.0 all INT\n" TERM("2.0") KILL("4.0"), .status = 130 },
    { "INT, then TERM after its step: nothing more", 1, .events = { "1 signal 2", "3.5 signal 15",
      "9 die 0 KILL" }, .log = "1.0 all INT\n" TERM("3.0") KILL("5.0"), .status = 130 },
    { "TERM twice", 1, .events = { "1 signal 15", "2 signal 15", "9 die 0 KILL" },
      .log = TERM("1.0") KILL("3.0"), .status = 143 },
    { "TERM, INT, INT: KILL at the second", 1, .events = { "1 signal 15", "2 signal 2",
      "2.5 signal 2", "9 die 0 KILL" }, .log = TERM("1.0") KILL("2.5"), .status = 143 },
    { "INT after KILL: nothing more", 1, .events = { "1 signal 2", "1.5 signal 2",
      "3 signal 2", "4 signal 15", "9 die 0 KILL" }, .log = "1.0 all INT\n" KILL("1.5"),
      .status = 130 },
    { "a failure in INT's grace changes nothing", 2, .events = { "1 init 1", "1 signal 2",
      "1.2 exit 1 4", "1.5 break 0", "9 die 0 KILL" },
      .log = "1.0 all INT\n" TERM("3.0") KILL("5.0"), .status = 130 },
    { "an abort in INT's grace changes nothing", 1, .events = { "1 signal 2", "1.5 abort 0 3",
      "9 die 0 KILL" }, .log = "1.0 all INT\n" TERM("3.0") KILL("5.0"), .status = 130 },
    { "the launcher breaks in INT's grace", 1, .events = { "1 signal 2", "1.5 broken 255",
      "1.6 reader 0", "9 die 0 KILL" },
      .log = "1.0 all INT\n" TERM("3.0") KILL("5.0"), .status = 130 },
    { "a protocol error after KILL: nothing more", 1, .events = { "1 signal 15", "4 break 0",
      "9 die 0 KILL" }, .log = TERM("1.0") KILL("3.0"), .status = 143 },
    { "an abort after KILL: nothing more", 2, .events = { "1 die 0 SEGV", "4 abort 1 3",
      "9 die 1 KILL" },
      .log = "1.0 tell " R(0) " killed by signal 11 (SIGSEGV)\n" TERM("1.0") KILL("3.0"),
      .status = 139 },
    { "HUP is forwarded as HUP, KILL", 1, .events = { "1 signal 1", "9 die 0 KILL" },
      .log = "1.0 all HUP\n" TERM("3.0") KILL("5.0"), .status = 129 },
    { "HUP, then TERM: at once", 1, .events = { "1 signal 1", "2 signal 15",
      "9 die 0 KILL" }, .log = "1.0 all HUP\n" TERM("2.0") KILL("4.0"), .status = 129 },
    { "USR1 is passed on", 1, .events = { "1 signal 10", "2 exit 0 0" },
      .log = "1.0 all USR1\n", .status = 0 },
    { "a failure, then INT: the failure's status", 2, .events = { "1 die 0 SEGV",
      "1.5 signal 2", "9 die 1 KILL" },
      .log = "1.0 tell " R(0) " killed by signal 11 (SIGSEGV)\n" TERM("1.0") KILL("3.0"),
      .status = 139 },

    /* --- time, start-up, the launcher itself --- */
    { "-timeout", 1, .timeout = 3, .events = { "9 die 0 KILL" },
      .log = "3.0 tell time is up: APPLICATION TIMED OUT\n" TERM("3.0") KILL("5.0"),
      .status = 124 },
    { "-timeout while INT has its grace", 1, .timeout = 3, .events = { "2 signal 2",
      "9 die 0 KILL" }, .log = "2.0 all INT\n" TERM("4.0") KILL("6.0"), .status = 130 },
    { "in time", 1, .timeout = 3, .events = { "2 exit 0 0" }, .log = "", .status = 0 },
    { "a failure ends the time limit", 2, .timeout = 3, .events = { "2.5 die 0 SEGV",
      "4 die 1 TERM" },
      .log = "2.5 tell " R(0) " killed by signal 11 (SIGSEGV)\n" TERM("2.5"), .status = 139 },
    { "program missing", 2, .events = { "1 nostart 1 exec", "1 die 0 TERM", "1 exit 1 0" },
      .log = "1.0 tell node: cannot start rank 1 (prog): exec: No such file or directory\n"
             TERM("1.0"), .status = 127 },
    { "program not executable", 2, .events = { "1 noexec 1", "1 die 0 TERM", "1 exit 1 0" },
      .log = "1.0 tell node: cannot start rank 1 (prog): exec: Permission denied\n"
             TERM("1.0"), .status = 126 },
    { "no process", 2, .events = { "1 nostart 1 fork", "1 die 0 TERM", "1 exit 1 0" },
      .log = "1.0 tell node: cannot start rank 1 (prog): fork: Resource temporarily "
             "unavailable\n" TERM("1.0"), .status = 255 },
    { "the second that cannot start is not told", 2, .events = { "1 noexec 0",
      "1 nostart 1 exec", "1 exit 0 0", "1 exit 1 0" },
      .log = "1.0 tell node: cannot start rank 0 (prog): exec: Permission denied\n"
             TERM("1.0"), .status = 126 },
    { "the launcher is broken", 1, .events = { "1 broken 255", "2 broken 2", "2 die 0 TERM" },
      .log = "1.0 tell the launcher is broken\n" TERM("1.0"), .status = 255 },
    { "the reader of our output is gone", 1, .events = { "1 reader 0", "2 die 0 TERM" },
      .log = TERM("1.0"), .status = 141 },
};

static void start(struct run *r, int size)
{
    memset(r, 0, sizeof *r);
    assert_int_equal(launch_init(&r->l, &ops, r, size), 0);
    r->l.hostname = hostname;
    r->l.program = program;
    assert_true(launch_over(&r->l));
    for (int i = 0; i < size; i++)
        launch_started(&r->l, i, 100 + i);
    assert_false(launch_over(&r->l));
}

/* What KILL does not end is swept, once. */
static void test_sweep(void **state)
{
    struct run *r = malloc(sizeof *r);

    (void)state;
    assert_non_null(r);
    start(r, 2);
    happen(r, "1 signal 15");
    happen(r, "4.9 die 1 KILL");
    assert_int_equal(r->sweeps, 0);
    happen(r, "9 die 0 KILL");
    assert_int_equal(r->sweeps, 1);
    assert_true(r->swept == 5.0);
    assert_true(launch_over(&r->l));
    launch_clear(&r->l);
    free(r);
}

/* One that has ended is over, though the launcher lives on for others: nobody is killed any more. */
static void test_over(void **state)
{
    struct run *r = malloc(sizeof *r);

    (void)state;
    assert_non_null(r);
    start(r, 2);
    happen(r, "1 die 0 SEGV");
    happen(r, "1.5 die 1 TERM");
    happen(r, "9 signal 15");
    assert_int_equal(r->sweeps, 0);
    assert_null(strstr(r->log, "KILL"));
    assert_true(launch_due(&r->l) == 0);
    launch_clear(&r->l);
    free(r);
}

static void test_cases(void **state)
{
    struct run *r = malloc(sizeof *r);

    (void)state;
    assert_non_null(r);
    for (size_t i = 0; i < N_OF(cases); i++) {
        print_message("  %s\n", cases[i].name);
        start(r, cases[i].size);
        r->l.end_on_nonzero = cases[i].any;
        r->l.keep_going = cases[i].going;
        r->l.deadline = cases[i].timeout;
        for (int k = 0; k < EVENTS && cases[i].events[k]; k++)
            happen(r, cases[i].events[k]);
        assert_true(launch_over(&r->l));
        assert_int_equal(launch_status(&r->l), cases[i].status);
        assert_string_equal(r->log, cases[i].log);
        launch_clear(&r->l);
    }
    free(r);
}

/* At most 20 lines, whatever happens; the statuses are told in full. */
static void test_lines(void **state)
{
    struct run *r = malloc(sizeof *r);
    int lines = 0;

    (void)state;
    assert_non_null(r);
    start(r, 60);
    for (int i = 0; i < 60; i++)
        launch_ended(&r->l, 1, i, (i % 50 + 1) << 8);
    assert_int_equal(launch_status(&r->l), 50);
    for (const char *p = r->log; *p; p++)
        lines += *p == '\n';
    assert_int_equal(lines, 20);
    launch_clear(&r->l);
    free(r);
}

static void test_statuses(void **state)
{
    struct run *r = malloc(sizeof *r);

    (void)state;
    assert_non_null(r);
    start(r, 5);
    happen(r, "1 exit 0 0");
    happen(r, "1 exit 1 0");
    happen(r, "1 exit 2 4");
    happen(r, "1 die 4 KILL");
    r->n = 0;
    r->log[0] = '\0';
    launch_tell_statuses(&r->l);
    assert_string_equal(r->log, "1.0 tell exit status of ranks 0-1: 0\n"
                        "1.0 tell exit status of rank 2: 4\n"
                        "1.0 tell exit status of rank 4: 137\n");
    launch_clear(&r->l);
    launch_clear(&r->l);
    free(r);
}

static void test_shell_status(void **state)
{
    (void)state;
    assert_int_equal(shell_status(0), 0);
    assert_int_equal(shell_status(3 << 8), 3);
    assert_int_equal(shell_status(255 << 8), 255);
    assert_int_equal(shell_status(SIGKILL), 137);
    assert_int_equal(shell_status(SIGSEGV | 0x80), 139);
}

static void test_no_memory(void **state)
{
    struct launch l;

    (void)state;
    memory_begin();
    memory_after(0);
    assert_int_equal(launch_init(&l, &ops, NULL, 3), -1);
    memory_end();
    launch_clear(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases), cmocka_unit_test(test_sweep),
        cmocka_unit_test(test_over), cmocka_unit_test(test_lines),
        cmocka_unit_test(test_statuses), cmocka_unit_test(test_shell_status),
        cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests_name("job", tests, NULL, NULL);
}

/* test_spread.c - mpiexec_lite/spread: what is run to start a server elsewhere; words
 * that the shells of users understand (the real ones, where they are installed); and
 * when to try again. */
#include "mpiexec_lite/launchers.h"
#include "mpiexec_lite/spread.h"

#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "test/unit/fake_memory.h"

#define N_OF(a) (sizeof (a) / sizeof *(a))

/* --- command lines ----------------------------------------------------- */

#define SSH "ssh|-T|-oBatchMode=yes|-oConnectTimeout=10|-oServerAliveInterval=15|"
#define FIXED "-T|-oBatchMode=yes|-oConnectTimeout=10|-oServerAliveInterval=15|"

static const struct {
    const char *name;
    enum launcher launcher;
    const char *exec, *extra[3], *proxy, *user;
    bool        forward_x;
    enum proxy_where where;
    const char *path, *want;             /* words with | between them; NULL: refused */
} commands[] = {
    { "ssh", LAUNCHER_SSH, .path = "/opt/bin/pmi2_proxy",
      .want = SSH "-x|--|node7|/opt/bin/pmi2_proxy" },
    { "in the path", LAUNCHER_SSH, .where = PROXY_IN_PATH, .path = "/opt/bin/pmi2_proxy",
      .want = SSH "-x|--|node7|pmi2_proxy" },
    { "another user", LAUNCHER_SSH, .user = "me", .path = "/p",
      .want = SSH "-x|-l|me|--|node7|/p" },
    { "X forwarded", LAUNCHER_SSH, .forward_x = true, .path = "/p",
      .want = SSH "-X|--|node7|/p" },
    { "another program, with words", LAUNCHER_SSH, .exec = "/usr/bin/my ssh",
      .extra = { "-p", "22 22", NULL }, .path = "/p",
      .want = "/usr/bin/my ssh|" FIXED "-x|-p|22 22|--|node7|/p" },
    { "-proxy", LAUNCHER_SSH, .proxy = "/else/where", .path = "/p",
      .want = SSH "-x|--|node7|/else/where" },
    { "-proxy with a blank", LAUNCHER_SSH, .proxy = "/else where", .path = "/p",
      .want = SSH "-x|--|node7|'/else where'" },
    { "-proxy does not count where it was not found", LAUNCHER_SSH, .proxy = "/x",
      .where = PROXY_IN_PATH, .path = "/p", .want = SSH "-x|--|node7|pmi2_proxy" },
    { "staged", LAUNCHER_SSH, .where = PROXY_STAGED, .path = "/p",
      .want = SSH "-x|--|node7|take 'it'" },
    { "a line break", LAUNCHER_SSH, .path = "/a\nb", .want = NULL },
    { "a carriage return", LAUNCHER_SSH, .path = "/a\rb", .want = NULL },
    { "sge", LAUNCHER_SGE, .path = "/p q", .want = "qrsh|-inherit|node7|'/p q'" },
    { "lsf, its words", LAUNCHER_LSF, .extra = { "-u" }, .path = "/p",
      .want = "blaunch|-u|node7|/p" },
    { "ll", LAUNCHER_LL, .path = "/p", .want = "llspawn.stdio|node7|/p" },
    { "rsh", LAUNCHER_RSH, .user = "al", .path = "/p", .want = "rsh|-l|al|node7|/p" },
    { "fork", LAUNCHER_FORK, .path = "/p q", .want = "/p q" },
    { "fork, -proxy", LAUNCHER_FORK, .path = "/p", .proxy = "/x y", .want = "/x y" },
};

static void options_of(size_t i, struct launch_options *o, struct host *h)
{
    *o = (struct launch_options){ .launcher = commands[i].launcher, .exec = (char *)commands[i].exec,
                                  .proxy = (char *)commands[i].proxy,
                                  .forward_x = commands[i].forward_x };
    o->extra.v = (char **)commands[i].extra;
    while (commands[i].extra[o->extra.n])
        o->extra.n++;
    *h = (struct host){ .name = (char *)"node7", .user = (char *)commands[i].user };
}

static void join(const struct strlist *l, struct buf *out)
{
    for (size_t i = 0; i < l->n; i++) {
        if (i)
            buf_char(out, '|');
        buf_str(out, l->v[i]);
    }
}

static void test_commands(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OF(commands); i++) {
        struct strlist out = { 0 };
        struct buf words = BUF_INIT;
        struct launch_options o;
        struct host h;
        struct err e = { 0 };
        int rc;

        print_message("  %s\n", commands[i].name);
        options_of(i, &o, &h);
        rc = spread_command(&o, &h, commands[i].where, commands[i].path, "take 'it'", NULL,
                            &out, &e);
        assert_int_equal(rc, commands[i].want ? 0 : -1);
        if (commands[i].want) {
            join(&out, &words);
            assert_string_equal(buf_bytes(&words), commands[i].want);
        } else {
            assert_non_null(strstr(e.text, "line break"));
        }
        buf_clear(&words);
        strlist_clear(&out);
    }
}

/* A terminal there, whatever else ssh is told. */
static void test_terminal(void **state)
{
    struct launch_options o = { .launcher = LAUNCHER_SSH, .exec = (char *)"/my/ssh" };
    struct host h = { .name = (char *)"node1", .user = (char *)"bob" };
    struct strlist out = { 0 };
    struct buf words = BUF_INIT;

    (void)state;
    assert_int_equal(spread_terminal(&o, &h, "exec 'a b'", &out), 0);
    join(&out, &words);
    assert_string_equal(buf_bytes(&words), "/my/ssh|-T|-oBatchMode=yes|-oConnectTimeout=10|"
                        "-oServerAliveInterval=15|-x|-tt|-l|bob|--|node1|exec 'a b'");
    buf_clear(&words);
    strlist_clear(&out);
}

static void test_call(void **state)
{
    static const struct spread_call one = { "10.0.0.1:7,[::1]:7", "job.1", 3, NULL, 1 },
                                    many = { "10.0.0.1:7,[::1]:7", "job.1", 3, "n[3-5]", 3 };
    static const char *const extra[] = { "-w", "a b", NULL };
    static const struct { enum launcher launcher; const char *socket; const char *want; } calls[] = {
        { LAUNCHER_TCP, NULL, "/bin/start|-w|a b|node7|/p q|--connect|10.0.0.1:7,[::1]:7|"
          "--job|job.1|--position|3" },
        { LAUNCHER_MANUAL, NULL, "/p q|--connect|10.0.0.1:7,[::1]:7|--job|job.1|--position|3" },
        { LAUNCHER_MANUAL, "/s", "/p q|--connect|10.0.0.1:7,[::1]:7|--job|job.1|--position|3|"
          "--munge-socket|/s" },
        { LAUNCHER_PBS, NULL, "/bin/start|-w|a b|node7|/p q|--connect|10.0.0.1:7,[::1]:7|"
          "--job|job.1|--position|3" },
        { LAUNCHER_SLURM, "/s", "/bin/start|--overlap|--mpi=none|--cpu-bind=none|--input=none|"
          "--no-kill|--wait=0|--kill-on-bad-exit=0|--chdir=/|--ntasks-per-node=1|-w|a b|"
          "--nodelist=n[3-5]|--nodes=3|--ntasks=3|/p q|--connect|10.0.0.1:7,[::1]:7|"
          "--job|job.1|--position|3|--nodes|n[3-5]|--munge-socket|/s" },
    };

    (void)state;
    for (size_t i = 0; i < N_OF(calls); i++) {
        struct launch_options o = { .launcher = calls[i].launcher, .exec = (char *)"/bin/start",
                                    .munge_socket = (char *)calls[i].socket };
        struct host h = { .name = (char *)"node7" };
        struct strlist out = { 0 };
        struct buf words = BUF_INIT;
        struct err e = { 0 };

        o.extra.v = (char **)extra;
        o.extra.n = 2;
        assert_int_equal(spread_command(&o, &h, PROXY_BESIDE, "/p q", NULL,
                                        launcher_way(o.launcher)->together ? &many : &one, &out,
                                        &e), 0);
        join(&out, &words);
        assert_string_equal(buf_bytes(&words), calls[i].want);
        buf_clear(&words);
        strlist_clear(&out);
    }
}

static void test_no_memory(void **state)
{
    (void)state;
    memory_begin();
    for (size_t i = 0; i < N_OF(commands); i++)
        for (long n = 0;; n++) {
            struct strlist out = { 0 };
            struct launch_options o;
            struct host h;
            struct err e = { 0 };
            bool hit;
            int rc;

            options_of(i, &o, &h);
            memory_after(n);
            rc = spread_command(&o, &h, commands[i].where, commands[i].path, "take", NULL, &out,
                                &e);
            hit = memory_hit;
            memory_end();
            /* Never a command with a word missing or empty. */
            if (rc == 0)
                for (size_t k = 0; k < out.n; k++)
                    assert_true(*out.v[k]);
            if (hit && commands[i].want)
                assert_int_equal(rc, -1);
            if (rc < 0)
                assert_true(*e.text);
            strlist_clear(&out);
            if (!hit)
                break;
        }
}

/* --- quoting, by the shells themselves --------------------------------- */

static const char *const words[] = {
    "plain", "/opt/my dir/pmi2_proxy", "it's", "''", "'", "\"quoted\"", "a!b", "!", "!!", "!x!",
    "back\\slash", "\\", "\\\\", "\\'", "'\\''", "ends in\\", "$HOME", "${HOME}", "`id`",
    "$(id)", "a;b", "a&b", "a|b", "a>b", "a<b", "(a)", "{a,b}", "[ab]", "*", "?", "~", "~/x",
    "#a", "a#b", "=a", "a=b", "^a^b", "%1", "a%b", "@a", "-n", "tab\there", "  two  blanks ",
    "", "\xc3\xa9t\xc3\xa9", "a'b!c\\d\"e$f", "'!'", "\\!", "!\\", "!'", "\001", "\x7f", "a,b:c+d"
};

static const struct { const char *name, *path; } shells[] = {
    { "sh", "/bin/sh" }, { "bash", "/bin/bash" }, { "dash", "/bin/dash" },
    { "csh", "/bin/csh" }, { "tcsh", "/bin/tcsh" }, { "bsd-csh", "/bin/bsd-csh" },
    { "fish", "/usr/bin/fish" }, { "zsh", "/bin/zsh" }, { "ksh", "/bin/ksh" },
    { "busybox", "/bin/busybox" },
};

static char home[] = "/tmp/test_spread.home.XXXXXX";     /* some shells write there */

static int make_home(void **state)
{
    (void)state;
    return mkdtemp(home) ? 0 : -1;
}

static int drop_home(void **state)
{
    char command[100];

    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", home);
    return system(command);
}

/* What a shell writes for a command, with this stdin; its wait status. */
static int run_shell(size_t shell, const char *command, int input, struct buf *out)
{
    int p[2], status;
    char data[4096];
    ssize_t n;
    pid_t pid;

    fflush(NULL);
    assert_int_equal(pipe(p), 0);
    pid = fork();
    if (pid == 0) {
        int fd = open("/dev/null", O_WRONLY);

        dup2(input, 0);
        dup2(p[1], 1);
        dup2(fd, 2);
        close(p[0]);
        setenv("HOME", home, 1);
        if (!strcmp(shells[shell].name, "busybox"))
            execl(shells[shell].path, "sh", "-c", command, (char *)NULL);
        execl(shells[shell].path, shells[shell].name, "-c", command, (char *)NULL);
        _exit(99);
    }
    close(p[1]);
    while ((n = read(p[0], data, sizeof data)) > 0)
        buf_add(out, data, (size_t)n);
    close(p[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void test_shells(void **state)
{
    int input = open("/dev/null", O_RDONLY), wrong = 0;

    (void)state;
    for (size_t s = 0; s < N_OF(shells); s++) {
        struct buf text = BUF_INIT, got = BUF_INIT, want = BUF_INIT;

        if (access(shells[s].path, X_OK) < 0) {
            print_message("  %s: skipped, not installed\n", shells[s].name);
            continue;
        }
        print_message("  %s\n", shells[s].name);
        buf_str(&text, "/usr/bin/printf [%s]");
        for (size_t i = 0; i < N_OF(words); i++) {
            buf_char(&text, ' ');
            assert_int_equal(spread_quote(words[i], &text), 0);
            buf_printf(&want, "[%s]", words[i]);
        }
        /* [%s] itself is a pattern for some. */
        buf_reset(&got);
        {
            struct buf safe = BUF_INIT;

            buf_printf(&safe, "/usr/bin/printf '[%%s]'%s",
                       buf_bytes(&text) + strlen("/usr/bin/printf [%s]"));
            run_shell(s, buf_bytes(&safe), input, &got);
            buf_clear(&safe);
        }
        if (got.len != want.len || memcmp(buf_bytes(&got), buf_bytes(&want), want.len)) {
            print_error("    got:    %s\n    wanted: %s\n", got.len ? buf_bytes(&got) : "",
                        buf_bytes(&want));
            wrong++;
        }
        buf_clear(&text);
        buf_clear(&got);
        buf_clear(&want);
    }
    close(input);
    assert_int_equal(wrong, 0);
}

/* A path stands where a command does. */
static void test_as_command(void **state)
{
    static const char *const names[] = {
        "plain", "two blanks", "it's", "a!b", "back\\slash", "$x", "a\"b", "%1", "=a", "^a^b",
        "~x", "@a", "#a", "{a}", "-x"
    };
    char dir[] = "/tmp/test_spread.XXXXXX";
    int input = open("/dev/null", O_RDONLY), wrong = 0;

    (void)state;
    assert_non_null(mkdtemp(dir));
    for (size_t i = 0; i < N_OF(names); i++) {
        char path[100];
        FILE *f;

        snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        f = fopen(path, "w");
        assert_non_null(f);
        fputs("#!/bin/sh\necho ran\n", f);
        fclose(f);
        chmod(path, 0755);
        for (size_t s = 0; s < N_OF(shells); s++) {
            struct buf text = BUF_INIT, got = BUF_INIT;

            if (access(shells[s].path, X_OK) < 0)
                continue;
            assert_int_equal(spread_quote(path, &text), 0);
            run_shell(s, buf_bytes(&text), input, &got);
            if (!got.len || strcmp(buf_bytes(&got), "ran\n")) {
                print_error("    %s: %s\n", shells[s].name, buf_bytes(&text));
                wrong++;
            }
            buf_clear(&text);
            buf_clear(&got);
        }
        unlink(path);
    }
    rmdir(dir);
    close(input);
    assert_int_equal(wrong, 0);
}

/* --- staging ----------------------------------------------------------- */

static const char program[] = "#!/bin/sh\necho \"ran $1\"; cat; exit 7\n";

/* A pipe that holds a text, its end closed. */
static int piped(const char *text)
{
    int p[2];

    assert_int_equal(pipe2(p, O_CLOEXEC), 0);
    assert_int_equal(write(p[1], text, strlen(text)), strlen(text));
    close(p[1]);
    return p[0];
}

static void sum_of(const char *text, char *sum)
{
    char command[200];
    FILE *f;

    snprintf(command, sizeof command, "printf '%%s' '%s' | sha256sum", text);
    f = popen(command, "r");
    assert_non_null(f);
    assert_int_equal(fread(sum, 1, 64, f), 64);
    sum[64] = '\0';
    pclose(f);
}

/* How many entries a directory has. */
static int entries(const char *dir)
{
    char command[200];
    int n = -1;
    FILE *f;

    snprintf(command, sizeof command, "ls -A '%s' | wc -l", dir);
    f = popen(command, "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%d", &n), 1);
    pclose(f);
    return n;
}

/* Exactly the program's bytes are taken, it is run with the rest as its stdin, its exit
 * status comes back, and nothing is left; also below a directory with blanks, beside
 * which one with the first half of its name is left alone. */
static void test_staging(void **state)
{
    char dir[] = "/tmp/test_spread.XXXXXX", sum[65], path[100], half[100];
    int wrong = 0;

    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/my dir", dir);
    snprintf(half, sizeof half, "%s/my", dir);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(mkdir(half, 0700), 0);
    sum_of(program, sum);
    for (size_t s = 0; s < N_OF(shells); s++)
        for (int blank = 0; blank < 2; blank++)
            for (int bad = 0; bad < 2; bad++) {
                const char *tmp = blank ? path : half;
                struct buf text = BUF_INIT, got = BUF_INIT, input = BUF_INIT;
                char wanted[65];
                int fd, status;

                if (access(shells[s].path, X_OK) < 0)
                    continue;
                memcpy(wanted, sum, sizeof sum);
                if (bad)
                    wanted[0] = wanted[0] == '0' ? '1' : '0';
                mkdir(half, 0700);
                setenv("XDG_RUNTIME_DIR", tmp, 1);
                spread_staging(strlen(program), wanted, &text);
                buf_printf(&input, "%sand the rest\n", program);
                fd = piped(buf_bytes(&input));
                status = run_shell(s, buf_bytes(&text), fd, &got);
                close(fd);
                if (bad ? got.len || !WEXITSTATUS(status)
                    : !got.len || strcmp(buf_bytes(&got), "ran --staged\nand the rest\n") ||
                      status != 7 << 8) {
                    print_error("    %s, %s, %s sum: status %#x, '%s'\n", shells[s].name,
                                blank ? "blank" : "no blank", bad ? "bad" : "good", status,
                                got.len ? buf_bytes(&got) : "");
                    wrong++;
                }
                if (entries(tmp) || access(half, F_OK) < 0) {
                    print_error("    %s, %s: %d left, other directory %s\n", shells[s].name,
                                blank ? "blank" : "no blank", entries(tmp),
                                access(half, F_OK) < 0 ? "REMOVED" : "there");
                    wrong++;
                }
                buf_clear(&text);
                buf_clear(&got);
                buf_clear(&input);
            }
    unsetenv("XDG_RUNTIME_DIR");
    snprintf(sum, sizeof sum, "rm -rf %s", dir);
    assert_int_equal(system(sum), 0);
    assert_int_equal(wrong, 0);
}

/* --- what ssh says ----------------------------------------------------- */

static const struct { const char *words; int status; bool reset, not_found; } said[] = {
    { "", 255, false, false }, { "", 127, false, true }, { "", 126, false, false },
    { "", 0, false, false }, { "", 1, false, false },
    { "kex_exchange_identification: Connection closed by remote host", 255, true, false },
    { "ssh_exchange_identification: read: Connection reset by peer", 255, true, false },
    { "Connection closed by 10.0.0.7 port 22", 255, true, false },
    { "Connection timed out during banner exchange", 255, true, false },
    { "client_loop: send disconnect: Broken pipe", 255, true, false },
    { "me@node7: Permission denied (publickey).", 255, false, false },
    { "Host key verification failed.", 255, false, false },
    { "ssh: Could not resolve hostname node7: Name or service not known", 255, false, false },
    { "ssh: connect to host node7 port 22: Connection refused", 255, false, false },
    { "bash: /opt/bin/pmi2_proxy: No such file or directory", 127, false, true },
    { "pmi2_proxy: Command not found.", 1, false, true },
    { "sh: 1: pmi2_proxy: not found", 127, false, true },
    { "fish: Unknown command: pmi2_proxy", 127, false, true },
    { "no such file", 0, false, false },
    { "no such identity: /x: No such file or directory", 255, false, false },
};

static void test_said(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OF(said); i++) {
        print_message("  %d: %s\n", said[i].status, said[i].words);
        assert_int_equal(spread_is_reset(said[i].words), said[i].reset);
        assert_int_equal(spread_not_found(said[i].status, said[i].words), said[i].not_found);
    }
}

/* Longer from try to try, never in step, and all tries within a minute. */
static void test_pause(void **state)
{
    struct plan usual;
    double most = 0;

    (void)state;
    plan_init(&usual);
    for (int tries = 0; tries < 40; tries++) {
        double low = spread_pause(tries, 0), high = spread_pause(tries, 1023);

        assert_true(low > 0.04 && low < high && high < 6);
        assert_true(high / low > 2.5);
        if (tries)
            assert_true(low >= spread_pause(tries - 1, 0));
        for (unsigned r = 0; r < 5000; r += 7)
            assert_true(spread_pause(tries, r) >= low && spread_pause(tries, r) <= high);
        if (tries < usual.remote.tries)
            most += high;
    }
    assert_true(spread_pause(1, UINT_MAX) <= spread_pause(1, 1023));
    assert_true(most < 60);
}

/* HYDRA_USE_STRACE: what is put before the proxy, however it is started, but not before the
 * shell that brings it. */
static void test_wrapper(void **state)
{
    static const struct spread_call call = { .addresses = "10.0.0.1:7", .job = "job.1",
                                              .position = 3, .n = 1 };
    static const char *const wrapper[] = { "strace", "-f", NULL };
    static const struct { enum launcher launcher; enum proxy_where where; const char *ends; } rows[] = {
        { LAUNCHER_SSH, PROXY_BESIDE, "|node7|strace|-f|/p" },
        { LAUNCHER_SSH, PROXY_IN_PATH, "|node7|strace|-f|pmi2_proxy" },
        { LAUNCHER_SSH, PROXY_STAGED, "|node7|take" },
        { LAUNCHER_FORK, PROXY_BESIDE, "strace|-f|/p" },
        { LAUNCHER_TCP, PROXY_BESIDE, "run|node7|strace|-f|/p|--connect|10.0.0.1:7|--job|job.1|"
          "--position|3" },
    };

    (void)state;
    for (size_t i = 0; i < N_OF(rows); i++) {
        struct launch_options o = { .launcher = rows[i].launcher, .exec = (char *)"run" };
        struct host h = { .name = (char *)"node7" };
        struct strlist out = { 0 };
        struct buf text = BUF_INIT;
        struct err e = { 0 };

        o.wrapper.v = (char **)wrapper;
        o.wrapper.n = 2;
        assert_int_equal(spread_command(&o, &h, rows[i].where, "/p", "take",
                                        rows[i].launcher == LAUNCHER_TCP ? &call : NULL, &out, &e), 0);
        join(&out, &text);
        assert_true(text.len >= strlen(rows[i].ends));
        assert_string_equal(buf_bytes(&text) + text.len - strlen(rows[i].ends), rows[i].ends);
        buf_clear(&text);
        strlist_clear(&out);
    }
}

static void test_limit(void **state)
{
    struct launch_options o = { .launcher = LAUNCHER_SSH, .ssh_limit = 2 };

    (void)state;
    assert_false(spread_is_limit(&o, 1));
    assert_true(spread_is_limit(&o, 2));
    assert_false(spread_is_limit(&o, 3));
    assert_true(spread_is_limit(&o, 4));
    o.launcher = LAUNCHER_FORK;
    assert_false(spread_is_limit(&o, 2));
}

/* For --check: as for a job with ssh, with slurm a step of its own that has a stdin. */
static void test_check(void **state)
{
    struct host h = { .name = (char *)"node7" };
    static const struct { enum launcher launcher; enum proxy_where where; const char *want; } rows[] = {
        { LAUNCHER_SSH, PROXY_BESIDE, SSH "-x|--|node7|/b/pmi2_proxy|--check" },
        { LAUNCHER_SLURM, PROXY_BESIDE,
          "srun|--overlap|--mpi=none|--cpu-bind=none|--input=none|--no-kill|--wait=0|"
          "--kill-on-bad-exit=0|--chdir=/|--ntasks-per-node=1|--input=all|--nodelist=node7|"
          "--nodes=1|--ntasks=1|/b/pmi2_proxy|--check" },
        { LAUNCHER_FORK, PROXY_IN_PATH, "pmi2_proxy|--check" },
    };

    (void)state;
    for (size_t i = 0; i < N_OF(rows); i++) {
        struct launch_options o = { .launcher = rows[i].launcher };
        struct strlist out = { 0 };
        struct buf got = BUF_INIT;

        assert_int_equal(spread_check(&o, &h, rows[i].where, "/b/pmi2_proxy", &out, NULL), 0);
        for (size_t k = 0; k < out.n; k++)
            buf_printf(&got, k ? "|%s" : "%s", out.v[k]);
        assert_string_equal(buf_bytes(&got), rows[i].want);
        buf_clear(&got);
        strlist_clear(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_commands), cmocka_unit_test(test_terminal), cmocka_unit_test(test_call),
        cmocka_unit_test(test_no_memory), cmocka_unit_test(test_shells),
        cmocka_unit_test(test_as_command), cmocka_unit_test(test_staging),
        cmocka_unit_test(test_said), cmocka_unit_test(test_pause),
        cmocka_unit_test(test_wrapper), cmocka_unit_test(test_limit),
        cmocka_unit_test(test_check),
    };

    return cmocka_run_group_tests_name("spread", tests, make_home, drop_home);
}

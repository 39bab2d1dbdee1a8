/* test_child.c - mpiexec_lite/child: what a started process is given, how a failure
 * is told, and where programs are found.  Real processes, no waiting but for them. */
#include "mpiexec_lite/child.h"

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
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define N_OF(a) (sizeof (a) / sizeof *(a))

static char folder[] = "/tmp/test_child.XXXXXX";

/* valgrind makes a fork of vfork: how a child failed does not come back then. */
static bool has_vfork(void)
{
    const char *preload = getenv("LD_PRELOAD");

    return !preload || !strstr(preload, "vgpreload");
}

static void write_file(const char *name, const char *text, mode_t mode)
{
    char path[200];
    int fd;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

/* What a shell would not take for a script. */
static void write_binary(const char *name)
{
    char path[200];
    int fd;

    write_file(name, "x", 0700);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(write(fd, "\x7f" "ELF\0\0\0\0", 8), 8);
    close(fd);
}

static int make_folder(void **state)
{
    char path[200];

    sigset_t none;

    (void)state;
    sigemptyset(&none);                          /* whatever who started us left */
    sigprocmask(SIG_SETMASK, &none, NULL);
    for (int i = 1; i < 32; i++)
        signal(i, SIG_DFL);
    close_range(3, ~0u, CLOSE_RANGE_CLOEXEC);
    assert_non_null(mkdtemp(folder));
    write_file("plain", "data\n", 0600);
    write_file("tool", "#!/bin/sh\necho tool\n", 0700);
    write_file("bare", "echo bare $0 $1\n", 0700);
    write_binary("binary");
    snprintf(path, sizeof path, "%s/sub", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    write_file("sub/tool", "#!/bin/sh\necho sub\n", 0700);
    write_file("sub/only", "#!/bin/sh\necho only\n", 0700);
    return 0;
}

static int drop_folder(void **state)
{
    static const char *const names[] = { "plain", "tool", "bare", "binary", "sub/tool",
                                         "sub/only" };
    char path[200];

    (void)state;
    for (size_t i = 0; i < N_OF(names); i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    snprintf(path, sizeof path, "%s/sub", folder);
    rmdir(path);
    rmdir(folder);
    return 0;
}

/* Start argv with "hello" as its input; what it wrote to stdout and stderr goes to
 * out (terminated).  Its wait status, or -1 with *step and errno. */
static int run(const char *path, const char *const *argv, const char *dir, int keep,
               char *out, size_t size, const char **step)
{
    static const char *const env[] = { "PATH=/usr/bin:/bin", "X=y", NULL };
    int in[2], back[2], status = 0, saved;
    struct inherited user;
    struct child_spec spec;
    size_t n = 0;
    ssize_t got;
    pid_t pid;

    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(back, O_CLOEXEC), 0);
    assert_int_equal(write(in[1], "hello", 5), 5);
    close(in[1]);
    inherited_save(&user);
    spec = (struct child_spec){ .path = path, .argv = (char *const *)argv,
                                .envp = (char *const *)env, .dir = dir, .in = in[0],
                                .out = back[1], .err = back[1], .keep = keep, .user = &user };
    pid = child_start(&spec, step);
    saved = errno;
    close(in[0]);
    close(back[1]);
    while (pid > 0 && n + 1 < size && (got = read(back[0], out + n, size - 1 - n)) > 0)
        n += (size_t)got;
    out[n] = '\0';
    close(back[0]);
    if (pid > 0)
        assert_int_equal(waitpid(pid, &status, 0), pid);
    errno = saved;
    return pid < 0 ? -1 : status;
}

static int shell(const char *script, int keep, char *out, size_t size)
{
    const char *const argv[] = { "sh", "-c", script, "zero", "one two", NULL };
    const char *step;

    return run("/bin/sh", argv, NULL, keep, out, size, &step);
}

static const struct { const char *name, *script, *out; int code; } scripts[] = {
    { "its streams", "cat; echo out; echo err >&2", "helloout\nerr\n", 0 },
    { "its status", "exit 7", "", 7 },
    { "its arguments", "echo \"$0|$1\"", "zero|one two\n", 0 },
    { "its environment and nothing else", "env | grep -v '^PWD=\\|^_=\\|^SHLVL=\\|^OLDPWD=' | sort",
      "PATH=/usr/bin:/bin\nX=y\n", 0 },
    { "a process group of its own", "set -- $(cat /proc/self/stat); "
      "set -- $(cat /proc/$$/stat); test $5 = $$ && echo own", "own\n", 0 },
    { "no descriptors but its own, and the folder that ls reads", "exec ls /proc/self/fd",
      "0\n1\n2\n3\n", 0 },
    { "no signal is blocked", "exec grep SigBlk /proc/self/status",
      "SigBlk:\t0000000000000000\n", 0 },
};

static void test_given(void **state)
{
    char out[2000];

    (void)state;
    for (size_t i = 0; i < N_OF(scripts); i++) {
        int status;

        print_message("  %s\n", scripts[i].name);
        status = shell(scripts[i].script, -1, out, sizeof out);
        assert_string_equal(out, scripts[i].out);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), scripts[i].code);
    }
}

/* One descriptor may be kept; it stays close-on-exec here. */
static void test_keep(void **state)
{
    char script[100], out[200];
    int p[2];

    (void)state;
    assert_int_equal(pipe2(p, O_CLOEXEC), 0);
    snprintf(script, sizeof script, "echo kept >&%d", p[1]);
    assert_int_equal(shell(script, p[1], out, sizeof out), 0);
    assert_int_equal(read(p[0], out, sizeof out), 5);
    assert_memory_equal(out, "kept\n", 5);
    assert_true(fcntl(p[1], F_GETFD) & FD_CLOEXEC);
    close(p[0]);
    close(p[1]);
}

/* The value of a line "name:\tHEX" of /proc/PID/status. */
static unsigned long long signals_of(const char *status, const char *name)
{
    const char *line = strstr(status, name);

    assert_non_null(line);
    return strtoull(line + strlen(name) + 1, NULL, 16);
}

/* glibc's own two: a process that came from posix_spawn may ignore them. */
static const unsigned long long LIBC_SIGNALS = 1ull << (32 - 1) | 1ull << (33 - 1);

/* The user's mask, dispositions and limit come back, though ours have changed. */
static void test_restored(void **state)
{
    const char *const argv[] = { "sh", "-c", "ulimit -n; exec grep -E 'SigBlk|SigIgn' "
                                 "/proc/self/status", NULL };
    const char *const env[] = { NULL };
    struct inherited user;
    struct rlimit less;
    char out[300];
    struct child_spec spec;
    const char *step;
    sigset_t set;
    int back[2], status, null = open("/dev/null", O_RDWR | O_CLOEXEC);
    ssize_t n;
    pid_t pid;

    FILE *f = popen("ulimit -n", "r");
    char limit[40] = "";

    (void)state;
    assert_non_null(f);
    assert_non_null(fgets(limit, sizeof limit, f));
    pclose(f);
    inherited_save(&user);
    less = user.files;
    less.rlim_cur = less.rlim_cur > 100 ? less.rlim_cur - 1 : less.rlim_cur;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    assert_int_equal(sigprocmask(SIG_BLOCK, &set, NULL), 0);
    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &less), 0);
    assert_int_equal(pipe2(back, O_CLOEXEC), 0);
    spec = (struct child_spec){ .path = "/bin/sh", .argv = (char *const *)argv,
                                .envp = (char *const *)env, .in = null, .out = back[1],
                                .err = null, .keep = -1, .user = &user };
    pid = child_start(&spec, &step);
    assert_true(pid > 0);
    close(back[1]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    n = read(back[0], out, sizeof out - 1);
    assert_true(n > 0);
    out[n] = '\0';
    assert_memory_equal(out, limit, strlen(limit));
    assert_int_equal(signals_of(out, "SigBlk"), 0);
    assert_int_equal(signals_of(out, "SigIgn") & ~LIBC_SIGNALS, 0);
    assert_int_equal(sigprocmask(SIG_UNBLOCK, &set, NULL), 0);
    signal(SIGPIPE, SIG_DFL);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &user.files), 0);
    close(back[0]);
    close(null);
}

/* A session of its own is a process group, too, that a signal reaches as a whole. */
static void test_session(void **state)
{
    const char *const argv[] = { "sh", "-c", "sleep 100; true", NULL };
    struct inherited user;
    struct child_spec spec = { .path = "/bin/sh", .argv = (char *const *)argv,
                               .envp = (char *const *)argv + 3, .in = 0, .out = 1, .err = 2,
                               .keep = -1, .user = &user };
    const char *step;
    int status;

    (void)state;
    inherited_save(&user);
    for (int own = 0; own < 2; own++) {
        pid_t pid;

        spec.session = own;
        pid = child_start(&spec, &step);
        assert_true(pid > 0);
        assert_int_equal(getpgid(pid), pid);
        assert_int_equal(getsid(pid), own ? pid : getsid(0));
        assert_int_equal(kill(-pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status));
    }
}

static void test_ignored(void **state)
{
    (void)state;
    assert_false(signal_ignored(SIGUSR2));
    signal(SIGUSR2, SIG_IGN);
    assert_true(signal_ignored(SIGUSR2));
    signal(SIGUSR2, SIG_DFL);
    assert_false(signal_ignored(SIGUSR2));
    assert_false(signal_ignored(-1));
}

/* Streams that already have the numbers 0, 1, 2. */
static void test_in_place(void **state)
{
    const char *const argv[] = { "true", NULL };
    struct inherited user;
    struct child_spec spec = { .path = "/bin/true", .argv = (char *const *)argv,
                               .envp = (char *const *)argv + 1, .in = 0, .out = 1, .err = 2,
                               .keep = -1, .user = &user };
    const char *step;
    int status;
    pid_t pid;

    (void)state;
    inherited_save(&user);
    pid = child_start(&spec, &step);
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static const struct { const char *name, *path, *dir, *step; int errnum; } failures[] = {
    { "no such program", "/nonexistent/program", NULL, "exec", ENOENT },
    { "not executable", "/etc/passwd", NULL, "exec", EACCES },
    { "a folder", "/tmp", NULL, "exec", EACCES },
    { "no such folder", "/bin/true", "/nonexistent", "chdir", ENOENT },
    { "a file as folder", "/bin/true", "/etc/passwd", "chdir", ENOTDIR },
};

static void test_failures(void **state)
{
    const char *const argv[] = { "x", NULL };
    char out[100];

    (void)state;
    if (!has_vfork())
        skip();
    for (size_t i = 0; i < N_OF(failures); i++) {
        const char *step = NULL;

        print_message("  %s\n", failures[i].name);
        assert_int_equal(run(failures[i].path, argv, failures[i].dir, -1, out, sizeof out,
                             &step), -1);
        assert_int_equal(errno, failures[i].errnum);
        assert_string_equal(step, failures[i].step);
    }
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);    /* none was left */
}

static void test_bad_descriptor(void **state)
{
    const char *const argv[] = { "x", NULL };
    struct inherited user;
    struct child_spec spec = { .path = "/bin/true", .argv = (char *const *)argv,
                               .envp = (char *const *)argv + 1, .in = 0, .out = 999, .err = 2,
                               .keep = -1, .user = &user };
    const char *step;

    (void)state;
    if (!has_vfork())
        skip();
    inherited_save(&user);
    assert_int_equal(child_start(&spec, &step), -1);
    assert_int_equal(errno, EBADF);
    assert_string_equal(step, "set up");
    spec.out = 1;
    spec.keep = 999;
    assert_int_equal(child_start(&spec, &step), -1);
    assert_int_equal(errno, EBADF);
}

static void test_no_processor(void **state)
{
    static const struct cpus none;
    const char *const argv[] = { "x", NULL };
    struct inherited user;
    struct child_spec spec = { .path = "/bin/true", .argv = (char *const *)argv,
                               .envp = (char *const *)argv + 1, .in = 0, .out = 1, .err = 2,
                               .keep = -1, .cpus = &none, .user = &user };
    const char *step;

    (void)state;
    if (!has_vfork())
        skip();
    inherited_save(&user);
    assert_int_equal(child_start(&spec, &step), -1);
    assert_int_equal(errno, EINVAL);
    assert_string_equal(step, "bind");
}

/* Side by side: each has its own arguments, environment and output; some are not to be
 * had, and are told; our signals and descriptors are as before. */
enum { MANY = 40 };

static void start_many(int most)
{
    char words[MANY][20], vars[MANY][20];
    const char *argv[MANY][5], *env[MANY][3];
    struct children cs;
    struct inherited user;
    sigset_t before, after;
    int out[MANY];

    inherited_save(&user);
    sigprocmask(SIG_BLOCK, NULL, &before);
    for (int done = 0; done < MANY; done += cs.n, children_clear(&cs)) {
        const char *step;

        assert_int_equal(children_init(&cs, most), 0);
        while (cs.n < cs.most && done + cs.n < MANY) {
            int i = done + cs.n, fd[2];
            bool bad = i % 5 == 3;

            snprintf(words[i], sizeof words[i], "word-%d", i);
            snprintf(vars[i], sizeof vars[i], "V=%d", i);
            memcpy(argv[i], (const char *[]){ "sh", "-c", "echo $0 $V", words[i], NULL },
                   sizeof argv[i]);
            memcpy(env[i], (const char *[]){ vars[i], "PATH=/bin", NULL }, sizeof env[i]);
            assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
            out[i] = fd[0];
            children_add(&cs, &(struct child_spec){
                .path = bad ? "/no/such" : "/bin/sh", .argv = (char *const *)argv[i],
                .envp = (char *const *)env[i], .in = 0, .out = fd[1], .err = 2, .keep = -1,
                .user = &user });
            close(fd[1]);
        }
        for (int k = 0; k < cs.n; k++) {
            int i = done + k, status;
            pid_t pid = children_end(&cs, k, &step);

            if (i % 5 == 3) {
                assert_int_equal(pid, -1);
                assert_int_equal(errno, ENOENT);
                assert_string_equal(step, "exec");
                continue;
            }
            assert_true(pid > 0);
            assert_int_equal(getpgid(pid), pid);
            assert_int_equal(waitpid(pid, &status, 0), pid);
            assert_int_equal(status, 0);
        }
    }
    for (int i = 0; i < MANY; i++) {
        char text[40] = "", want[40] = "";
        ssize_t n = read(out[i], text, sizeof text - 1);

        if (i % 5 != 3)
            snprintf(want, sizeof want, "word-%d %d\n", i, i);
        assert_int_equal(n, strlen(want));
        assert_string_equal(text, want);
        close(out[i]);
    }
    sigprocmask(SIG_BLOCK, NULL, &after);
    for (int s = 1; s < NSIG; s++)
        assert_int_equal(sigismember(&after, s), sigismember(&before, s));
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);    /* none was left */
}

static void test_many(void **state)
{
    (void)state;
    if (!has_vfork())
        skip();
    start_many(1);
    start_many(7);
    start_many(MANY);
}

/* A text file without "#!" is given to sh, as execvp does it. */
static void test_bare_script(void **state)
{
    char path[200], want[300], out[300];
    const char *argv[400] = { "bare", "arg", NULL }, *step;

    (void)state;
    if (!has_vfork())
        skip();
    snprintf(path, sizeof path, "%s/bare", folder);
    snprintf(want, sizeof want, "bare %s arg\n", path);
    assert_int_equal(run(path, argv, folder, -1, out, sizeof out, &step), 0);
    assert_string_equal(out, want);
    snprintf(path, sizeof path, "%s/binary", folder);
    assert_int_equal(run(path, argv, folder, -1, out, sizeof out, &step), -1);
    assert_int_equal(errno, ENOEXEC);
    snprintf(path, sizeof path, "%s/bare", folder);
    for (int i = 1; i < 399; i++)
        argv[i] = "arg";
    assert_int_equal(run(path, argv, folder, -1, out, sizeof out, &step), -1);
    assert_int_equal(errno, E2BIG);
}

/* F is the folder, which is also the current one. */
static const struct {
    const char *name, *program, *dir, *first, *path, *found;
    int status;
    const char *error;
} finds[] = {
    { "in PATH", "tool", NULL, NULL, "/nonexistent:F:F/sub", "F/tool", 0, NULL },
    { "in -path first", "tool", NULL, "F/sub", "F", "F/sub/tool", 0, NULL },
    { "in PATH after -path", "bare", NULL, "F/sub", "F", "F/bare", 0, NULL },
    { "an empty part of PATH is here", "tool", NULL, NULL, ":/bin", "F/./tool", 0, NULL },
    { "a name with '/'", "./tool", NULL, NULL, NULL, "F/./tool", 0, NULL },
    { "an absolute name", "F/sub/only", NULL, NULL, NULL, "F/sub/only", 0, NULL },
    { "relative to -wdir", "./only", "F/sub", NULL, NULL, "F/sub/./only", 0, NULL },
    { "relative to -wdir, itself relative", "./only", "sub", NULL, NULL, "F/sub/./only", 0,
      NULL },
    { "or to here", "sub/only", "F/sub", NULL, NULL, "F/sub/only", 0, NULL },
    { "missing", "none", NULL, "F", "F", NULL, 127, "none: not found in PATH" },
    { "missing, no PATH at all", "none", NULL, NULL, NULL, NULL, 127,
      "none: not found in PATH" },
    { "missing, with '/'", "./none", NULL, NULL, NULL, NULL, 127,
      "./none: No such file or directory" },
    { "below a file", "plain/none", NULL, NULL, NULL, NULL, 127,
      "plain/none: No such file or directory" },
    { "there, not executable", "plain", NULL, NULL, "F", NULL, 126, "plain: Permission denied" },
    { "not executable here, good there", "tool", NULL, NULL, "F/plain:F/sub", "F/sub/tool", 0,
      NULL },
    { "a folder", "sub", NULL, NULL, "F", NULL, 126, "sub: Is a directory" },
};

/* text with F replaced; NULL stays NULL. */
static const char *placed(const char *text, char *out, size_t size)
{
    char *to = out;

    if (!text)
        return NULL;
    for (; *text; text++)
        if (*text == 'F')
            to += snprintf(to, size - (size_t)(to - out), "%s", folder);
        else
            *to++ = *text;
    *to = '\0';
    return out;
}

static void test_find(void **state)
{
    char program[300], dir[300], first[300], path[600], found[300], out[400], back[400];

    (void)state;
    assert_non_null(getcwd(back, sizeof back));
    assert_int_equal(chdir(folder), 0);
    for (size_t i = 0; i < N_OF(finds); i++) {
        struct err e = { 0 };
        int status = 0, rc;

        print_message("  %s\n", finds[i].name);
        rc = program_find(placed(finds[i].program, program, sizeof program),
                          placed(finds[i].dir, dir, sizeof dir),
                          placed(finds[i].first, first, sizeof first),
                          placed(finds[i].path, path, sizeof path), out, sizeof out, &status, &e);
        assert_int_equal(rc, finds[i].found ? 0 : -1);
        if (finds[i].found) {
            assert_string_equal(out, placed(finds[i].found, found, sizeof found));
        } else {
            assert_int_equal(status, finds[i].status);
            assert_string_equal(e.text, finds[i].error);
        }
    }
    assert_int_equal(program_find("tool", NULL, NULL, folder, out, 8, &(int){ 0 },
                                  &(struct err){ 0 }), -1);
    assert_int_equal(chdir(back), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_given), cmocka_unit_test(test_keep),
        cmocka_unit_test(test_restored), cmocka_unit_test(test_ignored),
        cmocka_unit_test(test_in_place), cmocka_unit_test(test_session),
        cmocka_unit_test(test_failures), cmocka_unit_test(test_bad_descriptor),
        cmocka_unit_test(test_no_processor),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_bare_script), cmocka_unit_test(test_find),
    };

    return cmocka_run_group_tests_name("child", tests, make_folder, drop_folder);
}

/* test_sweep.c - mpiexec_lite/sweep: nothing is left, however it hides.  Each case
 * is played by a process of its own, whose exit status tells. */
#include "mpiexec_lite/sweep.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define N_OF(a) (sizeof (a) / sizeof *(a))

/* Scripts that write a byte to their output when all their processes are there;
 * they hold it open, so that its end says that all are gone. */
static const struct { const char *name, *script; } cases[] = {
    { "no process", "" },
    { "one that has ended", "echo" },
    { "one that sleeps", "echo; exec sleep 100" },
    { "one that ignores signals", "trap '' TERM INT HUP; echo; sleep 100" },
    { "grandchildren whose parent has gone", "sleep 100 & sleep 100 & echo" },
    { "in a session of their own", "setsid sh -c 'sleep 100 & echo; sleep 100' & wait" },
    { "a daemon", "(setsid sh -c '(sleep 100 & echo) &' &)" },
    { "stopped", "sleep 100 & kill -STOP $!; echo; wait" },
    { "many", "i=0; while [ $i -lt 40 ]; do sleep 100 & i=$((i+1)); done; echo; wait" },
    { "that beget each other", "f() { sh -c 'sh -c \"sh -c \\\"echo; sleep 100\\\" & sleep 100\""
      " & sleep 100' & }; f; wait" },
};

/* Plays the launcher: 0 if all is well, else the line that is not. */
static int play(const char *script)
{
    char c;
    int p[2];
    pid_t pid;

    if (sweep_prepare() < 0 || pipe(p) < 0)
        return __LINE__;
    if (!*script)
        return sweep_any() || sweep_all(5) ? __LINE__ : 0;
    pid = fork();
    if (pid == 0) {
        dup2(p[1], 1);
        close(p[0]);
        close(p[1]);
        execl("/bin/sh", "sh", "-c", script, (char *)NULL);
        _exit(9);
    }
    close(p[1]);
    if (pid < 0 || read(p[0], &c, 1) != 1)
        return __LINE__;
    if (!sweep_any())
        return __LINE__;
    if (sweep_all(20) != 0)
        return __LINE__;
    if (sweep_any())
        return __LINE__;
    while (read(p[0], &c, 1) == 1)
        ;                                /* ends when the last writer has */
    return 0;
}

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OF(cases); i++) {
        int status;
        pid_t pid;

        print_message("  %s\n", cases[i].name);
        fflush(NULL);
        pid = fork();
        if (pid == 0) {
            int line = play(cases[i].script);

            close(1);                    /* what stdio holds is the parent's */
            exit(line ? 1 + line % 100 : 0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
    }
}

/* A process that does not die in time is counted, not waited for. */
static void test_in_vain(void **state)
{
    int status;
    pid_t pid;

    (void)state;
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        pid_t child = fork();
        int left;

        if (child == 0) {
            pause();
            _exit(0);
        }
        left = sweep_all(-1);            /* no time at all */
        close(1);
        exit(left != 1 || sweep_all(20) != 0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* Starts a shell that says so when all of its are there; its pid. */
static pid_t start(const char *script, int *said)
{
    char c;
    int p[2];
    pid_t pid;

    if (pipe(p) < 0)
        return -1;
    pid = fork();
    if (pid == 0) {
        dup2(p[1], 1);
        close(p[0]);
        close(p[1]);
        execl("/bin/sh", "sh", "-c", script, (char *)NULL);
        _exit(9);
    }
    close(p[1]);
    *said = p[0];
    return pid > 0 && read(p[0], &c, 1) == 1 ? pid : -1;
}

/* Nobody holds the other end any more. */
static bool ended(int fd)
{
    char c;

    fcntl(fd, F_SETFL, O_NONBLOCK);
    for (int i = 0; i < 200; i++) {
        if (read(fd, &c, 1) == 0)
            return true;
        usleep(10000);
    }
    return false;
}

/* The spared one and what it has started go on; all others end. */
static int play_spared(void)
{
    int fd[4];
    pid_t pid[2];

    if (sweep_prepare() < 0)
        return __LINE__;
    pid[0] = start("sleep 100 & (setsid sleep 100 &) ; echo; wait", &fd[0]);
    pid[1] = start("sh -c 'sleep 100 & echo; wait' & wait", &fd[1]);
    if (pid[0] < 0 || pid[1] < 0 || start("(setsid sh -c 'sleep 100' &); echo; wait", &fd[2]) < 0 ||
        start("sleep 100 & echo; sleep 100", &fd[3]) < 0)
        return __LINE__;
    if (sweep_but(20, &pid[1], 1, NULL) != 0)
        return __LINE__;
    if (!ended(fd[0]) || !ended(fd[2]) || !ended(fd[3]) || kill(pid[1], 0) < 0)
        return __LINE__;
    fcntl(fd[1], F_SETFL, O_NONBLOCK);
    if (read(fd[1], fd, 1) != -1)            /* it and its grandchild are there */
        return __LINE__;
    if (waitpid(pid[1], NULL, WNOHANG) != 0)
        return __LINE__;
    if (sweep_but(20, pid, 2, NULL) != 0 || kill(pid[1], 0) < 0)   /* one that has ended */
        return __LINE__;
    kill(pid[1], SIGKILL);                   /* its zombie is left to whom it belongs */
    usleep(50000);
    if (sweep_but(20, &pid[1], 1, NULL) != 0 || waitpid(pid[1], NULL, 0) != pid[1])
        return __LINE__;
    if (sweep_but(20, NULL, 0, NULL) != 0 || !ended(fd[1]) || sweep_any())
        return __LINE__;
    return 0;
}

/* A sweep of one job: its own and what they have started end; another job's, and those
 * that name none, go on. */
static int play_of_job(void)
{
    static const char *const scripts[] = {
        "PMI_JOBID=j sh -c 'sleep 100 & (setsid sleep 100 &); echo; wait' & wait",
        "sleep 100 & echo; wait", "sleep 100 & echo; wait", "sleep 100 & echo; wait",
        "(setsid sh -c 'sleep 100 & echo; wait' &); sleep 100",
    };
    static const char *const ids[] = { NULL, "j", "j1", NULL, "j" };
    static const bool goes[] = { false, true, false, false, true };
    int fd[N_OF(scripts)];
    pid_t pid[N_OF(scripts)];

    if (sweep_prepare() < 0)
        return __LINE__;
    for (size_t i = 0; i < N_OF(scripts); i++) {
        unsetenv("PMI_JOBID");
        if (ids[i])
            setenv("PMI_JOBID", ids[i], 1);
        pid[i] = start(scripts[i], &fd[i]);
        if (pid[i] < 0)
            return __LINE__;
    }
    unsetenv("PMI_JOBID");
    if (sweep_but(20, NULL, 0, "none") != 0)
        return __LINE__;
    for (size_t i = 0; i < N_OF(scripts); i++)
        if (kill(pid[i], 0) < 0)
            return __LINE__;
    if (sweep_but(20, &pid[4], 1, "j") != 0)
        return __LINE__;
    if (!ended(fd[1]) || waitpid(pid[4], NULL, WNOHANG) != 0)    /* spared by its number */
        return __LINE__;
    if (sweep_but(20, NULL, 0, "j") != 0)
        return __LINE__;
    for (size_t i = 0; i < N_OF(scripts); i++) {
        fcntl(fd[i], F_SETFL, O_NONBLOCK);
        if (goes[i] ? !ended(fd[i]) : read(fd[i], &pid[i], 1) != -1)
            return __LINE__;
    }
    if (sweep_but(20, NULL, 0, NULL) != 0 || sweep_any())
        return __LINE__;
    for (size_t i = 0; i < N_OF(scripts); i++)
        if (!ended(fd[i]))
            return __LINE__;
    return 0;
}

/* What a killed process of the job leaves becomes ours, and goes too. */
static int play_orphans_of_job(void)
{
    int fd[2];

    if (sweep_prepare() < 0)
        return __LINE__;
    setenv("PMI_JOBID", "j", 1);
    if (start("sh -c 'sh -c \"(setsid sleep 100 &) ; sleep 100 & echo; wait\" & wait' & wait",
              &fd[0]) < 0)
        return __LINE__;
    setenv("PMI_JOBID", "k", 1);
    if (start("(setsid sleep 100 &); echo", &fd[1]) < 0)         /* an orphan already */
        return __LINE__;
    if (sweep_but(20, NULL, 0, "j") != 0 || !ended(fd[0]) || ended(fd[1]))
        return __LINE__;
    if (sweep_but(20, NULL, 0, "k") != 0 || !ended(fd[1]))
        return __LINE__;
    return sweep_all(20) == 0 ? 0 : __LINE__;
}

static void played_apart(int (*play_it)(void))
{
    int status;
    pid_t pid;

    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        int line = play_it();

        if (line)
            fprintf(stderr, "    line %d\n", line);
        close(1);
        sweep_all(20);
        exit(line != 0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void test_spared(void **state)
{
    (void)state;
    played_apart(play_spared);
}

static void test_of_job(void **state)
{
    (void)state;
    played_apart(play_of_job);
}

static void test_orphans_of_job(void **state)
{
    (void)state;
    played_apart(play_orphans_of_job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases), cmocka_unit_test(test_in_vain),
        cmocka_unit_test(test_spared), cmocka_unit_test(test_of_job),
        cmocka_unit_test(test_orphans_of_job),
    };

    return cmocka_run_group_tests_name("sweep", tests, NULL, NULL);
}

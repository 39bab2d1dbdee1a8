/* chore.c - what ordinary programs do to a launcher: chore MODE [ARG]...
 *
 *   lines N          N lines "RANK NUMBER xxx...", of many lengths, in odd pieces
 *   flood            lines for ever
 *   ignore           ignores TERM, INT, HUP, QUIT; "ready"; sleeps
 *   show             prints the name of each signal that comes, "ready" first
 *   daemon           a grandchild in its own session that ignores TERM and keeps all
 *                    descriptors; "ready"; this one sleeps
 *   daemon-exit      the same; this one ends with 0
 *   forks            children that fork children and end, without an end; "ready"
 *   late MS TEXT     ends at once; a child writes TEXT after MS milliseconds
 *   die N            kills itself by signal N
 *   fill             fills its stdout's pipe, then ends with 0
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int rank;

static void put(const char *data, size_t len)
{
    while (len) {
        ssize_t n = write(1, data, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            _exit(66);
        data += n;
        len -= (size_t)n;
    }
}

static void say(const char *text)
{
    put(text, strlen(text));
}

static uint32_t next_random(uint32_t *s)
{
    *s = *s * 1664525u + 1013904223u;
    return *s >> 8;
}

static void lines(long count)
{
    static char text[1 << 16];
    uint32_t seed = (uint32_t)rank * 7919u + 1;
    size_t have = 0;

    for (long i = 0; i < count; i++) {
        int width = (int)(next_random(&seed) % 60);

        have += (size_t)sprintf(text + have, "%d %ld %.*s\n", rank, i, width,
            "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
        while (have > 16384) {          /* cut anywhere but at line ends */
            size_t piece = 1 + next_random(&seed) % 5000;

            put(text, piece);
            have -= piece;
            memmove(text, text + piece, have);
        }
    }
    put(text, have);
}

static void on_signal(int signo)
{
    char text[32];

    put(text, (size_t)snprintf(text, sizeof text, "got %s\n", sigabbrev_np(signo)));
}

static void show(void)
{
    static const int all[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM,
                               SIGCONT };
    struct sigaction a = { .sa_handler = on_signal };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        sigaction(all[i], &a, NULL);
    say("ready\n");
    for (;;)
        pause();
}

static void ignore(void)
{
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
}

static void daemon_of_ours(void)
{
    if (fork() == 0) {
        setsid();
        if (fork())
            _exit(0);
        ignore();
        for (;;)
            sleep(100);
    }
    wait(NULL);
    say("ready\n");
}

/* Each lives for a moment: whoever looks has a list of the past. */
static void forks(void)
{
    int told = 0;

    signal(SIGCHLD, SIG_IGN);
    ignore();
    for (;;) {
        pid_t pid = fork();

        if (pid > 0) {
            usleep(1000);
            _exit(0);
        }
        if (pid == 0) {
            setsid();
            if (++told == 20)
                say("ready\n");
        }
    }
}

static void late(unsigned ms, const char *text)
{
    if (fork() == 0) {
        usleep(ms * 1000);
        say(text);
        say("\n");
    }
}

static void fill(void)
{
    static char line[1000];

    memset(line, 'f', sizeof line);
    line[sizeof line - 1] = '\n';
    fcntl(1, F_SETFL, O_NONBLOCK);
    for (int i = 0; i < 5; i++) {
        while (write(1, line, sizeof line) == (ssize_t)sizeof line)
            ;
        usleep(1000);
    }
    fcntl(1, F_SETFL, 0);
    say("\nlast line\n");
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "", *arg = argc > 2 ? argv[2] : "0";

    rank = getenv("PMI_RANK") ? atoi(getenv("PMI_RANK")) : 0;
    if (!strcmp(mode, "lines"))
        lines(atol(arg));
    else if (!strcmp(mode, "flood"))
        lines(1L << 40);
    else if (!strcmp(mode, "show"))
        show();
    else if (!strcmp(mode, "forks"))
        forks();
    else if (!strcmp(mode, "late"))
        late((unsigned)atoi(arg), argc > 3 ? argv[3] : "late");
    else if (!strcmp(mode, "fill"))
        fill();
    else if (!strcmp(mode, "die"))
        kill(getpid(), atoi(arg));
    else if (!strncmp(mode, "daemon", 6))
        daemon_of_ours();
    else if (strcmp(mode, "ignore"))
        return 88;
    if (!strcmp(mode, "ignore")) {
        ignore();
        say("ready\n");
    }
    while (!strcmp(mode, "ignore") || !strcmp(mode, "daemon"))
        sleep(100);
    return 0;
}

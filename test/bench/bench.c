/* bench.c - the work that test/bench/run measures, and the limits of the machine.
 *
 *   bench rank 1|2 ROUNDS BYTES    a rank: rounds of put, fence, get of every rank
 *   bench ping 1|2 N BYTES         a rank: N gets of one value, one at a time
 *   bench start 1|2                a rank: when it ran, and when its first fence was
 *                                  complete, by the machine's clock
 *   bench echo N ASK ANSWER        two processes and a socketpair: N exchanges of
 *                                  that many bytes there and back
 *   bench spawn N                  posix_spawn and wait of N times true
 *
 * Each prints one line of figures, name=microseconds (start: seconds).  A rank that gets what it
 * did not expect says so and exits with 1. */
#define _GNU_SOURCE
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static int fd, wire;
static char space[128], in[1 << 16];
static size_t have;
static size_t asked, answered;   /* bytes of the last exchange */

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

__attribute__((noreturn))
static void die(const char *what)
{
    fprintf(stderr, "bench: %s: %.200s\n", what, in);
    exit(1);
}

/* Send all of text, framed or as a line. */
static void tell(const char *text, int framed)
{
    static char out[1 << 16];
    int n = framed ? snprintf(out, sizeof out, "%6zu%s", strlen(text), text)
                   : snprintf(out, sizeof out, "%s\n", text);

    asked = (size_t)n;
    if (write(fd, out, asked) != n)
        die("write");
}

/* The next message, ended by a NUL; what follows it stays. */
static const char *hear(int framed)
{
    static char text[1 << 16];

    for (;;) {
        size_t len = 0, head = framed ? 6 : 0;
        char *end = framed ? NULL : memchr(in, '\n', have);

        if (end)
            len = (size_t)(end - in) + 1;
        else if (framed && have >= 6) {
            char n[7];

            memcpy(n, in, 6);
            n[6] = '\0';
            len = (size_t)atoi(n) + 6 <= have ? (size_t)atoi(n) : 0;
        }
        if (len) {
            memcpy(text, in + head, len);
            text[len] = '\0';
            answered = head + len;
            have -= answered;
            memmove(in, in + answered, have);
            return text;
        }
        ssize_t n = read(fd, in + have, sizeof in - have);

        if (n <= 0)
            die("the server closed the connection");
        have += (size_t)n;
    }
}

static const char *ask(const char *text)
{
    tell(text, wire == 2);
    return hear(wire == 2);
}

static void want(const char *reply, const char *part)
{
    if (!strstr(reply, part)) {
        fprintf(stderr, "bench: no '%.60s' in '%.200s'\n", part, reply);
        exit(1);
    }
}

static int number(const char *name)
{
    const char *s = getenv(name);

    return s ? atoi(s) : -1;
}

static void begin(void)
{
    char text[128];
    const char *reply;

    fd = number("PMI_FD");
    if (fd < 0)
        die("no PMI_FD");
    snprintf(text, sizeof text, "cmd=init pmi_version=%d pmi_subversion=%d", wire, wire == 1);
    tell(text, 0);
    want(hear(0), "rc=0");
    if (wire == 1) {
        reply = strstr(ask("cmd=get_my_kvsname"), "kvsname=");
        if (!reply || sscanf(reply, "kvsname=%127s", space) != 1)
            die("no kvsname");
    } else {
        snprintf(text, sizeof text, "cmd=fullinit;pmirank=%d;threaded=FALSE;", number("PMI_RANK"));
        want(ask(text), "rc=0;");
    }
}

static void end(void)
{
    ask(wire == 1 ? "cmd=finalize" : "cmd=finalize;");
}

static void put(const char *key, const char *value)
{
    char text[4096];

    snprintf(text, sizeof text, wire == 1 ? "cmd=put kvsname=%s key=%s value=%s" :
             "cmd=kvs-put;%.0skey=%s;value=%s;", space, key, value);
    want(ask(text), "rc=0");
}

static void fence(void)
{
    want(ask(wire == 1 ? "cmd=barrier_in" : "cmd=kvs-fence;"), wire == 1 ? "barrier_out" : "rc=0;");
}

static void get(const char *key, const char *value)
{
    char text[4096];

    snprintf(text, sizeof text, wire == 1 ? "cmd=get kvsname=%s key=%s" :
             "cmd=kvs-get;%.0ssrcid=-1;key=%s;", space, key);
    want(ask(text), value);
}

static void value_of(char *text, int rank, int round, int bytes)
{
    int n = sprintf(text, "v%d.%d.", rank, round);

    while (n < bytes)
        text[n++] = 'x';
    text[n] = '\0';
}

static void do_rank(int rounds, int bytes)
{
    int rank = number("PMI_RANK"), size;
    char key[64], value[4096];
    double in_fence = 0, in_get = 0;

    begin();
    size = number("PMI_SIZE");
    fence();
    for (int i = 0; i < rounds; i++) {
        double a, b;

        snprintf(key, sizeof key, "k-%d-%d", rank, i);
        value_of(value, rank, i, bytes);
        put(key, value);
        a = now();
        fence();
        b = now();
        for (int r = 0; r < size; r++) {
            int from = (rank + r) % size;

            snprintf(key, sizeof key, "k-%d-%d", from, i);
            value_of(value, from, i, bytes);
            get(key, value);
        }
        in_fence += b - a;
        in_get += now() - b;
    }
    fence();
    if (rank == 0)
        printf("fence=%.2f get=%.2f\n", in_fence / rounds, in_get / rounds / size);
    end();
}

static void do_ping(int n, int bytes)
{
    char value[4096];
    double start;

    begin();
    value_of(value, 0, 0, bytes);
    put("key-0-0", value);
    fence();
    start = now();
    for (int i = 0; i < n; i++)
        get("key-0-0", value);
    printf("ping=%.3f ask=%zu answer=%zu\n", (now() - start) / n, asked, answered);
    end();
}

/* When it runs, and when its first fence is complete: seconds of a clock that all
 * processes of the machine share. */
static void do_start(void)
{
    double started = now(), fenced;

    begin();
    fence();
    fenced = now();
    printf("started=%.6f fenced=%.6f\n", started / 1e6, fenced / 1e6);
    fflush(stdout);
    end();
}

static void all(int s, size_t len, int reading)
{
    static char data[1 << 16];

    while (len) {
        ssize_t n = reading ? read(s, data, len) : write(s, data, len);

        if (n <= 0)
            _exit(1);
        len -= (size_t)n;
    }
}

static void do_echo(int n, size_t there, size_t back)
{
    int s[2];
    double start;

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, s) < 0)
        die("socketpair");
    if (fork() == 0) {
        close(s[0]);
        for (int i = 0; i < n; i++) {
            all(s[1], there, 1);
            all(s[1], back, 0);
        }
        _exit(0);
    }
    start = now();
    for (int i = 0; i < n; i++) {
        all(s[0], there, 0);
        all(s[0], back, 1);
    }
    printf("echo=%.3f\n", (now() - start) / n);
    wait(NULL);
}

static void do_spawn(int n)
{
    char *argv[] = { (char *)"true", NULL };
    pid_t pid;

    for (int i = 0; i < n; i++)
        if (posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ))
            die("posix_spawn");
    while (wait(NULL) > 0)
        ;
}

int main(int argc, char **argv)
{
    int a = argc > 2 ? atoi(argv[2]) : 0, b = argc > 3 ? atoi(argv[3]) : 0;
    int c = argc > 4 ? atoi(argv[4]) : 0;

    if (argc < 3)
        return 2;
    wire = a;
    if (!strcmp(argv[1], "rank"))
        do_rank(b, c);
    else if (!strcmp(argv[1], "start"))
        do_start();
    else if (!strcmp(argv[1], "ping"))
        do_ping(b, c);
    else if (!strcmp(argv[1], "echo"))
        do_echo(a, (size_t)b, (size_t)c);
    else if (!strcmp(argv[1], "spawn"))
        do_spawn(a);
    else
        return 2;
    return 0;
}

/* soak_rank.c - a rank of test/soak: puts, fences and gets, round by round, all checked.
 *
 *   soak_rank WIRE SEED MS PAUSE WIDTH BAD HOW ARG AFTER [flag...]
 *
 * WIRE is 1 or 2.  Rounds go on for MS milliseconds by rank 0's clock, PAUSE ms between
 * them; each prints "RANK ROUND xxx" of up to WIDTH x.  Rank BAD ends badly AFTER ms:
 * HOW is exit (inside PMI, with ARG), late (after finalize, with ARG), kill (by signal
 * ARG), abort (with ARG).  Flags: deaf ignores TERM, INT and HUP; daemon leaves a child
 * in a session of its own that is deaf and keeps stdout; alone finalizes after an error
 * of a fence or a lost value (-disable-auto-cleanup);
 * steady puts nothing new after round 20, so that the servers' memory must stay as it is.
 *
 * "RANK ready" and "RANK done ROUNDS" are the first and the last line.  A wrong answer
 * says WRONG and ends with 9. */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { KEYS = 3, BIG = 900 };

static int fd, rank, size, wire, alone, steady;
static unsigned seed;
static char kvs[512];

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void all(int to, const char *data, size_t len)
{
    while (len) {
        ssize_t n = write(to, data, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            _exit(77);
        data += n;
        len -= (size_t)n;
    }
}

static void say(const char *fmt, ...)
{
    char text[2048];
    va_list ap;

    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    all(1, text, (size_t)n);
}

static void need(int condition, const char *what, const char *seen)
{
    if (condition)
        return;
    say("%d WRONG %s: %.1500s\n", rank, what, seen);
    _exit(9);
}

/* --- the wire */

static char seen[1 << 17];

static void some(char *to, size_t len)
{
    while (len) {
        ssize_t n = read(fd, to, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)                     /* the server is gone: so is the job */
            _exit(77);
        to += n;
        len -= (size_t)n;
    }
}

static char *line(void)
{
    size_t n = 0;

    do
        some(seen + n, 1);
    while (seen[n++] != '\n' && n < sizeof seen);
    seen[n - 1] = 0;
    return seen;
}

static char *ask(const char *fmt, ...)
{
    static char text[4096];
    va_list ap;

    va_start(ap, fmt);
    int n = vsnprintf(text + 6, sizeof text - 7, fmt, ap);
    va_end(ap);
    if (wire == 1) {
        text[6 + n] = '\n';
        all(fd, text + 6, (size_t)n + 1);
        return line();
    }
    char head[7];

    snprintf(head, sizeof head, "%6d", n);
    memcpy(text, head, 6);
    all(fd, text, (size_t)n + 6);
    some(head, 6);
    head[6] = 0;
    n = atoi(head);
    need(n > 0 && (size_t)n < sizeof seen, "a frame's length", head);
    some(seen, (size_t)n);
    seen[n] = 0;
    return seen;
}

static int good(const char *reply)
{
    return strstr(reply, "rc=0") != NULL;
}

static void start(void)
{
    char *r;

    fd = atoi(getenv("PMI_FD"));
    if (wire == 1) {
        r = ask("cmd=init pmi_version=1 pmi_subversion=1");
        need(good(r), "init", r);
        r = ask("cmd=get_my_kvsname");
        need((r = strstr(r, " kvsname=")) && sscanf(r, " kvsname=%511s", kvs) == 1, "kvsname",
             seen);
        return;
    }
    all(fd, "cmd=init pmi_version=2 pmi_subversion=0\n", 40);
    r = line();
    need(good(r), "init", r);
    r = ask("cmd=fullinit;pmirank=%d;threaded=FALSE;", rank);
    need(good(r), "fullinit", r);
}

static int fence(void)
{
    char *r = ask(wire == 1 ? "cmd=barrier_in" : "cmd=kvs-fence;");

    if (good(r) || (wire == 1 && !strcmp(r, "cmd=barrier_out")))
        return 1;
    need(alone, "fence", r);
    return 0;
}

static void put(const char *key, const char *value)
{
    char *r = wire == 1 ? ask("cmd=put kvsname=%s key=%s value=%s", kvs, key, value)
                        : ask("cmd=kvs-put;key=%s;value=%s;", key, value);

    need(good(r), "put", r);
}

/* Its value, or NULL. */
static char *get(const char *key)
{
    char *r = wire == 1 ? ask("cmd=get kvsname=%s key=%s", kvs, key)
                        : ask("cmd=kvs-get;jobid=;srcid=-1;key=%s;", key);
    char *v = good(r) ? strstr(r, "value=") : NULL;

    if (v)
        v[strcspn(v, "; ")] = 0;
    return v ? v + 6 : NULL;
}

/* --- what is put */

static unsigned mix(unsigned a, unsigned b)
{
    a = (a ^ b * 2654435761u) * 2246822519u;
    return a ^ a >> 15;
}

static const char *value(int of, int round, int key)
{
    static char text[BIG + 1];
    unsigned h = mix(mix(mix(seed, (unsigned)of), (unsigned)round), (unsigned)key);
    int len = h % 8 ? 5 + (int)(h % 60) : (int)(h / 8 % BIG);

    for (int i = 0; i < len; i++)
        text[i] = (char)('a' + (h >> i % 23 & 7));
    snprintf(text + len, sizeof text - (size_t)len, "%d-%d", of, round);
    return text;
}

static const char *name(int of, int key)
{
    static char text[64];

    snprintf(text, sizeof text, "key-%d-%d", of, key);
    return text;
}

static int check(int of, int round, int key)
{
    const char *v = get(name(of, key)), *want = value(of, round, key);
    char what[100];

    if (alone && !v)                    /* its host may be lost */
        return 0;
    snprintf(what, sizeof what, "value of rank %d key %d round %d", of, key, round);
    need(v && !strcmp(v, want), what, v ? v : "missing");
    return 1;
}

static void leave_daemon(void)
{
    if (fork())
        return;
    setsid();
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    sleep(120);
    _exit(0);
}

static void badly(const char *how, int arg)
{
    if (!strcmp(how, "exit"))
        _exit(arg);
    if (!strcmp(how, "kill")) {
        signal(arg, SIG_DFL);
        kill(getpid(), arg);
        pause();
    }
    if (!strcmp(how, "abort")) {
        if (wire == 1)
            ask("cmd=abort exitcode=%d", arg);
        else
            ask("cmd=abort;isworld=TRUE;exitcode=%d;message=soak;", arg);
        sleep(60);
    }
}

int main(int argc, char **argv)
{
    if (argc < 10 || !getenv("PMI_FD") || !getenv("PMI_RANK") || !getenv("PMI_SIZE"))
        return 2;
    wire = atoi(argv[1]);
    seed = (unsigned)atoi(argv[2]);
    rank = atoi(getenv("PMI_RANK"));
    size = atoi(getenv("PMI_SIZE"));
    double ms = atof(argv[3]), after = atof(argv[9]);
    int pause_ms = atoi(argv[4]), width = atoi(argv[5]), bad = atoi(argv[6]) == rank;
    int round = 0, going = 1;
    static char xs[2000];

    for (int i = 10; i < argc; i++) {
        alone |= !strcmp(argv[i], "alone");
        steady |= !strcmp(argv[i], "steady");
        if (!strcmp(argv[i], "deaf")) {
            signal(SIGTERM, SIG_IGN);
            signal(SIGINT, SIG_IGN);
            signal(SIGHUP, SIG_IGN);
        }
        if (!strcmp(argv[i], "daemon"))
            leave_daemon();
    }
    memset(xs, 'x', sizeof xs - 1);
    start();
    if (!fence())
        going = 0;
    double began = now();
    say("%d ready\n", rank);
    for (; going; round++) {
        if (bad && (now() - began) * 1000 >= after)
            badly(argv[7], atoi(argv[8]));
        int of = steady && round > 20 ? 20 : round, over = (now() - began) * 1000 >= ms;

        for (int k = 0; k < KEYS && of == round; k++)
            put(name(rank, k), value(rank, round, k));
        if (rank == 0 && (of == round || over))
            put("stop", over ? "1" : "0");
        if (!fence())
            break;
        char *stop = get("stop");
        need(stop || alone, "stop", "missing");
        int last = !stop || *stop == '1';
        for (int i = 0; i < 6; i++) {
            unsigned h = mix(seed + (unsigned)rank, (unsigned)(round * 6 + i));
            last |= !check((int)(h % (unsigned)size), of, (int)(h / 7 % KEYS));
        }
        last |= !check((rank + 1) % size, of, 0);
        unsigned h = mix(seed, (unsigned)(rank * 7919 + round));
        say("%d %d %.*s\n", rank, round, width ? (int)(h % (unsigned)width) : 0, xs);
        if (!fence())
            break;
        if (last)
            going = 0;
        if (pause_ms)
            usleep((useconds_t)pause_ms * 1000);
    }
    char *r = ask(wire == 1 ? "cmd=finalize" : "cmd=finalize;");
    need(wire == 1 ? !strncmp(r, "cmd=finalize_ack", 16) : good(r), "finalize", r);
    say("%d done %d\n", rank, round);
    return bad && !strcmp(argv[7], "late") ? atoi(argv[8]) : 0;
}

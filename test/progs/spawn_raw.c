/* spawn_raw.c - spawns in large numbers, by a client that is nothing but bytes.
 *
 *   spawn_raw many WIRE COUNT STEP N [MODE [ARG]]
 *                    COUNT spawns in a row by every rank, each of N copies of
 *                    "spawn_raw MODE WIRE [ARG]"; after each STEP of them a fence, and
 *                    rank 0 says "at K" and waits for a line of stdin; "done" at the end
 *   spawn_raw once WIRE FIFO N
 *                    one spawn of N; makes FIFO; the time until the reply, and until all
 *                    N have been through init and a fence: "reply=MS ready=MS"
 *   spawn_raw alone FIFO N
 *                    the same by posix_spawn, without any server: what the machine can
 *   spawn_raw deep WIRE DEPTH
 *                    spawns itself with DEPTH - 1, until that is 0
 *
 * and what is spawned:
 *
 *   spawn_raw child WIRE      asks for the parent's port, then a fence, then finalize
 *   spawn_raw tell WIRE FIFO  the same; tells FIFO after the fence
 *   spawn_raw note FIFO       tells FIFO, without PMI
 *   spawn_raw none            ends at once, without PMI
 *
 * What is wrong is said on stdout and makes the exit status 9. */
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE = 60000 };              /* ms that all children may take */

#define PORT "tag#0$description#host$port#4242$ifname#10.0.0.1$"

static int fd, wire, rank = -1, size = 1;
static char name[256];                   /* of this job */
static char answer[70000];

static void wrong(const char *fmt, ...)
{
    va_list ap;

    printf("WRONG: rank %d: ", rank);
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    printf("\n");
    fflush(stdout);
    _exit(9);
}

static double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void write_all(const char *data, size_t len)
{
    while (len) {
        ssize_t n = write(fd, data, len);

        if (n <= 0)
            wrong("write to the server");
        data += n;
        len -= (size_t)n;
    }
}

/* What the server has sent: a few at a time, as a byte a read would measure reads. */
static char get_byte(void)
{
    static char in[4096];
    static size_t have, at;

    if (at == have) {
        ssize_t n = read(fd, in, sizeof in);

        if (n <= 0)
            wrong("the server has closed");
        have = (size_t)n;
        at = 0;
    }
    return in[at++];
}

static void read_exactly(char *data, size_t len)
{
    while (len--)
        *data++ = get_byte();
}

static void read_line(void)
{
    size_t n = 0;

    do
        answer[n] = get_byte();
    while (answer[n++] != '\n' && n < sizeof answer);
    answer[n - 1] = '\0';
}

static void read_answer(void)
{
    char length[7] = "";
    size_t n;

    if (wire == 1) {
        read_line();
        return;
    }
    read_exactly(length, 6);
    n = strtoul(length, NULL, 10);
    if (!n || n >= sizeof answer)
        wrong("a frame of '%s' bytes", length);
    read_exactly(answer, n);
    answer[n] = '\0';
}

static void send_text(const char *text)
{
    char length[7];

    if (wire == 2) {
        snprintf(length, sizeof length, "%6zu", strlen(text));
        write_all(length, 6);
    }
    write_all(text, strlen(text));
}

/* Send, and have the answer in `answer`. */
__attribute__((format(printf, 1, 2)))
static void ask(const char *fmt, ...)
{
    char text[4096];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    send_text(text);
    read_answer();
}

/* The value of a key of the answer, in a buffer of its own; "" if it is not there. */
static const char *field(const char *key)
{
    static char value[2048];
    char word[64];
    const char *at;

    snprintf(word, sizeof word, "%c%s=", wire == 1 ? ' ' : ';', key);
    at = strstr(answer, word);
    value[0] = '\0';
    if (at)
        snprintf(value, sizeof value, "%.*s", (int)strcspn(at + strlen(word),
                 wire == 1 ? " \n" : ";"), at + strlen(word));
    return value;
}

static void need_good(const char *what)
{
    const char *rc = field("rc");

    if (*rc && strcmp(rc, "0"))          /* Hydra leaves it out here and there */
        wrong("%s: %s", what, answer);
}

/* --- commands --------------------------------------------------------------- */

static void init(const char *which)
{
    int wanted = atoi(which);

    fd = atoi(getenv("PMI_FD") ? getenv("PMI_FD") : "-1");
    rank = atoi(getenv("PMI_RANK") ? getenv("PMI_RANK") : "-1");
    size = atoi(getenv("PMI_SIZE") ? getenv("PMI_SIZE") : "1");
    wire = 1;
    ask("cmd=init pmi_version=%d pmi_subversion=%d\n", wanted, wanted == 1);
    need_good("init");
    wire = wanted;
    if (wire == 2)
        ask("cmd=fullinit;pmirank=%d;threaded=FALSE;", rank);
    else
        ask("cmd=get_maxes\n");
    need_good("init");
    if (wire == 2)
        ask("cmd=job-getid;");
    else
        ask("cmd=get_my_kvsname\n");
    snprintf(name, sizeof name, "%s", field(wire == 1 ? "kvsname" : "jobid"));
}

static void fence(void)
{
    ask(wire == 1 ? "cmd=barrier_in\n" : "cmd=kvs-fence;");
    need_good("fence");
}

static void finalize(void)
{
    ask(wire == 1 ? "cmd=finalize\n" : "cmd=finalize;");
    need_good("finalize");
}

/* Spawn n copies of this program with these arguments. */
static void spawn(const char *self, int n, const char *mode, const char *third)
{
    const char *w = wire == 1 ? "1" : "2";
    int argc = third ? 3 : 2;

    if (wire == 1)
        ask("mcmd=spawn\nnprocs=%d\nexecname=%s\ntotspawns=1\nspawnssofar=1\nargcnt=%d\n"
            "arg1=%s\narg2=%s\n%s%s%spreput_num=1\npreput_key_0=PARENT_ROOT_PORT_NAME\n"
            "preput_val_0=" PORT "\ninfo_num=0\nendcmd\n", n, self, argc, mode, w,
            third ? "arg3=" : "", third ? third : "", third ? "\n" : "");
    else
        ask("cmd=spawn;ncmds=1;preputcount=1;ppkey0=PARENT_ROOT_PORT_NAME;ppval0=" PORT ";"
            "subcmd=%s;maxprocs=%d;argc=%d;argv0=%s;argv1=%s;%s%s%sinfokeycount=0;", self, n,
            argc, mode, w, third ? "argv2=" : "", third ? third : "", third ? ";" : "");
    need_good("spawn");
}

/* One byte for whoever counts: no server is asked, whoever that is. */
static void note(const char *fifo)
{
    int out = open(fifo, O_WRONLY);

    if (out < 0 || write(out, "+", 1) != 1)
        wrong("%s cannot be written", fifo);
    close(out);
}

static void child(const char *fifo)
{
    if (wire == 1)
        ask("cmd=get kvsname=%s key=PARENT_ROOT_PORT_NAME\n", name);
    else
        ask("cmd=kvs-get;jobid=%s;srcid=-1;key=PARENT_ROOT_PORT_NAME;", name);
    if (strcmp(field("value"), PORT))
        wrong("the parent's port: %s", answer);
    fence();
    if (fifo)
        note(fifo);
    finalize();
}

/* --- modes of the parent ---------------------------------------------------- */

/* All ranks together: whoever looks at the servers meanwhile finds nothing under way. */
static void pause_at(long i)
{
    fence();
    if (rank == 0) {
        printf("at %ld\n", i);
        fflush(stdout);
        if (getchar() != '\n')
            wrong("no line of stdin");
    }
    fence();
}

enum { FEW = 200 };

static void many(const char *self, char **v)
{
    long count = atol(v[0]), step = atol(v[1]);

    for (int i = 0; rank == 0 && i < FEW; i++)   /* what the launcher keeps of jobs is full then */
        spawn(self, 1, "none", NULL);
    for (long i = 1; i <= count; i++) {
        spawn(self, atoi(v[2]), v[3] ? v[3] : "child", v[3] ? v[4] : NULL);
        if (i % step == 0)
            pause_at(i);
    }
    if (rank == 0)
        printf("done\n");
}

/* Open for both, so that it never is at its end while nobody writes. */
static int make_fifo(const char *path)
{
    int in = mkfifo(path, 0600) < 0 ? -1 : open(path, O_RDWR | O_CLOEXEC);

    if (in < 0)
        wrong("%s cannot be made", path);
    return in;
}

/* Until n have told; the time since. */
static double all_told(int in, int n, double began)
{
    struct pollfd ready = { .fd = in, .events = POLLIN };
    char bytes[4096];

    while (n > 0) {
        if (poll(&ready, 1, PATIENCE) <= 0)
            wrong("%d children are not ready", n);
        n -= (int)read(in, bytes, sizeof bytes);
    }
    return now_ms() - began;
}

static void once(const char *self, const char *fifo, int n)
{
    int in = make_fifo(fifo);
    double began = now_ms(), replied;

    spawn(self, n, "tell", fifo);
    replied = now_ms() - began;
    printf("reply=%.3f ready=%.3f\n", replied, all_told(in, n, began));
    unlink(fifo);
    poll(NULL, 0, 300);                  /* Hydra wants the children to end first */
}

static void alone(const char *self, const char *fifo, int n)
{
    char *words[] = { (char *)self, (char *)"note", (char *)fifo, NULL };
    int in = make_fifo(fifo);
    double began = now_ms(), replied;

    for (int i = 0; i < n; i++)
        if (posix_spawn(&(pid_t){ 0 }, self, NULL, NULL, words, environ))
            wrong("posix_spawn");
    replied = now_ms() - began;
    printf("reply=%.3f ready=%.3f\n", replied, all_told(in, n, began));
    unlink(fifo);
    while (wait(NULL) > 0)
        ;
}

static void deep(const char *self, int depth)
{
    char next[16];

    snprintf(next, sizeof next, "%d", depth - 1);
    if (depth > 0)
        spawn(self, 1, "deep", next);
    printf("deep %d\n", depth);
}

/* What needs no server.  0: it is none of these. */
static int without_pmi(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";

    if (!strcmp(mode, "note") && argc > 2)
        note(argv[2]);
    else if (!strcmp(mode, "alone") && argc > 3)
        alone(argv[0], argv[2], atoi(argv[3]));
    else
        return !strcmp(mode, "none");
    return 1;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 2 ? argv[1] : "";

    if (without_pmi(argc, argv))
        return 0;
    init(argc > 2 ? argv[2] : "1");
    if (!strcmp(mode, "child") || !strcmp(mode, "tell")) {
        child(argv[3]);
        return 0;
    }
    if (!strcmp(mode, "many") && argc > 5)
        many(argv[0], argv + 3);
    else if (!strcmp(mode, "once") && argc > 4)
        once(argv[0], argv[3], atoi(argv[4]));
    else if (!strcmp(mode, "deep") && argc > 3)
        deep(argv[0], atoi(argv[3]));
    else
        return 88;
    fence();
    finalize();
    return 0;
}

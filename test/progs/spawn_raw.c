/* spawn_raw.c - spawns in large numbers, by a client that is nothing but bytes.
 *
 *   spawn_raw many WIRE COUNT STEP N [MODE]
 *                    COUNT spawns in a row, each of N copies of "spawn_raw MODE WIRE";
 *                    "at K" and a pause after each STEP of them; "done" at the end
 *   spawn_raw once WIRE NAME N
 *                    one spawn of N; the time until the reply, and until all N have met
 *                    in a fence and one has published NAME: "reply=MS ready=MS"
 *   spawn_raw deep WIRE DEPTH
 *                    spawns itself with DEPTH - 1, until that is 0
 *
 * and what is spawned:
 *
 *   spawn_raw child WIRE      asks for the parent's port, then a fence, then finalize
 *   spawn_raw tell WIRE NAME  the same; rank 0 publishes NAME before finalize
 *   spawn_raw none            ends at once, without PMI
 *
 * What is wrong is said on stdout and makes the exit status 9. */
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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

static void read_exactly(char *data, size_t len)
{
    while (len) {
        ssize_t n = read(fd, data, len);

        if (n <= 0)
            wrong("the server has closed");
        data += n;
        len -= (size_t)n;
    }
}

static void read_line(void)
{
    size_t n = 0;

    do
        read_exactly(answer + n, 1);
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

static void child(const char *publish)
{
    if (wire == 1)
        ask("cmd=get kvsname=%s key=PARENT_ROOT_PORT_NAME\n", name);
    else
        ask("cmd=kvs-get;jobid=%s;srcid=-1;key=PARENT_ROOT_PORT_NAME;", name);
    if (strcmp(field("value"), PORT))
        wrong("the parent's port: %s", answer);
    fence();
    if (publish && rank == 0) {
        if (wire == 1)
            ask("cmd=publish_name service=%s persistence=indefinite port=here\n", publish);
        else
            ask("cmd=name-publish;name=%s;port=here;infokeycount=1;infokey0=persistence;"
                "infoval0=indefinite;", publish);
        need_good("publish");
    }
    finalize();
}

/* --- modes of the parent ---------------------------------------------------- */

static void many(const char *self, long count, long step, int n, const char *mode)
{
    for (long i = 1; i <= count; i++) {
        spawn(self, n, mode, NULL);
        if (i % step == 0) {
            printf("at %ld\n", i);
            fflush(stdout);
            poll(NULL, 0, 2000);         /* for whoever looks: all have ended */
        }
    }
    printf("done\n");
}

static void once(const char *self, const char *publish, int n)
{
    double began = now_ms(), replied, until;

    spawn(self, n, "tell", publish);
    replied = now_ms();
    for (until = began + 60e3; now_ms() < until; poll(NULL, 0, 1)) {
        if (wire == 1)
            ask("cmd=lookup_name service=%s\n", publish);
        else
            ask("cmd=name-lookup;name=%s;infokeycount=0;", publish);
        if (!strcmp(field(wire == 1 ? "port" : "value"), "here"))
            break;
    }
    if (now_ms() >= until)
        wrong("the children are not ready");
    printf("reply=%.2f ready=%.2f\n", replied - began, now_ms() - began);
    poll(NULL, 0, 300);                  /* Hydra wants the children to end first */
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "", *w = argc > 2 ? argv[2] : "1";

    if (!strcmp(mode, "none"))
        return 0;
    init(w);
    if (!strcmp(mode, "child") || !strcmp(mode, "tell")) {
        child(argc > 3 ? argv[3] : NULL);
        return 0;
    }
    if (!strcmp(mode, "many") && argc > 5) {
        many(argv[0], atol(argv[3]), atol(argv[4]), atoi(argv[5]), argc > 6 ? argv[6] : "child");
    } else if (!strcmp(mode, "once") && argc > 4) {
        once(argv[0], argv[3], atoi(argv[4]));
    } else if (!strcmp(mode, "deep") && argc > 3) {
        char next[16];

        snprintf(next, sizeof next, "%d", atoi(argv[3]) - 1);
        if (atoi(argv[3]) > 0)
            spawn(argv[0], 1, "deep", next);
        printf("deep %s\n", argv[3]);
    } else {
        return 88;
    }
    fence();
    finalize();
    return 0;
}

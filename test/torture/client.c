/* client.c - a rank for the torture: every common PMI request once, on the bare
 * wire, some output and, if it is asked for, standard input to its end.
 *
 *   client 1|2 [--lines N] [--bytes N] [--input] [--exit N] [--abort N]
 *
 * What it prints does not depend on time or on other ranks, so that two good
 * runs of the same command differ in the order of lines alone.  Whatever is not
 * as it should be: a sentence on stderr and exit status 3. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int fd, rank, size, wire;
static char input[1 << 17];
static size_t have;

__attribute__((noreturn, format(printf, 1, 2)))
static void die(const char *fmt, ...)
{
    va_list ap;

    fflush(stdout);
    fprintf(stderr, "client %d: ", rank);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    _exit(3);
}

static void put_all(const char *data, size_t len)
{
    while (len) {
        ssize_t n = write(fd, data, len);

        if (n < 0)
            die("write to the server: %s", strerror(errno));
        data += n;
        len -= (size_t)n;
    }
}

/* The length of the message at the front of the input, and of what precedes it. */
static size_t complete(int framed, size_t *head)
{
    char digits[7] = "", *end;
    size_t len;

    *head = framed ? 6 : 0;
    if (!framed) {
        end = memchr(input, '\n', have);
        return end ? (size_t)(end - input) + 1 : 0;
    }
    if (have < 6)
        return 0;
    memcpy(digits, input, 6);
    len = strtoul(digits, NULL, 10);
    return have >= 6 + len ? len : 0;
}

/* One message from the server, valid until the next call. */
static const char *take(int framed)
{
    static char text[1 << 17];
    size_t len, head;

    while (!(len = complete(framed, &head))) {
        ssize_t n = read(fd, input + have, sizeof input - have);

        if (n <= 0)
            die("the server closed the connection");
        have += (size_t)n;
    }
    memcpy(text, input + head, len);
    text[len] = '\0';
    have -= head + len;
    memmove(input, input + head + len, have);
    return text;
}

/* Say something and return the answer. */
__attribute__((format(printf, 2, 3)))
static const char *ask(int framed, const char *fmt, ...)
{
    char text[4096];
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(text + 6, sizeof text - 7, fmt, ap);
    va_end(ap);
    if (framed) {
        char digits[7];

        snprintf(digits, sizeof digits, "%6d", n);
        memcpy(text, digits, 6);
        put_all(text, (size_t)n + 6);
    } else {
        text[6 + n] = '\n';
        put_all(text + 6, (size_t)n + 1);
    }
    return take(framed);
}

static void want(const char *reply, const char *part)
{
    if (!strstr(reply, part))
        die("no '%s' in '%s'", part, reply);
}

static void value_of(int r, char *text)
{
    sprintf(text, "value-%d-", r);
    for (size_t n = strlen(text); n < 200; n++)
        text[n] = (char)('a' + (n + (size_t)r) % 26), text[n + 1] = '\0';
}

static void work_2(void)
{
    char value[256];

    want(ask(0, "cmd=init pmi_version=2 pmi_subversion=0"), "rc=0");
    want(ask(1, "cmd=fullinit;pmirank=%d;threaded=FALSE;", rank), "rc=0;");
    want(ask(1, "cmd=job-getid;"), "jobid=");
    want(ask(1, "cmd=info-getjobattr;key=PMI_process_mapping;"), "value=(vector,");
    value_of(rank, value);
    want(ask(1, "cmd=kvs-put;key=key-%d;value=%s;", rank, value), "rc=0;");
    want(ask(1, "cmd=kvs-fence;"), "rc=0;");
    for (int r = 0; r < size; r++) {
        value_of(r, value);
        want(ask(1, "cmd=kvs-get;jobid=;srcid=-1;key=key-%d;", r), value);
    }
    want(ask(1, "cmd=kvs-get;jobid=;srcid=-1;key=none;"), "found=FALSE;");
    if (rank == 0) {
        want(ask(1, "cmd=info-putnodeattr;key=attr;value=node;"), "rc=0;");
        want(ask(1, "cmd=name-publish;name=s;port=p0;"), "rc=0;");
    }
    want(ask(1, "cmd=info-getnodeattr;key=attr;wait=TRUE;"), "value=node;");
    want(ask(1, "cmd=kvs-fence;"), "rc=0;");
    want(ask(1, "cmd=name-lookup;name=s;"), "port=p0;");
}

static void work_1(void)
{
    char value[256], space[128] = "";
    const char *at;

    if (!getenv("PMI_FD")) {
        want(ask(0, "cmd=initack pmiid=%d", rank), "cmd=initack");
        for (int i = 0; i < 3; i++)
            want(take(0), "cmd=set ");
    }
    want(ask(0, "cmd=init pmi_version=1 pmi_subversion=1"), "rc=0");
    want(ask(0, "cmd=get_maxes"), "vallen_max=");
    at = strstr(ask(0, "cmd=get_my_kvsname"), "kvsname=");
    if (!at || sscanf(at, "kvsname=%127s", space) != 1)
        die("no kvsname");
    value_of(rank, value);
    want(ask(0, "cmd=put kvsname=%s key=key-%d value=%s", space, rank, value), "rc=0");
    want(ask(0, "cmd=barrier_in"), "barrier_out");
    for (int r = 0; r < size; r++) {
        value_of(r, value);
        want(ask(0, "cmd=get kvsname=%s key=key-%d", space, r), value);
    }
    want(ask(0, "cmd=get kvsname=%s key=none", space), "rc=");
    if (rank == 0)
        want(ask(0, "cmd=publish_name service=s port=p0"), "rc=0");
    want(ask(0, "cmd=barrier_in"), "barrier_out");
    want(ask(0, "cmd=lookup_name service=s"), "port=p0");
}

static void print_lines(int lines, int bytes)
{
    for (int i = 0; i < lines; i++) {
        printf("out %d.%d ", rank, i);
        for (int b = 0; b < bytes; b++)
            putchar('a' + (b + i + rank) % 26);
        putchar('\n');
    }
    fflush(stdout);
    if (lines)
        fprintf(stderr, "err %d\n", rank);
}

static void read_input(void)
{
    char data[8192];
    unsigned long sum = 0, total = 0;
    ssize_t n;

    while ((n = read(0, data, sizeof data)) > 0) {
        total += (unsigned long)n;
        for (ssize_t i = 0; i < n; i++)
            sum = sum * 31 + (unsigned char)data[i];
    }
    printf("input %d: %lu bytes, %lx\n", rank, total, sum);
    fflush(stdout);
}

static void connect_port(const char *address)
{
    struct sockaddr_in to = { .sin_family = AF_INET };
    const char *colon = strchr(address, ':');

    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons((uint16_t)atoi(colon ? colon + 1 : "0"));
    fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) < 0)
        die("connect to %s: %s", address, strerror(errno));
}

static int number(const char *name, const char *text)
{
    if (!text)
        die("no %s", name);
    return atoi(text);
}

int main(int argc, char **argv)
{
    int lines = 0, bytes = 40, reads = 0, code = 0, aborts = 0;

    rank = number("PMI_RANK", getenv("PMI_RANK"));
    size = number("PMI_SIZE", getenv("PMI_SIZE"));
    wire = argc > 1 ? atoi(argv[1]) : 2;
    for (int i = 2; i < argc; i++) {
        if (!strcmp(argv[i], "--input"))
            reads = 1;
        else if (!strcmp(argv[i], "--lines"))
            lines = number("N", argv[++i]);
        else if (!strcmp(argv[i], "--bytes"))
            bytes = number("N", argv[++i]);
        else if (!strcmp(argv[i], "--exit"))
            code = number("N", argv[++i]);
        else if (!strcmp(argv[i], "--abort"))
            aborts = number("N", argv[++i]);
    }
    if (getenv("LD_PRELOAD") || getenv("TORTURE"))
        die("the preloaded library came along");
    if (getenv("PMI_FD"))
        fd = number("PMI_FD", getenv("PMI_FD"));
    else if (getenv("PMI_PORT"))
        connect_port(getenv("PMI_PORT"));
    else
        die("neither PMI_FD nor PMI_PORT");
    wire == 1 ? work_1() : work_2();
    print_lines(lines, bytes);
    if (reads)
        read_input();
    if (aborts && rank == 0) {
        if (wire == 1)
            ask(0, "cmd=abort exitcode=%d message=enough", aborts);
        else
            ask(1, "cmd=abort;exitcode=%d;message=enough;", aborts);
    }
    want(wire == 1 ? ask(0, "cmd=finalize") : ask(1, "cmd=finalize;"),
         wire == 1 ? "finalize_ack" : "rc=0;");
    return code;
}

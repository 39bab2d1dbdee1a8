/* find_far.c - a server of another host: by ssh, or, where a pmi2_server listens, by munge.  The
 * stdin and stdout of ssh, or of pmi2_proxy --dial here, are the stream.
 *
 * pmi2_proxy --tool there (pmi2_server --tool of one that listens) says a line that begins
 * with FIND_MARKER when it is connected; what a login script has printed before is shown as
 * that host's.  The answer is FIND_ANSWER, so that what such a script leaves of its input is
 * told apart as well. */
#include "pmix_ext/find.h"

#include "wire/buf.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { NOISE = 65536, PATH = 4096 };     /* bytes before the marker at most; of a path */

/* For a login script that reads a line: it gets empty ones. */
#define ENTER_KEYS "\n\n\n\n\n\n\n\n"

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* --- starting ssh ------------------------------------------------------ */

/* As this program has it beside itself, or as PATH has it there. */
static int find_proxy(char *path, size_t size, struct err *e)
{
    const char *given = getenv("PMI2_PROXY");

    if (!given || !*given) {
        find_program("pmi2_proxy", path, size);
        if (strpbrk(path, " \t'\"\\!$`*?[];&|<>()#~{}"))
            snprintf(path, size, "pmi2_proxy");
        return 0;
    }
    if (strpbrk(given, "'\\!\r\n") || snprintf(path, size, "'%s'", given) >= (int)size)
        return err_set(e, ERR_INVALID_VAL, "PMI2_PROXY: no path that a shell takes");
    return 0;
}

static int start_ssh(const struct found *f, int theirs, struct err *e)
{
    char ssh[] = "ssh", t[] = "-T", x[] = "-x", batch[] = "-oBatchMode=yes", dashes[] = "--",
         timeout[] = "-oConnectTimeout=10", alive[] = "-oServerAliveInterval=15";
    char program[PATH], command[PATH + 40], name[256];
    char *argv[] = { ssh, t, x, batch, timeout, alive, dashes, name, command, NULL };

    if (find_proxy(program, sizeof program, e) < 0)
        return -1;
    snprintf(name, sizeof name, "%s", f->host);
    snprintf(command, sizeof command, "%s --tool %d", program, (int)f->pid);
    return find_start(argv, theirs, theirs, STDERR_FILENO, e) > 0 ? 0 : -1;
}

/* --- dialling ---------------------------------------------------------- */

/* pmi2_proxy knows munge, and how to seal; here PMI2_PROXY is a path on this host. */
static int start_dialling(const struct found *f, int theirs, struct err *e)
{
    char program[PATH], option[] = "--dial", where[sizeof f->host];
    char *argv[] = { program, option, where, NULL };
    const char *given = getenv("PMI2_PROXY");

    find_program("pmi2_proxy", program, sizeof program);
    if (given && *given)
        snprintf(program, sizeof program, "%s", given);
    snprintf(where, sizeof where, "%s", f->host);
    return find_start(argv, theirs, theirs, STDERR_FILENO, e) > 0 ? 0 : -1;
}

/* What pmi2_server is asked (mpiexec_lite/resident.h). */
static void make_request(char *text, size_t size, pid_t pid)
{
    char body[48];
    int n = snprintf(body, sizeof body, "cmd=tool;id=1;pid=%d;", (int)pid);

    snprintf(text, size, "%6d%s", n, body);
}

/* --- the first words --------------------------------------------------- */

/* One more byte of a line.  False: the end, or the time is over. */
static bool add_byte(int fd, struct buf *line, double until)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };
    double left = until - now();
    char c;

    if (left <= 0 || poll(&p, 1, (int)(left * 1000) + 1) < 1 || recv(fd, &c, 1, 0) != 1)
        return false;
    buf_char(line, c);
    return !line->failed;
}

static bool ends_line(const struct buf *line)
{
    return line->len && buf_bytes(line)[line->len - 1] == '\n';
}

static void show(const char *host, const struct buf *line)
{
    struct buf safe = BUF_INIT;

    if (line->len)
        buf_escaped(&safe, buf_bytes(line), line->len);
    if (safe.len && !safe.failed)
        fprintf(stderr, "%s: %s\n", host, buf_bytes(&safe));
    buf_clear(&safe);
}

/* The marker may follow the last words of a login script in one line. */
static const char *find_marker(struct buf *line)
{
    buf_cut(line, line->len - 1);
    return line->len ? strstr(buf_bytes(line), FIND_MARKER) : NULL;
}

/* Lines up to the one with the marker; what it says behind that is why it cannot. */
static int await_marker(int fd, const char *host, const char *who, struct err *e)
{
    double until = now() + FIND_PATIENCE;
    struct buf line = BUF_INIT;
    const char *at = NULL;
    int rc = 0;

    for (size_t seen = 0; !at && seen < NOISE && add_byte(fd, &line, until); seen++)
        if (ends_line(&line) && !(at = find_marker(&line))) {
            show(host, &line);
            buf_reset(&line);
        }
    if (!at)
        show(host, &line);
    if (!at)
        rc = err_set(e, ERR_OTHER, "%s: %s does not answer there", host, who);
    else if (at[sizeof FIND_MARKER - 1])
        rc = err_set(e, ERR_OTHER, "%s: %s", host, at + sizeof FIND_MARKER - 1);
    buf_clear(&line);
    return rc;
}

int find_far(const struct found *f, struct err *e)
{
    static const char answer[] = FIND_ANSWER "\n";
    bool dials = f->how == FOUND_MUNGE;
    char first[80] = ENTER_KEYS;
    int fd[2];

    if (dials)
        make_request(first, sizeof first, f->pid);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) < 0)
        return err_set(e, ERR_OTHER, "no socket: %s", strerror(errno));
    if ((dials ? start_dialling : start_ssh)(f, fd[1], e) < 0) {
        close(fd[0]);
        close(fd[1]);
        return -1;
    }
    close(fd[1]);
    send(fd[0], first, strlen(first), MSG_NOSIGNAL);     /* a failure shows by the marker */
    if (await_marker(fd[0], f->host, dials ? "pmi2_server" : "pmi2_proxy --tool", e) < 0) {
        close(fd[0]);
        return -1;
    }
    send(fd[0], answer, sizeof answer - 1, MSG_NOSIGNAL);        /* its end shows soon enough */
    return fd[0];
}

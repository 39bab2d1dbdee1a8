/* single.c - see single.h */
#include "mpiexec_lite/single.h"

#include "mpiexec_lite/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PATIENCE = 10 };          /* seconds that it may take to answer */

/* Up to the newline, which is replaced; no byte behind it is read. */
static int read_line(int fd, char *line, size_t size)
{
    for (size_t n = 0; n + 1 < size; n++) {
        if (recv(fd, line + n, 1, 0) != 1)
            return -1;
        if (line[n] == '\n') {
            line[n] = '\0';
            return 0;
        }
    }
    return -1;
}

static int say(int fd, const char *text)
{
    size_t len = strlen(text);

    return send(fd, text, len, MSG_NOSIGNAL) == (ssize_t)len ? 0 : -1;
}

static bool is_ours(int fd, int port)
{
    struct sockaddr_in here;
    socklen_t len = sizeof here;
    uid_t uid;

    return getsockname(fd, (struct sockaddr *)&here, &len) == 0 &&
           listen_owner((unsigned)port, ntohs(here.sin_port), &uid) == 0 && uid == geteuid();
}

static int agree(int fd, const char *jobid)
{
    char line[1024], text[200];

    snprintf(text, sizeof text, "cmd=singinit_info rc=0 versionok=yes stdio=no kvsname=%s\n",
             jobid);
    return say(fd, "cmd=singinit authtype=none\n") < 0 || read_line(fd, line, sizeof line) < 0 ||
           strncmp(line, "cmd=singinit ", 13) || say(fd, text) < 0 ? -1 : 0;
}

int single_begin(const struct plan *p, pid_t *program, struct err *e)
{
    struct ucred made_by;
    socklen_t len = sizeof made_by;

    setsid();                            /* fails in a group of our own: as good */
    *program = getppid();
    if (!p->single_fd)
        return 0;
    if (getsockopt(p->single_fd, SOL_SOCKET, SO_PEERCRED, &made_by, &len) < 0 ||
        fcntl(p->single_fd, F_SETFD, FD_CLOEXEC) < 0)
        return err_set(e, ERR_OTHER, "-singleton-fd: descriptor %d: %s", p->single_fd,
                       strerror(errno));
    *program = made_by.pid;
    return 0;
}

static int join_port(int port, const char *jobid, struct err *e)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct timeval limit = { .tv_sec = PATIENCE };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) < 0 ||
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) < 0 ||
        connect(fd, (struct sockaddr *)&to, sizeof to) < 0)
        err_set(e, ERR_OTHER, "-pmi_args: cannot connect to port %d: %s", port, strerror(errno));
    else if (!is_ours(fd, port))
        err_set(e, ERR_OTHER, "-pmi_args: port %d is not a program of this user", port);
    else if (agree(fd, jobid) < 0)
        err_set(e, ERR_OTHER, "-pmi_args: what listens on port %d is no PMI program", port);
    else
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

int single_connect(const struct plan *p, const char *jobid, struct err *e)
{
    return p->single_fd ? p->single_fd : join_port(p->single, jobid, e);
}

/* journal.c - see journal.h */
#include "mpiexec_lite/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <paths.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

/* syslog(3) may block, so the datagram is our own (RFC 3164, as a local program sends it). */
int journal_syslog(int priority, const char *text, size_t len)
{
    struct sockaddr_un to = { .sun_family = AF_UNIX, .sun_path = _PATH_LOG };
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), errnum = 0;
    char head[64];
    struct iovec part[2] = { { head, 0 }, { (char *)text, len } };
    struct msghdr m = { .msg_name = &to, .msg_namelen = sizeof to, .msg_iov = part,
                        .msg_iovlen = 2 };

    if (fd < 0)
        return errno;
    part[0].iov_len = (size_t)snprintf(head, sizeof head, "<%d>mpiexec_lite[%d]: ",
                                       LOG_USER | priority, (int)getpid());
    if (sendmsg(fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        errnum = errno == ENOENT || errno == ECONNREFUSED ? ENOTSUP : errno;
    close(fd);
    return errnum;
}

/* A file of ours in that folder, or -1 and errno. */
static int open_file(const char *dir, const char *name)
{
    char file[NAME_MAX + 1];
    struct stat st;
    int at, fd, errnum;

    if (name && (*name == '.' || strchr(name, '/')))
        return errno = EINVAL, -1;
    snprintf(file, sizeof file, name ? "%s.record" : "store", name);
    at = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (at < 0)
        return -1;
    fd = openat(at, file, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK,
                0600);
    errnum = errno;
    close(at);
    if (fd < 0)
        return errno = errnum, -1;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_nlink != 1)
        errnum = EPERM;
    else if (st.st_size > JOURNAL_MOST)
        errnum = EFBIG;
    else
        return fd;
    close(fd);
    return errno = errnum, -1;
}

/* One write, so that lines of several launchers do not mix. */
int journal_write(const char *dir, const char *name, const char *line, size_t len)
{
    struct iovec part[2] = { { (char *)line, len }, { (char *)"\n", 1 } };
    int fd, errnum = 0;
    ssize_t n;

    if (!dir)
        return ENOTSUP;
    fd = open_file(dir, name);
    if (fd < 0)
        return errno;
    n = writev(fd, part, 2);
    if (n != (ssize_t)len + 1)
        errnum = n < 0 ? errno : ENOSPC;
    close(fd);
    return errnum;
}

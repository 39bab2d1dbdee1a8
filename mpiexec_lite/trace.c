/* trace.c - see trace.h */
#include "mpiexec_lite/trace.h"

#include "mpiexec_lite/sink.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

static const char head[] =
    "# PMI wire trace.  RANK C>S: the rank wrote; RANK S>C: the launcher wrote.\n";

/* A trace that goes to a FIFO waits a little for its reader. */
static bool writable_soon(int fd)
{
    struct pollfd p = { .fd = fd, .events = POLLOUT };

    return poll(&p, 1, 1000) > 0;
}

static int write_all(int fd, const char *data, size_t len)
{
    while (len) {
        ssize_t n = write(fd, data, len);

        if (n < 0 && (errno == EINTR || (errno == EAGAIN && writable_soon(fd))))
            continue;
        if (n < 0)
            return -1;
        data += n;
        len -= (size_t)n;
    }
    return 0;
}

int trace_open(const char *name, struct err *e)
{
    int fd = sink_open_file(name, e);

    if (fd >= 0 && sink_empty_file(fd, name, e) < 0) {
        close(fd);
        return -1;
    }
    if (fd >= 0)
        write_all(fd, head, sizeof head - 1);
    return fd;
}

void trace_format(struct buf *line, int job, int rank, bool from_client, const char *data,
                  size_t len)
{
    if (job)
        buf_printf(line, "%d.", job);
    if (rank < 0)
        buf_str(line, "?");
    else
        buf_printf(line, "%d", rank);
    buf_str(line, from_client ? " C>S |" : " S>C |");
    buf_escaped(line, data, len);
    buf_char(line, '|');
}

int trace_write(int fd, const struct buf *line)
{
    return write_all(fd, buf_bytes(line), line->len) < 0 ? -1 : write_all(fd, "\n", 1);
}

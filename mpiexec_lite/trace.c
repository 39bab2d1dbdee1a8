/* trace.c - see trace.h */
#include "mpiexec_lite/trace.h"

#include "mpiexec_lite/sink.h"

#include <unistd.h>

static const char head[] =
    "# PMI wire trace.  RANK C>S: the rank wrote; RANK S>C: the launcher wrote.\n";

int trace_open(const char *name, struct err *e)
{
    int fd = sink_open_file(name, e);

    if (fd >= 0 && sink_empty_file(fd, name, e) < 0) {
        close(fd);
        return -1;
    }
    if (fd >= 0)
        sink_write_all(fd, head, sizeof head - 1);
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
    return sink_write_all(fd, buf_bytes(line), line->len) < 0 ? -1 : sink_write_all(fd, "\n", 1);
}

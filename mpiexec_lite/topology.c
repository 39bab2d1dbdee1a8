/* topology.c - see topology.h */
#include "mpiexec_lite/topology.h"

#include "mpiexec_lite/hwloc_child.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

void topology_init(struct topology *t, void *host)
{
    *t = (struct topology){ .host = host, .xml = -1, .said = -1 };
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* The child sees to its own end. */
static void stop(struct topology *t)
{
    if (t->said >= 0)
        ev_io_stop(t->loop, &t->readable);
    close_fd(&t->said);
}

void topology_clear(struct topology *t)
{
    stop(t);
    close_fd(&t->xml);
}

static void on_said(struct ev_loop *loop, ev_io *w, int revents)
{
    struct topology *t = w->data;
    char text[HWLOC_CHILD_WHY + 1];
    ssize_t n = read(t->said, text, sizeof text - 1);

    (void)loop;
    (void)revents;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    text[n > 0 ? n : 0] = '\0';
    stop(t);
    if (!strcmp(text, "+")) {
        fcntl(t->xml, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
        snprintf(t->path, sizeof t->path, "/proc/%d/fd/%d", (int)getpid(), t->xml);
        t->done(t, t->path, NULL);
        return;
    }
    close_fd(&t->xml);
    t->done(t, NULL, *text ? text : "the process that asks hwloc has ended");
}

static int start(struct topology *t)
{
    pid_t parent = getpid(), pid;
    int p[2];

    t->xml = memfd_create("hwloc.xml", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (t->xml < 0 || pipe2(p, O_CLOEXEC | O_NONBLOCK) < 0)
        return -1;
    t->said = p[0];
    pid = fork();
    if (pid == 0)
        hwloc_xml_run(t->xml, p[1], t->library, parent);
    close(p[1]);
    if (pid < 0)
        return -1;
    ev_io_init(&t->readable, on_said, t->said, EV_READ);
    t->readable.data = t;
    ev_io_start(t->loop, &t->readable);
    return 0;
}

/* Whether ranks can open what is ours by way of /proc.  A process that holds keys
 * (-launcher tcp) is shut to all but root. */
static bool is_open(void)
{
    return geteuid() == 0 || prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 1;
}

/* NULL, or why it cannot be begun. */
static const char *begin(struct topology *t)
{
    const char *why;

    if (!is_open())
        return "memory of the launcher is shut, as it holds keys";
    if (start(t) == 0)
        return NULL;
    why = strerror(errno);
    close_fd(&t->said);
    close_fd(&t->xml);
    return why;
}

const char *topology_find(struct topology *t, struct ev_loop *loop, topology_done *done,
                          bool *later, const char **why)
{
    *why = NULL;
    if (!t->done) {
        t->done = done;
        t->loop = loop;
        *why = begin(t);
    }
    *later = t->said >= 0;
    return *t->path ? t->path : NULL;
}

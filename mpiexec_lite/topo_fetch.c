/* topo_fetch.c - see topo_fetch.h */
#include "mpiexec_lite/topo_fetch.h"

#include "mpiexec_lite/hwloc_child.h"
#include "mpiexec_lite/topo_hwloc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* In the child. */
static const char *look(int out, const void *arg)
{
    const bool *devices = arg;
    struct topo_source here = { .devices = *devices };
    struct buf bytes = BUF_INIT;
    struct topo t;
    const char *why = topo_from_hwloc(&t, &here);

    if (why)
        return why;
    topo_write(&t, &bytes);
    if (bytes.failed)
        return "no memory";
    return hwloc_child_write(out, buf_bytes(&bytes), bytes.len) < 0 ? strerror(errno) : NULL;
}

/* What the child says, once it has ended: its own time limit ends it, too. */
static void hear(int from, pid_t child, char *text, size_t size)
{
    int status = 0;
    ssize_t n;

    do
        n = read(from, text, size - 1);
    while (n < 0 && errno == EINTR);
    text[n > 0 ? n : 0] = '\0';
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (n <= 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        snprintf(text, size, "hwloc has not answered within %d s", HWLOC_CHILD_PATIENCE);
}

static int take(struct topo *t, int fd)
{
    struct stat st;
    void *at;
    int rc;

    if (fstat(fd, &st) < 0 || !st.st_size)
        return -1;
    at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (at == MAP_FAILED)
        return -1;
    rc = topo_read_bytes(t, at, (size_t)st.st_size);
    munmap(at, (size_t)st.st_size);
    return rc;
}

static int run(struct topo *t, bool devices, int out, struct err *e)
{
    char said[HWLOC_CHILD_WHY + 1];
    pid_t self = getpid(), child;
    int p[2];

    if (pipe2(p, O_CLOEXEC) < 0)
        return err_set(e, ERR_OTHER, "%s", strerror(errno));
    child = fork();
    if (child == 0)
        hwloc_child_run(out, p[1], self, look, &devices);
    close(p[1]);
    if (child > 0)
        hear(p[0], child, said, sizeof said);
    close(p[0]);
    if (child < 0)
        return err_set(e, ERR_OTHER, "%s", strerror(errno));
    if (strcmp(said, "+"))
        return err_set(e, ERR_OTHER, "%s", *said ? said : "the process that asks hwloc has ended");
    return take(t, out) == 0 ? 0 : err_set(e, ERR_NOMEM, "no memory for the topology");
}

int topo_fetch(struct topo *t, bool devices, struct err *e)
{
    int out = memfd_create("topology", MFD_CLOEXEC), rc;

    *t = (struct topo){ 0 };
    if (out < 0)
        return err_set(e, ERR_OTHER, "%s", strerror(errno));
    rc = run(t, devices, out, e);
    close(out);
    return rc;
}

const struct topo *topo_here(struct topo_here *h, bool devices, struct err *e)
{
    if (h->read && (h->devices || !devices))
        return &h->topo;
    topo_here_clear(h);
    h->read = topo_fetch(&h->topo, devices, e) == 0;
    h->devices = devices;
    return h->read ? &h->topo : NULL;
}

void topo_here_clear(struct topo_here *h)
{
    topo_clear(&h->topo);
    *h = (struct topo_here){ .read = false };
}

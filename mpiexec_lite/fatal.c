/* fatal.c - see fatal.h */
#include "mpiexec_lite/fatal.h"

#include "mpiexec_lite/launch.h"

#include <ev.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { KEEP = 4 << 20 };         /* bytes */

_Noreturn void fatal(const char *why, int errnum)
{
    const char *words[] = { "mpiexec_lite: ", why, errnum ? ": " : "",
                            errnum ? strerrordesc_np(errnum) : "", "\n" };
    struct iovec parts[5];

    for (int i = 0; i < 5; i++) {
        const char *w = words[i] ? words[i] : "?";

        parts[i] = (struct iovec){ (void *)(uintptr_t)w, strlen(w) };
    }
    if (writev(STDERR_FILENO, parts, 5) < 0)
        _exit(EXIT_LAUNCHER);
    _exit(EXIT_LAUNCHER);
}

static void *allocate(void *old, long size)
{
    void *p;

    if (!size) {
        free(old);
        return NULL;
    }
    p = realloc(old, (size_t)size);
    if (!p)
        fatal("out of memory", 0);
    return p;
}

/* Called before each wait, when every event has been served: one that is pending is
 * libev's own, for a descriptor that epoll has refused, and nobody would look at it
 * before something else happens. */
static void before_wait(struct ev_loop *loop)
{
    if (ev_pending_count(loop))
        fatal("cannot watch a descriptor: the system is out of memory for it", 0);
}

static void after_wait(struct ev_loop *loop)
{
    (void)loop;
}

struct ev_loop *fatal_loop_new(void)
{
    struct ev_loop *loop;

    mallopt(M_TRIM_THRESHOLD, KEEP);     /* the same memory is needed again soon */
    mallopt(M_MMAP_THRESHOLD, KEEP);
    ev_set_allocator(allocate);
    loop = ev_loop_new(EVBACKEND_EPOLL | EVFLAG_NOENV);
    if (loop)
        ev_set_loop_release_cb(loop, before_wait, after_wait);
    return loop;
}

/* fatal.c - see fatal.h */
#include "mpiexec_lite/fatal.h"

#include "mpiexec_lite/launch.h"

#include <ev.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

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

void fatal_set_allocator(void)
{
    ev_set_allocator(allocate);
}

void fatal_if_unwatched(int revents)
{
    if (revents & (int)EV_ERROR)
        fatal("cannot watch a descriptor: out of kernel memory or descriptors", 0);
}

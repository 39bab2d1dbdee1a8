/* cleanup.c - see cleanup.h */
#include "mpiexec_lite/cleanup.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <unistd.h>

struct cleanup {
    TAILQ_ENTRY(cleanup) in_list;
    int          rank;
    struct erase what;                   /* its texts are owned */
};

struct batch {                           /* all that one end has set off */
    TAILQ_ENTRY(batch) in_list;
    struct cleanups items;               /* owned */
    int             fd;                  /* owned: a byte comes when all is done; -1: none runs */
    pid_t           pid;
};

static void cleanup_free(struct cleanup *x)
{
    free((char *)(uintptr_t)x->what.files);
    free((char *)(uintptr_t)x->what.folders);
    free((char *)(uintptr_t)x->what.ignore);
    free(x);
}

void cleanups_clear(struct cleanups *list)
{
    struct cleanup *x;

    while ((x = TAILQ_FIRST(list))) {
        TAILQ_REMOVE(list, x, in_list);
        cleanup_free(x);
    }
}

static int copy(const char **to, const char *from)
{
    *to = from ? strdup(from) : NULL;
    return from && !*to ? -1 : 0;
}

int cleanups_add(struct cleanups *list, int rank, const struct erase *what)
{
    struct cleanup *x = calloc(1, sizeof *x);

    if (!x)
        return -1;
    x->rank = rank;
    x->what = (struct erase){ .recursive = what->recursive, .empty = what->empty,
                              .leave_top = what->leave_top };
    if (copy(&x->what.files, what->files) < 0 || copy(&x->what.folders, what->folders) < 0 ||
        copy(&x->what.ignore, what->ignore) < 0) {
        cleanup_free(x);
        return -1;
    }
    TAILQ_INSERT_TAIL(list, x, in_list);
    return 0;
}

/* In the child, which keeps nothing open that others wait for the end of. */
static _Noreturn void work(const struct cleanups *items, int fd, pid_t parent)
{
    const struct cleanup *x;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent || dup2(fd, 0) < 0)
        _exit(1);
    close_range(1, ~0U, 0);
    TAILQ_FOREACH(x, items, in_list)
        erase(&x->what);
    _exit(write(0, "", 1) != 1);
}

static void begin(struct batch *b)
{
    pid_t parent = getpid();
    int p[2];

    if (b->fd >= 0)
        close(b->fd);
    b->fd = -1;
    if (pipe2(p, O_CLOEXEC) < 0)
        return;
    b->pid = fork();
    if (b->pid == 0)
        work(&b->items, p[1], parent);
    close(p[1]);
    b->fd = p[0];                        /* without a child it ends at once, undone */
}

static void batch_drop(struct batches *list, struct batch *b)
{
    TAILQ_REMOVE(list, b, in_list);
    cleanups_clear(&b->items);
    if (b->fd >= 0)
        close(b->fd);
    free(b);
}

/* Whether it has done all within that time. */
static bool done(const struct batch *b, int milliseconds)
{
    struct pollfd p = { .fd = b->fd, .events = POLLIN };
    char byte;

    return b->fd >= 0 && poll(&p, 1, milliseconds) > 0 && read(b->fd, &byte, 1) == 1;
}

static void forget_done(struct batches *running)
{
    struct batch *b, *next;

    for (b = TAILQ_FIRST(running); b; b = next) {
        next = TAILQ_NEXT(b, in_list);
        if (done(b, 0))
            batch_drop(running, b);
    }
}

void cleanups_begin(struct cleanups *list, int rank, struct batches *running)
{
    struct batch *b = NULL;
    struct cleanup *x, *next;

    for (x = TAILQ_FIRST(list); x; x = next) {
        next = TAILQ_NEXT(x, in_list);
        if (x->rank != rank)
            continue;
        if (!b && !(b = calloc(1, sizeof *b)))
            return;
        if (!b->items.tqh_last)
            TAILQ_INIT(&b->items);
        TAILQ_REMOVE(list, x, in_list);
        TAILQ_INSERT_TAIL(&b->items, x, in_list);
    }
    if (!b)
        return;
    forget_done(running);
    b->fd = -1;
    TAILQ_INSERT_TAIL(running, b, in_list);
    begin(b);
}

void cleanups_finish(struct batches *running)
{
    int left = CLEANUP_PATIENCE * 1000;
    struct batch *b;

    while ((b = TAILQ_FIRST(running))) {
        bool good = done(b, 0);

        if (!good)                       /* a sweep may have ended it; twice does no harm */
            begin(b);
        for (; !good && left > 0; left -= 10)
            good = done(b, 10);
        if (!good && b->pid > 0)
            kill(b->pid, SIGKILL);
        batch_drop(running, b);
    }
}

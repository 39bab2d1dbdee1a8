/* lib_callback.c - the thread on which the program's callbacks run; see lib.h */
#include "pmix_ext/lib.h"

#include <signal.h>

/* Events and pieces of output that wait for their callbacks.  Beyond it the reader stops,
 * and the server, which holds back or drops what is too much, says so. */
enum { UNASKED = 1024 };

static void run_all(struct callbacks *c)
{
    struct note *n;

    while ((n = TAILQ_FIRST(&c->queue))) {
        TAILQ_REMOVE(&c->queue, n, in_queue);
        if (n->unasked) {
            c->unasked--;
            pthread_cond_broadcast(&c->room);
        }
        pthread_mutex_unlock(&c->lock);
        n->run(n);
        pthread_mutex_lock(&c->lock);
    }
}

static void *callback_thread(void *arg)
{
    struct callbacks *c = arg;

    pthread_mutex_lock(&c->lock);
    for (;;) {
        run_all(c);
        if (c->ends)
            break;
        pthread_cond_wait(&c->some, &c->lock);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

int thread_start(pthread_t *thread, void *(*fn)(void *), void *arg)
{
    sigset_t all, old;
    int rc;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    rc = pthread_create(thread, NULL, fn, arg);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return rc ? -1 : 0;
}

int callbacks_start(struct callbacks *c)
{
    c->ends = c->waits = false;
    c->started = thread_start(&c->thread, callback_thread, c) == 0;
    return c->started ? 0 : -1;
}

void callbacks_stop(struct callbacks *c)
{
    if (!c->started)
        return;
    pthread_mutex_lock(&c->lock);
    c->ends = true;
    pthread_cond_signal(&c->some);
    pthread_mutex_unlock(&c->lock);
    pthread_join(c->thread, NULL);
    c->started = false;
}

static void add(struct callbacks *c, struct note *n)
{
    TAILQ_INSERT_TAIL(&c->queue, n, in_queue);
    pthread_cond_signal(&c->some);
}

void callback_add(struct callbacks *c, struct note *n)
{
    pthread_mutex_lock(&c->lock);
    n->unasked = false;
    add(c, n);
    pthread_mutex_unlock(&c->lock);
}

void callback_add_unasked(struct callbacks *c, struct note *n)
{
    pthread_mutex_lock(&c->lock);
    while (c->unasked >= UNASKED && !c->waits && !c->ends)
        pthread_cond_wait(&c->room, &c->lock);
    n->unasked = true;
    c->unasked++;
    add(c, n);
    pthread_mutex_unlock(&c->lock);
}

bool callback_here(const struct callbacks *c)
{
    return c->started && pthread_equal(c->thread, pthread_self());
}

void callback_waits(struct callbacks *c, bool waits)
{
    if (!callback_here(c))
        return;
    pthread_mutex_lock(&c->lock);
    c->waits = waits;
    pthread_cond_broadcast(&c->room);
    pthread_mutex_unlock(&c->lock);
}

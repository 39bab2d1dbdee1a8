/* after.c - see after.h */
#include "pmix_ext/after.h"

#include "pmix_ext/serve.h"

void after_stop(struct after *a)
{
    struct server *s = a->ext ? a->ext->server : NULL;

    if (!s)
        return;
    TAILQ_REMOVE(&a->ext->afters, a, in_ext);
    a->ext = NULL;
    s->ops.timer(s->host, a->id, 0);
}

bool after_start(struct after *a, struct ext *x, double seconds, void (*due)(void *), void *who)
{
    struct server *s = x->server;

    after_stop(a);
    if (!s->ops.timer)
        return false;
    *a = (struct after){ .ext = x, .id = server_timer_id(s), .due = due, .who = who };
    TAILQ_INSERT_TAIL(&x->afters, a, in_ext);
    s->ops.timer(s->host, a->id, seconds);
    return true;
}

void afters_due(struct ext *x, unsigned id)
{
    struct after *a;

    TAILQ_FOREACH(a, &x->afters, in_ext)
        if (a->id == id) {
            TAILQ_REMOVE(&x->afters, a, in_ext);
            a->ext = NULL;
            a->due(a->who);
            return;
        }
}

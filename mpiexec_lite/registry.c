/* registry.c - see registry.h */
#include "mpiexec_lite/registry_impl.h"

#include "mpiexec_lite/now.h"
#include "wire/limits.h"

#include <stdlib.h>
#include <string.h>

struct registry *registry_new(const struct registry_ops *ops, void *host, uint64_t seed)
{
    struct registry *r = calloc(1, sizeof *r);

    if (!r)
        return NULL;
    r->ops = ops;
    r->host = host;
    r->seed = seed;
    TAILQ_INIT(&r->names);
    TAILQ_INIT(&r->jobs);
    TAILQ_INIT(&r->waits);
    return r;
}

void registry_free(struct registry *r)
{
    struct wait *w;
    struct job *j;

    if (!r)
        return;
    registry_unload(r);
    while ((j = TAILQ_FIRST(&r->jobs))) {
        TAILQ_REMOVE(&r->jobs, j, in_all);
        free(j);
    }
    while ((w = TAILQ_FIRST(&r->waits))) {
        TAILQ_REMOVE(&r->waits, w, in_all);
        free(w);
    }
    free(r->table);
    free(r);
}

/* --- who sees what ----------------------------------------------------- */

/* How near a name is to who looks: 1 job, 2 user, 3 node; 0: not seen. */
static int nearness(const struct name *x, const struct reg_who *who)
{
    if (x->n.range == RANGE_NODE)
        return 3;
    if (x->n.owner != who->uid)
        return 0;
    if (x->n.range == RANGE_USER)
        return 2;
    return !strcmp(x->n.job, who->job);
}

/* The nearest one that is seen, or NULL. */
static struct name *find(const struct registry *r, const struct reg_who *who, const char *name)
{
    struct name *best = NULL;

    for (struct name *x = registry_first(r, name); x; x = x->next) {
        int near = strcmp(x->n.name, name) ? 0 : nearness(x, who);

        if (near && (!best || near < nearness(best, who)))
            best = x;
    }
    return best;
}

/* A name for the same people. */
static struct name *find_same(const struct registry *r, const struct reg_who *who,
                              const struct name_want *w)
{
    for (struct name *x = registry_first(r, w->name); x; x = x->next)
        if (x->n.range == w->range && nearness(x, who) && !strcmp(x->n.name, w->name))
            return x;
    return NULL;
}

/* --- publish and take back --------------------------------------------- */

static struct wait *waiting_for(struct registry *r, const struct name *x)
{
    struct wait *w;

    TAILQ_FOREACH(w, &r->waits, in_all)
        if (!strcmp(w->name, x->n.name) && nearness(x, &w->who))
            return w;
    return NULL;
}

static void end_wait(struct registry *r, struct wait *w, const struct reg_name *n)
{
    void *ticket = w->ticket;

    TAILQ_REMOVE(&r->waits, w, in_all);
    free(w);
    r->ops->found(r->host, ticket, n);
}

/* Who has waited for it gets it; what is to be read once, the first of them only. */
static void wake(struct registry *r, struct name *x)
{
    bool once = x->n.persistence == PERSIST_FIRST_READ;
    struct wait *w;

    while ((w = waiting_for(r, x))) {
        if (once)
            registry_drop(r, x);
        end_wait(r, w, &x->n);
        if (once)
            return;
    }
}

static int check_room(const struct registry *r, uid_t uid, struct err *e)
{
    const struct name *x;
    int n = 0;

    if (r->nnames < LIMIT_NAMES)
        return 0;
    TAILQ_FOREACH(x, &r->names, in_all)
        n += x->n.owner == uid;
    return n < LIMIT_NAMES ? 0
           : err_set(e, ERR_NOMEM, "more than %d names are published", LIMIT_NAMES);
}

int registry_publish(struct registry *r, const struct reg_who *who, const struct name_want *w,
                     int64_t since, struct err *e)
{
    struct name *x;

    registry_forget_last(r);
    if (!*who->job && (w->range == RANGE_JOB || w->persistence != PERSIST_INDEFINITE))
        return err_set(e, ERR_INVALID_ARG, "who is no job can publish with persistence "
                       "indefinite and range user or node only");
    if (find_same(r, who, w))
        return err_set(e, ERR_INVALID_KEY, "service %.64s is published already", w->name);
    if (check_room(r, who->uid, e) < 0)
        return -1;
    x = registry_name_new(&(struct reg_name){ .serial = r->serial + 1, .owner = who->uid,
                                     .job = who->job, .name = w->name, .port = w->port,
                                     .range = w->range, .persistence = w->persistence,
                                     .since = since });
    if (!x || registry_add(r, x) < 0) {
        free(x);
        return registry_no_memory(e);
    }
    r->serial++;
    r->ops->store(r->host, &x->n);
    wake(r, x);
    return 0;
}

static int check_owner(const struct registry *r, const struct name *x, const struct reg_who *who,
                       struct err *e)
{
    if (who->uid == 0 && !*who->job)
        return 0;
    if (x->n.owner != who->uid)
        return err_set(e, ERR_OTHER, "service %.64s belongs to another user", x->n.name);
    if (*who->job && strcmp(x->n.job, who->job) && registry_runs(r, x->n.owner, x->n.job))
        return err_set(e, ERR_OTHER, "service %.64s belongs to another job", x->n.name);
    return 0;
}

/* In person: any name of that owner, the newest first. */
static struct name *find_of(const struct registry *r, uid_t owner, const char *name)
{
    struct name *best = NULL;

    for (struct name *x = registry_first(r, name); x; x = x->next)
        if (x->n.owner == owner && !strcmp(x->n.name, name) &&
            (!best || x->n.serial > best->n.serial))
            best = x;
    return best;
}

int registry_unpublish(struct registry *r, const struct reg_who *who, const char *name,
                       uid_t owner, struct err *e)
{
    struct name *x = NULL;

    registry_forget_last(r);
    if (owner == (uid_t)-1) {
        x = find(r, who, name);
        if (!x && !*who->job)
            x = find_of(r, who->uid, name);
    } else if (owner == who->uid || who->uid == 0) {
        x = find_of(r, owner, name);
    }
    if (!x)
        return err_set(e, ERR_OTHER, "service_not_found");
    if (check_owner(r, x, who, e) < 0)
        return -1;
    registry_drop(r, x);
    return 0;
}

/* --- lookup ------------------------------------------------------------ */

const struct reg_name *registry_lookup(struct registry *r, const struct reg_who *who,
                                       const char *name)
{
    struct name *x;

    registry_forget_last(r);
    x = find(r, who, name);
    if (!x)
        return NULL;
    if (x->n.persistence == PERSIST_FIRST_READ)
        registry_drop(r, x);
    return &x->n;
}

int registry_wait(struct registry *r, const struct reg_who *who, const char *name, double now,
                  double seconds, void *ticket, struct err *e)
{
    struct wait *w;
    char *at;
    int n = 0;

    TAILQ_FOREACH(w, &r->waits, in_all)
        n += w->who.uid == who->uid;
    if (n >= REGISTRY_WAITS)
        return err_set(e, ERR_NOMEM, "more than %d lookups wait", REGISTRY_WAITS);
    w = malloc(sizeof *w + strlen(name) + strlen(who->job) + 2);
    if (!w)
        return registry_no_memory(e);
    at = (char *)(w + 1);
    *w = (struct wait){ .who = *who, .until = seconds > 0 ? now + seconds : 0,
                        .ticket = ticket };
    w->who.job = registry_put_text(&at, who->job);
    w->name = registry_put_text(&at, name);
    TAILQ_INSERT_TAIL(&r->waits, w, in_all);
    return 0;
}

void registry_cancel(struct registry *r, const void *ticket)
{
    struct wait *w, *next;

    for (w = TAILQ_FIRST(&r->waits); w; w = next) {
        next = TAILQ_NEXT(w, in_all);
        if (w->ticket != ticket)
            continue;
        TAILQ_REMOVE(&r->waits, w, in_all);
        free(w);
    }
}

/* --- time -------------------------------------------------------------- */

double registry_due(const struct registry *r)
{
    double due = r->return_by;
    const struct wait *w;

    TAILQ_FOREACH(w, &r->waits, in_all)
        due = earlier(due, w->until);
    return due;
}

void registry_tick(struct registry *r, double now)
{
    struct wait *w, *next;

    if (r->return_by > 0 && now >= r->return_by)
        registry_drop_lost(r);
    for (w = TAILQ_FIRST(&r->waits); w; w = next) {
        next = TAILQ_NEXT(w, in_all);
        if (w->until > 0 && now >= w->until)
            end_wait(r, w, NULL);
    }
}

/* --- lists ------------------------------------------------------------- */

void registry_each_name(const struct registry *r, uid_t uid, long long after,
                        bool (*each)(void *user, const struct reg_name *n), void *user)
{
    const struct name *x;

    TAILQ_FOREACH(x, &r->names, in_all)
        if (x->n.serial > after && (!uid || x->n.owner == uid || x->n.range == RANGE_NODE) &&
            !each(user, &x->n))
            return;
}

void registry_each_job(const struct registry *r, uid_t uid, long long after,
                       bool (*each)(void *user, const struct reg_job *j), void *user)
{
    const struct job *j;

    TAILQ_FOREACH(j, &r->jobs, in_all)
        if (j->j.serial > after && (!uid || j->j.owner == uid) && !each(user, &j->j))
            return;
}

size_t registry_names(const struct registry *r) { return r->nnames; }
size_t registry_jobs(const struct registry *r) { return r->njobs; }

/* registry.c - see registry.h */
#include "mpiexec_lite/registry.h"

#include "mpiexec_lite/now.h"
#include "wire/limits.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

struct name {
    struct reg_name n;                   /* its texts lie behind this struct */
    TAILQ_ENTRY(name)  in_all;           /* by serial */
    struct name *next;                   /* of the same hash */
};
TAILQ_HEAD(names, name);

struct job {
    struct reg_job j;                    /* likewise */
    TAILQ_ENTRY(job) in_all;
};
TAILQ_HEAD(jobs, job);

struct wait {
    struct reg_who who;                  /* who.job and name lie behind this struct */
    const char    *name;
    double         until;                /* 0: no limit */
    void          *ticket;
    TAILQ_ENTRY(wait) in_all;
};
TAILQ_HEAD(waits, wait);

struct registry {
    const struct registry_ops *ops;
    void        *host;
    uint64_t     seed;
    struct names names;
    struct jobs  jobs;
    struct waits waits;
    struct name **table;                 /* owned */
    size_t       slots, nnames, njobs;
    long long    serial;                 /* the last one */
    double       return_by;              /* when lost jobs are given up; 0: none is */
    struct name *last;                   /* owned: looked up and gone; or NULL */
};

/* --- memory ------------------------------------------------------------ */

/* Copy a text to *at, which moves on. */
static const char *put_text(char **at, const char *text)
{
    size_t n = strlen(text) + 1;
    const char *to = memcpy(*at, text, n);

    *at += n;
    return to;
}

static struct name *name_new(const struct reg_name *from)
{
    struct name *x = malloc(sizeof *x + strlen(from->job) + strlen(from->name) +
                            strlen(from->port) + 3);
    char *at = (char *)(x + 1);

    if (!x)
        return NULL;
    *x = (struct name){ .n = *from };
    x->n.job = put_text(&at, from->job);
    x->n.name = put_text(&at, from->name);
    x->n.port = put_text(&at, from->port);
    return x;
}

static struct job *job_new(const struct reg_job *from)
{
    struct job *x = malloc(sizeof *x + strlen(from->id) + strlen(from->host) +
                           strlen(from->command) + 3);
    char *at = (char *)(x + 1);

    if (!x)
        return NULL;
    *x = (struct job){ .j = *from };
    x->j.id = put_text(&at, from->id);
    x->j.host = put_text(&at, from->host);
    x->j.command = put_text(&at, from->command);
    return x;
}

static int no_memory(struct err *e)
{
    return err_set(e, ERR_NOMEM, "the name server has no memory for it");
}

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

/* --- the table --------------------------------------------------------- */

static struct name **slot_of(const struct registry *r, const char *name)
{
    return &r->table[XXH3_64bits_withSeed(name, strlen(name), r->seed) & (r->slots - 1)];
}

static struct name *first_of(const struct registry *r, const char *name)
{
    return r->slots ? *slot_of(r, name) : NULL;
}

static int grow(struct registry *r)
{
    size_t slots = r->slots ? r->slots * 2 : 64;
    struct name **table, *x;

    if (r->nnames < r->slots)
        return 0;
    table = calloc(slots, sizeof *table);
    if (!table)
        return r->slots ? 0 : -1;        /* slower, and no worse */
    free(r->table);
    r->table = table;
    r->slots = slots;
    TAILQ_FOREACH(x, &r->names, in_all) {
        struct name **at = slot_of(r, x->n.name);

        x->next = *at;
        *at = x;
    }
    return 0;
}

static int add(struct registry *r, struct name *x)
{
    struct name **at;

    if (grow(r) < 0)
        return -1;
    at = slot_of(r, x->n.name);
    x->next = *at;
    *at = x;
    TAILQ_INSERT_TAIL(&r->names, x, in_all);
    r->nnames++;
    return 0;
}

static void unlink_name(struct registry *r, struct name *x)
{
    struct name **at = slot_of(r, x->n.name);

    while (*at != x)
        at = &(*at)->next;
    *at = x->next;
    TAILQ_REMOVE(&r->names, x, in_all);
    r->nnames--;
}

/* What was lent by the last call is not valid any more. */
static void forget_last(struct registry *r)
{
    free(r->last);
    r->last = NULL;
}

/* It is gone, but its texts are valid until the next call. */
static void drop(struct registry *r, struct name *x)
{
    unlink_name(r, x);
    r->ops->drop(r->host, x->n.serial);
    forget_last(r);
    r->last = x;
}

void registry_unload(struct registry *r)
{
    struct name *x;

    forget_last(r);
    while ((x = TAILQ_FIRST(&r->names))) {
        unlink_name(r, x);
        free(x);
    }
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

    for (struct name *x = first_of(r, name); x; x = x->next) {
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
    for (struct name *x = first_of(r, w->name); x; x = x->next)
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
            drop(r, x);
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

    forget_last(r);
    if (!*who->job && (w->range == RANGE_JOB || w->persistence != PERSIST_INDEFINITE))
        return err_set(e, ERR_INVALID_ARG, "who is no job can publish with persistence "
                       "indefinite and range user or node only");
    if (find_same(r, who, w))
        return err_set(e, ERR_INVALID_KEY, "service %.64s is published already", w->name);
    if (check_room(r, who->uid, e) < 0)
        return -1;
    x = name_new(&(struct reg_name){ .serial = r->serial + 1, .owner = who->uid,
                                     .job = who->job, .name = w->name, .port = w->port,
                                     .range = w->range, .persistence = w->persistence,
                                     .since = since });
    if (!x || add(r, x) < 0) {
        free(x);
        return no_memory(e);
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

    for (struct name *x = first_of(r, name); x; x = x->next)
        if (x->n.owner == owner && !strcmp(x->n.name, name) &&
            (!best || x->n.serial > best->n.serial))
            best = x;
    return best;
}

int registry_unpublish(struct registry *r, const struct reg_who *who, const char *name,
                       uid_t owner, struct err *e)
{
    struct name *x = NULL;

    forget_last(r);
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
    drop(r, x);
    return 0;
}

/* --- lookup ------------------------------------------------------------ */

const struct reg_name *registry_lookup(struct registry *r, const struct reg_who *who,
                                       const char *name)
{
    struct name *x;

    forget_last(r);
    x = find(r, who, name);
    if (!x)
        return NULL;
    if (x->n.persistence == PERSIST_FIRST_READ)
        drop(r, x);
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
        return no_memory(e);
    at = (char *)(w + 1);
    *w = (struct wait){ .who = *who, .until = seconds > 0 ? now + seconds : 0,
                        .ticket = ticket };
    w->who.job = put_text(&at, who->job);
    w->name = put_text(&at, name);
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

/* --- jobs -------------------------------------------------------------- */

static struct job *find_job(const struct registry *r, uid_t owner, const char *id)
{
    struct job *j;

    TAILQ_FOREACH(j, &r->jobs, in_all)
        if (j->j.owner == owner && !strcmp(j->j.id, id))
            return j;
    return NULL;
}

bool registry_runs(const struct registry *r, uid_t owner, const char *id)
{
    return *id && find_job(r, owner, id);
}

void *registry_client(const struct registry *r, uid_t owner, const char *id)
{
    const struct job *j = find_job(r, owner, id);

    return j ? j->j.client : NULL;
}

static int count_jobs(const struct registry *r, uid_t owner)
{
    const struct job *j;
    int n = 0;

    TAILQ_FOREACH(j, &r->jobs, in_all)
        n += j->j.owner == owner;
    return n;
}

int registry_job(struct registry *r, const struct reg_job *j, struct err *e)
{
    struct job *old = find_job(r, j->owner, j->id), *x;

    if (!old && count_jobs(r, j->owner) >= REGISTRY_JOBS)
        return err_set(e, ERR_NOMEM, "more than %d jobs of one user", REGISTRY_JOBS);
    x = job_new(j);
    if (!x)
        return no_memory(e);
    if (old) {
        TAILQ_REMOVE(&r->jobs, old, in_all);
        free(old);
        r->njobs--;
    }
    x->j.serial = ++r->serial;
    TAILQ_INSERT_TAIL(&r->jobs, x, in_all);
    r->njobs++;
    return 0;
}

static bool ends_with_job(const struct name *x)
{
    return x->n.persistence != PERSIST_INDEFINITE || x->n.range == RANGE_JOB;
}

static void end_job(struct registry *r, struct job *j)
{
    struct name *x, *next;

    for (x = TAILQ_FIRST(&r->names); x; x = next) {
        next = TAILQ_NEXT(x, in_all);
        if (x->n.owner == j->j.owner && ends_with_job(x) && !strcmp(x->n.job, j->j.id))
            drop(r, x);
    }
    TAILQ_REMOVE(&r->jobs, j, in_all);
    free(j);
    r->njobs--;
}

void registry_job_end(struct registry *r, const void *client, const char *id)
{
    struct job *j, *next;

    for (j = TAILQ_FIRST(&r->jobs); j; j = next) {
        next = TAILQ_NEXT(j, in_all);
        if (j->j.client == client && (!id || !strcmp(j->j.id, id)))
            end_job(r, j);
    }
}

/* --- from the store ---------------------------------------------------- */

int registry_load(struct registry *r, const struct reg_name *n)
{
    struct name *x = name_new(n);

    if (!x || add(r, x) < 0) {
        free(x);
        return -1;
    }
    if (n->serial > r->serial)
        r->serial = n->serial;
    return 0;
}

void registry_loaded(struct registry *r, double now)
{
    r->return_by = now + REGISTRY_RETURN;
}

/* Names of jobs that have not come back. */
static void drop_lost(struct registry *r)
{
    struct name *x, *next;

    r->return_by = 0;
    for (x = TAILQ_FIRST(&r->names); x; x = next) {
        next = TAILQ_NEXT(x, in_all);
        if (ends_with_job(x) && !find_job(r, x->n.owner, x->n.job))
            drop(r, x);
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
        drop_lost(r);
    for (w = TAILQ_FIRST(&r->waits); w; w = next) {
        next = TAILQ_NEXT(w, in_all);
        if (w->until > 0 && now >= w->until)
            end_wait(r, w, NULL);
    }
}

/* --- lists ------------------------------------------------------------- */

const struct reg_name *registry_next_name(const struct registry *r, uid_t uid, long long after)
{
    const struct name *x;

    TAILQ_FOREACH(x, &r->names, in_all)
        if (x->n.serial > after && (!uid || x->n.owner == uid || x->n.range == RANGE_NODE))
            return &x->n;
    return NULL;
}

const struct reg_job *registry_next_job(const struct registry *r, uid_t uid, long long after)
{
    const struct job *j;

    TAILQ_FOREACH(j, &r->jobs, in_all)
        if (j->j.serial > after && (!uid || j->j.owner == uid))
            return &j->j;
    return NULL;
}

size_t registry_names(const struct registry *r) { return r->nnames; }
size_t registry_jobs(const struct registry *r) { return r->njobs; }

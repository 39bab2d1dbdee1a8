/* bundle.c - see bundle.h
 *
 * Numbers are little-endian; a text is its length (4 bytes) and its bytes, a list a
 * count and its texts.  Tables say which members travel, in which order and within
 * what range; the same rows write and read, so that the two cannot differ. */
#include "mpiexec_lite/bundle.h"

#include "mpiexec_lite/hosts.h"
#include "mpiexec_lite/providers.h"
#include "mpiexec_lite/setup.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BUNDLE_VERSION 4     /* to be raised whenever a table changes */

enum kind { BOOL, INT, UNSIGNED, SIZE, SECONDS, TEXT, OPTION, WORDS };

struct field {
    char        name[24];    /* for messages */
    enum kind   kind;        /* type: bool, int (or enum), unsigned, size_t, double,
                                char *, char * or NULL, struct strlist */
    size_t      at;          /* offset in its struct */
    double      min, max;    /* of numbers; of a list: how many texts */
};

#define FIELD(what, k, s, member, ...) { what, k, offsetof(struct s, member), __VA_ARGS__ }
#define MOST 1e6             /* of whatever has no better limit */
#define COUNT(a) (sizeof (a) / sizeof *(a))

static_assert(sizeof(enum launcher) == sizeof(int) &&
              sizeof(enum oversubscription) == sizeof(int), "an enum travels as an int");

static const struct field job_fields[] = {
    FIELD("job's name",       TEXT,     bundle, jobid, 0, 0),
    FIELD("spawner's name",   OPTION,   bundle, spawner, 0, 0),
    FIELD("directory",        TEXT,     bundle, cwd, 0, 0),
    FIELD("trace",            BOOL,     bundle, trace, 0, 1),
    FIELD("umask",            UNSIGNED, bundle, umask, 0, 0777),
    FIELD("launcher",         INT,      bundle, plan.remote.launcher, 0, LAUNCHERS - 1),
    FIELD("launcher's program", OPTION, bundle, plan.remote.exec, 0, 0),
    FIELD("launcher's words", WORDS,    bundle, plan.remote.extra, 0, MOST),
    FIELD("X forwarding",     BOOL,     bundle, plan.remote.forward_x, 0, 1),
    FIELD("proxy's path",     OPTION,   bundle, plan.remote.proxy, 0, 0),
    FIELD("staging",          BOOL,     bundle, plan.remote.stage_proxy, 0, 1),
    FIELD("tree width",       INT,      bundle, plan.remote.tree_width, 0, MOST),
    FIELD("flat hosts",       INT,      bundle, plan.remote.flat_hosts, 0, MOST),
    FIELD("launch window",    INT,      bundle, plan.remote.window, 1, MOST),
    FIELD("start window",     INT,      bundle, plan.start_window, 1, MOST),
    FIELD("launch time-out",  SECONDS,  bundle, plan.remote.patience, 0, 1e9),
    FIELD("heartbeat",        SECONDS,  bundle, plan.remote.heartbeat, 0, 1e9),
    FIELD("lease",            SECONDS,  bundle, plan.remote.lease, 0, 1e9),
    FIELD("release size",     SIZE,     bundle, plan.remote.release_bytes, 0, 1e12),
    FIELD("label",            OPTION,   bundle, plan.label, 0, 0),
    FIELD("output file",      OPTION,   bundle, plan.outfile, 0, 0),
    FIELD("error file",       OPTION,   bundle, plan.errfile, 0, 0),
    FIELD("output's rank",    INT,      bundle, plan.output_from, -1, MOST),
    FIELD("merging",          BOOL,     bundle, plan.merge, 0, 1),
    FIELD("stdin mode",       INT,      bundle, plan.stdin_mode, 0, STDIN_FILE),
    FIELD("stdin's rank",     INT,      bundle, plan.stdin_rank, 0, MOST),
    FIELD("universe size",    INT,      bundle, plan.usize, -1, INT32_MAX),
    FIELD("PMI port",         BOOL,     bundle, plan.pmi_port, 0, 1),
    FIELD("PMI-1 version",    INT,      bundle, plan.pmi1_subversion, 1, 2),
    FIELD("keep going",       BOOL,     bundle, plan.keep_going, 0, 1),
    FIELD("verbosity",        INT,      bundle, plan.verbose, 0, INT32_MAX),
    FIELD("network",          OPTION,   bundle, plan.dims, 0, 0),
    FIELD("hold",             INT,      bundle, plan.hold, 0, HOLD_APP),
    FIELD("held ranks",       OPTION,   bundle, plan.hold_ranks, 0, 0),
    FIELD("fork agent",       WORDS,    bundle, plan.agent, 0, MOST),
    FIELD("timeline",         BOOL,     bundle, timeline, 0, 1),
    FIELD("proxy's wrapper",  WORDS,    bundle, plan.remote.wrapper, 0, MOST),
    FIELD("tries",            INT,      bundle, plan.remote.tries, 0, MOST),
    FIELD("ssh limit",        INT,      bundle, plan.remote.ssh_limit, 0, INT32_MAX),
    FIELD("ssh limit's time", INT,      bundle, plan.remote.ssh_limit_time, 0, MOST),
    FIELD("ssh's silence",    BOOL,     bundle, plan.remote.ssh_quiet, 0, 1),
    FIELD("lowest port",      INT,      bundle, plan.ports.low, 0, 65535),
    FIELD("highest port",     INT,      bundle, plan.ports.high, 0, 65535),
    FIELD("no host name",     BOOL,     bundle, plan.hide_hostname, 0, 1),
    FIELD("kinds of memory",  OPTION,   bundle, plan.alloc_kinds, 0, 0),
    FIELD("variables",        WORDS,    bundle, plan.env.set, 0, MOST),
    FIELD("providers",        WORDS,    bundle, plan.providers, 0, PROVIDERS_MAX),
    FIELD("providers' root",  INT,      bundle, plan.providers_root, 0, PROVIDERS_ROOT_SKIP),
    FIELD("set-up",           OPTION,   bundle, setup, 0, 0),
    FIELD("binding",          OPTION,   bundle, plan.map.bind, 0, 0),
    FIELD("mapping",          OPTION,   bundle, plan.map.by, 0, 0),
    FIELD("memory binding",   OPTION,   bundle, plan.map.memory, 0, 0),
    FIELD("processors",       OPTION,   bundle, plan.map.cpus, 0, 0),
    FIELD("processes of an object", INT, bundle, plan.map.each, 0, PLAN_RANKS_MAX),
    FIELD("hardware's order", BOOL,     bundle, plan.map.in_order, 0, 1),
    FIELD("GPUs of a process", INT,     bundle, plan.map.gpus, GPUS_AUTO, PLAN_RANKS_MAX),
    FIELD("report of bindings", BOOL,   bundle, plan.map.report, 0, 1),
    FIELD("oversubscription", INT,      bundle, plan.oversubscribe, 0, OVERSUBSCRIBE_NO),
};

static const struct field host_fields[] = {
    FIELD("name",      TEXT,   host, name, 0, 0),
    FIELD("user",      OPTION, host, user, 0, 0),
    FIELD("slots",     INT,    host, slots, 1, PLAN_SLOTS_MAX),
    FIELD("binding",   OPTION, host, binding, 0, 0),
    FIELD("locality",  BOOL,   host, local, 0, 1),
    FIELD("coordinates", OPTION, host, coords, 0, 0),
};

static const struct field app_fields[] = {
    FIELD("processes", INT,    app, n, 1, PLAN_RANKS_MAX),
    FIELD("arguments", WORDS,  app, argv, 1, 1e9),
    FIELD("directory", OPTION, app, wdir, 0, 0),
    FIELD("path",      OPTION, app, path, 0, 0),
    FIELD("binding",   OPTION, app, bind, 0, 0),
    FIELD("variables", WORDS,  app, env.set, 0, MOST),
};

static const struct field env_fields[] = {
    { "environment", WORDS, 0, 0, 1e9 },
};

static const struct field run_fields[] = {
    FIELD("node",      INT,    run, node, 0, PLAN_HOSTS_MAX),
    FIELD("ranks",     INT,    run, n, 1, PLAN_RANKS_MAX),
};

/* --- writing -------------------------------------------------------------------- */

static void put_number(struct buf *out, uint64_t v, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        buf_char(out, (char)(v >> (8 * i) & 0xff));
}

static void put_text(struct buf *out, const char *text)
{
    size_t len = strlen(text);

    if (len > UINT32_MAX)                /* no program could be started with it */
        out->failed = true;
    put_number(out, len, 4);
    buf_add(out, text, len);
}

static void put_option(struct buf *out, const char *text)
{
    put_number(out, text != NULL, 1);
    if (text)
        put_text(out, text);
}

static void put_words(struct buf *out, const struct strlist *l)
{
    put_number(out, l->n, 4);
    for (size_t i = 0; i < l->n; i++)
        put_text(out, l->v[i]);
}

static void put_seconds(struct buf *out, double seconds)
{
    uint64_t bits;

    memcpy(&bits, &seconds, sizeof bits);
    put_number(out, bits, 8);
}

static void put_fields(struct buf *out, const void *base, const struct field *f, size_t n)
{
    for (; n--; f++) {
        const void *m = (const char *)base + f->at;

        switch (f->kind) {
        case BOOL:     put_number(out, *(const bool *)m, 1); break;
        case INT:      put_number(out, (uint32_t)*(const int *)m, 4); break;
        case UNSIGNED: put_number(out, *(const unsigned *)m, 4); break;
        case SIZE:     put_number(out, *(const size_t *)m, 8); break;
        case SECONDS:  put_seconds(out, *(const double *)m); break;
        case TEXT:     put_text(out, *(char *const *)m); break;
        case OPTION:   put_option(out, *(char *const *)m); break;
        case WORDS:    put_words(out, m); break;
        }
    }
}

#define PUT(out, base, fields) put_fields(out, base, fields, COUNT(fields))

void bundle_write(const struct bundle *b, struct buf *out)
{
    put_number(out, BUNDLE_VERSION, 4);
    PUT(out, b, job_fields);
    put_number(out, b->plan.nhosts, 4);
    for (size_t i = 0; i < b->plan.nhosts; i++)
        PUT(out, &b->plan.hosts[i], host_fields);
    put_number(out, b->plan.napps, 4);
    for (size_t i = 0; i < b->plan.napps; i++) {
        PUT(out, &b->plan.apps[i], app_fields);
        PUT(out, &b->envs[i], env_fields);
    }
    put_number(out, b->place.nruns, 4);
    for (size_t i = 0; i < b->place.nruns; i++)
        PUT(out, &b->place.runs[i], run_fields);
}

/* --- reading -------------------------------------------------------------------- */

struct reader {
    const char *start, *at, *end;
    struct err *e;           /* filled by whatever returns false */
};

static size_t left(const struct reader *r)
{
    return (size_t)(r->end - r->at);
}

static bool wrong(struct reader *r, const char *what)
{
    err_set(r->e, ERR_INVALID_VAL, "%s at byte %td", what, r->at - r->start);
    return false;
}

static bool no_memory(struct reader *r)
{
    err_set(r->e, ERR_NOMEM, "no memory");
    return false;
}

static bool get_number(struct reader *r, size_t bytes, uint64_t *v)
{
    if (left(r) < bytes)
        return wrong(r, "cut short");
    *v = 0;
    for (size_t i = 0; i < bytes; i++)
        *v |= (uint64_t)(unsigned char)r->at[i] << (8 * i);
    r->at += bytes;
    return true;
}

/* A count of things that take at least so many bytes each: what cannot be there is
 * not allocated either. */
static bool get_count(struct reader *r, size_t bytes, double max, size_t *n)
{
    uint64_t v;

    if (!get_number(r, 4, &v))
        return false;
    *n = (size_t)v;
    if (v > left(r) / bytes)
        return wrong(r, "cut short: more was counted than is there");
    return (double)v <= max || wrong(r, "too many");
}

/* The bytes of a text, where they lie. */
static bool get_bytes(struct reader *r, const char **bytes, size_t *len)
{
    uint64_t v;

    if (!get_number(r, 4, &v))
        return false;
    if (v > left(r))
        return wrong(r, "cut short");
    if (memchr(r->at, '\0', (size_t)v))
        return wrong(r, "zero byte in a text");
    *bytes = r->at;
    *len = (size_t)v;
    r->at += v;
    return true;
}

/* A copy of a text: *to was NULL. */
static bool get_text(struct reader *r, char **to)
{
    const char *bytes;
    size_t len;

    return get_bytes(r, &bytes, &len) && ((*to = strndup(bytes, len)) || no_memory(r));
}

static bool get_full_text(struct reader *r, char **to)
{
    return get_text(r, to) && (**to || wrong(r, "empty"));
}

static bool get_bool(struct reader *r, bool *to)
{
    uint64_t v;

    if (!get_number(r, 1, &v))
        return false;
    *to = v == 1;
    return v < 2 || wrong(r, "neither 0 nor 1");
}

static bool get_option(struct reader *r, char **to)
{
    bool there;

    return get_bool(r, &there) && (!there || get_text(r, to));
}

static bool get_word(struct reader *r, struct strlist *to)
{
    const char *bytes;
    size_t len;

    return get_bytes(r, &bytes, &len) &&
           (strlist_add_bytes(to, bytes, len) == 0 || no_memory(r));
}

static bool get_words(struct reader *r, const struct field *f, struct strlist *to)
{
    size_t n;

    if (!get_count(r, 4, f->max, &n))
        return false;
    if ((double)n < f->min)
        return wrong(r, "too few");
    while (n--)
        if (!get_word(r, to))
            return false;
    return true;
}

/* Also false for NaN. */
static bool in_range(struct reader *r, const struct field *f, double v)
{
    return (v >= f->min && v <= f->max) || wrong(r, "out of range");
}

static bool get_int(struct reader *r, const struct field *f, int *to)
{
    uint64_t v;

    if (!get_number(r, 4, &v))
        return false;
    *to = (int)(int32_t)(uint32_t)v;
    return in_range(r, f, *to);
}

static bool get_unsigned(struct reader *r, const struct field *f, unsigned *to)
{
    uint64_t v;

    if (!get_number(r, 4, &v))
        return false;
    *to = (unsigned)v;
    return in_range(r, f, *to);
}

static bool get_size(struct reader *r, const struct field *f, size_t *to)
{
    uint64_t v;

    if (!get_number(r, 8, &v))
        return false;
    *to = (size_t)v;
    return in_range(r, f, (double)v);
}

static bool get_seconds(struct reader *r, const struct field *f, double *to)
{
    uint64_t bits;

    if (!get_number(r, 8, &bits))
        return false;
    memcpy(to, &bits, sizeof bits);
    return in_range(r, f, *to);
}

static bool get_field(struct reader *r, const struct field *f, void *m)
{
    switch (f->kind) {
    case BOOL:     return get_bool(r, m);
    case INT:      return get_int(r, f, m);
    case UNSIGNED: return get_unsigned(r, f, m);
    case SIZE:     return get_size(r, f, m);
    case SECONDS:  return get_seconds(r, f, m);
    case TEXT:     return get_full_text(r, m);
    case OPTION:   return get_option(r, m);
    case WORDS:    return get_words(r, f, m);
    }
    return false;
}

static bool get_fields(struct reader *r, void *base, const struct field *f, size_t n)
{
    for (; n--; f++)
        if (!get_field(r, f, (char *)base + f->at)) {
            err_context(r->e, "%.*s", (int)sizeof f->name, f->name);
            return false;
        }
    return true;
}

#define GET(r, base, fields) get_fields(r, base, fields, COUNT(fields))

/* "host 3: slots: out of range": which one it was. */
static bool in_item(struct reader *r, const char *what, size_t i)
{
    err_context(r->e, "%s %zu", what, i);
    return false;
}

/* How many of something there are; 1 at least. */
static bool get_items(struct reader *r, const char *what, size_t bytes, double max,
                      size_t *n)
{
    if (get_count(r, bytes, max, n) && (*n || wrong(r, "none")))
        return true;
    err_context(r->e, "%ss", what);
    return false;
}

/* Host and user become words of a command. */
static bool get_host(struct reader *r, struct host *h)
{
    if (!GET(r, h, host_fields))
        return false;
    if (!host_name_ok(h->name))
        err_set(r->e, ERR_INVALID_VAL, "'%.80s' is not a host name", h->name);
    else if (h->user && !host_user_ok(h->user))
        err_set(r->e, ERR_INVALID_VAL, "'%.80s' is not a user name", h->user);
    else
        return true;
    return false;
}

static bool get_hosts(struct reader *r, struct plan *p)
{
    size_t n;

    if (!get_items(r, "host", 13, PLAN_HOSTS_MAX, &n))
        return false;
    for (size_t i = 0; i < n; i++) {
        struct host *h = plan_add_host(p, NULL);

        if (!h)
            return no_memory(r);
        if (!get_host(r, h))
            return in_item(r, "host", i);
    }
    return true;
}

static bool get_app(struct reader *r, struct bundle *b)
{
    struct app *a = plan_add_app(&b->plan);

    if (!a)
        return no_memory(r);
    return GET(r, a, app_fields) && GET(r, &b->envs[b->plan.napps - 1], env_fields);
}

static bool get_apps(struct reader *r, struct bundle *b)
{
    long ranks = 0;
    size_t n;

    if (!get_items(r, "program", 23, PLAN_RANKS_MAX, &n))
        return false;
    b->envs = calloc(n, sizeof *b->envs);
    if (!b->envs)
        return no_memory(r);
    for (size_t i = 0; i < n; i++) {
        if (!get_app(r, b))
            return in_item(r, "program", i);
        ranks += b->plan.apps[i].n;
        if (ranks > PLAN_RANKS_MAX)
            return wrong(r, "more ranks than there may be");
    }
    return true;
}

static bool get_run_list(struct reader *r, const struct plan *p, struct run *runs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!GET(r, &runs[i], run_fields) ||
            ((size_t)runs[i].node >= p->nhosts && !wrong(r, "no such node")))
            return in_item(r, "run", i);
    return true;
}

static bool get_runs(struct reader *r, struct bundle *b)
{
    struct run *runs;
    size_t n;
    bool ok;

    if (!get_items(r, "run", 8, PLAN_RANKS_MAX, &n))
        return false;
    runs = calloc(n, sizeof *runs);
    if (!runs)
        return no_memory(r);
    ok = get_run_list(r, &b->plan, runs, n) && place_runs(runs, n, &b->place, r->e) == 0;
    free(runs);
    if (ok && b->place.size != plan_size(&b->plan))
        return wrong(r, "not as many ranks placed as there are");
    return ok;
}

/* What must not be misread comes first. */
static bool get_version(struct reader *r)
{
    uint64_t version;

    if (!get_number(r, 4, &version))
        return false;
    if (version == BUNDLE_VERSION)
        return true;
    err_set(r->e, ERR_INVALID_VAL, "version %u, want %d", (unsigned)version,
            BUNDLE_VERSION);
    return false;
}

static bool get_all(struct reader *r, struct bundle *b)
{
    if (!get_version(r) || !GET(r, b, job_fields))
        return false;
    if (!get_hosts(r, &b->plan) || !get_apps(r, b) || !get_runs(r, b))
        return false;
    return r->at == r->end || wrong(r, "more than one job");
}

int bundle_read(struct bundle *b, const char *data, size_t len, struct err *e)
{
    struct reader r = { .start = data, .at = data, .end = data + len, .e = e };

    *b = (struct bundle){ .envs = NULL };
    plan_init(&b->plan);
    return get_all(&r, b) ? 0 : err_context(e, "job as sent by the launcher");
}

void bundle_clear(struct bundle *b)
{
    for (size_t i = 0; b->envs && i < b->plan.napps; i++)
        strlist_clear(&b->envs[i]);
    free(b->envs);
    placement_clear(&b->place);
    plan_clear(&b->plan);
    free(b->cwd);
    free(b->jobid);
    free(b->spawner);
    setup_free_text(b->setup);
    *b = (struct bundle){ .envs = NULL };
}

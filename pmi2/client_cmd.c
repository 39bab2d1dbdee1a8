/* client_cmd.c - one function for each PMI-2 command; see client.h
 *
 * Each checks what it is given, fills a request and takes the reply apart.
 * Keys on the wire: MPICH wiki "PMI-2 Wire Protocol"; where servers differ, the
 * comment says who. */
#include "pmi2/client.h"

#include "wire/utf8.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/single_threaded.h>
#include <time.h>

/* ----------------------------------------------------------------- checks */

int check_key(const char *key, struct err *e)
{
    size_t len = key ? strlen(key) : 0;

    if (!len)
        return err_set(e, ERR_INVALID_KEY, "no key");
    if (len > LIMIT_KEY)
        return err_set(e, ERR_KEY_LENGTH, "key is %zu bytes, at most %d", len, LIMIT_KEY);
    if (!utf8_valid(key, len))
        return err_set(e, ERR_INVALID_KEY, "key is not UTF-8");
    return 0;
}

int check_text(const char *what, const char *text, size_t max, struct err *e)
{
    size_t len = text ? strlen(text) : 0;

    if (!len)
        return err_set(e, ERR_INVALID_ARG, "no %s", what);
    if (len > max)
        return err_set(e, ERR_LENGTH, "%s is %zu bytes, at most %zu", what, len, max);
    if (!utf8_valid(text, len))
        return err_set(e, ERR_INVALID_ARG, "%s is not UTF-8", what);
    return 0;
}

/* A server that did not say otherwise has room for PMI2_MAX_VALLEN. */
int check_value(const struct client *c, const char *val, struct err *e)
{
    size_t len = val ? strlen(val) : 0;
    size_t max = c->thrids ? LIMIT_VALUE : LIMIT_VALUE_OLD;

    if (!val)
        return err_set(e, ERR_INVALID_VAL, "no value");
    if (len > max)
        return err_set(e, ERR_VAL_LENGTH, "value is %zu bytes, at most %zu", len, max);
    if (!utf8_valid(val, len))
        return err_set(e, ERR_INVALID_VAL, "value is not UTF-8");
    return 0;
}

/* ---------------------------------------------------------------- helpers */

/* A request whose reply is only yes or no; keys may be fewer than two (NULL). */
static int simple(struct client *c, const char *cmd, const char *key1, const char *val1,
                  const char *key2, const char *val2, struct err *e)
{
    struct call k;
    int rc;

    call_start(&k, c, cmd);
    if (key1)
        msg_str(&k.req, key1, val1);
    if (key2)
        msg_str(&k.req, key2, val2);
    rc = call_run(&k, e);
    call_end(&k);
    return rc;
}

static int append(struct buf *out, const struct pair *p, struct err *e)
{
    buf_add(out, p->val, p->len);
    return out->failed ? err_set(e, ERR_NOMEM, "no memory for a value") : 0;
}

/* The value of a reply that may say found=FALSE instead. */
static int take_found(const struct call *k, struct buf *out, bool *found, struct err *e)
{
    const struct pair *flag = msg_find(&k->reply->m, "found");
    const struct pair *val = msg_find(&k->reply->m, "value");

    *found = val != NULL;
    if (flag && pair_bool(flag, found, e) < 0)
        return err_context(e, "%s", k->req.cmd);
    if (!*found)
        return 0;
    if (!val)
        return err_set(e, ERR_OTHER, "%s: found, but without value", k->req.cmd);
    return append(out, val, e);
}

/* MPICH main's Hydra says "no such attribute" as a bare rc=1. */
static bool bare_miss(const struct call *k)
{
    return k->reply && k->reply->rc == 1 && !msg_find(&k->reply->m, "errmsg") &&
           !msg_find(&k->reply->m, "found");
}

/* A put that is too long for a frame is one that is too long for a value. */
static int too_long_is_value(int rc, struct err *e)
{
    if (rc < 0 && e->code == ERR_LENGTH)
        e->code = ERR_VAL_LENGTH;
    return rc;
}

/* -------------------------------------------------------------------- KVS */

static int put(struct client *c, const char *key, const char *val, bool read_only,
               struct err *e)
{
    struct call k;
    int rc;

    if (check_key(key, e) < 0 || check_value(c, val, e) < 0)
        return err_context(e, "kvs-put");
    if (single_enter(c))
        return single_leave(c, single_put(c, false, key, val, read_only, e));
    call_start(&k, c, "kvs-put");
    msg_str(&k.req, "key", key);
    msg_str(&k.req, "value", val);
    if (read_only && c->read_only)
        msg_str(&k.req, "read-only", "TRUE");
    rc = call_run(&k, e);
    call_end(&k);
    return too_long_is_value(rc, e);
}

int client_put(struct client *c, const char *key, const char *val, struct err *e)
{
    return put(c, key, val, false, e);
}

int client_put_read_only(struct client *c, const char *key, const char *val, struct err *e)
{
    return put(c, key, val, true, e);
}

int client_fence(struct client *c, struct err *e)
{
    if (single_enter(c))
        return single_leave(c, 0);
    return simple(c, "kvs-fence", NULL, NULL, NULL, NULL, e);
}

static int single_job_get(struct client *c, const char *jobid, const char *key,
                          struct buf *out, bool *found, struct err *e)
{
    if (*jobid && strcmp(jobid, c->id))
        return err_set(e, ERR_INVALID_ARG, "kvs-get: %.64s is not connected to this job", jobid);
    return single_get(c, false, key, out, found, e);
}

int client_get(struct client *c, const char *jobid, int src, const char *key,
               struct buf *out, bool *found, struct err *e)
{
    struct call k;
    int rc;

    *found = false;
    if (check_key(key, e) < 0 ||
        (jobid && *jobid && check_text("job id", jobid, LIMIT_VALUE_OLD, e) < 0))
        return err_context(e, "kvs-get");
    if (single_enter(c))
        return single_leave(c, single_job_get(c, jobid ? jobid : "", key, out, found, e));
    call_start(&k, c, "kvs-get");
    if (jobid && *jobid)                 /* Hydra 5 dies of an empty one */
        msg_str(&k.req, "jobid", jobid);
    if (src >= 0)
        msg_int(&k.req, "srcid", src);
    msg_str(&k.req, "key", key);
    rc = call_run(&k, e);
    if (rc == 0)
        rc = take_found(&k, out, found, e);
    call_end(&k);
    return rc;
}

/* ------------------------------------------------------------- attributes */

int client_put_attr(struct client *c, const char *key, const char *val, struct err *e)
{
    int rc;

    if (check_key(key, e) < 0 || check_value(c, val, e) < 0)
        return err_context(e, "info-putnodeattr");
    if (single_enter(c))
        return single_leave(c, single_put(c, true, key, val, false, e));
    rc = simple(c, "info-putnodeattr", "key", key, "value", val, e);
    return too_long_is_value(rc, e);
}

/* One question.  wait: 1 and 0 are said, -1 is not (job attributes). */
static int ask_attr(struct client *c, const char *cmd, const char *key, int wait,
                    struct buf *out, bool *found, struct err *e)
{
    struct call k;
    int rc;

    call_start(&k, c, cmd);
    msg_str(&k.req, "key", key);
    if (wait >= 0)
        msg_str(&k.req, "wait", wait ? "TRUE" : "FALSE");
    rc = call_run(&k, e);
    if (rc == 0)
        rc = take_found(&k, out, found, e);
    else if (bare_miss(&k))
        rc = 0;
    call_end(&k);
    return rc;
}

/* Sleep, and no point where the thread can be cancelled. */
static void doze(long ns)
{
    struct timespec pause = { 0, ns };
    int cancel;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    nanosleep(&pause, NULL);
    pthread_setcancelstate(cancel, NULL);
}

/* Where requests take turns, a request that waits would keep the process's other
 * threads from theirs, perhaps from the very put it waits for: ask again and
 * again instead, 1 ms to 64 ms apart. */
static int poll_attr(struct client *c, const char *key, struct buf *out, bool *found,
                     struct err *e)
{
    for (long ns = 1000000;; ns = ns < 64000000 ? ns * 2 : ns) {
        int rc = ask_attr(c, "info-getnodeattr", key, 0, out, found, e);

        if (rc < 0 || *found)
            return rc;
        doze(ns);
    }
}

/* Attributes that the launcher has put into the environment, too. */
static const struct { const char *key, *name; bool node, job; } constants[CLIENT_CONSTANTS] = {
    { "universeSize", "PMI_UNIVERSE_SIZE", false, true },
    { "PMI_process_mapping", "PMI_PROCESS_MAPPING", false, true },
    { "localRanks", "PMI_LOCAL_RANKS", true, true },
    { "localRanksCount", "MPI_LOCALNRANKS", true, true },
};

void client_take_constants(struct client *c)
{
    for (int i = 0; i < CLIENT_CONSTANTS; i++) {
        const char *value = getenv(constants[i].name);

        c->constants[i] = value ? strdup(value) : NULL;
    }
}

/* One of these, if it is known.  0; or -1 and e: nothing could be asked any more. */
static int known_attr(struct client *c, bool node, const char *key, struct buf *out,
                      bool *found, struct err *e)
{
    int rc = 0;

    pthread_mutex_lock(&c->lock);
    for (int i = 0; i < CLIENT_CONSTANTS && !*found; i++)
        if (c->constants[i] && !strcmp(constants[i].key, key) &&
            (node ? constants[i].node : constants[i].job)) {
            rc = client_usable(c, e);
            buf_str(out, c->constants[i]);
            *found = true;
        }
    pthread_mutex_unlock(&c->lock);
    return rc < 0 || !out->failed ? rc : err_set(e, ERR_NOMEM, "no memory for a value");
}

static int single_attr(struct client *c, bool node, const char *key, bool wait,
                       struct buf *out, bool *found, struct err *e)
{
    if (node && single_get(c, true, key, out, found, e) < 0)
        return -1;
    if (!*found && wait)
        return err_set(e, ERR_OTHER, "info-getnodeattr: this process is alone on its node, and "
                       "would wait for itself");
    return 0;
}

int client_get_attr(struct client *c, bool node, const char *key, bool wait,
                    struct buf *out, bool *found, struct err *e)
{
    const char *cmd = node ? "info-getnodeattr" : "info-getjobattr";

    *found = false;
    if (check_key(key, e) < 0)
        return err_context(e, "%s", cmd);
    if (single_enter(c))
        return single_leave(c, single_attr(c, node, key, wait, out, found, e));
    if (known_attr(c, node, key, out, found, e) < 0) {
        *found = false;
        return err_context(e, "%s", cmd);
    }
    if (*found)
        return 0;
    if (wait && !c->thrids && !__libc_single_threaded)
        return poll_attr(c, key, out, found, e);
    return ask_attr(c, cmd, key, node ? wait : -1, out, found, e);
}

/* ------------------------------------------------------------------ names */

static const struct { const char *count, *key, *val; } name_infos[CLIENT_NAME_INFOS + 1] = {
    { "0", "infokey0", "infoval0" }, { "1", "infokey1", "infoval1" },
    { "2", "infokey2", "infoval2" }, { "3", "infokey3", "infoval3" },
    { "4", NULL, NULL },
};

static int check_infos(int n, const struct client_info *infos, struct err *e)
{
    if (n < 0 || n > CLIENT_NAME_INFOS)
        return err_set(e, ERR_NUM_ARGS, "%d info pairs, at most %d", n, CLIENT_NAME_INFOS);
    if (n && !infos)
        return err_set(e, ERR_INVALID_ARG, "no info pairs");
    for (int i = 0; i < n; i++)
        if (check_text("info key", infos[i].key, LIMIT_KEY, e) < 0 ||
            check_text("info value", infos[i].val, LIMIT_VALUE_OLD, e) < 0)
            return -1;
    return 0;
}

/* Slurm's client always says how many infos it sends: none. */
static int name_call(struct call *k, struct client *c, const char *cmd, const char *name,
                     int n, const struct client_info *infos, const char *port, struct err *e)
{
    bool good = check_text("service name", name, LIMIT_SERVICE, e) == 0 &&
                (!port || check_text("port", port, LIMIT_PORT, e) == 0) &&
                check_infos(n, infos, e) == 0 && single_join(c, e) == 0;

    call_start(k, c, cmd);
    if (!good)
        return err_context(e, "%s", cmd);
    msg_str(&k->req, "name", name);
    if (port)
        msg_str(&k->req, "port", port);
    msg_str(&k->req, "infokeycount", name_infos[n].count);
    for (int i = 0; i < n; i++) {
        msg_str(&k->req, name_infos[i].key, infos[i].key);
        msg_str(&k->req, name_infos[i].val, infos[i].val);
    }
    return call_run(k, e);
}

int client_publish(struct client *c, const char *name, int n, const struct client_info *infos,
                   const char *port, struct err *e)
{
    struct call k;
    int rc = name_call(&k, c, "name-publish", name, n, infos, port ? port : "", e);

    call_end(&k);
    return rc;
}

int client_unpublish(struct client *c, const char *name, struct err *e)
{
    struct call k;
    int rc = name_call(&k, c, "name-unpublish", name, 0, NULL, NULL, e);

    call_end(&k);
    return rc;
}

/* The port comes as "value" from Slurm, as "port" from Hydra, as both from us. */
static int take_port(const struct call *k, struct buf *out, struct err *e)
{
    const struct pair *p = msg_find(&k->reply->m, "value");

    if (!p)
        p = msg_find(&k->reply->m, "port");
    if (!p)
        return err_set(e, ERR_OTHER, "%s: the reply has no port", k->req.cmd);
    return append(out, p, e);
}

int client_lookup(struct client *c, const char *name, int n, const struct client_info *infos,
                  struct buf *out, struct err *e)
{
    struct call k;
    int rc = name_call(&k, c, "name-lookup", name, n, infos, NULL, e);

    if (rc == 0)
        rc = take_port(&k, out, e);
    call_end(&k);
    return rc;
}

/* ------------------------------------------------------------------- jobs */

int client_job_id(struct client *c, struct buf *out, struct err *e)
{
    const struct pair *p;
    struct call k;
    int rc;

    if (single_enter(c)) {
        buf_str(out, c->id);
        return single_leave(c, out->failed ? err_set(e, ERR_NOMEM, "no memory for the job id") : 0);
    }
    call_start(&k, c, "job-getid");
    rc = call_run(&k, e);
    p = rc == 0 ? msg_find(&k.reply->m, "jobid") : NULL;
    if (p)
        rc = append(out, p, e);
    else if (rc == 0)
        rc = err_set(e, ERR_OTHER, "job-getid: the reply has no job id");
    call_end(&k);
    return rc;
}

int client_disconnect(struct client *c, const char *jobid, struct err *e)
{
    if (check_text("job id", jobid, LIMIT_VALUE_OLD, e) < 0)
        return err_context(e, "job-disconnect");
    if (single_enter(c))
        return single_leave(c, err_set(e, ERR_INVALID_ARG, "job-disconnect: %.64s is not "
                                       "connected to this job", jobid));
    return simple(c, "job-disconnect", "jobid", jobid, NULL, NULL, e);
}

/* ------------------------------------------------------------------- ring */

static int take_ring(const struct call *k, int size, int *pos, struct buf *left,
                     struct buf *right, struct err *e)
{
    const struct msg *m = &k->reply->m;
    const struct pair *count = msg_find(m, "ring-count");
    const struct pair *l = msg_find(m, "ring-left"), *r = msg_find(m, "ring-right");
    long long n;

    if (!count || !l || !r)
        return err_set(e, ERR_OTHER, "ring: the reply has no place or no neighbour");
    if (pair_int(count, 0, size - 1, &n, e) < 0)
        return err_context(e, "ring");
    *pos = (int)n;
    return append(left, l, e) < 0 || append(right, r, e) < 0 ? -1 : 0;
}

int client_ring(struct client *c, const char *value, int *pos, struct buf *left,
                struct buf *right, struct err *e)
{
    struct call k;
    int rc;

    if (check_value(c, value, e) < 0)
        return err_context(e, "ring");
    if (single_enter(c)) {               /* both neighbours are ourselves */
        single_leave(c, 0);
        *pos = 0;
        buf_str(left, value);
        buf_str(right, value);
        return left->failed || right->failed ? err_set(e, ERR_NOMEM, "no memory") : 0;
    }
    call_start(&k, c, "ring");
    msg_int(&k.req, "ring-count", 1);
    msg_str(&k.req, "ring-left", value);
    msg_str(&k.req, "ring-right", value);
    rc = call_run(&k, e);
    if (rc == 0)
        rc = take_ring(&k, c->size, pos, left, right, e);
    call_end(&k);
    return rc;
}

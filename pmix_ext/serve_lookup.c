/* serve_lookup.c - pmix-lookup: what was published under some keys.
 * (PMIx standard, "Publish/Lookup".)
 *
 * Each key is asked for under the names that it may have for the caller: his own, his node's,
 * and the one of all ranges that the name service knows.  The first that is found counts. */
#include "pmix_ext/serve_name.h"

#include "pmix_ext/directives.h"
#include "pmix_ext/support.h"
#include "pmix_ext/value.h"

#include <stdlib.h>
#include <string.h>

enum { LOOKUP_KEYS_MAX = 256 };

struct asked {                           /* one name of one key */
    struct lookup   *of;
    struct wanted   *key;
    struct name_ask *ask;                /* NULL: it does not wait */
};

struct wanted {
    char *key;                           /* owned */
    char *port;                          /* owned: found; NULL: not yet */
    struct asked names[AUDIENCES];
};

struct lookup {
    TAILQ_ENTRY(lookup) in_ext;
    struct session *by;                  /* borrowed: it goes before */
    struct wanted  *keys;                /* owned */
    size_t          n, found, need;
    size_t          open;                /* names that are waited for */
    bool            wait;
    int             timeout;             /* seconds; 0: none */
    unsigned        audiences;           /* OR of 1 << audience: to be asked */
    struct err      why;                 /* the last failure, if there was one */
    struct waiters  waiters;
};

/* --- life -------------------------------------------------------------- */

static void stop_asking(struct wanted *k)
{
    for (int i = 0; i < AUDIENCES; i++) {
        if (!k->names[i].ask)
            continue;
        name_ask_drop(k->names[i].ask);
        k->names[i].ask = NULL;
        k->names[i].of->open--;
    }
}

static void lookup_free(struct lookup *l)
{
    for (size_t i = 0; i < l->n; i++) {
        stop_asking(&l->keys[i]);
        free(l->keys[i].key);
        free(l->keys[i].port);
    }
    free(l->keys);
    ext_abandon(&l->waiters);
    TAILQ_REMOVE(&l->by->ext->lookups, l, in_ext);
    free(l);
}

static struct lookup *lookup_new(struct session *s, char **keys, size_t n)
{
    struct lookup *l = calloc(1, sizeof *l);

    if (!l || !(l->keys = calloc(n ? n : 1, sizeof *l->keys))) {
        free(l);
        return NULL;
    }
    l->by = s;
    l->n = n;
    waiters_init(&l->waiters);
    TAILQ_INSERT_TAIL(&s->ext->lookups, l, in_ext);
    for (size_t i = 0; i < n; i++)
        if (!(l->keys[i].key = strdup(keys[i] ? keys[i] : ""))) {
            lookup_free(l);
            return NULL;
        }
    return l;
}

/* --- the answer -------------------------------------------------------- */

enum { LOOKUP_DATA_OUT = 1 };

/* One PMIX_PDATA: whose it is, as far as that is known, key and value. */
static int add_found(const struct wanted *k, struct buf *out)
{
    pmix_pdata_t p = { .proc.rank = PMIX_RANK_UNDEF, .value.type = PMIX_STRING };
    struct name_tag tag;
    const char *text = name_untag(k->port, &tag);
    int rc = 0;

    snprintf(p.key, sizeof p.key, "%s", k->key);
    if (tag.nspace) {
        snprintf(p.proc.nspace, sizeof p.proc.nspace, "%.*s", (int)tag.nspace_len, tag.nspace);
        p.proc.rank = tag.rank;
    }
    if (tag.json)
        rc = value_decode(PMIX_VALUE, text, strlen(text), "value", &p.value, NULL);
    else
        p.value.data.string = (char *)text;
    if (rc == 0)
        rc = value_encode(PMIX_PDATA, &p, "data", out, NULL);
    if (tag.json)
        value_clear(PMIX_VALUE, &p.value);
    return rc;
}

static int add_all(const struct lookup *l, struct buf *out)
{
    size_t n = 0;

    buf_reset(out);
    buf_char(out, '[');
    for (size_t i = 0; i < l->n; i++) {
        if (!l->keys[i].port)
            continue;
        if (n++)
            buf_char(out, ',');
        if (add_found(&l->keys[i], out) < 0)
            return -1;
    }
    buf_char(out, ']');
    return out->failed ? -1 : 0;
}

static pmix_status_t status_of(struct lookup *l)
{
    if (l->found >= l->need)
        return PMIX_SUCCESS;
    if (l->why.code)
        return name_status(FAILED, &l->why);
    err_set(&l->why, ERR_OTHER, "%zu of %zu names were found", l->found, l->n);
    if (l->wait)
        return PMIX_ERR_TIMEOUT;
    return l->found ? PMIX_ERR_PARTIAL_SUCCESS : PMIX_ERR_NOT_FOUND;
}

/* Some of what was wanted is a success of its own kind, which has its status. */
static void finish(struct lookup *l)
{
    struct request *rq = ext_waiting(&l->waiters);
    struct buf *text = &l->by->ext->text;
    pmix_status_t status = status_of(l);
    bool good = status == PMIX_SUCCESS || status == PMIX_ERR_PARTIAL_SUCCESS;

    if (rq && add_all(l, text) < 0) {
        err_set(&l->why, ERR_NOMEM, "no memory for what was found");
        ext_finish(&l->waiters, PMIX_ERR_NOMEM, &l->why);
    } else if (rq) {
        reply_status(rq, status);
        reply_text(rq, LOOKUP_DATA_OUT, buf_bytes(text), text->len);
        request_finish(rq, good ? REPLY : FAILED, &l->why);
    }
    lookup_free(l);
}

/* --- asking ------------------------------------------------------------ */

static bool done(const struct lookup *l)
{
    return l->found >= l->need || !l->open;
}

static void take(struct lookup *l, struct wanted *k, enum outcome o, const char *port,
                 const struct err *why)
{
    if (o == FAILED && why)
        l->why = *why;
    if (o != REPLY || k->port)
        return;
    k->port = strdup(port ? port : "");
    if (!k->port)
        err_set(&l->why, ERR_NOMEM, "no memory for a name");
    l->found += k->port != NULL;
    stop_asking(k);
}

static void told(void *who, enum outcome o, const char *port, const struct err *why)
{
    struct asked *a = who;
    struct lookup *l = a->of;

    a->ask = NULL;
    l->open--;
    take(l, a->key, o, port, why);
    if (done(l))
        finish(l);
}

static void ask(struct lookup *l, struct wanted *k, enum audience who, struct buf *name)
{
    struct asked *a = &k->names[who];
    struct name_call call = { .told = told, .who = a };
    struct err why = { 0 };
    const char *port = NULL;
    enum outcome o;

    if (!name_spell(l->by, k->key, who, name)) {
        err_set(&l->why, ERR_NOMEM, "no memory for a name");
        return;
    }
    *a = (struct asked){ .of = l, .key = k };
    call.want = (struct name_want){ .op = NAME_LOOKUP, .name = buf_bytes(name),
                                    .wait = l->wait, .timeout = l->timeout,
                                    .here = who != FOR_MANY };
    name_call_by(l->by, &call);
    o = name_ask_for(l->by->ext->server, &call, &a->ask, &port, &why);
    if (o == PARKED)
        l->open++;
    else
        take(l, k, o, port, &why);
}

/* The nearest first; nothing is told before this is over. */
static void ask_all(struct lookup *l)
{
    struct buf name = BUF_INIT;

    for (size_t i = 0; i < l->n; i++)
        for (int who = AUDIENCES; who-- > 0 && !l->keys[i].port;)
            if (l->audiences & 1u << who)
                ask(l, &l->keys[i], (enum audience)who, &name);
    buf_clear(&name);
}

/* --- the command ------------------------------------------------------- */

enum { LOOKUP_KEYS, LOOKUP_INFOS };
enum { NOT_WAITING = -1 };

struct options { pmix_data_range_t range; int wait, timeout; };

static const struct directive_rule lookup_rules[] = {
    DIRECTIVE(PMIX_RANGE, PMIX_DATA_RANGE, struct options, range),
    DIRECTIVE(PMIX_WAIT, PMIX_INT, struct options, wait),
    DIRECTIVE(PMIX_TIMEOUT, PMIX_INT, struct options, timeout),
    { 0 }
};

bool lookup_attribute(size_t i, const char **key, pmix_data_type_t *type)
{
    return directive_at(lookup_rules, i, key, type);
}

/* A range limits where is looked; what is for many is one to the name service. */
static unsigned audiences_of(pmix_data_range_t range)
{
    unsigned near = 1u << FOR_PROC;

    if (range == PMIX_RANGE_PROC_LOCAL)
        return near;
    near |= 1u << FOR_NODE;
    return range == PMIX_RANGE_LOCAL ? near : near | 1u << FOR_MANY;
}

static pmix_status_t take_options(struct lookup *l, const struct infos *infos,
                                  struct err *e)
{
    struct options o = { .wait = NOT_WAITING };
    pmix_status_t status = directives_take(infos, "infos", lookup_rules, &o, e);

    if (status != PMIX_SUCCESS)
        return status;
    if (o.wait < NOT_WAITING) {
        err_set(e, ERR_INVALID_VAL, "infos: " PMIX_WAIT ": %d names", o.wait);
        return PMIX_ERR_BAD_PARAM;
    }
    if (o.timeout < 0 || o.timeout > NAME_TIMEOUT_MAX) {
        err_set(e, ERR_INVALID_VAL, "infos: " PMIX_TIMEOUT ": %d seconds, want 0 to %d", o.timeout,
                NAME_TIMEOUT_MAX);
        return PMIX_ERR_BAD_PARAM;
    }
    l->wait = o.wait != NOT_WAITING;
    l->timeout = l->wait ? o.timeout : 0;
    l->need = o.wait > 0 && (size_t)o.wait < l->n ? (size_t)o.wait : l->n;
    l->audiences = audiences_of(o.range);
    return PMIX_SUCCESS;
}

static enum outcome check_keys(struct request *rq, char **keys, size_t n, struct err *e)
{
    if (!n || n > LOOKUP_KEYS_MAX)
        return ext_fail(rq, e, PMIX_ERR_BAD_PARAM, "keys: there are %zu, want 1 to %d", n,
                        LOOKUP_KEYS_MAX);
    for (size_t i = 0; i < n; i++)
        if (!keys[i] || !*keys[i] || strlen(keys[i]) > PMIX_MAX_KEYLEN)
            return ext_fail(rq, e, PMIX_ERR_BAD_PARAM, "keys[%zu]: want 1 to %d bytes", i,
                            PMIX_MAX_KEYLEN);
    return REPLY;
}

/* Answered by way of the parked request, also where all is there at once. */
static enum outcome look_up(struct request *rq, char **keys, size_t n, struct session *s,
                            struct err *e)
{
    const struct value *arg = rq->arg;
    struct lookup *l = lookup_new(s, keys, n);
    struct infos infos = { 0 };
    pmix_status_t status = PMIX_ERR_NOMEM;

    if (l)
        status = directives_read(&infos, arg[LOOKUP_INFOS].s, arg[LOOKUP_INFOS].len, "infos", e);
    else
        err_set(e, ERR_NOMEM, "no memory for a lookup");
    if (status == PMIX_SUCCESS)
        status = take_options(l, &infos, e);
    infos_clear(&infos);
    if (status == PMIX_SUCCESS && !request_park(rq, &l->waiters, e))
        status = PMIX_ERR_OUT_OF_RESOURCE;
    if (status != PMIX_SUCCESS) {
        if (l)
            lookup_free(l);
        return ext_refuse(rq, status);
    }
    ask_all(l);
    if (done(l))
        finish(l);
    return PARKED;
}

enum outcome ext_lookup(struct request *rq, struct err *e)
{
    const struct value *arg = rq->arg;
    struct session *s = session_of(rq, e);
    char **keys = NULL;
    size_t n = 0;
    enum outcome o;

    if (!s)
        return ext_refuse(rq, PMIX_ERR_NOMEM);
    if (value_decode_array(PMIX_STRING, arg[LOOKUP_KEYS].s, arg[LOOKUP_KEYS].len, "keys",
                           (void **)&keys, &n, e) < 0)
        return ext_refuse(rq, PMIX_ERR_BAD_PARAM);
    o = check_keys(rq, keys, n, e);
    if (o == REPLY)
        o = look_up(rq, keys, n, s, e);
    value_free_array(PMIX_STRING, keys, n);
    return o;
}

/* --- what happens ------------------------------------------------------ */

void lookups_conn_gone(struct ext *x, struct conn *c)
{
    struct lookup *l, *next;

    for (l = TAILQ_FIRST(&x->lookups); l; l = next) {
        next = TAILQ_NEXT(l, in_ext);
        if (l->by->conn == c)
            lookup_free(l);
    }
}

void lookups_clear(struct ext *x)
{
    struct lookup *l;

    while ((l = TAILQ_FIRST(&x->lookups)))
        lookup_free(l);
}

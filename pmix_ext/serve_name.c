/* serve_name.c - pmix-publish and pmix-unpublish: values under names, for others to find.
 * (PMIx standard, "Publish/Lookup".)
 *
 * It is the name service of PMI (pmi2/cmd_name.c), with its resident server.  A value has a tag
 * (pmi2/names.h) that says who has published it and of what kind it is.  What is for one node
 * or one process alone is kept at this launcher under a longer name, which only those ask
 * for.  Several keys of one call go one after the other, and all of them or none. */
#include "pmix_ext/serve_name.h"

#include "pmix_ext/directives.h"
#include "pmix_ext/support.h"
#include "pmix_ext/value.h"

#include <stdlib.h>
#include <string.h>

struct item {                            /* owned */
    char *name, *text;
};

struct publishing {
    TAILQ_ENTRY(publishing) in_ext;
    struct ext      *ext;
    struct session  *by;                 /* borrowed: it goes before */
    enum name_op     op;
    enum name_range  range;
    enum name_persistence persistence;
    bool             here;
    bool             mine;               /* it ends with its publisher */
    pmix_status_t    status;             /* once one has failed; the others are taken back */
    struct err       why;
    struct item     *items;              /* owned */
    size_t           n, at;              /* at: the one at work, or to be taken back */
    struct name_ask *ask;                /* that is waited for; or NULL */
    struct waiters   waiters;
};

/* --- names ------------------------------------------------------------- */

/* Behind a key, for whom it is. */
enum { MARK = 0x1f };

bool name_spell(struct session *s, const char *key, enum audience who, struct buf *out)
{
    buf_reset(out);
    buf_str(out, key);
    if (who == FOR_NODE)
        buf_printf(out, "%cnode%c%d", MARK, MARK, session_node(s));
    else if (who == FOR_PROC)
        buf_printf(out, "%cproc%c%s%c%u", MARK, MARK, s->who.nspace, MARK, s->who.rank);
    return !out->failed;
}

/* A tool is known to the name service by a number below 0. */
void name_call_by(struct session *s, struct name_call *call)
{
    if (s->who.tool && !s->owner)
        s->owner = --s->ext->owners;
    call->job = s->conn->job;
    call->owner = s->owner;
}

/* Two of its refusals have no code of their own, as PMI's clients know none. */
pmix_status_t name_status(enum outcome o, const struct err *why)
{
    if (o == REPLY)
        return PMIX_SUCCESS;
    if (o == NOT_FOUND || (why && !strcmp(why->text, "service_not_found")))
        return PMIX_ERR_NOT_FOUND;
    if (why && strstr(why->text, " belongs to another "))
        return PMIX_ERR_NO_PERMISSIONS;
    switch (why ? why->code : ERR_OTHER) {
    case ERR_INVALID_KEY: return PMIX_ERR_DUPLICATE_KEY;
    case ERR_NOMEM:       return PMIX_ERR_OUT_OF_RESOURCE;
    case ERR_INVALID_ARG: return PMIX_ERR_NOT_SUPPORTED;
    case ERR_LENGTH:
    case ERR_INVALID_VAL: return PMIX_ERR_BAD_PARAM;
    default:              return PMIX_ERROR;
    }
}

/* --- one after the other ----------------------------------------------- */

static void publishing_free(struct publishing *p)
{
    if (p->ask)
        name_ask_drop(p->ask);
    ext_abandon(&p->waiters);
    TAILQ_REMOVE(&p->ext->publishings, p, in_ext);
    for (size_t i = 0; i < p->n; i++) {
        free(p->items[i].name);
        free(p->items[i].text);
    }
    free(p->items);
    free(p);
}

static void told(void *who, enum outcome o, const char *port, const struct err *why);

/* One step: what comes of it at once, or PARKED. */
static enum outcome ask(struct publishing *p, enum name_op op, struct err *e)
{
    struct name_call call = {
        .want = { .op = op, .name = p->items[p->at].name, .port = p->items[p->at].text,
                  .range = p->range, .persistence = p->persistence, .here = p->here },
        .told = told, .who = p,
    };
    const char *port;

    name_call_by(p->by, &call);
    return name_ask_for(p->ext->server, &call, &p->ask, &port, e);
}

/* What a publisher takes with him. */
static void note_own(struct publishing *p)
{
    for (size_t i = 0; i < p->n && p->mine; i++) {
        struct own_name *own = calloc(1, sizeof *own);

        if (!own)
            return;                      /* it stays until its job ends */
        own->name = p->items[i].name;
        own->here = p->here;
        p->items[i].name = NULL;
        STAILQ_INSERT_TAIL(&p->by->own_names, own, next);
    }
}

static void finish(struct publishing *p)
{
    if (p->status == PMIX_SUCCESS && p->op == NAME_PUBLISH)
        note_own(p);
    ext_finish(&p->waiters, p->status, &p->why);
    publishing_free(p);
}

/* Publishing is undone from the one that failed back to the first; what was unpublished stays
 * so, and the rest is tried, too. */
static bool take_result(struct publishing *p, enum outcome o, const struct err *why)
{
    bool undoing = p->op == NAME_PUBLISH && p->status != PMIX_SUCCESS;

    if (undoing)
        return p->at-- > 0;
    if (o != REPLY && p->status == PMIX_SUCCESS) {
        p->status = name_status(o, why);
        if (why)
            p->why = *why;
        err_context(&p->why, "%.*s", (int)strcspn(p->items[p->at].name, "\x1f"),
                    p->items[p->at].name);
    }
    if (o != REPLY && p->op == NAME_PUBLISH)
        return p->at-- > 0;
    return ++p->at < p->n;
}

static void go_on(struct publishing *p)
{
    for (;;) {
        bool undoing = p->op == NAME_PUBLISH && p->status != PMIX_SUCCESS;
        struct err why = { 0 };
        enum outcome o = ask(p, undoing ? NAME_UNPUBLISH : p->op, &why);

        if (o == PARKED)
            return;
        if (!take_result(p, o, &why))
            break;
    }
    finish(p);
}

static void told(void *who, enum outcome o, const char *port, const struct err *why)
{
    struct publishing *p = who;

    (void)port;
    p->ask = NULL;
    if (take_result(p, o, why))
        go_on(p);
    else
        finish(p);
}

static struct publishing *publishing_new(struct session *s, enum name_op op, size_t room)
{
    struct publishing *p = calloc(1, sizeof *p);

    if (!p || !(p->items = calloc(room ? room : 1, sizeof *p->items))) {
        free(p);
        return NULL;
    }
    p->ext = s->ext;
    p->by = s;
    p->op = op;
    waiters_init(&p->waiters);
    TAILQ_INSERT_TAIL(&s->ext->publishings, p, in_ext);
    return p;
}

static enum outcome start(struct request *rq, struct publishing *p, struct err *e)
{
    if (!request_park(rq, &p->waiters, e)) {
        publishing_free(p);
        return ext_refuse(rq, PMIX_ERR_OUT_OF_RESOURCE);
    }
    go_on(p);
    return PARKED;
}

static enum outcome no_memory(struct request *rq, struct publishing *p, struct err *e)
{
    if (p)
        publishing_free(p);
    return ext_fail(rq, e, PMIX_ERR_NOMEM, "no memory for names");
}

/* --- what is asked for ------------------------------------------------- */

struct options { pmix_data_range_t range; pmix_persistence_t persistence; };

static const struct directive_rule publish_rules[] = {
    DIRECTIVE(PMIX_RANGE, PMIX_DATA_RANGE, struct options, range),
    DIRECTIVE(PMIX_PERSISTENCE, PMIX_PERSIST, struct options, persistence),
    DIRECTIVE_KNOWN(PMIX_TIMEOUT, PMIX_INT),     /* the name server answers in time, or is lost */
    { 0 }
};

bool publish_attribute(size_t i, const char **key, pmix_data_type_t *type)
{
    return directive_at(publish_rules, i, key, type);
}

static const struct {
    pmix_data_range_t range;
    enum audience     who;
    enum name_range   as;
} ranges[] = {
    { PMIX_RANGE_UNDEF, FOR_MANY, RANGE_USER },
    { PMIX_RANGE_SESSION, FOR_MANY, RANGE_USER },
    { PMIX_RANGE_NAMESPACE, FOR_MANY, RANGE_JOB },
    { PMIX_RANGE_GLOBAL, FOR_MANY, RANGE_NODE },
    { PMIX_RANGE_LOCAL, FOR_NODE, RANGE_USER },
    { PMIX_RANGE_PROC_LOCAL, FOR_PROC, RANGE_USER },
};

static pmix_status_t take_range(struct publishing *p, pmix_data_range_t range,
                                enum audience *who, struct err *e)
{
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        if (ranges[i].range != range)
            continue;
        *who = ranges[i].who;
        p->range = ranges[i].as;
        p->here = ranges[i].who != FOR_MANY;
        return PMIX_SUCCESS;
    }
    err_set(e, ERR_INVALID_VAL, PMIX_RANGE ": there is no range %u here", range);
    return PMIX_ERR_PARAM_VALUE_NOT_SUPPORTED;
}

/* A tool is no job with which names could end: they are taken back when it goes. */
static pmix_status_t take_persistence(struct publishing *p, pmix_persistence_t persistence,
                                      struct err *e)
{
    bool tool = p->by->who.tool;

    switch (persistence) {
    case PMIX_PERSIST_INDEF:
    case PMIX_PERSIST_SESSION:
        p->persistence = PERSIST_INDEFINITE;
        return PMIX_SUCCESS;
    case PMIX_PERSIST_FIRST_READ:
        p->persistence = PERSIST_FIRST_READ;
        return PMIX_SUCCESS;
    case PMIX_PERSIST_PROC:
    case PMIX_PERSIST_APP:
        p->mine = tool || persistence == PMIX_PERSIST_PROC;
        p->persistence = tool ? PERSIST_INDEFINITE : PERSIST_JOB;
        return PMIX_SUCCESS;
    default:
        err_set(e, ERR_INVALID_VAL, PMIX_PERSISTENCE ": there is no persistence %u here",
                persistence);
        return PMIX_ERR_PARAM_VALUE_NOT_SUPPORTED;
    }
}

/* A value as it is kept. */
static char *text_of(const struct session *s, const pmix_value_t *v, struct err *e)
{
    bool plain = v->type == PMIX_STRING && v->data.string;
    struct name_tag tag = { s->who.nspace, strlen(s->who.nspace), s->who.rank, !plain };
    struct buf text = BUF_INIT;
    char head[NAME_TAG];

    name_write_tag(&tag, head);
    buf_str(&text, head);
    if (plain)
        buf_str(&text, v->data.string);
    else if (value_encode(PMIX_VALUE, v, "value", &text, e) < 0)
        text.failed = true;
    if (!text.failed && text.len <= LIMIT_PUBLISHED)
        return text.data;
    if (!text.failed)
        err_set(e, ERR_LENGTH, "a value of %zu bytes, at most %d can be published", text.len,
                LIMIT_PUBLISHED);
    buf_clear(&text);
    return NULL;
}

static bool is_reserved(const char *key)
{
    return !strncmp(key, "pmix.", 5);
}

static pmix_status_t add_item(struct publishing *p, const char *key, enum audience who,
                              const pmix_value_t *v, struct err *e)
{
    struct item *item = &p->items[p->n++];
    struct buf name = BUF_INIT;

    if (!*key || strlen(key) > PMIX_MAX_KEYLEN || is_reserved(key)) {
        err_set(e, ERR_INVALID_KEY, "'%.64s' cannot be a name", key);
        return PMIX_ERR_BAD_PARAM;
    }
    if (!name_spell(p->by, key, who, &name)) {
        err_set(e, ERR_NOMEM, "no memory for names");
        return PMIX_ERR_NOMEM;
    }
    item->name = name.data;
    if (v && !(item->text = text_of(p->by, v, e)))
        return e->code == ERR_LENGTH ? PMIX_ERR_OUT_OF_RESOURCE : PMIX_ERR_BAD_PARAM;
    return PMIX_SUCCESS;
}

/* --- publish ----------------------------------------------------------- */

/* Directives and data come in one array: directives are what the standard has reserved. */
static pmix_status_t take_directives(struct publishing *p, const struct infos *infos,
                                     enum audience *who, struct err *e)
{
    struct options o = { .range = PMIX_RANGE_SESSION, .persistence = PMIX_PERSIST_APP };
    pmix_status_t status = directives_take(infos, "infos", publish_rules, &o, e);

    if (status == PMIX_SUCCESS)
        status = take_range(p, o.range, who, e);
    if (status == PMIX_SUCCESS)
        status = take_persistence(p, o.persistence, e);
    return status;
}

/* What is data may be marked as required: that is nothing to the directives. */
static pmix_status_t take_data(struct publishing *p, struct infos *infos, struct err *e)
{
    pmix_status_t status = PMIX_SUCCESS;
    enum audience who = FOR_MANY;

    for (size_t i = 0; i < infos->n; i++)
        if (!is_reserved(infos->v[i].key))
            infos->v[i].flags &= ~PMIX_INFO_REQD;
    status = take_directives(p, infos, &who, e);
    for (size_t i = 0; i < infos->n && status == PMIX_SUCCESS; i++) {
        if (is_reserved(infos->v[i].key))
            continue;
        status = add_item(p, infos->v[i].key, who, &infos->v[i].value, e);
        if (status != PMIX_SUCCESS)
            err_context(e, "infos[%zu]", i);
    }
    if (status == PMIX_SUCCESS && !p->n) {
        err_set(e, ERR_INVALID_ARG, "infos: nothing is to be published");
        status = PMIX_ERR_BAD_PARAM;
    }
    return status;
}

enum outcome ext_publish(struct request *rq, struct err *e)
{
    struct session *s = session_of(rq, e);
    struct infos infos = { 0 };
    struct publishing *p;
    pmix_status_t status;

    if (!s)
        return ext_refuse(rq, PMIX_ERR_NOMEM);
    status = directives_read(&infos, rq->arg[0].s, rq->arg[0].len, "infos", e);
    if (status != PMIX_SUCCESS)
        return ext_refuse(rq, status);
    p = publishing_new(s, NAME_PUBLISH, infos.n);
    status = p ? take_data(p, &infos, e) : PMIX_ERR_NOMEM;
    infos_clear(&infos);
    if (!p)
        return no_memory(rq, p, e);
    if (status == PMIX_SUCCESS)
        return start(rq, p, e);
    publishing_free(p);
    return ext_refuse(rq, status);
}

/* --- unpublish --------------------------------------------------------- */

enum { UNPUBLISH_KEYS, UNPUBLISH_INFOS };

static pmix_status_t take_keys(struct publishing *p, char **keys, size_t n,
                               const struct infos *infos, struct err *e)
{
    enum audience who = FOR_MANY;
    pmix_status_t status = take_directives(p, infos, &who, e);

    for (size_t i = 0; i < n && status == PMIX_SUCCESS; i++) {
        status = add_item(p, keys[i] ? keys[i] : "", who, NULL, e);
        if (status != PMIX_SUCCESS)
            err_context(e, "keys[%zu]", i);
    }
    if (status == PMIX_SUCCESS && !n) {
        err_set(e, ERR_INVALID_ARG, "keys: there are none");
        status = PMIX_ERR_BAD_PARAM;
    }
    return status;
}

enum outcome ext_unpublish(struct request *rq, struct err *e)
{
    const struct value *arg = rq->arg;
    struct session *s = session_of(rq, e);
    struct infos infos = { 0 };
    struct publishing *p = NULL;
    pmix_status_t status;
    char **keys = NULL;
    size_t n = 0;

    if (!s)
        return ext_refuse(rq, PMIX_ERR_NOMEM);
    if (value_decode_array(PMIX_STRING, arg[UNPUBLISH_KEYS].s, arg[UNPUBLISH_KEYS].len, "keys",
                           (void **)&keys, &n, e) < 0)
        return ext_refuse(rq, PMIX_ERR_BAD_PARAM);
    status = directives_read(&infos, arg[UNPUBLISH_INFOS].s, arg[UNPUBLISH_INFOS].len, "infos",
                             e);
    if (status == PMIX_SUCCESS && (p = publishing_new(s, NAME_UNPUBLISH, n)))
        status = take_keys(p, keys, n, &infos, e);
    else if (status == PMIX_SUCCESS)
        status = PMIX_ERR_NOMEM;
    infos_clear(&infos);
    value_free_array(PMIX_STRING, keys, n);
    if (status == PMIX_SUCCESS)
        return start(rq, p, e);
    if (status == PMIX_ERR_NOMEM)
        return no_memory(rq, p, e);
    if (p)
        publishing_free(p);
    return ext_refuse(rq, status);
}

/* --- what happens ------------------------------------------------------ */

void own_names_clear(struct session *s)
{
    struct own_name *own;

    while ((own = STAILQ_FIRST(&s->own_names))) {
        STAILQ_REMOVE_HEAD(&s->own_names, next);
        free(own->name);
        free(own);
    }
}

/* What was to live as long as its publisher ends now. */
static void take_back(struct session *s)
{
    const struct own_name *own;

    STAILQ_FOREACH(own, &s->own_names, next) {
        struct name_call call = { .want = { .op = NAME_UNPUBLISH, .name = own->name,
                                            .here = own->here } };
        struct name_ask *ask;
        const char *port;

        name_call_by(s, &call);
        name_ask_for(s->ext->server, &call, &ask, &port, NULL);
    }
    if (s->owner)
        names_end(s->ext->server, s->owner);
}

void names_conn_gone(struct ext *x, struct conn *c)
{
    struct publishing *p, *next;

    for (p = TAILQ_FIRST(&x->publishings); p; p = next) {
        next = TAILQ_NEXT(p, in_ext);
        if (p->by->conn == c)
            publishing_free(p);
    }
    lookups_conn_gone(x, c);
    if (c->layer)
        take_back(c->layer);
}

void names_clear(struct ext *x)
{
    struct publishing *p;

    while ((p = TAILQ_FIRST(&x->publishings)))
        publishing_free(p);
    lookups_clear(x);
}

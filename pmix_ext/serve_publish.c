/* serve_publish.c - pmix-publish and pmix-unpublish: what is asked for; see serve_name.h.
 *
 * A value has a tag (pmi2/names.h) that says who has published it and of what kind it is. */
#include "pmix_ext/serve_name.h"

#include "pmix_ext/directives.h"
#include "pmix_ext/support.h"
#include "pmix_ext/value.h"

#include <stdlib.h>
#include <string.h>

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

static enum outcome no_memory(struct request *rq, struct publishing *p, struct err *e)
{
    if (p)
        publishing_free(p);
    return ext_fail(rq, e, PMIX_ERR_NOMEM, "no memory for names");
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
        return publishing_start(rq, p, e);
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
        return publishing_start(rq, p, e);
    if (status == PMIX_ERR_NOMEM)
        return no_memory(rq, p, e);
    if (p)
        publishing_free(p);
    return ext_refuse(rq, status);
}

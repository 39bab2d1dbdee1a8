/* serve_name.c - values under names: the names, and several keys of one call.  (PMIx standard,
 * "Publish/Lookup".)
 *
 * It is the name service of PMI (pmi2/cmd_name.c), with its resident server.  What is for one
 * node or one process alone is kept at this launcher under a longer name, which only those
 * ask for.  Several keys of one call go one after the other, and all of them or none. */
#include "pmix_ext/serve_name.h"

#include <stdlib.h>
#include <string.h>

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

void publishing_free(struct publishing *p)
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

struct publishing *publishing_new(struct session *s, enum name_op op, size_t room)
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

enum outcome publishing_start(struct request *rq, struct publishing *p, struct err *e)
{
    if (!request_park(rq, &p->waiters, e)) {
        publishing_free(p);
        return ext_refuse(rq, PMIX_ERR_OUT_OF_RESOURCE);
    }
    go_on(p);
    return PARKED;
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

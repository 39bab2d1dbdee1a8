/* serve_event.c - pmix-event-register, pmix-event-deregister, pmix-notify.  (PMIx standard,
 * "Event notification".)  In which order the handlers of one process run is its library's
 * affair; here a registration is an id and what it wants. */
#include "pmix_ext/serve_event.h"

#include "pmix_ext/support.h"
#include "pmix_ext/value.h"

#include <string.h>

enum { REGISTER_CODES, REGISTER_INFOS };
enum { REGISTER_ID_OUT = 1 };
enum { DEREGISTER_ID };
enum { NOTIFY_STATUS, NOTIFY_SOURCE, NOTIFY_RANGE, NOTIFY_INFOS };

/* --- register ---------------------------------------------------------- */

/* Those of which the order of handlers is made are the library's. */
static const char *const register_known[] = {
    PMIX_EVENT_HDLR_NAME, PMIX_EVENT_HDLR_FIRST, PMIX_EVENT_HDLR_LAST,
    PMIX_EVENT_HDLR_FIRST_IN_CATEGORY, PMIX_EVENT_HDLR_LAST_IN_CATEGORY,
    PMIX_EVENT_HDLR_BEFORE, PMIX_EVENT_HDLR_AFTER, PMIX_EVENT_HDLR_PREPEND,
    PMIX_EVENT_HDLR_APPEND, PMIX_EVENT_AFFECTED_PROC, PMIX_EVENT_AFFECTED_PROCS, PMIX_RANGE,
    PMIX_EVENT_CUSTOM_RANGE, PMIX_EVENT_ONESHOT, NULL
};

bool register_attribute(size_t i, const char **key, pmix_data_type_t *type)
{
    return attribute_at(register_known, i, key, type);
}

static enum outcome bad_infos(struct request *rq, struct err *e)
{
    return ext_refuse(rq, e->code == ERR_NOMEM ? PMIX_ERR_NOMEM : PMIX_ERR_BAD_PARAM);
}

static void listen_to(struct session *s, struct registration *r)
{
    if (!s->nregistrations++)
        TAILQ_INSERT_TAIL(&s->ext->listening, s, in_listening);
    r->id = ++s->last_registration;
    TAILQ_INSERT_TAIL(&s->registrations, r, in_session);
}

/* What was kept comes behind the reply, which says the id. */
static enum outcome answer(struct request *rq, struct session *s, struct registration *r)
{
    reply_int(rq, REGISTER_ID_OUT, (long long)r->id);
    request_answer(rq, REPLY, NULL);
    events_replay(s, r);
    return SILENT;
}

static enum outcome add(struct request *rq, const pmix_status_t *codes, size_t ncodes,
                        const struct infos *infos, struct err *e)
{
    const pmix_info_t *unknown = infos_unknown(infos, register_known);
    struct session *s = session_of(rq, e);
    pmix_status_t why = PMIX_ERR_NOMEM;
    struct registration *r;

    if (unknown)
        return ext_fail(rq, e, PMIX_ERR_NOT_SUPPORTED, "%s is not supported", unknown->key);
    if (s && s->nregistrations >= EVENT_REGISTRATIONS)
        return ext_fail(rq, e, PMIX_ERR_OUT_OF_RESOURCE, "more than %d registrations",
                        EVENT_REGISTRATIONS);
    r = s ? registration_new(codes, ncodes, infos, &why, e) : NULL;
    if (!r)
        return ext_refuse(rq, why);
    listen_to(s, r);
    return answer(rq, s, r);
}

enum outcome ext_event_register(struct request *rq, struct err *e)
{
    const struct value *codes = &rq->arg[REGISTER_CODES], *text = &rq->arg[REGISTER_INFOS];
    struct infos infos;
    void *v = NULL;
    enum outcome o;
    size_t n = 0;

    if (codes->s && value_decode_array(PMIX_STATUS, codes->s, codes->len, "codes", &v, &n, e) < 0)
        return bad_infos(rq, e);
    o = infos_take(&infos, text->s, text->len, "infos", e) < 0 ? bad_infos(rq, e)
                                                               : add(rq, v, n, &infos, e);
    infos_clear(&infos);
    value_free_array(PMIX_STATUS, v, n);
    return o;
}

enum outcome ext_event_deregister(struct request *rq, struct err *e)
{
    struct session *s = session_of(rq, e);
    size_t id = (size_t)rq->arg[DEREGISTER_ID].n;
    struct registration *r = s ? session_registration(s, id) : NULL;

    if (!r)
        return ext_fail(rq, e, s ? PMIX_ERR_NOT_FOUND : PMIX_ERR_NOMEM,
                        "there is no registration %zu", id);
    registration_drop(s, r);
    return REPLY;
}

/* --- notify ------------------------------------------------------------ */

/* Those that say to whom an event goes; all others are its content. */
static const char *const notify_known[] = {
    PMIX_EVENT_AFFECTED_PROC, PMIX_EVENT_AFFECTED_PROCS, PMIX_EVENT_CUSTOM_RANGE,
    PMIX_EVENT_NON_DEFAULT, PMIX_EVENT_DO_NOT_CACHE, NULL
};

bool notify_attribute(size_t i, const char **key, pmix_data_type_t *type)
{
    return attribute_at(notify_known, i, key, type);
}

/* Nobody speaks in the name of another. */
static enum outcome check_source(struct request *rq, const struct session *s, struct err *e)
{
    const struct value *text = &rq->arg[NOTIFY_SOURCE];
    pmix_proc_t source;

    if (!text->s)
        return REPLY;
    if (value_decode(PMIX_PROC, text->s, text->len, "source", &source, e) < 0)
        return bad_infos(rq, e);
    if (!strcmp(source.nspace, s->who.nspace) && source.rank == s->who.rank)
        return REPLY;
    return ext_fail(rq, e, PMIX_ERR_NO_PERMISSIONS, "source: this is not the process that speaks");
}

static enum outcome raise_event(struct request *rq, struct session *s, const struct infos *infos,
                                struct err *e)
{
    pmix_data_range_t range = rq->arg[NOTIFY_RANGE].s ? (pmix_data_range_t)
                              rq->arg[NOTIFY_RANGE].n : PMIX_RANGE_SESSION;
    pmix_status_t why;
    struct event *ev;
    bool went;

    why = debug_go(s, (pmix_status_t)rq->arg[NOTIFY_STATUS].n, infos, &went, e);
    if (why != PMIX_SUCCESS || went)
        return went ? REPLY : ext_refuse(rq, why);
    ev = event_new(infos, range, &why, e);
    if (!ev)
        return ext_refuse(rq, why);
    ev->status = (pmix_status_t)rq->arg[NOTIFY_STATUS].n;
    memcpy(ev->source.nspace, s->who.nspace, sizeof s->who.nspace);
    ev->source.rank = s->who.rank;
    ev->at = session_node(s);
    debug_release(s, ev);
    events_raise(s->ext, ev);
    return REPLY;
}

enum outcome ext_notify(struct request *rq, struct err *e)
{
    const struct value *text = &rq->arg[NOTIFY_INFOS];
    struct session *s = session_of(rq, e);
    const pmix_info_t *unknown;
    struct infos infos;
    enum outcome o;

    if (!s)
        return ext_refuse(rq, PMIX_ERR_NOMEM);
    o = check_source(rq, s, e);
    if (o != REPLY)
        return o;
    if (infos_take(&infos, text->s, text->len, "infos", e) < 0)
        return bad_infos(rq, e);
    unknown = infos_unknown(&infos, notify_known);
    o = unknown ? ext_fail(rq, e, PMIX_ERR_NOT_SUPPORTED, "%s is not supported", unknown->key)
        : debug_waits(s, (pmix_status_t)rq->arg[NOTIFY_STATUS].n) ? REPLY
                                                                  : raise_event(rq, s, &infos, e);
    infos_clear(&infos);
    return o;
}

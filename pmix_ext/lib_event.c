/* lib_event.c - the event handlers of this process, and their order; see lib.h
 *
 * They run in this order: the one that is first; those of a single code; those of several;
 * default ones; the one that is last.  Within each of the three in the middle, in the order
 * of registration unless it is asked for another.  (PMIx standard, "Event notification".)
 * Each is registered with the server by itself, which says of an event whom it is for. */
#include "pmix_ext/lib.h"

#include <stdlib.h>
#include <string.h>

enum { PLACE_FIRST, PLACE_SINGLE, PLACE_MULTI, PLACE_DEFAULT, PLACE_LAST };

/* --- the list; lib.lock is held ---------------------------------------- */

static void handler_free(struct handler *h)
{
    free(h->name);
    free(h->codes);
    PMIX_INFO_FREE(h->own, h->nown);
    free(h);
}

void handler_drop(struct handler *h)
{
    if (--h->refs)
        return;
    TAILQ_REMOVE(&lib.handlers, h, in_lib);
    handler_free(h);
}

/* A chain that is at it finds its place by it, so it stays until that has gone on. */
void handler_remove(struct handler *h)
{
    if (h->gone)
        return;
    h->gone = true;
    handler_drop(h);
}

void handlers_clear(void)
{
    struct handler *h, *next;

    for (h = TAILQ_FIRST(&lib.handlers); h; h = next) {
        next = TAILQ_NEXT(h, in_lib);
        handler_remove(h);
    }
}

static struct handler *by_name(const char *name)
{
    struct handler *h;

    TAILQ_FOREACH(h, &lib.handlers, in_lib)
        if (!h->gone && h->name && !strcmp(h->name, name))
            break;
    return h;
}

static struct handler *by_id(size_t id)
{
    struct handler *h;

    TAILQ_FOREACH(h, &lib.handlers, in_lib)
        if (!h->gone && h->id == id)
            break;
    return h;
}

/* --- whom an event is for; lib.lock is held ----------------------------- */

static bool in_ids(const struct event *ev, long long id)
{
    for (size_t i = 0; i < ev->nids; i++)
        if (ev->ids[i] == id)
            return true;
    return false;
}

static bool has_code(const struct handler *h, pmix_status_t code)
{
    for (size_t i = 0; i < h->ncodes; i++)
        if (h->codes[i] == code)
            return true;
    return false;
}

/* What arises in this process the server has not looked at. */
static bool wants(const struct handler *h, const struct event *ev)
{
    if (ev->link)
        return h->ready && h->link == ev->link && in_ids(ev, h->server_id);
    if (!h->ncodes)
        return !attr_true(ev->infos, ev->ninfos, PMIX_EVENT_NON_DEFAULT);
    return has_code(h, ev->status);
}

struct handler *handler_next(const struct handler *h, const struct event *ev)
{
    struct handler *x = h ? TAILQ_NEXT(h, in_lib) : TAILQ_FIRST(&lib.handlers);

    for (; x; x = TAILQ_NEXT(x, in_lib))
        if (!x->gone && wants(x, ev)) {
            x->refs++;
            return x;
        }
    return NULL;
}

/* --- a new one --------------------------------------------------------- */

static const char *text_of(const pmix_info_t *infos, size_t n, const char *key)
{
    const pmix_value_t *v = attr_find(infos, n, key);

    return v && v->type == PMIX_STRING ? v->data.string : NULL;
}

static int place_of(const pmix_info_t *infos, size_t n, size_t ncodes)
{
    if (attr_true(infos, n, PMIX_EVENT_HDLR_FIRST))
        return PLACE_FIRST;
    if (attr_true(infos, n, PMIX_EVENT_HDLR_LAST))
        return PLACE_LAST;
    return ncodes == 0 ? PLACE_DEFAULT : ncodes == 1 ? PLACE_SINGLE : PLACE_MULTI;
}

/* What it is called with: its name and the object it is to be given back. */
static bool keep_own(struct handler *h, const pmix_info_t *infos, size_t n)
{
    static const char *const keys[] = { PMIX_EVENT_HDLR_NAME, PMIX_EVENT_RETURN_OBJECT };

    h->own = PMIx_Info_create(2);
    for (size_t i = 0; h->own && i < n; i++)
        for (size_t k = 0; k < 2; k++)
            if (PMIX_CHECK_KEY(&infos[i], keys[k]) && h->nown < 2 &&
                PMIx_Info_xfer(&h->own[h->nown++], &infos[i]) != PMIX_SUCCESS)
                return false;
    return h->own;
}

static struct handler *handler_new(const pmix_status_t *codes, size_t ncodes,
                                   const pmix_info_t *infos, size_t n, pmix_notification_fn_t fn)
{
    const char *name = text_of(infos, n, PMIX_EVENT_HDLR_NAME);
    struct handler *h = calloc(1, sizeof *h);

    if (!h)
        return NULL;
    *h = (struct handler){ .refs = 1, .ncodes = ncodes, .fn = fn,
                           .place = place_of(infos, n, ncodes),
                           .oneshot = attr_true(infos, n, PMIX_EVENT_ONESHOT),
                           .name = name ? strdup(name) : NULL,
                           .codes = calloc(ncodes ? ncodes : 1, sizeof *codes) };
    if ((name && !h->name) || !h->codes || !keep_own(h, infos, n)) {
        handler_free(h);
        return NULL;
    }
    if (ncodes)
        memcpy(h->codes, codes, ncodes * sizeof *codes);
    return h;
}

/* The one that h goes before, at the beginning or the end of its category; NULL: at the end
 * of all.  Ends are one each. */
static struct handler *seat(const struct handler *h, bool prepend)
{
    struct handler *x;

    TAILQ_FOREACH(x, &lib.handlers, in_lib)
        if (prepend ? x->place >= h->place : x->place > h->place)
            break;
    return x;
}

static bool is_taken(int place)
{
    struct handler *x;

    TAILQ_FOREACH(x, &lib.handlers, in_lib)
        if (!x->gone && x->place == place)
            return true;
    return false;
}

/* Put it into the list.  False: the place it asks for is not to be had. */
static bool handler_insert(struct handler *h, const pmix_info_t *infos, size_t n)
{
    const char *before = text_of(infos, n, PMIX_EVENT_HDLR_BEFORE);
    const char *after = text_of(infos, n, PMIX_EVENT_HDLR_AFTER);
    struct handler *x = before || after ? by_name(before ? before : after) : NULL;

    if ((h->place == PLACE_FIRST || h->place == PLACE_LAST) && is_taken(h->place))
        return false;
    if (before || after) {
        if (!x || x->place != h->place)
            return false;
        if (before)
            TAILQ_INSERT_BEFORE(x, h, in_lib);
        else
            TAILQ_INSERT_AFTER(&lib.handlers, x, h, in_lib);
    } else {
        x = seat(h, attr_true(infos, n, PMIX_EVENT_HDLR_PREPEND));
        if (x)
            TAILQ_INSERT_BEFORE(x, h, in_lib);
        else
            TAILQ_INSERT_TAIL(&lib.handlers, h, in_lib);
    }
    h->id = lib.next_id++;
    return true;
}

/* --- registering ------------------------------------------------------- */

static const struct ask register_ask = { "pmix-event-register", "id", TAKES_NUMBER, 0, NULL };
static const struct ask deregister_ask = { "pmix-event-deregister", NULL, TAKES_NOTHING, 0,
                                           NULL };

/* The reader's: events for it may be right behind the reply. */
static void settle_register(struct op *op)
{
    struct handler *h = op->more;

    pthread_mutex_lock(&lib.lock);
    if (op->status == PMIX_SUCCESS) {
        h->link = op->link;
        h->server_id = op->number;
        h->ready = true;
        op->number = (long long)h->id;
    } else {
        handler_remove(h);
    }
    handler_drop(h);
    pthread_mutex_unlock(&lib.lock);
}

static void deliver_register(struct op *op)
{
    op->cb.reg(op->status, op->status == PMIX_SUCCESS ? (size_t)op->number : SIZE_MAX,
               op->cbdata);
    op_free(op);
}

/* The server is told of codes and of whom the event is to come from or be about; what is
 * this process's own affair does not travel. */
static void add_infos(struct op *op, const pmix_info_t *infos, size_t n)
{
    pmix_info_t *sent = n ? calloc(n, sizeof *sent) : NULL;
    size_t k = 0;

    if (n && !sent)
        op->status = PMIX_ERR_NOMEM;
    for (size_t i = 0; sent && i < n; i++)
        if (infos[i].value.type != PMIX_POINTER)
            sent[k++] = infos[i];
    if (k)
        op_array(op, "infos", PMIX_INFO, sent, k);
    free(sent);
}

static pmix_status_t add_handler(struct op *op, struct handler *h, const pmix_info_t *infos,
                                 size_t n)
{
    pmix_status_t status = PMIX_ERR_EVENT_REGISTRATION;

    pthread_mutex_lock(&lib.lock);
    if (handler_insert(h, infos, n)) {
        h->refs++;                       /* until settle_register */
        op->more = h;
        op->settle = settle_register;
        status = PMIX_SUCCESS;
    }
    pthread_mutex_unlock(&lib.lock);
    return status;
}

/* Not sent, so nothing settles it. */
static void take_back(struct handler *h)
{
    pthread_mutex_lock(&lib.lock);
    handler_remove(h);
    handler_drop(h);
    pthread_mutex_unlock(&lib.lock);
}

static pmix_status_t finish_register(struct op *op, struct handler *h,
                                     pmix_hdlr_reg_cbfunc_t cbfunc, void *cbdata)
{
    pmix_status_t status;

    if (cbfunc) {
        op->cb.reg = cbfunc;
        status = op_post(op, deliver_register, cbdata);
        if (status != PMIX_SUCCESS)
            take_back(h);
        return status;
    }
    status = op_run(op);
    if (!op->sent)
        take_back(h);
    if (status == PMIX_SUCCESS)
        status = (pmix_status_t)op->number;
    op_free(op);
    return status;
}

pmix_status_t PMIx_Register_event_handler(pmix_status_t codes[], size_t ncodes,
                                          pmix_info_t info[], size_t ninfo,
                                          pmix_notification_fn_t evhdlr,
                                          pmix_hdlr_reg_cbfunc_t cbfunc, void *cbdata)
{
    struct op *op = op_new(&register_ask);
    struct handler *h = NULL;

    if (!op)
        return PMIX_ERR_NOMEM;
    if (!evhdlr || (ncodes && !codes) || (ninfo && !info))
        op->status = op->status ? op->status : PMIX_ERR_BAD_PARAM;
    op_array(op, "codes", PMIX_STATUS, codes, ncodes);
    add_infos(op, info, ninfo);
    if (op->status == PMIX_SUCCESS && !(h = handler_new(codes, ncodes, info, ninfo, evhdlr)))
        op->status = PMIX_ERR_NOMEM;
    if (op->status == PMIX_SUCCESS)
        op->status = add_handler(op, h, info, ninfo);
    if (op->status != PMIX_SUCCESS) {
        pmix_status_t status = op->status;

        if (h)
            handler_free(h);
        op_free(op);
        return status;
    }
    return finish_register(op, h, cbfunc, cbdata);
}

/* --- deregistering ----------------------------------------------------- */

static void deliver_nothing(struct op *op)
{
    op_free(op);
}

static struct op *forget(struct link *l, long long server_id)
{
    struct op *op = op_new(&deregister_ask);

    if (op && op->link != l)             /* that server is no longer asked */
        op->status = PMIX_ERR_UNREACH;
    op_number(op, "id", server_id);
    return op;
}

void handler_forget(struct link *l, long long server_id)
{
    struct op *op = forget(l, server_id);

    if (op)
        op_post(op, deliver_nothing, NULL);
}

pmix_status_t PMIx_Deregister_event_handler(size_t evhdlr_ref, pmix_op_cbfunc_t cbfunc,
                                            void *cbdata)
{
    struct handler *h;
    struct link *link = NULL;
    long long id = 0;
    struct op *op;

    if (!lib_begun())
        return PMIX_ERR_INIT;
    pthread_mutex_lock(&lib.lock);
    h = by_id(evhdlr_ref);
    if (h) {
        link = h->ready ? h->link : NULL;
        id = h->server_id;
        handler_remove(h);
    }
    pthread_mutex_unlock(&lib.lock);
    if (!h)
        return PMIX_ERR_NOT_FOUND;
    if (!link || !(op = forget(link, id)))
        return cbfunc ? PMIX_OPERATION_SUCCEEDED : PMIX_SUCCESS;
    op->cb.op = cbfunc;
    if (op_post(op, deliver_op, cbdata) == PMIX_SUCCESS || !cbfunc)
        return PMIX_SUCCESS;
    return PMIX_OPERATION_SUCCEEDED;     /* no server knows it, and no callback comes */
}

/* --- raising ----------------------------------------------------------- */

static const struct ask notify_ask = { "pmix-notify", NULL, TAKES_NOTHING, 0, NULL };

/* Only this process's own handlers. */
static pmix_status_t notify_here(pmix_status_t status, const pmix_proc_t *source,
                                 const pmix_info_t *infos, size_t n, bool nb)
{
    struct event ev = { .status = status, .infos = n ? PMIx_Info_create(n) : NULL, .ninfos = n };

    if (n && !ev.infos)
        return PMIX_ERR_NOMEM;
    for (size_t i = 0; i < n; i++)
        PMIX_INFO_XFER(&ev.infos[i], &infos[i]);
    pthread_mutex_lock(&lib.lock);
    ev.source = source ? *source : lib.me;
    pthread_mutex_unlock(&lib.lock);
    event_raise(&ev, false);
    return nb ? PMIX_OPERATION_SUCCEEDED : PMIX_SUCCESS;
}

pmix_status_t link_go(struct link *l)
{
    struct op op;

    op_start_on(&op, &notify_ask, l);
    op_number(&op, "status", PMIX_DEBUGGER_RELEASE);
    return op_do(&op);
}

pmix_status_t PMIx_Notify_event(pmix_status_t status, const pmix_proc_t *source,
                                pmix_data_range_t range, const pmix_info_t info[], size_t ninfo,
                                pmix_op_cbfunc_t cbfunc, void *cbdata)
{
    struct op *op;

    if (ninfo && !info)
        return PMIX_ERR_BAD_PARAM;
    if (range == PMIX_RANGE_PROC_LOCAL)
        return lib_begun() ? notify_here(status, source, info, ninfo, cbfunc) : PMIX_ERR_INIT;
    op = op_new(&notify_ask);
    if (!op)
        return PMIX_ERR_NOMEM;
    op_number(op, "status", status);
    if (source && *source->nspace)      /* a tool had no name before it had a server */
        op_one(op, "source", PMIX_PROC, source);
    if (range != PMIX_RANGE_UNDEF)
        op_number(op, "range", range);
    op_array(op, "infos", PMIX_INFO, info, ninfo);
    return cbfunc ? op_post_op(op, cbfunc, cbdata) : op_run_new(op);
}

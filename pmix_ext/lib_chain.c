/* lib_chain.c - one event on its way through the handlers; see lib.h
 *
 * A handler is called by the callback thread, and says that it is done by a call, which may
 * come from any thread and at any time; then the next is called, with what those before have
 * added to the results, unless one says that all is done. */
#include "pmix_ext/lib.h"

#include "pmix_ext/value.h"

#include <stdlib.h>
#include <string.h>

struct chain {
    struct note     note;
    struct event    event;
    pmix_info_t    *infos;       /* owned: the event's, borrowed, and the handler's, borrowed */
    pmix_info_t    *results;     /* owned */
    size_t          nresults;
    struct handler *at;          /* referenced; NULL: before the first */
};

static void event_clear(struct event *ev)
{
    PMIX_INFO_FREE(ev->infos, ev->ninfos);
    free(ev->ids);
}

static void chain_free(struct chain *c)
{
    event_clear(&c->event);
    PMIX_INFO_FREE(c->results, c->nresults);
    free(c->infos);
    free(c);
}

/* --- the handlers, one by one ------------------------------------------ */

/* Results are infos, and as the last of a handler's its status. */
static void add_results(struct chain *c, pmix_status_t status, const pmix_info_t *more, size_t n)
{
    pmix_info_t *all = PMIx_Info_create(c->nresults + n + 1);

    if (!all)
        return;
    if (c->nresults)
        memcpy(all, c->results, c->nresults * sizeof *all);
    for (size_t i = 0; i < n; i++)
        PMIX_INFO_XFER(&all[c->nresults + i], &more[i]);
    PMIX_INFO_LOAD(&all[c->nresults + n], c->at->name ? c->at->name : "", &status, PMIX_STATUS);
    free(c->results);
    c->results = all;
    c->nresults += n + 1;
}

static void on_handled(pmix_status_t status, pmix_info_t *results, size_t nresults,
                       pmix_op_cbfunc_t cbfunc, void *thiscbdata, void *notification_cbdata)
{
    struct chain *c = notification_cbdata;

    if (!c)
        return;
    add_results(c, status, results, results ? nresults : 0);
    if (cbfunc)
        cbfunc(PMIX_SUCCESS, thiscbdata);
    if (status == PMIX_EVENT_ACTION_COMPLETE) {
        pthread_mutex_lock(&lib.lock);
        handler_drop(c->at);
        pthread_mutex_unlock(&lib.lock);
        chain_free(c);
    } else {
        callback_add(&lib.callbacks, &c->note);
    }
}

/* The event's infos and the handler's own; NULL: there are none, or no memory. */
static pmix_info_t *infos_for(struct chain *c, const struct handler *h, size_t *n)
{
    free(c->infos);
    *n = c->event.ninfos + h->nown;
    c->infos = *n ? calloc(*n, sizeof *c->infos) : NULL;
    if (!c->infos)
        *n = 0;
    for (size_t i = 0; i < *n; i++)
        c->infos[i] = i < c->event.ninfos ? c->event.infos[i] : h->own[i - c->event.ninfos];
    return c->infos;
}

/* Go on to the next: false, there is none.  The server forgets by itself who wanted to hear
 * but once. */
static bool step(struct chain *c)
{
    struct handler *h;

    pthread_mutex_lock(&lib.lock);
    h = handler_next(c->at, &c->event);
    if (c->at)
        handler_drop(c->at);
    c->at = h;
    if (h && h->oneshot)
        handler_remove(h);
    pthread_mutex_unlock(&lib.lock);
    return h;
}

static void run_chain(struct note *n)
{
    struct chain *c = container_of(n, struct chain, note);
    pmix_info_t *infos;
    size_t ninfos;

    if (!step(c)) {
        chain_free(c);
        return;
    }
    infos = infos_for(c, c->at, &ninfos);
    c->at->fn(c->at->id, c->event.status, &c->event.source, infos, ninfos, c->results,
              c->nresults, on_handled, c);
}

/* --- what comes -------------------------------------------------------- */

void event_raise(const struct event *ev, bool unasked)
{
    struct chain *c = calloc(1, sizeof *c);
    struct event copy = *ev;

    if (!c) {
        event_clear(&copy);
        return;
    }
    c->event = copy;
    c->note.run = run_chain;
    if (unasked)
        callback_add_unasked(&lib.callbacks, &c->note);
    else
        callback_add(&lib.callbacks, &c->note);
}

static int take_ids(const struct pair *p, struct event *ev)
{
    json_t *json = json_loadb(p->val, p->len, 0, NULL), *id;
    size_t i;

    ev->ids = calloc(json_array_size(json) + 1, sizeof *ev->ids);
    json_array_foreach(json, i, id)
        if (ev->ids)
            ev->ids[ev->nids++] = json_integer_value(id);
    json_decref(json);
    return ev->ids ? 0 : -1;
}

static int take_event(const struct msg *m, struct event *ev)
{
    const struct pair *status = msg_find(m, "status"), *source = msg_find(m, "source");
    const struct pair *infos = msg_find(m, "infos"), *ids = msg_find(m, "ids");
    long long code;
    void *list = NULL;

    if (!status || !source || !ids || pair_int(status, INT32_MIN, INT32_MAX, &code, NULL) < 0 ||
        value_decode(PMIX_PROC, source->val, source->len, "source", &ev->source, NULL) < 0 ||
        (infos && infos->len && value_decode_array(PMIX_INFO, infos->val, infos->len, "infos",
                                                   &list, &ev->ninfos, NULL) < 0))
        return -1;
    ev->infos = list;
    ev->status = (pmix_status_t)code;
    return take_ids(ids, ev);
}

void event_take(struct link *l, const struct msg *m)
{
    struct event ev = { .link = l };

    if (take_event(m, &ev) < 0)          /* nothing that anyone could be told */
        event_clear(&ev);
    else
        event_raise(&ev, true);
}

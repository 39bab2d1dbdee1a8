/* event.c - see event.h */
#include "pmix_ext/event.h"

#include "pmix_ext/pmix_ext_keys.h"
#include "pmix_ext/value.h"

#include <stdlib.h>
#include <string.h>

/* --- processes --------------------------------------------------------- */

static int procs_copy(struct procs *to, const pmix_proc_t *from, size_t n, struct err *e)
{
    to->v = n ? malloc(n * sizeof *to->v) : NULL;
    if (n && !to->v)
        return err_set(e, ERR_NOMEM, "no memory for %zu processes", n);
    if (n)
        memcpy(to->v, from, n * sizeof *to->v);
    to->n = n;
    return 0;
}

/* What the infos say under either key; nothing, where they do not. */
static int take_procs(struct procs *to, const struct infos *infos, const char *key,
                      const char *also, pmix_status_t *why, struct err *e)
{
    const pmix_info_t *info = info_find(infos, key);
    const pmix_proc_t *v;
    size_t n;

    if (!info && also)
        info = info_find(infos, also);
    if (!info)
        return 0;
    if (info_procs(info, &v, &n, e) < 0) {
        *why = PMIX_ERR_TYPE_MISMATCH;
        return -1;
    }
    *why = PMIX_ERR_NOMEM;
    return procs_copy(to, v, n, e);
}

bool proc_is(const pmix_proc_t *wanted, const struct place *p, const struct place *from)
{
    const char *nspace = wanted->rank == PMIX_RANK_LOCAL_PEERS ? from->nspace : wanted->nspace;

    if (*nspace && strcmp(nspace, p->nspace))
        return false;
    if (wanted->rank == PMIX_RANK_LOCAL_NODE || wanted->rank == PMIX_RANK_LOCAL_PEERS)
        return p->at == from->at;
    return wanted->rank == PMIX_RANK_WILDCARD || wanted->rank == p->rank;
}

static bool is_among(const struct procs *wanted, const struct place *p, const struct place *from)
{
    for (size_t i = 0; i < wanted->n; i++)
        if (proc_is(&wanted->v[i], p, from))
            return true;
    return false;
}

/* Whether a range that one process has named includes another. */
static bool includes(pmix_data_range_t range, const struct procs *listed,
                     const struct place *from, const struct place *to)
{
    switch (range) {
    case PMIX_RANGE_LOCAL:      return from->at == to->at;
    case PMIX_RANGE_NAMESPACE:  return !strcmp(from->nspace, to->nspace);
    case PMIX_RANGE_CUSTOM:     return is_among(listed, to, from);
    case PMIX_RANGE_PROC_LOCAL: return from->rank == to->rank &&
                                       !strcmp(from->nspace, to->nspace);
    case PMIX_RANGE_RM:         return false;    /* for the launcher alone */
    default:                    return true;     /* session, global: all there are here */
    }
}

/* Of the range that infos or an argument name.  0, or -1, *why and e. */
static int take_range(pmix_data_range_t range, struct procs *listed, const struct infos *infos,
                      pmix_status_t *why, struct err *e)
{
    if (range > PMIX_RANGE_PROC_LOCAL) {
        *why = PMIX_ERR_BAD_PARAM;
        return err_set(e, ERR_INVALID_VAL, "there is no range %d", range);
    }
    if (range != PMIX_RANGE_CUSTOM)
        return 0;
    if (take_procs(listed, infos, PMIX_EVENT_CUSTOM_RANGE, NULL, why, e) < 0)
        return -1;
    *why = PMIX_ERR_BAD_PARAM;
    return listed->n ? 0 : err_set(e, ERR_INVALID_ARG, "the range is custom, but no "
                                   PMIX_EVENT_CUSTOM_RANGE " says whom it includes");
}

/* --- events ------------------------------------------------------------ */

static int write_infos(struct event *ev, const struct infos *infos, pmix_status_t *why,
                       struct err *e)
{
    struct buf text = BUF_INIT;

    *why = PMIX_ERR_NOMEM;
    if (value_encode_array(PMIX_INFO, infos->v, infos->n, "infos", &text, e) == 0 &&
        text.len > EVENT_TEXT) {
        *why = PMIX_ERR_BAD_PARAM;
        err_set(e, ERR_LENGTH, "infos are %zu bytes, at most %d", text.len, EVENT_TEXT);
    } else if (text.len && !text.failed) {
        ev->len = text.len;
        ev->text = strndup(buf_bytes(&text), text.len);
    }
    buf_clear(&text);
    if (ev->text)
        return 0;
    return e->code ? -1 : err_set(e, ERR_NOMEM, "no memory for an event");
}

struct event *event_new(const struct infos *infos, pmix_data_range_t range, pmix_status_t *why,
                        struct err *e)
{
    struct event *ev = calloc(1, sizeof *ev);

    if (!ev) {
        *why = PMIX_ERR_NOMEM;
        err_set(e, ERR_NOMEM, "no memory for an event");
        return NULL;
    }
    ev->range = range;
    ev->non_default = infos_say(infos, PMIX_EVENT_NON_DEFAULT);
    ev->keep = !infos_say(infos, PMIX_EVENT_DO_NOT_CACHE);
    if (take_range(range, &ev->targets, infos, why, e) < 0 ||
        take_procs(&ev->affected, infos, PMIX_EVENT_AFFECTED_PROC, PMIX_EVENT_AFFECTED_PROCS,
                   why, e) < 0 ||
        write_infos(ev, infos, why, e) < 0) {
        event_free(ev);
        return NULL;
    }
    return ev;
}

void event_free(struct event *ev)
{
    if (!ev)
        return;
    free(ev->targets.v);
    free(ev->affected.v);
    free(ev->text);
    free(ev);
}

/* --- registrations ----------------------------------------------------- */

static int take_source_range(struct registration *r, const struct infos *infos,
                             pmix_status_t *why, struct err *e)
{
    const pmix_info_t *info = info_find(infos, PMIX_RANGE);

    r->range = info_find(infos, PMIX_EVENT_CUSTOM_RANGE) ? PMIX_RANGE_CUSTOM
                                                         : PMIX_RANGE_UNDEF;
    if (info && info->value.type != PMIX_DATA_RANGE) {
        *why = PMIX_ERR_TYPE_MISMATCH;
        return err_set(e, ERR_INVALID_VAL, "%s is no PMIX_DATA_RANGE", info->key);
    }
    if (info)
        r->range = info->value.data.range;
    return take_range(r->range, &r->sources, infos, why, e);
}

static int take_codes(struct registration *r, const pmix_status_t *codes, size_t n,
                      pmix_status_t *why, struct err *e)
{
    *why = PMIX_ERR_BAD_PARAM;
    if (n > EVENT_CODES)
        return err_set(e, ERR_LENGTH, "%zu codes, at most %d", n, EVENT_CODES);
    *why = PMIX_ERR_NOMEM;
    r->codes = malloc((n ? n : 1) * sizeof *r->codes);
    if (!r->codes)
        return err_set(e, ERR_NOMEM, "no memory for %zu codes", n);
    if (n)
        memcpy(r->codes, codes, n * sizeof *r->codes);
    r->ncodes = n;
    return 0;
}

struct registration *registration_new(const pmix_status_t *codes, size_t ncodes,
                                      const struct infos *infos, pmix_status_t *why,
                                      struct err *e)
{
    struct registration *r = calloc(1, sizeof *r);

    if (!r) {
        *why = PMIX_ERR_NOMEM;
        err_set(e, ERR_NOMEM, "no memory for a registration");
        return NULL;
    }
    r->oneshot = infos_say(infos, PMIX_EVENT_ONESHOT);
    if (take_codes(r, codes, ncodes, why, e) < 0 || take_source_range(r, infos, why, e) < 0 ||
        take_procs(&r->affected, infos, PMIX_EVENT_AFFECTED_PROC, PMIX_EVENT_AFFECTED_PROCS,
                   why, e) < 0) {
        registration_free(r);
        return NULL;
    }
    return r;
}

void registration_free(struct registration *r)
{
    if (!r)
        return;
    free(r->codes);
    free(r->affected.v);
    free(r->sources.v);
    free(r);
}

/* --- whether they meet ------------------------------------------------- */

static struct place source_of(const struct event *ev)
{
    return (struct place){ ev->source.nspace, ev->source.rank, ev->at };
}

bool event_reaches(const struct event *ev, const struct place *to)
{
    struct place from = source_of(ev);

    return includes(ev->range, &ev->targets, &from, to);
}

static bool has_code(const struct registration *r, const struct event *ev)
{
    for (size_t i = 0; i < r->ncodes; i++)
        if (r->codes[i] == ev->status)
            return true;
    return !r->ncodes && !ev->non_default;
}

/* Whom it is about: what the launcher tells of a job, and of no process of it, is about the job. */
static size_t affected_of(const struct event *ev, const pmix_proc_t **v)
{
    bool job = !ev->affected.n && ev->launcher && ev->source.rank == PMIX_RANK_WILDCARD;

    *v = job ? &ev->source : ev->affected.v;
    return job ? 1 : ev->affected.n;
}

/* An affected process may stand for many, too. */
static bool is_about(const struct event *ev, const struct registration *r,
                     const struct place *who)
{
    const pmix_proc_t *affected;
    size_t n = affected_of(ev, &affected);

    for (size_t i = 0; i < n; i++) {
        const pmix_proc_t *a = &affected[i];
        struct place p = { a->nspace, a->rank, ev->at };

        for (size_t k = 0; k < r->affected.n; k++) {
            const pmix_proc_t *wanted = &r->affected.v[k];

            if (proc_is(wanted, &p, who) ||
                (a->rank == PMIX_RANK_WILDCARD && !strcmp(a->nspace, wanted->nspace)))
                return true;
        }
    }
    return !n || !r->affected.n;
}

bool event_wanted(const struct event *ev, const struct registration *r, const struct place *who)
{
    struct place from = source_of(ev);

    return has_code(r, ev) && is_about(ev, r, who) && includes(r->range, &r->sources, who, &from);
}

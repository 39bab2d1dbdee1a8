/* serve_monitor.c - pmix-monitor and pmix-heartbeat: signs of life of a process, whose
 * absence is an event.  (PMIx standard, "Process monitoring".)
 *
 * A monitor is for whoever asks for it, and ends with it.  It looks every so many seconds;
 * if there was no sign of life that often more than is tolerated, it raises its event, once,
 * and again only after the next sign. */
#include "pmix_ext/serve_monitor.h"

#include "pmix_ext/serve_event.h"
#include "pmix_ext/support.h"
#include "pmix_ext/value.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MONITOR_WHAT, MONITOR_ERROR, MONITOR_DIRECTIVES };
enum { MONITOR_RESULTS_OUT = 1 };

enum { ID = 64, PERIOD_MAX = 86400, DROPS_MAX = 1000000 };

struct monitor {
    TAILQ_ENTRY(monitor) in_session;
    struct session *s;                   /* borrowed */
    char          id[ID];
    pmix_status_t status;                /* of its event */
    double        period;                /* seconds */
    unsigned      drops, silent;         /* looks without a sign: tolerated; so far */
    bool          alive, alerted;        /* a sign since the last look; the event was raised */
    struct after  next;
    char         *path;                  /* owned: of a file; NULL: heartbeats */
    bool          size, access, modify;  /* what counts as a sign of life of it */
    struct ext_file seen;
    bool          asked, known;          /* a look is on its way; there was one */
    unsigned      number;                /* of that look */
};

/* --- the event --------------------------------------------------------- */

static void alert(struct monitor *m)
{
    pmix_proc_t who = { .rank = m->s->who.rank };
    pmix_info_t v[] = {
        { .key = PMIX_EVENT_AFFECTED_PROC, .value = { .type = PMIX_PROC, .data.proc = &who } },
        { .key = PMIX_MONITOR_ID, .value = { .type = PMIX_STRING, .data.string = m->id } },
        { .key = PMIX_EVENT_TIMESTAMP,
          .value = { .type = PMIX_TIME,
                     .data.time = (time_t)m->s->ext->ops.now(m->s->ext->host) } },
    };
    struct infos infos = { v, sizeof v / sizeof *v };
    struct err e = { 0 };
    struct event *ev;
    pmix_status_t why;

    memcpy(who.nspace, m->s->who.nspace, sizeof m->s->who.nspace);
    ev = event_new(&infos, PMIX_RANGE_SESSION, &why, &e);
    if (!ev)
        return;
    ev->status = m->status;
    ev->source = who;
    ev->at = session_node(m->s);
    ev->launcher = true;
    events_raise(m->s->ext, ev);
}

static void monitor_free(struct monitor *m);

/* A sign of life, or none, since the last look. */
static void judge(struct monitor *m, bool alive)
{
    if (alive) {
        m->silent = 0;
        m->alerted = false;
    } else if (!m->alerted && ++m->silent > m->drops) {
        m->alerted = true;
        alert(m);
    }
}

static void look(void *who)
{
    struct monitor *m = who;
    struct ext *x = m->s->ext;

    after_start(&m->next, x, m->period, look, m);
    if (!m->path) {
        judge(m, m->alive);
        m->alive = false;
    } else if (!m->asked) {
        m->number = ++x->looks;
        m->asked = true;
        x->ops.look(x->host, session_node(m->s), m->number, m->path);
    } else {
        judge(m, false);                 /* nobody could look at it in all that time */
    }
}

/* --- files ------------------------------------------------------------- */

static bool same_time(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* A file that comes or goes has changed. */
static bool shows_life(const struct monitor *m, const struct ext_file *now)
{
    const struct ext_file *then = &m->seen;

    if (now->there != then->there)
        return now->there;
    return now->there && ((m->size && now->size != then->size) ||
                          (m->access && !same_time(&now->accessed, &then->accessed)) ||
                          (m->modify && !same_time(&now->modified, &then->modified)));
}

static struct monitor *monitor_asking(struct ext *x, unsigned number)
{
    struct session *s;
    struct monitor *m;

    TAILQ_FOREACH(s, &x->sessions, in_ext)
        TAILQ_FOREACH(m, &s->monitors, in_session)
            if (m->asked && m->number == number)
                return m;
    return NULL;
}

void ext_looked(struct ext *x, unsigned number, const struct ext_file *file)
{
    struct monitor *m = monitor_asking(x, number);
    bool first;

    if (!m)
        return;
    m->asked = false;
    first = !m->known;
    m->known = true;
    if (!first)
        judge(m, shows_life(m, file));
    m->seen = *file;
}

/* --- asked for --------------------------------------------------------- */

static int take_numbers(struct monitor *m, const struct infos *d, const char *period,
                        const char *drops, struct err *e)
{
    const pmix_info_t *t = info_find(d, period), *n = info_find(d, drops);
    long long seconds = 0, tolerated = 0;

    if (!t)
        return err_set(e, ERR_INVALID_ARG, "no %s says how often to look", period);
    if (info_number(t, 1, PERIOD_MAX, &seconds, e) < 0 ||
        (n && info_number(n, 0, DROPS_MAX, &tolerated, e) < 0))
        return -1;
    m->period = (double)seconds;
    m->drops = (unsigned)tolerated;
    return 0;
}

static int take_file(struct monitor *m, const pmix_info_t *what, const struct infos *d,
                     struct err *e)
{
    const char *path = info_text(what, e);

    if (!path)
        return -1;
    if (*path != '/')
        return err_set(e, ERR_INVALID_VAL, "%s: a path from / on is wanted", what->key);
    m->size = infos_say(d, PMIX_MONITOR_FILE_SIZE);
    m->access = info_find(d, PMIX_MONITOR_FILE_ACCESS) != NULL;
    m->modify = info_find(d, PMIX_MONITOR_FILE_MODIFY) != NULL;
    if (!m->size && !m->access && !m->modify)
        return err_set(e, ERR_INVALID_ARG, "nothing says what of the file to look at");
    m->path = strdup(path);
    if (!m->path)
        return err_set(e, ERR_NOMEM, "no memory for a monitor");
    return take_numbers(m, d, PMIX_MONITOR_FILE_CHECK_TIME, PMIX_MONITOR_FILE_DROPS, e);
}

static int take_id(struct monitor *m, const struct infos *d, struct err *e)
{
    const pmix_info_t *info = info_find(d, PMIX_MONITOR_ID);
    const char *id = info ? info_text(info, e) : "";

    if (!id)
        return -1;
    if (strlen(id) >= sizeof m->id)
        return err_set(e, ERR_LENGTH, "%s is %zu bytes, at most %zu", info->key, strlen(id),
                       sizeof m->id - 1);
    snprintf(m->id, sizeof m->id, "%s", id);
    return 0;
}

static struct monitor *monitor_named(struct session *s, const char *id)
{
    struct monitor *m;

    TAILQ_FOREACH(m, &s->monitors, in_session)
        if (!strcmp(m->id, id))
            return m;
    return NULL;
}

static void monitor_free(struct monitor *m)
{
    after_stop(&m->next);
    free(m->path);
    free(m);
}

static void monitor_drop(struct monitor *m)
{
    TAILQ_REMOVE(&m->s->monitors, m, in_session);
    m->s->nmonitors--;
    m->s->ext->nfiles -= m->path != NULL;
    monitor_free(m);
}

void monitors_forget(struct session *s)
{
    while (s->nmonitors)
        monitor_drop(TAILQ_FIRST(&s->monitors));
}

static pmix_status_t begin(struct monitor *m, struct err *e)
{
    struct session *s = m->s;

    if (s->nmonitors >= EXT_MONITORS) {
        err_set(e, ERR_NOMEM, "more than %d monitors", EXT_MONITORS);
        return PMIX_ERR_OUT_OF_RESOURCE;
    }
    if (m->path && s->ext->nfiles >= EXT_FILES) {
        err_set(e, ERR_NOMEM, "more than %d files are looked at", EXT_FILES);
        return PMIX_ERR_OUT_OF_RESOURCE;
    }
    if (*m->id && monitor_named(s, m->id)) {
        err_set(e, ERR_INVALID_KEY, "there is a monitor %s", m->id);
        return PMIX_ERR_EXISTS;
    }
    if ((m->path && !s->ext->ops.look) ||
        !after_start(&m->next, s->ext, m->period, look, m)) {
        err_set(e, ERR_OTHER, "not here");
        return PMIX_ERR_NOT_SUPPORTED;
    }
    TAILQ_INSERT_TAIL(&s->monitors, m, in_session);
    s->nmonitors++;
    s->ext->nfiles += m->path != NULL;
    return PMIX_SUCCESS;
}

struct wanted {                          /* one pmix-monitor */
    const pmix_info_t  *what;
    pmix_status_t       status;          /* of the event; 0: the usual one */
    const struct infos *how;
};

/* What is there now is what later looks are compared to. */
static void first_look(struct monitor *m)
{
    struct ext *x = m->s->ext;

    m->number = ++x->looks;
    m->asked = true;
    x->ops.look(x->host, session_node(m->s), m->number, m->path);
}

static pmix_status_t start(struct session *s, const struct wanted *w, struct err *e)
{
    bool file = !strcmp(w->what->key, PMIX_MONITOR_FILE);
    struct monitor *m = calloc(1, sizeof *m);
    pmix_status_t why = PMIX_ERR_BAD_PARAM;

    if (!m) {
        err_set(e, ERR_NOMEM, "no memory for a monitor");
        return PMIX_ERR_NOMEM;
    }
    m->s = s;
    m->status = w->status ? w->status
                : file ? PMIX_MONITOR_FILE_ALERT : PMIX_MONITOR_HEARTBEAT_ALERT;
    if (take_id(m, w->how, e) == 0 &&
        (file ? take_file(m, w->what, w->how, e)
              : take_numbers(m, w->how, PMIX_MONITOR_HEARTBEAT_TIME,
                             PMIX_MONITOR_HEARTBEAT_DROPS, e)) == 0)
        why = begin(m, e);
    if (why != PMIX_SUCCESS)
        monitor_free(m);
    else if (file)
        first_look(m);
    return why;
}

/* An id ends those of that name, no id all. */
static pmix_status_t cancel(struct session *s, const struct wanted *w, struct err *e)
{
    const pmix_value_t *v = &w->what->value;
    const char *id = v->type == PMIX_STRING ? v->data.string : NULL;
    struct monitor *m = id && *id ? monitor_named(s, id) : NULL;

    if (!id || !*id) {
        monitors_forget(s);
        return PMIX_SUCCESS;
    }
    if (m) {
        monitor_drop(m);
        return PMIX_SUCCESS;
    }
    err_set(e, ERR_INVALID_KEY, "there is no monitor %.64s", id);
    return PMIX_ERR_NOT_FOUND;
}

static pmix_status_t beat(struct session *s, const struct wanted *w, struct err *e)
{
    (void)w;
    (void)e;
    monitors_beat(s);
    return PMIX_SUCCESS;
}

static const struct kind {
    const char    *key;
    pmix_status_t (*run)(struct session *s, const struct wanted *w, struct err *e);
} kinds[] = {
    { PMIX_MONITOR_HEARTBEAT, start }, { PMIX_MONITOR_FILE, start },
    { PMIX_MONITOR_CANCEL, cancel }, { PMIX_SEND_HEARTBEAT, beat },
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static const char *const known[] = {
    PMIX_MONITOR_ID, PMIX_MONITOR_HEARTBEAT_TIME, PMIX_MONITOR_HEARTBEAT_DROPS,
    PMIX_MONITOR_FILE_SIZE, PMIX_MONITOR_FILE_ACCESS, PMIX_MONITOR_FILE_MODIFY,
    PMIX_MONITOR_FILE_CHECK_TIME, PMIX_MONITOR_FILE_DROPS, NULL
};

bool monitor_attribute(size_t i, const char **key, pmix_data_type_t *type)
{
    if (i >= KINDS)
        return attribute_at(known, i - KINDS, key, type);
    attribute_standard(kinds[i].key, key, type);
    return true;
}

static pmix_status_t run(struct session *s, const struct wanted *w, struct err *e)
{
    const pmix_info_t *unknown = infos_unknown(w->how, known);

    if (unknown) {
        err_set(e, ERR_OTHER, "%s is not supported", unknown->key);
        return PMIX_ERR_NOT_SUPPORTED;
    }
    for (size_t i = 0; i < KINDS; i++)
        if (!strcmp(w->what->key, kinds[i].key))
            return kinds[i].run(s, w, e);
    err_set(e, ERR_OTHER, "monitor: %s is not supported", w->what->key);
    return PMIX_ERR_NOT_SUPPORTED;
}

enum outcome ext_monitor(struct request *rq, struct err *e)
{
    const struct value *what = &rq->arg[MONITOR_WHAT], *d = &rq->arg[MONITOR_DIRECTIVES];
    struct session *s = session_of(rq, e);
    pmix_status_t status = PMIX_ERR_BAD_PARAM;
    struct infos directives = { NULL, 0 };
    pmix_info_t monitor;
    struct wanted w = { &monitor, (pmix_status_t)rq->arg[MONITOR_ERROR].n, &directives };

    if (!s)
        return ext_refuse(rq, PMIX_ERR_NOMEM);
    if (value_decode(PMIX_INFO, what->s, what->len, "monitor", &monitor, e) < 0)
        return ext_refuse(rq, PMIX_ERR_BAD_PARAM);
    if (infos_take(&directives, d->s, d->len, "directives", e) == 0)
        status = run(s, &w, e);
    infos_clear(&directives);
    value_clear(PMIX_INFO, &monitor);
    reply_text(rq, MONITOR_RESULTS_OUT, "[]", 2);
    return status == PMIX_SUCCESS ? REPLY : ext_refuse(rq, status);
}

/* --- heartbeats -------------------------------------------------------- */

void monitors_beat(struct session *s)
{
    struct monitor *m;

    TAILQ_FOREACH(m, &s->monitors, in_session)
        if (!m->path)
            m->alive = true;
}

enum outcome ext_heartbeat(struct request *rq, struct err *e)
{
    struct session *s = session_of(rq, e);

    if (!s)
        return ext_refuse(rq, PMIX_ERR_NOMEM);
    monitors_beat(s);
    return REPLY;
}

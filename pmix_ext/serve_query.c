/* serve_query.c - pmix-query: from the request to the entries of its reply.  (PMIx standard
 * 4.2, "Query"; RFC0010.)
 *
 * First the queries are read and their qualifiers; what only other nodes' servers know is
 * asked of them (survey.h).  Then the reply goes out in parts, each key being looked up when
 * its turn has come. */
#include "pmix_ext/query_cursor.h"
#include "pmix_ext/serve.h"
#include "pmix_ext/value.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of one entry, each ';' counted twice, as it is on the wire: a frame has to hold it behind
 * what it has of the part already. */
enum { ENTRY_MOST = LIMIT_FRAME_LINK - 2 * PARTS_SIZE - 4096 };

enum { QUERIES_ARG };
enum { RESULTS_OUT = 1 };

struct wanted {                          /* a survey that some keys need */
    struct fact_job job;
    int  node;
    unsigned what;
    struct survey *survey;               /* owned */
};

struct asking {
    TAILQ_ENTRY(asking) in_ext;
    struct session   *session;           /* borrowed; it frees us with the reply */
    struct parts     *reply;             /* borrowed */
    size_t            size;              /* bytes of the request */
    pmix_query_t     *queries;           /* owned, as is what follows */
    size_t            n;
    struct selection *sel;               /* by query */
    struct wanted    *wanted;
    size_t            nwanted, waits;    /* waits: surveys that are not over */
    struct sched_call call;              /* for queues */
    struct query_queues queues;
    size_t            query, key;        /* the entry that is next */
    bool              open;              /* it is an array that has begun */
    bool              left_out;          /* elements of it that no frame can hold */
    struct query_cursor cursor;
    struct buf        scratch;
    size_t            sent;              /* bytes of that, which goes in pieces; 0: none does */
};

struct session *asking_session(const struct asking *a) { return a->session; }
const struct query_queues *asking_queues(const struct asking *a) { return &a->queues; }

static void asking_free(void *cursor)
{
    struct asking *a = cursor;

    cursor_clear(&a->cursor);
    sched_stop(&a->call);
    free(a->queues.v);
    for (size_t i = 0; i < a->nwanted; i++)
        survey_free(a->wanted[i].survey);
    for (size_t i = 0; a->sel && i < a->n; i++)
        select_clear(&a->sel[i]);
    free(a->wanted);
    free(a->sel);
    value_free_array(PMIX_QUERY, a->queries, a->n);
    buf_clear(&a->scratch);
    TAILQ_REMOVE(&a->session->ext->queries, a, in_ext);
    a->session->asked -= a->size;
    free(a);
}

static void forget_job(struct selection *sel, const char *nspace)
{
    for (size_t i = 0; i < sel->njobs; i++)
        if (!sel->jobs[i].gone && !strcmp(sel->jobs[i].job.nspace, nspace))
            sel->jobs[i].gone = true;
}

void ext_job_forgotten(struct ext *x, const char *nspace)
{
    queries_forget_job(x, nspace);
}

void queries_forget_job(struct ext *x, const char *nspace)
{
    struct asking *a;

    TAILQ_FOREACH(a, &x->queries, in_ext) {
        forget_job(&a->cursor.sel, nspace);
        for (size_t i = 0; i < a->n; i++)
            forget_job(&a->sel[i], nspace);
    }
}

/* --- entries ----------------------------------------------------------- */

static void begin_entry(const struct asking *a, struct buf *out)
{
    const char *key = a->queries[a->query].keys[a->key];

    buf_printf(out, "{\"query\":%zu,\"key\":", a->query);
    value_encode(PMIX_STRING, &key, "key", out, NULL);
}

static void add_status(const struct asking *a, pmix_status_t status, struct buf *out)
{
    begin_entry(a, out);
    buf_printf(out, ",\"status\":%d}", status);
}

/* A frame holds it, where each ';' is two. */
static bool fits(const char *text, size_t len)
{
    size_t n = len;

    if (len <= ENTRY_MOST / 2)
        return true;
    for (size_t i = 0; i < len && n <= ENTRY_MOST; i++)
        n += text[i] == ';';
    return n <= ENTRY_MOST;
}

/* An entry with the next piece of a value that none can hold.  0, or -1 and e. */
static int add_piece(struct asking *a, struct buf *out, struct err *e)
{
    const char *text = buf_bytes(&a->scratch) + a->sent;
    size_t n = piece_length(text, a->scratch.len - a->sent, PARTS_SIZE);
    char *piece = strndup(text, n);
    int rc;

    begin_entry(a, out);
    buf_str(out, ",\"piece\":");
    rc = piece ? value_encode(PMIX_STRING, &piece, "piece", out, e)
               : err_set(e, ERR_NOMEM, "no memory for a part of a value");
    free(piece);
    a->sent = a->sent + n < a->scratch.len ? a->sent + n : 0;
    buf_str(out, a->sent ? ",\"more\":true}" : "}");
    return rc;
}

/* An entry with a value; it is freed.  0, or -1 and e. */
static int add_value(struct asking *a, pmix_value_t *v, struct buf *out, struct err *e)
{
    struct buf *text = &a->scratch;
    int rc;

    buf_reset(text);
    rc = value_encode(PMIX_VALUE, v, "value", text, e);
    value_clear(PMIX_VALUE, v);
    if (rc < 0)
        return -1;
    if (!fits(buf_bytes(text), text->len))
        return add_piece(a, out, e);
    begin_entry(a, out);
    buf_char(out, ',');
    buf_add(out, buf_bytes(text) + 1, text->len - 1);
    return 0;
}

/* The next element, if a frame can hold it.  1; 0: there are no more; or -1 and e. */
static int add_element(struct asking *a, bool comma, struct buf *out, struct err *e)
{
    size_t before = out->len;
    int got;

    while ((got = cursor_next(&a->cursor, a->session->ext, comma, out, e)) > 0 &&
           !fits(buf_bytes(out) + before, out->len - before)) {
        buf_cut(out, before);
        a->left_out = true;
    }
    return got;
}

/* As many elements as there is room for, as an array of its own.  1: there are more; 0; or
 * -1 and e. */
static int add_slice(struct asking *a, size_t room, struct buf *out, struct err *e)
{
    struct query_cursor *c = &a->cursor;
    size_t start = out->len;
    int got = 1;
    bool late = false;

    begin_entry(a, out);
    buf_printf(out, ",\"type\":\"PMIX_DATA_ARRAY\",\"value\":{\"type\":\"%s\",\"array\":[",
               value_type_name(cursor_type(c)));
    for (bool first = true; got > 0 && (first || out->len - start < room); first = false)
        got = add_element(a, !first, out, e);
    buf_str(out, "]}");
    for (size_t i = 0; i < c->sel.njobs; i++)
        late = late || (c->sel.jobs[i].survey && c->sel.jobs[i].survey->late);
    if (got > 0)
        buf_str(out, ",\"more\":true");
    else if (late || a->left_out)
        buf_printf(out, ",\"status\":%d", late ? PMIX_ERR_TIMEOUT : PMIX_ERR_OUT_OF_RESOURCE);
    buf_char(out, '}');
    return got;
}

/* Qualifiers of the key instead of its answer. */
static pmix_status_t list_qualifiers(const char *key, pmix_value_t *out)
{
    struct buf text = BUF_INIT;

    for (const struct qualifier *q = query_qualifiers; q->key; q++)
        if (cursor_takes(key) & q->bit)
            buf_printf(&text, "%s%s", text.len ? "," : "", q->key);
    out->type = PMIX_STRING;
    out->data.string = text.failed ? NULL : strdup(text.len ? buf_bytes(&text) : "");
    buf_clear(&text);
    return out->data.string ? PMIX_SUCCESS : PMIX_ERR_NOMEM;
}

static void give_surveys(struct asking *a)
{
    struct selection *sel = &a->cursor.sel;

    for (size_t i = 0; i < sel->njobs; i++)
        for (size_t k = 0; k < a->nwanted; k++)
            if (a->wanted[k].job.of == sel->jobs[i].job.of)
                sel->jobs[i].survey = a->wanted[k].survey;
}

/* The key that is next.  0: *value is its answer; 1: it is an array, which a->cursor has;
 * else a status. */
static int look_up(struct asking *a, pmix_value_t *value)
{
    const char *key = a->queries[a->query].keys[a->key];
    const struct selection *sel = &a->sel[a->query];
    struct ext *x = a->session->ext;
    pmix_status_t status;

    *value = (pmix_value_t){ .type = PMIX_UNDEF };
    if ((sel->given & Q_SUPPORTED) && cursor_takes(key))
        return list_qualifiers(key, value);
    status = cursor_select(&a->cursor, a, sel, key);
    give_surveys(a);
    if (status == PMIX_SUCCESS)
        status = cursor_begin(&a->cursor, x);
    if (status == PMIX_SUCCESS && a->cursor.single)
        status = cursor_value(&a->cursor, x, value);
    return status == PMIX_SUCCESS && !a->cursor.single ? 1 : status;
}

static void go_on(struct asking *a)
{
    cursor_clear(&a->cursor);
    a->open = a->left_out = false;
    a->key++;
}

/* The query and key that are next; false: there are none. */
static bool find_next(struct asking *a)
{
    while (a->query < a->n) {
        char **keys = a->queries[a->query].keys;

        if (keys && keys[a->key])
            return true;
        a->query++;
        a->key = 0;
    }
    return false;
}

static int next_entry(void *cursor, size_t room, struct buf *out, struct err *e)
{
    struct asking *a = cursor;
    pmix_value_t value;
    int rc;

    if (!find_next(a))
        return 0;
    if (a->sent) {
        rc = add_piece(a, out, e);
        if (!a->sent)
            go_on(a);
        return rc < 0 ? -1 : 1;
    }
    rc = a->open ? 1 : look_up(a, &value);
    if (rc == 1) {
        a->open = true;
        rc = add_slice(a, room, out, e);
        if (rc == 0)
            go_on(a);
        return rc < 0 ? -1 : 1;
    }
    if (rc == PMIX_SUCCESS)
        rc = add_value(a, &value, out, e);
    else
        add_status(a, rc, out);
    if (!a->sent)
        go_on(a);
    return rc == -1 && e->code ? -1 : 1;
}

static const struct parts_ops entries = { next_entry, asking_free };

/* --- surveys ----------------------------------------------------------- */

static int want(struct asking *a, const struct fact_job *job, int node, unsigned what)
{
    struct wanted *w = a->wanted;

    for (size_t i = 0; i < a->nwanted; i++)
        if (w[i].job.of == job->of) {
            w[i].what |= what;
            w[i].node = w[i].node == node ? node : -1;
            return 0;
        }
    w = reallocarray(w, a->nwanted + 1, sizeof *w);
    if (!w)
        return -1;
    w[a->nwanted++] = (struct wanted){ .job = *job, .node = node, .what = what };
    a->wanted = w;
    return 0;
}

static int want_for(struct asking *a, const struct selection *sel, const char *key)
{
    struct query_cursor c;
    unsigned what;
    int rc = 0;

    if (!cursor_needs(key, &what) || (sel->given & Q_SUPPORTED))
        return 0;
    if (cursor_select(&c, a, sel, key) == PMIX_SUCCESS)
        for (size_t i = 0; rc == 0 && i < c.sel.njobs; i++)
            rc = want(a, &c.sel.jobs[i].job, select_one_node(&c.sel), what);
    cursor_clear(&c);
    return rc;
}

static void arrived(void *who)
{
    struct asking *a = who;

    if (!--a->waits)
        parts_go(a->reply);
}

/* How long surveys may take: the longest time of any query; 0: there is no limit. */
static double time_limit(const struct asking *a)
{
    double most = 0;

    for (size_t i = 0; i < a->n; i++) {
        if (!(a->sel[i].timeout > 0))
            return 0;
        most = a->sel[i].timeout > most ? a->sel[i].timeout : most;
    }
    return most;
}

/* 0, or -1 and e. */
static int survey_all(struct asking *a, struct err *e)
{
    double limit = time_limit(a);

    for (size_t q = 0; q < a->n; q++)
        for (char **key = a->queries[q].keys; key && *key; key++)
            if (want_for(a, &a->sel[q], *key) < 0)
                return err_set(e, ERR_NOMEM, "no memory for a survey");
    for (size_t i = 0; i < a->nwanted; i++) {
        struct wanted *w = &a->wanted[i];

        w->survey = survey_new(a->session->ext, &w->job, w->node, w->what, limit, arrived,
                               a, e);
        if (!w->survey)
            return -1;
        a->waits += !w->survey->over;
    }
    return 0;
}

/* --- queues ------------------------------------------------------------ */

static void queues_told(void *who, const struct sched_answer *said)
{
    struct asking *a = who;
    struct query_queues *q = &a->queues;

    q->status = said->status;
    if (said->nqueues && !(q->v = calloc(said->nqueues, sizeof *q->v)))
        q->status = PMIX_ERR_NOMEM;
    if (q->v) {
        memcpy(q->v, said->queues, said->nqueues * sizeof *q->v);
        q->n = said->nqueues;
    }
    arrived(a);
}

/* The scheduler is asked once for all keys. */
static void ask_queues(struct asking *a)
{
    double limit = time_limit(a);
    const struct sched_ask ask = { .kind = SCHED_QUEUES, .seconds = limit > 0 ? limit : 60 };
    struct err e = { 0 };
    bool wanted = false;

    for (size_t q = 0; q < a->n; q++)
        for (char **key = a->queries[q].keys; key && *key; key++)
            wanted |= cursor_needs_queues(*key) && !(a->sel[q].given & Q_SUPPORTED);
    if (wanted)
        a->queues.status = sched_start(&a->call, a->session->ext, &ask, queues_told, a, &e);
    a->waits += wanted && a->queues.status == PMIX_SUCCESS;
}

/* --- the request ------------------------------------------------------- */

/* The queries and their qualifiers.  0, or a status and e. */
static pmix_status_t read_queries(struct asking *a, const struct value *arg, struct err *e)
{
    void *queries = NULL;
    pmix_status_t status = PMIX_SUCCESS;

    if (value_decode_array(PMIX_QUERY, arg->s, arg->len, "queries", &queries, &a->n, e) < 0) {
        a->n = 0;
        return e->code == ERR_NOMEM ? PMIX_ERR_NOMEM : PMIX_ERR_BAD_PARAM;
    }
    a->queries = queries;
    a->sel = calloc(a->n + 1, sizeof *a->sel);
    if (!a->sel) {
        err_set(e, ERR_NOMEM, "no memory for %zu queries", a->n);
        return PMIX_ERR_NOMEM;
    }
    for (size_t i = 0; i < a->n && status == PMIX_SUCCESS; i++) {
        status = select_read(a->session, &a->queries[i], &a->sel[i], e);
        if (status != PMIX_SUCCESS)
            err_context(e, "queries[%zu]", i);
    }
    return status;
}

/* What queries become is many times their text, and is kept until they are answered: who asks on
 * without reading, on however many connections, is not to fill our memory. */
static bool asks_too_much(const struct session *by, size_t more)
{
    const struct session *s;

    TAILQ_FOREACH(s, &by->ext->sessions, in_ext)
        if (s->who.uid == by->who.uid)
            more += s->asked;
    return more > LIMIT_WHOLE;
}

static struct asking *asking_new(struct session *s, size_t size)
{
    struct asking *a = calloc(1, sizeof *a);

    if (!a)
        return NULL;
    a->session = s;
    a->size = size;
    s->asked += size;
    TAILQ_INSERT_TAIL(&s->ext->queries, a, in_ext);
    return a;
}

enum outcome ext_query(struct request *rq, struct err *e)
{
    const struct value *queries = &rq->arg[QUERIES_ARG];
    struct session *s = session_of(rq, e);
    struct asking *a;
    pmix_status_t status;
    enum outcome o;

    if (s && asks_too_much(s, queries->len))
        return ext_fail(rq, e, PMIX_ERR_OUT_OF_RESOURCE,
                        "queries of a user that wait for their answers have at most %d bytes",
                        LIMIT_WHOLE);
    a = s ? asking_new(s, queries->len) : NULL;
    if (!a)
        return ext_fail(rq, e, PMIX_ERR_NOMEM, "no memory for a query");
    session_audit(s, "sends pmix-query");
    status = read_queries(a, queries, e);
    if (status != PMIX_SUCCESS) {
        asking_free(a);
        return ext_refuse(rq, status);
    }
    o = parts_new(rq, RESULTS_OUT, &entries, a, &a->reply, e);
    if (o != PARKED)
        return o;
    ask_queues(a);
    if (survey_all(a, e) < 0)
        parts_fail(a->reply, PMIX_ERR_NOMEM, e);
    else if (!a->waits)
        parts_go(a->reply);
    return PARKED;
}

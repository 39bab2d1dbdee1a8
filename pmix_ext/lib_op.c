/* lib_op.c - a call of the standard as a request and its reply; see lib.h */
#include "pmix_ext/lib.h"

#include "pmix_ext/base64.h"
#include "pmix_ext/reason.h"
#include "pmix_ext/types.h"
#include "pmix_ext/value.h"

#include <stdlib.h>
#include <string.h>

/* --- statuses ---------------------------------------------------------- */

static pmix_status_t status_of_code(int code)
{
    switch (code) {
    case 0:
        return PMIX_SUCCESS;
    case ERR_NOMEM:
        return PMIX_ERR_NOMEM;
    case ERR_INIT:
        return PMIX_ERR_INIT;
    case ERR_OTHER:
        return PMIX_ERROR;
    default:
        return PMIX_ERR_BAD_PARAM;
    }
}

pmix_status_t status_of_err(struct link *l, const struct err *e)
{
    enum client_state s = client_state(&l->client);

    if (s == CLIENT_BROKEN || s == CLIENT_DONE)
        return PMIX_ERR_UNREACH;
    return status_of_code(e->code);
}

/* A server that does not know a command has no status for it. */
static pmix_status_t status_of_reply(const struct op *op, const struct reply *r)
{
    const struct pair *p = msg_find(&r->m, "status");
    long long status = 0;

    if (p && pair_int(p, INT32_MIN, INT32_MAX, &status, NULL) < 0)
        return PMIX_ERR_UNPACK_FAILURE;
    if (status < 0 || !r->rc)
        return (pmix_status_t)status;
    if (!p && r->rc == ERR_OTHER && !strncmp(op->ask->cmd, "pmix-", 5))
        return PMIX_ERR_NOT_SUPPORTED;
    return status_of_code(r->rc);
}

/* --- arguments --------------------------------------------------------- */

/* Takes l. */
static void start_on(struct op *op, const struct ask *ask, struct link *l)
{
    *op = (struct op){ .ask = ask, .link = l };
    reason_keep(PMIX_SUCCESS, "");
    pthread_cond_init(&op->came, NULL);
    if (!op->link)
        op->status = lib_begun() ? PMIX_ERR_UNREACH : PMIX_ERR_INIT;
    else if (!op->link->extended && !ask->plain)
        op->status = PMIX_ERR_NOT_SUPPORTED;
    else
        call_start(&op->call, &op->link->client, ask->cmd);
}

void op_start(struct op *op, const struct ask *ask)
{
    start_on(op, ask, link_primary());
}

void op_start_on(struct op *op, const struct ask *ask, struct link *l)
{
    start_on(op, ask, link_keep(l));
}

struct op *op_new(const struct ask *ask)
{
    struct op *op = malloc(sizeof *op);

    if (op)
        op_start(op, ask);
    return op;
}

static void free_texts(struct op *op)
{
    for (unsigned i = 0; i < op->ntexts; i++)
        buf_clear(&op->texts[i]);
    op->ntexts = 0;
}

void op_end(struct op *op)
{
    if (op->link && op->call.c)
        call_end(&op->call);
    free_texts(op);
    if (op->array && op->ask->takes == TAKES_ONE)
        value_clear(op->ask->type, op->array), free(op->array);
    else if (op->array)
        value_free_array(op->ask->type, op->array, op->n);
    value_free_answers(op->answers, op->nanswers);
    free(op->own);
    free(op->text);
    buf_clear(&op->whole);
    link_drop(op->link);
    pthread_cond_destroy(&op->came);
}

void op_free(struct op *op)
{
    if (op)
        op_end(op);
    free(op);
}

/* Whether arguments are wanted: plain PMI-2 takes them from the caller's own. */
static bool open_for(const struct op *op)
{
    return op->status == PMIX_SUCCESS && op->link->extended;
}

void op_text(struct op *op, const char *name, const char *text)
{
    if (text && open_for(op))
        msg_str(&op->call.req, name, text);
}

void op_number(struct op *op, const char *name, long long number)
{
    if (open_for(op))
        msg_int(&op->call.req, name, number);
}

/* Say what is in the text that was begun last. */
static void add_json(struct op *op, const char *name, int rc, const struct err *e)
{
    struct buf *b = &op->texts[op->ntexts++];

    if (rc < 0 || b->failed)
        op->status = b->failed || e->code == ERR_NOMEM ? PMIX_ERR_NOMEM : PMIX_ERR_BAD_PARAM;
    else
        msg_bytes(&op->call.req, name, buf_bytes(b), b->len);
}

void op_array(struct op *op, const char *name, pmix_data_type_t type, const void *from,
              size_t n)
{
    struct err e = { ERR_NONE, "" };

    if (!open_for(op) || (!from && !n))
        return;
    if (!from)
        op->status = PMIX_ERR_BAD_PARAM;
    else
        add_json(op, name,
                 value_encode_array(type, from, n, name, &op->texts[op->ntexts], &e), &e);
}

void op_one(struct op *op, const char *name, pmix_data_type_t type, const void *from)
{
    struct err e = { ERR_NONE, "" };

    if (!open_for(op))
        return;
    if (!from)
        op->status = PMIX_ERR_BAD_PARAM;
    else
        add_json(op, name, value_encode(type, from, name, &op->texts[op->ntexts], &e), &e);
}

void op_bytes(struct op *op, const char *name, const char *data, size_t n)
{
    if (!open_for(op))
        return;
    base64_encode(data, n, &op->texts[op->ntexts]);
    buf_str(&op->texts[op->ntexts], "");
    add_json(op, name, 0, NULL);
}

void op_strings(struct op *op, const char *name, char *const *list)
{
    size_t n = 0;

    while (list && list[n])
        n++;
    op_array(op, name, PMIX_STRING, list, n);
}

/* --- results ----------------------------------------------------------- */

/* Append n values to an array of *have: they are taken. */
static bool append(pmix_data_type_t type, void **array, size_t *have, void *more, size_t n)
{
    size_t size = type_of(type)->size;
    char *room;

    if (!n)
        return true;
    room = realloc(*array, (*have + n) * size);
    if (!room)
        return false;
    memcpy(room + *have * size, more, n * size);
    *array = room;
    *have += n;
    free(more);
    return true;
}

static pmix_status_t take_list(struct op *op, const struct pair *p, struct err *e)
{
    pmix_data_type_t type = op->ask->type;
    void *part;
    size_t n;

    if (value_decode_array(type, p->val, p->len, op->ask->field, &part, &n, e) < 0)
        return PMIX_ERR_UNPACK_FAILURE;
    if (append(type, &op->array, &op->n, part, n))
        return PMIX_SUCCESS;
    value_free_array(type, part, n);
    return PMIX_ERR_NOMEM;
}

/* Infos without a value, in the places of keys of our own that stand there. */
static void place_own(struct op *op, pmix_info_t *infos, size_t before)
{
    for (; op->placed < op->nown && op->own[op->placed].before <= before; op->placed++)
        PMIX_LOAD_KEY(infos[op->n++].key, op->own[op->placed].key);
}

/* All answers have come: those that have a value are infos, the first status of the others is
 * what the caller gets for all of them together. */
static pmix_status_t give_answers(struct op *op)
{
    pmix_info_t *infos;

    if (!op->nanswers)
        return PMIX_SUCCESS;
    infos = calloc(op->nanswers + op->nown, sizeof *infos);
    if (!infos)
        return PMIX_ERR_NOMEM;
    for (size_t i = 0; i < op->nanswers; i++) {
        struct value_answer *a = &op->answers[i];
        pmix_info_t *info;

        place_own(op, infos, i);
        info = &infos[op->n];
        if (a->status && !op->unanswered)
            op->unanswered = a->status;
        if (a->value.type == PMIX_UNDEF)
            continue;
        memcpy(info->key, a->key, sizeof info->key);
        info->flags = a->flags;
        info->value = a->value;
        a->value = (pmix_value_t){ .type = PMIX_UNDEF };
        op->n++;
    }
    place_own(op, infos, op->nanswers);
    op->array = op->n ? infos : NULL;
    if (!op->n)
        free(infos);
    return PMIX_SUCCESS;
}

/* The standard's word for results that are not all there. */
static pmix_status_t status_of_results(const struct op *op)
{
    if (op->status != PMIX_SUCCESS || !op->unanswered)
        return op->status;
    return op->n ? PMIX_QUERY_PARTIAL_SUCCESS : op->unanswered;
}

static pmix_status_t take_one(struct op *op, const struct pair *p, struct err *e)
{
    void *value = op->array ? NULL : calloc(1, type_of(op->ask->type)->size);

    if (!value)
        return op->array ? PMIX_ERR_UNPACK_FAILURE : PMIX_ERR_NOMEM;
    if (value_decode(op->ask->type, p->val, p->len, op->ask->field, value, e) < 0) {
        free(value);
        return PMIX_ERR_UNPACK_FAILURE;
    }
    op->array = value;
    return PMIX_SUCCESS;
}

static pmix_status_t take_json(struct op *op, const struct pair *p)
{
    struct err e = { ERR_NONE, "" };
    pmix_status_t status = PMIX_SUCCESS;

    if (op->ask->takes == TAKES_ONE)
        status = take_one(op, p, &e);
    else if (op->ask->type != PMIX_INFO)
        status = take_list(op, p, &e);
    else if (value_decode_answers(p->val, p->len, op->ask->field, &op->answers, &op->nanswers,
                                  &e) < 0)
        status = PMIX_ERR_UNPACK_FAILURE;
    return e.code == ERR_NOMEM ? PMIX_ERR_NOMEM : status;
}

static pmix_status_t take_field(struct op *op, const struct pair *p)
{
    switch (op->ask->takes) {
    case TAKES_TEXT:
        op->text = op->text ? op->text : strdup(p->val);
        return op->text ? PMIX_SUCCESS : PMIX_ERR_NOMEM;
    case TAKES_NUMBER:
        return pair_int(p, 0, INT64_MAX, &op->number, NULL) < 0 ? PMIX_ERR_UNPACK_FAILURE
                                                                : PMIX_SUCCESS;
    case TAKES_ONE:
    case TAKES_LIST:
        return take_json(op, p);
    default:
        return PMIX_SUCCESS;
    }
}

/* A value whose text is too long for one reply comes in pieces of it. */
static pmix_status_t take_pieces(struct op *op, const struct pair *p)
{
    struct err e = { ERR_NONE, "" };
    void *array;
    char **pieces;
    size_t n;

    if (value_decode_array(PMIX_STRING, p->val, p->len, "pieces", &array, &n, &e) < 0)
        return e.code == ERR_NOMEM ? PMIX_ERR_NOMEM : PMIX_ERR_UNPACK_FAILURE;
    pieces = array;
    for (size_t i = 0; i < n; i++)
        if (pieces[i])
            buf_str(&op->whole, pieces[i]);
    value_free_array(PMIX_STRING, array, n);
    return op->whole.failed ? PMIX_ERR_NOMEM : PMIX_SUCCESS;
}

/* Results come with success, or with a part of it. */
static void take_part(struct op *op, const struct reply *r)
{
    const struct pair *p = op->ask->field ? msg_find(&r->m, op->ask->field) : NULL;
    pmix_status_t said = status_of_reply(op, r), taken = PMIX_SUCCESS;

    if (p && p->len && op->status >= PMIX_SUCCESS)
        taken = take_field(op, p);
    p = msg_find(&r->m, "pieces");
    if (p && p->len && op->status >= PMIX_SUCCESS)
        taken = take_pieces(op, p);
    if (op->status != PMIX_SUCCESS)
        return;
    op->status = taken != PMIX_SUCCESS ? taken : said;
    p = said != PMIX_SUCCESS ? msg_find(&r->m, "errmsg") : NULL;
    if (p)
        err_set(&op->why, ERR_OTHER, "%s", p->val);
}

/* --- sending ----------------------------------------------------------- */

/* The reader's. */
static void on_reply(struct call *k, const struct reply *r, bool last, const struct err *why)
{
    struct op *op = container_of(k, struct op, call);

    (void)why;
    if (r)
        take_part(op, r);
    else
        op->status = PMIX_ERR_LOST_CONNECTION;
    if (!last)
        return;
    if (op->status == PMIX_SUCCESS && op->whole.len)
        op->status = take_field(op, &(struct pair){ .val = buf_bytes(&op->whole),
                                                    .len = op->whole.len });
    if (op->status >= PMIX_SUCCESS && give_answers(op) != PMIX_SUCCESS)
        op->status = PMIX_ERR_NOMEM;
    op->status = status_of_results(op);
    if (op->settle)
        op->settle(op);
    if (op->deliver) {
        callback_add(&lib.callbacks, &op->note);
        return;
    }
    pthread_mutex_lock(&lib.lock);
    op->over = true;
    pthread_cond_signal(&op->came);
    pthread_mutex_unlock(&lib.lock);
}

static void run_deliver(struct note *n)
{
    struct op *op = container_of(n, struct op, note);

    reason_keep(op->status, op->why.text);
    op->deliver(op);
}

/* Without extended commands: what waits is done by the callback thread. */
static void run_plain(struct note *n)
{
    struct op *op = container_of(n, struct op, note);

    op->status = op->ask->plain(op);
    op->deliver(op);
}

/* PMIX_SUCCESS: on_reply will be called, and op is gone perhaps. */
static pmix_status_t post_call(struct op *op)
{
    struct err e = { ERR_NONE, "" };
    struct link *l = op->link;

    op->call.done = on_reply;
    if (call_post(&op->call, &e) == 0)
        return PMIX_SUCCESS;
    return e.code == ERR_LENGTH ? whole_post(op) : status_of_err(l, &e);
}

void op_send(struct op *op)
{
    pmix_status_t status = op->status;

    if (status == PMIX_SUCCESS)
        status = post_call(op);
    op->sent = status == PMIX_SUCCESS;
    if (!op->sent)
        op->status = status;
    free_texts(op);
}

pmix_status_t op_wait(struct op *op)
{
    if (!op->sent)
        return op->status;
    callback_waits(&lib.callbacks, true);
    pthread_mutex_lock(&lib.lock);
    while (!op->over)
        pthread_cond_wait(&op->came, &lib.lock);
    pthread_mutex_unlock(&lib.lock);
    callback_waits(&lib.callbacks, false);
    reason_keep(op->status, op->why.text);
    return op->status;
}

pmix_status_t op_run(struct op *op)
{
    if (op->status != PMIX_SUCCESS || op->known)
        return op->status;
    if (!op->link->extended)
        return op->status = op->ask->plain(op);
    op_send(op);
    return op_wait(op);
}

/* 0 if deliver will be called, and op is gone perhaps. */
static pmix_status_t post(struct op *op)
{
    if (op->known || !op->link->extended) {
        op->note.run = op->known ? run_deliver : run_plain;
        callback_add(&lib.callbacks, &op->note);
        return PMIX_SUCCESS;
    }
    op->note.run = run_deliver;
    return post_call(op);
}

pmix_status_t op_post(struct op *op, void (*deliver)(struct op *op), void *cbdata)
{
    pmix_status_t status;

    if (!op)
        return PMIX_ERR_NOMEM;
    op->deliver = deliver;
    op->cbdata = cbdata;
    status = op->status;
    if (status == PMIX_SUCCESS)
        status = post(op);
    if (status != PMIX_SUCCESS)
        op_free(op);
    return status;
}

pmix_status_t op_post_op(struct op *op, pmix_op_cbfunc_t cbfunc, void *cbdata)
{
    if (op)
        op->cb.op = cbfunc;
    return op_post(op, deliver_op, cbdata);
}

pmix_status_t op_do(struct op *op)
{
    pmix_status_t status = op_run(op);

    op_end(op);
    return status;
}

pmix_status_t op_run_new(struct op *op)
{
    pmix_status_t status = op ? op_run(op) : PMIX_ERR_NOMEM;

    op_free(op);
    return status;
}

/* --- delivering -------------------------------------------------------- */

void deliver_op(struct op *op)
{
    if (op->cb.op)
        op->cb.op(op->status, op->cbdata);
    op_free(op);
}

static void release(void *op)
{
    op_free(op);
}

/* The receiver releases it when it is done. */
void deliver_info(struct op *op)
{
    if (op->cb.info)
        op->cb.info(op->status, op->array, op->n, op->cbdata, release, op);
    else
        op_free(op);
}

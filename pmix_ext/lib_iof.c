/* lib_iof.c - output of other processes, and input for them; see lib.h */
#include "pmix_ext/lib.h"

#include "pmix_ext/base64.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct ask pull_ask = { "pmix-iof-pull", "id", TAKES_NUMBER, 0, NULL };
static const struct ask drop_ask = { "pmix-iof-deregister", NULL, TAKES_NOTHING, 0, NULL };
static const struct ask push_ask = { "pmix-iof-push", NULL, TAKES_NOTHING, 0, NULL };

/* The id under which the output of jobs comes that this process has spawned. */
enum { OF_SPAWNED = 0 };

/* --- pulls; lib.lock is held ------------------------------------------- */

static struct pull *pull_of(const struct link *l, long long id)
{
    struct pull *p;

    TAILQ_FOREACH(p, &lib.pulls, in_lib)
        if (p->link == l && p->id == id)
            break;
    return p;
}

static void pull_free(struct pull *p)
{
    TAILQ_REMOVE(&lib.pulls, p, in_lib);
    free(p);
}

void pulls_clear(void)
{
    while (!TAILQ_EMPTY(&lib.pulls))
        pull_free(TAILQ_FIRST(&lib.pulls));
}

/* --- output ------------------------------------------------------------ */

struct piece {
    struct note        note;
    struct link       *link;             /* referenced */
    long long          id;
    pmix_proc_t        source;
    pmix_iof_channel_t channel;
    pmix_byte_object_t bytes;            /* owned */
    pmix_info_t       *infos;            /* owned */
    size_t             ninfos;
};

static void piece_free(struct piece *p)
{
    PMIX_BYTE_OBJECT_DESTRUCT(&p->bytes);
    PMIX_INFO_FREE(p->infos, 2);
    link_drop(p->link);
    free(p);
}

/* Of a job that this process has spawned, when it has said nothing of whom it is for. */
static void write_here(const struct piece *p)
{
    FILE *out = p->channel & PMIX_FWD_STDERR_CHANNEL ? stderr : stdout;

    fwrite(p->bytes.bytes, 1, p->bytes.size, out);
    fflush(out);
}

static void run_piece(struct note *n)
{
    struct piece *p = container_of(n, struct piece, note);
    pmix_iof_cbfunc_t fn = NULL;
    struct pull *pull;

    pthread_mutex_lock(&lib.lock);
    pull = pull_of(p->link, p->id);
    if (pull)
        fn = pull->fn;
    pthread_mutex_unlock(&lib.lock);
    if (fn)
        fn((size_t)p->id, p->channel, &p->source, &p->bytes, p->infos, p->ninfos);
    else if (p->id == OF_SPAWNED && p->bytes.size)
        write_here(p);
    piece_free(p);
}

static bool take_bytes(const struct pair *data, pmix_byte_object_t *bytes)
{
    long n;

    bytes->bytes = malloc(base64_room(data->len) + 1);
    n = bytes->bytes ? base64_decode(data->val, data->len, (unsigned char *)bytes->bytes) : -1;
    bytes->size = n > 0 ? (size_t)n : 0;
    return n >= 0;
}

/* What is said of a piece: that it is the last, and how many bytes before it were dropped
 * since nobody took them. */
static bool take_infos(struct piece *p, const struct msg *m)
{
    const struct pair *missed = msg_find(m, "missed");
    const char *end = msg_get(m, "end");
    long long n;

    p->infos = PMIx_Info_create(2);
    if (!p->infos)
        return false;
    if (end && !strcmp(end, "TRUE"))
        PMIX_INFO_LOAD(&p->infos[p->ninfos++], PMIX_IOF_COMPLETE, NULL, PMIX_BOOL);
    if (missed && pair_int(missed, 0, INT64_MAX, &n, NULL) == 0) {
        uint64_t number = (uint64_t)n;

        PMIX_INFO_LOAD(&p->infos[p->ninfos++], PMIX_EXT_MISSED, &number, PMIX_UINT64);
    }
    return true;
}

static bool take_piece(const struct msg *m, struct piece *p)
{
    const struct pair *id = msg_find(m, "id"), *rank = msg_find(m, "rank");
    const struct pair *channel = msg_find(m, "channel"), *data = msg_find(m, "data");
    const char *nspace = msg_get(m, "nspace");
    long long r, c;

    if (!id || !nspace || !rank || !channel || strlen(nspace) > PMIX_MAX_NSLEN ||
        pair_int(id, 0, INT64_MAX, &p->id, NULL) < 0 ||
        pair_int(rank, 0, UINT32_MAX, &r, NULL) < 0 ||
        pair_int(channel, 0, UINT16_MAX, &c, NULL) < 0 || (data && !take_bytes(data, &p->bytes)))
        return false;
    PMIX_LOAD_PROCID(&p->source, nspace, (pmix_rank_t)r);
    p->channel = (pmix_iof_channel_t)c;
    return take_infos(p, m);
}

void iof_take(struct link *l, const struct msg *m)
{
    struct piece *p = calloc(1, sizeof *p);

    if (!p)
        return;
    p->note.run = run_piece;
    pthread_mutex_lock(&lib.lock);
    l->refs++;
    pthread_mutex_unlock(&lib.lock);
    p->link = l;
    if (take_piece(m, p))
        callback_add_unasked(&lib.callbacks, &p->note);
    else
        piece_free(p);
}

/* --- pull -------------------------------------------------------------- */

/* The reader's: output may be right behind the reply. */
static void settle_pull(struct op *op)
{
    struct pull *p = op->more;

    if (op->status != PMIX_SUCCESS) {
        free(p);
        return;
    }
    p->id = op->number;
    pthread_mutex_lock(&lib.lock);
    TAILQ_INSERT_TAIL(&lib.pulls, p, in_lib);
    pthread_mutex_unlock(&lib.lock);
}

static void deliver_pull(struct op *op)
{
    op->cb.reg(op->status, (size_t)op->number, op->cbdata);
    op_free(op);
}

static pmix_status_t finish_pull(struct op *op, struct pull *p, pmix_hdlr_reg_cbfunc_t regcbfunc,
                                 void *regcbdata)
{
    pmix_status_t status;

    if (regcbfunc) {
        op->cb.reg = regcbfunc;
        status = op_post(op, deliver_pull, regcbdata);
        if (status != PMIX_SUCCESS)
            free(p);
        return status;
    }
    status = op_run(op);
    if (!op->sent)
        free(p);
    if (status == PMIX_SUCCESS)
        status = (pmix_status_t)op->number;
    op_free(op);
    return status;
}

static bool are_spawned(const pmix_proc_t *procs, size_t n)
{
    return n == 1 && !*procs->nspace && procs->rank == PMIX_RANK_WILDCARD;
}

/* The server sends it anyway. */
static pmix_status_t pull_spawned(pmix_iof_cbfunc_t fn)
{
    struct link *l = link_primary();
    struct pull *p = l ? calloc(1, sizeof *p) : NULL;

    if (!p)
        return l ? PMIX_ERR_NOMEM : lib_begun() ? PMIX_ERR_UNREACH : PMIX_ERR_INIT;
    *p = (struct pull){ .id = OF_SPAWNED, .link = l, .fn = fn };
    pthread_mutex_lock(&lib.lock);
    TAILQ_INSERT_HEAD(&lib.pulls, p, in_lib);
    pthread_mutex_unlock(&lib.lock);
    link_drop(l);
    return PMIX_SUCCESS;
}

pmix_status_t PMIx_IOF_pull(const pmix_proc_t procs[], size_t nprocs,
                            const pmix_info_t directives[], size_t ndirs,
                            pmix_iof_channel_t channel, pmix_iof_cbfunc_t cbfunc,
                            pmix_hdlr_reg_cbfunc_t regcbfunc, void *regcbdata)
{
    struct pull *p;
    struct op *op;

    if (cbfunc && procs && are_spawned(procs, nprocs)) {
        pmix_status_t status = pull_spawned(cbfunc);

        return status == PMIX_SUCCESS && regcbfunc ? PMIX_OPERATION_SUCCEEDED : status;
    }
    op = op_new(&pull_ask);
    p = calloc(1, sizeof *p);
    if (op && p && op->status == PMIX_SUCCESS && (!procs || !nprocs || !cbfunc || !channel ||
                                                  channel & PMIX_FWD_STDIN_CHANNEL))
        op->status = PMIX_ERR_BAD_PARAM;
    if (!op || !p || op->status != PMIX_SUCCESS) {
        pmix_status_t status = op && p ? op->status : PMIX_ERR_NOMEM;

        free(p);
        op_free(op);
        return status;
    }
    *p = (struct pull){ .link = op->link, .fn = cbfunc };
    op->more = p;
    op->settle = settle_pull;
    op_array(op, "procs", PMIX_PROC, procs, nprocs);
    op_number(op, "channel", channel);
    op_array(op, "directives", PMIX_INFO, directives, ndirs);
    return finish_pull(op, p, regcbfunc, regcbdata);
}

pmix_status_t PMIx_IOF_deregister(size_t iofhdlr, const pmix_info_t directives[], size_t ndirs,
                                  pmix_op_cbfunc_t cbfunc, void *cbdata)
{
    struct op *op = op_new(&drop_ask);
    struct pull *p = NULL;

    if (op && op->status == PMIX_SUCCESS) {
        pthread_mutex_lock(&lib.lock);
        p = pull_of(op->link, (long long)iofhdlr);
        if (p)
            pull_free(p);
        pthread_mutex_unlock(&lib.lock);
        if (!p)
            op->status = PMIX_ERR_NOT_FOUND;
    }
    if (op) {
        op_number(op, "id", (long long)iofhdlr);
        op_array(op, "directives", PMIX_INFO, directives, ndirs);
    }
    return cbfunc ? op_post_op(op, cbfunc, cbdata) : op_run_new(op);
}

/* --- push -------------------------------------------------------------- */

/* Bytes of one request: as base64 it fits a frame of a rank. */
enum { PUSH = 32768 };

static bool is_one_job(const pmix_proc_t *targets, size_t n)
{
    for (size_t i = 1; targets && i < n; i++)
        if (!PMIX_CHECK_NSPACE(targets[i].nspace, targets->nspace))
            return false;
    return targets && n;
}

/* Which ranks of a job read it, its spawn has said (PMIX_STDIN_TGT). */
static struct op *push(const pmix_proc_t *targets, size_t n, const char *bytes, size_t size,
                       bool end)
{
    struct op *op = op_new(&push_ask);

    if (!op)
        return NULL;
    if (op->status == PMIX_SUCCESS && !is_one_job(targets, n))
        op->status = PMIX_ERR_BAD_PARAM;
    op_text(op, "nspace", op->status == PMIX_SUCCESS ? targets->nspace : NULL);
    if (size)
        op_bytes(op, "data", bytes, size);
    if (end)
        op_text(op, "end", "TRUE");
    return op;
}

/* All but the last piece wait for their turn; the last is the call's own. */
pmix_status_t PMIx_IOF_push(const pmix_proc_t targets[], size_t ntargets, pmix_byte_object_t *bo,
                            const pmix_info_t directives[], size_t ndirs,
                            pmix_op_cbfunc_t cbfunc, void *cbdata)
{
    bool end = !bo || !bo->size || attr_true(directives, ndirs, PMIX_IOF_COMPLETE);
    size_t size = bo ? bo->size : 0, at = 0;
    const char *bytes = bo ? bo->bytes : NULL;
    pmix_status_t status;
    struct op *op;

    for (; size - at > PUSH; at += PUSH) {
        status = op_run_new(push(targets, ntargets, bytes + at, PUSH, false));
        if (status != PMIX_SUCCESS)
            return status;
    }
    op = push(targets, ntargets, size ? bytes + at : NULL, size - at, end);
    return cbfunc ? op_post_op(op, cbfunc, cbdata) : op_run_new(op);
}

/* lib_plain.c - what there is with a server that has PMI-2's commands alone; see lib.h
 *
 * Such servers take short texts, and no key twice. So what rank R stages until its C-th
 * commit (from 0) is one text, the JSON of its infos as base64, and goes in pieces under the
 * keys
 *
 *     pmix_ext-R-C-0  pmix_ext-R-C-1 ...
 *
 * of which the first begins with the length of the whole text and a colon.  Who gets a value
 * reads the commits of its rank, each once, until there are no more.  A published value is
 * the port of a name, "pmix_ext:" and its JSON as base64; any other port is a string. */
#include "pmix_ext/lib.h"

#include "pmix_ext/base64.h"
#include "pmix_ext/value.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PORT_PREFIX "pmix_ext:"

enum {
    /* Bytes of a piece: with all that is around it in a line of 1024. */
    PIECE = 896,
    /* Bytes of a commit: far above what such a server holds of one rank. */
    COMMIT = 1 << 24
};

static bool decode64(const char *text, size_t len, struct buf *out)
{
    char *to = buf_room(out, base64_room(len) + 1);
    long n = to ? base64_decode(text, len, (unsigned char *)to) : -1;

    if (n >= 0)
        buf_commit(out, (size_t)n);
    return n >= 0;
}

static void piece_key(char key[LIMIT_KEY], pmix_rank_t rank, unsigned commit, unsigned piece)
{
    snprintf(key, LIMIT_KEY, "pmix_ext-%u-%u-%u", rank, commit, piece);
}

/* --- commit ------------------------------------------------------------ */

static bool encode(const struct data *staged, struct buf *text)
{
    struct buf json = BUF_INIT, coded = BUF_INIT;
    const struct datum *d;
    bool ok = true;

    buf_char(&json, '[');
    STAILQ_FOREACH(d, staged, next) {
        if (d != STAILQ_FIRST(staged))
            buf_char(&json, ',');
        ok = ok && value_encode(PMIX_INFO, &d->info, "value", &json, NULL) == 0;
    }
    buf_char(&json, ']');
    if (ok && !json.failed)
        base64_encode(buf_bytes(&json), json.len, &coded);
    buf_printf(text, "%zu:", coded.len);
    if (coded.len)
        buf_add(text, buf_bytes(&coded), coded.len);
    ok = ok && !json.failed && !coded.failed && !text->failed;
    buf_clear(&json);
    buf_clear(&coded);
    return ok;
}

static int put_pieces(struct link *l, unsigned commit, const struct buf *text, struct err *e)
{
    char key[LIMIT_KEY], piece[PIECE + 1];

    for (size_t at = 0, i = 0; at < text->len; at += PIECE, i++) {
        piece_key(key, l->me.rank, commit, (unsigned)i);
        snprintf(piece, sizeof piece, "%s", buf_bytes(text) + at);
        if (client_put(&l->client, key, piece, e) < 0)
            return -1;
    }
    return 0;
}

pmix_status_t plain_commit(struct link *l, const struct data *staged)
{
    struct buf text = BUF_INIT;
    pmix_status_t status = PMIX_SUCCESS;
    struct err e = { ERR_NONE, "" };

    pthread_mutex_lock(&lib.plain.lock);
    if (!encode(staged, &text))
        status = PMIX_ERR_BAD_PARAM;
    else if (text.len > COMMIT)
        status = PMIX_ERR_OUT_OF_RESOURCE;
    else if (put_pieces(l, lib.plain.commits, &text, &e) < 0)
        status = status_of_err(l, &e);
    lib.plain.commits += status == PMIX_SUCCESS;
    pthread_mutex_unlock(&lib.plain.lock);
    buf_clear(&text);
    return status;
}

/* Hydra answers a fence at once, and lets the first get of a key that is not there wait for
 * all; others answer that get at once.  lib.plain.lock is held: one fence at a time. */
static int fence(struct client *c, struct err *e)
{
    struct buf nothing = BUF_INIT;
    char key[LIMIT_KEY];
    bool found;
    int rc = client_fence(c, e);

    snprintf(key, sizeof key, "pmix_ext-fence-%u", lib.plain.fences);
    if (rc == 0)
        rc = client_get(c, NULL, -1, key, &nothing, &found, e);
    lib.plain.fences += rc == 0;
    buf_clear(&nothing);
    return rc;
}

pmix_status_t plain_fence(struct op *op)
{
    struct err e;
    int rc;

    pthread_mutex_lock(&lib.plain.lock);
    rc = fence(&op->link->client, &e);
    pthread_mutex_unlock(&lib.plain.lock);
    return rc < 0 ? status_of_err(op->link, &e) : PMIX_SUCCESS;
}

/* --- get; lib.plain.lock is held ---------------------------------------- */

static struct plain_rank *rank_of(pmix_rank_t rank)
{
    struct plain_rank *r;

    STAILQ_FOREACH(r, &lib.plain.ranks, next)
        if (r->rank == rank)
            return r;
    r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->rank = rank;
    r->fences = lib.plain.fences - 1;
    STAILQ_INIT(&r->data);
    STAILQ_INSERT_HEAD(&lib.plain.ranks, r, next);
    return r;
}

/* A piece, appended.  1; 0: there is none; or -1 and e. */
static int get_piece(struct link *l, pmix_rank_t rank, unsigned commit, unsigned piece,
                     struct buf *out, struct err *e)
{
    char key[LIMIT_KEY];
    bool found;

    piece_key(key, rank, commit, piece);
    if (client_get(&l->client, NULL, (int)rank, key, out, &found, e) < 0)
        return -1;
    return found;
}

/* The next commit's text, without its length.  As get_piece. */
static int get_commit(struct link *l, const struct plain_rank *r, struct buf *out, struct err *e)
{
    unsigned long whole;
    char *end;
    int got = get_piece(l, r->rank, r->commits, 0, out, e);

    if (got <= 0)
        return got;
    whole = strtoul(buf_bytes(out), &end, 10);
    if (*end != ':' || whole > COMMIT)
        return err_set(e, ERR_INVALID_VAL, "not a commit of this library");
    buf_consume(out, (size_t)(end + 1 - buf_bytes(out)));
    for (unsigned i = 1; out->len < whole; i++)
        if (get_piece(l, r->rank, r->commits, i, out, e) <= 0)
            return err_set(e, ERR_OTHER, "a commit is not complete");
    return out->len == whole ? 1 : err_set(e, ERR_INVALID_VAL, "a commit is too long");
}

/* Newer ones come first. */
static bool keep(struct plain_rank *r, const pmix_info_t *infos, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct datum *d = datum_new(NULL, infos[i].key, &infos[i].value);

        if (!d)
            return false;
        STAILQ_INSERT_HEAD(&r->data, d, next);
    }
    return true;
}

static pmix_status_t decode(struct plain_rank *r, const struct buf *text)
{
    struct buf json = BUF_INIT;
    pmix_status_t status = PMIX_ERR_UNPACK_FAILURE;
    void *infos;
    size_t n;

    if (decode64(buf_bytes(text), text->len, &json) &&
        value_decode_array(PMIX_INFO, buf_bytes(&json), json.len, "commit", &infos, &n,
                           NULL) == 0) {
        status = keep(r, infos, n) ? PMIX_SUCCESS : PMIX_ERR_NOMEM;
        value_free_array(PMIX_INFO, infos, n);
    }
    buf_clear(&json);
    return status;
}

/* All that is new since the last fence. */
static pmix_status_t fetch(struct link *l, struct plain_rank *r)
{
    pmix_status_t status = PMIX_SUCCESS;
    struct err e = { ERR_NONE, "" };
    int got = 1;

    while (got > 0 && status == PMIX_SUCCESS) {
        struct buf text = BUF_INIT;

        got = get_commit(l, r, &text, &e);
        if (got > 0)
            status = decode(r, &text);
        buf_clear(&text);
        r->commits += got > 0;
    }
    if (got < 0)
        return status_of_err(l, &e);
    r->fences = lib.plain.fences;
    return status;
}

static pmix_status_t find(struct link *l, const pmix_proc_t *proc, const char *key,
                          pmix_value_t *value)
{
    struct plain_rank *r = rank_of(proc->rank);
    pmix_status_t status = r ? PMIX_SUCCESS : PMIX_ERR_NOMEM;
    const struct datum *d;

    /* Before the first fence nothing is to be seen, and Hydra 5 dies of being asked. */
    if (r && lib.plain.fences && r->fences != lib.plain.fences)
        status = fetch(l, r);
    if (status != PMIX_SUCCESS)
        return status;
    d = datum_find(&r->data, key);
    if (!d)
        return PMIX_ERR_NOT_FOUND;
    return value_copy(PMIX_VALUE, &d->info.value, value, NULL) < 0 ? PMIX_ERR_NOMEM
                                                                   : PMIX_SUCCESS;
}

/* Infos that name another node or program than one's own: PMI-2 has no question for these. */
static bool is_of_others(const struct op *op)
{
    static const char *const names[] = { PMIX_NODEID, PMIX_HOSTNAME, PMIX_APPNUM };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (attr_find(op->infos, op->ninfos, names[i]))
            return true;
    return attr_true(op->infos, op->ninfos, PMIX_SESSION_INFO);
}

pmix_status_t plain_get(struct op *op)
{
    pmix_value_t *value = calloc(1, sizeof *value);
    pmix_status_t status = PMIX_ERR_NOT_FOUND;
    struct link *l = op->link;

    if (!value)
        return PMIX_ERR_NOMEM;
    if (!PMIX_CHECK_NSPACE(op->proc.nspace, l->me.nspace) || is_of_others(op))
        status = PMIX_ERR_NOT_SUPPORTED;
    else if (!strncmp(op->key, "pmix.", 5))
        status = plain_key(l, &op->proc, op->key, value);
    else if (op->proc.rank < (pmix_rank_t)l->client.size) {
        pthread_mutex_lock(&lib.plain.lock);
        status = find(l, &op->proc, op->key, value);
        pthread_mutex_unlock(&lib.plain.lock);
    }
    if (status == PMIX_SUCCESS)
        op->array = value;
    else
        free(value);
    return status;
}

void plain_clear(void)
{
    struct plain_rank *r;

    while ((r = STAILQ_FIRST(&lib.plain.ranks))) {
        STAILQ_REMOVE_HEAD(&lib.plain.ranks, next);
        data_drop(&r->data);
        free(r);
    }
    lib.plain.commits = lib.plain.fences = 0;
}

/* --- published --------------------------------------------------------- */

/* What is no value but says how: the server decides. */
static bool is_directive(const pmix_info_t *info)
{
    return !strncmp(info->key, "pmix.", 5);
}

static pmix_status_t publish_one(struct link *l, const pmix_info_t *info)
{
    struct buf json = BUF_INIT, port = BUF_INIT;
    struct err e = { ERR_NONE, "" };
    pmix_status_t status = PMIX_SUCCESS;

    buf_str(&port, PORT_PREFIX);
    if (value_encode(PMIX_VALUE, &info->value, info->key, &json, &e) == 0)
        base64_encode(buf_bytes(&json), json.len, &port);
    if (e.code || json.failed || port.failed)
        status = PMIX_ERR_BAD_PARAM;
    else if (client_publish(&l->client, info->key, 0, NULL, buf_bytes(&port), &e) < 0)
        status = status_of_err(l, &e);
    buf_clear(&json);
    buf_clear(&port);
    return status;
}

pmix_status_t plain_publish(struct op *op)
{
    pmix_status_t status = PMIX_SUCCESS;

    for (size_t i = 0; i < op->ninfos && status == PMIX_SUCCESS; i++)
        if (!is_directive(&op->infos[i]))
            status = publish_one(op->link, &op->infos[i]);
    return status;
}

static bool read_port(const struct buf *port, pmix_value_t *value)
{
    size_t skip = sizeof PORT_PREFIX - 1;
    struct buf json = BUF_INIT;
    bool ok;

    if (port->len < skip || memcmp(buf_bytes(port), PORT_PREFIX, skip))
        return PMIx_Value_load(value, port->len ? buf_bytes(port) : "", PMIX_STRING) ==
               PMIX_SUCCESS;
    ok = decode64(buf_bytes(port) + skip, port->len - skip, &json) &&
         value_decode(PMIX_VALUE, buf_bytes(&json), json.len, "port", value, NULL) == 0;
    buf_clear(&json);
    return ok;
}

/* PMI-2 has no word for "there is no such name". */
static pmix_status_t lookup_one(struct link *l, const char *key, pmix_pdata_t *found)
{
    struct buf port = BUF_INIT;
    pmix_status_t status = PMIX_ERR_NOT_FOUND;
    struct err e;

    if (client_lookup(&l->client, key, 0, NULL, &port, &e) < 0) {
        if (client_state(&l->client) != CLIENT_UP)
            status = PMIX_ERR_UNREACH;
    } else if (read_port(&port, &found->value)) {
        PMIX_LOAD_KEY(found->key, key);
        PMIX_LOAD_PROCID(&found->proc, "", PMIX_RANK_UNDEF);
        status = PMIX_SUCCESS;
    } else {
        status = PMIX_ERR_UNPACK_FAILURE;
    }
    buf_clear(&port);
    return status;
}

pmix_status_t plain_lookup(struct op *op)
{
    size_t n = (size_t)PMIx_Argv_count(op->keys);
    pmix_pdata_t *found = calloc(n + 1, sizeof *found);

    if (!found)
        return PMIX_ERR_NOMEM;
    op->array = found;
    for (size_t i = 0; i < n; i++) {
        pmix_status_t status = lookup_one(op->link, op->keys[i], &found[op->n]);

        if (status == PMIX_SUCCESS)
            op->n++;
        else if (status != PMIX_ERR_NOT_FOUND)
            return status;
    }
    return op->n == n ? PMIX_SUCCESS : op->n ? PMIX_ERR_PARTIAL_SUCCESS : PMIX_ERR_NOT_FOUND;
}

pmix_status_t plain_unpublish(struct op *op)
{
    struct err e;

    for (char **key = op->keys; key && *key; key++)
        if (client_unpublish(&op->link->client, *key, &e) < 0)
            return status_of_err(op->link, &e);
    return PMIX_SUCCESS;
}

/* lib_whole.c - a request that is too long for a frame goes in parts (PROTOCOL.md,
 * "pmix-part"); see lib.h
 *
 * Each part is a request of its own, whose answer the thread that asks waits for, so that no
 * more of it than one is ever on its way. */
#include "pmix_ext/lib.h"

#include <stdlib.h>
#include <string.h>

enum {
    PREFIX = 6,                          /* of a frame: its length */
    ONE_PART = 60000                     /* bytes of a frame that has one */
};

static pmix_status_t refusal(struct link *l, const struct call *k, const struct err *e)
{
    const struct pair *p = k->reply ? msg_find(&k->reply->m, "status") : NULL;
    long long status;

    if (!k->reply)
        return status_of_err(l, e);
    return p && pair_int(p, INT32_MIN, -1, &status, NULL) == 0 ? (pmix_status_t)status
                                                                : PMIX_ERR_NOT_SUPPORTED;
}

static pmix_status_t begin(struct link *l, size_t size)
{
    struct err e = { ERR_NONE, "" };
    pmix_status_t status;
    struct call k;

    call_start(&k, &l->client, "pmix-part");
    msg_int(&k.req, "size", (long long)size);
    status = call_run(&k, &e) == 0 ? PMIX_SUCCESS : refusal(l, &k, &e);
    call_end(&k);
    return status;
}

static pmix_status_t add(struct link *l, const char *data, size_t n)
{
    struct err e = { ERR_NONE, "" };
    pmix_status_t status;
    struct call k;

    call_start(&k, &l->client, "pmix-part");
    msg_bytes(&k.req, "data", data, n);
    status = call_run(&k, &e) == 0 ? PMIX_SUCCESS : refusal(l, &k, &e);
    call_end(&k);
    return status;
}

/* So many of the bytes that, each ';' doubled, they are one part. */
static size_t part_of(const char *data, size_t left)
{
    size_t n = 0;

    for (size_t room = ONE_PART; n < left && room > 1; n++)
        room -= data[n] == ';' ? 2 : 1;
    return n;
}

/* With the last part the request is served, and its reply may come before that of the part:
 * op is not to be looked at any more then. */
static pmix_status_t add_last(struct op *op, struct link *l, const char *data, size_t n)
{
    struct err e = { ERR_NONE, "" };
    pmix_status_t status;

    if (call_expect(&op->call, &e) < 0)
        return status_of_err(l, &e);
    status = add(l, data, n);
    if (status == PMIX_SUCCESS || client_state(&l->client) != CLIENT_UP)
        return PMIX_SUCCESS;
    call_forget(&op->call);
    return status;
}

static pmix_status_t send_parts(struct op *op, struct link *l, const char *data, size_t left)
{
    pmix_status_t status = begin(l, left);
    size_t n;

    while (status == PMIX_SUCCESS && (n = part_of(data, left)) < left) {
        status = add(l, data, n);
        data += n;
        left -= n;
    }
    return status == PMIX_SUCCESS ? add_last(op, l, data, left) : status;
}

pmix_status_t whole_post(struct op *op)
{
    struct link *l = link_keep(op->link);
    struct err e = { ERR_NONE, "" };
    struct buf frame = BUF_INIT;
    pmix_status_t status = PMIX_ERR_NOMEM;

    if (wire_v2.format(&op->call.req, LIMIT_WHOLE, &frame, &e) < 0) {
        status = e.code == ERR_LENGTH ? PMIX_ERR_BAD_PARAM : PMIX_ERR_NOMEM;
    } else {
        callback_waits(&lib.callbacks, true);
        pthread_mutex_lock(&l->whole);
        status = send_parts(op, l, buf_bytes(&frame) + PREFIX, frame.len - PREFIX);
        pthread_mutex_unlock(&l->whole);
        callback_waits(&lib.callbacks, false);
    }
    buf_clear(&frame);
    link_drop(l);
    return status;
}

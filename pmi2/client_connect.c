/* client_connect.c - connecting to another job; see client.h
 *
 * Where the server answers kvscopy=TRUE it does not know the other job, and both sides
 * exchange their keys over a channel that the caller has (PMI v2 API draft, "Creating and
 * Connecting to Processes"): the master its own first.  What goes over it are PMI-2 frames,
 *
 *     cmd=kvs-copy;jobid=<of the sender>;index=<entries before>;last=FALSE;data=<entries>;
 *
 * as many as are needed, or one with errmsg=<why not> in their place.  The sender has data
 * from its server (kvs-read), the receiver hands it to its own, in the same message. */
#include "pmi2/client.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH = 6 };                     /* bytes of a frame's length field */

struct exchange {
    struct client *c;                    /* all borrowed */
    const struct client_channel *ch;
    const char    *own, *other;          /* job ids */
};

/* --- the channel ------------------------------------------------------- */

static int write_all(const struct exchange *x, const char *data, size_t len, struct err *e)
{
    while (len) {
        int n = x->ch->write(data, len > INT_MAX ? INT_MAX : (int)len, x->ch->ctx);

        if (n <= 0 || (size_t)n > len)
            return err_set(e, ERR_OTHER, "the channel cannot be written to (%d)", n);
        data += n;
        len -= (size_t)n;
    }
    return 0;
}

static int read_all(const struct exchange *x, char *data, size_t len, struct err *e)
{
    while (len) {
        int n = x->ch->read(data, (int)len, x->ch->ctx);

        if (n == 0)
            return err_set(e, ERR_OTHER, "the channel ended before all keys had come");
        if (n < 0 || (size_t)n > len)
            return err_set(e, ERR_OTHER, "the channel cannot be read from (%d)", n);
        data += n;
        len -= (size_t)n;
    }
    return 0;
}

static int send_message(const struct exchange *x, const struct msg *m, struct err *e)
{
    struct buf frame = BUF_INIT;
    int rc = wire_v2.format(m, CLIENT_REQUEST_MAX, &frame, e);

    if (rc == 0)
        rc = write_all(x, buf_bytes(&frame), frame.len, e);
    buf_clear(&frame);
    return rc;
}

/* The length of the next frame's body, or 0 and e; nothing behind the frame may be read. */
static size_t read_length(const struct exchange *x, struct err *e)
{
    char field[LENGTH + 1] = "", *end = field;
    unsigned long n = 0;

    if (read_all(x, field, LENGTH, e) < 0)
        return 0;
    if (strspn(field, " 0123456789") == LENGTH)
        n = strtoul(field, &end, 10);
    if (n && !*end && n <= CLIENT_REQUEST_MAX)
        return n;
    err_set(e, ERR_LENGTH, "no length of at most %d bytes came over the channel",
            CLIENT_REQUEST_MAX);
    return 0;
}

/* Its texts lie in space, of CLIENT_REQUEST_MAX + 1 bytes. */
static int receive_message(const struct exchange *x, struct msg *m, char *space, struct err *e)
{
    size_t len = read_length(x, e);

    if (!len || read_all(x, space, len, e) < 0)
        return -1;
    space[len] = '\0';
    if (memchr(space, '\0', len))
        return err_set(e, ERR_OTHER, "a NUL came over the channel");
    if (wire_v2.parse(m, space, len, e) < 0)
        return err_context(e, "what came over the channel");
    if (strcmp(m->cmd, "kvs-copy"))
        return err_set(e, ERR_OTHER, "'%.40s' came over the channel", m->cmd);
    return 0;
}

/* --- sending ----------------------------------------------------------- */

/* The next part of our own job's keys, sent on.  *index moves on, to 0 at the end. */
static int send_part(const struct exchange *x, long long *index, struct err *e)
{
    const struct pair *data = NULL;
    long long next = 0;
    struct msg m;
    struct call k;
    int rc;

    call_start(&k, x->c, "kvs-read");
    msg_int(&k.req, "index", *index);
    rc = call_run(&k, e);
    if (rc == 0)
        rc = msg_number(&k.reply->m, "next", 0, INT_MAX, &next, e);
    if (rc == 0 && !(data = msg_find(&k.reply->m, "data")))
        rc = err_set(e, ERR_OTHER, "kvs-read: the reply has no data");
    if (rc == 0) {
        msg_init(&m);
        msg_start(&m, "kvs-copy");
        msg_str(&m, "jobid", x->own);
        msg_int(&m, "index", *index);
        msg_str(&m, "last", next ? "FALSE" : "TRUE");
        msg_bytes(&m, "data", data->val, data->len);
        rc = send_message(x, &m, e);
        msg_clear(&m);
    }
    call_end(&k);
    *index = next;
    return rc;
}

/* The other side is waiting: it should not do so for ever.  It hears of it if it can. */
static void send_why_not(const struct exchange *x, const struct err *why)
{
    struct msg m;

    msg_init(&m);
    msg_start(&m, "kvs-copy");
    msg_str(&m, "jobid", x->own);
    msg_str(&m, "errmsg", why->text);
    send_message(x, &m, NULL);
    msg_clear(&m);
}

static int send_keys(const struct exchange *x, struct err *e)
{
    long long index = 0;

    do {
        if (send_part(x, &index, e) < 0)
            return -1;
    } while (index);
    return 0;
}

/* --- receiving --------------------------------------------------------- */

struct part { long long index; bool last; const struct pair *data; };

static int read_part(const struct exchange *x, const struct msg *m, struct part *p, struct err *e)
{
    const char *id = msg_get(m, "jobid"), *why = msg_get(m, "errmsg");
    const struct pair *last = msg_find(m, "last");

    p->data = msg_find(m, "data");
    if (!id || strcmp(id, x->other))
        return err_set(e, ERR_INVALID_ARG, "job %.64s is at the other end of the channel",
                       id ? id : "(no id)");
    if (why)
        return err_set(e, ERR_OTHER, "the other side: %.200s", why);
    if (!p->data || !last || pair_bool(last, &p->last, e) < 0 ||
        msg_number(m, "index", 0, INT_MAX, &p->index, e) < 0)
        return err_set(e, ERR_INVALID_ARG, "the channel brought no keys");
    return 0;
}

/* Our server checks them. */
static int hand_over(const struct exchange *x, const struct part *p, struct err *e)
{
    struct call k;
    int rc;

    call_start(&k, x->c, "kvs-copy");
    msg_str(&k.req, "jobid", x->other);
    msg_int(&k.req, "index", p->index);
    msg_str(&k.req, "last", p->last ? "TRUE" : "FALSE");
    msg_bytes(&k.req, "data", p->data->val, p->data->len);
    rc = call_run(&k, e);
    call_end(&k);
    return rc;
}

/* All parts.  What our server refuses is still read, so that the other side can go on:
 * *refused says why.  -1 and e: what more comes over the channel nobody knows. */
static int receive_parts(const struct exchange *x, char *space, struct err *refused,
                         struct err *e)
{
    struct part p = { 0 };
    size_t bytes = 0;
    struct msg m;
    int rc = 0;

    msg_init(&m);
    while (rc == 0 && !p.last) {
        rc = receive_message(x, &m, space, e);
        if (rc == 0)
            rc = read_part(x, &m, &p, e);
        if (rc == 0 && (bytes += p.data->len) > LIMIT_KVS_BYTES)
            rc = err_set(e, ERR_LENGTH, "more than %zu bytes of keys", LIMIT_KVS_BYTES);
        if (rc == 0 && !refused->code)
            hand_over(x, &p, refused);
    }
    msg_clear(&m);
    return rc;
}

/* 0; -1 and e.  *answer: the other side waits to hear it. */
static int receive_keys(const struct exchange *x, bool *answer, struct err *e)
{
    char *space = malloc(CLIENT_REQUEST_MAX + 1);
    struct err refused = { ERR_NONE, "" };
    int rc = -1;

    if (space)
        rc = receive_parts(x, space, &refused, e);
    else
        err_set(e, ERR_NOMEM, "no memory for another job's keys");
    free(space);
    *answer = rc == 0;
    if (rc < 0 || !refused.code)
        return rc;
    *e = refused;
    return -1;
}

/* --- the exchange ------------------------------------------------------ */

static bool is_first(const struct exchange *x)
{
    return x->ch->master < 0 ? strcmp(x->own, x->other) < 0 : x->ch->master;
}

static int exchange_keys(const struct exchange *x, struct err *e)
{
    bool first = is_first(x), answer;

    if (!first && receive_keys(x, &answer, e) < 0) {
        if (answer)
            send_why_not(x, e);
        return -1;
    }
    if (send_keys(x, e) < 0) {
        send_why_not(x, e);
        return -1;
    }
    return first ? receive_keys(x, &answer, e) : 0;
}

static int copy(struct client *c, const char *jobid, const struct client_channel *ch,
                struct err *e)
{
    struct buf own = BUF_INIT;
    int rc;

    if (!ch || !ch->read || !ch->write)
        return err_set(e, ERR_INVALID_ARG, "the launcher does not know job %.64s, and there is no "
                       "channel to copy its keys from", jobid);
    if (!c->copies)
        return err_set(e, ERR_OTHER, "the server cannot take a copy of keys");
    rc = client_job_id(c, &own, e);
    if (rc == 0)
        rc = exchange_keys(&(struct exchange){ c, ch, buf_bytes(&own), jobid }, e);
    buf_clear(&own);
    return rc;
}

/* Whether the server asks us to copy the other job's keys: kvscopy=TRUE. */
static int ask(struct client *c, const char *jobid, bool *copies, struct err *e)
{
    const struct pair *p;
    struct call k;
    int rc;

    call_start(&k, c, "job-connect");
    msg_str(&k.req, "jobid", jobid);
    rc = call_run(&k, e);
    p = rc == 0 ? msg_find(&k.reply->m, "kvscopy") : NULL;
    if (p)
        rc = pair_bool(p, copies, e);
    call_end(&k);
    return rc;
}

int client_connect(struct client *c, const char *jobid, const struct client_channel *ch,
                   struct err *e)
{
    bool copies = false;

    if (check_text("job id", jobid, LIMIT_VALUE_OLD, e) < 0 || single_join(c, e) < 0)
        return err_context(e, "job-connect");
    if (ask(c, jobid, &copies, e) < 0)
        return -1;
    return copies && copy(c, jobid, ch, e) < 0 ? err_context(e, "job-connect") : 0;
}

/* ask_root.c - commands that the root alone carries out: names, entries by their number,
 * other jobs and copies of their keys, starting jobs.  A server below sends one up, for a
 * rank or for a server below it; at the root it is run. */
#include "pmi2/ask_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- names ------------------------------------------------------------- */

static void send_want(struct ask *a, const struct name_want *want)
{
    struct server *s = a->job->server;

    peer_message(a->job, name_command(want->op));
    msg_int(&s->out, "id", a->id);
    name_write(want, &s->out);
    peer_send(s->up, NULL, 0);
}

enum outcome ask_name(struct request *rq, const struct name_want *want, struct err *e)
{
    struct ask *a = ask_for(rq, e);

    if (!a)
        return FAILED;
    send_want(a, want);
    return PARKED;
}

int ask_names(struct peer *p, struct job *j, const struct msg *m, const char *payload,
              size_t len, struct err *e)
{
    struct name_want want;
    long long id;
    struct ask *a;

    (void)payload;
    (void)len;
    if (msg_number(m, "id", 0, UINT32_MAX, &id, e) < 0 || name_read(&want, m, e) < 0)
        return -1;
    if (is_root(j->server))
        return names_take(p, j, (unsigned)id, &want);
    a = ask_below(p, j, (unsigned)id, e);
    if (!a)
        return -1;
    send_want(a, &want);
    return 0;
}

/* --- entries, and other jobs ------------------------------------------- */

/* name: of a job, or the number of an entry in text; key: NULL where there is none. */
static void send_name(struct ask *a, const char *cmd, const char *name, const char *key)
{
    struct server *s = a->job->server;

    peer_message(a->job, cmd);
    msg_int(&s->out, "id", a->id);
    msg_str(&s->out, "name", name);
    if (key)
        msg_str(&s->out, "key", key);
    peer_send(s->up, NULL, 0);
}

enum outcome ask_job(struct request *rq, const char *cmd, const char *jobid,
                     const char *key, struct err *e)
{
    struct ask *a = ask_for(rq, e);

    if (!a)
        return FAILED;
    send_name(a, cmd, jobid, key);
    return PARKED;
}

/* A question from below by a name goes on up, or is answered here. */
typedef enum outcome run_fn(struct job *j, const struct msg *m, const struct asked_by *by,
                            struct kvs_entry *found, struct err *e);

static int take_name(struct peer *p, struct job *j, const struct msg *m, run_fn *run,
                     struct err *e)
{
    const char *name = msg_get(m, "name");
    struct kvs_entry found = { 0 };
    struct err why = { 0 };
    long long id;
    struct ask *a;

    if (!name || msg_number(m, "id", 0, UINT32_MAX, &id, e) < 0)
        return err_set(e, ERR_INVALID_ARG, "a name and a number wanted");
    if (is_root(j->server)) {
        struct asked_by by = { .peer = p, .id = (unsigned)id };
        enum outcome o = run(j, m, &by, &found, &why);

        if (o != PARKED)
            ask_tell(p, j, by.id, o, found.key, found.value, found.len, &why);
        return 0;
    }
    a = ask_below(p, j, (unsigned)id, e);
    if (a)
        send_name(a, m->cmd, name, msg_get(m, "key"));
    return a ? 0 : -1;
}

static enum outcome run_at(struct job *j, const struct msg *m, const struct asked_by *by,
                           struct kvs_entry *found, struct err *e)
{
    long long index;

    (void)by;
    err_set(e, ERR_OTHER, "key not found");
    if (msg_number(m, "name", 0, INT32_MAX, &index, e) < 0)
        return FAILED;
    return kvs_at(j->kvs, (size_t)index, found) ? REPLY : NOT_FOUND;
}

int ask_at(struct peer *p, struct job *j, const struct msg *m, const char *payload,
           size_t len, struct err *e)
{
    (void)payload;
    (void)len;
    return take_name(p, j, m, run_at, e);
}

enum outcome ask_index(struct request *rq, long long index, struct err *e)
{
    char text[24];
    enum outcome o;

    snprintf(text, sizeof text, "%lld", index);
    rq->text[0] = strdup(text);          /* the reply tells the next one */
    if (!rq->text[0]) {
        err_set(e, ERR_NOMEM, "no memory to ask for a key");
        return FAILED;
    }
    o = ask_job(rq, "kvs-at", text, NULL, e);
    if (o != PARKED)
        free(rq->text[0]);
    rq->text[0] = NULL;
    return o;
}

static enum outcome run_link(struct job *j, const struct msg *m, const struct asked_by *by,
                             struct kvs_entry *found, struct err *e)
{
    struct asked_by all = *by;

    if (!strcmp(m->cmd, "job-disconnect"))
        return linked_disconnect(j, msg_get(m, "name"), e);
    all.copies = msg_find(m, "key") != NULL;
    return linked_connect(j, msg_get(m, "name"), &all, found, e);
}

/* The key is not repeated in the answer. */
static enum outcome run_get_of(struct job *j, const struct msg *m, const struct asked_by *by,
                               struct kvs_entry *found, struct err *e)
{
    const char *key = msg_get(m, "key");
    enum outcome o = linked_get(j, msg_get(m, "name"), key ? key : "", by, found, e);

    found->key = NULL;
    if (o == NOT_FOUND)
        err_set(e, ERR_OTHER, "key not found");
    return o;
}

int ask_link(struct peer *p, struct job *j, const struct msg *m, const char *payload,
             size_t len, struct err *e)
{
    (void)payload;
    (void)len;
    return take_name(p, j, m, run_link, e);
}

int ask_get_of(struct peer *p, struct job *j, const struct msg *m, const char *payload,
               size_t len, struct err *e)
{
    (void)payload;
    (void)len;
    return take_name(p, j, m, run_get_of, e);
}

/* --- copies of a space --------------------------------------------------- */

/* The answer's key is the number of what follows. */
static enum outcome run_read(struct job *j, const struct msg *m, const struct asked_by *by,
                             struct kvs_entry *found, struct err *e)
{
    long long index;

    (void)by;
    if (msg_number(m, "name", 0, INT32_MAX, &index, e) < 0)
        return FAILED;
    return copy_read(j, (size_t)index, found, e) < 0 ? FAILED : REPLY;
}

int ask_read(struct peer *p, struct job *j, const struct msg *m, const char *payload,
             size_t len, struct err *e)
{
    (void)payload;
    (void)len;
    return take_name(p, j, m, run_read, e);
}

static void send_copy(struct ask *a, const struct copy_part *part)
{
    struct server *s = a->job->server;

    peer_message(a->job, "kvs-copy");
    msg_int(&s->out, "id", a->id);
    msg_str(&s->out, "name", part->id);
    msg_int(&s->out, "index", (long long)part->index);
    msg_int(&s->out, "last", part->last);
    peer_send(s->up, part->data, part->len);
}

enum outcome ask_copy(struct request *rq, const struct copy_part *part, struct err *e)
{
    struct ask *a = ask_for(rq, e);

    if (!a)
        return FAILED;
    send_copy(a, part);
    return PARKED;
}

/* From a server below: payload is the data. */
int ask_copy_up(struct peer *p, struct job *j, const struct msg *m, const char *payload,
                size_t len, struct err *e)
{
    struct copy_part part = { .id = msg_get(m, "name"), .data = payload, .len = len };
    long long id, index, last;
    struct err why = { 0 };
    struct ask *a;

    if (!part.id || msg_number(m, "id", 0, UINT32_MAX, &id, e) < 0 ||
        msg_number(m, "index", 0, INT32_MAX, &index, e) < 0 ||
        msg_number(m, "last", 0, 1, &last, e) < 0)
        return err_set(e, ERR_INVALID_ARG, "a job, id, index and last wanted");
    part.index = (size_t)index;
    part.last = last;
    if (is_root(j->server)) {
        int rc = copy_take(j, &part, &why);

        ask_tell(p, j, (unsigned)id, rc < 0 ? FAILED : REPLY, NULL, NULL, 0, &why);
        return 0;
    }
    a = ask_below(p, j, (unsigned)id, e);
    if (!a)
        return -1;
    send_copy(a, &part);
    return 0;
}

/* --- starting jobs ----------------------------------------------------- */

static void send_spawn(struct ask *a, int rank, const char *request, size_t len)
{
    struct server *s = a->job->server;

    peer_message(a->job, "spawn");
    msg_int(&s->out, "id", a->id);
    msg_int(&s->out, "rank", rank);
    peer_send(s->up, request, len);
}

enum outcome ask_spawn(struct request *rq, const struct spawn_request *want, struct err *e)
{
    struct buf text = BUF_INIT;
    struct ask *a = spawn_write(want, &text, e) < 0 ? NULL : ask_for(rq, e);

    if (a)
        send_spawn(a, rq->conn->member->rank, buf_bytes(&text), text.len);
    buf_clear(&text);
    return a ? PARKED : FAILED;
}

int ask_spawn_on(struct peer *p, struct job *j, unsigned id, int rank, const char *request,
                 size_t len, struct err *e)
{
    struct ask *a = ask_below(p, j, id, e);

    if (!a)
        return -1;
    send_spawn(a, rank, request, len);
    return 0;
}

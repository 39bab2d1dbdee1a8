/* ask.c - what a server does not have is asked of the one above, up to the root.
 *
 * Equal questions about a key share one message.  The answer brings the whole
 * block of data that the key belongs to, and every server on the way keeps it.
 * A key that the root does not have is remembered until the next release. */
#include "pmi2/core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct asker {                           /* a server below that waits for the answer */
    struct peer *peer;
    unsigned     id;                     /* its own number of the question */
    SLIST_ENTRY(asker) next;
};

struct ask {
    TAILQ_ENTRY(ask) in_server;
    struct job    *job;
    unsigned       id;
    char          *key;                  /* owned; NULL: about something else */
    struct waiters waiters;              /* requests of ranks here */
    SLIST_HEAD(, asker) below;
};

static void ask_free(struct ask *a)
{
    struct asker *x;

    TAILQ_REMOVE(&a->job->server->asks, a, in_server);
    while ((x = SLIST_FIRST(&a->below))) {
        SLIST_REMOVE_HEAD(&a->below, next);
        free(x);
    }
    free(a->key);
    free(a);
}

/* Requests that still wait belong to connections, which end after this. */
static void ask_drop(struct ask *a)
{
    struct request *rq;

    TAILQ_FOREACH(rq, &a->waiters.list, in_wait)
        rq->waits = NULL;
    ask_free(a);
}

static void forget_peer(struct ask *a, const struct peer *p)
{
    struct asker *x, *next;

    for (x = SLIST_FIRST(&a->below); x; x = next) {
        next = SLIST_NEXT(x, next);
        if (x->peer != p)
            continue;
        SLIST_REMOVE(&a->below, x, asker, next);
        free(x);
    }
}

void asks_forget(struct server *s, const struct peer *p)
{
    struct ask *a, *next;

    for (a = TAILQ_FIRST(&s->asks); a; a = next) {
        next = TAILQ_NEXT(a, in_server);
        if (!p || p->up)
            ask_drop(a);
        else
            forget_peer(a, p);
    }
}

void asks_forget_job(struct job *j)
{
    struct ask *a, *next;

    for (a = TAILQ_FIRST(&j->server->asks); a; a = next) {
        next = TAILQ_NEXT(a, in_server);
        if (a->job == j)
            ask_drop(a);
    }
}

static struct ask *ask_new(struct job *j, const char *key)
{
    struct ask *a = calloc(1, sizeof *a);

    if (!a || (key && !(a->key = strdup(key)))) {
        free(a);
        return NULL;
    }
    a->job = j;
    a->id = ++j->server->ask_id;
    waiters_init(&a->waiters);
    SLIST_INIT(&a->below);
    TAILQ_INSERT_TAIL(&j->server->asks, a, in_server);
    return a;
}

static struct ask *find_ask(struct server *s, unsigned id)
{
    struct ask *a;

    TAILQ_FOREACH(a, &s->asks, in_server)
        if (a->id == id)
            return a;
    return NULL;
}

static int add_asker(struct ask *a, struct peer *p, unsigned id)
{
    struct asker *x = malloc(sizeof *x);

    if (!x)
        return -1;
    *x = (struct asker){ .peer = p, .id = id };
    SLIST_INSERT_HEAD(&a->below, x, next);
    return 0;
}

/* --- keys -------------------------------------------------------------- */

/* The question about this key that is under way, or a new one. */
static struct ask *question(struct job *j, const char *key)
{
    struct server *s = j->server;
    struct ask *a;

    TAILQ_FOREACH(a, &s->asks, in_server)
        if (a->job == j && a->key && !strcmp(a->key, key))
            return a;
    a = ask_new(j, key);
    if (!a)
        return NULL;
    peer_message(j, "kvs-get");
    msg_int(&s->out, "id", a->id);
    msg_str(&s->out, "key", key);
    peer_send(s->up, NULL, 0);
    return a;
}

static bool known_missing(const struct job *j, const char *key)
{
    struct kvs_entry en;

    return is_root(j->server) || (j->missing && kvs_get(j->missing, key, &en));
}

/* It is no harm if this is not remembered. */
static void remember_missing(struct job *j, const char *key)
{
    if (!j->missing)
        j->missing = kvs_new(j->server->seed, LIMIT_NODE_BYTES);
    if (j->missing)
        kvs_put(j->missing, 0, key, "", 0, NULL);
}

enum outcome ask_key(struct request *rq, const char *key, struct err *e)
{
    struct job *j = request_job(rq);
    struct request *kept = NULL;
    struct ask *a;

    if (known_missing(j, key))
        return NOT_FOUND;
    rq->text[0] = strdup(key);
    a = rq->text[0] ? question(j, key) : NULL;
    if (a)
        kept = request_park(rq, &a->waiters, e);
    else
        err_set(e, ERR_NOMEM, "no memory to ask for a key");
    if (!kept)
        free(rq->text[0]);
    rq->text[0] = NULL;
    return kept ? PARKED : FAILED;
}

/* Tell a server below: the block of the key, or (len 0) that there is none. */
static void tell_block(struct peer *p, struct job *j, unsigned id, const char *block,
                       size_t len)
{
    struct server *s = j->server;

    peer_message(j, "answer");
    msg_int(&s->out, "id", id);
    msg_int(&s->out, "rc", len ? 0 : 1);
    peer_send(p, block, len);
}

static void tell_entry(struct peer *p, struct job *j, unsigned id,
                       const struct kvs_entry *found)
{
    struct buf block = BUF_INIT;

    share_add_block(j, found, &block);
    tell_block(p, j, id, buf_bytes(&block), block.failed ? 0 : block.len);
    buf_clear(&block);
}

int ask_get(struct peer *p, struct job *j, const struct msg *m, const char *payload,
            size_t len, struct err *e)
{
    const char *key = msg_get(m, "key");
    struct kvs_entry found;
    long long id;
    struct ask *a;

    (void)payload;
    (void)len;
    if (!key || strlen(key) > LIMIT_KEY || msg_number(m, "id", 0, UINT32_MAX, &id, e) < 0)
        return err_set(e, ERR_INVALID_ARG, "a key and its number wanted");
    j->asked++;
    if (share_find_known(j, key, &found))
        tell_entry(p, j, (unsigned)id, &found);
    else if (known_missing(j, key))
        tell_block(p, j, (unsigned)id, NULL, 0);
    else if (!(a = question(j, key)) || add_asker(a, p, (unsigned)id) < 0)
        return err_set(e, ERR_NOMEM, "no memory to ask for a key");
    return 0;
}

static void answer_rank(struct request *rq, const struct kvs_entry *found)
{
    struct err e;

    err_set(&e, ERR_OTHER, "key not found");
    if (found)
        reply_text(rq, 0, found->value, found->len);
    request_finish(rq, found ? REPLY : NOT_FOUND, &e);
}

/* The answer goes on as it came: what this node has put itself since is not known to the
 * root yet, and not theirs.  Ranks here are told what there is here now. */
static void answer_key(struct ask *a, const char *payload, size_t len)
{
    struct job *j = a->job;
    struct kvs_entry found;
    bool there = kvs_get(j->kvs, a->key, &found) > 0;
    struct request *rq;
    struct asker *x;

    if (!len)
        remember_missing(j, a->key);
    SLIST_FOREACH(x, &a->below, next)
        tell_block(x->peer, j, x->id, payload, len);
    while ((rq = TAILQ_FIRST(&a->waiters.list)))
        answer_rank(rq, there ? &found : NULL);
    ask_free(a);
}

/* --- names, and other things by their name ------------------------------ */

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

static void send_want(struct ask *a, const struct name_want *want)
{
    struct server *s = a->job->server;

    peer_message(a->job, name_command(want->op));
    msg_int(&s->out, "id", a->id);
    name_write(want, &s->out);
    peer_send(s->up, NULL, 0);
}

/* A question that rq, which is parked, waits for. */
static struct ask *ask_for(struct request *rq, struct err *e)
{
    struct ask *a = ask_new(request_job(rq), NULL);

    if (!a) {
        err_set(e, ERR_NOMEM, "no memory to ask the server above");
        return NULL;
    }
    if (request_park(rq, &a->waiters, e))
        return a;
    ask_free(a);
    return NULL;
}

enum outcome ask_name(struct request *rq, const struct name_want *want, struct err *e)
{
    struct ask *a = ask_for(rq, e);

    if (!a)
        return FAILED;
    send_want(a, want);
    return PARKED;
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

void ask_tell(struct peer *p, struct job *j, unsigned id, enum outcome o, const char *key,
              const char *text, size_t len, const struct err *why)
{
    struct server *s = j->server;

    peer_message(j, "answer");
    msg_int(&s->out, "id", id);
    msg_int(&s->out, "rc", o == REPLY ? 0 : (long long)why->code);
    msg_int(&s->out, "miss", o == NOT_FOUND);
    if (o != REPLY)
        msg_str(&s->out, "errmsg", why->text);
    if (key)
        msg_str(&s->out, "key", key);
    if (text)
        msg_bytes(&s->out, "value", text, len);
    peer_send(p, NULL, 0);
}

/* A question of a server below goes on up. */
static struct ask *ask_below(struct peer *p, struct job *j, unsigned id, struct err *e)
{
    struct ask *a = ask_new(j, NULL);

    if (a && add_asker(a, p, id) == 0)
        return a;
    if (a)
        ask_free(a);
    err_set(e, ERR_NOMEM, "no memory to ask the server above");
    return NULL;
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

/* --- answers ----------------------------------------------------------- */

/* Fill in the reply of a rank: of a name, or (key) of an entry or a job. */
static void fill_reply(struct request *rq, enum outcome o, const struct pair *key,
                       const struct pair *value)
{
    if (rq->cmd->run == cmd_spawn) {
        spawn_reply(rq, key ? key->val : NULL, value ? value->val : NULL, value ? value->len : 0);
    } else if (!rq->text[0]) {
        if (value)
            reply_text(rq, 0, value->val, value->len);
        if (key)
            reply_text(rq, 1, key->val, key->len);
    } else if (o == REPLY && key && value) {
        reply_int(rq, 0, strtoll(rq->text[0], NULL, 10) + 1);
        reply_text(rq, 1, key->val, key->len);
        reply_text(rq, 2, value->val, value->len);
    } else {
        reply_text(rq, 3, "no_more_keyvals", 15);
    }
}

static void answer_name(struct ask *a, enum outcome o, const struct pair *key,
                        const struct pair *value, const struct err *why)
{
    struct request *rq = TAILQ_FIRST(&a->waiters.list);
    struct asker *x = SLIST_FIRST(&a->below);

    if (x)
        ask_tell(x->peer, a->job, x->id, o, key ? key->val : NULL, value ? value->val : NULL,
                  value ? value->len : 0, why);
    if (rq) {
        fill_reply(rq, o, key, value);
        request_finish(rq, o, why);
    }
    ask_free(a);
}

int ask_answer(struct peer *p, struct job *j, const struct msg *m, const char *payload,
               size_t len, struct err *e)
{
    long long id, rc, miss = 0;
    struct err why = { 0 };
    struct ask *a;

    (void)p;
    if (msg_number(m, "id", 0, UINT32_MAX, &id, e) < 0 ||
        msg_number(m, "rc", 0, 1000, &rc, e) < 0)
        return err_set(e, ERR_INVALID_ARG, "an answer with id and rc wanted");
    if (msg_find(m, "miss") && msg_number(m, "miss", 0, 1, &miss, e) < 0)
        return -1;
    a = find_ask(j->server, (unsigned)id);
    if (!a || a->job != j)
        return err_set(e, ERR_INVALID_ARG, "no question %lld", id);
    if (a->key) {
        if (share_take_answer(j, payload, len, e) < 0)
            return -1;
        answer_key(a, payload, len);
        return 0;
    }
    if (rc)
        err_set(&why, (enum err_code)rc, "%s", msg_get(m, "errmsg") ? msg_get(m, "errmsg") : "");
    answer_name(a, miss ? NOT_FOUND : rc ? FAILED : REPLY, msg_find(m, "key"),
                msg_find(m, "value"), &why);
    return 0;
}

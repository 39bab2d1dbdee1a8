/* server.c - jobs, connections and requests: from the bytes of a peer to the
 * handler of a command, and from its outcome back to bytes.
 *
 * The way of a request: conn_input cuts frames; serve() parses one, finds its
 * row, checks its arguments and runs the handler.  What the handler returns
 * becomes a reply in finish(), by the row.  Replies to the connection being read
 * are gathered and sent in one go.
 *
 * Order: replies without a thread id go out in the order of their requests.  A
 * request that cannot be answered yet is parked in conn->order; a later one that
 * is answered at once is parked too, with its reply made, until its turn. */
#include "pmi2/core.h"

#include "wire/utf8.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- server ------------------------------------------------------------ */

struct server *server_new(const struct host_ops *ops, void *host, uint64_t seed,
                          const struct server_options *options)
{
    struct server *s = calloc(1, sizeof *s);

    if (!s)
        return NULL;
    s->ops = *ops;
    s->host = host;
    s->seed = seed;
    s->options = *options;
    TAILQ_INIT(&s->jobs);
    msg_init(&s->in);
    msg_init(&s->out);
    s->names = kvs_new(seed, LIMIT_KVS_BYTES);
    if (!s->names || server_add_commands(s, pmi_commands, pmi_command_count, NULL) < 0) {
        server_free(s);
        return NULL;
    }
    return s;
}

static void job_free(struct job *j)
{
    fences_free(j);
    kvs_free(j->kvs);
    kvs_free(j->node);
    free(j->members);
    free(j->mapping);
    free(j);
}

void server_free(struct server *s)
{
    struct job *j;

    if (!s)
        return;
    while ((j = TAILQ_FIRST(&s->jobs))) {
        TAILQ_REMOVE(&s->jobs, j, in_server);
        job_free(j);
    }
    kvs_free(s->names);
    for (int w = 0; w < WIRES; w++)
        free(s->by_name[w]);
    free(s->rows);
    msg_clear(&s->in);
    msg_clear(&s->out);
    buf_clear(&s->batch);
    buf_clear(&s->scratch);
    buf_clear(&s->attr);
    free(s);
}

void server_log(struct server *s, enum log_level level, struct member *m,
                const char *fmt, ...)
{
    struct buf safe = BUF_INIT;
    char text[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    buf_escaped(&safe, text, strlen(text));
    s->ops.log(s->host, level, m, safe.failed ? "(no memory)" : buf_bytes(&safe));
    buf_clear(&safe);
}

/* --- the table of commands --------------------------------------------- */

static const struct command *find_command(const struct server *s, enum wire w,
                                          const char *name)
{
    size_t lo = 0, hi = s->nby_name[w];

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        int order = strcmp(name, s->by_name[w][mid]->name[w]);

        if (!order)
            return s->by_name[w][mid];
        if (order < 0)
            hi = mid;
        else
            lo = mid + 1;
    }
    return NULL;
}

static void insert_sorted(struct server *s, enum wire w, const struct command *row)
{
    size_t i = s->nby_name[w]++;

    for (; i && strcmp(row->name[w], s->by_name[w][i - 1]->name[w]) < 0; i--)
        s->by_name[w][i] = s->by_name[w][i - 1];
    s->by_name[w][i] = row;
}

static int grow_rows(const struct command ***rows, size_t n)
{
    const struct command **p = realloc(*rows, n * sizeof *p);

    if (!p)
        return -1;
    *rows = p;
    return 0;
}

int server_add_commands(struct server *s, const struct command *rows, size_t n,
                        struct err *e)
{
    for (size_t i = 0; i < n; i++)
        for (int w = 0; w < WIRES; w++)
            if (rows[i].name[w] && find_command(s, w, rows[i].name[w]))
                return err_set(e, ERR_INVALID_KEY, "command %s is there already",
                               rows[i].name[w]);
    if (!n)
        return 0;
    if (grow_rows(&s->rows, s->nrows + n) < 0 ||
        grow_rows(&s->by_name[WIRE_1], s->nby_name[WIRE_1] + n) < 0 ||
        grow_rows(&s->by_name[WIRE_2], s->nby_name[WIRE_2] + n) < 0)
        return err_set(e, ERR_NOMEM, "no memory for commands");
    for (size_t i = 0; i < n; i++) {
        s->rows[s->nrows++] = &rows[i];
        for (int w = 0; w < WIRES; w++)
            if (rows[i].name[w])
                insert_sorted(s, w, &rows[i]);
    }
    return 0;
}

size_t server_command_count(const struct server *s) { return s->nrows; }
const struct command *server_command(const struct server *s, size_t i) { return s->rows[i]; }

/* --- jobs and members -------------------------------------------------- */

static int check_job_spec(const struct job_spec *spec, struct err *e)
{
    size_t n = strlen(spec->id);

    if (!n || n >= LIMIT_JOBID || strpbrk(spec->id, "; =\t\n"))
        return err_set(e, ERR_INVALID_ARG, "job id '%.80s' is empty, too long, or has a "
                       "character that the wire cannot carry", spec->id);
    if (spec->size < 1)
        return err_set(e, ERR_INVALID_ARG, "a job of %d ranks", spec->size);
    return 0;
}

struct job *server_add_job(struct server *s, const struct job_spec *spec, struct err *e)
{
    struct buf map = BUF_INIT;
    struct job *j;

    if (check_job_spec(spec, e) < 0)
        return NULL;
    j = calloc(1, sizeof *j);
    if (!j)
        goto nomem;
    TAILQ_INIT(&j->fences);
    waiters_init(&j->attr_waiters);
    mapping_format(spec->map, spec->map_blocks, &map);
    j->mapping = map.failed ? NULL : map.data;
    j->kvs = kvs_new(s->seed, LIMIT_KVS_BYTES);
    j->node = kvs_new(s->seed, LIMIT_KVS_BYTES);
    j->members = calloc((size_t)spec->size, sizeof *j->members);
    if (!j->mapping || !j->kvs || !j->node || !j->members)
        goto nomem;
    memcpy(j->id, spec->id, strlen(spec->id) + 1);
    j->server = s;
    j->size = spec->size;
    j->universe = spec->universe;
    for (int r = 0; r < spec->size; r++)
        j->members[r] = (struct member){ .job = j, .rank = r, .appnum = spec->appnums[r] };
    j->number = s->job_count++;
    TAILQ_INSERT_TAIL(&s->jobs, j, in_server);
    return j;
nomem:
    if (j)
        job_free(j);
    err_set(e, ERR_NOMEM, "no memory for a job of %d ranks", spec->size);
    return NULL;
}

struct member *job_member(struct job *j, int rank)
{
    return rank >= 0 && rank < j->size ? &j->members[rank] : NULL;
}

const char *job_id(const struct job *j) { return j->id; }
size_t job_kvs_bytes(const struct job *j) { return kvs_bytes(j->kvs); }
int member_rank(const struct member *m) { return m->rank; }
struct job *member_job(const struct member *m) { return m->job; }
bool member_ever_initialized(const struct member *m) { return m->initialized; }

enum member_state member_state(const struct member *m)
{
    static const enum member_state of[] = {
        [CONN_NEW] = MEMBER_NEW, [CONN_GREETED] = MEMBER_GREETED,
        [CONN_READY] = MEMBER_READY, [CONN_FINAL] = MEMBER_FINAL,
        [CONN_FAILED] = MEMBER_READY,
    };

    if (m->gone)
        return MEMBER_GONE;
    return m->conn ? of[m->conn->state] : MEMBER_NEW;
}

const char *member_waits_in(const struct member *m)
{
    const struct request *rq = m->conn ? TAILQ_FIRST(&m->conn->order) : NULL;

    return rq ? rq->cmd->name[m->conn->framer.wire] : NULL;
}

void member_ended(struct member *m)
{
    if (m->gone)
        return;
    m->gone = true;
    m->job->gone++;
    fences_member_ended(m);
}

/* --- connections ------------------------------------------------------- */

struct conn *conn_new(struct server *s, struct job *j, struct member *m, void *link)
{
    struct conn *c = calloc(1, sizeof *c);

    if (!c)
        return NULL;
    c->server = s;
    c->job = j;
    c->member = m;
    c->link = link;
    framer_init(&c->framer, LIMIT_LINE);
    TAILQ_INIT(&c->order);
    if (m)
        m->conn = c;
    return c;
}

static void request_free(struct request *rq)
{
    TAILQ_REMOVE(&rq->conn->order, rq, in_conn);
    rq->conn->parked--;
    if (rq->waits)
        TAILQ_REMOVE(&rq->waits->list, rq, in_wait);
    buf_clear(&rq->reply);
    free(rq->text[0]);
    free(rq->text[1]);
    free(rq);
}

static void drop_requests(struct conn *c)
{
    struct request *rq;

    while ((rq = TAILQ_FIRST(&c->order)))
        request_free(rq);
}

void conn_free(struct conn *c)
{
    if (!c)
        return;
    drop_requests(c);
    if (c->member && c->member->conn == c)
        c->member->conn = NULL;
    framer_clear(&c->framer);
    free(c);
}

struct member *conn_member(const struct conn *c) { return c->member; }

bool conn_full(const struct conn *c)
{
    return c->parked >= LIMIT_PARKED;
}

int conn_claim(struct conn *c, long long rank, struct err *e)
{
    struct member *m;

    if (rank < 0 || rank >= c->job->size)
        return err_set(e, ERR_INVALID_ARG, "rank %lld, want 0..%d", rank, c->job->size - 1);
    m = &c->job->members[rank];
    if (m->conn || m->initialized || m->gone)
        return err_set(e, ERR_INVALID_ARG, "rank %lld is taken", rank);
    c->member = m;
    m->conn = c;
    return 0;
}

/* Send what was gathered while the connection was read. */
static void send_batch(struct conn *c)
{
    struct server *s = c->server;

    if (s->batch.len)
        s->ops.send(s->host, c->link, buf_bytes(&s->batch), s->batch.len);
    buf_reset(&s->batch);
}

void conn_fail(struct conn *c, const char *why)
{
    if (c->state == CONN_FAILED)
        return;
    if (c->reading)
        send_batch(c);
    c->state = CONN_FAILED;
    drop_requests(c);
    c->server->ops.fail(c->server->host, c->link, c->member, why);
}

void conn_eof(struct conn *c)
{
    drop_requests(c);
}

static void send_to(struct conn *c, const char *data, size_t len)
{
    struct server *s = c->server;

    if (!len || c->state == CONN_FAILED)
        return;
    if (s->ops.trace)
        s->ops.trace(s->host, c->member, false, data, len);
    if (c->reading)
        buf_add(&s->batch, data, len);
    else
        s->ops.send(s->host, c->link, data, len);
}

void conn_send_raw(struct conn *c, const char *data, size_t len)
{
    send_to(c, data, len);
}

/* --- requests ---------------------------------------------------------- */

void waiters_init(struct waiters *w)
{
    TAILQ_INIT(&w->list);
}

struct request *request_park(struct request *rq, struct waiters *w, struct err *e)
{
    struct conn *c = rq->conn;
    struct request *kept;

    if (c->parked >= LIMIT_PARKED) {
        err_set(e, ERR_NOMEM, "more than %d requests are waiting", LIMIT_PARKED);
        return NULL;
    }
    kept = malloc(sizeof *kept);
    if (!kept) {
        err_set(e, ERR_NOMEM, "no memory for a waiting request");
        return NULL;
    }
    *kept = *rq;
    memset(kept->arg, 0, sizeof kept->arg);      /* they lie in the input */
    kept->reply = (struct buf)BUF_INIT;
    kept->waits = w;
    TAILQ_INSERT_TAIL(&c->order, kept, in_conn);
    c->parked++;
    if (w)
        TAILQ_INSERT_TAIL(&w->list, kept, in_wait);
    return kept;
}

void reply_text(struct request *rq, int field, const char *s, size_t len)
{
    rq->field[field] = (struct value){ .s = s, .len = len };
}

void reply_int(struct request *rq, int field, long long n)
{
    rq->field[field] = (struct value){ .n = n, .number = true };
}

/* An error's sentence as one wire can carry it: safe UTF-8; on PMI-1 one token. */
static const char *error_text(enum wire w, const struct err *e, struct buf *out)
{
    buf_escaped(out, e->text, strlen(e->text));
    if (out->failed)
        return "no_memory";
    if (w == WIRE_1)
        for (char *p = buf_bytes(out); *p; p++)
            if (*p == ' ' || *p == '=')
                *p = '_';
    return buf_bytes(out);
}

/* A value that this client is known not to take: its own limit, never cut. */
static int check_client_limit(const struct request *rq, struct err *e)
{
    if (rq->conn->wide)
        return 0;
    for (int i = 0; i < FIELDS_MAX; i++)
        if (rq->field[i].len > LIMIT_VALUE_OLD)
            return err_set(e, ERR_VAL_LENGTH, "value of %zu bytes, this client can take %d",
                           rq->field[i].len, LIMIT_VALUE_OLD);
    return 0;
}

static void add_fields(struct msg *m, const struct request *rq, enum wire w)
{
    const struct field *f = rq->cmd->fields;

    for (int i = 0; f && (f[i].name[0][0] || f[i].name[1][0]); i++) {
        const struct value *v = &rq->field[i];

        for (int k = 0; k < 2 && f[i].name[w][k]; k++)
            if (v->number)
                msg_int(m, f[i].name[w][k], v->n);
            else if (v->s)
                msg_bytes(m, f[i].name[w][k], v->s, v->len);
            else if (f[i].always)
                msg_str(m, f[i].name[w][k], f[i].always);
    }
}

static void build_reply(struct msg *m, const struct request *rq, enum outcome o,
                        const struct err *e, struct buf *text)
{
    enum wire w = rq->conn->framer.wire;
    const struct command *cmd = rq->cmd;
    bool failed = o == FAILED;
    long long rc = failed ? (long long)e->code : 0;

    if (o == NOT_FOUND && (w == WIRE_1 || (cmd->flags & MISS_IS_FAIL)))
        rc = 1;
    msg_start(m, rq->reply_name ? rq->reply_name : cmd->reply[w]);
    if (*rq->thrid && w == WIRE_2)
        msg_str(m, "thrid", rq->thrid);
    msg_int(m, "rc", rc);
    if (w == WIRE_1 && (cmd->flags & HAS_INFO))
        msg_str(m, "info", rc ? "fail" : "ok");
    if (w == WIRE_2 && (cmd->flags & HAS_FOUND) && !(failed && !(cmd->flags & MISS_IS_FAIL)))
        msg_str(m, "found", o == REPLY ? "TRUE" : "FALSE");
    if (rc)
        msg_str(m, w == WIRE_1 ? "msg" : "errmsg", error_text(w, e, text));
    add_fields(m, rq, w);
}

/* Append the reply to out; a reply that cannot be written becomes an error. */
static void format_reply(struct request *rq, enum outcome o, const struct err *e,
                         struct buf *out)
{
    struct server *s = rq->conn->server;
    enum wire w = rq->conn->framer.wire;
    const struct codec *codec = codec_of(w);
    size_t max = w == WIRE_1 ? LIMIT_LINE : LIMIT_FRAME_RANK;
    struct buf text = BUF_INIT;
    struct err why = { 0 };

    if (check_client_limit(rq, &why) == 0) {
        build_reply(&s->out, rq, o, e, &text);
        if (codec->format(&s->out, max, out, &why) == 0) {
            buf_clear(&text);
            return;
        }
    }
    memset(rq->field, 0, sizeof rq->field);      /* what could not be written */
    buf_clear(&text);
    build_reply(&s->out, rq, FAILED, &why, &text);
    if (codec->format(&s->out, max, out, NULL) < 0)
        out->failed = true;
    buf_clear(&text);
}

/* Send the replies whose turn has come. */
static void flush_in_order(struct conn *c)
{
    struct request *rq, *next;

    for (rq = TAILQ_FIRST(&c->order); rq; rq = next) {
        next = TAILQ_NEXT(rq, in_conn);
        if (rq->tagged)
            continue;                    /* waits, but holds nobody up */
        if (!rq->answered)
            return;
        send_to(c, buf_bytes(&rq->reply), rq->reply.len);
        request_free(rq);
    }
}

static bool must_wait(const struct request *rq)
{
    const struct request *other;

    if (rq->tagged)
        return false;
    TAILQ_FOREACH(other, &rq->conn->order, in_conn)
        if (other != rq && !other->tagged)
            return true;
    return false;
}

static void out_of_memory(struct conn *c)
{
    conn_fail(c, "no memory for a reply");
}

/* Answer a request that was never parked; it may have to wait for its turn. */
static void finish_now(struct request *rq, enum outcome o, const struct err *e)
{
    struct conn *c = rq->conn;
    struct buf *made = &c->server->scratch;
    struct request *kept;

    buf_reset(made);
    format_reply(rq, o, e, made);
    if (!made->failed && !must_wait(rq)) {
        send_to(c, buf_bytes(made), made->len);
        return;
    }
    kept = made->failed ? NULL : request_park(rq, NULL, NULL);
    if (kept) {
        buf_add(&kept->reply, buf_bytes(made), made->len);
        kept->answered = true;
    }
    if (!kept || kept->reply.failed)
        out_of_memory(c);
}

void request_finish(struct request *rq, enum outcome o, const struct err *e)
{
    struct conn *c = rq->conn;

    if (rq->waits) {
        TAILQ_REMOVE(&rq->waits->list, rq, in_wait);
        rq->waits = NULL;
    }
    format_reply(rq, o, e, &rq->reply);
    if (rq->reply.failed) {
        out_of_memory(c);
        return;
    }
    rq->answered = true;
    if (!rq->tagged) {
        flush_in_order(c);
        return;
    }
    send_to(c, buf_bytes(&rq->reply), rq->reply.len);
    request_free(rq);
}

/* --- serving one message ----------------------------------------------- */

static const struct pair *find_arg(const struct msg *m, const struct arg *a, enum wire w)
{
    const struct pair *p = a->name[w] ? msg_find(m, a->name[w]) : NULL;

    return p || !a->also[w] ? p : msg_find(m, a->also[w]);
}

static int take_text(const struct arg *a, const struct pair *p, struct value *v,
                     struct err *e)
{
    if (a->max && p->len > (size_t)a->max)
        return err_set(e, a->too_long ? a->too_long : ERR_LENGTH,
                       "%s is %zu bytes, at most %lld", p->key, p->len, a->max);
    if (a->type == ARG_TEXT && !utf8_valid(p->val, p->len))
        return err_set(e, ERR_INVALID_VAL, "%s is not UTF-8", p->key);
    *v = (struct value){ .s = p->val, .len = p->len };
    return 0;
}

static int take_arg(const struct arg *a, const struct pair *p, struct value *v,
                    struct err *e)
{
    bool yes = false;

    if (a->type == ARG_TEXT || a->type == ARG_BYTES)
        return take_text(a, p, v, e);
    v->s = p->val;
    if (a->type == ARG_INT)
        return pair_int(p, a->min, a->max, &v->n, e);
    if (pair_bool(p, &yes, e) < 0)
        return -1;
    v->n = yes;
    return 0;
}

static int take_args(struct request *rq, const struct msg *m, struct err *e)
{
    enum wire w = rq->conn->framer.wire;
    const struct arg *a = rq->cmd->args;

    for (int i = 0; a && (a[i].name[0] || a[i].name[1]); i++) {
        const struct pair *p = find_arg(m, &a[i], w);

        assert(i < ARGS_MAX);
        if (p && take_arg(&a[i], p, &rq->arg[i], e) < 0)
            return -1;
        if (!p && (a[i].required & ON(w)))
            return err_set(e, ERR_INVALID_ARG, "no %s", a[i].name[w]);
    }
    return 0;
}

static int take_thrid(struct request *rq, const struct msg *m, struct err *e)
{
    const struct pair *p = msg_find(m, "thrid");

    if (rq->conn->framer.wire == WIRE_1 || !p)
        return 0;
    if (p->len > LIMIT_THRID)
        return err_set(e, ERR_LENGTH, "thrid is %zu bytes, at most %d", p->len, LIMIT_THRID);
    memcpy(rq->thrid, p->val, p->len + 1);
    rq->tagged = p->len > 0;
    return 0;
}

static int check_state(const struct request *rq, struct err *e)
{
    static const char *const name[] = {
        [CONN_NEW] = "before init", [CONN_GREETED] = "before fullinit",
        [CONN_READY] = "after init", [CONN_FINAL] = "after finalize",
        [CONN_FAILED] = "after an error",
    };
    const struct conn *c = rq->conn;

    if (!(rq->cmd->when & IN(c->state)))
        return err_set(e, ERR_INIT, "not %s", name[c->state]);
    if (!c->member && !(rq->cmd->flags & NO_MEMBER))
        return err_set(e, ERR_INIT, "this connection has not said which rank it is");
    return 0;
}

/* A reply for a command that has no row. */
static void reply_unknown(struct request *rq, const struct msg *m, const struct err *e)
{
    static const struct command unknown = { .name = { "unknown", "unknown" } };
    struct buf name = BUF_INIT;

    buf_escaped(&name, *m->cmd ? m->cmd : "error", strnlen(*m->cmd ? m->cmd : "error", 64));
    buf_str(&name, rq->conn->framer.wire == WIRE_1 ? "_result" : "-response");
    rq->cmd = &unknown;
    rq->reply_name = name.failed ? "error" : buf_bytes(&name);
    finish_now(rq, FAILED, e);
    buf_clear(&name);
}

static void trace_in(struct conn *c, const struct frame *f)
{
    struct server *s = c->server;

    if (s->ops.trace)
        s->ops.trace(s->host, c->member, true, f->raw, f->raw_len);
}

static void run(struct request *rq, const struct msg *m)
{
    struct conn *c = rq->conn;
    struct server *s = c->server;
    struct err e = { 0 };
    enum outcome o = FAILED;

    if (take_thrid(rq, m, &e) == 0 && check_state(rq, &e) == 0 && take_args(rq, m, &e) == 0)
        o = rq->cmd->run(rq, &e);
    if (o == FAILED) {
        err_context(&e, "%s", rq->cmd->name[c->framer.wire]);
        server_log(s, LOG_WARN, c->member, "%s", e.text);
    }
    if (o == NOT_FOUND)
        err_set(&e, ERR_OTHER, "%s", e.code ? e.text : "key not found");
    if (o == FAILED && (rq->cmd->flags & NO_REPLY))
        return;
    if (o == REPLY || o == NOT_FOUND || o == FAILED)
        finish_now(rq, o, &e);
}

static void serve(struct conn *c, struct frame *f)
{
    struct server *s = c->server;
    enum wire w = f->kind == FRAME_BODY ? WIRE_2 : WIRE_1;
    struct request rq = { .conn = c };
    struct err e = { 0 };

    trace_in(c, f);
    if (w != c->framer.wire) {           /* an init line on a PMI-2 stream */
        static const char no[] = "cmd=response_to_init rc=1 pmi_version=2 pmi_subversion=0\n";

        server_log(s, LOG_WARN, c->member, "init: PMI-2 is initialised already");
        conn_send_raw(c, no, sizeof no - 1);
        return;
    }
    msg_start(&s->in, "");
    if (codec_of(w)->parse(&s->in, f->text, f->len, &e) == 0) {
        rq.cmd = find_command(s, w, s->in.cmd);
        if (rq.cmd) {
            run(&rq, &s->in);
            c->framer.wire = c->next_wire;
            return;
        }
        err_set(&e, ERR_OTHER, w == WIRE_1 ? "command_not_supported" : "unknown_command");
    }
    server_log(s, LOG_WARN, c->member, "%.64s: %s", s->in.cmd, e.text);
    reply_unknown(&rq, &s->in, &e);
}

void conn_input(struct conn *c, char *data, size_t len)
{
    struct frame f;
    struct err e = { 0 };
    int got = 0;

    if (c->state == CONN_FAILED)
        return;
    c->reading = true;
    while (c->state != CONN_FAILED && (got = framer_next(&c->framer, &data, &len, &f, &e)) > 0)
        serve(c, &f);
    if (got < 0) {
        reply_unknown(&(struct request){ .conn = c }, &(struct msg){ .cmd = "" }, &e);
        conn_fail(c, e.text);
    }
    if (c->server->batch.failed)
        out_of_memory(c);
    c->reading = false;
    send_batch(c);
}

/* cmd_init.c - how a process introduces itself, and how it leaves: init,
 * initack, fullinit, limits, appnum, universe size, finalize, abort. */
#include "pmi2/core.h"

#include <stdio.h>
#include <string.h>

enum { INIT_VERSION, INIT_SUBVERSION };
enum { INIT_VERSION_OUT, INIT_SUBVERSION_OUT };

/* True: it is a rank, and was not. */
static bool become_ready(struct conn *c)
{
    struct server *s = c->server;

    c->state = CONN_READY;
    if (!c->member || (c->member->initialized && !c->member->finalized))
        return false;
    c->member->initialized = true;
    c->member->finalized = false;        /* again, after a finalize */
    s->ops.initialized(s->host, c->member);
    return true;
}

/* A version that we do not speak: tell which we do, and tell the user too.  The
 * client may ask again. */
static enum outcome refuse_version(struct request *rq, long long v, long long sub,
                                   struct err *e)
{
    reply_text(rq, INIT_VERSION_OUT, v < 2 ? "1" : "2", 1);
    reply_text(rq, INIT_SUBVERSION_OUT, v < 1 ? "1" : v < 2 ? "2" : "0", 1);
    err_set(e, ERR_INIT, "the program asks for PMI version %lld.%lld; this launcher speaks "
            "1.0 to 1.2 and 2.0", v, sub);
    server_log(rq->conn->server, LOG_WARN, rq->conn->member, "init: %s", e->text);
    return FAILED;
}

/* --- held in init: a debugger wants to see every rank before it goes on ---------- */

static void fill_init(struct request *rq, long long v, long long sub)
{
    static const char *const digit[] = { "0", "1", "2" };

    reply_text(rq, INIT_VERSION_OUT, digit[v], 1);
    reply_text(rq, INIT_SUBVERSION_OUT, digit[sub], 1);
}

/* The answer, unless the rank is held. */
static enum outcome answer(struct request *rq, bool first, struct err *e)
{
    struct server *s = rq->conn->server;
    struct member *m = rq->conn->member;

    if (!first || !m->held)
        return REPLY;
    if (!request_park(rq, &m->job->init_waiters, e))
        return FAILED;
    if (s->ops.held)
        s->ops.held(s->host, m);
    return PARKED;
}

void job_hold(struct job *j, int rank)
{
    struct member *m = job_member(j, rank);

    if (m)
        m->held = true;
}

static void fill_fullinit(struct request *rq);

static void let_go(struct request *rq)
{
    if (rq->conn->framer.wire == WIRE_1)
        fill_init(rq, 1, rq->conn->subversion);
    else
        fill_fullinit(rq);
    request_finish(rq, REPLY, NULL);
}

void job_release(struct job *j, int rank)
{
    struct request *rq, *next;

    for (int i = 0; i < j->nlocal; i++)
        if (rank < 0 || j->members[i].rank == rank)
            j->members[i].held = false;
    for (rq = TAILQ_FIRST(&j->init_waiters.list); rq; rq = next) {
        next = TAILQ_NEXT(rq, in_wait);
        if (!rq->conn->member->held)
            let_go(rq);
    }
}

/* --- init ------------------------------------------------------------- */

enum outcome cmd_init(struct request *rq, struct err *e)
{
    bool first = false;
    struct conn *c = rq->conn;
    long long v = rq->arg[INIT_VERSION].n, sub = rq->arg[INIT_SUBVERSION].n;

    if (!TAILQ_EMPTY(&c->order)) {       /* their replies are of the present wire */
        err_set(e, ERR_INIT, "requests of this connection are still waiting");
        return FAILED;
    }
    if (v == 2) {
        c->next_wire = WIRE_2;
        c->framer.max = c->tool ? LIMIT_FRAME_LINK : LIMIT_FRAME_RANK;
        c->state = CONN_GREETED;
        sub = 0;
    } else if (v == 1 && sub >= 0 && sub <= 2 && !c->tool) {
        if (sub && c->server->options.pmi1_subversion == 2)
            sub = 2;
        c->subversion = (int)sub;
        first = become_ready(c);
    } else {
        return refuse_version(rq, v, sub, e);
    }
    fill_init(rq, v, sub);
    return answer(rq, first, e);
}

enum { INITACK_RANK };

/* PMI_PORT, PMI-1: the client says which rank it is and reads four lines. */
enum outcome cmd_initack(struct request *rq, struct err *e)
{
    struct conn *c = rq->conn;
    struct buf b = BUF_INIT;

    if (c->member)
        err_set(e, ERR_INIT, "this connection is rank %d already", c->member->rank);
    if (c->member || conn_claim(c, rq->arg[INITACK_RANK].n, e) < 0) {
        conn_fail(c, e->text);
        return SILENT;
    }
    buf_printf(&b, "cmd=initack rc=0\ncmd=set size=%d\ncmd=set rank=%d\ncmd=set debug=0\n",
               c->job->size, c->member->rank);
    if (b.failed)
        conn_fail(c, "no memory for a reply");
    else
        conn_send(c, buf_bytes(&b), b.len);
    buf_clear(&b);
    return SILENT;
}

/* What a client that asks is told: thread ids, abort shows its text, puts may be
 * read-only, another job's keys can be copied; and, where it is so, that constants are in
 * its environment and that there are extended commands. */
static void add_extensions(const struct conn *c, struct buf *out)
{
    buf_str(out, "thrid,abort-text,read-only,kvs-copy");
    if (c->job->in_env)
        buf_str(out, ",constants");
    if (c->server->layer || c->server->up)
        buf_str(out, ",pmix");
}

enum { FULLINIT_JOBID, FULLINIT_RANK, FULLINIT_SRCID, FULLINIT_THREADED, FULLINIT_EXTENSIONS };
enum { FULLINIT_RANK_OUT = 2, FULLINIT_SIZE, FULLINIT_APPNUM,
       FULLINIT_EXTENSIONS_OUT, FULLINIT_SPAWNER };

static void fill_fullinit(struct request *rq)
{
    const struct conn *c = rq->conn;
    struct buf *text = &c->server->attr;

    buf_reset(text);
    if (c->ours)
        add_extensions(c, text);
    if (c->ours && !text->failed)
        reply_text(rq, FULLINIT_EXTENSIONS_OUT, buf_bytes(text), text->len);
    if (c->job->spawner)
        reply_text(rq, FULLINIT_SPAWNER, c->job->spawner, strlen(c->job->spawner));
    reply_int(rq, FULLINIT_RANK_OUT, c->member->rank);
    reply_int(rq, FULLINIT_SIZE, c->job->size);
    reply_int(rq, FULLINIT_APPNUM, c->member->appnum);
}

/* Which rank the client says it is: -1 if it does not. */
static long long claimed_rank(const struct request *rq)
{
    if (rq->arg[FULLINIT_RANK].s)
        return rq->arg[FULLINIT_RANK].n;
    return rq->arg[FULLINIT_SRCID].s ? rq->arg[FULLINIT_SRCID].n : -1;
}

/* The descriptor says who it is; on PMI_PORT the client does. */
static int identify(struct request *rq, struct err *e)
{
    struct conn *c = rq->conn;
    struct member *m = c->member;
    const struct value *id = &rq->arg[FULLINIT_JOBID];
    long long rank = claimed_rank(rq);

    if (id->len && strcmp(id->s, c->job->id))
        return err_set(e, ERR_INVALID_ARG, "pmijobid=%.64s is not this job", id->s);
    if (!m)
        return conn_claim(c, rank, e);
    if (rank >= 0 && rank != m->rank && !m->warned_rank) {
        m->warned_rank = true;
        server_log(c->server, LOG_WARN, m, "fullinit says pmirank=%lld on the connection of "
                   "rank %d; the connection decides", rank, m->rank);
    }
    return 0;
}

enum outcome cmd_fullinit(struct request *rq, struct err *e)
{
    struct conn *c = rq->conn;

    if (identify(rq, e) < 0) {
        if (c->member)
            return FAILED;
        request_answer(rq, FAILED, e);   /* a peer of PMI_PORT has one try */
        conn_fail(c, e->text);
        return SILENT;
    }
    if (rq->arg[FULLINIT_EXTENSIONS].s)
        c->wide = c->ours = true;
    fill_fullinit(rq);
    return answer(rq, become_ready(c), e);
}

enum outcome cmd_maxes(struct request *rq, struct err *e)
{
    (void)e;
    reply_int(rq, 0, LIMIT_JOBID);
    reply_int(rq, 1, LIMIT_KEY);
    reply_int(rq, 2, LIMIT_VALUE_OLD);
    return REPLY;
}

enum outcome cmd_appnum(struct request *rq, struct err *e)
{
    (void)e;
    reply_int(rq, 0, rq->conn->member->appnum);
    return REPLY;
}

enum outcome cmd_universe(struct request *rq, struct err *e)
{
    (void)e;
    reply_int(rq, 0, request_job(rq)->universe);
    return REPLY;
}

enum outcome cmd_jobid(struct request *rq, struct err *e)
{
    (void)e;
    reply_text(rq, 0, request_job(rq)->id, strlen(request_job(rq)->id));
    return REPLY;
}

enum outcome cmd_finalize(struct request *rq, struct err *e)
{
    struct conn *c = rq->conn;
    struct server *s = c->server;

    c->state = CONN_FINAL;
    (void)e;
    if (c->tool && s->layer_ops && s->layer_ops->leaves(s->layer, rq))
        return PARKED;
    if (c->member && !c->member->finalized) {
        c->member->finalized = true;
        s->ops.finalized(s->host, c->member);
    }
    return REPLY;
}

enum { ABORT_WORLD, ABORT_CODE, ABORT_TEXT };

enum outcome cmd_abort(struct request *rq, struct err *e)
{
    struct conn *c = rq->conn;
    struct server *s = c->server;
    const struct value *a = rq->arg;
    bool world = !a[ABORT_WORLD].s || a[ABORT_WORLD].n;
    char cut[LIMIT_ABORT_TEXT + 1];

    (void)e;
    if (!c->member) {
        conn_fail(c, "abort before it said which rank it is");
        return SILENT;
    }
    snprintf(cut, sizeof cut, "%s", a[ABORT_TEXT].s ? a[ABORT_TEXT].s : "");
    s->ops.abort(s->host, c->member, world, a[ABORT_CODE].s ? (int)a[ABORT_CODE].n : 1, cut);
    return SILENT;
}

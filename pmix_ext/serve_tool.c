/* serve_tool.c - a tool says hello and gets its name (RFC0010); what there is to ask. */
#include "pmix_ext/commands.h"
#include "pmix_ext/pmix_ext_common.h"
#include "pmix_ext/serve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONNECT_NAME, CONNECT_VERSION, CONNECT_PAYLOAD, CONNECT_RANK };
enum { CONNECT_NSPACE_OUT = 1, CONNECT_RANK_OUT, CONNECT_SERVER_OUT,
       CONNECT_RESIDENT_OUT, CONNECT_JOB_OUT };
enum { CAPABILITIES_COMMANDS_OUT = 1, CAPABILITIES_VERSION_OUT };

/* Tools of one user may share a name, each with a rank of its own.  On the system's server
 * nobody learns the names of another user's. */
static bool name_is_taken(struct ext *x, uid_t uid, const char *name, uint32_t rank)
{
    struct session *s;

    TAILQ_FOREACH(s, &x->sessions, in_ext)
        if (s->who.tool && !strcmp(s->who.nspace, name) &&
            (s->who.uid == uid ? s->who.rank == rank : !x->ops.known_jobs))
            return true;
    return job_named(x->server, name) != NULL;
}

/* tool.<host>.<n>; the host part is cut where it is too long. */
static void make_name(struct ext *x, uid_t uid, char name[LIMIT_JOBID])
{
    do
        snprintf(name, LIMIT_JOBID, "tool.%.40s.%u", x->ops.hostname(x->host), ++x->tools);
    while (name_is_taken(x, uid, name, 0));
}

/* A word that is harmless wherever it is shown, as in the lines of a log. */
static bool is_name(const char *text, size_t len)
{
    struct buf shown = BUF_INIT;
    bool harmless;

    buf_escaped(&shown, text, len);
    harmless = !shown.failed && shown.len == len;
    buf_clear(&shown);
    return harmless && len < LIMIT_JOBID && !strpbrk(text, "; =");
}

/* What servers of a launcher are called by: the job of its command line. */
static void reply_job(struct request *rq, struct ext *x)
{
    struct fact_job j;

    for (size_t i = 0; !x->ops.known_jobs && x->ops.facts->job(x->host, i, &j); i++)
        if (j.number == 0) {
            reply_text(rq, CONNECT_JOB_OUT, j.nspace, strlen(j.nspace));
            return;
        }
}

enum outcome ext_tool_connect(struct request *rq, struct err *e)
{
    const struct value *wanted = &rq->arg[CONNECT_NAME], *number = &rq->arg[CONNECT_RANK];
    uint32_t rank = number->s ? (uint32_t)number->n : 0;
    struct conn *c = rq->conn;
    struct ext *x = ext_of(rq);
    char name[LIMIT_JOBID];
    struct session *s;

    if (!c->tool)
        return ext_fail(rq, e, PMIX_ERR_NOT_SUPPORTED, "this is a rank's connection");
    if (wanted->len && !is_name(wanted->s, wanted->len))
        return ext_fail(rq, e, PMIX_ERR_BAD_PARAM,
                        "name: at most %d bytes without ';', '=', blank, backslash or control "
                        "character", LIMIT_JOBID - 1);
    if (number->s && !wanted->len)
        return ext_fail(rq, e, PMIX_ERR_BAD_PARAM, "rank: without a name");
    if (wanted->len && name_is_taken(x, c->tool->uid, wanted->s, rank))
        return ext_fail(rq, e, PMIX_ERR_EXISTS, "the name %s:%u is taken", wanted->s, rank);
    if (wanted->len)
        memcpy(name, wanted->s, wanted->len + 1);
    else
        make_name(x, c->tool->uid, name);
    if (!(s = session_of(rq, e)))
        return FAILED;
    memcpy(s->who.nspace, name, sizeof name);
    s->who.rank = rank;
    s->payload = rq->arg[CONNECT_PAYLOAD].n;
    c->state = CONN_READY;
    session_audit(s, "has connected");
    reply_text(rq, CONNECT_NSPACE_OUT, s->who.nspace, strlen(s->who.nspace));
    reply_int(rq, CONNECT_RANK_OUT, rank);
    reply_text(rq, CONNECT_SERVER_OUT, x->ops.hostname(x->host),
               strlen(x->ops.hostname(x->host)));
    if (x->ops.known_jobs)
        reply_text(rq, CONNECT_RESIDENT_OUT, "TRUE", strlen("TRUE"));
    reply_job(rq, x);
    return REPLY;
}

enum outcome ext_capabilities(struct request *rq, struct err *e)
{
    const struct server *s = rq->conn->server;
    json_t *names = json_array();

    for (size_t i = 0; names && i < server_command_count(s); i++) {
        const char *name = server_command(s, i)->name[WIRE_2];

        if (name && !strncmp(name, "pmix-", 5) && ext_serves(ext_of(rq), server_command(s, i)))
            json_array_append_new(names, json_string(name));
    }
    reply_int(rq, CAPABILITIES_VERSION_OUT, EXT_VERSION);
    return reply_json(rq, CAPABILITIES_COMMANDS_OUT, names, e);
}

/* --- servers of this host ---------------------------------------------- */

static void add_text(json_t *to, const char *key, const char *text)
{
    if (*text)
        json_object_set_new(to, key, json_string(text));
}

static json_t *server_json(const struct rendezvous *r)
{
    json_t *x = json_object();

    if (!x)
        return NULL;
    if (*r->socket)
        json_object_set_new(x, "uri", json_sprintf("unix:%s", r->socket));
    add_text(x, "host", r->host);
    add_text(x, "nspace", r->nspace);
    json_object_set_new(x, "pid", json_integer(r->pid));
    json_object_set_new(x, "uid", json_integer(r->uid));
    json_object_set_new(x, "created", json_integer(r->created));
    json_object_set_new(x, "kind", json_string(r->system ? "system" : r->resident ? "user"
                                                                                  : "job"));
    return x;
}

enum outcome ext_servers(struct request *rq, struct err *e)
{
    struct ext *x = ext_of(rq);
    json_t *all = json_array();
    struct rendezvous *list = NULL;
    struct party who;
    int n;

    conn_party(rq->conn, &who);
    n = x->ops.servers ? x->ops.servers(x->host, who.uid, &list) : 0;
    for (int i = 0; i < n; i++)
        json_array_append_new(all, server_json(&list[i]));
    free(list);
    if (n < 0) {
        json_decref(all);
        return ext_fail(rq, e, PMIX_ERR_NOMEM, "no memory for a list of servers");
    }
    return reply_json(rq, 1, all, e);
}

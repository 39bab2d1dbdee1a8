/* serve_tool.c - a tool says hello and gets its name (RFC0010); what there is to ask. */
#include "pmix_ext/serve.h"

#include <stdio.h>
#include <string.h>

enum { CONNECT_NAME, CONNECT_VERSION, CONNECT_PAYLOAD };
enum { CONNECT_NSPACE_OUT = 1, CONNECT_RANK_OUT, CONNECT_SERVER_OUT };

static bool name_is_taken(struct ext *x, const char *name)
{
    struct session *s;

    TAILQ_FOREACH(s, &x->sessions, in_ext)
        if (s->who.tool && !strcmp(s->who.nspace, name))
            return true;
    return job_named(x->server, name) != NULL;
}

/* tool.<host>.<n>; the host part is cut where it is too long. */
static void make_name(struct ext *x, char name[LIMIT_JOBID])
{
    do
        snprintf(name, LIMIT_JOBID, "tool.%.40s.%u", x->ops.hostname(x->host), ++x->tools);
    while (name_is_taken(x, name));
}

enum outcome ext_tool_connect(struct request *rq, struct err *e)
{
    const struct value *wanted = &rq->arg[CONNECT_NAME];
    struct conn *c = rq->conn;
    struct ext *x = ext_of(rq);
    char name[LIMIT_JOBID];
    struct session *s;

    if (!c->tool)
        return ext_fail(rq, e, -47, "this is a rank's connection");
    if (wanted->len >= LIMIT_JOBID || (wanted->len && strpbrk(wanted->s, "; =\t\n")))
        return ext_fail(rq, e, -27, "name: at most %d bytes without ';', '=' or blank",
                        LIMIT_JOBID - 1);
    if (wanted->len && name_is_taken(x, wanted->s))
        return ext_fail(rq, e, -11, "the name %s is taken", wanted->s);
    if (wanted->len)
        memcpy(name, wanted->s, wanted->len + 1);
    else
        make_name(x, name);
    if (!(s = session_of(rq, e)))
        return FAILED;
    memcpy(s->who.nspace, name, sizeof name);
    s->payload = rq->arg[CONNECT_PAYLOAD].n;
    c->state = CONN_READY;
    reply_text(rq, CONNECT_NSPACE_OUT, s->who.nspace, strlen(s->who.nspace));
    reply_int(rq, CONNECT_RANK_OUT, 0);
    reply_text(rq, CONNECT_SERVER_OUT, x->ops.hostname(x->host),
               strlen(x->ops.hostname(x->host)));
    return REPLY;
}

enum outcome ext_capabilities(struct request *rq, struct err *e)
{
    const struct server *s = rq->conn->server;
    json_t *names = json_array();

    for (size_t i = 0; names && i < server_command_count(s); i++) {
        const char *name = server_command(s, i)->name[WIRE_2];

        if (name && !strncmp(name, "pmix-", 5))
            json_array_append_new(names, json_string(name));
    }
    return reply_json(rq, 1, names, e);
}

/* cmd_name.c - the name service: publish, unpublish, lookup.  Names live as long
 * as the launcher; only the job that published one may take it back. */
#include "pmi2/core.h"

enum { PUBLISH_NAME, PUBLISH_PORT };

static int check_service(const struct request *rq, struct err *e)
{
    if (rq->conn->server->options.no_names)
        return err_set(e, ERR_OTHER, "there is no name service");
    if (!rq->arg[PUBLISH_NAME].len)
        return err_set(e, ERR_INVALID_ARG, "the service name is empty");
    return 0;
}

enum outcome cmd_publish(struct request *rq, struct err *e)
{
    struct server *s = rq->conn->server;
    const struct value *name = &rq->arg[PUBLISH_NAME], *port = &rq->arg[PUBLISH_PORT];
    struct kvs_entry found;

    if (check_service(rq, e) < 0)
        return FAILED;
    if (kvs_get(s->names, name->s, &found)) {
        err_set(e, ERR_INVALID_KEY, "service %.64s is published already", name->s);
        return FAILED;
    }
    if (kvs_count(s->names) >= LIMIT_NAMES) {
        err_set(e, ERR_NOMEM, "more than %d names are published", LIMIT_NAMES);
        return FAILED;
    }
    if (kvs_put(s->names, request_job(rq)->number, name->s, port->s, port->len, e) < 0)
        return FAILED;
    return REPLY;
}

enum outcome cmd_unpublish(struct request *rq, struct err *e)
{
    struct server *s = rq->conn->server;
    const char *name = rq->arg[PUBLISH_NAME].s;
    struct kvs_entry found;

    if (check_service(rq, e) < 0)
        return FAILED;
    if (!kvs_get(s->names, name, &found)) {
        err_set(e, ERR_OTHER, "service_not_found");
        return FAILED;
    }
    if (found.src != request_job(rq)->number) {
        err_set(e, ERR_OTHER, "service %.64s belongs to another job", name);
        return FAILED;
    }
    kvs_remove(s->names, name);
    return REPLY;
}

enum outcome cmd_lookup(struct request *rq, struct err *e)
{
    struct kvs_entry found;

    if (check_service(rq, e) < 0)
        return FAILED;
    if (!kvs_get(rq->conn->server->names, rq->arg[PUBLISH_NAME].s, &found)) {
        err_set(e, ERR_OTHER, "service_not_found");
        return NOT_FOUND;
    }
    reply_text(rq, 0, found.value, found.len);
    return REPLY;
}

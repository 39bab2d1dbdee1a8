/* cmd_name.c - the name service: publish, unpublish, lookup.  Names live as long
 * as the launcher; only the job that published one may take it back.  The root has
 * them all. */
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

enum outcome name_publish(struct server *s, int owner, const char *name, const char *port,
                          size_t len, struct err *e)
{
    struct kvs_entry found;

    if (kvs_get(s->names, name, &found)) {
        err_set(e, ERR_INVALID_KEY, "service %.64s is published already", name);
        return FAILED;
    }
    if (kvs_count(s->names) >= LIMIT_NAMES) {
        err_set(e, ERR_NOMEM, "more than %d names are published", LIMIT_NAMES);
        return FAILED;
    }
    return kvs_put(s->names, owner, name, port, len, e) < 0 ? FAILED : REPLY;
}

enum outcome name_unpublish(struct server *s, int owner, const char *name, struct err *e)
{
    struct kvs_entry found;

    if (!kvs_get(s->names, name, &found)) {
        err_set(e, ERR_OTHER, "service_not_found");
        return FAILED;
    }
    if (found.src != owner) {
        err_set(e, ERR_OTHER, "service %.64s belongs to another job", name);
        return FAILED;
    }
    kvs_remove(s->names, name);
    return REPLY;
}

enum outcome name_lookup(struct server *s, const char *name, struct kvs_entry *out,
                         struct err *e)
{
    if (kvs_get(s->names, name, out))
        return REPLY;
    err_set(e, ERR_OTHER, "service_not_found");
    return NOT_FOUND;
}

enum outcome cmd_publish(struct request *rq, struct err *e)
{
    const struct value *name = &rq->arg[PUBLISH_NAME], *port = &rq->arg[PUBLISH_PORT];
    struct job *j = request_job(rq);

    if (check_service(rq, e) < 0)
        return FAILED;
    if (!is_root(j->server))
        return ask_name(rq, "name-publish", name->s, port->s, e);
    return name_publish(j->server, j->number, name->s, port->s, port->len, e);
}

enum outcome cmd_unpublish(struct request *rq, struct err *e)
{
    const char *name = rq->arg[PUBLISH_NAME].s;
    struct job *j = request_job(rq);

    if (check_service(rq, e) < 0)
        return FAILED;
    if (!is_root(j->server))
        return ask_name(rq, "name-unpublish", name, NULL, e);
    return name_unpublish(j->server, j->number, name, e);
}

enum outcome cmd_lookup(struct request *rq, struct err *e)
{
    const char *name = rq->arg[PUBLISH_NAME].s;
    struct kvs_entry found = { 0 };
    enum outcome o;

    if (check_service(rq, e) < 0)
        return FAILED;
    if (!is_root(rq->conn->server))
        return ask_name(rq, "name-lookup", name, NULL, e);
    o = name_lookup(rq->conn->server, name, &found, e);
    if (o == REPLY)
        reply_text(rq, 0, found.value, found.len);
    return o;
}

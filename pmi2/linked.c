/* linked.c - jobs that are connected.
 *
 * The root knows the connections; they are transitive: a job is connected to all that
 * its own are connected to (PMI v2 API draft, PMI2_Job_Connect). */
#include "pmi2/core.h"

#include <stdlib.h>
#include <string.h>

bool job_linked(const struct job *a, const struct job *b)
{
    for (size_t i = 0; i < a->nlinked; i++)
        if (a->linked[i] == b)
            return true;
    return false;
}

static int add_link(struct job *a, struct job *b)
{
    struct job **v = reallocarray(a->linked, a->nlinked + 1, sizeof *v);

    if (!v)
        return -1;
    a->linked = v;
    v[a->nlinked++] = b;
    return 0;
}

static void remove_link(struct job *a, const struct job *b)
{
    for (size_t i = 0; i < a->nlinked; i++)
        if (a->linked[i] == b) {
            a->linked[i] = a->linked[--a->nlinked];
            return;
        }
}

int job_connect(struct job *a, struct job *b, struct err *e)
{
    if (a == b || job_linked(a, b))
        return 0;
    if (add_link(a, b) < 0 || add_link(b, a) < 0) {
        remove_link(a, b);
        return err_set(e, ERR_NOMEM, "no memory to connect jobs");
    }
    return 0;
}

void job_disconnect(struct job *a, struct job *b)
{
    remove_link(a, b);
    remove_link(b, a);
}

void job_unlink(struct job *j)
{
    while (j->nlinked)
        job_disconnect(j, j->linked[j->nlinked - 1]);
    free(j->linked);
    j->linked = NULL;
}

/* Come by everything that is connected to j; each job once. */
static bool reaches(struct job *j, const struct job *to, unsigned walk)
{
    if (j == to)
        return true;
    j->seen = walk;
    for (size_t i = 0; i < j->nlinked; i++)
        if (j->linked[i]->seen != walk && reaches(j->linked[i], to, walk))
            return true;
    return false;
}

bool job_connected(struct job *a, struct job *b)
{
    return a == b || reaches(a, b, ++a->server->walk);
}

bool job_minds(struct job *a, struct job *b)
{
    return (a->target && !strcmp(a->target, b->id)) || job_connected(a, b);
}

/* --- commands ---------------------------------------------------------- */

static enum outcome no_job(const char *id, struct err *e)
{
    err_set(e, ERR_INVALID_ARG, "there is no job %.64s here", id);
    return FAILED;
}

static enum outcome not_connected(const char *id, struct err *e)
{
    err_set(e, ERR_INVALID_ARG, "job %.64s is not connected to this one", id);
    return FAILED;
}

enum outcome linked_connect(struct job *j, const char *id, const struct asked_by *by,
                            struct kvs_entry *found, struct err *e)
{
    struct job *other = job_named(j->server, id);

    if (!other)
        return foreign_connect(j, id, by, found, e);
    return job_connect(j, other, e) < 0 ? FAILED : REPLY;
}

enum outcome linked_disconnect(struct job *j, const char *id, struct err *e)
{
    struct job *other = job_named(j->server, id);

    if (!other)
        other = foreign_named(j->server, id);
    if (!other)
        return no_job(id, e);
    if (!job_linked(j, other))
        return not_connected(id, e);
    job_disconnect(j, other);
    if (other->foreign)
        foreign_disconnect(j, other);
    return REPLY;
}

enum outcome linked_get(struct job *j, const char *id, const char *key,
                        const struct asked_by *by, struct kvs_entry *found, struct err *e)
{
    struct job *other = job_named(j->server, id);

    if (!other)
        return foreign_get(j, id, key, by, found, e);
    if (!job_connected(j, other))
        return not_connected(id, e);
    return kvs_get(other->kvs, key, found) ? REPLY : NOT_FOUND;
}

enum outcome cmd_connect(struct request *rq, struct err *e)
{
    struct asked_by by = { .rq = rq, .copies = rq->conn->ours };
    const char *id = rq->arg[0].s;
    struct kvs_entry found = { 0 };
    enum outcome o;

    if (!is_root(rq->conn->server))
        return ask_job(rq, "job-connect", id, by.copies ? "copy" : NULL, e);
    o = linked_connect(request_job(rq), id, &by, &found, e);
    if (o == REPLY && found.value)
        reply_text(rq, 0, found.value, found.len);
    return o;
}

enum outcome cmd_disconnect(struct request *rq, struct err *e)
{
    const char *id = rq->arg[0].s;

    if (!is_root(rq->conn->server))
        return ask_job(rq, "job-disconnect", id, NULL, e);
    return linked_disconnect(request_job(rq), id, e);
}

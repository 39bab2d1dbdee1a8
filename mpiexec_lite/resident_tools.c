/* resident_tools.c - tools that call the resident server: a core without a job behind the
 * layer of extended commands (pmix_ext/serve_resident.c), and the socket where they call. */
#include "mpiexec_lite/resident_impl.h"

#include "mpiexec_lite/tools.h"
#include "pmix_ext/ext.h"
#include "pmix_ext/find.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER = 65536 };

struct resident_tools {
    struct resident *all;                /* borrowed */
    struct server   *server;             /* owned, as is what follows */
    struct ext      *ext;
    struct tools    *tools;
    char             hostname[HOST_NAME_MAX + 1], name[64];
    char             buffer[BUFFER];
};

/* --- what the core asks; of ranks and jobs there are none ---------------- */

static size_t op_send(void *host, void *link, const char *data, size_t len)
{
    (void)host;
    return pmi_conn_send(link, data, len);
}

static void op_fail(void *host, void *link, struct member *m, const char *why)
{
    const struct resident_tools *t = host;

    (void)m;
    if (t->all->args.verbose)
        resident_say("a tool was refused: %s", why);
    pmi_conn_fail(link);
}

static void op_log(void *host, enum log_level level, struct member *m, const char *text)
{
    const struct resident_tools *t = host;

    (void)m;
    if (t->all->args.verbose)            /* LOG_DEBUG says who it is about */
        resident_say("%s%s", level == LOG_DEBUG ? "" : "a tool: ", text);
}

static const struct host_ops host_ops = { .send = op_send, .fail = op_fail, .log = op_log };

/* --- what the layer asks ----------------------------------------------- */

static const char *op_hostname(void *host)
{
    return ((struct resident_tools *)host)->hostname;
}

static double op_now(void *host)
{
    (void)host;
    return (double)time(NULL);
}

static int op_log_line(void *host, enum ext_log to, int priority, const char *job,
                       const char *line, size_t len)
{
    (void)host;
    (void)to;
    (void)priority;
    (void)job;
    (void)line;
    (void)len;
    return ENOTSUP;
}

static bool add_id(void *user, const struct reg_job *j)
{
    struct buf *list = user;

    buf_printf(list, "%s%s", list->len ? "," : "", j->id);
    return true;
}

static void op_known_jobs(void *host, uid_t uid, struct buf *list)
{
    const struct resident *r = ((struct resident_tools *)host)->all;

    registry_each_job(r->registry, r->args.public_jobs ? 0 : uid, 0, add_id, list);
}

struct gathering { struct rendezvous *list; int n; const char *host; };

/* Launchers of this host whose sockets are known. */
static bool add_launcher(void *user, const struct reg_job *j)
{
    struct gathering *g = user;
    struct rendezvous *r = &g->list[g->n];

    if (!*j->tools || resident_is_far(j->client) || g->n == RENDEZVOUS_MOST)
        return true;
    *r = (struct rendezvous){ .pid = (pid_t)j->pid, .uid = j->owner, .created = j->since };
    snprintf(r->socket, sizeof r->socket, "%s", j->tools);
    snprintf(r->host, sizeof r->host, "%.*s", RENDEZVOUS_HOST - 1, j->host);
    snprintf(r->nspace, sizeof r->nspace, "%.*s", RENDEZVOUS_NAME - 1, j->id);
    g->n++;
    return true;
}

/* The system's server looks into no user's folder: it knows of those who told it. */
static int op_servers(void *host, uid_t uid, struct rendezvous **list)
{
    const struct resident_tools *t = host;
    struct gathering g = { 0 };

    if (!t->all->args.system)
        return find_all(list, NULL);
    g.n = rendezvous_list(true, NULL, list, NULL);
    g.list = g.n < 0 ? NULL : reallocarray(*list, RENDEZVOUS_MOST, sizeof *g.list);
    if (!g.list) {
        free(*list);
        *list = NULL;
        return -1;
    }
    registry_each_job(t->all->registry, uid, 0, add_launcher, &g);
    *list = g.list;
    return g.n;
}

static const struct ext_ops ext_ops = { .hostname = op_hostname, .now = op_now,
                                        .log = op_log_line, .servers = op_servers,
                                        .known_jobs = op_known_jobs };

/* --- its beginning and end --------------------------------------------- */

static int prepare(struct resident_tools *t, struct err *e)
{
    struct resident *r = t->all;
    struct tools_args args = { .loop = r->loop, .buffer = t->buffer, .size = sizeof t->buffer,
                               .pid = getpid(), .hostname = t->hostname, .nspace = t->name,
                               .system = r->args.system, .resident = true };
    struct server_options options = { .uid = geteuid(), .gid = getegid(), .no_names = true };

    gethostname(t->hostname, sizeof t->hostname - 1);
    snprintf(t->name, sizeof t->name, "pmi2_server.%s.%d", r->args.system ? "sys" : "user",
             (int)getpid());
    t->server = server_new(&host_ops, t, 0, &options);
    if (!t->server)
        return err_set(e, ERR_NOMEM, "no memory for tools");
    args.server = t->server;
    t->ext = ext_new(t->server, &ext_ops, t, e);
    if (t->ext)
        t->tools = tools_new(&args, e);
    return t->tools ? 0 : -1;
}

/* Without a place for its socket a user's server still keeps names; the system's is the one
 * of this host, or none. */
int resident_tools_open(struct resident *r, struct err *e)
{
    struct err why = { 0 };

    if (r->args.no_tools)
        return 0;
    r->tools = calloc(1, sizeof *r->tools);
    if (!r->tools)
        return err_set(e, ERR_NOMEM, "no memory for tools");
    r->tools->all = r;
    if (prepare(r->tools, &why) == 0)
        return 0;
    resident_tools_close(r);
    if (r->args.system)
        return err_set(e, why.code, "%s", why.text);
    resident_say("no tools can connect: %s", why.text);
    return 0;
}

void resident_tools_close(struct resident *r)
{
    struct resident_tools *t = r->tools;

    if (!t)
        return;
    tools_free(t->tools);
    ext_free(t->ext);
    if (t->server)
        server_free(t->server);
    free(t);
    r->tools = NULL;
}

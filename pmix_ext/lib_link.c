/* lib_link.c - a connection to a server; see lib.h */
#include "pmix_ext/lib.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE = 2 };           /* seconds that the end of a tool waits for its server */

/* --- reading ----------------------------------------------------------- */

static void on_told(void *host, const struct msg *m)
{
    if (!strcmp(m->cmd, "pmix-event"))
        event_take(host, m);
    else if (!strcmp(m->cmd, "pmix-iof-data"))
        iof_take(host, m);
}

/* The program's handlers hear that a server is gone. */
static void say_lost(const struct link *l)
{
    event_raise(&(struct event){ .status = PMIX_ERR_LOST_CONNECTION, .source = l->server }, false);
}

static void *reader_thread(void *arg)
{
    struct link *l = arg;
    bool closing;

    client_serve(&l->client, on_told, l);
    pthread_mutex_lock(&lib.lock);
    closing = l->closing;
    pthread_mutex_unlock(&lib.lock);
    if (!closing)
        say_lost(l);
    return NULL;
}

static pmix_status_t start_reader(struct link *l)
{
    l->client.served = l->extended = true;
    if (thread_start(&l->reader, reader_thread, l) == 0)
        return PMIX_SUCCESS;
    l->client.served = l->extended = false;
    return PMIX_ERR_OUT_OF_RESOURCE;
}

/* --- opening ----------------------------------------------------------- */

static struct link *link_new(void)
{
    struct link *l = calloc(1, sizeof *l);

    if (!l)
        return NULL;
    l->client = (struct client)CLIENT_INIT(l->client);
    l->refs = 1;
    pthread_mutex_init(&l->whole, NULL);
    return l;
}

static struct link *give_up(struct link *l)
{
    struct err e;

    client_close(&l->client, &e);
    free(l);
    return NULL;
}

static pmix_status_t name_rank(struct link *l)
{
    struct buf id = BUF_INIT;
    struct err e;
    bool ok = client_job_id(&l->client, &id, &e) == 0 && id.len && id.len <= PMIX_MAX_NSLEN;

    if (ok)
        PMIX_LOAD_PROCID(&l->me, buf_bytes(&id), (pmix_rank_t)l->client.rank);
    buf_clear(&id);
    PMIX_LOAD_PROCID(&l->server, l->me.nspace, PMIX_RANK_UNDEF);
    return ok ? PMIX_SUCCESS : PMIX_ERR_UNREACH;
}

struct link *link_open_rank(pmix_status_t *status)
{
    struct link *l;
    struct err e;

    *status = PMIX_ERR_UNREACH;          /* without either this process is no rank */
    if (!getenv("PMI_FD") && !getenv("PMI_PORT"))
        return NULL;
    if (!(l = link_new())) {
        *status = PMIX_ERR_NOMEM;
        return NULL;
    }
    l->rank = true;
    if (client_open(&l->client, &e) < 0)
        return give_up(l);
    *status = l->client.extended && l->client.thrids ? start_reader(l) : PMIX_SUCCESS;
    if (*status == PMIX_SUCCESS)
        *status = name_rank(l);
    if (*status == PMIX_SUCCESS)
        return l;
    l->closing = true;
    link_close(l);
    return NULL;
}

struct hello {
    struct link       *link;
    const pmix_proc_t *name;
    pmix_status_t      status;
};

static pmix_status_t take_name(struct link *l, const struct msg *m, struct err *e)
{
    const char *nspace = msg_get(m, "nspace"), *job = msg_get(m, "job");
    const char *server = job ? job : msg_get(m, "server");
    const struct pair *rank = msg_find(m, "rank");
    long long n = 0;

    if (!nspace || strlen(nspace) > PMIX_MAX_NSLEN || (server && strlen(server) > PMIX_MAX_NSLEN) ||
        (rank && pair_int(rank, 0, PMIX_RANK_VALID, &n, e) < 0))
        return PMIX_ERR_HANDSHAKE_FAILED;
    PMIX_LOAD_PROCID(&l->me, nspace, (pmix_rank_t)n);
    PMIX_LOAD_PROCID(&l->server, server ? server : nspace, 0);
    l->resident = msg_get(m, "resident");
    return PMIX_SUCCESS;
}

static int say_hello(struct client *c, void *user, struct err *e)
{
    struct hello *h = user;
    long long said = PMIX_SUCCESS;
    const struct pair *p;
    struct call k;
    int rc;

    call_start(&k, c, "pmix-tool-connect");
    if (*h->name->nspace)
        msg_str(&k.req, "name", h->name->nspace);
    if (h->name->rank != PMIX_RANK_UNDEF)
        msg_int(&k.req, "rank", h->name->rank);
    msg_str(&k.req, "version", VERSION);
    rc = call_run(&k, e);
    p = k.reply ? msg_find(&k.reply->m, "status") : NULL;
    if (rc == 0)
        h->status = take_name(h->link, &k.reply->m, e);
    else if (p && pair_int(p, INT32_MIN, -1, &said, NULL) == 0)
        h->status = (pmix_status_t)said;
    call_end(&k);
    c->thrids = c->extended = true;
    c->size = 1;
    return rc == 0 && h->status == PMIX_SUCCESS ? 0 : -1;
}

struct link *link_open_tool(int fd, const pmix_proc_t *name, const char *server,
                            pmix_status_t *status, struct err *e)
{
    struct hello h = { link_new(), name, PMIX_ERR_UNREACH };

    if (!h.link) {
        close(fd);
        *status = PMIX_ERR_NOMEM;
        return NULL;
    }
    if (client_open_as(&h.link->client, fd, say_hello, &h, e) < 0) {
        *status = h.status;
        return give_up(h.link);
    }
    if (*server)
        PMIX_LOAD_NSPACE(h.link->server.nspace, server);
    *status = start_reader(h.link);
    return *status == PMIX_SUCCESS ? h.link : give_up(h.link);
}

/* --- closing, using ---------------------------------------------------- */

struct link *link_primary(void)
{
    struct link *l;

    pthread_mutex_lock(&lib.lock);
    l = TAILQ_FIRST(&lib.links);
    if (l)
        l->refs++;
    pthread_mutex_unlock(&lib.lock);
    return l;
}

struct link *link_keep(struct link *l)
{
    pthread_mutex_lock(&lib.lock);
    l->refs++;
    pthread_mutex_unlock(&lib.lock);
    return l;
}

void link_drop(struct link *l)
{
    bool last;

    if (!l)
        return;
    pthread_mutex_lock(&lib.lock);
    last = --l->refs == 0;
    pthread_mutex_unlock(&lib.lock);
    if (last)
        free(l);
}

static void *close_thread(void *client)
{
    struct err e;

    client_close(client, &e);
    return NULL;
}

/* A tool says goodbye, but does not wait for long for a server that is stopped, or stuck: that
 * sees the connection's end whenever it goes on. */
static void part(struct client *c)
{
    struct timespec until;
    pthread_t thread;
    struct err e;

    if (thread_start(&thread, close_thread, c) < 0) {
        close_thread(c);
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += PATIENCE;
    if (pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &until) == 0)
        return;
    err_set(&e, ERR_OTHER, "the server does not answer");
    pthread_mutex_lock(&c->lock);
    client_break(c, &e);
    if (c->fd >= 0)
        shutdown(c->fd, SHUT_RDWR);
    pthread_mutex_unlock(&c->lock);
    pthread_join(thread, NULL);
}

void link_close(struct link *l)
{
    struct link *x;

    pthread_mutex_lock(&lib.lock);
    l->closing = true;
    TAILQ_FOREACH(x, &lib.links, in_lib)
        if (x == l) {
            TAILQ_REMOVE(&lib.links, l, in_lib);
            break;
        }
    pthread_mutex_unlock(&lib.lock);
    if (l->rank)
        close_thread(&l->client);
    else
        part(&l->client);
    if (l->extended)
        pthread_join(l->reader, NULL);
    link_drop(l);
}

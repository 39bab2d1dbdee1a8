/* client_boot.c - how a client finds its server, says hello and says goodbye.
 *
 * PMI_FD names a connected descriptor and wins over PMI_PORT, "host:port".  The
 * opening line is PMI-1 framed; everything after it is PMI-2, fullinit first.
 * Sources: PMI v2 API draft ("Initializing"), MPICH wiki "PMI-2 Wire Protocol",
 * and what Hydra and Slurm do. */
#include "pmi2/client.h"

#include "pmi2/kvs.h"
#include "wire/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* --------------------------------------------------------------- transport */

/* PMI_FD as a number of an open descriptor, or -1 and e. */
static int open_fd(const char *text, struct err *e)
{
    struct pair p = { "PMI_FD", text, strlen(text) };
    long long fd;
    int flags;

    if (pair_int(&p, 0, INT_MAX, &fd, e) < 0)
        return -1;
    flags = fcntl((int)fd, F_GETFD);
    if (flags < 0)
        return err_set(e, ERR_OTHER, "PMI_FD=%s is not an open descriptor", text);
    fcntl((int)fd, F_SETFD, flags | FD_CLOEXEC); /* a child must not hold it open */
    return (int)fd;
}

/* connect() that a signal may interrupt: then it goes on and poll sees its end. */
static int connect_whole(int fd, const struct addrinfo *ai)
{
    struct pollfd p = { fd, POLLOUT, 0 };
    int failed = 0;
    socklen_t len = sizeof failed;

    if (connect(fd, ai->ai_addr, ai->ai_addrlen) == 0)
        return 0;
    if (errno != EINTR)
        return -1;
    while (poll(&p, 1, -1) < 0 && errno == EINTR)
        ;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &failed, &len) < 0)
        return -1;
    errno = failed;
    return failed ? -1 : 0;
}

/* A connected socket, or -1 and errno. */
static int connect_one(const struct addrinfo *ai)
{
    int fd = socket(ai->ai_family, ai->ai_socktype | SOCK_CLOEXEC, ai->ai_protocol);
    int on = 1, saved;

    if (fd < 0)
        return -1;
    if (connect_whole(fd, ai) == 0) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        return fd;
    }
    saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

/* PMI_PORT: host and port part at the first colon, so no IPv6 address fits. */
static int open_port(const char *text, struct err *e)
{
    struct addrinfo want = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
    struct addrinfo *list, *ai;
    char host[256];
    const char *colon = strchr(text, ':');
    int rc, fd = -1;

    if (!colon || colon == text || (size_t)(colon - text) >= sizeof host)
        return err_set(e, ERR_INVALID_ARG, "PMI_PORT=%.80s is not host:port", text);
    memcpy(host, text, (size_t)(colon - text));
    host[colon - text] = '\0';
    rc = getaddrinfo(host, colon + 1, &want, &list);
    if (rc)
        return err_set(e, ERR_OTHER, "PMI_PORT=%.80s: %s", text, gai_strerror(rc));
    for (ai = list; ai && fd < 0; ai = ai->ai_next)
        fd = connect_one(ai);
    freeaddrinfo(list);
    if (fd < 0)
        err_set(e, ERR_OTHER, "PMI_PORT=%.80s: %s", text, strerror(errno));
    return fd;
}

/* ------------------------------------------------------------ opening line */

/* An optional number of a message: 0 and *out (def if it is not there), or -1. */
static int number(const struct msg *m, const char *key, long long min, int def, int *out,
                  struct err *e)
{
    const struct pair *p = msg_find(m, key);
    long long v = def;

    if (p && pair_int(p, min, INT_MAX, &v, e) < 0)
        return -1;
    *out = (int)v;
    return 0;
}

/* What the server says to our init line. */
static int judge_init(struct client *c, const struct msg *m, struct err *e)
{
    const char *rc = msg_get(m, "rc"), *text = msg_get(m, "errmsg");

    if (strcmp(m->cmd, "response_to_init"))
        return err_set(e, ERR_OTHER, "init was answered by '%.40s'", m->cmd);
    if (number(m, "pmi_version", 0, 0, &c->version, e) < 0 ||
        number(m, "pmi_subversion", 0, 0, &c->subversion, e) < 0)
        return -1;
    if (rc && !strcmp(rc, "0") && (c->version == 2 || !c->version)) {
        c->version = 2;
        return 0;
    }
    if (!c->version || c->version == 2)
        return err_set(e, ERR_OTHER, "the PMI server refuses init%s%.80s",
                       text ? ": " : "", text ? text : "");
    return err_set(e, ERR_OTHER, "the PMI server refuses PMI 2.0, it speaks PMI %d.%d",
                   c->version, c->subversion);
}

static int greet(struct client *c, struct err *e)
{
    static const char hello[] = "cmd=init pmi_version=2 pmi_subversion=0\n";
    struct frame f;
    struct msg m;
    int rc;

    if (client_send(c, hello, sizeof hello - 1, -1, e) < 0 ||
        client_next_frame(c, &f, e) < 0)
        return -1;
    if (f.kind != FRAME_LINE)
        return err_set(e, ERR_OTHER, "the PMI server answers init with a block");
    msg_init(&m);
    rc = wire_v1.parse(&m, f.text, f.len, e);
    if (rc == 0)
        rc = judge_init(c, &m, e);
    msg_clear(&m);
    c->framer.wire = WIRE_2;
    return rc;
}

/* ---------------------------------------------------------------- fullinit */

/* Whether a comma list has the word. */
static bool has_word(const char *list, const char *word)
{
    size_t n = strlen(word);

    for (const char *s = list; s; s = strchr(s, ',')) {
        s += *s == ',';
        if (!strncmp(s, word, n) && (s[n] == ',' || !s[n]))
            return true;
    }
    return false;
}

static int take_fullinit(struct client *c, const struct msg *m, struct err *e)
{
    const char *ext = msg_get(m, "extensions");

    if (!msg_find(m, "rank") || !msg_find(m, "size"))
        return err_set(e, ERR_OTHER, "%s has no rank or no size", m->cmd);
    if (number(m, "size", 1, 0, &c->size, e) < 0 ||
        number(m, "rank", 0, 0, &c->rank, e) < 0 ||
        number(m, "appnum", INT_MIN, 0, &c->appnum, e) < 0 ||
        number(m, "pmi-version", 0, c->version, &c->version, e) < 0 ||
        number(m, "pmi-subversion", 0, c->subversion, &c->subversion, e) < 0)
        return err_context(e, "%s", m->cmd);
    if (c->rank >= c->size)
        return err_set(e, ERR_OTHER, "%s: rank %d of %d", m->cmd, c->rank, c->size);
    c->spawned = msg_find(m, "spawner-jobid") != NULL;
    c->thrids = ext && has_word(ext, "thrid");
    c->shows_abort = ext && has_word(ext, "abort-text");
    c->read_only = ext && has_word(ext, "read-only");
    c->copies = ext && has_word(ext, "kvs-copy");
    c->extended = ext && has_word(ext, "pmix");
    if (ext && has_word(ext, "constants"))
        client_take_constants(c);
    return 0;
}

static int add_id(struct call *k, const struct client_id *id, struct err *e)
{
    size_t len = id->jobid ? strlen(id->jobid) : 0;
    long long rank;

    if (len) {
        if (len > LIMIT_VALUE_OLD || !utf8_valid(id->jobid, len))
            return err_set(e, ERR_INVALID_VAL, "PMI_JOBID is no job id");
        msg_str(&k->req, "pmijobid", id->jobid);
    }
    if (id->rank) {
        struct pair p = { "PMI_RANK", id->rank, strlen(id->rank) };

        if (pair_int(&p, 0, INT_MAX, &rank, e) < 0)
            return -1;
        msg_int(&k->req, "pmirank", rank);
    }
    msg_str(&k->req, "threaded", "TRUE");
    msg_str(&k->req, "extensions", "1");
    return 0;
}

static int fullinit(struct client *c, const struct client_id *id, struct err *e)
{
    struct call k;
    int rc;

    call_start(&k, c, "fullinit");
    rc = add_id(&k, id, e);
    if (rc == 0)
        rc = call_run(&k, e);
    if (rc == 0)
        rc = take_fullinit(c, &k.reply->m, e);
    call_end(&k);
    return rc;
}

/* --------------------------------------------------------------- life cycle */

static bool env_true(const char *name)
{
    const char *s = getenv(name);

    return s && *s && strcmp(s, "0") != 0;
}

/* The right to open: 1, or 0 if open already, or -1.  Waits while another thread
 * opens. */
static int claim(struct client *c, struct err *e)
{
    int rc = -1;

    pthread_mutex_lock(&c->lock);
    while (c->joining || c->state == CLIENT_OPENING)
        pthread_cond_wait(&c->turn, &c->lock);
    if (c->state == CLIENT_UP || c->state == CLIENT_SINGLE)
        rc = 0;
    else if (c->state == CLIENT_NEW)
        rc = 1;
    else if (c->state == CLIENT_BROKEN)
        *e = c->why;
    else
        err_set(e, ERR_INIT, "PMI is finalised");
    if (rc == 1)
        c->state = CLIENT_OPENING;
    pthread_mutex_unlock(&c->lock);
    return rc;
}

/* Leave the opening state: up, or broken and closed for good. */
static int settle(struct client *c, int rc, struct err *e)
{
    pthread_mutex_lock(&c->lock);
    if (rc == 0) {
        c->state = CLIENT_UP;
    } else {
        err_context(e, "PMI2_Init");
        client_break(c, e);
        c->why = *e;
        c->size = 0;                     /* never was initialised */
        client_shut(c, CLIENT_BROKEN);
    }
    pthread_cond_broadcast(&c->turn);
    pthread_mutex_unlock(&c->lock);
    return rc;
}

int client_greet(struct client *c, const struct client_id *id, struct err *e)
{
    framer_init(&c->framer, CLIENT_REPLY_MAX);
    return greet(c, e) < 0 ? -1 : fullinit(c, id, e);
}

/* fd -1: it could not be opened, as e says. */
static int open_over(struct client *c, int fd, const struct client_id *id, struct err *e)
{
    c->fd = fd;
    return settle(c, fd < 0 ? -1 : client_greet(c, id, e), e);
}

int client_open_as(struct client *c, int fd, client_hello *hello, void *user, struct err *e)
{
    int rc = claim(c, e);

    if (rc != 1)
        return rc;
    c->fd = fd;
    framer_init(&c->framer, LIMIT_FRAME_LINK);
    rc = greet(c, e);
    return settle(c, rc == 0 ? hello(c, user, e) : rc, e);
}

int client_open_fd(struct client *c, int fd, const struct client_id *id, struct err *e)
{
    int rc = claim(c, e);

    return rc == 1 ? open_over(c, fd, id, e) : rc;
}

static int open_single(struct client *c, struct err *e)
{
    int rc;

    pthread_mutex_lock(&c->lock);
    rc = single_open(c, e);
    c->state = rc == 0 ? CLIENT_SINGLE : CLIENT_NEW;
    pthread_cond_broadcast(&c->turn);
    pthread_mutex_unlock(&c->lock);
    return rc;
}

int client_open(struct client *c, struct err *e)
{
    const char *fd = getenv("PMI_FD"), *port = getenv("PMI_PORT");
    const char *rank = getenv("PMI_ID");
    struct client_id id = { getenv("PMI_JOBID"), rank ? rank : getenv("PMI_RANK") };
    int rc = claim(c, e);

    if (rc != 1)
        return rc;
    c->trace = env_true("PMI2_DEBUG") || env_true("PMI_DEBUG");
    if (!fd && !port)
        return open_single(c, e);
    return open_over(c, fd ? open_fd(fd, e) : open_port(port, e), &id, e);
}

void client_shut(struct client *c, enum client_state state)
{
    c->state = state;
    if (c->fd >= 0)
        shutdown(c->fd, SHUT_RDWR);      /* who reads or writes comes back */
    while (c->ncalls || c->served) {
        struct call *k;

        TAILQ_FOREACH(k, &c->calls, link)
            pthread_cond_signal(&k->wake);
        pthread_cond_broadcast(&c->turn);
        pthread_cond_wait(&c->idle, &c->lock);
    }
    pthread_cond_broadcast(&c->turn);
    pthread_mutex_lock(&c->writing);
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
    pthread_mutex_unlock(&c->writing);
    framer_clear(&c->framer);
    kvs_free(c->kvs);
    kvs_free(c->node);
    c->kvs = c->node = NULL;
    for (int i = 0; i < CLIENT_CONSTANTS; i++) {
        free(c->constants[i]);
        c->constants[i] = NULL;
    }
}

static int say_goodbye(struct client *c, struct err *e)
{
    struct call k;
    int rc;

    call_start(&k, c, "finalize");
    rc = call_run(&k, e);
    call_end(&k);
    return rc;
}

int client_close(struct client *c, struct err *e)
{
    int rc;

    if (single_enter(c)) {
        client_shut(c, CLIENT_DONE);
        return single_leave(c, 0);
    }
    rc = say_goodbye(c, e);              /* says why, if c is not open */
    pthread_mutex_lock(&c->lock);
    if (c->state == CLIENT_UP || c->state == CLIENT_BROKEN)
        client_shut(c, CLIENT_DONE);
    pthread_mutex_unlock(&c->lock);
    return rc;
}

static int format_abort(bool world, int code, const char *text, struct buf *out, struct err *e)
{
    struct msg m;
    int rc;

    msg_init(&m);
    msg_start(&m, "abort");
    msg_str(&m, "isworld", world ? "TRUE" : "FALSE");
    if (code)
        msg_int(&m, "exitcode", code);
    if (text && *text)
        msg_str(&m, "msg", text);
    rc = wire_v2.format(&m, CLIENT_REQUEST_MAX, out, e);
    msg_clear(&m);
    return rc;
}

bool client_abort(struct client *c, bool world, int code, const char *text)
{
    struct err e = { ERR_NONE, "" };
    struct buf out = BUF_INIT;
    bool sent = client_state(c) == CLIENT_UP &&
                format_abort(world, c->extended ? code : 0, text, &out, &e) == 0 &&
                client_send(c, buf_bytes(&out), out.len, 2, &e) == 0;

    buf_clear(&out);
    err_set(&e, ERR_INIT, "PMI2_Abort was called");
    pthread_mutex_lock(&c->lock);
    client_break(c, &e);
    pthread_mutex_unlock(&c->lock);
    return sent && c->shows_abort;
}

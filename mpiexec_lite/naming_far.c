/* naming_far.c - see naming_far.h */
#include "mpiexec_lite/naming_far.h"

#include "mpiexec_lite/address.h"
#include "mpiexec_lite/handshake.h"
#include "mpiexec_lite/sealed.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ADDRESSES = 8 };

struct stream {
    struct name_line *line;
    struct sealed *sealed;           /* owned */
    LIST_ENTRY(stream) in_list;
};

struct name_line {
    struct handshake h;              /* first */
    struct ev_loop  *loop;           /* borrowed */
    struct munger   *munger;         /* owned */
    name_line_done  *done;
    void           (*over)(void *host, const char *why); /* NULL: nobody asks */
    void            *host;
    int              onto;           /* owned: the other end of the next stream; -1: a new one */
    char             where[ADDRESS_HOST + 8];
    struct sockaddr_in to[ADDRESSES];
    int              n, next;        /* addresses; the one to be dialled */
    LIST_HEAD(, stream) streams;     /* those that are lost end by themselves */
};

static bool trusts(void *host, uid_t uid)
{
    (void)host;
    return uid == geteuid() || uid == 0;
}

static void stream_over(void *host, struct sealed *s, const char *why)
{
    struct stream *x = host;
    struct name_line *f = x->line;

    (void)s;
    LIST_REMOVE(x, in_list);
    free(x);
    if (f->over)                         /* else its user sees the end */
        f->over(f->host, why);
}

/* Our end of a stream over this connection, which is taken; or -1. */
static int open_stream(struct name_line *f)
{
    struct stream *x = calloc(1, sizeof *x);
    int plain = f->onto, tcp = f->h.fd;

    if (!x)
        return -1;
    f->h.fd = f->onto = -1;
    x->line = f;
    x->sealed = plain < 0 ? sealed_new(f->loop, tcp, &f->h.login.keys, &f->h.in, &plain,
                                       stream_over, x)
                          : sealed_new_on(f->loop, tcp, plain, &f->h.login.keys, &f->h.in,
                                          stream_over, x);
    if (!x->sealed) {
        free(x);
        return -1;
    }
    LIST_INSERT_HEAD(&f->streams, x, in_list);
    return plain;
}

static void dial_next(struct name_line *f, const struct err *why);

static void on_over(struct handshake *h, bool accepted)
{
    struct name_line *f = (struct name_line *)h;
    struct err why = h->login.e;
    int fd = accepted ? open_stream(f) : -1;

    if (accepted && fd < 0)
        err_set(&why, ERR_NOMEM, "no memory or descriptors");
    handshake_clear(h);
    if (fd >= 0)
        f->done(f->host, fd, NULL);
    else
        dial_next(f, &why);
}

/* why: what was wrong with the one before. */
static void dial_next(struct name_line *f, const struct err *why)
{
    struct login_conf conf = { .purpose = LOGIN_NAMES, .job = "", .uid = geteuid(),
                               .trusts = trusts };
    char address[HANDSHAKE_ADDRESS];
    struct err e = *why;
    int fd;

    if (f->next == f->n) {
        err_context(&e, "%.60s", f->where);
        f->done(f->host, -1, &e);
        return;
    }
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || (connect(fd, (struct sockaddr *)&f->to[f->next], sizeof *f->to) < 0 &&
                   errno != EINPROGRESS)) {
        err_set(&e, ERR_OTHER, "%s", strerror(errno));
        if (fd >= 0)
            close(fd);
        f->next++;
        dial_next(f, &e);
        return;
    }
    inet_ntop(AF_INET, &f->to[f->next].sin_addr, address, sizeof address);
    snprintf(address + strlen(address), 8, ":%u", ntohs(f->to[f->next].sin_port));
    conf.address = address;
    f->next++;
    handshake_start(&f->h, f->loop, f->munger, fd, LOGIN_CLIENT, &conf, on_over);
}

void name_line_onto(struct name_line *f, int plain, void (*over)(void *host, const char *why))
{
    f->onto = plain;
    f->over = over;
}

void name_line_dial(struct name_line *f)
{
    static const struct err none = { 0 };

    f->next = 0;
    dial_next(f, &none);
}

static int look_up(struct name_line *f, const char *where, struct err *e)
{
    struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM }, *all;
    struct address a;
    int rc;

    if (address_read(&a, where, 0, e) < 0)
        return -1;
    rc = getaddrinfo(a.host, NULL, &hints, &all);
    if (rc)
        return err_set(e, ERR_OTHER, "%.80s: %s", a.host, gai_strerror(rc));
    for (struct addrinfo *i = all; i && f->n < ADDRESSES; i = i->ai_next) {
        memcpy(&f->to[f->n], i->ai_addr, sizeof *f->to);
        f->to[f->n++].sin_port = htons((uint16_t)a.port);
    }
    freeaddrinfo(all);
    snprintf(f->where, sizeof f->where, "%s:%u", a.host, a.port);
    return 0;
}

struct name_line *name_line_new(struct ev_loop *loop, const char *where, const char *munge_socket,
                    name_line_done *done, void *host, struct err *e)
{
    struct name_line *f = calloc(1, sizeof *f);

    if (!f) {
        err_set(e, ERR_NOMEM, "out of memory");
        return NULL;
    }
    f->loop = loop;
    f->done = done;
    f->host = host;
    f->onto = -1;
    LIST_INIT(&f->streams);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);  /* keys will be in our memory */
    if (look_up(f, where, e) == 0) {
        f->munger = munger_new(loop, munge_socket, NULL);
        if (f->munger)
            return f;
        err_set(e, ERR_NOMEM, "no memory for munge");
    }
    name_line_free(f);
    return NULL;
}

void name_line_free(struct name_line *f)
{
    struct stream *x;

    if (!f)
        return;
    handshake_clear(&f->h);
    while ((x = LIST_FIRST(&f->streams))) {
        LIST_REMOVE(x, in_list);
        sealed_finish(x->sealed);
        free(x);
    }
    munger_free(f->munger);
    if (f->onto >= 0)
        close(f->onto);
    free(f);
}

/* fake_server.h - a PMI-2 server that plays a script, for tests of the client.
 *
 * The server is a thread at the other end of a socketpair.  It reads a request,
 * plays the next line of its script, and so on.  A line that begins with "cmd=" is
 * framed for it (the first, init, is a PMI-1 line); one that begins with '!' goes
 * out as it is, without the '!', and one with '$' does and ends the connection; @
 * stands for the thrid of the request; "" and the end of the script end it, too. */
#ifndef TEST_FAKE_SERVER_H
#define TEST_FAKE_SERVER_H

#include "pmi2/client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define INIT_OK "cmd=response_to_init rc=0 pmi_version=2 pmi_subversion=0"
#define FULL                                                                            \
    "cmd=fullinit-response;rc=0;pmi-version=2;pmi-subversion=0;rank=1;size=4;appnum=2;" \
    "debugged=FALSE;pmiverbose=FALSE;"
#define FULL_THRID FULL "extensions=more,thrid;"
#define BYE        "cmd=finalize-response;rc=0;"
#define BYE_THRID  "cmd=finalize-response;thrid=@;rc=0;"
#define GOT        "cmd=kvs-get-response;rc=0;"
#define GOT_THRID  "cmd=kvs-get-response;thrid=@;rc=0;"

enum { LINES = 32, SEEN = 512 };

struct fake {
    int               fd;
    const char *const *script;
    bool              bytewise;      /* one write a byte */
    char              seen[LINES][SEEN];  /* requests, without length, cut */
    int               requests;
    pthread_t         thread;
};

/* ------------------------------------------------------------- fake server */

static inline void fake_write(struct fake *f, const char *data, size_t n)
{
    for (size_t at = 0; at < n;) {
        ssize_t w = send(f->fd, data + at, f->bytewise ? 1 : n - at, MSG_NOSIGNAL);

        if (w < 0)
            return;                      /* the client has gone: its test will say */
        at += (size_t)w;
    }
}

static inline bool fake_read(int fd, char *to, size_t n)
{
    for (size_t at = 0; at < n;) {
        ssize_t r = read(fd, to + at, n - at);

        if (r <= 0)
            return false;
        at += (size_t)r;
    }
    return true;
}

static inline bool read_line(int fd, char *to, size_t max)
{
    size_t n = 0;

    while (n + 1 < max && fake_read(fd, to + n, 1))
        if (to[n++] == '\n') {
            to[n - 1] = '\0';
            return true;
        }
    return false;
}

/* One PMI-2 request into a heap text, or NULL at the end. */
static inline char *read_frame(int fd)
{
    char head[7] = "", *body;
    size_t n;

    if (!fake_read(fd, head, 6))
        return NULL;
    n = strtoul(head, NULL, 10);
    body = calloc(1, n + 1);
    if (fake_read(fd, body, n))
        return body;
    free(body);
    return NULL;
}

static inline void thrid_of(const char *req, char *out, size_t max)
{
    const char *at = strstr(req, ";thrid=");
    size_t n = at ? strcspn(at + 7, ";") : 0;

    n = n < max ? n : max - 1;
    memcpy(out, at ? at + 7 : "", n);
    out[n] = '\0';
}

/* Send a body in its frame, the thrid of req for every @. */
static inline void send_framed(struct fake *f, const char *body, const char *req)
{
    char thrid[32], *out = malloc(strlen(body) * 32 + 16), head[8];
    size_t n = 6;

    thrid_of(req, thrid, sizeof thrid);
    for (const char *s = body; *s; s++) {
        const char *piece = *s == '@' ? thrid : s;
        size_t len = *s == '@' ? strlen(thrid) : 1;

        memcpy(out + n, piece, len);
        n += len;
    }
    snprintf(head, sizeof head, "%6u", (unsigned)(n - 6) % 1000000);
    memcpy(out, head, 6);
    fake_write(f, out, n);
    free(out);
}

/* Play one line; false: the connection is to be closed. */
static inline bool play(struct fake *f, int i, const char *req)
{
    const char *line = f->script[i];

    if (!line || !*line)
        return false;
    if (*line == '!' || *line == '$')
        fake_write(f, line + 1, strlen(line + 1));
    else if (i == 0) {
        fake_write(f, line, strlen(line));
        fake_write(f, "\n", 1);
    } else {
        send_framed(f, line, req);
    }
    return *line != '$' && f->script[i + 1];
}

static inline void *fake_run(void *arg)
{
    struct fake *f = arg;
    bool more = read_line(f->fd, f->seen[0], SEEN);
    char *req = NULL;

    for (int i = 0; more && i < LINES; i++) {
        f->requests = i + 1;
        if (i)
            snprintf(f->seen[i], SEEN, "%.*s", SEEN - 1, req);
        more = play(f, i, f->seen[i]);
        free(req);
        req = more ? read_frame(f->fd) : NULL;
        more = req != NULL;
    }
    free(req);
    close(f->fd);
    return NULL;
}

/* Start the fake; the client's descriptor. */
static inline int fake_start(struct fake *f, const char *const *script, bool bytewise)
{
    int sv[2];

    memset(f, 0, sizeof *f);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv), 0);
    f->fd = sv[1];
    f->script = script;
    f->bytewise = bytewise;
    assert_int_equal(pthread_create(&f->thread, NULL, fake_run, f), 0);
    return sv[0];
}

static inline void fake_join(struct fake *f)
{
    pthread_join(f->thread, NULL);
}

static const struct client_id id_of_1 = { "job7", "1" };

/* A client that is open, and the fake that it talks to. */
static inline void start(struct client *c, struct fake *f, const char *const *script)
{
    struct err e = { 0 };

    assert_int_equal(client_open_fd(c, fake_start(f, script, false), &id_of_1, &e), 0);
}

static inline void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" does not have \"%s\"", text, part);
}

#endif

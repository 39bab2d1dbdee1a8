/* fuzz_client.c - a client whose server says anything.
 *
 * Input: a byte n, n % 16 bytes of which each chooses a call, then all that the
 * server will ever say; behind it the stream ends.
 *
 * Properties: every call returns; failures come with a code of the API and a
 * sentence; what a successful opening tells makes sense; a broken client stays
 * broken; values that are found are text; after the end nothing is open. */
#include "test/fuzz/fuzz.h"

#include "pmi2/client.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* More would not fit into the socket at once. */
enum { INPUT_MOST = 60000 };

struct results { struct buf out, more; bool found; int number; };

typedef int call_fn(struct client *c, struct results *r, struct err *e);

static int do_put(struct client *c, struct results *r, struct err *e)
{
    (void)r;
    return client_put(c, "key", "a;value;", e);
}

static int do_fence(struct client *c, struct results *r, struct err *e)
{
    (void)r;
    return client_fence(c, e);
}

static int do_get(struct client *c, struct results *r, struct err *e)
{
    return client_get(c, "job0", -1, "key", &r->out, &r->found, e);
}

static int do_put_attr(struct client *c, struct results *r, struct err *e)
{
    (void)r;
    return client_put_attr(c, "key", "value", e);
}

static int do_node_attr(struct client *c, struct results *r, struct err *e)
{
    return client_get_attr(c, true, "key", true, &r->out, &r->found, e);
}

static int do_job_attr(struct client *c, struct results *r, struct err *e)
{
    return client_get_attr(c, false, "PMI_process_mapping", false, &r->out, &r->found, e);
}

static int do_publish(struct client *c, struct results *r, struct err *e)
{
    (void)r;
    return client_publish(c, "name", 0, NULL, "port", e);
}

static int do_lookup(struct client *c, struct results *r, struct err *e)
{
    return client_lookup(c, "name", 0, NULL, &r->out, e);
}

static int do_unpublish(struct client *c, struct results *r, struct err *e)
{
    (void)r;
    return client_unpublish(c, "name", e);
}

static int do_job_id(struct client *c, struct results *r, struct err *e)
{
    return client_job_id(c, &r->out, e);
}

/* The other job's leader says what we say. */
struct echo { char text[8192]; int in, out; };

static int echo_write(const void *buf, int len, void *ctx)
{
    struct echo *x = ctx;
    int room = (int)sizeof x->text - x->in, n = len < room ? len : room;

    memcpy(x->text + x->in, buf, (size_t)n);
    x->in += n;
    return n;
}

static int echo_read(void *buf, int max, void *ctx)
{
    struct echo *x = ctx;
    int there = x->in - x->out, n = max < there ? max : there;

    memcpy(buf, x->text + x->out, (size_t)n);
    x->out += n;
    return n;
}

static int do_connect(struct client *c, struct results *r, struct err *e)
{
    struct echo x = { .in = 0 };
    struct client_channel ch = { echo_read, echo_write, &x, 1 };

    (void)r;
    return client_connect(c, "job1", &ch, e);
}

static int do_disconnect(struct client *c, struct results *r, struct err *e)
{
    (void)r;
    return client_disconnect(c, "job1", e);
}

static int do_ring(struct client *c, struct results *r, struct err *e)
{
    return client_ring(c, "me", &r->number, &r->out, &r->more, e);
}

static int do_spawn(struct client *c, struct results *r, struct err *e)
{
    const char *cmds[] = { "a", "b" }, *argv[] = { "x y", "z", NULL };
    const char **argvs[] = { argv, NULL };
    const int maxprocs[] = { 2, 1 };
    int *errors = malloc(3 * sizeof *errors);        /* ASan: exactly three */
    struct client_spawn s = { .ncmds = 2, .cmds = cmds, .argvs = argvs, .maxprocs = maxprocs };
    int rc;

    MUST(errors);
    rc = client_spawn(c, &s, &r->out, errors, e);
    free(errors);
    return rc;
}

static int do_open_again(struct client *c, struct results *r, struct err *e)
{
    (void)r;
    return client_open(c, e);
}

static int do_close(struct client *c, struct results *r, struct err *e)
{
    (void)r;
    return client_close(c, e);
}

static call_fn *const calls[] = {
    do_put, do_fence, do_get, do_put_attr, do_node_attr, do_job_attr, do_publish, do_lookup,
    do_unpublish, do_job_id, do_connect, do_disconnect, do_ring, do_spawn, do_open_again,
    do_close,
};

static void check_failure(const struct err *e)
{
    MUST(e->code >= ERR_INIT && e->code <= ERR_OTHER);
    MUST(*e->text && memchr(e->text, '\0', sizeof e->text));
}

static void check_found_text(const struct buf *b)
{
    MUST(!b->failed);
    MUST(!b->len || (strlen(buf_bytes(b)) == b->len));
}

static void one_call(struct client *c, call_fn *call)
{
    struct results r = { BUF_INIT, BUF_INIT, false, 0 };
    struct err e = { 0 };
    enum client_state before = client_state(c), after;
    int rc = call(c, &r, &e);

    after = client_state(c);
    MUST(rc == 0 || rc == -1);
    if (rc < 0)
        check_failure(&e);
    else
        MUST(before == CLIENT_UP);
    MUST(before != CLIENT_BROKEN || after == CLIENT_BROKEN || call == do_close);
    check_found_text(&r.out);
    check_found_text(&r.more);
    buf_clear(&r.out);
    buf_clear(&r.more);
}

/* The server's end of a new pair, with all it has to say; *fd: the client's. */
static int server_with(const uint8_t *data, size_t size, int *fd)
{
    int pair[2];

    MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    for (size_t at = 0; at < size;) {
        ssize_t n = write(pair[0], data + at, size - at);

        MUST(n > 0);
        at += (size_t)n;
    }
    MUST(shutdown(pair[0], SHUT_WR) == 0);
    *fd = pair[1];
    return pair[0];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct client *c;
    struct client_id id = { "job0", "1" };
    struct err e = { 0 };
    size_t ncalls;
    int fd, peer, rc;

    if (!size || size > INPUT_MOST)
        return 0;
    ncalls = data[0] % 16;
    if (size < 1 + ncalls)
        return 0;
    c = malloc(sizeof *c);
    MUST(c);
    *c = (struct client)CLIENT_INIT(*c);
    TAILQ_INIT(&c->calls);
    peer = server_with(data + 1 + ncalls, size - 1 - ncalls, &fd);
    rc = client_open_fd(c, fd, &id, &e);
    if (rc == 0)
        MUST(client_state(c) == CLIENT_UP && c->size > 0 && c->rank >= 0 && c->rank < c->size);
    else
        check_failure(&e);
    for (size_t i = 0; i < ncalls; i++)
        one_call(c, calls[data[1 + i] % (sizeof calls / sizeof *calls)]);
    client_close(c, &e);
    MUST(fcntl(fd, F_GETFD) < 0 && errno == EBADF);
    MUST(!c->framer.held.data && !c->ncalls && !c->kvs && !c->node);
    free(c);
    close(peer);
    return 0;
}

/* munge_helper.c - see munge_helper.h; the only file that knows libmunge. */
#include "mpiexec_lite/munge_helper.h"

#include "wire/seal.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

_Static_assert((int)MUNGER_CREDENTIAL >= (int)MUNGER_PAYLOAD, "both fit an answer");

/* Descriptors that are closed one by one, where the kernel has no way for all. */
#define MOST_OPEN (1 << 20)

/* --- libmunge -----------------------------------------------------------------
 * Its ABI (libmunge.so.2) as of munge.h, which need not be there; test_munger.c
 * compares the numbers. */

struct munge_ctx;

struct lib {
    int (*encode)(char **cred, struct munge_ctx *ctx, const void *data, int len);
    int (*decode)(const char *cred, struct munge_ctx *ctx, void **data, int *len,
                  uid_t *uid, gid_t *gid);
    struct munge_ctx *(*ctx_create)(void);
    void (*ctx_destroy)(struct munge_ctx *ctx);
    int (*ctx_get)(struct munge_ctx *ctx, int opt, ...);
    int (*ctx_set)(struct munge_ctx *ctx, int opt, ...);
    const char *(*ctx_strerror)(struct munge_ctx *ctx);
    const char *(*strerror)(int code);
};

enum { OPT_CIPHER = 0, OPT_MAC = 1, OPT_TTL = 4, OPT_ENCODE_TIME = 6, OPT_DECODE_TIME = 7,
       OPT_SOCKET = 8, OPT_UID_RESTRICTION = 9 };
enum { CIPHER_AES128 = 4, MAC_SHA256 = 5, TTL = 60 };

/* --- one question ------------------------------------------------------------- */

struct helper {
    struct lib  lib;
    bool        loaded;
    const char *socket, *library;        /* NULL: the usual */
    char        text[MUNGE_TEXT];              /* of the answer being made */
};

static void say(struct helper *h, const char *fmt, ...) PRINTF(2, 3);

static void say(struct helper *h, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(h->text, sizeof h->text, fmt, ap);
    va_end(ap);
}

/* Tried again at every request until it works: nothing has to be started anew after
 * munge was installed. */
static int load(struct helper *h)
{
    const struct { const char *name; void *to; } symbols[] = {
        { "munge_encode", &h->lib.encode }, { "munge_decode", &h->lib.decode },
        { "munge_ctx_create", &h->lib.ctx_create },
        { "munge_ctx_destroy", &h->lib.ctx_destroy },
        { "munge_ctx_get", &h->lib.ctx_get }, { "munge_ctx_set", &h->lib.ctx_set },
        { "munge_ctx_strerror", &h->lib.ctx_strerror },
        { "munge_strerror", &h->lib.strerror },
    };
    void *so;

    if (h->loaded)
        return 0;
    so = dlopen(h->library ? h->library : "libmunge.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!so) {
        say(h, "munge is not installed: %s (Debian package libmunge2)", dlerror());
        return -1;
    }
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *at = dlsym(so, symbols[i].name);

        if (!at) {
            say(h, "munge: %s", dlerror());
            dlclose(so);
            return -1;
        }
        memcpy(symbols[i].to, &at, sizeof at);   /* an object pointer for a function's */
    }
    h->loaded = true;
    return 0;
}

/* A context for one call: decoding leaves the peer's options in it. */
static struct munge_ctx *context(struct helper *h)
{
    struct munge_ctx *ctx = h->lib.ctx_create();

    if (ctx && h->socket && h->lib.ctx_set(ctx, OPT_SOCKET, h->socket) != MUNGE_OK) {
        h->lib.ctx_destroy(ctx);
        ctx = NULL;
    }
    if (!ctx)
        say(h, "munge: no memory");
    return ctx;
}

/* Is somebody at this path?  A datagram socket cannot be connected to a stream's, and
 * the kernel says so only when there is one: munged itself is not troubled.  0, or
 * errno. */
static int probe(const char *path)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    int fd, rc;

    if (strlen(path) >= sizeof a.sun_path)
        return ENAMETOOLONG;
    memcpy(a.sun_path, path, strlen(path));
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return errno;
    rc = connect(fd, (struct sockaddr *)&a, sizeof a) < 0 ? errno : 0;
    close(fd);
    return rc == EPROTOTYPE ? 0 : rc;
}

/* libmunge would try for two seconds, and then say it in its own way. */
static int check_there(struct helper *h, struct munge_ctx *ctx, struct munge_answer *a)
{
    const char *path = NULL;
    int errnum;

    if (h->lib.ctx_get(ctx, OPT_SOCKET, &path) != MUNGE_OK || !path || !(errnum = probe(path)))
        return 0;
    a->code = MUNGE_SOCKET;
    say(h, "munge: %s: %s", path, strerror(errnum));
    return -1;
}

static void say_why(struct helper *h, struct munge_ctx *ctx, int code)
{
    const char *why = h->lib.ctx_strerror(ctx);

    say(h, "munge: %s", why ? why : h->lib.strerror(code));
}

/* libmunge's memory, into a buffer of ours. */
static void move_out(struct munge_answer *a, char *to, size_t size, void *data, size_t len)
{
    if (data && len <= size) {
        memcpy(to, data, len);
        a->data = (uint32_t)len;
    }
    if (data)
        seal_wipe(data, len);
    free(data);
}

static void too_long(struct helper *h, struct munge_answer *a, size_t len, size_t size)
{
    if (a->code != MUNGE_OK || len <= size)
        return;
    a->code = MUNGE_UNREACHABLE;
    say(h, "munge: its answer has %zu bytes, at most %zu", len, size);
}

static void encode(struct helper *h, struct munge_ctx *ctx, const struct munge_question *q,
                   const char *payload, struct munge_answer *a, char *to)
{
    char *cred = NULL;
    size_t n;

    if (h->lib.ctx_set(ctx, OPT_TTL, TTL) != MUNGE_OK ||
        h->lib.ctx_set(ctx, OPT_UID_RESTRICTION, (uid_t)q->reader) != MUNGE_OK ||
        h->lib.ctx_set(ctx, OPT_CIPHER, CIPHER_AES128) != MUNGE_OK ||
        h->lib.ctx_set(ctx, OPT_MAC, MAC_SHA256) != MUNGE_OK) {
        say(h, "munge: a credential cannot be restricted as it must be");
        return;
    }
    a->code = h->lib.encode(&cred, ctx, payload, (int)q->len);
    if (a->code != MUNGE_OK)
        say_why(h, ctx, a->code);
    n = cred ? strlen(cred) : 0;
    too_long(h, a, n, MUNGER_CREDENTIAL);
    move_out(a, to, MUNGER_CREDENTIAL, cred, n);
}

static void get_times(struct helper *h, struct munge_ctx *ctx, struct munge_answer *a)
{
    time_t t;

    if (a->code != MUNGE_OK && a->code != MUNGE_EXPIRED && a->code != MUNGE_REWOUND &&
        a->code != MUNGE_REPLAYED)
        return;
    if (h->lib.ctx_get(ctx, OPT_ENCODE_TIME, &t) == MUNGE_OK)
        a->encoded = t;
    if (h->lib.ctx_get(ctx, OPT_DECODE_TIME, &t) == MUNGE_OK)
        a->decoded = t;
}

static void decode(struct helper *h, struct munge_ctx *ctx, const char *cred,
                   struct munge_answer *a, char *to)
{
    uid_t uid = (uid_t)-1;
    gid_t gid = (gid_t)-1;
    void *data = NULL;
    int len = 0;

    a->code = h->lib.decode(cred, ctx, &data, &len, &uid, &gid);
    if (a->code != MUNGE_OK)
        say_why(h, ctx, a->code);
    a->uid = uid;
    get_times(h, ctx, a);
    too_long(h, a, (size_t)len, MUNGER_PAYLOAD);
    move_out(a, to, MUNGER_PAYLOAD, data, (size_t)len);
}

/* --- the process -------------------------------------------------------------- */

static void read_all(int fd, void *to, size_t n)
{
    char *at = to;

    while (n) {
        ssize_t got = read(fd, at, n);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)                    /* the parent is gone, or is done with us */
            _exit(0);
        at += got;
        n -= (size_t)got;
    }
}

static void write_all(int fd, const void *from, size_t n)
{
    const char *at = from;

    while (n) {
        ssize_t put = write(fd, at, n);

        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            _exit(0);
        at += put;
        n -= (size_t)put;
    }
}

static void serve(struct helper *h, const struct munge_question *q, const char *in,
                  struct munge_answer *a, char *out)
{
    struct munge_ctx *ctx = load(h) == 0 ? context(h) : NULL;

    if (!ctx)
        return;
    if (check_there(h, ctx, a) == 0) {
        if (q->decode)
            decode(h, ctx, in, a, out);
        else
            encode(h, ctx, q, in, a, out);
    }
    h->lib.ctx_destroy(ctx);
}

static void answer_one(struct helper *h, int fd)
{
    char in[MUNGER_CREDENTIAL + 1], out[MUNGER_CREDENTIAL];
    struct munge_answer a = { .code = MUNGE_UNREACHABLE, .uid = (uint32_t)-1 };
    struct munge_question q;

    h->text[0] = '\0';
    read_all(fd, &q, sizeof q);
    if (q.len > MUNGER_CREDENTIAL)
        _exit(0);
    read_all(fd, in, q.len);
    in[q.len] = '\0';
    serve(h, &q, in, &a, out);
    a.text = (uint32_t)strlen(h->text);
    write_all(fd, &a, sizeof a);
    write_all(fd, h->text, a.text);
    write_all(fd, out, a.data);
    seal_wipe(in, sizeof in);
    seal_wipe(out, sizeof out);
}

/* Keep the socket, as descriptor 3, and nothing else. */
static int keep_only(int fd)
{
    int s = fcntl(fd, F_DUPFD, 4), null = open("/dev/null", O_RDWR);
    long max = sysconf(_SC_OPEN_MAX);

    if (max < 0 || max > MOST_OPEN)
        max = MOST_OPEN;
    if (s < 0 || null < 0)
        return -1;
    for (int i = 0; i < 3; i++)
        if (dup2(null, i) < 0)
            return -1;
    if (dup2(s, 3) < 0)
        return -1;
    if (syscall(SYS_close_range, 4u, ~0u, 0u) < 0)       /* before Linux 5.9 */
        for (int i = 4; i < max; i++)
            close(i);
    return 3;
}

_Noreturn void munge_helper_run(int fd, const char *socket, const char *library,
                                pid_t parent)
{
    struct helper h = { .socket = socket, .library = library };
    sigset_t all;

    /* Its life is its parent's, so no signal but KILL concerns it; a SIGPIPE when
     * munged goes away must not. */
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
        _exit(1);
    prctl(PR_SET_NAME, "mpiexec-munge");
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_DUMPABLE, 0);           /* parts of keys pass through its memory */
    setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
    clearenv();
    fd = keep_only(fd);
    if (fd < 0 || chdir("/") < 0)
        _exit(1);
    for (;;)
        answer_one(&h, fd);
}

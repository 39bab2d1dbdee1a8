/* resident.c - see resident.h.  Here: its socket, its clients, the loop, and its files. */
#include "mpiexec_lite/resident_impl.h"

#include "mpiexec_lite/gate.h"
#include "mpiexec_lite/now.h"
#include "pmix_ext/rundir.h"
#include "wire/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 512, DESCRIPTORS_OF_A_USER = 4096, SPARE_DESCRIPTORS = 32, STRANGERS = 80 };
static const double TRY_AGAIN = 0.1;     /* seconds, when there are no descriptors */

void resident_say(const char *fmt, ...)
{
    struct buf safe = BUF_INIT;
    char text[600];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    buf_escaped(&safe, text, strlen(text));
    fprintf(stderr, "pmi2_server: %s\n", safe.failed ? "(no memory)" : buf_bytes(&safe));
    buf_clear(&safe);
}

/* --- clients ----------------------------------------------------------- */

static void client_free(struct client *c)
{
    struct resident *r = c->all;

    if (r->store)                        /* else it is the server that ends, not the jobs */
        registry_job_end(r->registry, c, NULL);
    resident_forget(c);
    TAILQ_REMOVE(&r->clients, c, in_all);
    r->used -= c->descriptors;
    dialog_clear(&c->dialog);
    free(c);
}

static void on_closed(void *host, struct dialog *d, const char *why)
{
    struct client *c = host;

    (void)d;
    if (*why && c->all->args.verbose)
        resident_say("uid %u, %s: %s", (unsigned)c->uid, c->from, why);
    client_free(c);
}

static const struct dialog_ops dialog_ops = { resident_message, on_closed };

static int used_by(const struct resident *r, uid_t uid)
{
    const struct client *c;
    int n = resident_guests(r, uid) * FAR_DESCRIPTORS;

    TAILQ_FOREACH(c, &r->clients, in_all)
        if (c->uid == uid)
            n += c->descriptors;
    return n;
}

/* Whether this peer may come in; why not is for the log. */
static bool may_enter(const struct resident *r, uid_t uid, const char *from, int descriptors)
{
    if (!r->args.system && uid != geteuid() && uid != 0) {
        resident_say("uid %u, %s was refused: this is the server of uid %u", (unsigned)uid, from,
                     (unsigned)geteuid());
        return false;
    }
    if (r->used + descriptors > r->most || used_by(r, uid) + descriptors > r->most_of_user) {
        if (r->args.verbose)
            resident_say("uid %u, %s was refused: too many connections", (unsigned)uid, from);
        return false;
    }
    return true;
}

void resident_enter(struct resident *r, int fd, uid_t uid, const char *from, int descriptors)
{
    struct client *c = may_enter(r, uid, from, descriptors) ? calloc(1, sizeof *c) : NULL;

    if (!c) {
        close(fd);
        return;
    }
    c->all = r;
    c->uid = uid;
    snprintf(c->from, sizeof c->from, "%s", from);
    c->descriptors = descriptors;
    TAILQ_INSERT_TAIL(&r->clients, c, in_all);
    r->used += descriptors;
    dialog_init(&c->dialog, r->loop, fd, LIMIT_FRAME_RANK, &dialog_ops, c);
}

static void on_connect(struct ev_loop *loop, ev_io *w, int revents)
{
    struct resident *r = w->data;
    int fd = accept4(r->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct ucred peer;
    socklen_t len = sizeof peer;
    char from[32];

    (void)revents;
    if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)) {
        ev_io_stop(loop, w);
        ev_timer_set(&r->again, TRY_AGAIN, 0.);
        ev_timer_start(loop, &r->again);
    }
    if (fd < 0)
        return;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0) {
        close(fd);
        return;
    }
    snprintf(from, sizeof from, "pid %d", (int)peer.pid);
    resident_enter(r, fd, peer.uid, from, 1);
}

static void on_again(struct ev_loop *loop, ev_timer *w, int revents)
{
    struct resident *r = w->data;

    (void)revents;
    ev_io_start(loop, &r->readable);
}

/* --- the turn ---------------------------------------------------------- */

static int load_one(void *user, const struct reg_name *n)
{
    return registry_load(user, n);
}

static int load(struct resident *r, struct err *e)
{
    if (store_load(r->store, load_one, r->registry, e) < 0)
        return -1;
    registry_loaded(r->registry, now_seconds());
    return 0;
}

/* One commit; then, and only then, the replies. */
static void settle(struct resident *r)
{
    struct err e = { 0 };

    if (store_commit(r->store, &e) < 0) {
        resident_say("%s", e.text);
        resident_spoil(r, &e);
        registry_unload(r->registry);
        if (load(r, &e) < 0) {
            resident_say("%s", e.text);
            r->broken = true;
            ev_break(r->loop, EVBREAK_ALL);
        }
    }
    resident_send(r);
}

static void on_prepare(struct ev_loop *loop, ev_prepare *w, int revents)
{
    struct resident *r = w->data;
    double now = now_seconds(), due;
    bool again;

    (void)revents;
    registry_tick(r->registry, now);
    again = resident_meet(r);
    settle(r);
    due = again ? now : registry_due(r->registry);
    if (due == r->due)
        return;
    r->due = due;
    ev_timer_stop(loop, &r->tick);
    if (due > 0) {
        ev_timer_set(&r->tick, due > now ? due - now : 0, 0.);
        ev_timer_start(loop, &r->tick);
    }
}

/* Only to end the wait. */
static void on_tick(struct ev_loop *loop, ev_timer *w, int revents)
{
    (void)loop;
    (void)revents;
    ((struct resident *)w->data)->due = 0;
}

static void on_signal(struct ev_loop *loop, ev_signal *w, int revents)
{
    (void)w;
    (void)revents;
    ev_break(loop, EVBREAK_ALL);
}

/* --- set-up ------------------------------------------------------------ */

/* Who has the lock file locked is the server of this socket. */
static int take_lock(struct resident *r, struct err *e)
{
    char path[RUNDIR_PATH + 8], pid[24] = "";
    ssize_t n;

    snprintf(path, sizeof path, "%s.lock", r->args.socket);
    r->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (r->lock < 0)
        return err_set(e, ERR_OTHER, "%.150s: %s", path, strerror(errno));
    if (flock(r->lock, LOCK_EX | LOCK_NB) < 0) {
        n = pread(r->lock, pid, sizeof pid - 1, 0);
        return err_set(e, ERR_OTHER, "a server runs already%s%.*s: %.108s",
                       n > 0 ? ", process " : "", n > 0 ? (int)strcspn(pid, "\n") : 0, pid,
                       r->args.socket);
    }
    n = snprintf(pid, sizeof pid, "%d\n", (int)getpid());
    if (ftruncate(r->lock, 0) < 0 || pwrite(r->lock, pid, (size_t)n, 0) != n)
        return err_set(e, ERR_OTHER, "%.150s: %s", path, strerror(errno));
    return 0;
}

static int start_listening(struct resident *r, struct err *e)
{
    struct sockaddr_un me = { .sun_family = AF_UNIX };
    struct stat there;
    mode_t old;
    int rc;

    if (strlen(r->args.socket) >= sizeof me.sun_path)
        return err_set(e, ERR_LENGTH, "the path of a socket is at most %zu bytes",
                       sizeof me.sun_path - 1);
    memcpy(me.sun_path, r->args.socket, strlen(r->args.socket) + 1);
    r->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (lstat(me.sun_path, &there) == 0 && !S_ISSOCK(there.st_mode))
        return err_set(e, ERR_OTHER, "%.108s is there, and is no socket", me.sun_path);
    unlink(me.sun_path);                 /* of one that was killed: we have the lock */
    old = umask(r->args.system ? 0111 : 0177);
    rc = r->fd < 0 ? -1 : bind(r->fd, (struct sockaddr *)&me, sizeof me);
    umask(old);
    r->listens = rc == 0;
    if (rc < 0 || listen(r->fd, BACKLOG) < 0)
        return err_set(e, ERR_OTHER, "%.108s: %s", r->args.socket, strerror(errno));
    return 0;
}

/* As many descriptors as we may have; one user gets an eighth of them. */
static int raise_limit(struct resident *r, struct err *e)
{
    struct rlimit l;

    if (getrlimit(RLIMIT_NOFILE, &l) < 0)
        l.rlim_cur = 256;
    else if (l.rlim_cur < l.rlim_max) {
        l.rlim_cur = l.rlim_max < 65536 ? l.rlim_max : 65536;
        setrlimit(RLIMIT_NOFILE, &l);
    }
    r->most = l.rlim_cur > 65536 ? 65536 : (int)l.rlim_cur - SPARE_DESCRIPTORS;
    if (r->args.listen)
        r->most -= STRANGERS;            /* who have not logged in yet, and munge */
    r->most_of_user = r->args.system ? r->most / 8 : r->most;
    if (r->most_of_user > DESCRIPTORS_OF_A_USER)
        r->most_of_user = DESCRIPTORS_OF_A_USER;
    return r->most_of_user > 0 ? 0
           : err_set(e, ERR_OTHER, "%lu descriptors are too few (ulimit -n)",
                     (unsigned long)l.rlim_cur);
}

static void watch(struct resident *r)
{
    static const int signals[] = { SIGTERM, SIGINT, SIGHUP };

    ev_io_init(&r->readable, on_connect, r->fd, EV_READ);
    ev_timer_init(&r->again, on_again, 0., 0.);
    ev_timer_init(&r->tick, on_tick, 0., 0.);
    ev_prepare_init(&r->prepare, on_prepare);
    r->readable.data = r->again.data = r->tick.data = r->prepare.data = r;
    ev_io_start(r->loop, &r->readable);
    ev_prepare_start(r->loop, &r->prepare);
    for (int i = 0; i < 3; i++) {
        ev_signal_init(&r->signals[i], on_signal, signals[i]);
        ev_signal_start(r->loop, &r->signals[i]);
    }
}

static int prepare(struct resident *r, struct err *e)
{
    uint64_t seed;

    if (getrandom(&seed, sizeof seed, 0) != sizeof seed)
        return err_set(e, ERR_OTHER, "no random numbers");
    if (raise_limit(r, e) < 0)
        return -1;
    r->loop = ev_loop_new(EVBACKEND_EPOLL | EVFLAG_NOENV);
    r->registry = registry_new(&resident_ops, r, seed);
    if (!r->loop || !r->registry)
        return err_set(e, ERR_NOMEM, "cannot set up: no memory or descriptors");
    if (take_lock(r, e) < 0)
        return -1;
    r->store = store_open(r->args.state, e);
    if (!r->store || load(r, e) < 0 || resident_far_open(r, e) < 0 || start_listening(r, e) < 0 ||
        resident_tools_open(r, e) < 0)
        return -1;
    watch(r);
    return 0;
}

struct resident *resident_new(const struct resident_args *args, struct err *e)
{
    struct resident *r = calloc(1, sizeof *r);

    if (!r) {
        err_set(e, ERR_NOMEM, "out of memory");
        return NULL;
    }
    r->args = *args;
    r->lock = r->fd = -1;
    TAILQ_INIT(&r->clients);
    LIST_INIT(&r->tickets);
    LIST_INIT(&r->guests);
    TAILQ_INIT(&r->replies);
    TAILQ_INIT(&r->meetings);
    msg_init(&r->out);
    if (prepare(r, e) == 0)
        return r;
    resident_free(r);
    return NULL;
}

int resident_run(struct resident *r)
{
    if (r->args.verbose)
        resident_say("ready: %s, %zu names", r->args.socket, registry_names(r->registry));
    ev_run(r->loop, 0);
    if (!r->broken)
        settle(r);
    if (r->args.verbose)
        resident_say("ended: %zu names stay", registry_names(r->registry));
    return r->broken ? -1 : 0;
}

/* Jobs that run on keep their names: they come back to the next server. */
void resident_free(struct resident *r)
{
    struct client *c;

    if (!r)
        return;
    resident_tools_close(r);
    resident_guests_close(r);
    store_close(r->store);
    r->store = NULL;
    while ((c = TAILQ_FIRST(&r->clients)))
        client_free(c);
    gate_free(r->gate);
    registry_free(r->registry);
    if (r->listens)
        unlink(r->args.socket);
    if (r->fd >= 0)
        close(r->fd);
    if (r->lock >= 0)
        close(r->lock);
    msg_clear(&r->out);
    if (r->loop)
        ev_loop_destroy(r->loop);
    free(r);
}

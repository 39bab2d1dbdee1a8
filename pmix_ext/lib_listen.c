/* lib_listen.c - launchers that a tool has started call it; see lib.h.
 *
 * The tool listens once somebody asks for its URI (PMIX_MYSERVER_URI), which it puts into the
 * environment of a launcher as PMIX_LAUNCHER_RNDZ_URI.  A launcher makes the connection and
 * nothing else: from then on it is a server as all others, and is asked. */
#include "pmix_ext/lib.h"

#include "pmix_ext/reason.h"
#include "pmix_ext/rendezvous.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { SECOND = 1000000000, LOOK = 20000000 };   /* ns */

static const struct ask directives_ask = { "pmix-launch-directives", NULL, TAKES_NOTHING, 0,
                                           NULL };

/* --- a launcher calls -------------------------------------------------- */

static bool is_trusted(int fd, pid_t *pid)
{
    struct ucred who;
    socklen_t len = sizeof who;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) < 0)
        return false;
    *pid = who.pid;
    return who.uid == geteuid() || who.uid == 0;
}

const pmix_data_array_t *directives_of(const pmix_value_t *v)
{
    const pmix_data_array_t *a = v->type == PMIX_DATA_ARRAY ? v->data.darray : NULL;

    return a && (!a->size || (a->type == PMIX_INFO && a->array)) ? a : NULL;
}

pmix_status_t link_direct(struct link *l, const pmix_data_array_t *directives)
{
    static const pmix_info_t none = { .key = "" };
    struct op op;

    op_start_on(&op, &directives_ask, l);
    op_array(&op, "infos", PMIX_INFO, directives->size ? directives->array : &none,
             directives->size);
    return op_do(&op);
}

/* What the program has kept for its launchers (PMIx_Store_internal, PMIx_Spawn); a copy that is
 * the caller's, or false. */
static bool kept_directives(pmix_value_t *to)
{
    const struct datum *d;
    bool found;

    pthread_mutex_lock(&lib.lock);
    d = datum_find(&lib.kept, PMIX_LAUNCH_DIRECTIVES);
    found = d && PMIx_Value_xfer(to, &d->info.value) == PMIX_SUCCESS;
    pthread_mutex_unlock(&lib.lock);
    return found;
}

pmix_status_t link_direct_kept(struct link *l)
{
    pmix_value_t v = PMIX_VALUE_STATIC_INIT;
    const pmix_data_array_t *directives;
    pmix_status_t status;

    if (!kept_directives(&v))
        return PMIX_SUCCESS;
    directives = directives_of(&v);
    status = directives ? link_direct(l, directives) : PMIX_ERR_TYPE_MISMATCH;
    PMIX_VALUE_DESTRUCT(&v);
    return status == PMIX_ERR_INVALID_OPERATION || status == PMIX_ERR_NOT_SUPPORTED ? PMIX_SUCCESS
                                                                                    : status;
}

static void add_caller(struct link *l, pid_t pid)
{
    bool begun;

    l->called = true;
    l->caller[0] = pid;
    l->caller[1] = rendezvous_parent_of(pid);
    l->refused = link_direct_kept(l);
    pthread_mutex_lock(&lib.lock);
    begun = lib.inits > 0;
    if (begun) {
        lib_insert(l, false);
        pthread_cond_broadcast(&lib.listening.came);
    }
    pthread_mutex_unlock(&lib.lock);
    if (!begun)
        link_close(l);
}

/* Who calls is the user's own; but a launcher that says nothing is hung up when we end. */
static void take_call(int fd, pid_t pid)
{
    const pmix_proc_t any = { .rank = PMIX_RANK_UNDEF };
    struct err e = { 0 };
    pmix_status_t status;
    struct link *l;

    pthread_mutex_lock(&lib.lock);
    lib.listening.busy = fd;
    pthread_mutex_unlock(&lib.lock);
    l = link_open_tool(fd, &any, "", &status, &e);
    pthread_mutex_lock(&lib.lock);
    lib.listening.busy = -1;
    pthread_mutex_unlock(&lib.lock);
    if (l)
        add_caller(l, pid);
}

static void *listener_thread(void *arg)
{
    struct listening *x = arg;
    struct pollfd p[] = { { x->fd, POLLIN, 0 }, { x->wake[0], POLLIN, 0 } };
    pid_t pid;
    int fd;

    for (;;) {
        if (poll(p, 2, -1) < 0 && errno != EINTR)
            return NULL;
        if (p[1].revents)
            return NULL;
        fd = accept4(x->fd, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0 && is_trusted(fd, &pid))
            take_call(fd, pid);
        else if (fd >= 0)
            close(fd);
    }
}

/* --- listening --------------------------------------------------------- */

static int open_socket(struct listening *x, struct err *e)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    char folder[RUNDIR_PATH];
    int rc;

    if (rendezvous_folder(false, folder, sizeof folder, e) < 0 ||
        rendezvous_calls(folder, getpid(), x->path, e) < 0)
        return -1;
    memcpy(a.sun_path, x->path, sizeof x->path);
    x->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    unlink(x->path);                     /* of a process that had our number before */
    rc = x->fd < 0 ? -1 : bind(x->fd, (struct sockaddr *)&a, sizeof a);
    if (rc == 0 && chmod(x->path, 0600) == 0 && listen(x->fd, SOMAXCONN) == 0)
        return 0;
    return err_set(e, ERR_OTHER, "%s: %s", x->path, strerror(errno));
}

/* What has been opened so far. */
static void close_all(struct listening *x)
{
    if (x->fd >= 0) {
        close(x->fd);
        unlink(x->path);
    }
    for (int i = 0; i < 2; i++)
        if (x->wake[i] >= 0)
            close(x->wake[i]);
    x->fd = x->wake[0] = x->wake[1] = -1;
}

/* lib.listening.life is held. */
static int begin(struct listening *x, struct err *e)
{
    if (open_socket(x, e) < 0) {
        close_all(x);
        return -1;
    }
    if (pipe2(x->wake, O_CLOEXEC) < 0 || thread_start(&x->thread, listener_thread, x) < 0) {
        close_all(x);
        return err_set(e, ERR_OTHER, "cannot listen for launchers: %s", strerror(errno));
    }
    x->on = true;
    return 0;
}

pmix_status_t listen_uri(char *uri, size_t size)
{
    struct listening *x = &lib.listening;
    struct err e = { 0 };
    int rc = 0;

    if (!lib_begun())
        return PMIX_ERR_INIT;
    pthread_mutex_lock(&x->life);
    if (!x->on)
        rc = begin(x, &e);
    if (rc == 0)
        snprintf(uri, size, "unix:%s", x->path);
    pthread_mutex_unlock(&x->life);
    if (rc == 0)
        return PMIX_SUCCESS;
    reason_keep(PMIX_ERR_OUT_OF_RESOURCE, e.text);
    return PMIX_ERR_OUT_OF_RESOURCE;
}

void listen_end(void)
{
    struct listening *x = &lib.listening;

    pthread_mutex_lock(&x->life);
    if (x->on) {
        pthread_mutex_lock(&lib.lock);
        if (x->busy >= 0)
            shutdown(x->busy, SHUT_RDWR);
        pthread_mutex_unlock(&lib.lock);
        if (write(x->wake[1], "", 1) == 1)
            pthread_join(x->thread, NULL);
        close_all(x);
        x->on = false;
    }
    pthread_mutex_unlock(&x->life);
}

/* --- waiting for one --------------------------------------------------- */

/* pid: of the launcher's front, which its server is a child of; 0: of any. */
static bool is_meant(const struct link *l, const char *nspace, pid_t pid)
{
    if (*nspace)
        return PMIX_CHECK_NSPACE(l->server.nspace, nspace);
    return l->called && !l->met && (pid <= 0 || l->caller[0] == pid || l->caller[1] == pid);
}

/* The first that is meant, referenced; or NULL.  lib.lock is held. */
static struct link *meant(const char *nspace, pid_t pid)
{
    struct link *l;

    TAILQ_FOREACH(l, &lib.links, in_lib)
        if (is_meant(l, nspace, pid))
            break;
    if (l) {
        l->met = true;
        l->refs++;
    }
    return l;
}

/* Until that time or, as nobody tells us whether a process lives, a moment. */
static void wait_call(const struct timespec *end)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_nsec += LOOK;
    t.tv_sec += t.tv_nsec / SECOND;
    t.tv_nsec %= SECOND;
    if (t.tv_sec > end->tv_sec || (t.tv_sec == end->tv_sec && t.tv_nsec > end->tv_nsec))
        t = *end;
    pthread_cond_clockwait(&lib.listening.came, &lib.lock, CLOCK_MONOTONIC, &t);
}

static bool is_past(const struct timespec *end)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec > end->tv_sec || (t.tv_sec == end->tv_sec && t.tv_nsec >= end->tv_nsec);
}

struct link *listen_wait(const char *nspace, unsigned seconds, pid_t pid)
{
    struct timespec end;
    struct link *l;
    bool lives = true;

    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += seconds;
    pthread_mutex_lock(&lib.lock);
    while (!(l = meant(nspace, pid)) && lib.inits && lives && !is_past(&end)) {
        wait_call(&end);
        lives = pid <= 0 || rendezvous_start_of(pid);    /* one that has called last is found */
    }
    pthread_mutex_unlock(&lib.lock);
    return l;
}

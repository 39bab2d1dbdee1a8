/* foreign.c - see foreign.h */
#include "mpiexec_lite/foreign.h"

#include "mpiexec_lite/dialog.h"
#include "mpiexec_lite/naming.h"
#include "mpiexec_lite/now.h"
#include "pmix_ext/rundir.h"
#include "wire/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { SECRET = 32, VISITS = 64, VERSION_1 = 1 };

struct secrets { char hello[SECRET + 1], answer[SECRET + 1]; };      /* caller's, called one's */

struct seek {                            /* the server has been asked to introduce us */
    TAILQ_ENTRY(seek) in_all;
    struct far_ask *ask;                 /* the core's, until far_found */
    long long       id;
    double          until;
};
TAILQ_HEAD(seeks, seek);

struct visit {                           /* somebody is going to call */
    TAILQ_ENTRY(visit) in_all;
    struct foreign *all;
    struct secrets  secrets;
    char            folder[RUNDIR_PATH], path[RUNDIR_PATH];
    int             fd;                  /* owned: it listens */
    ev_io           readable;
    double          until;
};
TAILQ_HEAD(visits, visit);

struct far_link {                        /* to another launcher */
    TAILQ_ENTRY(far_link) in_all;
    struct foreign *all;
    struct dialog   dialog;
    struct secrets  secrets;
    struct far_ask *ask;                 /* who has called waits for it; or NULL */
    struct far     *far;                 /* the core's, once the other has proved itself */
    double          until;               /* when it must have; 0: it has */
};
TAILQ_HEAD(links, far_link);

struct foreign {
    struct ev_loop *loop;                /* borrowed, as the next four */
    struct server  *server;
    struct naming  *naming;
    void          (*tell)(void *host, const char *text);
    void           *host;
    struct seeks    seeks;
    struct visits   visits;
    struct links    links;
    int             nvisits;
    ev_timer        tick;
    struct msg      out;
};

static void set_timer(struct foreign *f);

static void tell(struct foreign *f, const char *what, const char *why)
{
    char text[400];

    snprintf(text, sizeof text, "%.160s%s%.200s", what, *why ? ": " : "", why);
    f->tell(f->host, text);
}

/* --- links ------------------------------------------------------------- */

static void far_link_free(struct far_link *l)
{
    struct foreign *f = l->all;
    struct far_ask *ask = l->ask;
    struct far *far = l->far;

    TAILQ_REMOVE(&f->links, l, in_all);
    dialog_flush(&l->dialog);
    dialog_clear(&l->dialog);
    free(l);
    if (far)
        far_free(far);
    if (ask)
        far_found(ask, NULL);
}

static void on_closed(void *host, struct dialog *d, const char *why)
{
    struct far_link *l = host;
    struct foreign *f = l->all;

    (void)d;
    if (*why || !l->far)
        tell(f, "the link to another launcher ended", why);
    far_link_free(l);
    set_timer(f);
}

/* Without telling by its time how much of it was right. */
static bool same_secret(const char *a, const char *b)
{
    unsigned char wrong = 0;

    if (!b || strlen(b) != SECRET)
        return false;
    for (int i = 0; i < SECRET; i++)
        wrong |= (unsigned char)(a[i] ^ b[i]);
    return !wrong;
}

static void say_hello(struct far_link *l, const char *cmd, const char *secret)
{
    struct msg *m = &l->all->out;

    msg_start(m, cmd);
    msg_int(m, "version", VERSION_1);
    msg_str(m, "secret", secret);
    dialog_send(&l->dialog, m);
}

/* The other is who the server has introduced; from now on the core has the link. */
static int accept_peer(struct far_link *l, struct err *e)
{
    struct far_ask *ask = l->ask;

    l->far = far_new(l->all->server, l);
    if (!l->far)
        return err_set(e, ERR_NOMEM, "no memory for a link");
    l->until = 0;
    l->ask = NULL;
    if (ask)
        far_found(ask, l->far);
    set_timer(l->all);
    return 0;
}

static int on_hello(struct far_link *l, const struct msg *m, struct err *e)
{
    bool called = !l->ask;
    const char *cmd = called ? "hello" : "hello-response";
    const char *secret = called ? l->secrets.hello : l->secrets.answer;

    if (strcmp(m->cmd, cmd) || !same_secret(secret, msg_get(m, "secret")))
        return err_set(e, ERR_OTHER, "the other side is not who was introduced");
    if (called)
        say_hello(l, "hello-response", l->secrets.answer);
    return accept_peer(l, e);
}

static int on_message(void *host, struct dialog *d, const struct msg *m, struct err *e)
{
    struct far_link *l = host;

    (void)d;
    return l->far ? far_input(l->far, m, e) : on_hello(l, m, e);
}

static const struct dialog_ops dialog_ops = { on_message, on_closed };

static struct far_link *far_link_new(struct foreign *f, int fd, const struct secrets *s,
                                     struct far_ask *ask)
{
    struct far_link *l = calloc(1, sizeof *l);

    if (!l) {
        close(fd);
        return NULL;
    }
    l->all = f;
    l->secrets = *s;
    l->ask = ask;
    l->until = now_seconds() + FOREIGN_PATIENCE;
    dialog_init(&l->dialog, f->loop, fd, LIMIT_FRAME_LINK, &dialog_ops, l);
    TAILQ_INSERT_TAIL(&f->links, l, in_all);
    return l;
}

void foreign_send(void *link, const char *frame, size_t len)
{
    struct far_link *l = link;

    if (!len)
        l->dialog.out.failed = true;     /* which ends it */
    dialog_send_bytes(&l->dialog, frame, len);
}

/* It runs under our own uid, not even root's. */
static bool is_ours(int fd)
{
    struct ucred peer;
    socklen_t len = sizeof peer;

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && peer.uid == geteuid();
}

/* --- being called ------------------------------------------------------ */

/* Nothing of it stays in the file system. */
static void visit_free(struct visit *v)
{
    struct foreign *f = v->all;

    if (v->fd >= 0) {
        ev_io_stop(f->loop, &v->readable);
        close(v->fd);
        unlink(v->path);
    }
    if (*v->folder)
        rmdir(v->folder);
    TAILQ_REMOVE(&f->visits, v, in_all);
    f->nvisits--;
    free(v);
}

/* The first one of our uid; another cannot come into the folder, and is not waited for. */
static void on_call(struct ev_loop *loop, ev_io *w, int revents)
{
    struct visit *v = w->data;
    struct foreign *f = v->all;
    int fd = accept4(v->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    (void)loop;
    (void)revents;
    if (fd >= 0 && !is_ours(fd)) {
        close(fd);
        fd = -1;
    }
    if (fd < 0)
        return;
    far_link_new(f, fd, &v->secrets, NULL);
    visit_free(v);
    set_timer(f);
}

static int listen_at(struct visit *v, struct err *e)
{
    struct sockaddr_un me = { .sun_family = AF_UNIX };

    if (rundir_private(v->folder, sizeof v->folder, e) < 0) {
        *v->folder = '\0';
        return -1;
    }
    if (snprintf(v->path, sizeof v->path, "%s/socket", v->folder) >= (int)sizeof v->path)
        return err_set(e, ERR_LENGTH, "%.80s: too long for the path of a socket", v->folder);
    memcpy(me.sun_path, v->path, sizeof v->path);
    v->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (v->fd < 0)
        return err_set(e, ERR_OTHER, "no socket: %s", strerror(errno));
    ev_io_init(&v->readable, on_call, v->fd, EV_READ);
    v->readable.data = v;
    if (bind(v->fd, (struct sockaddr *)&me, sizeof me) < 0 || listen(v->fd, 4) < 0)
        return err_set(e, ERR_OTHER, "%.100s: %s", v->path, strerror(errno));
    ev_io_start(v->all->loop, &v->readable);
    return 0;
}

static struct visit *visit_new(struct foreign *f, const struct secrets *s, struct err *e)
{
    struct visit *v = f->nvisits < VISITS ? calloc(1, sizeof *v) : NULL;

    if (!v) {
        err_set(e, ERR_NOMEM, "more than %d launchers are expected, or no memory", VISITS);
        return NULL;
    }
    v->all = f;
    v->secrets = *s;
    v->fd = -1;
    v->until = now_seconds() + FOREIGN_PATIENCE;
    TAILQ_INSERT_TAIL(&f->visits, v, in_all);
    f->nvisits++;
    if (listen_at(v, e) == 0)
        return v;
    visit_free(v);
    return NULL;
}

static int read_secrets(const struct msg *m, struct secrets *s, struct err *e)
{
    const char *hello = msg_get(m, "secret"), *answer = msg_get(m, "answer");

    if (!hello || !answer || strlen(hello) != SECRET || strlen(answer) != SECRET)
        return err_set(e, ERR_INVALID_ARG, "two secrets wanted");
    memcpy(s->hello, hello, SECRET + 1);
    memcpy(s->answer, answer, SECRET + 1);
    return 0;
}

/* The server: somebody is looking for a job of ours. */
static int take_visit(struct foreign *f, const struct msg *m, struct err *e)
{
    struct err why = { 0 };
    struct secrets secrets;
    long long number, id;
    struct visit *v;
    struct msg *out;

    if (msg_number(m, "number", 1, INT64_MAX, &number, e) < 0 || read_secrets(m, &secrets, e) < 0)
        return -1;
    v = visit_new(f, &secrets, &why);
    out = naming_begin(f->naming, "introduced", &id);
    if (out) {
        msg_int(out, "number", number);
        msg_str(out, v ? "path" : "errmsg", v ? v->path : why.text);
        naming_send(f->naming);
    }
    set_timer(f);
    return 0;
}

/* --- calling ----------------------------------------------------------- */

bool foreign_introduce(struct foreign *f, struct far_ask *a)
{
    struct seek *k = calloc(1, sizeof *k);
    struct msg *m = k ? naming_begin(f->naming, "introduce", &k->id) : NULL;

    if (!m) {
        free(k);
        return false;
    }
    msg_str(m, "job", far_job(a));
    naming_send(f->naming);
    k->ask = a;
    k->until = now_seconds() + FOREIGN_PATIENCE;
    TAILQ_INSERT_TAIL(&f->seeks, k, in_all);
    set_timer(f);
    return true;
}

static void seek_over(struct foreign *f, struct seek *k, const char *why)
{
    struct far_ask *a = k->ask;
    char text[160];

    snprintf(text, sizeof text, "no link to the launcher of job %.64s", far_job(a));
    tell(f, text, why);
    TAILQ_REMOVE(&f->seeks, k, in_all);
    free(k);
    far_found(a, NULL);
}

static struct seek *find_seek(struct foreign *f, long long id)
{
    struct seek *k;

    TAILQ_FOREACH(k, &f->seeks, in_all)
        if (k->id == id)
            return k;
    return NULL;
}

/* Connect to the path of the server's reply; -1 and e. */
static int call(struct foreign *f, const struct msg *m, struct seek *k, struct err *e)
{
    const char *path = msg_get(m, "path");
    struct secrets secrets;
    struct far_link *l;
    int fd;

    if (!path || read_secrets(m, &secrets, e) < 0)
        return err_set(e, ERR_INVALID_ARG, "%s", msg_get(m, "errmsg") ? msg_get(m, "errmsg") :
                       "a reply without path and secrets");
    fd = rundir_connect(path, e);
    if (fd < 0)
        return -1;
    if (!is_ours(fd)) {
        close(fd);
        return err_set(e, ERR_OTHER, "%.108s is served by another user", path);
    }
    l = far_link_new(f, fd, &secrets, k->ask);
    if (!l)
        return err_set(e, ERR_NOMEM, "no memory for a link");
    say_hello(l, "hello", secrets.hello);
    TAILQ_REMOVE(&f->seeks, k, in_all);
    free(k);
    return 0;
}

/* A message of the server about introductions. */
static int take(void *host, const struct msg *m, struct err *e)
{
    struct foreign *f = host;
    struct err why = { 0 };
    struct seek *k;
    long long id;

    if (!strcmp(m->cmd, "introduce-to"))
        return take_visit(f, m, e);
    if (msg_number(m, "id", 0, INT64_MAX, &id, e) < 0)
        return -1;
    k = find_seek(f, id);
    if (k && call(f, m, k, &why) < 0)
        seek_over(f, k, why.text);
    set_timer(f);
    return 0;
}

/* --- time -------------------------------------------------------------- */

static double due(const struct foreign *f)
{
    const struct seek *k = TAILQ_FIRST(&f->seeks);
    const struct visit *v = TAILQ_FIRST(&f->visits);
    const struct far_link *l;
    double at = earlier(k ? k->until : 0, v ? v->until : 0);     /* the oldest are first */

    TAILQ_FOREACH(l, &f->links, in_all)
        at = earlier(at, l->until);
    return at;
}

static void set_timer(struct foreign *f)
{
    double at = due(f), now = now_seconds();

    ev_timer_stop(f->loop, &f->tick);
    if (at > 0) {
        ev_timer_set(&f->tick, at > now ? at - now : 0, 0.);
        ev_timer_start(f->loop, &f->tick);
    }
}

static void on_tick(struct ev_loop *loop, ev_timer *w, int revents)
{
    struct foreign *f = w->data;
    double now = now_seconds();
    struct far_link *l, *next;
    struct visit *v;
    struct seek *k;

    (void)loop;
    (void)revents;
    while ((k = TAILQ_FIRST(&f->seeks)) && now >= k->until)
        seek_over(f, k, "the name server does not answer");
    while ((v = TAILQ_FIRST(&f->visits)) && now >= v->until)
        visit_free(v);
    for (l = TAILQ_FIRST(&f->links); l; l = next) {
        next = TAILQ_NEXT(l, in_all);
        if (l->until > 0 && now >= l->until) {
            tell(f, "another launcher does not answer", "");
            far_link_free(l);
        }
    }
    set_timer(f);
}

/* --- life -------------------------------------------------------------- */

struct foreign *foreign_new(struct ev_loop *loop, struct server *server, struct naming *naming,
                            void (*say)(void *host, const char *text), void *host)
{
    struct foreign *f = calloc(1, sizeof *f);

    if (!f)
        return NULL;
    *f = (struct foreign){ .loop = loop, .server = server, .naming = naming, .tell = say,
                           .host = host };
    TAILQ_INIT(&f->seeks);
    TAILQ_INIT(&f->visits);
    TAILQ_INIT(&f->links);
    msg_init(&f->out);
    ev_timer_init(&f->tick, on_tick, 0., 0.);
    f->tick.data = f;
    naming_introduces(naming, take, f);
    return f;
}

void foreign_free_links(struct foreign *f)
{
    struct visit *v;
    struct far_link *l;
    struct seek *k;

    if (!f)
        return;
    naming_introduces(f->naming, NULL, NULL);
    while ((k = TAILQ_FIRST(&f->seeks)))
        seek_over(f, k, "the launcher ends");
    while ((v = TAILQ_FIRST(&f->visits)))
        visit_free(v);
    while ((l = TAILQ_FIRST(&f->links)))
        far_link_free(l);
    ev_timer_stop(f->loop, &f->tick);
    msg_clear(&f->out);
    free(f);
}

/* lib_helper.c - the process behind a host's calls; see lib_server.h */
#include "pmix_ext/lib_server.h"

#include "pmix_ext/find.h"
#include "pmix_ext/value.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* --- to it ------------------------------------------------------------- */

/* Takes the line.  0, or -1: no memory, or it has ended. */
static int send_line(struct helper *h, json_t *line)
{
    char *text = line ? json_dumps(line, JSON_COMPACT) : NULL;
    size_t len = text ? strlen(text) : 0, at = 0;
    ssize_t n = 0;

    if (text)
        text[len] = '\n';                /* in place of its NUL */
    while (text && at <= len) {
        n = send(h->fd, text + at, len + 1 - at, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR)
            break;
        at += n > 0 ? (size_t)n : 0;
    }
    if (text)
        explicit_bzero(text, len);       /* it may have secrets */
    free(text);
    json_decref(line);
    return text && at > len ? 0 : -1;
}

void helper_tell(struct helper *h, json_t *line)
{
    pthread_mutex_lock(&h->asking);
    send_line(h, line);
    pthread_mutex_unlock(&h->asking);
}

json_t *helper_ask(struct helper *h, json_t *line)
{
    json_t *answer = NULL;

    pthread_mutex_lock(&h->asking);
    if (send_line(h, line) == 0) {
        pthread_mutex_lock(&h->lock);
        while (!h->answer && !h->over)
            pthread_cond_wait(&h->came, &h->lock);
        answer = h->answer;
        h->answer = NULL;
        pthread_mutex_unlock(&h->lock);
    }
    pthread_mutex_unlock(&h->asking);
    return answer;
}

bool helper_is_ready(struct helper *h)
{
    bool ready;

    pthread_mutex_lock(&h->lock);
    ready = h->ready;
    pthread_mutex_unlock(&h->lock);
    return ready;
}

/* --- what it says, by the reader --------------------------------------- */

/* Once: whatever comes later is no answer to the caller. */
static void settle(struct helper *h, pmix_status_t status)
{
    if (h->settled)
        return;
    h->settled = true;
    h->status = status;
    pthread_mutex_lock(&h->lock);
    h->ready = status == PMIX_SUCCESS;
    pthread_mutex_unlock(&h->lock);
    callback_add(&lib.callbacks, &h->said);
}

static void take_ready(struct helper *h, const json_t *infos)
{
    char *text = json_dumps(infos, JSON_COMPACT);
    struct err e;
    void *v = NULL;
    int rc = text ? value_decode_array(PMIX_INFO, text, strlen(text), "infos", &v, &h->ninfos, &e)
                  : -1;

    h->infos = v;
    if (text)
        explicit_bzero(text, strlen(text));
    free(text);
    settle(h, rc < 0 ? PMIX_ERR_NOMEM : PMIX_SUCCESS);
}

static void take_line(struct helper *h, const char *line, size_t len)
{
    json_t *x = json_loadb(line, len, 0, NULL);

    if (json_object_get(x, "ready")) {
        take_ready(h, json_object_get(x, "ready"));
    } else if (json_object_get(x, "failed")) {
        settle(h, PMIX_ERROR);
    } else if (x) {
        pthread_mutex_lock(&h->lock);
        json_decref(h->answer);
        h->answer = x;                   /* whoever asked frees it, at any time from now */
        x = NULL;
        pthread_cond_signal(&h->came);
        pthread_mutex_unlock(&h->lock);
    }
    json_decref(x);
}

static void *read_lines(void *arg)
{
    struct helper *h = arg;
    int fd = dup(h->fd);
    FILE *in = fd < 0 ? NULL : fdopen(fd, "r");
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;

    while (in && (n = getline(&line, &cap, in)) > 0) {
        take_line(h, line, (size_t)n);
        explicit_bzero(line, (size_t)n);
    }
    free(line);
    if (in)
        fclose(in);
    else if (fd >= 0)
        close(fd);
    settle(h, PMIX_ERR_UNREACH);         /* it has ended without a word */
    pthread_mutex_lock(&h->lock);
    h->over = true;
    pthread_cond_broadcast(&h->came);
    pthread_mutex_unlock(&h->lock);
    callback_add(&lib.callbacks, &h->ended);
    return NULL;
}

/* --- what the caller is told, by the callback thread ------------------- */

struct given { pmix_info_t *infos; size_t n; };

static void take_back(pmix_status_t status, void *cbdata)
{
    struct given *g = cbdata;

    (void)status;
    value_free_array(PMIX_INFO, g->infos, g->n);
    free(g);
}

static void tell_application(struct helper *h)
{
    struct given *g = malloc(sizeof *g);

    if (!g) {
        h->on_application(PMIX_ERR_NOMEM, NULL, 0, h->cbdata, NULL, NULL);
        return;
    }
    *g = (struct given){ h->infos, h->ninfos };
    h->infos = NULL;
    h->ninfos = 0;
    h->on_application(h->status, g->infos, g->n, h->cbdata, take_back, g);
}

static void run_said(struct note *n)
{
    struct helper *h = container_of(n, struct helper, said);

    if (h->local)
        h->on_local(h->status, h->cbdata);
    else
        tell_application(h);
}

static void helper_free(struct helper *h)
{
    value_free_array(PMIX_INFO, h->infos, h->ninfos);
    json_decref(h->answer);
    close(h->fd);
    pthread_mutex_destroy(&h->asking);
    pthread_mutex_destroy(&h->lock);
    pthread_cond_destroy(&h->came);
    free(h);
}

static void run_ended(struct note *n)
{
    struct helper *h = container_of(n, struct helper, ended);

    pthread_mutex_lock(&lib.lock);
    LIST_REMOVE(h, in_lib);
    while (h->users)
        pthread_cond_wait(&lib.hosting.left, &lib.lock);
    pthread_mutex_unlock(&lib.lock);
    pthread_join(h->reader, NULL);
    if (h->on_end)
        h->on_end(PMIX_SUCCESS, h->end_data);
    helper_free(h);
    pthread_mutex_lock(&lib.lock);
    lib.hosting.running--;
    pthread_cond_broadcast(&lib.hosting.left);
    pthread_mutex_unlock(&lib.lock);
}

/* --- started ----------------------------------------------------------- */

/* lib.lock is held. */
static struct helper *find_local(const char *nspace)
{
    struct helper *h;

    LIST_FOREACH(h, &lib.hosting.helpers, in_lib)
        if (h->local && PMIX_CHECK_NSPACE(h->nspace, nspace))
            break;
    return h;
}

/* A job is set up here once. */
static pmix_status_t enlist(struct helper *h)
{
    pmix_status_t rc = PMIX_SUCCESS;

    pthread_mutex_lock(&lib.lock);
    if (h->local && find_local(h->nspace)) {
        rc = PMIX_ERR_EXISTS;
    } else {
        LIST_INSERT_HEAD(&lib.hosting.helpers, h, in_lib);
        lib.hosting.running++;
    }
    pthread_mutex_unlock(&lib.lock);
    return rc;
}

/* It was not started: as if it had never been. */
static void delist(struct helper *h)
{
    pthread_mutex_lock(&lib.lock);
    LIST_REMOVE(h, in_lib);
    while (h->users)
        pthread_cond_wait(&lib.hosting.left, &lib.lock);
    lib.hosting.running--;
    pthread_cond_broadcast(&lib.hosting.left);
    pthread_mutex_unlock(&lib.lock);
    if (h->on_end)                       /* by another thread, meanwhile */
        h->on_end(PMIX_SUCCESS, h->end_data);
}

static pmix_status_t execute(struct helper *h, int theirs)
{
    char path[PATH_MAX], option[] = "--host-providers";
    char *argv[] = { path, option, NULL };
    struct err e;

    find_program("mpiexec_lite", path, sizeof path);
    return find_start(argv, theirs, theirs, STDERR_FILENO, &e) > 0 &&
           thread_start(&h->reader, read_lines, h) == 0
           ? PMIX_SUCCESS : PMIX_ERR_OUT_OF_RESOURCE;
}

/* Takes the request.  If it cannot be sent, its answer says so. */
static pmix_status_t start(struct helper *h, int theirs, json_t *request)
{
    pmix_status_t rc = enlist(h);

    if (rc == PMIX_SUCCESS) {
        pthread_mutex_lock(&h->asking);  /* its first line is the first */
        rc = execute(h, theirs);
        if (rc == PMIX_SUCCESS)
            send_line(h, json_incref(request));
        pthread_mutex_unlock(&h->asking);
        if (rc != PMIX_SUCCESS)
            delist(h);
    }
    json_decref(request);
    return rc;
}

pmix_status_t helper_start(struct helper *h, json_t *request)
{
    pmix_status_t rc;
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
        json_decref(request);
        return PMIX_ERR_OUT_OF_RESOURCE;
    }
    h->fd = ends[0];
    h->said.run = run_said;
    h->ended.run = run_ended;
    pthread_mutex_init(&h->asking, NULL);
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->came, NULL);
    rc = start(h, ends[1], request);
    close(ends[1]);
    if (rc != PMIX_SUCCESS)
        close(h->fd);
    return rc;
}

/* --- found, ended ------------------------------------------------------ */

struct helper *helper_find(const char *nspace)
{
    struct helper *h;

    pthread_mutex_lock(&lib.lock);
    h = find_local(nspace);
    if (h)
        h->users++;
    pthread_mutex_unlock(&lib.lock);
    return h;
}

void helper_drop(struct helper *h)
{
    pthread_mutex_lock(&lib.lock);
    h->users--;
    pthread_cond_broadcast(&lib.hosting.left);
    pthread_mutex_unlock(&lib.lock);
}

bool helper_end(struct helper *h, pmix_op_cbfunc_t on_end, void *cbdata)
{
    bool taken;

    pthread_mutex_lock(&lib.lock);
    taken = !h->on_end;
    if (taken) {
        h->on_end = on_end;
        h->end_data = cbdata;
    }
    pthread_mutex_unlock(&lib.lock);
    shutdown(h->fd, SHUT_WR);
    return taken;
}

void helpers_end(void)
{
    struct helper *h;

    pthread_mutex_lock(&lib.lock);
    LIST_FOREACH(h, &lib.hosting.helpers, in_lib)
        shutdown(h->fd, SHUT_WR);
    while (lib.hosting.running)
        pthread_cond_wait(&lib.hosting.left, &lib.lock);
    pthread_mutex_unlock(&lib.lock);
}

/* find.c - see find.h */
#include "pmix_ext/find.h"

#include "pmix_ext/pmix_ext.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* A step that does not apply, or has found nothing and lets the next one try. */
enum { NEXT = 1 };

static pmix_status_t unreachable(struct err *e, const char *what)
{
    err_set(e, ERR_OTHER, "%s", what);
    return PMIX_ERR_UNREACH;
}

static pmix_status_t senseless(struct err *e, const char *key, const char *why)
{
    err_set(e, ERR_INVALID_ARG, "%.80s: %s", key, why);
    return PMIX_ERR_BAD_PARAM;
}

/* --- attributes -------------------------------------------------------- */

enum kind { TEXT, NUMBER, PID, YES };

static const struct selector { const char *key; enum kind kind; size_t at; } selectors[] = {
    { PMIX_SERVER_URI, TEXT, offsetof(struct find_wants, uri) },
    { PMIX_TCP_URI, TEXT, offsetof(struct find_wants, uri) },
    { PMIX_TOOL_ATTACHMENT_FILE, TEXT, offsetof(struct find_wants, file) },
    { PMIX_SERVER_NSPACE, TEXT, offsetof(struct find_wants, nspace) },
    { PMIX_SERVER_HOSTNAME, TEXT, offsetof(struct find_wants, host) },
    { PMIX_SERVER_TMPDIR, TEXT, offsetof(struct find_wants, session_folder) },
    { PMIX_SYSTEM_TMPDIR, TEXT, offsetof(struct find_wants, system_folder) },
    { PMIX_SERVER_PIDINFO, PID, offsetof(struct find_wants, pid) },
    { PMIX_CONNECT_TO_SYSTEM, YES, offsetof(struct find_wants, to_system) },
    { PMIX_CONNECT_SYSTEM_FIRST, YES, offsetof(struct find_wants, system_first) },
    { PMIX_CONNECT_MAX_RETRIES, NUMBER, offsetof(struct find_wants, tries) },
    { PMIX_CONNECT_RETRY_DELAY, NUMBER, offsetof(struct find_wants, pause) },
};

static pmix_status_t take_number(const struct selector *s, const pmix_value_t *v, void *at,
                                 struct err *e)
{
    pmix_status_t rc;
    long long n = 0;

    PMIX_VALUE_GET_NUMBER(rc, v, n, long long);
    if (rc != PMIX_SUCCESS || n < 0 || n > INT_MAX || (s->kind == PID && n == 0))
        return senseless(e, s->key, "a number is wanted");
    if (s->kind == PID)
        *(pid_t *)at = (pid_t)n;
    else
        *(unsigned *)at = (unsigned)n;
    return PMIX_SUCCESS;
}

static pmix_status_t take(const struct selector *s, const pmix_value_t *v, struct find_wants *w,
                          struct err *e)
{
    void *at = (char *)w + s->at;

    if (s->kind == TEXT && (v->type != PMIX_STRING || !v->data.string || !*v->data.string))
        return senseless(e, s->key, "a string is wanted");
    if (s->kind == YES && v->type != PMIX_BOOL && v->type != PMIX_UNDEF)
        return senseless(e, s->key, "true or false is wanted");
    if (s->kind == NUMBER || s->kind == PID)
        return take_number(s, v, at, e);
    if (s->kind == TEXT)
        *(const char **)at = v->data.string;
    else
        *(bool *)at = v->type == PMIX_UNDEF || v->data.flag;     /* its presence says yes */
    return PMIX_SUCCESS;
}

bool find_knows(const char *key)
{
    for (size_t i = 0; i < sizeof selectors / sizeof *selectors; i++)
        if (!strcmp(selectors[i].key, key))
            return true;
    return false;
}

pmix_status_t find_read(const pmix_info_t *infos, size_t n, struct find_wants *w, struct err *e)
{
    pmix_status_t rc = PMIX_SUCCESS;

    *w = (struct find_wants){ 0 };
    for (size_t i = 0; i < n && rc == PMIX_SUCCESS; i++)
        for (size_t k = 0; k < sizeof selectors / sizeof *selectors && rc == PMIX_SUCCESS; k++)
            if (PMIX_CHECK_KEY(&infos[i], selectors[k].key))
                rc = take(&selectors[k], &infos[i].value, w, e);
    if (rc == PMIX_SUCCESS && w->pause && !w->tries)
        w->tries = 10;                   /* the standard's defaults, if it is to try again */
    else if (rc == PMIX_SUCCESS && w->tries && !w->pause)
        w->pause = 1;
    return rc;
}

bool find_is_told(const struct find_wants *w)
{
    return w->uri || w->file || w->nspace || w->host || w->pid || w->to_system ||
           w->system_first;
}

/* --- URIs and files ---------------------------------------------------- */

static pmix_status_t at_file(const char *path, struct found *f, struct err *e)
{
    int rc = rendezvous_read(path, &f->at, e);

    if (rc < 0)
        return PMIX_ERR_UNREACH;
    if (rc == 0) {
        err_set(e, ERR_OTHER, "%.108s: there is no such file", path);
        return PMIX_ERR_UNREACH;
    }
    if (rendezvous_lives(&f->at))
        return PMIX_SUCCESS;
    err_set(e, ERR_OTHER, "%.108s: its server, process %d, has ended", path, (int)f->at.pid);
    return PMIX_ERR_UNREACH;
}

/* A number up to max, at least 1; *text moves behind it.  0: it is none. */
static long take_positive(const char **text, long max)
{
    char *end;
    long n = **text >= '0' && **text <= '9' ? strtol(*text, &end, 10) : 0;

    if (n <= 0 || n > max)
        return 0;
    *text = end;
    return n;
}

/* "HOST" or "HOST:PID"; of munge "HOST:PORT" or "HOST:PORT:PID". */
static bool read_host(const char *where, bool has_port, struct found *f)
{
    size_t n = strcspn(where, ":");
    const char *at = where + n;

    if (!n || n >= sizeof f->host || *where == '-')
        return false;
    if (has_port && (*at++ != ':' || !take_positive(&at, 65535)))
        return false;
    n = (size_t)(at - where);
    if (n >= sizeof f->host)
        return false;
    snprintf(f->host, sizeof f->host, "%.*s", (int)n, where);
    if (!*at)
        return true;
    return *at++ == ':' && (f->pid = (pid_t)take_positive(&at, INT_MAX)) && !*at;
}

/* said: as the user has it, for an error. */
static pmix_status_t at_host(const char *said, const char *where, bool has_port, struct found *f, struct err *e)
{
    f->how = has_port ? FOUND_MUNGE : FOUND_FAR;
    if (read_host(where, has_port, f))
        return PMIX_SUCCESS;
    return senseless(e, said, has_port ? "want munge:HOST:PORT or munge:HOST:PORT:PID"
                                        : "want ssh:HOST or ssh:HOST:PID");
}

static pmix_status_t at_uri(const char *uri, struct found *f, struct err *e)
{
    if (!strncmp(uri, "file:", 5))
        return at_file(uri + 5, f, e);
    if (!strncmp(uri, "ssh:", 4))
        return at_host(uri, uri + 4, false, f, e);
    if (!strncmp(uri, "munge:", 6))
        return at_host(uri, uri + 6, true, f, e);
    if (strncmp(uri, "unix:", 5))
        return senseless(e, uri, "want unix:PATH, file:PATH, ssh:HOST[:PID] or "
                         "munge:HOST:PORT[:PID]");
    if (snprintf(f->at.socket, sizeof f->at.socket, "%s", uri + 5) >= RUNDIR_PATH)
        return senseless(e, uri, "too long for the path of a socket");
    return PMIX_SUCCESS;
}

static pmix_status_t by_uri(const struct find_wants *w, struct found *f, struct err *e)
{
    f->told = w->uri != NULL;
    return w->uri ? at_uri(w->uri, f, e) : NEXT;
}

static pmix_status_t by_file(const struct find_wants *w, struct found *f, struct err *e)
{
    return w->file ? at_file(w->file, f, e) : NEXT;
}

/* --- lists ------------------------------------------------------------- */

/* The system's server: PMIX_SUCCESS, or NEXT: there is none. */
static pmix_status_t at_system(const struct find_wants *w, struct found *f, struct err *e)
{
    struct rendezvous *list;
    int n = rendezvous_list(true, w->system_folder, &list, e);

    if (n > 0)
        f->at = list[0];
    free(list);
    return n > 0 ? PMIX_SUCCESS : n == 0 ? NEXT : PMIX_ERR_UNREACH;
}

static pmix_status_t by_system(const struct find_wants *w, struct found *f, struct err *e)
{
    pmix_status_t rc = w->to_system || w->system_first ? at_system(w, f, e) : NEXT;

    if (w->to_system && !w->system_first && rc == NEXT)
        return unreachable(e, "no server of the system runs here");
    return rc;
}

static bool is_wanted(const struct rendezvous *r, const struct find_wants *w)
{
    return (!w->pid || r->pid == w->pid) && (!w->nspace || !strcmp(r->nspace, w->nspace));
}

/* Those that are meant, first in the list; how many.  Without a word about which, a job's
 * servers count once, and the user's resident one only if it is alone. */
static int select_from(struct rendezvous *list, int n, const struct find_wants *w)
{
    bool told = w->pid || w->nspace;
    int kept = 0, launchers = 0;

    for (int i = 0; i < n; i++)
        launchers += !list[i].resident;
    for (int i = 0; i < n; i++) {
        bool again = false;

        for (int k = 0; k < kept && !w->pid; k++)
            again |= !strcmp(list[k].nspace, list[i].nspace);
        if (is_wanted(&list[i], w) && !again && (told || !launchers || !list[i].resident))
            list[kept++] = list[i];
    }
    return kept;
}

static pmix_status_t at_session(const struct find_wants *w, struct found *f, struct err *e)
{
    struct rendezvous *list;
    int n = rendezvous_list(false, w->session_folder, &list, e);

    if (n < 0)
        return PMIX_ERR_UNREACH;
    n = select_from(list, n, w);
    if (n == 1)
        f->at = list[0];
    if (n > 1) {
        f->candidates = list;
        f->n = n;
        err_set(e, ERR_OTHER, "%d servers run here, and nothing says which is meant "
                "(process %d of job %.64s, process %d of job %.64s, ...)", n, (int)list[0].pid,
                list[0].nspace, (int)list[1].pid, list[1].nspace);
        return PMIX_ERR_RESOURCE_BUSY;
    }
    free(list);
    return n == 1 ? PMIX_SUCCESS : NEXT;
}

static bool is_here(const char *host)
{
    char here[RENDEZVOUS_HOST] = "";

    gethostname(here, sizeof here - 1);
    return !strcmp(host, here) || !strcmp(host, "localhost");
}

static pmix_status_t by_pid(const struct find_wants *w, struct found *f, struct err *e)
{
    pmix_status_t rc;

    if (w->host && !is_here(w->host)) {
        if (at_host(w->host, w->host, false, f, e) != PMIX_SUCCESS)
            return PMIX_ERR_BAD_PARAM;
        f->pid = w->pid;
        return PMIX_SUCCESS;
    }
    if (!w->pid)
        return NEXT;
    rc = at_session(w, f, e);
    if (rc == NEXT && at_system(w, f, e) == PMIX_SUCCESS && f->at.pid == w->pid)
        return PMIX_SUCCESS;
    if (rc == NEXT)
        err_set(e, ERR_OTHER, "process %d is no server that takes tools of this user",
                (int)w->pid);
    return rc == NEXT ? PMIX_ERR_UNREACH : rc;
}

static pmix_status_t by_nspace(const struct find_wants *w, struct found *f, struct err *e)
{
    pmix_status_t rc = w->nspace ? at_session(w, f, e) : NEXT;

    if (w->nspace && rc == NEXT) {
        err_set(e, ERR_OTHER, "no server of job %.64s runs here", w->nspace);
        return PMIX_ERR_UNREACH;
    }
    return rc;
}

/* --- nothing was said -------------------------------------------------- */

static pmix_status_t by_inheritance(const struct find_wants *w, struct found *f, struct err *e)
{
    const char *uri = getenv("PMIX_SERVER_URI"), *fd = getenv("PMI_FD");
    char *end = NULL;
    long number = fd && *fd ? strtol(fd, &end, 10) : -1;
    socklen_t len = sizeof(int);
    int type;

    if (w->system_first || w->order)
        return NEXT;
    if (uri && *uri)
        return at_uri(uri, f, e);
    if (number < 0 || *end || number > INT_MAX ||
        getsockopt((int)number, SOL_SOCKET, SO_TYPE, &type, &len) < 0)
        return NEXT;
    f->how = FOUND_RANK;
    f->fd = (int)number;
    return PMIX_SUCCESS;
}

static pmix_status_t by_search(const struct find_wants *w, struct found *f, struct err *e)
{
    const char *order = w->order ? w->order : FIND_ANY_ORDER;
    pmix_status_t rc = NEXT;

    while (rc == NEXT && *order) {
        size_t n = strcspn(order, ",");

        if (n == 6 && !strncmp(order, "system", n))
            rc = at_system(w, f, e);
        else if (n == 7 && !strncmp(order, "session", n))
            rc = at_session(w, f, e);
        else
            return senseless(e, order, "an order is made of system and session");
        order += n + (order[n] == ',');
    }
    return rc == NEXT ? unreachable(e, "no server that takes tools of this user runs here") : rc;
}

static pmix_status_t look(const struct find_wants *w, struct found *f, struct err *e)
{
    static pmix_status_t (*const steps[])(const struct find_wants *, struct found *,
                                          struct err *) = {
        by_uri, by_file, by_system, by_pid, by_nspace, by_inheritance, by_search
    };
    pmix_status_t rc = NEXT;

    for (size_t i = 0; rc == NEXT; i++)          /* the last one is never NEXT */
        rc = steps[i](w, f, e);
    return rc;
}

pmix_status_t find_server(const struct find_wants *w, struct found *f, struct err *e)
{
    pmix_status_t rc;

    for (unsigned tries = 0;; tries++) {
        *f = (struct found){ .fd = -1 };
        rc = look(w, f, e);
        if (rc != PMIX_ERR_UNREACH || tries >= w->tries)
            return rc;
        nanosleep(&(struct timespec){ .tv_sec = w->pause }, NULL);
    }
}

void find_clear(struct found *f)
{
    free(f->candidates);
    f->candidates = NULL;
    f->n = 0;
}

int find_connect(const struct found *f, struct err *e)
{
    return f->how == FOUND_RANK     ? f->fd
           : f->how != FOUND_SOCKET ? find_far(f, e)
           : f->told                ? rundir_connect_told(f->at.socket, e)
                                    : rundir_connect(f->at.socket, e);
}

int find_all(struct rendezvous **list, struct err *e)
{
    struct rendezvous *session, *all;
    int n = rendezvous_list(true, NULL, list, e);
    int more = n < 0 ? -1 : rendezvous_list(false, NULL, &session, e);

    if (more < 0) {
        free(*list);
        *list = NULL;
        return -1;
    }
    all = realloc(*list, (size_t)(n + more + 1) * sizeof *all);
    if (all) {
        *list = all;
        for (int i = 0; i < more; i++)
            all[n + i] = session[i];
    }
    free(session);
    return all ? n + more : err_set(e, ERR_NOMEM, "no memory for a list of servers");
}

/* resident_ask.c - see resident_ask.h */
#include "mpiexec_lite/resident_ask.h"

#include "mpiexec_lite/now.h"
#include "pmix_ext/rundir.h"
#include "wire/limits.h"
#include "wire/msg.h"
#include "wire/utf8.h"

#include <errno.h>
#include <poll.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static const double PATIENCE = 5.0;      /* seconds for an answer */
enum { COLUMNS = 7, CELL = 400 };

struct line {                            /* to the server */
    int           fd;
    struct framer framer;
    struct msg    in;
    struct buf    text;                  /* the frame of in */
};

static int line_open(struct line *l, const char *path, struct err *e)
{
    *l = (struct line){ .fd = rundir_connect(path, e) };
    framer_init(&l->framer, LIMIT_FRAME_LINK);
    l->framer.wire = WIRE_2;
    msg_init(&l->in);
    return l->fd < 0 ? -1 : 0;
}

static void line_close(struct line *l)
{
    if (l->fd >= 0)
        close(l->fd);
    framer_clear(&l->framer);
    msg_clear(&l->in);
    buf_clear(&l->text);
}

static int wait_for(struct line *l, short what, double until, struct err *e)
{
    struct pollfd p = { .fd = l->fd, .events = what };
    double left = until - now_seconds();

    if (left > 0 && (poll(&p, 1, (int)(left * 1000) + 1) > 0 || errno == EINTR))
        return 0;
    return err_set(e, ERR_OTHER, "the server does not answer");
}

static int send_all(struct line *l, const char *data, size_t len, double until, struct err *e)
{
    while (len) {
        ssize_t n = send(l->fd, data, len, MSG_NOSIGNAL);

        if (n < 0 && errno == EAGAIN && wait_for(l, POLLOUT, until, e) < 0)
            return -1;
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return err_set(e, ERR_OTHER, "the server is gone: %s", strerror(errno));
        data += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    return 0;
}

/* The next frame, parsed into l->in. */
static int receive(struct line *l, double until, struct err *e)
{
    char space[65536];
    struct frame f;
    int rc = 0;

    while (!rc) {
        ssize_t n = recv(l->fd, space, sizeof space, 0);
        char *data = space;
        size_t len = n > 0 ? (size_t)n : 0;

        if (n == 0)
            return err_set(e, ERR_OTHER, "the server has closed the connection");
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return err_set(e, ERR_OTHER, "the server is gone: %s", strerror(errno));
        if (n < 0 && wait_for(l, POLLIN, until, e) < 0)
            return -1;
        rc = framer_next(&l->framer, &data, &len, &f, e);
    }
    buf_reset(&l->text);
    if (rc > 0)
        buf_add(&l->text, f.text, f.len);
    if (rc > 0 && l->text.failed)
        return err_set(e, ERR_NOMEM, "out of memory");
    return rc < 0 ? -1 : wire_v2.parse(&l->in, buf_bytes(&l->text), l->text.len, e);
}

/* Send a request and have its reply in l->in; what it says is wrong is the error. */
static int ask(struct line *l, const struct msg *m, struct err *e)
{
    double until = now_seconds() + PATIENCE;
    struct buf frame = BUF_INIT;
    const char *text;
    long long rc;
    int sent;

    if (wire_v2.format(m, LIMIT_FRAME_LINK, &frame, e) < 0)
        return -1;
    sent = send_all(l, buf_bytes(&frame), frame.len, until, e);
    buf_clear(&frame);
    if (sent < 0 || receive(l, until, e) < 0 || msg_number(&l->in, "rc", 0, 1000, &rc, e) < 0)
        return -1;
    text = msg_get(&l->in, "errmsg");
    return rc ? err_set(e, (enum err_code)rc, "%s", text ? text : "refused") : 0;
}

/* --- tables ------------------------------------------------------------ */

struct table {
    char  (*cells)[COLUMNS][CELL];       /* owned */
    size_t  n, cap;
};

static int add_row(struct table *t, struct err *e)
{
    size_t cap = t->cap ? t->cap * 2 : 64;
    void *more = t->n < t->cap ? t->cells : reallocarray(t->cells, cap, sizeof *t->cells);

    if (!more)
        return err_set(e, ERR_NOMEM, "out of memory");
    t->cap = t->n < t->cap ? t->cap : cap;
    t->cells = more;
    memset(t->cells[t->n++], 0, sizeof *t->cells);
    return 0;
}

/* As a person may safely see it. */
static void set_cell(struct table *t, int column, const char *text)
{
    struct buf safe = BUF_INIT;
    char *cell = t->cells[t->n - 1][column];

    buf_escaped(&safe, text, strlen(text));
    snprintf(cell, CELL, "%s", safe.len ? buf_bytes(&safe) : "-");
    buf_clear(&safe);
}

/* The last column is as wide as it likes. */
static void print_table(const struct table *t)
{
    int width[COLUMNS] = { 0 };

    for (size_t i = 0; i < t->n; i++)
        for (int c = 0; c < COLUMNS; c++)
            if ((int)strlen(t->cells[i][c]) > width[c])
                width[c] = (int)strlen(t->cells[i][c]);
    for (size_t i = 0; i < t->n; i++)
        for (int c = 0; c < COLUMNS; c++)
            if (c == COLUMNS - 1)
                printf("%s\n", t->cells[i][c]);
            else
                printf("%-*s  ", width[c], t->cells[i][c]);
}

static const struct column { const char *title, *field; } name_columns[COLUMNS] = {
    { "NAME", "name" }, { "USER", "owner" }, { "RANGE", "range" }, { "KEPT", "persistence" },
    { "SINCE", "since" }, { "JOB", "job" }, { "PORT", "port" },
}, job_columns[COLUMNS] = {
    { "JOB", "job" }, { "USER", "owner" }, { "PID", "pid" }, { "RANKS", "size" },
    { "HOST", "host" }, { "SINCE", "since" }, { "COMMAND", "command" },
};

static void show_field(struct table *t, int c, const char *field, const char *value)
{
    char text[64];

    if (!strcmp(field, "owner")) {
        const struct passwd *p = getpwuid((uid_t)strtoul(value, NULL, 10));

        value = p ? p->pw_name : value;
    } else if (!strcmp(field, "since")) {
        time_t when = strtoll(value, NULL, 10);
        struct tm tm;

        strftime(text, sizeof text, "%F %T", localtime_r(&when, &tm));
        value = text;
    }
    set_cell(t, c, value);
}

/* One page of a list; *after moves on.  1: there is more; 0, or -1 and e. */
static int take_page(struct line *l, struct table *t, const char *cmd,
                     const struct column *columns, long long *after, struct err *e)
{
    struct msg m;
    long long n, more;
    char key[40];
    int rc;

    msg_init(&m);
    msg_start(&m, cmd);
    msg_int(&m, "id", 1);
    msg_int(&m, "after", *after);
    rc = ask(l, &m, e);
    msg_clear(&m);
    if (rc < 0 || msg_number(&l->in, "n", 0, LIMIT_PAIRS, &n, e) < 0 ||
        msg_number(&l->in, "more", 0, 1, &more, e) < 0)
        return -1;
    for (int i = 0; i < n; i++) {
        if (add_row(t, e) < 0)
            return -1;
        for (int c = 0; c < COLUMNS; c++) {
            const char *value;

            snprintf(key, sizeof key, "%s%d", columns[c].field, i);
            value = msg_get(&l->in, key);
            show_field(t, c, columns[c].field, value ? value : "");
        }
        snprintf(key, sizeof key, "serial%d", i);
        if (msg_number(&l->in, key, *after + 1, INT64_MAX, after, e) < 0)
            return -1;
    }
    return n && more;
}

static int print_list(struct line *l, const char *cmd, const struct column *columns,
                      const char *none, struct err *e)
{
    struct table t = { 0 };
    long long after = 0;
    int rc = add_row(&t, e);

    for (int c = 0; rc == 0 && c < COLUMNS; c++)
        set_cell(&t, c, columns[c].title);
    if (rc == 0)
        while ((rc = take_page(l, &t, cmd, columns, &after, e)) > 0)
            ;
    if (rc == 0 && t.n > 1)
        print_table(&t);
    else if (rc == 0)
        puts(none);
    free(t.cells);
    return rc;
}

int resident_list(const char *socket, struct err *e)
{
    struct line l;
    int rc = line_open(&l, socket, e);

    if (rc == 0)
        rc = print_list(&l, "list-names", name_columns, "no names", e);
    if (rc == 0) {
        puts("");
        rc = print_list(&l, "list-jobs", job_columns, "no jobs", e);
    }
    line_close(&l);
    return rc;
}

/* --- one name ---------------------------------------------------------- */

static int read_owner(const char *text, long long *uid, struct err *e)
{
    const struct passwd *p = getpwnam(text);
    char *end;

    *uid = p ? (long long)p->pw_uid : strtoll(text, &end, 10);
    if (!p && (end == text || *end || *uid < 0 || *uid >= UINT32_MAX))
        return err_set(e, ERR_INVALID_VAL, "no user %.80s", text);
    return 0;
}

int resident_unpublish(const char *socket, const char *name, const char *owner, struct err *e)
{
    long long uid = -1;
    struct line l;
    struct msg m;
    int rc;

    if (owner && read_owner(owner, &uid, e) < 0)
        return -1;
    msg_init(&m);
    msg_start(&m, "name-unpublish");
    msg_int(&m, "id", 1);
    msg_str(&m, "name", name);
    if (owner)
        msg_int(&m, "owner", uid);
    rc = line_open(&l, socket, e);
    if (rc == 0)
        rc = ask(&l, &m, e);
    line_close(&l);
    msg_clear(&m);
    return rc;
}

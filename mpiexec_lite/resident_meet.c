/* resident_meet.c - two launchers of one user are introduced to each other: the server
 * tells both the same two secrets, and the one that asks where the other listens.  It
 * opens nothing itself, and who is not of that user does not even hear of the job.
 *
 * Whoever asks may have heard of the job from itself, so its launcher has told of it
 * before; but that message may still wait, unread, in a connection that may even not be
 * accepted yet.  So there is no such job only when all this has been seen to. */
#include "mpiexec_lite/resident_impl.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { MEETINGS = 64 };                  /* of one launcher that asks, at once */
enum { TURNS = 2 };                      /* to accept a connection, and to read it */

/* 0, or -1: no random numbers. */
static int make_secret(char *text)
{
    unsigned char random[16];

    if (getrandom(random, sizeof random, 0) != sizeof random)
        return -1;
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(text + 2 * i, 3, "%02x", random[i]);
    return 0;
}

static void meeting_free(struct resident *r, struct meeting *x)
{
    TAILQ_REMOVE(&r->meetings, x, in_all);
    explicit_bzero(x, sizeof *x);
    free(x);
}

static int count(const struct client *c)
{
    const struct meeting *x;
    int n = 0;

    TAILQ_FOREACH(x, &c->all->meetings, in_all)
        n += x->asks == c;
    return n;
}

/* Nothing of this is stored, so it need not wait for a commit. */
static void begin(struct resident *r, const char *cmd, long long id)
{
    msg_start(&r->out, cmd);
    msg_int(&r->out, "id", id);
}

static void add_secrets(struct resident *r, const struct meeting *x)
{
    msg_str(&r->out, "secret", x->secret);
    msg_str(&r->out, "answer", x->answer);
}

int resident_introduce(struct client *c, const struct msg *m, long long id, struct err *e)
{
    struct resident *r = c->all;
    const char *job = msg_get(m, "job");
    struct meeting *x;

    if (!job || strlen(job) >= sizeof x->job)
        return err_set(e, ERR_INVALID_ARG, "a job wanted");
    x = count(c) < MEETINGS ? calloc(1, sizeof *x) : NULL;
    if (!x)
        return err_set(e, ERR_NOMEM, "more than %d introductions at once, or no memory", MEETINGS);
    *x = (struct meeting){ .asks = c, .id = id, .number = ++r->meeting };
    memcpy(x->job, job, strlen(job) + 1);
    TAILQ_INSERT_TAIL(&r->meetings, x, in_all);
    return 1;
}

/* path NULL: it cannot be. */
static void tell_asker(struct meeting *x, const char *path, const char *why)
{
    struct resident *r = x->asks->all;

    begin(r, "introduce-response", x->id);
    msg_int(&r->out, "rc", path ? 0 : ERR_INVALID_ARG);
    if (path) {
        msg_str(&r->out, "path", path);
        add_secrets(r, x);
    } else {
        msg_str(&r->out, "errmsg", why);
    }
    dialog_send(&x->asks->dialog, &r->out);
    meeting_free(r, x);
}

static void arrange(struct resident *r, struct meeting *x, struct client *asked)
{
    if (make_secret(x->secret) < 0 || make_secret(x->answer) < 0) {
        tell_asker(x, NULL, "no random numbers");
        return;
    }
    x->asked = asked;
    begin(r, "introduce-to", 0);
    msg_int(&r->out, "number", x->number);
    add_secrets(r, x);
    dialog_send(&asked->dialog, &r->out);
}

/* Connections that are not accepted yet. */
static bool is_called(const struct resident *r)
{
    struct pollfd p = { r->fd, POLLIN, 0 };

    return poll(&p, 1, 0) > 0;
}

/* False: its job may still come. */
static bool see_to(struct resident *r, struct meeting *x)
{
    struct client *asked = registry_client(r->registry, x->asks->uid, x->job);
    char why[sizeof x->job + 40];

    if (asked && asked != x->asks && (resident_is_far(asked) || resident_is_far(x->asks))) {
        tell_asker(x, NULL, "its launcher is on another host");
        return true;
    }
    if (asked && asked != x->asks) {
        arrange(r, x, asked);
        return true;
    }
    x->turns = is_called(r) ? 0 : x->turns + 1;
    if (!asked && x->turns < TURNS)
        return false;
    snprintf(why, sizeof why, "no job %s of yours runs", x->job);
    tell_asker(x, NULL, why);
    return true;
}

bool resident_meet(struct resident *r)
{
    struct meeting *x, *next;
    bool again = false;

    for (x = TAILQ_FIRST(&r->meetings); x; x = next) {
        next = TAILQ_NEXT(x, in_all);
        if (!x->asked && !see_to(r, x))
            again = true;
    }
    return again;
}

/* Whom it concerns may have gone meanwhile: then there is nobody to tell. */
int resident_introduced(struct client *c, const struct msg *m, long long id, struct err *e)
{
    const char *path = msg_get(m, "path"), *why = msg_get(m, "errmsg");
    struct resident *r = c->all;
    struct meeting *x, *next;
    long long number;

    if (msg_number(m, "number", 1, INT64_MAX, &number, e) < 0)
        return -1;
    for (x = TAILQ_FIRST(&r->meetings); x; x = next) {
        next = TAILQ_NEXT(x, in_all);
        if (x->number == number && x->asked == c)
            tell_asker(x, path, why ? why : "its launcher refuses");
    }
    begin(r, "introduced-response", id);
    msg_int(&r->out, "rc", 0);
    return 0;
}

void resident_part(struct client *c)
{
    struct resident *r = c->all;
    struct meeting *x, *next;

    for (x = TAILQ_FIRST(&r->meetings); x; x = next) {
        next = TAILQ_NEXT(x, in_all);
        if (x->asks == c)
            meeting_free(r, x);
        else if (x->asked == c)
            tell_asker(x, NULL, "its launcher is gone");
    }
}

/* fuzz_resident.c - what three users say to a resident server: what is stored is what is known,
 * and nobody finds, lists or takes back what he must not.
 *
 * Input: lines; the first byte says who speaks - r: root; a, b: users; each with a
 * connection; R, A, B: a second one of theirs; -: the connection of who is next ends; +: the
 * turn ends, what was changed is stored; !: it cannot be stored - and the rest is the body of a
 * frame.  The loop does not run; replies are read where they wait. */
#include "test/fuzz/fuzz.h"

#include "mpiexec_lite/resident_impl.h"
#include "wire/limits.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { NAMES = 4096, CLIENTS = 6 };

static const char who[] = "rabRAB";
static const uid_t uids[CLIENTS] = { 0, 1000, 1001, 0, 1000, 1001 };

/* --- a store that is a list of numbers ----------------------------------------- */

static long long stored[NAMES];
static int       nstored;

void store_add(struct store *s, const struct reg_name *n)
{
    (void)s;
    if (nstored < NAMES)
        stored[nstored] = n->serial;
    nstored++;
}

void store_remove(struct store *s, long long serial)
{
    (void)s;
    for (int i = 0; i < nstored && i < NAMES; i++)
        if (stored[i] == serial) {
            stored[i] = stored[--nstored];
            return;
        }
    MUST(!"what is removed was stored");
}

/* --- the server ------------------------------------------------------------------ */

struct world {
    struct resident r;
    struct client  *client[CLIENTS];
    struct msg      m;
};

static void closed(void *host, struct dialog *d, const char *why)
{
    (void)host;
    (void)d;
    (void)why;
}

static const struct dialog_ops dialog_ops = { resident_message, closed };

static void leave(struct world *w, int i)
{
    struct client *c = w->client[i];

    if (!c)
        return;
    registry_job_end(w->r.registry, c, NULL);
    resident_forget(c);
    TAILQ_REMOVE(&w->r.clients, c, in_all);
    dialog_clear(&c->dialog);
    free(c);
    w->client[i] = NULL;
}

static void enter(struct world *w, int i)
{
    struct client *c = calloc(1, sizeof *c);
    int fd[2];

    MUST(c && socketpair(AF_UNIX, SOCK_STREAM, 0, fd) == 0);
    close(fd[1]);
    *c = (struct client){ .all = &w->r, .uid = uids[i], .descriptors = 1 };
    dialog_init(&c->dialog, w->r.loop, fd[0], LIMIT_FRAME_RANK, &dialog_ops, c);
    TAILQ_INSERT_TAIL(&w->r.clients, c, in_all);
    w->client[i] = c;
}

/* --- what must hold ---------------------------------------------------------------- */

/* All names; and the ports that this user may find for one, a line each. */
struct seek { const char *name; uid_t uid; struct buf ports; size_t n, of_others; };

static bool look(void *user, const struct reg_name *n)
{
    struct seek *s = user;
    bool may = n->owner == s->uid || n->range == RANGE_NODE;

    s->n++;
    s->of_others += n->owner != s->uid;
    if (may && s->name && !strcmp(n->name, s->name))
        buf_printf(&s->ports, "\n%s\n", n->port);
    return true;
}

static bool is_visible(void *user, const struct reg_name *n)
{
    const struct seek *s = user;

    MUST(!s->uid || n->owner == s->uid || n->range == RANGE_NODE);
    return true;
}

/* The reply to a request that has just been made, if it is there. */
static void check_reply(struct world *w, int i, const struct reply *x, const struct seek *before)
{
    struct err e;
    struct frame f;
    struct framer framer;
    char *data = buf_bytes(&x->frame);
    size_t len = x->frame.len;
    struct buf line = BUF_INIT;
    const char *value;

    framer_init(&framer, LIMIT_FRAME_LINK);
    framer.wire = WIRE_2;
    MUST(framer_next(&framer, &data, &len, &f, &e) == 1 && len == 0);
    MUST(wire_v2.parse(&w->m, f.text, f.len, &e) == 0);
    MUST(msg_get(&w->m, "id") && msg_get(&w->m, "rc"));
    MUST(!strcmp(msg_get(&w->m, "rc"), "0") == !msg_get(&w->m, "errmsg"));
    value = msg_get(&w->m, "value");
    if (value && before->name) {         /* it was there, for this user */
        MUST(x->client == w->client[i]);
        buf_printf(&line, "\n%s\n", value);
        MUST(strstr(buf_bytes(&before->ports), buf_bytes(&line)));
    }
    framer_clear(&framer);
    buf_clear(&line);
}

static void say(struct world *w, int i, char *text, size_t len)
{
    struct seek before = { .uid = uids[i], .ports = BUF_INIT }, after = { .uid = uids[i] };
    struct reply *last = TAILQ_LAST(&w->r.replies, replies);
    bool publish, looks;
    struct msg m;
    struct err e;

    msg_init(&m);
    if (wire_v2.parse(&m, text, len, &e) == 0) {
        looks = !strcmp(m.cmd, "name-lookup");
        publish = !strcmp(m.cmd, "name-publish");
        before.name = looks ? msg_get(&m, "name") : NULL;
        registry_each_name(w->r.registry, 0, 0, look, &before);
        if (resident_message(w->client[i], &w->client[i]->dialog, &m, &e) < 0) {
            leave(w, i);
            enter(w, i);
            last = NULL;
        } else {
            struct reply *x = last ? TAILQ_NEXT(last, in_all) : TAILQ_FIRST(&w->r.replies);

            registry_each_name(w->r.registry, 0, 0, look, &after);
            /* Only root, and who has read it once, makes another's name go. */
            MUST(uids[i] == 0 || publish || looks || after.of_others == before.of_others);
            MUST(publish || after.n <= before.n);
            if (x && !publish)
                check_reply(w, i, x, &before);
        }
        registry_each_name(w->r.registry, uids[i], 0, is_visible, &before);
    }
    MUST((int)registry_names(w->r.registry) == nstored);
    buf_clear(&before.ports);
    msg_clear(&m);
}

static void turn(struct world *w, bool spoil)
{
    if (spoil)
        resident_spoil(&w->r, &(struct err){ ERR_OTHER, "no room" });
    resident_meet(&w->r);
    resident_send(&w->r);
    for (int i = 0; i < CLIENTS; i++) {
        MUST(!w->client[i]->pending);
        buf_reset(&w->client[i]->dialog.out);
    }
}

static void play(struct world *w, char *line, size_t len)
{
    const char *at = len ? strchr(who, line[0]) : NULL;

    if (len && (line[0] == '+' || line[0] == '!')) {
        turn(w, line[0] == '!');
    } else if (len > 1 && line[0] == '-' && line[1] && (at = strchr(who, line[1]))) {
        leave(w, (int)(at - who));
        enter(w, (int)(at - who));
    } else if (at && *at) {
        say(w, (int)(at - who), line + 1, len - 1);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world *w = calloc(1, sizeof *w);
    char *text = malloc(size + 1), *line, *end;

    MUST(w && text);
    memcpy(text, data, size);
    text[size] = '\n';
    nstored = 0;
    w->r.loop = ev_loop_new(EVBACKEND_SELECT);
    w->r.registry = registry_new(&resident_ops, &w->r, 1);
    MUST(w->r.loop && w->r.registry);
    TAILQ_INIT(&w->r.clients);
    TAILQ_INIT(&w->r.replies);
    TAILQ_INIT(&w->r.meetings);
    LIST_INIT(&w->r.tickets);
    w->r.fd = -1;                        /* nobody calls */
    msg_init(&w->r.out);
    msg_init(&w->m);
    for (int i = 0; i < CLIENTS; i++)
        enter(w, i);
    for (line = text; (end = memchr(line, '\n', (size_t)(text + size + 1 - line))) &&
                      nstored < NAMES; line = end + 1)
        play(w, line, (size_t)(end - line));
    for (int i = 0; i < CLIENTS; i++)
        leave(w, i);
    MUST(registry_jobs(w->r.registry) == 0 && LIST_EMPTY(&w->r.tickets) &&
         TAILQ_EMPTY(&w->r.replies) && TAILQ_EMPTY(&w->r.meetings));
    registry_free(w->r.registry);
    ev_loop_destroy(w->r.loop);
    msg_clear(&w->r.out);
    msg_clear(&w->m);
    free(text);
    free(w);
    return 0;
}

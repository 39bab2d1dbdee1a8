/* replay.c - recorded dialogues, told again to the server core.
 *
 *     replay [FILE...]        all of test/transcripts when none is named
 *
 * A transcript is a wire trace (mpiexec_lite --trace-wire), or a recording made
 * with other servers:
 *
 *     NAME C>S |bytes|        a client wrote        (\n, \\, \xNN: see wire/FORMAT)
 *     NAME S>C |bytes|        a client read: one or more whole messages
 *     # ...                   a comment, or one of the lines below
 *
 * NAME is a connection.  The clients' side is played in the order of the file, but
 * a client never writes before it has read what it read in the recording: where
 * the recording's server answered before ours may (a fence), the others go first.
 * What our server sends is compared with what was read.
 *
 *     # job KEY=VALUE ...     size, id, universe, appnum=0,1,1 (the last for the rest),
 *                             map=FIRST,NODES,RANKS
 *     # ranks A=0 B=1         who is who; a NAME that is a number is that rank
 *     # port                  the connections are made through PMI_PORT
 *     # option KEY=VALUE      pmi1_subversion, fault_tolerant, no_names
 *     # exact                 replies are equal byte for byte; without this line a
 *                             reply may have its keys in another order
 *     # differs REPLY KEY THEIRS OURS reason
 *                             in that reply our value may be OURS where theirs was
 *                             THEIRS; '-': the key is not there, '*': any value.
 *                             A line that no reply needs is an error.
 *     # event TEXT            the host must be asked this: abort RANK world CODE TEXT
 *                             (escaped as the bytes are)
 *     # unread NAME N reason  so many of our replies were never read by that client
 *
 * Output is TAP, one point a file.  Each file is played twice: with its bytes as
 * recorded, and one by one. */
#include "pmi2/server.h"
#include "wire/limits.h"
#include "wire/msg.h"

#include <glob.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES = 64, DIFFS = 64 };

struct event {
    int    line, name;           /* of the file; index of the connection */
    bool   from_client, done;
    char  *text;                 /* in the header */
    size_t len;
};

struct diff {
    char *word[5];               /* reply, key, theirs, ours, reason; in the header */
    bool  used;
};

struct peer {
    char        name[16];
    int         rank, unread;    /* rank: -1 not known */
    struct conn *conn;
    struct buf  got;             /* sent by our server, not yet compared */
    struct framer theirs, ours;  /* framing of either stream */
    struct player *player;
};

struct player {
    const char    *file;
    char          *header;       /* owned: the file's text, cut into lines */
    struct event  *events;       /* owned */
    size_t         n, cap;
    struct peer    peer[NAMES];
    int            npeers;
    struct diff    diff[DIFFS];
    int            ndiffs;
    bool           exact, port;
    int            size, universe, appnums[NAMES];
    char           id[LIMIT_JOBID];
    struct mapping_block map;
    struct server_options options;
    struct buf     wanted, asked;        /* host events, one a line */
    struct server *server;
    struct job    *job;
    char           why[2000];    /* first thing that is wrong; "" if none */
};

__attribute__((format(printf, 2, 3)))
static bool wrong(struct player *p, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    if (!*p->why)
        vsnprintf(p->why, sizeof p->why, fmt, ap);
    va_end(ap);
    return false;
}

/* --- the host of the server -------------------------------------------- */

static size_t on_send(void *host, void *link, const char *data, size_t len)
{
    (void)host;
    buf_add(&((struct peer *)link)->got, data, len);
    return 0;
}

static void on_fail(void *host, void *link, struct member *m, const char *why)
{
    (void)m;
    wrong(host, "connection %s has failed: %s", ((struct peer *)link)->name, why);
}

static void on_abort(void *host, struct member *m, bool world, int code, const char *text)
{
    buf_printf(&((struct player *)host)->asked, "abort %d %s %d %s\n", member_rank(m),
               world ? "world" : "self", code, text);
}

static void on_member(void *host, struct member *m)
{
    (void)host;
    (void)m;
}

static void on_stuck(void *host, struct job *j, int missing, int waiting)
{
    (void)j;
    buf_printf(&((struct player *)host)->asked, "stuck %d %d\n", missing, waiting);
}

static void on_log(void *host, enum log_level level, struct member *m, const char *text)
{
    (void)host;
    (void)level;
    (void)m;
    (void)text;
}

static const struct host_ops host_ops = {
    .send = on_send, .fail = on_fail, .abort = on_abort, .initialized = on_member,
    .finalized = on_member, .stuck = on_stuck, .log = on_log,
};

/* --- reading a transcript ---------------------------------------------- */

static int hex(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c ? strchr(digits, c >= 'A' && c <= 'F' ? c + 32 : c) : NULL;

    return at ? (int)(at - digits) : -1;
}

/* Undo the escapes in place; the length, or -1. */
static long unescape(char *s, size_t len)
{
    char *to = s, *end = s + len;

    for (char *p = s; p < end;) {
        if (*p != '\\') {
            *to++ = *p++;
        } else if (end - p >= 2 && (p[1] == 'n' || p[1] == '\\')) {
            *to++ = p[1] == 'n' ? '\n' : '\\';
            p += 2;
        } else if (end - p >= 4 && p[1] == 'x' && hex(p[2]) >= 0 && hex(p[3]) >= 0) {
            *to++ = (char)(hex(p[2]) * 16 + hex(p[3]));
            p += 4;
        } else {
            return -1;
        }
    }
    return to - s;
}

static struct peer *peer_named(struct player *p, const char *name, size_t len)
{
    struct peer *peer;

    for (int i = 0; i < p->npeers; i++)
        if (strlen(p->peer[i].name) == len && !memcmp(p->peer[i].name, name, len))
            return &p->peer[i];
    if (p->npeers == NAMES || len >= sizeof p->peer[0].name)
        return NULL;
    peer = &p->peer[p->npeers++];
    memcpy(peer->name, name, len);
    peer->rank = *name >= '0' && *name <= '9' ? (int)strtol(name, NULL, 10) : -1;
    peer->player = p;
    return peer;
}

static bool add_event(struct player *p, int line, char *text)
{
    size_t len = strlen(text), name = strcspn(text, " ");
    char *bar = text + name + 6;
    bool from_client = !strncmp(text + name, " C>S |", 6);
    struct peer *peer;
    long n;

    if (len < name + 7 || (!from_client && strncmp(text + name, " S>C |", 6)) ||
        text[len - 1] != '|')
        return wrong(p, "line %d: not \"NAME C>S |...|\"", line);
    peer = peer_named(p, text, name);
    n = unescape(bar, (size_t)(text + len - 1 - bar));
    if (!peer || n < 0)
        return wrong(p, "line %d: bad name or escape", line);
    if (p->n == p->cap) {
        p->cap = p->cap ? p->cap * 2 : 64;
        p->events = realloc(p->events, p->cap * sizeof *p->events);
        if (!p->events)
            return wrong(p, "no memory");
    }
    p->events[p->n++] = (struct event){ .line = line, .name = (int)(peer - p->peer),
                                        .from_client = from_client, .text = bar,
                                        .len = (size_t)n };
    return true;
}

static void set_appnums(struct player *p, const char *value)
{
    char *end;

    for (int r = 0, n = 0; r < NAMES; r++) {
        if (*value)
            n = (int)strtol(value, &end, 10);
        if (*value)
            value = *end == ',' ? end + 1 : "";
        p->appnums[r] = n;
    }
}

static bool set_job(struct player *p, const char *key, const char *value)
{
    int n = (int)strtol(value, NULL, 10);

    if (!strcmp(key, "size"))
        p->size = n;
    else if (!strcmp(key, "universe"))
        p->universe = n;
    else if (!strcmp(key, "appnum"))
        set_appnums(p, value);
    else if (!strcmp(key, "id") && strlen(value) < sizeof p->id)
        strcpy(p->id, value);
    else
        return !strcmp(key, "map") && sscanf(value, "%d,%d,%d", &p->map.first, &p->map.nodes,
                                             &p->map.ranks) == 3;
    return true;
}

static bool set_option(struct player *p, const char *key, const char *value)
{
    int n = (int)strtol(value, NULL, 10);

    if (!strcmp(key, "pmi1_subversion"))
        p->options.pmi1_subversion = n;
    else if (!strcmp(key, "fault_tolerant"))
        p->options.fault_tolerant = n;
    else if (!strcmp(key, "no_names"))
        p->options.no_names = n;
    else
        return false;
    return true;
}

static bool set_rank(struct player *p, const char *key, const char *value)
{
    struct peer *peer = peer_named(p, key, strlen(key));

    if (peer)
        peer->rank = (int)strtol(value, NULL, 10);
    return peer != NULL;
}

/* KEY=VALUE words, each given to set. */
static bool each_word(struct player *p, int line, char *text,
                      bool (*set)(struct player *, const char *, const char *))
{
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
        char *eq = strchr(word, '=');

        if (!eq)
            return wrong(p, "line %d: KEY=VALUE wanted, not %s", line, word);
        *eq = '\0';
        if (!set(p, word, eq + 1))
            return wrong(p, "line %d: %s is not known or its value is bad", line, word);
    }
    return true;
}

static bool add_diff(struct player *p, int line, char *text)
{
    struct diff *d = &p->diff[p->ndiffs];

    if (p->ndiffs++ == DIFFS)
        return wrong(p, "line %d: too many differences", line);
    for (int i = 0; i < 5; i++) {
        d->word[i] = text;
        text += strcspn(text, " ");
        if (i < 4 && !*text)
            return wrong(p, "line %d: differs REPLY KEY THEIRS OURS reason", line);
        if (i < 4)
            *text++ = '\0';
    }
    return true;
}

static bool add_unread(struct player *p, int line, char *text)
{
    size_t n = strcspn(text, " ");
    struct peer *peer = peer_named(p, text, n);

    if (!peer || !text[n])
        return wrong(p, "line %d: unread NAME N reason", line);
    peer->unread = (int)strtol(text + n, NULL, 10);
    return true;
}

static bool add_wanted(struct player *p, int line, char *text)
{
    long n = unescape(text, strlen(text));

    if (n < 0)
        return wrong(p, "line %d: bad escape", line);
    buf_add(&p->wanted, text, (size_t)n);
    buf_char(&p->wanted, '\n');
    return true;
}

static bool header(struct player *p, int line, char *text)
{
    if (!strncmp(text, "job ", 4))
        return each_word(p, line, text + 4, set_job);
    if (!strncmp(text, "ranks ", 6))
        return each_word(p, line, text + 6, set_rank);
    if (!strncmp(text, "option ", 7))
        return each_word(p, line, text + 7, set_option);
    if (!strncmp(text, "differs ", 8))
        return add_diff(p, line, text + 8);
    if (!strncmp(text, "unread ", 7))
        return add_unread(p, line, text + 7);
    if (!strncmp(text, "event ", 6))
        return add_wanted(p, line, text + 6);
    if (!strcmp(text, "exact"))
        p->exact = true;
    if (!strcmp(text, "port"))
        p->port = true;
    return true;
}

static bool load(struct player *p)
{
    FILE *f = fopen(p->file, "re");
    struct buf all = BUF_INIT;
    int line = 0;
    size_t n;
    char *s;

    while (f && (s = buf_room(&all, 65536)) && (n = fread(s, 1, 65536, f)) > 0)
        buf_commit(&all, n);
    if (!f || all.failed || !all.len) {
        buf_clear(&all);
        if (f)
            fclose(f);
        return wrong(p, "cannot be read");
    }
    fclose(f);
    p->header = all.data;                /* nothing was consumed from it */
    for (s = all.data; s && *s; line++) {
        char *nl = strchr(s, '\n'), *next = nl ? nl + 1 : NULL;

        if (nl)
            *nl = '\0';
        if (*s == '#' ? !header(p, line + 1, s + (s[1] == ' ' ? 2 : 1)) :
            *s && !add_event(p, line + 1, s))
            return false;
        s = next;
    }
    return p->n || wrong(p, "holds no dialogue");
}

/* --- comparing replies ------------------------------------------------- */

static bool allowed(struct player *p, const char *cmd, const char *key, const char *theirs,
                    const char *ours)
{
    for (int i = 0; i < p->ndiffs; i++) {
        struct diff *d = &p->diff[i];

        if (!strcmp(d->word[0], cmd) && !strcmp(d->word[1], key) &&
            (!strcmp(d->word[2], "*") || !strcmp(d->word[2], theirs ? theirs : "-")) &&
            (!strcmp(d->word[3], "*") || !strcmp(d->word[3], ours ? ours : "-"))) {
            d->used = true;
            return true;
        }
    }
    return false;
}

/* Every key of a is in b with the same value, or may differ. */
static bool covers(struct player *p, const struct msg *a, const struct msg *b, bool a_is_ours)
{
    for (size_t i = 0; i < a->n; i++) {
        const char *key = a->pairs[i].key, *here = a->pairs[i].val, *there = msg_get(b, key);

        if (there && !strcmp(here, there))
            continue;
        if (!allowed(p, a->cmd, key, a_is_ours ? there : here, a_is_ours ? here : there))
            return wrong(p, "%s: %s is %s, recorded %s", a->cmd, key,
                         a_is_ours ? here : there ? there : "missing",
                         a_is_ours ? there ? there : "nothing" : here);
    }
    return true;
}

/* The next message of a stream, from its framer; edited in place. */
static bool next_message(struct framer *fr, char **data, size_t *len, struct msg *m,
                         struct buf *raw)
{
    struct frame f;

    if (framer_next(fr, data, len, &f, NULL) != 1)
        return false;
    buf_reset(raw);
    buf_add(raw, f.raw, f.raw_len);
    return codec_of(f.kind == FRAME_BODY ? WIRE_2 : WIRE_1)->parse(m, f.text, f.len, NULL) == 0;
}

/* After a good answer to a PMI-2 init both streams are framed by length. */
static void follow(struct framer *fr, const struct msg *m)
{
    const char *version = msg_get(m, "pmi_version"), *rc = msg_get(m, "rc");

    if (!strcmp(m->cmd, "response_to_init") && version && rc && !strcmp(rc, "0") &&
        *version == '2')
        fr->wire = WIRE_2;
}

/* What the recording's client read next, against what our server has sent it.
 * *waits: it has not yet sent as much. */
static bool compare(struct player *p, const struct event *ev, bool *waits)
{
    struct peer *peer = &p->peer[ev->name];
    char *text = malloc(ev->len), *at = text, *ours = NULL;
    size_t left = ev->len, have = peer->got.len;
    struct buf raw_t = BUF_INIT, raw_o = BUF_INIT;
    struct msg t, o;
    bool good = text != NULL;

    *waits = !have;
    msg_init(&t);
    msg_init(&o);
    if (text)
        memcpy(text, ev->text, ev->len);
    while (good && left && !*waits) {
        ours = buf_bytes(&peer->got);
        have = peer->got.len;
        if (!next_message(&peer->theirs, &at, &left, &t, &raw_t))
            good = wrong(p, "line %d: not a whole message", ev->line);
        else if (!have || !next_message(&peer->ours, &ours, &have, &o, &raw_o))
            good = wrong(p, "line %d: a reply is missing", ev->line);
        else if (strcmp(t.cmd, o.cmd))
            good = wrong(p, "line %d: the reply is %s, recorded %s", ev->line, o.cmd, t.cmd);
        else if (p->exact && (raw_t.len != raw_o.len ||
                              memcmp(buf_bytes(&raw_t), buf_bytes(&raw_o), raw_t.len)))
            good = wrong(p, "line %d: sent %s     recorded %s", ev->line, buf_bytes(&raw_o),
                         buf_bytes(&raw_t));
        else
            good = covers(p, &t, &o, false) && covers(p, &o, &t, true);
        if (good) {
            follow(&peer->theirs, &t);
            follow(&peer->ours, &o);
            buf_consume(&peer->got, peer->got.len - have);
        } else {
            wrong(p, "line %d", ev->line);
        }
    }
    msg_clear(&t);
    msg_clear(&o);
    buf_clear(&raw_t);
    buf_clear(&raw_o);
    free(text);
    return good;
}

/* --- playing ----------------------------------------------------------- */

static void write_input(struct player *p, const struct event *ev, size_t piece)
{
    struct conn *c = p->peer[ev->name].conn;

    for (size_t at = 0; at < ev->len;) {
        size_t n = ev->len - at < piece ? ev->len - at : piece;
        char *copy = malloc(n);

        if (!copy)
            return;
        memcpy(copy, ev->text + at, n);
        conn_input(c, copy, n);
        free(copy);
        at += n;
    }
}

/* One event that can happen now.  False when there is none. */
static bool step(struct player *p, size_t piece)
{
    bool busy[NAMES] = { false };

    for (size_t i = 0; i < p->n; i++) {
        struct event *ev = &p->events[i];
        bool waits = false;

        if (ev->done || busy[ev->name])
            continue;
        busy[ev->name] = true;           /* what follows on it has to wait */
        if (ev->from_client)
            write_input(p, ev, piece);
        else if (!compare(p, ev, &waits))
            return false;
        if (!waits) {
            ev->done = true;
            return true;
        }
    }
    return false;
}

static bool open_server(struct player *p)
{
    struct job_spec spec = { .id = p->id, .size = p->size, .universe = p->universe,
                             .map = &p->map, .map_blocks = 1 };
    int *appnums = calloc((size_t)p->size, sizeof *appnums);
    struct err e = { 0 };

    for (int r = 0; appnums && r < p->size; r++)
        appnums[r] = p->appnums[r < NAMES ? r : NAMES - 1];
    spec.appnums = appnums;
    p->server = appnums ? server_new(&host_ops, p, 1, &p->options) : NULL;
    p->job = p->server ? server_add_job(p->server, &spec, &e) : NULL;
    free(appnums);
    if (!p->job)
        return wrong(p, "no job: %s", e.text);
    for (int i = 0; i < p->npeers; i++) {
        struct peer *peer = &p->peer[i];
        struct member *m = p->port ? NULL : job_member(p->job, peer->rank);

        if (!p->port && !m)
            return wrong(p, "connection %s has no rank (# ranks %s=0)", peer->name, peer->name);
        framer_init(&peer->theirs, LIMIT_FRAME_RANK);
        framer_init(&peer->ours, LIMIT_FRAME_RANK);
        peer->conn = conn_new(p->server, p->job, m, peer);
    }
    return true;
}

static void close_server(struct player *p)
{
    for (int i = 0; i < p->npeers; i++) {
        conn_free(p->peer[i].conn);
        p->peer[i].conn = NULL;
        framer_clear(&p->peer[i].theirs);
        framer_clear(&p->peer[i].ours);
        buf_clear(&p->peer[i].got);
    }
    server_free(p->server);
    p->server = NULL;
    buf_clear(&p->asked);
    for (size_t i = 0; i < p->n; i++)
        p->events[i].done = false;
}

/* Replies that nobody read in the recording. */
static bool count_unread(struct player *p, struct peer *peer)
{
    char *at = peer->got.len ? buf_bytes(&peer->got) : NULL;
    size_t left = peer->got.len;
    struct buf raw = BUF_INIT;
    struct msg m;
    int n = 0;

    msg_init(&m);
    while (left && next_message(&peer->ours, &at, &left, &m, &raw))
        n++;
    if (n != peer->unread)
        wrong(p, "connection %s: %d replies were not read, want %d; last %s", peer->name, n,
              peer->unread, raw.len ? buf_bytes(&raw) : "none");
    msg_clear(&m);
    buf_clear(&raw);
    return n == peer->unread;
}

static bool check_end(struct player *p)
{
    const char *asked = p->asked.len ? buf_bytes(&p->asked) : "";
    const char *wanted = p->wanted.len ? buf_bytes(&p->wanted) : "";

    for (size_t i = 0; i < p->n; i++)
        if (!p->events[i].done)
            return wrong(p, "line %d: %s waits for a reply", p->events[i].line,
                         p->peer[p->events[i].name].name);
    for (int i = 0; i < p->npeers; i++)
        if (!count_unread(p, &p->peer[i]))
            return false;
    for (int i = 0; i < p->ndiffs; i++)
        if (!p->diff[i].used)
            return wrong(p, "differs %s %s: no reply needs this", p->diff[i].word[0],
                         p->diff[i].word[1]);
    return !strcmp(asked, wanted) || wrong(p, "the host was asked: %s want: %s", asked, wanted);
}

static bool play(struct player *p, size_t piece)
{
    if (open_server(p))
        while (!*p->why && step(p, piece))
            ;
    if (!*p->why)
        check_end(p);
    close_server(p);
    return !*p->why;
}

static bool replay(const char *file, int number)
{
    struct player *p = calloc(1, sizeof *p);
    bool good;

    if (!p)
        return false;
    p->file = file;
    p->size = 1;
    p->universe = -1;
    p->options.pmi1_subversion = 1;
    p->map = (struct mapping_block){ 0, 1, 0 };
    strcpy(p->id, "job");
    good = load(p);
    if (!p->map.ranks)
        p->map.ranks = p->size;
    good = good && play(p, SIZE_MAX) && play(p, 1);
    printf("%sok %d - %s\n", good ? "" : "not ", number, file);
    if (!good) {
        struct buf why = BUF_INIT;

        buf_escaped(&why, p->why, strlen(p->why));
        printf("# %s\n", why.len ? buf_bytes(&why) : "?");
        buf_clear(&why);
    }
    buf_clear(&p->wanted);
    free(p->events);
    free(p->header);
    free(p);
    return good;
}

int main(int argc, char **argv)
{
    glob_t found = { 0 };
    char **files = argv + 1;
    size_t n = (size_t)(argc - 1);
    int bad = 0;

    if (!n && glob("test/transcripts/*.txt", 0, NULL, &found) == 0) {
        files = found.gl_pathv;
        n = found.gl_pathc;
    }
    printf("1..%zu\n", n);
    for (size_t i = 0; i < n; i++)
        bad += !replay(files[i], (int)i + 1);
    globfree(&found);
    return bad || !n;
}

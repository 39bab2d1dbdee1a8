/* fuzz_peer.c - three servers of one job in a chain or side by side, whose ranks say
 * anything, and a peer that says anything.
 *
 * Input: a byte of options (bit 0: fault tolerant, 1: side by side, 2: all data goes
 * with a release, 3: some, 4: a root without ranks), then records with '|' between them.
 * A record's first byte says what happens:
 *
 *     0..3 text   bytes from that rank, whose PMI-1.2 is initialised
 *     a..d text   the same as one PMI-2 frame
 *     w..z        that rank's process has ended
 *     P..U text   a message to server 0, 1, 2 (from below: P, Q, R; from above: S, T, U):
 *                 its body, and behind the first '^' its payload, where a backslash and
 *                 two hexadecimal digits are one byte
 *     >           one message between servers is delivered; anything else: all are
 *     L           the third rank is lost with its node
 *
 * Properties: nothing but the forged messages is ever refused, unless one was taken
 * before; a refusal has a text; talk comes to an end; the host is told of no rank that
 * there is not. */
#include "test/fuzz/fuzz.h"

#include "pmi2/server.h"
#include "wire/limits.h"

#include <ctype.h>
#include <string.h>

enum { NODES = 3, RANKS = 4, TALK_MOST = 20000 };

struct mail { struct mail *next; char *frame, *payload; size_t frame_len, len; };

struct world;

struct node {
    struct world  *w;
    struct server *server;
    struct job    *job;
    struct peer   *up, *down[NODES];
    struct wire_to { struct node *to; struct mail *first; } to[NODES];
};

struct rank { struct world *w; struct conn *conn; bool failed, ended; size_t sent; };

struct world {
    struct node node[NODES];
    struct rank rank[RANKS];
    int         above[NODES], where[RANKS];
    bool        forged;
};

/* --- hosts ------------------------------------------------------------- */

static size_t host_send(void *host, void *link, const char *data, size_t len)
{
    struct rank *r = link;

    MUST(host && r->conn && !r->failed && data && len);
    r->sent += len;
    return 0;
}

static void host_fail(void *host, void *link, struct member *m, const char *why)
{
    struct rank *r = link;

    (void)m;
    MUST(host && !r->failed && *why);
    r->failed = true;
}

static void host_abort(void *host, struct member *m, bool world, int code, const char *text)
{
    (void)world;
    (void)code;
    MUST(host && m && text);
}

static void host_member(void *host, struct member *m)
{
    MUST(host && m && member_rank(m) >= 0 && member_rank(m) < RANKS);
}

static void host_stuck(void *host, struct job *j, int missing, int waiting)
{
    struct node *n = host;

    MUST(n->job == j && !n->up);
    MUST(missing >= 0 && missing < RANKS && waiting >= 0 && waiting < RANKS);
}

static void host_log(void *host, enum log_level level, struct member *m, const char *text)
{
    (void)m;
    MUST(host && level <= LOG_DEBUG && *text);
}

static char *copy_of(const char *data, size_t len)
{
    char *copy = malloc(len ? len : 1);

    MUST(copy);
    if (len)
        memcpy(copy, data, len);
    return copy;
}

static void host_peer_send(void *host, void *link, const char *frame, size_t frame_len,
                           const char *payload, size_t len)
{
    struct mail *m = malloc(sizeof *m), **at;
    struct wire_to *w = link;

    MUST(host && m && frame && frame_len > 6 && frame[frame_len - 1] == ';');
    *m = (struct mail){ NULL, copy_of(frame, frame_len), copy_of(payload, len), frame_len, len };
    for (at = &w->first; *at; at = &(*at)->next)
        ;
    *at = m;
}

static void host_peer_send_all(void *host, void *const *links, size_t n, const char *frame,
                               size_t frame_len, const char *payload, size_t len)
{
    for (size_t i = 0; i < n; i++)
        host_peer_send(host, links[i], frame, frame_len, payload, len);
}

static const struct host_ops ops = {
    .send = host_send, .fail = host_fail, .abort = host_abort, .initialized = host_member,
    .finalized = host_member, .stuck = host_stuck, .log = host_log,
    .peer_send = host_peer_send, .peer_send_all = host_peer_send_all,
};

/* --- messages between servers ------------------------------------------ */

static void mail_free(struct mail *m)
{
    free(m->frame);
    free(m->payload);
    free(m);
}

static int hand(struct peer *p, const char *body, size_t body_len, const char *payload,
                size_t len, struct err *e)
{
    char *text = copy_of(body, body_len), *data = copy_of(payload, len);
    struct msg m;
    int rc;

    msg_init(&m);
    rc = wire_v2.parse(&m, text, body_len, e);
    if (rc == 0)
        rc = peer_input(p, &m, len ? data : NULL, len, e);
    msg_clear(&m);
    free(text);
    free(data);
    return rc;
}

static bool deliver_one(struct world *w)
{
    for (int i = 0; i < NODES; i++)
        for (int k = 0; k < NODES; k++) {
            struct wire_to *at = &w->node[i].to[k];
            struct mail *m = at->first;
            struct peer *p = at->to->down[i] ? at->to->down[i] : at->to->up;
            struct err e = { 0 };
            int rc;

            if (!m)
                continue;
            at->first = m->next;
            rc = hand(p, m->frame + 6, m->frame_len - 6, m->payload, m->len, &e);
            MUST(rc == 0 || w->forged);
            mail_free(m);
            server_flush(at->to->server);
            return true;
        }
    return false;
}

static void deliver(struct world *w)
{
    int n = 0;

    for (int i = 0; i < NODES; i++)
        server_flush(w->node[i].server);
    while (deliver_one(w))
        MUST(n++ < TALK_MOST);
}

static void forge(struct world *w, char to, const char *s, size_t n)
{
    struct node *node = &w->node[(to - 'P') % 3];
    const char *bar = memchr(s, '^', n), *body = s;
    size_t body_len = bar ? (size_t)(bar - s) : n, len = 0;
    struct peer *p = to >= 'S' ? node->up : NULL;
    char *payload = copy_of(s, n);
    struct err e = { 0 };
    int rc;

    for (int i = 0; to < 'S' && !p && i < NODES; i++)
        p = node->down[i];
    for (const char *at = bar ? bar + 1 : s + n; at < s + n; at++) {
        int hex;

        if (*at == '\\' && s + n - at > 2 && isxdigit((unsigned char)at[1]) &&
            isxdigit((unsigned char)at[2]) && sscanf(at + 1, "%2x", (unsigned *)&hex) == 1) {
            payload[len++] = (char)hex;
            at += 2;
        } else {
            payload[len++] = *at;
        }
    }
    if (p) {
        rc = hand(p, body, body_len, payload, len, &e);
        MUST(rc == 0 || rc == 1 || (rc == -1 && *e.text));
        w->forged |= rc != 1;
    }
    free(payload);
}

/* --- ranks ------------------------------------------------------------- */

static void feed(struct rank *r, const char *data, size_t len, bool framed)
{
    struct buf b = BUF_INIT;
    char *exact;

    if (!r->conn || r->failed || conn_full(r->conn))
        return;
    if (framed)
        buf_printf(&b, "%6zu", len);
    buf_add(&b, data, len);
    MUST(!b.failed);
    exact = copy_of(buf_bytes(&b), b.len);
    conn_input(r->conn, exact, b.len);
    free(exact);
    buf_clear(&b);
}

static void close_rank(struct rank *r)
{
    if (r->conn) {
        conn_eof(r->conn);
        conn_free(r->conn);
    }
    r->conn = NULL;
}

static void record(struct world *w, const char *s, size_t n)
{
    char what = n ? s[0] : '\0';

    if (what >= '0' && what < '0' + RANKS) {
        feed(&w->rank[what - '0'], s + 1, n - 1, false);
    } else if (what >= 'a' && what < 'a' + RANKS) {
        feed(&w->rank[what - 'a'], s + 1, n - 1, true);
    } else if (what >= 'w' && what <= 'z' && !w->rank[what - 'w'].ended) {
        w->rank[what - 'w'].ended = true;
        close_rank(&w->rank[what - 'w']);
        member_ended(job_member(w->node[w->where[what - 'w']].job, what - 'w'));
    } else if (what >= 'P' && what <= 'U') {
        forge(w, what, s + 1, n - 1);
    } else if (what == 'L') {
        job_rank_lost(w->node[0].job, 2);
    } else if (what == '>') {
        deliver_one(w);
    } else {
        deliver(w);
    }
    for (int i = 0; i < RANKS; i++)
        if (w->rank[i].failed)
            close_rank(&w->rank[i]);
}

/* --- the whole --------------------------------------------------------- */

static int subtree(const struct world *w, int node)
{
    int n = 0;

    for (int r = 0; r < RANKS; r++)
        for (int at = w->where[r]; at >= 0; at = w->above[at])
            n += at == node;
    return n;
}

static void open_node(struct world *w, int i, const struct server_options *o)
{
    struct node *n = &w->node[i];
    struct mapping_block map[RANKS];
    int local[RANKS], appnums[RANKS] = { 0 }, nlocal = 0;
    struct err e;

    n->w = w;
    n->server = server_new(&ops, n, 1, o);
    MUST(n->server);
    for (int k = 0; k < NODES; k++)
        n->to[k].to = &w->node[k];
    if (i) {
        struct node *up = &w->node[w->above[i]];

        n->up = server_set_up(n->server, &n->to[w->above[i]]);
        up->down[i] = server_add_down(up->server, &up->to[i]);
        MUST(n->up && up->down[i]);
    }
    for (int r = 0; r < RANKS; r++) {
        map[r] = (struct mapping_block){ w->where[r], 1, 1 };
        if (w->where[r] == i)
            local[nlocal++] = r;
    }
    n->job = server_add_job(n->server, &(struct job_spec){ .id = "job0", .size = RANKS,
        .universe = -1, .appnums = appnums, .map = map, .map_blocks = RANKS, .spread = true,
        .local = local, .nlocal = nlocal, .subtree = subtree(w, i) }, &e);
    MUST(n->job);
}

static void close_world(struct world *w)
{
    for (int r = 0; r < RANKS; r++)
        close_rank(&w->rank[r]);
    for (int i = 0; i < NODES; i++) {
        server_free(w->node[i].server);
        for (int k = 0; k < NODES; k++)
            for (struct mail *m; (m = w->node[i].to[k].first);) {
                w->node[i].to[k].first = m->next;
                mail_free(m);
            }
    }
    free(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char init[] = "cmd=init pmi_version=1 pmi_subversion=2\n";
    struct world *w = calloc(1, sizeof *w);
    struct server_options o = { .pmi1_subversion = 1 };
    size_t at = 1;

    MUST(w);
    if (!size) {
        free(w);
        return 0;
    }
    o.fault_tolerant = data[0] & 1;
    o.release_bytes = data[0] & 4 ? 1 << 18 : data[0] & 8 ? 30 : 0;
    w->above[0] = -1;
    w->above[2] = data[0] & 2 ? 0 : 1;
    for (int r = 0; r < RANKS; r++)
        w->where[r] = r < 2 ? r : 2;
    if (data[0] & 16)
        w->where[0] = 1;
    for (int i = 0; i < NODES; i++)
        open_node(w, i, &o);
    for (int r = 0; r < RANKS; r++) {
        w->rank[r].w = w;
        w->rank[r].conn = conn_new(w->node[w->where[r]].server, w->node[w->where[r]].job,
                                   job_member(w->node[w->where[r]].job, r), &w->rank[r]);
        MUST(w->rank[r].conn);
        feed(&w->rank[r], init, sizeof init - 1, false);
    }
    while (at < size) {
        const uint8_t *bar = memchr(data + at, '|', size - at);
        size_t n = bar ? (size_t)(bar - (data + at)) : size - at;

        record(w, (const char *)data + at, n);
        at += n + 1;
    }
    deliver(w);
    close_world(w);
    return 0;
}

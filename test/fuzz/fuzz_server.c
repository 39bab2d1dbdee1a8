/* fuzz_server.c - the server core with several connections that say anything.
 *
 * Input: a byte for the job's size (1 + its value % 4), a byte of options (bit 0:
 * PMI-1.2 for everyone, 1: fault tolerant, 2: no name service), then records with
 * '|' between them.  A record's first byte says what happens:
 *
 *     0..3 text   bytes from the process of that rank (PMI_FD)
 *     4..7 text   bytes from that connection through PMI_PORT
 *     a..h text   the same for 0..7, as one PMI-2 frame: the length is put before
 *     A..H        the end of that connection
 *     w..z        the process of rank 0..3 has ended
 *
 * Properties: host operations get sane arguments, never for a connection that has
 * failed; what is sent is whole messages; a PMI-2 request is answered at most
 * once, under its own name and thrid, others not at all; in order but for those
 * with a thrid; a PMI-1 stream gets no more replies than it had requests. */
#include "test/fuzz/fuzz.h"

#include "pmi2/server.h"
#include "wire/limits.h"
#include "wire/msg.h"

#include <string.h>

enum { RANKS = 4, LINKS = 8, OPEN_MOST = 512 };

struct request_seen {
    char *reply;             /* owned: name of the answer to come */
    char *thrid;             /* owned; NULL: none */
};

struct link {
    struct world *w;
    struct conn  *conn;
    bool          used, failed;
    struct buf    sent;
    struct request_seen open[OPEN_MOST];     /* PMI-2, oldest first */
    size_t        nopen, lines, line_replies;
};

struct world {
    struct server *server;
    struct job    *job;
    int            size;
    struct link    link[LINKS];
    struct link   *fed;      /* whose input is being served */
    bool           ended[RANKS];
};

/* --- requests that were made ------------------------------------------- */

static char *copy_of(const char *s, size_t n)
{
    char *copy = malloc(n + 1);

    MUST(copy);
    memcpy(copy, s, n);
    copy[n] = '\0';
    return copy;
}

static void forget(struct link *l, size_t i)
{
    free(l->open[i].reply);
    free(l->open[i].thrid);
    l->nopen--;
    memmove(&l->open[i], &l->open[i + 1], (l->nopen - i) * sizeof *l->open);
}

/* A framed request, raw: note which reply it may have. */
static void expect(struct link *l, const char *data, size_t len)
{
    char *copy = copy_of(data, len), *at = copy;
    struct buf name = BUF_INIT;
    const struct pair *thrid;
    struct framer f;
    struct frame fr;
    struct msg m;

    if (l->nopen == OPEN_MOST)
        forget(l, 0);
    framer_init(&f, LIMIT_FRAME_RANK);
    f.wire = WIRE_2;
    MUST(framer_next(&f, &at, &len, &fr, NULL) == 1);
    msg_init(&m);
    (void)wire_v2.parse(&m, fr.text, fr.len, NULL);
    if (!*m.cmd)
        m.cmd = "error";
    buf_escaped(&name, m.cmd, strnlen(m.cmd, 64));
    buf_str(&name, "-response");
    MUST(!name.failed);
    thrid = msg_find(&m, "thrid");
    l->open[l->nopen++] = (struct request_seen){
        copy_of(buf_bytes(&name), name.len), thrid ? copy_of(thrid->val, thrid->len) : NULL
    };
    buf_clear(&name);
    msg_clear(&m);
    framer_clear(&f);
    free(copy);
}

/* Its reply keeps the order, and carries no thrid. */
static bool is_plain(const struct request_seen *r)
{
    return !r->thrid || !*r->thrid;
}

/* A framed reply: one request less is open. */
static void check_reply(struct link *l, char *body, size_t len)
{
    const char *thrid, *rc;
    struct msg m;
    size_t i;

    msg_init(&m);
    MUST(wire_v2.parse(&m, body, len, NULL) == 0);
    thrid = msg_get(&m, "thrid");
    rc = msg_get(&m, "rc");
    MUST(rc);
    if (thrid) {
        for (i = 0; i < l->nopen; i++)
            if (l->open[i].thrid && !strcmp(l->open[i].thrid, thrid) &&
                !strcmp(l->open[i].reply, m.cmd))
                break;
        MUST(i < l->nopen);
        forget(l, i);
    } else if (strcmp(m.cmd, "error-response")) {
        /* Those passed over (abort) get no reply. */
        for (i = 0; i < l->nopen; i++)
            if (!strcmp(l->open[i].reply, m.cmd) && is_plain(&l->open[i]))
                break;
        MUST(i < l->nopen);
        for (size_t k = i + 1; k-- > 0;)
            if (k == i || is_plain(&l->open[k]))
                forget(l, k);
    }
    msg_clear(&m);
}

/* What was sent since the last look: whole messages. */
static void check_sent(struct link *l)
{
    while (l->sent.len) {
        char *s = buf_bytes(&l->sent), digits[7] = "";
        size_t n;

        if (*s == 'c') {
            char *nl = memchr(s, '\n', l->sent.len);

            MUST(nl && !strncmp(s, "cmd=", 4));
            n = (size_t)(nl - s) + 1;
            if (strncmp(s, "cmd=set ", 8))
                MUST(++l->line_replies <= l->lines + l->failed);
        } else {
            MUST(l->sent.len > 6);
            memcpy(digits, s, 6);
            n = 6 + (size_t)strtoul(digits, NULL, 10);
            MUST(n > 6 && n <= l->sent.len && s[n - 1] == ';');
            check_reply(l, s + 6, n - 6);
        }
        buf_consume(&l->sent, n);
    }
}

/* --- the host ---------------------------------------------------------- */

static void check_member(const struct world *w, const struct member *m)
{
    MUST(m && member_job(m) == w->job && member_rank(m) >= 0 && member_rank(m) < w->size);
}

static size_t host_send(void *host, void *link, const char *data, size_t len)
{
    struct link *l = link;

    MUST(host && l && l->w == host && l->conn && !l->failed && data && len);
    buf_add(&l->sent, data, len);
    MUST(!l->sent.failed);
    return l->sent.len;
}

static void host_fail(void *host, void *link, struct member *m, const char *why)
{
    struct link *l = link;

    MUST(host && l && l->w == host && l->conn && !l->failed && why && *why);
    if (m)
        check_member(host, m);
    l->failed = true;
}

static void host_abort(void *host, struct member *m, bool world, int code, const char *text)
{
    (void)world;
    (void)code;
    MUST(host && text && strlen(text) <= LIMIT_ABORT_TEXT);
    check_member(host, m);
}

static void host_initialized(void *host, struct member *m)
{
    MUST(host);
    check_member(host, m);
    MUST(member_ever_initialized(m));
}

static void host_finalized(void *host, struct member *m)
{
    MUST(host);
    check_member(host, m);
}

static void host_stuck(void *host, struct job *j, int missing, int waiting)
{
    MUST(host);
    check_member(host, job_member(j, missing));
    check_member(host, job_member(j, waiting));
    MUST(missing != waiting && member_state(job_member(j, missing)) == MEMBER_GONE);
}

static void host_log(void *host, enum log_level level, struct member *m, const char *text)
{
    MUST(host && level >= LOG_ERROR && level <= LOG_DEBUG && text && *text);
    for (; *text; text++)
        MUST((unsigned char)*text >= ' ' && *text != 0x7F);
    if (m)
        check_member(host, m);
}

static void host_trace(void *host, struct member *m, bool from_peer, const char *data,
                       size_t len)
{
    struct world *w = host;

    MUST(w && data && len);
    if (m)
        check_member(w, m);
    if (!from_peer)
        return;
    MUST(w->fed && !w->fed->failed);
    if (*data == 'c' || *data == 'm')
        w->fed->lines++;
    else
        expect(w->fed, data, len);
}

static const struct host_ops ops = {
    .send = host_send, .fail = host_fail, .abort = host_abort, .initialized = host_initialized,
    .finalized = host_finalized, .stuck = host_stuck, .log = host_log, .trace = host_trace,
};

/* --- what happens ------------------------------------------------------ */

static void close_link(struct link *l, bool eof)
{
    if (!l->conn)
        return;
    if (eof)
        conn_eof(l->conn);
    check_sent(l);
    conn_free(l->conn);
    l->conn = NULL;
    while (l->nopen)
        forget(l, 0);
    l->lines = l->line_replies = 0;
    l->failed = false;
}

static void check_all(struct world *w)
{
    for (int i = 0; i < LINKS; i++) {
        struct link *l = &w->link[i];

        if (l->conn)
            check_sent(l);
        if (l->failed)
            close_link(l, false);
        else if (l->conn && conn_member(l->conn))
            check_member(w, conn_member(l->conn));
    }
}

/* The connection; opened if this is its first use.  NULL if it is no more. */
static struct link *get_link(struct world *w, int i)
{
    struct link *l = &w->link[i];
    bool fd = i < RANKS;

    if (l->conn)
        return l;
    if (fd && (l->used || i >= w->size || w->ended[i]))
        return NULL;
    for (int k = RANKS; fd && k < LINKS; k++)    /* claimed through PMI_PORT already */
        if (w->link[k].conn && conn_member(w->link[k].conn) == job_member(w->job, i))
            return NULL;
    l->used = true;
    l->w = w;
    l->conn = conn_new(w->server, w->job, fd ? job_member(w->job, i) : NULL, l);
    MUST(l->conn);
    return l;
}

static void feed(struct world *w, struct link *l, const char *data, size_t len, bool framed)
{
    struct buf b = BUF_INIT;
    char *exact;

    if (conn_full(l->conn))
        return;
    if (framed)
        buf_printf(&b, "%6zu", len);
    buf_add(&b, data, len);
    MUST(!b.failed);
    exact = malloc(b.len ? b.len : 1);
    MUST(exact);
    memcpy(exact, buf_bytes(&b), b.len);
    w->fed = l;
    conn_input(l->conn, exact, b.len);
    w->fed = NULL;
    free(exact);                             /* nothing of it may be used again */
    buf_clear(&b);
}

static void record(struct world *w, const char *s, size_t n)
{
    struct link *l;
    char what = n ? s[0] : '\0';

    if ((what >= '0' && what <= '7') || (what >= 'a' && what <= 'h')) {
        bool framed = what >= 'a';

        if ((l = get_link(w, framed ? what - 'a' : what - '0')))
            feed(w, l, s + 1, n - 1, framed);
    } else if (what >= 'A' && what <= 'H') {
        close_link(&w->link[what - 'A'], true);
    } else if (what >= 'w' && what <= 'z' && what - 'w' < w->size && !w->ended[what - 'w']) {
        w->ended[what - 'w'] = true;
        member_ended(job_member(w->job, what - 'w'));
        MUST(member_state(job_member(w->job, what - 'w')) == MEMBER_GONE);
    }
    check_all(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int appnums[RANKS];
    struct mapping_block map = { 0, 1, 1 };
    struct world *w = calloc(1, sizeof *w);
    struct server_options options = { 0 };
    struct err e;
    size_t at = 2;

    MUST(w);
    if (size < 2) {
        free(w);
        return 0;
    }
    w->size = map.ranks = 1 + data[0] % RANKS;
    options.pmi1_subversion = data[1] & 1 ? 2 : 1;
    options.fault_tolerant = data[1] & 2;
    options.no_names = data[1] & 4;
    w->server = server_new(&ops, w, 1, &options);
    MUST(w->server);
    w->job = server_add_job(w->server, &(struct job_spec){
        .id = "job0", .size = w->size, .universe = 8, .appnums = appnums,
        .map = &map, .map_blocks = 1 }, &e);
    MUST(w->job);
    while (at < size) {
        const uint8_t *bar = memchr(data + at, '|', size - at);
        size_t n = bar ? (size_t)(bar - (data + at)) : size - at;

        record(w, (const char *)data + at, n);
        at += n + 1;
    }
    for (int i = 0; i < LINKS; i++) {
        close_link(&w->link[i], i % 2);
        buf_clear(&w->link[i].sent);
    }
    server_free(w->server);
    free(w);
    return 0;
}

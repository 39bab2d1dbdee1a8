/* fuzz_ext.c - the layer of extended commands, with two tools and a rank that say anything.
 *
 * Input: records with '|' between them.  A record's first byte says what happens:
 *
 *     a..c text   one PMI-2 frame from the tool, another tool, or rank 1 of job j: the
 *                 length is put before
 *     0..2 text   the same as it is, bytes
 *     A..C        the end of that connection; its next use opens it again
 *     d..f        it has room again (from g..i on it has none)
 *     t           what the timer is for is due
 *     o text      rank 1 of j writes; e: its stderr; x: it writes no more
 *     l, m        a file was looked at: it is there; it is not
 *     s           what a survey found; u: it is over
 *     n, p, q     the node of rank 1 is lost; rank 1 ends; job j ends
 *
 * Properties: what is sent is whole frames that can be read; a request gets one reply, the
 * parts of which come before it, under its own name and thrid, and a status that goes with rc;
 * what comes unasked is events and output; the host is asked for sane things, and shows no
 * output any more when all are gone. */
#include "test/fuzz/fuzz.h"

#include "test/unit/fake_ext.h"

enum { LINKS = 3, RANK_SIDE = 2, RANKS = 10, OPEN_MOST = 512 };

struct open_request { char reply[300], thrid[LIMIT_THRID + 1]; };

struct side {
    struct host  link;               /* of it: conn, sent, queued, slow, failed */
    struct open_request open[OPEN_MOST];
    size_t       nopen;
    bool         raw;                /* requests have come that were no frame of ours */
};

struct world {
    struct host *host;
    struct job  *job;
    struct side  side[LINKS];
};

/* --- what is sent ------------------------------------------------------ */

static bool is_open(const struct side *s, const char *reply, const char *thrid, size_t *at)
{
    for (*at = 0; *at < s->nopen; ++*at)
        if (!strcmp(s->open[*at].reply, reply) && !strcmp(s->open[*at].thrid, thrid))
            return true;
    return false;
}

static bool is_unasked(const char *cmd)
{
    return !strcmp(cmd, "pmix-event") || !strcmp(cmd, "pmix-iof-data");
}

static void check_reply(struct side *s, const struct msg *m)
{
    const char *rc = msg_get(m, "rc"), *status = msg_get(m, "status"), *thrid;
    size_t at;

    MUST(strstr(m->cmd, "-response") && rc);
    MUST(!strcmp(rc, "0") || msg_get(m, "errmsg"));
    MUST(!status || (atoi(status) < 0) == (strcmp(rc, "0") != 0) ||
         atoi(status) == PMIX_ERR_PARTIAL_SUCCESS);
    thrid = msg_get(m, "thrid");
    if (!thrid || s->raw)
        return;
    MUST(is_open(s, m->cmd, thrid, &at));
    if (!msg_get(m, "more"))
        s->open[at] = s->open[--s->nopen];
}

static void check_frame(struct side *s, const struct frame *fr, struct framer *f)
{
    const struct pair *payload;
    struct msg m;
    long long n;

    if (fr->kind == FRAME_PAYLOAD)
        return;
    msg_init(&m);
    MUST(wire_v2.parse(&m, fr->text, fr->len, NULL) == 0);
    if (!is_unasked(m.cmd))
        check_reply(s, &m);
    payload = msg_find(&m, "payload");
    if (payload) {
        MUST(pair_int(payload, 1, LIMIT_FRAME_LINK, &n, NULL) == 0);
        framer_expect_payload(f, (size_t)n);
    }
    msg_clear(&m);
}

static void check_sent(struct side *s)
{
    char *at = s->link.sent.len ? buf_bytes(&s->link.sent) : NULL, *nl;
    size_t left = s->link.sent.len;
    struct framer f;
    struct frame fr;
    struct err e;

    framer_init(&f, LIMIT_FRAME_LINK);
    f.wire = WIRE_2;
    while (left) {
        if (!f.payload && *at == 'c') {          /* an answer to init, a line */
            nl = memchr(at, '\n', left);
            MUST(nl);
            left -= (size_t)(nl + 1 - at);
            at = nl + 1;
            continue;
        }
        MUST(framer_next(&f, &at, &left, &fr, &e) == 1);
        check_frame(s, &fr, &f);
    }
    MUST(!f.payload);
    framer_clear(&f);
    buf_reset(&s->link.sent);
}

/* A request: its answer is to come. */
static void expect(struct side *s, const char *text, size_t n)
{
    struct open_request *o = &s->open[s->nopen];
    struct buf name = BUF_INIT;
    char *copy = malloc(n + 1);
    const char *thrid;
    struct msg m;

    MUST(copy && s->nopen < OPEN_MOST);
    memcpy(copy, text, n);
    copy[n] = '\0';
    if (n && copy[n - 1] != ';')
        copy[n++] = ';';
    msg_init(&m);
    (void)wire_v2.parse(&m, copy, n, NULL);
    thrid = msg_get(&m, "thrid");
    if (thrid && strlen(thrid) <= LIMIT_THRID) {
        buf_escaped(&name, *m.cmd ? m.cmd : "error", *m.cmd ? strnlen(m.cmd, 64) : 5);
        snprintf(o->reply, sizeof o->reply, "%s-response", buf_bytes(&name));
        snprintf(o->thrid, sizeof o->thrid, "%s", thrid);
        s->nopen++;
    }
    msg_clear(&m);
    buf_clear(&name);
    free(copy);
}

/* --- what happens ------------------------------------------------------ */

static void close_side(struct side *s)
{
    if (!s->link.tool)
        return;
    if (!s->link.failed)
        conn_eof(s->link.tool);
    check_sent(s);
    conn_free(s->link.tool);
    s->link.tool = NULL;
    s->link.failed = s->link.slow = s->raw = false;
    s->link.queued = s->nopen = 0;
}

static void open_side(struct world *w, struct side *s)
{
    const struct party who = { .uid = 7, .gid = 7, .tool = true };
    struct host *server = w->host;
    bool rank = s == &w->side[RANK_SIDE];

    if (s->link.tool || (rank && !w->job))
        return;
    s->link.careless = true;
    s->link.tool = rank ? conn_new(server->server, w->job, job_member(w->job, 1), &s->link)
                        : conn_new_tool(server->server, &who, &s->link);
    MUST(s->link.tool);
    say(&s->link, "cmd=init pmi_version=2 pmi_subversion=0\n", false);
    if (rank)
        say(&s->link, "cmd=fullinit;pmirank=1;", true);
    check_sent(s);
}

/* Of a request, which is served when it is complete. */
static bool is_part(const char *text, size_t n)
{
    static const char part[] = "cmd=pmix-part;";

    return n >= sizeof part - 1 && !memcmp(text, part, sizeof part - 1);
}

static void feed(struct world *w, struct side *s, const char *text, size_t n, bool framed)
{
    struct buf b = BUF_INIT;
    char *exact;

    open_side(w, s);
    if (!s->link.tool || conn_full(s->link.tool) || s->nopen == OPEN_MOST)
        return;
    if (framed)
        buf_printf(&b, "%6zu", n);
    buf_add(&b, text, n);
    exact = malloc(b.len + 1);
    MUST(exact && !b.failed);
    if (b.len)
        memcpy(exact, buf_bytes(&b), b.len);
    if (framed)
        expect(s, text, n);
    s->raw = s->raw || !framed || is_part(text, n);
    conn_input(s->link.tool, exact, b.len);
    free(exact);                                 /* nothing of it may be used again */
    buf_clear(&b);
}

/* The host shows what is watched, while there is room. */
static void output(struct world *w, bool errors, const char *text, size_t n)
{
    const bool *watched = w->host->watched[0];

    if ((watched[0] || watched[2]) && !ext_output_full(w->host->ext))
        ext_output(w->host->ext, "j", 1, errors, text, n);
}

static void looked(struct world *w, bool there, const char *text, size_t n)
{
    struct ext_file file = { .there = there, .size = (long long)n,
                             .modified = { n ? *text : 0, 0 } };
    unsigned number = w->host->look;

    w->host->look = 0;
    ext_looked(w->host->ext, number, &file);
}

static void survey(struct world *w, bool over)
{
    static const struct fact_seen seen = { 77, PMIX_PROC_STATE_CONNECTED };
    static const struct fact_usage usage = { .rss = 1 << 20, .state = 'R', .op = "kvs-fence" };
    struct host *h = w->host;
    unsigned id = h->survey;

    if (over)
        h->survey = 0;
    if (over) {
        ext_survey_over(h->ext, id);
    } else {
        ext_seen(h->ext, id, 1, &seen, &usage);
        ext_seen_stack(h->ext, id, 1, true, "main\n\nside\n", 11);
        ext_seen_stack(h->ext, id, 2, false, "traced", 6);
    }
}

static void end_job(struct world *w)
{
    if (!w->job)
        return;
    close_side(&w->side[RANK_SIDE]);
    ext_job_ended(w->host->ext, "j", 1);
    server_remove_job(w->job);
    w->job = NULL;
    w->host->njobs = 0;
}

static void system_event(struct world *w, char what)
{
    const struct ext_end how = { .wstatus = 9, .inside = true };
    struct ext *x = w->host->ext;

    if (what == 'n')
        ext_node_lost(x, "node0");
    else if (w->job && what == 'p')
        ext_rank_ended(x, &(struct ext_rank){ "j", 1, 0 }, &how);
    else if (what == 'q')
        end_job(w);
}

static void record(struct world *w, const char *s, size_t n)
{
    char what = n ? *s++ : '\0';

    n -= n != 0;
    if (what >= 'a' && what <= 'c')
        feed(w, &w->side[what - 'a'], s, n, true);
    else if (what >= '0' && what <= '2')
        feed(w, &w->side[what - '0'], s, n, false);
    else if (what >= 'A' && what <= 'C')
        close_side(&w->side[what - 'A']);
    else if (what >= 'g' && what <= 'i')
        w->side[what - 'g'].link.slow = true;
    else if (what >= 'd' && what <= 'f') {
        w->side[what - 'd'].link.slow = false;
        w->side[what - 'd'].link.queued = 0;
        if (w->side[what - 'd'].link.tool && !w->side[what - 'd'].link.failed)
            conn_drained(w->side[what - 'd'].link.tool, 0);
    } else if (what == 't')
        turn(w->host);
    else if (what == 'o' || what == 'e' || what == 'x')
        output(w, what == 'e', s, what == 'x' ? 0 : n);
    else if ((what == 'l' || what == 'm') && w->host->look)
        looked(w, what == 'l', s, n);
    else if ((what == 's' || what == 'u') && w->host->survey)
        survey(w, what == 'u');
    else
        system_event(w, what);
    for (int i = 0; i < LINKS; i++) {
        check_sent(&w->side[i]);
        if (w->side[i].link.failed)
            close_side(&w->side[i]);
    }
}

static void open_world(struct world *w)
{
    static const int appnums[RANKS];
    const struct mapping_block map = { 0, 1, RANKS };
    struct err e;

    w->host = start(RANKS, 2, 5, 2);
    w->host->asks = 1;
    w->job = server_add_job(w->host->server, &(struct job_spec){
        .id = "j", .size = RANKS, .universe = RANKS, .appnums = appnums, .map = &map,
        .map_blocks = 1 }, &e);
    MUST(w->job);
}

static void close_world(struct world *w)
{
    for (int i = 0; i < LINKS; i++) {
        close_side(&w->side[i]);
        buf_clear(&w->side[i].link.sent);
    }
    for (int i = 0; i <= RANKS; i++)
        MUST(!w->host->watched[0][i] && !w->host->watched[1][i]);
    MUST(!ext_held(w->host->ext));
    stop(w->host);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world *w = calloc(1, sizeof *w);

    MUST(w);
    if (size > 65536) {
        free(w);
        return 0;
    }
    open_world(w);
    for (size_t at = 0; at < size;) {
        const uint8_t *bar = memchr(data + at, '|', size - at);
        size_t n = bar ? (size_t)(bar - (data + at)) : size - at;

        record(w, (const char *)data + at, n);
        at += n + 1;
    }
    close_world(w);
    free(w);
    return 0;
}

/* fake_ext.h - a host for the layer of extended commands, with a tool connected: jobs "j" and
 * "k" whose ranks go round the nodes.  Who includes it defines MUST(condition). */
#ifndef TEST_FAKE_EXT_H
#define TEST_FAKE_EXT_H

#include "pmix_ext/serve.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- a host ------------------------------------------------------------ */

enum { JOBS = 2, WATCHED = 16 };

struct host {
    struct server *server;
    struct ext    *ext;
    struct conn   *tool;
    struct job    *core[JOBS];
    int            size[JOBS], per_node, nodes, njobs;
    struct buf     sent;         /* to the tool, not taken yet */
    size_t         queued;       /* what is said to wait unsent */
    bool           slow;         /* nothing is written until it is taken */
    size_t         most;         /* queued at any time */
    long           memory;       /* most that was allocated while something was sent */
    unsigned       survey;       /* that is awaited; 0: none */
    int            asks;         /* servers that a survey waits for */
    unsigned       timer;
    unsigned       look;         /* a file that is to be looked at; 0: none */
    bool           watched[JOBS][WATCHED];   /* ranks, all of them being 0 */
    bool           careless;     /* the connection may fail */
    bool           failed;
    int            log_errno;    /* what a log of the host answers */
    bool           logs;         /* what it is given is kept */
    struct buf     logged;       /* what it was given */
};

static const char *const job_names[JOBS] = { "j", "k" };
static const char *const program_argv[] = { "./prog", "a b", NULL };

static const char *op_hostname(void *host) { (void)host; return "node0"; }
static inline double op_now(void *host) { (void)host; return 1e9; }

static inline bool op_job(void *host, size_t i, struct fact_job *out)
{
    struct host *h = host;

    if (i >= (size_t)h->njobs)
        return false;
    *out = (struct fact_job){ .of = &h->size[i], .nspace = job_names[i], .number = (int)i,
                              .size = h->size[i], .universe = -1, .napps = 1, .began = 1 };
    return true;
}

/* Ranks go round the nodes, per_node at a time. */
static inline bool op_run(void *host, const void *job, size_t i, struct fact_run *out)
{
    struct host *h = host;
    int size = *(const int *)job, first = (int)i * h->per_node;

    if (first >= size)
        return false;
    *out = (struct fact_run){ (int)(i % (size_t)h->nodes), first,
                              size - first < h->per_node ? size - first : h->per_node };
    return true;
}

static inline bool op_app(void *host, const void *job, int i, struct fact_app *out)
{
    (void)host;
    *out = (struct fact_app){ .n = *(const int *)job, .path = "/bin/prog", .wdir = "/tmp",
                              .argv = program_argv };
    return i == 0;
}

static inline bool op_node(void *host, int i, struct fact_node *out)
{
    static char name[32];
    static int named = -1;
    struct host *h = host;

    if (i != named)
        snprintf(name, sizeof name, "node%d", i);
    named = i;
    *out = (struct fact_node){ .name = name, .slots = 2, .here = i == 0 };
    return i < h->nodes;
}

static inline void op_rank(void *host, const void *job, int rank, struct fact_rank *out)
{
    (void)host;
    (void)job;
    *out = (struct fact_rank){ .pid = 1000 + rank, .state = PMIX_PROC_STATE_RUNNING };
}

static inline int op_survey(void *host, unsigned id, const void *job, int node, unsigned what)
{
    struct host *h = host;

    (void)job;
    (void)node;
    (void)what;
    h->survey = h->asks ? id : 0;
    return h->asks;
}

static inline void op_stop(void *host, unsigned id)
{
    struct host *h = host;

    MUST(id);
    if (id == h->survey)
        h->survey = 0;
}

static inline int job_numbered(const char *name)
{
    for (int i = 0; i < JOBS; i++)
        if (!strcmp(job_names[i], name))
            return i;
    return -1;
}

static inline void op_watch(void *host, const char *nspace, int rank, bool on)
{
    struct host *h = host;
    int job = job_numbered(nspace);

    MUST(rank >= -1);
    if (job >= 0 && rank + 1 < WATCHED)
        h->watched[job][rank + 1] = on;
}

static inline void op_output_room(void *host) { (void)host; }

static inline int op_where(void *host, const char *job, uint32_t rank)
{
    struct host *h = host;
    int i = job_numbered(job);

    return i < 0 || i >= h->njobs || rank >= (unsigned)h->size[i] ? -1
         : (int)rank / h->per_node % h->nodes;
}

static inline bool op_order(void *host, const char *job, int rank, const struct ext_order *order)
{
    MUST(order->who && *order->who);
    return op_where(host, job, rank < 0 ? 0 : (uint32_t)rank) >= 0;
}

static inline void op_look(void *host, int at, unsigned number, const char *path)
{
    struct host *h = host;

    MUST(at >= -1 && number && *path);
    h->look = number;
}

static inline int op_note(void *host, enum ext_log to, int priority, const char *job,
                          const char *line, size_t len)
{
    struct host *h = host;

    MUST((!job || *job) && !line[len]);
    for (size_t i = 0; i < len; i++)
        MUST((unsigned char)line[i] >= ' ');
    if (h->logs)
        buf_printf(&h->logged, "%d %d %s %.*s\n", (int)to, priority, job ? job : "-", (int)len,
                   line);
    return h->log_errno ? h->log_errno : to == EXT_LOG_STORE ? ENOTSUP : 0;
}

static inline bool op_push(void *host, const char *nspace, const char *data, size_t len)
{
    (void)data;
    (void)len;
    MUST(host);
    return job_numbered(nspace) >= 0;
}

static inline int op_servers(void *host, uid_t uid, struct rendezvous **list)
{
    (void)uid;
    MUST(host);
    *list = NULL;
    return 0;
}

static const struct fact_ops facts = { op_job, NULL, op_run, op_app, op_node, op_rank, NULL, NULL,
                                       op_survey, op_stop };
static const struct ext_ops ext_ops = {
    .hostname = op_hostname, .now = op_now, .watch = op_watch, .output_room = op_output_room,
    .facts = &facts, .push = op_push, .order = op_order, .look = op_look, .log = op_note,
    .servers = op_servers
};

static inline size_t op_send(void *host, void *link, const char *data, size_t len)
{
    struct host *h = link;
    struct mallinfo2 m = mallinfo2();

    (void)host;
    buf_add(&h->sent, data, len);
    h->queued = h->slow ? h->queued + len : 0;
    h->most = h->queued > h->most ? h->queued : h->most;
    if ((long)(m.uordblks + m.hblkhd) > h->memory)
        h->memory = (long)(m.uordblks + m.hblkhd);
    return h->queued;
}

static inline void op_fail(void *host, void *link, struct member *m, const char *why)
{
    struct host *h = link;

    (void)host;
    (void)m;
    MUST(h->careless && *why);
    h->failed = true;
}

static inline void op_log(void *host, enum log_level level, struct member *m, const char *text)
{
    (void)host;
    (void)level;
    (void)m;
    (void)text;
}

static inline void op_timer(void *host, unsigned id, double seconds)
{
    struct host *h = host;

    h->timer = seconds > 0 ? id : 0;
}

static inline void op_member(void *host, struct member *m) { MUST(host && m); }

static inline void op_abort(void *host, struct member *m, bool world, int code, const char *text)
{
    (void)world;
    (void)code;
    MUST(host && m && text);
}

static inline void op_stuck(void *host, struct job *j, int missing, int waiting)
{
    MUST(host && j && missing != waiting);
}

static const struct host_ops host_ops = {
    .send = op_send, .fail = op_fail, .abort = op_abort, .initialized = op_member,
    .finalized = op_member, .stuck = op_stuck, .log = op_log, .timer = op_timer
};

/* --- a dialogue -------------------------------------------------------- */

static inline void say(struct host *h, const char *text, bool framed)
{
    struct buf b = BUF_INIT;

    if (framed)
        buf_printf(&b, "%6zu", strlen(text));
    buf_str(&b, text);
    conn_input(h->tool, buf_bytes(&b), b.len);
    buf_clear(&b);
}

/* What a timer is for is done. */
static inline bool turn(struct host *h)
{
    unsigned id = h->timer;

    if (!id)
        return false;
    h->timer = 0;
    server_timer(h->server, id);
    return true;
}

/* The next frame, without its length, terminated; NULL: there is none. */
static inline char *frame(struct host *h)
{
    char digits[7] = "", *text;
    size_t n;

    if (h->sent.len < 6)
        return NULL;
    memcpy(digits, buf_bytes(&h->sent), 6);
    n = strtoul(digits, NULL, 10);
    MUST(h->sent.len >= 6 + n);
    text = malloc(n + 1);
    memcpy(text, buf_bytes(&h->sent) + 6, n);
    text[n] = '\0';
    buf_consume(&h->sent, 6 + n);
    return text;
}

static inline struct host *start(int size, int per_node, int nodes, int njobs)
{
    struct host *h = calloc(1, sizeof *h);
    const struct server_options options = { .pmi1_subversion = 1 };
    const struct party who = { .uid = 7, .tool = true };
    struct err e = { 0 };

    *h = (struct host){ .size = { size, 3 }, .per_node = per_node, .nodes = nodes,
                        .njobs = njobs };
    h->server = server_new(&host_ops, h, 1, &options);
    h->ext = ext_new(h->server, &ext_ops, h, &e);
    MUST(h->ext);
    h->tool = conn_new_tool(h->server, &who, h);
    say(h, "cmd=init pmi_version=2 pmi_subversion=0\n", false);
    buf_reset(&h->sent);
    say(h, "cmd=pmix-tool-connect;thrid=1;", true);
    free(frame(h));
    return h;
}

static inline void stop(struct host *h)
{
    conn_free(h->tool);
    ext_free(h->ext);
    server_free(h->server);
    buf_clear(&h->sent);
    buf_clear(&h->logged);
    free(h);
}

#endif

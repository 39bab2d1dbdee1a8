/* fake_tree.h - several servers of one job, wired together in memory, and stories
 * about them.
 *
 * A shape is a text with one character for each node: '-' for the root, and for
 * another its server above.  Where ranks are is a text with the node of each.  The
 * links keep messages in order; which link goes on next is drawn by lot.  Every
 * message is parsed from its frame and delivered in memory of its exact size.
 *
 * Steps are those of fake_host.h; a rank is served by the node it is on, the root's host
 * starts jobs on all, and what the hosts were asked ("?stuck 1 0") may have been asked of
 * any.  A stuck fence is noted once, however often it is told.  After each step all
 * messages are delivered, but for these:
 *
 *     |stop     from now on nothing is delivered
 *     |1>0      what node 1 has sent to node 0 is delivered
 *     |1>0*2    the first two messages of it
 *     |go       everything is delivered, as after each step from now on
 *     |lost 3   at the root: rank 3 has ended with its node
 *     |cut 2    node 2 is not there any more, as the one above it learns */
#ifndef TEST_FAKE_TREE_H
#define TEST_FAKE_TREE_H

#include "test/unit/fake_host.h"

#include "wire/limits.h"

enum { TREE_NODES = 6 };

struct tree_node;

struct tree_mail {                   /* a message on its way */
    struct tree_mail *next;
    size_t frame_len, len;
    char  *frame, *payload;
};

struct tree_wire {                   /* from one node to another */
    struct tree_node *from, *to;
    struct tree_mail *first;
};

struct fake_tree;

struct tree_node {
    struct fake      fake;           /* first: the host of the server */
    struct fake_tree *tree;
    struct peer      *up, *down[TREE_NODES];
    struct tree_wire  to[TREE_NODES];
    bool              cut;           /* what it sends, or is sent, goes nowhere */
};

struct fake_tree {
    int        n, size;
    char       shape[TREE_NODES + 1];
    struct tree_node node[TREE_NODES];
    int        where[10];            /* node of each rank */
    char       more[FAKE_JOBS][12];  /* the same of the other jobs, as text */
    unsigned   lot;
    bool       stopped;
    bool       no_memory;            /* a server could not send */
    bool       any_answer;           /* a message may be refused */
    struct err refused;              /* the last that was */
    size_t     messages, largest;    /* delivered; bytes of payload */
    char       stuck[400];           /* what was told already */
};

struct tree_story {
    const char *name, *where;        /* "0122" */
    struct server_options options;
    const char *steps[FAKE_STEPS];
};

/* --- the hosts --------------------------------------------------------- */

static inline void tree_send(void *host, void *link, const char *frame, size_t frame_len,
                             const char *payload, size_t len)
{
    struct tree_node *n = host;
    struct tree_wire *w = link;
    struct tree_mail *m, **at;

    assert_ptr_equal(w->from, n);
    if (w->from->cut || w->to->cut)
        return;
    if (!frame) {
        n->tree->no_memory = true;
        return;
    }
    m = calloc(1, sizeof *m);
    if (!m || !(m->frame = malloc(frame_len)) || !(m->payload = malloc(len ? len : 1))) {
        n->tree->no_memory = true;
        if (m)
            free(m->frame);
        free(m);
        return;
    }
    memcpy(m->frame, frame, m->frame_len = frame_len);
    if (len)
        memcpy(m->payload, payload, m->len = len);
    for (at = &w->first; *at; at = &(*at)->next)
        ;
    *at = m;
}

static inline void tree_send_all(void *host, void *const *links, size_t n, const char *frame,
                                 size_t frame_len, const char *payload, size_t len)
{
    for (size_t i = 0; i < n; i++)
        tree_send(host, links[i], frame, frame_len, payload, len);
}

static inline void tree_stuck(void *host, struct job *j, int missing, int waiting)
{
    struct tree_node *n = host;
    char line[60];
    size_t used = strlen(n->tree->stuck);

    (void)j;
    assert_null(n->up);                  /* only the root says so */
    snprintf(line, sizeof line, "stuck %d %d\n", missing, waiting);
    if (strstr(n->tree->stuck, line) || used + strlen(line) >= sizeof n->tree->stuck)
        return;
    memcpy(n->tree->stuck + used, line, strlen(line) + 1);
    buf_str(&n->fake.events, line);
}

static const struct host_ops tree_ops = {
    .send = fake_send, .fail = fake_fail, .abort = fake_abort, .initialized = fake_initialized,
    .finalized = fake_finalized, .stuck = tree_stuck, .log = fake_log, .trace = fake_trace,
    .peer_send = tree_send, .peer_send_all = tree_send_all, .spawn = fake_spawn,
    .died = fake_died
};

/* --- life -------------------------------------------------------------- */

static inline int tree_above(const char *shape, int i)
{
    return shape[i] == '-' ? -1 : shape[i] - '0';
}

/* Of ranks that are there, how many are at a node or below it. */
static inline int tree_subtree(const struct fake_tree *t, const char *where, int node)
{
    int n = 0;

    for (const char *p = where; *p; p++)
        for (int at = *p - '0'; at >= 0; at = tree_above(t->shape, at))
            n += at == node;
    return n;
}

/* A job's part at a node. */
static inline struct job *tree_job(struct fake_tree *t, const char *id, const char *where,
                                   const char *spawner, int node)
{
    struct mapping_block map[10];
    int local[10], appnums[10] = { 0 }, n = 0, size = (int)strlen(where);
    struct job_spec spec = { .id = id, .size = size, .universe = -1, .appnums = appnums,
                             .map = map, .map_blocks = (size_t)size, .spread = true,
                             .local = local, .spawner = spawner };
    struct err e = { 0 };

    for (int r = 0; r < size; r++) {
        map[r] = (struct mapping_block){ where[r] - '0', 1, 1 };
        if (where[r] - '0' == node)
            local[n++] = r;
    }
    spec.nlocal = n;
    spec.subtree = tree_subtree(t, where, node);
    return server_add_job(t->node[node].fake.server, &spec, &e);
}

static inline void tree_drop_job(struct fake *root, size_t slot)
{
    struct fake_tree *t = ((struct tree_node *)root)->tree;

    for (int i = 0; i < t->n; i++)
        if (t->node[i].fake.job[slot])
            fake_drop(&t->node[i].fake, slot);
}

/* A further job on all nodes; without a place given its ranks are at the root. */
static inline struct job *tree_add_job(struct fake *root, size_t slot, const char *id,
                                       const char *where, int size, const char *spawner)
{
    struct fake_tree *t = ((struct tree_node *)root)->tree;

    if (!*where)
        where = &"0000000000"[10 - size];
    assert_true(strlen(where) == (size_t)size && size <= 10);
    memcpy(t->more[slot], where, (size_t)size + 1);
    for (int i = 0; i < t->n; i++)
        if (!(t->node[i].fake.job[slot] = tree_job(t, id, where, spawner, i))) {
            tree_drop_job(root, slot);
            return NULL;
        }
    return root->job[slot];
}

static inline bool tree_open_node(struct fake_tree *t, const char *shape, int i,
                                  const struct server_options *options)
{
    struct tree_node *n = &t->node[i], *above = n + tree_above(shape, i) - i;

    n->tree = t;
    for (int k = 0; k < FAKE_LINKS; k++)
        n->fake.link[k].fake = &n->fake;
    for (int k = 0; k < TREE_NODES; k++)
        n->to[k] = (struct tree_wire){ n, &t->node[k], NULL };
    n->fake.server = server_new(&tree_ops, n, 42 + (uint64_t)i, options);
    if (!n->fake.server)
        return false;
    if (tree_above(shape, i) < 0)
        return true;
    n->up = server_set_up(n->fake.server, &n->to[above - t->node]);
    above->down[i] = server_add_down(above->fake.server, &above->to[i]);
    return n->up && above->down[i];
}

/* False only when there was no memory. */
static inline bool tree_open(struct fake_tree *t, const char *shape, const char *where,
                             const struct server_options *options, unsigned lot)
{
    struct server_options o = *options;

    memset(t, 0, sizeof *t);
    t->n = (int)strlen(shape);
    t->size = (int)strlen(where);
    t->lot = lot;
    snprintf(t->shape, sizeof t->shape, "%s", shape);
    for (int r = 0; r < t->size; r++)
        t->where[r] = where[r] - '0';
    if (!o.pmi1_subversion)
        o.pmi1_subversion = 1;
    for (int i = 0; i < t->n; i++)
        if (!tree_open_node(t, shape, i, &o))
            return false;
    for (int i = 0; i < t->n; i++)
        if (!(t->node[i].fake.job[0] = tree_job(t, "job0", where, NULL, i)))
            return false;
    t->node[0].fake.add_job = tree_add_job;
    t->node[0].fake.drop_job = tree_drop_job;
    return true;
}

static inline struct tree_mail *tree_take(struct tree_wire *w)
{
    struct tree_mail *m = w->first;

    if (m)
        w->first = m->next;
    return m;
}

static inline void tree_mail_free(struct tree_mail *m)
{
    free(m->frame);
    free(m->payload);
    free(m);
}

static inline void tree_close(struct fake_tree *t)
{
    for (int i = 0; i < t->n; i++) {
        struct tree_mail *m;

        fake_close(&t->node[i].fake);
        for (int k = 0; k < TREE_NODES; k++)
            while ((m = tree_take(&t->node[i].to[k])))
                tree_mail_free(m);
    }
}

/* --- messages ---------------------------------------------------------- */

/* What the server at the end of a wire makes of a frame and its payload. */
static inline int tree_hand(struct tree_wire *w, const char *frame, size_t frame_len,
                            const char *payload, size_t len, struct err *e)
{
    struct peer *p = w->to->down[w->from - w->to->tree->node];
    char *text = malloc(frame_len);
    struct msg m;
    int rc;

    if (!text)
        return 0;
    memcpy(text, frame, frame_len);
    msg_init(&m);
    rc = wire_v2.parse(&m, text + 6, frame_len - 6, e);
    if (rc == 0)
        rc = peer_input(p ? p : w->to->up, &m, len ? payload : NULL, len, e);
    msg_clear(&m);
    free(text);
    return rc;
}

static inline void tree_deliver(struct fake_tree *t, struct tree_wire *w)
{
    struct tree_mail *m = tree_take(w);
    struct err e = { 0 };
    int rc = tree_hand(w, m->frame, m->frame_len, m->payload, m->len, &e);

    t->messages++;
    if (m->len > t->largest)
        t->largest = m->len;
    if (rc < 0)
        t->refused = e;
    if (rc && !t->any_answer && !t->no_memory) {
        print_error("    %d>%d: %.*s: %d %s\n", (int)(w->from - t->node),
                    (int)(w->to - t->node), (int)m->frame_len, m->frame, rc, e.text);
        fail();
    }
    tree_mail_free(m);
}

/* A wire with something on it; NULL: none is left. */
static inline struct tree_wire *tree_draw(struct fake_tree *t)
{
    struct tree_wire *busy[TREE_NODES * TREE_NODES];
    unsigned n = 0;

    for (int i = 0; i < t->n; i++)
        for (int k = 0; k < t->n; k++)
            if (t->node[i].to[k].first)
                busy[n++] = &t->node[i].to[k];
    t->lot = t->lot * 1103515245u + 12345u;
    return n ? busy[(t->lot >> 16) % n] : NULL;
}

/* Everything that is on its way arrives. */
static inline void tree_settle(struct fake_tree *t)
{
    struct tree_wire *w;

    for (int i = 0; i < t->n; i++)
        server_flush(t->node[i].fake.server);
    for (int left = 100000; (w = tree_draw(t)); left--) {
        assert_true(left > 0);           /* they go on talking for ever */
        tree_deliver(t, w);
        server_flush(w->to->fake.server);
    }
}

static inline struct fake *tree_fake(struct fake_tree *t, char who)
{
    int r = fake_number(who);

    if (fake_slot(who))
        return &t->node[t->more[fake_slot(who)][r] ? t->more[fake_slot(who)][r] - '0' : 0].fake;
    assert_true(r >= 0 && r < t->size);
    return &t->node[t->where[r]].fake;
}

/* A node is lost. */
static inline void tree_cut(struct fake_tree *t, int node)
{
    int above = tree_above(t->shape, node);
    struct tree_mail *m;

    t->node[node].cut = true;
    for (int i = 0; i < t->n; i++) {
        while ((m = tree_take(&t->node[node].to[i])))
            tree_mail_free(m);
        while ((m = tree_take(&t->node[i].to[node])))
            tree_mail_free(m);
    }
    peer_free(t->node[above].down[node]);
    t->node[above].down[node] = NULL;
}

/* --- stories ----------------------------------------------------------- */

static inline void tree_control(struct fake_tree *t, const char *step)
{
    int from, to, n = 100000;

    if (!strcmp(step, "stop")) {
        t->stopped = true;
    } else if (!strcmp(step, "go")) {
        t->stopped = false;
    } else if (sscanf(step, "cut %d", &n) == 1) {
        tree_cut(t, n);
    } else if (sscanf(step, "lost %d", &n) == 1) {
        job_rank_lost(t->node[0].fake.job[0], n);
    } else {
        assert_true(sscanf(step, "%d>%d*%d", &from, &to, &n) >= 2);
        server_flush(t->node[from].fake.server);
        while (n-- && t->node[from].to[to].first)
            tree_deliver(t, &t->node[from].to[to]);
    }
}

/* One of the hosts was asked for it. */
static inline void tree_event(struct fake_tree *t, const char *want)
{
    char line[200];

    snprintf(line, sizeof line, "%s\n", want);
    for (int i = 0; i < t->n; i++)
        if (t->node[i].fake.events.len && strstr(buf_bytes(&t->node[i].fake.events), line)) {
            fake_event(&t->node[i].fake, want);
            return;
        }
    fake_event(&t->node[0].fake, want);  /* says that it was not */
}

static inline void tree_step(struct fake_tree *t, const char *step, size_t piece)
{
    if (*step == '|')
        tree_control(t, step + 1);
    else if (*step == '?')
        tree_event(t, step + 1);
    else if (*step == '*')
        fake_step(&t->node[0].fake, step, piece);
    else
        fake_step(tree_fake(t, *step), step, piece);
    if (!t->stopped)
        tree_settle(t);
}

static inline void tree_tell(struct fake_tree *t, const char *const *steps, size_t piece,
                             bool show)
{
    for (int i = 0; i < FAKE_STEPS && steps[i]; i++) {
        if (show)
            fake_show(steps[i]);
        tree_step(t, steps[i], piece);
    }
    for (int i = 0; i < t->n; i++)
        fake_nothing_left(&t->node[i].fake);
}

#endif

/* server.c - servers, their table of commands, jobs and members.
 *
 * See serve.c for the way of a message and request.c for that of a reply. */
#include "pmi2/core.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- server ------------------------------------------------------------ */

struct server *server_new(const struct host_ops *ops, void *host, uint64_t seed,
                          const struct server_options *options)
{
    struct server *s = calloc(1, sizeof *s);

    if (!s)
        return NULL;
    s->ops = *ops;
    s->host = host;
    s->seed = seed;
    s->options = *options;
    TAILQ_INIT(&s->jobs);
    TAILQ_INIT(&s->down);
    TAILQ_INIT(&s->asks);
    TAILQ_INIT(&s->spawns);
    TAILQ_INIT(&s->names_asked);
    TAILQ_INIT(&s->foreign);
    TAILQ_INIT(&s->fars);
    TAILQ_INIT(&s->far_asks);
    msg_init(&s->in);
    msg_init(&s->out);
    s->names = kvs_new(seed, LIMIT_NAMES_BYTES);
    if (!s->names || server_add_commands(s, pmi_commands, pmi_command_count, NULL) < 0) {
        server_free(s);
        return NULL;
    }
    return s;
}

static void job_free(struct job *j)
{
    relays_free(j);
    fences_free(j);
    job_unlink(j);
    kvs_free(j->kvs);
    kvs_free(j->node);
    kvs_free(j->missing);
    buf_clear(&j->late);
    buf_clear(&j->news);
    buf_clear(&j->again);
    buf_clear(&j->held);
    buf_clear(&j->gone_news);
    buf_clear(&j->dead_news);
    free(j->ranks);
    free(j->local);
    for (int i = 0; j->members && i < j->nlocal; i++)
        free(j->members[i].refused);
    free(j->members);
    free(j->map);
    free(j->mapping);
    free(j->spawner);
    free(j->target);
    free(j->xml);
    kvs_free(j->given);
    free(j->dims);
    free(j->coords);
    free(j->alloc_kinds);
    free(j);
}

void server_remove_job(struct job *j)
{
    relays_free(j);
    if (j->server->layer_ops)
        j->server->layer_ops->job_gone(j->server->layer, j);
    asks_forget_job(j);
    spawns_forget(j->server, j, NULL);
    names_forget(j->server, j, NULL);
    foreign_forget(j->server, j, NULL);
    TAILQ_REMOVE(&j->server->jobs, j, in_server);
    job_free(j);
}

void server_free(struct server *s)
{
    struct job *j;

    if (!s)
        return;
    peers_free(s);
    asks_forget(s, NULL);
    spawns_free(s);
    names_free(s);
    foreign_free(s);
    while ((j = TAILQ_FIRST(&s->jobs))) {
        TAILQ_REMOVE(&s->jobs, j, in_server);
        job_free(j);
    }
    kvs_free(s->names);
    for (int w = 0; w < WIRES; w++)
        free(s->by_name[w]);
    free(s->rows);
    msg_clear(&s->in);
    msg_clear(&s->out);
    buf_clear(&s->batch);
    buf_clear(&s->scratch);
    buf_clear(&s->attr);
    free(s);
}

void server_log(struct server *s, enum log_level level, struct member *m,
                const char *fmt, ...)
{
    struct buf safe = BUF_INIT;
    char text[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    buf_escaped(&safe, text, strlen(text));
    s->ops.log(s->host, level, m, safe.failed ? "(no memory)" : buf_bytes(&safe));
    buf_clear(&safe);
}

/* --- the table of commands --------------------------------------------- */

/* How many names come before this one. */
static size_t place_of(const struct server *s, enum wire w, const char *name)
{
    size_t lo = 0, hi = s->nby_name[w];

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;

        if (strcmp(s->by_name[w][mid]->name[w], name) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

const struct command *server_find(const struct server *s, enum wire w, const char *name)
{
    size_t i = place_of(s, w, name);

    return i < s->nby_name[w] && !strcmp(s->by_name[w][i]->name[w], name) ? s->by_name[w][i]
                                                                           : NULL;
}

static void insert_sorted(struct server *s, enum wire w, const struct command *row)
{
    size_t i = place_of(s, w, row->name[w]);
    const struct command **at = s->by_name[w] + i;

    memmove(at + 1, at, (s->nby_name[w]++ - i) * sizeof *at);
    *at = row;
}

static int grow_rows(const struct command ***rows, size_t n)
{
    const struct command **p = realloc(*rows, n * sizeof *p);

    if (!p)
        return -1;
    *rows = p;
    return 0;
}

int server_add_commands(struct server *s, const struct command *rows, size_t n,
                        struct err *e)
{
    for (size_t i = 0; i < n; i++)
        for (int w = 0; w < WIRES; w++)
            if (rows[i].name[w] && server_find(s, w, rows[i].name[w]))
                return err_set(e, ERR_INVALID_KEY, "command %s is there already",
                               rows[i].name[w]);
    if (!n)
        return 0;
    if (grow_rows(&s->rows, s->nrows + n) < 0 ||
        grow_rows(&s->by_name[WIRE_1], s->nby_name[WIRE_1] + n) < 0 ||
        grow_rows(&s->by_name[WIRE_2], s->nby_name[WIRE_2] + n) < 0)
        return err_set(e, ERR_NOMEM, "no memory for commands");
    for (size_t i = 0; i < n; i++) {
        s->rows[s->nrows++] = &rows[i];
        for (int w = 0; w < WIRES; w++)
            if (rows[i].name[w])
                insert_sorted(s, w, &rows[i]);
    }
    return 0;
}

void server_set_layer(struct server *s, const struct layer_ops *ops, void *layer)
{
    s->layer_ops = ops;
    s->layer = layer;
}

size_t server_command_count(const struct server *s) { return s->nrows; }
const struct command *server_command(const struct server *s, size_t i) { return s->rows[i]; }

/* --- jobs and members -------------------------------------------------- */

static int check_job_spec(const struct job_spec *spec, struct err *e)
{
    size_t n = strlen(spec->id);

    if (!n || n >= LIMIT_JOBID || strpbrk(spec->id, "; =\t\n"))
        return err_set(e, ERR_INVALID_ARG, "job id '%.80s' is empty, too long, or has a "
                       "character that the wire cannot carry", spec->id);
    if (spec->size < 1)
        return err_set(e, ERR_INVALID_ARG, "a job of %d ranks", spec->size);
    for (int i = 0; spec->spread && i < spec->nlocal; i++)
        if (spec->local[i] >= spec->size || spec->local[i] < (i ? spec->local[i - 1] + 1 : 0))
            return err_set(e, ERR_INVALID_ARG, "the ranks of this node are not in order");
    return 0;
}

/* The ranks that are here. */
static int add_members(struct job *j, const struct job_spec *spec)
{
    size_t n = spec->spread ? (size_t)spec->nlocal : (size_t)spec->size;

    j->nlocal = (int)n;
    j->subtree = spec->spread ? spec->subtree : spec->size;
    j->members = calloc(n ? n : 1, sizeof *j->members);
    if (spec->spread && !(j->local = malloc((n ? n : 1) * sizeof *j->local)))
        return -1;
    if (!j->members)
        return -1;
    for (size_t i = 0; i < n; i++) {
        int rank = spec->spread ? spec->local[i] : (int)i;

        j->members[i] = (struct member){ .job = j, .rank = rank, .appnum = spec->appnums[i] };
        if (j->local)
            j->local[i] = rank;
    }
    return 0;
}

/* The whole text; or, where that is too long for MPICH on PMI-1, one period of it. */
static char *mapping_text(const struct job_spec *spec)
{
    struct buf text = BUF_INIT;

    mapping_format(spec->map, spec->map_blocks, &text);
    if (text.len > LIMIT_MAPPING_V1) {
        buf_clear(&text);
        mapping_format(spec->map, mapping_period(spec->map, spec->map_blocks), &text);
    }
    if (!text.failed)
        return text.data;
    buf_clear(&text);
    return NULL;
}

/* A copy of a text that may be NULL; false: no memory. */
static bool copy(char **to, const char *text)
{
    *to = text ? strdup(text) : NULL;
    return *to || !text;
}

static int add_map(struct job *j, const struct job_spec *spec)
{
    j->mapping = mapping_text(spec);
    j->nmap = spec->map_blocks;
    j->map = malloc((j->nmap ? j->nmap : 1) * sizeof *j->map);
    if (!j->map || !j->mapping)
        return -1;
    if (j->nmap)
        memcpy(j->map, spec->map, j->nmap * sizeof *j->map);
    return 0;
}

struct job *server_add_job(struct server *s, const struct job_spec *spec, struct err *e)
{
    struct job *j;

    if (check_job_spec(spec, e) < 0)
        return NULL;
    j = calloc(1, sizeof *j);
    if (!j)
        goto nomem;
    TAILQ_INIT(&j->fences);
    waiters_init(&j->attr_waiters);
    waiters_init(&j->find_waiters);
    waiters_init(&j->init_waiters);
    memcpy(j->id, spec->id, strlen(spec->id) + 1);
    j->server = s;
    j->size = spec->size;
    j->universe = spec->universe;
    j->kvs = kvs_new(s->seed, LIMIT_KVS_BYTES);
    j->node = kvs_new(s->seed, LIMIT_NODE_BYTES);
    j->link = spec->link;
    j->in_env = spec->in_env;
    if (add_members(j, spec) < 0 || add_map(j, spec) < 0 || !j->kvs || !j->node ||
        !copy(&j->spawner, spec->spawner) || !copy(&j->target, spec->target) || !copy(&j->dims, spec->cart_dims) ||
        !copy(&j->coords, spec->cart_coords) || !copy(&j->alloc_kinds, spec->alloc_kinds))
        goto nomem;
    j->number = s->job_count++;
    TAILQ_INSERT_TAIL(&s->jobs, j, in_server);
    return j;
nomem:
    if (j)
        job_free(j);
    err_set(e, ERR_NOMEM, "no memory for a job of %d ranks", spec->size);
    return NULL;
}

int by_rank(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;

    return (x > y) - (x < y);
}

struct member *job_member(struct job *j, int rank)
{
    const int *at;

    if (!j->local)
        return rank >= 0 && rank < j->size ? &j->members[rank] : NULL;
    at = bsearch(&rank, j->local, (size_t)j->nlocal, sizeof rank, by_rank);
    return at ? &j->members[at - j->local] : NULL;
}

struct job *job_named(struct server *s, const char *id)
{
    struct job *j;

    TAILQ_FOREACH(j, &s->jobs, in_server)
        if (!strcmp(j->id, id))
            return j;
    return NULL;
}

const char *job_id(const struct job *j) { return j->id; }
void *job_link(const struct job *j) { return j->link; }
const char *job_mapping(const struct job *j) { return j->mapping; }
void job_set_mixed(struct job *j) { j->mixed = true; }
size_t job_kvs_bytes(const struct job *j) { return kvs_bytes(j->kvs) + j->late.len + j->held.len; }
int member_rank(const struct member *m) { return m->rank; }
struct job *member_job(const struct member *m) { return m->job; }
bool member_ever_initialized(const struct member *m) { return m->initialized; }

enum member_state member_state(const struct member *m)
{
    static const enum member_state of[] = {
        [CONN_NEW] = MEMBER_NEW, [CONN_GREETED] = MEMBER_GREETED,
        [CONN_READY] = MEMBER_READY, [CONN_FINAL] = MEMBER_FINAL,
        [CONN_FAILED] = MEMBER_READY,
    };

    if (m->gone)
        return MEMBER_GONE;
    return m->conn ? of[m->conn->state] : MEMBER_NEW;
}

const char *member_waits_in(const struct member *m)
{
    const struct request *rq = m->conn ? TAILQ_FIRST(&m->conn->order) : NULL;

    return rq ? rq->cmd->name[m->conn->framer.wire] : NULL;
}

bool member_in_fence(const struct member *m)
{
    const char *command = member_waits_in(m);

    return command && (!strcmp(command, "kvs-fence") || !strcmp(command, "barrier_in"));
}

bool member_is_held(const struct member *m)
{
    return m->held && member_waits_in(m);
}

void member_ended(struct member *m)
{
    if (m->gone)
        return;
    m->gone = true;
    m->job->gone++;
    peers_rank_ended(m->job, m->rank, m->initialized && !m->finalized);
    attr_member_ended(m);
}

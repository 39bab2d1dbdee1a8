/* lib_keys.c - the standard's keys that a plain PMI-2 server has an answer to: of the job,
 * and of ranks as far as its map of ranks to nodes goes; see lib.h */
#include "pmix_ext/lib.h"

#include "pmi2/mapping.h"

#include <stdlib.h>
#include <string.h>

/* A map of more blocks than this is not looked into. */
enum { BLOCKS = 4096 };

static pmix_status_t load(pmix_value_t *value, const void *data, pmix_data_type_t type)
{
    return PMIx_Value_load(value, data, type);
}

static pmix_status_t load_count(pmix_value_t *value, size_t n)
{
    uint32_t number = (uint32_t)n;

    return load(value, &number, PMIX_UINT32);
}

/* --- the map ----------------------------------------------------------- */

struct map {
    struct link *link;
    int         *node;           /* owned: by rank */
    int          nodes;          /* one more than the highest */
};

/* Each block in turn, over and over until all ranks have a node. */
static void spread(struct map *m, const struct mapping_block *b, int n)
{
    int rank = 0, size = m->link->client.size;

    while (rank < size)
        for (int i = 0; i < n; i++)
            for (int k = 0; k < b[i].nodes; k++)
                for (int r = 0; r < b[i].ranks && rank < size; r++) {
                    m->node[rank++] = b[i].first + k;
                    if (b[i].first + k >= m->nodes)
                        m->nodes = b[i].first + k + 1;
                }
}

static bool map_read(struct map *m, struct link *l)
{
    struct mapping_block *blocks = calloc(BLOCKS, sizeof *blocks);
    struct buf text = BUF_INIT;
    struct err e;
    bool found;
    int n = 0;

    *m = (struct map){ .link = l, .node = calloc((size_t)l->client.size, sizeof *m->node) };
    if (blocks && m->node &&
        client_get_attr(&l->client, false, "PMI_process_mapping", false, &text, &found, &e) == 0 &&
        found && text.len)
        n = mapping_parse(buf_bytes(&text), blocks, BLOCKS, &e);
    if (n > 0)
        spread(m, blocks, n);
    buf_clear(&text);
    free(blocks);
    return n > 0;
}

static size_t ranks_on(const struct map *m, int node, int before)
{
    size_t n = 0;

    for (int r = 0; r < before; r++)
        n += m->node[r] == node;
    return n;
}

static pmix_status_t peers(const struct map *m, int node, pmix_value_t *value)
{
    struct buf list = BUF_INIT;
    pmix_status_t status;

    for (int r = 0; r < m->link->client.size; r++)
        if (m->node[r] == node)
            buf_printf(&list, "%s%d", list.len ? "," : "", r);
    status = list.failed ? PMIX_ERR_NOMEM
                         : load(value, list.len ? buf_bytes(&list) : "", PMIX_STRING);
    buf_clear(&list);
    return status;
}

/* What needs the map; rank: of whom. */
static pmix_status_t mapped(struct link *l, int rank, const char *key, pmix_value_t *value)
{
    pmix_status_t status = PMIX_ERR_NOT_FOUND;
    int size = l->client.size;
    struct map m = { 0 };

    if (rank < size && map_read(&m, l)) {
        int node = m.node[rank];
        uint16_t place = (uint16_t)ranks_on(&m, node, rank);
        uint32_t id = (uint32_t)node;

        if (!strcmp(key, PMIX_LOCAL_SIZE))
            status = load_count(value, ranks_on(&m, node, size));
        else if (!strcmp(key, PMIX_LOCAL_PEERS))
            status = peers(&m, node, value);
        else if (!strcmp(key, PMIX_LOCAL_RANK))
            status = load(value, &place, PMIX_UINT16);
        else if (!strcmp(key, PMIX_NODEID))
            status = load(value, &id, PMIX_UINT32);
        else if (!strcmp(key, PMIX_NUM_NODES))
            status = load_count(value, (size_t)m.nodes);
    }
    free(m.node);
    return status;
}

/* --- all keys ---------------------------------------------------------- */

static pmix_status_t universe(struct link *l, pmix_value_t *value)
{
    struct pair p = { "universeSize", "", 0 };
    struct buf text = BUF_INIT;
    struct err e;
    long long n;
    bool found, ok;

    ok = client_get_attr(&l->client, false, p.key, false, &text, &found, &e) == 0 && found &&
         text.len;
    if (ok) {
        p.val = buf_bytes(&text);
        p.len = text.len;
        ok = pair_int(&p, 1, UINT32_MAX, &n, &e) == 0;
    }
    buf_clear(&text);
    return ok ? load_count(value, (size_t)n) : PMIX_ERR_NOT_FOUND;
}

/* Of the job as a whole, as fullinit said it. */
static pmix_status_t of_job(struct link *l, const char *key, pmix_value_t *value)
{
    bool spawned = l->client.spawned;

    if (!strcmp(key, PMIX_JOB_SIZE) || !strcmp(key, PMIX_MAX_PROCS))
        return load_count(value, (size_t)l->client.size);
    if (!strcmp(key, PMIX_NSPACE) || !strcmp(key, PMIX_JOBID))
        return load(value, l->me.nspace, PMIX_STRING);
    if (!strcmp(key, PMIX_SPAWNED))
        return load(value, &spawned, PMIX_BOOL);
    return PMIX_ERR_NOT_FOUND;
}

static pmix_status_t of_self(struct link *l, const char *key, pmix_value_t *value)
{
    if (!strcmp(key, PMIX_RANK))
        return load(value, &l->me.rank, PMIX_PROC_RANK);
    if (!strcmp(key, PMIX_APPNUM) && l->client.appnum >= 0)
        return load_count(value, (size_t)l->client.appnum);
    return PMIX_ERR_NOT_FOUND;
}

pmix_status_t own_key(struct link *l, const pmix_proc_t *proc, const char *key,
                      pmix_value_t *value)
{
    bool any = proc->rank == PMIX_RANK_WILDCARD || proc->rank == PMIX_RANK_UNDEF;
    pmix_status_t status = of_job(l, key, value);

    if (status == PMIX_ERR_NOT_FOUND && (any || proc->rank == l->me.rank))
        status = of_self(l, key, value);
    return status;
}

/* What is of this node, asked of the job, is that of the node we are on. */
pmix_status_t plain_key(struct link *l, const pmix_proc_t *proc, const char *key,
                        pmix_value_t *value)
{
    bool any = proc->rank == PMIX_RANK_WILDCARD || proc->rank == PMIX_RANK_UNDEF;
    pmix_status_t status = own_key(l, proc, key, value);

    if (status == PMIX_ERR_NOT_FOUND && !strcmp(key, PMIX_UNIV_SIZE))
        status = universe(l, value);
    if (status == PMIX_ERR_NOT_FOUND && (any || proc->rank < (pmix_rank_t)l->client.size))
        status = mapped(l, any ? (int)l->me.rank : (int)proc->rank, key, value);
    return status;
}

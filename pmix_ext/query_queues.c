/* query_queues.c - the scheduler's queues, as keys of pmix-query. */
#include "pmix_ext/lite_keys.h"
#include "pmix_ext/serve.h"
#include "pmix_ext/value.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

pmix_status_t query_queue_list(struct ext *x, const struct element *of, pmix_value_t *out)
{
    const struct query_queues *q = asking_queues(of->asking);
    struct buf text = BUF_INIT;

    (void)x;
    for (size_t i = 0; i < q->n; i++)
        buf_printf(&text, "%s%s", i ? "," : "", q->v[i].name);
    out->type = PMIX_STRING;
    out->data.string = text.failed ? NULL : strdup(text.len ? buf_bytes(&text) : "");
    buf_clear(&text);
    return out->data.string ? PMIX_SUCCESS : PMIX_ERR_NOMEM;
}

static pmix_value_t *add(pmix_info_t *v, size_t *n, const char *key, pmix_data_type_t type)
{
    pmix_info_t *info = &v[(*n)++];

    snprintf(info->key, sizeof info->key, "%s", key);
    info->value.type = type;
    return &info->value;
}

int query_queue_status(struct ext *x, const struct element *of, struct buf *out, struct err *e)
{
    const struct sched_queue *q = &asking_queues(of->asking)->v[of->index];
    pmix_info_t v[6] = { { .key = "" } }, whole = { .key = PMIX_ALLOC_QUEUE };
    pmix_data_array_t all = { .type = PMIX_INFO, .array = v };

    (void)x;
    if (of->sel->queue && strcmp(of->sel->queue, q->name))
        return 0;
    add(v, &all.size, PMIX_ALLOC_QUEUE, PMIX_STRING)->data.string = (char *)(uintptr_t)q->name;
    add(v, &all.size, LITE_QUEUE_UP, PMIX_BOOL)->data.flag = q->up;
    add(v, &all.size, PMIX_NUM_NODES, PMIX_UINT32)->data.uint32 = q->nodes;
    add(v, &all.size, LITE_QUEUE_IDLE, PMIX_UINT32)->data.uint32 = q->idle;
    add(v, &all.size, PMIX_ALLOC_NUM_CPUS, PMIX_UINT64)->data.uint64 = q->cpus;
    if (q->limit)
        add(v, &all.size, PMIX_ALLOC_TIME, PMIX_UINT32)->data.uint32 = q->limit;
    whole.value.type = PMIX_DATA_ARRAY;
    whole.value.data.darray = &all;
    return value_encode(PMIX_INFO, &whole, "info", out, e) < 0 ? -1 : 1;
}

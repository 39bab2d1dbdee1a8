/* census.c - see census.h: the records */
#include "mpiexec_lite/census.h"

#include <endian.h>
#include <string.h>

enum { USED = 256, WAITS = 512 };        /* beside the kind */
enum { HEAD = 5, NUMBERS = 3, MORE = 5 };        /* of 4, 8 and 4 bytes; the last two with usage */

static void add_u32(struct buf *out, uint32_t n)
{
    n = htole32(n);
    buf_add(out, &n, sizeof n);
}

static void add_u64(struct buf *out, uint64_t n)
{
    n = htole64(n);
    buf_add(out, &n, sizeof n);
}

static bool has_text(enum census_kind kind)
{
    return kind != CENSUS_RANK && kind != CENSUS_SERVER;
}

/* The text of a record: its own, or the command that a rank waits in. */
static const char *text_of(const struct census *x, size_t *len)
{
    *len = has_text(x->kind) ? x->text_len : x->used ? strlen(x->usage.op) : 0;
    return has_text(x->kind) ? x->text : x->usage.op;
}

void census_add(struct buf *out, const struct census *x)
{
    const struct fact_usage *u = &x->usage;
    size_t len;
    const char *text = text_of(x, &len);

    add_u32(out, (uint32_t)x->kind | (x->used ? USED : 0) | (x->held ? WAITS : 0));
    add_u32(out, (uint32_t)x->index);
    add_u32(out, (uint32_t)x->pid);
    add_u32(out, (uint32_t)x->pmi);
    add_u32(out, (uint32_t)len);
    if (x->used) {
        add_u64(out, u->rss);
        add_u64(out, u->vsize);
        add_u64(out, u->cpu);
        add_u32(out, u->threads);
        add_u32(out, (uint32_t)u->priority);
        add_u32(out, u->processor);
        add_u32(out, (unsigned char)u->state);
        add_u32(out, u->op_time);
    }
    buf_add(out, text, len);
}

/* Numbers of 4 or 8 bytes from the front; there are enough. */
static uint64_t take(const char **data, size_t *len, size_t size)
{
    uint64_t n = 0;

    memcpy(&n, *data, size);
    *data += size;
    *len -= size;
    return le64toh(n);
}

static void take_usage(const char **data, size_t *len, struct fact_usage *u)
{
    u->rss = take(data, len, 8);
    u->vsize = take(data, len, 8);
    u->cpu = take(data, len, 8);
    u->threads = (uint32_t)take(data, len, 4);
    u->priority = (int32_t)take(data, len, 4);
    u->processor = (uint16_t)take(data, len, 4);
    u->state = (char)take(data, len, 4);
    u->op_time = (uint32_t)take(data, len, 4);
}

int census_next(const char **data, size_t *len, struct census *x, struct err *e)
{
    uint32_t kind, text;

    *x = (struct census){ .kind = CENSUS_RANK };
    if (!*len)
        return 0;
    if (*len < HEAD * 4)
        return err_set(e, ERR_LENGTH, "a record of %zu bytes", *len);
    kind = (uint32_t)take(data, len, 4);
    x->index = (int)take(data, len, 4);
    x->pid = (pid_t)take(data, len, 4);
    x->pmi = (enum pmi_phase)take(data, len, 4);
    text = (uint32_t)take(data, len, 4);
    x->kind = (enum census_kind)(kind & 255);
    x->used = kind & USED;
    x->held = kind & WAITS;
    if ((kind & ~(uint32_t)(USED | WAITS)) > CENSUS_NO_STACK || (unsigned)x->pmi > PMI_DONE ||
        x->pid < 0)
        return err_set(e, ERR_INVALID_VAL, "a record of kind %u", kind);
    if (x->used && *len < NUMBERS * 8 + MORE * 4)
        return err_set(e, ERR_LENGTH, "a record without its numbers");
    if (x->used)
        take_usage(data, len, &x->usage);
    if (text > *len || (!has_text(x->kind) && text >= sizeof x->usage.op))
        return err_set(e, ERR_LENGTH, "a record with a text of %u bytes", text);
    x->text = has_text(x->kind) ? *data : NULL;
    x->text_len = x->text ? text : 0;
    if (!x->text)
        memcpy(x->usage.op, *data, text);
    *data += text;
    *len -= text;
    return 1;
}

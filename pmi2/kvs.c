/* kvs.c - see kvs.h
 *
 * Three arrays: the arena of records; entries, in order of first put, each with
 * its hash and the offset of its newest record; and slots, a power-of-two hash
 * table of entry numbers with linear probing.  Removal marks the entry dead and
 * leaves its slot in place, so probing goes on past it; it comes alive again
 * with the next put of that key. */
#include "pmi2/kvs.h"

#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

struct record {              /* at an offset of the arena, 4-byte aligned */
    uint32_t key_len, val_len;
    int32_t  src;
    uint32_t block, next;    /* next record of the same block, as an offset; 0: none */
    char     text[];         /* key NUL value NUL */
};

struct entry {
    uint32_t hash, offset;
    uint32_t dead;
};

struct block { uint32_t first, last; };      /* offsets of records; 0: empty */

struct kvs {
    char         *arena;     /* owned */
    size_t        used, cap, max;
    struct entry *entries;   /* owned */
    size_t        n, entries_cap, dead;
    uint32_t     *slots;     /* owned; entry number + 1, 0: empty */
    size_t        slots_cap;
    struct block *blocks;    /* owned; number - 1 */
    size_t        nblocks;
    uint32_t      block;     /* in use; 0: none */
    uint64_t      seed;
};

struct kvs *kvs_new(uint64_t seed, size_t max_bytes)
{
    struct kvs *kvs = calloc(1, sizeof *kvs);

    if (kvs) {
        kvs->seed = seed;
        kvs->max = max_bytes < UINT32_MAX ? max_bytes : UINT32_MAX;
    }
    return kvs;
}

void kvs_free(struct kvs *kvs)
{
    if (!kvs)
        return;
    free(kvs->arena);
    free(kvs->entries);
    free(kvs->slots);
    free(kvs->blocks);
    free(kvs);
}

static struct record *record_at(const struct kvs *kvs, uint32_t offset)
{
    return (struct record *)(void *)(kvs->arena + offset);
}

static uint32_t hash_of(const struct kvs *kvs, const char *key, size_t len)
{
    return (uint32_t)XXH3_64bits_withSeed(key, len, kvs->seed);
}

/* The slot that holds the key, or the empty one where it would go. */
static uint32_t *find_slot(const struct kvs *kvs, const char *key, size_t len, uint32_t hash)
{
    size_t mask = kvs->slots_cap - 1, i = hash & mask;

    for (;; i = (i + 1) & mask) {
        const struct entry *en;
        const struct record *r;

        if (!kvs->slots[i])
            return &kvs->slots[i];
        en = &kvs->entries[kvs->slots[i] - 1];
        if (en->hash != hash)
            continue;
        r = record_at(kvs, en->offset);
        if (r->key_len == len && !memcmp(r->text, key, len))
            return &kvs->slots[i];
    }
}

static int grow_index(struct kvs *kvs)
{
    size_t cap = kvs->entries_cap ? kvs->entries_cap * 2 : 16;
    struct entry *entries = realloc(kvs->entries, cap * sizeof *entries);
    uint32_t *slots;

    if (!entries)
        return -1;
    kvs->entries = entries;
    slots = calloc(cap * 2, sizeof *slots);
    if (!slots)
        return -1;
    kvs->entries_cap = cap;
    for (size_t e = 0; e < kvs->n; e++) {
        size_t i = entries[e].hash & (cap * 2 - 1);

        while (slots[i])
            i = (i + 1) & (cap * 2 - 1);
        slots[i] = (uint32_t)e + 1;
    }
    free(kvs->slots);
    kvs->slots = slots;
    kvs->slots_cap = cap * 2;
    return 0;
}

/* Put a record at the end of the block in use. */
static void chain(struct kvs *kvs, struct record *r, uint32_t offset)
{
    struct block *b = kvs->block ? &kvs->blocks[kvs->block - 1] : NULL;

    r->block = kvs->block;
    r->next = 0;
    if (!b)
        return;
    if (b->last)
        record_at(kvs, b->last)->next = offset;
    else
        b->first = offset;
    b->last = offset;
}

/* Append a record and give its offset. */
static int append(struct kvs *kvs, int src, const char *key, size_t key_len,
                  const char *value, size_t len, uint32_t *offset, struct err *e)
{
    size_t need = (sizeof(struct record) + key_len + len + 2 + 3) & ~(size_t)3;
    struct record *r;

    if (!kvs->used)
        need += sizeof(uint32_t);        /* no record is at offset 0 */
    if (len > kvs->max || need > kvs->max - kvs->used)
        return err_set(e, ERR_NOMEM, "the key-value space is full (%zu bytes)", kvs->max);
    if (kvs->used + need > kvs->cap) {
        size_t cap = kvs->cap ? kvs->cap * 2 : 1024;
        char *arena;

        while (cap < kvs->used + need)
            cap *= 2;
        arena = realloc(kvs->arena, cap);
        if (!arena)
            return err_set(e, ERR_NOMEM, "no memory for the key-value space");
        kvs->arena = arena;
        kvs->cap = cap;
    }
    *offset = (uint32_t)(kvs->used ? kvs->used : sizeof(uint32_t));
    r = record_at(kvs, *offset);
    kvs->used += need;
    r->key_len = (uint32_t)key_len;
    r->val_len = (uint32_t)len;
    r->src = src;
    memcpy(r->text, key, key_len + 1);
    memcpy(r->text + key_len + 1, value, len);
    r->text[key_len + 1 + len] = '\0';
    chain(kvs, r, *offset);
    return 0;
}

int kvs_put(struct kvs *kvs, int src, const char *key, const char *value, size_t len,
            struct err *e)
{
    size_t key_len = strlen(key);
    uint32_t hash = hash_of(kvs, key, key_len), offset = 0, *slot;
    struct entry *en;

    if (kvs->n == kvs->entries_cap && grow_index(kvs) < 0)
        return err_set(e, ERR_NOMEM, "no memory for the key-value space");
    slot = find_slot(kvs, key, key_len, hash);
    if (append(kvs, src, key, key_len, value, len, &offset, e) < 0)
        return -1;
    if (!*slot)
        *slot = (uint32_t)++kvs->n;
    else if (kvs->entries[*slot - 1].dead)
        kvs->dead--;
    en = &kvs->entries[*slot - 1];
    *en = (struct entry){ .hash = hash, .offset = offset };
    return 0;
}

static void fill(const struct kvs *kvs, const struct entry *en, struct kvs_entry *out)
{
    const struct record *r = record_at(kvs, en->offset);

    *out = (struct kvs_entry){ r->text, r->text + r->key_len + 1, r->val_len, r->src,
                               r->block };
}

static struct entry *find(const struct kvs *kvs, const char *key)
{
    size_t len = strlen(key);
    uint32_t *slot;

    if (!kvs->n)
        return NULL;
    slot = find_slot(kvs, key, len, hash_of(kvs, key, len));
    return *slot && !kvs->entries[*slot - 1].dead ? &kvs->entries[*slot - 1] : NULL;
}

int kvs_get(const struct kvs *kvs, const char *key, struct kvs_entry *out)
{
    struct entry *en = find(kvs, key);

    if (!en)
        return 0;
    fill(kvs, en, out);
    return 1;
}

int kvs_at(const struct kvs *kvs, size_t idx, struct kvs_entry *out)
{
    if (!kvs->dead) {
        if (idx >= kvs->n)
            return 0;
        fill(kvs, &kvs->entries[idx], out);
        return 1;
    }
    for (size_t i = 0; i < kvs->n; i++)
        if (!kvs->entries[i].dead && !idx--) {
            fill(kvs, &kvs->entries[i], out);
            return 1;
        }
    return 0;
}

int kvs_remove(struct kvs *kvs, const char *key)
{
    struct entry *en = find(kvs, key);

    if (!en)
        return 0;
    en->dead = 1;
    kvs->dead++;
    return 1;
}

uint32_t kvs_block_new(struct kvs *kvs)
{
    struct block *blocks = kvs->blocks;

    if (!(kvs->nblocks & (kvs->nblocks - 1))) {      /* 0 or a power of two: it is full */
        blocks = reallocarray(blocks, kvs->nblocks ? kvs->nblocks * 2 : 1, sizeof *blocks);
        if (!blocks)
            return 0;
        kvs->blocks = blocks;
    }
    blocks[kvs->nblocks++] = (struct block){ 0, 0 };
    return kvs->block = (uint32_t)kvs->nblocks;
}

void kvs_block_use(struct kvs *kvs, uint32_t block)
{
    kvs->block = block;
}

uint32_t kvs_block_last(const struct kvs *kvs)
{
    return (uint32_t)kvs->nblocks;
}

int kvs_block_at(const struct kvs *kvs, uint32_t block, uint32_t *at, struct kvs_entry *out)
{
    uint32_t offset = *at ? record_at(kvs, *at)->next : kvs->blocks[block - 1].first;

    for (; offset; offset = record_at(kvs, offset)->next) {
        const struct record *r = record_at(kvs, offset);
        const struct entry *en = find(kvs, r->text);

        *at = offset;
        if (!en || en->offset != offset)
            continue;
        fill(kvs, en, out);
        return 1;
    }
    return 0;
}

size_t kvs_count(const struct kvs *kvs)
{
    return kvs->n - kvs->dead;
}

size_t kvs_bytes(const struct kvs *kvs)
{
    return kvs->used;
}

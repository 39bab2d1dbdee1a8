/* kvs.c - see kvs.h
 *
 * Three arrays: the arena of records; entries, in order of first put, each with
 * its hash and the offset of its newest record; and slots, a power-of-two hash
 * table of entry numbers with linear probing.  Removal marks the entry dead and
 * leaves its slot in place, so probing goes on past it; it comes alive again
 * with the next put of that key.
 *
 * Records that have been replaced or removed stay until the arena is full; if they
 * are half of it then, it is swept instead of grown. */
#include "pmi2/kvs.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

enum { FIRST_RECORD = 4 };   /* offset 0 is none */

struct record {              /* at an offset of the arena, 4-byte aligned */
    uint32_t key_len, val_len;
    int32_t  src;
    uint32_t block, next;    /* next record of the same block, as an offset; 0: none */
    char     text[];         /* key NUL value NUL */
};

struct entry {
    uint32_t hash, offset;
    bool     dead, fixed;
};

struct block {               /* one that has records */
    uint32_t number;
    uint32_t first, last;    /* offsets */
};

struct kvs {
    char         *arena;     /* owned */
    size_t        used, cap, max;
    size_t        waste;     /* bytes of records that are nobody's any more */
    struct entry *entries;   /* owned */
    size_t        n, entries_cap, dead;
    uint32_t     *slots;     /* owned; entry number + 1, 0: empty */
    size_t        slots_cap;
    struct block *blocks;    /* owned; sorted by number */
    size_t        nblocks, blocks_cap;
    uint32_t      last;      /* number of the newest block */
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

static size_t record_size(size_t key_len, size_t len)
{
    return (sizeof(struct record) + key_len + len + 2 + 3) & ~(size_t)3;
}

static size_t size_at(const struct kvs *kvs, uint32_t offset)
{
    const struct record *r = record_at(kvs, offset);

    return record_size(r->key_len, r->val_len);
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

/* Enter all entries into the slots, which are empty. */
static void fill_slots(struct kvs *kvs)
{
    size_t mask = kvs->slots_cap - 1;

    for (size_t e = 0; e < kvs->n; e++) {
        size_t i = kvs->entries[e].hash & mask;

        while (kvs->slots[i])
            i = (i + 1) & mask;
        kvs->slots[i] = (uint32_t)e + 1;
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
    free(kvs->slots);
    kvs->slots = slots;
    kvs->slots_cap = cap * 2;
    fill_slots(kvs);
    return 0;
}

/* Where the block of that number is, or where it would go. */
static size_t block_index(const struct kvs *kvs, uint32_t number)
{
    size_t from = 0, to = kvs->nblocks;

    while (from < to) {
        size_t mid = from + (to - from) / 2;

        if (kvs->blocks[mid].number < number)
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

/* NULL: it has no records. */
static struct block *find_block(const struct kvs *kvs, uint32_t number)
{
    size_t i = block_index(kvs, number);

    return i < kvs->nblocks && kvs->blocks[i].number == number ? &kvs->blocks[i] : NULL;
}

static int grow_blocks(struct kvs *kvs)
{
    size_t cap = kvs->blocks_cap ? kvs->blocks_cap * 2 : 4;
    struct block *blocks = reallocarray(kvs->blocks, cap, sizeof *blocks);

    if (!blocks)
        return -1;
    kvs->blocks = blocks;
    kvs->blocks_cap = cap;
    return 0;
}

/* Put a record at the end of its block.  There is room for one block more. */
static void chain(struct kvs *kvs, struct record *r, uint32_t offset)
{
    size_t i = block_index(kvs, r->block);
    struct block *b = &kvs->blocks[i];

    r->next = 0;
    if (!r->block)
        return;
    if (i < kvs->nblocks && b->number == r->block) {
        record_at(kvs, b->last)->next = offset;
    } else {
        memmove(b + 1, b, (kvs->nblocks++ - i) * sizeof *b);
        *b = (struct block){ .number = r->block, .first = offset };
    }
    b->last = offset;
}

/* --- sweeping ---------------------------------------------------------- */

/* Forget the entries that were removed. */
static void sweep_entries(struct kvs *kvs)
{
    size_t n = 0;

    for (size_t e = 0; e < kvs->n; e++)
        if (!kvs->entries[e].dead)
            kvs->entries[n++] = kvs->entries[e];
    kvs->n = n;
    kvs->dead = 0;
    memset(kvs->slots, 0, kvs->slots_cap * sizeof *kvs->slots);
    fill_slots(kvs);
}

/* Move the records that are somebody's together, in the order in which they lie. */
static void sweep_records(struct kvs *kvs)
{
    uint32_t from = FIRST_RECORD, to = FIRST_RECORD, size;

    kvs->nblocks = 0;                    /* no more come back than there were */
    for (; from < kvs->used; from += size) {
        struct record *r = record_at(kvs, from);
        uint32_t *slot = find_slot(kvs, r->text, r->key_len,
                                   hash_of(kvs, r->text, r->key_len));

        size = (uint32_t)size_at(kvs, from);
        if (!*slot || kvs->entries[*slot - 1].offset != from)
            continue;
        memmove(record_at(kvs, to), r, size);
        kvs->entries[*slot - 1].offset = to;
        chain(kvs, record_at(kvs, to), to);
        to += size;
    }
    kvs->used = to;
    kvs->waste = 0;
}

/* Records of replaced and removed entries go, and so do blocks that have none left. */
static void sweep(struct kvs *kvs)
{
    sweep_entries(kvs);
    sweep_records(kvs);
}

/* --- putting ----------------------------------------------------------- */

/* Near the limit a small gain is worth it, too. */
static bool worth_sweeping(const struct kvs *kvs, size_t need)
{
    return (kvs->used + need > kvs->cap && kvs->waste > kvs->used / 2) ||
           (kvs->used + need > kvs->max && kvs->waste > kvs->used / 8);
}

static int full(const struct kvs *kvs, struct err *e)
{
    return err_set(e, ERR_NOMEM, "the key-value space is full (%zu bytes)", kvs->max);
}

/* Room for so many bytes more at the end of the arena. */
static int make_room(struct kvs *kvs, size_t need, struct err *e)
{
    size_t cap = kvs->cap ? kvs->cap : 1024;
    char *arena;

    if (!kvs->used)
        kvs->used = FIRST_RECORD;
    if (worth_sweeping(kvs, need))
        sweep(kvs);
    if (kvs->used + need > kvs->max)
        return full(kvs, e);
    if (kvs->used + need <= kvs->cap)
        return 0;
    while (cap < kvs->used + need)
        cap *= 2;
    arena = realloc(kvs->arena, cap);
    if (!arena)
        return err_set(e, ERR_NOMEM, "no memory for the key-value space");
    kvs->arena = arena;
    kvs->cap = cap;
    return 0;
}

/* Append a record; there is room.  Its offset. */
static uint32_t append(struct kvs *kvs, int src, const char *key, size_t key_len,
                       const char *value, size_t len)
{
    uint32_t offset = (uint32_t)kvs->used;
    struct record *r = record_at(kvs, offset);

    kvs->used += record_size(key_len, len);
    r->key_len = (uint32_t)key_len;
    r->val_len = (uint32_t)len;
    r->src = src;
    r->block = kvs->block;
    memcpy(r->text, key, key_len + 1);
    memcpy(r->text + key_len + 1, value, len);
    r->text[key_len + 1 + len] = '\0';
    chain(kvs, r, offset);
    return offset;
}

int kvs_put(struct kvs *kvs, int src, const char *key, const char *value, size_t len,
            struct err *e)
{
    size_t key_len = strlen(key);
    uint32_t hash = hash_of(kvs, key, key_len), *slot;
    struct entry *en;

    if (len > kvs->max || key_len > kvs->max)
        return full(kvs, e);
    if (make_room(kvs, record_size(key_len, len), e) < 0)
        return -1;
    if ((kvs->n == kvs->entries_cap && grow_index(kvs) < 0) ||
        (kvs->nblocks == kvs->blocks_cap && grow_blocks(kvs) < 0))
        return err_set(e, ERR_NOMEM, "no memory for the key-value space");
    slot = find_slot(kvs, key, key_len, hash);
    if (*slot && kvs->entries[*slot - 1].fixed)
        return err_set(e, ERR_INVALID_KEY, "key %.64s is read-only", key);
    if (!*slot)
        *slot = (uint32_t)++kvs->n;
    else if (kvs->entries[*slot - 1].dead)
        kvs->dead--;
    else
        kvs->waste += size_at(kvs, kvs->entries[*slot - 1].offset);
    en = &kvs->entries[*slot - 1];
    *en = (struct entry){ .hash = hash, .offset = append(kvs, src, key, key_len, value, len) };
    return 0;
}

static void fill(const struct kvs *kvs, const struct entry *en, struct kvs_entry *out)
{
    const struct record *r = record_at(kvs, en->offset);

    *out = (struct kvs_entry){ r->text, r->text + r->key_len + 1, r->val_len, r->src,
                               r->block, en->fixed };
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

void kvs_fix(struct kvs *kvs, const char *key)
{
    struct entry *en = find(kvs, key);

    if (en)
        en->fixed = true;
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
    en->dead = true;
    en->fixed = false;
    kvs->dead++;
    kvs->waste += size_at(kvs, en->offset);
    return 1;
}

uint32_t kvs_block_new(struct kvs *kvs)
{
    return kvs->block = ++kvs->last;
}

void kvs_block_use(struct kvs *kvs, uint32_t block)
{
    kvs->block = block;
}

uint32_t kvs_block_last(const struct kvs *kvs)
{
    return kvs->last;
}

int kvs_block_at(const struct kvs *kvs, uint32_t block, uint32_t *at, struct kvs_entry *out)
{
    const struct block *b = find_block(kvs, block);
    uint32_t offset = *at ? record_at(kvs, *at)->next : b ? b->first : 0;

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

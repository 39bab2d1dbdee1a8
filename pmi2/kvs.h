/* kvs.h - a key-value space: of a job, of a node's attributes, of names.
 *
 * Values lie in one arena and are found through an index of offsets, so that the
 * whole space costs little more than its text.  A later put of a key replaces the
 * earlier one, whose room is used again (PMI v2 API draft, KVS).  Keys and values are
 * text without NUL; the store copies them and never looks inside.
 *
 * No function here blocks, does I/O or logs.  Not thread-safe. */
#ifndef PMI2_KVS_H
#define PMI2_KVS_H

#include "wire/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kvs;

struct kvs_entry {
    const char *key, *value;     /* the store's: valid until the next kvs_put */
    size_t      len;             /* of value, bytes without NUL */
    int         src;             /* who put it: a rank, or what the caller says */
    uint32_t    block;           /* the block it belongs to; 0: none */
    bool        fixed;           /* no put replaces it */
};

/* seed: of the hash; take it from a random source, so that nobody can choose
 * keys that collide.  max_bytes: of the arena, at most 4 GiB - 1.  NULL with
 * errno when there is no memory. */
struct kvs *kvs_new(uint64_t seed, size_t max_bytes);
void        kvs_free(struct kvs *kvs);               /* NULL is fine */

/* Store a copy; key and value must not be the store's own.  0, or -1 and e: ERR_NOMEM
 * (also when max_bytes is reached), ERR_INVALID_KEY: it is there and fixed. */
int kvs_put(struct kvs *kvs, int src, const char *key, const char *value, size_t len,
            struct err *e);
/* The key, which is there, is not to be put again, unless it is removed before. */
void kvs_fix(struct kvs *kvs, const char *key);

/* Blocks: what belongs together, as the puts of one node in one fence do.  Puts go
 * to the block in use (0 at first: none).  kvs_block_new makes one and its number, 1
 * and up, is used from now on. */
uint32_t kvs_block_new(struct kvs *kvs);
void     kvs_block_use(struct kvs *kvs, uint32_t block);
uint32_t kvs_block_last(const struct kvs *kvs);      /* the newest; 0: none */
/* The entries of a block in order of their puts, those that have been replaced since
 * left out.  *at is 0 for the first, and belongs to this walk, without a put in between;
 * 1 and *out, or 0 past the end. */
int      kvs_block_at(const struct kvs *kvs, uint32_t block, uint32_t *at,
                      struct kvs_entry *out);

/* 1 and *out, or 0 if there is no such key. */
int kvs_get(const struct kvs *kvs, const char *key, struct kvs_entry *out);

/* The idx-th entry, 0 and up, in the order of first puts: 1 and *out, or 0 past
 * the end.  Removed entries are skipped, so positions move only on removal. */
int kvs_at(const struct kvs *kvs, size_t idx, struct kvs_entry *out);

/* 1 if the key was there and is now gone, else 0. */
int kvs_remove(struct kvs *kvs, const char *key);

size_t kvs_count(const struct kvs *kvs);             /* entries */
size_t kvs_bytes(const struct kvs *kvs);             /* bytes used in the arena, what is
                                                        replaced and not swept yet included */

#endif

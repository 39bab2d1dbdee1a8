/* client_singleton.c - a process started without a launcher is a job of one.
 *
 * Rank 0 of 1, its own key-value space and its own node.  What would need a
 * server is refused; nothing waits, for nobody else could end the wait.
 * Source: PMI v2 API draft, "singleton init". */
#include "pmi2/client.h"

#include "pmi2/kvs.h"

#include <string.h>
#include <sys/random.h>
#include <unistd.h>

int single_open(struct client *c, struct err *e)
{
    uint64_t seed = 0;

    if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) < 0)
        seed = (uint64_t)getpid();       /* only this process puts keys here */
    c->kvs = kvs_new(seed, LIMIT_KVS_BYTES);
    c->node = kvs_new(seed, LIMIT_KVS_BYTES);
    if (!c->kvs || !c->node) {
        kvs_free(c->kvs);
        kvs_free(c->node);
        c->kvs = c->node = NULL;
        return err_set(e, ERR_NOMEM, "no memory for the key-value space");
    }
    c->spawned = c->rank = c->appnum = 0;
    c->size = 1;
    c->thrids = true;                    /* values may be long */
    c->version = 2;
    c->subversion = 0;
    return 0;
}

/* The first put of a read-only key is its only one. */
static int put_one(struct kvs *kvs, const char *key, const char *val, bool read_only,
                   struct err *e)
{
    struct kvs_entry old;

    if (read_only && kvs_get(kvs, key, &old) > 0)
        return err_set(e, ERR_INVALID_KEY, "key %.64s was put before, and cannot be read-only",
                       key);
    if (kvs_put(kvs, 0, key, val, strlen(val), e) < 0)
        return -1;
    if (read_only)
        kvs_fix(kvs, key);
    return 0;
}

int single_put(struct client *c, bool node, const char *key, const char *val,
               bool read_only, struct err *e)
{
    struct kvs *kvs;
    int rc;

    pthread_mutex_lock(&c->lock);
    kvs = node ? c->node : c->kvs;
    rc = kvs ? put_one(kvs, key, val, read_only, e) : err_set(e, ERR_INIT, "PMI is finalised");
    pthread_mutex_unlock(&c->lock);
    return rc;
}

int single_get(struct client *c, bool node, const char *key, struct buf *out,
               struct err *e)
{
    struct kvs_entry entry;
    struct kvs *kvs;
    int rc;

    pthread_mutex_lock(&c->lock);
    kvs = node ? c->node : c->kvs;
    rc = kvs ? kvs_get(kvs, key, &entry) : err_set(e, ERR_INIT, "PMI is finalised");
    if (rc == 1)
        buf_add(out, entry.value, entry.len);
    pthread_mutex_unlock(&c->lock);
    return rc;
}

void single_id(struct buf *out)
{
    buf_printf(out, "singleton_%ld", (long)getpid());
}

int single_refuse(const char *what, struct err *e)
{
    return err_set(e, ERR_OTHER, "%s needs a launcher; this process was started without "
                   "one", what);
}

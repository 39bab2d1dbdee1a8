/* client_singleton.c - a process started without a launcher is a job of one.
 *
 * Rank 0 of 1, its own key-value space and its own node: what one process can do alone
 * is done here, and nothing waits, for nobody else could end the wait.  The first call
 * that needs others (spawn, names, connections) starts a launcher, hands over what was
 * put, and from then on the process is a rank as any other.  Where that fails nothing
 * has changed: the call fails, and a later one tries again.
 * Source: PMI v2 API draft, "singleton init". */
#include "pmi2/client.h"

#include "pmi2/kvs.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/* What there is to know of a job of one. */
static void be_alone(struct client *c)
{
    c->state = CLIENT_SINGLE;
    c->fd = -1;
    c->spawned = c->rank = c->appnum = 0;
    c->size = 1;
    c->thrids = c->read_only = true;     /* values may be long */
    c->shows_abort = false;
    c->version = 2;
    c->subversion = 0;
}

int single_open(struct client *c, struct err *e)
{
    uint64_t seed[2] = { 0, 0 };

    if (getrandom(seed, sizeof seed, GRND_NONBLOCK) < 0)
        seed[0] = seed[1] = (uint64_t)getpid();  /* only this process puts keys here */
    c->kvs = kvs_new(seed[0], LIMIT_KVS_BYTES);
    c->node = kvs_new(seed[0], LIMIT_KVS_BYTES);
    if (!c->kvs || !c->node) {
        kvs_free(c->kvs);
        kvs_free(c->node);
        c->kvs = c->node = NULL;
        return err_set(e, ERR_NOMEM, "no memory for the key-value space");
    }
    snprintf(c->id, sizeof c->id, "singleton_%ld_%08x", (long)getpid(), (unsigned)seed[1]);
    be_alone(c);
    return 0;
}

/* ------------------------------------------------------------------- alone */

bool single_enter(struct client *c)
{
    pthread_mutex_lock(&c->lock);
    while (c->joining)
        pthread_cond_wait(&c->turn, &c->lock);
    if (c->state == CLIENT_SINGLE)
        return true;
    pthread_mutex_unlock(&c->lock);
    return false;
}

int single_leave(struct client *c, int rc)
{
    pthread_mutex_unlock(&c->lock);
    return rc;
}

/* The first put of a read-only key is its only one; keys of the launcher are as taken as
 * they are where there is one. */
int single_put(struct client *c, bool node, const char *key, const char *val,
               bool read_only, struct err *e)
{
    struct kvs *kvs = node ? c->node : c->kvs;
    struct kvs_entry old;

    if (!strncmp(key, "PMI_", 4))
        return err_set(e, ERR_INVALID_KEY, "key %.64s is read-only", key);
    if (read_only && kvs_get(kvs, key, &old) > 0)
        return err_set(e, ERR_INVALID_KEY, "key %.64s was put before, and cannot be read-only",
                       key);
    if (kvs_put(kvs, 0, key, val, strlen(val), e) < 0)
        return -1;
    if (read_only)
        kvs_fix(kvs, key);
    return 0;
}

int single_get(struct client *c, bool node, const char *key, struct buf *out, bool *found,
               struct err *e)
{
    struct kvs_entry entry;

    *found = kvs_get(node ? c->node : c->kvs, key, &entry) > 0;
    if (*found)
        buf_add(out, entry.value, entry.len);
    return out->failed ? err_set(e, ERR_NOMEM, "no memory for a value") : 0;
}

/* -------------------------------------------------------- with a launcher */

static int hand_over_one(struct client *c, const char *cmd, const struct kvs_entry *entry,
                         struct err *e)
{
    struct call k;
    int rc;

    c->deadline = client_now() + launcher_patience();
    call_start(&k, c, cmd);
    msg_str(&k.req, "key", entry->key);
    msg_str(&k.req, "value", entry->value);
    if (entry->fixed)
        msg_str(&k.req, "read-only", "TRUE");
    rc = call_run(&k, e);
    call_end(&k);
    return rc;
}

/* Whoever gets keys of another job gets what a fence has published: a fence of one is
 * over at once. */
static int hand_over(struct client *c, struct err *e)
{
    struct kvs_entry entry;
    struct call k;
    int rc = 0;

    for (size_t i = 0; rc == 0 && kvs_at(c->kvs, i, &entry); i++)
        rc = hand_over_one(c, "kvs-put", &entry, e);
    for (size_t i = 0; rc == 0 && kvs_at(c->node, i, &entry); i++)
        rc = hand_over_one(c, "info-putnodeattr", &entry, e);
    if (rc < 0)
        return rc;
    c->deadline = client_now() + launcher_patience();
    call_start(&k, c, "kvs-fence");
    rc = call_run(&k, e);
    call_end(&k);
    return rc;
}

static int meet(struct client *c, struct err *e)
{
    struct client_id id = { c->id, "0" };

    c->deadline = client_now() + launcher_patience();
    if (client_greet(c, &id, e) < 0)
        return -1;
    if (c->rank != 0 || c->size != 1 || !c->thrids || !c->read_only)
        return err_set(e, ERR_OTHER, "it is no mpiexec_lite, or not of this version");
    return hand_over(c, e);
}

/* The lock is held. */
static void joined(struct client *c)
{
    c->state = CLIENT_UP;
    kvs_free(c->kvs);
    kvs_free(c->node);
    c->kvs = c->node = NULL;
}

/* A start that failed half way leaves nothing.  The lock is held. */
static void stay_alone(struct client *c)
{
    framer_clear(&c->framer);
    c->left = 0;
    be_alone(c);
}

static int join(struct client *c, struct err *e)
{
    struct launcher l;
    int rc = launcher_start(&l, c->id, e);

    if (rc < 0)
        return rc;
    c->fd = l.fd;
    rc = meet(c, e);
    if (rc == 0) {
        launcher_keep(&l);
        return 0;
    }
    launcher_end(&l);
    e->code = ERR_OTHER;
    return err_context(e, "the launcher %.80s, started by this process, does not serve it",
                       l.path);
}

int single_join(struct client *c, struct err *e)
{
    int rc, cancel;

    if (!single_enter(c))
        return 0;
    c->joining = true;
    c->state = CLIENT_OPENING;
    single_leave(c, 0);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    rc = join(c, e);
    pthread_setcancelstate(cancel, NULL);
    pthread_mutex_lock(&c->lock);
    c->deadline = 0;
    c->joining = false;
    if (rc == 0)
        joined(c);
    else
        stay_alone(c);
    pthread_cond_broadcast(&c->turn);
    return single_leave(c, rc);
}

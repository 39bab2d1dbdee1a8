/* pmix_rank - a rank that uses libpmix_ext; prints "rank N: ok", or what was wrong.
 *
 * pmix_rank WHAT: basics    what works with every server; "plain" after it: one that has
 *                           PMI-2's commands alone, which must say no to all else at once
 *                 threads   16 threads call at once
 *                 events    handlers of this process in their order, and events of others
 *                 long      values and requests that are longer than a frame
 *                 abort     rank 0 ends the job with status 7
 *                 types     R10-11, R10-25: what is refused as another type, and what passes
 *                 queries   R10-15: known and unknown keys at once
 *                 mixed     for a job with other ranks: data and fences, no more */
#include <pmix.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(x) ((x) ? (void)0 : wrong(__LINE__, #x))
#define SAME(rc, want) same(__LINE__, #rc, (rc), (want))

static pmix_proc_t me, job;
static uint32_t size;
static int plain;

static void wrong(int line, const char *what)
{
    printf("rank %u: line %d: %s\n", me.rank, line, what);
    fflush(stdout);
    _exit(1);
}

static void same(int line, const char *what, pmix_status_t rc, pmix_status_t want)
{
    if (rc == want)
        return;
    printf("rank %u: line %d: %s is %s, want %s\n", me.rank, line, what, PMIx_Error_string(rc),
           PMIx_Error_string(want));
    fflush(stdout);
    _exit(1);
}

static uint32_t number(const pmix_proc_t *p, const char *key);

/* --- waiting for a callback ------------------------------------------------------ */

struct waiter {
    pthread_mutex_t lock;
    pthread_cond_t cond;
    int done;
    pmix_status_t status;
    size_t id;
    char text[64];
};

#define WAITER { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, 0, "" }

static void wake(struct waiter *w, pmix_status_t status)
{
    pthread_mutex_lock(&w->lock);
    w->status = status;
    w->done++;
    pthread_cond_broadcast(&w->cond);
    pthread_mutex_unlock(&w->lock);
}

static pmix_status_t await(struct waiter *w, int times)
{
    pthread_mutex_lock(&w->lock);
    while (w->done < times)
        pthread_cond_wait(&w->cond, &w->lock);
    pthread_mutex_unlock(&w->lock);
    return w->status;
}

static void on_op(pmix_status_t status, void *w)
{
    wake(w, status);
}

static void on_value(pmix_status_t status, pmix_value_t *v, void *cbdata)
{
    struct waiter *w = cbdata;

    if (status == PMIX_SUCCESS && v->type == PMIX_STRING)
        snprintf(w->text, sizeof w->text, "%s", v->data.string);
    CHECK(number(&job, PMIX_JOB_SIZE) == size);      /* a callback may wait for a reply */
    SAME(PMIx_Finalize(NULL, 0), PMIX_ERR_INVALID_OPERATION);
    wake(w, status);
}

static void on_registered(pmix_status_t status, size_t id, void *cbdata)
{
    ((struct waiter *)cbdata)->id = id;
    wake(cbdata, status);
}

static void on_spawned(pmix_status_t status, pmix_nspace_t nspace, void *cbdata)
{
    (void)nspace;
    wake(cbdata, status);
}

static void on_infos(pmix_status_t status, pmix_info_t *info, size_t n, void *cbdata,
                     pmix_release_cbfunc_t release, void *release_cbdata)
{
    (void)info;
    (void)n;
    if (release)
        release(release_cbdata);
    wake(cbdata, status);
}

/* --- data ------------------------------------------------------------------------ */

static void put_text(const char *key, const char *text)
{
    pmix_value_t v;

    PMIX_VALUE_LOAD(&v, text, PMIX_STRING);
    SAME(PMIx_Put(PMIX_GLOBAL, key, &v), PMIX_SUCCESS);
    PMIX_VALUE_DESTRUCT(&v);
}

static void need_text(pmix_rank_t rank, const char *key, const char *want)
{
    pmix_proc_t p;
    pmix_value_t *v;

    PMIX_LOAD_PROCID(&p, me.nspace, rank);
    SAME(PMIx_Get(&p, key, NULL, 0, &v), PMIX_SUCCESS);
    CHECK(v->type == PMIX_STRING);
    if (strcmp(v->data.string, want))
        printf("%s of %u: %.80s, want %.80s\n", key, rank, v->data.string, want);
    CHECK(!strcmp(v->data.string, want));
    PMIX_VALUE_RELEASE(v);
}

static void fence(void)
{
    SAME(PMIx_Fence(NULL, 0, NULL, 0), PMIX_SUCCESS);
}

/* Twice, so that a later commit is seen beside an earlier one. */
static void exchange(void)
{
    static const char odd[] = "; = \\ \" \n \xc3\xa9";
    char key[64], text[64], *big = malloc(20001);
    pmix_value_t v, *got;
    pmix_proc_t next;

    memset(big, 'x', 20000);
    big[20000] = '\0';
    for (int round = 0; round < 2; round++) {
        snprintf(key, sizeof key, "key-%d", round);
        snprintf(text, sizeof text, "rank %u round %d", me.rank, round);
        put_text(key, text);
        put_text("again", round ? "new" : "old");
        SAME(PMIx_Commit(), PMIX_SUCCESS);
        fence();
        for (uint32_t r = 0; r < size; r++) {
            snprintf(text, sizeof text, "rank %u round %d", r, round);
            need_text(r, key, text);
            need_text(r, "again", round ? "new" : "old");
        }
        fence();
    }
    put_text("odd", odd);
    put_text("big", big);
    v.type = PMIX_DOUBLE;
    v.data.dval = 1.0 / 3 + me.rank;
    SAME(PMIx_Put(PMIX_GLOBAL, "a third", &v), PMIX_SUCCESS);
    SAME(PMIx_Commit(), PMIX_SUCCESS);
    SAME(PMIx_Commit(), PMIX_SUCCESS);
    fence();
    need_text((me.rank + 1) % size, "odd", odd);
    need_text((me.rank + 1) % size, "big", big);
    PMIX_LOAD_PROCID(&next, me.nspace, (me.rank + 1) % size);
    SAME(PMIx_Get(&next, "a third", NULL, 0, &got), PMIX_SUCCESS);
    CHECK(got->type == PMIX_DOUBLE && got->data.dval == 1.0 / 3 + next.rank);
    PMIX_VALUE_RELEASE(got);
    free(big);
}

/* Ranks of PMI-1 and PMI-2 put strings under the same keys with commands of their own. */
static void mixed(void)
{
    char key[64], text[64];

    for (uint32_t r = 0; r < size; r++) {
        snprintf(key, sizeof key, "from-%u", r);
        snprintf(text, sizeof text, "rank %u", r);
        if (r == me.rank) {
            put_text(key, text);
            SAME(PMIx_Commit(), PMIX_SUCCESS);
        }
    }
    fence();
    for (uint32_t r = 0; r < size; r++) {
        snprintf(key, sizeof key, "from-%u", r);
        snprintf(text, sizeof text, "rank %u", r);
        need_text(r, key, text);
    }
    fence();
}

static void misses(void)
{
    pmix_info_t now;
    pmix_value_t v, *got;

    PMIX_INFO_LOAD(&now, PMIX_IMMEDIATE, NULL, PMIX_BOOL);
    SAME(PMIx_Get(&me, "nobody put this", &now, 1, &got), PMIX_ERR_NOT_FOUND);
    CHECK(got == NULL);
    PMIX_INFO_DESTRUCT(&now);
    v.type = PMIX_BOOL;
    v.data.flag = true;
    SAME(PMIx_Put(PMIX_GLOBAL, "pmix.reserved", &v), PMIX_ERR_BAD_PARAM);
    SAME(PMIx_Put(PMIX_GLOBAL, "", &v), PMIX_ERR_BAD_PARAM);
    SAME(PMIx_Put(PMIX_GLOBAL, NULL, &v), PMIX_ERR_BAD_PARAM);
    SAME(PMIx_Get(&me, NULL, NULL, 0, &got), PMIX_ERR_BAD_PARAM);
    SAME(PMIx_Get(&me, "x", NULL, 0, NULL), PMIX_ERR_BAD_PARAM);
    SAME(PMIx_Store_internal(&job, "mine", &v), PMIX_SUCCESS);
    SAME(PMIx_Get(&job, "mine", NULL, 0, &got), PMIX_SUCCESS);
    CHECK(got->type == PMIX_BOOL && got->data.flag);
    PMIX_VALUE_RELEASE(got);
}

static void callbacks(void)
{
    struct waiter w = WAITER, f = WAITER;
    char text[64];

    SAME(PMIx_Get_nb(&me, "key-0", NULL, 0, on_value, &w), PMIX_SUCCESS);
    SAME(await(&w, 1), PMIX_SUCCESS);
    snprintf(text, sizeof text, "rank %u round 0", me.rank);
    CHECK(!strcmp(w.text, text));
    SAME(PMIx_Fence_nb(NULL, 0, NULL, 0, on_op, &f), PMIX_SUCCESS);
    SAME(await(&f, 1), PMIX_SUCCESS);
    SAME(PMIx_Fence_nb(&job, 1, NULL, 0, NULL, NULL), PMIX_SUCCESS);
    fence();
}

/* --- the standard's own keys -------------------------------------------------------- */

static uint32_t number(const pmix_proc_t *p, const char *key)
{
    pmix_value_t *v;
    pmix_status_t rc;
    uint32_t n = 0;

    same(__LINE__, key, PMIx_Get(p, key, NULL, 0, &v), PMIX_SUCCESS);
    PMIX_VALUE_GET_NUMBER(rc, v, n, uint32_t);
    SAME(rc, PMIX_SUCCESS);
    PMIX_VALUE_RELEASE(v);
    return n;
}

static void keys(void)
{
    pmix_value_t *v;

    CHECK(number(&job, PMIX_JOB_SIZE) == size);
    if (!plain)                          /* Hydra does not say it */
        CHECK(number(&job, PMIX_UNIV_SIZE) >= 1);
    CHECK(number(&me, PMIX_RANK) == me.rank);
    if (!getenv("SLURM_STEP_ID"))        /* srun does not know it */
        CHECK(number(&me, PMIX_APPNUM) == 0);
    CHECK(number(&job, PMIX_LOCAL_SIZE) >= 1 && number(&job, PMIX_LOCAL_SIZE) <= size);
    CHECK(number(&me, PMIX_LOCAL_RANK) < number(&job, PMIX_LOCAL_SIZE));
    CHECK(number(&job, PMIX_NUM_NODES) >= 1);
    SAME(PMIx_Get(&job, PMIX_LOCAL_PEERS, NULL, 0, &v), PMIX_SUCCESS);
    CHECK(v->type == PMIX_STRING && *v->data.string);
    PMIX_VALUE_RELEASE(v);
    SAME(PMIx_Get(&job, "pmix.no.such.key", NULL, 0, &v), PMIX_ERR_NOT_FOUND);
}

/* --- published ------------------------------------------------------------------------ */

static void published(void)
{
    char key[300], *one[2] = { key, NULL };
    pmix_info_t info;
    pmix_pdata_t found[2];
    int n = 40 + (int)me.rank;

    snprintf(key, sizeof key, "name-%.200s-%u", me.nspace, me.rank);
    PMIX_INFO_LOAD(&info, key, &n, PMIX_INT);
    SAME(PMIx_Publish(&info, 1), PMIX_SUCCESS);
    PMIX_PDATA_CONSTRUCT(&found[0]);
    PMIX_PDATA_CONSTRUCT(&found[1]);
    PMIX_LOAD_KEY(found[0].key, key);
    PMIX_LOAD_KEY(found[1].key, "nobody has published this");
    SAME(PMIx_Lookup(found, 1, NULL, 0), PMIX_SUCCESS);
    CHECK(found[0].value.type == PMIX_INT && found[0].value.data.integer == n);
    SAME(PMIx_Lookup(found, 2, NULL, 0), PMIX_ERR_PARTIAL_SUCCESS);
    SAME(PMIx_Lookup(found + 1, 1, NULL, 0), PMIX_ERR_NOT_FOUND);
    if (me.rank % 2)
        SAME(PMIx_Unpublish(one, NULL, 0), PMIX_SUCCESS);
    else
        SAME(PMIx_Unpublish(NULL, NULL, 0), PMIX_SUCCESS);
    SAME(PMIx_Lookup(found, 1, NULL, 0), PMIX_ERR_NOT_FOUND);
    PMIX_INFO_DESTRUCT(&info);
    PMIX_PDATA_DESTRUCT(&found[0]);
    PMIX_PDATA_DESTRUCT(&found[1]);
}

/* --- what plain PMI-2 has not ----------------------------------------------------------- */

static void handler(size_t id, pmix_status_t status, const pmix_proc_t *source,
                    pmix_info_t info[], size_t ninfo, pmix_info_t *results, size_t nresults,
                    pmix_event_notification_cbfunc_fn_t done, void *cbdata);
static void output(size_t id, pmix_iof_channel_t channel, pmix_proc_t *source,
                   pmix_byte_object_t *bytes, pmix_info_t info[], size_t n)
{
    (void)id, (void)channel, (void)source, (void)bytes, (void)info, (void)n;
}

static void refused(void)
{
    char *asked[] = { (char *)PMIX_QUERY_NAMESPACES, NULL }, *nodes;
    pmix_query_t query = { asked, NULL, 0 };
    pmix_app_t app = PMIX_APP_STATIC_INIT;
    pmix_info_t info, *results;
    pmix_nspace_t nspace;
    pmix_status_t code = -3001;
    pmix_byte_object_t bytes = { (char *)"x", 1 };
    pmix_proc_t *procs, two[2] = { me, job };
    struct waiter w = WAITER, answered = WAITER;
    pmix_value_t *got;
    uint32_t node = 0;
    size_t n;

    PMIX_INFO_LOAD(&info, PMIX_NODEID, &node, PMIX_UINT32);      /* not the own node's answer */
    SAME(PMIx_Get(&job, PMIX_LOCAL_SIZE, &info, 1, &got), PMIX_ERR_NOT_SUPPORTED);
    SAME(PMIx_Get_nb(&job, PMIX_LOCAL_SIZE, &info, 1, on_value, &answered), PMIX_SUCCESS);
    SAME(await(&answered, 1), PMIX_ERR_NOT_SUPPORTED);
    PMIX_INFO_DESTRUCT(&info);
    app.cmd = (char *)"true";
    app.maxprocs = 1;
    PMIX_INFO_LOAD(&info, PMIX_LOG_STDERR, "x", PMIX_STRING);
    SAME(PMIx_Query_info(&query, 1, &results, &n), PMIX_ERR_NOT_SUPPORTED);
    SAME(PMIx_Query_info_nb(&query, 1, on_infos, &w), PMIX_ERR_NOT_SUPPORTED);
    SAME(PMIx_Log(&info, 1, NULL, 0), PMIX_ERR_NOT_SUPPORTED);
    SAME(PMIx_Log_nb(&info, 1, NULL, 0, on_op, &w), PMIX_ERR_NOT_SUPPORTED);
    SAME(PMIx_Job_control(&job, 1, &info, 1, &results, &n), PMIX_ERR_NOT_SUPPORTED);
    SAME(PMIx_Allocation_request(PMIX_ALLOC_NEW, NULL, 0, &results, &n), PMIX_ERR_NOT_SUPPORTED);
    SAME(PMIx_Allocation_request_nb(PMIX_ALLOC_NEW, NULL, 0, on_infos, &w),
         PMIX_ERR_NOT_SUPPORTED);
    SAME(PMIx_Process_monitor(&info, code, NULL, 0, &results, &n), PMIX_ERR_NOT_SUPPORTED);
    SAME(PMIx_Spawn(NULL, 0, &app, 1, nspace), PMIX_ERR_NOT_SUPPORTED);
    SAME(PMIx_Spawn_nb(NULL, 0, &app, 1, on_spawned, &w), PMIX_ERR_NOT_SUPPORTED);
    SAME(PMIx_Connect(two, 2, NULL, 0), PMIX_ERR_NOT_SUPPORTED);
    SAME(PMIx_Disconnect_nb(two, 2, NULL, 0, on_op, &w), PMIX_ERR_NOT_SUPPORTED);
    SAME(PMIx_Fence(two, 2, NULL, 0), PMIX_ERR_NOT_SUPPORTED);
    SAME(PMIx_Resolve_peers(NULL, me.nspace, &procs, &n), PMIX_ERR_NOT_SUPPORTED);
    SAME(PMIx_Resolve_nodes(me.nspace, &nodes), PMIX_ERR_NOT_SUPPORTED);
    SAME(PMIx_Register_event_handler(&code, 1, NULL, 0, handler, NULL, NULL),
         PMIX_ERR_NOT_SUPPORTED);
    SAME(PMIx_Notify_event(code, NULL, PMIX_RANGE_SESSION, NULL, 0, on_op, &w),
         PMIX_ERR_NOT_SUPPORTED);
    SAME(PMIx_IOF_pull(&job, 1, NULL, 0, PMIX_FWD_STDOUT_CHANNEL, output, NULL, NULL),
         PMIX_ERR_NOT_SUPPORTED);
    SAME(PMIx_IOF_push(&job, 1, &bytes, NULL, 0, on_op, &w), PMIX_ERR_NOT_SUPPORTED);
    PMIx_Heartbeat();
    CHECK(!w.done);
    PMIX_INFO_DESTRUCT(&info);
}

/* --- threads ------------------------------------------------------------------------------ */

enum { THREADS = 16, CALLS = 50 };

static void *call(void *arg)
{
    int t = (int)(intptr_t)arg;
    char key[64], text[64];
    struct waiter w = WAITER;

    for (int i = 0; i < CALLS; i++) {
        pmix_proc_t p;

        snprintf(key, sizeof key, "t-%d", t);
        snprintf(text, sizeof text, "thread %d of %u", t, (me.rank + 1) % size);
        need_text((me.rank + 1) % size, key, text);
        PMIX_LOAD_PROCID(&p, me.nspace, (me.rank + 1) % size);
        SAME(PMIx_Get_nb(&p, key, NULL, 0, on_value, &w), PMIX_SUCCESS);
        SAME(await(&w, i + 1), PMIX_SUCCESS);
        CHECK(!strcmp(w.text, text));
        CHECK(number(&job, PMIX_JOB_SIZE) == size);
    }
    return NULL;
}

static void *put(void *arg)
{
    int t = (int)(intptr_t)arg;
    char key[64], text[64];

    snprintf(key, sizeof key, "t-%d", t);
    snprintf(text, sizeof text, "thread %d of %u", t, me.rank);
    put_text(key, text);
    SAME(PMIx_Commit(), PMIX_SUCCESS);
    return NULL;
}

static void all(void *(*fn)(void *))
{
    pthread_t t[THREADS];

    for (intptr_t i = 0; i < THREADS; i++)
        CHECK(pthread_create(&t[i], NULL, fn, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
}

static void threads(void)
{
    all(put);
    fence();
    all(call);
    fence();
}

/* --- events --------------------------------------------------------------------------------- */

static struct waiter seen = WAITER;
static char order[256];

/* Writes its name down, and hands a result on; "stop" in the event ends the chain. */
static void handler(size_t id, pmix_status_t status, const pmix_proc_t *source,
                    pmix_info_t info[], size_t ninfo, pmix_info_t *results, size_t nresults,
                    pmix_event_notification_cbfunc_fn_t done, void *cbdata)
{
    const char *name = "?", *stop = "";
    pmix_info_t mine;
    size_t n = strlen(order);

    (void)id;
    (void)results;
    for (size_t i = 0; i < ninfo; i++) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_HDLR_NAME))
            name = info[i].value.data.string;
        if (PMIX_CHECK_KEY(&info[i], "stop"))
            stop = info[i].value.data.string;
        if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_RETURN_OBJECT))
            CHECK(info[i].value.data.ptr == &seen);
    }
    CHECK(*source->nspace);
    snprintf(order + n, sizeof order - n, "%s%s:%zu", n ? " " : "", name, nresults);
    PMIX_INFO_LOAD(&mine, "said", name, PMIX_STRING);
    done(!strcmp(stop, name) ? PMIX_EVENT_ACTION_COMPLETE : PMIX_SUCCESS, &mine, 1, NULL, NULL,
         cbdata);
    PMIX_INFO_DESTRUCT(&mine);
    wake(&seen, status);
}

static size_t add(const char *name, size_t ncodes, const char *how, const char *of)
{
    pmix_status_t codes[] = { -3001, -3002 };
    pmix_info_t info[3];
    struct waiter w = WAITER;
    size_t n = 2;
    void *object = &seen;

    PMIX_INFO_LOAD(&info[0], PMIX_EVENT_HDLR_NAME, name, PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_EVENT_RETURN_OBJECT, object, PMIX_POINTER);
    if (how)
        PMIX_INFO_LOAD(&info[n++], how, of, of ? PMIX_STRING : PMIX_BOOL);
    if (strlen(name) % 2) {
        w.status = PMIx_Register_event_handler(codes, ncodes, info, n, handler, NULL, NULL);
        CHECK(w.status >= 0);
        w.id = (size_t)w.status;
    } else {
        SAME(PMIx_Register_event_handler(codes, ncodes, info, n, handler, on_registered, &w),
             PMIX_SUCCESS);
        SAME(await(&w, 1), PMIX_SUCCESS);
    }
    for (size_t i = 0; i < n; i++)
        PMIX_INFO_DESTRUCT(&info[i]);
    return w.id;
}

static void need_order(const char *want, int handlers)
{
    await(&seen, handlers);
    if (strcmp(order, want))
        printf("seen: %s\n", order);
    CHECK(!strcmp(order, want));
    *order = '\0';
    seen.done = 0;
}

/* Only this process hears it. */
static void raise_here(pmix_status_t code, const char *stop)
{
    pmix_info_t info;

    PMIX_INFO_LOAD(&info, "stop", stop, PMIX_STRING);
    SAME(PMIx_Notify_event(code, &me, PMIX_RANGE_PROC_LOCAL, &info, 1, NULL, NULL),
         PMIX_SUCCESS);
    PMIX_INFO_DESTRUCT(&info);
}

static void local_events(void)
{
    pmix_status_t code = -3001;
    pmix_info_t first;
    size_t one;

    add("default", 0, NULL, NULL);
    add("two", 2, NULL, NULL);
    one = add("one", 1, NULL, NULL);
    add("uno", 1, NULL, NULL);
    add("prepended", 1, PMIX_EVENT_HDLR_PREPEND, NULL);
    add("before", 1, PMIX_EVENT_HDLR_BEFORE, "uno");
    add("after", 1, PMIX_EVENT_HDLR_AFTER, "one");
    add("last", 1, PMIX_EVENT_HDLR_LAST, NULL);
    add("first", 2, PMIX_EVENT_HDLR_FIRST, NULL);
    PMIX_INFO_LOAD(&first, PMIX_EVENT_HDLR_FIRST, NULL, PMIX_BOOL);
    SAME(PMIx_Register_event_handler(&code, 1, &first, 1, handler, NULL, NULL),
         PMIX_ERR_EVENT_REGISTRATION);
    raise_here(-3001, "");
    need_order("first:0 prepended:2 one:4 after:6 before:8 uno:10 two:12 default:14 last:16", 9);
    raise_here(-3001, "uno");
    need_order("first:0 prepended:2 one:4 after:6 before:8 uno:10", 6);
    raise_here(-3002, "");
    need_order("first:0 two:2 default:4", 3);
    raise_here(-3003, "");
    need_order("default:0", 1);
    SAME(PMIx_Deregister_event_handler(one, NULL, NULL), PMIX_SUCCESS);
    SAME(PMIx_Deregister_event_handler(one, NULL, NULL), PMIX_ERR_NOT_FOUND);
    raise_here(-3001, "after");
    need_order("first:0 prepended:2 after:4", 3);
}

/* Rank 0 tells all; its own handlers do not hear it. */
static void events(void)
{
    struct waiter w = WAITER;

    local_events();
    fence();
    if (me.rank == 0) {
        SAME(PMIx_Notify_event(-3002, NULL, PMIX_RANGE_NAMESPACE, NULL, 0, on_op, &w),
             PMIX_SUCCESS);
        SAME(await(&w, 1), PMIX_SUCCESS);
    } else {
        need_order("first:0 two:2 default:4", 3);
    }
    fence();
    CHECK(!*order);
}

/* --- all of it -------------------------------------------------------------------------------- */

static void before_init(void)
{
    pmix_value_t v, *got;

    v.type = PMIX_UNDEF;
    CHECK(!PMIx_Initialized());
    SAME(PMIx_Put(PMIX_GLOBAL, "key", &v), PMIX_ERR_INIT);
    SAME(PMIx_Commit(), PMIX_ERR_INIT);
    SAME(PMIx_Get(NULL, "key", NULL, 0, &got), PMIX_ERR_INIT);
    SAME(PMIx_Fence(NULL, 0, NULL, 0), PMIX_ERR_INIT);
    SAME(PMIx_Finalize(NULL, 0), PMIX_ERR_INIT);
    SAME(PMIx_Abort(1, "x", NULL, 0), PMIX_ERR_INIT);
    CHECK(strstr(PMIx_Get_version(), "."));
}

/* --- what is longer than a frame --------------------------------------------------- */

enum { LONG = 16 << 20, LONG_TEXT = 1 << 20, LONG_EVENT = 90000 };

static void fill(char *at, size_t n, pmix_rank_t rank)
{
    unsigned seed = 1 + rank;

    for (size_t i = 0; i < n; i++) {
        seed = seed * 1103515245u + 12345u;
        at[i] = (char)(seed >> 16);
    }
}

/* Of text: what is doubled in a frame, what JSON escapes, and more than one byte a sign. */
static char *long_text(size_t n)
{
    static const char part[] = ";;;\"\\\u20ac\U0001d11e";
    char *text = malloc(n + sizeof part);
    size_t at = 0;

    CHECK(text != NULL);
    for (; at + sizeof part < n; at += sizeof part - 1)
        memcpy(text + at, part, sizeof part);
    return text;
}

static void put_long(void)
{
    char *text = long_text(LONG_TEXT);
    pmix_value_t v = { .type = PMIX_BYTE_OBJECT };

    v.data.bo.size = LONG;
    v.data.bo.bytes = malloc(LONG);
    CHECK(v.data.bo.bytes != NULL);
    fill(v.data.bo.bytes, LONG, me.rank);
    SAME(PMIx_Put(PMIX_GLOBAL, "bytes", &v), PMIX_SUCCESS);
    PMIX_VALUE_DESTRUCT(&v);
    put_text("text", text);
    SAME(PMIx_Commit(), PMIX_SUCCESS);
    free(text);
}

static void get_long(pmix_rank_t rank)
{
    char *text = long_text(LONG_TEXT), *bytes = malloc(LONG);
    pmix_value_t *v;
    pmix_proc_t p;

    CHECK(bytes != NULL);
    fill(bytes, LONG, rank);
    PMIX_LOAD_PROCID(&p, me.nspace, rank);
    SAME(PMIx_Get(&p, "bytes", NULL, 0, &v), PMIX_SUCCESS);
    CHECK(v->type == PMIX_BYTE_OBJECT && v->data.bo.size == LONG);
    CHECK(!memcmp(v->data.bo.bytes, bytes, LONG));
    PMIX_VALUE_RELEASE(v);
    need_text(rank, "text", text);
    free(text);
    free(bytes);
}

static void publish_long(void)
{
    enum { N = 12 };
    char key[40], *keys[2] = { key, NULL }, *text = long_text(10000);
    pmix_info_t infos[N];
    pmix_pdata_t found;

    for (int i = 0; i < N; i++) {
        snprintf(key, sizeof key, "long-%u-%d", me.rank, i);
        PMIX_INFO_LOAD(&infos[i], key, text, PMIX_STRING);
    }
    SAME(PMIx_Publish(infos, N), PMIX_SUCCESS);
    PMIX_PDATA_CONSTRUCT(&found);
    PMIX_LOAD_KEY(found.key, infos[N - 1].key);
    SAME(PMIx_Lookup(&found, 1, NULL, 0), PMIX_SUCCESS);
    CHECK(!strcmp(found.value.data.string, text));
    PMIX_PDATA_DESTRUCT(&found);
    SAME(PMIx_Unpublish(keys, NULL, 0), PMIX_SUCCESS);
    for (int i = 0; i < N; i++)
        PMIX_INFO_DESTRUCT(&infos[i]);
    free(text);
}

/* One that is too long for any request is refused, and what comes next is served. */
static void too_long(void)
{
    pmix_value_t v = { .type = PMIX_BYTE_OBJECT };

    v.data.bo.size = 2 * LONG;
    v.data.bo.bytes = calloc(1, 2 * LONG);
    CHECK(v.data.bo.bytes != NULL);
    SAME(PMIx_Put(PMIX_GLOBAL, "more", &v), PMIX_SUCCESS);
    CHECK(PMIx_Commit() != PMIX_SUCCESS);
    SAME(PMIx_Commit(), PMIX_SUCCESS);
    PMIX_VALUE_DESTRUCT(&v);
}

static struct waiter long_event = WAITER;

static void on_long_event(size_t id, pmix_status_t status, const pmix_proc_t *source,
                          pmix_info_t info[], size_t ninfo, pmix_info_t *results, size_t nresults,
                          pmix_event_notification_cbfunc_fn_t done, void *cbdata)
{
    (void)id;
    (void)status;
    (void)source;
    (void)results;
    (void)nresults;
    for (size_t i = 0; i < ninfo; i++)
        if (PMIX_CHECK_KEY(&info[i], "long") && info[i].value.data.bo.size == LONG_EVENT * 3 / 4)
            wake(&long_event, PMIX_SUCCESS);
    if (done)
        done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

static void notify_long(void)
{
    pmix_status_t code = PMIX_EXTERNAL_ERR_BASE - 7;
    struct waiter w = WAITER;
    pmix_info_t info;

    PMIx_Register_event_handler(&code, 1, NULL, 0, on_long_event, on_registered, &w);
    SAME(await(&w, 1), PMIX_SUCCESS);
    fence();
    PMIX_INFO_CONSTRUCT(&info);
    PMIX_LOAD_KEY(info.key, "long");
    info.value.type = PMIX_BYTE_OBJECT;
    info.value.data.bo.size = LONG_EVENT * 3 / 4;
    info.value.data.bo.bytes = calloc(1, LONG_EVENT);
    CHECK(info.value.data.bo.bytes != NULL);
    SAME(PMIx_Notify_event(code, &me, PMIX_RANGE_GLOBAL, &info, 1, on_op, &w), PMIX_SUCCESS);
    SAME(await(&w, 2), PMIX_SUCCESS);
    PMIX_INFO_DESTRUCT(&info);
    await(&long_event, (int)size - 1);   /* not its own */
}

static void long_ones(void)
{
    put_long();
    get_long((me.rank + 1) % size);
    publish_long();
    too_long();
    notify_long();
    fence();
}

/* --- types, and keys that are not known -------------------------------------------- */

static pmix_status_t local_rank_of(pmix_value_t rank)
{
    char *query_keys[] = { (char[]){ PMIX_LOCAL_RANK }, NULL };
    pmix_info_t which, *results;
    pmix_query_t query = { .keys = query_keys, .qualifiers = &which, .nqual = 1 };
    pmix_status_t rc;
    size_t n;

    PMIX_INFO_CONSTRUCT(&which);
    PMIX_LOAD_KEY(which.key, PMIX_RANK);
    which.value = rank;
    rc = PMIx_Query_info(&query, 1, &results, &n);
    CHECK(rc == PMIX_SUCCESS ? n == 1 && results->value.type == PMIX_UINT16 : n == 0);
    PMIX_INFO_FREE(results, n);
    return rc;
}

static void types(void)
{
    static const pmix_data_type_t unknown[] = { PMIX_SCOPE, PMIX_DATA_RANGE, PMIX_PERSIST };
    pmix_value_t v = { PMIX_PROC_RANK, { .rank = me.rank } }, *got;
    char key[32];

    SAME(local_rank_of(v), PMIX_SUCCESS);
    SAME(local_rank_of((pmix_value_t){ PMIX_INT32, { .int32 = 0 } }), PMIX_ERR_TYPE_MISMATCH);
    SAME(local_rank_of((pmix_value_t){ PMIX_UINT32, { .uint32 = 0 } }), PMIX_ERR_TYPE_MISMATCH);
    SAME(local_rank_of((pmix_value_t){ PMIX_STATUS, { .status = 0 } }), PMIX_ERR_TYPE_MISMATCH);
    for (int i = 0; i < 3; i++) {
        v = (pmix_value_t){ unknown[i], { .byte = 200 } };
        snprintf(key, sizeof key, "unknown-%d", i);
        SAME(PMIx_Put(PMIX_GLOBAL, key, &v), PMIX_SUCCESS);
    }
    SAME(PMIx_Commit(), PMIX_SUCCESS);
    SAME(PMIx_Put(200, "nobody's", &v), PMIX_SUCCESS);       /* a server may know it: it is asked */
    SAME(PMIx_Commit(), PMIX_ERR_PARAM_VALUE_NOT_SUPPORTED);
    SAME(PMIx_Commit(), PMIX_SUCCESS);
    fence();
    for (int i = 0; i < 3; i++) {
        pmix_proc_t p;
        char *text;

        PMIX_LOAD_PROCID(&p, me.nspace, (me.rank + 1) % size);
        snprintf(key, sizeof key, "unknown-%d", i);
        SAME(PMIx_Get(&p, key, NULL, 0, &got), PMIX_SUCCESS);
        CHECK(got->type == unknown[i] && got->data.byte == 200);
        text = PMIx_Value_string(got);
        CHECK(text && strstr(text, " 200"));
        free(text);
        PMIX_VALUE_RELEASE(got);
    }
}

/* Those of the standard, one of these servers' own, and nobody's. */
static void queries(void)
{
    char *mixed[] = { (char[]){ "x.nonsense" }, (char[]){ PMIX_JOB_SIZE }, (char[]){ "lite.nonsense" },
                      (char[]){ "lite.proc.ops" }, NULL };
    char *none[] = { mixed[0], mixed[2], NULL }, *good[] = { mixed[1], mixed[3], NULL };
    pmix_query_t both[] = { { .keys = mixed }, { .keys = good } };
    struct { char **keys; pmix_status_t want; size_t n; } rows[] = {
        { good, PMIX_SUCCESS, 2 }, { mixed, PMIX_QUERY_PARTIAL_SUCCESS, 2 }, { none, PMIX_ERR_NOT_FOUND, 0 },
    };
    struct waiter w = WAITER;
    pmix_info_t *results;
    size_t n;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pmix_query_t query = { .keys = rows[i].keys };

        SAME(PMIx_Query_info(&query, 1, &results, &n), rows[i].want);
        CHECK(n == rows[i].n);
        CHECK(n == 0 || (PMIX_CHECK_KEY(&results[0], PMIX_JOB_SIZE) && results[0].value.data.uint32 == size &&
                         PMIX_CHECK_KEY(&results[1], "lite.proc.ops")));
        PMIX_INFO_FREE(results, n);
        SAME(PMIx_Query_info_nb(&query, 1, on_infos, &w), PMIX_SUCCESS);
        SAME(await(&w, (int)i + 1), rows[i].want);
    }
    SAME(PMIx_Query_info(both, 2, &results, &n), PMIX_QUERY_PARTIAL_SUCCESS);
    CHECK(n == 4 && PMIX_CHECK_KEY(&results[2], PMIX_JOB_SIZE));
    PMIX_INFO_FREE(results, n);
}

static void begin(void)
{
    pmix_proc_t again;

    SAME(PMIx_Init(&me, NULL, 0), PMIX_SUCCESS);
    SAME(PMIx_Init(&again, NULL, 0), PMIX_SUCCESS);
    CHECK(PMIX_CHECK_PROCID(&me, &again) && PMIx_Initialized());
    SAME(PMIx_Finalize(NULL, 0), PMIX_SUCCESS);
    PMIX_LOAD_PROCID(&job, me.nspace, PMIX_RANK_WILDCARD);
    size = number(&job, PMIX_JOB_SIZE);
}

/* Of all ranks, named so; whose, and by which rank of it.  The job ends before this returns. */
static void abort_all(const char *nspace, pmix_rank_t rank)
{
    pmix_proc_t all;

    PMIX_LOAD_PROCID(&all, nspace, rank);
    SAME(PMIx_Abort(7, "enough of it", &all, 1), PMIX_SUCCESS);
}

static void run(const char *what)
{
    if (!strcmp(what, "threads"))
        threads();
    else if (!strcmp(what, "events"))
        events();
    else if (!strcmp(what, "mixed"))
        mixed();
    else if (!strcmp(what, "long"))
        long_ones();
    else if (!strcmp(what, "types"))
        types();
    else if (!strcmp(what, "queries"))
        queries();
    else if (!strcmp(what, "abort")) {
        if (me.rank == 0)
            SAME(PMIx_Abort(7, "enough of it", NULL, 0), PMIX_SUCCESS);
        pause();
    } else if (!strcmp(what, "abort-wildcard")) {
        if (me.rank == 0)
            abort_all(me.nspace, PMIX_RANK_WILDCARD);
        pause();
    } else if (!strcmp(what, "abort-node")) {
        if (me.rank == 0)
            abort_all(me.nspace, PMIX_RANK_LOCAL_NODE);
        pause();
    } else {
        exchange();
        misses();
        callbacks();
        keys();
        if (getenv("NAMES"))
            published();
        if (plain)
            refused();
    }
}

int main(int argc, char **argv)
{
    pmix_info_t barrier;

    plain = argc > 2 && !strcmp(argv[2], "plain");
    before_init();
    begin();
    run(argc > 1 ? argv[1] : "basics");
    PMIX_INFO_LOAD(&barrier, PMIX_EMBED_BARRIER, NULL, PMIX_BOOL);
    SAME(PMIx_Finalize(&barrier, 1), PMIX_SUCCESS);
    SAME(PMIx_Finalize(NULL, 0), PMIX_ERR_INIT);
    CHECK(!PMIx_Initialized());
    printf("rank %u: ok\n", me.rank);
    return 0;
}

/* pmi2_all.c - every call of the PMI-2 interface, by all ranks, every result checked.
 *
 *   LAUNCHER -n N pmi2_all [--spawn]
 *
 * Prints "rank R: ok", or a line for each thing that is wrong, and ends with 0 or
 * 1.  Written to Slurm's header, so that it links with Slurm's libpmi2 as well as
 * with ours.  What a library or launcher is known not to do is left out: Slurm's
 * library is told from ours by the symbol PMI2_Error_text (linked statically: with
 * -rdynamic), Hydra 4.0 by its job id ("kvs_..."; it ends the job at what it does not
 * know), srun and no launcher by the environment.  --spawn: also spawn, where that may be
 * fatal (Hydra). */
#if __has_include(<slurm/pmi2.h>)
#include <slurm/pmi2.h>
#else
#define PMI2_USE_SLURM_INFO
#include "pmi2.h"
#endif

#include <dlfcn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, failures;
static bool our_lib, hydra, alone, slurm;

static void wrong(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void wrong(const char *fmt, ...)
{
    const char *(*message)(void) = (const char *(*)(void))dlsym(RTLD_DEFAULT,
                                                                "PMI2_Error_message");
    char line[2048];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    printf("rank %d: %s (last error: %s)\n", rank, line, message ? message() : "?");
    failures++;
}

static void want(const char *what, int rc, int wanted)
{
    if (rc != wanted)
        wrong("%s: result %d, want %d", what, rc, wanted);
}

static void want_ok(const char *what, int rc)
{
    want(what, rc, PMI2_SUCCESS);
}

static void want_error(const char *what, int rc)
{
    if (rc == PMI2_SUCCESS)
        wrong("%s: succeeded, should not", what);
}

static void want_text(const char *what, const char *text, const char *wanted)
{
    if (strcmp(text, wanted))
        wrong("%s: '%.60s', want '%.60s'", what, text, wanted);
}

static void want_int(const char *what, int value, int wanted)
{
    if (value != wanted)
        wrong("%s: %d, want %d", what, value, wanted);
}

/* A fence that all have reached when it returns.  Hydra answers a fence at once and
 * makes a get of a missing key wait for it instead. */
static void barrier(void)
{
    char value[8];
    int len;

    want_ok("PMI2_KVS_Fence", PMI2_KVS_Fence());
    if (hydra)
        PMI2_KVS_Get(NULL, PMI2_ID_NULL, "-NONEXIST-KEY", value, sizeof value, &len);
}

/* ------------------------------------------------------------- beginning */

static void begin(void)
{
    int spawned = -1, appnum = -2, n = -1;
    int rc;

    if (our_lib && PMI2_Initialized())
        wrong("initialised before PMI2_Init");
    rc = PMI2_Init(&spawned, &size, &rank, &appnum);
    want_ok("PMI2_Init", rc);
    if (rc)
        exit(1);
    if (!PMI2_Initialized())
        wrong("not initialised after PMI2_Init");
    if (size < 1 || rank < 0 || rank >= size)
        wrong("rank %d of %d", rank, size);
    if (our_lib && spawned != (getenv("PMI_SPAWNED") != NULL))
        wrong("spawned is %d", spawned);
    if (our_lib && alone)
        want_int("appnum alone", appnum, 0);
    want_ok("PMI2_Job_GetRank", PMI2_Job_GetRank(&n));
    if (our_lib || getenv("PMI_FD"))     /* Slurm's does not know it over PMI_PORT */
        want_int("PMI2_Job_GetRank", n, rank);
    want_ok("PMI2_Info_GetSize", PMI2_Info_GetSize(&n));
    want_int("PMI2_Info_GetSize", n, size);
}

/* The job id goes through the key-value space, so that all see it is one. */
static void job_id(char *id, size_t len)
{
    want_ok("PMI2_Job_GetId", PMI2_Job_GetId(id, (int)len));
    if (!*id)
        wrong("empty job id");
    hydra = !strncmp(id, "kvs_", 4);
    if (our_lib)
        want_error("PMI2_Job_GetId with two bytes", PMI2_Job_GetId((char[2]){ 0 }, 2));
}

/* ------------------------------------------------------------------- KVS */

static void put(const char *stem, int who, const char *value)
{
    char key[64];

    snprintf(key, sizeof key, "%s-%d", stem, who);
    want_ok(key, PMI2_KVS_Put(key, value));
}

static void get(const char *jobid, const char *stem, int who, const char *wanted)
{
    char key[64], value[PMI2_MAX_VALLEN + 1] = "";
    int len = -1;

    snprintf(key, sizeof key, "%s-%d", stem, who);
    want_ok(key, PMI2_KVS_Get(jobid, who, key, value, sizeof value, &len));
    want_text(key, value, wanted);
    want_int(key, len, (int)strlen(wanted));
}

static void kvs_exchange(const char *jobid)
{
    char value[64];

    put("id", rank, jobid);
    snprintf(value, sizeof value, "card of %d: \xc3\xa4=b c\\d", rank);
    put("card", rank, value);
    if (!hydra && !slurm)
        put("semi", rank, ";;a;b;;c=;");
    barrier();
    for (int i = 0; i < size; i++) {
        snprintf(value, sizeof value, "card of %d: \xc3\xa4=b c\\d", i);
        get(NULL, "card", i, value);
        get(jobid, "id", i, jobid);
        if (!hydra && !slurm)
            get(NULL, "semi", i, ";;a;b;;c=;");
    }
    barrier();
    if (hydra)                           /* keeps the first value of a key */
        return;
    snprintf(value, sizeof value, "again %d", rank);
    put("card", rank, value);
    barrier();
    snprintf(value, sizeof value, "again %d", (rank + 1) % size);
    get(NULL, "card", (rank + 1) % size, value);
}

/* Lengths: too small buffers, exact ones, none. */
static void kvs_lengths(void)
{
    char value[16] = "xxxxxxxxxxxxxxx";
    int len = 0;

    put("ten", rank, "0123456789");
    barrier();
    want_ok("get into 5", PMI2_KVS_Get(NULL, PMI2_ID_NULL, "ten-0", value, 5, &len));
    want_int("length into 5", len, -10);
    want_text("text into 5", value, "0123");
    want_ok("get into 10", PMI2_KVS_Get(NULL, PMI2_ID_NULL, "ten-0", value, 10, &len));
    want_int("length into 10", len, -10);
    want_ok("get into 11", PMI2_KVS_Get(NULL, PMI2_ID_NULL, "ten-0", value, 11, &len));
    want_int("length into 11", len, 10);
    want_text("text into 11", value, "0123456789");
    want("missing key", PMI2_KVS_Get(NULL, PMI2_ID_NULL, "no-such", value, 16, &len), 14);
    if (our_lib) {
        want_ok("get into 0", PMI2_KVS_Get(NULL, PMI2_ID_NULL, "ten-0", NULL, 0, &len));
        want_int("length into 0", len, 10);
    }
}

static void kvs_maxima(void)
{
    char value[PMI2_MAX_VALLEN + 1], key[PMI2_MAX_KEYLEN + 2], back[PMI2_MAX_VALLEN + 1];
    int len = 0;

    memset(value, 'v', sizeof value - 1);
    value[sizeof value - 1] = '\0';
    memset(key, 'k', sizeof key - 1);
    key[PMI2_MAX_KEYLEN] = '\0';
    if (!hydra && rank == 0)             /* Hydra 4.0 cuts both */
        want_ok("longest put", PMI2_KVS_Put(key, value));
    barrier();
    if (!hydra) {
        want_ok("longest get", PMI2_KVS_Get(NULL, 0, key, back, sizeof back, &len));
        want_int("longest length", len, PMI2_MAX_VALLEN);
        want_text("longest value", back, value);
    }
    key[PMI2_MAX_KEYLEN] = 'k';
    key[PMI2_MAX_KEYLEN + 1] = '\0';
    if (!our_lib)
        return;
    want("key of 65", PMI2_KVS_Put(key, "v"), PMI2_ERR_INVALID_KEY_LENGTH);
    want("key of 0", PMI2_KVS_Put("", "v"), PMI2_ERR_INVALID_KEY);
    want("no key", PMI2_KVS_Put(NULL, "v"), PMI2_ERR_INVALID_KEY);
    want("no value", PMI2_KVS_Put("k", NULL), PMI2_ERR_INVALID_VAL);
    want("key not UTF-8", PMI2_KVS_Put("\xff", "v"), PMI2_ERR_INVALID_KEY);
    want("value not UTF-8", PMI2_KVS_Put("k", "\xff"), PMI2_ERR_INVALID_VAL);
    want("negative size", PMI2_KVS_Get(NULL, 0, "k", back, -1, &len),
         PMI2_ERR_INVALID_ARG);
}

/* A value that only our library and our launcher carry. */
static void kvs_long(void)
{
    enum { LONG = 60000 };
    char *value = malloc(LONG + 1), *back = malloc(LONG + 1);
    int len = 0, rc;

    memset(value, 'L', LONG);
    value[LONG] = '\0';
    rc = rank == 0 ? PMI2_KVS_Put("long", value) : 0;
    if (hydra || slurm)
        want("long put", rank == 0 ? rc : PMI2_ERR_INVALID_VAL_LENGTH,
             PMI2_ERR_INVALID_VAL_LENGTH);
    else
        want_ok("long put", rc);
    barrier();
    if (!hydra && !slurm) {
        want_ok("long get", PMI2_KVS_Get(NULL, 0, "long", back, LONG + 1, &len));
        want_int("long length", len, LONG);
        want_text("long value", back, value);
    }
    free(value);
    free(back);
}

/* ------------------------------------------------------------ attributes */

static void job_attributes(void)
{
    char value[PMI2_MAX_ATTRVALUE + 1] = "";
    int found = -1, n = 0, array[2] = { -7, -7 };

    want_ok("mapping", PMI2_Info_GetJobAttr("PMI_process_mapping", value, sizeof value,
                                            &found));
    want_int("mapping found", found != 0, !alone);
    if (!alone && strncmp(value, "(vector,", 8))
        wrong("mapping is '%.60s'", value);
    if (!alone && our_lib)
        want("mapping into 4",
             PMI2_Info_GetJobAttr("PMI_process_mapping", value, 4, &found),
             PMI2_ERR_NOMEM);
    want_ok("no-such", PMI2_Info_GetJobAttr("no-such", value, sizeof value, &found));
    if (!slurm)                          /* it has an empty one */
        want_int("no-such found", found, 0);
    want_ok("universeSize", PMI2_Info_GetJobAttrIntArray("universeSize", array, 2, &n,
                                                         &found));
    if (found && (n != 1 || array[1] != -7))
        wrong("universeSize has %d numbers", n);
}

/* The next rank of this node, in a circle; who does not know says that all are here. */
static int local_ranks(void)
{
    int array[1024], n = -1, found = -1, count = 0, me = 0, next = (rank + 1) % size;

    want_ok("localRanks", PMI2_Info_GetNodeAttrIntArray("localRanks", array, 1024, &n,
                                                        &found));
    if (!found && slurm)
        return rank;
    if (!found && (hydra || alone))
        return next;
    want_int("localRanks found", found != 0, 1);
    for (int i = 0; i < n && i < 1024; i++)
        if (array[i] == rank) {
            me++;
            next = array[(i + 1) % n];
        }
    want_int("ourselves in localRanks", me, 1);
    want_ok("localRanksCount", PMI2_Info_GetNodeAttrIntArray("localRanksCount", &count, 1,
                                                             &me, &found));
    want_int("localRanksCount", count, n);
    if (our_lib && n > 1)
        want("localRanks into 1",
             PMI2_Info_GetNodeAttrIntArray("localRanks", array, 1, &n, &found),
             PMI2_ERR_NOMEM);
    return next;
}

/* Each rank puts one and waits for that of the next one on its node. */
static void node_attributes(int next)
{
    char name[32], value[64] = "", wanted[64];
    int found = -1, array[4] = { 0 }, n = 0;

    want_ok("absent", PMI2_Info_GetNodeAttr("absent", value, sizeof value, &found, 0));
    want_int("absent found", found, 0);
    snprintf(name, sizeof name, "seg-%d", rank);
    snprintf(wanted, sizeof wanted, "id %d", rank);
    want_ok(name, PMI2_Info_PutNodeAttr(name, wanted));
    snprintf(name, sizeof name, "seg-%d", next);
    snprintf(wanted, sizeof wanted, "id %d", next);
    want_ok(name, PMI2_Info_GetNodeAttr(name, value, sizeof value, &found, 1));
    want_int("seg found", found != 0, 1);
    want_text("seg", value, wanted);
    snprintf(name, sizeof name, "ints-%d", rank);
    want_ok(name, PMI2_Info_PutNodeAttr(name, "7,-8,9"));
    want_ok(name, PMI2_Info_GetNodeAttrIntArray(name, array, 4, &n, &found));
    if (n != 3 || array[0] != 7 || array[1] != -8 || array[2] != 9)
        wrong("ints: %d of them, %d %d %d", n, array[0], array[1], array[2]);
    if (our_lib && alone)
        want_error("waiting alone", PMI2_Info_GetNodeAttr("absent", value, sizeof value,
                                                          &found, 1));
}

/* -------------------------------------------------- names, ring, other jobs */

static void names(void)
{
    char port[PMI2_MAX_VALLEN + 1] = "";

    if (alone) {
        want_error("publish alone", PMI2_Nameserv_publish("svc", NULL, "p"));
        return;
    }
    if (rank == 0)
        want_ok("publish", PMI2_Nameserv_publish("svc", NULL, "tag#0$port=1"));
    if (rank == 0 && !slurm)
        want_error("publish twice", PMI2_Nameserv_publish("svc", NULL, "other"));
    barrier();
    if (our_lib || !hydra) {             /* Hydra's reply is not what Slurm's wants */
        want_ok("lookup", PMI2_Nameserv_lookup("svc", NULL, port, sizeof port));
        want_text("lookup", port, "tag#0$port=1");
    }
    barrier();
    if (rank == 0)
        want_ok("unpublish", PMI2_Nameserv_unpublish("svc", NULL));
    barrier();
    want_error("lookup of nothing", PMI2_Nameserv_lookup("svc", NULL, port, sizeof port));
}

static void ring(void)
{
    char mine[32], left[64] = "", right[64] = "", wanted[32];
    int pos = -1, n = -1;

    snprintf(mine, sizeof mine, "ring-of-%d", rank);
    want_ok("PMIX_Ring", PMIX_Ring(mine, &pos, &n, left, right, sizeof left));
    want_int("ring size", n, size);
    if (pos < 0 || pos >= size)
        wrong("ring position %d", pos);
    if (pos == rank) {                   /* the order that our server chooses */
        snprintf(wanted, sizeof wanted, "ring-of-%d", (rank + size - 1) % size);
        want_text("left", left, wanted);
        snprintf(wanted, sizeof wanted, "ring-of-%d", (rank + 1) % size);
        want_text("right", right, wanted);
    }
}

static void other_jobs(void)
{
    PMI2_Connect_comm_t conn = { NULL, NULL, NULL, -1 };

    want_error("connect to no job", PMI2_Job_Connect("no-such-job", &conn));
    want_error("disconnect from no job", PMI2_Job_Disconnect("no-such-job"));
}

/* Our server may refuse to spawn, but must say so. */
static void spawn(bool must)
{
    const char *cmd = "/bin/true", *argv[] = { "one", "two", NULL }, **argvs[] = { argv };
    char wdir[] = "wdir", root[] = "/", key[] = "pre", value[] = "put";
    struct MPID_Info info = { .key = wdir, .value = root };
    struct MPID_Info pre = { .key = key, .value = value };
    const struct MPID_Info *infos[] = { &info }, *pres[] = { &pre };
    int argc = 2, procs = 2, ninfo = 1, errors[2] = { -1, -1 }, rc;
    char id[256] = "";

    if (rank)
        return;
    rc = PMI2_Job_Spawn(1, &cmd, &argc, argvs, &procs, &ninfo, infos, 1, pres, id,
                        sizeof id, errors);
    if (alone || must)
        want_int("spawn fails", rc != 0, alone);
    if (rc == 0 && (!*id || errors[0] || errors[1]))
        wrong("spawn: job '%s', errors %d %d", id, errors[0], errors[1]);
}

static void finish(void)
{
    char value[8];
    int len;

    barrier();
    want_ok("PMI2_Finalize", PMI2_Finalize());
    if (!our_lib)
        return;
    want_int("initialised after PMI2_Finalize", PMI2_Initialized(), 0);
    want("put after PMI2_Finalize", PMI2_KVS_Put("k", "v"), PMI2_ERR_INIT);
    want("get after PMI2_Finalize", PMI2_KVS_Get(NULL, 0, "k", value, 8, &len),
         PMI2_ERR_INIT);
    want("second PMI2_Finalize", PMI2_Finalize(), PMI2_ERR_INIT);
}

int main(int argc, char **argv)
{
    bool must_spawn = argc > 1 && !strcmp(argv[1], "--spawn");
    char id[256] = "";

    our_lib = dlsym(RTLD_DEFAULT, "PMI2_Error_text") != NULL;
    alone = !getenv("PMI_FD") && !getenv("PMI_PORT");
    slurm = getenv("SLURM_STEP_ID") && !getenv("MPI_LOCALNRANKS");
    if (alone && !our_lib) {
        printf("rank 0: ok (skipped: no launcher, and not our library)\n");
        return 0;
    }
    begin();
    job_id(id, sizeof id);
    kvs_exchange(id);
    kvs_lengths();
    kvs_maxima();
    if (our_lib)
        kvs_long();
    job_attributes();
    node_attributes(local_ranks());
    names();
    if (!hydra) {
        ring();
        if (!slurm)                      /* it does not answer */
            other_jobs();
    }
    if ((!hydra && !slurm) || must_spawn)
        spawn(must_spawn);
    finish();
    if (!failures)
        printf("rank %d: ok\n", rank);
    return failures != 0;
}

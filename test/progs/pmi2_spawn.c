/* pmi2_spawn.c - spawn and connected jobs by way of the PMI-2 interface.
 *
 *   LAUNCHER -n N pmi2_spawn parent    rank 0 spawns this program, in two commands; all
 *                                      ranks and children read each other's keys
 *   LAUNCHER -n N pmi2_spawn threads   N threads of each rank (link with -lpthread) spawn,
 *                                      put, get and fence at the same time
 *
 * Prints "rank R: ok" at the end, "child R: ok" in children, or what is wrong, and ends
 * with 0 or 1.  Written to Slurm's header, or with -DMPICH_STYLE to MPICH's structures in
 * ours. */
#ifdef MPICH_STYLE
#include "pmi2.h"
typedef PMI2_keyval_t info_t;
#else
#if __has_include(<slurm/pmi2.h>)
#include <slurm/pmi2.h>
#else
#define PMI2_USE_SLURM_INFO
#include "pmi2.h"
#endif
typedef struct MPID_Info info_t;
#endif

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PORT "tag#0$description#host;x$port#4242$"

static int rank, size, failures;
static const char *self;
static char own[256], child[256];

static void need(int good, const char *fmt, ...)
{
    char line[1024];
    va_list ap;

    if (good)
        return;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    printf("rank %d of %s: wrong: %s\n", rank, own, line);
    fflush(stdout);
    failures++;
}

/* Slurm's library does not say which processes failed, nor look at rc. */
static int ours(void)
{
    return dlsym(RTLD_DEFAULT, "PMI2_Error_text") != NULL;
}

static void init(int wanted)
{
    int spawned = -1, appnum = -1, rc = PMI2_Init(&spawned, &size, &rank, &appnum);

    need(rc == 0, "init: %d", rc);
    need(spawned == wanted, "spawned is %d", spawned);
    need(PMI2_Job_GetId(own, sizeof own) == 0, "job id");
    need(!wanted || appnum == (rank == 2), "appnum %d", appnum);
}

static int finish(const char *who)
{
    need(PMI2_Finalize() == 0, "finalize");
    if (!failures)
        printf("%s %d: ok\n", who, rank);
    return failures != 0;
}

static void put(const char *key, const char *value)
{
    int rc = PMI2_KVS_Put(key, value);

    need(rc == 0, "put %s: %d", key, rc);
}

static void fence(void)
{
    int rc = PMI2_KVS_Fence();

    need(rc == 0, "fence: %d", rc);
}

/* A key that comes to be in some job. */
static void await(const char *job, const char *key, const char *wanted)
{
    char value[1024] = "";
    int len = 0, rc = -1;

    for (int i = 0; i < 3000; i++) {
        rc = PMI2_KVS_Get(job, -1, key, value, sizeof value, &len);
        if (rc == 0)
            break;
        usleep(10000);
    }
    need(rc == 0 && !strcmp(value, wanted), "%s of %s: rc %d, '%.60s'", key, job, rc, value);
}

/* --- spawn ------------------------------------------------------------------ */

static void set(info_t *i, const char *key, const char *value)
{
#ifdef MPICH_STYLE
    *i = (info_t){ key, value };
#else
    *i = (info_t){ .key = (char *)key, .value = (char *)value };
#endif
}

static int start(int count, const char *cmds[], int argcs[], const char **argvs[],
                 const int procs[], const int ninfo[], const info_t *infos[], char *jobid,
                 int errors[])
{
    info_t preput[2];
#ifdef MPICH_STYLE
    const info_t *given = preput;
#else
    const info_t *given[] = { &preput[0], &preput[1] };
#endif

    set(&preput[0], "PARENT_ROOT_PORT_NAME", PORT);
    set(&preput[1], "second", own);
    return PMI2_Job_Spawn(count, cmds, argcs, argvs, procs, ninfo, infos, 2, given, jobid, 256,
                          errors);
}

static void start_children(void)
{
    const char *cmds[] = { self, self };
    const char *one[] = { "child", "two words", "a=b;c", "", "endcmd", NULL };
    const char *two[] = { "child", NULL };
    const char **argvs[] = { one, two };
    int argcs[] = { 5, 1 }, procs[] = { 2, 1 }, ninfo[] = { 1, 0 }, errors[] = { 7, 7, 7 }, rc;
    info_t wdir;
    const info_t *infos[] = { &wdir, NULL };

    set(&wdir, "wdir", "/");
    rc = start(2, cmds, argcs, argvs, procs, ninfo, infos, child, errors);
    need(rc == 0, "spawn: %d", rc);
    need(*child && strcmp(child, own), "the child's job id '%s'", child);
    need(!errors[0] && !errors[1] && !errors[2], "errors %d %d %d", errors[0], errors[1],
         errors[2]);
}

static void start_nothing(void)
{
    const char *cmds[] = { self, "/no/such/program" }, *none[] = { NULL };
    const char **argvs[] = { none, none };
    int argcs[] = { 0, 0 }, procs[] = { 2, 1 }, ninfo[] = { 0, 0 }, errors[] = { 7, 7, 7 }, rc;
    const info_t *infos[] = { NULL, NULL };
    char jobid[256] = "none";

    rc = start(2, cmds, argcs, argvs, procs, ninfo, infos, jobid, errors);
    need(rc != 0, "a spawn of nothing succeeded: '%s'", jobid);
    if (ours())
        need(errors[2] == ENOENT && errors[0] && errors[1], "errors of nothing %d %d %d",
             errors[0], errors[1], errors[2]);
}

/* --- parent and child -------------------------------------------------------- */

static int parent(void)
{
    char value[1024], key[64];
    int len;

    init(0);
    put("early", "of the parent");
    fence();
    if (rank == 0) {
        start_nothing();
        start_children();
        put("child", child);
    }
    fence();
    need(PMI2_KVS_Get(own, -1, "child", child, sizeof child, &len) == 0, "the child's id");
    for (int i = 0; i < 3; i++) {
        snprintf(key, sizeof key, "from-child-%d", i);
        await(child, key, "hello parent");
    }
    await(child, "PARENT_ROOT_PORT_NAME", PORT);
    need(PMI2_KVS_Get("no-such-job", -1, "x", value, sizeof value, &len) != 0, "a foreign job");
    fence();
    put("go", "now");
    fence();
    await(child, "last", "word");
    fence();                             /* all ranks have it */
    if (rank == 0)
        need(PMI2_Job_Disconnect(child) == 0, "disconnect");
    fence();
    need(PMI2_KVS_Get(child, -1, "last", value, sizeof value, &len) != 0, "get of a stranger");
    fence();
    if (rank == 0) {
        need(PMI2_Job_Disconnect(child) != 0, "disconnect twice");
        need(PMI2_Job_Connect(child, NULL) == 0, "connect again");
        put("end", "now");
    }
    fence();
    await(child, "last", "word");
    fence();
    put("bye", "now");
    fence();
    return finish("rank");
}

static int child_main(int argc, char **argv)
{
    char value[1024], key[64], cwd[64] = "", spawner[256];
    int len, rc;

    init(1);
    rc = PMI2_KVS_Get(own, -1, "PARENT_ROOT_PORT_NAME", value, sizeof value, &len);
    need(rc == 0 && !strcmp(value, PORT), "port: rc %d, '%s'", rc, value);
    need(PMI2_KVS_Get(own, -1, "second", spawner, sizeof spawner, &len) == 0, "second");
    need(size == 3, "size %d", size);
    need(getenv("PMI_SPAWNED") && !strcmp(getenv("PMI_SPAWNED"), "1"), "PMI_SPAWNED");
    if (rank < 2) {
        need(argc == 6 && !strcmp(argv[2], "two words") && !strcmp(argv[3], "a=b;c") &&
             !*argv[4] && !strcmp(argv[5], "endcmd"), "arguments");
        need(getcwd(cwd, sizeof cwd) && !strcmp(cwd, "/"), "folder '%s'", cwd);
    } else {
        need(argc == 2, "%d arguments", argc);
    }
    snprintf(key, sizeof key, "from-child-%d", rank);
    put(key, "hello parent");
    fence();
    await(spawner, "early", "of the parent");
    await(spawner, "go", "now");
    put("last", "word");
    fence();
    await(spawner, "bye", "now");
    return finish("child");
}

/* --- threads ----------------------------------------------------------------- */

enum { THREADS = 8, ROUNDS = 3 };

static void *work(void *arg)
{
    const char *cmds[] = { self }, *args[] = { "brief", NULL }, **argvs[] = { args };
    int argcs[] = { 1 }, procs[] = { 1 }, ninfo[] = { 0 }, errors[1], number = *(int *)arg, len;
    const info_t *infos[] = { NULL };
    char jobid[256], key[64], value[1024];

    for (int i = 0; i < ROUNDS; i++) {
        snprintf(key, sizeof key, "key-%d-%d-%d", rank, number, i);
        if (number % 2) {
            int rc = start(1, cmds, argcs, argvs, procs, ninfo, infos, jobid, errors);

            need(rc == 0 && !errors[0], "spawn of thread %d: %d", number, rc);
            rc = PMI2_KVS_Get(jobid, -1, "second", value, sizeof value, &len);
            if (rc == 0)                 /* it may have ended */
                need(!strcmp(value, own), "the spawner of %s: %s", jobid, value);
        } else {
            put(key, "value");
            need(PMI2_KVS_Get(own, -1, key, value, sizeof value, &len) == 0 &&
                 !strcmp(value, "value"), "get of thread %d", number);
        }
    }
    return NULL;
}

static int threads(void)
{
    pthread_t thread[THREADS];
    int number[THREADS];

    init(0);
    for (int i = 0; i < THREADS; i++) {
        number[i] = i;
        need(pthread_create(&thread[i], NULL, work, &number[i]) == 0, "thread");
    }
    fence();                             /* while they work */
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    fence();
    return finish("rank");
}

static int brief(void)
{
    char value[1024];
    int spawned = -1, len;

    need(PMI2_Init(&spawned, &size, &rank, NULL) == 0 && spawned == 1, "init");
    need(PMI2_Job_GetId(own, sizeof own) == 0, "job id");
    need(PMI2_KVS_Get(own, -1, "second", value, sizeof value, &len) == 0, "second");
    need(PMI2_Finalize() == 0, "finalize");
    return failures != 0;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";

    self = argv[0];
    if (!strcmp(mode, "parent"))
        return parent();
    if (!strcmp(mode, "child"))
        return child_main(argc, argv);
    if (!strcmp(mode, "threads"))
        return threads();
    if (!strcmp(mode, "brief"))
        return brief();
    return 88;
}

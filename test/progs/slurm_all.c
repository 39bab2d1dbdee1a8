/* slurm_all.c - every call of Slurm's libpmi2, as its own programs use it.
 *
 *   slurm_all MODE [ARG]
 *
 *   all            each call once or more, every result checked; "rank R: good"
 *   wait           the last rank of the node puts an attribute for which all wait
 *   ring           PMIX_Ring three times
 *   names          publish, look up, unpublish, and what must fail
 *   bulk N         N keys a rank of 1000 bytes, read by the next rank
 *   abort CODE     the last rank aborts, the others wait in a fence
 *   nofinalize C   the last rank exits with C inside PMI, the others wait in a fence
 *   after CODE     the last rank exits with CODE after finalize
 *   before CODE    the last rank exits with CODE before init, the others fence
 *
 * What is wrong is said on stdout and makes the exit status 9. */
#include <slurm/pmi2.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef HAVE_PMIX_RING
int PMIX_Ring(const char value[], int *rank, int *ranks, char left[], char right[], int max);
#endif

static int rank = -1, size = -1, appnum = -1, bad;
static char jobid[256];

static void need(int condition, const char *fmt, ...)
{
    va_list ap;

    if (condition)
        return;
    bad = 1;
    printf("rank %d: wrong: ", rank);
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    printf("\n");
}

static void put(const char *key, const char *value)
{
    int rc = PMI2_KVS_Put(key, value);

    need(rc == PMI2_SUCCESS, "put %s: %d", key, rc);
}

static void fence(void)
{
    int rc = PMI2_KVS_Fence();

    need(rc == PMI2_SUCCESS, "fence: %d", rc);
}

static void get_is(const char *key, int source, const char *wanted)
{
    char value[PMI2_MAX_VALLEN + 1] = "untouched";
    int len = -77, rc = PMI2_KVS_Get(jobid, source, key, value, sizeof value, &len);

    need(rc == PMI2_SUCCESS && len == (int)strlen(wanted) && !strcmp(value, wanted),
         "get %s: rc %d, length %d, value '%.40s'", key, rc, len, value);
}

static void init(void)
{
    int spawned = -1, rc;

    need(!PMI2_Initialized(), "initialized before init");
    rc = PMI2_Init(&spawned, &size, &rank, &appnum);
    need(rc == PMI2_SUCCESS, "init: %d", rc);
    need(PMI2_Initialized(), "not initialized after init");
    need(spawned == 0, "spawned %d", spawned);
    rc = PMI2_Job_GetId(jobid, sizeof jobid);
    need(rc == PMI2_SUCCESS && *jobid, "job id: %d", rc);
}

static void finalize(void)
{
    int rc = PMI2_Finalize();

    need(rc == PMI2_SUCCESS, "finalize: %d", rc);
}

/* --- modes ------------------------------------------------------------- */

static void job_calls(void)
{
    char text[PMI2_MAX_VALLEN + 1], *local = getenv("MPI_LOCALNRANKS");
    int flag, n, rc, array[64];

    if (getenv("PMI_FD"))                           /* it says 0 on a port, always */
        need(PMI2_Job_GetRank(&n) == PMI2_SUCCESS && n == rank, "Job_GetRank %d", n);
    need(PMI2_Info_GetSize(&n) == PMI2_SUCCESS && n == (local ? atoi(local) : -1),
         "Info_GetSize %d", n);
    need(getenv("PMI_RANK") && atoi(getenv("PMI_RANK")) == rank, "PMI_RANK");
    need(getenv("PMI_JOBID") && !strcmp(getenv("PMI_JOBID"), jobid), "PMI_JOBID");
    rc = PMI2_Info_GetJobAttr("PMI_process_mapping", text, sizeof text, &flag);
    need(rc == PMI2_SUCCESS && flag && !strncmp(text, "(vector,(0,1,", 13),
         "mapping: %d %d '%.40s'", rc, flag, text);
    rc = PMI2_Info_GetJobAttr("no-such-attribute", text, sizeof text, &flag);
    need(rc == PMI2_SUCCESS && !flag, "unknown job attribute: %d %d", rc, flag);
    rc = PMI2_Info_GetJobAttr("hasNameServ", text, sizeof text, &flag);
    need(rc == PMI2_SUCCESS && flag && !strcasecmp(text, "true"), "hasNameServ: %d %d", rc, flag);
    rc = PMI2_Info_GetJobAttrIntArray("no-such-array", array, 64, &n, &flag);
    need(rc == PMI2_SUCCESS && !flag, "unknown job array: %d %d", rc, flag);
    rc = PMI2_Info_GetNodeAttrIntArray("localRanksCount", array, 64, &n, &flag);
    need(rc == PMI2_SUCCESS && flag && n == 1 && local && array[0] == atoi(local),
         "localRanksCount: %d %d %d", rc, flag, array[0]);
    rc = PMI2_Info_GetNodeAttrIntArray("localRanks", array, 64, &n, &flag);
    need(rc == PMI2_SUCCESS && flag && n == size, "localRanks: %d %d %d", rc, flag, n);
    for (int i = 0; i < n && i < 64; i++)
        need(array[i] == i, "localRanks[%d] is %d", i, array[i]);
    need(PMI2_Job_Connect("no-such-job", NULL) != PMI2_SUCCESS, "connect to no job");
    need(PMI2_Job_Disconnect("no-such-job") != PMI2_SUCCESS, "disconnect from no job");
}

static void kvs_calls(void)
{
    char key[PMI2_MAX_KEYLEN + 8], value[PMI2_MAX_VALLEN + 8], big[PMI2_MAX_VALLEN + 1];
    int next = (rank + 1) % size, len, rc;

    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    snprintf(key, sizeof key, "plain-%d", rank);
    snprintf(value, sizeof value, "v;al=%d with ;; a blank\\ \n and ü", rank);
    put(key, value);
    snprintf(key, sizeof key, "big-%d", rank);
    put(key, big);
    snprintf(key, sizeof key, "%064d", rank);
    put(key, "longest key");
    if (rank == 0)
        put("empty", "");
    put("everyone", "same");
    fence();
    snprintf(key, sizeof key, "plain-%d", next);
    snprintf(value, sizeof value, "v;al=%d with ;; a blank\\ \n and ü", next);
    get_is(key, next, value);
    get_is(key, PMI2_ID_NULL, value);
    get_is(key, rank, value);                       /* a wrong hint is only a hint */
    snprintf(key, sizeof key, "big-%d", next);
    get_is(key, next, big);
    snprintf(key, sizeof key, "%064d", next);
    get_is(key, next, "longest key");
    get_is("empty", 0, "");
    get_is("everyone", PMI2_ID_NULL, "same");
    rc = PMI2_KVS_Get(jobid, next, "not there", value, sizeof value, &len);
    need(rc != PMI2_SUCCESS, "get of an unknown key");
    rc = PMI2_KVS_Get(NULL, next, "everyone", value, sizeof value, &len);
    need(rc == PMI2_SUCCESS && !strcmp(value, "same"), "get with no job id: %d", rc);
    rc = PMI2_KVS_Get("another-job", next, "everyone", value, sizeof value, &len);
    need(rc != PMI2_SUCCESS, "get from another job");
    rc = PMI2_KVS_Get(jobid, next, "everyone", value, 3, &len);
    need(rc == PMI2_SUCCESS && len == -4 && !strncmp(value, "sa", 2), "short buffer: %d %d", rc,
         len);
    fence();
    snprintf(key, sizeof key, "plain-%d", rank);
    put(key, "second");                             /* replaces */
    fence();
    snprintf(key, sizeof key, "plain-%d", next);
    get_is(key, next, "second");
    fence();
}

static void names(void)
{
    char port[PMI2_MAX_VALLEN + 1], service[64];
    int rc;

    if (rank == 0) {
        rc = PMI2_Nameserv_publish("common", NULL, "tag#0$a port;with=all$");
        need(rc == PMI2_SUCCESS, "publish: %d", rc);
        rc = PMI2_Nameserv_publish("common", NULL, "again");
        need(rc != PMI2_SUCCESS, "publish twice");
    }
    snprintf(service, sizeof service, "mine-%d", rank);
    rc = PMI2_Nameserv_publish(service, NULL, service);
    need(rc == PMI2_SUCCESS, "publish own: %d", rc);
    fence();
    rc = PMI2_Nameserv_lookup("common", NULL, port, sizeof port);
    need(rc == PMI2_SUCCESS && !strcmp(port, "tag#0$a port;with=all$"), "lookup: %d '%.40s'", rc,
         port);
    snprintf(service, sizeof service, "mine-%d", (rank + 1) % size);
    rc = PMI2_Nameserv_lookup(service, NULL, port, sizeof port);
    need(rc == PMI2_SUCCESS && !strcmp(port, service), "lookup of the next: %d", rc);
    rc = PMI2_Nameserv_lookup("nobody's", NULL, port, sizeof port);
    need(rc != PMI2_SUCCESS, "lookup of an unknown name");
    rc = PMI2_Nameserv_unpublish("nobody's", NULL);
    need(rc != PMI2_SUCCESS, "unpublish of an unknown name");
    fence();
    if (rank == size - 1) {
        rc = PMI2_Nameserv_unpublish("common", NULL);
        need(rc == PMI2_SUCCESS, "unpublish: %d", rc);
    }
    fence();
    rc = PMI2_Nameserv_lookup("common", NULL, port, sizeof port);
    need(rc != PMI2_SUCCESS, "lookup after unpublish");
}

static void attributes(void)
{
    char text[PMI2_MAX_ATTRVALUE + 1], key[32];
    int flag = -1, rc;

    rc = PMI2_Info_GetNodeAttr("never put", text, sizeof text, &flag, 0);
    need(rc == PMI2_SUCCESS && !flag, "unknown node attribute: %d %d", rc, flag);
    fence();
    for (int round = 0; round < 3; round++) {
        snprintf(key, sizeof key, "attr-%d", round);
        if (rank == size - 1 - round % size) {
            usleep(20000);                          /* most ranks wait by then */
            rc = PMI2_Info_PutNodeAttr(key, "a;value=x");
            need(rc == PMI2_SUCCESS, "put node attribute: %d", rc);
        }
        rc = PMI2_Info_GetNodeAttr(key, text, sizeof text, &flag, 1);
        need(rc == PMI2_SUCCESS && flag && !strcmp(text, "a;value=x"), "wait for %s: %d %d %s",
             key, rc, flag, text);
    }
    fence();
}

static void ring(void)
{
    char mine[64], left[PMI2_MAX_VALLEN + 1], right[PMI2_MAX_VALLEN + 1], want[64];

    for (int round = 0; round < 3; round++) {
        int place = -1, places = -1, rc;

        snprintf(mine, sizeof mine, "round %d of %d;", round, rank);
        rc = PMIX_Ring(mine, &place, &places, left, right, sizeof left);
        need(rc == PMI2_SUCCESS && places == size && place == rank, "ring: %d, %d of %d", rc,
             place, places);
        snprintf(want, sizeof want, "round %d of %d;", round, (rank + size - 1) % size);
        need(!strcmp(left, want), "left: '%.40s'", left);
        snprintf(want, sizeof want, "round %d of %d;", round, (rank + 1) % size);
        need(!strcmp(right, want), "right: '%.40s'", right);
    }
}

static void bulk(int n)
{
    char key[64], value[1001];

    for (int i = 0; i < n; i++) {
        snprintf(key, sizeof key, "bulk-%d-%d", rank, i);
        memset(value, 'a' + (rank + i) % 26, 1000);
        value[1000] = '\0';
        put(key, value);
    }
    fence();
    for (int i = 0; i < n; i++) {
        int next = (rank + 1) % size;

        snprintf(key, sizeof key, "bulk-%d-%d", next, i);
        memset(value, 'a' + (next + i) % 26, 1000);
        get_is(key, next, value);
    }
}

static int faults(const char *mode, int code)
{
    int last = atoi(getenv("PMI_RANK")) == atoi(getenv("PMI_SIZE")) - 1;

    if (!strcmp(mode, "before") && last)
        return code;
    init();
    if (!strcmp(mode, "after")) {
        finalize();
        return last ? code : 0;
    }
    if (last && !strcmp(mode, "abort"))
        PMI2_Abort(1, "a reason;with=all\033[31m");
    if (last)
        _exit(code);
    PMI2_KVS_Fence();
    sleep(60);
    return 77;                                      /* nobody ended us */
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "all";
    int arg = argc > 2 ? atoi(argv[2]) : 0, every = !strcmp(mode, "all");

    if (!strcmp(mode, "abort") || !strcmp(mode, "nofinalize") || !strcmp(mode, "after") ||
        !strcmp(mode, "before"))
        return faults(mode, arg);
    init();
    if (every)
        job_calls();
    if (every)
        kvs_calls();
    if (every || !strcmp(mode, "wait"))
        attributes();
    if (every || !strcmp(mode, "names"))
        names();
    if (every || !strcmp(mode, "ring"))
        ring();
    if (!strcmp(mode, "bulk"))
        bulk(arg);
    finalize();
    if (!bad)
        printf("rank %d: good, appnum %d\n", rank, appnum);
    return bad ? 9 : 0;
}

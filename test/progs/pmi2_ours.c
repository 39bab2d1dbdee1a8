/* pmi2_ours.c - what only our libpmi2 has, and a job that goes on when ranks die.
 *
 *   LAUNCHER -n N pmi2_ours           the draft's PMI2_Init, texts of errors, read-only puts,
 *                                     waiting gets between the processes of a node
 *   LAUNCHER -disable-auto-cleanup -n N pmi2_ours shrink
 *                                     the last rank ends itself alone; the others hear of it
 *                                     and go on
 *
 * Prints "rank R: ok", or what is wrong, and ends with 0 or 1. */
#include "pmi2.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size, failures;
static volatile sig_atomic_t told;

static void need(int good, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void need(int good, const char *fmt, ...)
{
    va_list ap;

    if (good)
        return;
    printf("rank %d: wrong: ", rank);
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    printf(" (%s)\n", PMI2_Error_message());
    failures++;
}

static void ok(const char *what, int rc)
{
    need(rc == PMI2_SUCCESS, "%s: %d", what, rc);
}

static void init(void)
{
    int spawned = -1, appnum = -1, version = -1, subversion = -1;

    ok("set threaded", PMI2_Set_threaded(1));
    ok("init", PMI2_Init_version(&spawned, &size, &rank, &appnum, &version, &subversion));
    need(spawned == 0 && appnum == 0, "spawned %d, appnum %d", spawned, appnum);
    need(version == 2 && subversion == 0, "version %d.%d", version, subversion);
}

static int finish(void)
{
    ok("finalize", PMI2_Finalize());
    if (!failures)
        printf("rank %d: ok\n", rank);
    return failures != 0;
}

static void errors(void)
{
    char value[8];
    int len;

    need(!*PMI2_Error_message(), "a message before the first error");
    need(strlen(PMI2_Error_text(PMI2_SUCCESS)) && strlen(PMI2_Error_text(99)), "texts");
    need(strcmp(PMI2_Error_text(PMI2_ERR_INVALID_KEY), PMI2_Error_text(PMI2_ERR_NOMEM)),
         "different texts");
    need(PMI2_KVS_Get(NULL, 0, "no-such-key", value, sizeof value, &len) == PMI2_ERR_OTHER,
         "get of nothing");
    need(strlen(PMI2_Error_message()), "a message after an error");
}

static void read_only(void)
{
    char value[16] = "";
    int len = 0;

    if (rank == 0)
        ok("put read-only", PMI2_KVS_Put_read_only("constant", "first"));
    ok("fence", PMI2_KVS_Fence());
    need(PMI2_KVS_Put("constant", "second") == PMI2_ERR_INVALID_KEY, "put again");
    need(PMI2_KVS_Put_read_only("constant", "first") == PMI2_ERR_INVALID_KEY, "again the same");
    ok("fence", PMI2_KVS_Fence());
    ok("get", PMI2_KVS_Get(NULL, 0, "constant", value, sizeof value, &len));
    need(!strcmp(value, "first"), "value '%s'", value);
}

/* The processes of a node wait for the last of them; those of others have their own. */
static void node(void)
{
    int ranks[1024], numbers[4] = { 0 }, n = 0, found = 0, job[1024], njob = 0, wanted;

    ok("localRanks", PMI2_Info_GetNodeAttrIntArray("localRanks", ranks, 1024, &n, &found));
    need(found && n >= 1 && n <= size, "%d local ranks", n);
    ok("localRanks of the job", PMI2_Info_GetJobAttrIntArray("localRanks", job, 1024, &njob,
                                                              &found));
    need(found && njob == n && !memcmp(job, ranks, (size_t)n * sizeof *job), "the same ranks");
    wanted = n ? ranks[n - 1] : 0;
    if (rank == wanted) {
        char text[40];

        usleep(20000);                   /* most others wait by then */
        snprintf(text, sizeof text, "%d,-%d", rank, rank);
        ok("put node attribute", PMI2_Info_PutNodeAttr("who", text));
    }
    ok("wait", PMI2_Info_GetNodeAttrIntArray_wait("who", numbers, 4, &n, &found, 1));
    need(found && n == 2 && numbers[0] == wanted && numbers[1] == -wanted, "%d numbers: %d %d", n,
         numbers[0], numbers[1]);
}

/* The last one publishes, for this job only; most others wait by then. */
static void names(void)
{
    const PMI2_keyval_t range[] = { { "range", "job" } };
    const PMI2_keyval_t waiting[] = { { "wait", "TRUE" }, { "timeout", "60" } };
    char port[32] = "";

    if (rank == size - 1) {
        usleep(20000);
        ok("publish", PMI2_Nameserv_publish_kv("ours", 1, range, "a port"));
    }
    ok("lookup", PMI2_Nameserv_lookup_kv("ours", 2, waiting, port, sizeof port));
    need(!strcmp(port, "a port"), "port '%s'", port);
}

static void on_usr1(int signo)
{
    told = signo;
}

static int shrink(void)
{
    char dead[64] = "", wanted[16];
    int found = 0;

    snprintf(wanted, sizeof wanted, "%d", size - 1);
    ok("first fence", PMI2_KVS_Fence());
    if (rank == size - 1)
        PMI2_Abort(0, "only me");
    need(PMI2_KVS_Fence() == PMI2_ERR_OTHER, "the fence that misses a rank");
    need(strstr(PMI2_Error_message(), wanted) != NULL, "it names rank %s", wanted);
    for (int i = 0; i < 3; i++)
        ok("a fence of the others", PMI2_KVS_Fence());
    ok("dead", PMI2_Info_GetJobAttr("PMI_dead_processes", dead, sizeof dead, &found));
    need(found && !strcmp(dead, wanted), "dead are '%s'", dead);
    need(told == SIGUSR1, "SIGUSR1");
    return finish();
}

int main(int argc, char **argv)
{
    signal(SIGUSR1, on_usr1);
    init();
    if (argc > 1 && !strcmp(argv[1], "shrink"))
        return shrink();
    errors();
    read_only();
    node();
    names();
    return finish();
}

/* pmi2_mpich_style.c - a program written to MPICH's pmi2.h, compiled with ours.
 *
 *   LAUNCHER -n N pmi2_mpich_style
 *
 * What matters here is that it compiles without a warning, in C99 as in C17, and
 * links: MPICH's info type, its name of the last field of PMI2_Connect_comm_t, its
 * spawn; and its way to make a barrier, a fence and a get of a key that is not
 * there into no buffer.  Prints "rank R: ok"; ends with 0 or 1. */
#include "pmi2.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static void want(const char *what, int rc, int wanted)
{
    if (rc != wanted) {
        printf("%s: %d, want %d: %s\n", what, rc, wanted, PMI2_Error_message());
        failures++;
    }
}

static void barrier(void)
{
    int len = 1;

    want("fence", PMI2_KVS_Fence(), PMI2_SUCCESS);
    PMI2_KVS_Get(NULL, PMI2_ID_NULL, "-NONEXIST-KEY", NULL, 0, &len);
}

static void exchange(int rank, int size)
{
    char key[32], value[PMI2_MAX_VALLEN + 1], jobid[256];
    int len;

    want("getid", PMI2_Job_GetId(jobid, sizeof jobid), PMI2_SUCCESS);
    snprintf(key, sizeof key, "card-%d", rank);
    want("put", PMI2_KVS_Put(key, key), PMI2_SUCCESS);
    barrier();
    snprintf(key, sizeof key, "card-%d", (rank + 1) % size);
    want("get", PMI2_KVS_Get(jobid, PMI2_ID_NULL, key, value, sizeof value, &len), 0);
    want("value", strcmp(key, value), 0);
}

/* MPICH passes all counts 0 or arrays of structs.  A launcher may say no. */
static void spawn(void)
{
    const char *cmd = "/bin/true";
    const PMI2_keyval_t info[] = { { "wdir", "/" }, { "soft", "1" } };
    const PMI2_keyval_t preput[] = { { "PARENT_ROOT_PORT_NAME", "tag#0" }, { "b", "c" } };
    const PMI2_keyval_t *infos[] = { info };
    int maxprocs = 1, sizes = 2, error = -1;

    if (PMI2_Job_Spawn(1, &cmd, NULL, NULL, &maxprocs, &sizes, infos, 2, preput, NULL, 0,
                       &error) == PMI2_SUCCESS)
        want("spawned process", error, 0);
}

static void name(int rank)
{
    const PMI2_keyval_t info[] = { { "scope", "local" } };

    if (rank == 0 && PMI2_Nameserv_publish("mpich-style", info, "p") == PMI2_SUCCESS)
        want("unpublish", PMI2_Nameserv_unpublish("mpich-style", info), PMI2_SUCCESS);
}

int main(void)
{
    PMI2_Connect_comm_t conn = { 0 };
    int spawned, size, rank, appnum, hydra;
    char jobid[256];

    conn.isMain = -1;
    want("init", PMI2_Init(&spawned, &size, &rank, &appnum), PMI2_SUCCESS);
    if (failures)
        return 1;
    exchange(rank, size);
    name(rank);
    want("getid", PMI2_Job_GetId(jobid, sizeof jobid), PMI2_SUCCESS);
    hydra = !strncmp(jobid, "kvs_", 4);  /* Hydra 4.0 dies of what it does not know */
    if (!hydra && PMI2_Job_Connect("no-such-job", &conn) == PMI2_SUCCESS)
        want("connect to no job", 0, PMI2_ERR_OTHER);
    if (!hydra && rank == 0)
        spawn();
    barrier();
    want("finalize", PMI2_Finalize(), PMI2_SUCCESS);
    if (!failures)
        printf("rank %d: ok\n", rank);
    return failures != 0;
}

/* pmi2_threads.c - many threads of each rank with calls in flight.
 *
 *   LAUNCHER -n N pmi2_threads [THREADS [ROUNDS]]      (default 8 and 50)
 *
 * In every rank, one thread waits for a node attribute that nobody has put yet;
 * THREADS others put, get and ask without end; the main thread fences meanwhile.
 * When all that is done, and only then, the attribute is put, and the waiter must
 * return with it: a call that waits has blocked nobody.  Prints "rank R: ok" or
 * what is wrong; ends with 0 or 1.  Needs our library: Slurm's has one call at a
 * time. */
#include "pmi2.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS_MAX = 256 };

static int rank, size, rounds = 50;
static atomic_int failures;

static void want(const char *what, int a, int b, int rc, int wanted)
{
    if (rc == wanted)
        return;
    printf("rank %d: %s %d/%d: %d, want %d (%s)\n", rank, what, a, b, rc, wanted,
           PMI2_Error_message());
    failures++;
}

/* Wait for the attribute that main puts last. */
static void *wait_for_last(void *arg)
{
    char name[32], value[32] = "";
    int found = 0, rc;

    (void)arg;
    snprintf(name, sizeof name, "last-%d", rank);
    rc = PMI2_Info_GetNodeAttr(name, value, sizeof value, &found, 1);
    want("waiting get", 0, 0, rc, 0);
    want("waiting get: found", 0, 0, found != 0, 1);
    want("waiting get: value", 0, 0, strcmp(value, "at last"), 0);
    return NULL;
}

/* Texts of different lengths, so that a reply that goes astray is seen. */
static int make_value(char *out, int thread, int round)
{
    int len = 1 + (thread * 131 + round * 17) % 900;

    memset(out, 'a' + thread % 26, (size_t)len);
    out[len] = '\0';
    return len;
}

static void one_round(int thread, int round)
{
    char key[48], value[1025], back[1025] = "";
    int len = make_value(value, thread, round), got = 0, found = 0;

    snprintf(key, sizeof key, "k-%d-%d-%d", rank, thread, round);
    want("put", thread, round, PMI2_KVS_Put(key, value), 0);
    want("get", thread, round, PMI2_KVS_Get(NULL, rank, key, back, sizeof back, &got), 0);
    want("get: length", thread, round, got, len);
    want("get: value", thread, round, strcmp(value, back), 0);
    want("get of nothing", thread, round,
         PMI2_KVS_Get(NULL, -1, "nothing", back, sizeof back, &got), PMI2_ERR_OTHER);
    want("attr", thread, round, PMI2_Info_PutNodeAttr(key, value), 0);
    want("attr back", thread, round,
         PMI2_Info_GetNodeAttr(key, back, sizeof back, &found, 1), 0);
    want("attr: value", thread, round, strcmp(value, back), 0);
    want("job attr", thread, round, PMI2_Info_GetJobAttr("no-such", back, 8, &found), 0);
    want("job attr: found", thread, round, found, 0);
}

static void *work(void *arg)
{
    int thread = *(int *)arg;

    for (int i = 0; i < rounds; i++)
        one_round(thread, i);
    return NULL;
}

/* After the fences, the next rank's keys of the fence's round are there. */
static void fences(void)
{
    char key[48], value[16], back[16] = "";
    int got;

    for (int i = 0; i < rounds; i++) {
        snprintf(key, sizeof key, "f-%d-%d", rank, i);
        snprintf(value, sizeof value, "%d", i);
        want("fence put", i, 0, PMI2_KVS_Put(key, value), 0);
        want("fence", i, 0, PMI2_KVS_Fence(), 0);
        snprintf(key, sizeof key, "f-%d-%d", (rank + 1) % size, i);
        want("fence get", i, 0, PMI2_KVS_Get(NULL, -1, key, back, sizeof back, &got), 0);
        want("fence value", i, 0, strcmp(back, value), 0);
    }
}

static void put_last(void)
{
    char name[32];

    snprintf(name, sizeof name, "last-%d", rank);
    want("last put", 0, 0, PMI2_Info_PutNodeAttr(name, "at last"), 0);
}

static int number(const char *text, int def, int max)
{
    long n = text ? strtol(text, NULL, 10) : def;

    return n < 1 || n > max ? def : (int)n;
}

int main(int argc, char **argv)
{
    pthread_t waiter, worker[THREADS_MAX];
    int id[THREADS_MAX], spawned, appnum, threads = number(argv[1], 8, THREADS_MAX);

    rounds = number(argc > 2 ? argv[2] : NULL, 50, 100000);
    want("init", 0, 0, PMI2_Init(&spawned, &size, &rank, &appnum), 0);
    if (failures)
        return 1;
    if (getenv("PMI_FD") || getenv("PMI_PORT"))
        pthread_create(&waiter, NULL, wait_for_last, NULL);
    else
        put_last();
    for (int i = 0; i < threads; i++) {
        id[i] = i;
        pthread_create(&worker[i], NULL, work, &id[i]);
    }
    fences();
    for (int i = 0; i < threads; i++)
        pthread_join(worker[i], NULL);
    if (getenv("PMI_FD") || getenv("PMI_PORT")) {
        put_last();
        pthread_join(waiter, NULL);
    }
    want("fence at the end", 0, 0, PMI2_KVS_Fence(), 0);
    want("finalize", 0, 0, PMI2_Finalize(), 0);
    if (!failures)
        printf("rank %d: ok\n", rank);
    return failures != 0;
}

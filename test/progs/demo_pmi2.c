/* demo_pmi2.c - a program written to the PMI-2 API, linked to Slurm's libpmi2:
 * every rank publishes a card and reads its neighbour's. */
#include <stdio.h>
#include <string.h>

#include <slurm/pmi2.h>

int main(void)
{
    int spawned, size, rank, appnum, len, from;
    char job[256], key[64], card[256], got[256];

    if (PMI2_Init(&spawned, &size, &rank, &appnum) || PMI2_Job_GetId(job, sizeof job))
        return 1;
    snprintf(key, sizeof key, "card-%d", rank);
    snprintf(card, sizeof card, "rank %d; in block %d", rank, appnum);
    if (PMI2_KVS_Put(key, card) || PMI2_KVS_Fence())
        return 1;
    from = (rank + 1) % size;
    snprintf(key, sizeof key, "card-%d", from);
    if (PMI2_KVS_Get(job, from, key, got, sizeof got, &len))
        return 1;
    printf("rank %d of %d reads the card of %d: \"%s\"\n", rank, size, from, got);
    fflush(stdout);
    return PMI2_Finalize();
}

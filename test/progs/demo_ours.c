/* demo_ours.c - the PMI-2 API through our own pmi2.h and libpmi2. */
#include "pmi2.h"

#include <stdio.h>

int main(void)
{
    int spawned, size, rank, appnum, found, len;
    char map[1024], value[64], key[32];

    if (PMI2_Init(&spawned, &size, &rank, &appnum) ||
        PMI2_Info_GetJobAttr("PMI_process_mapping", map, sizeof map, &found))
        return 1;
    snprintf(key, sizeof key, "k%d", rank);
    snprintf(value, sizeof value, "v%d", rank);
    if (PMI2_KVS_Put(key, value) || PMI2_KVS_Fence())
        return 1;
    snprintf(key, sizeof key, "k%d", (rank + 1) % size);
    if (PMI2_KVS_Get(NULL, PMI2_ID_NULL, key, value, sizeof value, &len))
        return 1;
    printf("rank %d of %d, block %d: %s=%s, mapping %s\n", rank, size, appnum, key, value,
           found ? map : "unknown");
    fflush(stdout);
    return PMI2_Finalize();
}

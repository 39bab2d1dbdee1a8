/* pmi2_abort.c - the last rank ends the job by PMI2_Abort, as the others wait in a fence.
 * Written to Slurm's header.  The job's status is 1. */
#include <slurm/pmi2.h>

#include <unistd.h>

int main(void)
{
    int spawned, size, rank, appnum;

    if (PMI2_Init(&spawned, &size, &rank, &appnum) != PMI2_SUCCESS)
        return 77;
    if (rank == size - 1)
        PMI2_Abort(1, "the end");
    PMI2_KVS_Fence();
    sleep(60);
    return 77;                           /* nobody ended us */
}

/* common.h - what the MPI programs here share.  Each prints "ok NAME" on one line when
 * all that it tried worked, and ends with 0. */
#ifndef TEST_MPI_COMMON_H
#define TEST_MPI_COMMON_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(x) do { if (!(x)) { \
        fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #x); \
        MPI_Abort(MPI_COMM_WORLD, 1); } } while (0)

static inline int rank_of(MPI_Comm c)
{
    int rank;

    MPI_Comm_rank(c, &rank);
    return rank;
}

static inline int size_of(MPI_Comm c)
{
    int size;

    MPI_Comm_size(c, &size);
    return size;
}

/* The sum of all ranks' numbers of both sides of an intercommunicator, merged. */
static inline void check_merged(MPI_Comm inter, int high)
{
    MPI_Comm all;
    int mine, sum, n;

    MPI_Intercomm_merge(inter, high, &all);
    n = size_of(all);
    mine = rank_of(all);
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, all);
    CHECK(sum == n * (n - 1) / 2);
    MPI_Comm_free(&all);
}

static inline void say_ok(const char *name)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_of(MPI_COMM_WORLD) == 0)
        printf("ok %s\n", name);
}

#endif

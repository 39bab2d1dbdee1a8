/* sum.c - the ranks add up their numbers; an argument makes them fail, or is shown. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    int rank, size, sum, wrong;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 1 && !strcmp(argv[1], "abort") && rank == size - 1)
        MPI_Abort(MPI_COMM_WORLD, 7);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    wrong = sum != size * (size - 1) / 2;
    if (argc > 1 && !strcmp(argv[1], "wrong"))
        wrong = 1;
    if (rank == 0)
        printf(wrong ? "Found 1 errors\n" : " No Errors\n");
    if (rank == 0 && argc > 1)
        printf("%d ranks of %s\n", size, argv[1]);
    MPI_Finalize();
    return wrong;
}

/* spawn_missing.c - MPI_Comm_spawn of a program that does not exist is an error, and the
 * parent lives on. */
#include "common.h"

int main(int argc, char **argv)
{
    MPI_Comm inter = MPI_COMM_NULL;
    int code;

    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (rank_of(MPI_COMM_WORLD) == 0)
        CHECK(MPI_Comm_spawn("/does/not/exist", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0,
                             MPI_COMM_SELF, &inter, &code) != MPI_SUCCESS);
    say_ok("spawn_missing");
    MPI_Finalize();
    return 0;
}

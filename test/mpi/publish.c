/* publish.c - MPI_Publish_name, MPI_Lookup_name, MPI_Unpublish_name. */
#include "common.h"

int main(int argc, char **argv)
{
    static const char service[] = "mpiexec_lite-test-service";
    char port[MPI_MAX_PORT_NAME] = "port#1$a-port", got[MPI_MAX_PORT_NAME] = "";
    int *universe, found;

    MPI_Init(&argc, &argv);
    /* Started without a launcher, MPICH starts one at this question, not at a publish. */
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &universe, &found);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank_of(MPI_COMM_WORLD) == 0)
        CHECK(MPI_Publish_name(service, MPI_INFO_NULL, port) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_Lookup_name(service, MPI_INFO_NULL, got) == MPI_SUCCESS);
    CHECK(!strcmp(got, port));
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_of(MPI_COMM_WORLD) == 0)
        CHECK(MPI_Unpublish_name(service, MPI_INFO_NULL, port) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_Lookup_name(service, MPI_INFO_NULL, got) != MPI_SUCCESS);
    say_ok("publish");
    MPI_Finalize();
    return 0;
}

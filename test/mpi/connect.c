/* connect.c - MPI_Open_port, MPI_Comm_accept and MPI_Comm_connect between two halves of a
 * job that know each other by a published name only; twice, with a disconnect. */
#include "common.h"

int main(int argc, char **argv)
{
    static const char service[] = "mpiexec_lite-test-port";
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm half, inter;
    int server;

    MPI_Init(&argc, &argv);
    CHECK(size_of(MPI_COMM_WORLD) >= 2);
    server = rank_of(MPI_COMM_WORLD) % 2 == 0;
    MPI_Comm_split(MPI_COMM_WORLD, server, 0, &half);
    if (rank_of(MPI_COMM_WORLD) == 0) {
        CHECK(MPI_Open_port(MPI_INFO_NULL, port) == MPI_SUCCESS);
        CHECK(MPI_Publish_name(service, MPI_INFO_NULL, port) == MPI_SUCCESS);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (!server)
        CHECK(MPI_Lookup_name(service, MPI_INFO_NULL, port) == MPI_SUCCESS);
    for (int i = 0; i < 2; i++) {
        if (server)
            CHECK(MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &inter) == MPI_SUCCESS);
        else
            CHECK(MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &inter) == MPI_SUCCESS);
        CHECK(size_of(inter) == size_of(half));
        check_merged(inter, !server);
        MPI_Comm_disconnect(&inter);
    }
    if (rank_of(MPI_COMM_WORLD) == 0) {
        MPI_Unpublish_name(service, MPI_INFO_NULL, port);
        MPI_Close_port(port);
    }
    MPI_Comm_free(&half);
    say_ok("connect");
    MPI_Finalize();
    return 0;
}

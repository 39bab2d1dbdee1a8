/* disconnect.c - a child disconnects and ends, long before its parent. */
#include "common.h"

#include <unistd.h>

int main(int argc, char **argv)
{
    MPI_Comm other;

    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&other);
    if (other != MPI_COMM_NULL) {
        MPI_Comm_disconnect(&other);
        MPI_Finalize();
        return 0;
    }
    CHECK(MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other,
                         MPI_ERRCODES_IGNORE) == MPI_SUCCESS);
    MPI_Comm_disconnect(&other);
    sleep(1);                            /* it has ended by now */
    say_ok("disconnect");
    MPI_Finalize();
    return 0;
}

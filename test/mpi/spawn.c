/* spawn.c - MPI_Comm_spawn: children that find their parent, several times in a row. */
#include "common.h"

enum { CHILDREN = 2, TIMES = 3 };

static void parent(const char *self)
{
    for (int i = 0; i < TIMES; i++) {
        int codes[CHILDREN];
        MPI_Comm inter;

        CHECK(MPI_Comm_spawn(self, MPI_ARGV_NULL, CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_WORLD,
                             &inter, codes) == MPI_SUCCESS);
        for (int k = 0; rank_of(MPI_COMM_WORLD) == 0 && k < CHILDREN; k++)
            CHECK(codes[k] == MPI_SUCCESS);
        check_merged(inter, 0);
        MPI_Comm_disconnect(&inter);
    }
    say_ok("spawn");
}

int main(int argc, char **argv)
{
    MPI_Comm up;

    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&up);
    if (up == MPI_COMM_NULL) {
        parent(argv[0]);
    } else {
        CHECK(size_of(MPI_COMM_WORLD) == CHILDREN);
        check_merged(up, 1);
        MPI_Comm_disconnect(&up);
    }
    MPI_Finalize();
    return 0;
}

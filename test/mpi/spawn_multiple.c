/* spawn_multiple.c - MPI_Comm_spawn_multiple: arguments, appnum, info. */
#include "common.h"

static void parent(char *self)
{
    char *commands[2] = { self, self };
    char *first[] = { (char *)"one", (char *)"with blank", NULL };
    char *second[] = { (char *)"two", NULL };
    char **args[2] = { first, second };
    int procs[2] = { 2, 1 }, codes[3];
    MPI_Info infos[2];
    MPI_Comm inter;

    for (int i = 0; i < 2; i++) {
        MPI_Info_create(&infos[i]);
        MPI_Info_set(infos[i], "wdir", "/");
    }
    CHECK(MPI_Comm_spawn_multiple(2, commands, args, procs, infos, 0, MPI_COMM_WORLD, &inter,
                                  codes) == MPI_SUCCESS);
    check_merged(inter, 0);
    MPI_Comm_disconnect(&inter);
    for (int i = 0; i < 2; i++)
        MPI_Info_free(&infos[i]);
    say_ok("spawn_multiple");
}

static void child(int argc, char **argv, MPI_Comm up)
{
    int *appnum, found, rank = rank_of(MPI_COMM_WORLD);

    CHECK(size_of(MPI_COMM_WORLD) == 3);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &appnum, &found);
    CHECK(found && *appnum == (rank == 2));
    CHECK(argc == (rank == 2 ? 2 : 3) && !strcmp(argv[1], rank == 2 ? "two" : "one"));
    CHECK(rank == 2 || !strcmp(argv[2], "with blank"));
    check_merged(up, 1);
    MPI_Comm_disconnect(&up);
}

int main(int argc, char **argv)
{
    MPI_Comm up;

    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&up);
    if (up == MPI_COMM_NULL)
        parent(argv[0]);
    else
        child(argc, argv, up);
    MPI_Finalize();
    return 0;
}

/* mpi_names.c - two MPI programs that find each other by a published name:
 *
 *     mpi_names serve NAME     publish, accept one, exchange a number, take it back
 *     mpi_names call NAME      look the name up (again for 20 s), connect, exchange
 *     mpi_names look NAME      look it up once and print the port, or "not found"
 *     mpi_names hold NAME PORT publish that port, print "published" or "refused", and wait
 *                              for the end of stdin
 *     mpi_names take NAME      take it back: "taken" or "refused"
 *
 * serve and call need an MPI that can connect: MPICH over UCX, as Debian 12 has it, cannot
 * (they end with 77 and say so). */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int rank;
static char port[MPI_MAX_PORT_NAME];

static void say(const char *text)
{
    if (rank == 0) {
        puts(text);
        fflush(stdout);
    }
}

static void exchange(MPI_Comm other, int mine)
{
    int theirs = -1, n;
    char text[80];

    MPI_Comm_remote_size(other, &n);
    if (rank == 0)
        MPI_Sendrecv(&mine, 1, MPI_INT, 0, 1, &theirs, 1, MPI_INT, 0, 1, other,
                     MPI_STATUS_IGNORE);
    snprintf(text, sizeof text, "got %d from %d", theirs, n);
    say(text);
    MPI_Comm_disconnect(&other);
}

static void serve(const char *name)
{
    MPI_Comm other;

    if (rank == 0) {
        if (MPI_Open_port(MPI_INFO_NULL, port) != MPI_SUCCESS) {
            puts("this MPI cannot connect");
            fflush(stdout);
            MPI_Abort(MPI_COMM_WORLD, 77);
        }
        MPI_Publish_name(name, MPI_INFO_NULL, port);
    }
    say("published");
    MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other);
    exchange(other, 41);
    if (rank == 0) {
        MPI_Unpublish_name(name, MPI_INFO_NULL, port);
        MPI_Close_port(port);
    }
    say("done");
}

static int look(const char *name)
{
    return MPI_Lookup_name(name, MPI_INFO_NULL, port) == MPI_SUCCESS;
}

static void call(const char *name)
{
    MPI_Comm other;

    for (int i = 0; rank == 0 && i < 200 && !look(name); i++)
        usleep(100000);
    MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other);
    exchange(other, 42);
    say("done");
}

static void hold(const char *name, const char *text)
{
    char line[80];

    if (rank)
        return;
    say(MPI_Publish_name(name, MPI_INFO_NULL, text) == MPI_SUCCESS ? "published" : "refused");
    while (fgets(line, sizeof line, stdin))
        ;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (argc == 3 && !strcmp(argv[1], "serve"))
        serve(argv[2]);
    else if (argc == 3 && !strcmp(argv[1], "call"))
        call(argv[2]);
    else if (argc == 3 && !strcmp(argv[1], "look"))
        say(look(argv[2]) ? port : "not found");
    else if (argc == 4 && !strcmp(argv[1], "hold"))
        hold(argv[2], argv[3]);
    else if (argc == 3 && !strcmp(argv[1], "take"))
        say(MPI_Unpublish_name(argv[2], MPI_INFO_NULL, port) == MPI_SUCCESS ? "taken" : "refused");
    MPI_Finalize();
    return 0;
}

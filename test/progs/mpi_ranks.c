/* mpi_ranks.c - small MPI programs in one: mpi_ranks MODE [ARG]
 *
 *   hello           one line a rank, in any order
 *   ring            a token goes round, each rank adds its number
 *   coll            bcast and allreduce of several sizes, every value checked
 *   all [N]         the three above; N: the largest number of integers
 *   mpmd            appnum and size
 *   abort CODE      the last rank calls MPI_Abort
 *   names           rank 0 publishes a name, the last looks it up
 *   noname          look up a name that nobody has published
 *   nofinalize      the last rank exits with 0 inside MPI, others wait
 *   after CODE      the last rank exits with CODE after MPI_Finalize
 *   wait FILE       each says "RANK waits" and waits until there is that file
 *
 * A wrong value is said on stdout and ends the job with 3. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size;

static void need(int good, const char *what)
{
    if (good)
        return;
    printf("rank %d: wrong: %s\n", rank, what);
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

static void ring(void)
{
    int token = 0, next = (rank + 1) % size, last = (rank + size - 1) % size;

    if (rank == 0)
        MPI_Send(&token, 1, MPI_INT, next, 7, MPI_COMM_WORLD);
    MPI_Recv(&token, 1, MPI_INT, last, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 0) {
        printf("ring %d\n", token);
    } else {
        token += rank;
        MPI_Send(&token, 1, MPI_INT, next, 7, MPI_COMM_WORLD);
    }
}

static void coll(int largest)
{
    int *a = malloc((size_t)largest * sizeof *a), *b = malloc((size_t)largest * sizeof *b);

    for (int n = 1; n <= largest; n *= 16) {
        for (int i = 0; i < n; i++)
            a[i] = rank == 0 ? i * 3 + n : -1;
        MPI_Bcast(a, n, MPI_INT, 0, MPI_COMM_WORLD);
        for (int i = 0; i < n; i++)
            need(a[i] == i * 3 + n, "bcast");
        for (int i = 0; i < n; i++)
            a[i] = rank + i % 1000;
        MPI_Allreduce(a, b, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        for (int i = 0; i < n; i++)
            need(b[i] == size * (size - 1) / 2 + i % 1000 * size, "allreduce");
    }
    if (rank == 0)
        printf("coll good\n");
    free(a);
    free(b);
}

static void names(void)
{
    char port[MPI_MAX_PORT_NAME] = "a made-up port";
    char found[MPI_MAX_PORT_NAME] = "";

    strcpy(port, "tag#0$description#made-up$port#1$");
    if (rank == 0)
        need(MPI_Publish_name("sys-name", MPI_INFO_NULL, port) == MPI_SUCCESS, "publish");
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == size - 1) {
        need(MPI_Lookup_name("sys-name", MPI_INFO_NULL, found) == MPI_SUCCESS, "lookup");
        need(!strcmp(found, port), "looked-up port");
        printf("found %s\n", found);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        need(MPI_Unpublish_name("sys-name", MPI_INFO_NULL, port) == MPI_SUCCESS, "unpublish");
}

static void noname(void)
{
    char found[MPI_MAX_PORT_NAME] = "";
    int rc, class;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    rc = MPI_Lookup_name("sys-nobody", MPI_INFO_NULL, found);
    MPI_Error_class(rc, &class);
    need(class == MPI_ERR_NAME, "error class of an unknown name");
    if (rank == 0)
        printf("unknown name refused\n");
}

static void mpmd(void)
{
    int *app, flag, sum;

    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &app, &flag);
    need(flag, "appnum is set");
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    need(sum == size * (size - 1) / 2, "allreduce across programs");
    printf("rank %d of %d appnum %d\n", rank, size, *app);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "hello";
    int arg = argc > 2 ? atoi(argv[2]) : 0, status = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (!strcmp(mode, "hello") || !strcmp(mode, "all"))
        printf("hello from %d of %d\n", rank, size);
    if (!strcmp(mode, "ring") || !strcmp(mode, "all"))
        ring();
    if (!strcmp(mode, "coll") || !strcmp(mode, "all"))
        coll(arg ? arg : 65536);
    if (!strcmp(mode, "mpmd"))
        mpmd();
    else if (!strcmp(mode, "names"))
        names();
    else if (!strcmp(mode, "noname"))
        noname();
    else if (!strcmp(mode, "abort") && rank == size - 1)
        MPI_Abort(MPI_COMM_WORLD, arg);
    else if (!strcmp(mode, "nofinalize") && rank == size - 1)
        _exit(0);
    else if (!strcmp(mode, "wait")) {
        MPI_Barrier(MPI_COMM_WORLD);
        printf("rank %d waits\n", rank);
        fflush(stdout);
        while (access(argv[2], F_OK) < 0)
            usleep(20000);
    }
    if (!strcmp(mode, "abort") || !strcmp(mode, "nofinalize"))
        MPI_Barrier(MPI_COMM_WORLD);
    if (!strcmp(mode, "after") && rank == size - 1)
        status = arg;
    MPI_Finalize();
    return status;
}

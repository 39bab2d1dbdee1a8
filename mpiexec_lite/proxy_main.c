/* proxy_main.c - the program pmi2_proxy. */
#include "mpiexec_lite/bridge.h"
#include "mpiexec_lite/dial.h"
#include "mpiexec_lite/guard.h"
#include "mpiexec_lite/hosts.h"
#include "mpiexec_lite/launch.h"
#include "mpiexec_lite/provider_host.h"
#include "mpiexec_lite/spread.h"
#include "mpiexec_lite/stage.h"
#include "mpiexec_lite/tool_dial.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "pmi2_proxy is started by mpiexec_lite on the hosts of a job, never by hand.\n"
    "It speaks to the launcher over its stdin and stdout.  See pmi2_proxy(1).\n"
    "\n"
    "  --tool PID  be the stream of a tool of another host to the server with this pid;\n"
    "              0: to the one that runs here\n"
    "  --dial HOST:PORT\n"
    "              be the stream of a tool here to the pmi2_server there\n"
    "  --version   print the version\n"
    "  --help      print this text\n";

/* Sent ahead of the stream, and not needed as a file any more. */
static void remove_staged(void)
{
    char path[PATH_MAX], *slash;

    if (stage_beside(path, sizeof path) < 0)
        return;
    unlink(path);
    slash = strrchr(path, '/');
    *slash = '\0';
    rmdir(path);
}

/* One srun has started us on all these nodes: where in the list is ours?  -1: nowhere. */
static int place_in(const char *nodes)
{
    const char *name = getenv("SLURMD_NODENAME");
    struct err e = { 0 };
    struct hosts h;
    struct plan p;
    int place = -1;

    plan_init(&p);
    hosts_init(&h, &p);
    if (name && hosts_add_list(&h, nodes, &e) == 0)
        place = hosts_find(&h, name);
    hosts_clear(&h);
    plan_clear(&p);
    if (place < 0)
        fprintf(stderr, "pmi2_proxy: this node, %.80s, is not one of %.200s\n",
                name ? name : "without SLURMD_NODENAME", nodes);
    return place;
}

/* "--connect ADDRESSES --job ID --position N [--nodes LIST] [--munge-socket PATH]" */
static int read_call(char **argv, struct dial_args *call)
{
    const char *nodes = NULL;
    int place = 0;

    for (; argv[0] && argv[1]; argv += 2) {
        if (!strcmp(argv[0], "--connect"))
            call->addresses = argv[1];
        else if (!strcmp(argv[0], "--job"))
            call->job = argv[1];
        else if (!strcmp(argv[0], "--position"))
            call->position = (int)strtol(argv[1], NULL, 10);
        else if (!strcmp(argv[0], "--nodes"))
            nodes = argv[1];
        else if (!strcmp(argv[0], "--munge-socket"))
            call->munge_socket = argv[1];
        else
            return -1;
    }
    if (argv[0] || !call->addresses || !call->job || call->position < 1)
        return -1;
    if (nodes && (place = place_in(nodes)) < 0)
        exit(EXIT_LAUNCHER);
    call->position += place;
    return 0;
}

static int wrong_use(const char *what)
{
    if (what)
        fprintf(stderr, "pmi2_proxy: unknown argument %.80s\n", what);
    fputs(usage, stderr);
    return 2;
}

int main(int argc, char **argv)
{
    struct dial_args call = { 0 };
    struct inherited user;

    if (argc == 2 && !strcmp(argv[1], "--version")) {
        printf("pmi2_proxy %s, protocol %d\n", VERSION, PROXY_PROTOCOL);
        return 0;
    }
    if (argc == 2 && !strcmp(argv[1], "--help")) {
        fputs(usage, stdout);
        return 0;
    }
    if (argc == 3 && !strcmp(argv[1], "--tool"))
        return bridge_run((pid_t)strtol(argv[2], NULL, 10));
    if (argc == 3 && !strcmp(argv[1], "--dial"))
        return tool_dial_run(argv[2], getenv("PMI2_MUNGE_SOCKET"));
    if (argc == 3 && !strcmp(argv[1], "--run-provider"))
        return provider_host_run(argv[2]);
    inherited_save(&user);
    if (argc == 2 && !strcmp(argv[1], "--staged"))
        remove_staged();
    else if (argc > 1 && read_call(argv + 1, &call) < 0)
        return wrong_use(argv[1]);
    else if (argc == 1 && isatty(STDIN_FILENO))
        return wrong_use(NULL);
    return guard_run(&user, call.addresses ? &call : NULL);
}

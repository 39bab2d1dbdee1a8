/* proxy_main.c - the program pmi2_proxy. */
#include "mpiexec_lite/guard.h"
#include "mpiexec_lite/spread.h"
#include "mpiexec_lite/stage.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "pmi2_proxy is started by mpiexec_lite on the hosts of a job, never by hand.\n"
    "It speaks to the launcher over its stdin and stdout.  See pmi2_proxy(1).\n"
    "\n"
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

int main(int argc, char **argv)
{
    struct inherited user;

    if (argc == 2 && !strcmp(argv[1], "--version")) {
        printf("pmi2_proxy %s, protocol %d\n", VERSION, PROXY_PROTOCOL);
        return 0;
    }
    if (argc == 2 && !strcmp(argv[1], "--help")) {
        fputs(usage, stdout);
        return 0;
    }
    if (argc == 2 && !strcmp(argv[1], "--staged")) {
        remove_staged();
    } else if (argc != 1) {
        fprintf(stderr, "pmi2_proxy: unknown argument %.80s\n%s", argv[1], usage);
        return 2;
    }
    if (argc == 1 && isatty(STDIN_FILENO)) {
        fputs(usage, stderr);
        return 2;
    }
    inherited_save(&user);
    return guard_run(&user);
}

/* naming_start.c - see naming_start.h */
#include "mpiexec_lite/naming_start.h"

#include "pmix_ext/rundir.h"
#include "mpiexec_lite/stage.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Does somebody serve the socket that would be used? */
static bool runs(void)
{
    char path[RUNDIR_PATH];
    struct err e;
    int fd = rundir_find(path, sizeof path) ? rundir_connect(path, &e) : -1;

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* pmi2_server beside this program, or the one in PATH. */
static void find_program(char *path, size_t size)
{
    char *slash;

    if (stage_beside(path, size) == 0 && (slash = strrchr(path, '/')) &&
        (size_t)(slash - path) + sizeof "/pmi2_server" <= size) {
        memcpy(slash, "/pmi2_server", sizeof "/pmi2_server");
        if (access(path, X_OK) == 0)
            return;
    }
    snprintf(path, size, "pmi2_server");
}

/* It outlives the job, and has nothing of its environment but where its files go. */
static _Noreturn void become_server(char *path)
{
    static const char *const kept[] = { "XDG_RUNTIME_DIR", "STATE_DIRECTORY" };
    char background[] = "--background", *argv[] = { path, background, NULL };
    char text[2][PATH_MAX + 20], *envp[3] = { NULL };
    int n = 0;

    for (int i = 0; i < 2; i++) {
        const char *value = getenv(kept[i]);

        if (value && snprintf(text[i], sizeof text[i], "%s=%s", kept[i], value) <
                         (int)sizeof text[i])
            envp[n++] = text[i];
    }
    execvpe(path, argv, envp);
    _exit(errno == ENOENT ? 127 : 126);
}

int naming_start(struct err *e)
{
    char path[PATH_MAX];
    int status;
    pid_t pid;

    if (runs())
        return 0;
    find_program(path, sizeof path);
    pid = fork();
    if (pid == 0)
        become_server(path);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (pid < 0)
        return err_set(e, ERR_OTHER, "-nameserver start: %s", strerror(errno));
    if (WIFEXITED(status) && WEXITSTATUS(status) >= 126)
        return err_set(e, ERR_OTHER, "-nameserver start: pmi2_server cannot be run");
    if ((!WIFEXITED(status) || WEXITSTATUS(status)) && !runs())
        return err_set(e, ERR_OTHER, "-nameserver start: pmi2_server has not started");
    return 0;
}

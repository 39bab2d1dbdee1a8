/* preload_fork.c - LD_PRELOAD: the launcher's own fork (ranks come by vfork) takes
 * its time in the process that FORK_SLOW names, parent or child, as on a busy host. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

pid_t fork(void)
{
    pid_t (*real)(void) = (pid_t (*)(void))dlsym(RTLD_NEXT, "fork");
    const char *slow = getenv("FORK_SLOW");
    pid_t pid = real();

    if (slow && !strcmp(slow, pid > 0 ? "parent" : "child"))
        usleep(400000);
    return pid;
}

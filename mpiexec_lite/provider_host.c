/* provider_host.c - see provider_host.h */
#include "mpiexec_lite/provider_host.h"

#include "mpiexec_lite/mpiexec_lite_provider.h"
#include "mpiexec_lite/providers.h"

#include <dlfcn.h>
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef char *provider_fn(const char *request);

/* As the answer to the line that is on its way. */
static int say(const char *why)
{
    json_t *answer = json_pack("{s:s}", "error", why);
    char *text = answer ? json_dumps(answer, JSON_COMPACT) : NULL;

    if (text)
        printf("%s\n", text);
    fflush(stdout);
    free(text);
    json_decref(answer);
    return EXIT_FAILURE;
}

static void reset_signals(void)
{
    sigset_t none;

    for (int i = 1; i < NSIG; i++)
        signal(i, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* What the launcher was given by its user is not the provider's. */
static int make_clean(void)
{
    if (syscall(SYS_close_range, 3u, ~0u, 0u) < 0 && errno != ENOSYS)
        return -1;
    reset_signals();
    setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
    clearenv();
    if (setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", 1) < 0 || setenv("LC_ALL", "C", 1) < 0)
        return -1;
    return chdir("/");
}

static int serve(provider_fn *call)
{
    char *line = NULL;
    size_t cap = 0;

    while (getline(&line, &cap, stdin) > 0) {
        char *answer = call(line);

        printf("%s\n", answer ? answer : "{}");
        free(answer);
        if (fflush(stdout) == EOF)
            break;
    }
    free(line);
    return EXIT_SUCCESS;
}

static int run_object(const char *path)
{
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    provider_fn *call = NULL;

    if (!object)
        return say(dlerror());
    *(void **)&call = dlsym(object, "mpiexec_lite_provider");
    return call ? serve(call) : say("it has no function mpiexec_lite_provider");
}

int provider_host_run(const char *path)
{
    char *argv[] = { (char *)(uintptr_t)path, NULL }, real[PATH_MAX];
    struct err e = { 0 };

    if (make_clean() < 0)
        return say(strerror(errno));
    if (provider_check(path, real, &e) < 0)
        return say(e.text);
    if (provider_is_object(path))
        return run_object(real);
    execv(real, argv);
    return say(strerror(errno));
}

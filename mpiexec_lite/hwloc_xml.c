/* hwloc_xml.c - see hwloc_xml.h; the only file that knows hwloc. */
#include "mpiexec_lite/hwloc_xml.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <hwloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PATIENCE = 10 };                  /* seconds; a plugin may ask somebody who sleeps */

struct lib {
    __typeof__(hwloc_topology_init) *init;
    __typeof__(hwloc_topology_set_io_types_filter) *io;
    __typeof__(hwloc_topology_load) *load;
    __typeof__(hwloc_topology_export_xmlbuffer) *export;
};

/* NULL, or why not. */
static const char *load(struct lib *lib, const char *library)
{
    const struct { const char *name; void *to; } symbols[] = {
        { "hwloc_topology_init", &lib->init },
        { "hwloc_topology_set_io_types_filter", &lib->io },
        { "hwloc_topology_load", &lib->load },
        { "hwloc_topology_export_xmlbuffer", &lib->export },
    };
    void *so = dlopen(library ? library : "libhwloc.so.15", RTLD_NOW | RTLD_LOCAL);

    for (size_t i = 0; so && i < sizeof symbols / sizeof *symbols; i++) {
        void *at = dlsym(so, symbols[i].name);

        if (!at)
            return dlerror();
        memcpy(symbols[i].to, &at, sizeof at);   /* an object pointer for a function's */
    }
    return so ? NULL : dlerror();
}

static int write_all(int fd, const char *data, size_t len)
{
    while (len) {
        ssize_t n = write(fd, data, len);

        if (n < 0 && errno != EINTR)
            return -1;
        data += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    return 0;
}

/* NULL, or why not.  What is allocated goes with the process. */
static const char *export(int xml, const char *library)
{
    hwloc_topology_t topology;
    struct lib lib;
    const char *why = load(&lib, library);
    char *text;
    int len;

    if (why)
        return why;
    if (lib.init(&topology) < 0 || lib.io(topology, HWLOC_TYPE_FILTER_KEEP_ALL) < 0 ||
        lib.load(topology) < 0 || lib.export(topology, &text, &len, 0) < 0)
        return "hwloc does not understand this machine";
    if (len && !text[len - 1])           /* len counts the NUL */
        len--;
    return write_all(xml, text, (size_t)len) < 0 ? strerror(errno) : NULL;
}

/* Nothing of the server's stays open: 3 is xml, 4 is say. */
static void close_others(int xml, int say)
{
    int null = open("/dev/null", O_RDWR), a = fcntl(xml, F_DUPFD, 5), b = fcntl(say, F_DUPFD, 5);

    for (int i = 0; i < 3 && null >= 0; i++)
        dup2(null, i);
    dup2(a, 3);
    dup2(b, 4);
    if (syscall(SYS_close_range, 5u, ~0u, 0u) < 0)       /* before Linux 5.9 */
        for (int i = 5; i < 65536; i++)
            close(i);
}

_Noreturn void hwloc_xml_run(int xml, int say, const char *library, pid_t parent)
{
    char text[HWLOC_XML_WHY];
    const char *why;
    sigset_t none;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    close_others(xml, say);
    signal(SIGALRM, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    alarm(PATIENCE);
    setenv("HWLOC_HIDE_ERRORS", "2", 1);
    why = export(3, library);
    snprintf(text, sizeof text, "%s", why ? why : "+");
    write_all(4, text, strlen(text));
    _exit(why != NULL);
}

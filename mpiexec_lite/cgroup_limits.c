/* cgroup_limits.c - see cgroup_limits.h */
#include "mpiexec_lite/cgroup_limits.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* The first line of folder/name, as a string; false: it cannot be read. */
static int read_line(const char *folder, const char *name, char *text, int size)
{
    char path[PATH_MAX];
    FILE *f;
    int good;

    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return 0;
    f = fopen(path, "re");
    good = f && fgets(text, size, f);
    if (f)
        fclose(f);
    return good;
}

/* A number there; -1: "max", or there is none. */
static long long number(const char *folder, const char *name)
{
    char text[80];
    long long n;

    return read_line(folder, name, text, sizeof text) && sscanf(text, "%lld", &n) == 1 ? n : -1;
}

static void narrow(long long *to, long long n)
{
    if (n >= 0 && (*to < 0 || n < *to))
        *to = n;
}

static void take_folder(struct cgroup_limits *to, const char *folder)
{
    long long pids = number(folder, "pids.max"), now = number(folder, "pids.current");
    double quota, period;
    char text[80];

    narrow(&to->memory, number(folder, "memory.max"));
    if (pids >= 0)
        narrow(&to->pids, now < 0 ? pids : pids > now ? pids - now : 0);
    if (read_line(folder, "cpu.max", text, sizeof text) &&
        sscanf(text, "%lf %lf", &quota, &period) == 2 && period > 0 &&
        (to->cpus < 0 || quota / period < to->cpus))
        to->cpus = quota / period;
}

void cgroup_limits_read(struct cgroup_limits *to, const char *own, const char *mount)
{
    char line[PATH_MAX], folder[PATH_MAX];
    FILE *f = fopen(own, "re");
    char *slash;

    *to = (struct cgroup_limits){ -1, -1, -1 };
    folder[0] = '\0';
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, "0::/", 4))
            snprintf(folder, sizeof folder, "%.200s%.*s", mount, (int)strcspn(line + 3, "\n"),
                     line + 3);
    if (f)
        fclose(f);
    /* Up to the mount itself: in a container that is the outermost one to be seen. */
    while (*folder && (slash = strrchr(folder, '/')) &&
           (size_t)(slash - folder) >= strlen(mount)) {
        take_folder(to, folder);
        *slash = '\0';
    }
    take_folder(to, mount);
}

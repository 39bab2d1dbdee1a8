/* cgroup_limits.c - see cgroup_limits.h */
#include "mpiexec_lite/cgroup_limits.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static const long long NO_LIMIT = 1LL << 60;

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

/* Of version 1 "no limit" is a very large number. */
static long long old_number(const char *folder, const char *name)
{
    long long n = number(folder, name);

    return n < NO_LIMIT ? n : -1;
}

static void take_time(struct cgroup_limits *to, double quota, double period)
{
    if (quota > 0 && period > 0 && (to->cpus < 0 || quota / period < to->cpus))
        to->cpus = quota / period;
}

/* Files of either version: a folder has those of one. */
static void take_folder(struct cgroup_limits *to, const char *folder)
{
    long long pids = number(folder, "pids.max"), now = number(folder, "pids.current");
    double quota, period;
    char text[80];

    narrow(&to->memory, number(folder, "memory.max"));
    narrow(&to->memory, old_number(folder, "memory.limit_in_bytes"));
    if (pids >= 0)
        narrow(&to->pids, now < 0 ? pids : pids > now ? pids - now : 0);
    if (read_line(folder, "cpu.max", text, sizeof text) &&
        sscanf(text, "%lf %lf", &quota, &period) == 2)
        take_time(to, quota, period);
    take_time(to, (double)number(folder, "cpu.cfs_quota_us"),
              (double)number(folder, "cpu.cfs_period_us"));
}

/* A group and those above it, up to where they are mounted: in a container that is the
 * outermost one to be seen. */
static void take_groups(struct cgroup_limits *to, const char *mount, const char *group)
{
    char folder[PATH_MAX];
    char *slash;

    if (snprintf(folder, sizeof folder, "%s%s", mount, group) >= (int)sizeof folder)
        return;
    while ((slash = strrchr(folder, '/')) && (size_t)(slash - folder) >= strlen(mount)) {
        take_folder(to, folder);
        *slash = '\0';
    }
    take_folder(to, mount);
}

/* "0::/PATH" of version 2, "8:pids:/PATH" and "4:cpu,cpuacct:/PATH" of version 1, whose
 * controllers are mounted by their names. */
static void take_line(struct cgroup_limits *to, char *line, const char *mount)
{
    char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
    char place[PATH_MAX];

    if (!group || group[1] != '/')
        return;
    *group++ = '\0';
    group[strcspn(group, "\n")] = '\0';
    if (!controllers[1])
        take_groups(to, mount, group);
    else if (snprintf(place, sizeof place, "%s/%s", mount, controllers + 1) < (int)sizeof place)
        take_groups(to, place, group);
}

void cgroup_limits_read(struct cgroup_limits *to, const char *own, const char *mount)
{
    char line[PATH_MAX];
    FILE *f = fopen(own, "re");

    *to = (struct cgroup_limits){ -1, -1, -1 };
    while (f && fgets(line, sizeof line, f))
        take_line(to, line, mount);
    if (f)
        fclose(f);
}

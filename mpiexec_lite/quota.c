/* quota.c - see quota.h */
#include "mpiexec_lite/quota.h"

#include "mpiexec_lite/cpus.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* The first two words of a file as numbers; how many there are. */
static int read_numbers(const char *path, double v[2])
{
    FILE *f = fopen(path, "re");
    int n = f ? fscanf(f, "%lf %lf", &v[0], &v[1]) : 0;

    if (f)
        fclose(f);
    return n > 0 ? n : 0;
}

/* Of one group; 0: none.  "max" is no number. */
static double quota_of(const char *folder)
{
    char path[PATH_MAX];
    double v[2], period[2];

    if (snprintf(path, sizeof path, "%s/cpu.max", folder) < (int)sizeof path &&
        read_numbers(path, v) == 2 && v[0] > 0 && v[1] > 0)
        return v[0] / v[1];
    if (snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder) >= (int)sizeof path ||
        !read_numbers(path, v) || v[0] <= 0)
        return 0;
    if (snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder) >= (int)sizeof path ||
        !read_numbers(path, period) || period[0] <= 0)
        return 0;
    return v[0] / period[0];
}

/* The smallest of a group and those above it, up to the mount: its path is cut. */
static double least_quota(const char *mount, char *group)
{
    char folder[PATH_MAX];
    double least = 0, q;

    for (;;) {
        if (snprintf(folder, sizeof folder, "%s%s", mount, group) < (int)sizeof folder &&
            (q = quota_of(folder)) > 0 && (least <= 0 || q < least))
            least = q;
        if (!*group)
            return least;
        *strrchr(group, '/') = '\0';
    }
}

/* Whether "cpu,cpuacct" has cpu. */
static bool has_cpu(const char *controllers)
{
    for (const char *c = controllers; *c; c += strcspn(c, ",") + (c[strcspn(c, ",")] != '\0'))
        if (strcspn(c, ",") == 3 && !strncmp(c, "cpu", 3))
            return true;
    return false;
}

/* A line of /proc/self/cgroup: number, controllers, group.  In cgroups 2 there are no
 * controllers; in cgroups 1 each has a folder of its own. */
static double quota_of_line(char *line, const char *mount)
{
    char folder[PATH_MAX], *controllers, *group = NULL;

    line[strcspn(line, "\n")] = '\0';
    strsep(&line, ":");
    controllers = line ? strsep(&line, ":") : NULL;
    group = line;
    if (!group || *group != '/' || (*controllers && !has_cpu(controllers)))
        return 0;
    if (!group[1])
        *group = '\0';
    snprintf(folder, sizeof folder, *controllers ? "%s/cpu" : "%s", mount);
    return least_quota(folder, group);
}

int quota_processors(const char *own, const char *mount)
{
    char line[PATH_MAX];
    double least = 0, q;
    FILE *f = fopen(own, "re");

    while (f && fgets(line, sizeof line, f))
        if ((q = quota_of_line(line, mount)) > 0 && (least <= 0 || q < least))
            least = q;
    if (f)
        fclose(f);
    return least > 0 && least < CPUS_MAX ? (int)least + (least > (int)least) : 0;
}

int usable_processors(void)
{
    int quota = quota_processors("/proc/self/cgroup", "/sys/fs/cgroup"), n = 1;
    struct cpus ours;

    if (cpus_allowed(&ours, NULL) == 0)
        n = cpus_count(&ours);
    return quota && quota < n ? quota : n;
}

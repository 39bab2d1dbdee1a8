/* taken.c - see taken.h */
#include "mpiexec_lite/taken.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#define LOCK "lock"
enum { LINE = 4 * CPUS_MAX + 128, TRIES = 50 };          /* every second number, at worst */

/* False: there is none that is ours alone. */
static bool folder(char *path, size_t size)
{
    char base[RUNDIR_PATH];

    return rundir_make(false, base, sizeof base, NULL) == 0 &&
           snprintf(path, size, "%s/bound", base) < (int)size &&
           rundir_check(path, 0700, NULL) == 0;
}

/* Whoever has the lock decides in milliseconds; one that is stopped is not waited for. */
int taken_begin(void)
{
    const struct timespec pause = { .tv_nsec = 10000000 };
    char path[RUNDIR_PATH + 8], lock[RUNDIR_PATH + 16];
    int fd;

    if (!folder(path, sizeof path))
        return -1;
    snprintf(lock, sizeof lock, "%s/" LOCK, path);
    fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    for (int i = 0; fd >= 0 && i < TRIES && flock(fd, LOCK_EX | LOCK_NB) < 0; i++)
        nanosleep(&pause, NULL);
    return fd;
}

void taken_end(int lock)
{
    if (lock >= 0)
        close(lock);
}

/* "JOBID LIST": the line of a file whose maker lives. */
static bool read_line(int fd, char job[80], struct cpus *cpus)
{
    char line[LINE], *list;
    ssize_t n = read(fd, line, sizeof line - 1);

    line[n > 0 ? n : 0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    list = strchr(line, ' ');
    return list && sscanf(line, "%79s", job) == 1 && cpus_read(list + 1, cpus);
}

/* The jobs of a launcher have its name, and behind a dot their number. */
static bool is_family(const char *a, const char *b)
{
    size_t n = strcspn(a, "."), m = strcspn(b, ".");

    return n == m && !strncmp(a, b, n);
}

static void look_at(const char *path, const char *jobid, struct taken_by *out)
{
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    struct cpus cpus;
    char job[80];

    if (fd < 0)
        return;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
        unlink(path);
    } else if (read_line(fd, job, &cpus) && strcmp(job, jobid)) {
        cpus_join(&out->all, &cpus);
        if (!is_family(job, jobid)) {
            cpus_join(&out->foreign, &cpus);
            memcpy(out->job, job, sizeof job);
        }
    }
    close(fd);
}

void taken_look(const char *jobid, struct taken_by *out)
{
    char path[RUNDIR_PATH + 8], file[RUNDIR_PATH + 300];
    DIR *dir = folder(path, sizeof path) ? opendir(path) : NULL;
    struct dirent *d;

    *out = (struct taken_by){ .job = "" };
    while (dir && (d = readdir(dir))) {
        if (*d->d_name == '.' || !strcmp(d->d_name, LOCK))
            continue;
        snprintf(file, sizeof file, "%s/%s", path, d->d_name);
        look_at(file, jobid, out);
    }
    if (dir)
        closedir(dir);
}

static int make_file(struct taken *t)
{
    char path[RUNDIR_PATH + 8];

    if (!folder(path, sizeof path))
        return -1;
    snprintf(t->path, sizeof t->path, "%s/XXXXXX", path);
    t->fd = mkostemp(t->path, O_CLOEXEC);
    return t->fd < 0 ? -1 : flock(t->fd, LOCK_EX | LOCK_NB);
}

void taken_add(struct taken *t, const char *jobid, const struct cpus *cpus)
{
    struct buf line = BUF_INIT;

    if (t->fd < 0 && make_file(t) < 0)
        return;
    cpus_join(&t->cpus, cpus);
    buf_printf(&line, "%s ", jobid);
    cpus_print(&t->cpus, &line);
    buf_char(&line, '\n');
    if (line.failed || pwrite(t->fd, buf_bytes(&line), line.len, 0) != (ssize_t)line.len)
        taken_release(t);
    buf_clear(&line);
}

void taken_release(struct taken *t)
{
    if (t->fd < 0)
        return;
    unlink(t->path);
    close(t->fd);
    *t = (struct taken)TAKEN_INIT;
}

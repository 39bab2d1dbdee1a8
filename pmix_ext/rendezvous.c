/* rendezvous.c - see rendezvous.h */
#include "pmix_ext/rendezvous.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { ENTRY = 1024 };                   /* bytes of an entry */

static const char *given_folder(bool system)
{
    const char *given = getenv(system ? "PMIX_SYSTEM_TMPDIR" : "PMIX_SERVER_TMPDIR");

    return given && *given ? given : NULL;
}

int rendezvous_folder(bool system, char *path, size_t size, struct err *e)
{
    const char *given = given_folder(system);

    if (!given)
        return rundir_make(system, path, size, e);
    if (snprintf(path, size, "%s", given) >= (int)size)
        return err_set(e, ERR_LENGTH, "%.80s...: the path is too long", given);
    return rundir_check(path, system ? 0755 : 0700, e);
}

int rendezvous_paths(const char *folder, const char *host, pid_t pid, bool system,
                     char entry[RUNDIR_PATH], char socket[RUNDIR_PATH], struct err *e)
{
    int n = system ? snprintf(entry, RUNDIR_PATH, "%s/%s.sys", folder, host)
                   : snprintf(entry, RUNDIR_PATH, "%s/%s.%d", folder, host, (int)pid);

    if (n >= RUNDIR_PATH || snprintf(socket, RUNDIR_PATH, "%s.s", entry) >= RUNDIR_PATH)
        return err_set(e, ERR_LENGTH, "%s: too long for the path of a socket", folder);
    return 0;
}

int rendezvous_calls(const char *folder, pid_t pid, char path[RUNDIR_PATH], struct err *e)
{
    char host[RENDEZVOUS_HOST] = "";

    gethostname(host, sizeof host - 1);
    if (snprintf(path, RUNDIR_PATH, "%s/%s.%d.t", folder, host, (int)pid) >= RUNDIR_PATH)
        return err_set(e, ERR_LENGTH, "%s: too long for the path of a socket", folder);
    return 0;
}

/* A field of its stat behind the name, by its number there; 0: there is no such process. */
static unsigned long long stat_of(pid_t pid, int number)
{
    char path[40], text[1024], *at;
    ssize_t n;
    int fd;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n > 0 ? n : 0] = 0;
    at = strrchr(text, ')');
    for (int field = 2; at && field < number; field++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at + 1, NULL, 10) : 0;
}

unsigned long long rendezvous_start_of(pid_t pid)
{
    return stat_of(pid, 22);
}

pid_t rendezvous_parent_of(pid_t pid)
{
    return (pid_t)stat_of(pid, 4);
}

bool rendezvous_lives(const struct rendezvous *r)
{
    return r->start && rendezvous_start_of(r->pid) == r->start;
}

/* --- writing ----------------------------------------------------------- */

static int write_file(const char *path, const char *text, int len, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600), bad;

    if (fd < 0)
        return -1;
    bad = fchmod(fd, mode) < 0 || write(fd, text, (size_t)len) != len;
    if (close(fd) < 0 || bad) {
        unlink(path);
        return -1;
    }
    return 0;
}

/* Where a file is written before it gets its name. */
static int fresh_name(const char *file, char fresh[PATH_MAX], struct err *e)
{
    return snprintf(fresh, PATH_MAX, "%s.new", file) < PATH_MAX
           ? 0 : err_set(e, ERR_LENGTH, "%.80s...: the path is too long", file);
}

/* The entry's text under this name. */
static int put(const struct rendezvous *r, const char *file, struct err *e)
{
    char text[ENTRY], fresh[PATH_MAX];
    int len = snprintf(text, sizeof text,
                       "proto=1\nuri=unix:%s\nhost=%s\nnspace=%s\npid=%d\nstart=%llu\nuid=%u\n"
                       "gid=%u\ncreated=%lld\nsystem=%d\nresident=%d\nversion=" VERSION "\n",
                       r->socket, r->host, r->nspace, (int)r->pid, r->start, (unsigned)r->uid,
                       (unsigned)r->gid, r->created, r->system, r->resident);

    if (fresh_name(file, fresh, e) < 0)
        return -1;
    unlink(fresh);                       /* of one that was killed while it wrote */
    if (len >= ENTRY || write_file(fresh, text, len, r->system ? 0644 : 0600) < 0)
        return err_set(e, ERR_OTHER, "cannot write %.300s: %s", file, strerror(errno));
    if (rename(fresh, file) == 0)
        return 0;
    err_set(e, ERR_OTHER, "cannot write %.300s: %s", file, strerror(errno));
    unlink(fresh);
    return -1;
}

int rendezvous_write(struct rendezvous *r, const char *entry, struct err *e)
{
    struct rendezvous old;

    if (rendezvous_read(entry, &old, NULL) > 0 && rendezvous_lives(&old) && old.pid != r->pid)
        return err_set(e, ERR_OTHER, "%s: the server with pid %d runs already", entry,
                       (int)old.pid);
    r->start = rendezvous_start_of(r->pid);
    r->uid = geteuid();
    r->gid = getegid();
    r->created = time(NULL);
    return put(r, entry, e);
}

/* Whether the user can do without what stands there. */
static int check_free(const char *file, struct err *e)
{
    struct rendezvous old;
    struct stat st;

    if (lstat(file, &st) < 0)
        return errno == ENOENT ? 0 : err_set(e, ERR_OTHER, "%.300s: %s", file, strerror(errno));
    if (!S_ISREG(st.st_mode) || st.st_uid != geteuid())
        return err_set(e, ERR_OTHER, "%.300s is no file of ours, and is not replaced", file);
    if (st.st_size == 0)
        return 0;
    if (rendezvous_read(file, &old, NULL) <= 0)
        return err_set(e, ERR_OTHER, "%.300s has something else in it, and is not replaced", file);
    return !rendezvous_lives(&old) ? 0
           : err_set(e, ERR_OTHER, "%.300s is the entry of process %d, which runs", file,
                     (int)old.pid);
}

int rendezvous_give(const struct rendezvous *r, const char *file, struct err *e)
{
    char fresh[PATH_MAX];

    return fresh_name(file, fresh, e) < 0 || check_free(file, e) < 0 || check_free(fresh, e) < 0
           ? -1 : put(r, file, e);
}

void rendezvous_take_back(const char *file, pid_t pid)
{
    struct rendezvous r;

    if (rendezvous_read(file, &r, NULL) > 0 && r.pid == pid)
        unlink(file);
}

void rendezvous_sweep(pid_t pid)
{
    char folder[RUNDIR_PATH], entry[RUNDIR_PATH], socket[RUNDIR_PATH], host[RENDEZVOUS_HOST] = "";
    const char *given = given_folder(false);

    gethostname(host, sizeof host - 1);
    if (given)
        snprintf(folder, sizeof folder, "%.*s", RUNDIR_PATH - 1, given);
    else
        rundir_folder(false, folder, sizeof folder);
    if (*folder && rendezvous_paths(folder, host, pid, false, entry, socket, NULL) == 0) {
        unlink(entry);
        unlink(socket);
    }
}

/* --- reading ----------------------------------------------------------- */

/* The text of a file that nobody but its owner, us or root, can have written. */
static int read_file(const char *path, char *text, struct stat *st)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    ssize_t n = -1;

    if (fd < 0)
        return -1;
    if (fstat(fd, st) < 0 || !S_ISREG(st->st_mode) || (st->st_mode & 022) ||
        (st->st_uid != geteuid() && st->st_uid != 0))
        errno = EPERM;
    else
        n = read(fd, text, ENTRY - 1);
    close(fd);
    if (n < 0)
        return -1;
    text[n] = 0;
    return 0;
}

static void take_line(struct rendezvous *r, const char *key, const char *value)
{
    if (!strcmp(key, "uri") && !strncmp(value, "unix:", 5))
        snprintf(r->socket, sizeof r->socket, "%.*s", RUNDIR_PATH - 1, value + 5);
    else if (!strcmp(key, "host"))
        snprintf(r->host, sizeof r->host, "%.*s", RENDEZVOUS_HOST - 1, value);
    else if (!strcmp(key, "nspace"))
        snprintf(r->nspace, sizeof r->nspace, "%.*s", RENDEZVOUS_NAME - 1, value);
    else if (!strcmp(key, "pid"))
        r->pid = (pid_t)strtol(value, NULL, 10);
    else if (!strcmp(key, "start"))
        r->start = strtoull(value, NULL, 10);
    else if (!strcmp(key, "created"))
        r->created = strtoll(value, NULL, 10);
    else if (!strcmp(key, "system"))
        r->system = *value == '1';
    else if (!strcmp(key, "resident"))
        r->resident = *value == '1';
}

int rendezvous_read(const char *entry, struct rendezvous *r, struct err *e)
{
    char text[ENTRY], *line, *rest = text;
    struct stat st;

    *r = (struct rendezvous){ 0 };
    if (read_file(entry, text, &st) < 0) {
        if (errno == ENOENT)
            return 0;
        return err_set(e, ERR_OTHER, "%.108s: %s", entry,
                       errno == EPERM ? "not a file of ours or of root alone" : strerror(errno));
    }
    while ((line = strsep(&rest, "\n"))) {
        char *value = strchr(line, '=');

        if (value) {
            *value = 0;
            take_line(r, line, value + 1);
        }
    }
    if (!*r->socket || r->pid <= 0)
        return err_set(e, ERR_OTHER, "%.108s: no entry of a server", entry);
    r->uid = st.st_uid;                  /* not what it says */
    r->gid = st.st_gid;
    return 1;
}

/* --- all of them ------------------------------------------------------- */

static bool is_entry(const char *name, const char *host, bool system)
{
    size_t n = strlen(host);

    if (strncmp(name, host, n) || name[n] != '.')
        return false;
    name += n + 1;
    return system ? !strcmp(name, "sys") : *name && !name[strspn(name, "0123456789")];
}

static int by_age(const void *a, const void *b)
{
    const struct rendezvous *x = a, *y = b;

    if (x->created != y->created)
        return x->created < y->created ? -1 : 1;
    return (x->pid > y->pid) - (x->pid < y->pid);
}

/* The socket of a tool that was killed while it listened for launchers. */
static void tidy_calls(const char *folder, const char *name, const char *host)
{
    size_t n = strlen(host);
    char path[PATH_MAX], *end;
    long pid;

    if (strncmp(name, host, n) || name[n] != '.' || name[n + 1] < '0' || name[n + 1] > '9')
        return;
    pid = strtol(name + n + 1, &end, 10);
    if (strcmp(end, ".t") || pid <= 0 || pid > INT_MAX || rendezvous_start_of((pid_t)pid))
        return;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    unlink(path);
}

/* One entry of the folder; false: it is no server that lives. */
static bool take_entry(const char *folder, const char *name, struct rendezvous *r)
{
    char path[PATH_MAX], socket[PATH_MAX + 2];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (rendezvous_read(path, r, NULL) <= 0)
        return false;
    if (rendezvous_lives(r))
        return true;
    if (r->uid == geteuid()) {           /* it was killed */
        snprintf(socket, sizeof socket, "%s.s", path);
        unlink(path);
        unlink(socket);
    }
    return false;
}

static int unsafe(const char *folder, struct err *e)
{
    struct stat st;
    bool others = lstat(folder, &st) == 0 && st.st_uid != geteuid();

    return err_set(e, ERR_OTHER, "%s: %s", folder, others ? "it belongs to another user"
                                                          : "others can write there");
}

int rendezvous_list(bool system, const char *wanted, struct rendezvous **list, struct err *e)
{
    char folder[RUNDIR_PATH], host[RENDEZVOUS_HOST] = "";
    const char *given = wanted ? wanted : given_folder(system);
    struct dirent *d;
    int n = 0;
    DIR *dir;

    *list = NULL;
    gethostname(host, sizeof host - 1);
    if (given)
        snprintf(folder, sizeof folder, "%.*s", RUNDIR_PATH - 1, given);
    else
        rundir_folder(system, folder, sizeof folder);
    if (access(folder, F_OK) < 0 && errno == ENOENT)
        return 0;
    if (!rundir_is_safe(folder, system))
        return unsafe(folder, e);
    dir = opendir(folder);
    if (!dir)
        return err_set(e, ERR_OTHER, "%s: %s", folder, strerror(errno));
    *list = malloc(RENDEZVOUS_MOST * sizeof **list);
    while (*list && n < RENDEZVOUS_MOST && (d = readdir(dir)))
        if (!is_entry(d->d_name, host, system))
            tidy_calls(folder, d->d_name, host);
        else if (take_entry(folder, d->d_name, &(*list)[n]))
            n++;
    closedir(dir);
    if (!*list)
        return err_set(e, ERR_NOMEM, "no memory for a list of servers");
    qsort(*list, (size_t)n, sizeof **list, by_age);
    return n;
}

void rendezvous_tidy(void)
{
    struct rendezvous *list;

    rendezvous_list(false, NULL, &list, NULL);
    free(list);
    rundir_tidy();
}

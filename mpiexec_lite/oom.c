/* oom.c - see oom.h.  Read with open and read alone: the first look is part of every start. */
#include "mpiexec_lite/oom.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Records of the kernel's log that are looked through. */
enum { LOG_RECORDS = 20000 };

/* The beginning of a file, as a string.  False: it cannot be read. */
static bool read_text(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* The number behind a word that begins a line; -1: there is none. */
static long number_of(const char *text, const char *word)
{
    size_t len = strlen(word);

    for (const char *at = text; at && *at; at = strchr(at, '\n'), at += at != NULL)
        if (!strncmp(at, word, len) && at[len] == ' ')
            return strtol(at + len, NULL, 10);
    return -1;
}

static long count(const char *path)
{
    char text[1024];

    return read_text(path, text, sizeof text) ? number_of(text, "oom_kill") : -1;
}

/* Whether a comma list of controllers has memory. */
static bool has_memory(const char *at, const char *end)
{
    const char *m = memmem(at, (size_t)(end - at), "memory", 6);

    return m && (m == at || m[-1] == ',') && (m + 6 == end || m[6] == ',');
}

/* One line N:CONTROLLERS:PATH.  In a container the path may be one of outside: then what is
 * mounted is its own. */
static bool take_line(struct oom *o, const char *line, const char *end, const char *mount)
{
    const char *who = memchr(line, ':', (size_t)(end - line)), *path, *folder, *file;

    who = who ? who + 1 : end;
    path = memchr(who, ':', (size_t)(end - who));
    if (!path || (path > who && !has_memory(who, path)))
        return false;
    folder = path > who ? "/memory" : "";
    file = path > who ? "memory.oom_control" : "memory.events";
    path++;
    snprintf(o->path, sizeof o->path, "%s%s%.*s/%s", mount, folder, (int)(end - path), path, file);
    o->kills = count(o->path);
    if (o->kills < 0) {
        snprintf(o->path, sizeof o->path, "%s%s/%s", mount, folder, file);
        o->kills = count(o->path);
    }
    return o->kills >= 0;
}

void oom_begin(struct oom *o, const char *list, const char *mount)
{
    char text[4096], *end;

    if (read_text(list, text, sizeof text))
        for (char *line = text; (end = strchr(line, '\n')); line = end + 1)
            if (take_line(o, line, end, mount))
                return;
    *o = (struct oom){ .path = "" };
}

/* Does the kernel's log tell of it?  A reader may have to be root. */
static bool is_logged(pid_t pid)
{
    int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    char record[8192], words[40];
    bool found = false;
    ssize_t n = 0;

    snprintf(words, sizeof words, "Killed process %d ", (int)pid);
    for (int i = 0; fd >= 0 && !found && i < LOG_RECORDS; i++) {
        n = read(fd, record, sizeof record - 1);
        if (n < 0 && errno != EPIPE)     /* EPIPE: some were overwritten */
            break;
        record[n > 0 ? n : 0] = '\0';
        found = strstr(record, words) != NULL;
    }
    if (fd >= 0)
        close(fd);
    return found;
}

void oom_evidence(const struct oom *o, pid_t pid, char *text, size_t size)
{
    long now = *o->path ? count(o->path) : -1;
    const char *folder = strrchr(o->path, '/');

    text[0] = '\0';
    if (is_logged(pid))
        snprintf(text, size, "the kernel killed it: out of memory");
    else if (now > o->kills)
        snprintf(text, size, "likely out: oom_kill of %.*s went from %ld to %ld",
                 folder ? (int)(folder - o->path) : 0, o->path, o->kills, now);
}

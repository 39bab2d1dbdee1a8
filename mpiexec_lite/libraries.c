/* libraries.c - see libraries.h; reading ELF is libelf's work. */
#include "mpiexec_lite/libraries.h"

#include "wire/buf.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS_MAX = 1 << 20 };

/* The name in the segment PT_INTERP; empty: there is none. */
static void read_interpreter(Elf *elf, int fd, char *loader, size_t size)
{
    size_t n = 0;
    GElf_Phdr head;
    ssize_t got;

    if (elf_kind(elf) != ELF_K_ELF || elf_getphdrnum(elf, &n) < 0)
        return;
    for (size_t i = 0; i < n; i++) {
        if (!gelf_getphdr(elf, (int)i, &head) || head.p_type != PT_INTERP ||
            head.p_filesz >= size)
            continue;
        got = pread(fd, loader, head.p_filesz, (off_t)head.p_offset);
        loader[got > 0 ? got : 0] = '\0';
        return;
    }
}

int libraries_loader(const char *program, char *loader, size_t size, struct err *e)
{
    int fd = open(program, O_RDONLY | O_CLOEXEC);
    Elf *elf;

    loader[0] = '\0';
    if (fd < 0)
        return 0;
    elf_version(EV_CURRENT);
    elf = elf_begin(fd, ELF_C_READ, NULL);
    if (elf)
        read_interpreter(elf, fd, loader, size);
    elf_end(elf);
    close(fd);
    if (!*loader)
        return 0;
    if (access(loader, X_OK) < 0)
        return err_set(e, ERR_OTHER, "its loader %.200s: %s", loader, strerror(errno));
    return 1;
}

/* Everything that it prints, on either descriptor. */
static int run_loader(const char *loader, const char *program, char *const *envp,
                      struct buf *words, int *status, struct err *e)
{
    char *const argv[] = { (char *)loader, (char *)"--list", (char *)program, NULL };
    posix_spawn_file_actions_t files;
    int fd[2], rc;
    ssize_t n = 1;
    pid_t pid;

    if (pipe2(fd, O_CLOEXEC) < 0)
        return err_set(e, ERR_OTHER, "pipe: %s", strerror(errno));
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, fd[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, fd[1], STDERR_FILENO);
    rc = posix_spawn(&pid, loader, &files, NULL, argv, envp);
    posix_spawn_file_actions_destroy(&files);
    close(fd[1]);
    while (rc == 0 && n > 0 && words->len < WORDS_MAX) {
        char *room = buf_room(words, 4096);

        n = room ? read(fd[0], room, 4096) : 0;
        if (n > 0)
            buf_commit(words, (size_t)n);
    }
    close(fd[0]);
    if (rc == 0)
        waitpid(pid, status, 0);
    return rc ? err_set(e, ERR_OTHER, "%.200s: %s", loader, strerror(rc)) : 0;
}

/* "PROGRAM: error while loading shared libraries: libx.so.1: ...", "PROGRAM: libx.so: version
 * `V' not found (required by ...)", and musl's "Error loading shared library". */
static bool is_complaint(const char *line)
{
    return strstr(line, "not found") || strstr(line, "Error loading") ||
           strstr(line, "error while loading");
}

static int keep_complaints(struct buf *words, const char *program, struct strlist *missing)
{
    size_t name = strlen(program);
    char *rest, *line;

    buf_char(words, '\0');
    if (words->failed)
        return -1;
    rest = buf_bytes(words);
    while ((line = strsep(&rest, "\n"))) {
        line += strspn(line, " \t");
        if (!strncmp(line, program, name) && !strncmp(line + name, ": ", 2))
            line += name + 2;            /* the reader knows */
        if (is_complaint(line) && strlist_add(missing, line) < 0)
            return -1;
    }
    return 0;
}

int libraries_missing(const char *program, char *const *envp, struct strlist *missing,
                      struct err *e)
{
    struct buf words = BUF_INIT;
    char loader[PATH_MAX];
    int rc = libraries_loader(program, loader, sizeof loader, e), status = 0;

    if (rc > 0 && (rc = run_loader(loader, program, envp, &words, &status, e)) == 0) {
        size_t before = missing->n;

        rc = keep_complaints(&words, program, missing);
        if (rc < 0)
            err_set(e, ERR_NOMEM, "no memory");
        else if (status && missing->n == before)
            rc = err_set(e, ERR_OTHER, "its loader %.100s fails: %.200s", loader,
                         buf_bytes(&words));
    }
    buf_clear(&words);
    return rc < 0 ? -1 : 0;
}

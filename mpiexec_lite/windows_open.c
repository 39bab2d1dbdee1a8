/* windows_open.c - a window: a pane of tmux, the user's or our own, or an xterm. */
#include "mpiexec_lite/windows_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

int windows_add_words(struct strlist *to, const char *const *words)
{
    int rc = 0;

    for (; *words; words++)
        rc |= strlist_add(to, *words);
    return rc;
}

/* Run a program, and take the first line that it prints, if out is there.  0, or -1. */
static int run(const struct keeper *k, const struct strlist *argv, char *out, size_t size)
{
    struct child_spec spec = { .path = NULL, .argv = argv->v, .envp = environ, .in = STDIN_FILENO,
                               .err = STDOUT_FILENO, .keep = -1, .user = k->all->user };
    const char *step, *where = getenv("PATH");
    char path[4096];
    struct err e = { 0 };
    int fd[2], status = -1;
    ssize_t n;
    pid_t pid;

    if (program_find(argv->v[0], NULL, NULL, where ? where : "/usr/bin:/bin", path, sizeof path,
                     &status, &e) < 0 || pipe2(fd, O_CLOEXEC) < 0)
        return -1;
    spec.path = path;
    spec.out = out ? fd[1] : STDOUT_FILENO;
    pid = child_start(&spec, &step);
    close(fd[1]);
    n = pid > 0 && out ? read(fd[0], out, size - 1) : 0;
    if (out) {
        out[n > 0 ? n : 0] = '\0';
        out[strcspn(out, "\n")] = '\0';
    }
    close(fd[0]);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

/* tmux, of the user or our own, and the words of a command of it. */
static int add_tmux(const struct keeper *k, struct strlist *argv, const char *const *words)
{
    int rc = strlist_add(argv, "tmux");

    if (k->kind == OWN_TMUX)
        rc |= strlist_add(argv, "-L") | strlist_add(argv, k->socket);
    return rc | windows_add_words(argv, words);
}

static int tmux(const struct keeper *k, const char *const *words)
{
    struct strlist argv = { 0 };
    int rc = add_tmux(k, &argv, words) ? -1 : run(k, &argv, NULL, 0);

    strlist_clear(&argv);
    return rc;
}

/* A server that has ended leaves its socket behind. */
void windows_note_path(struct keeper *k)
{
    struct strlist argv = { 0 };

    if (add_tmux(k, &argv, (const char *const[]){ "display-message", "-p", "#{socket_path}", NULL }) ||
        run(k, &argv, k->path, sizeof k->path) < 0)
        *k->path = '\0';
    strlist_clear(&argv);
}

static int open_pane(const struct keeper *k, const char *const *words, const struct strlist *inside,
                     char *id, size_t size)
{
    struct strlist argv = { 0 };
    int rc = add_tmux(k, &argv, words);

    rc |= windows_add_words(&argv, (const char *const[]){ "-P", "-F", "#{pane_id}", NULL });
    rc |= strlist_copy(&argv, inside);
    if (rc == 0)
        rc = run(k, &argv, id, size);
    strlist_clear(&argv);
    return rc < 0 ? -1 : 0;
}

/* Beside the others while there is room, else in a window, or a session, of its own. */
static int open_tmux(struct keeper *k, const char *title, const struct strlist *inside,
                     char *id, size_t size)
{
    const char *const beside[] = { "split-window", "-d", "-t", k->first, NULL },
                *const window[] = { "new-window", "-d", "-n", "gdb", NULL },
                *const session[] = { "new-session", "-d", "-n", "gdb", "-x", "200", "-y", "50", NULL };

    if (!*k->first || open_pane(k, beside, inside, id, size) < 0) {
        if ((k->kind != USERS_TMUX && !*k->first) || open_pane(k, window, inside, id, size) < 0)
            if (k->kind == USERS_TMUX || open_pane(k, session, inside, id, size) < 0)
                return -1;
        memcpy(k->first, id, size);
    }
    tmux(k, (const char *const[]){ "select-layout", "-t", k->first, "tiled", NULL });
    tmux(k, (const char *const[]){ "select-pane", "-t", id, "-T", title, NULL });
    return 0;
}

static int open_xterm(const struct keeper *k, const char *title, const struct strlist *inside)
{
    struct child_spec spec = { .path = "/bin/sh", .envp = environ, .in = STDIN_FILENO,
                               .out = STDOUT_FILENO, .err = STDERR_FILENO, .keep = -1,
                               .user = k->all->user };
    struct strlist argv = { 0 };
    const char *step;
    int rc = windows_add_words(&argv, (const char *const[]){ "sh", "-c", "exec xterm \"$@\"", "sh", "-T", title,
                                                   "-e", NULL });

    rc |= strlist_copy(&argv, inside);
    spec.argv = argv.v;
    if (rc == 0 && child_start(&spec, &step) < 0)
        rc = -1;
    strlist_clear(&argv);
    return rc < 0 ? -1 : 0;
}

int windows_open_one(struct keeper *k, const char *title, const struct strlist *inside,
                     struct pane *pane)
{
    return k->kind == XTERM ? open_xterm(k, title, inside)
                            : open_tmux(k, title, inside, pane->id, sizeof pane->id);
}

void windows_close_tmux(struct keeper *k)
{
    for (int i = 0; i < k->all->n; i++)
        if (*k->panes[i].id && k->panes[i].fd >= 0 && k->kind == USERS_TMUX)
            tmux(k, (const char *const[]){ "kill-pane", "-t", k->panes[i].id, NULL });
    if (k->kind == OWN_TMUX)
        tmux(k, (const char *const[]){ "kill-server", NULL });
}

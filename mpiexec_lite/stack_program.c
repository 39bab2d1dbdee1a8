/* stack_program.c - stacks by eu-stack or gdb, and what these print. */
#include "mpiexec_lite/stack_helper.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FRAMES = 128, OUTPUT = 1 << 20 };

/* --- what they print --------------------------------------------------- */

/* "#1  0x00007f12 in main () at a.c:5" or "#1  0x00007f12 main": the name, and of gdb the
 * line.  False: it is no frame. */
static bool add_frame(const char *line, size_t len, struct buf *out)
{
    const char *end = line + len, *at = line, *name, *source;

    if (!len || *at++ != '#' || at == end || !isdigit((unsigned char)*at))
        return false;
    while (at < end && isdigit((unsigned char)*at))
        at++;
    at += at < end ? strspn(at, " ") : 0;
    if (end - at > 2 && !strncmp(at, "0x", 2))
        while (at < end && *at != ' ')
            at++;
    at += at < end ? strspn(at, " ") : 0;
    if (end - at > 3 && !strncmp(at, "in ", 3))
        at += 3;
    name = at;
    while (at < end && *at != ' ')
        at++;
    if (at <= name)
        buf_char(out, '?');
    else
        buf_add(out, name, (size_t)(at - name));
    source = memmem(at, (size_t)(end - at), ") at ", 5);
    if (source) {
        const char *slash = memrchr(source, '/', (size_t)(end - source));
        const char *file = slash ? slash + 1 : source + 5;

        buf_str(out, " at ");
        buf_add(out, file, (size_t)(end - file));
    }
    buf_char(out, '\n');
    return true;
}

struct line { const char *text; size_t len; };

/* Frames of a thread, the innermost first, as they are wanted. */
static void flush(const struct line *lines, int n, struct buf *out)
{
    if (n && out->len)
        buf_char(out, '\n');
    while (n--)
        add_frame(lines[n].text, lines[n].len, out);
}

void stack_program_read(const char *text, size_t len, struct buf *out)
{
    struct line lines[FRAMES];
    int n = 0;

    for (const char *end = text + len, *next; text < end; text = next + 1) {
        next = memchr(text, '\n', (size_t)(end - text));
        next = next ? next : end;
        if (!strncmp(text, "#0", 2)) {   /* a thread's first */
            flush(lines, n, out);
            n = 0;
        }
        if (*text == '#' && n < FRAMES)
            lines[n++] = (struct line){ text, (size_t)(next - text) };
    }
    flush(lines, n, out);
}

/* --- running them ------------------------------------------------------ */

static _Noreturn void execute(const char *const *argv, int fd)
{
    int null = open("/dev/null", O_RDWR);
    sigset_t none;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    dup2(null, 0);
    dup2(fd, 1);
    dup2(null, 2);
    execvp(argv[0], (char *const *)(uintptr_t)argv);
    _exit(127);
}

/* What it prints.  0, or -1: it is not there, or has failed. */
static int run(const char *const *argv, struct buf *out)
{
    int p[2], status = -1;
    ssize_t n = 1;
    pid_t pid;

    if (pipe2(p, O_CLOEXEC) < 0)
        return -1;
    pid = fork();
    if (pid == 0)
        execute(argv, p[1]);
    close(p[1]);
    while (pid > 0 && n > 0 && out->len < OUTPUT) {
        char *to = buf_room(out, 4096);

        n = to ? read(p[0], to, 4096) : -1;
        if (n > 0)
            buf_commit(out, (size_t)n);
    }
    close(p[0]);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) != 127 ? 0 : -1;
}

int stack_program_walk(pid_t pid, bool threads, struct buf *out, struct stack_why *why)
{
    char number[16];
    const char *const eu_stack[] = { "eu-stack", "-p", number, threads ? NULL : "-1", NULL };
    const char *const gdb[] = { "gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off",
                                "-p", number, "-ex", threads ? "thread apply all bt" : "bt",
                                NULL };
    const char *const *const programs[] = { eu_stack, gdb };
    size_t before = out->len;

    snprintf(number, sizeof number, "%d", (int)pid);
    for (size_t i = 0; i < 2 && out->len == before; i++) {
        struct buf text = BUF_INIT, stacks = BUF_INIT;

        if (run(programs[i], &text) == 0 && text.len)
            stack_program_read(buf_bytes(&text), text.len, &stacks);
        if (stacks.len)
            buf_add(out, buf_bytes(&stacks), stacks.len);
        buf_clear(&text);
        buf_clear(&stacks);
    }
    if (out->len > before)
        return 0;
    snprintf(why->text, sizeof why->text,
             "libdw.so.1 (package libdw1) cannot be used, and neither eu-stack nor gdb has answered");
    return -1;
}

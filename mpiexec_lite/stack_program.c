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

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && *at == ' ')
        at++;
    return at;
}

static const char *skip_word(const char *at, const char *end)
{
    while (at < end && *at != ' ')
        at++;
    return at;
}

static bool begins(const char *at, const char *end, const char *text)
{
    size_t n = strlen(text);

    return (size_t)(end - at) >= n && !memcmp(at, text, n);
}

/* Behind "#1  0x00007f12 in ". */
static const char *find_name(const char *line, const char *end)
{
    const char *at = skip_blanks(skip_word(line, end), end);

    if (begins(at, end, "0x"))
        at = skip_blanks(skip_word(at, end), end);
    return begins(at, end, "in ") ? at + 3 : at;
}

/* "#1  0x00007f12 in main () at a.c:5" or "#1  0x00007f12 main": the name, and of gdb the
 * line. */
static void add_frame(const char *line, size_t len, struct buf *out)
{
    const char *end = line + len, *name = find_name(line, end), *at = skip_word(name, end);
    const char *source = memmem(at, (size_t)(end - at), ") at ", 5);

    if (at == name)
        buf_char(out, '?');
    else
        buf_add(out, name, (size_t)(at - name));
    if (source) {
        const char *slash = memrchr(source, '/', (size_t)(end - source));
        const char *file = slash ? slash + 1 : source + 5;

        buf_str(out, " at ");
        buf_add(out, file, (size_t)(end - file));
    }
    buf_char(out, '\n');
}

static bool is_frame(const char *line, size_t len)
{
    return len > 1 && *line == '#' && isdigit((unsigned char)line[1]);
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
        if (!is_frame(text, (size_t)(next - text)))
            continue;
        if (begins(text, next, "#0")) {  /* a thread's first */
            flush(lines, n, out);
            n = 0;
        }
        if (n < FRAMES)
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
             "libdw.so.1 (package libdw1) cannot be used, and neither eu-stack nor gdb has "
             "answered");
    return -1;
}

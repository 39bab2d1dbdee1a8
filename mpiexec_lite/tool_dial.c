/* tool_dial.c - see tool_dial.h.  Who starts it is pmix_ext/find_far.c. */
#include "mpiexec_lite/tool_dial.h"

#include "mpiexec_lite/fatal.h"
#include "mpiexec_lite/naming_far.h"
#include "pmix_ext/find.h"

#include <ev.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static int refuse(const char *why)
{
    dprintf(STDOUT_FILENO, FIND_MARKER "%s\n", why);
    return 1;
}

static void on_dialled(void *host, int fd, const struct err *why)
{
    (void)host;
    if (fd < 0)
        _exit(refuse(why->text));
}

static void on_over(void *host, const char *why)
{
    if (*why)
        fprintf(stderr, "%s: %s\n", (const char *)host, why);
    _exit(*why ? 1 : 0);
}

int tool_dial_run(const char *where, const char *munge_socket)
{
    struct ev_loop *loop = fatal_loop_new();
    struct err e = { 0 };
    char name[300];
    struct name_line *line;

    snprintf(name, sizeof name, "%s", where);
    signal(SIGPIPE, SIG_IGN);
    if (!loop)
        return refuse("no memory or descriptors");
    line = name_line_new(loop, where, munge_socket, on_dialled, name, &e);
    if (!line)
        return refuse(e.text);
    name_line_onto(line, STDIN_FILENO, on_over);
    name_line_dial(line);
    ev_run(loop, 0);                     /* _exit ends it */
    return 1;
}

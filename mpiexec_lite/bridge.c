/* bridge.c - see bridge.h.  The tool's end of it is pmix_ext/find_far.c. */
#include "mpiexec_lite/bridge.h"

#include "pmix_ext/find.h"
#include "wire/buf.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { KEPT = 65536 };               /* bytes on their way in one direction */

struct way {                         /* one direction */
    int    from, to;
    char   data[KEPT];
    size_t at, len;
    bool   open;                     /* more may come */
};

static int say(const char *why)
{
    return dprintf(STDOUT_FILENO, FIND_MARKER "%s\n", why) < 0 ? -1 : 0;
}

/* The tool's answer; what comes earlier was meant for a login script. */
static int await_answer(void)
{
    static const char answer[] = FIND_ANSWER "\n";
    size_t n = 0;
    char c;

    while (answer[n] && read(STDIN_FILENO, &c, 1) == 1)
        n = c == answer[n] ? n + 1 : c == *answer ? 1 : 0;
    return answer[n] ? -1 : 0;
}

/* False: this direction is over. */
static bool move_some(struct way *w)
{
    ssize_t n = w->len ? write(w->to, w->data + w->at, w->len) : read(w->from, w->data, KEPT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    if (n <= 0)
        return false;
    if (w->len) {
        w->at += (size_t)n;
        w->len -= (size_t)n;
    } else {
        w->at = 0;
        w->len = (size_t)n;
    }
    return true;
}

static struct pollfd awaited(const struct way *w)
{
    return w->len ? (struct pollfd){ .fd = w->to, .events = POLLOUT }
           : w->open ? (struct pollfd){ .fd = w->from, .events = POLLIN }
                     : (struct pollfd){ .fd = -1 };
}

/* Until the server's end, all of which the tool gets; or the tool's. */
static void carry(int fd)
{
    struct way up = { .from = STDIN_FILENO, .to = fd, .open = true };
    struct way down = { .from = fd, .to = STDOUT_FILENO, .open = true };
    struct pollfd p[2];

    while (up.open && down.open) {
        p[0] = awaited(&up);
        p[1] = awaited(&down);
        if (poll(p, 2, -1) < 0 && errno != EINTR)
            return;
        up.open = !p[0].revents || move_some(&up);
        down.open = !p[1].revents || move_some(&down);
    }
}

/* fd: the server, taken; or -1, and e. */
static int be_stream(int fd, const struct err *e)
{
    if (say(fd < 0 ? e->text : "") < 0 || fd < 0 || await_answer() < 0)
        return 1;
    fcntl(STDIN_FILENO, F_SETFL, fcntl(STDIN_FILENO, F_GETFL) | O_NONBLOCK);
    fcntl(STDOUT_FILENO, F_SETFL, fcntl(STDOUT_FILENO, F_GETFL) | O_NONBLOCK);
    carry(fd);
    close(fd);
    return 0;
}

int bridge_run(pid_t pid)
{
    struct find_wants wants = { .pid = pid };
    struct found found;
    struct err e = { 0 };
    int fd = -1;

    if (find_server(&wants, &found, &e) == PMIX_SUCCESS)
        fd = find_connect(&found, &e);
    find_clear(&found);
    return be_stream(fd, &e);
}

int bridge_run_to(const char *socket)
{
    struct err e = { 0 };
    int fd = rundir_connect(socket, &e);

    return be_stream(fd, &e);
}

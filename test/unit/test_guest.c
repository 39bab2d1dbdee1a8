/* test_guest.c - mpiexec_lite/resident_guest: which tools of other hosts are refused by the
 * resident server, with which words, and whose launcher the process of one that is taken
 * calls.  That process starts this program again. */
#include "mpiexec_lite/bridge.h"
#include "mpiexec_lite/resident_impl.h"

#include "pmix_ext/find.h"
#include "wire/limits.h"

#include <grp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <setjmp.h>

#include <cmocka.h>

#define N_OF(a) (sizeof (a) / sizeof *(a))

enum { ME, OTHER, NOBODY = 65534, UNKNOWN = 1234567 };  /* OTHER: a launcher on another host */

struct world {
    struct resident r;
    struct client   launchers[2], *tool;
    char            folder[40], socket[60];
    int             peer, listener;  /* the tool's end; a launcher's */
};

static void closed(void *host, struct dialog *d, const char *why)
{
    (void)host;
    (void)d;
    (void)why;
}

static const struct dialog_ops dialog_ops = { resident_message, closed };

static void listen_there(struct world *w)
{
    struct sockaddr_un me = { .sun_family = AF_UNIX };

    snprintf(w->folder, sizeof w->folder, "/tmp/test_guest-XXXXXX");
    assert_non_null(mkdtemp(w->folder));
    assert_int_equal(chmod(w->folder, 0755), 0);
    snprintf(w->socket, sizeof w->socket, "%s/s", w->folder);
    memcpy(me.sun_path, w->socket, strlen(w->socket) + 1);
    w->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(w->listener, (struct sockaddr *)&me, sizeof me), 0);
    assert_int_equal(chmod(w->socket, 0777), 0);
    assert_int_equal(listen(w->listener, 5), 0);
}

static int set_up(void **state)
{
    struct world *w = calloc(1, sizeof *w);
    int fd[2];

    assert_non_null(w);
    w->r.loop = ev_loop_new(EVFLAG_AUTO);
    w->r.registry = registry_new(&resident_ops, &w->r, 1);
    assert_true(w->r.loop && w->r.registry);
    TAILQ_INIT(&w->r.clients);
    TAILQ_INIT(&w->r.replies);
    TAILQ_INIT(&w->r.meetings);
    LIST_INIT(&w->r.tickets);
    msg_init(&w->r.out);
    w->launchers[OTHER].descriptors = FAR_DESCRIPTORS;
    w->tool = calloc(1, sizeof *w->tool);
    assert_non_null(w->tool);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
    *w->tool = (struct client){ .all = &w->r, .uid = geteuid(), .descriptors = FAR_DESCRIPTORS };
    dialog_init(&w->tool->dialog, w->r.loop, fd[0], LIMIT_FRAME_RANK, &dialog_ops, w->tool);
    TAILQ_INSERT_TAIL(&w->r.clients, w->tool, in_all);
    w->peer = fd[1];
    listen_there(w);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;

    resident_guests_close(&w->r);
    registry_free(w->r.registry);
    dialog_clear(&w->tool->dialog);
    free(w->tool);
    ev_loop_destroy(w->r.loop);
    msg_clear(&w->r.out);
    close(w->peer);
    close(w->listener);
    unlink(w->socket);
    rmdir(w->folder);
    free(w);
    return 0;
}

static void add_job(struct world *w, int client, uid_t owner, const char *id, long pid,
                    const char *tools)
{
    struct reg_job j = { .owner = owner, .id = id, .host = "here", .command = "a", .tools = tools,
                         .pid = pid, .size = 1, .client = &w->launchers[client] };
    struct err e = { 0 };

    assert_int_equal(registry_job(w->r.registry, &j, &e), 0);
}

/* Say it; e is what the log gets. */
static void ask(struct world *w, const char *frame, struct err *e)
{
    char text[80];
    struct msg m;

    snprintf(text, sizeof text, "%s", frame);
    msg_init(&m);
    assert_int_equal(wire_v2.parse(&m, text, strlen(text), e), 0);
    assert_int_equal(resident_message(w->tool, &w->tool->dialog, &m, e), -1);
    dialog_flush(&w->tool->dialog);
    msg_clear(&m);
}

/* What the tool reads, up to the end of a line. */
static void read_line(struct world *w, char *line, size_t size)
{
    size_t n = 0;

    while (n < size - 1 && (!n || line[n - 1] != '\n') && recv(w->peer, line + n, 1, 0) == 1)
        n++;
    line[n] = 0;
}

static void expect(struct world *w, const char *frame, const char *text)
{
    char line[400], want[400];
    struct err e = { 0 };

    ask(w, frame, &e);
    read_line(w, line, sizeof line);
    snprintf(want, sizeof want, FIND_MARKER "%s\n", text);
    assert_string_equal(line, want);
    assert_non_null(strstr(e.text, "a tool was refused: "));
    assert_int_equal(resident_guests(&w->r, (uid_t)-1), 0);
}

/* Jobs of: this user twice by one launcher, twice by others; elsewhere; without tools; others. */
static void add_jobs(struct world *w, int n)
{
    uid_t me = geteuid();

    add_job(w, OTHER, me, "elsewhere", 9, w->socket);
    add_job(w, ME, me, "closed", 8, "");
    add_job(w, ME, NOBODY, "another's", 7, w->socket);
    for (int i = 0; i < n; i++) {
        char id[16], path[80];

        snprintf(id, sizeof id, "job\n%d", i);
        snprintf(path, sizeof path, "%s%s", w->socket, i < 2 ? "" : id);
        add_job(w, ME, me, id, i < 2 ? 10 : 10 + i, path);
    }
}

static void test_refusals(void **state)
{
    struct world *w = *state;
    char text[160];

    add_jobs(w, 0);
    for (int pid = 7; pid <= 9; pid++) {
        char frame[40];

        snprintf(frame, sizeof frame, "cmd=tool;id=1;pid=%d;", pid);
        snprintf(text, sizeof text, "process %d is no launcher of uid %u that takes tools and "
                 "has told pmi2_server of its job", pid, (unsigned)geteuid());
        expect(w, frame, text);
    }
    snprintf(text, sizeof text, "no launcher of uid %u runs here that takes tools and has told "
             "pmi2_server of its job", (unsigned)geteuid());
    expect(w, "cmd=tool;id=1;", text);
    expect(w, "cmd=tool;id=1;pid=0;", text);
    expect(w, "cmd=tool;id=1;pid=-1;", "pid=-1 is not within 0..2147483647");
    add_jobs(w, 4);
    expect(w, "cmd=tool;id=1;", "several launchers run here, and nothing says which is meant: "
           "process 10 of job job\\n0, process 12 of job job\\n2, process 13 of job job\\n3");
    w->tool->pending = 1;
    expect(w, "cmd=tool;id=1;pid=10;", "answers to other requests wait to be read");
    w->tool->pending = 0;
    w->r.args.no_guests = true;
    expect(w, "cmd=tool;id=1;pid=10;", "pmi2_server takes no calls of tools (--disable-tools)");
    w->r.args.no_guests = false;
    w->tool->descriptors = 1;
    expect(w, "cmd=tool;id=1;pid=10;", "tools of this host call launchers themselves");
}

/* Its process ends, and is waited for. */
static void await_end(struct world *w)
{
    while (resident_guests(&w->r, (uid_t)-1))
        ev_run(w->r.loop, EVRUN_ONCE);
    assert_int_equal(w->r.used, 0);
}

/* It is taken; the server's end of the stream is closed, as it is by dialog.c. */
static void take(struct world *w, const char *frame)
{
    struct err e = { 0 };

    ask(w, frame, &e);
    assert_non_null(strstr(e.text, "a tool of his calls /tmp/"));
    assert_int_equal(resident_guests(&w->r, (uid_t)-1), 1);
    assert_int_equal(resident_guests(&w->r, w->tool->uid), 1);
    assert_int_equal(resident_guests(&w->r, w->tool->uid + 1), 0);
    assert_int_equal(w->r.used, FAR_DESCRIPTORS);
    dialog_clear(&w->tool->dialog);
}

static void test_stream(void **state)
{
    struct world *w = *state;
    static const char words[] = "noise" FIND_ANSWER "\nhello";
    char line[400], got[16] = "";
    int fd;

    add_jobs(w, 4);
    take(w, "cmd=tool;id=1;pid=10;");
    read_line(w, line, sizeof line);
    assert_string_equal(line, FIND_MARKER "\n");
    fd = accept(w->listener, NULL, NULL);
    assert_true(fd >= 0);
    assert_int_equal(send(w->peer, words, sizeof words - 1, 0), sizeof words - 1);
    assert_int_equal(recv(fd, got, sizeof got, 0), 5);
    assert_memory_equal(got, "hello", 5);
    assert_int_equal(send(fd, "there", 5, 0), 5);
    assert_int_equal(recv(w->peer, got, sizeof got, 0), 5);
    assert_memory_equal(got, "there", 5);
    close(fd);
    assert_int_equal(recv(w->peer, got, sizeof got, 0), 0);
    await_end(w);
}

/* The path is what a launcher has said: whoever serves there must be the user, or root. */
static void test_launcher_is_gone(void **state)
{
    struct world *w = *state;
    char line[400];

    add_jobs(w, 4);
    take(w, "cmd=tool;id=1;pid=12;");
    read_line(w, line, sizeof line);
    assert_true(!strncmp(line, FIND_MARKER "/tmp/", sizeof FIND_MARKER + 4));
    await_end(w);
}

/* Root's server: a user whom this host does not know, and a launcher that is not his. */
static void test_other_users(void **state)
{
    struct world *w = *state;
    char line[400];

    if (geteuid() != 0)
        skip();
    w->tool->uid = UNKNOWN;
    add_job(w, ME, UNKNOWN, "job", 10, w->socket);
    take(w, "cmd=tool;id=1;");
    read_line(w, line, sizeof line);
    assert_string_equal(line, FIND_MARKER "pmi2_server: this user is not known on this "
                        "host\n");
    await_end(w);
}

/* The launcher's socket sees the user, and no group of the server's. */
static void test_identity(void **state)
{
    static const gid_t servers = 4242;
    struct world *w = *state;
    struct ucred peer;
    socklen_t len = sizeof peer, size;
    gid_t groups[64];
    char line[400];
    int fd;

    if (geteuid() != 0)
        skip();
    assert_int_equal(setgroups(1, &servers), 0);
    w->tool->uid = NOBODY;
    add_job(w, ME, NOBODY, "job", 10, w->socket);
    take(w, "cmd=tool;id=1;");
    read_line(w, line, sizeof line);
    fd = accept(w->listener, NULL, NULL);
    assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len), 0);
    assert_int_equal(peer.uid, NOBODY);
    assert_int_not_equal(peer.gid, 0);
    size = sizeof groups;
    assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size), 0);
    for (size_t i = 0; i < size / sizeof *groups; i++)
        assert_int_not_equal(groups[i], servers);
    assert_int_equal(setgroups(0, NULL), 0);
    close(fd);
    shutdown(w->peer, SHUT_RDWR);
    await_end(w);
}

/* A user's server, and root's credential. */
static void test_not_root(void **state)
{
    struct world *w = *state;

    if (geteuid() != 0)
        skip();
    add_jobs(w, 1);
    assert_int_equal(seteuid(NOBODY), 0);
    expect(w, "cmd=tool;id=1;", "pmi2_server is uid 65534's, and cannot act for uid 0");
    assert_int_equal(seteuid(0), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_refusals), TEST(test_stream), TEST(test_launcher_is_gone),
        TEST(test_other_users), TEST(test_identity), TEST(test_not_root),
    };

    if (argc == 3 && !strcmp(argv[1], "--tool"))
        return bridge_run_to(argv[2]);
    return cmocka_run_group_tests_name("guest", tests, NULL, NULL);
}

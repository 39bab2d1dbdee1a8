/* server_main.c - the program pmi2_server: what is asked for, and where things are. */
#include "mpiexec_lite/bridge.h"
#include "mpiexec_lite/resident.h"
#include "mpiexec_lite/resident_ask.h"
#include "pmix_ext/rundir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { EXIT_USAGE = 2 };

static const char usage[] =
    "Usage: pmi2_server [--system [--public-jobs]] [--socket PATH] [--state FOLDER]\n"
    "                   [--background] [--disable-tools]\n"
    "                   [--listen ADDRESS[:PORT] [--munge-socket PATH]]\n"
    "       pmi2_server --list | --unpublish NAME [--owner USER]\n"
    "       pmi2_server --tool SOCKET\n"
    "\n"
    "Keeps names that programs publish, beyond the end of their mpiexec_lite, and the list\n"
    "of running jobs.  See pmi2_server(1).\n"
    "\n"
    "  --system           serve every user of this machine (as root)\n"
    "  --socket PATH      listen there, or ask the server there, instead of\n"
    "                     $XDG_RUNTIME_DIR/pmi2_server/socket, or /run/pmi2_server/socket\n"
    "                     with --system\n"
    "  --state FOLDER     keep the names there instead of /var/tmp/pmi2_server-UID, or\n"
    "                     /var/lib/pmi2_server with --system; not on a network file system\n"
    "  --listen ADDRESS[:PORT]\n"
    "                     also serve launchers and tools of other hosts, who log in by\n"
    "                     munge, at this IPv4 address; port 17653 unless said otherwise\n"
    "  --munge-socket PATH\n"
    "                     munged's socket, for --listen\n"
    "  --disable-tools    take no calls of PMIx tools\n"
    "  --public-jobs      with --system: tools of all users may see the jobs of all\n"
    "  --background       return when the server is ready\n"
    "  --list             print the published names and the running jobs\n"
    "  --unpublish NAME   take a name back\n"
    "  --owner USER       whose name it is, for root\n"
    "  --tool SOCKET      it starts itself so: be a tool's stream to the launcher there\n"
    "  --verbose          say more on standard error\n"
    "  --version          print the version\n"
    "  --help             print this text\n";

struct request {
    bool        system, background, list, verbose, no_tools, public_jobs;
    const char *socket, *state, *unpublish, *owner, *listen, *munge_socket;
};

static const struct { const char *name; size_t at; bool word; } options[] = {
    { "--system", offsetof(struct request, system), false },
    { "--background", offsetof(struct request, background), false },
    { "--list", offsetof(struct request, list), false },
    { "--disable-tools", offsetof(struct request, no_tools), false },
    { "--public-jobs", offsetof(struct request, public_jobs), false },
    { "--verbose", offsetof(struct request, verbose), false },
    { "--socket", offsetof(struct request, socket), true },
    { "--state", offsetof(struct request, state), true },
    { "--unpublish", offsetof(struct request, unpublish), true },
    { "--owner", offsetof(struct request, owner), true },
    { "--listen", offsetof(struct request, listen), true },
    { "--munge-socket", offsetof(struct request, munge_socket), true },
};

static int wrong_use(const char *what, const char *word)
{
    fprintf(stderr, "pmi2_server: %s%.80s (see pmi2_server --help)\n", what, word);
    return EXIT_USAGE;
}

static int fail(const struct err *e)
{
    fprintf(stderr, "pmi2_server: %s\n", e->text);
    return EXIT_FAILURE;
}

/* One option, with its word.  How many words were used; 0: it is none; -1: its word is
 * missing. */
static int take_option(struct request *rq, char **argv)
{
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        void *at = (char *)rq + options[i].at;

        if (strcmp(argv[0], options[i].name))
            continue;
        if (!options[i].word)
            *(bool *)at = true;
        else
            *(const char **)at = argv[1];
        return !options[i].word ? 1 : argv[1] ? 2 : -1;
    }
    return 0;
}

static int read_options(struct request *rq, char **argv)
{
    while (*argv) {
        int n = take_option(rq, argv);

        if (n <= 0)
            return wrong_use(n ? "a word is missing after " : "unknown argument ", *argv);
        argv += n;
    }
    if ((rq->socket && *rq->socket != '/') || (rq->state && *rq->state != '/'))
        return wrong_use("--socket and --state want a path from / on", "");
    if (rq->public_jobs && !rq->system)
        return wrong_use("--public-jobs goes with --system", "");
    if (rq->munge_socket && !rq->listen)
        return wrong_use("--munge-socket goes with --listen", "");
    if (rq->owner && !rq->unpublish)
        return wrong_use("--owner goes with --unpublish", "");
    if (rq->system && geteuid() != 0 && !rq->list && !rq->unpublish)
        return wrong_use("only root can start the server of the system (--system)", "");
    return 0;
}

/* --- questions --------------------------------------------------------- */

static int ask(const struct request *rq)
{
    char path[RUNDIR_PATH];
    struct err e = { 0 };
    int rc;

    if (rq->socket)
        snprintf(path, sizeof path, "%s", rq->socket);
    else if (rq->system)
        snprintf(path, sizeof path, "%s/socket", RUNDIR_SYSTEM);
    else if (!rundir_find(path, sizeof path))
        return fail(&(struct err){ ERR_OTHER, "no server runs here" });
    rc = rq->unpublish ? resident_unpublish(path, rq->unpublish, rq->owner, &e)
                       : resident_list(path, &e);
    return rc < 0 ? fail(&e) : 0;
}

/* --- the server -------------------------------------------------------- */

/* Tell a service manager, if one has started us (sd_notify(3)). */
static void notify(const char *text)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    size_t n = path ? strlen(path) : 0;
    int fd;

    if (!n || n >= sizeof to.sun_path || (*path != '/' && *path != '@'))
        return;
    memcpy(to.sun_path, path, n);
    if (*path == '@')
        to.sun_path[0] = '\0';
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&to,
           (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n));
    close(fd);
}

static int find_socket(const struct request *rq, char *path, struct err *e)
{
    char folder[RUNDIR_PATH - 8];

    if (rq->socket) {
        if (strlen(rq->socket) >= RUNDIR_PATH)
            return err_set(e, ERR_LENGTH, "the path of a socket is at most %d bytes",
                           RUNDIR_PATH - 1);
        snprintf(path, RUNDIR_PATH, "%s", rq->socket);
        return 0;
    }
    if (rundir_make(rq->system, folder, sizeof folder, e) < 0)
        return -1;
    snprintf(path, RUNDIR_PATH, "%s/socket", folder);
    return 0;
}

/* The folder of the names is nobody else's to read. */
static int find_state(const struct request *rq, char *path, size_t size, struct err *e)
{
    const char *given = rq->state ? rq->state : getenv("STATE_DIRECTORY");

    if (given && *given)
        snprintf(path, size, "%s", given);
    else if (rq->system)
        snprintf(path, size, "/var/lib/pmi2_server");
    else
        snprintf(path, size, "/var/tmp/pmi2_server-%u", (unsigned)geteuid());
    return rundir_check(path, 0700, e);
}

/* A server whose socket is elsewhere is nobody's to find, unless it is said where. */
static bool takes_tools(const struct request *rq)
{
    return !rq->no_tools &&
           (!rq->socket || getenv(rq->system ? "PMIX_SYSTEM_TMPDIR" : "PMIX_SERVER_TMPDIR"));
}

static int serve(const struct request *rq, int ready)
{
    char socket_path[RUNDIR_PATH], state[PATH_MAX];
    struct resident_args args = { .system = rq->system, .socket = socket_path, .state = state,
                                  .listen = rq->listen, .munge_socket = rq->munge_socket,
                                  .no_tools = !takes_tools(rq), .no_guests = rq->no_tools,
                                  .public_jobs = rq->public_jobs, .verbose = rq->verbose };
    struct resident *r = NULL;
    struct err e = { 0 };
    int rc;

    umask(077);
    if (find_socket(rq, socket_path, &e) < 0 || find_state(rq, state, sizeof state, &e) < 0 ||
        !(r = resident_new(&args, &e)))
        return fail(&e);
    notify("READY=1");
    if (ready >= 0) {
        if (write(ready, "", 1) < 0)
            rc = -1;                     /* nobody waits for it */
        close(ready);
        dup2(STDIN_FILENO, STDERR_FILENO);
    }
    rc = resident_run(r);
    notify("STOPPING=1");
    resident_free(r);
    return rc < 0 ? EXIT_FAILURE : 0;
}

/* In the background: a session of its own, /dev/null, and no descriptor of whoever has
 * started it.  Messages go to standard error until it is ready. */
static int serve_apart(const struct request *rq, int ready)
{
    int null = open("/dev/null", O_RDWR);

    setsid();
    if (null < 0 || chdir("/") < 0)
        return EXIT_FAILURE;
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    if (ready != 3)
        dup2(ready, 3);
    close_range(4, ~0U, 0);
    fcntl(3, F_SETFD, FD_CLOEXEC);
    return serve(rq, 3);
}

static int start(const struct request *rq)
{
    int ends[2], status = EXIT_FAILURE;
    char byte;
    pid_t pid;

    if (!rq->background)
        return serve(rq, -1);
    if (pipe(ends) < 0 || (pid = fork()) < 0) {
        fprintf(stderr, "pmi2_server: cannot start: %s\n", strerror(errno));
        return EXIT_FAILURE;
    }
    if (pid == 0) {
        close(ends[0]);
        exit(serve_apart(rq, ends[1]));
    }
    close(ends[1]);
    if (read(ends[0], &byte, 1) == 1)
        status = 0;
    return status;
}

int main(int argc, char **argv)
{
    struct request rq = { 0 };
    int rc;

    if (argc == 2 && !strcmp(argv[1], "--version")) {
        printf("pmi2_server %s, protocol %d\n", VERSION, RESIDENT_VERSION);
        return 0;
    }
    if (argc == 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
        fputs(usage, stdout);
        return 0;
    }
    if (argc == 3 && !strcmp(argv[1], "--tool")) {
        prctl(PR_SET_NAME, "pmi2_server");           /* not "exe", of /proc/self/exe */
        return bridge_run_to(argv[2]);
    }
    rc = read_options(&rq, argv + 1);
    if (rc)
        return rc;
    signal(SIGPIPE, SIG_IGN);
    return rq.list || rq.unpublish ? ask(&rq) : start(&rq);
}

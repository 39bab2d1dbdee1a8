/* main.c - mpiexec_lite: read the command line, fork the root, be its front end. */
#include "mpiexec_lite/alloc.h"
#include "mpiexec_lite/check.h"
#include "mpiexec_lite/child.h"
#include "mpiexec_lite/env.h"
#include "mpiexec_lite/explain.h"
#include "mpiexec_lite/front.h"
#include "mpiexec_lite/hook_host.h"
#include "mpiexec_lite/launch.h"
#include "mpiexec_lite/mpir.h"
#include "mpiexec_lite/naming_start.h"
#include "mpiexec_lite/node_runs.h"
#include "mpiexec_lite/opts.h"
#include "mpiexec_lite/provider_host.h"
#include "mpiexec_lite/providers.h"
#include "mpiexec_lite/quota.h"
#include "mpiexec_lite/root.h"
#include "mpiexec_lite/single.h"
#include "mpiexec_lite/sweep.h"
#include "mpiexec_lite/sink.h"
#include "mpiexec_lite/tool_start.h"
#include "mpiexec_lite/trace.h"
#include "mpiexec_lite/windows.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* One line; names in it may hold anything, so it is made safe for a terminal. */
static int complain(const char *text, int status)
{
    struct buf safe = BUF_INIT;

    buf_escaped(&safe, text, strlen(text));
    fprintf(stderr, "mpiexec_lite: %s\n", safe.failed ? "no memory" : buf_bytes(&safe));
    buf_clear(&safe);
    return status;
}

static int complain_of(const char *what, const char *why, int status)
{
    char text[PATH_MAX + 128];

    snprintf(text, sizeof text, "%s: %s", what, why);
    return complain(text, status);
}

/* Descriptors 0, 1 and 2 exist, so that none of ours gets their number.  What was
 * closed stays of no use: writing to it fails. */
static int fill_standard(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY) != fd)
            return -1;
    return 0;
}

/* Whether a block has ranks on this host, or on any if it has none. */
static bool is_here(const struct plan *p, const struct placement *place, size_t app)
{
    for (size_t i = 0; i < place->nruns; i++)
        if (plan_app_of(p, place->runs[i].first) <= app &&
            plan_app_of(p, place->runs[i].first + place->runs[i].n - 1) >= app &&
            p->hosts[place->runs[i].node].local)
            return true;
    return false;
}

/* The program of every block that runs here, found now, so that a typing error costs
 * nothing. */
static int find_programs(const struct plan *p, const struct placement *place, char **programs)
{
    const char *path = env_get(environ, "PATH");

    for (size_t a = 0; a < p->napps; a++) {
        const struct app *app = &p->apps[a];
        char found[PATH_MAX];
        struct err e = { 0 };
        int status;

        if (!is_here(p, place, a) || plan_is_single(p))
            continue;
        if (program_find(app->argv.v[0], app->wdir, app->path, path ? path : "/usr/bin:/bin",
                         found, sizeof found, &status, &e) < 0)
            return complain(e.text, status);
        programs[a] = strdup(found);
        if (!programs[a])
            return complain("no memory", EXIT_LAUNCHER);
    }
    return 0;
}

/* More ranks than slots: refused where it was forbidden, or where slots are others' to
 * give; on a lone host it is processors that count, and a person is told. */
static int check_crowd(const struct plan *p, const struct placement *place)
{
    bool refused = place_is_limited(p);
    struct err e = { 0 };
    char text[80];
    int usable;

    if (p->hosts_given || p->in_allocation)
        return refused && place_check(p, place, &e) < 0 ? complain(e.text, EXIT_USAGE) : 0;
    if (p->oversubscribe == OVERSUBSCRIBE_YES || place->size == 1 ||
        (!refused && !p->verbose && !isatty(STDERR_FILENO)))
        return 0;
    usable = usable_processors();
    if (place->size <= usable)
        return 0;
    snprintf(text, sizeof text, "%d processes share %d processor%s%s", place->size, usable,
             usable > 1 ? "s" : "", refused ? ": -nooversubscribe" : "");
    return complain(text, refused ? EXIT_USAGE : 0);
}

/* As exit, without what the loader and libc do at the end, for which nobody has a use: whoever
 * waits for the job waits for that as well.  AT_EXIT: a build that reports at exit. */
static _Noreturn void leave(int status)
{
#ifdef AT_EXIT
    exit(status);
#else
    fflush(NULL);
    _exit(status);
#endif
}

static void be_root(struct root_args *args, int fd[2])
{
    close(fd[0]);
    args->control = fd[1];
    if (setsid() < 0)
        _exit(complain("cannot start a session for the server process", EXIT_LAUNCHER));
    prctl(PR_SET_NAME, "mpiexec_root");          /* killall does not get both at once */
    leave(root_run(args));
}

/* What the rank that has stdin gets itself: -stdin file:F, or our own. */
static int open_input(const struct plan *p)
{
    if (p->stdin_mode != STDIN_FILE)
        return STDIN_FILENO;
    return open(p->stdin_file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
}

/* A terminal is forwarded, and what a rank on another host reads; anything else a rank
 * gets itself. */
static bool forwards_input(const struct plan *p, const struct placement *place)
{
    int rank = p->stdin_rank;

    if (p->stdin_mode == STDIN_ALL)
        return true;
    if (p->stdin_mode == STDIN_NONE || rank >= place->size)
        return false;
    return !p->hosts[placement_node(place, rank)].local ||
           (p->stdin_mode == STDIN_RANK && isatty(STDIN_FILENO));
}

/* What comes from here on waits until both processes can take it. */
static void hold_signals(void)
{
    sigset_t all;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
}

static int start(const struct plan *p, struct root_args *args, int *signo, struct err *e)
{
    struct front_args front = { .plan = p, .user = args->user,
                                .forward_input = forwards_input(p, args->place) };
    int fd[2], status;

    args->input = open_input(p);
    if (args->input < 0)
        return complain_of(p->stdin_file, strerror(errno), EXIT_USAGE);
    if (front.forward_input && args->input != STDIN_FILENO)
        dup2(args->input, STDIN_FILENO);         /* the front end reads that */
    if (front.forward_input)
        args->input = -1;
    if (plan_is_single(p) && single_begin(p, &args->program, e) < 0)
        return complain(e->text, EXIT_LAUNCHER);
    if (sweep_prepare() < 0 ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) < 0)
        return complain(strerror(errno), EXIT_LAUNCHER);
    fflush(NULL);
    hold_signals();
    front.root = fork();
    if (front.root == 0)
        be_root(args, fd);
    close(fd[1]);
    if (p->single_fd)
        close(p->single_fd);             /* the root's */
    if (front.root < 0) {
        close(fd[0]);
        return complain(strerror(errno), EXIT_LAUNCHER);
    }
    front.control = fd[0];
    status = front_run(&front, signo);
    close(fd[0]);
    return status;
}

/* A file to be written: emptied.  -1 and e. */
static int open_file(const char *name, struct err *e)
{
    int fd = sink_open_file(name, e);

    if (fd < 0 || sink_empty_file(fd, name, e) == 0)
        return fd;
    close(fd);
    return -1;
}

/* What is on stdout is all there is to it: was it written?  Whose reader has gone is ended as
 * by SIGPIPE, which may be ignored. */
static int written(int status, int *signo)
{
    if (!fflush(stdout) && !ferror(stdout))
        return status;
    if (errno != EPIPE)
        return complain_of("write to stdout", strerror(errno), EXIT_LAUNCHER);
    *signo = SIGPIPE;
    return EXIT_LAUNCHER;
}

/* "(HOST:0,1,2)" for each host that has ranks. */
static int print_rank_map(const struct plan *p, const struct placement *place, int *signo)
{
    struct node_runs by_node = { 0 };

    if (node_runs_init(&by_node, place, p->nhosts) < 0) {
        node_runs_clear(&by_node);
        return complain("no memory", EXIT_LAUNCHER);
    }
    for (size_t i = 0; i < p->nhosts; i++) {
        char before = ':';

        if (by_node.first[i] == by_node.first[i + 1])
            continue;
        printf("(%s", p->hosts[i].name);
        for (size_t at = by_node.first[i]; at < by_node.first[i + 1]; at++) {
            const struct run *r = &place->runs[by_node.order[at]];

            for (int k = 0; k < r->n; k++, before = ',')
                printf("%c%d", before, r->first + k);
        }
        puts(")");
    }
    node_runs_clear(&by_node);
    return written(0, signo);
}

static int run_plan(struct plan *p, int *signo)
{
    char **programs = calloc(p->napps, sizeof *programs);
    struct inherited user;
    struct placement place = { 0 };
    struct root_args args = { .plan = p, .place = &place, .programs = programs,
                              .user = &user, .trace = -1, .timeline = -1 };
    struct err e = { 0 };
    int status;

    if (!programs)
        return complain("no memory", EXIT_LAUNCHER);
    inherited_save(&user);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
    p->debugged = mpir_being_debugged();         /* by who has started us */
    if (p->debugged)
        p->hold = HOLD_EXEC;
    if (place_ranks(p, NULL, &place, &e) < 0 ||
        providers_list(p->no_providers, &p->provider_dirs, &p->provider_files, &p->providers,
                       &e) < 0)
        status = complain(e.text, EXIT_USAGE);
    else if (!(status = check_crowd(p, &place)))
        status = find_programs(p, &place, programs);
    if (status == 0 && windows_check(p, &place, &e) < 0)
        status = complain(e.text, EXIT_USAGE);
    if (status == 0 && p->print_rank_map)
        status = print_rank_map(p, &place, signo);
    if (status == 0 && p->trace && (args.trace = trace_open(p->trace, &e)) < 0)
        status = complain(e.text, EXIT_USAGE);
    if (status == 0 && p->timeline && (args.timeline = open_file(p->timeline, &e)) < 0)
        status = complain(e.text, EXIT_USAGE);
    if (status == 0 && p->nameserver && !strcmp(p->nameserver, "start") && naming_start(&e) < 0)
        status = complain(e.text, EXIT_LAUNCHER);
    if (status == 0)
        status = start(p, &args, signo, &e);
    if (args.trace >= 0)
        close(args.trace);
    if (args.timeline >= 0)
        close(args.timeline);
    for (size_t a = 0; a < p->napps; a++)
        free(programs[a]);
    free(programs);
    placement_clear(&place);
    return status;
}

/* -explain, -check: told on stdout, and nothing is run. */
static int answer(const struct plan *p, const struct said *said, int *signo)
{
    struct err e = { 0 };
    int status = p->inquiry == INQUIRY_CHECK ? check_run(p, environ, stdout, &e)
                                             : explain_run(p, said, environ, stdout, &e);

    if (e.code)
        return complain(e.text, status);
    return written(status, signo);
}

/* End as the signal would have ended us, so that a shell sees why. */
static void end_by(int signo)
{
    sigset_t set;

    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);          /* not a crash: no core */
    signal(signo, SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, signo);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    raise(signo);
}

int main(int argc, char **argv)
{
    struct plan plan;
    struct said said = { 0 };
    struct err e = { 0 };
    int status = EXIT_SUCCESS, signo = 0;
    enum opts_result what;

    if (fill_standard() < 0)
        return complain(strerror(errno), EXIT_LAUNCHER);
    if (argc == 3 && !strcmp(argv[1], "--run-provider"))
        return provider_host_run(argv[2]);
    if (argc == 2 && !strcmp(argv[1], "--host-providers"))
        return hook_host_run();
    what = opts_parse_noting(&plan, explain_is_asked(argv) ? &said : NULL, argc, argv, environ,
                             stdout, &e);
    for (size_t i = 0; i < plan.warnings.n; i++)
        complain(plan.warnings.v[i], 0);
    if (what == OPTS_USAGE || what == OPTS_FAILED)
        status = complain(e.text, what == OPTS_USAGE ? EXIT_USAGE : EXIT_LAUNCHER);
    else if (what == OPTS_RUN && plan.inquiry)
        status = answer(&plan, &said, &signo);
    else if (what == OPTS_RUN && plan.allocate)
        status = alloc_run(&plan, argv, &e) < 0 ? complain(e.text, EXIT_LAUNCHER) : 0;
    else if (what == OPTS_RUN && plan.tool)
        status = tool_start(&plan, argv, &e) < 0 ? complain(e.text, EXIT_LAUNCHER) : 0;
    else if (what == OPTS_RUN)
        status = run_plan(&plan, &signo);
    else
        status = written(status, &signo);
    if (signo && !plan.alloc)            /* salloc does not tell its command's signal */
        end_by(signo);
    said_clear(&said);
    plan_clear(&plan);
    leave(signo ? 128 + signo : status);
}

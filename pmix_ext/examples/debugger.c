/* debugger.c - a small parallel debugger: a front end, and on each node a daemon of it.
 *
 *   cc debugger.c $(pkg-config --cflags --libs mpiexec_lite-pmix) -o debugger
 *   debugger -n 4 ./app ARG...           direct launch: it starts the job
 *   debugger mpiexec_lite -n 4 ./app     indirect launch: it starts a launcher, which waits for it
 *   debugger -p PID                      attach: to the job of the launcher PID
 *
 * Then it reads commands: where (the registers of each rank), go, and quit, which is also the end
 * of its input.  Ranks that it launches are held where their program begins, until "go" or "quit".
 * What is to be done on the nodes the daemons do; both halves talk to each other by events. */
#include "pmix_ext_daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
#define TEXT "debugger.text"             /* an info of both */
enum { COMMAND = PMIX_EXTERNAL_ERR_BASE - 1, REPORT = PMIX_EXTERNAL_ERR_BASE - 2 };

static void check(const char *what, pmix_status_t status)
{
    if (status >= PMIX_SUCCESS)
        return;
    fprintf(stderr, "debugger: %s: %s\n", what, PMIx_Error_string(status));
    exit(1);
}

/* Of the user's words. */
static int number(const char *word)
{
    char *end;
    long n = strtol(word, &end, 10);

    if (*end || n < 1 || n != (int)n) {
        fprintf(stderr, "debugger: '%s': a number from 1 on is wanted\n", word);
        exit(1);
    }
    return (int)n;
}

/* --- events: handlers run on the library's thread, and only put them in a pipe --- */

struct event {
    pmix_status_t code;
    pmix_proc_t   source;
    int           exit_code;
    char         *text;                  /* to be freed */
};
static int queue[2];

static void on_event(size_t id, pmix_status_t code, const pmix_proc_t *source, pmix_info_t info[],
                     size_t ninfo, pmix_info_t *results, size_t nresults,
                     pmix_event_notification_cbfunc_fn_t done, void *cbdata)
{
    struct event x = { .code = code, .source = *source };

    (void)id, (void)results, (void)nresults;
    for (size_t i = 0; i < ninfo; i++)
        if (PMIX_CHECK_KEY(&info[i], TEXT))
            x.text = strdup(info[i].value.data.string);
        else if (PMIX_CHECK_KEY(&info[i], PMIX_EXIT_CODE))
            x.exit_code = info[i].value.data.integer;
    if (write(queue[1], &x, sizeof x) != sizeof x)
        abort();
    done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

/* Without a callback: they are registered when it returns.  What was raised before comes too. */
static void listen_to(pmix_status_t *codes, size_t n)
{
    check("a pipe", pipe(queue) < 0 ? PMIX_ERROR : PMIX_SUCCESS);
    check("events", PMIx_Register_event_handler(codes, n, NULL, 0, on_event, NULL, NULL));
}

static void tell(pmix_status_t code, const pmix_proc_t *whom, const char *text)
{
    pmix_info_t info[2];

    PMIX_INFO_LOAD(&info[0], PMIX_EVENT_CUSTOM_RANGE, whom, PMIX_PROC);
    PMIX_INFO_LOAD(&info[1], TEXT, text, PMIX_STRING);
    check("an event", PMIx_Notify_event(code, NULL, PMIX_RANGE_CUSTOM, info, 2, NULL, NULL));
    PMIX_INFO_DESTRUCT(&info[1]);
}

/* About a job, or all of them (NULL).  *results, which is one, is to be freed. */
static void ask(const char *key, const char *nspace, pmix_info_t **results)
{
    pmix_status_t status;
    pmix_query_t query;
    size_t n = 0;

    PMIX_QUERY_CONSTRUCT(&query);
    PMIX_ARGV_APPEND(status, query.keys, key);
    PMIX_QUERY_QUALIFIERS_CREATE(&query, nspace ? 1 : 0);
    if (nspace)
        PMIX_INFO_LOAD(&query.qualifiers[0], PMIX_NSPACE, nspace, PMIX_STRING);
    status = PMIx_Query_info(&query, 1, results, &n);
    PMIX_QUERY_DESTRUCT(&query);
    check(key, status == PMIX_SUCCESS && n != 1 ? PMIX_ERR_NOT_FOUND : status);
}

/* --- the daemon --------------------------------------------------------- */

/* Stopped for a moment, without a signal: one that was stopped stays so. */
static int read_registers(pid_t pid, struct __ptrace_syscall_info *regs)
{
    int tries = 0, status, rc;

    while ((rc = (int)ptrace(PTRACE_SEIZE, pid, 0, 0)) < 0 && errno == EPERM && tries++ < 1000)
        usleep(5000);                    /* another tool has it just now */
    if (rc < 0 || ptrace(PTRACE_INTERRUPT, pid, 0, 0) < 0 || waitpid(pid, &status, __WALL) < 0)
        return -1;
    rc = (int)ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof *regs, regs);
    ptrace(PTRACE_DETACH, pid, 0, status >> 16 == PTRACE_EVENT_STOP ? 0 : WSTOPSIG(status));
    return rc;
}

static void look(const pmix_proc_info_t *p, FILE *out)
{
    struct __ptrace_syscall_info regs;

    fprintf(out, "rank %u on %s, pid %d: ", p->proc.rank, p->hostname, (int)p->pid);
    if (read_registers(p->pid, &regs) < 0)
        fprintf(out, "%s\n", strerror(errno));
    else
        fprintf(out, "pc 0x%llx, sp 0x%llx\n", (unsigned long long)regs.instruction_pointer,
                (unsigned long long)regs.stack_pointer);
}

/* Every daemon answers every command, and be it by nothing. */
static int be_daemon(void)
{
    pmix_status_t code = COMMAND;
    const pmix_data_array_t *ranks;
    struct pmix_daemon d;
    pmix_info_t *results;
    struct event x;
    bool quit = false;
    char *text;
    size_t size;

    check("a daemon", pmix_daemon_init(&d));
    ask(PMIX_QUERY_LOCAL_PROC_TABLE, d.target.nspace, &results);
    ranks = results->value.data.darray;
    listen_to(&code, 1);
    while (!quit) {
        FILE *out = open_memstream(&text, &size);

        check("a pipe", read(queue[0], &x, sizeof x) == sizeof x ? PMIX_SUCCESS : PMIX_ERROR);
        for (size_t i = 0; i < ranks->size && !strcmp(x.text, "where"); i++)
            look((pmix_proc_info_t *)ranks->array + i, out);
        if (!strcmp(x.text, "go") && !d.me.rank)
            tell(PMIX_DEBUGGER_RELEASE, &d.target, "");
        quit = !strcmp(x.text, "quit");
        fclose(out);
        tell(REPORT, &x.source, text);
        free(text);
        free(x.text);
    }
    PMIX_INFO_FREE(results, 1);
    return pmix_daemon_finalize(&d);
}

/* --- the front end ------------------------------------------------------ */

static pmix_proc_t me, target, daemons;
static bool over;                        /* the target is, with: */
static int exit_code;

static void spawn(char **argv, int n, pmix_info_t *infos, size_t ninfos, pmix_proc_t *job)
{
    pmix_app_t app = { .cmd = argv[0], .argv = argv, .maxprocs = n };
    pmix_nspace_t nspace;

    check(argv[0], PMIx_Spawn(infos, ninfos, &app, 1, nspace));
    PMIX_LOAD_PROCID(job, nspace, PMIX_RANK_WILDCARD);
}

/* One on each node of the target: how many these are. */
static size_t start_daemons(void)
{
    char *argv[] = { realpath("/proc/self/exe", NULL), (char *)"--daemon", NULL };
    pmix_info_t infos[2], *results;
    size_t n;

    PMIX_INFO_LOAD(&infos[0], PMIX_DEBUGGER_DAEMONS, NULL, PMIX_BOOL);
    PMIX_INFO_LOAD(&infos[1], PMIX_DEBUG_TARGET, &target, PMIX_PROC);
    spawn(argv, 1, infos, 2, &daemons);
    free(argv[0]);
    ask(PMIX_QUERY_PROC_TABLE, daemons.nspace, &results);
    n = results->value.data.darray->size;
    PMIX_INFO_FREE(results, 1);
    return n;
}

/* With the launcher of that pid, perhaps just started (ours); 0: with none, until a spawn. */
static void begin(pid_t pid, bool ours)
{
    pmix_status_t status;
    pmix_info_t info;

    PMIX_INFO_LOAD(&info, PMIX_TOOL_DO_NOT_CONNECT, NULL, PMIX_BOOL);
    if (pid)
        PMIX_INFO_LOAD(&info, PMIX_SERVER_PIDINFO, &pid, PMIX_PID);
    while ((status = PMIx_tool_init(&me, &info, 1)) == PMIX_ERR_UNREACH && ours &&
           waitpid(pid, NULL, WNOHANG) == 0)
        usleep(20000);
    check("the launcher", status);
}

/* Our input is not its. */
static pid_t start_launcher(char **argv)
{
    posix_spawn_file_actions_t input;
    pid_t pid;

    setenv("PMIX_LAUNCHER_PAUSE_FOR_TOOL", "1", 1);
    posix_spawn_file_actions_init(&input);
    posix_spawn_file_actions_addopen(&input, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    check(argv[0], posix_spawnp(&pid, argv[0], &input, NULL, argv, environ) ? PMIX_ERR_NOT_FOUND : 0);
    return pid;
}

/* The launcher that waits for us goes on. */
static void let_launch(pmix_info_t *directives)
{
    pmix_data_array_t list = { .type = PMIX_INFO, .size = 1, .array = directives };
    pmix_info_t info;

    PMIX_INFO_LOAD(&info, PMIX_LAUNCH_DIRECTIVES, &list, PMIX_DATA_ARRAY);
    check("launch", PMIx_Notify_event(PMIX_DEBUGGER_RELEASE, &me, PMIX_RANGE_GLOBAL, &info, 1, NULL, NULL));
    PMIX_INFO_DESTRUCT(&info);
}

/* Give a command, or NULL, and await n such events.  False: the job is over, or the daemons. */
static bool await(const char *command, pmix_status_t code, size_t n)
{
    struct event x;
    bool end;

    if (command)
        tell(COMMAND, &daemons, command);
    while (n && !over) {
        check("a pipe", read(queue[0], &x, sizeof x) == sizeof x ? PMIX_SUCCESS : PMIX_ERROR);
        end = x.code == PMIX_EVENT_JOB_END;
        if (x.code == PMIX_READY_FOR_DEBUG && !*target.nspace)
            target = x.source;
        if (x.code == REPORT)
            fputs(x.text, stdout);
        free(x.text);
        over = x.code == PMIX_ERR_LOST_CONNECTION ||
               (end && (!*target.nspace || PMIX_CHECK_NSPACE(x.source.nspace, target.nspace)));
        exit_code = over ? x.exit_code : 0;
        if (end && PMIX_CHECK_NSPACE(x.source.nspace, daemons.nspace) && code == REPORT)
            return false;
        n -= x.code == code;
    }
    fflush(stdout);
    return !over;
}

int main(int argc, char **argv)
{
    pmix_status_t codes[] = { PMIX_READY_FOR_DEBUG, PMIX_EVENT_JOB_END, PMIX_ERR_LOST_CONNECTION, REPORT };
    bool direct = argc > 3 && !strcmp(argv[1], "-n"), attach = argc == 3 && !strcmp(argv[1], "-p");
    bool alive = true;
    pmix_info_t hold, *jobs;
    char line[80];
    size_t n;

    check("-n N PROGRAM..., LAUNCHER..., or -p PID", argc < 2 ? PMIX_ERR_BAD_PARAM : PMIX_SUCCESS);
    if (!strcmp(argv[1], "--daemon"))
        return be_daemon();
    PMIX_INFO_LOAD(&hold, PMIX_DEBUG_STOP_ON_EXEC, NULL, PMIX_BOOL);
    begin(direct ? 0 : attach ? number(argv[2]) : start_launcher(argv + 1), !attach);
    if (direct)
        spawn(argv + 3, number(argv[2]), &hold, 1, &target);
    listen_to(codes, 4);
    if (attach) {
        ask(PMIX_QUERY_NAMESPACES, NULL, &jobs);         /* the first is the launcher's own */
        jobs->value.data.string[strcspn(jobs->value.data.string, ",")] = '\0';
        PMIX_LOAD_PROCID(&target, jobs->value.data.string, PMIX_RANK_WILDCARD);
    } else if (!direct) {
        let_launch(&hold);
    }
    if (!attach && !await(NULL, PMIX_READY_FOR_DEBUG, 1))
        return exit_code ? exit_code : 1;
    n = start_daemons();
    while (alive && scanf("%79s", line) == 1 && strcmp(line, "quit"))
        alive = await(line, REPORT, n);
    if (alive && (attach || await("go", REPORT, n)) && await("quit", REPORT, n) && !attach)
        await(NULL, PMIX_EVENT_JOB_END, SIZE_MAX);
    PMIx_tool_finalize();
    return exit_code;
}

/* tool_main.c - pmix_tool: the commands, from which help, manual and completion come. */
#include "pmix_ext/tool.h"

#include "pmix_ext/names.h"
#include "pmix_ext/reason.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct tool_option ps_options[] = {
    { "all", OPT_ALL, NULL, "Jobs that have ended as well, as far as the server has kept them." },
    { NULL, 0, NULL, NULL }
};

static const struct tool_option query_options[] = {
    { "local", OPT_LOCAL, NULL, "Only ranks of the server's node." },
    { NULL, 0, NULL, NULL }
};

static const struct tool_option status_options[] = {
    { "follow", OPT_FOLLOW, NULL, "Then events of the job as they happen, until it ends." },
    { "wait", OPT_WAIT, "STATES", "Not before it is in one of these, with commas." },
    { NULL, 0, NULL, NULL }
};

static const struct tool_option log_options[] = {
    { "stderr", OPT_STDERR, NULL, "To the launcher's standard error (this is the default)." },
    { "stdout", OPT_STDOUT, NULL, "To the launcher's standard output." },
    { "syslog", OPT_SYSLOG, NULL, "To the system's log." },
    { "record", OPT_RECORD, NULL, "To the record of the job (-log-dir of mpiexec_lite)." },
    { "store", OPT_STORE, NULL, "To the store of all jobs (-log-dir of mpiexec_lite)." },
    { "tag", OPT_TAG, NULL, "With the sender's name before each line." },
    { "priority", OPT_PRIORITY, "0..7", "The system log's priority (default: 6, info)." },
    { NULL, 0, NULL, NULL }
};

static const struct tool_option events_options[] = {
    { "code", OPT_CODE, "CODE", "Only this event, by name or number; may be given again." },
    { "count", OPT_COUNT, "N", "End after N events." },
    { NULL, 0, NULL, NULL }
};

static const struct tool_option output_options[] = {
    { "raw", OPT_RAW, NULL, "Bytes as they come: no labels, no waiting for ends of lines." },
    { NULL, 0, NULL, NULL }
};

static const struct tool_option spawn_options[] = {
    { "count", OPT_COUNT, "N", "Start N ranks (default: 1)." },
    { "hosts", OPT_HOSTS, "LIST", "On these hosts, separated by commas." },
    { "wdir", OPT_WDIR, "DIR", "In this working directory." },
    { "env", OPT_ENV, "NAME=VALUE", "With this in the environment; may be given again." },
    { "raw", OPT_RAW, NULL, "Bytes as they come: no labels, no waiting for ends of lines." },
    { "hold", OPT_HOLD, "PLACE[:RANKS]", "Hold ranks for a debugger: at exec, in init, or at a "
                                         "place of the program's own (app)." },
    { "target", OPT_TARGET, "NSPACE[:RANKS]", "As a tool's daemons, beside that job's ranks: one on "
                                              "each of their nodes." },
    { "per-node", OPT_PER_NODE, "N", "So many on each of these nodes." },
    { "per-proc", OPT_PER_PROC, "N", "So many for each of these ranks." },
    { "stride", OPT_STRIDE, "N", "On every Nth of these nodes only." },
    { "daemons", OPT_DAEMONS, NULL, "As a tool's daemons that look after no job: they need no slots, "
                                    "and nothing counts them." },
    { "detach", OPT_DETACH, NULL, "Print the name of the job and end; it goes on." },
    { NULL, 0, NULL, NULL }
};

static const struct tool_option top_options[] = {
    { "batch", OPT_BATCH, NULL, "One table after the other; so it is when the output is no "
                                "terminal." },
    { "count", OPT_COUNT, "N", "End after N tables." },
    { "delay", OPT_DELAY, "SECONDS", "Time between tables (default: 2)." },
    { NULL, 0, NULL, NULL }
};

static const struct tool_option stack_options[] = {
    { "all-threads", OPT_THREADS, NULL, "All threads of each rank, and not only the first." },
    { "functions", OPT_FUNCTIONS, NULL, "Functions only: ranks on different lines of one are "
                                        "together." },
    { "samples", OPT_COUNT, "N", "Look N times and show all that was seen (default: 1)." },
    { "interval", OPT_DELAY, "SECONDS", "Time between samples (default: 0.1)." },
    { "timeout", OPT_TIMEOUT, "SECONDS", "How long nodes may take to answer (default: 6)." },
    { "dot", OPT_DOT, NULL, "Print the tree as a graph, for graphviz." },
    { "svg", OPT_SVG, NULL, "The same as a picture (needs graphviz)." },
    { NULL, 0, NULL, NULL }
};

#define JOBS "NSPACE is a job's name, RANKS are like 0,3-5, or * (all), or @node (those of the " \
             "launcher's node); without them it is all ranks of the only job."

const struct tool_command tool_commands[] = {
    { "servers", "", "List the servers of this host that tools can connect to.", NULL, NULL,
      0, 0, TOOL_ALONE, tool_servers },
    { "ps", "[NSPACE]", "List jobs and their ranks.", NULL, ps_options, 0, 1, 0, tool_ps },
    { "query", "KEY... [QUALIFIER=VALUE...]", "Ask for the values of keys.",
      "A key is a name of the PMIx standard (PMIX_QUERY_NAMESPACES, or query_namespaces) or its "
      "string (pmix.qry.ns). Qualifiers hold for all keys; the same one may be given again. "
      "pmix_tool keys lists what this server answers.",
      NULL, 1, -1, 0, tool_query },
    { "proctable", "[NSPACE]", "Print the process table of a job, as debuggers have it.",
      "Without NSPACE it is that of the only job.", query_options, 0, 1, 0, tool_proctable },
    { "status", "[NSPACE]", "Say what has become of a job.",
      "States: created, spawned, held, running, ending, node-lost, terminated; all that it has been "
      "in, but held only while it is. Without NSPACE it is the only job.", status_options, 0, 1, 0,
      tool_job_status },
    { "log", "TEXT...", "Write a line to where an administrator or the user reads it.", NULL,
      log_options, 1, -1, 0, tool_log },
    { "events", "", "Follow events as they happen, until interrupted or the server ends.",
      "Without -c it is all that the server raises, and what ranks raise and no handler takes.",
      events_options, 0, 0, 0, tool_events },
    { "output", "[NSPACE[:RANKS]]", "Follow what ranks write, until the job ends.", JOBS,
      output_options, 0, 1, 0, tool_output },
    { "signal", "SIGNAL [NSPACE[:RANKS]]", "Send a signal to ranks.", JOBS, NULL, 1, 2, 0,
      tool_signal },
    { "kill", "[NSPACE[:RANKS]]", "Kill ranks.", JOBS, NULL, 0, 1, 0, tool_kill },
    { "pause", "[NSPACE[:RANKS]]", "Stop ranks.", JOBS, NULL, 0, 1, 0, tool_pause },
    { "resume", "[NSPACE[:RANKS]]", "Let ranks go on that are stopped, or held at their start.",
      JOBS, NULL, 0, 1, 0, tool_resume },
    { "release", "[NSPACE[:RANKS]]", "Let ranks go on that are held for a debugger.",
      JOBS " Ranks that wait at a place of their own hear it as PMIX_DEBUGGER_RELEASE.", NULL, 0, 1,
      0, tool_release },
    { "spawn", "PROGRAM [ARG...]", "Start a job, show its output and end as it does.",
      "Its first rank reads what comes here. SIGINT and SIGTERM are sent to the job; a second "
      "one kills it. Without any server it is started as by mpiexec_lite.", spawn_options, 1, -1,
      TOOL_WORDS | TOOL_ALONE, tool_spawn },
    { "top", "[NSPACE]", "Watch ranks: state, cpu, memory, and the PMI command that each waits "
                         "in.", NULL, top_options, 0, 1, 0, tool_top },
    { "stack", "[NSPACE[:RANKS]]", "Show where ranks are: their stacks, merged into one tree.",
      JOBS " Each process is stopped for some milliseconds, one that is stopped stays so. It ends "
      "with 1 where no rank has a stack.", stack_options, 0, 1, 0, tool_stack },
    { "keys", "", "List the keys that this server answers.", NULL, NULL, 0, 0, 0, tool_keys },
    { "attributes", "[FUNCTION]", "List the attributes that this server supports, by function "
                                  "(PMIx_Spawn, ...).", NULL, NULL, 0, 1, 0, tool_attributes },
    { NULL, NULL, NULL, NULL, NULL, 0, 0, 0, NULL }
};

const struct tool_option tool_common[] = {
    { "pid", OPT_PID, "PID", "The server (launcher) that is this process." },
    { "nspace", OPT_SERVER, "NAME", "The server that has this job or name." },
    { "uri", OPT_URI, "URI", "The server there: unix:PATH, ssh:HOST[:PID] or "
                             "munge:HOST:PORT[:PID]." },
    { "system", OPT_SYSTEM, NULL, "The system's server." },
    { "system-first", OPT_SYSTEM_FIRST, NULL, "The system's server, or else the user's." },
    { "json", OPT_JSON, NULL, "JSON for programs; of what follows, one document a line." },
    { "help", OPT_HELP, NULL, "Print this, or what a command does." },
    { "version", OPT_VERSION, NULL, "Print the version." },
    { NULL, 0, NULL, NULL }
};

/* --- what went wrong --------------------------------------------------- */

int tool_fail(int status, const char *fmt, ...)
{
    va_list args;

    fflush(stdout);
    flockfile(stderr);
    fputs("pmix_tool: ", stderr);
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);
    funlockfile(stderr);
    return status;
}

int tool_failed(const char *what, pmix_status_t status)
{
    const char *meaning = status_meaning(status), *words = reason_of(status);
    struct buf safe = BUF_INIT;

    buf_escaped(&safe, words, strlen(words));
    tool_fail(0, "%s: %s (%s, %d)%s%s", what, meaning ? meaning : "failed",
              PMIx_Error_string(status), status, safe.len ? ": " : "",
              safe.len ? buf_bytes(&safe) : "");
    buf_clear(&safe);
    return status == PMIX_ERR_UNREACH || status == PMIX_ERR_LOST_CONNECTION ? STATUS_NO_SERVER
                                                                            : STATUS_FAILED;
}

static int run(struct tool *t)
{
    int status = t->command->flags & TOOL_ALONE ? 0 : tool_connect(t);

    if (status)
        return status;
    status = t->command->run(t);
    if (tool_written() && !status)
        status = STATUS_FAILED;
    if (PMIx_Initialized())
        PMIx_tool_finalize();
    return status;
}

/* A standard descriptor that is closed must not become the connection, which would get what
 * is printed.  Reading from this one, and writing to it, fails. */
static void fill_descriptors(void)
{
    int fd;

    do
        fd = open("/dev/null", O_PATH);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

int main(int argc, char **argv)
{
    struct tool t = { .command = NULL };
    int status;

    fill_descriptors();
    signal(SIGPIPE, SIG_IGN);            /* a write that fails says why */
    status = tool_read(&t, argc, argv);
    if (status >= 0)
        status = status ? status : tool_written();
    else
        status = run(&t);
    free(t.given);
    return status;
}

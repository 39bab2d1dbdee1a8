/* pmix_flow - a tool that starts a launcher and the job through it (RFC0023, indirect launch),
 * by the standard's calls alone.
 *
 * pmix_flow HOW [-s] [-l] [-d] [-k] [-n] [-h PLACE] [-e NAME=VALUE] [-a KEY=AGENT] [-c DAEMON] [-t DAEMON]
 *           [-v WORD] -- LAUNCHER...
 *
 * HOW: what is in the launcher's environment, how it is run, how it is met:
 *     uri-fork, uri-system, uri-spawn, uri-alias   our URI: it calls us
 *     pause-fork, pause-old                        it waits for our call
 *     direct                                       no launcher, a program: direct launch
 * -s: be connected to a server before.  -l: leave while it waits.  -k: die by SIGKILL once ranks are
 * held.  -n: PMIX_NOHUP.  -d: give directives before it is let go, not with that.  Directives: -h where
 * ranks are held, -e a variable, -a an agent, -c a program as a daemon on each node.  -t: the same by a
 * spawn, once ranks are held.  -v: in the environment of a launcher that is spawned.
 * Tells what happens, a line each; exits with 0, or 1 and the name of a status on stderr. */
#define _GNU_SOURCE
#include <pmix_tool.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef PMIX_SPAWN_LAUNCHER
#define PMIX_SPAWN_LAUNCHER "pmix.spwn.launcher"
#endif
#define LITE_DAEMONS "lite.dbg.apps"

struct told {                            /* an event */
    pmix_status_t status;
    pmix_nspace_t nspace;
    char place[64];
    int code;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t some = PTHREAD_COND_INITIALIZER;
static struct told told[64];
static int ntold;

static pmix_proc_t me, launcher;
static const char *how, *hold, *env, *agent, *daemon_path, *co_daemon, *variable;
static int server_first, leave, early, die, nohup;
static char **words;
static pid_t child;

static void must(const char *what, pmix_status_t rc)
{
    if (rc < 0) {
        fprintf(stderr, "%s: %s\n", what, PMIx_Error_string(rc));
        exit(1);
    }
}

static void say(const char *what, const char *a, const char *b)
{
    printf("%s%s%s%s%s\n", what, *a ? " " : "", a, *b ? " " : "", b);
    fflush(stdout);
}

/* --- events ---------------------------------------------------------------------- */

static void on_event(size_t id, pmix_status_t status, const pmix_proc_t *source,
                     pmix_info_t info[], size_t ninfo, pmix_info_t *results, size_t nresults,
                     pmix_event_notification_cbfunc_fn_t done, void *cbdata)
{
    struct told *t;

    (void)id;
    (void)results;
    (void)nresults;
    pthread_mutex_lock(&lock);
    t = &told[ntold++ % 64];
    memset(t, 0, sizeof(*t));
    t->status = status;
    PMIX_LOAD_NSPACE(t->nspace, source->nspace);
    for (size_t i = 0; i < ninfo; i++) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_BREAKPOINT))
            snprintf(t->place, sizeof(t->place), "%s", info[i].value.data.string);
        if (PMIX_CHECK_KEY(&info[i], PMIX_EXIT_CODE))
            t->code = info[i].value.data.integer;
    }
    pthread_cond_broadcast(&some);
    pthread_mutex_unlock(&lock);
    if (done)
        done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

/* The first of that status and job ("": any). */
static struct told await(pmix_status_t status, const char *nspace)
{
    struct told t;
    int i = 0;

    pthread_mutex_lock(&lock);
    for (;;) {
        for (i = 0; i < ntold; i++)
            if (told[i].status == status &&
                (!*nspace || !strcmp(told[i].nspace, nspace)))
                break;
        if (i < ntold)
            break;
        pthread_cond_wait(&some, &lock);
    }
    t = told[i];
    pthread_mutex_unlock(&lock);
    return t;
}

static void listen_for(pmix_status_t status)
{
    must("PMIx_Register_event_handler",
         PMIx_Register_event_handler(&status, 1, NULL, 0, on_event, NULL, NULL));
}

/* --- directives ------------------------------------------------------------------ */

static void add_daemon(void *list)
{
    pmix_data_array_t *apps;
    pmix_app_t *app;
    pmix_status_t rc;
    uint16_t one = 1;

    PMIX_DATA_ARRAY_CREATE(apps, 1, PMIX_APP);
    app = apps->array;
    app->cmd = strdup(co_daemon);
    PMIX_ARGV_APPEND(rc, app->argv, co_daemon);
    app->maxprocs = 1;
    app->ninfo = 1;
    PMIX_INFO_CREATE(app->info, 1);
    PMIX_INFO_LOAD(&app->info[0], PMIX_DEBUG_DAEMONS_PER_NODE, &one, PMIX_UINT16);
    PMIX_INFO_LIST_ADD(rc, list, LITE_DAEMONS, apps, PMIX_DATA_ARRAY);
    must("PMIX_INFO_LIST_ADD", rc);
    PMIX_DATA_ARRAY_FREE(apps);
}

/* An array of infos. */
static void make_directives(pmix_data_array_t *out)
{
    const char *key = !hold ? NULL : !strcmp(hold, "exec") ? PMIX_DEBUG_STOP_ON_EXEC
                                                           : PMIX_DEBUG_STOP_IN_INIT;
    pmix_status_t rc = PMIX_SUCCESS;
    pmix_envar_t var;
    void *list;

    PMIX_INFO_LIST_START(list);
    if (key)
        PMIX_INFO_LIST_ADD(rc, list, key, NULL, PMIX_BOOL);
    if (env) {
        char *name = strdup(env), *value = strchr(name, '=');

        *value++ = 0;
        PMIX_ENVAR_LOAD(&var, name, value, ':');
        PMIX_INFO_LIST_ADD(rc, list, PMIX_SET_ENVAR, &var, PMIX_ENVAR);
        PMIX_ENVAR_DESTRUCT(&var);
        free(name);
    }
    if (agent) {
        char *name = strdup(agent), *value = strchr(name, '=');

        *value++ = 0;
        PMIX_INFO_LIST_ADD(rc, list, name, value, PMIX_STRING);
        free(name);
    }
    if (co_daemon)
        add_daemon(list);
    if (nohup)
        PMIX_INFO_LIST_ADD(rc, list, PMIX_NOHUP, NULL, PMIX_BOOL);
    PMIX_INFO_LIST_CONVERT(rc, list, out);
    if (rc == PMIX_ERR_EMPTY)
        PMIX_DATA_ARRAY_CONSTRUCT(out, 0, PMIX_INFO);
    PMIX_INFO_LIST_RELEASE(list);
}

/* --- the launcher ---------------------------------------------------------------- */

static char *own_uri(void)
{
    pmix_value_t *v = NULL;
    char *uri;

    must("PMIx_Get of the URI", PMIx_Get(&me, PMIX_MYSERVER_URI, NULL, 0, &v));
    uri = strdup(v->data.string);
    PMIX_VALUE_RELEASE(v);
    return uri;
}

static void start_by_fork(const char *name, const char *value)
{
    child = fork();
    if (child == 0) {
        setenv(name, value, 1);
        execvp(words[0], words);
        _exit(127);
    }
}

static void start_by_system(const char *name, const char *value)
{
    char *text = NULL, *line = PMIx_Argv_join(words, ' ');

    if (asprintf(&text, "%s=%s %s &", name, value, line) < 0 || system(text) != 0)
        exit(1);
    free(line);
    free(text);
}

static void spawn_words(int n, const pmix_info_t *infos, size_t ninfo, pmix_nspace_t nspace)
{
    pmix_app_t *app;

    PMIX_APP_CREATE(app, 1);
    app->cmd = strdup(words[0]);
    PMIX_ARGV_COPY(app->argv, words);
    app->maxprocs = n;
    if (variable)
        must("PMIx_Argv_append_nosize", PMIx_Argv_append_nosize(&app->env, variable));
    must("PMIx_Spawn", PMIx_Spawn(infos, ninfo, app, 1, nspace));
    PMIX_APP_FREE(app, 1);
}

static void start_by_spawn(const char *attribute)
{
    pmix_data_array_t dirs = PMIX_DATA_ARRAY_STATIC_INIT;
    pmix_nspace_t nspace;
    pmix_info_t info[2];

    make_directives(&dirs);
    PMIX_INFO_LOAD(&info[0], attribute, NULL, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[1], PMIX_LAUNCH_DIRECTIVES, &dirs, PMIX_DATA_ARRAY);
    spawn_words(1, info, 2, nspace);
    PMIX_INFO_DESTRUCT(&info[1]);
    PMIX_DATA_ARRAY_DESTRUCT(&dirs);
}

/* Where no launcher runs, the library starts one. */
static void start_direct(void)
{
    pmix_data_array_t dirs = PMIX_DATA_ARRAY_STATIC_INIT;
    pmix_nspace_t nspace;

    make_directives(&dirs);
    spawn_words(2, dirs.array, dirs.size, nspace);
    PMIX_DATA_ARRAY_DESTRUCT(&dirs);
    say("spawned", nspace, "");
}

static void attach(void)
{
    pmix_info_t info[2];
    uint32_t tries = 60;

    PMIX_INFO_LOAD(&info[0], PMIX_SERVER_PIDINFO, &child, PMIX_PID);
    PMIX_INFO_LOAD(&info[1], PMIX_CONNECT_MAX_RETRIES, &tries, PMIX_UINT32);
    if (!strcmp(how, "pause-old")) {
        must("PMIx_tool_connect_to_server", PMIx_tool_connect_to_server(&me, info, 2));
        return;
    }
    must("PMIx_tool_attach_to_server", PMIx_tool_attach_to_server(&me, &launcher, info, 2));
    must("PMIx_tool_set_server", PMIx_tool_set_server(&launcher, NULL, 0));
}

static void be_called(void)
{
    pmix_info_t wait;

    PMIX_INFO_LOAD(&wait, PMIX_WAIT_FOR_CONNECTION, NULL, PMIX_BOOL);
    PMIX_PROC_LOAD(&launcher, "", PMIX_RANK_WILDCARD);
    must("PMIx_tool_set_server", PMIx_tool_set_server(&launcher, &wait, 1));
}

static int is_spawned(void)
{
    return !strcmp(how, "uri-spawn") || !strcmp(how, "uri-alias");
}

static void meet(void)
{
    char *uri = !strncmp(how, "uri", 3) ? own_uri() : NULL;
    int direct = !strcmp(how, "direct");
    pmix_proc_t *servers = NULL;
    size_t n = 0;

    if (!strcmp(how, "uri-fork"))
        start_by_fork(PMIX_LAUNCHER_RNDZ_URI, uri);
    else if (!strcmp(how, "uri-system"))
        start_by_system(PMIX_LAUNCHER_RNDZ_URI, uri);
    else if (!strcmp(how, "uri-spawn"))
        start_by_spawn(PMIX_SPAWN_TOOL);
    else if (!strcmp(how, "uri-alias"))
        start_by_spawn(PMIX_SPAWN_LAUNCHER);
    else if (direct)
        start_direct();
    else
        start_by_fork("PMIX_LAUNCHER_PAUSE_FOR_TOOL", "1");
    if (!uri && !direct)
        attach();
    else if (uri && (server_first || !is_spawned()))
        be_called();
    free(uri);
    must("PMIx_tool_get_servers", PMIx_tool_get_servers(&servers, &n));
    launcher = servers[0];
    say("met", launcher.nspace, "");
    PMIX_PROC_FREE(servers, n);
}

/* --- the flow -------------------------------------------------------------------- */

static void ask_support(void)
{
    pmix_info_t *results;
    pmix_query_t query;
    pmix_status_t rc;
    size_t n;

    PMIX_QUERY_CONSTRUCT(&query);
    PMIX_ARGV_APPEND(rc, query.keys, PMIX_QUERY_SPAWN_SUPPORT);
    PMIX_ARGV_APPEND(rc, query.keys, PMIX_QUERY_DEBUG_SUPPORT);
    must("PMIx_Query_info", rc = PMIx_Query_info(&query, 1, &results, &n));
    PMIX_QUERY_DESTRUCT(&query);
    for (size_t i = 0; i < n; i++)
        say("support", results[i].key, results[i].value.data.string);
    PMIX_INFO_FREE(results, n);
}

/* Of the launcher (more: with directives), or a job's ranks. */
static void release(const pmix_proc_t *whom, pmix_data_array_t *dirs)
{
    pmix_info_t info[2];

    PMIX_INFO_LOAD(&info[0], PMIX_EVENT_CUSTOM_RANGE, whom, PMIX_PROC);
    if (dirs)
        PMIX_INFO_LOAD(&info[1], PMIX_LAUNCH_DIRECTIVES, dirs, PMIX_DATA_ARRAY);
    must("PMIx_Notify_event",
         PMIx_Notify_event(PMIX_DEBUGGER_RELEASE, &me, PMIX_RANGE_CUSTOM, info, dirs ? 2 : 1,
                           NULL, NULL));
    PMIX_INFO_DESTRUCT(&info[0]);
    if (dirs)
        PMIX_INFO_DESTRUCT(&info[1]);
}

static void let_go(void)
{
    pmix_data_array_t dirs = PMIX_DATA_ARRAY_STATIC_INIT;
    make_directives(&dirs);
    release(&launcher, is_spawned() || early || !dirs.size ? NULL : &dirs);
    PMIX_DATA_ARRAY_DESTRUCT(&dirs);
}

/* One on each node of the job, which ends when it has looked. */
static void run_daemons(const char *job)
{
    pmix_nspace_t nspace;
    pmix_info_t info[3];
    pmix_proc_t target;
    pmix_app_t *app;
    uint16_t one = 1;

    PMIX_PROC_LOAD(&target, job, PMIX_RANK_WILDCARD);
    PMIX_APP_CREATE(app, 1);
    app->cmd = strdup(daemon_path);
    app->maxprocs = 1;
    PMIX_INFO_LOAD(&info[0], PMIX_DEBUGGER_DAEMONS, NULL, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[1], PMIX_DEBUG_TARGET, &target, PMIX_PROC);
    PMIX_INFO_LOAD(&info[2], PMIX_DEBUG_DAEMONS_PER_NODE, &one, PMIX_UINT16);
    must("PMIx_Spawn of daemons", PMIx_Spawn(info, 3, app, 1, nspace));
    PMIX_INFO_DESTRUCT(&info[1]);
    PMIX_APP_FREE(app, 1);
    say("daemons", nspace, "");
    await(PMIX_EVENT_JOB_END, nspace);
    say("daemons-end", nspace, "");
}

static void flow(void)
{
    struct told t;
    pmix_proc_t job;
    char code[16];

    meet();
    if (strcmp(how, "direct")) {
        listen_for(PMIX_LAUNCHER_READY);
        await(PMIX_LAUNCHER_READY, "");
        say("ready", "", "");
    }
    ask_support();
    listen_for(PMIX_READY_FOR_DEBUG);
    listen_for(PMIX_EVENT_JOB_START);
    listen_for(PMIX_EVENT_JOB_END);
    listen_for(PMIX_ERR_LOST_CONNECTION);
    if (leave) {
        say("leaving", "", "");
        fflush(stdout);
        _exit(0);
    }
    if (strcmp(how, "direct")) {
        let_go();
        say("released", "", "");
    }
    t = await(PMIX_EVENT_JOB_START, "");
    if (hold) {
        t = await(PMIX_READY_FOR_DEBUG, "");
        say("held", t.nspace, t.place);
        if (die)
            kill(getpid(), SIGKILL);
        if (daemon_path)
            run_daemons(t.nspace);
        PMIX_PROC_LOAD(&job, t.nspace, PMIX_RANK_WILDCARD);
        release(&job, NULL);
    }
    t = await(PMIX_EVENT_JOB_END, t.nspace);
    snprintf(code, sizeof(code), "%d", t.code);
    say("end", t.nspace, code);
    await(PMIX_ERR_LOST_CONNECTION, "");
    say("lost", "", "");
}

static void init(void)
{
    pmix_data_array_t dirs = PMIX_DATA_ARRAY_STATIC_INIT;
    pmix_info_t alone;
    pmix_value_t v;

    PMIX_INFO_LOAD(&alone, PMIX_TOOL_DO_NOT_CONNECT, NULL, PMIX_BOOL);
    must("PMIx_tool_init", PMIx_tool_init(&me, &alone, server_first ? 0 : 1));
    if (!early)
        return;
    make_directives(&dirs);
    v.type = PMIX_DATA_ARRAY;
    v.data.darray = &dirs;
    must("PMIx_Store_internal", PMIx_Store_internal(&me, PMIX_LAUNCH_DIRECTIVES, &v));
    PMIX_DATA_ARRAY_DESTRUCT(&dirs);
}

int main(int argc, char **argv)
{
    int c, status = 0;

    how = argc > 1 ? argv[1] : "";
    optind = 2;
    while ((c = getopt(argc, argv, "+sldknh:e:a:t:c:v:")) != -1)
        switch (c) {
        case 's': server_first = 1; break;
        case 'l': leave = 1; break;
        case 'd': early = 1; break;
        case 'k': die = 1; break;
        case 'n': nohup = 1; break;
        case 'h': hold = optarg; break;
        case 'e': env = optarg; break;
        case 'a': agent = optarg; break;
        case 't': daemon_path = optarg; break;
        case 'c': co_daemon = optarg; break;
        case 'v': variable = optarg; break;
        default: return 2;
        }
    words = argv + optind;
    init();
    flow();
    if (child > 0 && waitpid(child, &status, 0) == child) {
        char code[16];

        snprintf(code, sizeof(code), "%d", WIFEXITED(status) ? WEXITSTATUS(status) : 128);
        say("status", code, "");
    }
    must("PMIx_tool_finalize", PMIx_tool_finalize());
    return 0;
}

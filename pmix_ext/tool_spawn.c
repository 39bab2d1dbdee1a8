/* tool_spawn.c - pmix_tool spawn: a job that one has started is fed and followed to its end.
 * Where there is no server at all, this becomes a launcher, which does the same. */
#include "pmix_ext/tool.h"

#include "pmix_ext/hold_text.h"
#include "pmix_ext/lite_keys.h"
#include "wire/rank_list.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LAUNCHER "mpiexec_lite"

enum { JOB_INFOS = 14, HELD_MOST = 100000 };  /* ranks of --hold, one by one */

struct spawning {
    struct follow   follow;
    pthread_mutex_t lock;
    pmix_nspace_t   nspace;              /* "": not known yet */
    bool            closed;              /* there is no more input */
    atomic_bool     feeding;             /* the server has some that it has not taken yet */
    char            input[32 << 10];
    struct ended { pmix_nspace_t nspace; int code; } *ended;     /* owned: jobs */
    size_t          n;
};

/* --- the end of the job ------------------------------------------------ */

/* A short job may have ended before its name is known.  The lock is held. */
static void look(struct spawning *s)
{
    for (size_t i = 0; *s->nspace && i < s->n; i++)
        if (!strcmp(s->ended[i].nspace, s->nspace))
            follow_end(&s->follow, s->ended[i].code);
}

static void note_end(struct spawning *s, const char *nspace, int code)
{
    struct ended *ended;

    pthread_mutex_lock(&s->lock);
    ended = realloc(s->ended, (s->n + 1) * sizeof *ended);
    if (ended) {
        s->ended = ended;
        PMIX_LOAD_NSPACE(ended[s->n].nspace, nspace);
        ended[s->n++].code = code;
    } else {
        follow_end(&s->follow, tool_fail(STATUS_OWN, "out of memory"));
    }
    look(s);
    pthread_mutex_unlock(&s->lock);
}

static void on_job_end(size_t id, pmix_status_t status, const pmix_proc_t *source,
                       pmix_info_t infos[], size_t n, pmix_info_t *results, size_t nresults,
                       pmix_event_notification_cbfunc_fn_t done, void *cbdata)
{
    pmix_data_array_t all = { .type = PMIX_INFO, .size = n, .array = infos };
    const pmix_value_t *code = tool_find(&all, PMIX_EXIT_CODE);

    (void)id;
    (void)status;
    (void)results;
    (void)nresults;
    note_end(tool_object(infos, n), source->nspace,
             code && code->type == PMIX_INT ? code->data.integer : STATUS_OWN);
    done(PMIX_SUCCESS, NULL, 0, NULL, NULL, cbdata);
}

/* --- starting ---------------------------------------------------------- */

/* --hold PLACE[:RANKS]; the launcher looks at the ranks once more.  0, or the exit status. */
static int add_hold(const char *text, pmix_info_t *info)
{
    size_t n = strcspn(text, ":");
    const char *key = hold_key_of(text, n), *at = text + n + 1;
    int first, last, got = 0;
    pmix_data_array_t *a;
    pmix_rank_t *ranks;

    if (!key || (text[n] && !*at))
        return tool_fail(STATUS_USAGE, "--hold: '%s' is none of exec, init, app, or one of them and "
                         ":RANKS", text);
    if (!text[n] || !strcmp(at, "*") || !strcmp(at, "all")) {
        PMIX_INFO_LOAD(info, key, NULL, PMIX_BOOL);
        return 0;
    }
    PMIX_INFO_CONSTRUCT(info);
    PMIX_LOAD_KEY(info->key, key);
    info->value.type = PMIX_DATA_ARRAY;
    PMIX_DATA_ARRAY_CREATE(a, HELD_MOST, PMIX_PROC_RANK);
    info->value.data.darray = a;
    if (!a || !a->array)
        return tool_fail(STATUS_OWN, "out of memory");
    ranks = a->array;
    a->size = 0;
    while ((got = rank_list_next(&at, &first, &last)) > 0)
        for (; first <= last; first++) {
            if (a->size == HELD_MOST)
                return tool_fail(STATUS_USAGE, "--hold: more than %d ranks; all?", HELD_MOST);
            ranks[a->size++] = (pmix_rank_t)first;
        }
    return got < 0 ? tool_fail(STATUS_USAGE, "--hold: '%s': ranks are like 0,3-5", text) : 0;
}

/* A number from 1 on, of an option that may lack.  0, or the exit status. */
static int add_number(const struct tool *t, int option, const char *key, pmix_data_type_t type,
                      pmix_info_t *infos, size_t *n)
{
    uint32_t wide;
    uint16_t number;
    double value;

    if (!tool_has(t, option))
        return 0;
    if (tool_number(t, option, 1, 1, &value) || value > UINT16_MAX)
        return STATUS_USAGE;
    wide = number = (uint16_t)value;
    PMIX_INFO_LOAD(&infos[(*n)++], key, type == PMIX_UINT16 ? (void *)&number : (void *)&wide, type);
    return 0;
}

/* --target and what goes with it, --daemons: nothing if there is none.  0, or the exit status. */
static int add_daemons(const struct tool *t, pmix_info_t *infos, size_t *n)
{
    const char *target = tool_value(t, OPT_TARGET), *ranks = target ? strchr(target, ':') : NULL;
    pmix_proc_t proc = { .rank = PMIX_RANK_WILDCARD };
    size_t len = !target ? 0 : ranks ? (size_t)(ranks - target) : strlen(target);
    int status;

    if (len > PMIX_MAX_NSLEN || (target && !len))
        return tool_fail(STATUS_USAGE, "--target: '%.40s' names no job", target);
    if (target) {
        memcpy(proc.nspace, target, len);
        PMIX_INFO_LOAD(&infos[(*n)++], PMIX_DEBUG_TARGET, &proc, PMIX_PROC);
    }
    if (ranks && strcmp(ranks, ":*"))
        PMIX_INFO_LOAD(&infos[(*n)++], LITE_DAEMONS_RANKS, ranks + 1, PMIX_STRING);
    if (target || tool_has(t, OPT_DAEMONS))
        PMIX_INFO_LOAD(&infos[(*n)++], PMIX_DEBUGGER_DAEMONS, NULL, PMIX_BOOL);
    if (tool_has(t, OPT_DETACH))         /* daemons, and a job that is held */
        PMIX_INFO_LOAD(&infos[(*n)++], PMIX_NOHUP, NULL, PMIX_BOOL);
    status = add_number(t, OPT_PER_NODE, PMIX_DEBUG_DAEMONS_PER_NODE, PMIX_UINT16, infos, n);
    if (!status)
        status = add_number(t, OPT_PER_PROC, PMIX_DEBUG_DAEMONS_PER_PROC, PMIX_UINT16, infos, n);
    return status ? status : add_number(t, OPT_STRIDE, LITE_DAEMONS_STRIDE, PMIX_UINT32, infos, n);
}

static int add_infos(const struct tool *t, pmix_info_t *infos, size_t *count)
{
    pmix_proc_t first = { .rank = 0 };
    bool off = false;
    int status = 0;
    size_t n = 0;

    if (tool_has(t, OPT_HOSTS))
        PMIX_INFO_LOAD(&infos[n++], PMIX_HOST, tool_value(t, OPT_HOSTS), PMIX_STRING);
    if (tool_has(t, OPT_DETACH)) {
        PMIX_INFO_LOAD(&infos[n++], PMIX_FWD_STDOUT, &off, PMIX_BOOL);
        PMIX_INFO_LOAD(&infos[n++], PMIX_FWD_STDERR, &off, PMIX_BOOL);
    } else {
        PMIX_INFO_LOAD(&infos[n++], PMIX_FWD_STDOUT, NULL, PMIX_BOOL);
        PMIX_INFO_LOAD(&infos[n++], PMIX_FWD_STDERR, NULL, PMIX_BOOL);
        PMIX_INFO_LOAD(&infos[n++], PMIX_STDIN_TGT, &first, PMIX_PROC);
    }
    if (tool_has(t, OPT_HOLD))
        status = add_hold(tool_value(t, OPT_HOLD), &infos[n++]);
    if (!status)
        status = add_daemons(t, infos, &n);
    *count = n;
    return status;
}

/* 0, or the exit status. */
static int read_app(const struct tool *t, pmix_app_t *app)
{
    const char *dir = tool_value(t, OPT_WDIR);
    pmix_status_t status = PMIX_SUCCESS;
    double count;

    if (tool_number(t, OPT_COUNT, 1, 1, &count))
        return STATUS_USAGE;
    app->maxprocs = count < 1e9 ? (int)count : 1000000000;
    app->cmd = strdup(t->argv[0]);
    app->cwd = dir ? strdup(dir) : NULL;
    app->argv = PMIx_Argv_copy(t->argv);
    for (size_t i = 0; i < t->ngiven && status == PMIX_SUCCESS; i++) {
        if (t->given[i].id != OPT_ENV)
            continue;
        if (!strchr(t->given[i].arg, '='))
            return tool_fail(STATUS_USAGE, "--env: '%s' is not NAME=VALUE", t->given[i].arg);
        PMIX_ARGV_APPEND(status, app->env, t->given[i].arg);
    }
    if (!app->cmd || !app->argv || (dir && !app->cwd) || status != PMIX_SUCCESS)
        return tool_fail(STATUS_OWN, "out of memory");
    return 0;
}

static int start(const struct tool *t, pmix_nspace_t nspace)
{
    pmix_info_t infos[JOB_INFOS] = { 0 };
    pmix_status_t said = PMIX_SUCCESS;
    pmix_app_t app;
    size_t n;
    int status;

    PMIX_APP_CONSTRUCT(&app);
    status = read_app(t, &app);
    if (!status) {
        status = add_infos(t, infos, &n);
        if (!status)
            said = PMIx_Spawn(infos, n, &app, 1, nspace);
        if (said != PMIX_SUCCESS) {
            tool_failed(t->argv[0], said);
            status = STATUS_OWN;
        }
        for (size_t i = 0; i < n; i++)
            PMIX_INFO_DESTRUCT(&infos[i]);
    }
    PMIX_APP_DESTRUCT(&app);
    return status;
}

/* --- following --------------------------------------------------------- */

static void tell(const char *nspace, const char *key, int signo)
{
    pmix_info_t directive;
    pmix_status_t status;
    pmix_proc_t all;

    PMIX_LOAD_PROCID(&all, nspace, PMIX_RANK_WILDCARD);
    PMIX_INFO_LOAD(&directive, key, signo ? &signo : NULL, signo ? PMIX_INT : PMIX_BOOL);
    status = PMIx_Job_control(&all, 1, &directive, 1, NULL, NULL);
    if (status != PMIX_SUCCESS && status != PMIX_OPERATION_SUCCEEDED)
        tool_failed(nspace, status);
    PMIX_INFO_DESTRUCT(&directive);
}

/* The server has taken what it was given; or nobody reads it. */
static void on_fed(pmix_status_t status, void *cbdata)
{
    struct spawning *s = cbdata;

    s->closed = s->closed || status != PMIX_SUCCESS;
    s->feeding = false;
    follow_stir(&s->follow);
}

static void feed(struct spawning *s)
{
    pmix_byte_object_t bytes = { .bytes = s->input };
    pmix_proc_t target;
    ssize_t n = read(STDIN_FILENO, s->input, sizeof s->input);

    if (n < 0 && errno == EINTR)
        return;
    bytes.size = n > 0 ? (size_t)n : 0;
    s->closed = n <= 0;
    s->feeding = true;
    PMIX_LOAD_PROCID(&target, s->nspace, 0);
    if (PMIx_IOF_push(&target, 1, &bytes, NULL, 0, on_fed, s) != PMIX_SUCCESS)
        s->closed = true;
}

/* Signals are the job's; who sends one twice means it. */
static void wait_for_end(struct spawning *s)
{
    int what, before = 0;

    while (!s->follow.ended) {
        s->follow.input = s->feeding || s->closed ? -1 : STDIN_FILENO;
        what = follow_wait(&s->follow, -1);
        if (what == FOLLOW_INPUT)
            feed(s);
        else if (what && before)
            tell(s->nspace, PMIX_JOB_CTRL_KILL, 0);
        else if (what)
            tell(s->nspace, PMIX_JOB_CTRL_SIGNAL, what);
        before = what > 0 ? what : before;
    }
}

static int follow_job(const struct tool *t, struct spawning *s, struct output *o)
{
    static const pmix_status_t code = PMIX_EVENT_JOB_END;
    pmix_proc_t mine = { .rank = PMIX_RANK_WILDCARD };   /* of jobs that this tool spawns */
    pmix_nspace_t nspace;
    int status = follow_connection(&s->follow, STATUS_OWN);

    if (!status)
        status = tool_register(&code, 1, on_job_end, s);
    if (!status)
        status = output_pull(o, &mine, 1);
    if (!status)
        status = start(t, nspace);
    if (status)
        return status == STATUS_USAGE ? status : STATUS_OWN;
    pthread_mutex_lock(&s->lock);
    PMIX_LOAD_NSPACE(s->nspace, nspace);
    look(s);
    pthread_mutex_unlock(&s->lock);
    wait_for_end(s);
    return s->follow.status;
}

static int attached(const struct tool *t)
{
    struct spawning s = { .lock = PTHREAD_MUTEX_INITIALIZER };
    struct output *o;
    int status;

    if (follow_start(&s.follow))
        return STATUS_OWN;
    o = output_new(&s.follow, t->json, tool_has(t, OPT_RAW));
    status = o ? follow_job(t, &s, o) : tool_fail(STATUS_OWN, "out of memory");
    follow_end(&s.follow, status);
    PMIx_tool_finalize();                /* after which nothing is called any more */
    output_free(o);
    follow_stop(&s.follow);
    free(s.ended);
    return status;
}

static int detached(const struct tool *t)
{
    pmix_nspace_t nspace;
    int status = start(t, nspace);

    if (status)
        return status;
    if (t->json)
        return tool_document(json_pack("{s:o}", "nspace", tool_json_text(nspace)));
    puts(nspace);
    return 0;
}

/* --- without a server -------------------------------------------------- */

/* The launcher beside this program, or else the one in PATH. */
static void run_launcher(char **words)
{
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path);
    char *slash = n > 0 && n < (ssize_t)sizeof path ? memrchr(path, '/', (size_t)n) : NULL;

    if (slash && path + sizeof path - slash > (ptrdiff_t)strlen(LAUNCHER) + 1) {
        memcpy(slash + 1, LAUNCHER, sizeof LAUNCHER);
        execv(path, words);
    }
    execvp(LAUNCHER, words);
}

static int add_word(char ***words, const char *option, const char *value)
{
    if (!value)
        return 0;
    return PMIx_Argv_append_nosize(words, option) != PMIX_SUCCESS ||
           PMIx_Argv_append_nosize(words, value) != PMIX_SUCCESS;
}

/* As it would be without this program.  Returns only if that cannot be. */
static int become_launcher(const struct tool *t)
{
    char **words = NULL;
    int bad = PMIx_Argv_append_nosize(&words, LAUNCHER) != PMIX_SUCCESS;

    if (!tool_has(t, OPT_RAW))
        bad |= PMIx_Argv_append_nosize(&words, "-l") != PMIX_SUCCESS;
    bad |= add_word(&words, "-n", tool_value(t, OPT_COUNT));
    bad |= add_word(&words, "-hosts", tool_value(t, OPT_HOSTS));
    bad |= add_word(&words, "-wdir", tool_value(t, OPT_WDIR));
    bad |= add_word(&words, "-hold", tool_value(t, OPT_HOLD));
    for (size_t i = 0; i < t->ngiven; i++)
        if (t->given[i].id == OPT_ENV)
            bad |= add_word(&words, "-env", t->given[i].arg);
    bad |= PMIx_Argv_append_nosize(&words, "--") != PMIX_SUCCESS;
    for (char **word = t->argv; *word; word++)
        bad |= PMIx_Argv_append_nosize(&words, *word) != PMIX_SUCCESS;
    if (bad)
        return tool_fail(STATUS_OWN, "out of memory");
    run_launcher(words);
    return tool_fail(STATUS_OWN, LAUNCHER ": %s", strerror(errno));
}

/* The library starts a launcher then, which goes on without this program. */
static int detached_launcher(struct tool *t)
{
    pmix_info_t alone;
    pmix_status_t said;

    PMIX_INFO_LOAD(&alone, PMIX_TOOL_DO_NOT_CONNECT, NULL, PMIX_BOOL);
    said = PMIx_tool_init(&t->me, &alone, 1);
    PMIX_INFO_DESTRUCT(&alone);
    return said == PMIX_SUCCESS ? detached(t) : tool_failed("the library", said);
}

static int without_server(struct tool *t)
{
    if (tool_has(t, OPT_TARGET))
        return tool_fail(STATUS_OWN, "there is no server here, and so no job for --target");
    if (tool_has(t, OPT_DETACH))
        return detached_launcher(t);
    if (t->json)
        return tool_fail(STATUS_OWN, "there is no server here, and so nobody who keeps what ranks "
                         "write until it can be followed as JSON; --detach, or no --json, starts "
                         LAUNCHER);
    return become_launcher(t);
}

int tool_spawn(struct tool *t)
{
    int status;

    if (tool_is_alone(t, &status))
        return without_server(t);
    if (status)
        return status == STATUS_USAGE ? STATUS_USAGE : STATUS_OWN;
    return tool_has(t, OPT_DETACH) ? detached(t) : attached(t);
}

/* pmix_host.c - a resource manager that is the host of its own server, for tests: does each
 * word of its command line, and says what came of it.
 *
 *     application         PMIx_server_setup_application; its infos, released
 *     only:envars         the same, with a directive for them alone
 *     register            PMIx_server_register_nspace with the maps
 *     regex               the same, with maps as PMIX_REGEX; numbers: as PMIX_UINT32
 *     add:RANK            PMIx_server_register_client
 *     local               PMIx_server_setup_local_support with those infos
 *     begin               the same, and nobody waits for its callback
 *     fork:RANK           PMIx_server_setup_fork; the environment
 *     client:RANK         PMIx_server_deregister_client
 *     nspace              PMIx_server_deregister_nspace
 *     wait                until there is a line on stdin
 *     crash               ends at once
 *
 * MAP and RANKS of the environment are the two maps.  No word: what is not begun is refused. */
#include <pmix_server.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    pthread_mutex_t lock;
    pthread_cond_t  came;
    int             calls;               /* callbacks that came */
    pmix_status_t   status;
    pmix_info_t    *infos;               /* a copy */
    size_t          n;
    pthread_t       thread;
} got = { .lock = PTHREAD_MUTEX_INITIALIZER, .came = PTHREAD_COND_INITIALIZER };

static const pmix_nspace_t job = "job.7";

static void come(pmix_status_t status)
{
    pthread_mutex_lock(&got.lock);
    if (got.calls && !pthread_equal(got.thread, pthread_self()))
        puts("another thread");
    got.thread = pthread_self();
    got.status = status;
    got.calls++;
    pthread_cond_signal(&got.came);
    pthread_mutex_unlock(&got.lock);
}

static void on_op(pmix_status_t status, void *cbdata)
{
    (void)cbdata;
    come(status);
}

static void on_application(pmix_status_t status, pmix_info_t info[], size_t ninfo, void *data,
                           pmix_op_cbfunc_t release, void *cbdata)
{
    (void)data;
    PMIX_INFO_CREATE(got.infos, ninfo);
    for (got.n = 0; got.n < ninfo; got.n++)
        PMIX_INFO_XFER(&got.infos[got.n], &info[got.n]);
    if (release)
        release(PMIX_SUCCESS, cbdata);
    come(status);
}

/* What a call has answered, or its callback. */
static void await(const char *what, pmix_status_t rc, int before)
{
    pthread_mutex_lock(&got.lock);
    while (rc == PMIX_SUCCESS && got.calls == before)
        pthread_cond_wait(&got.came, &got.lock);
    if (rc == PMIX_SUCCESS)
        rc = got.status;
    pthread_mutex_unlock(&got.lock);
    printf("%s %s\n", what, PMIx_Error_string(rc));
}

static int calls(void)
{
    int n;

    pthread_mutex_lock(&got.lock);
    n = got.calls;
    pthread_mutex_unlock(&got.lock);
    return n;
}

static void add_map(pmix_info_t *info, const char *key, const char *name,
                    pmix_status_t (*generate)(const char *, char **))
{
    char *map = NULL;

    generate(getenv(name), &map);
    PMIX_INFO_LOAD(info, key, map, PMIX_STRING);
    free(map);
}

static void with_maps(const char *what)
{
    pmix_info_t *maps;
    size_t n = strcmp(what, "only:envars") ? 2 : 3;
    int before = calls();

    PMIX_INFO_CREATE(maps, n);
    if (n > 2)
        PMIX_INFO_LOAD(&maps[2], PMIX_SETUP_APP_ENVARS, NULL, PMIX_BOOL);
    add_map(&maps[0], PMIX_NODE_MAP, "MAP", PMIx_generate_regex);
    add_map(&maps[1], PMIX_PROC_MAP, "RANKS", PMIx_generate_ppn);
    if (!strcmp(what, "register"))
        await(what, PMIx_server_register_nspace(job, 1, maps, n, NULL, NULL), before);
    else
        await("application",
              PMIx_server_setup_application(job, maps, n, on_application, NULL), before);
    PMIX_INFO_FREE(maps, n);
}

static void register_regex(void)
{
    static const struct { const char *key, *name; } maps[] = { { PMIX_NODE_MAP, "MAP" }, { PMIX_PROC_MAP, "RANKS" } };
    pmix_info_t infos[2];

    for (int i = 0; i < 2; i++)
        PMIX_INFO_LOAD(&infos[i], maps[i].key, getenv(maps[i].name), PMIX_REGEX);
    await("regex", PMIx_server_register_nspace(job, 1, infos, 2, NULL, NULL), calls());
    for (int i = 0; i < 2; i++)
        PMIX_INFO_DESTRUCT(&infos[i]);
}

static void register_numbers(void)
{
    uint32_t one = 1;
    pmix_info_t info;

    PMIX_INFO_LOAD(&info, PMIX_PROC_MAP, &one, PMIX_UINT32);
    await("numbers", PMIx_server_register_nspace(job, 1, &info, 1, NULL, NULL), calls());
    await("numbers", PMIx_server_setup_local_support(job, &info, 1, on_op, NULL), calls());
}

static void show_infos(void)
{
    for (size_t i = 0; i < got.n; i++)
        if (got.infos[i].value.type == PMIX_ENVAR)
            printf("  %s %s=%s\n", got.infos[i].key, got.infos[i].value.data.envar.envar,
                   got.infos[i].value.data.envar.value);
        else
            printf("  %s %s\n", got.infos[i].key, got.infos[i].value.data.string);
}

static void fork_rank(const pmix_proc_t *proc)
{
    char **env = NULL;

    PMIx_Argv_append_nosize(&env, "LIST=y");
    PMIx_Argv_append_nosize(&env, "BYTES=\xff");
    printf("fork %s", PMIx_Error_string(PMIx_server_setup_fork(proc, &env)));
    for (int i = 0; env[i]; i++)
        printf(" %s", env[i]);
    puts("");
    PMIx_Argv_free(env);
}

static void act(const char *word)
{
    const char *rank = strchr(word, ':');
    pmix_proc_t proc;
    int before = calls();

    PMIX_LOAD_PROCID(&proc, job, rank ? (pmix_rank_t)atoi(rank + 1) : 0);
    if (!strcmp(word, "application") || !strcmp(word, "only:envars")) {
        with_maps(word);
        show_infos();
    } else if (!strcmp(word, "register")) {
        with_maps(word);
    } else if (!strcmp(word, "regex")) {
        register_regex();
    } else if (!strcmp(word, "numbers")) {
        register_numbers();
    } else if (!strncmp(word, "add:", 4)) {
        await(word, PMIx_server_register_client(&proc, getuid(), getgid(), NULL, on_op, NULL), before);
    } else if (!strcmp(word, "local")) {
        await(word, PMIx_server_setup_local_support(job, got.infos, got.n, on_op, NULL), before);
    } else if (!strcmp(word, "begin")) {
        printf("begin %s\n", PMIx_Error_string(PMIx_server_setup_local_support(
            job, got.infos, got.n, on_op, NULL)));
    } else if (!strncmp(word, "fork", 4)) {
        fork_rank(&proc);
    } else if (!strncmp(word, "client", 6)) {
        PMIx_server_deregister_client(&proc, on_op, NULL);
        await(word, PMIX_SUCCESS, before);
    } else if (!strcmp(word, "nspace")) {
        PMIx_server_deregister_nspace(job, on_op, NULL);
        await(word, PMIX_SUCCESS, before);
    } else if (!strcmp(word, "wait")) {
        fflush(stdout);
        getchar();
    } else if (!strcmp(word, "crash")) {
        fflush(stdout);
        kill(getpid(), SIGKILL);
    }
}

static void refused(void)
{
    act("application");
    act("local");
    act("add:0");
    act("fork:0");
    act("client:0");
    act("nspace");
    printf("finalize %s\n", PMIx_Error_string(PMIx_server_finalize()));
}

int main(int argc, char **argv)
{
    pmix_server_module_t module = { 0 };

    setvbuf(stdout, NULL, _IOLBF, 0);    /* valgrind writes what a fork of us has not */
    if (argc == 1) {
        refused();
        return 0;
    }
    printf("init %s\n", PMIx_Error_string(PMIx_server_init(&module, NULL, 0)));
    for (int i = 1; i < argc; i++)
        act(argv[i]);
    printf("finalize %s\n", PMIx_Error_string(PMIx_server_finalize()));
    PMIX_INFO_FREE(got.infos, got.n);
    return 0;
}

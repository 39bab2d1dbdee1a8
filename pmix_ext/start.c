/* start.c - programs that a tool starts: ssh, and a launcher where none runs.  See find.h. */
#include "pmix_ext/find.h"

#include "pmix_ext/hold_text.h"
#include "pmix_ext/pmix_ext.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PATH = 4096, LOOKS = 3000 };      /* bytes of a path; looks for the launcher's entry, */
static const long PAUSE = 10000000;      /* this apart, ns */

void find_program(const char *name, char *path, size_t size)
{
    ssize_t n = readlink("/proc/self/exe", path, size - 1);
    char *slash;

    path[n > 0 ? n : 0] = 0;
    slash = strrchr(path, '/');
    if (slash && (size_t)(slash + 1 - path) + strlen(name) < size) {
        memcpy(slash + 1, name, strlen(name) + 1);
        if (access(path, X_OK) == 0)
            return;
    }
    snprintf(path, size, "%s", name);
}

struct manner {                          /* of a start */
    char *const *env;
    const char  *dir;                    /* NULL: ours */
    const int   *files;                  /* descriptors that it inherits */
    size_t       nfiles;
};

static _Noreturn void become(char *const argv[], const struct manner *m, int in, int out,
                             int errors)
{
    sigset_t none;

    setsid();                            /* Ctrl-C is the tool's affair */
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    for (size_t i = 0; i < m->nfiles; i++)
        if (fcntl(m->files[i], F_SETFD, 0) < 0)
            _exit(126);
    if (dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
        dup2(errors, STDERR_FILENO) < 0 || (m->dir && chdir(m->dir) < 0))
        _exit(126);
    execvpe(argv[0], argv, m->env);
    _exit(127);
}

/* The grandchild is nobody's to reap: this may be a library of a program that counts its
 * children. */
static pid_t start_so(char *const argv[], const struct manner *m, int in, int out, int errors,
                      struct err *e)
{
    pid_t pid, child = -1;
    int ends[2], status;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return err_set(e, ERR_OTHER, "cannot start %.80s: %s", argv[0], strerror(errno));
    pid = fork();
    if (pid == 0) {
        child = fork();
        if (child == 0)
            become(argv, m, in, out, errors);
        _exit(child < 0 || write(ends[1], &child, sizeof child) != sizeof child);
    }
    close(ends[1]);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (pid < 0 || read(ends[0], &child, sizeof child) != sizeof child)
        child = err_set(e, ERR_OTHER, "cannot start %.80s", argv[0]);
    close(ends[0]);
    return child;
}

pid_t find_start(char *const argv[], int in, int out, int errors, struct err *e)
{
    return start_so(argv, &(struct manner){ .env = environ }, in, out, errors, e);
}

/* --- the words of a launcher ------------------------------------------- */

/* Values of variables are in files without a name: a command line is there for all to read. */
struct words {
    char     **v;
    struct buf env;                      /* of the app that is being added */
    int       *files;                    /* owned, as each that is open */
    size_t     nfiles;
};

static void words_clear(struct words *w)
{
    for (size_t i = 0; i < w->nfiles; i++)
        close(w->files[i]);
    free(w->files);
    buf_clear(&w->env);
    PMIX_ARGV_FREE(w->v);
}

static void add(char ***words, const char *word)
{
    PMIx_Argv_append_nosize(words, word);
}

static const struct { const char *key, *option; } options[] = {
    { PMIX_WDIR, "-wdir" }, { PMIX_HOST, "-hosts" }, { PMIX_HOSTFILE, "-f" },
    { PMIX_FORKEXEC_AGENT, "-fork-agent" }, { PMIX_EXEC_AGENT, "-fork-agent" },
    { PMIX_SPAWN_LOCAL_FORK_AGENT, "-fork-agent" },
};

static pmix_status_t add_hold(char ***words, const char *place, const pmix_info_t *info,
                              struct err *e)
{
    struct buf text = BUF_INIT;
    bool good = hold_text(place, &info->value, &text) && !text.failed;

    if (good && text.len) {
        add(words, "-hold");
        add(words, buf_bytes(&text));
    }
    buf_clear(&text);
    if (good)
        return PMIX_SUCCESS;
    err_set(e, ERR_INVALID_VAL, "%s: want true, a rank, or an array of ranks", info->key);
    return info->value.type == PMIX_BOOL || hold_is_ranks(info->value.type)
           ? PMIX_ERR_BAD_PARAM : PMIX_ERR_TYPE_MISMATCH;
}

static pmix_status_t check_type(const pmix_info_t *info, pmix_data_type_t type, struct err *e)
{
    if (info->value.type == type)
        return PMIX_SUCCESS;
    err_set(e, ERR_INVALID_VAL, "%s: it has another type", info->key);
    return PMIX_ERR_TYPE_MISMATCH;
}

static pmix_status_t add_variable(struct buf *env, const pmix_info_t *info, struct err *e)
{
    const pmix_envar_t *x = &info->value.data.envar;
    pmix_status_t rc = check_type(info, PMIX_ENVAR, e);

    if (rc != PMIX_SUCCESS)
        return rc;
    if (!x->envar || !*x->envar || strchr(x->envar, '=') || !x->value) {
        err_set(e, ERR_INVALID_VAL, "%s: want a name and a value", info->key);
        return PMIX_ERR_BAD_PARAM;
    }
    buf_printf(env, "%s=%s", x->envar, x->value);
    buf_char(env, 0);
    return PMIX_SUCCESS;
}

static pmix_status_t add_info(struct words *w, const pmix_info_t *info, bool hold, struct err *e)
{
    const char *place = hold_place_of(info->key);
    pmix_status_t rc;

    if (place)
        return hold ? add_hold(&w->v, place, info, e) : PMIX_SUCCESS;
    if (PMIX_CHECK_KEY(info, PMIX_SET_ENVAR))
        return add_variable(&w->env, info, e);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        if (!PMIX_CHECK_KEY(info, options[i].key))
            continue;
        rc = check_type(info, PMIX_STRING, e);
        if (rc == PMIX_SUCCESS) {
            add(&w->v, options[i].option);
            add(&w->v, info->value.data.string);
        }
        return rc;
    }
    if (!PMIX_INFO_IS_REQUIRED(info))
        return PMIX_SUCCESS;
    err_set(e, ERR_INVALID_ARG, "%.100s is required, and means nothing to a new launcher",
            info->key);
    return PMIX_ERR_NOT_SUPPORTED;
}

static pmix_status_t add_infos(struct words *w, const pmix_info_t *infos, size_t n, bool hold,
                               struct err *e)
{
    pmix_status_t rc = PMIX_SUCCESS;

    for (size_t i = 0; i < n && rc == PMIX_SUCCESS; i++)
        rc = add_info(w, &infos[i], hold, e);
    return rc;
}

static void add_env(struct buf *to, char *const *env)
{
    for (; env && *env; env++)
        if (strchr(*env, '='))
            buf_add(to, *env, strlen(*env) + 1);
}

/* One above 2 that can be read from its beginning; or -1 and errno. */
static int make_file(const struct buf *text)
{
    int low = memfd_create("environment", MFD_CLOEXEC), fd = -1;

    if (low >= 0)
        fd = fcntl(low, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    for (size_t at = 0; fd >= 0 && at < text->len;) {
        ssize_t n = pwrite(fd, buf_bytes(text) + at, text->len - at, (off_t)at);

        if (n < 0) {
            close(fd);
            fd = -1;
        }
        at += n > 0 ? (size_t)n : 0;
    }
    if (low >= 0)
        close(low);
    return fd;
}

/* The variables of an app, which are complete. */
static pmix_status_t end_env(struct words *w, struct err *e)
{
    char number[16];
    int *more;

    if (!w->env.len && !w->env.failed)
        return PMIX_SUCCESS;
    more = w->env.failed ? NULL : reallocarray(w->files, w->nfiles + 1, sizeof *more);
    if (!more) {
        err_set(e, ERR_NOMEM, "no memory");
        return PMIX_ERR_NOMEM;
    }
    w->files = more;
    more[w->nfiles] = make_file(&w->env);
    if (more[w->nfiles] < 0) {
        err_set(e, ERR_OTHER, "no file for the environment: %s", strerror(errno));
        return PMIX_ERR_OUT_OF_RESOURCE;
    }
    buf_reset(&w->env);
    snprintf(number, sizeof number, "%d", more[w->nfiles++]);
    add(&w->v, "-envfile");
    add(&w->v, number);
    return PMIX_SUCCESS;
}

/* argv[0] is the program's name, as everywhere; a word ":" would end the program's words. */
static pmix_status_t add_command(char ***words, const pmix_app_t *app, struct err *e)
{
    if (!app->cmd || !*app->cmd) {
        err_set(e, ERR_INVALID_ARG, "an app without a command");
        return PMIX_ERR_BAD_PARAM;
    }
    add(words, app->cmd);
    for (char **word = app->argv && *app->argv ? app->argv + 1 : NULL; word && *word; word++) {
        if (!strcmp(*word, ":")) {
            err_set(e, ERR_INVALID_ARG, "%.100s: an argument ':' cannot be given to it", app->cmd);
            return PMIX_ERR_BAD_PARAM;
        }
        add(words, *word);
    }
    return PMIX_SUCCESS;
}

static pmix_status_t add_app(struct words *w, const pmix_app_t *app, bool hold, struct err *e)
{
    char number[16];
    pmix_status_t rc;

    snprintf(number, sizeof number, "%d", app->maxprocs > 0 ? app->maxprocs : 1);
    add(&w->v, "-n");
    add(&w->v, number);
    if (app->cwd) {
        add(&w->v, "-wdir");
        add(&w->v, app->cwd);
    }
    add_env(&w->env, app->env);
    rc = add_infos(w, app->info, app->ninfo, hold, e);
    if (rc == PMIX_SUCCESS)
        rc = end_env(w, e);
    return rc == PMIX_SUCCESS ? add_command(&w->v, app, e) : rc;
}

/* hold: those that say which ranks are held count. */
static pmix_status_t make_words(const pmix_info_t *infos, size_t ninfo, const pmix_app_t *apps,
                                size_t napps, bool hold, struct words *w, struct err *e)
{
    pmix_status_t rc = PMIX_SUCCESS;
    char path[PATH];

    find_program("mpiexec_lite", path, sizeof path);
    add(&w->v, path);
    for (size_t i = 0; i < napps && rc == PMIX_SUCCESS; i++) {
        if (i)
            add(&w->v, ":");
        rc = add_infos(w, infos, ninfo, hold, e);
        if (rc == PMIX_SUCCESS)
            rc = add_app(w, &apps[i], hold, e);
    }
    return rc;
}

/* --- a launcher -------------------------------------------------------- */

/* Whether this was said, and said to be false: what is not mentioned goes where the tool's own
 * output goes. */
static bool is_off(const pmix_info_t *infos, size_t n, const char *key)
{
    for (size_t i = 0; i < n; i++)
        if (PMIX_CHECK_KEY(&infos[i], key))
            return infos[i].value.type == PMIX_BOOL && !infos[i].value.data.flag;
    return false;
}

static pid_t start_words(char **words, const struct manner *m, const pmix_info_t *infos, size_t n,
                         struct err *e)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    pid_t pid = start_so(words, m, null, is_off(infos, n, PMIX_FWD_STDOUT) ? null : STDOUT_FILENO,
                         is_off(infos, n, PMIX_FWD_STDERR) ? null : STDERR_FILENO, e);

    if (null >= 0)
        close(null);
    return pid;
}

static pmix_status_t await(pid_t pid, struct found *f, struct err *e)
{
    struct find_wants wants = { .pid = pid };

    for (int i = 0; i < LOOKS; i++) {
        if (find_server(&wants, f, NULL) == PMIX_SUCCESS)
            return PMIX_SUCCESS;
        find_clear(f);
        if (!rendezvous_start_of(pid))
            break;
        nanosleep(&(struct timespec){ .tv_nsec = PAUSE }, NULL);
    }
    err_set(e, ERR_OTHER, "mpiexec_lite (process %d) has ended before it could be called: it could "
            "not start the job, or that was very short", (int)pid);
    return PMIX_ERR_JOB_FAILED_TO_LAUNCH;
}

/* --- a launcher of the caller's ---------------------------------------- */

static void unset_in(char ***env, const char *name)
{
    size_t n = strlen(name), to = 0;

    for (size_t i = 0; (*env)[i]; i++)
        if (!strncmp((*env)[i], name, n) && (*env)[i][n] == '=')
            free((*env)[i]);
        else
            (*env)[to++] = (*env)[i];
    (*env)[to] = NULL;
}

static void change(char ***env, const pmix_info_t *infos, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const pmix_value_t *v = &infos[i].value;

        if (PMIX_CHECK_KEY(&infos[i], PMIX_UNSET_ENVAR) && v->type == PMIX_STRING)
            unset_in(env, v->data.string);
        else if (PMIX_CHECK_KEY(&infos[i], PMIX_SET_ENVAR) && v->type == PMIX_ENVAR)
            PMIx_Setenv(v->data.envar.envar, v->data.envar.value, true, env);
    }
}

static bool has_uri(char *const *env)
{
    static const char name[] = PMIX_LAUNCHER_RNDZ_URI "=";

    while (env && *env && strncmp(*env, name, sizeof name - 1))
        env++;
    return env && *env;
}

/* Ours, with what is wanted; to be freed.  A URI of somebody else's in ours is not for it. */
static char **make_env(const pmix_info_t *infos, size_t ninfo, const pmix_app_t *app,
                       struct find_program *p)
{
    char **env = PMIx_Argv_copy(environ);

    if (!env)
        return NULL;
    unset_in(&env, PMIX_LAUNCHER_RNDZ_URI);
    change(&env, infos, ninfo);
    change(&env, app->info, app->ninfo);
    for (char **var = app->env; var && *var; var++) {
        char *name = strndup(*var, strcspn(*var, "="));

        if (name)
            PMIx_Setenv(name, strchr(*var, '=') + 1, true, &env);
        free(name);
    }
    if (p->uri && !has_uri(env))
        PMIx_Setenv(PMIX_LAUNCHER_RNDZ_URI, p->own, true, &env);
    p->uri = has_uri(env);
    return env;
}

static char **make_argv(const pmix_app_t *app)
{
    char **words = NULL;

    add(&words, app->cmd);
    for (char **word = app->argv && *app->argv ? app->argv + 1 : NULL; word && *word; word++)
        add(&words, *word);
    return words;
}

static bool are_variables(char *const *env)
{
    while (env && *env && **env != '=' && strchr(*env, '='))
        env++;
    return !env || !*env;
}

pmix_status_t find_start_program(const pmix_info_t *infos, size_t ninfo, const pmix_app_t *apps,
                                 size_t napps, struct find_program *p, struct err *e)
{
    struct manner manner = { 0 };
    char **words, **env;

    p->f = (struct found){ .fd = -1 };
    if (napps != 1 || !apps->cmd || !*apps->cmd || apps->maxprocs > 1) {
        err_set(e, ERR_INVALID_ARG, "%s: want one app of one process", PMIX_SPAWN_TOOL);
        return PMIX_ERR_BAD_PARAM;
    }
    if (!are_variables(apps->env)) {
        err_set(e, ERR_INVALID_ARG, "%s: env: want NAME=VALUE", PMIX_SPAWN_TOOL);
        return PMIX_ERR_BAD_PARAM;
    }
    words = make_argv(apps);
    env = make_env(infos, ninfo, apps, p);
    manner = (struct manner){ .env = env, .dir = apps->cwd };
    p->pid = words && env ? start_words(words, &manner, infos, ninfo, e) : -1;
    PMIX_ARGV_FREE(words);
    PMIX_ARGV_FREE(env);
    return p->pid <= 0 ? PMIX_ERR_JOB_FAILED_TO_LAUNCH
           : p->uri    ? PMIX_SUCCESS : await(p->pid, &p->f, e);
}

/* --- one of ours ------------------------------------------------------- */

pmix_status_t find_start_launcher(const pmix_info_t *infos, size_t ninfo, const pmix_app_t *apps,
                                  size_t napps, struct find_program *p, struct err *e)
{
    struct words w = { .env = BUF_INIT };
    char **env = PMIx_Argv_copy(environ);
    pmix_status_t rc;

    p->f = (struct found){ .fd = -1 };
    if (env && p->uri)
        PMIx_Setenv(PMIX_LAUNCHER_RNDZ_URI, p->own, true, &env);
    rc = !env ? PMIX_ERR_NOMEM
         : apps && napps ? make_words(infos, ninfo, apps, napps, !p->uri, &w, e)
                         : PMIX_ERR_BAD_PARAM;
    if (rc == PMIX_SUCCESS) {
        p->pid = start_words(w.v, &(struct manner){ .env = env, .files = w.files,
                                                    .nfiles = w.nfiles }, infos, ninfo, e);
        rc = p->pid <= 0 ? PMIX_ERR_JOB_FAILED_TO_LAUNCH
             : p->uri    ? PMIX_SUCCESS : await(p->pid, &p->f, e);
    }
    words_clear(&w);
    PMIX_ARGV_FREE(env);
    return rc;
}

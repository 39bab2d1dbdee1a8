/* sampler.c - where are the ranks of a job?  Their stacks, sampled on each node, as one tree.
 *
 *   cc sampler.c $(pkg-config --cflags --libs mpiexec_lite-pmix) -o sampler
 *   sampler PID [SAMPLES]
 *
 * PID is that of the job's launcher.  The sampler starts itself once on each node, as daemons of
 * the job (PMIX_DEBUGGER_DAEMONS).  Each takes the stacks of the ranks beside it, so many times,
 * and keeps those that differ; the first one gathers all, merges and prints them:
 *
 *   0-3 main at app.c:20
 *     0-1,3 MPI_Barrier
 *     2 compute at app.c:9
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE                      /* asprintf */
#endif
#include "pmix_ext_daemon.h"

#include <pthread.h>
#include <unistd.h>

/* A query of mpiexec_lite's, and what it tells of a rank (man pmix_ext-protocol). */
#define STACKS "lite.proc.stacks"
#define STACK  "lite.stack"
#define WHY    "lite.stack.why"          /* there is none */

enum { PAUSE = 100000 };                 /* us between samples */

static void check(const char *what, pmix_status_t status)
{
    if (status == PMIX_SUCCESS)
        return;
    fprintf(stderr, "sampler: %s: %s\n", what, PMIx_Error_string(status));
    exit(1);
}

/* Of the user's words. */
static int number(const char *word)
{
    char *end;
    long n = strtol(word, &end, 10);

    if (*end || n < 1 || n != (int)n) {
        fprintf(stderr, "sampler: '%s': a number from 1 on is wanted\n", word);
        exit(1);
    }
    return (int)n;
}

static void *need(void *memory)
{
    check("memory", memory ? PMIX_SUCCESS : PMIX_ERR_NOMEM);
    return memory;
}

/* --- samples: lines "RANK<TAB>FRAME<TAB>FRAME...", the outermost frame first --- */

static char **lines;
static size_t nlines;

/* Takes the line. */
static void add(char *line)
{
    for (size_t i = 0; i < nlines; i++)
        if (!strcmp(lines[i], line)) {
            free(line);
            return;
        }
    lines = need(realloc(lines, (nlines + 1) * sizeof *lines));
    lines[nlines++] = line;
}

static const char *path_of(const char *line)
{
    return strchr(line, '\t');
}

static int by_path(const void *a, const void *b)
{
    return strcmp(path_of(*(char *const *)a), path_of(*(char *const *)b));
}

static int by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* The ranks of some lines, each once: "0-2,5". */
static void print_ranks(char *const *v, size_t n)
{
    int *ranks = need(calloc(n, sizeof *ranks)), first, last;

    for (size_t i = 0; i < n; i++)
        ranks[i] = (int)strtol(v[i], NULL, 10);
    qsort(ranks, n, sizeof *ranks, by_number);
    for (size_t i = 0; i < n; putchar(i < n ? ',' : ' ')) {
        for (first = last = ranks[i]; i < n && ranks[i] <= last + 1; i++)
            last = ranks[i];
        printf(first == last ? "%d" : "%d-%d", first, last);
    }
    free(ranks);
}

static bool is_under(const char *path, const char *frame, size_t len)
{
    return len ? !strncmp(path, frame, len) && strchr("\t", path[len]) : !*path;
}

/* Lines in order of their paths, which are the same up to byte `at`: each of the next frames, with
 * its ranks, and what is below it. */
static void print_tree(char *const *v, size_t n, size_t at, int depth)
{
    for (size_t i = 0, end; i < n; i = end) {
        const char *frame = path_of(v[i]) + at;
        size_t len = *frame ? strcspn(frame + 1, "\t") + 1 : 0;

        for (end = i; end < n && is_under(path_of(v[end]) + at, frame, len); end++)
            ;
        if (!len)                        /* they end here */
            continue;
        printf("%*s", 2 * depth, "");
        print_ranks(v + i, end - i);
        printf("%.*s\n", (int)len - 1, frame + 1);
        print_tree(v + i, end - i, at + len, depth + 1);
    }
}

/* --- the daemon --------------------------------------------------------- */

/* One question: the answer is to be freed with *result. */
static const pmix_value_t *ask(const char *key, pmix_info_t *which, size_t nwhich,
                               pmix_info_t **result)
{
    pmix_query_t query = { .qualifiers = which, .nqual = nwhich };
    pmix_status_t status;
    size_t n = 0;

    PMIX_ARGV_APPEND(status, query.keys, key);
    status = PMIx_Query_info(&query, 1, result, &n);
    PMIX_ARGV_FREE(query.keys);
    check(key, status == PMIX_SUCCESS && n != 1 ? PMIX_ERR_NOT_FOUND : status);
    return &(*result)->value;
}

static const pmix_value_t *find(const pmix_info_t *rank, const char *key)
{
    const pmix_data_array_t *infos = rank->value.data.darray;

    for (size_t i = 0; i < infos->size; i++)
        if (PMIX_CHECK_KEY((pmix_info_t *)infos->array + i, key))
            return &((pmix_info_t *)infos->array + i)->value;
    return NULL;
}

/* What the server says of one rank: frames are lines, the last of which may have its end. */
static void add_rank(const pmix_info_t *rank)
{
    const pmix_value_t *who = find(rank, PMIX_PROCID), *stack = find(rank, STACK);
    char *line;

    stack = stack ? stack : find(rank, WHY);
    if (!who || !stack || asprintf(&line, "%u\t%s", who->data.proc->rank, stack->data.string) < 0)
        return;
    for (char *c = line; (c = strchr(c, '\n'));)
        *c = c[1] ? '\t' : '\0';
    add(line);
}

/* All of the target's ranks on this node, at one time. */
static void take(const struct pmix_daemon *d, const char *host)
{
    pmix_info_t which[2], *result;
    const pmix_data_array_t *ranks;

    PMIX_INFO_LOAD(&which[0], PMIX_NSPACE, d->target.nspace, PMIX_STRING);
    PMIX_INFO_LOAD(&which[1], PMIX_HOSTNAME, host, PMIX_STRING);
    ranks = ask(STACKS, which, 2, &result)->data.darray;
    for (size_t i = 0; i < ranks->size; i++)
        add_rank((pmix_info_t *)ranks->array + i);
    PMIX_INFO_FREE(result, 1);
    PMIX_INFO_DESTRUCT(&which[0]);
    PMIX_INFO_DESTRUCT(&which[1]);
}

/* The first daemon has what all of them have. */
static void merge(struct pmix_daemon *d)
{
    pmix_byte_object_t *all = NULL;
    char *text = NULL;
    size_t size;
    FILE *out = need(open_memstream(&text, &size));

    for (size_t i = 0; i < nlines; i++)
        fprintf(out, "%s\n", lines[i]);
    fclose(out);
    check("gather", pmix_daemon_gather(d, 0, text, size + 1, &all));
    for (uint32_t i = 1; all && i < d->size; i++)
        for (char *at = all[i].bytes, *end; (end = strchr(at, '\n')); at = end + 1)
            add(need(strndup(at, (size_t)(end - at))));
    PMIX_BYTE_OBJECT_FREE(all, all ? d->size : 0);
    free(text);
}

static int be_daemon(int samples)
{
    struct pmix_daemon d;
    pmix_value_t *host;

    check("a daemon", pmix_daemon_init(&d));
    check("the host", pmix_daemon_ask(&d, d.me.rank, PMIX_HOSTNAME, &host));
    for (int i = 0; i < samples; i++) {
        if (i)
            usleep(PAUSE);
        take(&d, host->data.string);
    }
    merge(&d);
    if (d.me.rank == 0) {
        qsort(lines, nlines, sizeof *lines, by_path);
        print_tree(lines, nlines, 0, 0);
    }
    PMIX_VALUE_RELEASE(host);
    return pmix_daemon_finalize(&d);
}

/* --- the front end ------------------------------------------------------ */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t here = PTHREAD_COND_INITIALIZER;
static int ended = -1;                   /* the daemons' exit status */

static void on_end(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[],
                   size_t ninfo, pmix_info_t *results, size_t nresults,
                   pmix_event_notification_cbfunc_fn_t done, void *cbdata)
{
    (void)id, (void)status, (void)source, (void)results, (void)nresults;
    pthread_mutex_lock(&lock);
    ended = 1;
    for (size_t i = 0; i < ninfo; i++)
        if (PMIX_CHECK_KEY(&info[i], PMIX_EXIT_CODE))
            ended = info[i].value.data.integer;
    pthread_cond_signal(&here);
    pthread_mutex_unlock(&lock);
    done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

static void start_daemons(const char *samples, pmix_proc_t *target, pmix_proc_t *daemons)
{
    const char *words[] = { "sampler", "--daemon", samples, NULL };
    pmix_info_t infos[4];
    pmix_nspace_t nspace;
    pmix_app_t app = { .cmd = need(realpath("/proc/self/exe", NULL)),
                       .argv = (char **)(uintptr_t)words, .maxprocs = 1 };

    PMIX_INFO_LOAD(&infos[0], PMIX_DEBUGGER_DAEMONS, NULL, PMIX_BOOL);
    PMIX_INFO_LOAD(&infos[1], PMIX_DEBUG_TARGET, target, PMIX_PROC);
    PMIX_INFO_LOAD(&infos[2], PMIX_FWD_STDOUT, NULL, PMIX_BOOL);
    PMIX_INFO_LOAD(&infos[3], PMIX_FWD_STDERR, NULL, PMIX_BOOL);
    check("the daemons", PMIx_Spawn(infos, 4, &app, 1, nspace));
    free(app.cmd);
    PMIX_LOAD_PROCID(daemons, nspace, PMIX_RANK_WILDCARD);
}

int main(int argc, char **argv)
{
    pmix_status_t end = PMIX_EVENT_JOB_END, lost = PMIX_ERR_LOST_CONNECTION;
    const char *samples = argc > 2 ? argv[2] : "1";
    pid_t pid;
    pmix_proc_t me, target, daemons;
    pmix_info_t info, *jobs;
    char *name;

    if (argc == 3 && !strcmp(argv[1], "--daemon"))
        return be_daemon(number(samples));
    check("PID [SAMPLES]", argc < 2 || argc > 3 ? PMIX_ERR_BAD_PARAM : PMIX_SUCCESS);
    pid = number(argv[1]);
    number(samples);                     /* which the daemons will need */
    PMIX_INFO_LOAD(&info, PMIX_SERVER_PIDINFO, &pid, PMIX_PID);
    check("the launcher", PMIx_tool_init(&me, &info, 1));
    PMIx_Register_event_handler(&lost, 1, NULL, 0, on_end, NULL, NULL);
    /* Its own job is the first. */
    name = ask(PMIX_QUERY_NAMESPACES, NULL, 0, &jobs)->data.string;
    name[strcspn(name, ",")] = '\0';
    PMIX_LOAD_PROCID(&target, name, PMIX_RANK_WILDCARD);
    start_daemons(samples, &target, &daemons);
    PMIX_INFO_LOAD(&info, PMIX_EVENT_AFFECTED_PROC, &daemons, PMIX_PROC);
    PMIx_Register_event_handler(&end, 1, &info, 1, on_end, NULL, NULL);
    pthread_mutex_lock(&lock);
    while (ended < 0)
        pthread_cond_wait(&here, &lock);
    pthread_mutex_unlock(&lock);
    PMIx_tool_finalize();
    return ended;
}

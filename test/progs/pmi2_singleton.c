/* pmi2_singleton.c - a program without a launcher that comes to need one.  Words, done in
 * turn:
 *
 *   put K V, attr K V, fixed K V, fence     PMI2_KVS_Put, ..._PutNodeAttr, _Put_read_only
 *   get K, getattr K, id                    print "K=V", "K has no value", "id=..."
 *   spawn PROGRAM WORD      one process of it; "spawned JOBID", or "spawn: CODE TEXT"
 *   connect JOB, publish N P, lookup N
 *   publish-kv K V N P, lookup-kv K V N     with an info pair, before it one that is unknown
 *   read K                  of the job that was spawned last; waits until it is there
 *   same                    print whether the job id is what it was at first
 *   threads N               N threads spawn "true", put and get at once
 *   fork                    a child that sleeps, with all our descriptors
 *   await                   a line from stdin
 *   initialized, finalize, init
 *   count                   children and open descriptors, as they were at first?
 *
 * Every line is written at once.  Links with our libpmi2 and its header. */
#ifdef SLURM_STYLE
#define PMI2_USE_SLURM_INFO
#endif
#include "pmi2.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char first[256], child[256];
static volatile sig_atomic_t children_ended;

static void say(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    putchar('\n');
    fflush(stdout);
}

static void told(const char *what, int rc)
{
    char text[300];

    snprintf(text, sizeof text, "%s", PMI2_Error_message());
    for (char *s = text; *s; s++)        /* of what came instead of PMI */
        if (*s == '\n')
            *s = ' ';
    if (rc)
        say("%s: %d %s", what, rc, text);
    else
        say("%s: ok", what);
}

static int start(const char *program, const char *word, char *jobid)
{
    const char *cmds[] = { program }, *args[] = { word, NULL }, **argvs[] = { args };
    int argcs[] = { 1 }, procs[] = { 1 }, ninfo[] = { 0 }, errors[1];
    const PMI2_info_t *infos[] = { NULL };

    return PMI2_Job_Spawn(1, cmds, argcs, argvs, procs, ninfo, infos, 0, NULL, jobid, 256, errors);
}

static void spawn(const char *program, const char *word)
{
    int rc = start(program, word, child);

    if (rc)
        told("spawn", rc);
    else
        say("spawned %s", child);
}

static void get(const char *job, const char *key, int wait)
{
    char value[2048];
    int len, rc;

    while ((rc = PMI2_KVS_Get(job, -1, key, value, sizeof value, &len)) && wait)
        usleep(10000);
    say(rc ? "%s has no value" : "%s=%s", key, value);
}

static void get_attr(const char *key)
{
    char value[2048];
    int found = 0;

    if (PMI2_Info_GetNodeAttr(key, value, sizeof value, &found, 0) || !found)
        say("%s has no value", key);
    else
        say("%s=%s", key, value);
}

static void *work(void *arg)
{
    int number = *(int *)arg, len, wrong = 0;
    char key[40], value[40], job[256], id[256];

    for (int i = 0; i < 20; i++) {
        snprintf(key, sizeof key, "key-%d-%d", number, i);
        wrong += PMI2_KVS_Put(key, key) != 0;
        if (i == number)
            wrong += start("true", "", job) != 0;
        wrong += PMI2_KVS_Fence() != 0;
        wrong += PMI2_KVS_Get(NULL, -1, key, value, sizeof value, &len) || strcmp(key, value);
        wrong += PMI2_Job_GetId(id, sizeof id) || strcmp(id, first);
        wrong += !PMI2_Initialized();
    }
    if (wrong)
        say("thread %d: %d things wrong: %s", number, wrong, PMI2_Error_message());
    return NULL;
}

static void threads(int n)
{
    pthread_t thread[16];
    int number[16];

    for (int i = 0; i < n; i++) {
        number[i] = i;
        pthread_create(&thread[i], NULL, work, &number[i]);
    }
    for (int i = 0; i < n; i++)
        pthread_join(thread[i], NULL);
    say("threads: done");
}

static int descriptors(void)
{
    DIR *d = opendir("/proc/self/fd");
    int n = -3;                          /* ".", ".." and its own */

    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

static void on_child(int signo)
{
    (void)signo;
    children_ended = 1;
}

static void await_line(void)
{
    char c = 0;

    while (c != '\n' && (read(0, &c, 1) == 1 || errno == EINTR))
        ;
}

static void fork_sleeper(void)
{
    if (fork() == 0) {
        sleep(3600);
        _exit(0);
    }
    say("forked");
}

static void publish_kv(char **w)
{
    const PMI2_keyval_t info[] = { { "colour", "red" }, { w[0], w[1] } };

    told("publish", PMI2_Nameserv_publish_kv(w[2], 2, info, w[3]));
}

static void lookup_kv(char **w)
{
    const PMI2_keyval_t info[] = { { "colour", "red" }, { w[0], w[1] } };
    char port[1025];
    int rc = PMI2_Nameserv_lookup_kv(w[2], 2, info, port, sizeof port);

    if (rc)
        told("lookup", rc);
    else
        say("%s=%s", w[2], port);
}

/* One command; how many words it has taken. */
static int run(char **w, int descriptors_then)
{
    char text[2048];
    int rc, spawned, size, rank, appnum;

    if (!strcmp(w[0], "put"))
        return told("put", PMI2_KVS_Put(w[1], w[2])), 3;
    if (!strcmp(w[0], "fixed"))
        return told("fixed", PMI2_KVS_Put_read_only(w[1], w[2])), 3;
    if (!strcmp(w[0], "attr"))
        return told("attr", PMI2_Info_PutNodeAttr(w[1], w[2])), 3;
    if (!strcmp(w[0], "publish"))
        return told("publish", PMI2_Nameserv_publish(w[1], NULL, w[2])), 3;
    if (!strcmp(w[0], "publish-kv"))
        return publish_kv(w + 1), 5;
    if (!strcmp(w[0], "lookup-kv"))
        return lookup_kv(w + 1), 4;
    if (!strcmp(w[0], "spawn"))
        return spawn(w[1], w[2]), 3;
    if (!strcmp(w[0], "get"))
        return get(NULL, w[1], 0), 2;
    if (!strcmp(w[0], "read"))
        return get(child, w[1], 1), 2;
    if (!strcmp(w[0], "getattr"))
        return get_attr(w[1]), 2;
    if (!strcmp(w[0], "connect"))
        return told("connect", PMI2_Job_Connect(w[1], NULL)), 2;
    if (!strcmp(w[0], "threads"))
        return threads(atoi(w[1])), 2;
    if (!strcmp(w[0], "lookup")) {
        rc = PMI2_Nameserv_lookup(w[1], NULL, text, sizeof text);
        return rc ? told("lookup", rc) : say("%s=%s", w[1], text), 2;
    }
    if (!strcmp(w[0], "fence"))
        told("fence", PMI2_KVS_Fence());
    else if (!strcmp(w[0], "id"))
        say("id=%s", PMI2_Job_GetId(text, sizeof text) ? "?" : text);
    else if (!strcmp(w[0], "same"))
        say("same: %d", PMI2_Job_GetId(text, sizeof text) == 0 && !strcmp(text, first));
    else if (!strcmp(w[0], "initialized"))
        say("initialized: %d", PMI2_Initialized());
    else if (!strcmp(w[0], "finalize"))
        told("finalize", PMI2_Finalize());
    else if (!strcmp(w[0], "init"))
        told("init", PMI2_Init(&spawned, &size, &rank, &appnum));
    else if (!strcmp(w[0], "count"))
        say("SIGCHLD %d, children %d, descriptors %+d", (int)children_ended,
            waitpid(-1, NULL, WNOHANG | __WALL) != -1, descriptors() - descriptors_then);
    else if (!strcmp(w[0], "fork"))
        fork_sleeper();
    else if (!strcmp(w[0], "await"))
        await_line();
    else
        say("%s?", w[0]);
    return 1;
}

int main(int argc, char **argv)
{
    int spawned = -1, size = -1, rank = -1, appnum = -1, then = descriptors();

    signal(SIGCHLD, on_child);
    if (PMI2_Init(&spawned, &size, &rank, &appnum))
        return 1;
    PMI2_Job_GetId(first, sizeof first);
    say("pid %d spawned %d size %d rank %d appnum %d", (int)getpid(), spawned, size, rank, appnum);
    for (int i = 1; i < argc;)
        i += run(argv + i, then);
    return 0;
}

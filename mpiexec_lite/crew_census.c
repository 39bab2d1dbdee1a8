/* crew_census.c - the ranks of a crew, what their processes use and where they are, for
 * census.h */
#include "mpiexec_lite/census.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Numbers of /proc/PID/stat behind the name, which may have blanks: proc(5), from the third
 * on. */
enum { STAT_UTIME = 14 - 3, STAT_STIME, STAT_PRIORITY = 18 - 3, STAT_THREADS = 20 - 3,
       STAT_VSIZE = 23 - 3, STAT_RSS, STAT_PROCESSOR = 39 - 3, STATS };

static bool read_stat(pid_t pid, char *text, size_t size)
{
    char path[40];
    size_t n;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    f = fopen(path, "re");
    if (!f)
        return false;
    n = fread(text, 1, size - 1, f);
    fclose(f);
    text[n] = '\0';
    return n > 0;
}

bool process_usage(pid_t pid, struct fact_usage *out)
{
    long long v[STATS] = { 0 };
    char text[1024], *at, *rest;
    double tick = 1e6 / (double)sysconf(_SC_CLK_TCK);
    char state;

    if (!read_stat(pid, text, sizeof text) || !(at = strrchr(text, ')')) || strlen(at) < 4)
        return false;
    state = at[2];
    at += 3;
    for (int i = 1; i < STATS; i++, at = rest) {
        v[i] = strtoll(at, &rest, 10);
        if (rest == at)
            return false;
    }
    *out = (struct fact_usage){ .rss = (uint64_t)v[STAT_RSS] * (uint64_t)sysconf(_SC_PAGESIZE),
                                .vsize = (uint64_t)v[STAT_VSIZE],
                                .cpu = (uint64_t)((double)(v[STAT_UTIME] + v[STAT_STIME]) * tick),
                                .threads = (uint32_t)v[STAT_THREADS],
                                .priority = (int32_t)v[STAT_PRIORITY],
                                .processor = (uint16_t)v[STAT_PROCESSOR], .state = state };
    return true;
}

/* Without links, so that it is what /proc says; of one that cannot be looked at, as it is. */
char *crew_path(const struct crew *c, size_t app, const char *cwd)
{
    const char *path = c->args.programs ? c->args.programs[app] : NULL;
    const char *dir = c->args.plan->apps[app].wdir;
    char text[PATH_MAX], *real;

    if (!path)
        return NULL;
    if (*path == '/')
        snprintf(text, sizeof text, "%s", path);
    else if (dir && *dir == '/')
        snprintf(text, sizeof text, "%s/%s", dir, path);
    else
        snprintf(text, sizeof text, "%s/%s%s%s", cwd, dir ? dir : "", dir ? "/" : "", path);
    real = realpath(text, NULL);
    return real ? real : strdup(text);
}

/* A command that a rank waits in, and since when: it has said nothing since. */
static void add_op(struct crew *c, const struct rank *r, struct fact_usage *u)
{
    const struct member *m = c->job ? job_member(c->job, r->rank) : NULL;
    const char *op = m ? member_waits_in(m) : NULL;

    if (!op)
        return;
    snprintf(u->op, sizeof u->op, "%s", op);
    if (r->conn.heard > 0)
        u->op_time = (uint32_t)((ev_now(c->node->loop) - r->conn.heard) * 1000.0);
}

void crew_census(struct crew *c, const char *cwd, bool usage, struct buf *out)
{
    struct census server = { .kind = CENSUS_SERVER, .used = usage };

    for (int i = 0; i < c->n; i++) {
        const struct rank *r = &c->ranks[i];
        struct census x = { .kind = CENSUS_RANK, .index = r->rank, .pid = r->pid, .pmi = r->pmi,
                            .held = crew_rank_is_held(c, r) };

        if (!r->pid)
            continue;
        x.used = usage && process_usage(r->pid, &x.usage);
        if (x.used)
            add_op(c, r, &x.usage);
        census_add(out, &x);
    }
    for (size_t a = 0; a < c->args.plan->napps; a++) {
        char *path = crew_path(c, a, cwd);

        if (path)
            census_add(out, &(struct census){ .kind = CENSUS_PROGRAM, .index = (int)a,
                                              .text = path, .text_len = strlen(path) });
        free(path);
    }
    if (usage && process_usage(getpid(), &server.usage))
        census_add(out, &server);
}

/* --- stacks ------------------------------------------------------------ */

size_t crew_pids(const struct crew *c, pid_t *pids)
{
    size_t n = 0;

    for (int i = 0; i < c->n; i++)
        if (c->ranks[i].pid > 0)
            pids[n++] = c->ranks[i].pid;
    return n;
}

/* The position of the rank whose process that is; -1. */
static int find_pid(const struct crew *c, pid_t pid)
{
    for (int i = 0; i < c->n; i++)
        if (pid > 0 && c->ranks[i].pid == pid)
            return i;
    return -1;
}

/* Names in it are as a program's file has them, whatever that is. */
static void add_clean(const struct census *x, struct buf *out)
{
    struct census clean = *x;
    char *text = strndup(x->text, x->text_len);

    if (!text)
        return;
    clean.text_len = strlen(text);
    for (char *at = text; *at; at++)
        if (*at != '\n' && (*at < ' ' || *at > '~'))
            *at = '?';
    clean.text = text;
    census_add(out, &clean);
    free(text);
}

static void add_late(const struct crew *c, const bool *told, struct buf *out)
{
    static const char why[] = "it was not reached in time";

    for (int i = 0; i < c->n; i++)
        if (c->ranks[i].pid > 0 && !told[i])
            census_add(out, &(struct census){ .kind = CENSUS_NO_STACK, .index = c->ranks[i].rank,
                                              .text = why, .text_len = sizeof why - 1 });
}

void crew_stacks(const struct crew *c, const char *data, size_t len, struct buf *out)
{
    bool *told = calloc((size_t)c->n + 1, sizeof *told);
    struct census x;

    while (told && census_next(&data, &len, &x, NULL) > 0) {
        int i = find_pid(c, x.pid);

        if (i < 0 || told[i] || (x.kind != CENSUS_STACK && x.kind != CENSUS_NO_STACK))
            continue;
        told[i] = true;
        x.index = c->ranks[i].rank;
        add_clean(&x, out);
    }
    if (told)
        add_late(c, told, out);
    free(told);
}

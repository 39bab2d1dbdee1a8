/* slurm.c - see slurm.h */
#include "mpiexec_lite/slurm.h"

#include "wire/buf.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS  "0123456789"
#define NAME    DIGITS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.-"
#define NODES   NAME "[],"

enum { MINUTE = 60, DAY = 24 * 60 * MINUTE };

/* --- words ------------------------------------------------------------- */

static int no_memory(struct err *e)
{
    return err_set(e, ERR_NOMEM, "no memory for a command");
}

static int add(struct strlist *out, const char *word, struct err *e)
{
    return strlist_add(out, word) < 0 ? no_memory(e) : 0;
}

/* "--NAME=VALUE", where there is one. */
static int add_text(struct strlist *out, const char *option, const char *value,
                    const char *letters, struct err *e)
{
    struct buf word = BUF_INIT;
    int rc;

    if (!value)
        return 0;
    if (!*value || strlen(value) > 4096 || value[strspn(value, letters)])
        return err_set(e, ERR_INVALID_VAL, "'%.60s' is nothing for salloc%s", value, option);
    buf_printf(&word, "%s%s", option, value);
    rc = word.failed ? no_memory(e) : add(out, buf_bytes(&word), e);
    buf_clear(&word);
    return rc;
}

static int add_number(struct strlist *out, const char *option, uint64_t n, struct err *e)
{
    char digits[24];

    snprintf(digits, sizeof digits, "%" PRIu64, n);
    return n ? add_text(out, option, digits, DIGITS, e) : 0;
}

/* Slurm counts minutes. */
static uint64_t minutes(uint32_t seconds)
{
    return ((uint64_t)seconds + MINUTE - 1) / MINUTE;
}

static int new_words(const struct sched_ask *a, const char *name, struct strlist *out,
                     struct err *e)
{
    return add(out, "salloc", e) < 0 || add(out, "--no-shell", e) < 0 ||
           add_text(out, "--job-name=", name, NAME, e) < 0 ||
           add_text(out, "--partition=", a->queue, NAME, e) < 0 ||
           add_text(out, "--nodelist=", a->nodes, NODES, e) < 0 ||
           add_number(out, "--nodes=", a->nnodes, e) < 0 ||
           add_number(out, "--ntasks=", a->ncpus, e) < 0 ||
           add_number(out, "--time=", minutes(a->time), e) < 0 ? -1 : 0;
}

static int extend_words(const struct sched_ask *a, struct strlist *out, struct err *e)
{
    return add(out, "scontrol", e) < 0 || add(out, "update", e) < 0 ||
           add_text(out, "JobId=", a->id, DIGITS, e) < 0 ||
           add_number(out, "TimeLimit=+", minutes(a->time), e) < 0 ? -1 : 0;
}

int slurm_words(const struct sched_ask *ask, const char *name, struct strlist *out,
                struct err *e)
{
    switch (ask->kind) {
    case SCHED_QUEUES:
        return add(out, "sinfo", e) < 0 || add(out, "--noheader", e) < 0 ||
               add(out, "--summarize", e) < 0 || add(out, "--format=%R|%a|%l|%F|%C", e) < 0
               ? -1 : 0;
    case SCHED_NEW:
        return new_words(ask, name, out, e);
    case SCHED_EXTEND:
        return extend_words(ask, out, e);
    case SCHED_RELEASE:
        return add(out, "scancel", e) < 0 || add_text(out, "", ask->id, DIGITS, e) < 0 ? -1 : 0;
    }
    return err_set(e, ERR_OTHER, "nothing that a scheduler is asked");
}

int slurm_show_words(const char *id, struct strlist *out, struct err *e)
{
    return add(out, "squeue", e) < 0 || add(out, "--noheader", e) < 0 ||
           add_text(out, "--jobs=", id, DIGITS, e) < 0 || add(out, "--format=%N|%L", e) < 0
           ? -1 : 0;
}

int slurm_cancel_words(const char *name, struct strlist *out, struct err *e)
{
    return add(out, "scancel", e) < 0 || add_text(out, "--name=", name, NAME, e) < 0 ? -1 : 0;
}

/* Where Slurm is, that stays. */
int slurm_environment(char *const *envp, struct strlist *out, struct err *e)
{
    static const char *const drops[] = { "SLURM_", "SALLOC_", "SINFO_", "SQUEUE_", "SCANCEL_",
                                         "SCONTROL_", "LC_", "LANG", NULL };

    for (; *envp; envp++) {
        const char *const *drop = drops;

        while (*drop && strncmp(*envp, *drop, strlen(*drop)) != 0)
            drop++;
        if ((!*drop || strncmp(*envp, "SLURM_CONF=", 11) == 0) && add(out, *envp, e) < 0)
            return -1;
    }
    return 0;
}

/* --- what is printed --------------------------------------------------- */

/* A number that ends where one of these bytes is, which is passed.  0, or -1. */
static int take_number(const char **text, const char *ends, uint64_t most, uint64_t *out)
{
    size_t n = strspn(*text, DIGITS);

    if (!n || n > 18 || (!(*text)[n] && *ends) || ((*text)[n] && !strchr(ends, (*text)[n])))
        return -1;
    *out = strtoull(*text, NULL, 10);
    *text += n + ((*text)[n] != '\0');
    return *out > most ? -1 : 0;
}

/* One to three numbers with ':' between them: hours, minutes and seconds, the last of them.
 * 0, or -1. */
static int take_clock(const char *at, const char *end, uint64_t *seconds)
{
    unsigned n = 0;
    size_t len;

    for (*seconds = 0;; at += len + 1) {
        len = strspn(at, DIGITS);
        if (!len || len > 6 || ++n > 3)
            return -1;
        *seconds = *seconds * MINUTE + strtoull(at, NULL, 10);
        if (at + len == end)
            return 0;
        if (at[len] != ':')
            return -1;
    }
}

/* "[DAYS-]HOURS:MINUTES:SECONDS", "MINUTES:SECONDS", up to `end`, which is passed; what is no
 * time ("infinite", "UNLIMITED", "NOT_SET", "INVALID") is none.  0, or -1. */
static int take_time(const char **text, const char *end, uint32_t *seconds)
{
    const char *at = *text;
    size_t days = strspn(at, DIGITS);
    uint64_t sum = 0, clock;

    *text = *end ? end + 1 : end;
    *seconds = 0;
    if (!days)
        return at < end && strspn(at, NAME) == (size_t)(end - at) ? 0 : -1;
    if (at[days] == '-' && days <= 6) {
        sum = strtoull(at, NULL, 10) * DAY;
        at += days + 1;
    }
    if (take_clock(at, end, &clock) < 0)
        return -1;
    sum += clock;
    *seconds = sum > UINT32_MAX ? UINT32_MAX : (uint32_t)sum;
    return 0;
}

/* "ALLOCATED/IDLE/OTHER/TOTAL", before one of these bytes, which is passed. */
static int take_counts(const char **text, const char *ends, uint64_t *idle, uint64_t *all)
{
    uint64_t other;

    return take_number(text, "/", UINT32_MAX, &other) < 0 ||
           take_number(text, "/", UINT32_MAX, idle) < 0 ||
           take_number(text, "/", UINT32_MAX, &other) < 0 ||
           take_number(text, ends, UINT32_MAX, all) < 0 ? -1 : 0;
}

/* "NAME|up|TIME|NODES|CPUS" and the end of the line. */
static int take_queue(const char **text, struct sched_queue *q)
{
    size_t name = strspn(*text, NAME), state;
    uint64_t idle, nodes, none;
    const char *end;

    if (!name || name >= sizeof q->name || (*text)[name] != '|')
        return -1;
    memcpy(q->name, *text, name);
    q->name[name] = '\0';
    *text += name + 1;
    state = strspn(*text, NAME);
    if (!state || (*text)[state] != '|')
        return -1;
    q->up = state == 2 && strncmp(*text, "up", 2) == 0;
    *text += state + 1;
    end = strchr(*text, '|');
    if (!end || take_time(text, end, &q->limit) < 0 ||
        take_counts(text, "|", &idle, &nodes) < 0 || take_counts(text, "\n", &none, &q->cpus) < 0)
        return -1;
    q->idle = (uint32_t)idle;
    q->nodes = (uint32_t)nodes;
    return 0;
}

int slurm_queues(const char *text, struct sched_queue **queues, size_t *n, struct err *e)
{
    struct sched_queue *v = NULL;
    size_t lines = 0;

    for (const char *at = text; (at = strchr(at, '\n')); at++)
        lines++;
    *queues = NULL;
    *n = 0;
    if (lines > SLURM_QUEUES)
        return err_set(e, ERR_LENGTH, "sinfo has named more than %d queues", SLURM_QUEUES);
    if (!(v = calloc(lines + 1, sizeof *v)))
        return err_set(e, ERR_NOMEM, "no memory for %zu queues", lines);
    while (*text && *n < lines && take_queue(&text, &v[*n]) == 0)
        *n += 1;
    if (*text) {
        free(v);
        return err_set(e, ERR_INVALID_VAL, "line %zu of what sinfo has said is not understood",
                       *n + 1);
    }
    *queues = v;
    return 0;
}

bool slurm_granted(const char *words, char id[SCHED_ID])
{
    static const char before[] = "Granted job allocation ";
    const char *at = strstr(words, before);
    size_t n = at ? strspn(at += sizeof before - 1, DIGITS) : 0;

    if (!n || n >= SCHED_ID || (at[n] && at[n] != '\n'))
        return false;
    memcpy(id, at, n);
    id[n] = '\0';
    return true;
}

int slurm_shown(char *text, uint32_t *time)
{
    size_t n = strspn(text, NODES);
    const char *at = text + n + 1;

    if (text[n] != '|' || take_time(&at, at + strcspn(at, "\n"), time) < 0 || *at)
        return -1;
    text[n] = '\0';
    return 0;
}

bool slurm_absent(const char *words)
{
    return strstr(words, "Could not establish a configuration source") != NULL;
}

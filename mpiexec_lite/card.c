/* card.c - see card.h */
#include "mpiexec_lite/card.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

enum { AWAITED_MAX = 6 };                /* groups of ranks that are named */

static void line(struct buf *out, const char *what, const char *text)
{
    buf_printf(out, "    %-8s ", what);
    buf_escaped(out, text, strlen(text));
    buf_char(out, '\n');
}

/* It names the rank again: between the message and this others may have written much. */
static void write_first(const struct launch *l, double after, struct buf *out)
{
    const struct rank_state *r = &l->ranks[l->culprit];
    char text[700], job[24] = "";
    static const char *const where[] = {
        [PMI_NONE] = "", [PMI_INSIDE] = ", inside PMI", [PMI_DONE] = ", after finalize"
    };

    if (r->unstarted)
        return;
    if (l->number)
        snprintf(job, sizeof job, "job %d: ", l->number);
    snprintf(text, sizeof text, "%srank %d on %s (pid %d, %s), %.3f s after the start%s", job,
             l->culprit, l->hostname(l->host, l->culprit), (int)r->pid, l->program(l->host, l->culprit), after,
             where[r->pmi]);
    line(out, "first", text);
}

/* The name stands once, before the first line. */
static void write_words(const char *words, struct buf *out)
{
    const char *name = "stderr", *end;

    for (; *words; words = *end ? end + 1 : end, name = "") {
        end = strchrnul(words, '\n');
        buf_printf(out, "    %-8s ", name);
        buf_escaped(out, words, (size_t)(end - words));
        buf_char(out, '\n');
    }
}

struct ends { int before, killed, after, lost, never, finalized; };

static struct ends count(const struct launch *l)
{
    struct ends n = { 0 };

    for (int i = 0; i < l->size; i++) {
        const struct rank_state *r = &l->ranks[i];

        if (i == l->culprit)
            continue;
        if (!r->pid || r->unstarted)
            n.never++;
        else if (r->lost)
            n.lost++;
        else if (!r->followed)
            n.before++;
        else if (WIFSIGNALED(r->wstatus))
            n.killed++;
        else
            n.after++;
        n.finalized += r->pmi == PMI_DONE;
    }
    return n;
}

static void say(struct buf *out, size_t start, int n, const char *what)
{
    if (n)
        buf_printf(out, "%s%d %s", out->len > start ? ", " : "", n, what);
}

static void write_others(const struct launch *l, struct buf *out)
{
    struct ends n = count(l);
    size_t start;

    if (l->size < 2)
        return;
    buf_str(out, "    others   ");
    start = out->len;
    say(out, start, n.before, "ended before");
    say(out, start, n.killed, "killed");
    say(out, start, n.after, "ended when told to");
    say(out, start, n.lost, "lost");
    say(out, start, n.never, "never ran");
    if (n.finalized)
        buf_printf(out, "; %d had finalized", n.finalized);
    buf_char(out, '\n');
}

/* --- who waited, and for whom ------------------------------------------ */

/* It ran when the job was ended, and could have come to the fence that others waited in. */
static bool is_awaited(const struct launch *l, int rank)
{
    const struct rank_state *r = &l->ranks[rank];

    return rank != l->culprit && r->pid && !r->unstarted && !r->lost && r->followed &&
           !r->fenced && r->pmi != PMI_DONE;
}

/* The last of the ranks from this one on that are awaited, on the same host. */
static int last_of(const struct launch *l, int rank, const char *host)
{
    while (rank + 1 < l->size && is_awaited(l, rank + 1) &&
           !strcmp(l->hostname(l->host, rank + 1), host))
        rank++;
    return rank;
}

static void name_awaited(const struct launch *l, struct buf *out)
{
    int groups = 0, more = 0;

    for (int i = 0, last; i < l->size; i = last + 1) {
        const char *host;

        last = i;
        if (!is_awaited(l, i))
            continue;
        host = l->hostname(l->host, i);
        last = last_of(l, i, host);
        if (groups++ >= AWAITED_MAX) {
            more += last - i + 1;
            continue;
        }
        buf_printf(out, last > i ? "%sranks %d-%d on " : "%srank %d on ",
                   groups > 1 ? ", " : "; not there: ", i, last);
        buf_escaped(out, host, strlen(host));
    }
    if (more)
        buf_printf(out, " and %d more", more);
}

static void write_fence(const struct launch *l, struct buf *out)
{
    int n = 0;

    for (int i = 0; i < l->size; i++)
        n += i != l->culprit && l->ranks[i].fenced;
    if (!n)
        return;
    buf_printf(out, "    fence    %d waited in one", n);
    name_awaited(l, out);
    buf_char(out, '\n');
}

void card_job(const struct launch *l, double after, const char *memory, const char *words,
              struct buf *out)
{
    if (l->culprit < 0)
        return;
    write_first(l, after, out);
    if (*memory)
        line(out, "memory", memory);
    write_words(words, out);
    write_others(l, out);
    write_fence(l, out);
}

void card_banner(const struct launch *l, struct buf *out)
{
    static const char line[] = "=========================================="
                               "=========================================\n";
    const struct rank_state *r = l->culprit < 0 ? NULL : &l->ranks[l->culprit];
    int status;

    if (!r || !l->culprit_failed || r->aborted || r->unstarted || !r->pid)
        return;
    status = WIFSIGNALED(r->wstatus) ? WTERMSIG(r->wstatus) : WEXITSTATUS(r->wstatus);
    buf_printf(out, "\n%s=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n"
               "=   PID %d RUNNING AT ", line, (int)r->pid);
    buf_escaped(out, l->hostname(l->host, l->culprit), strlen(l->hostname(l->host, l->culprit)));
    buf_printf(out, "\n=   EXIT CODE: %d\n=   CLEANING UP REMAINING PROCESSES\n"
               "=   YOU CAN IGNORE THE BELOW CLEANUP MESSAGES\n%s", status, line);
    if (WIFSIGNALED(r->wstatus))
        buf_printf(out, "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: %s (signal %d)\n",
                   strsignal(status), status);
}

void card_receipt(int left, int nodes, const char *lost, struct buf *out)
{
    buf_printf(out, "    %d process%s left on %d node%s", left, left == 1 ? "" : "es", nodes,
               nodes == 1 ? "" : "s");
    if (*lost) {
        buf_str(out, "; not confirmed: ");
        buf_escaped(out, lost, strlen(lost));
    }
    buf_char(out, '\n');
}

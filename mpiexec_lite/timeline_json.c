/* timeline_json.c - a timeline in Chrome's trace event format ("JSON Object Format"), which
 * Perfetto and chrome://tracing open: hosts are its processes, ranks their threads. */
#include "mpiexec_lite/svg.h"
#include "mpiexec_lite/timeline_impl.h"

#include <stdio.h>
#include <stdlib.h>

/* A file of more events would open slowly: then there are only the first rank of each host and
 * those that were waited for. */
enum { EVENTS_MAX = 500000, EVENTS_EACH = 10 };

struct writer {
    const struct timeline *t;
    struct buf *out;
    bool        some;        /* an event was written */
};

static void begin(struct writer *w)
{
    buf_str(w->out, w->some ? ",\n" : "\n");
    w->some = true;
}

static void micros(struct buf *out, const char *key, int64_t ns)
{
    buf_printf(out, ",\"%s\":%lld.%03d", key, (long long)(ns / 1000), (int)(ns % 1000));
}

/* Threads of a host begin with 1; 0 is the host itself. */
static void place(struct writer *w, int host, long rank)
{
    buf_printf(w->out, "\"pid\":%d,\"tid\":%ld", host + 1, rank + 1);
}

static void name(struct writer *w, const char *what, int host, long rank, const char *text)
{
    begin(w);
    buf_printf(w->out, "{\"ph\":\"M\",\"name\":\"%s\",", what);
    place(w, host, rank);
    buf_str(w->out, ",\"args\":{\"name\":");
    json_text(w->out, text);
    buf_str(w->out, "}}");
}

/* A span; args: the members of its object, or "". */
static void span(struct writer *w, const char *text, int host, long rank, int64_t from,
                 int64_t to, const char *args)
{
    if (from == TIME_NONE || to == TIME_NONE)
        return;
    begin(w);
    buf_str(w->out, "{\"ph\":\"X\",\"name\":");
    json_text(w->out, text);
    buf_char(w->out, ',');
    place(w, host, rank);
    micros(w->out, "ts", from > 0 ? from : 0);
    micros(w->out, "dur", to > from ? to - (from > 0 ? from : 0) : 0);
    buf_printf(w->out, ",\"args\":{%s}}", args);
}

static void instant(struct writer *w, const char *text, int host, long rank, int64_t when,
                    const char *args)
{
    if (when == TIME_NONE)
        return;
    begin(w);
    buf_printf(w->out, "{\"ph\":\"i\",\"s\":\"t\",\"name\":\"%s\",", text);
    place(w, host, rank);
    micros(w->out, "ts", when > 0 ? when : 0);
    buf_printf(w->out, ",\"args\":{%s}}", args);
}

static void write_host(struct writer *w, size_t i)
{
    const struct tl_host *h = &w->t->hosts[i];
    char args[80];

    snprintf(args, sizeof args, "\"uncertain_us\":%.3f,\"fences_dropped\":%lld",
             (double)h->unsure / 1e3, (long long)h->dropped);
    name(w, "process_name", (int)i, -1, h->name);
    name(w, "thread_name", (int)i, -1, "host");
    span(w, "connect", (int)i, -1, 0, h->connected, args);
    span(w, "set up", (int)i, -1, h->connected, h->ready, args);
}

static void write_fence(struct writer *w, size_t rank, int k)
{
    const struct timeline *t = w->t;
    const struct tl_rank *r = &t->ranks[rank];
    const struct tl_visit *v = &t->visits[r->fences + (size_t)k];
    const struct tl_fence *f = &t->fences[t->jobs[r->job].fences + (size_t)k];
    char text[40], args[80];

    snprintf(text, sizeof text, "fence %d", k + 1);
    snprintf(args, sizeof args, "\"last_rank\":%d,\"last\":%s", t->ranks[f->last].rank,
             f->last == rank ? "true" : "false");
    span(w, text, r->host, (long)rank, v->enter, v->leave, args);
}

static void write_rank(struct writer *w, size_t rank)
{
    static const char *const instants[MOMENT_KINDS] = {
        [MOMENT_EXEC] = "exec", [MOMENT_HELLO] = "hello", [MOMENT_INIT] = "init",
        [MOMENT_OUTPUT] = "first output", [MOMENT_FINALIZE] = "finalize",
        [MOMENT_EXIT] = "exit",
    };
    const struct timeline *t = w->t;
    const struct tl_rank *r = &t->ranks[rank];
    int64_t exec = r->when[MOMENT_EXEC], end = r->when[MOMENT_EXIT];
    int number = t->jobs[r->job].number;
    char text[64], args[80];

    if (number)
        snprintf(text, sizeof text, "job %d rank %d", number, r->rank);
    else
        snprintf(text, sizeof text, "rank %d", r->rank);
    name(w, "thread_name", r->host, (long)rank, text);
    snprintf(args, sizeof args, "\"process\":%d", r->pid);
    span(w, t->jobs[r->job].program, r->host, (long)rank, exec, end == TIME_NONE ? t->end : end,
         args);
    span(w, "before init", r->host, (long)rank, exec, r->when[MOMENT_INIT], "");
    for (int k = 0; k < r->nfences; k++)
        write_fence(w, rank, k);
    span(w, "after finalize", r->host, (long)rank, r->when[MOMENT_FINALIZE], end, "");
    snprintf(args, sizeof args, "\"wait_status\":%d", r->wstatus);
    for (int k = 0; k < MOMENT_KINDS; k++)
        if (instants[k])
            instant(w, instants[k], r->host, (long)rank, r->when[k],
                    k == MOMENT_EXIT ? args : "");
}

static void write_path(struct writer *w)
{
    const struct timeline *t = w->t;

    buf_str(w->out, "\n],\"criticalPath\":[");
    for (size_t i = 0; i < t->npath; i++) {
        struct buf text = BUF_INIT;

        timeline_say(t, &t->path[i], &text);
        buf_str(w->out, i ? ",\n{\"what\":" : "\n{\"what\":");
        json_text(w->out, text.failed ? "" : buf_bytes(&text));
        micros(w->out, "ts", t->path[i].from);
        micros(w->out, "dur", t->path[i].to - t->path[i].from);
        buf_char(w->out, '}');
        buf_clear(&text);
    }
}

/* Which ranks are left out; NULL: none, or there is no memory to say. */
static bool *few_ranks(const struct timeline *t)
{
    bool *out, *seen;

    if (t->nranks * EVENTS_EACH + t->nvisits < EVENTS_MAX)
        return NULL;
    out = malloc(t->nranks);
    seen = calloc(t->nhosts, sizeof *seen);
    for (size_t i = 0; out && seen && i < t->nranks; i++) {
        out[i] = seen[t->ranks[i].host];
        seen[t->ranks[i].host] = true;
    }
    for (size_t i = 0; out && i < t->npath; i++)
        if (t->path[i].kind != STEP_HOST)
            out[t->path[i].who] = false;
    free(seen);
    return out;
}

void timeline_json(const struct timeline *t, struct buf *out)
{
    struct writer w = { t, out, false };
    bool *left_out = few_ranks(t);

    buf_str(out, "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"command\":");
    json_text(out, t->title);
    buf_str(out, "},\"traceEvents\":[");
    for (size_t i = 0; i < t->nhosts; i++)
        write_host(&w, i);
    for (size_t i = 0; i < t->nranks; i++)
        if (!left_out || !left_out[i])
            write_rank(&w, i);
    free(left_out);
    write_path(&w);
    buf_str(out, "\n]}\n");
}

/* tool_output.c - pmix_tool output, and what spawn shows: the output of ranks, put together
 * to lines again, each behind the rank that wrote it. */
#include "pmix_ext/tool.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

struct stream {                          /* of one rank: its stdout or stderr */
    SLIST_ENTRY(stream) next;
    pmix_proc_t from;
    bool        errors;
    struct buf  line;                    /* that has not ended */
};

enum { STREAMS = 1024, LINE_MOST = 1 << 20 };

struct output {
    struct follow *follow;
    bool           json, raw;
    SLIST_HEAD(, stream) streams[STREAMS];       /* owned; by rank */
};

/* A callback for output is told nothing of its own, and there is one output in the program. */
static struct output *the_output;

static struct stream *stream_of(struct output *o, const pmix_proc_t *from, bool errors)
{
    struct stream *s;

    SLIST_FOREACH(s, &o->streams[from->rank % STREAMS], next)
        if (s->errors == errors && PMIX_CHECK_PROCID(&s->from, from))
            return s;
    s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->from = *from;
    s->errors = errors;
    SLIST_INSERT_HEAD(&o->streams[from->rank % STREAMS], s, next);
    return s;
}

static FILE *place(const struct stream *s)
{
    return s->errors ? stderr : stdout;
}

static void put_line(const struct stream *s, const char *text, size_t n)
{
    fprintf(place(s), "[%u] ", s->from.rank);
    fwrite(text, 1, n, place(s));
    if (!n || text[n - 1] != '\n')
        putc('\n', place(s));
}

static void put_rest(struct stream *s)
{
    if (s->line.len)
        put_line(s, buf_bytes(&s->line), s->line.len);
    buf_reset(&s->line);
}

static void put_lines(struct stream *s, const char *bytes, size_t n)
{
    const char *end;
    size_t len;

    buf_add(&s->line, bytes, n);
    while (s->line.len && (end = memchr(buf_bytes(&s->line), '\n', s->line.len))) {
        len = (size_t)(end + 1 - buf_bytes(&s->line));
        put_line(s, buf_bytes(&s->line), len);
        buf_consume(&s->line, len);
    }
    if (s->line.len > LINE_MOST)
        put_rest(s);
}

static json_t *json_of_bytes(const pmix_byte_object_t *bytes)
{
    json_t *text = memchr(bytes->bytes, 0, bytes->size)
                       ? NULL : json_stringn(bytes->bytes, bytes->size);

    if (text)
        return text;
    return json_pack("{s:o}", "base64", tool_json(PMIX_BYTE_OBJECT, bytes));
}

static void put_json(const struct stream *s, const pmix_byte_object_t *bytes)
{
    tool_line(json_pack("{s:f, s:o, s:i, s:s, s:o}", "time", tool_now(), "nspace",
                        tool_json_text(s->from.nspace), "rank", (int)s->from.rank, "channel",
                        s->errors ? "stderr" : "stdout", "data", json_of_bytes(bytes)));
}

static void put(struct output *o, struct stream *s, const pmix_byte_object_t *bytes)
{
    if (o->json)
        put_json(s, bytes);
    else if (o->raw)
        fwrite(bytes->bytes, 1, bytes->size, place(s));
    else
        put_lines(s, bytes->bytes, bytes->size);
    if (s->errors ? fflush(stderr) : tool_written())
        follow_end(o->follow, STATUS_FAILED);
}

static const pmix_info_t *said(const pmix_info_t *infos, size_t n, const char *key)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(infos[i].key, key))
            return &infos[i];
    return NULL;
}

static void on_output(size_t id, pmix_iof_channel_t channel, pmix_proc_t *source,
                      pmix_byte_object_t *bytes, pmix_info_t infos[], size_t n)
{
    struct output *o = the_output;
    struct stream *s = o ? stream_of(o, source, channel & PMIX_FWD_STDERR_CHANNEL) : NULL;
    const pmix_info_t *missed = said(infos, n, PMIX_EXT_MISSED);

    (void)id;
    if (!s || o->follow->ended)
        return;
    if (missed)
        tool_fail(0, "rank %u: %llu bytes were lost", source->rank,
                  (unsigned long long)missed->value.data.uint64);
    if (bytes && bytes->size)
        put(o, s, bytes);
    if (said(infos, n, PMIX_IOF_COMPLETE) && !o->json && !o->raw)
        put_rest(s);
}

struct output *output_new(struct follow *f, bool json, bool raw)
{
    struct output *o = calloc(1, sizeof *o);

    if (!o)
        return NULL;
    o->follow = f;
    o->json = json;
    o->raw = raw;
    the_output = o;
    return o;
}

void output_free(struct output *o)
{
    struct stream *s;

    if (!o)
        return;
    the_output = NULL;
    for (size_t i = 0; i < STREAMS; i++)
        while ((s = SLIST_FIRST(&o->streams[i]))) {
            SLIST_REMOVE_HEAD(&o->streams[i], next);
            put_rest(s);
            buf_clear(&s->line);
            free(s);
        }
    free(o);
}

int output_pull(struct output *o, const pmix_proc_t *procs, size_t n)
{
    pmix_status_t status = PMIx_IOF_pull(procs, n, NULL, 0,
                                         PMIX_FWD_STDOUT_CHANNEL | PMIX_FWD_STDERR_CHANNEL,
                                         on_output, NULL, NULL);

    (void)o;
    return status >= 0 ? 0 : tool_failed("output", status);
}

/* --- the end of a job -------------------------------------------------- */

struct job_end { struct follow *follow; const char *nspace; int status; };

static void on_job_end(size_t id, pmix_status_t status, const pmix_proc_t *source,
                       pmix_info_t infos[], size_t n, pmix_info_t *results, size_t nresults,
                       pmix_event_notification_cbfunc_fn_t done, void *cbdata)
{
    struct job_end *e = tool_object(infos, n);

    (void)id;
    (void)status;
    (void)results;
    (void)nresults;
    if (!strcmp(source->nspace, e->nspace))
        follow_end(e->follow, 0);
    done(PMIX_SUCCESS, NULL, 0, NULL, NULL, cbdata);
}

static int follow_output(struct follow *f, struct output *o, const struct targets *targets)
{
    static const pmix_status_t code = PMIX_EVENT_JOB_END;
    struct job_end end = { .follow = f, .nspace = targets->nspace };
    int status = follow_connection(f, 0);

    if (!status)
        status = tool_register(&code, 1, on_job_end, &end);
    if (!status)
        status = output_pull(o, targets->procs, targets->n);
    if (!status) {
        follow_wait(f, -1);
        follow_end(f, 0);
        status = f->status;
    }
    PMIx_tool_finalize();                /* after which nothing is called any more */
    return status;
}

int tool_output(struct tool *t)
{
    struct targets targets;
    struct follow follow;
    struct output *o;
    int status = tool_targets(t->argc ? t->argv[0] : NULL, &targets);

    if (status)
        return status;
    status = follow_start(&follow);
    if (!status) {
        o = output_new(&follow, t->json, tool_has(t, OPT_RAW));
        status = o ? follow_output(&follow, o, &targets)
                   : tool_fail(STATUS_FAILED, "out of memory");
        output_free(o);
        follow_stop(&follow);
    }
    targets_clear(&targets);
    return status;
}

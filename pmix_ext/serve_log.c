/* serve_log.c - pmix-log: words of ranks and tools to where an administrator or the user
 * reads them.  (PMIx standard, PMIx_Log; RFC0010.)
 *
 * data says what, by channel; directives how.  Who it is from is what the connection says,
 * never the message.  What is written is text that can neither end a line nor reach a
 * terminal unescaped, so no line can be forged, and so much of it as one party may. */
#include "pmix_ext/serve.h"

#include "pmix_ext/support.h"
#include "pmix_ext/value.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <time.h>

enum { LOG_DATA, LOG_DIRECTIVES };
enum { LOG_RESULTS_OUT = 1 };

enum { RATE = 65536, BURST = 4 * RATE };         /* bytes a second of one party; at once */

static const struct channel {
    const char  *key;
    enum ext_log to;
    bool         local;                  /* of the node that it comes from */
} channels[] = {
    { PMIX_LOG_STDERR, EXT_LOG_STDERR, false },
    { PMIX_LOG_STDOUT, EXT_LOG_STDOUT, false },
    { PMIX_LOG_MSG, EXT_LOG_STDERR, false },
    { PMIX_LOG_SYSLOG, EXT_LOG_SYSLOG, false },
    { PMIX_LOG_GLOBAL_SYSLOG, EXT_LOG_SYSLOG, false },
    { PMIX_LOG_LOCAL_SYSLOG, EXT_LOG_SYSLOG, true },
    { PMIX_LOG_JOB_RECORD, EXT_LOG_RECORD, false },
    { PMIX_LOG_GLOBAL_DATASTORE, EXT_LOG_STORE, false },
};
enum { CHANNELS = sizeof channels / sizeof *channels };

struct log_call {                        /* one pmix-log */
    struct session *from;
    pmix_info_t    *data;                /* owned */
    size_t          ndata;
    struct infos    directives;
    bool            once, stamped, tagged, generate, gather;
    time_t          when;
    int             priority;
};

static const struct channel *channel_of(const pmix_info_t *info)
{
    for (size_t i = 0; i < CHANNELS; i++)
        if (!strcmp(info->key, channels[i].key))
            return &channels[i];
    return NULL;
}

/* --- directives -------------------------------------------------------- */

static const struct directive_rule log_rules[] = {
    DIRECTIVE(PMIX_LOG_ONCE, PMIX_BOOL, struct log_call, once),
    DIRECTIVE(PMIX_LOG_TIMESTAMP_OUTPUT, PMIX_BOOL, struct log_call, stamped),
    DIRECTIVE(PMIX_LOG_TAG_OUTPUT, PMIX_BOOL, struct log_call, tagged),
    DIRECTIVE(PMIX_LOG_AGG, PMIX_BOOL, struct log_call, gather),
    DIRECTIVE(PMIX_LOG_GENERATE_TIMESTAMP, PMIX_BOOL, struct log_call, generate),
    DIRECTIVE(PMIX_LOG_TIMESTAMP, PMIX_TIME, struct log_call, when),
    DIRECTIVE(PMIX_LOG_SYSLOG_PRI, PMIX_INT, struct log_call, priority),
    DIRECTIVE_KNOWN(PMIX_LOG_SOURCE, PMIX_PROC),         /* the connection says it */
    { 0 }
};

bool log_attribute(size_t i, const char **key, pmix_data_type_t *type)
{
    if (i >= CHANNELS)
        return directive_at(log_rules, i - CHANNELS, key, type);
    attribute_standard(channels[i].key, key, type);
    return true;
}

static enum outcome take_directives(struct request *rq, struct log_call *l, struct err *e)
{
    pmix_status_t status = directives_take(&l->directives, "directives", log_rules, l, e);

    if (status != PMIX_SUCCESS)
        return ext_refuse(rq, status);
    if (l->priority < LOG_EMERG || l->priority > LOG_DEBUG)
        return ext_fail(rq, e, PMIX_ERR_BAD_PARAM, "directives: %s is %d, want %d to %d",
                        PMIX_LOG_SYSLOG_PRI, l->priority, LOG_EMERG, LOG_DEBUG);
    return REPLY;
}

/* --- what may be written ----------------------------------------------- */

/* So many bytes of one party, and no more, are written in a time. */
static bool within_rate(struct session *s, size_t bytes)
{
    double now = s->ext->ops.now(s->ext->host), left = s->log_left;

    if (!s->log_at)
        left = BURST;
    else if (now > s->log_at)
        left += (now - s->log_at) * RATE;
    s->log_at = now;
    s->log_left = left < BURST ? left : BURST;
    if ((double)bytes > s->log_left)
        return false;
    s->log_left -= (double)bytes;
    return true;
}

/* PMIX_LOG_AGG: the same text of several ranks is written once.  A few are remembered. */
static bool was_written(struct ext *x, const char *text, size_t len)
{
    uint64_t sum = 14695981039346656037u;        /* FNV-1a */

    for (size_t i = 0; i < len; i++)
        sum = (sum ^ (unsigned char)text[i]) * 1099511628211u;
    for (size_t i = 0; i < EXT_GATHERED; i++)
        if (x->gathered[i] == sum)
            return true;
    x->gathered[x->ngathered++ % EXT_GATHERED] = sum;
    return false;
}

/* --- channels ---------------------------------------------------------- */

void ext_add_time(struct buf *out, time_t when)
{
    struct tm tm;
    char text[40];

    if (gmtime_r(&when, &tm) && strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ ", &tm))
        buf_str(out, text);
}

static pmix_status_t give(const struct log_call *l, enum ext_log to, const struct buf *line)
{
    const struct party *who = &l->from->who;
    struct ext *x = l->from->ext;
    int errnum;

    if (line->failed)
        return PMIX_ERR_NOMEM;
    errnum = x->ops.log(x->host, to, l->priority, who->tool ? NULL : who->nspace,
                        buf_bytes(line), line->len);
    if (!errnum)
        return PMIX_SUCCESS;
    return errnum == ENOTSUP ? PMIX_ERR_NOT_SUPPORTED
           : errnum == EAGAIN || errnum == ENOSPC || errnum == EFBIG ? PMIX_ERR_OUT_OF_RESOURCE
                                                                     : PMIX_ERROR;
}

/* A text, line by line; each begins with what was asked for. */
static pmix_status_t give_lines(const struct log_call *l, enum ext_log to, const char *text,
                                size_t len)
{
    bool tagged = l->tagged || to == EXT_LOG_SYSLOG;
    pmix_status_t status = PMIX_SUCCESS;
    struct buf line = BUF_INIT;

    if (len && text[len - 1] == '\n')
        len--;
    do {
        const char *end = memchr(text, '\n', len);
        size_t n = end ? (size_t)(end - text) : len;

        buf_reset(&line);
        if (l->stamped)
            ext_add_time(&line, l->when);
        if (tagged)
            buf_printf(&line, "[%s:%u] ", l->from->who.nspace, l->from->who.rank);
        buf_escaped(&line, text, n);
        status = give(l, to, &line);
        n += end != NULL;
        text += n;
        len -= n;
    } while (len && status == PMIX_SUCCESS);
    buf_clear(&line);
    return status;
}

/* All that is no channel, as one line of JSON. */
static pmix_status_t give_record(const struct log_call *l, enum ext_log to)
{
    struct buf line = BUF_INIT;
    pmix_proc_t who = { .rank = l->from->who.rank };
    pmix_status_t status;
    size_t n = 0;
    int bad;

    memcpy(who.nspace, l->from->who.nspace, sizeof l->from->who.nspace);
    buf_printf(&line, "{\"time\":%lld,\"source\":", (long long)l->when);
    bad = value_encode(PMIX_PROC, &who, "source", &line, NULL);
    buf_str(&line, ",\"data\":[");
    for (size_t i = 0; i < l->ndata && !bad; i++)
        if (!channel_of(&l->data[i])) {
            buf_str(&line, n++ ? "," : "");
            bad = value_encode(PMIX_INFO, &l->data[i], "data", &line, NULL);
        }
    buf_str(&line, "]}");
    status = bad ? PMIX_ERR_NOMEM : give(l, to, &line);
    buf_clear(&line);
    return status;
}

static pmix_status_t give_text(const struct log_call *l, const struct channel *c,
                               const pmix_value_t *v)
{
    const char *text = v->data.string;
    size_t len;

    if (v->type == PMIX_BYTE_OBJECT) {
        text = v->data.bo.bytes;
        len = v->data.bo.size;
    } else if (v->type == PMIX_STRING && text) {
        len = strlen(text);
    } else {
        return PMIX_ERR_TYPE_MISMATCH;
    }
    if (!within_rate(l->from, len))
        return PMIX_ERR_OUT_OF_RESOURCE;
    if (l->gather && was_written(l->from->ext, text, len))
        return PMIX_SUCCESS;
    return give_lines(l, c->to, text, len);
}

static pmix_status_t log_one(const struct log_call *l, const pmix_info_t *info)
{
    const struct channel *c = channel_of(info);

    if (!c || (c->local && l->from->conn->via))  /* the syslog of another node */
        return PMIX_ERR_NOT_SUPPORTED;
    if (c->to != EXT_LOG_RECORD && c->to != EXT_LOG_STORE)
        return give_text(l, c, &info->value);
    if (!info_is_true(info))
        return info->value.type == PMIX_BOOL ? PMIX_ERR_NOT_SUPPORTED : PMIX_ERR_TYPE_MISMATCH;
    return within_rate(l->from, 256) ? give_record(l, c->to) : PMIX_ERR_OUT_OF_RESOURCE;
}

/* Data beside a record is part of it, not a channel that is missing. */
static bool has_record(const struct log_call *l)
{
    for (size_t i = 0; i < l->ndata; i++) {
        const struct channel *c = channel_of(&l->data[i]);

        if (c && (c->to == EXT_LOG_RECORD || c->to == EXT_LOG_STORE))
            return true;
    }
    return false;
}

/* Every channel, or with PMIX_LOG_ONCE until one has done it. */
static enum outcome log_all(struct request *rq, struct log_call *l, struct err *e)
{
    bool record = has_record(l);
    json_t *results = json_array();
    size_t done = 0, tried = 0;
    pmix_status_t first = PMIX_SUCCESS;

    for (size_t i = 0; i < l->ndata && !(l->once && done); i++) {
        pmix_status_t status;

        if (record && !channel_of(&l->data[i]))
            continue;
        status = log_one(l, &l->data[i]);
        tried++;
        done += status == PMIX_SUCCESS;
        if (status != PMIX_SUCCESS && first == PMIX_SUCCESS)
            first = status;
        json_array_append_new(results, json_pack("{s:s, s:i}", "key", l->data[i].key,
                                                 "status", status));
    }
    if (done)
        reply_status(rq, l->once || done == tried ? PMIX_SUCCESS : PMIX_ERR_PARTIAL_SUCCESS);
    else
        ext_fail(rq, e, first == PMIX_SUCCESS ? PMIX_ERR_BAD_PARAM : first,
                 tried ? "no channel could take it" : "data names no channel");
    return reply_json(rq, LOG_RESULTS_OUT, results, e) == FAILED || !done ? FAILED : REPLY;
}

enum outcome ext_log(struct request *rq, struct err *e)
{
    struct log_call l = { .from = session_of(rq, e), .priority = LOG_ERR };
    const struct value *arg = rq->arg;
    enum outcome o;

    if (!l.from)
        return FAILED;
    if (value_decode_array(PMIX_INFO, arg[LOG_DATA].s, arg[LOG_DATA].len, "data",
                           (void **)&l.data, &l.ndata, e) < 0)
        return ext_refuse(rq, PMIX_ERR_BAD_PARAM);
    if (infos_take(&l.directives, arg[LOG_DIRECTIVES].s, arg[LOG_DIRECTIVES].len, "directives",
                   e) < 0) {
        value_free_array(PMIX_INFO, l.data, l.ndata);
        return ext_refuse(rq, PMIX_ERR_BAD_PARAM);
    }
    l.when = (time_t)l.from->ext->ops.now(l.from->ext->host);
    o = take_directives(rq, &l, e);
    if (o == REPLY)
        o = log_all(rq, &l, e);
    value_free_array(PMIX_INFO, l.data, l.ndata);
    infos_clear(&l.directives);
    return o;
}

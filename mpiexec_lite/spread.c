/* spread.c - see spread.h */
#include "mpiexec_lite/spread.h"

#include "mpiexec_lite/launchers.h"

#include <stdio.h>
#include <string.h>

int spread_quote(const char *word, struct buf *out)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_./+:@%,-";

    if (strpbrk(word, "\r\n"))
        return -1;
    if (*word && word[strspn(word, plain)] == '\0') {
        buf_str(out, word);
        return 0;
    }
    buf_char(out, '\'');
    for (; *word; word++)
        if (*word == '\'' || *word == '\\' || *word == '!') {
            buf_str(out, "'\\");         /* outside quotes, escaped: in all of them */
            buf_char(out, *word);
            buf_char(out, '\'');
        } else {
            buf_char(out, *word);
        }
    buf_char(out, '\'');
    return 0;
}

void spread_staging(size_t size, const char *sha256, struct buf *out)
{
    buf_printf(out, "exec /bin/sh -c 'umask 077; "
               "d=$(mktemp -d \"${XDG_RUNTIME_DIR:-${TMPDIR:-/tmp}}/pmi2_proxy.XXXXXX\") || "
               "exit 125; "
               "clean() { rm -rf \"$d\"; }; trap clean 0; trap \"exit 143\" 1 2 15; "
               "head -c %zu >\"$d/pmi2_proxy\" && "
               "echo \"%s  $d/pmi2_proxy\" | sha256sum -c >/dev/null "
               "&& chmod 700 \"$d/pmi2_proxy\" && \"$d/pmi2_proxy\" --staged'", size, sha256);
}

/* The launcher program and its words. */
static int add_program(const struct launch_options *o, struct strlist *out)
{
    const struct launcher_way *way = launcher_way(o->launcher);
    int rc = strlist_add(out, launcher_program(o));

    for (const char *const *word = way->words; *word; word++)
        rc |= strlist_add(out, *word);
    if (o->launcher == LAUNCHER_SSH)
        rc |= strlist_add(out, o->forward_x ? "-X" : "-x");
    for (size_t i = 0; i < o->extra.n; i++)
        rc |= strlist_add(out, o->extra.v[i]);
    return rc;
}

/* ssh and its like, with one more word of it or NULL. */
static int add_stream(const struct launch_options *o, const struct host *h, const char *more,
                      struct strlist *out)
{
    int rc = add_program(o, out) | (more ? strlist_add(out, more) : 0);

    if (h->user)
        rc |= strlist_add(out, "-l") | strlist_add(out, h->user);
    if (o->launcher == LAUNCHER_SSH)
        rc |= strlist_add(out, "--");
    return rc | strlist_add(out, h->name);
}

/* slurm: the nodes of the step. */
static int add_nodes(const struct spread_call *call, struct strlist *out)
{
    struct buf word = BUF_INIT;
    int rc;

    buf_printf(&word, "--nodelist=%s", call->nodes);
    rc = word.failed ? -1 : strlist_add(out, buf_bytes(&word));
    buf_reset(&word);
    buf_printf(&word, "--nodes=%d", call->n);
    rc |= word.failed ? -1 : strlist_add(out, buf_bytes(&word));
    buf_reset(&word);
    buf_printf(&word, "--ntasks=%d", call->n);
    rc |= word.failed ? -1 : strlist_add(out, buf_bytes(&word));
    buf_clear(&word);
    return rc;
}

/* What watches over pmi2_proxy, as a word each. */
static int add_wrapper(const struct launch_options *o, struct strlist *out)
{
    int rc = 0;

    for (size_t i = 0; i < o->wrapper.n; i++)
        rc |= strlist_add(out, o->wrapper.v[i]);
    return rc;
}

/* tcp: CMD, its words, the host, and what is to run there, word by word.  manual: only
 * the latter. */
static int add_call(const struct launch_options *o, const struct host *h, const char *program,
                    const struct spread_call *call, struct strlist *out)
{
    char number[16];
    int rc = 0;

    if (o->launcher != LAUNCHER_MANUAL)
        rc = add_program(o, out) | (call->nodes ? add_nodes(call, out)
                                                : strlist_add(out, h->name));
    snprintf(number, sizeof number, "%d", call->position);
    rc |= add_wrapper(o, out) | strlist_add(out, program) | strlist_add(out, "--connect") |
          strlist_add(out, call->addresses) | strlist_add(out, "--job") |
          strlist_add(out, call->job) | strlist_add(out, "--position") |
          strlist_add(out, number);
    if (call->nodes)
        rc |= strlist_add(out, "--nodes") | strlist_add(out, call->nodes);
    if (o->munge_socket)
        rc |= strlist_add(out, "--munge-socket") | strlist_add(out, o->munge_socket);
    return rc;
}

static const char *program_of(const struct launch_options *o, enum proxy_where where,
                              const char *path)
{
    return where == PROXY_IN_PATH ? "pmi2_proxy" : o->proxy ? o->proxy : path;
}

int spread_command(const struct launch_options *o, const struct host *h,
                   enum proxy_where where, const char *path, const char *staging,
                   const struct spread_call *call, struct strlist *out, struct err *e)
{
    const char *program = program_of(o, where, path);
    struct buf word = BUF_INIT;
    int rc = 0;

    if (o->launcher == LAUNCHER_FORK) {
        rc = add_wrapper(o, out) | strlist_add(out, program);
    } else if (call) {
        rc = add_call(o, h, program, call, out);
    } else {
        rc = add_stream(o, h, NULL, out);
        if (where != PROXY_STAGED)
            rc |= add_wrapper(o, out);
        if (where == PROXY_STAGED)
            buf_str(&word, staging);
        else if (spread_quote(program, &word) < 0)
            rc = err_set(e, ERR_INVALID_VAL, "the path of pmi2_proxy has a line break");
        if (rc == 0)
            rc = word.failed ? -1 : strlist_add(out, buf_bytes(&word));
    }
    if (rc < 0 && !e->code)
        err_set(e, ERR_NOMEM, "no memory for a command");
    buf_clear(&word);
    return rc < 0 ? -1 : 0;
}

/* A step of one task has our stdin and stdout, once it is not told otherwise. */
int spread_check(const struct launch_options *o, const struct host *h, enum proxy_where where,
                 const char *path, struct strlist *out, struct err *e)
{
    const struct spread_call one = { .nodes = h->name, .n = 1 };
    int rc = 0;

    if (o->launcher == LAUNCHER_SLURM)
        rc = add_program(o, out) | strlist_add(out, "--input=all") | add_nodes(&one, out) |
             add_wrapper(o, out) | strlist_add(out, program_of(o, where, path));
    else if (spread_command(o, h, where, path, NULL, NULL, out, e) < 0)
        return -1;
    return rc < 0 || strlist_add(out, "--check") < 0
           ? err_set(e, ERR_NOMEM, "no memory for a command") : 0;
}

int spread_terminal(const struct launch_options *o, const struct host *h, const char *command,
                    struct strlist *out)
{
    return add_stream(o, h, "-tt", out) | strlist_add(out, command);
}

static bool has_one_of(const char *text, const char *const *words)
{
    for (; *words; words++)
        if (strcasestr(text, *words))
            return true;
    return false;
}

bool spread_is_reset(const char *words)
{
    static const char *const resets[] = {
        "connection reset", "connection closed by", "connection timed out during banner",
        "kex_exchange_identification", "ssh_exchange_identification", "broken pipe", NULL
    };

    return has_one_of(words, resets);
}

bool spread_not_found(int status, const char *words)
{
    static const char *const missing[] = {
        "not found", "no such file", "unknown command", NULL
    };

    return status == 127 || (status && status != 255 && has_one_of(words, missing));
}

double spread_pause(int tries, unsigned random)
{
    double base = 0.1 * (double)(1 << (tries < 5 ? tries : 5));

    return base * (0.5 + (double)(random % 1024) / 1024);
}

bool spread_is_limit(const struct launch_options *o, int tries)
{
    return o->launcher == LAUNCHER_SSH && o->ssh_limit && tries % o->ssh_limit == 0;
}

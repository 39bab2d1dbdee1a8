/* opts_set.c - what each option does to the plan.  See opts_table.h. */
#include "mpiexec_lite/address.h"
#include "mpiexec_lite/alloc.h"
#include "mpiexec_lite/allocation.h"
#include "mpiexec_lite/env.h"
#include "mpiexec_lite/hold.h"
#include "mpiexec_lite/launchers.h"
#include "mpiexec_lite/opts_table.h"
#include "mpiexec_lite/pattern.h"
#include "mpiexec_lite/timeline.h"
#include "wire/limits.h"
#include "wire/rank_list.h"
#include "wire/utf8.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define COUNT_MAX PLAN_RANKS_MAX
#define SECONDS_MAX 1e9      /* some thirty years */
#define SINGLE_ID_MAX 40     /* behind it come the numbers of jobs that it starts */

/* The member that the row names by its offset. */
static void *member(struct reader *r, const struct option *o)
{
    void *base = o->flags & OPTION_LOCAL ? (void *)r->app : (void *)r->plan;

    return (char *)base + o->at;
}

static int no_memory(struct err *e)
{
    return err_set(e, ERR_NOMEM, "no memory");
}

int opts_warn(struct reader *r, struct err *e, const char *fmt, ...)
{
    char text[240];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return strlist_add(&r->plan->warnings, text) < 0 ? no_memory(e) : 0;
}

bool opts_number(const char *text, long min, long max, long *out)
{
    const char *digits = *text == '-' ? text + 1 : text;
    char *end;

    if (*digits < '0' || *digits > '9')
        return false;
    errno = 0;
    *out = strtol(text, &end, 10);
    return *end == '\0' && errno == 0 && *out >= min && *out <= max;
}

int opts_set_value(struct reader *r, const struct option *o, char *const *arg,
                   struct err *e)
{
    (void)arg;
    (void)e;
    *(int *)member(r, o) = o->value;
    return 0;
}

int opts_set_inquiry(struct reader *r, const struct option *o, char *const *arg,
                     struct err *e)
{
    if (r->file)                         /* too late to note what was said before */
        return err_set(e, ERR_INVALID_VAL, "only possible on the command line");
    return opts_set_value(r, o, arg, e);
}

int opts_set_switch(struct reader *r, const struct option *o, char *const *arg,
                    struct err *e)
{
    (void)arg;
    (void)e;
    *(bool *)member(r, o) = o->value;
    return 0;
}

int opts_copy(char **to, const char *text, struct err *e)
{
    char *copy = strdup(text);

    if (!copy)
        return no_memory(e);
    free(*to);
    *to = copy;
    return 0;
}

int opts_set_text(struct reader *r, const struct option *o, char *const *arg,
                  struct err *e)
{
    if (!*arg[0])
        return err_set(e, ERR_INVALID_VAL, "the value is empty");
    return opts_copy(member(r, o), arg[0], e);
}

int opts_set_timeline(struct reader *r, const struct option *o, char *const *arg,
                      struct err *e)
{
    if (!timeline_writer(arg[0]))
        return err_set(e, ERR_INVALID_VAL, "'%.200s' does not end in .json, .svg or .html",
                       arg[0]);
    return opts_set_text(r, o, arg, e);
}

int opts_add_text(struct reader *r, const struct option *o, char *const *arg, struct err *e)
{
    if (!*arg[0])
        return err_set(e, ERR_INVALID_VAL, "the value is empty");
    return strlist_add(member(r, o), arg[0]) < 0 ? no_memory(e) : 0;
}

int opts_set_words(struct reader *r, const struct option *o, char *const *arg, struct err *e)
{
    struct strlist *to = member(r, o);

    strlist_clear(to);
    if (strlist_add_words(to, arg[0]) < 0)
        return no_memory(e);
    return to->n ? 0 : err_set(e, ERR_INVALID_VAL, "the value is empty");
}

int opts_set_providers_root(struct reader *r, const struct option *o, char *const *arg,
                            struct err *e)
{
    (void)o;
    if (strcmp(arg[0], "fail") && strcmp(arg[0], "skip"))
        return err_set(e, ERR_INVALID_VAL, "'%.40s' is not fail or skip", arg[0]);
    r->plan->providers_root = strcmp(arg[0], "fail") ? PROVIDERS_ROOT_SKIP : PROVIDERS_ROOT_FAIL;
    return 0;
}

int opts_set_pset(struct reader *r, const struct option *o, char *const *arg, struct err *e)
{
    if (strchr(arg[0], ','))             /* which is between names */
        return err_set(e, ERR_INVALID_VAL, "'%.60s' has a comma", arg[0]);
    if (!utf8_valid(arg[0], strlen(arg[0])))
        return err_set(e, ERR_INVALID_VAL, "the name is not UTF-8");
    return opts_set_text(r, o, arg, e);
}

int opts_set_pattern(struct reader *r, const struct option *o, char *const *arg,
                     struct err *e)
{
    if (pattern_check(arg[0], e) < 0)
        return -1;
    return opts_set_text(r, o, arg, e);
}

int opts_set_rank_label(struct reader *r, const struct option *o, char *const *arg,
                        struct err *e)
{
    (void)o;
    (void)arg;
    return opts_copy(&r->plan->label, "[%r] ", e);
}

int opts_count_of(const char *text, int *out, struct err *e)
{
    long n;

    if (!opts_number(text, 1, COUNT_MAX, &n))
        return err_set(e, ERR_INVALID_VAL, "'%.40s' is not a number in 1..%d", text,
                       COUNT_MAX);
    *out = (int)n;
    return 0;
}

int opts_set_count(struct reader *r, const struct option *o, char *const *arg,
                   struct err *e)
{
    return opts_count_of(arg[0], member(r, o), e);
}

int opts_set_ppn(struct reader *r, const struct option *o, char *const *arg,
                 struct err *e)
{
    (void)o;
    return opts_count_of(arg[0], &r->ppn, e);
}

int opts_set_rank(struct reader *r, const struct option *o, char *const *arg,
                  struct err *e)
{
    long n;

    if (!opts_number(arg[0], 0, COUNT_MAX - 1, &n))
        return err_set(e, ERR_INVALID_VAL, "'%.40s' is not a rank", arg[0]);
    *(int *)member(r, o) = (int)n;
    return 0;
}

int opts_set_hold(struct reader *r, const struct option *o, char *const *arg, struct err *e)
{
    (void)o;
    return hold_read(r->plan, arg[0], e);
}

int opts_set_number(struct reader *r, const struct option *o, char *const *arg,
                    struct err *e)
{
    long n;

    if (!opts_number(arg[0], 0, COUNT_MAX, &n))
        return err_set(e, ERR_INVALID_VAL, "'%.40s' is not a number in 0..%d", arg[0],
                       COUNT_MAX);
    *(int *)member(r, o) = (int)n;
    return 0;
}

int opts_set_bytes(struct reader *r, const struct option *o, char *const *arg,
                   struct err *e)
{
    long n;

    if (!opts_number(arg[0], 0, LIMIT_KVS_BYTES, &n))
        return err_set(e, ERR_INVALID_VAL, "'%.40s' is not a number of bytes in 0..%zu",
                       arg[0], LIMIT_KVS_BYTES);
    *(size_t *)member(r, o) = (size_t)n;
    return 0;
}

static int set_stdin_file(struct plan *p, const char *path, struct err *e)
{
    p->stdin_mode = STDIN_FILE;
    if (!*path)
        return err_set(e, ERR_INVALID_VAL, "file: needs a name");
    return opts_copy(&p->stdin_file, path, e);
}

int opts_set_stdin(struct reader *r, const struct option *o, char *const *arg,
                   struct err *e)
{
    struct plan *p = r->plan;
    long rank;

    (void)o;
    if (strncasecmp(arg[0], "file:", 5) == 0)
        return set_stdin_file(p, arg[0] + 5, e);
    if (strcasecmp(arg[0], "none") == 0)
        p->stdin_mode = STDIN_NONE;
    else if (strcasecmp(arg[0], "all") == 0)
        p->stdin_mode = STDIN_ALL;
    else if (opts_number(arg[0], 0, COUNT_MAX - 1, &rank))
        p->stdin_rank = (int)rank;
    else
        return err_set(e, ERR_INVALID_VAL,
                       "'%.40s' is not none, all, a rank or file:NAME", arg[0]);
    return 0;
}

/* A plain decimal number, with a fraction perhaps; it may be negative. */
static bool seconds_of(const char *text, double *out)
{
    size_t len = strspn(text, "-.0123456789");
    char *end;

    *out = strtod(text, &end);
    return len && text[len] == '\0' && *end == '\0' && fabs(*out) <= SECONDS_MAX;
}

int opts_seconds_of(const char *text, double *to, struct err *e)
{
    if (!seconds_of(text, to))
        return err_set(e, ERR_INVALID_VAL, "'%.40s' is not a number of seconds", text);
    return 0;
}

int opts_set_seconds(struct reader *r, const struct option *o, char *const *arg,
                     struct err *e)
{
    double *to = member(r, o);

    if (opts_seconds_of(arg[0], to, e) < 0)
        return -1;
    if (*to < 0)
        return err_set(e, ERR_INVALID_VAL, "'%.40s' is negative", arg[0]);
    if (!o->value && *to <= 0)
        return err_set(e, ERR_INVALID_VAL, "it cannot be 0");
    return 0;
}

int opts_set_usize(struct reader *r, const struct option *o, char *const *arg,
                   struct err *e)
{
    (void)o;
    r->usize_system = strcasecmp(arg[0], "SYSTEM") == 0;
    if (r->usize_system || strcasecmp(arg[0], "INFINITE") == 0)
        return 0;
    if (opts_count_of(arg[0], &r->plan->usize, e) < 0)
        return err_set(e, ERR_INVALID_VAL, "'%.40s' is not SYSTEM, INFINITE or 1..%d",
                       arg[0], COUNT_MAX);
    return 0;
}

int opts_set_verbose(struct reader *r, const struct option *o, char *const *arg,
                     struct err *e)
{
    (void)arg;
    (void)e;
    r->plan->verbose += o->value;
    return 0;
}

int opts_set_hosts(struct reader *r, const struct option *o, char *const *arg,
                   struct err *e)
{
    (void)o;
    r->plan->hosts_given = true;
    return hosts_add_list(&r->hosts, arg[0], e);
}

int opts_set_hostfile(struct reader *r, const struct option *o, char *const *arg,
                      struct err *e)
{
    (void)o;
    return opts_read_hostfile(r, arg[0], e);
}

int opts_set_order(struct reader *r, const struct option *o, char *const *arg,
                   struct err *e)
{
    static const struct { const char *name; int order; } orders[] = {
        { "ASCENDING", 1 }, { "UP", 1 }, { "DESCENDING", -1 }, { "DOWN", -1 },
    };

    (void)o;
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        if (strcasecmp(arg[0], orders[i].name) == 0)
            r->order = orders[i].order;
    if (r->order)
        return 0;
    return err_set(e, ERR_INVALID_VAL, "'%.40s' is not ASCENDING or DESCENDING", arg[0]);
}

int opts_set_skip_launch_node(struct reader *r, const struct option *o, char *const *arg,
                              struct err *e)
{
    (void)o;
    (void)arg;
    (void)e;
    r->skip_launch_node = true;
    return 0;
}

/* What was given is not in a list of names, which is lent. */
static int not_one_of(const char *given, void names(struct buf *out), struct err *e)
{
    struct buf text = BUF_INIT;

    names(&text);
    if (text.failed)
        no_memory(e);
    else
        err_set(e, ERR_INVALID_VAL, "'%.40s' is none of: %s", given, buf_bytes(&text));
    buf_clear(&text);
    return -1;
}

int opts_set_launcher(struct reader *r, const struct option *o, char *const *arg,
                      struct err *e)
{
    (void)o;
    if (launcher_find(arg[0], &r->plan->remote.launcher) == 0)
        return 0;
    return not_one_of(arg[0], launcher_names, e);
}

static void rmk_names(struct buf *out)
{
    buf_str(out, "user, ");
    allocation_names(out);
}

int opts_choose_rmk(struct reader *r, const char *name, struct err *e)
{
    r->no_rmk = strcasecmp(name, "user") == 0;
    r->rmk = r->no_rmk ? NULL : allocation_find(name);
    return r->no_rmk || r->rmk ? 0 : not_one_of(name, rmk_names, e);
}

int opts_set_rmk(struct reader *r, const struct option *o, char *const *arg, struct err *e)
{
    (void)o;
    return opts_choose_rmk(r, arg[0], e);
}

int opts_set_alloc(struct reader *r, const struct option *o, char *const *arg, struct err *e)
{
    struct strlist words = { 0 };
    int rc = alloc_words(arg[0], &words, e);

    strlist_clear(&words);
    return rc < 0 ? -1 : opts_set_text(r, o, arg, e);
}

int opts_set_nameserver(struct reader *r, const struct option *o, char *const *arg,
                        struct err *e)
{
    static const char *const words[] = { "auto", "start", "none" };
    struct address a;

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(arg[0], words[i]))
            return opts_set_text(r, o, arg, e);
    if (arg[0][0] != '/' && address_read(&a, arg[0], 0, NULL) < 0)
        return err_set(e, ERR_INVALID_VAL, "'%.60s' is not auto, start, none, the path of a "
                       "socket, or HOST:PORT", arg[0]);
    return opts_set_text(r, o, arg, e);
}

int opts_set_single_fd(struct reader *r, const struct option *o, char *const *arg,
                       struct err *e)
{
    static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    const char *id = strchr(arg[0], ':');
    size_t len = id ? strlen(id + 1) : 0;
    char digits[12];
    long fd;

    (void)o;
    if (!len || len > SINGLE_ID_MAX || strspn(id + 1, good) < len)
        return err_set(e, ERR_INVALID_VAL, "'%.60s' does not end in a job id", arg[0]);
    snprintf(digits, sizeof digits, "%.*s", (int)(id - arg[0] < 12 ? id - arg[0] : 0), arg[0]);
    if (!opts_number(digits, STDERR_FILENO + 1, INT_MAX, &fd))
        return err_set(e, ERR_INVALID_VAL, "'%.60s' does not begin with a descriptor above 2",
                       arg[0]);
    r->plan->single_fd = (int)fd;
    return opts_copy(&r->plan->single_id, id + 1, e);
}

int opts_set_configfile(struct reader *r, const struct option *o, char *const *arg,
                        struct err *e)
{
    (void)o;
    if (r->in_file)
        return err_set(e, ERR_INVALID_VAL, "not possible inside a configuration file");
    return opts_copy(&r->configfile, arg[0], e);
}

int opts_set_no_configfile(struct reader *r, const struct option *o, char *const *arg,
                           struct err *e)
{
    (void)o;
    (void)arg;
    (void)e;
    r->no_configfile = true;
    return 0;
}

int opts_set_as(struct reader *r, const struct option *o, char *const *arg, struct err *e)
{
    const struct option *other = opts_find(o->with, strlen(o->with));
    char *const words[] = { o->text ? (char *)o->text : arg[0], arg[0] ? arg[1] : NULL };

    return other->set(r, other, words, e);
}

int opts_set_ignored(struct reader *r, const struct option *o, char *const *arg,
                     struct err *e)
{
    (void)arg;
    return o->text ? opts_warn(r, e, "-%s is ignored: %s", r->written ? r->written : o->names[0],
                               o->text) : 0;
}

int opts_set_print(struct reader *r, const struct option *o, char *const *arg,
                   struct err *e)
{
    (void)arg;
    (void)e;
    r->print = o->print;
    return 0;
}

/* opts.c - from words to a plan.  See opts.h and opts_table.h. */
#include "mpiexec_lite/env.h"
#include "mpiexec_lite/opts_table.h"

#include "wire/nearest.h"

#include <stdlib.h>
#include <string.h>

static bool is_separator(const char *word)
{
    return strcmp(word, ":") == 0;
}

/* A word as it is meant: "\:" is ":", "\\:" is "\:". */
static char *literal(char *word)
{
    size_t n = strspn(word, "\\");

    return n && is_separator(word + n) ? word + 1 : word;
}

/* The next word of this block, or NULL. */
static char *next_word(struct reader *r)
{
    if (r->word == r->end || is_separator(*r->word))
        return NULL;
    return literal(*r->word++);
}

/* Words that end in a name such as "-h" or "--help". */
static bool asks_for_help(const struct reader *r)
{
    const char *name;

    if (r->word == r->end || **r->word != '-')
        return false;
    name = *r->word + strspn(*r->word, "-");
    return opts_find(name, strlen(name)) == opts_find("help", 4);
}

/* The row that stands for what o sets. */
size_t opts_setting_of(const struct option *o)
{
    return opts_number_of(o->with ? opts_find(o->with, strlen(o->with)) : o);
}

bool opts_has(const struct reader *r, const char *name)
{
    return r->job[opts_setting_of(opts_find(name, strlen(name)))] != NULL;
}

/* How much of word to show as the option's name. */
static int shown(const char *word)
{
    size_t n = strcspn(word, "=");

    return n < 80 ? (int)n : 80;
}

static int unknown_option(const char *word, const char *name, size_t len, struct err *e)
{
    const struct refusal *no = opts_find_refusal(name, len);
    char typed[64];
    struct nearest near;

    if (no)
        return err_set(e, ERR_INVALID_ARG, "%.*s is not supported: %s%s%s", shown(word), word,
                       no->why, no->instead ? "; " : "", no->instead ? no->instead : "");
    snprintf(typed, sizeof typed, "%.*s", (int)(len < 63 ? len : 63), name);
    nearest_start(&near, typed);
    for (size_t i = 0; i < opts_rows(); i++)
        for (const char *const *n = opts_row(i)->names; *n; n++)
            if (opts_row(i)->section != SECTIONS)
                nearest_try(&near, *n);
    if (near.best)
        return err_set(e, ERR_INVALID_ARG, "unknown option %.80s; did you mean -%s?",
                       word, near.best);
    return err_set(e, ERR_INVALID_ARG, "unknown option %.80s; -h lists all", word);
}

/* The words that o wants, into arg[0] and arg[1].  attached: what followed '='. */
static int take_values(struct reader *r, const struct option *o, char *attached,
                       char *arg[2], struct err *e)
{
    if (opts_value_is_optional(o)) {
        arg[0] = attached;
        if (!attached && o->set == opts_set_debug)
            opts_take_debugger(r, arg);
        return 0;
    }
    if (!o->arg)
        return attached ? err_set(e, ERR_INVALID_ARG, "takes no value") : 0;
    arg[0] = attached ? attached : next_word(r);
    if (arg[0] && strchr(o->arg, ' ') && !strchr(arg[0], '=')) {
        arg[1] = next_word(r);
        if (!arg[1])
            return err_set(e, ERR_INVALID_ARG, "needs two values (%s)", o->arg);
    }
    return arg[0] ? 0 : err_set(e, ERR_INVALID_ARG, "needs a value (%s)", o->arg);
}

/* Note that o makes its setting.  1: do so; 0: the command line has made it and
 * the file must not; -1: it was made before. */
static int claim_setting(struct reader *r, const struct option *o, struct err *e)
{
    bool local = o->flags & OPTION_LOCAL, repeat = o->flags & OPTION_REPEAT;
    size_t i = opts_setting_of(o);
    const struct option **by = local ? &r->block[i] : &r->job[i];

    if (*by && *by != o)
        repeat = false;
    if (*by && !repeat && !local && r->in_file && !r->job_in_file[i])
        return 0;
    if (*by && *by != o)
        return err_set(e, ERR_INVALID_ARG, "duplicate setting: -%s after -%s",
                       o->names[0], (*by)->names[0]);
    if (*by && !repeat)
        return err_set(e, ERR_INVALID_ARG, "duplicate setting: -%s", o->names[0]);
    *by = o;
    r->job_in_file[i] = r->in_file;
    return 1;
}

int opts_apply(struct reader *r, const struct option *o, char *const *arg, struct err *e)
{
    int rc = claim_setting(r, o, e);

    return rc > 0 && (rc = opts_note(r, o, arg, e)) == 0 ? o->set(r, o, arg, e) : rc;
}

/* -N and -c have other meanings for others, who give them beside -n: in front or behind.
 * Which of them this block has, word included; NULL: none. */
static const char *foreign_count(struct reader *r, const struct option *o, const char *word,
                                 const char *name, size_t len)
{
    if (len == 1 && (*name == 'N' || *name == 'c'))
        r->foreign_count = word;
    return r->foreign_count && o == opts_find("n", 1) ? r->foreign_count : NULL;
}

static int read_option(struct reader *r, struct err *e)
{
    char *word = *r->word++, *name = word + strspn(word, "-");
    char *equals = strchr(name, '='), *arg[2] = { NULL, NULL };
    size_t len = equals ? (size_t)(equals - name) : strlen(name);
    const struct option *o = opts_find(name, len);
    const char *foreign;
    int rc;

    if (!o)
        return unknown_option(word, name, len, e);
    if (!equals && asks_for_help(r)) {
        r->help_of = o;
        return 0;
    }
    if (take_values(r, o, equals ? equals + 1 : NULL, arg, e) < 0)
        return err_context(e, "%.*s", shown(word), word);
    rc = claim_setting(r, o, e);
    foreign = foreign_count(r, o, word, name, len);
    if (rc < 0 && foreign)
        return err_set(e, ERR_INVALID_ARG, "duplicate setting: %.*s is -n here; -ppn is for each "
                       "host, and -cpus-per-proc for each process", shown(foreign), foreign);
    if (rc <= 0)
        return rc;
    r->written = opts_name_of(o, name, len);
    rc = opts_note(r, o, arg, e) < 0 || o->set(r, o, arg, e) < 0 ? -1 : 0;
    r->written = NULL;
    return rc < 0 ? err_context(e, "%.*s", shown(word), word) : 0;
}

static bool at_option(const struct reader *r)
{
    return r->word < r->end && **r->word == '-' && strcmp(*r->word, "--") != 0;
}

static int read_options(struct reader *r, struct err *e)
{
    while (at_option(r) && !r->help_of && !r->print)
        if (read_option(r, e) < 0)
            return -1;
    return 0;
}

/* Something of this block follows the word. */
static bool has_more(const struct reader *r)
{
    return r->word < r->end && r->word + 1 < r->end && !is_separator(r->word[1]);
}

/* "NAME=VALUE" before the program, as mpirun_rsh takes it. */
static bool at_assignment(const struct reader *r)
{
    static const char name[] = "0123456789_"
                               "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    size_t len = has_more(r) ? strspn(*r->word, name) : 0;

    return len && (*r->word)[len] == '=' && (**r->word < '0' || **r->word > '9');
}

/* A line of mpirun_rsh's file has a ':' between options and program. */
static bool at_needless_separator(const struct reader *r)
{
    return r->in_file && has_more(r) && is_separator(*r->word) && *r->word[1] != '-';
}

/* What may stand between options, if there are any, and program. */
static int read_between(struct reader *r, bool options, struct err *e)
{
    if (r->word < r->end && strcmp(*r->word, "--") == 0) {
        r->word++;
        return 0;
    }
    if (options && at_needless_separator(r))
        r->word++;
    r->option = NULL;
    while (at_assignment(r)) {
        const char *word = *r->word++;
        size_t len = strcspn(word, "=");

        if (opts_add_variable(r, &r->app->env.set, word, len, word + len + 1, e) < 0)
            return -1;
    }
    return 0;
}

static int read_program(struct reader *r, struct err *e)
{
    const char *word;

    while ((word = next_word(r)))
        if (strlist_add(&r->app->argv, word) < 0)
            return err_set(e, ERR_NOMEM, "no memory");
    return 0;
}

/* A block without a program is an error unless it has job-wide options only and
 * programs may come from elsewhere. */
static int end_empty_block(struct reader *r, struct err *e)
{
    size_t number = r->plan->napps;
    bool alone = number == 1 && r->word == r->end;

    for (size_t i = 0; i < opts_rows(); i++)
        if (r->block[i])
            return err_set(e, ERR_INVALID_ARG, "no program after -%s",
                           r->block[i]->names[0]);
    if (!r->in_file && !alone)
        return err_set(e, ERR_INVALID_ARG, "no program in part %zu (parts end at ':')",
                       number);
    plan_drop_app(r->plan);
    return 0;
}

/* "[options] PROGRAM [ARG]...", up to ':' or the end. */
static int read_block(struct reader *r, struct err *e)
{
    char **first = r->word;

    memset(r->block, 0, sizeof r->block);
    r->foreign_count = NULL;
    r->app = plan_add_app(r->plan);
    if (!r->app)
        return err_set(e, ERR_NOMEM, "no memory");
    if (read_options(r, e) < 0)
        return -1;
    if (r->help_of || r->print)
        return 0;
    if (read_between(r, r->word > first, e) < 0 || read_program(r, e) < 0)
        return -1;
    if (r->app->file && opts_read_jobfile(r, e) < 0)
        return err_context(e, "-file");
    return r->app->argv.n ? 0 : end_empty_block(r, e);
}

static int read_blocks(struct reader *r, char **words, size_t n, struct err *e)
{
    r->word = words;
    r->end = words + n;
    do {
        if (read_block(r, e) < 0)
            return -1;
        if (r->help_of || r->print || r->word == r->end)
            return 0;
        r->word++;                       /* the ':' */
    } while (r->word < r->end || !r->in_file);
    return 0;
}

static int read_lines(struct reader *r, const char *text, struct err *e)
{
    struct strlist words = { 0 };
    int line = 1, at = 1, rc;

    while ((rc = opts_file_next_line(&text, &line, &words, e)) > 0) {
        r->line = at;
        if (words.n && (rc = read_blocks(r, words.v, words.n, e)) < 0) {
            err_context(e, "line %d", at);
            break;
        }
        at = line;
    }
    strlist_clear(&words);
    return rc;
}

/* Settings of the command line come after those of the file: the last one wins. */
int opts_append(struct strlist *to, const struct strlist *from, struct err *e)
{
    for (size_t i = 0; i < from->n; i++)
        if (strlist_add(to, from->v[i]) < 0)
            return err_set(e, ERR_NOMEM, "no memory");
    return 0;
}

static int read_configfile(struct reader *r, struct err *e)
{
    struct strlist typed = r->plan->env.set;
    struct buf text = BUF_INIT;
    size_t before = r->plan->napps;
    int rc = opts_file_read(r->configfile, &text, e);

    r->plan->env.set = (struct strlist){ 0 };
    r->in_file = true;
    r->file = r->configfile;
    r->job[opts_find("configfile", 10) - opts_table] = NULL;     /* refused there */
    if (rc == 0 && (rc = read_lines(r, buf_bytes(&text), e)) < 0)
        err_context(e, "%.100s", r->configfile);
    r->file = NULL;
    if (rc == 0)
        rc = opts_append(&r->plan->env.set, &typed, e);
    strlist_clear(&typed);
    buf_clear(&text);
    if (rc == 0 && before && r->plan->napps > before)
        return err_set(e, ERR_INVALID_ARG,
                       "programs both on the command line and in %.100s", r->configfile);
    if (rc == 0 && !r->plan->napps)
        return err_set(e, ERR_INVALID_ARG, "no program given, nor one in %.100s",
                       r->configfile);
    return rc;
}

/* The file that was named, or else the usual one. */
static int read_file(struct reader *r, struct err *e)
{
    struct err none = { 0 };

    if (!r->configfile && !r->no_configfile)
        r->configfile = opts_usual_configfile(r->envp, SYSCONFDIR, &none);
    if (none.code) {
        *e = none;
        return -1;
    }
    if (r->configfile)
        return read_configfile(r, e);
    return r->plan->napps ? 0
           : err_set(e, ERR_INVALID_ARG, "no program given; -h shows the usage");
}

/* What was typed may hold anything; a message is one line. */
static void make_one_line(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            *text = '?';
}

static enum opts_result failed(struct err *e)
{
    make_one_line(e->text);
    return e->code == ERR_NOMEM ? OPTS_FAILED : OPTS_USAGE;
}

enum opts_result opts_parse(struct plan *p, int argc, char **argv, char *const *envp,
                            FILE *out, struct err *e)
{
    return opts_parse_noting(p, NULL, argc, argv, envp, out, e);
}

enum opts_result opts_parse_noting(struct plan *p, struct said *said, int argc, char **argv,
                                   char *const *envp, FILE *out, struct err *e)
{
    struct reader r = { .plan = p, .envp = envp, .said = said };
    size_t words = argc > 1 ? (size_t)argc - 1 : 0;
    int rc;

    plan_init(p);
    hosts_init(&r.hosts, p);
    rc = read_blocks(&r, argv + (words > 0), words, e);
    if (rc == 0 && !r.print && !r.help_of)
        rc = read_file(&r, e);
    if (rc == 0 && !r.print && !r.help_of)
        rc = opts_settle(&r, e);
    free(r.configfile);
    hosts_clear(&r.hosts);
    for (size_t i = 0; i < p->warnings.n; i++)
        make_one_line(p->warnings.v[i]);
    if (rc < 0)
        return failed(e);
    if (!r.print && !r.help_of)
        return OPTS_RUN;
    if (r.print)
        r.print(out);
    else
        opts_print_one(out, r.help_of);
    return OPTS_DONE;
}

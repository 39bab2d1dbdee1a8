/* opts_set_compat.c - what options of other launchers do to the plan.  See opts_table.h. */
#include "mpiexec_lite/env.h"
#include "mpiexec_lite/opts_table.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* As the option of this name, which must not have been given. */
static int as(struct reader *r, const char *name, const char *value, struct err *e)
{
    char *const words[] = { (char *)value, NULL };

    return opts_apply(r, opts_find(name, strlen(name)), words, e);
}

/* The words of a list, which commas separate; empty ones are left out.  out is to be cleared
 * either way. */
static int split(const char *list, struct strlist *out, struct err *e)
{
    while (*list) {
        size_t len = strcspn(list, ",");

        if (len && strlist_add_bytes(out, list, len) < 0)
            return err_set(e, ERR_NOMEM, "no memory");
        list += len + (list[len] == ',');
    }
    return 0;
}

int opts_set_timestamps(struct reader *r, const struct option *o, char *const *arg,
                        struct err *e)
{
    (void)o;
    (void)arg;
    (void)e;
    r->timestamps = true;
    return 0;
}

/* text with every '%' doubled, then more, into a field of the plan. */
static int set_path(char **to, const char *text, const char *more, struct err *e)
{
    struct buf b = BUF_INIT;
    int rc;

    for (; *text; text++) {
        buf_char(&b, *text);
        if (*text == '%')
            buf_char(&b, '%');
    }
    buf_str(&b, more);
    rc = b.failed ? err_set(e, ERR_NOMEM, "no memory") : opts_copy(to, buf_bytes(&b), e);
    buf_clear(&b);
    return rc;
}

int opts_set_output_folder(struct reader *r, const struct option *o, char *const *arg,
                           struct err *e)
{
    (void)o;
    if (!*arg[0])
        return err_set(e, ERR_INVALID_VAL, "the value is empty");
    if (opts_has(r, "errfile-pattern"))
        return err_set(e, ERR_INVALID_ARG, "duplicate setting: it is -errfile-pattern too");
    if (set_path(&r->plan->outfile, arg[0], "/rank.%r/stdout", e) < 0)
        return -1;
    return set_path(&r->plan->errfile, arg[0], "/rank.%r/stderr", e);
}

/* --- Open MPI's --output ------------------------------------------------ */

/* len bytes of word are a directive of it. */
static bool is_directive(const char *word, size_t len)
{
    static const char *const known[] = {
        "tag", "rank", "timestamp", "merge", "merge-stderr-to-stdout",
    };

    if (len > 4 && !strncasecmp(word, "dir=", 4))
        return true;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i]) == len && !strncasecmp(word, known[i], len))
            return true;
    return false;
}

static bool all_directives(const char *list)
{
    while (*list) {
        size_t len = strcspn(list, ",");

        if (!is_directive(list, len))
            return false;
        list += len + (list[len] == ',');
    }
    return true;
}

static int take_directive(struct reader *r, const char *word, struct err *e)
{
    if (!strncasecmp(word, "dir=", 4))
        return as(r, "output-filename", word + 4, e);
    if (!strncasecmp(word, "merge", 5))
        return as(r, "merge-stderr-to-stdout", NULL, e);
    if (!strcasecmp(word, "timestamp"))
        return as(r, "timestamp-output", NULL, e);
    return as(r, "l", NULL, e);
}

int opts_set_output(struct reader *r, const struct option *o, char *const *arg, struct err *e)
{
    struct strlist words = { 0 };
    int rc;

    (void)o;
    if (!all_directives(arg[0]))
        return as(r, "o", arg[0], e);
    rc = split(arg[0], &words, e);
    for (size_t i = 0; rc == 0 && i < words.n; i++)
        rc = take_directive(r, words.v[i], e);
    strlist_clear(&words);
    return rc;
}

static int display_word(struct reader *r, const char *word, struct err *e)
{
    if (!strcasecmp(word, "map") || !strcasecmp(word, "map-devel"))
        return as(r, "print-rank-map", NULL, e);
    if (!strcasecmp(word, "bind") || !strcasecmp(word, "bindings"))
        return as(r, "report-bindings", NULL, e);
    return err_set(e, ERR_INVALID_VAL, "'%.40s' is not map or bindings; -explain shows the rest, "
                   "and starts nothing", word);
}

int opts_set_display(struct reader *r, const struct option *o, char *const *arg, struct err *e)
{
    struct strlist words = { 0 };
    int rc = split(arg[0], &words, e);

    (void)o;
    for (size_t i = 0; rc == 0 && i < words.n; i++)
        rc = display_word(r, words.v[i], e);
    strlist_clear(&words);
    return rc;
}

/* --- srun --------------------------------------------------------------- */

/* A word of --cpu-bind that says to what, as -bind-to has it; NULL: there is none. */
static const char *bind_word(const char *word)
{
    static const char *const words[][2] = {
        { "none", "none" }, { "no", "none" }, { "threads", "hwthread" }, { "cores", "core" },
        { "sockets", "socket" }, { "ldoms", "numa" }, { "boards", "machine" }, { "rank", "rr" },
    };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcasecmp(word, words[i][0]))
            return words[i][1];
    return NULL;
}

/* "map_cpu:0,4,8", which takes the rest of the text. */
static int bind_list(struct reader *r, const char *list, struct err *e)
{
    struct buf text = BUF_INIT;
    int rc;

    buf_printf(&text, "user:%s", list);
    rc = text.failed ? err_set(e, ERR_NOMEM, "no memory") : as(r, "bind-to", buf_bytes(&text), e);
    buf_clear(&text);
    return rc;
}

int opts_set_cpu_bind(struct reader *r, const struct option *o, char *const *arg, struct err *e)
{
    const char *at = arg[0];
    int rc = 0;

    (void)o;
    while (rc == 0 && *at) {
        char word[40];
        size_t len = strcspn(at, ",");

        if (!strncasecmp(at, "map_cpu:", 8))
            return bind_list(r, at + 8, e);
        snprintf(word, sizeof word, "%.*s", (int)(len < sizeof word ? len : sizeof word - 1), at);
        at += len + (at[len] == ',');
        if (!strcasecmp(word, "verbose") || !strcasecmp(word, "v"))
            rc = as(r, "report-bindings", NULL, e);
        else if (bind_word(word))
            rc = as(r, "bind-to", bind_word(word), e);
        else if (*word && strcasecmp(word, "quiet") && strcasecmp(word, "q"))
            return err_set(e, ERR_INVALID_VAL, "'%s' is not known; use -bind-to or -map-by", word);
    }
    return rc;
}

/* srun's letter, or 0 if we have none for it. */
static char our_letter(char theirs)
{
    static const char letters[][2] = { { 't', 'r' }, { 'N', 'h' }, { 'n', 'p' }, { '%', '%' } };

    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
        if (letters[i][0] == theirs)
            return letters[i][1];
    return 0;
}

int opts_set_srun_pattern(struct reader *r, const struct option *o, char *const *arg,
                          struct err *e)
{
    char **to = (char **)((char *)r->plan + o->at), *copy;

    if (!strcasecmp(arg[0], "all"))
        return 0;
    if (opts_copy(to, strcasecmp(arg[0], "none") ? arg[0] : "/dev/null", e) < 0)
        return -1;
    for (copy = strchr(*to, '%'); copy; copy = strchr(copy + 2, '%')) {
        char letter = our_letter(copy[1]);

        if (!letter)
            return err_set(e, ERR_INVALID_VAL, "'%.60s': of srun's %% only %%t, %%N, %%n and "
                           "%%%% are known", arg[0]);
        copy[1] = letter;
    }
    return **to ? 0 : err_set(e, ERR_INVALID_VAL, "the value is empty");
}

int opts_set_srun_input(struct reader *r, const struct option *o, char *const *arg,
                        struct err *e)
{
    bool plain = !strcasecmp(arg[0], "none") || !strcasecmp(arg[0], "all") ||
                 (*arg[0] && !arg[0][strspn(arg[0], "0123456789")]);

    if (plain)
        return opts_set_stdin(r, o, arg, e);
    if (!*arg[0])
        return err_set(e, ERR_INVALID_VAL, "the value is empty");
    r->plan->stdin_mode = STDIN_FILE;
    return opts_copy(&r->plan->stdin_file, arg[0], e);
}

/* One word of srun's list. */
static int export_word(struct reader *r, struct env_rules *rules, const char *word, struct err *e)
{
    size_t name = env_name_len(word);

    if (!strcasecmp(word, "ALL")) {
        rules->inherit = INHERIT_ALL;
    } else if (word[name]) {
        return opts_add_variable(r, &rules->set, word, name, word + name + 1, e);
    } else if (strcasecmp(word, "NONE") && strlist_add(&rules->names, word) < 0) {
        return err_set(e, ERR_NOMEM, "no memory");
    }
    return 0;
}

int opts_set_export_list(struct reader *r, const struct option *o, char *const *arg,
                         struct err *e)
{
    struct env_rules *rules = &r->plan->env;
    struct strlist words = { 0 };
    int rc = 0;

    (void)o;
    rules->inherit = arg[0] ? INHERIT_LIST : INHERIT_ALL;
    if (arg[0])
        rc = split(arg[0], &words, e);
    for (size_t i = 0; rc == 0 && i < words.n; i++)
        rc = export_word(r, rules, words.v[i], e);
    strlist_clear(&words);
    return rc;
}

int opts_set_kill_on_bad_exit(struct reader *r, const struct option *o, char *const *arg,
                              struct err *e)
{
    long on = 1;

    (void)o;
    if (arg[0] && !opts_number(arg[0], 0, 1, &on))
        return err_set(e, ERR_INVALID_VAL, "'%.40s' is not 0 or 1", arg[0]);
    r->plan->policy = on ? END_ON_ANY_NONZERO : END_ON_FAILURE;
    return 0;
}

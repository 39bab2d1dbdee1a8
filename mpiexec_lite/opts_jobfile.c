/* opts_jobfile.c - the file of -file: more options of one program, a line "option = value"
 * each.  See opts_table.h. */
#include "mpiexec_lite/opts_table.h"

#include <stdlib.h>
#include <string.h>

/* What the command line has said before the file is read: that stays. */
struct said {
    bool job[OPTIONS_MAX], block[OPTIONS_MAX];
};

/* Blanks at both ends of text off. */
static char *trimmed(char *text)
{
    static const char blank[] = " \t\r";
    char *end;

    text += strspn(text, blank);
    for (end = text + strlen(text); end > text && strchr(blank, end[-1]); end--)
        ;
    *end = '\0';
    return text;
}

static int give(struct reader *r, const struct said *said, const struct option *o, char *value,
                struct err *e)
{
    size_t i = opts_setting_of(o);
    bool again = o->flags & OPTION_REPEAT;
    int on;

    if (!again && (o->flags & OPTION_LOCAL ? said->block[i] : said->job[i]))
        return 0;
    if (o->arg && !opts_value_is_optional(o) && !(strchr(o->arg, ' ') && !strchr(value, '=')))
        return opts_apply(r, o, (char *const[]){ value, NULL }, e);
    on = opts_boolean(value);
    if (o->arg || on < 0)
        return err_set(e, ERR_INVALID_VAL, "'%.40s' is not %s", value,
                       o->arg ? "NAME=VALUE" : "TRUE or FALSE");
    return on ? opts_apply(r, o, (char *const[]){ NULL, NULL }, e) : 0;
}

static int read_line(struct reader *r, const struct said *said, char *line, struct err *e)
{
    char *name = trimmed(line), *value = strchr(name, '=');
    const struct option *o;

    if (!*name || *name == '#')
        return 0;
    if (!value)
        return err_set(e, ERR_INVALID_VAL, "'option = value' wanted, not '%.60s'", name);
    *value++ = '\0';
    name = trimmed(name);
    o = opts_find(name, strlen(name));
    if (!o || o->section == SECTIONS || o->set == opts_set_print ||
        o == opts_find("file", 4) || o == opts_find("configfile", 10))
        return err_set(e, ERR_INVALID_VAL, "'%.60s' is no option for a file", name);
    return give(r, said, o, trimmed(value), e) < 0 ? err_context(e, "%.60s", name) : 0;
}

static int read_lines(struct reader *r, char *text, struct err *e)
{
    struct said said;
    char *line;
    int rc = 0;

    for (size_t i = 0; i < opts_rows(); i++) {
        said.job[i] = r->job[i] != NULL;
        said.block[i] = r->block[i] != NULL;
    }
    for (int n = 1; rc == 0 && (line = strsep(&text, "\n")); n++) {
        r->line = n;
        if ((rc = read_line(r, &said, line, e)) < 0)
            err_context(e, "line %d", n);
    }
    return rc;
}

int opts_read_jobfile(struct reader *r, struct err *e)
{
    struct strlist typed = r->app->env.set;
    struct buf text = BUF_INIT;
    const char *outer = r->file;
    int outer_line = r->line, rc = opts_file_read(r->app->file, &text, e);

    r->app->env.set = (struct strlist){ 0 };
    r->file = r->app->file;
    if (rc == 0 && (rc = read_lines(r, buf_bytes(&text), e)) < 0)
        err_context(e, "%.100s", r->app->file);
    r->file = outer;
    r->line = outer_line;
    if (rc == 0)                         /* of two settings of a variable the last one counts */
        rc = opts_append(&r->app->env.set, &typed, e);
    strlist_clear(&typed);
    buf_clear(&text);
    return rc;
}

/* opts_note.c - who has said what, for --explain.  See opts_table.h and said.h. */
#include "mpiexec_lite/env.h"
#include "mpiexec_lite/opts_table.h"
#include "mpiexec_lite/said.h"

#include <stdlib.h>
#include <string.h>

/* Add x, whose source is where the reader is. */
static int note(struct reader *r, struct setting *x, struct err *e)
{
    struct buf source = BUF_INIT;
    int rc = -1;

    if (r->variable)
        buf_printf(&source, "variable %s", r->variable);
    else if (r->file)
        buf_printf(&source, "%s:%d", r->file, r->line);
    else
        buf_str(&source, "command line");
    if (!source.failed) {
        x->source = buf_bytes(&source);
        x->in_file = r->file != NULL;
        rc = said_add(r->said, x);
    }
    buf_clear(&source);
    return rc < 0 ? err_set(e, ERR_NOMEM, "no memory") : 0;
}

int opts_note(struct reader *r, const struct option *o, char *const *arg, struct err *e)
{
    struct setting x = { .key = opts_row(opts_setting_of(o))->names[0], .option = o->names[0],
                         .written = r->written, .app = SAID_OF_JOB };
    struct buf value = BUF_INIT;
    int rc;

    r->option = o;
    if (!r->said)
        return 0;
    if (o->flags & OPTION_LOCAL)
        x.app = (int)(r->app - r->plan->apps);
    if (arg[0])
        buf_printf(&value, arg[1] ? "%s %s" : "%s", arg[0], arg[1]);
    if (arg[0] && !value.failed)
        x.value = buf_bytes(&value);
    rc = value.failed ? err_set(e, ERR_NOMEM, "no memory") : note(r, &x, e);
    buf_clear(&value);
    r->hosts.said = (int)r->said->n;
    return rc;
}

int opts_note_ours(struct reader *r, const char *name, const struct option *o,
                   const char *text, struct err *e)
{
    struct setting x = { .key = o ? opts_row(opts_setting_of(o))->names[0] : NULL,
                         .value = (char *)text, .app = SAID_OF_JOB };
    int rc;

    r->option = NULL;
    if (!r->said)
        return 0;
    r->variable = name;
    rc = note(r, &x, e);
    r->variable = NULL;
    r->hosts.said = (int)r->said->n;
    return rc;
}

int opts_note_variable(struct reader *r, bool of_job, const char *entry, struct err *e)
{
    size_t len = env_name_len(entry);
    struct setting x = { .option = r->option ? r->option->names[0] : NULL,
                         .written = r->written,
                         .app = of_job ? SAID_OF_JOB : (int)(r->app - r->plan->apps) };
    int rc;

    if (!r->said)
        return 0;
    x.value = (char *)entry + len + 1;
    x.variable = strndup(entry, len);
    rc = x.variable ? note(r, &x, e) : err_set(e, ERR_NOMEM, "no memory");
    free(x.variable);
    return rc;
}

void opts_hosts_named_by(struct reader *r, const char *key, int app)
{
    const struct setting *x = r->said && key ? said_of(r->said, key, app) : NULL;

    r->hosts.said = x ? (int)(x - r->said->v) + 1 : 0;
}

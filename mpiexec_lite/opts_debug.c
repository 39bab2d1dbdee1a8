/* opts_debug.c - the options that open a debugger: -gdb, -tool, -debug.  See opts_table.h.
 *
 * Hydra's -debug is -v, and what follows it the next option or the program; so is ours with one
 * dash.  With two dashes a person means the debugger behind it, "--debug gdb -n 2 ./app": it is
 * meant where an option of ours follows, which no program begins with that gdb is to debug. */
#include "mpiexec_lite/hold.h"
#include "mpiexec_lite/opts_table.h"
#include "wire/rank_list.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *const opts_debuggers[] = { "gdb", NULL };

/* The length of a debugger's name or path at the beginning of text, which ends there or at a
 * ':', behind which are ranks; 0: that is none. */
static size_t debugger_in(const char *text)
{
    size_t len = strcspn(text, ":");
    const char *slash = memrchr(text, '/', len), *name = slash ? slash + 1 : text;
    size_t n = len - (size_t)(name - text);

    for (const char *const *d = opts_debuggers; *d; d++)
        if (n == strlen(*d) && !memcmp(name, *d, n))
            return len;
    return 0;
}

static bool is_option(const char *word)
{
    const char *name = word + strspn(word, "-");

    return name > word && opts_find(name, strcspn(name, "="));
}

static bool are_ranks(const char *word)
{
    return rank_list_check(word, 0, NULL) == 0;
}

void opts_take_debugger(struct reader *r, char *arg[2])
{
    char **word = r->word;
    ptrdiff_t n = r->end - word;

    if (n < 2 || strcasecmp(word[-1], "--debug") || !debugger_in(word[0]))
        return;
    if (is_option(word[1])) {
        r->word += 1;
    } else if (n > 2 && !strchr(word[0], ':') && are_ranks(word[1]) && is_option(word[2])) {
        arg[1] = word[1];
        r->word += 2;
    } else {
        return;
    }
    arg[0] = word[0];
}

/* --- what they do ------------------------------------------------------ */

static int set_gdb(struct reader *r, const char *program, size_t len, const char *ranks,
                   struct err *e)
{
    char *copy = strndup(program, len);

    if (!copy)
        return err_set(e, ERR_NOMEM, "no memory");
    free(r->plan->gdb);
    r->plan->gdb = copy;
    if (rank_list_check(ranks, 0, e) < 0 || opts_copy(&r->plan->hold_ranks, ranks, e) < 0)
        return -1;
    r->plan->hold = HOLD_EXEC;
    return 0;
}

int opts_set_gdb(struct reader *r, const struct option *o, char *const *arg, struct err *e)
{
    (void)o;
    return set_gdb(r, "gdb", strlen("gdb"), arg[0], e);
}

int opts_set_tool(struct reader *r, const struct option *o, char *const *arg, struct err *e)
{
    (void)o;
    if (r->file || r->in_file || r->variable)
        return err_set(e, ERR_INVALID_VAL, "only possible on the command line");
    if (!arg[0][strspn(arg[0], " \t\n")])
        return err_set(e, ERR_INVALID_VAL, "the value is empty");
    r->plan->tool = arg[0];
    return 0;
}

/* -debug, -debug=gdb, -debug=gdb:RANKS, -debug=CMD, --debug gdb [RANKS] */
int opts_set_debug(struct reader *r, const struct option *o, char *const *arg, struct err *e)
{
    size_t len = arg[0] ? debugger_in(arg[0]) : 0;
    const char *ranks = arg[1] ? arg[1] : "all";

    if (!arg[0])
        return opts_set_verbose(r, o, arg, e);
    if (!len)
        return opts_set_tool(r, o, arg, e);
    return set_gdb(r, arg[0], len, arg[0][len] ? arg[0] + len + 1 : ranks, e);
}

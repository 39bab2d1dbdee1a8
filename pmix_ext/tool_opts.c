/* tool_opts.c - the command line of pmix_tool, and what is printed from its tables. */
#include "pmix_ext/tool.h"

#include "wire/nearest.h"
#include "wire/wrap.h"

#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { OPTIONS = 32, HELP_COLUMN = 26 };

/* --- looking up -------------------------------------------------------- */

const char *tool_value(const struct tool *t, int id)
{
    for (size_t i = t->ngiven; i-- > 0; )
        if (t->given[i].id == id)
            return t->given[i].arg;
    return NULL;
}

bool tool_has(const struct tool *t, int id)
{
    for (size_t i = 0; i < t->ngiven; i++)
        if (t->given[i].id == id)
            return true;
    return false;
}

static const char *option_name(const struct tool *t, int id)
{
    const struct tool_option *lists[] = { tool_common, t->command ? t->command->options : NULL };

    for (size_t i = 0; i < 2; i++)
        for (const struct tool_option *o = lists[i]; o && o->name; o++)
            if (o->id == id)
                return o->name;
    return "";
}

int tool_number(const struct tool *t, int id, double least, double fallback, double *out)
{
    const char *text = tool_value(t, id);
    char *end;

    *out = fallback;
    if (!text)
        return 0;
    *out = strtod(text, &end);
    if (end == text || *end || !isfinite(*out) || *out < least)
        return tool_fail(STATUS_USAGE, "--%s: '%s' is no number of at least %g",
                         option_name(t, id), text, least);
    return 0;
}

static const struct tool_command *command_named(const char *name)
{
    for (const struct tool_command *c = tool_commands; c->name; c++)
        if (!strcmp(c->name, name))
            return c;
    return NULL;
}

/* --- help -------------------------------------------------------------- */

static void print_row(FILE *out, const char *left, const char *help)
{
    size_t column = (size_t)fprintf(out, "  %s", left);

    if (column + 2 > HELP_COLUMN) {
        fputc('\n', out);
        column = 0;
    }
    wrap_print(out, help, HELP_COLUMN, column);
}

static void print_options(FILE *out, const struct tool_option *o)
{
    for (; o && o->name; o++) {
        char left[80];

        if (o->id < 256)
            snprintf(left, sizeof left, "-%c, --%s%s%s", o->id, o->name, o->arg ? " " : "",
                     o->arg ? o->arg : "");
        else
            snprintf(left, sizeof left, "    --%s%s%s", o->name, o->arg ? " " : "",
                     o->arg ? o->arg : "");
        print_row(out, left, o->help);
    }
}

static void print_help(FILE *out)
{
    fputs("Usage: pmix_tool [options] COMMAND [options] [ARG...]\n\n"
          "Look at running jobs, and act on them, through the server that started them.\n\n"
          "Commands:\n", out);
    for (const struct tool_command *c = tool_commands; c->name; c++)
        print_row(out, c->name, c->help);
    fputs("\nOptions of all commands:\n", out);
    print_options(out, tool_common);
    fputs("\nWithout a choice of server it is the system's, if there is one, else the user's\n"
          "only one here.\n"
          "Exit status: 0; 1 it failed; 2 wrong command line; 3 no server; 4 several servers or\n"
          "jobs, and none is named; spawn: the job's, or 255.\n"
          "pmix_tool COMMAND --help tells more about one, man pmix_tool everything.\n", out);
}

static void print_command(FILE *out, const struct tool_command *c)
{
    fprintf(out, "Usage: pmix_tool %s [options]%s%s\n\n", c->name, *c->args ? " " : "", c->args);
    wrap_print(out, c->help, 0, 0);
    if (c->more)
        wrap_print(out, c->more, 0, 0);
    if (c->options) {
        fputs("\nOptions:\n", out);
        print_options(out, c->options);
    }
    fputs("\nOptions of all commands:\n", out);
    print_options(out, tool_common);
}

static void print_words(FILE *out, const struct tool_option *o)
{
    for (; o && o->name; o++)
        fprintf(out, " --%s", o->name);
}

void tool_print_completion(FILE *out)
{
    fputs("# bash completion for pmix_tool; made by pmix_tool --print-completion\n\n"
          "_pmix_tool() {\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} word command='' words=''\n\n"
          "    for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
          "        if [[ -z $command && $word != -* ]]; then command=$word; fi\n"
          "    done\n"
          "    case $command in\n    '') words='", out);
    for (const struct tool_command *c = tool_commands; c->name; c++)
        fprintf(out, "%s ", c->name);
    fputs("';;\n", out);
    for (const struct tool_command *c = tool_commands; c->name; c++) {
        fprintf(out, "    %s) words='", c->name);
        print_words(out, c->options);
        fputs("';;\n", out);
    }
    fputs("    esac\n    words+='", out);
    print_words(out, tool_common);
    fputs("'\n"
          "    if [[ $cur != -* && $command == spawn ]]; then return; fi   # file names\n"
          "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
          "}\n"
          "complete -o bashdefault -o default -F _pmix_tool pmix_tool\n", out);
}

/* --- reading ----------------------------------------------------------- */

struct spelling { struct option longs[OPTIONS + 1]; char shorts[2 * OPTIONS + 3]; size_t n; };

static void spell(struct spelling *s, const struct tool_option *o)
{
    for (; o && o->name && s->n < OPTIONS; o++) {
        s->longs[s->n++] = (struct option){ o->name, o->arg ? required_argument : no_argument,
                                            NULL, o->id };
        if (o->id < 256) {
            size_t at = strlen(s->shorts);

            snprintf(s->shorts + at, sizeof s->shorts - at, "%c%s", o->id, o->arg ? ":" : "");
        }
    }
}

static int unknown_option(const struct spelling *s, const char *word, int letter)
{
    struct nearest near;
    char name[64];

    if (letter)
        return tool_fail(STATUS_USAGE, "unknown option -%c", letter);
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word + 2, "="), word + 2);
    nearest_start(&near, name);
    for (size_t i = 0; i < s->n; i++)
        nearest_try(&near, s->longs[i].name);
    if (near.best)
        return tool_fail(STATUS_USAGE, "unknown option --%s; did you mean --%s?", name,
                         near.best);
    return tool_fail(STATUS_USAGE, "unknown option --%s", name);
}

static int unknown_command(const char *word)
{
    struct nearest near;

    nearest_start(&near, word);
    for (const struct tool_command *c = tool_commands; c->name; c++)
        nearest_try(&near, c->name);
    if (near.best)
        return tool_fail(STATUS_USAGE, "unknown command '%s'; did you mean %s?", word, near.best);
    return tool_fail(STATUS_USAGE, "unknown command '%s'; pmix_tool --help lists them", word);
}

/* What getopt did not take: '?' or ':', and optopt. */
static int refused(const struct spelling *s, int what, char *const *argv)
{
    const char *word = argv[optind - 1];
    bool is_long = !strncmp(word, "--", 2);

    if (what == ':')
        return tool_fail(STATUS_USAGE, "%s wants a value", word);
    if (optopt && is_long)
        return tool_fail(STATUS_USAGE, "%s takes no value", word);
    return unknown_option(s, word, is_long ? 0 : optopt);
}

/* Options into t->given; optind is then at the first word that is none.  -1, or the exit
 * status. */
static int read_options(struct tool *t, const struct spelling *s, int argc, char **argv)
{
    int id;

    opterr = 0;
    optind = 0;                          /* of glibc: from the start, with new options */
    while ((id = getopt_long(argc, argv, s->shorts, s->longs, NULL)) != -1) {
        if (id == '?' || id == ':')
            return refused(s, id, argv);
        t->given[t->ngiven++] = (struct given){ id, optarg };
    }
    return -1;
}

/* --version and the like. */
static bool print_asked(const struct tool *t)
{
    if (tool_has(t, OPT_VERSION))
        puts("pmix_tool " VERSION);
    else if (tool_has(t, OPT_HELP) && t->command)
        print_command(stdout, t->command);
    else if (tool_has(t, OPT_HELP))
        print_help(stdout);
    else
        return false;
    return true;
}

static int check_words(const struct tool *t)
{
    const struct tool_command *c = t->command;

    if (t->argc >= c->least && (c->most < 0 || t->argc <= c->most))
        return -1;
    return tool_fail(STATUS_USAGE, "%s: %s; usage: pmix_tool %s [options]%s%s", c->name,
                     t->argc < c->least ? "there is nothing behind it" : "too many words",
                     c->name, *c->args ? " " : "", c->args);
}

int tool_read(struct tool *t, int argc, char **argv)
{
    struct spelling common = { .shorts = "+:" }, own = { .shorts = ":" };
    int status;

    t->given = calloc((size_t)argc * 2 + 1, sizeof *t->given);
    if (!t->given)
        return tool_fail(STATUS_FAILED, "out of memory");
    if (argc == 2 && !strcmp(argv[1], "--print-completion")) {
        tool_print_completion(stdout);
        return 0;
    }
    spell(&common, tool_common);
    status = read_options(t, &common, argc, argv);
    if (status >= 0)
        return status;
    argc -= optind;
    argv += optind;
    if (print_asked(t))
        return 0;
    if (!argc)
        return tool_fail(STATUS_USAGE, "which command? pmix_tool --help lists them");
    t->command = command_named(*argv);
    if (!t->command)
        return unknown_command(*argv);
    if (t->command->flags & TOOL_WORDS)
        memcpy(own.shorts, "+:", sizeof "+:");
    spell(&own, t->command->options);
    spell(&own, tool_common);
    status = read_options(t, &own, argc, argv);
    if (status >= 0)
        return status;
    t->argc = argc - optind;
    t->argv = argv + optind;
    t->json = tool_has(t, OPT_JSON);
    return print_asked(t) ? 0 : check_words(t);
}

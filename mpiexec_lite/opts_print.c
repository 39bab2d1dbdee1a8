/* opts_print.c - the option table as usage text, manual and bash completion.  See
 * opts.h. */
#include "mpiexec_lite/launchers.h"
#include "mpiexec_lite/opts_table.h"

#include "wire/wrap.h"

#include <string.h>

#define HELP_COLUMN 26       /* where the sentences begin */

static const char usage[] =
    "Usage: mpiexec_lite [options] PROGRAM [ARG]... [: [options] PROGRAM [ARG]...]...\n"
    "       mpiexec_lite [options] -configfile FILE\n"
    "\n"
    "Start copies of programs that talk to each other by MPI, or of any others.\n";

static const char footer[] =
    "\n"
    "Options with * hold for the program that follows them, the others for the whole\n"
    "job wherever they stand.  One dash or two, upper or lower case, -opt value or\n"
    "-opt=value are all the same.  -- ends the options; \\: is the argument ':'.\n"
    "-opt -h tells more about one option, man mpiexec_lite everything.\n";

/* "-n, -np, -c N".  Its length. */
static size_t print_synopsis(FILE *out, const struct option *o)
{
    char names[160];

    opts_names(o, names, sizeof names);
    return (size_t)fprintf(out, "%s%s%s", names, o->arg && !opts_value_is_optional(o) ? " " : "",
                           o->arg ? o->arg : "");
}

static void print_row(FILE *out, const struct option *o)
{
    size_t column = (size_t)fprintf(out, "%s", o->flags & OPTION_LOCAL ? "* " : "  ");

    column += print_synopsis(out, o);
    if (column + 2 > HELP_COLUMN) {
        fputc('\n', out);
        column = 0;
    }
    wrap_print(out, o->help, HELP_COLUMN, column);
}

void opts_print_help(FILE *out)
{
    fputs(usage, out);
    for (int section = 0; section < SECTIONS; section++) {
        fprintf(out, "\n%s:\n", opts_section_title[section]);
        for (size_t i = 0; i < opts_rows(); i++)
            if ((int)opts_row(i)->section == section)
                print_row(out, opts_row(i));
    }
    fputs(footer, out);
}

void opts_print_version(FILE *out)
{
    struct buf names = BUF_INIT;

    launcher_names(&names);
    fprintf(out, "mpiexec_lite " VERSION "\nPMI-1.1, PMI-1.2 and PMI-2.0; hosts of slurm, pbs, lsf, sge, "
            "cobalt, ll, flux\nlaunchers %.*s\n",
            (int)names.len, names.data ? names.data : "");
    buf_clear(&names);
}

void opts_print_one(FILE *out, const struct option *o)
{
    print_synopsis(out, o);
    fputs(o->flags & OPTION_LOCAL ? "   (for the program that follows)\n" : "\n", out);
    wrap_print(out, o->help, 4, 0);
    if (o->more)
        wrap_print(out, o->more, 4, 0);
}

/* Text for roff: dashes of options stay dashes, a backslash is shown, and nothing
 * at the start of a line is taken for a request. */
static void print_roff(FILE *out, const char *text)
{
    if (*text == '.' || *text == '\'')
        fputs("\\&", out);
    for (; *text; text++) {
        if (*text == '\\')
            fputs("\\e", out);
        else if (*text == '-')
            fputs("\\-", out);
        else
            fputc(*text, out);
    }
}

/* ".It Fl n , Fl np , Fl c Ar N", then the sentences. */
static void print_man_row(FILE *out, const struct option *o)
{
    fputs(".It", out);
    for (const char *const *n = o->names; *n; n++) {
        fputs(n == o->names ? " Fl " : " , Fl ", out);
        print_roff(out, *n);
    }
    if (o->arg)
        fprintf(out, " Ar %s", o->arg);
    fputc('\n', out);
    print_roff(out, o->help);
    fputc('\n', out);
    if (o->more) {
        print_roff(out, o->more);
        fputc('\n', out);
    }
    if (o->flags & OPTION_LOCAL)
        fputs("For the program that follows.\n", out);
}

void opts_print_man(FILE *out)
{
    for (int section = 0; section < SECTIONS; section++) {
        fprintf(out, ".Ss %s\n.Bl -tag -width Ds\n", opts_section_title[section]);
        for (size_t i = 0; i < opts_rows(); i++)
            if ((int)opts_row(i)->section == section)
                print_man_row(out, opts_row(i));
        fputs(".El\n", out);
    }
}

void opts_print_man_variables(FILE *out)
{
    fputs(".Bl -tag -width Ds\n", out);
    for (size_t i = 0; i < opts_variables_count; i++) {
        const struct variable *v = &opts_variables[i];

        for (const char *const *n = v->names; *n; n++)
            fprintf(out, "%s%s", n == v->names ? ".It Ev " : " , ", *n);
        fputc('\n', out);
        print_roff(out, v->help);
        fputc('\n', out);
    }
    fputs(".El\n", out);
}

/* ".It Fl tv , Fl gdb", from names separated by blanks. */
static void print_man_names(FILE *out, const char *names)
{
    char name[40];

    fputs(".It", out);
    for (const char *n = names; *n; n += strspn(n, " ")) {
        size_t len = strcspn(n, " ");

        snprintf(name, sizeof name, "%.*s", (int)len, n);
        fputs(n == names ? " Fl " : " , Fl ", out);
        print_roff(out, name);
        n += len;
    }
    fputc('\n', out);
}

void opts_print_man_refused(FILE *out)
{
    fputs(".Bl -tag -width Ds\n", out);
    for (size_t i = 0; i < opts_refused_count; i++) {
        const struct refusal *no = &opts_refused[i];

        print_man_names(out, no->names);
        print_roff(out, no->why);
        if (no->instead) {
            fputs("; ", out);
            print_roff(out, no->instead);
        }
        fputs(".\n", out);
    }
    fputs(".El\n", out);
}

/* What may stand for the placeholder of a value. */
static const char *completion_of(const char *arg)
{
    if (strcmp(arg, "FILE") == 0 || strcmp(arg, "PATTERN") == 0 || strcmp(arg, "PATH") == 0)
        return "file";
    if (strcmp(arg, "DIR") == 0 || strcmp(arg, "DIRS") == 0)
        return "directory";
    return arg;
}

/* "a|b) kind='...' words=N;;" for an option that takes a value. */
static void print_completion_case(FILE *out, const struct option *o)
{
    const char *sep = "    ";

    for (const char *const *n = o->names; *n; n++, sep = "|")
        fprintf(out, "%s%s", sep, *n);
    fputs(") kind='", out);
    for (const char *const *d = opts_debuggers; o->set == opts_set_debug && *d; d++)
        fprintf(out, "%s|", *d);
    fprintf(out, "%s' words=%d;;\n", o->set == opts_set_debug ? "" : completion_of(o->arg),
            opts_value_is_optional(o) ? 0 : strchr(o->arg, ' ') ? 2 : 1);
}

/* "gdb|gdb:*)": what may be behind --debug. */
static void print_completion_debuggers(FILE *out)
{
    const char *sep = "    ";

    for (const char *const *d = opts_debuggers; *d; d++, sep = "|")
        fprintf(out, "%s%s|%s:*", sep, *d, *d);
    fputs(") return 0;;\n", out);
}

static void print_completion_names(FILE *out)
{
    for (size_t i = 0; i < opts_rows(); i++)
        for (const char *const *n = opts_row(i)->names; *n; n++)
            if (opts_row(i)->section != SECTIONS)
                fprintf(out, " -%s", *n);
}

static const char completion_head[] =
"# bash completion for mpiexec_lite; made by mpiexec_lite --print-completion\n"
"\n"
"# The kind and number of values that option $1 wants, into kind and words.\n"
"_mpiexec_lite_option() {\n"
"    local name=${1%%=*}\n"
"\n"
"    name=${name#\"${name%%[!-]*}\"}\n"
"    kind='' words=0\n"
"    case ${name,,} in\n";

static const char completion_debugger[] =
"    esac\n"
"}\n"
"\n"
"# Word $1 is the debugger that --debug opens.\n"
"_mpiexec_lite_debugger() {\n"
"    case ${1##*/} in\n";

/* Words are split here at blanks, since bash splits them at ':' and '=' too. */
static const char completion_middle[] =
"    esac\n"
"    return 1\n"
"}\n"
"\n"
"_mpiexec_lite() {\n"
"    local line=${COMP_LINE:0:COMP_POINT} cur=${COMP_WORDS[COMP_CWORD]}\n"
"    local kind='' words=0 pending=0 program=0 word before='' last typed\n"
"\n"
"    COMPREPLY=()\n"
"    read -ra typed <<<\"$line\"\n"
"    if [[ $line == *[[:blank:]] ]]; then typed+=(''); fi\n"
"    last=${typed[${#typed[@]}-1]}\n"
"    for word in \"${typed[@]:1:${#typed[@]}-2}\"; do\n"
"        if [[ $word == : ]]; then\n"
"            pending=0 program=0\n"
"        elif ((program)); then\n"
"            continue\n"
"        elif ((pending)); then\n"
"            ((pending--))\n"
"            if [[ $word == *=* ]]; then pending=0; fi   # NAME=VALUE is both words\n"
"        elif [[ $word == -* ]]; then\n"
"            _mpiexec_lite_option \"$word\"\n"
"            pending=$words before=$word\n"
"            if [[ $word == *=* ]]; then pending=$((words > 1 ? words - 1 : 0)); fi\n"
"            if [[ $word == *=*=* ]]; then pending=0; fi\n"
"        elif [[ ${before,,} == --debug ]] && _mpiexec_lite_debugger \"$word\"; then\n"
"            before=debugger\n"
"        elif [[ $before == debugger && $word =~ ^(all|[0-9][0-9,-]*)$ ]]; then\n"
"            before=''\n"
"        else\n"
"            program=1\n"
"        fi\n"
"    done\n"
"    if ((program)); then return; fi         # file names, by default\n"
"    if ((!pending)) && [[ $last == -*=* ]]; then\n"
"        _mpiexec_lite_option \"$last\"\n"
"        pending=1 cur=${last#*=}\n"
"    fi\n"
"    if ((pending)); then\n"
"        case $kind in\n"
"        directory) mapfile -t COMPREPLY < <(compgen -d -- \"$cur\");;\n"
"        file) mapfile -t COMPREPLY < <(compgen -f -- \"$cur\");;\n"
"        *'|'*)\n"
"            mapfile -t COMPREPLY < <(compgen -W \"${kind//|/ }\" -- \"$cur\");;\n"
"        esac\n"
"    elif [[ $cur == -* ]]; then\n"
"        mapfile -t COMPREPLY < <(compgen -W '";

static const char completion_tail[] =
"' -- \"$cur\")\n"
"    else\n"
"        mapfile -t COMPREPLY < <(compgen -c -f -- \"$cur\")\n"
"    fi\n"
"}\n"
"complete -o filenames -o bashdefault -o default -F _mpiexec_lite mpiexec_lite\n";

void opts_print_completion(FILE *out)
{
    fputs(completion_head, out);
    for (size_t i = 0; i < opts_rows(); i++)
        if (opts_row(i)->arg && opts_row(i)->section != SECTIONS)
            print_completion_case(out, opts_row(i));
    fputs(completion_debugger, out);
    print_completion_debuggers(out);
    fputs(completion_middle, out);
    print_completion_names(out);
    fputs(completion_tail, out);
}

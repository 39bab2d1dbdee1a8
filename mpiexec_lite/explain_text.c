/* explain_text.c - --explain: the answer for people. */
#include "mpiexec_lite/explain_impl.h"

#include "mpiexec_lite/spread.h"

#include <string.h>

/* One line of text that is safe on a terminal, and by whom it was decided. */
static void line(FILE *out, int indent, struct buf *text, const char *by)
{
    struct buf safe = BUF_INIT;

    buf_char(text, '\0');
    buf_shown(&safe, buf_bytes(text));
    if (*by) {
        buf_str(&safe, "  [");
        buf_shown(&safe, by);
        buf_char(&safe, ']');
    }
    if (!safe.failed && !text->failed)
        fprintf(out, "%*s%.*s\n", indent, "", (int)safe.len, buf_bytes(&safe));
    buf_clear(&safe);
    buf_clear(text);
}

static json_int_t number(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static const char *plural(json_int_t n)
{
    return n == 1 ? "" : "s";
}

static void print_summary(const json_t *s, FILE *out)
{
    json_int_t ranks = number(s, "ranks"), programs = number(s, "programs"),
               hosts = number(s, "hosts"), others = number(s, "other_hosts"),
               crowded = number(s, "hosts_with_more_ranks_than_slots"),
               depth = number(s, "tree_depth");
    struct buf text = BUF_INIT;

    buf_printf(&text, "%lld rank%s of %lld program%s on %lld of %lld host%s, %lld slot%s, at most "
               "%lld rank%s on a host", (long long)ranks, plural(ranks), (long long)programs,
               plural(programs), (long long)number(s, "hosts_with_ranks"), (long long)hosts,
               plural(hosts), (long long)number(s, "slots"), plural(number(s, "slots")),
               (long long)number(s, "most_ranks_of_a_host"),
               plural(number(s, "most_ranks_of_a_host")));
    line(out, 0, &text, "");
    if (others) {
        buf_printf(&text, "%lld other host%s by %s, %s", (long long)others, plural(others),
                   json_word(s, "launcher"), depth > 1 ? "as a tree of depth " : "all from here");
        if (depth > 1)
            buf_printf(&text, "%lld", (long long)depth);
        line(out, 0, &text, json_word(s, "launcher_by"));
    }
    if (crowded) {
        buf_printf(&text, "%lld host%s with more ranks than slots", (long long)crowded,
                   plural(crowded));
        line(out, 0, &text, "");
    }
}

/* "a, b" */
static void list_words(const json_t *object, const char *key, const char *between,
                       struct buf *to)
{
    const json_t *list = json_object_get(object, key);

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);

        buf_str(to, i ? between : "");
        if (json_is_integer(one))
            buf_printf(to, "%lld", (long long)json_integer_value(one));
        else
            buf_str(to, json_string_value(one));
    }
}

static void print_names(const json_t *env, const char *key, const char *what, FILE *out)
{
    struct buf text = BUF_INIT;

    if (!json_length(env, key))
        return;
    buf_str(&text, what);
    list_words(env, key, " ", &text);
    line(out, 6, &text, "");
}

static void print_environment(const json_t *env, FILE *out)
{
    const json_t *set = json_object_get(env, "set");
    struct buf text = BUF_INIT;

    buf_printf(&text, "environment: of ours %s", json_word(env, "inherit"));
    line(out, 4, &text, json_word(env, "inherit_by"));
    for (size_t i = 0; i < json_array_size(set); i++) {
        const json_t *one = json_array_get(set, i);

        buf_printf(&text, "set: %s", json_word(one, "name"));
        if (json_object_get(one, "value"))
            buf_printf(&text, "=%s", json_word(one, "value"));
        else
            buf_str(&text, " as we have it");
        line(out, 6, &text, json_word(one, "by"));
    }
    print_names(env, "not_inherited", "not inherited: ", out);
    print_names(env, "inherited", "inherited: ", out);
    print_names(env, "launcher_sets", "set by the launcher: ", out);
}

static void quote_words(const json_t *list, struct buf *to)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *word = json_string_value(json_array_get(list, i));

        buf_char(to, ' ');
        if (spread_quote(word, to) < 0)
            buf_escaped(to, word, strlen(word));
    }
}

static void print_program(const json_t *p, FILE *out)
{
    json_int_t first = number(p, "first_rank"), n = number(p, "ranks");
    struct buf text = BUF_INIT;

    buf_printf(&text, n == 1 ? "%lld: rank %lld:" : "%lld: ranks %lld",
               (long long)number(p, "appnum"), (long long)first);
    if (n > 1)
        buf_printf(&text, "-%lld:", (long long)(first + n - 1));
    quote_words(json_object_get(p, "argv"), &text);
    line(out, 2, &text, json_word(p, "by"));
    if (json_object_get(p, "wdir")) {
        buf_printf(&text, "in %s", json_word(p, "wdir"));
        line(out, 4, &text, json_word(p, "wdir_by"));
    }
    if (json_object_get(p, "found"))
        buf_printf(&text, "found here as %s", json_word(p, "found"));
    else if (json_object_get(p, "problem"))
        buf_printf(&text, "cannot start here: %s", json_word(p, "problem"));
    if (text.len)
        line(out, 4, &text, "");
    print_environment(json_object_get(p, "environment"), out);
}

static void print_binding(const json_t *b, FILE *out)
{
    const json_t *drawn = json_object_get(b, "drawn");
    struct buf text = BUF_INIT;

    buf_printf(&text, "bound to: %s", json_word(b, "to"));
    line(out, 4, &text, json_word(b, "by"));
    if (json_object_get(b, "map")) {
        buf_printf(&text, "far apart as: %s", json_word(b, "map"));
        line(out, 4, &text, json_word(b, "map_by"));
    }
    for (size_t i = 0; i < json_array_size(drawn); i++) {
        buf_str(&text, json_string_value(json_array_get(drawn, i)));
        line(out, 6, &text, "");
    }
    if (json_object_get(b, "problem"))
        buf_printf(&text, "cannot be: %s", json_word(b, "problem"));
    else if (json_object_get(b, "note"))
        buf_printf(&text, "note: %s", json_word(b, "note"));
    if (text.len)
        line(out, 6, &text, "");
}

static void print_host(const json_t *h, FILE *out)
{
    json_int_t slots = number(h, "slots"), n = number(h, "count");
    bool here = !strcmp(json_word(h, "reached"), "here");
    struct buf text = BUF_INIT;

    buf_printf(&text, "%s: ", json_word(h, "name"));
    if (n)
        buf_printf(&text, n == 1 ? "rank %s" : "ranks %s", json_word(h, "ranks"));
    else
        buf_str(&text, "no ranks");
    if (n) {
        buf_str(&text, json_length(h, "programs") > 1 ? " of programs " : " of program ");
        list_words(h, "programs", ",", &text);
    }
    buf_printf(&text, "; %lld slot%s; %s", (long long)slots, plural(slots),
               here ? "this host" : "by ");
    if (!here)
        buf_str(&text, json_word(h, "reached"));
    if (json_object_get(h, "user"))
        buf_printf(&text, " as %s", json_word(h, "user"));
    line(out, 2, &text, json_word(h, "by"));
    if (json_object_get(h, "binding"))
        print_binding(json_object_get(h, "binding"), out);
}

static void print_command(const json_t *c, FILE *out)
{
    struct buf text = BUF_INIT;

    buf_printf(&text, "%s", json_word(c, "host"));
    if (json_object_get(c, "from"))
        buf_printf(&text, " (from %s)", json_word(c, "from"));
    buf_printf(&text, ": %s", json_object_get(c, "shell") ? json_word(c, "shell")
                                                          : "a fork of this program");
    line(out, 2, &text, "");
}

static void print_setting(const json_t *s, FILE *out)
{
    struct buf text = BUF_INIT;

    if (json_object_get(s, "option"))
        buf_printf(&text, "-%s", json_word(s, "option"));
    if (json_object_get(s, "value"))
        buf_printf(&text, text.len ? " %s" : "%s", json_word(s, "value"));
    if (json_object_get(s, "appnum"))
        buf_printf(&text, " (program %lld)", (long long)number(s, "appnum"));
    line(out, 2, &text, json_word(s, "by"));
}

void explain_print(const json_t *answer, FILE *out)
{
    static const struct {
        const char *key, *title;
        void      (*print)(const json_t *one, FILE *out);
    } parts[] = {
        { "programs", "Programs", print_program }, { "hosts", "Hosts", print_host },
        { "commands", "Commands for other hosts", print_command },
        { "settings", "Said by", print_setting },
    };

    print_summary(json_object_get(answer, "summary"), out);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const json_t *list = json_object_get(answer, parts[i].key);

        if (json_array_size(list))
            fprintf(out, "%s\n", parts[i].title);
        for (size_t k = 0; k < json_array_size(list); k++)
            parts[i].print(json_array_get(list, k), out);
    }
}

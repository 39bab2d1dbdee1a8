/* check_text.c - --check: the answer as a table, and problems, a line each. */
#include "mpiexec_lite/check_impl.h"

#include <string.h>

enum { COLUMNS = 13, CELL = 24 };

static double real(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

/* "12K", "1.5G"; "-" where there is no limit. */
static void put_size(char *cell, const json_t *bytes)
{
    static const char units[] = " KMGTPE";
    double n = json_number_value(bytes);
    int unit = 0;

    if (!json_is_number(bytes)) {
        snprintf(cell, CELL, "-");
        return;
    }
    for (; n >= 1024 && units[unit + 1]; unit++)
        n /= 1024;
    snprintf(cell, CELL, unit && n < 10 ? "%.1f%c" : "%.0f%c", n, units[unit]);
    cell[strcspn(cell, " ")] = '\0';
}

static void put_number(char *cell, const json_t *n)
{
    snprintf(cell, CELL, json_is_number(n) ? "%.12g" : "-", json_number_value(n));
}

/* "0.1.0" of "1 0.1.0 node3". */
static void put_version(char *cell, const char *words)
{
    const char *version = strchr(words, ' ');

    version = version ? version + 1 : words;
    snprintf(cell, CELL, "%.*s", (int)strcspn(version, " "), version);
}

/* The host is no cell: it may be long. */
static void fill(const json_t *host, char cells[COLUMNS][CELL])
{
    const json_t *facts = json_object_get(host, "facts");

    memset(cells, 0, COLUMNS * CELL);
    snprintf(cells[0], CELL, "%s", !facts ? "-" : json_length(host, "problems") ? "bad" : "good");
    snprintf(cells[1], CELL, "%lld",
             (long long)json_integer_value(json_object_get(host, "ranks")));
    put_version(cells[2], json_word(host, "version"));
    if (json_object_get(host, "start"))
        snprintf(cells[3], CELL, "%.0fms", real(host, "start") * 1e3);
    if (!facts)
        return;
    snprintf(cells[4], CELL, "%.1fms", real(host, "round_trip") * 1e3);
    snprintf(cells[5], CELL, "%+.3fs", real(host, "clock"));
    put_number(cells[6], json_object_get(facts, "open_files"));
    put_number(cells[7], json_object_get(facts, "processes"));
    put_size(cells[8], json_object_get(facts, "locked_memory"));
    put_size(cells[9], json_object_get(facts, "cgroup_memory"));
    put_number(cells[10], json_object_get(facts, "cgroup_pids"));
    put_number(cells[11], json_object_get(facts, "cgroup_cpus"));
    put_size(cells[12], json_object_get(facts, "shm"));
}

static const char titles[COLUMNS][CELL] = {
    "STATE", "RANKS", "VERSION", "START", "TRIP", "CLOCK", "FILES", "PROCS", "LOCKED", "MEMORY",
    "PIDS", "CPUS", "SHM",
};

static void put_name(struct buf *to, const json_t *host)
{
    buf_reset(to);
    buf_shown(to, json_word(host, "name"));
    buf_char(to, '\0');
}

static void widen(int *width, size_t n)
{
    *width = (int)n > *width ? (int)n : *width;
}

static void print_row(const char *name, char (*cells)[CELL], const int *width, FILE *out)
{
    fprintf(out, "%-*s", width[COLUMNS], name);
    for (int i = 0; i < COLUMNS; i++)
        fprintf(out, "  %*s", width[i], cells[i]);
    fputc('\n', out);
}

static void print_table(const json_t *hosts, FILE *out)
{
    char cells[COLUMNS][CELL];
    struct buf name = BUF_INIT;
    int width[COLUMNS + 1] = { [COLUMNS] = 4 };

    for (int i = 0; i < COLUMNS; i++)
        widen(&width[i], strlen(titles[i]));
    for (size_t h = 0; h < json_array_size(hosts); h++) {
        fill(json_array_get(hosts, h), cells);
        put_name(&name, json_array_get(hosts, h));
        widen(&width[COLUMNS], name.failed ? 0 : name.len - 1);
        for (int i = 0; i < COLUMNS; i++)
            widen(&width[i], strlen(cells[i]));
    }
    memcpy(cells, titles, sizeof cells);
    print_row("HOST", cells, width, out);
    for (size_t h = 0; h < json_array_size(hosts); h++) {
        fill(json_array_get(hosts, h), cells);
        put_name(&name, json_array_get(hosts, h));
        print_row(name.failed ? "" : buf_bytes(&name), cells, width, out);
    }
    buf_clear(&name);
}

static void print_list(const char *whose, const json_t *list, FILE *out)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        fprintf(out, "%s: %s\n", whose, json_string_value(json_array_get(list, i)));
}

static void print_drawn(const json_t *host, FILE *out)
{
    const json_t *list = json_object_get(json_object_get(host, "facts"), "drawn");
    struct buf text = BUF_INIT;

    for (size_t i = 0; i < json_array_size(list); i++) {
        put_name(&text, host);
        buf_cut(&text, text.len - 1);
        buf_str(&text, ": ");
        buf_shown(&text, json_string_value(json_array_get(list, i)));
        if (!text.failed)
            fprintf(out, "%.*s\n", (int)text.len, buf_bytes(&text));
    }
    buf_clear(&text);
}

static void print_problems(const json_t *host, FILE *out)
{
    struct buf name = BUF_INIT;

    put_name(&name, host);
    if (!name.failed)
        print_list(buf_bytes(&name), json_object_get(host, "problems"), out);
    buf_clear(&name);
}

void check_print(const json_t *answer, bool brief, FILE *out)
{
    const json_t *hosts = json_object_get(answer, "hosts");
    json_int_t problems = json_integer_value(json_object_get(answer, "problems"));
    size_t bad = 0;

    if (!brief)
        print_table(hosts, out);
    for (size_t h = 0; h < json_array_size(hosts) && !brief; h++)
        print_drawn(json_array_get(hosts, h), out);
    print_list("the launcher", json_object_get(json_object_get(answer, "launcher"), "problems"), out);
    for (size_t h = 0; h < json_array_size(hosts); h++) {
        const json_t *host = json_array_get(hosts, h);

        bad += json_length(host, "problems") > 0;
        print_problems(host, out);
    }
    if (problems)
        fprintf(out, "%lld problem%s, %zu of %zu host%s\n", (long long)problems,
                problems == 1 ? "" : "s", bad, json_array_size(hosts),
                json_array_size(hosts) == 1 ? "" : "s");
    else
        fprintf(out, "nothing is wrong: %zu host%s\n", json_array_size(hosts),
                json_array_size(hosts) == 1 ? "" : "s");
}

/* tool_print.c - tables, JSON and times on standard output. */
#include "pmix_ext/tool.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* --- tables ------------------------------------------------------------ */

enum { COLUMNS_MOST = 16 };

void table_start(struct table *t, const char *const *heads)
{
    *t = (struct table){ .heads = heads };
    while (heads[t->columns])
        t->columns++;
}

static void add_cell(struct table *t, char *text)
{
    if (t->n == t->room) {
        size_t room = t->room ? 2 * t->room : 64;
        char **cells = realloc(t->cells, room * sizeof *cells);

        if (!cells) {
            t->failed = true;
            free(text);
            return;
        }
        t->cells = cells;
        t->room = room;
    }
    t->cells[t->n++] = text;
}

void table_add(struct table *t, const char *fmt, ...)
{
    struct buf safe = BUF_INIT;
    char *text = NULL;
    va_list args;

    va_start(args, fmt);
    if (vasprintf(&text, fmt, args) < 0)
        text = NULL;
    va_end(args);
    if (text)
        buf_escaped(&safe, text, strlen(text));
    free(text);
    if (!text || safe.failed) {
        buf_clear(&safe);
        t->failed = true;
        return;
    }
    add_cell(t, safe.len ? safe.data : strdup(""));
    if (!safe.len)
        buf_clear(&safe);
}

/* Characters of UTF-8. */
static size_t width_of(const char *text)
{
    size_t n = 0;

    for (; *text; text++)
        n += ((unsigned char)*text & 0xC0) != 0x80;
    return n;
}

static const char *cell(const struct table *t, size_t row, size_t column)
{
    const char *head = t->heads[column];

    if (!row)
        return head + (*head == '>');
    return t->cells[(row - 1) * t->columns + column];
}

/* Append a row, cut at wide columns if that is not 0. */
static void add_row(const struct table *t, size_t row, const size_t *widths, size_t wide,
                    struct buf *line)
{
    for (size_t c = 0; c < t->columns; c++) {
        const char *text = cell(t, row, c);
        size_t pad = widths[c] - width_of(text);
        bool right = *t->heads[c] == '>', last = c + 1 == t->columns;

        buf_printf(line, "%s%*s%s%*s", c ? "  " : "", (int)(right ? pad : 0), "", text,
                   (int)(right || last ? 0 : pad), "");
    }
    for (size_t i = 0, n = 0; wide && i < line->len; i++) {
        n += ((unsigned char)buf_bytes(line)[i] & 0xC0) != 0x80;
        if (n > wide) {
            buf_cut(line, i);
            break;
        }
    }
}

static void table_clear(struct table *t)
{
    for (size_t i = 0; i < t->n; i++)
        free(t->cells[i]);
    free(t->cells);
    *t = (struct table){ .heads = t->heads };
}

void table_print(struct table *t, FILE *out, size_t rows, size_t wide)
{
    size_t widths[COLUMNS_MOST] = { 0 }, n = t->n / t->columns;
    struct buf line = BUF_INIT;

    for (size_t r = 0; r <= n; r++)
        for (size_t c = 0; c < t->columns; c++) {
            size_t w = width_of(cell(t, r, c));

            widths[c] = w > widths[c] ? w : widths[c];
        }
    for (size_t r = 0; r <= n && r <= rows && !t->failed; r++) {
        buf_reset(&line);
        add_row(t, r, widths, wide, &line);
        fprintf(out, "%s\n", line.len ? buf_bytes(&line) : "");
        t->failed = line.failed;
    }
    buf_clear(&line);
    if (t->failed)
        tool_fail(0, "out of memory");
    table_clear(t);
}

/* --- JSON -------------------------------------------------------------- */

static int dump(json_t *json, size_t flags)
{
    int bad = !json || json_dumpf(json, stdout, flags | JSON_ENSURE_ASCII) < 0;

    json_decref(json);
    if (!json)
        return tool_fail(STATUS_FAILED, "out of memory");
    if (!bad)
        putchar('\n');
    return tool_written();
}

int tool_document(json_t *json)
{
    return dump(json, JSON_INDENT(2));
}

int tool_line(json_t *json)
{
    return dump(json, JSON_COMPACT);
}

/* --- all of it --------------------------------------------------------- */

int tool_written(void)
{
    static bool said;

    if (!fflush(stdout) && !ferror(stdout))
        return 0;
    if (!said)
        tool_fail(0, "standard output: %s", strerror(errno));
    said = true;
    return STATUS_FAILED;
}

double tool_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void tool_time(double when, char *text, size_t size)
{
    double whole = floor(when);
    time_t seconds = (time_t)whole;
    struct tm tm;
    char day[40];

    localtime_r(&seconds, &tm);
    strftime(day, sizeof day, "%Y-%m-%d %H:%M:%S", &tm);
    snprintf(text, size, "%s.%03d", day, (int)((when - whole) * 1000));
}

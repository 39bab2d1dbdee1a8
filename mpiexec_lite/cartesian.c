/* cartesian.c - see cartesian.h */
#include "mpiexec_lite/cartesian.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORD_MAX = 255, LINE_MAX_LEN = 600 };     /* bytes */

struct numbers { int n, v[CARTESIAN_DIMS_MAX]; };

/* "4,2": so many numbers of 0 and up, between commas. */
static bool take_numbers(const char *text, struct numbers *out)
{
    for (out->n = 0; out->n < CARTESIAN_DIMS_MAX && *text >= '0' && *text <= '9'; text++) {
        char *end;
        long v = strtol(text, &end, 10);

        if (v > INT_MAX)
            return false;
        out->v[out->n++] = (int)v;
        if (!*end)
            return true;
        if (*end != ',')
            return false;
        text = end;
    }
    return false;
}

static int set(char **to, const char *text, struct err *e)
{
    *to = strdup(text);
    return *to ? 0 : err_set(e, ERR_NOMEM, "no memory");
}

static int set_dims(struct plan *p, const char *text, struct numbers *dims, struct err *e)
{
    if (p->dims)
        return err_set(e, ERR_INVALID_VAL, "dims again");
    if (!take_numbers(text, dims))
        return err_set(e, ERR_INVALID_VAL, "want 1 to %d numbers between commas, not '%.60s'",
                       CARTESIAN_DIMS_MAX, text);
    for (int i = 0; i < dims->n; i++)
        if (!dims->v[i])
            return err_set(e, ERR_INVALID_VAL, "a dimension of 0 holds no host");
    return set(&p->dims, text, e);
}

static int set_coords(struct hosts *h, const char *name, const char *text,
                      const struct numbers *dims, struct err *e)
{
    int node = hosts_find(h, name);
    struct numbers at;

    if (!h->plan->dims)
        return err_set(e, ERR_INVALID_VAL, "dims must come before '%.60s'", name);
    if (!take_numbers(text, &at) || at.n != dims->n)
        return err_set(e, ERR_INVALID_VAL, "'%.60s': want %d numbers between commas, not '%.60s'",
                       name, dims->n, text);
    for (int i = 0; i < at.n; i++)
        if (at.v[i] >= dims->v[i])
            return err_set(e, ERR_INVALID_VAL, "'%.60s': %d is not below %d", name, at.v[i],
                           dims->v[i]);
    if (node < 0)
        return 0;
    if (h->plan->hosts[node].coords)
        return err_set(e, ERR_INVALID_VAL, "'%.60s' again", name);
    return set(&h->plan->hosts[node].coords, text, e);
}

static int read_line(struct hosts *h, const char *line, size_t len, struct numbers *dims,
                     struct err *e)
{
    char copy[LINE_MAX_LEN], first[WORD_MAX + 1], second[WORD_MAX + 1], third[2];
    int words;

    if (len >= sizeof copy)
        return err_set(e, ERR_LENGTH, "more than %d bytes", LINE_MAX_LEN - 1);
    memcpy(copy, line, len);
    copy[len] = '\0';
    copy[strcspn(copy, "#")] = '\0';
    words = sscanf(copy, "%255s %255s %1s", first, second, third);
    if (words <= 0)
        return 0;
    if (words != 2)
        return err_set(e, ERR_INVALID_VAL, "want a host and its coordinates");
    return strcmp(first, "dims") ? set_coords(h, first, second, dims, e)
                                 : set_dims(h->plan, second, dims, e);
}

int cartesian_read(struct hosts *h, const char *text, const char *file, struct err *e)
{
    struct numbers dims = { 0 };

    for (int number = 1; *text; number++) {
        size_t len = strcspn(text, "\n");

        if (read_line(h, text, len, &dims, e) < 0)
            return err_context(e, "%.100s, line %d", file, number);
        text += len + (text[len] == '\n');
    }
    return h->plan->dims ? 0 : err_set(e, ERR_INVALID_VAL, "%.100s has no line dims", file);
}

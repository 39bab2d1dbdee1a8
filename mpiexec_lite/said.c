/* said.c - see said.h */
#include "mpiexec_lite/said.h"

#include <stdlib.h>
#include <string.h>

static char *copy(const char *text)
{
    return text ? strdup(text) : NULL;
}

static void setting_clear(struct setting *x)
{
    free(x->variable);
    free(x->value);
    free(x->source);
}

static int grow(struct said *s)
{
    size_t cap = s->cap ? s->cap * 2 : 16;
    struct setting *v = s->n < s->cap ? s->v : reallocarray(s->v, cap, sizeof *v);

    if (!v)
        return -1;
    s->cap = s->n < s->cap ? s->cap : cap;
    s->v = v;
    return 0;
}

int said_add(struct said *s, const struct setting *x)
{
    struct setting *to;

    if (grow(s) < 0)
        return -1;
    to = &s->v[s->n];
    *to = *x;
    to->variable = copy(x->variable);
    to->value = copy(x->value);
    to->source = copy(x->source);
    if ((x->variable && !to->variable) || (x->value && !to->value) || (x->source && !to->source)) {
        setting_clear(to);
        return -1;
    }
    s->n++;
    return 0;
}

void said_clear(struct said *s)
{
    for (size_t i = 0; i < s->n; i++)
        setting_clear(&s->v[i]);
    free(s->v);
    *s = (struct said){ 0 };
}

/* Whether x beats y, which is older, NULL: none. */
static bool beats(const struct setting *x, const struct setting *y)
{
    if (!y || x->app != y->app)
        return !y || y->app == SAID_OF_JOB;
    return y->in_file || !x->in_file;
}

const struct setting *said_of(const struct said *s, const char *key, int app)
{
    const struct setting *best = NULL;

    for (const struct setting *x = s->v; x < s->v + s->n; x++)
        if (!x->variable && x->key && !strcmp(x->key, key) &&
            (x->app == app || x->app == SAID_OF_JOB) && beats(x, best))
            best = x;
    return best;
}

const struct setting *said_of_variable(const struct said *s, const char *name, size_t len,
                                       int app)
{
    const struct setting *best = NULL;

    for (const struct setting *x = s->v; x < s->v + s->n; x++)
        if (x->variable && strlen(x->variable) == len && !memcmp(x->variable, name, len) &&
            (x->app == app || x->app == SAID_OF_JOB) && beats(x, best))
            best = x;
    return best;
}

void said_print(const struct setting *x, struct buf *out)
{
    if (!x)
        buf_str(out, "default");
    else if (x->option)
        buf_printf(out, "-%s, %s", x->written ? x->written : x->option, x->source);
    else
        buf_str(out, x->source);
}

/* pattern.c - see pattern.h */
#include "mpiexec_lite/pattern.h"

#include <string.h>

int pattern_check(const char *text, struct err *e)
{
    const char *p = text;

    while ((p = strchr(p, '%'))) {
        if (p[1] == '\0')
            return err_set(e, ERR_INVALID_VAL, "'%.80s' ends in a single %%", text);
        if (!strchr("rgpht%", p[1]))
            return err_set(e, ERR_INVALID_VAL,
                           "'%%%c' is not one of %%r %%g %%p %%h %%t %%%%", p[1]);
        p += 2;
    }
    return 0;
}

static void expand_one(char letter, const struct pattern_vars *vars, struct buf *out)
{
    switch (letter) {
    case 'r': buf_printf(out, "%d", vars->rank); break;
    case 'g': buf_printf(out, "%d", vars->job); break;
    case 'p': buf_printf(out, "%d", vars->node); break;
    case 'h': buf_str(out, vars->host); break;
    case 't': buf_printf(out, "%ld", vars->seconds); break;
    default:  buf_char(out, letter); break;
    }
}

void pattern_expand(const char *text, const struct pattern_vars *vars, struct buf *out)
{
    const char *percent;

    while ((percent = strchr(text, '%')) && percent[1]) {
        buf_add(out, text, (size_t)(percent - text));
        expand_one(percent[1], vars, out);
        text = percent + 2;
    }
    buf_str(out, text);
}

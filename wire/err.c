/* err.c - see err.h */
#include "wire/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int err_set(struct err *e, enum err_code code, const char *fmt, ...)
{
    int saved = errno;
    va_list ap;

    if (!e)
        return -1;
    e->code = code;
    va_start(ap, fmt);
    vsnprintf(e->text, sizeof e->text, fmt, ap);
    va_end(ap);
    errno = saved;
    return -1;
}

int err_context(struct err *e, const char *fmt, ...)
{
    char old[sizeof e->text];
    int saved = errno, n;
    va_list ap;

    if (!e)
        return -1;
    memcpy(old, e->text, sizeof old);
    va_start(ap, fmt);
    n = vsnprintf(e->text, sizeof e->text, fmt, ap);
    va_end(ap);
    if (n >= 0 && (size_t)n < sizeof e->text &&
        snprintf(e->text + n, sizeof e->text - (size_t)n, ": %s", old) < 0)
        e->text[n] = '\0';
    errno = saved;
    return -1;
}

/* ranges.c - see ranges.h */
#include "mpiexec_lite/ranges.h"

#include <stdlib.h>
#include <string.h>

enum { DIGITS_MAX = 18 };        /* surely fit 64 bits */

/* The length of a name without the digits at its end; if they are too many, all of it. */
static size_t stem_of(const char *name)
{
    size_t len = strlen(name), stem = len;

    while (stem && name[stem - 1] >= '0' && name[stem - 1] <= '9')
        stem--;
    return len - stem > DIGITS_MAX ? len : stem;
}

static void end_item(struct ranges *r)
{
    int digits = r->first ? (int)strlen(r->first + r->stem) : 0;

    if (!r->first)
        return;
    if (r->text.len)
        buf_char(&r->text, ',');
    if (r->several)
        buf_printf(&r->text, "%.*s[%s-%0*llu]", (int)r->stem, r->first, r->first + r->stem,
                   digits, r->last);
    else
        buf_str(&r->text, r->first);
    r->first = NULL;
}

/* The name of the next number, with as many digits. */
static bool follows(const struct ranges *r, const char *name, size_t stem)
{
    return r->first && stem == r->stem && strlen(name) == strlen(r->first) && name[stem] &&
           memcmp(name, r->first, stem) == 0 && strtoull(name + stem, NULL, 10) == r->last + 1;
}

void ranges_add(struct ranges *r, const char *name)
{
    size_t stem = stem_of(name);
    bool more = follows(r, name, stem);

    if (!more) {
        end_item(r);
        r->first = name;
        r->stem = stem;
    }
    r->several = more;
    r->last = strtoull(name + stem, NULL, 10);
}

const char *ranges_text(struct ranges *r)
{
    end_item(r);
    buf_str(&r->text, "");
    return r->text.failed ? NULL : buf_bytes(&r->text);
}

void ranges_clear(struct ranges *r)
{
    buf_clear(&r->text);
    *r = (struct ranges){ 0 };
}

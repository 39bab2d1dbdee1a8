/* shown.c - see shown.h */
#include "mpiexec_lite/shown.h"

#include "wire/utf8.h"

#include <stdbool.h>
#include <string.h>

json_t *json_shown(const char *text)
{
    struct buf safe = BUF_INIT;
    json_t *string;

    if (!text || utf8_valid(text, strlen(text)))
        return text ? json_string(text) : NULL;
    buf_escaped(&safe, text, strlen(text));
    string = safe.failed ? NULL : json_string(buf_bytes(&safe));
    buf_clear(&safe);
    return string;
}

/* No control character, of C1 neither. */
static bool is_harmless(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;

    for (; *s; s++)
        if (*s < ' ' || *s == 0x7f || (*s == 0xc2 && s[1] < 0xa0))
            return false;
    return utf8_valid(text, (size_t)(s - (const unsigned char *)text));
}

void buf_shown(struct buf *b, const char *text)
{
    if (is_harmless(text))
        buf_str(b, text);
    else
        buf_escaped(b, text, strlen(text));
}

const char *json_word(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

size_t json_length(const json_t *object, const char *key)
{
    return json_array_size(json_object_get(object, key));
}

/* spaced.h - JSON that says the same, but not in the way that our encoder writes it. */
#ifndef TEST_SPACED_H
#define TEST_SPACED_H

#include "wire/buf.h"

/* With a blank behind all that may have one: the decoder has to look at every token. */
static inline struct buf spaced(const char *text, size_t len)
{
    struct buf out = BUF_INIT;
    bool in_string = false;

    buf_str(&out, "");                   /* there are bytes, if none */
    for (size_t i = 0; i < len; i++) {
        buf_char(&out, text[i]);
        if (in_string && text[i] == '\\' && i + 1 < len)
            buf_char(&out, text[++i]);
        else if (text[i] == '"')
            in_string = !in_string;
        else if (!in_string && (text[i] == '{' || text[i] == ',' || text[i] == ':'))
            buf_char(&out, ' ');
    }
    return out;
}

#endif

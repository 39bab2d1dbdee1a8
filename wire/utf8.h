/* utf8.h - is this text UTF-8?  (The answer is utf8proc's; see utf8.c.) */
#ifndef WIRE_UTF8_H
#define WIRE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* True if the n bytes are well-formed UTF-8 (RFC 3629: no overlong forms, no
 * surrogates, nothing above U+10FFFF).  Thread-safe. */
bool utf8_valid(const char *text, size_t n);

#endif

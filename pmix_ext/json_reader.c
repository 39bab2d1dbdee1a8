/* json_reader.c - see json_reader.h */
#include "pmix_ext/json_reader.h"

#include "wire/utf8.h"

#include <langinfo.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void reader_init(struct json_reader *r, const char *text, size_t len, struct err *e)
{
    *r = (struct json_reader){ .from = text, .at = text, .end = text + len, .e = e };
}

void reader_clear(struct json_reader *r)
{
    buf_clear(&r->scratch);
}

int reader_wrong(const struct json_reader *r, const char *why)
{
    return err_set(r->e, ERR_INVALID_VAL, ": not JSON, byte %zu: %s", (size_t)(r->at - r->from),
                   why);
}

static int no_memory(const struct json_reader *r)
{
    return err_set(r->e, ERR_NOMEM, ": out of memory");
}

/* The next byte that is no white space, or -1 at the end. */
static inline int look(struct json_reader *r)
{
    for (; r->at < r->end; r->at++)
        if (*r->at != ' ' && *r->at != '\n' && *r->at != '\t' && *r->at != '\r')
            return (unsigned char)*r->at;
    return -1;
}

/* --- strings ---------------------------------------------------------------------- */

static int hex4(struct json_reader *r, unsigned *n)
{
    *n = 0;
    for (int i = 0; i < 4; i++, r->at++) {
        char c = r->at < r->end ? *r->at : '\0';

        if (c >= '0' && c <= '9')
            *n = *n << 4 | (unsigned)(c - '0');
        else if ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'))
            *n = *n << 4 | (unsigned)((c | 0x20) - 'a' + 10);
        else
            return reader_wrong(r, "\\u wants four hexadecimal digits");
    }
    return 0;
}

static void add_point(struct buf *b, unsigned n)
{
    char utf8[] = { (char)n, 0, 0, 0 };
    size_t len = 1;

    if (n >= 0x80) {
        len = n < 0x800 ? 2 : n < 0x10000 ? 3 : 4;
        for (size_t i = len; --i > 0; n >>= 6)
            utf8[i] = (char)(0x80 | (n & 0x3f));
        utf8[0] = (char)((len == 2 ? 0xc0 : len == 3 ? 0xe0 : 0xf0) | n);
    }
    buf_add(b, utf8, len);
}

/* Behind "\u".  What UTF-16 has as two is one character. */
static int unicode(struct json_reader *r)
{
    unsigned n, low;

    if (hex4(r, &n) < 0)
        return -1;
    if (n == 0)
        return reader_wrong(r, "a string has a NUL");
    if (n >= 0xd800 && n <= 0xdfff) {
        if (n >= 0xdc00 || r->end - r->at < 2 || r->at[0] != '\\' || r->at[1] != 'u')
            return reader_wrong(r, "half a surrogate pair");
        r->at += 2;
        if (hex4(r, &low) < 0)
            return -1;
        if (low < 0xdc00 || low > 0xdfff)
            return reader_wrong(r, "half a surrogate pair");
        n = 0x10000 + ((n - 0xd800) << 10) + (low - 0xdc00);
    }
    add_point(&r->scratch, n);
    return 0;
}

/* At a backslash. */
static int escape(struct json_reader *r)
{
    static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    const char *found;

    if (++r->at == r->end)
        return reader_wrong(r, "the text ends in a string");
    if (*r->at == 'u') {
        r->at++;
        return unicode(r);
    }
    found = *r->at ? strchr(letters, *r->at) : NULL;
    if (!found)
        return reader_wrong(r, "no such escape");
    r->at++;
    buf_char(&r->scratch, meant[found - letters]);
    return 0;
}

/* What is left of a string of which `from` to r->at has been seen, by way of scratch. */
static int escaped_string(struct json_reader *r, const char *from, uint64_t *seen)
{
    buf_reset(&r->scratch);
    buf_add(&r->scratch, from, (size_t)(r->at - from));
    while (r->at < r->end && *r->at == '\\') {
        if (escape(r) < 0)
            return -1;
        from = r->at;
        r->at = plain_end(from, r->end, seen);
        buf_add(&r->scratch, from, (size_t)(r->at - from));
    }
    if (r->scratch.failed) {
        buf_clear(&r->scratch);
        return no_memory(r);
    }
    r->string = buf_bytes(&r->scratch);
    r->len = r->scratch.len;
    return 0;
}

/* Behind the first quote. */
static int string(struct json_reader *r)
{
    const char *from = r->at;
    uint64_t seen = 0;

    r->kind = KIND_STRING;
    r->string = from;
    r->at = plain_end(from, r->end, &seen);
    r->len = (size_t)(r->at - from);
    if (r->at < r->end && *r->at == '\\' && escaped_string(r, from, &seen) < 0)
        return -1;
    if (r->at == r->end)
        return reader_wrong(r, "the text ends in a string");
    if (*r->at != '"')
        return reader_wrong(r, "a control character in a string");
    if (!plain_is_ascii(seen) && !utf8_valid(r->string, r->len))
        return reader_wrong(r, "a string is not UTF-8");
    r->at++;
    return 0;
}

/* --- numbers and words ------------------------------------------------------------ */

static bool is_digit(const char *p, const char *end)
{
    return p < end && *p >= '0' && *p <= '9';
}

static const char *digits(const char *p, const char *end)
{
    while (is_digit(p, end))
        p++;
    return p;
}

/* The text of a number from r->at on, with the point that strtod wants, which is the
 * locale's. */
static int real(struct json_reader *r, const char *end)
{
    const char *point = memchr(r->at, '.', (size_t)(end - r->at));

    const char *rest = point ? point + 1 : r->at;

    buf_reset(&r->scratch);
    if (point) {
        buf_add(&r->scratch, r->at, (size_t)(point - r->at));
        buf_str(&r->scratch, nl_langinfo(RADIXCHAR));
    }
    buf_add(&r->scratch, rest, (size_t)(end - rest));
    if (r->scratch.failed) {
        buf_clear(&r->scratch);
        return no_memory(r);
    }
    r->kind = KIND_REAL;
    r->real = strtod(buf_bytes(&r->scratch), NULL);
    if (isinf(r->real))
        return reader_wrong(r, "a number is too large");
    r->at = end;
    return 0;
}

/* Digits from p on, of an integer that begins at r->at. */
static int integer(struct json_reader *r, const char *p, const char *end)
{
    bool negative = *r->at == '-', fits = true;
    int64_t n = 0;

    for (; p < end; p++) {
        int d = *p - '0';

        fits = fits && !__builtin_mul_overflow(n, 10, &n) &&
               !__builtin_add_overflow(n, negative ? -d : d, &n);
    }
    if (!fits)
        return reader_wrong(r, "an integer is too large");
    r->kind = KIND_INTEGER;
    r->integer = n;
    r->at = end;
    return 0;
}

/* An integer of so few digits that it fits, which most are; false: it may be something
 * else. */
static bool short_integer(struct json_reader *r)
{
    enum { FEW = 18 };
    const char *start = r->at + (*r->at == '-'), *p = start;
    int64_t n = 0;

    for (; p < r->end && *p >= '0' && *p <= '9'; p++)
        n = p - start < FEW ? n * 10 + (*p - '0') : n;
    if (p == start || p - start > FEW || (*start == '0' && p > start + 1) ||
        (p < r->end && (*p == '.' || *p == 'e' || *p == 'E')))
        return false;
    r->kind = KIND_INTEGER;
    r->integer = start > r->at ? -n : n;
    r->at = p;
    return true;
}

static int number(struct json_reader *r)
{
    const char *start = r->at + (*r->at == '-'), *p = digits(start, r->end);
    const char *whole = p;

    if (p == start || (*start == '0' && p > start + 1))
        return reader_wrong(r, "not a number as JSON has them");
    if (p < r->end && *p == '.') {
        p = digits(p + 1, r->end);
        if (p[-1] == '.')
            return reader_wrong(r, "no digit behind the point");
    }
    if (p < r->end && (*p == 'e' || *p == 'E')) {
        p++;
        if (p < r->end && (*p == '+' || *p == '-'))
            p++;
        if (!is_digit(p, r->end))
            return reader_wrong(r, "no digit in an exponent");
        p = digits(p, r->end);
    }
    return p == whole ? integer(r, start, p) : real(r, p);
}

static int word(struct json_reader *r, const char *text, enum json_kind kind)
{
    size_t n = strlen(text);

    if ((size_t)(r->end - r->at) < n || memcmp(r->at, text, n))
        return reader_wrong(r, "no value");
    r->at += n;
    r->kind = kind;
    return 0;
}

/* --- the interface ---------------------------------------------------------------- */

int reader_next(struct json_reader *r)
{
    int c = look(r);

    switch (c) {
    case '{':
    case '[':
        r->at++;
        r->kind = c == '{' ? KIND_OBJECT : KIND_ARRAY;
        return 0;
    case '"':
        r->at++;
        return string(r);
    case 't':
        return word(r, "true", KIND_TRUE);
    case 'f':
        return word(r, "false", KIND_FALSE);
    case 'n':
        return word(r, "null", KIND_NULL);
    case -1:
        return reader_wrong(r, "the text ends");
    default:
        if (c != '-' && (c < '0' || c > '9'))
            return reader_wrong(r, "no value");
        return short_integer(r) ? 0 : number(r);
    }
}

/* Is there one more, before the end?  The comma has then been read. */
static int one_more(struct json_reader *r, bool first, char end, const char *want)
{
    int c = look(r);

    if (c == end) {
        r->at++;
        return 0;
    }
    if (first)
        return 1;
    if (c != ',')
        return reader_wrong(r, want);
    r->at++;
    return 1;
}

int reader_member(struct json_reader *r, bool first)
{
    int more = one_more(r, first, '}', "want ',' or '}'");

    if (more <= 0)
        return more;
    if (look(r) != '"')
        return reader_wrong(r, "want the name of a member");
    r->at++;
    if (string(r) < 0)
        return -1;
    if (look(r) != ':')
        return reader_wrong(r, "want ':'");
    r->at++;
    return 1;
}

int reader_element(struct json_reader *r, bool first)
{
    return one_more(r, first, ']', "want ',' or ']'");
}

int reader_skip(struct json_reader *r)
{
    size_t open = 0;

    do {
        int c = look(r);

        if (open && (c == '}' || c == ']' || c == ',' || c == ':')) {
            open -= c == '}' || c == ']';
            r->at++;
        } else if (reader_next(r) < 0) {
            return -1;
        } else {
            open += c == '{' || c == '[';
        }
    } while (open);
    return 0;
}

int reader_end(struct json_reader *r)
{
    return look(r) < 0 ? 0 : reader_wrong(r, "more than one value");
}

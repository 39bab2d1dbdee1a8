/* wrap.c - see wrap.h */
#include "wire/wrap.h"

#include <stdbool.h>
#include <string.h>

void wrap_print(FILE *out, const char *text, size_t indent, size_t column)
{
    bool first = true;

    for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
        size_t len = strcspn(text, " ");

        if (!first && column + 1 + len > WRAP_COLUMNS) {
            fputc('\n', out);
            column = 0;
            first = true;
        }
        if (column < indent)
            fprintf(out, "%*s", (int)(indent - column), "");
        if (column < indent)
            column = indent;
        fprintf(out, "%s%.*s", first ? "" : " ", (int)len, text);
        column += len + !first;
        first = false;
        text += len;
    }
    fputc('\n', out);
}

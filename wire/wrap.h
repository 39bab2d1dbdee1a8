/* wrap.h - sentences of usage texts, broken into lines. */
#ifndef WIRE_WRAP_H
#define WIRE_WRAP_H

#include <stdio.h>

enum { WRAP_COLUMNS = 79 };              /* of a line */

/* Print text, broken at blanks, in the columns from indent on, and end the line.  column:
 * where the line stands now. */
void wrap_print(FILE *out, const char *text, size_t indent, size_t column);

#endif

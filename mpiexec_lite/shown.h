/* shown.h - words of users and hosts, for JSON and for a terminal. */
#ifndef MPIEXEC_LITE_SHOWN_H
#define MPIEXEC_LITE_SHOWN_H

#include "wire/buf.h"

#include <jansson.h>

/* A string; what is not UTF-8 is escaped as by buf_escaped.  NULL: no memory, or text is. */
json_t *json_shown(const char *text);
/* Append text: as it is, or escaped if it could do something to a terminal. */
void buf_shown(struct buf *b, const char *text);
/* A member that is a string, or "". */
const char *json_word(const json_t *object, const char *key);
/* How long the list is that the member is; 0: it is none. */
size_t json_length(const json_t *object, const char *key);

#endif

/* env_text.h - an environment as one text: each variable with a NUL behind it, all as base64,
 * as an environment is bytes.  Pure; thread-safe. */
#ifndef PMIX_EXT_ENV_TEXT_H
#define PMIX_EXT_ENV_TEXT_H

#include <stddef.h>

/* Of env, which NULL ends (NULL: empty).  To be freed; NULL: no memory. */
char  *env_text_write(char *const *env);
/* And back: a list of *n strings that NULL ends, all of malloc; or NULL: no memory, or no such
 * text. */
char **env_text_read(const char *text, size_t *n);

#endif

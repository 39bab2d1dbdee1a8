/* env_text.c - see env_text.h */
#include "pmix_ext/env_text.h"

#include "pmix_ext/base64.h"

#include <stdlib.h>
#include <string.h>

char *env_text_write(char *const *env)
{
    struct buf bytes = BUF_INIT, base64 = BUF_INIT;
    char *text = NULL;

    for (; env && *env; env++)
        buf_add(&bytes, *env, strlen(*env) + 1);
    base64_encode(bytes.len ? buf_bytes(&bytes) : "", bytes.len, &base64);
    if (!bytes.failed && !base64.failed)
        text = strndup(base64.len ? buf_bytes(&base64) : "", base64.len);
    if (bytes.len)
        explicit_bzero(buf_bytes(&bytes), bytes.len);        /* it may have secrets */
    buf_clear(&bytes);
    buf_clear(&base64);
    return text;
}

static void free_list(char **list)
{
    for (size_t i = 0; list && list[i]; i++)
        free(list[i]);
    free(list);
}

static char **split(const char *bytes, size_t len, size_t *n)
{
    char **list;
    size_t count = 0;

    for (size_t i = 0; i < len; i++)
        count += !bytes[i];
    list = calloc(count + 1, sizeof *list);
    for (*n = 0; list && *n < count; bytes += strlen(bytes) + 1)
        if (!(list[(*n)++] = strdup(bytes))) {
            free_list(list);
            return NULL;
        }
    return list;
}

char **env_text_read(const char *text, size_t *n)
{
    size_t len = strlen(text);
    char *bytes = malloc(base64_room(len) + 1), **list = NULL;
    long size = bytes ? base64_decode(text, len, (unsigned char *)bytes) : -1;

    if (size == 0 || (size > 0 && !bytes[size - 1]))
        list = split(bytes, (size_t)size, n);
    if (size > 0)
        explicit_bzero(bytes, (size_t)size);
    free(bytes);
    return list;
}

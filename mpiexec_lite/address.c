/* address.c - see address.h */
#include "mpiexec_lite/address.h"

#include <string.h>

int address_read(struct address *a, const char *text, unsigned usual, struct err *e)
{
    const char *colon = strchr(text, ':');
    size_t n = colon ? (size_t)(colon - text) : strlen(text);

    a->port = colon ? 0 : usual;
    if (!n || n >= sizeof a->host || memchr(text, '/', n))
        return err_set(e, ERR_INVALID_VAL, "'%.80s' has no host", text);
    memcpy(a->host, text, n);
    a->host[n] = '\0';
    if (!colon && usual)
        return 0;
    for (const char *at = colon ? colon + 1 : ""; *at; at++) {
        if (*at < '0' || *at > '9' || a->port > 65535)
            a->port = 65536;
        else
            a->port = a->port * 10 + (unsigned)(*at - '0');
    }
    return a->port && a->port <= 65535
               ? 0 : err_set(e, ERR_INVALID_VAL, "'%.80s' has no port from 1 to 65535", text);
}

/* noise.c - see noise.h */
#include "mpiexec_lite/noise.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void show(struct noise *n, const char *host, int more, const char *line)
{
    char text[1400];

    if (more)
        snprintf(text, sizeof text, "%s and %d more: %s", host, more, line);
    else
        snprintf(text, sizeof text, "%s: %s", host, line);
    n->tell(n->host, text);
}

static struct noise_line *find(struct noise *n, const char *text)
{
    for (int i = 0; i < n->n; i++)
        if (!strcmp(n->v[i].text, text))
            return &n->v[i];
    return NULL;
}

void noise_add(struct noise *n, const char *host, const char *line, size_t len)
{
    struct noise_line *same;
    char text[1024];

    while (len && (line[len - 1] == '\r' || line[len - 1] == '\n'))
        len--;
    if (!len)
        return;
    snprintf(text, sizeof text, "%.*s", (int)len, line);
    same = find(n, text);
    if (same) {
        same->more += same->last != host;        /* not for saying it twice */
        same->last = host;
        return;
    }
    if (n->n == NOISE_LINES)
        noise_show(n);
    n->v[n->n] = (struct noise_line){ strdup(text), host, host, 0 };
    if (n->v[n->n].text)
        n->n++;
    else
        show(n, host, 0, text);
}

void noise_show(struct noise *n)
{
    for (int i = 0; i < n->n; i++)
        show(n, n->v[i].first, n->v[i].more, n->v[i].text);
    noise_clear(n);
}

void noise_clear(struct noise *n)
{
    for (int i = 0; i < n->n; i++)
        free(n->v[i].text);
    n->n = 0;
}

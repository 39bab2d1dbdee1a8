/* proxy_cleanup.c - what ranks of some node want removed at their end, on its way there. */
#include "mpiexec_lite/proxy_impl.h"

#include <string.h>

/* The next of the texts that a payload consists of; NULL: it is "", or there is none. */
static const char *take_text(const char **at, size_t *left)
{
    const char *text = *at, *end = *left ? memchr(text, 0, *left) : NULL;

    if (!end)
        return NULL;
    *left -= (size_t)(end + 1 - text);
    *at = end + 1;
    return *text ? text : NULL;
}

int proxy_cleanup(struct proxy *p, const struct msg *m, const char *payload, size_t len,
                  struct err *e)
{
    static const char *const keys[] = { "position", "rank", "whole", "recursive", "empty",
                                        "leave-top" };
    enum { POSITION, RANK, WHOLE, RECURSIVE, EMPTY, LEAVE_TOP, KEYS };
    struct proxy_job *j = proxy_job_named(p, m, e);
    struct erase what = { .files = NULL };
    long long n[KEYS];

    for (int i = 0; i < KEYS; i++)
        if (e->code || msg_number(m, keys[i], 0, i <= RANK ? INT_MAX : 1, &n[i], e) < 0)
            return -1;
    if (n[POSITION] != p->position) {
        proxy_pass_towards(p, n[POSITION], LINK_CONTROL, m, payload, len);
        return 0;
    }
    what.recursive = n[RECURSIVE];
    what.empty = n[EMPTY];
    what.leave_top = n[LEAVE_TOP];
    what.files = take_text(&payload, &len);
    what.folders = take_text(&payload, &len);
    what.ignore = take_text(&payload, &len);
    if (j && crew_cleanup(&j->crew, (int)n[RANK], n[WHOLE], &what) < 0)
        return err_set(e, ERR_NOMEM, "no memory for a cleanup");
    return 0;
}

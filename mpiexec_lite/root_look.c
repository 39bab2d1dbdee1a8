/* root_look.c - looks at files that monitors of processes ask for (pmix-monitor), on the
 * node of the process. */
#include "mpiexec_lite/root_impl.h"

#include "pmix_ext/ext.h"

static void seen(void *host, unsigned number, const struct glance_seen *what)
{
    struct root *r = host;

    ext_looked(r->ext, number, &(struct ext_file){ what->there, what->size, what->accessed,
                                                   what->modified });
}

void root_look_init(struct root *r)
{
    glances_init(&r->glances, r->loop, seen, r);
}

/* Where the way there is lost, so is the process. */
void root_look(void *host, int node, unsigned number, const char *path)
{
    struct root *r = host;
    int at = node < 0 ? 0 : r->positions[node];
    struct remote *to = at > 0 ? remotes_towards(&r->below, at) : NULL;
    struct msg m;

    if (at == 0)
        glance_at(&r->glances, number, path);
    if (!to || to->state != REMOTE_UP)
        return;
    msg_init(&m);
    msg_start(&m, "look");
    msg_int(&m, "position", at);
    msg_int(&m, "id", number);
    msg_str(&m, "path", path);
    link_message(to->link, LINK_CONTROL, &m, NULL, 0, NULL);
    msg_clear(&m);
}

int root_looked(struct root *r, const struct msg *m, struct err *e)
{
    long long id, there, size, times[4];
    static const char *const names[] = { "atime", "atime-ns", "mtime", "mtime-ns" };

    if (msg_number(m, "id", 0, UINT_MAX, &id, e) < 0 ||
        msg_number(m, "there", 0, 1, &there, e) < 0 ||
        msg_number(m, "size", 0, INT64_MAX, &size, e) < 0)
        return -1;
    for (int i = 0; i < 4; i++)
        if (msg_number(m, names[i], INT64_MIN, INT64_MAX, &times[i], e) < 0)
            return -1;
    seen(r, (unsigned)id, &(struct glance_seen){ there, size, { times[0], times[1] },
                                                 { times[2], times[3] } });
    return 0;
}

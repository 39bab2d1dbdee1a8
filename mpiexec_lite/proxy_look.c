/* proxy_look.c - looks at files of this node, for the root (pmix-monitor). */
#include "mpiexec_lite/proxy_impl.h"

static void seen(void *host, unsigned number, const struct glance_seen *what)
{
    struct proxy *p = host;
    struct msg *m = proxy_message(p, "looked");

    msg_int(m, "position", p->position);
    msg_int(m, "id", number);
    msg_int(m, "there", what->there);
    msg_int(m, "size", what->size);
    msg_int(m, "atime", what->accessed.tv_sec);
    msg_int(m, "atime-ns", what->accessed.tv_nsec);
    msg_int(m, "mtime", what->modified.tv_sec);
    msg_int(m, "mtime-ns", what->modified.tv_nsec);
    proxy_send(p, NULL, 0);
}

void proxy_look_init(struct proxy *p)
{
    glances_init(&p->glances, p->loop, seen, p);
}

int proxy_look(struct proxy *p, const struct msg *m, struct err *e)
{
    const char *path = msg_get(m, "path");
    long long position, id;

    if (msg_number(m, "position", 1, INT_MAX, &position, e) < 0 ||
        msg_number(m, "id", 0, UINT_MAX, &id, e) < 0)
        return -1;
    if (!path)
        return err_set(e, ERR_INVALID_ARG, "look without a path");
    if (position == p->position) {
        glance_at(&p->glances, (unsigned)id, path);
        return 0;
    }
    proxy_pass_towards(p, position, LINK_CONTROL, m, NULL, 0);
    return 0;
}

/* proxy_timeline.c - -timeline: what time it is here, and at the end the moments of ranks. */
#include "mpiexec_lite/proxy_impl.h"

#include "mpiexec_lite/now.h"

enum { AT_ONCE = 40000 * MOMENT_SIZE };  /* bytes in a message */

int proxy_clock(struct proxy *p, const struct msg *m, struct err *e)
{
    long long position, id;

    if (msg_number(m, "position", 1, INT_MAX, &position, e) < 0 ||
        msg_number(m, "id", 1, INT_MAX, &id, e) < 0)
        return -1;
    if (position == p->position) {
        msg_int(proxy_message(p, "clock"), "position", position);
        msg_int(&p->msg, "id", id);
        msg_int(&p->msg, "ns", (long long)(now_seconds() * 1e9));
        proxy_send(p, NULL, 0);
        return 0;
    }
    proxy_pass_towards(p, position, LINK_CONTROL, m, NULL, 0);
    return 0;
}

void proxy_send_moments(struct proxy *p)
{
    const struct moments *all = &p->node.moments;
    size_t n;

    for (size_t done = 0; done < all->bytes.len; done += n) {
        n = all->bytes.len - done < AT_ONCE ? all->bytes.len - done : AT_ONCE;
        msg_int(proxy_message(p, "moments"), "position", p->position);
        msg_int(&p->msg, "dropped", (long long)all->dropped);
        proxy_send(p, buf_bytes(&all->bytes) + done, n);
    }
}

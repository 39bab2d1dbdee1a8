/* events.c - see events.h */
#include "mpiexec_lite/events.h"

#include <endian.h>
#include <stdint.h>
#include <string.h>

enum { FENCED = 4 };                 /* in the number that says where it stood */

void events_add(struct buf *out, const struct rank_end *x)
{
    uint32_t v[5] = { htole32((uint32_t)x->rank), htole32((uint32_t)x->wstatus),
                      htole32((uint32_t)x->pid), htole32((uint32_t)x->pmi | (x->fenced ? FENCED : 0)),
                      htole32((uint32_t)x->job) };

    buf_add(out, v, sizeof v);
}

int events_next(const char **data, size_t *len, struct rank_end *x, struct err *e)
{
    uint32_t v[5];

    if (!*len)
        return 0;
    if (*len < sizeof v)
        return err_set(e, ERR_LENGTH, "a record of %zu bytes", *len);
    memcpy(v, *data, sizeof v);
    *data += sizeof v;
    *len -= sizeof v;
    *x = (struct rank_end){ (int)le32toh(v[0]), (int)le32toh(v[1]), (int)le32toh(v[2]),
                            (int)(le32toh(v[3]) & ~(uint32_t)FENCED),
                            (int)le32toh(v[4]), le32toh(v[3]) & FENCED };
    return 1;
}

/* moments.c - see moments.h */
#include "mpiexec_lite/moments.h"

#include <endian.h>
#include <string.h>

void moments_clear(struct moments *all)
{
    buf_clear(&all->bytes);
    *all = (struct moments){ .bytes = BUF_INIT };
}

void moments_add(struct moments *all, const struct moment *x)
{
    bool fence = x->kind == MOMENT_ENTER || x->kind == MOMENT_LEAVE;
    uint64_t when = htole64((uint64_t)x->when);
    uint32_t v[4] = { htole32((uint32_t)x->job), htole32((uint32_t)x->rank),
                      htole32((uint32_t)x->kind), htole32((uint32_t)x->value) };

    if (fence && all->fences >= MOMENTS_FENCES) {
        all->dropped++;
        return;
    }
    all->fences += fence;
    buf_add(&all->bytes, &when, sizeof when);
    buf_add(&all->bytes, v, sizeof v);
}

int moments_next(const char **data, size_t *len, struct moment *x, struct err *e)
{
    uint64_t when;
    uint32_t v[4];

    if (!*len)
        return 0;
    if (*len < MOMENT_SIZE)
        return err_set(e, ERR_LENGTH, "a moment of %zu bytes", *len);
    memcpy(&when, *data, sizeof when);
    memcpy(v, *data + sizeof when, sizeof v);
    if (le32toh(v[2]) >= MOMENT_KINDS)
        return err_set(e, ERR_INVALID_ARG, "a moment of kind %u", (unsigned)le32toh(v[2]));
    *data += MOMENT_SIZE;
    *len -= MOMENT_SIZE;
    *x = (struct moment){ (int64_t)le64toh(when), (int)le32toh(v[0]), (int)le32toh(v[1]),
                          (enum moment_kind)le32toh(v[2]), (int)le32toh(v[3]) };
    return 1;
}

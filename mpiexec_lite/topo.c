/* topo.c - see topo.h */
#include "mpiexec_lite/topo.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Arrays grow whenever their length is a power of two. */
static int add(void **array, size_t *n, const void *item, size_t size)
{
    if (!(*n & (*n - 1))) {
        void *v = reallocarray(*array, *n ? *n * 2 : 1, size);

        if (!v)
            return -1;
        *array = v;
    }
    memcpy((char *)*array + (*n)++ * size, item, size);
    return 0;
}

int topo_add_cpu(struct topo *t, const struct topo_cpu *cpu)
{
    void *v = t->cpus;
    int rc = add(&v, &t->ncpus, cpu, sizeof *cpu);

    t->cpus = v;
    return rc;
}

int topo_add_object(struct topo *t, const struct topo_object *o)
{
    void *v = t->objects;
    int rc = add(&v, &t->nobjects, o, sizeof *o);

    t->objects = v;
    return rc;
}

int topo_add_device(struct topo *t, const struct topo_device *d)
{
    void *v = t->devices;
    int rc = add(&v, &t->ndevices, d, sizeof *d);

    t->devices = v;
    return rc;
}

void topo_clear(struct topo *t)
{
    free(t->cpus);
    free(t->objects);
    free(t->devices);
    *t = (struct topo){ 0 };
}

void topo_restrict(struct topo *t, const struct cpus *to)
{
    for (size_t i = 0; i < t->ncpus; i++)
        t->cpus[i].allowed = t->cpus[i].allowed && cpus_has(to, t->cpus[i].os);
}

void topo_cpus_of(const struct topo *t, struct range r, struct cpus *out)
{
    *out = (struct cpus){ 0 };
    for (int i = r.first; i < r.first + r.n; i++)
        if (t->cpus[i].allowed)
            cpus_add(out, t->cpus[i].os);
}

void topo_allowed(const struct topo *t, struct cpus *out)
{
    topo_cpus_of(t, (struct range){ 0, (int)t->ncpus }, out);
}

/* --- bytes ------------------------------------------------------------- */

void topo_write(const struct topo *t, struct buf *out)
{
    uint32_t n[] = { (uint32_t)t->ncpus, (uint32_t)t->nobjects, (uint32_t)t->ndevices };

    buf_add(out, n, sizeof n);
    buf_add(out, t->cpus, t->ncpus * sizeof *t->cpus);
    buf_add(out, t->objects, t->nobjects * sizeof *t->objects);
    buf_add(out, t->devices, t->ndevices * sizeof *t->devices);
}

/* A copy of n items; *data moves on.  False: no memory. */
static bool take(void **to, size_t n, size_t size, const char **data)
{
    *to = calloc(n + 1, size);
    if (!*to)
        return false;
    memcpy(*to, *data, n * size);
    *data += n * size;
    return true;
}

static bool in_order(const struct topo *t, struct range r)
{
    return r.first >= 0 && r.n >= 0 && (size_t)r.first <= t->ncpus &&
           (size_t)r.n <= t->ncpus - (size_t)r.first;
}

static bool consistent(const struct topo *t)
{
    for (size_t i = 0; i < t->ncpus; i++)
        if (t->cpus[i].os < 0 || t->cpus[i].os >= CPUS_MAX)
            return false;
    for (size_t i = 0; i < t->nobjects; i++)
        if (!in_order(t, t->objects[i].at))
            return false;
    for (size_t i = 0; i < t->ndevices; i++)
        if (!in_order(t, t->devices[i].at))
            return false;
    return true;
}

int topo_read_bytes(struct topo *t, const char *data, size_t len)
{
    void *v[3] = { NULL, NULL, NULL };
    uint32_t n[3];
    bool ok = len >= sizeof n;

    *t = (struct topo){ 0 };
    if (ok)
        memcpy(n, data, sizeof n);
    ok = ok && len == sizeof n + n[0] * sizeof *t->cpus + n[1] * sizeof *t->objects +
                      n[2] * sizeof *t->devices;
    data += sizeof n;
    ok = ok && take(&v[0], n[0], sizeof *t->cpus, &data) &&
         take(&v[1], n[1], sizeof *t->objects, &data) &&
         take(&v[2], n[2], sizeof *t->devices, &data);
    if (ok)
        *t = (struct topo){ v[0], v[1], v[2], n[0], n[1], n[2] };
    if (ok && consistent(t))
        return 0;
    for (int i = 0; i < 3; i++)
        free(v[i]);
    *t = (struct topo){ 0 };
    return -1;
}

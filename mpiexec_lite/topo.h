/* topo.h - what a node is made of, as far as placing processes needs it.
 *
 * Processors (hardware threads) stand in the order of the hardware: those of one core
 * next to each other, those of one socket too.  Everything else is a range of that order,
 * so an object costs a few bytes, and no set has to be compared.  Filled from hwloc
 * (topo_hwloc.h), but knows nothing of it.  No I/O; no pointer but the three arrays, so
 * that it travels as bytes between processes of one program. */
#ifndef MPIEXEC_LITE_TOPO_H
#define MPIEXEC_LITE_TOPO_H

#include "mpiexec_lite/cpus.h"

#include <stddef.h>

enum level {
    LEVEL_MACHINE, LEVEL_NUMA, LEVEL_SOCKET, LEVEL_CACHE, LEVEL_CORE, LEVEL_HWTHREAD
};

struct topo_cpu {
    int  os;                     /* the system's number */
    int  kind;                   /* of a hybrid machine: the higher, the faster; else 0 */
    bool allowed;
};

struct range { int first, n; };  /* of topo.cpus */

struct topo_object {
    enum level   level;
    int          depth;          /* of a cache: 1 to 5; else 0 */
    char         form;           /* of a cache: d(ata), i(nstructions), u(nified); else 0 */
    int          os;             /* the system's number; of a NUMA node, for memory */
    struct range at;             /* n may be 0: memory without processors */
};

enum device_kind { DEVICE_PCI, DEVICE_GPU, DEVICE_IB, DEVICE_EN, DEVICE_HFI, DEVICE_HSN };

enum { TOPO_NVIDIA = 0x10de, TOPO_AMD = 0x1002, TOPO_INTEL = 0x8086 };   /* makers of GPUs */

struct topo_device {
    enum device_kind kind;
    char         name[32];       /* "eth0", "cuda0"; "" if it has none */
    char         bus[24];        /* "0000:02:00.0"; "" if it is on none */
    unsigned     vendor;         /* of PCI */
    struct range at;             /* processors near it */
};

struct topo {
    struct topo_cpu    *cpus;    /* owned, as are the next two */
    struct topo_object *objects; /* of one level in the order of the hardware */
    struct topo_device *devices;
    size_t ncpus, nobjects, ndevices;
};

/* Add one more.  0, or -1: no memory. */
int  topo_add_cpu(struct topo *t, const struct topo_cpu *cpu);
int  topo_add_object(struct topo *t, const struct topo_object *o);
int  topo_add_device(struct topo *t, const struct topo_device *d);
void topo_clear(struct topo *t);

/* Only what is in the set stays allowed. */
void topo_restrict(struct topo *t, const struct cpus *to);
/* The allowed processors of a range, or of all. */
void topo_cpus_of(const struct topo *t, struct range r, struct cpus *out);
void topo_allowed(const struct topo *t, struct cpus *out);

/* As bytes, for a process of this same program; and back.  0, or -1: no memory, or they
 * are cut short or inconsistent. */
void topo_write(const struct topo *t, struct buf *out);
int  topo_read_bytes(struct topo *t, const char *data, size_t len);

#endif

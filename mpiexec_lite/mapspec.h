/* mapspec.h - what can be said of where processes run on a node, read from text.
 *
 *     none                     nothing
 *     rr                       a processor each, in the order of the system's numbers
 *     user:LIST                what is listed: 0,2,4-7,1+9 is four sets of processors
 *     OBJECT[:K]               K objects each: machine (board), numa, socket (package),
 *                              l1cache ... l5cache (l2dcache, l1icache, l3ucache ...), core,
 *                              hwthread (pu, thread)
 *     gpu ib en eth hfi hsn    the processors near such a device; gpu0: near that one,
 *                              gpu:K: near K of them
 *     pci:ID                   the processors near a PCI device: pci:0000:02:00.0
 *
 * Hydra's words, and Open MPI's for the same things; in any case.  Pure. */
#ifndef MPIEXEC_LITE_MAPSPEC_H
#define MPIEXEC_LITE_MAPSPEC_H

#include "mpiexec_lite/topo.h"

enum spec_kind { SPEC_NONE, SPEC_RR, SPEC_USER, SPEC_OBJECT, SPEC_DEVICE };

struct mapspec {
    enum spec_kind kind;
    enum level  level;           /* SPEC_OBJECT */
    int         depth;           /* of a cache */
    char        form;            /* of a cache: d, i, u, or 0: any but instructions */
    int         count;           /* objects or devices for a process: 1 and up */
    enum device_kind device;     /* SPEC_DEVICE */
    char        name[40];        /* of one device as the text has it, "gpu0", or its address;
                                    "": all of them take turns */
    const char *list;            /* SPEC_USER: inside the text that was read */
};

/* NULL is "none".  0, or -1 and e. */
int mapspec_read(struct mapspec *s, const char *text, struct err *e);
bool mapspec_is_known(const char *text);

/* What the list of SPEC_USER has next; *list moves on.  False at its end. */
bool mapspec_next_set(const char **list, struct cpus *out);

/* Whether an object, or a device, is meant. */
bool mapspec_is_object(const struct mapspec *s, const struct topo_object *o);
bool mapspec_is_device(const struct mapspec *s, const struct topo_device *d);

/* Memory: none, firsttouch, bind[:NODES], interleave[:NODES].  Without nodes: those near
 * the processors that a process is bound to. */
enum memory_how { MEMORY_NONE, MEMORY_LOCAL, MEMORY_BIND, MEMORY_INTERLEAVE };
struct memspec {
    enum memory_how how;
    bool        near;            /* no nodes were listed */
    struct cpus nodes;           /* numbers of NUMA nodes */
};
int memspec_read(struct memspec *s, const char *text, struct err *e);

#endif

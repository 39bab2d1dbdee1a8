/* topo_hwloc.c - see topo_hwloc.h
 *
 * One walk over hwloc's tree: processors are its leaves, from left to right, so what is
 * below an object is a range of them. */
#include "mpiexec_lite/topo_hwloc.h"

#include "mpiexec_lite/hwloc_lib.h"

#include <stdio.h>
#include <string.h>

enum { CLASS_DISPLAY = 0x03, CLASS_ACCELERATOR = 0x12 };         /* of PCI */

struct walk {
    const struct hwloc_lib *lib;
    hwloc_topology_t  from;
    hwloc_const_cpuset_t allowed;
    struct topo      *to;
    bool              failed;    /* no memory, or a number that is too high */
};

static void add_cpu(struct walk *w, hwloc_obj_t o)
{
    struct topo_cpu cpu = { .os = (int)o->os_index,
                            .allowed = w->lib->isset(w->allowed, o->os_index) };

    if (o->os_index >= CPUS_MAX || topo_add_cpu(w->to, &cpu) < 0)
        w->failed = true;
}

static void add_object(struct walk *w, hwloc_obj_t o, struct range at)
{
    static const char forms[] = { [HWLOC_OBJ_CACHE_UNIFIED] = 'u', [HWLOC_OBJ_CACHE_DATA] = 'd',
                                  [HWLOC_OBJ_CACHE_INSTRUCTION] = 'i' };
    struct topo_object x = { .os = (int)o->os_index, .at = at };

    switch (o->type) {
    case HWLOC_OBJ_MACHINE:  x.level = LEVEL_MACHINE; break;
    case HWLOC_OBJ_NUMANODE: x.level = LEVEL_NUMA; break;
    case HWLOC_OBJ_PACKAGE:  x.level = LEVEL_SOCKET; break;
    case HWLOC_OBJ_CORE:     x.level = LEVEL_CORE; break;
    case HWLOC_OBJ_PU:       x.level = LEVEL_HWTHREAD; break;
    case HWLOC_OBJ_L1CACHE: case HWLOC_OBJ_L2CACHE: case HWLOC_OBJ_L3CACHE:
    case HWLOC_OBJ_L4CACHE: case HWLOC_OBJ_L5CACHE:
    case HWLOC_OBJ_L1ICACHE: case HWLOC_OBJ_L2ICACHE: case HWLOC_OBJ_L3ICACHE:
        x.level = LEVEL_CACHE;
        x.depth = (int)o->attr->cache.depth;
        x.form = forms[o->attr->cache.type];
        break;
    default:
        return;
    }
    if (topo_add_object(w->to, &x) < 0)
        w->failed = true;
}

/* --- devices ----------------------------------------------------------- */

static void add_device(struct walk *w, const struct topo_device *d)
{
    if (topo_add_device(w->to, d) < 0)
        w->failed = true;
}

static enum device_kind kind_of(hwloc_obj_t os)
{
    if (os->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS)
        return strncmp(os->name, "hfi", 3) ? DEVICE_IB : DEVICE_HFI;
    if (!strncmp(os->name, "hsn", 3))
        return DEVICE_HSN;
    return strncmp(os->name, "ib", 2) ? DEVICE_EN : DEVICE_IB;
}

static bool computes(hwloc_obj_t os)
{
    return os->attr->osdev.type == HWLOC_OBJ_OSDEV_COPROC;
}

/* Networks as they are named; the names of others tell what their PCI device is. */
static void add_below(struct walk *w, hwloc_obj_t pci, struct topo_device *d, bool *coprocessor)
{
    for (hwloc_obj_t o = pci->io_first_child; o; o = o->next_sibling) {
        hwloc_obj_osdev_type_t type;

        if (o->type != HWLOC_OBJ_OS_DEVICE || !o->name)
            continue;
        type = o->attr->osdev.type;
        if (type == HWLOC_OBJ_OSDEV_NETWORK || type == HWLOC_OBJ_OSDEV_OPENFABRICS) {
            struct topo_device x = *d;

            x.kind = kind_of(o);
            snprintf(x.name, sizeof x.name, "%s", o->name);
            add_device(w, &x);
        } else if (!*d->name || computes(o)) {
            snprintf(d->name, sizeof d->name, "%s", o->name);
        }
        *coprocessor = *coprocessor || computes(o);
    }
}

/* What draws a server's console is no GPU in this sense: it has another maker. */
static bool is_gpu(const struct topo_device *d, unsigned class)
{
    bool draws = class >> 8 == CLASS_DISPLAY || class >> 8 == CLASS_ACCELERATOR;

    return draws && (d->vendor == TOPO_NVIDIA || d->vendor == TOPO_AMD || d->vendor == TOPO_INTEL);
}

static void add_pci(struct walk *w, hwloc_obj_t o, struct range near)
{
    const struct hwloc_pcidev_attr_s *a = &o->attr->pcidev;
    struct topo_device d = { .kind = DEVICE_PCI, .vendor = a->vendor_id, .at = near };
    bool coprocessor = false;

    snprintf(d.bus, sizeof d.bus, "%04x:%02x:%02x.%01x", (unsigned)a->domain, (unsigned)a->bus,
             (unsigned)a->dev, (unsigned)a->func);
    add_below(w, o, &d, &coprocessor);
    add_device(w, &d);
    if (coprocessor || is_gpu(&d, a->class_id)) {
        d.kind = DEVICE_GPU;
        add_device(w, &d);
    }
}

static void add_devices(struct walk *w, hwloc_obj_t first, struct range near)
{
    for (hwloc_obj_t o = first; o && !w->failed; o = o->next_sibling)
        if (o->type == HWLOC_OBJ_PCI_DEVICE)
            add_pci(w, o, near);
        else
            add_devices(w, o->io_first_child, near);
}

/* --- the tree ---------------------------------------------------------- */

static void walk(struct walk *w, hwloc_obj_t o)
{
    struct range at = { .first = (int)w->to->ncpus };

    if (o->type == HWLOC_OBJ_PU)
        add_cpu(w, o);
    for (hwloc_obj_t c = o->first_child; c && !w->failed; c = c->next_sibling)
        walk(w, c);
    at.n = (int)w->to->ncpus - at.first;
    add_object(w, o, at);
    for (hwloc_obj_t m = o->memory_first_child; m; m = m->next_sibling) {
        add_object(w, m, at);
        for (hwloc_obj_t n = m->memory_first_child; n; n = n->next_sibling)
            add_object(w, n, at);        /* behind a cache of memory */
    }
    add_devices(w, o->io_first_child, at);
}

static void add_kinds(const struct hwloc_lib *lib, hwloc_topology_t from, struct topo *t)
{
    int n = lib->kinds && lib->kind ? lib->kinds(from, 0) : 0;
    hwloc_bitmap_t set = n > 1 ? lib->bitmap() : NULL;

    for (int k = 0; set && k < n; k++) {
        int speed = -1;

        if (lib->kind(from, (unsigned)k, set, &speed, NULL, NULL, 0) < 0)
            continue;
        for (size_t i = 0; i < t->ncpus; i++)
            if (lib->isset(set, (unsigned)t->cpus[i].os))
                t->cpus[i].kind = speed > 0 ? speed : 0;
    }
    if (set)
        lib->free_bitmap(set);
}

static int describe(const struct hwloc_lib *lib, hwloc_topology_t to, const struct topo_source *from)
{
    if (from->xml)
        return lib->set_xml(to, from->xml, (int)strlen(from->xml) + 1);
    return from->synthetic ? lib->set_synthetic(to, from->synthetic) : 0;
}

static int prepare(const struct hwloc_lib *lib, hwloc_topology_t to, const struct topo_source *from)
{
    if (lib->set_flags(to, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) < 0 ||
        lib->icache(to, HWLOC_TYPE_FILTER_KEEP_ALL) < 0 ||
        lib->io(to, from->devices ? HWLOC_TYPE_FILTER_KEEP_IMPORTANT
                                  : HWLOC_TYPE_FILTER_KEEP_NONE) < 0)
        return -1;
    return describe(lib, to, from);
}

const char *topo_from_hwloc(struct topo *t, const struct topo_source *from)
{
    hwloc_topology_t topology;
    struct cpus ours;
    struct hwloc_lib lib;
    struct walk w = { .lib = &lib, .to = t };
    const char *why = hwloc_lib_load(&lib, from->library);

    *t = (struct topo){ 0 };
    if (why)
        return why;
    if (lib.init(&topology) < 0)
        return "hwloc cannot begin";
    if (prepare(&lib, topology, from) < 0 || lib.load(topology) < 0) {
        lib.destroy(topology);
        return "hwloc does not understand this machine";
    }
    w.from = topology;
    w.allowed = lib.allowed(topology);
    walk(&w, lib.object(topology, 0, 0));
    add_kinds(&lib, topology, t);
    lib.destroy(topology);
    if (!from->xml && !from->synthetic && cpus_allowed(&ours, NULL) == 0)
        topo_restrict(t, &ours);
    return w.failed ? "no memory, or more processors than can be" : NULL;
}

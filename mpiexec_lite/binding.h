/* binding.h - which processors, memory and GPUs the processes of a job get on this node.
 *
 * Puts together what was asked for (plan.map, a host's binding=, a spawn's "bind"), the
 * node's topology, read only if something was asked for, and what other jobs have; the
 * choice itself is mapper.h's. */
#ifndef MPIEXEC_LITE_BINDING_H
#define MPIEXEC_LITE_BINDING_H

#include "mpiexec_lite/mapper.h"
#include "mpiexec_lite/plan.h"
#include "mpiexec_lite/taken.h"
#include "mpiexec_lite/topo_fetch.h"

enum { MEMORY_NODES_MAX = 1024, BINDING_GPU_VARIABLES = 3 };

/* For set_mempolicy: a child calls it before it executes its program. */
struct memory_policy {
    int           mode;
    unsigned long nodes[MEMORY_NODES_MAX / (8 * sizeof(unsigned long))];
};

struct binding {
    struct seats   seats;                /* n 0: nobody is bound */
    struct memory_policy *memory;        /* owned; one for each seat, or (without seats) one
                                            for all; NULL: as it is */
    size_t         nmemory;
    int            gpus;                 /* for each process; 0: nothing is set */
    const struct topo *topo;             /* borrowed from topo_here; NULL: not read */
};

struct binding_request {                 /* all borrowed */
    const struct plan *plan;
    const struct app  *app;
    const struct host *host;
    int                n;                /* processes of the job on this node */
    const char        *jobid;
    bool               crowd_wanted;     /* more processes than processors need no word */
    struct taken      *taken;            /* what the job has already; more is added */
};

/* 0, or -1 and e: it cannot be had; b is to be cleared either way.  notes: lines for the
 * user are added. */
int  binding_make(struct binding *b, struct topo_here *here, const struct binding_request *q,
                  struct strlist *notes, struct err *e);
void binding_clear(struct binding *b);

/* Of a process, by its number among those of its job here: its processors and memory;
 * NULL: as the launcher. */
const struct cpus *binding_cpus(const struct binding *b, int local_rank);
const struct memory_policy *binding_memory(const struct binding *b, int local_rank);
/* "CUDA_VISIBLE_DEVICES=0,1", one variable a line, for its GPUs; nothing without. */
void binding_gpus(const struct binding *b, int local_rank, struct buf *out);

/* "[BB/..][../..] 0-1": sockets in brackets, cores between slashes, a character for each
 * processor: B: its, '.': others may have it, '-': not to be used.  cpus NULL: not bound. */
void binding_draw(const struct topo *t, const struct cpus *cpus, struct buf *out);

#endif

/* hosts.h - lists and files of hosts become the nodes of a plan.
 *
 * A list is HOST,HOST...; a file has such a list and settings on each line, and
 * comments behind '#'.  Understood are the manners of Hydra, Open MPI, mpirun_rsh,
 * PBS, Slurm and Flux:
 *
 *     HOST[:SLOTS[:HCA[:PORT]]]   USER@HOST   [IPv6]:SLOTS   node[01-04,07]
 *     slots=N  max_slots=N  max-slots=N  user=U  binding=B        (files only)
 *
 * The HCA, its port and max_slots mean nothing here.  All that is said of one host,
 * wherever it stands, makes one node at the place of its first mention, its slots
 * added up; so do all names of our own host.  No name is looked up in the network:
 * our own host is known by its name and, from literal addresses, by its interfaces. */
#ifndef MPIEXEC_LITE_HOSTS_H
#define MPIEXEC_LITE_HOSTS_H

#include "mpiexec_lite/plan.h"

#include <stdint.h>

enum { HOST_NAME_MAX_LEN = 255 };

struct mention {             /* what is said of a host */
    int         slots;       /* 0: not said */
    const char *user, *binding;      /* NULL: not said */
};

struct ifaddrs;

struct hosts {               /* nodes being put together */
    struct plan *plan;       /* borrowed: whose hosts they become */
    size_t       named;      /* names so far, repeated ones too */
    size_t       local;      /* 1 + the node that is our own host; 0: none yet */
    size_t       fixed;      /* slots of the first so many nodes change no more */
    bool         skip_local; /* leave out our own host from now on */
    int          said, line; /* for what is added: members of struct host */

    uint32_t    *index;      /* owned; hash by name of 1 + node */
    size_t       size;       /* of index: 0 or a power of two */

    bool         picking;    /* hosts_pick is at work: what it names is noted */
    struct pick { size_t node; int slots; } *picks;      /* owned; slots 0: not said */
    size_t       npicks, cap;

    char         own[HOST_NAME_MAX_LEN + 1];     /* our host's name */
    struct ifaddrs *addresses;       /* owned; NULL before the first literal address */
};

/* plan outlives h.  The hosts that it has are known, and their slots fixed. */
void hosts_init(struct hosts *h, struct plan *plan);
void hosts_clear(struct hosts *h);       /* the plan keeps its hosts */

/* A host of this name, which has no ranges.  0, or -1 and e. */
int  hosts_add(struct hosts *h, const char *name, const struct mention *x, struct err *e);
int  hosts_add_own(struct hosts *h, struct err *e);
/* Add what a list, or the text of a file, names.  0, or -1 and e; some may have been
 * added then.  Errors in a file begin with its name and the line. */
int  hosts_add_list(struct hosts *h, const char *list, struct err *e);
int  hosts_add_text(struct hosts *h, const char *text, const char *file, struct err *e);

/* The list of one block, or the text of this file: what it names is added and becomes
 * a->nodes.  *slots is what the block may hold: slots of the list; where it says nothing,
 * those that a fixed node has, or one. */
int  hosts_pick(struct hosts *h, const char *list, const char *file, struct app *a, long *slots,
                struct err *e);

/* The node that this name stands for, or -1. */
int  hosts_find(struct hosts *h, const char *name);

/* Order the nodes by their slots; equal ones stay as they are. */
int  hosts_order(struct hosts *h, bool descending, struct err *e);
/* Drop our own host and do not let it in again. */
int  hosts_skip_local(struct hosts *h, struct err *e);

/* May stand for a host, for an account, in a command: no blank, no sign of a shell,
 * no option. */
bool host_name_ok(const char *name);
bool host_user_ok(const char *user);
/* An IPv6 address, with a scope behind '%' perhaps: its usual spelling in text. */
bool host_is_ipv6(const char *name, char text[HOST_NAME_MAX_LEN + 1]);

#endif

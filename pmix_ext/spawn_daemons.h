/* spawn_daemons.h - processes of a tool that look after a job: its daemons, beside the job's
 * processes on their nodes.  (PMIx standard, "Debugger daemons"; RFC0023.)
 *
 * They are a job of their own, whose size, places and KVS are its own; nothing that is told of
 * the application counts them.  Which nodes they are on is worked out here, as the layer knows
 * where the ranks of all jobs are; the launcher gets it in the words of a spawn (place, daemons). */
#ifndef PMIX_EXT_SPAWN_DAEMONS_H
#define PMIX_EXT_SPAWN_DAEMONS_H

#include "pmi2/spawn.h"
#include "pmix_ext/directives.h"

struct ext;

struct daemons {
    bool        are;                     /* PMIX_DEBUGGER_DAEMONS */
    bool        cospawn;                 /* PMIX_COSPAWN_APP: a job of their own, as always */
    bool        nohup;                   /* PMIX_NOHUP: they outlive their tool's connection */
    const pmix_proc_t *target;           /* PMIX_DEBUG_TARGET; its rank: this one alone */
    uint16_t    per_node, per_proc;
    uint32_t    stride;                  /* LITE_DAEMONS_STRIDE: on every so-manieth node */
    const char *ranks;                   /* LITE_DAEMONS_RANKS: for these of its ranks */
    const char *hosts;                   /* PMIX_HOST: of its nodes these */
};

/* What the infos of a spawn say; texts are borrowed from them.  The status, and e if it is not
 * PMIX_SUCCESS: they contradict each other. */
pmix_status_t daemons_read(const struct infos *infos, struct daemons *out, struct err *e);
/* The same on top of what *out has already. */
pmix_status_t daemons_complete(const struct infos *infos, struct daemons *out, struct err *e);
/* Put them where their target is: what spawn_translate has made of the request is completed.
 * The status, and e. */
pmix_status_t daemons_place(struct ext *x, const struct daemons *d,
                            struct spawn_request *want, struct err *e);
/* The i-th attribute that daemons_read knows, for spawn_attribute; and whether it knows one. */
bool daemons_attribute(size_t i, const char **key, pmix_data_type_t *type);
bool daemons_know(const char *key);

#endif

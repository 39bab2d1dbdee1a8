/* explain_impl.h - inside of explain: what its parts share.  Included by explain*.c only. */
#ifndef MPIEXEC_LITE_EXPLAIN_IMPL_H
#define MPIEXEC_LITE_EXPLAIN_IMPL_H

#include "mpiexec_lite/binding.h"
#include "mpiexec_lite/explain.h"
#include "mpiexec_lite/shown.h"
#include "mpiexec_lite/node_runs.h"
#include "mpiexec_lite/said.h"

struct explain {
    const struct plan *plan;     /* borrowed, as are the next two */
    const struct said *said;
    char *const     *envp;       /* of the launcher */
    struct placement place;      /* owned, as are the next two */
    struct node_runs runs;
    int             *app_end;    /* the rank behind the last one of each block */
};

/* Each makes a part of the answer.  NULL: no memory, or e says more. */
json_t *explain_hosts(const struct explain *x);
/* Add how the ranks of a host are bound, if they are: drawn where it is this one. */
void explain_binding(const struct explain *x, size_t node, struct topo_here *here, json_t *to);
json_t *explain_commands(const struct explain *x, struct err *e);
json_t *explain_environment(const struct explain *x, size_t app, struct err *e);

/* The block of a rank. */
size_t explain_app_of(const struct explain *x, int rank);
/* Who decided the option of this key for a block, or for the job. */
json_t *explain_by(const struct explain *x, const char *key, int app);
json_t *explain_setting(const struct setting *s);        /* NULL: the default */

/* The answer as text. */
void explain_print(const json_t *answer, FILE *out);
/* And as a picture. */
void explain_svg(const json_t *answer, struct buf *out);

#endif

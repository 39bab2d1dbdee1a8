/* opts.h - the command line: mpiexec's options become a struct plan.
 *
 * Accepted is what the MPI standard asks of mpiexec, the options of MPICH's
 * Hydra with Hydra's manner of writing them (any number of dashes, any case,
 * "-opt value" or "-opt=value"), and what costs little of Open MPI, Intel MPI,
 * mpirun_rsh and srun; the rest of theirs is refused with a reason.  Tables have all of
 * them, opts_table.c and opts_compat.c; parsing, usage text, the manual's OPTIONS and
 * bash completion come from these.  Nothing here exits or writes to stderr. */
#ifndef MPIEXEC_LITE_OPTS_H
#define MPIEXEC_LITE_OPTS_H

#include "mpiexec_lite/plan.h"

#include <stdio.h>

struct said;

enum opts_result {
    OPTS_RUN,                /* the plan is complete: run it */
    OPTS_DONE,               /* help or the like was asked for and is on out: exit 0 */
    OPTS_USAGE,              /* e says in one line what is wrong: exit 2 */
    OPTS_FAILED              /* no memory: exit 255 */
};

/* Read argv (argv[0] is skipped), the -configfile that is named there or the usual one,
 * and those variables of envp that stand for options (opts_env.c).  p is set up first and is the caller's to
 * plan_clear, whatever the result; p->warnings is to be shown even then.  argv
 * and envp are borrowed for the call only. */
enum opts_result opts_parse(struct plan *p, int argc, char **argv, char *const *envp,
                            FILE *out, struct err *e);

/* The same, and each setting is added to said (said.h) with its source; a host has the number
 * of the one that named it. */
enum opts_result opts_parse_noting(struct plan *p, struct said *said, int argc, char **argv,
                                   char *const *envp, FILE *out, struct err *e);

void opts_print_help(FILE *out);
void opts_print_man(FILE *out);          /* section OPTIONS of the manual, in mdoc */
void opts_print_completion(FILE *out);   /* a bash script */

#endif

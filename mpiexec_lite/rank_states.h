/* rank_states.h - what the launcher knows of a rank, as one of the PMIx standard's states of
 * processes: the best fit (RFC0010).  Pure. */
#ifndef MPIEXEC_LITE_RANK_STATES_H
#define MPIEXEC_LITE_RANK_STATES_H

#include "mpiexec_lite/launch.h"
#include "pmix_ext/ext.h"

/* Of a rank that has not ended; pid 0: its server has not started it yet; held: for a debugger. */
pmix_proc_state_t rank_lives_as(pid_t pid, enum pmi_phase pmi, bool held);
/* How a rank ends with this status of wait4; ending: its job was being ended. */
struct ext_end    rank_end(const struct rank_state *r, int wstatus, bool ending);
/* Of any rank; ending: its job is being ended. */
pmix_proc_state_t rank_state_of(const struct rank_state *r, bool ending);

/* Its exit status, as a shell has it; 0 until it has ended. */
int rank_exit_code(const struct rank_state *r);

#endif

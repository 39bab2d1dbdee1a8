/* rank_states.c - see rank_states.h */
#include "mpiexec_lite/rank_states.h"

pmix_proc_state_t rank_lives_as(pid_t pid, enum pmi_phase pmi, bool held)
{
    if (!pid)
        return PMIX_PROC_STATE_LAUNCH_UNDERWAY;
    if (held)
        return PMIX_EXT_PROC_STATE_HELD;
    switch (pmi) {
    case PMI_INSIDE: return PMIX_PROC_STATE_CONNECTED;
    case PMI_NONE:
    case PMI_DONE:   return PMIX_PROC_STATE_RUNNING;
    }
    return PMIX_PROC_STATE_UNDEF;        /* a phase that another version's server has told */
}

struct ext_end rank_end(const struct rank_state *r, int wstatus, bool ending)
{
    return (struct ext_end){ .wstatus = wstatus, .inside = r->pmi == PMI_INSIDE,
                             .aborted = r->aborted, .commanded = r->commanded || ending };
}

pmix_proc_state_t rank_state_of(const struct rank_state *r, bool ending)
{
    struct ext_end how = rank_end(r, r->wstatus, r->followed);

    if (r->ended)
        return r->lost ? PMIX_PROC_STATE_COMM_FAILED : ext_end_state(&how);
    if (r->unstarted)
        return PMIX_PROC_STATE_FAILED_TO_START;
    if (r->pid)
        return rank_lives_as(r->pid > 0 ? r->pid : 0, r->pmi, false);
    return ending ? PMIX_PROC_STATE_FAILED_TO_LAUNCH : PMIX_PROC_STATE_PREPPED;
}

int rank_exit_code(const struct rank_state *r)
{
    if (!r->ended)
        return 0;
    return r->forgiven ? r->code : shell_status(r->wstatus);
}

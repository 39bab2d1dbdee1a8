/* launchers.c - see launchers.h */
#include "mpiexec_lite/launchers.h"

#include <string.h>
#include <strings.h>

/* Only ssh, fork, tcp, manual, slurm and rsh have been tried with the real thing; of the
 * others the words are those of Hydra and Open MPI, which start their proxies by them. */
static const struct launcher_way ways[LAUNCHERS] = {
    /* no terminal, no questions, no waiting for ever */
    [LAUNCHER_SSH]    = { .name = "ssh", .program = "ssh",
                          .words = { "-T", "-oBatchMode=yes", "-oConnectTimeout=10",
                                     "-oServerAliveInterval=15" } },
    [LAUNCHER_FORK]   = { .name = "fork" },
    [LAUNCHER_MANUAL] = { .name = "manual", .calls_back = true },
    [LAUNCHER_TCP]    = { .name = "tcp", .calls_back = true },
    /* A step that shares the nodes with whatever else the job runs, is nothing to MPI, binds
     * and limits nobody, and stays as it is when one of its tasks or nodes ends: it is we who
     * decide what follows. */
    [LAUNCHER_SLURM]  = { .name = "slurm", .program = "srun",
                          .words = { "--overlap", "--mpi=none", "--cpu-bind=none",
                                     "--input=none", "--no-kill", "--wait=0",
                                     "--kill-on-bad-exit=0", "--chdir=/",
                                     "--ntasks-per-node=1" },
                          .idle = "cluster configuration lacks support for cpu binding",
                          .together = true, .calls_back = true,
                          .drops = { "SLURM_", "SLURMD_", "SBATCH_" } },
    [LAUNCHER_PBS]    = { .name = "pbs", .program = "pbs_tmrsh", .calls_back = true,
                          .drops = { "PBS_" } },
    [LAUNCHER_LSF]    = { .name = "lsf", .program = "blaunch", .drops = { "LSB_", "LS_" } },
    [LAUNCHER_SGE]    = { .name = "sge", .program = "qrsh", .words = { "-inherit" },
                          .drops = { "SGE_", "PE=", "PE_HOSTFILE=", "NSLOTS=", "NHOSTS=",
                                     "NQUEUES=", "QUEUE=", "JOB_ID=", "JOB_NAME=",
                                     "JOB_SCRIPT=", "REQUEST=", "RESTARTED=" } },
    [LAUNCHER_LL]     = { .name = "ll", .program = "llspawn.stdio", .drops = { "LOADL_" } },
    [LAUNCHER_RSH]    = { .name = "rsh", .program = "rsh" },
};

const struct launcher_way *launcher_way(enum launcher l)
{
    return &ways[l];
}

int launcher_find(const char *name, enum launcher *to)
{
    for (int i = 0; i < LAUNCHERS; i++)
        if (strcasecmp(name, ways[i].name) == 0) {
            *to = (enum launcher)i;
            return 0;
        }
    return -1;
}

const char *launcher_program(const struct launch_options *o)
{
    return o->exec ? o->exec : ways[o->launcher].program;
}

void launcher_names(struct buf *out)
{
    for (int i = 0; i < LAUNCHERS; i++)
        buf_printf(out, i ? ", %s" : "%s", ways[i].name);
}

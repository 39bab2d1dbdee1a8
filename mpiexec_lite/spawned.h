/* spawned.h - the job that a rank starts, made from that rank's own; or that a tool starts,
 * made from the command line's.
 *
 * Everything that the request does not say is as in the block of the rank that asks:
 * hosts, environment, directory, search path, and the options of the command line.
 * Info keys (MPI standard, 11.8.4, and what other launchers know):
 *
 *     wdir     directory                    path   colon list searched before PATH
 *     host, hosts   a list of hosts as -host takes it; new ones are reached as the
 *              others were
 *     hostfile   a file of hosts, if none of these two is given
 *     soft     numbers of processes that will do: 1,4,10:20:2
 *     env      NAME=VALUE, one a line; other changes: spawn_env.h
 *     bind     what its processes run on, as mapspec.h has it
 *     timeout  the job is ended after so many seconds
 *     end-on-nonzero   TRUE: it ends when a process exits with another status than 0
 *     stdin    who reads what tools push (pmix-iof-push): a rank, all, or none (default)
 *     map      how they are spread over the hosts: slot (default); node, one on each in turn;
 *              ppr:N:node, N on each and no more
 *     rank     with map: slot, ranks count on each host; node, along the hosts
 *     pset     the process set that they are (-pset)
 *     hold     where the job's ranks wait for a debugger, and which (hold.h)
 *     place    the nodes of its processes, by number: "0,2*3" is one on node 0 and three on node 2
 *     daemons  its processes are tools' daemons, and look after the job of this id (or of none)
 *     fork-agent   words that are executed in place of the job's programs (plan.h); not of daemons
 *     file     a file of further keys: spawned_info.h
 *
 * Another key changes nothing (plan.warnings names it).  Thread-safe. */
#ifndef MPIEXEC_LITE_SPAWNED_H
#define MPIEXEC_LITE_SPAWNED_H

#include "mpiexec_lite/bundle.h"
#include "pmi2/spawn.h"

/* Which command is to blame, and how its processes failed, as an errno. */
struct spawn_blame { size_t command; int code; };

/* The hosts that the launcher knows; all borrowed. */
struct spawned_hosts {
    const struct plan *plan;     /* the parent's are its first ones */
    size_t      listed;          /* so many are of the command line */
    const bool *lost;
    const long *used;            /* ranks that live on each; free slots are filled first */
};

/* Make *out (to be cleared either way) from the parent's bundle, the rank that asks (-1: no
 * rank does; the new job has no spawner) and its request.  0; 1: it is not placed, as there
 * are new hosts behind the known ones, which are to be reached first; or -1, e and *blame. */
int spawned_bundle(const struct bundle *parent, int rank, const struct spawn_request *r,
                   const struct spawned_hosts *hosts, const char *jobid, struct bundle *out,
                   struct spawn_blame *blame, struct err *e);

#endif

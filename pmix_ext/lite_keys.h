/* lite_keys.h - keys of a query that the PMIx standard does not have, answered here only. */
#ifndef PMIX_EXT_LITE_KEYS_H
#define PMIX_EXT_LITE_KEYS_H

/* Array of PMIX_PROC_STATS: what the processes of ranks use. */
#define LITE_PROC_STATS "lite.proc.stats"
/* Array of PMIX_INFO, an array PMIX_PROC_INFO_ARRAY for each rank: PMIX_PROCID,
 * PMIX_PROC_STATE_STATUS and, where it waits in a PMI command, the next two. */
#define LITE_PROC_OPS   "lite.proc.ops"
#define LITE_OP         "lite.op"        /* PMIX_STRING: "kvs-fence", ... */
#define LITE_OP_TIME    "lite.op.time"   /* PMIX_DOUBLE: for how long, seconds */
/* Likewise, where each rank is: PMIX_PROCID, and one of the next two.  The second key is of
 * all threads, with an empty line between their stacks. */
#define LITE_PROC_STACKS   "lite.proc.stacks"
#define LITE_THREAD_STACKS "lite.proc.threads"
#define LITE_STACK      "lite.stack"     /* PMIX_STRING: a frame a line, the outermost first */
#define LITE_STACK_WHY  "lite.stack.why" /* PMIX_STRING: why there is none */
/* In PMIX_QUERY_NAMESPACE_INFO. */
#define LITE_JOB_STATE  "lite.job.state" /* PMIX_JOB_STATE */
#define LITE_JOB_BEGAN  "lite.job.began" /* PMIX_TIME */
#define LITE_JOB_ENDED  "lite.job.ended" /* PMIX_TIME; with it PMIX_EXIT_CODE: of a record */
/* PMIX_UINT32: what has become of a job so far, LITE_STATUS_... ORed; a bit that is set stays
 * (but LITE_STATUS_HELD).  Also in PMIX_QUERY_NAMESPACE_INFO. */
#define LITE_JOB_STATUS "lite.job.status"
enum {
    LITE_STATUS_CREATED    = 0x01,       /* it has a name */
    LITE_STATUS_SPAWNED    = 0x02,       /* all its ranks are started */
    LITE_STATUS_HELD       = 0x04,       /* and all that are to wait for a debugger do */
    LITE_STATUS_RUNNING    = 0x08,       /* nobody waits, or some have been let go on */
    LITE_STATUS_ENDING     = 0x10,       /* it has failed, or is being ended */
    LITE_STATUS_NODE_LOST  = 0x20,       /* with ranks of it */
    LITE_STATUS_TERMINATED = 0x40,       /* all have ended, and are gone */
    LITE_STATUS_SERVICE_LOST = 0x80      /* no server says it: it is gone, and what becomes of the
                                            job is not known (PMIX_ERR_LOST_CONNECTION) */
};
/* PMIX_UINT64, of the server: the number of the last event that it has raised itself; and in
 * each of these events its own.  They count from 1, of all jobs together. */
#define LITE_EVENT_SEQ  "lite.event.seq"
/* PMIX_STRING: jobs that have ended, of which there is a record, with commas. */
#define LITE_JOBS_ENDED "lite.jobs.ended"
/* In PMIX_QUERY_MEMORY_USAGE, with PMIX_QUERY_REPORT_MINMAX: MiB of one rank. */
#define LITE_MEMORY_MIN "lite.mem.min"   /* PMIX_FLOAT */
#define LITE_MEMORY_MAX "lite.mem.max"   /* PMIX_FLOAT */

/* Of PMIX_QUERY_QUEUE_STATUS: array of PMIX_INFO, an array PMIX_ALLOC_QUEUE for each queue:
 * PMIX_ALLOC_QUEUE (its name), PMIX_NUM_NODES, PMIX_ALLOC_NUM_CPUS, if it has a limit
 * PMIX_ALLOC_TIME, and these. */
#define LITE_QUEUE_UP   "lite.queue.up"  /* PMIX_BOOL: it takes jobs */
#define LITE_QUEUE_IDLE "lite.queue.idle"        /* PMIX_UINT32: nodes that do nothing */
/* A directive of PMIx_Allocation_request: PMIX_BOOL: a new allocation is not given back when
 * its asker ends. */
#define LITE_ALLOC_KEEP "lite.alloc.keep"

/* Of daemons that a spawn puts beside a job (PMIX_DEBUG_TARGET): PMIX_STRING: for these of its
 * ranks, "0,3-5"; PMIX_UINT32: on every so-manieth of its nodes. */
#define LITE_DAEMONS_RANKS  "lite.dbg.ranks"
#define LITE_DAEMONS_STRIDE "lite.dbg.stride"
/* Of directives for a launcher that waits (PMIX_LAUNCH_DIRECTIVES): array of PMIX_APP: each a job of
 * daemons that is started beside the launcher's, with those keys among the app's infos. */
#define LITE_DAEMONS        "lite.dbg.apps"

#endif

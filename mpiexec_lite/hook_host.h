/* hook_host.h - set-up providers for a resource manager that is not ours: the process behind
 * PMIx_server_setup_application and its kin in libpmix_ext, `mpiexec_lite --host-providers`.
 *
 * The library is part of a foreign program, so that what starts and watches providers is a
 * process of its own, one for each step of a job; it has what the launcher's servers have
 * (hooks.h), the same folders and the same trust.  Its stdin and stdout are one stream
 * socket to the library (lib_helper.c), with lines of JSON.  First:
 *
 *     {"for": "setup-application" | "setup-local", "job": NAME, "host": HOSTNAME,
 *      "nodes": "a,b", "ranks": "0-1;2", "infos": [directives | what was said of the job]}
 *
 * which is answered by one of
 *
 *     {"ready": [what was said of the job]}        {"failed": true}, and why on stderr
 *
 * and then, of setup-local, once it is ready:
 *
 *     {"fork": RANK, "env": BASE64}   ->  {"env": BASE64} | {"error": TEXT}
 *     {"finished": RANK}              (no answer; the first of a rank counts)
 *
 * where env is an environment, each variable with a NUL behind it.  The stream's end, also
 * by the death of its program, is the end of the job here: child-finished of each rank that
 * is left, local-finished; then the process ends. */
#ifndef MPIEXEC_LITE_HOOK_HOST_H
#define MPIEXEC_LITE_HOOK_HOST_H

/* Returns the exit status. */
int hook_host_run(void);

#endif

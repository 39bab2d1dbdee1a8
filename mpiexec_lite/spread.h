/* spread.h - decisions about starting servers on other hosts: what to run for one,
 * and whether to try again.  Pure; thread-safe. */
#ifndef MPIEXEC_LITE_SPREAD_H
#define MPIEXEC_LITE_SPREAD_H

#include "mpiexec_lite/plan.h"
#include "wire/buf.h"

/* What pmi2_proxy says first: this, protocol number, version, host name. */
#define PROXY_MARKER   "\001PMI2-PROXY "
enum { PROXY_PROTOCOL = 1 };
/* And what the launcher answers before its first frame: what comes earlier is not for
 * the proxy. */
#define LAUNCHER_MARKER "\001MPIEXEC-LITE"

/* How the program is named on the other host. */
enum proxy_where {
    PROXY_BESIDE,            /* -proxy, or the launcher's own directory */
    PROXY_IN_PATH,
    PROXY_STAGED             /* sent over the stream first */
};

/* How proxies call back; for the launchers tcp and manual. */
struct spread_call {
    const char *addresses, *job;     /* as in dial.h */
    int         position;            /* of the first, where one program starts several */
    const char *nodes;               /* which those are, in order of their positions, as
                                        ranges.h has it; NULL: there is one */
    int         n;                   /* and how many */
};

/* The words that start the proxy on a host with this launcher.  call: NULL where it does
 * not call back.  path: pmi2_proxy as
 * the launcher's own directory has it; staging: the shell words of PROXY_STAGED.  out
 * is the caller's to clear.  0, or -1 and e. */
int spread_command(const struct launch_options *o, const struct host *h,
                   enum proxy_where where, const char *path, const char *staging,
                   const struct spread_call *call, struct strlist *out, struct err *e);

/* The same for --check, which needs a stream, and has one with slurm as well. */
int spread_check(const struct launch_options *o, const struct host *h, enum proxy_where where,
                 const char *path, struct strlist *out, struct err *e);

/* The words that run this command, as a shell has it, in a terminal on a host, with the launcher
 * ssh.  0, or -1: no memory. */
int spread_terminal(const struct launch_options *o, const struct host *h, const char *command,
                    struct strlist *out);

/* A word as sh, csh and fish all understand it.  -1: it has a line break. */
int spread_quote(const char *word, struct buf *out);

/* Shell words that take size bytes from stdin, check them against the SHA-256 (in
 * hexadecimal), and execute them as pmi2_proxy. */
void spread_staging(size_t size, const char *sha256, struct buf *out);

/* Whether what ssh said is worth another attempt: an overloaded sshd, not a refusal. */
bool   spread_is_reset(const char *words);
/* Whether the program was not found there: by exit status and words. */
bool   spread_not_found(int status, const char *words);
/* How long to wait before the next attempt, seconds; random: any number. */
double spread_pause(int tries, unsigned random);
/* Whether after so many attempts the longer pause of HYDRA_LAUNCHER_SSH_LIMIT is due. */
bool   spread_is_limit(const struct launch_options *o, int tries);

#endif

/* env.h - the environment of a rank.
 *
 * Two parts: what all ranks of a block share, built once (env_build), and a few
 * strings a rank, written into the caller's memory without malloc
 * (env_rank_vars), so that 512 ranks cost 512 times a few hundred bytes:
 *
 *     envp = malloc((common.n + ENV_RANK_MAX) * sizeof *envp);
 *     memcpy(envp, common.v, common.n * sizeof *envp);
 *     for each rank: env_rank_vars(&rank, text, sizeof text, envp + common.n, e)
 *
 * Three classes of variables (../ mpiexec_lite.1, ENVIRONMENT): the launcher's
 * own, always there; the user's, from -env, -genv and -x; and the inherited
 * ones, to which alone -envall, -envnone and -envlist apply.  What an outer
 * launcher left behind (PMI_FD and the like) is never inherited.  No I/O. */
#ifndef MPIEXEC_LITE_ENV_H
#define MPIEXEC_LITE_ENV_H

#include "mpiexec_lite/plan.h"

enum {
    ENV_RANK_MAX = 10,       /* most variables of one rank, and the NULL after them */
    ENV_RANK_TEXT = 1024     /* bytes that are enough for them */
};

/* Add to out what ranks of block app have in common.  inherited: the launcher's
 * environ.  0, or -1 and ERR_NOMEM; out is the caller's to clear either way. */
int env_build(const struct plan *p, size_t app, char *const *inherited,
              struct strlist *out, struct err *e);

/* What is the same for all ranks of a block on a node as long as the job lives, so that
 * nobody needs to ask the server for it: PMI_UNIVERSE_SIZE, PMI_APPNUM,
 * PMI_PROCESS_MAPPING and PMI_LOCAL_RANKS.  (ParaStation sets the first two as well.)
 * What is not known, or is longer than ENV_CONSTANT_MAX, is left out. */
struct env_constants {
    int         universe;    /* -1: not known */
    size_t      appnum;
    const char *mapping;
    const int  *local;       /* the ranks on this node, in rising order */
    int         nlocal;
};
enum { ENV_CONSTANT_MAX = 4096 };
/* Add them to out.  0, or -1 and ERR_NOMEM. */
int env_add_constants(const struct env_constants *c, struct strlist *out, struct err *e);

/* True for a variable that the launcher sets itself, which the user cannot. */
bool env_is_ours(const char *name, size_t len);

/* The length of the name in "NAME=VALUE", or of a bare "NAME". */
size_t env_name_len(const char *entry);

/* The value of name in envp, borrowed from it, or NULL. */
const char *env_get(char *const *envp, const char *name);

struct rank_env {
    int         fd;          /* PMI_FD as the rank will see it; unused if port is set */
    const char *port;        /* "127.0.0.1:PORT" with -pmi-port, or NULL */
    int         rank, size;
    int         local_rank, local_size;
    const char *jobid;
    bool        spawned;     /* by a rank, not from the command line */
    const char *hostname;    /* NULL: leave PMI_HOSTNAME out */
};

/* Write the variables of one rank into text and their addresses, NULL last, to
 * vars[0..ENV_RANK_MAX-1].  How many there are, or -1 and ERR_LENGTH if size is
 * too small.  Calls nothing but snprintf: may be used between fork and exec. */
int env_rank_vars(const struct rank_env *r, char *text, size_t size, char **vars,
                  struct err *e);

#endif

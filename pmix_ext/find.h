/* find.h - which server a tool is to call: what it was told, and what runs here.
 *
 * The first of these that is given decides (PMIx 4.2; pmix_ext/PROTOCOL.md, "Rendezvous"):
 *
 *   1  a URI: unix:PATH, file:PATH (an entry), ssh:HOST or ssh:HOST:PID, or
 *      munge:HOST:PORT or munge:HOST:PORT:PID: a pmi2_server that listens there
 *   2  a file to attach to: an entry, wherever it lies
 *   3  the system's server, alone; or it first, and if there is none what follows
 *   4  a pid; on another host, if one is named, by ssh
 *   5  the name of the server: the id of its job
 *   6  what was inherited: PMIX_SERVER_URI of the environment, or PMI_FD, if this process is
 *      a rank
 *   7  the system's server, then the session's (RFC0010; shipped libraries look for the
 *      session's alone; order says otherwise)
 *
 * The session's are the user's launchers here; where one job's servers are more than one on
 * a host they count once, and the user's own pmi2_server counts if there is no launcher.  If
 * several are left it is not guessed: PMIX_ERR_RESOURCE_BUSY, with the candidates.
 *
 * find_connect may wait for as long as a login elsewhere takes (FIND_PATIENCE seconds at most);
 * the rest does not wait, unless it was told to try again.  Thread-safe. */
#ifndef PMIX_EXT_FIND_H
#define PMIX_EXT_FIND_H

#include "pmix_ext/pmix_ext_common.h"
#include "pmix_ext/pmix_ext_values.h"
#include "pmix_ext/rendezvous.h"

#define FIND_ANY_ORDER "system,session"

enum { FIND_PATIENCE = 30 };

/* What pmi2_proxy --tool says first, a line: this, and nothing, or why it cannot; and what it
 * is answered before the stream begins. */
#define FIND_MARKER "\001PMI2-TOOL "
#define FIND_ANSWER "\001PMIX-TOOL"

struct find_wants {                  /* zeroed: nothing was said; strings are borrowed */
    const char *uri;                 /* PMIX_SERVER_URI, PMIX_TCP_URI */
    const char *file;                /* PMIX_TOOL_ATTACHMENT_FILE */
    const char *nspace;              /* PMIX_SERVER_NSPACE */
    const char *host;                /* PMIX_SERVER_HOSTNAME */
    pid_t       pid;                 /* PMIX_SERVER_PIDINFO */
    const char *session_folder;      /* PMIX_SERVER_TMPDIR, PMIX_SYSTEM_TMPDIR: where entries */
    const char *system_folder;       /* are; NULL: as their variables say, or the usual ones */
    bool        to_system, system_first;
    const char *order;               /* of 7: one of these words, or both with a comma */
    unsigned    tries;               /* PMIX_CONNECT_MAX_RETRIES, after the first */
    unsigned    pause;               /* PMIX_CONNECT_RETRY_DELAY: seconds between them */
};

enum found_how {
    FOUND_SOCKET,                    /* at.socket */
    FOUND_FAR,                       /* on host, by ssh; pid 0: whichever is found there */
    FOUND_RANK,                      /* this process is a rank: fd is its PMI connection */
    FOUND_MUNGE                      /* by the pmi2_server at host, "HOST:PORT"; pid as above */
};

struct found {
    enum found_how    how;
    struct rendezvous at;
    char              host[256];
    pid_t             pid;
    int               fd;
    bool              told;          /* by the user, or by the system's server: rundir_connect_told */
    struct rendezvous *candidates;   /* owned: of PMIX_ERR_RESOURCE_BUSY, in order of age */
    int               n;
};

/* What attributes say.  Those that are not about this are passed over.  PMIX_SUCCESS, or
 * PMIX_ERR_BAD_PARAM and e, which names the one that makes no sense. */
pmix_status_t find_read(const pmix_info_t *infos, size_t n, struct find_wants *w,
                        struct err *e);
/* Whether it is an attribute of these. */
bool          find_knows(const char *key);
/* Whether something of it says which server is meant. */
bool          find_is_told(const struct find_wants *w);

/* PMIX_SUCCESS; or e and PMIX_ERR_UNREACH: there is none; PMIX_ERR_RESOURCE_BUSY: more than
 * one, f has them; PMIX_ERR_BAD_PARAM: it makes no sense.  f: to be cleared in any case. */
pmix_status_t find_server(const struct find_wants *w, struct found *f, struct err *e);
void          find_clear(struct found *f);
/* A descriptor of its own to speak PMI-2 over (of a rank: fd itself), which may block or
 * not; or -1 and e. */
int           find_connect(const struct found *f, struct err *e);

/* All servers of this host that this user can find: the system's, then the session's.
 * *list is malloc'ed.  Their number, or -1 and e. */
int           find_all(struct rendezvous **list, struct err *e);

/* start.c: what this program has beside itself of that name, or the name, for PATH. */
void          find_program(const char *name, char *path, size_t size);
/* Start a program that is nobody's to wait for, in a session of its own: in, out and
 * errors are its standard descriptors.  Its pid, or -1 and e; that it cannot be run shows by its end. */
pid_t         find_start(char *const argv[], int in, int out, int errors, struct err *e);
/* Where no launcher runs: start one (mpiexec_lite), as this user, for these programs, and wait
 * until it takes tools; f is then as find_server has it, f->at.nspace the job's name.  Its
 * output goes to our own stdout and stderr, or, where infos say that PMIX_FWD_STDOUT or
 * PMIX_FWD_STDERR is false, nowhere; its input is empty.  PMIX_SUCCESS; or e and
 * PMIX_ERR_BAD_PARAM, PMIX_ERR_NOT_SUPPORTED: an info that is required and means nothing
 * here; PMIX_ERR_JOB_FAILED_TO_LAUNCH: it has ended before it could be called (a job of less
 * than 50 ms as well: what it printed says more).  With a URI it is only started, calls us, and
 * waits: which ranks are held is then left to directives. */
struct find_program {
    char         own[RUNDIR_PATH + 8];   /* our URI */
    bool         uri;                    /* it is to have that, or (on return) has one */
    pid_t        pid;                    /* on return */
    struct found f;                      /* on return, unless it has a URI: where it is called */
};
pmix_status_t find_start_launcher(const pmix_info_t *infos, size_t ninfo, const pmix_app_t *apps,
                                  size_t napps, struct find_program *p, struct err *e);

/* The same of the caller's own program, which is a launcher: one process, with the environment
 * that apps and infos say. */
pmix_status_t find_start_program(const pmix_info_t *infos, size_t ninfo, const pmix_app_t *apps,
                                 size_t napps, struct find_program *p, struct err *e);

/* find_far.c: a stream to a server on another host, FOUND_FAR or FOUND_MUNGE.  -1 and e. */
int           find_far(const struct found *f, struct err *e);

#endif

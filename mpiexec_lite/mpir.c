/* mpir.c - see mpir.h
 *
 * Names, types and order of members are the interface's.  What a tool writes is volatile;
 * everything is marked as used and visible, so that neither the optimizer nor strip takes it
 * away (the program is linked with a list of these names). */
#include "mpiexec_lite/mpir.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SEEN __attribute__((used, visibility("default")))

typedef struct {
    char *host_name;
    char *executable_name;
    int   pid;
} MPIR_PROCDESC;

enum { MPIR_NULL, MPIR_DEBUG_SPAWNED, MPIR_DEBUG_ABORTING };

extern MPIR_PROCDESC *MPIR_proctable;
extern int MPIR_proctable_size;
extern volatile int MPIR_being_debugged, MPIR_debug_state;
extern volatile char MPIR_executable_path[256], MPIR_server_arguments[1024];
extern char MPIR_attach_fifo[256];
extern char *MPIR_debug_abort_string, *totalview_jobid;
extern const int MPIR_i_am_starter, MPIR_partial_attach_ok, MPIR_acquired_pre_main,
                 MPIR_ignore_queues, mpiexec_lite_is_starter;
void MPIR_Breakpoint(void);

SEEN MPIR_PROCDESC *MPIR_proctable;
SEEN int            MPIR_proctable_size;
SEEN volatile int   MPIR_being_debugged;
SEEN volatile int   MPIR_debug_state = MPIR_NULL;
SEEN char          *MPIR_debug_abort_string;
SEEN char          *totalview_jobid;
/* A program for every node, and its arguments: each ends with NUL, and an empty one ends them. */
SEEN volatile char  MPIR_executable_path[256], MPIR_server_arguments[1024];
SEEN char           MPIR_attach_fifo[256];
/* Only that they are there counts: we are no rank; ranks nobody attaches to go on with us;
 * ranks are held before their main; message queues are the MPI library's matter. */
SEEN const int      MPIR_i_am_starter = 1, MPIR_partial_attach_ok = 1,
                    MPIR_acquired_pre_main = 1, MPIR_ignore_queues = 1;
/* By this a tool knows this launcher from others. */
SEEN const int      mpiexec_lite_is_starter = 1;

SEEN __attribute__((noinline))
#ifndef __clang__
__attribute__((noclone))
#endif
void MPIR_Breakpoint(void)
{
    __asm__ volatile("" ::: "memory");
}

bool mpir_being_debugged(void)
{
    return MPIR_being_debugged;
}

int mpir_begin(int size)
{
    MPIR_proctable_size = 0;
    free(MPIR_proctable);
    MPIR_proctable = calloc((size_t)size, sizeof *MPIR_proctable);
    return MPIR_proctable ? 0 : -1;
}

/* Ranks of one host and program share the texts, as neighbours in the table. */
static char *shared(char *before, const char *text)
{
    return before && !strcmp(before, text) ? before : strdup(text);
}

int mpir_add(int rank, const char *host, const char *program, pid_t pid)
{
    MPIR_PROCDESC *x = &MPIR_proctable[rank];
    const MPIR_PROCDESC *before = rank ? x - 1 : NULL;

    x->host_name = shared(before ? before->host_name : NULL, host);
    x->executable_name = shared(before ? before->executable_name : NULL, program);
    x->pid = (int)pid;
    return x->host_name && x->executable_name ? 0 : -1;
}

/* What the tool writes may lack its end. */
int mpir_daemons(struct spawn_request *want)
{
    char path[sizeof MPIR_executable_path + 1] = "", args[sizeof MPIR_server_arguments + 1] = "";
    struct spawn_command *c;

    for (size_t i = 0; i < sizeof MPIR_executable_path; i++)
        path[i] = MPIR_executable_path[i];
    for (size_t i = 0; i < sizeof MPIR_server_arguments; i++)
        args[i] = MPIR_server_arguments[i];
    if (!*path)
        return 0;
    c = spawn_add_command(want);
    if (!c || !(c->program = strdup(path)))
        return -1;
    c->procs = 1;
    for (const char *at = args; *at; at += strlen(at) + 1)
        if (spawn_add_arg(c, at) < 0)
            return -1;
    return 1;
}

int mpir_attach_fifo(void)
{
    int fd[2];

    if (pipe2(fd, O_CLOEXEC | O_NONBLOCK) < 0)
        return -1;
    snprintf(MPIR_attach_fifo, sizeof MPIR_attach_fifo, "/proc/%d/fd/%d", (int)getpid(), fd[1]);
    return fd[0];
}

static void stop_at(int state)
{
    MPIR_debug_state = state;
    if (MPIR_being_debugged)
        MPIR_Breakpoint();
}

void mpir_spawned(int size, const char *jobid)
{
    free(totalview_jobid);
    totalview_jobid = strdup(jobid);
    MPIR_proctable_size = size;
    stop_at(MPIR_DEBUG_SPAWNED);
}

void mpir_aborting(const char *text)
{
    free(MPIR_debug_abort_string);
    MPIR_debug_abort_string = strdup(text);
    stop_at(MPIR_DEBUG_ABORTING);
}

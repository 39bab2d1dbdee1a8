/* launchers.h - the ways to start a program on another host, one row each.  No I/O. */
#ifndef MPIEXEC_LITE_LAUNCHERS_H
#define MPIEXEC_LITE_LAUNCHERS_H

#include "mpiexec_lite/plan.h"
#include "wire/buf.h"

struct launcher_way {
    const char *name;            /* as -launcher has it */
    const char *program;         /* unless -launcher-exec names one; NULL: there is none */
    const char *words[10];       /* behind the program; NULL last */
    const char *idle;            /* a line with these words on its stderr says nothing; or NULL */
    bool        together;        /* one program for all hosts */
    bool        calls_back;      /* its proxies do, and munge says who they are; else they
                                    talk over the program's stdin and stdout */
    const char *drops[13];       /* variables with these beginnings are of the manager's own
                                    doing, and not inherited; "NAME=": that one.  NULL last */
};

const struct launcher_way *launcher_way(enum launcher l);
/* By name, in any case: 0; -1: unknown. */
int  launcher_find(const char *name, enum launcher *to);
/* The program that it runs: -launcher-exec, or its own. */
const char *launcher_program(const struct launch_options *o);
/* "ssh, fork ...", for messages. */
void launcher_names(struct buf *out);

#endif

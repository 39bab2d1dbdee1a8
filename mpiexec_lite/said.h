/* said.h - who has said what: each setting of a command line with its source, for --explain.
 *
 * The option reader fills it where it is asked to (opts_parse_noting); a plain run keeps
 * none.  No I/O. */
#ifndef MPIEXEC_LITE_SAID_H
#define MPIEXEC_LITE_SAID_H

#include "wire/buf.h"

#include <stdbool.h>

enum { SAID_OF_JOB = -1 };

struct setting {
    const char *key;         /* name of the option that stands for it, "hosts"; borrowed from
                                the tables, or NULL: a variable without an option */
    const char *option;      /* "f", the one that was given; the same */
    const char *written;     /* "hostfile", its name as it was written, or that of another option
                                which stands for it; NULL: option */
    char *variable;          /* owned: of the ranks' environment, which it sets; else NULL */
    char *value;             /* owned: as typed, NULL: a switch */
    char *source;            /* owned: "command line", "FILE:LINE" or "variable NAME" */
    int   app;               /* number of the block, or SAID_OF_JOB */
    bool  in_file;           /* the command line beats it where both may stand */
};

struct said {
    struct setting *v;       /* owned; in the order of reading */
    size_t n, cap;
};

/* Copies what is owned.  0, or -1: no memory. */
int  said_add(struct said *s, const struct setting *x);
void said_clear(struct said *s);
/* The last one of a key for this block, else for the job; NULL: nobody said it. */
const struct setting *said_of(const struct said *s, const char *key, int app);
/* The one that counts for a variable of a block's ranks. */
const struct setting *said_of_variable(const struct said *s, const char *name, size_t len,
                                       int app);
/* "-hosts, command line" or "default". */
void said_print(const struct setting *x, struct buf *out);

#endif

/* spawn.h - what a client asks for when it starts further processes.
 *
 * One request has commands (program, arguments, number of processes, info) and
 * pairs that the new job's key-value space begins with.  PMI-1 spells a command as
 * a block of lines and sends a block for each (wire/FORMAT), PMI-2 all of it as one
 * message with repeated keys (PMI v2 API draft, PMI2_Job_Spawn).
 *
 * Programs, arguments and info are bytes; pairs are what a put would take.  No I/O,
 * not thread-safe. */
#ifndef PMI2_SPAWN_H
#define PMI2_SPAWN_H

#include "wire/msg.h"

struct spawn_pair { char *key, *value; };        /* owned */
struct spawn_pairs { struct spawn_pair *v; size_t n, cap; };

struct spawn_command {
    char  *program;              /* owned, as is what follows */
    char **args;                 /* without the program; NULL at their end */
    size_t nargs, args_cap;
    int    procs;
    struct spawn_pairs info;
};

struct spawn_request {
    struct spawn_command *commands;      /* owned */
    size_t n, cap;
    struct spawn_pairs preput;
};

/* Add the commands of a message (PMI-2), or the one of a block (PMI-1) and, if it is
 * the first, its preput.  Counts are checked against what is there.  0, or -1 and e;
 * r is to be cleared either way. */
int  spawn_read(struct spawn_request *r, const struct msg *m, struct err *e);
int  spawn_read_block(struct spawn_request *r, const struct msg *m, struct err *e);
/* Append the request as a PMI-2 frame, which spawn_read's message is parsed from.
 * 0, or -1 and e: it is too long, or no memory. */
int  spawn_write(const struct spawn_request *r, struct buf *out, struct err *e);
/* The way back, from such a frame.  0, or -1 and e; r is to be cleared either way. */
int  spawn_parse(struct spawn_request *r, const char *frame, size_t len, struct err *e);
void spawn_clear(struct spawn_request *r);

/* Piece by piece, copied.  NULL, or -1: no memory. */
struct spawn_command *spawn_add_command(struct spawn_request *r);
int  spawn_add_arg(struct spawn_command *c, const char *text);
int  spawn_add_info(struct spawn_command *c, const char *key, const char *value);

/* Processes of all commands together. */
long long spawn_size(const struct spawn_request *r);
/* The value of an info key of a command, or NULL; the last one counts. */
const char *spawn_info(const struct spawn_command *c, const char *key);

#endif

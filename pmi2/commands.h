/* commands.h - what a command is: one row of a table.
 *
 * A row names the command on each wire, says in which state of a connection it
 * may come, which arguments it takes under which names, what its reply is called
 * and holds, and which function serves it.  Framing, decoding, argument checks,
 * reply order and error replies are done once, from the row.  A handler never
 * asks which wire it serves.
 *
 * To add a command: write its args and fields, its handler, and a row (pmi2/ in
 * commands.c, pmix_ext/ in its own table, added with server_add_commands). */
#ifndef PMI2_COMMANDS_H
#define PMI2_COMMANDS_H

#include "pmi2/server.h"
#include "wire/msg.h"

struct request;

/* States of a connection, and sets of them. */
enum conn_state {
    CONN_NEW,                /* nothing agreed; the opening line is to come */
    CONN_GREETED,            /* PMI-2: init answered, fullinit to come */
    CONN_READY,
    CONN_FINAL,              /* finalize answered; served on until EOF */
    CONN_FAILED              /* broken; nothing is served */
};
#define IN(state)  (1u << (state))
#define IN_SERVICE (IN(CONN_READY) | IN(CONN_FINAL))
#define IN_ANY     (IN(CONN_NEW) | IN(CONN_GREETED) | IN_SERVICE)

enum arg_type {
    ARG_TEXT,                /* UTF-8 */
    ARG_BYTES,               /* text of any encoding: shown escaped, never stored */
    ARG_INT,                 /* decimal, within min..max */
    ARG_BOOL                 /* TRUE/FALSE and the like; absent: false */
};

/* Bytes of a name and of a value in a row, their ends included.  A row holds them and does
 * not point to them: a table with addresses in it is written at each start of a program. */
enum { ROW_NAME = 16, ROW_VALUE = 8 };

struct arg {
    char          name[WIRES][ROW_NAME];     /* "": not on that wire */
    char          also[WIRES][ROW_NAME];     /* another name that clients use, or "" */
    enum arg_type type;
    unsigned      required;      /* OR of ON(wire) */
    long long     min, max;      /* ARG_INT: range; ARG_TEXT: max bytes (0: the frame) */
    enum err_code too_long;      /* code for a text over max */
};
#define ON(wire) (1u << (wire))
#define ON_BOTH  (ON(WIRE_1) | ON(WIRE_2))
#define NO_ARGS  NULL

/* A reply's own fields, written in this order after the common ones. */
struct field {
    char name[WIRES][2][ROW_NAME];   /* up to two names that carry the same value */
    char always[ROW_VALUE];      /* sent with this value if the handler set none; or "" */
    char failed[ROW_VALUE];      /* instead of that where the command fails; or "" */
};

enum { ARGS_MAX = 8, FIELDS_MAX = 9 };

enum outcome {
    REPLY,                   /* success, fields set */
    NOT_FOUND,               /* no such key or name: rc as the row says, found=FALSE */
    FAILED,                  /* e is filled */
    PARKED,                  /* answered later with request_finish */
    SILENT                   /* no answer, or the handler has written it itself */
};

typedef enum outcome command_fn(struct request *rq, struct err *e);

/* Companions of a reply that go by the command, not by the handler. */
enum {
    HAS_FOUND    = 1,        /* PMI-2: found=TRUE/FALSE */
    HAS_INFO     = 2,        /* PMI-1: info=ok/fail */
    MISS_IS_FAIL = 4,        /* PMI-2: a miss has rc=1 (name-lookup), else rc=0 */
    NO_REPLY     = 8,        /* errors are not answered either (abort); arguments that
                                cannot be understood count as absent */
    NO_MEMBER    = 16,       /* also from a peer that has not said which rank it is */
    FROM_TOOL    = 32        /* also from a tool, and ranks of other nodes at the root */
};

struct command {
    const char         *name[WIRES];     /* NULL: not on that wire */
    const char         *reply[WIRES];
    unsigned            when;            /* OR of IN(state) */
    unsigned            flags;
    const struct arg   *args;            /* ends with an arg without names; or NULL */
    const struct field *fields;          /* likewise */
    command_fn         *run;
};

extern const struct command pmi_commands[];
extern const size_t pmi_command_count;

/* The rows of a server, in order of addition; for capability replies and tests. */
size_t                server_command_count(const struct server *s);
const struct command *server_command(const struct server *s, size_t i);

#endif

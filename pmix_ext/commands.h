/* commands.h - the table of extended commands (names begin with "pmix-"). */
#ifndef PMIX_EXT_COMMANDS_H
#define PMIX_EXT_COMMANDS_H

#include "pmi2/commands.h"

/* What pmix-capabilities says: it grows with a change of the commands that a caller of before
 * would get wrong (PROTOCOL.md). */
enum { EXT_VERSION = 1 };

extern const struct command ext_commands[];
extern const size_t ext_command_count;

#endif

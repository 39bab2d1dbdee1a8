/* commands.h - the table of extended commands (names begin with "pmix-"). */
#ifndef PMIX_EXT_COMMANDS_H
#define PMIX_EXT_COMMANDS_H

#include "pmi2/commands.h"

extern const struct command ext_commands[];
extern const size_t ext_command_count;

#endif

/* commands.h - the table of extended commands (names begin with "pmix-").
 *
 * This version has none; the table is where they go, and the launcher adds it to
 * its server with server_add_commands. */
#ifndef PMIX_EXT_COMMANDS_H
#define PMIX_EXT_COMMANDS_H

#include "pmi2/commands.h"

/* Add the extended commands to a server.  0, or -1 and e. */
int ext_add_commands(struct server *s, struct err *e);

#endif

/* commands.c - the rows of the extended commands; see commands.h. */
#include "pmix_ext/commands.h"

/* An array of at least one element is what C can declare; the count is what is
 * added. */
static const struct command ext_commands[1];
static const size_t ext_command_count = 0;

int ext_add_commands(struct server *s, struct err *e)
{
    return server_add_commands(s, ext_commands, ext_command_count, e);
}

/* root_meet.c - the tool that has started the launcher, and how the two meet (RFC0023, indirect
 * launch), as variables of the environment say that it sets:
 *
 *     PMIX_LAUNCHER_RNDZ_FILE        the launcher's entry goes into this file as well
 *     PMIX_LAUNCHER_RNDZ_URI         the tool listens there: the launcher calls it, and waits
 *     PMIX_LAUNCHER_PAUSE_FOR_TOOL   the launcher waits to be called (root_pause.c)
 *     TOOL_START_PID                 with that, of -tool: it waits while this process lives
 *
 * Who calls makes the connection and nothing else: the tool asks, and the launcher answers, as
 * on all others.  The variables are for this process alone, and go no further. */
#include "mpiexec_lite/root_impl.h"

#include "mpiexec_lite/tool_start.h"
#include "mpiexec_lite/tools.h"
#include "pmix_ext/pmix_ext_keys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *said(const char *name)
{
    const char *value = getenv(name);

    return value && *value ? value : NULL;
}

static int keep(char **to, const char *name, struct err *e)
{
    const char *value = said(name);

    if (value && !(*to = strdup(value)))
        return err_set(e, ERR_NOMEM, "no memory");
    unsetenv(name);
    return 0;
}

int root_meet_init(struct root *r, struct err *e)
{
    const char *pause = said(PMIX_LAUNCHER_PAUSE_FOR_TOOL);
    struct meeting *m = &r->meeting;

    if (r->plan->no_tools)
        return 0;
    /* A debugger that knows MPIR stops us by that. */
    m->pause = pause && strcmp(pause, "0") && !r->plan->debugged;
    unsetenv(PMIX_LAUNCHER_PAUSE_FOR_TOOL);
    if (m->pause && said(TOOL_START_PID))
        m->starter = (pid_t)strtol(said(TOOL_START_PID), NULL, 10);
    unsetenv(TOOL_START_PID);
    return keep(&m->file, PMIX_LAUNCHER_RNDZ_FILE, e) < 0 ||
           keep(&m->uri, PMIX_LAUNCHER_RNDZ_URI, e) < 0 ? -1 : 0;
}

bool root_meet_waits(const struct root *r)
{
    return r->meeting.pause || r->meeting.uri;
}

static int leave_file(struct root *r, struct err *e)
{
    struct meeting *m = &r->meeting;

    if (!m->file)
        return 0;
    if (rendezvous_give(tools_entry(r->tools), m->file, e) < 0)
        return err_context(e, PMIX_LAUNCHER_RNDZ_FILE);
    m->left = true;
    return 0;
}

static int call(struct root *r, struct err *e)
{
    const char *uri = r->meeting.uri;

    if (!uri)
        return 0;
    if (strncmp(uri, "unix:", 5))
        return err_set(e, ERR_INVALID_VAL, PMIX_LAUNCHER_RNDZ_URI ": want unix:PATH, not "
                       "'%.120s'", uri);
    return tools_call(r->tools, uri + 5, e) < 0 ? err_context(e, PMIX_LAUNCHER_RNDZ_URI) : 0;
}

int root_meet(struct root *r, struct err *e)
{
    if (!root_meet_waits(r) && !r->meeting.file)
        return 0;
    if (root_tools_open_now(r, e) < 0)
        return err_context(e, "no tool can connect");
    return leave_file(r, e) < 0 || call(r, e) < 0 ? -1 : 0;
}

void root_meet_clear(struct root *r)
{
    struct meeting *m = &r->meeting;

    if (m->left)
        rendezvous_take_back(m->file, tools_entry(r->tools)->pid);
    free(m->file);
    free(m->uri);
    *m = (struct meeting){ .pause = false };
}

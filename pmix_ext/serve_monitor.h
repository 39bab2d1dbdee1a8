/* serve_monitor.h - monitors of a session. */
#ifndef PMIX_EXT_SERVE_MONITOR_H
#define PMIX_EXT_SERVE_MONITOR_H

#include "pmix_ext/serve.h"

enum {
    EXT_MONITORS = 16,                   /* of one connection */
    EXT_FILES = 64                       /* that all of them look at: each look is a process */
};

/* It has given a sign of life. */
void monitors_beat(struct session *s);
/* It ends. */
void monitors_forget(struct session *s);

#endif

/* serve_event.h - events on their way to connections. */
#ifndef PMIX_EXT_SERVE_EVENT_H
#define PMIX_EXT_SERVE_EVENT_H

#include "pmix_ext/serve.h"

enum {
    /* Bytes that may wait on a connection, whatever they are, when an event is added to
     * them; beyond that events are dropped and counted.  Enough for a thousand small ones,
     * and less than makes the core stop reading the connection (LIMIT_QUEUED). */
    EVENTS_QUEUED = 256 << 10,

    /* Events kept for those who register later, and bytes of their infos; the oldest go. */
    EVENTS_KEPT = 512, EVENTS_KEPT_BYTES = 512 << 10
};

/* Send an event to all whom it reaches and who want it, and keep it if it is to be kept;
 * it is taken. */
void events_raise(struct ext *x, struct event *ev);
/* Send what was kept to a new registration. */
void events_replay(struct session *s, struct registration *r);
/* There is room: tell how many were dropped. */
void events_go_on(struct session *s);
/* The session ends; the layer ends. */
void events_forget(struct session *s);
void events_clear(struct ext *x);
/* The registration with that id, or NULL. */
struct registration *session_registration(const struct session *s, size_t id);
void registration_drop(struct session *s, struct registration *r);

/* For ext.c: what is known of failed jobs (event_system.c). */
void failures_clear(struct ext *x);

/* serve_debug.c: a rank says something; true: that it waits for a debugger as it should, which
 * is for the launcher alone.  And what the launcher has to do as an event is raised: let go
 * those that are held and are to be released. */
bool debug_waits(const struct session *s, pmix_status_t status);
void debug_release(const struct session *s, const struct event *ev);
/* The same event of a tool lets a launcher go on that waits for it, as its infos say: *went, and it
 * is for nobody else.  The status, and e. */
pmix_status_t debug_go(const struct session *s, pmix_status_t code, const struct infos *infos,
                       bool *went, struct err *e);

/* The launcher itself as the source of an event. */
void events_server(struct ext *x, pmix_proc_t *out);

#endif

/* event.h - what an event is, who has asked for which, and whether the two meet.  Nothing
 * here keeps or sends anything.  (PMIx standard, "Event notification".) */
#ifndef PMIX_EXT_EVENT_H
#define PMIX_EXT_EVENT_H

#include "pmix_ext/infos.h"
#include "wire/limits.h"

#include <sys/queue.h>

enum {
    /* Bytes of an event's infos as JSON: with every ';' doubled they still fit a frame, with
     * the ids of all that have asked for it. */
    EVENT_TEXT = 98304,

    /* What one connection may ask for, and codes that it may name in one request. */
    EVENT_REGISTRATIONS = 256, EVENT_CODES = 1024,

    /* Where a whole job is, and the launcher: on no node in particular. */
    EVENT_NOWHERE = -2
};

struct procs {                           /* owned */
    pmix_proc_t *v;
    size_t       n;
};

struct event {
    TAILQ_ENTRY(event) in_kept;
    pmix_status_t status;
    pmix_proc_t   source;                /* who has raised it; of the launcher's: whom it is
                                            about */
    int           at;                    /* the node of that, or EVENT_NOWHERE */
    pmix_data_range_t range;
    struct procs  targets;               /* PMIX_RANGE_CUSTOM */
    struct procs  affected;
    bool          launcher;              /* raised by the launcher itself */
    char          spawner[LIMIT_JOBID];  /* of the launcher's: the job that has started the
                                            source's; "": none */
    bool          non_default, keep;     /* not for default handlers; for those to come */
    char         *text;                  /* owned: infos as JSON */
    size_t        len;
};
TAILQ_HEAD(events, event);

/* An event of these infos, which it copies; source, its place and status are to be filled in.
 * NULL, *why and e. */
struct event *event_new(const struct infos *infos, pmix_data_range_t range, pmix_status_t *why,
                        struct err *e);
void          event_free(struct event *ev);

struct registration {
    TAILQ_ENTRY(registration) in_session;
    size_t         id;
    pmix_status_t *codes;                /* owned */
    size_t         ncodes;               /* 0: a default handler */
    struct procs   affected;             /* it wants only what is about one of these; none: all */
    pmix_data_range_t range;             /* and only what is from there */
    struct procs   sources;              /* PMIX_RANGE_CUSTOM */
    bool           oneshot;
    bool           missed;               /* an event for it was dropped */
};
TAILQ_HEAD(registrations, registration);

/* What a process asks for by codes and these infos; it copies.  NULL, *why and e. */
struct registration *registration_new(const pmix_status_t *codes, size_t ncodes,
                                      const struct infos *infos, pmix_status_t *why,
                                      struct err *e);
void                 registration_free(struct registration *r);

struct place {                           /* a process, and where it is */
    const char *nspace;
    uint32_t    rank;
    int         at;                      /* node; -1: the launcher's host, without ranks */
};

/* Whether a wanted process is this one; it may be "", and a rank that stands for several.
 * from: whose words these are, for local_node and local_peers. */
bool proc_is(const pmix_proc_t *wanted, const struct place *p, const struct place *from);

/* Whether an event is for a process, as far as its range goes. */
bool event_reaches(const struct event *ev, const struct place *to);
/* Whether a registration of that process wants it. */
bool event_wanted(const struct event *ev, const struct registration *r, const struct place *who);

#endif

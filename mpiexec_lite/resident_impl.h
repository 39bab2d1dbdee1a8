/* resident_impl.h - what the resident server's source files share: resident.c (its socket,
 * its clients, the loop), resident_far.c (clients of other hosts), resident_serve.c
 * (requests and their replies), resident_list.c (long ones), resident_meet.c (launchers that
 * are introduced to each other), resident_tools.c (tools) and resident_guest.c (tools of other
 * hosts). */
#ifndef MPIEXEC_LITE_RESIDENT_IMPL_H
#define MPIEXEC_LITE_RESIDENT_IMPL_H

#include "mpiexec_lite/dialog.h"
#include "mpiexec_lite/resident.h"
#include "mpiexec_lite/resident_store.h"

#include <sys/queue.h>

struct client {
    struct resident *all;
    struct dialog    dialog;
    uid_t            uid;
    char             from[32];   /* "pid 4711" or "10.0.0.1", for lines */
    int              descriptors;        /* that it costs */
    int              waits;      /* lookups of it that wait */
    size_t           pending;    /* bytes of replies to it that wait for the commit */
    TAILQ_ENTRY(client) in_all;
};
TAILQ_HEAD(clients, client);

enum { FAR_DESCRIPTORS = 3 };    /* a connection, and both ends of a stream that is sealed */

/* It is on another host. */
static inline bool resident_is_far(const struct client *c)
{
    return c->descriptors == FAR_DESCRIPTORS;
}

struct ticket {                  /* a lookup that waits */
    struct client *client;
    long long      id;
    LIST_ENTRY(ticket) in_all;
};
LIST_HEAD(tickets, ticket);

struct meeting {                 /* of two launchers: see resident_meet.c */
    struct client *asks, *asked; /* asked NULL: not yet */
    char           job[80];
    int            turns;        /* in vain */
    long long      id, number;   /* of the question; of the meeting */
    char           secret[33], answer[33];
    TAILQ_ENTRY(meeting) in_all;
};
TAILQ_HEAD(meetings, meeting);

struct reply {                   /* until the commit */
    struct client *client;
    char           cmd[20];
    long long      id;
    struct buf     frame;        /* owned */
    TAILQ_ENTRY(reply) in_all;
};
TAILQ_HEAD(replies, reply);

struct resident {
    struct resident_args args;
    struct ev_loop  *loop;       /* owned, as is what follows */
    struct registry *registry;
    struct store    *store;
    int              lock, fd;   /* -1: not open */
    bool             listens;    /* the socket is ours to remove */
    struct clients   clients;
    struct tickets   tickets;
    struct replies   replies;
    struct meetings  meetings;
    LIST_HEAD(, guest) guests;   /* owned: resident_guest.c */
    long long        meeting;    /* number of the last one */
    struct gate     *gate;       /* or NULL */
    bool             tried;      /* munge; why it does not work, or "" */
    struct err       munge;
    int              used, most, most_of_user;       /* descriptors of clients */
    struct msg       out;        /* the reply that is being built, and its name */
    char             name[40];
    struct resident_tools *tools;        /* or NULL */
    ev_io            readable;
    ev_timer         again, tick;
    ev_prepare       prepare;
    ev_signal        signals[3];
    double           due;
    bool             broken;
};

/* resident_meet.c: requests, as resident_serve.c has them; that client is gone. */
int  resident_introduce(struct client *c, const struct msg *m, long long id, struct err *e);
int  resident_introduced(struct client *c, const struct msg *m, long long id, struct err *e);
void resident_part(struct client *c);
/* The turn ends.  True: another one is needed at once. */
bool resident_meet(struct resident *r);

/* Take a client, or close the connection.  descriptors: that it costs. */
void resident_enter(struct resident *r, int fd, uid_t uid, const char *from, int descriptors);
/* A line on stderr. */
void resident_say(const char *fmt, ...) PRINTF(1, 2);

/* resident_far.c: open the port, if one is wanted.  0, or -1 and e. */
int  resident_far_open(struct resident *r, struct err *e);

/* resident_tools.c: take calls of tools.  0, or -1 and e. */
int  resident_tools_open(struct resident *r, struct err *e);
void resident_tools_close(struct resident *r);

/* resident_guest.c: a client that is a tool (request tool).  -1 always, and e for the log: the
 * connection ends here; if a process has taken it over, it goes on there. */
int  resident_tool(struct client *c, const struct msg *m, struct err *e);
/* Those that are served for this user; (uid_t)-1: for all. */
int  resident_guests(const struct resident *r, uid_t uid);
void resident_guests_close(struct resident *r);

/* resident_list.c: add a page of a list to c->all->out.  To be freed when that has been
 * formatted; NULL: no memory. */
struct rows;
struct rows *resident_rows(struct client *c, bool names, long long after);

/* resident_serve.c */
extern const struct registry_ops resident_ops;
/* A message of a client (dialog_ops). */
int  resident_message(void *host, struct dialog *d, const struct msg *m, struct err *e);
/* The turn has been stored: send its replies.  It could not be: all of them are errors,
 * whatever they said. */
void resident_send(struct resident *r);
void resident_spoil(struct resident *r, const struct err *e);
/* The client is gone: what waits for it is forgotten. */
void resident_forget(struct client *c);

#endif

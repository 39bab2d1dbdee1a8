/* remote_impl.h - what the source files of remote.h share: remotes.c (all of them),
 * remote.c (one, its stream and its end) and remote_start.c (what starts it). */
#ifndef MPIEXEC_LITE_REMOTE_IMPL_H
#define MPIEXEC_LITE_REMOTE_IMPL_H

#include "mpiexec_lite/remote.h"

/* remotes.c */
void remotes_start_more(struct remotes *rs);     /* as many as may be */
/* Show what hosts have printed, unless more may come. */
void remotes_show_noise(struct remotes *rs);

/* remote.c */
extern const struct link_ops remote_link_ops;
void remote_failed(struct remote *r, const char *why);
/* Both its stream and its process are over, or there was time enough for that. */
void remote_over(struct remote *r);

/* remote_start.c */
int  remote_start(struct remote *r, struct err *e);
int  remote_link(struct remote *r, int in, int out, struct err *e);
/* Read what it says on stderr: false when there is no more now. */
bool remote_read_words(struct remote *r);
/* The last line that says something, without the line break. */
const char *remote_last_words(struct remote *r);
/* Show whole lines; at the end of the stream all. */
void remote_show_words(struct remote *r, bool all);
void remote_close_words(struct remote *r);

#endif

/* share_impl.h - what share.c (puts, and data that goes up), share_down.c (data that comes
 * down) and share_record.c (data as bytes) share. */
#ifndef PMI2_SHARE_IMPL_H
#define PMI2_SHARE_IMPL_H

#include "pmi2/core.h"

enum { NOBODY = -2 };            /* no node, not even the -1 of share_node_of */

/* Put into j->kvs; src: a rank, or what away (share_down.c) makes of it.  0, or -1 and e. */
int  share_store(struct job *j, int src, const char *key, const char *value, size_t len,
                 bool fixed, struct err *e);
int  share_node_of(const struct job *j, int rank);       /* -1: it is not in the map */

/* Append a record that says that a key is to be dropped.  putter: whose put was refused;
 * -1: nobody's. */
void share_add_drop(struct buf *out, int putter, const char *key);
/* Can this be of the job?  0, or -1 and e. */
int  share_check(const struct job *j, const struct share_record *r, struct err *e);
/* The last record of j->late about a key.  False: there is none. */
bool share_search(const struct job *j, const char *key, struct share_record *found);

#endif

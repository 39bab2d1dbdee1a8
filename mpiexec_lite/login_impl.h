/* login_impl.h - what the login's source files share: login.c (its course), login_payload.c
 * (what a credential says), login_line.c (how it is sent). */
#ifndef MPIEXEC_LITE_LOGIN_IMPL_H
#define MPIEXEC_LITE_LOGIN_IMPL_H

#include "mpiexec_lite/login.h"

/* The first line up to the version, the tag of a payload, and what a client calls the
 * server.  By enum login_purpose. */
struct login_words { const char *hello, *tag, *server, *program; };
extern const struct login_words login_purposes[];

/* All: 0, or -1 and l->e. */

/* login_payload.c.  l->ask = our payload; the peer's must say what it must, and be of
 * somebody whom we trust. */
int login_make_payload(struct login *l);
int login_check_payload(struct login *l, const void *payload, size_t len);
int login_check_uid(struct login *l, uid_t uid);

/* login_line.c.  Length of the line at the front of in, newline included; 0: not complete;
 * -1: it never can be right. */
long login_line_length(struct login *l, const struct buf *in, bool hello);
void login_write_hello(struct login *l, struct buf *out);
/* end: the newline. */
int  login_read_hello(struct login *l, const char *line, const char *end);
int  login_read_credential(struct login *l, const char *line, const char *end);
/* Only what may be in a credential comes to munge. */
bool login_is_credential(const char *text, size_t len);

#endif

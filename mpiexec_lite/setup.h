/* setup.h - what set-up providers have said of a job (RFC0012): an array of infos.
 *
 *     PMIX_SET_ENVAR, _ADD_, _PREPEND_, _APPEND_, _FIRST_    a variable of every rank
 *     PMIX_UNSET_ENVAR                                       one that no rank has
 *     any other key                                          job-level information
 *
 * It travels in the job's bundle as one text: a checksum and JSON (PROTOCOL.md, "Values"),
 * which nobody looks into on the way.  The streams are sealed already, by ssh or by ours
 * (sealed.h), or never leave the kernel; the checksum is against our own mistakes.
 *
 * Values may be secrets: no function here puts one into an error, and setup_redact takes
 * them out of traces.  Pure; not thread-safe. */
#ifndef MPIEXEC_LITE_SETUP_H
#define MPIEXEC_LITE_SETUP_H

#include "mpiexec_lite/plan.h"
#include "pmix_ext/infos.h"
#include "wire/buf.h"

enum {
    SETUP_MAX = 256 << 10,       /* bytes of the text; it is sent to every node */
    SETUP_SECRET = 4             /* values of fewer bytes are not taken out of traces: they
                                    cannot be secrets, and would tear holes */
};

struct setup {                   /* zeroed: nothing was said */
    struct infos   infos;        /* owned */
    struct strlist secrets;      /* owned: values as a wire may have them */
};
void setup_clear(struct setup *s);       /* wipes; s is empty again */

/* Add what a provider has said: a JSON array of infos.  What an earlier one has set is
 * replaced, with a line in warnings.  only_env: other keys are wrong.  0, or -1 and e, which
 * names no value. */
int  setup_add(struct setup *s, const char *provider, const char *json, size_t len,
               bool only_env, struct strlist *warnings, struct err *e);

/* As it travels: out->failed: no memory; -1 and e: too much was said. */
int  setup_write(const struct setup *s, struct buf *out, struct err *e);
/* Wipe and free such a text; NULL is fine. */
void setup_free_text(char *text);
/* And back; s was empty.  text NULL: nothing. */
int  setup_read(struct setup *s, const char *text, struct err *e);

/* Carry out what it says of variables, in the order of spawn_env.h.  own: settings of the
 * user's (NAME=VALUE), which win; may be NULL. */
int  setup_change_env(const struct setup *s, const struct strlist *const own[], size_t nown,
                      struct strlist *env, struct err *e);
bool setup_is_env(const pmix_info_t *info);

/* Job-level information as text, for PMI: strings as they are, numbers in decimal, all else
 * as JSON.  0, or -1: no memory. */
int  setup_text(const pmix_value_t *v, struct buf *out);

/* Append data with every value of s blotted out.  Those who call it twice, for two setups,
 * do so with the result of the first. */
void setup_redact(const struct setup *s, const char *data, size_t len, struct buf *out);

#endif

/* munge_helper.h - the process that calls libmunge for munger, and what they say to
 * each other.
 *
 * Over a socket pair: a head of fixed size with the lengths of what follows it, in the
 * machine's own form, as both are the same program.  One answer to each question, in
 * the order they were asked. */
#ifndef MPIEXEC_LITE_MUNGE_HELPER_H
#define MPIEXEC_LITE_MUNGE_HELPER_H

#include "mpiexec_lite/munger.h"

struct munge_question {
    uint32_t decode;                     /* else encode */
    uint32_t len;                        /* bytes that follow, up to MUNGER_CREDENTIAL */
    uint32_t reader;                     /* encode: the uid that may decode it */
};

struct munge_answer {                    /* the fields of struct munge_result */
    int32_t  code;
    uint32_t uid;
    int64_t  encoded, decoded;
    uint32_t text, data;                 /* bytes that follow: first the one, then the other */
};

enum {
    MUNGE_TEXT = 400,                    /* room for an answer's text, its NUL included */
    MUNGE_ANSWER = sizeof(struct munge_answer) + MUNGE_TEXT + MUNGER_CREDENTIAL
};

/* Called in the forked child: answer what comes from fd until it is closed, and end.
 * parent: who forked it, and at whose end it ends.  socket, library: as in munger_new. */
_Noreturn void munge_helper_run(int fd, const char *socket, const char *library,
                                pid_t parent);

#endif

/* serve_iof.h - what pulling output (serve_iof.c), labels of its lines (serve_iof_label.c) and
 * sending it (serve_iof_send.c) share. */
#ifndef PMIX_EXT_SERVE_IOF_H
#define PMIX_EXT_SERVE_IOF_H

#include "pmix_ext/serve.h"

struct piece;

struct pull {
    TAILQ_ENTRY(pull) in_ext;
    struct session *session;
    unsigned        id;
    char            nspace[LIMIT_JOBID];
    pmix_rank_t    *ranks;               /* owned: whose output, each once; or a wildcard alone */
    size_t          nranks;
    unsigned        channels;            /* PMIX_FWD_ bits */
    TAILQ_HEAD(, piece) pieces;          /* owned */
    size_t          held, most, missed;  /* bytes; missed: since the last one that was not */
    bool            drops, drop_newest;  /* nobody is to wait */
    bool            stalled;             /* or nobody does any more, until it has read all */
    struct { bool tag, rank, time; } shows;      /* before each line */
    unsigned char  *in_line;             /* owned: a bit for each stream, if it shows any; or NULL */
    size_t          nstreams;            /* two of each rank of the job */
    struct after    patience;
    struct survey  *begun;               /* until all servers know; or NULL */
    struct request *asks;                /* who waits for that */
};

/* Whether the pull names this rank; asked for a wildcard, whether it names all. */
bool pull_has_rank(const struct pull *p, pmix_rank_t rank);
/* Ready to label lines, of a job of this size, if labels are asked for; false: no memory. */
bool pull_labels(struct pull *p, int size);
/* Add these bytes of a stream to out, each line of them with its label. */
void pull_label(struct pull *p, uint32_t rank, bool errors, const char *data, size_t len,
                struct buf *out);
/* Free what is put aside. */
void pieces_drop(struct pull *p);

#endif

/* calltree.h - stacks of many ranks as one tree: what they have in common from main on is
 * said once, with the ranks that are there.  Pure.
 *
 * A stack is text: a frame a line, the outermost first; an empty line, and another thread's. */
#ifndef PMIX_EXT_CALLTREE_H
#define PMIX_EXT_CALLTREE_H

#include "wire/buf.h"

#include <stdbool.h>

struct call {                    /* a frame, or what they all come from */
    char         *name;          /* owned, as is what follows; of the root "" */
    unsigned char *ranks;        /* bit by rank: who is here */
    int           count;         /* of them */
    struct call **below;
    size_t        n;
};

struct calltree {
    struct call root;
    int  size;                   /* ranks of the job */
    bool lines;                  /* frames of one function are told apart by their line */
    bool failed;                 /* there was no memory: it is not complete */
};

/* 0, or -1: no memory.  To be cleared either way. */
int  calltree_init(struct calltree *t, int size, bool lines);
void calltree_clear(struct calltree *t);
/* The stacks of a rank (one that is none of the job's is left out). */
void calltree_add(struct calltree *t, int rank, const char *text, size_t len);
/* Those that most ranks are in come first; before it is printed. */
void calltree_sort(struct calltree *t);
/* "0-2,4-7" */
void calltree_ranks(const struct calltree *t, const unsigned char *ranks, struct buf *out);
/* Lines of text, two blanks a level. */
void calltree_text(const struct calltree *t, struct buf *out);
/* A graph in the language of graphviz. */
void calltree_dot(const struct calltree *t, const char *title, struct buf *out);

#endif

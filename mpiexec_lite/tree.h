/* tree.h - which server starts which.
 *
 * Servers have positions: 0 is the root, 1, 2, ... the other nodes in order of the
 * list.  With width W the children of position p are p*W+1 to p*W+W; a width of 0
 * is flat: all are the root's.  Hosts that come later, for a job that a rank starts, have
 * the positions from n on: they are the root's, too.  Pure; thread-safe. */
#ifndef MPIEXEC_LITE_TREE_H
#define MPIEXEC_LITE_TREE_H

#include "mpiexec_lite/place.h"

struct tree { int width, n; };   /* n: positions of the tree, the root included */

/* The children of p are *first .. *first + n - 1; how many: n. */
int tree_children(const struct tree *t, int p, int *first);
/* The position above p; -1 for the root. */
int tree_parent(const struct tree *t, int p);
/* The child of p towards q, which is below p; -1 if it is not. */
int tree_next(const struct tree *t, int p, int q);

/* Positions of nodes: the root has all local ones. */
int tree_positions(const struct plan *p);            /* how many, the root included */
/* The node of a position from 1 on. */
int tree_node(const struct plan *p, int position);
/* The position of a node. */
int tree_position(const struct plan *p, int node);

/* The width for a plan: 0 up to flat_hosts other nodes, where the job is to survive the
 * loss of a node, and where proxies call back. */
int tree_width(const struct plan *p);

#endif

/* nearest.h - which of several names did a person mean?
 *
 * Names are offered one by one; the best so far is kept.  The measure is the
 * number of letters to insert, drop, replace or swap with their neighbour.  No
 * allocation, no failure. */
#ifndef WIRE_NEAREST_H
#define WIRE_NEAREST_H

#include <stddef.h>

struct nearest {
    const char *word;        /* borrowed: what was typed */
    const char *best;        /* borrowed: NULL as long as no name is near enough */
    size_t      distance;    /* of best; a name must be nearer than this */
};

/* A name is near enough when at most a third of the letters of word differ. */
void nearest_start(struct nearest *n, const char *word);
void nearest_try(struct nearest *n, const char *name);

/* Letters that differ, case ignored.  Words over 63 letters are infinitely far. */
size_t nearest_distance(const char *a, const char *b);

#endif

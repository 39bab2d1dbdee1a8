/* value_growing.h - an array that grows by one element at a time.
 *
 * For value_decode.c: elements are all zero at first, and what is complete is malloc's. */
#ifndef PMIX_EXT_VALUE_GROWING_H
#define PMIX_EXT_VALUE_GROWING_H

#include <stddef.h>

/* n elements of `size` bytes.  It may begin with an array that there is, of which it then
 * disposes. */
struct growing { char *at; size_t n, room, size; };

/* One more element, or NULL: no memory. */
void *grow(struct growing *g);
/* The array, having given back what was not needed. */
void *grown(const struct growing *g);

#endif

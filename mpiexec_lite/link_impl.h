/* link_impl.h - what link.c (reading, time, beginning and end) and link_write.c share. */
#ifndef MPIEXEC_LITE_LINK_IMPL_H
#define MPIEXEC_LITE_LINK_IMPL_H

#include "mpiexec_lite/link.h"

/* link_write.c */
extern const char *const link_class_names[LINK_CLASSES];
void link_write_init(struct link *l);
void link_drop_pieces(struct link *l);           /* all that has not gone */
void link_beat(struct link *l);

#endif

/* machine.h - what kind of machine a host is, for isHeterogeneous.  No I/O. */
#ifndef MPIEXEC_LITE_MACHINE_H
#define MPIEXEC_LITE_MACHINE_H

#include "mpiexec_lite/plan.h"

enum { MACHINE_TEXT = 100 };             /* bytes, NUL included */

/* Write a text that is the same on machines whose programs see data alike: byte order,
 * bytes of long, of pointers and of long double, and the processor as uname has it. */
void machine_text(char out[MACHINE_TEXT]);
/* What uname calls the processor, within such a text. */
const char *machine_arch(const char *text);
/* The place of a text among the different ones that were met, where it is added if it is
 * new.  -1: no memory. */
int  machine_kind(struct strlist *met, const char *text);

#endif

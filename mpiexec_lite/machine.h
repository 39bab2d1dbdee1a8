/* machine.h - what kind of machine this is, for isHeterogeneous.  No I/O. */
#ifndef MPIEXEC_LITE_MACHINE_H
#define MPIEXEC_LITE_MACHINE_H

enum { MACHINE_TEXT = 100 };             /* bytes, NUL included */

/* Write a text that is the same on machines whose programs see data alike: byte order,
 * bytes of long, of pointers and of long double, and the processor as uname has it. */
void machine_text(char out[MACHINE_TEXT]);

#endif

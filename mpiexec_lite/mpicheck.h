/* mpicheck.h - is a program linked to an MPI library? */
#ifndef MPIEXEC_LITE_MPICHECK_H
#define MPIEXEC_LITE_MPICHECK_H

#include <stdbool.h>
#include <stddef.h>

/* True if the ELF file names an MPI library (libmpi*, libmpich*) among those it
 * needs; then name (size bytes) is that library's.  False for everything else,
 * unreadable files and scripts included. */
bool mpicheck_library(const char *program, char *name, size_t size);

#endif

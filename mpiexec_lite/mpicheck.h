/* mpicheck.h - is a program linked to an MPI library, or a Python that imports one? */
#ifndef MPIEXEC_LITE_MPICHECK_H
#define MPIEXEC_LITE_MPICHECK_H

#include <stdbool.h>
#include <stddef.h>

/* True if the ELF file names an MPI library (libmpi*, libmpich*) among those it
 * needs; then name (size bytes) is that library's.  False for everything else,
 * unreadable files and scripts included. */
bool mpicheck_library(const char *program, char *name, size_t size);

/* The words of a text - of a script, or arguments - are looked at as names of programs, as in
 * the directory dir (NULL: the current one) and with this PATH: the first that is linked to an
 * MPI library, in program, and that. */
bool mpicheck_named(const char *text, const char *dir, const char *path, char *program,
                    size_t program_size, char *name, size_t size);
/* The same of the words of a file that begins with "#!". */
bool mpicheck_script(const char *script, const char *dir, const char *path, char *program,
                     size_t program_size, char *name, size_t size);
/* Whether the words of a text, or of the file when text is NULL and it begins with "#!", have a
 * Python, and after it mpi4py, or a file in which that word is: where, then, is mpi4py or the file. */
bool mpicheck_python(const char *text, const char *file, const char *dir, char *where, size_t size);

#endif

/* libraries.h - are the shared libraries of a program there?
 *
 * It is the program's own dynamic loader (its PT_INTERP) that is asked, by --list, which
 * glibc's and musl's have: it resolves what the program needs, and executes nothing of it.
 * Its search is thus the one of a start, with LD_LIBRARY_PATH, runpaths and ld.so.cache. */
#ifndef MPIEXEC_LITE_LIBRARIES_H
#define MPIEXEC_LITE_LIBRARIES_H

#include "mpiexec_lite/plan.h"

/* The loader that an ELF file names, in size bytes: 1; 0: it needs none (static, or a
 * script, or it cannot be read); -1 and e: it names one that is not there. */
int libraries_loader(const char *program, char *loader, size_t size, struct err *e);

/* What a program lacks, in the words of its loader (glibc's ends at the first library that it
 * does not find), is added to missing.  envp: of the loader.  0, or -1 and e. */
int libraries_missing(const char *program, char *const *envp, struct strlist *missing,
                      struct err *e);

#endif

/* providers.h - which set-up providers there are, and whether one may be run.
 *
 * A provider is a file: an executable, or a shared object (NAME.so).  Its name, for people,
 * is the file's without folder and ".so".  mpiexec_lite-providers(7) is what its author
 * reads. */
#ifndef MPIEXEC_LITE_PROVIDERS_H
#define MPIEXEC_LITE_PROVIDERS_H

#include "mpiexec_lite/plan.h"

#define PROVIDERS_DIR SYSCONFDIR "/mpiexec_lite/providers.d"

enum { PROVIDERS_MAX = 32, PROVIDER_NAME = 64 };

/* Add to out the absolute paths of a folder's providers in order of their names; hidden
 * files, and those that end in '~', are none.  A folder that is not there has none, unless
 * it must be.  0, or -1 and e. */
int  providers_of_dir(const char *dir, bool must, struct strlist *out, struct err *e);

/* All that a command line asks for: those of the system's folder (PROVIDERS_DIR; none if
 * `none` is set), then of each folder of dirs, then files.  0, or -1 and e. */
int  providers_list(bool none, const struct strlist *dirs, const struct strlist *files,
                    struct strlist *out, struct err *e);

void provider_name(const char *path, char out[PROVIDER_NAME]);
bool provider_is_object(const char *path);

/* Nobody but root and we can have had a hand in this file: it and every folder on the way to
 * it, links followed and not, are theirs, and nobody else may write there (a sticky folder of
 * root's is fine).  0 and real (PATH_MAX bytes), what is to be run; or -1 and e.  Looks at the
 * file system. */
int  provider_check(const char *path, char *real, struct err *e);

#endif

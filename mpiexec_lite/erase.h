/* erase.h - removes files and folders whose paths a process of the job has named
 * (PMIX_REGISTER_CLEANUP), as the user that runs this, and no others than were meant:
 *
 * - a path is absolute, and none of its parts is a symbolic link, "." or "..": what it goes
 *   through is opened part by part, so nobody can turn it elsewhere meanwhile;
 * - a link at its end, or inside a folder, is removed itself, never what it points to;
 * - another file system that is mounted inside a folder is left alone.
 *
 * It may last: to be called by a process of its own. */
#ifndef MPIEXEC_LITE_ERASE_H
#define MPIEXEC_LITE_ERASE_H

#include <stdbool.h>

struct erase {                       /* borrowed; paths and names with commas between them */
    const char *files;               /* to be removed; what is a folder is not.  NULL: none */
    const char *folders;             /* with the files in them; NULL: none */
    const char *ignore;              /* names inside folders that stay; NULL: none */
    bool        recursive;           /* with the folders in them, too */
    bool        empty;               /* no files: only such folders as are empty */
    bool        leave_top;           /* the named folders themselves stay */
};

/* What cannot be removed stays. */
void erase(const struct erase *x);

#endif

/* main.c - replay files through a fuzz target, with any compiler; output is TAP.
 *
 *     run_frame FILE...          those files
 *     run_frame                  all files of test/corpus/frame
 *
 * A file that breaks a property ends the program: its name is the last one
 * written ("# file"). */
#include "test/fuzz/fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

static int replay(const char *path)
{
    FILE *f = fopen(path, "rb");
    uint8_t *data = NULL, *exact;
    size_t n = 0, cap = 0, got;

    if (!f)
        return -1;
    do {
        if (n == cap) {
            cap = cap ? cap * 2 : 4096;
            data = realloc(data, cap);
            if (!data)
                abort();
        }
        got = fread(data + n, 1, cap - n, f);
        n += got;
    } while (got);
    fclose(f);
    exact = malloc(n ? n : 1);               /* ASan: not a byte more */
    if (!exact)
        abort();
    memcpy(exact, data, n);
    free(data);
    LLVMFuzzerTestOneInput(exact, n);
    free(exact);
    return 0;
}

static int visible(const struct dirent *d)
{
    return d->d_name[0] != '.';
}

/* Files of test/corpus/X for the program .../run_X. */
static int find_corpus(const char *program, char ***paths)
{
    const char *name = strrchr(program, '/');
    struct dirent **found;
    char dir[256];
    int n;

    name = name ? name + 1 : program;
    snprintf(dir, sizeof dir, "test/corpus/%.100s", strncmp(name, "run_", 4) ? name : name + 4);
    n = scandir(dir, &found, visible, alphasort);
    if (n <= 0) {
        printf("1..0 # SKIP no files in %s\n", dir);
        return 0;
    }
    *paths = calloc((size_t)n, sizeof **paths);
    for (int i = 0; i < n; i++) {
        char path[600];

        snprintf(path, sizeof path, "%s/%s", dir, found[i]->d_name);
        if (*paths)
            (*paths)[i] = strdup(path);
        free(found[i]);
    }
    free(found);
    return *paths ? n : 0;
}

int main(int argc, char **argv)
{
    char **paths = argv + 1, **owned = NULL;
    int n = argc - 1, failed = 0;

    if (!n) {
        n = find_corpus(argv[0], &owned);
        paths = owned;
    }
    if (n)
        printf("1..%d\n", n);
    for (int i = 0; i < n; i++) {
        printf("# %s\n", paths[i]);
        fflush(stdout);
        if (replay(paths[i]) == 0) {
            printf("ok %d - %s\n", i + 1, paths[i]);
        } else {
            printf("not ok %d - %s: %s\n", i + 1, paths[i], strerror(errno));
            failed = 1;
        }
    }
    for (int i = 0; owned && i < n; i++)
        free(owned[i]);
    free(owned);
    return failed;
}

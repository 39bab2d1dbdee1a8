/* stage.c - see stage.h */
#include "mpiexec_lite/stage.h"

#include "mpiexec_lite/spread.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PROGRAM_MAX = 16 << 20 };

int stage_beside(char *path, size_t size)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    char *slash;
    int len;

    if (n <= 0)
        return -1;
    self[n] = '\0';
    slash = strrchr(self, '/');
    if (!slash)
        return -1;
    *slash = '\0';
    len = snprintf(path, size, "%s/pmi2_proxy", self);
    return len < 0 || (size_t)len >= size ? -1 : 0;
}

/* The file of pmi2_proxy: this very program where it is one, even if that was removed
 * after its start (it was staged itself). */
static int own_program(char *path, size_t size)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    const char *slash;

    self[n > 0 ? n : 0] = '\0';
    slash = strrchr(self, '/');
    if (!slash || strncmp(slash, "/pmi2_proxy", 11))
        return stage_beside(path, size);
    snprintf(path, size, "/proc/self/exe");
    return 0;
}

static int read_file(const char *path, struct buf *out, struct err *e)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : 1;

    while (n > 0 && out->len <= PROGRAM_MAX) {
        char *room = buf_room(out, 65536);

        n = room ? read(fd, room, 65536) : -1;
        if (n > 0)
            buf_commit(out, (size_t)n);
    }
    if (n > 0)
        err_set(e, ERR_OTHER, "-stage-proxy: %s has more than %d bytes", path, PROGRAM_MAX);
    else if (n < 0)
        err_set(e, ERR_OTHER, "-stage-proxy: %s: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    return n ? -1 : 0;
}

int stage_read(struct buf *program, struct buf *words, struct err *e)
{
    unsigned char sum[crypto_hash_sha256_BYTES];
    char path[PATH_MAX], hex[2 * sizeof sum + 1];

    if (own_program(path, sizeof path) < 0)
        return err_set(e, ERR_OTHER, "-stage-proxy: cannot find this program's own place");
    if (read_file(path, program, e) < 0)
        return -1;
    crypto_hash_sha256(sum, (unsigned char *)buf_bytes(program), program->len);
    sodium_bin2hex(hex, sizeof hex, sum, sizeof sum);
    spread_staging(program->len, hex, words);
    return words->failed ? err_set(e, ERR_NOMEM, "no memory") : 0;
}

/* mpicheck.c - see mpicheck.h; reading ELF is libelf's work. */
#include "mpiexec_lite/mpicheck.h"

#include "mpiexec_lite/child.h"

#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_mpi(const char *lib)
{
    return !strncmp(lib, "libmpi.so", 9) || !strncmp(lib, "libmpich", 8) ||
           !strncmp(lib, "libmpi_", 7);
}

/* Look through the needed libraries of one dynamic section. */
static bool look(Elf *elf, Elf_Scn *scn, const GElf_Shdr *head, char *name, size_t size)
{
    Elf_Data *data = elf_getdata(scn, NULL);
    size_t n = head->sh_entsize ? head->sh_size / head->sh_entsize : 0;
    GElf_Dyn dyn;

    for (size_t i = 0; data && i < n && gelf_getdyn(data, (int)i, &dyn); i++) {
        const char *lib = dyn.d_tag == DT_NEEDED ?
                          elf_strptr(elf, head->sh_link, dyn.d_un.d_val) : NULL;

        if (lib && is_mpi(lib)) {
            snprintf(name, size, "%s", lib);
            return true;
        }
    }
    return false;
}

bool mpicheck_library(const char *program, char *name, size_t size)
{
    int fd = open(program, O_RDONLY | O_CLOEXEC);
    Elf_Scn *scn = NULL;
    bool found = false;
    GElf_Shdr head;
    Elf *elf;

    if (fd < 0)
        return false;
    elf_version(EV_CURRENT);
    elf = elf_begin(fd, ELF_C_READ, NULL);
    while (elf && !found && (scn = elf_nextscn(elf, scn)))
        if (gelf_getshdr(scn, &head) && head.sh_type == SHT_DYNAMIC)
            found = look(elf, scn, &head, name, size);
    elf_end(elf);
    close(fd);
    return found;
}

/* --- wrappers ----------------------------------------------------------- */

enum { SCRIPT_MAX = 65536, WORDS_MAX = 400 };    /* that are looked at */

/* What a name of a file usually has. */
static bool is_of_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           strchr("_./+-~,@%", c);
}

static bool check_word(const char *word, const char *dir, const char *path, char *name, size_t size)
{
    char found[PATH_MAX];
    struct err e = { 0 };
    int status;

    return program_find(word, dir, NULL, path, found, sizeof found, &status, &e) == 0 &&
           mpicheck_library(found, name, size);
}

/* The next word of a text, *text then being behind it; its length, 0 at the end. */
static size_t next_word(const char **text, const char **word)
{
    size_t len = 0;

    while (**text && !is_of_name(**text))
        ++*text;
    *word = *text;
    while ((*text)[len] && is_of_name((*text)[len]))
        len++;
    *text += len;
    return len;
}

bool mpicheck_named(const char *text, const char *dir, const char *path, char *program,
                    size_t program_size, char *name, size_t size)
{
    const char *word;
    size_t len;

    for (int n = 0; n < WORDS_MAX && (len = next_word(&text, &word)); n++) {
        if (len >= program_size || *word == '-')
            continue;
        snprintf(program, program_size, "%.*s", (int)len, word);
        if (check_word(program, dir, path, name, size))
            return true;
    }
    return false;
}

/* Its beginning, terminated, if it is a regular file; the next call overwrites it. */
static const char *read_text(int at, const char *file)
{
    static char text[SCRIPT_MAX + 1];
    struct stat st;
    bool regular = fstatat(at, file, &st, 0) == 0 && S_ISREG(st.st_mode);
    int fd = regular ? openat(at, file, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    ssize_t n = fd < 0 ? -1 : read(fd, text, SCRIPT_MAX);

    if (fd >= 0)
        close(fd);
    if (n < 0)
        return NULL;
    text[n] = '\0';
    return text;
}

bool mpicheck_script(const char *script, const char *dir, const char *path, char *program,
                     size_t program_size, char *name, size_t size)
{
    const char *text = read_text(AT_FDCWD, script);

    return text && !strncmp(text, "#!", 2) &&
           mpicheck_named(text, dir, path, program, program_size, name, size);
}

/* --- Python ------------------------------------------------------------- */

/* mpi4py, or a part of it: mpi4py.futures. */
static bool is_mpi4py(const char *word, size_t len)
{
    return len >= 6 && !memcmp(word, "mpi4py", 6) && (len == 6 || word[6] == '.');
}

static bool is_python(const char *word, size_t len)
{
    const char *slash = memrchr(word, '/', len);
    size_t before = slash ? (size_t)(slash + 1 - word) : 0;

    return len - before >= 6 && !memcmp(word + before, "python", 6);
}

static bool file_has_mpi4py(int at, const char *word, size_t len)
{
    char file[PATH_MAX];
    const char *text, *in;
    size_t n;

    if (len >= sizeof file || *word == '-')
        return false;
    snprintf(file, sizeof file, "%.*s", (int)len, word);
    text = read_text(at, file);
    while (text && (n = next_word(&text, &in)))
        if (is_mpi4py(in, n))
            return true;
    return false;
}

/* at: the directory of relative files. */
static bool words_have_mpi4py(const char *text, int at, char *where, size_t size)
{
    bool python = false;
    const char *word;
    size_t len;

    for (int n = 0; n < WORDS_MAX && (len = next_word(&text, &word)); n++) {
        if (python && (is_mpi4py(word, len) || file_has_mpi4py(at, word, len))) {
            snprintf(where, size, "%.*s", (int)len, word);
            return true;
        }
        python = python || is_python(word, len);
    }
    return false;
}

bool mpicheck_python(const char *text, const char *file, const char *dir, char *where, size_t size)
{
    int at = dir ? open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC) : AT_FDCWD;
    char *script = NULL;
    bool found = false;

    if (!text) {
        const char *begin = read_text(AT_FDCWD, file);

        text = script = begin && !strncmp(begin, "#!", 2) ? strdup(begin) : NULL;
    }
    if (text)
        found = words_have_mpi4py(text, at, where, size);
    free(script);
    if (at >= 0)
        close(at);
    return found;
}

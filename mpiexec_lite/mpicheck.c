/* mpicheck.c - see mpicheck.h; reading ELF is libelf's work. */
#include "mpiexec_lite/mpicheck.h"

#include "mpiexec_lite/child.h"

#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
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

bool mpicheck_named(const char *text, const char *dir, const char *path, char *program,
                    size_t program_size, char *name, size_t size)
{
    for (int n = 0; *text && n < WORDS_MAX; n++) {
        size_t len = 0;

        while (*text && !is_of_name(*text))
            text++;
        while (text[len] && is_of_name(text[len]))
            len++;
        if (len && len < program_size && *text != '-') {
            snprintf(program, program_size, "%.*s", (int)len, text);
            if (check_word(program, dir, path, name, size))
                return true;
        }
        text += len;
    }
    return false;
}

bool mpicheck_script(const char *script, const char *dir, const char *path, char *program,
                     size_t program_size, char *name, size_t size)
{
    static char text[SCRIPT_MAX + 1];
    int fd = open(script, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd < 0 ? 0 : read(fd, text, SCRIPT_MAX);

    if (fd >= 0)
        close(fd);
    if (n < 2 || text[0] != '#' || text[1] != '!')
        return false;
    text[n] = '\0';
    return mpicheck_named(text, dir, path, program, program_size, name, size);
}

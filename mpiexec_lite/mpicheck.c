/* mpicheck.c - see mpicheck.h; reading ELF is libelf's work. */
#include "mpiexec_lite/mpicheck.h"

#include <fcntl.h>
#include <gelf.h>
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

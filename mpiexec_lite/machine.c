/* machine.c - see machine.h */
#include "mpiexec_lite/machine.h"

#include <endian.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

void machine_text(char out[MACHINE_TEXT])
{
    struct utsname u;

    snprintf(out, MACHINE_TEXT, "%s-%zu-%zu-%zu-%.60s",
             __BYTE_ORDER == __LITTLE_ENDIAN ? "little" : "big", sizeof(long), sizeof(void *),
             sizeof(long double), uname(&u) < 0 ? "?" : u.machine);
}

const char *machine_arch(const char *text)
{
    for (int i = 0; i < 4 && strchr(text, '-'); i++)
        text = strchr(text, '-') + 1;
    return text;
}

int machine_kind(struct strlist *met, const char *text)
{
    for (size_t i = 0; i < met->n; i++)
        if (!strcmp(met->v[i], text))
            return (int)i;
    return strlist_add(met, text) < 0 ? -1 : (int)met->n - 1;
}

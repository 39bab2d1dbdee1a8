/* mapspec.c - see mapspec.h */
#include "mpiexec_lite/mapspec.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define USER "user:"
#define PCI  "pci:"
#define COUNT(a) (sizeof (a) / sizeof *(a))

static const struct { const char *name; enum level level; } levels[] = {
    { "machine", LEVEL_MACHINE }, { "board", LEVEL_MACHINE },
    { "numa", LEVEL_NUMA },
    { "socket", LEVEL_SOCKET }, { "package", LEVEL_SOCKET },
    { "core", LEVEL_CORE },
    { "hwthread", LEVEL_HWTHREAD }, { "pu", LEVEL_HWTHREAD }, { "thread", LEVEL_HWTHREAD },
};

static const struct { const char *name; enum device_kind kind; } devices[] = {
    { "gpu", DEVICE_GPU }, { "ib", DEVICE_IB }, { "en", DEVICE_EN }, { "eth", DEVICE_EN },
    { "hfi", DEVICE_HFI }, { "hsn", DEVICE_HSN },
};

/* A name, of len bytes of a text. */
static bool is(const char *text, size_t len, const char *name)
{
    return strlen(name) == len && !strncasecmp(text, name, len);
}

/* l1cache, l3dcache, l2icache ... */
static bool read_cache(struct mapspec *s, const char *text, size_t len)
{
    const char *rest = text + 2;

    if (len < 7 || tolower((unsigned char)text[0]) != 'l' || text[1] < '1' || text[1] > '5')
        return false;
    if (!is(rest, len - 2, "cache")) {
        s->form = (char)tolower((unsigned char)*rest++);
        if (!strchr("diu", s->form) || !is(rest, len - 3, "cache"))
            return false;
    }
    s->kind = SPEC_OBJECT;
    s->level = LEVEL_CACHE;
    s->depth = text[1] - '0';
    return true;
}

static bool read_level(struct mapspec *s, const char *text, size_t len)
{
    for (size_t i = 0; i < COUNT(levels); i++)
        if (is(text, len, levels[i].name) ||
            (len && tolower((unsigned char)text[len - 1]) == 's' &&
             is(text, len - 1, levels[i].name))) {       /* srun has cores, sockets, ... */
            s->kind = SPEC_OBJECT;
            s->level = levels[i].level;
            return true;
        }
    return read_cache(s, text, len);
}

/* "gpu", "gpu1", "eth0", "enp3s0", "hfi1_0": behind the kind is what names one. */
static bool read_device(struct mapspec *s, const char *text, size_t len)
{
    for (size_t i = 0; i < COUNT(devices); i++) {
        size_t n = strlen(devices[i].name);

        if (len < n || strncasecmp(text, devices[i].name, n) || len >= sizeof s->name)
            continue;
        s->kind = SPEC_DEVICE;
        s->device = devices[i].kind;
        if (len > n)
            snprintf(s->name, sizeof s->name, "%.*s", (int)len, text);
        return true;
    }
    return false;
}

static bool read_pci(struct mapspec *s, const char *text)
{
    const char *id = text + strlen(PCI);

    if (strncasecmp(text, PCI, strlen(PCI)))
        return false;
    s->kind = SPEC_DEVICE;
    s->device = DEVICE_PCI;
    return snprintf(s->name, sizeof s->name, "%s", id) < (int)sizeof s->name && *id &&
           strspn(id, "0123456789abcdefABCDEF:.") == strlen(id);
}

static bool is_user_list(const char *list)
{
    struct cpus set;

    for (;; list++) {
        if (!cpus_take(&list, '+', &set))
            return false;
        if (*list != ',')
            return !*list;
    }
}

/* ":K" behind objects and devices; one that is named stands alone. */
static bool read_count(struct mapspec *s, const char *colon)
{
    char *end;
    long n;

    if (!*colon)
        return true;
    if (!isdigit((unsigned char)colon[1]) || *s->name)
        return false;
    n = strtol(colon + 1, &end, 10);
    s->count = (int)n;
    return !*end && n >= 1 && n <= CPUS_MAX;
}

static bool read_any(struct mapspec *s, const char *text)
{
    size_t len = strcspn(text, ":");

    if (!strcasecmp(text, "none"))
        return true;
    if (!strcasecmp(text, "rr")) {
        s->kind = SPEC_RR;
        return true;
    }
    if (!strncasecmp(text, USER, strlen(USER))) {
        s->kind = SPEC_USER;
        s->list = text + strlen(USER);
        return is_user_list(s->list);
    }
    if (read_pci(s, text))
        return true;
    return (read_level(s, text, len) || read_device(s, text, len)) && read_count(s, text + len);
}

int mapspec_read(struct mapspec *s, const char *text, struct err *e)
{
    *s = (struct mapspec){ .kind = SPEC_NONE, .count = 1 };
    if (!text || read_any(s, text))
        return 0;
    return err_set(e, ERR_INVALID_VAL, "'%.60s' is not none, rr, user:LIST, machine, numa, socket, "
                   "l1cache to l5cache, core, hwthread (each with :K), gpu, ib, en, hfi, hsn or "
                   "pci:ID", text);
}

bool mapspec_is_known(const char *text)
{
    struct mapspec s;

    return mapspec_read(&s, text, NULL) == 0;
}

bool mapspec_next_set(const char **list, struct cpus *out)
{
    if (!cpus_take(list, '+', out))
        return false;
    *list += **list == ',';
    return true;
}

/* --- what is meant ----------------------------------------------------- */

static bool is_cache(const struct mapspec *s, const struct topo_object *o)
{
    if (o->depth != s->depth)
        return false;
    if (!s->form)
        return o->form != 'i';
    return o->form == s->form || (o->form == 'u' && s->form != 'u');
}

bool mapspec_is_object(const struct mapspec *s, const struct topo_object *o)
{
    return o->level == s->level && (o->level != LEVEL_CACHE || is_cache(s, o));
}

/* A PCI address with or without its domain. */
static bool is_bus(const char *bus, const char *id)
{
    size_t all = strlen(bus), len = strlen(id);

    if (len == all)
        return !strcasecmp(bus, id);
    return all == len + 5 && !strcasecmp(bus + 5, id);
}

bool mapspec_is_device(const struct mapspec *s, const struct topo_device *d)
{
    if (d->kind != s->device)
        return false;
    return s->device != DEVICE_PCI || is_bus(d->bus, s->name);
}

/* --- memory ------------------------------------------------------------ */

int memspec_read(struct memspec *s, const char *text, struct err *e)
{
    static const struct { const char *name; enum memory_how how; } hows[] = {
        { "none", MEMORY_NONE }, { "firsttouch", MEMORY_LOCAL }, { "bind", MEMORY_BIND },
        { "interleave", MEMORY_INTERLEAVE },
    };
    size_t len = strcspn(text, ":");

    *s = (struct memspec){ .near = !text[len] };
    if (!strcasecmp(text, "nexttouch"))
        return err_set(e, ERR_INVALID_VAL, "Linux has no nexttouch");
    for (size_t i = 0; i < COUNT(hows); i++)
        if (is(text, len, hows[i].name)) {
            s->how = hows[i].how;
            if (s->near || (s->how >= MEMORY_BIND && cpus_read(text + len + 1, &s->nodes)))
                return 0;
        }
    return err_set(e, ERR_INVALID_VAL, "'%.60s' is not none, firsttouch, bind[:NODES] or "
                   "interleave[:NODES]", text);
}

/* stack_dw.c - frames of stopped threads and their names, by libdw of elfutils. */
#include "mpiexec_lite/stack_helper.h"

#include <dlfcn.h>
#include <elfutils/libdwfl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Frames of a thread, and bytes of one, that are kept; the innermost count. */
enum { FRAMES = 128, FRAME = 256, NAME = 180 };

struct functions {
    __typeof__(dwfl_begin)              *begin;
    __typeof__(dwfl_end)                *end;
    __typeof__(dwfl_errmsg)             *errmsg;
    __typeof__(dwfl_linux_proc_report)  *report;
    __typeof__(dwfl_report_end)         *report_end;
    __typeof__(dwfl_linux_proc_attach)  *attach;
    __typeof__(dwfl_linux_proc_find_elf) *find_elf;
    __typeof__(dwfl_standard_find_debuginfo) *find_debuginfo;
    __typeof__(dwfl_getthread_frames)   *frames;
    __typeof__(dwfl_frame_pc)           *frame_pc;
    __typeof__(dwfl_addrmodule)         *module;
    __typeof__(dwfl_module_info)        *module_info;
    __typeof__(dwfl_module_addrname)    *name;
    __typeof__(dwfl_module_getsrc)      *source;
    __typeof__(dwfl_lineinfo)           *line;
};

/* A place in a file, and what it is called: to read that in a program's debug information
 * takes much longer than all else, and ranks of a job are mostly at the same places. */
struct place {
    char      *file;             /* owned */
    Dwarf_Addr offset;
    char       text[FRAME];
};

struct stack_dw {
    struct functions f;
    struct place *places;        /* owned */
    size_t        n;
};

struct stack_dw *stack_dw_open(void)
{
    static const char *const names[] = {
        "dwfl_begin", "dwfl_end", "dwfl_errmsg", "dwfl_linux_proc_report", "dwfl_report_end",
        "dwfl_linux_proc_attach", "dwfl_linux_proc_find_elf", "dwfl_standard_find_debuginfo",
        "dwfl_getthread_frames", "dwfl_frame_pc", "dwfl_addrmodule", "dwfl_module_info",
        "dwfl_module_addrname", "dwfl_module_getsrc", "dwfl_lineinfo"
    };
    void *library = dlopen("libdw.so.1", RTLD_NOW);
    void *found[sizeof names / sizeof *names];

    struct stack_dw *dw;

    _Static_assert(sizeof found == sizeof dw->f, "a name for each function, in their order");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!library || !(found[i] = dlsym(library, names[i])))
            return NULL;
    dw = calloc(1, sizeof *dw);
    if (dw)
        memcpy(&dw->f, found, sizeof found);
    return dw;
}

struct walk {
    struct stack_dw *dw;
    Dwfl *dwfl;
    int   n;
    char  frames[FRAMES][FRAME];         /* the innermost first */
};

static const char *last_word(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;

    return slash ? slash + 1 : path ? path : "?";
}

/* "main at a.c:5", "main", or "a.out+0x1139" where there is no name. */
static void describe(const struct functions *f, Dwfl_Module *module, Dwarf_Addr pc,
                     const struct place *place, char *to)
{
    const char *name = f->name(module, pc), *source;
    int number = 0, length;
    Dwfl_Line *line;

    if (!name) {
        snprintf(to, FRAME, "%.200s+0x%" PRIx64, last_word(place->file), (uint64_t)place->offset);
        return;
    }
    length = (int)strcspn(name, "@");     /* without the version of a symbol */
    length = length < NAME ? length : NAME;
    line = f->source(module, pc);
    source = line ? f->line(line, NULL, &number, NULL, NULL, NULL) : NULL;
    if (source)
        snprintf(to, FRAME, "%.*s at %.60s:%d", length, name, last_word(source), number);
    else
        snprintf(to, FRAME, "%.*s", length, name);
}

static const struct place *known(const struct stack_dw *dw, const char *file, Dwarf_Addr offset)
{
    for (size_t i = 0; i < dw->n; i++)
        if (dw->places[i].offset == offset && !strcmp(dw->places[i].file, file))
            return &dw->places[i];
    return NULL;
}

/* NULL: no memory. */
static const struct place *learn(struct stack_dw *dw, Dwfl_Module *module, Dwarf_Addr pc,
                                 const char *file, Dwarf_Addr offset)
{
    struct place *places = reallocarray(dw->places, dw->n + 1, sizeof *places), *to;

    if (!places)
        return NULL;
    dw->places = places;
    to = &places[dw->n];
    *to = (struct place){ .file = strdup(file), .offset = offset };
    if (!to->file)
        return NULL;
    describe(&dw->f, module, pc, to, to->text);
    dw->n++;
    return to;
}

static void name_frame(struct walk *w, Dwarf_Addr pc, char *to)
{
    const struct functions *f = &w->dw->f;
    Dwfl_Module *module = f->module(w->dwfl, pc);
    const struct place *place;
    Dwarf_Addr start = 0;
    const char *file;

    file = module ? f->module_info(module, NULL, &start, NULL, NULL, NULL, NULL, NULL) : NULL;
    place = file ? known(w->dw, file, pc - start) : NULL;
    if (file && !place)
        place = learn(w->dw, module, pc, file, pc - start);
    if (place)
        memcpy(to, place->text, FRAME);
    else
        snprintf(to, FRAME, "0x%" PRIx64, (uint64_t)pc);
}

/* The call is before where it returns to. */
static int on_frame(Dwfl_Frame *frame, void *arg)
{
    struct walk *w = arg;
    Dwarf_Addr pc;
    bool here;

    if (w->n == FRAMES || !w->dw->f.frame_pc(frame, &pc, &here))
        return DWARF_CB_ABORT;
    name_frame(w, here ? pc : pc - 1, w->frames[w->n++]);
    return DWARF_CB_OK;
}

static int walk_all(struct walk *w, pid_t pid, const struct stopped *threads, size_t n,
                    struct buf *out, struct stack_why *why)
{
    const struct functions *f = &w->dw->f;
    size_t before = out->len;

    if (f->report(w->dwfl, pid) != 0 || f->report_end(w->dwfl, NULL, NULL) != 0 ||
        f->attach(w->dwfl, pid, true) != 0) {
        snprintf(why->text, sizeof why->text, "libdw: %.100s", f->errmsg(-1));
        return -1;
    }
    for (size_t i = 0; i < n; i++) {
        w->n = 0;
        f->frames(w->dwfl, threads[i].tid, on_frame, w);
        if (w->n && out->len > before)
            buf_char(out, '\n');
        while (w->n--)
            buf_printf(out, "%s\n", w->frames[w->n]);
    }
    if (out->len > before)
        return 0;
    snprintf(why->text, sizeof why->text, "libdw: no frames: %.100s", f->errmsg(-1));
    return -1;
}

int stack_dw_walk(struct stack_dw *dw, pid_t pid, const struct stopped *threads, size_t n,
                  struct buf *out, struct stack_why *why)
{
    char *debuginfo = NULL;
    Dwfl_Callbacks callbacks = { .find_elf = dw->f.find_elf, .find_debuginfo = dw->f.find_debuginfo,
                                 .debuginfo_path = &debuginfo };
    struct walk w = { .dw = dw, .dwfl = dw->f.begin(&callbacks) };
    int rc;

    if (!w.dwfl) {
        snprintf(why->text, sizeof why->text, "libdw: %.100s", dw->f.errmsg(-1));
        return -1;
    }
    rc = walk_all(&w, pid, threads, n, out, why);
    dw->f.end(w.dwfl);
    return rc;
}

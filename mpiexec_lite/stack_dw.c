/* stack_dw.c - frames of stopped threads and their names, by libdw of elfutils. */
#include "mpiexec_lite/stack_helper.h"

#include <dlfcn.h>
#include <elfutils/libdwfl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Frames of a thread, and bytes of one, that are kept; the innermost count. */
enum { FRAMES = 128, FRAME = 256 };

struct stack_dw {
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

const struct stack_dw *stack_dw_open(void)
{
    static struct stack_dw dw;           /* of a process that does nothing else */
    static const char *const names[] = {
        "dwfl_begin", "dwfl_end", "dwfl_errmsg", "dwfl_linux_proc_report", "dwfl_report_end",
        "dwfl_linux_proc_attach", "dwfl_linux_proc_find_elf", "dwfl_standard_find_debuginfo",
        "dwfl_getthread_frames", "dwfl_frame_pc", "dwfl_addrmodule", "dwfl_module_info",
        "dwfl_module_addrname", "dwfl_module_getsrc", "dwfl_lineinfo"
    };
    void *library = dlopen("libdw.so.1", RTLD_NOW);
    void *found[sizeof names / sizeof *names];

    _Static_assert(sizeof found == sizeof dw, "a name for each function, in their order");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!library || !(found[i] = dlsym(library, names[i])))
            return NULL;
    memcpy(&dw, found, sizeof dw);
    return &dw;
}

struct walk {
    const struct stack_dw *dw;
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
static void describe(const struct walk *w, Dwarf_Addr pc, char *to)
{
    const struct stack_dw *dw = w->dw;
    Dwfl_Module *module = dw->module(w->dwfl, pc);
    const char *name = module ? dw->name(module, pc) : NULL, *file;
    Dwarf_Addr start = 0;
    Dwfl_Line *line;
    int number = 0;

    if (!module) {
        snprintf(to, FRAME, "0x%" PRIx64, (uint64_t)pc);
        return;
    }
    file = dw->module_info(module, NULL, &start, NULL, NULL, NULL, NULL, NULL);
    if (!name) {
        snprintf(to, FRAME, "%s+0x%" PRIx64, last_word(file), (uint64_t)(pc - start));
        return;
    }
    line = dw->source(module, pc);
    file = line ? dw->line(line, NULL, &number, NULL, NULL, NULL) : NULL;
    if (file)
        snprintf(to, FRAME, "%.180s at %.60s:%d", name, last_word(file), number);
    else
        snprintf(to, FRAME, "%.250s", name);
}

/* The call is before where it returns to. */
static int on_frame(Dwfl_Frame *frame, void *arg)
{
    struct walk *w = arg;
    Dwarf_Addr pc;
    bool here;

    if (w->n == FRAMES || !w->dw->frame_pc(frame, &pc, &here))
        return DWARF_CB_ABORT;
    describe(w, here ? pc : pc - 1, w->frames[w->n++]);
    return DWARF_CB_OK;
}

static int walk_all(struct walk *w, pid_t pid, const struct stopped *threads, size_t n,
                    struct buf *out, struct stack_why *why)
{
    size_t before = out->len;

    if (w->dw->report(w->dwfl, pid) != 0 || w->dw->report_end(w->dwfl, NULL, NULL) != 0 ||
        w->dw->attach(w->dwfl, pid, true) != 0) {
        snprintf(why->text, sizeof why->text, "libdw: %.100s", w->dw->errmsg(-1));
        return -1;
    }
    for (size_t i = 0; i < n; i++) {
        w->n = 0;
        w->dw->frames(w->dwfl, threads[i].tid, on_frame, w);
        if (w->n && out->len > before)
            buf_char(out, '\n');
        while (w->n--)
            buf_printf(out, "%s\n", w->frames[w->n]);
    }
    if (out->len > before)
        return 0;
    snprintf(why->text, sizeof why->text, "libdw: no frames: %.100s", w->dw->errmsg(-1));
    return -1;
}

int stack_dw_walk(const struct stack_dw *dw, pid_t pid, const struct stopped *threads, size_t n,
                  struct buf *out, struct stack_why *why)
{
    char *debuginfo = NULL;
    Dwfl_Callbacks callbacks = { .find_elf = dw->find_elf, .find_debuginfo = dw->find_debuginfo,
                                 .debuginfo_path = &debuginfo };
    struct walk w = { .dw = dw, .dwfl = dw->begin(&callbacks) };
    int rc;

    if (!w.dwfl) {
        snprintf(why->text, sizeof why->text, "libdw: %.100s", dw->errmsg(-1));
        return -1;
    }
    rc = walk_all(&w, pid, threads, n, out, why);
    dw->end(w.dwfl);
    return rc;
}

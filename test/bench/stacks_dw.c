/* stacks_dw.c - the stacks of processes, one after the other, by libdw in one process and with the
 * names of functions: what test/bench/tools sets pmix_tool stack beside.
 *
 *   stacks_dw PID...
 *
 * One line a frame; fails where a process has none. */
#include <elfutils/libdwfl.h>

#include <stdio.h>
#include <stdlib.h>

static char *debug_path;                 /* libdw's own */

static int on_frame(Dwfl_Frame *frame, void *count)
{
    Dwarf_Addr pc;
    bool active;
    Dwfl *dwfl = dwfl_thread_dwfl(dwfl_frame_thread(frame));
    Dwfl_Module *module;
    const char *name;

    if (!dwfl_frame_pc(frame, &pc, &active))
        return DWARF_CB_ABORT;
    module = dwfl_addrmodule(dwfl, pc - !active);
    name = module ? dwfl_module_addrname(module, pc - !active) : NULL;
    printf("  %s\n", name ? name : "?");
    ++*(int *)count;
    return DWARF_CB_OK;
}

static int look(pid_t pid)
{
    static const Dwfl_Callbacks callbacks = { .find_elf = dwfl_linux_proc_find_elf,
                                              .find_debuginfo = dwfl_standard_find_debuginfo,
                                              .debuginfo_path = &debug_path };
    Dwfl *dwfl = dwfl_begin(&callbacks);
    int frames = 0;

    printf("%d\n", (int)pid);
    if (dwfl && dwfl_linux_proc_report(dwfl, pid) == 0 && dwfl_report_end(dwfl, NULL, NULL) == 0 &&
        dwfl_linux_proc_attach(dwfl, pid, false) == 0)
        dwfl_getthread_frames(dwfl, pid, on_frame, &frames);
    dwfl_end(dwfl);
    return frames;
}

int main(int argc, char **argv)
{
    int bad = 0;

    for (int i = 1; i < argc; i++)
        bad |= !look(atoi(argv[i]));
    return bad;
}

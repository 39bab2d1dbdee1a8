/* opts_compat.c - options of other launchers: those that are taken, and those that are
 * refused, with the reason.  See opts_table.h.
 *
 * What is only another name of an option of ours is a name in opts_table.c. */
#include "mpiexec_lite/opts_table.h"

#define IGNORED .section = SECTION_COMPAT, .set = opts_set_ignored, .flags = OPTION_REPEAT

static const char open_mpi[] = "it is for Open MPI";

const struct option opts_compat[] = {
    /* Intel MPI */
    { .names = { "rr" }, .section = SECTION_COMPAT, .set = opts_set_as, .with = "ppn",
      .text = "1", .help = "As -ppn 1: one process a host, in turn." },
    { .names = { "tune" }, .arg = "FILE", IGNORED, .text = "it is for Intel MPI",
      .help = "For Intel MPI; ignored with a warning." },
    { .names = { "tmpdir" }, .arg = "DIR", IGNORED,
      .help = "Ignored: nothing is written to a temporary folder." },
    { .names = { "ordered-output" }, IGNORED,
      .help = "Always so: lines of different ranks are not mixed." },
    { .names = { "output" }, .arg = "WORDS", .section = SECTION_COMPAT,
      .set = opts_set_output,
      .help = "Open MPI's tag, rank, timestamp, merge and dir=DIR, separated by "
              "commas; anything else is srun's -o." },
    { .names = { "output-filename" }, .arg = "DIR", .section = SECTION_COMPAT,
      .set = opts_set_output_folder, .with = "outfile-pattern",
      .help = "Write output to the files DIR/rank.R/stdout and DIR/rank.R/stderr." },
    { .names = { "timestamp-output" }, .section = SECTION_COMPAT, .set = opts_set_timestamps,
      .help = "Begin every line of output with the seconds since the start." },
    { .names = { "allow-run-as-root" }, IGNORED, .help = "Always allowed." },
    { .names = { "do-not-resolve" }, IGNORED,
      .help = "Always so: names of hosts are not looked up." },
    { .names = { "set-sid" }, IGNORED,
      .help = "Always so: every process has a session of its own." },
    { .names = { "mca", "gmca", "pmixmca", "gpmixmca", "prtemca", "gprtemca" },
      .arg = "KEY VALUE", IGNORED, .text = open_mpi,
      .help = "For Open MPI; ignored with a warning." },
    { .names = { "am", "prefix", "personality" }, .arg = "VALUE", IGNORED, .text = open_mpi,
      .help = "For Open MPI; ignored with a warning." },
    { .names = { "display" }, .arg = "map|bindings", .section = SECTION_COMPAT,
      .set = opts_set_display,
      .help = "Open MPI's: as -print-rank-map and -report-bindings.  For its other words there "
              "is -explain." },
    { .names = { "report-state-on-timeout", "get-stack-traces" }, IGNORED,
      .help = "Always so: see -timeout." },
    { .names = { "noprefix" }, IGNORED, .help = "Always so." },

    /* mpirun_rsh */
    { .names = { "ssh" }, .section = SECTION_COMPAT, .set = opts_set_as, .with = "launcher",
      .text = "ssh", .help = "As -launcher ssh." },
    { .names = { "rsh" }, .section = SECTION_COMPAT, .set = opts_set_as, .with = "launcher",
      .text = "rsh", .help = "As -launcher rsh." },
    { .names = { "export" }, .arg = "[=LIST]", .section = SECTION_COMPAT,
      .set = opts_set_export_list, JOB(env), .with = "genvall",
      .help = "mpirun_rsh's: inherit the whole environment.  srun's, with ALL, NONE, NAME and "
              "NAME=VALUE separated by commas: inherit this." },

    /* srun */
    { .names = { "o" }, .arg = "PATTERN", .section = SECTION_COMPAT,
      .set = opts_set_srun_pattern, JOB(outfile), .with = "outfile-pattern",
      .help = "Write standard output to this file, with srun's %t for the rank, %N for the "
              "host and %n for the number of the node." },
    { .names = { "e", "error" }, .arg = "PATTERN", .section = SECTION_COMPAT,
      .set = opts_set_srun_pattern, JOB(errfile), .with = "errfile-pattern",
      .help = "The same for standard error." },
    { .names = { "i", "input" }, .arg = "none|all|R|FILE", .section = SECTION_COMPAT,
      .set = opts_set_srun_input, .with = "stdin",
      .help = "As -stdin; the name of a file stands alone." },
    { .names = { "kill-on-bad-exit", "K" }, .arg = "[=0|1]", .section = SECTION_COMPAT,
      .set = opts_set_kill_on_bad_exit, JOB(policy), .with = "end-on-nonzero",
      .help = "As -end-on-nonzero, unless it is 0." },
    { .names = { "cpu-bind", "cpu_bind" }, .arg = "HOW", .section = SECTION_COMPAT,
      .set = opts_set_cpu_bind,
      .help = "srun's none, threads, cores, sockets, ldoms, boards, rank and map_cpu:LIST: as "
              "-bind-to none, hwthread, core, socket, numa, machine, rr and user:LIST; verbose: as "
              "-report-bindings." },
    { .names = { "nodelist" }, .arg = "LIST", .section = SECTION_COMPAT, .set = opts_set_as,
      .with = "hosts", .help = "As -hosts." },
    { .names = { "mpi" }, .arg = "KIND", IGNORED,
      .help = "Ignored: processes find PMI-1 and PMI-2 in any case." },
    { .names = { "job-name", "J" }, .arg = "NAME", IGNORED,
      .help = "Ignored: nothing is listed by such a name." },
    { .names = { "u", "unbuffered" }, IGNORED,
      .help = "Ignored: whole lines are shown at once." },

    /* Hydra */
    { .names = { "demux" }, .arg = "NAME", IGNORED,
      .help = "Ignored: there is one way to wait for events." },
    { .names = { "ckpointlib", "ckpoint-prefix", "ckpoint-interval", "ckpoint-num" },
      .arg = "VALUE", IGNORED, .text = "there is no checkpointing",
      .help = "For old checkpointing; ignored with a warning." },
};
const size_t opts_compat_count = sizeof opts_compat / sizeof *opts_compat;

const struct refusal opts_refused[] = {
    /* where processes run */
    { "rankfile rf", "a file does not place single ranks", "use -rankmap and -bind-to user:LIST" },
    { "ppr", "it has another name", "use -map-by ppr:N:OBJECT" },
    { "use-hwthread-cpus", "processes are counted by slots", "use -bind-to hwthread" },
    { "gpu-subdevs-per-proc", "parts of GPUs are not shared out",
      "set ZE_AFFINITY_MASK from MPI_LOCALRANKID in a script" },
    { "add-host add-hostfile", "all hosts are named at the start", "use -hosts or -f" },

    /* what would be shown */
    { "display-allocation display-devel-map output-proctable xml",
      "a job shows no such list when it starts",
      "use -explain before, or pmix_tool(1) when it runs" },
    { "profile", "PMI calls are not counted", "use -trace-wire FILE" },
    { "report-pid report-uri", "the launcher is found without",
      "use pmix_tool ps, or $! of the shell" },

    /* other programs around the job */
    { "tv debugger", "no debugger has a name of its own here",
      "-gdb RANKS, -tool CMD, or let the debugger start the launcher or attach to it" },
    { "xterm", "no terminal is opened", "put xterm -e before the program" },
    { "gtool gtoolfile", "no tool is put before some of the ranks",
      "write -n 1 TOOL PROGRAM : -n N PROGRAM" },
    { "preload-binary preload-files set-cwd-to-session-dir", "no file is sent to hosts",
      "copy them to a folder that all hosts have" },
    { "sg", "the group is the caller's", "run sg GROUP -c 'mpiexec_lite ...'" },
    { "launch-agent", "only pmi2_proxy is started on other hosts", "use -proxy PATH" },
    { "dvm novm", "each launcher starts its own servers", NULL },

    /* how jobs run */
    { "multi-prog", "a program a rank is written otherwise",
      "use ':' or -configfile, one program a line" },
    { "W wait", "ranks are not ended because one has", "use -timeout or -end-on-nonzero; hosts "
      "(srun's -w) are those of -hosts" },
    { "nodes", "the hosts are those of a list or an allocation", "use -hosts and -ppn, or -alloc N" },
    { "time t partition p account A qos exclusive mem mem-per-cpu constraint gres reservation",
      "nothing is asked of a batch system this way", "use -alloc N:TIME,OPTION=VALUE" },
    { "max-restarts continuous", "no process is started again", NULL },
    { "index-argv-by-rank", "all ranks of a program have one name", NULL },
    { "runtime-options", "there is no such list", "give the options themselves" },
};
const size_t opts_refused_count = sizeof opts_refused / sizeof *opts_refused;

/* opts_table.c - our own options, and those of the MPI standard and of Hydra, one row
 * each; opts_compat.c has those of other launchers.  See opts_table.h.
 *
 * A new option is a row here and, if no setter fits, a setter in an opts_set file; the
 * usage text, the manual and bash completion follow by themselves. */
#include "mpiexec_lite/opts_table.h"

const char *const opts_section_title[SECTIONS] = {
    [SECTION_PROGRAMS] = "Processes and programs",
    [SECTION_ENV]      = "Environment",
    [SECTION_IO]       = "Output and input",
    [SECTION_END]      = "End of the job",
    [SECTION_HOSTS]    = "Hosts",
    [SECTION_MAP]      = "Nodes, processors and memory of a rank",
    [SECTION_LAUNCH]   = "Starting and watching other hosts",
    [SECTION_PMI]      = "PMI",
    [SECTION_INFO]     = "Help and diagnostics",
    [SECTION_COMPAT]   = "As other launchers have them",
};

const struct option opts_table[] = {
    { .names = { "n", "np", "c", "ntasks" }, .arg = "N", .section = SECTION_PROGRAMS,
      .set = opts_set_count, BLOCK(n),
      .help = "Start N processes of the program.",
      .more = "Without it, one process for every slot: -ppn or the host list say how "
              "many there are, else there is one." },
    { .names = { "ppn", "perhost", "npernode", "grr", "ntasks-per-node" }, .arg = "K",
      .section = SECTION_PROGRAMS, .set = opts_set_ppn,
      .help = "A host has K slots.",
      .more = "It overrides what the host list says.  A slot is a hint: -n may ask for "
              "more processes than there are slots." },
    { .names = { "soft" }, .arg = "LIST", .section = SECTION_PROGRAMS,
      .set = opts_set_text, BLOCK(soft),
      .help = "Numbers of processes that will do, up to -n: 1,4,10:20:2.",
      .more = "The largest is taken for which there are slots; where neither a list of hosts "
              "nor -ppn says how many there are, the largest.  a:b:c is a, a+c ... up to b." },
    { .names = { "arch" }, .arg = "NAME", .section = SECTION_PROGRAMS,
      .set = opts_set_text, BLOCK(arch),
      .help = "The program runs on machines of this kind only, as uname -m names it.",
      .more = "It does not choose hosts: where a process would be on another kind, the job "
              "does not start." },
    { .names = { "wdir", "wd", "chdir", "D" }, .arg = "DIR", .section = SECTION_PROGRAMS,
      .set = opts_set_text, BLOCK(wdir),
      .help = "Start the program in directory DIR.",
      .more = "A relative name counts from the launcher's own directory." },
    { .names = { "path" }, .arg = "DIRS", .section = SECTION_PROGRAMS,
      .set = opts_set_text, BLOCK(path),
      .help = "Look for the program in these directories, separated by ':', before "
              "PATH." },
    { .names = { "pset" }, .arg = "NAME", .section = SECTION_PROGRAMS,
      .set = opts_set_pset, BLOCK(pset),
      .help = "The processes are the process set NAME.",
      .more = "Tools and ranks can ask for it and its members (pmix_tool query "
              "pmix.qry.psets).  Several programs with one NAME are one set." },
    { .names = { "usize" }, .arg = "SYSTEM|INFINITE|N", .section = SECTION_PROGRAMS,
      .set = opts_set_usize,
      .help = "What programs are told as MPI_UNIVERSE_SIZE.",
      .more = "SYSTEM is the number of slots, or of processes if that is more; with INFINITE "
              "they are told nothing. The default is the slots of the list of hosts, if "
              "processes leave some free, else nothing." },
    { .names = { "configfile", "config", "app" }, .arg = "FILE", .section = SECTION_PROGRAMS,
      .set = opts_set_configfile,
      .help = "Read programs and options from FILE, one program a line.",
      .more = "The end of a line counts as ':'.  Words are separated by blanks; quotes "
              "'...' and \"...\" and the backslash protect as in a shell; a backslash at "
              "the end of a line joins the next; a line that begins with # is a "
              "comment.  A job-wide option of the command line beats the same one in "
              "FILE.  \"-n N : PROGRAM\", as mpirun_rsh has it, is one program.  Without the "
              "option the file that HYDRA_CONFIG_FILE names is read, else "
              "~/.mpiexec.hydra.conf, else " SYSCONFDIR "/mpiexec.hydra.conf." },
    { .names = { "noconf" }, .section = SECTION_PROGRAMS, .set = opts_set_no_configfile,
      .help = "Do not read a configuration file that the command line does not name." },
    { .names = { "file" }, .arg = "FILE", .section = SECTION_PROGRAMS,
      .set = opts_set_text, BLOCK(file),
      .help = "Read more options of the program from FILE, with lines \"option = value\".",
      .more = "These are the options of this page without their dash, and the keys of a file "
              "that a program names when it starts others: a line \"env = NAME=VALUE\" for "
              "each variable; a switch has the value TRUE.  An empty line and one that begins "
              "with # do not count.  The command line beats the file." },
    { .names = { "initial-errhandler" }, .arg = "HANDLER", .section = SECTION_PROGRAMS,
      .set = opts_set_errhandler,
      .help = "The error handler that the MPI library begins with: mpi_errors_abort, "
              "mpi_errors_are_fatal (its default) or mpi_errors_return.",
      .more = "It is passed on as OMPI_MCA_mpi_initial_errhandler, which Open MPI reads; "
              "MPICH 4 has nothing to tell it by." },
    { .names = { "memory-alloc-kinds" }, .arg = "KINDS", .section = SECTION_PROGRAMS,
      .set = opts_set_text, JOB(alloc_kinds),
      .help = "Kinds of memory that the MPI library is asked to support, such as "
              "system,mpi:alloc_mem.",
      .more = "MPICH finds them as PMI_mpi_memory_alloc_kinds." },

    { .names = { "env" }, .arg = "NAME VALUE", .section = SECTION_ENV,
      .set = opts_set_env, BLOCK_REPEAT(env),
      .help = "Set a variable; also -env NAME=VALUE.",
      .more = "Beats -genv and the inherited value.  Variables that the launcher sets "
              "itself (PMI_FD, PMI_RANK and the like) stay as they are, with a "
              "warning." },
    { .names = { "envfile" }, .arg = "FILE", .section = SECTION_ENV,
      .set = opts_set_env_file, BLOCK_REPEAT(env),
      .help = "As -env, for each NAME=VALUE of FILE, which a NUL ends, as in /proc/PID/environ.",
      .more = "So no value is on a command line, where every user can read it.  A number is an "
              "open descriptor above 2 instead of a file; it is closed.  Of options of this "
              "kind that set the same variable the last one counts." },
    { .names = { "envlist" }, .arg = "NAMES", .section = SECTION_ENV,
      .set = opts_set_env_names, BLOCK(env), .with = "envall",
      .help = "Inherit only these variables, separated by commas." },
    { .names = { "envall" }, .section = SECTION_ENV, .set = opts_set_inherit,
      BLOCK(env), .value = INHERIT_ALL,
      .help = "Inherit the whole environment of the launcher (default)." },
    { .names = { "envnone" }, .section = SECTION_ENV, .set = opts_set_inherit,
      BLOCK(env), .value = INHERIT_NONE, .with = "envall",
      .help = "Inherit nothing.",
      .more = "Only what -env, -genv and -x set is left, and the launcher's own PMI_ and "
              "MPI_ variables." },
    { .names = { "genv" }, .arg = "NAME VALUE", .section = SECTION_ENV,
      .set = opts_set_env, JOB(env), .flags = OPTION_REPEAT,
      .help = "As -env, for all programs." },
    { .names = { "genvlist" }, .arg = "NAMES", .section = SECTION_ENV,
      .set = opts_set_env_names, JOB(env), .with = "genvall",
      .help = "As -envlist, for all programs that have no such option of their own." },
    { .names = { "genvall", "export-all" }, .section = SECTION_ENV, .set = opts_set_inherit,
      JOB(env), .value = INHERIT_ALL,
      .help = "As -envall, for all programs." },
    { .names = { "genvnone" }, .section = SECTION_ENV, .set = opts_set_inherit,
      JOB(env), .value = INHERIT_NONE, .with = "genvall",
      .help = "As -envnone, for all programs." },
    { .names = { "x" }, .arg = "NAME[=VALUE]", .section = SECTION_ENV,
      .set = opts_set_export, JOB(env), .flags = OPTION_REPEAT,
      .help = "Set a variable for all programs, or pass on the launcher's." },

    { .names = { "l", "prepend-rank", "tag-output", "label" }, .section = SECTION_IO,
      .set = opts_set_rank_label, .with = "prepend-pattern",
      .help = "Begin every line of output with \"[RANK] \"." },
    { .names = { "prepend-pattern" }, .arg = "PATTERN", .section = SECTION_IO,
      .set = opts_set_pattern, JOB(label),
      .help = "Begin every line of output with PATTERN.",
      .more = "In a pattern %r is the rank, %h the host, %p the number of the node, %g "
              "the number of the job (0), %t the seconds since the start, and %% a "
              "percent sign." },
    { .names = { "outfile-pattern", "outfile" }, .arg = "PATTERN", .section = SECTION_IO,
      .set = opts_set_pattern, JOB(outfile),
      .help = "Write standard output to the file named by PATTERN (see "
              "-prepend-pattern).",
      .more = "An existing file is emptied first, a missing folder is made.  Ranks whose "
              "patterns give the same name share a file." },
    { .names = { "errfile-pattern", "errfile" }, .arg = "PATTERN", .section = SECTION_IO,
      .set = opts_set_pattern, JOB(errfile),
      .help = "The same for standard error." },
    { .names = { "output-from" }, .arg = "R", .section = SECTION_IO,
      .set = opts_set_rank, JOB(output_from),
      .help = "Show the output of rank R only." },
    { .names = { "merge-stderr-to-stdout" }, .section = SECTION_IO,
      .set = opts_set_switch, JOB(merge), .value = true,
      .help = "Send the standard error of all ranks to standard output." },
    { .names = { "stdin", "s" }, .arg = "none|all|R|file:F", .section = SECTION_IO,
      .set = opts_set_stdin,
      .help = "Who reads standard input: no rank, every rank, or rank R (default 0); or "
              "rank 0 reads file F.",
      .more = "Ranks that do not read it see its end at once." },

    { .names = { "timeout", "maxtime" }, .arg = "S", .section = SECTION_END,
      .set = opts_set_seconds, JOB(timeout), .value = true,
      .help = "End the job after S seconds, with exit status 124; 0 is no limit.",
      .more = "States and stacks of all ranks are shown first, as at SIGQUIT. The variable "
              "MPIEXEC_TIMEOUT does the same." },
    { .names = { "end-on-nonzero" }, .section = SECTION_END,
      .set = opts_set_value, JOB(policy), .value = END_ON_ANY_NONZERO,
      .help = "End the job when any rank exits with a status other than 0.",
      .more = "By default that ends the others only between PMI's init and finalize." },
    { .names = { "disable-auto-cleanup", "enable-recovery" }, .section = SECTION_END,
      .set = opts_set_switch, JOB(keep_going), .value = true,
      .help = "Let the other ranks run on when one fails." },
    { .names = { "enable-auto-cleanup", "disable-recovery" }, .section = SECTION_END,
      .set = opts_set_switch, JOB(keep_going), .value = false,
      .with = "disable-auto-cleanup",
      .help = "End the job when a rank fails (default)." },
    { .names = { "exitinfo" }, .section = SECTION_END,
      .set = opts_set_value, JOB(card), .value = CARD_ALWAYS,
      .help = "Say more of every end that is no success: when, the last words, what became of "
              "the others, and that no process is left.",
      .more = "By default only where a rank of several has failed." },
    { .names = { "silent-abort" }, .section = SECTION_END,
      .set = opts_set_value, JOB(card), .value = CARD_NEVER, .with = "exitinfo",
      .help = "When the job fails, say why in one line and no more." },
    { .names = { "hydra-banner" }, .section = SECTION_END,
      .set = opts_set_switch, JOB(banner), .value = true,
      .help = "When a rank fails, print what Hydra does, too.",
      .more = "It is for scripts that look for its \"BAD TERMINATION OF ONE OF YOUR APPLICATION "
              "PROCESSES\", \"EXIT CODE:\" or \"EXIT STRING:\" on standard output." },
    { .names = { "print-all-exitcodes" }, .section = SECTION_END,
      .set = opts_set_switch, JOB(print_all_exitcodes), .value = true,
      .help = "At the end print the exit status of every rank." },

    { .names = { "hosts", "hostlist", "machine", "machines", "machinelist", "hosts-group" },
      .arg = "LIST", .section = SECTION_HOSTS, .set = opts_set_hosts,
      .help = "Hosts to run on, as HOST,HOST:SLOTS...",
      .more = "Also USER@HOST, node[01-04,07] for several names, and IPv6 addresses, with "
              "slots as [ADDRESS]:SLOTS.  Without slots a host has one.  A host that is "
              "named again is the same node with more slots." },
    { .names = { "host", "H" }, .arg = "LIST", .section = SECTION_HOSTS,
      .set = opts_set_text, BLOCK(host_list),
      .help = "Hosts for this program, written like -hosts.",
      .more = "Hosts of the job's own list keep the slots they have there; others are "
              "added for programs that name them.  HYDRA_HOST_FILE is not read then." },
    { .names = { "f", "hostfile", "machinefile", "default-hostfile" }, .arg = "FILE",
      .section = SECTION_HOSTS, .set = opts_set_hostfile, .with = "hosts",
      .help = "The same list from a file, one host a line.",
      .more = "Behind the host may stand slots=N, user=U and binding=B; Open MPI's "
              "max_slots=N and what mpirun_rsh has behind the slots are read and ignored. "
              " What follows # is a comment.  The file HYDRA_USE_LOCALHOST is this host.  "
              "Without any list the variable HYDRA_HOST_FILE may name a file." },
    { .names = { "topology-file" }, .arg = "FILE", .section = SECTION_HOSTS,
      .set = opts_set_text, JOB(topology_file),
      .help = "Where hosts are in a Cartesian network, for the attributes cartDims and "
              "cartCoords.",
      .more = "A line \"dims X,Y,...\" comes first, then HOST X,Y,..., one a line.  What "
              "follows # is a comment; hosts that the job does not use are passed over." },
    { .names = { "order-nodes" }, .arg = "ASCENDING|DESCENDING", .section = SECTION_HOSTS,
      .set = opts_set_order,
      .help = "Sort the hosts by their slots; also UP and DOWN." },
    { .names = { "skip-launch-node", "nolocal" }, .section = SECTION_HOSTS,
      .set = opts_set_skip_launch_node,
      .help = "Leave out the host that mpiexec_lite runs on." },
    { .names = { "rankmap" }, .arg = "MAP", .section = SECTION_HOSTS,
      .set = opts_set_text, JOB(rankmap),
      .help = "On which host each rank runs: 1,1,0 by rank, or (FIRST,HOSTS,RANKS),...",
      .more = "Hosts are numbered from 0 as they are listed.  A block puts RANKS on each of so "
              "many HOSTS from number FIRST on; the whole may be (vector,...).  When ranks "
              "remain, the map begins anew.  It beats slots and -host." },
    { .names = { "print-rank-map", "display-map" }, .section = SECTION_HOSTS,
      .set = opts_set_switch, JOB(print_rank_map), .value = true,
      .help = "Print first which ranks run on which host, as (HOST:0,1,2)." },

    { .names = { "rmk" }, .arg = "KIND", .section = SECTION_HOSTS, .set = opts_set_rmk,
      .help = "Which resource manager's hosts to run on: slurm, pbs, lsf, sge, cobalt, ll, flux; "
              "user: none.",
      .more = "Without it, nor HYDRA_RMK, it is the first of them whose environment is there. "
              " A list of hosts beats what it has granted, and -ppn its slots.  See "
              "ALLOCATIONS." },

    { .names = { "alloc" }, .arg = "N[:TIME][,OPTION=VALUE]...", .section = SECTION_HOSTS,
      .set = opts_set_alloc, JOB(alloc),
      .help = "Ask Slurm for N nodes, run on them, and give them back.",
      .more = "TIME and what follows are as salloc has them, -alloc 4:30,partition=debug.  In a "
              "job of Slurm it has no effect." },

    { .names = { "bind-to", "binding" }, .arg = "WHAT", .section = SECTION_MAP,
      .set = opts_set_bind,
      .help = "What a process may run on: none (default), core, hwthread, socket, numa, l3cache, "
              "machine ... (see MAPPING AND BINDING).",
      .more = "core:4 is four of them.  rr gives processors in the order of their numbers, "
              "user:0,2,4-7,1+9 what is listed; gpu, ib, en, hfi, hsn or pci:ID what is near such "
              "a device.  Nobody gets a processor that the launcher may not use.  The variable "
              "HYDRA_BINDING does the same, and binding= in a host file for one host." },
    { .names = { "bind-to-core" }, .section = SECTION_MAP, .set = opts_set_bind,
      .value = sizeof "bind-to-" - 1, .with = "bind-to", .help = "The same as -bind-to core." },
    { .names = { "bind-to-socket" }, .section = SECTION_MAP, .set = opts_set_bind,
      .value = sizeof "bind-to-" - 1, .with = "bind-to", .help = "The same as -bind-to socket." },
    { .names = { "bind-to-none" }, .section = SECTION_MAP, .set = opts_set_bind,
      .value = sizeof "bind-to-" - 1, .with = "bind-to", .help = "The same as -bind-to none." },
    { .names = { "map-by" }, .arg = "WHAT", .section = SECTION_MAP, .set = opts_set_map,
      .help = "How far apart successive ranks are: socket, numa, core ...; node: on the next node; "
              "slot: fill nodes (default).",
      .more = "The names are those of -bind-to, which is the same object if it is not given.  "
              "ppr:N:node is -ppn N; ppr:N:socket puts N ranks on a socket before the next one.  "
              "Behind it may stand :PE=N (cores for each rank), :OVERSUBSCRIBE, :NOOVERSUBSCRIBE "
              "and :NOLOCAL.  The variable HYDRA_MAPPING does the same." },
    { .names = { "bynode" }, .section = SECTION_MAP, .set = opts_set_map, .value = 2,
      .with = "map-by", .help = "The same as -map-by node." },
    { .names = { "byslot" }, .section = SECTION_MAP, .set = opts_set_map, .value = 2,
      .with = "map-by", .help = "The same as -map-by slot." },
    { .names = { "bycore" }, .section = SECTION_MAP, .set = opts_set_map, .value = 2,
      .with = "map-by", .help = "The same as -map-by core." },
    { .names = { "npersocket" }, .arg = "N", .section = SECTION_MAP, .set = opts_set_per_socket,
      .with = "map-by", .help = "The same as -map-by ppr:N:socket." },
    { .names = { "cpus-per-proc", "cpus-per-rank", "cpus-per-task" }, .arg = "N", .section = SECTION_MAP,
      .set = opts_set_cpus_per_rank, .help = "Bind each process to N cores." },
    { .names = { "rank-by" }, .arg = "slot|node|fill", .section = SECTION_MAP,
      .set = opts_set_numbering,
      .help = "Who has which number: node after node, a number on each node in turn, or on each "
              "node in the order of its hardware." },
    { .names = { "cpu-list", "cpu-set" }, .arg = "CPUS", .section = SECTION_MAP,
      .set = opts_set_cpu_list,
      .help = "Use no other processors of any host than these, as 0,2-5." },
    { .names = { "membind" }, .arg = "HOW", .section = SECTION_MAP, .set = opts_set_memory,
      .help = "Where memory comes from: none (default), firsttouch, bind[:NODES] or "
              "interleave[:NODES].",
      .more = "NODES are numbers of NUMA nodes, as 0,2-3; without them those near the processors "
              "that the process is bound to.  The variable HYDRA_MEMBIND does the same." },
    { .names = { "gpus-per-proc", "g", "gpus-per-task" }, .arg = "N|AUTO", .section = SECTION_MAP,
      .set = opts_set_gpus,
      .help = "Let each process see N GPUs of its node, or an equal share of them.",
      .more = "It sets CUDA_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES or ZE_AFFINITY_MASK, by the "
              "maker of the GPUs that hwloc sees.  When all have been given, it begins again." },
    { .names = { "oversubscribe" }, .section = SECTION_MAP, .set = opts_set_oversubscription,
      .flags = OPTION_REPEAT, .value = OVERSUBSCRIBE_YES,
      .help = "Start more processes than there are slots, without a word.",
      .more = "Outside of an allocation that is possible without it, too." },
    { .names = { "nooversubscribe" }, .section = SECTION_MAP, .set = opts_set_oversubscription,
      .value = OVERSUBSCRIBE_NO, .with = "oversubscribe",
      .help = "Start nothing if a host would get more processes than it has slots or, without a "
              "list of hosts, than there are processors." },
    { .names = { "report-bindings" }, .section = SECTION_MAP, .set = opts_set_switch,
      JOB(map.report), .value = true,
      .help = "Show what each rank is bound to, before it starts.",
      .more = "Sockets are in brackets, cores between slashes; of their processors B are the "
              "rank's, '.' could be, '-' may not be used." },
    { .names = { "topolib" }, .arg = "hwloc", .section = SECTION_MAP, .set = opts_set_topolib,
      .help = "How hosts are looked at; there is only one." },

    { .names = { "launcher", "bootstrap" }, .arg = "NAME",
      .section = SECTION_LAUNCH, .set = opts_set_launcher,
      .help = "How the other hosts are reached: ssh, rsh, slurm, pbs, lsf, sge, ll, fork, "
              "manual or tcp (default: ssh; slurm in a job of Slurm).",
      .more = "With ssh all talk goes through the ssh connection.  fork starts every host "
              "as processes of this one, to try things out.  manual prints the commands "
              "for somebody else to run.  tcp runs the program of -launcher-exec once for "
              "each host, and the hosts call back; that needs munge.  slurm does the same "
              "with one srun for all hosts.  rsh, lsf, sge and ll run rsh, blaunch, qrsh "
              "-inherit and llspawn.stdio as ssh is run, pbs runs pbs_tmrsh as tcp does; "
              "lsf, sge, ll and pbs have not been tried there.  The variable "
              "HYDRA_LAUNCHER or HYDRA_BOOTSTRAP does the same." },
    { .names = { "launcher-exec", "bootstrap-exec" }, .arg = "PATH",
      .section = SECTION_LAUNCH, .set = opts_set_text, JOB(remote.exec),
      .help = "The program to reach a host with, instead of ssh.",
      .more = "The variable HYDRA_LAUNCHER_EXEC does the same; words of "
              "HYDRA_LAUNCHER_EXTRA_ARGS are put behind the program." },
    { .names = { "enable-x" }, .section = SECTION_LAUNCH, .set = opts_set_switch,
      JOB(remote.forward_x), .value = true,
      .help = "Let ssh forward X11." },
    { .names = { "disable-x" }, .section = SECTION_LAUNCH, .set = opts_set_switch,
      JOB(remote.forward_x), .value = false, .with = "enable-x",
      .help = "Do not (default)." },
    { .names = { "proxy" }, .arg = "PATH", .section = SECTION_LAUNCH,
      .set = opts_set_text, JOB(remote.proxy),
      .help = "Where the other hosts have pmi2_proxy.",
      .more = "By default it is looked for where this host has it, and in PATH." },
    { .names = { "stage-proxy" }, .section = SECTION_LAUNCH,
      .set = opts_set_switch, JOB(remote.stage_proxy), .value = true,
      .help = "Send pmi2_proxy to hosts that have none, for the time of the job." },
    { .names = { "hybrid-hosts" }, .section = SECTION_LAUNCH,
      .set = opts_set_as, .with = "proxy", .text = "pmi2_proxy",
      .help = "Look for pmi2_proxy in the PATH of the other hosts only." },
    { .names = { "iface" }, .arg = "NAME", .section = SECTION_LAUNCH,
      .set = opts_set_text, JOB(remote.iface),
      .help = "Hosts call back to this network interface only, with -launcher tcp and manual.",
      .more = "With ssh nobody calls back, and it has no effect." },
    { .names = { "localhost" }, .arg = "NAME", .section = SECTION_LAUNCH,
      .set = opts_set_text, JOB(remote.localhost),
      .help = "Hosts call back to this name or IPv4 address of ours; else as -iface." },
    { .names = { "munge-socket" }, .arg = "PATH", .section = SECTION_LAUNCH,
      .set = opts_set_text, JOB(remote.munge_socket),
      .help = "The socket of munged on every host, for the launchers tcp and manual, and for "
              "-nameserver HOST:PORT." },
    { .names = { "tree-width" }, .arg = "W", .section = SECTION_LAUNCH,
      .set = opts_set_number, JOB(remote.tree_width),
      .help = "Start so many hosts from one when there are many (default 32); 0: all from "
              "this one." },
    { .names = { "flat-hosts" }, .arg = "N", .section = SECTION_LAUNCH,
      .set = opts_set_number, JOB(remote.flat_hosts),
      .help = "Start up to N hosts from this one (default 64)." },
    { .names = { "launch-window" }, .arg = "N", .section = SECTION_LAUNCH,
      .set = opts_set_count, JOB(remote.window),
      .help = "Start at most N hosts at the same time from one (default 10).",
      .more = "More connections at once may be refused: see MaxStartups in "
              "sshd_config(5)." },
    { .names = { "start-window" }, .arg = "N", .section = SECTION_LAUNCH,
      .set = opts_set_count, JOB(start_window),
      .help = "Start at most N processes of a host at the same time (default 64); 1: one "
              "after the other." },
    { .names = { "launch-timeout" }, .arg = "S", .section = SECTION_LAUNCH,
      .set = opts_set_seconds, JOB(remote.patience),
      .help = "Give up on a host that has not answered after S seconds (default 15)." },
    { .names = { "heartbeat" }, .arg = "S", .section = SECTION_LAUNCH,
      .set = opts_set_seconds, JOB(remote.heartbeat),
      .help = "Hosts say that they live every S seconds (default 5)." },
    { .names = { "lease" }, .arg = "S", .section = SECTION_LAUNCH,
      .set = opts_set_seconds, JOB(remote.lease), .value = true,
      .help = "A host that has said nothing for S seconds is lost (default 15); 0: only "
              "one whose connection ends.",
      .more = "It must be longer than -heartbeat.  A host that hears nothing of the "
              "launcher for as long ends its processes." },
    { .names = { "kvs-release-bytes" }, .arg = "N", .section = SECTION_LAUNCH,
      .set = opts_set_bytes, JOB(remote.release_bytes),
      .help = "Send up to N bytes of new PMI data to all hosts at the end of a fence "
              "(default 262144).",
      .more = "When there is more, the first time, and when nobody has looked at what came "
              "the last time, a host fetches data when one of its processes asks for it first. "
              " Programs get the same answers either way." },

    { .names = { "pmi-port" }, .section = SECTION_PMI,
      .set = opts_set_switch, JOB(pmi_port), .value = true,
      .help = "Offer PMI over a TCP port of 127.0.0.1 instead of an inherited socket.",
      .more = "Ranks find PMI_PORT and PMI_ID in their environment, and no PMI_FD." },
    { .names = { "disable-hostname-propagation" }, .section = SECTION_PMI,
      .set = opts_set_switch, JOB(hide_hostname), .value = true,
      .help = "Do not set PMI_HOSTNAME: the MPI library finds out itself where it is." },
    { .names = { "enable-hostname-propagation" }, .section = SECTION_PMI,
      .set = opts_set_switch, JOB(hide_hostname), .value = false,
      .with = "disable-hostname-propagation",
      .help = "Set it (default)." },
    { .names = { "pmi1-groups" }, .section = SECTION_PMI,
      .set = opts_set_value, JOB(pmi1_subversion), .value = 2,
      .help = "Offer PMI-1.2, which has barriers of groups, instead of PMI-1.1." },
    { .names = { "nameserver" }, .arg = "PATH|HOST:PORT|auto|start|none", .section = SECTION_PMI,
      .set = opts_set_nameserver, JOB(nameserver),
      .help = "Have published names kept by the pmi2_server of that socket, or of another "
              "host (with munge); auto: the user's "
              "or the system's, if one runs (default); start: the same, and start the user's "
              "if none does; none: names stay in this launcher.",
      .more = "Programs of different launchers find each other by published names only "
              "with it." },
    { .names = { "disable-tools" }, .section = SECTION_PMI,
      .set = opts_set_switch, JOB(no_tools), .value = true,
      .help = "Let no tool (debugger, monitor, pmix_tool) connect; no socket is opened for them." },
    { .names = { "tool-timeout" }, .arg = "S", .section = SECTION_PMI,
      .set = opts_set_seconds, JOB(tool_timeout), .value = true,
      .help = "A launcher that waits for the tool that has started it ends after S seconds "
              "(default 300); 0: never.",
      .more = "It waits where PMIX_LAUNCHER_PAUSE_FOR_TOOL or PMIX_LAUNCHER_RNDZ_URI is in its "
              "environment." },
    { .names = { "provider" }, .arg = "PATH", .section = SECTION_PMI,
      .set = opts_add_text, .flags = OPTION_REPEAT, .at = offsetof(struct plan, provider_files),
      .help = "Have this set-up provider, an executable or NAME.so, prepare jobs, nodes and "
              "ranks; may be given several times.",
      .more = "See mpiexec_lite-providers(7)." },
    { .names = { "provider-dir" }, .arg = "DIR", .section = SECTION_PMI,
      .set = opts_add_text, .flags = OPTION_REPEAT, .at = offsetof(struct plan, provider_dirs),
      .help = "Use all set-up providers of DIR, in order of their names, as those of "
              SYSCONFDIR "/mpiexec_lite/providers.d and of the directory that "
              "MPIEXEC_LITE_PROVIDERS names." },
    { .names = { "no-providers" }, .section = SECTION_PMI,
      .set = opts_set_switch, JOB(no_providers), .value = true,
      .help = "Use no set-up provider but those of -provider and -provider-dir." },
    { .names = { "providers-root" }, .arg = "fail|skip", .section = SECTION_PMI,
      .set = opts_set_providers_root, JOB(providers_root),
      .help = "What becomes of a set-up provider that needs root when somebody else starts the "
              "job: the start fails (default), or goes on without it." },
    { .names = { "log-dir" }, .arg = "DIR", .section = SECTION_PMI,
      .set = opts_set_text, JOB(log_dir),
      .help = "Keep what programs and tools log for the record of their job, or for all "
              "jobs, in files of this folder.",
      .more = "JOBID.record and store, with a line of JSON for each entry (PMIX_LOG_JOB_RECORD, "
              "PMIX_LOG_GLOBAL_DATASTORE).  Without it such entries are refused." },

    { .names = { "pmi_args" }, .arg = "PORT", .section = SECTIONS,
      .set = opts_set_count, JOB(single),
      .help = "For MPI libraries: serve the program that listens on this port." },
    { .names = { "singleton-fd" }, .arg = "FD:JOBID", .section = SECTIONS,
      .set = opts_set_single_fd,
      .help = "For libpmi2: serve the program that is connected to this descriptor." },

    { .names = { "hold" }, .arg = "PLACE[:RANKS]", .section = SECTION_INFO,
      .set = opts_set_hold,
      .help = "Hold processes for a debugger: where their program begins (exec), in PMI's init, as "
              "MPI_Init calls it (init), or at a place of their own (app).",
      .more = "RANKS is like 0,3-5; without it they are all.  At exec they are stopped (state T) "
              "with their own program loaded, and nobody traces them (where ptrace is not "
              "permitted it is a shell that is stopped, and becomes the program); in init they wait for an "
              "answer, whichever PMI they speak; app is for programs that ask for "
              "PMIX_DEBUG_STOP_IN_APP.  When all wait, tools are told so (PMIX_READY_FOR_DEBUG).  "
              "\"pmix_tool release\", a tool's event PMIX_DEBUGGER_RELEASE, or, at exec, SIGCONT to a "
              "process lets them go on.  Debuggers that know MPIR need no option." },
    { .names = { "fork-agent" }, .arg = "COMMAND", .section = SECTION_INFO,
      .set = opts_set_words, JOB(agent),
      .help = "Execute COMMAND in place of each process' program; it is given that program and its "
              "arguments, and is to execute it.",
      .more = "Blanks part the words of COMMAND, whose first is looked for in PATH on each host; "
              "where it is missing the job does not start.  It has the environment that the "
              "program would have, and its process is the rank's.  Daemons of tools and processes "
              "that the job starts have none.  With -hold exec it is the agent that is stopped." },
    { .names = { "stop-on-exec" }, .section = SECTION_INFO, .with = "hold",
      .set = opts_set_value, JOB(hold), .value = HOLD_EXEC,
      .help = "The same as -hold exec." },
    { .names = { "stop-in-init" }, .section = SECTION_INFO, .with = "hold",
      .set = opts_set_value, JOB(hold), .value = HOLD_INIT,
      .help = "The same as -hold init." },
    { .names = { "gdb" }, .arg = "RANKS", .section = SECTION_INFO, .with = "hold",
      .set = opts_set_gdb,
      .help = "Open gdb on these ranks (0,3-5, or all), in panes of tmux or in xterms, before "
              "their programs begin.",
      .more = "Panes are in a new window of the tmux that the launcher runs in; else, with DISPLAY, "
              "each gdb has an xterm; else they are in a tmux of their own, and it is told how to "
              "attach to it.  The ranks are held as by -hold exec.  To ranks of other hosts gdb "
              "is brought by -launcher ssh, and must be there.  A rank whose gdb has been quit "
              "goes on; the windows close when the job ends." },
    { .names = { "tool" }, .arg = "CMD", .section = SECTION_INFO, .with = "debug",
      .set = opts_set_tool,
      .help = "Start a tool, which starts the launcher: CMD mpiexec_lite ...",
      .more = "CMD may have arguments, separated by blanks.  Behind them come the launcher and its "
              "other words.  PMIX_LAUNCHER_PAUSE_FOR_TOOL is set, so that the launcher starts nothing "
              "before the tool lets it go on; where CMD ends without that, so does the launcher.  "
              "Debuggers that know MPIR do not wait for that." },
    { .names = { "debug" }, .arg = "[=gdb[:RANKS]|=CMD]", .section = SECTION_INFO,
      .set = opts_set_debug, .flags = OPTION_REPEAT, .value = 1,
      .help = "With a value -gdb RANKS (all, without them) or -tool CMD; --debug gdb [RANKS] "
              "OPTION... too; else the same as -v.",
      .more = "With two dashes the next word is the debugger, if its name is gdb and another option "
              "follows it, or ranks and an option: --debug gdb -n 2 PROGRAM.  -debug gdb -n, with "
              "one dash, and --debug -- gdb -n run a program gdb.  A path is that of the gdb to open, "
              "on every host." },
    { .names = { "explain", "show", "do-not-launch" }, .section = SECTION_INFO,
      .set = opts_set_inquiry, JOB(inquiry), .value = INQUIRY_EXPLAIN,
      .help = "Start nothing: print what would run where, and why.",
      .more = "Hosts, ranks, environment and the commands that would reach the other hosts, "
              "each with the option, FILE:LINE or variable that has decided it.  Of variables "
              "that programs inherit only names are told." },
    { .names = { "check" }, .section = SECTION_INFO, .with = "explain",
      .set = opts_set_inquiry, JOB(inquiry), .value = INQUIRY_CHECK,
      .help = "Start no program: ask every host whether the job can run there.",
      .more = "Told are how long it takes to reach it, the version of pmi2_proxy, its clock, "
              "limits, the cgroup's, the size of /dev/shm, and whether programs and their "
              "shared libraries are there.  The exit status is 1 if something will fail." },
    { .names = { "json" }, .section = SECTION_INFO,
      .set = opts_set_switch, JOB(json), .value = true,
      .help = "With -explain and -check: answer in JSON." },
    { .names = { "svg" }, .section = SECTION_INFO,
      .set = opts_set_switch, JOB(svg), .value = true, .with = "json",
      .help = "With -explain: answer with a picture of hosts, ranks and binding." },
    { .names = { "q", "quiet" }, .section = SECTION_INFO,
      .set = opts_set_switch, JOB(brief), .value = true,
      .help = "With -explain and -check: a summary only.  A job is always quiet, without -v." },
    { .names = { "v", "verbose" }, .section = SECTION_INFO,
      .set = opts_set_verbose, .flags = OPTION_REPEAT, .value = 1,
      .help = "Say on standard error what the launcher does; twice: more of it." },
    { .names = { "vv" }, .section = SECTION_INFO,
      .set = opts_set_verbose, .flags = OPTION_REPEAT, .value = 2,
      .help = "The same as -v -v." },
    { .names = { "trace-wire" }, .arg = "FILE", .section = SECTION_INFO,
      .set = opts_set_text, JOB(trace),
      .help = "Write every PMI message to FILE." },
    { .names = { "timeline" }, .arg = "FILE", .section = SECTION_INFO,
      .set = opts_set_timeline, JOB(timeline),
      .help = "Write when each host and rank did what to FILE: .svg a picture, .html a page "
              "with it, .json for Perfetto.",
      .more = "Hosts: connected, ready.  Ranks: execution, the first word of PMI, init, each "
              "fence, the first output, finalize, the end.  The picture names the critical path: "
              "who was waited for.  JSON is of Chrome's trace format.  Times of other hosts are "
              "brought to this one's clock; the file says how exactly." },
    { .names = { "h", "help" }, .section = SECTION_INFO,
      .set = opts_set_print, .print = opts_print_help,
      .help = "Print this text; after an option: about that option." },
    { .names = { "version", "info", "V" }, .section = SECTION_INFO,
      .set = opts_set_print, .print = opts_print_version,
      .help = "Print the version." },

    { .names = { "print-man" }, .section = SECTIONS, .set = opts_set_print,
      .print = opts_print_man, .help = "Print the section OPTIONS of the manual." },
    { .names = { "print-man-variables" }, .section = SECTIONS, .set = opts_set_print,
      .print = opts_print_man_variables, .help = "Print the manual's list of variables." },
    { .names = { "print-man-refused" }, .section = SECTIONS, .set = opts_set_print,
      .print = opts_print_man_refused, .help = "Print the manual's list of refused options." },
    { .names = { "print-completion" }, .section = SECTIONS, .set = opts_set_print,
      .print = opts_print_completion, .help = "Print the script for bash completion." },
};

const size_t opts_count = sizeof opts_table / sizeof *opts_table;

#!/usr/bin/env -S python3 -B
"""The command line: every option that scripts written for other launchers have is taken, or
refused with a reason; and the checks of a launcher that takes the place of mpiexec.

The fourteen checks are points "check N: ..."; 12 is in cli_env.py, 2 and 9 in output.py, 4 in
stdin.py, 5 and 14 in mpich.py, the others here."""

import json
import os
import re

from lib import *

SH = ("/bin/sh", "-c")
CHORE = prog("chore")

# --- every option is taken or refused with a reason ------------------------------------

MPI = "n soft host arch wdir path file configfile initial-errhandler memory-alloc-kinds"
HYDRA = """np ppn hosts hostlist machine machines machinelist f hostfile machinefile rankmap
    order-nodes skip-launch-node usize genv genvlist genvall genvnone env envlist envall envnone
    l prepend-rank prepend-pattern outfile-pattern outfile errfile-pattern errfile output-from
    hybrid-hosts bind-to binding map-by membind topolib report-bindings gpus-per-proc g launcher bootstrap launcher-exec bootstrap-exec enable-x disable-x iface localhost
    disable-hostname-propagation enable-hostname-propagation pmi-port nameserver demux
    disable-auto-cleanup enable-auto-cleanup v verbose debug info version print-all-exitcodes
    pmi_args ckpointlib ckpoint-prefix ckpoint-interval ckpoint-num maxtime exitinfo h help"""
INTEL = """perhost grr rr tune print-rank-map s tmpdir ordered-output silent-abort noconf
    hosts-group"""
OPEN_MPI = """c N npernode H x wd oversubscribe allow-run-as-root tag-output output
    timestamp-output merge-stderr-to-stdout output-filename timeout stdin mca prefix display
    report-state-on-timeout do-not-launch"""
MPIRUN_RSH = "export export-all config ssh rsh show"
SRUN = """label u o e i K kill-on-bad-exit export input error ntasks cpu-bind cpus-per-task
    gpus-per-task nodelist mpi job-name J"""
TAKEN = " ".join([MPI, HYDRA, INTEL, OPEN_MPI, MPIRUN_RSH, SRUN]).split()
EITHER = "gpu-subdevs-per-proc rmk profile gtool sg tv xterm W multi-prog nodes time partition mem".split()


def man():
    return "".join(good(x).out.decode() for x in ("--print-man", "--print-man-refused"))


def told_in(text, option):
    return re.search(rf" Fl {re.escape(option.replace('-', chr(92) + '-'))}( |$)", text, re.I | re.M)


@test(f"{len(TAKEN)} options of the standard and of five launchers: -h tells about each")
def taken():
    text = man()
    for option in TAKEN:
        r = good(f"--{option}", "-h")
        need(r.out.strip(), f"-{option} -h says something")
        hidden = option == "pmi_args"
        need(hidden or option == "N" or told_in(text, option), f"-{option} is in the manual")


@test(f"{len(EITHER)} more are taken, or refused in one line with the reason, as in the manual")
def either():
    text = man()
    for option in EITHER:
        r = run(f"--{option}", "-h")
        need(told_in(text, option), f"-{option} is in the manual")
        if r.status == 0:
            continue
        same((r.status, len(r.messages)), (2, 1), f"-{option}: {r}")
        need(re.fullmatch(rf"mpiexec_lite: --{option} is not supported: .{{10,}}", r.messages[0]),
             "the reason", r.messages)


@rows([("an unknown option", ["-foo"], "-foo"),
       ("a nearly known one", ["-prepend-ranks"], "did you mean -prepend-rank?"),
       ("a missing value", ["-wdir"], "-wdir"),
       ("a bad value", ["-usize", "many", "true"], "'many'"),
       ("a bad map", ["-rankmap", "0,9", "true"], "host number 9"),
       ("-N beside -n", ["-n", 2, "-N", 2, "true"], "-N is -n here; -ppn is for each host"),
       ("-c beside -n", ["-n", 2, "-c", 2, "true"], "-cpus-per-proc for each process"),
       ("one option twice", ["-n", 1, "-np", 2, "true"], "duplicate setting: -n")])
def one_line(words, text):
    r = run(*words)
    same((r.status, len(r.err.splitlines())), (2, 1), f"end of {r}")
    need(text in r.messages[0], f"it says {text!r}", r.messages)


# --- the checks ---------------------------------------------------------------------------

@test("check 1: the highest exit status of all programs is the launcher's")
def check_1():
    same(run("-n", 2, "true", ":", "-n", 1, *SH, "exit 5").status, 5, "status")


@test("check 3: what comes on stdin is read once, and the others see its end")
def check_3():
    r = run("-n", 4, "cat", input=b"x\n")
    same((r.status, r.out), (0, b"x\n"), "end")


@test("check 6: a host that nobody knows is an error that names it")
def check_6():
    r = run("-hosts", "no-such-host.invalid", "true")
    same((r.status, len(r.messages)), (255, 1), f"end of {r}")
    need("no-such-host.invalid" in r.messages[0], "the host", r.messages)


@test("a host that has no ranks, and cannot be reached, is told of; the job starts without it")
def spare_host():
    hosts = "localhost:2,no-such-1.invalid,no-such-2.invalid"
    r = run("-hosts", hosts, "-n", 2, *SH, "echo $PMI_RANK; exit 3")
    same((r.status, sorted(r.out.split())), (3, [b"0", b"1"]), f"end of {r}")
    told = [m for m in r.messages if "no-such-" in m]
    same(len(told), 2, "hosts that are told of")
    for m in told:
        need(m.endswith("; it has no ranks, and the job starts without it"), "what becomes of it", m)
    r = run("-hosts", hosts, "-n", 3, *SH, "echo started")
    same((r.status, r.out), (255, b""), "one that has ranks ends the job")
    chain = write_file(os.path.join(tmp(), "chain"), "#!/bin/sh\nwhile [ $1 != -- ]; do shift; done\n"
                       'test $2 != bad || exit 3\nshift 2\nexec "$@"\n', 0o755)
    r = run("-tree-width", 1, "-flat-hosts", 1, "-launcher-exec", chain, "-hosts",
            "localhost,good,bad", "-n", 1, "echo", "started")
    same((r.status, r.out, len(r.messages)), (0, b"started\n", 1), f"one that is tried first: {r}")
    r = run("-hosts", hosts, "-n", 2, "-v", "true")
    same((r.status, [m for m in r.messages if ": launch: " in m]), (0, []), "no time of an answer")


@test("check 7: SIGTERM ends with 143, and nothing is left")
def check_7():
    job = Job("-launcher", "fork", "-hosts", "localhost:2,a:2,b:2", CHORE, "show")
    job.wait_text("ready", 6)
    job.kill(signal.SIGTERM)
    same(job.finish().status, 143, "status")


@test("check 8: SIGKILL of the launcher leaves nothing on any host")
def check_8():
    job = Job("-launcher", "fork", "-hosts", "localhost:2,a:2,b:2", CHORE, "show")
    job.wait_text("ready", 6)
    job.kill(signal.SIGKILL)
    job.popen.wait(LIMIT)
    nothing_left(job.mark)


@test("check 10: -bind-to core stays within the processors that the launcher has")
def check_10():
    last = max(os.sched_getaffinity(0))
    r = run("-n", 2, "-bind-to", "core", *SH, "taskset -cp $$", prefix=["taskset", "-c", str(last)])
    same([x.rpartition(": ")[2] for x in r.lines], [str(last)] * 2, f"processors in {r}")


@rows([(f"check 11: -n {n} is a usage error", n) for n in ("abc", "0", "-1", "2x", "")])
def check_11(n):
    r = run(f"-n={n}", "true")
    same((r.status, len(r.messages), r.out), (2, 1, b""), f"end of {r}")
    need(r.messages[0].startswith("mpiexec_lite: -n=: ") or "-n: " in r.messages[0] or
         f"'{n}'" in r.messages[0], "option and word", r.messages)


@test("check 13: the same programs by ':' and by -configfile have the same ranks and appnums")
def check_13():
    who = "echo $PMI_RANK $PMI_SIZE $PMI_APPNUM $1"
    direct = good("-n", 2, *SH, who, "-", "a b", ":", "-n", 1, *SH, who, "-", "c", ":", *SH, who, "-")
    file = write_file(tmp() + "/job", f"""# two lines and a ':'
-n 2 /bin/sh -c '{who}' - "a b"
-n 1 /bin/sh -c '{who}' - \\
    c : /bin/sh -c '{who}' -
""")
    same(sorted(good("-configfile", file).lines), sorted(direct.lines), "tables")
    same(sorted(direct.lines), ["0 4 0 a b", "1 4 0 a b", "2 4 1 c", "3 4 2"], "table")


# --- what is new --------------------------------------------------------------------------

@rows([("-soft: six slots", 6, 5), ("-soft: a hundred", 100, 8), ("-soft: two", 2, 2)])
def soft(slots, started):
    r = good("-n", 10, "-soft", "2:8:3", "-ppn", slots, "echo", "here")
    same(len(r.lines), started, "processes")


@test("-soft: one slot is not enough")
def soft_fails():
    same(run("-n", 10, "-soft", "2:8:3", "-ppn", 1, "true").status, 2, "status")


@test("-arch: the kind of machine of every host, or nothing is started")
def arch():
    here = os.uname().machine
    for hosts in ("localhost:1", "localhost:1,a:1"):
        more = ("-launcher", "fork", "-hosts", hosts)
        good(*more, "-arch", here.upper(), "true")
        r = run(*more, "true", ":", "-n", 3, "-arch", "vax", *SH, "echo started")
        same((r.status, r.out, len(r.messages)), (255, b"", 1), f"end of {r}")
        need(here in r.messages[0] and "vax" in r.messages[0], "both kinds", r.messages)


@test("-rankmap puts ranks where it says, and -print-rank-map shows it")
def rankmap():
    r = good("-launcher", "fork", "-hosts", "a:4,b,c", "-rankmap", "(vector,(1,2,2),(0,1,1))", "-n", 7,
             "-print-rank-map", "true")
    same(r.lines, ["(a:4)", "(b:0,1,5,6)", "(c:2,3)"], "map")
    r = good("-launcher", "fork", "-hosts", "a,b", "-rankmap", "1,1,0", "-prepend-pattern", "%r %p ",
             "echo")
    same(sorted(x.split() for x in r.lines), [["0", "1"], ["1", "1"]], "nodes")


@test("-hybrid-hosts: pmi2_proxy of PATH is started")
def hybrid():
    write_file(tmp() + "/pmi2_proxy", f"#!/bin/sh\necho >>{tmp()}/calls\n"
               f"exec {os.path.dirname(os.path.abspath(LAUNCHER))}/pmi2_proxy \"$@\"\n", 0o755)
    same(len(good("-launcher", "fork", "-hosts", "a,b", "-hybrid-hosts", "echo",
                  env={"PATH": f"{tmp()}:{os.environ['PATH']}"}).lines), 2, "processes")
    same(os.path.getsize(tmp() + "/calls"), 2, "calls")


@test("-file: options of one program, which the command line beats")
def file():
    os.mkdir(tmp() + "/w")
    f = write_file(tmp() + "/f", f"# options\nwdir = {tmp()}/w\nn = 3\nenv = A=file\nenv = B=b c\n")
    r = good("-file", f, "-n", 2, "-env", "A", "typed", *SH, "echo $A $B $PWD", ":", *SH, "echo ${A-none}")
    same(sorted(r.lines), ["none"] + [f"typed b c {tmp()}/w"] * 2, "output")


@test("-memory-alloc-kinds is what PMI_mpi_memory_alloc_kinds says, on all hosts")
def kinds():
    ask = py("""
        c = Client(2)
        print(c.ask("cmd=info-getjobattr;key=PMI_mpi_memory_alloc_kinds;").get("value"))
        c.finalize()
        """)
    r = good("-launcher", "fork", "-hosts", "localhost,a", "-memory-alloc-kinds", "system,mpi:alloc_mem",
             *ask)
    same(r.lines, ["system,mpi:alloc_mem"] * 2, "kinds")
    same(good("-n", 1, *ask).lines, ["None"], "kinds without it")


@test("-initial-errhandler reaches the programs")
def errhandler():
    r = good("-initial-errhandler", "mpi_errors_return", *SH, "echo $OMPI_MCA_mpi_initial_errhandler")
    same(r.lines, ["mpi_errors_return"], "variable")


@test("-disable-hostname-propagation: no PMI_HOSTNAME, on any host")
def no_hostname():
    r = good("-disable-hostname-propagation", "-launcher", "fork", "-hosts", "localhost,a", *SH,
             "echo ${PMI_HOSTNAME-none}")
    same(r.lines, ["none"] * 2, "variable")


@rows([("the user's configuration file is read where none is named", {}, "[0] x"),
       ("-noconf: it is not", {"words": ["-noconf"]}, "x"),
       ("HYDRA_CONFIG_FILE beats it", {"named": True}, "0: x"),
       ("-configfile beats both", {"named": True, "given": True}, "here x")])
def configfiles(how, wanted):
    write_file(tmp() + "/.mpiexec.hydra.conf", "-l\n")
    named = write_file(tmp() + "/named", "-prepend-pattern '%r: '\n")
    given = write_file(tmp() + "/given", "-prepend-pattern 'here '\n")
    env = {"HOME": tmp(), **({"HYDRA_CONFIG_FILE": named} if how.get("named") else {})}
    words = how.get("words", []) + (["-configfile", given] if how.get("given") else [])
    same(good(*words, "echo", "x", env=env).lines, [wanted], "output")


@test("mpirun_rsh: variables before the program, and its file of programs")
def mpirun_rsh():
    same(sorted(good("-np", 2, "-export", "A=1", "B=x=y", *SH, "echo $A $B").lines), ["1 x=y"] * 2,
         "variables")
    f = write_file(tmp() + "/f", "-n 2 : echo a b\n-n 1 : A=3 /bin/sh -c 'echo $A'\n")
    same(sorted(good("-config", f).lines), ["3", "a b", "a b"], "programs")


@test("srun: -o, -e, -i, --export, -l, -K")
def srun():
    f = write_file(tmp() + "/in", "from a file\n")
    good("-n", 2, "-o", tmp() + "/o.%t", "-e", tmp() + "/e.%t", "-i", f, "--export=A=1,PATH", *SH,
         "echo $A ${HOME-none}; cat; echo e >&2")
    same(open(tmp() + "/o.0").read(), "1 none\nfrom a file\n", "output of rank 0")
    same([open(f"{tmp()}/{x}").read() for x in ("o.1", "e.0", "e.1")], ["1 none\n", "e\n", "e\n"],
         "other files")
    r = run("-K", "--label", "-n", 2, *SH, "[ $PMI_RANK = 0 ] && exit 3; sleep 1000")
    same(r.status, 3, "status with -K")


@test("Open MPI: --output-filename, --output tag,merge, --timestamp-output")
def open_mpi():
    good("-np", 2, "--output-filename", tmp() + "/d", *SH, "echo $PMI_RANK; echo e >&2")
    same([open(f"{tmp()}/d/rank.{i}/{x}").read() for i in range(2) for x in ("stdout", "stderr")],
         ["0\n", "e\n", "1\n", "e\n"], "files")
    r = good("-np", 1, "--output", "tag,merge", *SH, "echo e >&2")
    same((r.lines, r.err), (["[0] e"], b""), "--output")
    need(re.fullmatch(r"\[\d+\] \[0\] x", good("--tag-output", "--timestamp-output", "echo", "x").lines[0]),
         "label")


@test("Open MPI: --display map,bindings, and what it does not show; mpirun_rsh: -show runs nothing")
def displays():
    r = run("-np", 2, "--display", "map,bindings", "--bind-to", "core", "echo", "x")
    need(r.lines.count("x") == 2 and any(f"({HOST}:0,1)" in x for x in r.lines), "the map", r)
    need(sum("rank" in x and "B" in x for x in r.messages) == 2, "the bindings", r)
    r = run("--display", "allocation", "true")
    same((r.status, r.messages), (2, ["mpiexec_lite: --display: 'allocation' is not map or bindings; "
                                      "-explain shows the rest, and starts nothing"]), "another")
    for option in "-show", "--do-not-launch":
        r = good(option, "-np", 2, "touch", "made", cwd=tmp())
        need("Programs" in r.lines and not os.path.exists(tmp() + "/made"),
             "told only", r)


@rows([(f"srun: --cpu-bind={words} is {' '.join(ours)}", words, ours) for words, ours in (
    ("none", ["-bind-to", "none"]), ("no,quiet", ["-bind-to", "none"]),
    ("cores", ["-bind-to", "core"]), ("q,threads", ["-bind-to", "hwthread"]),
    ("sockets", ["-bind-to", "socket"]), ("ldoms", ["-bind-to", "numa"]),
    ("boards", ["-bind-to", "machine"]), ("rank", ["-bind-to", "rr"]),
    ("verbose,cores", ["-report-bindings", "-bind-to", "core"]),
    ("map_cpu:0,0", ["-bind-to", "user:0,0"]))])
def cpu_bind(words, ours):
    def settings(*options):
        said = json.loads(good("-explain", "-json", *options, "true").out)["settings"]
        return [(x["option"], x.get("value")) for x in said if x["option"] != "cpu-bind"]
    same(settings(f"--cpu-bind={words}"), settings(*ours), "what is set")


@test("srun: --cpu-bind of a word that is not known")
def cpu_bind_unknown():
    same(run("--cpu-bind=mask_cpu:0x1", "true").messages,
         ["mpiexec_lite: --cpu-bind: 'mask_cpu:0x1' is not known; use -bind-to or "
          "-map-by"], "the message")


main()

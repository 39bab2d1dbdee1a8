#!/usr/bin/env -S python3 -B
"""Debuggers that know MPIR only: gdb, driven as one, on the stripped launcher.

T1 to T11 are the tests of this name in the list of what tools need."""

import concurrent.futures
import json
import re
import time

from mpirlib import *
from pmixlib import tools_socket

CHORE = prog("chore")
MPI = prog("mpi_ranks")
SLURM = prog("slurm_all")
SCRIPT = os.path.join(B, "test", "sys-progs", "mpir.sh")
WHERE = [("here", ()), ("on hosts", ("-launcher", "fork", "-hosts", "a,b"))]
SYMBOLS = {"MPIR_Breakpoint", "MPIR_acquired_pre_main", "MPIR_being_debugged",
           "MPIR_debug_abort_string", "MPIR_debug_state", "MPIR_i_am_starter",
           "MPIR_ignore_queues", "MPIR_partial_attach_ok", "MPIR_proctable",
           "MPIR_proctable_size", "MPIR_executable_path", "MPIR_server_arguments",
           "MPIR_attach_fifo", "totalview_jobid", "mpiexec_lite_is_starter"}


@test("T1, R3: the stripped launcher has the symbols, and no other")
def symbols():
    out = subprocess.run(["nm", "-D", "--defined-only", STRIPPED], check=True, text=True,
                         stdout=subprocess.PIPE).stdout
    seen = {line.split()[-1].split("@")[0] for line in out.splitlines()}
    same({x for x in seen if not x.startswith("_")} & SYMBOLS, SYMBOLS, "symbols")
    same({x for x in seen if x.startswith(("MPIR", "totalview", "mpiexec"))}, SYMBOLS, "symbols")


HELD = [("one MPI rank", (1, MPI), [MPI]), ("two MPI ranks", (2, MPI), [MPI] * 2),
        ("eight ranks without MPI", (8, "/bin/true"), ["/bin/true"] * 8),
        ("a script", (1, SCRIPT), ["/bin/sh"]),
        ("two programs", (1, SLURM, "finalize", ":", "-n", 2, "/bin/true"),
         [SLURM, "/bin/true", "/bin/true"])]


@rows([(f"T2, T3, R4: started by a debugger, all are held at exec; then they go on: {what}", *more)
       for what, *more in HELD])
def held(words, images):
    d = Debugger("launch()\nsee('spawned')\ngdb.execute('continue')\n", "-n", *words)
    said = d.finish()
    same(len(said), 1, f"times that it stopped: {d.text()}")
    seen = said[0]
    same((seen["state"], len(seen["table"])), (1, len(images)), "state and size")
    for x, image in zip(seen["table"], images):
        same(x["now"], ["T", 0, os.path.realpath(image)], f"a rank held: {x}")
        same(x["host"], os.uname().nodename, "its host")
        if image != "/bin/sh":
            same(x["program"], os.path.realpath(image), "its program")
    need(seen["jobid"], "the job's name")
    ended_with(d, 0)


@test("T2: ranks of other hosts are held, and in the table")
def held_far():
    d = Debugger("launch()\nsee('spawned')\ngdb.execute('continue')\n", "-launcher", "fork", "-hosts",
                 "a,b,c", "-n", 6, MPI, env={"HYDRA_LAUNCHER_AUTOFORK": "0"})
    seen = d.finish()[0]["table"]
    same([x["host"] for x in seen], list("abcabc"), "hosts")
    same([x["now"] for x in seen], [["T", 0, os.path.realpath(MPI)]] * 6, "states")
    ended_with(d, 0)


@test("T3: the status is the job's")
def status():
    d = Debugger("launch()\ngdb.execute('continue')\n", "-n", 2, *SH, "exit 5")
    d.finish()
    ended_with(d, 5)


@test("T3: a table of many rows")
def many():
    d = Debugger("launch()\nt = table()\nsay(pids=len({x['pid'] for x in t}), now=list({tuple(x['now'])"
                 " for x in t}))\ngdb.execute('continue')\n", "-n", 200, "/bin/true")
    same(d.finish()[0], {"pids": 200, "now": [["T", 0, os.path.realpath("/bin/true")]]}, "table")
    ended_with(d, 0)


@rows([(f"T4: a rank that somebody traces is his; the others go on, {what}", options)
       for what, options in WHERE])
def traced(options):
    code = (f"launch()\nsee('spawned')\nawait_file({os.path.join(tmp(), 'traced')!r})\n"
            "gdb.execute('continue')\n")
    d = Debugger(code, *options, "-n", 2, *SH, "echo went $PMI_RANK", env=FORK if options else None)
    pid = d.wait_said(1)[0]["table"][0]["pid"]
    go = os.path.join(tmp(), "go-on")
    one = Debugger(f"say(at='rank')\nawait_file({go!r})\ngdb.execute('detach')\n", attach=pid)
    one.wait_said(1)
    write_file(os.path.join(tmp(), "traced"), "")
    wait_for(lambda: "went 1" in d.text(), "the other rank goes on")
    need("went 0" not in d.text(), "the traced rank stays", d.text())
    same(stat(pid)[0], "t", "its state")
    write_file(go, "")
    one.finish(clean=False)
    wait_for(lambda: stat(pid)[0] == "T", "it is left stopped, as gdb does")
    os.kill(pid, signal.SIGCONT)
    d.finish()
    need("went 0" in d.text(), "it goes on", d.text())
    ended_with(d, 0)


@test("T5: attached to ten times, a running launcher shows the same table and is not harmed")
def attached():
    job = Job("-n", 3, CHORE, "show")
    job.wait_text("ready", 3)
    seen = []
    wait_for(lambda: Debugger("see('attached')\n", attach=job.pid).finish(clean=False)[0]["table"],
             "the table, soon after the start")
    for _ in range(10):
        d = Debugger(f"gdb.execute('set {{int}}&MPIR_being_debugged = 1')\nsee('attached')\n"
                     "gdb.execute('set {int}&MPIR_being_debugged = 0')\ngdb.execute('detach')\n",
                     attach=job.pid)
        seen.append([(x["host"], x["program"], x["pid"]) for x in d.finish(clean=False)[0]["table"]])
    same(len(seen[0]), 3, "ranks")
    need(all(x == seen[0] for x in seen), "the same table each time", seen)
    same({x[1] for x in seen[0]}, {os.path.realpath(CHORE)}, "programs")
    job.kill(signal.SIGTERM)
    same(job.finish().status, 143, "status")


WORDS = ["two words", "'quoted'", "é;=%"]
DAEMON = ("import os, sys\nprint('daemon', os.environ['PMI_RANK'], os.environ['PMI_SIZE'], "
          "os.environ['HERE'], sys.argv[1:], flush=True)\nsys.stdin.read()\n"
          "import signal\nsignal.pause()\n")


@test("T7: MPIR_executable_path: one daemon on each host before the debugger is told; in no table, "
      "not counted")
def daemons():
    script = os.path.join(tmp(), "daemon.py")
    write_file(script, "#!/usr/bin/env python3\n" + DAEMON, 0o755)
    go = os.path.join(tmp(), "go")
    d = Debugger(f"launch({script!r}, *{WORDS})\nsee('spawned')\nawait_file({go!r})\ngdb.execute('continue')\n",
                 "-launcher", "fork", "-hosts", "a,b,c", "-n", 5, "-ppn", 2, *SH,
                 "echo rank $PMI_RANK of $PMI_SIZE", env={"HYDRA_LAUNCHER_AUTOFORK": "0", "HERE": "there"})
    wait_for(lambda: d.text().count("daemon ") >= 3, "three daemons")
    write_file(go, "")
    said = d.finish()                    # that it comes back shows that they end with the job
    same((len(said), len(said[0]["table"])), (1, 5), "the table")
    same({x["now"][0] for x in said[0]["table"]}, {"T"}, "ranks are held meanwhile")
    lines = d.text().splitlines()
    same(sorted(x for x in lines if x.startswith("daemon ")),
         [f"daemon {i} 3 there {WORDS}" for i in range(3)], "daemons")
    same(sorted(x for x in lines if x.startswith("rank ")), [f"rank {i} of 5" for i in range(5)], "ranks")
    ended_with(d, 0)


@rows([(f"T7: a daemon that cannot be started is told of, and the debugger goes on without, {what}", options)
       for what, options in WHERE])
def no_daemons(options):
    d = Debugger("launch('/nowhere/daemon')\nsee('spawned')\ngdb.execute('continue')\n", *options, "-n", 2,
                 *SH, "exit 3", env=FORK if options else None)
    same([x["state"] for x in d.finish()], [1], d.text())
    where = "[ab]: cannot start rank . " if options else "/nowhere/daemon: "
    need(re.search(rf"daemons were not started: {where}.*No such file", d.text()), "why, and where", d.text())
    ended_with(d, 3)


@test("T7: daemons that fail or end do not matter to the job")
def daemons_end():
    for program in "/bin/false", "/bin/true":
        d = Debugger(f"launch({program!r})\nsee('spawned')\ngdb.execute('continue')\n", "-n", 2, *SH,
                     "sleep 0.2; exit 4")
        d.finish()
        ended_with(d, 4)


@test("T7: attached to later: a byte into MPIR_attach_fifo starts daemons, again and again")
def attach_fifo():
    job = Job("-launcher", "fork", "-hosts", "a,b", "-n", 3, CHORE, "show", env=FORK)
    job.wait_text("ready", 3)
    wait_for(lambda: Debugger("see('attached')\n", attach=job.pid).finish(clean=False)[0]["table"],
             "the table, soon after the start")
    for i in range(2):
        code = (f"gdb.execute(f'set {{FLAG}} = 1')\nwant_daemons('/bin/echo', 'turn {i}', 'x')\nfifo()\n"
                "gdb.execute('break MPIR_Breakpoint')\ngdb.execute('continue')\nsee('spawned')\n"
                "gdb.execute(f'set {FLAG} = 0')\ngdb.execute('detach')\n")
        said = Debugger(code, attach=job.pid).finish(clean=False)
        same((said[0]["state"], [x["now"][:2] for x in said[0]["table"]]), (1, [["S", 0]] * 3), "ranks run")
        job.wait_text(f"turn {i} x", 2)
    job.kill(signal.SIGTERM)
    same(job.finish().status, 143, "status")


@rows([(f"T8: an abort stops the launcher once more, and says why, {what}", options)
       for what, options in WHERE])
def aborted(options):
    d = Debugger("launch()\nsee('spawned')\ngdb.execute('continue')\nsee('aborting')\n"
                 "gdb.execute('continue')\n", *options, "-n", 2, SLURM, "abort", 3,
                 env=FORK if options else None)
    said = d.finish()
    same([x["state"] for x in said], [1, 2], f"states: {d.text()}")
    same(said[1]["abort"], "a reason;with=all\\x1B[31m", "why, safe for a terminal")
    same([x["pid"] for x in said[1]["table"]], [x["pid"] for x in said[0]["table"]], "the same table")
    ended_with(d, 1)


@rows([(f"T11, R11: {whom} SIGKILLed while ranks are held: nothing is left", whom)
       for whom in ("front", "root", "proxy")])
def killed(whom):
    words = ("-launcher", "fork", "-hosts", "a,b") if whom == "proxy" else ()
    d = Debugger("launch()\nsee('spawned')\nimport time\ntime.sleep(3600)\n", *words, "-n", 4, CHORE,
                 "ignore", env={"HYDRA_LAUNCHER_AUTOFORK": "0"} if words else None)
    table = d.wait_said(1)[0]["table"]
    mine = {p: proc_bytes(p, "cmdline") for p in left(d.mark)}
    fronts = [p for p, c in mine.items() if c.startswith(STRIPPED.encode())]
    front = min(fronts, key=lambda p: stat(p)[1] in fronts)
    victim = {"front": front, "root": next(p for p in fronts if p != front),
              "proxy": stat(table[0]["pid"])[1]}[whom]
    os.kill(victim, signal.SIGKILL)
    wait_for(lambda: not any(alive(x["pid"]) for x in table if whom != "proxy" or
                             x["host"] == table[0]["host"]), "held ranks are gone")
    os.kill(d.popen.pid, signal.SIGKILL)             # and with it the launcher that it holds
    d.popen.wait()
    nothing_left(d.mark)


class Tool:
    """pmix_tool, for one launcher."""

    def __init__(self, job):
        pid = getattr(job, "pid", job)
        self.words = [os.path.join(B, "bin", "pmix_tool"), "--pid", str(pid)]
        entry = tools_socket(pid)[:-2]
        wait_for(lambda: os.path.exists(entry), "its entry")

    def run(self, *words):
        r = subprocess.run([*self.words, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        need(r.returncode == 0, f"pmix_tool {words}", r.stderr)
        return r.stdout

    def table(self):
        """The pids, by rank; 0 where it is not known."""
        return [x["pid"] for j in json.loads(self.run("--json", "proctable"))["jobs"]
                for x in j["ranks"]]

    def resume(self):
        self.run("resume")


def rows_of(tool):
    """Its job's name, and (host, program, pid) of its ranks, as a debugger has them."""
    job, = json.loads(tool.run("--json", "proctable"))["jobs"]
    return job["nspace"], [[x[k] for k in ("host", "program", "pid")] for x in job["ranks"]]


@rows([(f"T6, R1, R2, R9: while a debugger has the launcher stopped at its breakpoint, several tools get "
        f"its job and table by its pid, {what}", options) for what, options in WHERE])
def answered(options):
    go = os.path.join(tmp(), "go")
    d = Debugger(f"launch()\nsee('spawned')\nawait_file({go!r})\ngdb.execute('continue')\n", *options, "-n",
                 4, MPI, env=FORK if options else None)
    seen = d.wait_said(1)[0]
    same(stat(seen["pid"])[0], "t", "the launcher is stopped")
    mine = seen["jobid"], [[x[k] for k in ("host", "program", "pid")] for x in seen["table"]]
    tools = [Tool(seen["pid"]) for _ in range(3)]
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        same(list(pool.map(rows_of, tools)), [mine] * 3, "what tools see")
    stacks = json.loads(tools[0].run("--json", "stack"))
    same(stacks["unavailable"], [], "and where the ranks are")
    same({stat(x["pid"])[0] for x in seen["table"]}, {"T"}, "they are held on")
    write_file(go, "")
    d.finish()
    ended_with(d, 0)


@test("T6: a debugger that has attached stops the launcher: tools are answered, output comes, the job ends")
def answered_attached():
    go, done = os.path.join(tmp(), "go"), os.path.join(tmp(), "done")
    job = Job("-n", 2, *SH, f"while ! [ -e {go} ]; do sleep 0.02; done; seq 100000; exit 3")
    tool = Tool(job.pid)
    d = Debugger(f"say(at='launcher')\nawait_file({done!r})\ngdb.execute('detach')\n", attach=job.pid)
    d.wait_said(1)
    same((stat(job.pid)[0], len(rows_of(tool)[1])), ("t", 2), "stopped; ranks that a tool sees")
    write_file(go, "")
    job.wait_text("\n100000\n", 2)
    write_file(done, "")
    d.finish(clean=False)
    same(job.finish().status, 3, "status")


@test("T9: the launcher stays at its breakpoint much longer than a lease: nothing times out, and a signal waits")
def stays():
    for signo in (0, signal.SIGTERM):
        go = os.path.join(tmp(), f"go{signo}")
        d = Debugger(f"launch()\nsee('spawned')\nawait_file({go!r})\ngdb.execute('continue')\n", *WHERE[1][1],
                     "-lease", 2, "-heartbeat", 0.2, "-launch-timeout", 2, "-n", 4, MPI, env=FORK)
        seen = d.wait_said(1)[0]
        if signo:
            os.kill(seen["pid"], signo)
        time.sleep(0.5 if signo else 5)      # an event cannot show that nothing comes
        same({stat(x["pid"])[0] for x in seen["table"]}, {"T"}, "ranks are held on")
        write_file(go, "")
        d.finish()
        if signo:
            need("SIGTERM" in d.text() and "exited" not in d.text(), "it ends by the signal", d.text())
        else:
            ended_with(d, 0)


HELD = [(f"{how}, {what}", how, options) for how in ("-stop-on-exec", "-stop-in-init")
        for what, options in WHERE]


@rows([(f"T13: unmodified programs are held until a tool resumes them: {what}", *more)
       for what, *more in HELD])
def held_until(how, options):
    for program, mode in ((MPI, ()), (SLURM, ("finalize",))):
        job = Job(*options, how, "-n", 4, program, *mode, env=FORK if options else None)
        tool, state = Tool(job), "T" if how == "-stop-on-exec" else "S"
        wait_for(lambda: (t := tool.table()) and len(t) == 4 and
                 all(p and stat(p) and stat(p)[0] == state and
                     os.readlink(f"/proc/{p}/exe") == os.path.realpath(program) for p in t),
                 f"four ranks in {state}")
        need(not job.text(), "none has written anything", job.text())
        tool.resume()
        same(job.finish().status, 0, f"status of {program}")


@test("held at exec, SIGCONT lets one rank go on")
def one_goes_on():
    job = Job("-stop-on-exec", "-n", 2, *SH, "echo went $PMI_RANK")
    tool = Tool(job)
    pids = wait_for(lambda: (t := tool.table()) and all(t) and t, "two ranks")
    os.kill(pids[1], signal.SIGCONT)
    job.wait_text("went 1")
    same(stat(pids[0])[0], "T", "the other one")
    tool.resume()
    r = job.finish()
    same((r.status, sorted(r.lines)), (0, ["went 0", "went 1"]), "end")


@rows([(f"{how}: {signo.name} ends a job that is held, soon", how, signo)
       for how in ("-stop-on-exec", "-stop-in-init") for signo in (signal.SIGTERM, signal.SIGINT)])
def ended_while_held(how, signo):
    job = Job(how, "-n", 3, MPI)
    tool = Tool(job)
    wait_for(lambda: (t := tool.table()) and len(t) == 3 and all(t), "three ranks")
    job.kill(signo)
    same(job.finish().status, 128 + signo, "status")


strip()
write_file(SCRIPT, "#!/bin/sh\nexit 0\n", 0o755)
main(2)

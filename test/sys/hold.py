#!/usr/bin/env -S python3 -B
"""Ranks that are held for a debugger: where, which of them, told once when all wait, let go by
an event, a command or SIGCONT; and that none outlives who holds it."""

import json
import os
import re
import signal

from lib import *
from pmixlib import *

MPI, SLURM = prog("mpi_ranks"), prog("slurm_all")
READY, RELEASE, JOB_END, JOB_START, LAUNCHED, RELEASED = -58, -3, -145, -191, -174, -2903
RUNNING, CONNECTED, IS_HELD = 5, 6, 14
BAD_PARAM, NO_PERMISSIONS, MISMATCH = -27, -23, -18
EXEC, INIT, APP = "pmix.dbg.exec", "pmix.dbg.init", "pmix.dbg.notify"
PLACE = {EXEC: "exec", INIT: "pmix-init", APP: "app"}
CHAIN = ["-launcher", "fork", "-hosts", "a,b,c", "-ppn", "2", "-flat-hosts", "1", "-tree-width", "1"]
FORK = {"HYDRA_LAUNCHER_AUTOFORK": "0"}
PMIX_TOOL = os.path.join(B, "bin", "pmix_tool")


def listen(tool, *codes):
    good(tool.call("pmix-event-register", codes=list(codes)))
    return tool


def heard(tool):
    m = tool.event("pmix-event")
    return m["status"], dict(plain(i) for i in m["infos"])


def release(tool, *procs):
    targets = info("pmix.evrange", "DATA_ARRAY", {"type": "PMIX_PROC", "array": list(procs)})
    return good(tool.call("pmix-notify", status=str(RELEASE), range="6", infos=[targets]))


def table(tool, name):
    """The pids of a job's ranks, in order; 0 where it is not known."""
    r = good(tool.call("pmix-query", queries=[query("pmix.qry.ptable", qualifiers=[
        info("pmix.nspace", "STRING", name)])]))
    return [p["pid"] for p in results(r)[0][2]]


def in_state(pid, state, program):
    return bool(pid and stat(pid) and stat(pid)[0] == state and
                os.readlink(f"/proc/{pid}/exe") == os.path.realpath(program))


def tracer(pid):
    return int(re.search(rb"TracerPid:\t(\d+)", proc_bytes(pid, "status"))[1])


def only_job(tool):
    return answer(results(good(tool.call("pmix-query", queries=[query("pmix.qry.ns")])))[0])


def job_name(tool):
    r = good(tool.call("pmix-query", queries=[query("pmix.qry.ns")]))
    return results(r)[0][2].split(",")[0]


def act(job, *words):
    await_entry(job)
    r = subprocess.run([PMIX_TOOL, "--pid", str(job.pid), *map(str, words)], capture_output=True, text=True,
                       timeout=LIMIT, env=environment(new_mark()))
    same(r.returncode, 0, f"pmix_tool {words}: {r.stderr}")
    return r.stdout


CASES = [(f"{what}, {where}, {place}", options, place, program, mode, ranks)
         for where, options in (("here", ["-n", 4]), ("on three nodes", [*CHAIN, "-n", 6]))
         for place, what, program, mode in (("exec", "an mpich program", MPI, ()),
                                            ("init", "an mpich program", MPI, ()),
                                            ("exec", "a program of Slurm's libpmi2", SLURM, ("finalize",)),
                                            ("init", "a program of Slurm's libpmi2", SLURM, ("finalize",)))
         for ranks in ("1,3", )]


@rows([(f"R4, R23-03, R23-25, T13: some ranks of {title} are held, told once, let go one by one", *more)
       for title, *more in CASES])
def some(options, place, program, mode, ranks):
    job = Job("-hold", f"{place}:{ranks}", *options, program, *mode, env=FORK if "-hosts" in options else None)
    tool = listen(Tool(job), READY)
    name, state = job_name(tool), "T" if place == "exec" else "S"
    status, keys = heard(tool)
    same((status, keys["pmix.nspace"], keys["pmix.brkpnt"]),
         (READY, name, "exec" if place == "exec" else "pmix-init"), "what is told")
    pids = wait_for(lambda: (t := table(tool, name)) and all(t) and t, "the table")
    for rank in (1, 3):
        wait_for(lambda r=rank: in_state(pids[r], state, program), f"rank {rank} in {state}, its own image")
        same(tracer(pids[rank]), 0, "who traces it")
    release(tool, proc(name, 1))
    if place == "exec":
        wait_for(lambda: not in_state(pids[1], "T", program), "rank 1 goes on")
        need(in_state(pids[3], "T", program), "rank 3 stays")
    release(tool, proc(name, "wildcard"))
    same(job.finish().status, 0, "end")
    need(not tool.unasked, "it is told once", tool.unasked)


@test("R23-24: a rank that comes to init after it was released is not held")
def released_before():
    job = Job("-hold", "init", "-n", 2, "/bin/sh", "-c", f"while [ ! -e {tmp()}/go ]; do sleep 0.02; done; "
              f"exec {MPI}")
    tool = Tool(job)
    wait_for(lambda: all(table(tool, job_name(tool))), "they run")
    release(tool, proc(job_name(tool), "wildcard"))
    write_file(f"{tmp()}/go", "")
    same(job.finish().status, 0, "end")


@rows([(f"pmix_tool {word} lets ranks go on that are held at {place}", word, place)
       for word in ("release", "resume") for place in ("exec", "init")])
def by_command(word, place):
    job = Job("-hold", place, "-n", 3, MPI)
    tool = listen(Tool(job), READY)
    heard(tool)
    act(job, word, ":0-1")
    act(job, word)
    same(job.finish().status, 0, "end")


def states(tool, name):
    r = good(tool.call("pmix-query", queries=[query("pmix.qry.ptable", qualifiers=[info("pmix.nspace", "STRING", name)])]))
    return [p["state"] for p in results(r)[0][2]]


@rows([("SIGCONT lets a rank go on that is held at exec, and the launcher knows it, " + w, options)
       for w, options in (("here", ["-n", 2]), ("on another node", ["-launcher", "fork", "-hosts", "a,b", "-ppn", "1",
                                                                   "-n", 2]))])
def by_signal(options):
    job = Job("-hold", "exec", *options, "/bin/sh", "-c", "echo went $PMI_RANK; sleep 600",
              env=FORK if "-hosts" in options else None)
    tool = listen(Tool(job), READY, RELEASED)
    heard(tool)
    name = job_name(tool)
    same(states(tool, name), [IS_HELD, IS_HELD], "what the table says")
    need(act(job, "ps").count(" held ") == 2 and "held" in act(job, "status"), "and the tool")
    os.kill(table(tool, name)[1], signal.SIGCONT)
    job.wait_text("went 1")
    same(heard(tool)[0], RELEASED, "it is told")
    same(states(tool, name), [IS_HELD, RUNNING], "the other stays")
    need("running" in act(job, "status") and "held" not in act(job, "status"), "the job's status")
    act(job, "release")
    job.wait_text("went 0")
    job.kill(signal.SIGTERM)
    job.finish()


@rows([("the launcher is stopped at its terminal and goes on: ranks that are held stay so, " + w, options)
       for w, options in (("here", ["-n", 2]), ("on another node", ["-launcher", "fork", "-hosts", "a,b", "-ppn", "1",
                                                                   "-n", 2]))])
def stopped_launcher(options):
    job = Job("-hold", "exec:1", *options, "sleep", 600, env=FORK if "-hosts" in options else None)
    tool = listen(Tool(job), READY)
    heard(tool)
    pids = table(tool, job_name(tool))
    job.kill(signal.SIGTSTP)
    wait_for(lambda: stat(job.pid)[0] == "T" and stat(pids[0])[0] == "T", "all are stopped")
    job.kill(signal.SIGCONT)
    wait_for(lambda: stat(pids[0])[0] == "S", "who was not held goes on")
    same(states(tool, job_name(tool)), [RUNNING, IS_HELD], "who was, waits")
    same(stat(pids[1])[0], "T", "as the kernel says")
    act(job, "signal", "CONT", ":1")
    wait_for(lambda: stat(pids[1])[0] == "S", "until a tool sends it SIGCONT")
    job.kill(signal.SIGTERM)
    job.finish()


# Without ptrace, as in some containers: run the words behind.
NO_PTRACE = """
import ctypes, os, struct, sys
number = {"x86_64": 101, "aarch64": 117}[os.uname().machine]
code = b"".join(struct.pack("HBBI", *x) for x in (
    (0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x50000 | 1), (0x06, 0, 0, 0x7fff0000)))
held = ctypes.create_string_buffer(code)
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, struct.pack("HxxxxxxQ", 4, ctypes.addressof(held)), 0, 0) == 0
os.execv(sys.argv[1], sys.argv[1:])
"""


@rows([("ranks are held at exec where ptrace is not permitted, as a shell that becomes the program, " + w, options)
       for w, options in (("here", []), ("on another node", ["-launcher", "fork", "-hosts", "a,b", "-ppn", "1"]))])
def without_ptrace(options):
    if os.uname().machine not in ("x86_64", "aarch64"):
        raise Skip("the numbers of this machine's system calls are not known here")
    job = Job("-hold", "exec", *options, "-n", 2, "/bin/sh", "-c", "echo $PMI_RANK \"$1\" $$", "name", "a  b",
              prefix=[sys.executable, "-B", "-c", NO_PTRACE], env=FORK if options else None)
    tool = listen(Tool(job), READY)
    heard(tool)
    pids = table(tool, job_name(tool))
    same([(stat(p)[0], tracer(p)) for p in pids], [("T", 0)] * 2, "stopped, and nobody traces them")
    same(states(tool, job_name(tool)), [IS_HELD] * 2, "as the table says")
    r = subprocess.run([PMIX_TOOL, "stack", "--pid", str(job.pid)], capture_output=True, text=True, timeout=LIMIT,
                       env=environment(new_mark()))
    need(r.returncode == 1 and "Unavailable:" in r.stdout and "2: ranks 0-1" in r.stdout, "stacks cannot be had", r)
    act(job, "release")
    same(sorted(job.finish().lines), [f"{i} a  b {p}" for i, p in enumerate(pids)], "the program, in the same process")


ALL = [("true", None, [0, 1, 2]), ("a rank", ("PROC_RANK", 1), [1]), ("the wildcard", ("PROC_RANK", "wildcard"), [0, 1, 2]),
       ("ranks", ("DATA_ARRAY", {"type": "PMIX_PROC_RANK", "array": [0, 2]}), [0, 2]),
       ("processes", ("DATA_ARRAY", {"type": "PMIX_PROC", "array": [{"nspace": "", "rank": 2}]}), [2])]


@rows([(f"R23-03: a spawn says who is held at exec: {title}, {w}", v, held, options)
       for title, v, held in ALL for w, options in (("one node", []), ("three nodes", CHAIN))])
def spawned(v, held, options):
    job = Job(*options, "-n", 1, "sleep", 600, env=FORK if options else None)
    tool = listen(Tool(job), READY, JOB_END)
    how = info(EXEC, *v) if v else info(EXEC, "BOOL", True)
    name = good(tool.call("pmix-spawn", apps=[{"cmd": "/bin/sleep", "argv": ["sleep", "0"], "maxprocs": 3}],
                          infos=[how]))["nspace"]
    status, keys = heard(tool)
    same((status, keys["pmix.nspace"]), (READY, name), "which job waits")
    pids = table(tool, name)
    wait_for(lambda: [r for r in range(3) if in_state(pids[r], "T", "/bin/sleep")] == held and
             all(r in held or not alive(pids[r]) for r in range(3)), f"{held} wait, the others have ended")
    release(tool, proc(name, "wildcard"))
    status, keys = heard(tool)
    same((status, keys["pmix.nspace"], keys["pmix.exit.code"]), (JOB_END, name, 0), "its end")
    act(job, "kill", job_name(tool))
    job.finish()


@test("R23-04: what is listed as supported for debuggers is taken by a spawn, and of a wrong type refused")
def listed():
    job = Job("-n", 1, "sleep", 600)
    tool = Tool(job)
    r = good(tool.call("pmix-query", queries=[query("pmix.qry.debug", "pmix.qry.spawn")]))
    debug, all_of = (x[2].split(",") for x in results(r))
    need({EXEC, INIT, APP} <= set(debug) <= set(all_of), "the lists", debug, all_of)
    app = [{"cmd": "/bin/true", "argv": ["true"], "maxprocs": 1}]
    for key in (EXEC, INIT, APP):
        for kind, v, status in (("STRING", "x", MISMATCH), ("PROC_RANK", 7, BAD_PARAM),
                                ("PROC_RANK", "local_node", BAD_PARAM),
                                ("DATA_ARRAY", {"type": "PMIX_INT", "array": [1]}, BAD_PARAM)):
            same(tool.call("pmix-spawn", apps=app, infos=[info(key, kind, v)])["status"], status, (key, kind, v))
        good(tool.call("pmix-spawn", apps=app, infos=[info(key, "BOOL", False)]))
    act(job, "kill", job_name(tool))
    job.finish()


def held_here(ranks, state):
    """The node's own server says the same, without the launcher."""
    with Stopped(ranks.job.root()):
        r = good(ranks[1].call("pmix-query", queries=[query("pmix.qry.lptable")]))
    same([p["state"] for p in results(r)[0][2]], [state], "as its own server has it")


@rows([(f"R23-24, R23-25: ranks wait at a place of their own, as they are told to, {w}", options)
       for w, options in (("one node", ["-n", 2]), ("two nodes", ["-launcher", "fork", "-hosts", "a,b", "-ppn", "1",
                                                                 "-n", 2]))])
def in_app(options):
    ranks = Ranks("-hold", "app", *options)
    tool = listen(Tool(ranks.job), READY)
    name = ranks[0].nspace
    for rank in ranks:
        r = good(rank.call("pmix-get", nspace=name, rank='"wildcard"', key=APP))
        same(json.loads(r["value"]) if isinstance(r["value"], str) else r["value"],
             {"type": "PMIX_BOOL", "value": True}, "what it is told")
        listen(rank, RELEASE)
    good(ranks[0].call("pmix-notify", status=str(READY), range="1"))
    good(ranks[0].call("pmix-notify", status=str(READY), range="1"))
    tool.call("pmix-capabilities")
    need(tool.silent(), "one of two is not all", tool.unasked)
    good(ranks[1].call("pmix-notify", status=str(READY), range="1"))
    status, keys = heard(tool)
    same((status, keys["pmix.brkpnt"]), (READY, "app"), "what is told")
    same(states(tool, name), [IS_HELD] * 2, "and in the table")
    if "-hosts" in options:
        held_here(ranks, IS_HELD)
    act(ranks.job, "release")
    same(states(tool, name), [CONNECTED] * 2, "no more")
    if "-hosts" in options:
        held_here(ranks, CONNECTED)
    for rank in ranks:
        same(heard(rank)[0], RELEASE, "each of them hears it")
    same(ranks.finish().status, 0, "end")


@test("of some ranks each asks for itself whether it is to wait; one that is not says READY to nobody")
def some_in_app():
    ranks = Ranks("-hold", "app:1", "-n", 2)
    tool, name = listen(Tool(ranks.job), READY), ranks[0].nspace
    for i, want in ((0, False), (1, True)):
        r = good(ranks[i].call("pmix-get", nspace=name, rank=str(i), key=APP))
        same(plain({"key": APP, **r["value"]})[1], want, f"rank {i}")
    good(ranks[1].call("pmix-notify", status=str(READY), range="1"))
    same(heard(tool)[0], READY, "it alone is all")
    same(ranks.finish().status, 0, "end")


@test("a rank releases its own job and those that it has started, no other")
def who_may():
    ranks = Ranks("-n", 2)
    tool = listen(Tool(ranks.job), READY, JOB_END)
    app = [{"cmd": "/bin/true", "argv": ["true"], "maxprocs": 1}]
    held = [info(EXEC, "BOOL", True)]
    other = good(tool.call("pmix-spawn", apps=app, infos=held))["nspace"]
    own = good(ranks[0].call("pmix-spawn", apps=app, infos=held))["nspace"]
    same([heard(tool)[1]["pmix.nspace"] for _ in range(2)], [other, own], "both wait")
    pid = table(tool, other)[0]
    release(ranks[0], proc(other, "wildcard"))
    release(ranks[0], proc(own, "wildcard"))
    same(heard(tool)[1]["pmix.nspace"], own, "what has ended")
    need(stat(pid)[0] == "T", "the other waits on")
    release(tool, proc(other, "wildcard"))
    same(heard(tool)[1]["pmix.nspace"], other, "then this")
    ranks.finish()


@rows([(f"R11: held at {place} on nodes, {whom} killed: no rank is left", place, whom)
       for place in ("exec", "init") for whom in ("the launcher", "the root", "a proxy", "the tool")])
def left_behind(place, whom):
    job = Job("-hold", place, *CHAIN, "-n", 6, MPI, env=FORK)
    act(job, "events", "-c", "ready_for_debug", "-n", 1)
    if whom == "the tool":                           # which holds nothing
        tool = subprocess.Popen([PMIX_TOOL, "--pid", str(job.pid), "events"], stderr=subprocess.DEVNULL,
                                env=environment(new_mark()))
        tool.kill()
        tool.wait()
        act(job, "release")
        same(job.finish().status, 0, "the job goes on")
        return
    tool = Tool(job)
    proxy = stat(table(tool, job_name(tool))[-1])[1]
    os.kill({"the launcher": job.pid, "the root": job.root(), "a proxy": proxy}[whom], signal.SIGKILL)
    job.finish(clean=False)
    nothing_left(job.mark)


@rows([("T10, R11: a tool that has spawned a held job goes: it ends with it, " + w, *more) for w, *more in (
    ("held at exec, its connection closed", EXEC, "close", False, True),
    ("held in init, its connection closed", INIT, "close", False, True),
    ("it says that it leaves", EXEC, "leave", False, True),
    ("not where it has been let go on", EXEC, "close", True, False),
    ("nor with PMIX_NOHUP", EXEC, "nohup", False, False))])
def owner_gone(key, how, released, ends):
    job = Job("-n", 1, "sleep", 600)
    tool, owner = listen(Tool(job), READY, JOB_END), Tool(job)
    infos = [info(key, "BOOL", True)] + ([info("pmix.nohup", "BOOL", True)] if how == "nohup" else [])
    app = {"cmd": "/bin/sleep", "argv": ["sleep", "600"], "maxprocs": 2} if key == EXEC else \
        {"cmd": MPI, "argv": ["mpi_ranks"], "maxprocs": 2}
    name = good(owner.call("pmix-spawn", apps=[app], infos=infos))["nspace"]
    heard(tool)
    pids = table(tool, name)
    if released:
        release(tool, proc(name, 0))
    if how == "leave":
        owner.call("finalize")
        same([alive(p) for p in pids], [False] * 2, "when that is answered")
    owner.close()
    if ends:
        same(heard(tool)[1]["pmix.nspace"], name, "its end")
        need(not any(alive(p) for p in pids), "it is true")
    else:
        tool.call("pmix-capabilities")
        need(all(alive(p) for p in pids), "they live")
        act(job, "kill", name)
    act(job, "kill", job_name(tool))
    job.finish()


@test("a job that is held ends at its time-out, and when it is killed by a tool")
def ended():
    r = Job("-hold", "exec", "-timeout", 1, "-n", 2, MPI).finish()
    need(r.status not in (0, None), "status", r)
    job = Job("-hold", "init", "-n", 2, MPI)
    act(job, "events", "-c", "ready_for_debug", "-n", 1)
    act(job, "kill")
    need(job.finish().status, "status")


@test("pmix_tool spawn --hold, with a launcher and without one")
def tool_spawn():
    job = Job("-n", 1, "sleep", 600)
    Tool(job)
    name = act(job, "spawn", "--detach", "--hold", "exec:0-1", "-n", 3, "sleep", "0").strip()
    act(job, "events", "-c", "ready_for_debug", "-n", 1)
    act(job, "release", name)
    act(job, "kill", name.rsplit(".", 1)[0])
    job.finish()
    for words in (["--hold", "foo"], ["--hold", "exec:x"], ["--hold", "exec:"]):
        r = subprocess.run([PMIX_TOOL, "spawn", *words, "true"], capture_output=True, text=True, timeout=LIMIT,
                           env=environment(new_mark(), {"PMIX_SERVER_TMPDIR": tmp()}))
        need(r.returncode and "--hold" in r.stderr or "-hold" in r.stderr, "a clear error", r)


@rows([("a place", ["-hold", "foo", "-n", "1"], "want exec, init or app"),
       ("a rank that is not there", ["-hold", "exec:3", "-n", "2"], "there is no rank 3"),
       ("no ranks", ["-hold", "exec:", "-n", "2"], "ranks are like 0,3-5")])
def wrong(words, text):
    r = run(*words, "true")
    need(r.status == 2 and text in " ".join(r.messages), "one line", r)


main()

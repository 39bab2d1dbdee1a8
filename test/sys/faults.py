#!/usr/bin/env -S python3 -B
"""Faults over several hosts: ranks, proxies, nodes and launchers that die, stop or are
cut off.  Each point says what was done, the first message, the exit status, the time
from the fault to the launcher's end, and how many processes were left on all nodes.

Rows and bounds are those of the fault table in the specification; a launcher's own
failure ends with 255.  On beds of namespaces: see test/bed.py."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from trial import *                                     # noqa: E402
import contextlib                                       # noqa: E402
import re                                               # noqa: E402
import signal                                           # noqa: E402
import time                                             # noqa: E402

SLURM, CHORE = prog("slurm_all"), prog("chore")
PROGRAMS = [SLURM, CHORE]
SH = ("/bin/sh", "-c")
FENCING = """
    c = Client(2)
    c.fence()
    say("ready")
    if rank == int(sys.argv[1]):
        time.sleep(60)
    c.send(c.message("cmd=kvs-fence;"))
    time.sleep(60)
"""
FAST = ["-heartbeat", 0.5, "-lease", 2]
TREE = ["-tree-width", 1, "-flat-hosts", 1]             # node1, below it node2, below it node3


def b(bed, program):
    return bed.path("bin", os.path.basename(program))


def who(rank, program=".*"):
    return rf"^mpiexec_lite: rank {rank} on node{rank} \(pid \d+, {program}\) "


def ranks(bed, node, word="chore"):
    """Pids of the ranks of a node."""
    return [p.pid for p in on(bed, node, word) if p.state != "Z" and "pmi2_proxy" not in p.cmdline
            and "mpiexec" not in p.cmdline and "ssh" not in os.path.basename(exe(p.pid))]


def running(bed, mode="ignore", *options):
    """A job of stubborn ranks, one on each node, that is under way."""
    job = start(bed, *options, "-n", 4, b(bed, CHORE), mode)
    job.wait_text("ready", 4)
    return job


def fencing(bed, *options, late=1):
    """A job in which all ranks but one wait in a fence."""
    job = start(bed, *options, "-n", 4, *py(bed, FENCING, late))
    job.wait_text("ready", 4)
    time.sleep(0.2)
    return job


# --- ranks: rows 1 to 14, 32, 33 --------------------------------------------------------

@points([(f"row {row}: rank 1 killed by signal {int(s)} ({s.name}); the others: {mode}", s, mode)
         for row, s, mode in ((1, signal.SIGSEGV, "ignore"), (2, signal.SIGKILL, "ignore"),
                              (2, signal.SIGTERM, "daemon"), (1, signal.SIGSEGV, "daemon"))])
def rank_killed(bed, signo, mode):
    job = running(bed, mode)
    pid = min(ranks(bed, 1))
    r = finish(job, kill(pid, signo), bound=3 if mode == "daemon" else 5,
               what=f"rank 1 on node1 {signo.name}")
    one_message(r, 128 + signo,
                who(1, "chore") + rf"killed by signal {int(signo)} \({signo.name}\)")


@points([(f"row {row}: {name}", words, status, bound, message)
         for row, name, words, status, bound, message in (
    (3, "exit 7 inside PMI", ["nofinalize", 7], 7, 3, "exited with 7 without finalize"),
    (4, "exit 0 inside PMI", ["nofinalize", 0], 1, 3, "exited with 0 without finalize"),
    (5, "exit 5 before init, others wait in a fence", ["before", 5], 5, 3, "exited with 5"),
    (6, "exit 0 before init, others wait in a fence", ["before", 0], 1, 5, "exited with 0 "),
    (8, "exit 9 after finalize", ["after", 9], 9, 3, "exited with 9"))])
def rank_exits(bed, words, status, bound, message):
    r = finish(start(bed, "-n", 4, b(bed, SLURM), *words), bound=bound + 1,   # 1: the launch
               what=" ".join(map(str, words)))
    one_message(r, status, who(3, "slurm_all") + message)


@points([(f"row 7: abort(42) of a rank on another host, {wire}", version, text)
         for wire, version, text in
         (("PMI-2", 2, "cmd=abort;isworld=TRUE;exitcode=42;message=why\033[31m;"),
          ("PMI-1", 1, "cmd=abort exitcode=42 message=why\033[31m"))])
def abort(bed, version, text):
    job = start(bed, "-n", 4, *py(bed, f"""
        c = Client({version})
        c.fence()
        if rank == 1:
            c.send(c.message({text!r}))
            time.sleep(60)
        c.fence()
    """))
    r = finish(job, bound=4, what="abort(42) of rank 1")
    one_message(r, 42, who(1) + r"called abort\(42\): why")
    need(b"\033" not in r.err, "control characters are shown harmlessly", repr(r))


@points([(f"row 9: {how} with a rank that dies", options) for how, options in
         (("a fence", []), ("a fence in a chain of hosts", TREE))])
def fence_dead(bed, options):
    job = fencing(bed, *options, late=2)
    r = finish(job, kill(ranks(bed, 2, "python")[0]), bound=3, what="rank 2 on node2 SIGKILL")
    one_message(r, 137, who(2) + "killed by signal 9")


@points([(f"{row}: {name}", code, status, *patterns) for row, name, code, status, *patterns in (
    ("row 10", "garbage of a rank on another host", """
        c.send(b"GET / HTTP/1.0\\r\\n\\r\\n"); time.sleep(60)""", 1, r"byte \d+"),
    ("row 10", "unknown command: an error reply, the job lives", """
        need(c.ask("cmd=no-such;")["rc"] != "0", "a reply")""", 0),
    ("row 12", "a giant frame", """
        c.send(b"999999cmd=kvs-put;key=a;value=" + b"x" * 999990); time.sleep(60)""", 1, "999999"),
    ("row 12", "a value of 70 kB", """
        c.send(c.message("cmd=kvs-put;key=a;value=%s;" % ("x" * 70000))); time.sleep(60)""", 1,
     "70"),
    ("row 13", "one byte at a time", """
        for x in c.message("cmd=kvs-put;key=a;value=b;"):
            c.send(bytes([x]))
        need(c.reply()["rc"] == "0", "a reply")""", 0),
    ("row 14", "replies that are not read: others are served", """
        c.put("big", "x" * 50000)
        import threading
        ask = c.message("cmd=kvs-get;key=big;")
        t = threading.Thread(target=lambda: [c.send(ask) for i in range(200)])
        t.start()
        time.sleep(1)
        for i in range(200):
            need(len(c.reply()["value"]) == 50000, i)
        t.join()""", 0))])
def protocol(bed, code, status, *patterns):
    r = finish(start(bed, "-n", 4, *py(bed, f"""
    c = Client(2)
    c.put("k%d" % rank, "v")
    c.fence()
    if rank == 1:
        pass{code}
    else:
        for i in range(100):
            need(c.get("k%d" % (i % 4)) == "v", i)
    c.fence()
    c.finalize()
    say("good")
    """)), bound=5, what="rank 1: " + code.strip().splitlines()[0][:40])
    if status:
        one_message(r, status, who(1), *patterns)
    else:
        same((r.status, r.lines), (0, ["good"] * 4), f"end of {r}")


@points([("row 32: a program that is nowhere", ["no-such-program"], 127, ["no-such-program"]),
         ("row 32: not executable", ["/etc/passwd"], 126, ["/etc/passwd"])])
def no_program(bed, words, status, patterns):
    r = finish(start(bed, "-n", 4, *words), bound=2, what=" ".join(words))
    one_message(r, status, *patterns)
    same(len(r.messages), 1, f"messages of {r}")


@points([(f"row 32: a program that is {what} on one host", mode, status, text)
         for what, mode, status, text in (("missing", None, 127, "No such file"),
                                          ("not executable", 0o644, 126, "Permission denied"))])
def no_program_there(bed, mode, status, text):
    script = "printf '#!/bin/sh\\necho started\\nsleep 60\\n' >/tmp/prog; chmod 755 /tmp/prog"
    for n in 0, 1, 3:
        bed.run(n, ["sh", "-c", script])
    if mode:
        bed.run(2, ["sh", "-c", script + f"; chmod {mode:o} /tmp/prog"])
    for n, slots, whose in (4, 1, "rank 2"), (8, 2, "ranks 4-5"), (12, 1, "3 of ranks 2-10"):
        r = finish(start(bed, "-n", n, "/tmp/prog", hosts=[f"{x}:{slots}" for x in bed.names]),
                   bound=3, what=f"only node2 lacks it; {n} ranks", clean=False)
        need(not r.left, "processes left", repr(r))
        one_message(r, status, f"node2: cannot start {whose}: .*/tmp/prog", text)
        same(len(r.messages), 1, f"messages of {r}")


@point("row 33: ranks end, daemons of theirs on all hosts hold stdout")
def daemons(bed):
    job = start(bed, "-n", 4, b(bed, CHORE), "daemon-exit")
    r = finish(job, bound=4, what="all ranks ended, 4 daemons")
    same((r.status, r.lines), (0, ["ready"] * 4), f"end of {r}")


# --- proxies and nodes: rows 16, 17, 41 ------------------------------------------------------

PROXY = [(who_, mode, options) for who_ in ("guard", "proxy", "both")
         for mode, options in (("ignore", []), ("daemon", TREE))]


@points([(f"row 16: {whom} of node2 SIGKILLed; ranks: {mode}{', chain' if options else ''}", whom,
          mode, options) for whom, mode, options in PROXY])
def proxy_killed(bed, whom, mode, options):
    job = running(bed, mode, *options)
    guard, proxy = guard_and_proxy(bed, 2)
    since = time.monotonic()
    for pid in {"guard": [guard], "proxy": [proxy], "both": [guard, proxy]}[whom]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    # A daemon that has no one of ours above it any more is out of reach.
    gone = None if whom != "both" or mode != "daemon" else (0, 1, 3)
    r = finish(job, since, bound=5, what=f"{whom} of node2 SIGKILLed", nodes=gone, clean=False)
    need(not r.left, "nothing is left", repr(r))
    one_message(r, 255, "node2")


def innermost(bed, node):
    """The pid of a node's proxy, or of its guard while that is alone; None: neither is there.
    A rank that has not executed its program yet looks like a proxy below the proxy."""
    found = [p.pid for p in on(bed, node, "pmi2_proxy") if exe(p.pid).endswith("pmi2_proxy")]
    above = {p: s[1] for p in found if (s := lib.stat(p))}
    guards = [p for p in above if above[p] not in above]
    return next((p for p in above if above[p] in guards), next(iter(guards), None))


@point("row 16 in a fence, and at the start")
def proxy_killed_when(bed):
    job = fencing(bed)
    guard, proxy = guard_and_proxy(bed, 2)
    r = finish(job, kill(proxy), bound=5, what="proxy of node2 SIGKILLed while ranks fence")
    one_message(r, 255, "node2")
    for wait in 0.0, 0.01, 0.03, 0.1:
        job = start(bed, "-n", 4, b(bed, CHORE), "ignore")
        wait_for(lambda: innermost(bed, 2), "a proxy")
        time.sleep(wait)
        with contextlib.suppress(ProcessLookupError):
            os.kill(innermost(bed, 2), signal.SIGKILL)
        r = finish(job, bound=6, what=f"proxy of node2 SIGKILLed {wait} s after its start")
        one_message(r, 255, "node2")


GOING_ON = """
    c = Client(2)
    c.fence()
    say("ready")
    while not os.path.exists(sys.argv[1]):
        time.sleep(0.01)
    c.fence()
    say("done")
    c.finalize()
"""


@points([("row 16: a host without ranks is lost: proxy SIGKILLed",
          lambda bed: kill(guard_and_proxy(bed, 3)[1])),
         ("row 17: a host without ranks is cut off", lambda bed: bed.silence(3))])
def spare_lost(bed, lose):
    flag = bed.path("go-on")
    job = start(bed, *FAST, "-n", 2, *py(bed, GOING_ON, flag))
    job.wait_text("ready", 2)
    lose(bed)
    wait_for(lambda: b"; it had no ranks" in job.error_text(), "the loss is told")
    bed.write("go-on", "")
    r = finish(job, what="node3 lost, without ranks", nodes=(0, 1, 2), clean=False, sessions=False)
    same((r.status, r.out.count(b"done"), len(r.messages)), (0, 2, 1), f"the job goes on: {r}")
    need("node3" in r.first, "the host", r.first)
    os.unlink(flag)


CUTS = {"switch silent": lambda bed: bed.silence(2), "link down": lambda bed: bed.link_down(2),
        "power off": lambda bed: bed.kill_node(2)}


def cut_off(bed, job, how, lease, bound):
    since = time.monotonic()
    CUTS[how](bed)
    r = finish(job, since, bound=bound, what=f"node2: {how}, lease {lease}", nodes=(0, 1, 3),
               clean=False, sessions=False)
    need(not r.left, "nothing is left on nodes that are reached", repr(r))
    one_message(r, 255, "node2")
    if how != "power off":
        left = bed.left(max(0.0, lease * 1.5 + 5 - r.took) + SLACK, sessions=False)
        say(f"node2 is clean {time.monotonic() - since:.1f} s after the cut; {len(left)} left")
        need(not left, "a node that is cut off cleans itself", left)


@points([(f"row 17: node2 cut off without a word ({how}), default lease", how)
         for how in ("switch silent",)])
def cut_default(bed, how):
    cut_off(bed, running(bed), how, 15, 20)


@points([(f"row 17: node2 cut off ({how}), lease 2 s{', in a fence' if fence else ''}"
          f"{', chain' if options else ''}", how, fence, options) for how, fence, options in
         (("link down", False, []), ("power off", False, []), ("switch silent", True, []),
          ("switch silent", False, TREE))])
def cut(bed, how, fence, options):
    job = fencing(bed, *FAST, *options) if fence else running(bed, "daemon", *FAST, *options)
    if options:                              # node3 is below node2: each cleans itself
        since = time.monotonic()
        CUTS[how](bed)
        r = finish(job, since, bound=7, what="node2 of a chain cut off", nodes=(0, 1), clean=False,
                   sessions=False)
        one_message(r, 255, "node[23]")
        left = bed.left(8 + SLACK, sessions=False)
        need(not left and not r.left, "nothing is left anywhere", left, repr(r))
    else:
        cut_off(bed, job, how, 2, 7)


@point("row 17: a line that passes nothing on while its TCP lives, lease 2 s")
def stalled_line(bed):
    with bed.relay(2) as relay:
        job = running(bed, "ignore", *FAST)
        since = time.monotonic()
        relay.stall()
        r = finish(job, since, bound=7, what="relay before node2 stalls", nodes=(0, 1, 3),
                   sessions=False, clean=False)
        one_message(r, 255, "node2")
        left = bed.left(8 + SLACK, sessions=False)
        need(not left, "nothing is left", left)


@points([("row 41: proxy of node2 SIGSTOPped, default lease", [], 20),
         ("row 41: proxy of node2 SIGSTOPped, lease 2 s", FAST, 7)])
def proxy_stopped(bed, options, bound):
    job = running(bed, "ignore", *options)
    since = kill(guard_and_proxy(bed, 2)[1], signal.SIGSTOP)
    r = finish(job, since, bound=bound, what="proxy of node2 SIGSTOPped", clean=False,
               nodes=(0, 1, 3), sessions=False)
    one_message(r, 255, "node2")
    left = bed.left(8 + SLACK)
    say(f"all nodes are clean {time.monotonic() - since:.1f} s after the stop; {len(left)} left")
    need(not left and not r.left, "nothing is left", left, repr(r))


@point("row 41: a proxy that is stopped for less than the lease costs nothing")
def proxy_paused(bed):
    job = start(bed, "-heartbeat", 0.5, "-lease", 4, "-n", 4, *py(bed, """
        c = Client(2)
        c.fence()
        say("ready")
        for i in range(150):
            c.put("k%d" % rank, str(i))
            c.fence()
            need(c.get("k%d" % (size - 1 - rank)) == str(i), "round", i)
            c.fence()
            time.sleep(0.01)
        c.finalize()
        say("good")
    """))
    job.wait_text("ready", 4)
    proxy = guard_and_proxy(bed, 2)[1]
    os.kill(proxy, signal.SIGSTOP)
    time.sleep(1.5)
    os.kill(proxy, signal.SIGCONT)
    r = finish(job, what="proxy of node2 stopped for 1.5 s")
    same((r.status, r.lines.count("good")), (0, 4), f"end of {r}")


# --- hosts that are silent while a job is ended ---------------------------------------------

def silent(bed, end, options, status, bound, named, *patterns):
    """Both servers of node2 stop; then the job is to end.  TERM, KILL and a last sweep are
    2 s apart, and 3 s later nobody waits for who has not answered."""
    job = running(bed, "ignore", *options)
    pair = guard_and_proxy(bed, 2)
    for pid in pair:
        os.kill(pid, signal.SIGSTOP)
    since = end(bed, job)
    r = finish(job, since, bound=bound, what=f"node2 SIGSTOPped, {' '.join(map(str, options))}",
               clean=False, nodes=[n for n in range(4) if f"node{n}" not in named], sessions=False)
    same(r.status, status, f"status of {r}")
    for pattern in patterns:
        need(re.search(pattern, r.messages[0]), f"the first message has {pattern}", repr(r))
    need(re.search(rf"cleanup incomplete on: {named} \(no answer\)", r.messages[-1]),
         "who does not answer is named", repr(r))
    same(len(r.messages), 1 + len(patterns), f"messages of {r}")
    for pid in pair:
        os.kill(pid, signal.SIGCONT)
    left = bed.left(8 + SLACK, sessions=False)
    need(not left and not r.left, "nothing is left once it goes on", left, repr(r))


def to_launcher(signo):
    return lambda bed, job: kill(job.pid, signo)


@points([(f"row 41: {what}; guard and proxy of node2 are SIGSTOPped, {name}", end, options, status,
          bound, named, *patterns)
         for name, options, named in (("no lease", ["-lease", 0], "node2"),
                                      ("default lease", [], "node2"),
                                      ("no lease, chain", ["-lease", 0, *TREE], "node2, node3"))
         for what, end, status, bound, *patterns in (
             ("SIGTERM", to_launcher(signal.SIGTERM), 143, 8),
             ("rank 1 SIGKILLed", lambda bed, job: kill(min(ranks(bed, 1))), 137, 8,
              who(1, "chore") + "killed by signal 9"))
         if name != "no lease, chain" or what == "SIGTERM"] +
        [("row 41: SIGINT; guard and proxy of node2 are SIGSTOPped, no lease",
          to_launcher(signal.SIGINT), ["-lease", 0], 130, 10, "node2")])
def silent_host(bed, *row):
    silent(bed, *row)


# --- hosts that are down at the start, in a chain: row 21 -----------------------------------

def drops(bed, node, hook, what=""):
    """The firewall of a node swallows what comes in or goes out: ssh waits its full time."""
    bed.nft(node, f"table ip bed {{\n chain drops {{ type filter hook {hook} priority 0; {what} "
                  "drop; }\n}\n")


DOWN = {"switch silent": lambda bed, n: bed.silence(n),
        "link down": lambda bed, n: bed.link_down(n),
        "power off": lambda bed, n: bed.kill_node(n),
        "packets dropped": lambda bed, n: drops(bed, n, "input")}


@points([(f"row 21: {how}: node{node} of a chain, at the start", how, node)
         for how, node in (("packets dropped", 2), ("switch silent", 2), ("link down", 2),
                           ("power off", 2), ("packets dropped", 1), ("packets dropped", 3))])
def down_in_chain(bed, how, node):
    DOWN[how](bed, node)
    r = finish(start(bed, *TREE, "-n", 4, *SH, "echo started"), bound=15, clean=False,
               nodes=[n for n in range(4) if n != node], what=f"node{node}: {how}")
    one_message(r, 255, f"node{node}", "(?i)timed out|no route|no answer")
    need(not r.left and b"started" not in r.out, "nothing was started, nothing is left", repr(r))


@point("a chain in which node1 cannot reach node2, but the launcher can: flat, and soon")
def no_way(bed):
    drops(bed, 1, "output", f"ip daddr {bed.nodes[2].address}")
    job = start(bed, "-v", *TREE, "-n", 4, *SH, "echo started; sleep 9")
    job.wait_text("started", 4)
    took = time.monotonic() - job.began
    r = finish(job, what=f"node1 drops what is for node2; all started after {took:.1f} s")
    need(took <= 6 + SLACK, "started soon", took)
    # The trial's own end, of ssh's time-out after 10 s, is nobody's business any more.
    same((r.status, r.lines), (0, ["started"] * 4), f"end of {r}")
    need("started from here" in r.err.decode(), "-v says that it is flat", repr(r))


@point("a trial that is given up, and comes true then: flat all the same")
def late_trial(bed):
    job = start(bed, "-v", *TREE, "-n", 4, *SH, "echo started")
    wait_for(lambda: on(bed, 1, "ssh -T"), "node1 starts node2")
    pid = guard_and_proxy(bed, 1)[1]
    os.kill(pid, signal.SIGSTOP)
    time.sleep(3.5)                          # node2 answers, and nobody hears it
    os.kill(pid, signal.SIGCONT)
    r = finish(job, bound=8, what="proxy of node1 stopped for 3.5 s of the trial")
    same((r.status, r.lines), (0, ["started"] * 4), f"end of {r}")
    need("started from here" in r.err.decode(), "-v says that it is flat", repr(r))


# --- the launcher: rows 18, 23 to 26 -----------------------------------------------------------

@points([(f"row 18: {whom} of mpiexec SIGKILLed{', chain' if options else ''}; ranks: {mode}", whom,
          mode, options) for whom, mode, options in
         (("front", "daemon", []), ("root", "daemon", []), ("both", "ignore", []),
          ("front", "forks", TREE))])
def launcher_killed(bed, whom, mode, options):
    job = running(bed, mode, *options)
    front, root = front_and_root(job)
    since = time.monotonic()
    for pid in {"front": [front], "root": [root], "both": [front, root]}[whom]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    r = finish(job, since, bound=5, what=f"{whom} SIGKILLed")
    same(r.status, 255 if whom == "root" else 137, f"status of {r}")


@points([(f"{row}: killall -KILL {name}, on node{node}; wrappers' children and daemons of ranks",
          name, node, status) for row, name, node, status in
         (("row 18", "mpiexec_lite", 0, 137), ("row 16", "pmi2_proxy", 2, 255))])
def killed_by_name(bed, name, node, status):
    job = start(bed, "-n", 4, *SH, "trap '' TERM INT HUP; setsid sleep 60 & sleep 60 & echo ready; "
                "sleep 60; true")
    job.wait_text("ready", 4)
    pids = [p.pid for p in bed.processes(node)
            if lib.proc_bytes(p.pid, "comm").decode().strip() == name]
    need(pids, "a process of this name")
    since = time.monotonic()
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    r = finish(job, since, bound=5, what=f"{len(pids)} {name} of node{node} SIGKILLed")
    same(r.status, status, f"status of {r}")


@point("row 18: front SIGKILLed at any moment of the start, flat and in a chain")
def launcher_killed_early(bed):
    for i in range(10):
        job = start(bed, *(TREE if i % 2 else []), "-n", 8, b(bed, CHORE), "daemon")
        time.sleep(0.02 + 0.09 * i)
        job.kill(signal.SIGKILL)
        r = finish(job, bound=6, what=f"front SIGKILLed after {0.02 + 0.09 * i:.2f} s")
        same(r.status, 137, f"status of {r}")


@points([(f"row {row}: {name}", signals, mode, bound, status) for row, name, signals, mode, bound,
         status in ((23, "SIGINT once, ranks that ignore it", "INT", "ignore", 5, 130),
                    (24, "SIGINT twice", "INT INT", "ignore", 2, 130),
                    (25, "SIGTERM, ranks that ignore it", "TERM", "ignore", 5, 143),
                    (23, "SIGINT, daemons", "INT", "daemon", 5, 130))])
def signals_end(bed, signals, mode, bound, status):
    job = running(bed, mode)
    since = time.monotonic()
    for i, name in enumerate(signals.split()):
        time.sleep(0.3 * i)
        job.kill(signal.Signals["SIG" + name])
    r = finish(job, since, bound=bound + 0.3, what=f"SIG{signals} to mpiexec")
    same(r.status, status, f"status of {r}")


@point("row 23: SIGINT reaches each rank once, TERM follows 2 s later")
def signals_forwarded(bed):
    job = running(bed, "show")
    job.kill(signal.SIGINT)
    r = finish(job, bound=10, what="SIGINT, ranks that only show it")
    same((r.status, sorted(x for x in r.lines if x != "ready")),
         (130, ["got INT"] * 4 + ["got TERM"] * 4), f"end of {r}")


@points([("row 26: SIGTSTP stops the ranks of all hosts, then mpiexec; SIGCONT; job intact", []),
         ("row 26 in a chain", TREE)])
def stopped(bed, options):
    job = start(bed, *FAST, *options, "-n", 4, *py(bed, """
        c = Client(2)
        c.fence()
        say("ready")
        for i in range(100):
            c.put("k%d" % rank, str(i))
            c.fence()
            for r in range(size):
                need(c.get("k%d" % r) == str(i), "value of", r, "round", i)
            c.fence()
            time.sleep(0.005)
        c.finalize()
        say("good")
    """))
    job.wait_text("ready", 4)
    mine = [p for n in range(4) for p in ranks(bed, n, "rawpmi")]
    same(len(mine), 4, "ranks found")
    since = time.monotonic()
    job.kill(signal.SIGTSTP)
    wait_for(lambda: {lib.stat(p)[0] for p in mine} == {"T"} and lib.stat(job.pid)[0] == "T",
             "ranks of all hosts and mpiexec stopped", 1 + SLACK)
    took = time.monotonic() - since
    time.sleep(3.5)                          # longer than the lease
    need({lib.stat(p)[0] for p in mine} == {"T"}, "still stopped")
    job.kill(signal.SIGCONT)
    r = finish(job, what=f"SIGTSTP: all stopped after {took:.2f} s; SIGCONT 3.5 s later")
    same((r.status, r.lines), (0, ["ready"] * 4 + ["good"] * 4), f"end of {r}")


# --- output: rows 27 to 30 -----------------------------------------------------------------------

@point("row 27: the reader of stdout is gone, floods from all hosts")
def reader_gone(bed):
    ours, theirs = os.pipe()
    job = start(bed, "-n", 4, b(bed, CHORE), "flood", stdout=theirs)
    os.close(theirs)
    os.read(ours, 10)
    since = time.monotonic()
    os.close(ours)
    r = finish(job, since, bound=3, what="reader of stdout gone")
    same((r.status, r.messages), (141, []), f"end of {r}")


def memory(pid):
    for line in lib.proc_bytes(pid, "status").splitlines():
        if line.startswith(b"VmHWM"):
            return int(line.split()[1])
    return 0


@points([("row 28: a stalled reader of stdout: memory stays flat, fences and heartbeats go on", []),
         ("row 28 in a chain", TREE)])
def reader_stalls(bed, options):
    ours, theirs = os.pipe()
    folder = bed.path(f"mark.{os.urandom(4).hex()}")
    os.mkdir(folder)
    job = start(bed, *FAST, *options, "-n", 4, *py(bed, """
        c = Client(2)
        c.fence()
        pid = os.fork()
        if pid == 0:
            line = b"%d " % rank + b"x" * 1000 + b"\\n"
            while True:
                os.write(1, line * 50)
        time.sleep(1)                             # everything is full by now
        for i in range(50):
            c.put("k%d" % rank, str(i))
            c.fence()
            need(c.get("k%d" % (size - 1 - rank)) == str(i), i)
            c.fence()
        open(sys.argv[1] + "/%d" % rank, "w").close()
        time.sleep(60)
    """, folder), stdout=theirs)
    os.close(theirs)
    try:
        wait_for(lambda: len(os.listdir(folder)) == 4, "50 fences of all ranks", 15)
        servers = [*front_and_root(job), *(p for n in (1, 2, 3) for p in guard_and_proxy(bed, n))]
        first = [memory(p) for p in servers]
        time.sleep(3)                         # longer than the lease
        second = [memory(p) for p in servers]
        say(f"peak KiB of front, root, guards and proxies: {second}")
        need(job.poll() is None, "the job goes on")
        need(max(second) < 32 << 10 and sum(second) - sum(first) <= 2048, "memory", first, second)
        data = b""
        while len(data) < 8 << 20:            # then it reads on, and nothing is missing
            piece = os.read(ours, 1 << 20)
            need(piece, "output goes on", len(data))
            data += piece
        for line in data.split(b"\n")[:-1]:
            need(re.fullmatch(rb"[0-3] x{1000}", line), "a whole line", line)
    finally:
        os.close(ours)
    r = finish(job, what="reader stalled, then gone")
    same(r.status, 141, f"status of {r}")
    for f in os.listdir(folder):
        os.unlink(f"{folder}/{f}")
    os.rmdir(folder)


@point("row 29: stdout is a full device")
def full_device(bed):
    with open("/dev/full", "wb") as full:
        r = finish(start(bed, "-n", 4, b(bed, CHORE), "flood", stdout=full), bound=4,
                   what="stdout full")
    one_message(r, 255, "write to stdout: No space left on device")


@point("row 30: -outfile on a full disk, ranks on other hosts")
def full_disk(bed):
    disk = bed.path("disk")
    os.makedirs(disk, exist_ok=True)
    bed.run(0, ["mount", "-t", "tmpfs", "-o", "size=64k", "none", disk])
    try:
        r = finish(start(bed, "-outfile", disk + "/out.%r", "-n", 2, b(bed, CHORE), "flood",
                         hosts=["node1", "node2"]), bound=4, what="-outfile full")
        one_message(r, 255, re.escape(disk) + r"/out\.[01]: No space left on device")
    finally:
        bed.run(0, ["umount", disk])


# --- resources: rows 31, 40 -----------------------------------------------------------------

@point("row 31: 100 ranks with 64 descriptors, hard limit, on the launching host")
def descriptors(bed):
    job = bed.popen(0, ["bash", "-c", 'ulimit -n 64; exec "$@"', "x", bed.launcher, "-f",
                        bed.hosts("node0:100", "node1:1"), "-n", 101, *SH, "echo started"])
    job.bed = bed
    r = finish(job, bound=2, what="ulimit -n 64")
    one_message(r, 255, "descriptors", "64")
    need(b"started" not in r.out, "no rank was started", repr(r))


@point("row 31: the same on another host; a soft limit is raised")
def descriptors_there(bed):
    hosts = [f"{n}:100" for n in bed.names[1:]]
    bed.rc("root", ".bashrc", "[ $(hostname) = node2 ] && ulimit -n 64\n")
    r = finish(start(bed, "-n", 300, *SH, "echo started", hosts=hosts),
               bound=4, what="ulimit -n 64 on node2")
    one_message(r, 255, "node2", "descriptors", "64")
    need(b"started" not in r.out, "no rank was started", repr(r))
    bed.rc("root", ".bashrc", "[ $(hostname) = node2 ] && ulimit -Sn 64\n")
    r = finish(start(bed, "-n", 300, *SH, "ulimit -n", hosts=hosts))
    same((r.status, len(r.lines), r.lines.count("64")), (0, 300, 100), f"end of {r}")


@point("row 40: a host cannot fork: it is named, with the reason; what was started ends")
def no_fork(bed):
    bed.rc("fisher", ".config/fish/config.fish", "test (hostname) = node2; and ulimit -u 25\n")
    r = finish(start(bed, "-n", 64, "sleep", 60, user="fisher",
                     hosts=["node1:4", "node2:60"]), bound=5, what="ulimit -u 25 on node2")
    one_message(r, 255, "node2", "Resource temporarily unavailable")


main([4, 4, 4], PROGRAMS)

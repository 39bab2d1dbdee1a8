#!/usr/bin/env -S python3 -B
"""Jobs that ranks start on hosts that ssh reaches: values, failures, ends, what is left, and
hosts that die in the middle.  On a bed of namespaces: see test/bed.py; all of it on one
node: spawn.py."""

import contextlib
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from trial import *                                     # noqa: E402
import spawnlib                                         # noqa: E402
from spawnlib import bed_script as script                # noqa: E402

SIZE = 4
RAW, CHORE = prog("spawn_raw"), prog("chore")


def library(name, ours, *flags):
    """test/progs/NAME.c with our library, or Slurm's."""
    out = os.path.join(lib.B, "test", "sys-progs", f"{name}-{'ours' if ours else 'slurm'}")
    libs = [f"{lib.B}/lib/libpmi2.a", "-lpthread"] if ours else ["-lpmi2"]
    if ours and "asan" in lib.B:
        libs.append("-fsanitize=address,undefined")
    if ours and "cover" in lib.B:
        libs.append("--coverage")
    subprocess.run(["cc", "-O1", "-D_GNU_SOURCE", *flags,
                    os.path.join(lib.ROOT, "test", "progs", name + ".c"), *libs,
                    *([f"-I{lib.ROOT}/pmi2"] if ours else []), "-o", out], check=True)
    return out


EVERY = {"every call of Slurm's header, Slurm's library": library("pmi2_all", False),
         "every call of Slurm's header, ours": library("pmi2_all", True, "-DPMI2_USE_SLURM_INFO"),
         "every call that only ours has": library("pmi2_ours", True)}
SPAWN = {"Slurm's library": library("pmi2_spawn", False),
         "ours": library("pmi2_spawn", True, "-DMPICH_STYLE")}


def b(bed, program):
    """The copy of a program that all users can read."""
    return bed.path("bin", os.path.basename(program))


def scratch(bed, *names):
    for name in names:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(bed.path(name))


@points([(f"as MPICH spawns, over 4 hosts: parent PMI-{w}, children PMI-{v}", w, v)
         for w, v in ((1, 1), (2, 2), (1, 2))])
def as_mpich(bed, w, v):
    child = script(bed, "child", f"""
        c = Client({v})
        need(c.get("PARENT_ROOT_PORT_NAME") == PORT, "port")
        c.put("card-%d" % rank, "host-%d" % rank)
        c.fence()
        for r in range(size):
            need(c.get("card-%d" % r) == "host-%d" % r, "card of", r)
        c.fence()
        say("child", rank, size, c.appnum(), sys.argv[1:])
        c.finalize()
    """)
    parent = script(bed, "parent", f"""
        c = Client({w})
        c.fence()
        if rank == 0:
            started(c, command({child!r}, "two words", "", "endcmd", n=5), command({child!r}, n=2),
                    preput={{"PARENT_ROOT_PORT_NAME": PORT}})
        c.fence()
        say("parent", rank)
        c.finalize()
    """)
    r = good(bed, "-n", 6, parent)
    same(sorted(r.lines), sorted([f"parent {i}" for i in range(6)] + [f"child {i} 7 0 " + str(
        ["two words", "", "endcmd"]) for i in range(5)] + [f"child {i} 7 1 []" for i in (5, 6)]),
        "output")


@points([(f"{name}, 8 ranks over 4 hosts", program) for name, program in EVERY.items()])
def every_call(bed, program):
    r = good(bed, "-n", 8, b(bed, program), hosts=[f"node{i} slots=2" for i in range(SIZE)])
    same(sorted(r.lines), [f"rank {i}: ok" for i in range(8)], "output")


@points([(f"parent and children by {name}, over 4 hosts", program)
         for name, program in SPAWN.items()])
def by_library(bed, program):
    r = launch(bed, "-n", 2, b(bed, program), "parent")
    need(r.status == 0 and "wrong" not in "".join(r.lines), "a good end", repr(r))


@point("each rank of a spawned job is on the host that info names; labels")
def hosts(bed):
    parent = script(bed, "parent", """
        c = Client(2)
        if rank == 0:
            started(c, command("sh", "-c", "hostname", n=2, host="node3"),
                    command("hostname", n=2, hosts="node1,node2"))
        c.fence()                        # until then no slot becomes free
        c.finalize()
    """)
    r = good(bed, "-prepend-pattern", "%g.%r@%h ", "-n", 4, parent)
    seen = sorted(r.lines)
    same(seen[:2], ["1.0@node3 node3", "1.1@node3 node3"], "the first command")
    same(sorted(x.split("@")[1] for x in seen[2:]), ["node1 node1", "node2 node2"], "the second")


@points([(f"ranks of all hosts start jobs on the next one, and those on the next, PMI-{w}", w)
         for w in (1, 2)])
def from_everywhere(bed, w):
    last = script(bed, "last", f"""
        c = Client({3 - w})
        c.fence()
        say("last", c.get("path"), rank, size, os.uname().nodename)
        c.finalize()
    """)
    child = script(bed, "child", f"""
        c = Client({w})
        path, host = c.get("path"), int(c.get("host"))
        c.put("of-%d" % rank, path)
        c.fence()
        need(all(c.get("of-%d" % r) == path for r in range(size)), "values of", path)
        if rank == 1:
            started(c, command({last!r}, n=2, host="node%d" % ((host + 1) % 4)),
                    preput={{"path": path + "-1"}})
        c.fence()
        say("child", path, rank, size, os.uname().nodename)
        c.finalize()
    """)
    parent = script(bed, "parent", f"""
        c = Client({w})
        c.fence()
        for i in range(2):
            host = (rank + 1 + i) % 4
            started(c, command({child!r}, n=2, host="node%d" % host),
                    preput={{"path": "%d.%d" % (rank, i), "host": host}})
        c.fence()
        say("parent", rank, os.uname().nodename)
        c.finalize()
    """)
    r = good(bed, "-n", 4, parent)
    jobs = [(k, i, (k + 1 + i) % 4) for k in range(4) for i in range(2)]
    same(sorted(r.lines), sorted(
        [f"parent {k} node{k}" for k in range(4)] +
        [f"child {k}.{i} {m} 2 node{host}" for k, i, host in jobs for m in range(2)] +
        [f"last {k}.{i}-1 {m} 2 node{(host + 1) % 4}" for k, i, host in jobs for m in range(2)]),
        "output")


@points([(name, what, codes) for name, what, codes in (
    ("a program that is not there", 'command("/no/such", n=3)', "2,2,2"),
    ("the last of 9 processes cannot be executed", 'command("sleep", "50", n=8), '
     'command("/etc/passwd", n=1)', "125,125,125,125,125,125,125,125,13"),
    ("a folder that is on one host only", 'command("sleep", "50", n=4, wdir="/tmp/only-node0")',
     None),
    ("an unknown host", 'command("sleep", "50", n=2, host="node99")', "113,113"))])
def failures(bed, what, codes):
    bed.run(0, ["mkdir", "-p", "/tmp/only-node0"])
    parent = script(bed, "parent", f"""
        c = Client(2)
        if rank == 0:
            r = spawn(c, {what})
            need(r["rc"] != "0" and "jobid" not in r, "refused", r)
            say("codes", r.get("errcodes"))
            started(c, command("echo", "good", n=4))
        c.fence()
        c.finalize()
    """)
    r = launch(bed, "-n", 4, parent)
    bed.run(0, ["rmdir", "/tmp/only-node0"])
    same((r.status, [x for x in r.lines if "codes" not in x]), (0, ["good"] * 4), f"end of {r}")
    if codes:
        need(f"codes {codes}" in r.lines, "errcodes", repr(r))


@points([(f"a rank of a spawned job {name}: all jobs on all hosts end", how, status, text)
         for name, how, status, text in spawnlib.WAYS])
def child_fails(bed, how, status, text):
    scratch(bed, "go", "child-pid")
    child = script(bed, "child", spawnlib.CHILD_FAILS.format(how=how, sleep=30))
    parent = script(bed, "parent", spawnlib.PARENT_WAITS.format(child=child, apart=False,
                                                             then="time.sleep(30)"))
    r = finish(start(bed, "-n", 4, parent), bound=5)
    scratch(bed, "go", "child-pid")
    one_message(r, status, "job 1: rank 1 on node", text)


@points([(f"{name}: nothing of any job is left on any host", name)
         for name in ("SIGTERM", "the front SIGKILLed", "a proxy SIGKILLed")])
def ended(bed, name):
    parent = script(bed, "parent", spawnlib.ENDLESS.format(chore=b(bed, CHORE)).replace(
        "n=2)", "n=4)"))
    job = start(bed, "-n", 1, parent)
    job.wait_text("ready", 12)
    since = time.monotonic()
    if name == "SIGTERM":
        job.kill(signal.SIGTERM)
    elif "front" in name:
        os.kill(front_and_root(job)[0], signal.SIGKILL)
    else:
        kill(guard_and_proxy(bed, 2)[1])
    r = finish(job, since, bound=5, what=name)
    same(r.status, {"SIGTERM": 143, "the front SIGKILLed": 137}.get(name, 255), f"status of {r}")


@point("a daemon of a spawned job goes with it on every host, those of the main job stay")
def daemons(bed):
    scratch(bed, "enough")
    chore = b(bed, CHORE)
    parent = script(bed, "parent", f"""
        import subprocess
        c = Client(2)
        subprocess.run([{chore!r}, "daemon-exit"], stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        if rank == 0:
            started(c, command({chore!r}, "daemon-exit", n=8))
        c.fence()
        await_file("enough")
        c.fence()
        c.finalize()
    """)
    job = start(bed, "-n", 4, parent)
    job.wait_text("ready", 8)

    def living():
        return sum(len(on(bed, n, "daemon-exit")) for n in range(SIZE))
    wait_for(lambda: living() == 4, "four daemons are left")
    time.sleep(0.5)
    same(living(), 4, "daemons of the main job")
    lib.write_file(bed.path("enough"), "1\n")
    r = finish(job)
    scratch(bed, "enough")
    same((r.status, r.messages), (0, []), f"end of {r}")


# The lease makes a silent end one of 2 seconds.
FAST = ["-heartbeat", 1, "-lease", 2]
DEATHS = [("dies without a word", lambda bed, n: bed.kill_node(n)),
          ("is cut off", lambda bed, n: bed.silence(n)),
          ("dies, its connections are closed", lambda bed, n: bed.kill_node(n, reset=True))]


def died(bed, job, node, how):
    since = time.monotonic()
    how(bed, node)
    alive = [n for n in range(SIZE) if n != node]
    r = finish(job, since, bound=7, what=f"node{node} has died", nodes=alive, clean=False,
               sessions=False)
    need(not r.left, "nothing is left on nodes that are reached", repr(r))
    one_message(r, 255, f"node{node}")


@points([(f"the parent's host {name} while its rank starts jobs on all, PMI-{w}", w, how)
         for w in (1, 2) for name, how in DEATHS])
def parents_host(bed, w, how):
    scratch(bed, "going")
    parent = script(bed, "parent", f"""
        c = Client({w})
        c.fence()
        if rank != 2:
            time.sleep(60)
        for i in range(10 ** 6):
            started(c, command("sleep", "0.2", n=4))
            if i == 20:
                touch("going")
    """)
    job = start(bed, *FAST, "-n", 4, parent)
    wait_for(lambda: os.path.exists(bed.path("going")), "jobs are started")
    died(bed, job, 2, how)


@points([(f"a child's host {name}: all jobs end", how) for name, how in DEATHS])
def childs_host(bed, how):
    job = start(bed, *FAST, "-n", 3, script(bed, "parent", f"""
        c = Client(2)
        if rank == 1:
            started(c, command({b(bed, CHORE)!r}, "ignore", n=2, host="node3"))
        c.fence()
        time.sleep(60)
    """))
    job.wait_text("ready", 2)
    died(bed, job, 3, how)


@point("-disable-auto-cleanup: a child's host dies; jobs are started on the others, not there")
def go_on(bed):
    scratch(bed, "lost")
    job = start(bed, *FAST, "-disable-auto-cleanup", "-n", 2, script(bed, "parent", f"""
        c = Client(2)
        if rank == 1:
            started(c, command({b(bed, CHORE)!r}, "ignore", n=2, host="node3"))
            await_file("lost")
            r = spawn(c, command("true", n=2, host="node2"), command("true", n=1, host="node3"))
            need(r["rc"] != "0" and r["errcodes"].endswith(",113"), "refused", r)
            started(c, command("hostname", n=2, host="node2"))
        c.fence()
        say("parent")
        c.finalize()
    """))
    job.wait_text("ready", 2)
    bed.kill_node(3)
    wait_for(lambda: b"node3" in job.error_text(), "the loss is seen")
    lib.write_file(bed.path("lost"), "1\n")
    r = finish(job, nodes=(0, 1, 2), clean=False, sessions=False)
    need(not r.left, "nothing is left on nodes that are reached", repr(r))
    same((r.status, sorted(x for x in r.lines if x != "ready")),
         (255, ["node2"] * 2 + ["parent"] * 2), f"end of {r}")


@points([(f"hosts that are not of the command line: reached over ssh, or ssh's words, PMI-{w}", w)
         for w in (1, 2)])
def new_hosts(bed, w):
    child = script(bed, "child", f"""
        c = Client({3 - w})
        c.put("of-%d" % rank, os.uname().nodename)
        c.fence()
        say("child", size, *[c.get("of-%d" % r) for r in range(size)])
        c.finalize()
    """)
    parent = script(bed, "parent", f"""
        c = Client({w})
        if rank == 0:
            started(c, command({child!r}, n=2, host="node2,node1"))
            started(c, command({child!r}, n=1, host="node1"))
            r = spawn(c, command("true", n=2, host="node9"))
            need(r["rc"] != "0" and r["errcodes"] == "113,113", "refused", r)
            need({w} == 1 or "node9" in r["errmsg"] and "resolve" in r["errmsg"], "why", r)
        else:
            started(c, command({child!r}, n=1, host="node3"))
        c.fence()
        c.finalize()
    """)
    r = good(bed, "-n", 2, parent, hosts=("node0",))
    same(sorted(r.lines), ["child 1 node1", "child 1 node3"] + ["child 2 node2 node1"] * 2, "output")


@point("a host that came later dies: its job ends, and the connected parent")
def new_host_dies(bed):
    job = start(bed, *FAST, "-n", 2, script(bed, "parent", f"""
        c = Client(2)
        if rank == 0:
            started(c, command({b(bed, CHORE)!r}, "daemon", n=2, host="node3"))
        c.fence()
        time.sleep(60)
    """), hosts=("node0", "node1"))
    job.wait_text("ready", 2)
    bed.kill_node(3)
    r = finish(job, nodes=(0, 1, 2), clean=False, sessions=False)
    need(not r.left, "nothing is left on nodes that are reached", repr(r))
    need(r.status == 255 and any("node3" in x for x in r.messages), "end", repr(r))


@points([(f"200 spawns in a row, and 8 deep, PMI-{w}", w) for w in (1, 2)])
def many(bed, w):
    r = good(bed, "-n", 1, b(bed, RAW), "many", w, 200, 201, 4)
    same(r.lines, ["done"], "output")
    r = good(bed, "-n", 4, b(bed, RAW), "deep", w, 8)
    same(len(r.lines), 36, "lines")


main([SIZE, SIZE], [RAW, CHORE, *EVERY.values(), *SPAWN.values()])

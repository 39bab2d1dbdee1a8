#!/usr/bin/env -S python3 -B
"""Jobs that ranks start on hosts outside the run, where hosts call back (-launcher tcp and
manual): with a real munged, on beds of namespaces: see test/bed.py.  Over ssh:
spawn_ssh.py."""

import os
import re
import signal
import sys
import time
from textwrap import dedent

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from trial import *                                     # noqa: E402
from munged import *                                    # noqa: E402
from spawnlib import bed_script                         # noqa: E402

SIZE = 4
SSH = 'host=$1; shift; exec ssh -n -oBatchMode=yes "$host" "$@"\n'

CHILD = """
    c = Client(2)
    need(c.get("for-you") == "this", "preput")
    need(c.get("early") is None, "the parent's key is not ours")
    need(await_key(c, c.full["spawner-jobid"], "early") == "yes", "a key of the parent's")
    c.put("of-%d" % rank, os.uname().nodename)
    c.fence()
    hosts = [c.get("of-%d" % i) for i in range(size)]
    say("child", rank, "of", size, "on", os.uname().nodename, "with", *sorted(set(hosts)))
    await_file("read-" + c.jobid())
    c.finalize()
"""
PARENT = """
    c = Client(2)
    c.put("early", "yes")
    c.fence()
    def wave(name, n):
        job = started(c, command(HERE + "/child", n=n, host=name), preput={"for-you": "this"})
        need(await_key(c, job, "of-%d" % (n - 1)), "a key of the child's")
        touch("read-" + job)
"""


def command_of(bed, text):
    """CMD, which notes how it is called."""
    return bed.write("cmd", f"#!/bin/sh\necho \"$@\" >>{bed.path('calls')}\n{text}", 0o755)


def calls(bed):
    """The hosts that CMD was called for, in order."""
    try:
        with open(bed.path("calls"), encoding="ascii") as f:
            return [line.split()[0] for line in f]
    except FileNotFoundError:
        return []


def parent_of(bed, code):
    bed_script(bed, "child", CHILD)
    return bed_script(bed, "parent", dedent(PARENT) + dedent(code))


def clean(bed):
    for name in os.listdir(bed.dir):
        if name == "calls" or name.startswith("read-"):
            os.unlink(bed.path(name))


def tcp(bed, sock, cmd, *words, **more):
    return start(bed, "-launcher", "tcp", "-launcher-exec", cmd, "-munge-socket", sock, *words,
                 **more)


@points([("tcp: hosts outside the run are reached, once each, from a run of two hosts",
          ["node0", "node1"]),
         ("tcp: hosts outside the run are reached, once each, from a run of this host alone",
          ["node0"])])
def reached(bed, hosts):
    clean(bed)
    parent = parent_of(bed, """
        if rank == 0:
            wave("node2", 2)
            wave("node2,node3", 2)
            wave("node3", 1)
            say("reached")
            await_file("read-go")
        c.fence()
        c.finalize()
    """)
    with munges(bed) as sock:
        job = tcp(bed, sock, command_of(bed, SSH), "-n", len(hosts), parent, hosts=hosts)
        job.wait_text("reached")
        same(calls(bed), hosts[1:] + ["node2", "node3"], "calls of CMD")
        same(ports(bed), [], "ports once nobody is awaited")
        lib.write_file(bed.path("read-go"), "1\n")
        r = finish(job)
        same((r.status, r.err), (0, b""), f"end of {r}")
        lines = sorted(x for x in r.lines if x.startswith("child"))
        same(lines, sorted(["child 0 of 2 on node2 with node2", "child 1 of 2 on node2 with node2",
                            "child 0 of 2 on node2 with node2 node3",
                            "child 1 of 2 on node3 with node2 node3",
                            "child 0 of 1 on node3 with node3"]), "children")


@point("tcp: several ranks ask at once for hosts, some the same: each is called for once")
def at_once(bed):
    clean(bed)
    parent = parent_of(bed, """
        wave("node%d" % (1 + rank % 3), 1)
        c.fence()
        c.finalize()
    """)
    with munges(bed) as sock:
        r = finish(tcp(bed, sock, command_of(bed, SSH), "-n", 6, parent, hosts=["node0"]))
        same((r.status, r.err), (0, b""), f"end of {r}")
        same(sorted(calls(bed)), ["node1", "node2", "node3"], "calls of CMD")
        same(sorted(x.split()[5] for x in r.lines), sorted(["node1", "node2", "node3"] * 2),
             "hosts")


FAILS = """
    for _ in range(2):
        r = spawn(c, command("true", n=2, host="node2"))
        need(r["rc"] != "0" and "jobid" not in r, "refused", r)
        say(r["errcodes"], r["errmsg"])
    {more}
    started(c, command("echo", "here", n=1))
    c.fence()
    c.finalize()
"""


@points([(f"tcp: CMD {name}: an error of who asks; others are reached", text, options, pattern)
         for name, text, options, pattern in (
    ("fails for one host", '[ $1 = node2 ] && { echo no way to $1 >&2; exit 3; }\n' + SSH, (),
     r"node2: .*/cmd failed \(exit 3\): no way to node2"),
    ("ends, but nobody calls", '[ $1 = node2 ] && exit 0\n' + SSH, ("-launch-timeout", 2),
     r"node2: no answer within 2 s"),
    ("has a proxy of another job", 'host=$1; shift; [ $host = node2 ] && set -- $(echo "$@" | '
     'sed "s,--job [^ ]*,--job other-1,")\nexec ssh -n -oBatchMode=yes "$host" "$@"\n',
     ("-launch-timeout", 5), r"node2: "))])
def fails(bed, text, options, pattern):
    clean(bed)
    parent = parent_of(bed, FAILS.format(more='wave("node3", 1)'))
    with munges(bed) as sock:
        r = finish(tcp(bed, sock, command_of(bed, text), *options, "-n", 1, parent,
                       hosts=["node0"]))
        same(r.status, 0, f"status of {r}")
        same(sorted(set(calls(bed))), ["node2", "node3"], "calls of CMD")
        lines = [x for x in r.lines if x.startswith("113,113 ")]
        same(len(lines), 2, f"refused twice, as unreachable: {r}")
        need(all(re.search(pattern, x) for x in lines), pattern, lines)
        need("here" in r.lines and "child 0 of 1 on node3 with node3" in r.lines, "others", repr(r))


@points([(f"munged {how} when hosts are wanted: an error of who asks, which names its socket; "
          "it works once munged does", how) for how in ("is absent", "has been killed")])
def no_munge(bed, how):
    clean(bed)
    parent = parent_of(bed, """
        for host in "node2", "node1,node2,node3":
            r = spawn(c, command("true", n=3, host=host))
            need(r["rc"] != "0" and "jobid" not in r, "refused", r)
            say(r["errcodes"], r["errmsg"])
        started(c, command("echo", "here", n=1))
        await_file("read-go")
        wave("there", 1)
        c.finalize()
    """)
    with munges(bed) as sock:
        path = bed.path("munge/late")
        if how == "has been killed":
            os.kill(pid_of(munged(bed, "late")), signal.SIGKILL)
        text = SSH.replace('"$host" "$@"', '"node3" "$@"')      # whatever its name
        job = tcp(bed, path, command_of(bed, text), "-n", 1, parent, hosts=["node0"])
        job.wait_text("here")
        same(ports(bed), [], "ports once nobody is awaited")
        if os.path.exists(path):
            os.unlink(path)
        munged(bed, "late")
        lib.write_file(bed.path("read-go"), "1\n")
        r = finish(job)
        same((r.status, r.err), (0, b""), f"end of {r}")
        lines = [x for x in r.lines if x.startswith("113,113,113 ")]
        same(len(lines), 2, f"refused twice, as unreachable: {r}")
        need(all("munge" in x and path in x for x in lines), "munge's socket", lines)
        need("child 0 of 1 on node3 with node3" in r.lines, "it works in the end", repr(r))


@points([(f"manual: the lines of hosts outside a run of {what} are printed; run there, all goes on",
          hosts) for what, hosts in (("this host alone", ["node0"]),
                                     ("two hosts", ["node0", "node1"]))])
def manual(bed, hosts):
    clean(bed)
    parent = parent_of(bed, """
        if rank == 0:
            sys.stdout.write("half a line")
            sys.stdout.flush()
            await_file("read-go")
            wave("node2,node3", 2)
            wave("node2", 1)
        c.fence()
        c.finalize()
    """)
    lists = ([[1]] if len(hosts) > 1 else []) + [[len(hosts), len(hosts) + 1]]
    with munges(bed) as sock:
        job = start(bed, "-launcher", "manual", "-munge-socket", sock, "-n", len(hosts), parent,
                    hosts=hosts)
        if len(hosts) == 1:
            job.wait_text("half a line")                # it is shown: what follows is apart
        lib.write_file(bed.path("read-go"), "1\n")
        for k, positions in enumerate(lists):
            job.wait_text("HYDRA_LAUNCH_END\n", k + 1)
            lines = [x for x in job.text().decode().splitlines() if x.startswith("HYDRA_LAUNCH: ")]
            same(len(lines), positions[-1], "lines, one a host")
            same(len(ports(bed)), 1, "ports while hosts are awaited")
            for i in positions:
                need(re.search(rf"--position {i}\b", lines[i - 1]), "a command for", i, lines)
                bed.popen(i if positions == [1] else i - len(hosts) + 2,
                          ["sh", "-c", lines[i - 1][14:]])
        r = finish(job)
        same((r.status, r.err), (0, b""), f"end of {r}")
        need("half a line" in r.lines, "ranks' lines are apart from ours", repr(r))
        same(sorted(x for x in r.lines if x.startswith("child")),
             ["child 0 of 1 on node2 with node2", "child 0 of 2 on node2 with node2 node3",
              "child 1 of 2 on node3 with node2 node3"], "children")
        same(r.lines.count("HYDRA_LAUNCH_END"), len(lists), f"lists of commands: {r}")


@points([(f"{way}: who asks {what} while a host is awaited: the run ends, nothing is left",
          way, what)
         for way in ("tcp", "manual")
         for what in ("aborts", "is killed", "is interrupted with the run")])
def ends(bed, way, what):
    clean(bed)
    parent = parent_of(bed, """
        send_spawn(c, command("true", n=1, host="node2"), thrid="0x1")
        touch("read-asked")
        say("pid", os.getpid())
        if sys.argv[1] == "aborts":
            await_file("read-awaited")
            c.send(c.message("cmd=abort;isworld=TRUE;exitcode=42;msg=no more;"))
        time.sleep(60)
    """)
    with munges(bed) as sock:
        cmd = command_of(bed, "exec sleep 100\n")
        job = start(bed, "-launcher", way, *(("-launcher-exec", cmd) if way == "tcp" else ()),
                    "-munge-socket", sock, "-launch-timeout", 60, "-n", 1, parent, what,
                    hosts=["node0"])
        job.wait_text("pid ")
        if way == "tcp":
            wait_for(lambda: calls(bed) == ["node2"], "the call of CMD")
        else:
            job.wait_text("HYDRA_LAUNCH_END\n")
        lib.write_file(bed.path("read-awaited"), "1\n")
        since = time.monotonic()
        if what == "is killed":
            rank = next(p.pid for p in on(bed, 0, "parent") if "mpiexec_lite" not in p.cmdline)
            since = kill(rank)
        elif "interrupted" in what:
            job.kill(signal.SIGINT)
        r = finish(job, since, bound=5, what=f"{way}: who asks {what}")
        wanted = {"aborts": 42, "is killed": 137}.get(what, 130)
        same(r.status, wanted, f"status of {r}")
        clean(bed)


@points([(f"a host that has called later {what}: all jobs end, nothing is left", what)
         for what in ("is cut off", "loses its proxy", "stays, and the launcher is killed")])
def lost(bed, what):
    clean(bed)
    parent = parent_of(bed, """
        started(c, command("sh", "-c", "trap '' TERM; echo ready; sleep 60 & wait", n=2,
                           host="node2,node3"))
        time.sleep(60)
    """)
    with munges(bed) as sock:
        job = tcp(bed, sock, command_of(bed, SSH), "-heartbeat", 0.5, "-lease", 2, "-n", 1, parent,
                  hosts=["node0"])
        job.wait_text("ready", 2)
        since = time.monotonic()
        if what == "is cut off":
            bed.silence(2)
        elif what == "loses its proxy":
            rank = next(p.pid for p in on(bed, 2, "echo ready") if p.state != "Z")
            since = kill(lib.stat(rank)[1])
        else:
            job.kill(signal.SIGKILL)
        r = finish(job, since, bound=7, what=what, clean=False, sessions=False, nodes=(0, 1, 3))
        need(not r.left, "nothing is left on hosts that are reached", repr(r))
        if "launcher" in what:
            same(r.status, 137, f"status of {r}")
        else:
            one_message(r, 255, "node2")
        left = bed.left(8 + SLACK, sessions=False)      # sshd there cannot know
        need(not left, "nothing is left", left)


if MISSING:
    print("1..0 # SKIP not installed: " + " ".join(MISSING))
else:
    main([SIZE, SIZE], [])

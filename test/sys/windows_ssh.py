#!/usr/bin/env -S python3 -B
"""gdb, in a real tmux, on ranks of other hosts that ssh reaches (-gdb).  On a bed of namespaces: see
test/bed.py.  What is the same on one host: windows.py."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from trial import *                                     # noqa: E402
import re                                               # noqa: E402
import signal                                           # noqa: E402

SIZE = 2


def tmux(bed, job, *words, user="root"):
    name = wait_for(lambda: re.search(rb"gdb is in: tmux -L (\S+) attach", job.error_text()), "the launcher's line")
    return bed.run(0, ["tmux", "-L", name[1].decode(), *words], user=user).stdout.decode()


def panes(bed, job, ranks, **more):
    """{rank: pane} once gdb has attached to all of these ranks, one on each node."""
    def look():
        out = tmux(bed, job, "list-panes", "-a", "-F", "#{pane_title} is #{pane_id}", **more)
        return {r: m[1] for r in ranks if (m := re.search(rf"rank {r} on node{r} is (%\d+)", out))}
    wait_for(lambda: len(look()) == len(ranks), "panes")
    for p in look().values():
        shows(bed, job, p, r"SIGCONT +No", **more)
        shows(bed, job, p, r"\(gdb\)\s*$", **more)
    return look()


def shows(bed, job, pane, text, **more):
    wait_for(lambda: re.search(text, tmux(bed, job, "capture-pane", "-p", "-J", "-t", pane, **more).rstrip()),
             f"{text} in {pane}: " + tmux(bed, job, "capture-pane", "-p", "-J", "-t", pane, **more))


def typed(bed, job, pane, line, **more):
    tmux(bed, job, "send-keys", "-t", pane, line, "Enter", **more)


def traced(bed, node):
    """Ranks of a node that gdb has."""
    return [p for p in bed.processes(node) if p.state == "t"]


@points([("-gdb: an mpich program held on two hosts; a person stops each rank in main by gdb there", "root"),
         ("the same, of a user whose shell is csh", "csher"), ("and of one with fish", "fisher")])
def two_hosts(bed, user):
    job = start(bed, "-gdb", "all", "-n", SIZE, bed.path("bin", "mpi_ranks"), user=user)
    at = panes(bed, job, range(SIZE), user=user)
    for n in range(SIZE):
        same(len(traced(bed, n)), 1, f"ranks of node{n} that are traced")
    for p in at.values():
        typed(bed, job, p, "break main", user=user)
        shows(bed, job, p, "Breakpoint 1 at", user=user)
        typed(bed, job, p, "continue", user=user)
    for p in at.values():
        shows(bed, job, p, "Breakpoint 1, main", user=user)
        typed(bed, job, p, "delete", user=user)
        typed(bed, job, p, "y", user=user)
        typed(bed, job, p, "continue", user=user)
    same(finish(job).status, 0, "status")            # and no socket of tmux is left


@point("-gdb 1: gdb on the other host only; quitting it lets the rank go on")
def quitting(bed):
    job = start(bed, "-gdb", "1", "-n", SIZE, "sh", "-c", "echo ran $PMI_RANK")
    at = panes(bed, job, [1])
    typed(bed, job, at[1], "set confirm off")
    typed(bed, job, at[1], "quit")
    r = finish(job)
    same((r.status, sorted(r.lines)), (0, ["ran 0", "ran 1"]), "end")


@points([("a window on the way by ssh that is closed", "kill-pane"), ("and all of them", "kill-server")])
def closed(bed, how):
    job = start(bed, "-gdb", "1", "-n", SIZE, "sh", "-c", "echo ran $PMI_RANK")
    at = panes(bed, job, [1])
    tmux(bed, job, how, *(["-t", at[1]] if how == "kill-pane" else []))
    r = finish(job)
    same((r.status, sorted(r.lines)), (0, ["ran 0", "ran 1"]), "lets its rank go on")


@points([(f"{s.name} to the launcher: no gdb, no rank, no tmux is left on any host", s)
         for s in (signal.SIGTERM, signal.SIGKILL)])
def ended(bed, signo):
    job = start(bed, "-gdb", "all", "-n", SIZE, "sleep", 600)
    panes(bed, job, range(SIZE))
    job.kill(signo)
    r = finish(job, clean=signo == signal.SIGTERM)
    if signo == signal.SIGTERM:
        same((r.status, [m for m in r.messages if "cleanup" in m]), (143, []), "end")
    wait_for(lambda: not bed.left(1.0, sessions=False), "processes left")


@point("a host that has no gdb says so in the window; when that is closed the rank goes on")
def no_gdb(bed):
    ssh = bed.write("ssh", "#!/bin/sh\nfor last; do :; done\ncase $last in *gdb*) "
                           "exec ssh \"$1\" \"$2\" -tt node1 'env PATH=/nowhere '\"${last#exec}\";; esac\nexec ssh \"$@\"\n", 0o755)
    job = start(bed, "-gdb", "1", "-launcher-exec", ssh, "-n", SIZE, "sh", "-c", "echo ran $PMI_RANK")
    out = wait_for(lambda: re.search(r"rank 1 on node1 is (%\d+)",
                                     tmux(bed, job, "list-panes", "-a", "-F", "#{pane_title} is #{pane_id}")), "a pane")
    shows(bed, job, out[1], "there is no gdb on")
    typed(bed, job, out[1], "")
    r = finish(job)
    same((r.status, sorted(r.lines)), (0, ["ran 0", "ran 1"]), "end")


main([SIZE] * 3, [prog("mpi_ranks")])

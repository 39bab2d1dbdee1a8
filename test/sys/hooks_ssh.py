#!/usr/bin/env -S python3 -B
"""Set-up providers on hosts that ssh reaches: when they are asked on each node, how they end,
and what is left.  On a bed of namespaces: see test/bed.py; on one node: hooks.py."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from trial import *                                     # noqa: E402
from munged import MISSING, munges                      # noqa: E402
import hooklib                                          # noqa: E402
from spawnlib import bed_script                         # noqa: E402

SIZE = 4
NODES = [(i, [2 * i, 2 * i + 1]) for i in range(SIZE)]


def provider(bed, name, body="pass", describe=None):
    log = bed.path(name + ".log")
    if os.path.exists(log):
        os.unlink(log)
    return hooklib.provider(name, body, describe, folder=bed.dir, log=log)


def launch_with(bed, p, *words):
    return launch(bed, "-provider", p.path, "-n", 2 * SIZE, *words,
                  hosts=[f"node{i} slots=2" for i in range(SIZE)])


def ran(p):
    return ["sh", "-c", "echo '{\"hook\": \"ran\"}' >>" + p.log_path]


@point("R12-01 R12-09 R12-10 R12-15 R12-16 each hook once, in its order, on each of 4 hosts")
def order(bed):
    p = provider(bed, "order", """
        if hook == "setup-application":
            return {"infos": [set_env("A", "b"), value("site.x", "STRING", "y")]}
        if hook == "setup-child":
            note({"hook": "answered"})
            return {"infos": [set_env("PORT", str(r["rank"]))]}
    """)
    r = launch_with(bed, p, "sh", "-c", "echo $PMI_RANK $A $PORT; " + ran(p)[2])
    need(r.status == 0 and not r.messages, "a good end", repr(r))
    hooklib.same(sorted(r.lines), [f"{i} b {i}" for i in range(2 * SIZE)], "output")
    hooklib.same(len(p.asked("setup-application")), 1, "setup-application")
    hooklib.orders(p.log, "setup-application", "setup-local")
    hooklib.orders(p.log, "answered", "ran")
    for node, ranks in NODES:
        hooklib.life(p.log, node, ranks)
    for x in p.asked("setup-local"):
        hooklib.same([(n["name"], n["ranks"]) for n in x["nodes"]],
                     [(f"node{i}", f"{2 * i}-{2 * i + 1}") for i in range(SIZE)], "map")


@point("R12-14 a rank of another host is killed: every rank and node is told its end, once")
def killed(bed):
    p = provider(bed, "killed")
    r = launch_with(bed, p, "sh", "-c", "[ $PMI_RANK = 5 ] && kill -9 $$; sleep 60")
    hooklib.same(r.status, 137, "status")
    for node, ranks in NODES:
        hooklib.life(p.log, node, ranks)
    seen = {x["rank"]: x.get("signal") for x in p.asked("child-finished")}
    hooklib.same(seen[5], 9, "how it ended")


@points([(f"R12-02 a provider that {what} on one host ends the start, and nothing is left", body,
          words) for what, body, words in
         [("fails", "return {'error': 'no link'}", "setup-local: no link"),
          ("hangs", "time.sleep(600)", "no answer for 1 s"),
          ("dies", "os._exit(1)", "ended without an answer")]])
def fails(bed, body, words):
    p = provider(bed, "sick", f"""
        if hook == "setup-local" and r["node"] == 2:
            {body}
    """, {"timeout": 1})
    r = launch_with(bed, p, *ran(p))
    need(r.status == 255 and any("node2: provider sick" in m and words in m for m in r.messages),
         "its host, name and words", repr(r))
    hooklib.same(p.asked("ran"), [], "ranks")
    hooklib.same(sorted(x["on"] for x in p.asked("local-finished")),
                 sorted(x["on"] for x in p.asked("setup-local") if x["node"] != 2),
                 "those that were set up are told the end")


@points([(f"a spawn over 4 hosts: {what}", hook) for what, hook in
         [("each job is set up, and each node told its end", None),
          ("refused where the job is not set up", "setup-application"),
          ("refused where a node is not", "setup-local"),
          ("refused where a rank is not", "setup-child")]])
def spawned(bed, hook):
    p = provider(bed, "each", f"""
        extra["spawned"] = extra.get("spawned") or "spawner" in r
        if extra["spawned"] and hook == {hook!r} and r.get("node", 3) == 3 and r.get("rank", 7) == 7:
            return {{"error": "not there"}}
        if hook == "setup-application":
            return {{"infos": [set_env("JOB", r["job"])]}}
    """)
    child = bed_script(bed, "child", "c = Client(2)\nsay('child', os.environ['JOB'] == c.jobid())\n"
                       "c.fence()\nc.finalize()")
    parent = bed_script(bed, "parent", f"""
        c = Client(1)
        if rank == 0:
            if {hook!r}:
                need(refused(spawn(c, command({child!r}, n=8))), "refused")
                say("refused")
            else:
                started(c, command({child!r}, n=8))
        c.fence()
        c.finalize()
    """)
    r = launch_with(bed, p, parent)
    need(r.status == 0 and not r.messages, "a good end", repr(r))
    if hook in ("setup-local", "setup-child"):  # other nodes may have begun
        need("refused" in r.lines and set(r.lines) <= {"refused", "child True"}, "output", r.lines)
    else:
        hooklib.same(r.lines, ["refused"] if hook else ["child True"] * 8, "output")
    local, last = p.asked("setup-local"), p.asked("local-finished")
    if hook in (None, "setup-application"):     # else nodes may have been given up before
        hooklib.same(len(local), SIZE if hook else 2 * SIZE, "setup-local")
    hooklib.same(len(last), len(local) - (hook in ("setup-local", "setup-child")), "local-finished")


@point("R12-07 likewise where hosts call back, and memory is shut (-launcher tcp)")
def called_back(bed):
    if MISSING:
        raise hooklib.Skip("not installed: " + " ".join(MISSING))
    p = provider(bed, "tcp", """
        if hook == "setup-application":
            return {"infos": [set_env("A", "b"), value("site.x", "STRING", "y")]}
    """)
    with munges(bed) as sock:
        cmd = bed.write("cmd", '#!/bin/sh\nhost=$1; shift; exec ssh -n -oBatchMode=yes "$host" "$@"\n',
                        0o755)
        r = launch_with(bed, p, "-launcher", "tcp", "-launcher-exec", cmd, "-munge-socket", sock,
                        "sh", "-c", "echo $A; " + ran(p)[2])
    need(r.status == 0 and not r.messages and r.lines == ["b"] * 2 * SIZE, "a good end", repr(r))
    hooklib.orders(p.log, "setup-local", "ran")
    for node, ranks in NODES:
        hooklib.life(p.log, node, ranks)


main([SIZE], [])

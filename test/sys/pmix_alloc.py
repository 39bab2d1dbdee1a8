#!/usr/bin/env -S python3 -B
"""pmix-alloc and the queries about queues: where there is no Slurm, and where its commands
lie, hang or flood (programs of ours in their place).  A real one: test/slurm."""

import json
import os
import re

from lib import *
from pmixlib import *

NEW, EXTEND, RELEASE = 1, 2, 3
NOT_FOUND, NOT_SUPPORTED, BAD_PARAM, TIMEOUT = -46, -47, -27, -24
NO_ALLOC, NOT_AVAILABLE, UNPACK, BUSY, MISMATCH = -188, -64, -20, -125, -18
LIST, STATUS = "pmix.qry.qlst", "pmix.qry.qst"
GOOD = "main|up|1:00:00|1/2/0/3|2/4/0/6\\nspare|inact|infinite|0/0/3/3|0/0/6/6\\n"
# Words of a command go to the file; an id is granted, and shown.
SALLOC = 'echo "salloc: Pending job allocation 7" >&2; echo "salloc: Granted job allocation 7" >&2'
SQUEUE = 'echo "node[1-2]|5:00"'


def commands(**scripts):
    """The environment of a host whose Slurm has these commands, and no other."""
    path = os.path.join(tmp(), f"slurm{len(os.listdir(tmp()))}")
    os.mkdir(path)
    for name, script in scripts.items():
        with open(os.path.join(path, name), "w", encoding="utf-8") as f:
            f.write(f'#!/bin/sh\nPATH=/usr/bin:/bin\necho "{name} $*" >>{path}/said\n{script}\n')
        os.chmod(os.path.join(path, name), 0o755)
    return path, {**os.environ, "PATH": path}


def said(path):
    try:
        with open(path + "/said", encoding="utf-8") as f:
            return f.read().splitlines()
    except FileNotFoundError:
        return []


def alloc(peer, directive, *infos):
    return peer.call("pmix-alloc", directive=directive, infos=list(infos))


def status_of(peer, *keys, seconds=10):
    r = good(peer.call("pmix-query", queries=[{"keys": list(keys), "qualifiers": [
        info("pmix.timeout", "INT", seconds)]}]))
    return [x.get("status", 0) for x in r["results"]]


def number(key, n, kind="UINT32"):
    return info(key, kind, n)


def named(i):
    return info("pmix.alloc.id", "STRING", str(i))


KEEP = info("lite.alloc.keep", "BOOL", True)


@test("no Slurm: each directive and each queue key is not supported, for a rank and a tool")
def none():
    ranks = Ranks("-n", 1, env=commands()[1])
    tool = Tool(ranks.job)
    for peer in (tool, ranks[0]):
        for directive, infos in ((NEW, []), (EXTEND, [number("pmix.alloc.time", 60)]),
                                 (RELEASE, [named(1)]), (9, [])):
            same(alloc(peer, directive, *infos)["status"], NOT_SUPPORTED, f"directive {directive}")
        same(status_of(peer, LIST, "pmix.qry.ns", STATUS), [NOT_SUPPORTED, 0, NOT_SUPPORTED], "keys")
    same(ranks.finish().status, 0, "exit status")


@test("Slurm's commands are there, and no Slurm is set up: likewise")
def unset():
    absent = "echo 'x: fatal: Could not establish a configuration source' >&2; exit 1"
    _, env = commands(sinfo=absent, salloc=absent, scancel=absent)
    ranks = Ranks("-n", 1, env=env)
    tool = Tool(ranks.job)
    same(alloc(tool, NEW)["status"], NOT_SUPPORTED, "new")
    same(status_of(tool, LIST, STATUS), [NOT_SUPPORTED] * 2, "keys")
    same(ranks.finish().status, 0, "exit status")


@test("queues: their names and states, one call of sinfo for all keys")
def queues():
    path, env = commands(sinfo=f'printf "{GOOD}"')
    ranks = Ranks("-n", 1, env=env)
    r = good(Tool(ranks.job).call("pmix-query", queries=[{"keys": [LIST, STATUS]}, {
        "keys": [STATUS], "qualifiers": [info("pmix.alloc.queue", "STRING", "spare")]}, {
            "keys": [STATUS], "qualifiers": [info("pmix.alloc.queue", "STRING", "x")]}]))
    names, both, one, none = (x["value"] for x in r["results"])
    same(names, "main,spare", "names")

    def plain(array):
        return [{i["key"]: i["value"] for i in x["value"]["array"]} for x in array["array"]]
    same(plain(both), [
        {"pmix.alloc.queue": "main", "lite.queue.up": True, "pmix.num.nodes": 3, "lite.queue.idle": 2,
         "pmix.alloc.ncpus": 6, "pmix.alloc.time": 3600},
        {"pmix.alloc.queue": "spare", "lite.queue.up": False, "pmix.num.nodes": 3,
         "lite.queue.idle": 0, "pmix.alloc.ncpus": 6}], "states")
    same(plain(one), plain(both)[1:], "of one")
    same(plain(none), [], "of none")
    same(len(said(path)), 1, "calls")
    same(ranks.finish().status, 0, "exit status")


@rows([("sinfo hangs, and ignores SIGTERM: told in time", "trap '' TERM; sleep 1000", TIMEOUT),
       ("sinfo fails", "echo 'sinfo: error: no controller' >&2; exit 1", NOT_AVAILABLE),
       ("sinfo floods", "yes main", NOT_AVAILABLE),
       ("sinfo lies: counts", "echo 'main|up|1:00|1/2/3|0/0/0/0'", UNPACK),
       ("sinfo lies: a name with a quote", "echo 'ma\"in|up|1:00|0/0/0/0|0/0/0/0'", UNPACK),
       ("sinfo lies: a number beyond all", "echo 'm|up|1:00|0/0/0/99999999999999999999|0/0/0/0'",
        UNPACK),
       ("sinfo says nothing, and succeeds", "", 0)])
def hostile(script, status):
    _, env = commands(sinfo=script)
    ranks = Ranks("-n", 1, env=env)
    tool = Tool(ranks.job)
    same(status_of(tool, LIST, seconds=3), [status], "status")
    good(tool.call("pmix-capabilities"))
    same(ranks.finish().status, 0, "exit status")


@test("while sinfo hangs, all others are served; who asked ends, and so does it")
def not_blocked():
    _, env = commands(sinfo="exec sleep 1000")
    ranks = Ranks("-n", 1, env=env)
    asker, other = Tool(ranks.job), Tool(ranks.job)
    asker.send("pmix-query", queries=json.dumps([{"keys": [LIST], "qualifiers": [
        info("pmix.timeout", "INT", 900)]}]))
    wait_for(lambda: "sleep" in children(ranks), "sinfo runs")
    good(other.call("pmix-capabilities"))
    asker.close()
    wait_for(lambda: "sleep" not in children(ranks), "sinfo has ended")
    same(ranks.finish().status, 0, "exit status")


def children(ranks):
    """Names of the processes that the launcher's server has started."""
    pid = stat(ranks[0].pid)[1]
    found = []
    for p in filter(str.isdigit, os.listdir("/proc")):
        s = stat(int(p))
        if s and s[1] == pid and s[0] != "Z":
            with open(f"/proc/{p}/comm", encoding="utf-8") as f:
                found.append(f.read().strip())
    return found


@test("new, extended, released: the words of the commands, and what is answered")
def life():
    path, env = commands(salloc=SALLOC, squeue=SQUEUE, scontrol="", scancel="")
    ranks = Ranks("-n", 1, env=env)
    tool = Tool(ranks.job)
    r = good(alloc(tool, NEW, number("pmix.alloc.nnodes", 2, "UINT64"), number("pmix.alloc.time", 61),
                   info("pmix.alloc.queue", "STRING", "main"), named_request("mine")))
    same({i["key"]: i["value"] for i in r["results"]},
         {"pmix.alloc.id": "7", "pmix.alloc.reqid": "mine", "pmix.alloc.nlist": "node[1-2]",
          "pmix.alloc.time": 300}, "what it is")
    good(alloc(tool, EXTEND, named(7), number("pmix.alloc.time", 600)))
    good(alloc(tool, RELEASE, named(7)))
    same(alloc(tool, RELEASE, named(7))["status"], NOT_FOUND, "it is gone")
    same(ranks.finish().status, 0, "exit status")
    words = [re.sub(r"mpiexec_lite\.\S+", "NAME", x) for x in said(path)]
    same(words, ["salloc --no-shell --job-name=NAME --partition=main --nodes=2 --time=2",
                 "squeue --noheader --jobs=7 --format=%N|%L",
                 "scontrol update JobId=7 TimeLimit=+10", "scancel 7"], "commands")


def named_request(text):
    return info("pmix.alloc.reqid", "STRING", text)


@rows([("given back when the tool ends", [], ["scancel 7"]),
       ("kept, if so asked", [KEEP], [])])
def ends(infos, want):
    path, env = commands(salloc=SALLOC, squeue=SQUEUE, scancel="")
    ranks = Ranks("-n", 1, env=env)
    tool, other = Tool(ranks.job), Tool(ranks.job)
    good(alloc(tool, NEW, *infos))
    tool.close()
    good(other.call("pmix-capabilities"))
    if want:
        wait_for(lambda: said(path)[2:] == want, "released")
    else:
        good(alloc(other, RELEASE, named(7)))          # tools share
        want = ["scancel 7"]
    same(ranks.finish().status, 0, "exit status")
    same(said(path)[2:], want, "commands")


@rows([("given back when the rank ends, before the launcher does", [], 1),
       ("a rank's is kept, if so asked", [KEEP], 0)])
def rank_ends(infos, times):
    path, env = commands(salloc=SALLOC, squeue=SQUEUE, scancel="sleep 0.5; echo done >>$0.done")
    ranks = Ranks("-n", 1, env=env)
    good(alloc(ranks[0], NEW, *infos))
    same(ranks.finish().status, 0, "exit status")
    same(said(path).count("scancel 7"), times, "calls")
    same(os.path.exists(path + "/scancel.done"), bool(times), "it could end")


@test("nobody else's: another's id, and a tool's for a rank")
def others():
    path, env = commands(salloc=SALLOC, squeue=SQUEUE, scancel="", scontrol="")
    ranks = Ranks("-n", 1, env=env)
    tool = Tool(ranks.job)
    good(alloc(tool, NEW))
    for peer, i in ((tool, 8), (ranks[0], 7), (tool, "7 8"), (tool, "-u")):
        same(alloc(peer, RELEASE, named(i))["status"], NOT_FOUND, f"release {i}")
        same(alloc(peer, EXTEND, named(i), number("pmix.alloc.time", 60))["status"], NOT_FOUND,
             f"extend {i}")
    same(len(said(path)), 2, "commands")
    same(ranks.finish().status, 0, "exit status")


@test("salloc waits too long: ended, told, and what it would have got is cancelled")
def too_long():
    path, env = commands(salloc="exec sleep 1000", scancel="")
    ranks = Ranks("-n", 1, env=env)
    tool = Tool(ranks.job)
    same(alloc(tool, NEW, number("pmix.timeout", 1, "INT"))["status"], TIMEOUT, "status")
    wait_for(lambda: any(re.fullmatch(r"scancel --name=mpiexec_lite\S+", x) for x in said(path)),
             "cancelled")
    same(ranks.finish().status, 0, "exit status")


@test("the asker ends while salloc waits: likewise")
def asker_ends():
    path, env = commands(salloc="exec sleep 1000", scancel="")
    ranks = Ranks("-n", 1, env=env)
    tool = Tool(ranks.job)
    tool.send("pmix-alloc", directive=str(NEW))
    wait_for(lambda: "sleep" in children(ranks), "salloc runs")
    tool.close()
    wait_for(lambda: any(x.startswith("scancel --name=") for x in said(path)), "cancelled")
    same(ranks.finish().status, 0, "exit status")


@test("refused: what makes no sense, with what was wrong")
def refused():
    path, env = commands(salloc="echo 'salloc: error: no \x1b[31m' >&2; exit 1", scancel="")
    ranks = Ranks("-n", 1, env=env)
    tool = Tool(ranks.job)
    text = "STRING"
    for directive, infos, status in (
            (NEW, [info("pmix.alloc.queue", text, "a --uid=0")], BAD_PARAM),
            (NEW, [info("pmix.alloc.nlist", text, "$(id)")], BAD_PARAM),
            (NEW, [named(3)], BAD_PARAM), (RELEASE, [], BAD_PARAM), (EXTEND, [], BAD_PARAM),
            (EXTEND, [number("pmix.alloc.time", 1), number("pmix.alloc.nnodes", 1, "UINT64")],
             NOT_SUPPORTED),
            (NEW, [number("pmix.alloc.time", 1, "INT")], MISMATCH),
            (NEW, [number("pmix.timeout", -1, "INT")], BAD_PARAM),
            (NEW, [{**info("pmix.alloc.msize", "FLOAT", 1.0), "flags": ["required"]}], NOT_SUPPORTED),
            (NEW, [], NO_ALLOC), (0, [], NOT_SUPPORTED), (4, [], NOT_SUPPORTED)):
        r = alloc(tool, directive, *infos)
        same(r["status"], status, f"{directive} {infos}")
        need("\x1b" not in r["errmsg"], "fit to be shown", r)
    wait_for(lambda: any(x.startswith("scancel --name=") for x in said(path)), "cancelled")
    same(ranks.finish().status, 0, "exit status")


if __name__ == "__main__":
    main()

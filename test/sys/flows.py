#!/usr/bin/env -S python3 -B
"""Launching under a tool, indirectly: a launcher that waits for orders, takes them and goes on."""

import os
import signal

from lib import *
from pmixlib import *

READY, DEBUG, RELEASE, CREATED, START, LAUNCHED, END = -155, -58, -3, -2902, -191, -174, -145
BAD_PARAM, MISMATCH = -27, -18
FORK = {"HYDRA_LAUNCHER_AUTOFORK": "0"}
NODES = ["-launcher", "fork", "-hosts", "a,b", "-ppn", "1", "-n", 2]
WHERE = [("here", ["-n", 2]), ("on two nodes", NODES)]
PMIX_TOOL = os.path.join(B, "bin", "pmix_tool")


def waiting(*words, value="1"):
    """A launcher that waits, and its tool."""
    job = Job(*words, env={**(FORK if "-hosts" in words else {}), "PMIX_LAUNCHER_PAUSE_FOR_TOOL": value})
    return job, Tool(job)


def go(tool, *directives, status=0):
    infos = [info("pmix.lnch.dirs", "DATA_ARRAY", {"type": "PMIX_INFO", "array": list(directives)})] \
        if directives else []
    r = tool.call("pmix-notify", status=str(RELEASE), range="5", infos=infos)
    same(r["status"], status, f"status of {r}")
    return r


def envar(how, name, x):
    return info("pmix.envar." + how, "ENVAR", {"envar": name, "value": x})


@rows([(f"R23-11, R23-17: a launcher waits for a tool, starts nothing before, and then in order, {w}", o)
       for w, o in WHERE])
def order(options):
    job, tool = waiting(*options, "sh", "-c", "echo ${PMIX_LAUNCHER_PAUSE_FOR_TOOL-unset}")
    good(tool.call("pmix-event-register", codes=[READY, CREATED, START, LAUNCHED, END]))
    same(tool.event("pmix-event")["status"], READY, "it is ready, which a late tool hears as well")
    r = good(tool.call("pmix-query", queries=[query("pmix.qry.ns", "pmix.qry.debug")]))
    need(results(r)[1][2], "it is asked meanwhile", r)
    need(not job.text() and len(left(job.mark)) == 2, "nothing runs but the launcher", left(job.mark))
    go(tool)
    same([tool.event("pmix-event")["status"] for _ in range(4)], [CREATED, START, LAUNCHED, END], "the order")
    r = job.finish()
    same((r.status, r.lines), (0, ["unset"] * 2), "the variable does not reach ranks")


@rows([(f"R23-16, R23-22: directives: stop points and the environment, {w}", o) for w, o in WHERE])
def directives(options):
    job, tool = waiting(*options, "-genv", "B", "b", "-genv", "C", "c", "sh", "-c", "echo $A-$B-${C-unset}-$D")
    good(tool.call("pmix-event-register", codes=[DEBUG]))
    go(tool, info("pmix.dbg.exec", "BOOL", True), envar("set", "A", "a"), envar("prepnd", "B", "x"),
       envar("appnd", "D", "d"), info("pmix.envar.unset", "STRING", "C"))
    m = tool.event("pmix-event")
    same(m["status"], DEBUG, "all are held")
    need(not job.text(), "none runs")
    name = m["source"]["nspace"]
    good(tool.call("pmix-notify", status=str(RELEASE), range="6",
                   infos=[info("pmix.evrange", "PROC", proc(name, "wildcard"))]))
    r = job.finish()
    same((r.status, r.lines), (0, ["a-x:b-unset-d"] * 2), "environment")


@rows([(f"T10, R11: a tool that had directives hold the job goes: it ends with it, {w}", o) for w, o in WHERE])
def tool_gone(options):
    job, tool = waiting(*options, "sleep", "600")
    other = Tool(job)
    good(other.call("pmix-event-register", codes=[DEBUG]))
    go(tool, info("pmix.dbg.exec", "BOOL", True))
    same(other.event("pmix-event")["status"], DEBUG, "all are held")
    tool.close()
    r = job.finish()
    same(r.status, 143, "status")
    need("which has gone while it was held" in r.messages[0], "why", r.messages)


@test("wrong directives are refused, and the launcher waits on")
def wrong():
    job, tool = waiting("-n", 2, "true")
    for d, status in (([info("pmix.dbg.exec", "STRING", "x")], MISMATCH), ([info("pmix.dbg.exec", "PROC_RANK", 7)], BAD_PARAM),
                      ([info("no.such", "BOOL", True, ["required"])], -47)):
        go(tool, *d, status=status)
    r = tool.call("pmix-notify", status=str(RELEASE), range="5", infos=[info("pmix.lnch.dirs", "INT", 1)])
    same(r["status"], MISMATCH, "no array")
    need(len(left(job.mark)) == 2, "it waits")
    go(tool)
    same(job.finish().status, 0, "end")


def daemons(*apps):
    return info("lite.dbg.apps", "DATA_ARRAY", {"type": "PMIX_APP", "array": list(apps)})


SLEEP = {"cmd": "/bin/sleep", "argv": ["sleep", "600"], "maxprocs": 1}


@rows([(f"R23-02: a job that ends before its daemons can be started ends as without them, {w}", o) for w, o in WHERE])
def too_late(options):
    for _ in range(8):                               # of which some are so soon
        job, tool = waiting(*options, "false")
        good(tool.call("pmix-event-register", codes=[END]))
        go(tool, daemons({**SLEEP, "info": [info("pmix.dbg.dpproc", "UINT16", 4)]}))
        tool.event("pmix-event")
        tool.close()                                 # with which those that were in time end
        r = job.finish()
        same((r.status, [m for m in r.messages if "daemons" in m]), (1, []), "end")


@test("R23-02: as many programs beside a job as a spawn can have, and no more; what is refused is not started")
def most():
    job, tool = waiting("-n", 1, "true")
    for n, status in ((1025, BAD_PARAM), (1024, 0), (1, BAD_PARAM)):
        r = tool.call("pmix-launch-directives", infos=[daemons(*[SLEEP] * n)])
        same(r["status"], status, f"status of {r}")
    job.kill(signal.SIGTERM)
    same(job.finish().status, 143, "end")


@rows([(f"{s.name} ends a launcher that waits", s) for s in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)])
def ended(signo):
    job, tool = waiting(*NODES, "sleep", 600)
    job.kill(signo)
    r = job.finish(clean=False)
    need(r.status, "status", r)
    nothing_left(job.mark)
    tool.close()


@rows([("pmix_tool release lets it go on", "1"), ("a value of 0 means nothing", "0"), ("nor does an empty one", "")])
def by_command(value):
    job = Job("-n", 1, "sh", "-c", "echo ran", env={"PMIX_LAUNCHER_PAUSE_FOR_TOOL": value})
    if value == "1":
        entry = tools_socket(job.pid)[:-len(".s")]
        wait_for(lambda: os.path.exists(entry), "the entry")
        need(not job.text(), "it waits")
        r = subprocess.run([PMIX_TOOL, "--pid", str(job.pid), "release"], capture_output=True, text=True,
                           timeout=LIMIT, env=environment(new_mark()))
        same((r.returncode, r.stderr), (0, ""), "release")
    r = job.finish()
    same((r.status, r.lines), (0, ["ran"]), "end")


main()

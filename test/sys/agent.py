#!/usr/bin/env -S python3 -B
"""An agent that is executed in place of each rank's program (-fork-agent, PMIX_FORKEXEC_AGENT and its other
names), and a library that is preloaded into ranks: once in each, and in nobody else."""

import os
import re
import signal

from lib import *
from pmixlib import *

CHAIN = ["-launcher", "fork", "-hosts", "a,b,c", "-ppn", "1", "-flat-hosts", "1", "-tree-width", "1"]
FORK = {"HYDRA_LAUNCHER_AUTOFORK": "0"}
WHERE = [("here", []), ("on three nodes", CHAIN)]
KEYS = ["pmix.fe.agnt", "pmix.exec.agnt", "pmix.spwn.lcl.frk.agnt"]
RELEASE, EXE_NOT_FOUND, DEBUG, LAUNCHED = -3, -190, -58, -174
AGENT = '#!/bin/sh\necho "agent $$ $PMI_RANK $# $*"\nexec "$@"\n'


def agent(text=AGENT):
    return write_file(f"{tmp()}/agent{next(numbers)}", text, 0o755)


numbers = iter(range(10 ** 6))


def env_of(options):
    return FORK if options else {}


def envar(how, name, x):
    return info("pmix.envar." + how, "ENVAR", {"envar": name, "value": x})


def target(name):
    return [info("pmix.debugger", "BOOL", True), info("pmix.dbg.tgt", "PROC", proc(name, "wildcard"))]


def app(*words, n=1, infos=()):
    return {"cmd": words[0], "argv": [os.fspath(w) for w in words], "maxprocs": n, "info": list(infos)}


def main_job(tool):
    return results(good(tool.call("pmix-query", queries=[query("pmix.qry.ns")])))[0][2].split(",")[0]


def table(tool, name):
    r = good(tool.call("pmix-query", queries=[query("pmix.qry.ptable", qualifiers=[info("pmix.nspace", "STRING", name)])]))
    return results(r)[0][2]


@rows([(f"R23-20: -fork-agent: its words and the program's argv, the rank's process and environment, {w}", o) for w, o in WHERE])
def option(options):
    ranks = Ranks(*options, "-fork-agent", agent() + " env  A=a", "-n", 3, env=env_of(options))
    tool = Tool(ranks.job)
    ranks.job.wait_text("agent ", 3)
    lines = sorted((x.split(" ", 3) for x in ranks.job.text().decode().splitlines()
                    if x.startswith("agent ")), key=lambda x: x[2])
    same([x[1] for x in lines], [str(r.pid) for r in ranks], "the process is the rank's")
    same([p["pid"] for p in table(tool, ranks.jobid)], [r.pid for r in ranks], "and so in the table")
    words = ["env", "A=a", *ranks.lender]
    same({x[3] for x in lines}, {f"{len(words)} env A=a {ranks.lender[0]} -S -B -c "}, "in their order")
    ranks.finish()


@rows([(f"R23-20: unmodified MPICH ranks under an agent, {w}", o) for w, o in WHERE])
def mpich(options):
    plain = run(*options, "-n", 3, prog("mpi_ranks"), env=env_of(options))
    r = run(*options, "-fork-agent", agent('#!/bin/sh\nexec "$@"\n'), "-n", 3, prog("mpi_ranks"), env=env_of(options))
    same((r.status, sorted(r.lines), r.messages), (0, sorted(plain.lines), []), "end")


@rows([(f"R23-20: an agent that is {what} is a launch failure that names it and its node, {w}", make, why, status, o)
       for what, make, why, status in (("missing", lambda: "no-such-agent x", "No such file or directory", 127),
                                       ("no program", lambda: write_file(tmp() + "/data", "x\n", 0o644), "Permission denied", 126))
       for w, o in WHERE])
def missing(make, why, status, options):
    name = make()
    r = run(*options, "-fork-agent", name, "-n", 3, "echo", "ran", env=env_of(options))
    same((r.status, r.lines), (status, []), f"end of {r}")
    first = r.messages[0]
    node = r"[abc]" if options else os.uname().nodename
    need(re.fullmatch(rf"mpiexec_lite: {node}: cannot start rank \d \(echo\): fork agent {re.escape(name.split()[0])}: {why}", first),
         "said", r)


@rows([(f"R23-20: {key}: a spawn's, for its job alone, {w}", key, o) for w, o in WHERE for key in KEYS])
def spawned(key, options):
    ranks = Ranks(*options, "-n", 3, env=env_of(options))
    tool = Tool(ranks.job)
    path = agent()
    good(tool.call("pmix-spawn", infos=[info(key, "STRING", path, ["required"])], apps=[app("/bin/echo", "ran", n=2)]))
    ranks.job.wait_text("ran", 4)
    same(sorted(x.split(" ", 2)[2] for x in ranks.job.text().decode().splitlines() if x.startswith("agent")),
         [f"{i} 2 /bin/echo ran" for i in range(2)], "its ranks")
    r = tool.call("pmix-spawn", infos=[info(key, "STRING", "no-such-agent")], apps=[app("/bin/echo", "ran")])
    same(r["status"], EXE_NOT_FOUND, f"status of {r}")
    need("fork agent no-such-agent: No such file" in r["errmsg"], "why", r)
    ranks.finish()


@rows([(f"R23-20: a job that a rank starts has none, nor have a tool's daemons, {w}", o) for w, o in WHERE])
def inherited(options):
    job = Job(*options, "-fork-agent", agent(), "-n", 3, "sleep", 600, env=env_of(options))
    tool = Tool(job)
    job.wait_text("agent ", 3)
    name = main_job(tool)
    good(tool.call("pmix-spawn", apps=[app("/bin/echo", "daemon")],
                   infos=[*target(name), info("pmix.fe.agnt", "STRING", "no-such-agent")]))
    good(tool.call("pmix-spawn", apps=[app("/bin/echo", "other")]))
    job.wait_text("daemon", 3 if options else 1)
    job.wait_text("other")
    same(job.text().count(b"agent "), 3, "the job's ranks alone")
    job.kill(signal.SIGTERM)
    job.finish()


@rows([(f"R23-20: with -hold exec it is the agent that is held, {w}", o) for w, o in WHERE])
def held(options):
    job = Job(*options, "-hold", "exec", "-fork-agent", "env", "-n", 3, "echo", "ran", env=env_of(options))
    tool = Tool(job)
    good(tool.call("pmix-event-register", codes=[DEBUG]))
    tool.event("pmix-event")
    name = main_job(tool)
    pids = [p["pid"] for p in table(tool, name)]
    same({os.path.basename(os.readlink(f"/proc/{p}/exe")) for p in pids}, {os.path.basename(os.path.realpath("/usr/bin/env"))}, "image")
    need(not job.text(), "none runs")
    good(tool.call("pmix-notify", status=str(RELEASE), range="6", infos=[info("pmix.evrange", "PROC", proc(name, "wildcard"))]))
    r = job.finish()
    same((r.status, r.lines), (0, ["ran"] * 3), "end")


@rows([(f"T14, R23-22: agent and preloaded library: seen once in each rank, in no daemon, proxy or server, {w}", o) for w, o in WHERE])
def once(options):
    """By directives for a launcher that waits."""
    library, path = prog("preload_says"), agent('#!/bin/sh\nLD_PRELOAD= /bin/echo "agent $PMI_RANK"\nexec "$@"\n')
    job = Job(*options, "-n", 3, "/bin/sleep", 600, env={**env_of(options), "PMIX_LAUNCHER_PAUSE_FOR_TOOL": "1"})
    tool = Tool(job)
    good(tool.call("pmix-event-register", codes=[LAUNCHED]))
    good(tool.call("pmix-launch-directives", infos=[envar("prepnd", "LD_PRELOAD", library), info("pmix.exec.agnt", "STRING", path)]))
    good(tool.call("pmix-notify", status=str(RELEASE), range="5"))
    tool.event("pmix-event")
    name = main_job(tool)
    daemons = good(tool.call("pmix-spawn", infos=target(name), apps=[app("/bin/sleep", "601")]))["nspace"]
    ranks, others = ([p["pid"] for p in table(tool, n)] for n in (name, daemons))
    wait_for(lambda: all(b"sleep" in proc_bytes(p, "cmdline").split(b"\0")[0] for p in ranks + others), "programs")
    wait_for(lambda: {p for p in left(job.mark) if library.encode() in proc_bytes(p, "maps")} == set(ranks), "ranks alone have it")
    lines = job.text().decode().splitlines()
    same(sorted(x for x in lines if x.startswith("agent")), [f"agent {i}" for i in range(3)], "the agent, once for each")
    same({int(x.split()[-1]) for x in lines if x.startswith("loaded by")} & set(ranks), set(ranks), "the library, in each")
    need(not any(x.split()[-1] in map(str, others) for x in lines), "and in no daemon", lines)
    tool.close()
    job.kill(signal.SIGTERM)
    job.finish()


main()

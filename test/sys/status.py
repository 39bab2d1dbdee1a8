#!/usr/bin/env -S python3 -B
"""The status of a job for tools: from a launcher's pid to what has become of its job, asked and
told, in the order of its numbers, to any number of tools that come and go."""

import json
import os
import signal
import subprocess
import tempfile

from lib import *
from pmixlib import *

CREATED, JOB_START, LAUNCHED, READY, RELEASED, JOB_END = -2902, -191, -174, -58, -2903, -145
TERMINATED, RELEASE = -201, -3
STORY = [CREATED, JOB_START, LAUNCHED, READY, RELEASED, JOB_END, TERMINATED]
BY_SIG, BY_CMD, REQUESTED_ABORT, PROC_ABORTED = -402, -400, -8, -7
JOB_ABORTED, JOB_BY_SIG = -182, -184
IS_CREATED, SPAWNED, HELD, RUNNING, ENDING, NODE_LOST, OVER = (1 << i for i in range(7))
STATUS, SEQ, ENDED = "lite.job.status", "lite.event.seq", "lite.jobs.ended"
PMIX_TOOL = os.path.join(B, "bin", "pmix_tool")
CHAIN = ["-launcher", "fork", "-hosts", "a,b,c", "-ppn", "1", "-flat-hosts", "1", "-tree-width", "1"]
SLEEP = ("sleep", 600)


def ask(tool, key, job=None):
    quals = [info("pmix.nspace", "STRING", job)] if job else []
    return results(good(tool.call("pmix-query", queries=[query(key, qualifiers=quals)])))[0][2]


def listen(tool, *codes):
    good(tool.call("pmix-event-register", codes=list(codes or STORY)))
    return tool


def heard(tool):
    m = tool.event("pmix-event")
    keys = dict(plain(i) for i in m["infos"])
    return m["status"], keys[SEQ], m["source"], keys


def until(tool, last):
    seen = []
    while not seen or seen[-1][0] != last:
        seen.append(heard(tool))
    return seen


def release(tool, name):
    targets = info("pmix.evrange", "PROC", proc(name, "wildcard"))
    good(tool.call("pmix-notify", status=str(RELEASE), range="6", infos=[targets]))


def command(job, *words, **more):
    await_entry(job)
    return subprocess.Popen([PMIX_TOOL, "--pid", str(job.pid), *map(str, words)], text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            env=environment(new_mark()), **more)


def say(job, *words, rc=0):
    p = command(job, *words)
    out, errors = p.communicate(timeout=LIMIT)
    same(p.returncode, rc, f"pmix_tool {words}: {errors}")
    return out + errors


def by_pid(pid, *words):
    return subprocess.run([PMIX_TOOL, "--pid", str(pid), *words], capture_output=True, text=True,
                          timeout=LIMIT, env=environment(new_mark()))


@test("R9: from a launcher's pid to its job and that one's information; another pid: refused")
def pid_to_job():
    job = Job("-n", 3, *SLEEP)
    tool = Tool(job)
    name = ask(tool, "pmix.qry.ns")
    got = json.loads(say(job, "--json", "query", "query_namespaces", "query_namespace_info", STATUS))
    same(got["results"][0]["value"], name, "the job")
    about = dict(plain(got["results"][1])[1][0][1])
    same((about["pmix.nspace"], about["pmix.job.size"]), (name, 3), "its information")
    need("sleep" in about["pmix.cmd.line"], "its command", about)
    need(about[STATUS] & IS_CREATED, "its state", about)
    same([about[k] for k in ("pmix.srvr.host", "pmix.srvr.pidinfo", "pmix.rm.name", "pmix.euid", "pmix.nlist")],
         [HOST, job.pid, "mpiexec_lite", os.geteuid(), HOST], "who has started it, and where")
    rank = wait_for(lambda: ask(tool, "pmix.qry.ptable", name)[0]["pid"], "a rank")
    for pid in (rank, os.getpid()):
        r = by_pid(pid, "ps")
        same((r.returncode, r.stderr), (3, f"pmix_tool: no server is process {pid}\n"), "no launcher")
    job.kill(signal.SIGTERM)
    job.finish()


@rows([(f"R7, R23-03: every transition of a job is told, with its number and time, {what}", options)
       for what, options in (("here", []), ("on three nodes", CHAIN))])
def story(options):
    job = Job("-hold", "init", *options, "-n", 3, prog("mpi_ranks"),
              env={"HYDRA_LAUNCHER_AUTOFORK": "0"} if options else None)
    tool = listen(Tool(job))
    seen = until(tool, READY)
    same([x[0] for x in seen], [CREATED, JOB_START, LAUNCHED, READY], "the beginning, also for who is late")
    name = seen[0][2]["nspace"]
    same({x[2]["nspace"] for x in seen}, {name}, "the job in each")
    need(all(abs(x[3]["pmix.evtstamp"] - time.time()) < 3600 for x in seen), "time", seen)
    same(ask(tool, STATUS, name), IS_CREATED | SPAWNED | HELD, "held, when asked")
    same(ask(tool, SEQ), seen[-1][1], "the number of the last")
    release(tool, name)
    seen += until(tool, JOB_END)
    same([x[0] for x in seen[4:]], [RELEASED] + 3 * [TERMINATED] + [JOB_END], "the rest")
    same([x[1] for x in seen], list(range(1, len(seen) + 1)), "numbers without a gap")
    same(job.finish().status, 0, "end")


@test("R7: a tool that is late has the present state first, and then only what is new")
def late():
    job = Job("-hold", "exec", "-n", 2, "true")
    first = listen(Tool(job))
    name = until(first, READY)[0][2]["nspace"]
    p = command(job, "status", "--follow")
    same(p.stdout.readline(), f"{name}  created,spawned,held\n", "the state")
    wait_for(lambda: True, "it listens")
    release(first, name)
    out, errors = p.communicate(timeout=LIMIT)
    same((p.returncode, errors), (0, ""), "its end is the job's")
    words = [x.split("  ")[1] for x in out.splitlines()]
    same([w for w in words if w != "PMIX_EVENT_PROC_TERMINATED"],
         ["PMIX_EXT_JOB_RELEASED", "PMIX_EVENT_JOB_END"], "what is new")
    same(job.finish().status, 0, "end")


@test("R7: states are waited for; one that never comes fails with the job's end")
def waits():
    job = Job("-hold", "exec", "-n", 2, "true")
    held = say(job, "status", "--wait", "held,terminated")
    need(held.endswith("  created,spawned,held\n"), "held", held)
    running, lost = command(job, "status", "--wait", "running"), command(job, "status", "--wait", "node-lost")
    over = command(job, "--json", "status", "--wait", "terminated")
    need("'sideways' is no state" in say(job, "status", "--wait", "held,sideways", rc=2), "no such state")
    need("not both" in say(job, "status", "--wait", "held", "--follow", rc=2), "both")
    listeners = Tool(job)
    name = ask(listeners, "pmix.qry.ns")
    release(listeners, name)
    need("running" in running.communicate(timeout=LIMIT)[0] or running.returncode in (1, 3), "running")
    out, errors = over.communicate(timeout=LIMIT)
    need(over.returncode in (0, 3), "terminated", out, errors)
    lost.communicate(timeout=LIMIT)
    need(lost.returncode in (1, 3), "never lost", lost.returncode)
    job.finish()


@test("R7: a launcher that is only just being started is waited for, as a script starts it")
def before_the_launcher():
    with tempfile.TemporaryDirectory() as folder:
        env = environment(new_mark(), {"PMIX_SERVER_TMPDIR": folder})
        waits = subprocess.Popen([PMIX_TOOL, "status", "--wait", "held"], text=True, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, env=env)
        plain = subprocess.run([PMIX_TOOL, "status"], capture_output=True, text=True, timeout=LIMIT, env=env)
        same(plain.returncode, 3, "without --wait there is none")
        need("no server here" in plain.stderr, "why", plain.stderr)
        job = Job("-hold", "exec", "-n", 2, "true", env={"PMIX_SERVER_TMPDIR": folder})
        out, errors = waits.communicate(timeout=LIMIT)
        same((waits.returncode, errors), (0, ""), "it has met it")
        need(out.endswith("  created,spawned,held\n"), "held", out)
        subprocess.run([PMIX_TOOL, "release"], check=True, timeout=LIMIT, env=env)
        same(job.finish().status, 0, "end")


def waits_in_poll(pid):
    """The first thread of pmix_tool has asked, and waits without end for what comes."""
    return proc_bytes(pid, "syscall").split()[2:4] == [b"0x3", b"0xffffffff"]    # poll, of x86-64


@rows([("R7: the service is lost: a state of its own, of who waits for it", ("--wait", "service-lost"), 0),
       ("R7: and a failure of who waits for another", ("--wait", "terminated"), 3),
       ("R7: or follows", ("--follow",), 3)])
def service_lost(words, rc):
    if os.uname().machine != "x86_64":
        raise Skip("when pmix_tool waits is seen from a system call of x86-64")
    job = Job("-hold", "exec", "-n", 2, "true")
    until(listen(Tool(job)), READY)
    p = command(job, "--json", "status", *words)
    root = job.root()
    wait_for(lambda: waits_in_poll(p.pid), "it listens")
    os.kill(root, signal.SIGKILL)
    out, errors = p.communicate(timeout=LIMIT)
    last = json.loads(out.splitlines()[-1])
    same((last["states"], last["status"]), (["created", "spawned", "held", "service-lost"], 135), "what it says at last")
    same((p.returncode, "what becomes of" in errors), (rc, rc == 3), "and its status")
    job.finish(clean=False)


main()

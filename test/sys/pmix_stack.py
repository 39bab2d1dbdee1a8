#!/usr/bin/env -S python3 -B
"""pmix_tool stack: one tree of where ranks are, on one host and several (T15); no job is
disturbed; who cannot be looked at is named with the reason; SIGQUIT and -timeout."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess

from pmixlib import *
from lib import *

TOOL = os.path.join(B, "bin", "pmix_tool")
PROGRAM = prog("stack_ranks")
FORK3 = ["-launcher", "fork", "-hosts", "a,b,c", "-ppn", "3"]
PLACES = [("one host", []), ("three hosts", FORK3)]


def ask(job, *words, status=0, env=None):
    """pmix_tool stack of this job: its output; where it fails, what it says."""
    await_entry(job)
    r = subprocess.run([TOOL, "stack", "--pid", str(job.pid), *words], stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=LIMIT,
                       env=environment(new_mark(), env))
    same(r.returncode, status, f"status of pmix_tool stack {words}\n{r.stdout}\n{r.stderr}")
    return (r.stderr if status else r.stdout).decode()


def start(*words, n=8, program=PROGRAM, args=(), env=None):
    """A job whose ranks are where they are to be."""
    job = Job(*words, "-n", n, program, *args, env=env)
    job.wait_text("ready", n)
    def waits(pid):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/syscall") as f:
            return f.read().split()[0] == "130"      # rt_sigsuspend, of x86-64
    if os.uname().machine == "x86_64":
        wait_for(lambda: all(waits(p) for p in rank_pids(job).values()), "all ranks wait")
    return job


def end(job, n=8):
    job.kill(signal.SIGUSR1)
    r = job.finish()
    same((r.status, r.lines.count("right")), (0, n), f"end of {r}")


def rank_pids(job):
    """Rank: pid."""
    await_entry(job)
    out = subprocess.run([TOOL, "proctable", "--pid", str(job.pid), "--json"], check=True,
                         stdout=subprocess.PIPE, env=environment(new_mark()), timeout=LIMIT).stdout
    return {r["rank"]: r["pid"] for job in json.loads(out)["jobs"] for r in job["ranks"]}


def states(job):
    return {rank: (stat(pid) or "?")[0] for rank, pid in rank_pids(job).items()}


def leaves(calls, above=()):
    """Of the JSON: the names down to each frame that calls nothing, and the ranks there."""
    for call in calls:
        path = above + (call["name"].partition(" at ")[0],)
        yield from leaves(call["calls"], path)
        if not call["calls"]:
            yield path, call["ranks"]


def find(seen, name):
    """Ranks of the leaves that are below a function."""
    return [ranks for path, ranks in leaves(seen["calls"]) if name in path]


# --- the tree ---------------------------------------------------------------------


@rows([(f"T15: eight ranks, one stuck elsewhere: two leaves, {where}", options)
       for where, options in PLACES])
def two_leaves(options):
    job = start(*options)
    before = states(job)
    text = ask(job)
    need(re.search(r"^ +together at stack_ranks\.c:\d+  7: ranks 0-2,4-7$", text, re.M) and
         re.search(r"^ +elsewhere at stack_ranks\.c:\d+  1: rank 3$", text, re.M) and
         re.search(r"^ +main at stack_ranks\.c:\d+", text, re.M), "the tree", text)
    seen = json.loads(ask(job, "--json"))
    same((find(seen, "together"), find(seen, "elsewhere"), len(list(leaves(seen["calls"]))),
          seen["unavailable"], seen["size"]), (["0-2,4-7"], ["3"], 2, [], 8), seen)
    seen = json.loads(ask(job, "--json", ":2-4"))
    same((find(seen, "together"), find(seen, "elsewhere")), (["2,4"], ["3"]), "of some ranks")
    same(states(job), before, "states")
    end(job)


@rows([(f"all threads; what they compute is right, {where}", options) for where, options in PLACES])
def threads(options):
    job = start(*options, n=4, args=["thread"])
    seen = json.loads(ask(job, "--json", "--all-threads", "--functions", "--samples", "3",
                          "--interval", "0.02"))
    same((find(seen, "beside"), find(seen, "together"), find(seen, "elsewhere")),
         (["0-3"], ["0-2"], ["3"]), seen)
    seen = json.loads(ask(job, "--json"))
    same(find(seen, "beside"), [], "without --all-threads")
    end(job, 4)


@test("a stripped program: module+offset, the same for all ranks")
def stripped():
    program = tmp() + "/bare"
    subprocess.run(["strip", "-o", program, PROGRAM], check=True)
    job = start(program=program)
    seen = json.loads(ask(job, "--json"))
    paths = sorted(leaves(seen["calls"]), key=lambda x: x[1])
    same([ranks for _, ranks in paths], ["0-2,4-7", "3"], seen)
    need(all(sum(bool(re.fullmatch(r"bare\+0x[0-9a-f]+", name)) for name in path) >= 3
             for path, _ in paths), "offsets in the program", paths)
    end(job)


@test("a graph for graphviz, and a picture, or what is missing for it; a full disk is told of")
def pictures():
    job = start()
    dot = ask(job, "--dot")
    need(dot.startswith("digraph ") and '[label="7:[0-2,4-7]"]' in dot and "elsewhere" in dot, dot)
    if shutil.which("dot"):
        svg = ask(job, "--svg")
        need("<svg" in svg and "elsewhere" in svg, "a picture", svg)
    text = ask(job, "--svg", status=1, env={"PATH": tmp()})
    need("graphviz" in text and "--dot" in text, "what is missing", text)
    for words in ([], ["--dot"], ["--svg"], ["--json"]):
        if words != ["--svg"] or shutil.which("dot"):
            with open("/dev/full", "wb") as full:
                r = subprocess.run([TOOL, "stack", "--pid", str(job.pid), *words], stdin=subprocess.DEVNULL, stdout=full,
                                   stderr=subprocess.PIPE, timeout=LIMIT, env=environment(new_mark()))
            same((r.returncode, r.stderr), (1, b"pmix_tool: standard output: No space left on device\n"), words)
    end(job)


@test("ranks that are not there are a usage error")
def no_rank():
    job = start(n=2)
    need("no rank 5" in ask(job, ":5", status=2), "the rank is named")
    end(job, 2)


# --- no job is disturbed ------------------------------------------------------------


@rows([(f"T15: ranks that are stopped stay so, {where}", options) for where, options in PLACES])
def stopped(options):
    job = start(*options)
    table = rank_pids(job)
    for rank in (2, 3, 7):
        os.kill(table[rank], signal.SIGSTOP)
    def settled():
        return [r for r, s in states(job).items() if s == "T"] == [2, 3, 7]
    wait_for(settled, "three ranks are stopped")
    for _ in range(3):
        seen = json.loads(ask(job, "--json"))
        same((find(seen, "together"), find(seen, "elsewhere")), (["0-2,4-7"], ["3"]), seen)
        same([r for r, s in states(job).items() if s == "T"], [2, 3, 7], "who is stopped")
    same([re.search(rb"TracerPid:\s+(\d+)", proc_bytes(p, "status"))[1] for p in table.values()],
         [b"0"] * 8, "tracers")
    for rank in (2, 3, 7):
        os.kill(table[rank], signal.SIGCONT)
    end(job)


@test("ranks that are held at exec stay so, and start when they are released")
def held():
    job = Job("-stop-on-exec", "-n", 2, PROGRAM)
    wait_for(lambda: set(states(job).values()) == {"T"}, "two held ranks")
    seen = json.loads(ask(job, "--json"))
    same(([r for _, r in leaves(seen["calls"])], seen["unavailable"]), (["0-1"], []), seen)
    same(set(states(job).values()), {"T"}, "states")
    same(job.text().count(b"ready"), 0, "they have not begun")
    subprocess.run([TOOL, "resume", "--pid", str(job.pid)], check=True, timeout=LIMIT,
                   env=environment(new_mark()))
    job.wait_text("ready", 2)
    end(job, 2)


# --- who cannot be looked at ----------------------------------------------------------


@rows([(f"T15: one that is traced is named, with its tracer, {where}", options)
       for where, options in PLACES])
def traced(options):
    job = start(*options)
    pid = rank_pids(job)[5]
    with subprocess.Popen(["strace", "-qq", "-o", "/dev/null", "-p", str(pid)],
                          stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as strace:
        wait_for(lambda: b"TracerPid:\t0\n" not in proc_bytes(pid, "status"), "it is traced")
        seen = json.loads(ask(job, "--json"))
        same(find(seen, "together"), ["0-2,4,6-7"], seen)
        same([(x["name"], x["ranks"]) for x in seen["unavailable"]],
             [(f"it is traced by process {strace.pid} (strace)", "5")], "unavailable")
        need(re.search(r"^Unavailable:\nit is traced by .*  1: rank 5$", ask(job), re.M), "text")
        need("" == ask(job, ":5", "--json", status=1), "no rank has a stack")
        strace.send_signal(signal.SIGTERM)
        strace.wait(LIMIT)
    end(job)


@rows([(f"T15: one that has ended is named, {where}", options) for where, options in PLACES])
def ended(options):
    job = start(*options, n=4)
    pid = rank_pids(job)[1]
    os.kill(pid, signal.SIGUSR1)
    wait_for(lambda: not os.path.exists(f"/proc/{pid}"), "rank 1 has ended")
    def look():
        seen = json.loads(ask(job, "--json"))
        return seen if seen["unavailable"] else None
    seen = wait_for(look, "the launcher knows it")
    same((find(seen, "together"), [(x["name"], x["ranks"]) for x in seen["unavailable"]]),
         (["0,2"], [("it has ended", "1")]), seen)
    end(job, 4)


@test("T15: a server that does not answer, and one that is lost: their ranks are named, with the reason")
def unreachable():
    job = Job(*FORK3, "-disable-auto-cleanup", "-n", 9, "sh", "-c", "trap '' USR1; echo ready; exec sleep 600")
    job.wait_text("ready", 9)
    silent, lost = (stat(rank_pids(job)[i])[1] for i in (3, 6))
    os.kill(lost, signal.SIGKILL)
    wait_for(lambda: b"proxy on c lost" in job.error_text(), "the launcher knows it")
    os.kill(silent, signal.SIGSTOP)
    seen = json.loads(ask(job, "--json", "--timeout", "1"))
    os.kill(silent, signal.SIGCONT)
    same([ranks for _, ranks in leaves(seen["calls"])], ["0-2"], seen)
    same(sorted((x["ranks"], x["name"]) for x in seen["unavailable"]),
         [("3-5", "its node has not answered"), ("6-8", "it is lost with its host")], "the others")
    need("\nUnavailable:\nit is lost with its host  3: ranks 6-8\n" in ask(job), "and as text, once it answers again")
    job.kill(signal.SIGTERM)
    job.finish()


# --- without libdw ----------------------------------------------------------------------


def without_libdw(**programs):
    """The environment of a launcher that cannot use libdw; programs on its PATH."""
    folder = tmp() + "/without"
    os.makedirs(folder)
    write_file(folder + "/libdw.so.1", "no library")
    for name, text in programs.items():
        write_file(f"{folder}/{name.replace('_', '-')}", "#!/bin/sh\nunset LD_LIBRARY_PATH\n" + text,
                   0o755)
    return {"LD_LIBRARY_PATH": folder, "PATH": folder + ":" + os.environ["PATH"]}


@rows([("without libdw: eu-stack", "eu-stack", {"eu_stack": 'exec /usr/bin/eu-stack "$@"\n'}),
       ("without libdw and eu-stack: gdb", "gdb",
        {"eu_stack": "exit 1\n", "gdb": 'exec /usr/bin/gdb "$@"\n'})])
def other_programs(name, programs):
    if not os.path.exists("/usr/bin/" + name):
        raise Skip(f"there is no {name}")
    job = start(n=2, env=without_libdw(**programs))
    def look():                          # gdb takes its time, and a node has 5 s
        seen = json.loads(ask(job, "--json", "--functions"))
        return None if seen["unavailable"] else seen
    seen = wait_for(look, "stacks of all")
    same((find(seen, "together"), seen["unavailable"]), (["0-1"], []), seen)
    need("main" in next(leaves(seen["calls"]))[0], "down from main", seen)
    end(job, 2)


@test("without any of them: that is said of each rank")
def nothing():
    job = start(n=2, env=without_libdw(eu_stack="exit 1\n", gdb="exit 1\n"))
    text = subprocess.run([TOOL, "stack", "--pid", str(job.pid)], stdout=subprocess.PIPE,
                          check=False, env=environment(new_mark()), timeout=LIMIT).stdout.decode()
    need("libdw1" in text and "2: ranks 0-1" in text, "what is missing", text)
    end(job, 2)


# --- with PMI, and for the user ----------------------------------------------------------


@rows([(f"who waits in a fence, and who does not, {where}", options) for where, options in PLACES])
def fence(options):
    ranks = Ranks(*options, "-n", 3)
    for i in (0, 2):
        ranks[i].send("kvs-fence")
    def look():
        seen = json.loads(ask(ranks.job, "--json"))
        return seen if seen["waiting"] and seen["waiting"][0]["count"] == 2 else None
    seen = wait_for(look, "two ranks that wait")
    same([(x["name"], x["ranks"]) for x in seen["waiting"]], [("kvs-fence", "0,2")], seen)
    ranks[1].send("kvs-fence")
    for rank in ranks:
        rank.reply(str(rank.number))
    ranks_end(ranks)


def ranks_end(ranks):
    same(ranks.finish().status, 0, "end")


@rows([(f"SIGQUIT shows states and stacks, and the job goes on, {where}", options)
       for where, options in PLACES])
def quit_shows(options):
    job = start(*options)
    job.kill(signal.SIGQUIT)
    wait_for(lambda: b"elsewhere" in job.error_text(), "stacks")
    text = job.error_text().decode()
    need(re.search(r"^mpiexec_lite: +together at .*  7: ranks 0-2,4-7$", text, re.M) and
         "not used PMI" in text, "the report", text)
    end(job)


MISSING = [(f"T15: who is missing at a fence, and where it is instead, {how}, {where}", how, options)
           for where, options in PLACES for how in ("by SIGQUIT", "at -timeout")]


@rows(MISSING)
def missing(how, options):
    late = [] if how == "by SIGQUIT" else ["-timeout", 5]
    ranks = Ranks(*options, *late, "-n", 4)
    for i in (0, 1, 3):
        ranks[i].send("kvs-fence")
    def waiting():
        seen = json.loads(ask(ranks.job, "--json"))["waiting"]
        return seen and seen[0]["count"] == 3
    if not late:
        wait_for(waiting, "three ranks that wait")
        ranks.job.kill(signal.SIGQUIT)
    said = wait_for(lambda: (t := ranks.job.error_text().decode()) and "stacks:" in t and t, "the report")
    need("mpiexec_lite: kvs-fence: ranks 0-1,3 wait for rank 2\n" in said, "who is missing", said)
    need(re.search(r"rank 2 on .*: running", said), "its state", said)
    if late:
        same(ranks.job.finish().status, 124, "status")
        return
    ranks[2].send("kvs-fence")
    for rank in ranks:
        rank.reply(str(rank.number))
    ranks_end(ranks)


@rows([(f"T15: -timeout shows them before it ends the job, {where}", options)
       for where, options in PLACES])
def timeout(options):
    r = Job(*options, "-timeout", 2, "-n", 8, PROGRAM).finish()
    same(r.status, 124, f"status of {r}")
    text = "\n".join(r.messages)
    need(re.search(r"together at .*7: ranks 0-2,4-7", text) and "rank 3" in text and
         text.index("together") < text.index("APPLICATION TIMED OUT"), "messages", text)


if __name__ == "__main__":
    main()

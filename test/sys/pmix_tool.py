#!/usr/bin/env -S python3 -B
"""pmix_tool: every command, on one host and several, as text and as JSON, and what it says
when something is wrong; the examples."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys

from pmixlib import *
from lib import *

TOOL = os.path.join(B, "bin", "pmix_tool")
EXAMPLES = os.path.join(ROOT, "pmix_ext", "examples")
MPI = prog("mpi_ranks")
FORK3 = ["-launcher", "fork", "-hosts", "a,b,c", "-ppn", "1"]
PLACES = [("one host", []), ("three hosts", FORK3)]
FAILED, USAGE, NO_SERVER, SEVERAL, OWN = 1, 2, 3, 4, 255


def own_folder():
    """Where servers of this test point, and no others, leave their entries."""
    path = tmp() + "/servers"
    os.makedirs(path, mode=0o700, exist_ok=True)
    return {"PMIX_SERVER_TMPDIR": path}


def call(*words, status=0, env=None, **more):
    """Run pmix_tool to its end: (stdout, stderr) as text."""
    r = subprocess.run([TOOL, *map(str, words)], env=environment(new_mark(), env),
                       stdin=subprocess.DEVNULL, timeout=LIMIT,
                       **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more})
    out, err = ((x or b"").decode("utf-8", "backslashreplace") for x in (r.stdout, r.stderr))
    same(r.returncode, status, f"status of pmix_tool {words}\n{show(out)}\n{show(err)}")
    return out, err


def ask(job, *words, **more):
    """stdout of pmix_tool, told which server."""
    await_entry(job)
    return call("--pid", job.pid, *words, **more)[0]


def ask_json(job, *words, **more):
    return json.loads(ask(job, *words, "--json", **more))


def cells(text):
    """The rows of a table, below its head, as lists of words."""
    return [line.split() for line in text.splitlines()[1:]]


class Follower:
    """pmix_tool in the background; its output in files."""

    def __init__(self, job, *words):
        if job:
            await_entry(job)
            words = ("--pid", job.pid, *words)
        self.out, self.err = (open(f"{tmp()}/follow{len(os.listdir(tmp()))}{x}", "w+b")
                              for x in "oe")
        self.popen = subprocess.Popen([TOOL, *map(str, words)], stdin=subprocess.DEVNULL,
                                      stdout=self.out, stderr=self.err,
                                      env=environment(new_mark()))

    def text(self, file=None):
        f = file or self.out
        return os.pread(f.fileno(), os.fstat(f.fileno()).st_size, 0).decode("utf-8", "replace")

    def wait_text(self, text, file=None):
        wait_for(lambda: text in self.text(file) or self.popen.poll() is not None,
                 f"{text!r} of pmix_tool ({self.text()}, {self.text(self.err)})")
        need(text in self.text(file), f"it ended without {text!r}", self.text(),
             self.text(self.err))

    def finish(self, status=0, signo=None):
        if signo:
            self.popen.send_signal(signo)
        same(self.popen.wait(LIMIT), status, f"status\n{self.text()}\n{self.text(self.err)}")
        return self.text()

    def lines(self):
        return [json.loads(line) for line in self.text().splitlines()]


def waiting(options, n=3, env=None):
    """An unmodified program of MPICH that waits; (job, what ends it)."""
    file = tmp() + "/go-on"
    job = Job(*options, "-n", n, MPI, "wait", file, env=env)
    job.wait_text(" waits\n", n)
    return job, lambda: write_file(file, "")


# --- looking ------------------------------------------------------------------------


@rows([(f"ps, proctable and query see a program of MPICH that knows nothing of it, {where}",
        options) for where, options in PLACES])
def looks(options):
    job, end = waiting(options)
    rows = cells(ask(job, "ps"))
    hosts = ["a", "b", "c"] if options else [HOST] * 3
    nspace = rows[0][0]
    same([(r[1], r[2], r[4], r[5]) for r in rows],
         [(str(i), hosts[i], "connected", "-") for i in range(3)], rows)
    for row in rows:
        same(os.path.realpath(f"/proc/{row[3]}/exe"), os.path.realpath(MPI), "its program")
        same(row[6], os.path.realpath(MPI), "program in the table")
    [found] = ask_json(job, "ps")["jobs"]
    same(found["nspace"], nspace, found)
    same([(r["rank"], r["host"], str(r["pid"]), r["state"], r["exit"]) for r in found["ranks"]],
         [(i, hosts[i], rows[i][3], "connected", None) for i in range(3)], found)
    same(cells(ask(job, "proctable", nspace)), rows, "proctable")
    same(len(cells(ask(job, "proctable", "--local"))), 0 if options else 3,
         "those of the launcher's own host")
    values = ask_json(job, "query", "PMIX_JOB_SIZE", "pmix.qry.ns", f"PMIX_NSPACE={nspace}")
    same([(v["key"], v["type"], v["value"]) for v in values["results"]],
         [("pmix.job.size", "PMIX_UINT32", 3), ("pmix.qry.ns", "PMIX_STRING", nspace)], values)
    same(ask(job, "query", "job_size"), "PMIX_JOB_SIZE (pmix.job.size): PMIX_UINT32 3\n",
         "text of a value")
    end()
    same(job.finish().status, 0, "the job is undisturbed")


@test("query: qualifiers, also repeated ones, and ranks by word and number")
def qualifiers():
    job, end = waiting(FORK3)
    nspace = ask_json(job, "ps")["jobs"][0]["nspace"]
    def value(*words):
        [r] = ask_json(job, "query", *words)["results"]
        return plain(r)[1]
    same([p["rank"] for p in value("PMIX_LOCAL_PROCS", "nodeid=1", "nodeid=2")], [1, 2],
         "two nodes")
    same(value("PMIX_HOSTNAME", f"procid={nspace}:2"), "c", "a rank's host")
    same(value("PMIX_HOSTNAME", "rank=1", f"nspace={nspace}"), "b", "another's")
    same(value("PMIX_JOB_NUM_APPS"), 1, "of the only job, if none is named")
    end()
    job.finish()


@test("keys and attributes are what the server says it answers")
def listed():
    job, end = waiting([])
    keys = ask_json(job, "keys")["keys"]
    need({"key": "pmix.qry.ns", "name": "PMIX_QUERY_NAMESPACES", "kind": "key",
          "type": "PMIX_STRING"} in keys, "a key", keys)
    need(any(k["kind"] == "qualifier" and k["key"] == "pmix.nodeid" for k in keys),
         "a qualifier", keys)
    need("PMIX_QUERY_NAMESPACES" in ask(job, "keys"), "as text")
    functions = ask_json(job, "attributes")["functions"]
    need(any(a["key"] == "pmix.nodeid" for a in functions["PMIx_Query_info"]), "an attribute",
         functions)
    for how in [], ["--json"]:
        _, err = call("-p", job.pid, *how, "attributes", "PMIx_Nothing", status=FAILED)
        need("PMIx_Nothing" in err, "a function that is not there", err)
    same(list(ask_json(job, "attributes", "PMIx_Query_info")["functions"]), ["PMIx_Query_info"],
         "one function")
    end()
    job.finish()


def leave_socket(path):
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(path)


@rows([(f"--uri unix: of {name}: what is there instead of a server", make, says) for name, make, says in (
    ("a directory", os.mkdir, "it is a directory, no socket"), ("a FIFO", os.mkfifo, "it is a FIFO, no socket"),
    ("a file", lambda path: write_file(path, ""), "it is a file, no socket"),
    ("a socket of one that has gone", leave_socket, "no server runs there any more"),
    ("nothing", lambda path: None, "No such file or directory"))])
def no_server(make, says):
    make(f"{tmp()}/x")
    err = call("ps", "--uri", f"unix:{tmp()}/x", status=NO_SERVER)[1]
    need(err.count("\n") == 1 and f"{tmp()}/x: {says}" in err, "one line", err)


@test("servers: those of this host; ps of one that is chosen, and of several that are not")
def servers():
    env = own_folder()
    same(json.loads(call("servers", "--json", env=env)[0]), {"servers": []}, "none yet")
    one, end = waiting([], env=env)
    tools_socket_of(one, env)
    [s] = json.loads(call("servers", "--json", env=env)[0])["servers"]
    same((s["kind"], s["pid"], s["host"], s["uid"]), ("session", one.pid, HOST, os.getuid()), s)
    need(str(one.pid) in call("servers", env=env)[0], "as text")
    same(len(cells(call("ps", env=env)[0])), 3, "the only one needs no choice")
    same(len(cells(call("ps", "--uri", s["uri"])[0])), 3, "by its URI")
    two = Job("-n", 1, "sleep", 100, env=env)
    tools_socket_of(two, env)
    err = call("ps", status=SEVERAL, env=env)[1]
    need("several servers" in err and str(one.pid) in err and str(two.pid) in err,
         "the candidates", err)
    same(len(cells(call("ps", "-p", two.pid, env=env)[0])), 1, "by its pid")
    same(len(cells(call("ps", "-j", s["name"], env=env)[0])), 3, "by its name")
    two.kill(signal.SIGTERM)
    two.finish()
    end()
    one.finish()


def tools_socket_of(job, env):
    path = f"{env['PMIX_SERVER_TMPDIR']}/{HOST}.{job.pid}"
    wait_for(lambda: os.path.exists(path), f"an entry of {job.pid}")


@rows([(f"top -b: cpu, memory, and what a rank waits in, {where}", options)
       for where, options in PLACES])
def top(options):
    ranks = Ranks(*options, "-n", 3)
    ranks[1].send("kvs-fence")
    def look():
        *_, last = (json.loads(x) for x in
                    ask(ranks.job, "top", "--json", "-n", 2, "-d", 0.2).splitlines())
        return last["ranks"] if last["ranks"][1].get("op") else None
    rows = wait_for(look, "a rank that waits in a fence")
    same([r.get("op") for r in rows], [None, "kvs-fence", None], rows)
    need(rows[1]["op_time"] >= 0 and all(r["rss"] > 0 and r["threads"] >= 1 and "percent" in r and
                                         r["process"] in "RSD" for r in rows), "figures", rows)
    text = ask(ranks.job, "top", "-b", "-n", 1)
    need("kvs-fence" in text and "\033" not in text, "as text, without a terminal's codes", text)
    for i in 0, 2:
        ranks[i].send("kvs-fence")
    for rank in ranks:
        rank.reply(str(rank.number))
    same(ranks.finish().status, 0, "end")


@test("top on a terminal draws over itself, and SIGINT ends it with 0")
def top_terminal():
    job, end = waiting([])
    await_entry(job)
    t = Terminal([TOOL, "-p", job.pid, "top", "-d", "0.1"])
    at = t.wait_text("RSS MiB")
    t.wait_text("\033[H", at)
    t.type("\x03")
    same(t.finish(), 0, "status")
    end()
    job.finish()


# --- acting -------------------------------------------------------------------------


@test("log: to stderr, to stdout, tagged")
def log():
    job, end = waiting([])
    ask(job, "log", "two", "words")
    ask(job, "log", "--stdout", "--tag", "to stdout")
    ask(job, "log", "--priority", 9, "x", status=USAGE)
    ask(job, "log", status=USAGE)
    end()
    r = job.finish()
    need(b"two words\n" in r.err and b"to stdout\n" in r.out, "what was logged", r)
    need(any(x.startswith("[tool.") and x.endswith(":0] to stdout") for x in r.lines), "tagged", r)


@test("log: to the record of the job and to the store, as a line of JSON each")
def log_files():
    folder = tmp() + "/log"
    os.mkdir(folder)
    job = Job("-log-dir", folder, "sleep", "100")
    ask(job, "log", "--record", "--store", "--stderr", "a word")
    files = sorted(os.listdir(folder))
    same(sorted(f.rpartition(".")[2] for f in files), ["record", "store"], files)
    for file in files:
        with open(f"{folder}/{file}", encoding="utf-8") as f:
            data = json.loads(f.read())["data"]
        same([(x["key"], x["value"]) for x in data], [("pmix.log.val", "a word")], file)
    ask(job, "kill")
    job.finish()


@test("what the server says goes with the name of its status")
def words():
    job = Job("-n", "2", "sleep", "100")
    await_entry(job)
    for command, text in (
            (["signal", "TERM", "nosuch"], "(PMIX_ERR_NOT_FOUND, -46): targets[0]: there is no job"),
            (["signal", "TERM", ":7"], "has no rank 7"),
            (["output", "nosuch"], "(PMIX_ERR_NOT_FOUND, -46): procs[0].nspace: no job nosuch"),
            (["log", "--store", "x"], "(PMIX_ERR_NOT_SUPPORTED, -47): no channel could take it")):
        _, err = call("--pid", job.pid, *command, status=FAILED)
        need(text in err, f"{command}: '{text}' wanted", err)
    _, err = call("--pid", job.pid, "spawn", "/no/such", status=OWN)
    need("(PMIX_ERR_JOB_EXE_NOT_FOUND, -190): /no/such: " in err, "why a spawn failed", err)
    ask(job, "kill")
    job.finish()


@rows([(f"signal: to all ranks and to some, {where}", options) for where, options in PLACES])
def signals(options):
    job = Job(*options, "-n", 3, prog("chore"), "show")
    job.wait_text("ready\n", 3)
    ask(job, "signal", "USR1", ":0,2")
    job.wait_text("USR1\n", 2)
    ask(job, "signal", 12)
    job.wait_text("USR2\n", 3)
    same(job.text().count(b"USR1\n"), 2, "those who were meant")
    ask(job, "signal", 12, ":*")         # R10-10: all, as a word
    job.wait_text("USR2\n", 6)
    ask(job, "signal", "NONSENSE", status=USAGE)
    ask(job, "signal", "USR1", ":7", status=FAILED)
    ask(job, "signal", "USR1", "nosuchjob", status=FAILED)
    ask(job, "signal", "USR1", ":2-", status=USAGE)
    ask(job, "kill")
    same(job.finish().status, 137, "killed")


# --- following ----------------------------------------------------------------------


@rows([(f"events: a program of MPICH aborts, watched, {where}", options)
       for where, options in PLACES])
def events(options):
    file = tmp() + "/go-on"
    job = Job(*options, "-n", 3, "sh", "-c", f"while [ ! -e {file} ]; do sleep 0.05; done; "
              f"exec {MPI} abort 42")
    all_of, ends = Follower(job, "events", "--json"), Follower(job, "events", "-c", "event_job_end",
                                                               "-n", 1)
    ends.wait_text("waiting", ends.err)
    wait_for(lambda: "PMIX_LAUNCH_COMPLETE" in all_of.text(), "what was before, is told")
    write_file(file, "")
    job.finish()
    all_of.finish()
    text = ends.finish()
    need("PMIX_EVENT_JOB_END" in text and "PMIX_EXIT_CODE=42" in text and
         len(text.splitlines()) == 1, "the end, as text", text)
    found = all_of.lines()
    need(all(set(x) == {"time", "status", "name", "source", "infos"} for x in found), "shape",
         found)
    names = [x["name"] for x in found]
    need("PMIX_ERR_PROC_REQUESTED_ABORT" in names and names[-1] == "PMIX_EVENT_JOB_END",
         "what has happened", names)
    [end] = [x for x in found if x["name"] == "PMIX_EVENT_JOB_END"]
    need(info("pmix.exit.code", "INT", 42) in end["infos"], "its status", end)


@test("events: SIGINT ends it with 0; a misspelt code is met with the right one")
def events_end():
    job, end = waiting([])
    f = Follower(job, "events")
    f.wait_text("waiting", f.err)
    f.finish(signo=signal.SIGINT)
    _, err = call("-p", job.pid, "events", "-c", "PMIX_EVENT_JOB_ENDS", status=USAGE)
    need("did you mean PMIX_EVENT_JOB_END?" in err, "a guess", err)
    end()
    same(job.finish().status, 0, "end of the job")


@rows([(f"output: of all ranks, of one, raw and as JSON, {where}", options)
       for where, options in PLACES])
def output(options):
    file = tmp() + "/go-on"
    script = (f"while [ ! -e {file} ]; do echo tick $PMI_RANK; sleep 0.05; done; "
              "echo out $PMI_RANK; echo err $PMI_RANK >&2; printf unfinished")
    job = Job(*options, "-n", 3, "sh", "-c", script)
    every, one = Follower(job, "output"), Follower(job, "output", ":1")
    raw, lines = Follower(job, "output", "--raw", ":2"), Follower(job, "output", "--json")
    for i in range(3):
        every.wait_text(f"[{i}] tick {i}\n")
        lines.wait_text(f'"rank":{i},"channel":"stdout","data":"tick')
    one.wait_text("[1] tick 1\n")
    raw.wait_text("tick 2\n")
    write_file(file, "")
    same(job.finish().status, 0, "end of the job")
    same(sorted(x for x in every.finish().splitlines() if "tick" not in x),
         sorted([f"[{i}] out {i}" for i in range(3)] + [f"[{i}] unfinished" for i in range(3)]),
         "all")
    same(sorted(every.text(every.err).splitlines()), [f"[{i}] err {i}" for i in range(3)],
         "stderr of all")
    same(one.finish().replace("[1] tick 1\n", ""), "[1] out 1\n[1] unfinished\n", "one")
    same(raw.finish().replace("tick 2\n", ""), "out 2\nunfinished", "raw")
    lines.finish()
    got = {}
    for x in lines.lines():
        key = x["rank"], x["channel"]
        got[key] = got.get(key, "") + x["data"]
    same({k: v.replace(f"tick {k[0]}\n", "") for k, v in got.items()},
         {(i, c): f"{c[3:]} {i}\n" + ("unfinished" if c == "stdout" else "")
          for i in range(3) for c in ("stdout", "stderr")}, "JSON")


# --- starting -----------------------------------------------------------------------


@rows([(f"spawn: output from the first byte on, and the status of the job, {where}", options)
       for where, options in PLACES])
def spawn(options):
    job, end = waiting(options)
    out, err = call("-p", job.pid, "spawn", "-n", 3, "-x", "A=b", "--wdir", tmp(), "sh", "-c",
                    "echo $PMI_RANK $A; pwd >&2; exit $PMI_RANK", status=2)
    same(sorted(out.splitlines()), [f"[{i}] {i} b" for i in range(3)], "stdout")
    same(sorted(err.splitlines()), [f"[{i}] {os.path.realpath(tmp())}" for i in range(3)],
         "stderr")
    out, _ = call("-p", job.pid, "spawn", "-n", 2, MPI, "ring")
    same(out, "[0] ring 1\n", "an MPI program")
    name = ask(job, "spawn", "--detach", "sleep", 100).strip()
    same([x["nspace"] for x in ask_json(job, "ps")["jobs"]][1:], [name], "a job that goes on")
    ask(job, "ps", name)
    ask(job, "proctable", status=SEVERAL)
    ask(job, "kill", name)
    _, err = call("-p", job.pid, "spawn", "/no/such", status=OWN)
    need("not found" in err, "why it failed", err)
    call("-p", job.pid, "spawn", "-x", "A", "true", status=USAGE)
    end()
    same(job.finish().status, 0, "the first job is undisturbed")


@rows([(f"ps --all: jobs that have ended, while the launcher goes on, {where}", options)
       for where, options in PLACES])
def ps_all(options):
    job, end = waiting(options)
    names = [ask(job, "spawn", "--detach", "-n", n, "sh", "-c", f"exit {code}").strip()
             for n, code in ((2, 0), (3, 5))]
    def ended():
        said = ask_json(job, "query", "lite.jobs.ended")["results"][0].get("value", "").split(",")
        return names == [n for n in names if n in said]
    wait_for(ended, "both have ended")
    same([x["nspace"] for x in ask_json(job, "ps")["jobs"] if x["nspace"] in names], [], "ps")
    jobs = {x["nspace"]: x["ranks"] for x in ask_json(job, "ps", "--all")["jobs"]}
    same([[(r["rank"], r["exit"]) for r in jobs[n]][:1] + [len(jobs[n])] for n in names],
         [[(0, 0), 2], [(0, jobs[names[1]][0]["exit"]), 3]], "ps --all")
    need(any(r["exit"] == 5 and r["state"] == "term-non-zero" for r in jobs[names[1]]), "how", jobs)
    need(all(r["program"].endswith("sh") and r["pid"] for n in names for r in jobs[n]),
         "program and pid", jobs)
    for name, code, state, status in ((names[0], 0, 20, 0), (names[1], 5, 50, -187)):
        r = ask_json(job, "query", "pmix.qry.nsinfo", "pmix.qry.jst", f"nspace={name}")["results"]
        told = {i["key"]: i["value"] for i in r[0]["value"]["array"][0]["value"]["array"]}
        same((told["pmix.exit.code"], told["lite.job.state"], r[1]["value"]), (code, state, status),
             told)
        need(told["lite.job.began"] <= told["lite.job.ended"], "times", told)
    end()
    same(job.finish().status, 0, "the first job")


@test("the records of jobs that have ended are bounded: the latest count")
def ps_all_bounded():
    job, end = waiting([])
    tool = Tool(job)
    def spawned():
        return tool.call("pmix-spawn", apps=[{"cmd": "true", "argv": ["true"],
                                              "maxprocs": 1}])["nspace"]
    names = [spawned() for _ in range(70)]
    def records():
        r = tool.call("pmix-query", queries=[query("lite.jobs.ended")])
        return results(r)[0][2].split(",")
    wait_for(lambda: names[-1] in records() and len(records()) == 16, "the latest")
    need(set(records()) <= set(names) and names[0] not in records(), "the first are forgotten")
    r = tool.call("pmix-query", queries=[query("pmix.qry.jst", qualifiers=[
        info("pmix.nspace", "STRING", names[0])])])
    same(results(r)[0][2], {"status": -44}, "and answered as unknown")
    end()
    job.finish()


@test("spawn: the first rank reads what comes, a megabyte of it, and its end")
def spawn_stdin():
    job, end = waiting([])
    await_entry(job)
    data = os.urandom(1 << 20)
    r = subprocess.run([TOOL, "-p", str(job.pid), "spawn", "-n", "2", "--raw", "sh", "-c",
                        "if [ $PMI_RANK = 0 ]; then cat; fi"], input=data, timeout=LIMIT,
                       env=environment(new_mark()), stdout=subprocess.PIPE, check=True)
    need(r.stdout == data, "what came back", len(r.stdout))
    need(call("-p", job.pid, "spawn", "sh", "-c", "exit 3", status=3), "nobody reads")
    end()
    job.finish()


@test("spawn: where there is no server a launcher is started")
def spawn_alone():
    out, _ = call("spawn", "-n", 2, "-x", "A=b", "--wdir", "/usr", "sh", "-c",
                  "echo $PMI_RANK $A $PWD; exit 7", status=7,
                  env={**own_folder(), "PMIX_SYSTEM_TMPDIR": tmp()})
    same(sorted(out.splitlines()), ["[0] 0 b /usr", "[1] 1 b /usr"], "output")


@test("spawn --detach: where there is no server its launcher goes on alone, and can be asked")
def spawn_detached_alone():
    env = {**own_folder(), "PMIX_SYSTEM_TMPDIR": tmp()}
    out, _ = call("spawn", "--detach", "--json", "-n", 2, "sh", "-c",
                  "echo nobody reads this; exec sleep 100", env=env)     # returns: no pipe is kept
    name = json.loads(out)["nspace"]
    jobs = json.loads(call("ps", "--json", env=env)[0])["jobs"]
    same([(j["nspace"], [r["rank"] for r in j["ranks"]]) for j in jobs], [(name, [0, 1])], "jobs")
    call("kill", name, env=env)
    wait_for(lambda: not any(alive(r["pid"]) for r in jobs[0]["ranks"]), "the end")


@test("spawn: SIGINT and SIGTERM are the job's, a second one kills it")
def spawn_signals():
    job, end = waiting([])
    f = Follower(job, "spawn", "sh", "-c", "trap 'echo got it; exit 9' INT; echo ready; "
                 "while :; do sleep 0.05; done")
    f.wait_text("ready")
    f.finish(9, signal.SIGINT)
    need("[0] got it\n" in f.text(), "the signal arrived", f.text())
    f = Follower(job, "spawn", prog("chore"), "ignore")
    f.wait_text("ready")
    f.popen.send_signal(signal.SIGTERM)
    need(f.popen.poll() is None, "it is ignored")
    def again():
        with contextlib.suppress(ProcessLookupError):
            f.popen.send_signal(signal.SIGTERM)
        return f.popen.poll() is not None
    wait_for(again, "the end")
    f.finish(137)
    end()
    same(job.finish().status, 0, "the first job is undisturbed")


# --- what is wrong ------------------------------------------------------------------


@rows([(f"wrong: {' '.join(words)}", words, status, text) for words, status, text in (
    (["pss"], USAGE, "did you mean ps?"),
    (["frobnicate"], USAGE, "unknown command 'frobnicate'"),
    ([], USAGE, "which command?"),
    (["ps", "--jsom"], USAGE, "unknown option --jsom; did you mean --json?"),
    (["ps", "-Q"], USAGE, "unknown option -Q"),
    (["--pid"], USAGE, "--pid wants a value"),
    (["ps", "--json=1"], USAGE, "--json=1 takes no value"),
    (["ps", "-p", "x"], USAGE, "--pid: 'x' is no number"),
    (["ps", "a", "b"], USAGE, "too many words"),
    (["query"], USAGE, "there is nothing behind it"),
    (["ps", "-p", "1"], NO_SERVER, "no server is process 1"),
    (["ps", "-u", "unix:/nonexistent/x"], NO_SERVER, "no server at unix:/nonexistent/x"),
    (["ps", "-u", "ssh:"], USAGE, "ssh:: want ssh:HOST or ssh:HOST:PID"),
    (["ps", "-u", "munge:host"], USAGE, "munge:host: want munge:HOST:PORT"),
    (["ps", "-j", "nosuch"], NO_SERVER, "nosuch"),
    (["ps", "--system"], NO_SERVER, "system"),
    (["ps"], NO_SERVER, "no server"),
    (["spawn", "-p", "1", "true"], OWN, "no server"),
    (["spawn", "--json", "true"], OWN, "no server"),
)])
def wrong(words, status, text):
    out, err = call(*words, status=status,
                    env={**own_folder(), "PMIX_SYSTEM_TMPDIR": tmp()})
    same(out, "", "stdout")
    need(err.startswith("pmix_tool: ") and text in err, f"'{text}' wanted", err)


@test("wrong: unknown keys and jobs, qualifiers that make no sense, one answer of two")
def wrong_query():
    job, end = waiting([])
    for words, status, text in (
            (["job_sizee"], USAGE, "did you mean PMIX_JOB_SIZE?"),
            (["pmix.no.such"], FAILED, "PMIX_ERR_NOT_FOUND"),
            (["PMIX_JOB_SIZE", "nspace=nosuch"], FAILED, "PMIX_ERR_INVALID_NAMESPACE"),
            (["PMIX_JOB_SIZE", "nodeid=-1"], USAGE, "PMIX_UINT32"),
            (["PMIX_JOB_SIZE", "nodeidd=1"], USAGE, "did you mean PMIX_NODEID?"),
            (["nodeid=1"], USAGE, "there is no key")):
        _, err = call("-p", job.pid, "query", *words, status=status)
        need(text in err, f"{words}: '{text}' wanted", err)
    r = ask_json(job, "query", "pmix.qry.ns", "pmix.no.such", status=FAILED)["results"]
    same([(x["key"], x.get("status")) for x in r], [("pmix.qry.ns", None), ("pmix.no.such", -46)],
         r)
    ask(job, "ps", "nosuch", status=FAILED)
    ask(job, "output", "nosuch", status=FAILED)
    end()
    job.finish()


@test("output that cannot be written is an error, and no other descriptor gets it")
def full():
    job, end = waiting([])
    await_entry(job)
    for words in ["ps"], ["ps", "--json"], ["--help"], ["servers"], ["top", "-b", "-n", "1"]:
        with open("/dev/full", "wb") as f:
            _, err = call("-p", job.pid, *words, status=FAILED, stdout=f)
        need("standard output: No space left on device" in err, "why", err)
        r = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", TOOL, "-p", str(job.pid), *words],
                           env=environment(new_mark()), stderr=subprocess.PIPE, timeout=LIMIT)
        same((r.returncode, b"standard output:" in r.stderr), (FAILED, True), r.stderr)
    read, write = os.pipe()
    os.close(read)
    _, err = call("-p", job.pid, "ps", status=FAILED, stdout=write)
    os.close(write)
    need("Broken pipe" in err, "why", err)
    end()
    same(job.finish().status, 0, "end of the job")


@test("help of all and of each command; the completion names them all")
def helps():
    text = call("--help")[0]
    words = [line.split()[0] for line in text.partition("Commands:\n")[2].splitlines()
             if line.startswith("  ") and not line.startswith("   ")]
    commands = words[:words.index("-p,")]
    need(len(commands) > 10, "the commands", commands)
    with open(os.path.join(B, "completion", "pmix_tool")) as f:
        completion = f.read()
    with open(os.path.join(ROOT, "pmix_ext", "pmix_tool.1")) as f:
        manual = f.read()
    for name in commands:
        text = call(name, "--help")[0]
        need(text.startswith(f"Usage: pmix_tool {name} "), f"help of {name}", text)
        need(f"    {name}) words=" in completion, f"completion of {name}")
        need(f".It Cm {name}" in manual, f"manual of {name}")
        for option in re.findall(r"(?m)^  (?:-\w,|   ) --([\w-]+)", text):
            need(f" --{option}" in completion, f"{option} in the completion")
            need(f"Fl -{option}" in manual.replace("\\-", "-"), f"{option} in the manual")
    need(call("--version")[0].startswith("pmix_tool "), "version")


# --- memory -------------------------------------------------------------------------

VALGRIND = ["valgrind", "-q", "--leak-check=full", "--errors-for-leak-kinds=definite,indirect,possible",
            "--show-leak-kinds=definite,indirect,possible", "--error-exitcode=99"]


@rows([(f"valgrind: pmix_tool {' '.join(words)}", words) for words in
       (["servers"], ["ps"], ["--json", "ps"], ["proctable"], ["status"], ["keys"], ["attributes"], ["stack"],
        ["query", "pmix.job.size", "pmix.qry.ptable"], ["log", "a line"], ["pause"], ["release"],
        ["top", "-n", "2", "-d", "0.1"], ["spawn", "echo", "here"], ["ps", "--nspace", "none"])])
def memory(words):
    if is_sanitized():
        raise Skip("the sanitizers look at memory themselves")
    env = own_folder()
    job, end = waiting([], 2, env)
    tools_socket_of(job, env)
    r = subprocess.run([*VALGRIND, TOOL, *words], env=environment(job.mark, env), stdin=subprocess.DEVNULL,
                       capture_output=True, text=True, timeout=4 * LIMIT)
    said = [x for x in r.stderr.splitlines() if x.startswith("==")]
    same((said, r.returncode), ([], NO_SERVER if "none" in words else 0), f"what valgrind says of {r}")
    same(call("resume", env=env), ("", ""), "the ranks go on")
    end()
    same(job.finish().status, 0, "the job")


# --- examples -----------------------------------------------------------------------


@test("R10-32: Python over the bare wire in ten lines: examples/ask.py")
def python():
    job, end = waiting([])
    nspace = ask_json(job, "ps")["jobs"][0]["nspace"]
    r = subprocess.run([sys.executable, f"{EXAMPLES}/ask.py", tools_socket(job.pid), "pmix.qry.ns"],
                       stdout=subprocess.PIPE, timeout=LIMIT, check=True)
    same(json.loads(r.stdout), [{"query": 0, "key": "pmix.qry.ns", "type": "PMIX_STRING",
                                 "value": nspace}], "its answer")
    with open(f"{EXAMPLES}/ask.py") as f:
        code = f.read().rpartition('"""')[2].split("\n\n", 1)[1]
    need(len(code.splitlines()) <= 12, "it is short", code)
    end()
    job.finish()


def example(name):
    """An example in C, compiled as its first lines say."""
    out, lib = f"{tmp()}/{name}", f"{B}/lib"
    subprocess.run(["cc", "-Wall", "-Wextra", "-Werror", "-o", out, f"{EXAMPLES}/{name}.c",
                    f"-I{ROOT}/pmix_ext/std", f"-L{lib}", "-lpmix_ext", f"-Wl,-rpath,{lib}",
                    "-lpthread"], check=True)
    return out


@rows([(f"R10-32: a launcher: examples/launcher.c, {where}", options)
       for where, options in PLACES])
def launcher(options):
    out, env = example("launcher"), own_folder()
    job, end = waiting(options, env=env)
    tools_socket_of(job, env)
    # The first that fails ends the others: all write before.
    code = (f"cd {tmp()}; echo started; echo here >&2; touch r$PMI_RANK; "
            "until test -e r0 -a -e r1 -a -e r2; do sleep 0.01; done; exit 7")
    r = subprocess.run([out, "3", "sh", "-c", code],
                       env=environment(new_mark(), preloaded(env)), stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=LIMIT)
    same((r.returncode, r.stdout, r.stderr), (7, b"started\n" * 3, b"here\n" * 3), "its end")
    for words in ["3"], ["0", "true"], ["3x", "true"], ["-1", "true"], ["", "true"], ["9" * 30, "true"]:
        r = subprocess.run([out, *words], env=environment(new_mark(), preloaded(env)), capture_output=True,
                           stdin=subprocess.DEVNULL, timeout=LIMIT)
        same((r.returncode, r.stdout), (2, b""), words)
        need(b"usage: launcher RANKS" in r.stderr, words, r.stderr)
    end()
    same(job.finish().status, 0, "the other job's")


@test("R10-32: examples/launcher.c ends when its server does")
def launcher_lost():
    out, env = example("launcher"), own_folder()
    job, _ = waiting([], env=env)
    tools_socket_of(job, env)
    p = subprocess.Popen([out, "1", "sh", "-c", "echo started; exec sleep 600"],
                         env=environment(job.mark, preloaded(env)), stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE)
    same(p.stdout.readline(), b"started\n", "what it starts")
    os.kill(job.root(), signal.SIGKILL)
    same(p.wait(LIMIT), 1, "status")
    job.finish()


@test("R10-20, R10-21, R10-32: the example of RFC0010, two nodes by number: examples/rfc0010.c")
def rfc0010():
    out = example("rfc0010")
    env = own_folder()
    job, end = waiting(["-launcher", "fork", "-hosts", "n[0-7]", "-ppn", "2"], 16, env)
    tools_socket_of(job, env)
    nspace = json.loads(call("ps", "--json", env=env)[0])["jobs"][0]["nspace"]
    r = subprocess.run([out, "5", "7"], env=environment(new_mark(), preloaded(env)), stdout=subprocess.PIPE,
                       timeout=LIMIT, check=True)
    same(r.stdout.decode().splitlines(), [f"{nspace} {i}" for i in (10, 11, 14, 15)], "processes")
    end()
    job.finish()


# --- old and new together -----------------------------------------------------------

# Each puts a value in its own tongue, and gets those of all.
RANK = """
import os
c = Client(int(sys.argv[1]))
if sys.argv[2] == "extended":
    r = c.ask('cmd=pmix-query;queries=[{"keys":["pmix.job.size"]}];')
    need('"value":3' in r["results"], "an extended command", r)
c.put("from-%d" % rank, "v%d" % rank)
while not os.path.exists(sys.argv[3]):
    say("%d waits" % rank)
    time.sleep(0.05)
c.fence()
say("%d sees" % rank, *(c.get("from-%d" % i) for i in range(size)))
c.finalize()
"""


@rows([(f"R2: old and new together: ranks of PMI-1, PMI-2 and extended commands, watched by three "
        f"tools, {where}", options) for where, options in PLACES])
def together(options):
    go = tmp() + "/go-on"
    job = Job(*options, "-n", 1, *py(RANK, 1, "", go), ":", "-n", 1, *py(RANK, 2, "", go), ":",
              "-n", 1, *py(RANK, 2, "extended", go))
    first, second = Follower(job, "events", "--json"), Follower(job, "output")
    third = Follower(job, "top", "-b", "--json", "-d", "0.1")
    first.wait_text("PMIX_LAUNCH_COMPLETE")
    for i in range(3):
        second.wait_text(f"[{i}] {i} waits\n")
    third.wait_text("\n")
    same([r["state"] for r in ask_json(job, "ps")["jobs"][0]["ranks"]], ["connected"] * 3,
         "all three speak to their server")
    write_file(go, "")
    r = job.finish()
    same(r.status, 0, r)
    same(sorted(x for x in r.lines if "sees" in x), [f"{i} sees v0 v1 v2" for i in range(3)],
         "they share one KVS")
    same(sorted(x for x in second.finish().splitlines() if "sees" in x),
         [f"[{i}] {i} sees v0 v1 v2" for i in range(3)], "the second tool")
    first.finish()
    same(first.lines()[-1]["name"], "PMIX_EVENT_JOB_END", "the first tool")
    third.finish()
    same({len(x["ranks"]) for x in third.lines()}, {3}, "the third tool")


main()

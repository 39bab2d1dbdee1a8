#!/usr/bin/env -S python3 -B
"""Tools on the other nodes of a job, and tools that call by ssh.  On a bed of namespaces: see
test/bed.py."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from trial import *                                     # noqa: E402
import signal                                           # noqa: E402
import socket                                           # noqa: E402
import subprocess                                       # noqa: E402
from concurrent.futures import ThreadPoolExecutor       # noqa: E402
from pmixlib import Closed, Far, Stopped, finder, info, proc, query, results  # noqa: E402
from pmixlib import good as well                        # noqa: E402

SIZE = 5
FIND = finder()
TREE = ["-tree-width", 1, "-flat-hosts", 1]
NS, PTABLE = "pmix.qry.ns", "pmix.qry.ptable"


def entries(bed, node):
    return [f for f in bed.files(node) if "/pmi2_server-" in f]


def job_with_tools(bed, *words, user="root", nodes=range(SIZE), program=("sleep", 600), **more):
    """A job (that sleeps) whose launcher and proxies take tools by now."""
    job = start(bed, *words, "-n", SIZE, *program, user=user, **more)
    for n in nodes:
        wait_for(lambda n=n: len(entries(bed, n)) == 2, f"an entry on node{n}")
    return job


def end(job):
    job.kill(signal.SIGTERM)
    same(finish(job).status, 143, "status")


@points([("R5: a tool on each node calls the server there, and is answered by the launcher", []),
         ("R5: the same at each place of a chain of servers", TREE)])
def each_node(bed, words):
    job = job_with_tools(bed, *words)
    tools = [Far(bed, n) for n in range(SIZE)]
    same(len({t.nspace for t in tools}), SIZE, "names of their own")
    names = {t.jobs() for t in tools}
    same(len(names), 1, "one job, the same")
    for n in range(SIZE):
        pid = [p for p in bed.processes(n) if p.cmdline.endswith("pmi2_proxy")]
        here = entries(bed, n)
        need(len(here) == 2 and all(f"/node{n}." in f for f in here), "HOST.PID", here, pid)
    job_name = {"key": "pmix.nspace", "type": "PMIX_STRING", "value": next(iter(names))}
    for n, t in enumerate(tools):
        table = well(t.call("pmix-query", queries=[query(PTABLE, qualifiers=[job_name])]))
        need("node4" in str(table), "the whole table", table)
        table = str(well(t.call("pmix-query", queries=[query("pmix.qry.lptable", qualifiers=[job_name])])))
        same([f"node{i}" in table for i in range(SIZE)], [i == n for i in range(SIZE)], "that of its own node")
    for t in tools:
        t.close()
    end(job)
    for n in range(SIZE):
        same(entries(bed, n), [], "entries afterwards")


LINES, JOB_END = 60000, -145
WRITER = 'while [ ! -e /tmp/go ]; do sleep 0.05; done; rm /tmp/go; exec seq -f "$PMI_RANK %%.0f %s" %d' % (
    "x" * 40, LINES)
LOCAL = "pmix.qry.lptable"


@points([("R5: a tool has its node's table from the server there, while the launcher is stopped", []),
         ("R5: the same at each place of a chain of servers", TREE)])
def table_there(bed, words):
    job = job_with_tools(bed, "-disable-auto-cleanup", *words, stdout=subprocess.DEVNULL, program=[
        "sh", "-c", "[ $PMI_RANK = 3 ] && exit 7; " + WRITER.replace("exec", "") + "; sleep 600"])
    first, *tools = [Far(bed, n, args={"payload": "TRUE"}) for n in range(SIZE)]
    name = first.jobs()
    whose = [info("pmix.nspace", "STRING", name)]

    def ended():
        rows_ = results(well(first.call("pmix-query", queries=[query(PTABLE, qualifiers=whose)])))[0][2]
        return rows_[3]["exit_code"] == 7 and rows_
    whole = wait_for(ended, "the end of rank 3 is told")
    well(tools[3].call("pmix-iof-pull", procs=[proc(name, "wildcard")], channel="2"))
    with Stopped(front_and_root(job)[1]):
        waits = tools[2].send("pmix-query", queries=[query(PTABLE, qualifiers=whose)])
        for n, t in enumerate(tools, 1):
            for _ in range(3):
                got = well(t.call("pmix-query", queries=[query(LOCAL, qualifiers=whose)]))
                same(results(got)[0][2], [whole[n]], f"on node{n}")
        lost = tools[3].send("pmix-query", queries=[query(LOCAL, qualifiers=[info("pmix.nspace", "STRING", "x")])])
    same(results(well(tools[2].reply(waits)))[0][2], whole, "what is about others is asked of the launcher")
    same(results(well(tools[3].reply(lost)))[0][2], {"status": -44}, "and so is a job that is not known there")
    let_go(bed, (0, 1, 2, 4))            # answers come between the frames of output
    for _ in range(300):
        got = well(tools[3].call("pmix-query", queries=[query(LOCAL, qualifiers=whose)]))
        same(results(got)[0][2], [whole[4]], "in the midst of output")
    need(any(f["cmd"] == "pmix-iof-data" for f in tools[3].unasked), "there was some")
    for t in [first, *tools]:
        t.close()
    end(job)


@point("T16: the kernel of its node says who a tool is: another user gets nothing")
def users(bed):
    job = job_with_tools(bed, user="tester")
    Far(bed, 3, user="tester").close()
    where = next(f for f in entries(bed, 3) if f.endswith(".s"))
    need("UNREACH" in Far(bed, 3, user="csher", hello=False).fails(), "another user finds none")
    folder = f"/proc/{bed.nodes[3].init}/root" + os.path.dirname(where)
    os.chmod(folder, 0o755)
    os.chmod(folder + "/" + os.path.basename(where), 0o777)
    other = Far(bed, 3, "pmix.srvr.uri=unix:" + where, user="csher", hello=False)
    need("another user" in other.fails(), "it does not trust ours")
    code = ("import socket,sys;s=socket.socket(socket.AF_UNIX);s.connect(sys.argv[1]);"
            "s.sendall(b'cmd=init pmi_version=2 pmi_subversion=0\\n');"
            "sys.stdout.write('got %r' % s.recv(9))")
    r = bed.run(3, ["/usr/bin/python3", "-c", code, where], user="csher")
    need(r.stdout == b"got b''" or b"Reset" in r.stderr or b"Broken" in r.stderr, "not a byte", r)
    end(job)


def follow(bed, *nodes):
    """A job whose ranks write much, once they may, and end; tools on these nodes follow it."""
    job = job_with_tools(bed, *TREE, program=["sh", "-c", WRITER], stdout=subprocess.DEVNULL)
    tools = [Far(bed, n, args={"payload": "TRUE"}) for n in nodes]
    for t in tools:
        name = t.jobs()
        well(t.call("pmix-event-register", codes=[JOB_END]))
        well(t.call("pmix-iof-pull", procs=[{"nspace": name, "rank": "wildcard"}], channel="2"))
    return job, tools


def let_go(bed, nodes=range(SIZE)):
    for n in nodes:
        same(bed.run(n, ["touch", "/tmp/go"]).returncode, 0, "touch")


def all_of(tool):
    """What a tool reads until its server is gone: the bytes of each rank, the ranks whose end
    came, and whether the job's did."""
    got, ends, over = {}, set(), False
    try:
        while True:
            f = tool.event()
            over |= f["cmd"] == "pmix-event"
            if f["cmd"] == "pmix-iof-data":
                same(f.get("missed", "0"), "0", "missed")
                got[f["rank"]] = got.get(f["rank"], 0) + len(f.get("data", b""))
                ends |= {f["rank"]} if f.get("end") == "TRUE" else set()
    except (Closed, OSError):
        return got, ends, over


@point("tools that follow output through any server have all of it, and the ends, at the end")
def last_bytes(bed):
    job, tools = follow(bed, *range(SIZE))
    with ThreadPoolExecutor(SIZE) as pool:
        reads = [pool.submit(all_of, t) for t in tools]
        let_go(bed)
        same(finish(job).status, 0, "status")
        wanted = {str(r): sum(len(f"{r} {i} \n") + 40 for i in range(1, LINES + 1))
                  for r in range(SIZE)}
        for n, r in enumerate(reads):
            same(r.result(), (wanted, set(wanted), True), f"what the tool on node{n} has read")


@point("one that does not read at the end holds up nobody")
def last_deaf(bed):
    job, tools = follow(bed, 4)
    let_go(bed)
    same(finish(job, clean=False).status, 0, "status")
    for t in tools:
        t.close()


@point("a tool that does not read holds up nobody; 60 that die leave nothing")
def stalls(bed):
    job = job_with_tools(bed, *TREE)
    root = front_and_root(job)[1]
    before = len(os.listdir(f"/proc/{root}/fd"))
    deaf = Far(bed, 4)
    deaf.sock.setblocking(False)
    try:
        for i in range(200000):
            deaf.send("pmix-capabilities")
        raise Wrong("everything was taken")
    except BlockingIOError:
        say(f"{i} requests in flight")
    other = Far(bed, 4)
    for _ in range(100):
        other.jobs()
    deaf.close()
    tools = [Far(bed, 1 + i % 4, hello=i % 3 > 0) for i in range(60)]
    for i, t in enumerate(tools):
        if i % 2:
            t.send("pmix-query", queries=[query(NS, PTABLE)])
            t.process.kill(signal.SIGKILL)
        t.close()
    other.jobs()
    other.close()
    wait_for(lambda: len(os.listdir(f"/proc/{root}/fd")) <= before,
             f"no more than {before} descriptors of the launcher")
    end(job)


@points([(f"{what} is killed: no entry stays on any node", what)
         for what in ("a proxy", "the launcher", "its server")])
def killed(bed, what):
    job = job_with_tools(bed)
    tool = Far(bed, 2)
    front, root = front_and_root(job)
    if what == "a proxy":
        pid = int(next(f for f in entries(bed, 2) if not f.endswith(".s")).rsplit(".", 1)[1])
        pids = [p.pid for p in on(bed, 2, "pmi2_proxy")]
        os.kill(next(p for p in pids if inner_pid(p) == pid), signal.SIGKILL)
    else:
        os.kill(front if what == "the launcher" else root, signal.SIGKILL)
    finish(job)
    try:
        tool.jobs()
        raise Wrong("answered by nobody")
    except (Closed, OSError):
        pass
    for n in range(SIZE):
        same(entries(bed, n), [], f"entries of node{n}")


def inner_pid(pid):
    """The pid that the process has in its own node."""
    with open(f"/proc/{pid}/status") as f:
        return int(next(x for x in f if x.startswith("NSpid")).split()[-1])


@point("-disable-tools: no entry, no socket on any node")
def disabled(bed):
    job = start(bed, "-disable-tools", "-n", SIZE, "sh", "-c", "sleep 0.5; echo late; sleep 600")
    job.wait_text("late", SIZE)
    same([entries(bed, n) for n in range(SIZE)], [[]] * SIZE, "entries")
    need("UNREACH" in Far(bed, 2, hello=False).fails(), "a tool finds none")
    end(job)


# --- ssh ------------------------------------------------------------------------------------

QUIET, PRINTS = "", "echo Welcome to this fine host\necho\n"
LOGINS = [("root", ".bashrc", QUIET), ("root", ".bashrc", PRINTS),
          ("csher", ".cshrc", PRINTS), ("fisher", ".config/fish/config.fish", PRINTS),
          ("root", ".bashrc", "read -t 0.5 word\n")]


@points([(f"ssh:HOST of {user}, {rc} says {text.split()[0] if text else 'nothing'}", user, rc, text)
         for user, rc, text in LOGINS])
def by_ssh(bed, user, rc, text):
    job = job_with_tools(bed, user=user)
    if text:
        bed.rc(user, rc, text)
    to_proxy = Far(bed, 0, "pmix.srvr.uri=ssh:node3", user=user)
    to_launcher = Far(bed, 2, "pmix.srvr.uri=ssh:node0", user=user)
    same(to_proxy.jobs(), to_launcher.jobs(), "the job")
    pid = int(next(f for f in entries(bed, 3) if not f.endswith(".s")).rsplit(".", 1)[1])
    by_pid = Far(bed, 0, "pmix.srvr.host=node3", f"pmix.srvr.pidinfo={pid}", user=user)
    same(by_pid.jobs(), to_proxy.jobs(), "by pid")
    need(("node3: Welcome" in by_pid.error()) == (text == PRINTS), "what it prints", by_pid.error())
    for t in to_proxy, to_launcher, by_pid:
        t.close()
    end(job)


@point("ssh:HOST without a server, with a wrong pid, to a host that is not there")
def ssh_fails(bed):
    text = Far(bed, 0, "pmix.srvr.uri=ssh:node2", hello=False).fails()
    need("node2: no server" in text and "UNREACH" in text, "no server there", text)
    text = Far(bed, 0, "pmix.srvr.uri=ssh:node2:77", hello=False).fails()
    need("node2: process 77 is no server" in text, "a wrong pid", text)
    text = Far(bed, 0, "pmix.srvr.uri=ssh:nowhere", hello=False).fails()
    need("nowhere: pmi2_proxy --tool does not answer" in text, "no such host", text)
    wait_for(lambda: not bed.processes(), "no process left")


main([SIZE, SIZE], [FIND])

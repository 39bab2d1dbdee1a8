#!/usr/bin/env -S python3 -B
"""T10: each party that takes part where tools are dies of SEGV and of KILL: the launcher's two
processes, the server of a node, a rank, a tool, a debugger, one of its daemons.  What becomes of the
others, what a tool is told, and how long that took beside its target (a comment: no test is failed by a
slow machine; test/bench/tool_ends makes a table of them)."""

import re

from mpirlib import *
from pmixlib import *
from spawnlib import comment

RANK = (*SH, "echo ready; exec sleep 600")
PMIX_TOOL = os.path.join(B, "bin", "pmix_tool")
HOSTS = ("-launcher", "fork", "-hosts", "a,b")
JOB_END, TERMINATED, BY_SIG, BY_CMD, NODE_DOWN, LOST = -145, -201, -402, -400, -231, -61
BOTH = (signal.SIGSEGV, signal.SIGKILL)


os.environ["ASAN_OPTIONS"] = sanitizer("handle_segv=0")          # they die as they do without


def measured(began, target):
    """What was waited for has come, `target` seconds being enough."""
    comment(f"seen after {time.monotonic() - began:.2f} s; target {target} s")


class Watched:
    """A job of four ranks on two hosts, or of another debugger, and a tool that hears of it."""

    def __init__(self, *words, job=None, name=""):
        self.job = job or Job(*HOSTS, *words, "-n", 4, *RANK, env=FORK)
        self.name = [name] if name else []
        if not job:
            self.job.wait_text("ready", 4)
        self.tool = Tool(self.job)
        good(self.tool.call("pmix-event-register", codes=[JOB_END, BY_SIG, BY_CMD, NODE_DOWN, LOST], infos=[]))
        self.pids = self.table()
        self.began = 0

    def spawn_daemons(self):
        """A tool's front end, whose daemons look after the job, one on each host: it, their job, their pids."""
        name = self.names()[0]
        front = subprocess.Popen([PMIX_TOOL, "spawn", "--pid", str(self.job.pid), "--target", name, "/bin/sleep", "600"],
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.daemons = wait_for(lambda: self.names()[1:], "their job")[0]
        return front, wait_for(lambda: (p := self.table(self.daemons)) and all(p) and p, "daemons")

    def names(self):
        return results(good(self.tool.call("pmix-query", queries=[query("pmix.qry.ns")])))[0][2].split(",")

    def events(self, job, last):
        """Events about a job, up to this one: its infos."""
        while True:
            m = self.tool.event("pmix-event")
            if m["status"] == last and m["source"]["nspace"] == job:
                return {"rank": m["source"]["rank"], **dict(plain(i) for i in m["infos"])}

    def table(self, *name):
        """The pids of the main job, by rank."""
        r = subprocess.run([PMIX_TOOL, "proctable", "--json", "--pid", str(self.job.pid), *(name or self.name)],
                           check=True, stdout=subprocess.PIPE)
        return [x["pid"] for x in json.loads(r.stdout)["jobs"][0]["ranks"]]

    def kill(self, pid, signo):
        self.began = time.monotonic()
        os.kill(pid, signo)

    def took(self, target):
        measured(self.began, target)

    def hear(self, status):
        """Events up to this one: (status, rank) of each."""
        seen = []
        while not seen or seen[-1][0] != status:
            m = self.tool.event("pmix-event")
            seen.append((m["status"], m["source"]["rank"]))
        return seen

    def goes_on(self):
        """Ranks run and are answered for, until the launcher is told to end."""
        need(all(alive(p) for p in self.pids), "ranks live")
        same(self.table(), self.pids, "the table")
        self.job.kill(signal.SIGTERM)
        same(self.job.finish().status, 143, "status")

    def closed(self):
        """The stream of the tool ends: no more is to be had."""
        try:
            while True:
                self.tool.frame()
        except (Closed, ConnectionResetError):
            self.took(1)


def each(what):
    """A point for either signal."""
    return rows([(f"T10: {what}, by {signo.name}", signo) for signo in BOTH])


@each("the front end dies: the job ends, tools see the end of their stream")
def front(signo):
    w = Watched()
    w.kill(w.job.pid, signo)
    w.closed()
    same(w.job.popen.wait(LIMIT), -signo, "its end")
    nothing_left(w.job.mark)


@each("the root dies: the job ends with 255 and a message, tools see the end of their stream")
def root(signo):
    w = Watched()
    w.kill(w.job.root(), signo)
    w.closed()
    r = w.job.finish()
    same(r.status, 255, f"status {r}")
    need(f"killed by signal {signo:d}" in r.messages[0], "why", r.messages)


@each("the server of a node dies: a tool is told of the node, its ranks and the end of the job")
def proxy(signo):
    w = Watched()
    w.kill(stat(w.pids[1])[1], signo)
    w.hear(NODE_DOWN)
    w.took(5)
    seen = w.hear(JOB_END)
    same({r for s, r in seen if s == LOST}, {1, 3}, f"its ranks are lost {seen}")
    need(w.job.finish().status, "it is a failure")


@each("the server of a node dies, and the job is to go on: the others run, and are answered for")
def proxy_kept(signo):
    w = Watched("-disable-auto-cleanup")
    w.kill(stat(w.pids[1])[1], signo)
    w.hear(NODE_DOWN)
    w.took(5)
    wait_for(lambda: not any(alive(w.pids[i]) for i in (1, 3)), "ranks of that node are gone")
    need(all(alive(w.pids[i]) for i in (0, 2)), "the others live")
    same(len(w.table()), 4, "the table")
    w.job.kill(signal.SIGTERM)
    w.hear(JOB_END)
    w.job.finish()


@each("a rank dies: a tool is told how, and how the job ends for it")
def rank(signo):
    w = Watched()
    w.kill(w.pids[2], signo)
    same(w.hear(BY_SIG), [(BY_SIG, 2)], "first")
    w.took(1)
    w.hear(JOB_END)
    same(w.job.finish().status, 128 + signo, "status")


@each("a tool dies: job, ranks and the other tool go on")
def tool(signo):
    w = Watched()
    other = subprocess.Popen([PMIX_TOOL, "events", "--pid", str(w.job.pid)], stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    need(b"waiting" in other.stderr.readline(), "it is there")
    w.kill(other.pid, signo)
    same(other.wait(LIMIT), -signo, "it is gone")
    other.stderr.close()
    w.goes_on()
    w.hear(JOB_END)


@each("a debugger that has attached dies: the launcher goes on")
def attached(signo):
    w = Watched()
    d = Debugger("say(at='launcher')\nawait_file('/nowhere')\n", attach=w.job.pid)
    d.wait_said(1)
    w.kill(d.popen.pid, signo)
    d.popen.wait(LIMIT)
    wait_for(lambda: stat(w.job.pid)[0] == "S", "the launcher runs")
    w.goes_on()
    w.hear(JOB_END)


@each("a debugger that has started the launcher dies: launcher, held ranks and its daemons go")
def debugger(signo):
    d = Debugger(f"launch('/bin/sleep', '600')\nsee('spawned')\nawait_file('/nowhere')\n", *HOSTS, "-n", 4,
                 *RANK, env=FORK)
    same({x["now"][0] for x in d.wait_said(1)[0]["table"]}, {"T"}, "held")
    began = time.monotonic()
    os.kill(d.popen.pid, signo)
    d.popen.wait(LIMIT)
    nothing_left(d.mark)
    measured(began, 3)


@each("one daemon of a debugger dies: the others end, a tool is told, the job goes on")
def daemon(signo):
    d = Debugger("launch('/bin/sleep', '600')\nsee('spawned')\ngdb.execute('continue')\n", *HOSTS, "-n", 4,
                 *RANK, env=FORK)
    seen = d.wait_said(1)[0]
    d.pid = seen["pid"]
    w = Watched(job=d, name=seen["jobid"])
    daemons = [p for p in left(d.mark) if proc_bytes(p, "cmdline") == b"/bin/sleep\x00600\x00"]
    same(len(daemons), 2, "daemons")
    w.kill(daemons[0], signo)
    same([s for s, _ in w.hear(BY_SIG)], [BY_SIG], "first")
    w.took(1)
    w.hear(JOB_END)
    need(not any(alive(p) for p in daemons), "both are gone")
    need(all(alive(p) for p in w.pids), "ranks live")
    same(w.table(), w.pids, "the table")
    os.kill(d.pid, signal.SIGTERM)
    d.finish()


@each("C.1: the front end of a tool dies: its daemons end, ranks and the other tool go on")
def tool_front(signo):
    w = Watched()
    front, pids = w.spawn_daemons()
    w.kill(front.pid, signo)
    front.wait()
    same(w.events(w.daemons, JOB_END)["pmix.nspace"], w.daemons, "it is told")
    w.took(3)
    need(not any(alive(p) for p in pids), "when it is true")
    w.goes_on()


@each("C.2: one daemon of a tool dies: it is told which, where and how; the others end, ranks go on")
def tool_daemon(signo):
    w = Watched()
    front, pids = w.spawn_daemons()
    w.kill(pids[1], signo)
    told = w.events(w.daemons, BY_SIG)
    w.took(1)
    same((told["rank"], told["pmix.exit.code"], told["pmix.hname"]), (1, 128 + signo, "b"), "which, how and where")
    w.events(w.daemons, JOB_END)
    need(not any(alive(p) for p in pids), "both are gone")
    same(front.wait(LIMIT), 128 + signo, "its front end ends like them")
    w.goes_on()


@each("D: a rank dies: a tool is told how its job ends; its daemons stay until it ends (more: daemons.py)")
def tool_target(signo):
    w = Watched()
    front, pids = w.spawn_daemons()
    main_job = w.names()[0]
    w.kill(w.pids[3], signo)
    same(w.events(main_job, BY_SIG)["pmix.exit.code"], 128 + signo, "the rank")
    w.took(1)
    same(w.events(main_job, JOB_END)["pmix.exit.code"], 128 + signo, "the job")
    wait_for(lambda: b"its launcher stays for the daemons of tool " in w.job.error_text(), "it says that it stays")
    need(all(alive(p) for p in pids), "its daemons live")
    front.terminate()                    # the daemons are told to end
    w.events(w.daemons, JOB_END)
    same(front.wait(LIMIT), 143, "its front end ends like them")
    same(w.job.finish().status, 128 + signo, "status")


@each("a node is lost: so is the daemon there, of which a tool is told")
def tool_node(signo):
    w = Watched("-disable-auto-cleanup")
    front, pids = w.spawn_daemons()
    w.kill(stat(pids[1])[1], signo)
    told = w.events(w.daemons, LOST)
    w.took(5)
    same((told["rank"], told["pmix.hname"]), (1, "b"), "which, and where")
    wait_for(lambda: not alive(pids[1]), "it is gone")
    need(all(alive(w.pids[i]) for i in (0, 2)), "ranks of the other node live")
    w.job.kill(signal.SIGTERM)
    w.job.finish()
    front.wait(LIMIT)


@test("T10: a daemon's program is missing on the nodes: the tool is told which and why, ranks go on")
def tool_missing():
    w = Watched()
    began = time.monotonic()
    r = w.tool.call("pmix-spawn", apps=[{"cmd": "/nowhere/daemon", "argv": ["daemon"], "maxprocs": 1}], infos=[
        info("pmix.debugger", "BOOL", True), info("pmix.dbg.tgt", "PROC", proc(w.names()[0], "wildcard"))])
    measured(began, 1)
    need(r["status"] and re.match(r"(a: cannot start rank 0|b: cannot start rank 1) \(daemon\): exec: No such", r["errmsg"]),
         "node and reason", r)
    w.goes_on()


if __name__ == "__main__":
    strip()
    main(3)

#!/usr/bin/env -S python3 -B
"""pmix-job-control, pmix-monitor, pmix-heartbeat: who may stop, continue, signal and end
which processes, and how their silence is noticed."""

import os
import signal
import time

from lib import *
from pmixlib import *

HOSTS = ["-launcher", "fork", "-hosts", "a,b,c", "-ppn", "1", "-flat-hosts", "1",
         "-tree-width", "1"]
WHERE = [("one host", []), ("a chain of hosts", HOSTS)]
NOT_FOUND, BAD_PARAM, NO_PERMISSIONS, NOT_SUPPORTED, EXISTS = -46, -27, -23, -47, -11
PARTIAL, MISMATCH, RESOURCE = -52, -18, -29
JOB_END, BY_CMD, BY_SIG = -145, -400, -402
HEARTBEAT_ALERT, FILE_ALERT, OWN_ALERT = -109, -110, -4444
PAUSE, RESUME, KILL, TERM = ("pmix.jctrl.pause", "pmix.jctrl.resume", "pmix.jctrl.kill",
                             "pmix.jctrl.term")


def flag(key, yes=True):
    return info(key, "BOOL", yes)


def control(peer, targets, *directives):
    return peer.call("pmix-job-control", targets=list(targets),
                     directives=[flag(d) if isinstance(d, str) else d for d in directives])


def a_signal(n):
    return info("pmix.jctrl.sig", "INT", n)


def stopped(*ranks):
    return all((s := stat(r.pid)) and s[0] == "T" for r in ranks)


def running(*ranks):
    return all((s := stat(r.pid)) and s[0] in "SRD" for r in ranks)



# --- job control ------------------------------------------------------------------


@rows([(f"a tool stops and continues a job, and one rank of it, {w}", o) for w, o in WHERE])
def pause(options):
    ranks = Ranks(*options, "-n", 3)
    tool, name = Tool(ranks.job), ranks[0].nspace
    everyone, one = proc(name, "wildcard"), proc(name, 1)
    good(control(tool, [everyone], PAUSE))
    wait_for(lambda: stopped(*ranks), "all ranks stopped")
    good(control(tool, [one], RESUME))
    wait_for(lambda: running(ranks[1]), "rank 1 runs")
    need(stopped(ranks[0], ranks[2]), "the others do not")
    good(control(tool, [everyone], RESUME))
    wait_for(lambda: running(*ranks), "all run")
    same(ranks.finish().status, 0, "exit status")


@rows([(f"what a tool has paused stays so over a Ctrl-Z, {w}", o) for w, o in WHERE])
def pause_and_suspend(options):
    ranks = Ranks(*options, "-n", 3)
    tool, name = Tool(ranks.job), ranks[0].nspace
    good(control(tool, [proc(name, 1)], PAUSE))
    wait_for(lambda: stopped(ranks[1]), "rank 1 is stopped")
    os.kill(ranks.job.pid, signal.SIGTSTP)
    wait_for(lambda: stopped(*ranks), "all are stopped")
    wait_for(lambda: stat(ranks.job.pid)[0] == "T", "the launcher is stopped")
    good(control(tool, [proc(name, 2)], PAUSE))
    good(control(tool, [proc(name, 0)], RESUME))      # but the launcher is still stopped
    good(tool.call("pmix-capabilities"))
    need(stopped(*ranks), "all are still stopped")
    os.kill(ranks.job.pid, signal.SIGCONT)
    wait_for(lambda: running(ranks[0]), "rank 0 goes on")
    need(stopped(ranks[1], ranks[2]), "the paused ones do not")
    good(control(tool, [proc(name, "wildcard")], RESUME))
    wait_for(lambda: running(*ranks), "all go on")
    same(ranks.finish().status, 0, "exit status")


@rows([(f"a signal to one rank or all, {w}", o) for w, o in WHERE])
def signals(options):
    code = """
        import signal
        c = Client(2)
        signal.signal(signal.SIGUSR2, lambda *x: say("rank", rank, "got USR2"))
        c.fence()
        say("ready", rank)
        signal.pause()
        if rank == 1: signal.pause()
        c.fence()
        c.finalize()
    """
    job = Job(*options, "-n", 3, *py(code))
    tool = Tool(job)
    name = results(tool.call("pmix-query", queries=[query("pmix.qry.ns")]))[0][2]
    for i in range(3):
        job.wait_text(f"ready {i}\n")
    good(control(tool, [proc(name, 1)], a_signal(signal.SIGUSR2)))
    job.wait_text("rank 1 got USR2\n")
    good(control(tool, [proc(name, "wildcard")], a_signal(signal.SIGUSR2)))
    r = job.finish()
    same((r.status, r.out.count(b"got USR2")), (0, 4), f"{r}")


@rows([(f"R10-10: {word} of a job, its wildcard rank, by a tool, {w}", key, code, o)
       for w, o in WHERE for word, key, code in (("terminate", TERM, 143), ("kill", KILL, 137))])
def end_job(key, code, options):
    ranks = Ranks(*options, "-n", 3)
    tool, name = Tool(ranks.job), ranks[0].nspace
    good(tool.call("pmix-event-register", codes=[JOB_END, BY_CMD]))
    good(control(tool, [proc(name, "wildcard")], PAUSE))
    wait_for(lambda: stopped(*ranks), "stopped ranks can be ended, too")
    good(control(tool, [proc(name, "wildcard")], key))
    seen = [tool.event("pmix-event") for _ in range(4)]
    same([e["status"] for e in seen], [BY_CMD] * 3 + [JOB_END], "what is told")
    same(dict(plain(i) for i in seen[3]["infos"])["pmix.job.term.status"], -183, "why")
    r = ranks.job.finish()
    same(r.status, code, f"{r}")
    need(f"ended by order of {tool.nspace}" in r.err.decode(), "it says by whom", r.err)


@rows([(f"R10-10: {word} and {short} as targets are the ranks of the asker's node", word, short)
       for word, short in (("local_node", "@node"), ("local_peers", "@peers"))])
def local_targets(word, short):
    ranks = Ranks("-launcher", "fork", "-hosts", "h[0-2]:2", "-tree-width", "0", "-n", 6)
    name = ranks[0].nspace
    for asker, rank in ((ranks[3], word), (ranks[2], short)):
        for key, wanted in ((PAUSE, [False, False, True, True, False, False]), (RESUME, [False] * 6)):
            # The asker's own paused process does not matter: it is this test that speaks for it.
            good(control(asker, [proc(name, rank)], key))
            wait_for(lambda: [stopped(r) for r in ranks] == wanted, f"{rank}: {key}")
    same(control(Tool(ranks.job), [proc(name, word)], PAUSE)["status"], NOT_FOUND,
         "a tool is on the launcher's node, which has none")
    same(ranks.finish().status, 0, "exit status")


@test("R10-10: a tool's words: * is the job, @node what is on the launcher's node; in fences, "
      "in what is read along, in queries")
def words():
    ranks = Ranks("-n", 3)
    tool, name = Tool(ranks.job), ranks[0].nspace
    for word in "@node", "*", "local_node":
        good(control(tool, [proc(name, word)], PAUSE))
        wait_for(lambda: stopped(*ranks), f"{word}: stopped")
        good(control(tool, [proc(name, word)], RESUME))
        wait_for(lambda: running(*ranks), f"{word}: running")
    for word in "*", "@node":
        good(tool.call("pmix-iof-pull", procs=[proc(name, word)], channel=2))
        got = good(tool.call("pmix-query", queries=[query("pmix.qry.ptable", qualifiers=[
            info("pmix.procid", "PROC", proc(name, word))])]))
        same([p["proc"]["rank"] for p in results(got)[0][2]], [0, 1, 2], word)
    for word in "*", "@node", "@peers":
        for r in ranks:
            r.thrid = r.send("pmix-fence", procs=[proc(name, word)])
        for r in ranks:
            good(r.reply(r.thrid))
    same(ranks[0].call("pmix-fence", procs=[proc("nosuch", "@node")])["status"], NOT_FOUND, "no job")
    same(control(tool, [proc(name, "@nobody")], PAUSE)["status"], BAD_PARAM, "no such word")
    same(ranks.finish().status, 0, "exit status")


@test("one rank is terminated: its end is like any other's")
def end_rank():
    ranks = Ranks("-disable-auto-cleanup", "-n", 3)
    tool, name = Tool(ranks.job), ranks[0].nspace
    good(tool.call("pmix-event-register", codes=[BY_CMD, BY_SIG]))
    for rank, key in (1, TERM), (2, KILL):
        good(control(tool, [proc(name, rank)], key))
        e = tool.event("pmix-event")
        same((e["status"], e["source"]["rank"]), (BY_CMD, rank), "its end")
        same(control(tool, [proc(name, rank)], key)["status"], NOT_FOUND, "it has ended")
    same(control(tool, [proc(name, 0), proc(name, 1)], RESUME)["status"], PARTIAL, "one of two")
    ranks.ranks = {0: ranks[0]}
    ranks[0].call("finalize")
    ranks.end(0)
    ranks.job.finish()


@test("a rank may order its own job, and no other that it is not connected to")
def rights():
    ranks = Ranks("-n", 2)
    a, b = ranks
    good(control(a, [], a_signal(signal.SIGCONT)))
    good(control(a, [proc(a.nspace, 1)], PAUSE))
    wait_for(lambda: stopped(b), "rank 1 is stopped")
    good(control(a, [proc("", "wildcard")], RESUME))
    wait_for(lambda: running(b), "rank 1 runs")
    child = a.call("spawn", ncmds="1", preputcount="0", subcmd=ranks.lender[0],
                   maxprocs="1", argc=str(len(ranks.lender) - 1),
                   **{f"argv{i}": x for i, x in enumerate(ranks.lender[1:])})
    same(child["rc"], 0, f"spawn {child}")
    c = ranks.accept()
    need(c.nspace != a.nspace, "another job", c.nspace)
    good(control(c, [proc(a.nspace, 1)], PAUSE))      # connected
    wait_for(lambda: stopped(b), "rank 1 is stopped")
    good(control(c, [proc(a.nspace, 1)], RESUME))
    r = c.call("job-disconnect", jobid=a.nspace)
    same(r["rc"], 0, f"disconnect {r}")
    for peer, other in (c, a.nspace), (a, c.nspace):
        r = control(peer, [proc(other, 0)], KILL)
        need(r["status"] == NO_PERMISSIONS and other in r["errmsg"], "no right", r)
    same(control(Tool(ranks.job), [proc(c.nspace, 0)], a_signal(signal.SIGCONT))["status"], 0,
         "a tool may")
    c.call("finalize")
    c.end()
    same(ranks.finish().status, 0, "exit status")


@test("orders that cannot be are refused, before any is carried out")
def refused():
    ranks = Ranks("-n", 2)
    tool, name = Tool(ranks.job), ranks[0].nspace
    all_ = proc(name, "wildcard")
    cases = [
        ([all_], [], BAD_PARAM, "no directive"),
        ([all_], [flag(KILL, False)], BAD_PARAM, "no directive"),
        ([all_], [PAUSE, info("pmix.jctrl.ckpt", "STRING", "x")], NOT_SUPPORTED, "ckpt"),
        ([all_], [PAUSE, info("x.y", "INT", 1, ["required"])], NOT_SUPPORTED, "x.y"),
        ([all_], [PAUSE, info("pmix.reg.cleanup", "STRING", "/x")], NOT_SUPPORTED, "cleanup"),
        ([all_], [PAUSE, a_signal(0)], BAD_PARAM, "0 is not within"),
        ([all_], [PAUSE, a_signal(65)], BAD_PARAM, "65 is not within"),
        ([all_], [PAUSE, info("pmix.jctrl.sig", "STRING", "TERM")], BAD_PARAM, "no integer"),
        ([all_], [PAUSE, info("pmix.jctrl.kill", "INT", 1)], MISMATCH, "pmix.jctrl.kill"),
        ([all_], [info("pmix.jctrl.cancel", "STRING", "a")], NOT_FOUND, "cancel"),
        ([all_], [PAUSE] * 17, BAD_PARAM, "more than 16"),
        ([proc("nobody", 0)], [PAUSE], NOT_FOUND, "targets[0]"),
        ([all_, proc(name, 2)], [PAUSE], NOT_FOUND, "targets[1]"),
        ([proc(name, "undef")], [PAUSE], NOT_SUPPORTED, "rank"),
        ([], [PAUSE], BAD_PARAM, "no job of its own"),
    ]
    for targets, directives, status, text in cases:
        r = control(tool, targets, *directives)
        need(r["status"] == status and r["rc"] and text in r["errmsg"], text, r)
    for bad in "[", "{}", '[{"key":1}]':
        same(tool.call("pmix-job-control", targets=[all_], directives=bad)["status"], BAD_PARAM,
             bad)
    need(running(*ranks), "nothing was done")
    good(control(tool, [all_], info("pmix.jctrl.id", "STRING", "my order"), RESUME,
                 info("x.y", "INT", 1)))
    same(ranks.finish().status, 0, "exit status")


# --- monitors ---------------------------------------------------------------------


def heartbeat(peer, *directives, seconds=1, error=HEARTBEAT_ALERT):
    return peer.call("pmix-monitor", monitor=flag("pmix.monitor.mbeat"), error=str(error),
                     directives=[info("pmix.monitor.btime", "UINT32", seconds), *directives])


def watch_file(peer, path, *directives, seconds=1, error=FILE_ALERT):
    return peer.call("pmix-monitor", monitor=info("pmix.monitor.fmon", "STRING", path),
                     error=str(error),
                     directives=[info("pmix.monitor.ftime", "UINT32", seconds), *directives])


def alert(peer):
    e = peer.event("pmix-event")
    keys = dict(plain(i) for i in e["infos"])
    same(keys["pmix.evproc"], e["source"], "the process")
    return e["status"], e["source"]["rank"], keys["pmix.monitor.id"]


@rows([(f"a rank without heartbeats is told of, once, and again after one, {w}", o)
       for w, o in WHERE])
def heartbeats(options):
    ranks = Ranks(*options, "-n", 3)
    tool, r = Tool(ranks.job), ranks[2]
    for peer in tool, ranks[0]:
        good(peer.call("pmix-event-register", codes=[HEARTBEAT_ALERT, OWN_ALERT]))
    good(heartbeat(r, info("pmix.monitor.id", "STRING", "m1")))
    same(heartbeat(r, info("pmix.monitor.id", "STRING", "m1"))["status"], EXISTS, "twice")
    for peer in tool, ranks[0]:
        same(alert(peer), (HEARTBEAT_ALERT, 2, "m1"), "the first silence")
    good(r.call("pmix-heartbeat"))
    same(alert(tool), (HEARTBEAT_ALERT, 2, "m1"), "the second silence")
    good(r.call("pmix-monitor", monitor=info("pmix.monitor.cancel", "STRING", "m1")))
    same(r.call("pmix-monitor", monitor=info("pmix.monitor.cancel", "STRING", "m1"))["status"],
         NOT_FOUND, "cancelled twice")
    good(r.call("pmix-heartbeat"))
    good(heartbeat(r, info("pmix.monitor.bdrop", "UINT32", 1), error=OWN_ALERT))
    same(alert(tool), (OWN_ALERT, 2, ""), "of the new one, none of the old")
    good(r.call("pmix-monitor", monitor=info("pmix.monitor.cancel", "STRING", None)))
    same(ranks.finish().status, 0, "exit status")


@test("who sends heartbeats is not told of")
def alive():
    ranks = Ranks("-n", 1)
    tool, r = Tool(ranks.job), ranks[0]
    good(tool.call("pmix-event-register", codes=[HEARTBEAT_ALERT, OWN_ALERT]))
    good(heartbeat(r, info("pmix.monitor.bdrop", "UINT32", 60)))
    good(heartbeat(r, error=OWN_ALERT))       # the clock: what is silent is told of
    good(r.call("pmix-monitor", monitor=flag("pmix.monitor.beat")))
    same(alert(tool)[0], OWN_ALERT, "only that")
    need(tool.silent(), "60 silences are allowed", tool.unasked)
    ranks.finish()


@rows([(f"a file that does not change is told of, one that does is not, {w}", o)
       for w, o in WHERE])
def files(options):
    ranks = Ranks(*options, "-n", 3)
    tool, r = Tool(ranks.job), ranks[2]
    good(tool.call("pmix-event-register", codes=[FILE_ALERT, OWN_ALERT]))
    path, still = tmp() + "/grows;", tmp() + "/still"
    for p in path, still:
        with open(p, "w") as f:
            f.write("x")
    size, modified = flag("pmix.monitor.fsize"), info("pmix.monitor.fmod", "STRING", "x")
    good(watch_file(r, path, size, info("pmix.monitor.id", "STRING", "grows"),
                    info("pmix.monitor.fdrop", "UINT32", 1)))
    good(watch_file(r, still, size, modified, info("pmix.monitor.id", "STRING", "still"),
                    error=OWN_ALERT))
    done = time.monotonic() + LIMIT
    while not tool.unasked:                   # it grows until the other is told of
        with open(path, "a") as f:
            f.write("x")
        tool.call("pmix-capabilities")
        need(time.monotonic() < done, "no alert")
        time.sleep(0.05)
    same(alert(tool), (OWN_ALERT, 2, "still"), "the one that is still")
    need(tool.silent(), "not the other", tool.unasked)
    same(alert(tool), (FILE_ALERT, 2, "grows"), "the other once it is still")
    same(ranks.finish().status, 0, "exit status")


@test("monitors that cannot be are refused; they end with who has asked for them")
def bad_monitors():
    ranks = Ranks("-n", 2)
    a, b = ranks
    size = flag("pmix.monitor.fsize")
    cases = [
        (dict(monitor=flag("pmix.monitor.mbeat")), BAD_PARAM, "pmix.monitor.btime"),
        (dict(monitor=flag("pmix.monitor.mbeat"),
              directives=[info("pmix.monitor.btime", "UINT32", 0)]), BAD_PARAM, "0 is not"),
        (dict(monitor=flag("x.y")), NOT_SUPPORTED, "x.y"),
        (dict(monitor=flag("pmix.monitor.mbeat"),
              directives=[info("x.y", "INT", 1, ["required"])]), NOT_SUPPORTED, "x.y"),
        (dict(monitor=info("pmix.monitor.fmon", "STRING", "relative"), directives=[size]),
         BAD_PARAM, "from / on"),
        (dict(monitor=info("pmix.monitor.fmon", "INT", 1), directives=[size]), BAD_PARAM,
         "no text"),
        (dict(monitor=info("pmix.monitor.fmon", "STRING", "/x")), BAD_PARAM, "look at"),
        (dict(monitor="[]"), BAD_PARAM, "monitor"),
    ]
    for args, status, text in cases:
        r = a.call("pmix-monitor", **args)
        need(r["status"] == status and text in r["errmsg"], text, r)
    for i in range(16):
        good(heartbeat(b, info("pmix.monitor.id", "STRING", f"m{i}")))
    same(heartbeat(b)["status"], RESOURCE, "the 17th")
    good(heartbeat(a))                        # the clock
    good(a.call("pmix-event-register", codes=[HEARTBEAT_ALERT]))
    b.call("finalize")
    ranks.end(1)
    wait_for(lambda: (stat(b.pid) or "Z")[0] in "ZX", "rank 1 has ended")
    while alert(a) != (HEARTBEAT_ALERT, 0, ""):
        pass                                  # of rank 1, before it ended
    good(a.call("pmix-heartbeat"))
    same(alert(a), (HEARTBEAT_ALERT, 0, ""), "nothing of rank 1 any more")
    ranks.finish()


if __name__ == "__main__":
    main()

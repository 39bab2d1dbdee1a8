#!/usr/bin/env -S python3 -B
"""pmix-event-register, pmix-event-deregister, pmix-notify: events between ranks and tools, and
those that the launcher raises."""

import os
import signal
import time

from lib import *
from pmixlib import *

RM, LOCAL, NAMESPACE, SESSION, GLOBAL, CUSTOM, PROC_LOCAL = range(1, 8)
EVENT, OTHER = -3333, -3334                   # statuses of nobody else
JOB_START, LAUNCH_COMPLETE, JOB_END, TERMINATED = -191, -174, -145, -201
WO_SYNC, NON_ZERO, BY_SIG, BY_CMD = -200, -404, -402, -400
REQUESTED_ABORT, PROC_ABORTED, NODE_DOWN, LOST = -8, -7, -231, -61
JOB_NON_ZERO, JOB_ABORTED, JOB_BY_SIG = -187, -182, -184
MISSED, FAILED_TO_START, FAILED_TO_LAUNCH = -2901, -401, -181
NOT_FOUND, BAD_PARAM, NO_PERMISSIONS, MISMATCH = -46, -27, -23, -18
NOT_SUPPORTED, RESOURCE = -47, -29
# A chain of servers, one rank on each: whatever is said passes through all before it.
CHAIN = ["-launcher", "fork", "-hosts", "a,b,c", "-ppn", "1", "-flat-hosts", "1",
         "-tree-width", "1"]
WHERE = [("one host", []), ("a chain of hosts", CHAIN)]
ENDS = [TERMINATED, WO_SYNC, NON_ZERO, BY_SIG, BY_CMD, PROC_ABORTED, LOST]


def register(peer, *codes, **more):
    infos = more.pop("infos", [])
    need(not more, more)
    return int(good(peer.call("pmix-event-register", codes=list(codes), infos=infos))["id"])


def notify(peer, status=EVENT, scope=SESSION, infos=()):
    return peer.call("pmix-notify", status=str(status), range=str(scope), infos=list(infos))


def told(peer):
    """The next event: status, who, key -> value, ids."""
    m = peer.event("pmix-event")
    return m["status"], (m["source"]["nspace"], m["source"]["rank"]), \
        dict(plain(i) for i in m["infos"]), m["ids"]


def is_flag(key):
    return info(key, "BOOL", True)


def procs(*list_of):
    return info("pmix.evrange", "DATA_ARRAY", {"type": "PMIX_PROC", "array": list(list_of)})


@rows([(f"events go to those in their range that want them, and not to who raised them, {where}",
        options) for where, options in WHERE])
def ranges(options):
    ranks = Ranks(*options, "-n", 3)
    tool, name = Tool(ranks.job), ranks[0].nspace
    for peer in [*ranks, tool]:
        same(register(peer, EVENT), 1, "the first id")
    far = bool(options)
    here = {(name, i) for i in range(3)} | {(tool.nspace, 0)}
    cases = [(SESSION, [], here), (GLOBAL, [], here), (NAMESPACE, [], {(name, 0), (name, 2)}),
             (PROC_LOCAL, [], set()), (RM, [], set()),
             (LOCAL, [], set() if far else here),
             (CUSTOM, [procs(proc(name, 2), proc(tool.nspace, 0))],
              {(name, 2), (tool.nspace, 0)}),
             (CUSTOM, [procs(proc(name, "wildcard"))], {(name, 0), (name, 2)}),
             (CUSTOM, [info("pmix.evrange", "PROC", proc(name, 0))], {(name, 0)})]
    for scope, infos, wanted in cases:
        good(notify(ranks[1], EVENT, scope,
                    [*infos, info("a;key", "STRING", f"{scope};"), is_flag("pmix.evnocache")]))
        for peer in [*ranks, tool]:
            who = (name, peer.rank) if peer is not tool else (tool.nspace, 0)
            if who in wanted and who != (name, 1):
                status, source, keys, ids = told(peer)
                same((status, source, keys["a;key"], ids), (EVENT, (name, 1), f"{scope};", [1]),
                     f"range {scope}")
            else:
                peer.call("pmix-capabilities")
                need(peer.silent(), f"{who} heard of range {scope}", peer.unasked)
    same(ranks.finish().status, 0, "exit status")


@test("the tool's event reaches all ranks, a rank's the tool (LOCAL: on the launcher's node)")
def tool_speaks():
    ranks = Ranks("-launcher", "fork", "-hosts", "a,b", "-ppn", "1", "-n", 2)
    tool, name = Tool(ranks.job), ranks[0].nspace
    for rank in ranks:
        register(rank, EVENT)
    register(tool, EVENT)
    good(notify(tool, EVENT, SESSION))
    for rank in ranks:
        same(told(rank)[1], (tool.nspace, 0), "the source")
    good(notify(ranks[1], EVENT, GLOBAL))
    same(told(tool)[1], (name, 1), "the source")
    same(told(ranks[0])[1], (name, 1), "the source")
    ranks.finish()


@test("handlers: several ids in one event, codes, default, non-default, affected processes")
def filters():
    ranks = Ranks("-n", 2)
    a, b = ranks
    name = a.nspace
    both = register(a, EVENT, OTHER)
    one = register(a, OTHER)
    default = register(a)
    about = register(a, EVENT, infos=[info("pmix.evproc", "PROC", proc(name, 1))])
    same((both, one, default, about), (1, 2, 3, 4), "ids")
    quiet = is_flag("pmix.evnocache")
    cases = [(EVENT, [], [1, 3, 4]), (OTHER, [], [1, 2, 3]), (-9999, [], [3]),
             (EVENT, [is_flag("pmix.evnondef")], [1, 4]), (-9999, [is_flag("pmix.evnondef")], None),
             (EVENT, [info("pmix.evproc", "PROC", proc(name, 0))], [1, 3]),
             (EVENT, [info("pmix.evproc", "PROC", proc(name, "wildcard"))], [1, 3, 4]),
             (EVENT, [info("pmix.evaffected", "DATA_ARRAY",
                           {"type": "PMIX_PROC", "array": [proc(name, 0), proc(name, 1)]})],
              [1, 3, 4])]
    for status, infos, wanted in cases:
        good(notify(b, status, SESSION, [*infos, quiet]))
        if wanted:
            same(told(a)[3], wanted, f"ids of {status} {infos}")
        need(a.silent(), "an event that nobody asked for", a.unasked)
    good(a.call("pmix-event-deregister", id="1"))
    good(notify(b, EVENT, SESSION, [quiet]))
    same(told(a)[3], [3, 4], "ids after one has gone")
    same(a.call("pmix-event-deregister", id="1")["status"], NOT_FOUND, "again")
    ranks.finish()


@test("a registration may name where events are to come from, and end with the first")
def sources():
    ranks = Ranks("-n", 3)
    a, b, c = ranks
    name = a.nspace
    register(a, EVENT, infos=[info("pmix.range", "DATA_RANGE", CUSTOM), procs(proc(name, 2))])
    register(a, EVENT, infos=[info("pmix.range", "DATA_RANGE", NAMESPACE)])
    once = register(a, EVENT, infos=[is_flag("pmix.evone")])
    quiet = [is_flag("pmix.evnocache")]
    good(notify(b, infos=quiet))
    same(told(a)[3], [2, once], "ids of rank 1's")
    good(notify(c, infos=quiet))
    same(told(a)[3], [1, 2], "ids of rank 2's")
    tool = Tool(ranks.job)
    good(notify(tool, infos=quiet))
    need(a.silent(), "a tool is of neither", a.unasked)
    same(a.call("pmix-event-deregister", id=str(once))["status"], NOT_FOUND, "once is over")
    ranks.finish()


@test("an event is kept for those who register later, unless it says otherwise")
def kept():
    ranks = Ranks("-n", 2)
    a, b = ranks
    tool = Tool(ranks.job)
    for i in range(3):
        good(notify(a, EVENT, SESSION, [info("n", "INT", i)]))
    good(notify(a, EVENT, SESSION, [info("n", "INT", 9), is_flag("pmix.evnocache")]))
    good(notify(a, EVENT, CUSTOM, [info("n", "INT", 3), procs(proc(tool.nspace, 0))]))
    good(notify(a, OTHER, SESSION, [info("n", "INT", 7)]))
    for peer, wanted in (tool, [0, 1, 2, 3]), (b, [0, 1, 2]), (a, []):
        number = peer.send("pmix-event-register", codes=[EVENT])
        reply = good(peer.reply(number))
        need(not peer.unasked, "what was kept comes behind the reply", peer.unasked)
        for n in wanted:
            status, source, keys, ids = told(peer)
            same((status, keys["n"], ids), (EVENT, n, [int(reply["id"])]), "kept")
        need(peer.silent(), "no more", peer.unasked)
    once = good(b.call("pmix-event-register", codes=[EVENT], infos=[is_flag("pmix.evone")]))["id"]
    same(told(b)[3], [int(once)], "one of them")
    need(b.silent(), "no more", b.unasked)
    ranks.finish()


@test("512 events are kept: of more, the last")
def kept_last():
    ranks = Ranks("-n", 1)
    tool = Tool(ranks.job)
    numbers = [ranks[0].send("pmix-notify", status=str(EVENT),
                             infos=[info("n", "INT", i)]) for i in range(600)]
    for n in numbers:
        good(ranks[0].reply(n))
    register(tool, EVENT)
    same([told(tool)[2]["n"] for _ in range(512)], list(range(88, 600)), "what was kept")
    need(tool.silent(), "no more", tool.unasked)
    ranks.finish()


@test("what cannot be is refused, with the place and the cause; the connection lives")
def refused():
    ranks = Ranks("-n", 1)
    r = ranks[0]
    cases = [
        ("pmix-event-register", dict(codes="[1,"), BAD_PARAM, "codes"),
        ("pmix-event-register", dict(codes=["x"]), BAD_PARAM, "codes"),
        ("pmix-event-register", dict(codes=[1 << 31]), BAD_PARAM, "codes[0]"),
        ("pmix-event-register", dict(codes=[1] * 1025), BAD_PARAM, "1025 codes"),
        ("pmix-event-register", dict(infos=[info("x.y", "BOOL", True, ["required"])]),
         NOT_SUPPORTED, "x.y"),
        ("pmix-event-register", dict(infos=[info("pmix.evproc", "STRING", "a")]), MISMATCH,
         "pmix.evproc"),
        ("pmix-event-register", dict(infos=[info("pmix.range", "INT", 3)]), MISMATCH,
         "pmix.range"),
        ("pmix-event-register", dict(infos=[info("pmix.range", "DATA_RANGE", 6)]), BAD_PARAM,
         "custom"),
        ("pmix-event-deregister", dict(id="77"), NOT_FOUND, "77"),
        ("pmix-notify", dict(status="-1", range="9"), BAD_PARAM, "range 9"),
        ("pmix-notify", dict(status="-1", range=str(CUSTOM)), BAD_PARAM, "custom"),
        ("pmix-notify", dict(status="-1", source=proc(r.nspace, 5)), NO_PERMISSIONS, "source"),
        ("pmix-notify", dict(status="-1", infos=[info("a", "STRING", "x" * 99000)]), BAD_PARAM,
         "at most 98304"),
        ("pmix-notify", dict(status="-1", infos="{}"), BAD_PARAM, "infos"),
    ]
    for cmd, args, status, text in cases:
        m = r.call_long(cmd, **args)
        need(m["status"] == status and m["rc"] and text in m["errmsg"], f"{cmd} {show(args)}", m)
    for cmd, args in ("pmix-notify", {}), ("pmix-notify", {"status": "x"}), \
            ("pmix-event-deregister", {"id": "0"}):
        need(r.call(cmd, **args)["rc"] != 0, f"{cmd} {args}")
    good(r.call("pmix-event-register", infos=[info("x.y", "BOOL", True)]))
    for _ in range(255):
        register(r, EVENT)
    same(r.call("pmix-event-register", codes=[EVENT])["status"], RESOURCE, "the 257th")
    good(r.call("pmix-notify", status="-1", source=proc(r.nspace, 0)))
    ranks.finish()


# --- the launcher's own --------------------------------------------------------


def watch(ranks, *codes):
    tool = Tool(ranks.job)
    register(tool, *(codes or [JOB_START, LAUNCH_COMPLETE, JOB_END, REQUESTED_ABORT, NODE_DOWN,
                               JOB_NON_ZERO, JOB_ABORTED, JOB_BY_SIG, *ENDS]))
    return tool


@rows([(f"a tool hears the story of a job, in order, though it came late, {where}", options)
       for where, options in WHERE])
def story(options):
    ranks = Ranks(*options, "-n", 3)
    tool, name = watch(ranks), ranks[0].nspace
    for status in JOB_START, LAUNCH_COMPLETE:
        s, source, keys, _ = told(tool)
        same((s, source, keys["pmix.nspace"]), (status, (name, "wildcard"), name), "beginning")
    for i, word in (2, "end"), (0, "end"), (1, "end"):
        ranks[i].call("finalize")
        ranks.end(i)
        s, source, keys, _ = told(tool)
        same((s, source, keys["pmix.evproc"], keys["pmix.exit.code"], keys["pmix.proc.state"]),
             (TERMINATED, (name, i), proc(name, i), 0, 20), "the end of a process")
        need(abs(keys["pmix.evtstamp"] - time.time()) < 3600, "its time", keys)
        need(keys["pmix.hname"] in (HOST, "a", "b", "c"), "its node", keys)
    s, source, keys, _ = told(tool)
    same((s, source, keys["pmix.job.term.status"], keys["pmix.exit.code"]),
         (JOB_END, (name, "wildcard"), 0, 0), "the end of the job")
    ranks.finish()


def failing(name, wanted, job, code, fail):
    @rows([(f"{name}, {where}", more) for where, more in WHERE])
    def run(more):
        ranks = Ranks(*more, "-n", 3)
        tool, nspace = watch(ranks, JOB_END, JOB_NON_ZERO, JOB_ABORTED, JOB_BY_SIG,
                             REQUESTED_ABORT, *ENDS), ranks[0].nspace
        fail(ranks)
        seen = []
        while not seen or seen[-1][0] != JOB_END:
            seen.append(told(tool)[:3])
        first = seen[0]
        same((first[0], first[1]), (wanted, (nspace, 2)), "the first that is told")
        others = [x for x in seen if x[0] in ENDS]
        same(sorted(x[1][1] for x in others), [0, 1, 2], "the end of each, once")
        need(all(x[0] in (BY_CMD, wanted, PROC_ABORTED) for x in others), "how they ended", others)
        same((seen[-2][0], seen[-2][1]), (job, (nspace, "wildcard")), "what the job failed with")
        for s, source, keys in seen[-2:]:
            same((keys["pmix.job.term.status"], keys["pmix.exit.code"], keys["pmix.evproc"]),
                 (job, code, proc(nspace, 2)), "the end of the job")
        same(ranks.job.finish().status, code, "exit status")


failing("a rank exits with 3 inside PMI", NON_ZERO, JOB_NON_ZERO, 3, lambda r: r.end(2, 3))
failing("a rank is killed", BY_SIG, JOB_BY_SIG, 128 + 9, lambda r: r.end(2, signo=9))
failing("a rank aborts", REQUESTED_ABORT, JOB_ABORTED, 5,
        lambda r: r[2].send_raw("cmd=abort;isworld=TRUE;msg=\xe9 that is it;exitcode=5;"))


@test("a rank that leaves without finalize: told as such")
def without_finalize():
    ranks = Ranks("-n", 2)
    tool = watch(ranks, *ENDS)
    ranks.end(1, 0)
    same(told(tool)[0], WO_SYNC, "exit 0 inside PMI")
    ranks.job.finish()


@test("other ranks hear how one ended; what is no failure is not for default handlers")
def ranks_hear():
    ranks = Ranks("-disable-auto-cleanup", "-n", 3)
    a, name = ranks[0], ranks[0].nspace
    register(a)                                   # default
    register(a, TERMINATED)
    need(a.silent(), "JOB_START and LAUNCH_COMPLETE are not for it", a.unasked)
    ranks[1].call("finalize")
    ranks.end(1)
    status, source, _, ids = told(a)
    same((status, source, ids), (TERMINATED, (name, 1), [2]), "a good end")
    ranks.end(2, signo=9)
    status, source, _, ids = told(a)
    same((status, source, ids), (BY_SIG, (name, 2), [1]), "a bad end")
    ranks.finish()


def spawn(rank, *words):
    return rank.call("spawn", ncmds="1", preputcount="0", subcmd=words[0], maxprocs="1",
                     argc=str(len(words) - 1),
                     **{f"argv{i}": w for i, w in enumerate(words[1:])})


@rows([(f"a job that a rank starts: its parent and tools hear of it, {w}", o) for w, o in WHERE])
def started_job(options):
    ranks = Ranks(*options, "-n", 3)
    tool, parent = watch(ranks, JOB_START, LAUNCH_COMPLETE, JOB_END, TERMINATED), ranks[1]
    same([told(tool)[0] for _ in range(2)], [JOB_START, LAUNCH_COMPLETE], "of the first job")
    register(parent, JOB_END)
    same(spawn(parent, *ranks.lender)["rc"], 0, "spawn")
    child = ranks.accept()
    for status in JOB_START, LAUNCH_COMPLETE:
        same(told(tool)[:2], (status, (child.nspace, "wildcard")), "the new job")
    same(child.call("job-disconnect", jobid=parent.nspace)["rc"], 0, "disconnect")
    child.call("finalize")
    child.end()
    same(told(tool)[:2], (TERMINATED, (child.nspace, 0)), "the end of its process")
    for peer in tool, parent:
        same(told(peer)[:2], (JOB_END, (child.nspace, "wildcard")), "its end")
    need(parent.silent(), "no more", parent.unasked)
    ranks.finish()


@rows([(f"a job that cannot be started: told as such, {w}", o) for w, o in WHERE])
def not_started(options):
    ranks = Ranks(*options, "-n", 3)
    with open(tmp() + "/no-program", "w") as f:
        f.write("#!/no/such/interpreter\n")
    os.chmod(f.name, 0o755)
    tool = watch(ranks, FAILED_TO_START, FAILED_TO_LAUNCH, JOB_END)
    reply = spawn(ranks[1], f.name)
    need(reply["rc"] != 0, "the spawn fails", reply)
    for status in FAILED_TO_START, FAILED_TO_LAUNCH, JOB_END:
        s, source, keys, _ = told(tool)
        same(s, status, "in this order")
        need(source[0] != ranks[0].nspace, "the new job's", source)
    same(keys["pmix.job.term.status"], FAILED_TO_LAUNCH, "how it ended")
    ranks.finish()


@test("a node is lost: it, its ranks, the job")
def node_lost():
    ranks = Ranks("-launcher", "fork", "-hosts", "a,b", "-ppn", "1", "-n", 2)
    tool, name = watch(ranks, NODE_DOWN, JOB_END, *ENDS), ranks[0].nspace
    os.kill(stat(ranks[1].pid)[1], signal.SIGKILL)       # its proxy
    seen = []
    while not seen or seen[-1][0] != JOB_END:
        seen.append(told(tool)[:3])
    same([x[0] for x in seen[:2]], [NODE_DOWN, LOST], "in this order")
    need(seen[0][2]["pmix.hname"] == seen[1][2]["pmix.hname"], "the node", seen)
    same(seen[-1][2]["pmix.job.term.status"], -189, "ended by an event of the system")
    ranks.job.finish()


# --- who does not read ---------------------------------------------------------


@test("a tool that never reads while 10,000 events are raised stalls nobody, and hears how many "
      "it has missed")
def slow():
    ranks = Ranks("-n", 2)
    a, b = ranks
    asleep, awake = Tool(ranks.job), Tool(ranks.job)
    for tool in asleep, awake:
        register(tool, EVENT)
    register(b, EVENT)
    total, step = 10000, 100
    for first in range(0, total, step):
        numbers = [a.send("pmix-notify", status=str(EVENT),
                          infos=[info("n", "INT", i), is_flag("pmix.evnocache")])
                   for i in range(first, first + step)]
        for n in numbers:
            good(a.reply(n))
        for peer in awake, b:
            same([told(peer)[2]["n"] for _ in range(step)], list(range(first, first + step)),
                 "who reads gets all")
    seen, missed = [], 0
    while len(seen) + missed < total:
        status, source, keys, ids = told(asleep)
        if status == MISSED:
            need(keys["events.missed"] > 0 and ids == [1], "missed", keys, ids)
            missed += keys["events.missed"]
        else:
            seen.append(keys["n"])
    same(len(seen) + missed, total, "seen and missed")
    need(missed > 0, "it was slow, and missed none?", len(seen))
    same(seen, sorted(set(seen)), "what it has seen")
    good(notify(a, EVENT, SESSION, [info("n", "INT", -1)]))
    same(told(asleep)[2]["n"], -1, "it goes on")
    ranks.finish()


@test("listeners that die at any moment leave nothing behind")
def dying():
    ranks = Ranks("-n", 1)
    for i in range(200):
        tool = Tool(ranks.job)
        register(tool, EVENT)
        register(tool)
        good(notify(ranks[0], EVENT, SESSION, [info("n", "INT", i), is_flag("pmix.evnocache")]))
        if i % 2:
            same(told(tool)[2]["n"], i, "its event")
        tool.close()
    ranks.finish()


if __name__ == "__main__":
    main()

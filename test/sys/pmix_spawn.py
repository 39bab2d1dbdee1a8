#!/usr/bin/env -S python3 -B
"""pmix-spawn, pmix-connect, pmix-disconnect: jobs that ranks and tools start, with the
standard's infos, on one host and over a tree of hosts."""

import os
import signal

from lib import *
from pmixlib import *

BAD_PARAM, NOT_SUPPORTED, MISMATCH, NOT_FOUND, NO_PERMISSIONS = -27, -47, -18, -46, -23
NO_NAMESPACE, VALUE_NOT_SUPPORTED, LOST = -44, -59, -61
JOB_END = -145
NO_EXE, NOT_EXECUTABLE, NO_WDIR, NO_PROGRAM, NOT_MAPPED = -178, -177, -233, -190, -179

PLACES = [("", []), (", a chain of hosts", ["-launcher", "fork", "-hosts", "a,b,c", "-ppn", "1",
                                            "-flat-hosts", "1", "-tree-width", "1"])]


def places(title):
    """Decorator: a point on one host and one over hosts; the function gets the options."""
    return rows([(title + where, options) for where, options in PLACES])


def app(cmd, *argv, n=1, **more):
    return {"cmd": cmd, "argv": [os.path.basename(cmd), *argv], "maxprocs": n, **more}


def sh(script, n=1, **more):
    return app("/bin/sh", "-c", script, n=n, **more)


def spawn(peer, *apps, infos=()):
    return peer.call("pmix-spawn", apps=list(apps), infos=list(infos))


def started(peer, *apps, infos=()):
    return good(spawn(peer, *apps, infos=infos))["nspace"]


def refused(reply, status, *words):
    same(reply["status"], status, f"status of {reply}")
    need(reply["rc"] != 0 and all(w in reply["errmsg"] for w in words), "its words", reply, words)


def text(key, x, flags=None):
    return info(key, "STRING", x, flags)


def envar(key, name, x, separator=None):
    v = {"envar": name, "value": x, **({"separator": separator} if separator else {})}
    return info(key, "ENVAR", v)


def end(ranks):
    """Its lines, sorted."""
    r = ranks.finish()
    same((r.status, r.messages), (0, []), f"end of {r}")
    return sorted(r.out.decode().splitlines())


# --- jobs --------------------------------------------------------------------------------


@places("ranks and tools start jobs of several programs, with arguments and environment")
def jobs(options):
    ranks = Ranks(*options, "-n", 2)
    tool = Tool(ranks.job)
    say = 'echo "$1 $PMI_RANK of $PMI_SIZE in $PWD: $A-$B spawned=$PMI_SPAWNED"'
    for name, peer in ("rank", ranks[1]), ("tool", tool):
        one = sh(say, 1, cwd="/")
        one["argv"] += ["x", name + " a;b"]
        two = sh(say, 2, env=["A=from env"], info=[text("pmix.wdir", "/tmp")])
        two["argv"] += ["x", name + " \u20ac"]
        job = started(peer, one, two, infos=[envar("pmix.envar.set", "B", "b=;b")])
        need(job != ranks.jobid, job)
    same(end(ranks), sorted(
        f"{who} {line}{spawned}" for who, spawned in (("rank", "1"), ("tool", ""))
        for line in ("a;b 0 of 3 in /: -b=;b spawned=",
                     "\u20ac 1 of 3 in /tmp: from env-b=;b spawned=",
                     "\u20ac 2 of 3 in /tmp: from env-b=;b spawned=")), "lines")


@test("5.9: variables are unset, set, added, joined and the program's own, in this order")
def environment():
    ranks = Ranks("-n", 1, env={**os.environ, "GONE": "1", "KEPT": "old", "LIST": "b:c",
                                "ONCE": "x:y:x:z"})
    infos = [envar("pmix.envar.append", "LIST", "ignored"),
             envar("pmix.envar.appnd", "LIST", "d", ":"),
             envar("pmix.envar.prepnd", "LIST", "a", ":"),
             envar("pmix.envar.prepnd", "NEW", "only", ","),
             envar("pmix.envar.first", "ONCE", "x", ":"),
             envar("pmix.envar.add", "KEPT", "not this"),
             envar("pmix.envar.add", "ADDED", "added"),
             envar("pmix.envar.set", "BOTH", "set"), text("pmix.envar.unset", "BOTH"),
             envar("pmix.envar.set", "OWN", "not this"), envar("pmix.envar.set", "PMI_RANK", "9"),
             text("pmix.envar.unset", "GONE"), text("pmix.envar.unset", "NEVER_WAS"),
             text("pmix.prefix", "/pre fix")]
    show_them = ('for v in GONE KEPT LIST NEW ONCE ADDED BOTH OWN PMI_RANK LD_LIBRARY_PATH; do '
                 'eval echo "$v=\\${$v-unset}"; done; echo "${PATH%%:*}"')
    started(ranks[0], sh(show_them, env=["OWN=mine=1"]), infos=infos)
    lines = end(ranks)
    libs = os.environ.get("LD_LIBRARY_PATH")
    same(lines, sorted(["GONE=unset", "KEPT=old", "LIST=a:b:c:d", "NEW=only", "ONCE=x:y:z",
                        "ADDED=added", "BOTH=set", "OWN=mine=1", "PMI_RANK=0", "/pre fix/bin",
                        "LD_LIBRARY_PATH=/pre fix/lib" + (":" + libs if libs else "")]), "lines")


@places("R23-22: a library that is preloaded is in every rank, once, and in no server")
def preloaded(options):
    library = prog("preload_says")
    ranks = Ranks(*options, "-n", 3)
    tool = Tool(ranks.job)
    started(tool, app("/bin/sleep", "600", n=3), infos=[envar("pmix.envar.prepnd", "LD_PRELOAD", library, ":")])
    ranks.job.wait_text("loaded by", 3)
    lines = sorted(ranks.job.text().decode().splitlines())
    pids = [int(x.split()[-1]) for x in lines]
    same(lines, [f"loaded by {i} in {p}" for i, p in enumerate(pids)], "once in each")
    same({p for p in left(ranks.job.mark) if library.encode() in proc_bytes(p, "maps")}, set(pids),
         "processes that have it")
    os.kill(pids[0], signal.SIGTERM)     # the others end with it
    ranks.finish()


@test("PMIX_HOST and PMIX_HOSTFILE say where, new hosts too")
def hosts():
    ranks = Ranks(*PLACES[1][1], "-n", 2)
    tool = Tool(ranks.job)
    path = write_file(tmp() + "/hosts", "b\n")
    lent = {}
    for key, x in ("pmix.host", "c"), ("pmix.hostfile", path), ("pmix.addhost", "d"):
        started(tool, {"cmd": ranks.lender[0], "argv": ranks.lender, "maxprocs": 1},
                infos=[text(key, x)])
        lent[key] = ranks.accept()
    where = [good(tool.call("pmix-get", nspace=r.nspace, rank=0, key="pmix.hname"))["value"]
             for r in lent.values()]
    same([plain(v) for v in where], ["c", "b", "d"], "hosts")
    for r in lent.values():
        r.call("finalize")
        r.end()
    same(end(ranks), [], "lines")


FAILURES = [
    ("a program that is not there", [app("/no/such")], NO_PROGRAM, "such"),
    ("the second of two", [sh("sleep 30"), app("/no/such")], NO_PROGRAM, "such"),
    ("a program that is not in PATH", [app("no-such-program")], NO_PROGRAM, "no-such-program"),
    ("a program that cannot be executed", [app("/etc/passwd", n=2)], NOT_EXECUTABLE, "passwd"),
    ("a folder that is not there", [sh("true", 2, cwd="/no/such")], NO_WDIR, "/no/such"),
    ("a host that is none", [sh("true", info=[text("pmix.host", "no/host")])], NOT_MAPPED, ""),
    ("no program", [{"cmd": None, "maxprocs": 1}], NO_EXE, "apps[0]"),
    ("no processes", [sh("true"), sh("true", 0)], BAD_PARAM, "apps[1]"),
    ("processes below 0", [sh("true", -1)], BAD_PARAM, "apps[0]"),
    ("more processes than can be", [sh("true", 2000000000)], BAD_PARAM, ""),
    ("no apps", [], BAD_PARAM, "apps"),
    ("apps of a wrong type", [1], BAD_PARAM, "apps[0]"),
    ("a wrong argument", [{"cmd": "true", "argv": [1], "maxprocs": 1}], BAD_PARAM, "apps[0].argv"),
    ("a variable without a name", [sh("true", env=["=x"])], BAD_PARAM, "env[0]"),
    ("a variable without a value", [sh("true", env=["A=1", "B"])], BAD_PARAM, "env[1]"),
    ("a name that is none", [sh("true", info=[envar("pmix.envar.set", "A B", "x")])], BAD_PARAM,
     "info[0]"),
    ("a directive of a wrong type", [sh("true", info=[info("pmix.wdir", "INT", 1)])], MISMATCH,
     "info[0]"),
    ("an unknown one that is required", [sh("true", info=[text("no.such", "x", ["required"])])],
     NOT_SUPPORTED, "no.such"),
    ("what the launcher cannot do", [sh("true", info=[text("pmix.mapby", "numa", ["required"])])],
     VALUE_NOT_SUPPORTED, "pmix.mapby"),
    ("a time below 0", [sh("true", info=[info("pmix.job.time", "INT", -1)])], BAD_PARAM, "info[0]"),
]


@places("R10-24: what cannot be started is refused with its reason, by ranks and tools")
def failures(options):
    ranks = Ranks(*options, "-n", 2)
    for peer in ranks[1], Tool(ranks.job):
        for name, apps, status, word in FAILURES:
            r = peer.call("pmix-spawn", apps=apps)
            need("nspace" not in r, name, r)
            refused(r, status, word)
        refused(peer.call("pmix-spawn", apps="[" * 2000), BAD_PARAM, "apps")
        started(peer, sh("echo good", info=[text("no.such", "x"), text("pmix.mapby", "numa"),
                                            text("pmix.bindto", "none", ["required"])]),
                infos=[info("pmix.notecomp", "BOOL", True, ["required"])])
    same(end(ranks), ["good", "good"], "lines")


# --- where they run ----------------------------------------------------------------------

HOSTS = ["-launcher", "fork", "-hosts", "a:4,b:4,c:4", "-flat-hosts", "1", "-tree-width", "1"]
MAPPINGS = [                              # a has one rank already
    ([], 6, "aaabbb"),
    ([text("pmix.mapby", "slot"), text("pmix.rankby", "slot")], 6, "aaabbb"),
    ([text("pmix.mapby", "node")], 5, "abcab"),
    ([text("pmix.mapby", "node"), text("pmix.rankby", "slot")], 5, "aabbc"),
    ([text("pmix.mapby", "ppr:2:node")], 5, "aabbc"),
    ([text("pmix.ppr", "2:node"), text("pmix.rankby", "node")], 5, "abcab"),
    ([text("pmix.mapby", "ppr:1:node")], 2, "ab"),
    ([text("pmix.mapby", "node"), text("pmix.host", "c,a")], 3, "cac"),
]
UNFIT = [
    ([text("pmix.mapby", "ppr:1:node", ["required"])], 4, -179, "do not fit"),
    ([text("pmix.rankby", "node")], 2, BAD_PARAM, "rank"),
    ([text("pmix.mapby", "ppr:0:node", ["required"])], 1, VALUE_NOT_SUPPORTED, "pmix.mapby"),
    ([text("pmix.ppr", "2:core", ["required"])], 1, VALUE_NOT_SUPPORTED, "pmix.ppr"),
    ([text("pmix.rankby", "fill", ["required"])], 1, VALUE_NOT_SUPPORTED, "pmix.rankby"),
]


def hosts_of(peer, nspace):
    """The host of each rank of a job, in order."""
    table = results(good(peer.call("pmix-query", queries=[query(
        "pmix.qry.ptable", qualifiers=[text("pmix.nspace", nspace)])])))[0][2]
    return "".join(p["hostname"] for p in sorted(table, key=lambda p: p["proc"]["rank"]))


@test("pmix.mapby, pmix.ppr, pmix.rankby: by slot, by node, so many on each node")
def mapped():
    ranks = Ranks(*HOSTS, "-n", 1)
    tool = Tool(ranks.job)
    for infos, n, wanted in MAPPINGS:
        job = started(tool, sh("sleep 600", n), infos=infos)
        same(hosts_of(tool, job), wanted, f"hosts of {infos}")
        good(tool.call("pmix-job-control", targets=[proc(job, "wildcard")],
                       directives=[info("pmix.jctrl.kill", "BOOL", True)]))
        wait_for(lambda: job not in str(tool.call("pmix-query", queries=[query("pmix.qry.ns")])),
                 "its end")
    for infos, n, status, word in UNFIT:
        refused(spawn(tool, sh("true", n), infos=infos), status, word)
    mixed = started(tool, sh("sleep 600", 3, info=[text("pmix.mapby", "node")]),
                    sh("sleep 600", 4))
    same(hosts_of(tool, mixed), "abcaabb", "another program fills slots")
    good(tool.call("pmix-job-control", targets=[proc(mixed, "wildcard")],
                   directives=[info("pmix.jctrl.kill", "BOOL", True)]))
    same(ranks.finish().status, 0, "status")


@test("process sets: -pset of programs, and of one that is spawned; their names and members")
def sets():
    path = tmp() + "/sets"
    wait = ["sh", "-c", f"while [ ! -e {path} ]; do sleep 0.05; done"]
    job = Job("-n", 2, "-pset", "ocean", *wait, ":", "-n", 1, *wait, ":", "-n", 1, "-pset", "ice",
              *wait, ":", "-n", 2, "-pset", "ocean", *wait)
    tool = Tool(job)

    def ask(key, *qualifiers):
        return results(tool.call("pmix-query", queries=[query(key, qualifiers=list(qualifiers))]))

    def members(name):
        return [(p["nspace"], p["rank"]) for p in ask("pmix.qry.pmems",
                                                      text("pmix.pset.nm", name))[0][2]]
    name = ask("pmix.qry.ns")[0][2]
    same((ask("pmix.qry.psetnum")[0][2], ask("pmix.qry.psets")[0][2]), (2, "ocean,ice"), "sets")
    same(members("ocean"), [(name, r) for r in (0, 1, 4, 5)], "ocean")
    same(members("ice"), [(name, 3)], "ice")
    child = started(tool, sh(wait[2], 2, info=[text("pmix.pset.nm", "ice")]))
    same(sorted(members("ice")), sorted([(name, 3), (child, 0), (child, 1)]), "of two jobs")
    same(ask("pmix.qry.psetnum")[0][2], 2, "still two")
    same(ask("pmix.qry.pmems", text("pmix.pset.nm", "sand"))[0][2], {"status": -46}, "no such set")
    same(ask("pmix.qry.pmems")[0][2], {"status": BAD_PARAM}, "no set named")
    same(ask("pmix.qry.pgrpnum")[0][2], 0, "groups")
    write_file(path, "")
    same(job.finish().status, 0, "status")


# --- how they end ------------------------------------------------------------------------


@places("a tool's job is connected to no other, and the launcher stays as long as it runs")
def apart(options):
    ranks = Ranks(*options, "-n", 2)
    tool = Tool(ranks.job)
    started(tool, sh("exit 3", 2))
    started(tool, sh("kill -9 $$"))
    started(tool, {"cmd": ranks.lender[0], "argv": ranks.lender, "maxprocs": 1})
    child = ranks.accept()
    pids = [r.pid for r in ranks]
    for r in ranks:
        r.call("finalize")
    ranks.end()
    wait_for(lambda: spawn(tool, sh("true"))["status"] == 0 and not any(map(runs, pids)),
             "the first job's end")
    same(tool.call("pmix-capabilities")["status"], 0, "the launcher lives")
    refused(tool.call("pmix-get", nspace="nowhere", rank=0, key="k"), NO_NAMESPACE)
    child.call("finalize")
    child.end()
    r = ranks.job.finish()
    same(r.status, 0, f"a tool's job does not change the exit status: {r}")


def runs(pid):
    return os.path.exists(f"/proc/{pid}")


@test("PMIX_NOTIFY_COMPLETION: a tool that has registered hears of its job's end")
def completion():
    ranks = Ranks("-n", 1)
    tool = Tool(ranks.job)
    good(tool.call("pmix-event-register", codes=[JOB_END]))
    job = started(tool, sh("true"), infos=[info("pmix.notecomp", "BOOL", True, ["required"])])
    e = tool.event("pmix-event")
    same((e["status"], e["source"]["nspace"]), (JOB_END, job), e)
    same(end(ranks), [], "lines")


@test("a job with its own time ends with it, and nothing else does; one that may not fail ends")
def limits():
    ranks = Ranks("-n", 1)
    tool = Tool(ranks.job)
    started(tool, sh("sleep 60"), infos=[info("pmix.job.time", "INT", 1)])
    started(tool, sh('test "$PMI_RANK" = 0 || sleep 60', 2), sh("exit 3"),
            infos=[info("pmix.abnz", "BOOL", True)])
    wait_for(lambda: len(names(tool)) == 1, "both jobs' end")
    same(tool.call("pmix-capabilities")["status"], 0, "the launcher lives")
    r = ranks.finish()
    same(r.status, 0, f"status of {r}")
    need(any("TIMED OUT" in m for m in r.messages), "it is told", r.messages)


def names(tool):
    r = good(tool.call("pmix-query", queries=[query("pmix.qry.ns")]))
    return dict((k, v) for _, k, v in results(r))["pmix.qry.ns"].split(",")


@places("a rank's job is connected to the rank's: data, fences of both, and a common end")
def connected(options):
    ranks = Ranks(*options, "-n", 2)
    a, job = ranks[0], ranks.jobid
    own = started(a, {"cmd": ranks.lender[0], "argv": ranks.lender, "maxprocs": 2})
    kids = sorted((ranks.accept() for _ in range(2)), key=lambda r: r.rank)
    good(kids[1].call("pmix-put", key="k", value=value("INT", 5)))
    good(kids[1].call("pmix-commit"))
    same(good(a.call("pmix-get", nspace=own, rank=1, key="k"))["value"], value("INT", 5), "data")
    every = [proc(own, "wildcard"), proc(job, "wildcard")]
    members = [a, ranks[1], *kids]
    waits = [r.send("pmix-fence", procs=every[::1 if i % 2 else -1])
             for i, r in enumerate(members)]
    for r, n in zip(members, waits):
        good(r.reply(n))
    some = [proc(job, 0), proc(own, 1)]
    waits = kids[1].send("pmix-fence", procs=some)
    good(a.call("pmix-fence", procs=some))
    good(kids[1].reply(waits))
    good(a.call("pmix-disconnect", procs=[proc(own, "wildcard"), proc(job, 0)]))
    refused(a.call("pmix-get", nspace=own, rank=1, key="k"), NO_PERMISSIONS, own)
    refused(a.call("pmix-fence", procs=some), NO_PERMISSIONS, "procs[1]")
    refused(a.call("pmix-disconnect", procs=[proc(own, 0)]), BAD_PARAM, "procs[0]")
    refused(a.call("pmix-connect", procs=[proc("nowhere", 0)]), NO_NAMESPACE, "nowhere")
    refused(a.call("pmix-connect", procs=[]), BAD_PARAM, "procs")
    refused(Tool(ranks.job).call("pmix-connect", procs=[proc(own, 0)]), NOT_SUPPORTED)
    good(kids[0].call("pmix-connect", procs=every))
    same(good(a.call("pmix-get", nspace=own, rank=1, key="k"))["value"], value("INT", 5), "again")
    waits = a.send("pmix-fence", procs=every)
    for r in kids:
        r.call("finalize")
        r.end()
    refused(a.reply(waits), LOST, own)
    same(end(ranks), [], "lines")


@test("whoever has asked for a job may go before it runs; it runs")
def asker_goes():
    ranks = Ranks("-n", 1)
    tool = Tool(ranks.job)
    tool.send("pmix-spawn", apps=[sh(f"echo > {tmp()}/ran")])
    tool.close()
    wait_for(lambda: os.path.exists(tmp() + "/ran"), "the job")
    same(end(ranks), [], "lines")


main()

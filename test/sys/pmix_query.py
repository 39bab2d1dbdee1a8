#!/usr/bin/env -S python3 -B
"""pmix-query and pmix-resolve-...: what tools and ranks learn about jobs, ranks and nodes; the
titles name the requirements of RFC0010 that a point shows."""

import json
import signal
import socket

from lib import *
from pmixlib import *

NS, RANK, NODE, HOSTNAME = "pmix.nspace", "pmix.rank", "pmix.nodeid", "pmix.hname"
TABLE, LOCAL_TABLE, PROCS = "pmix.qry.ptable", "pmix.qry.lptable", "pmix.lprocs"
NOT_FOUND, NOT_SUPPORTED, BAD_PARAM, MISMATCH, TIMEOUT, NO_JOB = -46, -47, -27, -18, -24, -44
RUNNING, CONNECTED, TERMINATED, BY_ORDER, BY_SIGNAL, NO_SYNC, LOST, ABORTED, NON_ZERO = \
    5, 6, 20, 51, 54, 55, 56, 58, 62

ALONE = []
FLAT = ["-launcher", "fork", "-hosts", "h[0-3]:2", "-tree-width", "0"]
TREE = ["-launcher", "fork", "-hosts", "h[0-3]:2", "-flat-hosts", "1", "-tree-width", "1"]
WHERE = [("one node", ALONE), ("four hosts, flat", FLAT), ("four hosts in a chain", TREE)]


def places(title, where=WHERE):
    """Decorator: a point for each place; the function gets the launcher's options."""
    return rows([(f"{title}: {name}", options) for name, options in where])


def ns(name):
    return info(NS, "STRING", name)


def rank_(n):
    return info(RANK, "PROC_RANK", n)


def node(n):
    return info(NODE, "UINT32", n)


def answers(peer, *keys, quals=()):
    """What these keys are answered with, by key."""
    r = good(peer.call("pmix-query", queries=[query(*keys, qualifiers=list(quals))]))
    return {k: v for _, k, v in results(r)}


def answer(peer, key, *quals):
    return answers(peer, key, quals=quals)[key]


def ended(ranks):
    r = ranks.finish()
    need(r.status == 0, "a good end wanted", r)


def ranks_in(table):
    return [p["proc"]["rank"] for p in table]


def mpi_job(options, n=6):
    """An MPICH program that runs; the file that ends it."""
    stop = tmp() + "/stop"
    job = Job(*options, "-n", n, prog("mpi_ranks"), "wait", stop)
    job.wait_text("waits", n)
    return job, stop


def end(job, stop):
    write_file(stop, "")
    r = job.finish()
    same(r.status, 0, f"exit status {r}")


def rank_of_process(pid):
    for word in proc_bytes(pid, "environ").split(b"\0"):
        if word.startswith(b"PMI_RANK="):
            return int(word[9:])
    return None


# --- the process table ---------------------------------------------------------------


@places("R1, R10-14, R10-19: the process table of an MPICH program is what /proc says")
def table(options):
    job, stop = mpi_job(options)
    tool = Tool(job)
    name = answer(tool, "pmix.qry.ns")
    rows_ = answer(tool, TABLE, ns(name))
    same(ranks_in(rows_), list(range(6)), "ranks")
    for p in rows_:
        same(list(p), ["proc", "hostname", "executable_name", "pid", "exit_code", "state"],
             "fields, in order")
        same(rank_of_process(p["pid"]), p["proc"]["rank"], f"the rank of pid {p['pid']}")
        need(p["pid"] in left(job.mark), "the pid is of this job", p)
        same(p["executable_name"], os.readlink(f"/proc/{p['pid']}/exe"), "program")
        same((p["proc"]["nspace"], p["exit_code"], p["state"]), (name, 0, CONNECTED), "the rest")
        same(p["hostname"], HOST if not options else f"h{p['proc']['rank'] // 2}", "host")
    local = answer(tool, LOCAL_TABLE, ns(name))
    same(local, rows_ if not options else [], "of the launcher's own node")
    end(job, stop)


@places("a tool that comes and goes does not matter to an MPICH program")
def unseen(options):
    job, stop = mpi_job(options)
    for _ in range(5):
        tool = Tool(job)
        same(len(answer(tool, TABLE, ns(answer(tool, "pmix.qry.ns")))), 6, "ranks")
        tool.send("pmix-query", queries=[query("pmix.qry.mem", "lite.proc.stats",
                                               qualifiers=[ns("x")])] * 3)
        tool.close()
    end(job, stop)


@places("R5, R10-19: each rank has the local table of its own node", WHERE[1:])
def local_table(options):
    ranks = Ranks(*options, "-n", 8)
    for r in ranks:
        mine = [r.rank // 2 * 2, r.rank // 2 * 2 + 1]
        same(ranks_in(answer(r, LOCAL_TABLE)), mine, f"local table of rank {r.rank}")
        same(answer(r, "pmix.lpeers"), ",".join(map(str, mine)), "peers")
        same(answer(r, HOSTNAME), f"h{r.rank // 2}", "its host")
        whole = answer(r, TABLE)
        same([p["pid"] for p in whole], [x.pid for x in ranks], "pids of all")
    ended(ranks)


@places("R5: the local table is answered by the node's own server, while the launcher is stopped", WHERE[1:])
def table_here(options):
    ranks = Ranks(*options, "-n", 8)
    name = ranks[0].nspace
    whole = answer(ranks[0], TABLE)
    with Stopped(ranks.job.root()):
        for r in list(ranks)[2:]:                    # of the other nodes
            rows_ = whole[r.rank // 2 * 2:r.rank // 2 * 2 + 2]
            same(answer(r, LOCAL_TABLE), rows_, "the same rows")
            same(answer(r, LOCAL_TABLE, ns(name)), rows_, "of a job by its name")
            two = good(r.call("pmix-query", queries=[
                query(LOCAL_TABLE), query(LOCAL_TABLE, qualifiers=[
                    ns(name), info("pmix.timeout", "INT", 1), info("pmix.qry.rfsh", "BOOL", True)])]))
            same([(q, t) for q, _, t in results(two)], [(0, rows_), (1, rows_)], "of two queries")
        waits = ranks[7].send("pmix-query", queries=[query(TABLE)])
        mixed = ranks[6].send("pmix-query", queries=[query(LOCAL_TABLE, "pmix.qry.ns")])
    same(len(results(good(ranks[7].reply(waits)))[0][2]), 8, "what is about others is asked of the launcher")
    same([k for _, k, _ in results(good(ranks[6].reply(mixed)))], [LOCAL_TABLE, "pmix.qry.ns"],
         "and so is, as a whole, what asks for more besides")
    ended(ranks)


@test("R5: a local table of more than 256 KiB is answered there, too, while the launcher is stopped")
def long_table_here():
    program = "/".join([tmp()] + ["d" * 200] * 15) + "/sleep"
    os.makedirs(os.path.dirname(program))
    write_file(program, open("/bin/sleep", "rb").read(), 0o755)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(tmp() + "/lend")
        listener.listen(1)
        listener.settimeout(LIMIT)
        job = Job("-launcher", "fork", "-hosts", "a:1,b:101", "-n", 1, "sleep", 600, ":", "-n", 1, *LENDER,
                  tmp() + "/lend", ":", "-n", 100, program, 600, env={"HYDRA_LAUNCHER_AUTOFORK": "0"})
        r = Rank(listener.accept()[0])
    r.hello()
    with Stopped(job.root()):
        rows_ = answer(r, LOCAL_TABLE)
    same(ranks_in(rows_), list(range(1, 102)), "ranks")
    need(r.frames > 8 and {p["executable_name"] for p in rows_[1:]} == {os.path.realpath(program)}, "all of it", r.frames)
    job.kill(signal.SIGTERM)
    same(job.finish().status, 143, "status")


@places("R5: ranks that have ended are in the local table as in the launcher's, while that is stopped", WHERE[1:])
def ends_here(options):
    ranks = Ranks(*options, "-disable-auto-cleanup", "-n", 8)
    tool, job = Tool(ranks.job), ns(ranks.jobid)
    ranks[7].call("finalize")
    ranks.end(7, 3)
    good(tool.call("pmix-job-control", targets=[proc(ranks.jobid, 5)],
                   directives=[info("pmix.jctrl.kill", "BOOL", True)]))
    ranks[3].send_raw("cmd=abort;isworld=FALSE;exitcode=5;")
    wanted = {3: ABORTED, 5: BY_ORDER, 7: NON_ZERO}

    def all_told():
        rows_ = answer(tool, TABLE, job)
        return {r: p["state"] for r, p in enumerate(rows_) if p["state"] != CONNECTED} == wanted and rows_
    whole = wait_for(all_told, "the ends are told")
    same([whole[r]["exit_code"] for r in wanted], [5, 137, 3], "exit codes")
    with Stopped(ranks.job.root()):
        for r in 2, 4, 6:
            same(answer(ranks[r], LOCAL_TABLE), whole[r:r + 2], f"beside rank {r}")
    ranks.end(4, signo=9)
    wait_for(lambda: [p["state"] for p in answer(tool, TABLE, job, node(2))] == [BY_SIGNAL, BY_ORDER],
             "by a signal")
    ranks.end()
    ranks.job.finish()


@places("issues 1249, 1250: programs of several blocks and a relative path are absolute, with "
        "the directory they run in")
def programs(options):
    os.symlink(sys.executable, tmp() + "/twin")
    os.mkdir(tmp() + "/sub")
    ranks = None
    path = tmp() + "/lend"
    words = LENDER[1:] + [path]
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(8)
    listener.settimeout(LIMIT)
    job = Job(*options, "-n", 1, "./twin", *words, ":", "-n", 2, "-wdir", "sub", sys.executable,
              *words, cwd=tmp())
    ranks = {}
    while len(ranks) < 3:
        r = Rank(listener.accept()[0])
        r.hello()
        ranks[r.rank] = r
    real = os.path.realpath(sys.executable)
    rows_ = answer(ranks[0], TABLE)
    same([p["executable_name"] for p in rows_], [real] * 3, "programs")
    same([answer(ranks[i], "pmix.appnum") for i in range(3)], [0, 1, 1], "appnum")
    same([answer(ranks[i], "pmix.apprank") for i in range(3)], [0, 0, 1], "rank in the block")
    same([answer(ranks[i], "pmix.app.size") for i in range(3)], [1, 2, 2], "size of the block")
    same(answer(ranks[2], "pmix.aldr"), 1, "first of the block")
    same([answer(ranks[i], "pmix.wdir") for i in (0, 2)], [tmp(), tmp() + "/sub"], "directories")
    need(answer(ranks[1], "pmix.app.argv").startswith(sys.executable), "argv")
    for r in ranks.values():
        r.call("finalize")
        r.end()
    same(job.finish().status, 0, "exit status")


# --- states ----------------------------------------------------------------------------


@places("R10-13: states of ranks before, inside and after PMI, and how they have ended")
def states(options):
    ranks = Ranks(*options, "-disable-auto-cleanup", "-n", 8, hello=False)
    tool = Tool(ranks.job)
    job = ns(answer(tool, "pmix.qry.ns"))

    def seen():
        return [(p["state"], p["exit_code"]) for p in answer(tool, TABLE, job)]
    same(seen(), [(RUNNING, 0)] * 8, "before init")
    pids = [r.pid for r in ranks]
    for i in range(7):
        ranks[i].hello()
    wait_for(lambda: seen() == [(CONNECTED, 0)] * 7 + [(RUNNING, 0)], f"inside PMI: {seen()}")
    ranks[0].call("finalize")
    ranks.end(0)
    ranks[1].call("finalize")
    ranks.end(1, 3)
    ranks.end(2, signo=9)
    ranks.end(3)                         # without finalize
    ranks[4].send_raw("cmd=abort;isworld=FALSE;exitcode=5;")
    wanted = [(TERMINATED, 0), (NON_ZERO, 3), (BY_SIGNAL, 137), (NO_SYNC, 0), (ABORTED, 5),
              (CONNECTED, 0), (CONNECTED, 0), (RUNNING, 0)]
    wait_for(lambda: seen() == wanted, f"ends: {seen()}")
    same([p["pid"] for p in answer(tool, TABLE, job)], pids, "pids, also of those that ended")
    same(answer(tool, "pmix.exit.code", job, rank_(1)), 3, "exit code by its own key")
    same(answer(tool, "pmix.exit.code", job, rank_(5)), {"status": NOT_FOUND}, "of one that runs")
    same(answer(tool, "pmix.proc.state", job, rank_(2)), BY_SIGNAL, "state by its own key")
    same(answer(tool, "pmix.qry.jst", job), 0, "the job goes on")
    ranks.end()
    ranks.job.finish()


@places("R10-13: a rank that was killed by an order is told from one that a signal has ended")
def commanded(options):
    ranks = Ranks(*options, "-disable-auto-cleanup", "-n", 3)
    tool = Tool(ranks.job)
    good(tool.call("pmix-job-control", targets=[proc(ranks.jobid, 1)],
                   directives=[info("pmix.jctrl.kill", "BOOL", True)]))
    ranks.end(2, signo=9)

    def seen():
        return [p["state"] for p in answer(tool, TABLE, ns(ranks.jobid))]
    wait_for(lambda: seen() == [CONNECTED, BY_ORDER, BY_SIGNAL], f"the states: {seen()}")
    ranks.end(0)
    ranks.job.finish()


@places("R10-13: who has called abort, and why the job ends", WHERE[:1] + WHERE[2:])
def aborted(options):
    ranks = Ranks(*options, "-n", 4)
    tool = Tool(ranks.job)
    job = ns(ranks.jobid)
    for i in (1, 2, 3):                  # TERM does not end what is stopped: there is time
        os.kill(ranks[i].pid, signal.SIGSTOP)
        wait_for(lambda i=i: stat(ranks[i].pid)[0] == "T", "the rank is stopped")
    ranks[0].send_raw("cmd=abort;isworld=TRUE;exitcode=5;")

    def seen():
        return answers(tool, "pmix.qry.jst", TABLE, "pmix.qry.nsinfo", quals=[job])
    got = wait_for(lambda: (x := seen())[TABLE][0]["state"] == ABORTED and x["pmix.qry.jst"] and x,
                   "the abort is seen")
    same([p["state"] for p in got[TABLE]], [ABORTED] + [CONNECTED] * 3, "states")
    same(got["pmix.qry.jst"], -182, "the job is aborted")
    same(dict(got["pmix.qry.nsinfo"][0][1])["lite.job.state"], 50, "the job's state")
    ranks.end(0)
    ranks.job.finish()


@places("a host that is lost has lost its ranks, and no query waits for it", WHERE[1:])
def lost(options):
    ranks = Ranks(*options, "-disable-auto-cleanup", "-n", 8)
    tool = Tool(ranks.job)
    job = ns(ranks.jobid)
    proxy = stat(ranks[7].pid)[1]
    os.kill(proxy, signal.SIGSTOP)
    r = good(tool.call("pmix-query", queries=[query(TABLE, qualifiers=[
        job, info("pmix.timeout", "INT", 1)])]))
    same(entries(r)[0]["status"], TIMEOUT, "one that does not answer")
    same([p["pid"] != 0 for p in results(r)[0][2]], [True] * 6 + [False] * 2, "the others do")
    waits = tool.send("pmix-query", queries=[query(TABLE, qualifiers=[
        job, info("pmix.timeout", "INT", 0)])])
    same(len(answer(tool, TABLE, job, node(0))), 2, "meanwhile another host is asked")
    need(waits not in tool.early, "the first one still waits")
    os.kill(proxy, signal.SIGKILL)
    table_ = results(good(tool.reply(waits)))[0][2]
    same(ranks_in(table_), list(range(8)), "the answer")
    wait_for(lambda: [p["state"] for p in answer(tool, TABLE, job)][6:] == [LOST] * 2, "lost")
    for i in range(6):
        ranks.end(i)
    ranks.job.finish()


# --- qualifiers ------------------------------------------------------------------------


@places("R10-10, R10-20: two node ids as qualifiers are one list, in order of node and rank", WHERE[1:])
def merged(options):
    ranks = Ranks(*options, "-n", 8)
    tool = Tool(ranks.job)
    job = ns(ranks.jobid)
    for quals in [(node(3), node(1)), (node(1), node(3), node(1)),
                  (info(HOSTNAME, "STRING", "h3"), node(1))]:
        same(ranks_in(answer(tool, TABLE, job, *quals)), [2, 3, 6, 7], f"{quals}")
    same(answer(tool, "pmix.ppid", job, node(3), node(0)),
         [ranks[i].pid for i in (0, 1, 6, 7)], "pids")
    same(answer(tool, "pmix.lpeers", job, node(3), node(0)), "0,1,6,7", "R10-21: peers")
    same(answer(tool, "pmix.local.size", job, node(2)), 2, "one node")
    same(ranks_in(answer(ranks[5], TABLE, rank_("local_peers"))), [4, 5], "local peers")
    same(ranks_in(answer(tool, TABLE, job, rank_(6), rank_(2), rank_(6))), [2, 6], "ranks")
    same(ranks_in(answer(tool, TABLE, job, rank_("wildcard"))), list(range(8)), "wildcard: all")
    same(ranks_in(answer(ranks[5], TABLE, rank_("local_node"))), [4, 5], "those of its node")
    r = good(tool.call("pmix-query", queries=[query(PROCS, qualifiers=[node(n)])
                                              for n in (3, 1)]))
    same([(q, [p["rank"] for p in v]) for q, _, v in results(r)], [(0, [6, 7]), (1, [2, 3])],
         "to know which are where one asks for each")
    ended(ranks)


@test("R10-20, R10-21: RFC0010's example: processes of all jobs on nodes 5 and 7")
def example():
    ranks = Ranks("-launcher", "fork", "-hosts", "h[0-7]", "-n", 8)
    words = ranks.lender
    text = f"cmd=spawn;ncmds=1;preputcount=0;subcmd={words[0]};maxprocs=8;argc={len(words) - 1};"
    text += "".join(f"argv{i}={w.replace(';', ';;')};" for i, w in enumerate(words[1:]))
    ranks[0].send_raw(text + "infokeycount=0;")
    children = {r.rank: r for r in (ranks.accept() for _ in range(8))}
    child = children[0].nspace
    reply = ranks[0].event("spawn-response")
    same(reply["jobid"], child, f"the spawned job {reply}")
    tool = Tool(ranks.job)
    same(answer(tool, "pmix.qry.ns"), f"{ranks.jobid},{child}", "jobs")
    same(answer(tool, PROCS, node(7), node(5)),
         [proc(j, n) for n in (5, 7) for j in (ranks.jobid, child)], "processes")
    same(answer(tool, PROCS, node(7), node(5), ns(child)), [proc(child, 5), proc(child, 7)],
         "of one job")
    same(tool.call("pmix-resolve-peers", node="h5")["procs"],
         [proc(ranks.jobid, 5), proc(child, 5)], "resolved")
    same(answer(children[3], "pmix.parent"), proc(ranks.jobid, 0), "who started it")
    same(answers(children[3], "pmix.spawned", "pmix.nrank", "pmix.grank", "pmix.lrank"),
         {"pmix.spawned": True, "pmix.nrank": 1, "pmix.grank": 11, "pmix.lrank": 0}, "spawned")
    same(answer(ranks[3], "pmix.parent"), {"status": NOT_FOUND}, "nobody")
    same([p["pid"] for p in answer(tool, TABLE, ns(child))],
         [children[i].pid for i in range(8)], "pids of the spawned job")
    for r in children.values():
        r.call("finalize")
        r.end()
    wait_for(lambda: answer(tool, "pmix.qry.ns") == ranks.jobid, "the spawned job has ended")
    same([p["state"] for p in answer(tool, TABLE, ns(child))], [TERMINATED] * 8, "its record")
    need(all(p["nspace"] == ranks.jobid for p in answer(tool, PROCS, node(5))),
         "it has no processes any more")
    same(answer(tool, TABLE, ns(child + "x")), {"status": NO_JOB}, "of a job that never was")
    ended(ranks)


# Keys that every server of ours has: of the standard, and of its own.
KNOWN = ["pmix.qry.ns", "pmix.job.size", "lite.proc.stats", "pmix.hname", "lite.proc.ops"]
STRANGE = ["lite.nonsense", "pmix.qry.nonsense", "x.y", "", "k" * 511]


@places("R10-15, R10-17: known and unknown keys in one query, in any order: each is answered or not found for itself")
def mixed_keys(options):
    ranks = Ranks(*options, "-n", 2)
    tool = Tool(ranks.job)
    for peer in tool, *ranks:
        alone = {k: answer(peer, k, ns(ranks.jobid), rank_(1)) for k in KNOWN}
        need(not any(isinstance(x, dict) and "status" in x for x in alone.values()), "known ones", alone)
        mixed = [k for pair in zip(STRANGE, KNOWN) for k in pair]
        for keys in mixed, mixed[::-1], KNOWN + STRANGE, STRANGE:
            r = good(peer.call("pmix-query", queries=[
                query("pmix.qry.ns"), query(*keys, qualifiers=[ns(ranks.jobid), rank_(1)]), query("pmix.qry.ns")]))
            got = results(r)
            same([(q, k) for q, k, _ in got], [(0, "pmix.qry.ns"), *((1, k) for k in keys), (2, "pmix.qry.ns")],
                 "an answer to each, in their order")
            for q, k, x in got[1:-1]:
                if k in STRANGE:
                    same(x, {"status": NOT_FOUND}, f"{k[:20]}: not found")
                elif not k.startswith("lite."):       # which are figures of this moment
                    same(x, alone[k], k)
            same((got[0][2], got[-1][2]), (ranks.jobid, ranks.jobid), "the queries around it")
    ended(ranks)


@places("R10-24: unknown keys, unknown and required qualifiers, types, other jobs")
def refused(options):
    ranks = Ranks(*options, "-n", 2)
    for peer in Tool(ranks.job), ranks[1]:
        r = good(peer.call("pmix-query", queries=[query("lite.nonsense", "pmix.qry.ns", "x.y")]))
        same(results(r), [(0, "lite.nonsense", {"status": NOT_FOUND}),
                          (0, "pmix.qry.ns", ranks.jobid), (0, "x.y", {"status": NOT_FOUND})],
             "R10-15: each key for itself")
        odd = info("x.what", "STRING", "?")
        same(answer(peer, "pmix.qry.ns", odd), ranks.jobid, "an optional one is passed over")
        r = peer.call("pmix-query", queries=[query("pmix.qry.ns"), query(
            "pmix.qry.ns", qualifiers=[{**odd, "flags": ["required"]}])])
        same(r["status"], NOT_SUPPORTED, f"a required one refuses the request: {r}")
        need("queries[1]" in r["errmsg"] and "x.what" in r["errmsg"], "which is named", r)
        r = peer.call("pmix-query", queries=[query("pmix.lrank", qualifiers=[
            info(RANK, "INT32", 1)])])
        same(r["status"], MISMATCH, f"R10-11: a rank of another type: {r}")
        r = peer.call("pmix-query", queries="[{")
        same(r["status"], BAD_PARAM, f"no JSON: {r}")
        need(r["rc"] != 0 and r["errmsg"].startswith("queries"), "what is wrong is named", r)
        same(answer(peer, "pmix.job.size", ns("nobody")), {"status": NO_JOB}, "no such job")
    same(answer(Tool(ranks.job), "pmix.job.size"), {"status": BAD_PARAM}, "a tool has to say which")
    ended(ranks)


# --- what is known of a job ---------------------------------------------------------------


@places("R10-27: a host's name, a job's nodes and all nodes are different keys", WHERE[1:])
def hostnames(options):
    ranks = Ranks(*options, "-n", 6)
    tool = Tool(ranks.job)
    job = ns(ranks.jobid)
    same(answer(tool, HOSTNAME, job, rank_(5)), "h2", "of a rank")
    same(answer(tool, HOSTNAME, job, rank_("wildcard")), {"status": NOT_FOUND}, "of all: no list")
    same(answer(tool, HOSTNAME, job), {"status": NOT_FOUND}, "of nobody")
    same(answer(tool, HOSTNAME, node(3)), "h3", "of a node")
    same(answer(tool, "pmix.nlist", job), "h0,h1,h2", "nodes of the job")
    same(answer(tool, "pmix.alist", job), "h0,h1,h2,h3", "all nodes")
    same(good(tool.call("pmix-resolve-nodes", nspace=ranks.jobid))["nodes"], ["h0", "h1", "h2"],
         "resolved")
    same(good(ranks[4].call("pmix-resolve-peers"))["procs"],
         [proc(ranks.jobid, 4), proc(ranks.jobid, 5)], "peers of who asks")
    same(good(tool.call("pmix-resolve-peers", node="h3"))["procs"], [], "a node without ranks")
    same(tool.call("pmix-resolve-peers", node="h9")["status"], NOT_FOUND, "no such node")
    same(tool.call("pmix-resolve-nodes", nspace="x")["status"], NO_JOB, "no such job")
    ended(ranks)


@places("job-level information: sizes, ranks, maps", WHERE[1:])
def job_info(options):
    ranks = Ranks(*options, "-n", 6)
    wanted = {"pmix.job.size": 6, "pmix.univ.size": 8, "pmix.num.nodes": 3, "pmix.job.napps": 1,
              "pmix.nspace": ranks.jobid, "pmix.local.size": 2, "pmix.node.size": 2,
              "pmix.lrank": 1, "pmix.nrank": 1, "pmix.nodeid": 1, "pmix.rank": 3,
              "pmix.pmap.raw": "0,1;2,3;4,5", "pmix.nmap.raw": "h0,h1,h2", "pmix.lldr": 2,
              "pmix.anlmap": "(vector,(0,3,2))", "pmix.euid": os.getuid()}
    same(answers(ranks[3], *wanted), wanted, "what rank 3 is told")
    same(ranks[3].call("info-getjobattr", key="PMI_process_mapping")["value"],
         wanted["pmix.anlmap"], "the map is PMI's")
    ended(ranks)


@test("every key that is said to be answered is, and every qualifier is known")
def supported():
    ranks = Ranks("-timeout", "300", "-pset", "all", "-n", 3, env={**os.environ, "PATH": tmp()})
    tool, members = Tool(ranks.job), info("pmix.pset.nm", "STRING", "all")
    keys = answer(tool, "pmix.qry.keys").split(",")
    need(len(keys) > 50 and len(set(keys)) == len(keys), "keys", keys)
    need("pmix.qry.qlst" not in keys, "no Slurm, no queues")
    for key in keys:
        got = [answer(tool, key, ns(ranks.jobid), members), answer(ranks[1], key, members),
               answer(tool, key, info(NODE, "UINT32", 0), ns(ranks.jobid), members)]
        known = [x for x in got if not (isinstance(x, dict) and "status" in x)]
        absent = ("pmix.parent", "pmix.exit.code", "pmix.alias", "pmix.dbg.tgt", "pmix.cpuset",
                  "pmix.lcpus")          # nobody, not yet, none
        need(known or key in absent, f"{key} is never answered", got)
        need(all(x["status"] == NOT_FOUND for x in got if x not in known), key, got)
    for q in answer(tool, "pmix.qry.quals").split(","):
        r = tool.call("pmix-query", queries=[query("pmix.qry.ns", qualifiers=[
            {**info(q, "COORD", None), "flags": ["required"]}])])
        same(r["status"], MISMATCH, f"{q} is known: {r}")
    need(0 < answer(tool, "pmix.time.remaining", ns(ranks.jobid)) <= 300, "time that is left")
    need({"pmix-query", "pmix-capabilities"} <= set(answer(tool, "pmix.qry.auths")), "auths")
    need("pmix.wdir" in answer(tool, "pmix.qry.spawn").split(","), "what a spawn takes")
    same(answer(tool, "pmix.qry.qlst"), {"status": NOT_SUPPORTED}, "the scheduler's")
    only = info("pmix.qry.quals", "BOOL", True)
    need("pmix.nodeid" in answer(tool, TABLE, only).split(","), "qualifiers of a key")
    functions = answer(tool, "pmix.qry.attrs", info("pmix.srvr.attrs", "STRING", "PMIx_Query_info"))
    same([[name for name, _ in f[1]] for f in functions], [["PMIx_Query_info"]], "functions")
    listed = [a["string"] for a in functions[0][1][0][1]]
    same(listed, answer(tool, "pmix.qry.quals").split(","), "attributes of a query")
    ended(ranks)


ANY = object()                          # whatever it is, it is an answer


def infos_of(key, value):
    """An array of infos has this one in it."""
    return lambda got: (key, value) in got


# Each key of the standard that is for queries, or says something of a job, its nodes and ranks:
# what a tool gets that asks about rank 3 of "-pset all -n 6" on three hosts, or why there is no
# answer.  (Tables 5.1 and 5.4 of the reference; what is not here is answered by the library
# itself, or is no question.)
KEYS = {
    # the server
    "pmix.qry.keys": ANY, "pmix.qry.quals": ANY, "pmix.qry.ns": "JOB", "pmix.qry.nsinfo": ANY,
    "pmix.qry.jst": 0, "pmix.qry.ptable": ANY, "pmix.qry.lptable": [], "pmix.qry.auths": ANY,
    "pmix.qry.spawn": ANY, "pmix.qry.debug": ANY, "pmix.qry.attrs": ANY, "pmix.qry.mem": ANY,
    "pmix.time.remaining": ANY, "pmix.qry.psetnum": 1, "pmix.qry.psets": "all",
    "pmix.qry.pmems": ANY, "pmix.qry.pgrpnum": 0, "pmix.qry.pgrp": [], "pmix.qry.peers": ANY,
    "pmix.qry.node": "h0,h1,h2", "pmix.qry.qlst": NOT_SUPPORTED, "pmix.qry.qst": NOT_SUPPORTED,
    "pmix.query.alloc": NOT_SUPPORTED, "pmix.strg.list": NOT_SUPPORTED,
    "pmix.qry.pgrpmems": NOT_FOUND,
    # the rank
    "pmix.rank": 3, "pmix.procid": "PROC", "pmix.grank": 3, "pmix.apprank": 3, "pmix.appnum": 0,
    "pmix.lrank": 1, "pmix.nrank": 1, "pmix.ppid": ANY, "pmix.proc.state": CONNECTED,
    "pmix.exit.code": NOT_FOUND, "pmix.reinc": 0, "pmix.hname": "h1", "pmix.nodeid": 1,
    "pmix.pdata": infos_of("pmix.lrank", 1),
    # its node
    "pmix.lpeers": "2,3", "pmix.lprocs": ANY, "pmix.lldr": 2, "pmix.local.size": 2,
    "pmix.node.size": 2, "pmix.alias": NOT_FOUND, "pmix.num.slots": 6,
    "pmix.node.arr": infos_of("pmix.hname", "h1"),
    # its program
    "pmix.app.size": 6, "pmix.aldr": 0, "pmix.app.argv": ANY, "pmix.wdir": ANY,
    "pmix.app.arr": infos_of("pmix.app.size", 6),
    # the job
    "pmix.nspace": "JOB", "pmix.jobid": "JOB", "pmix.job.size": 6, "pmix.job.napps": 1,
    "pmix.offset": 0, "pmix.parent": NOT_FOUND, "pmix.spawned": False, "pmix.cmd.line": ANY,
    "pmix.nlist": "h0,h1,h2", "pmix.nmap": "h0,h1,h2", "pmix.nmap.raw": "h0,h1,h2",
    "pmix.pmap": "0,1;2,3;4,5", "pmix.pmap.raw": "0,1;2,3;4,5",
    "pmix.anlmap": "(vector,(0,3,2))", "pmix.num.nodes": 3,
    "pmix.job.arr": infos_of("pmix.job.size", 6),
    # all that the launcher has
    "pmix.alist": "h0,h1,h2", "pmix.univ.size": 6, "pmix.max.size": 6, "pmix.euid": os.getuid(),
    "pmix.egid": os.getgid(), "pmix.ssn.arr": infos_of("pmix.univ.size", 6),
    # Folders of the job: there are none; processors of ranks: nobody is bound (binding.py).
    "pmix.tmpdir": NOT_FOUND, "pmix.nsdir": NOT_FOUND, "pmix.pdir": NOT_FOUND,
    "pmix.tdir.rmclean": NOT_FOUND, "pmix.lcpus": NOT_FOUND, "pmix.cpuset": NOT_FOUND,
}


@test("each key of the standard for queries, jobs, nodes and ranks has its answer, or a reason")
def every_key():
    ranks = Ranks("-launcher", "fork", "-hosts", "h[0-2]:2", "-timeout", "300", "-pset", "all",
                  "-n", 6, env={**os.environ, "PATH": tmp()})
    tool = Tool(ranks.job)
    members = info("pmix.pset.nm", "STRING", "all")
    names = {"JOB": ranks.jobid, "PROC": proc(ranks.jobid, 3)}
    known = set(answer(tool, "pmix.qry.keys").split(","))
    for key, want in KEYS.items():
        own = [info("pmix.dummy", "STRING", "x"), *([members] if key == "pmix.qry.pmems" else [])]
        got = answer(tool, key, ns(ranks.jobid), rank_(3), *own)
        if isinstance(want, int) and want in (NOT_FOUND, NOT_SUPPORTED):
            same(got, {"status": want}, key)
            continue
        need(key in known, f"{key} is listed")
        need(not (isinstance(got, dict) and "status" in got), f"{key} is answered", got)
        if callable(want):
            need(want(got), f"{key} has it", got)
        elif want is not ANY:
            same(got, names.get(want, want) if isinstance(want, str) else want, key)
    extra = {k for k in known if k.startswith("pmix.")} - set(KEYS)
    same(extra, {"pmix.dbg.tgt", "pmix.dbg.notify", "pmix.num.anodes"}, "listed, and not in the table")
    ended(ranks)


# Each qualifier (table 5.2): a query whose answer is another with it than without.
QUALIFIERS = {
    "pmix.qry.local": (TABLE, info("pmix.qry.local", "BOOL", True), 2, 6),
    "pmix.nspace": ("pmix.job.size", None, 6, {"status": BAD_PARAM}),
    "pmix.rank": ("pmix.lrank", info(RANK, "PROC_RANK", 3), 1, {"status": NOT_FOUND}),
    "pmix.nodeid": (TABLE, info(NODE, "UINT32", 2), 2, 6),
    "pmix.hname": (TABLE, info(HOSTNAME, "STRING", "h1"), 2, 6),
    "pmix.appnum": ("pmix.app.size", info("pmix.appnum", "UINT32", 0), 6, {"status": NOT_FOUND}),
    "pmix.node.info": ("pmix.num.slots", info("pmix.node.info", "BOOL", True), 2, 6),
    "pmix.job.info": ("pmix.num.slots", info("pmix.job.info", "BOOL", True), 6, None),
    "pmix.app.info": ("pmix.app.size", info("pmix.app.info", "BOOL", True), 6,
                      {"status": NOT_FOUND}),
    "pmix.ssn.info": ("pmix.num.nodes", info("pmix.ssn.info", "BOOL", True), 3, None),
    "pmix.qry.rfsh": ("pmix.job.size", info("pmix.qry.rfsh", "BOOL", True), 6, 6),
    "pmix.timeout": ("pmix.job.size", info("pmix.timeout", "INT", 0), 6, 6),
}


@test("each qualifier of the standard selects what it says")
def every_qualifier():
    ranks = Ranks("-launcher", "fork", "-hosts", "h[0-2]:2", "-n", 6)
    tool = Tool(ranks.job)
    for name, (key, qual, want, without) in QUALIFIERS.items():
        job = [] if name == "pmix.nspace" else [ns(ranks.jobid)]
        quals = [ns(ranks.jobid)] if qual is None else [*job, qual]
        # The launcher has no ranks here.
        peer = ranks[5] if name in ("pmix.qry.local", "pmix.node.info") else tool

        def said(*quals, peer=peer, key=key):
            got = answer(peer, key, *quals)
            return len(got) if isinstance(got, list) else got
        same(said(*quals), want, f"{key} with {name}")
        if without is not None:
            same(said(*job), without, f"{key} without {name}")
    same(answer(tool, "pmix.lrank", info("pmix.procid", "PROC", proc(ranks.jobid, 3))), 1, "procid")
    lists = [answer(tool, "pmix.qry.attrs", info(f"pmix.{who}.attrs", "STRING", "PMIx_Get"))
             for who in ("client", "srvr", "host", "tool")]
    same([[n for n, _ in f[0][1]] for f in lists], [["PMIx_Get"]] * 4, "functions of each")
    means = [{k for node_ in answer(tool, "pmix.qry.mem", ns(ranks.jobid), *q) for k, _ in node_[1]}
             for q in ([], [info("pmix.qry.avg", "BOOL", True)], [info("pmix.qry.minmax", "BOOL", True)])]
    need("pmix.cl.mem.avg" in means[1] and {"lite.mem.min", "lite.mem.max"} <= means[2] - means[0],
         "averages and extremes", means)
    ended(ranks)


def attributes(tool, function):
    """The keys that the server lists for a function, with their types."""
    found = answer(tool, "pmix.qry.attrs", info("pmix.srvr.attrs", "STRING", function))
    same([[name for name, _ in f[1]] for f in found], [[function]], "functions")
    return {a["string"]: a["type"] for a in found[0][1][0][1]}


OUT = 2
LISTED = {                              # the command and what it needs besides the infos
    "PMIx_Log": ("pmix-log", "directives", lambda job: {"data": [info("pmix.log.stderr", "STRING", "x")]}),
    "PMIx_Register_event_handler": ("pmix-event-register", "infos", lambda job: {}),
    "PMIx_Notify_event": ("pmix-notify", "infos", lambda job: {"status": -3001}),
    "PMIx_Job_control": ("pmix-job-control", "directives", lambda job: {"targets": [proc(job, 0)]}),
    "PMIx_Process_monitor": ("pmix-monitor", "directives",
                             lambda job: {"monitor": info("pmix.monitor.cancel", "STRING", "")}),
    "PMIx_IOF_pull": ("pmix-iof-pull", "directives",
                      lambda job: {"procs": [proc(job, 0)], "channel": OUT}),
}
SUBJECT = {"pmix-log": ("data", lambda x: [x]), "pmix-monitor": ("monitor", lambda x: x)}


@rows([(f"R10-24, R23-04: {name} honours what it lists, and refuses else what is required", name)
       for name in LISTED])
def listed(name):
    command, field, more = LISTED[name]
    ranks = Ranks("-n", 1)
    tool = Tool(ranks.job)
    keys = attributes(tool, name)
    need(keys, "it lists something")

    def status(key):
        asked = {**info(key, "COORD", None), "flags": ["required"]}
        args = {**more(ranks.jobid), field: [asked]}
        said = tool.call(command, **args)["status"]
        if said == NOT_SUPPORTED and command in SUBJECT:     # it may be what is logged, or watched
            field_, shape = SUBJECT[command]
            said = tool.call(command, **{field_: shape(asked)})["status"]
        return said
    for key in keys:
        need(status(key) != NOT_SUPPORTED, f"{key} is listed and not supported")
    for key in ("pmix.log.nothing", "pmix.monitor.nothing", "pmix.wdir", "x.y"):
        same(status(key), NOT_SUPPORTED, f"{key}, which is not listed and required")
    ended(ranks)


# Keys of the standard that nothing here acts upon: of labels, names of hosts, sets of processors.
NOT_DONE = ["pmix.iof.xml", "pmix.iof.tagdet", "pmix.iof.mrg", "pmix.iof.raw", "pmix.iof.file", "pmix.iof.bsize",
            "pmix.tagout", "pmix.tsout", "pmix.log.xml", "pmix.fqdn", "pmix.lcpus", "pmix.version"]


@rows([(f"R10-24: {name} refuses what nobody does if it is required, and passes over it if not", name) for name in LISTED])
def not_done(name):
    command, field, more = LISTED[name]
    ranks = Ranks("-n", 1)
    tool = Tool(ranks.job)
    bare = tool.call(command, **more(ranks.jobid))["status"]
    for key in NOT_DONE:
        asked = info(key, "BOOL", True)
        said = tool.call(command, **more(ranks.jobid), **{field: [{**asked, "flags": ["required"]}]})
        need(said["status"] == NOT_SUPPORTED and key in said["errmsg"], f"{key} is required", said)
        same(tool.call(command, **more(ranks.jobid), **{field: [asked]})["status"], bare, f"{key}, optional")
    ended(ranks)


@test("the lists are of what works: channels, orders, monitors and handlers")
def listed_types():
    ranks = Ranks("-n", 1)
    tool = Tool(ranks.job)
    boolean, string, number, uint32 = 1, 3, 6, 14
    some = {"PMIx_Log": {"pmix.log.stderr": string, "pmix.log.once": boolean},
            "PMIx_Register_event_handler": {"pmix.evname": string},
            "PMIx_Notify_event": {"pmix.evnondef": boolean},
            "PMIx_Job_control": {"pmix.jctrl.sig": number, "pmix.jctrl.kill": boolean},
            "PMIx_Process_monitor": {"pmix.monitor.fmon": string, "pmix.monitor.btime": uint32},
            "PMIx_IOF_pull": {"pmix.iof.csize": uint32, "pmix.iof.tag": boolean}}
    for name, keys in some.items():
        there = attributes(tool, name)
        same({k: there.get(k) for k in keys}, keys, name)
        need("pmix.jctrl.ckpt" not in there and "pmix.log.email" not in there, name, there)
        same([k for k in NOT_DONE if k in there], [], f"{name}: what nobody does is not listed")
    ended(ranks)


# --- processes --------------------------------------------------------------------------


@places("memory, processor time and the command that a rank waits in")
def usage(options):
    ranks = Ranks(*options, "-n", 4)
    tool = Tool(ranks.job)
    job = ns(ranks.jobid)
    ranks[2].send("kvs-fence")

    def ops():
        rows_ = [dict(x) for _, x in answer(tool, "lite.proc.ops", job)]
        same([x["pmix.procid"]["rank"] for x in rows_], [0, 1, 2, 3], "ranks")
        return [x.get("lite.op") for x in rows_], rows_[2].get("lite.op.time")
    wait_for(lambda: ops()[0] == [None, None, "kvs-fence", None], "rank 2 waits in a fence")
    first = ops()[1]
    wait_for(lambda: ops()[1] > first, "and for longer")
    stats = answer(tool, "lite.proc.stats", job)
    same([s["pid"] for s in stats], [r.pid for r in ranks], "pids")
    for s in stats:
        pages = int(proc_bytes(s["pid"], "statm").split()[1])
        need(abs(s["rss"] * 2**20 - pages * os.sysconf("SC_PAGESIZE")) < 2**22, "memory", s)
        need(s["state"] in ("R", "S") and s["num_threads"] == 1, "state and threads", s)
    memory = [dict(x) for _, x in answer(tool, "pmix.qry.mem", job,
                                         info("pmix.qry.minmax", "BOOL", True))]
    same([m["pmix.hname"] for m in memory], [HOST] if not options else ["h0", "h1"], "nodes")
    for m in memory:
        need(m["pmix.dmn.mem"] > 0 and
             0 < m["lite.mem.min"] <= m["pmix.cl.mem.avg"] <= m["lite.mem.max"], "memory", m)
    for i in (0, 1, 3):
        ranks[i].send("kvs-fence")
    ended(ranks)


# --- large answers -------------------------------------------------------------------------


@places("a large answer comes in parts, to a rank and to a tool that does not read, and nobody "
        "else waits")
def parts(options):
    ranks = Ranks(*options, "-n", 8)
    tool = Tool(ranks.job)
    many = [query(TABLE, qualifiers=[ns(ranks.jobid)])] * 400
    slow = tool.send("pmix-query", queries=many)
    for _ in range(3):                   # it does not read, ranks go on
        for r in ranks:
            r.send("kvs-fence")
    for peer in ranks[7], tool:
        before = peer.frames
        n = slow if peer is tool else peer.send("pmix-query", queries=many)
        extra = peer.send("pmix-query", queries=[query("pmix.qry.ns")])
        got = good(peer.reply(n))
        need(peer.frames - before > 10, "frames", peer.frames)
        same([q for q, _, _ in results(got)], list(range(400)), "queries")
        for _, _, v in results(got):
            same([p["pid"] for p in v], [r.pid for r in ranks], "each table")
        same(results(peer.reply(extra)), [(0, "pmix.qry.ns", ranks.jobid)], "the next one")
    r = tool.call("pmix-query", queries=[query("pmix.qry.ns")])
    tool.send_raw("cmd=pmix-query;queries=" +
                  json.dumps([query("pmix.qry.ns")]).replace(";", ";;") + ";")
    same(tool.event()["status"], 0, f"without a thrid in one frame {r}")
    ended(ranks)


main()

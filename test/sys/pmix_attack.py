#!/usr/bin/env -S python3 -B
"""Tools and ranks that take too much: requests that wait for ever, pulls without end,
connections without end.  They are refused, what they had comes back, the job goes on."""

import socket

from lib import *
from pmixlib import *

OPEN, PULLS, OUT_OF_RESOURCE = 1024, 64, -29


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def memory(pid):
    with open(f"/proc/{pid}/status") as f:
        return next(int(x.split()[1]) for x in f if x.startswith("VmRSS"))


def wait_in_vain(peer, ranks, **more):
    return peer.send("pmix-get", nspace=ranks.jobid, rank="0", key="later", **more)


def put_later(rank):
    good(rank.call("pmix-put", key="later", value=value("INT", 5)))
    good(rank.call("pmix-commit"))


@test("a tool with more requests open than are served dies: it leaves nothing")
def waiting_tool():
    ranks = Ranks("-n", 2)
    root = ranks.job.root()
    Tool(ranks.job).close()
    before = wait_for(lambda: descriptors(root), "descriptors")
    t = Tool(ranks.job)
    sent = [wait_in_vain(t, ranks) for _ in range(OPEN + 1)]
    same(t.reply(sent[-1])["status"], OUT_OF_RESOURCE, "one too many")
    good(t.call("pmix-capabilities"))
    t.close()
    wait_for(lambda: descriptors(root) <= before, "its descriptor has come back")
    same(ranks.finish().status, 0, "the job")


@test("a rank of another node with as many: refused, the rest is answered, memory stays")
def waiting_rank():
    ranks = Ranks("-hosts", "a,b,c", "-launcher", "fork", "-n", 3, env=lean())
    root, far = ranks.job.root(), ranks[2]
    before = memory(root)
    sent = [wait_in_vain(far, ranks) for _ in range(OPEN)]
    for _ in range(1000):
        n = wait_in_vain(far, ranks, unknown="x" * 60000)
        same(far.reply(n)["status"], OUT_OF_RESOURCE, "one too many")
    need(memory(root) - before < 30000, "kB that are kept", memory(root) - before)
    put_later(ranks[0])
    for n in sent:
        good(far.reply(n))
    same(ranks.finish().status, 0, "the job")


@test("a rank of this node with as many goes on when others are answered")
def waiting_here():
    ranks = Ranks("-n", 2)
    sent = [wait_in_vain(ranks[1], ranks) for _ in range(OPEN + 10)]
    put_later(ranks[0])
    for n in sent:
        good(ranks[1].reply(n))
    same(ranks.finish().status, 0, "the job")


@test("tools that ask on and do not read: queries are refused before they fill the launcher's memory")
def unread_queries():
    ranks = Ranks("-n", 1)
    tools = [Tool(ranks.job) for _ in range(3)]
    long = [query(*["pmix.job.size"] * 20000)]
    empty = [query()] * 60000
    sent = [(t, t.send("pmix-query", queries=long if i < 3 else empty)) for t in tools for i in range(20)]
    statuses = [t.reply(n)["status"] for t, n in sent]
    refused = statuses.count(OUT_OF_RESOURCE)
    need(statuses[:20] == [0] * 20 and 10 < refused == 60 - statuses.count(0), "refused", statuses)
    for t in tools:
        good(t.call("pmix-query", queries=empty))
        t.close()
    same(ranks.finish().status, 0, "the job")


@test("pulls: 64 of a connection, a rank that is named often is one")
def pulls():
    ranks = Ranks("-n", 3)
    t = Tool(ranks.job)
    pull = {"procs": [proc(ranks.jobid, i % 2) for i in range(1000)], "channel": "2"}
    ids = [good(t.call("pmix-iof-pull", **pull))["id"] for _ in range(PULLS)]
    same(t.call("pmix-iof-pull", **pull)["status"], OUT_OF_RESOURCE, "one too many")
    for i in ids[1:]:
        good(t.call("pmix-iof-deregister", id=i))
    good(t.call("pmix-iof-pull", procs=[proc(ranks.jobid, r) for r in (0, "wildcard", 0)],
                channel="2"))
    same(ranks.finish().status, 0, "the job")
    ends = [t.event("pmix-iof-data") for _ in range(5)]
    same(sorted((int(e["id"]) == int(ids[0]), int(e["rank"])) for e in ends),
         [(False, 0), (False, 1), (False, 2), (True, 0), (True, 1)], "each rank ends once")


@test("connections without end leave descriptors for what the job starts, and are served in turn")
def connections():
    most = 240
    ranks = Ranks("-n", 2, prefix=["prlimit", f"--nofile={most}:{most}"])
    root = ranks.job.root()
    Tool(ranks.job).close()
    path, tools = tools_socket(ranks.job.pid), []
    for _ in range(most):
        tools.append(socket.socket(socket.AF_UNIX))
        tools[-1].connect(path)
    wait_for(lambda: descriptors(root) >= most // 3, "as many as are served")
    r = ranks[0].call("spawn", ncmds="1", preputcount="0", subcmd="true", maxprocs="1", argc="0")
    same(r["rc"], 0, r)
    need(descriptors(root) < most // 2, "descriptors", descriptors(root))
    for t in tools[:-1]:
        t.close()
    last = Peer(tools[-1])
    last.open()
    good(last.call("pmix-tool-connect"))
    last.close()
    wait_for(lambda: descriptors(root) < most // 4, "they have come back")
    same(ranks.finish().status, 0, "the job")


main()

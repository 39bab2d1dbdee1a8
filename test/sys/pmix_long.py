#!/usr/bin/env -S python3 -B
"""pmix-part: requests longer than a frame, and who begins one and never ends it, over the wire.
(By the library: pmix_lib.py.  At their limits, without a launcher: unit/test_pmix_part.c.)"""

import base64
import json
import os

from lib import *
from pmixlib import *

GLOBAL = 3
WHOLE, ALL = 25165824, 268435456
BUSY, BAD_PARAM, NOT_FOUND = -28, -27, -46
CHAIN = ["-launcher", "fork", "-hosts", "a,b,c", "-ppn", "1", "-flat-hosts", "1",
         "-tree-width", "1"]
PLACES = [("one host", []), ("a chain of hosts", CHAIN)]


def get(peer, nspace, rank, key, **more):
    """A value, whole; and whether it came in pieces."""
    r = good(peer.call("pmix-get", nspace=nspace, rank=rank, key=key, **more))
    return (r["value"], False) if "value" in r else (json.loads("".join(r["pieces"])), True)


@rows(PLACES)
def to_the_byte(options):
    """a value of just what fits one frame, one byte more, and 5 MB of every byte"""
    ranks = Ranks(*options, "-n", 3)
    name = ranks[2].nspace
    texts = {"short": "x" * 65200, "doubled": ";" * 40000, "signs": "\u20ac" * 400000}
    for key, text in texts.items():
        good(ranks[2].call_long("pmix-put", key=key, value=value("STRING", text), scope=GLOBAL))
    data = bytes(range(256)) * 20000
    good(ranks[2].call_long("pmix-put", key="bytes", value=value("BYTE_OBJECT", data),
                            scope=GLOBAL))
    waits = ranks[0].send("pmix-get", nspace=name, rank=2, key="bytes")
    good(ranks[2].call("pmix-commit"))
    r = good(ranks[0].reply(waits))
    need(json.loads("".join(r["pieces"])) == value("BYTE_OBJECT", data), "who has waited")
    for reader in ranks:
        for key, text in texts.items():
            got, pieces = get(reader, name, 2, key)
            need(got == value("STRING", text), f"{key}: as it was put")
            same(pieces, key != "short", f"{key}: in pieces")
        need(get(reader, name, 2, "bytes")[0] == value("BYTE_OBJECT", data), "bytes")
    same(ranks.finish().status, 0, "status")


@test("a value that is put again while it is read: whole, or a failure, never a mixture")
def put_again():
    ranks = Ranks("-n", 2)
    name = ranks[1].nspace
    old, new = (value("BYTE_OBJECT", bytes([n]) * 8000000) for n in (1, 2))
    for v in old, new:
        if v is new:
            n = ranks[0].send("pmix-get", nspace=name, rank=1, key="k")
            parts = ranks[0].parts(n)
            seen = [good(next(parts))]
        good(ranks[1].call_long("pmix-put", key="k", value=v, scope=GLOBAL))
        good(ranks[1].call("pmix-commit"))
    seen += list(parts)
    need(seen[-1]["status"] == -29 and "put again" in seen[-1]["errmsg"], seen[-1])
    need(get(ranks[0], name, 1, "k")[0] == new, "then the new one")
    same(ranks.finish().status, 0, "status")


@rows(PLACES)
def other_requests(options):
    """log, publish and spawn, longer than a frame"""
    ranks = Ranks(*options, "-n", 2)
    r = ranks[1]
    infos = [info(f"p{i}", "STRING", "y" * 10000) for i in range(20)]
    good(r.call_long("pmix-publish", infos=infos))
    found = good(ranks[0].call("pmix-lookup", keys=["p19"]))["data"]
    same(found[0]["value"], "y" * 10000, "published")
    env = [f"LONG_{i}=" + "z" * 9000 for i in range(30)]
    sh = 'test ${#LONG_0} = 9000 && test ${#LONG_29} = 9000 && echo all of it'
    app = {"cmd": "/bin/sh", "argv": ["sh", "-c", sh], "env": env, "maxprocs": 1}
    good(r.call_long("pmix-spawn", apps=[app]))
    lines = [info("pmix.log.stderr", "STRING", f"line {i} " + "w" * 900) for i in range(100)]
    good(r.call_long("pmix-log", data=lines))
    end = ranks.finish()
    same(end.status, 0, "status")
    need(b"all of it" in end.out, "the environment of a spawned one", end)
    need(b"line 99 " in end.err, "the log", end.err[-200:])


@test("who begins and never ends: what is there for all comes to an end; others go on after")
def never_end():
    ranks = Ranks("-n", 2)
    room = ALL // WHOLE
    idle = [Tool(ranks.job) for _ in range(room + 1)]
    for t in idle[:-1]:
        good(t.call("pmix-part", size=WHOLE))
    last = idle[-1].send("pmix-part", size=WHOLE)
    same(idle[-1].silent() and idle[-1].early.get(last), None, "one more waits")
    v = value("STRING", "v" * 100000)
    mine = ranks[0].send("pmix-part", size=1000)
    need(good(ranks[1].call("pmix-put", key="small", value=value("STRING", "s"), scope=GLOBAL)),
         "what is short is served meanwhile")
    same(ranks[0].silent() and ranks[0].early.get(mine), None, "and so do all behind it")
    idle[-1].close()
    idle[0].close()
    good(ranks[0].reply(mine))
    refused = ranks[0].call("pmix-part", size=5)
    same(refused["status"], BUSY, refused)
    for t in idle[1:-1]:
        t.close()
    good(ranks[1].call_long("pmix-put", key="long", value=v, scope=GLOBAL))
    good(ranks[1].call("pmix-commit"))
    same(get(ranks[0], ranks[0].nspace, 1, "long"), (v, True), "the value")
    same(ranks.finish().status, 0, "status")


@test("200 tools that die within a request leave nothing")
def die():
    ranks = Ranks("-n", 1)
    peer = Tool(ranks.job)
    for i in range(200):
        t = Tool(ranks.job)
        good(t.call("pmix-part", size=WHOLE))
        if i % 2:
            good(t.call("pmix-part", data="x" * 60000))
        t.close()
    for _ in range(ALL // WHOLE):                    # all room is free again
        idle = Tool(ranks.job)
        good(idle.call("pmix-part", size=WHOLE))
    good(peer.call("pmix-capabilities"))
    same(ranks.finish().status, 0, "status")


main()

#!/usr/bin/env -S python3 -B
"""A tool's own job: its output from the first byte on (PMIX_FWD_STDOUT), and its stdin, pushed by
the tool (pmix-iof-push), on one host and at the end of a chain of hosts."""

import base64
import os
import subprocess

from lib import *
from pmixlib import *

OUT, ERR = 2, 4
CHAIN = ["-launcher", "fork", "-hosts", "a,b,c", "-ppn", "1", "-flat-hosts", "1",
         "-tree-width", "1"]
PLACES = [("one host", [], None), ("the last of a chain of hosts", CHAIN, "c"),
          ("three hosts", CHAIN, "a,b,c")]
NOT_SUPPORTED, BAD_PARAM, NOT_FOUND = -47, -27, -46
FORWARD = [info("pmix.fwd.stdout", "BOOL", True), info("pmix.fwd.stderr", "BOOL", True)]


def app(words, procs, host=None):
    infos = [info("pmix.host", "STRING", host)] if host else []
    return {"cmd": words[0], "argv": [os.fspath(w) for w in words], "maxprocs": procs,
            "info": infos}


def spawn(tool, words, procs=1, host=None, infos=()):
    return good(tool.call("pmix-spawn", apps=[app(words, procs, host)],
                          infos=list(infos)))["nspace"]


def push(tool, nspace, data):
    return tool.call("pmix-iof-push", nspace=nspace, data=base64.b64encode(data).decode())


def collect(tool, nspace, ends):
    got = {}
    while ends:
        f = tool.event("pmix-iof-data")
        same((f["id"], f["nspace"], f.get("missed")), ("0", nspace, None), "whose")
        key = int(f["rank"]), int(f["channel"])
        got[key] = got.get(key, b"") + base64.b64decode(f.get("data", ""))
        ends -= f.get("end") == "TRUE"
    return got


def keeper(*options):
    """A job that runs until its standard input ends."""
    return Job(*options, "-n", 1, "cat", stdin=subprocess.PIPE)


def end(job):
    job.popen.stdin.close()
    r = job.finish()
    same(r.status, 0, f"end of {r}")


@rows(PLACES)
def forwarded(options, host):
    """a job that a tool spawns: all of its output, from the first byte on"""
    job = keeper(*options)
    tool = Tool(job)
    n = 3 if host and "," in host else 1
    for _ in range(5):                   # a race would be lost sooner or later
        name = spawn(tool, ["/bin/sh", "-c", "echo out $PMI_RANK; echo err $PMI_RANK >&2"], n, host,
                     FORWARD)
        wanted = {(r, c): f"{word} {r}\n".encode() for r in range(n)
                  for c, word in ((OUT, "out"), (ERR, "err"))}
        same(collect(tool, name, 2 * n), wanted, "output")
    end(job)


@rows(PLACES)
def fed(options, host):
    """its stdin is pushed, to one rank or to all, and each push is answered when it is taken"""
    job = keeper(*options)
    tool = Tool(job)
    n = 3 if host and "," in host else 1
    name = spawn(tool, ["/bin/cat"], n, host,
                 FORWARD[:1] + [info("pmix.stdin", "PROC", proc("", "wildcard" if n > 1 else 0))])
    text = bytes(range(256)) * 128
    for _ in range(40):                  # more than pipes hold
        good(push(tool, name, text))
    good(tool.call("pmix-iof-push", nspace=name, end="TRUE"))
    same(collect(tool, name, n), {(r, OUT): text * 40 for r in range(n)}, "what came back")
    end(job)


@test("pushes that are sent without waiting are written in their order")
def in_order():
    job = keeper()
    tool = Tool(job)
    name = spawn(tool, ["/bin/cat"], 1, None,
                 FORWARD[:1] + [info("pmix.stdin", "PROC", proc("", 0))])
    ids = [tool.send("pmix-iof-push", nspace=name, data=base64.b64encode(b"%d\n" % i).decode())
           for i in range(50)]
    ids.append(tool.send("pmix-iof-push", nspace=name, end="TRUE"))
    for i in ids:
        good(tool.reply(i))
    same(collect(tool, name, 1), {(0, OUT): b"".join(b"%d\n" % i for i in range(50))}, "order")
    end(job)


@test("what cannot be pushed is refused: no reader, no job, no base64, nothing")
def refused():
    job = keeper()
    tool = Tool(job)
    name = spawn(tool, ["/bin/sleep", "30"])
    main = next(x for x in results(good(tool.call("pmix-query",
                queries=[query("pmix.qry.ns")])))[0][2].split(",") if x != name)
    for nspace, args, status in ((name, {"data": "eA=="}, NOT_SUPPORTED),
                                 (main, {"data": "eA=="}, NOT_SUPPORTED),
                                 (name, {"data": "e"}, BAD_PARAM), (name, {}, BAD_PARAM),
                                 (name, {"data": "eA==", "end": "TRUE"}, BAD_PARAM)):
        r = tool.call("pmix-iof-push", nspace=nspace, **args)
        same(r["status"], status, f"{nspace} {args}: {r}")
    need(tool.call("pmix-iof-push", nspace="none", data="eA==")["status"] < 0, "no such job")
    good(tool.call("pmix-job-control", targets=[proc(name, "wildcard")],
                   directives=[info("pmix.jctrl.kill", "BOOL", True)]))
    end(job)


@test("a reader that ends answers pushes that wait for it; a tool that dies stops nobody")
def ends():
    job = keeper()
    tool = Tool(job)
    name = spawn(tool, ["/bin/sh", "-c", "read a; exit 0"], 1, None,
                 [info("pmix.stdin", "PROC", proc("", 0))])
    big = base64.b64encode(b"\n" + b"x" * 300000).decode()
    ids = [tool.send("pmix-iof-push", nspace=name, data=big) for _ in range(3)]
    for i in ids:
        tool.reply(i)
    name = spawn(tool, ["/bin/sleep", "0.2"], 1, None, [info("pmix.stdin", "PROC", proc("", 0))])
    tool.send("pmix-iof-push", nspace=name, data=big)
    tool.close()
    end(job)


@rows(PLACES)
def forgotten(options, host):
    """a job that waits for stdin ends with the tool that has started it, at any moment of it"""
    job = keeper(*options)
    n = 3 if host and "," in host else 1
    stdin = [info("pmix.stdin", "PROC", proc("", "wildcard" if n > 1 else 0))]
    for moment in ("asked", "started", "pushed", "ended"):
        tool = Tool(job)
        if moment == "asked":
            tool.send("pmix-spawn", apps=[app(["/bin/cat"], n, host)], infos=stdin)
            tool.call("pmix-capabilities")
        else:
            name = spawn(tool, ["/bin/cat"], n, host, stdin)
        if moment in ("pushed", "ended"):
            good(push(tool, name, b"x"))
        if moment == "ended":
            good(tool.call("pmix-iof-push", nspace=name, end="TRUE"))
        tool.close()
    end(job)


main()

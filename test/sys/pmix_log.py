#!/usr/bin/env -S python3 -B
"""pmix-log: words of ranks and tools to the launcher's output, the system's log, the record of
a job and a store."""

import json
import os
import re
import socket
import stat as modes
import subprocess

from pmixlib import *
from lib import *

S = "STRING"
NOT_SUPPORTED, BAD_PARAM, TYPE_MISMATCH, PARTIAL, RESOURCE = -47, -27, -18, -52, -29
HOSTS = ["-launcher", "fork", "-hosts", "a,b,c", "-ppn", "1", "-flat-hosts", "1",
         "-tree-width", "1"]


def log(peer, data, directives=()):
    return peer.call("pmix-log", data=data, directives=list(directives))


def said(reply):
    return [(r["key"], r["status"]) for r in reply.get("results", [])]


def outcome(ranks):
    """The end of such a job: its lines on stdout and stderr."""
    r = ranks.finish()
    same(r.status, 0, f"exit status of {r}")
    return r.out.decode(errors="surrogateescape"), r.err.decode(errors="surrogateescape")


@rows([("one host", []), ("the end of a chain of hosts", HOSTS)])
def streams(options):
    """R10-28, R10-30: stderr and stdout"""
    ranks = Ranks(*options, "-n", 3)
    last = ranks[2]
    r = log(last, [info("pmix.log.stderr", S, "to err"), info("pmix.log.stdout", S, "to out\n")])
    same((r["status"], said(r)), (0, [("pmix.log.stderr", 0), ("pmix.log.stdout", 0)]), r)
    tool = Tool(ranks.job)
    r = log(tool, [info("pmix.log.stdout", S, "from a tool")],
            [info("pmix.log.tag", "BOOL", True)])
    same(r["status"], 0, r)
    log(last, [info("pmix.log.stderr", S, "tagged\nlines")], [info("pmix.log.tag", "BOOL", True)])
    log(last, [info("pmix.log.stderr", S, "dated")],
        [info("pmix.log.tsout", "BOOL", True), info("pmix.log.tstmp", "TIME", 86400)])
    name = last.nspace
    out, err = outcome(ranks)
    same(out, f"to out\n[{tool.nspace}:0] from a tool\n", "stdout")
    same(err, f"to err\n[{name}:2] tagged\n[{name}:2] lines\n1970-01-02T00:00:00Z dated\n",
         "stderr")


@test("control characters of a message reach no terminal, and no line can be forged")
def forged():
    ranks = Ranks("-n", 1)
    log(ranks[0], [info("pmix.log.stderr", S, "a\x1b[31m\rmpiexec_lite: b\x07\u20ac")])
    log(ranks[0], [info("pmix.log.msg", "BYTE_OBJECT", b"bytes \xff\x00 end")])
    log(ranks[0], [info("pmix.log.stdout", S, "x\nmpiexec_lite: forged")],
        [info("pmix.log.tag", "BOOL", True),
         info("pmix.log.source", "PROC", proc("root", 0))])
    name = ranks[0].nspace
    out, err = outcome(ranks)
    same(err, "a\\x1B[31m\\x0Dmpiexec_lite: b\\x07\u20ac\nbytes \\xFF\\x00 end\n", "stderr")
    same(out, f"[{name}:0] x\n[{name}:0] mpiexec_lite: forged\n", "stdout: the source is ours")


@test("R10-28, R10-29: channels that are not there answer so, each for itself; with ONCE the "
      "first that can do it wins")
def channels():
    ranks = Ranks("-n", 1)
    mail = info("pmix.log.email", "STRING", "x@y")
    r = log(ranks[0], [mail, info("pmix.log.stdout", S, "one")])
    same((r["rc"], r["status"], said(r)),
         (0, PARTIAL, [("pmix.log.email", NOT_SUPPORTED), ("pmix.log.stdout", 0)]), r)
    r = log(ranks[0], [mail, info("pmix.log.gstore", "BOOL", True)])
    same((r["status"], said(r)), (NOT_SUPPORTED, [("pmix.log.gstore", NOT_SUPPORTED)]), r)
    r = log(ranks[0], [mail])
    same(r["status"], NOT_SUPPORTED, r)
    r = log(ranks[0], [mail, info("pmix.log.stdout", S, "two"), info("pmix.log.stderr", S, "no")],
            [info("pmix.log.once", "BOOL", True)])
    same((r["status"], said(r)), (0, [("pmix.log.email", NOT_SUPPORTED),
                                      ("pmix.log.stdout", 0)]), r)
    same(outcome(ranks), ("one\ntwo\n", ""), "output")


@test("R10-24: an unknown directive is refused if it is required, else ignored; wrong types and "
      "values are named")
def directives():
    ranks = Ranks("-n", 1)
    text = [info("pmix.log.stdout", S, "x")]
    for directive, status in (
            (info("no.such", "BOOL", True, ["required"]), NOT_SUPPORTED),
            (info("no.such", "BOOL", True), 0),
            (info("pmix.log.tag", S, "yes"), TYPE_MISMATCH),
            (info("pmix.log.syspri", "INT", 8), BAD_PARAM),
            (info("pmix.log.syspri", "UINT32", 3), TYPE_MISMATCH),
            (info("pmix.log.tstmp", "INT", 3), TYPE_MISMATCH)):
        r = log(ranks[0], text, [directive])
        same(r["status"], status, r)
        need(not status or directive["key"] in r["errmsg"], r)
    for data in ("[", "{}", '[{"key":"pmix.log.stdout"}]'):
        r = ranks[0].call("pmix-log", data=data)
        need(r["status"] == BAD_PARAM and "data" in r["errmsg"], r)
    same(log(ranks[0], [info("pmix.log.stdout", "INT", 3)])["status"], TYPE_MISMATCH, "a number")
    same(log(ranks[0], [])["status"], BAD_PARAM, "nothing")
    same(outcome(ranks)[0], "x\n", "stdout")


@test("R10-28, R10-29: -log-dir: the record of the job and a store, a line of JSON each, 0600; "
      "through no link, which is answered")
def files():
    folder = tmp() + "/log"
    os.mkdir(folder)
    ranks = Ranks("-log-dir", folder, *HOSTS, "-n", 3)
    name = ranks[1].nspace
    r = log(ranks[1], [info("pmix.log.jrec", "BOOL", True), info("my.key", "UINT64", str(2**64 - 1)),
                       info("pmix.log.key", S, "k;\n")], [info("pmix.log.tstmp", "TIME", 5)])
    same((r["status"], said(r)), (0, [("pmix.log.jrec", 0)]), r)
    tool = Tool(ranks.job)
    log(tool, [info("pmix.log.gstore", "BOOL", True), info("b", S, "c")])
    log(tool, [info("pmix.log.jrec", "BOOL", True), info("d", S, "e")])
    record, of_tool = map(json.loads, open(f"{folder}/{name}.record"))
    same((of_tool["source"]["nspace"].split(".")[0], of_tool["data"]), ("tool", [info("d", S, "e")]),
         "what a tool says for the record")
    same((record["time"], record["source"], [i["key"] for i in record["data"]]),
         (5, proc(name, 1), ["my.key", "pmix.log.key"]), "record")
    same(plain(record["data"][1]), ("pmix.log.key", "k;\n"), "text")
    same(json.loads(open(folder + "/store").read())["data"], [info("b", S, "c")], "store")
    same({modes.S_IMODE(os.stat(f"{folder}/{f}").st_mode) for f in os.listdir(folder)}, {0o600},
         "modes")
    os.unlink(folder + "/store")
    os.symlink("/dev/null", folder + "/store")
    r = log(ranks[0], [info("pmix.log.gstore", "BOOL", True)])
    need(r["status"] == -1, "through a link", r)
    need(f"-log-dir {folder}: cannot write store: " in outcome(ranks)[1], "what the user reads")


@test("PMIX_LOG_AGG: the same words of many ranks are written once")
def gathered():
    ranks = Ranks("-n", 4)
    for rank in range(4):
        log(ranks[rank], [info("pmix.log.stderr", S, "help"), info("pmix.log.stdout", S, f"{rank}")],
            [info("pmix.log.agg", "BOOL", True)])
    same(outcome(ranks), ("0\n1\n2\n3\n", "help\n"), "output")


@test("who writes without end is told to stop, and others are not harmed")
def flood():
    ranks = Ranks("-n", 2, stdout=subprocess.DEVNULL)
    text = [info("pmix.log.stdout", S, "x" * 30000)]
    codes = [log(ranks[0], text)["status"] for _ in range(40)]
    need(codes[0] == 0 and RESOURCE in codes, codes)
    same(log(ranks[1], text)["status"], 0, "the other rank")
    same(ranks.finish().status, 0, "exit status")


@test("R10-28: the system's log, with its priority")
def syslog():
    if os.path.exists("/dev/log") or os.getuid():
        raise Skip("this host has a log daemon, or we are not root")
    daemon = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    ranks = Ranks("-n", 2)
    r = log(ranks[1], [info("pmix.log.syslog", S, "nobody")])
    same(r["status"], NOT_SUPPORTED, "without a daemon")
    daemon.bind("/dev/log")
    try:
        daemon.settimeout(LIMIT)
        log(ranks[1], [info("pmix.log.syslog", S, "one\ntwo")])
        log(ranks[1], [info("pmix.log.gsys", S, "three")], [info("pmix.log.syspri", "INT", 6)])
        log(ranks[1], [info("pmix.log.lsys", S, "four")])
        lines = [re.sub(r"\[\d+\]:", "[]:", daemon.recv(1000).decode(), count=1)
                 for _ in range(4)]
    finally:
        os.unlink("/dev/log")
    who = f"mpiexec_lite[]: [{ranks[1].nspace}:1] "
    same(lines, ["<11>" + who + "one", "<11>" + who + "two", "<14>" + who + "three",
                 "<11>" + who + "four"], "datagrams")
    outcome(ranks)


main()

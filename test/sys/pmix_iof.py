#!/usr/bin/env -S python3 -B
"""pmix-iof-pull: tools and ranks read along what ranks write, wherever they are."""

import base64
import os
import re
import subprocess
import sys

from lib import *
from pmixlib import *

OUT, ERR, BOTH = 2, 4, 6
CHAIN = ["-launcher", "fork", "-hosts", "a,b,c", "-ppn", "1", "-flat-hosts", "1",
         "-tree-width", "1"]
PLACES = [("one host", []), ("a chain of hosts", CHAIN)]
NOT_FOUND, NOT_SUPPORTED, BAD_PARAM = -46, -47, -27

# A rank that says what it is told on its standard input's file: waits, then writes.
WRITER = [sys.executable, "-S", "-B", "-c", """
import os, sys, time
rank, path, n = os.environ["PMI_RANK"], sys.argv[1], int(sys.argv[2])
while not os.path.exists(path):
    time.sleep(0.01)
for i in range(n):
    os.write(1, b"%s out %d\\n" % (rank.encode(), i))
    os.write(2, b"%s err %d\\n" % (rank.encode(), i))
"""]


def pull(peer, nspace, ranks, channel=BOTH, **more):
    """The id of a new pull."""
    r = peer.call("pmix-iof-pull", procs=[proc(nspace, r) for r in ranks], channel=str(channel),
                  **more)
    return good(r)["id"]


def data_of(frame):
    text = frame.get("data", b"")
    return text if isinstance(text, bytes) else base64.b64decode(text)


def collect(peer, ends):
    """What has come until so many streams have ended: {(id, rank, channel): bytes}."""
    got, missed = {}, 0
    while ends:
        f = peer.event("pmix-iof-data")
        key = f["id"], int(f["rank"]), int(f["channel"])
        got[key] = got.get(key, b"") + data_of(f)
        missed += int(f.get("missed", 0))
        ends -= f.get("end") == "TRUE"
    same(missed, 0, "missed")
    return got


def lines(rank, word, n):
    return b"".join(b"%d %s %d\n" % (rank, word, i) for i in range(n))


def namespace(tool):
    return results(good(tool.call("pmix-query", queries=[query("pmix.qry.ns")])))[0][2]


class Writers:
    """A job whose ranks write n lines each to stdout and stderr once they may."""

    def __init__(self, *words, n=3, **more):
        self.path = tmp() + f"/go{len(os.listdir(tmp()))}"
        self.job = Job(*words, *WRITER, self.path, n, **more)
        self.tool = Tool(self.job)
        self.nspace = namespace(self.tool)

    def go(self):
        write_file(self.path, "")


@rows(PLACES)
def all_ranks(options):
    """every rank's stdout and stderr, with their ends, beside the launcher's own output"""
    w = Writers(*options, "-n", 3)
    one, two = pull(w.tool, w.nspace, ["wildcard"]), pull(w.tool, w.nspace, [1], OUT)
    need(one != two, "ids differ")
    w.go()
    got = collect(w.tool, 7)
    wanted = {(one, r, c): lines(r, word, 3) for r in range(3)
              for c, word in ((OUT, b"out"), (ERR, b"err"))}
    wanted[two, 1, OUT] = lines(1, b"out", 3)
    same(got, wanted, "what was read along")
    w.tool.close()
    r = w.job.finish()
    same((r.status, sorted(r.out.splitlines())),
         (0, sorted(b"%d out %d" % (i, k) for i in range(3) for k in range(3))), "stdout")


@rows(PLACES)
def some_ranks(options):
    """only the ranks and the channel asked for; not after it was deregistered"""
    w = Writers(*options, "-n", 3)
    other = Tool(w.job, payload="TRUE")
    mine, his = pull(w.tool, w.nspace, [2, 0], ERR), pull(other, w.nspace, ["wildcard"], OUT)
    gone = pull(w.tool, w.nspace, [1, 2], BOTH)
    good(w.tool.call("pmix-iof-deregister", id=gone))
    same(w.tool.call("pmix-iof-deregister", id=gone)["status"], NOT_FOUND, "twice")
    same(w.tool.call("pmix-iof-deregister", id=his)["status"], NOT_FOUND, "of another")
    w.go()
    same(collect(w.tool, 2), {(mine, r, ERR): lines(r, b"err", 3) for r in (0, 2)}, "mine")
    same(collect(other, 3), {(his, r, OUT): lines(r, b"out", 3) for r in range(3)}, "by payload")
    same(w.job.finish().status, 0, "status")


@rows(PLACES)
def much(options):
    """ten megabytes of each rank arrive whole, by payload"""
    path = tmp() + f"/much{len(options)}"
    job = Job(*options, "-n", 3, sys.executable, "-S", "-B", "-c", """
import os, sys, time
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
for i in range(320):
    os.write(1, bytes([65 + (i + int(os.environ["PMI_RANK"])) % 26]) * 32767 + b"\\n")
""", path, stdout=subprocess.DEVNULL)
    tool = Tool(job, payload="TRUE")
    nspace = namespace(tool)
    n = pull(tool, nspace, ["wildcard"], OUT)
    write_file(path, "")
    got = collect(tool, 3)
    for r in range(3):
        text = b"".join(bytes([65 + (i + r) % 26]) * 32767 + b"\n" for i in range(320))
        need(got[n, r, OUT] == text, f"rank {r}: {len(got[n, r, OUT])} bytes")
    same(job.finish().status, 0, "status")


@test("a tool that does not read misses output, is told how much, and harms nobody")
def stalled():
    job = Job("-n", 2, sys.executable, "-S", "-B", "-c", """
import os, sys, time
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
for i in range(400):
    os.write(1, b"%06d" % i + b"x" * 32761 + b"\\n")
""", tmp() + "/stalled")
    slow, newest, quick = Tool(job), Tool(job), Tool(job, payload="TRUE")
    nspace = namespace(quick)
    small = [info("pmix.iof.csize", "UINT32", 100000)]
    a = pull(slow, nspace, [0], OUT, directives=small)
    b = pull(newest, nspace, [0], OUT, directives=small + [info("pmix.iof.new", "BOOL", True)])
    c = pull(quick, nspace, [0], OUT)
    write_file(tmp() + "/stalled", "")
    got = collect(quick, 1)
    same(len(got[c, 0, OUT]), 400 * 32768, "who reads has all")
    texts = {}
    for name, peer, n in ("oldest", slow, a), ("newest", newest, b):
        seen, missed = b"", 0
        while True:
            f = peer.event("pmix-iof-data")
            seen, missed = seen + data_of(f), missed + int(f.get("missed", 0))
            if f.get("end") == "TRUE":
                break
        same(len(seen) + missed, 400 * 32768, f"{name}: seen and missed")
        need(missed > 0, f"{name}: something was missed")
        texts[name] = seen
    need(texts["oldest"][-32768:][:6] == b"000399", "the newest was kept", texts["oldest"][-32768:][:9])
    need(texts["newest"][-32768:][:6] != b"000399", "the oldest was kept")
    same(job.finish().status, 0, "status")


# A rank that writes lines in pieces, each when there is a file for it.
PIECES = [sys.executable, "-S", "-B", "-c", """
import os, sys, time
rank = os.environ["PMI_RANK"].encode()
for i, text in enumerate([b"a", b"b\\n\\nc" + rank, b"d\\ne\\n", b"open"]):
    while not os.path.exists(sys.argv[1] + str(i)):
        time.sleep(0.01)
    os.write(1, text)
    os.write(2, b"E" + text)
"""]
STAMP = rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ "


@rows([(f"lines of {what} begin with it once, however they come, {where}", keys, label, options)
       for where, options in PLACES
       for what, keys, label in (("tags", ["tag"], rb"\[JOB,RANK\]<CHANNEL>: "),
                                 ("full tags and ranks", ["tagfull", "rank"], rb"\[JOB,RANK\]<CHANNEL>: "),
                                 ("ranks", ["rank"], rb"\[RANK\]<CHANNEL>: "),
                                 ("times", ["ts"], STAMP + rb"<CHANNEL>: "),
                                 ("times and tags", ["ts", "tag"], STAMP + rb"\[JOB,RANK\]<CHANNEL>: "))])
def labels(keys, label, options):
    path = f"{tmp()}/piece"
    job = Job(*options, "-n", 2, *PIECES, path)
    tool = Tool(job)
    nspace = namespace(tool)
    plain = pull(tool, nspace, ["wildcard"])
    with_label = pull(tool, nspace, ["wildcard"], directives=[info(f"pmix.iof.{k}", "BOOL", True, ["required"])
                                                              for k in keys])
    off = pull(tool, nspace, ["wildcard"], directives=[info(f"pmix.iof.{k}", "BOOL", False) for k in keys])
    got, ends = {}, 0

    def take():
        f = tool.event("pmix-iof-data")
        key = f["id"], int(f["rank"]), int(f["channel"])
        got[key] = got.get(key, b"") + data_of(f)
        return f.get("end") == "TRUE"

    def written(rank, channel, n):
        return b"".join((b"E" if channel == ERR else b"") + x for x in
                        (b"a", b"b\n\nc%d" % rank, b"d\ne\n", b"open")[:n])
    for i in range(4):
        write_file(path + str(i), "")
        while any(got.get((plain, r, c)) != written(r, c, i + 1) for r in (0, 1) for c in (OUT, ERR)):
            ends += take()
    while ends < 12:
        ends += take()
    for r in (0, 1):
        for c, channel in (OUT, b"stdout"), (ERR, b"stderr"):
            text = written(r, c, 4)
            same((got[plain, r, c], got[off, r, c]), (text, text), "without")
            begin = label.replace(b"JOB", re.escape(nspace.encode())).replace(b"RANK", b"%d" % r).replace(
                b"CHANNEL", channel)
            wanted = b"\n".join(begin + re.escape(line) for line in text.split(b"\n"))
            need(re.fullmatch(wanted, got[with_label, r, c]), "with labels", got[with_label, r, c], wanted)
    same(job.finish().status, 0, "status")


@test("a tool that dies harms nobody")
def dies():
    w = Writers("-n", 2, n=2000)
    for _ in range(5):
        t = Tool(w.job)
        pull(t, w.nspace, ["wildcard"])
        t.close()
    w.go()
    r = w.job.finish()
    same((r.status, len(r.out.splitlines())), (0, 4000), "end")


@test("what cannot be pulled is refused by name: no such job, rank, channel, key")
def refused():
    ranks = Ranks("-n", 1)
    t, name = Tool(ranks.job), ranks[0].nspace

    def status(procs, channel, directives=()):
        r = t.call("pmix-iof-pull", procs=procs, channel=str(channel), directives=list(directives))
        return r.get("status"), r.get("errmsg", "")
    for procs, channel, code, words in (
            ([proc("no-job", 0)], OUT, NOT_FOUND, "no-job"),
            ([proc(name, 1)], OUT, NOT_FOUND, "procs[0].rank"),
            ([], OUT, BAD_PARAM, "procs"),
            ([proc(name, 0), proc("x", 0)], OUT, BAD_PARAM, "procs[1]"),
            ("[{", OUT, BAD_PARAM, "procs"),
            ([proc(name, 0)], 1, NOT_SUPPORTED, "channel")):
        got = status(procs, channel)
        need(got[0] == code and words in got[1], "refusal", got, procs)
    got = status([proc(name, 0)], OUT, [info("no.key", "BOOL", True, ["required"])])
    need(got[0] == NOT_SUPPORTED and "no.key" in got[1], got)
    good(t.call("pmix-iof-pull", procs=[proc(name, 0)], channel="2",
                directives=[info("no.key", "BOOL", True)]))
    same(ranks.finish().status, 0, "status")


@rows(PLACES)
def by_rank(options):
    """a rank reads along what others of its job write, and not another job's"""
    ranks = Ranks(*options, "-n", 3)
    n = pull(ranks[2], ranks.jobid, ["wildcard"], OUT)
    other = Ranks("-n", 1)
    r = ranks[2].call("pmix-iof-pull", procs=[proc(other.jobid, 0)], channel="2")
    same(r["status"], NOT_FOUND, r)
    ranks[0].call("finalize")
    ranks.end(0)
    f = ranks[2].event("pmix-iof-data")
    same((f["id"], f["rank"], f["channel"], f["end"]), (n, "0", "2", "TRUE"), f)
    same(other.finish().status, 0, "status")
    same(ranks.finish().status, 0, "status")


main()

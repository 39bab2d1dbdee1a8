#!/usr/bin/env -S python3 -B
"""-timeline: every host, rank and fence is there, in order; who was waited for is named; the
files are what they claim to be, whatever programs are called."""

import json
import re
import xml.etree.ElementTree

from spawnlib import *

FENCES = """
    c = Client(2)
    def late(who, k):
        if rank != who:
            touch("%d" % k)
            return
        until(lambda: count("%d" % k) == size - 1, "the others")
        time.sleep(0.15)                                   # they are in the fence
    def touch(name):
        open("at-%s-%d" % (name, rank), "w").close()
    def count(name):
        return len([x for x in os.listdir(".") if x.startswith("at-%s-" % name)])
    def until(condition, *words):
        while not condition():
            time.sleep(0.01)
    for k, who in enumerate((2, 0, 3)):
        late(who, k)
        c.fence()
        say("through", k)
    c.finalize()
"""
ORDER = ["exec", "hello", "init", "first output", "finalize", "exit"]


def timeline(*words, **more):
    """A run with a timeline as JSON: its Result and the object."""
    r = run("-timeline", "t.json", *words, cwd=tmp(), **more)
    with open(os.path.join(tmp(), "t.json")) as f:
        return r, json.load(f)


def threads(seen):
    """By thread name of a rank: its events in order of time, instants and spans by name."""
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in seen["traceEvents"]
             if e["ph"] == "M" and e["name"] == "thread_name"}
    out = {n: {} for n in names.values() if n != "host"}
    for e in seen["traceEvents"]:
        if e["ph"] in "Xi" and names[e["pid"], e["tid"]] != "host":
            events = out[names[e["pid"], e["tid"]]]
            need(e["name"] not in events, f"one {e['name']} each", str(e))
            need(e["ts"] >= 0 and e.get("dur", 0) >= 0, "a time", str(e))
            events[e["name"]] = e
    return out


def end(event):
    return event["ts"] + event["dur"]


def unsure(seen):
    """How much times of two hosts may differ, in us."""
    return 2 * max([e["args"]["uncertain_us"] for e in seen["traceEvents"]
                    if e["ph"] == "X" and e["name"] == "connect"] + [0]) + 1


def check_fences(seen, size, last):
    """Fence k, from 1 on, had all ranks, and waited for rank last[k - 1]."""
    ranks, slack = threads(seen), unsure(seen)
    same(sorted(ranks), sorted(f"rank {i}" for i in range(size)), "ranks")
    for name, events in ranks.items():
        at = [events[x]["ts"] for x in ORDER if x in events]
        same(at, sorted(at), f"order of {name}")
        need(set(events) >= {"exec", "hello", "init", "finalize", "exit"}, name, str(events))
        same(sorted(e for e in events if e.startswith("fence")),
             [f"fence {k + 1}" for k in range(len(last))], f"fences of {name}")
    for k, who in enumerate(last):
        visits = {n: e[f"fence {k + 1}"] for n, e in ranks.items()}
        came = max(v["ts"] for v in visits.values())
        for name, v in visits.items():
            same(v["args"]["last_rank"], who, f"who was last in fence {k + 1}")
            same(v["args"]["last"], name == f"rank {who}", f"whether {name} was")
            need(end(v) >= came - slack, "nobody leaves before the last has come", str(visits))


def check_path(seen, *words):
    """The critical path leaves no gap; its steps have these words, in this order."""
    path, slack = seen["criticalPath"], unsure(seen)
    for a, b in zip(path, path[1:]):
        need(abs(end(a) - b["ts"]) <= slack, "steps follow each other", str((a, b)))
    text = [s["what"] for s in path]
    at = -1
    for w in words:
        at = next((i for i in range(at + 1, len(text)) if w in text[i]), None)
        need(at is not None, f"the path has {w!r}", str(text))


@rows(WHERE)
def fences(where):
    r, seen = timeline(*where, "-n", 5, *py(FENCES))
    same((r.status, r.messages), (0, []), f"end of {r}")
    check_fences(seen, 5, [2, 0, 3])
    check_path(seen, "rank 2 on", "was last in fence 1; 4 others waited", "rank 0 on",
               "rank 3 on", "was last in fence 3; 4 others", "ended last")
    for events in threads(seen).values():
        need("first output" in events, "first output", str(events))
    hosts = {e["args"]["name"] for e in seen["traceEvents"] if e["name"] == "process_name"}
    need(hosts == {"h0", "h1", "h2"} if where else len(hosts) == 1, "hosts", str(hosts))


@test("hosts: connected, ready, and how exactly their times are known")
def hosts():
    _, seen = timeline(*HOSTS, "-n", 6, "true")
    spans = [e for e in seen["traceEvents"] if e["ph"] == "X" and e["tid"] == 0]
    for name in ("connect", "set up"):
        same(len([e for e in spans if e["name"] == name]), 3, name)
    for e in spans:
        if e["name"] == "connect":
            need(e["dur"] > 0 and 0 < e["args"]["uncertain_us"] < 1e6, "a host", str(e))
    ready = max(end(e) for e in spans)
    for name, events in threads(seen).items():
        need(events["exec"]["ts"] >= ready - unsure(seen), f"{name} after all hosts are ready")


@test("programs without PMI, one that fails, and the picture of that")
def failing():
    words = ["-n", 3, "sh", "-c", "test $PMI_RANK = 1 || exec sleep 60; echo x; exit 3"]
    r, seen = timeline("-end-on-nonzero", *words)
    same(r.status, 3, f"status of {r}")
    events = threads(seen)
    same(events["rank 1"]["exit"]["args"]["wait_status"], 0x300, "its status")
    need("first output" in events["rank 1"] and "first output" not in events["rank 0"],
         "first output", str(events))
    check_path(seen, "was started", f"rank 1 on {HOST} came to a bad end")
    same(sum("bad end" in s["what"] for s in seen["criticalPath"]), 1, "the end of the path")


@test("a failure that others survive for a while, and end well after: it is the end of the path")
def survived():
    r, seen = timeline("-n", 3, "sh", "-c", "test $PMI_RANK = 1 && exec kill -9 $$;"
                       "trap 'sleep 0.1; exit 0' TERM; while :; do sleep 0.05; done")
    same(r.status, 137, f"status of {r}")
    check_path(seen, "was started", f"rank 1 on {HOST} came to a bad end")


@test("no rank was started: the file is empty, and said to be")
def unstarted():
    path = tmp() + "/t.svg"
    r = run("-timeline", path, "-launcher", "fork", "-hosts", "a,b", "-n", 2, "./no-such-program")
    same((r.status, os.path.getsize(path)), (127, 0), f"end of {r}")
    need(f"mpiexec_lite: {path} is empty: no rank was started" in r.messages, "it is said", r)


@test("a job that a rank has started")
def spawned():
    child = script("child", "Client(2).finalize()")
    parent = script("parent", f"""
        c = Client(2)
        c.fence()
        if rank == 0:
            started(c, command({child!r}, n=2))
        c.fence()
        c.finalize()
    """)
    r, seen = timeline(*HOSTS, "-n", 2, parent)
    same(r.status, 0, f"status of {r}")
    ranks = threads(seen)
    same(sorted(ranks), ["job 1 rank 0", "job 1 rank 1", "rank 0", "rank 1"], "ranks")
    need(ranks["job 1 rank 0"]["exec"]["ts"] >= ranks["rank 0"]["fence 1"]["ts"], "its start")


HOSTILE = "<script>alert(1)</script>&\"'\x1b]0;\x07"


@rows([(f"well-formed, whatever words there are: {k}", k) for k in ("svg", "html", "SVG")])
def well_formed(kind):
    name = f"t.{kind}"
    program = os.path.join(tmp(), "<b>&amp;\"'\udcff")
    shutil.copy("/bin/true", program)
    good("-timeline", name, *HOSTS, "-n", 4, program, HOSTILE, "\udcff\ufffe", cwd=tmp())
    with open(os.path.join(tmp(), name), encoding="utf-8") as f:
        text = f.read()
    tree = xml.etree.ElementTree.fromstring(text)
    need("<script" not in text and "\x1b" not in text, "nothing that is run", text)
    words = "".join(tree.itertext())
    need(HOSTILE[:25] in words and "\\xFF" in words, "the words are shown", words)
    need("4 ranks on 3 hosts" in words and "ended last" in words, "the facts", words)
    need(not re.search(r"\b(nan|inf)\b", text), "numbers", text)


@test("JSON of hostile words")
def hostile_json():
    r, seen = timeline("-n", 1, "true", HOSTILE, "\udcff\ufffe")
    same(r.status, 0, f"status of {r}")
    need(HOSTILE in seen["otherData"]["command"], "the command", str(seen["otherData"]))


@test("1000 ranks: a row has several, and the file is small")
def many():
    good("-timeline", "t.svg", *HOSTS, "-n", 1000, "true", cwd=tmp())
    path = os.path.join(tmp(), "t.svg")
    words = "".join(xml.etree.ElementTree.parse(path).getroot().itertext())
    need("1000 ranks on 3 hosts" in words and "334 ranks" in words or "333 ranks" in words,
         "rows of hosts", words)
    need(os.path.getsize(path) < 300000, "its size", str(os.path.getsize(path)))


@rows([(f"refused: {name}", name, text) for name, text in (
    ("t.txt", "does not end in .json, .svg or .html"), ("json", "does not end in"),
    ("/dev/null/t.svg", "Not a directory"))])
def refused(name, text):
    r = run("-timeline", name, "true", cwd=tmp())
    same(r.status, 2, f"status of {r}")
    need(len(r.messages) == 1 and text in r.messages[0], "one line", repr(r))


@test("without it nothing about it is said to other hosts")
def not_asked():
    log = os.path.join(tmp(), "trace")
    strace = shutil.which("strace")
    if not strace:
        raise Skip("no strace")
    job = Job(*HOSTS, "-n", 3, "true", prefix=[strace, "-f", "-s", "60", "-e", "write,writev",
                                               "-o", log])
    same(job.finish().status, 0, "status")
    with open(log, errors="replace") as f:
        text = f.read()
    need("cmd=ready" in text, "the trace sees messages", text)
    need("cmd=clock" not in text and "cmd=moments" not in text, "nothing of a timeline", text)


main()

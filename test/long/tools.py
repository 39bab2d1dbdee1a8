#!/usr/bin/env -S python3 -B
"""A thousand tools that call the launcher, ask and die at random while a job runs: it loses
neither memory nor descriptors, and the job does not notice.  make check does the same with a
hundred."""

import os
import random
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "sys"))

from lib import *                                       # noqa: E402
from pmixlib import Ranks, good, lean, query            # noqa: E402
from pmixlib import tools_socket                        # noqa: E402

# One that says as much as it comes to, whole frames or half of one, and is gone.
TOOL = """
import os, random, signal, socket, sys, time
r = random.Random(int(sys.argv[2]))
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
def say(text): s.sendall(b"%6d" % len(text) + text)
asks = [b"cmd=pmix-query;thrid=%d;queries=[{\\"keys\\":[\\"pmix.qry.ns\\",\\"pmix.qry.ptable\\"]}];",
        b"cmd=pmix-capabilities;thrid=%d;", b"cmd=pmix-servers;thrid=%d;",
        b"cmd=pmix-event-register;thrid=%d;codes=[];", b"cmd=pmix-nonsense;thrid=%d;"]
try:
    s.sendall(b"cmd=init pmi_version=2 pmi_subversion=0\\n")
    if r.random() < 0.9:
        say(b"cmd=pmix-tool-connect;thrid=0;")
    for i in range(r.randrange(30)):
        say(r.choice(asks) % (i + 1))
        if r.random() < 0.5:
            s.recv(r.randrange(1, 65536))
    if r.random() < 0.3:
        s.sendall(b"  9999cmd=pmix-qu")
except OSError:
    pass
if r.random() < 0.7:
    os.kill(os.getpid(), signal.SIGKILL)
"""


def resident(pid):
    """Bytes of memory of a process."""
    with open(f"/proc/{pid}/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def wave(path, numbers, most=24):
    running = []
    for n in numbers:
        running.append(subprocess.Popen([sys.executable, "-S", "-B", "-c", TOOL, path, str(n)]))
        while len(running) >= most:
            running.pop(0).wait(LIMIT)
    for p in running:
        p.wait(LIMIT)


def storm(n, say=print):
    """n tools against a job of two ranks that puts, fences and gets all the while."""
    ranks = Ranks("-n", 2, env=lean())
    path, root = tools_socket(ranks.job.pid), ranks.job.root()
    wave(path, range(n // 4))                            # what it keeps for later it has now
    before, memory = settled(root), resident(root)
    for i in range(3):
        wave(path, range(n // 4 * (i + 1), n // 4 * (i + 2)))
        for rank in ranks:
            same(rank.call("kvs-put", key=f"k{i}", value=f"v{i}-{rank.rank}"
                           if rank.rank else f"v{i}")["rc"], 0, "a put")
        waits = [(rank, rank.send("kvs-fence")) for rank in ranks]
        for rank, thrid in waits:
            same(rank.reply(thrid)["rc"], 0, "a fence")
    wait_for(lambda: descriptors(root) <= before, f"{before} descriptors again")
    grown = resident(root) - memory
    say(f"# {n} tools: descriptors {before}, memory {memory} grown by {grown}")
    need(grown < 4 << 20, "memory grows with tools", memory, grown)
    need(good(ranks[0].call("pmix-query", queries=[query("pmix.qry.ns")])), "it serves on")
    same(ranks.finish().status, 0, "the job's end")


def settled(pid):
    """Its descriptors once tools that have died are forgotten."""
    least = min(descriptors(pid) for _ in range(20) if not time.sleep(0.05))
    return least


if __name__ == "__main__":
    @test("1000 tools: nothing is lost, the job is undisturbed")
    def thousand():
        storm(1000)
    main()

#!/usr/bin/env -S python3 -B
"""Stops of a minute, over several hosts and with the default lease: a reader of stdout
that does not read, a launcher that is suspended, a front end that a debugger holds.  No
rank and no lease may be harmed, and fences go on.  On beds of namespaces: test/bed.py."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from trial import *                                     # noqa: E402
import signal                                           # noqa: E402
import time                                             # noqa: E402

MINUTE = 60

# Fences of all ranks, timed by rank 0: idle; while a child of each floods stdout; and
# again until told to end.  The marks are files, as nobody reads our output.
FENCES = """
    import statistics
    folder = sys.argv[1]
    c = Client(2)
    c.fence()

    def fences(n):
        times = []
        for i in range(n):
            begin = time.monotonic()
            c.fence()
            times.append(time.monotonic() - begin)
        return statistics.median(times)

    def mark(name, text=""):
        with open(f"{folder}/.{name}.{rank}", "w") as f:
            f.write(text)
        os.rename(f"{folder}/.{name}.{rank}", f"{folder}/{name}.{rank}")

    idle = fences(200)
    if os.fork() == 0:
        line = b"x" * 1000 + b"\\n"
        while True:
            os.write(1, line * 50)
    time.sleep(1)
    mark("flooded", f"{idle} {fences(200)}")
    for i in range(70):
        fences(1)
        time.sleep(1)
    mark("stopped", str(fences(200)))
    time.sleep(MINUTE)
""".replace("MINUTE", str(MINUTE))


def times(folder, name):
    with open(f"{folder}/{name}.0") as f:
        return [float(x) for x in f.read().split()]


def all_marked(folder, name, ranks=4):
    return lambda: sum(f.startswith(name + ".") for f in os.listdir(folder)) == ranks


def fair(idle, now, what):
    say(f"a fence takes {idle * 1e3:.2f} ms idle, {now * 1e3:.2f} ms while {what}")
    need(now <= 2 * idle + 0.005, what, idle, now)


@point("four ranks flood stdout; its reader is slow, then stops for a minute: fences go on")
def flood(bed):
    folder = bed.path(f"mark.{os.urandom(4).hex()}")
    os.mkdir(folder)
    ours, theirs = os.pipe()
    job = start(bed, "-n", 4, *py(bed, FENCES, folder), stdout=theirs)
    os.close(theirs)
    try:
        flooded = all_marked(folder, "flooded")
        for _ in range(600):
            if flooded():
                break
            os.read(ours, 65536)
            time.sleep(0.05)
        idle, slow = times(folder, "flooded")
        fair(idle, slow, "the reader is slow")
        stopped = time.monotonic()
        wait_for(all_marked(folder, "stopped"), "fences of all ranks", MINUTE + 30)
        need(time.monotonic() - stopped >= MINUTE, "a minute")
        fair(idle, times(folder, "stopped")[0], "the reader is stopped")
        need(job.poll() is None, "the job goes on")
        os.read(ours, 65536)
    finally:
        os.close(ours)
    r = finish(job, what="the reader stopped for a minute, then gone")
    same(r.status, 141, f"status of {r}")
    for f in os.listdir(folder):
        os.unlink(f"{folder}/{f}")
    os.rmdir(folder)


# Each rank says what it has counted up to, whatever the clock did meanwhile.
COUNT = """
    c = Client(2)
    c.fence()
    say("ready")
    sys.stdin.readline() if rank == 0 else None
    for i in range(20):
        c.put("k%d-%d" % (i, rank), str(i))
        c.fence()
        need(c.get("k%d-%d" % (i, size - 1 - rank)) == str(i), i)
    c.finalize()
    say("intact")
"""


def held(bed, stop, go_on, what):
    ours, theirs = os.pipe()
    job = start(bed, "-n", 4, *py(bed, COUNT), stdin=ours)
    os.close(ours)
    job.wait_text("ready", 4)
    stop(job)
    time.sleep(MINUTE)
    go_on(job)
    os.write(theirs, b"go\n")
    os.close(theirs)
    r = finish(job, what=what)
    same((r.status, r.lines), (0, ["ready"] * 4 + ["intact"] * 4), f"end of {r}")


@point("Ctrl-Z for a minute, then fg: job intact")
def suspended(bed):
    held(bed, lambda job: job.kill(signal.SIGTSTP), lambda job: job.kill(signal.SIGCONT),
         "SIGTSTP, SIGCONT a minute later")


@point("a front end that is held for a minute, as by a debugger: job intact")
def debugged(bed):
    held(bed, lambda job: os.kill(job.pid, signal.SIGSTOP),
         lambda job: job.kill(signal.SIGCONT), "front end SIGSTOPped for a minute")


main(sizes=[4, 4, 4], programs=[])

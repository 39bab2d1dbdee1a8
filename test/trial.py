"""trial.py - one run of the launcher on a bed: what hosts_ssh.py and faults.py share.

A file takes its beds first, all with a copy of the launcher, of pmi2_proxy beside it
and of the programs for its ranks; test points take a bed each while they run:

    @point("name")
    def function(bed): ...
    main(sizes=[4, 4], programs=[...])

Where there can be no bed, importing this skips the whole file.

PEER=mpiexec.mpich runs another launcher instead, without the options that only ours
has, to compare what it leaves behind: many points must fail then.
"""

import contextlib
import functools
import itertools
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time

TEST = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(TEST, "sys"))

import lib                                              # noqa: E402
from lib import LIMIT, Wrong, need, prog, rows, same, show, test, wait_for   # noqa: E402,F401
from bed import Bed, Trouble, usable                    # noqa: E402,F401

PEER = os.environ.get("PEER")
OURS_ONLY = ("-heartbeat", "-lease", "-tree-width", "-flat-hosts", "-launch-timeout")
# Added to every bound in seconds that is asserted: other tests run meanwhile.  A bound
# is the specification's, not a measure of speed.
SLACK = float(os.environ.get("TEST_SLACK") or 2) * (3 if "asan" in lib.B else 1)

if (_reason := usable()) is not None:
    print(f"1..0 # SKIP {_reason}")
    sys.exit(0)

_beds = queue.Queue()
_number = itertools.count()
_of_point = threading.local()


# --- points --------------------------------------------------------------------------

def point(name):
    """Decorator: a test point with this name, of a function that is given a bed."""
    def add(function):
        @functools.wraps(function)
        def with_bed(*args):
            _of_point.name = name
            with a_bed() as bed:
                function(bed, *args)
        test(name)(with_bed)
        return function
    return add


def points(table):
    """Decorator: a point for each row; row[0] is its name, the rest its arguments."""
    def add(function):
        for row in table:
            point(row[0])(lambda bed, row=row: function(bed, *row[1:]))
        return function
    return add


@contextlib.contextmanager
def a_bed():
    """One of the beds, for this thread alone; whole and empty again afterwards."""
    bed = _beds.get()
    try:
        yield bed
    finally:
        try:
            bed.sweep()
            bed.heal()
            for n in range(len(bed.nodes)):
                for f in bed.files(n):
                    with contextlib.suppress(OSError):
                        os.unlink(f"/proc/{bed.nodes[n].init}/root{f}")
        except Exception:
            bed.close()
            bed = new_bed(len(bed.nodes), bed.programs)
            raise
        finally:
            _beds.put(bed)


def new_bed(size, programs):
    bed = Bed(size)
    bed.__enter__()
    bed.programs = programs
    bed.launcher = PEER or bed.install(lib.LAUNCHER)
    proxy = os.path.join(lib.B, "bin", "pmi2_proxy")
    if os.path.exists(proxy):
        bed.install(proxy)
    bed.install(os.path.join(lib.SYS, "rawpmi.py"), *programs)
    return bed


def main(sizes, programs):
    """Take beds of these sizes, run the points, as many at a time as there are beds."""
    beds = []
    try:
        for size in sizes:
            beds.append(new_bed(size, programs))
            _beds.put(beds[-1])
        lib.main(len(sizes))
    finally:
        while not _beds.empty():
            _beds.get().close()


def say(*words):
    """A comment line of this point, shown whether it is good or not."""
    with lib._print:
        text = " ".join(map(str, words))
        print("#   " + _of_point.name + ": " + text.encode("ascii", "backslashreplace").decode(),
              flush=True)


# --- programs ------------------------------------------------------------------------

def py(bed, code, *args):
    """The words of a rank that runs this code with rawpmi.py, readable for all users."""
    words = lib.py(code, *args)
    if os.path.exists("/usr/bin/python3"):
        words[0] = "/usr/bin/python3"
    words[words.index("-c") + 1] = words[words.index("-c") + 1].replace(
        repr(lib.SYS), repr(bed.path("bin")), 1)
    return words


def compiled(name, source, *words):
    """A program, or with -shared a library, of this test file's own; its path."""
    folder = os.path.join(lib.B, "test", "sys-progs")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, name)
    temp = f"{path}.{os.getpid()}"
    if not source.endswith(".c"):
        lib.write_file(temp + ".c", source)
    try:
        subprocess.run(["gcc", "-O1", "-g", "-o", temp,
                        source if source.endswith(".c") else temp + ".c", *words], check=True)
        os.rename(temp, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temp + ".c")
    return path


# --- runs ----------------------------------------------------------------------------

class End(lib.Result):
    """How a run ended: took seconds, left processes on the nodes."""

    def __init__(self, result, took, left):
        super().__init__(result.returncode, result.stdout, result.stderr)
        self.took, self.left = took, left

    @property
    def first(self):
        """The first of the launcher's own lines."""
        return self.messages[0] if self.messages else ""

    def __repr__(self):
        return super().__repr__() + f"\nafter {self.took:.1f} s, left: {self.left}"


def start(bed, *words, hosts=(), **more):
    """The launcher in node0, over these lines of a host file (default: all nodes)."""
    file = bed.hosts(*hosts, name=f"hosts.{next(_number)}")
    if "cwd" not in more:
        more["cwd"] = bed.dir
    while PEER and words and str(words[0]) in OURS_ONLY:
        words = words[2:]
    job = bed.popen(0, [bed.launcher, "-f", file, *words], **more)
    job.bed = bed
    return job


def finish(job, since=None, bound=None, limit=LIMIT, nodes=None, what=None, clean=True,
           sessions=True):
    """Wait for the end: nothing may be left then on these nodes (default: all), and it
    may come at most so many seconds (bound) after the moment since (default: start).
    what: what was done to it, for the report.  sessions: sshd's connections count, too."""
    try:
        result = job.finish(limit)
    except Trouble:
        if what:
            left = len(job.bed.processes())
            say(f"{what}; still running after {limit} s; then {left} left")
        raise
    took = time.monotonic() - (since or job.began)
    # What the kernel has still to take down gets a moment.
    left = job.bed.left(1.0 + SLACK / 2, sessions=False, nodes=nodes)
    if sessions and not left:
        left = job.bed.left(3.0 + SLACK, nodes=nodes)
    end = End(result, took, left)
    if what:
        say(f"{what}; {end.first[:150]!r}; status {end.status}; {took:.1f} s; "
            f"{len(end.left)} left")
    if PEER:
        return end
    if clean:
        nothing_left(end, job.bed)
    if bound is not None:
        need(took <= bound + SLACK, f"the end within {bound} s", repr(end))
    return end


def nothing_left(end, bed):
    need(not end.left, "processes left behind",
         *[f"{bed.nodes[p.node].name}: {p.pid} {p.state} {p.cmdline[:100]}" for p in end.left],
         repr(end))
    files = {n.name: f for n in bed.nodes if n.init and (f := bed.files(n.number))}
    need(not files, f"files left behind: {files}")


def tools_entry_only(files):
    """Whether of these files of node0 each is the entry or the socket for tools of a launcher:
    where both its processes were killed at once, they stay until the next launcher runs."""
    return all(re.fullmatch(r"/tmp/pmi2_server-0/node0\.\d+(\.s)?", f) for f in files)


def launch(bed, *words, limit=LIMIT, **more):
    """Run the launcher to its end."""
    return finish(start(bed, *words, **more), limit=limit)


def good(bed, *words, **more):
    """launch(), which must end with 0 and without a message."""
    r = launch(bed, *words, **more)
    need(r.status == 0 and not r.messages, "a good end: " + " ".join(map(str, words))[:300],
         repr(r))
    return r


def one_message(r, status, *patterns):
    """This status, and a first message that holds all these (regular expressions)."""
    same(r.status, status, f"status of {r}")
    need(r.messages, "a message", repr(r))
    for p in patterns:
        need(re.search(p, r.messages[0]), f"the first message has {p!r}", repr(r))
    need(len(r.err.splitlines()) <= 20, "at most 20 lines", repr(r))


def ports(bed, node=0):
    """Lines of sockets of a node that listen, but sshd's, and those for the user's own tools,
    which are in a folder of the user's."""
    return [x for x in bed.listening(node) if ":22 " not in x and "/pmi2_server-" not in x]


def on(bed, node, word):
    """Processes of a node whose command line holds this word."""
    return [p for p in bed.processes(node) if word in p.cmdline]


def front_and_root(job):
    """Pids of the launcher's two processes."""
    def look():
        return next((c for c in lib.children(job.pid) if lib.proc_bytes(c, "cmdline") ==
                     lib.proc_bytes(job.pid, "cmdline")), None)
    return job.pid, wait_for(look, "the launcher's second process")


def guard_and_proxy(bed, node):
    """Pids of the two servers of a node."""
    found = {p.pid for p in on(bed, node, "pmi2_proxy") if p.state != "Z"}
    outer = [p for p in found if lib.stat(p) and lib.stat(p)[1] not in found]
    # A login shell that does not exec stands before them.
    while len(outer) == 1 and "pmi2_proxy" not in os.path.basename(exe(outer[0])):
        found.discard(outer[0])
        outer = [p for p in found if lib.stat(p) and lib.stat(p)[1] not in found]
    inner = [p for p in found if lib.stat(p) and lib.stat(p)[1] in outer]
    need(len(outer) == 1 and len(inner) == 1, "a guard and a proxy", bed.processes(node))
    return outer[0], inner[0]


def exe(pid):
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return ""


def kill(pid, signo=signal.SIGKILL):
    """End it; the moment."""
    os.kill(pid, signo)
    return time.monotonic()


__all__ = [n for n in dir() if not n.startswith("_")]

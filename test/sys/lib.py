"""lib.py - what the system tests share: run the launcher, look at processes, print TAP.

A test file defines functions with the decorator @test and ends with main().  A
function fails by an exception (mostly from need()).  Functions run a few at a time
in threads, so each uses only its own temporary folder, tmp().

Every launcher is started with SYS_MARK=<unique> in its environment, which its ranks
and all their descendants inherit: left() lists the processes that still have it.
run() and Job.finish() demand that none is left once the launcher has ended.
"""

import concurrent.futures
import contextlib
import fcntl
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SYS = os.path.dirname(os.path.abspath(__file__))
B = os.path.join(ROOT, os.environ.get("B") or "build")
LAUNCHER = os.path.join(B, "bin", "mpiexec_lite")
HOST = os.uname().nodename
LIMIT = 45           # seconds until a hang is called one; no test asserts a speed

# --- TAP -------------------------------------------------------------------

_tests = []
_local = threading.local()
_print = threading.Lock()


def test(name):
    """Decorator: a test point with this name."""
    def add(function):
        _tests.append((name, function))
        return function
    return add


def rows(table):
    """Decorator: a test point for each row; row[0] is its name."""
    def add(function):
        for row in table:
            _tests.append((row[0], lambda row=row: function(*row[1:])))
        return function
    return add


class Wrong(Exception):
    pass


class Skip(Exception):
    """Raised by a point that cannot be tried here; its text says why."""


def need(good, what, *seen):
    """Fail the point unless good; what: a sentence; seen: what to show beside it."""
    if not good:
        raise Wrong("\n".join([what] + [show(s) for s in seen]))


def same(seen, wanted, what):
    need(seen == wanted, f"{what}: wrong", f"seen:   {show(seen)}", f"wanted: {show(wanted)}")


def show(x):
    text = x if isinstance(x, str) else repr(x)
    return text if len(text) < 2000 else text[:1000] + f" ...({len(text)})... " + text[-900:]


def tmp():
    """The temporary folder of the running test point; gone when it ends."""
    return _local.tmp


def runtime():
    """An XDG_RUNTIME_DIR of the test's own."""
    folder = f"{tmp()}/run"
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    return folder


def _one(number, name, function):
    _local.tmp = tempfile.mkdtemp(prefix="mpx-sys-")
    _local.marks = []
    began, trouble, skip = time.monotonic(), None, ""
    try:
        function()
    except Skip as e:
        skip = f" # SKIP {e}"
    except Exception as e:
        trouble = f"{e}" if isinstance(e, Wrong) else traceback.format_exc()
        where = [f for f in traceback.extract_tb(e.__traceback__)
                 if f.filename.startswith(SYS) and not f.filename.endswith("lib.py")]
        if where:
            trouble = f"{os.path.basename(where[-1].filename)}:{where[-1].lineno}: {trouble}"
    finally:
        for mark in _local.marks:
            kill_marked(mark)
        subprocess.run(["rm", "-rf", _local.tmp], check=False)
    with _print:
        took = time.monotonic() - began
        print(f"{'not ' if trouble else ''}ok {number} - {name}{skip}", flush=True)
        print(f"# {took:.1f} s", flush=True)
        for line in (trouble or "").splitlines():
            print("# " + line.encode("ascii", "backslashreplace").decode(), flush=True)
    return trouble is None


def main(threads=3):
    # What a background job ignores, a rank would ignore too.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    _main(threads)


def _main(threads):
    """Run all points (or those whose name holds argv[1]); print TAP; exit."""
    only = sys.argv[1] if len(sys.argv) > 1 else ""
    tests = [(i + 1, n, f) for i, (n, f) in enumerate(t for t in _tests if only in t[0])]
    need(os.access(LAUNCHER, os.X_OK), f"no launcher at {LAUNCHER}")
    print(f"1..{len(tests)}", flush=True)
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        good = list(pool.map(lambda t: _one(*t), tests))
    sys.exit(not all(good))


# --- programs for the ranks ---------------------------------------------------

def prog(name):
    """The path of test/progs/NAME.c, built if it is older than its source.

    mpi_*: with MPICH; slurm_*: with Slurm's libpmi2; preload_*: a shared object."""
    source = os.path.join(ROOT, "test", "progs", name + ".c")
    folder = os.path.join(B, "test", "sys-progs")
    out = os.path.join(folder, name)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name + ".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.exists(out) and os.path.getmtime(out) > os.path.getmtime(source):
            return out
        cc = "mpicc.mpich" if name.startswith("mpi_") else "gcc"
        libs = ["-lpmi2"] if name.startswith("slurm_") else []
        if name.startswith("preload_"):
            libs = ["-shared", "-fPIC", "-ldl"]
        subprocess.run([cc, "-O1", "-g", "-Wall", "-Wextra", "-Werror=incompatible-pointer-types",
                        "-D_GNU_SOURCE", source, "-o", out + ".new"] + libs, check=True, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT)
        os.rename(out + ".new", out)
    return out


def py(code, *args):
    """The words of a rank that runs this Python code, with all names of rawpmi.py."""
    lines = code.strip("\n").splitlines()
    indent = min((len(x) - len(x.lstrip()) for x in lines if x.strip()), default=0)
    text = "\n".join(x[indent:] for x in lines)
    head = f"import sys; sys.path.insert(0, {SYS!r}); from rawpmi import *\n"
    return [sys.executable, "-S", "-B", "-c", head + text, *map(str, args)]


# --- processes ----------------------------------------------------------------

_counter = iter(range(10 ** 9))


def new_mark():
    mark = f"{os.getpid()}.{next(_counter)}.{os.urandom(4).hex()}"
    _local.marks.append(mark)
    return mark


def pids():
    return [int(p) for p in os.listdir("/proc") if p.isdigit()]


def proc_bytes(pid, name):
    """A file of /proc/PID, or b'' if it has ended or is another's."""
    try:
        with open(f"/proc/{pid}/{name}", "rb") as f:
            return f.read()
    except OSError:
        return b""


def stat(pid):
    """(state, parent, session) or None."""
    fields = proc_bytes(pid, "stat").rpartition(b")")[2].split()
    return (fields[0].decode(), int(fields[1]), int(fields[3])) if fields else None


def alive(pid):
    s = stat(pid)
    return s is not None and s[0] not in "ZX"


def left(mark):
    """Processes (not zombies) that were started under this mark."""
    word = f"SYS_MARK={mark}".encode()
    return [p for p in pids() if word in proc_bytes(p, "environ").split(b"\0") and alive(p)]


def describe(processes):
    return [f"{p} {stat(p)} {proc_bytes(p, 'cmdline').replace(bytes(1), b' ')[:80]!r}"
            for p in processes]


def kill_marked(mark):
    for _ in range(100):
        processes = left(mark)
        if not processes:
            return
        for p in processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(p, signal.SIGKILL)
        time.sleep(0.02)


def wait_for(condition, what, limit=LIMIT):
    """Poll until condition() is true; its value."""
    end = time.monotonic() + limit
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise Wrong(f"waited {limit} s in vain: {what}")
        time.sleep(0.02)


def nothing_left(mark, limit=15):
    """All processes of the mark end within the limit."""
    try:
        wait_for(lambda: not left(mark), "processes left", limit)
    except Wrong:
        raise Wrong("\n".join(["processes left behind:"] + describe(left(mark)))) from None


def children(pid):
    return [p for p in pids() if (s := stat(p)) and s[1] == pid and s[0] not in "ZX"]


def environment(mark, extra=None, without=()):
    env = {k: v for k, v in os.environ.items()
           if not k.startswith(("PMI", "SLURM", "HYDRA_", "MPIEXEC_")) and k not in without}
    env.update(SYS_MARK=mark, **(extra or {}))
    return env


class Result:
    """How a launcher ended: status as a shell has it, raw as waitpid has it."""

    def __init__(self, raw, out, err):
        self.raw, self.out, self.err = raw, out, err
        self.status = raw if raw >= 0 else 128 - raw

    @property
    def lines(self):
        return self.out.decode("utf-8", "backslashreplace").splitlines()

    @property
    def messages(self):
        """The launcher's own lines on stderr."""
        return [x for x in self.err.decode("utf-8", "backslashreplace").splitlines()
                if x.startswith("mpiexec_lite: ")]

    def __repr__(self):
        return f"status {self.status} (raw {self.raw})\nstdout {show(self.out)}\n" \
               f"stderr {show(self.err)}"


class Job:
    """A launcher that runs.  Its output goes to files unless told otherwise."""

    def __init__(self, *words, env=None, cwd=None, stdin=subprocess.DEVNULL, stdout=None,
                 stderr=None, prefix=(), close=(), without=(), **more):
        self.mark = new_mark()
        self._files = []
        self.out_file, stdout = self._file(stdout)
        self.err_file, stderr = self._file(stderr)
        self.words = list(prefix) + [LAUNCHER] + [os.fspath(w) if not isinstance(w, (int, float))
                                                  else str(w) for w in words]
        self.popen = subprocess.Popen(
            self.words, stdin=stdin, stdout=stdout, stderr=stderr, cwd=cwd,
            env=environment(self.mark, env, without), **{"start_new_session": True, **more})
        self.pid = self.popen.pid

    def _file(self, given):
        if given is not None:
            return None, given
        f = tempfile.TemporaryFile()
        return f, f

    def text(self):
        return self._read(self.out_file)

    def error_text(self):
        return self._read(self.err_file)

    @staticmethod
    def _read(f):
        if f is None:
            return b""
        return os.pread(f.fileno(), os.fstat(f.fileno()).st_size, 0)

    def kill(self, signo):
        os.kill(self.pid, signo)

    def root(self):
        """The launcher's server process: the child of the front with its command line."""
        def look():
            mine = proc_bytes(self.pid, "cmdline")
            return next((c for c in children(self.pid)
                         if proc_bytes(c, "cmdline") == mine), None)
        return wait_for(look, "the launcher's second process")

    def wait_text(self, text, count=1, limit=LIMIT):
        """Until stdout holds text so many times."""
        text = text.encode() if isinstance(text, str) else text

        def seen():
            if self.popen.poll() is not None and self.text().count(text) < count:
                raise Wrong(f"the launcher ended before it printed {text!r}\n"
                            f"{show(self.text())}\n{show(self.error_text())}")
            return self.text().count(text) >= count
        wait_for(seen, f"{text!r} on stdout ({show(self.text())})", limit)

    def finish(self, limit=LIMIT, clean=True):
        """Wait for the end; clean: at that moment no process is left."""
        try:
            self.popen.wait(limit)
        except subprocess.TimeoutExpired:
            what = describe(left(self.mark))
            kill_marked(self.mark)
            raise Wrong("\n".join([f"still running after {limit} s: {self.words}",
                                   show(self.text()), show(self.error_text())] + what)) from None
        remain = left(self.mark) if clean else []
        need(not remain, "the launcher has ended and left processes", *describe(remain))
        return Result(self.popen.returncode, self.text(), self.error_text())


def run(*words, limit=LIMIT, input=None, **more):
    """Run the launcher to its end.  input: bytes for its stdin, by a pipe."""
    if input is None:
        return Job(*words, **more).finish(limit)
    job = Job(*words, stdin=subprocess.PIPE, **more)

    def feed():
        with contextlib.suppress(BrokenPipeError):
            job.popen.stdin.write(input)
            job.popen.stdin.flush()
        with contextlib.suppress(BrokenPipeError):
            job.popen.stdin.close()
    feeder = threading.Thread(target=feed, daemon=True)
    feeder.start()
    return job.finish(limit)


def good(*words, **more):
    """run(), which must end with 0 and without a message; its Result."""
    r = run(*words, **more)
    need(r.status == 0 and not r.messages, "a good end wanted: " + " ".join(map(str, words))[:300],
         repr(r))
    return r


# --- terminals ------------------------------------------------------------------

class Terminal:
    """A command whose controlling terminal, in a session of its own, is a pty."""

    def __init__(self, words, env=None):
        self.mark = new_mark()
        self.fd, slave = os.openpty()
        self.seen = b""
        self.popen = subprocess.Popen(["setsid", "-c"] + [str(w) for w in words], stdin=slave,
                                      stdout=slave, stderr=slave,
                                      env=environment(self.mark, {"TERM": "dumb", **(env or {})}))
        os.close(slave)
        self.pid = self.popen.pid

    def read(self, wait=0.05):
        if select.select([self.fd], [], [], wait)[0]:
            with contextlib.suppress(OSError):
                self.seen += os.read(self.fd, 65536)
        return self.seen

    def type(self, data):
        os.write(self.fd, data.encode() if isinstance(data, str) else data)

    def wait_text(self, text, after=0, limit=LIMIT):
        """Until text stands behind position `after` of what was seen; the position behind it."""
        text = text.encode() if isinstance(text, str) else text
        end = time.monotonic() + limit
        while (at := self.read().find(text, after)) < 0:
            need(time.monotonic() < end, f"the terminal never showed {text!r}", self.seen,
                 *describe(left(self.mark)))
        return at + len(text)

    def finish(self, limit=LIMIT):
        """Wait for the end; the raw status."""
        end = time.monotonic() + limit
        while self.popen.poll() is None:
            self.read()
            need(time.monotonic() < end, "the command on the terminal does not end", self.seen,
                 *describe(left(self.mark)))
        while self.read(0) and select.select([self.fd], [], [], 0)[0]:
            try:
                data = os.read(self.fd, 65536)
            except OSError:
                break
            if not data:
                break
            self.seen += data
        os.close(self.fd)
        return self.popen.returncode


def read_all(fd, limit=LIMIT):
    """All of a pipe until its end; closes it."""
    data, end = b"", time.monotonic() + limit
    try:
        while True:
            left_over = max(0, end - time.monotonic())
            need(select.select([fd], [], [], left_over)[0], f"no end within {limit} s", len(data))
            piece = os.read(fd, 1 << 20)
            if not piece:
                return data
            data += piece
    finally:
        os.close(fd)


def write_file(path, text, mode=0o644):
    data = text if isinstance(text, bytes) else text.encode()
    if mode & 0o111:                     # a child that another thread forks would hold it open: ETXTBSY
        subprocess.run(["sh", "-c", 'cat >"$0"', path], input=data, check=True)
    else:
        with open(path, "wb") as f:
            f.write(data)
    os.chmod(path, mode)
    return path

"""mpirlib.py - gdb as a debugger that knows MPIR only, on the stripped launcher (mpir_gdb.py is what
it runs)."""

import json
import shutil
import subprocess
import tempfile

from lib import *

STRIPPED = os.path.join(B, "test", "sys-progs", "mpiexec_lite.stripped")
SH = ("/bin/sh", "-c")
FORK = {"HYDRA_LAUNCHER_AUTOFORK": "0"}


def strip():
    """The launcher without its symbols, before tests run; other test files use it too."""
    new = f"{STRIPPED}.{os.getpid()}"
    if os.path.exists(STRIPPED) and os.path.getmtime(STRIPPED) > os.path.getmtime(LAUNCHER):
        return
    os.makedirs(os.path.dirname(STRIPPED), exist_ok=True)
    subprocess.run(["strip", "--strip-all", "-o", new, LAUNCHER], check=True)
    os.rename(new, STRIPPED)


def sanitizer(option):
    """ASAN_OPTIONS with one more; it looks for leaks by ptrace, which is the debugger's here."""
    return ":".join(x for x in (os.environ.get("ASAN_OPTIONS"), option) if x)


class Debugger:
    """gdb -batch that runs these lines of Python, on a launcher or attached to one."""

    def __init__(self, code, *words, attach=None, env=None, launcher=None):
        self.mark = new_mark()
        script = os.path.join(tmp(), f"{self.mark}.py")
        write_file(script, f"import sys; sys.path.insert(0, {SYS!r})\nsys.dont_write_bytecode = True\n"
                           "from mpir_gdb import *\nprepare()\n" + code)
        what = ["-p", str(attach)] if attach else ["--args", launcher or STRIPPED,
                                                                  *map(str, words)]
        self.out = tempfile.TemporaryFile()
        self.popen = subprocess.Popen(
            ["gdb", "-nx", "-batch", "-x", script, *what], stdin=subprocess.DEVNULL,
            stdout=self.out, stderr=subprocess.STDOUT, start_new_session=True,
            env=environment(self.mark, {**(env or {}), "ASAN_OPTIONS": sanitizer("detect_leaks=0")}))

    def text(self):
        return os.pread(self.out.fileno(), 1 << 20, 0).decode(errors="replace")

    def said(self):
        return [json.loads(line[5:]) for line in self.text().splitlines()
                if line.startswith("MPIR ")]

    def wait_said(self, count):
        wait_for(lambda: len(self.said()) >= count or self.popen.poll() is not None,
                 f"{count} things said by gdb ({self.text()[-2000:]})")
        need(len(self.said()) >= count, "gdb ended too early", self.text())
        return self.said()

    def finish(self, clean=True):
        try:
            self.popen.wait(LIMIT)
        except subprocess.TimeoutExpired:
            kill_marked(self.mark)
            raise Wrong("gdb still runs\n" + self.text()) from None
        if clean:
            nothing_left(self.mark)
        return self.said()


def ended_with(d, status):
    how = "exited normally" if not status else f"exited with code {status:02o}"
    need(how in d.text(), f"the launcher {how}", d.text())

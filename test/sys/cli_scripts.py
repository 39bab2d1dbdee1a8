#!/usr/bin/env -S python3 -B
"""Scripts that call mpiexec, with ours in its place: CMake's FindMPI and CTest, a harness as
MPICH's test suite has it, and Python programs started by -m."""

import sys

from lib import *

SAMPLE = os.path.join(ROOT, "test", "cmake")


def command(*words, **env):
    return subprocess.run([os.fspath(w) for w in words], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, cwd=tmp(), env=environment(new_mark(), env),
                          timeout=4 * LIMIT, check=False)


def built():
    """The sample project, configured to use our launcher and built; its folder."""
    for words in (["cmake", "-S", SAMPLE, "-B", tmp() + "/b", "-DMPI_C_COMPILER=mpicc.mpich",
                   f"-DMPIEXEC_EXECUTABLE={os.path.abspath(LAUNCHER)}"],
                  ["cmake", "--build", tmp() + "/b"]):
        r = command(*words)
        same(r.returncode, 0, f"end of {words}: {r.stdout.decode()}")
    return tmp() + "/b"


@test("CMake: FindMPI takes the launcher, and all CTest tests of a project pass")
def cmake():
    folder = built()
    cache = open(folder + "/CMakeCache.txt").read()
    need(f"MPIEXEC_EXECUTABLE:UNINITIALIZED={os.path.abspath(LAUNCHER)}" in cache or
         f"MPIEXEC_EXECUTABLE:FILEPATH={os.path.abspath(LAUNCHER)}" in cache, "the launcher is used")
    r = command("ctest", "--test-dir", folder, "--output-on-failure")
    need(r.returncode == 0 and b"100% tests passed, 0 tests failed out of 6" in r.stdout, "all pass",
         r.stdout.decode())


# name, processes, words: as lines of a list of tests
TESTLIST = """
sum 1
sum 2
sum 4
sum 3 wrong
sum 2 abort
"""


@test("a harness in the manner of MPICH's: -n N ./prog, a time limit, ' No Errors', a status")
def harness():
    folder, seen = built(), []
    for line in TESTLIST.split("\n"):
        name, n, *words = line.split() or ["", "0"]
        if not name:
            continue
        r = subprocess.run([LAUNCHER, "-n", n, "./" + name, *words], cwd=folder,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                           env=environment(new_mark(), {"MPIEXEC_TIMEOUT": "180"}), timeout=4 * LIMIT,
                           check=False)
        seen.append((r.returncode, b" No Errors\n" in r.stdout))
    same(seen, [(0, True)] * 3 + [(1, False), (7, False)], "what the harness sees")


MODULE = """
import os, sys
sys.path.insert(0, {folder!r})
from rawpmi import *
c = Client(2)
c.put("from-%d" % rank, "of %d" % rank)
c.fence()
print("Hello, World! I am process", rank, "of", size, c.get("from-%d" % ((rank + 1) % size)))
c.finalize()
"""


@test("python3 -m MODULE, in the manner of mpi4py")
def module():
    os.mkdir(tmp() + "/pack")
    write_file(tmp() + "/pack/__init__.py", "")
    write_file(tmp() + "/pack/hello.py", MODULE.format(folder=SYS))
    r = good("-n", 2, sys.executable, "-B", "-m", "pack.hello", cwd=tmp())
    same(sorted(r.lines), [f"Hello, World! I am process {i} of 2 of {1 - i}" for i in range(2)], "output")
    r = good("-n", 2, sys.executable, "-c", "import os; print(os.environ['PMI_SIZE'])")
    same(r.lines, ["2", "2"], "output of -c")


@test("MPIEXEC as one word of a makefile: a name in PATH, and options behind the program")
def in_path():
    os.symlink(os.path.abspath(LAUNCHER), tmp() + "/mpiexec")
    path = f"{tmp()}:{os.environ['PATH']}"
    write_file(tmp() + "/Makefile", "MPIEXEC = mpiexec\ncheck:\n\t@$(MPIEXEC) -n 2 /bin/echo x -n 3 -l\n")
    r = command("make", "-s", "check", PATH=path, MAKEFLAGS="")
    same(r.stdout.decode().split(), ["x", "-n", "3", "-l"] * 2, "output of make")


main()

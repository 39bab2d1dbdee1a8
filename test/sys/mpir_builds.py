#!/usr/bin/env -S python3 -B
"""MPIR's symbols are found by gdb however the launcher was built: installed and stripped, with link-time
optimization, sections that are dropped, hidden symbols, clang, and without PIE.  And gdb's script is
right: it sees the same in Open MPI's launcher, where that is installed.

A build here compiles anew only what a debugger deals with; the other objects are those of $B, of which
there may be thousands of lines but nothing that a debugger looks for."""

import re

from mpirlib import *

OURS = ("mpir", "front", "control", "main")
PARTS = ("wire", "pmi2", "pmix_ext", "mpiexec_lite")
ABORTS = prog("slurm_all")


def make(*words):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    r = subprocess.run(["make", "-C", ROOT, *words], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, check=False)
    need(r.returncode == 0, f"make {words}", r.stdout.decode(errors="replace"))


def built(*words):
    """A stripped launcher of these variables of make."""
    with open(LAUNCHER, "rb") as f:
        if b"__asan_init" in f.read():
            raise Skip("objects with sanitizers are for their own compiler")
    folder = os.path.join(tmp(), "build")
    os.makedirs(folder)
    for part in PARTS:
        subprocess.run(["cp", "-rs", os.path.join(os.path.abspath(B), part), folder], check=True)
    for name in OURS:
        for end in "o", "d":
            os.unlink(os.path.join(folder, "mpiexec_lite", f"{name}.{end}"))
    launcher = os.path.join(folder, "bin", "mpiexec_lite")
    make(f"B={folder}", *words, launcher)
    subprocess.run(["strip", "--strip-all", launcher], check=True)
    return launcher


def debug(launcher):
    """All that a debugger does with it."""
    go = os.path.join(tmp(), "go")
    d = Debugger(f"launch('/bin/echo', 'a daemon')\nsee('spawned')\nawait_file({go!r})\ngdb.execute('continue')\n"
                 "see('aborting')\ngdb.execute('continue')\n", "-n", 2, ABORTS, "abort", 3, launcher=launcher)
    wait_for(lambda: "a daemon" in d.text() or d.popen.poll() is not None, "its daemon runs")
    write_file(go, "")
    spawned, aborting = d.finish()
    same([(x["program"], x["now"]) for x in spawned["table"]],
         [(os.path.realpath(ABORTS), ["T", 0, os.path.realpath(ABORTS)])] * 2, "the table")
    need(spawned["jobid"], "the job's name", spawned)
    need(aborting["state"] == 2 and aborting["abort"], "why it aborts", aborting)
    need("a daemon" in d.text(), "it had a daemon", d.text())


BUILDS = [("-O2", "CC=gcc", "CFLAGS=-O2"), ("-O3 and link-time optimization", "CC=gcc", "CFLAGS=-O3 -flto"),
          ("sections that are not used are dropped, symbols are hidden", "CC=gcc",
           "CFLAGS=-O2 -ffunction-sections -fdata-sections -fvisibility=hidden -Wl,--gc-sections"),
          ("clang -O3", "CC=clang", "CFLAGS=-O3 -Wno-unused-command-line-argument"),
          ("-O0", "CC=gcc", "CFLAGS=-O0 -g", "HARDEN=")]


@rows([(f"T2, R3: gdb on a stripped launcher: {name}", words) for name, *words in BUILDS])
def builds(words):
    if not shutil.which(words[0][3:]):
        raise Skip(f"there is no {words[0][3:]}")
    debug(built(*words))


@test("T2, R3: without PIE the symbols are where the file says")
def no_pie():
    launcher = built("PIE=no")
    head = subprocess.run(["readelf", "-h", launcher], check=True, stdout=subprocess.PIPE, text=True).stdout
    need("EXEC" in head, "no PIE", head)
    names = subprocess.run(["nm", "-D", launcher], check=True, stdout=subprocess.PIPE, text=True).stdout
    at = next(int(x.split()[0], 16) for x in names.splitlines() if x.endswith(" MPIR_Breakpoint"))
    d = Debugger("launch()\nsay(at=int(gdb.selected_frame().pc()))\n", "-n", 1, "/bin/true", launcher=launcher)
    seen = d.finish()[0]["at"]
    need(at <= seen < at + 16, f"{seen:#x} is in MPIR_Breakpoint at {at:#x}")
    debug(launcher)


@test("T1, R3: the launcher that make installs, stripped")
def installed():
    make(f"B={os.path.abspath(B)}", f"DESTDIR={tmp()}", "PREFIX=/usr", "-o", "all", "install")
    launcher = tmp() + "/usr/bin/mpiexec_lite"
    subprocess.run(["strip", "--strip-all", launcher], check=True)
    debug(launcher)


@rows([(f"{name} is sent without what debuggers read: that is in the file beside it", name)
       for name in ("mpiexec_lite", "pmi2_proxy", "pmi2_server", "pmix_tool")])
def split(name):
    program = os.path.join(os.path.abspath(B), "bin", name)
    heads = subprocess.run(["readelf", "-SW", program], check=True, stdout=subprocess.PIPE, text=True).stdout
    need(".debug_info" not in heads and ".gnu_debuglink" in heads and ".symtab" in heads, "its sections", heads)
    line = subprocess.run(["gdb", "-nx", "-batch", "-ex", "info line main", program], check=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
    need(re.search(r'Line \d+ of "[a-z0-9_]+/[a-z0-9_]*main\.c"', line), "gdb knows its lines", line)


@test("the same script on Open MPI's launcher: its table has the same form")
def open_mpi():
    launcher, mpicc = shutil.which("mpiexec.openmpi"), shutil.which("mpicc.openmpi")
    if not launcher or not mpicc:
        raise Skip("there is no Open MPI")
    program = tmp() + "/mpi_ranks"
    subprocess.run([mpicc, os.path.join(ROOT, "test/progs/mpi_ranks.c"), "-o", program], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    words = ["--allow-run-as-root", "--oversubscribe", "-n", 2, program, "hello"]
    d = Debugger("launch(library='libopen-rte')\nsee('spawned', ours=False)\ngdb.execute('continue')\n", *words,
                 launcher=os.path.realpath(launcher), env={"OMPI_MPIR_DO_NOT_WARN": "1"})
    theirs = d.finish()[0]
    mine = Debugger("launch()\nsee('spawned', ours=False)\ngdb.execute('continue')\n", "-n", 2, prog("mpi_ranks"),
                    "hello").finish()[0]
    for seen, image in ((theirs, program), (mine, prog("mpi_ranks"))):
        same((seen["state"], len(seen["table"])), (1, 2), "state and size")
        same([(x["host"], os.path.basename(x["program"]), x["now"][2]) for x in seen["table"]],
             [(HOST, "mpi_ranks", os.path.realpath(image))] * 2, "the table")
    same([x["now"][0] for x in mine["table"]], ["T"] * 2, "ours are held at exec")
    need("exited normally" in d.text(), "it ends well", d.text())


strip()
main(2)

#!/usr/bin/env -S python3 -B
"""Programs of Debian's MPICH, started by the launcher as mpiexec would."""

import re

from lib import *

MPI = prog("mpi_ranks")


@rows([(f"hello, ring, bcast and allreduce: {n} ranks, 1 to {largest} integers", n, largest)
       for n, largest in ((2, 65536), (16, 4096), (64, 16))])
def together(n, largest):
    r = good("-n", n, MPI, "all", largest)
    same(sorted(r.lines), sorted([f"hello from {i} of {n}" for i in range(n)] +
                                 [f"ring {n * (n - 1) // 2}", "coll good"]), "output")


@test("an MPI program of one rank")
def single():
    same(good("-n", 1, MPI, "hello").lines, ["hello from 0 of 1"], "output")


@rows([(f"MPI_Abort({code}) gives {want}", code, want) for code, want in
       ((42, 42), (1, 1), (256, 1), (-1, 255), (300, 44))])
def abort(code, want):
    r = run("-n", 2, MPI, "abort", code)
    same(r.status, want, "status")
    same(len(r.messages), 1, f"number of messages in {r}")
    need(f"rank 1 on {HOST} (pid " in r.messages[0] and f"abort({code})" in r.messages[0],
         "the message names the rank and the code", repr(r))


@test("a name is published by one rank and looked up by another")
def names():
    same(good("-n", 3, MPI, "names").lines, ["found tag#0$description#made-up$port#1$"], "output")


@test("an unknown name is MPI_ERR_NAME, and the job goes on")
def noname():
    same(good("-n", 1, MPI, "noname").lines, ["unknown name refused"], "output")


@test("several programs are one MPI_COMM_WORLD with an appnum each")
def mpmd():
    r = good("-n", 2, MPI, "mpmd", ":", "-n", 1, "-env", "A", "1", MPI, "mpmd", ":",
             "-n", 2, MPI, "mpmd")
    same(sorted(r.lines), [f"rank {i} of 5 appnum {a}" for i, a in enumerate((0, 0, 1, 2, 2))],
         "ranks")


@test("the same programs from -configfile give the same table")
def configfile():
    file = write_file(tmp() + "/job", f"# a comment\n-n 2 {MPI} mpmd\n-n 1 {MPI} mpmd\n")
    by_file = good("-configfile", file)
    by_line = good("-n", 2, MPI, "mpmd", ":", "-n", 1, MPI, "mpmd")
    same(sorted(by_file.lines), sorted(by_line.lines), "ranks")
    same(len(by_file.lines), 3, "number of ranks")


@test("a rank that leaves MPI without MPI_Finalize ends the job with 1")
def nofinalize():
    r = run("-n", 2, MPI, "nofinalize")
    same(r.status, 1, "status")
    need(len(r.messages) == 1 and "exited with 0 without finalize" in r.messages[0] and
         "rank 1 " in r.messages[0], "one message about rank 1", repr(r))


@test("an exit status after MPI_Finalize is the launcher's")
def after():
    r = run("-n", 2, MPI, "after", 9)
    same(r.status, 9, "status")
    need(len(r.messages) == 1 and "rank 1 " in r.messages[0], "rank 1 is named", repr(r))


ENVIRONMENT = """
    for name in sorted(os.environ):
        say(name + "=" + os.environ[name])
"""


def variables(r):
    return dict(x.partition("=")[::2] for x in r.lines)


@test("the PMI variables of a rank, and none of an outer launcher's")
def pmi_variables():
    outer = {"PMI_FD": "77", "PMI_ID": "5", "PMI_PORT": "x:1", "PMI_SPAWNED": "1",
             "PMIX_RANK": "3", "PMI2_X": "1", "SLURM_PMI2_Y": "1", "HYDI_CONTROL_FD": "3",
             "PMIX_NAMESPACE": "n", "PMI_DEBUG": "0", "KEPT": "a=b c\n'\""}
    job = Job("-n", 1, "true", ":", "-n", 1, *py("""
        say("\\0".join(n + "=" + v for n, v in sorted(os.environ.items())))
        c = Client(1); c.finalize()
    """), env=outer)
    r = job.finish()
    same(r.status, 0, f"status of {r}")
    v = dict(x.partition("=")[::2] for x in r.out.decode()[:-1].split("\0"))
    need("PMI_FD" in v and v["PMI_FD"] != "77" and int(v["PMI_FD"]) > 2, "PMI_FD", v)
    same({k: v.get(k) for k in ("PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS", "MPI_LOCALRANKID")},
         {"PMI_RANK": "1", "PMI_SIZE": "2", "MPI_LOCALNRANKS": "2", "MPI_LOCALRANKID": "1"},
         "variables")
    for name in ("PMI_ID", "PMI_PORT", "PMI_SPAWNED", "PMIX_RANK", "PMI2_X", "SLURM_PMI2_Y",
                 "HYDI_CONTROL_FD", "PMIX_NAMESPACE"):
        need(name not in v, f"{name} is not passed on", v)
    same(v["KEPT"], "a=b c\n'\"", "an inherited value")
    same(v.get("PMI_DEBUG"), "0", "PMI_DEBUG")
    same(v.get("PMI_HOSTNAME"), HOST, "PMI_HOSTNAME")


@test("check 5: -genvnone -env A 1 leaves A and the launcher's variables only")
def genvnone():
    v = variables(good("-genvnone", "-n", 1, "-env", "A", "1", "/usr/bin/env"))
    same(v.pop("A", None), "1", "A")
    other = [k for k in v if not k.startswith(("PMI_", "MPI_"))]
    same(other, [], "other variables")
    need("PMI_FD" in v and "PMI_RANK" in v, "PMI's variables are there", v)


@test("-genv, -env, -envlist and -genvlist reach whom they should")
def env_options():
    r = good("-l", "-genv", "G", "1=2", "-genvlist", "X1,X2", "-n", 1, "-env", "E=a b",
             "/usr/bin/env", ":", "-n", 1, "-envlist", "X2", "-env", "G", "own",
             "/usr/bin/env", ":", "-n", 1, "-envall", "/usr/bin/env",
             env={"X1": "x1", "X2": "x2", "X3": "x3"})
    tables = [dict(x[4:].partition("=")[::2] for x in r.lines if x.startswith(f"[{i}] "))
              for i in range(3)]
    seen = [{k: t[k] for k in ("G", "E", "X1", "X2", "X3") if k in t} for t in tables]
    same(seen, [{"G": "1=2", "E": "a b", "X1": "x1", "X2": "x2"}, {"G": "own", "X2": "x2"},
                {"G": "1=2", "X1": "x1", "X2": "x2", "X3": "x3"}], "variables by rank")


@test("arguments reach the program byte by byte, \\: as ':'")
def arguments():
    words = ["a b", "", "'\"$HOME`", "\\:", "\\", "é\n\t", "-n", "--", "a:b", "*"]
    r = good("-n", 1, *py("""
        sys.stdout.buffer.write(repr([a.encode("utf-8", "surrogateescape")
                                      for a in sys.argv[1:]]).encode())
    """), *words)
    want = [w.encode() for w in words]
    want[3] = b":"
    same(r.out.decode(), repr(want), "arguments")


@test("-wdir, relative and absolute, one for each program")
def wdir():
    os.makedirs(tmp() + "/one")
    r = good("-l", "-n", 1, "-wdir", "one", "pwd", ":", "-wdir", "/usr", "pwd", ":", "pwd",
             cwd=tmp())
    same(sorted(r.lines), [f"[0] {tmp()}/one", "[1] /usr", f"[2] {tmp()}"], "folders")


@rows([(f"-hydra-banner is what Hydra prints: {how}", how) for how in
       ("kill -9 $$", "kill -SEGV $$", "exit 3", "exit 0")])
def banner(how):
    # One rank: where there are two, Hydra tells by chance of the one that it killed itself.
    words = ["-n", 1, "sh", "-c", f"ulimit -c 0; {how}"]
    ours = run("-hydra-banner", *words)
    for _ in range(5):                   # Hydra loses it now and then
        theirs = subprocess.run(["mpiexec.mpich", *map(str, words)], stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=60).stdout
        if theirs or how == "exit 0":
            break
    hydra = re.sub(r"PID \d+", "PID N", theirs.decode()).split("This typically")[0]
    same(re.sub(r"PID \d+", "PID N", ours.out.decode()), hydra, "on stdout")
    same(run(*words).out, b"", "without it nothing")


@test("check 14: a program of another MPI is warned about, not run N times as 0 of 1 in silence")
def other_mpi():
    need(shutil.which("mpicc.openmpi"), "mpicc.openmpi is installed")
    exe = tmp() + "/ompi"
    source = write_file(tmp() + "/ompi.c", """
        #include <mpi.h>
        #include <stdio.h>
        int main(int c, char **v) { int r, n; MPI_Init(&c, &v); MPI_Comm_rank(MPI_COMM_WORLD, &r);
        MPI_Comm_size(MPI_COMM_WORLD, &n); printf("%d of %d\\n", r, n); MPI_Finalize(); return 0; }
        """)
    subprocess.run(["mpicc.openmpi", source, "-o", exe], check=True)
    r = run("-n", 2, exe)
    need("0 of 1" not in r.lines or any("warning: ompi is linked to libmpi" in m for m in r.messages),
         "a refusal or a warning", repr(r))
    wrapper = write_file(tmp() + "/wrapper", f'#!/bin/sh\n# sets things up\nA=1\n"{exe}" "$@"\n', 0o755)
    for words in (["sh", "-c", "A=1 ./ompi"], ["env", "A=1", exe], [wrapper], [wrapper, "arg"],
                  ["-wdir", tmp(), "./wrapper"]):
        r = run("-n", 2, *words, cwd=tmp())
        need("0 of 1" not in r.lines or
             any("did not use PMI, and " in m and "ompi, which it names, is linked to libmpi" in m
                 for m in r.messages), f"a warning for {words}", repr(r))
    for words in (["sh", "-c", "echo ompi"], ["echo", "/nowhere/ompi"], ["true"]):
        same(run("-n", 2, *words).messages, [], f"no warning for {words}")


@test("check 14: a Python whose mpi4py is of another MPI is warned about, wherever mpi4py is named")
def other_mpi4py():
    # A module of that name that does not use PMI, as one that is built for Open MPI does not.
    os.mkdir(tmp() + "/lib")
    write_file(tmp() + "/lib/mpi4py.py", "MPI = '0 of 1'\n")
    code = "from mpi4py import MPI; print(MPI)"
    file = write_file(tmp() + "/job.py", code + "\n")
    direct = write_file(tmp() + "/direct", f"#!{sys.executable}\n{code}\n", 0o755)
    for words, named in (([sys.executable, "-c", code], "names mpi4py"),
                         ([sys.executable, file], f"mpi4py is named in {file}"),
                         ([sys.executable, "-B", "job.py"], "mpi4py is named in job.py"),
                         (["env", "A=1", "sh", "-c", f"{sys.executable} job.py"],
                          "mpi4py is named in job.py"),
                         ([direct], "names mpi4py")):
        r = run("-n", 2, *words, cwd=tmp(), env={"PYTHONPATH": tmp() + "/lib"})
        same((r.status, r.lines), (0, ["0 of 1"] * 2), f"status and output of {words}")
        same(len(r.messages), 1, f"number of messages for {words}: {r}")
        need(f"did not use PMI, but {named}: if MPI was imported" in r.messages[0],
             f"a warning for {words}", repr(r))
    for words in ([sys.executable, "-c", "print(1)"], ["echo", "python3"], ["cat", file]):
        same(good("-n", 2, *words, cwd=tmp()).messages, [], f"no warning for {words}")


@test("check 14: Debian's mpi4py, which is built for Open MPI, is warned about")
def packaged_mpi4py():
    for words in (["-c", "from mpi4py import MPI; print(MPI.COMM_WORLD.size)"],
                  ["-m", "mpi4py.bench", "helloworld"]):
        r = run("-n", 2, "/usr/bin/python3", *words, env={"PYTHONPATH": ""})
        same((r.status, len(r.lines)), (0, 2), f"status and lines of {r}")
        need(len(r.messages) == 1 and "python3 did not use PMI, but names mpi4py" in r.messages[0],
             "a warning", repr(r))


main(2)

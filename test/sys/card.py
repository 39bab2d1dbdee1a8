#!/usr/bin/env -S python3 -B
"""What is said of a job that has failed, below the line that says what happened: the first
rank, its last words, what the others did, and how many processes are left."""

import re

from spawnlib import *

SH = ("/bin/sh", "-c")
FORK = ["-launcher", "fork", "-hosts", "a,b,c"]
FIRST = r"    first    rank {} on {} \(pid \d+, {}\), \d+\.\d{{3}} s after the start{}"


def own_lines(r):
    """What the launcher has said: messages, and lines that begin with four blanks; but not what
    ranks are doing when their time is up."""
    return [x for x in r.err.decode("utf-8", "backslashreplace").splitlines()
            if x.startswith(("mpiexec_lite: ", "    ")) and
            not re.match(r"mpiexec_lite: (ranks? [0-9-]+ on .*: running|stacks:|  )", x)]


def card(r, *patterns):
    """Its lines match, each whole."""
    lines = own_lines(r)
    same(len(lines), len(patterns), f"number of lines of {r}")
    for line, p in zip(lines, patterns):
        need(re.fullmatch(p, line), f"the line is {p}", repr(r))


FAILS = """
    i=1; while [ $i -le 9 ]; do echo "words $i of $PMI_RANK" >&2; i=$((i+1)); done
    case $PMI_RANK in
    0) touch gone; exit 0;;
    1) while [ ! -e gone ] || kill -0 $(cat pid 2>/dev/null) 2>/dev/null; do sleep 0.02; done
       sleep 0.3; kill -SEGV $$;;
    *) exec sleep 60;;
    esac
"""


@rows([("a rank of four, here", [], re.escape(HOST), 1),
       ("a rank of four, three hosts", FORK, "b", 4)])
def several(where, host, nodes):
    card(run(*where, "-n", 4, *SH, FAILS, cwd=tmp()),
         rf"mpiexec_lite: rank 1 on {host} \(pid \d+, sh\) killed by signal 11 \(SIGSEGV\).*",
         FIRST.format(1, host, "sh", ""),
         "    stderr   words 5 of 1", *(f"             words {i} of 1" for i in (6, 7, 8, 9)),
         "    others   1 ended before, 2 killed",
         rf"    0 processes left on {nodes} nodes?")


@test("inside PMI; others had finalized")
def inside():
    r = run("-n", 3, *py("""
        c = Client(2)
        if rank == 2:
            c.finalize()
            open("gone", "w").close()
            time.sleep(60)
        while rank == 1 and not os.path.exists("gone"):
            time.sleep(0.02)
        if rank == 1:
            os._exit(4)
        time.sleep(60)
    """), cwd=tmp())
    card(r, r"mpiexec_lite: rank 1 .* exited with 4 without finalize",
         FIRST.format(1, HOST, r"python3[.0-9]*", ", inside PMI"),
         "    others   2 killed; 1 had finalized", "    0 processes left on 1 node")


@rows([("some waited in a fence, here: who had not come", [], HOST, HOST, 1, 1),
       ("some waited in a fence, three hosts", FORK, "a", "b", 1, 4),
       ("some waited in a fence, by PMI-1", [], HOST, HOST, 0, 1)])
def fence(where, first, other, wire, nodes):
    r = run(*where, "-n", 6, *py(f"""
        c = Client({wire + 1})
        if rank in (2, 4, 5):
            c.send(c.message({["cmd=barrier_in", "cmd=kvs-fence;"][wire]!r}))
            open("in%d" % rank, "w").close()
        while rank == 0 and not all(os.path.exists("in%d" % r) for r in (2, 4, 5)):
            time.sleep(0.02)
        if rank == 0:
            time.sleep(0.3)              # for what they have said to arrive at their server
            os._exit(4)
        time.sleep(60)
    """), cwd=tmp())
    card(r, r"mpiexec_lite: rank 0 .* exited with 4 without finalize",
         FIRST.format(0, first, r"python3[.0-9]*", ", inside PMI"), "    others   5 killed",
         f"    fence    3 waited in one; not there: rank 1 on {other}, rank 3 on {first}",
         rf"    0 processes left on {nodes} nodes?")


@rows([("abort, on another host", FORK, "b"), ("abort, here", [], HOST)])
def abort(where, host):
    r = run(*where, "-n", 3, *py("""
        c = Client(2)
        if rank == 1:
            sys.stderr.write("the last \\033[31mwords\\n")
            sys.stderr.flush()
            c.send(c.message("cmd=abort;isworld=TRUE;exitcode=42;message=why;"))
        time.sleep(60)
    """))
    same(r.status, 42, f"status of {r}")
    card(r, r"mpiexec_lite: rank 1 .* called abort\(42\): why",
         FIRST.format(1, host, r"python3[.0-9]*", ", inside PMI"),
         r"    stderr   the last \\x1B\[31mwords", "    others   2 killed",
         r"    0 processes left on \d nodes?")


@test("a job that a rank has started; it ends the one it is connected to")
def spawned():
    child = script("child", """
        c = Client(2)
        c.fence()
        if rank == 1:
            sys.stderr.write("why\\n")
            os._exit(6)
        time.sleep(60)
    """)
    parent = script("parent", f"""
        c = Client(2)
        started(c, command({child!r}, n=2))
        time.sleep(60)
    """)
    r = run("-n", 1, parent)
    same(r.status, 6, f"status of {r}")
    lines = [x for x in own_lines(r) if x.startswith("    ")]
    for line, p in zip(lines, (FIRST.format(1, HOST, "child", ", inside PMI")
                               .replace("rank", "job 1: rank", 1), "    stderr   why",
                               "    others   1 killed", "    0 processes left on 1 node"),
                       strict=True):
        need(re.fullmatch(p, line), f"the line is {p}", repr(r))


@test("merged into stdout, the last words are known all the same")
def merged():
    r = run("-merge-stderr-to-stdout", "-n", 2, *SH,
            "test $PMI_RANK = 1 || exec sleep 60; echo why >&2; kill -9 $$")
    need("    stderr   why" in own_lines(r), "the words", repr(r))


TRIVIAL = ["-n", 1, *SH, "echo why >&2; exit 3"]


@test("one rank: one line; with -exitinfo more of it")
def one():
    line = rf"mpiexec_lite: rank 0 on {HOST} \(pid \d+, sh\) exited with 3"
    card(run(*TRIVIAL), line)
    card(run("-exitinfo", *TRIVIAL), line, FIRST.format(0, HOST, "sh", ""), "    stderr   why",
         "    0 processes left on 1 node")


@test("ranks that end by themselves: lines as ever; with -exitinfo of the first")
def nonzero():
    words = ["-n", 2, *SH, "test $PMI_RANK = 1 || exit 0; echo why >&2; exit 7"]
    line = rf"mpiexec_lite: rank 1 on {HOST} \(pid \d+, sh\) exited with 7"
    card(run(*words), line)
    card(run("-exitinfo", *words), line, FIRST.format(1, HOST, "sh", ""), "    stderr   why",
         "    others   1 ended before", "    0 processes left on 1 node")


@test("-silent-abort: one line")
def silent():
    card(run("-silent-abort", "-n", 3, CHORE, "die", 11),
         r"mpiexec_lite: rank \d .* killed by signal 11 \(SIGSEGV\).*")


@test("a good end says nothing, with -exitinfo neither")
def well():
    same(good("-exitinfo", "-n", 3, *SH, "echo words >&2").err.count(b"words"), 3, "stderr")
    same(own_lines(run("-exitinfo", "-n", 3, *SH, "echo words >&2")), [], "lines")


@test("time is up, or a signal: what is left is told")
def receipt():
    card(run("-timeout", 0.4, *FORK, "-n", 3, "sleep", 60),
         "mpiexec_lite: .*APPLICATION TIMED OUT, TIMEOUT = 0.4s", "    0 processes left on 4 nodes")
    job = Job(*FORK, "-n", 3, *SH, "echo ready; exec sleep 60")
    job.wait_text("ready", 3)
    job.kill(signal.SIGTERM)
    card(job.finish(), "    0 processes left on 4 nodes")


@test("a host that was lost is named: nobody has counted there")
def lost():
    job = Job(*FORK, "-n", 3, *SH, "echo ready; exec sleep 60")
    job.wait_text("ready", 3)
    ranks = [p for p in left(job.mark) if b"sleep" in proc_bytes(p, "cmdline")[:8] and
             b"PMI_RANK=1\0" in proc_bytes(p, "environ")]
    proxy = stat(ranks[0])[1]
    guard = stat(proxy)[1]
    for p in (guard, proxy):
        os.kill(p, signal.SIGKILL)
    r = job.finish(clean=False)          # with both of them dead, only the kernel ends the rank
    same(r.status, 255, f"status of {r}")
    need(own_lines(r)[-1] == "    0 processes left on 3 nodes; not confirmed: b", "the last line",
         repr(r))
    nothing_left(job.mark)


@test("words are bounded, and output is as it was")
def much():
    r = run("-n", 2, *SH, "test $PMI_RANK = 1 || exec sleep 60;"
            "yes 0123456789 | head -c 3000000 >&2;"
            "head -c 5000 /dev/zero | tr '\\0' x >&2; kill -9 $$")
    need(len(r.err) < 3000000 + 5000 + 3000, "the length of all", str(len(r.err)))
    same(r.err.count(b"0123456789\n"), 3000000 // 11, "lines")
    words = [x for x in own_lines(r) if x.startswith("    stderr")]
    need(words and set(words[0][13:]) == {"x"} and len(words[0]) < 2100, "the words", str(words))


def memory_group():
    """A control group of our own with little memory, and the file its members are put in."""
    for root, limit in (("/sys/fs/cgroup", "memory.max"),
                        ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")):
        group = os.path.join(root, f"test-card-{os.getpid()}")
        with contextlib.suppress(OSError):
            os.mkdir(group)
            if os.path.exists(os.path.join(group, limit)):
                write_file(os.path.join(group, limit), "67108864")
                with contextlib.suppress(OSError):
                    write_file(os.path.join(group, "memory.swap.max"), "0")
                return group
            os.rmdir(group)
    raise Skip("no control group with a memory limit can be made here")


@test("memory that runs out is said to have")
def memory():
    group = memory_group()
    try:
        r = run("-n", 1, sys.executable, "-c", "x = bytearray(1 << 30); print(len(x))",
                prefix=["/bin/sh", "-c", f"echo $$ >{group}/cgroup.procs && exec \"$@\"", "sh"])
        if r.status == 0:
            raise Skip("the limit does not hold here")
        same(r.status, 137, f"status of {r}")
        need(re.search(r"^    memory   (the kernel killed it|likely out: oom_kill)", r.err.decode(),
                       re.M), "the evidence", repr(r))
    finally:
        wait_for(lambda: not open(f"{group}/cgroup.procs").read(), "an empty group")
        os.rmdir(group)


main()

#!/usr/bin/env -S python3 -B
"""Every cause of an end: its exit status, and its one line on stderr."""

import re
import resource

from lib import *

SLURM, CHORE = prog("slurm_all"), prog("chore")
SH = ("/bin/sh", "-c")


def who(rank, program):
    return rf"mpiexec_lite: rank {rank} on {re.escape(HOST)} \(pid \d+, {program}\) "


def without_report(r):
    """Messages, but for the states and stacks of ranks that come before time is up."""
    need("mpiexec_lite: stacks:" in r.messages, "stacks", repr(r))
    return [x for x in r.messages
            if not re.match(r"mpiexec_lite: (ranks? [0-9-]+ on .*: running|stacks:|  )", x)]


def ends(words, status, message, **more):
    """One message line, matching whole; none wanted: message is None."""
    write_file(tmp() + "/no-interpreter", "#!/no/such/interpreter\n", 0o755)
    write_file(tmp() + "/bad-elf", b"\x7fELF\x02\x01\x01" + bytes(100), 0o755)
    words = [str(w).replace("@", tmp() + "/") if str(w)[:1] == "@" else w for w in words]
    r = run(*words, **more)
    same(r.status, status, f"status of {r}")
    need(r.raw >= 0, "the launcher exits", repr(r))
    if message is None:
        same(r.messages, [], "messages")
        return r
    said = r.messages if status != 124 else without_report(r)
    same(len(said), 1, f"number of messages in {r}")
    need(re.fullmatch(message, said[0]), f"the message is {message}", said[0])
    pid = re.search(r"\(pid (\d+),", said[0])
    need(not pid or int(pid[1]) > 1, "a pid", said[0])
    return r


WAIT = [SLURM, "nofinalize"]      # used with 0 or 1 ranks that do not wait

CAUSES = [
    # name, words, status, message
    ("all ranks end well", ["-n", 3, "true"], 0, None),
    ("one rank exits 5", ["-n", 2, "true", ":", "-n", 1, *SH, "exit 5"], 5,
     who(2, "sh") + "exited with 5"),
    ("the highest of several programs", ["-n", 1, *SH, "exit 3", ":", "-n", 1, *SH, "exit 5",
                                         ":", "-n", 1, *SH, "exit 4"], 5, "several"),
    ("1 and 2 give 2, not 3", ["-n", 1, *SH, "exit 1", ":", "-n", 1, *SH, "exit 2"], 2,
     "several"),
    ("ranks that exit alike are one line", ["-n", 4, *SH, "exit 7"], 7,
     rf"mpiexec_lite: ranks 0-3 on {HOST} \(sh\) exited with 7"),
    ("a rank that exits 255", ["-n", 1, *SH, "exit 255"], 255, who(0, "sh") + "exited with 255"),
    ("killed by SIGKILL", ["-n", 1, CHORE, "die", 9], 137,
     who(0, "chore") + r"killed by signal 9 \(SIGKILL\)"),
    ("killed by SIGTERM", ["-n", 1, CHORE, "die", 15], 143,
     who(0, "chore") + r"killed by signal 15 \(SIGTERM\)"),
    ("killed by SIGINT, its own", ["-n", 1, CHORE, "die", 2], 130,
     who(0, "chore") + r"killed by signal 2 \(SIGINT\)"),
    ("SIGSEGV of one ends the others", ["-n", 1, "sleep", 60, ":", "-n", 1, CHORE, "die", 11],
     139, who(1, "chore") + r"killed by signal 11 \(SIGSEGV\)"),
    ("a missing program", ["-n", 2, "no-such-program"], 127,
     r"mpiexec_lite: no-such-program: not found in PATH"),
    ("an empty name", ["-n", 2, ""], 127, r"mpiexec_lite: the name of the program is empty"),
    ("a missing file", ["-n", 2, "./no-such-file"], 127,
     r"mpiexec_lite: \./no-such-file: No such file or directory"),
    ("a missing program is found before any rank starts",
     ["-n", 1, *SH, "echo started", ":", "no-such-program"], 127,
     r"mpiexec_lite: no-such-program: not found in PATH"),
    ("a folder as program", ["-n", 1, "/usr"], 126, r"mpiexec_lite: /usr: .+"),
    ("a file that is not executable", ["-n", 1, "/etc/passwd"], 126,
     r"mpiexec_lite: /etc/passwd: Permission denied"),
    ("a missing working folder", ["-wdir", "/no/such", "-n", 2, "true"], 255,
     r"mpiexec_lite: .*/no/such.*No such file or directory"),
    ("a script whose interpreter is missing", ["-n", 2, "@no-interpreter"], 127,
     r"mpiexec_lite: .*no-interpreter.*"),
    ("an executable of another kind", ["-n", 1, "@bad-elf"], 126, r"mpiexec_lite: .*bad-elf.*"),
    ("the time limit", ["-timeout", 0.5, "-n", 2, "sleep", 60], 124,
     r"mpiexec_lite: .*APPLICATION TIMED OUT.*"),
    ("the time limit with a rank that ignores TERM", ["-timeout", 0.5, "-n", 1, CHORE, "ignore"],
     124, r"mpiexec_lite: .*APPLICATION TIMED OUT.*"),
    ("inside PMI: exit 7 without finalize", ["-n", 3, SLURM, "nofinalize", 7], 7,
     who(2, "slurm_all") + "exited with 7 without finalize"),
    ("inside PMI: exit 0 without finalize is 1", ["-n", 3, SLURM, "nofinalize", 0], 1,
     who(2, "slurm_all") + "exited with 0 without finalize"),
    ("inside PMI, alone: exit 0 without finalize", ["-n", 1, SLURM, "nofinalize", 0], 1,
     who(0, "slurm_all") + "exited with 0 without finalize"),
    ("before init: exit 5 while the others fence", ["-n", 3, SLURM, "before", 5], 5,
     who(2, "slurm_all") + "exited with 5.*"),
    ("before init: exit 0 while the others fence", ["-n", 3, SLURM, "before", 0], 1,
     who(2, "slurm_all") + "exited with 0 .*fence.*"),
    ("after finalize: exit 9", ["-n", 3, SLURM, "after", 9], 9,
     who(2, "slurm_all") + "exited with 9"),
    ("-end-on-nonzero", ["-end-on-nonzero", "-n", 1, "sleep", 60, ":", "-n", 1, *SH, "exit 3"],
     3, who(1, "sh") + "exited with 3.*"),
]


@rows([c for c in CAUSES if c[3] != "several"])
def cause(words, status, message):
    r = ends(words, status, message)
    need(status == 0 or b"started" not in r.out, "nothing was started", repr(r))


@rows([c for c in CAUSES if c[3] == "several"])
def several(words, status, _):
    r = run(*words)
    same(r.status, status, f"status of {r}")
    need(r.messages and all(re.fullmatch(who(r"\d", "sh") + r"exited with \d", m)
                            for m in r.messages), "a line for each", repr(r))


AGAIN = ["exit 5", "before init: exit 5", "inside PMI: exit 7", "SIGSEGV of one"]


@rows([(f"the same answer 5 times: {c[0]}",) + c[1:] for c in CAUSES
       if c[0].startswith(tuple(AGAIN))])
def again(words, status, message):
    for _ in range(5):
        ends(words, status, message)


@rows([("abort of a job whose ranks all ignore SIGTERM", """
            c.send(c.message("cmd=abort;exitcode=4;message=why;"))"""),
       ("a broken message in a job whose ranks all ignore SIGTERM", """
            c.send(b"garbage")""")])
def stubborn(deed):
    r = run("-n", 2, *py(f"""
        import signal
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        c = Client(2)
        c.fence()
        if rank == 0:{deed}
        time.sleep(80)
    """), limit=30)
    same(r.status, 4 if "abort" in deed else 1, f"status of {r}")


def abort_rank(text):
    return py(f"""
        c = Client(2)
        if rank == 1:
            c.send(c.message({text!r}))
            time.sleep(60)
        c.send(c.message("cmd=kvs-fence;"))
        time.sleep(60)
    """)


@rows([(f"abort: {text}", text, status, code) for text, status, code in (
    ("cmd=abort;isworld=TRUE;msg=why;", 1, None),
    ("cmd=abort;", 1, None),
    ("cmd=abort;exitcode=42;message=why;", 42, 42),
    ("cmd=abort;exitcode=-1;message=why;", 255, -1),
    ("cmd=abort;exitcode=256;message=why;", 1, 256),
    ("cmd=abort;exitcode=0;message=why;", 1, 0))])
def abort2(text, status, code):
    tail = r"called abort\(" + (r".*" if code is None else str(code)) + r"\)"
    ends(["-n", 3, *abort_rank(text)], status,
         who(1, r"python3[.0-9]*") + tail + (": why" if "why" in text else ".*"))


@rows([(f"abort in PMI-1: {text}", text, status) for text, status in (
    ("cmd=abort exitcode=42", 42), ("cmd=abort", 1),
    ("cmd=abort exitcode=7 message=PMI_Init failed, really", 7),
    ("cmd=abort exit_code=6 error_msg=PMI_Init failed, really", 6))])
def abort1(text, status):
    said = ": PMI_Init failed, really" if "really" in text else ""
    ends(["-n", 2, *py(f"""
        c = Client(1)
        if rank == 1:
            c.send({text!r} + "\\n")
        time.sleep(60)
    """)], status, who(1, r"python3[.0-9]*") + rf"called abort\({status}\){said}")


@test("Abort(FALSE) ends its caller only; the others end by themselves")
def abort_alone():
    r = run("-n", 3, *py("""
        c = Client(2)
        if rank == 1:
            c.send(c.message("cmd=abort;isworld=FALSE;msg=only me;"))
            time.sleep(60)
        time.sleep(0.7)
        c.ask("cmd=job-getid;")
        c.finalize()
        say("lived", rank)
    """))
    same(sorted(r.lines), ["lived 0", "lived 2"], "who lived")
    same(r.status, 1, f"status of {r}")


@test("Abort(FALSE) of a rank that ignores SIGTERM ends it all the same")
def abort_alone_stubborn():
    r = run("-n", 2, *py("""
        import signal
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        c = Client(2)
        if rank == 1:
            c.send(c.message("cmd=abort;isworld=FALSE;msg=only me;"))
            time.sleep(80)
        c.finalize()
    """), limit=30)
    same(r.status, 1, f"status of {r}")


@test("the first failure counts, not what follows from it")
def first_counts():
    for _ in range(3):
        ends(["-n", 1, *py("""
            import signal
            signal.signal(signal.SIGTERM, lambda *a: os._exit(99))
            c = Client(2)
            c.send(c.message("cmd=kvs-fence;"))
            c.read(1)
        """), ":", "-n", 1, *py("Client(2); time.sleep(0.1); os._exit(4)")], 4,
            who(1, r"python3[.0-9]*") + "exited with 4 without finalize")


@test("core dumped is said, and nothing of it when there is none")
def core():
    pattern = open("/proc/sys/kernel/core_pattern").read().strip()
    exe = os.path.join(tmp(), "crash")
    shutil.copy(CHORE, exe)

    def limit(n):
        return lambda: resource.setrlimit(resource.RLIMIT_CORE, (n, n))
    r = ends(["-n", 1, exe, "die", 6], 134, who(0, "crash") + r"killed by signal 6 \(SIGABRT\)",
             cwd=tmp(), preexec_fn=limit(0))
    if pattern.startswith("|"):
        return                           # whether one is written is up to that program
    limits = resource.getrlimit(resource.RLIMIT_CORE)
    if limits[1] not in (-1, resource.RLIM_INFINITY) and limits[1] < 1 << 20:
        return
    r = ends(["-n", 1, exe, "die", 6], 134,
             who(0, "crash") + r"killed by signal 6 \(SIGABRT\), core dumped", cwd=tmp(),
             preexec_fn=limit(limits[1]))
    need(r, "")


@test("-print-all-exitcodes")
def all_statuses():
    r = run("-print-all-exitcodes", "-n", 2, "true", ":", "-n", 1, *SH, "exit 3")
    same(r.status, 3, f"status of {r}")
    same([m for m in r.messages if "exit status of" in m],
         ["mpiexec_lite: exit status of ranks 0-1: 0", "mpiexec_lite: exit status of rank 2: 3"],
         "statuses")


@test("MPIEXEC_TIMEOUT; -timeout beats it; 0 and less is none")
def timeout_variable():
    same(run("-n", 1, "sleep", 60, env={"MPIEXEC_TIMEOUT": "1"}).status, 124, "status")
    same(run("-timeout", 0, "-n", 1, "sleep", 1.3, env={"MPIEXEC_TIMEOUT": "1"}).status, 0,
         "status of -timeout 0")
    same(run("-n", 1, "true", env={"MPIEXEC_TIMEOUT": "-5"}).status, 0, "status of -5")


@rows([(f"usage error: {' '.join(words) or '(nothing)'}", words, text) for words, text in (
    ([], "no program"),
    (["-n"], "-n"),
    (["-n", "abc", "true"], "abc"),
    (["-n", "0", "true"], "0"),
    (["-n", "-3", "true"], "-3"),
    (["-np4", "true"], "-np4"),
    (["-n", "2"], "no program"),
    (["-n", "1", "true", ":"], "no program"),
    ([":", "true"], "no program"),
    (["-outfle", "x", "true"], "did you mean -outfile?"),
    (["-prepend-rnk", "true"], "did you mean -prepend-rank?"),
    (["--no-such-thing-at-all-q", "true"], "--no-such-thing-at-all-q"),
    (["-n", "1", "-n", "2", "true"], "duplicate setting"),
    (["-bind-to", "shelf", "true"], "-bind-to: 'shelf' is not none, rr,"),
    (["-configfile", "/no/such/file", ], "/no/such/file"),
    (["-prepend-pattern", "%q", "true"], "%q"),
    (["-stdin", "nobody", "true"], "nobody"),
    (["-stdin", "9", "-n", "2", "true"], "9"),
    (["-output-from", "2", "-n", "2", "true"], "2"),
    (["-timeout", "soon", "true"], "soon"),
    (["-env", "A", ], "-env"),
    (["-genvall", "-genvnone", "true"], "genv"),
    (["-l=yes", "true"], "-l"))])
def usage(words, text):
    r = run(*words)
    same(r.status, 2, f"status of {r}")
    need(len(r.err.splitlines()) == 1 and len(r.messages) == 1, "one line on stderr", repr(r))
    need(text in r.messages[0], f"the line names {text!r}", r.messages[0])
    same(r.out, b"", "stdout")


@rows([(" ".join(words), words, text) for words, text in (
    (["-h"], "Usage: mpiexec_lite"), (["-help"], "Usage: mpiexec_lite"),
    (["--HELP"], "Usage: mpiexec_lite"), (["-version"], "."), (["-info"], "."),
    (["-n", "-h"], "Start N processes"), (["-outfile", "-help"], "file"))])
def asked(words, text):
    r = good(*words)
    need(text in r.out.decode(), f"stdout has {text!r}", repr(r))


@rows([(" ".join(map(str, words)), words, want) for words, want in (
    (["--np=2", "echo", "x"], 2), (["---N", 2, "echo", "x"], 2), (["echo", "x"], 1),
    (["-NP", 3, "--", "echo", "x"], 3), (["-n", 1, "echo", "x", ":", "-n", 2, "echo", "x"], 3))])
def spelled(words, want):
    same(good(*words).lines, ["x"] * want, "output")


@test("1000 x true, and no descriptor short")
def thousand():
    same(good("-n", 1000, "true").out, b"", "output")


@test("too few descriptors are said before anything starts")
def descriptors():
    r = run("-n", 100, *SH, "echo started",
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)))
    same(r.status, 255, f"status of {r}")
    need(b"started" not in r.out and len(r.messages) == 1 and "64" in r.messages[0] and
         "descriptors" in r.messages[0], "one line with the limit", repr(r))
    r = good("-n", 100, *SH, "ulimit -n",
             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 4096)))
    same(set(r.lines), {"64"}, "the limit that ranks see")


main()

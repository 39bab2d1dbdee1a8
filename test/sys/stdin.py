#!/usr/bin/env -S python3 -B
"""Who reads standard input, and that nobody else's is touched."""

import hashlib
import socket

from lib import *

SH = ("/bin/sh", "-c")
CAT = [*SH, "cat; echo \"end $PMI_RANK\""]


def digest(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


@test("by default rank 0 has it, the others see its end at once")
def default():
    for n in (1, 2, 4):
        r = run("-l", "-n", n, *CAT, input=b"x\n")
        same(r.status, 0, f"status of {r}")
        same(sorted(r.lines), sorted(["[0] x"] + [f"[{i}] end {i}" for i in range(n)]), "output")


@test("rank 0 of the first program, not of the second")
def first_program():
    r = run("-l", "-n", 1, *CAT, ":", "-n", 1, *CAT, input=b"x\n")
    same(sorted(r.lines), ["[0] end 0", "[0] x", "[1] end 1"], "output")


@rows([("-stdin none", "none", []), ("-stdin all", "all", [0, 1, 2]), ("-stdin 2", "2", [2]),
       ("-stdin file:F beats what stdin is", "file:", [0])])
def chosen(mode, readers):
    f = write_file(tmp() + "/f", "x\n")
    r = run("-l", "-stdin", mode + (f if mode == "file:" else ""), "-n", 3, *CAT,
            input=b"y\n" if mode == "file:" else b"x\n")
    same((r.status, sorted(r.lines)),
         (0, sorted([f"[{i}] x" for i in readers] + [f"[{i}] end {i}" for i in range(3)])),
         f"end of {r}")


@test("a missing file of -stdin file:F")
def missing():
    r = run("-stdin", "file:/no/such/file", "-n", 1, "cat")
    need(r.status in (2, 255) and len(r.messages) == 1 and "/no/such/file" in r.messages[0],
         "one line that names it", repr(r))


@test("check 4: a 'while read' loop around the launcher keeps its input")
def while_read():
    for program in ("true", "cat /dev/null"):
        for feed in ("printf '1\\n2\\n3\\n' |", ""):
            file = write_file(tmp() + "/three", "1\n2\n3\n")
            script = f"{feed} while read a; do {LAUNCHER} -n 2 {program}; echo got $a; done"
            if not feed:
                script += f" < {file}"
            r = subprocess.run(["bash", "-c", script], stdout=subprocess.PIPE, timeout=LIMIT,
                               env=environment(new_mark()), check=True)
            same(r.stdout, b"got 1\ngot 2\ngot 3\n", f"output of {script}")


@test("what rank 0 leaves in a file is there for the next reader")
def leaves_rest():
    file = write_file(tmp() + "/lines", "1\n2\n3\n")
    r = subprocess.run(["bash", "-c", f"{{ {LAUNCHER} -n 1 sh -c 'read x; echo rank $x'; cat; }} "
                        f"< {file}"], stdout=subprocess.PIPE, env=environment(new_mark()),
                       timeout=LIMIT, check=True)
    same(r.stdout, b"rank 1\n2\n3\n", "output")


def big_file():
    path = tmp() + "/big"
    block = os.urandom(1 << 20)
    with open(path, "wb") as f:
        for i in range(50):
            f.write(block[i:] + block[:i])
        f.write(b"and a bit")
    return path


@rows([("50 MB from a file", [], "file", 1), ("50 MB from a pipe", [], "pipe", 1),
       ("50 MB to every one of 3 ranks", ["-stdin", "all"], "pipe", 3),
       ("50 MB to rank 1", ["-stdin", "1"], "file", 1)])
def big(options, kind, readers):
    path = big_file()
    with contextlib.ExitStack() as stack:
        if kind == "file":
            source = stack.enter_context(open(path, "rb"))
        else:
            cat = stack.enter_context(subprocess.Popen(["cat", path], stdout=subprocess.PIPE))
            source = cat.stdout
        r = Job(*options, "-n", 3, "sha256sum", stdin=source).finish()
    same((r.status, sum(x.startswith(digest(path)) for x in r.lines), len(r.lines)),
         (0, readers, 3), f"end of {r}")


@test("-stdin all: a rank that does not read does not keep it from the others")
def one_leaves():
    path = write_file(tmp() + "/data", os.urandom(3 << 20))
    with open(path, "rb") as f:
        r = Job("-stdin", "all", "-n", 3, *SH,
                "[ $PMI_RANK = 1 ] || exec sha256sum", stdin=f).finish()
    same((r.status, r.lines), (0, [digest(path) + "  -"] * 2), f"end of {r}")


@test("the job ends when its ranks do, though stdin stays open")
def open_pipe():
    for options in ([], ["-stdin", "all"]):
        ours, theirs = os.pipe()
        r = Job(*options, "-n", 2, "true", stdin=ours).finish()
        os.close(ours)
        os.close(theirs)
        same(r.status, 0, f"status of {r}")


@test("stdin may be a socket")
def from_socket():
    a, b = socket.socketpair()
    a.sendall(b"hello\n")
    a.shutdown(socket.SHUT_WR)
    r = Job("-n", 2, "cat", stdin=b).finish()
    same((r.status, r.out), (0, b"hello\n"), f"end of {r}")
    a.close()
    b.close()


@test("a launcher whose stdin is closed: ranks see its end; PMI works")
def closed():
    for options in ([], ["-stdin", "all"], ["-stdin", "1"]):
        r = run(*options, "-n", 2, *py("""
            need(os.read(0, 10) == b"", "input")
            c = Client(2); c.fence(); c.finalize(); say("good")
        """), prefix=["sh", "-c", 'exec "$@" <&-', "x"])
        same((r.status, r.lines), (0, ["good"] * 2), f"end of {r}")


@test("descriptors 0, 1 and 2 all closed")
def all_closed():
    out = tmp() + "/out"
    job = Job("-outfile", out, "-n", 2, *py("""
        c = Client(2); c.fence(); c.finalize(); say("good")
    """), prefix=["sh", "-c", 'exec "$@" <&- >&- 2>&-', "x"])
    r = job.finish()
    same((r.status, open(out).read()), (0, "good\ngood\n"), f"end of {r}")


# --- a terminal -----------------------------------------------------------------------

@test("lines typed at a terminal reach rank 0; Ctrl-D ends them")
def terminal():
    t = Terminal([LAUNCHER, "-l", "-n", 2, *SH, "cat; echo end $PMI_RANK"])
    at = t.wait_text("[1] end 1")
    t.type("first\n")
    at = t.wait_text("[0] first", at)
    t.type("second\n")
    at = t.wait_text("[0] second", at)
    t.type("\x04")
    t.wait_text("[0] end 0", at)
    same(t.finish(), 0, "status")


@test("a terminal and -stdin all")
def terminal_all():
    t = Terminal([LAUNCHER, "-l", "-stdin", "all", "-n", 2, *CAT])
    t.type("word\n")
    for i in range(2):
        t.wait_text(f"[{i}] word")
    t.type("\x04")
    same(t.finish(), 0, "status")
    need(b"end 0" in t.seen and b"end 1" in t.seen, "both ended", t.seen)


@test("in the background: not stopped, and what is typed is the shell's; fg: the rank's")
def background():
    t = Terminal(["bash", "--norc", "--noprofile", "-i"], {"PS1": "ready> "})
    at = t.wait_text("ready> ")
    t.type(f"{LAUNCHER} -l -n 2 sh -c 'echo up; cat' & sleep 0.1\n")
    at = t.wait_text("[0] up", at)
    for word in ("one", "two"):
        t.type(f"echo shell-$((1 + 1))-{word}\n")
        at = t.wait_text(f"shell-2-{word}", at)
    t.type("jobs; echo listed-$((3 + 4))\n")
    before, at = at, t.wait_text("listed-7", at)
    need(b"Running" in t.seen[before:at] and b"Stopped" not in t.seen[before:at], "it runs",
         t.seen)
    t.type("fg\n")
    time.sleep(0.2)
    t.type("to the rank\n")
    at = t.wait_text("[0] to the rank", at)
    t.type("\x04")
    at = t.wait_text("ready> ", at)
    t.type("echo status-$?; exit\n")
    t.wait_text("status-0", at)
    t.finish()
    nothing_left(t.mark)


main()

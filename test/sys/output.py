#!/usr/bin/env -S python3 -B
"""What ranks write arrives whole, once, unmixed, and in bounded memory."""

import random
import re

from lib import *

CHORE = prog("chore")
SH = ("/bin/sh", "-c")


def random_file(name, size, seed):
    return write_file(os.path.join(tmp(), name), random.Random(seed).randbytes(size))


# --- bytes -----------------------------------------------------------------------

@rows([(f"{size} random bytes of one rank", size) for size in
       (0, 1, 4095, 65536, 65537, 1 << 20, (5 << 20) + 3)])
def one_rank(size):
    f = random_file("data", size, size)
    r = good("-n", 1, "cat", f)
    need(r.out == open(f, "rb").read(), "output differs from what was written", len(r.out), size)
    r = good("-n", 1, *SH, f"cat {f} >&2")
    need(r.err == open(f, "rb").read(), "stderr differs from what was written", len(r.err), size)


@test("random bytes of 5 ranks, in a file for each by -outfile")
def files_of_ranks():
    sizes = [0, 1, 65536, 1000003, 3 << 20]
    for i, size in enumerate(sizes):
        random_file(f"in.{i}", size, i)
    good("-outfile", "out.%r", "-errfile", "err.%r", "-n", 5, *SH,
         "cat in.$PMI_RANK & cat in.$PMI_RANK >&2; wait", cwd=tmp())
    for i, size in enumerate(sizes):
        want = open(f"{tmp()}/in.{i}", "rb").read()
        for name in "out", "err":
            got = open(f"{tmp()}/{name}.{i}", "rb").read()
            need(got == want, f"{name}.{i} differs", len(got), size)


@test("random bytes of 4 ranks under labels: each rank's lines are what it wrote")
def labelled_bytes():
    sizes = [10, 300000, 1 << 20, 77777]
    for i, size in enumerate(sizes):
        random_file(f"in.{i}", size, 100 + i)
    r = good("-l", "-n", 4, *SH, "cat in.$PMI_RANK", cwd=tmp())
    seen = {i: [] for i in range(4)}
    for line in r.out.split(b"\n")[:-1 if r.out.endswith(b"\n") else None]:
        need(re.match(rb"\[[0-3]\] ", line), "a label at the start of the line", line[:40])
        seen[line[1] - 48].append(line[4:])
    for i in range(4):
        want = open(f"{tmp()}/in.{i}", "rb").read()
        need(b"\n".join(seen[i]) == want.removesuffix(b"\n"), f"rank {i} differs")


@test("64 ranks of 10000 lines each: none mixed, none lost, in order")
def many_lines():
    r = good("-n", 64, CHORE, "lines", 10000)
    seen = {}
    for line in r.out.splitlines(True):
        seen.setdefault(line.partition(b" ")[0], []).append(line)
    same(len(seen), 64, "number of ranks with lines")
    for i in range(64):
        want = subprocess.run([CHORE, "lines", "10000"], env={"PMI_RANK": str(i)}, check=True,
                              stdout=subprocess.PIPE).stdout
        need(b"".join(seen[str(i).encode()]) == want, f"the lines of rank {i} differ")


@test("a line of 60000 bytes of each of 8 ranks is not mixed")
def long_lines():
    r = good("-n", 8, *py("""
        for i in range(5):
            os.write(1, b"abcdefgh"[rank:rank + 1] * 30000)
            os.write(1, b"abcdefgh"[rank:rank + 1] * 30000 + b"\\n")
    """))
    same(sorted((x[:1], len(x), len(set(x))) for x in r.lines),
         [(x, 60000, 1) for x in "abcdefgh" for _ in range(5)], "lines")


@test("a line of 5 MB arrives whole, whatever the limit of a held line is")
def giant_line():
    r = good("-l", "-n", 1, *SH, "head -c 5000000 /dev/zero | tr '\\0' z; echo")
    same((len(r.out), r.out[:6], r.out[-3:]), (5000005, b"[0] zz", b"zz\n"), "line")


# --- lines and labels ---------------------------------------------------------------

HALVES = "printf aa$PMI_RANK; sleep 0.3; printf 'bb%s\\n' $PMI_RANK; printf end$PMI_RANK"


@test("check 2: labels stand at line starts only; halves of a line are put together")
def labels():
    r = good("-l", "-stdin", "none", "-n", 3, *SH, HALVES)
    same(sorted(r.lines), sorted(x for i in range(3) for x in (f"[{i}] aa{i}bb{i}",
                                                               f"[{i}] end{i}")), "lines")


@test("without labels: whole lines, and no byte is added")
def no_labels():
    r = good("-stdin", "none", "-n", 3, *SH, HALVES)
    same(sorted(re.findall(r"aa\dbb\d\n", r.out.decode())), [f"aa{i}bb{i}\n" for i in range(3)],
         f"lines in {r}")
    same(len(r.out), 3 * len("aa0bb0\nend0"), "number of bytes")


@test("a pause inside a line of rank 0 is no prompt when its stdin is /dev/null or a file")
def no_prompt():
    script = "[ $PMI_RANK = 1 ] && sleep 0.4; printf aa$PMI_RANK; [ $PMI_RANK = 1 ] || " \
             "sleep 0.8; printf 'bb%s\\n' $PMI_RANK"
    with open(write_file(tmp() + "/in", "x\n"), "rb") as file:
        for stdin in (subprocess.DEVNULL, file):
            same(sorted(good("-n", 2, *SH, script, stdin=stdin).lines), ["aa0bb0", "aa1bb1"],
                 "lines")


@test("labels on stderr; what is on stderr does not come on stdout, and back")
def stderr_label():
    r = good("-prepend-rank", "-n", 2, *SH, "echo out; echo err >&2")
    same((sorted(r.out.splitlines()), sorted(r.err.splitlines())),
         ([b"[0] out", b"[1] out"], [b"[0] err", b"[1] err"]), "streams")


@test("-merge-stderr-to-stdout, -output-from, -prepend-pattern")
def options():
    r = good("-merge-stderr-to-stdout", "-l", "-n", 2, *SH, "echo out; echo err >&2")
    same((sorted(r.lines), r.err), (["[0] err", "[0] out", "[1] err", "[1] out"], b""), "merged")
    r = good("-output-from", 1, "-n", 3, *SH, "echo out $PMI_RANK; echo err $PMI_RANK >&2")
    same((r.out, r.err), (b"out 1\n", b"err 1\n"), "rank 1 alone")
    r = good("-prepend-pattern", "%r@%h %%: ", "-n", 2, "echo", "x")
    same(sorted(r.lines), [f"{i}@{HOST} %: x" for i in range(2)], "pattern")


@test("a prompt without newline is shown while the rank waits for input")
def prompt():
    job = Job("-n", 2, *SH, "[ $PMI_RANK = 0 ] || exit 0; printf 'name? '; read x; echo hi $x",
              stdin=subprocess.PIPE)
    job.wait_text("name? ")
    job.popen.stdin.write(b"you\n")
    job.popen.stdin.close()
    same(job.finish().out, b"name? hi you\n", "output")


# --- ends ------------------------------------------------------------------------------

@test("nothing is lost when ranks end with full pipes")
def full_pipes():
    for n in (1, 8):
        r = good("-n", n, CHORE, "fill")
        same(r.out.count(b"\nlast line\n"), n, "last lines")
        need(len(r.out) >= n * 30000, "what was in the pipe", len(r.out))


@test("nothing is lost when a rank fails: what it wrote before is shown")
def before_failure():
    r = run("-n", 4, *SH, "head -c 60000 /dev/zero | tr '\\0' z; echo; echo end $PMI_RANK; "
            "[ $PMI_RANK = 3 ] && kill -9 $$; sleep 60")
    same(r.status, 137, f"status of {r}")
    need(b"end 3\n" in r.out, "the last words of the rank that failed", r.out[-100:])
    need(b"z" * 60000 + b"\n" in r.out, "its long line")


@test("a child that writes for a moment after its parent, the rank, ended")
def late():
    r = good("-n", 2, CHORE, "late", 400, "late-words")
    same(r.lines, ["late-words"] * 2, "output")


@test("a daemon that holds stdout does not keep the job")
def daemon():
    r = good("-n", 2, CHORE, "daemon-exit")
    same(r.lines, ["ready"] * 2, "output")


# --- readers --------------------------------------------------------------------------

def high_water(pid):
    line = next(x for x in proc_bytes(pid, "status").splitlines() if x.startswith(b"VmHWM"))
    return int(line.split()[1])


@rows([("a stalled reader of stdout: launcher's memory stays bounded, ranks wait", []),
       ("the same with labels", ["-l"])])
def stalled(options):
    ours, theirs = os.pipe()
    job = Job(*options, "-n", 8, CHORE, "flood", stdout=theirs)
    os.close(theirs)
    root = job.root()
    try:
        time.sleep(1)
        first = high_water(job.pid) + high_water(root)
        time.sleep(0.7)
        second = high_water(job.pid) + high_water(root)
        need(second - first <= 1024 and second < 32 << 10, "memory in KiB", first, second)
        data = b""
        while len(data) < 4 << 20:           # then it reads on, and nothing was lost
            need(select.select([ours], [], [], LIMIT)[0], "output goes on", len(data))
            data += os.read(ours, 1 << 20)
    finally:
        os.close(ours)
    seen = {}
    for line in data.split(b"\n")[:-1]:
        m = re.fullmatch((rb"\[\d\] " if options else b"") + rb"(\d) (\d+) x*", line)
        need(m, "a whole line", line)
        same(int(m[2]), seen.get(m[1], -1) + 1, f"the next line of rank {m[1]}")
        seen[m[1]] = int(m[2])
    same(job.finish().status, 141, "status once the reader is gone")


@test("a reader that wakes up long after all ranks have ended misses nothing")
def late_reader():
    ours, theirs = os.pipe()
    job = Job("-l", "-n", 40, *SH, "head -c 60000 /dev/zero | tr '\\0' z; echo; echo end $PMI_RANK",
              stdout=theirs)
    os.close(theirs)
    time.sleep(3.5)
    data = read_all(ours)
    same(job.finish().status, 0, "status")
    want = [x for i in range(40) for x in (b"[%d] " % i + b"z" * 60000, b"[%d] end %d" % (i, i))]
    need(sorted(data.splitlines()) == sorted(want), "the lines", len(data))


@test("stdout and stderr in one pipe or file: lines of both stay whole")
def one_pipe():
    program = [*SH, f"{CHORE} lines 3000 & {CHORE} lines 3000 >&2; wait"]
    want = []
    for i in range(6):
        want += 2 * subprocess.run([CHORE, "lines", "3000"], env={"PMI_RANK": str(i)}, check=True,
                                   stdout=subprocess.PIPE).stdout.splitlines()
    with open(tmp() + "/both", "wb") as f:
        run("-n", 6, *program, stdout=f, stderr=subprocess.STDOUT)
    ours, theirs = os.pipe()
    job = Job("-n", 6, *program, stdout=theirs, stderr=theirs)
    os.close(theirs)
    piped = read_all(ours)
    same(job.finish().status, 0, "status")
    for name, data in (("file", open(tmp() + "/both", "rb").read()), ("pipe", piped)):
        need(sorted(data.splitlines()) == sorted(want), f"the lines in a {name}", len(data))


@rows([("the reader of stdout is gone: 141, quietly", 1, "flood"),
       ("the reader is gone, 8 ranks", 8, "flood")])
def reader_gone(n, mode):
    ours, theirs = os.pipe()
    job = Job("-n", n, CHORE, mode, stdout=theirs)
    os.close(theirs)
    os.read(ours, 10)
    os.close(ours)
    r = job.finish()
    same((r.status, r.messages), (141, []), f"end of {r}")


@test("| head -1 as a shell has it")
def head():
    r = subprocess.run(["bash", "-c", 'set -o pipefail; "$@" | head -1', "x", LAUNCHER, "-n", "2",
                        CHORE, "flood"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       timeout=LIMIT, env=environment(new_mark()), check=False)
    same((r.returncode, len(r.stdout.splitlines()), r.stderr), (141, 1, b""), "end")


@test("a full device: one message with the reason")
def full_device():
    with open("/dev/full", "wb") as full:
        r = run("-n", 2, CHORE, "flood", stdout=full)
    same((r.status, len(r.messages)), (255, 1), f"end of {r}")
    need("write to stdout: No space left on device" in r.messages[0], "message", repr(r))


@test("a full device: what is printed instead of a job, and before one, is missed: 255")
def full_answers():
    for words in ["-h"], ["-explain", "true"], ["-check", "true"], ["-print-rank-map", CHORE, "args"]:
        with open("/dev/full", "wb") as full:
            r = run(*words, stdout=full)
        same((r.status, r.messages), (255, ["mpiexec_lite: write to stdout: No space left on device"]),
             f"end of {words}")


@test("who has stopped reading what is printed instead of a job, or before one: SIGPIPE, silently")
def unread_answers():
    for words in ["-h"], ["-explain", "true"], ["-check", "true"], ["-print-rank-map", CHORE, "args"]:
        r, w = os.pipe()
        os.close(r)
        end = run(*words, stdout=w)
        os.close(w)
        same((end.status, end.err), (128 + signal.SIGPIPE, b""), f"end of {words}")


@test("a full disk below -outfile: one message with the file's name")
def full_disk():
    disk = tmp() + "/disk"
    os.mkdir(disk)
    need(os.getuid() == 0, "needs root, to mount")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", disk], check=True)
    try:
        r = run("-outfile", disk + "/out.%r", "-n", 1, CHORE, "flood")
        same((r.status, len(r.messages)), (255, 1), f"end of {r}")
        need(f"{disk}/out.0: No space left on device" in r.messages[0], "message", repr(r))
    finally:
        subprocess.run(["umount", disk], check=True)


@test("no stdout at all: a silent job ends well, a speaking one ends")
def closed_stdout():
    same(run("-n", 2, "true", prefix=["sh", "-c", 'exec "$@" >&-', "x"], stdout=None).status, 0,
         "status of a silent job")
    r = run("-n", 2, "echo", "x", prefix=["sh", "-c", 'exec "$@" >&-', "x"])
    need(r.status in (0, 255) and b"x" not in r.out, "end", repr(r))


@test("O_NONBLOCK of what we hand to the launcher is not changed")
def nonblock():
    ours, theirs = os.pipe()
    in_ours, in_theirs = os.pipe()
    job = Job("-n", 2, *SH, "echo ready; read x", stdin=in_ours, stdout=theirs, stderr=theirs)
    need(b"ready" in os.read(ours, 100), "it runs")

    def flags():
        return [fcntl.fcntl(f, fcntl.F_GETFL) & os.O_NONBLOCK for f in (theirs, in_ours)]
    same(flags(), [0, 0], "O_NONBLOCK while it runs")
    os.close(in_theirs)
    job.finish()
    same(flags(), [0, 0], "O_NONBLOCK afterwards")
    for f in (ours, theirs, in_ours):
        os.close(f)


# --- files ----------------------------------------------------------------------------

@test("check 9: -outfile empties the file first, and takes %r, %h and %%")
def truncates():
    name = f"{tmp()}/%%-%h-%r"
    for text in ("a long first line", "short"):
        good("-outfile", name, "-n", 2, "echo", text)
    for i in range(2):
        same(open(f"{tmp()}/%-{HOST}-{i}").read(), "short\n", f"file {i}")


@test("-outfile makes the folders that are missing")
def makes_folders():
    good("-outfile", f"{tmp()}/a/b.%r/c", "-n", 2, "echo", "text")
    same([open(f"{tmp()}/a/b.{i}/c").read() for i in range(2)], ["text\n"] * 2, "files")


@test("one -outfile for all ranks holds whole lines of all")
def one_file():
    good("-outfile", tmp() + "/all", "-l", "-n", 8, CHORE, "lines", 2000)
    lines = open(tmp() + "/all", "rb").read().splitlines()
    same(len(lines), 16000, "lines")
    need(all(x.startswith(b"[%s] %s " % (x[4:5], x[4:5])) for x in lines), "label and line agree")


@rows([("-outfile: a symbolic link is not followed", "link", "symbolic link"),
       ("-outfile: a file of two names is left alone", "hard", "2 names"),
       ("-outfile: a folder that cannot be made", "hard/file", "Not a directory"),
       ("-outfile: a folder", "folder", "folder")])
def refused(name, text):
    write_file(tmp() + "/precious", "precious")
    write_file(tmp() + "/twin", "precious")
    os.symlink("precious", tmp() + "/link")
    os.link(tmp() + "/twin", tmp() + "/hard")
    os.mkdir(tmp() + "/folder")
    r = run("-outfile", f"{tmp()}/{name}", "-n", 2, *SH, "echo gone; sleep 20")
    same((r.status, len(r.messages)), (255, 1), f"end of {r}")
    need(text in r.messages[0], f"the message says {text!r}", repr(r))
    same([open(f"{tmp()}/{x}").read() for x in ("precious", "twin")], ["precious"] * 2, "files")


main()

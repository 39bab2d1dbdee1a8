"""spawnlib.py - what the tests of jobs that ranks start share: scripts for their ranks, on
one node or over hosts, and how much memory and how many descriptors a launcher has."""

import re

import lib
from lib import *

RAW, CHORE = prog("spawn_raw"), prog("chore")
PORT = "tag#0$description#node1.example$port#4242$ifname#10.0.0.1$"

ALONE = []
HOSTS = ["-launcher", "fork", "-hosts", "h[0-2]:2"]
WHERE = [("", ALONE), (", three hosts", HOSTS)]

# What all scripts have: rawpmi, and commands that spawn.
HEAD = f"""#!{sys.executable} -SB
import sys; sys.path.insert(0, {SYS!r}); from rawpmi import *
import signal
PORT = {PORT!r}
HERE = os.path.dirname(sys.argv[0])

def command(program, *args, n=1, **info):
    return program, args, n, list(info.items())

def twice(text):
    return str(text).replace(";", ";;")

def block_1(i, total, preput, program, args, n, info):
    lines = ["mcmd=spawn", "nprocs=%s" % n, "execname=" + program, "totspawns=%d" % total,
             "spawnssofar=%d" % (i + 1), "argcnt=%d" % len(args)]
    lines += ["arg%d=%s" % (k + 1, a) for k, a in enumerate(args)]
    if i == 0:
        lines += ["preput_num=%d" % len(preput)]
        for k, (key, value) in enumerate(preput):
            lines += ["preput_key_%d=%s" % (k, key), "preput_val_%d=%s" % (k, value)]
    lines += ["info_num=%d" % len(info)]
    for k, (key, value) in enumerate(info):
        lines += ["info_key_%d=%s" % (k, key), "info_val_%d=%s" % (k, value)]
    return "\\n".join(lines + ["endcmd", ""])

def block_2(program, args, n, info):
    words = ["subcmd=" + twice(program), "maxprocs=%s" % n, "argc=%d" % len(args)]
    words += ["argv%d=%s" % (k, twice(a)) for k, a in enumerate(args)]
    words += ["infokeycount=%d" % len(info)]
    for k, (key, value) in enumerate(info):
        words += ["infokey%d=%s" % (k, twice(key)), "infoval%d=%s" % (k, twice(value))]
    return words

def send_spawn(c, *commands, preput=(), thrid=None):
    preput = list(dict(preput).items())
    if c.version == 1:
        c.send("".join(block_1(i, len(commands), preput, *x) for i, x in enumerate(commands)))
        return
    words = ["cmd=spawn"] + (["thrid=" + thrid] if thrid else [])
    words += ["ncmds=%d" % len(commands), "preputcount=%d" % len(preput)]
    for k, (key, value) in enumerate(preput):
        words += ["ppkey%d=%s" % (k, twice(key)), "ppval%d=%s" % (k, twice(value))]
    for x in commands:
        words += block_2(*x)
    c.send(c.message(";".join(words) + ";"))

def spawn(c, *commands, **more):
    send_spawn(c, *commands, **more)
    reply = c.reply()
    need(reply["cmd"] == ("spawn_result" if c.version == 1 else "spawn-response"), reply)
    return reply

def started(c, *commands, **more):
    reply = spawn(c, *commands, **more)
    need(reply["rc"] == "0", "spawn", reply)
    codes = reply.get("errcodes", "0").split(",")
    need(set(codes) == {{"0"}} and len(codes) in (1, sum(int(x[2]) for x in commands)), reply)
    return reply["jobid"]

def get_of(c, job, key):
    return c.ask("cmd=get kvsname=%s key=%s" % (job, key) if c.version == 1 else
                 "cmd=kvs-get;jobid=%s;srcid=-1;key=%s;" % (job, key))

def refused(reply):
    return reply["rc"] != "0" and "value" not in reply

def until(condition, *words):
    end = time.monotonic() + 15
    while True:
        value = condition()
        if value:
            return value
        need(time.monotonic() < end, "waited in vain", *words)
        time.sleep(0.02)

def await_key(c, job, key):
    return until(lambda: get_of(c, job, key).get("value"), key, "of", job)

def touch(name):
    with open(HERE + "/" + name, "a") as f:
        f.write("%d\\n" % os.getpid())

def await_file(name, count=1):
    def lines():
        with open(HERE + "/" + name) as f:
            return f.read().split()
    until(lambda: os.path.exists(HERE + "/" + name) and len(lines()) >= count, name)
    return [int(x) for x in lines()]

def exists(pid):
    try:
        with open("/proc/%d/stat" % pid) as f:
            return f.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False

"""


def script(name, code, folder=None):
    """An executable file with this code in the test's folder; its path."""
    lines = code.strip("\n").splitlines()
    indent = min((len(x) - len(x.lstrip()) for x in lines if x.strip()), default=0)
    return write_file(f"{folder or tmp()}/{name}", HEAD +
                      "\n".join(x[indent:] for x in lines) + "\n", 0o755)


def bed_script(bed, name, code):
    """The same in the folder of a bed, readable for all users."""
    path = script(name, code, bed.dir)
    with open(path) as f:
        text = f.read().replace(repr(SYS), repr(bed.path("bin")), 1)
    if os.path.exists("/usr/bin/python3"):
        text = text.replace(sys.executable, "/usr/bin/python3", 1)
    return write_file(path, text, 0o755)


def cases(table):
    """Decorator: a point for each row on one node and one over hosts; the function gets the
    options of the place first."""
    return rows([(row[0] + name, options, *row[1:]) for row in table for name, options in WHERE])


def case(name):
    return cases([(name,)])


def comment(*words):
    with lib._print:
        print("#   " + " ".join(map(str, words)), flush=True)


def quiet(r):
    """Ended with 0 and said nothing."""
    need(r.status == 0 and not r.messages, "a good end without a message", repr(r))
    return r


def lines_are(r, *wanted):
    same(sorted(r.lines), sorted(wanted), f"output of {r}")


# --- jobs that end ----------------------------------------------------------------------

PARENT_WAITS = """
    c = Client(2)
    if rank == 0:
        job = started(c, command({child!r}, n=2))
        if {apart}:
            need(c.ask("cmd=job-disconnect;jobid=%s;" % job)["rc"] == "0", "disconnect")
        touch("go")
    c.fence()
    {then}
"""
CHILD_FAILS = """
    c = Client(2)
    touch("child-pid")
    c.fence()
    await_file("go")
    if rank == 1:
        {how}
    time.sleep({sleep})
    say("child", rank)
    c.finalize()
"""
WAYS = [
    ("aborts", 'c.send(c.message("cmd=abort;isworld=TRUE;exitcode=42;msg=no more;")); time.sleep(9)',
     42, r"called abort\(42\): no more"),
    ("is killed", "os.kill(os.getpid(), 9)", 137, r"killed by signal 9 \(SIGKILL\)"),
    ("exits inside PMI", "os._exit(7)", 7, "exited with 7 without finalize"),
    ("breaks the protocol", 'c.send(b"no number here"); time.sleep(30)', 1, "broke the PMI protocol"),
]

ENDLESS = """
    c = Client(2)
    jobs = [started(c, command({chore!r}, mode, n=2)) for mode in ("ignore", "show", "daemon")]
    c.ask("cmd=job-disconnect;jobid=%s;" % jobs[1])
    c.fence()
    time.sleep(60)
"""


# --- growth -----------------------------------------------------------------------------

LOOKS = 5            # at the servers; at the first, all is warm
LEAK = 128           # KiB in all, of what is more at each look

# What grows now and then, and stays, is the most that was ever alive at a time: on a busy
# machine that is chance, so steps are to be small.  A leak is more at every look.


def servers(job):
    """Our own processes of a job: front, root, proxies."""
    return [p for p in left(job.mark) if proc_bytes(p, "cmdline").split(b"\0")[0].endswith(
        (b"mpiexec_lite", b"pmi2_proxy"))]


def memory(pid):
    """KiB that are the process's own: neither program nor libraries."""
    m = re.search(rb"RssAnon:\s+(\d+)", proc_bytes(pid, "status"))
    return int(m[1]) if m else 0


def figures(job):
    return {p: (memory(p), len(os.listdir(f"/proc/{p}/fd"))) for p in servers(job)}


def await_gone(job, ranks):
    """Until all that was started has gone, and that number of ranks is left."""
    try:
        wait_for(lambda: len(left(job.mark)) == len(servers(job)) + ranks, "children gone", 20)
    except Wrong:
        raise Wrong("\n".join(["processes are left:"] + describe(left(job.mark)))) from None


def settled(job):
    before = None
    while before != (now := figures(job)):
        before = now
        time.sleep(0.2)
    return now


def no_growth(where, what, count, step, ranks, *words, limit=LIMIT):
    """Run these words, which say "at K" after each step of count and wait for a line: no
    server may have more memory at every look, or more descriptors or processes at any."""
    job = Job(*where, "-n", ranks, *words, stdin=subprocess.PIPE)
    seen, took = [], 0
    for i in range(step, count + 1, step):
        began = time.monotonic()
        job.wait_text(f"at {i}\n", limit=limit)
        took += time.monotonic() - began
        await_gone(job, ranks)
        if i % (count // LOOKS) == 0:
            seen.append(settled(job))
        job.popen.stdin.write(b"\n")
        job.popen.stdin.flush()
    job.popen.stdin.close()
    r = quiet(job.finish())
    say_growth(what + (", three hosts" if where else ""), count * ranks, took, seen)
    same({tuple(x) for x in seen}, {tuple(seen[0])}, "servers")
    for p, (_, files) in seen[-1].items():
        same(files, seen[0][p][1], f"descriptors of process {p}, {seen}")
        kib = [x[p][0] for x in seen]
        least = min(b - a for a, b in zip(kib, kib[1:]))
        need("asan" in B or least * (LOOKS - 1) <= LEAK, f"memory of process {p} grows: {kib} KiB",
             seen)
    return r


def say_growth(what, count, took, seen):
    def total(i, k):
        return sum(x[k] for x in seen[i].values())
    comment(f"{what}: {1e3 * took / count:.1f} ms each; from the first fifth to the end: memory "
            f"of all {len(seen[0])} servers {total(0, 0)} .. {total(-1, 0)} KiB, of the largest "
            f"{max(x[0] for x in seen[0].values())} .. {max(x[0] for x in seen[-1].values())}, "
            f"descriptors {total(0, 1)} .. {total(-1, 1)}")


def raw_points(*table, limit=LIMIT):
    """Points for rows of what, count, step, ranks, n, mode ...: each rank spawns n processes,
    count times; by both wires, on one node and over hosts."""
    @cases([(f"{row[1] * row[3]} {row[0]}, PMI-{w}: nothing grows", w, *row) for row in table
            for w in (1, 2)])
    def point(where, w, what, count, step, ranks, n, *mode):
        no_growth(where, f"{count * ranks} {what}, PMI-{w}", count, step, ranks, RAW, "many", w,
                  count, step, n, *mode, limit=limit)

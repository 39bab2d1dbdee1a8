#!/usr/bin/env -S python3 -B
"""Jobs that ranks start, by PMI-1 and PMI-2, by libraries and byte by byte, on one node and
over hosts: what they get, what fails, how they end, what they print, and many of them.

COUNT=10000 makes the stress as long as that."""

import re

import lib
from lib import *

RAW, CHORE, SLURM = prog("spawn_raw"), prog("chore"), prog("slurm_all")
PROGS = os.path.join(ROOT, "test", "progs")
COUNT = int(os.environ.get("COUNT") or 1000)
PORT = "tag#0$description#node1.example$port#4242$ifname#10.0.0.1$"
SH = ("/bin/sh", "-c")

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
    end = time.monotonic() + 30
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


# --- as MPICH does it -------------------------------------------------------------------

CHILD = """
    v = int(sys.argv[1])
    c = Client(v)
    port = c.get("PARENT_ROOT_PORT_NAME")                 # before anything else
    need(port == PORT, "the port is", port)
    need(os.environ.get("PMI_SPAWNED") == "1", "PMI_SPAWNED")
    need(c.appnum() == (0 if rank < 2 else 1), "appnum", c.appnum())
    if v == 2:
        need(c.full["spawner-jobid"] == c.get("spawner"), "spawner", c.full)
    c.put("card-%d" % rank, "host-%d" % rank)
    c.fence()
    for r in range(size):
        need(c.get("card-%d" % r) == "host-%d" % r, "card of", r)
    c.fence()
    say("child", rank, size, sys.argv[2:], os.getcwd())
    c.finalize()
"""


@cases([(f"as MPICH spawns: parent PMI-{w}, children PMI-{v}", w, v)
        for w in (1, 2) for v in (1, 2)])
def as_mpich(where, w, v):
    child = script("child", CHILD)
    args = ["two  words", "a=b=c", "p;q;;r", "", "ends in endcmd", "endcmd", "a\\b"]
    if w == 2:
        args.append("new\nline")
    parent = script("parent", f"""
        c = Client({w})
        c.put("card-%d" % rank, "mine")
        c.fence()
        c.fence()
        if rank == 0:
            args = [{v}] + {args!r}
            started(c, command({child!r}, *args, n=2, wdir="/"), command({child!r}, {v}, n=1),
                    preput={{"PARENT_ROOT_PORT_NAME": PORT, "spawner": c.jobid()}})
        c.fence()
        need(c.get("card-%d" % (1 - rank)) == "mine", "own values")
        need(c.get("PARENT_ROOT_PORT_NAME") is None, "preput is the child's alone")
        c.fence()
        say("parent", rank)
        c.finalize()
    """)
    r = quiet(run(*where, "-n", 2, parent, cwd=tmp()))
    lines_are(r, "parent 0", "parent 1", f"child 0 3 {args} /", f"child 1 3 {args} /",
              f"child 2 3 [] {tmp()}")


@cases([(f"ids, keys of other jobs, disconnect, connect: PMI-{w} and PMI-{v}", w, v)
        for w, v in ((2, 2), (2, 1), (1, 2))])
def other_jobs(where, w, v):
    child = script("child", f"""
        c = Client({v})
        me = int(sys.argv[1])
        c.put("of-child-%d" % rank, "value %d;%d" % (me, rank) if c.version == 2 else "v")
        c.fence()
        parent = c.get("spawner")
        need(await_key(c, parent, "of-parent") == "hello", "key of the parent")
        need(refused(get_of(c, parent + "9", "of-parent")), "a job that is not")
        need("value" not in get_of(c, parent, "no-such-key"), "key that is not")
        c.fence()
        if rank == 0:
            touch("ready-%d" % me)
        if me == 0 and rank == 0:
            other = open(HERE + "/second").read() if await_file("second-known") else 0
            need(await_key(c, other, "of-child-1"), "key of the other child, by way of the parent")
            touch("seen")
            await_file("apart")
            need(refused(get_of(c, other, "of-child-1")), "the other child after disconnect")
            need(refused(get_of(c, parent, "of-parent")), "the parent after disconnect")
            touch("refused")
            await_file("together")
            need(get_of(c, other, "of-child-1")["rc"] == "0", "together again")
            touch("again")
        await_file("all")
        c.fence()
        c.finalize()
    """)
    parent = script("parent", f"""
        c = Client({w})
        c.put("of-parent", "hello")
        c.fence()
        if rank == 0:
            ids = [started(c, command({child!r}, i, n=2), preput={{"spawner": c.jobid()}})
                   for i in range(2)]
            need(len(set(ids + [c.jobid()])) == 3, "three ids", ids)
            with open(HERE + "/second", "w") as f:
                f.write(ids[1])
            touch("second-known")
            for i in ids:
                need(await_key(c, i, "of-child-1"), "key of a child")
            await_file("ready-1")
            await_file("seen")
            if c.version == 2:
                def ask(what, job):
                    return c.ask("cmd=job-%s;jobid=%s;" % (what, job))["rc"]
                need(ask("disconnect", ids[0]) == "0", "disconnect")
                need(ask("disconnect", ids[0]) != "0", "disconnect twice")
                need(refused(get_of(c, ids[0], "of-child-0")), "get of a stranger")
                need(get_of(c, ids[1], "of-child-0")["rc"] == "0", "get of the other")
                touch("apart")
                await_file("refused")
                need(ask("connect", ids[0]) == "0", "connect")
                need(get_of(c, ids[0], "of-child-0")["rc"] == "0", "get after connect")
                need(ask("connect", c.jobid() + "8") != "0", "connect to no job")
                touch("together")
            await_file("again")
            touch("all")
        c.fence()
        say("good")
        c.finalize()
    """)
    if w == 1:
        for name in "apart", "together":                # there is no disconnect on this wire
            write_file(f"{tmp()}/{name}", "1\n")
        text = open(child).read()
        write_file(child, text.replace('need(refused(get_of(c, other, "of-child-1"))', "need((1)")
                   .replace('need(refused(get_of(c, parent, "of-parent"))', "need((1)"), 0o755)
    r = run(*where, "-n", 2, parent)
    same((r.status, r.lines), (0, ["good"] * 2), f"end of {r}")


@case("what a child is told: size, attributes, mapping, node; -usize; stdin is /dev/null")
def told(where):
    child = script("child", """
        c = Client(2)
        need(c.full["spawner-jobid"] == sys.argv[1], "spawner", c.full)
        need(os.environ["PMI_JOBID"] == c.jobid() != sys.argv[1], "PMI_JOBID")
        need(int(os.environ["PMI_SIZE"]) == size == 5, "size")
        local = c.ask("cmd=info-getnodeattr;key=localRanks;wait=FALSE;")["value"].split(",")
        need(len(local) == int(os.environ["MPI_LOCALNRANKS"]), "local ranks", local)
        need(str(rank) == local[int(os.environ["MPI_LOCALRANKID"])], "local rank", local)
        m = c.ask("cmd=info-getjobattr;key=PMI_process_mapping;")["value"]
        u = c.ask("cmd=info-getjobattr;key=universeSize;")
        need(u["value"] == "77", "universeSize", u)
        need(os.readlink("/proc/self/fd/0") == "/dev/null", "stdin")
        need(os.environ["PASSED"] == "on", "environment of the parent")
        if rank == 0:
            say(m)
        c.fence()
        c.finalize()
    """)
    parent = script("parent", f"""
        c = Client(2)
        need("spawner-jobid" not in c.full and "PMI_SPAWNED" not in os.environ, "of a parent")
        started(c, command({child!r}, c.jobid(), n=5))
        need(sys.stdin.read() == "input", "stdin of the parent")
        c.finalize()
    """)
    r = quiet(run(*where, "-usize", 77, "-genv", "PASSED=on", "-n", 1, parent, input=b"input"))
    if where:
        need(re.fullmatch(r"\(vector(,\(\d+,\d+,\d+\))+\)", r.lines[0]), "mapping", r.lines)
    else:
        same(r.lines, ["(vector,(0,1,5))"], "mapping")


# --- info -------------------------------------------------------------------------------

@cases([(f"info: wdir, path, soft, env, PMI-{w}", w) for w in (1, 2)])
def info(where, w):
    os.makedirs(tmp() + "/bin/deep")
    os.makedirs(tmp() + "/a folder")
    script("tool", 'say("tool", size, os.getcwd(), os.environ.get("INFO_A"), os.environ.get("INFO_B"))',
           tmp() + "/bin/deep")
    script("tool", 'say("near", size, os.getcwd())')
    more = ', env="INFO_A=1\\nINFO_B=two words"' if w == 2 else ', env="INFO_A=1"'
    parent = script("parent", f"""
        c = Client({w})
        started(c, command("tool", n=2, path="/no/such:{tmp()}/bin/deep"{more}))
        started(c, command("../tool", n=1, wdir={tmp()!r} + "/a folder"))
        started(c, command("./tool", n=1))
        started(c, command({tmp()!r} + "/tool", n=9, soft="2,4:7:2,100"))
        started(c, command({tmp()!r} + "/tool", n=3, wdir="a folder"))
        c.finalize()
    """)
    r = quiet(run(*where, "-n", 1, parent, cwd=tmp()))
    b = "two words" if w == 2 else None
    lines_are(r, *[f"tool 2 {tmp()} 1 {b}"] * 2, f"near 1 {tmp()}/a folder", f"near 1 {tmp()}",
              *[f"near 6 {tmp()}"] * 6, *[f"near 3 {tmp()}/a folder"] * 3)


@rows([(f"info: {key}, three hosts", key) for key in ("host", "hosts")])
def info_host(key):
    parent = script("parent", f"""
        c = Client(2)
        if rank == 0:
            started(c, command("true", n=2, {key}="h2"), command("sh", "-c", "echo here", n=3,
                    {key}="h1,h2"), command("sh", "-c", "echo here", n=2, {key}="h0"))
        c.fence()
        c.finalize()
    """)
    r = quiet(run(*HOSTS, "-prepend-pattern", "%g.%r@%h ", "-n", 2, parent))
    seen = sorted(r.lines)
    same([x[:4] for x in seen], ["1.2@", "1.3@", "1.4@", "1.5@", "1.6@"], "ranks")
    need({x.split()[0][4:] for x in seen[:3]} <= {"h1", "h2"}, "hosts of 2 to 4", seen)
    same([x.split()[0][4:] for x in seen[3:]], ["h0"] * 2, "hosts of 5 and 6")


@cases([(f"info: hosts that are new: reached once, then used again, PMI-{w}", w) for w in (1, 2)])
def new_hosts(where, w):
    child = script("child", """
        c = Client(2)
        need(c.get("for-you") == "this", "preput")
        need(await_key(c, c.full["spawner-jobid"], "early") == "yes", "a key of the parent's")
        c.put("of-%d" % rank, str(rank))
        c.fence()
        need([c.get("of-%d" % i) for i in range(size)] == list(map(str, range(size))), "keys")
        say("child of", size)
        await_file("read-" + c.jobid())
        c.finalize()
    """)
    parent = script("parent", f"""
        c = Client({w})
        c.put("early", "yes")
        c.fence()
        def wave(name, n):
            job = started(c, command({child!r}, n=n, host=name), preput={{"for-you": "this"}})
            if {w} == 2:
                need(await_key(c, job, "of-%d" % (n - 1)) == str(n - 1), "a key of the child's")
            touch("read-" + job)
        if rank == 0:
            wave("h7", 2)
            wave("h7,h8,h[9-10]", 4)
        elif rank == 1:
            with open(HERE + "/hosts", "w") as f:
                f.write("# a file\\nh9 slots=2\\n")
            started(c, command("echo", "by file", n=2, hostfile=HERE + "/hosts"))
            wave("h9", 2)
        c.fence()
        c.finalize()
    """)
    where = where or ("-launcher", "fork")
    r = run(*where, "-vv", "-prepend-pattern", "%h ", "-n", 2, parent)
    same(r.status, 0, f"status of {r}")
    same(sorted(x for x in r.lines if x.endswith("2")), ["h7 child of 2"] * 2 +
         ["h9 child of 2"] * 2, f"lines of {r}")
    need({x for x in r.lines if x.endswith("4")} <= {f"h{i} child of 4" for i in (7, 8, 9, 10)} and
         len(r.lines) == 10 and r.lines.count("h9 by file") == 2, "children of 4", repr(r))
    answers = [m for m in r.messages if re.search("h(7|8|9|10) answers", m)]
    same(len(answers), 4, f"servers started: {r}")


@case("info: a host that cannot be reached is an error for who asks, with ssh's words")
def no_host(where):
    false = script("reach", "sys.stderr.write('no way to ' + sys.argv[-2] + chr(10)); sys.exit(255)")
    parent = script("parent", """
        c = Client(2)
        for i in range(2):
            r = spawn(c, command("true", n=2, host="far.away"))
            say(r["rc"] != "0", r["errcodes"], "no way" in r["errmsg"])
        started(c, command("echo", "here", n=1))
        c.finalize()
    """)
    r = quiet(run("-launcher", "ssh", "-launcher-exec", false, "-n", 1, parent))
    lines_are(r, *["True 113,113 True"] * 2, "here")


@case("info: a key that means nothing is named with -v, and only then")
def info_unknown(where):
    parent = script("parent", """
        c = Client(2)
        started(c, command("true", n=1, colour="red", wdir="/"))
        c.finalize()
    """)
    quiet(run(*where, "-n", 1, parent))
    r = run(*where, "-v", "-n", 1, parent)
    need(r.status == 0 and any("colour" in m for m in r.messages), "it is named", repr(r))
    need(not any("wdir" in m for m in r.messages), "known keys are not", repr(r))


# --- libraries --------------------------------------------------------------------------

def built(how):
    """pmi2_spawn.c with a library, and what it needs in the environment."""
    out, lib = f"{tmp()}/pmi2_spawn", os.path.join(B, "lib")
    flags = {"Slurm's": ["-lpmi2"], "ours, Slurm's header": ["-lpmi2"],
             "ours, MPICH's structures": ["-DMPICH_STYLE", f"-I{ROOT}/pmi2", f"-L{lib}",
                                          "-lpmi2", f"-Wl,-rpath,{lib}"]}[how]
    subprocess.run(["cc", "-D_GNU_SOURCE", "-Wall", "-Werror", "-O1", "-o", out,
                    f"{PROGS}/pmi2_spawn.c", *flags, "-lpthread", "-ldl"], check=True)
    if how.startswith("Slurm"):
        return out, {}
    env = {"LD_LIBRARY_PATH": lib}
    if b"__asan" in subprocess.run(["nm", "-D", f"{lib}/libpmi2.so.0"], check=True,
                                   stdout=subprocess.PIPE).stdout:
        asan = subprocess.run(["cc", "-print-file-name=libasan.so"], stdout=subprocess.PIPE,
                              check=True, text=True).stdout.strip()
        env |= {"LD_PRELOAD": asan, "ASAN_OPTIONS": "detect_leaks=0"}
    return out, env


@cases([(f"libpmi2: parent and children, {how}", how) for how in
        ("Slurm's", "ours, Slurm's header", "ours, MPICH's structures")])
def libraries(where, how):
    program, env = built(how)
    r = run(*where, "-n", 2, program, "parent", env=env)
    same((r.status, sorted(r.lines)), (0, ["child 0: ok", "child 1: ok", "child 2: ok",
                                           "rank 0: ok", "rank 1: ok"]), f"end of {r}")


@case("libpmi2: threads that spawn, put, get and fence at the same time")
def library_threads(where):
    program, env = built("ours, MPICH's structures")
    r = quiet(run(*where, "-n", 2, program, "threads", env=env))
    lines_are(r, "rank 0: ok", "rank 1: ok")


# --- many at once -----------------------------------------------------------------------

@case("8 ranks start 3 jobs of 2 each at the same time")
def at_once(where):
    child = script("child", """
        c = Client(1 + rank % 2)
        who = c.get("who")
        c.fence()
        say("child of", who, rank, size)
        c.finalize()
    """)
    parent = script("parent", f"""
        c = Client(1 + rank % 2)
        c.fence()
        for i in range(3):
            say("id", started(c, command({child!r}, n=2), preput={{"who": "%d-%d" % (rank, i)}}))
        c.fence()
        c.finalize()
    """)
    r = quiet(run(*where, "-n", 8, parent))
    ids = [x for x in r.lines if x.startswith("id ")]
    same(len(set(ids)), 24, "different ids")
    same(sorted(x for x in r.lines if x not in ids),
         sorted(f"child of {i}-{k} {c} 2" for i in range(8) for k in range(3) for c in range(2)),
         "children")


@cases([(f"jobs that start jobs, 8 deep, PMI-{w}", w) for w in (1, 2)])
def deep(where, w):
    r = quiet(run(*where, "-n", 2, RAW, "deep", w, 8))
    lines_are(r, *[f"deep {i}" for i in range(9) for _ in range(2)])


@case("64 spawns in flight from one rank")
def in_flight(where):
    parent = script("parent", """
        c = Client(2)
        ids = ["0x%x" % (0x7f000000 + 16 * i) for i in range(64)]
        for i in ids:
            send_spawn(c, command("sh", "-c", "echo child", n=1), thrid=i)
        seen = [c.reply() for i in ids]
        need(sorted(r["thrid"] for r in seen) == sorted(ids), "each is answered", seen)
        need(all(r["rc"] == "0" for r in seen), "all are good", seen)
        need(len({r["jobid"] for r in seen}) == 64, "64 jobs", seen)
        c.finalize()
    """)
    lines_are(quiet(run(*where, "-n", 1, parent)), *["child"] * 64)


@test("while a spawn is under way other requests of the process, and fences, are answered")
def meanwhile():
    parent = script("parent", """
        c = Client(2)
        c.fence()
        say("ready")
        if rank == 0:
            await_file("stopped")
            send_spawn(c, command("sh", "-c", "echo child", n=1, host="h1"), thrid="0xa")
            r = c.ask("cmd=kvs-put;thrid=0xb;key=k;value=v;")
            need((r["thrid"], r["rc"]) == ("0xb", "0"), "put meanwhile", r)
            r = c.ask("cmd=kvs-get;thrid=0xc;jobid=;srcid=-1;key=k;")
            need((r["thrid"], r["value"]) == ("0xc", "v"), "get meanwhile", r)
            r = c.ask("cmd=job-getid;thrid=0xd;")
            need((r["thrid"], r["rc"]) == ("0xd", "0"), "job id meanwhile", r)
            say("stopped")
            r = c.reply()
            need((r["thrid"], r["rc"]) == ("0xa", "0"), "spawn in the end", r)
        c.fence()
        c.finalize()
    """)
    job = Job(*HOSTS, "-n", 3, parent)
    root = job.root()
    job.wait_text("ready", 3)
    # Not the host of rank 0, whose server answers it.
    asks = next(p for p in left(job.mark) if b"PMI_RANK=0" in proc_bytes(p, "environ").split(b"\0"))
    near = (root, job.pid, stat(asks)[1], stat(stat(asks)[1])[1])
    other = [p for p in servers(job) if p not in near]
    for p in other:
        os.kill(p, signal.SIGSTOP)
    write_file(f"{tmp()}/stopped", "1\n")
    try:
        job.wait_text("stopped")
        time.sleep(0.3)
        need(b"child" not in job.text(), "the spawn waits", job.text())
    finally:
        for p in other:
            with contextlib.suppress(ProcessLookupError):
                os.kill(p, signal.SIGCONT)
    r = quiet(job.finish())
    lines_are(r, "stopped", "child", *["ready"] * 3)


# --- who ends first ----------------------------------------------------------------------

@cases([(f"the {first} ends first, PMI-{w}", first, w) for first in ("parent", "child")
        for w in (1, 2)])
def ends_first(where, first, w):
    child = script("child", f"""
        c = Client({w})
        if {first!r} == "parent":
            parent, = await_file("parent-pid")
            until(lambda: not exists(parent), "the parent's end")
            time.sleep(0.3)
        c.fence()
        c.finalize()
        say("child", rank)
        if rank == 0:
            touch("child-pid")
    """)
    parent = script("parent", f"""
        c = Client({w})
        started(c, command({child!r}, n=2))
        touch("parent-pid")
        if {first!r} == "child":
            child, = await_file("child-pid")
            until(lambda: not exists(child), "the child's end")
            time.sleep(0.3)
        c.fence()
        say("parent")
        c.finalize()
    """)
    r = quiet(run(*where, "-n", 1, parent))
    same(sorted(r.lines), ["child 0", "child 1", "parent"], "all were waited for")
    same(r.lines[0 if first == "parent" else -1], "parent", "order")


@case("a spawn of programs without PMI that end at once, and of such as close their streams")
def brief(where):
    parent = script("parent", """
        c = Client(2)
        for i in range(5):
            started(c, command("true", n=3), command("sh", "-c", "exec >&- 2>&-; sleep 0.2"))
        c.finalize()
    """)
    quiet(run(*where, "-n", 1, parent))


@case("-pmi-port: children get theirs, too")
def port(where):
    child = script("child", """
        need("PMI_FD" not in os.environ and os.environ["PMI_SPAWNED"] == "1", "variables")
        c = Client(1 + int(os.environ["PMI_ID"]) % 2)
        c.put("of-%s" % os.environ["PMI_ID"], "v")
        c.fence()
        need(c.get("PARENT_ROOT_PORT_NAME") == PORT and c.get("of-1") == "v", "values")
        say("child", os.environ["PMI_ID"])
        c.finalize()
    """)
    parent = script("parent", f"""
        c = Client(1)
        if rank == 0:
            started(c, command({child!r}, n=3), preput={{"PARENT_ROOT_PORT_NAME": PORT}})
        c.fence()
        c.finalize()
    """)
    lines_are(quiet(run(*where, "-pmi-port", "-n", 2, parent)), "child 0", "child 1", "child 2")


@cases([(f"a parent that {name} while its spawn is under way", how, status) for
        name, how, status in (("takes leave", "os._exit(0)", None), ("is killed",
        "os.kill(os.getpid(), 9)", 137), ("aborts", 'c.send(c.message("cmd=abort;isworld=TRUE;'
        'exitcode=6;msg=;")); time.sleep(20)', 6))])
def in_the_middle(where, how, status):
    parent = script("parent", f"""
        c = Client(2)
        c.fence()
        send_spawn(c, command("sh", "-c", "echo child", n=6))
        {'c.send(c.message("cmd=finalize;"))' if status is None else ""}
        {how}
    """)
    r = run(*where, "-n", 2, parent)
    same(r.status, status or 0, f"status of {r}")


@case("a rank of a spawned job ends before init, another waits for it in a fence")
def stuck(where):
    child = script("child", """
        if rank == 1:
            sys.exit(5)
        c = Client(2)
        c.fence()
    """)
    parent = script("parent", f"""
        c = Client(2)
        started(c, command({child!r}, n=3))
        time.sleep(30)
    """)
    r = run(*where, "-n", 1, parent, limit=20)
    same(r.status, 5, f"status of {r}")
    need(r.messages[0].startswith("mpiexec_lite: job 1: rank 1 on "), "message", repr(r))


@test("the host of a spawned job is lost: all end, with a message")
def host_lost():
    child = script("child", "touch('child-pid')\ntime.sleep(60)")
    parent = script("parent", f"""
        c = Client(2)
        if rank == 0:
            started(c, command({child!r}, n=2, host="h2"))
        time.sleep(60)
    """)
    job = Job(*HOSTS, "-n", 2, parent)
    pid = int(wait_for(lambda: os.path.exists(f"{tmp()}/child-pid") and
                       open(f"{tmp()}/child-pid").read().split() or None, "a child")[0])
    os.kill(stat(pid)[1], signal.SIGKILL)
    r = job.finish(20)
    same(r.status, 255, f"status of {r}")
    need("h2" in r.messages[0], "message", repr(r))


@test("-disable-auto-cleanup: a spawn on a host that was lost is refused, others are not")
def spawn_on_lost():
    child = script("child", "touch('child-pid')\ntime.sleep(60)")
    parent = script("parent", f"""
        c = Client(2)
        started(c, command({child!r}, n=2, host="h2"))
        await_file("lost")
        r = spawn(c, command("true", n=2), command("true", n=1, host="h2"))
        need(r["rc"] != "0" and r["errcodes"].endswith(",113"), "refused", r)
        started(c, command("sh", "-c", "echo child", n=2, host="h1"))
        c.finalize()
    """)
    job = Job(*HOSTS, "-disable-auto-cleanup", "-n", 1, parent)
    pid = int(wait_for(lambda: os.path.exists(f"{tmp()}/child-pid") and
                       open(f"{tmp()}/child-pid").read().split() or None, "a child")[0])
    os.kill(stat(pid)[1], signal.SIGKILL)
    wait_for(lambda: b"h2" in job.error_text(), "the loss is seen")
    write_file(f"{tmp()}/lost", "1\n")
    r = job.finish(20)
    same((r.status, r.lines), (255, ["child"] * 2), f"end of {r}")


# --- failures -----------------------------------------------------------------------------

ENOENT, EACCES, EINVAL, ECANCELED, EHOSTUNREACH = 2, 13, 22, 125, 113
FAILURES = [
    ("a program that is not there", 'command("/no/such/program", n=2)', [ENOENT] * 2),
    ("a program that is not in PATH", 'command("no-such-program", n=1)', [ENOENT]),
    ("a program that cannot be executed", 'command(HERE + "/plain", n=2)', [EACCES] * 2),
    ("a folder for a program", 'command(HERE, n=1)', [EACCES]),
    ("a script whose interpreter is not there", 'command(HERE + "/broken", n=1)', [ENOENT]),
    ("a wdir that is not there", 'command("sleep", "50", n=2, wdir="/no/such/folder")',
     [ENOENT] * 2),
    ("a name that is no host's", 'command("sleep", "50", n=2, host="no/host")',
     [EHOSTUNREACH] * 2),
    ("an empty list of hosts", 'command("sleep", "50", n=1, host=",")', [EHOSTUNREACH]),
    ("soft that is nothing", 'command("sleep", "50", n=1, soft="some")', [EINVAL]),
    ("soft that is more than maxprocs", 'command("sleep", "50", n=2, soft="3:9")', [EINVAL] * 2),
    ("the second of three is not there", 'command(WAITS, n=2), command("/no/such", n=1), '
     'command(WAITS, n=2)', [ECANCELED, ECANCELED, ENOENT, ECANCELED, ECANCELED]),
    ("the last of 9 processes cannot be executed", 'command(WAITS, n=8), '
     'command(HERE + "/plain", n=1)', [ECANCELED] * 8 + [EACCES]),
    ("the interpreter of the second of two is not there", 'command(WAITS, n=3), '
     'command(HERE + "/broken", n=1)', [ECANCELED] * 3 + [ENOENT]),
    ("0 processes", 'command("sleep", "50", n=0)', None),
    ("0 processes of the second", 'command(WAITS, n=2), command("sleep", "50", n=0)', None),
    ("more processes than can be", 'command("sleep", "50", n=2000000000)', None),
    ("a count that is no number", 'command("sleep", "50", n="some")', None),
    ("a negative count", 'command("sleep", "50", n=-3)', None),
    ("no program", 'command("", n=1)', None),
]


@cases([(f"{name}, PMI-{w}", w, what, codes) for name, what, codes in FAILURES
        for w in (1, 2)])
def failures(where, w, what, codes):
    write_file(f"{tmp()}/plain", "no program\n", 0o644)
    write_file(f"{tmp()}/broken", "#!/no/such/interpreter\n", 0o755)
    waits = script("waits", """
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        touch("waiting")
        time.sleep(50)
    """)
    parent = script("parent", f"""
        WAITS = {waits!r}
        c = Client({w})
        if rank == 0:
            r = spawn(c, {what})
            need(r["rc"] != "0" and "jobid" not in r, "it is refused", r)
            say("codes", r.get("errcodes", "none"))
            pids = await_file("waiting") if os.path.exists(HERE + "/waiting") else []
            need(not any(map(exists, pids)), "what was started has ended by then", pids)
        c.fence()
        if rank == 0:
            started(c, command("sh", "-c", "echo good", n=1))
        c.fence()
        c.finalize()
    """)
    r = run(*where, "-n", 2, parent)
    text = ",".join(map(str, codes)) if codes else None
    seen = [x for x in r.lines if x.startswith("codes ")]
    same((r.status, sorted(x for x in r.lines if x not in seen)), (0, ["good"]), f"end of {r}")
    if text:
        same(seen, [f"codes {text}"], f"errcodes of {r}")
    same(r.messages, [], "an error is for the parent to tell")


BROKEN = [                               # PMI-2, PMI-1
    ("counts of arguments that do not fit", "cmd=spawn;ncmds=1;preputcount=0;subcmd=true;"
     "maxprocs=1;argc=3;argv0=a;infokeycount=0;", "mcmd=spawn\nnprocs=1\nexecname=true\n"
     "totspawns=1\nspawnssofar=1\nargcnt=3\narg1=a\nendcmd\n"),
    ("a wrong count of commands", "cmd=spawn;ncmds=2;preputcount=0;subcmd=true;maxprocs=1;argc=0;"
     "infokeycount=0;", "mcmd=spawn\nnprocs=1\nexecname=true\ntotspawns=2\nspawnssofar=2\n"
     "argcnt=0\nendcmd\n"),
    ("preput that is announced and does not come", "cmd=spawn;ncmds=1;preputcount=2;ppkey0=a;"
     "ppval0=b;subcmd=true;maxprocs=1;argc=0;infokeycount=0;", "mcmd=spawn\nnprocs=1\n"
     "execname=true\ntotspawns=1\nspawnssofar=1\nargcnt=0\npreput_num=2\npreput_key_0=a\n"
     "preput_val_0=b\nendcmd\n"),
    ("preput of a key that is read-only", "cmd=spawn;ncmds=1;preputcount=1;ppkey0=PMI_x;ppval0=b;"
     "subcmd=true;maxprocs=1;argc=0;infokeycount=0;", "mcmd=spawn\nnprocs=1\nexecname=true\n"
     "totspawns=1\nspawnssofar=1\nargcnt=0\npreput_num=1\npreput_key_0=PMI_x\n"
     "preput_val_0=b\nendcmd\n"),
    ("no command at all", "cmd=spawn;ncmds=0;preputcount=0;", "mcmd=spawn\ntotspawns=1\n"
     "spawnssofar=1\nendcmd\n"),
    ("an infokey without a value", "cmd=spawn;ncmds=1;preputcount=0;subcmd=true;maxprocs=1;argc=0;"
     "infokeycount=1;infokey0=wdir;", "mcmd=spawn\nnprocs=1\nexecname=true\ntotspawns=1\n"
     "spawnssofar=1\nargcnt=0\ninfo_num=1\ninfo_key_0=wdir\nendcmd\n"),
]


@cases([(f"{name}, PMI-{w}", w, texts[2 - w]) for name, *texts in BROKEN for w in (1, 2)])
def broken(where, w, text):
    r = run(*where, "-n", 1, *py(f"""
        c = Client({w})
        text = {text!r}
        c.send(text if c.version == 1 else c.message(text))
        r = c.reply()
        need(r["rc"] != "0" and "jobid" not in r, "it is refused", r)
        c.put("a", "b")
        c.fence()
        need(c.get("a") == "b", "the parent goes on")
        say("good")
        c.finalize()
    """))
    same((r.status, r.lines), (0, ["good"]), f"end of {r}")


@case("a spawn with 500 arguments and values of 1000 bytes")
def large(where):
    child = script("child", """
        c = Client(2)
        need(len(sys.argv) == 501 and all(len(a) == 100 for a in sys.argv[1:]), "arguments")
        need(all(c.get("key-%d" % i) == "v" * 1000 for i in range(8)), "preput")
        say("good")
        c.finalize()
    """)
    parent = script("parent", f"""
        c = Client(2)
        started(c, command({child!r}, *["x" * 100] * 500, n=3),
                preput={{"key-%d" % i: "v" * 1000 for i in range(8)}})
        c.finalize()
    """)
    lines_are(quiet(run(*where, "-n", 1, parent)), *["good"] * 3)


# --- how jobs end -------------------------------------------------------------------------

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


@cases([(f"rank 1 of a spawned job {name}: the connected parent ends, too", how, status, text)
        for name, how, status, text in WAYS])
def child_fails(where, how, status, text):
    child = script("child", CHILD_FAILS.format(how=how, sleep=30))
    parent = script("parent", PARENT_WAITS.format(child=child, apart=False, then="time.sleep(30)"))
    r = run(*where, "-n", 2, parent, limit=20)
    same(r.status, status, f"status of {r}")
    need(r.messages and re.search(r"^mpiexec_lite: job 1: rank 1 on .*" + text, r.messages[0]),
         "the first message says job, rank and why", repr(r))
    need(len(r.messages) <= 3, "few messages", repr(r))


@cases([(f"rank 1 of a job that was disconnected {name}: the parent lives on", how, status, text)
        for name, how, status, text in WAYS])
def stranger_fails(where, how, status, text):
    child = script("child", CHILD_FAILS.format(how=how, sleep=30))
    parent = script("parent", PARENT_WAITS.format(child=child, apart=True, then="""
    if rank == 0:
        pids = await_file("child-pid", 2)
        until(lambda: not any(map(exists, pids)), "the child's end")
        time.sleep(0.5)
    c.fence()
    say("parent", rank)
    c.finalize()
"""))
    r = run(*where, "-n", 2, parent, limit=30)
    same((r.status, sorted(r.lines)), (status, ["parent 0", "parent 1"]), f"end of {r}")
    need(re.search("job 1: rank 1 on .*" + text, r.messages[0]), "message", repr(r))


@case("two jobs that are not connected fail: the status is that of the first failure")
def first_failure(where):
    child = script("child", CHILD_FAILS.format(how=WAYS[0][1], sleep=30))
    parent = script("parent", PARENT_WAITS.format(child=child, apart=True, then="""
    if rank == 0:
        pids = await_file("child-pid", 2)
        until(lambda: not any(map(exists, pids)), "the child's end")
        time.sleep(0.5)
        os._exit(7)
    c.fence()
"""))
    r = run(*where, "-n", 2, parent, limit=30)
    same(r.status, 42, f"status of {r}")


@cases([(f"rank 0 of the parent {name}: its children end, too", how, status, text)
        for name, how, status, text in WAYS])
def parent_fails(where, how, status, text):
    child = script("child", """
        c = Client(2)
        touch("child-pid")
        c.fence()
        time.sleep(30)
    """)
    parent = script("parent", PARENT_WAITS.format(child=child, apart=False, then=f"""
    if rank == 0:
        await_file("child-pid", 2)
        {how}
    time.sleep(30)
"""))
    r = run(*where, "-n", 2, parent, limit=20)
    same(r.status, status, f"status of {r}")
    need(re.search("^mpiexec_lite: rank 0 on .*" + text, r.messages[0]), "message", repr(r))


@case("a parent that was disconnected aborts: the child lives on, the status is the parent's")
def stranger_parent(where):
    child = script("child", """
        c = Client(2)
        touch("child-pid")
        c.fence()
        parent, = await_file("parent-pid")
        until(lambda: not exists(parent), "the parent's end")
        time.sleep(0.5)
        c.fence()
        say("child", rank)
        c.finalize()
    """)
    parent = script("parent", PARENT_WAITS.format(child=child, apart=True, then="""
    if rank == 0:
        await_file("child-pid", 2)
        touch("parent-pid")
        c.send(c.message("cmd=abort;isworld=TRUE;exitcode=5;msg=;"))
    time.sleep(30)
"""))
    r = run(*where, "-n", 2, parent, limit=30)
    same((r.status, sorted(r.lines)), (5, ["child 0", "child 1"]), f"end of {r}")


@case("a grandchild aborts: all three jobs end, as connections are transitive")
def grandchild(where):
    last = script("last", CHILD_FAILS.format(how=WAYS[0][1], sleep=30))
    child = script("child", PARENT_WAITS.format(child=last, apart=False, then="time.sleep(30)"))
    parent = script("parent", PARENT_WAITS.format(child=child, apart=False, then="time.sleep(30)"))
    r = run(*where, "-n", 2, parent, limit=20)
    same(r.status, 42, f"status of {r}")
    need(re.search("^mpiexec_lite: job [23]: rank 1 on .*no more", r.messages[0]), "message",
         repr(r))


@cases([(f"exit statuses without a failure: parent {p}, child {k}", p, k, s)
        for p, k, s in ((0, 3, 3), (4, 0, 4), (0, 0, 0))])
def statuses(where, p, k, s):
    parent = script("parent", f"""
        c = Client(2)
        started(c, command("sh", "-c", "exit {k}", n=2))
        time.sleep(0.3)
        c.finalize()
        os._exit({p})
    """)
    same(run(*where, "-n", 1, parent).status, s, "status")


@case("-disable-auto-cleanup: a child is killed, all others run on, the status is its")
def keep_going(where):
    child = script("child", CHILD_FAILS.format(how=WAYS[1][1], sleep=0.5))
    parent = script("parent", PARENT_WAITS.format(child=child, apart=False, then="""
    time.sleep(1)
    c.fence()
    say("parent", rank)
    c.finalize()
"""))
    r = run(*where, "-disable-auto-cleanup", "-n", 2, parent, limit=30)
    same((r.status, sorted(r.lines)), (137, ["child 0", "parent 0", "parent 1"]), f"end of {r}")


ENDLESS = """
    c = Client(2)
    jobs = [started(c, command({chore!r}, mode, n=2)) for mode in ("ignore", "show", "daemon")]
    c.ask("cmd=job-disconnect;jobid=%s;" % jobs[1])
    c.fence()
    time.sleep(60)
"""


@cases([(f"{name} ends all jobs, connected or not", name, status) for name, status in
        (("SIGTERM", 143), ("SIGINT", 130), ("SIGHUP", 129), ("-timeout", 124),
         ("SIGINT twice", 130))])
def from_outside(where, name, status):
    parent = script("parent", ENDLESS.format(chore=CHORE))
    limit = ["-timeout", 2] if name == "-timeout" else []
    job = Job(*where, *limit, "-n", 2, parent)
    if limit:
        same(job.finish().status, status, "status")
        return
    job.wait_text("ready", 12)
    for _ in range(2 if "twice" in name else 1):
        job.kill(getattr(signal, name.split()[0]))
        time.sleep(0.2)
    r = job.finish()
    same(r.status, status, f"status of {r}")


@cases([(f"the launcher's {whom} SIGKILLed: nothing of spawned jobs stays", whom)
        for whom in ("front", "root")])
def launcher_killed(where, whom):
    parent = script("parent", ENDLESS.format(chore=CHORE))
    job = Job(*where, "-n", 2, parent)
    job.wait_text("ready", 12)
    os.kill(job.root() if whom == "root" else job.pid, signal.SIGKILL)
    job.popen.wait(LIMIT)
    nothing_left(job.mark)


@case("SIGUSR1 reaches the ranks of spawned jobs")
def usr1(where):
    parent = script("parent", f"""
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        c = Client(2)
        started(c, command({CHORE!r}, "show", n=3))
        time.sleep(60)
    """)
    job = Job(*where, "-n", 1, parent)
    job.wait_text("ready", 3)
    job.kill(signal.SIGUSR1)
    job.wait_text("got USR1", 3)
    job.kill(signal.SIGTERM)
    same(job.finish().status, 143, "status")


# --- what ranks leave behind ---------------------------------------------------------------

def daemons(mark):
    """Processes of chore whose parent has ended."""
    return [p for p in left(mark) if b"daemon" in proc_bytes(p, "cmdline") and
            b"chore" in proc_bytes(p, "cmdline")]


def jobid_of(pid):
    return next(x for x in proc_bytes(pid, "environ").split(b"\0") if x.startswith(b"PMI_JOBID="))


@case("a daemon of a spawned job goes with it, that of the main job does not")
def daemon_goes(where):
    parent = script("parent", f"""
        import subprocess
        c = Client(2)
        if rank == 0:
            subprocess.run([{CHORE!r}, "daemon-exit"], stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
            started(c, command({CHORE!r}, "daemon-exit", n=3))
        c.fence()
        await_file("enough")
        c.fence()
        c.finalize()
    """)
    job = Job(*where, "-n", 2, parent)
    job.wait_text("ready", 3)
    wait_for(lambda: len(daemons(job.mark)) == 1, "the daemons of the job are gone", 15)
    time.sleep(0.5)
    mine = daemons(job.mark)
    same(len(mine), 1, "daemons")
    need(b"." not in jobid_of(mine[0]), "it is the main job's", jobid_of(mine[0]))
    write_file(f"{tmp()}/enough", "1\n")
    quiet(job.finish())


@case("a daemon of a spawned job that holds no output is gone at the end at the latest")
def silent_daemon(where):
    parent = script("parent", f"""
        c = Client(2)
        started(c, command("sh", "-c", "setsid sh -c 'trap : TERM; sleep 100; sleep 100' "
                           "</dev/null >/dev/null 2>&1 & exit 0", n=3))
        time.sleep(0.5)
        c.finalize()
    """)
    quiet(run(*where, "-n", 1, parent))


@case("a spawned job that fails leaves the daemons of the main job alone")
def daemon_fails(where):
    child = script("child", f"""
        import subprocess
        c = Client(2)
        subprocess.run([{CHORE!r}, "daemon-exit"], stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        c.fence()
        await_file("go")
        os._exit(3)
    """)
    parent = script("parent", f"""
        import subprocess
        c = Client(2)
        subprocess.run([{CHORE!r}, "daemon-exit"], stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        job = started(c, command({child!r}, n=3))
        need(c.ask("cmd=job-disconnect;jobid=%s;" % job)["rc"] == "0", "disconnect")
        say("started")
        await_file("enough")
        c.finalize()
    """)
    job = Job(*where, "-n", 1, parent)
    job.wait_text("started")
    wait_for(lambda: len(daemons(job.mark)) == 4, "four daemons")
    children = [p for p in left(job.mark) if b"child\0" in proc_bytes(p, "cmdline")]
    write_file(f"{tmp()}/go", "1\n")
    wait_for(lambda: not any(map(alive, children)), "the children's end")
    time.sleep(1)
    comment(f"daemons that hold no output, after their job has failed: {len(daemons(job.mark)) - 1}")
    need(any(b"." not in jobid_of(p) for p in daemons(job.mark)), "the main job's lives")
    write_file(f"{tmp()}/enough", "1\n")
    same(job.finish().status, 3, "status")


# --- output ---------------------------------------------------------------------------------

@case("output: labels with job and rank, whole lines, none lost")
def labels(where):
    parent = script("parent", f"""
        c = Client(2)
        if rank == 0:
            started(c, command({CHORE!r}, "lines", 3000, n=3))
            started(c, command({CHORE!r}, "lines", 3000, n=2))
        c.fence()
        c.finalize()
        os.execv({CHORE!r}, ["chore", "lines", "3000"])
    """)
    r = quiet(run(*where, "-prepend-pattern", "<%g.%r> ", "-n", 2, parent))
    seen = {}
    for line in r.lines:
        m = re.fullmatch(r"<(\d+)\.(\d+)> (\d+) (\d+) x*", line)
        need(m and m[2] == m[3], "a whole line with its label", line)
        seen.setdefault((int(m[1]), int(m[2])), []).append(int(m[4]))
    same({k: v == list(range(3000)) for k, v in seen.items()},
         {k: True for k in [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (2, 0), (2, 1)]}, "lines")


@case("output: files by job and rank, stderr beside it; -l")
def files(where):
    parent = script("parent", """
        c = Client(1)
        if rank == 0:
            started(c, command("sh", "-c", "echo out $PMI_RANK; echo err $PMI_RANK >&2", n=3))
        c.fence()
        say("parent")
        c.finalize()
    """)
    quiet(run(*where, "-outfile", f"{tmp()}/out.%g.%r", "-errfile", f"{tmp()}/err.%g.%r",
              "-n", 2, parent))
    for name, text in [(f"out.1.{i}", f"out {i}\n") for i in range(3)] + \
                      [(f"err.1.{i}", f"err {i}\n") for i in range(3)] + \
                      [(f"out.0.{i}", "parent\n") for i in range(2)]:
        with open(f"{tmp()}/{name}") as f:
            same(f.read(), text, name)
    r = run(*where, "-l", "-n", 2, parent)
    same((sorted(r.lines), sorted(r.err.decode().splitlines())),
         (sorted(["[0] parent", "[1] parent"] + [f"[{i}] out {i}" for i in range(3)]),
          [f"[{i}] err {i}" for i in range(3)]), "-l")


@case("output without labels: lines of all jobs are whole")
def unlabelled(where):
    parent = script("parent", f"""
        c = Client(2)
        if rank == 0:
            for i in range(4):
                started(c, command({CHORE!r}, "lines", 2000, n=2))
        c.fence()
        c.finalize()
        os.execv({CHORE!r}, ["chore", "lines", "2000"])
    """)
    r = quiet(run(*where, "-n", 2, parent))
    bad = [x for x in r.lines if not re.fullmatch(r"\d+ \d+ x*", x)]
    same((len(r.lines), bad[:5]), (20000, []), "lines")


# --- many -------------------------------------------------------------------------------------

def servers(job):
    """Our own processes of a job: front, root, proxies."""
    return [p for p in left(job.mark) if proc_bytes(p, "cmdline").split(b"\0")[0].endswith(
        (b"mpiexec_lite", b"pmi2_proxy"))]


def figures(job):
    """KiB of memory and number of descriptors of all servers, and processes in all."""
    def of(p, word):
        m = re.search(word + rb":\s+(\d+)", proc_bytes(p, "status"))
        return int(m[1]) if m else 0
    mine = servers(job)
    return (sum(of(p, b"VmRSS") for p in mine), max(of(p, b"VmRSS") for p in mine),
            sum(len(os.listdir(f"/proc/{p}/fd")) for p in mine), len(left(job.mark)), len(mine))


def settled(job):
    """The figures once all children and what was theirs have gone."""
    wait_for(lambda: len(left(job.mark)) == len(servers(job)) + 1, "children gone", 10)
    before = None
    while before != (now := figures(job)):
        before = now
        time.sleep(0.2)
    return now


@cases([(f"{COUNT} spawns in a row, PMI-{w}: nothing grows", w, 2, "child") for w in (1, 2)] +
       [("32 spawns of 64 in a row, without PMI: nothing grows", 2, 64, "none")])
def in_a_row(where, w, n, mode):
    count = COUNT if n == 2 else 32
    step = count // 4
    job = Job(*where, "-n", 1, RAW, "many", w, count, step, n, mode)
    seen, began = [], time.monotonic()
    for i in range(1, 5):
        job.wait_text(f"at {i * step}\n", limit=LIMIT + count / 20)
        seen.append(settled(job))
    took = time.monotonic() - began - 4 * 2.0 + 2.0
    quiet(job.finish(LIMIT))
    comment(f"{count} spawns of {n}, PMI-{w}{', three hosts' if where else ''}: "
            f"{1e3 * took / count:.1f} ms each; after a quarter .. all: "
            f"memory of all servers {seen[0][0]} .. {seen[-1][0]} KiB, "
            f"of the largest {seen[0][1]} .. {seen[-1][1]}, descriptors {seen[0][2]} .. "
            f"{seen[-1][2]}, processes {seen[0][3]} .. {seen[-1][3]}")
    same(len({x[2:] for x in seen}), 1, f"descriptors and processes, {seen}")
    if "asan" not in B:
        need(seen[-1][0] <= seen[0][0] + 600 + seen[0][0] // 20, "memory grows", seen)


@case("800 spawns that fail in five ways: nothing grows")
def failed_in_a_row(where):
    write_file(f"{tmp()}/broken", "#!/no/such/interpreter\n", 0o755)
    parent = script("parent", """
        c = Client(2)
        for i in range(800):
            what = [command("/no/such", n=2), command(HERE + "/broken", n=2),
                    command("true", n=1, host="-"), command("true", n=0),
                    command("true", n=1, wdir="/no/such")][i % 5]
            need(spawn(c, command("sleep", "50", n=2), what)["rc"] != "0", "refused", i)
            if i % 200 == 199:
                say("at", i + 1)
                time.sleep(1.5)
        c.finalize()
    """)
    job, seen = Job(*where, "-n", 1, parent), []
    for i in range(1, 5):
        job.wait_text(f"at {200 * i}\n", limit=2 * LIMIT)
        seen.append(settled(job))
    same(job.finish(LIMIT).status, 0, "status")
    comment(f"800 spawns that fail{', three hosts' if where else ''}: memory of all servers "
            f"{seen[0][0]} .. {seen[-1][0]} KiB")
    same(len({x[2:] for x in seen}), 1, f"descriptors and processes, {seen}")
    if "asan" not in B:
        need(seen[-1][0] <= seen[0][0] + 600 + seen[0][0] // 20, "memory grows", seen)


# --- time --------------------------------------------------------------------------------------

def one_time(launcher, n, number):
    words = [launcher, "-n", "1", RAW, "once", "1", f"name-{number}", str(n)]
    began = time.monotonic()
    r = subprocess.run(words, env=environment(new_mark()), stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT)
    m = re.search(rb"reply=([0-9.]+) ready=([0-9.]+)", r.stdout)
    need(m, "a figure", r.stdout)
    return float(m[1]), float(m[2]), 1e3 * (time.monotonic() - began) - 300


@rows([(f"time of a spawn of {n}, beside Hydra's", n) for n in (1, 64)])
def times(n):
    if not shutil.which("mpiexec.mpich"):
        comment("there is no mpiexec.mpich")
        return
    ours, theirs = [], []
    for i in range(7):
        ours.append(one_time(LAUNCHER, n, i))
        theirs.append(one_time("mpiexec.mpich", n, i))
    for k, what in enumerate(("until the reply", "until all have met", "the whole run")):
        a, b = (sorted(x[k] for x in v)[3] for v in (ours, theirs))
        comment(f"spawn of {n}, {what}: {a:.1f} ms, Hydra {b:.1f} ms, ratio {a / b:.2f}")


if __name__ == "__main__":
    main()

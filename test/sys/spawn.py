#!/usr/bin/env -S python3 -B
"""Jobs that ranks start, by PMI-1 and PMI-2, by libraries and byte by byte, on one node and
over hosts: what they get, who they know, what they print, and what is refused."""

from spawnlib import *


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
    args = ["two  words", "a=b=c", "p;q;;r", "", "ends in endcmd", "endcmd", "a\\b",
            "\nimport os\n\nnprocs=7\nx = 1\n"]
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


@case("each rank, spawned or not, has a session of its own: the kernel's shares of processors")
def sessions(where):
    child = script("child", """
        c = Client(1)
        need(os.getsid(0) == os.getpid() == os.getpgid(0), "a session", os.getsid(0), os.getpid())
        c.fence()
        say("child", rank)
        c.finalize()
    """)
    parent = script("parent", f"""
        c = Client(1)
        need(os.getsid(0) == os.getpid() == os.getpgid(0), "a session", os.getsid(0), os.getpid())
        if rank == 0:
            started(c, command({child!r}, n=2))
        c.fence()
        say("parent", rank)
        c.finalize()
    """)
    lines_are(quiet(run(*where, "-n", 2, parent, cwd=tmp())), "parent 0", "parent 1", "child 0",
              "child 1")


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


@case("info: a hostfile that is a pipe is refused, and keeps nobody waiting")
def hostfile_pipe(where):
    parent = script("parent", """
        c = Client(2)
        os.mkfifo(HERE + "/pipe")
        need(refused(spawn(c, command("true", hostfile=HERE + "/pipe"))), "refused")
        c.finalize()
    """)
    quiet(run(*where, "-n", 1, parent))


@cases([(f"info: file, PMI-{w}", w) for w in (1, 2)])
def info_file(where, w):
    write_file(f"{tmp()}/keys", "# of a job\n\nwdir = /\n  soft=2\nenv = INFO_A=a=b c\n"
               "env = INFO_B=x\ncolour = red\n")
    write_file(f"{tmp()}/bad", "wdir = /\nno equals sign\n")
    write_file(f"{tmp()}/worse", "\n\nsoft = some\n")
    write_file(f"{tmp()}/big", "env = A=1\n" * 7000)
    os.mkfifo(f"{tmp()}/pipe")
    child = script("child", """
        say("child", size, os.getcwd(), os.environ.get("INFO_A"), os.environ.get("INFO_B"))
    """)
    parent = script("parent", f"""
        c = Client({w})
        started(c, command({child!r}, n=3, soft="3", file="keys"))
        started(c, command({child!r}, n=3, wdir=HERE, file=HERE + "/keys"))
        for name in "bad", "worse", "pipe", "none", "big":
            r = spawn(c, command("true", n=2, file=HERE + "/" + name))
            need(r["rc"] != "0" and r["errcodes"] == "22,22", "refused", r)
            say(r.get("errmsg", r.get("msg", "none")).replace("_", " ").replace("=", " "))
        c.finalize()
    """)
    r = run(*where, "-v", "-n", 1, parent, cwd=tmp())
    same(r.status, 0, f"status of {r}")
    here = tmp().replace("_", " ")
    lines_are(r, *["child 3 / a=b c x"] * 3, *[f"child 2 {tmp()} a=b c x"] * 2,
              f"file {here}/bad:2: 'key   value' wanted, not 'no equals sign'",
              f"file {here}/worse:3: soft: numbers or ranges a:b:c, separated by commas, wanted, "
              "not 'some'", f"file: {here}/pipe: not a regular file",
              f"file: {here}/none: No such file or directory",
              f"file: {here}/big: more than 65536 bytes")
    named = [m for m in r.messages if "colour (line 7 of its file) changes nothing" in m]
    same(len(named), 2, f"the unknown key is named: {r}")


@test("info: the job ends while most of a hundred new hosts are being reached")
def many_hosts():
    parent = script("parent", """
        c = Client(2)
        started(c, command("echo", "child", host="x[1-100]"))
        c.finalize()
    """)
    took = []
    for _ in range(5):
        began = time.monotonic()
        r = quiet(run("-launcher", "fork", "-hosts", "h0,h1", "-n", 1, parent))
        took.append(time.monotonic() - began)
        lines_are(r, "child")
    need(max(took) < min(took) + 5, "one that answers just then is waited for, 6 s", took)


@test("info: more hosts than servers can be told of are refused, and again; others are reached")
def too_many_hosts():
    parent = script("parent", """
        c = Client(2)
        for i in range(2):
            need(refused(spawn(c, command("true", n=70000, host="y" * 250 + "[1-70000]"))), "refused", i)
        started(c, command("echo", "child", host="x"))
        c.finalize()
    """)
    r = quiet(run("-launcher", "fork", "-hosts", "h0,h1", "-n", 1, parent))
    lines_are(r, "child")


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


@case("more processes than hosts have descriptors for: refused, and who asks goes on")
def too_many(where):
    parent = script("parent", """
        c = Client(2)
        need(refused(spawn(c, command("true", n=400000))), "refused")
        started(c, command("echo", "child"))
        c.finalize()
    """)
    r = quiet(run(*where, "-n", 1, parent, prefix=("prlimit", "--nofile=4096")))
    lines_are(r, "child")


@case("PMI-1: blocks of more than 16 MiB together are refused at the last one")
def blocks(where):
    parent = script("parent", """
        c = Client(1)
        many = ["a" * 1000] * 900
        for i in range(20):
            c.send(block_1(i, 20, {}, "true", many, 1, []))
        need("bytes_of_commands" in c.reply()["msg"], "refused")
        started(c, command("echo", "child"))
        c.finalize()
    """)
    r = quiet(run(*where, "-n", 1, parent))
    lines_are(r, "child")


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


# --- processors -------------------------------------------------------------------------

SHOW_CPUS = """
    c = Client(2)
    say(rank, ",".join(map(str, sorted(os.sched_getaffinity(0)))))
    c.finalize()
"""
CPUS = sorted(os.sched_getaffinity(0))


def cores(cpus):
    """Of these processors, who is on one core, in the order of the first of each."""
    found = []
    for cpu in cpus:
        with open(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list") as f:
            parts = [p.split("-") for p in f.read().strip().split(",")]
        core = {i for p in parts for i in range(int(p[0]), int(p[-1]) + 1)} & set(cpus)
        if core not in found:
            found.append(core)
    return found


def bound(where, how, cpus, n):
    """Spawn n processes with bind=how, by a launcher that may use these processors: which
    ones each may use, by rank, and what -v says."""
    parent = script("parent", f"""
        c = Client(2)
        started(c, command({script("child", SHOW_CPUS)!r}, n={n}, bind={how!r}))
        say("parent", ",".join(map(str, sorted(os.sched_getaffinity(0)))))
        c.finalize()
    """)
    r = run(*where, "-v", "-n", 1, parent,
            prefix=("taskset", "-c", ",".join(map(str, cpus))), env={"XDG_RUNTIME_DIR": runtime()})
    same(r.status, 0, f"status of {r}")
    seen = dict(x.split() for x in r.lines)
    same({int(x) for x in seen.pop("parent").split(",")}, set(cpus), "the parent is not bound")
    same(sorted(map(int, seen)), list(range(n)), "children")
    return [{int(x) for x in seen[str(i)].split(",")} for i in range(n)], r


@cases([(f"bind={how}: children take turns, within what the launcher may use", how)
        for how in ("core", "hwthread", "rr")])
def bind_turns(where, how):
    for cpus in (CPUS, CPUS[-1:]):
        sets = cores(cpus)
        if how == "hwthread":
            sets = [{cpu} for core in sets for cpu in sorted(core)]
        elif how == "rr":
            sets = [{cpu} for cpu in cpus]
        n = 2 * len(sets) + 1
        seen, r = bound(where, how, cpus, n)
        if where:                                # a host is first where slots are free first
            need(all(x in sets for x in seen), "each has one of them", seen, sets)
        else:
            same(seen, [sets[i % len(sets)] for i in range(n)], f"{how} of {cpus}: {r}")


@rows([(f"bind={how}, three hosts: processes of each host take turns", how)
       for how in ("core", "rr")])
def bind_hosts(how):
    sets = cores(CPUS) if how == "core" else [{cpu} for cpu in CPUS]
    parent = script("parent", f"""
        c = Client(2)
        started(c, command({script("child", SHOW_CPUS)!r}, n=6, bind={how!r}, hosts="h0,h1,h2"))
        c.finalize()
    """)
    r = quiet(run(*HOSTS, "-prepend-pattern", "%h ", "-n", 1, parent,
                  env={"XDG_RUNTIME_DIR": runtime()}))
    for host in "h0", "h1", "h2":
        seen = sorted((int(x.split()[1]), x.split()[2]) for x in r.lines if x.startswith(host))
        need(seen, "ranks on", host, repr(r))
        same([{int(i) for i in x.split(",")} for _, x in seen],
             [sets[i % len(sets)] for i in range(len(seen))], f"{how} on {host}")


@case("bind: none, socket, numa, user, nothing that is known, and what may not be used")
def bind_others(where):
    last, all_of = CPUS[-1], set(CPUS)
    for how, wanted, word in (
            ("none", [all_of] * 3, None), (f"user:{last}", [{last}] * 3, None),
            (f"user:{last},{CPUS[0]}+{last}", None, None), ("rainbow", [all_of] * 3, "bind rainbow"),
            ("user:8191", [all_of] * 3, "not bound: user:8191: none of them may be used")):
        seen, r = bound(where, how, CPUS, 3)
        if wanted:
            same(seen, wanted, f"{how}: {r}")
        else:
            need(all(x in ({last}, {CPUS[0], last}) for x in seen), how, seen)
        said = [m for m in r.messages if "not bound" in m or "changes nothing" in m]
        need(word in said[0] if word else not said, "a word where it changes nothing", said)
    for how in "socket", "numa":                 # where the machine tells them
        seen, r = bound(where, how, CPUS, 3)
        need(all(x and x <= all_of for x in seen), how, seen)


@case("bind: a job that a bound one starts is bound likewise, unless it says none")
def bind_inherited(where):
    one = CPUS[-1]
    show = script("child", SHOW_CPUS)
    middle = script("middle", f"""
        c = Client(2)
        started(c, command({show!r}, n=1))
        started(c, command({show!r}, n=1, bind="none"))
        c.finalize()
    """)
    parent = script("parent", f"""
        c = Client(2)
        started(c, command({middle!r}, n=1, bind="user:{one}"))
        c.finalize()
    """)
    lines_are(quiet(run(*where, "-n", 1, parent, env={"XDG_RUNTIME_DIR": runtime()})),
              f"0 {one}", "0 " + ",".join(map(str, CPUS)))


# --- libraries --------------------------------------------------------------------------

def built(how):
    """pmi2_spawn.c with a library, and what it needs in the environment."""
    out, lib = f"{tmp()}/pmi2_spawn", os.path.join(B, "lib")
    flags = {"Slurm's": ["-lpmi2"], "ours, Slurm's header": ["-lpmi2"],
             "ours, MPICH's structures": ["-DMPICH_STYLE", f"-I{ROOT}/pmi2", f"-L{lib}",
                                          "-lpmi2", f"-Wl,-rpath,{lib}"]}[how]
    subprocess.run(["cc", "-D_GNU_SOURCE", "-Wall", "-Werror", "-O1", "-o", out,
                    os.path.join(ROOT, "test", "progs", "pmi2_spawn.c"), *flags, "-lpthread", "-ldl"], check=True)
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
    r = run(*where, "-n", 2, program, "parent", env=env, limit=20)
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


@cases([(f"why not, in words, PMI-{w}", w) for w in (1, 2)])
def why_not(where, w):
    write_file(f"{tmp()}/broken", "#!/no/such/interpreter\n", 0o755)
    r = good(*where, "-n", 1, script("parent", f"""
        c = Client({w})
        for what in (command("true", n=2, wdir="/no/such"), command(HERE + "/broken", n=2),
                     command("true", n=1, hostfile="/no/such")):
            r = spawn(c, what)
            say(r.get("errmsg", r.get("msg", "none")).replace("_", " "))
        c.finalize()
    """))
    gone = "No such file or directory"
    same([re.sub("^[^ ]+: cannot start rank [01] ", "HOST: cannot start rank N ", x) for x in r.lines],
         [f"HOST: cannot start rank N (true): chdir to /no/such: {gone}",
          f"HOST: cannot start rank N (broken): exec: {gone}", f"hostfile: /no/such: {gone}"], "reasons")


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


main()

#!/usr/bin/env -S python3 -B
"""Attributes and constants as ranks see them, keys that are put once, and jobs that go on
when ranks die: on one host and on three."""

from lib import *

PLACES = [("one host", []), ("three hosts", ["-launcher", "fork", "-hosts", "a,b:2,c"])]
EACH = {"localRanks": ["0,1,2,3"] * 4, "localRanksCount": ["4"] * 4, "physTopology": ["complete"] * 4,
        "physTopologyLevels": [None] * 4, "PMI_process_mapping": ["(vector,(0,1,4))"] * 4}
SPREAD = {"localRanks": ["0", "1,2", "1,2", "3"], "localRanksCount": ["1", "2", "2", "1"],
          "physTopology": ["hierarchical"] * 4, "physTopologyLevels": ["complete,complete"] * 4,
          "PMI_process_mapping": ["(vector,(0,1,1),(1,1,2),(2,1,1))"] * 4}


def places(name):
    """Decorator: a test point for each of PLACES."""
    return rows([(f"{name}, {where}", options) for where, options in PLACES])


def ranks(options, code, n=4, **more):
    r = good(*options, "-n", n, *py(code), **more)
    return sorted(r.lines)


@places("what is known of the job and the node")
def known(options):
    want = {**(SPREAD if options else EACH), "hasNameServ": ["TRUE"] * 4, "cartDims": [None] * 4,
            "isHeterogeneous": ["FALSE"] * 4, "PMI_dead_processes": [None] * 4,
            "PMI_alive_processes": ["0,1,2,3"] * 4}
    seen = ranks(options, f"""
        c = Client(2)
        for k in {list(want)}:
            say(k, rank, c.ask("cmd=info-getjobattr;key=%s;" % k).get("value"))
        for k in "localRanks", "localRanksCount":
            need(c.ask("cmd=info-getjobattr;key=%s;" % k) ==
                 {{**c.ask("cmd=info-getnodeattr;key=%s;" % k),
                  "cmd": "info-getjobattr-response"}}, k)
        for k in "memPoolType", "memSYSVid", "memAnonMMAPfd", "memNTName", "cartCoords":
            r = c.ask("cmd=info-getnodeattr;key=%s;" % k)
            need(r["rc"] == "0" and r["found"] == "FALSE", k, r)
        c.fence()
        c.finalize()
    """)
    same(seen, sorted(f"{k} {i} {v[i]}" for k, v in want.items() for i in range(4)), "attributes")


@places("hwloc's XML: one for each host, which hwloc reads, and cannot be changed")
def xml(options):
    seen = ranks(options, """
        import errno
        c = Client(1 + rank % 2)
        ask = "cmd=get kvsname=x key=%s" if c.version == 1 else "cmd=info-getjobattr;key=%s;"
        if c.version == 1:
            ask = ask.replace("x", c.kvsname(), 1)
        path = c.ask(ask % "PMI_hwloc_xmlfile")["value"]
        need(path == c.ask(ask % "PMI_hwloc_xmlfile")["value"], "the same again")
        text = open(path).read()
        need(text.startswith("<?xml") and text.rstrip().endswith("</topology>"), text[:80])
        try:
            with open(path, "r+b") as f:
                f.write(b"x")
            need(False, "it can be written")
        except OSError as e:
            need(e.errno == errno.EPERM, e)
        say(path)
        c.fence()
        c.finalize()
    """)
    same(len(set(seen)), 3 if options else 1, f"files of {seen}")
    same([p for p in seen if os.path.exists(p)], [], "files that are left")


@test("without hwloc: no such attribute, and -v says why")
def no_hwloc():
    lib = subprocess.run(["sh", "-c", "ldconfig -p | sed -n 's/.*libhwloc.so.15 .*=> //p' | head -1"],
                         stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    need(lib, "libhwloc")
    hide = ["unshare", "-m", "sh", "-c", 'mount --bind /dev/null "$0" && exec "$@"',
            os.path.realpath(lib)]
    code = py("""
        c = Client(2)
        say(c.ask("cmd=info-getjobattr;key=PMI_hwloc_xmlfile;"))
        c.finalize()
    """)
    wanted = "{'cmd': 'info-getjobattr-response', 'rc': '0', 'found': 'FALSE'}"
    r = run("-n", 1, *code, prefix=hide)
    same((r.status, r.lines, r.messages), (0, [wanted], []), "silent")
    r = run("-v", "-n", 1, *code, prefix=hide)
    need([m for m in r.messages if "no PMI_hwloc_xmlfile: " in m and "hwloc" in m], "the reason",
         repr(r))


@test("nothing of hwloc is loaded unless it is asked for")
def lazily():
    for program in "mpiexec_lite", "pmi2_proxy":
        r = subprocess.run(["readelf", "-d", os.path.join(B, "bin", program)], check=True,
                           stdout=subprocess.PIPE, text=True)
        need("hwloc" not in r.stdout, program, r.stdout)


@places("constants are in the environment, and are what the server says")
def constants(options):
    want = SPREAD if options else EACH
    seen = ranks([*options, "-usize", 9], """
        c = Client(2)
        for name, key in (("PMI_UNIVERSE_SIZE", "universeSize"), ("PMI_LOCAL_RANKS", "localRanks"),
                          ("PMI_PROCESS_MAPPING", "PMI_process_mapping"),
                          ("MPI_LOCALNRANKS", "localRanksCount")):
            need(c.ask("cmd=info-getjobattr;key=%s;" % key)["value"] == os.environ[name], name)
        need(c.appnum() == int(os.environ["PMI_APPNUM"]), "appnum")
        say(rank, os.environ["PMI_UNIVERSE_SIZE"], os.environ["PMI_LOCAL_RANKS"])
        c.finalize()
    """)
    same(seen, [f"{i} 9 {want['localRanks'][i]}" for i in range(4)], "constants")


@test("constants are not those of an outer launcher, nor the user's")
def nested():
    show = ["/bin/sh", "-c", "echo $PMI_UNIVERSE_SIZE $PMI_LOCAL_RANKS $PMI_APPNUM"]
    r = run("-usize", 9, "-n", 1, LAUNCHER, "-env", "PMI_APPNUM", 7, "-n", 2, *show)
    same((r.status, r.lines), (0, ["0,1 0", "0,1 0"]), "inner job")


@places("read-only: the second put is refused, on every node after the fence")
def once(options):
    seen = ranks(options, """
        c = Client(2)
        put = "cmd=kvs-put;key=%s;value=%s;"
        if rank == 0:
            need(c.ask(put % ("k", "v") + "read-only=TRUE;")["rc"] == "0", "first")
            need(c.ask(put % ("k", "w"))["rc"] == "4", "again")
        c.fence()
        need(c.get("k") == "v", "value")
        say(c.ask(put % ("k", rank))["rc"], c.ask(put % ("k", rank) + "read-only=TRUE;")["rc"])
        c.fence()
        need(c.get("k") == "v", "value")
        c.finalize()
    """)
    same(seen, ["4 4"] * 4, "codes")


@test("read-only: two nodes that do not know of each other; the fence of one says so")
def twice():
    seen = ranks(PLACES[1][1], """
        c = Client(2)
        if rank in (0, 3):
            need(c.ask("cmd=kvs-put;key=k;value=%d;read-only=TRUE;" % rank)["rc"] == "0", "put")
        say("fence", c.ask("cmd=kvs-fence;")["rc"])
        say("value", c.get("k"))
        need(c.ask("cmd=kvs-fence;")["rc"] == "0", "next fence")
        c.finalize()
    """)
    same(seen[:4], ["fence 0"] * 3 + ["fence 4"], "fences")
    need(seen[4:] in (["value 0"] * 4, ["value 3"] * 4), "one value", repr(seen))


SHRINK = """
    import signal
    told = []
    signal.signal(signal.SIGUSR1, lambda *a: told.append(rank))
    c = Client(2 if rank else 1)
    fence = "cmd=kvs-fence;" if rank else "cmd=barrier_in"
    c.put("a%d" % rank, "v")
    c.fence()
    {die}
    r = c.ask(fence)
    need(r["rc"] == "14" and r.get("errmsg", r.get("msg")).replace("_", " ") == {text!r}, r)
    c.put("b%d" % rank, "w")
    for i in range(3):
        c.fence()
    dead = {dead}
    for i in range(size):
        need(c.get("a%d" % i) == "v" and c.get("b%d" % i) == (None if i in dead else "w"), i)
    need(c.get("PMI_dead_processes") == ",".join(map(str, dead)), "dead")
    need(c.get("PMI_alive_processes") == ",".join(str(i) for i in range(size) if i not in dead),
         "alive")
    need(told, "SIGUSR1")
    say("good", rank)
    c.fence()
    c.finalize()
"""


@rows([(f"-disable-auto-cleanup: {name}, {where}", options, die, dead, text, status)
       for where, options in PLACES for name, die, dead, text, status in (
    ("one is killed, the others hear of it and fence on", "rank == 2 and os.kill(os.getpid(), 9)",
     [2], "rank 2 has ended", 137),
    ("one aborts itself alone",
     "rank == 1 and (c.send(c.message('cmd=abort;isworld=FALSE;exitcode=3;')), time.sleep(60))",
     [1], "rank 1 has ended", 3),
    ("one exits inside PMI", "rank == 3 and os._exit(7)", [3], "rank 3 has ended", 7))])
def shrink(options, die, dead, text, status):
    r = run(*options, "-disable-auto-cleanup", "-n", 4, *py(SHRINK.format(die=die, dead=dead,
                                                                          text=text)))
    same((r.status, sorted(r.lines)), (status, [f"good {i}" for i in range(4) if i not in dead]),
         f"end of {r}")


@places("-disable-auto-cleanup: ranks that do not catch SIGUSR1 are not sent it")
def quiet(options):
    r = run(*options, "-disable-auto-cleanup", "-n", 4, *py("""
        c = Client(2)
        c.fence()
        if rank == 0:
            os.kill(os.getpid(), 9)
        need(c.ask("cmd=kvs-fence;")["rc"] == "14", "fence")
        time.sleep(0.2)
        c.fence()
        c.finalize()
        say("good")
    """))
    same((r.status, r.lines), (137, ["good"] * 3), f"end of {r}")


@places("-disable-auto-cleanup: a fence of the living, as a group")
def group(options):
    r = run(*options, "-disable-auto-cleanup", "-pmi1-groups", "-n", 4, *py("""
        c = Client(1)
        c.fence()
        if rank == 1:
            os.kill(os.getpid(), 9)
        while not c.get("PMI_dead_processes"):
            time.sleep(0.01)
        for i in range(3):
            need(c.ask("cmd=barrier_in group=%s:7" % c.get("PMI_alive_processes"))["rc"] == "0", i)
        c.finalize()
        say("good")
    """))
    same((r.status, r.lines), (137, ["good"] * 3), f"end of {r}")


main()

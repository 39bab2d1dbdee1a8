#!/usr/bin/env -S python3 -B
"""Attributes and constants as ranks see them, and keys that are put once: on one host and on
three, of the job of the command line and of jobs that ranks start."""

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


def script(name, code):
    """An executable file with this code, as py() makes it; its path."""
    return write_file(f"{tmp()}/{name}", f"#!{sys.executable} -SB\n" + py(code)[-1], 0o755)


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


@places("hwloc's XML leaves no file behind, also when the launcher is killed")
def xml_killed(options):
    os.mkdir(tmp() + "/files")
    job = Job(*options, "-n", 2, *py("""
        c = Client(2)
        path = c.ask("cmd=info-getjobattr;key=PMI_hwloc_xmlfile;")["value"]
        need(open(path).read(5) == "<?xml", "the file")
        say("at", path)
        time.sleep(60)
    """), env={"TMPDIR": tmp() + "/files", "XDG_RUNTIME_DIR": tmp() + "/files"})
    job.wait_text("at ", 2)
    paths = [x.split()[1] for x in job.text().decode().splitlines()]
    root = job.root()
    for pid in job.pid, root:
        os.kill(pid, signal.SIGKILL)
    job.popen.wait()
    nothing_left(job.mark)
    same([p for p in paths if os.path.exists(p)], [], "files in /proc")
    same([f for _, _, files in os.walk(tmp() + "/files") for f in files if "xml" in f.lower()], [],
         "files on disk")


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


# A child's job asks the same questions, and knows nothing of its parent's node attributes.
CHILD = """
    import re
    v = int(sys.argv[1])
    c = Client(v)
    def attr(key):
        if v == 1:
            return c.ask("cmd=get kvsname=%s key=%s" % (os.environ["PMI_JOBID"], key)).get("value")
        return c.ask("cmd=info-getjobattr;key=%s;" % key).get("value")
    need(size == 3, "size", size)
    mapping = attr("PMI_process_mapping")
    need(mapping == os.environ["PMI_PROCESS_MAPPING"], "mapping", mapping)
    nodes = []
    for first, n, each in re.findall(r"\((\d+),(\d+),(\d+)\)", mapping):
        nodes += [int(first) + i // int(each) for i in range(int(n) * int(each))]
    mine = [str(r) for r in range(size) if nodes[r] == nodes[rank]]
    need(len(nodes) >= 3 and 0 in nodes, "nodes", nodes)
    need(os.environ["PMI_LOCAL_RANKS"] == ",".join(mine), "local ranks", mine)
    need(os.environ["PMI_UNIVERSE_SIZE"] == "9" and os.environ["PMI_APPNUM"] == "0", "constants")
    need(attr("PMI_dead_processes") is None and attr("PMI_alive_processes") == "0,1,2", "alive")
    xml = attr("PMI_hwloc_xmlfile")
    need(open(xml).read().startswith("<?xml"), "hwloc")
    if v == 2:
        need(attr("localRanks") == ",".join(mine), "localRanks")
        need(attr("localRanksCount") == str(len(mine)), "localRanksCount")
        need(attr("universeSize") == "9" and attr("isHeterogeneous") == "FALSE", "of all")
        one = len(set(nodes[:3])) == 1
        need(attr("physTopology") == ("complete" if one else "hierarchical"), "physTopology")
        r = c.ask("cmd=info-getnodeattr;key=mine;wait=FALSE;")
        need(r["found"] == "FALSE", "of the parent's", r)
    say("child", xml)
    c.fence()
    c.finalize()
"""


@rows([(f"a spawned job's attributes are its own, PMI-{v}, {where}", options, v)
       for where, options in PLACES for v in (1, 2)])
def spawned(options, v):
    child = script("child", CHILD)
    seen = ranks([*options, "-usize", 9], f"""
        c = Client(2)
        need(c.ask("cmd=info-putnodeattr;key=mine;value=x;")["rc"] == "0", "put")
        say("parent", c.ask("cmd=info-getjobattr;key=PMI_hwloc_xmlfile;")["value"])
        c.fence()
        if rank == 0:
            r = c.ask("cmd=spawn;ncmds=1;preputcount=0;subcmd={child};maxprocs=3;argc=1;"
                      "argv0={v};infokeycount=0;")
            need(r["rc"] == "0", r)
        c.fence()
        c.finalize()
    """, n=4)
    children = {x.split()[1] for x in seen if x.startswith("child ")}
    parents = {x.split()[1] for x in seen if x.startswith("parent ")}
    same(len(seen), 7, f"lines: {seen}")
    need(children <= parents, "a file for each host, of all jobs", children, parents)


@places("a waiting get ends with a put on the same host, whatever others put")
def waiting(options):
    seen = ranks(options, """
        c = Client(2)
        put = "cmd=info-putnodeattr;key=k;value=of-%d;" % rank
        wait = "cmd=info-getnodeattr;key=k;wait=TRUE;"
        local = os.environ["PMI_LOCAL_RANKS"].split(",")
        if str(rank) == local[-1]:              # the others wait, or ask later
            time.sleep(0.1 * (len(local) > 1))
            need(c.ask(put)["rc"] == "0", "put")
        say(c.ask(wait)["value"], "for", rank)
        c.fence()
        need(c.ask(wait)["value"] == "of-" + local[-1], "again")
        c.finalize()
    """)
    last = ["0", "2", "2", "3"] if options else ["3"] * 4
    same(seen, sorted(f"of-{x} for {i}" for i, x in enumerate(last)), "values")


@places("a waiting get when all others of the host have ended is an error")
def waiting_in_vain(options):
    r = run(*options, "-n", 4, *py("""
        c = Client(2)
        if os.environ["MPI_LOCALRANKID"] == "0":
            r = c.ask("cmd=info-getnodeattr;key=never;wait=TRUE;")
            need(r["rc"] == "14" and "other rank" in r["errmsg"], r)
            say("good")
        c.finalize()
    """))
    same((r.status, set(r.lines)), (0, {"good"}), f"end of {r}")


@test("-topology-file: dimensions, coordinates of hosts, and what the file does not know")
def cartesian():
    file = write_file(tmp() + "/net", "# ours\ndims 4,2\na 3,1\nC 0,0\nelsewhere 1,1\n")
    seen = ranks([*PLACES[1][1], "-topology-file", file], """
        c = Client(2)
        job = lambda k: c.ask("cmd=info-getjobattr;key=%s;" % k)["value"]
        node = lambda k: c.ask("cmd=info-getnodeattr;key=%s;" % k).get("value")
        put = "cmd=info-putnodeattr;key=cartCoords;value=9,9;"
        need(job("cartDims") == "4,2" and job("physTopology") == "hierarchical", "dims")
        need(job("physTopologyLevels") == "cartesian,complete", "levels")
        say(rank, node("cartCoords"))
        c.fence()
        say(rank, c.ask(put)["rc"], node("cartCoords"))
        c.finalize()
    """)
    same(seen, ["0 3,1", "0 4 3,1", "1 0 9,9", "1 None", "2 0 9,9", "2 None", "3 0,0", "3 4 0,0"],
         "coordinates")


@rows([(f"-topology-file: {name}", text, message) for name, text, message in (
    ("no file", None, "/net: No such file or directory"),
    ("a line that is wrong", "dims 2\na 2\n", "/net, line 2: 'a': 2 is not below 2"))])
def no_cartesian(text, message):
    if text:
        write_file(tmp() + "/net", text)
    r = run("-topology-file", tmp() + "/net", "-hosts", "a", "-n", 1, "true")
    need(r.status == 2 and message in r.messages[0], message, repr(r))


# What ssh does, but on hosts that are of another kind, as uname says there.
SSH = """#!/bin/sh
while [ "$1" != -- ]; do shift; done
host=$2; shift 2
case $host in odd*) exec setarch linux32 -- sh -c "$*";; esac
exec sh -c "$*"
"""


@rows([(f"isHeterogeneous: {name}", hosts, want) for name, hosts, want in (
    ("hosts alike", "a,b,c", "FALSE"), ("one is of another kind", "a,odd,c", "TRUE"),
    ("all are of another kind", "odd1,odd2,odd3", "FALSE"),
    ("this host and one of another kind", "localhost,a,odd", "TRUE"),
    ("a tree", "a,b,c,d,odd", "TRUE"))])
def heterogeneous(hosts, want):
    if subprocess.run(["setarch", "linux32", "--", "true"], check=False).returncode:
        raise Skip("no other personality here")
    n = hosts.count(",") + 1
    tree = ["-flat-hosts", 0, "-tree-width", 2] if n > 3 else []
    ssh = write_file(tmp() + "/ssh", SSH, 0o755)
    seen = ranks(["-launcher-exec", ssh, *tree, "-hosts", hosts], """
        c = Client(2)
        say(c.ask("cmd=info-getjobattr;key=isHeterogeneous;")["value"])
        c.finalize()
    """, n=n)
    same(seen, [want] * n, "what ranks are told")


@test("isHeterogeneous of a spawned job: of the hosts that it is on")
def heterogeneous_child():
    if subprocess.run(["setarch", "linux32", "--", "true"], check=False).returncode:
        raise Skip("no other personality here")
    ssh = write_file(tmp() + "/ssh", SSH, 0o755)
    child = script("child", """
        c = Client(2)
        say(sys.argv[1], c.ask("cmd=info-getjobattr;key=isHeterogeneous;")["value"])
        c.fence()
        c.finalize()
    """)
    seen = ranks(["-launcher-exec", ssh, "-hosts", "a:2,odd:2,b:2"], f"""
        c = Client(2)
        for hosts in "a,b", "a,odd", "odd":
            r = c.ask("cmd=spawn;ncmds=1;preputcount=0;subcmd={child};maxprocs=3;argc=1;"
                      "argv0=%s;infokeycount=1;infokey0=host;infoval0=%s;" % (hosts, hosts))
            need(r["rc"] == "0", r)
        c.finalize()
    """, n=1)
    same(seen, ["a,b FALSE"] * 3 + ["a,odd TRUE"] * 3 + ["odd FALSE"] * 3, "what they are told")


@test("a mapping that is too long is an error for who cannot take it, and is never cut")
def long_mapping():
    hosts = ",".join(f"h{i}:{1 + i % 3}" for i in range(110))
    mapping = "(vector," + ",".join(f"({i},1,{1 + i % 3})" for i in range(110)) + ")"
    r = good("-launcher", "fork", "-hosts", hosts, "-n", 2, *py("""
        c = Client(1 + rank)
        if rank == 0:
            r = c.ask("cmd=get kvsname=%s key=PMI_process_mapping" % c.kvsname())
            need(r["rc"] == "1" and "value" not in r, r)
        else:
            say(c.ask("cmd=info-getjobattr;key=PMI_process_mapping;").get("value"))
        need(os.environ["PMI_PROCESS_MAPPING"].endswith("(109,1,2))"), "in the environment")
        c.finalize()
    """), ":", "-n", sum(1 + i % 3 for i in range(110)) - 2, "true")
    need(900 < len(mapping) <= 1024, "a mapping between the limits", len(mapping))
    same(r.lines, [mapping], "for PMI-2")


main()

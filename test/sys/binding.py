#!/usr/bin/env -S python3 -B
"""What ranks run on: -bind-to and its kin on the processors of this machine, with taskset and
cgroups; what two jobs at a time do; nodes in turn.  Choices on other machines are the unit
test's (test_mapper.c)."""

import itertools
import json
import re

from lib import *
import pmixlib
from pmixlib import Ranks, Tool, info, query

CPUS = sorted(os.sched_getaffinity(0))
HOSTS = ["-launcher", "fork", "-hosts", "h0,h1,h2"]
SHOW = """
import os
print(os.environ["PMI_RANK"], ",".join(map(str, sorted(os.sched_getaffinity(0)))))
"""


def mine(**more):
    return {"env": {"XDG_RUNTIME_DIR": runtime(), **more}}


def bound(*words, prefix=(), env=None, status=0):
    """The processors of each rank, by rank, and the result."""
    r = run(*words, *py(SHOW), prefix=prefix, **mine(**(env or {})))
    same(r.status, status, f"status of {r}")
    seen = {int(x.split()[0]): {int(i) for i in x.split()[1].split(",")} for x in r.lines}
    same(sorted(seen), list(range(len(seen))), "ranks")
    return [seen[i] for i in sorted(seen)], r


def cores(cpus):
    """The cores of this machine, with those of these processors that each has."""
    found = []
    for cpu in cpus:
        with open(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list") as f:
            parts = [p.split("-") for p in f.read().strip().split(",")]
        core = {i for p in parts for i in range(int(p[0]), int(p[-1]) + 1)} & set(cpus)
        if core not in found:
            found.append(core)
    return found


def turns(sets, n):
    return [sets[i % len(sets)] for i in range(n)]


def only(cpus):
    return ("taskset", "-c", ",".join(map(str, cpus)))


# --- sets ----------------------------------------------------------------------------------

@rows([(f"{' '.join(words)}, of {'all' if n is None else 'the last'}", words, kind, n)
       for (words, kind), n in itertools.product((
           (("-bind-to", "core"), "core"), (("--bind-to-core",), "core"),
           (("-binding=core",), "core"), (("-map-by", "core"), "core"),
           (("--map-by", "slot:PE=1"), "core"), (("-bind-to", "hwthread"), "one"),
           (("-bind-to", "rr"), "one"), (("-bind-to", "machine"), "all"),
           (("-bind-to", "user:" + ",".join(map(str, CPUS))), "one"),
           (("--bind-to-none",), "all"), (("-bind-to", "core", "-map-by", "socket"), "core"),
       ), (None, -1))])
def sets(words, kind, last):
    cpus = CPUS if last is None else CPUS[last:]
    want = {"core": cores(cpus), "one": [{i} for core in cores(cpus) for i in sorted(core)],
            "all": [set(cpus)]}[kind]
    n = 2 * len(want) + 1
    seen, r = bound(*words, "-n", n, prefix=only(cpus))
    if words[-1] == "socket" or kind == "one":   # whose order depends on the machine
        need(all(x in want for x in seen), "each is one of them", seen, want)
        same(len({frozenset(x) for x in seen}), len(want), "all of them")
    else:
        same(seen, turns(want, n), f"{words}: {r}")


@test("taskset -c LAST: -bind-to core stays there")
def stays():
    seen, r = bound("-bind-to", "core", "-n", 1, prefix=only(CPUS[-1:]))
    same(seen, [{CPUS[-1]}], f"{r}")
    same(r.err, b"", "nothing to say")


@rows([(f"{what}: within what may be used", what) for what in ("numa", "socket", "core:2",
                                                              "l1cache", "hwthread:3")])
def within(what):
    probe = run("-bind-to", what, "-n", 1, "true", **mine())
    if b"this host has none" in probe.err:
        raise Skip(f"no {what} here")
    seen, _ = bound("-bind-to", what, "-n", 3)
    need(all(x and x <= set(CPUS) for x in seen), "inside", seen)


@rows([(f"{name}={value} does what the option does", name, value)
       for name, value in (("HYDRA_BINDING", "core"), ("HYDRA_MAPPING", "core"))])
def variables(name, value):
    sets_ = cores(CPUS)
    seen, _ = bound("-n", len(sets_), env={name: value})
    same(seen, sets_, f"{name}={value}")
    seen, _ = bound("-bind-to", "none", "-n", 1, env={name: value})
    same(seen, [set(CPUS)], "an option beats it")


@test("-cpu-list: nobody gets another one")
def cpu_list():
    seen, _ = bound("-cpu-list", CPUS[-1], "-n", 2, "-bind-to", "core", "--oversubscribe")
    same(seen, [{CPUS[-1]}] * 2, "with -bind-to")
    seen, _ = bound("-cpu-list", CPUS[-1], "-n", 1)
    same(seen, [{CPUS[-1]}], "alone")


@rows([("several programs: turns go through all ranks of a node", []),
       ("several programs, three hosts", HOSTS)])
def programs(where):
    sets_ = cores(CPUS)
    r = good(*where, "-bind-to", "core", "--oversubscribe", "-n", 2, *py(SHOW), ":", "-n", 2,
             *py(SHOW), **mine())
    same(len(r.lines), 4, "ranks")
    if not where:
        seen = dict(x.split() for x in r.lines)
        same([{int(i) for i in seen[str(k)].split(",")} for k in range(4)], turns(sets_, 4), "turns")


@rows([(f"{' '.join(words)}: refused, {place}", words, text, where)
       for (words, text), (place, where) in itertools.product((
           (("-bind-to", "user:8191"), "user:8191: none of them may be used"),
           (("-bind-to", "l5cache"), "l5cache: this host has none"),
           (("-bind-to", "pci:ffff:1f:00.0"), "this host has none"),
           (("-gpus-per-proc", "99"), "-gpus-per-proc"),
           (("-membind", "bind:1000"), "there are no such NUMA nodes here"),
       ), (("one host", []), ("three hosts", HOSTS)))])
def refused(words, text, where):
    r = run(*where, *words, "-n", 3, "sh", "-c", "echo ran", **mine())
    same(r.status, 255, f"status of {r}")
    same(r.out, b"", "nobody ran")
    need(any("processes cannot be bound" in m and text in m for m in r.messages), text, repr(r))


# --- hosts ---------------------------------------------------------------------------------

@test("hosts bind for themselves; binding= of the host file is one host's own")
def hosts():
    path = write_file(f"{tmp()}/hosts", f"h0:2\nh1:2 binding=user:{CPUS[-1]}\nh2:2 binding=none\n")
    seen, _ = bound("-launcher", "fork", "-f", path, "-bind-to", "core", "-n", 6,
                    "--oversubscribe")
    same(seen[:2], turns(cores(CPUS), 2), "h0: the option")
    same(seen[2:4], [{CPUS[-1]}] * 2, "h1: its own")
    same(seen[4:], [set(CPUS)] * 2, "h2: its own")


def tool_of(job):
    path = f"{runtime()}/pmi2_server/{os.uname().nodename}.{job.pid}.s"
    wait_for(lambda: pmixlib.accepts(path), "the tools' socket")
    return Tool(path)


def numbers(text):
    """The processors of "0-1,3"."""
    parts = [p.split("-") for p in text.split(",")]
    return {i for p in parts for i in range(int(p[0]), int(p[-1]) + 1)}


@rows([("PMIX_LOCAL_CPUSETS and PMIX_CPUSET are what ranks are bound to, one host", []),
       ("PMIX_LOCAL_CPUSETS and PMIX_CPUSET, of hosts, flat", ["-tree-width", "0"]),
       ("PMIX_LOCAL_CPUSETS and PMIX_CPUSET, of hosts in a chain", ["-flat-hosts", "1", "-tree-width", "1"])])
def cpusets(tree):
    path = write_file(f"{tmp()}/hosts", f"h0:2\nh1:2 binding=user:{CPUS[-1]}\nh2:2 binding=none\n")
    where = ["-launcher", "fork", "-f", path, "-map-by", "node", *tree] if tree else []
    ranks = Ranks("-bind-to", "core", "--oversubscribe", *where, "-n", 6 if tree else 3, **mine())
    tool = tool_of(ranks.job)
    job = info("pmix.nspace", "STRING", ranks.jobid)
    nodes_ = [[0, 3], [1, 4], [2, 5]] if tree else [[0, 1, 2]]

    def asked(peer, key, *quals):
        x = pmixlib.good(peer.call("pmix-query", queries=[query(key, qualifiers=[job, *quals])]))["results"][0]
        return x.get("value", x.get("status"))

    def got(peer, rank, key):
        return pmixlib.good(peer.call("pmix-get", nspace=ranks.jobid, rank=rank, key=key))["value"]["value"]
    for node, local in enumerate(nodes_):
        same(asked(tool, "pmix.lpeers", info("pmix.nodeid", "UINT32", node)), ",".join(map(str, local)), "peers")
        text = asked(tool, "pmix.lcpus", info("pmix.nodeid", "UINT32", node))
        if node == 2:
            same(text, -46, "nobody there is bound")
            continue
        same([numbers(x) for x in text.split(":")], [os.sched_getaffinity(ranks[r].pid) for r in local], f"of node {node}")
        for i, r in enumerate(local):
            same(got(ranks[r], '"wildcard"', "pmix.lcpus"), text, f"what rank {r} gets of its own node")
            own = "hwloc:" + text.split(":")[i]
            same([got(ranks[r], r, "pmix.cpuset"), got(ranks[0], r, "pmix.cpuset"),
                  asked(tool, "pmix.cpuset", info("pmix.rank", "PROC_RANK", r))], [own] * 3, "its own")
    ranks.finish()


@test("PMIX_LOCAL_CPUSETS: who is bound by nothing has none; of a spawned job as it was asked for")
def cpusets_of_others():
    ranks = Ranks("-n", 2, **mine())
    for key, rank in ("pmix.lcpus", '"wildcard"'), ("pmix.cpuset", 0):
        same(ranks[0].call("pmix-get", rank=rank, key=key)["status"], -46, key)
    tool = tool_of(ranks.job)
    app = {"cmd": "/bin/sleep", "argv": ["sleep", "600"], "maxprocs": 2}
    name = pmixlib.good(tool.call("pmix-spawn", apps=[app], infos=[info("pmix.bindto", "STRING", "core")]))["nspace"]
    job = info("pmix.nspace", "STRING", name)
    r = pmixlib.good(tool.call("pmix-query", queries=[query("pmix.lcpus", "pmix.qry.lptable", qualifiers=[job])]))["results"]
    same([numbers(x) for x in r[0]["value"].split(":")],
         [os.sched_getaffinity(p["pid"]) for p in r[1]["value"]["array"]], "of the spawned")
    pmixlib.good(tool.call("pmix-job-control", targets=[pmixlib.proc(name, "wildcard")], directives=[info("pmix.jctrl.kill", "BOOL", True)]))
    ranks.finish()


@rows([(" ".join(words), words, want) for words, want in (
    (["-map-by", "node"], "h0 h1 h2 h0 h1"), (["-bynode"], "h0 h1 h2 h0 h1"),
    (["-map-by", "slot"], "h0 h0 h1 h1 h2"), (["-rank-by", "node"], "h0 h1 h2 h0 h1"),
    (["-map-by", "node", "-rank-by", "slot"], "h0 h0 h1 h1 h2"),
    (["-map-by", "ppr:1:node"], "h0 h1 h2 h0 h1"))])
def nodes(words, want):
    r = good("-launcher", "fork", "-hosts", "h0:2,h1:2,h2:2", *words, "-n", 5,
             "-prepend-pattern", "%r %h", "sh", "-c", "echo")
    same([x.split()[1] for x in sorted(r.lines)], want.split(), f"{words}")


# --- what is said --------------------------------------------------------------------------

@rows([("-report-bindings: a line for each rank, before it runs", []),
       ("-report-bindings, three hosts", HOSTS)])
def report(where):
    both = f"{tmp()}/both"
    with open(both, "ab") as f:
        r = run(*where, "-bind-to", "core", "-report-bindings", "--oversubscribe", "-n", 3, "sh",
                "-c", "echo rank $PMI_RANK runs", stdout=f, stderr=f, **mine())
    same(r.status, 0, f"{r}")
    lines = open(both).read().splitlines()
    for rank in range(3):
        drawn = [i for i, x in enumerate(lines) if f" rank {rank}: [" in x]
        same(len(drawn), 1, f"rank {rank} in {lines}")
        need(re.search(r": rank \d: (\[[B./-]+\])+ [0-9,-]+$", lines[drawn[0]]), lines[drawn[0]])
        need(drawn[0] < lines.index(f"rank {rank} runs"), "before it runs", lines)
        same(lines[drawn[0]].count("B"), len(cores(CPUS)[0]), "a core")


@test("-report-bindings draws sockets, cores and threads; HYDRA_TOPO_DEBUG does, too")
def drawing():
    a, b = CPUS[0], CPUS[-1]
    if (a, b) != (0, 1):
        raise Skip("processors are not 0 and 1")
    machine = {"HWLOC_SYNTHETIC": "socket:2 core:2 pu:2"}
    r = run("-bind-to", "hwthread", "-report-bindings", "-n", 2, "true", **mine(**machine))
    same([m.split(": ", 2)[2] for m in r.messages], ["rank 0: [B./--][--/--] 0",
                                                    "rank 1: [.B/--][--/--] 1"], f"{r}")
    r = run("-n", 1, "true", **mine(HYDRA_TOPO_DEBUG="1", **machine))
    same([m.split(": ", 2)[2] for m in r.messages], ["rank 0: [../--][--/--] not bound"], f"{r}")


@test("more ranks than processors: one line where they are bound, none with --oversubscribe")
def crowd():
    n = len(CPUS) + 1
    _, r = bound("-bind-to", "core", "-n", n)
    same([m for m in r.messages if "bound" in m],
         [f"mpiexec_lite: {HOST}: {n} processes are bound to {len(CPUS)} "
          f"processor{'s' if len(CPUS) > 1 else ''}"], f"{r}")
    _, r = bound("-bind-to", "core", "-n", n, "--oversubscribe")
    same(r.err, b"", "not a word")
    _, r = bound("-n", n)
    same(r.err, b"", "nor where nobody is bound, on no terminal")


@test("more cores for a rank than there are: one line, with --oversubscribe none")
def fewer_cores():
    n = len(CPUS) + 7
    wanted = f"mpiexec_lite: {HOST}: processes are bound to %s instead of core:{n}: there are no more"
    for words in ["-bind-to", f"core:{n}"], ["-cpus-per-proc", n]:
        _, r = bound(*words, "-n", 1)
        need(r.status == 0 and re.fullmatch(wanted % "[1-9][0-9]*", "\n".join(r.messages)), repr(r))
        _, r = bound(*words, "-n", 1, "--oversubscribe")
        same(r.err, b"", "not a word")


@test("-nooversubscribe: refused beyond the processors, or slots of a list")
def refuses():
    n = len(CPUS) + 1
    r = run("--nooversubscribe", "-n", n, "true")
    same((r.status, r.messages), (2, [f"mpiexec_lite: {n} processes share {len(CPUS)} processor"
                                      f"{'s' if len(CPUS) > 1 else ''}: -nooversubscribe"]), f"{r}")
    good("--nooversubscribe", "-n", len(CPUS), "true")
    r = run("--nooversubscribe", "-launcher", "fork", "-hosts", "h0:2,h1", "-n", 4, "true")
    need(r.status == 2 and "h0 would have 3 processes and has 2 slots" in r.messages[0], repr(r))
    good("--nooversubscribe", "-launcher", "fork", "-hosts", "h0:2,h1", "-n", 3, "true")


@test("on a terminal one line says that ranks share processors")
def terminal():
    t = Terminal([LAUNCHER, "-n", len(CPUS) + 1, "true"])
    same(t.finish(), 0, "status")
    same(t.seen.count(b"processes share"), 1, t.seen)


# --- two jobs ------------------------------------------------------------------------------

@test("a second job takes free cores, a third one says what it shares; after kill -9 all is free")
def two_jobs():
    sets_ = cores(CPUS)
    if len(sets_) < 2:
        raise Skip("one core")
    first = Job("-bind-to", "core", "-n", 1, "sh", "-c", "echo on; exec sleep 1000", **mine())
    first.wait_text("on")
    seen, r = bound("-bind-to", "core", "-n", 1)
    same((seen, r.err), ([sets_[1]], b""), "the second one")
    seen, r = bound("-bind-to", "core", "-n", len(sets_))
    same(seen, sets_[1:] + sets_[:1], "the third one: free ones first")
    same(len(r.messages), 1, f"{r}")
    need(re.search(r"bound to processors? [0-9,-]+ also of job job-", r.messages[0]), repr(r))
    files = os.listdir(f"{runtime()}/pmi2_server/bound")
    same(len(files), 2, "a lock, and a file of the first job")
    os.kill(first.root(), signal.SIGKILL)
    first.finish()
    seen, r = bound("-bind-to", "core", "-n", 1)
    same((seen, r.err), ([sets_[0]], b""), "it is free again")
    same(os.listdir(f"{runtime()}/pmi2_server/bound"), ["lock"], "and nothing is left")


@test("a runtime folder that others could write to is not used, and nobody minds")
def no_folder():
    os.mkdir(f"{runtime()}/pmi2_server", 0o777)
    os.chmod(f"{runtime()}/pmi2_server", 0o777)
    seen, r = bound("-bind-to", "core", "-n", 1)
    same((seen, r.err), ([cores(CPUS)[0]], b""), f"{r}")
    same(os.listdir(f"{runtime()}/pmi2_server"), [], "nothing in it")


# --- memory, GPUs --------------------------------------------------------------------------

@rows([(f"-membind {how}", how, policy) for how, policy in (
    ("bind:0", "bind:0"), ("interleave:0", "interleave:0"), ("bind", "bind:"),
    ("interleave", "interleave:"), ("firsttouch", "local"), ("none", "default"))])
def memory(how, policy):
    r = run("-membind", how, "-n", 1, "sh", "-c", "head -1 /proc/self/numa_maps", **mine())
    if b"membind: Operation not permitted" in r.err or not os.path.exists("/proc/self/numa_maps"):
        raise Skip("no set_mempolicy here")
    same(r.status, 0, f"{r}")
    need(r.lines[0].split()[1].startswith(policy), policy, r.lines)


@rows([(f"-gpus-per-proc {n}, {ranks} ranks", n, ranks, want) for n, ranks, want in (
    ("1", 3, ["0", "1", "2"]), ("2", 3, ["0,1", "2,3", "0,1"]), ("AUTO", 2, ["0,1", "2,3"]),
    ("auto", 5, ["0", "1", "2", "3", "0"]))])
def gpus(n, ranks, want):
    env = {"HWLOC_XMLFILE": f"{ROOT}/test/topologies/gpus.xml", "CUDA_VISIBLE_DEVICES": "mine"}
    r = good("-gpus-per-proc", n, "-n", ranks, "sh", "-c", "echo $PMI_RANK $CUDA_VISIBLE_DEVICES",
             **mine(**env))
    same([x.split()[1] for x in sorted(r.lines)], want, f"{r}")


# --- cgroups -------------------------------------------------------------------------------

@contextlib.contextmanager
def cgroup(controller, **files):
    """A group of this controller, as cgroups 1 and 2 have it; its words to start in it."""
    old = os.path.isdir(f"/sys/fs/cgroup/{controller}")
    path = f"/sys/fs/cgroup/{controller + '/' if old else ''}mpx-{os.getpid()}-{id(files)}"
    try:
        try:
            os.mkdir(path)
            for name, value in files["old" if old else "new"].items():
                write_file(f"{path}/{name}", value)
        except OSError as e:
            raise Skip(f"no cgroups here: {e}")
        yield ("sh", "-c", f'echo $$ >{path}/cgroup.procs && exec "$@"', "sh")
    finally:
        with contextlib.suppress(OSError):
            os.rmdir(path)


@test("in a cgroup of one processor, -bind-to core stays there")
def cpuset():
    one = str(CPUS[-1])
    with cgroup("cpuset", old={"cpuset.cpus": one, "cpuset.mems": "0"},
                new={"cpuset.cpus": one}) as inside:
        seen, r = bound("-bind-to", "core", "-n", 1, prefix=inside)
        same((seen, r.err), ([{CPUS[-1]}], b""), f"{r}")


@test("a cgroup's quota of one processor counts, where ranks share processors")
def quota():
    if len(CPUS) < 2:
        raise Skip("one processor")
    with cgroup("cpu", old={"cpu.cfs_quota_us": "100000"},
                new={"cpu.max": "100000 100000"}) as inside:
        r = run("--nooversubscribe", "-n", 2, "true", prefix=inside)
        same((r.status, r.messages), (2, ["mpiexec_lite: 2 processes share 1 processor: "
                                          "-nooversubscribe"]), f"{r}")
        same(run("--nooversubscribe", "-n", 1, "true", prefix=inside).status, 0, "one is fine")


@rows([("-check: a cgroup's limit of processes", "pids", {"pids.max": "6"}, {"pids.max": "6"}, "cgroup_pids", lambda n: 0 <= n < 6),
       ("-check: of memory", "memory", {"memory.limit_in_bytes": "268435456"}, {"memory.max": "268435456"},
        "cgroup_memory", lambda n: n == 268435456),
       ("-check: of time", "cpu", {"cpu.cfs_quota_us": "50000"}, {"cpu.max": "50000 100000"}, "cgroup_cpus",
        lambda n: n == 0.5)])
def limits(controller, old, new, key, right):
    with cgroup(controller, old=old, new=new) as inside:
        r = run("-check", "-json", "-n", 20, "true", prefix=inside)
        host = json.loads(r.out)["hosts"][0]
        need(right(host["facts"][key]), f"{key} as -check tells it", host)
        told = [x for x in host["problems"] if "more processes are allowed by its cgroup" in x]
        same((len(told), r.status), (1, 1) if controller == "pids" else (0, 0), f"problems of {host}")


main()

#!/usr/bin/env -S python3 -B
"""-check on hosts of a bed: what they have is told, what will fail is named, in the table and
in JSON, and the exit status says so.  No program is started."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from trial import *                                     # noqa: E402
import json                                             # noqa: E402

# A library that is beside its program where that was built, and not where it is copied to.
GONE = compiled("libcheckgone.so", "int gone(void);\nint gone(void) { return 0; }\n", "-shared",
                "-fPIC", "-Wl,-soname,libcheckgone.so")
NEEDS = compiled("check_needs", "int gone(void);\nint main(void) { return gone(); }\n",
                 "-L" + os.path.dirname(GONE), "-lcheckgone")


def check(bed, *words, status=0, **more):
    """Its Result and the answer in JSON."""
    r = bed.run(0, [bed.launcher, "-check", "-json", *words], **more)
    same(r.returncode, status, f"status of {r}")
    return json.loads(r.stdout)


def problems(answer):
    return {h["name"]: h["problems"] for h in answer["hosts"] if h["problems"]}


def facts(answer, name):
    return next(h["facts"] for h in answer["hosts"] if h["name"] == name)


def quiet(bed):
    """Nothing of ours runs on any node."""
    wait_for(lambda: not bed.processes(), "processes left")


@point("hosts that are well: what they have is true, and told in a table, too")
def well(bed):
    made = bed.path("made")
    script = bed.write("program", f"#!/bin/sh\ntouch {made}\n", 0o755)
    words = ["-f", bed.hosts(), "-n", 8, script]
    a = check(bed, *words)
    same((a["problems"], [h["name"] for h in a["hosts"]]), (0, bed.names), "no problem")
    need(not os.path.exists(made), "the program was not started")
    for h in a["hosts"]:
        f = h["facts"]
        need(h["reached"] and h["ranks"] == 2 and h["version"].startswith("1 ") and
             h["version"].endswith(h["name"]), "reached, and spoken to", h)
        need(0 < h["round_trip"] < LIMIT and 0 < h["start"] < LIMIT and
             abs(h["clock"]) <= h["round_trip"] + 0.001, "times: the clock is the same one", h)
        same([p["path"] for p in f["programs"]], [script], "its program")
        st = os.statvfs(f"/proc/{bed.nodes[0].init}/root/dev/shm")
        same(f["shm"], st.f_blocks * st.f_frsize, "/dev/shm")
    r = bed.run(0, [bed.launcher, "-check", *words])
    lines = r.stdout.decode().splitlines()
    same(([x.split()[:2] for x in lines], lines[-1]),
         ([["HOST", "STATE"], *([n, "good"] for n in bed.names), ["nothing", "is"]],
          f"nothing is wrong: {len(bed.names)} hosts"), "a table")
    r = bed.run(0, [bed.launcher, "-check", "-q", *words])
    same((r.returncode, r.stdout.decode().splitlines()), (0, lines[-1:]), "-quiet")
    quiet(bed)


@point("limits of a host are told, and those that are too low")
def limits(bed):
    shell = bed.write("low", "#!/bin/sh\nulimit -n 100\nulimit -l 64\nexec \"$@\"\n", 0o755)
    a = check(bed, "-hosts", "node0", "-n", 3, "true")
    need(facts(a, "node0")["open_files"] > 100, "as they are", a)
    r = bed.run(0, [shell, bed.launcher, "-check", "-json", "-hosts", "node0", "-n", 50, "true"])
    a = json.loads(r.stdout)
    same((facts(a, "node0")["open_files"], facts(a, "node0")["locked_memory"]), (100, 65536),
         "limits")
    same((r.returncode, problems(a)),
         (1, {"node0": ["100 open files are allowed (ulimit -n), and its ranks need some 264"]}),
         "too few")


@point("folders that are full are named: /dev/shm, the temporary one, the working directory")
def full(bed):
    folder, tmp = bed.path("work"), bed.path("tmp")
    for path in folder, tmp:
        os.makedirs(path, exist_ok=True)
    places = ["/dev/shm", tmp, folder]
    fill = bed.write("fill", "#!/bin/sh\nfor d; do mount -t tmpfs -o size=64k tmpfs $d || exit\n"
                             "dd if=/dev/zero of=$d/fill bs=4k 2>/dev/null; done; exit 0\n", 0o755)
    use = bed.write("use", "#!/bin/sh\nmount -t tmpfs -o nr_inodes=2 tmpfs $1 && touch $1/a\n",
                    0o755)
    words = ["-hosts", "node1,node2", "-genv", "TMPDIR", tmp, "-n", 2, "true"]
    same([bed.run(1, [fill, *places]).returncode, bed.run(2, [use, folder]).returncode], [0, 0],
         "what fills them")
    try:
        told = problems(check(bed, *words, status=1, cwd=folder))
    finally:
        bed.run(1, ["umount", *places])
        bed.run(2, ["umount", folder])
    why = "No space left on device"
    same(told, {"node1": [f"nothing can be stored in {x}: {why}" for x in places],
                "node2": [f"nothing can be stored in {folder}: {why}"]}, "what is full")
    same(check(bed, *words, cwd=folder)["problems"], 0, "and later not")


@point("a host that refuses, one that is silent, one without pmi2_proxy")
def unreached(bed):
    bed.sshd_stop(1)
    bed.silence(2)
    folder = bed.path("bin")
    bed.run(3, ["mount", "-t", "tmpfs", "tmpfs", folder])
    try:
        a = check(bed, "-f", bed.hosts(), "-launch-timeout", 3, "-n", 4, "true", status=1)
    finally:
        bed.run(3, ["umount", folder])
    p = problems(a)
    same([sorted(p), [len(x) for x in p.values()], a["problems"]],
         [["node1", "node2", "node3"], [1, 1, 1], 3], "hosts with a problem")
    need("refused" in p["node1"][0], "ssh says why", p)
    same(p["node2"], ["no answer within 3 s"], "silent")
    need("there is no pmi2_proxy" in p["node3"][0], "none", p)
    same([h["reached"] for h in a["hosts"]], [True, False, False, False], "reached")
    quiet(bed)


@point("pmi2_proxy is looked for in PATH, too; another version is named")
def proxies(bed):
    old = bed.write("old", "#!/bin/sh\nprintf '\\001PMI2-PROXY 99 9.9\\033[2J nodeX\\n'\n"
                           "cat >/dev/null\n", 0o755)
    a = check(bed, "-hosts", "node1", "-proxy", old, "true", status=1)
    need("protocol, version, host: 99 9.9?[2J nodeX) does not fit" in problems(a)["node1"][0],
         "another protocol, and no control character", a)
    strange = bed.write("strange", "#!/bin/sh\necho unknown argument $1 >&2\nexit 2\n", 0o755)
    a = check(bed, "-hosts", "node1", "-proxy", strange, "true", status=1)
    same(problems(a), {"node1": ["it ended (2) without an answer: unknown argument --check"]},
         "one that does not know the question")
    liar = bed.write("liar", "#!/bin/sh\nprintf '\\001PMI2-PROXY 1 0 x\\n'\nread a\n"
                             "echo '{\"clock\": 1}'\necho '{\"shm\": []}'\n", 0o755)
    a = check(bed, "-hosts", "node1", "-proxy", liar, "true", status=1)
    need("not about the programs" in problems(a)["node1"][0], "a wrong answer", a)
    os.symlink(bed.path("bin", "pmi2_proxy"), bed.path("pmi2_proxy"))
    profile = {"PATH": os.environ["PATH"]}
    bed.rc("root", ".bashrc", f"export PATH=$PATH:{bed.dir}\n")
    same(check(bed, "-hosts", "node1", "-proxy", "/no/such/place", "true",
               env=profile)["problems"], 0, "found in PATH")
    os.unlink(bed.path("pmi2_proxy"))


@point("programs: missing, not executable, without a library that they need")
def programs(bed):
    needs, plain = bed.install(NEEDS), bed.write("plain", "no program\n")
    a = check(bed, "-hosts", "node0,node1", "-n", 2, "no-such-program", ":", "-n", 2, needs,
              ":", "-n", 2, plain, ":", "-n", 2, "true", status=1)
    for name in "node0", "node1":
        p = problems(a)[name]
        need(len(p) == 3 and "no-such-program" in p[0] and p[1].startswith(
             f"{needs}: error while loading shared libraries: libcheckgone.so: ") and plain in p[2], f"of {name}", p)
    same(a["problems"], 6, "problems")
    bed.install(GONE)
    for option in "-genv", "-env":
        a = check(bed, "-hosts", "node0,node1", option, "LD_LIBRARY_PATH", bed.path("bin"), "-n",
                  2, needs)
        same(a["problems"], 0, "with LD_LIBRARY_PATH of the ranks")
    lib = ["-env", "LD_LIBRARY_PATH", bed.path("bin")]
    for blocks, status in (([*lib, "true", ":", needs], 1), (["true", ":", *lib, needs], 0)):
        a = check(bed, "-hosts", "node1:2", *blocks, status=status)
        same(a["problems"], status, f"each program has its own environment: {blocks}")
    a = check(bed, "-hosts", "node0,node1", "-n", 1, "true", ":", "-n", 1, "-arch", "vax", "true",
              status=1)
    same(problems(a), {"node1": [f"it is {os.uname().machine}, and -arch wants vax for true"]},
         "-arch")
    a = check(bed, "-hosts", "node1", "-fork-agent", "no-such-agent -x", "true", status=1)
    same(problems(a), {"node1": ["fork agent: no-such-agent: not found in PATH"]}, "-fork-agent")
    a = check(bed, "-hosts", "node1", "-wdir", "/no/such/folder", "true", status=1)
    same(problems(a), {"node1": ["there is no directory /no/such/folder"]}, "-wdir")
    os.unlink(bed.path("bin", os.path.basename(GONE)))


@point("what would stop the launcher itself, and a binding that a host has not")
def stopped(bed):
    hosts = ["-hosts", "node0,node1", "-n", 3]
    for words, place, text in (
            (["-nooversubscribe"], None, "node0 would have 2 processes and has 1 slots"),
            (["-outfile", "/etc/passwd/x"], None, "nothing can be written in /etc/passwd: Not a "),
            (["-outfile", "/tmp"], None, "/tmp: Is a directory"),
            (["-trace-wire", "/dev/null/x"], None, "nothing can be written in /dev/null: Not a "),
            (["-nameserver", "/no/such"], None, "-nameserver: /no/such: No such file or dir"),
            (["-timeline", "/dev/null/x.svg"], None, "nothing can be written in /dev/null: Not a "),
            (["-stdin", "file:/no/such"], None, "-stdin: /no/such: No such file"),
            (["-provider", "/no/such"], None, "provider /no/such: No such file"),
            (["-provider", "/etc/passwd"], None, "provider /etc/passwd: Permission denied"),
            (["-bind-to", "user:5000"], "node1", "processes cannot be bound: user:5000: none of "),
            (["-cpu-list", "5000"], "node0", "processes cannot be bound: -cpu-list: none of them")):
        a = check(bed, *words, *hosts, "true", status=1)
        told = a["launcher"]["problems"] if place is None else problems(a).get(place, [])
        need(any(text in x for x in told), f"the problem of {words}", a)
        r = bed.run(0, [bed.launcher, *words, *hosts, "true"])
        need(r.returncode, f"a job fails with {words}", r)
    r = bed.run(0, [bed.launcher, "-check", "-q", "-stdin", "file:/no/such", *hosts, "true"])
    same(r.stdout.decode(), "the launcher: -stdin: /no/such: No such file or directory\n"
                            "1 problem, 0 of 2 hosts\n", "as text")
    quiet(bed)


@point("-report-bindings: drawn on every host as a job draws it")
def drawn(bed):
    words = ["-hosts", "node0:2,node1:2", "-n", 4, "-bind-to", "core", "-report-bindings", "true"]
    job = bed.run(0, [bed.launcher, *words]).stderr.decode().splitlines()
    wanted = sorted(x.removeprefix("mpiexec_lite: ") for x in job if ": rank " in x)
    r = bed.run(0, [bed.launcher, "-check", *words])
    same(([x for x in r.stdout.decode().splitlines() if ": rank " in x], r.returncode, len(wanted)),
         (wanted, 0, 4), "what is drawn")
    same(facts(check(bed, *words), "node1")["drawn"],
         [x.partition(": ")[2] for x in wanted if x.startswith("node1")], "in JSON")


@point("what a login prints does not disturb; a launcher without a stream is said")
def noise(bed):
    bed.rc("root", ".bashrc", "echo welcome; echo oops >&2; echo '{\"clock\": 1}'\n")
    a = check(bed, "-hosts", "node1,node2", "true")
    same((a["problems"], abs(a["hosts"][0]["clock"]) < LIMIT), (0, True), "a greeting")
    a = check(bed, "-launcher", "manual", "-hosts", "node0,node1", "true", status=1)
    same(problems(a), {"node1": ["not asked: -launcher manual has no stream to ask by"]},
         "manual")


main([4, 4], [NEEDS])

#!/usr/bin/env -S python3 -B
"""Jobs over several hosts by ssh: ranks, values, trees, shells, firewalls, secrets, and
hosts that cannot be reached.  On a bed of namespaces: see test/bed.py."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from trial import *                                     # noqa: E402
import ast                                              # noqa: E402
import contextlib                                       # noqa: E402
import fcntl                                            # noqa: E402
import json                                             # noqa: E402
import pty                                              # noqa: E402
import re                                               # noqa: E402
import signal                                           # noqa: E402
import struct                                           # noqa: E402
import termios                                          # noqa: E402
import time                                             # noqa: E402

SIZE = 8
MPI, SLURM, CHORE = prog("mpi_ranks"), prog("slurm_all"), prog("chore")
OURS = os.path.join(lib.B, "lib/libpmi2.so.0")
# MPI_Finalize of Debian 12's MPICH (4.0.2 with UCX 1.13 over TCP) hangs under any launcher:
# a rank that is in its last PMI barrier does not answer one that still takes a connection
# down.  So connections are not taken down.
NO_DISCONNECT = compiled("no_disconnect.so", "void *ucp_disconnect_nb(void *ep);\n"
                         "void *ucp_disconnect_nb(void *ep) { (void)ep; return 0; }\n",
                         "-shared", "-fPIC")
PROGRAMS = [MPI, SLURM, CHORE, OURS, NO_DISCONNECT]

EXCHANGE = """
    c = Client(int(sys.argv[1]))
    for round in range(3):
        for k in range(3):
            c.put("key-%d-%d" % (rank, k), "round %d of %d;%d" % (round, rank, k)
                  if c.version == 2 else "round-%d-of-%d" % (round, rank))
        c.fence()
        for r in range(size):
            for k in range(3):
                v = c.get("key-%d-%d" % (r, k))
                need(v in ("round %d of %d;%d" % (round, r, k), "round-%d-of-%d" % (round, r)),
                     "value of", r, "in round", round, "is", v)
        need(c.get("nobody") is None, "an unknown key")
        c.fence()
    say("good", rank, size, c.appnum())
    c.finalize()
"""
SH = ("/bin/sh", "-c")
WHERE = 'echo $PMI_RANK $PMI_SIZE $(hostname) $MPI_LOCALRANKID $MPI_LOCALNRANKS'


def b(bed, program):
    """The copy of a program that all users can read."""
    return bed.path("bin", os.path.basename(program))


# --- the bed itself -------------------------------------------------------------------------

@point("the bed: ssh between hosts, faults and their end; nothing is left of it")
def the_bed(_):
    ssh = ["ssh", "-oBatchMode=yes", "-oConnectTimeout=2"]
    with Bed(3, sshd={"MaxStartups": "5:50:8"}) as bed:
        inits, folder = [n.init for n in bed.nodes], bed.dir
        for user in "root", "tester", "csher", "fisher":
            r = bed.run(1, [*ssh, "node2", "hostname; id -un; pwd"], user=user)
            same(r.stdout.decode().split(), ["node2", user, bed.home(user)], f"ssh of {user}, {r}")
        r = bed.run(0, [*ssh, "node1", "ssh -oBatchMode=yes node2 true"], user="leafless")
        same(r.returncode, 255, "nodes of leafless cannot ssh on")
        for fault, words in ((lambda: bed.sshd_stop(1), b"refused"),
                             (lambda: bed.host_keys(changed=[1]), b"verification failed"),
                             (lambda: bed.silence(1), b"timed out"),
                             (lambda: bed.kill_node(1), b"timed out")):
            fault()
            r = bed.run(0, [*ssh, "node1", "true"])
            need(r.returncode == 255 and words in r.stderr, "ssh fails", r)
            bed.heal()
            same(bed.run(0, [*ssh, "node1", "hostname"]).stdout, b"node1\n", "healed")
        job = bed.popen(0, [*ssh, "node2", "setsid sleep 60 & sleep 60"])
        wait_for(lambda: len(bed.processes(2)) >= 2, "processes of node2")
        need(len(bed.sessions(2)) == 1, "a session", bed.sessions())
        inits += [n.init for n in bed.nodes] + [p.pid for p in bed.processes(infrastructure=True)]
    job.finish()
    wait_for(lambda: not any(lib.alive(p) for p in inits), "all processes of the bed gone")
    need(not os.path.exists(folder), "its folder is gone")


# --- the right ranks, sizes and values ---------------------------------------------------

@point("ranks by host: a slot each, two each, by turns, several programs")
def where(bed):
    names = bed.names
    r = good(bed, "-n", 8, *SH, WHERE)
    same(sorted(r.lines), [f"{i} 8 {names[i]} 0 1" for i in range(8)], "one each")
    r = good(bed, "-n", 16, *SH, WHERE, hosts=[f"{n}:2" for n in names])
    same(sorted(r.lines, key=lambda x: int(x.split()[0])),
         [f"{i} 16 {names[i // 2]} {i % 2} 2" for i in range(16)], "two each")
    r = good(bed, "-n", 12, *SH, WHERE)
    same(sorted(r.lines, key=lambda x: int(x.split()[0])),
         [f"{i} 12 {names[i % 8]} {i // 8} {2 if i % 8 < 4 else 1}" for i in range(12)],
         "more ranks than slots")
    r = good(bed, "-n", 3, *SH, WHERE, ":", "-n", 2, *SH, WHERE, hosts=names[3:])
    same(sorted(r.lines), [f"{i} 5 {names[3 + i]} 0 1" for i in range(5)],
         "two programs, not on the launching host")
    say("8, 16, 12 and 5 ranks where they should be")


@point("MPICH: hello, ring, bcast and allreduce, 8 hosts")
def mpich(bed):
    pre = ["-genv", "LD_PRELOAD", b(bed, NO_DISCONNECT)]
    r = good(bed, *pre, "-n", 8, b(bed, MPI), "all", 256)
    same(sorted(r.lines), sorted([f"hello from {i} of 8" for i in range(8)] +
                                 ["ring 28", "coll good"]), "output")
    say(f"all in {r.took:.1f} s")
    r = good(bed, *pre, "-n", 16, b(bed, MPI), "all", 16, hosts=[f"{n}:2" for n in bed.names])
    need("ring 120" in r.lines and "coll good" in r.lines and len(r.lines) == 18, "16 ranks",
         repr(r))


def before(bed, library):
    """What to preload: the library, which may need its sanitizer's in front."""
    path = b(bed, library)
    if "asan" not in lib.B:
        return path
    asan = subprocess.run(["cc", "-print-file-name=libasan.so"], stdout=subprocess.PIPE, check=True)
    return f"{os.path.realpath(asan.stdout.decode().strip())}:{path}"


@points([(f"{library}: {mode[0]}, 16 ranks on 8 hosts", library, mode)
         for library in ("Slurm's libpmi2", "our libpmi2")
         for mode in (["bulk", 20], ["ring"], ["names"])])
def pmi2(bed, library, mode):
    own = ["-genv", "LD_PRELOAD", before(bed, OURS), "-genv", "ASAN_OPTIONS", "detect_leaks=0"] \
        if library[0] == "o" else []
    r = launch(bed, *own, "-n", 16, b(bed, SLURM), *mode, hosts=[f"{n}:2" for n in bed.names])
    same((r.status, sorted(r.lines)), (0, sorted(f"rank {i}: good, appnum 0" for i in range(16))),
         f"output of {r}")


@point("a node's attributes are seen, and waited for, on that node only")
def node_attributes(bed):
    r = good(bed, "-n", 16, *py(bed, """
        c = Client(2)
        host = os.uname().nodename
        if rank % 2:
            time.sleep(0.2)
            need(c.ask("cmd=info-putnodeattr;key=a;value=%s;" % host)["rc"] == "0", "put")
        r = c.ask("cmd=info-getnodeattr;key=a;wait=TRUE;")
        need(r["found"] == "TRUE" and r["value"] == host, r)
        need(c.ask("cmd=info-getnodeattr;key=only-%d;wait=FALSE;" % (rank // 2 - 1))["found"]
             == "FALSE", "an attribute of another node")
        c.ask("cmd=info-putnodeattr;key=only-%d;value=x;" % (rank // 2))
        c.fence()
        need(c.ask("cmd=info-getnodeattr;key=only-%d;wait=FALSE;" % (rank // 2 - 1))["found"]
             == "FALSE", "an attribute of another node")
        need(c.ask("cmd=info-getnodeattr;key=only-%d;wait=FALSE;" % (rank // 2))["found"]
             == "TRUE", "one of this node")
        c.finalize()
        say("good")
    """), hosts=[f"{n}:2" for n in bed.names])
    same(r.lines, ["good"] * 16, "output")


@point("PMI-1 and PMI-2 ranks on different hosts share values; put again, fence by fence")
def mixed(bed):
    r = good(bed, "-n", 3, *py(bed, EXCHANGE, 1), ":", "-n", 3, *py(bed, EXCHANGE, 2), ":",
             "-n", 2, *py(bed, EXCHANGE, 1))
    same(sorted(r.lines), [f"good {i} 8 {a}" for i, a in enumerate((0, 0, 0, 1, 1, 1, 2, 2))],
         "output")


@point("PMI_process_mapping tells the hosts' shape")
def mapping(bed):
    code = """
        c = Client(2)
        v = c.ask("cmd=info-getjobattr;key=PMI_process_mapping;")["value"]
        c.finalize()
        if rank == size - 1:
            say(v)
    """
    same(good(bed, "-n", 16, *py(bed, code), hosts=[f"{n}:2" for n in bed.names]).lines,
         ["(vector,(0,8,2))"], "two each")
    same(good(bed, "-n", 10, *py(bed, code)).lines, ["(vector,(0,8,1),(0,2,1))"], "by turns")


@point("values of 60000 bytes from each host, and 2 MB in one fence")
def large(bed):
    r = good(bed, "-n", 8, *py(bed, """
        c = Client(2)
        for k in range(4):
            c.put("big-%d-%d" % (rank, k), chr(97 + (rank + k) % 26) * 60000)
        c.fence()
        for r in range(size):
            for k in range(4):
                need(c.get("big-%d-%d" % (r, k)) == chr(97 + (r + k) % 26) * 60000, r, k)
        c.finalize()
        say("good")
    """))
    same(r.lines, ["good"] * 8, "output")


@point("output of all hosts: whole lines, none lost; labels; stderr apart; exit status")
def output(bed):
    r = good(bed, "-l", "-n", 8, b(bed, CHORE), "lines", 2000)
    for i in range(8):
        mine = [x for x in r.lines if x.startswith(f"[{i}] ")]
        same([x.split()[2] for x in mine], [str(k) for k in range(2000)], f"lines of rank {i}")
    r = launch(bed, "-n", 8, *SH, "echo out; echo err >&2; exit $PMI_RANK")
    same((r.status, r.lines, r.err.count(b"err\n")), (7, ["out"] * 8, 8), f"end of {r}")
    need(any("rank 7 on node7 (pid " in m and "exited with 7" in m for m in r.messages),
         "rank 7 and its host are named", repr(r))


@points([(f"-timeline: clocks of all hosts, and who was last; {name}", options)
         for name, options in (("flat", []), ("a chain", ["-tree-width", 1, "-flat-hosts", 1]))])
def timeline(bed, options):
    path = bed.path("timeline.json")
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    good(bed, "-timeline", path, *options, "-n", 8, *py(bed, """
        c = Client(2)
        for late in (5, 1):
            if rank == late:
                time.sleep(0.5)
            c.fence()
        c.finalize()
    """))
    with open(path) as f:
        seen = json.load(f)
    events = [e for e in seen["traceEvents"] if e["ph"] in "Xi"]
    hosts = [e for e in events if e["name"] == "connect"]
    same(len(hosts), 8, "hosts")
    same(sum(0 < e["args"]["uncertain_us"] < 1e6 for e in hosts), 7, "hosts with clocks of theirs")
    slack = 2 * max(e["args"]["uncertain_us"] for e in hosts) + 1
    for k in (1, 2):
        visits = [e for e in events if e["name"] == f"fence {k}"]
        same(len(visits), 8, f"ranks in fence {k}")
        came = max(e["ts"] for e in visits)
        need(min(e["ts"] + e["dur"] for e in visits) >= came - slack, "all wait", str(visits))
    ready = max(e["ts"] + e["dur"] for e in events if e["name"] == "set up")
    need(min(e["ts"] for e in events if e["name"] == "exec") >= ready - slack, "starts", str(hosts))
    text = [s["what"] for s in seen["criticalPath"]]
    for words in ("rank 5 on node5 was last in fence 1", "rank 1 on node1 was last in fence 2"):
        need(any(words in t for t in text), words, str(text))


@point("stdin reaches rank 0 on another host, to its end; the others see an end")
def stdin(bed):
    data = b"".join(b"line %d\n" % i for i in range(100000))
    path = bed.write("input", data)
    with open(path, "rb") as f:
        r = finish(start(bed, "-n", 3, "cat", hosts=bed.names[5:], stdin=f))
    need(r.status == 0 and r.out == data, "all of it, once", r.status, len(r.out), len(data), r.err)


@point("two jobs on the same hosts: the end of one, of any kind, is not the other's")
def two_jobs(bed):
    go = bed.path(f"go.{os.urandom(4).hex()}")
    job = start(bed, "-n", 8, *py(bed, DEPTH, go))
    job.wait_text("ready", 8)
    for how in "TERM", "KILL", "root":
        other = start(bed, "-n", 8, b(bed, CHORE), "daemon")
        other.wait_text("ready", 8)
        os.kill(front_and_root(other)[how == "root"],
                signal.SIGTERM if how == "TERM" else signal.SIGKILL)
        other.finish()
        wait_for(lambda: not [p for p in bed.processes() if "chore" in p.cmdline],
                 f"ranks of the job that had {how} gone", 5)
    bed.write(os.path.basename(go), "")
    r = finish(job)
    os.unlink(go)
    same((r.status, r.lines.count("ready"), len(r.lines)), (0, 8, 16), f"end of {r}")


# --- the tree ------------------------------------------------------------------------------

DEPTH = """
    c = Client(2)
    c.fence()
    say("ready")
    end = time.time() + 60
    while time.time() < end and not os.path.exists(sys.argv[1]):
        time.sleep(0.02)
    c.put("k%d" % rank, "v%d" % rank)
    c.fence()
    for r in range(size):
        need(c.get("k%d" % r) == "v%d" % r, "value of", r)
    c.finalize()
    say("good", rank)
"""


def ssh_by_node(bed):
    """How many ssh run on each node."""
    return [sum(os.path.basename(exe(p.pid)) == "ssh" for p in bed.processes(n.number))
            for n in bed.nodes]


def tree_job(bed, *options, **more):
    """A job that is looked at while it runs: its End, ssh's by node."""
    go = bed.path(f"go.{os.urandom(4).hex()}")
    job = start(bed, *options, "-n", 8, *py(bed, DEPTH, go), **more)
    job.wait_text("ready", 8)
    ssh = ssh_by_node(bed)
    bed.write(os.path.basename(go), "")
    r = finish(job)
    os.unlink(go)
    same((r.status, sorted(x for x in r.lines if x != "ready")),
         (0, [f"good {i}" for i in range(8)]), f"end of {r}")
    say(f"{' '.join(options)}: ssh's by node {ssh}, {r.took:.1f} s")
    return r, ssh


@point("-tree-width 2 -flat-hosts 1: a tree of several levels; all ranks and values right")
def tree(bed):
    r, ssh = tree_job(bed, "-tree-width", "2", "-flat-hosts", "1")
    same(sum(ssh), 7, "one ssh for each other host")
    need(ssh[0] <= 2 and sum(n > 0 for n in ssh) >= 3, "a tree of at least two levels", ssh)
    need(not r.messages, "no message", repr(r))


@point("flat: all ssh's are the launching host's")
def flat(bed):
    same(tree_job(bed)[1], [7] + [0] * 7, "ssh's by node of 8 hosts")
    same(tree_job(bed, "-tree-width", "0", "-flat-hosts", "1")[1], [7] + [0] * 7,
         "ssh's by node, -tree-width 0")


@point("nodes that cannot ssh on: flat instead, and -v says so")
def fall_back(bed):
    r, ssh = tree_job(bed, "-v", "-tree-width", "2", "-flat-hosts", "1", user="leafless")
    same(ssh, [7] + [0] * 7, "ssh's by node")
    need("started from here" in r.err.decode(), "-v says that it is flat", repr(r))
    r, ssh = tree_job(bed, "-tree-width", "2", "-flat-hosts", "1", user="leafless")
    need(not r.messages, "without -v no message", repr(r))


@point("a tree in which one node below the first cannot be reached: host named, all gone")
def tree_broken(bed):
    bed.sshd_stop(7)
    r = finish(start(bed, "-tree-width", "2", "-flat-hosts", "1", "-n", 8, *SH, "echo started"),
               bound=10, what="sshd of node7 stopped, tree")
    one_message(r, 255, "node7", "Connection refused")
    need(b"started" not in r.out, "no rank was started", repr(r))


# --- login shells ---------------------------------------------------------------------------

SHELLS = (("root", ".bashrc"), ("csher", ".cshrc"), ("fisher", ".config/fish/config.fish"))
ODD = ["a b", "", "'\"$HOME`x`", "\\", "é\n\t!", "*", "~", "{a,b}", "-n", "%", "(x)", ";"]


def through_shell(bed, user):
    """A job whose words would be spoilt by any shell that read them."""
    r = launch(bed, "-n", 8, *py(bed, """
        c = Client(2)
        c.fence()
        c.finalize()
        sys.stdout.buffer.write((repr(sys.argv[1:]) + "\\n").encode("ascii", "backslashreplace"))
    """, *ODD), user=user)
    same(r.status, 0, f"status of {r}")
    want = (repr(ODD) + "\n").encode("ascii", "backslashreplace").decode().strip()
    same(r.lines, [want] * 8, f"arguments of {r}")
    return r


@points([(f"login shell of {user}: {USER_SHELL}", user) for user, USER_SHELL in
         (("tester", "sh"), ("csher", "csh"), ("fisher", "fish"))])
def shell(bed, user):
    r = through_shell(bed, user)
    need(not r.messages, "no message", repr(r))


@points([(f"{rc} that prints: the job is right, stdout has no word of it", user, rc)
         for user, rc in SHELLS])
def rc_prints(bed, user, rc):
    bed.rc(user, rc, "echo Welcome to this fine host\necho\necho pmi2_proxy\n" * 20)
    r = through_shell(bed, user)
    text = sorted(re.sub("node[1-7]", "nodeN", m) for m in r.messages)
    same(text, [f"mpiexec_lite: nodeN and 6 more: {line}"
                for line in ("Welcome to this fine host", "pmi2_proxy")], f"messages of {r}")


@point(".bashrc that prints on stderr, on one host another line: who said what")
def rc_complains(bed):
    bed.rc("root", ".bashrc", "echo same >&2\n[ $(hostname) = node3 ] && echo own >&2\n")
    r = through_shell(bed, "root")
    own, same_line = sorted(r.messages, key=lambda m: not m.endswith(": own"))
    same(own, "mpiexec_lite: node3: own", f"messages of {r}")
    need(re.fullmatch("mpiexec_lite: node[1-7] and 6 more: same", same_line), "messages", repr(r))


@points([(".bashrc that reads stdin for a while", "root", ".bashrc", "read -t 0.5 word\n"),
         (".bashrc that looks whether stdin is a terminal", "root", ".bashrc",
          "[ -t 0 ] && echo terminal || stty -a 2>/dev/null\n"),
         ("config.fish that reads nothing of stdin, and fails", "fisher",
          ".config/fish/config.fish", "cat </dev/null\nfalse\n")])
def rc_reads(bed, user, rc, text):
    bed.rc(user, rc, text)
    through_shell(bed, user)


@points([(f"{rc} that swallows stdin: an error that names the host, nothing left", user, rc, text)
         for (user, rc), text in zip(SHELLS, ("cat >/dev/null\n",) * 3)])
def rc_swallows(bed, user, rc, text):
    bed.rc(user, rc, text)
    r = finish(start(bed, "-launch-timeout", 3, "-n", 8, *SH, "echo started", user=user),
               bound=8, what=f"{rc} reads all of stdin")
    one_message(r, 255, r"node[1-7]")
    need(b"started" not in r.out, "no rank was started", repr(r))


@points([(f"{rc} that {name}: told, nothing left", user, rc, text, pattern)
         for name, user, rc, text, pattern in (
    ("ends the shell", "root", ".bashrc", "[ $(hostname) != node3 ] || exit 3\n",
     r"node3: the login by ssh ended \(exit 3\) before pmi2_proxy answered"),
    ("becomes another program, which ends well", "csher", ".cshrc",
     "if (`hostname` == node3) exec true\n",
     r"node3: the login by ssh ended \(exit 0\) before pmi2_proxy answered"),
    ("prints 70 KB", "fisher", ".config/fish/config.fish",
     "test (hostname) = node3; and head -c 70000 /dev/zero | tr '\\0' y\n",
     "node3: it prints more than 64 KiB before the proxy answers"))])
def rc_fails(bed, user, rc, text, pattern):
    bed.rc(user, rc, text)
    r = finish(start(bed, "-n", 8, *SH, "echo started", user=user), bound=5, what=rc)
    one_message(r, 255, pattern)
    need(b"started" not in r.out, "no rank was started", repr(r))


@point("progress on a terminal: how many answer, and who is waited for; none of it elsewhere")
def progress(bed):
    go = bed.path("go")
    slow = bed.write("slow", f"#!/bin/sh\ncase \"$*\" in *'-- node5 '*) until [ -e {go} ]; do "
                     'sleep 0.1; done ;; esac\nexec ssh "$@"\n', 0o755)
    ours, theirs = pty.openpty()
    fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 200, 0, 0))
    job = start(bed, "-launcher-exec", slow, "-n", 8, *SH, "echo started", stderr=theirs)
    os.close(theirs)
    seen = b""
    while b"waiting for node5\x1b" not in seen:
        seen += os.read(ours, 4096)
    need(b"\rmpiexec_lite: starting: 6 of 7 hosts answer, 6 ready; waiting for node5\x1b[K" in seen,
         "the line", seen)
    fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 30, 0, 0))
    while b"\rmpiexec_lite: starting: 6 of \x1b" not in seen:      # it never wraps
        seen += os.read(ours, 4096)
    open(go, "w").close()
    r = finish(job)
    same((r.status, r.lines), (0, ["started"] * 8), f"end of {r}")
    with contextlib.suppress(OSError):           # the end of a terminal
        while piece := os.read(ours, 4096):
            seen += piece
    need(seen.endswith(b"\r\x1b[K"), "the line is taken back", seen)
    os.close(ours)
    os.unlink(go)
    r = finish(start(bed, "-launcher-exec", bed.write("slow", '#!/bin/sh\nsleep 1.5\n'
                                                      'exec ssh "$@"\n', 0o755), "-n", 2,
                     *SH, "echo started", hosts=["node1", "node2"]))
    same((r.status, r.lines, r.err), (0, ["started"] * 2, b""), f"end of {r}")


# --- no pmi2_proxy there ------------------------------------------------------------------------

@contextlib.contextmanager
def alone(bed, user="root"):
    """A launcher and its pmi2_proxy in a folder that node0 alone has: a job's words before its
    options."""
    folder = "/tmp/alone"
    bed.run(0, ["sh", "-c", f"mkdir {folder} && cp {bed.launcher} {bed.path('bin/pmi2_proxy')} "
                            f"{folder}"])
    try:
        yield folder + "/mpiexec_lite"
    finally:
        bed.run(0, ["rm", "-r", folder])


def staged(bed, launcher, *words, user="root", hosts=()):
    job = bed.popen(0, [launcher, "-f", bed.hosts(*hosts), *words], user=user)
    job.bed = bed
    return job


@point("a host without pmi2_proxy: named, with where it was looked for and what to do")
def proxy_missing(bed):
    with alone(bed) as launcher:
        r = finish(staged(bed, launcher, "-n", 8, *SH, "echo started"), clean=False)
    one_message(r, 255, "node[1-7]: pmi2_proxy was not found there: looked for "
                "/tmp/alone/pmi2_proxy and in PATH .*-proxy PATH or -stage-proxy")
    need(b"started" not in r.out and not r.left, "nothing was started, nothing is left", repr(r))


@points([(f"-stage-proxy: hosts without pmi2_proxy; {name}", user, options) for name, user, options
         in (("sh", "tester", []), ("csh", "csher", []), ("fish", "fisher", []),
             ("a tree", "root", ["-tree-width", 3, "-flat-hosts", 1]))])
def stage(bed, user, options):
    def folders():
        return [f"{n.name}: {line}" for n in bed.nodes[1:] for line in bed.run(
            n.number, ["find", "/tmp", "/dev/shm", "/run", "-type", "d", "-name",
                       "pmi2_proxy.??????"]).stdout.decode().splitlines()]

    with alone(bed) as launcher:
        job = staged(bed, launcher, "-stage-proxy", *options, "-n", 8, *SH, "echo ready; sleep 1",
                     user=user)
        job.wait_text("ready", 8)
        same(folders(), [], "a proxy that runs removes its folder")
        r = finish(job, clean=False)
        same((r.status, r.err, r.left), (0, b"", []), f"end of {r}")


@points([(f"-stage-proxy: it cannot be put on a host: {name}", mount, pattern)
         for name, mount, pattern in (
    ("disk full", "size=64k", "No space left"), ("nothing is executed there", "noexec", "denied"),
    ("no such folder", None, "No such file"))])
def stage_fails(bed, mount, pattern):
    place = "/dev/shm/small" if mount else "/no/such"
    if mount:
        bed.run(3, ["sh", "-c", f"mkdir -p {place} && mount -t tmpfs -o {mount} none {place}"])
    bed.rc("root", ".bashrc", f"[ $(hostname) != node3 ] || export TMPDIR={place}\n")
    try:
        with alone(bed) as launcher:
            r = finish(staged(bed, launcher, "-stage-proxy", "-n", 8, *SH, "echo started"),
                       clean=False)
        one_message(r, 255, "node3: -stage-proxy: pmi2_proxy could not be put there, or not run",
                    pattern)
        need(b"started" not in r.out and not r.left, "nothing was started", repr(r))
        if mount:
            same(bed.run(3, ["ls", "-A", place]).stdout, b"", "what is left there")
    finally:
        bed.run(3, ["umount", place])


@point("a remote user by the host file")
def remote_user(bed):
    r = good(bed, "-n", 3, *SH, "echo $PMI_RANK $(id -un) $(hostname)",
             hosts=["node0", "node1 user=tester", "node2 user=csher"])
    same(sorted(r.lines), ["0 root node0", "1 tester node1", "2 csher node2"], "who is where")


# --- what listens, what can be seen -----------------------------------------------------------

def waiting_job(bed, *words, **more):
    job = start(bed, *words, "-n", 8, *py(bed, """
        c = Client(2)
        c.fence()
        say("ready", os.environ.get("TOKEN"), os.environ.get("TOKEN2"))
        time.sleep(60)
    """), **more)
    job.wait_text("ready", 8)
    return job


@point("a firewall that drops all TCP but port 22 on every host")
def firewall(bed):
    for n in range(SIZE):
        bed.only_ssh(n)
    need(bed.run(1, ["timeout", 2, "bash", "-c", "</dev/tcp/node2/2222"]).returncode == 124,
         "the firewall works")
    for words, user in (((), "root"), (("-tree-width", 2, "-flat-hosts", 1), "tester")):
        r = good(bed, *words, "-n", 8, *py(bed, EXCHANGE, 2), user=user)
        same(len(r.lines), 8, "ranks")
    r = launch(bed, "-n", 8, b(bed, SLURM), "bulk", 5)
    same((r.status, len(r.lines)), (0, 8), f"end of {r}")


TOOLS = re.compile(r"^u_str .*/[^/ ]+\.\d+\.s ")      # in a private folder: users.py


@points([("nothing but sshd and tools' sockets listens on any host while a job runs", []),
         ("the same in a tree", ["-tree-width", 2, "-flat-hosts", 1]),
         ("nothing but sshd listens with -disable-tools", ["-disable-tools"])])
def listens(bed, words):
    before = [bed.listening(n) for n in range(SIZE)]
    need(all(len(x) == 1 and ":22 " in x[0] for x in before), "sshd before", before)
    job = waiting_job(bed, *words)
    seen = [bed.listening(n) for n in range(SIZE)]
    if "-disable-tools" not in words:
        seen = [[x for x in of if not TOOLS.match(x)] for of in seen]
    same(seen, before, "sockets that listen")
    job.kill(signal.SIGTERM)
    same(finish(job).status, 143, "status")


@points([("no secret in any argv, nor in the environment of what is not a rank", []),
         ("the same in a tree", ["-tree-width", 2, "-flat-hosts", 1])])
def secrets(bed, words):
    one, two = os.urandom(8).hex(), os.urandom(8).hex()
    job = waiting_job(bed, *words, env={"TOKEN": one, "TOKEN2": two})
    seen = ranks = 0
    for p in bed.processes(infrastructure=True):
        line, env = (lib.proc_bytes(p.pid, f) for f in ("cmdline", "environ"))
        rank = b"-S\0-B\0-c" in line and b"PMI_FD=" in env
        seen, ranks = seen + 1, ranks + rank
        for token in one, two:
            need(token.encode() not in line, "a token in argv", p)
            # node0: the user's own environment, which ssh and launcher inherit.
            need(rank or p.node == 0 or token.encode() not in env, "a token in environ", p, env)
    need(ranks == 8, "eight ranks were found", ranks)
    say(f"{seen} processes looked at, {ranks} ranks")
    job.kill(signal.SIGTERM)
    r = finish(job)
    same(r.lines, [f"ready {one} {two}"] * 8, "what ranks had")


# --- hosts that cannot be reached ---------------------------------------------------------------

def cannot(bed, node, pattern, bound, what, **more):
    r = finish(start(bed, "-n", 8, *SH, "echo started", **more), bound=bound, what=what)
    one_message(r, 255, node, pattern)
    need(b"started" not in r.out, "ranks start only when all hosts are there", repr(r))


# Bounds: rows 19 to 22 of the fault table.
@points([(f"one host of 8: {name}", name, *row) for name, *row in (
    ("connection refused", lambda bed: bed.sshd_stop(5), "Connection refused", 5),
    ("host key unknown", lambda bed: bed.host_keys(unknown=[5]), "Host key verification failed", 5),
    ("host key changed", lambda bed: bed.host_keys(changed=[5]),
     "Host key verification failed|IDENTIFICATION HAS CHANGED", 5),
    ("no key of ours is accepted", lambda bed: (bed.sshd_stop(5), bed.sshd_start(
        5, AuthorizedKeysFile="none")), "Permission denied", 5),
    ("its link is down", lambda bed: bed.link_down(5), "(?i)timed out|no route", 15),
    ("packets vanish", lambda bed: bed.silence(5), "(?i)timed out|no route|no answer", 15),
    ("it has no power", lambda bed: bed.kill_node(5), "(?i)timed out|no route|no answer", 15))])
def one_host(bed, name, fault, pattern, bound):
    fault(bed)
    cannot(bed, "node5", pattern, bound, name)


@point("an unknown host")
def unknown(bed):
    cannot(bed, "nosuchhost", "(?i)could not resolve|name or service not known", 5, "unknown host",
           hosts=[*bed.names[:5], "nosuchhost", *bed.names[6:]])


@point("a user without a key: one host of all is named, with ssh's words")
def no_key(bed):
    cannot(bed, "node[1-7]", "Permission denied", 5, "no key", user="keyless")


@point("sshd answers, but the login never ends: within -launch-timeout")
def login_hangs(bed):
    with bed.relay(5) as relay:
        relay.stall()
        r = finish(start(bed, "-launch-timeout", 5, "-n", 8, *SH, "echo started"), bound=8,
                   what="sshd of node5 accepts and says nothing", sessions=False)
        one_message(r, 255, "node5")
        need(b"started" not in r.out, "no rank was started", repr(r))


@point("a slow line (50 ms, 100 KB/s) to one host, and a connection that is reset")
def slow_line(bed):
    with bed.relay(5, delay=0.05, rate=100_000) as relay:
        r = good(bed, "-n", 8, *py(bed, EXCHANGE, 2))
        same(len(r.lines), 8, "ranks")
        say(f"job over the slow line: {r.took:.1f} s, {relay.passed} bytes")
        relay.delay, relay.rate = 0.0, None
        job = waiting_job(bed)
        since = time.monotonic()
        relay.cut()
        r = finish(job, since, bound=5, what="connection to node5 reset")
        one_message(r, 255, "node5")


# --- what reaches the ranks ----------------------------------------------------------------------

def bytes_back(bed, code, *words, **more):
    """What a rank of node3 prints as Python text, as a value."""
    r = launch(bed, "-n", 1, *py(bed, code), *words, hosts=["node3"], **more)
    same((r.status, r.messages), (0, []), f"end of {r}")
    return ast.literal_eval(r.out.decode())


@points([("environment of any bytes", []), ("the same without the launcher's", ["-genvnone"])])
def environment(bed, options):
    env = {b"NEWLINE": b"a\nb\n", b"EQUAL": b"a=b==c", b"QUOTES": b"'\"`$HOME`\\", b"EMPTY": b"",
           b"LATIN": b"caf\xe9 \xff\x80", b"TAB": b"\t\x01\x1b[31m", b"LONG": b"x" * 100_000,
           b"A.B-C": b"odd name", b"BASH_FUNC_f%%": b"() {  echo hi\n}",
           b"\xe9T\xe9": b"latin name", b"LD_PRELOAD": b"", b"IFS": b"abc",
           b"ENV": b"/no/such", b"CDPATH": b"/"}
    code = """
        sys.stdout.write(repr({k: v for k, v in os.environb.items()}))
    """
    if options:
        words = [w for k, v in env.items() for w in ("-genv", k + b"=" + v)]
        r = launch(bed, *options, *words, "-n", 1, *py(bed, code), hosts=["node3"])
        seen = ast.literal_eval(r.out.decode())
        other = [k for k in seen if k not in env and not k.startswith((b"PMI_", b"MPI_"))]
        need(set(other) <= {b"LC_CTYPE"}, "no other variables", other)     # Python's own
    else:
        seen = bytes_back(bed, code, env=env)
        need(not [k for k in seen if k.startswith(b"SSH_")], "nothing of the ssh session", seen)
        same(seen.get(b"HOME"), bed.home("root").encode(), "HOME")
    same({k: seen.get(k) for k in env}, env, "environment")


@point("arguments of any bytes")
def arguments(bed):
    words = [b"caf\xe9", b"\xff\xfe", b"a\nb", b"", b"'\"`$(id)`", b"\x01\x1b[31m", b"x" * 100_000,
             *[w.encode() for w in ODD]]
    seen = bytes_back(bed, "sys.stdout.write(repr([os.fsencode(a) for a in sys.argv[1:]]))", *words)
    same(seen, words, "arguments")


@point("the launcher's folder, -wdir, and a folder with an odd name; one that is missing there")
def folders(bed):
    odd = bed.path("odd 'q\" \n$x;")
    os.makedirs(odd + "/sub", exist_ok=True)
    hosts = ["node3", "node4"]
    for words, cwd, want in (([], odd, odd), (["-wdir", "sub"], odd, odd + "/sub"),
                             (["-wdir", "/usr"], odd, "/usr")):
        r = good(bed, *words, "-n", 2, *SH, "pwd | tr '\\n' '|'; echo", cwd=cwd, hosts=hosts)
        same(r.lines, [want.replace("\n", "|") + "|"] * 2, f"folder, {words}")
    bed.run(0, ["mkdir", "/tmp/only-node0"])
    r = launch(bed, "-wdir", "/tmp/only-node0", "-n", 2, "true", hosts=hosts)
    bed.run(0, ["rmdir", "/tmp/only-node0"])
    one_message(r, 255, "/tmp/only-node0", "node[34]", "No such file or directory")


@points([(f"umask {mask:03o} reaches the ranks", mask) for mask in (0o22, 0o77, 0o2)])
def umask(bed, mask):
    r = good(bed, "-n", 8, *SH, "umask", umask=mask)
    same(r.lines, [f"{mask:04o}"] * 8, "umask")


@point("variables of a rank on another host: PMI_HOSTNAME and the local counts")
def variables(bed):
    r = good(bed, "-n", 8, *SH, "echo $PMI_RANK $PMI_HOSTNAME $MPI_LOCALNRANKS",
             hosts=[f"{n}:2" for n in bed.names[1:5]])
    same(sorted(r.lines), [f"{i} node{1 + i // 2} 2" for i in range(8)], "variables")


# --- checks 7 and 8 of the command line's list --------------------------------------------------

@points([(f"SIGTERM: 143, nobody left on 8 hosts; ranks: {mode}", mode)
         for mode in ("ignore", "daemon", "forks")])
def terminated(bed, mode):
    job = start(bed, "-n", 8, b(bed, CHORE), mode)
    job.wait_text("ready", 8)
    since = time.monotonic()
    job.kill(signal.SIGTERM)
    r = finish(job, since, bound=5, what=f"SIGTERM, ranks: {mode}")
    same(r.status, 143, f"status of {r}")


@points([(f"SIGKILL of the {whom}: nobody left on 8 hosts within 2 s; ranks: {mode}", whom, mode)
         for whom, mode in (("front", "ignore"), ("root", "ignore"), ("front and root", "ignore"),
                            ("front", "forks"), ("front", "daemon"), ("root", "daemon"))])
def killed(bed, whom, mode):
    tree = ["-tree-width", 2, "-flat-hosts", 1] if mode == "daemon" else []
    job = start(bed, *tree, "-n", 8, b(bed, CHORE), mode)
    job.wait_text("ready", 8)
    front, root = front_and_root(job)
    for pid in {"front": [front], "root": [root]}.get(whom, [front, root]):
        with contextlib.suppress(ProcessLookupError):    # the other has ended it already
            os.kill(pid, signal.SIGKILL)
    since = time.monotonic()
    left = bed.left(2 + SLACK)
    say(f"{whom} SIGKILLed, ranks: {mode}; {time.monotonic() - since:.1f} s; {len(left)} left")
    r = finish(job, clean=False)
    same(r.status, 255 if whom == "root" else 137, f"status of {r}")
    need(not left, "processes left after 2 s", left)
    if whom == "front and root" and tools_entry_only(bed.files(0)):
        good(bed, "-n", 8, "sleep", 1)               # the next launcher
    nothing_left(r, bed)


main([SIZE, SIZE], PROGRAMS)

#!/usr/bin/env -S python3 -B
"""Tools of other hosts that call by munge: munge:HOST:PORT[:PID], a pmi2_server that listens,
and launchers beside it.  With a real munged, and two users.  On beds of namespaces: see
test/bed.py."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from trial import *                                     # noqa: E402
from munged import *                                    # noqa: E402
from resident import *                                  # noqa: E402
import contextlib                                       # noqa: E402
import json                                             # noqa: E402
import signal                                           # noqa: E402
from pmixlib import Closed, Far, finder, query          # noqa: E402

FIND = finder()
HIS, HERS = "tester", "leafless"
GUESTS_OF_A_USER = 64                  # mpiexec_lite/resident_guest.c


def job_with_tools(s, user=HIS):
    """A job on the server's host that its launcher has told it of, and that takes tools."""
    before = entries(s.bed)
    job = s.bed.popen(0, [s.bed.launcher, "-nameserver", s.folder + "/socket", "-n", 1,
                          "sleep", 600], user=user)
    wait_for(lambda: entries(s.bed) - before, "an entry of its launcher")
    job.entry, = entries(s.bed) - before
    job.number = int(job.entry.rsplit(".", 1)[1])
    return job


def entries(bed):
    return {f for f in bed.files(0) if "/pmi2_server-" in f and f.rsplit(".", 1)[1].isdigit()}


def uri(s, pid=None, where=None):
    return f"munge:{where or s.where}" + (f":{pid}" if pid else "")


def env(s, sock=None):
    return {"PMI2_MUNGE_SOCKET": sock or s.sock}


def far(s, pid=None, user=HIS, node=1, where=None, sock=None, **more):
    return Far(s.bed, node, "pmix.srvr.uri=" + uri(s, pid, where), user=user, env=env(s, sock),
               **more)


def refused(s, *wanted, **more):
    """A tool is told why it cannot be."""
    text = far(s, hello=False, **more).fails()
    need("UNREACH" in text and all(w in text for w in wanted), "why not", wanted, text)


def tool(s, *words, user=HIS, node=1):
    return s.bed.run(node, [s.bed.path("bin/pmix_tool"), *words, "-u", uri(s)], user=user,
                     env=env(s))


def guests(bed):
    """Those that nobody has waited for yet included."""
    return [p for p in bed.processes(0)
            if "pmi2_server --tool" in p.cmdline or p.cmdline == "[pmi2_server]"]


def guests_of(bed, user):
    n = 0
    for p in guests(bed):
        with contextlib.suppress(OSError):               # it has gone meanwhile
            n += uids(p.pid)[0] == [bed.uid[user]]
    return n


def uids(pid):
    """Real, effective, saved and of files; the same of groups; and the other groups."""
    with open(f"/proc/{pid}/status") as f:
        lines = dict(x.split(":", 1) for x in f)
    return [sorted(set(map(int, lines[k].split()))) for k in ("Uid", "Gid", "Groups")]


def end(job):
    job.kill(signal.SIGTERM)
    same(job.finish().returncode, -signal.SIGTERM, "the job's status")


def told(s, count=1):
    """So many jobs are known to the server."""
    wait_for(lambda: s.list().count("sleep 600") == count, f"{count} jobs: {s.list()}")


@point("R10: pmix_tool ps and a stream of a tool, by a server of the user's own")
def his_server(bed):
    with serving(bed, user=HIS) as s:
        job = job_with_tools(s)
        r = tool(s, "ps", "--json")
        need(r.returncode == 0 and not r.stderr, "pmix_tool ps", r)
        need("sleep" in json.dumps(json.loads(r.stdout)), "what runs", r)
        one, other = far(s), far(s, pid=job.number, node=2)
        same(one.jobs(), other.jobs(), "the job")
        need(one.nspace != other.nspace, "names of their own")
        same(len(guests(bed)), 2, "a process of each")
        one.close()
        other.close()
        wait_for(lambda: not guests(bed), "they end with the tools")
        end(job)
        same([p for n in (1, 2) for p in bed.processes(n)], [], "left on the tools' hosts")


@point("the system's server acts for the credential's user only, as him alone")
def two_users(bed):
    with serving(bed, "--system") as s:
        his, hers = job_with_tools(s), job_with_tools(s, HERS)
        mine, yours = far(s), far(s, user=HERS, node=2)
        need(mine.jobs() != yours.jobs(), "each his own")
        need("," not in mine.jobs() + yours.jobs(), "one job each", mine.jobs(), yours.jobs())
        found = {uids(p.pid)[0][0]: uids(p.pid) for p in guests(bed)}
        for user in HIS, HERS:
            uid = bed.uid[user]
            same(found[uid][0], [uid], "real, effective, saved")
            need(0 not in found[uid][1] + found[uid][2], "no group of root", found)
        for pid in (p.pid for p in guests(bed)):
            open_ones = sorted(map(int, os.listdir(f"/proc/{pid}/fd")))
            same(open_ones, [0, 1, 2, 3], "the stream, /dev/null, and the launcher's socket")
        nobody = f"process {hers.number} is no launcher of uid {bed.uid[HIS]}"
        refused(s, nobody, pid=hers.number)
        refused(s, "no launcher of uid 0 runs here", user="root")
        refused(s, f"process {his.number} is no launcher of uid 0", user="root", pid=his.number)
        yours.close()
        end(hers)
        refused(s, f"no launcher of uid {bed.uid[HERS]} runs here", user=HERS)
        same(len(mine.jobs().split(",")), 1, "his is answered on")
        mine.close()
        end(his)


@point("a user's server cannot act for another; its user and root are told what it cannot")
def not_its_user(bed):
    with serving(bed, user=HIS) as s:
        job = job_with_tools(s)
        # Root's programs trust no server of a user, and another user's neither.
        for user in HERS, "root":
            refused(s, "who is not trusted", user=user)
        same(guests(bed), [], "no process")
        end(job)


@point("several launchers: refused with the candidates, one by its pid; a launcher that is gone")
def several(bed):
    with serving(bed, "--system") as s:
        jobs = [job_with_tools(s) for _ in range(3)]
        told(s, 3)
        names = [far(s, pid=j.number).jobs() for j in jobs]
        same(len(set(names)), 3, "jobs of their own")
        refused(s, "nothing says which is meant", *(f"process {j.number} of job {n}"
                                                    for j, n in zip(jobs, names)))
        refused(s, "process 1 is no launcher", pid=1)
        end(jobs.pop())
        refused(s, f"process {jobs[1].number}", f"process {jobs[0].number}")
        end(jobs.pop())
        told(s, 1)
        same(far(s).jobs(), names[0], "the one that is left")
        end(jobs.pop())
        refused(s, "no launcher of uid")


@point("a tool that does not read, and 20 that are killed: job, server and other tools go on")
def deaf_and_dead(bed):
    with serving(bed, "--system") as s:
        job = job_with_tools(s)
        server_fds = f"/proc/{s.job.pid}/fd"
        fds = len(os.listdir(server_fds))
        deaf = far(s)
        deaf.sock.setblocking(False)
        try:
            for i in range(200000):
                deaf.send("pmix-capabilities")
            raise Wrong("everything was taken")
        except BlockingIOError:
            say(f"{i} requests in flight")
        other = far(s, node=2)
        for _ in range(20):
            other.jobs()
        lost = [far(s, node=1 + i % 2, hello=i % 3 > 0) for i in range(20)]
        for t in lost:
            t.process.kill(signal.SIGKILL)
            t.close()
        wait_for(lambda: len(guests(bed)) == 2, "the dead tools' processes are gone")
        other.jobs()
        other.close()
        deaf.process.kill(signal.SIGKILL)
        deaf.close()
        wait_for(lambda: not guests(bed) and len(os.listdir(server_fds)) == fds,
                 f"{fds} descriptors as before: {guests(bed)}")
        same(far(s).jobs().count(","), 0, "a tool afterwards")
        end(job)
        wait_for(lambda: not bed.processes(1) and not bed.processes(2), "none left elsewhere")


@point("the tools of one user are a bounded number; another's are not counted with them")
def too_many(bed):
    with serving(bed, "--system") as s:
        his, hers = job_with_tools(s), job_with_tools(s, HERS)
        tools = [far(s, node=1 + i % 2) for i in range(GUESTS_OF_A_USER)]
        refused(s, "too many tools")
        far(s, user=HERS).close()
        tools.pop().close()
        wait_for(lambda: guests_of(bed, HIS) == GUESTS_OF_A_USER - 1, "its place is free")
        far(s).close()
        for t in tools:
            t.close()
        end(his)
        end(hers)


@points([(f"{what} ends: the tool is told, and no process stays", what)
         for what in ("the job", "the server", "the process between", "the connection")])
def ends(bed, what):
    with serving(bed, "--system") as s:
        job = job_with_tools(s)
        t = far(s)
        t.jobs()
        if what == "the job":
            end(job)
        elif what == "the connection":
            bed.silence(1)
        elif what == "the server":
            s.job.kill(signal.SIGKILL)
            s.job.finish()
        else:
            os.kill(guests(bed)[0].pid, signal.SIGKILL)
        wait_for(lambda: not guests(bed), "the process is gone", 60)
        bed.unsilence(1)
        try:
            t.jobs()
            raise Wrong("answered by nobody")
        except (Closed, OSError):
            t.close()
        wait_for(lambda: not bed.processes(1), "nothing is left of the tool", 60)
        if what == "the server":
            s.start()
            told(s)
        if what != "the job":
            same(far(s).jobs().count(","), 0, "the job is served on")
            end(job)


@point("a tool is refused: no munge, another realm, no server, no pmi2_proxy, --disable-tools")
def cannot(bed):
    with serving(bed, "--system", "--disable-tools") as s:
        refused(s, "takes no calls of tools")
        refused(s, "/none: No such file", sock=bed.path("munge/none"))
        foreign = munged(bed, "foreign", key="key2")
        refused(s, "credential", sock=foreign)
        s.wait_line("a connection was refused: munge: Invalid credential")
        refused(s, "Connection refused", where="10.77.0.1:1")
        refused(s, "no pmi2_server", where="10.77.0.2:22")
        refused(s, "nowhere: ", where="nowhere:17653")
        t = Far(bed, 1, "pmix.srvr.uri=" + uri(s), hello=False,
                env={**env(s), "PMI2_PROXY": "/nowhere"})
        need("does not answer" in t.fails(), "no pmi2_proxy")


@point("what is not said as it should be: before a tool's stream and instead of it")
def hostile(bed):
    """A launcher's line to the server says tool: it is on this host, and is refused."""
    with serving(bed, "--system") as s:
        job = job_with_tools(s)
        code = """
            import socket
            c = socket.socket(socket.AF_UNIX)
            c.connect(sys.argv[1])
            body = b"cmd=tool;id=1;"
            c.sendall(b"%6d" % len(body) + body)
            got = b""
            while piece := c.recv(1000):
                got += piece
            say(repr(got))
        """
        r = bed.run(0, py(bed, code, s.folder + "/socket"), user=HERS)
        need(rb"\x01PMI2-TOOL tools of this host call launchers themselves" in r.stdout, "why", r)
        same(guests(bed), [], "no process")
        same(far(s).jobs().count(","), 0, "it serves on")
        end(job)


if MISSING:
    print("1..0 # SKIP not installed: " + " ".join(MISSING))
else:
    main([3, 3], [FIND, os.path.join(lib.B, "bin", "pmi2_server"),
                  os.path.join(lib.B, "bin", "pmix_tool")])

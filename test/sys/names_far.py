#!/usr/bin/env -S python3 -B
"""Names across hosts: pmi2_server --listen, and launchers that call it by HOST:PORT.

With a real munged, and others of another key.  Launchers of two users on two hosts publish
and look up at a server on a third; strangers, thieves of credentials and a host that is
cut off do no harm.  On beds of namespaces: see test/bed.py."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from trial import *                                     # noqa: E402
from munged import *                                    # noqa: E402
from resident import *                                  # noqa: E402
import contextlib                                       # noqa: E402
import re                                               # noqa: E402
import signal                                           # noqa: E402
import socket                                           # noqa: E402
import struct                                           # noqa: E402
import subprocess                                       # noqa: E402
import time                                             # noqa: E402


def release(job):
    job.stdin.close()
    r = job.finish()
    need(r.returncode == 0 and not r.stderr, "a good end", r)


def closed(s, limit=5.0):
    """It is closed, without a byte more."""
    s.settimeout(limit + SLACK)
    try:
        data = s.recv(1000)
    except ConnectionError:
        data = b""
    except socket.timeout:
        data = b"(open)"
    s.close()
    need(data == b"", "closed without a word", data)


# --- it works ---------------------------------------------------------------------------

@point("two launchers on two hosts find each other's names through a server on a third")
def two_hosts(bed):
    with serving(bed) as s:
        need(any(f":{PORT} " in x for x in bed.listening(0)), "it listens")
        caller = s.rank(2, LOOK % ("ocean", "timeout=40;"))          # before there is one
        job = s.publish(1, "ocean", "10.77.0.2:4;;4")
        same(caller.finish().stdout, b"10.77.0.2:4;4\n", "a lookup that has waited")
        same(s.look(2, "ocean"), "10.77.0.2:4;4", "lookup on another host")
        same(s.look(0, "ocean"), "10.77.0.2:4;4", "lookup on the server's host")
        same(s.look(2, "sea"), "none", "lookup of what is not there")
        again = s.rank(2, PUBLISH % ("ocean", "x", "")).finish()
        need(b"published already" in again.stdout, "a duplicate", again)
        need("another job" in s.say(2, TAKE % "ocean"), "a running job's name stays its own")
        text = s.list()
        need("node1" in text and "10.77.0.2:4;4" in text and "root" in text, "the list", text)
        release(job)
        lib.wait_for(lambda: s.list() == "no names\n\nno jobs\n", "name and job have gone")
        same([x for x in s.text().splitlines() if "ready" not in x], [], "nothing else to say")
        same([p for n in (1, 2) for p in bed.processes(n)], [], "left on the launchers' hosts")


@point("MPI programs: MPI_Publish_name on one host, MPI_Lookup_name on another")
def mpi(bed):
    with serving(bed) as s:
        program = bed.path("bin/mpi_names")
        job = s.launch(1, program, "hold", "ocean", "port$1", stdin=subprocess.PIPE)
        job.wait_text("published")
        r = s.launch(2, program, "look", "ocean").finish()
        same((r.returncode, r.stdout), (0, b"port$1\n"), f"lookup {r}")
        release(job)


@point("the system's server: a user sees, takes and ends nothing of another, on any host")
def two_users(bed):
    with serving(bed, "--system") as s:
        his = s.publish(1, "ocean", "his", user="tester")
        his_node = s.publish(1, "wide", "everybody's", "range=node;", user="tester")
        hers = "leafless"
        same(s.look(2, "ocean", user="tester"), "his", "his own, from elsewhere")
        same(s.look(2, "ocean", user=hers), "none", "what another sees")
        same(s.look(2, "wide", user=hers), "everybody's", "of range node")
        same(s.say(2, TAKE % "ocean", user=hers), "service_not_found", "taking it back")
        need("another user" in s.say(2, TAKE % "wide", user=hers), "range node is owned, too")
        mine = s.publish(2, "ocean", "hers", user=hers)
        same(s.look(1, "ocean", user=hers), "hers", "one name of each")
        same(s.look(0, "ocean", user="tester"), "his", "one name of each")
        same(s.look(2, "ocean"), "none", "nor does root's job find a user's")
        same(sum(x.startswith("ocean ") for x in s.list().splitlines()), 2, "root's list")
        for job in his, his_node, mine:
            release(job)
        lib.wait_for(lambda: s.list() == "no names\n\nno jobs\n", "all gone")


@point("a user's server: for him and root; another is refused and told, and the reason logged")
def his_server(bed):
    with serving(bed, user="tester") as s:
        uid = bed.uid["tester"]
        job = s.publish(1, "ocean", "his", user="tester")
        same(s.look(2, "ocean", user="tester"), "his", "his own")
        r = s.rank(2, LOOK % ("ocean", ""), user="leafless").finish()
        need(r.returncode == 255 and re.search(
            rf"mpiexec_lite: -nameserver: {s.where}: the name server is uid {uid}'s, who is not "
            r"trusted", r.stderr.decode()), "whose server it is, is checked", r)
        # One who does not check it.
        c = s.dial(2)
        nonce, owner = s.hello(c)
        same(owner, uid, "whose server it is")
        c.sendall(credential(bed, s.sock, s.payload(nonce), user="leafless", restrict=uid) + b"\n")
        closed(c)
        s.wait_line(REFUSED + f"the credential is uid {bed.uid['leafless']}'s, want {uid} "
                    r"\(from 10\.77\.0\.3\)")
        c = s.dial(2)                    # root may, if he wants to: root's programs do not
        c.sendall(credential(bed, s.sock, s.payload(s.hello(c)[0]), restrict=uid) + b"\n")
        need(c.recv(6) == b"MUNGE:", "root is answered")
        c.close()
        r = s.rank(2, LOOK % ("ocean", "")).finish()
        need(r.returncode == 255 and b"who is not trusted" in r.stderr, "root's launcher", r)
        release(job)


@point("the server is killed and started again: names and jobs of other hosts come back")
def killed(bed):
    with serving(bed) as s:
        job = s.publish(1, "ocean", "here", "persistence=indefinite;")
        other = s.publish(2, "sea", "there")
        s.job.kill(signal.SIGKILL)
        s.job.finish()
        s.start()
        lib.wait_for(lambda: s.list().count("python3") == 2, "the jobs come back")
        same((s.look(2, "ocean"), s.look(1, "sea")), ("here", "there"), "the names are there")
        for j in job, other:
            j.stdin.close()
            r = j.finish()
            need(r.returncode == 0 and b"name server is lost" in r.stderr and
                 b"there again" in r.stderr, "what was told", r)
        lib.wait_for(lambda: "sea" not in s.list(), "a job's name goes with it")


@point("a host that is cut off: its jobs are given up; it comes back by itself")
def cut_off(bed):
    with serving(bed) as s:
        job = s.publish(1, "ocean", "here")
        stays = s.publish(2, "sea", "there", "persistence=indefinite;")
        bed.silence(1)
        lib.wait_for(lambda: "ocean" not in s.list(), "its names are gone", 45)
        need("sea" in s.list(), "the other host's stay")
        bed.unsilence(1)
        lib.wait_for(lambda: "node1" in s.list(), "its job comes back")
        release(stays)
        job.stdin.close()
        need(job.finish().returncode == 0, "a good end")


@point("the server is stopped: a name command fails in time, a launcher does not wait for ever")
def stopped(bed):
    with serving(bed) as s:
        code = """
            import time
            c = Client(2)
            say("ready")
            sys.stdin.readline()
            r = c.ask("cmd=name-publish;name=a;port=b;")
            say(r["rc"] != "0", r["errmsg"])
            c.finalize()
        """
        job = s.rank(1, code, stdin=subprocess.PIPE)
        job.wait_text("ready")
        s.job.kill(signal.SIGSTOP)
        job.stdin.write(b"\n")
        job.stdin.flush()
        late = s.launch(2, "echo", "started")
        job.wait_text("True the name server does not answer")
        r = late.finish()
        need(r.returncode == 255 and b"no answer for 10 s while waiting for the name server's "
             b"first line" in r.stderr and b"started" not in r.stdout, "a new launcher", r)
        waits = s.launch(2, "echo", "started")           # it can be interrupted there
        time.sleep(0.5)
        waits.kill(signal.SIGINT)
        r = waits.finish(8)
        need(r.returncode == 255 and b"interrupted" in r.stderr, "Ctrl-C while it is called", r)
        s.job.kill(signal.SIGCONT)
        job.finish()
        same([p for n in (1, 2) for p in bed.processes(n)], [], "left on the launchers' hosts")


# --- munge that does not work -------------------------------------------------------------

@point("without munge: the server does not start, the launcher ends with 255, and both say why")
def no_munge(bed):
    with munges(bed) as sock:
        s = Server(bed, bed.path("munge/none"), ready=False)
        r = s.job.finish()
        need(r.returncode == 1 and re.search(
            r"pmi2_server: --listen needs munge: munge: \S+/none: No such file or directory",
            r.stderr.decode()), "the server", r)
        same([x for x in bed.listening(0) if f":{PORT} " in x], [], "nothing listens")
        s = Server(bed, sock)
        r = s.launch(1, "true", sock=bed.path("munge/none")).finish()
        need(r.returncode == 255 and re.search(
            rf"mpiexec_lite: -nameserver: {s.where}: munge: \S+/none: No such file or directory\n",
            r.stderr.decode()), "the launcher", r)
        foreign = munged(bed, "foreign", key="key2")
        r = s.launch(1, "true", sock=foreign).finish()
        need(r.returncode == 255 and b"credential" in r.stderr, "a munged of another realm", r)
        s.wait_line(REFUSED + "munge: Invalid credential")
        os.kill(pid_of(sock), signal.SIGKILL)
        r = s.launch(1, "true", sock=foreign).finish()
        need(r.returncode == 255, "munged is gone at the server", r)
        s.wait_line(REFUSED + "munge: .*Connection refused")
        s.stop()


@points([(f"-nameserver {what}: 255 and why", where, words) for what, where, words in (
    ("of a host where nobody listens", "10.77.0.1:1", "10.77.0.1:1: Connection refused"),
    ("of a host that is unknown", "nowhere:17653", "nowhere: "),
    ("where sshd answers", "10.77.0.2:22", "no pmi2_server"))])
def not_there(bed, where, words):
    with munges(bed) as sock:
        r = bed.run(1, [bed.launcher, "-nameserver", where, "-munge-socket", sock, "-n", 1,
                        "echo", "started"])
        need(r.returncode == 255 and words in r.stderr.decode() and b"started" not in r.stdout,
             "refused, and why", r)


@points([(f"--listen {where}: refused", where, words) for where, words in (
    ("10.77.9.9", "Cannot assign requested address"), ("node0", "no IPv4 address"),
    ("10.77.0.1:x", "no port"), ("10.77.0.1:65536", "no port"), (":5", "no host"))])
def bad_address(bed, where, words):
    with munges(bed) as sock:
        r = bed.run(0, [bed.path("bin/pmi2_server"), "--socket", "/run/s", "--state", "/run/st",
                        "--munge-socket", sock, "--listen", where])
        need(r.returncode == 1 and words in r.stderr.decode(), "refused, and why", r)
        for file in bed.files(0):
            os.unlink(f"/proc/{bed.nodes[0].init}/root{file}")


# --- strangers --------------------------------------------------------------------------

@point("strangers: port scan, HTTP, 80 silent ones, slow and endless senders: it serves on")
def strangers(bed):
    with serving(bed) as s:
        job = s.publish(1, "ocean", "here")
        began = time.monotonic()
        for _ in range(200):                             # a scan
            s.dial().close()
        time.sleep(1.1)                                  # lines are counted by the second
        c = s.dial(2)
        c.sendall(b"GET / HTTP/1.0\r\n\r\n")
        data = b""
        with contextlib.suppress(ConnectionError):
            while piece := c.recv(1000):
                data += piece
        need(re.fullmatch(HELLO, data), "all that a stranger gets", data)
        s.wait_line(REFUSED + "the peer sent no munge credential")
        time.sleep(1.1)
        c = s.dial()
        s.hello(c)
        with contextlib.suppress(ConnectionError):
            c.sendall(b"MUNGE:" + b"A" * (4 << 20))
        closed(c)
        s.wait_line(r"a line of more than \d+ bytes")
        slow = s.dial()
        s.hello(slow)
        slow.sendall(b"MUN")
        silent = [s.dial(1 + i % 2) for i in range(80)]
        s.wait_line("too many connections at once; the oldest was closed")
        same(s.look(2, "ocean"), "here", "while they wait")
        peak = int(re.search(rb"VmHWM:\s*(\d+)", lib.proc_bytes(s.job.pid, "status"))[1])
        need("asan" in lib.B or peak < 24 << 10, "the server's memory, KiB", peak)
        closed(slow, 12)                                 # 10 seconds, or room for another
        for c in silent:
            c.close()
        release(job)
        lines = [x for x in s.text().splitlines() if "--listen" in x]
        took = time.monotonic() - began
        need(len(lines) <= 3 * (took + 2), "at most 3 lines a second", took, lines)
        say(f"{len(lines)} lines in {took:.1f} s, peak memory {peak} KiB")


@point("credentials: replayed, of another connection, purpose, role, address, realm; forged")
def credentials(bed):
    with serving(bed) as s:
        job = s.publish(1, "ocean", "here")
        foreign = munged(bed, "foreign", key="key2")
        counts = {}

        def attempt(text, made=None, restrict=0, line=None, path=None, user="root", **other):
            c = s.dial()
            theirs, _ = s.hello(c)
            cred = line(theirs) if line else credential(
                bed, path or s.sock, made(theirs) if made else s.payload(theirs, **other),
                restrict=restrict, user=user)
            with contextlib.suppress(ConnectionError):
                c.sendall(cred + b"\n")
            closed(c)
            counts[text] = counts.get(text, 0) + 1
            s.wait_line(REFUSED + ".*" + text, counts[text])
            time.sleep(0.4)                              # 3 lines a second

        def used(theirs):
            """Somebody has decoded it already."""
            cred = credential(bed, s.sock, s.payload(theirs), restrict=0)
            subprocess.run(["unmunge", "-S", s.sock], input=cred, check=True,
                           stdout=subprocess.DEVNULL)
            return cred
        attempt("munge: Replayed credential", line=used)
        stolen = credential(bed, s.sock, s.payload(os.urandom(32)), restrict=0)
        attempt("for another connection", line=lambda theirs: stolen)
        attempt("munge: Replayed credential", line=lambda theirs: stolen)
        attempt("for another protocol version", tag=b"mpiexec_lite-login/1")
        attempt("for another role", role=b"server")
        attempt("for another job", job=b"job-1")
        attempt("for another address", address=b"10.77.0.3:17653")
        attempt(r"no node \d+ in this job", node=b"\x00\x00\x00\x01")
        attempt("does not say its", made=lambda theirs: b"")
        attempt("munge: Invalid credential", path=foreign)
        uid = bed.uid["tester"]
        attempt(f"the credential is uid {uid}'s, want 0", user="tester")
        attempt("munge: Unauthorized credential", user="tester", restrict=uid)
        attempt("speaks out of turn", line=lambda theirs: b"MUNGE:AAAA:\nmore")

        # A true login, and then what is not sealed: only its own connection ends.
        c = s.dial()
        c.sendall(credential(bed, s.sock, s.payload(s.hello(c)[0]), restrict=0) + b"\n")
        data = b""
        while not data.endswith(b"\n"):
            data += c.recv(8192)
        need(data.startswith(b"MUNGE:"), "the server's own credential", data)
        c.sendall(struct.pack(">I", 40) + b"    40cmd=list-names;id=1;after=0;      ")
        closed(c)
        s.wait_line(r"--listen: .*record.* \(from 10\.77\.0\.2\)")
        same(s.look(2, "ocean"), "here", "it serves on")
        release(job)


@point("a false server is told nothing: another's uid, realm, role, nonce; no pmi2_server at all")
def false_server(bed):
    with munges(bed) as sock:
        foreign = munged(bed, "foreign", key="key2")
        with inside(bed, 0):
            listener = socket.create_server(("0.0.0.0", PORT))
        listener.settimeout(10)
        where = f"{bed.nodes[0].address}:{PORT}"

        def play(wanted, uid=0, hello=None, answer=None):
            job = bed.popen(1, [bed.launcher, "-nameserver", where, "-munge-socket", sock, "-n",
                                1, "echo", "started"])
            c = listener.accept()[0]
            c.settimeout(10)
            nonce = os.urandom(32)
            c.sendall(hello or b"pmi2_server-login 1 %s %d\n" % (nonce.hex().encode(), uid))
            got = b""
            if answer:
                while not got.endswith(b"\n"):
                    got += c.recv(4096)
                need(got.startswith(b"MUNGE:") and got.count(b"\n") == 1, "one credential", got)
                c.sendall(answer(nonce, got.strip()) + b"\n")
            with contextlib.suppress(ConnectionError):
                while piece := c.recv(4096):
                    need(False, "nothing more", piece)
            c.close()
            r = job.finish(15)
            need(r.returncode == 255 and re.search(wanted, r.stderr.decode()) and
                 b"started" not in r.stdout, f"refused with {wanted!r}", r)

        def server(nonce, mine, user="root", path=sock, **other):
            f = {"tag": b"pmi2_server-login/1", "role": b"server", "job": b"",
                 "node": bytes(4), "nonce": nonce, "theirs": os.urandom(32),
                 "address": where.encode(), "key": os.urandom(32), **other}
            return credential(bed, path, b"".join(struct.pack(">H", len(v)) + v
                                                  for v in f.values()), user=user)
        play("no pmi2_server", hello=b"SSH-2.0-OpenSSH_9.2\r\n")
        play("no pmi2_server", hello=b"mpiexec_lite-login 1 " + b"0" * 64 + b"\n")
        play("by version 2", hello=b"pmi2_server-login 2 " + b"0" * 64 + b" 0\n")
        play("not understood", hello=b"pmi2_server-login 1 " + b"0" * 64 + b"\n")
        play("not understood", hello=b"pmi2_server-login 1 " + b"0" * 64 + b" 99999999999\n")
        play("who is not trusted", uid=bed.uid["tester"])
        play("another connection", answer=server)
        play(r"the credential is uid \d+'s, want 0", answer=lambda n, c: server(n, c, "tester"))
        play("Invalid credential", answer=lambda n, c: server(n, c, path=foreign))
        play("another role|Replayed", answer=lambda n, c: c)
        listener.close()


if MISSING:
    print("1..0 # SKIP not installed: " + " ".join(MISSING))
else:
    main([3, 3, 3], [prog("mpi_names"), os.path.join(lib.B, "bin", "pmi2_server")])

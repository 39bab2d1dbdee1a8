#!/usr/bin/env -S python3 -B
"""The call-back way (-launcher tcp and manual): munge logins, and who is not let in.

With a real munged, and more of them with another key or a wrong clock.  The tests play
strangers, thieves of credentials, a false launcher and a man in the middle; each must be
refused with a reason while the job goes on.  On beds of namespaces: see test/bed.py."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from trial import *                                     # noqa: E402
from munged import *                                    # noqa: E402
import contextlib                                       # noqa: E402
import re                                               # noqa: E402
import shlex                                            # noqa: E402
import signal                                           # noqa: E402
import socket                                           # noqa: E402
import struct                                           # noqa: E402
import subprocess                                       # noqa: E402
import threading                                        # noqa: E402
import time                                             # noqa: E402

SIZE = 4
TOKEN = "soup-of-the-day-7e57c0ffee"
EXCHANGE = """
    c = Client(int(sys.argv[1]))
    for i in range(3):
        c.put("key-%d" % rank, "value-%d-%d" % (rank, i))
        c.fence()
        for r in range(size):
            need(c.get("key-%d" % r) == "value-%d-%d" % (r, i), "value of", r)
        c.fence()
    say("good", rank, os.uname().nodename)
    c.finalize()
"""
GOOD = [f"good {i} node{i}" for i in range(SIZE)]
SH = ("/bin/sh", "-c")

# How a host is reached by CMD: ssh that stays, ssh that leaves the command behind, ...
SSH = 'host=$1; shift; exec ssh -n -oBatchMode=yes "$host" "$@"'
BEHIND = 'host=$1; shift; ssh -n -oBatchMode=yes "$host" "nohup $* >/dev/null 2>&1 &"'


# --- the port and its callers -----------------------------------------------------------

class Manual:
    """A job of -launcher manual that waits for its hosts."""

    def __init__(self, bed, sock, *words, options=()):
        self.bed = bed
        self.job = start(bed, "-launcher", "manual", "-munge-socket", sock, *options,
                         *(words or ("-n", SIZE, *py(bed, EXCHANGE, 2))))
        self.job.wait_text("HYDRA_LAUNCH_END\n")
        self.lines = [x[14:] for x in self.job.text().decode().splitlines()
                      if x.startswith("HYDRA_LAUNCH: ")]
        need(len(self.lines) == SIZE - 1, "a line for each host", self.job.text())
        m = re.search(r"--connect (([\d.]+):(\d+)) --job (\S+) --position 1", self.lines[0])
        need(m, "a command", self.lines[0])
        self.address, self.ip, self.port, self.id = m[1], m[2], int(m[3]), m[4]
        self.began = time.monotonic()

    def call(self, position, old="", new=""):
        """Run the line of a host on it."""
        line = self.lines[position - 1].replace(old, new) if old else self.lines[position - 1]
        return self.bed.popen(position, ["sh", "-c", line])

    def finish(self, *positions, wanted=GOOD):
        """Call (default: all); a good end; all that the launcher said."""
        for p in positions or range(1, SIZE):
            self.call(p)
        r = finish(self.job)
        need(r.status == 0 and sorted(x for x in r.lines if not x.startswith("HYDRA_")) ==
             sorted(wanted), "the job is unharmed", repr(r))
        return r

    def dial(self, node=1):
        with inside(self.bed, node):
            s = socket.create_connection((self.ip, self.port), 10)
        s.settimeout(12)
        return s

    def hello(self, s):
        """The launcher's nonce."""
        data = b""
        while not data.endswith(b"\n"):
            piece = s.recv(100)
            need(piece, "a first line", data)
            data += piece
        m = re.fullmatch(rb"mpiexec_lite-login 1 ([0-9a-f]{64})\n", data)
        need(m, "a version, 32 bytes, and nothing else", data)
        return bytes.fromhex(m[1].decode())

    def payload(self, theirs, **other):
        """What a true proxy would say at a connection, but for some fields."""
        f = {"tag": b"mpiexec_lite-login/1", "role": b"client", "job": self.id.encode(),
             "node": struct.pack(">i", 1), "nonce": os.urandom(32), "theirs": theirs,
             "address": self.address.encode(), "key": os.urandom(32), **other}
        return b"".join(struct.pack(">H", len(v)) + v for v in f.values())


def closed(s, limit=3.0):
    """It is closed, without a byte more; after how long."""
    s.settimeout(limit + SLACK)
    began = time.monotonic()
    try:
        data = s.recv(1000)
    except ConnectionError:
        data = b""
    except socket.timeout:
        data = b"(open)"
    s.close()
    need(data == b"", "closed without a word", data)
    return time.monotonic() - began


REFUSED = "mpiexec_lite: call-back port: a connection was refused: "


def reason(job, text, count=1):
    """Wait until the launcher has said why; not more than once a line."""
    lib.wait_for(lambda: sum(REFUSED in x and re.search(text, x) is not None for x in
                             job.error_text().decode(errors="replace").splitlines()) >= count,
                 f"a refusal with {text!r}: {job.error_text()}", 4 + SLACK)


def calm(seconds=1.05):
    """At most 3 lines are logged in a second."""
    time.sleep(seconds)


# --- it works ---------------------------------------------------------------------------

@points([(f"tcp: a job on 4 hosts, CMD {name}, PMI-{wire}", text, wire) for name, text, wire in
         (("stays", SSH, 2), ("leaves its command behind", BEHIND, 1))])
def works(bed, text, wire):
    with munges(bed) as sock:
        cmd = bed.write("cmd", "#!/bin/sh\necho \"$@\" >>" + bed.path("calls") + "\n" + text, 0o755)
        r = finish(start(bed, "-launcher", "tcp", "-launcher-exec", cmd, "-munge-socket", sock,
                         "-n", SIZE, *py(bed, EXCHANGE, wire),
                         env={"HYDRA_LAUNCHER_EXTRA_ARGS": ""}))
        same((r.status, sorted(r.lines), r.err), (0, GOOD, b""), f"end of {r}")
        with open(bed.path("calls"), encoding="ascii") as f:
            calls = sorted(f.read().splitlines())
        os.unlink(bed.path("calls"))
        same(len(calls), SIZE - 1, "calls of CMD")
        for i, line in enumerate(calls):
            need(re.fullmatch(rf"node{i + 1} \S+/pmi2_proxy --connect 10\.77\.0\.1:\d+ --job \S+ "
                              rf"--position {i + 1} --munge-socket {re.escape(sock)}", line),
                 "HOST PROXY --connect ... --job ID --position N", line)
        say(f"{r.took:.2f} s")


@point("manual: the lines, run on the hosts in any order, start the job; then nothing listens")
def manual(bed):
    with munges(bed) as sock:
        m = Manual(bed, sock, "-n", SIZE, *SH, "echo ready $(hostname); read x; echo got $x")
        text = m.job.text().decode().splitlines()
        need(text[-1] == "HYDRA_LAUNCH_END" and len(text) == SIZE, "three lines and an end", text)
        need(any(f":{m.port} " in x for x in bed.listening(0)), "one port while they are awaited")
        same(len(ports(bed)), 1, "ports")
        for p in 3, 1:
            m.call(p)
        time.sleep(0.3)
        need(b"ready" not in m.job.text(), "no rank before all hosts are there")
        need(any(f":{m.port} " in x for x in bed.listening(0)), "the port is still open")
        m.call(2)
        m.job.wait_text("ready", SIZE)
        for n in range(SIZE):
            same(ports(bed, n), [], f"ports of node{n}")
        r = finish(m.job)
        same((r.status, r.err), (0, b""), f"end of {r}")


@points([(f"no port in a launch by {way}", way) for way in ("ssh", "fork")])
def no_port(bed, way):
    job = start(bed, "-launcher", way, "-n", SIZE, *SH, "echo ready; sleep 0.5")
    seen = set()
    while job.poll() is None:
        seen.update(x for n in range(SIZE) for x in ports(bed, n))
        time.sleep(0.05)
    r = finish(job)
    same((r.status, seen), (0, set()), f"end of {r}")


# --- CMD --------------------------------------------------------------------------------

@points([(f"CMD {name}: told, 255", text, options, bound, patterns)
         for name, text, options, bound, patterns in (
    ("fails for one host", '[ $1 = node2 ] && { echo no way to $1 >&2; exit 3; }\n' + SSH, (), 5,
     ["node2", "3"]),
    ("exits with 0, but nobody calls", '[ $1 = node2 ] && exit 0\n' + SSH,
     ("-launch-timeout", 2), 2, ["node2", "no answer within 2 s"]),
    ("is not there", None, (), 2, ["/nowhere"]))])
def cmd_fails(bed, text, options, bound, patterns):
    with munges(bed) as sock:
        cmd = bed.write("cmd", "#!/bin/sh\n" + text, 0o755) if text else "/nowhere/cmd"
        r = finish(start(bed, "-launcher", "tcp", "-launcher-exec", cmd, "-munge-socket", sock,
                         *options, "-n", SIZE, *SH, "echo started"), bound=bound + 1,
                   what="CMD fails")
        one_message(r, 255, *patterns)
        need(b"started" not in r.out, "no rank was started", repr(r))


# --- strangers --------------------------------------------------------------------------

@point("strangers: port scan, HTTP, 80 silent ones, slow and endless senders: job unharmed")
def strangers(bed):
    with munges(bed) as sock:
        m = Manual(bed, sock)
        root = front_and_root(m.job)[1]
        for _ in range(200):                             # a scan
            m.dial().close()
        calm()
        s = m.dial(2)
        s.sendall(b"GET / HTTP/1.0\r\n\r\n")
        data = b""
        with contextlib.suppress(ConnectionError):
            while piece := s.recv(1000):
                data += piece
        need(re.fullmatch(rb"mpiexec_lite-login 1 [0-9a-f]{64}\n", data), "a version and a nonce "
             "are all that a stranger gets", data)
        reason(m.job, "the peer sent no munge credential")
        calm()
        s = m.dial()                                     # a line that does not end
        m.hello(s)
        with contextlib.suppress(ConnectionError):
            s.sendall(b"MUNGE:" + b"A" * (4 << 20))
        closed(s)
        reason(m.job, r"a line of more than \d+ bytes")
        calm()
        slow = [m.dial() for _ in range(2)]
        for i, s in enumerate(slow):
            m.hello(s)
        for byte in b"MUNGE:AwQFAA":                     # one byte at a time
            slow[0].sendall(bytes([byte]))
            time.sleep(0.01)
        slow[1].sendall(b"M")
        silent = [m.dial(1 + i % 3) for i in range(80)]
        lib.wait_for(lambda: b"too many connections at once; the oldest was closed" in
                     m.job.error_text(), "a word about too many", 4)
        m.hello(silent[-1])
        for s in slow + silent[:14]:                     # of 82 the 64 last may stay
            with contextlib.suppress(socket.timeout):
                while s.recv(200):
                    pass
        peak = int(re.search(rb"VmHWM:\s*(\d+)", lib.proc_bytes(root, "status"))[1])
        need(peak < 16 << 10, "the launcher's memory, KiB", peak)
        r = m.finish()                                   # while 64 are there
        took = time.monotonic() - m.began
        lines = [x for x in r.messages if "call-back port" in x]
        need(len(lines) <= 3 * (took + 2), "at most 3 lines a second", took, repr(r))
        need(all(x.startswith(REFUSED) or "too many connections" in x for x in r.messages),
             "nothing but refusals", repr(r))
        for s in silent:
            s.close()
        say(f"{len(lines)} lines in {took:.1f} s, peak memory {peak} KiB")


@point("strangers: who is silent, or sends a byte now and then, has 10 seconds")
def ten_seconds(bed):
    with munges(bed) as sock:
        m = Manual(bed, sock)
        silent, slow = m.dial(), m.dial(2)
        m.hello(silent), m.hello(slow)
        began = time.monotonic()
        with contextlib.suppress(ConnectionError):
            for byte in b"MUNGE:" + b"A" * 200:
                slow.sendall(bytes([byte]))
                time.sleep(0.2)
                if time.monotonic() - began > 9:
                    break
        closed(silent, 3)
        closed(slow, 1)
        took = time.monotonic() - began
        need(9 <= took <= 11 + SLACK, "10 seconds", took)
        reason(m.job, "no answer for 10 s", 2)
        m.finish()
        say(f"closed after {took:.1f} s")


# --- credentials ------------------------------------------------------------------------

@point("credentials: replayed, of another connection, job, host, role, address; forged; cut")
def credentials(bed):
    with munges(bed) as sock:
        m = Manual(bed, sock)

        def attempt(text, made=None, restrict=0, line=None, **other):
            s = m.dial()
            theirs = m.hello(s)
            cred = line(theirs) if line else credential(
                bed, sock, made(theirs) if made else m.payload(theirs, **other), restrict=restrict)
            with contextlib.suppress(ConnectionError):
                s.sendall(cred + b"\n")
            closed(s, 5)
            reason(m.job, text)
            calm(0.35)
            return cred

        def used(theirs):
            """Somebody has decoded it already."""
            cred = credential(bed, sock, m.payload(theirs), restrict=0)
            subprocess.run(["unmunge", "-S", sock], input=cred, check=True,
                           stdout=subprocess.DEVNULL)
            return cred
        attempt("munge: Replayed credential", line=used)
        stolen = credential(bed, sock, m.payload(os.urandom(32)), restrict=0)
        attempt("for another connection", line=lambda theirs: stolen)
        attempt("munge: Replayed credential", line=lambda theirs: stolen)
        attempt("for another job", job=b"job-1-00000001")
        attempt("for another protocol version", tag=b"mpiexec_lite-login/2")
        attempt("for another role", role=b"server")
        attempt("for another address", address=b"10.77.0.2:" + str(m.port).encode())
        attempt(r"no node \d+ in this job", node=b"\x7f\xff\xff\xff")
        attempt(r"no node \d+ in this job", node=b"\xff\xff\xff\xff")
        attempt("does not say its", made=lambda theirs: m.payload(theirs)[:-1])
        attempt("does not say its", made=lambda theirs: b"")
        attempt("says too much", made=lambda theirs: m.payload(theirs) + b"x")
        attempt("another key part", key=b"short")

        def flipped(theirs):
            cred = bytearray(credential(bed, sock, m.payload(theirs), restrict=0))
            cred[len(cred) // 2] ^= 1
            return bytes(cred)
        attempt("munge: |no munge credential", line=flipped)
        attempt("munge: ", line=lambda theirs: b"MUNGE:" + b"AAAA" * 50 + b":")
        attempt("sent no munge credential", line=lambda theirs: b"MUNGE:\x00\x1b[31m:")
        attempt("speaks out of turn", line=lambda theirs: b"MUNGE:AAAA:\nmore")
        r = m.finish()
        need(b"\x1b" not in r.err, "nothing of a stranger's is shown", repr(r))
        same([x for x in r.messages if not x.startswith(REFUSED)], [], f"messages of {r}")
        say(f"{len(r.messages)} refusals, job unharmed")


@point("credentials: of another user, of another realm, for a host that is there already")
def not_ours(bed):
    with munges(bed) as sock:
        foreign = munged(bed, "foreign", key="key2")
        m = Manual(bed, sock)

        def attempt(text, **more):
            s = m.dial()
            path, node = more.pop("path", sock), more.pop("node", 1)
            says = m.payload(m.hello(s), node=struct.pack(">i", node))
            cred = credential(bed, path, says, **more)
            s.sendall(cred + b"\n")
            closed(s, 5)
            reason(m.job, text)
            calm(0.35)
        uid = bed.uid["tester"]
        attempt(f"the credential is uid {uid}'s, want 0", user="tester", restrict=0)
        attempt(f"the credential is uid {uid}'s, want 0", user="tester")
        attempt("munge: Unauthorized credential", user="tester", restrict=uid)
        attempt("munge: Invalid credential", path=foreign)
        # A whole proxy of another user, and one of another realm.
        r = bed.run(2, ["sh", "-c", m.lines[1]], user="tester")
        need(r.returncode and b"cannot log in" in r.stderr, "another user's proxy", r)
        r = bed.run(2, ["sh", "-c", m.lines[1].replace(sock, foreign)])
        need(r.returncode and b"cannot log in" in r.stderr, "another realm's proxy", r)
        calm()
        m.call(2)
        lib.wait_for(lambda: len([p for p in on(bed, 2, "pmi2_proxy")]) >= 3, "node2's servers", 5)
        time.sleep(0.3)
        r = bed.run(3, ["sh", "-c", m.lines[1]])
        need(r.returncode, "a second proxy for node2", r)
        reason(m.job, "node 2 has logged in already|node 1 has logged in already")
        r = m.finish(1, 3)
        same([x for x in r.messages if not x.startswith(REFUSED)], [], f"messages of {r}")


@points([(f"clocks: a host whose clock is {clock} is told, 255", clock, word)
         for clock, word in (("+90s", "rewound"), ("-90s", "expired"))])
def clocks(bed, clock, word):
    need(os.path.exists(FAKETIME), "faketime is installed")
    with munges(bed) as sock:
        skewed = munged(bed, "skewed", clock=clock)
        m = Manual(bed, sock, "-n", SIZE, *SH, "echo started")
        s = m.dial()                         # stale and stolen: no harm
        m.hello(s)
        s.sendall(credential(bed, skewed, m.payload(os.urandom(32)), restrict=0) + b"\n")
        closed(s, 5)
        reason(m.job, f"munge credential {word}: the credential is for another connection")
        m.call(1)
        since = time.monotonic()
        m.call(2, sock, skewed)
        r = finish(m.job, since, bound=5, what=f"node2's clock {clock}")
        first = next(x for x in r.messages if not x.startswith(REFUSED))
        need(r.status == 255 and re.match(
            rf"mpiexec_lite: node2: .*munge credential {word}: clocks differ by ~(89|9[0-3]) s",
            first), "the host, and by how much", repr(r))
        need(b"started" not in r.out, "no rank was started", repr(r))


# --- munged that does not work ------------------------------------------------------------

@points([(f"munged {how}: 255 within {bound} s, its socket is named", how, bound, words)
         for how, bound, words in (("absent", 1, "No such file or directory"),
                                   ("killed", 1, "Connection refused"),
                                   ("stopped", 6, ""))])
def munged_fails(bed, how, bound, words):
    with munges(bed) as sock:
        path = sock
        if how == "absent":
            path = bed.path("munge/none")
        else:
            os.kill(pid_of(sock), signal.SIGKILL if how == "killed" else signal.SIGSTOP)
        for launcher in (["tcp", "-launcher-exec", bed.write("cmd", "#!/bin/sh\n" + SSH, 0o755)],
                         ["manual"])[:1 if how == "stopped" else 2]:
            r = finish(start(bed, "-launcher", *launcher, "-munge-socket", path, "-n", SIZE, *SH,
                             "echo started"), bound=bound, what=f"munged {how}, {launcher[0]}")
            one_message(r, 255, f"-launcher {launcher[0]} needs munge", re.escape(path), words)
            same(r.out, b"", "what was started, or asked for")


@point("munged absent on one host only: told, 255")
def munged_absent_there(bed):
    with munges(bed) as sock:
        cmd = bed.write("cmd", '#!/bin/sh\nhost=$1; shift; [ $host != node2 ] || set -- $('
                        'echo "$@" | sed s,--munge-socket.*,--munge-socket\\ /none,)\n'
                        'exec ssh -n -oBatchMode=yes "$host" "$@"\n', 0o755)
        r = finish(start(bed, "-launcher", "tcp", "-launcher-exec", cmd, "-munge-socket", sock,
                         "-n", SIZE, *SH, "echo started"), bound=5, what="no munged on node2")
        need(r.status == 255 and any("node2" in x for x in r.messages) and b"/none" in r.err,
             "host and socket", repr(r))


# --- what can be seen ---------------------------------------------------------------------

class Capture:
    """All frames at e0 of a node, as bytes, while it is open."""

    def __init__(self, bed, node):
        with inside(bed, node):
            self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.socket.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)       # SO_RCVBUFFORCE
        self.socket.settimeout(0.2)
        self.data, self.by_port, self.over = [], {}, False
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        while True:
            try:
                frame = self.socket.recv(1 << 16)
            except socket.timeout:
                if self.over:
                    return
                continue
            self.data.append(frame)

    def close(self):
        """All frames, and the payloads of TCP one after the other for each sender."""
        self.over = True
        self.thread.join()
        self.socket.close()
        streams = {}
        for f in self.data:
            if f[12:14] != b"\x08\x00" or f[23] != 6:
                continue
            ip = f[14:14 + int.from_bytes(f[16:18], "big")]
            head = (ip[0] & 15) * 4
            tcp = ip[head:]
            key = (ip[12:20], tcp[:4])
            streams.setdefault(key, []).append(tcp[(tcp[12] >> 4) * 4:])
        return {k: b"".join(v) for k, v in streams.items()}


@point("a token of -genv and of the ranks' output is in no packet, and in no command line")
def captured(bed):
    with munges(bed) as sock:
        shown = Capture(bed, 1)
        plain = Capture(bed, 0)
        m = Manual(bed, sock, "-genv", "TOKEN", TOKEN, "-n", SIZE, *SH,
                   "echo $PMI_RANK has $TOKEN; read x; echo $PMI_RANK read $x; sleep 0.2")
        for p in range(1, SIZE):
            m.call(p)
        m.job.wait_text("has " + TOKEN, SIZE)
        lines = [p.cmdline for p in bed.processes() if TOKEN in p.cmdline]
        r = finish(m.job)
        same((r.status, r.out.count(TOKEN.encode())), (0, SIZE), f"end of {r}")
        # That the capture sees what there is: the same in the clear.
        with inside(bed, 1):
            listener = socket.create_server(("0.0.0.0", 7777))
        with inside(bed, 0):
            s = socket.create_connection((bed.nodes[1].address, 7777), 5)
        s.sendall(b"control " + TOKEN.encode())
        s.close()
        listener.close()
        time.sleep(0.1)
        seen = 0
        for c in shown, plain:
            streams = c.close()
            sealed = {k: v for k, v in streams.items() if struct.pack(">H", m.port) in
                      (k[1][:2], k[1][2:])}
            seen += sum(map(len, sealed.values()))
            need(sum(map(len, sealed.values())) > 1000, "the connection was captured", sealed)
            for v in sealed.values():
                need(TOKEN.encode() not in v and b"TOKEN" not in v and b"PATH=" not in v,
                     "nothing of the environment", v)
            need(sum(TOKEN.encode() in f for f in c.data) == 1, "the control, and nothing else",
                 [f for f in c.data if TOKEN.encode() in f])
        # The launcher's own command line has it: the user has written it there.
        same([x for x in lines if not x.startswith(bed.launcher)], [], "command lines")
        say(f"{seen} bytes captured at two hosts")


# --- a false launcher, a man in the middle --------------------------------------------------

@point("a false launcher gets a credential from a proxy and nothing else; nothing is started")
def false_launcher(bed):
    with munges(bed) as sock:
        foreign = munged(bed, "foreign", key="key2")
        with inside(bed, 0):
            listener = socket.create_server(("0.0.0.0", 0))
        listener.settimeout(10)
        address = f"{bed.nodes[0].address}:{listener.getsockname()[1]}"

        def play(wanted, hello=None, answer=None):
            job = bed.popen(1, [bed.path("bin/pmi2_proxy"), "--connect", address, "--job", "j",
                                "--position", 1, "--munge-socket", sock])
            s = listener.accept()[0]
            s.settimeout(10)
            nonce = os.urandom(32)
            s.sendall(hello or b"mpiexec_lite-login 1 " + nonce.hex().encode() + b"\n")
            got = b""
            if answer:
                while not got.endswith(b"\n"):
                    piece = s.recv(4096)
                    need(piece, "a credential", got)
                    got += piece
                need(got.startswith(b"MUNGE:") and got.count(b"\n") == 1, "one credential", got)
                s.sendall(answer(nonce, got.strip()) + b"\n")
            with contextlib.suppress(ConnectionError):
                while piece := s.recv(4096):
                    need(False, "nothing more", piece)
            s.close()
            r = job.finish(10)
            need(r.returncode not in (0, None) and re.search(wanted, r.stderr.decode()),
                 f"refused with {wanted!r}", r)

        def server(nonce, mine, user="root", path=sock, **other):
            theirs = os.urandom(32)          # the proxy's own nonce is in its credential only
            f = {"tag": b"mpiexec_lite-login/1", "role": b"server", "job": b"j",
                 "node": struct.pack(">i", 1), "nonce": nonce, "theirs": theirs,
                 "address": address.encode(), "key": os.urandom(32), **other}
            return credential(bed, path, b"".join(struct.pack(">H", len(v)) + v
                                                  for v in f.values()), user=user)
        play("no mpiexec_lite", hello=b"SSH-2.0-OpenSSH_9.2\r\n")
        play("version 2", hello=b"mpiexec_lite-login 2 " + b"0" * 64 + b"\n")
        play("another connection", answer=server)
        play("uid", answer=lambda n, c: server(n, c, user="tester"))
        play("Invalid credential", answer=lambda n, c: server(n, c, path=foreign))
        play("another role|Replayed", answer=lambda n, c: c)             # its own, sent back
        listener.close()
        left = bed.left(2 + SLACK)
        need(not left, "nothing is left", left)


@points([(f"a man in the middle {what}: the stream is given up, 255, nothing left", what)
         for what in ("changes a byte", "repeats bytes", "cuts it short")])
def in_the_middle(bed, what):
    with munges(bed) as sock:
        m = Manual(bed, sock, "-n", SIZE, *SH, "echo ready; sleep 60",
                   options=["-heartbeat", 0.5, "-lease", 4])
        with inside(bed, 2):                             # node2 believes that it dials node0
            listener = socket.create_server(("0.0.0.0", 0))
        port = listener.getsockname()[1]
        bed.nft(2, f"table ip bed {{\n chain out {{ type nat hook output priority -100; ip daddr "
                f"{m.ip} tcp dport {m.port} meta mark != 1 redirect to :{port}\n }}\n}}\n")
        state = {"bad": False}

        def carry(a, b, spoil):
            with contextlib.suppress(OSError):
                while data := a.recv(65536):
                    if state["bad"] and spoil:
                        if what == "changes a byte":
                            data = data[:len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + \
                                data[len(data) // 2 + 1:]
                        elif what == "repeats bytes":
                            data += data
                        else:
                            break
                        state["bad"] = False
                    b.sendall(data)
            for s in a, b:
                with contextlib.suppress(OSError):
                    s.shutdown(socket.SHUT_RDWR)
        for p in 1, 2, 3:
            m.call(p)
        listener.settimeout(10)
        near = listener.accept()[0]
        with inside(bed, 2):
            far = socket.socket()
        far.setsockopt(socket.SOL_SOCKET, 36, 1)         # SO_MARK: not to itself
        far.connect((m.ip, m.port))
        threads = [threading.Thread(target=carry, args=(near, far, True), daemon=True),
                   threading.Thread(target=carry, args=(far, near, False), daemon=True)]
        for t in threads:
            t.start()
        m.job.wait_text("ready", SIZE)                   # a relay alone does no harm
        since = time.monotonic()
        state["bad"] = True
        r = finish(m.job, since, bound=6, what=f"a man in the middle {what}")
        one_message(r, 255, "node2")
        for s in near, far, listener:
            s.close()


# --- faults of this way ---------------------------------------------------------------------

@points([(f"tcp: {what}: 255, nothing left", what) for what in
         ("node2's connection process killed", "node2's proxy killed", "node2's guard killed",
          "node2 cut off", "the launcher killed")])
def faults(bed, what):
    with munges(bed) as sock:
        m = Manual(bed, sock, "-n", SIZE, *SH, "trap '' TERM; echo ready; sleep 60 & wait",
                   options=["-heartbeat", 0.5, "-lease", 2])
        for p in 1, 2, 3:
            m.call(p)
        m.job.wait_text("ready", SIZE)
        ours = {p.pid for p in on(bed, 2, "pmi2_proxy") if exe(p.pid).endswith("pmi2_proxy")}
        since = time.monotonic()
        if "connection" in what:
            holds = [p for p in ours if f":{m.port:04X} ".encode() in tcp_of(p)]
            need(len(holds) == 1, "one process has the connection", holds, ours)
            kill(holds[0])
        elif "proxy" in what or "guard" in what:
            helpers = {p for p in ours if "munge" in lib.proc_bytes(p, "comm").decode()}
            for p in helpers:                # no use to anybody any more: no harm
                kill(p)
            time.sleep(0.2)
            need(m.job.poll() is None, "munge's helper is not missed", m.job.error_text())
            proxy = {lib.stat(p)[1] for p in ranks_of(bed, 2)}
            need(len(proxy) == 1 and proxy <= ours, "one proxy", proxy, ours)
            proxy = proxy.pop()
            since = kill(proxy if "proxy" in what else lib.stat(proxy)[1])
        elif "cut" in what:
            bed.silence(2)
        else:
            m.job.kill(signal.SIGKILL)
        r = finish(m.job, since, bound=7, what=what, clean=False, sessions=False, nodes=(0, 1, 3))
        need(not r.left, "nothing is left on hosts that are reached", repr(r))
        if "launcher" in what:
            same(r.status, 137, f"status of {r}")
        else:
            one_message(r, 255, "node2")
        left = bed.left(8 + SLACK)
        need(not left, "nothing is left", left)


def ranks_of(bed, node):
    """Pids of the shells that are ranks of a node."""
    return [p.pid for p in on(bed, node, "echo ready") if p.state != "Z" and
            "pmi2_proxy" not in p.cmdline]


def tcp_of(pid):
    """The lines of /proc/net/tcp for sockets that a process has."""
    mine = set()
    with contextlib.suppress(OSError):
        for fd in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                if m := re.fullmatch(r"socket:\[(\d+)\]", os.readlink(f"/proc/{pid}/fd/{fd}")):
                    mine.add(m[1].encode())
    return b"\n".join(x for x in lib.proc_bytes(pid, "net/tcp").splitlines()
                      if mine & set(x.split()))


if MISSING:
    print("1..0 # SKIP not installed: " + " ".join(MISSING))
else:
    main([SIZE, SIZE, SIZE], [])

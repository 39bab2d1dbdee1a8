"""pmixlib.py - what the tests of extended commands share: tools, and ranks that a test
speaks for, both in Python over the bare wire (pmix_ext/PROTOCOL.md).

    t = Tool(job)                      a tool of a launcher that runs (lib.Job), connected
    r = t.call("pmix-query", queries=[query("pmix.qry.ns")])
    r["status"], r["results"]          parts of a reply are joined
    n = t.send("pmix-query", ...); t.reply(n)        the same in two steps
    t.event()                          the next frame that nobody asked for

    ranks = Ranks("-n", 3)             a job whose ranks do nothing but lend their PMI
    ranks[1].call("pmix-query", ...)   connections to the test, which speaks for them
    ranks[1].call("kvs-fence")         PMI-2's commands as well
    ranks.end(1, 3)                    rank 1 exits with 3 (default: all, with 0)

Arguments: text goes as it is, all else as JSON.  Fields of a reply: `status` and `rc` are
numbers, what begins with '[' or '{' is JSON, all else is text.
"""

import array
import base64
import contextlib
import copy
import fcntl
import glob
import json
import os
import signal
import socket
import subprocess
import sys
import time

from lib import B, HOST, Job, LIMIT, ROOT, SYS, Wrong, need, same, show, tmp, wait_for

__all__ = ["finder", "Peer", "Tool", "Stopped", "Far", "Rank", "Ranks", "LENDER", "Closed", "tools_socket", "await_entry",
           "value", "info", "proc", "query", "entries", "results", "plain", "good", "is_sanitized",
           "preloaded", "lean"]

# --- values as JSON -------------------------------------------------------------


def value(kind, x):
    """A typed value; kind without PMIX_: value("UINT32", 5)."""
    if isinstance(x, bytes):
        x = base64.b64encode(x).decode()
    return {"type": "PMIX_" + kind, "value": x}


def info(key, kind, x, flags=None):
    return {"key": key, **value(kind, x), **({"flags": flags} if flags else {})}


def proc(nspace, rank):
    return {"nspace": nspace, "rank": rank}


def query(*keys, **more):
    """A query for these keys; qualifiers=[info(...), ...]."""
    return {"keys": list(keys), **more}


def plain(x):
    """What a typed value says without its types: arrays as lists, records as dicts, infos as
    (key, value)."""
    if isinstance(x, dict) and "key" in x and "value" in x:
        return x["key"], plain({"type": x["type"], "value": x["value"]})
    if isinstance(x, dict) and "type" in x and "array" in x:
        return [plain(e) for e in x["array"]]
    if isinstance(x, dict) and "type" in x and "value" in x:
        return plain(x["value"])
    return x


def entries(reply):
    """Of a reply to pmix-query: its entries, arrays that were cut into several whole again."""
    whole, cut = [], False
    for e in reply["results"]:
        if "piece" in e:
            if not cut:
                whole.append({k: e[k] for k in ("query", "key")} | {"piece": ""})
            whole[-1]["piece"] += e["piece"]
            if not e.get("more"):
                whole[-1].update(json.loads(whole[-1].pop("piece")))
        elif cut:
            whole[-1]["value"]["array"] += e["value"]["array"]
            whole[-1].update({k: e[k] for k in e if k == "status"})
        else:
            whole.append({k: copy.deepcopy(e[k]) for k in e if k != "more"})
        cut = e.get("more", False)
    return whole


def results(reply):
    """The same as (query, key, value): values without types; of a key that has none its
    status, as {"status": n}."""
    return [(e["query"], e["key"], answer(e)) for e in entries(reply)]


def answer(entry):
    return plain(entry)[1] if "value" in entry else {"status": entry["status"]}


# --- connections -----------------------------------------------------------------


class Closed(Exception):
    """The other end has closed the connection."""


class Peer:
    """A connection after its opening line: frames of PMI-2."""

    def __init__(self, sock):
        self.sock = sock
        self.sock.settimeout(LIMIT)
        self.seen = b""
        self.number = 0
        self.unasked = []        # frames without thrid
        self.early = {}          # thrid: frames of replies that came before they were wanted
        self.frames = 0          # taken off the wire so far

    def open(self):
        self.sock.sendall(b"cmd=init pmi_version=2 pmi_subversion=0\n")
        line = b""
        while not line.endswith(b"\n"):
            line += self.read(1)
        need(line.startswith(b"cmd=response_to_init ") and b" rc=0" in line, "opening", line)

    def close(self):
        self.sock.close()

    # --- bytes

    def read(self, n):
        while len(self.seen) < n:
            data = self.sock.recv(65536)
            if not data:
                raise Closed(show(self.seen))
            self.seen += data
        data, self.seen = self.seen[:n], self.seen[n:]
        return data

    def send_raw(self, text):
        """One frame with this text."""
        data = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
        self.sock.sendall(b"%6d" % len(data) + data)

    def frame(self):
        """The next frame as a dict of texts; its payload, if any, as bytes under "data"."""
        text = self.read(int(self.read(6))).decode("utf-8", "surrogateescape")
        need(text.endswith(";"), "a frame ends with ';'", text)
        self.frames += 1
        m = dict(w.replace("\0", ";").partition("=")[::2]
                 for w in text.replace(";;", "\0").split(";") if w)
        if m.get("payload", "").isdigit():
            m["data"] = self.read(int(m["payload"]))
        return m

    # --- requests

    def send(self, cmd, **args):
        """Send a request; its thrid."""
        n, data = self.request(cmd, **args)
        self.send_raw(data)
        return n

    def request(self, cmd, **args):
        """The thrid and the text of a new request."""
        self.number += 1
        words = [f"cmd={cmd}", f"thrid={self.number}"]
        for key, x in args.items():
            text = x if isinstance(x, str) else json.dumps(x)
            words.append(key.replace("_", "-") + "=" + text.replace(";", ";;"))
        return str(self.number), (";".join(words) + ";").encode("utf-8", "surrogateescape")

    def take(self):
        """Take one frame off the wire and put it where it belongs."""
        m = self.frame()
        if "thrid" in m:
            self.early.setdefault(m["thrid"], []).append(m)
        else:
            self.unasked.append(m)

    def parts(self, thrid):
        """The frames of one reply, each as a dict, while they come."""
        while True:
            while not self.early.get(thrid):
                self.take()
            m = self.early[thrid].pop(0)
            yield fields(m)
            if m.get("more") != "TRUE":
                del self.early[thrid]
                return

    def reply(self, thrid):
        whole = {}
        for part in self.parts(thrid):
            for key, x in part.items():
                joins = isinstance(x, list) and isinstance(whole.get(key), list)
                whole[key] = whole[key] + x if joins else x
        whole.pop("more", None)
        return whole

    def call(self, cmd, **args):
        return self.reply(self.send(cmd, **args))

    def call_long(self, cmd, **args):
        """The same of a request that need not fit a frame: it goes in parts."""
        n, data = self.request(cmd, **args)
        begun = self.call("pmix-part", size=str(len(data)))
        for at in range(0, len(data), 30000) if begun["status"] == 0 else ():
            piece = data[at:at + 30000].replace(b";", b";;")
            self.number += 1
            self.send_raw(b"cmd=pmix-part;thrid=%d;data=%s;" % (self.number, piece))
            good(self.reply(str(self.number)))
        return self.reply(n) if begun["status"] == 0 else begun

    def event(self, cmd=None, limit=LIMIT):
        """The next frame that nobody asked for (of this command)."""
        end = time.monotonic() + limit
        while True:
            for i, m in enumerate(self.unasked):
                if cmd in (None, m["cmd"]):
                    return fields(self.unasked.pop(i))
            need(time.monotonic() < end, f"no {cmd or 'frame'} has come", self.unasked)
            self.sock.settimeout(max(0.01, end - time.monotonic()))
            try:
                self.take()
            except socket.timeout:
                raise Wrong(f"no {cmd or 'frame'} has come in {limit} s") from None
            finally:
                self.sock.settimeout(LIMIT)

    def silent(self):
        """Nothing that nobody asked for has come before a reply that is made now."""
        self.call("pmix-capabilities")
        return not self.unasked


def fields(m):
    return {key: field(key, x) for key, x in m.items()}


def field(key, text):
    if key in ("status", "rc"):
        return int(text)
    if isinstance(text, str) and text[:1] in ("[", "{"):
        try:
            return json.loads(text)
        except ValueError:
            pass
    return text


def good(reply):
    """A reply that says success; it."""
    need(reply.get("rc") == 0 and reply.get("status") == 0, "a good reply wanted", reply)
    return reply


# --- finding ---------------------------------------------------------------------

FINDER = ["pmix_ext/find.c", "pmix_ext/find_far.c", "pmix_ext/hold_text.c", "pmix_ext/start.c", "pmix_ext/rendezvous.c",
          "pmix_ext/rundir.c", "pmix_ext/names.c", "pmix_ext/types.c", "pmix_ext/base64.c",
          "pmix_ext/json_reader.c", "pmix_ext/words.c", "pmix_ext/util_*.c",
          "pmix_ext/value*.c", "wire/buf.c", "wire/err.c", "wire/utf8.c"]


def is_sanitized():
    """The library was built with the sanitizers."""
    return b"__asan" in subprocess.run(["nm", "-D", f"{B}/lib/libpmix_ext.so.0"],
                                       stdout=subprocess.PIPE, check=True).stdout


def preloaded(env):
    """With the sanitizers' runtime, for a program that is linked with such a library."""
    if not is_sanitized():
        return env
    return {**env, "LD_PRELOAD": subprocess.run(["cc", "-print-file-name=libasan.so"],
                                                stdout=subprocess.PIPE, check=True,
                                                text=True).stdout.strip(),
            "ASAN_OPTIONS": "detect_leaks=0"}


def lean(env=None):
    """Without the store in which a sanitizer keeps what was freed: where memory is measured."""
    options = os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1"
    return {**os.environ, **(env or {}), "ASAN_OPTIONS": options}


def finder():
    """The path of test/progs/pmix_find.c, built with what it tests."""
    source = os.path.join(ROOT, "test/progs/pmix_find.c")
    sources = [source] + [f for g in FINDER for f in glob.glob(os.path.join(ROOT, g))]
    out = os.path.join(B, "test/sys-progs/pmix_find")
    os.makedirs(os.path.dirname(out), exist_ok=True)
    with open(out + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(out) or any(os.path.getmtime(s) > os.path.getmtime(out)
                                          for s in sources):
            subprocess.run(["gcc", "-std=gnu17", "-O1", "-g", "-D_GNU_SOURCE", '-DVERSION="test"',
                            "-I" + ROOT, *sources, "-o", out + ".new", "-l:libjansson.a",
                            "-l:libutf8proc.a", "-lm"], check=True)
            os.rename(out + ".new", out)
    return out


# --- tools -----------------------------------------------------------------------


def folders():
    uid = os.getuid()
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    given = os.environ.get("PMIX_SERVER_TMPDIR")
    return ([given] if given else []) + ([runtime + "/pmi2_server"] if runtime else []) + [
        f"/run/user/{uid}/pmi2_server", f"/tmp/pmi2_server-{uid}", "/run/pmi2_server"]


def tools_socket(pid, limit=LIMIT):
    """The path of the tools' socket of the launcher (or proxy) with this pid, once there."""
    def look():
        found = [p for f in folders() for p in glob.glob(f"{f}/*.{pid}.s")]
        return next((p for p in found if accepts(p)), None)
    return wait_for(look, f"a tools' socket of process {pid}", limit)


def await_entry(job):
    """pmix_tool finds the job: its socket is there, and then its entry."""
    entry = tools_socket(job.pid)[:-2]
    wait_for(lambda: os.path.exists(entry), entry)


def accepts(path):
    """A socket on which somebody listens."""
    s = socket.socket(socket.AF_UNIX)
    try:
        s.connect(path)
        return True
    except OSError:
        return False
    finally:
        s.close()


class Tool(Peer):
    """A tool.  server: a lib.Job, a pid, or a socket's path.  hello: connected at once;
    more: arguments of pmix-tool-connect."""

    def __init__(self, server, hello=True, **more):
        path = server if isinstance(server, str) else tools_socket(getattr(server, "pid", server))
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(LIMIT)
        s.connect(path)
        super().__init__(s)
        self.open()
        if hello:
            r = good(self.call("pmix-tool-connect", **more))
            self.nspace, self.rank, self.server = r["nspace"], int(r["rank"]), r["server"]


# --- ranks -----------------------------------------------------------------------

# The program of a rank that lends its PMI connection to the test, and its standard output;
# it exits as it is told, or with 0 when the test has gone.
LENDER = [sys.executable, "-S", "-B", "-c", """
import array, json, os, socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
fd = int(os.environ["PMI_FD"])
who = {"pid": os.getpid(), "host": os.uname().nodename,
       **{k: v for k, v in os.environ.items() if k.startswith("PMI_")}}
s.sendmsg([json.dumps(who).encode() + b"\\n"],
          [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))])
line = s.makefile().readline().split()
if line and line[0] == "signal":
    os.kill(os.getpid(), int(line[1]))
if line and line[0] == "close":
    os.close(fd)
    line = s.makefile().readline().split()
sys.exit(int(line[1]) if line else 0)
"""]


class Stopped:
    """A process (a launcher's root) is stopped meanwhile."""

    def __init__(self, pid):
        self.pid = pid

    def __enter__(self):
        os.kill(self.pid, signal.SIGSTOP)

    def __exit__(self, *_):
        os.kill(self.pid, signal.SIGCONT)


class Far(Peer):
    """A tool inside a node, which finds its server by these words (test/progs/pmix_find.c)."""

    def __init__(self, bed, node, *words, hello=True, args=None, **more):
        ours, theirs = socket.socketpair()
        self.process = bed.popen(node, [bed.path("bin", "pmix_find"), "-", *words], stdin=theirs,
                                 **more)
        theirs.close()
        super().__init__(ours)
        if hello:
            self.hello(**args or {})

    def hello(self, **args):
        try:
            self.open()
        except (Closed, OSError) as e:
            raise Wrong(f"no server: {e}; {self.error()}") from None
        self.nspace = good(self.call("pmix-tool-connect", **args))["nspace"]

    def error(self):
        return self.process.error_text().decode(errors="replace")

    def jobs(self):
        r = self.call("pmix-query", queries=[query("pmix.qry.ns")])
        return {k: v for _, k, v in results(r)}["pmix.qry.ns"]

    def fails(self):
        """It has found nothing; what it says."""
        try:
            self.hello()
        except Wrong:
            self.process.finish(LIMIT)
            return self.error()
        raise Wrong("connected")


class Rank(Peer):
    """A rank that a test speaks for."""

    def __init__(self, control):
        data, rights, _, _ = control.recvmsg(65536, socket.CMSG_SPACE(4))
        fd = array.array("i", rights[0][2])[0]
        while not data.endswith(b"\n"):
            data += control.recv(65536)
        self.control = control
        self.environ = json.loads(data)
        self.pid, self.rank = self.environ["pid"], int(self.environ["PMI_RANK"])
        self.nspace = self.environ.get("PMI_JOBID")
        super().__init__(socket.socket(fileno=fd))

    def hello(self, extensions="1"):
        """init and fullinit; the reply to the second."""
        self.open()
        self.full = self.call("fullinit", pmijobid=self.nspace or "", pmirank=str(self.rank),
                              threaded="FALSE", extensions=extensions)
        same(self.full["rc"], 0, f"fullinit {self.full}")
        self.nspace = self.call("job-getid")["jobid"]
        return self.full

    def end(self, status=0, signo=None):
        """Its process exits."""
        word = f"signal {signo}" if signo else f"exit {status}"
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):     # it has ended
            self.control.sendall(word.encode() + b"\n")
        self.close()


class Ranks:
    """A job of lenders: ranks[i], job, jobid.  words: options of the launcher, before the
    program; program: further words of it; hello: all have done init and fullinit."""

    def __init__(self, *words, hello=True, extensions="1", program=(), **more):
        path = tmp() + f"/lend{len(os.listdir(tmp()))}"
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(256)
        self.listener.settimeout(LIMIT)
        self.ranks = {}
        self.extensions = extensions
        self.lender = LENDER + [path]
        self.job = Job(*words, *self.lender, *program, **more)
        self.await_ranks(hello)

    def accept(self, hello=True):
        """The next rank that starts."""
        control, _ = self.listener.accept()
        control.settimeout(LIMIT)
        rank = Rank(control)
        if hello:
            rank.hello(self.extensions)
        return rank

    def await_ranks(self, hello):
        size = 1
        while len(self.ranks) < size:
            rank = self.accept(hello)
            size = int(rank.environ["PMI_SIZE"])
            self.ranks[rank.rank] = rank
        self.jobid = self.ranks[0].nspace

    def __getitem__(self, i):
        return self.ranks[i]

    def __len__(self):
        return len(self.ranks)

    def __iter__(self):
        return (self.ranks[i] for i in sorted(self.ranks))

    def end(self, rank=None, status=0, signo=None):
        """One rank's process exits, or all those that still run."""
        for i in [rank] if rank is not None else sorted(self.ranks):
            self.ranks.pop(i).end(status, signo)

    def finish(self, finalize=True):
        """All that are left finalize and exit with 0; how the launcher ended."""
        for rank in self:
            if finalize:
                rank.call("finalize")
        self.end()
        self.listener.close()
        return self.job.finish()

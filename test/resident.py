"""resident.py - a pmi2_server that listens on the first node of a bed, and its callers.

    with serving(bed, "--system") as s:      # a Server, with a munged of its own
        job = s.publish(1, "ocean", "port")
        s.look(2, "ocean")
        c = s.dial(); nonce, uid = s.hello(c); ... s.payload(nonce)      # a stranger
"""

import contextlib
import itertools
import os
import re
import signal
import socket
import struct
import subprocess

from trial import lib, need, py, same
from munged import inside, munges

PORT = 17653
HELLO = rb"pmi2_server-login 1 ([0-9a-f]{64}) (\d+)\n"
REFUSED = "pmi2_server: --listen: a connection was refused: "
PUBLISH = """
    c = Client(2)
    r = c.ask("cmd=name-publish;name=%s;port=%s;%s")
    say(r["rc"] if r["rc"] == "0" else r["errmsg"])
    sys.stdin.read()
    c.finalize()
"""
LOOK = """
    c = Client(2)
    r = c.ask("cmd=name-lookup;name=%s;%s")
    say(r["port"] if r["found"] == "TRUE" else "none")
    c.finalize()
"""
TAKE = """
    c = Client(2)
    r = c.ask("cmd=name-unpublish;name=%s;")
    say(r["rc"] if r["rc"] == "0" else r["errmsg"])
    c.finalize()
"""
_number = itertools.count()


class Server:
    """A pmi2_server on node0 that listens for the others."""

    def __init__(self, bed, sock, *words, user="root", ready=True):
        self.bed, self.sock, self.user = bed, sock, user
        self.folder = bed.path(f"server.{next(_number)}")
        os.mkdir(self.folder, 0o755)
        if user != "root":
            os.chown(self.folder, bed.uid[user], -1)
        self.words = [*words, "--munge-socket", sock]
        self.where = f"{bed.nodes[0].address}:{PORT}"
        self.start(ready)

    def start(self, ready=True):
        self.job = self.bed.popen(0, [
            self.bed.path("bin/pmi2_server"), "--socket", self.folder + "/socket", "--state",
            self.folder + "/state", "--listen", self.bed.nodes[0].address, "--verbose",
            *self.words], user=self.user)
        if ready:
            lib.wait_for(lambda: b"ready: " in self.job.error_text() or need(
                self.job.poll() is None, "the server runs", self.text()), "the server is ready")

    def text(self):
        return self.job.error_text().decode(errors="replace")

    def wait_line(self, pattern, count=1):
        lib.wait_for(lambda: len(re.findall(pattern, self.text())) >= count,
                     f"the server says {pattern!r}: {self.text()}")

    def launch(self, node, *words, user="root", sock=None, stdin=subprocess.DEVNULL):
        """A launcher of one rank on a node."""
        return self.bed.popen(node, [self.bed.launcher, "-nameserver", self.where,
                                     "-munge-socket", sock or self.sock, "-n", 1, *words],
                              user=user, stdin=stdin)

    def rank(self, node, code, **more):
        return self.launch(node, *py(self.bed, code), **more)

    def publish(self, node, name, port, options="", **more):
        """A launcher that publishes and stays."""
        job = self.rank(node, PUBLISH % (name, port, options), stdin=subprocess.PIPE, **more)
        job.wait_text("0\n")
        return job

    def say(self, node, code, **more):
        r = self.rank(node, code, **more).finish()
        need(r.returncode == 0 and not r.stderr, "a good end", r)
        return r.stdout.decode().strip()

    def look(self, node, name, options="", **more):
        return self.say(node, LOOK % (name, options), **more)

    def list(self):
        r = self.bed.run(0, [self.bed.path("bin/pmi2_server"), "--list", "--socket",
                             self.folder + "/socket"])
        need(r.returncode == 0, "a list", r)
        return r.stdout.decode()

    def stop(self):
        self.job.kill(signal.SIGTERM)
        same(self.job.finish().returncode, 0, f"the server's status: {self.text()}")

    # --- a stranger's ways

    def dial(self, node=1):
        with inside(self.bed, node):
            s = socket.create_connection((self.bed.nodes[0].address, PORT), 10)
        s.settimeout(12)
        return s

    @staticmethod
    def hello(s):
        """The server's nonce and uid."""
        data = b""
        while not data.endswith(b"\n"):
            piece = s.recv(100)
            need(piece, "a first line", data)
            data += piece
        m = re.fullmatch(HELLO, data)
        need(m, "a version, 32 bytes, a uid, and nothing else", data)
        return bytes.fromhex(m[1].decode()), int(m[2])

    def payload(self, theirs, **other):
        """What a true launcher would say at a connection, but for some fields."""
        f = {"tag": b"pmi2_server-login/1", "role": b"client", "job": b"",
             "node": bytes(4), "nonce": os.urandom(32), "theirs": theirs,
             "address": self.where.encode(), "key": os.urandom(32), **other}
        return b"".join(struct.pack(">H", len(v)) + v for v in f.values())


@contextlib.contextmanager
def serving(bed, *words, **more):
    with munges(bed) as sock:
        s = Server(bed, sock, *words, **more)
        try:
            yield s
        except BaseException:
            s.job.kill(signal.SIGCONT)       # for the bed to end it
            raise
        s.stop()

"""rawpmi.py - a PMI client that writes any bytes one likes; for ranks in Python.

lib.py's py() runs code with all these names:

    c = Client(2)            init and fullinit done (1: PMI-1; 0: nothing sent yet)
    c.ask("cmd=kvs-put;key=a;value=b;")  -> the reply as a dict (PMI-2)
    c.ask("cmd=get_appnum")              -> the same for PMI-1
    c.put("k", "v"); c.fence(); c.get("k") -> str or None; c.finalize(); c.appnum()
    c.send(b"..."), c.read(n), c.line(), c.frame()     bytes, as they are
    rank, size               from the environment
    say("text")              one line to stdout, at once
    need(condition, "text")  or exit with 9 and the text on stdout
"""

import os
import sys
import time

rank = int(os.environ.get("PMI_RANK") or -1)
size = int(os.environ.get("PMI_SIZE") or -1)


def say(*words):
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def need(condition, *words):
    if not condition:
        say("WRONG: rank", rank, *words)
        os._exit(9)


class Ended(Exception):
    """The server has closed the connection."""


class Client:
    def __init__(self, version=2, port=None, identity="pmirank"):
        self.version = version
        self.seen = b""
        if "PMI_FD" in os.environ and not port:
            self.fd = int(os.environ["PMI_FD"])
        else:
            import socket
            host, _, number = (port or os.environ["PMI_PORT"]).partition(":")
            self.socket = socket.create_connection((host, int(number)))
            self.fd = self.socket.fileno()
            if version == 1:
                self.send("cmd=initack pmiid=%s\n" % os.environ["PMI_ID"])
                need(self.line().startswith("cmd=initack"), "initack")
                for name in "size", "rank", "debug":
                    need(self.line().startswith("cmd=set " + name), name)
        if version:
            self.init(version)
        if version == 2:
            self.full = self.ask("cmd=fullinit;%s=%d;threaded=FALSE;" % (identity, rank))
            need(self.full["rc"] == "0", "fullinit", self.full)
            need(int(self.full["rank"]) == rank and int(self.full["size"]) == size, self.full)

    def init(self, version):
        sub = 1 if version == 1 else 0
        self.send("cmd=init pmi_version=%d pmi_subversion=%d\n" % (version, sub))
        reply = self.line()
        need("cmd=response_to_init " in reply and " rc=0" in reply, "init", reply)
        need(" pmi_version=%d" % version in reply, reply)

    # --- bytes

    def send(self, data):
        data = data.encode() if isinstance(data, str) else data
        while data:
            data = data[os.write(self.fd, data):]

    def read(self, n):
        while len(self.seen) < n:
            data = os.read(self.fd, 65536)
            if not data:
                raise Ended(self.seen)
            self.seen += data
        data, self.seen = self.seen[:n], self.seen[n:]
        return data

    def rest(self):
        """All bytes until the server closes."""
        data = b""
        try:
            while True:
                data += self.read(1)
        except (Ended, ConnectionError):
            return data

    def line(self):
        data = b""
        while not data.endswith(b"\n"):
            data += self.read(1)
        return data[:-1].decode()

    def frame(self):
        return self.read(int(self.read(6))).decode("utf-8", "surrogateescape")

    # --- messages

    def message(self, text):
        data = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
        return data + b"\n" if self.version == 1 else b"%6d" % len(data) + data

    def reply(self):
        if self.version == 1:
            text, reply = self.line(), {}
            for key in "value", "port":          # these run to the end of the line
                text, found, value = text.partition(" %s=" % key)
                if found:
                    reply[key] = value
            reply.update(w.partition("=")[::2] for w in text.split())
            return reply
        text = self.frame()
        need(text.endswith(";"), "a message ends with ';'", text)
        return dict(w.replace("\0", ";").partition("=")[::2]
                    for w in text.replace(";;", "\0").split(";") if w)

    def ask(self, text):
        self.send(self.message(text))
        return self.reply()

    # --- the common commands

    def kvsname(self):
        return self.ask("cmd=get_my_kvsname")["kvsname"]

    def jobid(self):
        return self.kvsname() if self.version == 1 else self.ask("cmd=job-getid;")["jobid"]

    def put(self, key, value):
        if self.version == 1:
            r = self.ask("cmd=put kvsname=%s key=%s value=%s" % (self.kvsname(), key, value))
        else:
            r = self.ask("cmd=kvs-put;key=%s;value=%s;" % (key, value.replace(";", ";;")))
        need(r["rc"] == "0", "put", key, r)

    def fence(self):
        r = self.ask("cmd=barrier_in" if self.version == 1 else "cmd=kvs-fence;")
        need(r["rc"] == "0", "fence", r)

    def get(self, key):
        if self.version == 1:
            r = self.ask("cmd=get kvsname=%s key=%s" % (self.kvsname(), key))
        else:
            r = self.ask("cmd=kvs-get;jobid=;srcid=-1;key=%s;" % key)
        return r.get("value")

    def appnum(self):
        return int(self.ask("cmd=get_appnum")["appnum"] if self.version == 1
                   else self.full["appnum"])

    def finalize(self):
        r = self.ask("cmd=finalize" if self.version == 1 else "cmd=finalize;")
        need(r["rc"] == "0", "finalize", r)

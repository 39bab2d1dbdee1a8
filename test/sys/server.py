#!/usr/bin/env python3
"""server.py - the resident server: names beyond one launcher, its users, its end."""

import contextlib
import re
import socket
import pwd

from lib import *

SERVER = os.path.join(B, "bin", "pmi2_server")
PYTHON = os.path.realpath(sys.executable)
OTHER = 65534        # uid of the second user
NOT_ROOT = os.geteuid() != 0


class Line:
    """A raw connection to the server: requests without their id, replies as dicts."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(LIMIT)
        self.socket.connect(path)
        self.seen, self.number = b"", 0

    def send(self, text):
        self.number += 1
        cmd, _, rest = text.partition(";")
        body = f"cmd={cmd};id={self.number};{rest}".encode()
        self.socket.sendall(b"%6d" % len(body) + body)
        return self.number

    def read(self, n):
        while len(self.seen) < n:
            data = self.socket.recv(65536)
            if not data:
                raise EOFError
            self.seen += data
        data, self.seen = self.seen[:n], self.seen[n:]
        return data

    def reply(self):
        text = self.read(int(self.read(6))).decode()
        return dict(w.replace("\0", ";").partition("=")[::2]
                    for w in text.replace(";;", "\0").split(";") if w)

    def ask(self, text):
        number = self.send(text)
        r = self.reply()
        same(r["id"], str(number), "the reply's number")
        return r

    def good(self, text):
        r = self.ask(text)
        same(r["rc"], "0", f"{text}: {r}")
        return r

    def names(self):
        return listed(self, "list-names", "name")

    def jobs(self):
        return listed(self, "list-jobs", "job")


def listed(line, cmd, key):
    rows, after = [], 0
    while True:
        r = line.good(f"{cmd};after={after};")
        n = int(r["n"])
        rows += [r[f"{key}{i}"] for i in range(n)]
        if r["more"] == "0":
            return rows
        after = r[f"serial{n - 1}"]


class Server:
    """A server with a folder of its own; it is killed with the test."""

    def __init__(self, *words, folder=None, uid=None, prefix=()):
        self.folder = folder or tempfile.mkdtemp(dir=tmp())
        os.chmod(tmp(), 0o755)
        os.chmod(self.folder, 0o755)
        self.path, self.state = self.folder + "/socket", self.folder + "/state"
        if uid is not None:
            os.chown(self.folder, uid, -1)
        self.words, self.mark, self.uid, self.prefix = words, new_mark(), uid, prefix
        self.start()

    def start(self):
        self.errors = open(self.folder + "/errors", "ab+")
        self.popen = subprocess.Popen(
            [*self.prefix, SERVER, "--socket", self.path, "--state", self.state, "--verbose", *self.words],
            stdin=subprocess.DEVNULL, stderr=self.errors, env=environment(self.mark),
            **({} if self.uid is None else {"user": self.uid}))
        wait_for(self.is_up, "the server listens")

    def is_up(self):
        need(self.popen.poll() is None, "the server has ended", self.text())
        with contextlib.suppress(OSError, EOFError):
            return Line(self.path).good("ping;")

    def text(self):
        with open(self.folder + "/errors", errors="replace") as f:
            return f.read()

    def stop(self, signo):
        self.popen.send_signal(signo)
        self.popen.wait(LIMIT)

    def line(self):
        return Line(self.path)

    def options(self):
        return ["-nameserver", self.path]


def command(*words, prefix=(), **more):
    """pmi2_server with these words: (status, stdout, stderr)."""
    r = subprocess.run([*prefix, SERVER, *words], stdin=subprocess.DEVNULL, capture_output=True,
                       text=True, timeout=LIMIT, env=environment(new_mark()), **more)
    return r.returncode, r.stdout, r.stderr


def as_other(path, code):
    """Run this code as the second user, with a Line c to the server; what it prints."""
    # The class is sent as text: the tests' own folder may be closed to others.
    import inspect
    text = "\n".join(["import socket, sys, os", f"LIMIT = {LIMIT}",
                      "def same(a, b, what):\n    assert a == b, (a, b, what)",
                      inspect.getsource(Line), inspect.getsource(listed),
                      f"c = Line({path!r})", code])
    r = subprocess.run([PYTHON if can_run() else "/usr/bin/python3", "-S", "-B", "-c", text],
                       user=OTHER, group=OTHER, extra_groups=[], capture_output=True, text=True,
                       timeout=LIMIT, cwd="/", env={"PATH": "/usr/bin:/bin"})
    need(r.returncode == 0, "the second user's program failed", r.stderr)
    return r.stdout.split("\n")[:-1]


def can_run():
    """Whether the second user can run our python (it may be in somebody's home)."""
    with contextlib.suppress(PermissionError):
        return subprocess.run([PYTHON, "-S", "-c", ""], user=OTHER,
                              capture_output=True).returncode == 0
    return False


def skip_unless_root(function):
    def run_it():
        if NOT_ROOT:
            raise Skip("root is needed")
        function()
    return run_it


# --- two launchers --------------------------------------------------------------

def hold(server, name, port, *options):
    """A launcher of an MPI program that publishes, until its stdin ends."""
    job = Job(*(options or server.options()), "-n", 1, prog("mpi_names"), "hold", name, port,
              stdin=subprocess.PIPE)
    job.wait_text("published")
    return job


def release(job):
    job.popen.stdin.close()
    same(job.finish().status, 0, "the holder's status")


def mpi(server, *words):
    return good(*server.options(), "-n", 1, prog("mpi_names"), *words).lines


@test("MPI programs of two launchers: publish, look up, refuse, and the end of the owner")
def _():
    s = Server()
    job = hold(s, "ocean", "port1$x")
    same(mpi(s, "look", "ocean"), ["port1$x"], "lookup by another launcher")
    same(mpi(s, "look", "atmosphere"), ["not found"], "what was not published")
    again = Job(*s.options(), "-n", 1, prog("mpi_names"), "hold", "ocean", "other").finish()
    same(again.lines, ["refused"], "a duplicate")
    same(mpi(s, "take", "ocean"), ["refused"], "taking back what a running job has published")
    same(mpi(s, "look", "ocean"), ["port1$x"], "lookup after that")
    release(job)
    same(mpi(s, "look", "ocean"), ["not found"], "lookup when its job has ended")


SERVE = """
    import socket
    l = socket.socket(); l.bind(("127.0.0.1", 0)); l.listen()
    c = Client(2)
    if rank == 0:
        r = c.ask("cmd=name-publish;name=tcp;port=127.0.0.1:%d;" % l.getsockname()[1])
        need(r["rc"] == "0", r)
        s, _ = l.accept()
        s.sendall(b"hello")
        say(s.recv(100).decode())
        need(c.ask("cmd=name-unpublish;name=tcp;")["rc"] == "0")
    c.fence(); c.finalize()
"""
CALL = """
    import socket
    c = Client(2)
    if rank == 0:
        r = c.ask("cmd=name-lookup;name=tcp;infokeycount=1;infokey0=wait;infoval0=TRUE;")
        need(r["found"] == "TRUE", r)
        host, _, port = r["port"].partition(":")
        s = socket.create_connection((host, int(port)))
        say(s.recv(100).decode())
        s.sendall(b"and hello")
    c.fence(); c.finalize()
"""


@test("two launchers find each other and connect, whoever comes first")
def _():
    s = Server()
    caller = Job(*s.options(), "-n", 2, *py(CALL))
    time.sleep(0.3)
    r = good(*s.options(), "-n", 3, *py(SERVE))
    same(r.lines, ["and hello"], "what the server heard")
    same(caller.finish().lines, ["hello"], "what the caller heard")
    same(s.line().names(), [], "names that are left")


@test("ranks of other hosts publish and look up by way of their launcher")
def _():
    s = Server()
    code = """
        c = Client(2)
        if rank == 1:
            r = c.ask("cmd=name-publish;name=far;port=p;;1;range=user;")
            need(r["rc"] == "0", r)
            say("published")
            sys.stdin.read()
            need(c.ask("cmd=name-unpublish;name=nothing;")["errmsg"] == "service_not_found")
        c.fence(); c.finalize()
    """
    job = Job(*s.options(), "-launcher", "fork", "-hosts", "a,b", "-stdin", 1, "-n", 2,
              *py(code), stdin=subprocess.PIPE)
    job.wait_text("published")
    look = """
        c = Client(2)
        r = c.ask("cmd=name-lookup;name=far;timeout=20;")
        say(rank, r["found"], r["port"])
        c.fence(); c.finalize()
    """
    r = good(*s.options(), "-launcher", "fork", "-hosts", "a,b", "-n", 2, *py(look))
    same(sorted(r.lines), ["0 TRUE p;1", "1 TRUE p;1"], "what both hosts found")
    release(job)


@test("ranges and persistence")
def _():
    s = Server()
    code = """
        c = Client(2)
        for text in ("name=j;range=job;", "name=u;", "name=n;range=node;",
                     "name=i;infokeycount=2;infokey0=persistence;infoval0=indefinite;infokey1=x;"
                     "infoval1=y;", "name=f;persistence=first-read;",
                     "name=k;range=job;persistence=indefinite;"):
            r = c.ask("cmd=name-publish;port=p;" + text)
            need(r["rc"] == "0", text, r)
        r = c.ask("cmd=name-publish;port=p;name=z;range=galaxy;")
        need(r["rc"] != "0" and "job, user or node" in r["errmsg"], r)
        need(c.ask("cmd=name-lookup;name=j;")["found"] == "TRUE")
        say("published")
        sys.stdin.read()
        c.finalize()
    """
    job = Job(*s.options(), "-n", 1, *py(code), stdin=subprocess.PIPE)
    job.wait_text("published")
    look = """
        c = Client(2)
        say(*(n for n in "junifk" if c.ask("cmd=name-lookup;name=%s;" % n)["found"] == "TRUE"))
        say(c.ask("cmd=name-lookup;name=f;")["found"])
        c.finalize()
    """
    same(good(*s.options(), "-n", 1, *py(look)).lines, ["u n i f", "FALSE"],
         "what another job sees, and what is read once")
    release(job)
    wait_for(lambda: s.line().names() == ["i"], "what stays after the job's end")


@test("a lookup waits, with and without a time-out, and in one launcher alone")
def _():
    s = Server()
    code = """
        import time
        c = Client(2)
        if rank == 0:
            t = time.monotonic()
            r = c.ask("cmd=name-lookup;name=w;wait=TRUE;timeout=1;")
            need(r["found"] == "FALSE" and 0.9 < time.monotonic() - t < 20, r)
        c.fence()
        if rank == 0:
            r = c.ask("cmd=name-lookup;name=w;timeout=40;")
            need(r["found"] == "TRUE" and r["value"] == "p", r)
        else:
            time.sleep(0.3)
            need(c.ask("cmd=name-publish;name=w;port=p;")["rc"] == "0")
        c.fence(); c.finalize()
        say("good")
    """
    for where in s.options(), ["-nameserver", "none"], ["-nameserver", "none", "-launcher",
                                                        "fork", "-hosts", "a,b"]:
        same(good(*where, "-n", 2, *py(code)).lines, ["good", "good"], where)


# --- lists ----------------------------------------------------------------------

@test("--list shows names and jobs, --unpublish takes a name back")
def _():
    s = Server()
    status, out, err = command("--list", "--socket", s.path)
    same((status, out, err), (0, "no names\n\nno jobs\n", ""), "a list of nothing")
    job = hold(s, "ocean", "here")
    status, out, err = command("--list", "--socket", s.path)
    user = pwd.getpwuid(os.geteuid()).pw_name
    need(status == 0 and "ocean " in out and " here\n" in out and user in out and
         "mpi_names hold ocean here" in out and f" {job.pid} " in out and HOST in out,
         "a list of one name and one job", out, err)
    same(command("--unpublish", "ocean", "--socket", s.path), (0, "", ""), "taking back")
    status, out, err = command("--unpublish", "ocean", "--socket", s.path)
    same((status, err), (1, "pmi2_server: service_not_found\n"), "taking back again")
    release(job)
    wait_for(lambda: s.line().jobs() == [], "the job is off the list")


@test("long lists come in pages")
def _():
    s = Server()
    c = s.line()
    for i in range(200):
        c.send(f"name-publish;name=n{i};port={'p' * 1000};persistence=indefinite;")
    for i in range(200):
        same(c.reply()["rc"], "0", "a publish")
    same(c.names(), [f"n{i}" for i in range(200)], "the pages together")
    same(command("--list", "--socket", s.path)[1].count("\n"), 203, "lines")


# --- the server's own life --------------------------------------------------------

@test("a second start is refused; after SIGTERM nothing is left but the names")
def _():
    s = Server()
    status, _, err = command("--socket", s.path, "--state", s.state)
    need(status == 1 and f"runs already, process {s.popen.pid}" in err, "a second start", err)
    status, _, err = command("--socket", s.folder + "/other", "--state", s.state)
    need(status == 1 and "locked" in err, "the same state folder", err)
    s.line().good("name-publish;name=n;port=p;persistence=indefinite;")
    s.stop(signal.SIGTERM)
    same(s.popen.returncode, 0, "its status")
    need(not os.path.exists(s.path), "the socket is still there")
    status, _, err = command("--list", "--socket", s.path)
    need(status == 1 and "No such file" in err, "a list without a server", err)
    s.start()
    same(s.line().names(), ["n"], "names of the next one")


@test("folders that others can write to, or that are not ours, are refused")
def _():
    where = ["--socket", tmp() + "/socket", "--state"]
    os.mkdir(tmp() + "/open", 0o777)
    os.chmod(tmp() + "/open", 0o777)
    os.symlink(tmp(), tmp() + "/link")
    for path, text in (tmp() + "/open", "mode 0777"), (tmp() + "/link", "no folder"), \
                      (tmp() + "/no/where", "cannot make"), ("relative", "path from /"):
        status, _, err = command(*where, path)
        need(status in (1, 2) and text in err, path, err)
    if not NOT_ROOT:
        os.mkdir(tmp() + "/his", 0o700)
        os.chown(tmp() + "/his", OTHER, -1)
        status, _, err = command(*where, tmp() + "/his")
        need(status == 1 and f"belongs to uid {OTHER}" in err, "another's folder", err)


@test("a file that is no socket is not taken away for it")
def _():
    path = write_file(tmp() + "/socket", "precious")
    status, _, err = command("--socket", path, "--state", tmp() + "/state")
    need(status == 1 and "is no socket" in err, "refused", err)
    with open(path) as f:
        same(f.read(), "precious", "the file")


@test("systemd takes the units as they are installed, and the addition of the manual")
def _():
    if not shutil.which("systemd-analyze"):
        raise Skip("no systemd-analyze")
    source = os.path.join(ROOT, "mpiexec_lite", "pmi2_server.")
    with open(source + "1") as f:
        text = f.read()
    more = text[text.index("systemctl edit pmi2_server"):]
    more = more[more.index("[Unit]"):more.index(".Ed")]
    for kind in "system", "user":
        folder = os.path.join(tmp(), kind)
        os.makedirs(folder + "/pmi2_server.service.d", mode=0o700)
        with open(f"{source}{kind}.service") as f:
            unit = f.read().replace("@BINDIR@", os.path.dirname(SERVER))
        write_file(folder + "/pmi2_server.service", unit)
        if kind == "system":
            write_file(folder + "/pmi2_server.service.d/listen.conf",
                       more.replace("/usr/local/bin", os.path.dirname(SERVER)))
        r = subprocess.run(["systemd-analyze", "--" + kind, "--man=no", "verify",
                            folder + "/pmi2_server.service"], capture_output=True, text=True,
                           env=environment(new_mark(), {"XDG_RUNTIME_DIR": folder}))
        same((r.returncode, r.stdout, r.stderr), (0, "", ""), kind)


@test("wrong words end with 2, --help and --version with 0")
def _():
    for words, status in (["--wat"], 2), (["--socket"], 2), (["--owner", "x"], 2), \
                         (["--listen"], 2), (["--munge-socket", "/x"], 2), \
                         (["--help"], 0), (["--version"], 0):
        same(command(*words)[0], status, words)


STORM = 4


@test("SIGKILL during a storm of publishing: every acknowledged name is there again")
def _():
    s = Server()
    acknowledged, taken, lock = set(), set(), threading.Lock()

    def publish(who, life):
        """Until the server is gone; every third is taken back at once."""
        with contextlib.suppress(OSError, EOFError):
            c = s.line()
            for i in range(10 ** 6):
                name = f"{life}.{who}.{i}"
                c.send(f"name-publish;name={name};port=p{name};persistence=indefinite;")
                if c.reply()["rc"] != "0":
                    return
                with lock:
                    acknowledged.add(name)
                if i % 3 == 0:
                    with lock:
                        acknowledged.discard(name)
                    c.send(f"name-unpublish;name={name};")
                    if c.reply()["rc"] != "0":
                        return
                    with lock:
                        taken.add(name)

    for life in range(STORM):
        threads = [threading.Thread(target=publish, args=(w, life)) for w in range(4)]
        for t in threads:
            t.start()
        wait_for(lambda: sum(n.startswith(f"{life}.") for n in list(acknowledged)) > 40,
                 "the storm blows")
        time.sleep(0.05 * life)
        s.stop(signal.SIGKILL)
        for t in threads:
            t.join(LIMIT)
        s.start()
        there = set(s.line().names())
        need(acknowledged <= there, "acknowledged names are lost", sorted(acknowledged - there))
        need(not taken & there, "names that were taken back are there", sorted(taken & there))


@test("a job's names and the job come back after SIGKILL, and go with the job")
def _():
    s = Server()
    job = hold(s, "ocean", "here")
    s.stop(signal.SIGKILL)
    s.start()
    wait_for(lambda: len(s.line().jobs()) == 1, "the job has come back")
    same(s.line().names(), ["ocean"], "its names")
    same(mpi(s, "look", "ocean"), ["here"], "lookup after the restart")
    job.popen.stdin.close()
    r = job.finish()
    need(r.status == 0 and any("name server is lost" in m for m in r.messages) and
         any("is there again" in m for m in r.messages), "what was told", r)
    wait_for(lambda: s.line().names() == [], "the name has gone with its job")


@test("names of a job whose launcher was killed are gone")
def _():
    s = Server()
    job = hold(s, "ocean", "here")
    job.kill(signal.SIGKILL)
    wait_for(lambda: s.line().names() == [] and s.line().jobs() == [], "they are gone")
    job.finish(clean=False)
    nothing_left(job.mark)


def ask_in_trouble(s, cmd, signo):
    """A rank asks while the server is killed or stopped: (seconds, reply)."""
    code = """
        import time
        c = Client(2)
        say("ready")
        sys.stdin.readline()
        t = time.monotonic()
        r = c.ask("cmd=%s;")
        say(int(time.monotonic() - t), r["rc"], r["errmsg"])
        c.finalize()
    """ % cmd.replace(";", ";")
    job = Job(*s.options(), "-n", 1, *py(code), stdin=subprocess.PIPE)
    job.wait_text("ready")
    s.popen.send_signal(signo)
    job.popen.stdin.write(b"\n")
    job.popen.stdin.flush()
    r = job.finish()
    same(r.status, 0, f"the rank's status: {r}")
    seconds, rc, text = r.lines[1].split(" ", 2)
    need(int(seconds) < 25 and rc != "0", "an error in time", r)
    return text


@rows([
    ("publish, and the server is killed", "name-publish;name=a;port=b", signal.SIGKILL, "not there"),
    ("publish, and the server is stopped", "name-publish;name=a;port=b", signal.SIGSTOP,
     "does not answer"),
    ("a lookup that waits, and the server is killed", "name-lookup;name=a;wait=TRUE",
     signal.SIGKILL, "not there"),
    ("a lookup that waits, and the server is stopped", "name-lookup;name=a;wait=TRUE",
     signal.SIGSTOP, "name server"),
])
def _(cmd, signo, text):
    s = Server()
    seen = ask_in_trouble(s, cmd, signo)
    need(text in seen or "lost before" in seen, f"{text!r} wanted", seen)
    s.popen.send_signal(signal.SIGCONT)


@test("-nameserver: a server that is not there, auto, and what it may be")
def _():
    r = run("-nameserver", tmp() + "/no", "-n", 1, "true")
    need(r.status == 255 and "No such file" in r.err.decode(), "a path without a server", r)
    r = run("-nameserver", "no-path", "-n", 1, "true")
    need(r.status == 2 and "auto, start, none" in r.err.decode(), "no path", r)
    os.chmod(tmp(), 0o700)
    folder = tmp() + "/pmi2_server"
    os.mkdir(folder, 0o700)
    env = {"XDG_RUNTIME_DIR": tmp()}
    s = Server(folder=folder)
    os.chmod(tmp(), 0o700)
    job = Job("-n", 1, prog("mpi_names"), "hold", "auto", "here", env=env, stdin=subprocess.PIPE)
    job.wait_text("published")
    same(s.line().names(), ["auto"], "found by itself")
    release(job)
    s.stop(signal.SIGKILL)               # its socket stays: names stay in the launcher
    same(good("-n", 1, prog("mpi_names"), "look", "auto", env=env).lines, ["not found"], "auto")


@test("-nameserver start: the server stays when the job has ended")
def _():
    os.chmod(tmp(), 0o700)
    env = {"XDG_RUNTIME_DIR": tmp(), "STATE_DIRECTORY": tmp() + "/state"}
    code = 'c = Client(2); need(c.ask("cmd=name-publish;name=s;port=p;%s")["rc"] == "0"); c.finalize()'
    good("-nameserver", "start", "-n", 1, *py(code % "persistence=indefinite;"), env=env)
    path = tmp() + "/pmi2_server/socket"
    with open(path + ".lock") as f:
        pid = int(f.read())
    try:
        same(Line(path).names(), ["s"], "its names")
        good("-nameserver", "start", "-n", 1, *py(code % "range=node;"), env=env)
        with open(path + ".lock") as f:
            same(int(f.read()), pid, "the same server")
    finally:
        os.kill(pid, signal.SIGTERM)
        wait_for(lambda: not os.path.exists(path), "it ends")


# --- strangers --------------------------------------------------------------------

@test("what cannot be understood ends its own connection only")
def _():
    s = Server()
    c = s.line()
    for junk in b"junk junk junk", b"%6d" % 65537, b"    12cmd=ping;id=x", b"    10cmd=wat;id", \
            b"     9cmd=ping;":
        bad = s.line()
        bad.socket.sendall(junk + b"\0" * 20)
        with contextlib.suppress(OSError, EOFError):
            while True:
                bad.read(1)
        c.good("ping;")
    flood = s.line()
    for i in range(30):
        flood.good(f"name-publish;name={i}{'n' * 1000};port={';' * 800};persistence=indefinite;")
    with contextlib.suppress(OSError, EOFError):
        for _ in range(3000):
            flood.send("list-names;")
        while True:
            flood.reply()
    c.good("ping;")


@test("connections beyond the descriptors there are: refused, and the others are served")
def _():
    status, _, err = command("--socket", tmp() + "/s", "--state", tmp() + "/state",
                             prefix=("prlimit", "--nofile=20"))
    need(status == 1 and "descriptors" in err, "far too few of them", err)
    s = Server(prefix=("prlimit", "--nofile=64"))
    first, many = s.line(), []
    first.good("ping;")
    for _ in range(100):
        many.append(s.line())
    served = 0
    for c in many:
        with contextlib.suppress(OSError, EOFError):
            c.good("ping;")
            served += 1
    need(10 <= served < 64, "some of them are served", served)
    first.good("name-publish;name=n;port=p;persistence=indefinite;")
    for c in many:
        c.socket.close()
    wait_for(s.is_up, "there is room again")


@test("who asks on many connections and does not read: his memory is bounded")
def _():
    s = Server()
    c = s.line()
    for i in range(64):
        c.good(f"name-publish;name=n{i};port={'p' * 1000};persistence=indefinite;")
    many = [s.line() for _ in range(400)]
    for m in many:
        with contextlib.suppress(OSError):
            for _ in range(6):
                m.send("list-names;")
    wait_for(lambda: "too much waits to be read" in s.text(), "somebody is refused")
    c.good("ping;")
    peak = int(re.search(rb"VmHWM:\s*(\d+)", proc_bytes(s.popen.pid, "status"))[1])
    need("asan" in B or peak < 160 << 10, "memory, KiB", peak)
    for m in many:
        m.socket.close()
    same(len(s.line().names()), 64, "names")


@test("a full disk: publish is refused, what was there stays, and it goes on later")
@skip_unless_root
def _():
    folder = tmp() + "/small"
    os.mkdir(folder, 0o755)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=160k,mode=755", "tmpfs", folder],
                      capture_output=True).returncode:
        raise Skip("mount is not allowed")
    try:
        s = Server(folder=folder)
        c, n = s.line(), 0
        while (r := c.ask(f"name-publish;name=n{n};port={'p' * 1000};persistence=indefinite;"))["rc"] \
                == "0":
            n += 1
            need(n < 1000, "the disk is never full")
        need("cannot be stored" in r["errmsg"], "the refusal", r)
        same(c.names(), [f"n{i}" for i in range(n)], "what is known")
        s.stop(signal.SIGKILL)
        subprocess.run(["mount", "-o", "remount,size=1m", folder], check=True)
        s.start()
        c = s.line()
        same(c.names(), [f"n{i}" for i in range(n)], "what is there again")
        c.good("name-publish;name=more;port=p;persistence=indefinite;")
        s.stop(signal.SIGKILL)
    finally:
        subprocess.run(["umount", "-l", folder], check=False)


# --- two users --------------------------------------------------------------------

@test("two users of the system's server: nobody reads, takes or ends what is the other's")
@skip_unless_root
def _():
    s = Server("--system")
    c = s.line()
    same(os.stat(s.path).st_mode & 0o777, 0o666, "the mode of its socket")
    for text in "job;job=mine;pid=1;size=1;host=h;command=secret;", \
                "name-publish;name=u;port=p;job=mine;", \
                "name-publish;name=j;port=p;job=mine;range=job;", \
                "name-publish;name=n;port=p;job=mine;range=node;":
        c.good(text)
    out = as_other(s.path, """
print(c.good("hello;version=1;")["uid"])
c.good("job;job=his;pid=1;size=1;host=h;command=x;")
def rc(text):
    r = c.ask(text)
    return r.get("errmsg", r.get("value", "miss" if "miss" in r else "ok"))
print(c.names(), c.jobs())
for text in ("name-lookup;name=u;", "name-lookup;name=u;job=his;", "name-lookup;name=u;job=mine;",
             "name-lookup;name=j;job=mine;", "name-lookup;name=n;",
             "name-unpublish;name=u;", "name-unpublish;name=u;owner=0;", "name-unpublish;name=n;",
             "name-unpublish;name=n;owner=0;", "name-unpublish;name=n;job=mine;",
             "job-end;job=mine;", "name-publish;name=n;port=p;job=his;range=node;",
             "name-publish;name=u;port=q;job=his;", "name-lookup;name=u;",
             "job;job=mine;pid=1;size=1;host=h;command=x;",
             "name-publish;name=j;port=q;job=mine;range=job;"):
    print(rc(text))
""")
    same(out, [str(OTHER), "['n'] ['his']", "miss", "miss", "no job mine of yours runs",
               "no job mine of yours runs", "p", "service_not_found", "service_not_found",
               "service n belongs to another user", "service_not_found",
               "no job mine of yours runs", "ok", "service n is published already", "ok", "q",
               "ok", "ok"], "what the second user can do")
    wait_for(lambda: c.names() == ["u", "j", "n"], "the first user's names alone", 5)
    same(c.jobs(), ["mine"], "the first user's jobs")
    same(c.good("name-lookup;name=j;job=mine;")["value"], "p", "and their ports")
    need("value" not in c.good("name-lookup;name=u2;"), "no names of the second")


@test("kill, spawn and whatever else: no command of the server does it")
@skip_unless_root
def _():
    s = Server("--system")
    job = hold(s, "ocean", "here")
    for text in "kill;job=x;signal=9;", "spawn;job=x;", "connect;job=x;", "job-connect;jobid=x;", \
                "open;path=/etc/shadow;", "kvs-get;key=x;":
        out = as_other(s.path, f"""
try:
    print(c.ask({text!r}))
except (EOFError, OSError):
    print("closed")
""")
        same(out, ["closed"], text)
    out = as_other(s.path, f"""
for pid in {[job.pid, job.root()]}:
    try:
        os.kill(pid, 0); print("signalled")
    except PermissionError:
        print("not permitted")
    for name in "environ", "fd", "mem":
        try:
            os.listdir(f"/proc/{{pid}}/{{name}}") if name == "fd" else open(f"/proc/{{pid}}/{{name}}")
            print("opened", name)
        except PermissionError:
            pass
""")
    same(out, ["not permitted"] * 2, "the launcher of the other user")
    same(mpi(s, "look", "ocean"), ["here"], "the job goes on")
    release(job)


@test("the system's server with a launcher of each of two users")
@skip_unless_root
def _():
    if subprocess.run([LAUNCHER, "-n", "1", "true"], user=OTHER, capture_output=True,
                      cwd="/").returncode:
        raise Skip("the second user cannot run the launcher")
    s = Server("--system")
    job = hold(s, "ocean", "root's")
    program = shutil.copy(prog("mpi_names"), tmp())
    os.chmod(program, 0o755)
    env = {"PATH": "/usr/bin:/bin", "HOME": "/", "TMPDIR": "/tmp"}

    def his(*words, **more):
        return Job(*s.options(), "-n", 1, program, *words, user=OTHER, group=OTHER, cwd="/",
                   extra_groups=[], env=env, **more)
    same(his("look", "ocean").finish().lines, ["not found"], "lookup by the other user")
    same(his("take", "ocean").finish().lines, ["refused"], "taking back by the other user")
    other = his("hold", "ocean", "his", stdin=subprocess.PIPE)
    other.wait_text("published")
    same(his("look", "ocean").finish().lines, ["his"], "his own name")
    same(mpi(s, "look", "ocean"), ["root's"], "root's own name")
    out = command("--list", "--socket", s.path)[1]
    need(out.count("ocean") == 4, "root sees both names and jobs", out)
    out = command("--list", "--socket", s.path, user=OTHER)[1]
    need(out.count("ocean") == 2 and "root's" not in out, "he sees his own only", out)
    name = pwd.getpwuid(OTHER).pw_name
    same(command("--unpublish", "ocean", "--owner", "root", "--socket", s.path, user=OTHER)[0], 1,
         "he takes back root's name")
    same(command("--unpublish", "ocean", "--owner", name, "--socket", s.path)[0], 0,
         "root takes back his name")
    release(other)
    release(job)


@test("a user's server is for him and root; and whose server it is, is checked")
@skip_unless_root
def _():
    mine = Server()
    os.chmod(mine.path, 0o777)           # only the kernel's word counts then
    out = as_other(mine.path, """
try:
    print(c.ask("ping;"))
except (EOFError, OSError):
    print("closed")
""")
    same(out, ["closed"], "another user at root's own server")
    his = Server(uid=OTHER)
    his.line().good("ping;")             # root may
    os.chown(mine.folder, OTHER, -1)
    r = subprocess.run([LAUNCHER, "-nameserver", his.path, "-n", "1", "true"], user=1,
                       capture_output=True, text=True, cwd="/")
    need(r.returncode == 255, "a third user's launcher at the second one's server", r.stderr)
    # What another has put where ours would be is not used.
    folder = tmp() + "/run"
    os.mkdir(folder, 0o700)
    os.mkdir(folder + "/pmi2_server", 0o700)
    os.chown(folder + "/pmi2_server", OTHER, -1)
    trap = socket.socket(socket.AF_UNIX)
    trap.bind(folder + "/pmi2_server/socket")
    trap.listen()
    trap.settimeout(0.2)
    good("-n", 1, "true", env={"XDG_RUNTIME_DIR": folder})
    with contextlib.suppress(socket.timeout):
        trap.accept()
        raise Wrong("the launcher has called another user's socket")


if __name__ == "__main__":
    main()

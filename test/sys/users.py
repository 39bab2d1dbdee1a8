#!/usr/bin/env -S python3 -B
"""Two users on one node, root and another, and two others: what one can do to the job of the
other, which is nothing.

Each attack is made by the job's own user as well, where it must work: so it is known to be
one.  Root's own processes may do what the kernel lets root do: what they are refused here is
what our programs decide."""

import atexit
import json
import re
import socket
import stat as modes

import lib
from lib import *

lib_tests, lib._tests = lib._tests, []
import server                                           # noqa: E402

lib._tests = lib_tests                                  # not those of server.py
A, B_USER = 61001, 61002         # two users of no machine
SECRET = "swordfish"
PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable


def shared_folder():
    """Copies of all that is run, which every user can run."""
    folder = tempfile.mkdtemp(prefix="mpx-users-")
    os.chmod(folder, 0o755)
    atexit.register(shutil.rmtree, folder)
    for path in (LAUNCHER, os.path.join(B, "bin", "pmi2_proxy"), server.SERVER,
                 os.path.join(B, "bin", "pmix_tool"), os.path.join(SYS, "rawpmi.py")):
        os.chmod(shutil.copy(path, folder), 0o755)
    return folder


def as_user(uid):
    """What Popen needs to start a program as this user."""
    return {"user": uid, "group": uid, "extra_groups": [], "cwd": "/"}


def points(name, table):
    """Decorator: a point for each pair of users; the function gets their ids first."""
    def add(function):
        for who, owner, other in table:
            def run_it(owner=owner, other=other):
                if os.geteuid():
                    raise Skip("root is needed")
                os.chmod(tmp(), 0o755)
                function(owner, other)
            test(f"{name}: {who}")(run_it)
        return function
    return add


ROOTS, USERS = ("root's, and a user", 0, B_USER), ("a user's, and another", A, B_USER)
UPWARDS = ("a user's, and root", A, 0)


# --- a job, and what is tried ---------------------------------------------------------

def rank(code, *args):
    """The words of a rank that every user can run."""
    return [PYTHON, "-S", "-B", "-c", f"import sys; sys.path.insert(0, {FOLDER!r})\n"
            "from rawpmi import *\nSECRET = os.environ['MY_SECRET']\n" + dedent(code), *map(str, args)]


def dedent(code):
    lines = code.strip("\n").splitlines()
    indent = min((len(x) - len(x.lstrip()) for x in lines if x.strip()), default=0)
    return "\n".join(x[indent:] for x in lines)


def start(uid, *words, **more):
    return Job(*words, env={"MY_SECRET": SECRET, "HOME": "/", "TMPDIR": "/tmp"},
               without=("XDG_RUNTIME_DIR",), **as_user(uid), **more)


VICTIM = """
    c = Client(2)
    c.put("secret-%d" % rank, SECRET)
    c.fence()
    if rank == 0:
        need(c.ask("cmd=name-publish;name=door;port=%s;" % SECRET)["rc"] == "0", "publish")
        say("job", c.jobid())
        sys.stdin.readline()
    c.fence()
    need(c.get("secret-%d" % (1 - rank)) == SECRET, "the other's value")
    need(c.ask("cmd=name-lookup;name=door;")["port"] == SECRET, "the name")
    c.finalize()
    say("intact")
"""


class Victim:
    """A job of two ranks that has secrets, until intact() lets it go on and end."""

    def __init__(self, uid, *options):
        self.job = start(uid, *options, "-n", 2, *rank(VICTIM), stdin=subprocess.PIPE)
        self.job.wait_text("job ")
        self.id = self.job.text().decode().split()[1]

    def processes(self):
        return left(self.job.mark)

    def intact(self):
        self.job.popen.stdin.write(b"\n")
        self.job.popen.stdin.close()
        r = self.job.finish()
        same((r.status, r.messages, r.lines), (0, [], [f"job {self.id}"] + ["intact"] * 2),
             f"end of {r}")


def attack(uid, code, *args):
    """Run this code as that user; the lines that it prints."""
    r = subprocess.run([PYTHON, "-S", "-B", "-c", dedent(code), *map(str, args)],
                       stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT,
                       env={"PATH": "/usr/bin:/bin"}, **as_user(uid))
    need(r.returncode == 0, "the attack itself failed", r.stderr)
    return r.stdout.splitlines()


# --- processes ------------------------------------------------------------------------

TOUCH = """
    import ctypes, errno, os, signal, sys
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    ATTACH, DETACH, GETFD = 16, 17, 438

    def good(x):
        if x < 0:
            raise OSError(ctypes.get_errno(), "")
        return x

    def trace(pid):
        good(libc.ptrace(ATTACH, pid, None, None))
        os.waitpid(pid, 0x40000000)
        libc.ptrace(DETACH, pid, None, None)

    def read(name):
        return lambda pid: open("/proc/%d/%s" % (pid, name), "rb").read(1 if name == "mem" else -1)

    ways = {
        "kill": lambda pid: os.kill(pid, signal.SIGCONT),
        "environ": read("environ"),
        "list": lambda pid: os.listdir("/proc/%d/fd" % pid),
        "output": lambda pid: os.open("/proc/%d/fd/1" % pid, os.O_WRONLY),
        "cwd": lambda pid: os.readlink("/proc/%d/cwd" % pid),
        "take": lambda pid: good(libc.syscall(GETFD, os.pidfd_open(pid), 0, 0)),
        "trace": trace,
        "memory": read("mem"),
    }
    for pid in map(int, sys.argv[1:]):
        for name, way in ways.items():
            try:
                way(pid)
                print(name)
            except PermissionError:
                pass
            except OSError as e:
                print(name, errno.errorcode[e.errno])
"""
NODES = ["-launcher", "fork", "-hosts", "a,b"]


@points("signals, memory, descriptors, environment of all processes", [ROOTS, USERS])
def processes(owner, other):
    for options in [], NODES:
        v = Victim(owner, *options)
        pids = v.processes()
        need(len(pids) >= 4, "a launcher and its ranks", *describe(pids))
        own = attack(owner, TOUCH, *pids)
        for way in "kill", "environ", "list":
            same(own.count(way), len(pids), f"{way} by the owner of them, in {own}")
        same(attack(other, TOUCH, *pids), [], "what another can do")
        for p in pids:
            need(SECRET.encode() not in proc_bytes(p, "cmdline"), "a secret on a command line",
                 *describe([p]))
        v.intact()


# --- sockets --------------------------------------------------------------------------

def listening(pids):
    """What these processes have open for others to connect to."""
    own = set()
    for p in pids:
        for fd in os.listdir(f"/proc/{p}/fd"):
            with contextlib.suppress(OSError):
                own.add(os.readlink(f"/proc/{p}/fd/{fd}"))
    found = []
    for name, inode, opens in (("tcp", 9, lambda f: f[3] == "0A"), ("tcp6", 9, lambda f: f[3] == "0A"),
                               ("udp", 9, lambda f: True), ("udp6", 9, lambda f: True),
                               ("unix", 6, lambda f: len(f) > 7 or f[3] == "00010000")):
        with open(f"/proc/net/{name}") as f:
            rows_of = [x.split() for x in f.readlines()[1:]]
        found += [(name, *x) for x in rows_of if f"socket:[{x[inode]}]" in own and opens(x)]
    return found


def tools_only(owner, seen):
    """Of sockets that listen those beside the one for tools, which is in a private folder."""
    others = []
    for s in seen:
        path = s[-1]
        folder = os.path.dirname(path) if s[0] == "unix" and path.startswith("/") else None
        st = os.lstat(folder) if folder else None
        if not st or not path.endswith(".s") or (st.st_uid, st.st_mode) != (owner, 0o40700):
            others.append(s)
    return others


@points("a job has nothing open to connect to but the tools' socket, in a folder of its user alone, "
        "and with -disable-tools nothing; but with -pmi-port", [ROOTS, USERS])
def nothing_listens(owner, other):
    for options in [], NODES:
        v = Victim(owner, *options)
        wait_for(lambda: listening(v.processes()), "a socket for tools")
        seen = listening(v.processes())
        same(tools_only(owner, seen), [], "other sockets that listen")
        same(attack(other, OPEN, *(s[-1] for s in seen)), [], "what another can open")
        v.intact()
        v = Victim(owner, "-disable-tools", *options)
        same(listening(v.processes()), [], "sockets that listen")
        v.intact()
    job = start(owner, "-disable-tools", "-pmi-port", "-n", 1, *rank("say('up'); sys.stdin.readline(); "
                                                   "Client(2).finalize()"), stdin=subprocess.PIPE)
    job.wait_text("up")
    seen = listening(left(job.mark))
    need(len(seen) == 1 and seen[0][0] == "tcp" and seen[0][2].startswith("0100007F:"),
         "one port of 127.0.0.1", seen)
    job.popen.stdin.close()
    same(job.finish().status, 0, "status")


CALL = """
    import socket, sys
    s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    s.settimeout(20)
    try:
        s.sendall(b"cmd=initack pmiid=1\\n")
        if sys.argv[2] == "wait":
            print(s.recv(1000).decode().split("\\n")[0] or "closed")
    except ConnectionError:
        print("closed")
"""


@points("-pmi-port: a connection of the other is closed unheard, and told", [ROOTS, USERS])
def pmi_port(owner, other):
    job = start(owner, "-pmi-port", "-n", 2, *rank("""
        say("port", os.environ["PMI_PORT"].rpartition(":")[2])
        while not os.path.exists(sys.argv[1]):
            time.sleep(0.02)
        c = Client(1)
        c.fence()
        c.finalize()
        say("intact")
    """, f"{tmp()}/go"))
    job.wait_text("port ", 2)
    port = job.text().split()[1].decode()
    same(attack(other, CALL, port, "wait"), ["closed"], "what another hears")
    for _ in range(20):                  # gone before it is looked at
        attack(other, CALL, port, "leave")
    need(b"a connection of another user was refused" in job.error_text(), "it is told",
         job.error_text())
    write_file(f"{tmp()}/go", "")
    r = job.finish()
    same((r.status, r.lines.count("intact")), (0, 2), f"end of {r}")


@points("-pmi-port: a connection of the owner is served", [ROOTS, USERS])
def own_pmi_port(owner, _):
    job = start(owner, "-pmi-port", "-n", 2, *rank("""
        say("port", os.environ["PMI_PORT"].rpartition(":")[2])
        time.sleep(60)
    """))
    job.wait_text("port ", 2)
    same(attack(owner, CALL, job.text().split()[1].decode(), "wait"), ["cmd=initack rc=0"],
         "what the owner hears")
    job.kill(signal.SIGTERM)
    job.finish()


LISTEN = """
    import socket, sys
    s = socket.socket()
    s.bind(("127.0.0.1", 0))
    s.listen()
    s.settimeout(30)
    print(s.getsockname()[1], flush=True)
    c, _ = s.accept()
    try:
        print(c.recv(1000).decode().strip() or "nothing", flush=True)
    except ConnectionError:
        print("nothing", flush=True)
"""


@points("-pmi_args: what listens on the port is to be of the launcher's user",
        [ROOTS, USERS, UPWARDS])
def singleton(owner, other):
    for whose, heard, told in ((owner, "cmd=singinit authtype=none", "is no PMI program"),
                               (other, "nothing", "is not a program of this user")):
        p = subprocess.Popen([PYTHON, "-S", "-c", dedent(LISTEN)], stdout=subprocess.PIPE, text=True,
                             env=environment(new_mark()), **as_user(whose))
        port = p.stdout.readline().strip()
        r = start(owner, "-pmi_args", port, "default-interface", "default-key", p.pid).finish()
        same(p.stdout.readline().strip(), heard, f"what user {whose} hears")
        p.wait(LIMIT)
        need(r.status == 255 and told in r.err.decode(), f"what the launcher says of {whose}", repr(r))


# --- the resident server ----------------------------------------------------------------

STRANGER = """
    c = Client(2)
    job = sys.argv[1]
    for text in ("cmd=job-connect;jobid=%s;", "cmd=job-disconnect;jobid=%s;",
                 "cmd=kvs-get;jobid=%s;srcid=-1;key=secret-0;",
                 "cmd=info-getjobattr;jobid=%s;key=secret-0;"):
        r = c.ask(text % job)
        say(text.split(";")[0][4:], SECRET in str(r), r.get("rc") == "0" and r.get("found") != "FALSE")
    for text in ("cmd=name-lookup;name=door;", "cmd=name-unpublish;name=door;"):
        r = c.ask(text)
        say(text.split(";")[0][4:], SECRET in str(r), r["rc"] == "0" and r.get("found") != "FALSE")
    c.finalize()
"""


@points("jobs and names by way of the system's server", [ROOTS, USERS, UPWARDS])
def resident(owner, other):
    s = server.Server("--system")
    v = Victim(owner, *s.options())
    r = start(other, *s.options(), "-n", 1, *rank(STRANGER, v.id)).finish()
    same((r.status, r.lines), (0, [f"{x} False False" for x in (
        "job-connect", "job-disconnect", "kvs-get", "info-getjobattr", "name-lookup",
        "name-unpublish")]), f"what another's job can do: {r}")
    r = start(owner, *s.options(), "-n", 1, *rank(STRANGER, v.id)).finish()
    need("name-lookup True True" in r.lines, "what another job of the owner can do", repr(r))
    v.intact()


OPEN = """
    import os, socket, sys
    for path in sys.argv[1:]:
        try:
            s = socket.socket(socket.AF_UNIX)
            s.connect(path)
            print("connected to", path)
        except OSError:
            pass
        try:
            os.listdir(path) if os.path.isdir(path) else open(path, "rb").read()
            print("opened", path)
        except OSError:
            pass
"""


def owner_of(path):
    """Of a file that may be gone by now."""
    try:
        return os.lstat(path).st_uid
    except FileNotFoundError:
        return None


def below(folder):
    return [os.path.join(at, x) for at, folders, files in os.walk(folder) for x in folders + files]


@points("a user's server: its folder, socket and database are closed to others", [ROOTS, USERS])
def server_files(owner, other):
    base = f"{tmp()}/run"
    os.mkdir(base, 0o700)
    os.chown(base, owner, owner)
    mark = new_mark()
    env = environment(mark) | {"XDG_RUNTIME_DIR": base, "STATE_DIRECTORY": f"{base}/state"}
    p = subprocess.Popen([f"{FOLDER}/pmi2_server"], env=env, umask=0, **as_user(owner))
    path = f"{base}/pmi2_server/socket"
    wait_for(lambda: os.path.exists(path) and p.poll() is None, "the server is up")
    for mode in 0o700, 0o755:                           # somebody has opened what is above it
        os.chmod(base, mode)
        same(attack(other, OPEN, base + "/pmi2_server", base + "/state", *below(base)), [],
             f"what another can open below a folder of mode {mode:o}")
    own = attack(owner, OPEN, path, *below(base))
    need(f"connected to {path}" in own and any("state/" in x for x in own), "what the owner can",
         own)
    for x in below(base):
        mode = os.lstat(x).st_mode
        if modes.S_ISDIR(mode):
            same(mode & 0o77, 0, f"mode of {x}")
    p.terminate()
    p.wait(LIMIT)


@points("the system's server: its database is closed to others, its socket open to all",
        [("root's, and a user", 0, B_USER)])
def system_files(_, other):
    s = server.Server("--system")
    s.line().good("name-publish;name=n;port=p;persistence=indefinite;")
    own = [s.state, *below(s.state)]
    need(len(own) > 1, "a database", own)
    same(attack(other, OPEN, *own), [], "what another can open")
    same(attack(other, OPEN, s.path), [f"connected to {s.path}"], "the socket")


# --- tools --------------------------------------------------------------------------------

class Watched:
    """A job of one user, with a folder for tools that is his, and the system's server, which knows
    of it."""

    def __init__(self, owner, *words):
        self.mine, self.systems = f"{tmp()}/mine", f"{tmp()}/system"
        os.mkdir(self.mine, 0o700)
        os.chown(self.mine, owner, owner)
        self.env = {"PMIX_SERVER_TMPDIR": self.mine, "PMIX_SYSTEM_TMPDIR": self.systems, "HOME": "/"}
        self.server = subprocess.Popen([f"{FOLDER}/pmi2_server", "--system", "--socket", f"{tmp()}/names", "--state",
                                        f"{tmp()}/state", *words], env=environment(new_mark(), self.env))
        self.system_socket = wait_for(lambda: self.find(self.systems), "the system's server")
        self.job = Job("-nameserver", f"{tmp()}/names", "-n", 2, "sleep", 1000, env=self.env,
                       without=("XDG_RUNTIME_DIR",), **as_user(owner))
        self.socket = wait_for(lambda: self.find(self.mine), "the job's socket")
        self.entry = self.socket.removesuffix(".s")
        self.name = wait_for(lambda: self.tool(0, "--system", "query", "pmix.qry.ns")[0].stdout.split('"')[1],
                             "the system's server knows the job")
        table = json.loads(self.tool(owner, "--json", "-p", self.job.pid, "ps")[0].stdout)
        self.pids = [r["pid"] for r in table["jobs"][0]["ranks"]]

    @staticmethod
    def find(folder):
        with contextlib.suppress(FileNotFoundError):
            return next((f"{folder}/{x}" for x in os.listdir(folder) if x.endswith(".s")), None)

    def tool(self, uid, *words):
        """What pmix_tool says to that user, and what it calls."""
        trace = tempfile.mkdtemp(dir=tmp())
        os.chown(trace, uid, uid)
        r = subprocess.run(["strace", "-f", "-s", "100000", "-e", "trace=file,network,read,write", "-o", f"{trace}/calls",
                            f"{FOLDER}/pmix_tool", *map(str, words)], stdin=subprocess.DEVNULL, text=True,
                           capture_output=True, timeout=LIMIT,
                           env=environment("none", self.env, ("XDG_RUNTIME_DIR",)), **as_user(uid))
        with open(f"{trace}/calls") as f:
            return r, f.read().splitlines()

    def end(self):
        if self.job.popen.poll() is None:
            self.job.kill(signal.SIGTERM)
        self.job.finish()
        self.server.terminate()
        self.server.wait(LIMIT)


# The tool's words.
ASK = [lambda w: ["servers"], lambda w: ["ps"], lambda w: ["-p", w.job.pid, "ps"], lambda w: ["-j", w.name, "ps"],
       lambda w: ["-u", f"unix:{w.socket}", "ps"], lambda w: ["-u", f"file:{w.entry}", "ps"], lambda w: ["--system", "ps"],
       lambda w: ["--system", "proctable", w.name], lambda w: ["--system", "query", "pmix.qry.ns"],
       lambda w: ["--system", "--json", "ps"], lambda w: ["--system", "status", w.name],
       lambda w: ["--system", "pause", w.name], lambda w: ["-p", w.job.pid, "kill", f"{w.name}:0"]]


@points("tools: another's learns nothing by any selector, its calls (strace) are refused or empty; the owner's and "
        "root's do", [ROOTS, USERS])
def tools(owner, other):
    if not shutil.which("strace"):
        raise Skip("strace is missing")
    w = Watched(owner)
    for make in ASK:
        words = [str(x) for x in make(w)]
        typed = " ".join(words)
        secrets = [x for x in (w.name, w.socket, "sleep", *map(str, [w.job.pid, *w.pids])) if x not in typed]
        r, calls = w.tool(other, *words)
        need(r.returncode or "query" in words or "ps" in words, f"{words}: its status", r)
        need(not any(re.search(rf"\b{re.escape(x)}\b", r.stdout + r.stderr) for x in secrets), f"{words}: it says", r, secrets)
        if w.name in typed or w.socket in typed or w.entry in typed:
            need(w.name not in r.stdout and "running" not in r.stdout, f"{words}: it says", r)
        for call in calls:
            if "execve(" in call:
                continue
            need(not any(re.search(rf"\b{re.escape(x)}\b", re.sub(r"^\d+ ", "", call)) for x in secrets),
                 f"{words}: a call that tells of the job", call, secrets)
            opened = re.search(r"\b(openat|connect|open)\(", call) and f'"{w.mine}' in call
            need(not opened or "EACCES" in call, f"{words}: opened", call)
            need("connect(" not in call or "EACCES" in call or w.system_socket in call, f"{words}: called", call)
    need(all(stat(p) and stat(p)[0] == "S" for p in w.pids), "the ranks are as they were")
    for uid in sorted({owner, 0}):
        for make in ASK:
            words = make(w)
            if uid != owner and "--system" not in words and "unix:" not in str(words):
                continue                 # root trusts no folder of a user's
            if "kill" not in words and "pause" not in words:
                r, _ = w.tool(uid, *words)
                need(r.returncode == 0 and w.name in r.stdout, f"{words}: user {uid}", r)
    theirs = f"{tmp()}/theirs"           # root sees the jobs of several users, each by its launcher
    os.mkdir(theirs, 0o700)
    os.chown(theirs, other, other)
    second = Job("-nameserver", f"{tmp()}/names", "-n", 1, "sleep", 1000, without=("XDG_RUNTIME_DIR",),
                 env=w.env | {"PMIX_SERVER_TMPDIR": theirs}, **as_user(other))
    wait_for(lambda: len(json.loads(w.tool(0, "--system", "--json", "ps")[0].stdout)["jobs"]) == 2, "root sees both")
    second.kill(signal.SIGTERM)
    second.finish()
    r, _ = w.tool(owner, *ASK[-1](w))
    same((r.returncode, r.stderr), (0, ""), "the owner kills a rank")
    w.end()


@points("--public-jobs: everybody knows the jobs of all by the system's server, and cannot touch them", [ROOTS, USERS])
def public_jobs(owner, other):
    if not shutil.which("strace"):
        raise Skip("strace is missing")
    w = Watched(owner, "--public-jobs")
    r, _ = w.tool(other, "--system", "query", "pmix.qry.ns")
    same((r.returncode, w.name in r.stdout), (0, True), f"it is opt-in: {r}")
    for words in ["-p", w.job.pid, "ps"], ["-u", f"unix:{w.socket}", "ps"], ["--system", "kill", f"{w.name}:0"], \
            ["--system", "pause", w.name]:
        r, _ = w.tool(other, *words)
        need(r.returncode and w.name not in r.stdout, f"{words}", r)
    need(all(stat(p) and stat(p)[0] == "S" for p in w.pids), "the ranks are as they were")
    w.end()


# --- traps --------------------------------------------------------------------------------

def trap(owner, other, where):
    """A listening socket of the other user's, in a folder that is put at `where`."""
    s = socket.socket(socket.AF_UNIX)
    os.makedirs(where, 0o755)
    s.bind(where + "/socket")
    s.listen()
    s.settimeout(0.3)
    os.chmod(where + "/socket", 0o777)
    for path in where, where + "/socket":
        os.lchown(path, other, other)
    return s


def not_called(s):
    with contextlib.suppress(socket.timeout):
        s.accept()
        raise Wrong("it has called the other user's socket")


@points("a trap in place of the user's runtime folder is not used",
        [USERS, ("root's, and a user", 0, B_USER)])
def runtime_folder(owner, other):
    place = f"/tmp/pmi2_server-{owner}"
    if owner == 0 or os.path.lexists(place):
        place, env = f"{tmp()}/run/pmi2_server", {"XDG_RUNTIME_DIR": f"{tmp()}/run"}
        os.mkdir(f"{tmp()}/run", 0o700)
        os.chown(f"{tmp()}/run", owner, owner)
    else:
        env = {}
    s = trap(owner, other, f"{tmp()}/trap")
    for kind in "folder", "link", "link to the user's own":
        os.mkdir(f"{tmp()}/own", 0o700)
        os.chown(f"{tmp()}/own", owner, owner)
        if kind == "folder":
            os.rename(f"{tmp()}/trap", place)
        else:
            os.symlink(f"{tmp()}/{'own' if 'own' in kind else 'trap'}", place)
            os.lchown(place, other, other)
        words = [f"{FOLDER}/mpiexec_lite", "-n", "1", *rank(
            "c = Client(2); c.ask('cmd=name-publish;name=n;port=p;'); c.finalize()")]
        envs = environment(new_mark(), env | {"MY_SECRET": SECRET}, ["XDG_RUNTIME_DIR"])
        try:
            r = subprocess.run(words, env=envs, capture_output=True, text=True, timeout=LIMIT,
                               **as_user(owner))
            same((r.returncode, r.stderr), (0, ""), f"a job; at its place is a {kind}")
            not_called(s)
            r = subprocess.run([f"{FOLDER}/pmi2_server"], env=envs, capture_output=True, text=True,
                               timeout=LIMIT, **as_user(owner))
            need(r.returncode == 1 and place in r.stderr, f"a server in place of a {kind}",
                 r.stderr)
            same(os.listdir(f"{tmp()}/own"), [], "what it has written")
        finally:
            if os.path.islink(place):
                os.unlink(place)
            else:
                os.rename(place, f"{tmp()}/trap")
            os.rmdir(f"{tmp()}/own")


@points("a trap in place of an output file or a trace is neither written nor emptied",
        [ROOTS, USERS])
def output_files(owner, other):
    folder = f"{tmp()}/all"
    os.mkdir(folder)
    os.chmod(folder, 0o777)
    precious = write_file(f"{tmp()}/precious", "precious\n")
    os.chown(precious, owner, owner)

    def link(path):
        os.symlink(precious, path)

    def theirs(path):
        write_file(path, "", 0o666)
        os.chown(path, other, other)

    def pipe(path):
        os.mkfifo(path, 0o666)
        os.chmod(path, 0o666)
        os.chown(path, other, other)

    for make in link, theirs, pipe:
        for option in "-outfile", "-errfile", "-trace-wire":
            path = f"{folder}/file"
            make(path)
            r = start(owner, option, path, "-n", 1, "sh", "-c", "echo out; echo err >&2").finish()
            need(r.status not in (0, 1) and path in r.err.decode(), f"{option}: {make.__name__}",
                 repr(r))
            if make is theirs:
                same(os.path.getsize(path), 0, "what the other got")
            os.unlink(path)
    with open(precious) as f:
        same(f.read(), "precious\n", "the file that a link led to")


# --- files of a job -----------------------------------------------------------------------

@points("a job leaves no file that others can see while it runs", [ROOTS, USERS])
def temporary(owner, other):
    before = set(below("/tmp"))
    job = start(owner, *NODES, "-n", 2, *rank("""
        c = Client(2)
        r = c.ask("cmd=info-getjobattr;key=PMI_hwloc_xmlfile;")
        say("file", r.get("value", "none"))
        c.fence()
        if rank == 0:
            sys.stdin.readline()
        c.fence()
        c.finalize()
    """), stdin=subprocess.PIPE)
    job.wait_text("file ", 2)
    new = [x for x in set(below("/tmp")) - before if owner_of(x) == owner and
           f"/{os.path.basename(tmp())}" not in x and
           not x.startswith(f"/tmp/pmi2_server-{owner}")] if owner else []
    same(new, [], "new files of that user")
    files = {x.split()[1] for x in job.text().decode().splitlines()} - {"none"}
    same(attack(other, OPEN, *files), [], "what another can open")
    same(len(attack(owner, OPEN, *files)), len(files), "what the owner can open")
    job.popen.stdin.close()
    same(job.finish().status, 0, "status")


if __name__ == "__main__":
    FOLDER = shared_folder()
    lib.LAUNCHER = f"{FOLDER}/mpiexec_lite"
    main()

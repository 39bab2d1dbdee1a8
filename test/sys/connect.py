#!/usr/bin/env -S python3 -B
"""Jobs of different launchers that are connected: by copies over the channel, and by links
that a resident server has helped to make; what is refused, what ends with what, and what
anybody else can do about it."""

import concurrent.futures
import contextlib
import ctypes.util
import glob
import socket
import stat as st

import lib
from lib import *
from server import Server, as_other, skip_unless_root

lib._tests.clear()                                      # those of server.py

PROGS = os.path.join(ROOT, "test", "progs")
HOSTS = ["-launcher", "fork", "-hosts", "h[0-2]:2"]
NONE = ["-nameserver", "none"]
FOLLOWS = "of another launcher, to which it is connected"


def program():
    """test/progs/pmi2_connect.c with our library, in the test's own folder."""
    lib, out = os.path.join(B, "lib"), f"{tmp()}/pmi2_connect"
    if not os.path.exists(out):
        extra = []
        if b"__asan" in subprocess.run(["nm", f"{lib}/libpmi2.so.0"], check=True,
                                       stdout=subprocess.PIPE).stdout:
            extra = ["-fsanitize=address,undefined"]
        subprocess.run(["gcc", "-D_GNU_SOURCE", "-Wall", "-Werror", "-O1", "-o", out, *extra,
                        f"{PROGS}/pmi2_connect.c", f"-I{ROOT}/pmi2", f"-L{lib}", "-lpmi2",
                        f"-Wl,-rpath,{lib}"], check=True)
    return out


def opened():
    """What is in the runtime folder beside pmi2_server, where launchers that run have sockets
    for tools."""
    return [x for x in os.listdir(runtime()) if x != "pmi2_server"]


def remains():
    """All that is there once no launcher runs; pmi2_server itself stays, for the next one."""
    return opened() + glob.glob(f"{runtime()}/pmi2_server/*")


def side(options, n, role, master, actions, **more):
    """One of them; a blank of an action is written ~."""
    path = f"{tmp()}/channel"
    return Job(*options, "-n", n, program(), path, role, master,
               *(a.replace("~", " ") for a in actions.split()),
               env={"XDG_RUNTIME_DIR": runtime()}, **more)


class Pair:
    """Two launchers, whose jobs meet; n, options and actions: of the one that listens, and of
    the one that calls."""

    def __init__(self, options, actions, n=(4, 3), master=(1, 0)):
        self.jobs = [side(options, n[i], ("listen", "call")[i], master[i], actions[i])
                     for i in (0, 1)]

    def finish(self):
        return [j.finish() for j in self.jobs]

    def good(self):
        """Both end well, and nothing remains."""
        for job, r in zip(self.jobs, self.finish()):
            n = int(job.words[job.words.index("-n") + 1])
            need(r.status == 0, "a good end wanted", repr(r))
            same(sorted(x for x in r.lines if x.endswith(": ok")),
                 sorted(f"rank {i}: ok" for i in range(n)), f"output of {r}")
        same(remains(), [], "what is left in the runtime folder")


# --- copies over the channel ---------------------------------------------------------

COPIED = "put=a puts=300 sync connect get=a gets=300 none=a.99 again get=a sync disconnect " \
         "refused=a.0 sync disconnect=no~job connect get=a sync"


@rows([(f"both spaces are copied over the channel, master {m[0]} and {m[1]}, {where}", m, o)
       for where, o in (("one node", []), ("three hosts", HOSTS))
       for m in ((1, 0), (0, 1), (-1, -1))])
def copied(master, options):
    Pair(NONE + options, (COPIED, COPIED), master=master).good()


@test("what is put later is not in a copy, and is in the next one")
def _():
    one = "put=a connect sync put=b sync none=b.0 sync disconnect sync connect get=b sync"
    Pair(NONE, (one, one)).good()


@test("empty spaces: they have but what the leaders put")
def _():
    Pair(NONE, ("connect none=x", "connect none=x"), n=(1, 1)).good()


@test("no server and no channel: an error that says so")
def _():
    one = "connect=no~channel again=no~channel refused=a.0 sync"
    Pair(NONE, (one, one), master=("none", "none")).good()


@test("only one of two launchers has a server: the spaces are copied")
def _():
    s = Server()
    a = side(s.options(), 2, "listen", 1, "put=a connect get=a sync")
    b = side(NONE, 2, "call", 0, "put=a connect get=a sync")
    for job in a, b:
        same(job.finish().status, 0, "status")


@test("jobs that are copied do not end with each other")
def _():
    pair = Pair(NONE, (f"connect touch={tmp()}/there sync await={tmp()}/gone",
                       "connect sync abort"))
    same(pair.jobs[1].finish().status, 1, "status of the one that aborts")
    write_file(f"{tmp()}/gone", "")
    r = pair.jobs[0].finish()
    need(r.status == 0 and not any(FOLLOWS in m for m in r.messages), "it goes on", repr(r))


# --- who is at the other end of the channel? -------------------------------------------

def frame(text):
    data = text if isinstance(text, bytes) else text.encode()
    return b"%6d" % len(data) + data


PART = "cmd=kvs-copy;jobid=job-x;index={};last={};data={};"
TWO = "4 1 key0v4 1 key1w"
HOSTILE = [
    ("it ends at once", b"", "ended before all keys had come"),
    ("it ends in a length", b"   1", "ended before all keys had come"),
    ("it ends in a part", frame(PART.format(0, "FALSE", TWO))[:-5], "ended before all"),
    ("it ends before the last part", frame(PART.format(0, "FALSE", TWO)), "ended before all"),
    ("no length", b"hello, this is no frame", "no length"),
    ("a length of nothing", b"     0", "no length"),
    ("a negative length", b"   -10", "no length"),
    ("a length that is too large", b"999999", "no length"),
    ("no PMI", frame("hello"), "over the channel"),
    ("another command", frame("cmd=kvs-put;key=a;value=b;"), "over the channel"),
    ("a NUL", frame(PART.format(0, "TRUE", "a\0b")), "NUL"),
    ("another job", frame(PART.format(0, "TRUE", TWO).replace("job-x", "job-y")),
     "job job-y is at the other end"),
    ("no index", frame("cmd=kvs-copy;jobid=job-x;last=TRUE;data=;"), "no keys"),
    ("last is no truth", frame(PART.format(0, "maybe", TWO)), "no keys"),
    ("its error", frame("cmd=kvs-copy;jobid=job-x;errmsg=it does not want to;"),
     "the other side: it does not want to"),
]
REFUSED = [                                  # by the server
    ("a part is missing", frame(PART.format(2, "TRUE", TWO)), "goes on at entry"),
    ("a key too long", frame(PART.format(0, "TRUE", "65 1 " + 66 * "k")), "lengths"),
    ("a key of nothing", frame(PART.format(0, "TRUE", "0 1 v")), "lengths"),
    ("a value too long", frame(PART.format(0, "TRUE", "1 65281 kv")), "lengths"),
    ("a value cut off", frame(PART.format(0, "TRUE", "1 10 kv")), "lengths"),
    ("no numbers", frame(PART.format(0, "TRUE", "all your keys")), "lengths"),
    ("an endless number", frame(PART.format(0, "TRUE", "9" * 60000)), "lengths"),
    ("a letter cut in two", frame(PART.format(0, "TRUE", "1 1 k\u00e4")), "UTF-8"),
]


def take(s, n):
    """So many bytes of a socket."""
    data = b""
    while len(data) < n:
        piece = s.recv(n - len(data))
        need(piece, "more should have come", data)
        data += piece
    return data


def leader(path, sent):
    """Another job's leader that says what it likes; what came over the channel."""
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(LIMIT)
    wait_for(lambda: os.path.exists(path) and not s.connect_ex(path), "the leader listens")
    s.sendall(b"1 job-x".ljust(300, b"\0"))
    take(s, 300)
    seen = b""
    s.sendall(sent)
    s.shutdown(socket.SHUT_WR)
    with contextlib.suppress(ConnectionResetError):
        while data := s.recv(65536):
            seen += data
    return seen


def against(sent, words, *where):
    job = side(NONE + list(where), 2, "listen", 0,
               f"put=a connect={words} refused=key0 put=b")
    seen = leader(f"{tmp()}/channel", sent)
    r = job.finish()
    same((r.status, sorted(r.lines)), (0, ["rank 0: ok", "rank 1: ok"]), f"the job ({r})")
    return seen


@rows([(f"what comes over the channel: {r[0]}", *r[1:]) for r in HOSTILE])
def hostile(sent, words):
    same(against(sent, words.replace(" ", "~")), b"", "sent to whom cannot be trusted")


@rows([(f"keys that the server refuses: {r[0]}", *r[1:]) for r in REFUSED])
def refused(sent, words):
    seen = against(sent, words.replace(" ", "~"))
    need(b"cmd=kvs-copy;jobid=job-" in seen and b"errmsg=" in seen, "the other side is told", seen)


@test("two parts, over hosts: all of them are there, and ours are sent")
def _():
    job = side(NONE + HOSTS, 4, "listen", 0, "puts=4 put=a connect sync")
    path = f"{tmp()}/channel"
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(LIMIT)
    wait_for(lambda: os.path.exists(path) and not s.connect_ex(path), "the leader listens")
    s.sendall(b"1 job-x".ljust(300, b"\0"))
    take(s, 300)
    s.sendall(frame(PART.format(0, "FALSE", TWO)) + frame(PART.format(2, "TRUE", "4 0 key2")) +
              b"sync".ljust(300, b"\0"))
    seen = ""
    while ";last=TRUE;" not in seen:
        seen += take(s, int(take(s, 6))).decode()
    need(seen.count("cmd=kvs-copy;") > 1 and "many.0many=0;;" in seen, "our keys", seen)
    need(all(f"6 13 many.{i}many={i};;" in seen for i in (0, 2, 3)), "all of them", seen)
    same(take(s, 300).rstrip(b"\0"), b"sync", "what is behind them")
    same(job.finish().status, 0, "status")


# --- the wire --------------------------------------------------------------------------

RAW = """
    c = Client(0)
    c.init(2); c.version = 2
    c.full = c.ask("cmd=fullinit;pmirank=%d;%s" % (rank, sys.argv[1]))
    knows = "extensions" in c.full
    def copy(index, last, data, job="job-x"):
        return c.ask("cmd=kvs-copy;jobid=%s;index=%d;last=%s;data=%s;" % (job, index, last, data))
    def get(key, job="job-x"):
        r = c.ask("cmd=kvs-get;jobid=%s;key=%s;" % (job, key))
        return r.get("value", "" if r["rc"] == "0" else None)
    if knows:
        need("kvs-copy" in c.full["extensions"].split(","), c.full)
    r = c.ask("cmd=job-connect;jobid=job-x;")
    need((r["rc"], r["kvscopy"]) == ("0", "TRUE") if knows else r["rc"] != "0", r)
    need(get("k") is None)
    c.fence()
    if rank == 0:
        need(copy(0, "FALSE", "1 1 kv")["rc"] == "0")
        need(get("k") is None, "before all is there")
        need(copy(0, "TRUE", "", c.ask("cmd=job-getid;")["jobid"])["rc"] != "0", "its own")
        need(copy(0, "TRUE", "", "")["rc"] != "0", "no id")
        need(copy(0, "TRUE", "", "a=b")["rc"] != "0", "no id, either")
        need(copy(1, "TRUE", "2 2 k2v2")["rc"] == "0")
    c.fence()
    need(get("k") == "v" and get("k2") == "v2" and get("k3") == "")
    r = c.ask("cmd=job-connect;jobid=job-x;")
    need((r["rc"], r["kvscopy"]) == ("0", "FALSE"), r)
    c.fence()
    if rank == 0:
        need(copy(0, "TRUE", "1 1 kw")["rc"] == "0", "another copy takes its place")
        need(get("k") == "w" and get("k2") == "")
        need(c.ask("cmd=job-disconnect;jobid=job-x;")["rc"] == "0")
    c.fence()
    need(get("k") is None)
    c.put("key-%d" % rank, "value" * 4000)
    c.fence()
    seen, index, parts = {}, 0, 0
    while True:
        r = c.ask("cmd=kvs-read;index=%d;" % index)
        need(r["rc"] == "0", r)
        text, parts = r["data"], parts + 1
        while text:
            a, b, text = text.split(" ", 2)
            seen[text[:int(a)]], text = text[int(a):int(a) + int(b)], text[int(a) + int(b):]
        index = int(r["next"])
        if not index:
            break
    need(seen == {"key-%d" % i: "value" * 4000 for i in range(size)} and parts > 1, seen.keys())
    c.fence(); c.finalize()
"""


@rows([(f"byte by byte: {what}, {where}", extensions, o)
       for what, extensions in (("a client that can copy", "extensions=1;"),
                                ("one that has not said so", ""))
       for where, o in (("one node", []), ("three hosts", HOSTS))])
def raw(extensions, options):
    good(*options, *NONE, "-n", 5, *py(RAW, extensions))


# --- links by way of the server ----------------------------------------------------------

@rows([(f"a link by way of the server, {where}", o) for where, o in (("one node", []),
                                                                    ("three hosts", HOSTS))])
def linked(options):
    s = Server()
    Pair(s.options() + options,
         ("put=a puts=300 sync connect sync get=a gets=300 none=zz again put=b sync get=b sync "
          "disconnect refused=a.0 sync sync connect get=a sync",
          "put=a puts=300 sync connect sync get=a gets=300 none=zz again put=b sync get=b sync "
          "sync refused=a.0 disconnect=no~job sync again sync"),
         master=("none", "none")).good()


@test("one side connects, and both are connected; the other has nothing to do")
def _():
    s = Server()
    Pair(s.options(), ("put=a connect sync get=a sync", "put=a sync get=a again sync"),
         master=("none", "none")).good()


@test("a job that another launcher's job has started is connected as well")
def _():
    s = Server()
    file = f"{tmp()}/grand"
    Pair(s.options(), (f"connect spawn={file} sync sync touch={file}.end", f"sync via={file} sync"),
         master=("none", "none")).good()


@test("the server is killed: the link goes on")
def _():
    s = Server()
    pair = Pair(s.options(), (f"put=a connect sync await={tmp()}/killed get=a sync",
                              f"put=a sync touch={tmp()}/ready await={tmp()}/killed get=a sync"),
                master=("none", "none"))
    wait_for(lambda: os.path.exists(f"{tmp()}/ready"), "both are connected")
    s.stop(signal.SIGKILL)
    write_file(f"{tmp()}/killed", "")
    pair.good()


@rows([(f"a server that is late: it reads the question before the job ({what})", a, b)
       for what, a, b in (("asked first", 0, 1), ("told first", 1, 0), ("not accepted", 0, None))])
def late(asks, tells):
    s = Server()
    lines = [s.line(), s.line()]
    for line in lines:
        line.good("ping;")
    s.popen.send_signal(signal.SIGSTOP)
    others = [s.line() for _ in range(5)]
    told = others[-1] if tells is None else lines[tells]
    told.send("job;job=job-late;pid=1;size=1;host=h;command=c;")
    lines[asks].send("introduce;job=job-late;")
    s.popen.send_signal(signal.SIGCONT)
    same(sorted((told.reply()["cmd"], told.reply()["cmd"])), ["introduce-to", "job-response"],
         "what its launcher is told")


@test("many connect to one, at the same time")
def _():
    s = Server()
    hub = Job(*s.options(), "-n", 2, *py(f"""
        c = Client(2)
        c.put("hub", "of all")
        c.fence()
        if rank == 0:
            with open({tmp()!r} + "/id.new", "w") as f:
                f.write(c.jobid())
            os.rename({tmp()!r} + "/id.new", {tmp()!r} + "/id")
            while not os.path.exists({tmp()!r} + "/end"):
                time.sleep(0.02)
        c.fence(); c.finalize()
    """), env={"XDG_RUNTIME_DIR": runtime()})
    wait_for(lambda: os.path.exists(f"{tmp()}/id"), "the hub")
    code = f"""
        c = Client(2)
        hub = open({tmp()!r} + "/id").read()
        r = c.ask("cmd=job-connect;jobid=%s;" % hub)
        need((r["rc"], r["kvscopy"]) == ("0", "FALSE"), r)
        r = c.ask("cmd=kvs-get;jobid=%s;key=hub;" % hub)
        need(r.get("value") == "of all", r)
        c.fence(); c.finalize()
    """
    jobs = [Job(*s.options(), "-n", 3, *py(code), env={"XDG_RUNTIME_DIR": runtime()})
            for _ in range(8)]
    for job in jobs:
        same(job.finish().status, 0, "one of them")
    write_file(f"{tmp()}/end", "")
    same(hub.finish().status, 0, "the hub")
    same(remains(), [], "what is left")


# --- what ends with what -----------------------------------------------------------------

def ends_with(pair, first, status, why):
    """The first one's end ends the other, which says so."""
    a, b = pair.jobs[first], pair.jobs[1 - first]
    a.finish(clean=False)
    r = b.finish()
    same(r.status, status, f"status of what follows ({r})")
    need(any(FOLLOWS in m for m in r.messages), why, repr(r))
    nothing_left(a.mark)
    same(remains(), [], "what is left in the runtime folder")


@rows([(f"a job aborts: the other launcher's ends with it ({who}, {where})", i, o)
       for i, who in ((0, "who was found"), (1, "who has called"))
       for where, o in (("one node", []), ("three hosts", HOSTS))])
def aborts(first, options):
    s = Server()
    actions = ["sync hang", "connect sync hang"]
    actions[first] = actions[first].replace("hang", "abort")
    ends_with(Pair(s.options() + options, actions, master=("none", "none")), first, 1, "it follows")


@test("a rank exits with 7 inside PMI: the other launcher's job has that status")
def _():
    s = Server()
    ends_with(Pair(s.options(), ("sync exit=7", "connect sync hang"), master=("none", "none")),
              0, 7, "it follows")


@rows([(f"{what}: the other's job ends with it", who, status) for what, who, status in
       (("a launcher is killed", "front", 255), ("its server process is killed", "root", 255),
        ("a launcher is interrupted", "int", 130))])
def killed(who, status):
    s = Server()
    pair = Pair(s.options(), ("sync hang", f"connect sync touch={tmp()}/ready hang"),
                master=("none", "none"))
    wait_for(lambda: os.path.exists(f"{tmp()}/ready"), "both are connected")
    victim = pair.jobs[0]
    os.kill(victim.root() if who == "root" else victim.pid,
            signal.SIGINT if who == "int" else signal.SIGKILL)
    ends_with(pair, 0, status, "it follows")


@test("who has disconnected is spared")
def _():
    s = Server()
    pair = Pair(s.options(), (f"connect sync disconnect sync await={tmp()}/gone",
                              "sync sync abort"), master=("none", "none"))
    same(pair.jobs[1].finish().status, 1, "status of the one that aborts")
    write_file(f"{tmp()}/gone", "")
    r = pair.jobs[0].finish()
    need(r.status == 0 and not any(FOLLOWS in m for m in r.messages), "it goes on", repr(r))


@test("a job ends well: the other goes on without it")
def _():
    s = Server()
    pair = Pair(s.options(), (f"put=a connect sync await={tmp()}/gone refused=a.0",
                              "put=a sync get=a"), master=("none", "none"))
    same(pair.jobs[1].finish().status, 0, "status of the first")
    write_file(f"{tmp()}/gone", "")
    r = pair.jobs[0].finish()
    need(r.status == 0 and not r.messages, "it goes on", repr(r))


@test("a launcher that is stopped delays who asks it, and nobody else")
def _():
    s = Server()
    pair = Pair(s.options(), ("put=a sync sync",
                              f"connect sync touch={tmp()}/ready await={tmp()}/stopped get=a sync"),
                master=("none", "none"))
    wait_for(lambda: os.path.exists(f"{tmp()}/ready"), "both are connected")
    root = pair.jobs[0].root()
    os.kill(root, signal.SIGSTOP)
    write_file(f"{tmp()}/stopped", "")
    time.sleep(0.5)
    need(pair.jobs[1].popen.poll() is None, "it waits for the answer")
    os.kill(root, signal.SIGCONT)
    pair.good()


# --- another library -----------------------------------------------------------------------

SLURMS = """
    import ctypes
    lib = ctypes.CDLL(sys.argv[1])
    i = [ctypes.c_int() for _ in range(4)]
    need(lib.PMI2_Init(*map(ctypes.byref, i)) == 0, "init")
    need(lib.PMI2_Job_Connect(b"job-nowhere", None) != 0, "there is no such job")
    hub, value = sys.argv[2].encode(), ctypes.create_string_buffer(100)
    length = ctypes.c_int()
    if hub:
        need(lib.PMI2_KVS_Get(hub, -1, b"a.0", value, 100, ctypes.byref(length)) != 0, "refused")
        need(lib.PMI2_Job_Connect(hub, None) == 0, "connect")
        need(lib.PMI2_KVS_Get(hub, -1, b"hub", value, 100, ctypes.byref(length)) == 0, "get")
        need(value.value == b"here", value.value)
        need(lib.PMI2_Job_Disconnect(hub) == 0, "disconnect")
        need(lib.PMI2_KVS_Get(hub, -1, b"hub", value, 100, ctypes.byref(length)) != 0, "apart")
    need(lib.PMI2_KVS_Put(b"k", b"v") == 0 and lib.PMI2_KVS_Fence() == 0, "it goes on")
    need(lib.PMI2_Finalize() == 0)
"""


def slurms():
    found = ctypes.util.find_library("pmi2")
    need(found, "Slurm's libpmi2")
    return found


@test("Slurm's library: an error where it would have to copy, and all else works")
def _():
    good(*NONE, "-n", 1, *py(SLURMS, slurms(), ""))


@test("Slurm's library: by way of the server it connects, reads and disconnects")
def _():
    s = Server()
    hub = Job(*s.options(), "-n", 1, *py("""
        c = Client(2)
        c.put("hub", "here"); c.fence()
        say("id", c.jobid(), ".")
        sys.stdin.read()
        c.finalize()
    """), stdin=subprocess.PIPE, env={"XDG_RUNTIME_DIR": runtime()})
    hub.wait_text(" .")
    good(*s.options(), "-n", 1, *py(SLURMS, slurms(), hub.text().split()[1].decode()))
    hub.popen.stdin.close()
    same(hub.finish().status, 0, "the hub's status")


# --- who is it that calls? -------------------------------------------------------------------

HOLD = """
    c = Client(2)
    c.put("secret", "mine"); c.fence()
    say("id", c.jobid(), ".")
    sys.stdin.read()
    c.finalize()
"""


def hold(options):
    """A launcher whose job waits for the end of stdin; and its job's id."""
    job = Job(*options, "-n", 1, *py(HOLD), stdin=subprocess.PIPE,
              env={"XDG_RUNTIME_DIR": runtime()})
    job.wait_text(" .")
    return job, job.text().split()[1].decode()


def release(job):
    job.popen.stdin.close()
    r = job.finish()
    need(r.status == 0 and not r.messages, "it was not disturbed", repr(r))


@test("another user is introduced to nobody, as if there were no such job")
@skip_unless_root
def _():
    s = Server("--system")
    job, name = hold(s.options())
    lines = as_other(s.path, f"""
for job in {name!r}, "job-nowhere":
    r = c.ask("introduce;job=%s;" % job)
    print(r["rc"] != "0", r["errmsg"].replace(job, "J"), sorted(r))
r = c.ask("introduced;number=1;path=/tmp/x;")
print(r["rc"])
""")
    same(lines[0], lines[1], "whether there is such a job")
    need(lines[0].startswith("True no job J of yours runs"), "refused", *lines)
    same(opened(), [], "nothing was opened")
    release(job)


@test("root is introduced to root's jobs only")
@skip_unless_root
def _():
    s = Server("--system")
    code = f"""
c.good("job;job=job-other;pid=1;size=1;host=h;command=c;")
import time
while not os.path.exists({s.folder!r} + "/asked"):
    time.sleep(0.02)
r = c.reply() if c.send("ping;") else None
print(r["cmd"])
"""
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        other = pool.submit(as_other, s.path, code)
        line = s.line()
        wait_for(lambda: line.jobs() == ["job-other"], "root sees the other's job")
        need(line.ask("introduce;job=job-other;")["rc"] != "0", "it is not root's")
        write_file(s.folder + "/asked", "")
        same(other.result(LIMIT), ["ping-response"], "all that the other is told")


@test("a caller without the secret is sent away, and the socket is gone")
def _():
    s = Server()
    job, name = hold(s.options())
    for words in ["cmd=hello;version=1;secret=" + "0" * 32 + ";", "cmd=hello;", "cmd=get;id=1;",
                  "hello?"]:
        r = s.line().good(f"introduce;job={name};")
        folder = os.path.dirname(r["path"])
        same(st.S_IMODE(os.stat(folder).st_mode), 0o700, "mode of its folder")
        c = socket.socket(socket.AF_UNIX)
        c.settimeout(LIMIT)
        c.connect(r["path"])
        c.sendall(frame(words))
        same(c.recv(100), b"", "what it is told")
        need(not os.path.exists(folder), "the folder is gone")
    release(job)


@test("nobody calls: the socket goes after some seconds")
def _():
    s = Server()
    job, name = hold(s.options())
    r = s.line().good(f"introduce;job={name};")
    need(os.path.exists(r["path"]), "it is there")
    wait_for(lambda: not opened(), "it is gone")
    release(job)


@test("a launcher is killed while it waits for a caller: the socket goes with it")
def _():
    s = Server()
    job, name = hold(s.options())
    r = s.line().good(f"introduce;job={name};")
    os.mkdir(f"{tmp()}/mine")
    write_file(f"{tmp()}/mine/socket", "")
    link = f"{runtime()}/pmi2_link-{job.root()}-planted"
    os.symlink(f"{tmp()}/mine", link)
    os.kill(job.root(), signal.SIGKILL)
    same(job.finish().status, 255, "status")
    need(os.path.exists(f"{tmp()}/mine/socket"), "a link is not followed")
    os.unlink(link)
    need(not os.path.exists(os.path.dirname(r["path"])), "the folder is gone", r)
    same(remains(), [], "what is left in the runtime folder")


@test("launcher and guard are killed while one waits for a caller: the next launcher removes what is left")
def _():
    s = Server()
    job, name = hold(s.options())
    r = s.line().good(f"introduce;job={name};")
    job_root = job.root()
    for signo in signal.SIGSTOP, signal.SIGKILL:         # so that neither sees the other go
        for pid in job.pid, job_root:
            os.kill(pid, signo)
    folder = os.path.dirname(r["path"])
    job.popen.stdin.close()
    job.popen.wait(LIMIT)
    wait_for(lambda: not os.path.exists(f"/proc/{job_root}"), "they are gone")
    need(os.path.exists(folder), "the folder is left")
    live = f"{runtime()}/pmi2_link-999999999-alive"
    os.mkdir(live, 0o700)
    listens = socket.socket(socket.AF_UNIX)
    listens.bind(f"{live}/socket")
    listens.listen()
    new = f"{runtime()}/pmi2_link-999999998-new"
    os.mkdir(new, 0o700)
    again = hold(s.options())[0]
    wait_for(lambda: not os.path.exists(folder), "the folder is gone")
    release(again)
    need(os.path.exists(f"{live}/socket") and os.path.exists(new),
         "what somebody listens at, of another container perhaps, and what is being made stay")
    os.utime(new, (0, 0))
    again = hold(s.options())[0]
    wait_for(lambda: not os.path.exists(new), "what was never finished is gone, too")
    release(again)


CALLER = """
    c = Client(2)
    c.put("k", "v"); c.fence()
    r = c.ask("cmd=job-connect;jobid=job-fake;")
    say("connected" if r["rc"] == "0" and r["kvscopy"] == "FALSE" else "not", ".")
    sys.stdin.read()
    c.finalize()
"""


class Fake:
    """A launcher that is ours: it has told the server of job-fake, and is called."""

    def __init__(self, server):
        self.line = server.line()
        self.line.good("job;job=job-fake;pid=1;size=1;host=h;command=c;")
        self.listens = socket.socket(socket.AF_UNIX)
        self.listens.settimeout(LIMIT)
        self.path = f"{tmp()}/fake"
        self.listens.bind(self.path)
        self.listens.listen()
        self.job = Job(*server.options(), "-n", 1, *py(CALLER), stdin=subprocess.PIPE)
        told = self.line.reply()
        self.secret, self.answer = told["secret"], told["answer"]
        self.line.send(f"introduced;number={told['number']};path={self.path};")
        self.peer = self.listens.accept()[0]
        self.peer.settimeout(LIMIT)

    def receive(self):
        text = take(self.peer, int(take(self.peer, 6))).decode()
        return dict(w.partition("=")[::2] for w in text.split(";") if w)

    def say(self, text):
        self.peer.sendall(frame(text))

    def connect(self):
        same(self.receive()["secret"], self.secret, "what the caller shows")
        self.say(f"cmd=hello-response;version=1;secret={self.answer};")
        m = self.receive()
        same((m["cmd"], m["to"]), ("connect", "job-fake"), "what it wants")
        self.say(f"cmd=answer;id={m['id']};rc=0;")
        self.job.wait_text("connected .")
        return m["job"]


@rows([(f"who answers is not who was introduced: {what}", text) for what, text in
       (("another secret", "cmd=hello-response;version=1;secret=" + "f" * 32 + ";"),
        ("no secret", "cmd=hello-response;"), ("no answer", None))])
def not_introduced(text):
    fake = Fake(Server())
    if text:
        fake.receive()
        fake.say(text)
        same(fake.peer.recv(100), b"", "what it is told")
    fake.peer.close()
    fake.job.wait_text("not .")
    release(fake.job)


@test("what is asked over a link: keys, those that are not there, jobs that are not connected")
def _():
    fake = Fake(Server())
    job = fake.connect()
    for text, wanted in [(f"from={job};of={job};key=k", ("0", "v")),
                         (f"from={job};of={job};key=none", ("0", None)),
                         (f"from={job};of=job-nowhere;key=k", ("3", None)),
                         (f"from=job-nowhere;of={job};key=k", ("3", None))]:
        fake.say(f"cmd=get;id=5;{text};")
        m = fake.receive()
        same((m["id"], m["rc"], m.get("value")), ("5", *wanted), text)
    fake.say(f"cmd=connect;id=6;job={job};to={job};")
    need(fake.receive()["rc"] != "0", "a job that runs there")
    fake.say("cmd=connect;id=7;job=a b;to=%s;" % job)
    need(fake.receive()["rc"] != "0", "no job id")
    fake.say("cmd=disconnect;job=job-nowhere;to=job-nowhere;")
    fake.say("cmd=ended;job=job-nowhere;")
    fake.say("cmd=failed;job=job-nowhere;status=3;")
    fake.say("cmd=answer;id=4711;rc=0;value=x;")
    fake.say(f"cmd=disconnect;job=job-fake;to={job};")
    fake.say(f"cmd=get;id=8;from={job};of={job};key=k;")
    need(fake.receive()["rc"] != "0", "it is not connected any more")
    release(fake.job)


@rows([(f"a link that makes no sense ends, and with it what is connected: {what}", text)
       for what, text in (("no command", "hello"), ("unknown", "cmd=kill;job=x;"),
                          ("no fields", "cmd=get;id=1;"), ("no id", "cmd=connect;job=a;to=b;"),
                          ("no status", "cmd=failed;job=job-fake;"),
                          ("status 0", "cmd=failed;job=job-fake;status=0;"),
                          ("no job", "cmd=ended;"), ("the end", None))])
def senseless(text):
    fake = Fake(Server())
    fake.connect()
    if text:
        fake.say(text)
        with contextlib.suppress(ConnectionResetError):
            while fake.peer.recv(1000):
                pass
    fake.peer.close()
    r = fake.job.finish()
    same(r.status, 255, f"status ({r})")
    need(any("job-fake of another launcher" in m for m in r.messages), "why", repr(r))


if __name__ == "__main__":
    main()

#!/usr/bin/env -S python3 -B
"""Tools find servers, and what they are called: the system's server, launchers, selectors,
entries that cannot be trusted, other users."""

import re
import contextlib
import json
import signal
import stat as modes

from lib import *
from pmixlib import *
from pmixlib import Closed

SERVER = os.path.join(B, "bin", "pmi2_server")
OTHER = 65534
FIND = finder()
NAMESPACES, NOT_SUPPORTED, EXISTS, BAD_PARAM = "pmix.qry.ns", -47, -11, -27


def root_only(function):
    def run_it(*args):
        if os.geteuid():
            raise Skip("root is needed")
        function(*args)
    return run_it


PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable
# A tool of any user: it prints the status of its hello, and ends with its stdin.
HELLO = '''
import re, socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(b"cmd=init pmi_version=2 pmi_subversion=0\\n")
s.recv(65536)
text = "cmd=pmix-tool-connect;thrid=1;name=%s;rank=%s;" % tuple(sys.argv[2:])
s.sendall(b"%6d%s" % (len(text), text.encode()))
said = s.recv(65536).decode()
print(re.search("status=(-?[0-9]+);", said).group(1), flush=True)
sys.stdin.read()
'''


class Place:
    """Folders of a test's own for the servers of one user, and of the system."""

    def __init__(self):
        os.chmod(tmp(), 0o755)
        self.folder = tempfile.mkdtemp(dir=tmp())
        os.chmod(self.folder, 0o755)
        self.user, self.system = self.folder + "/user", self.folder + "/sys"
        self.env = {"PMIX_SERVER_TMPDIR": self.user, "PMIX_SYSTEM_TMPDIR": self.system}
        self.started = 0

    def files(self):
        return sorted(f for d in (self.user, self.system) if os.path.isdir(d)
                      for f in os.listdir(d) if not f.endswith(".lock"))

    def job(self, *words, **more):
        """A launcher that takes tools by now."""
        job = Job(*words, "-n", 1, "sleep", 600, env=self.env, **more)
        job.socket = wait_for(lambda: self.socket(f"{self.user}/{HOST}.{job.pid}"), "its entry")
        return job

    def socket(self, entry):
        with contextlib.suppress(OSError):
            with open(entry) as f:
                return dict(x.split("=", 1) for x in f.read().splitlines())["uri"][5:]

    def server(self, *words, uid=None):
        """A pmi2_server that takes tools by now."""
        self.started += 1
        where = f"{self.folder}/s{self.started}"
        os.mkdir(where)
        if uid:
            os.chown(where, uid, uid)
        errors = open(where + "/errors", "wb")
        p = subprocess.Popen([SERVER, "--socket", where + "/socket", "--state", where + "/state",
                              *words], stderr=errors, env=environment(new_mark(), self.env),
                             **({"user": uid} if uid else {}))
        p.where = where
        entry = f"{self.system}/{HOST}.sys" if "--system" in words else \
            f"{self.user}/{HOST}.{p.pid}"

        def up():
            need(p.poll() is None, "it has ended", open(where + "/errors").read())
            path = self.socket(entry)
            return path and self.pid(entry) == p.pid and path
        p.socket = wait_for(up, "its entry")
        return p

    def pid(self, entry):
        with open(entry) as f:
            return int(dict(x.split("=", 1) for x in f.read().splitlines())["pid"])

    def find(self, *words, env=None, **more):
        """What the library finds: its status and the lines that follow."""
        r = subprocess.run([*more.pop("prefix", []), FIND, *words], capture_output=True, text=True,
                           timeout=LIMIT, env=environment("none", {**self.env, **(env or {})}),
                           stdin=subprocess.DEVNULL, **more)
        need(r.returncode in (0, 1), "the finder", r)
        lines = r.stderr.splitlines()
        return lines[0], lines[1:]

    def finds(self, *words, **more):
        """The socket found."""
        status, lines = self.find(*words, **more)
        need(status == "PMIX_SUCCESS" and lines[0].startswith("FOUND 0 "), "found", status, lines)
        return lines[0].split()[4]

    def fails(self, status, *words, **more):
        found = self.find(*words, **more)
        same(found[0], status, found)
        return found[1]


def end(*started):
    for x in started:
        if isinstance(x, Job):
            x.kill(signal.SIGTERM)
            x.finish()
        else:
            x.terminate()
            same(x.wait(LIMIT), 0, f"the server's end; it says {open(x.where + '/errors').read()!r}")


# --- RFC0010, tool interaction ------------------------------------------------------------

@test("R10-01: a launcher takes tools; with -disable-tools nothing is there and a tool finds none")
def opt_in():
    p = Place()
    job = p.job()
    same(p.finds(), job.socket, "found")
    Tool(job.socket).close()
    end(job)
    same(p.files(), [], "files after the job")
    job = Job("-disable-tools", "-n", 1, "sh", "-c", "sleep 0.3; echo late; sleep 600", env=p.env)
    job.wait_text("late")
    same(p.files(), [], "files with -disable-tools")
    p.fails("PMIX_ERR_UNREACH")
    end(job)
    job = Job("-disable-tools", "-launcher", "fork", "-hosts", "a,b", "-ppn", "1", "-n", 2, "sh", "-c",
              "echo late; sleep 600", env=p.env)
    job.wait_text("late", 2)
    same(p.files(), [], "files of two nodes")
    p.fails("PMIX_ERR_UNREACH")
    end(job)
    r = subprocess.run([SERVER, "--public-jobs"], capture_output=True, text=True)
    same(r.returncode, 2, r)


@test("R10-02: of two servers of the system the second refuses, and the first goes on")
@root_only
def one_system_server():
    p = Place()
    first = p.server("--system")
    tool = Tool(first.socket)
    for words in (["--system"], ["--system", "--background"]):
        r = subprocess.run([SERVER, *words, "--socket", p.folder + "/x", "--state",
                            p.folder + "/state"], capture_output=True, text=True, timeout=LIMIT,
                           env=environment(new_mark(), p.env))
        need(r.returncode == 1 and "runs already" in r.stderr, "the second refuses", r)
    same(good(tool.call("pmix-servers"))["servers"][0]["pid"], first.pid, "the first's answer")
    same(p.finds("pmix.cnct.sys=true"), first.socket, "found")
    Tool(first.socket).close()
    first.kill()
    first.wait()
    p.fails("PMIX_ERR_UNREACH", "pmix.cnct.sys=true")
    end(p.server("--system"))


@test("R10-03: the system's entry has a fixed name without a pid, in a folder of root's")
@root_only
def system_entry():
    p = Place()
    for _ in range(2):
        s = p.server("--system")
        same(p.files(), [f"{HOST}.sys", f"{HOST}.sys.s"], "entry and socket")
        st = os.stat(f"{p.system}/{HOST}.sys")
        same((st.st_uid, modes.S_IMODE(st.st_mode)), (0, 0o644), "its owner and mode")
        end(s)
        same(p.files(), [], "afterwards")
    os.chmod(p.system, 0o777)
    r = subprocess.run([SERVER, "--system", "--socket", p.folder + "/x", "--state",
                        p.folder + "/state"], capture_output=True, text=True, timeout=LIMIT,
                       env=environment(new_mark(), p.env))
    need(r.returncode == 1 and "mode" in r.stderr, "a folder where others can write", r)


@test("R10-04: sessions of one host each have an entry, by pid and by name")
def sessions():
    p = Place()
    jobs = [p.job(), p.job()]
    same(p.files(), sorted(f"{HOST}.{j.pid}{s}" for j in jobs for s in ("", ".s")), "entries")
    for j in jobs:
        same(p.finds(f"pmix.srvr.pidinfo={j.pid}"), j.socket, "by pid")
        with open(f"{p.user}/{HOST}.{j.pid}") as f:
            name = f.read().split("nspace=")[1].split()[0]
        same(p.finds(f"pmix.srv.nspace={name}"), j.socket, "by name")
        need(name in good(Tool(j.socket).call("pmix-query", queries=[query(NAMESPACES)]))
             ["results"][0]["value"], "its own job")
    same(modes.S_IMODE(os.stat(p.user).st_mode), 0o700, "the folder's mode")
    end(*jobs)
    same(p.files(), [], "afterwards")


@test("R10-05: PMIX_SERVER_TMPDIR and PMIX_SYSTEM_TMPDIR say where, to servers and tools")
@root_only
def folders_of_both():
    here, there = Place(), Place()
    job, system = here.job(), here.server("--system")
    same(here.finds("order=session"), job.socket, "the session's folder")
    same(here.finds("order=system"), system.socket, "the system's folder")
    there.fails("PMIX_ERR_UNREACH", "order=system,session")
    same(there.finds("order=system,session",
                     env={"PMIX_SERVER_TMPDIR": here.user}), job.socket, "one of them")
    end(job, system)


@test("a folder that was named for tools and is not safe is said, and the job goes on without them")
def unsafe_folder():
    folder = tmp()
    os.chmod(folder, 0o755)
    job = Job("-n", 1, "sleep", 600, env={"PMIX_SERVER_TMPDIR": folder})
    wait_for(lambda: b"no tools can connect: " + folder.encode() + b" has mode 0755" in job.error_text(), "the line")
    same(os.listdir(folder), [], "files")
    end(job)


@test("where it would take a tool to let ranks go on, the job ends instead of waiting for ever")
def unsafe_folder_held():
    folder = tmp()
    os.chmod(folder, 0o755)
    r = Job("-hold", "init", "-n", 1, "sleep", 600, env={"PMIX_SERVER_TMPDIR": folder}).finish()
    same(r.status, 255, "status")
    said = " ".join(r.messages)
    need("nobody could release the ranks that are held" in said and "mode 0755" in said, "the line", r)
    r = Job("-hold", "init", "-disable-tools", "-n", 1, "sleep", 600).finish()
    same(r.status, 2, "status")
    need("nobody could release" in " ".join(r.messages), "the line", r)


@test("R10-05: infos name both folders as well, and count more than the variables")
@root_only
def folders_by_infos():
    here, there = Place(), Place()
    job, system, other = here.job(), here.server("--system"), there.job()
    session, systems = f"pmix.srvr.tmpdir={here.user}", f"pmix.sys.tmpdir={here.system}"
    same(there.finds("order=session", session), job.socket, "the session's folder")
    same(there.finds("order=session", systems), other.socket, "which the other info is not")
    same(there.finds("pmix.cnct.sys=true", systems), system.socket, "the system's folder")
    same(there.finds(systems, session), system.socket, "both, in the usual order")
    same(there.finds(f"pmix.srvr.pidinfo={job.pid}", session), job.socket, "with a pid")
    there.fails("PMIX_ERR_UNREACH", "order=session", "pmix.srvr.tmpdir=/nowhere")
    there.fails("PMIX_ERR_BAD_PARAM", "pmix.srvr.tmpdir=5")
    os.chmod(here.user, 0o777)
    lines = there.fails("PMIX_ERR_UNREACH", "order=session", session)
    need("others can write there" in lines[-1], "a folder of anybody is not trusted", lines)
    os.chmod(here.user, 0o700)
    end(job, system, other)


@test("R10-06, R23-01: a URI, a file, the system's, a pid, a name, a host, retries, what is "
      "inherited")
@root_only
def selectors():
    p = Place()
    job, other, system = p.job(), p.job(), p.server("--system")
    entry = f"{p.user}/{HOST}.{job.pid}"
    for key in "pmix.srvr.uri", "pmix.tcp.uri":
        same(p.finds(f"{key}=unix:{job.socket}"), job.socket, key)
        same(p.finds(f"{key}=file:{entry}"), job.socket, key)
    same(p.finds(f"pmix.tool.attach={entry}"), job.socket, "a file")
    same(p.finds("pmix.cnct.sys=true"), system.socket, "the system's alone")
    same(p.finds("pmix.cnct.sys.first=true"), system.socket, "the system's first")
    same(p.finds(f"pmix.srvr.pidinfo={other.pid}"), other.socket, "a pid")
    same(p.finds(f"pmix.srvr.pidinfo={system.pid}"), system.socket, "the system's pid")
    same(p.finds(f"pmix.srvr.host={HOST}", f"pmix.srvr.pidinfo={other.pid}"), other.socket,
         "this host")
    same(p.find("pmix.srvr.host=elsewhere", f"pmix.srvr.pidinfo={other.pid}"),
         ("PMIX_SUCCESS", [f"FOUND 1 elsewhere {other.pid} -"]), "another host")
    same(p.find("pmix.srvr.uri=ssh:elsewhere:77")[1], ["FOUND 1 elsewhere 77 -"], "ssh with a pid")
    same(p.find("pmix.srvr.uri=ssh:elsewhere")[1], ["FOUND 1 elsewhere 0 -"], "ssh")
    same(p.find("pmix.srvr.uri=munge:elsewhere:17653")[1], ["FOUND 3 elsewhere:17653 0 -"], "munge")
    same(p.find("pmix.srvr.uri=munge:elsewhere:1:77")[1], ["FOUND 3 elsewhere:1 77 -"],
         "munge with a pid")
    same(p.finds(env={"PMIX_SERVER_URI": "unix:" + job.socket}), job.socket, "inherited")
    for words in (["pmix.srvr.uri=tcp4://x"], ["pmix.srvr.uri=ssh:"], ["pmix.srvr.uri=ssh:-oX"],
                  ["pmix.srvr.uri=ssh:a:b"], ["pmix.srvr.uri=ssh:a:1:2"],
                  *([f"pmix.srvr.uri=munge:{x}"] for x in (
                      "", "a", "a:", ":1", "-a:1", "a:0", "a:65536", "a:1:", "a:1:0", "a:1:b",
                      "a:1:2:3", "a: 1", "a" * 300 + ":1")),
                  ["pmix.srvr.pidinfo=0"], ["order=up"],
                  ["pmix.srvr.uri=5"], ["pmix.srvr.uri=unix:/" + "x" * 200]):
        p.fails("PMIX_ERR_BAD_PARAM", *words)
    for words in (["pmix.srvr.pidinfo=1"], ["pmix.srv.nspace=nobody"],
                  ["pmix.tool.attach=/nowhere"], ["pmix.srvr.uri=file:/etc/passwd"]):
        p.fails("PMIX_ERR_UNREACH", *words)
    end(system)
    p.fails("PMIX_ERR_UNREACH", "pmix.cnct.sys=true")
    end(other)
    same(p.finds("pmix.cnct.sys.first=true"), job.socket, "the system's first, which is gone")
    end(job)


@test("R10-06: a tool that may try again waits for the server")
def retries():
    p = Place()
    words = ["pmix.tool.retry=1", f"pmix.tool.mretries={LIMIT}"]
    waiting = subprocess.Popen([FIND, *words], stderr=subprocess.PIPE, text=True,
                               env=environment("none", p.env))
    time.sleep(0.3)
    need(waiting.poll() is None, "it waits")
    job = p.job()
    text = waiting.communicate(timeout=LIMIT)[1]
    need(job.socket in text, "found", text)
    end(job)


@test("R10-06: a rank is told that it is one")
def rank_finds():
    p = Place()
    r = run("-n", 1, FIND, env=p.env)
    need(r.err.startswith(b"PMIX_SUCCESS\nFOUND 2 "), "found", r)
    r = run("-n", 1, FIND, "pmix.srvr.pidinfo=1", env=p.env)
    need(r.err.startswith(b"PMIX_ERR_UNREACH\n"), "what it is told goes first", r)


@test("R10-07: without a word the system's server, then the session's; another order as asked")
@root_only
def order():
    p = Place()
    job, system = p.job(), p.server("--system")
    same(p.finds(), system.socket, "both are there")
    same(p.finds("order=session,system"), job.socket, "the other order")
    end(system)
    same(p.finds(), job.socket, "the session's alone")
    user = p.server()
    same(p.finds(), job.socket, "a launcher goes before the user's own resident server")
    end(job)
    same(p.finds(), user.socket, "which is taken if there is none")
    end(user)
    p.fails("PMIX_ERR_UNREACH")


@test("R10-08: several sessions and no selector: a status of its own, and the candidates")
def several():
    p = Place()
    jobs = [p.job(), p.job()]
    lines = p.fails("PMIX_ERR_RESOURCE_BUSY")
    same([x.split()[:2] for x in lines[:2]], [[str(j.pid), str(os.getuid())] for j in jobs],
         "pid and uid, the oldest first")
    for line, job in zip(lines, jobs):
        with open(f"/proc/{job.pid}/stat") as f:
            start = f.read().rsplit(")", 1)[1].split()[19]
        need(line.split()[3] == start, "when its process began", line, start)
        need(f"-{job.pid}-" in line.split()[2], "its name", line)
    need("2 servers" in lines[2] and str(jobs[0].pid) in lines[2], "the words", lines)
    os.kill(jobs[0].root(), signal.SIGKILL)
    jobs[0].finish()
    same(p.finds(), jobs[1].socket, "one has ended")
    end(jobs[1])


# --- entries that count, and those that do not --------------------------------------------

@test("entries that are links, others', stale, half-written or many are passed over")
@root_only
def entries():
    p = Place()
    job = p.job()
    entry = f"{p.user}/{HOST}.{job.pid}"
    with open(entry) as f:
        text = f.read()

    def put(pid, text, mode=0o600, owner=0):
        path = f"{p.user}/{HOST}.{pid}"
        write_file(path, text, mode)
        os.chmod(path, mode)
        os.chown(path, owner, owner)
        return path
    ours = os.getpid()
    fake = text.replace(f"pid={job.pid}\n", f"pid={ours}\n")
    put(ours, fake)                                      # of a process that began at another time
    p.fails("PMIX_ERR_UNREACH", f"pmix.srvr.pidinfo={ours}")
    need(not os.path.exists(f"{p.user}/{HOST}.{ours}"), "who owns a stale one removes it")
    for name, path in (("half-written", put(700001, text[:20])), ("empty", put(700002, "")),
                       ("another's", put(700003, text, owner=OTHER)),
                       ("others can write", put(700004, text, mode=0o666))):
        same(p.finds(), job.socket, name)
        os.unlink(path)
    os.symlink(entry, f"{p.user}/{HOST}.700005")
    os.mkfifo(f"{p.user}/{HOST}.700006")
    os.mkdir(f"{p.user}/{HOST}.700007")
    same(p.finds(), job.socket, "a link, a pipe, a folder")
    for i in range(1500):
        put(800000 + i, text.replace(f"pid={job.pid}\n", f"pid={800000 + i}\n"))
    same(p.finds(), job.socket, "many stale ones")
    for mode in 0o777, 0o770:
        os.chmod(p.user, mode)
        need("write" in p.fails("PMIX_ERR_UNREACH")[-1], "others can write to the folder")
    os.chmod(p.user, 0o700)
    os.rename(p.user, p.folder + "/real")
    os.symlink(p.folder + "/real", p.user)
    p.fails("PMIX_ERR_UNREACH")
    os.unlink(p.user)
    os.rename(p.folder + "/real", p.user)
    end(job)


@test("at most 1000 servers are looked at, and no entry is believed whose process is another")
def most():
    p = Place()
    job = p.job()
    with open(f"{p.user}/{HOST}.{job.pid}") as f:
        text = f.read()
    for i in range(1200):                                # all of the same living process
        write_file(f"{p.user}/{HOST}.{900000 + i}", text.replace("nspace=", f"nspace=n{i}-"), 0o600)
    lines = p.fails("PMIX_ERR_RESOURCE_BUSY")
    same(len(lines), 1000 + 1, "candidates")
    for i in range(1200):
        os.unlink(f"{p.user}/{HOST}.{900000 + i}")
    end(job)


# --- names ---------------------------------------------------------------------------------

@test("R10-33: a tool is called tool.HOST.N, or as it proposes, if nobody is called so")
def names():
    p = Place()
    job = p.job()
    a, b = Tool(job.socket), Tool(job.socket)
    for t in a, b:
        need(re.fullmatch(re.escape(f"tool.{HOST[:40]}.") + "[0-9]+", t.nspace) and t.rank == 0,
             "a given name", t.nspace, t.rank)
    need(a.nspace != b.nspace, "their own names")
    same(Tool(job.socket, name="watch-1").nspace, "watch-1", "a proposed one")
    c = Tool(job.socket, name="watch-2")
    d = Tool(job.socket, hello=False)
    mine = good(a.call("pmix-query", queries=[query(NAMESPACES)]))["results"][0]["value"]
    for name in "watch-2", a.nspace, mine.split(",")[0]:
        r = d.call("pmix-tool-connect", name=name)
        same((r["rc"] != 0, r["status"]), (True, EXISTS), f"{name} is taken: {r}")
    for name in "a b", "x=y", "x" * 64, "a\x1b[2J", "a\x7f", "a\u0085", "a\\n":
        same(d.call("pmix-tool-connect", name=name)["status"], BAD_PARAM, name)
    c.close()

    def free():
        r = d.call("pmix-tool-connect", name="watch-2")
        return r["status"] == 0 and r["nspace"] == "watch-2"
    wait_for(free, "a name that is free again")
    end(job)


@test("R10-33: a tool proposes its rank too: a pair that is taken is refused, a rank alone as well")
def ranks_of_tools():
    p = Place()
    job = p.job()
    first = Tool(job.socket, name="dbg", rank=7)
    same((first.nspace, first.rank), ("dbg", 7), "a proposed identity")
    second = Tool(job.socket, name="dbg", rank=8)
    same((second.nspace, second.rank), ("dbg", 8), "another rank of the same name")
    third = Tool(job.socket, hello=False)
    mine = good(first.call("pmix-query", queries=[query(NAMESPACES)]))["results"][0]["value"]
    for words, status in (({"name": "dbg", "rank": 7}, EXISTS), ({"name": "dbg", "rank": 8}, EXISTS),
                          ({"name": mine, "rank": 99}, EXISTS), ({"rank": 3}, BAD_PARAM),
                          ({"name": "x", "rank": 2**32 - 2}, BAD_PARAM),
                          ({"name": "x", "rank": -1}, BAD_PARAM), ({"name": "x", "rank": 2**32}, BAD_PARAM)):
        same(third.call("pmix-tool-connect", **words)["status"], status, words)
    same(third.call("pmix-tool-connect", name="dbg", rank=9)["status"], 0, "it may try again")
    end(job)


@test("R10-33: a name of another user's tools is refused, whatever the rank; on the system's "
      "server it is not even known")
@root_only
def names_of_users():
    p = Place()
    user = 61001
    os.mkdir(p.user, 0o700)
    os.chown(p.user, user, user)
    job = p.job(user=user, group=user, extra_groups=[], cwd="/")
    tool = os.path.join(p.folder, "hello.py")
    write_file(tool, HELLO, 0o755)

    def hello(path, name, rank, uid):
        """The status that a tool of this user is answered; it stays until it is ended."""
        t = subprocess.Popen([PYTHON, "-S", "-B", tool, path, name, str(rank)], user=uid,
                             group=uid, extra_groups=[], cwd="/", stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True)
        return t, int(t.stdout.readline())
    theirs, status = hello(job.socket, "dbg", 0, user)
    same(status, 0, "the owner's")
    tools = [theirs]
    for name, rank, uid, wanted in (("dbg", 1, 0, EXISTS), ("dbg", 0, 0, EXISTS), ("other", 0, 0, 0),
                                    ("other", 1, user, EXISTS), ("dbg", 1, user, 0)):
        t, status = hello(job.socket, name, rank, uid)
        same(status, wanted, f"{name}:{rank} of uid {uid}")
        tools.append(t)
    system = p.server("--system")
    for uid in 61002, 61003:
        t, status = hello(system.socket, "dbg", 0, uid)
        same(status, 0, f"of uid {uid}, on the system's server")
        tools.append(t)
    t, status = hello(system.socket, "dbg", 0, 61002)
    same(status, EXISTS, "the same user's")
    for t in [*tools, t]:
        t.communicate()
    end(job, system)


FORK3 = ["-launcher", "fork", "-hosts", "a,b,c", "-ppn", "1"]


@rows([(f"R10-23: who connects and who asks is said as the connection has it, whatever a message "
        f"claims, {where}", options) for where, options in (("one host", []),
                                                            ("three hosts", FORK3))])
def audit(options):
    ranks = Ranks("-vv", *options, "-n", 3)
    false = {"nspace": ranks.jobid, "rank": 0, "pid": 4242, "uid": 4243, "gid": 4244,
             "requester": f"{ranks.jobid}:0"}
    liar = Tool(ranks.job, hello=False)
    good(liar.call("pmix-tool-connect", name="liar", **false))
    asked = [query(NAMESPACES, qualifiers=[info("pmix.nspace", "STRING", ranks.jobid),
                                           info("pmix.euid", "UINT32", 4243)])]
    for peer in liar, ranks[2]:
        good(peer.call("pmix-query", queries=asked, **false))
    me = f"tool liar, pid {os.getpid()}, uid {os.getuid()},"
    wanted = [f"mpiexec_lite: {me} has connected", f"mpiexec_lite: {me} sends pmix-query",
              f"mpiexec_lite: rank 2 of {ranks.jobid}, uid {os.getuid()}, sends pmix-query"]

    def said():
        return [x for x in ranks.job.error_text().decode().splitlines()
                if x.endswith(("has connected", "sends pmix-query"))]
    wait_for(lambda: len(said()) >= 3, "three lines")
    same(said(), wanted, "what it says")
    ranks.finish()


@test("R10-23: the system's server says the user of each, as the kernel has it")
@root_only
def audit_of_users():
    p = Place()
    server = p.server("--system", "--verbose")
    guest = subprocess.Popen([sys.executable, "-c", """if True:
        import os, socket, sys
        os.setuid(int(sys.argv[2]))
        s = socket.socket(socket.AF_UNIX)
        s.connect(sys.argv[1])
        s.sendall(b"cmd=init pmi_version=2 pmi_subversion=0\\n")
        for text in (b"cmd=pmix-tool-connect;name=guest;pid=1;uid=0;",
                     b"cmd=pmix-query;pid=1;uid=0;queries=[];"):
            s.sendall(b"%6d" % len(text) + text)
        sys.stdin.read()
        """, server.socket, str(OTHER)], stdin=subprocess.PIPE)
    for what in "has connected", "sends pmix-query":
        line = f": tool guest, pid {guest.pid}, uid {OTHER}, {what}\n"
        wait_for(lambda line=line: line in open(server.where + "/errors").read(), line)
    guest.communicate(timeout=LIMIT)
    end(server)


@test("R10-31: what is served is listed with its version, and is known; other names are not")
def capabilities():
    ranks = Ranks("-n", 1)
    tool = Tool(ranks.job)
    r = good(tool.call("pmix-capabilities"))
    same(r["version"], "1", "the version that PROTOCOL.md describes")
    of_rank = good(ranks[0].call("pmix-capabilities"))
    same((of_rank["commands"], of_rank["version"]), (r["commands"], "1"), "a rank's answer")
    need({"pmix-query", "pmix-log"} <= set(r["commands"]), "RFC0010's", r)
    for name in r["commands"]:
        need("status" in tool.call(name), f"{name} is known")
    need("status" not in tool.call("pmix-none"), "another is not")
    said = ranks.finish().err
    need(b"pmix-" not in said, "what is wrong is told the tool, not who watches the job", said)


@test("R23-15: a tool may have several servers at once")
@root_only
def several_at_once():
    p = Place()
    jobs = [p.job(), p.job()]
    user, system = p.server(), p.server("--system")
    tools = [Tool(s.socket) for s in (*jobs, user, system)]
    for job, t in zip(jobs, tools):
        need(f"-{job.pid}-" in good(t.call("pmix-query", queries=[query(NAMESPACES)]))
             ["results"][0]["value"], "its job")
    for t in tools[2:]:
        r = t.call("pmix-job-control", targets=[], directives=[])
        need(r["status"] == NOT_SUPPORTED and "pmix-servers" in r["errmsg"], "a resident server", r)
        r = good(t.call("pmix-capabilities"))
        same((sorted(r["commands"]), r["version"]),
             (["pmix-capabilities", "pmix-query", "pmix-servers", "pmix-tool-connect"], "1"),
             "what it serves")
    seen = good(tools[2].call("pmix-servers"))["servers"]
    same(sorted((x["kind"], x["pid"]) for x in seen),
         sorted([("job", j.pid) for j in jobs] + [("user", user.pid), ("system", system.pid)]),
         "all servers of this host")
    end(*jobs, user, system)


@test("where no launcher runs one is started for a spawn, as the asking user")
def start_one():
    p = Place()
    env = {**p.env, "PATH": os.path.dirname(LAUNCHER) + ":" + os.environ["PATH"]}
    mark = new_mark()

    def spawn(*words):
        with tempfile.TemporaryFile("w+") as out:        # the launcher keeps it open
            subprocess.run([FIND, "spawn", *words], stdout=out, stderr=out, timeout=LIMIT,
                           env=environment(mark, env), stdin=subprocess.DEVNULL)
            out.seek(0)
            return out.read().splitlines()
    lines = spawn("sleep", "600")
    same(lines[0], "PMIX_SUCCESS", lines)
    name, pid, path = lines[1].split()
    t = Tool(path)
    same(results(good(t.call("pmix-query", queries=[query(NAMESPACES)])))[0][2], name, "its job")
    size = good(t.call("pmix-query", queries=[query("pmix.job.size", qualifiers=[
        info("pmix.nspace", "STRING", name)])]))
    same(results(size)[0][2], 3, "processes")
    same(os.stat(f"/proc/{pid}").st_uid, os.getuid(), "whose it is")
    t.close()
    os.kill(int(pid), signal.SIGTERM)
    nothing_left(mark)
    same(p.files(), [], "files")
    lines = spawn("/nowhere/program")
    same(lines[-2], "PMIX_ERR_JOB_FAILED_TO_LAUNCH", lines)
    need(any("/nowhere/program" in x for x in lines), "the launcher's own words", lines)
    lines = spawn("echo", ":")
    same(lines[0], "PMIX_ERR_BAD_PARAM", lines)
    nothing_left(mark)


@test("a launcher that is started for a spawn: variables reach their ranks, and no command line shows a value")
def start_silently():
    p = Place()
    secret = "hidden" + new_mark()
    values = {"MINE": f"{secret} 'a'\n: b\t ", "EMPTY": "", "TWICE": f"{secret}=2"}
    said = os.path.join(p.folder, "said")
    os.mkdir(said)
    program = write_file(f"{p.folder}/program", f"""#!/bin/sh
cp /proc/self/environ {said}/new.$PMI_RANK && ls -l /proc/self/fd >{said}/fd.$PMI_RANK
mv {said}/new.$PMI_RANK {said}/$PMI_RANK
exec sleep 600
""", 0o755)
    mark = new_mark()
    env = {**p.env, "PATH": os.path.dirname(LAUNCHER) + ":" + os.environ["PATH"], "OTHER": program}
    with tempfile.TemporaryFile("w+") as out:
        words = [f"JOB={secret}", "TWICE=1", *(f"{k}={v}" for k, v in values.items()), program]
        subprocess.run([FIND, "spawn", *words], stdout=out, stderr=out, timeout=LIMIT,
                       env=environment(mark, env), stdin=subprocess.DEVNULL)
        out.seek(0)
        lines = out.read().splitlines()
    same(lines[0], "PMIX_SUCCESS", lines)
    wait_for(lambda: all(os.path.exists(f"{said}/{r}") for r in range(3)), "ranks")
    shown = [pid for pid in pids() if secret.encode() in proc_bytes(pid, "cmdline")]
    same(shown, [], "processes that show it")
    for rank in range(3):
        with open(f"{said}/{rank}", "rb") as f:
            got = dict(x.split("=", 1) for x in f.read().decode().split("\0") if "=" in x)
        same({k: got.get(k) for k in (*values, "JOB")},
             {**(values if rank < 2 else dict.fromkeys(values)), "JOB": secret}, f"rank {rank}")
        with open(f"{said}/fd.{rank}") as f:
            need("environment" not in f.read(), "the file of variables is not open in a rank")
    os.kill(int(lines[1].split()[1]), signal.SIGTERM)
    nothing_left(mark)


@test("pmix_tool and the system's server: it goes on to launchers, and starts one for a spawn")
@root_only
def tool_and_system():
    p = Place()
    system = p.server("--system")
    mark = new_mark()
    env = environment(mark, {**p.env, "PATH": os.path.dirname(LAUNCHER) + ":" + os.environ["PATH"]})

    def tool(*words, status=0):
        r = subprocess.run([os.path.join(B, "bin", "pmix_tool"), *words], env=env, text=True,
                           capture_output=True, stdin=subprocess.DEVNULL, timeout=LIMIT)
        same(r.returncode, status, f"status of {words}: {r}")
        return r.stdout

    def listed(n):
        jobs = json.loads(tool("--json", "ps"))["jobs"]
        return len(jobs) == n and [j["nspace"] for j in jobs if len(j["ranks"]) == 1]
    need("hi\n" in tool("spawn", "echo", "hi"), "a launcher is started")
    name = tool("spawn", "--detach", "sleep", "600").strip()
    os.kill(int(name.split("-")[1]), signal.SIGTERM)
    nothing_left(mark)
    jobs = [p.job("-nameserver", system.where + "/socket")]
    [name] = wait_for(lambda: listed(1), "its table")
    for words in ["proctable"], ["signal", "WINCH"], ["top", "-b", "-n", "1"], \
            ["events", "-n", "1", "-c", "event_job_start"]:
        tool(*words)
    need("hi\n" in tool("spawn", "echo", "hi"), "by that launcher")
    jobs.append(p.job("-nameserver", system.where + "/socket"))
    names = wait_for(lambda: listed(2), "both tables")
    tool("kill", status=4)
    tool("events", "-n", "1", status=4)
    tool("top", "-b", "-n", "1", status=4)
    tool("--nspace", name, "events", "-n", "1", "-c", "event_job_start")
    tool("spawn", "true", status=255)
    tool("kill", *(x for x in names if x != name))
    jobs[1].finish()
    need(alive(jobs[0].pid), "the other goes on")
    end(jobs[0], system)


ALONE = """
#include "pmix_ext/pmix_ext.h"
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
static struct { sem_t done; pmix_status_t status; pmix_nspace_t nspace; } started;
static void on_started(pmix_status_t status, pmix_nspace_t nspace, void *cbdata)
{
    started.status = status;
    PMIX_LOAD_NSPACE(started.nspace, nspace);
    sem_post(cbdata);
}
static pmix_status_t spawn_nb(pmix_app_t *app, pmix_nspace_t job)
{
    pmix_status_t rc;
    sem_init(&started.done, 0, 0);
    rc = PMIx_Spawn_nb(NULL, 0, app, 1, on_started, &started.done);
    memset(app, 0, sizeof *app);
    if (rc != PMIX_SUCCESS)
        return rc;
    sem_wait(&started.done);
    PMIX_LOAD_NSPACE(job, started.nspace);
    return started.status;
}
int main(int argc, char **argv_)
{
    char program[] = "sleep", word[] = "600", *argv[] = { program, word, NULL };
    pmix_app_t app = { .cmd = program, .argv = argv, .maxprocs = 2 };
    pmix_nspace_t job = "";
    pmix_value_t *size = NULL;
    pmix_proc_t me, all;
    pmix_info_t info;
    int rc;

    PMIX_INFO_LOAD(&info, PMIX_TOOL_CONNECT_OPTIONAL, NULL, PMIX_BOOL);
    rc = PMIx_tool_init(&me, &info, 1);
    printf("%d\\n", rc);
    (void)argv_;
    printf("%d %d\\n", PMIx_Spawn(NULL, 0, NULL, 0, job),
           PMIx_Spawn_nb(NULL, 0, NULL, 0, on_started, &started.done));
    rc = argc > 1 ? spawn_nb(&app, job) : PMIx_Spawn(NULL, 0, &app, 1, job);
    PMIX_LOAD_PROCID(&all, job, PMIX_RANK_WILDCARD);
    printf("%d %s\\n", rc, job);
    rc = PMIx_Get(&all, PMIX_JOB_SIZE, NULL, 0, &size);
    printf("%d %u\\n", rc, size ? size->data.uint32 : 0);
    fflush(stdout);
    PMIx_tool_finalize();
    return 0;
}
"""


@rows([("PMIx_Spawn of a tool without a server starts a launcher, which is its server then", [], False),
       ("and so does PMIx_Spawn_nb", ["nb"], False),
       ("and where there is but a resident server, which runs no job", [], True),
       ("and PMIx_Spawn_nb there", ["nb"], True)])
def spawn_alone(words, resident):
    p = Place()
    server = p.server() if resident else None
    source, out = p.folder + "/alone.c", p.folder + "/alone"
    write_file(source, ALONE)
    subprocess.run(["gcc", "-I" + ROOT, source, "-o", out, "-L" + B + "/lib", "-lpmix_ext",
                    "-Wl,-rpath," + os.path.realpath(B) + "/lib"], check=True)
    mark = new_mark()
    env = {**p.env, "PATH": os.path.dirname(LAUNCHER) + ":" + os.environ["PATH"]}
    with tempfile.TemporaryFile("w+") as f:
        subprocess.run([out, *words], stdout=f, stderr=f, timeout=LIMIT, env=environment(mark, preloaded(env)),
                       stdin=subprocess.DEVNULL)
        f.seek(0)
        lines = f.read().splitlines()
    same(len(lines), 4, f"lines {lines}")
    same(lines[1], "-27 -27" if resident else "-25 -25", "of nothing")
    need(lines[0] == "0" and lines[2].startswith("0 job-") and lines[3] == "0 2", "output", lines)
    os.kill(int(lines[2].split("-")[1]), signal.SIGTERM)
    nothing_left(mark)
    if server:
        end(server)


END_MEANWHILE = """
#include "pmix_ext/pmix_ext.h"
#include <stdio.h>
static void on_started(pmix_status_t status, pmix_nspace_t nspace, void *cbdata)
{
    (void)cbdata;
    printf("%d %s.\\n", status, nspace);
}
int main(void)
{
    char program[] = "sleep", word[] = "1", *argv[] = { program, word, NULL };
    pmix_app_t app = { .cmd = program, .argv = argv, .maxprocs = 1 };
    pmix_info_t info;
    pmix_proc_t me;
    int rc;

    PMIX_INFO_LOAD(&info, PMIX_TOOL_CONNECT_OPTIONAL, NULL, PMIX_BOOL);
    PMIx_tool_init(&me, &info, 1);
    rc = PMIx_Spawn_nb(NULL, 0, &app, 1, on_started, NULL);
    printf("%d\\n", rc);
    printf("%d\\n", PMIx_tool_finalize());
    return 0;
}
"""


@test("the end of the library waits for a PMIx_Spawn_nb that is starting a launcher, no more")
def spawn_end():
    p = Place()
    source, out = p.folder + "/end.c", p.folder + "/end"
    write_file(source, END_MEANWHILE)
    subprocess.run(["gcc", "-I" + ROOT, source, "-o", out, "-L" + B + "/lib", "-lpmix_ext",
                    "-Wl,-rpath," + os.path.realpath(B) + "/lib"], check=True)
    mark = new_mark()
    env = {**p.env, "PATH": os.path.dirname(LAUNCHER) + ":" + os.environ["PATH"]}
    r = subprocess.run([out], stdout=subprocess.PIPE, timeout=LIMIT, env=environment(mark, preloaded(env)),
                       stdin=subprocess.DEVNULL, text=True)
    lines = r.stdout.splitlines()
    need(lines[0] == "0" and lines[-1] == "0" and len(lines) == 3, "called back", lines)
    need(lines[1].startswith(("0 job-", f"-31 .")), "what became of it", lines)
    nothing_left(mark)


# --- other users ---------------------------------------------------------------------------

AS_OTHER = """
import json, socket, sys
s = socket.socket(socket.AF_UNIX)
s.settimeout(30)
try:
    s.connect(sys.argv[1])
    s.sendall(b"cmd=init pmi_version=2 pmi_subversion=0\\n")
    def ask(text):
        s.sendall(b"%6d" % len(text) + text)
        data = b""
        while len(data) < 6 or len(data) < 6 + int(data[:6]):
            more = s.recv(65536)
            if not more: return data
            data += more
        return data
    print("line", s.makefile("rb", buffering=0).readline())
    for text in sys.argv[2:]:
        print(ask(text.encode()).decode())
except OSError as e:
    print("refused", type(e).__name__)
"""
ASKED = ["cmd=pmix-tool-connect;thrid=1;", "cmd=pmix-servers;thrid=2;",
         'cmd=pmix-query;thrid=3;queries=[{"keys":["pmix.qry.ns"]}];']


def as_other(path, uid=OTHER):
    python = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable
    r = subprocess.run([python, "-S", "-B", "-c", AS_OTHER, path, *ASKED], user=uid, group=uid,
                       extra_groups=[], cwd="/", capture_output=True, text=True, timeout=LIMIT)
    return r.stdout


@test("T16: another user's tool cannot call a launcher, and is hung up on without a word")
@root_only
def other_users():
    p = Place()
    job = p.job()
    same(as_other(job.socket), "refused PermissionError\n", "the folder is closed")
    os.chmod(p.user, 0o755)
    os.chmod(job.socket, 0o777)
    out = as_other(job.socket)
    need(out in ("line b''\n", "refused ConnectionResetError\n", "refused BrokenPipeError\n") or
         out.startswith("line b''\nrefused"), "not a byte", out)
    os.chmod(p.user, 0o700)
    Tool(job.socket).close()                             # root may
    end(job)


@test("the system's server tells a user of his own jobs only; --public-jobs of all")
@root_only
def system_and_users():
    p = Place()
    for words, sees in (["--system"], False), (["--system", "--public-jobs"], True):
        s = p.server(*words)
        job = p.job("-nameserver", s.where + "/socket")
        tool = Tool(s.socket)
        name = wait_for(lambda: good(tool.call("pmix-query", queries=[query(NAMESPACES)]))
                        ["results"][0]["value"], "the job")
        need(f"-{job.pid}-" in name, "root sees it", name)
        mine = wait_for(lambda: [x for x in good(tool.call("pmix-servers"))["servers"]
                                 if x["pid"] == job.pid], "its socket")
        same((mine[0]["uri"], mine[0]["uid"], mine[0]["nspace"]),
             ("unix:" + job.socket, os.getuid(), name), "the launcher")
        out = as_other(s.socket)
        need("status=0" in out, "the other user is served", out)
        same(name in out, sees, f"what another user learns of it: {out}")
        need(job.socket not in out, "where its socket is", out)
        end(job, s)


@test("strace of another user's tool shows refusals and an empty list alone")
@root_only
def traced():
    if not shutil.which("strace"):
        raise Skip("strace is missing")
    p = Place()
    job = p.job()
    shared = tempfile.mkdtemp(prefix="mpx-find-")
    try:
        os.chmod(shared, 0o777)
        program = shutil.copy(FIND, shared)
        os.chmod(program, 0o755)
        r = subprocess.run(["strace", "-f", "-e", "trace=file,connect", "-o", shared + "/trace",
                            program], user=OTHER, group=OTHER, extra_groups=[], cwd="/",
                           capture_output=True, text=True, timeout=LIMIT,
                           env=environment("none", p.env))
        need("PMIX_ERR_UNREACH" in r.stderr, "nothing is found", r)
        with open(shared + "/trace") as f:
            seen = [x for x in f.read().splitlines() if p.folder in x]
        need(seen and not any("connect(" in x for x in seen), "no socket is called", seen)
        for x in seen:
            need("EACCES" in x or "ENOENT" in x or p.user in x, "refused", x)
        need(not any(str(job.pid) in x for x in seen), "no entry is seen", seen)
    finally:
        shutil.rmtree(shared)
    end(job)


# --- ends ----------------------------------------------------------------------------------

@test("entry and socket go with the launcher, whichever of its processes is killed")
def killed():
    p = Place()
    for which in "front", "root":
        job = p.job()
        t = Tool(job.socket)
        os.kill(job.pid if which == "front" else job.root(), signal.SIGKILL)
        job.finish(clean=False)
        nothing_left(job.mark)
        wait_for(lambda: p.files() == [], f"no file after a kill of the {which}")
        try:
            t.call("pmix-capabilities")
            raise Wrong("answered by nobody")
        except (Closed, OSError):
            pass


@test("100 tools that call, ask and die at random: the launcher loses nothing, the job goes on")
def many():
    sys.path.insert(0, os.path.join(ROOT, "test", "long"))
    import tools
    tools.storm(100, say=lambda *_: None)


main()

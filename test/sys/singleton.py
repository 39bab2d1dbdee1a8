#!/usr/bin/env -S python3 -B
"""Programs that were started without a launcher and come to need one: over PMI-1 as MPICH
does it, and through our libpmi2."""

import re
import socket

from lib import *

LIB = os.path.join(B, "lib")
SANITIZED = b"__asan" in subprocess.run(["nm", "-D", f"{LIB}/libpmi2.so.0"],
                                        stdout=subprocess.PIPE, check=True).stdout


def build(name, *flags):
    out = f"{tmp()}/{name}"
    more = ["-fsanitize=address,undefined"] if SANITIZED else []
    subprocess.run(["cc", "-Wall", "-Werror", "-O1", "-o", out, f"{ROOT}/test/progs/{name}.c",
                    *flags, f"-L{LIB}", "-lpmi2", "-lpthread", "-ldl", f"-Wl,-rpath,{LIB}", *more],
                   check=True)
    return out


def script(name, *lines):
    path = f"{tmp()}/{name}"
    with open(path, "w", encoding="ascii") as f:
        f.write("\n".join(("#!/bin/sh",) + lines) + "\n")
    os.chmod(path, 0o755)
    return path


class Alone(Job):
    """A program without a launcher; what it starts has its mark."""

    def __init__(self, *words, stdin=subprocess.DEVNULL, env=None):
        self.mark = new_mark()
        self.out_file, stdout = self._file(None)
        self.err_file, stderr = self._file(None)
        self.words = [str(w) for w in words]
        env = {"ASAN_OPTIONS": "detect_leaks=0", **(env or {})}
        self.popen = subprocess.Popen(self.words, stdin=stdin, stdout=stdout, stderr=stderr,
                                      env=environment(self.mark, env), start_new_session=True)
        self.pid = self.popen.pid

    def launcher(self):
        """The front end of the launcher that it has started."""
        def look():
            # The other one is its child.
            both = [p for p in left(self.mark) if is_launcher(p)]
            return next((p for p in both if children(p)), None)
        return wait_for(look, "a launcher")

    def end(self, status=0):
        """Its output, once it and all that it has started have ended."""
        r = self.finish(clean=False)
        nothing_left(self.mark)
        same(r.status, status, f"status of {r}")
        return Result(r.raw, self.text(), self.error_text())


def is_launcher(pid):
    words = proc_bytes(pid, "cmdline").split(bytes(1))
    return bool({b"-singleton-fd", b"-pmi_args"} & set(words)) and b"/sh" not in words[0]


def program(*flags):
    return build("pmi2_singleton", f"-I{ROOT}/pmi2", *flags)


def lines_of(*words, **more):
    """What the program says, its first line and its own id left out."""
    r = Alone(program(), *words, **more).end()
    own = re.search(r"pid (\d+) spawned 0 size 1 rank 0 appnum 0", r.lines[0])
    need(own, "a job of one", r)
    return [re.sub(rf"singleton_{own[1]}_[0-9a-f]{{8}}", "ID", x) for x in r.lines[1:]], r


# --- libpmi2 ---------------------------------------------------------------------

@test("what one process can do alone starts nothing")
def alone():
    env = {"PMI2_LAUNCHER": script("launcher", f"touch {tmp()}/started")}
    lines, _ = lines_of("id", "put", "k", "v", "fence", "get", "k", "get", "other", "attr", "a",
                        "b", "getattr", "a", "fixed", "f", "1", "put", "f", "2", "put", "PMI_x",
                        "y", "initialized", "count", "finalize", "initialized", env=env)
    same(lines, ["id=ID", "put: ok", "fence: ok", "k=v", "other has no value", "attr: ok", "a=b",
                 "fixed: ok", "put: 4 key f is read-only", "put: 4 key PMI_x is read-only",
                 "initialized: 1",
                 "SIGCHLD 0, children 0, descriptors +0", "finalize: ok", "initialized: 0"],
         "output")
    need(not os.path.exists(f"{tmp()}/started"), "no launcher was started")


@test("spawn hands over what was put, and the job keeps its id")
def spawned():
    lines, r = lines_of("put", "k", "v;w", "fixed", "f", "1", "attr", "a", "b", "id", "spawn",
                        "true", "", "id", "same", "get", "k", "put", "f", "2", "getattr", "a",
                        "put", "k", "new", "fence", "get", "k", "spawn", "true", "", "initialized",
                        "count", "finalize", "count")
    same(lines, ["put: ok", "fixed: ok", "attr: ok", "id=ID", "spawned ID.1", "id=ID", "same: 1",
                 "k=v;w", "put: 4 kvs-put: key f is read-only", "a=b", "put: ok", "fence: ok",
                 "k=new", "spawned ID.2", "initialized: 1", "SIGCHLD 0, children 0, descriptors +1",
                 "finalize: ok", "SIGCHLD 0, children 0, descriptors +0"], "output")
    same(r.err, b"", "stderr")


@rows([("a large key-value space is handed over", None)])
def large(_):
    words = [w for i in range(300) for w in ("put", f"key-{i}", f"{i}" * 300)]
    lines, _ = lines_of(*words, "spawn", "true", "", "get", "key-0", "get", "key-299")
    same(lines[-3:], ["spawned ID.1", "key-0=" + "0" * 300, "key-299=" + "299" * 300], "output")


@rows([("the whole spawn program, Slurm's header and any library of that name", []),
       ("the whole spawn program, MPICH's structures", ["-DMPICH_STYLE", f"-I{ROOT}/pmi2"])])
def whole(flags):
    r = Alone(build("pmi2_spawn", *flags), "parent", env={"LD_LIBRARY_PATH": LIB}).end()
    same(sorted(r.lines), [f"child {i}: ok" for i in range(3)] + ["rank 0: ok"], f"output of {r}")


@test("threads that spawn, put, get and fence while the launcher comes")
def threads():
    lines, r = lines_of("threads", 8, "same", "count")
    same(lines, ["threads: done", "same: 1", "SIGCHLD 0, children 0, descriptors +1"], f"{r}")


@test("names: published, found, found again by a second program's lookup failing")
def names():
    lines, _ = lines_of("publish", "n", "port;1", "lookup", "n", "lookup", "other", "same", "connect",
                        "no-job")
    same(lines[:2] + lines[3:4], ["publish: ok", "n=port;1", "same: 1"], "output")
    need(lines[2].startswith("lookup: 14 ") and "no-job" in lines[4], "errors", *lines)


@test("info pairs of names reach the server, on both commands")
def name_infos():
    lines, _ = lines_of("publish-kv", "persistence", "first-read", "once", "p", "lookup-kv", "wait",
                        "TRUE", "once", "lookup-kv", "timeout", "1", "once", "publish-kv", "range",
                        "galaxy", "n", "p", "lookup-kv", "timeout", "soon", "n")
    same(lines[:2], ["publish: ok", "once=p"], "output")
    need(lines[2].startswith("lookup: 14 "), "it is read once", *lines)
    need(lines[3].startswith("publish: 6 ") and "'galaxy'" in lines[3] and
         lines[4].startswith("lookup: 6 ") and "timeout=soon" in lines[4], "values that mean nothing",
         *lines)


@test("a child has no stdin, our stdout and stderr, and none of our descriptors")
def descriptors():
    read, write = os.pipe()
    os.set_inheritable(write, True)
    child = script("child", "cat", "echo to stderr >&2", "ls -l /proc/self/fd >&1")
    job = subprocess.Popen([program(), "spawn", child, "", "await", "same", "finalize"],
                           pass_fds=[write],
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           env=environment(new_mark(), {"ASAN_OPTIONS": "detect_leaks=0"}))
    try:
        target = os.readlink(f"/proc/{job.pid}/fd/{write}")
        out, err = job.communicate(b"line\n", LIMIT)
    finally:
        os.close(write)
    need(b"same: 1" in out and b"line" not in out, "the line was for the program", out)
    need(b"to stderr" in err, "stderr", err)
    need(b"-> " in out and target.encode() not in out, "descriptors of the child", out)
    same(read_all(read), b"", "the pipe is closed everywhere")


FAILING = [
    ("is not there", lambda: "/no/such/launcher", "cannot start", "No such file or directory"),
    ("is not executable", lambda: "/etc/passwd", "cannot start", "Permission denied"),
    ("is a folder", lambda: "/", "cannot start", "Permission denied"),
    ("is switched off", lambda: "", "PMI2_LAUNCHER is empty", "it starts none"),
    ("ends at once", lambda: "/bin/false", "does not serve it", "closed the connection"),
    ("ends after init", lambda: script("l", "read line <&3"), "does not serve it", "connection"),
    ("says something else", lambda: script("l", "echo hello >&3", "exec sleep 1000"), "does not serve it",
     "a PMI command"),
    ("speaks PMI-1", lambda: script("l", "echo cmd=response_to_init rc=-1 pmi_version=1 "
                                    "pmi_subversion=1 >&3", "exec sleep 1000"), "does not serve it",
     "it speaks PMI 1.1"),
    ("stops", lambda: script("l", "kill -STOP $$"), "does not serve it", "timed out"),
    ("says nothing", lambda: script("l", "exec sleep 1000"), "does not serve it", "timed out"),
    ("is slow on the way", lambda: script("l", "printf cmd=resp >&3", "exec sleep 1000"),
     "does not serve it", "timed out"),
]


@rows([(f"a launcher that {name}", *row) for name, *row in FAILING])
def failing(path, *wanted):
    env = {"PMI2_LAUNCHER": path(), "PMI2_LAUNCHER_TIMEOUT": "0.5"}
    lines, r = lines_of("put", "k", "v", "spawn", "true", "", "publish", "a", "b", "same", "get",
                        "k", "put", "l", "w", "fence", "get", "l", "initialized", "count",
                        "finalize", env=env)
    for line, name in (lines[1], "spawn"), (lines[2], "publish"):
        need(line.startswith(f"{name}: 14 ") and all(w in line for w in wanted),
             "the error tells", line)
    same([lines[0]] + lines[3:], ["put: ok", "same: 1", "k=v", "put: ok", "fence: ok", "l=w",
                                  "initialized: 1", "SIGCHLD 0, children 0, descriptors +0",
                                  "finalize: ok"], f"{r}")


@test("what failed once may succeed later")
def again():
    launcher = script("l", f"[ -e {tmp()}/second ] && exec {LAUNCHER} \"$@\"", f"touch {tmp()}/second")
    lines, _ = lines_of("put", "k", "v", "spawn", "true", "", "spawn", "true", "", "get", "k",
                        "count", env={"PMI2_LAUNCHER": launcher})
    need("does not serve it" in lines[1], "the first", *lines)
    same(lines[2:], ["spawned ID.1", "k=v", "SIGCHLD 0, children 0, descriptors +1"], "the second")


@rows([("in PATH, where it is not beside the library", None)])
def in_path(_):
    folder = f"{tmp()}/path"
    os.mkdir(folder)
    os.symlink(LAUNCHER, f"{folder}/mpiexec_lite")
    out = program()
    os.rename(out, f"{folder}/program")
    shutil.copy(f"{LIB}/libpmi2.so.0", folder)
    r = Alone(f"{folder}/program", "spawn", "true", "",
              env={"LD_LIBRARY_PATH": folder, "PATH": f"{folder}:{os.environ['PATH']}"}).end()
    need(r.lines[1].startswith("spawned "), "spawned", r)


@test("children on the hosts of HYDRA_HOST_FILE; the program stays here")
def hosts():
    with open(f"{tmp()}/hosts", "w", encoding="ascii") as f:
        f.write("a:2\nb:2\n")
    launcher = script("l", f"exec {LAUNCHER} -launcher fork -l \"$@\"")
    child = script("child", "echo here")
    r = Alone(program(), "spawn", child, "", "same", "finalize",
              env={"HYDRA_HOST_FILE": f"{tmp()}/hosts", "PMI2_LAUNCHER": launcher}).end()
    need("same: 1" in r.lines and b"here" in r.out, "output", r)


# --- what ends with what ------------------------------------------------------------

SLEEPER = ["spawn", "sleep", "3600"]


def with_sleeper(*more, **args):
    a = Alone(program(), *SLEEPER, *more, "await", "same", "put", "x", "y", stdin=subprocess.PIPE,
              **args)
    a.wait_text("spawned singleton")
    wait_for(lambda: sleepers(a), "the child")
    return a


def sleepers(a):
    return [p for p in left(a.mark) if proc_bytes(p, "cmdline") == b"sleep\x003600\0"]


def waiting_child(last):
    return script("child", f"while [ ! -e {tmp()}/go ]; do sleep 0.05; done", last)


def go():
    with open(f"{tmp()}/go", "w", encoding="ascii"):
        pass


@rows([("killed", signal.SIGKILL), ("terminated", signal.SIGTERM)])
def dies(signo):
    a = with_sleeper()
    a.kill(signo)
    r = a.end(128 + signo)
    need("has ended without finalize" in r.err.decode(), "the launcher says why", r)


@test("killed, while a child that it has forked holds all its descriptors")
def dies_forked():
    a = with_sleeper("fork")
    a.wait_text("forked")
    a.kill(signal.SIGKILL)
    wait_for(lambda: not sleepers(a), "what it had spawned ends")
    wait_for(lambda: not any(map(is_launcher, left(a.mark))), "the launcher ends")


@rows([("its launcher's front end is killed", lambda a: a.launcher()),
       ("its launcher's root is killed", lambda a: next(c for c in children(a.launcher())))])
def loses(which):
    a = with_sleeper()
    os.kill(which(a), signal.SIGKILL)
    wait_for(lambda: not sleepers(a), "the children end")
    need(a.popen.poll() is None, "the program goes on")
    a.popen.stdin.write(b"\n")
    a.popen.stdin.close()
    r = a.end()
    need(r.lines[-1].startswith("put: 14 "), "PMI calls fail", r)


@test("a child fails: those connected end, the program hears of it by its PMI calls")
def child_fails():
    a = Alone(program(), *SLEEPER, "spawn", waiting_child("kill -SEGV $$"), "", "await", "put",
              "x", "y", stdin=subprocess.PIPE)
    a.wait_text("spawned singleton", 2)
    need(sleepers(a), "the sleeper runs")
    go()
    wait_for(lambda: not sleepers(a), "the sleeper ends")
    a.popen.stdin.write(b"\n")
    a.popen.stdin.close()
    r = a.end()
    need(r.lines[-1].startswith("put: 14 ") and b"SIGSEGV" in r.err, "what is told", r)


@test("children of a program that has finalized run to their end")
def finalized():
    a = Alone(program(), "spawn", waiting_child("echo late"), "", "finalize")
    a.popen.wait(LIMIT)
    need(b"late" not in a.text() and left(a.mark), "the child runs")
    go()
    need("late" in a.end().lines, "its output")


@test("Ctrl-C ends the program, and so all that it has started")
def interrupted():
    t = Terminal([program(), *SLEEPER, "await"], env={"ASAN_OPTIONS": "detect_leaks=0"})
    t.wait_text("spawned singleton")
    t.type("\x03")
    same(t.finish(), -signal.SIGINT, "status")
    nothing_left(t.mark)


@test("Ctrl-C that the program takes itself harms nothing")
def handled():
    words = [program(), "spawn", waiting_child("echo child good"), "x", "await", "same"]
    t = Terminal(["sh", "-c", "trap '' INT; exec " + " ".join(words)],
                 env={"ASAN_OPTIONS": "detect_leaks=0"})
    t.wait_text("spawned singleton")
    t.type("\x03")
    t.wait_text("^C")
    go()
    t.wait_text("child good")
    t.type("\n")
    t.wait_text("same: 1")
    same(t.finish(), 0, "status")
    nothing_left(t.mark)


# --- PMI-1, by the bytes --------------------------------------------------------------

CLIENT = """
    import socket

    def launched(stdio="yes", cached=None):
        "What MPICH does at the first call that needs a server."
        s = socket.socket()
        s.bind(("", 0))
        s.listen(5)
        if os.fork() == 0:
            os.close(0)
            own = str(os.getpid())              # the launcher's own
            os.execvp("mpiexec", ["mpiexec", "-pmi_args", str(s.getsockname()[1]),
                                  "default_interface", "default_key", own])
        conn = s.accept()[0]
        os.environ["PMI_FD"] = str(conn.detach())
        c = Client(0)
        c.version = 1
        need(c.line() == "cmd=singinit authtype=none", "singinit")
        c.send("cmd=singinit pmi_version=1 pmi_subversion=1 stdio=%s authtype=none\\n" % stdio)
        info = c.reply()
        need(info["cmd"] == "singinit_info" and info["versionok"] == "yes", info)
        need(info["stdio"] == "no", "no terminal is taken over", info)
        c.init(1)
        maxes = c.ask("cmd=get_maxes")
        need(maxes["rc"] == "0" and int(maxes["kvsname_max"]) <= 256, maxes)
        name = info["kvsname"]
        if cached is None:                      # MPICH 4.0
            need(c.ask("cmd=put kvsname=%s key= value=" % name)["rc"] == "0", "empty put")
        else:                                   # later ones
            need(c.ask("cmd=put kvsname=%s key=%s value=%s" % (name, *cached))["rc"] == "0", "put")
            c.fence()
        need(c.kvsname() == name, "one name")
        return c

    def spawn(c, program, *args):
        lines = ["mcmd=spawn", "nprocs=1", "execname=" + program, "totspawns=1", "spawnssofar=1",
                 "argcnt=%d" % len(args)]
        lines += ["arg%d=%s" % (i + 1, a) for i, a in enumerate(args)]
        lines += ["preput_num=1", "preput_key_0=PARENT_ROOT_PORT_NAME", "preput_val_0=tag#0$p",
                  "info_num=0", "endcmd", ""]
        c.send("\\n".join(lines))
        return c.reply()
"""


def mpiexec_in_path(target=LAUNCHER):
    folder = f"{tmp()}/bin"
    os.makedirs(folder, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        os.symlink(target, f"{folder}/mpiexec")
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


def raw(code, **more):
    text = "\n".join(x[4:] for x in CLIENT.split("\n"))
    lines = code.strip("\n").splitlines()
    indent = len(lines[0]) - len(lines[0].lstrip())
    text += "\n" + "\n".join(x[indent:] for x in lines)
    return Alone(*py(text), env=mpiexec_in_path(), **more)


@rows([("MPICH 4.0's empty put", "None"), ("a cached pair", "('cached', 'a value')")])
def dialogue(cached):
    r = raw(f"""
        c = launched(cached={cached})
        need(c.get("cached") == ({cached} or (0, None))[1], "the cached pair")
        need(c.ask("cmd=get_universe_size")["rc"] == "0", "universe size")
        need(c.appnum() == 0, "appnum")
        c.put("k", "v")
        c.fence()
        need(c.get("k") == "v", "own key")
        need(c.ask("cmd=publish_name service=s port=p")["rc"] == "0", "publish")
        need(c.ask("cmd=lookup_name service=s")["port"] == "p", "lookup")
        c.finalize()
        os.close(c.fd)
        need(os.waitstatus_to_exitcode(os.wait()[1]) == 0, "the launcher's status")
        say("good")
    """).end()
    same((r.lines, r.err), (["good"], b""), "output")


@test("spawn, over PMI-1: a child that finds its parent, one that is not there")
def raw_spawn():
    child = py("""
        c = Client(1)
        need(os.environ["PMI_SPAWNED"] == "1", "spawned")
        need(c.get("PARENT_ROOT_PORT_NAME") == "tag#0$p", "the port")
        c.fence()
        c.finalize()
        say("child good")
    """)
    with open(f"{tmp()}/child.py", "w", encoding="utf-8") as f:
        f.write(child[-1])                   # a newline cannot be said in an argument
    r = raw(f"""
        c = launched()
        r = spawn(c, *{[*child[:-2], f"{tmp()}/child.py"]!r})
        need(r["rc"] == "0" and r.get("errcodes", "0") == "0", "spawn", r)
        need(spawn(c, "/no/such")["rc"] != "0", "nothing is there")
        c.fence()
        c.finalize()
        say("good")
    """).end()
    same(sorted(r.lines), ["child good", "good"], f"{r}")


def raw_sleeper(*more):
    a = raw("""
        c = launched()
        need(spawn(c, "sleep", "3600")["rc"] == "0", "spawn")
        say("spawned")
        """ + "\n        ".join(more or ["os.read(0, 1)"]), stdin=subprocess.PIPE)
    a.wait_text("spawned")
    wait_for(lambda: sleepers(a), "the child")
    return a


@rows([("over PMI-1: killed", signal.SIGKILL), ("over PMI-1: interrupted", signal.SIGINT)])
def raw_dies(signo):
    a = raw_sleeper("signal = __import__('signal')", "signal.signal(2, signal.SIG_DFL)",
                    "os.read(0, 1)")
    os.killpg(a.pid, signo)                  # as a terminal does
    a.end(128 + signo)


@rows([("over PMI-1: the launcher's front end is killed", lambda a: a.launcher()),
       ("over PMI-1: its root is killed", lambda a: children(a.launcher())[0])])
def raw_loses(which):
    a = raw_sleeper("os.read(0, 1)", "need(c.rest() == b'', 'the end')", "say('alone again')")
    os.kill(which(a), signal.SIGKILL)
    wait_for(lambda: not sleepers(a), "the children end")
    a.popen.stdin.write(b"\n")
    a.popen.stdin.close()
    need("alone again" in a.end().lines, "the program goes on")


@test("Debian's MPICH: publish and look up without a launcher")
def mpich():
    out = f"{tmp()}/publish"
    subprocess.run(["mpicc.mpich", "-o", out, f"{ROOT}/test/mpi/publish.c"], check=True)
    r = Alone(out, env=mpiexec_in_path()).end()
    same(r.lines, ["ok publish"], f"{r}")


# --- who may -----------------------------------------------------------------------

def as_user(uid):
    os.setgid(uid)
    os.setuid(uid)


@rows([("another user's program is not served", 0, 65534),
       ("nor root's by another user's launcher", 65534, 0)])
def users(server, listener):
    if os.getuid() != 0:
        raise Skip("not root")
    os.chmod(tmp(), 0o755)
    launcher = shutil.copy(LAUNCHER, f"{tmp()}/mpiexec_lite")
    code = "import os, socket, sys; u = int(sys.argv[1]); os.setgid(u); os.setuid(u); s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(5); " \
           "print(s.getsockname()[1], flush=True); c = s.accept()[0]; print(c.recv(100), flush=True)"
    other = subprocess.Popen([sys.executable, "-c", code, str(listener)], stdout=subprocess.PIPE,
                             env=environment(new_mark()))
    port = int(other.stdout.readline())
    r = subprocess.run([launcher, "-pmi_args", str(port), "default_interface", "default_key", "1"],
                       stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=LIMIT, cwd="/",
                       preexec_fn=lambda: as_user(server), env=environment(new_mark()))
    need(r.returncode == 255 and b"is not a program of this user" in r.stderr, "refused", repr(r))
    same(other.stdout.read(), b"b''\n", "not a byte was said")
    other.wait()


@rows([("a port where nobody listens", ["-pmi_args", "1", "i", "k", "1"], 255, "cannot connect"),
       ("no descriptor", ["-singleton-fd", "77:id", "x"], 255, "descriptor 77"),
       ("a file", ["-singleton-fd", "0:id", "x"], 255, "a descriptor above 2"),
       ("no job id", ["-singleton-fd", "7", "x"], 255, "job id"),
       ("a job id that is none", ["-singleton-fd", "7:a b", "x"], 255, "job id")])
def wrong(words, status, text):
    r = run(*words)
    need(text in "".join(r.messages), "message", r)
    need(r.status in (status, 2), "status", r)


if __name__ == "__main__":
    main()

#!/usr/bin/env -S python3 -B
"""RFC0023's flows by a tool in C, on libpmix_ext alone (test/progs/pmix_flow.c): direct and indirect launch;
how a launcher and the tool that has started it meet, by variables of its environment."""

import os
import signal
import socket
import stat as modes
import subprocess

from lib import *
from pmixlib import *

LIB = os.path.join(B, "lib")
FORK = {"HYDRA_LAUNCHER_AUTOFORK": "0"}
NODES = ["-launcher", "fork", "-hosts", "a,b", "-ppn", "1", "-n", "2"]
WHERE = [("here", ["-n", "2"]), ("on two nodes", NODES)]
HOWS = ["uri-fork", "uri-system", "uri-spawn", "uri-alias", "pause-fork", "pause-old"]
READY, RELEASE = -155, -3
VALGRIND = ["valgrind", "-q", "--leak-check=full", "--show-leak-kinds=definite,indirect",
            "--errors-for-leak-kinds=definite,indirect", "--error-exitcode=99"]
GONE = "mpiexec_lite: the tool that the launcher waits for has gone"


def flow_program():
    """pmix_flow, built with the library that is tested."""
    out = os.path.join(B, "test", "sys-progs", "pmix_flow")
    os.makedirs(os.path.dirname(out), exist_ok=True)
    subprocess.run(["cc", "-Wall", "-Wextra", "-Werror", "-O1", "-g", "-o", out, f"{ROOT}/test/progs/pmix_flow.c",
                    f"-I{ROOT}/pmix_ext/std", f"-L{LIB}", "-lpmix_ext", f"-Wl,-rpath,{LIB}", "-lpthread"], check=True)
    return out


FLOW = flow_program()


def preload():
    """The sanitizers' runtime, where the library was built with them."""
    if b"__asan" not in subprocess.run(["nm", "-D", f"{LIB}/libpmix_ext.so.0"], stdout=subprocess.PIPE, check=True).stdout:
        return {}
    name = subprocess.run(["cc", "-print-file-name=libasan.so"], stdout=subprocess.PIPE, check=True, text=True).stdout
    return {"LD_PRELOAD": name.strip(), "ASAN_OPTIONS": "detect_leaks=0"}


def fork_of(words):
    """Hosts of -launcher fork that have this one's name are others all the same."""
    return FORK if "-hosts" in words else {}


def flow(how, *options, words, env=None, prefix=()):
    """Run the tool to its end: (status, its lines and the job's, stderr); nothing is left."""
    mark = new_mark()
    words = [str(w) for w in words]
    command = [*prefix, FLOW, how, *options, "--", *words]
    r = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                       timeout=20, env=environment(mark, {**preload(), **fork_of(words), **(env or {})}))
    nothing_left(mark)
    return r.returncode, r.stdout.splitlines(), r.stderr


def ours(*words):
    return [LAUNCHER, *words]


def script(text, name="job.sh"):
    return write_file(f"{tmp()}/{name}.{next(numbers)}", "#!/bin/sh\n" + text + "\n", 0o755)


numbers = iter(range(10 ** 6))


def of_tool(lines, *more):
    """What the tool says, without names of jobs."""
    return [x.split()[0] for x in lines if x.split()[0] in ("met", "ready", "spawned", "released", "held", "daemons",
                                                            "daemons-end", "end", "lost", *more)]


@rows([(f"T12, R23-10, R23-13: indirect launch, table 3.3, {how}, {w}", how, o) for how in HOWS for w, o in WHERE])
def indirect(how, options):
    show_it = script('echo "rank $PMI_RANK $A ${PMIX_LAUNCHER_RNDZ_URI-unset} ${PMIX_LAUNCHER_PAUSE_FOR_TOOL-unset}"; exit 3')
    status, lines, err = flow(how, "-h", "exec", "-e", "A=a", words=ours(*options, show_it))
    same(status, 0, f"status of {lines} {err}")
    same(of_tool(lines), ["met", "ready", "released", "held", "end", "lost"], "steps")
    job = lines[0].split()[1]
    need({f"held {job} exec", f"end {job} 3"} <= set(lines), "events of the job that the launcher is of", lines)
    same(sorted(x for x in lines if x.startswith("rank")), [f"rank {i} a unset unset" for i in range(2)], "ranks")
    support = {x.split()[1]: x.split()[2].split(",") for x in lines if x.startswith("support")}
    need("pmix.fe.agnt" in support["pmix.qry.spawn"] and "pmix.dbg.exec" in support["pmix.qry.debug"],
         "asked while it waits", support)
    if how.endswith(("fork", "old")):
        same(lines[-1], "status 3", "the job's status is the launcher's")


@rows([(f"R23-13: an empty array of directives is none to follow: {how}{' -d' if early else ''}", how, early)
       for how in HOWS for early in ([], ["-d"]) if early or how in ("uri-spawn", "uri-alias")])
def no_directives(how, early):
    status, lines, err = flow(how, *early, words=ours("-n", "2", script("echo ran")))
    same((status, err), (0, ""), f"status of {lines}")
    same(of_tool(lines), ["met", "ready", "released", "end", "lost"], "steps")
    same(lines.count("ran"), 2, "ranks")


@rows([(f"T12: direct launch, table 3.2, {where}", hold, w) for where, hold, w in
       (("held at exec", "exec", lambda: [script("echo ran $A")]),
        ("held in init, unmodified MPICH ranks", "init", lambda: [prog("mpi_ranks")]))])
def direct(hold, words):
    daemon = script('echo "daemon of $PMI_SIZE for $PMIX_DEBUG_TARGET"')
    status, lines, err = flow("direct", "-h", hold, "-e", "A=a", "-t", daemon, words=words(),
                              env={"PATH": f"{B}/bin:{os.environ['PATH']}"})
    same(status, 0, f"status of {lines} {err}")
    same(of_tool(lines), ["spawned", "met", "held", "daemons", "daemons-end", "end", "lost"], "steps")
    job = lines[0].split()[1]
    need(f"daemon of 1 for {job}" in lines, "the daemon knows its target", lines)
    if hold == "exec":
        same(lines.count("ran a"), 2, "ranks")


def held_direct(*options, words, path=f"{B}/bin"):
    """A tool that launches a job, to be held, and dies: its mark, what is written (as a file), its lines."""
    mark = new_mark()
    with subprocess.Popen([FLOW, "direct", *options, "-h", *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True,
                          env=environment(mark, {**preload(), "PATH": f"{path}:{os.environ['PATH']}"})) as p:
        lines = [] if "-k" not in options else [p.stdout.readline() for _ in range(2)]
        same(p.wait(LIMIT), -9, "it dies")
        yield mark, lines
        yield p.stdout.read()


@rows([(f"T10, R11: a tool that has launched a job directly is killed while ranks are held: they end, and the launcher, {w}",
        h, words) for w, h, words in (("at exec", "exec", ["sleep", "600"]), ("in init", "init", [prog("mpi_ranks")]))])
def direct_dies(hold, words):
    both = held_direct("-k", words=[hold, "--", *words])
    mark, lines = next(both)
    need(lines[0].startswith("spawned "), "it has launched it", lines)
    nothing_left(mark)
    need("held" in next(both), "its ranks were held")


@test("T10: a tool that has launched a held job with PMIX_NOHUP is killed: ranks are held on")
def direct_nohup():
    mark, _ = next(held := held_direct("-k", "-n", words=["exec", "--", "sleep", "600"]))
    ranks = [p for p in left(mark) if proc_bytes(p, "cmdline") == b"sleep\x00600\x00"]
    same([stat(p)[0] for p in ranks], ["T"] * 2, "they wait")
    all_of_it = left(mark)
    front, = [p for p in all_of_it if stat(p)[1] not in all_of_it]
    os.kill(front, signal.SIGTERM)
    nothing_left(mark)
    next(held)


@test("T10: a tool is killed before the launcher that it has started has called it: nothing is started")
def direct_dies_early():
    folder = f"{tmp()}/early"
    os.mkdir(folder)
    write_file(f"{folder}/mpiexec_lite", "#!/bin/sh\npid=${PMIX_LAUNCHER_RNDZ_URI%.t}\nkill -9 ${pid##*.}\n"
               f'exec {LAUNCHER} "$@"\n', 0o755)
    both = held_direct(words=["exec", "--", "sleep", "600"], path=folder)
    mark, _ = next(both)
    nothing_left(mark)
    said = next(both)
    need("mpiexec_lite: " in said and "spawned" not in said, "why", said)


@rows([(f"T12, R23-02: daemons of an indirect launch, {what}, {w}", flag, o) for w, o in WHERE
       for what, flag in (("by a spawn while ranks are held", "-t"), ("described in the directives", "-c"))])
def daemons(flag, options):
    daemon = script('echo "daemon $PMI_RANK of $PMI_SIZE for $PMIX_DEBUG_TARGET ${A-unset}"')
    status, lines, err = flow("uri-fork", "-h", "exec", "-e", "A=a", flag, daemon,
                              words=ours(*options, script("sleep 0.2; echo $PMI_SIZE $A")))
    same(status, 0, f"status of {lines} {err}")
    job, n = lines[0].split()[1], 2 if "-hosts" in options else 1
    same(sorted(x for x in lines if x.startswith("daemon ")), [f"daemon {i} of {n} for {job} unset" for i in range(n)],
         "one on each node")
    same(lines.count("2 a"), 2, "the job's size is its own, and so is its environment")


@test("daemons that cannot be started end the job, which says why")
def no_daemons():
    status, lines, err = flow("uri-fork", "-c", "/no/such", words=ours("-n", 1, "sleep", 600))
    same((status, lines[-1]), (0, "status 255"), f"end of {lines}")
    same(err, f"mpiexec_lite: the tool's daemons of job {lines[0].split()[1]} cannot be started: /no/such: No such file or "
              "directory\n", "said")


@rows([(f"R23-16: directives are given before the launcher is let go, {how}", how) for how in ("uri-fork", "pause-fork")])
def early(how):
    status, lines, err = flow(how, "-d", "-h", "exec", "-e", "A=a", words=ours("-n", 1, script("echo got $A")))
    same((status, of_tool(lines)), (0, ["met", "ready", "released", "held", "end", "lost"]), f"steps {lines} {err}")
    need("got a" in lines, "environment", lines)


@rows([(f"R23-14: the tool goes while the launcher waits, which ends with it, {how}", how, o)
       for how, o in (("uri-fork", []), ("uri-spawn", []), ("pause-fork", ["-d"]))])
def gone(how, options):
    ran = f"{tmp()}/ran.{next(numbers)}"
    status, lines, err = flow(how, "-l", *options, "-e", "A=a", words=ours("-n", 2, "touch", ran))
    same((status, of_tool(lines, "leaving")), (0, ["met", "ready", "leaving"]), f"steps {lines}")
    same(err, GONE + "\n", "one line")
    need(not os.path.exists(ran), "nothing was started")


@test("R23-10, R23-19: a tool that has a server has it start the launcher")
def nested():
    job = Job("-n", 1, "sleep", 600)
    status, lines, err = flow("uri-alias", "-s", "-h", "exec", "-e", "A=a", words=ours("-n", 2, script("exit 0")),
                              env={"PMIX_SERVER_URI": "unix:" + tools_socket(job.pid)})
    same(status, 0, f"status of {lines} {err}")
    same([x.split()[0] for x in lines if x.split()[0] != "support"][:4], ["met", "ready", "released", "held"], "steps")
    job.kill(signal.SIGTERM)
    job.finish()


@rows([(f"the library loses no memory, {how}", how, o)
       for how, o in (("uri-fork", ["-d", "-e", "A=a"]), ("uri-spawn", ["-h", "exec", "-c", "/bin/true"]), ("pause-old", []))])
def lost(how, options):
    if preload():
        raise Skip("the library is built with sanitizers")
    status, lines, err = flow(how, *options, words=ours("-n", 2, "sleep", "0.1"), prefix=VALGRIND)
    same((status, err), (0, ""), f"end of {lines}")


# --- the two scopes ---------------------------------------------------------------


@test("R23-21: a launcher's environment is variables: a word that is none is not taken for its program")
def no_variable():
    for word in ("touch", "-S", "=x"):
        status, lines, err = flow("uri-spawn", "-v", word, words=ours("-n", 1, "echo", "ran"))
        need(status and not lines and "PMIx_Spawn" in err and "PMIX_ERR_BAD_PARAM" in err, f"'{word}' is refused", status, lines, err)
    status, lines, err = flow("uri-spawn", "-e", "A=a", "-v", "V=v", words=ours("-n", 1, script('echo "V $V"')))
    need(status == 0 and "V v" in lines, "a variable", status, lines, err)


@rows([(f"R23-19, R23-21: {key}: the app's environment is the launcher's, directives are for its job", key)
       for key in ("pmix.spwn.tool", "pmix.spwn.launcher")])
def scopes(key):
    """A server that starts a launcher: what is in its environment, and what its ranks get."""
    outer = Job("-n", 1, "sleep", 600)
    tool = Tool(outer)
    inner = script(f'echo "launcher ${{FOR_LAUNCHER-unset}} ${{FOR_JOB-unset}}"; '
                   f'PMIX_LAUNCHER_PAUSE_FOR_TOOL=1 exec {LAUNCHER} -genvnone -genv PATH "$PATH" "$@"')
    ranks = script('echo "rank ${FOR_LAUNCHER-unset} ${FOR_JOB-unset}"')
    good(tool.call("pmix-spawn", infos=[info(key, "BOOL", True, ["required"])],
                   apps=[{"cmd": inner, "argv": [inner, "-n", "2", ranks], "maxprocs": 1, "env": ["FOR_LAUNCHER=x"]}]))
    wait_for(lambda: b"launcher x unset" in outer.text(), "the launcher")
    front = wait_for(lambda: next((p for p in left(outer.mark) if proc_bytes(p, "cmdline").startswith(LAUNCHER.encode())
                                   and b"-genvnone" in proc_bytes(p, "cmdline")), None), "its front")
    own = Tool(front)
    var = info("pmix.envar.set", "ENVAR", {"envar": "FOR_JOB", "value": "y"})
    good(own.call("pmix-launch-directives", infos=[var]))
    good(own.call("pmix-notify", status=str(RELEASE), range="5"))
    outer.wait_text("rank unset y", 2)
    outer.kill(signal.SIGTERM)
    outer.finish()


# --- the variables -------------------------------------------------------------------


class Listener:
    """A tool that a launcher calls: uri; call() its connection."""

    def __init__(self):
        self.path = f"{tmp()}/tool.{next(numbers)}"
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(self.path)
        self.socket.listen(8)
        self.socket.settimeout(LIMIT)
        self.uri = "unix:" + self.path

    def call(self):
        s, _ = self.socket.accept()
        s.settimeout(LIMIT)
        peer = Peer(s)
        peer.open()
        self.name = good(peer.call("pmix-tool-connect"))
        return peer


@rows([(f"R23-12, R23-14: PMIX_LAUNCHER_RNDZ_URI: the launcher calls, is served as all, and goes on, {w}", o) for w, o in WHERE])
def called(options):
    listener = Listener()
    job = Job(*options, "sh", "-c", "echo ${PMIX_LAUNCHER_RNDZ_URI-unset}", env={**fork_of(options), "PMIX_LAUNCHER_RNDZ_URI": listener.uri})
    peer = listener.call()
    need(os.path.exists(tools_socket(job.pid)[:-2]), "its rendezvous is there when it calls")
    good(peer.call("pmix-event-register", codes=[READY]))
    same(peer.event("pmix-event")["status"], READY, "it is ready")
    jobs = results(good(peer.call("pmix-query", queries=[query("pmix.qry.ns")])))[0][2]
    same(listener.name["job"], jobs, "it says which job it is of")
    good(peer.call("pmix-notify", status=str(RELEASE), range="5"))
    r = job.finish()
    same((r.status, r.lines), (0, ["unset"] * 2), "ranks do not see the variable")


@test("R23-12: what starts the proxies does not see the variables, nor do they")
def proxies():
    listener, path = Listener(), f"{tmp()}/entry.{next(numbers)}"
    seen = path + ".seen"
    stub = script(f'env >{seen}; exit 1', "ssh.sh")
    job = Job("-launcher-exec", stub, "-hosts", "far", "-n", 1, "true",
              env={"PMIX_LAUNCHER_RNDZ_URI": listener.uri, "PMIX_LAUNCHER_RNDZ_FILE": path, "PMIX_LAUNCHER_PAUSE_FOR_TOOL": "1"})
    peer = listener.call()
    good(peer.call("pmix-notify", status=str(RELEASE), range="5"))
    same(job.finish().status, 255, "the stub is no ssh")
    with open(seen) as f:
        text = f.read()
    need("SYS_MARK" in text and "PMIX_LAUNCHER_" not in text, "environment of what reaches a host", text)


@rows([(f"R23-12: PMIX_LAUNCHER_RNDZ_URI {what}: one line, status 255, nothing runs", uri, said) for what, uri, said in (
    ("of nobody", "unix:/nonexistent/s", "PMIX_LAUNCHER_RNDZ_URI: /nonexistent/s: No such file or directory"),
    ("of another kind", "tcp://x", "PMIX_LAUNCHER_RNDZ_URI: want unix:PATH, not 'tcp://x'"))])
def nobody(uri, said):
    r = run("-n", 2, "echo", "ran", env={"PMIX_LAUNCHER_RNDZ_URI": uri})
    same((r.status, r.lines, r.err.decode()), (255, [], f"mpiexec_lite: {said}\n"), "end")


@rows([("R23-12: -disable-tools: the variables mean nothing", name) for name in
       ("PMIX_LAUNCHER_RNDZ_URI", "PMIX_LAUNCHER_RNDZ_FILE", "PMIX_LAUNCHER_PAUSE_FOR_TOOL")])
def disabled(name):
    path = f"{tmp()}/none.{next(numbers)}"
    r = run("-disable-tools", "-n", 1, "echo", "ran", env={name: path})
    same((r.status, r.lines, os.path.exists(path)), (0, ["ran"], False), "end")


@rows([(f"R23-11: -tool-timeout ends a launcher whose tool does not come, {name}", name) for name in
       ("PMIX_LAUNCHER_RNDZ_URI", "PMIX_LAUNCHER_PAUSE_FOR_TOOL")])
def timeout(name):
    listener = Listener()
    r = run("-tool-timeout", "0.2", "-n", 2, "echo", "ran", env={name: listener.uri})
    same((r.status, r.lines, r.err.decode()),
         (255, [], f"mpiexec_lite: no tool has let the launcher go on in 0.2 s ({name}; -tool-timeout)\n"), "end")


# --- PMIX_LAUNCHER_RNDZ_FILE ------------------------------------------------------------


def entry(path):
    with open(path) as f:
        return dict(x.split("=", 1) for x in f.read().splitlines())


@rows([(f"R23-12, R23-13: PMIX_LAUNCHER_RNDZ_FILE: {what}", make) for what, make in (
    ("a new file", lambda path: None), ("an empty one", lambda path: write_file(path, "", 0o644)),
    ("the entry of a launcher that has ended", lambda path: write_file(path, "uri=unix:/x\npid=1\nstart=1\n", 0o600)))])
def file(make):
    path = f"{tmp()}/entry.{next(numbers)}"
    make(path)
    job = Job("-n", 1, "sleep", 600, env={"PMIX_LAUNCHER_RNDZ_FILE": path})
    wait_for(lambda: os.path.exists(path) and entry(path).get("pid") == str(job.pid), "the entry")
    same(modes.S_IMODE(os.lstat(path).st_mode), 0o600, "its mode")
    same(entry(path)["uri"], "unix:" + tools_socket(job.pid), "it is the launcher's")
    r = subprocess.run([os.path.join(B, "bin", "pmix_tool"), "--uri", "file:" + path, "ps"], stdout=subprocess.PIPE, text=True,
                       timeout=LIMIT, env=environment(new_mark()))
    need(r.returncode == 0 and "job-" in r.stdout, "a tool connects by it", r)
    job.kill(signal.SIGTERM)
    job.finish()
    need(not os.path.exists(path), "it is removed")


@rows([(f"R23-12: PMIX_LAUNCHER_RNDZ_FILE goes with a launcher whose {who} is killed", who) for who in ("front", "root")])
def killed(who):
    path = f"{tmp()}/entry.{next(numbers)}"
    job = Job("-n", 1, "sleep", 600, env={"PMIX_LAUNCHER_RNDZ_FILE": path})
    wait_for(lambda: os.path.exists(path), "the entry")
    os.kill(job.pid if who == "front" else job.root(), signal.SIGKILL)
    job.finish(clean=False)
    nothing_left(job.mark)
    wait_for(lambda: not os.path.exists(path), "its end")


@rows([(f"R23-12: PMIX_LAUNCHER_RNDZ_FILE that is {what} stays as it is, and the launcher ends", make, said)
       for what, make, said in (
           ("another file", lambda p: write_file(p, "precious\n", 0o600), "has something else in it, and is not replaced"),
           ("a link", lambda p: os.symlink(p + ".x", p), "is no file of ours, and is not replaced"),
           ("a folder", os.mkdir, "is no file of ours, and is not replaced"),
           ("a pipe", os.mkfifo, "is no file of ours, and is not replaced"))])
def refused(make, said):
    path = f"{tmp()}/entry.{next(numbers)}"
    make(path)
    before = os.lstat(path)
    r = run("-n", 1, "echo", "ran", env={"PMIX_LAUNCHER_RNDZ_FILE": path})
    same((r.status, r.lines, r.err.decode()), (255, [], f"mpiexec_lite: PMIX_LAUNCHER_RNDZ_FILE: {path} {said}\n"), "end")
    after = os.lstat(path)
    same((after.st_ino, after.st_mode, os.path.exists(path + ".x")), (before.st_ino, before.st_mode, False), "it")
    same(os.path.exists(path + ".new"), False, "nothing is left beside it")


@rows([(f"R23-12: PMIX_LAUNCHER_RNDZ_FILE beside {what} of the name that it is written under: that stays", make, said)
       for what, make, said in (
           ("a file", lambda p: write_file(p, "precious\n", 0o600), "has something else in it, and is not replaced"),
           ("a link", lambda p: os.symlink("/nonexistent", p), "is no file of ours, and is not replaced"))])
def beside(make, said):
    path = f"{tmp()}/entry.{next(numbers)}"
    make(path + ".new")
    r = run("-n", 1, "echo", "ran", env={"PMIX_LAUNCHER_RNDZ_FILE": path})
    same((r.status, r.lines, r.err.decode()), (255, [], f"mpiexec_lite: PMIX_LAUNCHER_RNDZ_FILE: {path}.new {said}\n"), "end")
    need(os.path.lexists(path + ".new") and not os.path.exists(path), "it")


@test("R23-12: a launcher's entry is not replaced while it runs; a device is none")
def taken():
    path = f"{tmp()}/entry.{next(numbers)}"
    job = Job("-n", 1, "sleep", 600, env={"PMIX_LAUNCHER_RNDZ_FILE": path})
    wait_for(lambda: os.path.exists(path), "the entry")
    r = run("-n", 1, "true", env={"PMIX_LAUNCHER_RNDZ_FILE": path})
    same((r.status, r.err.decode()), (255, f"mpiexec_lite: PMIX_LAUNCHER_RNDZ_FILE: {path} is the entry of process "
                                           f"{job.pid}, which runs\n"), "end")
    same(entry(path)["pid"], str(job.pid), "it is still the first one's")
    job.kill(signal.SIGTERM)
    job.finish()
    r = run("-n", 1, "true", env={"PMIX_LAUNCHER_RNDZ_FILE": "/dev/null"})
    same(r.status, 255, "a device")
    need(modes.S_ISCHR(os.stat("/dev/null").st_mode), "which stays")


@test("R23-16: directives for a launcher that does not wait are refused")
def late():
    job = Job("-n", 1, "sleep", 600)
    tool = Tool(job)
    r = tool.call("pmix-launch-directives", infos=[info("pmix.dbg.exec", "BOOL", True)])
    same(r["status"], -158, f"status of {r}")
    job.kill(signal.SIGTERM)
    job.finish()


main()

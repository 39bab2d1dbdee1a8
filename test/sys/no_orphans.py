#!/usr/bin/env -S python3 -B
"""However a job ends, nothing of it stays: processes, files, sockets, descriptors."""

from lib import *
from pmixlib import tools_socket

CHORE = prog("chore")
SLURM = prog("slurm_all")
SH = ("/bin/sh", "-c")


def kill_launcher(job, whom):
    root = job.root()
    if whom == "front":
        os.kill(job.pid, signal.SIGKILL)
    elif whom == "root":
        os.kill(root, signal.SIGKILL)
    else:
        first, second = (job.pid, root) if whom == "front, root" else (root, job.pid)
        os.kill(first, signal.SIGKILL)
        os.kill(second, signal.SIGKILL)


def started(mode, n=2):
    job = Job("-n", n, CHORE, mode)
    job.wait_text("ready", n)
    return job


@rows([(f"{whom} SIGKILLed; ranks: {mode}", whom, mode)
       for whom in ("front", "root") for mode in ("ignore", "daemon", "forks", "show")])
def killed(whom, mode):
    job = started(mode)
    kill_launcher(job, whom)
    job.popen.wait(LIMIT)
    nothing_left(job.mark)
    if whom == "root":
        r = job.finish()
        same((r.status, len(r.messages)), (255, 1), f"end of {r}")
        need("killed by signal 9" in r.messages[0], "the message says why", repr(r))


@rows([(f"{whom} SIGKILLed at the same moment: ranks that ignore TERM go", whom)
       for whom in ("front, root", "root, front")])
def both(whom):
    job = started("ignore", 4)
    kill_launcher(job, whom)
    job.popen.wait(LIMIT)
    nothing_left(job.mark)


@test("a root that is stuck (stopped) when TERM comes: the front ends it and the job")
def stuck_root():
    job = started("daemon")
    os.kill(job.root(), signal.SIGSTOP)
    job.kill(signal.SIGTERM)
    r = job.finish()
    same((r.status, len(r.messages)), (143, 1), f"end of {r}")
    need("did not end the job" in r.messages[0], "the message says why", repr(r))


@test("the whole process group of the launcher SIGKILLed")
def group():
    job = started("daemon")
    os.killpg(job.pid, signal.SIGKILL)
    job.popen.wait(LIMIT)
    nothing_left(job.mark)


@test("front SIGKILLed during the start of 100 ranks")
def early():
    for i in range(8):
        job = Job("-n", 100, "sleep", 100)
        time.sleep(0.004 * i)
        job.kill(signal.SIGKILL)
        job.popen.wait()
        nothing_left(job.mark)


@rows([(f"{mode}: gone when the job {how}", mode, how) for mode, how in
       (("daemon", "is terminated"), ("forks", "is terminated"), ("ignore", "is terminated"),
        ("daemon-exit", "ends well"), ("daemon", "fails"), ("forks", "fails"))])
def ends(mode, how):
    if how == "fails":
        job = Job("-n", 1, CHORE, mode, ":", "-n", 1, *SH, "sleep 0.3; kill -9 $$")
        want = 137
    else:
        job = Job("-n", 2, CHORE, mode)
        want = 143 if how == "is terminated" else 0
    job.wait_text("ready", 1 if how == "fails" else 2)
    if want == 143:
        job.kill(signal.SIGTERM)
    same(job.finish().status, want, "status")     # finish() demands that nothing is left


@test("a rank killed: the others' descendants go too")
def rank_killed():
    job = Job("-n", 2, *py("""
        import subprocess
        c = Client(2)
        p = subprocess.Popen(["setsid", "sleep", "100"])
        c.fence()
        say("ready")
        if rank == 1:
            os.kill(os.getpid(), 9)
        time.sleep(100)
    """))
    same(job.finish().status, 137, "status")


def slow(side):
    return {"LD_PRELOAD": prog("preload_fork"), "FORK_SLOW": side,
            "ASAN_OPTIONS": "verify_asan_link_order=0:detect_leaks=0"}


@rows([(f"a launcher whose {side} is slow after the fork sees the end of a short job", side)
       for side in ("parent", "child")])
def slow_fork(side):
    same(run("-n", 2, "true", env=slow(side), limit=20).status, 0, "status")
    same(run("-n", 2, "/bin/sh", "-c", "exit 7", env=slow(side), limit=20).status, 7, "status")


@rows([(f"SIGTERM to a launcher whose {side} is slow after the fork", side)
       for side in ("parent", "child")])
def slow_fork_term(side):
    job = Job("-n", 2, CHORE, "ignore", env=slow(side))
    time.sleep(0.2)
    job.kill(signal.SIGTERM)
    job.popen.wait(LIMIT)
    same(job.popen.returncode, -signal.SIGTERM, "wait status")
    nothing_left(job.mark)


@test("no zombie stays below the launcher while a job runs")
def zombies():
    job = Job("-n", 1, *SH, "echo ready; (sleep 0.1 &) ; sleep 100", ":", "-n", 6, "true",
              ":", "-n", 2, CHORE, "daemon-exit")
    job.wait_text("ready", 3)
    root = job.root()

    def dead():
        return [p for p in pids() if (s := stat(p)) and s[0] == "Z" and s[1] in (root, job.pid)]
    time.sleep(0.5)
    wait_for(lambda: not dead(), "zombies reaped", 10)
    job.kill(signal.SIGTERM)
    same(job.finish().status, 143, "status")


@test("no file is left anywhere that the launcher might write")
def files():
    env = {}
    for name in "TMPDIR", "XDG_RUNTIME_DIR", "HOME", "XDG_CACHE_HOME":
        env[name] = f"{tmp()}/{name}"
        os.mkdir(env[name], 0o700)
    os.mkdir(tmp() + "/here")
    for how in ("end", "kill", "root"):
        job = Job("-n", 2, *py("c = Client(2); c.fence(); say('ready'); time.sleep(0.5); "
                               "c.finalize()"), env=env, cwd=tmp() + "/here")
        job.wait_text("ready", 2)
        if how != "end":
            kill_launcher(job, "front" if how == "kill" else "root")
        job.popen.wait(LIMIT)
        nothing_left(job.mark)
        seen = [os.path.join(d, f) for d, _, names in os.walk(tmp()) for f in names]
        same(seen, [], f"files after {how}")


# --- sockets and descriptors ---------------------------------------------------------------

def inodes_of(processes):
    found = set()
    for p in processes:
        with contextlib.suppress(OSError):
            for fd in os.listdir(f"/proc/{p}/fd"):
                with contextlib.suppress(OSError):
                    link = os.readlink(f"/proc/{p}/fd/{fd}")
                    if link.startswith("socket:["):
                        found.add(link[8:-1])
    return found


def addressed_sockets(processes):
    """Sockets of these processes that have a port, a path or an abstract name."""
    mine, found = inodes_of(processes), []
    for name in ("tcp", "tcp6", "udp", "udp6", "raw", "unix"):
        with contextlib.suppress(OSError), open("/proc/net/" + name) as f:
            for line in f.read().splitlines()[1:]:
                w = line.split()
                if name == "unix":
                    if w[6] in mine and len(w) > 7:
                        found.append(line)
                elif w[9] in mine:
                    found.append(name + ": " + line)
    return found


WAIT = "c = Client(2); c.fence(); say('ready'); time.sleep(30)"


def waiting(*options):
    """A job whose ranks sleep, at an age when a socket for tools would have opened."""
    job = Job(*options, "-n", 3, *py(WAIT))
    job.wait_text("ready", 3)
    time.sleep(0.2)                      # tools: 0.05 s
    return job


def end(job):
    job.kill(signal.SIGTERM)
    same(job.finish().status, 143, "status")


@test("nothing listens with -disable-tools: no port, no path, no abstract name while a job runs")
def nothing_listens():
    job = waiting("-disable-tools")
    mine = left(job.mark)
    need(len(mine) == 5 and len(inodes_of(mine)) >= 7, "front, root, three ranks and their sockets",
         *describe(mine))
    same(addressed_sockets(mine), [], "sockets with an address")
    end(job)


@test("nothing listens but the one socket for the user's tools, gone at the end with its entry")
def tools_listen():
    for how in "ends", "root is killed", "front is killed":
        job = waiting()
        socket = tools_socket(job.pid)
        folder, name = os.path.split(socket)
        same(name, f"{HOST}.{job.pid}.s", "the socket's name")
        same((os.stat(folder).st_uid, os.stat(folder).st_mode), (os.getuid(), 0o40700),
             "owner and mode of its folder")
        need(os.path.isfile(socket[:-2]), "an entry beside it", socket)
        found = addressed_sockets(left(job.mark))
        same([x.split()[-1] for x in found], [socket], "sockets with an address")
        if how == "ends":
            end(job)
        else:
            kill_launcher(job, how.split()[0])
            job.popen.wait(LIMIT)
            nothing_left(job.mark)
        same([x for x in (socket, socket[:-2]) if os.path.lexists(x)], [], f"left when the {how}")


@test("what two processes, killed at once, leave of the tools' socket goes with the next launcher")
def stale_entry():
    env = {"PMIX_SERVER_TMPDIR": tmp()}          # where no other point's launcher tidies

    def entries(job):
        return sorted(f for f in os.listdir(tmp()) if f.startswith(f"{HOST}.{job.pid}"))
    job = Job("-n", 1, *py(WAIT), env=env)
    wait_for(lambda: len(entries(job)) == 2, "an entry and its socket")
    root = job.root()
    for signo in signal.SIGSTOP, signal.SIGKILL:         # neither sees the other's end
        for pid in root, job.pid:
            os.kill(pid, signo)
    job.popen.wait(LIMIT)
    nothing_left(job.mark)
    same(entries(job), [f"{HOST}.{job.pid}", f"{HOST}.{job.pid}.s"], "what is left")
    other = Job("-n", 1, *py(WAIT), env=env)
    wait_for(lambda: len(entries(other)) == 2 and not entries(job), "only the new one's are there")
    end(other)
    same(os.listdir(tmp()), [], "files")


@test("with -pmi-port one port listens, on 127.0.0.1 only")
def port_listens():
    job = Job("-disable-tools", "-pmi-port", "-n", 2, *py("say('ready'); time.sleep(30)"))
    job.wait_text("ready", 2)
    found = addressed_sockets(left(job.mark))
    need(len(found) == 1 and " 0100007F:" in found[0], "one socket of 127.0.0.1", found)
    end(job)


LIST = """
    fds = {}
    for f in os.listdir("/proc/self/fd"):
        try:
            fds[int(f)] = os.readlink("/proc/self/fd/" + f)
        except OSError:
            pass                              # that of the listing itself
    say(" ".join("%d=%s" % x for x in sorted(fds.items())))
"""


@rows([("a rank has descriptors 0, 1, 2 and its own PMI_FD, no others", []),
       ("with -pmi-port it has 0, 1 and 2", ["-pmi-port"]),
       ("with -stdin all it has the same four", ["-stdin", "all"])])
def descriptors(options):
    pipe = os.pipe()
    r = Job(*options, "-n", 8, *py(LIST + """
    need("-pmi-port" in sys.argv or int(os.environ["PMI_FD"]) in fds, "PMI_FD", fds)
""", *options), stdin=pipe[0]).finish()
    os.close(pipe[0])
    os.close(pipe[1])
    same(r.status, 0, f"status of {r}")
    tables = [dict(w.split("=") for w in x.split()) for x in r.lines]
    same([len(t) for t in tables], [3 if "-pmi-port" in options else 4] * 8, f"descriptors of {r}")
    sockets = [v for t in tables for v in t.values() if v.startswith("socket:")]
    same(len(sockets), len(set(sockets)), "each rank has a socket of its own")


@rows([("the launcher's own descriptors are not the ranks', nor the other way round", ()),
       ("own descriptors with -disable-tools: one socket less", ("-disable-tools",))])
def server_descriptors(options):
    job = Job(*options, "-n", 4, "sleep", 100)
    root = job.root()
    if not options:
        tools_socket(job.pid)
    wait_for(lambda: len(left(job.mark)) == 6, "four ranks")
    time.sleep(0.1)
    links = [os.readlink(f"/proc/{root}/fd/{f}") for f in os.listdir(f"/proc/{root}/fd")]
    pipes = [x for x in links if x.startswith("pipe:")]
    same((len(pipes), len(set(pipes))), (8, 8), "pipe ends of the root, one of each pipe")
    sockets = [x for x in links if x.startswith("socket:")]
    want = 5 if options else 6
    same((len(sockets), len(set(sockets))), (want, want),
         "sockets of the root: ranks, front, and that for tools")
    front = [os.readlink(f"/proc/{job.pid}/fd/{f}") for f in os.listdir(f"/proc/{job.pid}/fd")]
    same((sum(x.startswith("pipe:") for x in front), sum(x.startswith("socket:") for x in front)),
         (2, 1), f"socket of the front, and the pipe of MPIR_attach_fifo, {front}")
    job.kill(signal.SIGTERM)
    job.finish()


# --- nested ---------------------------------------------------------------------------------

@test("a launcher inside a rank: two jobs, each its own PMI")
def nested():
    r = good("-n", 2, LAUNCHER, "-n", 3, SLURM, "ring")
    same(sorted(r.lines), sorted(f"rank {i}: good, appnum 0" for i in (0, 1, 2) * 2), "output")
    r = run("-n", 1, LAUNCHER, "-n", 2, SLURM, "nofinalize", 7)
    same(r.status, 7, f"status of {r}")


@rows([(f"a launcher inside a rank: the outer one's {whom}", whom) for whom in
       ("front is SIGKILLed", "root is SIGKILLed", "front gets SIGTERM")])
def nested_killed(whom):
    job = Job("-n", 2, LAUNCHER, "-n", 2, CHORE, "ignore")
    job.wait_text("ready", 4)
    if "TERM" in whom:
        job.kill(signal.SIGTERM)
        same(job.finish().status, 143, "status")
    else:
        kill_launcher(job, whom.split()[0])
        job.popen.wait(LIMIT)
        nothing_left(job.mark)


main(4)

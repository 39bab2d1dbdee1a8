#!/usr/bin/env -S python3 -B
"""What a person opens: gdb on ranks that are held (-gdb), in panes of a real tmux or in xterms, and a
tool that starts the launcher (-tool).  gdb on ranks of other hosts: windows_ssh.py."""

import glob
import json
import os
import re
import shutil
import signal

from lib import *
from pmixlib import await_entry

NODES = ["-launcher", "fork", "-hosts", "a,b", "-ppn", "1"]
FORK = {"HYDRA_LAUNCHER_AUTOFORK": "0"}
MPI, SLURM = prog("mpi_ranks"), prog("slurm_all")
PMIX_TOOL = os.path.join(B, "bin", "pmix_tool")
BARE = ("TMUX", "TMUX_PANE", "DISPLAY")


class Tmux:
    """A tmux, by the words that name it: that of a launcher, or one of the test's own."""

    def __init__(self, *name):
        self.name = name

    def run(self, *words):
        return subprocess.run(["tmux", *self.name, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=LIMIT, env={"PATH": os.environ["PATH"], "TMUX_TMPDIR": tmp()})

    def panes(self):
        """title: id"""
        out = self.run("list-panes", "-a", "-F", "#{pane_id} #{pane_title}").stdout
        return {x.split(" ", 1)[1]: x.split(" ", 1)[0] for x in out.splitlines()}

    def text(self, pane):
        """What a pane shows, with lines that are broken put together."""
        return self.run("capture-pane", "-p", "-J", "-t", pane, "-S", "-").stdout

    def type(self, pane, line):
        self.run("send-keys", "-t", pane, line, "Enter")

    def wait_text(self, pane, text):
        wait_for(lambda: re.search(text, self.text(pane)), f"{text} in {pane}: {self.text(pane)}")

    def prompt(self, pane, *said):
        """Until gdb asks, behind these words."""
        for text in said:
            self.wait_text(pane, text)
        wait_for(lambda: self.text(pane).rstrip().endswith("(gdb)"), f"a prompt in {pane}")


def windows(job, ranks, tmux=None):
    """The tmux where gdb has attached to these ranks, (RANK, HOST) each, and {rank: pane}."""
    ranks = list(ranks)
    if tmux is None:
        name = wait_for(lambda: re.search(rb"gdb is in: tmux -L (\S+) attach", job.error_text()) or
                        (job.popen.poll() is not None and need(False, "it has ended", job.error_text())), "its line")
        tmux = Tmux("-L", name[1].decode())
    wanted = {f"rank {r} on {h}" for r, h in ranks}
    wait_for(lambda: wanted <= set(tmux.panes()), f"panes for {wanted}: {tmux.panes()}")
    panes = {r: tmux.panes()[f"rank {r} on {h}"] for r, h in ranks}
    for p in panes.values():
        tmux.prompt(p, "SIGCONT +No")
    return tmux, panes


def launch(*words, env=None, **more):
    return Job(*words, env={"TMUX_TMPDIR": tmp(), **(FORK if "-hosts" in words else {}), **(env or {})}, without=BARE,
               **more)


def sockets():
    """What a tmux has left in its folder."""
    return [f for _, _, files in os.walk(f"{tmp()}/tmux-{os.getuid()}") for f in files]


def gone(tmux):
    same(tmux.run("list-sessions").returncode, 1, "no session is left")
    same(sockets(), [], "sockets of tmux")


PROGRAMS = [("an mpich program", [MPI]), ("a program of Slurm's libpmi2", [SLURM, "finalize"])]


@rows([(f"-gdb in a tmux of its own, {w}: {what} is held, stopped in main by a person, goes on, ends well",
        words, options, hosts) for what, words in PROGRAMS
       for w, options, hosts in (("one node", [], [HOST] * 2), ("two hosts that are this one", NODES, ["a", "b"]))])
def own_tmux(words, options, hosts):
    job = launch("-gdb", "all", *options, "-n", 2, *words)
    tmux, panes = windows(job, enumerate(hosts))
    for p in panes.values():
        tmux.type(p, "break main")
        tmux.prompt(p, "Breakpoint 1 at")
        tmux.type(p, "continue")
    for p in panes.values():
        tmux.prompt(p, "Breakpoint 1, main")
        tmux.type(p, "print 6 * 7")
        tmux.prompt(p, r"\$1 = 42")
    for p in panes.values():
        tmux.type(p, "continue")
    same(job.finish().status, 0, "status")
    gone(tmux)


@test("-gdb RANKS: only these are held; quitting gdb lets each go on, and tools hear that it is released")
def quitting():
    job = launch("-gdb", "0,2", "-n", 3, "sh", "-c", f"echo ran $PMI_RANK; while [ ! -e {tmp()}/go ]; do sleep 0.05; done")
    tmux, panes = windows(job, [(0, HOST), (2, HOST)])
    job.wait_text("ran 1")
    same(job.text(), b"ran 1\n", "the others are held")
    await_entry(job)
    for rank in (2, 0):
        tmux.type(panes[rank], "quit")
        tmux.wait_text(panes[rank], "Quit anyway")
        tmux.type(panes[rank], "y")
        job.wait_text(f"ran {rank}")
    def state():
        return subprocess.run([PMIX_TOOL, "--pid", str(job.pid), "status"], stdout=subprocess.PIPE, text=True, timeout=LIMIT,
                              env=environment(new_mark())).stdout

    wait_for(lambda: "running" in state() and "held" not in state(), "its state, which follows the rank")
    write_file(f"{tmp()}/go", "")
    same(job.finish().status, 0, "status")
    gone(tmux)


@rows([("a window that is closed lets its rank go on", lambda t, p: t.run("kill-pane", "-t", p)),
       ("a gdb that is killed lets its rank go on",
        lambda t, p: os.kill(int(t.run("display-message", "-p", "-t", p, "#{pane_pid}").stdout), signal.SIGKILL)),
       ("a tmux that is ended lets all ranks go on", lambda t, p: t.run("kill-server"))])
def closed(how):
    job = launch("-gdb", "1", "-n", 2, "sh", "-c", "echo ran $PMI_RANK")
    tmux, panes = windows(job, [(1, HOST)])
    how(tmux, panes[1])
    r = job.finish()
    same((r.status, sorted(r.lines)), (0, ["ran 0", "ran 1"]), "end")
    gone(tmux)


@test("a rank that gdb kills is a rank that was killed")
def killed():
    job = launch("-gdb", "1", "-n", 2, "sh", "-c", "sleep 0")
    tmux, panes = windows(job, [(1, HOST)])
    tmux.type(panes[1], "set confirm off")
    tmux.type(panes[1], "kill")
    r = job.finish()
    same(r.status, 128 + signal.SIGKILL, r)
    gone(tmux)


@test("threads of a rank that runs under gdb are not stopped again")
def threads_run():
    source = "#include <pthread.h>\n#include <stdio.h>\n" \
             "static void *f(void *x) { puts(\"thread\"); return x; }\n" \
             "int main(void) { pthread_t t; pthread_create(&t, NULL, f, NULL); pthread_join(t, NULL); return 0; }\n"
    write_file(f"{tmp()}/t.c", source)
    subprocess.run(["gcc", "-g", f"{tmp()}/t.c", "-o", f"{tmp()}/t", "-pthread"], check=True)
    job = launch("-gdb", "0", "-n", 1, f"{tmp()}/t")
    tmux, panes = windows(job, [(0, HOST)])
    tmux.type(panes[0], "continue")
    r = job.finish()
    same((r.status, r.lines), (0, ["thread"]), "end")
    gone(tmux)


@test("inside the user's tmux: gdb is in a new window of that, which is as before at the end")
def users_tmux():
    mine = Tmux("-f", "/dev/null")
    need(mine.run("new-session", "-d", "-x", "100", "-y", "40", "sh").returncode == 0, "a tmux")
    try:
        sock, pane = mine.run("display-message", "-p", "#{socket_path},#{pid},0 #{pane_id}").stdout.split()
        panes_now = lambda: mine.run("list-panes", "-a", "-F", "#{window_index} #{pane_id} #{pane_width}x#{pane_height}").stdout
        before = panes_now()
        job = Job("-gdb", "0-4", "-n", 6, "sh", "-c", "echo ran $PMI_RANK",
                  env={"TMUX": sock, "TMUX_PANE": pane, "TMUX_TMPDIR": tmp()}, without=("DISPLAY",))
        _, panes = windows(job, [(r, HOST) for r in range(5)], mine)
        same(mine.run("list-windows", "-F", "#{window_name}").stdout.split()[1:], ["gdb"], "one window more")
        for p in list(panes.values())[:3]:
            mine.type(p, "continue")
        for p in list(panes.values())[3:]:
            mine.run("kill-pane", "-t", p)
        same(job.finish().status, 0, "status")
        same(panes_now(), before, "panes afterwards")
    finally:
        mine.run("kill-server")


@test("with DISPLAY and no tmux around: an xterm for each rank; they are ended with the job")
def xterms():
    os.mkdir(f"{tmp()}/bin")
    write_file(f"{tmp()}/bin/xterm", f"#!/bin/sh\necho \"$2\" >>{tmp()}/titles\nshift 3\n\"$@\" </dev/null >>{tmp()}/shown 2>&1\n",
               0o755)
    job = launch("-gdb", "0-1", "-n", 2, "sh", "-c", "echo ran $PMI_RANK",
                 env={"DISPLAY": ":7", "PATH": f"{tmp()}/bin:{os.environ['PATH']}"})
    r = job.finish()                                 # gdb finds the end of its input, and quits
    same((r.status, sorted(r.lines)), (0, ["ran 0", "ran 1"]), r)
    same(sorted(open(f"{tmp()}/titles").read().splitlines()), [f"rank {i} on {HOST}" for i in (0, 1)], "titles")
    same(open(f"{tmp()}/shown").read().count("_start ()"), 2, "gdb in them")
    same(sockets(), [], "tmux")


class Display:
    """A real X server without a screen, and what a person does there."""
    def __enter__(self):
        missing = [x for x in ("Xvfb", "xterm", "xdotool") if not shutil.which(x)]
        if missing:
            raise Skip(f"{' and '.join(missing)} not installed")
        ours, its = os.pipe()
        self.server = subprocess.Popen(["Xvfb", "-displayfd", str(its), "-noreset", "-nolisten", "tcp",
                                        "-screen", "0", "800x600x24"],
                                       pass_fds=[its], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(its)
        with os.fdopen(ours) as f:
            self.name = ":" + f.readline().strip()
        need(self.name != ":", "an X server")
        return self

    def __exit__(self, *_):
        self.server.terminate()              # its socket goes with it
        self.server.wait(LIMIT)

    def do(self, *words):
        r = subprocess.run(["xdotool", *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                           timeout=LIMIT, env={"PATH": os.environ["PATH"], "DISPLAY": self.name})
        return r.stdout.split()

    def windows(self, title):
        return self.do("search", "--onlyvisible", "--name", f"^{title}$")

    def type(self, window, line):
        self.do("windowfocus", window, "type", line)
        self.do("key", "Return")


def tracer(pid):
    return int(re.search(r"TracerPid:\s*(\d+)", open(f"/proc/{pid}/status").read())[1])


@test("real xterms on a real X server: --debug gdb opens two, gdb in each has its held rank; one that is quit ends its "
      "xterm, the job's end the other")
def real_xterms():
    with Display() as x:
        write_file(f"{tmp()}/resources", "*logging: on\n")
        job = launch("--debug", "gdb", "-n", 2, "sh", "-c", "echo ran $PMI_RANK", cwd=tmp(),
                     env={"DISPLAY": x.name, "XENVIRONMENT": f"{tmp()}/resources"})
        names = [f"rank {r} on {HOST}" for r in (0, 1)]
        xterms = [wait_for(lambda t=t: x.windows(t), f"an xterm {t}")[0] for t in names]
        await_entry(job)
        pids = [p["pid"] for p in json.loads(subprocess.check_output([PMIX_TOOL, "--json", "--pid", str(job.pid), "ps"],
                                                                     timeout=LIMIT))["jobs"][0]["ranks"]]
        logs, shown = [], lambda f: open(f, errors="replace").read().rstrip()
        for pid, name in zip(pids, names):
            gdb = wait_for(lambda pid=pid: tracer(pid), f"gdb traces {pid}")
            same(os.path.basename(os.readlink(f"/proc/{gdb}/exe")), "gdb", "who traces it")
            parent = stat(gdb)[1]
            while os.path.basename(os.readlink(f"/proc/{parent}/exe")) != "xterm":
                parent = stat(parent)[1]
            need(name.encode() in proc_bytes(parent, "cmdline"), "it is in that xterm", proc_bytes(parent, "cmdline"))
            need(os.readlink(f"/proc/{gdb}/fd/0").startswith("/dev/pts/"), "which is its terminal")
            logs.append(wait_for(lambda: glob.glob(f"{tmp()}/Xterm.log.*.{parent}"), "what it shows")[0])
            wait_for(lambda: shown(logs[-1]).endswith("(gdb)"), "a prompt in it")
        need(job.popen.poll() is None and not job.text(), "both wait")
        x.type(xterms[0], "continue")
        wait_for(lambda: b"ran 0" in job.text(), "rank 0 goes on, and its gdb stays")
        same([len(x.windows(t)) for t in names], [1, 1], "windows")
        x.type(xterms[1], "quit")
        wait_for(lambda: shown(logs[1]).endswith("(y or n)"), f"gdb's question in {shown(logs[1])}")
        x.type(xterms[1], "y")
        r = job.finish()
        same((r.status, sorted(r.lines)), (0, ["ran 0", "ran 1"]), r)
        same([x.windows(t) for t in names], [[], []], "windows afterwards")
        same(sockets(), [], "tmux")


@rows([(f"{s.name} to the launcher, {w}: no window, no process is left", s, options)
       for s in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL) for w, options in (("here", []), ("two hosts", NODES))])
def ended(signo, options):
    job = launch("-gdb", "all", *options, "-n", 2, "sleep", 600)
    hosts = ["a", "b"] if options else [HOST] * 2
    tmux, _ = windows(job, enumerate(hosts))
    job.kill(signo)
    r = job.finish(clean=signo != signal.SIGKILL)
    same((r.status, [m for m in r.messages if "cleanup" in m]), (128 + signo, []), "end")
    nothing_left(job.mark)
    wait_for(lambda: not sockets(), "its socket is removed")
    gone(tmux)


@rows([(f"a job that fails while a person looks at a rank ends as any does, {w}", options)
       for w, options in (("here", []), ("two hosts", NODES))])
def fails(options):
    job = launch("-gdb", "0", "-end-on-nonzero", *options, "-n", 2, "sh", "-c",
                 f"while [ ! -e {tmp()}/go ]; do sleep 0.05; done; exit 3")
    tmux, _ = windows(job, [(0, "a" if options else HOST)])
    write_file(f"{tmp()}/go", "")
    r = job.finish()
    same((r.status, [m for m in r.messages if "cleanup" in m]), (3, []), "end")
    gone(tmux)


@rows([(f"the keeper of the windows is killed, {w}: gdb ends, the ranks go on, and nothing is left at the end", options)
       for w, options in (("here", []), ("two hosts", NODES))])
def keeper(options):
    job = launch("-gdb", "all", *options, "-n", 2, "sh", "-c", "echo ran $PMI_RANK")
    windows(job, enumerate(["a", "b"] if options else [HOST] * 2))
    root = job.root()
    keepers = [p for p in children(job.pid) if p != root and proc_bytes(p, "cmdline") == proc_bytes(job.pid, "cmdline")]
    same(len(keepers), 1, "keepers")
    os.kill(keepers[0], signal.SIGKILL)
    r = job.finish()
    same((r.status, sorted(r.lines)), (0, ["ran 0", "ran 1"]), "end")


@rows([(f"killall -KILL mpiexec_lite, {w}: no window, no process is left", options)
       for w, options in (("here", []), ("two hosts", NODES))])
def killed_by_name(options):
    job = launch("-gdb", "all", *options, "-n", 2, "sleep", 600)
    tmux, _ = windows(job, enumerate(["a", "b"] if options else [HOST] * 2))
    named = [p for p in left(job.mark) if proc_bytes(p, "comm") == b"mpiexec_lite\n"]
    need(job.pid in named, "the front end has this name", named)
    for p in named:
        os.kill(p, signal.SIGKILL)
    r = job.finish(clean=False)
    same((r.status, [m for m in r.messages if "cleanup" in m]), (128 + signal.SIGKILL, []), "end")
    nothing_left(job.mark)
    gone(tmux)


def without(*names):
    """A PATH that has everything but these."""
    os.makedirs(f"{tmp()}/path")
    for folder in os.environ["PATH"].split(":"):
        for f in os.listdir(folder) if os.path.isdir(folder) else []:
            if f not in names and not os.path.lexists(f"{tmp()}/path/{f}"):
                os.symlink(f"{folder}/{f}", f"{tmp()}/path/{f}")
    return f"{tmp()}/path"


@rows([("no tmux, no xterm", ("tmux", "xterm"), ["-gdb", "0"], {"DISPLAY": ":7"}, "neither tmux nor, with DISPLAY set, xterm"),
       ("no tmux, no DISPLAY", ("tmux",), ["-gdb", "0"], {}, "neither tmux nor, with DISPLAY set, xterm"),
       ("no gdb", ("gdb",), ["-gdb", "0"], {}, "-gdb: there is no gdb here"),
       ("ranks that are not there", (), ["-gdb", "0,9"], {}, "-gdb: there is no rank 9"),
       ("no ranks", (), ["-gdb", ""], {}, "-gdb"),
       ("a launcher without a terminal", (), ["-gdb", "1", "-launcher", "rsh", "-hosts", "a,b"], {},
        "rank 1 is on b, where only -launcher ssh can open gdb, and not rsh"),
       ("-hold as well", (), ["-gdb", "1", "-hold", "init"], {}, "duplicate setting"),
       ("a tool that is not there", (), ["-tool", "/nowhere/tool -x"], {}, "-tool: /nowhere/tool: No such file"),
       ("a tool of a configuration file", (), ["-configfile", "{}"], {}, "only possible on the command line"),
       ("a tool without a name", (), ["-tool", " "], {}, "-tool: the value is empty")])
def cannot(names, words, env, text):
    path = without(*names) if names else os.environ["PATH"]
    write_file(f"{tmp()}/config", f"-tool x -n 2 sh -c 'touch {tmp()}/ran'\n")
    program = [] if words[0] == "-configfile" else ["-n", 2, "sh", "-c", f"touch {tmp()}/ran"]
    r = launch(*(w.format(f"{tmp()}/config") for w in words), *program, env={"PATH": path, **env}).finish()
    need(r.status and len(r.messages) == 1 and text in r.messages[0], "one line", r)
    need(not os.path.exists(f"{tmp()}/ran"), "nothing was started")


@test("too many ranks for windows are refused, and some of them taken")
def many():
    r = launch("-gdb", "all", "-n", 65, "true").finish()
    need(r.status and "more than 64 ranks" in r.messages[0], "one line", r)


TOOL = """#!/bin/sh
echo "$1 $PMIX_LAUNCHER_PAUSE_FOR_TOOL"
shift
"$@" &
until %s --pid $! release 2>/dev/null; do [ -e /proc/$! ] || break; sleep 0.05; done
wait $!
"""


@rows([(f"R23-11: {words[0]} CMD: the tool starts the launcher, which waits for it; its words stay as they were, {w}",
        words, options) for words in (["-tool", "{} arg"], ["-tool={} arg"], ["-debug={} arg"], ["--debug={}  arg"])
       for w, options in (("here", []), ("two hosts", NODES))])
def tool(words, options):
    write_file(f"{tmp()}/tool", TOOL % PMIX_TOOL, 0o755)
    words = [w.format(f"{tmp()}/tool") for w in words]
    r = run("-l", *words, *options, "-n", 2, "echo", "-tool", "{} arg", "a  b",
            env=FORK if options else None)
    same((r.status, sorted(r.lines)), (0, ["[0] -tool {} arg a  b", "[1] -tool {} arg a  b", "arg 1"]), r)


@rows([(f"-tool: a tool that {what} without letting the launcher go on takes it along, {w}", last, options)
       for what, last in (("ends", "exit 0"), ("is killed", "kill -9 $$"))
       for w, options in (("here", []), ("on two nodes", NODES))])
def tool_goes(last, options):
    write_file(f"{tmp()}/tool", f'#!/bin/sh\n"$@" &\nuntil {PMIX_TOOL} --pid $! ps; do :; done\n{last}\n', 0o755)
    mark = new_mark()
    subprocess.run([LAUNCHER, "-tool", f"{tmp()}/tool", *options, "-n", "2", "touch", f"{tmp()}/ran"], timeout=LIMIT,
                   env=environment(mark, FORK), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    wait_for(lambda: not left(mark), "the launcher ends")
    need(not os.path.exists(f"{tmp()}/ran"), "nothing has run")


@test("-tool and a debugger that knows MPIR: gdb starts the launcher, and it does not wait for anybody else")
def mpir():
    write_file(f"{tmp()}/gdb", "set breakpoint pending on\nset confirm off\nbreak main\nrun\n"
                               "python gdb.execute('set var *(int *)&MPIR_being_debugged = 1')\n"
                               "break MPIR_Breakpoint\ncontinue\nprint *(int *)&MPIR_proctable_size\ncontinue\n")
    r = run("-tool", f"gdb -nx -q -batch -x {tmp()}/gdb --args", "-n", 2, "sh", "-c", "echo ran")
    need(b"$1 = 2" in r.out and r.out.count(b"ran\n") == 2, "it has run", r)


@test("-debug alone is -v, as before; -debug=gdb:RANKS is -gdb RANKS")
def debug():
    r = run("-debug", "-n", 1, "true")
    need(r.status == 0 and any("exit status 0" in m for m in r.messages), "-v", r)
    for words in ["--debug=gdb:1"], ["--debug", "gdb", "1"], ["--debug", shutil.which("gdb") + ":1"]:
        job = launch(*words, "-n", 2, "sh", "-c", "echo ran $PMI_RANK")
        tmux, panes = windows(job, [(1, HOST)])
        tmux.type(panes[1], "continue")
        same(sorted(job.finish().lines), ["ran 0", "ran 1"], "end")


@test("issue 7: --debug gdb -n 2 opens gdb on both ranks; -debug gdb, with one dash, and --debug -- gdb run a program gdb")
def debug_gdb():
    job = launch("--debug", "gdb", "-n", 2, "sh", "-c", "echo ran $PMI_RANK")
    tmux, panes = windows(job, [(0, HOST), (1, HOST)])
    for pane in panes.values():
        tmux.type(pane, "continue")
    same(sorted(job.finish().lines), ["ran 0", "ran 1"], "end")
    for words in ["-debug", "gdb", "-n"], ["--debug", "--", "gdb", "-n"]:
        r = run(*words, "-batch", "-ex", "echo ran")
        same((r.status, r.out), (0, b"ran"), words)
    r = run("--debug", "/nowhere/gdb", "-n", 1, "true", env={"TMUX_TMPDIR": tmp()})
    need(r.status != 0 and any("there is no /nowhere/gdb here" in m for m in r.messages), "what is missing", r)


@test("completion knows what --debug gdb is")
def completion():
    def replies(line):
        script = (f'source {B}/completion/mpiexec_lite; COMP_LINE=$1 COMP_POINT=${{#1}} COMP_WORDS=($1) '
                  'COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _mpiexec_lite; printf "%s\\n" "${COMPREPLY[@]}"')
        return subprocess.run(["bash", "-c", script, "bash", line], stdout=subprocess.PIPE, text=True,
                              timeout=LIMIT).stdout.split()
    for line in "mpiexec_lite --debug gdb -pp", "mpiexec_lite --debug gdb 0,1 -pp", "mpiexec_lite -debug -pp":
        need("-ppn" in replies(line), "options", line, replies(line))
    for line in "mpiexec_lite -debug gdb -pp", "mpiexec_lite --debug gdb x -pp", "mpiexec_lite --debug gdb 0 1 -pp":
        same(replies(line), [], line)
    same(replies("mpiexec_lite -debug=g"), ["gdb"], "its values")


main()

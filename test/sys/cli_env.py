#!/usr/bin/env -S python3 -B
"""check 12: every variable of Hydra that stands for an option has the effect it should; and
those of a job of Flux.

Those that name an allocation are not here; binding.py has more of those that bind."""

import os
import re
import socket
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from lib import *                                       # noqa: E402
from munged import munges                               # noqa: E402

SH = ("/bin/sh", "-c")
TWO = ("-launcher", "fork", "-hosts", "localhost,a")


def lines(*words, **env):
    return good(*words, env=env).lines


def launcher(script):
    """A program in the place of ssh that counts its calls in the file calls; its words are
    from $9 on those of the proxy."""
    return write_file(tmp() + "/launcher", f"#!/bin/sh\necho \"$*\" >>{tmp()}/calls\n{script}\n", 0o755)


def calls():
    return open(tmp() + "/calls").read().splitlines()


@test("check 12: HYDRA_HOST_FILE")
def host_file():
    f = write_file(tmp() + "/hosts", "localhost:3\n")
    same(len(lines("echo", HYDRA_HOST_FILE=f)), 3, "processes")


@test("check 12: HYDRA_CONFIG_FILE")
def config_file():
    f = write_file(tmp() + "/job", "-n 2 echo a\n")
    same(lines(HYDRA_CONFIG_FILE=f), ["a", "a"], "output")


@test("check 12: HYDRA_ENV")
def inherit():
    show = [*SH, "echo ${MINE-none}"]
    same(lines(*show, HYDRA_ENV="all", MINE="1"), ["1"], "all")
    same(lines(*show, HYDRA_ENV="none", MINE="1"), ["none"], "none")


@test("check 12: HYDRA_HOSTNAME_PROPAGATION")
def hostname():
    show = [*SH, "echo ${PMI_HOSTNAME-none}"]
    same(lines(*show, HYDRA_HOSTNAME_PROPAGATION="no"), ["none"], "no")
    same(lines(*show, HYDRA_HOSTNAME_PROPAGATION="yes"), [HOST], "yes")


@test("check 12: HYDRA_DEBUG")
def debug():
    need(run("true", env={"HYDRA_DEBUG": "1"}).messages, "the launcher speaks")
    same(run("true", env={"HYDRA_DEBUG": "0"}).messages, [], "with 0")


@rows([("check 12: HYDRA_LAUNCHER", "HYDRA_LAUNCHER"), ("check 12: HYDRA_BOOTSTRAP", "HYDRA_BOOTSTRAP")])
def launchers(name):
    same(len(lines("-hosts", "a,b", "echo", **{name: "fork"})), 2, "processes")


@rows([(f"check 12: {x} and HYDRA_LAUNCHER_EXTRA_ARGS", x)
       for x in ("HYDRA_LAUNCHER_EXEC", "HYDRA_BOOTSTRAP_EXEC")])
def launcher_exec(name):
    r = run("-hosts", "a", "true", env={name: launcher("exit 9"),
                                        "HYDRA_LAUNCHER_EXTRA_ARGS": "-p  4242"})
    same(r.status, 255, "status")
    need(" -p 4242 " in calls()[0], "its words", calls())


@test("check 12: HYDRA_LAUNCHER_AUTOFORK")
def autofork():
    r = run("-hosts", "localhost", "true", env={"HYDRA_LAUNCHER_AUTOFORK": "0",
                                                "HYDRA_LAUNCHER_EXEC": launcher("exit 9")})
    same((r.status, len(calls())), (255, 1), "the launcher program is called")
    good("-hosts", "localhost", "true", env={"HYDRA_LAUNCHER_AUTOFORK": "1",
                                             "HYDRA_LAUNCHER_EXEC": launcher("exit 9")})


RESET = "echo 'Connection reset by peer' >&2; exit 255"


@test("check 12: HYDRA_PROXY_RETRY_COUNT")
def retries():
    r = run("-hosts", "a", "true", env={"HYDRA_PROXY_RETRY_COUNT": "1",
                                        "HYDRA_LAUNCHER_EXEC": launcher(RESET)})
    same((r.status, len(calls())), (255, 2), "calls")


@test("check 12: HYDRA_LAUNCHER_SSH_LIMIT, its _TIME and _ENABLE_WARNINGS")
def limit():
    env = {"HYDRA_PROXY_RETRY_COUNT": "2", "HYDRA_LAUNCHER_SSH_LIMIT": "2",
           "HYDRA_LAUNCHER_SSH_LIMIT_TIME": "0", "HYDRA_LAUNCHER_EXEC": launcher(RESET)}
    r = run("-hosts", "a", "true", env=env)
    same([x for x in r.messages if "in a row" in x],
         ["mpiexec_lite: a: 2 ssh in a row; the next one in 0 s"], "the pause is told")
    env["HYDRA_LAUNCHER_SSH_ENABLE_WARNINGS"] = "false"
    r = run("-hosts", "a", "true", env=env)
    same((r.status, [x for x in r.messages if "in a row" in x]), (255, []), "the pause is not told")


@rows([("check 12: HYDRA_USE_STRACE", "strace"), ("check 12: HYDRA_USE_VALGRIND", "valgrind"),
       ("check 12: HYDRA_USE_DDD", "ddd")])
def wrapper(tool):
    write_file(f"{tmp()}/{tool}", f"#!/bin/sh\necho {tool} >>{tmp()}/calls\nexec \"$@\"\n", 0o755)
    env = {"HYDRA_USE_" + tool.upper(): "1", "PATH": f"{tmp()}:{os.environ['PATH']}"}
    same(len(lines(*TWO, "echo", **env)), 2, "processes")
    same(calls(), [tool], "calls of the tool")


def free_ports():
    """Two ports, the second of which is free."""
    s = socket.create_server(("127.0.0.1", 0))
    try:
        return s.getsockname()[1] - 1, s.getsockname()[1]
    finally:
        s.close()


PORTS = ("MPIEXEC_PORT_RANGE MPIEXEC_PORTRANGE MPICH_PORT_RANGE MPICH_PORTRANGE "
         "MPIR_CVAR_CH3_PORT_RANGE MPIR_CVAR_PORT_RANGE MPIR_PARAM_CH3_PORT_RANGE "
         "MPIR_PARAM_PORT_RANGE").split()


@rows([(f"check 12: {x}", x) for x in PORTS])
def ports(name):
    for _ in range(5):                   # somebody else may be faster
        low, high = free_ports()
        r = run("-pmi-port", "-n", 1, *SH, "echo $PMI_PORT", env={name: f"{low}:{high}"})
        if r.status == 0:
            break
        need("cannot open a PMI port: Address already in use" in r.messages[0], "the reason", repr(r))
    need(low <= int(r.lines[0].partition(":")[2]) <= high, "the port", repr(r))


class Here:
    """As a bed, for munged: its folder."""

    @staticmethod
    def path(name):
        return os.path.join(tmp(), name)


def called_at(*words, **env):
    """The address that hosts are to call: told once munge has answered."""
    os.chmod(tmp(), 0o711)               # or munged does not trust its place
    with munges(Here()) as sock:
        job = Job("-launcher", "manual", "-munge-socket", sock, "-hosts", "a", *words, "true", env=env)
        job.wait_text("HYDRA_LAUNCH_END")
        job.kill(signal.SIGTERM)
        r = job.finish()
    same(r.status, 143, "status")
    return re.search(r"--connect (\S+):\d+ ", r.lines[0])[1]


@test("check 12: HYDRA_IFACE; -iface, -localhost")
def iface():
    same(called_at(HYDRA_IFACE="lo"), "127.0.0.1", "address")
    same(called_at("-iface", "lo"), "127.0.0.1", "address of -iface")
    same(called_at("-localhost", "127.0.0.7"), "127.0.0.7", "address of -localhost")


@test("check 12: MPIEXEC_TIMEOUT")
def timeout():
    r = run("sleep", 1000, env={"MPIEXEC_TIMEOUT": "1"})
    same(r.status, 124, "status")
    need(any(re.search(r"APPLICATION TIMED OUT, TIMEOUT = [0-9.]+s$", x) for x in r.messages),
         "the words that harnesses look for", r.messages)
    good("true", env={"MPIEXEC_TIMEOUT": "-1"})


@test("check 12: MPIEXEC_UNIVERSE_SIZE")
def universe():
    same(lines(*SH, "echo $PMI_UNIVERSE_SIZE", MPIEXEC_UNIVERSE_SIZE="17"), ["17"], "size")


SHOW = """
import os
memory = os.path.exists("/proc/self/numa_maps") and open("/proc/self/numa_maps").readline().split()[1]
print(sorted(os.sched_getaffinity(0)), memory)
"""


@rows([(f"check 12: {x} is {option}", x, option, value) for x, option, value in (
    ("HYDRA_BINDING", "-bind-to", "hwthread"), ("HYDRA_MAPPING", "-map-by", "hwthread"),
    ("HYDRA_MEMBIND", "-membind", "interleave:0"))])
def binding(name, option, value):
    own = {"XDG_RUNTIME_DIR": runtime()}         # where other bound jobs are known
    r = run(option, value, *py(SHOW), env=own)
    if b"membind: Operation not permitted" in r.err:
        raise Skip("no set_mempolicy here")
    same(r.status, 0, f"{r}")
    same(lines(*py(SHOW), **own, **{name: value}), r.lines, "as by the option")
    free = lines(*py(SHOW), **own)
    if name == "HYDRA_MEMBIND" or len(os.sched_getaffinity(0)) > 1:
        need(r.lines != free or free[0].endswith("False"), "the option has an effect", r.lines)
    same(lines(option, "none", *py(SHOW), **own, **{name: value}), free, "an option beats it")


@test("check 12: HYDRA_TOPO_DEBUG")
def report():
    own = {"XDG_RUNTIME_DIR": runtime()}
    want = run("-report-bindings", "true", env=own)
    same(run("true", env={**own, "HYDRA_TOPO_DEBUG": "1"}).messages, want.messages, "bindings")
    need(want.messages, "there are some")
    same(run("true", env={**own, "HYDRA_TOPO_DEBUG": "0"}).messages, [], "with 0")


@rows([(f"check 12: {x}: a value of another launcher is ignored with a warning", x) for x in
       ("HYDRA_BINDING", "HYDRA_MAPPING", "HYDRA_MEMBIND", "HYDRA_TOPOLIB")])
def ignored(name):
    r = run("echo", "x", env={name: "shelf"})
    same((r.status, r.lines, len(r.messages)), (0, ["x"], 1), f"end of {r}")
    need(f"{name} is ignored: " in r.messages[0] and "'shelf'" in r.messages[0], "the words",
         r.messages)
    if name == "HYDRA_TOPOLIB":
        same(run("true", env={name: "hwloc"}).messages, [], "with hwloc")


@rows([(f"check 12: {x} is harmless", x) for x in
       ("HYDRA_DEMUX", "HYDRA_NAMESERVER_PORT", "HYDRA_NAMESERVER_DEBUG", "HYDSERV_PORT",
        "HYDSERV_DEBUG", "MPIEXEC_PREFIX_DEFAULT", "MPIEXEC_STDIN_DEST", "MPIEXEC_STDOUTBUF")])
def harmless(name):
    same(lines("echo", "x", **{name: "1"}), ["x"], "output")


FLUX = """#!/bin/sh
# What flux(1) says in an instance of three brokers, and of a job of two of its nodes
lite() { echo "{\\"version\\":1,\\"execution\\":{\\"R_lite\\":[$1],\\"nodelist\\":[\\"$2\\"]}}"; }
case "$*" in
"kvs get resource.R") lite '{"rank":"0-2","children":{"core":"0-1"}}' 'fluke[6-8]';;
"job info f7 R") lite '{"rank":"1-2","children":{"core":"0"}}' 'fluke[7-8]';;
*) echo "flux: $*: unknown" >&2; exit 1;;
esac
"""


@test("a job of Flux: flux is asked for its hosts; what is wrong is said, with what to do")
def flux():
    os.mkdir(tmp() + "/bin")
    write_file(tmp() + "/bin/flux", FLUX, 0o755)
    env = {"PATH": f"{tmp()}/bin:{os.environ['PATH']}", "FLUX_URI": "local:///run/flux/local"}
    show = ("-print-rank-map", "-launcher", "fork", "true")
    same(lines(*show, **env), ["(fluke6:0,1)", "(fluke7:2,3)", "(fluke8:4,5)"], "an instance")
    same(lines(*show, **env, FLUX_JOB_ID="f7"), ["(fluke7:0)", "(fluke8:1)"], "a job")
    same(lines("-n", 2, "-hosts", "a", *show, **env), ["(a:0,1)"], "a list is the user's")
    same(lines("-rmk", "user", *show, **env), [f"({HOST}:0)"], "-rmk user")
    r = run("-n", 7, *show, env=env)
    same((r.status, r.messages), (2, ["mpiexec_lite: fluke6 would have 3 processes and has 2 slots; "
                                      "--oversubscribe allows that"]), "too many")
    for more, why in (({"FLUX_JOB_ID": "f8"}, "flux job info f8 R: it has failed (1)"),
                      ({"PATH": "/nowhere"}, "flux kvs get resource.R: No such file or directory")):
        r = run("true", env={**env, **more})
        same((r.status, r.messages[-1]),
             (2, f"mpiexec_lite: job of flux (-rmk user: do not look): {why}"), "an error")


@rows([(f"check 12: {x}: only a boolean", x) for x in
       ("HYDRA_DEBUG", "HYDRA_LAUNCHER_AUTOFORK", "HYDRA_HOSTNAME_PROPAGATION", "HYDRA_USE_STRACE",
        "HYDRA_TOPO_DEBUG")])
def booleans(name):
    for good_one in ("1", "Yes", "TRUE", "on", "0", "no", "false", "OFF"):
        same(run("-launcher", "fork", "true", env={name: good_one}).status, 0, f"status with {good_one}")
    r = run("true", env={name: "perhaps"})
    same((r.status, len(r.messages)), (2, 1), f"end of {r}")
    need(name in r.messages[0] and "'perhaps'" in r.messages[0], "variable and word", r.messages)


main()

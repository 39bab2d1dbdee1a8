#!/usr/bin/env -S python3 -B
"""libpmix_ext as programs use it: ranks under our servers and under Hydra, beside ranks of
PMI-1 and PMI-2, tools, threads, and servers that go while calls wait."""

import contextlib
import os
import re
import signal
import socket
import subprocess

import pmixlib
from pmixlib import *
from lib import *

LIB = os.path.join(B, "lib")
PROGS = os.path.join(ROOT, "test", "progs")
HEADERS = os.path.join(ROOT, "pmix_ext")
FORK3 = ["-launcher", "fork", "-hosts", "h[0-2]:2"]
PLACES = [("one host", []), ("three hosts", FORK3)]
VALGRIND = ["valgrind", "-q", "--leak-check=full", "--show-leak-kinds=all",
            "--errors-for-leak-kinds=all", "--error-exitcode=99"]


def build(name, *flags):
    """test/progs/NAME.c, compiled into the test's own folder with our library."""
    out = f"{tmp()}/{name}"
    flags = flags or (f"-I{HEADERS}/std", f"-L{LIB}", "-lpmix_ext", f"-Wl,-rpath,{LIB}")
    subprocess.run(["cc", "-Wall", "-Wextra", "-Werror", "-O1", "-g", "-o", out,
                    f"{PROGS}/{name}.c", *flags, "-lpthread"], check=True)
    return out


def run_alone(*words, env=None, limit=LIMIT):
    """A program that is no rank, to its end: (status, output)."""
    r = subprocess.run(list(words), env=environment(new_mark(), preloaded(env or {})),
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, timeout=limit)
    return r.returncode, r.stdout.decode("utf-8", "backslashreplace")


def oks(n):
    return sorted(f"rank {i}: ok" for i in range(n))


def all_ok(n, *words, options=(), env=None, **more):
    r = run(*options, "-n", n, *words, env=preloaded(env or {}), **more)
    same((r.status, sorted(r.lines)), (0, oks(n)), f"end of {r}")


# --- ranks ------------------------------------------------------------------------


@rows([(f"what every rank does, {n} ranks, {where}", n, options)
       for where, options in PLACES for n in (1, 3, 6)])
def basics(n, options):
    all_ok(n, build("pmix_rank"), "basics", options=options, env={"NAMES": "1"})


@rows([(f"R10-11, R10-25: of the library, a rank as int32 is refused, 200 as a scope passes, {where}", options)
       for where, options in PLACES])
def types(options):
    all_ok(3, build("pmix_rank"), "types", options=options)


@rows([(f"R10-15: of the library, known and unknown keys in one query, {where}", options)
       for where, options in PLACES])
def queries(options):
    all_ok(3, build("pmix_rank"), "queries", options=options)


@rows([(f"16 threads of each of {n} ranks call at once, {where}", n, options)
       for where, options in PLACES for n in (1, 4)])
def threads(n, options):
    all_ok(n, build("pmix_rank"), "threads", options=options)


@rows([(f"event handlers in their order, and events of others, {n} ranks, {where}", n, options)
       for where, options in PLACES for n in (1, 4)])
def events(n, options):
    all_ok(n, build("pmix_rank"), "events", options=options)


@rows([(f"an abort ends the job with its status and words, {where}", options)
       for where, options in PLACES])
def abort(options):
    r = run(*options, "-n", 3, build("pmix_rank"), "abort", env=preloaded({}))
    same(r.status, 7, f"status of {r}")
    need(any("enough of it" in m for m in r.messages), "the words", r)


@rows([(f"R10-10: an abort of the wildcard rank is one of the job, {where}", options)
       for where, options in PLACES])
def abort_wildcard(options):
    r = run(*options, "-n", 3, build("pmix_rank"), "abort-wildcard", env=preloaded({}))
    same(r.status, 7, f"status of {r}")
    need(any("enough of it" in m for m in r.messages), "the words", r)


@test("R10-10: an abort of the ranks of the own node ends these, and the others go on")
def abort_node():
    job = Job("-launcher", "fork", "-hosts", "a,b", "-ppn", "2", "-disable-auto-cleanup", "-n", 4,
              build("pmix_rank"), "abort-node", env=preloaded({}))
    tool = Tool(job)
    name = results(pmixlib.good(tool.call("pmix-query", queries=[query("pmix.qry.ns")])))[0][2]
    key = "pmix.qry.ptable"

    def states():
        quals = [info("pmix.nspace", "STRING", name)]
        r = pmixlib.good(tool.call("pmix-query", queries=[query(key, qualifiers=quals)]))
        return [p["state"] for p in r["results"][0]["value"]["array"]]
    wait_for(lambda: states() == [51, 51, 6, 6], lambda: f"killed by order, connected: {states()}")
    job.kill(signal.SIGTERM)
    job.finish()


@rows([(f"values of 16 MiB, and other requests longer than a frame, {where}", options)
       for where, options in PLACES])
def long_ones(options):
    all_ok(3, build("pmix_rank"), "long", options=options)


HELD = """
    #include <pmix.h>
    #include <stdio.h>
    int main(void) {
        pmix_proc_t me;
        pmix_status_t rc = PMIx_Init(&me, NULL, 0);
        printf("%u %s\\n", me.rank, PMIx_Error_string(rc));
        fflush(stdout);
        return PMIx_Finalize(NULL, 0) != PMIX_SUCCESS; }
"""
READY, RELEASE = -58, -3        # PMIX_READY_FOR_DEBUG, PMIX_DEBUGGER_RELEASE


def compiled(name, text):
    """A program of the standard's names, given as text."""
    out = f"{tmp()}/{name}"
    write_file(out + ".c", text)
    subprocess.run(["cc", "-Wall", "-Werror", "-o", out, out + ".c", f"-I{HEADERS}/std", f"-L{LIB}", "-lpmix_ext",
                    f"-Wl,-rpath,{LIB}"], check=True)
    return out


def hold_by_option(program, options):
    job = Job("-hold", "init", *options, "-n", 2, program, env=preloaded({}))
    tool = Tool(job)
    pmixlib.good(tool.call("pmix-event-register", codes=[READY]))
    return job, tool


def hold_by_spawn(program, options):
    """The parent has no part in it but to be the launcher's."""
    job = Job(*options, "-n", 1, "sleep", 1000)
    tool = Tool(job)
    pmixlib.good(tool.call("pmix-event-register", codes=[READY]))
    pmixlib.good(tool.call("pmix-spawn", apps=[{"cmd": program, "argv": [program], "maxprocs": 2,
                                        "env": [f"{k}={v}" for k, v in preloaded({}).items()]}],
                   infos=[info("pmix.dbg.init", "BOOL", True, ["required"])]))
    return job, tool


@rows([(f"R23-03, R23-24: PMIX_DEBUG_STOP_IN_INIT: ranks of this library wait in PMIx_Init until each is released, {how}, {where}",
        hold, options) for how, hold in (("-hold", hold_by_option), ("a tool's spawn", hold_by_spawn))
       for where, options in PLACES])
def held(hold, options):
    job, tool = hold(compiled("held", HELD), options)
    said = dict(plain(i) for i in tool.event("pmix-event")["infos"])
    name = said["pmix.nspace"]
    same(said["pmix.brkpnt"], "pmix-init", "where")
    same(job.text(), b"", "what is written before")
    for rank in 1, 0:
        targets = {"type": "PMIX_PROC", "array": [proc(name, rank)]}
        pmixlib.good(tool.call("pmix-notify", status=str(RELEASE), range="6",
                               infos=[info("pmix.evrange", "DATA_ARRAY", targets)]))
        job.wait_text(f"{rank} PMIX_SUCCESS")
        same(len(job.text().splitlines()), 2 - rank, "how many are through")
    if hold is hold_by_spawn:
        job.kill(signal.SIGTERM)
    same(job.finish().status, 0 if hold is hold_by_option else 143, "the launcher's end")


REQUIRED = """
    #include <pmix_tool.h>
    #include <stdio.h>
    int main(int argc, char **argv) {
        for (int i = 2; i < argc; i += 2) {
            pmix_info_t info;
            pmix_proc_t me;
            pmix_status_t rc;
            PMIX_INFO_LOAD(&info, argv[i + 1], "me", PMIX_STRING);
            if (argv[i][0] == 'r')
                PMIX_INFO_REQUIRED(&info);
            rc = argv[1][0] == 't' ? PMIx_tool_init(&me, &info, 1) : PMIx_Init(&me, &info, 1);
            printf("%s\\n", PMIx_Error_string(rc));
            fflush(stdout);
            PMIX_INFO_DESTRUCT(&info);
            if (rc == PMIX_SUCCESS)
                PMIx_Finalize(NULL, 0); }
        return 0; }
"""


@test("R10-24: PMIx_Init and PMIx_tool_init refuse what is required and means nothing here, and pass over it if not")
def required():
    program, unknown = compiled("required", REQUIRED), ("pmix.fqdn", "pmix.lcpus", "pmix.version", "no.such")
    words = [x for key in unknown for x in ("required", key)]
    refusals = ["PMIX_ERR_NOT_SUPPORTED"] * len(unknown)
    r = run("-n", 1, program, "rank", *words, "optional", "pmix.fqdn", env=preloaded({}))
    same((r.status, r.lines), (0, refusals + ["PMIX_SUCCESS"]), f"a rank: {r}")
    job = Job("-n", 1, "sleep", 1000)
    for how, key in ("optional", "pmix.fqdn"), ("required", "pmix.tool.nspace"):
        status, text = run_alone(program, "tool", *words, how, key, env=as_tool(job))
        same((status, text.splitlines()), (0, refusals + ["PMIX_SUCCESS"]), f"a tool, {how} {key}")
    job.kill(signal.SIGTERM)
    job.finish()


@test("a static program")
def static():
    more = ["-fsanitize=address,undefined"] if is_sanitized() else []
    all_ok(2, build("pmix_rank", f"-I{HEADERS}/std", f"{LIB}/libpmix_ext.a", "-ljansson", *more))


@test("a process that is no rank: there is no server, and nothing waits")
def no_server():
    status, text = run_alone(build("pmix_rank"))
    same(status, 1, text)
    need("is PMIX_ERR_UNREACH" in text, text)


@rows([(f"under Hydra: PMI-2's part works, the rest says no at once, {n} ranks", n)
       for n in (1, 4)])
def hydra(n):
    status, text = run_alone("mpiexec.mpich", "-n", str(n), build("pmix_rank"), "basics", "plain")
    same((status, sorted(text.splitlines())), (0, oks(n)), "end")


@test("under Hydra: 16 threads of each rank")
def hydra_threads():
    status, text = run_alone("mpiexec.mpich", "-n", "2", build("pmix_rank"), "threads", limit=120)
    same((status, sorted(text.splitlines())), (0, oks(2)), "end")


# As many fences as pmix_rank mixed has.
OTHERS = """
c = Client(int(sys.argv[1]))
if c.version == 1:
    c.ask("cmd=put kvsname=%s key=from-%d value=rank %d" % (c.kvsname(), rank, rank))
else:
    c.ask("cmd=kvs-put;key=from-%d;value=rank %d;" % (rank, rank))
for i in range(3):
    c.ask("cmd=barrier_in" if c.version == 1 else "cmd=kvs-fence;")
c.ask("cmd=finalize" if c.version == 1 else "cmd=finalize;")
say("rank %d: ok" % rank)
"""


@rows([(f"one job with ranks of PMI-1, PMI-2 and this library, {where}", options)
       for where, options in PLACES])
def mixed(options):
    ours = [build("pmix_rank"), "mixed"]
    r = run(*options, "-n", 2, *ours, ":", "-n", 1, *py(OTHERS, 1), ":", "-n", 1,
            *py(OTHERS, 2), env=preloaded({}))
    same((r.status, sorted(r.lines)), (0, oks(4)), f"end of {r}")


# --- tools ------------------------------------------------------------------------


def as_tool(job):
    return {"PMIX_SERVER_URI": "unix:" + tools_socket(job.pid)}


@test("R10-22: a tool of the standard's names: ps by the blocking query, get, log")
def tool():
    job = Job("-n", 2, "sleep", "1000")
    env, program = as_tool(job), build("pmix_std_tool")
    # It asks for the system's server or any of the session's: that has to be this one alone.
    env["PMIX_SERVER_TMPDIR"] = tmp() + "/none"
    os.mkdir(env["PMIX_SERVER_TMPDIR"], 0o700)
    status, text = run_alone(program, env=env)
    same((status, "PMIX_ERR_UNREACH" in text), (1, True), text)
    job.kill(signal.SIGTERM)
    job.finish()
    env = private()
    job = Job("-n", 2, "sleep", "1000", env=env)
    tools_socket_in(env)
    status, text = run_alone(program, env=env)
    same(status, 0, text)
    lines = [line.split() for line in text.splitlines()]
    same([(x[1], x[2], x[4].rpartition("/")[2], x[5]) for x in lines],
         [(str(i), HOST, "sleep", "PMIX_PROC_STATE_RUNNING") for i in range(2)], text)
    same(run_alone(program, "get", env=env), (0, "1\n"), "get")
    same(run_alone(program, "log", env=env), (0, ""), "log")
    wait_for(lambda: b"said by a tool" in job.error_text(), "the log line")
    same(run_alone(program, "kill", lines[0][0], env=env), (0, ""), "kill")
    job.finish()


def private():
    """The environment of a launcher and its tools that see no other."""
    there = f"{tmp()}/there"
    os.mkdir(there, 0o700)
    return {"PMIX_SERVER_TMPDIR": there}


@test("a tool of the standard's names: it spawns a job, and reads along what ranks write")
def spawn_and_output():
    env, program = private(), build("pmix_std_tool")
    job = Job("-n", 2, "sh", "-c", f"until test -e {tmp()}/stop; do echo a word; sleep 0.05; done",
              env=env)
    tools_socket_in(env)
    status, text = run_alone(program, env=env)
    nspace = text.split()[0]
    out = open(f"{tmp()}/out", "w+b")
    reader = subprocess.Popen(["stdbuf", "-oL", program, "output", nspace],
                              stdin=subprocess.DEVNULL, stdout=out,
                              env=environment(job.mark, preloaded(env)))
    for word in (b"[0 stdout] a word", b"[1 stdout] a word"):
        wait_for(lambda word=word: word in os.pread(out.fileno(), 1 << 20, 0), "output")
    status, text = run_alone(program, "spawn", "/bin/sh", "-c", "echo spawned $STD_TOOL", env=env)
    # What the job writes comes to the tool as well, as long as that is there.
    same((status, [line for line in text.splitlines() if line != "spawned 1"]),
         (0, [f"{nspace}.1"]), "spawn")
    job.wait_text("spawned 1", 2)
    open(f"{tmp()}/stop", "w").close()
    same(reader.wait(LIMIT), 0, "the reader's end")
    same(job.finish().status, 0, "the job's end")


def tools_socket_in(env):
    there = env["PMIX_SERVER_TMPDIR"]
    wait_for(lambda: any(name.endswith(".s") for name in os.listdir(there)), "the socket")


@rows([("R10-17: a tool of two servers; answers of servers and of the library keep their order", []),
       ("valgrind: a tool of two servers", VALGRIND)])
def two_servers(prefix):
    if prefix and is_sanitized():
        raise Skip("the sanitizers look at memory themselves")
    jobs = [Job("-n", 1, "sleep", "1000") for _ in range(2)]
    uris = ["file:" + tools_socket(job.pid).removesuffix(".s") for job in jobs]
    names = []
    for job in jobs:
        peer = Tool(job)
        names.append(peer.call("pmix-query", queries=[query("pmix.qry.ns")])["results"][0]["value"])
        peer.close()
    a, b = names
    same(run_alone(*prefix, build("pmix_servers"), *uris, limit=200),
         (0, f"{a}\n{a}\n{b}\n{b}\n{a}\nok\n"), "end")
    for job in jobs:
        job.kill(signal.SIGTERM)
        job.finish()


@rows([("the versions of the ABI and the servers that are there, asked before any init", []),
       ("valgrind: the same", VALGRIND)])
def no_init(prefix):
    if prefix and is_sanitized():
        raise Skip("the sanitizers look at memory themselves")
    env, program = private(), build("pmix_servers")
    os.makedirs(env["PMIX_SERVER_TMPDIR"], 0o700, exist_ok=True)
    same(run_alone(*prefix, program, env=env), (0, "ok\n"), "no server")
    jobs = [Job("-n", 1, "sleep", "1000", env=env) for _ in range(2)]
    there = env["PMIX_SERVER_TMPDIR"]
    wait_for(lambda: len([n for n in os.listdir(there) if n.endswith(".s")]) == 2, "two sockets")
    status, text = run_alone(*prefix, program, env=env, limit=200)
    lines = [line.split() for line in text.splitlines()]
    same((status, lines[-1]), (0, ["ok"]), text)
    same(sorted(f"{HOST}.{pid}" for _, pid in lines[:-1]),
         sorted(n.removesuffix(".s") for n in os.listdir(there) if n.endswith(".s")), text)
    need(all(f"-{pid}-" in name for name, pid in lines[:-1]), "each its name", text)
    for job in jobs:
        job.kill(signal.SIGTERM)
        job.finish()


@test("a tool ends although its launcher is stopped, and the launcher goes on without it")
def stopped_launcher():
    job = Job("-n", 1, "sleep", "1000")
    uri, root = "unix:" + tools_socket(job.pid), job.root()
    tool = subprocess.Popen([build("pmix_servers"), uri], stdin=subprocess.PIPE, text=True,
                            stdout=subprocess.PIPE, env=environment(job.mark, preloaded({})))
    need(tool.stdout.readline().startswith("tool."), "its name")
    for pid in job.pid, root:
        os.kill(pid, signal.SIGSTOP)
    wait_for(lambda: stat(root)[0] == "T", "the launcher is stopped")
    try:
        same(tool.communicate("\n", timeout=LIMIT)[0], "ok\n", "what it says")
        same(tool.returncode, 0, "exit status")
    finally:
        for pid in root, job.pid:
            os.kill(pid, signal.SIGCONT)
        tool.kill()
    pmixlib.good(Tool(job).call("pmix-capabilities"))
    job.kill(signal.SIGTERM)
    job.finish()


@test("a server is killed while calls wait: every one ends, and a handler hears of it")
def killed():
    job = Job("-n", 2, "sleep", "1000")
    peer = Tool(job)
    nspace = peer.call("pmix-query", queries=[query("pmix.qry.ns")])["results"][0]["value"]
    out = open(f"{tmp()}/out", "w+b")
    waits = subprocess.Popen([build("pmix_waits"), nspace], stdin=subprocess.DEVNULL, stdout=out,
                             env=environment(job.mark, preloaded(as_tool(job))))
    wait_for(lambda: b"waiting" in os.pread(out.fileno(), 1000, 0) or waits.poll() is not None,
             "calls that wait")
    os.kill(job.root(), signal.SIGKILL)
    same((waits.wait(LIMIT), os.pread(out.fileno(), 1000, 0)), (0, b"waiting\nok\n"), "end")
    peer.close()
    job.finish()


# --- servers that are not ours ------------------------------------------------------


def accept(listener, replies):
    """Serve one tool: registrations and what is in replies are answered, the rest never."""
    s, _ = listener.accept()
    peer = Peer(s)
    line = b""
    while not line.endswith(b"\n"):
        line += peer.read(1)
    s.sendall(b"cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n")
    replies = {"pmix-tool-connect": "nspace=tool;rank=0;server=fake;",
               "pmix-event-register": "id=1;", **replies}
    unanswered = 0
    while unanswered < replies.get("enough", 1):
        m = peer.frame()
        if m["cmd"] in replies:
            peer.send_raw(f"cmd={m['cmd']}-response;thrid={m.get('thrid', '')};rc=0;status=0;"
                          .replace("thrid=;", "") + replies[m["cmd"]])
        else:
            unanswered += 1
    return peer


def fake():
    path = f"{tmp()}/fake"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(8)
    return listener, {"PMIX_SERVER_URI": "unix:" + path}


ENDS = [
    ("closes", lambda p: p.close()),
    ("sends what is no frame", lambda p: (p.sock.sendall(b"nonsense"), p.read(1))),
    ("sends half a frame", lambda p: (p.sock.sendall(b"   100cmd=pm"), p.close())),
    ("answers what nobody asked", lambda p: (p.send_raw("cmd=x;thrid=999;rc=0;"), p.read(1))),
    ("answers with another command", lambda p: (p.send_raw("cmd=x;thrid=2;rc=0;"), p.read(1))),
]


@rows([(f"a server that {what} while calls wait", end) for what, end in ENDS])
def breaks(end):
    listener, env = fake()
    waits = subprocess.Popen([build("pmix_waits")], stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE,
                             env=environment(new_mark(), preloaded(env)))
    peer = accept(listener, {"enough": 32})
    with contextlib.suppress(Closed, ConnectionError):
        end(peer)
    out, _ = waits.communicate(timeout=LIMIT)
    same((waits.returncode, out), (0, b"waiting\nok\n"), "end")


@rows([
    ("no name", "rank=0;"), ("a rank that is none", "nspace=x;rank=-1;"),
    ("a name that is too long", f"nspace={'x' * 300};rank=0;"),
])
def bad_hello(reply):
    listener, env = fake()
    waits = subprocess.Popen([build("pmix_waits")], stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE,
                             env=environment(new_mark(), preloaded(env)))
    with contextlib.suppress(Closed, ConnectionError):
        accept(listener, {"pmix-tool-connect": reply})
    out, _ = waits.communicate(timeout=LIMIT)
    same((waits.returncode, out), (1, b"init: PMIX_ERR_HANDSHAKE_FAILED\n"), "end")


# --- the library as a file -----------------------------------------------------------


def declared():
    names = set()
    for name in ("pmix_ext.h", "pmix_ext_values.h", "pmix_ext_server.h"):
        with open(f"{HEADERS}/{name}", encoding="utf-8") as f:
            names |= set(re.findall(r"\bPMIX_EXPORT\b[^;]*?\b(PMIx_\w+|pmix_ext_\w+)\s*\(",
                                    f.read()))
    return names


@rows([("the shared library", ["nm", "-D", f"{LIB}/libpmix_ext.so.0"]),
       ("the static library", ["nm", "-g", f"{LIB}/libpmix_ext.a"])])
def exported(command):
    out = subprocess.run([*command, "--defined-only"], stdout=subprocess.PIPE, check=True,
                         text=True).stdout
    seen = {line.split()[-1] for line in out.splitlines() if len(line.split()) == 3}
    need(len(declared()) > 200, declared())
    same(sorted(seen - declared()), [], "names that no header has")
    same(sorted(declared() - seen), [], "names that are only in headers")


@test("an installation: a program of the standard's names, built by pkg-config, runs")
def installed():
    if is_sanitized():
        raise Skip("it would be built anew, without the sanitizers, under the other tests")
    there = f"{tmp()}/there"
    env = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    subprocess.run(["make", "-s", f"B={os.path.relpath(B, ROOT)}", f"PREFIX={there}", "install"],
                   cwd=ROOT, env={**env, "CFLAGS": "-O2 -g"}, check=True,
                   stdout=subprocess.DEVNULL, timeout=300)
    for static in ([], ["--static"]):
        flags = subprocess.run(["pkg-config", "--cflags", "--libs", *static, "mpiexec_lite-pmix"],
                               env={**os.environ, "PKG_CONFIG_PATH": f"{there}/lib/pkgconfig"},
                               stdout=subprocess.PIPE, check=True, text=True).stdout.split()
        all_ok(2, build("pmix_rank", *flags))
    need(os.path.getsize(f"{there}/share/man/man3/libpmix_ext.3") > 1000, "the manual page")


# --- names of numbers ------------------------------------------------------------------

# The functions of RFC0010 and those that came later, and what they name.
STRINGS = {
    "Proc_state": "pmix_proc_state_t", "Job_state": "pmix_job_state_t", "Scope": "pmix_scope_t",
    "Persistence": "pmix_persistence_t", "Data_range": "pmix_data_range_t",
    "Data_type": "pmix_data_type_t", "Alloc_directive": "pmix_alloc_directive_t",
    "Link_state": "pmix_link_state_t", "Device_type": "pmix_device_type_t",
    "Error": "pmix_status_t",
}
# Bounds of ranges of numbers, and a number that is retired: they name nothing.
BOUNDS = {"PMIX_DATA_TYPE_MAX", "PMIX_ALLOC_EXTERNAL", "PMIX_EXTERNAL_ERR_BASE", "PMIX_BUFFER"}


def constants(kind):
    """What the header defines behind this type, but for keys: the names of its numbers."""
    with open(f"{HEADERS}/pmix_ext_common.h", encoding="utf-8") as f:
        text = re.search(rf"typedef \w+ {kind};\n(.*?)\ntypedef", f.read(), re.S)[1]
    return re.findall(r"(?m)^#define (PMIX_\w+) +[^\s\"]", text)


@rows([(f"R10-26: PMIx_{name}_string names every number of {kind}, and any other 'unknown'", name,
        kind) for name, kind in STRINGS.items()])
def strings(name, kind):
    names = constants(kind)
    need(len(names) > 2, "constants were found", names)
    lines = "".join(f'show("{n}", {n});\n' for n in names)
    write_file(f"{tmp()}/strings.c", f"""
        #include <pmix.h>
        #include <stdio.h>
        static void show(const char *name, {kind} n) {{
            printf("%s %lld %s\\n", name, (long long)n, PMIx_{name}_string(n)); }}
        int main(void) {{ {lines} for (int i = -4000; i < 4000; i++) show("-", ({kind})i); }}
        """)
    out = f"{tmp()}/strings"
    subprocess.run(["cc", "-o", out, out + ".c", f"-I{HEADERS}/std", f"-L{LIB}", "-lpmix_ext",
                    f"-Wl,-rpath,{LIB}"], check=True)
    status, text = run_alone(out)
    said = [line.split(" ") for line in text.splitlines()]
    same((status, len(said)), (0, len(names) + 8000), "the program")
    known = {}
    for n, number, _ in said[:len(names)]:
        if n not in BOUNDS:
            known.setdefault(number, []).append(n)
    for n, number, string in said:
        need(string in known.get(number, ["unknown"]), f"{n} {number} is called {string}")


# --- memory ---------------------------------------------------------------------------


@rows([(f"valgrind: {what}", what) for what in ("basics", "events", "threads")])
def memory(what):
    if is_sanitized():
        raise Skip("the sanitizers look at memory themselves")
    all_ok(2, *VALGRIND, build("pmix_rank"), what, env={"NAMES": "1"}, limit=200)


@test("valgrind: under Hydra")
def memory_hydra():
    if is_sanitized():
        raise Skip("the sanitizers look at memory themselves")
    same(run_alone("mpiexec.mpich", "-n", "1", *VALGRIND, build("pmix_rank"), "basics", "plain",
                   limit=200), (0, "rank 0: ok\n"), "end")


@test("valgrind: a server that goes while calls wait")
def memory_lost():
    if is_sanitized():
        raise Skip("the sanitizers look at memory themselves")
    listener, env = fake()
    waits = subprocess.Popen([*VALGRIND, build("pmix_waits")], stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, env=environment(new_mark(), env))
    accept(listener, {"enough": 32}).close()
    out, _ = waits.communicate(timeout=200)
    same((waits.returncode, out), (0, b"waiting\nok\n"), "end")


main()

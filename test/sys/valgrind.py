#!/usr/bin/env -S python3 -B
"""The launcher's two processes under valgrind: no invalid access, nothing leaked.

valgrind knows no children that share their parent's memory but those of vfork, so processes
are started one after the other here."""

from lib import *
from pmixlib import *

VALGRIND = ["valgrind", "-q", "--leak-check=full", "--error-exitcode=99",
            "--errors-for-leak-kinds=definite,indirect,possible",
            "--show-leak-kinds=definite,indirect,possible"]
SLURM = prog("slurm_all")


@rows([("every PMI-2 call", 0, ["-n", 3, SLURM, "all"]),
       ("labels and files", 0, ["-l", "-outfile-pattern", "/dev/null", "-n", 2, "env"]),
       ("PMI over a port", 0, ["-pmi-port", "-n", 2, SLURM, "ring"]),
       ("several programs", 5, ["-n", 2, "true", ":", "-n", 1, "sh", "-c", "exit 5"]),
       ("a rank is killed", 137, ["-hydra-banner", "-n", 2, "sh", "-c", "kill -9 $$"]),
       ("a picture of what would be", 0, ["-explain", "-svg", "-hosts", "a:3,b", "-n", 6, "true"]),
       ("could it run?", 0, ["-check", "-outfile", "@/a/%r", "-n", 2, SLURM]),
       ("a program that is not there", 127, ["-n", 2, "/no/such"]),
       ("a timeline", 0, ["-timeline", "@/t.html", "-n", 3, SLURM, "all"]),
       ("a timeline of ranks that fail", 3, ["-timeline", "@/t.json", "-n", 3, "sh", "-c",
                                             "echo words >&2; exit $((PMI_RANK + 1))"]),
       ("a wrong option", 2, ["-n", "x", "true"])])
def clean(status, words):
    words = [str(w).replace("@", tmp()) for w in words]
    out = subprocess.run([*VALGRIND, LAUNCHER, "-start-window", "1", *words],
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, timeout=4 * LIMIT,
                         env=environment(new_mark()))
    said = [x for x in out.stderr.decode(errors="replace").splitlines() if x.startswith("==")]
    same(said, [], "what valgrind says")
    same(out.returncode, status, f"status; stderr {out.stderr}")


@rows([("here", []), ("of two hosts", ["-launcher", "fork", "-hosts", "a,b", "-ppn", "1"])])
def tools(options):
    """a launcher that tools ask, read along, give orders and leave"""
    job = Job("-start-window", "1", "-hold", "init", *options, "-n", 2, SLURM, "ring", prefix=VALGRIND)
    tool, other = Tool(tools_socket(job.pid, 4 * LIMIT)), Tool(tools_socket(job.pid))
    name = results(good(tool.call("pmix-query", queries=[query("pmix.qry.ns")])))[0][2]
    quals = [info("pmix.nspace", "STRING", name)]
    for key in "pmix.qry.ptable", "pmix.qry.jst", "pmix.job.size", "pmix.nlist", "no.such":
        tool.call("pmix-query", queries=[query(key, qualifiers=quals)])
    for cmd in "pmix-capabilities", "pmix-servers", "no-such-command":
        tool.call(cmd)
    good(tool.call("pmix-event-register", codes=[]))
    good(tool.call("pmix-log", data=[info("pmix.log.stderr", "STRING", "x")], directives=[info("pmix.log.tag", "BOOL", True)]))
    for peer in tool, other:
        good(peer.call("pmix-iof-pull", procs=[proc(name, "wildcard")], channel="6", directives=[
            info("pmix.iof.tag", "BOOL", True), info("pmix.iof.ts", "BOOL", True)]))
    tool.call("pmix-spawn", apps=[{"cmd": "true", "argv": ["true"], "maxprocs": 1}], infos=[info("no.such", "BOOL", True, ["required"])])
    good(tool.call("pmix-spawn", apps=[{"cmd": "/bin/echo", "argv": ["echo", "spawned"], "maxprocs": 1}],
                   infos=[info("pmix.fwd.stdout", "BOOL", True)]))
    other.close()                        # while its pull is there
    good(tool.call("pmix-job-control", targets=[proc(name, "wildcard")], directives=[info("pmix.jctrl.resume", "BOOL", True)]))
    r = job.finish(4 * LIMIT)
    said = [x for x in r.err.decode(errors="replace").splitlines() if x.startswith("==")]
    same((said, r.status), ([], 0), f"what valgrind says, and the status: {r}")


need(os.path.exists("/usr/bin/valgrind"), "valgrind")
if b"__asan_init" in open(LAUNCHER, "rb").read():
    print("1..1\nok 1 - valgrind # SKIP the sanitizers in this launcher look for the same")
else:
    main()

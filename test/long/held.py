#!/usr/bin/env -S python3 -B
"""Whoever takes part where ranks are held and daemons run - front end, root, the server of a node, its
guard, a rank, a daemon, the tool that has started it - is killed at a random moment, TRIES times: no
process is left, stopped or not.  SEED and TRIES of the environment; each try says its own."""

import contextlib
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "sys"))

from lib import *                                       # noqa: E402
from pmixlib import *                                   # noqa: E402
import signal                                           # noqa: E402

TRIES = int(os.environ.get("TRIES", "60"))
SEED = int(os.environ.get("SEED", "0")) or random.SystemRandom().randrange(1, 1 << 30)
PMIX_TOOL = os.path.join(B, "bin", "pmix_tool")
CHAIN = ["-launcher", "fork", "-hosts", "a,b,c", "-ppn", "2", "-flat-hosts", "1", "-tree-width", "1"]
FORK = {"HYDRA_LAUNCHER_AUTOFORK": "0"}


def pick(choice, what, job, mark):
    """A process of that kind, or None: there is none (yet)."""
    def named(*words):
        return [p for p in left(job.mark) if any(w in proc_bytes(p, "cmdline") for w in words)]
    kinds = {"front": lambda: [job.pid], "tool": lambda: [p for p in left(mark)],
             "root": lambda: [c for c in children(job.pid) if b"-hold" in proc_bytes(c, "cmdline")],
             "node": lambda: named(b"pmi2_proxy"), "rank": lambda: named(b"slurm_all", b"mpi_ranks", b"6000"),
             "daemon": lambda: named(b"7000")}
    found = kinds[what]()
    return choice(found) if found else None


def trial(seed):
    r = random.Random(seed)
    place, what = r.choice(("exec", "init")), r.choice(("front", "root", "node", "rank", "daemon", "tool"))
    early, late, signo = r.random() < .4, r.random() * .3, r.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGSEGV))
    where = r.choice(([], CHAIN))
    program = r.choice((prog("mpi_ranks"), "sleep")) if place == "exec" else prog("mpi_ranks")
    job = Job("-hold", place, *where, "-n", 5, program, *(["6000"] if program == "sleep" else []),
              env=FORK if where else None)
    mark = new_mark()
    tool = None
    if not early:
        await_entry(job)
        tool = subprocess.Popen([PMIX_TOOL, "--pid", str(job.pid), "spawn", "--target",
                                 Tool(job).call("pmix-query", queries=[query("pmix.qry.ns")])["results"][0]["value"],
                                 "sleep", "7000"], env=environment(mark), stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(late)
    pid = pick(r.choice, what, job, mark)
    if pid:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signo)
    waits = what == "rank" and signo == signal.SIGSEGV   # who is stopped dies of KILL alone
    if not pid or waits or what in ("daemon", "tool"):   # the job goes on, held
        if tool and what == "tool":
            tool.wait(LIMIT)
        if r.random() < .5:
            subprocess.run([PMIX_TOOL, "--pid", str(job.pid), "release"], env=environment(mark), check=False,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        job.kill(signal.SIGTERM)
    try:
        job.popen.wait(LIMIT)
        nothing_left(job.mark)
        if tool:
            tool.wait(LIMIT)
        nothing_left(mark)
    except (Wrong, subprocess.TimeoutExpired) as e:
        raise Wrong(f"SEED={seed} TRIES=1: held at {place}, {what} {pid} by {signo.name}, "
                    f"early {early}, {late:.3f} s: {e}") from None





@test(f"R11, T11: {TRIES} times somebody is killed while ranks are held (SEED={SEED})")
def held():
    for i in range(TRIES):
        trial(SEED + i)


main()

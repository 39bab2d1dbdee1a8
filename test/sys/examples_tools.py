#!/usr/bin/env -S python3 -B
"""The examples of a debugger and of a sampler of stacks, built as a user builds them: launching
directly and indirectly, attaching, their daemons, two of them at once, on one node and on two."""

import os
import re
import signal
import threading

from lib import *
from pmixlib import tools_socket

MPI, SLURM = prog("mpi_ranks"), prog("slurm_all")
NODES = ["-launcher", "fork", "-hosts", "a,b", "-ppn", "2"]
FORK = {"HYDRA_LAUNCHER_AUTOFORK": "0"}
WHERE = [("one node", [], [HOST] * 4), ("two nodes", NODES, ["a", "a", "b", "b"])]
PROGRAMS = [("an mpich program", [MPI]), ("a program of Slurm's libpmi2", [SLURM, "finalize"])]
RANK = re.compile(r"rank (\d+) on (\S+), pid (\d+): pc 0x([0-9a-f]+), sp 0x([0-9a-f]+)")

_built, _lock = {}, threading.Lock()


def example(name):
    """The path of an example, built from what `make install` leaves, by the flags of pkg-config and
    none that its own head does not have."""
    with _lock:
        if not _built:
            _built.update(build())
    return _built[name]


def build():
    folder = os.path.join(os.path.abspath(B), "test", "examples")
    where = f"{folder}/root"
    subprocess.run(["rm", "-rf", folder], check=True)
    os.makedirs(folder)
    env = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
    subprocess.run(["make", "-s", "-C", ROOT, f"B={os.path.abspath(B)}", f"PREFIX={where}", "-o", "all", "install"],
                   check=True, stdout=subprocess.DEVNULL, env=env)
    env["PKG_CONFIG_PATH"] = f"{where}/lib/pkgconfig"
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "mpiexec_lite-pmix"], check=True, env=env,
                           stdout=subprocess.PIPE, text=True).stdout.split()
    names = ("debugger", "sampler", "daemon", "launcher", "rfc0010")
    for name in names:
        subprocess.run(["gcc", "-O2", "-Wall", "-Wextra", "-Werror",
                        f"{where}/share/doc/mpiexec_lite/examples/{name}.c", "-o", f"{folder}/{name}", *flags,
                        f"-Wl,-rpath,{where}/lib/mpiexec_lite"], check=True)
    return {name: f"{folder}/{name}" for name in names}


class Said:
    """How a tool ended."""

    def __init__(self, words, commands, env=None):
        self.mark = new_mark()
        bin_first = os.path.join(os.path.abspath(B), "bin") + ":" + os.environ["PATH"]
        env = environment(self.mark, {"PATH": bin_first, **(env or {})})
        self.popen = subprocess.Popen([example(words[0]), *map(str, words[1:])], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
        self.commands = "".join(c + "\n" for c in commands)

    def finish(self):
        self.out, self.err = self.popen.communicate(self.commands, timeout=LIMIT)
        self.status = self.popen.returncode
        return self

    def ranks(self):
        """rank: [(host, pid, pc)...] of all that "where" has said."""
        seen = {}
        for m in RANK.finditer(self.out):
            seen.setdefault(int(m[1]), []).append((m[2], int(m[3]), int(m[4], 16)))
        return seen


def tool(*words, commands=(), env=None):
    return Said(words, commands, env).finish()


def is_held(said, hosts, times=1):
    """All ranks were told of, so many times, each on its host and where it was before."""
    seen = said.ranks()
    same({r: [h for h, *_ in x] for r, x in seen.items()}, {r: [h] * times for r, h in enumerate(hosts)}, said.err)
    for r, x in seen.items():
        need(all(pc for *_, pc in x) and len(set(x)) == 1, f"rank {r} stays where it is", x)


@rows([(f"R23-10, R1: direct launch by the example debugger: {what}, {w}, is held, looked at, released, ends well",
        words, hosts) for what, words in PROGRAMS for w, _, hosts in WHERE])
def direct(words, hosts):
    env = {**FORK, "HYDRA_LAUNCHER": "fork", "HYDRA_HOST_FILE": f"{tmp()}/hosts"} if hosts[0] != HOST else {}
    if env:
        write_file(f"{tmp()}/hosts", "a:2\nb:2\n")
    said = tool("debugger", "-n", 4, *words, commands=["where", "where", "go"], env=env)
    is_held(said, hosts, 2)
    same((said.status, said.err), (0, ""), "end")
    nothing_left(said.mark)


@rows([(f"R23-11, R1: indirect launch by the example debugger: {what}, {w}, is held, looked at, released, ends well",
        words, options, hosts) for what, words in PROGRAMS for w, options, hosts in WHERE])
def indirect(words, options, hosts):
    said = tool("debugger", LAUNCHER, *options, "-n", 4, *words, commands=["where", "where"],
                env=FORK if options else None)
    is_held(said, hosts, 2)
    same((said.status, said.err), (0, ""), "end")
    nothing_left(said.mark)


@rows([(f"R23-12, R6: attaching by the example debugger, {w}: daemons look, leave, and nothing else is changed",
        options, hosts) for w, options, hosts in WHERE])
def attach(options, hosts):
    job, pids = sleeping(options)
    said = tool("debugger", "-p", job.pid, commands=["where", "quit"])
    same({r: [h for h, *_ in x] for r, x in said.ranks().items()}, dict(enumerate([h] for h in hosts)), said.err)
    same(sorted(x[0][1] for x in said.ranks().values()), sorted(pids), "pids")
    same((said.status, said.err), (0, ""), "end")
    need(all(stat(p)[0] == "S" for p in pids), "the ranks sleep on")
    end(job)


def sleeping(options):
    """A job of four ranks that sleep, and their pids."""
    job = Job(*options, "-n", 4, "sh", "-c", "echo pid $$; exec sleep 600", env=FORK if options else None)
    job.wait_text("pid ", 4)
    tools_socket(job.pid)
    pids = [int(x.split()[1]) for x in job.text().decode().splitlines()]
    for p in pids:
        wait_for(lambda p=p: proc_bytes(p, "comm") == b"sleep\n" and stat(p)[0] == "S", "it sleeps")
    return job, pids


def end(job):
    job.kill(signal.SIGTERM)
    same(job.finish().status, 143, "status")


@rows([(f"two debuggers, and two samplers, look at one job at once, {w}", options, hosts) for w, options, hosts in WHERE])
def at_once(options, hosts):
    job, pids = sleeping(options)
    all_of = [Said(("debugger", "-p", job.pid), ["where"] * 5) for _ in range(2)]
    all_of += [Said(("sampler", job.pid, 5), []) for _ in range(2)]
    threads = [threading.Thread(target=s.finish) for s in all_of]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for s in all_of:
        same((s.status, s.err), (0, ""), "end")
    for s in all_of[:2]:
        same({r: [h for h, *_ in x] for r, x in s.ranks().items()}, {r: [h] * 5 for r, h in enumerate(hosts)}, "ranks")
    for s in all_of[2:]:                             # a debugger may have a rank just then
        need(re.search(r"^ *0-3 .*nanosleep", s.out, re.M) and "mpiexec-stack" not in s.out, "the sampler's tree", s.out)
    need(all(stat(p)[0] == "S" for p in pids), "the ranks sleep on")
    end(job)


FORKED = r"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static volatile int calls;
__attribute__((noinline)) static void together(void) { puts("ready"); fflush(stdout); pause(); calls++; }
__attribute__((noinline)) static void alone(void) { puts("ready"); fflush(stdout); pause(); calls--; }
int main(void) { if (atoi(getenv("PMI_RANK")) == 2) alone(); else together(); return calls; }
"""


@rows([(f"the example sampler, {w}: stacks are one tree, ranks of the same place ranges", options)
       for w, options, _ in WHERE])
def sampled(options):
    write_file(f"{tmp()}/x.c", FORKED)
    subprocess.run(["gcc", "-g", "-O0", f"{tmp()}/x.c", "-o", f"{tmp()}/x"], check=True)
    job = Job(*options, "-n", 4, f"{tmp()}/x", env=FORK if options else None)
    job.wait_text("ready", 4)
    wait_for(lambda: len(re.findall("(0-1,3|2) .*pause", tool("sampler", job.pid).out)) >= 2, "they pause")
    said = tool("sampler", job.pid, 2)
    same((said.status, said.err), (0, ""), "end")
    for line in (r"^ *0-3 main at x\.c", r"^ *0-1,3 together at x\.c", r"^ *2 alone at x\.c"):
        same(len(re.findall(line, said.out, re.M)), 1, f"{line}\n{said.out}")
    end(job)


@rows([(f"the example sampler looks at {what} that is held in init, which then ends well, {w}", words, options)
       for what, words in PROGRAMS for w, options, _ in WHERE])
def sampled_in_init(words, options):
    job = Job("-hold", "init", *options, "-n", 4, *words, env=FORK if options else None)
    tools_socket(job.pid)
    wait = [os.path.join(B, "bin", "pmix_tool"), "--pid", str(job.pid)]
    env = environment(new_mark())
    subprocess.run([*wait, "status", "--wait", "held"], check=True, stdout=subprocess.DEVNULL, env=env, timeout=LIMIT)
    said = tool("sampler", job.pid)
    same((said.status, said.err), (0, ""), "end")
    need(re.search(r"^ *0-3 .*(main|_init|_Init)", said.out, re.M), "a tree", said.out)
    subprocess.run([*wait, "release"], check=True, env=env, timeout=LIMIT)
    same(job.finish().status, 0, "status")


@test("a job that cannot be started: the example debugger says so, and ends")
def fails():
    for words in (("debugger", LAUNCHER, "-n", 1, "/nowhere/x"), ("debugger", "-n", 1, "/nowhere/x"),
                  ("debugger", "/nowhere/mpiexec"), ("debugger", "-p", 1), ("debugger",), ("sampler", 1), ("sampler",)):
        said = tool(*words)
        need(said.status and "PMIX_ERR_" in said.err, "an error", words, said.err)
        nothing_left(said.mark)


@test("the end of the job, with its status, ends the example debugger; so does a launcher that is killed")
def ends():
    said = tool("debugger", LAUNCHER, "-n", 2, "sh", "-c", "exit 7", commands=["where"])
    same(said.status, 7, said.err)
    job, _ = sleeping([])
    said = Said(("debugger", "-p", job.pid), [])
    said.popen.stdin.write("where\n")
    said.popen.stdin.flush()
    need(said.popen.stdout.readline(), "it is there")
    job.kill(signal.SIGKILL)
    said.finish()
    job.finish(clean=False)
    nothing_left(job.mark)
    nothing_left(said.mark)


@rows([(f"the example {words[0]} says which word was wrong: {' '.join(words[1:])}", words, bad) for words, bad in (
    (["debugger", "-p", "12x"], "12x"), (["debugger", "-p", ""], ""), (["debugger", "-n", "0", "true"], "0"),
    (["debugger", "-n", "99999999999", "true"], "99999999999"), (["sampler", "no"], "no"), (["sampler", "1", "-1"], "-1"))])
def wrong_words(words, bad):
    r = subprocess.run([example(words[0]), *words[1:]], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, text=True, timeout=LIMIT, env=environment(new_mark(), {}))
    same((r.returncode, r.stdout, r.stderr), (1, "", f"{words[0]}: '{bad}': a number from 1 on is wanted\n"), "what it says")


@test("each of them has fewer than 300 lines, and nothing but public headers")
def small():
    for name in ("debugger", "sampler"):
        lines = open(f"{ROOT}/pmix_ext/examples/{name}.c").read().splitlines()
        need(len(lines) < 300, "lines", len(lines))
        same([x for x in lines if x.startswith('#include "')], ['#include "pmix_ext_daemon.h"'], "headers")


main()

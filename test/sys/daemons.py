#!/usr/bin/env -S python3 -B
"""Daemons of a tool beside a job's ranks: where they are, what they know, who counts them, when
they end."""

import base64
import json
import os
import signal

from lib import *
from pmixlib import *

OUT, ERR = 2, 4
END, BAD_PARAM, NO_NAMESPACE, NOT_FOUND = -145, -27, -44, -46
CHAIN = ["-launcher", "fork", "-hosts", "a,b,c", "-ppn", "2", "-flat-hosts", "1", "-tree-width", "1"]
FORK = {"HYDRA_LAUNCHER_AUTOFORK": "0"}
DAEMONS, TARGET, PER_NODE, PER_PROC, NOHUP = ("pmix.debugger", "pmix.dbg.tgt", "pmix.dbg.dpnd", "pmix.dbg.dpproc",
                                              "pmix.nohup")
PMIX_TOOL = os.path.join(B, "bin", "pmix_tool")
SLEEP = {"cmd": "/bin/sleep", "argv": ["sleep", "600"], "maxprocs": 1}


def yes(key):
    return info(key, "BOOL", True)


def target(name, rank="wildcard"):
    return [yes(DAEMONS), info(TARGET, "PROC", proc(name, rank))]


def launch(*words, n=5):
    """A job on three nodes, 2, 2 and 1 rank, and a tool."""
    job = Job(*CHAIN, "-n", n, *(words or ("sleep", 600)), env=FORK)
    tool = Tool(job)
    name = results(good(tool.call("pmix-query", queries=[query("pmix.qry.ns")])))[0][2]
    return job, tool, name


def spawn(tool, *infos, app=SLEEP):
    return tool.call("pmix-spawn", apps=[app], infos=list(infos))


def started(tool, *infos, **more):
    return good(spawn(tool, *infos, **more))["nspace"]


def table(peer, name, key="pmix.qry.ptable"):
    r = good(peer.call("pmix-query", queries=[query(key, qualifiers=[info("pmix.nspace", "STRING", name)])]))
    return results(r)[0][2]


def hosts(tool, name):
    return [p["hostname"] for p in table(tool, name)]


def ended(tool, name):
    """Whether none of its processes is there, as the kernel says."""
    pids = [p["pid"] for p in table(tool, name)]
    return lambda: not any(alive(p) for p in pids)


def close(job, tool):
    """End all of it."""
    tool.close()
    job.kill(signal.SIGTERM)
    same(job.finish().status, 143, "end")


WHERE = [("one on each node", [], ["a", "b", "c"]),
         ("two on each node", [info(PER_NODE, "UINT16", 2)], ["a", "a", "b", "b", "c", "c"]),
         ("one for each rank", [info(PER_PROC, "UINT16", 1)], ["a", "a", "b", "b", "c"]),
         ("for ranks 1 and 4", [info("lite.dbg.ranks", "STRING", "1,4")], ["a", "c"]),
         ("one for each of ranks 2-4", [info("lite.dbg.ranks", "STRING", "2-4"), info(PER_PROC, "UINT16", 1)],
          ["b", "b", "c"]),
         ("on every second node", [info("lite.dbg.stride", "UINT32", 2)], ["a", "c"]),
         ("on hosts of a list", [info("pmix.host", "STRING", "c,b")], ["b", "c"])]


@test("R6, R23-02, R23-06: daemons are where they are wanted: " + "; ".join(w for w, *_ in WHERE))
def where():
    job, tool, name = launch()
    for what, infos, wanted in WHERE:
        d = started(tool, *target(name), *infos)
        same(hosts(tool, d), wanted, what)
    d = started(tool, *target(name, 3))
    same(hosts(tool, d), ["b"], "the node of one rank")
    close(job, tool)


@test("R6, R23-07, R23-08: nobody counts them: sizes, peers, slots, other jobs' places")
def counted():
    job, tool, name = launch(n=6)                    # all slots are taken
    keys = ["pmix.job.size", "pmix.univ.size", "pmix.num.slots", "pmix.max.size"]
    each = ["pmix.local.size", "pmix.node.size", "pmix.lpeers"]

    def seen():
        of_job = good(tool.call("pmix-query", queries=[query(*keys, qualifiers=[info("pmix.nspace", "STRING", name)])]))
        of_node = good(tool.call("pmix-query", queries=[query(*each, qualifiers=[
            info("pmix.nspace", "STRING", name), info("pmix.hname", "STRING", "b")])]))
        return [x[2] for x in results(of_job) + results(of_node)], table(tool, name)
    before = seen()
    d = started(tool, *target(name), info(PER_NODE, "UINT16", 3))
    same(seen(), before, "with and without them")
    more = started(tool, app={**SLEEP, "maxprocs": 2})
    r = good(tool.call("pmix-query", queries=[query("pmix.offset", qualifiers=[info("pmix.nspace", "STRING", more)])]))
    same(results(r)[0][2], 6, "ranks of jobs before")
    same(len(table(tool, d)), 9, "they are a job of their own")
    close(job, tool)


LOOK = os.path.join(B, "test", "sys-progs", "daemon")


@test("R5, R6, R23-09, R23-18: a daemon knows its target and its node's table; they are a PMI job of their own")
def example():
    job, tool, name = launch()
    out = subprocess.run([PMIX_TOOL, "--pid", str(job.pid), "spawn", "--raw", "--target", name, LOOK],
                         capture_output=True, text=True, timeout=LIMIT, env=environment(new_mark()))
    same((out.returncode, out.stderr), (0, ""), "end")
    lines = out.stdout.splitlines()
    same(lines[0], f"3 daemons look after {name}", "who they are")
    same([x.split() for x in lines[1:]], [["rank", str(i), p["hostname"], str(p["pid"]), "S"]
                                           for i, p in enumerate(table(tool, name))], "what they saw")
    close(job, tool)


SET = r"""
#include "pmix_ext_daemon.h"
#define SAME(a, b) do { if ((a) != (b)) { fprintf(stderr, "line %d: %d\n", __LINE__, (int)(a)); return 1; } } while (0)
int main(void)
{
    struct pmix_daemon d;
    pmix_byte_object_t all, *each, *parts;
    static char big[3 << 20];
    char own[40];

    SAME(pmix_daemon_init(&d), 0);
    for (unsigned round = 0; round < 3; round++) {
        uint32_t root = round % d.size;

        memset(big, 'a' + (int)round, sizeof big);
        SAME(pmix_daemon_broadcast(&d, root, d.me.rank == root ? big : NULL, sizeof big, &all), 0);
        SAME(all.size, sizeof big);
        SAME(memcmp(all.bytes, big, sizeof big), 0);
        free(all.bytes);
        snprintf(own, sizeof own, "daemon %u, round %u", d.me.rank, round);
        SAME(pmix_daemon_gather(&d, root, own, strlen(own) + 1, &each), 0);
        SAME(each != NULL, d.me.rank == root);
        for (uint32_t i = 0; each && i < d.size; i++) {
            snprintf(own, sizeof own, "daemon %u, round %u", i, round);
            SAME(strcmp(each[i].bytes, own), 0);
            free(each[i].bytes);
        }
        free(each);
        parts = calloc(d.size, sizeof *parts);
        for (uint32_t i = 0; i < d.size; i++) {
            parts[i].size = i + 1;
            parts[i].bytes = big;
        }
        SAME(pmix_daemon_scatter(&d, root, d.me.rank == root ? parts : NULL, &all), 0);
        SAME(all.size, d.me.rank + 1);
        free(all.bytes);
        free(parts);
        SAME(pmix_daemon_barrier(&d), 0);
    }
    printf("daemon %u of %u\n", d.me.rank, d.size);
    return pmix_daemon_finalize(&d);
}
"""


@test("R6: barrier, broadcast, gather and scatter over a set, on three nodes; two sets do not mix")
def set_calls():
    source, program = tmp() + "/set.c", tmp() + "/set"
    write_file(source, SET)
    compile_daemon(source, program)
    job, tool, name = launch()
    both = [subprocess.Popen([PMIX_TOOL, "--pid", str(job.pid), "spawn", "--raw", "--target", name, *more, program],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(new_mark()))
            for more in ([], ["--per-proc", "1"])]
    for p, n in zip(both, (3, 5)):
        out, err = p.communicate(timeout=LIMIT)
        same((p.returncode, err, sorted(out.splitlines())), (0, "", [f"daemon {i} of {n}" for i in range(n)]), "a set")
    close(job, tool)


@test("daemons that end before their job: it goes on; a tool hears of it")
def daemons_end():
    job, tool, name = launch()
    good(tool.call("pmix-event-register", codes=[END]))
    d = started(tool, *target(name), app={"cmd": "/bin/sh", "argv": ["sh", "-c", "kill -SEGV $$"], "maxprocs": 1})
    m = dict(plain(i) for i in tool.event("pmix-event")["infos"])
    same((m["pmix.nspace"], m["pmix.exit.code"]), (d, 139), "who has ended, and how")
    need(all(alive(p["pid"]) for p in table(tool, name)), "the job's ranks live")
    close(job, tool)


@test("R23-23: they end with the job that they look after, having heard of it, and are not its exit status")
def job_ends():
    said = tmp() + "/said"
    job, tool, name = launch("/bin/sh", "-c", f"while [ ! -e {tmp()}/go ]; do sleep 0.02; done; exit 0")
    started(tool, *target(name), yes(NOHUP),
            app={"cmd": "/bin/sh", "argv": ["sh", "-c", f"trap 'echo term >>{said}; exit 3' TERM; "
                                            "while :; do sleep 0.05; done"], "maxprocs": 1})
    write_file(f"{tmp()}/go", "")
    same(job.finish().status, 0, "the launcher's status")
    same(open(said).read(), "term\n" * 3, "each was told to end")


@rows([("R8: their tool detaches: they end", [], False),
       ("R8: their tool detaches and keeps them (PMIX_NOHUP): they stay", [yes(NOHUP)], True),
       ("their tool is killed: they end", None, False)])
def detach(infos, stay):
    job, tool, name = launch()
    if infos is None:
        p = subprocess.Popen([PMIX_TOOL, "--pid", str(job.pid), "spawn", "--target", name, "sleep", "600"],
                             env=environment(new_mark()), stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        jobs = wait_for(lambda: (x := results(good(tool.call("pmix-query", queries=[query("pmix.qry.ns")])))[0][2]
                                 .split(","))[1:] and x, "the daemons")
        gone = ended(tool, jobs[1])
        p.kill()
        p.wait()
    else:
        other = Tool(job)
        d = started(other, *target(name), *infos)
        gone = ended(tool, d)
        other.close()
    if stay:
        tool.call("pmix-capabilities")
        need(not gone(), "they stay")
    else:
        wait_for(gone, "none is left")
    need(all(alive(p["pid"]) for p in table(tool, name)), "the job's ranks live")
    close(job, tool)


@rows([("R8: a tool's leave is answered when its daemons have ended", [], False),
       ("R8: and at once where they are to stay (PMIX_NOHUP)", [yes(NOHUP)], True)])
def leave(infos, stay):
    job, tool, name = launch()
    other = Tool(job)
    d = started(other, *target(name), *infos, app={"cmd": "/bin/sh", "maxprocs": 1, "argv": [
        "sh", "-c", "trap 'sleep 0.3; exit' TERM; while :; do sleep 0.05; done"]})
    pids = [p["pid"] for p in table(tool, d)]
    other.call("finalize")
    same([alive(p) for p in pids], [stay] * 3, "its daemons, when it is told")
    need(all(alive(p["pid"]) for p in table(tool, name)), "the job's ranks live")
    other.close()
    close(job, tool)


@test("R8: an order to end is answered when it is carried out: a job, its daemons, one rank; or after a time")
def orders():
    job, tool, name = launch("/bin/sh", "-c", "trap '' TERM; while :; do sleep 0.05; done")
    d = started(tool, *target(name), yes(NOHUP))
    pids = {j: [p["pid"] for p in table(tool, j)] for j in (name, d)}
    r = tool.call("pmix-job-control", targets=[proc(name, "wildcard")],
                  directives=[yes("pmix.jctrl.term"), info("pmix.timeout", "INT", 1)])
    same(r["status"], -24, "TERM is not enough for a second")
    good(tool.call("pmix-job-control", targets=[proc(d, 1)], directives=[yes("pmix.jctrl.kill")]))
    need(not alive(pids[d][1]), "one daemon")
    r = tool.call("pmix-job-control", targets=[proc(d, "wildcard"), proc(name, "wildcard")],
                  directives=[yes("pmix.jctrl.kill")])
    need(r["status"] in (0, -46, -52), "all of both", r)
    wait_for(lambda: not any(alive(p) for p in pids[name] + pids[d]), "none is left")
    tool.close()
    need(job.finish().status, "status")


@test("R8: pmix_tool kill returns when ranks and daemons of that job are gone")
def kill_command():
    job, tool, name = launch()
    pids = [p["pid"] for p in table(tool, name)]
    r = subprocess.run([PMIX_TOOL, "--pid", str(job.pid), "kill", name], capture_output=True, text=True, timeout=LIMIT,
                       env=environment(new_mark()))
    same((r.returncode, r.stderr, [alive(p) for p in pids]), (0, "", [False] * 5), "when it returns")
    tool.close()
    need(job.finish().status, "status")


@test("R8: kill everything: ranks and daemons are gone when the end of both is told")
def kill_all():
    job, tool, name = launch()
    good(tool.call("pmix-event-register", codes=[END]))
    d = started(tool, *target(name), yes(NOHUP))
    pids = {j: [p["pid"] for p in table(tool, j)] for j in (name, d)}
    good(tool.call("pmix-job-control", targets=[proc(d, "wildcard"), proc(name, "wildcard")],
                   directives=[yes("pmix.jctrl.kill")]))
    for _ in range(2):
        m = dict(plain(i) for i in tool.event("pmix-event")["infos"])
        need(not any(alive(p) for p in pids[m["pmix.nspace"]]), "it is told when it is true", m)
    tool.close()
    need(job.finish().status, "status")


@test("a daemon has a say in its target and in no other job: signals, output, table, events")
def say():
    ranks = Ranks("-n", 2)                           # the ranks are the daemons' stand-ins: a job that is none
    tool, name = Tool(ranks.job), ranks[0].nspace
    other = started(tool)
    r = ranks[0].call("pmix-job-control", targets=[proc(other, "wildcard")], directives=[yes("pmix.jctrl.pause")])
    same(r["status"], -23, "a job that is no target")
    script = ("import sys; sys.path.insert(0, %r); from rawpmi import *; c = Client()\n"
              "import os, json\n"
              "def ask(job):\n"
              "    t = [{'nspace': job, 'rank': 'wildcard'}]\n"
              "    d = [{'key': 'pmix.jctrl.sig', 'type': 'PMIX_INT', 'value': 28}]\n"
              "    return c.ask('cmd=pmix-job-control;targets=%%s;directives=%%s;' %% (json.dumps(t), json.dumps(d)))\n"
              "print('target', ask(os.environ['PMIX_DEBUG_TARGET'])['status'], flush=True)\n"
              "print('other', ask(%r)['status'], flush=True)\n" % (SYS, other))
    d = started(tool, *target(name), app={"cmd": sys.executable, "argv": ["python3", "-B", "-c", script], "maxprocs": 1})
    ranks.job.wait_text("target 0")
    ranks.job.wait_text("other -23")
    good(tool.call("pmix-job-control", targets=[proc(other, "wildcard")], directives=[yes("pmix.jctrl.kill")]))
    ranks.finish()
    need(d, "daemons")


@rows([("without the flag", lambda n: [info(TARGET, "PROC", proc(n, "wildcard"))], BAD_PARAM, "pmix.debugger"),
       ("by node without a target", lambda n: [yes(DAEMONS), info(PER_NODE, "UINT16", 1)], BAD_PARAM, "pmix.dbg.tgt"),
       ("by node and by process", lambda n: [*target(n), info(PER_NODE, "UINT16", 1), info(PER_PROC, "UINT16", 1)],
        BAD_PARAM, "exclude"),
       ("of a job that is not there", lambda n: target("nosuch"), NO_NAMESPACE, "nosuch"),
       ("of ranks that are none", lambda n: [*target(n), info("lite.dbg.ranks", "STRING", "x")], BAD_PARAM, "0,3-5"),
       ("of a rank that is not there", lambda n: target(n, 77), BAD_PARAM, "no node"),
       ("on hosts without ranks", lambda n: [*target(n), info("pmix.host", "STRING", "z")], BAD_PARAM, "no node"),
       ("of the wrong type", lambda n: [yes(DAEMONS), info(TARGET, "STRING", n)], -18, "PMIX_PROC")])
def wrong(infos, status, text):
    job = Job("-n", 1, "sleep", 600)
    tool = Tool(job)
    name = results(good(tool.call("pmix-query", queries=[query("pmix.qry.ns")])))[0][2]
    r = spawn(tool, *infos(name))
    same(r["status"], status, "status")
    need(text in r["errmsg"], "its words", r)
    same(results(good(tool.call("pmix-query", queries=[query("pmix.qry.ns")])))[0][2], name, "nothing is left")
    close(job, tool)


@test("middleware daemons: on other hosts, as a set of their own, that looks after no job")
def middleware():
    job, tool, name = launch()
    d = started(tool, yes(DAEMONS), info("pmix.host", "STRING", "d,e"), app={**SLEEP, "maxprocs": 2})
    same(hosts(tool, d), ["d", "e"], "where they are")
    r = good(tool.call("pmix-query", queries=[query("pmix.univ.size", qualifiers=[info("pmix.nspace", "STRING", name)])]))
    close(job, tool)
    need(results(r), "an answer")


def marked(cmd, *infos, argv=()):
    return {"cmd": cmd, "argv": [cmd, *argv], "maxprocs": 1, "info": [yes(DAEMONS), *infos]}


@test("T12, R23-06, R23-08: table 3.2, 4b: one spawn of an application and its daemons, in jobs of their own")
def cospawned():
    job, tool, name = launch()
    both = [{**SLEEP, "argv": ["sleep", "602"], "maxprocs": 4},
            marked("/bin/sleep", yes("pmix.cospawn"), info(PER_NODE, "UINT16", 1), argv=["603"])]
    app = good(tool.call("pmix-spawn", apps=both))["nspace"]

    def others():
        names = results(good(tool.call("pmix-query", queries=[query("pmix.qry.ns")])))[0][2].split(",")
        return [n for n in names if n not in (name, app)]
    d, = wait_for(others, "the daemons' job")
    same((len(table(tool, app)), sorted(hosts(tool, d))), (4, sorted(set(hosts(tool, app)))), "size; one on each node")
    same({os.path.basename(p["executable_name"]) for p in table(tool, d)}, {"sleep"}, "program")
    close(job, tool)


@test("an application whose daemons cannot be started ends, and it is said why; marks that mean nothing are refused")
def cospawn_fails():
    job, tool, name = launch()
    good(tool.call("pmix-event-register", codes=[END]))
    app = good(tool.call("pmix-spawn", apps=[{**SLEEP, "maxprocs": 2}, marked("/no/such")]))["nspace"]
    ends = {tool.event("pmix-event")["source"]["nspace"] for _ in range(2)}
    need(app in ends, "it ends, as does what was to be its daemons' job", ends)
    wait_for(lambda: f"the tool's daemons of job {app} cannot be started: " in job.error_text().decode(), "why")
    for apps in ([marked("/bin/true")], [{**SLEEP, "info": [info(PER_NODE, "UINT16", 1)]}], [{**SLEEP, "info": [yes("pmix.cospawn")]}]):
        same(tool.call("pmix-spawn", apps=apps)["status"], BAD_PARAM, f"status of {apps}")
    close(job, tool)


def pieces(tool, wanted):
    """Output of jobs by (job, rank, channel), until all of it is there."""
    got = {}
    while got != wanted:
        f = tool.event("pmix-iof-data")
        key = f["nspace"], int(f["rank"]), int(f["channel"])
        if not f.get("data"):            # its end
            continue
        got[key] = got.get(key, b"") + base64.b64decode(f["data"])
        need(got[key] == wanted.get(key, b"")[:len(got[key])], "nothing else comes", key, got[key])
    return got


@test("R23-05: output of the application and of daemons comes to their tool, tagged; what it types goes to the daemons")
def streams():
    job = Job(*CHAIN, "-n", 5, "sh", "-c", "[ $PMI_RANK != 0 ] || { read word; echo rank 0 $word; }", env=FORK,
              stdin=subprocess.PIPE)
    tool = Tool(job)
    name = results(good(tool.call("pmix-query", queries=[query("pmix.qry.ns")])))[0][2]
    good(tool.call("pmix-iof-pull", procs=[proc(name, "wildcard")], channel=str(OUT | ERR)))
    d = started(tool, *target(name), yes("pmix.fwd.stdout"), yes("pmix.fwd.stderr"), info("pmix.stdin", "PROC", proc("", "wildcard")),
                app={"cmd": "/bin/sh", "argv": ["sh", "-c", 'while read x; do echo "$PMI_RANK has $x"; echo "$PMI_RANK err" >&2; done'],
                     "maxprocs": 1})
    one = {**{(d, i, OUT): f"{i} has break main\n".encode() for i in range(3)}, **{(d, i, ERR): f"{i} err\n".encode() for i in range(3)}}
    good(tool.call("pmix-iof-push", nspace=d, data=base64.b64encode(b"break main\n").decode()))
    pieces(tool, one)
    job.popen.stdin.write(b"go\n")      # the application's own is another
    job.popen.stdin.close()
    pieces(tool, {(name, 0, OUT): b"rank 0 go\n"})
    good(tool.call("pmix-iof-push", nspace=d, end="TRUE"))
    wait_for(ended(tool, d), "the daemons, whose input has ended")
    tool.close()
    same(job.finish().status, 0, "end")


@test("pmix_tool spawn says what is wrong with its words")
def words():
    job, tool, name = launch()
    for more, text in ((["--target", ""], "--target"), (["--target", f"{name}:x"], "0,3-5"),
                       (["--target", name, "--per-node", "0"], "--per-node"), (["--target", "nosuch"], "nosuch")):
        r = subprocess.run([PMIX_TOOL, "--pid", str(job.pid), "spawn", *more, "true"], capture_output=True, text=True,
                           timeout=LIMIT, env=environment(new_mark()), stdin=subprocess.DEVNULL)
        need(r.returncode and text in r.stderr, "one line", more, r)
    close(job, tool)


def compile_daemon(source, program):
    """Sanitized as the library is, or that would not load."""
    more = ["-fsanitize=address,undefined"] if is_sanitized() else []
    subprocess.run(["gcc", *more, "-std=c17", "-Wall", "-Werror", "-D_GNU_SOURCE", f"-I{ROOT}/pmix_ext", f"-I{ROOT}", source,
                    "-o", program, f"-L{B}/lib", "-lpmix_ext", f"-Wl,-rpath,{os.path.realpath(B)}/lib"], check=True)


os.makedirs(os.path.dirname(LOOK), exist_ok=True)
compile_daemon(f"{ROOT}/pmix_ext/examples/daemon.c", LOOK)
main()

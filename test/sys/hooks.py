#!/usr/bin/env -S python3 -B
"""Set-up providers (RFC0012): each requirement R12, on one host and on several that are made
of this one; what they say, when they are asked, how they fail, and what nobody may see."""

import json
import os
import re
import signal
import subprocess
import time

from hooklib import *
import pmixlib
from spawnlib import script

ALONE, TREE = [], ["-launcher", "fork", "-hosts", "a,b,c", "-ppn", "2"]
PLACES = [("", ALONE, [(0, [0, 1, 2, 3])]),
          (", three hosts", TREE, [(0, [0, 1]), (1, [2, 3]), (2, [4, 5])])]
SECRET = "c0ffee-TOKEN;with=\"marks\"-7f3a"


def places(title):
    """Decorator: a point for each of PLACES; the function gets options and where ranks are."""
    return rows([(title + where, options, nodes) for where, options, nodes in PLACES])


def size(nodes):
    return sum(len(r) for _, r in nodes)


def ran(p, then=""):
    """A rank that leaves a line in the provider's log."""
    return ["sh", "-c", "echo '{\"hook\": \"ran\", \"rank\": '$PMI_RANK'}' >>" + p.log_path + then]


def fails(r, *words, status=255):
    need(r.status == status and r.messages and all(w in r.messages[0] for w in words),
         f"status {status} and {words}", repr(r))
    need("Traceback" not in r.err.decode("utf-8", "replace"), "no traceback of a test", repr(r))


# --- the job as a whole ------------------------------------------------------

@places("R12-01 setup-application: once, with the map, before anything else is asked or runs")
def once(options, nodes):
    p = provider("one")
    good(*options, "-provider", p.path, "-n", size(nodes), *ran(p))
    asked = p.asked("setup-application")
    same(len(asked), 1, "times")
    same(p.log[0]["hook"], "setup-application", "the first")
    same((asked[0]["size"], asked[0]["uid"]), (size(nodes), os.geteuid()), "size, uid")
    same([d["key"] for d in asked[0]["directives"]], ["pmix.setup.all"], "directives")
    same(len(p.asked("ran")), size(nodes), "ranks")


@places("R12-02 a slow provider is waited for; one that is too slow ends the start")
def slow(options, nodes):
    p = provider("slow", """
        if hook == "setup-application":
            time.sleep(2)
            return {"infos": [set_env("A", "late")]}
    """)
    r = good(*options, "-provider", p.path, "-n", size(nodes), "sh", "-c", "echo $A")
    same(r.lines, ["late"] * size(nodes), "output")
    p = provider("hangs", "time.sleep(600)", {"timeout": 0.5})
    r = run(*options, "-provider", p.path, "-n", size(nodes), *ran(p))
    fails(r, "provider hangs", "setup-application: no answer for 0.5 s")
    same(p.asked("ran"), [], "ranks")


@test("R12-02 Ctrl-C while a provider is asked ends the start and the provider")
def interrupted():
    p = provider("stuck", "time.sleep(600)")
    job = Job("-provider", p.path, "-n", 2, *ran(p))
    wait_for(lambda: p.log, "the provider is asked")
    pid = p.log[0]["pid"]
    job.kill(signal.SIGINT)
    r = job.finish()
    same(r.status, 130, "status")
    need(not alive(pid), "the provider has ended")
    same(p.asked("ran"), [], "ranks")


CRASHES = [
    ("ends", "os._exit(3)", "ended without an answer"),
    ("is killed", "os.kill(os.getpid(), 9)", "ended without an answer"),
    ("says why", 'return {"error": "no tokens\\x1b left"}', "no tokens\\x1B left"),
    ("writes to stderr", 'sys.stderr.write("first\\nno licence\\n"); sys.exit(1)', "it said: no licence"),
    ("says no JSON", 'print("hello", flush=True)', "no JSON object"),
    ("says an array", 'print("[]", flush=True)', "no JSON object"),
    ("says too much", 'print("x" * 400000, flush=True); time.sleep(60)', "too long"),
    ("answers twice", 'sys.stdout.write("{}\\n{}\\n"); sys.stdout.flush(); time.sleep(60)', "unasked"),
    ("has a wrong member", 'return {"env": {}}', "env: no answer to setup-application has that"),
    ("has an info of no type", 'return {"infos": [{"key": "a", "value": 1}]}', "infos[0]"),
    ("sets the launcher's own", 'return {"infos": [set_env("PMI_RANK", "0")]}', "PMI_RANK"),
    ("sets no name", 'return {"infos": [set_env("A=B", "0")]}', "no name of a variable"),
    ("says what is ours to say", 'return {"infos": [value("pmix.job.size", "UINT32", 7)]}',
     "pmix.job.size"),
    ("says more than fits", 'return {"infos": [set_env("A", "x" * 270000)]}', "at most"),
]


@rows([(f"R12-02 a provider {name}: the start fails with its name and words", body, words)
       for name, body, words in CRASHES])
def crashes(body, words):
    p = provider("sick", body)
    r = run("-provider", p.path, "-n", 2, *ran(p))
    fails(r, "" if words == "at most" else "provider sick", words)
    same([x["hook"] for x in p.log], ["setup-application"], "what was asked, and ran")


# --- what it says ------------------------------------------------------------

@places("R12-03 variables: set, added, put before, behind and first; the user's own win")
def variables(options, nodes):
    p = provider("vars", """
        if hook == "setup-application":
            return {"infos": [
                set_env("A", "set"), set_env("GIVEN", "set"), set_env("BLOCK", "set"),
                env("add", "OLD", "added"), env("add", "NEW", "added"),
                env("prepnd", "LIST", "x", separator=":"), env("appnd", "LIST", "z", separator=";"),
                env("first", "ONCE", "b", separator=",")]}
    """)
    r = good(*options, "-provider", p.path, "-genv", "GIVEN", "mine", "-n", size(nodes), "-env",
             "BLOCK", "mine", "sh", "-c", "echo $A $GIVEN $BLOCK $OLD $NEW $LIST $ONCE",
             env={"OLD": "old", "LIST": "y", "ONCE": "a,b,c", "A": "inherited"})
    same(r.lines, ["set mine mine old added x:y;z b,a,c"] * size(nodes), "output")


@places("R12-04 variables are unset before others are set; one that is not there is no error")
def unset(options, nodes):
    p = provider("unset", """
        if hook == "setup-application":
            return {"infos": [set_env("B", "again"),
                              value("pmix.envar.unset", "STRING", "A"),
                              value("pmix.envar.unset", "STRING", "NOT_THERE"),
                              value("pmix.envar.unset", "STRING", "MINE")]}
    """)
    r = good(*options, "-provider", p.path, "-genv", "MINE", "kept", "-n", size(nodes), "sh", "-c",
             "echo ${A-gone} $B $MINE", env={"A": "a", "B": "b"})
    same(r.lines, ["gone again kept"] * size(nodes), "output")


DATA = """
    if hook == "setup-application":
        return {"infos": [value("site.text", "STRING", "a;b=c"), value("site.n", "UINT32", 7),
                          value("pmix.alloc.nsec", "BYTE_OBJECT", "AAEC")]}
"""


@places("R12-05 any other key: job-level information, by PMIx_Get of the job")
def information(options, nodes):
    p = provider("data", DATA)
    ranks = pmixlib.Ranks(*options, "-provider", p.path, "-n", size(nodes))
    nspace = ranks[0].call("info-getjobattr", key="PMI_process_mapping") and ranks[0].jobid \
        if hasattr(ranks[0], "jobid") else p.log[0]["job"]
    for r in (ranks[0], ranks[size(nodes) - 1]):
        for key, want in [("site.text", {"type": "PMIX_STRING", "value": "a;b=c"}),
                          ("site.n", {"type": "PMIX_UINT32", "value": 7}),
                          ("pmix.alloc.nsec", {"type": "PMIX_BYTE_OBJECT", "value": "AAEC"})]:
            reply = r.call("pmix-get", nspace=nspace, rank='"wildcard"', key=key)
            same((reply["status"], reply.get("value")), (0, want), key)
        reply = r.call("pmix-get", nspace=nspace, rank='"wildcard"', key="site.else")
        same(reply["status"], -46, "a key that nobody has said")
    ranks.end()
    ranks.finish(finalize=False)


@places("R12-05 ... and an attribute of the job, for every PMI program")
def attribute(options, nodes):
    p = provider("data", DATA)
    r = good(*options, "-provider", p.path, "-n", size(nodes), *py("""
        c = Client(2)
        say([c.ask("cmd=info-getjobattr;key=%s;" % k).get("value") for k in
             ("site.text", "site.n", "site.else")])
        c.finalize()
    """))
    same(r.lines, [str(["a;b=c", "7", None])] * size(nodes), "output")


@places("R12-06 several providers: all are asked, their order counts, the last wins with a warning")
def several(options, nodes):
    os.mkdir(f"{tmp()}/d")
    log = f"{tmp()}/log"
    body = """
        if hook == "setup-application":
            time.sleep(%s)
            return {"infos": [set_env("WHO", %r), env("appnd", "ALL", %r, separator=":"),
                              value("site.who", "STRING", %r)]}
    """
    for name, delay in [("20-b", 0), ("10-a", 0.5)]:
        provider(name, body % (delay, name, name, name), folder=f"{tmp()}/d", log=log)
    write_file(f"{tmp()}/d/.hidden", "", 0o755)
    write_file(f"{tmp()}/d/30-c~", "", 0o755)
    last = provider("last", body % (0, "last", "last", "last"), log=log)
    r = run(*options, "-provider-dir", f"{tmp()}/d", "-provider", last.path, "-n", size(nodes),
            "sh", "-c", "echo $WHO $ALL")
    same(r.lines, ["last 10-a:20-b:last"] * size(nodes), "output")
    same(r.messages, [f"mpiexec_lite: provider {n}: {k} was said before, and is replaced"
                      for n in ("20-b", "last") for k in ("WHO", "site.who")], "warnings")
    same(sorted(x["name"] for x in last.asked("setup-application")), ["10-a", "20-b", "last"],
         "asked")


@test("R12-06 MPIEXEC_LITE_PROVIDERS names a directory; -no-providers leaves it out")
def directory():
    os.mkdir(f"{tmp()}/d")
    p = provider("site", 'return {"infos": [set_env("A", "b")]} if hook == "setup-application" '
                 'else None', folder=f"{tmp()}/d")
    env = {"MPIEXEC_LITE_PROVIDERS": f"{tmp()}/d"}
    same(good("-n", 1, "sh", "-c", "echo ${A-none}", env=env).lines, ["b"], "by the environment")
    same(good("-no-providers", "-n", 1, "sh", "-c", "echo ${A-none}", env=env).lines, ["none"],
         "without")
    same(good("-no-providers", "-provider", p.path, "-n", 1, "sh", "-c", "echo ${A-none}",
              env=env).lines, ["b"], "but for those that are named")
    r = run("-provider-dir", f"{tmp()}/nowhere", "-n", 1, "true")
    fails(r, f"{tmp()}/nowhere", status=2)
    r = run("-provider", f"{tmp()}/nothing", "-n", 1, "true")
    fails(r, f"{tmp()}/nothing", status=2)


@places("R12-07 the set-up reaches every node, which hands it to setup-local")
def travels(options, nodes):
    p = provider("data", DATA.replace("value(\"site.n\", \"UINT32\", 7)", 'set_env("A", "b")'))
    good(*options, "-provider", p.path, "-n", size(nodes), "true")
    local = p.asked("setup-local")
    same(len(local), len(nodes), "nodes")
    for x in local:
        same([i["key"] for i in x["infos"]], ["site.text", "pmix.envar.set", "pmix.alloc.nsec"],
             "keys")


# --- secrets -----------------------------------------------------------------

def holders(word, marks):
    """Processes of these marks whose command line holds the word."""
    return [p for p in pids() if word in proc_bytes(p, "cmdline")]


@places("R12-08 a token is in no message, trace, file or command line")
def secret(options, nodes):
    p = provider("token", f"""
        if hook == "setup-application":
            return {{"infos": [set_env("TOKEN", {SECRET!r}), value("site.token", "STRING", {SECRET!r})]}}
    """)
    trace = f"{tmp()}/trace"
    os.mkdir(f"{tmp()}/t")
    job = Job(*options, "-vv", "-v", "-trace-wire", trace, "-provider", p.path, "-n", size(nodes), *py(f"""
        c = Client(2)
        token = c.ask("cmd=info-getjobattr;key=site.token;")["value"]
        need(token == os.environ["TOKEN"] and len(token) > 20, "the token")
        c.put("card-%d" % rank, token)
        c.fence()
        need(c.get("card-0") == token, "the token by KVS")
        say("got")
        sys.stdout.flush()
        while not os.path.exists({tmp() + "/go"!r}):
            time.sleep(0.02)
        c.fence()
        c.finalize()
    """), env={"TMPDIR": f"{tmp()}/t"})
    job.wait_text("got", size(nodes))
    words = [w.encode() for w in (SECRET, SECRET.replace(";", ";;"), json.dumps(SECRET)[1:-1],
                                  json.dumps(SECRET)[1:-1].replace(";", ";;"), "c0ffee-TOKEN")]
    for w in words:
        same(describe(holders(w, [job.mark])), [], "command lines")
    write_file(f"{tmp()}/go", "")
    r = job.finish()
    same(r.status, 0, "status")
    with open(trace, "rb") as f:
        traced = f.read()
    need(b"[redacted]" in traced, "the trace shows that something is missing", traced[-500:])
    for w in words:
        need(w not in traced, "the trace", w)
        need(w not in r.err, "messages", w)
    for folder, _, names in os.walk(f"{tmp()}/t"):
        need(not names, "no file was left", folder, names)


# --- nodes -------------------------------------------------------------------

@places("R12-09 setup-local: once on every node, before the first rank there")
def local(options, nodes):
    p = provider("local")
    good(*options, "-provider", p.path, "-n", size(nodes), *ran(p))
    same(sorted(x["node"] for x in p.asked("setup-local")), [n for n, _ in nodes], "nodes")
    orders(p.log, "setup-local", "ran")
    for node, ranks in nodes:
        life(p.log, node, ranks)


@places("R12-10 no rank is started before every provider of every node has answered")
def before(options, nodes):
    p = provider("slow", """
        if hook == "setup-local" and r["node"] == 0 or hook == "setup-child":
            time.sleep(1 if hook == "setup-local" else 0.2)
            note({"hook": "answered"})
    """)
    good(*options, "-provider", p.path, "-n", size(nodes), *ran(p))
    orders(p.log, "answered", "ran")


@places("R12-10 a node whose set-up fails: no rank anywhere; the others are told the end")
def node_fails(options, nodes):
    last = nodes[-1][0]
    p = provider("picky", f"""
        if hook == "setup-local" and r["node"] == {last}:
            return {{"error": "the switch is off"}}
    """)
    r = run(*options, "-provider", p.path, "-n", size(nodes), *ran(p))
    need(r.status == 255 and any("provider picky" in m and "setup-local: the switch is off" in m
                                 for m in r.messages), "its words", repr(r))
    same(p.asked("ran"), [], "ranks")
    told = [x["pid"] for x in p.asked("local-finished")]
    for x in p.asked("setup-local"):
        same(told.count(x["pid"]), int(x["node"] != last), f"local-finished of node {x['node']}")


@places("R12-11 a provider that needs root: refused, or left out, as the user says")
def root(options, nodes):
    p = provider("netns", """
        if hook == "setup-application":
            return {"infos": [set_env("A", str(os.geteuid()))]}
    """, {"needs_root": True})
    words = [*options, "-n", size(nodes), "sh", "-c", "echo ${A-none}"]
    if os.geteuid() == 0:
        same(good("-provider", p.path, *words).lines, ["0"] * size(nodes), "by root")
        return
    fails(run("-provider", p.path, *words), "provider netns", "needs root")
    r = run("-provider", p.path, "-providers-root", "skip", *words)
    need(r.status == 0 and r.lines == ["none"] * size(nodes) and len(r.messages) == 1 and
         "provider netns needs root" in r.messages[0], "left out, with a word", repr(r))


@places("R12-12 while a spawned job waits for its provider, all else goes on")
def not_blocked(options, nodes):
    p = provider("slow", """
        if hook == "setup-application" and "spawner" in r:
            while not os.path.exists(%r):
                time.sleep(0.02)
    """ % f"{tmp()}/go")
    child = script("child", "c = Client(2)\nc.fence()\nsay('child', rank)\nc.finalize()")
    parent = script("parent", f"""
        c = Client(2)
        if rank == 0:
            send_spawn(c, command({child!r}, n=3))
        else:
            until(lambda: any(json.loads(x).get("spawner") for x in open({p.log_path!r})), "asked")
        if rank == 1:
            for i in range(20):
                c.put("k%d" % i, "v")
                need(c.get("k%d" % i) in ("v", None), "served meanwhile")
            open({tmp() + "/go"!r}, "w").close()
        if rank == 0:
            m = c.reply()
            need(m.get("rc") == "0", m)
        c.fence()
        c.finalize()
    """.replace("any(json", "any(__import__('json')"))
    r = good(*options, "-provider", p.path, "-n", 2, parent)
    same(sorted(r.lines), ["child 0", "child 1", "child 2"], "output")
    same(len(p.asked("setup-application")), 2, "jobs")


# --- ranks -------------------------------------------------------------------

@places("R12-13 setup-child: variables of each rank")
def child(options, nodes):
    p = provider("port", """
        if hook == "setup-application":
            return {"infos": [set_env("NET", "all"), set_env("PORT", "none")]}
        if hook == "setup-child":
            return {"infos": [set_env("PORT", "%d.%d" % (r["rank"], r["local_rank"])),
                              env("appnd", "NET", "own", separator="+")]}
    """)
    r = good(*options, "-provider", p.path, "-n", size(nodes), "sh", "-c",
             "echo $PMI_RANK $PORT $NET")
    want = [f"{rank} {rank}.{i} all+own" for _, ranks in nodes for i, rank in enumerate(ranks)]
    same(sorted(r.lines), sorted(want), "output")


@places("R12-13 setup-child may say nothing but variables")
def child_lies(options, nodes):
    p = provider("lies", """
        if hook == "setup-child":
            return {"infos": [value("site.n", "UINT32", 7)]}
    """)
    r = run(*options, "-provider", p.path, "-n", size(nodes), *ran(p))
    need(r.status == 255 and any("provider lies" in m and "site.n" in m for m in r.messages),
         "its name", repr(r))
    same(p.asked("ran"), [], "ranks")


@places("R12-14 child-finished: once for each rank, with its status, also when it is killed")
def finished(options, nodes):
    p = provider("ends")
    r = run(*options, "-provider", p.path, "-n", size(nodes), "sh", "-c",
            "[ $PMI_RANK = 0 ] && exit 3; [ $PMI_RANK = 1 ] || exit 0\n"
            f"until grep -q 'child-finished.*\"rank\": 0' {p.log_path}; do sleep 0.05; done\n"
            "kill -9 $$")
    same(r.status, 137, "status")
    seen = {x["rank"]: (x.get("status"), x.get("signal")) for x in p.asked("child-finished")}
    for node, ranks in nodes:
        life(p.log, node, ranks)
    same((seen[0], seen[1]), ((3, None), (None, 9)), "how they ended")


ENDS = [("all end well", "exit 0", 0), ("one aborts", "[ $PMI_RANK = 1 ] && kill -9 $$; sleep 60", 137)]


@rows([(f"R12-15 local-finished: once on each node, after all its ranks; {name}{where}", options,
        nodes, code, status) for name, code, status in ENDS for where, options, nodes in PLACES])
def local_finished(options, nodes, code, status):
    p = provider("end", 'time.sleep(0.3 if hook == "child-finished" else 0)')
    r = run(*options, "-provider", p.path, "-n", size(nodes), "sh", "-c", code)
    same(r.status, status, "status")
    for node, ranks in nodes:
        life(p.log, node, ranks)
    same(len(p.asked("local-finished")), len(nodes), "nodes")


@places("R12-15 a program that is missing: ranks that were set up are finished as well")
def missing(options, nodes):
    p = provider("end")
    bad = write_file(f"{tmp()}/bad", "#!/no/such/interpreter\n", 0o755)
    r = run(*options, "-provider", p.path, "-n", size(nodes), bad)
    need(r.status != 0, "it fails", repr(r))
    for node, ranks in nodes:
        mine = life(p.log, node, ranks)
        need(all("status" not in x and "signal" not in x for x in mine
                 if x["hook"] == "child-finished"), "they never ran", mine)


@places("R12-14 a provider that fails once ranks run is warned of, and not asked again")
def fails_late(options, nodes):
    p = provider("late", 'if hook == "child-finished": return {"error": "oh"}')
    r = run(*options, "-provider", p.path, "-n", size(nodes), "true")
    need(r.status == 0 and len(r.messages) == len(nodes) and
         all("provider late: child-finished: oh" in m for m in r.messages), "warnings", repr(r))
    same(len(p.asked("local-finished")), 0, "asked again")


@places("R12-16 where all ranks are is told")
def maps(options, nodes):
    p = provider("maps")
    good(*options, "-provider", p.path, "-n", size(nodes), "true")
    for x in p.asked("setup-application") + p.asked("setup-local"):
        same([n["ranks"] for n in x["nodes"]],
             [f"{r[0]}-{r[-1]}" for _, r in nodes], "ranks of nodes")
        if options:
            same([n["name"] for n in x["nodes"]], ["a", "b", "c"], "names")
        if x["hook"] == "setup-local":
            same(x["ranks"], x["nodes"][x["node"]]["ranks"], "its own")


# --- spawned jobs ------------------------------------------------------------

@places("a spawned job has its hooks, and a set-up of its own")
def spawned(options, nodes):
    p = provider("each", """
        if hook == "setup-application":
            return {"infos": [set_env("JOB", "child" if "spawner" in r else "parent"),
                              env("prepnd", "LIST", "x", separator=":")]}
    """)
    child = script("child", "c = Client(2)\nsay(rank, os.environ['JOB'], os.environ['LIST'])\n"
                   "c.fence()\nc.finalize()")
    parent = script("parent", f"""
        c = Client(1)
        if rank == 0:
            started(c, command({child!r}, n=4))
        c.fence()
        c.finalize()
    """)
    r = good(*options, "-provider", p.path, "-n", 2, parent, env={"LIST": "y"})
    same(sorted(r.lines), [f"{i} child x:y" for i in range(4)], "output")
    same(len(p.asked("setup-application")), 2, "jobs")
    same(len(p.asked("local-finished")), len(p.asked("setup-local")), "nodes that ended")
    same(len(p.asked("child-finished")), 6, "ranks that ended")


FAILS = [("the job", "setup-application"), ("a node", "setup-local"), ("a rank", "setup-child")]


@rows([(f"a provider that fails for {what} of a spawn refuses it{where}", options, hook)
       for what, hook in FAILS for where, options, _ in PLACES])
def spawn_fails(options, hook):
    p = provider("no", f"""
        if "spawner" in r:
            extra["spawned"] = True
        if extra.get("spawned") and hook == {hook!r}:
            return {{"error": "not today"}}
    """)
    parent = script("parent", """
        c = Client(2)
        if rank == 0:
            m = spawn(c, command("true", n=4))
            need(m["rc"] != "0" and "provider no" in m["errmsg"] and "not today" in m["errmsg"], m)
            say("refused")
        c.fence()
        c.finalize()
    """)
    r = good(*options, "-provider", p.path, "-n", 2, parent)
    same(r.lines, ["refused"], "output")


# --- objects, examples, trust ------------------------------------------------

def build(name, text):
    """A shared object of this C code, and its path."""
    source = write_file(f"{tmp()}/{name}.c", text)
    subprocess.run(["cc", "-shared", "-fPIC", f"-I{lib.ROOT}/mpiexec_lite", source, "-ljansson",
                    "-o", f"{tmp()}/{name}.so"], check=True)
    return f"{tmp()}/{name}.so"


OBJECT = """
    #include <mpiexec_lite_provider.h>
    #include <stdlib.h>
    #include <string.h>
    #include <unistd.h>
    char *mpiexec_lite_provider(const char *request)
    {
        if (!strstr(request, "setup-application"))
            return NULL;
        %s
    }
"""


@rows([("a shared object that answers", "return strdup(\"{\\\"infos\\\":[{\\\"key\\\":"
        "\\\"pmix.envar.set\\\",\\\"type\\\":\\\"PMIX_ENVAR\\\",\\\"value\\\":{\\\"envar\\\":"
        "\\\"A\\\",\\\"value\\\":\\\"so\\\"}}]}\");", None),
       ("a shared object that crashes harms nobody else", "abort();", "ended without an answer"),
       ("a shared object that ends its process", "_exit(0);", "ended without an answer")])
def objects(code, words):
    path = build("thing", OBJECT % code)
    r = run("-provider", path, "-n", 2, "sh", "-c", "echo $A")
    if words:
        fails(r, "provider thing", words)
    else:
        need(r.status == 0 and r.lines == ["so", "so"], "output", repr(r))


@test("what is no provider is refused with a reason")
def no_provider():
    fails(run("-provider", build("empty", "int x;"), "-n", 1, "true"), "provider empty",
          "no function mpiexec_lite_provider")
    plain = write_file(f"{tmp()}/plain", "#!/bin/sh\n", 0o644)
    fails(run("-provider", plain, "-n", 1, "true"), "provider plain", "Permission denied")


@test("one that others could have changed is not run")
def trust():
    p = provider("open")
    os.chmod(p.path, 0o777)
    fails(run("-provider", p.path, "-n", 1, "true"), "provider open", "can change it")
    os.mkdir(f"{tmp()}/shared")
    os.chmod(f"{tmp()}/shared", 0o777)
    p = provider("inside", folder=f"{tmp()}/shared")
    fails(run("-provider", p.path, "-n", 1, "true"), "provider inside", "can change it")
    same(p.log, [], "what was asked")
    os.mkdir(f"{tmp()}/links")
    os.symlink(provider("good").path, f"{tmp()}/links/one")
    good("-provider-dir", f"{tmp()}/links", "-n", 1, "true")
    os.chmod(f"{tmp()}/links", 0o777)
    fails(run("-provider-dir", f"{tmp()}/links", "-n", 1, "true"), "provider one", "can change it")


@test("a provider has nothing of the launcher's: environment, descriptors, signals, directory")
def clean():
    p = provider("look", """
        if hook == "setup-application":
            with open("/proc/self/status") as f:
                masks = {k: v.strip() for k, v in (x.split(":", 1) for x in f) if k[:3] == "Sig"}
            note({"hook": "look", "env": dict(os.environ), "cwd": os.getcwd(),
                  "fds": sorted(os.listdir("/proc/self/fd")), "masks": masks})
    """)
    extra = os.open("/dev/null", os.O_RDONLY)
    good("-provider", p.path, "-n", 1, "true", env={"SECRET": "1", "LD_PRELOAD": ""},
         pass_fds=[extra])
    os.close(extra)
    seen = p.asked("look")[0]
    same(sorted(seen["env"]), ["LC_ALL", "PATH"], "environment")
    same(seen["cwd"], "/", "directory")
    same(len(seen["fds"]), 4, f"descriptors, with that of the listing {seen['fds']}")
    same(int(seen["masks"]["SigBlk"], 16), 0, "blocked signals")


@places("the example that hands out a token")
def example_token(options, nodes):
    r = good(*options, "-provider", f"{lib.ROOT}/mpiexec_lite/examples/token.py", "-n", size(nodes),
             *py("""
        c = Client(2)
        token = c.ask("cmd=info-getjobattr;key=example.token;")["value"]
        need(token == os.environ["JOB_TOKEN"], "the same")
        say(token)
        c.finalize()
    """))
    need(len(set(r.lines)) == 1 and re.fullmatch("[0-9a-f]{32}", r.lines[0]) and
         len(r.lines) == size(nodes), "one token for all", r.lines)


@places("the example that pins ranks to network devices")
def example_netdev(options, nodes):
    with open(f"{lib.ROOT}/mpiexec_lite/examples/netdev.c", encoding="utf-8") as f:
        path = build("netdev", f.read())
    r = good(*options, "-provider", path, "-n", size(nodes), "sh", "-c",
             "echo $PMI_RANK $NET_DEVICE $NET_PORT")
    devices = os.listdir("/sys/class/net")
    want = {f"{rank}": f"{20000 + i}" for _, ranks in nodes for i, rank in enumerate(ranks)}
    same({x.split()[0]: x.split()[2] for x in r.lines}, want, "ports")
    need(all(x.split()[1] in devices for x in r.lines), "devices", r.lines)


@test("no process of a provider is left, whichever of the launcher's processes is killed")
def killed():
    for who in "front", "root":
        p = provider(who, "time.sleep(600)")
        job = Job("-provider", p.path, "-n", 1, "true")
        wait_for(lambda: p.log, "the provider is asked")
        pid = p.log[0]["pid"]
        os.kill(job.pid if who == "front" else job.root(), signal.SIGKILL)
        job.popen.wait(LIMIT)
        wait_for(lambda: not alive(pid), f"the provider ends with the {who}")


main()

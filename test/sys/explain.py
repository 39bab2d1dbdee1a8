#!/usr/bin/env -S python3 -B
"""-explain: hosts, ranks, environment and commands are those of a real run of the same words,
each with who decided it, and nothing is started."""

import json
import re
import xml.etree.ElementTree as ET

from lib import *

FAR = """#!/bin/sh
# As ssh, but the host is this one: remember how we were called, and run the last word.
for word; do printf '%s\\n' "$word" >>"$LOG.$$"; done
mv "$LOG.$$" "$LOG/$$"
exec /bin/sh -c "$word"
"""


def explain(*words, status=0, **more):
    """The answer in JSON."""
    r = run("-explain", "-json", *words, **more)
    same(r.status, status, f"status of {r}")
    return json.loads(r.out)


def text(*words, **more):
    r = run("-explain", *words, **more)
    same((r.status, r.err), (0, b""), f"explained: {r}")
    return r.lines


def of(answer, what, name):
    """The host, setting or variable of this name: what is said of it; one only."""
    key = {"settings": "option", "hosts": "name"}.get(what)
    found = [x for x in answer[what] if x[key] == name]
    same(len(found), 1, f"one {name} in {what} ({found})")
    return found[0]


def file(name, content, mode=0o644):
    return write_file(os.path.join(tmp(), name), content, mode)


# --- who decided it ---------------------------------------------------------------------------

@test("each setting has its source: option, FILE:LINE, variable, or the default")
def sources():
    conf = file("job.conf", "# programs\n-genv FROM conf -launch-window 3\n\n"
                            "-n 2 \\\n  -env OWN 'a b' true\n-n 1 -wdir /tmp false\n")
    hosts = file("hosts", "# hosts\nfar1:2\n\nfar2 slots=3 user=bob\n")
    a = explain("-f", hosts, "-tree-width", 7, "-configfile", conf, "-launch-window=5",
                env={"HYDRA_LAUNCHER": "fork", "MPIEXEC_TIMEOUT": "9"})
    same(of(a, "settings", "tree-width"),
         {"option": "tree-width", "value": "7", "by": "-tree-width, command line"}, "an option")
    same(of(a, "settings", "launch-window")["by"], "-launch-window, command line",
         "the command line beats the file, which is not told")
    same(of(a, "settings", "wdir"), {"option": "wdir", "value": "/tmp", "appnum": 1,
                                     "by": f"-wdir, {conf}:6"}, "FILE:LINE")
    same([p["by"] for p in a["programs"]], [f"-n, {conf}:4", f"-n, {conf}:6"], "numbers of ranks")
    same((a["summary"]["launcher"], a["summary"]["launcher_by"]),
         ("fork", "variable HYDRA_LAUNCHER"), "a variable")
    need({"option": "timeout", "value": "9", "by": "variable MPIEXEC_TIMEOUT"} in a["settings"],
         "MPIEXEC_TIMEOUT", a["settings"])
    same({h["name"]: h["by"] for h in a["hosts"]},
         {"far1": f"{hosts}:2, -f", "far2": f"{hosts}:4, -f"}, "lines of hosts")
    same(explain("true")["summary"]["launcher_by"], "default", "nobody said it")


@test("an option is called as it was written, also where it stands for another one")
def as_written():
    a = explain("--np", 2, "-display", "map,bindings", "--cpu-bind=cores", "-rr", "true")
    same({x["option"]: x["by"] for x in a["settings"] if x["option"] not in ("explain", "json")},
         {"n": "-np, command line", "display": "-display, command line", "rr": "-rr, command line",
          "print-rank-map": "-display, command line", "report-bindings": "-display, command line",
          "cpu-bind": "-cpu-bind, command line", "bind-to": "-cpu-bind, command line"}, "settings")
    same(a["programs"][0]["by"], "-np, command line", "of the program")
    same(of(a, "hosts", HOST)["binding"]["by"], "-cpu-bind, command line", "of the binding")


@test("what can be read only once is read once; -explain stands on the command line")
def once():
    r = subprocess.run([LAUNCHER, "-explain", "-json", "-f", "/dev/stdin", "true"], input=b"far1:3",
                       stdout=subprocess.PIPE, check=True)
    same([(h["slots"], h["by"]) for h in json.loads(r.stdout)["hosts"]],
         [(3, "/dev/stdin:1, -f")], "a pipe of hosts")
    r = run("-configfile", file("job.conf", "-explain\n-n 1 true\n"))
    need(r.status == 2 and "only possible on the command line" in r.err.decode(), "in a file", r)
    same(run("-n", 1, "echo", "-explain").lines, ["-explain"], "a program's own word")


@test("hosts of -hosts, -host, -file and HYDRA_HOST_FILE know who named them")
def host_sources():
    hosts = file("hosts", "far1\nfar2\n")
    job = file("job", "host = far9\n")
    a = explain("-hosts", "far[1-2]", "true", ":", "-host", "far3", "true", ":", "-file", job,
                "true")
    same({h["name"]: h["by"] for h in a["hosts"]},
         {"far1": "-hosts, command line", "far2": "-hosts, command line",
          "far3": "-host, command line", "far9": f"-host, {job}:1"}, "by option")
    a = explain("true", env={"HYDRA_HOST_FILE": hosts})
    same([h["by"] for h in a["hosts"]], [f"{hosts}:{i}, variable HYDRA_HOST_FILE"
                                         for i in (1, 2)], "by variable")
    same([h["by"] for h in explain("true")["hosts"]], ["default"], "by nobody")


# --- what would be ----------------------------------------------------------------------------

WHERE = ("/bin/sh", "-c", 'echo $PMI_RANK $PMI_APPNUM')


def ranks_of(ranges):
    """The numbers of 0-3,8."""
    return [r for part in ranges.split(",") if part
            for r in range(int(part.split("-")[0]), int(part.split("-")[-1]) + 1)]


@rows([
    ("ranks are where a job has them: slots, more than those",
     ("-hosts", "far1:2,far2:3", "-n", 12)),
    ("-rankmap", ("-hosts", "far[1-3]", "-rankmap", "1,1,2,0", "-n", 7)),
    ("-order-nodes, -ppn", ("-hosts", "far1:1,far2:3,far3:2", "-order-nodes", "DOWN", "-n", 6)),
    ("two programs, -host", ("-hosts", "far1:2,far2:2", "-n", 3, *WHERE, ":", "-host", "far4",
                             "-n", 2)),
])
def where(words):
    words = ["-launcher", "fork", "-prepend-pattern", "%p ", *words, *WHERE]
    a = explain(*words)
    told = sorted((i, rank, p) for i, h in enumerate(a["hosts"]) for rank in ranks_of(h["ranks"])
                  for p in h["programs"] if 0 <= rank - a["programs"][p]["first_rank"] <
                  a["programs"][p]["ranks"])
    seen = sorted(tuple(map(int, x.split())) for x in run(*words).lines)
    need(len(seen) == a["summary"]["ranks"] > 4, "all ranks ran", str(seen))
    same(told, seen, "node, rank and program")
    same([h["count"] for h in a["hosts"]], [len(ranks_of(h["ranks"])) for h in a["hosts"]],
         "numbers of ranks")


@test("commands are those that a job runs, word for word")
def commands():
    os.mkdir(os.path.join(tmp(), "log"))
    log = os.path.join(tmp(), "log")
    far = file("far", FAR, 0o755)
    words = ["-launcher-exec", far, "-hosts", "far[1-3],bob@far4", "-enable-x", "-n", 4, "true"]
    env = {"LOG": log, "HYDRA_LAUNCHER_EXTRA_ARGS": "-p 2222"}
    a = explain(*words, env=env)
    same(os.listdir(log), [], "nothing was run")
    same(run(*words, env=env).status, 0, "the job")
    ran = []
    for name in os.listdir(log):
        with open(os.path.join(log, name)) as f:
            ran.append([far, *f.read().splitlines()])
    same(sorted(c["argv"] for c in a["commands"]), sorted(ran), "commands")
    for c in a["commands"]:
        out = subprocess.run(["/bin/sh", "-c", "for w in " + c["shell"] + "; do echo \"$w\"; done"],
                             stdout=subprocess.PIPE, check=True).stdout.decode().splitlines()
        same(out, c["argv"], "as a shell reads it")


@test("many hosts are a tree: each command has whom it is run from")
def tree():
    a = explain("-hosts", "far[1-12]", "-flat-hosts", 2, "-tree-width", 3, "true")
    same([c.get("from") for c in a["commands"]],
         [None] * 3 + ["far1"] * 3 + ["far2"] * 3 + ["far3"] * 3, "parents")
    same(a["summary"]["tree_depth"], 2, "depth")


@test("slurm: one command for all; tcp: what is known of each")
def other_launchers():
    a = explain("-launcher", "slurm", "-hosts", "far[01-04]", "-n", 4, "true")
    same([(c["host"], "--nodelist=far[01-04]" in c["argv"]) for c in a["commands"]],
         [("far[01-04]", True)], "srun")
    a = explain("-launcher", "tcp", "-launcher-exec", "/bin/go", "-hosts", "far1,far2", "true")
    same([c["argv"][:2] + c["argv"][-2:] for c in a["commands"]],
         [["/bin/go", "far1", "--position", "1"], ["/bin/go", "far2", "--position", "2"]], "tcp")
    need(not any("argv" in c and c["argv"] for c in
                 explain("-launcher", "fork", "-hosts", "far1", "true")["commands"]),
         "with fork there is none")


@test("binding is drawn for this host as -report-bindings has it, and told of others by its rule")
def binding():
    words = ["-bind-to", "hwthread", "-n", 3, "true"]
    drawn = [x.split(": ", 2)[2] for x in run("-report-bindings", *words).messages
             if ": rank " in x]
    same(len(drawn), 3, "lines of a real run")
    b = explain(*words)["hosts"][0]["binding"]
    same((b["to"], b["by"], b["drawn"]), ("hwthread", "-bind-to, command line", drawn), "this host")
    hosts = file("hosts", f"{HOST}\nfar1\nfar2 binding=socket\n")
    a = explain("-f", hosts, *words, env={"HYDRA_BINDING": "core"})["hosts"]
    same([(h["binding"]["to"], h["binding"]["by"], "drawn" in h["binding"]) for h in a],
         [("hwthread", "-bind-to, command line", True), ("hwthread", "-bind-to, command line", False),
          ("socket", f"{hosts}:3, -f", False)], "hosts")
    same(explain("true", env={"HYDRA_BINDING": "core"})["hosts"][0]["binding"]["by"],
         "variable HYDRA_BINDING", "by a variable")
    need("binding" not in explain("-n", 2, "true")["hosts"][0], "nobody asked")


@test("the environment is a rank's: what is set, by whom, what is inherited, what is not")
def environment_of_ranks():
    words = ["-genv", "G", "job", "-x", "SECRET", "-env", "OWN", "a b", "-n", 1, "/usr/bin/env"]
    env = {"SECRET": "do not tell", "PMIX_RANK": "7", "OWN": "ours"}
    r, a = run(*words, env=env), explain(*words, env=env)
    have = {x.split("=")[0] for x in r.lines}
    e = a["programs"][0]["environment"]
    told = {v["name"] for v in e["set"]} | set(e["inherited"]) | set(e["launcher_sets"])
    marks = {"SYS_MARK"}
    same(told - marks, have - marks, "names of a rank's variables")
    same({v["name"]: (v.get("value"), v["by"]) for v in e["set"]},
         {"G": ("job", "-genv, command line"), "SECRET": (None, "-x, command line"),
          "OWN": ("a b", "-env, command line")}, "what was set")
    need("PMIX_RANK" in e["not_inherited"], "of another launcher", e["not_inherited"])
    for format in ["-json"], []:
        out = run("-explain", *format, *words, env=env).out
        need(b"do not tell" not in out, "an inherited value", out)
    e = explain("-genvlist", "PATH,HOME", *words[:-3], "-envnone", "true", ":", "true",
                env=env)["programs"]
    same([(p["environment"]["inherit"], p["environment"]["inherit_by"]) for p in e],
         [("none", "-envnone, command line"), ("list", "-genvlist, command line")], "rules")
    same(sorted(e[1]["environment"]["inherited"]), ["HOME", "PATH"], "the list")


@test("the text says the same, is safe on a terminal, and -quiet is a summary")
def as_text():
    lines = text("-hosts", "far1:2,far2", "-genv", "A", "1", "-n", 3, "no such\033[2J", "x y")
    need("  far1: ranks 0-1 of program 0; 2 slots; by ssh  [-hosts, command line]" in lines,
         "a host", lines)
    need(any(re.match(r"  far2: ssh -T .* -- far2 /.*pmi2_proxy$", x) for x in lines),
         "a command", lines)
    need("      set: A=1  [-genv, command line]" in lines, "a variable", lines)
    need(not any("\033" in x for x in lines) and any(r"\x1B[2J" in x for x in lines),
         "no control character", lines)
    brief = text("-q", "-hosts", "far1:2,far2", "-n", 3, "true")
    same(brief, ["3 ranks of 1 program on 2 of 2 hosts, 3 slots, at most 2 ranks on a host",
                 "2 other hosts by ssh, all from here  [default]"], "a summary")
    same(list(explain("-q", "true")), ["summary"], "in JSON")


@test("hosts are crowded by the slots that somebody gave them, not a lone host by one that nobody did")
def crowded():
    more = "1 host with more ranks than slots"
    need(more not in text("-q", "-n", 2, "true"), "no list")
    need(more in text("-q", "-launcher", "fork", "-hosts", "a:1", "-n", 2, "true"), "a list")


@test("-svg: a picture that is XML, with every rank, on processors here, on slots elsewhere")
def picture():
    words = ["-hosts", "localhost:2,far1:3", "-n", 4, "-bind-to", "core", "./no <such>\033"]
    whole = ET.fromstring(good("-explain", "-svg", *words).out)
    space = "{http://www.w3.org/2000/svg}"
    texts = ["".join(x.itertext()) for x in whole.iter(space + "text")]
    need({"localhost", "far1", "4 ranks on 2 of 2 hosts"} <= set(texts), "hosts", texts)
    need(any(x.startswith("ranks 0-3: ./no <such>\\x1B") for x in texts), "the program", texts)
    need({"2", "3"} <= set(texts), "ranks of slots", texts)
    tips = ["".join(x.itertext()) for x in whole.iter(space + "rect")]
    a = explain(*words)
    drawn = of(a, "hosts", "localhost")["binding"]["drawn"]
    for rank in 0, 1:
        mine = sum(x.count("B") for x in drawn if x.startswith(f"rank {rank}:"))
        need(sum(x in (f"rank {rank}", "rank 0 and 1 more") for x in tips) == mine, "its processors",
             [drawn, tips])
    same(tips.count("a free slot"), 1, "free slots")


@test("a program that is not here is told; wrong words are refused as ever")
def wrong():
    a = explain("-n", 1, "true", ":", "no-such-program")["programs"]
    need(a[0]["found"].endswith("/true") and "no-such-program" in a[1]["problem"], "found", a)
    for words, why in ((["-n", "0", "true"], "not a number"), (["-json", "true"], "-json is for"),
                       (["-check", "-svg", "true"], "-svg is for -explain"),
                       (["-explain", "-svg", "-json", "true"], "duplicate setting"),
                       (["-explain", "-check", "true"], "duplicate setting"),
                       (["-explain", "-rankmap", "0,9", "-n", 2, "true"], "no host number 9")):
        r = run(*words)
        need(r.status == 2 and not r.out and why in r.err.decode(), why, r)


@test("nothing is started: no process, no socket, no file is made")
def nothing():
    if not shutil.which("strace"):
        raise Skip("no strace")
    log = os.path.join(tmp(), "strace")
    far = file("far", FAR, 0o755)
    r = run("-explain", "-launcher-exec", far, "-hosts", f"far1,{HOST}", "-outfile",
            os.path.join(tmp(), "out"), "-n", 4, "true",
            prefix=["strace", "-f", "-o", log, "-e", "trace=process,network,file"])
    same(r.status, 0, f"explained: {r}")
    with open(log) as f:
        calls = f.read()
    same(len(re.findall(r"execve\(", calls)), 1, "execve is our own only")
    bad = re.findall(r"\b(?:fork|vfork|clone3?|socketpair|listen|connect|mkdir|unlink)\(.*|"
                     r"open.*O_(?:CREAT|WRONLY|RDWR).*", calls)
    same(bad, [], "calls that make something")


@test("planning grows no faster than what is planned: ten times the job, ten times the memory")
def scale():
    def peak(ranks, hosts):
        r = run("-explain", "-q", "-hosts", f"n[00001-{hosts:05}]:50", "-n", ranks, "./a",
                prefix=[sys.executable, "-c", "import resource, subprocess, sys; s = subprocess."
                        "run(sys.argv[1:]); u = resource.getrusage(resource.RUSAGE_CHILDREN); "
                        "print(u.ru_maxrss); sys.exit(s.returncode)"])
        same(r.status, 0, f"{ranks} ranks: {r}")
        same(r.lines[0].split(" slots")[0], f"{ranks} ranks of 1 program on {hosts} of {hosts} "
             f"hosts, {ranks}", "all of them")
        return int(r.lines[-1])
    small, large = peak(10000, 200), peak(1000000, 20000)
    need(large < 100 * small and large < 500 * 1024, "memory", f"{small} KiB, {large} KiB")


main()

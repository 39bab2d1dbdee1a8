#!/usr/bin/env -S python3 -B
"""Set-up providers (RFC0012) under their PMIx names: a program of another resource manager
that is the host of its own server, with libpmix_ext (test/progs/pmix_host.c)."""

import os
import subprocess

from hooklib import *
from pmixlib import is_sanitized
import lib

LIB = f"{B}/lib"
VALGRIND = ["valgrind", "-q", "--leak-check=full", "--show-leak-kinds=all",
            "--errors-for-leak-kinds=all", "--error-exitcode=99", "--child-silent-after-fork=yes"]
HERE = os.uname().nodename
MAPS = {"MAP": f"{HERE},far", "RANKS": "0-1,3;2"}
FORKED = ["register", "local", "fork:0", "fork:3"]
TALKS = """
    if hook == "setup-application":
        return {"infos": [set_env("KEY", "c0ffee"), value("site.fabric", "STRING", "blue"),
                          env("prepnd", "LIST", "x", separator=":")]}
    if hook == "setup-child":
        return {"infos": [set_env("PORT", str(7000 + r["rank"]))]}
"""


def host_program():
    out = f"{tmp()}/host"
    if not os.path.exists(out):
        subprocess.run(["cc", "-Wall", "-Wextra", "-Werror", "-O1", "-g", "-o", out,
                        f"{lib.ROOT}/test/progs/pmix_host.c", f"-I{lib.ROOT}/pmix_ext/std",
                        f"-L{LIB}", "-lpmix_ext", f"-Wl,-rpath,{LIB}", "-lpthread"], check=True)
    return out


def settings(more):
    """Variables of the host; the folder of providers is there in any case."""
    os.makedirs(f"{tmp()}/p", exist_ok=True)
    env = {**MAPS, "MPIEXEC_LITE_PROVIDERS": f"{tmp()}/p",
           "PATH": f"{B}/bin:" + os.environ["PATH"], **more}
    if is_sanitized():
        env["LD_PRELOAD"] = subprocess.run(["cc", "-print-file-name=libasan.so"], check=True,
                                           stdout=subprocess.PIPE, text=True).stdout.strip()
        env["ASAN_OPTIONS"] = "detect_leaks=0"
    return env


def host(*words, prefix=(), **env):
    """Runs the host: (status, lines of output, stderr)."""
    mark = new_mark()
    r = subprocess.run([*prefix, host_program(), *words], env=environment(mark, settings(env)),
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       timeout=lib.LIMIT)
    nothing_left(mark)
    return r.returncode, r.stdout.decode("utf-8", "backslashreplace").splitlines(), \
        r.stderr.decode("utf-8", "replace")


def says(r, *lines):
    """A host that ended well has said this between its start and its end."""
    same((r[0], r[1]), (0, ["init PMIX_SUCCESS", *lines, "finalize PMIX_SUCCESS"]), r[2])


def site(name, body="pass", describe=None):
    """A provider in the folder that the host's are in; its log is outside."""
    os.makedirs(f"{tmp()}/p", exist_ok=True)
    return provider(name, body, describe, folder=f"{tmp()}/p", log=f"{tmp()}/{name}.log")


SAID = ["application PMIX_SUCCESS", "  pmix.envar.set KEY=c0ffee", "  site.fabric blue",
        "  pmix.envar.prepnd LIST=x"]


@test("R12-01 R12-03 PMIx_server_setup_application: once, with the maps; the infos come back")
def application():
    p = site("talks", TALKS)
    says(host("application"), *SAID)
    same([x["hook"] for x in p.log], ["setup-application"], "what was asked")
    asked = p.log[0]
    same((asked["job"], asked["size"], asked["nodes"]),
         ("job.7", 4, [{"name": HERE, "ranks": "0-1,3"}, {"name": "far", "ranks": "2"}]), "maps")
    same([x["key"] for x in asked["directives"]], ["pmix.setup.all"], "directives")
    says(host("only:envars"), *SAID)
    same([x["key"] for x in p.log[-1]["directives"]], ["pmix.setup.env"], "directives of its own")


@test("without a provider nothing is said, and everything succeeds")
def nobody():
    says(host("application", *FORKED, "client:0", "nspace"), "application PMIX_SUCCESS",
         "register PMIX_OPERATION_SUCCEEDED", "local PMIX_SUCCESS",
         "fork PMIX_SUCCESS LIST=y BYTES=\\xff", "fork PMIX_SUCCESS LIST=y BYTES=\\xff",
         "client:0 PMIX_SUCCESS", "nspace PMIX_SUCCESS")


WHOLE = "R12-09 R12-13 R12-14 R12-15 set up before a fork, variables of a rank, each end once"


@rows([(WHOLE, []), ("valgrind: " + WHOLE, VALGRIND)])
def whole(prefix):
    if prefix and is_sanitized():
        raise Skip("the sanitizers look at memory themselves")
    p = site("talks", TALKS)
    forked = "fork PMIX_SUCCESS BYTES=\\xff KEY=c0ffee LIST=x:y PORT="
    r = host("application", "fork:0", *FORKED, "fork:2", "client:3", "client:3", "client:2",
             "client:0", "nspace", "nspace", "fork:0", prefix=prefix)
    r = r[0], [" ".join(x.split()[:2] + sorted(x.split()[2:])) if x.startswith("fork") else x
               for x in r[1]], r[2]
    none = "fork PMIX_ERR_NOT_FOUND BYTES=\\xff LIST=y"
    says(r, *SAID, none, "register PMIX_OPERATION_SUCCEEDED", "local PMIX_SUCCESS",
         forked + "7000", forked + "7003", none, *["client:3 PMIX_SUCCESS"] * 2,
         "client:2 PMIX_SUCCESS", "client:0 PMIX_SUCCESS", *["nspace PMIX_SUCCESS"] * 2, none)
    mine = life(p.log, 0, [0, 1, 3])
    same([x["rank"] for x in mine if x["hook"] == "child-finished"], [3, 0, 1], "order of ends")
    same([x["key"] for x in mine[0]["infos"]],
         ["pmix.envar.set", "site.fabric", "pmix.envar.prepnd"], "what setup-local is told")


@rows([("R12-14 R12-15 a host that only finalizes: each end is told all the same",
        ["register", "local"], 0),
       ("R12-14 R12-15 a host is killed: each end is told all the same",
        ["register", "local", "crash"], -9)])
def left_to_us(words, status):
    p = site("talks", TALKS)
    r = host(*words)
    same(r[0], status, f"status, {r}")
    life(p.log, 0, [0, 1, 3])

FAILURES = [
    ("says why", 'return {"error": "no tokens left"}', {}, "no tokens left"),
    ("ends", "os._exit(3)", {}, "ended without an answer"),
    ("is too slow", "time.sleep(600)", {"timeout": 0.5}, "no answer for 0.5 s"),
    ("says no JSON", 'print("hello", flush=True)', {}, "no JSON object"),
]


@rows([(f"R12-02 R12-12 a provider {name}: {word} fails, with its name and words on stderr", word,
        body, describe, words)
       for name, body, describe, words in FAILURES for word in ("application", "local")])
def fails(word, body, describe, words):
    p = site("sick", body, describe)
    r = host("register", word, "fork:0")
    says(r, "register PMIX_OPERATION_SUCCEEDED", f"{word} PMIX_ERROR",
         "fork PMIX_ERR_NOT_FOUND LIST=y BYTES=\\xff")
    need("provider sick" in r[2] and words in r[2], "name and words", r[2])
    same(len(p.log), 1, "questions")


@test("R12-02 a slow provider is waited for")
def slow():
    site("slow", """
        if hook == "setup-application":
            time.sleep(2)
            return {"infos": [set_env("A", "late")]}
    """)
    says(host("application"), "application PMIX_SUCCESS", "  pmix.envar.set A=late")


@test("R12-02 R12-12 a call does not wait; PMIx_server_finalize ends a provider that hangs")
def hangs():
    p = site("stuck", "time.sleep(600)")
    r = host("register", "begin", "begin")
    says(r, "register PMIX_OPERATION_SUCCEEDED", "begin PMIX_SUCCESS", "begin PMIX_ERR_EXISTS")
    need(all(not alive(x["pid"]) for x in p.log), "the provider has ended", p.log)


@rows([("ranks that are registered: no other is set up, each once, until it is deregistered", []),
       ("valgrind: ranks that are registered", VALGRIND)])
def clients(prefix):
    if prefix and is_sanitized():
        raise Skip("the sanitizers look at memory themselves")
    p = site("talks", TALKS)
    none, no_such = "fork PMIX_ERR_NOT_FOUND LIST=y BYTES=\\xff", "add:4294967294"
    r = host("add:0", "register", "local", "add:0", "add:0", "add:1", no_such, "fork:0", "fork:3", "register", "fork:3",
             "client:0", "fork:0", "add:0", "fork:0", "client:1", "client:0", "fork:3", "nspace", "add:0", prefix=prefix)
    forked = "fork PMIX_SUCCESS LIST=y"
    says((r[0], [" ".join([*x.split()[:2], *sorted(w for w in x.split()[2:] if w.startswith("LIST"))])
                 if x.startswith("fork PMIX_SUCCESS") else x for x in r[1]], r[2]),
         "add:0 PMIX_ERR_NOT_FOUND", "register PMIX_OPERATION_SUCCEEDED", "local PMIX_SUCCESS",
         "add:0 PMIX_OPERATION_SUCCEEDED", "add:0 PMIX_ERR_EXISTS", "add:1 PMIX_OPERATION_SUCCEEDED",
         f"{no_such} PMIX_ERR_BAD_PARAM", forked, none, "register PMIX_OPERATION_SUCCEEDED", none,
         "client:0 PMIX_SUCCESS", none, "add:0 PMIX_OPERATION_SUCCEEDED", forked, "client:1 PMIX_SUCCESS",
         "client:0 PMIX_SUCCESS", forked, "nspace PMIX_SUCCESS", "add:0 PMIX_ERR_NOT_FOUND")
    life(p.log, 0, [0, 1, 3])


@test("R10-11: maps of a host are text or regular expressions; of another type they are refused")
def map_types():
    p = site("talks", TALKS)
    says(host("numbers", "regex", "local"), *["numbers PMIX_ERR_TYPE_MISMATCH"] * 2,
         "regex PMIX_OPERATION_SUCCEEDED", "local PMIX_SUCCESS")
    life(p.log, 0, [0, 1, 3])


@test("a provider that others can write to is refused, as by the launcher")
def trust():
    p = site("open")
    os.chmod(p.path, 0o777)
    r = host("application")
    says(r, "application PMIX_ERROR")
    need("provider open" in r[2] and "refused" in r[2], "why", r[2])
    same(p.log, [], "questions")


@rows([(f"maps {name}: refused with words", env, words) for name, env, words in (
       ("of another host", {"MAP": "elsewhere", "RANKS": "0"}, "no node of the job"),
       ("with a rank twice", {"MAP": HERE, "RANKS": "0,0"}, "rank 0 is there twice"),
       ("without a rank", {"MAP": HERE, "RANKS": "0,2"}, "rank 1 is on no node"),
       ("of too few nodes", {"MAP": f"{HERE},b", "RANKS": "0"}, "of 1 nodes, not of 2"),
       ("of nonsense", {"MAP": HERE, "RANKS": "0-x"}, "makes no sense"))])
def maps(env, words):
    p = site("talks", TALKS)
    r = host("register", "local", **env)
    says(r, "register PMIX_OPERATION_SUCCEEDED", "local PMIX_ERROR")
    need(words in r[2], "why", r[2])
    same(p.log, [], "questions")


@test("before PMIx_server_init every call is refused; without mpiexec_lite none is answered")
def refused():
    r = host()
    same(r[:2], (0, ["application PMIX_ERR_INIT", "local PMIX_ERR_INIT", "add:0 PMIX_ERR_INIT",
                     "fork PMIX_ERR_INIT LIST=y BYTES=\\xff", "client:0 PMIX_ERR_INIT",
                     "nspace PMIX_ERR_INIT", "finalize PMIX_ERR_INIT"]), "answers")
    says(host("application", PATH="/nowhere"), "application PMIX_ERR_UNREACH")


main()

#!/usr/bin/env -S python3 -B
"""pmix-put, -commit, -get, -fence, -publish, -lookup, -unpublish: data between ranks of one
node and over a tree of hosts, of ranks of all wires, and of tools."""

import json
import os
import subprocess
import time

from lib import *
from pmixlib import *

BAD_PARAM, NOT_SUPPORTED, MISMATCH, TIMEOUT, NOT_FOUND = -27, -47, -18, -24, -46
RESOURCE, DUPLICATE, PARTIAL, OUTSIDE, LOST = -29, -53, -52, -62, -61
NO_PERMISSIONS, NO_NAMESPACE, VALUE_NOT_SUPPORTED = -23, -44, -59
LOCAL, REMOTE, GLOBAL, INTERNAL = 1, 2, 3, 4

ALONE = []
TREE = ["-launcher", "fork", "-hosts", "a,b,c", "-ppn", "1", "-flat-hosts", "1",
        "-tree-width", "1"]
PLACES = [("", ALONE), (", a chain of hosts", TREE)]


def places(title, table=PLACES):
    """Decorator: a point on one host and one over hosts; the function gets the options."""
    return rows([(title + where, options) for where, options in table])


def put(rank, key, v, scope=GLOBAL):
    return rank.call("pmix-put", key=key, value=v, scope=scope)


def commit(rank):
    return good(rank.call("pmix-commit"))


def get_args(nspace, rank, key, *infos):
    args = {"nspace": nspace, "rank": rank if isinstance(rank, int) else f'"{rank}"', "key": key}
    return {**args, "infos": list(infos)} if infos else args


def get(peer, nspace, rank, key, *infos):
    return peer.call("pmix-get", **get_args(nspace, rank, key, *infos))


def flag(key):
    return info(key, "BOOL", True)


def refused(reply, status, *words):
    """A reply that says this status, and these words."""
    same(reply["status"], status, f"status of {reply}")
    need(reply["rc"] != 0 and all(w in reply["errmsg"] for w in words), "its words", reply, words)


IMMEDIATE, WAIT = flag("pmix.immediate"), info("pmix.wait", "INT", 1)


def seconds(n):
    return info("pmix.timeout", "INT", n)


# --- put and get -------------------------------------------------------------------------

VALUES = [value("STRING", "text; with 'all' \u20ac = \n"), value("UINT32", 4294967295),
          value("INT64", -9223372036854775808), value("STATUS", 0), value("STATUS", -1),
          value("STATUS", -3000), value("BYTE_OBJECT", bytes(range(256))),
          value("PROC_RANK", "wildcard"), value("SCOPE", 200), value("BOOL", False),
          {"type": "PMIX_DATA_ARRAY",
           "value": {"type": "PMIX_INFO", "array": [info("a", "INT8", -128)]}}]


@places("R10-12: typed values come out as they went in, a status as a status")
def values(options):
    ranks = Ranks(*options, "-n", 3)
    for i, v in enumerate(VALUES):
        good(put(ranks[2], f"k{i}", v))
    commit(ranks[2])
    for reader in ranks:
        for i, v in enumerate(VALUES):
            same(good(get(reader, reader.nspace, 2, f"k{i}"))["value"], v, f"value {i}")
    tool = Tool(ranks.job)
    same(good(get(tool, ranks.jobid, 2, "k0"))["value"], VALUES[0], "to a tool")
    same(good(get(ranks[0], "", "undef", "k1"))["value"], VALUES[1], "of any rank")
    good(put(ranks[2], "k1", value("UINT32", 7)))
    same(good(get(ranks[0], "", 2, "k1"))["value"], VALUES[1], "before the next commit")
    commit(ranks[2])
    same(good(get(ranks[0], "", 2, "k1"))["value"], value("UINT32", 7), "after it")
    ranks.finish()


# Numbers that no version of the standard has given a meaning: of scopes, ranges and so on.
UNKNOWN = [value("SCOPE", 200), value("DATA_RANGE", 200), value("PERSIST", 200), value("STATUS", -4242),
           value("STATUS", 77), value("DATA_TYPE", 600), value("PROC_STATE", 200), value("JOB_STATE", 200),
           value("LINK_STATE", 200), value("ALLOC_DIRECTIVE", 200), value("IOF_CHANNEL", 0x4000),
           value("INFO_DIRECTIVES", [1 << 20]),
           {"type": "PMIX_DATA_ARRAY", "value": {"type": "PMIX_SCOPE", "array": [200, 3, 201]}}]


@places("R10-25: 200 as a scope, and unknown numbers of the other kinds, pass as the numbers they are")
def unknown_numbers(options):
    ranks = Ranks(*options, "-n", 3)
    for i, v in enumerate(UNKNOWN):
        good(put(ranks[2], f"u{i}", v))
    commit(ranks[2])
    tool = Tool(ranks.job)
    for reader in [*ranks, tool]:
        for i, v in enumerate(UNKNOWN):
            same(good(get(reader, ranks.jobid, 2, f"u{i}"))["value"], v, f"value {i}")
    good(publish(ranks[0], *(info(f"u{i}", v["type"][5:], v["value"]) for i, v in enumerate(UNKNOWN))))
    r = good(look(ranks[1], *(f"u{i}" for i in range(len(UNKNOWN)))))
    same([{"type": d["type"], "value": d["value"]} for d in r["data"]], UNKNOWN, "looked up")
    ranks.finish()


@places("a get waits for its rank's commit, and only for that")
def waiting(options):
    ranks = Ranks(*options, "-n", 3)
    a, b, c = ranks
    r = get(a, "", 1, "k", IMMEDIATE)
    refused(r, NOT_FOUND, "k was not put yet")
    refused(get(a, "", 1, "k", flag("pmix.optional")), NOT_FOUND)
    first = a.send("pmix-get", **get_args("", 1, "k"))
    any_one = c.send("pmix-get", **get_args("", "undef", "k"))
    none = c.send("pmix-get", **get_args("", 1, "other"))
    later = c.send("pmix-get", **get_args("", 1, "late", WAIT))
    good(put(b, "k", value("INT", 5)))
    refused(get(a, "", 1, "k", IMMEDIATE), NOT_FOUND)
    commit(b)
    same(a.reply(first)["value"], value("INT", 5), "who waits")
    same(c.reply(any_one)["value"], value("INT", 5), "who waits for any rank's")
    refused(c.reply(none), NOT_FOUND, "other was not put")
    refused(get(a, "", 1, "other"), NOT_FOUND)
    good(put(b, "late", value("BOOL", True)))
    commit(b)
    same(c.reply(later)["value"], value("BOOL", True), "PMIX_WAIT: a later commit, too")
    ranks.finish()


@places("a get that waits ends with its time, with the rank, with the job, with the asker")
def giving_up(options):
    ranks = Ranks(*options, "-n", 3, "-disable-auto-cleanup")
    a, b, c = ranks
    tool, gone = Tool(ranks.job), Tool(ranks.job)
    refused(get(a, "", 1, "k", seconds(1)), TIMEOUT, "k: not put in time")
    refused(get(a, "", 1, "k", seconds(-1)), BAD_PARAM, "-1")
    waits = a.send("pmix-get", **get_args("", 1, "k"))
    until_end = tool.send("pmix-get", **get_args(ranks.jobid, 2, "k"))
    gone.send("pmix-get", **get_args(ranks.jobid, 2, "k"))
    gone.close()
    good(b.call("finalize") | {"status": 0})
    ranks.end(1)
    refused(a.reply(waits), NOT_FOUND, "k was not put")
    refused(get(a, "", 1, "k"), NOT_FOUND)
    ranks.finish()
    try:
        refused(tool.reply(until_end), NOT_FOUND)
    except Closed:
        pass                             # it was the last job: the launcher is gone, too


@places("scope local, remote, global, internal: whose values who sees")
def scopes(options):
    ranks = Ranks(*options, "-n", 3)
    spread = bool(options)
    for scope in LOCAL, REMOTE, GLOBAL, INTERNAL:
        good(put(ranks[0], f"s{scope}", value("INT", scope), scope))
    commit(ranks[0])
    tool = Tool(ranks.job)
    table = [(ranks[0], {LOCAL, REMOTE, GLOBAL, INTERNAL}),
             (ranks[1], {REMOTE, GLOBAL} if spread else {LOCAL, GLOBAL}),
             (ranks[2], {REMOTE, GLOBAL} if spread else {LOCAL, GLOBAL}),
             (tool, {LOCAL, REMOTE, GLOBAL})]
    for peer, sees in table:
        for scope in LOCAL, REMOTE, GLOBAL, INTERNAL:
            r = get(peer, ranks.jobid, 0, f"s{scope}")
            if scope in sees:
                same(good(r)["value"], value("INT", scope), f"scope {scope}")
            else:
                refused(r, OUTSIDE, f"s{scope} was put for others")
    only = info("pmix.scope", "SCOPE", LOCAL)
    same(good(get(ranks[0], "", 0, "s1", only))["status"], 0, "PMIX_DATA_SCOPE")
    refused(get(ranks[0], "", 0, "s3", only), OUTSIDE)
    ranks.finish()


@test("R10-09, R10-10: ranks and scopes that are none, each with its place")
def odd_ranks():
    ranks = Ranks("-n", 2)
    a = ranks[0]
    table = [("-1", BAD_PARAM, "rank"), ("4294967296", BAD_PARAM, "rank"),
             ("01", BAD_PARAM, "rank"), ("1.5", BAD_PARAM, "rank"), ("99999999999", BAD_PARAM, ""),
             ('"1"', BAD_PARAM, "rank"), ('"@node"', BAD_PARAM, "rank"), ("[1]", BAD_PARAM, "rank"),
             ("2", BAD_PARAM, "there is no rank 2"), ('"local_node"', BAD_PARAM, "rank"),
             ('"wildcard"', NOT_FOUND, "of ranks")]
    for text, status, word in table:
        refused(a.call("pmix-get", rank=text, key="k"), status, word)
    for text, status in (("200", VALUE_NOT_SUPPORTED), ("0", VALUE_NOT_SUPPORTED),
                         ("256", BAD_PARAM), ('"x"', BAD_PARAM)):
        refused(a.call("pmix-put", key="k", value=value("INT", 1), scope=text), status, "scope")
    tool = Tool(ranks.job)
    refused(get(tool, "", 0, "k"), BAD_PARAM, "nspace")
    refused(get(tool, "nowhere", 0, "k"), NO_NAMESPACE, "nowhere")
    refused(put(tool, "k", value("INT", 1)), NOT_SUPPORTED, "tool")
    refused(tool.call("pmix-commit"), NOT_SUPPORTED, "tool")
    ranks.finish()


# Nothing of these is a rank, whatever its number.
NO_RANKS = [("INT32", 1), ("UINT32", 1), ("INT", 1), ("SIZE", 1), ("STATUS", 1), ("STRING", "1"), ("BOOL", True),
            ("PROC", {"nspace": "x", "rank": 1})]


@places("R10-11: a rank sent as int32, or as anything else, is refused, as a status is; neither is ever cast")
def ranks_of_other_types(options):
    ranks = Ranks(*options, "-n", 2)
    tool = Tool(ranks.job)
    for peer in ranks[0], tool:
        ns = info("pmix.nspace", "STRING", ranks.jobid)
        r = good(peer.call("pmix-query", queries=[query("pmix.lrank", qualifiers=[ns, info(
            "pmix.rank", "PROC_RANK", 1)])]))
        same(results(r)[0][2], 0 if options else 1, "of a rank")
        for kind, x in NO_RANKS:
            refused(peer.call("pmix-query", queries=[query("pmix.lrank", qualifiers=[ns, info(
                "pmix.rank", kind, x)])]), MISMATCH, "queries[0]", "pmix.rank")
        for kind, x in ("INT32", 1), ("PROC_RANK", 1), ("STRING", ranks.jobid):
            refused(peer.call("pmix-query", queries=[query("pmix.lrank", qualifiers=[info(
                "pmix.procid", kind, x)])]), MISMATCH, "pmix.procid")
    array = {"type": "PMIX_INT32", "array": [0]}
    app = [{"cmd": "/bin/true", "argv": ["true"], "maxprocs": 1}]
    for kind, x, status in (("INT32", 0, MISMATCH), ("UINT32", 0, MISMATCH), ("DATA_ARRAY", array, BAD_PARAM)):
        refused(tool.call("pmix-spawn", apps=app, infos=[info("pmix.dbg.init", kind, x)]), status, "pmix.dbg.init")
    # What one rank has put as one type is that for the others.
    for i, (kind, x) in enumerate((("INT32", 1), ("PROC_RANK", 1), ("STATUS", 1), ("INT", 1))):
        good(put(ranks[0], f"t{i}", value(kind, x)))
    commit(ranks[0])
    for i, (kind, x) in enumerate((("INT32", 1), ("PROC_RANK", 1), ("STATUS", 1), ("INT", 1))):
        same(good(get(ranks[1], ranks.jobid, 0, f"t{i}"))["value"], value(kind, x), kind)
    ranks.finish()


@test("R10-24: values and directives of wrong types; unknown ones, required and not")
def wrong_types():
    ranks = Ranks("-n", 1)
    a = ranks[0]
    table = [({"type": "PMIX_INT"}, "value"), ({"type": "PMIX_NONE", "value": 1}, "type"),
             (value("UINT8", 256), "256"), (value("PROC_RANK", -1), "value"),
             (value("BYTE_OBJECT", "?"), "value"), ("nothing", "value"), ("{", "value"),
             (json_depth(40), "value"), (value("STRING", None), None),
             ({"type": "PMIX_PROC", "value": {"nspace": "x"}}, "rank")]
    for v, word in table:
        r = put(a, "k", v)
        if word:
            refused(r, BAD_PARAM, "value", word)
    refused(get(a, "", 0, "k", info("pmix.timeout", "UINT32", 1)), MISMATCH, "infos[0]",
            "PMIX_UINT32", "PMIX_INT")
    refused(get(a, "", 0, "k", IMMEDIATE, info("pmix.optional", "STRING", "x")), MISMATCH,
            "infos[1]")
    refused(get(a, "", 0, "k", info("no.such", "INT", 1, ["required"])), NOT_SUPPORTED,
            "infos[0]", "no.such")
    refused(get(a, "", 0, "k", info("no.such", "INT", 1), IMMEDIATE), NOT_FOUND)
    for key in "", "x" * 512, "pmix.mine":
        refused(put(a, key, value("INT", 1)), BAD_PARAM, "key")
    good(put(a, "x" * 511, value("INT", 1)))
    refused(a.call("pmix-put", key="k"), BAD_PARAM, "value")
    refused(a.call("pmix-get", key="k", infos="{}"), BAD_PARAM, "infos")
    big = value("STRING", "x" * 60000)
    for i in range(700):
        r = put(a, "big", big)
        if r["status"]:
            break
    refused(r, RESOURCE, "commit")
    commit(a)
    same(good(get(a, "", 0, "big"))["value"], big, "a large value")
    ranks.finish()


def json_depth(n):
    v = value("INT", 1)
    for _ in range(n):
        v = {"type": "PMIX_DATA_ARRAY", "value": {"type": "PMIX_VALUE", "array": [v]}}
    return v


@places("PMI-2's keys are seen by pmix-get as strings; in one job with ranks of PMI-1")
def mixed(options):
    ranks = Ranks(*options, "-n", 3, hello=False)
    ranks[1].hello()
    ranks[2].hello(extensions="")
    one = Pmi1(ranks[0])
    one.ask("cmd=put kvsname=%s key=one value=from one" % one.ask("cmd=get_my_kvsname")["kvsname"])
    same(ranks[2].call("kvs-put", key="two", value="from;two")["rc"], 0, "kvs-put")
    good(put(ranks[1], "three", value("INT", 3)))
    commit(ranks[1])
    waits = [r.send("kvs-fence") for r in (ranks[1], ranks[2])]
    one.ask("cmd=barrier_in")
    for r, n in zip((ranks[1], ranks[2]), waits):
        same(r.reply(n)["rc"], 0, "kvs-fence")
    for asked, key, v in ((0, "one", "from one"), (2, "two", "from;two"),
                          ("undef", "two", "from;two")):
        same(good(get(ranks[1], "", asked, key))["value"], value("STRING", v), key)
    refused(get(ranks[1], "", 0, "two", IMMEDIATE), NOT_FOUND)
    same(good(get(ranks[2], "", 1, "three"))["value"], value("INT", 3), "a rank of plain PMI-2")
    one.ask("cmd=finalize")
    ranks[0].end = lambda *a, **k: one.rank_end(*a, **k)
    for i in 1, 2:
        ranks[i].call("finalize")
    ranks.end()
    same(ranks.job.finish().status, 0, "status")


class Pmi1:
    """A rank of the test's on PMI-1."""

    def __init__(self, rank):
        self.rank = rank
        rank.sock.sendall(b"cmd=init pmi_version=1 pmi_subversion=1\n")
        need("rc=0" in self.line(), "init")
        self.rank_end = type(rank).end.__get__(rank)

    def line(self):
        data = b""
        while not data.endswith(b"\n"):
            data += self.rank.read(1)
        return data.decode().rstrip("\n")

    def ask(self, text):
        self.rank.sock.sendall(text.encode() + b"\n")
        line, _, v = self.line().partition(" value=")
        return dict(w.partition("=")[::2] for w in line.split()) | ({"value": v} if v else {})


# --- reserved keys of a realm ------------------------------------------------------------

NODE_OF, APP_OF, JOB_OF, SESSION_OF = (flag(f"pmix.{x}.info") for x in ("node", "app", "job", "ssn"))


def node(n):
    return info("pmix.nodeid", "UINT32", n)


def host(name):
    return info("pmix.hname", "STRING", name)


def appnum(n):
    return info("pmix.appnum", "UINT32", n)


@rows([(f"R10-27: a get of a key of the node, program, job or session that its infos name{where}", options)
       for where, options in ((", flat", ["-tree-width", "0"]),
                              (", a chain of hosts", ["-flat-hosts", "1", "-tree-width", "1"]))])
def realms(options):
    ranks = Ranks("-launcher", "fork", "-hosts", "h[0-2]:2", *options, "-n", 5)
    tool = Tool(ranks.job)
    table = [("pmix.local.size", [NODE_OF, node(2)], 1), ("pmix.local.size", [NODE_OF, host("h1")], 2),
             ("pmix.lpeers", [NODE_OF, host("h1")], "2,3"), ("pmix.lldr", [NODE_OF, node(1)], 2),
             ("pmix.hname", [NODE_OF, node(1)], "h1"), ("pmix.nodeid", [NODE_OF, host("h2")], 2),
             ("pmix.num.slots", [NODE_OF, node(2)], 2), ("pmix.num.slots", [JOB_OF], 6),
             ("pmix.num.nodes", [SESSION_OF], 3), ("pmix.univ.size", [SESSION_OF], 6),
             ("pmix.app.size", [APP_OF, appnum(0)], 5), ("pmix.appnum", [APP_OF], 0),
             ("pmix.node.size", [node(2)], 1)]
    none = [("pmix.job.size", [NODE_OF, node(1)]), ("pmix.local.size", [NODE_OF, node(3)]),
            ("pmix.local.size", [NODE_OF, host("h9")]), ("pmix.app.size", [APP_OF, appnum(1)]),
            ("pmix.local.size", [NODE_OF, node(4294967294)])]
    for peer, job in (ranks[0], ""), (ranks[4], ""), (tool, ranks.jobid):
        for key, infos, want in table:
            r = good(get(peer, job, "wildcard", key, *infos))
            same(plain(r["value"]), want, f"{key} {infos}")
        for key, infos in none:
            refused(get(peer, job, "wildcard", key, *infos), NOT_FOUND, key)
        refused(get(peer, job, "wildcard", "pmix.local.size", info("pmix.nodeid", "INT", 1)),
                MISMATCH, "infos[0]")
        r = good(get(peer, job, "wildcard", "pmix.node.arr", NODE_OF, node(1)))
        array = plain(r["value"])
        same(array[0], ("pmix.nodeid", 1), "which node comes first")
        need({("pmix.hname", "h1"), ("pmix.local.size", 2)} <= {x for x in array
                                                                if not isinstance(x[1], list)}, array)
    same(plain(good(get(ranks[0], "", 4, "pmix.hname"))["value"]), "h2", "a host is a rank's")
    refused(get(ranks[0], "", "wildcard", "pmix.hname"), NOT_FOUND, "pmix.hname")
    same(plain(good(get(ranks[4], "", "wildcard", "pmix.local.size", NODE_OF))["value"]), 1,
         "of no node: the caller's own")
    ranks.finish()


@test("what is told of a job, longer than a frame, comes in pieces: to ranks and tools")
def long_info():
    words = ["; \u20ac" * 25000] * 10
    ranks = Ranks("-n", 1, program=words)
    tool = Tool(ranks.job)
    for peer in ranks[0], tool:
        for key in "pmix.cmd.line", "pmix.app.argv", "pmix.job.arr":
            rank = 0 if key == "pmix.app.argv" else "wildcard"
            r = good(get(peer, ranks.jobid, rank, key))
            need(len(r["pieces"]) > 10, "pieces", len(r["pieces"]))
            v = plain(json.loads("".join(r["pieces"])))
            text = dict(v)["pmix.cmd.line"] if isinstance(v, list) else v
            need(text.endswith(" ".join(words)), key, text[:200])
        r = good(peer.call("pmix-query", queries=[query("pmix.qry.ns", "pmix.cmd.line", "pmix.job.size", "pmix.app.argv",
                                                        qualifiers=[info("pmix.nspace", "STRING", ranks.jobid), appnum(0)])]))
        got = {k: v for _, k, v in results(r)}
        same((got["pmix.qry.ns"], got["pmix.job.size"]), (ranks.jobid, 1), "what stands around a long one")
        for key in "pmix.cmd.line", "pmix.app.argv":
            need(got[key].endswith(" ".join(words)), key, got[key][:200])
        need(sum("piece" in x for x in r["results"]) > 20, "each in pieces", len(r["results"]))
        r = good(peer.call("pmix-query", queries=[query("pmix.app.argv", "pmix.lrank", qualifiers=[
            info("pmix.nspace", "STRING", ranks.jobid), info("pmix.nodeid", "UINT32", 0)])]))["results"]
        same([(x["value"]["array"], x.get("status")) for x in r], [([], RESOURCE), ([0], None)],
             "an element of an array that is too long is left out, and that is said")
    env = {**os.environ, "PMIX_SERVER_URI": "unix:" + tools_socket(ranks.job.pid)}
    r = subprocess.run([f"{B}/bin/pmix_tool", "--json", "query", "pmix.cmd.line", f"pmix.nspace={ranks.jobid}"],
                       env=preloaded(env), stdout=subprocess.PIPE, check=True, timeout=LIMIT)
    need(" ".join(words) in json.dumps(json.loads(r.stdout), ensure_ascii=False), "by the library", r.stdout[:200])
    ranks.finish()


@test("PMIX_TIMEOUT 0 is no limit: a get, a lookup and a fence wait")
def no_limit():
    ranks = Ranks("-n", 2)
    job, (a, b) = ranks.jobid, ranks
    waits = [a.send("pmix-get", **get_args("", 1, "late", seconds(0))),
             a.send("pmix-lookup", keys=["name"], infos=[info("pmix.wait", "INT", 0), seconds(0)]),
             a.send("pmix-fence", procs=procs(job, 0, 1), infos=[seconds(0)])]
    refused(get(a, "", 1, "never", seconds(1)), TIMEOUT)         # a second is over
    need(not a.early, "all of them wait", a.early)
    good(put(b, "late", value("INT", 5)))
    commit(b)
    good(publish(b, info("name", "INT", 6)))
    good(b.call("pmix-fence", procs=procs(job, 1, 0)))
    same(plain(good(a.reply(waits[0]))["value"]), 5, "the value")
    same(found(good(a.reply(waits[1]))), {"name": 6}, "the name")
    good(a.reply(waits[2]))
    for command, args in ("pmix-get", get_args("", 1, "x", seconds(-1))), \
            ("pmix-fence", {"procs": procs(job, 0, 1), "infos": [seconds(-1)]}), \
            ("pmix-lookup", {"keys": ["x"], "infos": [seconds(-1)]}), \
            ("pmix-query", {"queries": [query("pmix.qry.ns", qualifiers=[seconds(-1)])]}):
        refused(a.call(command, **args), BAD_PARAM, "pmix.timeout")
    ranks.finish()


# --- fence -------------------------------------------------------------------------------


def procs(job, *ranks):
    return [proc(job, r) for r in ranks]


@places("R10-10: fences of subsets, several at once, in any order; wildcard is all")
def fences(options):
    ranks = Ranks(*options, "-n", 4)
    job = ranks.jobid
    both = [ranks[0].send("pmix-fence", procs=procs(job, 0, 2)),
            ranks[1].send("pmix-fence", procs=procs(job, 1, 3), infos=[flag("pmix.collect")])]
    good(ranks[2].call("pmix-fence", procs=procs(job, 2, 0, 2)))
    good(ranks[0].reply(both[0]))
    need(not ranks[1].early, "the other one waits")
    good(ranks[3].call("pmix-fence", procs=procs(job, 3, 1)))
    good(ranks[1].reply(both[1]))
    twice = [ranks[0].send("pmix-fence", procs=procs(job, 0, 1)) for _ in range(2)]
    good(ranks[1].call("pmix-fence", procs=procs(job, 0, 1)))
    good(ranks[0].reply(twice[0]))
    need(twice[1] not in ranks[0].early, "the second is another")
    good(ranks[1].call("pmix-fence", procs=procs(job, 1, 0)))
    good(ranks[0].reply(twice[1]))
    ways = [{}, {"procs": []}, {"procs": procs(job, "wildcard")}, {"procs": procs(job, 0, 1, 2, 3)}]
    waits = [r.send("pmix-fence", **w) for r, w in zip(ranks, ways)]
    for r, n in zip(ranks, waits):
        good(r.reply(n))
    good(ranks[3].call("pmix-fence", procs=procs(job, 3)))
    ranks.finish()


@places("a fence ends with the time of one who waits, and with a member, which it names")
def fence_fails(options):
    ranks = Ranks(*options, "-n", 4, "-disable-auto-cleanup")
    job = ranks.jobid
    waits = ranks[1].send("pmix-fence", procs=procs(job, 0, 1, 2))
    refused(ranks[0].call("pmix-fence", procs=procs(job, 0, 1, 2), infos=[seconds(1)]), TIMEOUT,
            "1 ranks")
    refused(ranks[1].reply(waits), TIMEOUT)
    waits = ranks[1].send("pmix-fence", procs=procs(job, 1, 2))
    apart = ranks[0].send("pmix-fence", procs=procs(job, 0, 3))
    ranks[2].call("finalize")
    ranks.end(2)
    refused(ranks[1].reply(waits), LOST, f"rank 2 of {job}")
    refused(ranks[1].call("pmix-fence", procs=procs(job, 1, 2)), LOST, f"rank 2 of {job}")
    good(ranks[3].call("pmix-fence", procs=procs(job, 0, 3)))
    good(ranks[0].reply(apart))
    ranks.finish()


@test("a fence that makes no sense is refused, and says where")
def odd_fences():
    ranks = Ranks("-n", 2)
    job, a = ranks.jobid, ranks[0]
    table = [(procs(job, 1), BAD_PARAM, "caller"), (procs(job, 0, 2), BAD_PARAM, "procs[1]"),
             (procs("nowhere", 0), NO_NAMESPACE, "procs[0]"), ("{}", BAD_PARAM, "procs"),
             ([{"nspace": job}], BAD_PARAM, "procs[0]"),
             (procs(job, "undef"), BAD_PARAM, "procs[0]"),
             (procs(job, -1), BAD_PARAM, "procs[0]"), ([1], BAD_PARAM, "procs[0]"),
             ("[" * 100, BAD_PARAM, "procs")]
    for p, status, word in table:
        refused(a.call("pmix-fence", procs=p), status, word)
    refused(a.call("pmix-fence", infos=[info("x", "INT", 1, ["required"])]), NOT_SUPPORTED, "x")
    refused(Tool(ranks.job).call("pmix-fence", procs=procs(job, 0)), NOT_SUPPORTED, "tool")
    ranks.finish()


# --- names -------------------------------------------------------------------------------


def ranged(n):
    return info("pmix.range", "DATA_RANGE", n)


def persistent(n):
    return info("pmix.persist", "PERSIST", n)


RM, NODE, NSPACE, SESSION, EVERYBODY, CUSTOM, SELF = 1, 2, 3, 4, 5, 6, 7
INDEF, FIRST_READ, PROC, APP, FOR_SESSION = range(5)


def publish(peer, *infos):
    return peer.call("pmix-publish", infos=list(infos))


def look(peer, *keys, infos=()):
    return peer.call("pmix-lookup", keys=list(keys), infos=list(infos))


def found(reply):
    return {d["key"]: plain({"type": d["type"], "value": d["value"]})
            for d in reply.get("data", [])}


def unpublish(peer, *keys, infos=()):
    return peer.call("pmix-unpublish", keys=list(keys), infos=list(infos))


NOBODY = ["-nameserver", "none"]
NAME_PLACES = [(where, NOBODY + options) for where, options in PLACES]


@places("publish, lookup, unpublish: several keys, typed values, publishers, PMI's names",
        NAME_PLACES)
def names(options):
    ranks = Ranks(*options, "-n", 3)
    a, b, c = ranks
    tool = Tool(ranks.job)
    good(publish(a, info("n", "UINT32", 7), info("s", "STRING", "tag#0$x; y\u20ac")))
    for peer in b, c, tool:
        r = good(look(peer, "n", "s"))
        same(found(r), {"n": 7, "s": "tag#0$x; y\u20ac"}, r)
        same([d["proc"] for d in r["data"]], [proc(ranks.jobid, 0)] * 2, "publisher")
        same(r["data"][0]["type"], "PMIX_UINT32", "type")
    r = look(b, "n", "none")
    same((r["status"], found(r)), (PARTIAL, {"n": 7}), r)
    refused(look(b, "none"), NOT_FOUND)
    refused(publish(b, info("new", "INT", 1), info("n", "INT", 1)), DUPLICATE, "n")
    refused(look(b, "new"), NOT_FOUND)
    same(b.call("name-lookup", name="s")["value"], "tag#0$x; y\u20ac", "PMI sees a string")
    same(b.call("name-lookup", name="n")["value"], value("UINT32", 7), "and the JSON of another")
    same(b.call("name-publish", name="pmi", port="tag#1$")["rc"], 0, "PMI publishes")
    r = good(look(tool, "pmi"))
    same((found(r), r["data"][0]["proc"]["rank"]), ({"pmi": "tag#1$"}, "undef"), "PMI's string")
    good(publish(tool, info("t", "BOOL", True)))
    refused(unpublish(a, "t"), NO_PERMISSIONS, "t")
    refused(unpublish(tool, "n"), NO_PERMISSIONS, "n")
    good(unpublish(b, "n", "s"))
    refused(unpublish(a, "n"), NOT_FOUND)
    refused(look(c, "n", "s"), NOT_FOUND)
    same(good(look(c, "t"))["data"][0]["proc"], proc(tool.nspace, 0), "a tool's")
    tool.close()
    wait_for(lambda: look(c, "t")["status"] == NOT_FOUND, "the tool's name goes with it")
    ranks.finish()


@places("a lookup waits for all it wants, or for so many of them, or for its time", NAME_PLACES)
def name_waits(options):
    ranks = Ranks(*options, "-n", 3)
    a, b, c = ranks
    every, one = info("pmix.wait", "INT", 0), info("pmix.wait", "INT", 1)
    all_of = a.send("pmix-lookup", keys=["x", "y"], infos=[every])
    first = b.send("pmix-lookup", keys=["x", "y", "z"], infos=[one])
    begun = time.monotonic()
    r = look(b, "none", infos=[every, seconds(1)])
    refused(r, TIMEOUT, "0 of 1")
    need(time.monotonic() - begun > 0.9, "not before its time")
    good(publish(c, info("y", "INT", 2)))
    same(found(good(b.reply(first))), {"y": 2}, "the first of three")
    need(not a.early, "the other waits on")
    good(publish(c, info("x", "STRING", "1")))
    same(found(good(a.reply(all_of))), {"x": "1", "y": 2}, "all of them")
    r = look(b, "x", "none", infos=[every, seconds(1)])
    refused(r, TIMEOUT, "1 of 2")
    same(found(r), {"x": "1"}, "what was found by then")
    waits = Tool(ranks.job)
    waits.send("pmix-lookup", keys=["later"], infos=[every])
    waits.close()
    good(publish(c, info("later", "INT", 1)))
    ranks.finish()


@places("range says who sees a name, persistence how long it is there; of unknown ones nobody can", NAME_PLACES)
def name_ranges(options):
    ranks = Ranks(*options, "-n", 3, "-disable-auto-cleanup")
    a, b, c = ranks
    tool = Tool(ranks.job)
    spread = "-hosts" in options
    for n in NODE, NSPACE, SESSION, EVERYBODY, SELF:
        good(publish(a, ranged(n), info(f"r{n}", "INT", n)))
    table = [(a, {NODE, NSPACE, SESSION, EVERYBODY, SELF}),
             (b, {NSPACE, SESSION, EVERYBODY} | (set() if spread else {NODE})),
             (tool, {SESSION, EVERYBODY} | (set() if spread else {NODE}))]
    for peer, sees in table:
        for n in NODE, NSPACE, SESSION, EVERYBODY, SELF:
            r = look(peer, f"r{n}")
            same(r["status"], 0 if n in sees else NOT_FOUND, f"range {n}: {r}")
    good(publish(b, ranged(SELF), info("r7", "INT", 77)))
    same(found(good(look(b, "r7"))), {"r7": 77}, "each has its own")
    same(found(good(look(a, "r7"))), {"r7": 7}, "each has its own")
    refused(look(a, "r4", infos=[ranged(NODE)]), NOT_FOUND)
    same(found(good(look(a, "r2", infos=[ranged(NODE)]))), {"r2": 2}, "within a range")
    good(unpublish(a, "r2", infos=[ranged(NODE)]))
    for n in RM, CUSTOM, 200:
        refused(publish(a, ranged(n), info("x", "INT", 1)), VALUE_NOT_SUPPORTED, str(n))
    refused(publish(a, persistent(99), info("x", "INT", 1)), VALUE_NOT_SUPPORTED, "99")
    good(publish(a, persistent(FIRST_READ), info("once", "INT", 1)))
    good(look(b, "once"))
    refused(look(b, "once"), NOT_FOUND)
    good(publish(c, persistent(PROC), info("of-c", "INT", 1)))
    good(publish(c, persistent(APP), info("of-job", "INT", 1)))
    good(look(a, "of-c", "of-job"))
    c.call("finalize")
    ranks.end(2)
    wait_for(lambda: look(a, "of-c")["status"] == NOT_FOUND, "it goes with its process")
    good(look(a, "of-job"))
    ranks.finish()


class Resident:
    """pmi2_server, as long as the test runs."""

    def __init__(self):
        self.path = tmp() + "/names"
        self.mark = new_mark()
        self.popen = subprocess.Popen(
            [f"{B}/bin/pmi2_server", "--socket", self.path, "--state", tmp() + "/state"],
            stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment(self.mark))
        wait_for(lambda: os.path.exists(self.path), "the server's socket")
        self.options = ["-nameserver", self.path]


@test("names of two launchers, by the resident server: typed, waited for, taken back")
def resident():
    server = Resident()
    one, two = (Ranks(*server.options, "-n", 1) for _ in range(2))
    a, b = one[0], two[0]
    tool = Tool(one.job)
    waits = b.send("pmix-lookup", keys=["n", "t"], infos=[info("pmix.wait", "INT", 0)])
    gone = Tool(two.job)
    gone.send("pmix-lookup", keys=["n"], infos=[info("pmix.wait", "INT", 0)])
    gone.close()
    good(publish(a, info("n", "UINT64", "9223372036854775808"), info("s", "STRING", "text")))
    good(publish(tool, info("t", "BOOL", True)))
    r = good(b.reply(waits))
    same(found(r), {"n": "9223372036854775808", "t": True}, r)
    same([d["proc"] for d in r["data"]], [proc(one.jobid, 0), proc(tool.nspace, 0)], "publishers")
    refused(publish(b, info("new", "INT", 1), info("n", "INT", 1)), DUPLICATE, "n")
    refused(look(b, "new"), NOT_FOUND)
    refused(unpublish(b, "n"), NO_PERMISSIONS, "n")
    same(b.call("name-lookup", name="s")["value"], "text", "PMI sees a string")
    refused(look(b, "none", infos=[info("pmix.wait", "INT", 0), seconds(1)]), TIMEOUT)
    good(publish(a, ranged(NODE), info("near", "INT", 1)))
    refused(look(b, "near"), NOT_FOUND)
    good(publish(a, persistent(PROC), info("of-a", "INT", 1)))
    good(look(b, "of-a"))
    tool.close()
    wait_for(lambda: look(b, "t")["status"] == NOT_FOUND, "the tool's name goes with it")
    good(unpublish(a, "n"))
    same(one.finish().status, 0, "the first launcher")
    wait_for(lambda: look(b, "of-a")["status"] == NOT_FOUND, "what was a's goes with it")
    refused(look(b, "s"), NOT_FOUND)
    two.finish()


@test("names: odd input is refused, and says where")
def odd_names():
    ranks = Ranks(*NOBODY, "-n", 1)
    a = ranks[0]
    table = [("pmix-publish", {"infos": []}, "nothing"), ("pmix-publish", {"infos": "{}"}, "infos"),
             ("pmix-publish", {"infos": [info("", "INT", 1)]}, "infos[0]"),
             ("pmix-publish", {"infos": [info("k" * 512, "INT", 1)]}, "infos[0]"),
             ("pmix-publish", {"infos": [info("k", "INT", 1), {"key": "z"}]}, "infos[1]"),
             ("pmix-publish", {"infos": [ranged(4)]}, "nothing"), ("pmix-publish", {}, "infos"),
             ("pmix-lookup", {"keys": []}, "keys"), ("pmix-lookup", {"keys": [1]}, "keys[0]"),
             ("pmix-lookup", {"keys": ["a", ""]}, "keys[1]"),
             ("pmix-lookup", {"keys": ["a"] * 257}, "keys"),
             ("pmix-lookup", {"keys": "[" * 3000}, "keys"),
             ("pmix-lookup", {"keys": ["k"], "infos": [info("pmix.wait", "INT", -2)]}, "infos"),
             ("pmix-unpublish", {"keys": []}, "keys"),
             ("pmix-unpublish", {"keys": ["pmix.x"]}, "keys[0]")]
    for cmd, args, word in table:
        refused(a.call(cmd, **args), BAD_PARAM, word)
    refused(publish(a, info("pmix.range", "UINT8", 4), info("x", "INT", 1)), MISMATCH, "infos[0]")
    refused(publish(a, info("pmix.odd", "UINT8", 4, ["required"]), info("x", "INT", 1)),
            NOT_SUPPORTED, "infos[0]")
    good(publish(a, info("pmix.odd", "UINT8", 4), info("x", "INT", 1, ["required"])))
    refused(publish(a, info("big", "STRING", "x" * 20000)), RESOURCE, "infos[0]", "20")
    good(publish(a, info("large", "STRING", "x" * 16000)))
    same(found(good(look(a, "large")))["large"], "x" * 16000, "a large one")
    ranks.finish()


main()

#!/usr/bin/env -S python3 -B
"""PMIX_REGISTER_CLEANUP: what ranks leave for their node's server to remove at their end, or
their job's, however that came; and what is never removed."""

import signal

from lib import *
from pmixlib import *

S = "STRING"
FILES, FOLDERS, IGNORE = "pmix.reg.cleanup", "pmix.reg.cleanupdir", "pmix.clnup.ignore"
RECURSIVE, EMPTY, LEAVE_TOP = "pmix.clnup.recurse", "pmix.clnup.empty", "pmix.clnup.lvtop"
BAD_PARAM, NO_PERMISSIONS, NOT_SUPPORTED, MISMATCH, RESOURCE = -27, -23, -47, -18, -29
HOSTS = ["-launcher", "fork", "-hosts", "a,b,c", "-ppn", "1", "-flat-hosts", "1",
         "-tree-width", "1"]
WHERE = [("one host", []), ("a chain of hosts", HOSTS)]


def ask(peer, *infos, targets=None):
    return peer.call("pmix-job-control", directives=list(infos),
                     **({"targets": targets} if targets else {}))


def mine(rank):
    return [proc(rank.nspace, rank.rank)]


def flag(key):
    return info(key, "BOOL", True)


def folder(name, *entries):
    """A folder of the test, with these in it: 'x' a file, 'x/' a folder."""
    path = f"{tmp()}/{name}"
    os.mkdir(path)
    for entry in entries:
        if entry.endswith("/"):
            os.mkdir(f"{path}/{entry}")
        else:
            write_file(f"{path}/{entry}", "x")
    return path


def tree(path):
    """What is there, folders with a '/' behind them; None: not even itself."""
    if not os.path.lexists(path):
        return None
    return sorted(os.path.relpath(f"{d}/{x}", path) + ("/" if x in ds else "")
                  for d, ds, fs in os.walk(path) for x in ds + fs)


def gone(*paths):
    wait_for(lambda: not any(os.path.lexists(p) for p in paths), f"the removal of {paths}")


@rows([(f"a rank is killed: what it has registered for itself goes, and no other's, {w}", o)
       for w, o in WHERE])
def killed(options):
    ranks = Ranks(*options, "-disable-auto-cleanup", "-n", 3)
    place = folder("f", "0", "1", "2", "1b,", "all")
    for r in ranks:
        good(ask(r, info(FILES, S, f"{place}/{r.rank},{place}/none"), targets=mine(r)))
    good(ask(ranks[1], info(FILES, S, f"{place}/all")))
    ranks.end(1, signo=signal.SIGKILL)
    gone(f"{place}/1")
    same(tree(place), ["0", "1b,", "2", "all"], "what others have registered, or nobody")
    ranks.end(0)
    gone(f"{place}/0")
    same(tree(place), ["1b,", "2", "all"], "the job's stays until its end")
    ranks.end(2)
    ranks.job.finish()
    same(tree(place), ["1b,"], "when the launcher has ended, all is done")


@rows([(f"a job that is killed as a whole, {w}", o) for w, o in WHERE])
def killed_job(options):
    ranks = Ranks(*options, "-n", 3)
    place = folder("f", "0", "1", "2", "job0", "job1", "job2", "else")
    for r in ranks:
        good(ask(r, info(FILES, S, f"{place}/{r.rank}"), targets=mine(r)))
        good(ask(r, info(FILES, S, f"{place}/job{r.rank}"), targets=[proc(r.nspace, "wildcard")]))
    ranks.job.kill(signal.SIGTERM)
    ranks.job.finish()
    same(tree(place), ["else"], "what is left")


FULL = ("a", "keep", "empty/", "sub/", "sub/b", "sub/keep", "sub/deep/", "sub/deep/c", "other/",
        "other/d")
DIRECTORIES = [
    ("a folder's files, and it only if nothing is left", [],
     ["empty/", "other/", "other/d", "sub/", "sub/b", "sub/deep/", "sub/deep/c", "sub/keep"]),
    ("all that is in it", [flag(RECURSIVE)], None),
    ("all, but for the folder itself", [flag(RECURSIVE), flag(LEAVE_TOP)], []),
    ("all but for names that are to stay", [flag(RECURSIVE), info(IGNORE, S, "keep,d,nothing")],
     ["keep", "other/", "other/d", "sub/", "sub/keep"]),
    ("empty folders alone", [flag(RECURSIVE), flag(EMPTY)],
     ["a", "keep", "other/", "other/d", "sub/", "sub/b", "sub/deep/", "sub/deep/c", "sub/keep"]),
]


@rows([(f"folders: {title}", how, left) for title, how, left in DIRECTORIES])
def folders(how, left):
    ranks = Ranks("-n", 1)
    place = folder("f", *FULL)
    good(ask(ranks[0], info(FOLDERS, S, place), *how))
    ranks.finish()
    same(tree(place), left, "what is left")


@test("no link is followed: at the end, in the middle, or inside a folder")
def links():
    ranks = Ranks("-n", 1)
    victim, place = folder("victim", "file", "sub/", "sub/file"), folder("f", "in/")
    os.symlink(victim, place + "/folder")
    os.symlink(victim + "/file", place + "/file")
    os.symlink(victim, place + "/in/link")
    os.symlink(place, tmp() + "/way")
    write_file(place + "/reached", "x")
    good(ask(ranks[0], info(FOLDERS, S, f"{place}/folder,{place}/in"),
             info(FILES, S, f"{place}/file,{tmp()}/way/reached,{place}/folder/sub/file"),
             flag(RECURSIVE)))
    ranks.finish()
    same(tree(victim), ["file", "sub/", "sub/file"], "what the links point to")
    same(tree(place), ["folder/", "reached"], "the links themselves: to files, and in folders")


@test("a folder that is another by the end is not followed either")
def swapped():
    ranks = Ranks("-n", 1)
    victim, place = folder("victim", "file"), folder("f", "a/", "a/file")
    good(ask(ranks[0], info(FOLDERS, S, f"{place}/a"), info(FILES, S, f"{place}/a/file"),
             flag(RECURSIVE)))
    os.rename(f"{place}/a", f"{place}/b")
    os.symlink(victim, f"{place}/a")
    ranks.finish()
    same((tree(victim), tree(f"{place}/b")), (["file"], ["file"]), "both folders")


@test("names are bytes: blanks, quotes, newlines, UTF-8 and what is none")
def names():
    ranks = Ranks("-n", 1)
    place = folder("f")
    odd = [" a b", "'\"$;`", "new\nline", "\xfc\N{SNOWMAN}", "-rf"]
    for name in odd:
        write_file(f"{place}/{name}", "x")
    raw = os.fsencode(place) + b"/\xff\xfe"
    with open(raw, "wb"):
        pass
    good(ask(ranks[0], info(FILES, S, ",".join(f"{place}/{name}" for name in odd))))
    good(ask(ranks[0], {"key": FILES, "type": "PMIX_STRING",
                        "value": {"base64": base64_of(raw)}}))
    ranks.finish()
    same(os.listdir(place), [], "what is left")


def base64_of(data):
    import base64
    return base64.b64encode(data).decode()


@test("what makes no sense is refused, and nothing of the request is kept")
def refused():
    ranks = Ranks("-n", 2)
    place = folder("f", "a", "b")
    for path in ("", "a", "./a", "/", "//", "/.", "/..", f"{place}/../f/a", f"{place}/./a",
                 f"{place}/a,", f"{place}/a,b", "/" + "x" * 5000, f"{place}/a,/"):
        for key in FILES, FOLDERS:
            same(ask(ranks[0], info(key, S, path))["status"], BAD_PARAM, f"{key} {path[:60]}")
    same(ask(ranks[0], info(FILES, S, f"{place}/a"), targets=mine(ranks[1]))["status"],
         NO_PERMISSIONS, "another rank's end")
    same(ask(ranks[0], info(FILES, "INT", 1))["status"], MISMATCH, "no path")
    same(ask(ranks[0], info(FOLDERS, S, place), info(RECURSIVE, "INT", 1))["status"], MISMATCH, "how")
    same(ask(ranks[0], flag(RECURSIVE))["status"], BAD_PARAM, "nothing to remove")
    same(ask(Tool(ranks.job), info(FILES, S, f"{place}/a"),
             targets=mine(ranks[0]))["status"], NOT_SUPPORTED, "a tool, for a rank")
    said = [ask(ranks[1], info(FILES, S, f"{place}/b"))["status"] for _ in range(65)]
    same(said, [0] * 64 + [RESOURCE], "as many as one rank may")
    ranks.finish()
    same(tree(place), ["a"], "what is left")


@test("a spawned job's end is its own: the first job's files stay meanwhile")
def spawned():
    ranks = Ranks("-n", 1)
    place = folder("f", "first", "second")
    code = f"""
        from rawpmi import *
        c = Client(2)
        c.ask('cmd=pmix-job-control;directives=[{{"key":"{FILES}","type":"PMIX_STRING",'
              '"value":"{place}/second"}}];')
        c.finalize()
    """
    good(ask(ranks[0], info(FILES, S, f"{place}/first")))
    words = [str(w) for w in py(code)]
    good(ranks[0].call("pmix-spawn", apps=[{"cmd": words[0], "argv": words, "maxprocs": 1}]))
    gone(f"{place}/second")
    same(tree(place), ["first"], "what is left")
    ranks.finish()
    same(tree(place), [], "at the end")


main()

"""hooklib.py - what the tests of set-up providers share: providers in Python that keep a log
of what they are asked, and how to read it.

    p = provider("name", '''
        if hook == "setup-application":
            return {"infos": [set_env("A", "b")]}
    ''', describe={"timeout": 2})
    good("-provider", p.path, ...)
    p.log                              a list of what it was asked, as dicts, in order

`extra` is a dict in which a process may keep what it likes.  Programs may write to the same
log, which tells what came first: `echo '{"hook": "ran"}' >>LOG`.
"""

import json
import os

import lib
from lib import *

PROVIDER = '''#!/usr/bin/python3 -IS
import json, os, signal, sys, time

LOG, DESCRIBE, extra = {log!r}, {describe!r}, {{}}

def note(x):
    fd = os.open(LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(fd, (json.dumps(x) + "\\n").encode())
    os.close(fd)

def value(key, kind, x):
    return {{"key": key, "type": "PMIX_" + kind, "value": x}}

def env(what, name, x, **more):
    return value("pmix.envar." + what, "ENVAR", {{"envar": name, "value": x, **more}})

def set_env(name, x):
    return env("set", name, x)

def answer(r, hook):
{body}

for line in sys.stdin:
    r = json.loads(line)
    if r["hook"] == "describe":
        print(json.dumps(DESCRIBE), flush=True)
        continue
    note({{"name": {name!r}, "pid": os.getpid(), "on": os.uname().nodename, **r}})
    print(json.dumps(answer(r, r["hook"]) or {{}}), flush=True)
'''


class Provider:
    def __init__(self, path, log):
        self.path, self.log_path = path, log

    @property
    def log(self):
        if not os.path.exists(self.log_path):
            return []
        with open(self.log_path, encoding="utf-8") as f:
            return [json.loads(x) for x in f]

    def asked(self, hook):
        return [x for x in self.log if x["hook"] == hook]


def provider(name, body="pass", describe=None, folder=None, log=None):
    folder = folder or tmp()
    lines = body.strip("\n").splitlines()
    indent = min((len(x) - len(x.lstrip()) for x in lines if x.strip()), default=0)
    log = log or f"{folder}/{name}.log"
    text = PROVIDER.format(log=log, describe=describe or {}, name=name,
                           body="\n".join("    " + x[indent:] for x in lines))
    return Provider(write_file(f"{folder}/{name}", text, 0o755), log)


def orders(log, first, then):
    """Every `first` comes before any `then`."""
    hooks = [x["hook"] for x in log]
    need(first in hooks and then in hooks, f"{first} and {then} were seen", hooks)
    last = max(i for i, h in enumerate(hooks) if h == first)
    need(last < hooks.index(then), f"{first} before {then}", hooks)


def life(log, node, ranks):
    """A node's part of a log, of one process: each hook once, in its order."""
    mine = [x for x in log if x.get("node") == node and x["hook"] == "setup-local"]
    same(len(mine), 1, f"setup-local of node {node}")
    mine = [x for x in log if (x.get("pid"), x.get("on")) == (mine[0]["pid"], mine[0]["on"])]
    hooks = [x["hook"] for x in mine if x["hook"] != "setup-application"]
    same(hooks, ["setup-local"] + ["setup-child"] * len(ranks) + ["child-finished"] * len(ranks) +
         ["local-finished"], f"hooks of node {node}")
    for hook in "setup-child", "child-finished":
        same(sorted(x["rank"] for x in mine if x["hook"] == hook), sorted(ranks),
             f"{hook} of node {node}")
    return mine

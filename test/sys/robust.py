#!/usr/bin/env -S python3 -B
"""Clients that do not keep to the protocol hurt themselves only, with a clear word.

Each row's code runs as rank 1 of 3.  Ranks 0 and 2 put, fence and get before and
after it, so that they are served all the while."""

import re

from lib import *

OTHERS = """
    c = Client(2 if rank else 1)
    def round(name):
        c.put(name + str(rank), name)
        c.fence()
        for r in range(size):
            need(c.get(name + str(r)) == name, "value of rank", r)
    round("a")
    for i in range(40):
        need(c.get("a%d" % (2 - rank)) == "a", "served all the while")
        time.sleep(0.005)
    round("b")
    c.finalize()
    say("good", rank)
"""

BAD = """
    c = Client(int(sys.argv[1]))
    def round(name):
        c.put(name + str(rank), name)
        c.fence()
        for r in range(size):
            need(c.get(name + str(r)) == name, "value of rank", r)
    round("a")
"""

GOOD_END = """
    round("b")
    c.finalize()
    say("good", rank)
"""


def job(version, code, end=GOOD_END, **more):
    lines = code.strip("\n").splitlines()
    indent = min(len(x) - len(x.lstrip()) for x in lines if x.strip())
    body = BAD + "".join("    " + x[indent:] + "\n" for x in lines) + end
    return run("-n", 1, *py(OTHERS), ":", "-n", 1, *py(body, version), ":", "-n", 1, *py(OTHERS),
               **more)


# --- refused by a reply; the job lives ----------------------------------------------

@rows([
    ("PMI-2: unknown command", 2, """
        r = c.ask("cmd=no-such-command;a=b;")
        need(r["cmd"] == "no-such-command-response" and r["rc"] != "0", r)
     """),
    ("PMI-1: unknown command", 1, """
        r = c.ask("cmd=no_such_command a=b")
        need(r["cmd"] == "no_such_command_result" and r["rc"] != "0", r)
     """),
    ("PMI-2: fullinit twice", 2, """
        r = c.ask("cmd=fullinit;pmirank=1;threaded=FALSE;")
        need(r["cmd"] == "fullinit-response" and r["rc"] != "0", r)
     """),
    ("PMI-1: init twice", 1, """
        c.send("cmd=init pmi_version=1 pmi_subversion=1\\n")
        need(c.reply()["cmd"] == "response_to_init", "a reply")
     """),
    ("PMI-2: init where a length belongs", 2, """
        c.send("cmd=init pmi_version=2 pmi_subversion=0\\n")
        need(c.line().startswith("cmd=response_to_init"), "a reply")
        c.ask("cmd=fullinit;pmirank=1;")
     """),
    ("PMI-2: a key of 64 bytes is taken, one of 65 refused", 2, """
        need(c.ask("cmd=kvs-put;key=%s;value=v;" % ("k" * 64))["rc"] == "0", "64")
        r = c.ask("cmd=kvs-put;key=%s;value=v;" % ("k" * 65))
        need(r["rc"] == "5", r)
     """),
    ("PMI-1: a key too long", 1, """
        r = c.ask("cmd=put kvsname=%s key=%s value=v" % (c.kvsname(), "k" * 65))
        need(r["cmd"] == "put_result" and r["rc"] != "0" and "msg" in r, r)
     """),
    ("PMI-2: a value that is not UTF-8", 2, """
        r = c.ask(b"cmd=kvs-put;key=k;value=a\\xff\\xfeb;")
        need(r["rc"] == "6", r)
        need(c.get("k") is None, "nothing was stored")
     """),
    ("PMI-1: a value that is not UTF-8", 1, """
        name = c.kvsname().encode()
        r = c.ask(b"cmd=put kvsname=" + name + b" key=k value=a\\xc0\\x80b")
        need(r["rc"] != "0", r)
     """),
    ("PMI-2: a put without value, without key, with an empty value", 2, """
        need(c.ask("cmd=kvs-put;key=k;")["rc"] != "0", "no value")
        need(c.ask("cmd=kvs-put;value=v;")["rc"] != "0", "no key")
        need(c.ask("cmd=kvs-put;key=e;value=;")["rc"] == "0", "empty value")
     """),
    ("PMI-2: a PMI_ key is read-only", 2, """
        need(c.ask("cmd=kvs-put;key=PMI_process_mapping;value=x;")["rc"] == "4", "rc")
     """),
    ("PMI-2: a get from a foreign job", 2, """
        need(c.ask("cmd=kvs-get;jobid=other;srcid=-1;key=a0;")["rc"] != "0", "rc")
     """),
    ("PMI-1: a get from a foreign kvs", 1, """
        r = c.ask("cmd=get kvsname=other key=a0")
        need(r["cmd"] == "get_result" and r["rc"] != "0", r)
     """),
    ("PMI-2: numbers that are none", 2, """
        need(c.ask("cmd=ring;ring-count=many;ring-left=a;ring-right=b;")["rc"] != "0", "ring")
        need(c.ask("cmd=info-getnodeattr;key=k;wait=perhaps;")["rc"] != "0", "wait")
     """),
    ("PMI-2: values of 60000 bytes pass", 2, """
        c.put("big", "x" * 60000)
        need(c.get("big") == "x" * 60000, "value")
     """),
    ("PMI-2: a thread id is echoed, and only then", 2, """
        r = c.ask("cmd=kvs-get;thrid=0xAB;key=a0;")
        need(r["thrid"] == "0xAB" and r["value"] == "a", r)
        need("thrid" not in c.ask("cmd=kvs-get;key=a0;"), "no thrid")
     """),
    ("PMI-2: lengths padded left, right and by zeros; no last ';'", 2, """
        for field in b"    11", b"11    ", b"  11  ", b"000011":
            c.send(field + b"cmd=kvs-get")
            need("rc=" in c.frame(), field)
        c.send(b"15    cmd=kvs-get;key")
        need("rc=" in c.frame(), "a tail without '='")
        c.send(b"18    cmd=kvs-get;key=a0")
        need("value=a;" in c.frame(), "no last ';'")
     """),
    ("PMI-2: one byte at a time", 2, """
        for i in range(3):
            for b in c.message("cmd=kvs-get;key=a0;"):
                c.send(bytes([b]))
            need(c.reply()["value"] == "a", "value")
     """),
    ("PMI-1: one byte at a time", 1, """
        for b in c.message("cmd=get kvsname=%s key=a0" % c.kvsname()):
            c.send(bytes([b]))
        need(c.reply()["value"] == "a", "value")
     """),
    ("PMI-2: 500 requests in one write are answered in order", 2, """
        c.send(b"".join(c.message("cmd=kvs-put;key=k%d;value=%d;" % (i, i)) +
                        c.message("cmd=kvs-get;key=k%d;" % i) for i in range(500)))
        for i in range(500):
            need(c.reply()["cmd"] == "kvs-put-response", i)
            need(c.reply()["value"] == str(i), i)
     """),
    ("PMI-2: half a message, a pause, the other half", 2, """
        data = c.message("cmd=kvs-get;key=a0;")
        for cut in (1, 3, 6, 7, len(data) - 1):
            c.send(data[:cut]); time.sleep(0.03); c.send(data[cut:])
            need(c.reply()["value"] == "a", cut)
     """),
    ("PMI-1: a message after finalize", 1, """
        round("b")
        c.finalize()
        need(c.ask("cmd=get_appnum")["rc"] == "0", "served until the end")
        say("good", rank)
        os._exit(0)
     """)])
def refused(version, code):
    r = job(version, code)
    same((r.status, sorted(r.lines)), (0, ["good 0", "good 1", "good 2"]), f"end of {r}")


@test("replies that are not read: that rank waits, the others do not, nothing is lost")
def stalled():
    r = job(2, """
        import threading
        c.put("big", "x" * 50000)
        count = 400                           # 20 MB of replies
        ask = c.message("cmd=kvs-get;key=big;")
        def send():
            for i in range(count):
                c.send(ask)
        t = threading.Thread(target=send)
        t.start()
        time.sleep(0.5)
        for i in range(count):
            need(len(c.reply()["value"]) == 50000, i)
        t.join()
    """)
    same((r.status, sorted(r.lines)), (0, ["good 0", "good 1", "good 2"]), f"end of {r}")


@test("replies that are never read: the launcher's memory is bounded")
def never_reads():
    j = Job("-n", 1, *py("""
        c = Client(2)
        c.put("big", "x" * 50000)
        say("ready")
        ask = c.message("cmd=kvs-get;key=big;") * 100
        while True:
            c.send(ask)
    """), ":", "-n", 1, *py("""
        c = Client(2)
        for i in range(100):
            c.get("big"); time.sleep(0.01)
        say("served")
        time.sleep(60)
    """))
    j.wait_text("ready")
    root = j.root()
    j.wait_text("served")
    line = next(x for x in proc_bytes(root, "status").splitlines() if x.startswith(b"VmHWM"))
    need(int(line.split()[1]) < 24 << 10, "peak memory of the root", line)
    j.kill(signal.SIGTERM)
    j.finish()


# --- framing broken: that rank has failed ------------------------------------------------

def broken(version, data, *words):
    r = job(version, f"c.send({data!r}); time.sleep(60)")
    same(r.status, 1, f"status of {r}")
    same(len(r.messages), 1, f"number of messages in {r}")
    need(re.search(rf"rank 1 on {HOST} \(pid \d+, python3[.0-9]*\)", r.messages[0]),
         "it names the rank", repr(r))
    for word in words:
        need(re.search(word, r.messages[0]), f"it says {word!r}", r.messages[0])
    same([x for x in r.lines if "WRONG" in x], [], "ranks that were served wrongly")
    need(not re.search(rb"[\x00-\x08\x0e-\x1f\x7f]", r.err), "no control characters", r.err)


@rows([(f"PMI-2: {name}", data, *words) for name, data, *words in (
    ("garbage", b"GET / HTTP/1.0\r\n\r\n", r"byte \d+", "length"),
    ("binary garbage", bytes(range(128, 256)), r"byte \d+", "length"),
    ("escape sequences", b"\033[31m\007abcdef", r"byte \d+", "length"),
    ("a negative length", b"    -5cmd=x;", r"byte \d+", "length"),
    ("a length with a sign", b"   +11cmd=kvs-get", r"byte \d+", "length"),
    ("a giant length", b"999999cmd=kvs-put;key=", r"byte \d+", "999999"),
    ("a length of 0", b"     0", r"byte \d+", "length 0"),
    ("a blank length", b"      cmd=x;", r"byte \d+", "length"),
    ("a hexadecimal length", b"  0x10cmd=kvs-get;k", r"byte \d+", "length"),
    ("digits apart", b"  1 1 cmd=kvs-get", r"byte \d+", "length"),
    ("a NUL in a value", b"    26cmd=kvs-put;key=a;value=\0;", r"byte \d+", "NUL"))])
def broken2(data, *words):
    broken(2, data, *words)


@rows([(f"PMI-1: {name}", data, *words) for name, data, *words in (
    ("garbage", b"GET / HTTP/1.0\r\n\r\n", r"byte \d+"),
    ("a NUL", b"cmd=get_ap\0pnum\n", r"byte \d+", "NUL"),
    ("a line that is too long by its first bytes", b"cmd=put key=" + b"x" * 66000, r"byte \d+",
     "65536"))])
def broken1(data, *words):
    broken(1, data, *words)


@test("PMI-1: megabytes without a newline")
def no_newline():
    r = job(1, "c.send(b'cmd=put key=' + b'x' * 8000000)")
    same((r.status, len(r.messages)), (1, 1), f"end of {r}")
    need("rank 1 " in r.messages[0] and "65536" in r.messages[0], "message", repr(r))


@test("the message says at which byte of the connection it went wrong")
def which_byte():
    r = run("-n", 1, *py("""
        c = Client(0)
        c.version = 2
        first = b"cmd=init pmi_version=2 pmi_subversion=0\\n"
        c.send(first); c.line()
        second = c.message("cmd=fullinit;pmirank=0;threaded=FALSE;")
        c.send(second); c.frame()
        say(len(first) + len(second))
        c.send(b"rubbish")
        time.sleep(60)
    """))
    need(len(r.messages) == 1 and f"byte {r.lines[0]}:" in r.messages[0], "the byte", repr(r))


@test("half a frame, then silence: others are served; the end names the rank")
def half_frame():
    r = job(2, """
        c.send(b"   100cmd=kvs-put;key=ha")
        time.sleep(0.6)
        os._exit(0)
    """)
    same((r.status, len(r.messages)), (1, 1), f"end of {r}")
    need("rank 1 " in r.messages[0] and "exited with 0 without finalize" in r.messages[0],
         "message", repr(r))
    same([x for x in r.lines if "WRONG" in x], [], "ranks that were served wrongly")


@test("two ranks' halves are not glued together")
def two_halves():
    r = good("-n", 8, *py("""
        c = Client(1 + rank % 2)
        ask = c.message("cmd=get_appnum" if rank % 2 == 0 else "cmd=job-getid;")
        for i in range(20):
            cut = 1 + (i * 7 + rank) % (len(ask) - 1)
            c.send(ask[:cut]); time.sleep(0.002); c.send(ask[cut:])
            need(c.reply()["rc"] == "0", i)
        c.finalize()
        say("good")
    """))
    same(r.lines, ["good"] * 8, "output")


@rows([("a rank closes its PMI descriptor inside PMI and lives on: it has failed", False),
       ("the same, while the others wait for it in a fence", True)])
def closes(fence):
    r = run("-n", 2, *py(f"""
        c = Client(2)
        if rank == 1:
            os.close(c.fd)
            time.sleep(60)
        if {fence}:
            c.send(c.message("cmd=kvs-fence;"))
        time.sleep(60)
    """))
    same((r.status, len(r.messages)), (1, 1), f"end of {r}")
    need("rank 1 " in r.messages[0] and "finalize" in r.messages[0], "message", repr(r))


@test("a rank closes its PMI descriptor before init and lives on: an ordinary program")
def closes_early():
    r = good("-n", 2, *py("""
        os.close(int(os.environ["PMI_FD"]))
        time.sleep(0.2)
        say("good")
    """))
    same(r.lines, ["good"] * 2, "output")


@test("closed after finalize, and a long life after it")
def closes_late():
    r = good("-n", 2, *py("""
        c = Client(1 + rank)
        c.finalize()
        os.close(c.fd)
        time.sleep(0.5)
        say("good")
    """))
    same(r.lines, ["good"] * 2, "output")


@rows([(f"init of version {v}.{s}: {'served' if good_ else 'refused, the right one is named'}",
        v, s, good_) for v, s, good_ in
       ((1, 0, True), (1, 1, True), (2, 0, True), (2, 5, True), (3, 0, False), (0, 9, False),
        (99, 1, False))])
def versions(v, s, served):
    r = run("-n", 1, *py(f"""
        c = Client(0)
        c.send("cmd=init pmi_version={v} pmi_subversion={s}\\n")
        reply = dict(w.partition("=")[::2] for w in c.line().split())
        need(reply["cmd"] == "response_to_init", reply)
        need((reply["rc"] == "0") == {served}, reply)
        need(reply["pmi_version"] in "12", reply)
        say("checked")
        if {served}:
            c.version = {v}
            if c.version == 2:
                c.ask("cmd=fullinit;pmirank=0;")
            c.finalize()
    """))
    need("checked" in r.lines, "the client's checks", repr(r))
    same(r.status, 0, f"status of {r}")


@test("a refused init, the client's abort line after it, and a client that stays")
def refused_stays():
    r = run("-n", 2, *py("""
        c = Client(0)
        if rank == 1:
            c.send("cmd=init pmi_version=7 pmi_subversion=0\\n")
            c.line()
            c.send("cmd=abort exitcode=-1\\n")
        time.sleep(60)
    """))
    same(r.status, 255, f"status of {r}")
    need(len(r.messages) >= 1 and any("rank 1 " in m for m in r.messages), "message", repr(r))


@test("garbage before init")
def garbage_first():
    r = run("-n", 2, *py("""
        c = Client(0)
        if rank == 1:
            c.send(b"hello, is anybody there?\\n")
        time.sleep(60)
    """))
    same((r.status, len(r.messages)), (1, 1), f"end of {r}")
    need("rank 1 " in r.messages[0] and "byte 0" in r.messages[0], "message", repr(r))


@test("a fullinit that claims another rank: the descriptor wins, it is logged")
def wrong_rank():
    r = run("-n", 2, *py("""
        c = Client(0)
        c.version = 2
        c.init(2)
        r = c.ask("cmd=fullinit;pmirank=%d;" % (1 - rank))
        need(r["rc"] == "0" and int(r["rank"]) == rank, r)
        c.finalize()
        say("good")
    """))
    same((r.status, r.lines), (0, ["good"] * 2), f"end of {r}")
    same(len(r.messages), 2, f"log lines in {r}")


@test("a rank that leaves after its last requests: they are served first")
def last_words():
    for _ in range(5):
        r = run("-n", 2, *py("""
            c = Client(2)
            c.fence()
            if rank == 1:
                c.send(c.message("cmd=abort;exitcode=33;message=last;"))
                os._exit(12)
            time.sleep(60)
        """))
        same(r.status, 33, f"status of {r}")


@test("100000 keys of one job")
def many_keys():
    r = good("-n", 2, *py("""
        c = Client(2)
        n = 50000
        for first in range(0, n, 500):
            c.send(b"".join(c.message("cmd=kvs-put;key=key-%d-%d;value=%s;" % (rank, i, "v" * 100))
                            for i in range(first, first + 500)))
            for i in range(500):
                c.frame()
        c.fence()
        for i in range(0, n, 997):
            need(c.get("key-%d-%d" % (1 - rank, i)) == "v" * 100, i)
        c.finalize()
        say("good")
    """))
    same(r.lines, ["good"] * 2, "output")


main()

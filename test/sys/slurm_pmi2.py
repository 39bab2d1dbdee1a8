#!/usr/bin/env -S python3 -B
"""Slurm's libpmi2, raw PMI-1 clients, both in one job, and PMI over a port."""

from lib import *

SLURM = prog("slurm_all")


def all_good(*words, n, appnum=0):
    r = run(*words)
    same(r.status, 0, f"status of {r}")
    same(sorted(r.lines), sorted(f"rank {i}: good, appnum {appnum}" for i in range(n)), "output")


@rows([(f"every call of the API, {n} ranks", n) for n in (1, 2, 3, 16, 64)])
def all_calls(n):
    all_good("-n", n, SLURM, "all", n=n)


@rows([(f"{mode}, {n} ranks", mode, n) for mode, n in
       (("wait", 2), ("wait", 64), ("ring", 1), ("ring", 2), ("ring", 64), ("names", 8))])
def modes(mode, n):
    all_good("-n", n, SLURM, mode, n=n)


@rows([(f"{mode}, {n} ranks, three hosts", mode, n) for mode, n in
       (("ring", 2), ("ring", 32), ("names", 8))])
def modes_on_hosts(mode, n):
    all_good("-launcher", "fork", "-hosts", "h[0-2]:2", "-n", n, SLURM, mode, n=n)


@test("200 values of 1000 bytes from each of 8 ranks, three hosts")
def bulk_on_hosts():
    all_good("-launcher", "fork", "-hosts", "h[0-2]:2", "-n", 8, SLURM, "bulk", 200, n=8)


@test("200 values of 1000 bytes from each of 8 ranks")
def bulk():
    all_good("-n", 8, SLURM, "bulk", 200, n=8)


@test("appnum is the number of the program")
def appnum():
    r = good("-n", 1, SLURM, "ring", ":", "-n", 2, SLURM, "ring", ":", "-n", 1, SLURM, "ring")
    same(sorted(r.lines), [f"rank {i}: good, appnum {a}" for i, a in enumerate((0, 1, 1, 2))],
         "output")


@test("PMI2_Abort: the text of the message reaches the user, escaped")
def abort():
    r = run("-n", 3, SLURM, "abort")
    same(r.status, 1, f"status of {r}")
    same(len(r.messages), 1, f"number of messages in {r}")
    need(f"rank 2 on {HOST} (pid " in r.messages[0] and "slurm_all) called abort" in r.messages[0],
         "who", repr(r))
    need("a reason;with=all" in r.messages[0], "the text", repr(r))
    need(b"\033" not in r.err, "no control character reaches the terminal", repr(r))


EXCHANGE = """
    c = Client(int(sys.argv[1]), identity=sys.argv[2] if len(sys.argv) > 2 else "pmirank")
    c.put("key-%d" % rank, "value %d" % rank)
    c.fence()
    for r in range(size):
        need(c.get("key-%d" % r) == "value %d" % r, "get", r)
    need(c.get("nobody") is None, "an unknown key")
    c.fence()
    c.put("key-%d" % rank, "again %d" % rank)
    c.fence()
    for r in range(size):
        need(c.get("key-%d" % r) == "again %d" % r, "get again", r)
    need(c.jobid() == os.environ["PMI_JOBID"], "job id")
    say("good", rank, size, c.appnum())
    c.finalize()
"""


@test("PMI-1 and PMI-2 ranks of one job share key-value space, fences and names")
def mixed():
    r = good("-n", 2, *py(EXCHANGE, 1), ":", "-n", 2, *py(EXCHANGE, 2), ":",
             "-n", 1, *py(EXCHANGE, 1))
    same(sorted(r.lines), [f"good {i} 5 {a}" for i, a in enumerate((0, 0, 1, 1, 2))], "output")


@test("names and process mapping, published in PMI-1, read in PMI-2 and back")
def mixed_names():
    r = good("-n", 1, *py("""
        c = Client(1)
        need(c.ask("cmd=publish_name service=one port=a port of 1")["rc"] == "0", "publish")
        c.fence()
        r = c.ask("cmd=lookup_name service=two")
        need(r["rc"] == "0" and r["port"] == "port-of-2", r)
        say(c.get("PMI_process_mapping"))
        c.fence(); c.finalize()
    """), ":", "-n", 1, *py("""
        c = Client(2)
        need(c.ask("cmd=name-publish;name=two;port=port-of-2;infokeycount=0;")["rc"] == "0", "pub")
        c.fence()
        r = c.ask("cmd=name-lookup;name=one;infokeycount=0;")
        need(r["rc"] == "0" and r["value"] == r["port"] == "a port of 1", r)
        say(c.ask("cmd=info-getjobattr;key=PMI_process_mapping;")["value"])
        c.fence(); c.finalize()
    """))
    same(r.lines, ["(vector,(0,1,2))"] * 2, "mapping")


@test("a Slurm rank in one job with a raw PMI-1 rank")
def mixed_slurm():
    r = good("-n", 2, SLURM, "bulk", 3, ":", "-n", 1, *py("""
        c = Client(1)
        for i in range(3):
            c.put("bulk-%d-%d" % (rank, i), chr(97 + rank + i) * 1000)
        c.fence()
        need(c.get("bulk-1-2") == "d" * 1000, "value of a Slurm rank")
        say("good")
        c.finalize()
    """))
    same(sorted(r.lines), ["good", "rank 0: good, appnum 0", "rank 1: good, appnum 0"], "output")


@test("requests that are refused do not fill the terminal: at most 20 lines")
def refused():
    r = run("-n", 16, SLURM, "all")
    need(r.status == 0 and len(r.messages) <= 20, "at most 20 lines", len(r.messages), repr(r))


@test("PMI-1 limits, universe size without -usize, and with")
def pmi1_info():
    code = """
        c = Client(1)
        m = c.ask("cmd=get_maxes")
        say(m["kvsname_max"], m["keylen_max"], m["vallen_max"])
        u = c.ask("cmd=get_universe_size")
        say(u["size"])
        c.finalize()
    """
    same(good("-n", 1, *py(code)).lines, ["64 64 1024", "-1"], "maxes and universe")
    same(good("-usize", 12, "-n", 1, *py(code)).lines[1], "12", "-usize 12")
    code2 = """
        c = Client(2)
        r = c.ask("cmd=info-getjobattr;key=universeSize;")
        need(r["rc"] == "0", r)
        say(r["found"], r.get("value"))
        c.finalize()
    """
    same(good("-n", 1, *py(code2)).lines, ["FALSE None"], "universeSize without -usize")
    same(good("-usize", 12, "-n", 1, *py(code2)).lines, ["TRUE 12"], "universeSize with -usize")


# --- over a port ---------------------------------------------------------------

@test("-pmi-port: PMI_PORT and PMI_ID instead of PMI_FD, on 127.0.0.1")
def port_variables():
    r = good("-l", "-pmi-port", "-n", 2, *py("""
        need("PMI_FD" not in os.environ, "PMI_FD")
        host, _, number = os.environ["PMI_PORT"].partition(":")
        say(host, int(number) > 0, os.environ["PMI_ID"])
        c = Client(1); c.fence(); c.finalize()
    """))
    same(sorted(r.lines), ["[0] 127.0.0.1 True 0", "[1] 127.0.0.1 True 1"], "output")


@rows([("-pmi-port: PMI-1 by initack", [1]), ("-pmi-port: PMI-2 by pmirank", [2]),
       ("-pmi-port: PMI-2 by srcid, as Slurm's library", [2, "srcid"])])
def port_raw(words):
    r = good("-pmi-port", "-n", 4, *py(EXCHANGE, *words))
    same(sorted(r.lines), [f"good {i} 4 0" for i in range(4)], "output")


@rows([(f"-pmi-port: Slurm's library, {n} ranks", n) for n in (2, 16)])
def port_slurm(n):
    all_good("-pmi-port", "-n", n, SLURM, "all", n=n)


@test("-pmi-port: an MPICH program")
def port_mpich():
    same(good("-pmi-port", "-n", 2, prog("mpi_ranks"), "ring").lines, ["ring 1"], "output")


@test("-pmi-port: a rank is bound once; others are not disturbed by who tries again")
def port_twice():
    r = run("-pmi-port", "-n", 2, *py("""
        if rank == 0:
            c = Client(2)
            t = Client(0)                     # a second connection, as rank 0 again
            t.version = 2
            t.init(2)
            reply = t.ask("cmd=fullinit;pmirank=0;threaded=FALSE;")
            need(reply["rc"] != "0", "rank 0 twice", reply)
            t = Client(0)
            t.version = 2
            t.init(2)
            reply = t.ask("cmd=fullinit;pmirank=99;threaded=FALSE;")
            need(reply["rc"] != "0", "rank 99 of 2", reply)
            t = Client(0)                     # a request before it said who it is
            t.version = 2
            t.init(2)
            reply = t.ask("cmd=kvs-put;key=a;value=b;")
            need(reply["rc"] != "0", "put before fullinit", reply)
        else:
            time.sleep(0.5)
            c = Client(2)
        c.fence()
        say("good")
        c.finalize()
    """))
    same((r.status, r.lines), (0, ["good", "good"]), f"end of {r}")


@test("-pmi-port: garbage and silence on the port do not disturb the job")
def port_garbage():
    r = run("-pmi-port", "-n", 2, *py("""
        if rank == 0:
            t = Client(0)
            t.send(b"GET / HTTP/1.0\\r\\n\\r\\n")
            t.rest()                          # closed by the server
            silent = [Client(0) for i in range(5)]
        c = Client(1)
        c.fence()
        say("good")
        c.finalize()
    """))
    same((r.status, r.lines), (0, ["good", "good"]), f"end of {r}")


@test("-pmi-port: the port is closed once all ranks are in")
def port_closed():
    r = good("-pmi-port", "-n", 2, *py("""
        c = Client(1)
        c.fence()
        import socket
        host, _, number = os.environ["PMI_PORT"].partition(":")
        try:
            socket.create_connection((host, int(number)), 5)
            say("still open")
        except ConnectionRefusedError:
            say("closed")
        c.fence()
        c.finalize()
    """))
    same(r.lines, ["closed"] * 2, "output")


@test("-pmi-port: a connection of another user is refused")
def port_other_user():
    need(os.getuid() == 0, "needs root, to become another user")
    r = run("-pmi-port", "-n", 1, *py("""
        import encodings.idna, socket       # while we may read the files
        pid = os.fork()
        if pid == 0:
            os.setuid(65534)
            try:
                t = Client(0)
                t.send("cmd=initack pmiid=0\\n")
                need(t.rest() == b"", "the stranger was answered", t.seen)
            except ConnectionError:
                pass
            os._exit(0)
        need(os.waitpid(pid, 0)[1] == 0, "the stranger")
        c = Client(1)
        say("good")
        c.finalize()
    """))
    same((r.status, r.lines), (0, ["good"]), f"end of {r}")
    need(any("another user" in m for m in r.messages), "it is reported", repr(r))


main()

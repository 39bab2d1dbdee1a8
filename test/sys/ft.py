#!/usr/bin/env -S python3 -B
"""Jobs that go on when ranks die (-disable-auto-cleanup, and PMI2_Abort of one process): on one
host and on three, with a host that is lost, and in jobs that ranks start."""

from lib import *

PLACES = [("one host", []), ("three hosts", ["-launcher", "fork", "-hosts", "a,b:2,c"])]


def places(name):
    """Decorator: a test point for each of PLACES."""
    return rows([(f"{name}, {where}", options) for where, options in PLACES])


SHRINK = """
    import signal
    told = []
    signal.signal(signal.SIGUSR1, lambda *a: told.append(rank))
    c = Client(2 if rank else 1)
    fence = "cmd=kvs-fence;" if rank else "cmd=barrier_in"
    c.put("a%d" % rank, "v")
    c.fence()
    {die}
    r = c.ask(fence)
    need(r["rc"] == "14" and r.get("errmsg", r.get("msg")).replace("_", " ") == {text!r}, r)
    c.put("b%d" % rank, "w")
    for i in range(3):
        c.fence()
    dead = {dead}
    for i in range(size):
        need(c.get("a%d" % i) == "v" and c.get("b%d" % i) == (None if i in dead else "w"), i)
    need(c.get("PMI_dead_processes") == ",".join(map(str, dead)), "dead")
    need(c.get("PMI_alive_processes") == ",".join(str(i) for i in range(size) if i not in dead),
         "alive")
    need(told, "SIGUSR1")
    say("good", rank)
    c.fence()
    c.finalize()
"""


@rows([(f"-disable-auto-cleanup: {name}, {where}", options, die, dead, text, status)
       for where, options in PLACES for name, die, dead, text, status in (
    ("one is killed, the others hear of it and fence on", "rank == 2 and os.kill(os.getpid(), 9)",
     [2], "rank 2 has ended", 137),
    ("one aborts itself alone",
     "rank == 1 and (c.send(c.message('cmd=abort;isworld=FALSE;exitcode=3;')), time.sleep(60))",
     [1], "rank 1 has ended", 3),
    ("one exits inside PMI", "rank == 3 and os._exit(7)", [3], "rank 3 has ended", 7))])
def shrink(options, die, dead, text, status):
    r = run(*options, "-disable-auto-cleanup", "-n", 4, *py(SHRINK.format(die=die, dead=dead,
                                                                          text=text)))
    same((r.status, sorted(r.lines)), (status, [f"good {i}" for i in range(4) if i not in dead]),
         f"end of {r}")


@places("-disable-auto-cleanup: ranks that do not catch SIGUSR1 are not sent it")
def quiet(options):
    r = run(*options, "-disable-auto-cleanup", "-n", 4, *py("""
        c = Client(2)
        c.fence()
        if rank == 0:
            os.kill(os.getpid(), 9)
        need(c.ask("cmd=kvs-fence;")["rc"] == "14", "fence")
        time.sleep(0.2)
        c.fence()
        c.finalize()
        say("good")
    """))
    same((r.status, r.lines), (137, ["good"] * 3), f"end of {r}")


@places("-disable-auto-cleanup: a fence of the living, as a group")
def group(options):
    r = run(*options, "-disable-auto-cleanup", "-pmi1-groups", "-n", 4, *py("""
        c = Client(1)
        c.fence()
        if rank == 1:
            os.kill(os.getpid(), 9)
        while not c.get("PMI_dead_processes"):
            time.sleep(0.01)
        for i in range(3):
            need(c.ask("cmd=barrier_in group=%s:7" % c.get("PMI_alive_processes"))["rc"] == "0", i)
        c.finalize()
        say("good")
    """))
    same((r.status, r.lines), (137, ["good"] * 3), f"end of {r}")


# --- a host is lost ---------------------------------------------------------------------

LOST = """
    import signal
    told = []
    signal.signal(signal.SIGUSR1, lambda *a: told.append(rank))
    v = int(sys.argv[1])
    c = Client(v)
    fence = "cmd=barrier_in" if v == 1 else "cmd=kvs-fence;"
    c.put("a%d" % rank, "v")
    c.fence()
    say("up", rank, os.getppid())
    if rank in (1, 2):
        time.sleep(60)
    if {late}:
        while not c.get("PMI_dead_processes"):
            time.sleep(0.01)
    r = c.ask(fence)
    words = r.get("errmsg", r.get("msg", "")).replace("_", " ")
    need(r["rc"] == "14" and words == "ranks 1,2 have ended", r)
    c.put("b%d" % rank, "w")
    for i in range(3):
        c.fence()
    need([c.get("a%d" % i) for i in range(4)] == ["v"] * 4, "what was put before")
    need([c.get("b%d" % i) for i in range(4)] == ["w", None, None, "w"], "and after")
    need(c.get("PMI_dead_processes") == "1,2" and c.get("PMI_alive_processes") == "0,3", "lists")
    need(told, "SIGUSR1")
    say("good", rank)
    c.fence()
    c.finalize()
"""


@rows([(f"-disable-auto-cleanup: a host with two ranks is lost, {name}, PMI-{v}", late, v)
       for name, late in (("others wait in a fence", False), ("others fence later", True))
       for v in (1, 2)])
def host_lost(late, v):
    job = Job(*PLACES[1][1], "-disable-auto-cleanup", "-n", 4, *py(LOST.format(late=late), v))
    job.wait_text("up", 4)
    proxy = next(int(x.split()[2]) for x in job.text().decode().splitlines()
                 if x.startswith("up 1 "))
    os.kill(proxy, signal.SIGKILL)
    r = job.finish()
    same((r.status, sorted(x for x in r.lines if x[:2] != "up")), (255, ["good 0", "good 3"]),
         f"end of {r}")
    need(len(r.messages) == 1 and "b" in r.messages[0], "one message, of the host", repr(r))


# --- jobs that ranks start --------------------------------------------------------------

# The job that has lost a rank hears of it and goes on; the other does not notice.
PAIR = """
    import signal
    told = []
    signal.signal(signal.SIGUSR1, lambda *a: told.append(rank))
    c = Client(2)
    child = "PMI_SPAWNED" in os.environ
    fence = "cmd=kvs-fence;"
    if not child and rank == 0:
        r = c.ask("cmd=spawn;ncmds=1;preputcount=0;subcmd=%s;maxprocs=3;argc=0;"
                  "infokeycount={hosts};" % sys.argv[0])
        need(r["rc"] == "0", r)
    c.fence()
    if child == {child}:
        if rank == 1:
            {die}
        r = c.ask(fence)
        need(r["rc"] == "14" and r["errmsg"] == "rank 1 has ended", r)
        for i in range(3):
            c.fence()
        need(c.get("PMI_dead_processes") == "1" and c.get("PMI_alive_processes") == "0,2", "lists")
        need(told, "SIGUSR1")
        open(os.path.dirname(sys.argv[0]) + "/over", "w").close()
        c.fence()
    else:
        while not os.path.exists(os.path.dirname(sys.argv[0]) + "/over"):
            time.sleep(0.01)
        c.fence()
        need(c.get("PMI_dead_processes") is None, "none is dead")
        need(c.get("PMI_alive_processes") == "0,1,2", "all are alive")
        need(not told, "no SIGUSR1")
        c.fence()
    say("child" if child else "parent", rank)
    c.finalize()
"""


@rows([(f"-disable-auto-cleanup: of a {who}, one {name}: its own job hears of it, {where}",
        options, hosts, who == "child", die, status, who)
       for where, options, hosts in [(*place, 0) for place in PLACES] +
       [("a child on one of three hosts", PLACES[1][1], "1;infokey0=host;infoval0=b")]
       for who in ("parent", "child")
       for name, die, status in (("is killed", "os.kill(os.getpid(), 9)", 137),
                                 ("aborts itself alone", "c.send(c.message('cmd=abort;"
                                  "isworld=FALSE;exitcode=3;')); time.sleep(60)", 3))])
def pair(options, hosts, child, die, status, who):
    program = write_file(f"{tmp()}/both", f"#!{sys.executable} -SB\n" +
                         py(PAIR.format(child=child, die=die, hosts=hosts))[-1], 0o755)
    r = run(*options, "-disable-auto-cleanup", "-n", 3, program)
    same((r.status, sorted(r.lines)),
         (status, sorted(f"{x} {i}" for x in ("parent", "child") for i in range(3)
                         if x != who or i != 1)), f"end of {r}")
    need(len(r.messages) == 1 and "rank 1 on" in r.messages[0], "one message", repr(r))


# --- without the option -----------------------------------------------------------------

@places("PMI2_Abort of one process: the others end by themselves; the status is its code")
def alone(options):
    r = run(*options, "-n", 4, *py("""
        c = Client(2)
        c.fence()
        if rank == 1:
            c.send(c.message("cmd=abort;isworld=FALSE;exitcode=3;message=only me;"))
            time.sleep(60)
        while c.get("PMI_dead_processes") != "1":
            time.sleep(0.01)
        c.put("k%d" % rank, "v")
        need(c.get("k%d" % rank) == "v", "values")
        c.finalize()
        say("good", rank)
    """))
    same((r.status, sorted(r.lines)), (3, [f"good {i}" for i in (0, 2, 3)]), f"end of {r}")
    need(len(r.messages) == 1 and "only me" in r.messages[0], "one message", repr(r))


@places("PMI2_Abort of one process: a fence that misses it ends the job")
def alone_missed(options):
    r = run(*options, "-n", 4, *py("""
        c = Client(2)
        c.fence()
        if rank == 1:
            c.send(c.message("cmd=abort;isworld=FALSE;exitcode=3;message=only me;"))
            time.sleep(60)
        c.ask("cmd=kvs-fence;")
        say("the fence was answered")
        time.sleep(60)
    """))
    same((r.status, r.lines), (3, []), f"end of {r}")
    need("only me" in r.messages[0], "the cause comes first", repr(r))


main()

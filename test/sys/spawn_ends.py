#!/usr/bin/env -S python3 -B
"""How jobs that ranks start end, on one node and over hosts: who ends first, who ends with
whom, from outside, and what they leave behind."""

from spawnlib import *


# --- who ends first ----------------------------------------------------------------------

@cases([(f"the {first} ends first, PMI-{w}", first, w) for first in ("parent", "child")
        for w in (1, 2)])
def ends_first(where, first, w):
    child = script("child", f"""
        c = Client({w})
        if {first!r} == "parent":
            parent, = await_file("parent-pid")
            until(lambda: not exists(parent), "the parent's end")
            time.sleep(0.3)
        c.fence()
        c.finalize()
        say("child", rank)
        if rank == 0:
            touch("child-pid")
    """)
    parent = script("parent", f"""
        c = Client({w})
        started(c, command({child!r}, n=2))
        touch("parent-pid")
        if {first!r} == "child":
            child, = await_file("child-pid")
            until(lambda: not exists(child), "the child's end")
            time.sleep(0.3)
        c.fence()
        say("parent")
        c.finalize()
    """)
    r = quiet(run(*where, "-n", 1, parent))
    same(sorted(r.lines), ["child 0", "child 1", "parent"], "all were waited for")
    same(r.lines[0 if first == "parent" else -1], "parent", "order")


@case("a spawn of programs without PMI that end at once, and of such as close their streams")
def brief(where):
    parent = script("parent", """
        c = Client(2)
        for i in range(5):
            started(c, command("true", n=3), command("sh", "-c", "exec >&- 2>&-; sleep 0.2"))
        c.finalize()
    """)
    quiet(run(*where, "-n", 1, parent))


@case("-pmi-port: children get theirs, too")
def port(where):
    child = script("child", """
        need("PMI_FD" not in os.environ and os.environ["PMI_SPAWNED"] == "1", "variables")
        c = Client(1 + int(os.environ["PMI_ID"]) % 2)
        c.put("of-%s" % os.environ["PMI_ID"], "v")
        c.fence()
        need(c.get("PARENT_ROOT_PORT_NAME") == PORT and c.get("of-1") == "v", "values")
        say("child", os.environ["PMI_ID"])
        c.finalize()
    """)
    parent = script("parent", f"""
        c = Client(1)
        if rank == 0:
            started(c, command({child!r}, n=3), preput={{"PARENT_ROOT_PORT_NAME": PORT}})
        c.fence()
        c.finalize()
    """)
    lines_are(quiet(run(*where, "-pmi-port", "-n", 2, parent)), "child 0", "child 1", "child 2")


@cases([(f"a parent that {name} while its spawn is under way", how, status) for
        name, how, status in (("takes leave", "os._exit(0)", None), ("is killed",
        "os.kill(os.getpid(), 9)", 137), ("aborts", 'c.send(c.message("cmd=abort;isworld=TRUE;'
        'exitcode=6;msg=;")); time.sleep(20)', 6))])
def in_the_middle(where, how, status):
    parent = script("parent", f"""
        c = Client(2)
        c.fence()
        send_spawn(c, command("sh", "-c", "echo child", n=6))
        {'c.send(c.message("cmd=finalize;"))' if status is None else ""}
        {how}
    """)
    r = run(*where, "-n", 2, parent)
    same(r.status, status or 0, f"status of {r}")


@case("a rank of a spawned job ends before init, another waits for it in a fence")
def stuck(where):
    child = script("child", """
        if rank == 1:
            sys.exit(5)
        c = Client(2)
        c.fence()
    """)
    parent = script("parent", f"""
        c = Client(2)
        started(c, command({child!r}, n=3))
        time.sleep(30)
    """)
    r = run(*where, "-n", 1, parent, limit=20)
    same(r.status, 5, f"status of {r}")
    need(r.messages[0].startswith("mpiexec_lite: job 1: rank 1 on "), "message", repr(r))


@test("the host of a spawned job is lost: all end, with a message")
def host_lost():
    child = script("child", "touch('child-pid')\ntime.sleep(60)")
    parent = script("parent", f"""
        c = Client(2)
        if rank == 0:
            started(c, command({child!r}, n=2, host="h2"))
        time.sleep(60)
    """)
    job = Job(*HOSTS, "-n", 2, parent)
    pid = int(wait_for(lambda: os.path.exists(f"{tmp()}/child-pid") and
                       open(f"{tmp()}/child-pid").read().split() or None, "a child")[0])
    os.kill(stat(pid)[1], signal.SIGKILL)
    r = job.finish(20)
    same(r.status, 255, f"status of {r}")
    need("h2" in r.messages[0], "message", repr(r))


@test("-disable-auto-cleanup: a spawn on a host that was lost is refused, others are not")
def spawn_on_lost():
    child = script("child", "touch('child-pid')\ntime.sleep(60)")
    parent = script("parent", f"""
        c = Client(2)
        started(c, command({child!r}, n=2, host="h2"))
        await_file("lost")
        r = spawn(c, command("true", n=2), command("true", n=1, host="h2"))
        need(r["rc"] != "0" and r["errcodes"].endswith(",113"), "refused", r)
        started(c, command("sh", "-c", "echo child", n=2, host="h1"))
        c.finalize()
    """)
    job = Job(*HOSTS, "-disable-auto-cleanup", "-n", 1, parent)
    pid = int(wait_for(lambda: os.path.exists(f"{tmp()}/child-pid") and
                       open(f"{tmp()}/child-pid").read().split() or None, "a child")[0])
    os.kill(stat(pid)[1], signal.SIGKILL)
    wait_for(lambda: b"h2" in job.error_text(), "the loss is seen")
    write_file(f"{tmp()}/lost", "1\n")
    r = job.finish(20)
    same((r.status, r.lines), (255, ["child"] * 2), f"end of {r}")


# --- how jobs end -------------------------------------------------------------------------

@cases([(f"rank 1 of a spawned job {name}: the connected parent ends, too", how, status, text)
        for name, how, status, text in WAYS])
def child_fails(where, how, status, text):
    child = script("child", CHILD_FAILS.format(how=how, sleep=30))
    parent = script("parent", PARENT_WAITS.format(child=child, apart=False, then="time.sleep(30)"))
    r = run(*where, "-n", 2, parent, limit=20)
    same(r.status, status, f"status of {r}")
    need(r.messages and re.search(r"^mpiexec_lite: job 1: rank 1 on .*" + text, r.messages[0]),
         "the first message says job, rank and why", repr(r))
    need(len(r.messages) <= 3, "few messages", repr(r))


@cases([(f"rank 1 of a job that was disconnected {name}: the parent lives on", how, status, text)
        for name, how, status, text in WAYS])
def stranger_fails(where, how, status, text):
    child = script("child", CHILD_FAILS.format(how=how, sleep=30))
    parent = script("parent", PARENT_WAITS.format(child=child, apart=True, then="""
    if rank == 0:
        pids = await_file("child-pid", 2)
        until(lambda: not any(map(exists, pids)), "the child's end")
        time.sleep(0.5)
    c.fence()
    say("parent", rank)
    c.finalize()
"""))
    r = run(*where, "-n", 2, parent, limit=30)
    same((r.status, sorted(r.lines)), (status, ["parent 0", "parent 1"]), f"end of {r}")
    need(re.search("job 1: rank 1 on .*" + text, r.messages[0]), "message", repr(r))


@case("the main job and one that was disconnected fail: the status is the main job's")
def main_fails(where):
    child = script("child", CHILD_FAILS.format(how=WAYS[0][1], sleep=30))
    parent = script("parent", PARENT_WAITS.format(child=child, apart=True, then="""
    if rank == 0:
        pids = await_file("child-pid", 2)
        until(lambda: not any(map(exists, pids)), "the child's end")
        time.sleep(0.5)
        os._exit(7)
    c.fence()
"""))
    r = run(*where, "-n", 2, parent, limit=30)
    same(r.status, 7, f"status of {r}")


@case("two disconnected jobs fail, the main job does not: the status is that of the first")
def others_fail(where):
    child = script("child", """
        c = Client(2)
        touch("pid-" + sys.argv[1])
        await_file("apart")
        if sys.argv[1] == "8":
            first, = await_file("pid-9")
            until(lambda: not exists(first), "the end of the other")
            time.sleep(0.5)
        os._exit(int(sys.argv[1]))
    """)
    parent = script("parent", f"""
        c = Client(2)
        for i in 8, 9:
            job = started(c, command({child!r}, i))
            need(c.ask("cmd=job-disconnect;jobid=%s;" % job)["rc"] == "0", "disconnect")
        touch("apart")
        c.finalize()
    """)
    r = run(*where, "-n", 1, parent, limit=30)
    same(r.status, 9, f"status of {r}")


@cases([(f"rank 0 of the parent {name}: its children end, too", how, status, text)
        for name, how, status, text in WAYS])
def parent_fails(where, how, status, text):
    child = script("child", """
        c = Client(2)
        touch("child-pid")
        c.fence()
        time.sleep(30)
    """)
    parent = script("parent", PARENT_WAITS.format(child=child, apart=False, then=f"""
    if rank == 0:
        await_file("child-pid", 2)
        {how}
    time.sleep(30)
"""))
    r = run(*where, "-n", 2, parent, limit=20)
    same(r.status, status, f"status of {r}")
    need(re.search("^mpiexec_lite: rank 0 on .*" + text, r.messages[0]), "message", repr(r))


@case("a parent that was disconnected aborts: the child lives on, the status is the parent's")
def stranger_parent(where):
    child = script("child", """
        c = Client(2)
        touch("child-pid")
        c.fence()
        parent, = await_file("parent-pid")
        until(lambda: not exists(parent), "the parent's end")
        time.sleep(0.5)
        c.fence()
        say("child", rank)
        c.finalize()
    """)
    parent = script("parent", PARENT_WAITS.format(child=child, apart=True, then="""
    if rank == 0:
        await_file("child-pid", 2)
        touch("parent-pid")
        c.send(c.message("cmd=abort;isworld=TRUE;exitcode=5;msg=;"))
    time.sleep(30)
"""))
    r = run(*where, "-n", 2, parent, limit=30)
    same((r.status, sorted(r.lines)), (5, ["child 0", "child 1"]), f"end of {r}")


@case("a grandchild aborts: all three jobs end, as connections are transitive")
def grandchild(where):
    last = script("last", CHILD_FAILS.format(how=WAYS[0][1], sleep=30))
    child = script("child", PARENT_WAITS.format(child=last, apart=False, then="time.sleep(30)"))
    parent = script("parent", PARENT_WAITS.format(child=child, apart=False, then="time.sleep(30)"))
    r = run(*where, "-n", 2, parent, limit=20)
    same(r.status, 42, f"status of {r}")
    need(re.search("^mpiexec_lite: job [23]: rank 1 on .*no more", r.messages[0]), "message",
         repr(r))


@cases([(f"exit statuses without a failure: parent {p}, child {k}", p, k, s)
        for p, k, s in ((0, 3, 3), (4, 0, 4), (0, 0, 0))])
def statuses(where, p, k, s):
    parent = script("parent", f"""
        c = Client(2)
        started(c, command("sh", "-c", "exit {k}", n=2))
        time.sleep(0.3)
        c.finalize()
        os._exit({p})
    """)
    same(run(*where, "-n", 1, parent).status, s, "status")


@case("-disable-auto-cleanup: a child is killed, all others run on, the status is its")
def keep_going(where):
    child = script("child", CHILD_FAILS.format(how=WAYS[1][1], sleep=0.5))
    parent = script("parent", PARENT_WAITS.format(child=child, apart=False, then="""
    time.sleep(1)
    c.fence()
    say("parent", rank)
    c.finalize()
"""))
    r = run(*where, "-disable-auto-cleanup", "-n", 2, parent, limit=30)
    same((r.status, sorted(r.lines)), (137, ["child 0", "parent 0", "parent 1"]), f"end of {r}")


@cases([(f"{name} ends all jobs, connected or not", name, status) for name, status in
        (("SIGTERM", 143), ("SIGINT", 130), ("SIGHUP", 129), ("-timeout", 124),
         ("SIGINT twice", 130))])
def from_outside(where, name, status):
    parent = script("parent", ENDLESS.format(chore=CHORE))
    limit = ["-timeout", 2] if name == "-timeout" else []
    job = Job(*where, *limit, "-n", 2, parent)
    if limit:
        same(job.finish().status, status, "status")
        return
    job.wait_text("ready", 12)
    for _ in range(2 if "twice" in name else 1):
        job.kill(getattr(signal, name.split()[0]))
        time.sleep(0.2)
    r = job.finish()
    same(r.status, status, f"status of {r}")


@cases([(f"the launcher's {whom} SIGKILLed: nothing of spawned jobs stays", whom)
        for whom in ("front", "root")])
def launcher_killed(where, whom):
    parent = script("parent", ENDLESS.format(chore=CHORE))
    job = Job(*where, "-n", 2, parent)
    job.wait_text("ready", 12)
    os.kill(job.root() if whom == "root" else job.pid, signal.SIGKILL)
    job.popen.wait(LIMIT)
    nothing_left(job.mark)


@case("SIGUSR1 reaches the ranks of spawned jobs")
def usr1(where):
    parent = script("parent", f"""
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        c = Client(2)
        started(c, command({CHORE!r}, "show", n=3))
        time.sleep(60)
    """)
    job = Job(*where, "-n", 1, parent)
    job.wait_text("ready", 3)
    job.kill(signal.SIGUSR1)
    job.wait_text("got USR1", 3)
    job.kill(signal.SIGTERM)
    same(job.finish().status, 143, "status")


# --- what ranks leave behind ---------------------------------------------------------------

def daemons(mark):
    """Processes of chore whose parent has ended."""
    return [p for p in left(mark) if b"daemon" in proc_bytes(p, "cmdline") and
            b"chore" in proc_bytes(p, "cmdline")]


def jobid_of(pid):
    return next(x for x in proc_bytes(pid, "environ").split(b"\0") if x.startswith(b"PMI_JOBID="))


@case("a daemon of a spawned job goes with it, that of the main job does not")
def daemon_goes(where):
    parent = script("parent", f"""
        import subprocess
        c = Client(2)
        if rank == 0:
            subprocess.run([{CHORE!r}, "daemon-exit"], stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
            started(c, command({CHORE!r}, "daemon-exit", n=3))
        c.fence()
        await_file("enough")
        c.fence()
        c.finalize()
    """)
    job = Job(*where, "-n", 2, parent)
    job.wait_text("ready", 3)
    wait_for(lambda: len(daemons(job.mark)) == 1, "the daemons of the job are gone", 15)
    time.sleep(0.5)
    mine = daemons(job.mark)
    same(len(mine), 1, "daemons")
    need(b"." not in jobid_of(mine[0]), "it is the main job's", jobid_of(mine[0]))
    write_file(f"{tmp()}/enough", "1\n")
    quiet(job.finish())


@case("a daemon of a spawned job that holds no output is gone at the end at the latest")
def silent_daemon(where):
    parent = script("parent", f"""
        c = Client(2)
        started(c, command("sh", "-c", "setsid sh -c 'trap : TERM; sleep 100; sleep 100' "
                           "</dev/null >/dev/null 2>&1 & exit 0", n=3))
        time.sleep(0.5)
        c.finalize()
    """)
    quiet(run(*where, "-n", 1, parent))


@case("a spawned job that fails leaves the daemons of the main job alone")
def daemon_fails(where):
    child = script("child", f"""
        import subprocess
        c = Client(2)
        subprocess.run([{CHORE!r}, "daemon-exit"], stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        c.fence()
        await_file("go")
        os._exit(3)
    """)
    parent = script("parent", f"""
        import subprocess
        c = Client(2)
        subprocess.run([{CHORE!r}, "daemon-exit"], stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        job = started(c, command({child!r}, n=3))
        need(c.ask("cmd=job-disconnect;jobid=%s;" % job)["rc"] == "0", "disconnect")
        say("started")
        await_file("enough")
        c.finalize()
    """)
    job = Job(*where, "-n", 1, parent)
    job.wait_text("started")
    wait_for(lambda: len(daemons(job.mark)) == 4, "four daemons")
    children = [p for p in left(job.mark) if b"child\0" in proc_bytes(p, "cmdline")]
    write_file(f"{tmp()}/go", "1\n")
    wait_for(lambda: not any(map(alive, children)), "the children's end")
    time.sleep(1)
    comment(f"daemons that hold no output, after their job has failed: {len(daemons(job.mark)) - 1}")
    need(any(b"." not in jobid_of(p) for p in daemons(job.mark)), "the main job's lives")
    write_file(f"{tmp()}/enough", "1\n")
    same(job.finish().status, 3, "status")


main()

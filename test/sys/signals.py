#!/usr/bin/env -S python3 -B
"""Signals to the launcher, from kill and from a terminal's keys.

chore show prints "got NAME" for each signal; it ends by SIGKILL only."""

from lib import *

CHORE = prog("chore")
SHOW = ["-n", 2, CHORE, "show"]
SH = ("/bin/sh", "-c")


def showing(*words, n=2, **more):
    job = Job(*(words or SHOW), **more)
    job.wait_text("ready", n)
    return job


def ended_by(r, signo):
    """By the signal itself, so that a shell sees it."""
    same(r.raw, -signo, f"wait status of {r}")


def got(r):
    return [x for x in r.lines if x.startswith("got ")]


# --- ending ----------------------------------------------------------------------

@test("SIGINT once: forwarded at once, then TERM, then KILL; ended by SIGINT")
def interrupt():
    job = showing()
    job.kill(signal.SIGINT)
    job.wait_text("got INT", 2)
    r = job.finish()
    ended_by(r, signal.SIGINT)
    same(sorted(got(r)), ["got INT"] * 2 + ["got TERM"] * 2, "what ranks got")


@test("SIGINT twice: KILL at once")
def interrupt_twice():
    job = showing()
    job.kill(signal.SIGINT)
    job.wait_text("got INT", 2)
    job.kill(signal.SIGINT)
    r = job.finish()
    ended_by(r, signal.SIGINT)
    same(got(r), ["got INT"] * 2, "what ranks got")


@test("SIGINT, and ranks that clean up: what they say is shown, 130 all the same")
def interrupt_handled():
    job = Job("-n", 2, *SH, "trap 'echo bye; exit 3' INT; echo ready; while :; do sleep 0.1; done")
    job.wait_text("ready", 2)
    job.kill(signal.SIGINT)
    r = job.finish()
    ended_by(r, signal.SIGINT)
    same(r.lines.count("bye"), 2, f"last words in {r}")


@rows([("SIGTERM: ranks get it; ended by SIGTERM", "show"),
       ("SIGTERM, and ranks that ignore it", "ignore")])
def terminate(mode):
    job = showing("-n", 3, CHORE, mode, n=3)
    job.kill(signal.SIGTERM)
    r = job.finish()
    ended_by(r, signal.SIGTERM)
    same(got(r), ["got TERM"] * 3 if mode == "show" else [], "what ranks got")


@test("SIGHUP: forwarded as it is, then TERM, then KILL; ended by SIGHUP")
def hangup():
    job = showing()
    job.kill(signal.SIGHUP)
    r = job.finish()
    ended_by(r, signal.SIGHUP)
    same(sorted(got(r)), ["got HUP"] * 2 + ["got TERM"] * 2, "what ranks got")


@test("SIGTERM while the ranks are in PMI: one answer, no message about ranks")
def terminate_pmi():
    job = Job("-n", 4, *py("c = Client(2); c.fence(); say('ready'); time.sleep(60)"))
    job.wait_text("ready", 4)
    job.kill(signal.SIGTERM)
    r = job.finish()
    ended_by(r, signal.SIGTERM)
    need(len(r.messages) <= 1, "at most a line", repr(r))


@test("SIGTERM right after the start, at any moment of it")
def terminate_early():
    for i in range(12):
        job = Job("-n", 20, "sleep", 60)
        time.sleep(0.002 * i)
        job.kill(signal.SIGTERM)
        ended_by(job.finish(), signal.SIGTERM)


@rows([("a SIGHUP that was ignored at the start (nohup) is ignored", signal.SIGHUP),
       ("so is SIGINT (what a script puts in the background)", signal.SIGINT)])
def ignored(signo):
    job = Job(*SHOW, prefix=["sh", "-c", f'trap "" {int(signo)}; exec "$@"', "x"])
    job.wait_text("ready", 2)
    job.kill(signo)
    time.sleep(0.3)
    need(job.popen.poll() is None, "the launcher lives on", job.error_text())
    job.kill(signal.SIGTERM)
    ended_by(job.finish(), signal.SIGTERM)


# --- forwarding --------------------------------------------------------------------

@rows([(f"SIG{name} is forwarded, and the job goes on", name) for name in
       ("USR1", "USR2", "ALRM")])
def forwarded(name):
    job = showing()
    for i in (2, 4):
        job.kill(getattr(signal, "SIG" + name))
        job.wait_text("got " + name, i)
    job.kill(signal.SIGTERM)
    r = job.finish()
    ended_by(r, signal.SIGTERM)
    same(sorted(set(got(r))), sorted(["got " + name, "got TERM"]), "what ranks got")


@test("SIGQUIT: a report of every rank's state; the job goes on")
def quit_report():
    job = Job("-n", 1, *py("""
        c = Client(2)
        if rank == 0:
            say("ready")
        c.fence()
        c.finalize()
        if rank == 0:
            time.sleep(1)
    """), ":", "-n", 1, *py("""
        time.sleep(0.1)
        say("ready")
        sys.stdin.read()
        while not os.path.exists(sys.argv[1]):
            time.sleep(0.02)
        c = Client(2)
        c.fence()
        c.finalize()
    """, tmp() + "/go"))
    job.wait_text("ready", 2)
    time.sleep(0.2)
    job.kill(signal.SIGQUIT)
    wait_for(lambda: b"rank 1" in job.error_text(), "a report")
    text = job.error_text().decode().splitlines()
    need(any("rank 0 " in x and "waits in kvs-fence" in x for x in text), "rank 0 waits", text)
    need(any("rank 1 " in x and "not used PMI" in x for x in text), "rank 1 has no PMI", text)
    need(all(x.startswith("mpiexec_lite: ") for x in text), "each line is the launcher's", text)
    write_file(tmp() + "/go", "")
    r = job.finish()
    same((r.status, got(r)), (0, []), f"end of {r}")


@test("ranks see the signal mask and dispositions of who started the launcher")
def dispositions():
    look = ["-n", 2, "grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"]
    def signals(r):
        """Without 32 and 33, glibc's own, which posix_spawn may leave ignored."""
        return {(w, int(x, 16) & ~(3 << 31)) for w, x in (line.split(":\t") for line in r.lines)}

    r = good(*look)
    same(signals(r), {("SigBlk", 0), ("SigIgn", 0)}, "signals")
    r = good(*look, prefix=["sh", "-c", 'trap "" HUP USR1 PIPE; exec "$@"', "x"])
    bits = sum(1 << (s - 1) for s in (signal.SIGHUP, signal.SIGUSR1, signal.SIGPIPE))
    same(signals(r), {("SigBlk", 0), ("SigIgn", bits)}, "ignored signals")


# --- stop and continue -----------------------------------------------------------------

def ranks(mark, word):
    word = word.encode()
    return [p for p in left(mark) if word in proc_bytes(p, "cmdline").split(b"\0")
            and b"mpiexec_lite" not in proc_bytes(p, "cmdline")]


def states(processes):
    return {stat(p)[0] for p in processes}


COUNT = py("""
    c = Client(2)
    say("ready")
    for i in range(int(sys.argv[1])):
        c.put("k-%d-%d" % (rank, i), str(i))
        c.fence()
        need(c.get("k-%d-%d" % ((rank + 1) % size, i)) == str(i), "value", i)
        time.sleep(0.01)
    c.finalize()
    say("good")
""", 60)


@test("SIGTSTP stops the ranks, then the launcher; SIGCONT goes on with all, job intact")
def stop():
    job = Job("-n", 3, *COUNT)
    job.wait_text("ready", 3)
    mine = ranks(job.mark, "60")
    same(len(mine), 3, "ranks found")
    job.kill(signal.SIGTSTP)
    wait_for(lambda: states(mine) == {"T"}, f"all ranks stopped ({states(mine)})")
    wait_for(lambda: stat(job.pid)[0] == "T", "the launcher stopped")
    time.sleep(0.2)
    same(states(mine), {"T"}, "states a moment later")
    job.kill(signal.SIGCONT)
    r = job.finish()
    same((r.status, r.lines), (0, ["ready"] * 3 + ["good"] * 3), f"end of {r}")


@test("stopped, continued, twice; and ended while stopped")
def stop_again():
    job = showing()
    mine = ranks(job.mark, "show")
    for i in (1, 2):
        job.kill(signal.SIGTSTP)
        wait_for(lambda: states(mine) == {"T"} and stat(job.pid)[0] == "T", "all stopped")
        job.kill(signal.SIGCONT)
        job.wait_text("got CONT", 2 * i)
    job.kill(signal.SIGTSTP)
    wait_for(lambda: states(mine) == {"T"} and stat(job.pid)[0] == "T", "all stopped")
    job.kill(signal.SIGTERM)
    job.kill(signal.SIGCONT)
    ended_by(job.finish(), signal.SIGTERM)


# --- keys of a terminal -----------------------------------------------------------------

def shell():
    t = Terminal(["bash", "--norc", "--noprofile", "-i"], {"PS1": "ready> "})
    return t, t.wait_text("ready> ")


def leave(t, at):
    t.type("exit 0\n")
    same(t.finish(), 0, "status of the shell")
    nothing_left(t.mark)


@test("Ctrl-C: each rank gets one SIGINT; the shell says 130")
def ctrl_c():
    t, at = shell()
    t.type(f"{LAUNCHER} -n 2 {CHORE} show\n")
    at = t.wait_text("ready\r\nready\r\n", at)
    t.type("\x03")
    before, at = at, t.wait_text("ready> ", at)
    same(t.seen[before:at].count(b"got INT"), 2, f"number of INTs in {t.seen[before:at]}")
    t.type("echo status $?\n")
    at = t.wait_text("status 130", at)
    leave(t, t.wait_text("ready> ", at))


@test("Ctrl-C ends a loop of a shell script around the launcher")
def ctrl_c_loop():
    t, at = shell()
    script = write_file(tmp() + "/loop", f"for i in 1 2 3; do echo round-$i; "
                        f"{LAUNCHER} -n 2 sleep 60; done; echo all-done\n")
    t.type(f"bash {script}\n")
    at = t.wait_text("round-1", at)
    wait_for(lambda: len(ranks(t.mark, "60")) == 2, "two ranks")
    t.type("\x03")
    before, at = at, t.wait_text("ready> ", at)
    need(b"round-2" not in t.seen[before:at] and b"all-done" not in t.seen[before:at],
         "the loop ended", t.seen)
    leave(t, at)


@test("Ctrl-Z and fg: ranks stop and go on, the shell has its prompt between")
def ctrl_z():
    t, at = shell()
    t.type(f"{LAUNCHER} -n 2 {CHORE} show\n")
    at = t.wait_text("ready\r\nready\r\n", at)
    mine = ranks(t.mark, "show")
    t.type("\x1a")
    at = t.wait_text("ready> ", at)
    wait_for(lambda: states(mine) == {"T"}, "stopped ranks")    # a stop takes its moment
    t.type("jobs; echo listed-$((1 + 1))\n")
    before, at = at, t.wait_text("listed-2", at)
    need(b"Stopped" in t.seen[before:at], "the shell calls it stopped", t.seen)
    t.type("fg\n")
    at = t.wait_text("got CONT", at)
    at = t.wait_text("got CONT", at)
    need("T" not in states(mine), "ranks run again", states(mine))
    t.type("\x03\x03")
    at = t.wait_text("ready> ", at)
    leave(t, at)


@test("Ctrl-Z with no shell above: nothing stops, the job goes on")
def ctrl_z_alone():
    t = Terminal([LAUNCHER, "-n", "1", *SH, "echo ready; read x; echo got $x"])
    at = t.wait_text("ready\r\n")
    t.type("\x1a")
    time.sleep(0.2)                      # nothing is to happen: there is no event for it
    t.type("on\n")
    t.wait_text("got on", at)
    same(t.finish(), 0, "status")


@test("Ctrl-\\: a report, and the job goes on")
def ctrl_backslash():
    t = Terminal([LAUNCHER, "-n", 2, CHORE, "show"])
    at = t.wait_text("ready\r\nready\r\n")
    t.type("\x1c")
    at = t.wait_text("ranks 0-1 on " + HOST, at)
    need(t.popen.poll() is None and b"got QUIT" not in t.seen, "it goes on", t.seen)
    t.type("\x03")
    at = t.wait_text("got INT", at)
    t.type("\x03")
    same(t.finish(), -signal.SIGINT, "wait status")
    nothing_left(t.mark)


@test("the terminal goes away: nothing stays")
def terminal_gone():
    t = Terminal([LAUNCHER, "-n", 2, CHORE, "ignore"])
    t.wait_text("ready\r\nready\r\n")
    os.close(t.fd)
    t.popen.wait(LIMIT)
    nothing_left(t.mark)


main(4)

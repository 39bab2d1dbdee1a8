"""Run inside gdb (mpir.py): a parallel debugger that knows MPIR only.

Reads what it needs by symbol and offset, as the launcher is stripped.  Every word it prints of
its own is a line of JSON behind "MPIR "."""

import json
import os
import struct
import time

import gdb                                              # noqa: pylint: disable=import-error

FLAG = "*(int*)&MPIR_being_debugged"


def number(name, kind="int"):
    return int(gdb.parse_and_eval(f"*({kind}*)&{name}"))


def text(at):
    out = b""
    while at and (c := bytes(gdb.selected_inferior().read_memory(at, 1))) != b"\0":
        out, at = out + c, at + 1
    return out.decode()


def status(pid):
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as f:
            lines = dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)
        return lines["State"][0], int(lines["TracerPid"]), os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return "gone", 0, ""


def settled(pid):
    """One that is held is seen running for a moment, on its way to its stop."""
    until = time.monotonic() + 5
    while (now := status(pid))[0] == "R" and time.monotonic() < until:
        time.sleep(0.01)
    return now


def table():
    at, out = number("MPIR_proctable", "long"), []
    for i in range(number("MPIR_proctable_size")):
        raw = bytes(gdb.selected_inferior().read_memory(at + 24 * i, 24))
        host, program, pid = struct.unpack("<QQi4x", raw)
        out.append({"host": text(host), "program": text(program), "pid": pid,
                    "now": settled(pid)})
    return out


def say(**what):
    print("MPIR " + json.dumps(what), flush=True)


def see(where, ours=True):
    """ours: with what not every launcher has."""
    more = {"jobid": text(number("totalview_jobid", "long")),
            "abort": text(number("MPIR_debug_abort_string", "long"))} if ours else {}
    say(where=where, pid=gdb.selected_inferior().pid, state=number("MPIR_debug_state"), table=table(), **more)


def prepare():
    for line in ("set pagination off", "set confirm off", "set debuginfod enabled off",
                 "set follow-fork-mode parent", "set detach-on-fork on",
                 "handle SIGCHLD SIGUSR1 SIGUSR2 SIGCONT nostop noprint pass"):
        gdb.execute(line)


def launch(*daemons, library=None):
    """Up to the breakpoint.  library: symbols are there once it is loaded."""
    gdb.execute("starti")
    if library:
        gdb.execute(f"catch load {library}")
        gdb.execute("continue")
    if daemons:
        want_daemons(*daemons)
    gdb.execute(f"set {FLAG} = 1")
    gdb.execute("break MPIR_Breakpoint")
    gdb.execute("continue")


def write(name, data):
    """Into an array of characters."""
    at = int(gdb.parse_and_eval(f"(long)&{name}"))
    gdb.selected_inferior().write_memory(at, data + b"\0")


def want_daemons(program, *args):
    write("MPIR_executable_path", program.encode())
    write("MPIR_server_arguments", b"".join(x.encode() + b"\0" for x in args))


def fifo():
    """Ask for them, of a launcher that runs."""
    path = text(int(gdb.parse_and_eval("(long)&MPIR_attach_fifo")))
    with open(path, "wb", buffering=0) as f:
        f.write(b"\1")


def await_file(path):
    """Stay here, with the launcher stopped."""
    while not os.path.exists(path):
        time.sleep(0.02)


def alive():
    return bool(gdb.selected_inferior().pid)

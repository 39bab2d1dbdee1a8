"""munged.py - real munge daemons for tests of logins, and what a thief may do with them.

    with munges(bed) as sock:                # the path of a munged's socket, for all nodes
        foreign = munged(bed, "foreign", key="key2")         # of another realm
        credential(bed, sock, b"payload", user="tester", restrict=0)
"""

import contextlib
import ctypes
import os
import shutil
import subprocess

import lib
from lib import need

FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1"
MISSING = [t for t in ("munged", "munge", "unmunge") if not shutil.which(t)]


def munged(bed, name, key="key", clock=None):
    """Start a munged for all nodes; the path of its socket.  Call inside munges()."""
    folder = bed.path("munge")
    os.makedirs(folder, exist_ok=True)
    os.chmod(folder, 0o711)
    at = os.path.join(folder, name)
    with contextlib.suppress(FileExistsError):
        fd = os.open(f"{folder}/{key}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        os.write(fd, os.urandom(128))
        os.close(fd)
    env = {**os.environ}
    if clock:
        env.update(LD_PRELOAD=FAKETIME, FAKETIME=clock, FAKETIME_DONT_FAKE_MONOTONIC="1")
    # It ends with this process, however that ends.
    _munged[at] = subprocess.Popen(
        ["setpriv", "--pdeathsig", "KILL", "munged", "--foreground", f"--key-file={folder}/{key}",
         f"--socket={at}", f"--pid-file={at}.pid", f"--log-file={at}.log",
         f"--seed-file={at}.seed", "--num-threads=2"], env=env, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    lib.wait_for(lambda: subprocess.run(["munge", "-n", "-S", at], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL).returncode == 0 or
                 need(_munged[at].poll() is None, "munged runs"), "munged to answer", 10)
    return at


_munged = {}                       # by path of the socket


def pid_of(socket_path):
    return _munged[socket_path].pid


@contextlib.contextmanager
def munges(bed):
    """The usual munged; all of the bed are gone afterwards."""
    folder = bed.path("munge")
    try:
        yield munged(bed, "sock")
    finally:
        for path in [p for p in _munged if os.path.dirname(p) == folder]:
            process = _munged.pop(path)
            process.kill()
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def credential(bed, path, payload, user="root", restrict=None, ttl=60):
    words = ["munge", "-S", path, f"--ttl={ttl}", "--cipher=aes128", "--mac=sha256"]
    words += [f"--restrict-uid={restrict}"] if restrict is not None else []
    if user != "root":
        uid = str(bed.uid[user])
        words = ["setpriv", "--reuid", uid, "--regid", uid, "--clear-groups", *words]
    r = subprocess.run(words, input=payload, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    need(r.returncode == 0, "a credential", r)
    return r.stdout.strip()


@contextlib.contextmanager
def inside(bed, node):
    """This thread is in the network of a node."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open("/proc/thread-self/ns/net", "rb") as mine, \
            open(f"/proc/{bed.nodes[node].init}/ns/net", "rb") as its:
        need(libc.setns(its.fileno(), 0x40000000) == 0, "setns")
        try:
            yield
        finally:
            libc.setns(mine.fileno(), 0x40000000)

#!/usr/bin/env -S python3 -B
"""bed.py - several hosts on this machine, to try a launcher and its faults on.

    reason = usable()                      # None, or why it cannot be had here
    with Bed(8) as bed:
        r = bed.run(0, ["ssh", "node3", "hostname"])        # inside node0
        r.returncode, r.stdout, r.stderr
        job = bed.popen(0, [...]); job.wait_text("ready"); job.kill(signal.SIGINT)
        bed.processes(3)                   # all of node3 but its init and sshd
        bed.link_down(3)                   # see "faults" below

A node is a set of namespaces (network, UTS, IPC, PID, mount) with an address of its
own on a bridge, which has a network namespace to itself; no route leads out.  Its
processes see its own /tmp, /var/tmp, /dev/shm and /run, and bed's own /etc/hosts,
passwd, shadow, group, nsswitch.conf and ssh_config; all other files are those of the
machine, so that a path means the same on all nodes.  The machine itself is not
changed: no user, no named namespace, no file outside bed.dir, a temporary folder
that all nodes and users see.

node0 is where launchers run.  Every node has an sshd.  The users exist in the bed only:

    root     bash      key on all nodes        tester   sh        key on all nodes
    csher    csh       key on all nodes        fisher   fish      key on all nodes
    leafless sh        key on node0 only: its nodes cannot ssh on
    keyless  sh        no key

Their homes are bed.home(user), empty at first.  Pids are those that this process sees.
A namespace lives as long as its first process, which ends with its stdin, a pipe from
here: of a bed whose owner was killed only the folder stays.
"""

import atexit
import collections
import contextlib
import ctypes
import json
import os
import selectors
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

os.environ["PATH"] += ":/usr/sbin:/sbin"
TOOLS = ("ip", "bridge", "tc", "ss", "unshare", "nsenter", "setpriv", "mount", "ssh", "sshd",
         "ssh-keygen", "nft", "csh", "fish")
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIMIT = 45

# name: (shell, where its key is)
USERS = {"root": ("/bin/bash", "all"), "tester": ("/bin/sh", "all"), "csher": ("/bin/csh", "all"),
         "fisher": ("/usr/bin/fish", "all"), "leafless": ("/bin/sh", "node0"),
         "keyless": ("/bin/sh", "none")}

# The first process of a node.  What follows `exec` reaps orphans (the kernel does, for
# who ignores SIGCHLD) and ends when its stdin does.
FIRST = r"""
set -e
echo "$1" >/proc/sys/kernel/hostname
cd "$2"
shift 2
exec 8<.
kept=()
for keep; do exec {fd}<"$keep"; kept+=($fd); done
for folder in /tmp /var/tmp; do mount -t tmpfs -o mode=1777 tmpfs $folder; done
for keep; do
    mkdir -p "$keep"
    mount --no-canonicalize --bind /proc/self/fd/${kept[0]} "$keep"
    exec {kept[0]}<&-
    kept=(${kept[@]:1})
done
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/sshd /run/lock /run/cgroup
chmod 1777 /run/lock
# Whose network interfaces /sys/class/net lists is settled when /sys is mounted.
mount --rbind /sys/fs/cgroup /run/cgroup
mount -t sysfs sysfs /sys
mount --move /run/cgroup /sys/fs/cgroup
rmdir /run/cgroup
for file in etc/*; do
    to=/etc/$(basename $file | tr , /)
    [ ! -e "$to" ] || mount --no-canonicalize --bind /proc/self/fd/8/$file "$to"
done
exec 8<&-
rm -rf /run/mount
echo mounted
read address
printf 'addr add %s dev e0\nlink set e0 up\nlink set lo up\n' $address | ip -batch -
echo up
exec env --ignore-signal=CHLD cat >/dev/null
"""

SSHD = {"UsePAM": "no", "StrictModes": "no", "UseDNS": "no", "PidFile": "none",
        "PasswordAuthentication": "no", "KbdInteractiveAuthentication": "no",
        "PermitRootLogin": "prohibit-password", "AddressFamily": "inet", "MaxStartups": "200"}


class Trouble(Exception):
    """The bed itself does not work."""


def usable():
    """None, or the reason why there can be no bed on this machine."""
    if os.geteuid() != 0:
        return "not root"
    if os.stat("/").st_mode & 0o5 != 0o5:
        return "only root may enter /: no other user can log in"
    missing = [t for t in TOOLS if not shutil.which(t)]
    if missing:
        return "not installed: " + " ".join(missing)
    r = subprocess.run(["unshare", "--net", "--uts", "--ipc", "--pid", "--mount", "--fork",
                        "--mount-proc", "sh", "-c",
                        "mount -t tmpfs tmpfs /run && ip link add name br0 type bridge && "
                        "ip link add name v0 type veth peer name v1 && nft list ruleset"],
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if r.returncode:
        return "no namespaces: " + r.stdout.decode(errors="replace").strip()
    return None


def wait_for(condition, what, limit=LIMIT):
    """Poll until condition() is true; its value."""
    end = time.monotonic() + limit
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise Trouble(f"waited {limit} s in vain: {what}")
        time.sleep(0.01)


# --- processes ----------------------------------------------------------------------

Process = collections.namedtuple("Process", "pid cmdline state node")
Result = collections.namedtuple("Result", "returncode stdout stderr")


def proc_file(pid, name):
    try:
        with open(f"/proc/{pid}/{name}", "rb") as f:
            return f.read()
    except OSError:
        return b""


def child_of(pid):
    """The only child of a process, or None."""
    words = proc_file(pid, f"task/{pid}/children").split()
    return int(words[0]) if words else None


class Running:
    """A command inside a node.  Its output goes to files unless told otherwise."""

    def __init__(self, bed, node, words, stdin, stdout, stderr, env, umask):
        self.node, self.words = node, words
        self.began = time.monotonic()
        self.out_file, self.err_file = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        self.outer = subprocess.Popen(
            words, env=env, umask=umask, start_new_session=True, cwd="/",
            stdin=subprocess.DEVNULL if stdin is None else stdin,
            stdout=self.out_file if stdout is None else stdout,
            stderr=self.err_file if stderr is None else stderr)
        self.stdin, self.stdout, self.stderr = (self.outer.stdin, self.outer.stdout,
                                                self.outer.stderr)
        self._pid = None

    @property
    def pid(self):
        """The command's pid; its parent here is the nsenter that brought it in."""
        if self._pid is None:
            self._pid = wait_for(lambda: child_of(self.outer.pid) or
                                 (self.outer.poll() is not None and -1), "a command to start")
        return self._pid

    def kill(self, signo):
        if self.pid > 0 and self.outer.poll() is None:
            os.kill(self.pid, signo)
            if signo == signal.SIGCONT:           # nsenter stops and goes on with it
                os.kill(self.outer.pid, signo)

    def poll(self):
        return self.outer.poll()

    def text(self):
        return os.pread(self.out_file.fileno(), 1 << 26, 0)

    def error_text(self):
        return os.pread(self.err_file.fileno(), 1 << 26, 0)

    def wait_text(self, text, count=1, limit=LIMIT):
        """Until stdout holds text so many times."""
        text = text.encode() if isinstance(text, str) else text

        def seen():
            ended = self.poll() is not None
            if self.text().count(text) >= count:
                return True
            if ended:
                raise Trouble(f"it ended ({self.poll()}) before it printed {text!r} {count} times:"
                              f"\n{self.text()[-500:]!r}\n{self.error_text()[-1500:]!r}")
            return False
        try:
            wait_for(seen, f"{text!r} {count} times", limit)
        except Trouble as e:
            raise Trouble(f"{e}\n{self.text()[-500:]!r}\n{self.error_text()[-1500:]!r}") from None

    def finish(self, limit=LIMIT):
        """Wait for the end; a Result, whose returncode is -N after signal N."""
        try:
            self.outer.wait(limit)
        except subprocess.TimeoutExpired:
            self.kill(signal.SIGKILL)
            self.outer.kill()
            self.outer.wait()
            raise Trouble(f"still running after {limit} s\n{self.text()[-500:]!r}\n"
                          f"{self.error_text()[-1500:]!r}") from None
        return Result(self.outer.returncode, self.text(), self.error_text())


# --- the bed ------------------------------------------------------------------------

_beds = []                 # those that are to be taken down
_down = threading.RLock()


def _take_down_all():
    for bed in list(_beds):
        bed.close()


def _on_signal(number, _frame):
    _take_down_all()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _catch():
    if threading.current_thread() is threading.main_thread():
        for number in signal.SIGTERM, signal.SIGHUP:
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, _on_signal)


atexit.register(_take_down_all)


class Node:
    def __init__(self, number):
        self.number, self.name = number, f"node{number}"
        self.address = f"10.77.{number // 250}.{number % 250 + 1}"
        self.mac = f"02:77:00:00:{number // 256:02x}:{number % 256:02x}"
        self.lives = 0
        self.outer = self.init = self.space = self.sshd = None

    @property
    def port(self):
        """The bridge's end of its cable."""
        return f"v{self.number}.{self.lives}"


class Bed:
    """size nodes; sshd: options of all sshds beyond SSHD; keep: folders below /tmp that
    the nodes are to see, too."""

    def __init__(self, size=4, sshd=None, keep=()):
        self.nodes = [Node(i) for i in range(size)]
        self.names = [n.name for n in self.nodes]
        self.sshd_options = {**SSHD, **(sshd or {})}
        self.keep = list(keep)
        self.switch, self.dir, self.commands = None, None, []
        self._undo = {}                # what heal() is to do, by what was done

    def __enter__(self):
        _catch()
        _beds.append(self)
        try:
            self.dir = os.path.realpath(tempfile.mkdtemp(prefix="mpx-bed-"))
            os.chmod(self.dir, 0o755)
            self.keep = [self.dir] + [os.path.realpath(k) for k in (ROOT, *self.keep) if any(
                os.path.realpath(k).startswith(t) for t in ("/tmp/", "/var/tmp/"))]
            self._make_users()
            self._make_keys()
            self._write_config()
            self._start(self.nodes)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        with _down:
            if self not in _beds:
                return
            for node in self.nodes:
                self._end(node)
            if self.switch:
                self.switch.kill()
                self.switch.wait()
            for command in self.commands:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    command.outer.wait(5)
            if self.dir:
                shutil.rmtree(self.dir, ignore_errors=True)
            _beds.remove(self)

    @staticmethod
    def _end(node):
        """End all processes of a node: they go with the first one."""
        if node.outer:
            if node.outer.poll() is None and node.init:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(node.init, signal.SIGKILL)
            node.outer.stdin.close()
            node.outer.stdout.close()
            try:
                node.outer.wait(10)
            except subprocess.TimeoutExpired:
                node.outer.kill()
                node.outer.wait()
        if node.sshd:
            node.sshd.wait()
        node.outer = node.init = node.sshd = None

    # --- files

    def path(self, *parts):
        return os.path.join(self.dir, *parts)

    def write(self, name, text, mode=0o644, user="root"):
        """A file below bed.dir; its path."""
        path = self.path(name)
        with open(path + ".new", "wb") as f:
            f.write(text if isinstance(text, bytes) else text.encode())
        os.chmod(path + ".new", mode)
        os.chown(path + ".new", self.uid[user], self.uid[user])
        os.rename(path + ".new", path)
        return path

    def install(self, *paths):
        """Copies in one folder that all users can read; the path of the first."""
        os.makedirs(self.path("bin"), exist_ok=True)
        for p in paths:
            to = self.path("bin", os.path.basename(p))
            shutil.copyfile(p, to + ".new")
            os.chmod(to + ".new", 0o755)
            os.rename(to + ".new", to)
        return self.path("bin", os.path.basename(paths[0]))

    def hosts(self, *lines, name="hosts"):
        """A host file: these lines, all nodes if there is none; its path."""
        return self.write(name, "".join(f"{x}\n" for x in lines or self.names))

    def home(self, user):
        return self.path("home", user)

    def rc(self, user, name, text):
        """A file in a user's home; None removes it."""
        path = os.path.join(self.home(user), name)
        if text is None:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
            return
        folder = self.home(user)
        for part in os.path.dirname(name).split("/"):
            folder = os.path.join(folder, part)
            os.makedirs(folder, exist_ok=True)
            os.chown(folder, self.uid[user], self.uid[user])
        self._undo["rc", path] = lambda: self.rc(user, name, None)
        self.write(path, text, user=user)

    def _make_users(self):
        with open("/etc/passwd", encoding="utf-8", errors="surrogateescape") as f:
            lines = [x.split(":") for x in f.read().splitlines()]
        taken = {int(x[2]) for x in lines if len(x) > 3}
        free = (u for u in range(47000, 60000) if u not in taken)
        self.uid = {u: 0 if u == "root" else next(free) for u in USERS}
        passwd = [x for x in lines if len(x) == 7 and x[0] not in USERS and int(x[2]) < 1000 or
                  x[0] == "nobody"]
        os.mkdir(self.path("home"))
        for user, (shell, _) in USERS.items():
            uid = str(self.uid[user])
            passwd.append([user, "*", uid, uid, "", self.home(user), shell])
            os.mkdir(self.home(user), 0o700)
            os.chown(self.home(user), int(uid), int(uid))
            # fish on several hosts at once falls over its own feet when it makes these.
            for folder in ((".local", ".local/share", ".local/share/fish", ".config",
                            ".config/fish") if shell.endswith("fish") else ()):
                os.mkdir(f"{self.home(user)}/{folder}", 0o700)
                os.chown(f"{self.home(user)}/{folder}", int(uid), int(uid))
        self.etc = {"passwd": "".join(":".join(x) + "\n" for x in passwd),
                    "shadow": "".join(x[0] + ":*:19000:0:99999:7:::\n" for x in passwd),
                    "group": "".join(f"{u}:x:{i}:\n" for u, i in self.uid.items())}

    def _make_keys(self):
        os.mkdir(self.path("keys"))
        for name in "id", "hostkey", "otherkey":
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f",
                            self.path("keys", name)], check=True, stdin=subprocess.DEVNULL)
        with open(self.path("keys/id"), "rb") as f:
            private = f.read()
        with open(self.path("keys/id.pub"), "rb") as f:
            public = f.read()
        for user, (_, where) in USERS.items():
            if where != "none":
                self.write(f"keys/{user}.accepted", public)
                self.write(f"keys/{user}.{where}", private, 0o600, user)
        os.unlink(self.path("keys/id"))
        self.host_keys()

    def host_keys(self, unknown=(), changed=()):
        """known_hosts as it should be, but for these nodes."""
        if unknown or changed:
            self._undo["keys"] = self.host_keys
        text = ""
        for n in self.nodes:
            if n.number not in unknown:
                key = "otherkey" if n.number in changed else "hostkey"
                with open(self.path(f"keys/{key}.pub"), encoding="ascii") as f:
                    text += f"{n.name},{n.address} " + " ".join(f.read().split()[:2]) + "\n"
        self.write("keys/known_hosts", text)

    def _write_config(self):
        os.mkdir(self.path("etc"))
        hosts = "127.0.0.1 localhost\n" + "".join(f"{n.address} {n.name}\n" for n in self.nodes)
        keys = self.path("keys")
        # Nothing that a launcher should ask ssh for by itself (BatchMode, ConnectTimeout).
        ssh = (f"Host node*\n  IdentityFile {keys}/%u.all\n  IdentityFile {keys}/%u.%l\n"
               f"  IdentitiesOnly yes\n  UserKnownHostsFile {keys}/known_hosts\n")
        files = {"hosts": hosts, "ssh,ssh_config": ssh, **self.etc,
                 "nsswitch.conf": "passwd: files\ngroup: files\nshadow: files\nhosts: files\n"}
        for name, text in files.items():             # "," stands for "/"
            self.write("etc/" + name, text, 0o600 if name == "shadow" else 0o644)

    # --- start of nodes

    def _start(self, nodes):
        if not self.switch:
            # It ends when its stdin does; its namespace goes with it.
            self.switch = subprocess.Popen(["unshare", "--net", "cat"], stdin=subprocess.PIPE,
                                           stdout=subprocess.DEVNULL, start_new_session=True)
        for node in nodes:
            self._start_first(node)
        for node in nodes:
            self._answer(node, "mounted")
            node.init = child_of(node.outer.pid)
            node.space = os.readlink(f"/proc/{node.init}/ns/pid")
        self._in_switch("ip", "-batch", "-", input="".join(
            f"link add name {n.port} type veth peer name e0 address {n.mac} netns {n.init}\n"
            f"link set {n.port} master br0 up\n" for n in nodes), first=len(nodes) > 1)
        for node in nodes:
            node.outer.stdin.write(f"{node.address}/16\n".encode())
            node.outer.stdin.flush()
        for node in nodes:
            self._answer(node, "up")
            self.sshd_start(node.number, wait=False)
        for node in nodes:
            self._wait_sshd(node)

    def _start_first(self, node):
        node.lives += 1
        with open(self.path(f"first.{node.number}"), "wb") as log:
            node.outer = subprocess.Popen(
                ["unshare", "--net", "--uts", "--ipc", "--pid", "--mount", "--fork",
                 "--kill-child=KILL", "--mount-proc", "bash", "-c", FIRST, "first", node.name,
                 self.dir, *self.keep],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                start_new_session=True, cwd="/")

    def _answer(self, node, wanted):
        line = node.outer.stdout.readline().decode().strip()
        if line != wanted:
            with open(self.path(f"first.{node.number}"), encoding="utf-8") as f:
                raise Trouble(f"{node.name} does not start: {line!r} {f.read()}")

    def _in_switch(self, *words, input=None, first=False):
        if first:
            input = "link add name br0 type bridge\nlink set br0 up\n" + input
        wait_for(lambda: os.readlink(f"/proc/{self.switch.pid}/ns/net") !=
                 os.readlink("/proc/self/ns/net"), "the switch's namespace")
        self._tool(["nsenter", "-t", str(self.switch.pid), "-n", "--", *words], input)

    def _in_net(self, node, *words, input=None):
        """A tool of this machine in the network of a node; its output."""
        init = self.nodes[node].init
        return self._tool(["nsenter", "-t", str(init), "-n", "-m", "--", *words], input)

    @staticmethod
    def _tool(words, input=None):
        r = subprocess.run(words, input=(input or "").encode(), stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT)
        if r.returncode:
            raise Trouble(f"{' '.join(words)}: {r.stdout.decode(errors='replace')}\n{input}")
        return r.stdout.decode(errors="replace")

    # --- sshd

    def sshd_start(self, node, wait=True, **options):
        """Start it with options beyond those of the bed."""
        node = self.nodes[node]
        if node.sshd and node.sshd.poll() is None:
            return
        options = {"HostKey": self.path("keys/hostkey"),
                   "AuthorizedKeysFile": self.path("keys/%u.accepted"),
                   **self.sshd_options, **options}
        config = self.write(f"sshd.{node.number}", "".join(f"{k} {v}\n" for k, v in
                                                           options.items()))
        with open(self.path(f"sshd.{node.number}.log"), "wb") as log:
            node.sshd = subprocess.Popen(
                ["nsenter", "-t", str(node.init), "-m", "-u", "-i", "-n", "-p", "--",
                 shutil.which("sshd"), "-D", "-e", "-f", config], env={"PATH": os.environ["PATH"]},
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, cwd="/")
        if wait:
            self._wait_sshd(node)

    def sshd_log(self, node):
        with open(self.path(f"sshd.{node}.log"), encoding="utf-8", errors="replace") as f:
            return f.read()

    def _wait_sshd(self, node):
        def ready():
            if node.sshd.poll() is not None:
                raise Trouble(f"sshd of {node.name} ended: {self.sshd_log(node.number)}")
            return "listening on" in self.sshd_log(node.number)
        wait_for(ready, f"sshd of {node.name}", 10)

    def sshd_stop(self, node):
        """Connections are refused from now on; those that stand go on."""
        self._undo["sshd", node] = lambda: self._sshd_again(node)
        sshd = self.nodes[node].sshd
        if sshd and sshd.poll() is None:
            os.kill(child_of(sshd.pid), signal.SIGKILL)
            sshd.wait()

    def _sshd_again(self, node):
        self.sshd_stop(node)
        self.sshd_start(node)

    # --- commands

    def enter(self, node, user="root", cwd=None):
        """The words before a command that is to run in a node."""
        words = ["nsenter", "-t", str(self.nodes[node].init), "-m", "-u", "-i", "-n", "-p", "--"]
        if user != "root":
            uid = str(self.uid[user])
            words += ["setpriv", "--reuid", uid, "--regid", uid, "--clear-groups"]
        return words + ["env", "-C", os.fspath(cwd or self.home(user))]

    def environment(self, user="root", extra=None):
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": self.home(user), "USER": user,
               "LOGNAME": user, "SHELL": USERS[user][0]}
        env.update((k, v) for k, v in os.environ.items()
                   if k.endswith("SAN_OPTIONS") or k.startswith("GCOV"))
        env.update(extra or {})
        return env

    def popen(self, node, argv, env=None, cwd=None, user="root", stdin=None, stdout=None,
              stderr=None, umask=-1):
        words = self.enter(node, user, cwd) + [os.fspath(w) if isinstance(w, (bytes, os.PathLike))
                                               else str(w) for w in argv]
        command = Running(self, node, words, stdin, stdout, stderr,
                          self.environment(user, env), umask)
        self.commands.append(command)
        return command

    def run(self, node, argv, timeout=LIMIT, **more):
        """Run a command in a node to its end: returncode, stdout, stderr."""
        return self.popen(node, argv, **more).finish(timeout)

    # --- what there is

    def processes(self, node=None, infrastructure=False):
        """All of a node, or of all nodes, zombies included: list of Process.  Its first
        process and sshd's are left out, unless asked for."""
        spaces = {n.space: n.number for n in self.nodes if n.outer and
                  node in (None, n.number)}
        first = {n.init for n in self.nodes}
        found = []
        for pid in (int(p) for p in os.listdir("/proc") if p.isdigit()):
            try:
                space = os.readlink(f"/proc/{pid}/ns/pid")
            except OSError:
                continue
            if space not in spaces:
                continue
            head, _, tail = proc_file(pid, "stat").partition(b"(")[2].rpartition(b")")
            state = tail.split()[0].decode() if tail else "X"
            if state == "X" or not infrastructure and (pid in first or head.startswith(b"sshd")):
                continue
            line = proc_file(pid, "cmdline").rstrip(b"\0").replace(b"\0", b" ")
            found.append(Process(pid, (line or b"[" + head + b"]").decode(errors="replace"), state,
                                 spaces[space]))
        return found

    def sessions(self, node=None):
        """The sshd processes of connections that stand."""
        listeners = {child_of(n.sshd.pid) for n in self.nodes if n.sshd and n.sshd.poll() is None}
        return [p for p in self.processes(node, True) if p.cmdline.startswith("sshd") and
                p.pid not in listeners and "listener" not in p.cmdline]

    def left(self, limit, sessions=True, nodes=None):
        """What is still there after at most so many seconds: list of Process."""
        end = time.monotonic() + limit
        while True:
            found = self.processes() + (self.sessions() if sessions else [])
            found = [p for p in found if nodes is None or p.node in nodes]
            if not found or time.monotonic() > end:
                return found
            time.sleep(0.02)

    def sweep(self):
        """Kill what is left in any node, so that the next test finds it empty."""
        for _ in range(100):
            found = self.processes() + self.sessions()
            if not found:
                return
            for p in found:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(p.pid, signal.SIGKILL)
            time.sleep(0.02)
        raise Trouble(f"cannot be killed: {found}")

    def files(self, node, dirs=("/tmp", "/var/tmp", "/dev/shm", "/run")):
        """Paths of all but folders below these folders of a node, bed.dir left out."""
        root, found = f"/proc/{self.nodes[node].init}/root", []
        for top in dirs:
            for folder, names, files in os.walk(root + top):
                names[:] = [n for n in names
                            if os.path.join(folder, n)[len(root):] not in self.keep]
                found += [os.path.join(folder, f)[len(root):] for f in files]
        return found

    def listening(self, node):
        """Lines of ss: sockets that listen, TCP, UDP, UNIX, abstract ones included.  Its columns
        are as wide as the widest line has them; here one blank is between two."""
        return [" ".join(x.split()) for x in self._in_net(node, "ss", "-tulnxH").splitlines()]

    # --- faults

    def heal(self):
        """Undo all faults, rc files and changes of keys."""
        for deed in list(self._undo.values())[::-1]:
            deed()                     # some note another one: nothing to do any more
        self._undo.clear()

    def link_down(self, node):
        """The cable is pulled at the node."""
        self._undo["link", node] = lambda: self.link_up(node)
        self._in_net(node, "ip", "link", "set", "e0", "down")

    def link_up(self, node):
        self._in_net(node, "ip", "link", "set", "e0", "up")

    def silence(self, node):
        """The switch passes nothing to and from it; its link stays up."""
        self._undo["silence", node] = lambda: self.unsilence(node)
        self._in_switch("bridge", "link", "set", "dev", self.nodes[node].port, "state", "0")

    def unsilence(self, node):
        self._in_switch("bridge", "link", "set", "dev", self.nodes[node].port, "state", "3")

    def slow(self, node, rate):
        """So much a second in both directions ("8mbit"); None: as fast as it goes."""
        if bool(rate) == (("slow", node) in self._undo):
            return
        if rate:
            self._undo["slow", node] = lambda: self.slow(node, None)
        port = self.nodes[node].port
        words = (("add", ("root", "tbf", "rate", rate, "burst", "16kb", "latency", "100ms"))
                 if rate else ("del", ("root",)))
        self._in_net(node, "tc", "qdisc", words[0], "dev", "e0", *words[1])
        self._in_switch("tc", "qdisc", words[0], "dev", port, *words[1])
        if not rate:
            del self._undo["slow", node]

    def nft(self, node, ruleset):
        """Firewall rules of a node; None: none."""
        self._undo["nft", node] = lambda: self.nft(node, None)
        self._in_net(node, "nft", "-f", "-", input="flush ruleset\n" + (ruleset or ""))

    def only_ssh(self, node):
        """The firewall drops all TCP from and to other hosts but port 22."""
        chain = "type filter hook {0} priority 0; {1} lo accept; " \
                "tcp dport 22 accept; tcp sport 22 accept; meta l4proto tcp drop;"
        self.nft(node, "table ip bed {\n chain in { " + chain.format("input", "iif") +
                 " }\n chain out { " + chain.format("output", "oif") + " }\n}\n")

    def kill_node(self, node, reset=False):
        """Power off: nobody hears of it.  reset: its kernel still closes the connections."""
        n = self.nodes[node]
        for what in "link", "silence", "nft", "slow", "sshd":
            self._undo.pop((what, node), None)
        self._undo["power", node] = lambda: self.revive(node)
        if not reset:
            self._in_switch("bridge", "link", "set", "dev", n.port, "state", "0")
            self._in_net(node, "ip", "link", "set", "e0", "down")
        self._end(n)
        if not reset:
            with contextlib.suppress(Trouble):      # else it goes with the namespace, later
                self._in_switch("ip", "link", "del", n.port)

    def revive(self, node):
        """Power on again."""
        if self.nodes[node].outer is None:
            self._start([self.nodes[node]])

    @contextlib.contextmanager
    def relay(self, node, **settings):
        """A Relay before the sshd of a node: with bed.relay(2, delay=0.05) as r: ..."""
        self.sshd_stop(node)
        self.sshd_start(node, ListenAddress="127.0.0.1", Port=2222)
        r = Relay(f"/proc/{self.nodes[node].init}/ns/net", 22, 2222, **settings)
        try:
            yield r
        finally:
            r.close()
            self.sshd_stop(node)
            self.sshd_start(node)


# --- a bad line ---------------------------------------------------------------------

class Relay:
    """Passes TCP connections on from a port to another of the same network namespace.

    delay: seconds that every byte is late; rate: bytes a second, or None.  Both can be
    changed at any time.  stall() keeps connections open and passes nothing, go() goes
    on; cut() resets all connections; refuse = True: new ones are reset at once."""

    PIECE = 16384

    def __init__(self, net, port, to, delay=0.0, rate=None):
        self.delay, self.rate, self.refuse = delay, rate, False
        self.port, self.to, self.pairs = port, to, []
        self.passed = 0                       # bytes, both directions
        self._stalled = self._cut = self._closing = False
        self._ready, self._error = threading.Event(), None
        self._wake = os.pipe()
        self._thread = threading.Thread(target=self._main, args=(net,), daemon=True)
        self._thread.start()
        self._ready.wait()
        if self._error:
            raise self._error

    def stall(self):
        self._stalled = True

    def go(self):
        self._stalled = False
        self._nudge()

    def cut(self):
        self._cut = True
        self._nudge()

    def close(self):
        self._closing = True
        self._nudge()
        self._thread.join()
        for fd in self._wake:
            os.close(fd)

    def _nudge(self):
        os.write(self._wake[1], b".")

    def _main(self, net):
        """The relay's thread: it alone is in that namespace, and so are its sockets."""
        try:
            with open(net, "rb") as f:
                if ctypes.CDLL(None, use_errno=True).setns(f.fileno(), 0x40000000) != 0:
                    raise OSError(ctypes.get_errno(), "setns")
            self.listener = socket.create_server(("0.0.0.0", self.port), backlog=128)
            self.listener.setblocking(False)
        except OSError as e:
            self._error = e
            return
        finally:
            self._ready.set()
        with selectors.DefaultSelector() as self.look:
            self.look.register(self.listener, selectors.EVENT_READ)
            self.look.register(self._wake[0], selectors.EVENT_READ)
            while not self._closing:
                self._turn()
        self._reset_all()
        self.listener.close()

    def _turn(self):
        late = min((p.due() for p in self.pairs), default=1.0)
        for key, _ in self.look.select(max(0.0, min(1.0, late))):
            if key.fileobj is self.listener:
                self._accept()
            elif key.fileobj == self._wake[0]:
                os.read(self._wake[0], 100)
            elif not self._stalled:
                key.data.read(self.look)
            else:
                time.sleep(0.001)             # readable, and to stay so
        if self._cut:
            self._cut = False
            self._reset_all()
        if not self._stalled:
            for p in list(self.pairs):
                p.write(self.look)
        self.pairs = [p for p in self.pairs if not p.over]

    def _accept(self):
        try:
            near = self.listener.accept()[0]
        except OSError:
            return
        if self.refuse:
            self._reset(near)
            return
        try:
            far = socket.create_connection(("127.0.0.1", self.to), 5)
        except OSError:
            self._reset(near)
            return
        for s in near, far:
            s.setblocking(False)
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        one, other = _Direction(self, near, far), _Direction(self, far, near)
        self.look.register(near, selectors.EVENT_READ, one)
        self.look.register(far, selectors.EVENT_READ, other)
        self.pairs += [one, other]

    @staticmethod
    def _reset(s):
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        s.close()

    def _reset_all(self):
        for p in self.pairs:
            if p.source.fileno() >= 0:
                with contextlib.suppress(KeyError, ValueError):
                    self.look.unregister(p.source)
                self._reset(p.source)
        self.pairs = []


class _Direction:
    """One direction of a connection through a Relay."""

    def __init__(self, relay, source, sink):
        self.relay, self.source, self.sink = relay, source, sink
        self.pieces = collections.deque()     # (when it may go on, bytes)
        self.held = 0
        self.free = 0.0                       # when the rate allows more
        self.over = self.ended = self.paused = False

    def due(self):
        """Seconds until there is something to write."""
        if not self.pieces:
            return 1.0
        return max(self.pieces[0][0], self.free) - time.monotonic()

    def read(self, look):
        try:
            data = self.source.recv(Relay.PIECE)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self.pieces.append((time.monotonic() + self.relay.delay, data))
        self.held += len(data)
        if not data or self.held > 256 * 1024:
            look.unregister(self.source)
            self.paused = bool(data)

    def write(self, look):
        while self.pieces and self.due() <= 0:
            when, data = self.pieces.popleft()
            if not data:
                self.over = True
                with contextlib.suppress(OSError):
                    self.sink.shutdown(socket.SHUT_WR)
                return
            rate = self.relay.rate
            some = data[:max(1, int(rate / 50))] if rate else data
            try:
                sent = self.sink.send(some)
            except BlockingIOError:
                sent = 0
                self.free = time.monotonic() + 0.005
            except OSError:
                self.over = True
                return
            if sent < len(data):
                self.pieces.appendleft((when, data[sent:]))
            self.held -= sent
            self.relay.passed += sent
            if rate and sent:
                self.free = time.monotonic() + sent / rate
        if self.paused and self.held < 128 * 1024 and self.source.fileno() >= 0:
            look.register(self.source, selectors.EVENT_READ, self)
            self.paused = False


# --- a bed by hand --------------------------------------------------------------------

def main():
    """bed.py [N]: a shell in node0 of N nodes."""
    reason = usable()
    if reason:
        sys.exit(f"bed: {reason}")
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    with Bed(size) as bed:
        print(f"node0 to node{size - 1}; users " + " ".join(USERS) + f"; files in {bed.dir}; "
              "leave with exit", flush=True)
        subprocess.run(bed.enter(0, cwd=bed.dir) + ["bash", "--norc"],
                       env=bed.environment(extra={"TERM": os.environ.get("TERM", "dumb"),
                                                  "PS1": r"\h:\w\$ "}))


if __name__ == "__main__":
    main()

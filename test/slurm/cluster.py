"""cluster.py - a real Slurm on a bed (test/bed.py): slurmctld on node0, slurmd and munged on
the others.

    with Cluster(3) as c:
        r = c.run("salloc", "-N", 3, c.bed.launcher, "-n", 6, ...)      # on node0, as tester
        c.idle()                       # every job has ended, and left nothing on any node

Daemons run in the nodes' namespaces with their files in the nodes' own /run; all is gone with
the bed.  Without control groups: proctrack/linuxproc."""

import os
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

from bed import Bed, Trouble, wait_for                  # noqa: E402

TOOLS = ("slurmctld", "slurmd", "srun", "salloc", "sbatch", "scancel", "squeue", "sinfo",
         "scontrol", "munged")
USER = "tester"
CPUS = 2
START = 30                             # seconds that daemons may take on a busy machine

CONF = """
ClusterName=bed
SlurmctldHost=node0
SlurmUser=root
AuthType=auth/munge
CredType=cred/munge
StateSaveLocation=/run/slurm/state
SlurmdSpoolDir=/run/slurm/spool
SlurmctldPidFile=/run/slurm/slurmctld.pid
SlurmdPidFile=/run/slurm/slurmd.pid
SlurmctldPort=6817
SlurmdPort=6818
ProctrackType=proctrack/linuxproc
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0,bf_interval=1
MpiDefault=none
ReturnToService=2
KillWait=2
MessageTimeout=30
SlurmdTimeout=60
PropagateResourceLimits=NONE
SlurmctldDebug=info
SlurmdDebug=info
"""


def missing():
    """The tools that are not there, as text; "" if all are."""
    return " ".join(t for t in TOOLS if not shutil.which(t))


class Cluster:
    def __init__(self, nodes=3, task="task/affinity"):
        self.bed = Bed(nodes + 1)
        self.size, self.task = nodes, task
        self.daemons = []

    def __enter__(self):
        self.bed.__enter__()
        try:
            self._start()
        except BaseException:
            self.bed.close()
            raise
        return self

    def __exit__(self, *_):
        self.bed.close()

    # --- daemons

    def _start(self):
        with open(self.bed.write("munge.key", os.urandom(128), 0o600), "rb"):
            pass
        names = f"node[1-{self.size}]"
        self.conf = self.bed.write("slurm.conf", CONF + f"TaskPlugin={self.task}\n" + "".join(
            f"NodeName={n.name} NodeAddr={n.address} CPUs={CPUS} RealMemory=1000\n"
            for n in self.bed.nodes[1:]) +
            f"PartitionName=main Nodes={names} Default=YES MaxTime=60\n"
            f"PartitionName=spare Nodes={names} MaxTime=60 PriorityJobFactor=1\n")
        for n in range(self.size + 1):
            self._tool(n, "mkdir", "-p", "-m", "755", "/run/munge", "/run/slurm")
            self._tool(n, "mkdir", "-m", "700", "/run/slurm/state", "/run/slurm/spool")
            self._daemon(n, "munged", "--foreground", "--force", "--key-file", self.bed.path(
                "munge.key"), "--pid-file=/run/munge/pid", "--log-file=/run/munge/log",
                "--seed-file=/run/munge/seed", "--num-threads=2")
        for n in range(self.size + 1):
            wait_for(lambda n=n: self.bed.run(n, ["munge", "-n"]).returncode == 0, "munged", START)
        self._daemon(0, "slurmctld", "-D", "-c", "-f", self.conf)
        for n in range(1, self.size + 1):
            self._daemon(n, "slurmd", "-D", "-f", self.conf)
        wait_for(self._up, "all nodes to be idle", START)

    def _tool(self, node, *words):
        r = self.bed.run(node, words)
        if r.returncode:
            raise Trouble(f"{words}: {r}")

    def _daemon(self, node, *words):
        log = self.bed.path(f"{words[0]}.{node}.log")
        with open(log, "wb") as out:
            self.daemons.append((words[0], self.bed.popen(
                node, [shutil.which(words[0]), *words[1:]], stdout=out, stderr=out,
                env={"SLURM_CONF": getattr(self, "conf", "")}), log))

    def _up(self):
        for name, process, log in self.daemons:
            if process.poll() is not None:
                with open(log, encoding="utf-8", errors="replace") as f:
                    raise Trouble(f"{name} has ended: {f.read()[-2000:]}")
        r = self.bed.run(0, ["sinfo", "-h", "-p", "main", "-o", "%T %D"], env=self.environment())
        return r.stdout.split() == [b"idle", str(self.size).encode()]

    # --- commands

    def environment(self, **more):
        return {"SLURM_CONF": self.conf, **more}

    def popen(self, *words, node=0, user=USER, env=None, cwd=None, **more):
        return self.bed.popen(node, words, env=self.environment(**(env or {})), user=user,
                              cwd=cwd or self.bed.home(user), **more)

    def run(self, *words, limit=60, **more):
        return self.popen(*words, **more).finish(limit)

    def text(self, *words, **more):
        """What a command that must succeed prints."""
        r = self.run(*words, **more)
        if r.returncode:
            raise Trouble(f"{words}: {r}")
        return r.stdout.decode().strip()

    # --- what is left

    def processes(self):
        """All of the nodes that are not Slurm's own daemons."""
        ours = {p.pid for _, p, _ in self.daemons}
        return [p for p in self.bed.processes() if p.pid not in ours and
                not p.cmdline.startswith("slurmctld: slurmscriptd")]

    def idle(self, limit=20):
        """Wait until no job is left, and no process of one."""
        wait_for(lambda: not self.text("squeue", "-h"), "the end of all jobs", limit)
        end = time.monotonic() + limit
        while (left := self.processes()) and time.monotonic() < end:
            time.sleep(0.05)
        if left:
            raise Trouble("left behind: " + "; ".join(
                f"{self.bed.nodes[p.node].name} {p.pid} {p.state} {p.cmdline[:100]}" for p in left))

    def settle(self, limit=START):
        """The same, after a fault: until all nodes can be used again."""
        self.idle(limit)
        wait_for(self._up, "all nodes to be idle again", limit)

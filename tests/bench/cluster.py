"""A Slurm cluster of tests/cluster for as long as a benchmark needs it, and steps in one allocation of all of it."""

import os
import re
import subprocess

import measure
import programs

FOLDER = os.path.join(programs.ROOT, "tests", "cluster")
GRANTED = re.compile(r"Granted job allocation (\d+)")


class Cluster:
    """`with Cluster(32) as cluster`. Steps run inside one allocation: what is measured is their start, not how soon
    nodes are free again."""

    def __init__(self, nodes):
        self.nodes = nodes
        self.environment = {"TEST_CLUSTER": f"bench-{os.getpid()}"}
        self.job = ""

    def __enter__(self):
        self._tool(["up", str(self.nodes)])
        try:
            allocate = ["salloc", "--no-shell", f"--nodes={self.nodes}", "--exclusive"]
            granted = GRANTED.search(self._tool(["on", "ctl", *allocate]))
            self.job = granted[1]
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self._tool(["down"])

    def _tool(self, command):
        finished = subprocess.run(
            [os.path.join(FOLDER, command[0]), *command[1:]],
            env=dict(os.environ, **self.environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )
        if finished.returncode != 0:
            raise measure.Failed(f"tests/cluster/{command[0]}: {finished.stdout.strip()}")
        return finished.stdout

    def step(self, tasks, program, limit, options=()):
        """(seconds, output) of one srun of so many tasks, dealt evenly to all nodes."""
        srun = ["srun", f"--jobid={self.job}", "--overcommit", f"--nodes={self.nodes}", f"--ntasks={tasks}"]
        srun += [f"--ntasks-per-node={tasks // self.nodes}", *options]
        command = [os.path.join(FOLDER, "on"), "ctl", *srun, *program]
        return measure.run(command, limit, self.environment)

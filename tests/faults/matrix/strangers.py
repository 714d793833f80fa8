"""Faults that come from outside a step: processes that mean ill, or do not know better (see inflict.py)."""

import itertools
import os
import re
import subprocess

import sockets
from inflict import NODE, Nothing
from observer import HERE, MARK, NODES, on, read

BY_HAND = {"MUSTER_LAUNCHER": "torch-env", "MASTER_ADDR": "gpu01"}
_BY_HAND = """export MASTER_PORT=%d
export RANK=$SLURM_PROCID WORLD_SIZE=8 LOCAL_RANK=$SLURM_LOCALID LOCAL_WORLD_SIZE=2
export GROUP_RANK=$SLURM_NODEID GROUP_WORLD_SIZE=4
"""
CLUSTERS = "/var/lib/muster-cluster"


class Intruder(Nothing):
    """Its processes end with the cell at the latest. expects: (exit code, pattern) of each one's output."""

    expects = None

    def begin(self, folder, node, *command, environment=None, user=None):
        self.begun = [*getattr(self, "begun", [])]
        said = os.path.join(folder, f"intruder-{len(self.begun)}")
        with open(said, "w", encoding="utf-8") as out:
            child = on(
                *(["--user", user] if user else []),
                node,
                *command,
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=subprocess.STDOUT,
                env={**(environment or os.environ), MARK: folder},
            )
        self.begun.append((child, said))

    def heal(self, step, hits):
        self.await_ends(step, 6)

    def await_ends(self, step, seconds):
        step.pump(lambda: all(child.poll() is not None for child, _ in self.begun), seconds)

    def wrong(self, step):
        if not self.expects:
            return ""
        self.await_ends(step, 20)
        for child, said in self.begun:
            text = read(said)
            if child.poll() not in self.expects[0] or not re.search(self.expects[1], text):
                return f"the intruder ended with {child.poll()}: {text[-300:]}"
        return ""

    def close(self):
        for child, _ in getattr(self, "begun", []):
            child.stdin.close()
            try:
                child.wait(5)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()


def rank_environment(step, rank, **other):
    """As another process of that rank would have it, with a short patience of its own."""
    environment = {**step.environment(rank), "MUSTER_TIMEOUTS_RENDEZVOUS": "3s", **other}
    environment.pop("SLURM_TASK_PID", None)
    environment.pop("LD_PRELOAD", None)
    return environment


# Address and port are all that two groups started by hand are known apart by.
_master_ports = itertools.count(29500)


def by_hand():
    return _BY_HAND % next(_master_ports)


class Duplicate(Intruder):
    def start(self, folder, phase):
        # While the group forms one of its own has the other's number.
        return by_hand() + ('[ "$SLURM_PROCID" != 7 ] || export RANK=5\n' if phase == "rendezvous" else "")

    def strike(self, step, hits):
        self.begun = []
        if "idle" not in step.reached:
            return
        self.begin(step.folder, NODE, *step.lone, environment=rank_environment(step, 5))
        self.expects = ((76,), r"rank 5 on gpu03 is already at work in this launch's present group, as pid \d+")


class OtherSize(Nothing):
    def start(self, folder, phase):
        return by_hand() + '[ "$SLURM_PROCID" != 5 ] || export WORLD_SIZE=9\n'


class Stale(Intruder):
    def strike(self, step, hits):
        self.begin(step.folder, NODE, *step.lone, environment=rank_environment(step, 4, SLURM_RESTART_COUNT="0"))
        self.expects = ((76,), "the ranks disagree on the restart of the job: ")


class AnotherUser(Intruder):
    def strike(self, step, hits):
        self.begin(step.folder, NODE, *step.lone, environment=rank_environment(step, 4), user="nobody")
        self.expects = ((75,), "the root, rank 0 on gpu01, (did not appear|was not joined|did not answer) within 3s")


class Squatter(Intruder):
    """On all ports of a short ladder but the last."""

    next_port = 62200
    ports = 4

    def __init__(self, kind):
        self.kind = kind

    def start(self, folder, phase):
        first = Squatter.next_port
        last = first + self.ports - 1
        Squatter.next_port += self.ports
        if self.kind == "store":
            for port in range(first, last):
                self.begin(folder, "gpu01", self.programs["muster"], "store", "--listen", f"0.0.0.0:{port}")
        else:
            self.begin(folder, "gpu01", os.path.join(HERE, "matrix/knocker.py"), "squat", self.kind, *map(str, range(first, last)))
        return f"export MUSTER_RENDEZVOUS_PORTS={first}-{last}\n"

    def heal(self, step, hits):
        pass


class Knocker(Intruder):
    """From one node at every port on which a rank's processes listen just then. seconds: before anything goes on."""

    def __init__(self, *what, seconds=1.0):
        self.what, self.seconds = what, seconds

    def strike(self, step, hits):
        self.begun = []
        places = {
            f"{node}:{port}"
            for node, ranks in NODES.items()
            for rank in ranks
            for pid in {step.process(rank), step.program(rank)}
            for port in sockets.tcp(pid, sockets.LISTENING)
        }
        self.begin(step.folder, "gpu02", os.path.join(HERE, "matrix/knocker.py"), *self.what, *sorted(places))

    def heal(self, step, hits):
        step.sleep(self.seconds)


def on_the_node(script):
    """Lines for NODE's ranks: in a mount namespace of their own, because slurmd there needs what they lose."""
    return f"""if [ "$SLURMD_NODENAME" = {NODE} ]; then
  set -- unshare --mount sh -c '{script} && exec "$@"' sh "$@"
fi
"""


class Munged(Intruder):
    """NODE's ranks have a munged of their own, with the cluster's key: dead, stopped or an hour ahead."""

    def __init__(self, state):
        self.state = state

    def start(self, folder, phase):
        place = os.path.join(folder, "munge")
        os.mkdir(place)
        os.chmod(place, 0o755)
        environment = dict(os.environ)
        if self.state == "ahead":
            environment["LD_PRELOAD"] = self.programs["clock"]
        key = f"{CLUSTERS}/{os.environ['TEST_CLUSTER']}/munge/key"
        files = [f"--{name}-file={place}/{name}" for name in ("pid", "log", "seed")]
        self.begin(
            folder,
            NODE,
            *["munged", "--foreground", f"--key-file={key}", f"--socket={place}/munge.socket.2", *files],
            environment=environment,
        )
        return on_the_node(f"mount --bind {place} /run/munge")

    def strike(self, step, hits):
        step.pump(lambda: os.path.exists(os.path.join(step.folder, "munge/munge.socket.2")), 20)
        child = self.begun[0][0]
        if self.state == "dead":
            child.kill()
            child.wait()
        if self.state == "stopped":
            os.kill(child.pid, 19)

    def close(self):
        for child, _ in self.begun:
            child.kill()
            child.wait()
            child.stdin.close()


class SlowNames(Intruder):
    """NODE's ranks query a slow name server."""

    def __init__(self, seconds):
        self.seconds = seconds

    def start(self, folder, phase):
        with open(os.path.join(folder, "resolv.conf"), "w", encoding="ascii") as file:
            file.write("nameserver 127.0.0.1\noptions timeout:5 attempts:5\n")
        with open(os.path.join(folder, "hosts"), "w", encoding="ascii") as file:
            file.write("127.0.0.1 localhost\n")
        self.begin(folder, NODE, os.path.join(HERE, "matrix/slow_names.py"), str(self.seconds))
        return on_the_node(
            f"mount --bind {folder}/resolv.conf /etc/resolv.conf && mount --bind {folder}/hosts /etc/hosts"
        )

    def heal(self, step, hits):
        pass



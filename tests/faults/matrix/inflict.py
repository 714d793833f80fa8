"""How each fault is done to a step (observer.Step). A cell works on a copy of the pattern that fault_table.py holds."""

import os
import signal
import subprocess
import threading
import time

from observer import HERE, RANKS, environment_of

NODE, ROOTS_NODE = "gpu03", "gpu01"


class Nothing:
    """The fault lies in how the step is started."""

    def start(self, folder, phase):
        """Before the step is; gives shell lines that each of its ranks runs first (see Step)."""
        return ""

    def strike(self, step, hits):
        """The moment; returned if it is not that of the call."""

    def heal(self, step, hits):
        """A transient fault passes: the step goes on when this returns."""

    def wrong(self, step):
        """Any other fault; '': none."""
        return ""

    def after(self):
        """The cell has been judged."""

    def leave(self):
        """The cell did not get to its end."""

    def close(self):
        pass


class Prepared(Nothing):
    def __init__(self, lines):
        self.lines = lines

    def start(self, folder, phase):
        return self.lines


class Signal(Nothing):
    """process: to the process that is the rank for its peers (`muster run`), not to its program."""

    def __init__(self, number, process=False):
        self.number, self.process = number, process

    def strike(self, step, hits):
        for rank in hits:
            os.kill(step.process(rank) if self.process else step.program(rank), self.number)


class Order(Nothing):
    """An action of a rank's program itself."""

    def __init__(self, text):
        self.text = text

    def strike(self, step, hits):
        step.order(hits, self.text)


class Memory(Nothing):
    LIMIT = str(96 << 20)

    def start(self, folder, phase):
        top, self.limit = "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
        if not os.path.isdir(top):
            top, self.limit = "/sys/fs/cgroup", "memory.max"
        self.group = os.path.join(top, f"muster-{os.getpid()}-{os.path.basename(folder)}")
        os.mkdir(self.group)
        self._write(self.limit, self.LIMIT)
        return ""

    def _write(self, name, text):
        with open(os.path.join(self.group, name), "w", encoding="ascii") as file:
            file.write(text)

    def strike(self, step, hits):
        for rank in hits:
            self._write("cgroup.procs", str(step.program(rank)))
        step.order(hits, "memory")

    def close(self):
        for _ in range(100):
            try:
                return os.rmdir(self.group)
            except OSError:
                time.sleep(0.05)


class Stop(Nothing):
    """All processes of the ranks; for ever is until all other ranks are gone. everybody: of those that are not hit as well."""

    def __init__(self, seconds=None, everybody=False):
        self.seconds, self.everybody = seconds, everybody
        self.pids = []

    def strike(self, step, hits):
        ranks = set(map(str, RANKS if self.everybody else hits))
        self.pids = [pid for pid in step.pids() if environment_of(pid).get("SLURM_PROCID") in ranks]
        moment = time.monotonic()
        for pid in self.pids:
            os.kill(pid, signal.SIGSTOP)
        return moment

    def heal(self, step, hits):
        if self.seconds:
            step.sleep(self.seconds)
        self.close()

    def close(self):
        for pid in self.pids:
            try:
                os.kill(pid, signal.SIGCONT)
            except ProcessLookupError:
                pass


class Late(Nothing):
    def __init__(self, seconds):
        self.seconds = seconds

    def heal(self, step, hits):
        step.sleep(self.seconds)


class Together:
    """A fault of a node happens to all cells that wait for it, once: the last one to come causes it."""

    def __init__(self, count):
        self.condition = threading.Condition()
        self.count = count
        self.waiting = 0
        self.rounds = 0

    def once(self, action):
        with self.condition:
            self.waiting += 1
            turn = self.rounds
            if self.waiting >= self.count:
                return self._go(action)
            self.action = action
            while self.rounds == turn:
                self.condition.wait()
            return self.moment

    def leave(self):
        """A cell that will not come."""
        with self.condition:
            self.count -= 1
            if 0 < self.count <= self.waiting:
                self._go(self.action)

    def _go(self, action):
        self.moment = time.monotonic()
        action()
        self.waiting = 0
        self.rounds += 1
        self.condition.notify_all()
        return self.moment


class OfNode(Nothing):
    together = None  # set by who runs the cells

    def leave(self):
        self.together.leave()

    def strike(self, step, hits):
        return self.together.once(self.down)

    def heal(self, step, hits):
        self.together.once(self.up)


class Cable(OfNode):
    def __init__(self, node):
        self.node = node

    def _link(self, state):
        subprocess.run([os.path.join(HERE, "../cluster/link"), self.node, state], check=True)

    def down(self):
        self._link("down")

    def up(self):
        self._link("up")


class BadLine(OfNode):
    """It stays bad until all cells are over."""

    lines = []

    def __init__(self, node):
        self.node = node

    def down(self):
        line = subprocess.Popen(
            [os.path.join(HERE, "../cluster/on"), "switch", os.path.join(HERE, "matrix/bad_line.py"), self.node, "0.3", "0.2"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        line.stdout.readline()
        BadLine.lines.append(line)

    def heal(self, step, hits):
        pass

    def after(self):
        self.together.once(self.up)

    def up(self):
        while BadLine.lines:
            line = BadLine.lines.pop()
            line.stdin.close()
            line.wait(10)

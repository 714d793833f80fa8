"""A step of eight ranks, two on each of four nodes, seen from outside: the phase of each, and when and how each ends.

Outside is the machine itself: the nodes are namespaces of it, so that its process ids and its monotonic clock are
those of all ranks. Every wait is for events of this step alone; one thread a step.
"""

import os
import re
import selectors
import signal
import stat
import socket
import struct
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))
RANKS = tuple(range(8))
NODES = {"gpu01": (0, 1), "gpu02": (2, 3), "gpu03": (4, 5), "gpu04": (6, 7)}
# A variable that everything has which a step started.
MARK = "MUSTER_FAULT_STEP"


class Stuck(Exception):
    """The step did not get as far as expected; the message has its phase."""


def on(node, *command, **options):
    return subprocess.Popen([os.path.join(HERE, "../cluster/on"), node, *command], **options)


class Step:
    def __init__(self, folder, command, environment, prepare=""):
        """command: the program of a rank once the gate is open. prepare: shell lines that each rank runs first; "$@"
        is what it will start."""
        self.folder = folder
        self.reached = {}  # phase -> ranks
        self.ended = {}  # rank -> time of its end
        self._process = {}  # rank -> pid of the process that is the rank: muster run, or the library's
        self._program = {}  # rank -> pid of what is in the group
        self._connections = {}  # rank -> the latest
        self._selector = selectors.DefaultSelector()
        os.makedirs(os.path.join(folder, "tmp"))
        os.chmod(folder, 0o1777)
        os.chmod(os.path.join(folder, "tmp"), 0o1777)
        with open(os.path.join(folder, "prepare"), "w", encoding="utf-8") as file:
            file.write(prepare + '\nexec "$@"\n')
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(os.path.join(folder, "observer"))
        os.chmod(os.path.join(folder, "observer"), 0o777)
        self._listener.listen(64)
        self._watch(self._listener, self._accept)
        with open(os.path.join(folder, "srun.out"), "w", encoding="utf-8") as out:
            self._srun = on(
                "ctl",
                *["srun", "--input=none", "-N4", "--ntasks-per-node=2", "-w", "gpu[01-04]", f"--job-name={os.path.basename(folder)}"],
                *[os.path.join(HERE, "task"), folder, "-", "sh", os.path.join(folder, "prepare"), *command],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env={**os.environ, **environment, "TMPDIR": os.path.join(folder, "tmp"), MARK: folder},
            )

    # ---- what happens

    def _watch(self, file, handler):
        self._selector.register(file, selectors.EVENT_READ, handler)

    def _accept(self, listener):
        connection, _ = listener.accept()
        pid = struct.unpack("iII", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
        self._watch(connection, lambda c: self._hear(c, pid))

    def _hear(self, connection, pid):
        try:
            text = connection.recv(256).decode()
        except OSError:
            text = ""
        if not text:
            self._selector.unregister(connection)
            connection.close()
            return
        for line in text.splitlines():
            rank, phase = line.split()
            self._arrive(int(rank), phase, pid, connection)

    def _arrive(self, rank, phase, pid, connection):
        self._connections[rank] = connection
        self._program[rank] = pid
        if phase == "before":
            self._process[rank] = pid
            try:
                pidfd = os.pidfd_open(pid)
            except ProcessLookupError:
                self.ended[rank] = time.monotonic()
            else:
                self._watch(pidfd, lambda fd: self._end(rank, fd))
        self.reached.setdefault(phase, set()).add(rank)

    def _end(self, rank, pidfd):
        self.ended[rank] = time.monotonic()
        self._selector.unregister(pidfd)
        os.close(pidfd)

    def pump(self, done, seconds):
        """Until done() or so long; which of the two."""
        end = time.monotonic() + seconds
        while not done():
            left = end - time.monotonic()
            if left <= 0:
                return False
            for key, _ in self._selector.select(min(left, 0.2)):
                key.data(key.fileobj)
        return True

    def sleep(self, seconds):
        self.pump(lambda: False, seconds)

    # ---- queries and commands

    def await_phase(self, phase, ranks=RANKS, seconds=40):
        def there():
            return set(ranks) <= self.reached.get(phase, set())

        if self.pump(lambda: there() or not self.pending(ranks), seconds) and there():
            return
        raise Stuck(f"ranks {sorted(set(ranks) - self.reached.get(phase, set()))} never got to {phase}: {self.said()}")

    def await_ends(self, ranks, seconds):
        return self.pump(lambda: not self.pending(ranks), seconds)

    def pending(self, ranks=RANKS):
        return [rank for rank in ranks if rank not in self.ended]

    def order(self, ranks, text="go"):
        for rank in ranks:
            try:
                self._connections[rank].sendall(f"{text}\n".encode())
            except OSError:
                pass

    def process(self, rank):
        return self._process[rank]

    def program(self, rank):
        return self._program[rank]

    def environment(self, rank):
        """The environment at the start of a process of that rank."""
        return environment_of(self._process[rank])

    def text(self, rank, kind="err"):
        try:
            with open(os.path.join(self.folder, f"{rank}.{kind}"), encoding="utf-8", errors="replace") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def code(self, rank):
        words = self.text(rank, "end").split()
        return int(words[1]) if len(words) == 2 else None

    def said(self):
        last = {rank: (self.text(rank).splitlines() or [""])[-1] for rank in RANKS}
        ranks = "; ".join(f"{rank}: {self.code(rank)} {line}" for rank, line in last.items())
        return f"{ranks}; srun: {' '.join(self._srun_said()[-500:].split())}"

    def _srun_said(self):
        return read(os.path.join(self.folder, "srun.out"))

    def ended_by_slurm(self):
        """What srun printed if Slurm did not start the whole step or ended it; else nothing."""
        said = self._srun_said()
        return " ".join(said.split()) if re.search("launch failed|aborted|CANCELLED", said) else ""

    # ---- the end

    def pids(self):
        """Of what the step has started and what is still there."""
        pids = map(int, filter(str.isdigit, os.listdir("/proc")))
        return [pid for pid in pids if pid != self._srun.pid and environment_of(pid).get(MARK) == self.folder]

    def left(self):
        return [f"{pid} {read(f'/proc/{pid}/cmdline').replace(chr(0), ' ')[:80]}" for pid in self.pids()]

    def close(self, seconds):
        """Ends all that is there; returns leftover processes and files of the step itself."""
        try:
            self._srun.wait(seconds)
        except subprocess.TimeoutExpired:
            pass
        end = time.monotonic() + seconds
        while self.pids() and time.monotonic() < end:
            time.sleep(0.05)
        left = self.left() + [f"file {entry.name}" for entry in os.scandir(os.path.join(self.folder, "tmp")) if not is_of_killed(entry)]
        for pid in self.pids():
            kill(pid)
        if self._srun.poll() is None:
            self._srun.send_signal(signal.SIGKILL)
            subprocess.run([os.path.join(HERE, "../cluster/on"), "ctl", "scancel", f"--name={os.path.basename(self.folder)}"], check=False)
        self._srun.wait()
        for key in list(self._selector.get_map().values()):
            os.close(key.fileobj) if isinstance(key.fileobj, int) else key.fileobj.close()
        self._selector.close()
        return left


def is_of_killed(entry):
    """A private directory of which nothing but dead sockets is left: its last process did not leave, but was killed or
    called exit(). The user's next start on that node removes it."""
    if not entry.name.startswith("muster-") or not entry.is_dir(follow_symlinks=False):
        return False
    return all(stat.S_ISSOCK(inside.stat(follow_symlinks=False).st_mode) for inside in os.scandir(entry.path))


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
        os.kill(pid, signal.SIGCONT)
    except ProcessLookupError:
        pass


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def environment_of(pid):
    pairs = (entry.partition("=") for entry in read(f"/proc/{pid}/environ").split("\0"))
    return {name: value for name, _, value in pairs if name}

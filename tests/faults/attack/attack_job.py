"""A job under attack, seen from outside: its listeners, and the cost of an attack.

Job is at_work under `muster run`: gpu01 has ranks 0 and 1, gpu02 ranks 2 and 3. Everything that is attacked is
rank 0's: its supervisor is the root, the leader of its node and the server of the store. Launch is store_client under
`muster launch` with two ranks, on gpu01. Alone is `muster store` on gpu01, with store_client on gpu02.
"""

import contextlib
import glob
import os
import re
import secrets
import select
import signal
import subprocess
import sys
import time

import sockets
from heartbeats import Heartbeats
from observer import HERE, environment_of, kill, on, read

ATTACKED, OTHER = "gpu01", "gpu02"
ADDRESS, LOOPBACK = "198.18.1.1", "127.0.0.1"
FAR = ("gpu03", "gpu04")
STRANGER = "nobody"
HEARTBEAT_S = 0.05
SETTINGS = {
    "MUSTER_LIVENESS_HEARTBEAT": f"{int(1000 * HEARTBEAT_S)}ms",
    "MUSTER_LIVENESS_SUSPECT_AFTER": "2s",
    "MUSTER_LIVENESS_DEAD_AFTER": "5s",
    "MUSTER_TIMEOUTS_RENDEZVOUS": "60s",
    "MUSTER_RUN_GRACE": "2s",
}
PATIENCE_S = 60
QUIET_S = 0.2
ROOT_PORTS = set(range(61000, 65000))  # rendezvous.ports
LISTENING, STREAM, DATAGRAM = "00010000", "0001", "0002"


class Broken(Exception):
    """The job did not get as far as expected, or has ended."""


class Blind(Exception):
    """An attack met no listener, or not with what it was to send: it proves nothing."""


def until(done, seconds, what):
    deadline = time.monotonic() + seconds
    while not done():
        if time.monotonic() > deadline:
            raise Broken(f"not within {seconds:g} s: {what}")
        time.sleep(0.02)


def unix_sockets(pid, kind):
    """Names (in bytes; an abstract one begins with NUL) of this process's Unix sockets that take connections or datagrams. One in a
    directory of a long name is bound by the directory's descriptor. Each has another name until it listens (comm/net/private_directory)."""
    own = sockets.inodes(pid)
    names = []
    with open(f"/proc/{pid}/net/unix", "rb") as file:
        rows = [line.split(maxsplit=7) for line in file.read().splitlines()[1:]]
    for row in rows:
        flags, type_, inode = (field.decode() for field in (row[3], row[4], row[6]))
        if len(row) == 8 and inode in own and type_ == kind and (kind == DATAGRAM or flags == LISTENING):
            name = b"\0" + row[7][1:] if row[7].startswith(b"@") else row[7]
            names.append(re.sub(rb"~[0-9a-f]+$", b"", name.replace(b"/proc/self/", f"/proc/{pid}/".encode(), 1)))
    return sorted(names)


def fresh_port():
    """Not an ephemeral one: after `close` at a listener, its port may be the only one of these that is free, and nothing can connect to it
    for a minute."""
    return 20000 + secrets.randbelow(10000)


def children(pid):
    return [int(child) for child in read(f"/proc/{pid}/task/{pid}/children").split()]


class Job:
    RANKS = (0, 1, 2, 3)

    def __init__(self, folder, programs, held="-", waits=False, leaver=None, secret=False, library=False):
        """held: ranks that do not start before open_gate(), as in `task`. waits: the ranks make no call before begin(). leaver:
        a rank that leaves after its first call. secret: its method is MUSTER_SECRET. library: without `muster run`."""
        self.folder = folder
        if waits:
            os.mkfifo(self._wait())
        self._beats = None
        self._family = {}
        os.makedirs(os.path.join(folder, "tmp"))
        os.mkfifo(os.path.join(folder, "gate"))
        self._held = 0 if held == "-" else len(held.split(","))
        settings = {"MUSTER_SECRET": secrets.token_hex(32), "MUSTER_RENDEZVOUS_AUTH": "secret"} if secret else {}
        run = () if library else (programs["muster"], "run", "--")
        with open(os.path.join(folder, "srun.err"), "w", encoding="utf-8") as err:
            self._child = on(
                "ctl",
                *["srun", "--input=none", "-N2", "--ntasks-per-node=2", "-w", f"{ATTACKED},{OTHER}"],
                *[f"--job-name={os.path.basename(folder)}", os.path.join(HERE, "task"), folder, held],
                *["sh", "-c", '[ "$SLURM_PROCID" != 0 ] || "$0" >"$1/greeting"; shift; exec "$@"', programs["greeting"]],
                *[folder, *run, programs["at_work"], folder],
                *([] if leaver is None else [str(leaver)]),
                stdin=subprocess.DEVNULL,
                stdout=err,
                stderr=subprocess.STDOUT,
                env={**os.environ, **SETTINGS, **settings, "TMPDIR": os.path.join(folder, "tmp")},
            )

    # ---- its life

    def ended(self):
        return self._child.poll() is not None

    def await_formed(self):
        self._await("formed", "the group has formed")
        self._look()

    def watch_heartbeats(self):
        """For late(). Not during an attack: it reads the node's list of connections."""
        self._beats = Heartbeats(self.supervisor(0), self.supervisor(2), ADDRESS)

    def await_listener(self, targets):
        """targets(job) has some, though ranks are held back."""

        def listens():
            self._look()
            return 0 in self._family and bool(targets(self))

        try:
            until(lambda: self.ended() or listens(), PATIENCE_S, "there is a listener")
        except Broken as broken:
            raise Blind(str(broken)) from broken
        if self.ended():
            raise Broken(f"ended with {self._child.returncode}: {self.stderr_tail()}")

    def formed(self):
        """When each rank was in the group."""
        return self._times("formed")

    def first(self):
        """When each rank's first call had ended."""
        return self._times("first")

    def begin(self):
        with open(self._wait(), "r+b", buffering=0):
            self._await("first", "the first call has ended")

    def _wait(self):
        return os.path.join(self.folder, "wait")

    def _times(self, event):
        return [float(read(path) or "inf") for path in glob.glob(os.path.join(self.folder, f"*.{event}"))]

    def _await(self, event, what):
        until(lambda: self.ended() or len(self._times(event)) == len(self.RANKS), PATIENCE_S, what)
        if self.ended():
            raise Broken(f"ended with {self._child.returncode}: {self.stderr_tail()}")

    def open_gate(self):
        with open(os.path.join(self.folder, "gate"), "r+b", buffering=0) as gate:
            gate.write(b"r" * self._held)
            until(lambda: not _readable(gate), PATIENCE_S, "the held ranks have started")

    def finish(self):
        """Exit code of srun, or of the launch, after the ranks received the request to end; None if they do not end."""
        self._stop()
        try:
            return self._child.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            return None

    def _stop(self):
        with open(os.path.join(self.folder, "stop"), "w", encoding="utf-8"):
            pass

    def close(self):
        if self._beats:
            self._beats.close()
        if self._child.poll() is None:
            self._cancel()
            for pid in self.pids():
                kill(pid)
            try:
                self._child.wait(5)
            except subprocess.TimeoutExpired:
                self._child.send_signal(signal.SIGKILL)
                self._child.wait()

    def _cancel(self):
        name = os.path.basename(self.folder)
        subprocess.run([os.path.join(HERE, "../cluster/on"), "ctl", "scancel", f"--name={name}"], check=False)

    # ---- its processes

    def _look(self):
        """Finds supervisor and program of each rank; in the library it is one process."""
        for rank in self.RANKS:
            task = read(os.path.join(self.folder, f"{rank}.pid")).strip()
            for supervisor in children(task) if task else []:
                self._family[rank] = (supervisor, *children(supervisor))

    def supervisor(self, rank):
        return self._family[rank][0]

    def program(self, rank):
        return self._family[rank][-1]

    def pids(self):
        return [pid for pair in list(self._family.values()) for pid in pair]

    def greeting(self):
        def line():
            return read(os.path.join(self.folder, "greeting"))

        until(lambda: self.ended() or line().endswith("\n"), PATIENCE_S, "the first message to the root")
        return line().strip()

    def wrong_greeting(self):
        """Its last byte, which is one of the MAC if the job has a secret, is another one."""
        greeting = self.greeting()
        return f"{greeting[:-2]}{int(greeting[-2:], 16) ^ 1:02x}"

    # ---- what it costs

    def read_heartbeats(self):
        """The kernel keeps few of them."""
        if self._beats:
            self._beats.times()

    def late(self, start, end):
        """How late a heartbeat was in that time; 0 if none is watched."""
        return max(0.0, self._beats.longest_gap(start, end, 10) - HEARTBEAT_S) if self._beats else 0.0

    def lines(self):
        texts = [read(path) for path in glob.glob(os.path.join(self.folder, "*.err"))]
        return sum(len(text.splitlines()) for text in texts)

    def await_quiet(self):
        """Nothing more is logged, so that what comes late of an attack is not taken for the next one's."""
        deadline, before = time.monotonic() + 5, -1
        while before != (before := self.lines()) and time.monotonic() < deadline:
            time.sleep(QUIET_S)

    def stderr_tail(self):
        texts = [read(path).strip().splitlines()[-1:] for path in sorted(glob.glob(os.path.join(self.folder, "*.err")))]
        return " / ".join(sum(texts, []))[-400:]

    def descriptors(self):
        return sum(_count(f"/proc/{pid}/fd") for pid in self.pids())

    def forget_peak(self):
        for pid in self.pids():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError), open(f"/proc/{pid}/clear_refs", "wb", 0) as file:
                file.write(b"5")

    def most_memory(self):
        """The most that its processes had since forget_peak(), together, in MiB."""
        return sum(_peak(pid) for pid in self.pids()) / 1024

    def await_operations(self, since):
        """Rank 0's operation that was under way then has ended."""
        until(lambda: self.ended() or self._last_operation() > since, PATIENCE_S, "an AllReduce has ended")

    def _last_operation(self):
        return float(read(os.path.join(self.folder, "0.last")) or 0)

    def slowest(self, start, end):
        """Of rank 0's operations that were under way in that time."""
        slow = (map(float, line.split()) for line in read(os.path.join(self.folder, "0.slow")).splitlines())
        return max((took for begun, took in slow if begun < end and begun + took > start), default=0.0)

    # ---- its listeners, as targets of attacker

    def _visible(self):
        """Sockets that the other user finds in the directories where muster may have some."""
        told = subprocess.run(
            [os.path.join(HERE, "../cluster/on"), "--user", STRANGER, ATTACKED]
            + ["find", "/dev/shm", os.path.join(self.folder, "tmp"), "-type", "s", "-print0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            check=False,
        ).stdout
        return [name for name in told.split(b"\0") if name]

    def _stream(self, pid, kind):
        """The process's Unix listeners of that kind, and what lies open."""
        names = [name for name in unix_sockets(pid, STREAM) if name.rsplit(b"/", 1)[-1].startswith(kind + b"-")]
        return [f"unix:{name.hex()}" for name in [*names, *(self._visible() if names else [])]]

    def leader(self):
        return self._stream(self.supervisor(0), b"leader")

    def adoption(self):
        return self._stream(self.supervisor(0), b"control")

    def status(self):
        return self._stream(self.supervisor(0), b"status")

    def store(self):
        return _tcp({environment_of(self.program(0))["MASTER_PORT"]})

    def leader_and_status(self):
        leader, status = self.leader(), self.status()
        return [*leader, *status] if leader and status else []

    # The root and a rank for data listen on every address, the store on each of some.
    def root(self):
        return _tcp(sockets.tcp(self.supervisor(0), sockets.LISTENING, "00000000") & ROOT_PORTS)

    def opened_root(self):
        """Of a group at work: opened when a rank has left."""
        until(lambda: self.ended() or self.root(), PATIENCE_S, "the root's port is open")
        return self.root()

    def early_store(self):
        return _tcp(self._on_loopback())

    def _on_loopback(self):
        return sockets.tcp(self.supervisor(0), sockets.LISTENING, "0100007F")

    def data_tcp(self):
        return _tcp(sockets.tcp(self.program(0), sockets.LISTENING))

    def data_unix(self):
        return self._stream(self.program(0), b"data")

    def doorbell(self):
        return [f"dgram:{name.hex()}" for name in unix_sockets(self.program(0), DATAGRAM)]


class Launch(Job):
    RANKS = (0, 1)

    def __init__(self, folder, programs, hello):
        """hello: to the store, see store_client.py"""
        self.folder = folder
        self._beats = None
        self._family = {}
        client = (sys.executable, os.path.join(HERE, "attack/store_client.py"), folder, hello)
        with open(os.path.join(folder, "launch.err"), "w", encoding="utf-8") as err:
            self._child = on(
                *[ATTACKED, programs["muster"], "launch", "-n", str(len(self.RANKS)), "--", *client],
                stdin=subprocess.DEVNULL,
                stderr=err,
                env={**os.environ, "TMPDIR": folder},
            )

    def await_formed(self):
        self._await("formed", "the launch's programs have their store")
        self._look()

    def _look(self):
        self._family[0] = (self._child.pid, *children(self._child.pid))

    def _cancel(self):
        pass

    # ---- its listeners

    def unix(self):
        return [f"unix:{name.hex()}" for name in unix_sockets(self.supervisor(0), STREAM)]

    def tcp(self):
        return _tcp(sockets.tcp(self.supervisor(0), sockets.LISTENING), LOOPBACK)


class Alone(Job):
    """`muster store` on gpu01 with a client on gpu02, and with another one that comes during the attack: attackers on gpu01 that
    close their connections use up the ports of that node towards the store."""

    RANKS = (0,)

    def __init__(self, folder, programs, hello):
        self.folder = folder
        self._beats = None
        self._family = {}
        self._hello = hello
        self._port = fresh_port()
        with open(os.path.join(folder, "store.err"), "w", encoding="utf-8") as err:
            self._child = on(
                *[ATTACKED, programs["muster"], "store", "--listen", f"{ADDRESS}:{self._port}"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=err,
                text=True,
            )
        with self._child.stdout as told:
            told.readline()
        self._clients = [self._client(0)]

    def _client(self, rank):
        with open(os.path.join(self.folder, f"client{rank}.err"), "w", encoding="utf-8") as err:
            return on(
                *[OTHER, sys.executable, os.path.join(HERE, "attack/store_client.py"), self.folder, self._hello],
                stdin=subprocess.DEVNULL,
                stderr=err,
                env={**os.environ, "RANK": str(rank), "MASTER_ADDR": ADDRESS, "MASTER_PORT": str(self._port)},
            )

    def come(self):
        """When the other client had its first answer."""
        self._clients.append(self._client(1))
        self.RANKS = (0, 1)
        self.await_formed()
        return self.formed()

    def ended(self):
        return any(child.poll() is not None for child in (self._child, *self._clients))

    def _look(self):
        self._family[0] = (self._child.pid,)

    def finish(self):
        """The exit code of a client that failed, or of the store."""
        self._stop()
        codes = [client.wait(PATIENCE_S) for client in self._clients]
        self._child.terminate()
        return next(filter(None, codes), self._child.wait(PATIENCE_S))

    def _cancel(self):
        for client in self._clients:
            client.kill()

    def tcp(self):
        return _tcp({self._port})


def _tcp(ports, address=ADDRESS):
    return [f"tcp:{address}:{port}" for port in sorted(ports)]


def _readable(file):
    return bool(select.select([file], [], [], 0)[0])


def _count(folder):
    try:
        return len(os.listdir(folder))
    except OSError:
        return 0


def _peak(pid):
    for line in read(f"/proc/{pid}/status").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    return 0

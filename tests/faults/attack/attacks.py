#!/usr/bin/env python3
"""The cost to a job of a full-rate attack by another user, for each listener that muster opens.

    attacks.py [--long] [--list] [--attack ATTACK] [LISTENER]...     LISTENER, ATTACK: as --list has them: "store far", close

Two attackers (attacker.cc) as another user: on the node of the listener ("near"), on the node of the ranks that connect to it
("beside"), or one on each of two other nodes ("far"). First
they attack a listener of their own on that node: the job's need then is the control, and the limits are on its greater need when the
same two attack it. A pair over a limit is played again, three times at most: a busy machine must not fail it, but a permanent excess
does. --long: every attack for 20 s, else one for 2 s.

Wants a test cluster of four nodes ($TEST_CLUSTER) and the programs in $MUSTER_BIN_DIR. Prints the table of what it
has seen; the last line is `N passed, N failed, 0 skipped`, a row each.
"""

import argparse
import contextlib
import dataclasses
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path[1:1] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), folder) for folder in ("..", "../../cluster")]
from attack_job import (  # noqa: E402  (the path comes first)
    ADDRESS, ATTACKED, FAR, HEARTBEAT_S, OTHER, PATIENCE_S, STREAM, STRANGER, Broken, Job, children, unix_sockets, until,
)
from checks import rerun  # noqa: E402
from observer import on  # noqa: E402

# The promise: the permitted cost of an attack beyond the control.
MOST_LATE_S = 0.1
MOST_LINES_A_MINUTE = 20
MOST_DESCRIPTORS = 256
MOST_MEMORY_MIB = 32
# Beyond it there is no promise in milliseconds: until a rank that comes during the attack is in the group, or connected.
MOST_FORMING_S = 1.0

TRIES = 3
SHORT_S, LONG_S = 2, 20
SETTLE_S = 0.3
PROGRAMS = {
    "muster": "bootstrap/cli/muster",
    "attacker": "tests/faults/attack/attacker",
    "at_work": "tests/faults/attack/at_work",
    "greeting": "tests/faults/attack/greeting",
}
NODES = {"near": (ATTACKED, ATTACKED), "beside": (OTHER, OTHER), "far": FAR}
CONNECTING = ("close", "hold", "reset", "half", "hello", "hello-hold", "garbage")
# A listener of the own node can be reached from each address of loopback.
NEAR_TCP = (*CONNECTING, "sources")

# The first message on a data connection (comm/socket/transport/handshake.h): magic, connector 3, acceptor 0, purpose 1,
# communicator 0, no ciphers, nonce. On the store: validate, then a key. Of a program to its supervisor:
# comm/rendezvous/messages/messages.h.
DATA_HELLO = (b"MUSH" + (3).to_bytes(4, "little") + bytes(4) + b"\1" + bytes(8) + b"\0" + bytes(range(32))).hex()
DATA_REPLY_BYTES = 65
STORE_HELLO = (b"\0" + (0x3C85F7CE).to_bytes(4, "little") + b"\x05" + (3).to_bytes(8, "little") + b"key").hex()
ADOPT_HELLO = ((5).to_bytes(4, "little") + b"\x0e" + bytes(4)).hex()
# Prints how many bytes answer a hello.
ASK = """import socket, sys
with socket.create_connection((sys.argv[1], int(sys.argv[2])), 60) as peer:
    peer.sendall(bytes.fromhex(sys.argv[3]))
    answer = b""
    while len(answer) < int(sys.argv[4]) and (part := peer.recv(4096)):
        answer += part
print(len(answer))
"""


@dataclasses.dataclass(frozen=True)
class Listener:
    name: str
    where: str  # a key of NODES
    short: str  # the attack of every run; empty: none
    targets: object  # of a Job
    hello: object = lambda job: ADOPT_HELLO
    kind: str = "unix"
    phase: str = ""  # forming: attacked while ranks are held back; connecting: before the first call; "": at work
    reply: int = 0  # bytes that answer its hello, which proves that the hello is one; 0: not sent

    def __str__(self):
        return " ".join(filter(None, (self.name, self.where, self.phase)))

    def attacks(self):
        if self.kind == "dgram":
            return ("flood",)
        return NEAR_TCP if self.kind == "tcp" and self.where == "near" else CONNECTING


def _data(_):
    return DATA_HELLO


def _store(_):
    return STORE_HELLO


LISTENERS = [
    Listener("root", "far", "hello", Job.root, Job.greeting, "tcp", "forming"),
    Listener("root", "near", "sources", Job.root, Job.greeting, "tcp", "forming"),
    Listener("root", "beside", "", Job.root, Job.greeting, "tcp", "forming"),
    Listener("store", "far", "", Job.early_store, _store, "tcp", "forming"),
    Listener("leader", "near", "close", Job.leader, phase="forming"),
    Listener("leader", "near", "half", Job.leader),
    Listener("adoption", "near", "close", Job.adoption),
    Listener("status", "near", "hold", Job.status),
    Listener("store", "far", "close", Job.store, _store, "tcp"),
    Listener("store", "near", "hello", Job.store, _store, "tcp"),
    Listener("data TCP", "far", "hello-hold", Job.data_tcp, _data, "tcp", "connecting"),
    Listener("data TCP", "near", "sources", Job.data_tcp, _data, "tcp", "connecting"),
    Listener("data TCP", "beside", "", Job.data_tcp, _data, "tcp", "connecting"),
    Listener("data TCP", "far", "half", Job.data_tcp, _data, "tcp", reply=DATA_REPLY_BYTES),
    Listener("data TCP", "near", "reset", Job.data_tcp, _data, "tcp", reply=DATA_REPLY_BYTES),
    Listener("data Unix", "near", "close", Job.data_unix, _data),
    Listener("doorbell", "near", "flood", Job.doorbell, kind="dgram"),
]
# `muster launch -n 2 -- sleep 3`, by itself on a node.
LAUNCH = Listener("launch", "near", "close", None)


@dataclasses.dataclass
class Cost:
    late: float = 0.0  # heartbeats of the attacked node's leader, beyond their interval
    slow: float = 0.0  # the slowest AllReduce
    forming: float = 0.0  # or the first call; of a launch, all of it
    lines: int = 0
    descriptors: int = 0
    memory: float = 0.0
    said: str = ""  # of the attackers


@dataclasses.dataclass
class Row:
    listener: Listener
    attack: str
    control: Cost
    cost: Cost
    seconds: float
    outcome: str = "same"
    tries: int = 1

    def problems(self):
        return [*self.lasting_problems(), *self.passing_problems()]

    # A busy machine may be the reason.
    def passing_problems(self):
        if self.outcome not in ("same", "no listener"):
            yield f"outcome: {self.outcome}"
        if self.cost.late - self.control.late > MOST_LATE_S:
            yield f"heartbeats {1000 * (self.cost.late - self.control.late):.0f} ms later"
        if self.cost.slow - self.control.slow > MOST_LATE_S:
            yield f"an AllReduce {1000 * (self.cost.slow - self.control.slow):.0f} ms longer"
        if self.cost.forming - self.control.forming > MOST_FORMING_S:
            yield f"took {self.cost.forming - self.control.forming:.1f} s longer"

    def lasting_problems(self):
        if self.cost.lines > MOST_LINES_A_MINUTE * max(1, -(-self.seconds // 60)):
            yield f"{self.cost.lines} lines of log"
        if self.cost.descriptors - self.control.descriptors > MOST_DESCRIPTORS:
            yield f"{self.cost.descriptors - self.control.descriptors} more descriptors"
        if self.cost.memory - self.control.memory > MOST_MEMORY_MIB:
            yield f"{self.cost.memory - self.control.memory:.0f} MiB more"
        if self.listener.kind != "tcp" and self.connected() > 0:
            yield "another user can open it"

    def is_final(self):
        return any(self.lasting_problems()) or not any(self.passing_problems()) or self.tries == TRIES

    def connected(self):
        return sum(int(part.split("=")[1]) for part in self.cost.said.split() if part.startswith("connected="))

    def cells(self):
        def pair(cost, control):
            return f"{1000 * cost:.0f} ({1000 * control:.0f})"

        timed = self.cost.forming > 0
        listener = ", ".join(filter(None, (self.listener.name, self.listener.phase)))
        return (
            *[listener, self.listener.where, self.attack, f"{self.connected()}"],
            "-" if timed else pair(self.cost.late, self.control.late),
            "-" if timed else pair(self.cost.slow, self.control.slow),
            f"{self.cost.forming:.1f} ({self.control.forming:.1f})" if timed else "-",
            *[f"{self.cost.lines}", f"{self.cost.descriptors - self.control.descriptors:+d}"],
            *[f"{self.cost.memory - self.control.memory:+.0f}", self.outcome, "; ".join(self.problems())],
        )


HEAD = ("listener", "from", "attack", "connections", "heartbeat late, ms (control)", "AllReduce, ms (control)",
        "takes, s (control)", "lines", "descriptors", "MiB", "outcome", "over the promise")


class Attackers:
    """Two at full rate, from begin() to end()."""

    def __init__(self, program, listener, attack, seconds, hello, targets):
        words = [attack, str(seconds + PATIENCE_S), hello or "-", *targets]
        self._children = [
            on("--user", STRANGER, node, program, *words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            for node in NODES[listener.where]
        ]

    def end(self):
        """Their own report of their work."""
        for child in self._children:
            child.stdin.close()
        said = [child.stdout.read().strip() for child in self._children]
        for child in self._children:
            child.stdout.close()
            child.wait()
        return " ".join(said)


class Sink:
    """The listener of the attackers' own."""

    def __init__(self, program):
        self._child = on("--user", STRANGER, ATTACKED, program, "serve", stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        told = [self._child.stdout.readline().strip() for _ in range(3)]
        self._places = dict(line.split(":", 1) for line in told)

    def targets(self, kind):
        place = self._places[kind]
        return [f"tcp:{ADDRESS}:{place}" if kind == "tcp" else f"{kind}:{place}"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._child.stdin.close()
        self._child.stdout.close()
        self._child.wait()


class Play:
    def __init__(self, work, programs, sink, seconds):
        self.work, self.programs, self.sink, self.seconds = work, programs, sink, seconds

    def job(self, held="-", waits=False):
        folder = tempfile.mkdtemp(prefix="attacked-", dir=self.work)
        os.chmod(folder, 0o755)
        job_folder = os.path.join(folder, f"attacked-{os.path.basename(folder)[-8:]}")
        os.mkdir(job_folder)
        return Job(job_folder, self.programs, held, waits)

    def window(self, job, listener, attack, targets):
        """The job's need while the attack lasts."""
        lines, most = job.lines(), 0
        attackers = Attackers(self.programs["attacker"], listener, attack, self.seconds, listener.hello(job), targets)
        time.sleep(SETTLE_S)
        start, began = time.time(), time.monotonic()
        while time.monotonic() - began < self.seconds and not job.ended():
            time.sleep(0.1)
            most = max(most, job.descriptors())
        end, over = time.time(), time.monotonic()
        late = max(0.0, job.beats().longest_gap(start, end, 10) - HEARTBEAT_S)
        said = attackers.end()
        if job.ended():
            raise Broken(f"ended during the attack: {job.stderr_tail()}")
        # An operation that the attack holds up is known when it has ended.
        job.await_operations(over)
        return Cost(late, job.slowest(began, over), 0.0, job.lines() - lines, most, job.most_memory(), said)

    # ---- a group at work

    def at_work(self, pairs):
        """A row for each (listener, attack), all on one job while it lives through them, and one for its end."""
        job, lines = None, 0
        try:
            for listener, attack in pairs:
                for count in range(1, TRIES + 1):
                    if job is None:
                        job, lines = self.job(), 0
                        job.await_formed()
                        lines = job.lines()
                    row = self.pair(job, listener, attack)
                    row.tries = count
                    job.await_quiet()
                    row.cost.lines, lines = job.lines() - lines, job.lines()
                    if row.outcome not in ("same", "no listener"):
                        job.close()
                        job = None
                    if row.is_final():
                        break
                    again(row)
                yield row
            if job:
                code = job.finish()
                outcome = "same" if code == 0 else f"exit code {code}: {job.stderr_tail()}"
                cost = Cost(lines=job.lines() - lines)
                yield Row(Listener("(the end of the job)", "-", "", None), "-", Cost(), cost, 0, outcome)
        finally:
            if job:
                job.close()

    def pair(self, job, listener, attack):
        targets = listener.targets(job)
        row = Row(listener, attack, Cost(), Cost(), self.seconds)
        if not targets:
            row.outcome = "no listener"
            return row
        replies = answers(listener.hello(job), targets, listener.reply) if listener.reply else []
        if any(reply != listener.reply for reply in replies):
            row.outcome = f"its hello is answered with {replies} bytes"
            return row
        try:
            row.control = self.window(job, listener, attack, self.sink.targets(listener.kind))
            row.cost = self.window(job, listener, attack, targets)
        except Broken as broken:
            row.outcome = str(broken)
        return row

    # ---- a group that forms, its first call, a launch that ends

    def timed(self, listener, attack, play):
        """A row of play(), which gets the function that makes its targets of what it plays."""
        for count in range(1, TRIES + 1):
            row = Row(listener, attack, play(listener, attack, lambda _: self.sink.targets(listener.kind)), Cost(), self.seconds)
            row.tries = count
            try:
                row.cost = play(listener, attack, listener.targets or every_unix_listener)
            except Broken as broken:
                row.outcome = str(broken)
            if row.is_final():
                break
            again(row)
        return row

    def formed_beside(self, listener, attack, targets):
        """gpu02's ranks, or for the leader's own listener the other one of its node, come during the attack."""

        def come(job):
            job.open_gate()
            job.await_formed()
            return job.formed()

        return self.passed_beside(listener, attack, targets, self.job("1" if listener.kind == "unix" else "2,3"), Job.await_root, come)

    def connected_beside(self, listener, attack, targets):
        """The ranks connect to each other, for their first call, during the attack."""

        def connect(job):
            job.begin()
            return job.first()

        return self.passed_beside(listener, attack, targets, self.job(waits=True), Job.await_formed, connect)

    def passed_beside(self, listener, attack, targets, job, prepare, step):
        """step() returns when each rank has passed it."""
        try:
            prepare(job)
            lines, most = job.lines(), 0
            attackers = Attackers(self.programs["attacker"], listener, attack, self.seconds, listener.hello(job), targets(job))
            try:
                end = time.monotonic() + self.seconds
                while time.monotonic() < end:
                    time.sleep(0.1)
                    most = max(most, job.descriptors())
                began = time.monotonic()
                took = max(step(job)) - began
            finally:
                said = attackers.end()
            memory = job.most_memory()
            code = job.finish()
            if code != 0:
                raise Broken(f"exit code {code}: {job.stderr_tail()}")
            return Cost(0.0, 0.0, took, job.lines() - lines, most, memory, said)
        finally:
            job.close()

    def launched_beside(self, listener, attack, targets):
        said = ""
        with tempfile.TemporaryFile(mode="w+", encoding="utf-8", errors="replace") as err:
            launched = time.monotonic()
            child = on(ATTACKED, self.programs["muster"], "launch", "-n", "2", "--", "sleep", "3",
                       stdin=subprocess.DEVNULL, stderr=err, env={**os.environ, "TMPDIR": self.work})
            try:
                until(lambda: child.poll() is not None or len(children(child.pid)) == 2, PATIENCE_S, "two programs")
                attackers = Attackers(self.programs["attacker"], listener, attack, self.seconds, listener.hello(None), targets(child.pid))
                try:
                    code = child.wait(PATIENCE_S)
                except subprocess.TimeoutExpired:
                    code = None
                took = time.monotonic() - launched
                said = attackers.end()
            finally:
                child.kill()
                child.wait()
            err.seek(0)
            lines = err.read().splitlines()
        if code != 0:
            raise Broken(f"exit code {code}: {lines[-1:]}")
        return Cost(forming=took, lines=len(lines), said=said)

    # ---- all

    def rows(self, pairs, job_for_each_listener):
        at_work = []
        for listener, attack in pairs:
            if listener.phase or listener is LAUNCH:
                play = {"forming": self.formed_beside, "connecting": self.connected_beside, "": self.launched_beside}
                yield self.timed(listener, attack, play[listener.phase])
            else:
                at_work.append((listener, attack))
        for _, of_job in itertools.groupby(at_work, lambda pair: job_for_each_listener and str(pair[0])):
            yield from self.at_work(list(of_job))


def answers(hello, targets, most):
    """How many bytes each target answers to the hello, from another node."""
    counts = []
    for target in targets:
        _, address, port = target.split(":")
        with on(FAR[0], sys.executable, "-c", ASK, address, port, hello, str(most), stdout=subprocess.PIPE, text=True) as child:
            counts.append(int(child.stdout.read() or -1))
    return counts


def every_unix_listener(pid):
    return [f"unix:{name.hex()}" for name in unix_sockets(pid, STREAM)]


def show(rows):
    print("| " + " | ".join(HEAD) + " |")
    print("|" + "---|" * len(HEAD))
    for row in rows:
        print("| " + " | ".join(row.cells()) + " |")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--attack", choices=[*NEAR_TCP, "flood"])
    parser.add_argument("listener", nargs="*")
    arguments = parser.parse_args()
    unknown = set(arguments.listener) - {str(one) for one in [LAUNCH, *LISTENERS]}
    if unknown:
        parser.error(f"no listener: {', '.join(sorted(unknown))} (--list prints them)")
    arguments.listeners = [one for one in [LAUNCH, *LISTENERS] if not arguments.listener or str(one) in arguments.listener]
    arguments.pairs = [(one, attack) for one in arguments.listeners for attack in attacks_on(one, arguments)]
    if not arguments.list and not arguments.pairs:
        parser.error("no attack on these listeners (--list prints them; --long plays all)")
    return arguments


def attacks_on(listener, arguments):
    if arguments.attack:
        return [attack for attack in listener.attacks() if attack == arguments.attack]
    if arguments.long:
        return listener.attacks()
    return [listener.short] if listener.short else []


def again(row):
    rerun(f"attack: {row.listener}, {row.attack}", "; ".join(row.problems()))


def judged(rows):
    """Prints the verdicts as they come."""
    for row in rows:
        problems = "; ".join(row.problems())
        print(f"{'FAILED' if problems else 'ok'} attack: {row.listener}, {row.attack}{': ' if problems else ''}{problems}", flush=True)
        yield row


def main():
    arguments = parse()
    if arguments.list:
        print("\n".join(f"{one}: {', '.join(one.attacks())}; in every run: {one.short or 'none'}" for one in arguments.listeners))
        return 0
    programs = {name: os.path.join(os.environ["MUSTER_BIN_DIR"], path) for name, path in PROGRAMS.items()}
    with contextlib.ExitStack() as stack:
        work = stack.enter_context(tempfile.TemporaryDirectory())
        os.chmod(work, 0o755)
        # A folder that another user can reach.
        programs["attacker"] = shutil.copy(programs["attacker"], work)
        sink = stack.enter_context(Sink(programs["attacker"]))
        play = Play(work, programs, sink, LONG_S if arguments.long else SHORT_S)
        rows = list(judged(play.rows(arguments.pairs, job_for_each_listener=arguments.long)))
    show(rows)
    print(f"{sum(row.tries - 1 for row in rows)} pairs were played again")
    failed = sum(any(row.problems()) for row in rows)
    print(f"{len(rows) - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

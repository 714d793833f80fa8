#!/usr/bin/env python3
"""The cost to a job of a full-rate attack by another user, for each listener that muster opens.

    attacks.py [--long] [--list] [--blind WAY] [--attack ATTACK] [LISTENER]...     LISTENER, ATTACK: as --list has them: "store far", close

Two attackers (attacker.cc) as another user: on the node of the listener ("near"), on the node of the ranks that connect to it
("beside"), or one on each of two other nodes ("far"). First
they attack a listener of their own on that node: the job's need then is the control, and the limits are on its greater need when the
same two attack it. A pair over a limit on time is played again, three times at most: a busy machine must not fail it, but a permanent
excess does. --long: every attack for 20 s, else one for 2 s.

An attack counts only if it meets its listener: with a connection, or denied if no other user may connect, and with a first message
that the listener answers. --blind: for a check of that, 1 s an attack; every row must fail. `listener`: none is found.
`connection`: it takes none. `message`: a wrong first message. `target`: the attackers get the address of no listener.

Wants a test cluster of four nodes ($TEST_CLUSTER) and the programs in $MUSTER_BIN_DIR. Prints the table of what it
has seen; the last line is `N passed, N failed, 0 skipped`, a row each.
"""

import argparse
import concurrent.futures
import contextlib
import dataclasses
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time

sys.path[1:1] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), folder) for folder in ("..", "../../cluster")]
from attack_job import ADDRESS, ATTACKED, PATIENCE_S, STRANGER, Alone, Blind, Broken, Job, Launch, fresh_port  # noqa: E402  (the path comes first)
from checks import rerun  # noqa: E402
from listeners import BLIND, LISTENERS, NEAR_TCP, NODES, STORE_HELLO, Listener  # noqa: E402
from observer import on  # noqa: E402
from promise import HEAD, REPORT, TRIES, Cost, Report, Row  # noqa: E402

BLIND_S, SHORT_S, LONG_S = 1, 2, 20
SETTLE_S = 0.3
SAMPLE_S = 0.1
PROGRAMS = {
    "muster": "bootstrap/cli/muster",
    "attacker": "tests/faults/attack/attacker",
    "at_work": "tests/faults/attack/at_work",
    "greeting": "tests/faults/attack/greeting",
}
# A rank that leaves a group at work; a leader would take the connection with the heartbeats along.
LEAVER = 3
# Of a job that was attacked: no attack of its own.
THE_END = Listener("(the end of the job)", "-", "", None, None, b"")


class Attackers:
    """Two at full rate, from begin() to end()."""

    def __init__(self, program, listener, attack, seconds, hello, targets):
        words = [attack, str(seconds + PATIENCE_S), hello or "-", *targets]
        self._children = [
            on("--user", STRANGER, node, program, *words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            for node in NODES[listener.where]
        ]

    def end(self):
        """A Report of each."""
        for child in self._children:
            child.stdin.close()
        said = [child.stdout.read().strip() for child in self._children]
        for child in self._children:
            child.stdout.close()
        codes = [child.wait() for child in self._children]
        found = [REPORT.fullmatch(text) for text in said]
        if any(codes) or not all(found):
            raise Blind(f"the attackers ended with {codes}: {said}")
        return [Report(*map(int, match.groups()[:3]), match[4]) for match in found]


class Sink:
    """The listener of the attackers' own. One for each control: a port that was flooded has no free connections for a minute."""

    def __init__(self, program):
        serve = (program, "serve", str(fresh_port()))
        self._child = on("--user", STRANGER, ATTACKED, *serve, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
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


class Watch:
    """What the job needs while this is entered; its heartbeats are read."""

    def __init__(self, job):
        self.descriptors, self.memory = 0, 0.0
        self._job, self._over = job, threading.Event()

    def __enter__(self):
        self._job.forget_peak()
        self._threads = concurrent.futures.ThreadPoolExecutor(1)
        self._samples = self._threads.submit(self._run)
        return self

    def __exit__(self, *_):
        self._over.set()
        self._threads.shutdown()
        self._samples.result()

    def _run(self):
        while not self._over.wait(SAMPLE_S):
            self._sample()
        self._sample()

    def _sample(self):
        self.descriptors = max(self.descriptors, self._job.descriptors())
        self.memory = max(self.memory, self._job.most_memory())
        self._job.read_heartbeats()


class Play:
    def __init__(self, work, programs, seconds):
        self.work, self.programs, self.seconds = work, programs, seconds

    def sink(self):
        return Sink(self.programs["attacker"])

    def job(self, held="-", **options):
        return Job(self.folder(), self.programs, held, **options)

    def folder(self):
        folder = tempfile.mkdtemp(prefix="attacked-", dir=self.work)
        os.chmod(folder, 0o755)
        job_folder = os.path.join(folder, f"attacked-{os.path.basename(folder)[-8:]}")
        os.mkdir(job_folder)
        return job_folder

    def window(self, job, listener, attack, targets):
        """The job's need while the attack lasts."""
        lines = job.lines()
        with Watch(job) as watch:
            attackers = Attackers(self.programs["attacker"], listener, attack, self.seconds, listener.hello(job), targets)
            time.sleep(SETTLE_S)
            start, began = time.time(), time.monotonic()
            while time.monotonic() - began < self.seconds and not job.ended():
                time.sleep(0.1)
            end, over = time.time(), time.monotonic()
        late = job.late(start, end)
        reports = attackers.end()
        if job.ended():
            raise Broken(f"ended during the attack: {job.stderr_tail()}")
        # An operation that the attack holds up is known when it has ended.
        job.await_operations(over)
        return Cost(late, job.slowest(began, over), 0.0, job.lines() - lines, watch.descriptors, watch.memory, reports)

    # ---- a group at work

    def at_work(self, pairs):
        """A row for each (listener, attack) of one kind of job, on one job while it lives through them, and one for its end."""
        phase, library = pairs[0][0].of_job()
        leaver = {"": None, "leaving": LEAVER}[phase]
        job, lines, before = None, 0, Cost()
        try:
            for listener, attack in pairs:
                for count in range(1, TRIES + 1):
                    if job is None:
                        job, lines = self.job(waits=True, leaver=leaver, library=library), 0
                        job.await_formed()
                        job.watch_heartbeats()
                        job.begin()
                        lines, before = job.lines(), need(job)
                    row = self.pair(job, listener, attack)
                    row.tries = count
                    job.await_quiet()
                    row.cost.lines, lines = job.lines() - lines, job.lines()
                    if row.outcome != "same":
                        job.close()
                        job = None
                    if row.is_final():
                        break
                    again(row)
                yield row
            if job:
                cost = need(job)
                code = job.finish()
                outcome = "same" if code == 0 else f"exit code {code}: {job.stderr_tail()}"
                cost.lines = job.lines() - lines
                yield Row(dataclasses.replace(THE_END, phase=phase, library=library), "-", before, cost, 0, outcome)
        finally:
            if job:
                job.close()

    def pair(self, job, listener, attack):
        row = Row(listener, attack, Cost(), Cost(), self.seconds)
        try:
            targets = listener.aim(job)
            with self.sink() as sink:
                row.control = self.window(job, listener, attack, sink.targets(listener.kind))
            row.cost = self.window(job, listener, attack, targets)
        except Broken as broken:
            row.outcome = str(broken)
        except Blind as blind:
            row.blind = str(blind)
        return row

    # ---- a group that forms, its first call, a launch

    def timed(self, listener, attack, play):
        """A row of play(), which gets the function that makes its targets of what it plays."""
        for count in range(1, TRIES + 1):
            row = Row(listener, attack, Cost(), Cost(), self.seconds)
            row.tries = count
            try:
                with self.sink() as sink:
                    row.control = play(listener, attack, lambda _, of=sink: of.targets(listener.kind))
                row.cost = play(listener, attack, listener.aim)
            except Broken as broken:
                row.outcome = str(broken)
            except Blind as blind:
                row.blind = str(blind)
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

        def prepare(job):
            job.await_listener(listener.targets)

        held = "1" if listener.kind == "unix" else "2,3"
        job = self.job(held, secret=listener.phase == "secret", library=listener.library)
        return self.passed_beside(listener, attack, targets, job, prepare, come)

    def connected_beside(self, listener, attack, targets):
        """The ranks connect to each other, for their first call, during the attack."""

        def connect(job):
            job.begin()
            return job.first()

        def prepare(job):
            job.await_formed()
            job.watch_heartbeats()

        return self.passed_beside(listener, attack, targets, self.job(waits=True), prepare, connect)

    def ended_beside(self, listener, attack, targets):
        """The programs of a launch end during the attack."""

        def end(job):
            if job.finish() is None:
                raise Broken("did not end")
            return [time.monotonic()]

        return self.served_beside(listener, attack, targets, Launch(self.folder(), self.programs, STORE_HELLO), end)

    def come_beside(self, listener, attack, targets):
        """Another client of `muster store` comes during the attack."""
        return self.served_beside(listener, attack, targets, Alone(self.folder(), self.programs, STORE_HELLO), Alone.come)

    def served_beside(self, listener, attack, targets, job, step):
        """A program of the job sends requests to a store during the attack."""
        cost = self.passed_beside(listener, attack, targets, job, Job.await_formed, step)
        cost.slow = job.slowest(min(job.formed()), time.monotonic())
        return cost

    def passed_beside(self, listener, attack, targets, job, prepare, step):
        """step() returns when each rank has passed it."""
        try:
            prepare(job)
            aimed = targets(job)
            lines = job.lines()
            attackers = Attackers(self.programs["attacker"], listener, attack, self.seconds, listener.hello(job), aimed)
            try:
                with Watch(job) as watch:
                    start = time.time()
                    time.sleep(self.seconds)
                    began = time.monotonic()
                    took = max(step(job)) - began
                late = job.late(start, time.time())
            finally:
                reports = attackers.end()
            code = job.finish()
            if code != 0:
                raise Broken(f"exit code {code}: {job.stderr_tail()}")
            return Cost(late, 0.0, took, job.lines() - lines, watch.descriptors, watch.memory, reports)
        finally:
            job.close()

    # ---- all

    def rows(self, pairs, job_for_each_listener):
        timed = {
            "forming": self.formed_beside,
            "secret": self.formed_beside,
            "connecting": self.connected_beside,
            "launch": self.ended_beside,
            "alone": self.come_beside,
        }
        at_work = []
        for listener, attack in pairs:
            if listener.phase in timed:
                yield self.timed(listener, attack, timed[listener.phase])
            else:
                at_work.append((listener, attack))
        for _, of_job in itertools.groupby(at_work, lambda pair: str(pair[0]) if job_for_each_listener else pair[0].of_job()):
            yield from self.at_work(list(of_job))


def need(job):
    """Between attacks."""
    with Watch(job) as watch:
        pass
    return Cost(descriptors=watch.descriptors, memory=watch.memory)


def show(rows):
    print("| " + " | ".join(HEAD) + " |")
    print("|" + "---|" * len(HEAD))
    for row in rows:
        print("| " + " | ".join(row.cells()) + " |")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--blind", choices=BLIND)
    parser.add_argument("--attack", choices=[*NEAR_TCP, "flood"])
    parser.add_argument("listener", nargs="*")
    arguments = parser.parse_args()
    unknown = set(arguments.listener) - {str(one) for one in LISTENERS}
    if unknown:
        parser.error(f"no listener: {', '.join(sorted(unknown))} (--list prints them)")
    arguments.listeners = [one for one in LISTENERS if not arguments.listener or str(one) in arguments.listener]
    if arguments.blind:
        arguments.listeners = [BLIND[arguments.blind](one) for one in arguments.listeners]
    arguments.pairs = [(one, attack) for one in arguments.listeners for attack in attacks_on(one, arguments)]
    if not arguments.list and not arguments.pairs:
        parser.error("no attack on these listeners (--list prints them)")
    return arguments


def attacks_on(listener, arguments):
    if arguments.attack:
        return [attack for attack in listener.attacks() if attack == arguments.attack]
    return listener.attacks() if arguments.long else [listener.short]


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
        print("\n".join(f"{one}: {', '.join(one.attacks())}; in every run: {one.short}" for one in arguments.listeners))
        return 0
    programs = {name: os.path.join(os.environ["MUSTER_BIN_DIR"], path) for name, path in PROGRAMS.items()}
    with contextlib.ExitStack() as stack:
        work = stack.enter_context(tempfile.TemporaryDirectory())
        os.chmod(work, 0o755)
        # A folder that another user can reach.
        programs["attacker"] = shutil.copy(programs["attacker"], work)
        play = Play(work, programs, BLIND_S if arguments.blind else LONG_S if arguments.long else SHORT_S)
        rows = list(judged(play.rows(arguments.pairs, job_for_each_listener=arguments.long)))
    show(rows)
    print(f"{sum(row.tries - 1 for row in rows)} pairs were played again")
    failed = sum(any(row.problems()) for row in rows)
    print(f"{len(rows) - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

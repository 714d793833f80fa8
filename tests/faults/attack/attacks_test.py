#!/usr/bin/env python3
"""attacks.py without a cluster: which results are final, which are played again, and what is measured."""

import contextlib
import io
import os
import sys
import threading
import time
import unittest
import unittest.mock

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import attacks  # noqa: E402  (the path comes first)
from attack_job import Broken  # noqa: E402
from listeners import Listener  # noqa: E402
from promise import MOST_FORMING_S, MOST_LATE_S, TRIES, Cost, Report  # noqa: E402

MET = Report(1, 1, 0, "none")


def cost(**found):
    return Cost(reports=[MET, MET], **found)


class Met(Listener):
    """One that takes its first message."""

    def aim(self, job):
        return self.targets(job)


class Job:
    """One that forms, and is quiet. Its heartbeats are LATE_S late."""

    LATE_S = 0.02

    def __init__(self):
        self.used = Cost(memory=100.0)
        self.watched = False
        self.busy, self.seen = False, threading.Event()

    def await_formed(self):
        pass

    def watch_heartbeats(self):
        self.watched = True

    def late(self, *_):
        return self.LATE_S if self.watched else 0.0

    def read_heartbeats(self):
        pass

    def await_quiet(self):
        pass

    def lines(self):
        return 0

    def forget_peak(self):
        pass

    def most_memory(self):
        return self.used.memory

    def descriptors(self):
        if self.busy:
            self.seen.set()
            return 300
        return self.used.descriptors

    def begin(self):
        pass

    def first(self):
        """Needs more descriptors until they have been counted."""
        self.busy = True
        self.seen.wait(10)
        self.busy = False
        return [time.monotonic()]

    def finish(self):
        return 0

    def close(self):
        pass


class Play(attacks.Play):
    """Each control and each attack costs what the next of `results` says; an exception is raised."""

    def __init__(self, *results):
        super().__init__("", {"attacker": ""}, 2)
        self.results = list(results)

    def sink(self):
        return contextlib.nullcontext(self)

    def targets(self, _):
        return ["tcp:control"]

    def job(self, *_, **__):
        return Job()

    def window(self, job, *_):
        job.used = self.next()
        return job.used

    def next(self):
        if not self.results:
            raise AssertionError("a final result is played again")
        result = self.results.pop(0)
        if isinstance(result, Exception):
            raise result
        return result


def met(phase=""):
    return Met("root", "far", "hello", lambda _: ["tcp:target"], lambda _: "", b"", "tcp", phase)


class Attacks(unittest.TestCase):
    def play(self, phase, *results):
        """The row, and how many pairs are played again."""
        listener = met(phase)
        play, printed = Play(*results), io.StringIO()
        with contextlib.redirect_stdout(printed):
            if phase:
                row = play.timed(listener, "hello", lambda *_: play.next())
            else:
                row = next(play.at_work([(listener, "hello")]))
        self.assertEqual(play.results, [])
        return row, sum(line.startswith("rerun ") for line in printed.getvalue().splitlines())

    def test_a_changed_outcome_is_final(self):
        for phase in ("", "forming", "connecting"):
            for results in ([cost(), Broken("ended with 1")], [Broken("ended with 1")]):
                with self.subTest(phase=phase, results=results):
                    row, reruns = self.play(phase, *results)
                    self.assertEqual((list(row.problems()), reruns), (["outcome: ended with 1"], 0))

    def test_an_excess_of_time_is_played_again(self):
        for phase, late in (("", cost(late=2 * MOST_LATE_S)), ("forming", cost(forming=2 * MOST_FORMING_S))):
            with self.subTest(phase=phase):
                row, reruns = self.play(phase, cost(), late, cost(), cost())
                self.assertEqual((list(row.problems()), reruns), ([], 1))
                row, reruns = self.play(phase, *[cost(), late] * TRIES)
                self.assertEqual((len(row.problems()), reruns), (1, TRIES - 1))

    def test_a_changed_outcome_after_an_excess_of_time_is_final(self):
        row, reruns = self.play("", cost(), cost(late=2 * MOST_LATE_S), cost(), Broken("ended with 1"))
        self.assertEqual((list(row.problems()), reruns), (["outcome: ended with 1"], 1))

    def test_other_limits_are_final(self):
        for found in (cost(lines=21), cost(descriptors=257), cost(memory=33), Cost(reports=[Report(1, 0, 0, "none")])):
            with self.subTest(found=found):
                row, reruns = self.play("forming", cost(), found)
                self.assertEqual((len(row.problems()), reruns), (1, 0))

    def test_what_rows_leave_behind_counts_at_the_end(self):
        for problem, used in (
            ("40 MiB more", lambda rows: cost(memory=100 + 20.0 * rows)),
            ("300 more descriptors", lambda rows: cost(memory=100, descriptors=150 * rows)),
        ):
            with self.subTest(problem=problem):
                *rows, end = Play(*map(used, (0, 1, 1, 2))).at_work([(met(), "hello")] * 2)
                self.assertEqual([list(row.problems()) for row in rows], [[], []])
                self.assertEqual(list(end.problems()), [problem])

    def test_a_peak_counts_once(self):
        job = attacks.Job.__new__(attacks.Job)
        job.read_heartbeats = lambda: None
        job.pids = lambda: [os.getpid()]
        bytearray(64 << 20)
        before = job.most_memory()
        self.assertGreater(before, 64)
        self.assertLess(attacks.need(job).memory, before - 32)

    @unittest.mock.patch.object(attacks, "Attackers")
    def test_descriptors_count_to_the_end_of_the_step(self, attackers):
        attackers.return_value.end.return_value = [MET, MET]
        play = Play()
        play.seconds = 0
        found = play.passed_beside(met("connecting"), "hello", lambda _: ["tcp:target"], Job(), Job.await_formed, Job.first)
        self.assertEqual(found.descriptors, 300)

    @unittest.mock.patch.object(attacks, "Attackers")
    def test_heartbeats_count_while_ranks_connect(self, attackers):
        attackers.return_value.end.return_value = [MET, MET]
        play = Play()
        play.seconds = 0
        self.assertEqual(play.connected_beside(met("connecting"), "hello", lambda _: ["tcp:target"]).late, Job.LATE_S)


if __name__ == "__main__":
    unittest.main()

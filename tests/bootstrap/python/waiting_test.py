#!/usr/bin/env python3
"""Interrupted calls. A tracer raises at each instruction, and so wherever a signal handler can."""

import os
import signal
import sys
import threading
import unittest
import unittest.mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import cases  # noqa: E402  (the path comes first)

sys.dont_write_bytecode = True
sys.path.insert(0, cases.PACKAGE)

from muster import _waiting  # noqa: E402


class Interrupted(Exception):
    pass


def interrupted(when, function, *arguments):
    """Whether `when` was true before an instruction of Waiter.__call__ in this call."""

    def tracer(frame, event, _):
        if frame.f_code is not _waiting.Waiter.__call__.__code__:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode" and when():
            raise Interrupted
        return tracer

    sys.settrace(tracer)
    try:
        function(*arguments)
    except Interrupted:
        return True
    finally:
        sys.settrace(None)
    return False


class Calls(unittest.TestCase):
    def setUp(self):
        self.abandoned = []
        self.waiter = _waiting.Waiter(self.abandoned.append)
        self.jobs = self.waiter._queue()
        self.addCleanup(self.waiter.rest)

    def until_idle(self):
        """The second thread makes one call after the other."""
        last = _waiting._Job(bool, ())
        self.jobs.put(last)
        self.assertTrue(last.done.acquire(timeout=cases.PATIENCE_S))

    def at_each_instruction(self, then):
        for place in range(sys.maxsize):
            left = iter(range(place))
            if not interrupted(lambda: next(left, None) is None, self.waiter, int, place):
                break
            self.until_idle()
            with self.subTest(instruction=place):
                then()
        self.assertGreater(place, 20)

    def test_that_have_returned_are_not_awaited(self):
        def go_on():
            self.assertFalse(self.waiter.stuck)
            self.assertEqual(self.waiter(str, 5), "5")
            self.assertEqual(self.abandoned, [])

        self.at_each_instruction(go_on)

    def test_that_have_returned_are_settled(self):
        self.at_each_instruction(lambda: self.assertTrue(self.waiter.settle(0)))

    def test_that_have_not_begun_never_begin(self):
        begun, gate, made = threading.Event(), threading.Event(), []
        self.jobs.put(_waiting._Job(lambda: (begun.set(), gate.wait()), ()))
        self.assertTrue(begun.wait(cases.PATIENCE_S))
        self.assertTrue(interrupted(lambda: not self.jobs.empty(), self.waiter, made.append, 1))
        self.assertFalse(self.waiter.stuck)
        self.assertTrue(self.waiter.settle(0))
        gate.set()
        self.until_idle()
        self.assertEqual((made, self.abandoned), ([], []))

    def interrupted_while_it_waits(self, begun, gate):
        self.assertTrue(interrupted(begun.is_set, self.waiter, lambda: (begun.set(), gate.wait())))

    def test_that_are_about_to_return_do_not_fail_the_group(self):
        begun, gate = threading.Event(), threading.Event()
        self.interrupted_while_it_waits(begun, gate)

        class Opens:
            """Lets the call return only when the next one waits for it."""

            def __init__(self, lock):
                self.release, self._lock = lock.release, lock

            def acquire(self, timeout):
                gate.set()
                return self._lock.acquire(timeout=timeout)

        self.waiter._left.done = Opens(self.waiter._left.done)
        with unittest.mock.patch.object(_waiting, "LOOK_S", cases.PATIENCE_S):
            self.assertEqual(self.waiter(str, 5), "5")
        self.assertEqual(self.abandoned, [])

    def test_that_wait_are_stuck_until_they_return(self):
        begun, gate = threading.Event(), threading.Event()
        self.waiter._abandon = lambda reason: (self.abandoned.append(reason), gate.set())
        self.interrupted_while_it_waits(begun, gate)
        self.assertTrue(self.waiter.stuck)
        self.assertFalse(self.waiter.settle(0))
        self.assertEqual(self.waiter(str, 5), "5")
        self.assertEqual(self.abandoned, [b"was interrupted (Interrupted)"])
        self.assertFalse(self.waiter.stuck)

    def test_of_a_signal_handler_do_not_wait_for_the_call_that_it_interrupted(self):
        begun, gate = threading.Event(), threading.Event()

        def handler(*_):
            self.waiter(gate.set)

        self.addCleanup(signal.signal, signal.SIGUSR1, signal.signal(signal.SIGUSR1, handler))

        def waits():
            signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)
            return gate.wait(cases.PATIENCE_S)

        self.assertTrue(self.waiter(waits))
        self.assertIsNotNone(self.waiter._queue())

    def test_wait_again_after_a_world_of_one(self):
        self.waiter.rest()
        self.assertIsNone(self.waiter._queue())
        self.waiter.wake()
        self.assertEqual(self.waiter(str, 5), "5")
        self.assertIsNotNone(self.waiter._queue())


if __name__ == "__main__":
    cases.main()

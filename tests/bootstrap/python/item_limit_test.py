#!/usr/bin/env python3
"""The limit of an item that ends just then. A tracer runs the signal's handler at each instruction, or raises there as a thread does."""

import os
import signal
import sys
import threading
import time
import unittest
import unittest.mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import cases  # noqa: E402  (the path comes first)

sys.dont_write_bytecode = True
sys.path.insert(0, cases.PACKAGE)

from muster import _item_limit, _maps  # noqa: E402
from muster._item_limit import ItemLimit, ItemTimeout  # noqa: E402

WITH = [one.__code__ for one in (ItemLimit.begin, ItemLimit.end, _maps.MapItem.__enter__, _maps.MapItem.__exit__)]


class Late:
    """An item of an hour whose limit ends at the instruction `place` of these functions, or before it raises."""

    def __init__(self, place, codes):
        self.limit = ItemLimit(3600)
        self.left = iter(range(place))
        self.codes = codes
        self.arrives = None  # what a real thread would have sent
        self.arrived = False
        self.reasons = []
        self.queue = unittest.mock.Mock()
        self.queue.next.side_effect = [(0, 1), None]
        self.queue.fail.side_effect = lambda number, key, reason, took: self.reasons.append(reason)
        self.plan = unittest.mock.Mock(keys=[b"0"])

    def ends(self):
        def by_signal(_thread, number):
            self.arrives = lambda frame: signal.getsignal(number)(number, frame)

        def in_thread(_thread, kind):
            self.arrives = unittest.mock.Mock(side_effect=kind)

        with unittest.mock.patch.object(signal, "pthread_kill", by_signal):
            with unittest.mock.patch.object(_item_limit, "_raise_in", in_thread):
                self.limit._end_late(time.monotonic() + 7200)

    def tracer(self, frame, event, _):
        if frame.f_code not in self.codes:
            return None
        frame.f_trace_opcodes = True
        if event in ("call", "opcode") and not self.arrived and next(self.left, None) is None:
            if not self.limit._lock.locked():
                self.ends()
            if self.arrives:
                self.arrived = True
                self.arrives(frame)
        return self.tracer

    def function(self, _item):
        self.ends()
        raise ValueError

    def in_map(self):
        _maps._work(self.queue, self.plan, self.limit, self.function)

    def in_loop(self):
        with _maps.MapItem(self.queue, self.plan, self.limit, 0, 1) as item:
            self.function(item)


class Items(unittest.TestCase):
    def fail_at_each_instruction(self, run, codes=WITH):
        for place in range(sys.maxsize):
            late = Late(place, codes)

            def replaces(_thread, kind):
                late.arrives = None
                raise kind

            with unittest.mock.patch.object(_item_limit, "_raise_in", replaces):
                sys.settrace(late.tracer)
                try:
                    run(late)
                finally:
                    sys.settrace(None)
                    late.limit.close()
            if not late.arrived:
                break
            with self.subTest(instruction=place):
                self.assertEqual(len(late.reasons), 1)
                self.assertTrue(late.reasons[0].startswith("not finished after 3600 s (timeout)\n"), late.reasons)
                self.assertEqual((late.limit._ends, late.limit._late), ({}, {}))
        self.assertGreater(place, 20)

    def test_of_a_map(self):
        self.fail_at_each_instruction(Late.in_map)

    def test_of_a_loop(self):
        self.fail_at_each_instruction(Late.in_loop)

    def beside_a_handler(self):
        before = signal.signal(signal.SIGALRM, lambda number, frame: None)
        self.addCleanup(signal.signal, signal.SIGALRM, before)

    def test_of_a_map_whose_limit_is_no_signal(self):
        self.beside_a_handler()
        self.fail_at_each_instruction(Late.in_map)

    def test_of_a_loop_whose_limit_is_no_signal(self):
        self.beside_a_handler()
        self.fail_at_each_instruction(Late.in_loop, [ItemLimit.end.__code__])


    def test_that_begin_or_end_have_no_exception_in_their_thread(self):
        self.beside_a_handler()
        for code in WITH:
            limit = ItemLimit(3600)
            limit.begin()
            frames = {threading.get_ident(): unittest.mock.Mock(f_code=code)}
            with unittest.mock.patch.object(sys, "_current_frames", return_value=frames):
                limit._end_late(time.monotonic() + 7200)
            self.assertTrue(limit.end())
            limit.close()


class Tracers(unittest.TestCase):
    def test_go_on_after_a_late_item(self):
        program = (
            "import sys, time\n"
            "from muster._item_limit import ItemLimit, ItemTimeout\n"
            "limit = ItemLimit(3600)\n"
            "limit.begin()\n"
            "try:\n"
            "    limit._end_late(time.monotonic() + 7200)\n"
            "    while True: pass\n"
            "except ItemTimeout:\n"
            "    limit.end()\n"
            "sys.settrace(lambda *_: None)\n"
            "(lambda: print('goes on'))()\n"
        )
        done = cases.run([sys.executable, "-c", program])
        self.assertEqual((done.returncode, done.stdout), (0, "goes on\n"), done.stderr)


class Handlers(unittest.TestCase):
    def setUp(self):
        self.limit = ItemLimit(3600)
        self.addCleanup(signal.signal, signal.SIGALRM, signal.SIG_DFL)
        self.addCleanup(self.limit.close)

    def test_that_an_item_has_reset(self):
        self.limit.begin()
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        with unittest.mock.patch.object(signal, "pthread_kill") as kill:
            with self.assertRaises(ItemTimeout):
                self.limit._end_late(time.monotonic() + 7200)
        kill.assert_not_called()
        self.assertTrue(self.limit.end())

    def test_that_an_item_has_set_stay(self):
        def mine(_number, _frame):
            pass

        signal.signal(signal.SIGALRM, mine)
        self.limit.close()
        self.assertIs(signal.getsignal(signal.SIGALRM), mine)


if __name__ == "__main__":
    cases.main()

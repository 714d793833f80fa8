#!/usr/bin/env python3
"""The limit of an item, and the handlers of the program for its signal."""

import os
import signal
import sys
import time
import unittest
import unittest.mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import cases  # noqa: E402  (the path comes first)

sys.dont_write_bytecode = True
sys.path.insert(0, cases.PACKAGE)

from muster._item_limit import ItemLimit, ItemTimeout  # noqa: E402


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

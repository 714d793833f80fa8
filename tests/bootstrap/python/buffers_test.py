#!/usr/bin/env python3
"""Memory of the caller, and copies of the library's."""

import glob
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import cases  # noqa: E402  (the path comes first)


class Programs(unittest.TestCase):
    def passes(self, program):
        done = cases.run([sys.executable, "-c", program])
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))


class Copies(Programs):
    def test_have_the_whole_size(self):
        """2**62 bytes do not exist: as a C int they are 0, and the copy succeeds."""
        self.passes(
            "import ctypes\n"
            "from muster.communicator import Communicator\n"
            "class Library:\n"
            "    def muster_parts_size(self, parts, index): return 2**62\n"
            "    def muster_parts_data(self, parts, index): return ctypes.addressof(memory)\n"
            "memory = ctypes.create_string_buffer(8)\n"
            "comm = Communicator.__new__(Communicator)\n"
            "comm._library, comm._owned = Library(), False\n"
            "try:\n"
            "    raise AssertionError(comm._part(None, 0))\n"
            "except MemoryError:\n"
            "    pass\n"
            "Library.muster_parts_size = lambda *_: 7\n"
            "memory.value = b'ab\\0cdefg'\n"
            "assert comm._part(None, 0) == b'ab\\0cdef'\n"
        )

    def test_are_made_without_ctypes_string_at(self):
        for name in glob.glob(os.path.join(cases.PACKAGE, "muster/*.py")):
            with open(name, encoding="utf-8") as file:
                self.assertFalse("string_at(" in file.read(), name)


if __name__ == "__main__":
    cases.main()

#!/usr/bin/env python3
"""libmuster.so: the same results as through C++, nothing shown but its own names, every mistake an error."""

import os
import re
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../python"))

import cases  # noqa: E402  (the path comes first)


def output(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


class Results(unittest.TestCase):
    def lines(self, program):
        done = cases.launch(3, [os.path.join(HERE, program)])
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return sorted(done.stdout.splitlines())

    def test_are_those_of_cpp(self):
        ours = self.lines("conformance")
        self.assertEqual(ours, self.lines("reference"))
        # For each rank: 9 types with 5 operations of 3 reductions and 6 movements, two more lines, and the parts.
        self.assertEqual(len(ours), 3 * (9 * (5 * 3 + 6) + 2) + 3 + 3 * 3 + 3)

    def test_each_mistake_is_an_error(self):
        done = cases.run([os.path.join(HERE, "misuse")])
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))


class Library(unittest.TestCase):
    def test_shows_what_the_header_declares_and_nothing_else(self):
        shown = re.findall(r" [A-Z] (\S+)$", output("nm", "-D", "--defined-only", cases.LIBRARY), re.MULTILINE)
        with open(os.path.join(cases.TOP, "bootstrap/c/muster.h"), encoding="utf-8") as header:
            declared = re.findall(
                r"^MUSTER_(?:EXPORT|FALLIBLE) (?:[a-z0-9_]+[ *]+)+?(muster_\w+)\(",
                header.read().replace("const ", ""),
                re.MULTILINE,
            )
        self.assertEqual(sorted(shown), sorted(declared))
        self.assertGreater(len(declared), 40)

    def test_needs_libc_alone(self):
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", cases.LIBRARY))
        self.assertEqual(sorted(needed), ["ld-linux-x86-64.so.2", "libc.so.6"])


if __name__ == "__main__":
    cases.main()

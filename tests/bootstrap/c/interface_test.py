#!/usr/bin/env python3
"""libmuster.so: the same results as through C++, nothing shown but its own names, every mistake an error."""

import os
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import results  # noqa: E402  (the path comes first)
from results import cases  # noqa: E402


def output(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


class Loaded(results.Results, unittest.TestCase):
    SUFFIX = ""


class Library(unittest.TestCase):
    def test_shows_what_the_header_declares_and_nothing_else(self):
        names = output("nm", "-D", "--defined-only", "--with-symbol-versions", cases.LIBRARY)
        shown = re.findall(r" [B-Z] (\S+)@@MUSTER_1$", names, re.MULTILINE)
        # Small letters are local: variables of threads, which the linker lists for their relocations.
        global_names = re.findall(r" [A-Z] (\S+)$", names, re.MULTILINE)
        self.assertEqual(len(shown) + 1, len(global_names), "beside the version itself all have this one")
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

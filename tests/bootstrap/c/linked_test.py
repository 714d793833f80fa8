#!/usr/bin/env python3
"""The C interface linked into a program, which sanitizers can look into: the same results, the same errors."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import results  # noqa: E402  (the path comes first)


class Linked(results.Results, unittest.TestCase):
    SUFFIX = "_linked"


if __name__ == "__main__":
    results.cases.main()

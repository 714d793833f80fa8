"""The results of the programs of this folder, however the interface came into them."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../python"))

import cases  # noqa: E402  (the path comes first)

RANKS = 3


class Results:
    """For a unittest.TestCase whose SUFFIX ends the names of its programs."""

    def lines(self, program):
        # Not its warnings: tests beside this one knock at ports of this machine.
        done = cases.launch(RANKS, ["env", "MUSTER_LOG_LEVEL=error", os.path.join(HERE, program)])
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return sorted(done.stdout.splitlines())

    def test_are_those_of_cpp(self):
        ours = self.lines("conformance" + self.SUFFIX)
        self.assertEqual(ours, self.lines("reference"))
        # For each rank: 9 types with 5 operations of 3 reductions and 6 movements, two more lines, and the parts.
        self.assertEqual(len(ours), RANKS * (9 * (5 * 3 + 6) + 2) + 3 + 3 * 3 + 3)

    def test_each_mistake_is_an_error(self):
        done = cases.run([os.path.join(HERE, "misuse" + self.SUFFIX)])
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", "muster: error: a line\nmuster: error: \n"))

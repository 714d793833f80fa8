#!/usr/bin/env python3
"""muster.lm_eval with a harness of its own: what rank 0 and the others do, whatever happens to one of them."""

import json
import os
import shutil
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import cases  # noqa: E402  (the path comes first)

TEXTS = ["a" * (i * 7 % 20) for i in range(20)]
CHOSEN = [[len(text) / 3, i % 2 == 0] for i, text in enumerate(TEXTS)]
RESULTS = [CHOSEN + CHOSEN[:1], [len(text) / 7 for text in TEXTS], [f"a=1 {text}" for text in TEXTS]]


class Harness(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(shutil.rmtree, self.folder)

    def evaluate(self, ranks, *modes, **more):
        command = [sys.executable, os.path.join(HERE, "harness_member.py"), self.folder, *modes]
        return cases.run(command, **more) if ranks == 1 else cases.launch(ranks, command, "log.level=warning", **more)

    def passes(self, ranks, *modes, **more):
        done = self.evaluate(ranks, *modes, **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("\n"), 1, done)
        self.assertEqual(json.loads(done.stdout), RESULTS)
        return done

    def notes(self):
        path = os.path.join(self.folder, "done")
        if not os.path.exists(path):
            return []
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
        os.unlink(path)
        return lines

    def journal(self):
        return f"journal={os.path.join(self.folder, 'answers')}"

    def test_results_and_batches_do_not_depend_on_the_number_of_ranks(self):
        cut = []
        for ranks in (1, 2, 4):
            self.passes(ranks, "cuts")
            cut.append(sorted(self.notes()))
        self.assertEqual(cut[0], cut[1])
        self.assertEqual(cut[0], cut[2])
        self.assertEqual(len(cut[0]), 7)

    def test_requests_of_many_parts(self):
        self.passes(2, "parts")

    def test_requests_larger_than_a_result_may_be(self):
        self.passes(2, "large")

    def test_the_exit_status_is_the_harness_s(self):
        for ranks in (1, 3):
            self.assertEqual(self.evaluate(ranks, "usage").returncode, 2)
            done = self.evaluate(ranks, "fails")
            self.assertEqual(done.returncode, 1)
            self.assertIn("LookupError: of the harness", done.stderr)

    def test_a_batch_that_fails_everywhere_is_named(self):
        for ranks in (1, 3):
            for more in ([], ["swallows"]):
                done = self.evaluate(ranks, "bad", *more)
                self.assertEqual(done.returncode, 79, done.stderr)
                self.assertRegex(done.stderr, r"item \d \(sums/\d+/0 \+2 \w{16}\) on rank \d on \S+: ValueError: 7 is bad")

    def test_a_killed_rank_changes_nothing(self):
        done = self.passes(3, "killed=rank1", "killed=rank2")
        self.assertRegex(done.stderr, r"rank \d on \S+ failed: signal 9")

    def test_the_end_of_rank_0_ends_all(self):
        done = self.evaluate(3, "killed=rank0")
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"rank 0 on \S+ failed: signal 9")
        self.assertEqual(done.stdout, "")

    def test_a_rank_with_a_broken_device_takes_no_more(self):
        for rank in (0, 1):
            done = self.passes(2, f"broken=rank{rank}")
            for name in os.listdir(self.folder):
                if name.startswith("began-"):
                    os.unlink(os.path.join(self.folder, name))
            self.assertIn(f"rank {rank} on", done.stderr)
            self.assertIn("this rank takes no more requests: its device has failed: CUDA error: an illegal memory access", done.stderr)
        for ranks in (1, 2):
            done = self.evaluate(ranks, *(f"broken=rank{rank}" for rank in range(ranks)))
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("BrokenRankError: its device has failed", done.stderr)

    def test_a_journal_is_resumed_with_any_number_of_ranks(self):
        self.assertEqual(self.evaluate(3, "bad", self.journal()).returncode, 79)
        first = len(self.notes())
        done = self.evaluate(1, self.journal())
        self.assertEqual((done.returncode, self.notes()), (79, []), "what was given up is tried again when asked alone")
        self.passes(2, self.journal(), "--muster_retry_failed")
        self.assertEqual(len(self.notes()), 1)
        self.assertEqual(first, 6 + 3)
        self.passes(1, self.journal())
        self.assertEqual(self.notes(), [])
        done = self.evaluate(1, self.journal(), "other")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"DisagreementError: .*a=1")

    @unittest.skipUnless(os.geteuid() == 0, "only root gives links away")
    def test_nothing_is_made_behind_a_stranger_s_link(self):
        home, shared = os.path.join(self.folder, "home"), os.path.join(self.folder, "shared")
        os.mkdir(home)
        os.mkdir(shared)
        os.chmod(shared, 0o1777)
        link = os.path.join(shared, "link")
        os.symlink(home, link)
        os.lchown(link, 54322, 54322)
        done = self.evaluate(1, f"journal={link}/answers")
        self.assertEqual(done.stdout, "")
        self.assertIn('the symbolic link "link" belongs to user 54322', done.stderr)
        self.assertEqual(os.listdir(home), [])

    def test_the_end_of_the_job(self):
        for ranks in (1, 2):
            done = self.evaluate(ranks, self.journal(), SLURM_JOB_END_TIME=cases.soon())
            self.assertEqual((done.returncode, done.stdout), (80, ""), done.stderr)
            self.assertIn("the job ends soon", done.stderr)


class Pure(unittest.TestCase):
    def check(self, program):
        done = cases.run([sys.executable, "-c", program])
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_devices(self):
        self.check(
            "from muster._dispatch import own_devices\n"
            "two = ['a', 'b']\n"
            "assert own_devices(0, [two, two]) == [0] and own_devices(1, [two, two]) == [1]\n"
            "assert own_devices(1, [['a'], ['b']]) is None\n"
            "assert own_devices(0, [two, ['c', 'd']]) is None\n"
            "assert own_devices(2, [two] * 4) == [0] and own_devices(3, [two] * 4) == [1]\n"
            "four = ['a', 'b', 'c', 'd']\n"
            "assert own_devices(1, [four, four]) == [2, 3]\n"
            "assert own_devices(0, [[], []]) is None\n"
        )

    def test_settings(self):
        self.check(
            "from muster._dispatch import take_settings\n"
            "words = ['x', '--tasks', 'a', '--muster_journal', '/j', '--limit=3', '--muster_retries=0', '--muster_retry_failed']\n"
            "got = take_settings(words)\n"
            "assert words == ['x', '--tasks', 'a', '--limit=3'], words\n"
            "assert (got.journal, got.retries, got.retry_failed) == ('/j', 0, True), got\n"
            "try:\n"
            "    take_settings(['x', '--muster_retries', 'y'])\n"
            "except SystemExit as error:\n"
            "    assert error.code == '--muster_retries: expected a number', error.code\n"
            "else:\n"
            "    assert False\n"
        )

    def test_the_group_is_hidden(self):
        self.check(
            "from muster._dispatch import hide_the_group\n"
            "names = {'RANK': '3', 'MASTER_ADDR': 'x', 'PMI_RANK': '3', 'OMPI_COMM_WORLD_SIZE': '4', 'SLURM_JOB_ID': '7'}\n"
            "hide_the_group(names)\n"
            "assert names == {'SLURM_JOB_ID': '7'}, names\n"
        )


if __name__ == "__main__":
    cases.main()

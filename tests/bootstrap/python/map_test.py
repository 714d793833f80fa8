#!/usr/bin/env python3
"""muster.map and muster.map_items: alone, in groups of local ranks, and in groups without a supervisor."""

import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import cases  # noqa: E402  (the path comes first)

SQUARES = [item * item for item in range(60)]


class Maps(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(shutil.rmtree, self.folder)

    program = "map_member.py"

    def member(self, function):
        return [sys.executable, os.path.join(HERE, self.program), function, self.folder]

    def alone(self, function, **more):
        return cases.run(self.member(function), **more)

    def launch(self, ranks, function, *settings, **more):
        return cases.launch(ranks, self.member(function), "log.level=error", *settings, **more)

    def run_ranks(self, ranks, function):
        return self.alone(function) if ranks == 1 else self.launch(ranks, function)

    def passes(self, function, ranks=1):
        done = self.run_ranks(ranks, function)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)

    def shows(self, done, results):
        """As rank 0 printed them, once."""
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, json.dumps(results) + "\n", done.stderr)

    def notes(self, name):
        """The notes of the ranks; removes them."""
        path = os.path.join(self.folder, name)
        if not os.path.exists(path):
            return []
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
        os.unlink(path)
        return lines


class Results(Maps):
    def test_are_in_order_whatever_the_number_of_ranks(self):
        for ranks in (1, 4):
            self.shows(self.run_ranks(ranks, "squares"), SQUARES)
            self.assertEqual(sorted(map(int, self.notes("done"))), list(range(60)))

    def test_go_to_every_rank_or_to_none(self):
        self.passes("every_rank_reads", 3)
        self.assertEqual(len(self.notes("done")), 120)


class Values(Maps):
    program = "map_values.py"

    def test_come_back_as_they_were(self):
        self.passes("classes")
        self.passes("kinds")
        self.passes("kinds", 2)

    def test_of_batches(self):
        for ranks in (1, 3):
            self.passes("batched", ranks)
            cut = ["[0, 1, 2, 3]", "[4, 5, 6, 7]", "[8, 9]"]
            self.assertEqual(sorted(self.notes("batches")), cut)

    def test_of_a_batch_must_be_as_many_as_its_items(self):
        self.passes("short_batch")

    def test_of_generators(self):
        self.passes("generated")
        self.passes("generated", 2)

    def test_of_a_dataset_an_iterator_and_nothing(self):
        self.passes("dataset")

    def test_of_a_dataset_whose_items_are_loaded_when_they_are_needed(self):
        for ranks in (1, 2):
            self.passes("loaded_once", ranks)
            self.assertEqual(sorted(map(int, self.notes("loaded"))), sorted([*range(12)] * 3))
            shutil.rmtree(os.path.join(self.folder, "answers.journal"))

    def test_of_an_item_that_cannot_be_loaded(self):
        for ranks in (1, 3):
            self.passes("not_loaded", ranks)

    def test_are_in_the_order_of_items_that_have_labels(self):
        self.passes("by_position")
        self.passes("by_position", 2)

    @unittest.skipUnless(importlib.util.find_spec("pandas"), "no pandas")
    def test_of_pandas(self):
        self.passes("pandas_items", 2)

    @unittest.skipUnless(importlib.util.find_spec("numpy"), "no numpy")
    def test_of_numpy(self):
        self.passes("numpy_results", 2)

    @unittest.skipUnless(importlib.util.find_spec("torch"), "no torch")
    def test_of_torch(self):
        self.passes("torch_results", 2)

    def test_of_threads(self):
        self.passes("in_threads")

    def test_mistakes_are_refused(self):
        self.passes("mistakes")


class Loops(Maps):
    def test_items_end_in_every_way(self):
        self.passes("looped")

    def test_forgotten_items_have_failed(self):
        self.passes("forgotten")
        self.passes("forgotten", 3)

    def test_that_one_rank_leaves_early(self):
        self.passes("left_early", 3)
        self.assertEqual(set(self.notes("tries")), {"1"})

    def test_that_all_ranks_leave_early(self):
        for ranks in (1, 3):
            self.passes("all_leave", ranks)
            shutil.rmtree(os.path.join(self.folder, "answers.journal"))

    def test_a_map_within_a_map_is_refused(self):
        self.passes("nested")


class Failures(Maps):
    def test_a_failed_item_is_tried_again(self):
        for ranks in (1, 3):
            self.shows(self.run_ranks(ranks, "retried"), list(range(60)))
            tries = self.notes("tries")
            self.assertEqual((len(tries), tries.count("7")), (62, 3))
            for name in ("first", "second"):
                os.unlink(os.path.join(self.folder, name))

    def test_an_item_that_hangs_fails_at_its_limit_and_its_rank_goes_on(self):
        for ranks in (1, 2):
            self.passes("hanging_items", ranks)
            self.assertEqual(sorted(self.notes("tries")), sorted("01230123"))
        self.passes("hanging_items_in_threads")
        self.passes("hanging_items_beside_a_handler")
        self.passes("hanging_items_of_a_loop")

    def test_a_limit_beyond_all_clocks_is_none(self):
        self.passes("items_without_limit")

    def test_items_that_were_given_up_are_named(self):
        for ranks in (1, 3):
            done = self.run_ranks(ranks, "given_up")
            self.assertEqual((done.returncode, done.stdout), (79, ""), done.stderr)
            # The supervisor repeats the last lines.
            own = "\n".join(line for line in done.stderr.splitlines() if not line.startswith("muster: "))
            self.assertEqual(own.count("muster.MapError: 12 of 60 items of the map were given up:"), 1, done.stderr)
            self.assertRegex(own, r"\n  item 5 \(5\) on rank \d on \S+: ValueError: 5 is bad and has two lines\n")
            self.assertEqual(own.count("\n  item "), 10, own)
            self.assertIn("\n  and 2 more", own)
            self.assertEqual(len(self.notes("tries")), 48 + 2 * 12)

    def test_can_be_caught_and_tried_again(self):
        self.passes("caught")

    def test_one_of_the_program_is_a_loss_of_its_rank(self):
        # The status is 0 if the program has ended before the map is over, else that of the program.
        done = self.launch(3, "raises")
        self.assertEqual(done.stdout, "True\n" * 2, done.stderr)
        self.assertIn("LookupError: of the program", done.stderr)

    def test_exit_in_a_thread_is_that_of_the_program(self):
        self.assertEqual(self.alone("exits_in_a_thread").returncode, 5)

    def test_a_killed_rank_loses_nothing(self):
        done = self.launch(3, "killed")
        self.shows(done, SQUARES)
        # Items that it committed in its last moment may be done again.
        self.assertEqual(set(map(int, self.notes("done"))), set(range(60)))
        self.shows(self.alone("killed"), SQUARES)
        self.assertEqual(self.notes("done"), [])

    def test_a_killed_rank_of_a_group_without_a_supervisor(self):
        ranks = self.by_hand(3, "killed")
        outputs = [rank.communicate(timeout=cases.PATIENCE_S) for rank in ranks]
        self.assertEqual([rank.returncode for rank in ranks], [0, -signal.SIGKILL, 0], outputs)
        self.assertEqual(json.loads(outputs[0][0]), SQUARES)

    def by_hand(self, ranks, function):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        started = []
        for rank in range(ranks):
            more = dict(RANK=rank, WORLD_SIZE=ranks, LOCAL_RANK=rank, LOCAL_WORLD_SIZE=ranks, MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
            environment = cases.environment(MUSTER_RENDEZVOUS_AUTH="none", **{name: str(value) for name, value in more.items()})
            started.append(
                subprocess.Popen(
                    self.member(function),
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            )
            self.addCleanup(self.end, started[-1])
        return started

    @staticmethod
    def end(process):
        process.kill()
        process.communicate()

    def test_that_rank_0_is_killed(self):
        done = self.launch(3, "first_is_killed")
        lost = "rank 0 is lost: no rank has the results of the map (pass journal=, so that the next run has them)\n"
        self.assertEqual((done.returncode, done.stdout), (0, lost * 2), done.stderr)
        os.unlink(os.path.join(self.folder, "begun"))
        done = self.launch(3, "first_is_killed_and_all_read")
        self.assertEqual((done.returncode, done.stdout), (0, "True\n" * 2), done.stderr)

    def test_an_item_that_kills_its_ranks_is_given_up(self):
        # Uncaught, of rank 0 or that rank 0 is lost.
        done = self.launch(3, "killers")
        self.assertIn(done.returncode, (79, 1), done)
        self.assertRegex(done.stderr, r"muster\.(MapError: 1 of 1 items|PeerLostError: rank 0 is lost)")

    def test_ranks_with_other_items_are_refused_by_both_names(self):
        done = self.launch(2, "other_items")
        self.assertRegex(done.stdout, r"^rank \d on \S+ maps 1[01] items \(\w{16}\) of \"square\", rank \d on \S+ maps 1[01] items")


class Interrupts(Maps):
    def test_ctrl_c_in_an_item_loses_nothing_that_was_committed(self):
        done = self.alone("interrupted")
        self.assertEqual(done.returncode, -signal.SIGINT, done.stderr)
        self.assertIn("KeyboardInterrupt", done.stderr)
        self.assertEqual(list(map(int, self.notes("done"))), list(range(20)))
        self.shows(self.alone("interrupted"), SQUARES)
        self.assertEqual(list(map(int, self.notes("done"))), list(range(20, 60)))

    def test_sigterm_loses_what_each_rank_has_in_hand(self):
        command = [cases.MUSTER, "launch", "-n", "2", "--", *self.member("terminated")]
        muster = subprocess.Popen(command, env=cases.environment(), stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(muster.kill)
        began = os.path.join(self.folder, "began")
        while not os.path.exists(began) or len(open(began, encoding="utf-8").readlines()) < 12:
            self.assertIsNone(muster.poll())
            time.sleep(0.01)
        journal = os.path.join(self.folder, "answers.journal")
        while len(cases.run([cases.MUSTER, "journal", journal, "merge"]).stdout.splitlines()) < 10:
            self.assertIsNone(muster.poll())
        muster.send_signal(signal.SIGTERM)
        self.assertEqual(muster.wait(), 143)
        with open(os.path.join(self.folder, "gate"), "w", encoding="utf-8"):
            pass
        self.shows(self.launch(2, "terminated"), list(range(60)))
        tries = self.notes("began")
        self.assertEqual((len(tries), len(set(tries))), (62, 60))

    def test_progress_lines_may_be_left_out(self):
        for function, lines in ("squares", True), ("without_lines", False):
            done = cases.launch(2, self.member(function))
            self.shows(done, SQUARES)
            self.assertEqual("60 of 60 items done" in done.stderr, lines, done.stderr)

    def test_ctrl_c_while_a_rank_waits_for_items(self):
        done = self.launch(2, "interrupted_while_waiting")
        self.assertEqual((done.returncode, done.stdout), (0, "1 goes on\n"), done.stderr)


class Journals(Maps):
    def test_are_resumed_with_any_number_of_ranks(self):
        for ranks in (1, 3):
            self.passes("resumed_partly", ranks)
        self.shows(self.launch(2, "resumed"), list(range(60)))
        done = list(map(int, self.notes("done")))
        self.assertEqual(len(done), len(set(done)), "an item was done twice")
        self.shows(self.alone("resumed"), list(range(60)))
        self.assertEqual(self.notes("done"), [])

    def test_of_another_function_or_other_items_are_refused(self):
        self.shows(self.alone("journalled"), SQUARES)
        program = "import muster\nmuster.map({}, {}, journal={!r}, name={!r})"
        for items, name, both in (("range(60)", "cube", ("square", "cube")), ("range(61)", "square", ("60 instead of 61",))):
            text = program.format("abs", items, os.path.join(self.folder, "answers.journal"), name)
            done = cases.run([sys.executable, "-c", text])
            self.assertEqual(done.returncode, 1)
            last = done.stderr.splitlines()[-1]
            self.assertRegex(last, r"^muster.DisagreementError: .*answers\.journal", done.stderr)
            for one in both:
                self.assertIn(one, last)

    def test_the_end_of_the_job_leaves_the_rest_to_the_next_run(self):
        done = self.alone("time_is_up", SLURM_JOB_END_TIME=cases.soon())
        self.assertEqual((done.returncode, done.stdout), (80, ""), done.stderr)
        self.assertEqual(
            done.stderr.splitlines()[-1],
            "muster: the job ends soon: 60 of 60 items are left (start it again with the same journal: it continues from there)",
        )
        self.assertEqual(self.notes("done"), [])
        self.assertEqual(self.alone("time_is_up").returncode, 0)


class Example(Maps):
    def test_counts_the_same_and_is_resumed(self):
        program = [sys.executable, os.path.join(cases.TOP, "deploy/examples/map.py"), "500"]
        path = ["--journal", os.path.join(self.folder, "answers.journal")]
        for done in (cases.run(program), cases.launch(3, program + path), cases.run(program + path)):
            self.assertEqual((done.returncode, done.stdout), (0, "453 of 500 answers are correct\n"), done.stderr)


class Limits(unittest.TestCase):
    def test_a_closed_one_ends_nothing(self):
        """A loop that is left with an item at work, whose time is over just then."""
        program = (
            "import time\n"
            "from muster._item_limit import ItemLimit\n"
            "limit = ItemLimit(3600)\n"
            "limit.begin()\n"
            "limit.close()\n"
            "limit._end_late(time.monotonic() + 7200)\n"
            "print('goes on')\n"
        )
        done = cases.run([sys.executable, "-c", program])
        self.assertEqual((done.returncode, done.stdout), (0, "goes on\n"), done.stderr)


class Names(unittest.TestCase):
    def test_of_functions(self):
        program = (
            "import functools, muster\n"
            "from muster._map_plan import name_of, main_name\n"
            "class Model:\n"
            "    def answer(self, item): pass\n"
            "    def __call__(self, item): pass\n"
            "def inner(): return lambda item: item\n"
            "for one in (len, str.upper, Model().answer, Model(), inner(), functools.partial(Model.answer, model='x')):\n"
            "    print(name_of(one))\n"
            "try:\n"
            "    name_of(functools.partial(len, object()))\n"
            "except muster.UsageError as error:\n"
            "    print(error)\n"
        )
        with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as folder:
            path = os.path.join(folder, "evaluate.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write(program)
            done = cases.run([sys.executable, path])
        self.assertEqual(done.stderr, "")
        self.assertEqual(
            done.stdout.splitlines(),
            [
                "builtins.len",
                "builtins.str.upper",
                "evaluate.Model.answer",
                "evaluate.Model",
                "lambda at evaluate.py:6",
                'evaluate.Model.answer [[],{"model":"x"}]',
                "map: the arguments of a functools.partial are not JSON, and make no name (pass name=)",
            ],
        )

    def test_keys(self):
        done = cases.run(
            [
                sys.executable,
                "-c",
                "from muster._map_plan import Plan\n"
                "plan = Plan([1, 'x', {'b': 1, 'a': (2,)}, 'y' * 200], None, 'j', None)\n"
                "assert plan.keys[:3] == [b'1', b'\"x\"', b'{\"a\":[2],\"b\":1}'], plan.keys\n"
                "assert plan.keys[3].startswith(b'\"' + b'y' * 63 + b'...') and len(plan.keys[3]) == 64 + 3 + 32\n"
                "assert plan.digest() != Plan([1, 'x', {'b': 1, 'a': (2,)}, 'y' * 201], None, 'j', None).digest()\n"
                "batches = Plan(list(range(5)), None, 'j', 2)\n"
                "assert batches.keys == [b'[\"0\",\"1\"]', b'[\"2\",\"3\"]', b'[\"4\"]'], batches.keys\n"
                "assert (batches.value(2), batches.where(1)) == ([4], range(2, 4))\n"
                "given = Plan([1, 2, 3], iter('abc'), 'j', 2)\n"
                "assert given.keys == [b'[\"a\",\"b\"]', b'[\"c\"]'], given.keys\n",
            ]
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_keys_continue_journals_of_earlier_releases(self):
        """The digests of release 0.1.0."""
        done = cases.run(
            [
                sys.executable,
                "-c",
                "from muster._map_plan import Plan\n"
                "class Rows:\n"
                "    def __len__(self): return 3\n"
                "    def __getitem__(self, index): return {'row': index, 'text': 'x' * 200}\n"
                "for plan in (\n"
                "    Plan(list(range(100)), None, 'j', None),\n"
                "    Plan(['a', 'b', '\u00e4' * 100], None, 'j', None),\n"
                "    Plan(Rows(), None, 'j', None),\n"
                "    Plan(Rows(), lambda row: str(row['row']), 'j', 2),\n"
                "    Plan(['a', object], None, None, None),\n"
                "):\n"
                "    print(plan.digest().hex()[:16])\n",
            ]
        )
        self.assertEqual(done.stderr, "")
        digests = "724c32100ccc3570 8e11ea1705084f85 0de01b2c6adb4b09 51dbb459fe2f3fe3 4b578ed61cb1c806"
        self.assertEqual(done.stdout.split(), digests.split())


if __name__ == "__main__":
    cases.main()

#!/usr/bin/env python3
"""The Python module in groups of three local ranks, and alone."""

import importlib.util
import json
import os
import re
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import cases  # noqa: E402  (the path comes first)


def launch(function, *settings):
    program = "number_member.py" if function.startswith("number") or function == "numpy_numbers" else "member.py"
    command = [sys.executable, os.path.join(HERE, program), function]
    return cases.launch(3, command, "timeouts.collective=2h", *settings)


class Group(unittest.TestCase):
    def passes(self, function):
        done = launch(function)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_objects(self):
        self.passes("objects")

    def test_facts(self):
        self.passes("facts")

    def test_numbers(self):
        self.passes("numbers")

    @unittest.skipUnless(importlib.util.find_spec("numpy"), "no numpy")
    def test_numbers_of_numpy(self):
        self.passes("numpy_numbers")

    def test_buffers_are_reduced(self):
        self.passes("buffers")

    def test_booleans_are_reduced(self):
        self.passes("booleans")

    def test_buffers_are_moved(self):
        self.passes("movements")

    def test_large_buffers(self):
        self.passes("memory")

    def test_parts_of_the_group(self):
        self.passes("parts")

    def test_integers_of_every_kind(self):
        self.passes("integers")

    def test_mistakes_break_nothing(self):
        self.passes("mistakes")

    def test_a_second_init_with_other_settings_is_refused(self):
        self.passes("settings")

    def test_other_threads_go_on_while_a_call_waits(self):
        self.passes("threads_go_on")

    def test_a_forked_child_has_no_group(self):
        self.passes("forked")

    def test_a_block_ends_the_group(self):
        self.passes("block")

    def test_a_program_that_ends_well_leaves_its_group(self):
        self.passes("ends_well")

    def test_an_exception_that_a_console_has_shown_is_no_failure(self):
        self.passes("ends_well_after_a_console")
        command = [sys.executable, "-m", "member", "ends_well_after_a_console"]
        done = cases.launch(2, command, PYTHONPATH=os.pathsep.join([cases.PACKAGE, HERE]))
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_an_exception_that_a_thread_has_shown_is_no_failure(self):
        self.passes("ends_well_after_a_thread")

    def test_a_child_of_multiprocessing_leaves_its_group(self):
        for start in ("fork", "forkserver", "spawn"):
            with self.subTest(start):
                done = cases.launch(2, [sys.executable, os.path.join(HERE, "child_member.py"), start, "0"], TMPDIR="/tmp")
                self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "child 0\n" * 2, ""))

    def test_a_child_that_fails_does_not_leave(self):
        done = cases.launch(2, [sys.executable, os.path.join(HERE, "child_member.py"), "fork", "3"])
        self.assertEqual(done.returncode, 69, done)
        self.assertRegex(done.stderr, r"error: rank 1 on \S+ ")

    def test_threads_that_wait_do_not_fail_a_program_that_ends_well(self):
        for _ in range(3):
            self.passes("ends_with_threads_that_wait")

    def test_calls_of_other_threads_end_with_a_part(self):
        self.passes("frees_parts_that_threads_use")

    def test_calls_of_other_threads_end_with_the_group(self):
        self.passes("ends_calls")


class Failures(unittest.TestCase):
    """Each rank that fails here ends by itself, so that the errors of the other ranks can be seen."""

    def lines(self, function):
        done = launch(function, "run.stop_on_failure=false")
        return done, sorted(done.stdout.splitlines())

    def test_ranks_that_disagree(self):
        done, lines = self.lines("disagreement")
        self.assertEqual((done.returncode, len(lines)), (76, 3), done)
        for rank, line in enumerate(lines):
            self.assertRegex(line, rf"^{rank} rank \d on \S+ is in \w+ #1( f64\[3\])?, rank \d on \S+ in \w+ #1( f64\[3\])?$")
            self.assertIn("rank 1", line)

    def test_a_number_and_a_buffer(self):
        done, lines = self.lines("number_and_buffer")
        self.assertEqual((done.returncode, len(lines)), (76, 3), done)
        call = r"AllReduce #1 (i64\[1\]|f64\[3\])"
        where = rf"rank \d on \S+ is in {call}, rank \d on \S+ in {call}"
        self.assertRegex(lines[1], rf"^1 {where} hint: ")
        for rank in 0, 2:
            self.assertRegex(lines[rank], rf"^{rank} {where} hint: pass a number on all ranks, or on none$")

    def pickles(self, call, in_the_middle):
        """Through another program each, because rank 1 has a library with it."""
        program = [sys.executable, os.path.join(HERE, "member.py"), "changed_pickles"]
        preload = f'export MUSTER_TEST_CALL={call}; [ "$RANK" != 1 ] || export LD_PRELOAD={in_the_middle}; exec "$@"'
        settings = ["run.stop_on_failure=false"]
        done = cases.launch(3, ["sh", "-c", preload, "sh", *program], *settings)
        return done, sorted(done.stdout.splitlines())

    def test_a_pickle_that_was_changed_on_the_way(self):
        for call in ("broadcast", "gather", "all_gather"):
            done, lines = self.pickles(call, os.path.join(HERE, "libchanges_pickles.so"))
            self.assertEqual(done.returncode, 77, done)
            self.assertNotIn("unpickled", lines)
            sentence = r"^\d what rank 1 on \S+ sent to rank \d on \S+ in \w+ #1 was changed on the way: it is not authentic "
            self.assertTrue(any(re.match(sentence, line) for line in lines), done)
            done, lines = self.pickles(call, "")
            self.assertEqual((done.returncode, lines), (0, [f"{rank} gets what was sent" for rank in range(3)]), done)

    def test_a_passed_deadline(self):
        done, lines = self.lines("deadline")
        self.assertEqual(len(lines), 3, done)
        self.assertRegex(lines[1], r"^1 DeadlineError Recv #1 u8\[1\] did not finish within 200ms: waiting for rank 0 on \S+$")

    def test_an_exception_that_nobody_catches_is_known_at_once(self):
        done, lines = self.lines("ends_badly")
        self.assertEqual(len(lines), 2, done)
        for rank, line in zip((0, 2), lines):
            self.assertRegex(line, rf"^{rank} rank 1 on \S+ ")
        self.assertIn("ValueError: nobody knows", done.stderr)

    def test_one_that_the_program_has_caught_is_not_raised_again_at_its_end(self):
        done, lines = self.lines("caught")
        self.assertEqual((done.returncode, lines), (3, ["0 goes on", "2 goes on"]), done)
        self.assertNotIn("Traceback", done.stderr)
        for rank in (0, 2):
            line = rf"^muster: rank {rank} on \S+: warning: the group had failed before this program exited: rank 1 on \S+ failed: exit 3$"
            self.assertEqual(len(re.findall(line, done.stderr, re.M)), 1, done.stderr)

    def test_ctrl_c_ends_a_wait_and_the_end_of_the_program_that_of_the_others(self):
        done, lines = self.lines("interrupted")
        self.assertEqual((done.returncode, len(lines)), (130, 2), done)
        for rank, line in zip((0, 2), lines):
            self.assertRegex(line, rf"^{rank} rank 1 on \S+ failed: ")
        self.assertIn("KeyboardInterrupt", done.stderr)

    def test_who_goes_on_after_ctrl_c_fails_the_group(self):
        done, lines = self.lines("interrupted_and_goes_on")
        self.assertEqual(len(lines), 3, done)
        self.assertEqual(lines[1], "1 goes on")
        for rank in (0, 2):
            self.assertRegex(lines[rank], rf"^{rank} rank 1 on \S+ was interrupted \(KeyboardInterrupt\)$")


class Alone(unittest.TestCase):
    def run_program(self, program, **more):
        return cases.run([sys.executable, "-c", program], **more)

    def test_without_a_launcher_is_a_world_of_one(self):
        done = self.run_program(
            "import os, muster\n"
            "before = os.listdir('/proc/self/fd')\n"
            "comm = muster.init()\n"
            "assert (comm.rank, comm.size, muster.launcher()) == (0, 1, 'none')\n"
            "assert muster.gather(5) == [5] and muster.all_reduce(2.5) == 2.5\n"
            "assert os.listdir('/proc/self/fd') == before\n"
        )
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_an_allocation_without_a_rank_is_refused(self):
        done = self.run_program(
            "import muster\n"
            "try:\n"
            "    muster.init()\n"
            "except muster.NotLaunchedError as error:\n"
            "    print(error.code, error.exit_status, error.hint[:24])\n",
            SLURM_JOB_ID="7",
            SLURM_JOB_NODELIST="gpu[01-02]",
            SLURM_JOB_NUM_NODES="2",
            SLURM_NTASKS="4",
            SLURM_TASKS_PER_NODE="2(x2)",
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, "^not_launched 64 start it with srun")

    def test_settings_are_those_of_the_configuration(self):
        done = self.run_program(
            "import datetime, muster\n"
            "muster.init(timeouts={'collective': datetime.timedelta(hours=2), 'barrier': 90},"
            " run={'env': {'A': 'b'}, 'command': ['x', 'y z']}, log={'level': 'error'})\n"
            "print(muster.collective_timeout())\n"
        )
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "2:00:00\n", ""))

    def test_an_unknown_setting_is_named(self):
        done = self.run_program("import muster\nmuster.init(timeouts={'colective': '1h'})\n")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(
            done.stderr.splitlines()[-1],
            'muster.ConfigurationError: --set: unknown key "timeouts.colective"; did you mean "timeouts.collective"?',
        )

    def test_ctrl_c_ends_the_wait_for_ranks_that_never_come(self):
        done = self.run_program(
            "import os, signal, threading, muster\n"
            "from muster import _world\n"
            "library = _world.process().library\n"
            "real = library.muster_init\n"
            "def announced(*arguments):\n"
            "    threading.Timer(0, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
            "    return real(*arguments)\n"
            "library.muster_init = announced\n"
            "try:\n"
            "    muster.init(rendezvous={'auth': 'none'})\n"
            "except KeyboardInterrupt:\n"
            "    print('KeyboardInterrupt')\n",
            RANK="0",
            WORLD_SIZE="2",
            LOCAL_RANK="0",
            MASTER_ADDR="127.0.0.1",
            MASTER_PORT="29477",
        )
        self.assertEqual((done.returncode, done.stdout), (0, "KeyboardInterrupt\n"), done.stderr)

    def test_errors_are_exceptions_that_travel(self):
        done = self.run_program(
            "import pickle, muster\n"
            "from muster import _errors\n"
            "for kind in _errors.KINDS:\n"
            "    assert getattr(muster, kind.__name__) is kind and kind.__name__.endswith('Error'), kind\n"
            "    error = pickle.loads(pickle.dumps(kind('rank 1 on gpu01 died', 'look there')))\n"
            "    assert (type(error), error.message, error.hint) == (kind, 'rank 1 on gpu01 died', 'look there')\n"
            "    print(kind.code, error.exit_status, error)\n"
            "try:\n"
            "    raise muster.DeadlineError('too late')\n"
            "except TimeoutError as error:\n"
            "    assert str(error) == 'too late'\n"
        )
        self.assertEqual(done.stderr, "")
        codes = "64 usage 64 not_launched 65 bad_environment 69 peer_lost 70 internal 71 system 75 deadline 76 disagreement "
        codes += "77 authentication 78 configuration 79 work_failed"
        expected = [f"{code} {status} rank 1 on gpu01 died (look there)" for status, code in zip(*[iter(codes.split())] * 2)]
        self.assertEqual(done.stdout.splitlines(), expected)


class Documentation(unittest.TestCase):
    def holds(self, program):
        done = cases.run([sys.executable, "-c", "import inspect, muster\n" + program])
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_every_name_has_a_sentence(self):
        self.holds("for name in muster.__all__: assert getattr(muster, name).__doc__.strip(), name")

    def test_maps_are_loaded_when_they_are_used(self):
        self.holds(
            "import sys\n"
            "loaded = lambda: [one for one in sys.modules if one.startswith('muster._map')]\n"
            "assert loaded() == [], loaded()\n"
            "assert {'map', 'map_items', 'MapItems'} <= set(dir(muster)), dir(muster)\n"
            "from muster import map, MapOutcome\n"
            "assert loaded() and map is muster.map and muster.map_items.__doc__ and MapOutcome is muster.MapOutcome\n"
            "try: muster.maps\n"
            "except AttributeError as error: assert 'maps' in str(error)\n"
            "else: raise AssertionError\n"
        )

    def test_every_signature_is_whole(self):
        """Each argument has a name and a type."""
        self.holds(
            "public = [getattr(muster, name) for name in muster.__all__] + [muster.map]\n"
            "functions = [one for one in public if inspect.isfunction(one)]\n"
            "for kind in (muster.Communicator, muster.MapItem, muster.MapItems):\n"
            "    functions += [one for one in vars(kind).values() if inspect.isfunction(one)]\n"
            "assert len(functions) > 50\n"
            "for function in functions:\n"
            "    signature = inspect.signature(function)\n"
            "    assert signature.return_annotation is not signature.empty, function\n"
            "    for one in signature.parameters.values():\n"
            "        assert one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD) or function.__name__[0] == '_', function\n"
            "        assert one.name == 'self' or one.annotation is not one.empty, (function, one)\n"
        )

    def test_functions_are_those_of_the_communicator(self):
        """The same arguments, and the group."""
        self.holds(
            "from muster import _functions\n"
            "names = [name for name in muster.__all__ if getattr(muster, name).__class__.__name__ == 'function']\n"
            "names = [name for name in names if getattr(muster, name).__module__ == 'muster._functions']\n"
            "methods = [n for n, m in vars(muster.Communicator).items() if inspect.isfunction(m) and n[0] != '_']\n"
            "assert set(methods) - {'free', 'node_of', 'node_addresses'} < set(names)\n"
            "for name in names:\n"
            "    function, method = getattr(muster, name), getattr(muster.Communicator, name)\n"
            "    assert function.__doc__ == method.__doc__, name\n"
            "    if name in methods:\n"
            "        mine = [str(p) for p in inspect.signature(function).parameters.values()]\n"
            "        mine.remove('group: \\'Communicator | None\\' = None')\n"
            "        assert mine == [str(p) for p in inspect.signature(method).parameters.values()][1:], name\n"
        )

    def test_init_knows_the_sections_of_the_configuration(self):
        with open(os.path.join(cases.TOP, "configs/schema.json"), encoding="utf-8") as file:
            # map: of `muster map` alone; include: of files.
            sections = [section for section in json.load(file)["properties"] if section not in ("map", "include")]
        self.holds(f"assert list(inspect.signature(muster.init).parameters) == ['config', *{sections}]")

    def test_the_version_is_that_of_the_library(self):
        self.holds("assert muster.__version__ == muster.version(), (muster.__version__, muster.version())")


if __name__ == "__main__":
    cases.main()

#!/usr/bin/env python3
"""tests/run with suites of a line each, and a Bazel that only records how it is called."""

import contextlib
import importlib.machinery
import importlib.util
import io
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
import suites  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
FAKE_BAZEL = """#!/bin/sh
echo "$(chrt -p $$ | sed -n 's/.*policy: //p') $*" >>"$CALLS"
[ "$1" != build ] || eval "${BUILD-}"
[ "$1" != info ] || echo /made/here
"""


def load():
    """The program as a module."""
    loader = importlib.machinery.SourceFileLoader("run", os.path.join(HERE, "run"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("run", loader))
    loader.exec_module(module)
    return module


class Run(unittest.TestCase):
    def setUp(self):
        self.run = load()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.calls = os.path.join(self.folder, "calls")
        bazel = os.path.join(self.folder, "bazel")
        with open(bazel, "w", encoding="ascii") as file:
            file.write(FAKE_BAZEL)
        os.chmod(bazel, 0o755)
        self.environment, self.until = dict(os.environ), math.inf
        for name, value in (("PATH", f"{self.folder}:{os.environ['PATH']}"), ("CALLS", self.calls)):
            before = os.environ.get(name, "")
            os.environ[name] = value
            self.addCleanup(os.environ.__setitem__, name, before)
        os.environ.pop("MUSTER_BIN_DIR", None)

    def read(self, name):
        with open(os.path.join(self.folder, name), encoding="utf-8") as file:
            return file.read()

    def suite(self, name, script):
        return suites.Suite(name, ["sh", "-c", script, self.folder])

    def batches(self, *batches):
        self.run.SIDE_BY_SIDE = [suite for batch in batches if len(batch) > 1 for suite in batch]
        return list(batches)

    def play(self, *batches, keep=False):
        """(the report, the output); `keep`: SIDE_BY_SIDE is set already"""
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            report = self.run.play(list(batches) if keep else self.batches(*batches), self.environment, self.folder, self.until)
            self.code = report.show()
        return report, printed.getvalue().splitlines()

    def test_sums_what_the_suites_print(self):
        report, lines = self.play(
            [self.suite("a", "echo ok one; echo 'skipped two: needs root'; echo '1 passed, 0 failed, 1 skipped'")],
            [self.suite("b", "echo ok three; echo '1 passed, 0 failed, 0 skipped'")],
        )
        self.assertEqual(lines[-1], "2 passed, 0 failed, 1 skipped")
        self.assertEqual(self.code, 0)
        self.assertEqual(sorted(test for _, test in report.times), ["a: one", "a: two: needs root", "b: three"])

    def test_names_failures_at_the_end(self):
        _, lines = self.play([self.suite("a", "echo 'FAILED one: no'; echo '0 passed, 1 failed, 0 skipped'; exit 1")])
        self.assertIn("FAILED a: one: no", lines[-3:])
        self.assertEqual((lines[-1], self.code), ("0 passed, 1 failed, 0 skipped", 1))

    def test_counts_reruns(self):
        _, lines = self.play(
            [self.suite("a", "echo 'rerun one: too slow'; echo 'rerun one: again'; echo ok one; echo '1 passed, 0 failed, 0 skipped'")],
            [self.suite("b", "echo 'rerun two: it ended'; echo ok two; echo '1 passed, 0 failed, 0 skipped'")],
        )
        self.assertEqual(lines[-5:-1], ["rerun a: one: too slow", "rerun a: one: again", "rerun b: two: it ended", "3 reruns"])
        self.assertEqual((lines[-1], self.code), ("2 passed, 0 failed, 0 skipped", 0))

    # A suite of two tests, one of which fails in its first run: the second finds the file of the first.
    ONCE = "echo ok one; [ -e $0/{} ] && echo ok two && echo '2 passed, 0 failed, 0 skipped' && exit; touch $0/{}; echo 'FAILED two: {}'; echo '1 passed, 1 failed, 0 skipped'; exit 1"

    def test_a_few_failures_run_once_more(self):
        report, lines = self.play(
            [self.suite("a", self.ONCE.format("x", "x", "late")), self.suite("b", self.ONCE.format("y", "y", "early"))],
            [self.suite("c", "echo run >>$0/c; echo '1 passed, 0 failed, 0 skipped'")],
        )
        self.assertEqual(lines[-4:], ["rerun a: two: late", "rerun b: two: early", "2 reruns", "5 passed, 0 failed, 0 skipped"])
        self.assertIn("=== once more, alone: a", lines)
        self.assertEqual((self.code, report.wrong), (0, []))
        self.assertEqual(self.read("c"), "run\n")
        self.assertEqual(self.read("a.log.first").splitlines()[-2], "FAILED two: late")

    def test_what_fails_twice_has_failed(self):
        _, lines = self.play([self.suite("a", "echo run >>$0/runs; echo 'FAILED one: no'; echo '0 passed, 1 failed, 0 skipped'; exit 1")])
        self.assertEqual(lines[-3:], ["FAILED a: one: no", "1 reruns", "0 passed, 1 failed, 0 skipped"])
        self.assertEqual((self.code, self.read("runs")), (1, "run\nrun\n"))

    def test_many_failures_do_not_run_again(self):
        _, lines = self.play([self.suite("a", "echo run >>$0/runs; echo '0 passed, 4 failed, 0 skipped'; exit 1")])
        self.assertEqual((lines[-1], self.code, self.read("runs")), ("0 passed, 4 failed, 0 skipped", 1, "run\n"))

    def test_nothing_runs_again_beyond_the_time(self):
        self.until = time.monotonic()
        _, lines = self.play([self.suite("a", "echo run >>$0/runs; echo '0 passed, 1 failed, 0 skipped'; exit 1")])
        self.assertEqual((lines[-1], self.code, self.read("runs")), ("0 passed, 1 failed, 0 skipped", 1, "run\n"))

    def test_reruns_of_a_run_without_any(self):
        _, lines = self.play([self.suite("a", "echo '0 passed, 0 failed, 0 skipped'")])
        self.assertEqual(lines[-2], "0 reruns")

    def test_a_skip_without_excuse_has_failed(self):
        _, lines = self.play([self.suite("a", "echo 'skipped one: no time'; echo '0 passed, 0 failed, 1 skipped'")])
        self.assertEqual((lines[-1], self.code), ("0 passed, 1 failed, 0 skipped", 1))

    def test_a_suite_without_its_last_line_has_failed(self):
        _, lines = self.play([self.suite("a", "echo ok one; exit 3")])
        self.assertEqual(lines[-1], "0 passed, 1 failed, 0 skipped")
        self.assertIn("FAILED a: ended with exit code 3 and no last line", lines)

    def test_a_process_that_holds_the_output_open_has_failed(self):
        self.run.DRAIN_S = 0.2
        holder = """setsid sh -c 'echo $$ >$0/new; mv $0/new $0/pid; exec sleep 100' $0 &
            until [ -e $0/pid ]; do sleep 0.02; done; echo '0 passed, 0 failed, 0 skipped'"""
        _, lines = self.play([self.suite("a", holder)])
        with open(os.path.join(self.folder, "pid"), encoding="ascii") as file:
            os.kill(int(file.read()), signal.SIGKILL)
        self.assertIn("FAILED a: left a process behind that holds its output open", lines)

    def test_side_by_side(self):
        """Each waits for the other; their lines have names, their logs have not."""
        def script(own, other):
            return f"touch $0/{own}; until [ -e $0/{other} ]; do sleep 0.02; done; echo ok {own}; echo '1 passed, 0 failed, 0 skipped'"

        _, lines = self.play([self.suite("a", script("x", "y")), self.suite("b", script("y", "x"))])
        self.assertEqual(lines[-1], "2 passed, 0 failed, 0 skipped")
        self.assertLessEqual({"a| ok x", "b| ok y"}, set(lines))
        with open(os.path.join(self.folder, "a.log"), encoding="utf-8") as log:
            self.assertEqual(log.read(), "ok x\n1 passed, 0 failed, 0 skipped\n")

    def test_alone(self):
        """Nothing of the batch before is left."""
        end = "echo '0 passed, 0 failed, 0 skipped'"
        _, lines = self.play(
            [self.suite("a", f"touch $0/a; sleep 0.3; rm $0/a; {end}"), self.suite("b", end)],
            [self.suite("c", f"[ ! -e $0/a ] || echo 'FAILED c: a is there'; {end}")],
        )
        self.assertEqual((lines[-1], self.code), ("0 passed, 0 failed, 0 skipped", 0))
        self.assertNotIn("FAILED c: c: a is there", lines)

    def test_compiles_at_idle_priority(self):
        end = "echo ok $MUSTER_BIN_DIR; echo '1 passed, 0 failed, 0 skipped'"
        _, lines = self.play([self.suite("a", end), self.suite("b", end)], [self.suite("unit", end)])
        with open(self.calls, encoding="ascii") as file:
            calls = [line.split()[:2] + line.split()[-1:] for line in file]
        self.assertEqual([call[1] for call in calls], ["shutdown", "build", "info", "build", "shutdown"])
        self.assertEqual({call[0] for call in calls[1:4]}, {"SCHED_IDLE"})
        self.assertLessEqual({"a| ok /made/here", "b| ok /made/here", "ok /made/here"}, set(lines))

    def test_leads_no_suite_to_what_was_not_built(self):
        os.environ["BUILD"] = "case $* in *//comm/...*) exit 1; esac"
        self.addCleanup(os.environ.pop, "BUILD")
        end = "echo ok $MUSTER_BIN_DIR; echo '1 passed, 0 failed, 0 skipped'"
        _, lines = self.play([self.suite("a", end), self.suite("b", end)], [self.suite("unit", end)])
        self.assertLessEqual({"a| ok /made/here", "b| ok /made/here", "ok"}, set(lines))

    def test_begins_what_needs_no_program_while_they_are_compiled(self):
        """The build waits for the one, which waits for the other."""
        def until(name):
            return f"for _ in $(seq 3000); do [ ! -e {name} ] || break; sleep 0.02; done"

        os.environ["BUILD"] = until(f"{self.folder}/early")
        self.addCleanup(os.environ.pop, "BUILD")
        early = self.suite("early", f"touch $0/early; {until('$0/late')}; [ -e $0/late ] && echo '1 passed, 0 failed, 0 skipped'")
        late = self.suite("late", "touch $0/late; echo '1 passed, 0 failed, 0 skipped'")
        self.run.SIDE_BY_SIDE = [late]
        report, _ = self.play([early, late], keep=True)
        self.assertEqual(report.total, [2, 0, 0])
        self.assertEqual(report.seconds[-1], "compiling alone 0")

    def test_compiles_nothing_for_suites_that_run_alone(self):
        self.play([self.suite("unit", "echo '0 passed, 0 failed, 0 skipped'")])
        self.assertFalse(os.path.exists(self.calls))

    def test_an_interrupt_ends_all_of_them(self):
        """In a process of its own: it is a signal to that."""
        began = "trap 'touch $0/over.$$; exit 1' TERM; touch $0/began.$$; sleep 100 & wait"
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGTERM, self.run.interrupt)
            code = 1
            try:
                with open(os.devnull, "w", encoding="ascii") as nothing, contextlib.redirect_stdout(nothing):
                    self.run.play(self.batches([self.suite("a", began), self.suite("b", began)]), self.environment, self.folder)
            except self.run.Interrupted as interrupted:
                code = 10 + interrupted.args[0]
            finally:
                os._exit(code)
        self.await_files("began.", 2)
        os.kill(child, signal.SIGTERM)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 10 + signal.SIGTERM)
        self.assertEqual(len(self.files("over.")), 2)
        with open(self.calls, encoding="ascii") as file:
            self.assertTrue(file.read().splitlines()[-1].endswith(" shutdown"))

    def files(self, start):
        return [name for name in os.listdir(self.folder) if name.startswith(start)]

    def await_files(self, start, count):
        end = time.monotonic() + 60
        while len(self.files(start)) < count and time.monotonic() < end:
            time.sleep(0.01)
        self.assertEqual(len(self.files(start)), count)

    def test_choice(self):
        def names(*words, long=False):
            arguments = self.run.argparse.Namespace(suite=words, long=long)
            return [[suite.name for suite in batch] for batch in self.run.batches(arguments)]

        self.assertEqual(names("faults"), [["faults"], ["faults-attack"]])
        self.assertEqual(names("faults-enosys", "unit"), [["unit"], ["faults-enosys"]])
        self.assertEqual(names()[0][0], "lint")
        self.assertEqual(names(long=True)[: len(names())], names())
        self.assertGreater(len(names(long=True)), len(names()))
        every = subprocess.check_output([sys.executable, os.path.join(HERE, "run"), "--list"], text=True)
        self.assertEqual(len(every.splitlines()), sum(map(len, names(long=True))))


if __name__ == "__main__":
    unittest.main(verbosity=2)

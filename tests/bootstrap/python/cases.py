"""For tests in Python under Bazel: runs the cases of the calling file and reports each of them to Bazel."""

import os
import subprocess
import sys
import time
import traceback
import unittest
import xml.etree.ElementTree as xml

TOP = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
MUSTER = os.path.join(TOP, "bootstrap/cli/muster")
LIBRARY = os.path.join(TOP, "bootstrap/c/libmuster.so")
PACKAGE = os.path.join(TOP, "bootstrap/python")

PATIENCE_S = 120


def environment(**more):
    """Without a launcher, and with the module and its library."""
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "PYTHONPATH": PACKAGE,
        "PYTHONDONTWRITEBYTECODE": "1",
        "LD_LIBRARY_PATH": os.path.dirname(LIBRARY),
        "TMPDIR": os.environ.get("TEST_TMPDIR", "/tmp"),
        "MUSTER_TIMEOUTS_RENDEZVOUS": "60s",
        "MUSTER_LOG_TIME": "none",
        **more,
    }


def soon():
    """The latest end of a job of which a map begins no item: the program has half of the time, and a map keeps 5 s of that."""
    return str(int(time.time()) + 10)


def run(command, **more):
    # Killed when it takes too long: the program may ignore a request to end.
    return subprocess.run(
        ["timeout", "--signal=KILL", str(PATIENCE_S), *command],
        env=environment(**more),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def launch(ranks, command, *settings, **more):
    """This number of local ranks of it."""
    flags = [word for setting in settings for word in ("--set", setting)]
    return run([MUSTER, "launch", "-n", str(ranks), *flags, "--", *command], **more)


class _Result(unittest.TextTestResult):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.report = xml.Element("testsuite", name=os.path.basename(sys.argv[0]))
        self._case = None
        self._began = 0.0

    def startTest(self, test):
        super().startTest(test)
        self._began = time.monotonic()
        kind, _, name = test.id().rpartition(".")
        self._case = xml.SubElement(self.report, "testcase", classname=kind, name=name)

    def stopTest(self, test):
        super().stopTest(test)
        self._case.set("time", f"{time.monotonic() - self._began:.3f}")

    def _failed(self, error):
        text = "".join(traceback.format_exception(*error))
        printable = "".join(letter for letter in text if letter.isprintable() or letter == "\n")
        xml.SubElement(self._case, "failure", message=printable.strip().rpartition("\n")[2]).text = printable

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self._failed(error)

    def addError(self, test, error):
        super().addError(test, error)
        self._failed(error)


def main():
    tests = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    result = unittest.TextTestRunner(resultclass=_Result, verbosity=2).run(tests)
    if "XML_OUTPUT_FILE" in os.environ:
        xml.ElementTree(result.report).write(os.environ["XML_OUTPUT_FILE"], encoding="utf-8", xml_declaration=True)
    sys.exit(0 if result.wasSuccessful() and result.testsRun else 1)

#!/usr/bin/env python3
"""The place in which the module finds its library, and that it is Python 3.9."""

import ast
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import cases  # noqa: E402  (the path comes first)

HELLO = "import muster; print(muster.init().size, muster.__file__)"


class Package(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(shutil.rmtree, self.folder)
        # Real files: the module searches beside its real path.
        self.copy = os.path.join(self.folder, "python")
        shutil.copytree(cases.PACKAGE, self.copy)
        self.environment = dict(cases.environment(), PYTHONPATH=self.copy)
        del self.environment["LD_LIBRARY_PATH"]

    def python(self, program):
        return subprocess.run(
            [sys.executable, "-c", program],
            env=self.environment,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            timeout=cases.PATIENCE_S,
        )

    def bring_library(self, library=cases.LIBRARY, name="libmuster.so.0"):
        shutil.copy(library, os.path.join(self.copy, "muster", name))

    def test_finds_the_library_beside_itself(self):
        for name in ("libmuster.so", "libmuster.so.0"):
            self.bring_library(name=name)
            done = self.python(HELLO)
            self.assertEqual((done.stdout, done.stderr), (f"1 {self.copy}/muster/__init__.py\n", ""))
            os.unlink(os.path.join(self.copy, "muster", name))

    def test_the_library_beside_itself_comes_first(self):
        self.bring_library(os.path.join(HERE, "libolder.so"))
        self.environment["LD_LIBRARY_PATH"] = os.path.dirname(cases.LIBRARY)
        self.assertIn("has version 0", self.python(HELLO).stderr)

    def test_says_what_to_do_where_there_is_none(self):
        done = self.python(HELLO)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(
            done.stderr.splitlines()[-1],
            r"^muster.UsageError: libmuster cannot be loaded: libmuster.so.0: cannot open shared object file: .*; libmuster.so: .*"
            r" \(install the wheel, or set LD_LIBRARY_PATH to the folder of libmuster.so.0 or libmuster.so\)$",
        )

    def test_a_library_beside_itself_that_does_not_load_is_no_reason_for_a_search_path(self):
        with open(os.path.join(self.copy, "muster", "libmuster.so.0"), "w", encoding="utf-8") as library:
            library.write("no library")
        done = self.python(HELLO)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(
            done.stderr.splitlines()[-1],
            r"^muster.UsageError: libmuster cannot be loaded: .*/muster/libmuster.so.0: .*"
            r" \(install the wheel into a directory whose file system allows execution \(no noexec\), on a system with glibc\)$",
        )

    def test_refuses_a_library_of_an_older_version(self):
        self.bring_library(os.path.join(HERE, "libolder.so"))
        done = self.python(HELLO)
        self.assertEqual(
            done.stderr.splitlines()[-1],
            f"muster.UsageError: {self.copy}/muster/libmuster.so.0 has version 0 of muster's C interface, and this Python"
            " module needs 3 (install both from the same release of muster)",
        )


class Names(unittest.TestCase):
    def test_of_the_package_are_all_that_it_imports(self):
        sys.path.insert(0, cases.PACKAGE)
        sys.dont_write_bytecode = True
        import muster

        self.assertEqual(muster.__all__, sorted(set(muster.__all__)))
        imported = {name for name, value in vars(muster).items() if callable(value) and not name.startswith("_")}
        self.assertLessEqual(imported - {"map"}, set(muster.__all__))
        self.assertTrue(all(hasattr(muster, name) for name in muster.__all__))


class Errors(unittest.TestCase):
    def test_of_a_program_may_have_another_base_with_arguments(self):
        sys.path.insert(0, cases.PACKAGE)
        sys.dont_write_bytecode = True
        import muster

        class Listed:
            def __init_subclass__(cls, *, listed_as, **others):
                super().__init_subclass__(**others)
                cls.listed_as = listed_as

        class LateError(muster.DeadlineError, Listed, listed_as="late", exit_status=3):
            pass

        self.assertEqual((LateError.listed_as, LateError.exit_status, LateError.code), ("late", 3, "deadline"))


class Language(unittest.TestCase):
    def test_is_that_of_python_3_9(self):
        files = glob.glob(os.path.join(cases.PACKAGE, "**/*.py"), recursive=True)
        self.assertGreater(len(files), 7)
        for name in files:
            with open(name, encoding="utf-8") as file:
                ast.parse(file.read(), name, feature_version=(3, 9))

    def test_knows_the_functions_of_the_header(self):
        sys.path.insert(0, cases.PACKAGE)
        sys.dont_write_bytecode = True
        from muster import _library

        with open(os.path.join(cases.TOP, "bootstrap/c/muster.h"), encoding="utf-8") as file:
            header = file.read()
        self.assertIn(f"#define MUSTER_ABI_VERSION {_library.ABI_VERSION}\n", header)
        for name in _library._FUNCTIONS:
            self.assertIn(f" {name}(", header.replace("*", "* "))

    def test_numbers_errors_as_the_header_does(self):
        sys.path.insert(0, cases.PACKAGE)
        sys.dont_write_bytecode = True
        from muster import _errors

        with open(os.path.join(cases.TOP, "bootstrap/c/muster.h"), encoding="utf-8") as file:
            listed = re.search(r"typedef enum muster_code \{(.*?)\}", file.read(), re.DOTALL)[1]
        codes = {name.lower(): int(number) for name, number in re.findall(r"MUSTER_([A-Z_]+) = (\d+)", listed)}
        kinds = {kind.code: number for number, kind in enumerate(_errors.KINDS, 1)}
        self.assertEqual({"ok": 0, **kinds}, codes)


if __name__ == "__main__":
    cases.main()

#!/usr/bin/env python3
"""The output of deploy/release/pages.py: man reads the pages without a warning, and real shells complete.

    pages_test.py PAGES MUSTER
"""

import glob
import json
import os
import pty
import re
import select
import subprocess
import sys
import tempfile
import time
import unittest

PAGES, MUSTER = map(os.path.abspath, sys.argv[1:3])
# Far beyond what a loaded machine needs: a test that gets there has failed.
PATIENCE = 100


def run(*command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE, check=False, **options).stdout


class Zsh:
    """An interactive zsh on a terminal of its own."""

    def __init__(self, home):
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.execvpe("zsh", ["zsh", "-f", "-i"], {"PATH": "/usr/bin:/bin", "HOME": home, "TERM": "dumb", "PS1": "> "})
        self.seen = ""

    def send(self, text):
        os.write(self.terminal, text.encode())

    def wait_for(self, text):
        """Its output up to there, once that has come."""
        end = time.monotonic() + PATIENCE
        while text not in self.seen:
            if not select.select([self.terminal], [], [], max(0, end - time.monotonic()))[0]:
                raise AssertionError(f"no {text!r} in {self.seen!r}")
            self.seen += os.read(self.terminal, 4096).decode(errors="replace")
        before, _, self.seen = self.seen.partition(text)
        return before

    def close(self):
        os.close(self.terminal)
        os.waitpid(self.pid, 0)


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory()
        cls.share = cls.place.name + "/share"
        made = run(sys.executable, PAGES, MUSTER, cls.share, "2026-11-24")
        assert made == "", made
        cls.manual = json.loads(run(MUSTER, "help", "--json"))
        cls.names = [command["name"] for command in cls.manual["commands"]]
        os.makedirs(cls.place.name + "/files/folder")
        open(cls.place.name + "/files/eval.yaml", "w", encoding="utf-8").close()

    @classmethod
    def tearDownClass(cls):
        cls.place.cleanup()

    def test_every_command_has_a_page(self):
        found = {os.path.basename(path) for path in glob.glob(self.share + "/man/man*/*")}
        self.assertEqual(found, {"muster.1", "muster.yaml.5", *(f"muster-{name}.1" for name in self.names)})

    def test_man_reads_them_without_a_warning(self):
        environment = dict(os.environ, LC_ALL="C.UTF-8", MANWIDTH="80")
        for path in sorted(glob.glob(self.share + "/man/man*/*")):
            done = subprocess.run(
                ["man", "--warnings", "-l", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, check=True
            )
            self.assertEqual(done.stderr, "", path)
            self.assertRegex(done.stdout, "(?s)NAME\n.*DESCRIPTION\n.*SEE ALSO\n", path)

    def test_a_page_has_every_option(self):
        environment = dict(os.environ, LC_ALL="C.UTF-8", MANWIDTH="200")
        for command in self.manual["commands"]:
            text = run("man", "-l", f"{self.share}/man/man1/muster-{command['name']}.1", env=environment)
            for group in command["option_groups"]:
                for option in group["options"]:
                    for name in option["names"]:
                        self.assertIn(name, text)
            for example in command["examples"]:
                self.assertIn(example["command"], text)

    def test_the_page_of_the_configuration_has_every_key(self):
        text = run("man", "-l", self.share + "/man/man5/muster.yaml.5", env=dict(os.environ, LC_ALL="C.UTF-8"))
        for key in self.manual["keys"]:
            self.assertRegex(text, rf"\n       {re.escape(key['path'])}\n")
            self.assertRegex(text, key["variable"] + "\\.")

    def bash(self, *words):
        script = (
            f"cd {self.place.name}/files; . {self.share}/bash-completion/completions/muster; compopt() {{ echo \"compopt $*\"; }}; "
            'COMP_WORDS=(muster "$@"); COMP_CWORD=$#; _muster; printf "%s\\n" "${COMPREPLY[@]}"'
        )
        return run("bash", "--norc", "-c", script, "bash", *words).split("\n")[:-1]

    def test_bash(self):
        self.assertEqual(self.bash("laun"), ["launch"])
        self.assertEqual(set(self.bash("")) - {"-h", "--help", "-V", "--version", "--color"}, set(self.names))
        self.assertEqual(self.bash("run", "--log"), ["--log-dir"])
        self.assertEqual(self.bash("run", "--stdin", "r"), ["rank0"])
        self.assertEqual(self.bash("run", "--color", "=", "al"), ["always"])
        self.assertEqual(self.bash("run", "-c", "ev")[0], "compopt -o default")
        self.assertEqual(self.bash("run", "--log-dir", "fo")[0], "compopt -o dirnames")
        self.assertIn("sha256sum", self.bash("run", "--", "sha256"))
        self.assertEqual(self.bash("run", "--", "python3", "--log"), ["compopt -o default", ""])
        self.assertEqual(self.bash("help", "exi"), ["compopt -o default", "exit-status"])
        self.assertEqual(self.bash("journal", "folder", "ver"), ["compopt -o default", "verify"])

    def fish(self, line):
        file = f"{self.share}/fish/vendor_completions.d/muster.fish"
        environment = dict(os.environ, HOME=self.place.name, XDG_CONFIG_HOME=self.place.name, XDG_DATA_HOME=self.place.name)
        text = run("fish", "--no-config", "-c", f"source {file}; complete -C '{line}'", cwd=self.place.name + "/files", env=environment)
        return [found.split("\t")[0] for found in text.split("\n") if found]

    def test_fish(self):
        self.assertEqual(self.fish("muster laun"), ["launch"])
        self.assertEqual(set(self.fish("muster ")), set(self.names))
        self.assertEqual(self.fish("muster run --log"), ["--log-dir"])
        self.assertEqual(self.fish("muster run --stdin r"), ["rank0"])
        self.assertEqual(self.fish("muster run -c ev"), ["eval.yaml"])
        self.assertEqual(self.fish("muster run --log-dir fo"), ["folder/"])
        self.assertIn("sha256sum", self.fish("muster run -- sha256"))
        self.assertNotIn("--log-dir", self.fish("muster run -- cat --log"))
        self.assertEqual(self.fish("muster help exi"), ["exit-status"])
        self.assertIn("verify", self.fish("muster journal folder ver"))

    def test_zsh(self):
        zsh = Zsh(self.place.name)
        self.addCleanup(zsh.close)
        zsh.wait_for("> ")
        zsh.send(f"fpath=({self.share}/zsh/site-functions $fpath); autoload -Uz compinit; compinit -u -D; cd {self.place.name}/files; echo rea''dy\n")
        zsh.wait_for("ready")
        for typed, completed in (
            ("muster laun\t", "launch"),
            ("muster run --log\t", "--log-dir"),
            ("muster run --stdin ra\t", "rank0"),
            ("muster run -c ev\t", "eval.yaml"),
            ("muster run --log-dir fo\t", "folder"),
            ("muster run -- sha256su\t", "sha256sum"),
            ("muster help exi\t", "exit-status"),
            ("muster journal folder ver\t", "verify"),
        ):
            # echo prints the line as completed.
            zsh.send("\x15" + typed)
            zsh.send("\x01echo '<\x05>'\n")
            zsh.wait_for("\n<")
            self.assertEqual(zsh.wait_for(">\r\n").rstrip(), typed.rpartition(" ")[0] + " " + completed)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)

"""Does muster have each command and option that pages show, and accept each setting, also in blocks that do not run and in the text?"""

import functools
import re
import subprocess

# Up to the program of the rank, or the next command of the shell.
SHOWN = re.compile(r"(?<![\w./-])muster ([a-z]+)((?: (?!--(?: |$))[^\s|&;`']+)*)")
OPTION = re.compile(r"(?<![\w-])--?[a-zA-Z][\w-]*")
# In text "muster" is also a noun: only what is written as code is a command.
CODE = re.compile(r"`([^`\n]+)`")
USAGE, CONFIGURATION = 64, 78
SETTING = re.compile(r"--set[ =]('[a-z][\w.]*=[^']+'|[a-z][\w.]*=[^\s'\"]+)")
# Settings that muster refuses are the subject of these pages.
REFUSED = "docs/pages/troubleshooting/"


def shown(page):
    """(command, option or '') of a page, once each."""
    found = set()
    for code in [*CODE.findall(page.text), *(line for block in page.blocks for line in lines(block))]:
        for command, rest in SHOWN.findall(code):
            found.add((command, ""))
            found.update((command, option) for option in OPTION.findall(rest))
    return sorted(found)


def lines(block):
    """The commands of a block: not their output, in which muster is the first word of a sentence."""
    if block.mark == "run" and block.exit_code in (USAGE, CONFIGURATION):
        return []  # muster refuses these, as the page describes
    if block.language == "console":
        return [line[2:] for line in block.text.split("\n") if line.startswith(("$ ", "> "))]
    if block.language in ("bash", "sh", "shell"):
        return [line.partition(" #")[0] for line in block.text.replace("\\\n", "").split("\n") if not line.startswith("#")]
    return []


def from_help(program):
    """For `problems`: from `PROGRAM COMMAND --help`, called once."""

    @functools.cache
    def options_of(command):
        asked = subprocess.run([program, command, "--help"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        return None if asked.returncode else {*OPTION.findall(asked.stdout), "--help", "-h"}

    return options_of


def problems(pages, options_of):
    """`options_of`: of a command; None if there is no such command."""
    for page in pages:
        for command, option in shown(page):
            known = options_of(command)
            if known is None and not option:
                yield f"{page.path}: there is no command muster {command}"
            elif known is not None and option and option not in known:
                yield f"{page.path}: muster {command} has no option {option}"


def settings(page):
    """Those that stand together in a command or a piece of code, once each."""
    codes = [*CODE.findall(page.text), *(line for block in page.blocks for line in lines(block))]
    found = {tuple(each.strip("'") for each in SETTING.findall(code)) for code in codes}
    return sorted(found - {()})


def from_config(program):
    """For `refused`: from `PROGRAM config`."""

    def reason(together):
        flags = [word for each in together for word in ("--set", each)]
        # The configuration alone: without variables and files of this machine.
        asked = subprocess.run([program, "config", *flags], env={}, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        return asked.stderr.strip() if asked.returncode else ""

    return reason


def refused(pages, reason_of):
    """`reason_of`: why muster refuses these settings; '' if it accepts them."""
    for page in pages:
        if not page.path.startswith(REFUSED):
            for together in settings(page):
                reason = reason_of(together)
                if reason:
                    yield f"{page.path}: muster refuses --set {' --set '.join(together)}: {reason}"

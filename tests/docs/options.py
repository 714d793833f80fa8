"""Does muster have each command and option that pages show, also in blocks that do not run and in the text?"""

import functools
import re
import subprocess

# Up to the program of the rank, or the next command of the shell.
SHOWN = re.compile(r"(?<![\w./-])muster ([a-z]+)((?: (?!--(?: |$))[^\s|&;`']+)*)")
OPTION = re.compile(r"(?<![\w-])--?[a-zA-Z][\w-]*")
# In text "muster" is also a noun: only what is written as code is a command.
CODE = re.compile(r"`([^`\n]+)`")
USAGE = 64


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
    if block.mark == "run" and block.exit_code == USAGE:
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

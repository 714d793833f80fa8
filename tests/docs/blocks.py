"""The fenced blocks of a page of Markdown, with the marks that docs/README.md describes."""

import re
import typing

COMMANDS = ("console", "sh", "bash", "shell")
# Changes that a page may make to the cluster, as `<!-- cluster: throttle gpu03 10mbit -->`: scripts of tests/cluster.
CLUSTER = ("link", "power", "throttle")
FENCE = re.compile(r"^(?P<indent>\s*)(?P<fence>```+|~~~+)\s*(?P<language>[\w+-]*)(?P<rest>.*)$")
MARK = re.compile(r"^\s*<!--\s*(?P<kind>run|not run|file|cluster|check)\b(?::\s*(?P<value>.*?))?\s*-->\s*$")
# Names of files that only a clone has.
CLONE = re.compile(r"(?:^|(?<=[\s\"'=]))(?:\./)?(?:bootstrap|comm|deploy|docs|tests)/[\w./-]+", re.M)
IN_A_CLONE = "needs a clone"
INCLUDE = re.compile(r'^\s*--8<-- "(?P<path>[^"]+)"\s*$')


class Block(typing.NamedTuple):
    """`text`: without the indent of its fence. `line`: of the first line of text, from 1."""

    language: str
    mark: str
    value: str
    text: str
    line: int
    indent: str

    @property
    def exit_code(self):
        """The exit status that the last command must have."""
        found = re.match(r"exit (\d+)", self.value)
        return int(found[1]) if found else 0

    @property
    def each_exits(self):
        """Every command exits with exit_code, not the last one alone."""
        return bool(re.match(r"exit \d+ each", self.value))

    @property
    def until(self):
        """Words that the output of the last command will have after some time; '' if it is run once."""
        found = re.search(r"(?:^|, )until (.+)$", self.value)
        return found[1] if found else ""


class Command(typing.NamedTuple):
    text: str
    output: list  # lines; None if it is not shown
    line: int  # of the first line of output in the page


def included(path, top):
    with open(top / path, encoding="utf-8") as file:
        return file.read().rstrip("\n")


def blocks(page, top):
    """Those of a page's text, in order. An included file is in the text of its block."""
    lines, found, mark, number = page.split("\n"), [], None, 0
    while number < len(lines):
        opened = FENCE.match(lines[number])
        if not opened:
            mark = MARK.match(lines[number]) or (mark if not lines[number].strip() else None)
            if mark and mark["kind"] in ("cluster", "check"):
                found.append(Block("", mark["kind"], mark["value"] or "", "", number + 1, ""))
                mark = None
            number += 1
            continue
        first = number + 1
        number = first
        while number < len(lines) and lines[number].strip() != opened["fence"]:
            number += 1
        text = [line.removeprefix(opened["indent"]) for line in lines[first:number]]
        text = [included(INCLUDE.match(line)["path"], top) if INCLUDE.match(line) else line for line in text]
        kind, value = (mark["kind"], mark["value"] or "") if mark else ("", "")
        found.append(Block(opened["language"], kind, value, "\n".join(text), first + 1, opened["indent"]))
        mark = None
        number += 1
    return found


def commands(block):
    """The commands of a block, in order."""
    if block.language != "console":
        return [Command(block.text, None, block.line)]
    found, lines = [], block.text.split("\n")
    for number, line in enumerate(lines):
        if line.startswith("$ "):
            found.append(Command(line[2:], [], block.line + number + 1))
        elif found and line.startswith("> ") and not found[-1].output:
            found[-1] = Command(f"{found[-1].text}\n{line[2:]}", [], block.line + number + 1)
        elif found:
            found[-1].output.append(line)
    return found


def problems(block):
    """The faults of a block, before anything runs."""
    if block.mark in ("cluster", "check"):
        if block.mark == "cluster" and block.value.split(" ")[0] not in CLUSTER:
            yield f"'cluster: {block.value}' is none of {' '.join(CLUSTER)}"
        return
    if block.language not in COMMANDS:
        if block.mark in ("run", "not run"):
            yield f"a block in '{block.language}' does not run: write console, sh or bash after the fence"
        if not block.language:
            yield "a block without a language: write one after the fence, such as console, yaml or text"
        elif block.language == "text" and re.search(r"^\$ ", block.text, re.M):
            yield "commands in a block of text: write console after the fence"
        return
    found = CLONE.search(block.text)
    if found and IN_A_CLONE not in block.value:
        yield f"a reader without a clone has no {found[0]}: take it from a release, or mark the block <!-- not run: {IN_A_CLONE} -->"
    if not block.mark:
        yield f"a block in {block.language} without a mark: put <!-- run --> or <!-- not run: REASON --> before it (docs/README.md)"
    if block.mark == "not run" and not block.value:
        yield "not run, without a reason"
    if block.mark == "run" and not re.fullmatch(r"(exit \d+( each)?)?((^|, )until .+)?", block.value):
        yield f"the mark 'run: {block.value}' is neither 'exit N' nor 'until WORDS' nor 'exit N, until WORDS'"
    if block.language == "console" and block.mark != "file" and not block.text.startswith("$ "):
        yield "a console block begins with a command after '$ '"

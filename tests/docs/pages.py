"""Runs the commands of one page, and compares or writes what they print."""

import re

import blocks
import transcript
from session import Failed, Session

PATIENCE_S = 240


class Page:
    """`path`: relative to the repository, `text`: its Markdown."""

    def __init__(self, top, path):
        self.path = str(path.relative_to(top))
        self.file = path
        self.text = path.read_text(encoding="utf-8")
        self.blocks = blocks.blocks(self.text, top)

    @property
    def commands(self):
        """The number of those that run."""
        return sum(block.mark == "check" or block.mark == "run" and len(blocks.commands(block)) for block in self.blocks)

    def problems(self):
        return [f"{self.path}:{block.line}: {what}" for block in self.blocks for what in blocks.problems(block)]


class Outcome:
    """`wrong`: sentences. `edits`: (line, number of lines, new lines) of the page, for --write."""

    def __init__(self):
        self.wrong, self.edits, self.commands = [], [], 0


def keep_file(block, home):
    path = home / block.value
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(block.text + "\n", encoding="utf-8")
    if block.text.startswith("#!"):
        path.chmod(0o755)


def check(page, block, session, outcome):
    """A command that the page does not show."""
    code, output = session.run(block.value)
    outcome.commands += 1
    if code != 0:
        raise Failed(f"{page.path}:{block.line}: exit code {code} of: {block.value}\n{output}")


def run_block(page, block, session, outcome):
    """Stops with Failed at a command that does not exit as its block has it: the next ones need it."""
    all_commands = blocks.commands(block)
    for command in all_commands:
        last = command is all_commands[-1]
        place = f"{page.path}:{command.line}"
        code, output = session.run(command.text, block.until if last else "")
        outcome.commands += 1
        if code != (block.exit_code if last or block.each_exits else 0):
            raise Failed(f"{place}: exit code {code} of: {command.text}\n{output}")
        if command.output is None:
            continue
        lines = transcript.trimmed(output.split("\n"))
        different = transcript.difference(command.output, lines)
        if different:
            outcome.wrong.append(f"{place}: {command.text}: {different}")
            blank = len(command.output) - len(transcript.trimmed(command.output))
            indented = [f"{block.indent}{line}".rstrip() for line in lines + [""] * blank]
            outcome.edits.append((command.line, len(command.output), indented))


def run(page, cluster, place):
    """Its Outcome."""
    outcome = Outcome()
    home = place.home(page.path)
    installs = any(block.mark == "run" and "$ sh install " in block.text for block in page.blocks)
    try:
        with Session(cluster, home, place.environment(installs), PATIENCE_S) as session:
            for block in page.blocks:
                if block.mark == "cluster":
                    session.change_cluster(block.value.split())
                elif block.mark == "check":
                    check(page, block, session, outcome)
                elif block.mark == "file":
                    keep_file(block, home)
                elif block.mark == "run":
                    run_block(page, block, session, outcome)
    except Failed as failure:
        outcome.wrong.append(str(failure) if page.path in str(failure) else f"{page.path}: {failure}")
        outcome.wrong += [f"{path.name}: {path.read_text(errors='replace')[-2000:]}" for path in sorted(home.glob("slurm-*.out"))]
    return outcome


def write(page, edits):
    """The page with these outputs. The lines of an edit are counted from 1."""
    lines = page.text.split("\n")
    for line, count, new in sorted(edits, reverse=True):
        lines[line - 1 : line - 1 + count] = new
    text = re.sub(r"[ \t]+\n", "\n", "\n".join(lines))
    page.file.write_text(text, encoding="utf-8")

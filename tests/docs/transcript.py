"""Compares two outputs of a command, except for parts that differ from run to run."""

import collections
import difflib
import re

# In this order. The rest of a pattern is the same in both.
VARYING = [
    (r"\b\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?", "DATE"),
    (r"\b\d\d:\d\d:\d\d(\.\d+)?\b", "CLOCK"),
    (r"(?<![\w.])<?\d+(\.\d+)? ?[kKMGT]?i?B(/s)?\b", "SIZE"),
    (r"(?<![\w.])<?\d+(\.\d+)? ?(h|min|s|ms|us)(?![\w-])", "TIME"),
    # Ranks have been in a state for nearly the same time: rounded, it is one number or two.
    (r"\bTIME to TIME\b", "TIME"),
    # On a busy machine ranks arrive far apart.
    (r" \(first rank \d+ on \S+ at TIME, last rank \d+ on \S+ at TIME\)", ""),
    (r"\b(least|most) (TIME|SIZE) \(gpu\d+\)", r"\1 \2 (NODE)"),
    (r"\b(pid|process|PID)[ =:]\d+", r"\1 N"),
    (r"\b0x[0-9a-f]+\b", "HEX"),
    (r"\b(?=[a-f]*\d)[0-9a-f]{7,}\b", "HEX"),
    (r"(?<=[\w\]])(?<!slurm):\d{4,5}\b", ":PORT"),
    (r"\bslurm:(\d+)\.\d+:", r"slurm:\1.STEP:"),
    (r"\b\d+ processors?", "N processors"),
    (r"open files:? \d+", "open files N"),
    (r"\bglibc [\d.]+", "glibc VERSION"),
    (r"(?<![\w.])\d+\.\d+\.\d+[\w.-]*", "VERSION"),
    (r"/tmp/[^\s:,;)'\"]*", "TMP"),
    (r"[ \t]+", " "),
]
# Slurm writes one such line for all tasks of a node that it has noticed together.
EXITED = re.compile(r"^srun: error: \S+: tasks? [\d,-]+: (.*)$")
# On a busy machine there are more of them.
EXTRA = [
    re.compile(r"^\S+ muster: .*: waiting [\d.]+ s: "),
    re.compile(r"^srun: (Job step aborted|launch/slurm: _step_signal: )"),
    re.compile(r"^slurmstepd: error: "),
    re.compile(r"^\S+ muster:   last to arrive: "),
    EXITED,
]
OMITTED = "..."


def normal(line):
    """A line without what differs from run to run."""
    line = EXITED.sub(r"srun: error: NODE: tasks: \1", line.rstrip())
    for pattern, replacement in VARYING:
        line = re.sub(pattern, replacement, line)
    return line.strip()


def is_extra(line):
    return any(pattern.match(line) for pattern in EXTRA)


def trimmed(lines):
    """Without blank lines at the end."""
    lines = list(lines)
    while lines and not lines[-1].strip():
        lines.pop()
    return lines


def difference(shown, actual):
    """The difference for a reader of `shown`; '' if none.

    The order of lines is not compared: ranks write beside each other. A line `...` is any number of lines.
    """
    shown, actual = trimmed(shown), trimmed(actual)
    wanted = collections.Counter(normal(line) for line in shown if line.strip() != OMITTED)
    got = collections.Counter(normal(line) for line in actual)
    extra = {normal(line) for line in shown + actual if is_extra(line)}
    missing = [line for line in wanted if wanted[line] > got[line] and not (line in extra and got[line])]
    if missing:
        nearest = difflib.get_close_matches(missing[0], got, n=1)
        return f"shown, but not written: {missing[0]}" + "".join(f" (nearest: {line})" for line in nearest)
    if any(line.strip() == OMITTED for line in shown):
        return ""
    surplus = [line for line in got if got[line] > wanted[line] and line not in extra]
    return f"written, but not shown: {surplus[0]}" if surplus else ""

"""Rows of a benchmark: two medians of one run, their ratio, the goal, and whether it is met."""

import dataclasses
import math
import statistics

UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}


@dataclasses.dataclass(frozen=True)
class Goal:
    """`kind` says what is measured, and how `value` bounds it: "most", ours/theirs at most; "faster", theirs/ours at
    least; "more", ours - theirs in seconds at most."""

    text: str
    value: float
    kind: str

    def measure(self, ours, theirs):
        return {"most": ours / theirs, "faster": theirs / ours, "more": ours - theirs}[self.kind]

    def verdict(self, measured):
        if self.kind == "faster":
            met, short = measured >= self.value, 1 - measured / self.value
        else:
            met, short = measured <= self.value, measured / self.value - 1
        if met:
            return "meets"
        return f"short by {100 * short:.0f} %" if short < 2 else f"short: {1 + short:.0f} times the goal"


def at_most(ratio):
    return Goal(f"<= {ratio:g} x", ratio, "most")


def faster(ratio):
    return Goal(f">= {ratio:g} x faster", ratio, "faster")


def at_most_more(milliseconds):
    return Goal(f"<= {milliseconds:g} ms more", milliseconds / 1e3, "more")


@dataclasses.dataclass
class Row:
    case: str
    ours: list  # seconds, by round
    theirs: list
    peer: str
    goal: Goal = None
    unscored: str = ""  # why it is not judged
    bound: bool = False  # the peer was killed: it takes longer than this

    @property
    def pairs(self):
        return list(zip(self.ours, self.theirs))

    @property
    def measured(self):
        """The median of the rounds' ratios: in each round both were measured side by side."""
        goal = self.goal or at_most(1)
        return statistics.median(goal.measure(ours, theirs) for ours, theirs in self.pairs)

    @property
    def verdict(self):
        if self.unscored:
            return f"not scored: {self.unscored}"
        if self.goal is None:
            return ""
        verdict = self.goal.verdict(self.measured)
        if self.bound and verdict != "meets":
            return "open: it was killed too early to say"
        return verdict

    def finite(self):
        """Whether it is significant: for the smoke test."""
        times = self.ours + self.theirs
        return bool(self.pairs) and all(math.isfinite(time) and time > 0 for time in times) and math.isfinite(self.measured)

    def json(self):
        return {
            "case": self.case,
            "peer": self.peer,
            "ours_s": self.ours,
            "theirs_s": self.theirs,
            "ratio": self.measured,
            "goal": self.goal.text if self.goal else None,
            "verdict": self.verdict,
            "peer_killed": self.bound,
        }


def show_time(seconds):
    unit = "us" if seconds < 1e-3 else "ms" if seconds < 1 else "s"
    return f"{seconds / UNITS[unit]:.3g} {unit}" if seconds < 100 else f"{seconds:.0f} s"


def show_measured(row):
    kind = row.goal.kind if row.goal else "most"
    if kind == "more":
        return f"+{1e3 * row.measured:.2f} ms"
    prefix = ">" if row.bound and kind == "faster" else "<" if row.bound else ""
    return f"{prefix}{row.measured:.2f} x" + (" faster" if kind == "faster" else "")


def table(rows):
    """Lines; empty for no rows."""
    head = ("case", "muster", "peer", "", "ratio", "goal", "", "n")
    cells = [head]
    for row in rows:
        theirs = statistics.median(row.theirs)
        cells.append(
            (
                row.case,
                show_time(statistics.median(row.ours)),
                row.peer,
                (">" if row.bound else "") + show_time(theirs),
                show_measured(row),
                row.goal.text if row.goal else "",
                row.verdict,
                str(len(row.pairs)),
            )
        )
    widths = [max(len(line[i]) for line in cells) for i in range(len(head))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in cells if rows]

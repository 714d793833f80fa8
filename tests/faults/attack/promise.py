"""The promise: the permitted cost of an attack, and the row of a listener and an attack that shows whether it is kept."""

import dataclasses
import re

# The permitted cost of an attack beyond the control.
MOST_LATE_S = 0.1
MOST_LINES_A_MINUTE = 20
MOST_DESCRIPTORS = 256
MOST_MEMORY_MIB = 32
# Beyond it there is no promise in milliseconds: until a rank that comes during the attack is in the group, or connected.
MOST_FORMING_S = 1.0
TRIES = 3


@dataclasses.dataclass
class Report:
    """Of an attacker, on its own work."""

    attempts: int
    connected: int
    denied: int
    last_error: str

    def missed(self, denied):
        """Why it was no attack; empty: it was one."""
        if (self.denied if denied else self.connected) > 0:
            return ""
        return f"{self.attempts} attempts, {self.connected} connected, {self.denied} denied, last error: {self.last_error}"


REPORT = re.compile(r"attempts=(\d+) connected=(\d+) denied=(\d+) closed_by_peer=\d+ last_error=(.*)")


@dataclasses.dataclass
class Cost:
    late: float = 0.0  # heartbeats of the attacked node's leader, beyond their interval
    slow: float = 0.0  # the slowest AllReduce; of a launch or `muster store`, the slowest request
    forming: float = 0.0  # or the first call, or the end of a launch, or the first request of another client
    lines: int = 0
    descriptors: int = 0
    memory: float = 0.0
    reports: list = dataclasses.field(default_factory=list)  # of the attackers


@dataclasses.dataclass
class Row:
    listener: object
    attack: str
    control: Cost
    cost: Cost
    seconds: float
    outcome: str = "same"
    blind: str = ""  # why it proves nothing
    tries: int = 1

    def problems(self):
        return [*self.lasting_problems(), *self.passing_problems()]

    # A busy machine may be the reason.
    def passing_problems(self):
        if self.cost.late - self.control.late > MOST_LATE_S:
            yield f"heartbeats {1000 * (self.cost.late - self.control.late):.0f} ms later"
        if self.cost.slow - self.control.slow > MOST_LATE_S:
            yield f"an operation {1000 * (self.cost.slow - self.control.slow):.0f} ms longer"
        if self.cost.forming - self.control.forming > MOST_FORMING_S:
            yield f"took {self.cost.forming - self.control.forming:.1f} s longer"

    def lasting_problems(self):
        if self.outcome != "same":
            yield f"outcome: {self.outcome}"
        if self.blind:
            yield f"no attack: {self.blind}"
        for report in self.control.reports:
            if missed := report.missed(denied=False):
                yield f"no attack on the listener of the control: {missed}"
        for report in self.cost.reports:
            if missed := report.missed(denied=self.listener.kind != "tcp"):
                yield f"no attack: {missed}"
        if self.cost.lines > MOST_LINES_A_MINUTE * max(1, -(-self.seconds // 60)):
            yield f"{self.cost.lines} lines of log"
        if self.cost.descriptors - self.control.descriptors > MOST_DESCRIPTORS:
            yield f"{self.cost.descriptors - self.control.descriptors} more descriptors"
        if self.cost.memory - self.control.memory > MOST_MEMORY_MIB:
            yield f"{self.cost.memory - self.control.memory:.0f} MiB more"
        if self.listener.kind != "tcp" and self.connected() > 0:
            yield "another user can open it"

    def is_final(self):
        return any(self.lasting_problems()) or not any(self.passing_problems()) or self.tries == TRIES

    def connected(self):
        return sum(report.connected for report in self.cost.reports)

    def cells(self):
        def pair(cost, control):
            return f"{1000 * cost:.0f} ({1000 * control:.0f})" if cost or control else "-"

        listener = ", ".join(filter(None, (self.listener.full_name(), self.listener.phase)))
        return (
            *[listener, self.listener.where, self.attack, f"{self.connected()}"],
            pair(self.cost.late, self.control.late),
            pair(self.cost.slow, self.control.slow),
            f"{self.cost.forming:.1f} ({self.control.forming:.1f})" if self.cost.forming else "-",
            *[f"{self.cost.lines}", f"{self.cost.descriptors - self.control.descriptors:+d}"],
            *[f"{self.cost.memory - self.control.memory:+.0f}", self.outcome, "; ".join(self.problems())],
        )


HEAD = ("listener", "from", "attack", "connections", "heartbeat late, ms (control)", "operation, ms (control)",
        "takes, s (control)", "lines", "descriptors", "MiB", "outcome", "over the promise")

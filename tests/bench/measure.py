"""Running one program and timing it, and running several in turn: what is compared is measured side by side."""

import os
import signal
import subprocess
import time


class Failed(Exception):
    """A program that is measured did not do its work; the message says which, and what it said last."""


class TooLong(Exception):
    """A program was killed at its limit; `seconds` is how long it was given."""

    def __init__(self, command, seconds):
        super().__init__(f"killed after {seconds:.0f} s: {' '.join(command)}")
        self.seconds = seconds


def kill_group(child):
    try:
        os.killpg(child.pid, signal.SIGTERM)
        child.wait(5)
    except (ProcessLookupError, subprocess.TimeoutExpired):
        pass
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    child.wait()


def run(command, limit, environment=None):
    """(seconds, its output)."""
    start = time.perf_counter()
    child = subprocess.Popen(
        command,
        env=dict(os.environ, **(environment or {})),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        output, said = child.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        kill_group(child)
        raise TooLong(command, limit) from None
    except BaseException:
        kill_group(child)
        raise
    seconds = time.perf_counter() - start
    if child.returncode != 0:
        last = (said.strip() or output.strip() or "nothing").splitlines()[-1]
        raise Failed(f"{' '.join(command)}: exit code {child.returncode}, it said: {last}")
    return seconds, output


def in_turn(rounds, contestants):
    """{name: [result of each round]}; contestants: {name: function}. Each round runs all, one after the other,
    in an order that turns: nobody is always the first after an idle moment."""
    names = list(contestants)
    results = {name: [] for name in names}
    for number in range(rounds):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            results[name].append(contestants[name]())
    return results

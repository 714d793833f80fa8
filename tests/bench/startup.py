"""startup: `muster --version` against /bin/true, each forked, executed and waited for many times."""

import os
import statistics

import measure
import report

NAME = "startup"
NEEDS_ROOT = False


def run(bench):
    spawns = {"smoke": 5, "quick": 200, "full": 1000}[bench.mode]
    spawn = os.path.join(bench.bin, "tests/bench/spawn_times")
    muster = os.path.join(bench.bin, "bootstrap/cli/muster")
    _, output = measure.run([spawn, str(spawns), muster, "--version", "--", "/bin/true"], 120)
    rounds = [[float(field) for field in line.split()] for line in output.splitlines()]
    columns = list(zip(*rounds))
    wall, cpu, faults, peer_wall, peer_cpu, peer_faults = columns
    row = report.Row(
        "muster --version",
        [microseconds / 1e6 for microseconds in wall],
        [microseconds / 1e6 for microseconds in peer_wall],
        "/bin/true",
        report.at_most_more(2),
    )
    cost = statistics.median(cpu) - statistics.median(peer_cpu)
    bench.note(
        f"processor time: {cost:+.0f} us; page faults: {statistics.median(faults):.0f}"
        f" instead of {statistics.median(peer_faults):.0f}"
    )
    bench.note(f"instructions: {instructions(muster)} instead of {instructions('/bin/true', '')}")
    return [row]


def instructions(program, argument="--version"):
    """In user space, if this machine counts them."""
    command = ["perf", "stat", "-x", ",", "-e", "instructions:u", "--", program, *([argument] if argument else [])]
    try:
        _, _ = measure.run(["perf", "--version"], 10)
        said = measure.run(["sh", "-c", '"$@" 2>&1 >/dev/null', "sh", *command], 10)[1]
        return f"{int(said.split(',')[0]):,}"
    except (OSError, ValueError, measure.Failed):
        return "(not counted on this machine)"

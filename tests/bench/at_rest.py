#!/usr/bin/env python3
"""The cost of muster's processes while nothing happens: 64 ranks on four nodes of a test cluster.

    tests/bench/at_rest.py BIN [SECONDS]

BIN holds bootstrap/cli/muster and tests/launchers/laggard (bazel-bin). First the supervisors of programs that
sleep, then programs that link muster and wait for one of them in a collective. Prints the processor time of a
rank in percent of a core; the goal is less than 0.1. Needs root.
"""

import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
CLUSTER = os.path.join(HERE, "..", "cluster")
RANKS = 64


def processes(name):
    """The processes called so: their processor time in ticks, by pid."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
                text = file.read()
        except OSError:
            continue
        command = text[text.index("(") + 1 : text.rindex(")")]
        fields = text[text.rindex(")") + 2 :].split()
        if command == name:
            found[pid] = int(fields[11]) + int(fields[12])
    return found


def measure(what, name, command, seconds, environment):
    srun = [os.path.join(CLUSTER, "on"), "ctl", "srun", "--input=none", "-N4", "--ntasks-per-node=16", "--overcommit"]
    with subprocess.Popen(srun + command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, env=environment) as step:
        try:
            deadline = time.monotonic() + 60
            while len(processes(name)) < RANKS:
                if time.monotonic() > deadline or step.poll() is not None:
                    sys.exit(f"{what}: not {RANKS} processes called {name}")
                time.sleep(0.2)
            time.sleep(5)
            before, began = processes(name), time.monotonic()
            time.sleep(seconds)
            after, took = processes(name), time.monotonic() - began
        finally:
            step.terminate()
            step.wait()
    ticks = [after[pid] - before[pid] for pid in before if pid in after]
    percent = [100 * t / os.sysconf("SC_CLK_TCK") / took for t in ticks]
    print(f"{what}: {sum(percent) / len(percent):.4f} % of a core for each of {len(percent)} ranks, "
          f"{max(percent):.4f} % at most, over {took:.0f} s", flush=True)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    binaries, seconds = os.path.abspath(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 60
    environment = dict(os.environ, TEST_CLUSTER=os.environ.get("TEST_CLUSTER", f"at-rest-{os.getpid()}"))
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([os.path.join(CLUSTER, "up"), "4"], check=True, env=environment)
        try:
            measure("muster run -- sleep", "muster",
                    [f"{binaries}/bootstrap/cli/muster", "run", "--", "sleep", "1000"], seconds, environment)
            measure("the library, blocked in a collective", "laggard",
                    [f"{binaries}/tests/launchers/laggard", "1", f"{folder}/go"], seconds, environment)
        finally:
            subprocess.run([os.path.join(CLUSTER, "down")], check=True, env=environment)


if __name__ == "__main__":
    main()

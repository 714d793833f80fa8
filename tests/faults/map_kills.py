#!/usr/bin/env python3
"""Maps whose programs, supervisors, nodes and roots are killed or stopped at random, on a cluster that is up.

  map_kills.py [--kills N] [--seed S] [FORM...]

FORM: run (programs under `muster run`), library (they form the group themselves). A map is started again, with another
number of ranks, until it is complete. Then its merge must be byte for byte what one rank would have written, no key may be
in it twice and none may be missing. $TEST_CLUSTER, $MUSTER_BIN_DIR: as for the matrix.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BIN = os.environ["MUSTER_BIN_DIR"]
MUSTER = os.path.join(BIN, "bootstrap/cli/muster")
WORKER = os.path.join(BIN, "tests/faults/map_at_work")
MARK = "MUSTER_MAP_ROUND"
ITEMS = 600
LAYOUTS = ["-N3 -n3", "-N4 -n7", "-N2 -n8", "-N4 -n16", "-N1 -n4"]
# How soon a silent node, and a rank that does not answer, are given up.
SOON = {
    "MUSTER_LIVENESS_HEARTBEAT": "200ms",
    "MUSTER_LIVENESS_SUSPECT_AFTER": "600ms",
    "MUSTER_LIVENESS_DEAD_AFTER": "1500ms",
    # Some are killed before their group has formed.
    "MUSTER_TIMEOUTS_RENDEZVOUS": "20s",
}
MOST_RUNS = 40
RUN_ENDS_WITHIN = 120


def result_of(item):
    return "".join(f"{item * item + line} " for line in range(8)) + "\n"


EXPECTED = "".join(result_of(item) for item in range(ITEMS)).encode()


class Process:
    def __init__(self, pid, name, environment):
        self.pid, self.name = pid, name
        self.rank = int(environment.get("SLURM_PROCID", "-1"))
        self.node = environment.get("SLURMD_NODENAME", "")


def processes(mark):
    """Of this round's ranks, from /proc."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/environ", "rb") as file:
                pairs = [pair.partition("=") for pair in file.read().decode(errors="replace").split("\0")]
            with open(f"/proc/{entry}/comm", encoding="utf-8") as file:
                name = file.read().strip()
        except OSError:
            continue
        environment = {key: value for key, _, value in pairs}
        if environment.get(MARK) == mark and "SLURM_PROCID" in environment and name in ("muster", "map_at_work"):
            found.append(Process(int(entry), name, environment))
    return found


def send(victims, number):
    for victim in victims:
        try:
            os.kill(victim.pid, number)
        except ProcessLookupError:
            pass


class Round:
    """One map, from its first run to its merge."""

    def __init__(self, form, seed, folder):
        self.form, self.random = form, random.Random(seed)
        self.folder = os.path.join(folder, f"{form}-{seed}")
        os.mkdir(self.folder)
        self.journal = os.path.join(self.folder, "journal")
        self.kills = 0
        self.runs = 0
        self.story = []

    def play(self):
        """'': it is as it should be."""
        while self.runs < MOST_RUNS:
            code = self._run()
            if code is None:
                return "a run did not end within its time"
            if code == 0:
                return self._judge()
        return f"not complete after {MOST_RUNS} runs"

    def _run(self):
        self.runs += 1
        layout = self.random.choice(LAYOUTS)
        command = [WORKER, str(ITEMS), self.journal]
        if self.form == "run":
            command = [MUSTER, "run", "--", *command]
        mark = f"{self.folder}.{self.runs}"
        with open(os.path.join(self.folder, f"run{self.runs}.err"), "w", encoding="utf-8") as output:
            step = subprocess.Popen(
                [os.path.join(HERE, "../cluster/on"), "ctl", "srun", "--input=none", *layout.split(), *command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **SOON, MARK: mark},
            )
        self.story.append(layout)
        # The first run of a map is always hit, the later ones less, so that it ends.
        strikes = self.random.randint(1 if self.runs == 1 else 0, 3) if self.runs < 8 else 0
        for _ in range(strikes):
            self._wait(step, self.random.uniform(0.05, 1.0))
            self._strike(mark)
        code = self._wait(step, RUN_ENDS_WITHIN)
        if code is None:
            self.story.append(f"left: {[(one.name, one.rank, one.pid) for one in processes(mark)]}")
        send(processes(mark), signal.SIGKILL)
        if code is None:
            step.kill()
            step.wait()
        self.story.append(f"-> {code}")
        return code

    @staticmethod
    def _wait(step, seconds):
        try:
            return step.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def _strike(self, mark):
        alive = processes(mark)
        if not alive:
            return
        victim = self.random.choice(alive)
        kind = self.random.choice(["program", "process", "node", "root", "stopped", "stopped node"])
        if kind in ("node", "stopped node"):
            victims = [one for one in alive if one.node == victim.node]
        elif kind == "root":
            victims = [one for one in alive if one.rank == 0]
        elif kind == "program":
            victims = [one for one in alive if one.rank == victim.rank and one.name == "map_at_work"]
        else:
            victims = [victim]
        self.kills += 1
        self.story.append(f"{kind} {victim.rank} ({victim.name})")
        if not kind.startswith("stopped"):
            return send(victims, signal.SIGKILL)
        send(victims, signal.SIGSTOP)
        time.sleep(self.random.uniform(0.1, 3))
        send(victims, signal.SIGCONT)

    def _journal(self, *arguments):
        return subprocess.run([MUSTER, "journal", self.journal, *arguments], capture_output=True, check=False)

    def _judge(self):
        verified = self._journal("verify")
        if verified.returncode != 0:
            return f"verify: {verified.stderr.decode()}{verified.stdout.decode()}"
        merged = self._journal("merge")
        if merged.returncode != 0 or merged.stdout != EXPECTED:
            return f"the merge ({len(merged.stdout)} bytes, exit code {merged.returncode}) is not that of one rank"
        keys = [json.loads(line)["key"] for line in self._journal("--json").stdout.splitlines()]
        if sorted(keys, key=int) != [str(item) for item in range(ITEMS)]:
            return f"{len(keys)} records for {ITEMS} items"
        return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=12, help="at least so many for each form")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("forms", nargs="*", default=["run", "library"])
    asked = parser.parse_args()
    passed = failed = all_kills = 0
    for form in asked.forms:
        kills, seed = 0, asked.seed
        while kills < asked.kills:
            with tempfile.TemporaryDirectory(prefix="muster-map-") as folder:
                os.chmod(folder, 0o777)
                game = Round(form, seed, folder)
                wrong = game.play()
                if wrong:
                    print(f"FAILED a map under kills: {form}, seed {seed}: {wrong}; {'; '.join(game.story)}", flush=True)
                    for run in range(1, game.runs + 1):
                        with open(os.path.join(game.folder, f"run{run}.err"), encoding="utf-8") as file:
                            print("".join(f"    {run}: {line}" for line in file.readlines()[-12:]), end="", flush=True)
                    failed += 1
                else:
                    print(f"ok a map under kills: {form}, seed {seed}: {game.kills} kills in {game.runs} runs", flush=True)
                    passed += 1
                kills += game.kills
                seed += 1
        all_kills += kills
    print(f"{all_kills} kills and stops in all")
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

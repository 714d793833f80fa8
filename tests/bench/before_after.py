#!/usr/bin/env python3
"""Two builds of muster in turn: is what is measured slower after a change than before it?

    tests/bench/before_after.py BEFORE AFTER [--rounds N] [NAME]...

BEFORE, AFTER: the bazel-bin of each (`bazel build //bootstrap/cli:muster //tests/bench/...`). NAME: startup, launch, killed, allreduce,
store, service, forming; default all. A row is the median of the rounds' ratios, after to before.
"""

import argparse
import os
import sys

sys.dont_write_bytecode = True

import cluster  # noqa: E402
import measure  # noqa: E402
import report  # noqa: E402
import service  # noqa: E402
import store  # noqa: E402

LIMIT = 120
NODES = 32
SIZES = [64, 256, 1024]
LETHAL = 'if [ "$RANK" = 2 ]; then kill -9 $$; else exec sleep 100; fi'
CALLS = ["8:20000", f"{64 << 10}:400", f"{4 << 20}:8"]


class Build:
    def __init__(self, folder):
        self.bin = os.path.abspath(folder)
        self.muster = self.program("bootstrap/cli/muster")

    def program(self, path):
        return os.path.join(self.bin, path)


def seconds(command, code=0):
    """Of a program that ends with this exit code."""
    return measure.run(["sh", "-c", '"$@" 2>/dev/null; [ $? = "$0" ]', str(code), *command], LIMIT)[0]


def compared(case, builds, rounds, timed):
    before, after = builds
    results = measure.in_turn(rounds, {"after": lambda: timed(after), "before": lambda: timed(before)})
    return report.Row(case, results["after"], results["before"], "before", report.at_most(1.05))


def startup(builds, rounds):
    yield compared("muster --version, 100 times", builds, rounds, lambda build: seconds(
        ["sh", "-c", 'i=0; while [ $i -lt 100 ]; do "$0" --version; i=$((i + 1)); done >/dev/null', build.muster]))


def launch(builds, rounds):
    for ranks in (2, 16):
        yield compared(f"launch -n {ranks} -- true", builds, rounds, lambda build, ranks=ranks: seconds(
            [build.muster, "launch", "-n", str(ranks), "--", "true"]))


def killed(builds, rounds):
    yield compared("launch -n 4, rank 2 is killed", builds, rounds, lambda build: seconds(
        [build.muster, "launch", "-n", "4", "--", "sh", "-c", LETHAL], 137))


def allreduce(builds, rounds):
    for transport in ("tcp", "node"):
        def timed(build, transport=transport):
            program = build.program("tests/bench/all_reduce_times")
            _, output = measure.run([program, transport, "2", *CALLS], LIMIT)
            return [float(line.split()[1]) / 1e6 for line in output.splitlines()]

        results = measure.in_turn(rounds, {"after": lambda: timed(builds[1]), "before": lambda: timed(builds[0])})
        for i, call in enumerate(CALLS):
            after, before = ([each[i] for each in results[who]] for who in ("after", "before"))
            yield report.Row(f"AllReduce, {transport}, {call.split(':')[0]} B", after, before, "before", report.at_most(1.05))


def stored(builds, rounds):
    def timed(build, connections):
        with store.running([build.muster, "store", "--listen", "127.0.0.1:0", "--json"]) as server:
            return store.load(builds[1], server, connections, 2, "add")[1]

    for connections in (1, 1000):
        yield compared(f"store, add, {connections} clients: CPU", builds, rounds, lambda build, n=connections: timed(build, n))


def served(builds, rounds):
    for method in ("none", "secret"):
        yield compared(f"star of 1024, auth {method}", builds, rounds, lambda build, method=method: service.star(
            build.program("tests/bench/service_star"), 1024, method)[2] / 1e3)


def forming(builds, rounds):
    with cluster.Cluster(NODES) as slurm:
        for ranks in SIZES:
            yield compared(f"Init + Barrier, {ranks} ranks", builds, rounds, lambda build, ranks=ranks: slurm.step(
                ranks, [build.program("tests/bench/init_barrier")], LIMIT)[0])
            yield compared(f"muster run -- true, {ranks} ranks", builds, rounds, lambda build, ranks=ranks: slurm.step(
                ranks, [build.muster, "run", "--", "true"], LIMIT)[0])


BENCHES = {"startup": startup, "launch": launch, "killed": killed, "allreduce": allreduce, "store": stored,
           "service": served, "forming": forming}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("name", nargs="*", metavar="NAME")
    arguments = parser.parse_intermixed_args()
    if unknown := set(arguments.name) - set(BENCHES):
        parser.error(f"no benchmark: {', '.join(sorted(unknown))} ({', '.join(BENCHES)})")
    builds = [Build(arguments.before), Build(arguments.after)]
    for name in arguments.name or BENCHES:
        for line in report.table(list(BENCHES[name](builds, arguments.rounds))):
            print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

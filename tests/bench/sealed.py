"""sealed: sums of f32 by two ranks over TCP (loopback) with rendezvous.protect: all, against plain TCP."""

import os

import allreduce
import measure
import report

NAME = "sealed"
NEEDS_ROOT = False


def contestant(bench, transport, asked):
    program = os.path.join(bench.bin, "tests/bench/all_reduce_times")
    return lambda: allreduce.lines(measure.run([program, transport, str(allreduce.RANKS), *asked], 120)[1])


def run(bench):
    rounds = {"smoke": 1, "quick": 3, "full": 11}[bench.mode]
    sizes = [8, 64 << 10] if bench.mode == "smoke" else allreduce.SIZES
    calls = (lambda _: 5) if bench.mode == "smoke" else allreduce.iterations
    asked = [f"{size}:{calls(size)}" for size in sizes]
    results = measure.in_turn(rounds, {name: contestant(bench, name, asked) for name in ("sealed", "tcp")})
    return [
        report.Row(
            f"TCP {allreduce.show_bytes(size)}",
            [times[size] for times in results["sealed"]],
            [times[size] for times in results["tcp"]],
            "plain",
        )
        for size in sizes
    ]

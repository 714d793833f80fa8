"""The suites of tests/run, and what they need."""

import collections

Suite = collections.namedtuple("Suite", "name command")

# A suite is a command that prints `skipped NAME: reason` for what it leaves out, `rerun NAME: reason` for each further try,
# ends with a line `N passed, N failed, N skipped`, and ends everything it started when it gets a SIGTERM.

# They need none of our programs: they begin while those of SIDE_BY_SIDE are compiled, and go on beside them.
WITH_THE_BUILD = [
    Suite("lint", ["tests/lint"]),
    Suite("cluster-selftest", ["tests/cluster/selftest"]),
]

# They mostly wait: for Slurm, and for deadlines. Each has clusters of its own.
SIDE_BY_SIDE = [
    Suite("launchers-programs", ["tests/launchers/run", "programs"]),
    Suite("launchers-slurm", ["tests/launchers/run", "slurm"]),
    Suite("launchers-servers", ["tests/launchers/run", "servers"]),
    Suite("faults", ["tests/faults/run", "but-attack"]),
    Suite("docs", ["tests/docs/run"]),
    Suite("docs-reference", ["tests/docs/reference"]),
]

# Side by side too, with what is compiled beside those.
WHEN_ALL_IS_BUILT = [
    Suite("unit", ["tests/unit"]),
    Suite("simulation", ["tests/simulation/run"]),
    Suite("gpu", ["tests/gpu/run"]),
    Suite("store-conformance", ["tests/comm/rendezvous/tcp_store/conformance"]),
]

# One after another, as they need all processors or compare times.
ALONE = [
    Suite("launchers-measured", ["tests/launchers/run", "measured"]),
    Suite("faults-attack", ["tests/faults/run", "attack"]),
    Suite("bench", ["tests/bench/run", "--smoke"]),
]

# Only with --long: minutes each, most of them to compile everything again.
LONG = [
    Suite("unit-asan", ["tests/unit", "--config=asan"]),
    Suite("unit-ubsan", ["tests/unit", "--config=ubsan"]),
    Suite("unit-tsan", ["tests/unit", "--config=tsan"]),
    Suite("fuzz", ["tests/fuzz/run"]),
    Suite("simulation-mutations", ["tests/simulation/run", "--mutations"]),
    Suite("simulation-long", ["tests/simulation/run", "--long"]),
    Suite("tidy", ["tests/lint", "--tidy"]),
    Suite("odr", ["tests/lint", "--odr"]),
    Suite("release", ["tests/release/run"]),
    Suite("compat", ["tests/compat/run"]),
    *[
        Suite(f"{suite}-{kernel}", ["env", f"MUSTER_TEST_KERNEL={kernel}", f"tests/{suite}/run"])
        for suite in ("launchers", "faults")
        for kernel in ("enosys", "eperm")
    ],
]

EVERY_RUN = WITH_THE_BUILD + SIDE_BY_SIDE + WHEN_ALL_IS_BUILT + ALONE

# What SIDE_BY_SIDE runs, and then what all others do.
PROGRAMS = [
    "//bootstrap/cli:muster",
    "//bootstrap/cli:muster-slurm",
    "//bootstrap/c:libmuster.so",
    "//deploy/examples:digits",
    "//tests/gpu/standin:libcudart.so.13",
    "//tests/launchers:laggard",
    "//tests/faults/...",
    "//tests/old_kernel",
]
EVERYTHING = ["//bootstrap/...", "//comm/...", "//deploy/...", "//tests/..."]

# What tests/python/venv makes.
NEED_PYTHON = ("launchers", "store-conformance", "docs")

"""journal: durable commits of 1 KiB results to a map's journal, against a bare writer that appends the same bytes and
synchronises them in groups."""

import os
import statistics

import measure
import report

NAME = "journal"
NEEDS_ROOT = False


def run(bench):
    rounds, records = {"smoke": (1, 200), "quick": (5, 50_000), "full": (11, 100_000)}[bench.mode]
    program = os.path.join(bench.bin, "tests/bench/journal_commits")
    _, output = measure.run([program, bench.work, str(rounds), str(records), "1024"], 600)
    ours, theirs, _, cpu = zip(*([float(field) for field in line.split()] for line in output.splitlines()))
    bench.note(f"{statistics.median(ours):,.0f} commits a second (goal: 20,000), the bare writer {statistics.median(theirs):,.0f}")
    bench.note(f"processor time: {statistics.median(cpu):.1f} us a commit, its record's making included")
    return [
        report.Row(
            "durable commits of 1 KiB",
            [records / rate for rate in ours],
            [records / rate for rate in theirs],
            "bare append and fdatasync",
            report.at_most(2),
        )
    ]

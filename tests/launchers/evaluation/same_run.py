"""Says whether two runs of lm-eval have the same results and the same samples: python same_run.py FOLDER FOLDER

Times, dates and where results lie differ; everything else, to the last bit, may not.
"""
import json
import sys
from pathlib import Path

# Of a run, and not of what it found.
DIFFERENT = {"date", "start_time", "end_time", "total_evaluation_time_seconds", "use_cache"}


def newest(folder, pattern):
    files = sorted(Path(folder).rglob(pattern), key=lambda path: path.stat().st_mtime_ns)
    if not files:
        sys.exit(f"{folder}: no {pattern}; the run failed, whatever its exit code said")
    return files[-1]


def results(folder):
    found = json.loads(newest(folder, "results_*.json").read_text())
    return {name: value for name, value in found.items() if name not in DIFFERENT}


def samples(folder):
    latest = {}
    for path in sorted(Path(folder).rglob("samples_*.jsonl"), key=lambda path: path.stat().st_mtime_ns):
        latest[path.name.rpartition("_")[0]] = path.read_text()
    return latest


def compare(one, other):
    first, second = results(one), results(other)
    for name in sorted(first.keys() | second.keys()):
        if first.get(name) != second.get(name):
            sys.exit(f"{name}: {first.get(name)} in {one}, {second.get(name)} in {other}")
    first, second = samples(one), samples(other)
    if not first or first.keys() != second.keys():
        sys.exit(f"samples: {sorted(first)} in {one}, {sorted(second)} in {other}")
    for name, text in first.items():
        for here, there in zip(text.splitlines(), second[name].splitlines(), strict=True):
            if here != there:
                sys.exit(f"{name}:\n  {here}\n  {there}")
    print(f"same: {', '.join(sorted(first))}")


if __name__ == "__main__":
    compare(sys.argv[1], sys.argv[2])

"""Says whether two runs of lm-eval or lmms-eval have the same results and the same samples: python same_run.py FOLDER FOLDER

Times, dates and where results lie differ; everything else, to the last bit, may not.
"""
import json
import re
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
    text = newest(folder, "*results*.json").read_text().replace(str(folder), "FOLDER")
    found = json.loads(re.sub(r" at 0x[0-9a-f]+>", ">", text))
    return {name: value for name, value in found.items() if name not in DIFFERENT}


def samples(folder):
    latest = {}
    for path in sorted(Path(folder).rglob("*samples_*.jsonl"), key=lambda path: path.stat().st_mtime_ns):
        # samples_TASK_DATE.jsonl and DATE_samples_TASK.jsonl
        name = re.sub(r"\d{4}[-\d]*[T_][\d.-]+", "", path.stem).strip("_")
        latest[name] = path.read_text()
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

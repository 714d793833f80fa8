"""What the checks of the suite have in common: how they run, count and report."""

import os
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ARCHITECTURES = ["x86_64", "aarch64"]
counts = {"passed": 0, "failed": 0}


def check(name, function, *arguments):
    try:
        function(*arguments)
    except (AssertionError, OSError, ValueError, KeyError, subprocess.SubprocessError) as problem:
        counts["failed"] += 1
        print(f"FAILED {name}: {problem}", flush=True)
        return False
    counts["passed"] += 1
    print(f"ok {name}", flush=True)
    return True


def expect(found, wanted, what):
    if found != wanted:
        raise AssertionError(f"{what}: {found!r}, expected {wanted!r}")


def output(*command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}: exit code {done.returncode}: {done.stdout[-2000:]}")
    return done.stdout

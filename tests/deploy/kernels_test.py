#!/usr/bin/env python3
"""kernels_test.py NVCC COMPILED CHECKED_IN [COMPILED CHECKED_IN]...: is each checked-in .ptx what nvcc makes of its source?

Another release of nvcc may number registers in another way: then the kernels and their parameters are compared alone. The checked-in
text must assemble for every GPU that this toolkit supports.
"""

import os
import re
import subprocess
import sys
import tempfile


def read(path):
    with open(path, encoding="ascii") as file:
        return file.read()


def release(text):
    return re.match(r"// Compiled from \S+ by (nvcc [\d.]+)\n", text)[1]


def interfaces(text):
    """Each kernel with the types of its parameters."""
    return [(name, re.findall(r"\.param (\.\w+)", of)) for name, of in re.findall(r"\.visible \.entry (\w+)\((.*?)\)", text, re.S)]


def problems(nvcc, compiled, checked_in):
    now, before = read(compiled), read(checked_in)
    if release(now) == release(before):
        if now != before:
            yield f"{checked_in} is not what {release(now)} makes of its source: copy bazel-bin/{compiled} over it"
    elif interfaces(now) != interfaces(before):
        yield f"{checked_in} has other kernels or parameters than its source: {interfaces(before)}, {interfaces(now)}"
    if not interfaces(before):
        yield f"{checked_in} has no kernel"
    gpus = subprocess.run([nvcc, "--list-gpu-code"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    with tempfile.TemporaryDirectory() as folder:
        for gpu in gpus:
            run = subprocess.run(
                [os.path.join(os.path.dirname(os.path.realpath(nvcc)), "ptxas"), f"-arch={gpu}", "-o", f"{folder}/out", checked_in],
                stderr=subprocess.PIPE,
                text=True,
                check=False,
            )
            if run.returncode != 0:
                yield f"{checked_in} does not assemble for {gpu}: {run.stderr.strip()}"
        print(f"{checked_in}: {release(before)}, here {release(now)}; assembled for {' '.join(gpus)}")


def main(nvcc, *files):
    found = [problem for pair in zip(files[::2], files[1::2]) for problem in problems(nvcc, *pair)]
    for problem in found:
        print("FAILED", problem)
    return 1 if found or not files else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

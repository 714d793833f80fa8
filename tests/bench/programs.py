"""The programs that are measured: ours by Bazel (or from $MUSTER_BIN_DIR), the peers by their own compilers, PyTorch
in a virtual environment that is made on first use."""

import os
import shutil
import subprocess

import measure

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
TARGETS = ["//bootstrap/cli:muster", "//tests/bench:all", "//tests/bench/comm/rendezvous:all"]
# Exactly this version is a CPU build.
TORCH = "torch==2.13.0"


class Absent(Exception):
    """A peer that cannot be had here."""


def build():
    """The folder of our programs."""
    given = os.environ.get("MUSTER_BIN_DIR")
    if given:
        return os.path.realpath(given)
    subprocess.run(["bazel", "build", *TARGETS], cwd=ROOT, check=True)
    return os.path.realpath(os.path.join(ROOT, "bazel-bin"))


def mpi(name, work):
    """(mpi_peer, mpirun) of openmpi or mpich."""
    compiler, starter = shutil.which(f"mpicc.{name}"), shutil.which(f"mpirun.{name}")
    if not compiler or not starter:
        raise Absent(f"{name}: no mpicc.{name} or mpirun.{name} here")
    program = os.path.join(work, f"mpi_peer.{name}")
    if not os.path.exists(program):
        measure.run([compiler, "-O2", "-o", program, os.path.join(HERE, "mpi_peer.c")], 120)
    return program, starter


def gloo_python(may_download):
    """A Python with TORCH."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    place = os.path.join(cache, "muster", "peers", TORCH.replace("==", "-"))
    python = os.path.join(place, "bin", "python")
    ready = os.path.join(place, "ready")
    if os.path.exists(ready):
        return python
    if not may_download:
        raise Absent(f"Gloo: {TORCH} is not in {place}, and nothing is downloaded in this mode")
    print(f"first use: {TORCH} goes to {place}; this takes minutes", flush=True)
    try:
        subprocess.run(["python3", "-m", "venv", "--clear", place], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", TORCH], check=True)
        subprocess.run([python, "-c", "import torch.distributed"], check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise Absent(f"Gloo: {error}") from None
    open(ready, "w", encoding="utf-8").close()
    return python

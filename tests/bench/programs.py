"""The programs that are measured: ours by Bazel (or from $MUSTER_BIN_DIR), the peers by their own compilers, PyTorch
from tests/python/venv."""

import os
import shutil
import subprocess

import measure

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
TARGETS = ["//bootstrap/cli:muster", "//bootstrap/c:libmuster.so", "//tests/bench:all", "//tests/bench/comm/rendezvous:all"]


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
        measure.run([compiler, "-O2", "-o", program, os.path.join(HERE, "peers/mpi_peer.c")], 120)
    return program, starter


def python_with(what, extra, may_download):
    """A Python with what `tests/python/venv EXTRA` installs."""
    venv = [os.path.join(ROOT, "tests/python/venv"), *([] if may_download else ["--made"]), *extra]
    made = subprocess.run(venv, stdout=subprocess.PIPE, text=True)
    if made.returncode != 0:
        raise Absent(f"no {what}: {' '.join(['tests/python/venv', *extra])} makes one" + (" and failed" if may_download else ""))
    return os.path.join(made.stdout.strip(), "bin", "python")


def gloo_python(may_download):
    return python_with("PyTorch", [], may_download)


def hyperqueue_python():
    return python_with("HyperQueue", ["bench"], True)

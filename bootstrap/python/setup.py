"""Puts muster's programs into the wheel: the command `muster`, and libmuster.so.0 beside the Python modules.

They are those of the folder $MUSTER_NATIVE (bin/muster, lib/libmuster.so.0), else Bazel builds them: in a clone, or in the sources
that the sdist contains. An editable install has links to Bazel's output, which follow every `bazel build`.
"""

import functools
import os
import shutil
import subprocess

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist
from setuptools.errors import SetupError

# Setuptools replaces it with its own.
from distutils.command.build_scripts import build_scripts  # isort: skip

HERE = os.path.dirname(os.path.abspath(__file__))
CLONE = os.path.dirname(os.path.dirname(HERE))
UNPACKED = os.path.join(HERE, "source")
BAZEL = "bazel-bin/bootstrap"
SOURCES = [".bazelrc", "BUILD.bazel", "LICENSE", "WORKSPACE", "bootstrap", "comm", "configs", "deploy/bazel", "deploy/nccl", "deploy/setup"]
NO_BAZEL = """Bazel is not installed, and muster's programs are not built.
  Install a wheel: pip install --only-binary :all: muster-hpc
  Or build on Debian 12, with Bazel and the packages of deploy/setup.
  Or set MUSTER_NATIVE to a folder with bin/muster and lib/libmuster.so.0."""


def run(*command):
    try:
        subprocess.run(command, check=True)
    except subprocess.CalledProcessError as error:
        raise SetupError(f"{command[0]} failed: exit status {error.returncode}") from None


def bazel_builds(root):
    """Builds the two programs in `root`. Of an unpacked sdist nothing stays behind, neither a server nor a cache."""
    if shutil.which("bazel") is None:
        raise SetupError(NO_BAZEL)
    own = ["--batch", "--output_base=" + os.path.join(root, "bazel-base")] if root == UNPACKED else []
    here = os.getcwd()
    os.chdir(root)
    run("bazel", *own, "build", "//bootstrap/cli:muster", "//bootstrap/c:libmuster.so")
    os.chdir(here)


@functools.lru_cache(maxsize=None)
def natives():
    """The paths of the command and of the library."""
    folder = os.environ.get("MUSTER_NATIVE")
    if folder:
        found = os.path.join(folder, "bin/muster"), os.path.join(folder, "lib/libmuster.so.0")
    else:
        root = UNPACKED if os.path.exists(UNPACKED) else CLONE
        bazel_builds(root)
        found = os.path.join(root, BAZEL, "cli/muster"), os.path.join(root, BAZEL, "c/libmuster.so")
    for path in found:
        if not os.path.exists(path):
            raise SetupError(f"{path} does not exist")
    return found


def shared_files():
    """Those of the folder `share`, which deploy/release/wheel makes, for that of the environment: (folder, paths)."""
    os.chdir(HERE)
    return [(folder, sorted(os.path.join(folder, name) for name in names)) for folder, _, names in sorted(os.walk("share")) if names]


class Programs(Distribution):
    """The wheel is of one platform."""

    def has_ext_modules(self):
        return True


class BuildLibrary(build_py):
    def run(self):
        super().run()
        library = natives()[1]
        if self.editable_mode:
            link = os.path.join(HERE, "muster/libmuster.so.0")
            if os.path.lexists(link):
                os.unlink(link)
            os.symlink(library, link)
        else:
            self.copy_file(os.path.realpath(library), os.path.join(self.build_lib, "muster/libmuster.so.0"))


class BuildCommand(build_scripts):
    """distutils takes text alone."""

    editable_mode = False

    def get_source_files(self):
        return []

    def run(self):
        self.mkpath(self.build_dir)
        command, target = natives()[0], os.path.join(self.build_dir, "muster")
        if self.editable_mode:
            with open(target, "w", encoding="utf-8") as file:
                file.write(f'#!/bin/sh\nexec "{command}" "$@"\n')
        else:
            self.copy_file(os.path.realpath(command), target)


class Wheel(bdist_wheel):
    """For every Python 3: ctypes loads the library. $MUSTER_WHEEL_PLATFORM: platform tags, joined by dots."""

    def get_tag(self):
        return "py3", "none", os.environ.get("MUSTER_WHEEL_PLATFORM") or super().get_tag()[2]


class Sources(sdist):
    """With the sources of the programs, for Bazel."""

    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        listed = subprocess.run(["git", "-C", CLONE, "ls-files", "-z", "--", *SOURCES], stdout=subprocess.PIPE, check=True)
        for name in listed.stdout.decode().split("\0")[:-1]:
            if not name.startswith("bootstrap/python/"):
                target = os.path.join(base_dir, "source", name)
                os.makedirs(os.path.dirname(target), exist_ok=True)
                shutil.copy2(os.path.join(CLONE, name), target)


setup(
    distclass=Programs,
    scripts=["muster"],
    data_files=shared_files(),
    cmdclass={"build_py": BuildLibrary, "build_scripts": BuildCommand, "bdist_wheel": Wheel, "sdist": Sources},
)

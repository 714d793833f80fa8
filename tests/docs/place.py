"""The place of a user of the documentation: programs, a Python with PyTorch, a release to install, files of one's own."""

import os
import pathlib
import re
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[1]
PROGRAMS = ["//bootstrap/cli:muster", "//bootstrap/cli:muster-slurm", "//bootstrap/c:libmuster.so", "//deploy/examples:digits"]
SYSTEM = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"


def version():
    return re.search(r'kVersion = "(.*)";', (TOP / "comm/base/version.h").read_text(encoding="utf-8"))[1]


def programs():
    """The folder of Bazel's results; they are built first, unless $MUSTER_BIN_DIR has them."""
    if "MUSTER_BIN_DIR" in os.environ:
        return pathlib.Path(os.environ["MUSTER_BIN_DIR"])
    subprocess.run(["bazel", "build", *PROGRAMS], cwd=TOP, check=True)
    return TOP / "bazel-bin"


def python(*extra):
    made = subprocess.run([TOP / "tests/python/venv", *extra], stdout=subprocess.PIPE, text=True, check=True)
    return pathlib.Path(made.stdout.strip()) / "bin"


def copy_shared(root):
    """What a release has beside bin/muster for its user; a reader of the pages has no clone."""
    shutil.copytree(TOP / "configs", root / "share/muster/configs")
    shutil.copytree(TOP / "deploy/sbatch", root / "share/muster/sbatch")


class Place:
    """A folder below /tmp, which all nodes of a test cluster share."""

    def __init__(self, folder):
        self._folder = folder
        self._built = programs()
        self._python = [python("eval"), python("docs"), python()]
        self._copy_programs()
        self._pack_release()

    def _copy_programs(self):
        (self._folder / "bin").mkdir()
        for name in ("bootstrap/cli/muster", "bootstrap/cli/muster-slurm", "deploy/examples/digits"):
            shutil.copy(self._built / name, self._folder / "bin")
        (self._folder / "others").mkdir()
        for name in ("muster-slurm", "digits"):
            os.link(self._folder / "bin" / name, self._folder / "others" / name)
        shutil.copytree(TOP / "bootstrap/python/muster", self._folder / "python/muster", ignore=shutil.ignore_patterns("*.so*", "__pycache__"))
        shutil.copy(self._built / "bootstrap/c/libmuster.so", self._folder / "python/muster/libmuster.so.0")
        copy_shared(self._folder)

    def _pack_release(self):
        """As deploy/release/tarball does, of programs for this machine."""
        name = f"muster-{version()}-linux-{os.uname().machine}"
        root = self._folder / "release" / name
        (root / "bin").mkdir(parents=True)
        (root / "lib").mkdir()
        shutil.copy(self._folder / "bin/muster", root / "bin")
        shutil.copy(self._folder / "python/muster/libmuster.so.0", root / "lib")
        copy_shared(root)
        subprocess.run(["tar", "-czf", f"{name}.tar.gz", name], cwd=root.parent, check=True)
        shutil.rmtree(root)
        with open(root.parent / "SHA256SUMS", "w", encoding="utf-8") as sums:
            subprocess.run(["sha256sum", f"{name}.tar.gz"], cwd=root.parent, stdout=sums, check=True)

    def home(self, page):
        """A new folder for the session of a page."""
        home = self._folder / "pages" / re.sub(r"\W", "-", page)
        shutil.copytree(HERE / "files", home)
        for path in (self._folder / "release").iterdir():
            os.link(path, home / path.name)
        shutil.copy(TOP / "deploy/install", home)
        return home

    @property
    def muster(self):
        return self._folder / "bin/muster"

    def environment(self, installs=False):
        """installs: the page installs muster itself, so no other is in PATH."""
        return {
            "LANG": "C.UTF-8",
            "MUSTER_LOG_TIME": "short",
            # The cluster's user is root.
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "PATH": ":".join([f"{self._folder}/{'others' if installs else 'bin'}", *map(str, self._python), SYSTEM]),
            "PYTHONPATH": str(self._folder / "python"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "SHELL": "/bin/bash",
            "TERM": "dumb",
        }

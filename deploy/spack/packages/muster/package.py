import pathlib
import platform
import shutil

from spack.package import *

try:  # Spack 1.0 and later
    from spack_repo.builtin.build_systems.generic import Package
except ImportError:
    pass

# The place of the tarballs, and {version: {machine: SHA-256 of its tarball}}: deploy/release/spack fills them in.
TARBALLS = pathlib.Path(__file__).resolve().parents[3].as_uri()
RELEASES = {}


class Muster(Package):
    """muster connects the processes of a job under any launcher, and names the rank and node that prevent it.

    The package installs the portable binaries of a release, which need glibc 2.17 or later and no compiler. The Python
    module is in the wheel: pip install muster-hpc.
    """

    license("Apache-2.0")

    # NCCL, CUDA, MUNGE and PMIx are those of the node, loaded when a job needs them: no dependencies.
    for _version, _sums in RELEASES.items():
        if platform.machine() in _sums:
            version(
                _version,
                sha256=_sums[platform.machine()],
                url=f"{TARBALLS}/muster-{_version}-linux-{platform.machine()}.tar.gz",
            )

    conflicts("platform=darwin", msg="muster is for Linux")
    conflicts("platform=windows", msg="muster is for Linux")

    def install(self, spec, prefix):
        # Spack writes module files of its own.
        shutil.rmtree("share/modulefiles")
        install_tree(".", prefix)

    @property
    def libs(self):
        return find_libraries("libmuster", root=self.prefix, shared=True, recursive=True)

    def setup_run_environment(self, env):
        env.prepend_path("LD_LIBRARY_PATH", self.prefix.lib)

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_launch(self):
        Executable(self.prefix.bin.muster)("launch", "-n", "2", "--", "true")

    def test_version(self):
        """muster --version prints the version"""
        out = Executable(self.prefix.bin.muster)("--version", output=str.split, error=str.split)
        assert f"muster {self.spec.version}" in out

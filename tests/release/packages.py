"""Checks what is packed: tarballs, the Debian package, the Spack repository, the wheel, and SHA256SUMS."""

import glob
import hashlib
import json
import os
import platform
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile

from checks import ARCHITECTURES, ROOT, check, expect, output
from installed import check_installed, shipped


def lists_its_sums(out):
    output("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=out)
    with open(f"{out}/SHA256SUMS", encoding="utf-8") as file:
        listed = [line.split()[1] for line in file]
    packages = [name for name in os.listdir(out) if name.endswith((".tar.gz", ".whl", ".deb")) or name == "install"]
    expect(sorted(listed), sorted(packages), "packages")


def makes_everything(out):
    """deploy/release/all: what a release consists of."""
    output(os.path.join(ROOT, "deploy/release/all"), "--out", out)
    lists_its_sums(out)
    with open(os.path.join(ROOT, "comm/base/version.h"), encoding="utf-8") as file:
        version = re.search(r'kVersion = "(.*)"', file.read())[1]
    wanted = {"install", "SHA256SUMS", f"muster-{version}-spack.tar.gz"}
    for arch in ARCHITECTURES:
        wanted |= {f"muster-{version}-linux-{arch}{part}.tar.gz" for part in ("", "-debug")}
        wanted |= {f"muster_{version}_{DEBIAN[arch]}.deb"}
        wanted |= {f"muster_hpc-{version}-py3-none-manylinux_2_17_{arch}.manylinux2014_{arch}.whl"}
    expect({name for name in os.listdir(out) if os.path.isfile(f"{out}/{name}")} ^ wanted, set(), "missing or not known")


DEBIAN = {"x86_64": "amd64", "aarch64": "arm64"}


def make_deb(arch, out):
    output(os.path.join(ROOT, "deploy/release/deb"), "--out", out, arch)
    (path,) = glob.glob(f"{out}/muster_*_{DEBIAN[arch]}.deb")
    with open(path, "rb") as file:
        return path, file.read()


def makes_a_deb(arch, out):
    """tests/compat installs it."""
    path, first = make_deb(arch, out)
    (name,) = glob.glob(f"{out}/muster-*-linux-{arch}.tar.gz")
    os.utime(name)
    expect(make_deb(arch, out)[1] == first, True, "the same bytes")
    fields = output("dpkg-deb", "--show", "--showformat=${Package} ${Architecture} ${Depends}; ${Recommends}", path)
    expect(fields, f"muster {DEBIAN[arch]} libc6 (>= 2.17); munge", "fields")
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", path], stdout=subprocess.PIPE) as child:
        with tarfile.open(fileobj=child.stdout, mode="r|") as packed:
            members = {member.name: member for member in packed}
    expect([name for name in members if not re.match(r"\.($|/usr($|/))", name)], [], "files outside of /usr")
    modes = {(member.uid, member.gid, member.mode & 0o022) for member in members.values() if not member.issym()}
    expect(modes, {(0, 0, 0)}, "owner, group and permissions to write")
    wanted = ["bin/muster", "lib/libmuster.so.0", "include/muster.h", "share/man/man1/muster-run.1.gz", "share/man/man5/muster.yaml.5.gz", "share/doc/muster/copyright"]
    expect([name for name in wanted if f"./usr/{name}" not in members], [], "missing files")


def makes_a_spack_repository(out):
    made = []
    for _ in range(2):
        output(os.path.join(ROOT, "deploy/release/spack"), "--out", out)
        (path,) = glob.glob(f"{out}/muster-*-spack.tar.gz")
        with open(path, "rb") as file:
            made.append(file.read())
    expect(made[0] == made[1], True, "the same bytes")
    with tempfile.TemporaryDirectory() as place:
        output("tar", "-C", place, "-xzf", path)
        (recipe,) = glob.glob(f"{place}/*/packages/muster/package.py")
        with open(recipe, encoding="utf-8") as file:
            text = file.read()
        for name in glob.glob(f"{out}/muster-*-linux-*[!g].tar.gz"):
            with open(name, "rb") as file:
                expect(hashlib.sha256(file.read()).hexdigest() in text, True, f"the checksum of {name}")
        installs_by_recipe(recipe, out)


# What the recipe uses of spack.package: Spack itself is not to be had as a package.
SPACK = """
import shutil
versions = {}
def version(name, **options): versions[name] = options
def conflicts(*_, **__): pass
def license(*_): pass
def run_after(_): return lambda function: function
def on_package_attributes(**_): return lambda function: function
def install_tree(source, target): shutil.copytree(source, target)
class Package: pass
"""


def installs_by_recipe(recipe, out):
    """The recipe with a stand-in for Spack: the tarball that its one version names, and what it installs of it."""
    with tempfile.TemporaryDirectory() as place:
        os.mkdir(f"{place}/spack")
        for name, text in (("__init__", ""), ("package", SPACK)):
            with open(f"{place}/spack/{name}.py", "w", encoding="utf-8") as file:
                file.write(text)
        program = (
            "import json, runpy, spack.package, sys\n"
            "recipe = runpy.run_path(sys.argv[1])\n"
            "if len(sys.argv) == 3: recipe['Muster']().install(None, sys.argv[2])\n"
            "print(json.dumps(spack.package.versions))\n"
        )
        command = [sys.executable, "-c", program, recipe]
        environment = dict(os.environ, PYTHONPATH=place)
        ((_, told),) = json.loads(output(*command, env=environment)).items()
        tarball = os.path.join(out, os.path.basename(told["url"]))
        with open(tarball, "rb") as file:
            expect(hashlib.sha256(file.read()).hexdigest(), told["sha256"], "checksum")
        output("tar", "-C", place, "-xzf", tarball)
        (unpacked,) = glob.glob(f"{place}/muster-*")
        output(*command, f"{place}/prefix", env=environment, cwd=unpacked)
        output(f"{place}/prefix/bin/muster", "--version")
        expect(os.path.exists(f"{place}/prefix/share/modulefiles"), False, "module files beside Spack's own")


def check_tarball(arch, out):
    names = glob.glob(f"{out}/muster-*-linux-{arch}.tar.gz")
    with tempfile.TemporaryDirectory() as place:
        check(f"{arch}: the Debian package", makes_a_deb, arch, out)
        check(f"{arch}: the Spack repository", makes_a_spack_repository, out)
        check(f"{arch}: SHA256SUMS are right", lists_its_sums, out)
        output("tar", "-C", place, "-xzf", *names)
        root = os.path.realpath(glob.glob(f"{place}/muster-*")[0])
        if arch != platform.machine():
            return
        check_installed(arch, out, place, root)


def pack(arch, out):
    """The same bytes twice."""
    made = []
    for _ in range(2):
        output(os.path.join(ROOT, "deploy/release/tarball"), "--out", out, arch)
        made.append({name: digest for name, digest in files_of(out).items() if name.endswith(f"-linux-{arch}.tar.gz")
                     or name.endswith(f"-linux-{arch}-debug.tar.gz")})
    expect((len(made[0]), made[0]), (2, made[1]), "tarballs")


def files_of(folder):
    found = {}
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            if not os.path.islink(path):
                with open(path, "rb") as file:
                    found[os.path.relpath(path, folder)] = hashlib.sha256(file.read()).hexdigest()
    return found


def make_wheel(arch, programs, out):
    """auditwheel has found its tag true."""
    made = subprocess.run(
        [os.path.join(ROOT, "deploy/release/wheel"), "--out", out, "--programs", programs, arch],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    path = made.stdout.strip()
    name = os.path.basename(path)
    tag = f"-py3-none-manylinux_2_17_{arch}.manylinux2014_{arch}.whl"
    expect((name.startswith("muster_hpc-"), name.endswith(tag)), (True, True), name)
    return path


def check_wheel(arch, folder):
    """The same bytes twice; installed elsewhere, without a network, it gives the command and the module."""
    with tempfile.TemporaryDirectory() as place:
        first = make_wheel(arch, folder, f"{place}/first")
        with zipfile.ZipFile(first) as wheel:
            licenses = {os.path.basename(name) for name in wheel.namelist() if "/licenses/" in name}
            expect("muster/py.typed" in wheel.namelist(), True, "muster/py.typed")
            shared = {name.partition(".data/data/share/muster/")[2] for name in wheel.namelist()} - {""}
        expect(shared, shipped(), "batch scripts and configurations")
        expect(licenses, {"LICENSE", *os.listdir(f"{folder}/licenses")}, "licenses")
        again = make_wheel(arch, folder, f"{place}/again")
        with open(first, "rb") as one, open(again, "rb") as other:
            expect(one.read() == other.read(), True, "the same bytes")
        if arch != platform.machine():
            return
        output(sys.executable, "-m", "venv", f"{place}/venv")
        output(f"{place}/venv/bin/pip", "install", "--quiet", "--no-index", first)
        program = "import muster; assert muster.init().size == 4; assert muster.all_reduce(muster.rank()) == 6"
        output(f"{place}/venv/bin/muster", "launch", "-n", "4", "--", f"{place}/venv/bin/python", "-c", program)

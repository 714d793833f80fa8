"""Checks the tarball as users have it: unpacked, and installed in a home by `install`."""

import glob
import json
import os
import re
import shutil
import tempfile

from checks import ROOT, check, expect, output
from elf import Elf

C_PROGRAM = r"""
#include <muster.h>
#include <stdio.h>
int main(void) {
  muster_comm* world;
  muster_error* error = muster_init(MUSTER_ABI_VERSION, NULL, &world);
  if (error == NULL) error = muster_barrier(world, MUSTER_TIMEOUT_DEFAULT);
  if (error == NULL) printf("rank %d of %d\n", muster_rank(world), muster_size(world));
  if (error == NULL) error = muster_shutdown();
  if (error != NULL) fprintf(stderr, "%s\n", muster_error_message(error));
  return error != NULL;
}
"""
CMAKE_LISTS = """
cmake_minimum_required(VERSION 3.10)
project(program C)
find_package(muster ${WANTED} REQUIRED)
add_executable(program program.c)
target_link_libraries(program muster::muster)
"""


def write_c_program(place):
    for name, text in (("program.c", C_PROGRAM), ("CMakeLists.txt", CMAKE_LISTS)):
        with open(f"{place}/{name}", "w", encoding="utf-8") as file:
            file.write(text)


def ranks_meet(root, program, environment):
    command = [f"{root}/bin/muster", "launch", "-n", "2", "--", program]
    text = output(*command, env=environment, timeout=120)
    expect(sorted(text.split("\n")), ["", "rank 0 of 2", "rank 1 of 2"], "output")


def serves_pkg_config(root, place):
    environment = dict(os.environ, PKG_CONFIG_PATH=f"{root}/lib/pkgconfig", LD_LIBRARY_PATH=f"{root}/lib")
    flags = output("pkg-config", "--cflags", "--libs", "muster", env=environment).split()
    output("gcc", "-std=c11", "-Wall", "-Werror", f"{place}/program.c", "-o", f"{place}/program", *flags)
    expect(Elf(f"{place}/program").versions_needed.get("libmuster.so.0"), ["MUSTER_1"], "version")
    ranks_meet(root, f"{place}/program", environment)


def serves_cmake(root, place):
    configure(place, root, "0.1")
    output("cmake", "--build", f"{place}/build")
    # A link of the installation, not the release behind it: that may be removed after an update.
    expect(Elf(f"{place}/build/program").search_paths, [f"{root}/lib"], "search paths of the program")
    ranks_meet(root, f"{place}/build/program", dict(os.environ))


def configure(place, prefix, wanted):
    output("cmake", "-S", place, "-B", f"{place}/build", f"-DCMAKE_PREFIX_PATH={prefix}", f"-DWANTED={wanted}")


def has_its_version(root, place):
    with open(os.path.join(ROOT, "comm/base/version.h"), encoding="utf-8") as file:
        major, minor, patch = re.search(r'kVersion = "(\d+)\.(\d+)\.(\d+)', file.read()).groups()
    for wanted in ("", major, f"{major}.{minor}", f"{major}.{minor}.{patch};EXACT"):
        configure(place, root, wanted)
    for wanted in (f"{int(major) + 1}", f"{major}.{int(minor) + 1}", f"{major}.{minor}.{int(patch) + 1}"):
        try:
            configure(place, root, wanted)
        except AssertionError as problem:
            expect("compatible with requested version" in " ".join(str(problem).split()), True, str(problem))
        else:
            raise AssertionError(f"find_package(muster {wanted}) is accepted by {major}.{minor}.{patch}")


# As in a job that has passed on nothing: MANPATH is not set.
BARE = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"}


def load_module(tree):
    return output("/usr/lib/modulecmd.tcl", "sh", "load", "muster", env=dict(BARE, MODULEPATH=tree))


def serves_modules(root, place):
    """From its own tree, and by a link in that of a site."""
    os.makedirs(f"{place}/site/muster")
    (module,) = glob.glob(f"{root}/share/modulefiles/muster/*")
    os.symlink(module, f"{place}/site/muster/{os.path.basename(module)}")
    for tree in (f"{root}/share/modulefiles", f"{place}/site"):
        text = output("sh", "-c", load_module(tree) + "\ncommand -v muster; echo $LD_LIBRARY_PATH; man -w muster-run; man -w ls", env=BARE)
        expect(text.split()[:3], [f"{root}/bin/muster", f"{root}/lib", f"{root}/share/man/man1/muster-run.1"], "after the load")
        expect(text.split()[3:], output("man", "-w", "ls", env=BARE).split(), "the system's own pages")


def refuses_a_copied_module(root, place):
    """It would put directories into PATH that another user can write."""
    shutil.copytree(f"{root}/share/modulefiles", f"{place}/copied")
    script = load_module(f"{place}/copied")
    expect([line for line in script.splitlines() if "PATH" in line], [], "variables")
    expect("does not exist: make" in script, True, script)


def completes(root):
    script = f'. {root}/share/bash-completion/completions/muster; COMP_WORDS=(muster laun); COMP_CWORD=1; _muster;'
    expect(output("bash", "-c", script + ' echo "${COMPREPLY[@]}"').split(), ["launch"], "completion of laun")
    places = ("zsh/site-functions/_muster", "fish/vendor_completions.d/muster.fish", "man/man1/muster.1", "man/man5/muster.yaml.5")
    expect([place for place in places if not os.path.exists(f"{root}/share/{place}")], [], "missing files")


def is_installed(arch, out, home):
    (tarball,) = glob.glob(f"{out}/muster-*-linux-{arch}.tar.gz")
    text = output("sh", f"{out}/install", tarball, env={"HOME": home, "PATH": os.environ["PATH"]}, timeout=120)
    expect(output(f"{home}/.local/bin/muster", "--version"), output(f"{out}/{arch}/bin/muster", "--version"), "the version")
    expect([word for word in ("no SHA256SUMS", "error:") if word in text], [], "warnings and errors")
    expect([word for word in ("add it to PATH", "glibc", "/dev/shm") if word not in text], [], "what it does not report")
    serves_without_a_module(f"{home}/.local", {"HOME": home, "PATH": f"{home}/.local/bin:{os.environ['PATH']}"})
    output("sh", f"{out}/install", "--remove", env={"HOME": home, "PATH": os.environ["PATH"]})
    expect(os.listdir(f"{home}/.local"), [], "what --remove leaves")


def serves_without_a_module(prefix, environment):
    """With PATH alone a user has the manual; the rest is in its usual place below ~/.local."""
    pages = output("man", "-w", "muster-run", "muster.yaml", env=environment).split()
    expect([os.path.basename(page) for page in pages], ["muster-run.1", "muster.yaml.5"], "man pages")
    completes(prefix)
    copy = 'share=$(dirname "$(readlink -f "$(command -v muster)")")/../share/muster; mkdir ~/copy; cp -r "$share/sbatch" "$share/configs" ~/copy'
    found = output("sh", "-c", f"{copy}; cd ~/copy; find . -type f -printf '%P\\n'", env=environment)
    expect(set(found.split()), shipped(), "batch scripts and configurations")
    with tempfile.TemporaryDirectory() as place:
        write_c_program(place)
        serves_pkg_config(prefix, place)
        serves_cmake(prefix, place)


def documents_every_command(root):
    about = json.loads(output(f"{root}/bin/muster", "help", "--json"))
    names = [command["name"] for command in about["commands"]]
    expect({"run", "launch", "check", "doctor", "help"} - set(names), set(), "missing commands")
    expect([n for n in names if not os.path.exists(f"{root}/share/man/man1/muster-{n}.1")], [], "missing man pages")
    pages = ("how-to/install.md", "reference/commands.md", "reference/configuration.md", "assets/roles.svg")
    expect([page for page in pages if not os.path.exists(f"{root}/share/doc/muster/docs/pages/{page}")], [], "missing pages")
    for script in ("bash-completion/completions/muster", "zsh/site-functions/_muster", "fish/vendor_completions.d/muster.fish"):
        with open(f"{root}/share/{script}", encoding="utf-8") as file:
            text = file.read()
        expect([n for n in [*names, "--dry-run"] if n.lstrip("-") not in text], [], f"missing in {script}")


def serves_cmake_by_a_link(root, place):
    """As Debian's /lib leads to /usr/lib: the prefix is not the link's."""
    os.makedirs(f"{place}/elsewhere")
    os.symlink(f"{root}/lib", f"{place}/elsewhere/lib")
    output("cmake", "-S", place, "-B", f"{place}/linked", f"-DCMAKE_PREFIX_PATH={place}/elsewhere", "-DWANTED=0.1")


def shipped():
    """The batch scripts and the configurations, as paths below share/muster."""
    listed = output("git", "-C", ROOT, "ls-files", "configs", "deploy/sbatch").split()
    return {name.removeprefix("deploy/") for name in listed} - {"configs/BUILD.bazel"}


def check_installed(arch, out, place, root):
    """`root`: the unpacked tarball. `place`: for what is made."""
    write_c_program(place)
    check(f"{arch}: install puts it into a home", is_installed, arch, out, f"{place}/home")
    check(f"{arch}: a C program by pkg-config", serves_pkg_config, root, place)
    check(f"{arch}: a C program by CMake", serves_cmake, root, place)
    check(f"{arch}: CMake finds it by a link", serves_cmake_by_a_link, root, place)
    check(f"{arch}: CMake takes its version alone", has_its_version, root, place)
    check(f"{arch}: the module file", serves_modules, root, place)
    check(f"{arch}: a copy of the module file", refuses_a_copied_module, root, place)
    check(f"{arch}: completion in bash", completes, root)
    check(f"{arch}: man pages and completions of every command", documents_every_command, root)

"""Checks the dynamic symbols of the binaries, and runs those of this machine's architecture."""

import glob
import os
import platform
import re
import shutil
import sys
import tempfile
import zlib

from checks import ROOT, check, expect, output
from elf import Elf

FLOOR = (2, 17)
# The parts of glibc 2.17, which one library has held since 2.34. Not libm and librt: each library costs every start time.
GLIBC = {"libc.so.6", "libdl.so.2", "libpthread.so.0"}
LOADERS = {"x86_64": "ld-linux-x86-64.so.2", "aarch64": "ld-linux-aarch64.so.1"}
# The largest page of an aarch64 kernel: a file for smaller ones does not load there.
LARGEST_PAGE = 0x10000
ACCURACY = "accuracy: 1776/1797 = 98.83 %"


def declared():
    """The functions of the C header."""
    with open(os.path.join(ROOT, "bootstrap/c/muster.h"), encoding="utf-8") as header:
        text = header.read().replace("const ", "")
    return re.findall(r"^MUSTER_(?:EXPORT|FALLIBLE) (?:[a-z0-9_]+[ *]+)+?(muster_\w+)\(", text, re.MULTILINE)


def above_floor(elf):
    """The symbols that glibc 2.17 does not have, or another library would have to."""
    wrong = []
    for symbol in elf.symbols:
        if symbol.defined or not symbol.version:
            continue
        match = re.fullmatch(r"GLIBC_(\d+(?:\.\d+)+)", symbol.version)
        if match is None or tuple(map(int, match[1].split("."))) > FLOOR + (0,) * 9:
            wrong.append(f"{symbol.name}@{symbol.version}")
    return wrong


def runs_on_the_oldest_glibc(path):
    elf = Elf(path)
    expect(above_floor(elf), [], "symbols above glibc 2.17")
    if not any(version for versions in elf.versions_needed.values() for version in versions):
        raise AssertionError("needs no version of glibc at all: is it linked dynamically?")


def loads_with_the_largest_pages(path):
    alignments = Elf(path).alignments
    expect([f"{found:#x}" for found in alignments if found % LARGEST_PAGE], [], f"alignments of {len(alignments)} segments")


def needs_glibc_alone(path, arch):
    elf = Elf(path)
    expect(elf.machine, arch, "machine")
    expect(sorted(set(elf.needed) - GLIBC - {LOADERS[arch]}), [], "libraries beside glibc")
    expect(sorted(set(elf.versions_needed) - GLIBC - {LOADERS[arch]}), [], "versions of libraries beside glibc")
    expect(elf.search_paths, [], "search paths")
    expect(elf.executable_stack, False, "executable stack")


def exports_the_c_interface(path):
    elf = Elf(path)
    expect(elf.soname, "libmuster.so.0", "SONAME")
    expect(elf.versions_defined, ["MUSTER_1"], "versions")
    shown = sorted((symbol.name, symbol.version) for symbol in elf.symbols if symbol.defined)
    expect([s for s in shown if s[0] != "MUSTER_1"], sorted((n, "MUSTER_1") for n in declared()), "exports")


def exports_nothing(path):
    expect([symbol.name for symbol in Elf(path).symbols if symbol.defined], [], "exports")


def is_stripped(path, debug):
    sections = Elf(path).sections
    expect([name for name in sections if name.startswith((".debug", ".symtab"))], [], "symbols")
    with open(debug, "rb") as file:
        checksum = zlib.crc32(file.read())
    name, _, _ = sections[".gnu_debuglink"].partition(b"\0")
    expect(name.decode(), os.path.basename(debug), "debug file")
    expect(int.from_bytes(sections[".gnu_debuglink"][-4:], "little"), checksum, "checksum of the debug file")
    expect(sections[".note.gnu.build-id"], Elf(debug).sections[".note.gnu.build-id"], "build ID")
    if ".debug_line" not in Elf(debug).sections:
        raise AssertionError("the debug file has no line numbers")


def names_no_folder_of_this_machine(path):
    with open(path, "rb") as file:
        data = file.read()
    for folder in (ROOT, os.path.expanduser("~")):
        if folder != "/" and re.search(re.escape(folder.encode()) + rb"/[.\w]", data):
            raise AssertionError(f"{folder} is in it")


def tells_its_commit(muster):
    log = ["git", "log", "-1", "--date=format-local:%Y-%m-%d", "--abbrev=12"]
    commit, date = output(*log, "--format=%h %cd", cwd=ROOT, env=dict(os.environ, TZ="UTC")).split()
    if output("git", "status", "--porcelain", "--untracked-files=no", cwd=ROOT):
        commit += "-dirty"
    text = output(muster, "--version")
    if f"\ncommit: {commit}, {date}\n" not in text or "glibc 2.17 or later" not in text or " nccl " not in text:
        raise AssertionError(text)


def has_its_kernels(path, source):
    """As text for the GPU's driver: building and starting need no CUDA."""
    with open(os.path.join(ROOT, source), "rb") as file:
        names = re.findall(rb"\.entry \w+\(", file.read())
    with open(path, "rb") as file:
        data = file.read()
    expect([name for name in names if name not in data] if names else "no kernel", [], f"missing kernels of {source}")


def starts_nothing(muster):
    text = output(muster, "launch", "--dry-run", "-n", "2", "--", "/bin/false")
    expect([word for word in ("nothing is started", "/bin/false", "MUSTER_CONTROL") if word not in text], [], text)


def classifies(folder):
    """The known accuracy, with four ranks: sockets, shared memory, threads and exceptions work."""
    command = [f"{folder}/bin/muster", "launch", "-n", "4", "--", f"{folder}/test/digits"]
    text = output(*command, cwd=ROOT, timeout=120)
    if ACCURACY not in text:
        raise AssertionError(text)


def python_uses_it(library):
    program = (
        "import muster\n"
        "with muster.init() as comm: assert muster.all_reduce(comm.rank) == 6, 'sum'\n"
        "try: muster.split(0, 0)\n"
        "except muster.Error as error: pass\n"
    )
    with tempfile.TemporaryDirectory() as place:
        shutil.copytree(os.path.join(ROOT, "bootstrap/python/muster"), f"{place}/muster")
        shutil.copy(library, f"{place}/muster/libmuster.so")
        muster = os.path.join(os.path.dirname(os.path.dirname(library)), "bin/muster")
        output(
            muster,
            "launch",
            "-n",
            "4",
            "--",
            sys.executable,
            "-c",
            program,
            env=dict(os.environ, PYTHONPATH=place),
            timeout=120,
        )


def check_binaries(arch, folder):
    library = os.path.realpath(f"{folder}/lib/libmuster.so")
    check(f"{arch}: libmuster exports the C interface alone", exports_the_c_interface, library)
    check(f"{arch}: muster exports nothing", exports_nothing, f"{folder}/bin/muster")
    for path in (f"{folder}/bin/muster", library):
        name = f"{arch}: {os.path.basename(path)}"
        check(f"{name} starts with glibc 2.17", runs_on_the_oldest_glibc, path)
        check(f"{name} needs glibc alone", needs_glibc_alone, path, arch)
        if arch == "aarch64":
            check(f"{name} loads with pages of 64 KiB", loads_with_the_largest_pages, path)
        check(f"{name} is stripped, with its symbols beside", is_stripped, path, debug_of(folder, path))
        check(f"{name} names no folder of this machine", names_no_folder_of_this_machine, path)
        check(f"{name}.debug names none", names_no_folder_of_this_machine, debug_of(folder, path))
    for path, source in (("bin/muster", "bootstrap/check/gpu/kernels.ptx"), ("test/digits", "deploy/examples/digits_kernel.ptx")):
        check(f"{arch}: {os.path.basename(path)} has its kernels", has_its_kernels, f"{folder}/{path}", source)
    if arch == platform.machine():
        check(f"{arch}: muster --version has the commit", tells_its_commit, f"{folder}/bin/muster")
        check(f"{arch}: a dry run", starts_nothing, f"{folder}/bin/muster")
        check(f"{arch}: four ranks classify", classifies, folder)
        check(f"{arch}: Python uses libmuster", python_uses_it, library)


def debug_of(folder, path):
    return f"{folder}/debug/{os.path.basename(path)}.debug"


def check_reader():
    """That the reader sees what is not allowed: this machine's own programs need a newer glibc."""
    development = Elf(os.path.realpath(sys.executable))
    if not development.needed or not above_floor(development):
        raise AssertionError(f"nothing above glibc 2.17 is needed by {sys.executable}")
    if development.machine == "x86_64" and all(found % LARGEST_PAGE == 0 for found in development.alignments):
        raise AssertionError(f"{sys.executable} is aligned as for pages of 64 KiB: {development.alignments}")
    libc = glob.glob("/lib/*/libc.so.6") + glob.glob("/lib64/libc.so.6")
    if not any(symbol.defined and symbol.version == "GLIBC_2.25" for symbol in Elf(libc[0]).symbols):
        raise AssertionError(f"no symbol of {libc[0]} has the version GLIBC_2.25")

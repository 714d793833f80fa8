#!/usr/bin/env python3
"""symbols_test.py ELF_READER LIST FILE...: does a file use a function of glibc that the portable build would lack?

The suite that makes the portable build (tests/release) is `--long`'s; this one is in every run.
"""

import os
import sys

FLOOR = (2, 17)


def newer(elf):
    """The functions that come from a later glibc."""
    names = set()
    for symbol in elf.symbols:
        version = symbol.version or ""
        if not symbol.defined and version.startswith("GLIBC_2."):
            if tuple(map(int, version[len("GLIBC_") :].split("."))) > FLOOR + (0,) * 9:
                names.add(symbol.name)
    return names


def main(reader, known, *files):
    sys.dont_write_bytecode = True
    sys.path.insert(0, os.path.dirname(os.path.abspath(reader)))
    from elf import Elf

    with open(known, encoding="utf-8") as lines:
        allowed = {line.split()[0] for line in lines if line.strip() and not line.startswith("#")}
    used = set()
    for file in files:
        found = newer(Elf(file))
        used |= found
        for name in sorted(found - allowed):
            sys.exit(f"{file}: {name} is not in glibc 2.17: call it as comm/system/system_calls.h does")
    # Of another compiler or glibc the list may name more; of this one it must find some.
    if not used & allowed:
        sys.exit("no function of a later glibc was found: are the files linked dynamically?")


main(*sys.argv[1:])

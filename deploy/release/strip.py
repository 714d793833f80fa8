#!/usr/bin/env python3
"""Copies a program or library without its symbols and debug information, and names the file that has them.

    strip.py FROM TO DEBUG      FROM, unchanged, becomes DEBUG; TO has a .gnu_debuglink to it

For every architecture on every machine, with the same bytes, unlike the installed objcopy. Only parts that are loaded at run time keep
their place; of the other sections .comment stays.
"""

import os
import shutil
import struct
import sys
import zlib

HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
SECTION = struct.Struct("<IIQQQQIIQQ")
SHT_PROGBITS, SHT_STRTAB, SHF_ALLOC = 1, 3, 2


class Section:
    def __init__(self, data, offset):
        self.fields = list(SECTION.unpack_from(data, offset))
        self.name = b""

    flags = property(lambda self: self.fields[2])


def sections_of(data, header):
    place, size, count, names = header[6], header[11], header[12], header[13]
    found = [Section(data, place + size * index) for index in range(count)]
    texts = found[names].fields[4]
    for section in found:
        start = texts + section.fields[0]
        section.name = bytes(data[start : data.index(b"\0", start)])
    return found


def debug_link(path):
    """The section's content: the name, and what debuggers compare."""
    with open(path, "rb") as file:
        checksum = zlib.crc32(file.read())
    name = os.path.basename(path).encode() + b"\0"
    return name + b"\0" * (-len(name) % 4) + struct.pack("<I", checksum)


def kept(sections):
    """The first, those that are loaded, .comment; and the old offset of each."""
    numbers = [
        index
        for index, section in enumerate(sections)
        if index == 0 or section.flags & SHF_ALLOC or section.name == b".comment"
    ]
    return numbers, {old: new for new, old in enumerate(numbers)}


def stripped(data, link):
    if data[:6] != b"\x7fELF\x02\x01":
        raise SystemExit("strip.py: not a 64-bit little-endian ELF file")
    header = list(HEADER.unpack_from(data))
    sections = sections_of(data, header)
    numbers, moved = kept(sections)
    ends = [s.fields[4] + (0 if s.fields[1] == 8 else s.fields[5]) for s in sections if s.flags & SHF_ALLOC]
    out = bytearray(data[: max(ends)])

    rows, names = [], bytearray(b"\0")
    for number in numbers:
        section = sections[number]
        row = list(section.fields)
        row[6] = moved.get(row[6], 0)
        if number and not section.flags & SHF_ALLOC:
            content = data[row[4] : row[4] + row[5]]
            row[4] = len(out)
            out += content
        rows.append((section.name, row))
    out += b"\0" * (-len(out) % 4)
    rows.append((b".gnu_debuglink", [0, SHT_PROGBITS, 0, 0, len(out), len(link), 0, 0, 4, 0]))
    out += link
    rows.append((b".shstrtab", [0, SHT_STRTAB, 0, 0, len(out), 0, 0, 0, 1, 0]))
    for name, row in rows[1:]:
        row[0] = len(names)
        names += name + b"\0"
    rows[-1][1][5] = len(names)
    out += names
    out += b"\0" * (-len(out) % 8)
    header[6], header[12], header[13] = len(out), len(rows), len(rows) - 1
    for _, row in rows:
        out += SECTION.pack(*row)
    HEADER.pack_into(out, 0, *header)
    return out


def main():
    if len(sys.argv) != 4:
        raise SystemExit(__doc__)
    source, target, debug = sys.argv[1:]
    shutil.copyfile(source, debug)
    with open(source, "rb") as file:
        data = file.read()
    with open(target, "wb") as file:
        file.write(stripped(data, debug_link(debug)))
    os.chmod(target, 0o755)


if __name__ == "__main__":
    main()

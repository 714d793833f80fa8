"""The dynamic linker's view of a 64-bit little-endian ELF file, read with nothing but the standard library."""

import collections
import struct

Symbol = collections.namedtuple("Symbol", "name version defined")

PT_LOAD, PT_DYNAMIC, PT_INTERP, PT_GNU_STACK = 1, 2, 3, 0x6474E551
DT_NEEDED, DT_STRTAB, DT_SYMTAB, DT_SONAME, DT_RPATH, DT_RUNPATH = 1, 5, 6, 14, 15, 29
DT_VERSYM, DT_VERDEF, DT_VERDEFNUM, DT_VERNEED, DT_VERNEEDNUM = 0x6FFFFFF0, *range(0x6FFFFFFC, 0x70000000)
MACHINES = {62: "x86_64", 183: "aarch64"}


class Elf:
    """`needed`, `soname`, `search_paths`, `versions_needed` as {file: [version]}, `symbols`, `sections`, `machine`, `alignments`."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        if self.data[:6] != b"\x7fELF\x02\x01":
            raise ValueError(f"{path}: not a 64-bit little-endian ELF file")
        self.machine = MACHINES.get(self._read("<H", 18)[0], "unknown")
        self._read_segments()
        self._read_dynamic()
        self._read_versions()
        self._read_sections()
        self._read_symbols()

    def _read(self, layout, offset):
        return struct.unpack_from(layout, self.data, offset)

    def _text(self, start, offset):
        begin = start + offset
        return self.data[begin : self.data.index(b"\0", begin)].decode()

    def _read_segments(self):
        place, size, count = self._read("<Q", 32)[0], *self._read("<HH", 54)
        self.segments = [self._read("<IIQQQQQQ", place + index * size) for index in range(count)]
        self.alignments = [segment[7] for segment in self.segments if segment[0] == PT_LOAD]
        stacks = [segment for segment in self.segments if segment[0] == PT_GNU_STACK]
        self.executable_stack = not stacks or bool(stacks[0][1] & 1)

    def _offset_of(self, address):
        for kind, _, offset, start, _, size, _, _ in self.segments:
            if kind == PT_LOAD and start <= address < start + size:
                return offset + address - start
        raise ValueError(f"no segment has the address {address:#x}")

    def _read_dynamic(self):
        (start, size) = next((s[2], s[5]) for s in self.segments if s[0] == PT_DYNAMIC)
        entries = [self._read("<QQ", start + at) for at in range(0, size, 16)]
        self._dynamic = dict(entries)
        self._strings = self._offset_of(self._dynamic[DT_STRTAB])

        def texts(*tags):
            return [self._text(self._strings, value) for tag, value in entries if tag in tags]

        self.needed = texts(DT_NEEDED)
        self.soname = "".join(texts(DT_SONAME))
        self.search_paths = texts(DT_RPATH, DT_RUNPATH)

    def _read_versions(self):
        self.versions_needed, self.versions_defined, self._version_names = {}, [], {}
        at = self._offset_of(self._dynamic[DT_VERNEED]) if DT_VERNEED in self._dynamic else 0
        for _ in range(self._dynamic.get(DT_VERNEEDNUM, 0)):
            _, count, file, first, following = self._read("<HHIII", at)
            names = self.versions_needed.setdefault(self._text(self._strings, file), [])
            entry = at + first
            for _ in range(count):
                _, _, number, name, further = self._read("<IHHII", entry)
                names.append(self._text(self._strings, name))
                self._version_names[number & 0x7FFF] = names[-1]
                entry += further
            at += following
        at = self._offset_of(self._dynamic[DT_VERDEF]) if DT_VERDEF in self._dynamic else 0
        for _ in range(self._dynamic.get(DT_VERDEFNUM, 0)):
            _, flags, number, _, _, first, following = self._read("<HHHHIII", at)
            name = self._text(self._strings, self._read("<I", at + first)[0])
            if not flags & 1:  # the first is the file's own name
                self.versions_defined.append(name)
                self._version_names[number & 0x7FFF] = name
            at += following

    def _read_symbols(self):
        count = len(self.sections[".dynsym"]) // 24
        table = self._offset_of(self._dynamic[DT_SYMTAB])
        versions = self._offset_of(self._dynamic[DT_VERSYM])
        self.symbols = []
        for index in range(1, count):
            name, _, _, section, _, _ = self._read("<IBBHQQ", table + 24 * index)
            number = self._read("<H", versions + 2 * index)[0] & 0x7FFF
            text = self._text(self._strings, name)
            self.symbols.append(Symbol(text, self._version_names.get(number, ""), section != 0))

    def _read_sections(self):
        place = self._read("<Q", 40)[0]
        size, count, names = self._read("<HHH", 58)
        rows = [self._read("<IIQQQQIIQQ", place + index * size) for index in range(count)]
        texts = rows[names][4]
        self.sections = {self._text(texts, row[0]): self.data[row[4] : row[4] + row[5]] for row in rows[1:]}

// A program's file: names that are in it, however damaged it is.
#include <algorithm>
#include <cstring>

#include "bootstrap/resources/elf_needed.h"
#include "tests/bootstrap/run/elf_image.h"
#include "tests/fuzz/fuzz_target.h"

namespace muster::fuzz {
namespace {

void One(ByteView input) {
  const std::string_view text = AsText(input);
  size_t reads = 0;
  const auto libraries = NeededLibraries([&](uint64_t offset, std::span<std::byte> bytes) -> size_t {
    ++reads;
    if (offset >= text.size()) return 0;
    const size_t length = std::min<size_t>(bytes.size(), text.size() - offset);
    std::memcpy(bytes.data(), text.data() + offset, length);
    return length;
  });
  Require(reads < 6000, "{} reads", reads);
  for (const std::string& library : libraries) {
    Require(text.find(library) != std::string_view::npos, "{} is in the file", library);
  }
}

std::vector<Bytes> Seeds() {
  return {ToBytes(run::testing_support::ElfImage({"libc.so.6", "libmpi.so.40"})),
          ToBytes(run::testing_support::ElfImage({})), ToBytes("#!/bin/sh\n"), ToBytes("")};
}

std::vector<std::string> Words() {
  return {std::string("\x7f"
                      "ELF\2\1\1"),
          "libmpi.so.40"};
}

}  // namespace

FuzzTarget TheTarget() { return {One, Seeds, Words}; }

}  // namespace muster::fuzz

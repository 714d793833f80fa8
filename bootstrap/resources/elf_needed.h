// Which shared libraries a program names (DT_NEEDED), from its file alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace muster {

// Fills the span with the file's bytes from `offset` on; how many there were.
using ReadAt = std::function<size_t(uint64_t offset, std::span<std::byte> bytes)>;

// Empty if the file is not a 64-bit ELF file of this machine's byte order, or is damaged. The number of reads
// is bounded for any content.
std::vector<std::string> NeededLibraries(const ReadAt& read_at);

// The same of a file; empty if it cannot be read.
std::vector<std::string> NeededLibrariesOf(const std::string& path);

}  // namespace muster

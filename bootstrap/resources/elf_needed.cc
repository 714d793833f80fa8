#include "bootstrap/resources/elf_needed.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>

#include "comm/base/unique_fd.h"

namespace muster {
namespace {

constexpr size_t kMostSegments = 256;
constexpr size_t kMostEntries = 4096;
constexpr size_t kLongestName = 256;
constexpr size_t kMostNames = 512;

// At most `count`: those that the file holds.
template <typename T>
std::vector<T> ReadTable(const ReadAt& read_at, uint64_t offset, size_t count) {
  std::vector<T> table(count);
  table.resize(read_at(offset, std::as_writable_bytes(std::span(table))) / sizeof(T));
  return table;
}

bool IsOurs(const Elf64_Ehdr& header) {
  constexpr uint8_t kOrder = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
         header.e_ident[EI_DATA] == kOrder && header.e_phentsize == sizeof(Elf64_Phdr);
}

// The file offset of an address of memory.
std::optional<uint64_t> OffsetOf(uint64_t address, const std::vector<Elf64_Phdr>& segments) {
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
    if (address - segment.p_vaddr < segment.p_filesz) return address - segment.p_vaddr + segment.p_offset;
  }
  return std::nullopt;
}

std::string NameAt(const ReadAt& read_at, uint64_t offset) {
  std::array<std::byte, kLongestName> bytes{};
  const size_t length = read_at(offset, bytes);
  std::string name(reinterpret_cast<const char*>(bytes.data()), std::min(length, bytes.size()));
  name.resize(std::min(name.find('\0'), name.size()));
  return name;
}

}  // namespace

std::vector<std::string> NeededLibraries(const ReadAt& read_at) {
  const auto header = ReadTable<Elf64_Ehdr>(read_at, 0, 1);
  if (header.empty() || !IsOurs(header[0])) return {};
  const auto segments =
      ReadTable<Elf64_Phdr>(read_at, header[0].e_phoff, std::min<size_t>(header[0].e_phnum, kMostSegments));
  const auto dynamic = std::ranges::find(segments, Elf64_Word{PT_DYNAMIC}, &Elf64_Phdr::p_type);
  if (dynamic == segments.end()) return {};
  std::vector<uint64_t> names;
  std::optional<uint64_t> strings;
  const size_t entries = std::min<uint64_t>(dynamic->p_filesz / sizeof(Elf64_Dyn), kMostEntries);
  for (const auto& entry : ReadTable<Elf64_Dyn>(read_at, dynamic->p_offset, entries)) {
    if (entry.d_tag == DT_NULL || names.size() == kMostNames) break;
    if (entry.d_tag == DT_NEEDED) names.push_back(entry.d_un.d_val);
    if (entry.d_tag == DT_STRTAB) strings = OffsetOf(entry.d_un.d_ptr, segments);
  }
  std::vector<std::string> libraries;
  if (!strings) return libraries;
  for (const uint64_t name : names) libraries.push_back(NameAt(read_at, *strings + name));
  return libraries;
}

std::vector<std::string> NeededLibrariesOf(const std::string& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  return NeededLibraries([&](uint64_t offset, std::span<std::byte> bytes) -> size_t {
    const ssize_t got = pread(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    return got < 0 ? 0 : static_cast<size_t>(got);
  });
}

}  // namespace muster

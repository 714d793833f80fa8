// A program's file as far as its libraries go.
#pragma once

#include <elf.h>

#include <cstring>
#include <string>
#include <vector>

namespace muster::run::testing_support {

template <typename T>
void Append(const T& value, std::string& image) {
  image.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// An ELF file whose segments are loaded at 0x1000 above their place in it.
inline std::string ElfImage(const std::vector<std::string>& libraries) {
  constexpr uint64_t kAbove = 0x1000;
  const uint64_t dynamic_at = sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr);
  const uint64_t entries = libraries.size() + 2;
  const uint64_t strings_at = dynamic_at + entries * sizeof(Elf64_Dyn);
  std::string strings(1, '\0');
  std::string dynamic;
  for (const std::string& library : libraries) {
    Append(Elf64_Dyn{DT_NEEDED, {strings.size()}}, dynamic);
    strings += library + '\0';
  }
  Append(Elf64_Dyn{DT_STRTAB, {strings_at + kAbove}}, dynamic);
  Append(Elf64_Dyn{DT_NULL, {0}}, dynamic);
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident,
              "\x7f"
              "ELF\2\1\1",
              7);
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 2;
  const uint64_t size = strings_at + strings.size();
  std::string image;
  Append(header, image);
  Append(Elf64_Phdr{PT_LOAD, PF_R, 0, kAbove, kAbove, size, size, kAbove}, image);
  Append(Elf64_Phdr{PT_DYNAMIC, PF_R, dynamic_at, dynamic_at + kAbove, 0, dynamic.size(), dynamic.size(), 8},
         image);
  return image + dynamic + strings;
}

}  // namespace muster::run::testing_support

#include "tests/fuzz/seed_files.h"

#include <fstream>
#include <iterator>

#include "comm/base/parse.h"
#include "tests/fuzz/fuzz_target.h"

namespace muster::fuzz {
namespace {

Bytes FromHex(std::string_view line) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  Bytes bytes;
  for (size_t i = 0; i + 1 < line.size(); i += 2) {
    bytes.push_back(static_cast<uint8_t>(kDigits.find(line[i]) * 16 + kDigits.find(line[i + 1])));
  }
  return bytes;
}

}  // namespace

std::vector<Bytes> ReadSeedFiles(const std::vector<std::string>& paths) {
  std::vector<Bytes> seeds;
  for (const std::string& path : paths) {
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    Require(file.is_open() && !file.bad(), "{} can be read", path);
    if (!path.ends_with(".hex")) {
      seeds.push_back(ToBytes(text));
      continue;
    }
    for (const std::string_view line : Split(text, '\n')) {
      if (!line.empty()) seeds.push_back(FromHex(line));
    }
  }
  return seeds;
}

}  // namespace muster::fuzz

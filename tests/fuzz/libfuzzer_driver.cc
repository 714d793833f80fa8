// The long run: libFuzzer (--config=fuzz, tests/fuzz/run). With `--write CORPUS WORDS` the target's built
// seeds go into the folder CORPUS and its words, as a dictionary, into the file WORDS; nothing is run.
#include <cstring>
#include <fstream>

#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/seed_files.h"

namespace muster::fuzz {
namespace {

void WriteSeeds(const std::string& folder, const std::vector<std::string>& paths) {
  std::vector<Bytes> seeds = ReadSeedFiles(paths);
  if (TheTarget().seeds != nullptr) {
    for (Bytes& seed : TheTarget().seeds()) seeds.push_back(std::move(seed));
  }
  for (size_t i = 0; i < seeds.size(); ++i) {
    std::ofstream file(fmt::format("{}/seed-{}", folder, i), std::ios::binary);
    file.write(reinterpret_cast<const char*>(seeds[i].data()), static_cast<std::streamsize>(seeds[i].size()));
  }
}

void WriteWords(const std::string& path) {
  std::ofstream file(path);
  if (TheTarget().words == nullptr) return;
  for (const std::string& word : TheTarget().words()) {
    file << '"';
    for (const char c : word) file << fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    file << "\"\n";
  }
}

}  // namespace
}  // namespace muster::fuzz

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  if (*argc >= 4 && std::strcmp((*argv)[1], "--write") == 0) {
    muster::fuzz::WriteSeeds((*argv)[2], {*argv + 4, *argv + *argc});
    muster::fuzz::WriteWords((*argv)[3]);
    std::exit(0);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  muster::fuzz::TheTarget().one({data, size});
  return 0;
}

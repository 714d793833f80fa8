// The real libraries that the build has found.
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "comm/base/parse.h"

namespace muster::nccl {

// The files of @nccl//:libraries whose name starts so.
inline std::vector<std::string> RealFiles(std::string_view prefix) {
  std::vector<std::string> files;
  const char* all = std::getenv("REAL_LIBRARIES");  // set in BUILD.bazel
  for (const std::string_view file : Split(all == nullptr ? "" : all, ' ')) {
    if (file.substr(file.rfind('/') + 1).starts_with(prefix)) files.emplace_back(file);
  }
  return files;
}

}  // namespace muster::nccl

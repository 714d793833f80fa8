// A whole small file as text.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "comm/base/error.h"

namespace muster::config {

// Error: kConfiguration naming the file: absent, unreadable, not a regular file (a pipe would be read once by
// the first rank and be empty for the next), or longer than `limit`.
Result<std::string> ReadSmallFile(const std::filesystem::path& file, size_t limit);

}  // namespace muster::config

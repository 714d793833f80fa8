// A whole small file as text.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "comm/base/error.h"

namespace muster::config {

// Error: kConfiguration naming the file: absent, unreadable, longer than `limit`, or not a regular file. The
// first rank would empty a pipe, and the next would read nothing.
Result<std::string> ReadSmallFile(const std::filesystem::path& file, size_t limit);

// The error for a file that cannot be opened or read: kConfiguration, by errno. "-" is a name like any other.
tl::unexpected<Error> CannotRead(const std::filesystem::path& file);

}  // namespace muster::config

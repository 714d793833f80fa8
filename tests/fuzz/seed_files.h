// Seeds that are committed as files.
#pragma once

#include <string>
#include <vector>

#include "comm/base/bytes.h"

namespace muster::fuzz {

// A file is one input; one whose name ends in .hex has an input a line, in hexadecimal, as tests/fuzz/run
// --save writes them. Aborts if one cannot be read.
std::vector<Bytes> ReadSeedFiles(const std::vector<std::string>& paths);

}  // namespace muster::fuzz

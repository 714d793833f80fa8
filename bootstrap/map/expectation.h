// The files that an item's program must write into its directory (map.expect):
//
//   FILE             a file that is not empty, or a pattern of glob(7) that one matches
//   FILE:JSON.PATH   a file of JSON with a value there that is not null: "scores.json:results.0.accuracy"
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

namespace muster::map {

// The values that were found, as JSON: "scores.json:accuracy" and 0.71. Only those of at most 4 KiB.
using FoundValues = std::vector<std::pair<std::string, std::string>>;

// Error: the missing part, in words. Reads files of at most 64 MiB.
tl::expected<FoundValues, std::string> CheckExpectations(const std::string& directory,
                                                         const std::vector<std::string>& expected);

}  // namespace muster::map

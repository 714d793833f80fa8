// "did you mean": the candidate with the smallest edit distance.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace muster::config {

// Insertions, deletions, replacements and swaps of neighbours, each 1 (optimal string alignment).
size_t EditDistance(std::string_view a, std::string_view b);

// The first of the nearest candidates; empty if even that one differs in more than a third of `text` (at
// least 2; of three letters or fewer: 1). Texts longer than 64 bytes are near nothing.
std::string_view Nearest(std::string_view text, std::span<const std::string_view> candidates);

}  // namespace muster::config

// Counters are decimal text in the store, and a client may SET one.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace muster::tcp_store {

// As strtoll(text, nullptr, 10), which is what PyTorch's server reads it with: blanks, a sign, digits, then
// whatever. Absent where there is no digit or where it does not fit.
std::optional<int64_t> LeadingInteger(std::string_view text);

}  // namespace muster::tcp_store

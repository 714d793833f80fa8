// What the file that holds a root's address contains: the root's address, a line, and a line that tells a whole file
// from a part of one. A file system that several machines share may show what is only half there.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace muster::rendezvous {

// Longer is no root address of ours.
inline constexpr size_t kLongestRootAddressFile = size_t{16} * 1024;

// `root_address`: one line, without its end.
std::string EncodeRootAddressFile(std::string_view root_address);

// The root's address; absent where this is not a whole file. What the root's address says is judged by DecodeRootAddress.
std::optional<std::string> DecodeRootAddressFile(std::string_view content);

}  // namespace muster::rendezvous

// The content of the file with a root's address: one line with the address, and one that shows that the file
// is whole. A file system that several machines share may show what is only half there.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace muster::rendezvous {

// A longer file is not muster's.
inline constexpr size_t kLongestRootAddressFile = size_t{16} * 1024;

// `root_address`: one line, without its end.
std::string EncodeRootAddressFile(std::string_view root_address);

// The root's address; absent where this is not a whole file. DecodeRootAddress checks it.
std::optional<std::string> DecodeRootAddressFile(std::string_view content);

}  // namespace muster::rendezvous

// What the file that holds a root's notice contains: the notice, a line, and a line that tells a whole file
// from a part of one. A file system that several machines share may show what is only half there.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace muster {

// Longer is no notice of ours.
inline constexpr size_t kLongestNoticeFile = size_t{16} * 1024;

// `notice`: one line, without its end.
std::string EncodeNoticeFile(std::string_view notice);

// The notice; absent where this is not a whole file. What the notice says is judged by DecodeNotice.
std::optional<std::string> DecodeNoticeFile(std::string_view content);

}  // namespace muster

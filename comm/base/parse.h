// Text to values, strictly: the whole text or nothing, no locale, no exceptions, no silent zero.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "comm/base/deadline.h"
#include "comm/base/error.h"
#include "comm/base/parse_integer.h"  // IWYU pragma: export

namespace muster {

// "500ms" "30s" "10m" "16h40m" "1d"; a bare number (also "0.5") is seconds. Never negative; at most 100
// years. Error: kConfiguration, names the text.
Result<Duration> ParseDuration(std::string_view text);

// The shortest form that ParseDuration reads back: "500ms", "10m", "16h40m", "1.5s".
std::string FormatDuration(Duration duration);

// Seconds with one decimal for users: "12.4 s".
std::string FormatSeconds(Duration duration);

// UTF-8 text of some editors begins with it.
inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

std::vector<std::string_view> Split(std::string_view text, char separator);
// The parts between blanks, none of them empty.
std::vector<std::string_view> Words(std::string_view text, std::string_view blanks = " \t\r\n");
std::string_view Trim(std::string_view text);

// The devices of a list such as CUDA_VISIBLE_DEVICES, "0,1,MIG-5c6...": up to the first that is none ("-1",
// "NoDevFiles"), as the vendors' libraries do.
std::vector<std::string_view> DevicesIn(std::string_view list);

}  // namespace muster

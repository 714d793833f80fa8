#include "tests/gpu/sizes.h"

#include <fmt/core.h>

#include "comm/base/parse.h"

namespace muster {

Result<std::vector<TimedSize>> ParseSizes(std::span<const char* const> words) {
  std::vector<TimedSize> sizes;
  for (const char* word : words) {
    const std::vector<std::string_view> parts = Split(word, ':');
    const auto bytes = ParseInteger<size_t>(parts.front());
    const auto repeat = parts.size() == 2 ? ParseInteger<int>(parts.back()) : std::nullopt;
    if (!bytes || !repeat || *bytes % sizeof(float) != 0 || *bytes == 0 || *repeat < 1) {
      return Fail(Code::kUsage, "{} is not BYTES:REPEAT", word);
    }
    sizes.push_back({*bytes, *repeat});
  }
  return sizes;
}

std::string FormatTimes(const std::vector<TimedSize>& sizes, const std::vector<double>& seconds) {
  std::string times;
  for (size_t i = 0; i < sizes.size(); ++i) {
    times += fmt::format("{}\"{}\":{:.3f}", i == 0 ? "" : ",", sizes[i].bytes, seconds[i + 1] * 1e6);
  }
  return fmt::format("{{\"init_s\":{:.6f},\"us\":{{{}}}}}", seconds.front(), times);
}

}  // namespace muster

#include "tests/gpu/calls.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "comm/base/parse.h"

namespace muster {
namespace {

constexpr std::pair<std::string_view, Timed> kOperations[] = {{"all_reduce", Timed::kAllReduce},
                                                              {"reduce_scatter", Timed::kReduceScatter},
                                                              {"broadcast", Timed::kBroadcast},
                                                              {"send_recv", Timed::kSendRecv},
                                                              {"group", Timed::kGroup}};

std::optional<TimedCall> ParseCall(std::string_view word) {
  const std::vector<std::string_view> parts = Split(word, ':');
  if (parts.size() != 3) return std::nullopt;
  const auto* const known =
      std::ranges::find(kOperations, parts[0], &std::pair<std::string_view, Timed>::first);
  const auto bytes = ParseInteger<size_t>(parts[1]);
  const auto repeat = ParseInteger<int>(parts[2]);
  if (known == std::end(kOperations) || !bytes || !repeat) return std::nullopt;
  if (*bytes % sizeof(float) != 0 || *bytes == 0 || *repeat < 1) return std::nullopt;
  return TimedCall{fmt::format("{}:{}", parts[0], parts[1]), known->second, *bytes, *repeat};
}

}  // namespace

Result<std::vector<TimedCall>> ParseCalls(std::span<const char* const> words) {
  std::vector<TimedCall> calls;
  for (const char* word : words) {
    std::optional<TimedCall> call = ParseCall(word);
    if (!call) return Fail(Code::kUsage, "{} is not OPERATION:BYTES:REPEAT", word);
    calls.push_back(*std::move(call));
  }
  return calls;
}

std::string FormatTimes(const std::vector<TimedCall>& calls, const std::vector<double>& seconds) {
  std::string times;
  for (size_t i = 0; i < calls.size(); ++i) {
    times += fmt::format("{}\"{}\":{:.3f}", i == 0 ? "" : ",", calls[i].name, seconds[i + 1] * 1e6);
  }
  return fmt::format("{{\"init_s\":{:.6f},\"us\":{{{}}}}}", seconds.front(), times);
}

}  // namespace muster

#include "deploy/examples/progress_meter.h"

#include <fmt/core.h>

#include "comm/base/parse.h"

namespace muster::examples {
namespace {

constexpr auto kQuiet = std::chrono::milliseconds(500);
constexpr auto kRedraw = std::chrono::milliseconds(250);

}  // namespace

std::string ProgressMeter::Advance(uint64_t done, uint64_t total, Clock::time_point now) {
  if (total == 0) return {};
  const uint64_t quarter = done * 4 / total;
  const bool crossed = quarter > quarter_ && quarter < 4;
  quarter_ = quarter;
  if (now - start_ < kQuiet) return {};
  const std::string line =
      fmt::format("digits: {} % after {}", done * 100 / total, FormatSeconds(now - start_));
  if (terminal_) return OnTerminal(line, now);
  return crossed ? line + "\n" : std::string();
}

std::string ProgressMeter::OnTerminal(const std::string& line, Clock::time_point now) {
  if (now - shown_ < kRedraw) return {};
  shown_ = now;
  drawn_ = true;
  return "\r\033[K" + line;
}

std::string ProgressMeter::Finish() {
  if (!drawn_) return {};
  drawn_ = false;
  return "\r\033[K";
}

}  // namespace muster::examples

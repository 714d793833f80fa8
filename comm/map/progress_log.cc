#include "comm/map/progress_log.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>

#include "comm/log/log.h"

namespace muster::map {
namespace {

using std::chrono::seconds;

constexpr Duration kFirstLine = seconds(5);
constexpr Duration kLongestPause = seconds(60);

std::string FormatTime(double time) {
  // NOLINTNEXTLINE(bugprone-incorrect-roundings): a time is not negative, and lround is libm's
  const auto whole = static_cast<uint64_t>(time + 0.5);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
}

}  // namespace

std::string DescribeProgress(const Progress& progress, Duration since) {
  std::string text = fmt::format("map: {} of {} items done", progress.committed, progress.items);
  if (progress.poisoned > 0) text += fmt::format(", {} failed", progress.poisoned);
  const uint64_t now = progress.committed + progress.poisoned - progress.resumed;
  const double time = std::chrono::duration<double>(since).count();
  if (now == 0 || time <= 0) return text;
  const double rate = static_cast<double>(now) / time;
  text += rate < 100 ? fmt::format("; {:.3g} a second", rate) : fmt::format("; {:.0f} a second", rate);
  if (progress.left() > 0)
    text += fmt::format(", about {} left", FormatTime(static_cast<double>(progress.left()) / rate));
  return text;
}

std::string DescribeUneven(std::vector<NodeShare> nodes) {
  constexpr double kEnough = 4;  // of one slot; fewer are chance
  std::erase_if(nodes, [](const NodeShare& node) { return node.slots == 0; });
  if (nodes.size() < 2) return "";
  const auto each = [](const NodeShare& node) { return static_cast<double>(node.done) / node.slots; };
  std::ranges::sort(nodes, {}, each);
  const double least = each(nodes.front());
  const double median = each(nodes[nodes.size() / 2]);
  if (median < kEnough || least * 2 >= median) return "";
  return fmt::format("; {} has done {:.3g} a slot, half of the nodes {:.3g} or more", nodes.front().name,
                     least, median);
}

void ProgressLog::Begin(const Progress& progress, Clock::time_point now) {
  begun_ = now;
  terminal_ = isatty(STDERR_FILENO) == 1;
  next_ = kFirstLine;
  if (progress.resumed == 0) return;
  const std::string failed =
      progress.poisoned > 0 ? fmt::format(", {} failed", progress.poisoned) : std::string();
  LogEvent(LogLevel::kInfo, "map_resumed", {{"items", progress.items}, {"done", progress.resumed}},
           "map: {} of {} items were done by earlier runs{}", progress.committed, progress.items, failed);
}

void ProgressLog::Log(const Progress& progress, Clock::time_point now,
                      const std::function<std::vector<NodeShare>()>& nodes) {
  if (!terminal_ && now - begun_ < next_) return;
  const std::string text = DescribeProgress(progress, now - begun_) + DescribeUneven(nodes());
  if (terminal_) return SetStatusLine(text);
  next_ += std::min<Duration>(next_ * 2, kLongestPause);
  LogEvent(LogLevel::kInfo, "map_progress",
           {{"done", progress.committed + progress.poisoned},
            {"items", progress.items},
            {"failed", progress.poisoned}},
           "{}", text);
}

void ProgressLog::End(const Progress& progress, Clock::time_point now) {
  ClearStatusLine();
  LogEvent(LogLevel::kInfo, "map_over",
           {{"done", progress.committed + progress.poisoned},
            {"items", progress.items},
            {"failed", progress.poisoned},
            {"second_commits", progress.second_commits}},
           "{}", DescribeProgress(progress, now - begun_));
}

}  // namespace muster::map

// The result of a map, in words and numbers.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>

#include "bootstrap/map/map_run.h"
#include "comm/base/printable.h"

namespace muster::map {
namespace {

constexpr int kItemsFailed = 79;
constexpr int kItemsLeft = 80;
constexpr size_t kMostLines = 10;

uint64_t Left(const Outcome& outcome) {
  return outcome.items - std::min(outcome.items, outcome.committed + outcome.poisoned);
}

// "exit 1 (files: ...): KeyError: 'x'": the reason, and the last line that the program wrote.
std::string ShortError(const std::string& error) {
  const size_t first_end = error.find('\n');
  if (first_end == std::string::npos) return error;
  const size_t end = error.find_last_not_of('\n');
  const size_t last = error.rfind('\n', end);
  return fmt::format("{}: {}", error.substr(0, first_end), error.substr(last + 1, end - last));
}

std::string Numbers(const Outcome& outcome) {
  std::string text = fmt::format("{} of {} items are done", outcome.committed, outcome.items);
  if (outcome.poisoned > 0) text += fmt::format(", {} failed", outcome.poisoned);
  if (outcome.resumed > 0) text += fmt::format(" ({} by earlier runs)", outcome.resumed);
  if (outcome.poisoned > 0 && Left(outcome) == 0) text += "; --retry-failed attempts them again";
  if (const uint64_t left = Left(outcome); left > 0)
    text += fmt::format(", {} are left: the same command continues with them", left);
  return text;
}

}  // namespace

int ExitStatusOf(const MapEnd& end) {
  if (end.signal != 0 && Left(end.outcome) > 0) return end.signal == SIGINT ? 128 + SIGINT : kItemsLeft;
  if (!end.reports) return 0;
  if (Left(end.outcome) > 0) return kItemsLeft;
  return end.outcome.poisoned > 0 ? kItemsFailed : 0;
}

std::vector<std::string> DescribeEnd(const MapEnd& end) {
  std::vector<std::string> lines;
  for (const GivenUp& item : end.given_up) {
    if (lines.size() == kMostLines) break;
    lines.push_back(fmt::format("item {} failed ({} attempts; rank {} on {}): {}", Printable(item.key),
                                item.attempts, item.rank, item.node, ShortError(item.error)));
  }
  if (end.outcome.poisoned > lines.size() && !lines.empty())
    lines.push_back(fmt::format("and {} more items failed", end.outcome.poisoned - lines.size()));
  lines.push_back(Left(end.outcome) > 0 && end.signal == 0 ? "the time is up: " + Numbers(end.outcome)
                                                           : Numbers(end.outcome));
  return lines;
}

std::string EndJson(const MapEnd& end, const MapPlan& plan) {
  const Outcome& outcome = end.outcome;
  nlohmann::ordered_json object;
  object["items"] = outcome.items;
  object["committed"] = outcome.committed;
  object["resumed"] = outcome.resumed;
  object["failed"] = outcome.poisoned;
  object["left"] = Left(outcome);
  object["time_is_up"] = outcome.time_is_up;
  object["second_commits"] = outcome.second_commits;
  object["output"] = plan.attempt.output;
  object["journal"] = plan.options.journal;
  object["first_failed"] = nlohmann::ordered_json::array();
  for (const GivenUp& item : end.given_up) {
    nlohmann::ordered_json entry;
    entry["key"] = item.key;
    entry["attempts"] = item.attempts;
    entry["rank"] = item.rank;
    entry["node"] = item.node;
    entry["error"] = item.error;
    object["first_failed"].push_back(std::move(entry));
  }
  return object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace muster::map

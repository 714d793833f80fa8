#include "comm/map/options.h"

#include <fmt/core.h>

#include <string_view>

#include "comm/base/parse.h"

namespace muster::map {

std::string Options::DifferencesFrom(const Options& other) const {
  const auto quoted = [](const std::string& path) { return fmt::format("\"{}\"", path); };
  const auto limit = [](Duration time) { return time > Duration::zero() ? FormatDuration(time) : "none"; };
  std::string found;
  const auto compare = [&found](std::string_view name, const auto& mine, const auto& theirs) {
    if (mine != theirs) found += fmt::format("{}{} {} and {}", found.empty() ? "" : ", ", name, mine, theirs);
  };
  compare("journal", quoted(journal), quoted(other.journal));
  compare("retries", retries, other.retries);
  compare("timeout", limit(timeout), limit(other.timeout));
  compare("retry_failed", retry_poisoned, other.retry_poisoned);
  return found;
}

}  // namespace muster::map

#include "bootstrap/config/config_digest.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "bootstrap/config/quote.h"
#include "bootstrap/config/table.h"
#include "bootstrap/config/utf8.h"
#include "bootstrap/config/value.h"
#include "comm/base/parse.h"

namespace muster::config {
namespace {

using Pairs = std::map<std::string_view, std::string_view>;

Pairs ParsePairs(std::string_view text) {
  Pairs pairs;
  for (const std::string_view line : Split(text, '\n')) {
    if (line.empty()) continue;
    const size_t equals = line.find('=');
    const bool has_value = equals != std::string_view::npos;
    pairs[line.substr(0, equals)] = has_value ? line.substr(equals + 1) : std::string_view{};
  }
  return pairs;
}

// Safe to print whatever it is.
std::string Shown(std::string_view text) {
  constexpr size_t kLongest = 80;
  std::string_view start = text.substr(0, kLongest);
  start = start.substr(0, FirstInvalidUtf8(start));
  const bool printable = std::ranges::all_of(start, [](char c) { return c >= ' ' && c <= '~'; });
  return (printable ? std::string(start) : JsonQuoted(start)) + (start.size() < text.size() ? "..." : "");
}

std::string ShownValue(const Pairs& pairs, std::string_view path) {
  if (const auto found = pairs.find(path); found != pairs.end()) return Shown(found->second);
  const Key* key = FindKey(path);
  if (key == nullptr) return "not set";
  return YamlValue(*key, Config{}) + " (the default)";
}

}  // namespace

std::string GroupWideText(const Config& config) {
  const Config defaults;
  std::string text;
  for (const Key& key : Keys()) {
    if (!key.group_wide) continue;
    const std::string value = YamlValue(key, config);
    if (value != YamlValue(key, defaults)) text += fmt::format("{}={}\n", key.path, value);
  }
  return text;
}

std::string DescribeDifference(std::string_view mine, std::string_view theirs, std::string_view mine_name,
                               std::string_view theirs_name) {
  constexpr int kMostKeys = 3;
  const Pairs my_pairs = ParsePairs(mine);
  const Pairs their_pairs = ParsePairs(theirs);
  Pairs all = my_pairs;
  all.insert(their_pairs.begin(), their_pairs.end());
  std::string text;
  int differing = 0;
  for (const auto& [path, unused] : all) {
    const auto my_value = my_pairs.find(path);
    const auto their_value = their_pairs.find(path);
    const bool both = my_value != my_pairs.end() && their_value != their_pairs.end();
    if (both && my_value->second == their_value->second) continue;
    if (++differing > kMostKeys) continue;
    text += fmt::format("{}{} is {} on {} and {} on {}", text.empty() ? "" : "; ", Shown(path),
                        ShownValue(my_pairs, path), mine_name, ShownValue(their_pairs, path), theirs_name);
  }
  if (differing > kMostKeys) text += fmt::format("; and {} more", differing - kMostKeys);
  return text;
}

}  // namespace muster::config

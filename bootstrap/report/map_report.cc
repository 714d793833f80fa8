#include "bootstrap/report/map_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "bootstrap/report/summary.h"
#include "comm/base/lists.h"

namespace muster::report {
namespace {

using Json = nlohmann::ordered_json;
using map::ItemTime;
using map::MapPhase;
using map::MapState;
using map::RankShare;

constexpr size_t kLongestName = 60;
constexpr size_t kItemsInALine = 3;
constexpr size_t kLeastBusy = 3;

double Seconds(Duration duration) {
  return static_cast<double>(std::chrono::round<std::chrono::milliseconds>(duration).count()) / 1e3;
}

double Rounded(double part) { return std::round(part * 1e4) / 1e4; }

std::string_view PhaseName(MapPhase phase) {
  constexpr auto kNames = std::to_array<std::string_view>({"opening", "at_work", "over", "failed"});
  static_assert(kNames.size() == static_cast<size_t>(MapPhase::kFailed) + 1);
  return kNames.at(static_cast<size_t>(phase));
}

struct Busy {
  double part = 0;
  int rank = 0;

  auto operator<=>(const Busy&) const = default;  // NOLINT(modernize-use-nullptr): of the compiler's own code
};

// Ascending, without lost ranks; empty if the map has not begun.
std::vector<Busy> BusyRanks(const MapState& map) {
  std::vector<Busy> busy;
  if (map.elapsed <= Duration::zero()) return busy;
  for (const RankShare& rank : map.ranks) {
    if (!rank.lost) busy.push_back({map.BusyPart(rank), rank.rank});
  }
  std::ranges::sort(busy);
  return busy;
}

Json ItemsJson(const std::vector<ItemTime>& items, const NodeOf& node_of) {
  Json list = Json::array();
  for (const ItemTime& item : items) {
    Json& entry = list.emplace_back(Json{{"index", item.item},
                                         {"key", item.key.empty() ? Json(nullptr) : Json(item.key)},
                                         {"rank", item.rank},
                                         {"node", node_of(item.rank)},
                                         {"seconds", Seconds(item.time)}});
    if (!item.error.empty()) entry["error"] = item.error;
  }
  return list;
}

Json RankJson(const MapState& map, const RankShare& rank, const NodeOf& node_of) {
  return {
      {"rank", rank.rank},
      {"node", node_of(rank.rank)},
      {"lost", rank.lost},
      {"slots", rank.slots},
      {"committed", rank.done},
      {"failed_attempts", rank.failed_attempts},
      {"granted", rank.granted},
      {"at_work", rank.at_work},
      {"busy_seconds", Seconds(rank.busy)},
      {"utilisation", map.elapsed > Duration::zero() ? Json(Rounded(map.BusyPart(rank))) : Json(nullptr)}};
}

uint64_t AtWork(const MapState& map) {
  uint64_t at_work = 0;
  for (const RankShare& rank : map.ranks) at_work += rank.at_work;
  return at_work;
}

// On one line, and not too long.
std::string Short(std::string_view name) {
  std::string text(name.substr(0, kLongestName));
  if (name.size() > kLongestName) {
    // A whole character of UTF-8.
    while (!text.empty() && (name[text.size()] & 0xc0) == 0x80) text.pop_back();
    text += "...";
  }
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < ' ' || c == 0x7f; }, ' ');
  return text;
}

std::string RankText(int rank, const NodeOf& node_of) { return muster::DescribeRank(rank, node_of(rank)); }

void AddItems(std::string& out, std::string_view title, const std::vector<ItemTime>& items,
              const NodeOf& node_of) {
  std::vector<std::string> texts;
  for (const ItemTime& item : items) {
    if (texts.size() == kItemsInALine) break;
    texts.push_back(fmt::format("{}: {} ({})",
                                item.key.empty() ? fmt::format("number {}", item.item) : Short(item.key),
                                FormatSpan(item.time), RankText(item.rank, node_of)));
  }
  if (!texts.empty()) out += fmt::format("  {:<9} {}\n", title, fmt::join(texts, ", "));
}

void AddBusy(std::string& out, const MapState& map, const NodeOf& node_of) {
  const std::vector<Busy> busy = BusyRanks(map);
  if (busy.empty()) return;
  out += fmt::format("  {:<9} {:.0f} % of the time", "busy", 100 * busy[busy.size() / 2].part);
  if (busy.size() > 1) {
    out += fmt::format(" (median; {:.0f} % to {:.0f} %); least:", 100 * busy.front().part,
                       100 * busy.back().part);
    for (size_t i = 0; i < std::min(busy.size(), kLeastBusy); ++i) {
      out += fmt::format("{} {} {:.0f} %", i == 0 ? "" : ",", RankText(busy[i].rank, node_of),
                         100 * busy[i].part);
    }
  }
  out += "\n";
}

std::string PhaseText(const MapState& map) {
  const std::string time = FormatSpan(map.elapsed);
  switch (map.phase) {
    case MapPhase::kOpening:
      return "its journal is not open yet";
    case MapPhase::kAtWork:
      return "at work for " + time;
    case MapPhase::kOver:
      return "over after " + time;
    case MapPhase::kFailed:
      return "failed after " + time;
  }
  return "";
}

std::string Counts(const MapState& map) {
  const map::Progress& progress = map.progress;
  std::string text = fmt::format("{} of {} done", progress.committed + progress.poisoned, progress.items);
  if (progress.resumed > 0) text += fmt::format(", {} of them by earlier runs", progress.resumed);
  if (progress.poisoned > 0) text += fmt::format(", {} of them failed", progress.poisoned);
  const uint64_t at_work = AtWork(map);
  if (progress.granted > 0)
    text += fmt::format("; {} at work, {} more in the ranks' batches", at_work,
                        progress.granted - std::min(progress.granted, at_work));
  if (map.time_is_up) text += "; the time is up";
  return text;
}

}  // namespace

Json MapJson(const MapState& map, const NodeOf& node_of) {
  Json json;
  json["number"] = map.number;
  json["name"] = map.subject;
  json["journal"] = map.journal.empty() ? Json(nullptr) : Json(map.journal);
  json["state"] = PhaseName(map.phase);
  json["time_is_up"] = map.time_is_up;
  json["seconds"] = Seconds(map.elapsed);
  json["items"] = map.progress.items;
  json["committed"] = map.progress.committed;
  json["resumed"] = map.progress.resumed;
  json["failed"] = map.progress.poisoned;
  json["left"] = map.progress.left();
  json["granted"] = map.progress.granted;
  json["at_work"] = AtWork(map);
  json["second_commits"] = map.progress.second_commits;
  json["slowest"] = ItemsJson(map.slowest, node_of);
  json["longest_at_work"] = ItemsJson(map.longest, node_of);
  json["first_failed"] = ItemsJson(map.failed, node_of);
  const std::vector<Busy> busy = BusyRanks(map);
  json["utilisation"] = nullptr;
  if (!busy.empty()) {
    json["utilisation"] = {{"min", Rounded(busy.front().part)},
                           {"median", Rounded(busy[busy.size() / 2].part)},
                           {"max", Rounded(busy.back().part)}};
  }
  json["ranks"] = Json::array();
  for (const RankShare& rank : map.ranks) json["ranks"].push_back(RankJson(map, rank, node_of));
  return json;
}

std::string MapText(const MapState& map, const NodeOf& node_of) {
  std::string out = fmt::format("map \"{}\"", Short(map.subject));
  if (!map.journal.empty()) out += fmt::format(", journal {}", map.journal);
  out += fmt::format(": {}\n  {:<9} {}\n", PhaseText(map), "items", Counts(map));
  AddItems(out, "at work", map.longest, node_of);
  AddItems(out, "slowest", map.slowest, node_of);
  AddItems(out, "failed", map.failed, node_of);
  AddBusy(out, map, node_of);
  std::vector<int> lost;
  for (const RankShare& rank : map.ranks) {
    if (rank.lost) lost.push_back(rank.rank);
  }
  if (!lost.empty()) out += fmt::format("  {:<9} ranks {}\n", "lost", FormatSomeRanges(lost));
  return out;
}

}  // namespace muster::report

#include "bootstrap/run/program/oom_watch.h"

#include <string_view>

#include "comm/base/parse.h"
#include "comm/system/proc_file.h"

namespace muster::run {
namespace {

namespace fs = std::filesystem;

// The number after "oom_kill " at a line's beginning.
std::optional<uint64_t> OomKillsIn(const fs::path& path) {
  constexpr std::string_view kName = "oom_kill ";
  const auto text = ReadProcFile(path);
  if (!text) return std::nullopt;
  for (const std::string_view line : Split(*text, '\n')) {
    if (line.starts_with(kName)) return ParseInteger<uint64_t>(Trim(line.substr(kName.size())));
  }
  return std::nullopt;
}

// From the group itself upwards: the memory controller may be switched on further up only.
std::optional<uint64_t> CountUpwards(const fs::path& mount, std::string_view group, const char* file) {
  fs::path path = fs::path(group).relative_path();
  while (true) {
    if (const auto count = OomKillsIn(mount / path / file)) return count;
    if (path.empty() || !path.has_relative_path()) return std::nullopt;
    path = path.parent_path();
  }
}

}  // namespace

OomWatch::OomWatch(fs::path proc, fs::path cgroups)
    : proc_(std::move(proc)), cgroups_(std::move(cgroups)), own_(CountOwn()) {
  // It adds up the counters of all processors, which costs more than all the rest.
  if (!own_) node_ = CountNode();
}

// "0::/path" is version 2, "9:memory:/path" version 1; on some machines there are both.
std::optional<uint64_t> OomWatch::CountOwn() const {
  const auto text = ReadProcFile(proc_ / "self/cgroup");
  if (!text) return std::nullopt;
  for (const std::string_view line : Split(*text, '\n')) {
    const size_t first = line.find(':');
    const size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string_view group = line.substr(second + 1);
    std::optional<uint64_t> count;
    if (controllers.empty()) count = CountUpwards(cgroups_, group, "memory.events");
    for (const std::string_view controller : Split(controllers, ',')) {
      if (controller == "memory") count = CountUpwards(cgroups_ / "memory", group, "memory.oom_control");
    }
    if (count) return count;
  }
  return std::nullopt;
}

std::optional<uint64_t> OomWatch::CountNode() const { return OomKillsIn(proc_ / "vmstat"); }

rendezvous::OutOfMemory OomWatch::Look() const {
  if (const auto now = CountOwn(); own_ && now && *now > *own_) return rendezvous::OutOfMemory::kOwn;
  if (!node_) return rendezvous::OutOfMemory::kNo;
  const auto now = CountNode();
  return now && *now > *node_ ? rendezvous::OutOfMemory::kNode : rendezvous::OutOfMemory::kNo;
}

}  // namespace muster::run

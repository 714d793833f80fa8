#include "comm/rendezvous/survey/process_state.h"

#include <fmt/core.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "comm/base/parse.h"
#include "comm/system/proc_file.h"

namespace muster::rendezvous {
namespace {

// As start times in /proc count: the time in which the machine slept included.
double SecondsSinceBoot() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

}  // namespace

std::optional<ProcessState> ParseProcessStat(std::string_view stat, uint64_t ticks_per_second,
                                             double uptime_seconds) {
  const std::vector<std::string_view> fields = StatFields(stat);
  if (fields.size() <= kStatStart || fields[kStatState].size() != 1 || ticks_per_second == 0)
    return std::nullopt;
  const auto pid = ParseInteger<int>(fields[kStatPid]);
  const auto number = [&](size_t field) { return ParseInteger<uint64_t>(fields[field]); };
  const auto user = number(kStatUserTime);
  const auto system = number(kStatSystemTime);
  const auto start = number(kStatStart);
  const char letter = fields[kStatState].front();
  if (!pid || !user || !system || !start || letter < '!' || letter > '~') return std::nullopt;
  ProcessState state;
  state.pid = *pid;
  state.state = letter;
  const double ticks = static_cast<double>(ticks_per_second);
  const double age = std::max(0.0, uptime_seconds - static_cast<double>(*start) / ticks);
  state.milliseconds = static_cast<uint64_t>(age * 1000);
  state.cpu_milliseconds =
      static_cast<uint64_t>((static_cast<double>(*user) + static_cast<double>(*system)) / ticks * 1000);
  return state;
}

bool IsStopped(const ProcessState& state) {
  return state.state == 'T' || state.state == 't' || state.where == "do_freezer_trap" ||
         state.where == "__refrigerator";
}

std::optional<ProcessState> LookAtProcess(pid_t pid) {
  const auto stat = ReadProcFile(fmt::format("/proc/{}/stat", pid));
  if (!stat) return std::nullopt;
  auto state = ParseProcessStat(*stat, static_cast<uint64_t>(sysconf(_SC_CLK_TCK)), SecondsSinceBoot());
  if (!state) return std::nullopt;
  const auto where = ReadProcFile(fmt::format("/proc/{}/wchan", pid));
  // "0": it is not asleep, or the kernel hides it.
  if (where && *where != "0") state->where = std::string(Trim(*where));
  return state;
}

}  // namespace muster::rendezvous

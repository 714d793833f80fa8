#include "bootstrap/slurm/job_end.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "comm/base/parse.h"

namespace muster::slurm {
namespace {

using std::chrono::seconds;

// To name missing ranks, and to end in order, before Slurm kills the job.
constexpr Duration kMargin = seconds(10);

struct Capped {
  std::string_view name;
  Duration TimeoutOptions::*member;
};
constexpr std::array<Capped, 5> kCapped = {{
    {"timeouts.rendezvous", &TimeoutOptions::rendezvous},
    {"timeouts.init", &TimeoutOptions::init},
    {"timeouts.collective", &TimeoutOptions::collective},
    {"timeouts.barrier", &TimeoutOptions::barrier},
    {"timeouts.shutdown", &TimeoutOptions::shutdown},
}};

}  // namespace

Duration UsableOf(Duration left) { return std::max(left - kMargin, left / 2); }

std::optional<Duration> TimeLeftUntil(int64_t end, int64_t now) {
  // A job without a limit has one of a year from now, or nothing at all.
  constexpr int64_t kLongest = int64_t{10} * 365 * 24 * 3600;
  if (end <= now || end > now + kLongest) return std::nullopt;
  return seconds(end - now);
}

std::optional<Duration> TimeLeftOfJob(const Environment& environment, int64_t now) {
  const auto text = environment.Get("SLURM_JOB_END_TIME");
  const auto end = text ? ParseInteger<int64_t>(*text) : std::nullopt;
  return end ? TimeLeftUntil(*end, now) : std::nullopt;
}

std::optional<Duration> TimeLeftOfJob(const Environment& environment) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return TimeLeftOfJob(environment, std::chrono::duration_cast<seconds>(now).count());
}

TimeoutOptions CapAtJobEnd(TimeoutOptions timeouts, std::optional<Duration> left) {
  if (!left || !timeouts.cap_at_job_end) return timeouts;
  const Duration usable = UsableOf(*left);
  // Operations begin later: for them the moment counts, not a duration.
  timeouts.latest = Deadline::After(usable);
  for (Duration TimeoutOptions::*member :
       {&TimeoutOptions::rendezvous, &TimeoutOptions::init, &TimeoutOptions::shutdown}) {
    timeouts.*member = std::min(timeouts.*member, usable);
  }
  return timeouts;
}

std::string DescribeCap(const TimeoutOptions& configured, std::optional<Duration> left,
                        std::string_view source) {
  if (!left || !configured.cap_at_job_end) return "";
  std::string names;
  for (const Capped& capped : kCapped) {
    if (configured.*capped.member <= UsableOf(*left)) continue;
    names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", capped.name,
                         FormatDuration(configured.*capped.member));
  }
  if (names.empty()) return "";
  return fmt::format(
      "cut to the job's end, in {} ({}): {}; timeouts.cap_at_job_end: false "
      "leaves them as they are, for jobs whose time limit will be extended",
      FormatDuration(*left), source, names);
}

}  // namespace muster::slurm

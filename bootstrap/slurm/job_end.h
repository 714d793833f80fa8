// The time limit of this job, and its effect on deadlines: a longer wait ends in a kill without a report.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "bootstrap/environment/environment.h"
#include "comm/base/deadline.h"
#include "comm/options.h"

namespace muster::slurm {

// From `now` (seconds since 1970). Only Slurm 23.02 and later sets it, in SLURM_JOB_END_TIME, at the start of
// the job: a later change of the time limit does not show. Absent if it is not set, or the time has passed:
// then the job was given more.
std::optional<Duration> TimeLeftOfJob(const Environment& environment, int64_t now);

// The same for an end from another source. Both in seconds since 1970.
std::optional<Duration> TimeLeftUntil(int64_t end, int64_t now);

// The time that deadlines may use: a rest remains to name missing ranks, and to end in order.
Duration UsableOf(Duration left);

// The same timeouts, cut to the job's end less a moment in which to name missing ranks, and `latest` set.
// Unchanged if `left` is absent or `timeouts.cap_at_job_end` is off.
TimeoutOptions CapAtJobEnd(TimeoutOptions timeouts, std::optional<Duration> left);

// "timeouts.collective (16h40m) and timeouts.barrier (30m) reach beyond the job's end in 12m ...": for the
// log; empty if nothing is cut. `source`: the origin of `left`.
std::string DescribeCap(const TimeoutOptions& configured, std::optional<Duration> left,
                        std::string_view source = "SLURM_JOB_END_TIME");

// Of this process, now.
std::optional<Duration> TimeLeftOfJob(const Environment& environment);

}  // namespace muster::slurm

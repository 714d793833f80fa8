// When the time of this job is over, and what that does to deadlines: a wait that lasts longer ends in a kill
// that names nobody.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "bootstrap/environment/environment.h"
#include "comm/base/deadline.h"
#include "comm/options.h"

namespace muster::slurm {

// From `now` (seconds since 1970). Only Slurm 23.02 and later says it, in SLURM_JOB_END_TIME, as it was when
// the job started: a time limit that is changed later does not show. Absent where nothing says it, or the
// time has passed: then the job was given more.
std::optional<Duration> TimeLeftOfJob(const Environment& environment, int64_t now);

// The same for an end that somebody else has said. Both in seconds since 1970.
std::optional<Duration> TimeLeftUntil(int64_t end, int64_t now);

// What deadlines may use of it: some is left to say who was missing, and to end in order.
Duration UsableOf(Duration left);

// The same timeouts, none of them beyond the job's end but for a moment in which to say who was missing, and
// `latest` set. Unchanged where `left` is absent or `timeouts.cap_at_job_end` is off.
TimeoutOptions CapAtJobEnd(TimeoutOptions timeouts, std::optional<Duration> left);

// "timeouts.collective (16h40m) and timeouts.barrier (30m) reach beyond the job's end in 12m ...": for the
// log; empty where nothing is cut.
// `source`: who says so.
std::string DescribeCap(const TimeoutOptions& configured, std::optional<Duration> left,
                        std::string_view source = "SLURM_JOB_END_TIME");

// Of this process, now.
std::optional<Duration> TimeLeftOfJob(const Environment& environment);

}  // namespace muster::slurm

// Kernel, C library, processors and limits, as a job's root and ranks need them.
#pragma once

#include <cstdint>
#include <string>

#include "bootstrap/check/findings/facts.h"
#include "bootstrap/doctor/finding.h"

namespace muster::doctor {

Finding JudgeSystem(const check::NodeFacts& node, const check::RankFacts& process,
                    const std::string& architecture);

// Limits beside those of RankFacts, which login nodes have. A user can raise the soft one up to the hard one.
struct LoginLimit {
  uint64_t soft = check::kUnlimited;
  uint64_t hard = check::kUnlimited;
};
struct LoginLimits {
  LoginLimit processes;      // of the user: ulimit -u
  LoginLimit address_space;  // bytes: ulimit -v
  LoginLimit file_size;      // bytes: ulimit -f
};
LoginLimits LimitsOfThisProcess();

// Open files, of which a rank may need one for every other rank; and those of login nodes, if they are low.
Finding JudgeLimits(const check::RankFacts& process, const LoginLimits& limits = {});

// Why this user cannot write /dev/shm ("Read-only file system"); empty if it can.
std::string ProblemOfSharedMemory();

// /dev/shm, through which ranks of one node exchange data. `problem`: ProblemOfSharedMemory().
Finding JudgeSharedMemory(const check::NodeFacts& node, const std::string& problem = {});

}  // namespace muster::doctor

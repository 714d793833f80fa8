// Kernel, C library, processors and limits, as a job's root and ranks need them.
#pragma once

#include "bootstrap/check/findings/facts.h"
#include "bootstrap/doctor/finding.h"

namespace muster::doctor {

Finding JudgeSystem(const check::NodeFacts& node, const check::RankFacts& process,
                    const std::string& architecture);

// Open files. A rank may need a connection with every other one.
Finding JudgeLimits(const check::RankFacts& process);

// /dev/shm, through which ranks of one node exchange data.
Finding JudgeSharedMemory(const check::NodeFacts& node);

}  // namespace muster::doctor
